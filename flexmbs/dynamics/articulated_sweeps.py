"""Sweeps over the eliminated tree: loads inward, velocities or rates outward.

With the factors of `flexmbs.dynamics.articulated`, M = L Lᵀ of the whole tree without ever forming
L,

    inward:   h_i = L_i⁻¹ (τ_i + C_iᵀ f*_i),   f*_p ← f*_p + Ad(X_pi⁻¹)ᵀ (f*_i − U_i h_i),               h = L⁻¹ k,
    outward:  η̇_i = L_i⁻ᵀ (h_i − U_iᵀ Ṽ_i),   V_i = Ṽ_i + C_i η̇_i,   f^p_i = Λ_i M*_i Ṽ_i − (f*_i − U_i h_i),   ṡ = L⁻ᵀ h,

with N_i = L_i L_iᵀ and U_i = M*_i C_i L_i⁻ᵀ; modes likewise with L and Y of their elimination. V
stands for the twist rates that belong to ṡ. The loads are −residual at ṡ = 0: they hold M ā
already, so that no velocity products appear in the sweeps.

Theory: docs/theory.md, section 20. Featherstone, Rigid Body Dynamics Algorithms (2008), section
7.3; Jain and Rodriguez (1992), J. Guid. Control Dyn. 15, 1453, where the mass matrix is factored
into two sweeps.
"""

from flexmbs._jit import part
from flexmbs.algebra.se3 import twist_to_child, wrench_to_parent
from flexmbs.algebra.small import add, dot, increase3_at, load3_at, load9_at, scale, store3_at, sub
from flexmbs.dynamics.articulated import inertia_times
from flexmbs.dynamics.articulated_modes import (
    inward_along_modes,
    inward_modes,
    modal_load,
    modal_twist,
    outward_modes,
)
from flexmbs.dynamics.articulated_work import (
    CARRIER,
    COLUMNS,
    DENSE,
    HALF,
    JOINT_WRENCH,
    L_CARRIER,
    L_CHILD,
    L_NF,
    L_NV,
    L_OWN,
    L_PARENT,
    L_ROTOR,
    L_S,
    LOAD,
    ON_PARENT,
    OWN,
    PASSED,
    PIVOT,
    POSE,
    SLOPE,
    TAU,
    TWIST,
)


@part
def inward_body(art, i, given, known, half, at):
    """half[at …] ← L⁻¹ of the loads on body i; add the remaining load to its parent.

    The loads are a wrench f*_i and generalized loads τ_i. At driven velocities the result is the
    generalized load of what the body carries. known: 1.0 if these velocities have the values
    ``given``, 0.0 if they are zero. Theory, section 20.
    """
    link, drive, body, A, modes, velocity = (
        art.link,
        art.drive,
        art.body,
        art.A,
        art.modes,
        art.velocity,
    )
    to = link[i, L_S]
    nv = link[i, L_NV]
    n = link[i, L_NF]
    f = load3_at(body, i, LOAD)
    m = load3_at(body, i, LOAD + 3)
    if n > 0:
        for k in range(n):
            half[at + nv + k] = velocity[TAU, to + nv + k]
        if link[i, L_OWN] == 1:
            for k in range(n):
                half[at + nv + k] -= modal_load(modes, i, OWN, k, f, m)
        if link[i, L_CHILD] == DENSE:
            v, w = inward_modes(A, i, n, half, at + nv)
        else:
            v, w = inward_along_modes(art, i, half, at + nv)
        f = sub(f, v)
        m = sub(m, w)
    driven = False
    for back in range(nv):
        k = nv - 1 - back
        if drive[to + k] >= 0:
            driven = True
            continue
        c = COLUMNS + 6 * k
        x = velocity[PIVOT, to + k] * (
            velocity[TAU, to + k] + dot(load3_at(body, i, c), f) + dot(load3_at(body, i, c + 3), m)
        )
        half[at + k] = x
        f = sub(f, scale(x, load3_at(body, i, PASSED + 6 * k)))
        m = sub(m, scale(x, load3_at(body, i, PASSED + 6 * k + 3)))
    if driven:
        v, w = f, m
        for k in range(nv):
            if drive[to + k] >= 0:
                c = COLUMNS + 6 * k
                half[at + k] = (
                    velocity[TAU, to + k]
                    + dot(load3_at(body, i, c), v)
                    + dot(load3_at(body, i, c + 3), w)
                )
                # h_i is without the motion of driven velocities: `outward_driven` subtracts what V
                # makes there, with all of them
                x = known * given[to + k]
                f = sub(f, scale(x, load3_at(body, i, PASSED + 6 * k)))
                m = sub(m, scale(x, load3_at(body, i, PASSED + 6 * k + 3)))
    store3_at(body, i, LOAD, f)
    store3_at(body, i, LOAD + 3, m)
    p = link[i, L_PARENT]
    if p >= 0:
        f, m = wrench_to_parent(load9_at(body, i, POSE), load3_at(body, i, POSE + 9), f, m)
        increase3_at(body, p, LOAD, f)
        increase3_at(body, p, LOAD + 3, m)
        if link[i, L_CARRIER] == 1:
            o = link[p, L_S] + link[p, L_NV]
            for k in range(link[p, L_NF]):
                velocity[TAU, o + k] += modal_load(modes, i, CARRIER, k, f, m)


