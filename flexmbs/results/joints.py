"""Wrenches and coordinates of all joints over a trajectory, in the declared orientation of the joints."""

from typing import NamedTuple

import numpy as np

from flexmbs.dynamics.dense import multipliers_of_least_norm, row_rank, terms
from flexmbs.dynamics.work import make_work
from flexmbs.model.motions import Motion, Prescribed
from flexmbs.results.histories import Motions, joint_history, opposite_wrench, states_of
from flexmbs.system.compile import Compiled
from flexmbs.system.compile_forces import JointPlace
from flexmbs.system.coordinates import inverse_coordinates
from flexmbs.system.trajectory import Trajectory

UNIQUE = 1e-6  # of a self-stress of length one


class JointHistories(NamedTuple):
    """Arrays of `joint_history`, the multipliers used, and for each primary and cut joint whether its wrench is unique."""

    lam: np.ndarray  # (nt, nc)
    primary: np.ndarray  # (nt, nb, 6)
    cut: np.ndarray  # (nt, ncut, 6)
    effort: np.ndarray  # (nt, nb + ncut, 6)
    beta: np.ndarray  # (nt, nβ)
    eta: np.ndarray  # (nt, ncut, 6)
    etad: np.ndarray  # (nt, ncut, 6)
    prescribed: np.ndarray  # (nt, np, 4) f, ḟ, f̈ and effort of the prescribed coordinates
    unique: np.ndarray  # (nb + ncut,) int64


class JointCoordinates(NamedTuple):
    """Coordinates (nt, nq), velocities, accelerations and efforts (nt, nv) of one joint as declared."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray


def history_shapes(compiled: Compiled, nt: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of `JointHistories`."""
    nb, ncut, nc = len(compiled.bodies), len(compiled.topology.cuts), compiled.n_constraints
    n_beta = sum(compiled.model.joints[name].nq for name in compiled.topology.cuts)
    return {
        "lam": (nt, nc), "primary": (nt, nb, 6), "cut": (nt, ncut, 6), "effort": (nt, nb + ncut, 6),
        "beta": (nt, n_beta), "eta": (nt, ncut, 6), "etad": (nt, ncut, 6),
        "prescribed": (nt, len(compiled.system.prescribed.law), 4), "unique": (nb + ncut,),
    }  # fmt: skip


def joint_histories(
    compiled: Compiled, trajectory: Trajectory, *, redundant: bool, least_norm: bool = True
) -> JointHistories:  # fmt: skip
    """Wrenches and coordinates of all joints; with redundant constraints by the multipliers of least norm, or by given ones,
    which are equivalent for joints with a unique wrench."""
    beta = path_coordinates(compiled, trajectory)
    if not redundant:
        return _histories(compiled, trajectory, trajectory.lam, beta)
    system, work = compiled.system, make_work(compiled.system, beta[0])
    lam = np.empty_like(trajectory.lam)
    G0 = terms(system, work, float(trajectory.t[0]), trajectory.q[0], trajectory.s[0]).G
    for i, t in enumerate(trajectory.t):
        if not least_norm:
            lam[i] = trajectory.lam[i]
            continue
        work.path.beta[:] = beta[i]
        G = terms(system, work, float(t), trajectory.q[i], trajectory.s[i]).G
        lam[i] = multipliers_of_least_norm(G, trajectory.lam[i])
    found = _histories(compiled, trajectory, lam, beta)
    return found._replace(unique=_unique(compiled, trajectory, lam[:1], beta[:1], G0))


def start_coordinates(compiled: Compiled) -> np.ndarray:
    """Declared coordinates of the cut joints, initial values for the first output."""
    joints = compiled.model.joints
    return np.concatenate([np.zeros(0), *(np.asarray(joints[name].initial_position) for name in compiled.topology.cuts)])


def path_coordinates(compiled: Compiled, trajectory: Trajectory) -> np.ndarray:
    """(nt, nβ) coordinates of the cut joints, initial values for each output."""
    if len(trajectory.beta) == len(trajectory.t):
        return trajectory.beta
    return np.tile(start_coordinates(compiled), (len(trajectory.t), 1))


def _histories(compiled: Compiled, trajectory: Trajectory, lam: np.ndarray, beta: np.ndarray) -> JointHistories:
    work = make_work(compiled.system, beta[0])
    shapes = history_shapes(compiled, len(trajectory.t))
    z = {name: np.zeros(shapes[name]) for name in ("primary", "cut", "effort", "beta", "eta", "etad", "prescribed")}
    found = JointHistories(lam, **z, unique=np.ones(shapes["unique"], np.int64))
    joint_history(compiled.system, work, states_of(trajectory._replace(lam=lam), beta), found)
    compiled.callbacks.raise_error()
    return found


