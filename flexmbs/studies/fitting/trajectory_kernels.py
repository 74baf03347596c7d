"""Kernels along trajectories.

The equations of motion at points and at perturbed points, displaced positions.
"""

from flexmbs._jit.address import packed
from flexmbs.dynamics.equations import residual_with_reactions
from flexmbs.dynamics.kinematics import displace
from flexmbs.system.records import Evaluation


@packed()
def equations_along(system, work, t, base, before, steps, x, out):
    """Equations at base[n] ⊕ steps[i] into out[n, i]; steps[0] is zero.

    r, g, G s + γ̄, rates of force states, powers.

    t (n,); base (n, 5, ·): q, s, ṡ, λ, z; before: coordinates (n, nβ) and rows (n, ncut, 36) of the
    cut joints on the path; steps (m, 3 ns + nc + nz): changes of q, s, ṡ, λ, z; x (5, ·) is
    scratch.
    """
    ns = work.r.shape[0]
    nc = work.gs.position.shape[0]
    nz = work.force_rate.shape[0]
    path = work.path
    beta, covectors = before
    for n in range(t.shape[0]):
        for a in range(path.beta.shape[0]):
            path.beta[a] = beta[n, a]
        for k in range(path.covectors.shape[0]):
            for c in range(path.covectors.shape[1]):
                path.covectors[k, c] = covectors[n, k, c]
        for i in range(steps.shape[0]):
            displace(system.tree, system.joints, base[n, 0], steps[i], x[0])
            for a in range(ns):
                x[1, a] = base[n, 1, a] + steps[i, ns + a]
                x[2, a] = base[n, 2, a] + steps[i, 2 * ns + a]
            for a in range(nc):
                x[3, a] = base[n, 3, a] + steps[i, 3 * ns + a]
            for a in range(nz):
                x[4, a] = base[n, 4, a] + steps[i, 3 * ns + nc + a]
            here = Evaluation(x[0], x[1], x[2], x[3], x[4], work.r)
            residual_with_reactions(system, work, t[n], here, False)
            for a in range(ns):
                out[n, i, a] = work.r[a]
            for a in range(nc):
                out[n, i, ns + a] = work.gs.position[a]
                out[n, i, ns + nc + a] = work.gs.velocity[a]
            for a in range(nz):
                out[n, i, ns + 2 * nc + a] = work.force_rate[a]
            at = ns + 2 * nc + nz
            out[n, i, at] = work.power.forces
            out[n, i, at + 1] = work.power.loss
            out[n, i, at + 2] = work.power.drives
            if i == 0:
                for k in range(system.cuts.row.shape[0]):
                    if system.cuts.kernel[k] >= 0:
                        for c in range(path.kept.shape[1]):
                            path.kept[k, c] = work.cut.keeps[k, c]


@packed()
def displacements(tree, joints, q, d, out):
    """out[n] ← q[n] ⊕ d[n] for all rows."""
    for n in range(q.shape[0]):
        displace(tree, joints, q[n], d[n], out[n])
