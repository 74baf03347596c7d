"""Rows of the cuts that are not chains of joints: relations and user functions.

They have a kernel of their own, since few models need it. Theory: docs/theory.md, sections 15 and
37.
"""

from flexmbs._jit import part
from flexmbs._jit.address import entry
from flexmbs.algebra.small import load3_at, store3_at
from flexmbs.dynamics.relations import relation_rows
from flexmbs.dynamics.shared_calls import call_shared
from flexmbs.dynamics.user_rows import user_rows
from flexmbs.system.records import OF_FUNCTIONS


@entry
def cut_rows_at(model, /, t, k):
    """Kernel of the constraint values of cut k, from the relative twist of its frames.

    Both are in work.cut, in the child's axes.
    """
    system, work, k = model.system, model.work, int(k)
    twist, rate = work.cut.twist, work.cut.twist_rate
    v, w = load3_at(twist, k, 0), load3_at(twist, k, 3)
    av, aw = load3_at(rate, k, 0), load3_at(rate, k, 3)
    if system.cuts.kernel[k] == OF_FUNCTIONS:
        user_rows(system, work, k, t, (v, w), (av, aw))
    else:
        relation_rows(system, work, k, t, (v, w), (av, aw))
    return 0


@part
def cut_rows(system, work, k, t, here, twist, rate):
    """Call `cut_rows_at` with the relative ``twist`` (v, ω) of cut k and its ``rate``."""
    store3_at(work.cut.twist, k, 0, twist[0])
    store3_at(work.cut.twist, k, 3, twist[1])
    store3_at(work.cut.twist_rate, k, 0, rate[0])
    store3_at(work.cut.twist_rate, k, 3, rate[1])
    call_shared(system, work, work.calls.cut_rows, here, t, float(k), 0.0)