def _unique(compiled: Compiled, trajectory: Trajectory, lam: np.ndarray, beta: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Joints whose wrench does not change under a self-stress: multipliers y with Gᵀ y = 0, at the first output."""
    u, size, _ = np.linalg.svd(G)
    rank = row_rank(size)
    y = u[:, rank:] @ np.random.default_rng(0).uniform(0.5, 1.0, G.shape[0] - rank)
    first = Trajectory(*(np.ascontiguousarray(values[:1]) for values in trajectory))
    force = max(float(np.abs(lam).max(initial=0.0)), 1.0)
    base, other = (_histories(compiled, first, lam + c * force * y, beta) for c in (0.0, 1.0))
    change = np.concatenate([other.primary - base.primary, other.cut - base.cut], axis=1)[0]
    return (np.abs(change).max(axis=1) <= 1e-6 * force).astype(np.int64)


def unique_multipliers(compiled: Compiled, trajectory: Trajectory) -> np.ndarray:
    """(nc,) whether no self-stress y, Gᵀ y = 0, has a part in the multiplier, at the first output."""
    work = make_work(compiled.system, path_coordinates(compiled, trajectory)[0])
    G = terms(compiled.system, work, float(trajectory.t[0]), trajectory.q[0], trajectory.s[0]).G
    u, size, _ = np.linalg.svd(G)
    return np.asarray(np.abs(u[:, row_rank(size) :]).max(axis=1, initial=0.0) <= UNIQUE)


def declared_wrench(compiled: Compiled, trajectory: Trajectory, found: JointHistories, joint: str) -> np.ndarray:
    """(nt, 6) wrench on the declared child at its frame, in that frame's axes."""
    place = compiled.places[joint]
    if place.cut >= 0:
        return found.cut[:, place.cut]
    wrench = np.ascontiguousarray(found.primary[:, place.body])
    if not place.reversed:
        return wrench
    out = np.zeros_like(wrench)
    motions = Motions(trajectory.t, trajectory.q, trajectory.s, trajectory.sd)
    opposite_wrench(compiled.system, make_work(compiled.system), place.body, motions, wrench, out)
    return out


def declared_coordinates(compiled: Compiled, trajectory: Trajectory, found: JointHistories, joint: str) -> JointCoordinates:
    """Coordinates of a joint from the parent to the child it was declared with."""
    place = compiled.places[joint]
    nq, nv = sum(m.nq for m in place.motions), sum(m.nv for m in place.motions)
    if place.cut >= 0:
        k = place.cut
        at = int(compiled.system.cuts.beta_at[k])
        effort = found.effort[:, len(compiled.bodies) + k, :nv]
        return JointCoordinates(found.beta[:, at : at + nq], found.eta[:, k, :nv], found.etad[:, k, :nv], effort)
    at, to = (int(each[place.body]) for each in (compiled.system.tree.q_at, compiled.system.tree.s_at))
    rates = (trajectory.s[:, to : to + nv], trajectory.sd[:, to : to + nv])
    tree = JointCoordinates(trajectory.q[:, at : at + nq], *rates, found.effort[:, place.body, :nv])
    tree = _with_prescribed(compiled, place, tree, found.prescribed)
    return _reversed(tuple(_own(motion) for motion in place.motions), tree) if place.reversed else tree


def _own(motion: Motion) -> Motion:
    """The motion itself where it is prescribed."""
    return motion.of if isinstance(motion, Prescribed) else motion


def _with_prescribed(
    compiled: Compiled, place: JointPlace, tree: JointCoordinates, prescribed: np.ndarray
) -> JointCoordinates:  # fmt: skip
    """The coordinates of a primary joint, the prescribed ones in their places."""
    drives = list(compiled.model.drives)
    number = {drives[d]: k for k, d in enumerate(compiled.system.prescribed.drive)}
    q = v = 0
    parts: tuple[list[np.ndarray], ...] = ([], [], [], [])
    for motion in place.motions:
        if isinstance(motion, Prescribed):
            values = tuple(np.moveaxis(prescribed[:, number[motion.drive], :, None], 1, 0))
        else:
            values = (tree.position[:, q : q + motion.nq], *(each[:, v : v + motion.nv] for each in tree[1:]))
            q, v = q + motion.nq, v + motion.nv
        for part, value in zip(parts, values):
            part.append(value)
    none = np.zeros((len(tree.position), 0))
    return JointCoordinates(*(np.hstack([none, *part]) for part in parts))


def drive_efforts(compiled: Compiled, found: JointHistories, number: int) -> np.ndarray:
    """(nt,) torque or force of a drive: the multiplier of its row, or that of its prescribed coordinate by inverse dynamics."""
    system = compiled.system
    row = system.drives.row[system.drives.drive == number]
    if len(row):
        return np.asarray(found.lam[:, row[0]])
    return np.asarray(found.prescribed[:, np.flatnonzero(system.prescribed.drive == number)[0], 3])


def _reversed(motions: tuple[Motion, ...], tree: JointCoordinates) -> JointCoordinates:
    """Coordinates of the inverse chain; efforts by equal power, τᵀη."""
    position, velocity = inverse_coordinates(motions, tree.position, tree.velocity)
    _, acceleration = inverse_coordinates(motions, tree.position, tree.acceleration)
    effort = tree.effort[:, ::-1]
    if any(motion.nq > motion.nv for motion in motions):
        units = np.broadcast_to(np.eye(tree.velocity.shape[1]), (len(position), *2 * tree.velocity.shape[1:]))
        _, rates = inverse_coordinates(motions, tree.position[:, None], units)  # of each unit velocity
        effort = np.linalg.solve(rates, tree.effort[..., None])[..., 0]
    return JointCoordinates(position, velocity, acceleration, effort)
