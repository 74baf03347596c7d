"""Damping of the modes of divided bodies, −D q̇_f with D = UᵀU.

It acts on the elastic coordinates of all pieces together. Theory: docs/theory.md, section 60.
"""

from flexmbs._jit import called
from flexmbs.algebra.blocks import add_block


@called
def damp_pieces(system, work, s):
    """Subtract D q̇_f across pieces from the applied forces; returns the dissipated power (W)."""
    damped, power = system.pieces_damping, 0.0
    for k in range(damped.size.shape[0]):
        at = damped.at[k]
        for a in range(damped.size[k]):
            x = 0.0
            for b in range(damped.size[k]):
                x += damped.D[k, a, b] * s[at[b]]
            work.force[at[a]] -= x
            power += s[at[a]] * x
    return power


@called
def pieces_blocks(system, work, damping):
    """damping · D into the blocks of all pairs of pieces."""
    damped, tree, e, out = system.pieces_damping, system.tree, system.elimination, work.B[1]
    for k in range(damped.size.shape[0]):
        column = 0
        for h in range(damped.path[k], damped.path_end[k]):
            j = system.paths[h]
            row = 0
            # bodies of a path are sorted, and the matrix is symmetric: one triangle
            for l in range(damped.path[k], h + 1):
                i = system.paths[l]
                for a in range(e.size[i]):
                    for c in range(e.size[j]):
                        own = a >= tree.nv[i] and c >= tree.nv[j]
                        out[a, c] = (
                            damped.D[k, row + a - tree.nv[i], column + c - tree.nv[j]]
                            if own
                            else 0.0
                        )
                add_block(e, work.values, i, j, out, damping)
                row += tree.nf[i]
            column += tree.nf[j]
