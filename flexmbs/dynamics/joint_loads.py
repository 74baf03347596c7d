"""Reactions of joints, on which forces depend.

Loads of friction are the reaction's parts along and across the axis of a freedom,

    F_along = |f · a|,  F_across = |f − (f · a) a|,  M_bending = |n − (n · a) a|,  M_torsion = |n ·
    a|,

with the wrench (f, n) on the child at its frame and the axis a of the rotation, or of the
translation. The wrench of a primary joint follows from ṡ and λ by the inward sweep, whatever the
forces on joint coordinates are; that of a cut joint is 𝒯ᵀλ. Where ṡ and λ follow from the forces,
the loads are found by iteration, y ← W(ṡ(y), λ(y)).

Forces on frames read the constraint wrench W_c on the child, the part of the wrench that does no
work on the free directions C,

    W_c = W − C⁺ᵀ CᵀW,   or   W_c = 𝒯ᵀλ  of a cut joint without its drives.

Those of primary joints depend on the forces that read them at given ṡ and λ already: an inner
iteration of the sweep. Theory: docs/theory.md, section 39. Schiehlen and Eberhard, Applied Dynamics
(2014), for friction that depends on reactions.
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.se3 import wrench_to_parent
from flexmbs.algebra.small import (
    ZERO3,
    add,
    cross,
    dot,
    load3_at,
    load9_at,
    mul,
    neg,
    scale,
    store3_at,
    sub,
)
from flexmbs.dynamics.constraints import (
    constraint_wrench,
    left_inverse,
    six_apply,
    wrench_of_rows,
)
from flexmbs.system.records import SETTLED, UNBOUNDED

# marks a reaction that is not known yet; forces that read it do not act
UNKNOWN = math.nan
# columns of the wrenches that are read: from the previous iteration, from the previous sweep
BEFORE, LAST_SWEEP = 6, 12
# of the largest wrench: error of a reaction that is a difference of larger wrenches
ROUND_OFF = 2e-16


@part
def any_loaded(system):
    """True if a force depends on the reaction of a joint."""
    found = system.readings.body.shape[0]
    for f in range(system.forces.joint.loaded.shape[0]):
        found += system.forces.joint.loaded[f]
    return found > 0


@part
def axis_of(directions, k, at):
    """Unit rotation axis, or translation axis, of the direction in row k."""
    d, w = load3_at(directions, k, at), load3_at(directions, k, at + 3)
    if dot(w, w) > 0.0:
        d = w
    return scale(1.0 / math.sqrt(dot(d, d)), d)


@part
def along_and_across(a, f, n):
    """(F_across, F_along, M_bending, M_torsion) of a wrench (N, N m) for the axis a."""
    along, torsion = dot(f, a), dot(n, a)
    across, bending = sub(f, scale(along, a)), sub(n, scale(torsion, a))
    return (
        math.sqrt(dot(across, across)),
        abs(along),
        math.sqrt(dot(bending, bending)),
        abs(torsion),
    )


@part
def turns_about(directions, k, at):
    """True if the direction in row k is a rotation."""
    w = load3_at(directions, k, at + 3)
    return dot(w, w) > 0.0


@part
def store_loads(work, f, found, one_freedom, turns):
    """Store the loads of joint force f.

    Components along or about the axis are zero unless the joint constrains them.
    """
    work.loads.joint[f, 0] = found[0]
    work.loads.joint[f, 1] = found[1] if one_freedom and turns else 0.0
    work.loads.joint[f, 2] = found[2]
    work.loads.joint[f, 3] = found[3] if one_freedom and not turns else 0.0


@part
def loads_of_primary(system, work, f):
    """Loads of joint force f from the wrench through its primary joint.

    The wrench must be that of the last inward sweep.
    """
    rows, motion = system.forces.joint, work.motion
    i = rows.body[f]
    a = axis_of(motion.directions, i, 6 * rows.v[f])
    force, moment = load3_at(motion.through, i, 0), load3_at(motion.through, i, 3)
    if rows.loaded[f] == 2:  # the declared child is the parent in the tree
        R = load9_at(motion.Rj, i, 0)
        a = mul(R, a)
        force, moment = wrench_to_parent(R, load3_at(motion.xj, i, 0), force, moment)
    turns = turns_about(motion.directions, i, 6 * rows.v[f])
    store_loads(work, f, along_and_across(a, force, moment), system.tree.nv[i] == 1, turns)


@part
def loads_of_cut(system, work, f, lam):
    """Loads of joint force f from the multipliers of its cut joint."""
    rows = system.forces.joint
    k = rows.cut[f]
    force, moment = constraint_wrench(system.cuts, work.cut, k, lam)
    found = along_and_across(axis_of(work.cut.directions, k, 6 * rows.v[f]), force, moment)
    store_loads(
        work, f, found, system.cuts.nv[k] == 1, turns_about(work.cut.directions, k, 6 * rows.v[f])
    )


@part
def transmitted(system, work, r):
    """Constraint wrench (f, n) on the declared child of primary joint ``r``.

    At its frame and in its axes, from the last inward sweep, without the part along the free
    directions there.
    """
    i, free, dual, motion = system.readings.body[r], work.loads.free, work.loads.dual, work.motion
    R, x = load9_at(motion.Rj, i, 0), load3_at(motion.xj, i, 0)
    turned = system.readings.reversed[r] == 1
    force, moment = load3_at(motion.through, i, 0), load3_at(motion.through, i, 3)
    if turned:
        force, moment = wrench_to_parent(R, x, force, moment)
        force, moment = neg(force), neg(moment)
    for a in range(system.tree.nv[i]):
        row = 6 * a
        v, w = load3_at(motion.directions, i, row), load3_at(motion.directions, i, row + 3)
        if turned:
            w = mul(R, w)
            v = add(mul(R, v), cross(x, w))
        store3_at(free, r, row, v)
        store3_at(free, r, row + 3, w)
    left_inverse(free, dual, r, system.tree.nv[i])
    left_force, left_moment = force, moment
    for a in range(system.tree.nv[i]):
        row = 6 * a
        effort = six_apply(free, r, row, force, moment)
        left_force = sub(left_force, scale(effort, load3_at(dual, r, row)))
        left_moment = sub(left_moment, scale(effort, load3_at(dual, r, row + 3)))
    return left_force, left_moment


@part
def read_cuts(system, work, lam):
    """Store the wrenches of cut joints that forces read.

    Those of primary joints, which follow from the sweep, are unknown at first.
    """
    for r in range(system.readings.body.shape[0]):
        force, moment = ZERO3, ZERO3
        if system.readings.cut[r] >= 0:
            k = system.readings.cut[r]
            force, moment = wrench_of_rows(system.cuts, work.cut, k, lam, system.cuts.closed[k])
        store3_at(work.loads.read, r, 0, force)
        store3_at(work.loads.read, r, 3, moment)
        if system.readings.cut[r] < 0:
            work.loads.read[r, 0] = UNKNOWN
        for a in range(6):
            work.loads.read[r, LAST_SWEEP + a] = work.loads.read[r, a]


@part
def read_primary(system, work, turns):
    """Store the wrenches of primary joints that forces read, after the inward sweep.

    Returns True if they are those with which this sweep was computed.
    """
    for r in range(system.readings.body.shape[0]):
        if system.readings.cut[r] < 0:
            force, moment = transmitted(system, work, r)
            store3_at(work.loads.read, r, 0, force)
            store3_at(work.loads.read, r, 3, moment)
    return unchanged_since(work.loads.read, 6, LAST_SWEEP, (largest_wrench(work), turns))


@part
def without_loads(work):
    """Set the loads to zero and the reactions to unknown."""
    for f in range(work.loads.joint.shape[0]):
        for a in range(8):
            work.loads.joint[f, a] = 0.0
    for r in range(work.loads.read.shape[0]):
        for a in range(18):
            work.loads.read[r, a] = 0.0
        work.loads.read[r, 0] = work.loads.read[r, BEFORE] = UNKNOWN


@part
def largest_wrench(work):
    """Largest force or moment applied to a body or through its joint.

    It determines the round-off of reactions.
    """
    most = 0.0
    for i in range(work.motion.applied.shape[0]):
        for a in range(6):
            most = max(most, abs(work.motion.applied[i, a]), abs(work.motion.through[i, a]))
    return most


@part
def unchanged_since(table, n, before, limits):
    """True if the first n columns of a table equal those from ``before`` on, up to round-off.

    The columns are stored there. limits: the largest wrench, whose round-off counts too, and the
    number of iterations so far. After k iterations with the last change ε the error is about ε q
    with q = ε^(1/k), so that the limit may grow with k: round-off of ill-conditioned systems, which
    no further iteration reduces, is finally accepted.
    """
    largest, turns = limits
    most = change = 0.0
    for f in range(table.shape[0]):
        for a in range(n):
            value, last = table[f, a], table[f, before + a]
            table[f, before + a] = value
            if value != value:  # the evaluation has failed: further iterations would not help
                continue
            most = max(most, abs(value))
            change = max(change, abs(value - last) if last == last else math.inf)
    return change <= (1.0 + turns) * (SETTLED * most + ROUND_OFF * largest)


@part
def runaway(work):
    """True if reaction-dependent loads have grown beyond all bounds.

    User functions are not called with such loads.
    """
    most = 0.0
    for f in range(work.loads.joint.shape[0]):
        for a in range(4):
            most = max(most, work.loads.joint[f, a])
    for r in range(work.loads.read.shape[0]):
        for a in range(6):
            most = max(most, abs(work.loads.read[r, a]))
    return most > UNBOUNDED


@part
def loads_settled(work, turns):
    """True if the loads equal the previous ones up to round-off; stores them for comparison."""
    limits = largest_wrench(work), turns
    joint = unchanged_since(work.loads.joint, 4, 4, limits)
    read = unchanged_since(work.loads.read, 6, BEFORE, limits)
    return joint and read
