"""Closed loops over the articulated tree: S = G M⁻¹ Gᵀ by unit loads.

    M = L Lᵀ,   S = (L⁻¹Gᵀ)ᵀ (L⁻¹Gᵀ),   λ = S⁻¹ (γ − G M⁻¹ k),   ṡ = L⁻ᵀ (L⁻¹ k + L⁻¹Gᵀ λ).

Each row of the loop closure sends a unit load inward along both branches to the root; the parts
that remain at the bodies of its path are its row of (L⁻¹Gᵀ)ᵀ; that of a coupler sends unit loads
along its coordinates. Two rows meet in S at the bodies that both paths share. Couplings with
stiffness P = Σ p pᵀ enter as rows pᵀJ with a compliance of one, [[A, Jᵀp], [pᵀJ, −1]], whose Schur
complement is A + Jᵀ p pᵀ J; so do the rows of the damping across the pieces of a divided body. S is
stored by blocks. A node is a cut joint, a coupler, a row of a rotor on a cut joint, up to six rows
of such damping, or a coupling.

Theory: docs/theory.md, sections 25 and 26. Featherstone, Rigid Body Dynamics Algorithms (2008),
chapter 8 (closed-loop systems); Bae and Haug (1987-88), Mech. Struct. Mach. 15, 481 (recursive
formulation, closed loops).
"""

import math

from flexmbs._jit import called, part
from flexmbs.algebra.blocks import LEFT_OUT, ROUND_OFF, eliminate, solve
from flexmbs.algebra.se3 import wrench_to_parent
from flexmbs.algebra.small import ZERO3, increase3_at, load3_at, neg, scale, store3_at, sub
from flexmbs.dynamics.articulated_sweeps import inward_body
from flexmbs.dynamics.articulated_work import (
    COMPLIANCE,
    HALF,
    L_NF,
    L_NV,
    L_S,
    LOAD,
    ONE,
    OTHER,
    PATH,
    PATH_BODY,
    PATH_END,
    PATH_PLACE,
    PIVOT,
    PLACE_ONE,
    PLACE_OTHER,
    ROW,
    ROWS,
    SHARED,
    TARGET,
    TAU,
)
from flexmbs.dynamics.blocks import coupling_poses
from flexmbs.dynamics.constraints import coupler_covector
from flexmbs.dynamics.frames import end_pose, modal_force, pose_between

NEGLIGIBLE = 1e-12  # of the stiffness: below it a direction of a coupling counts as free


@part
def constraint_nodes(system):
    """Number of nodes with constraint rows: cut joints, then couplers."""
    return system.cuts.row.shape[0] + system.couplers.row.shape[0]


@part
def load_frame(work, art, m, pose, q, wrench):
    """Add the ``wrench`` (f, n) at frame m, in its axes, to the loads.

    Ad(X_m⁻¹)ᵀ (f, n) on its body, Φ_mᵀ (f, n) on the modes.
    """
    i = work.frames.body[m]
    if i >= 0:
        Rm, xm = pose
        f, n = wrench
        fb, nb = wrench_to_parent(Rm, xm, f, n)
        increase3_at(art.body, i, LOAD, fb)
        increase3_at(art.body, i, LOAD + 3, nb)
        modal_force(work.frames, m, Rm, q, wrench, art.velocity[TAU], 1.0)


@part
def set_loads(art, x):
    """Set the generalized loads to x (ns,) and the wrenches to zero."""
    for a in range(art.velocity.shape[1]):
        art.velocity[TAU, a] = x[a]
    for i in range(art.body.shape[0]):
        for a in range(6):
            art.body[i, LOAD + a] = 0.0


@part
def clear_loads(art, path, first, end):
    """Zero the loads on the bodies of a path.

    The loads of other bodies are not read, since `sweep_path` visits only the path.
    """
    tau = art.velocity[TAU]
    for h in range(first, end):
        i = path[h, PATH_BODY]
        for c in range(6):
            art.body[i, LOAD + c] = 0.0
        for c in range(art.link[i, L_S], art.link[i, L_S] + art.link[i, L_NV] + art.link[i, L_NF]):
            tau[c] = 0.0


