"""Calls of the kernels that all formalisms share, by their addresses in the workspace."""

from flexmbs._jit import part
from flexmbs._jit.address import address_of, call, memory_of
from flexmbs.system.records import Equations, Evaluation


@part
def call_shared(system, work, kernel, here, t, a, b):
    """A kernel of `Work.calls` for the state ``here``, a record with q, s, ṡ, λ, z and
    r; what it returns.
    """
    given = address_of(Evaluation(here.q, here.s, here.sd, here.lam, here.z, here.r))
    return call(kernel, memory_of(work.memory, Equations(system, work)), given, given, t, a, b)
