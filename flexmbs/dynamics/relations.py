"""Relations: constraint equations between two frames that are not a chain of joint motions.

    g = g(X, t),   ġ = a · V_rel + a₀,   g̈ = a · V̇_rel + b,

with covector a, a₀ and b from the kernel of the relation (knife edge, rolling, gear, …); no kind is
named here.

Theory: docs/theory.md, sections 13, 15 and 37. Neimark and Fufaev, Dynamics of Nonholonomic Systems
(1972), for rolling.
"""

from flexmbs._jit import part
from flexmbs.algebra.small import dot, load3_at, tmul
from flexmbs.dynamics.frames import pose_between
from flexmbs.dynamics.law_calls import call_law
from flexmbs.law_kernel import KEPT, ROW


@part
def relation_rows(system, work, k, t, twist, rate):
    """Covectors a and values g, ġ = a · V_rel + a₀, g̈ = a · V̇_rel + b of the rows of cut k.

    By the kernel of its relation (`flexmbs.model.relations.relation.Relation`). The pose of the
    child is in work.cut.pair; its ``twist`` (v, ω) relative to the parent and the ``rate`` of the
    twist are in the child's axes (theory, section 37).
    """
    cuts, cut, gs, workspace = system.cuts, work.cut, work.gs, work.laws
    v, w = twist
    av, aw = rate
    R, x = pose_between(cut.pair, k)
    x = tmul(R, x)  # the kernel takes it in the child's axes
    workspace.x[0] = t
    for c in range(3):
        workspace.x[1 + c] = x[c]
        workspace.x[13 + c] = v[c]
        workspace.x[16 + c] = w[c]
    for c in range(9):
        workspace.x[4 + c] = R[c]
    for c in range(KEPT):
        workspace.u[c] = work.path.kept[k, c]
    n = cuts.closed[k]
    call_law(cuts.kernel_index[k], system.relations[k], workspace, KEPT + ROW * n, 0.0)
    for c in range(KEPT):
        cut.keeps[k, c] = workspace.out[c]
    for r in range(n):
        at, given = 6 * r, KEPT + ROW * r
        for c in range(6):
            cut.covectors[k, at + c] = workspace.out[given + 3 + c]
        d = load3_at(cut.covectors, k, at)
        m = load3_at(cut.covectors, k, at + 3)
        row = cuts.row[k] + r
        gs.position[row] = workspace.out[given]
        gs.velocity[row] = dot(d, v) + dot(m, w) + workspace.out[given + 1]
        gs.acceleration[row] = dot(d, av) + dot(m, aw) + workspace.out[given + 2]