@part
def inward_loads(art, given):
    """h ← L⁻¹ k for all bodies, leaves to root.

    given (ns,): values of the driven velocities.
    """
    for back in range(art.link.shape[0]):
        i = art.link.shape[0] - 1 - back
        inward_body(art, i, given, 1.0, art.velocity[HALF], art.link[i, L_S])


@part
def outward_driven(art, i, v, w, x):
    """Add driven velocities to V = (v, w); x[ns + row] ← −λ of the driven entries.

    A multiplier is the row of M ṡ − k at the driven velocity.
    """
    link, drive, body, velocity = art.link, art.drive, art.body, art.velocity
    ns = velocity.shape[1]
    to = link[i, L_S]
    for k in range(link[i, L_NV]):
        if drive[to + k] >= 0:
            v = add(v, scale(x[to + k], load3_at(body, i, COLUMNS + 6 * k)))
            w = add(w, scale(x[to + k], load3_at(body, i, COLUMNS + 6 * k + 3)))
    for k in range(link[i, L_NV]):
        row = drive[to + k]
        if row >= 0:
            y = dot(load3_at(body, i, PASSED + 6 * k), v) + dot(
                load3_at(body, i, PASSED + 6 * k + 3), w
            )
            x[ns + row] = velocity[HALF, to + k] - y - velocity[SLOPE, to + k] * x[to + k]
    return v, w


@part
def outward_solution(art, x):
    """x[:ns] ← L⁻ᵀ h, root to leaves; multipliers −λ of driven entries into x[ns + row].

    The driven entries are known. The wrench of each joint becomes f^p_i = Λ_i M*_i Ṽ_i minus the
    load that is passed on: that of the joint on body i for the rates x (theory, section 20).
    """
    link, drive, body, A, modes, velocity = (
        art.link,
        art.drive,
        art.body,
        art.A,
        art.modes,
        art.velocity,
    )
    for i in range(link.shape[0]):
        to = link[i, L_S]
        nv = link[i, L_NV]
        n = link[i, L_NF]
        p = link[i, L_PARENT]
        v = (0.0, 0.0, 0.0)
        w = (0.0, 0.0, 0.0)
        if p >= 0:
            v = load3_at(body, p, TWIST)
            w = load3_at(body, p, TWIST + 3)
            if link[i, L_CARRIER] == 1:
                dv, dw = modal_twist(
                    modes, i, CARRIER, link[p, L_NF], x, link[p, L_S] + link[p, L_NV]
                )
                v = add(v, dv)
                w = add(w, dw)
            v, w = twist_to_child(load9_at(body, i, POSE), load3_at(body, i, POSE + 9), v, w)
        # A and the load are those after elimination: the wrench of the joint does not depend on
        # the values of its free velocities
        f, m = inertia_times(A, i, v, w)
        store3_at(body, i, JOINT_WRENCH, sub(f, load3_at(body, i, LOAD)))
        store3_at(body, i, JOINT_WRENCH + 3, sub(m, load3_at(body, i, LOAD + 3)))
        v, w = outward_driven(art, i, v, w, x)
        for k in range(nv):
            if drive[to + k] < 0:
                y = dot(load3_at(body, i, PASSED + 6 * k), v) + dot(
                    load3_at(body, i, PASSED + 6 * k + 3), w
                )
                y = (velocity[HALF, to + k] - y) * velocity[PIVOT, to + k]
                x[to + k] = y
                v = add(v, scale(y, load3_at(body, i, COLUMNS + 6 * k)))
                w = add(w, scale(y, load3_at(body, i, COLUMNS + 6 * k + 3)))
        if link[i, L_ROTOR] == ON_PARENT:
            # the moment that accelerates the rotor acts from the parent, not through the joint
            increase3_at(body, i, JOINT_WRENCH + 3, scale(-x[to], load3_at(art.spin, i, 3)))
        if n > 0:
            outward_modes(art, i, (v, w), x)
            if link[i, L_OWN] == 1:
                dv, dw = modal_twist(modes, i, OWN, n, x, to + nv)
                v = sub(v, dv)
                w = sub(w, dw)
        store3_at(body, i, TWIST, v)
        store3_at(body, i, TWIST + 3, w)
