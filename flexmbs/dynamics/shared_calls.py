"""Calls of the kernels shared by all formalisms, by their addresses in the workspace."""

from flexmbs._jit import part
from flexmbs._jit.address import address_of, call, memory_of
from flexmbs.system.records import Equations, Evaluation


@part
def call_shared(system, work, kernel, here, t, a, b):
    """Call a shared kernel by its address in `Work.calls`, for a state; its result.

    The state ``here`` is a record with q, s, ṡ, λ, z and r.
    """
    given = address_of(Evaluation(here.q, here.s, here.sd, here.lam, here.z, here.r))
    return call(kernel, memory_of(work.memory, Equations(system, work)), given, given, t, a, b)