@part
def load_pair(work, art, pair, k, q, wrench, moment):
    """Apply a unit multiplier of a covector on the relative motion of pair k.

    wrench: covector (f, n) on the twist of frame b relative to frame a, in axes of b. moment:
    covector on the angular velocity of frame a, in axes of a. The loads are (f, n) on b and (0,
    moment) − Ad(X_ab⁻¹)ᵀ (f, n) on a.
    """
    load_frame(work, art, pair.b[k], end_pose(pair, k, 0), q, wrench)
    Rr, xr = pose_between(pair, k)
    f, n = wrench_to_parent(Rr, xr, wrench[0], wrench[1])
    load_frame(work, art, pair.a[k], end_pose(pair, k, 1), q, (neg(f), sub(moment, n)))


@part
def sweep_path(art, schur, node, r):
    """Row r of a node of (L⁻¹Gᵀ)ᵀ: inward sweep of the present loads over the path.

    Theory, section 25.
    """
    path, link = schur.path, art.link
    for h in range(schur.node[node, PATH], schur.node[node, PATH_END]):
        i = path[h, PATH_BODY]
        at = path[h, PATH_PLACE] + r * (link[i, L_NV] + link[i, L_NF])
        inward_body(art, i, art.velocity[TAU], 0.0, schur.half, at)
        store3_at(schur.load, h, 6 * r, load3_at(art.body, i, LOAD))
        store3_at(schur.load, h, 6 * r + 3, load3_at(art.body, i, LOAD + 3))


@called
def schur_row(work, art, schur, node, pair, k, r, q, wrench, moment):
    """Row r of a node of (L⁻¹Gᵀ)ᵀ from the covectors of `load_pair`.

    Theory, section 25.
    """
    clear_loads(art, schur.path, schur.node[node, PATH], schur.node[node, PATH_END])
    load_pair(work, art, pair, k, q, wrench, moment)
    sweep_path(art, schur, node, r)


@called
def cut_loads(system, work, art, schur, q):
    """Compute L⁻¹Gᵀ of all cut joints, by body of their paths (theory, section 25)."""
    cut = work.cut
    for k in range(system.cuts.row.shape[0]):
        for r in range(system.cuts.rows[k]):
            wrench = (load3_at(cut.covectors, k, 6 * r), load3_at(cut.covectors, k, 6 * r + 3))
            schur_row(work, art, schur, cut.pair.node[k], cut.pair, k, r, q, wrench, ZERO3)


@called
def coupler_loads(system, work, art, schur, q):
    """Compute L⁻¹Gᵀ of all couplers (theory, section 25)."""
    couplers, terms = system.couplers, system.couplers.terms
    for k in range(couplers.row.shape[0]):
        node = system.cuts.row.shape[0] + k
        clear_loads(art, schur.path, schur.node[node, PATH], schur.node[node, PATH_END])
        for j in range(couplers.first[k], couplers.end[k]):
            i = terms.body[j]
            if i >= 0:
                art.velocity[TAU, system.tree.s_at[i] + terms.v[j]] += work.factor[j]
            else:
                covector = coupler_covector(terms, work.factor, work.cut, j)
                load_pair(work, art, work.cut.pair, terms.cut[j], q, covector, ZERO3)
        sweep_path(art, schur, node, 0)


