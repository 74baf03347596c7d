"""Loads of joints, on which friction depends: the reaction's parts along and across the axis of a freedom.

    F_along = |f · a|,  F_across = |f − (f · a) a|,  M_bending = |n − (n · a) a|,  M_torsion = |n · a|,

with the wrench (f, n) on the child at its frame and the axis a of the rotation, or of the translation. The wrench of a primary
joint follows from ṡ and λ by the inward sweep, whatever the forces on joint coordinates are; that of a cut joint is 𝒯ᵀλ. Where
ṡ and λ follow from the forces, the loads are found by iteration, y ← W(ṡ(y), λ(y)). Theory: docs/theory.md, section 39. Schiehlen
and Eberhard, Applied Dynamics (2014), for friction that depends on reactions.
"""

import math

from flexmbs._jit import part
from flexmbs.algebra.se3 import wrench_to_parent
from flexmbs.algebra.small import dot, load3_at, load9_at, mul, scale, sub
from flexmbs.dynamics.constraints import constraint_wrench
from flexmbs.system.records import SETTLED


@part
def any_loaded(rows):
    """Whether the reaction of a joint loads a force on it."""
    found = 0
    for f in range(rows.loaded.shape[0]):
        found += rows.loaded[f]
    return found > 0


@part
def axis_of(directions, k, at):
    """Unit axis of the rotation, or translation, of entries ``at`` … in row k."""
    d, w = load3_at(directions, k, at), load3_at(directions, k, at + 3)
    if dot(w, w) > 0.0:
        d = w
    return scale(1.0 / math.sqrt(dot(d, d)), d)


@part
def along_and_across(a, f, n):
    """(F_across, F_along, M_bending, M_torsion) of a wrench (N, N m) for the axis a."""
    along, torsion = dot(f, a), dot(n, a)
    across, bending = sub(f, scale(along, a)), sub(n, scale(torsion, a))
    return math.sqrt(dot(across, across)), abs(along), math.sqrt(dot(bending, bending)), abs(torsion)


@part
def turns_about(directions, k, at):
    """Whether entries ``at`` … in row k are a rotation."""
    w = load3_at(directions, k, at + 3)
    return dot(w, w) > 0.0


@part
def store_loads(work, f, found, one_freedom, turns):
    """The loads of joint force f; where the joint is free none are carried: about or along its axis, or both."""
    work.loads[f, 0] = found[0]
    work.loads[f, 1] = found[1] if one_freedom and turns else 0.0
    work.loads[f, 2] = found[2]
    work.loads[f, 3] = found[3] if one_freedom and not turns else 0.0


@part
def loads_of_primary(system, work, f):
    """Loads of joint force f from the wrench through its primary joint, which the inward sweep has left."""
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
    store_loads(work, f, found, system.cuts.nv[k] == 1, turns_about(work.cut.directions, k, 6 * rows.v[f]))


@part
def without_loads(work):
    """No loads."""
    for f in range(work.loads.shape[0]):
        for a in range(8):
            work.loads[f, a] = 0.0


@part
def loads_settled(work):
    """Whether the loads are those before but for round-off; keeps them for the next comparison."""
    most = change = 0.0
    for f in range(work.loads.shape[0]):
        for a in range(4):
            most = max(most, work.loads[f, a])
            change = max(change, abs(work.loads[f, a] - work.loads[f, 4 + a]))
            work.loads[f, 4 + a] = work.loads[f, a]
    return change <= SETTLED * most
