"""Constraint rows of user functions of the relative pose X and twist V_rel.

A(X, t) V_rel + a₀(X, t) = 0 and g(X, t) = 0, with

    ġ = A V_rel + a₀,   g̈ = A V̇_rel + d/dτ (A V_rel + a₀) along X exp(τ V_rel), t + τ, with V_rel held,

by central differences of fourth order. If the rows are the derivatives of g, A V_rel + a₀ is ġ
along that motion, and the last term is d²g/dτ².

Theory: docs/theory.md, sections 13 and 15. Featherstone, Rigid Body Dynamics Algorithms (2008),
section 8.2 (loop constraint equations); Fornberg (1988), Math. Comput. 51, 699, for the weights of
the differences.
"""

import math

from flexmbs.algebra.differences import STENCIL
from flexmbs._jit import call_address, part
from flexmbs.algebra.se3 import exp_se3
from flexmbs.algebra.small import add, dot, load3_at, matmul, mul, scale, store3_at, tmul
from flexmbs.dynamics.frames import pose_between
from flexmbs.system.records import (
    ROWS_ALONG,
    USER_ALONG,
    USER_CONSTANTS,
    USER_PARENT,
    USER_POSITION,
    USER_VELOCITY,
    VALUES_ALONG,
)

# of a length of the model, or rad: distance of the first points of differences from the pose
STEP = 1e-3
STEP_OF_VALUES = 4e-3  # the same for second differences of values


@part
def call_with_pose(laws, io, law, t, pose):
    """io[1] ← results of user function ``law`` of time and relative pose."""
    R, x = pose
    io[0, 0] = t
    store3_at(io, 0, 1, x)
    for a in range(9):
        io[0, 4 + a] = R[a]
    call_address(laws.address[law], io[0], io[1])


@part
def speed_of(system, v, w):
    """1 + |v|/L + |w| of a twist (1/s), with a length L of the model."""
    return 1.0 + math.sqrt(dot(v, v)) / system.laws.length[0] + math.sqrt(dot(w, w))


@part
def load_rows(system, work, k, t, pose):
    """Rows (A | a₀) of cut k, 7 numbers each, into work.io[1].

    Returns True if they are given in the parent's axes.
    """
    p, io = system.relations[k], work.io
    law = int(p[USER_VELOCITY])
    if law >= 0:
        call_with_pose(system.laws, io, law, t, pose)
    else:
        for a in range(7 * system.cuts.closed[k]):
            io[1, a] = p[USER_CONSTANTS + a]
    return p[USER_PARENT] == 1.0


@part
def covector(io, r, in_parent, R):
    """Row r on the relative twist, in the child's axes, as two vectors of three numbers.

    A itself, or (Rᵀ d, Rᵀ m) for a row (d, m) in the parent's axes.
    """
    d = load3_at(io, 1, 7 * r)
    m = load3_at(io, 1, 7 * r + 3)
    if in_parent:
        return tmul(R, d), tmul(R, m)
    return d, m


@part
def row_rates(system, work, k, t, pose, twist):
    """Add d/dτ (A V_rel + a₀) to the rates g̈ of the rows of cut k.

    V_rel is held along X exp(τ V_rel), t + τ (theory, section 15). f' ≈ (8 f(h) − 8 f(−h) − f(2h) +
    f(−2h))/(12 h), with steps h of τ that move the pose by about `STEP`.
    """
    p, io, gs = system.relations[k], work.io, work.gs
    n, row = system.cuts.closed[k], system.cuts.row[k]
    R, x = pose
    v, w = twist
    along = int(p[USER_ALONG]) if p[USER_VELOCITY] >= 0.0 else ROWS_ALONG
    # the pose moves by about STEP, however fast the motion
    h = STEP / speed_of(system, v, w)
    if along == VALUES_ALONG:
        second_differences(system, work, k, t, pose, twist)
        return
    for factor, weight in STENCIL:
        dR, dx = exp_se3(scale(factor * h, v), scale(factor * h, w))
        S = matmul(R, dR)
        y = add(x, mul(R, dx))
        if along >= 0:
            store3_at(io, 0, 13, mul(S, v))
            store3_at(io, 0, 16, mul(S, w))
            call_with_pose(system.laws, io, along, t + factor * h, (S, y))
            for r in range(n):
                gs.acceleration[row + r] += weight / h * io[1, r]
        else:
            # rows in the parent's axes turn with the motion: each point of the difference takes its
            # own pose
            in_parent = load_rows(system, work, k, t + factor * h, (S, y))
            for r in range(n):
                d, m = covector(io, r, in_parent, S)
                gs.acceleration[row + r] += weight / h * (dot(d, v) + dot(m, w) + io[1, 7 * r + 6])


@part
def second_differences(system, work, k, t, pose, twist):
    """Add d²g/dτ² along the motion by differences to the rates of the rows of cut k.

    (−f(2h) + 16 f(h) − 30 f(0) + 16 f(−h) − f(−2h))/(12 h²).
    """
    io, gs, row = work.io, work.gs, system.cuts.row[k]
    R, x = pose
    v, w = twist
    law = int(system.relations[k, USER_POSITION])
    h = STEP_OF_VALUES / speed_of(system, v, w)
    for c in range(5):
        factor = c - 2.0
        weight = -30.0 / 12.0 if c == 2 else 16.0 / 12.0 if c % 2 == 1 else -1.0 / 12.0
        dR, dx = exp_se3(scale(factor * h, v), scale(factor * h, w))
        call_with_pose(system.laws, io, law, t + factor * h, (matmul(R, dR), add(x, mul(R, dx))))
        for r in range(system.cuts.closed[k]):
            gs.acceleration[row + r] += weight / (h * h) * io[1, r]


@part
def user_rows(system, work, k, t, twist, rate):
    """Values of the rows of cut k and their covectors A.

    g, A V_rel + a₀, A V̇_rel + d/dτ (A V_rel + a₀) (theory, section 15). The pose of the child is
    in work.cut.pair; its ``twist`` V_rel (v, ω) and the ``rate`` of the twist are relative to the
    parent, in the child's axes.
    """
    cut, gs, io = work.cut, work.gs, work.io
    p, n, row = system.relations[k], system.cuts.closed[k], system.cuts.row[k]
    v, w = twist
    av, aw = rate
    pose = pose_between(cut.pair, k)
    in_parent = load_rows(system, work, k, t, pose)
    for r in range(n):
        d, m = covector(io, r, in_parent, pose[0])
        store3_at(cut.covectors, k, 6 * r, d)
        store3_at(cut.covectors, k, 6 * r + 3, m)
        gs.position[row + r] = 0.0
        gs.velocity[row + r] = dot(d, v) + dot(m, w) + io[1, 7 * r + 6]
        gs.acceleration[row + r] = dot(d, av) + dot(m, aw)
    if in_parent or p[USER_VELOCITY] >= 0.0:
        row_rates(system, work, k, t, pose, twist)
    law = int(p[USER_POSITION])
    if law >= 0:
        call_with_pose(system.laws, io, law, t, pose)
        for r in range(n):
            gs.position[row + r] = io[1, r]
