"""Articulated-body algorithm of rigid trees with joint forces, in world axes:

    poses, ω and velocity products c_i                                                                outward,
    J, H, M ← inertia of the body,   p_n = ω × J ω,   p_f = ω × (ω × c)
    U = 𝓘 S,   D = Sᵀ U,   u = τ − Sᵀ p,   𝓘 ← 𝓘 − U D⁻¹ Uᵀ,   p ← p + 𝓘 c_i + U D⁻¹ u                inward,
    η̇ = D⁻¹ (u − Uᵀ a'),   a = a' + S η̇,   a' = the parent's acceleration at the body's origin + c_i    outward.

𝓘 = [[J, H], [Hᵀ, M]] acts on (α, a), wrenches (n, f) are n = J α + H a + p_n, f = Hᵀ α + M a + p_f,
and c_i are the velocity products of its joint. Each body is described at the origin of its joint's
frame, with classical accelerations a of that point: articulated inertias are shifted, never turned,
which makes a sweep three times cheaper than in body axes. Revolute and prismatic joints move about
and along z of that frame.

Theory: docs/theory.md, section 20. Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3
(there in body coordinates and with spatial accelerations).
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.small import (
    EYE3,
    ZERO3,
    add,
    cross,
    dot,
    increase3_at,
    load3_at,
    load9_at,
    matmul,
    mul,
    scale,
    store3_at,
    store9_at,
)
from flexmbs.dynamics.articulated_work import (
    A_CL,
    A_CR,
    A_D,
    A_DINV,
    A_H,
    A_J,
    A_M,
    A_PF,
    A_PN,
    A_R,
    A_UF,
    A_UN,
    A_V,
    A_W,
    A_WD,
    B_JOINS,
    B_JOINT,
    B_KIND,
    B_NV,
    B_PARENT,
    B_Q,
    B_ROTOR,
    B_S,
    C_DINV,
    C_U,
    GENERAL,
    NO_ROTOR,
    ON_CHILD,
    ON_PARENT,
    P_FIRST,
    P_INERTIA,
    P_MASS,
    P_R,
    P_X,
    REVOLUTE,
)
from flexmbs.dynamics.joints import joint_directions, joint_pose

NO_INERTIA = ((0.0,) * 6, (0.0,) * 9, (0.0,) * 6)


@part
def load6_at(a, i, o):
    """Read a symmetric 3×3 matrix (xx, xy, xz, yy, yz, zz) from row i, from column o on."""
    return (a[i, o], a[i, o + 1], a[i, o + 2], a[i, o + 3], a[i, o + 4], a[i, o + 5])


@part
def store6_at(a, i, o, s):
    """Write a symmetric matrix to row i, from column o on."""
    a[i, o] = s[0]
    a[i, o + 1] = s[1]
    a[i, o + 2] = s[2]
    a[i, o + 3] = s[3]
    a[i, o + 4] = s[4]
    a[i, o + 5] = s[5]


@part
def symmetric_mul(S, x):
    """Product S x of a symmetric matrix (xx, xy, xz, yy, yz, zz) and a vector."""
    return (
        S[0] * x[0] + S[1] * x[1] + S[2] * x[2],
        S[1] * x[0] + S[3] * x[1] + S[4] * x[2],
        S[2] * x[0] + S[4] * x[1] + S[5] * x[2],
    )


@part
def turned_symmetric(R, S):
    """R S Rᵀ of a symmetric matrix (xx, xy, xz, yy, yz, zz)."""
    b = matmul(R, (S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]))
    return (
        b[0] * R[0] + b[1] * R[1] + b[2] * R[2],
        b[0] * R[3] + b[1] * R[4] + b[2] * R[5],
        b[0] * R[6] + b[1] * R[7] + b[2] * R[8],
        b[3] * R[3] + b[4] * R[4] + b[5] * R[5],
        b[3] * R[6] + b[4] * R[7] + b[5] * R[8],
        b[6] * R[6] + b[7] * R[7] + b[8] * R[8],
    )


@part
def transposed_mul(H, x):
    """Product Hᵀ x of a 3×3 matrix and a vector."""
    return (
        H[0] * x[0] + H[3] * x[1] + H[6] * x[2],
        H[1] * x[0] + H[4] * x[1] + H[7] * x[2],
        H[2] * x[0] + H[5] * x[1] + H[8] * x[2],
    )


@part
def less_dyad(S, u, v):
    """S − u vᵀ, symmetric (u and v parallel)."""
    return (
        S[0] - u[0] * v[0],
        S[1] - u[0] * v[1],
        S[2] - u[0] * v[2],
        S[3] - u[1] * v[1],
        S[4] - u[1] * v[2],
        S[5] - u[2] * v[2],
    )


@part
def less_full_dyad(H, u, v):
    """Difference H − u vᵀ of a 3×3 matrix and a dyad."""
    return (
        H[0] - u[0] * v[0],
        H[1] - u[0] * v[1],
        H[2] - u[0] * v[2],
        H[3] - u[1] * v[0],
        H[4] - u[1] * v[1],
        H[5] - u[1] * v[2],
        H[6] - u[2] * v[0],
        H[7] - u[2] * v[1],
        H[8] - u[2] * v[2],
    )


@part
def rigid_outward(joints, rigid, q, s):
    """Rotations, angular velocities and velocity products of all bodies (world axes).

    Revolute: c_i = (ω_p × S η, ω_p × (ω_p × d)); prismatic: c_i = (0, ω_p × (ω_p × d + 2 S η)), d
    from the parent's origin to the own.
    """
    body, place, w = rigid.body, rigid.place, rigid.state
    for i in range(body.shape[0]):
        p = body[i, B_PARENT]
        kind = body[i, B_KIND]
        if p >= 0:
            Rp = load9_at(w, p, A_R)
            wp = load3_at(w, p, A_W)
        else:
            Rp = EYE3
            wp = ZERO3
        d = mul(Rp, load3_at(place, i, P_X))
        R = matmul(Rp, load9_at(place, i, P_R))
        if kind == GENERAL:
            R, d, wi = general_joint(joints, rigid, i, (q, s), (R, d), wp)
            if body[i, B_ROTOR] != NO_ROTOR:
                if body[i, B_ROTOR] == ON_CHILD:
                    turn_rotor(rigid, i, s[body[i, B_S]], R, wi)
                else:
                    turn_rotor(rigid, i, s[body[i, B_S]], Rp, wp)
        else:
            x = q[body[i, B_Q]]
            axis = scale(s[body[i, B_S]], (R[2], R[5], R[8]))
            if kind == REVOLUTE:
                c = math.cos(x)
                y = math.sin(x)
                wi = add(wp, axis)
                store3_at(w, i, A_CR, cross(wp, axis))
                store3_at(w, i, A_CL, cross(wp, cross(wp, d)))
                # a rotation about its own z axis changes two columns of R
                R = (
                    c * R[0] + y * R[1],
                    c * R[1] - y * R[0],
                    R[2],
                    c * R[3] + y * R[4],
                    c * R[4] - y * R[3],
                    R[5],
                    c * R[6] + y * R[7],
                    c * R[7] - y * R[6],
                    R[8],
                )
            else:
                wi = wp
                d = add(d, scale(x, (R[2], R[5], R[8])))
                store3_at(w, i, A_CR, ZERO3)
                store3_at(w, i, A_CL, cross(wp, add(cross(wp, d), scale(2.0, axis))))
        store9_at(w, i, A_R, R)
        store3_at(w, i, A_D, d)
        store3_at(w, i, A_W, wi)


@part
def turn_rotor(rigid, i, rate, R, w):
    """b and the gyroscopic moment ω × q̇ b on the carrier of the rotors on joint i.

    The joint is that of body i and has the ``rate`` q̇; (R, ω) belong to the carrier.
    """
    b = mul(R, load3_at(rigid.spin, i, 0))
    store3_at(rigid.spin, i, 3, b)
    store3_at(rigid.spin, i, 6, cross(w, scale(rate, b)))


@part
def with_rotor(rigid, i, axis, un, pivot, u):
    """(U, D, u) of joint i with the contributions of its rotors.

    b acts on α of the parent, which is the angular part of a' less the velocity product; body i
    also rotates by ``axis`` η̇. Theory, section 56.
    """
    b = load3_at(rigid.spin, i, 3)
    if rigid.body[i, B_ROTOR] == ON_PARENT:
        return add(un, b), pivot, u + dot(b, load3_at(rigid.state, i, A_CR))
    return add(un, b), pivot + 2.0 * dot(b, axis), u - dot(axis, load3_at(rigid.spin, i, 6))


@part
def general_joint(joints, rigid, i, state, pose, wp):
    """Columns (ω, v), in world axes, and velocity products c_i of an arbitrary chain.

    state: (q, s). pose: (R, d) of the joint's frame. wp: angular velocity ω_p of the parent.
    Returns (R, d, ω) of body i. The rates Ċ η of `joint_directions` are spatial accelerations;
    ω_rel × v_rel and 2 ω_p × v_rel are added to get the acceleration of the origin.
    """
    q, s = state
    R, d = pose
    body, column, w = rigid.body, rigid.column, rigid.state
    j = body[i, B_JOINT]
    Rj, xj = joint_pose(joints, j, q, body[i, B_Q])
    jv, jw, bv, bw = joint_directions(joints, j, q, body[i, B_Q], s, body[i, B_S], column, i)
    d = add(d, mul(R, xj))
    R = matmul(R, Rj)
    jv = mul(R, jv)
    jw = mul(R, jw)
    for k in range(body[i, B_NV]):
        v = mul(R, load3_at(column, i, 6 * k))
        store3_at(column, i, 6 * k, mul(R, load3_at(column, i, 6 * k + 3)))
        store3_at(column, i, 6 * k + 3, v)
    store3_at(w, i, A_CR, add(cross(wp, jw), mul(R, bw)))
    a = add(cross(wp, add(cross(wp, d), scale(2.0, jv))), cross(jw, jv))
    store3_at(w, i, A_CL, add(a, mul(R, bv)))
    return R, d, add(wp, jw)


@part
def released(inertia, bias, un, uf, inverse, u):
    """Articulated inertia and bias wrench after one joint axis is released.

    inertia: 𝓘 = (J, H, M). bias: p = (n, f). un, uf: moment and force of U = 𝓘 S. inverse: D⁻¹
    (Featherstone 2008, section 7.3).
    """
    J, H, M = inertia
    n, f = bias
    vn = scale(inverse, un)
    vf = scale(inverse, uf)
    return (less_dyad(J, vn, un), less_full_dyad(H, vn, uf), less_dyad(M, vf, uf)), (
        add(n, scale(u, vn)),
        add(f, scale(u, vf)),
    )


@part
def release_general(rigid, tau, i, inertia, bias):
    """𝓘 and p of body i `released` along the columns of its general joint, the last one first.

    Returns (positive pivots, 𝓘, p).
    """
    body, column = rigid.body, rigid.column
    for last in range(body[i, B_NV]):
        k = body[i, B_NV] - 1 - last
        J, H, M = inertia
        n, f = bias
        cw = load3_at(column, i, 6 * k)
        cv = load3_at(column, i, 6 * k + 3)
        un = add(symmetric_mul(J, cw), mul(H, cv))
        uf = add(transposed_mul(H, cw), symmetric_mul(M, cv))
        pivot = dot(cw, un) + dot(cv, uf) + rigid.reflected[body[i, B_S] + k]
        u = tau[body[i, B_S] + k] - dot(cw, n) - dot(cv, f)
        if body[i, B_ROTOR] != NO_ROTOR:
            un, pivot, u = with_rotor(rigid, i, cw, un, pivot, u)
        if not pivot > 0.0:
            return False, inertia, bias
        inverse = 1.0 / pivot
        store3_at(column, i, C_U + 6 * k, un)
        store3_at(column, i, C_U + 6 * k + 3, uf)
        column[i, C_DINV + 2 * k] = inverse
        column[i, C_DINV + 2 * k + 1] = u
        inertia, bias = released(inertia, bias, un, uf, inverse, u)
    if body[i, B_ROTOR] != NO_ROTOR:
        # the moment ω × q̇ b on body i or on its parent, to which it is passed unchanged
        bias = (add(bias[0], load3_at(rigid.spin, i, 6)), bias[1])
    return True, inertia, bias


@part
def release_axis(rigid, tau, i, inertia, bias):
    """𝓘 and p of body i `released` along the axis of its revolute or prismatic joint.

    Returns (positive pivot, 𝓘, p).
    """
    body, w = rigid.body, rigid.state
    J, H, M = inertia
    n, f = bias
    axis = (w[i, A_R + 2], w[i, A_R + 5], w[i, A_R + 8])
    # first in the sum of the pivot, whose products depend on one another
    reflected = rigid.reflected[body[i, B_S]]
    if body[i, B_KIND] == REVOLUTE:
        un = symmetric_mul(J, axis)
        uf = transposed_mul(H, axis)
        pivot = axis[0] * un[0] + reflected + axis[1] * un[1] + axis[2] * un[2]
        u = tau[body[i, B_S]] - dot(axis, n)
    else:
        un = mul(H, axis)
        uf = symmetric_mul(M, axis)
        pivot = axis[0] * uf[0] + reflected + axis[1] * uf[1] + axis[2] * uf[2]
        u = tau[body[i, B_S]] - dot(axis, f)
    if not pivot > 0.0:
        return False, inertia, bias
    inverse = 1.0 / pivot
    store3_at(w, i, A_UN, un)
    store3_at(w, i, A_UF, uf)
    w[i, A_DINV] = inverse
    w[i, A_V] = u
    inertia, bias = released(inertia, bias, un, uf, inverse, u)
    return True, inertia, bias


@part
def with_own_inertia(rigid, i, inertia, bias):
    """𝓘 and p from the children, plus those of body i itself.

    n contains c × a, f contains α × c = c̃ᵀ α: H = c̃ with the first moment c about the body's
    origin.
    """
    place, w = rigid.place, rigid.state
    J, H, M = inertia
    n, f = bias
    R = load9_at(w, i, A_R)
    wi = load3_at(w, i, A_W)
    m = place[i, P_MASS]
    c = mul(R, load3_at(place, i, P_FIRST))
    own = turned_symmetric(R, load6_at(place, i, P_INERTIA))
    J = (J[0] + own[0], J[1] + own[1], J[2] + own[2], J[3] + own[3], J[4] + own[4], J[5] + own[5])
    H = (
        H[0],
        H[1] - c[2],
        H[2] + c[1],
        H[3] + c[2],
        H[4],
        H[5] - c[0],
        H[6] - c[1],
        H[7] + c[0],
        H[8],
    )
    M = (M[0] + m, M[1], M[2], M[3] + m, M[4], M[5] + m)
    return (J, H, M), (add(n, cross(wi, symmetric_mul(own, wi))), add(f, cross(wi, cross(wi, c))))


@part
def sum_of_children(w, i, inertia, bias):
    """𝓘 and p from the next body, plus those that other children of body i left in its row."""
    J, H, M = inertia
    n, f = bias
    K = load6_at(w, i, A_J)
    J = (J[0] + K[0], J[1] + K[1], J[2] + K[2], J[3] + K[3], J[4] + K[4], J[5] + K[5])
    G = load9_at(w, i, A_H)
    H = (
        H[0] + G[0],
        H[1] + G[1],
        H[2] + G[2],
        H[3] + G[3],
        H[4] + G[4],
        H[5] + G[5],
        H[6] + G[6],
        H[7] + G[7],
        H[8] + G[8],
    )
    K = load6_at(w, i, A_M)
    M = (M[0] + K[0], M[1] + K[1], M[2] + K[2], M[3] + K[3], M[4] + K[4], M[5] + K[5])
    n = add(n, load3_at(w, i, A_PN))
    f = add(f, load3_at(w, i, A_PF))
    return (J, H, M), (n, f)


@part
def leave(w, p, inertia, bias):
    """Add inertia and bias wrench of a child to the row of body p, for its later elimination."""
    J, H, M = inertia
    for a in range(6):
        w[p, A_J + a] += J[a]
        w[p, A_M + a] += M[a]
    for a in range(9):
        w[p, A_H + a] += H[a]
    increase3_at(w, p, A_PN, bias[0])
    increase3_at(w, p, A_PF, bias[1])


@part
def rigid_inward(rigid, tau):
    """Articulated inertias and bias wrenches from leaves to root, under the joint forces τ.

    U = 𝓘 S, D = Sᵀ U, u = τ − Sᵀ p, 𝓘 ← 𝓘 − U D⁻¹ Uᵀ, p ← p + U D⁻¹ u; columns of a general joint
    one after the other. A body passes 𝓘 and p directly to its parent if that is next, otherwise
    through the parent's row of ``state``. Returns 0, or −1 − body if a pivot D is not positive.
    Featherstone 2008, section 7.3.
    """
    body, w = rigid.body, rigid.state
    for i in range(body.shape[0]):
        if body[i, B_JOINS] == 1:
            for a in range(A_J, A_UN):
                w[i, a] = 0.0
    inertia, bias = NO_INERTIA, (ZERO3, ZERO3)
    for back in range(body.shape[0]):
        i = body.shape[0] - 1 - back
        if body[i, B_JOINS] == 1:
            inertia, bias = sum_of_children(w, i, inertia, bias)
        inertia, bias = with_own_inertia(rigid, i, inertia, bias)
        if body[i, B_KIND] == GENERAL:
            positive, inertia, bias = release_general(rigid, tau, i, inertia, bias)
        else:
            positive, inertia, bias = release_axis(rigid, tau, i, inertia, bias)
        if not positive:
            return -1 - i
        p = body[i, B_PARENT]
        if p >= 0:
            inertia, bias = shifted_to_parent(w, i, inertia, bias)
            if p != i - 1:
                leave(w, p, inertia, bias)
        if p < 0 or p != i - 1:
            inertia, bias = NO_INERTIA, (ZERO3, ZERO3)
    return 0


@part
def shifted_to_parent(w, i, inertia, bias):
    """Articulated inertia and bias wrench of body i at the origin of its parent.

    With the shift d: H' = H + d̃ M, J' = J − H d̃ + d̃ H'ᵀ, and the moment gets d × f. Before the
    shift p ← p + 𝓘 c_i with the velocity products of the joint.
    """
    J, H, M = inertia
    n, f = bias
    cr = load3_at(w, i, A_CR)
    cl = load3_at(w, i, A_CL)
    d = load3_at(w, i, A_D)
    n = add(n, add(symmetric_mul(J, cr), mul(H, cl)))
    f = add(f, add(transposed_mul(H, cr), symmetric_mul(M, cl)))
    x = cross(d, (M[0], M[1], M[2]))
    y = cross(d, (M[1], M[3], M[4]))
    z = cross(d, (M[2], M[4], M[5]))
    G = (
        H[0] + x[0],
        H[1] + y[0],
        H[2] + z[0],
        H[3] + x[1],
        H[4] + y[1],
        H[5] + z[1],
        H[6] + x[2],
        H[7] + y[2],
        H[8] + z[2],
    )
    r0 = cross(d, (H[0], H[1], H[2]))
    r1 = cross(d, (H[3], H[4], H[5]))
    r2 = cross(d, (H[6], H[7], H[8]))
    c0 = cross(d, (G[0], G[1], G[2]))
    c1 = cross(d, (G[3], G[4], G[5]))
    c2 = cross(d, (G[6], G[7], G[8]))
    J = (
        J[0] + r0[0] + c0[0], J[1] + r0[1] + c1[0], J[2] + r0[2] + c2[0],
        J[3] + r1[1] + c1[1], J[4] + r1[2] + c2[1], J[5] + r2[2] + c2[2],
    )  # fmt: skip
    return (J, G, M), (add(n, cross(d, f)), f)


@part
def rigid_rates(rigid, gravity, sd):
    """ṡ from root to leaves: η̇ = D⁻¹ (u − Uᵀ a'), a = a' + S η̇.

    Gravity enters as the acceleration −g of the ground.
    """
    body, w, column = rigid.body, rigid.state, rigid.column
    ground = (-gravity[0], -gravity[1], -gravity[2])
    for i in range(body.shape[0]):
        p = body[i, B_PARENT]
        if p >= 0:
            al = load3_at(w, p, A_WD)
            a = load3_at(w, p, A_WD + 3)
            a = add(a, cross(al, load3_at(w, i, A_D)))
        else:
            al = ZERO3
            a = ground
        a = add(a, load3_at(w, i, A_CL))
        al = add(al, load3_at(w, i, A_CR))
        if body[i, B_KIND] == GENERAL:
            for k in range(body[i, B_NV]):
                x = column[i, C_DINV + 2 * k + 1] - dot(load3_at(column, i, C_U + 6 * k), al)
                x = column[i, C_DINV + 2 * k] * (x - dot(load3_at(column, i, C_U + 6 * k + 3), a))
                sd[body[i, B_S] + k] = x
                al = add(al, scale(x, load3_at(column, i, 6 * k)))
                a = add(a, scale(x, load3_at(column, i, 6 * k + 3)))
        else:
            x = w[i, A_DINV] * (
                w[i, A_V] - dot(load3_at(w, i, A_UN), al) - dot(load3_at(w, i, A_UF), a)
            )
            sd[body[i, B_S]] = x
            axis = (w[i, A_R + 2], w[i, A_R + 5], w[i, A_R + 8])
            if body[i, B_KIND] == REVOLUTE:
                al = add(al, scale(x, axis))
            else:
                a = add(a, scale(x, axis))
        store3_at(w, i, A_WD, al)
        store3_at(w, i, A_WD + 3, a)


@part
def rigid_accelerations(system, rigid, here, tau):
    """ṡ (ns,) of a rigid tree under joint forces τ (ns,), into here.sd.

    Returns 0, or −1 − body if M is not positive definite. The three sweeps of Featherstone 2008,
    section 7.3; O(nb).
    """
    rigid_outward(system.joints, rigid, here.q, here.s)
    status = rigid_inward(rigid, tau)
    if status == 0:
        rigid_rates(rigid, system.gravity, here.sd)
    return status