@called
def rotor_rows(system, work, art, schur, q, c_mass):
    """Compute L⁻¹p of the rotors on cut joints, times c_mass.

    Their part of M is p₊p₊ᵀ − p₋p₋ᵀ, p₊ = √I (n J_q + a J_ω), p₋ = √I a J_ω. The rotor at rest,
    p₋p₋ᵀ, is part of its body: the remainder of the body's inertia is definite (theory, section
    56).
    """
    rotors, cut = system.rotors, work.cut
    first = constraint_nodes(system)
    for h in range(schur.rotor.shape[0]):
        rotor = schur.rotor[h]
        k, at = rotors.cut[rotor], 6 * rotors.v[rotor]
        # n √I = √(n² I), and √I a = b/(n √I)
        root = math.sqrt(c_mass * rotors.reflected[rotor])
        moment = scale(math.sqrt(c_mass / rotors.reflected[rotor]), load3_at(rotors.spin, rotor, 0))
        wrench = (
            scale(root, load3_at(cut.inverse, k, at)),
            scale(root, load3_at(cut.inverse, k, at + 3)),
        )
        schur_row(work, art, schur, first + 2 * h, cut.pair, k, 0, q, wrench, moment)
        schur_row(work, art, schur, first + 2 * h + 1, cut.pair, k, 0, q, (ZERO3, ZERO3), moment)


@called
def pieces_loads(system, art, schur, damping):
    """Compute L⁻¹Uᵀ√damping of the rows U of the damping across pieces.

    Their nodes have a compliance of one and follow those of the rotors.
    """
    damped, tau, root = system.pieces_damping, art.velocity[TAU], math.sqrt(damping)
    node = constraint_nodes(system) + 2 * schur.rotor.shape[0]
    for k in range(damped.size.shape[0]):
        row = 0
        while row < damped.rows[k]:
            for r in range(schur.node[node, ROWS]):
                clear_loads(art, schur.path, schur.node[node, PATH], schur.node[node, PATH_END])
                for a in range(damped.size[k]):
                    tau[damped.at[k, a]] += root * damped.U[k, row + r, a]
                sweep_path(art, schur, node, r)
            row += schur.node[node, ROWS]
            node += 1


@part
def stiffness_factor(P):
    """P (6×6) → columns p of P = Σ p pᵀ below its diagonal, by Cholesky's method.

    Directions without stiffness get zero columns.
    """
    for j in range(6):
        pivot = P[j, j]
        full = 0.0
        for c in range(j):
            full += P[j, c] * P[j, c]
            pivot -= P[j, c] * P[j, c]
        # the negative part of an indefinite stiffness is dropped: rows pᵀJ only add stiffness
        inverse = (
            1.0 / math.sqrt(pivot) if pivot > NEGLIGIBLE * (full + pivot) and pivot > 0.0 else 0.0
        )
        for r in range(j + 1, 6):
            x = P[r, j]
            for c in range(j):
                x -= P[r, c] * P[j, c]
            P[r, j] = x * inverse
        P[j, j] = pivot * inverse


@called
def coupling_loads(work, art, schur, q, damping):
    """Compute L⁻¹Jᵀp of stiffness and damping of springs, bushings and forces in cut joints.

    Their nodes come last. Theory, section 39.
    """
    P = art.carried[0]
    first = schur.node.shape[0] - work.coupling.a.shape[0]
    for k in range(work.coupling.a.shape[0]):
        coupling_poses(work, k, q)
        for r in range(6):
            for c in range(6):
                P[r, c] = work.slopes[k, r, c] + damping * work.slopes[k, 6 + r, c]
        stiffness_factor(P)
        for r in range(6):
            f = (P[0, r] if r < 1 else 0.0, P[1, r] if r < 2 else 0.0, P[2, r] if r < 3 else 0.0)
            n = (P[3, r] if r < 4 else 0.0, P[4, r] if r < 5 else 0.0, P[5, r])
            schur_row(work, art, schur, first + k, work.coupling, k, r, q, (f, n), ZERO3)


@called
def schur_complement(art, schur, left_out):
    """Factor of −S, S = G M⁻¹ Gᵀ plus the compliance of couplings and rotors.

    Returns the number of dependent rows, or a negative number if a body lacks the inertia of its
    rotor (theory, section 25). left_out: as `Path.left_out`.
    """
    e, values, half = schur.elimination, schur.values, schur.half
    link, drive = art.link, art.drive
    ns = art.velocity.shape[1]
    rows = left_out.shape[0] - ns  # nodes of couplings and rotors follow those of constraints
    for a in range(values.shape[0]):
        values[a] = 0.0
    for p in range(schur.product.shape[0]):
        k = schur.product[p, ONE]
        l = schur.product[p, OTHER]
        i = schur.product[p, SHARED]
        n = link[i, L_NV] + link[i, L_NF]
        width = schur.node[l, ROWS]
        for r in range(schur.node[k, ROWS]):
            x = schur.product[p, PLACE_ONE] + r * n
            to = schur.product[p, TARGET] + r * width
            for c in range(r if k == l else 0, width):
                y = schur.product[p, PLACE_OTHER] + c * n
                product = 0.0
                for b in range(n):
                    # driven velocities are known and have no compliance
                    if b >= link[i, L_NV] or drive[link[i, L_S] + b] < 0:
                        product += half[x + b] * half[y + b]
                values[to + c] -= product
    for k in range(schur.node.shape[0]):
        n = e.size[k]
        # a row that is round-off altogether has no pivot to compare with: that of a row of ones
        # replaces it
        least = 0.0  # round-off of the stiffness of rows of ones
        for h in range(schur.node[k, PATH], schur.node[k, PATH_END]):
            i = schur.path[h, PATH_BODY]
            for b in range(link[i, L_NV]):
                if drive[link[i, L_S] + b] < 0:
                    least += ROUND_OFF * art.velocity[PIVOT, link[i, L_S] + b] ** 2
            for b in range(6, 6 + link[i, L_NF]):
                least += ROUND_OFF * art.A[i, b, b] ** 2
        for r in range(n):
            at = e.diagonal[k] + r * (n + 1)
            values[at] -= schur.node[k, COMPLIANCE]
            row = schur.node[k, ROW] + r
            left = row < rows and left_out[ns + row] > 0.0
            schur.stiffness[row] = LEFT_OUT if left else least - values[at]
    return eliminate(e, values, schur.stiffness)


@called
def loop_multipliers(art, schur, n_rows, x):
    """x[ns…] ← −λ of the loop constraints; add L⁻¹Gᵀ λ to h = L⁻¹ k.

    x[ns …] holds the wanted γ = G ṡ. −S y = γ − (L⁻¹Gᵀ)ᵀ h − (driven part), y = −λ; rows of
    couplings have γ = 0 (theory, section 25).
    """
    node, path, half, solution = schur.node, schur.path, schur.half, schur.x
    link, drive, velocity = art.link, art.drive, art.velocity
    ns = velocity.shape[1]
    for k in range(node.shape[0]):
        for r in range(node[k, ROWS]):
            row = node[k, ROW] + r
            left = x[ns + row] if k < n_rows else 0.0
            for h in range(node[k, PATH], node[k, PATH_END]):
                i = path[h, PATH_BODY]
                n = link[i, L_NV] + link[i, L_NF]
                at = path[h, PATH_PLACE] + r * n
                to = link[i, L_S]
                for b in range(n):
                    free = b >= link[i, L_NV] or drive[to + b] < 0
                    left -= half[at + b] * (velocity[HALF, to + b] if free else x[to + b])
            solution[row] = left
    solve(schur.elimination, schur.values, solution)
    for k in range(node.shape[0]):
        for r in range(node[k, ROWS]):
            y = solution[node[k, ROW] + r]
            if k < n_rows:
                x[ns + node[k, ROW] + r] = y
            for h in range(node[k, PATH], node[k, PATH_END]):
                i = path[h, PATH_BODY]
                n = link[i, L_NV] + link[i, L_NF]
                at = path[h, PATH_PLACE] + r * n
                for b in range(n):
                    # y = −λ: h becomes L⁻¹ (k + Gᵀ λ), from which the outward sweep computes ṡ
                    velocity[HALF, link[i, L_S] + b] -= y * half[at + b]
                for c in range(6):
                    art.body[i, LOAD + c] -= y * schur.load[h, 6 * r + c]
