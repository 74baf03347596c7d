"""Wrenches and coordinates of all joints over a trajectory.

In the declared orientation of the joints.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.diagnosis.rank import DEPENDENT, UnitRowsOfModel
from flexmbs.dynamics.work import make_work
from flexmbs.initial.hierarchical_least_squares import Condition, by_priority
from flexmbs.model.motions import Motion, PrescribedMotion
from flexmbs.results.histories import MotionHistory, joint_history, opposite_wrench, states_of
from flexmbs.system.compile import Compiled
from flexmbs.system.compile_forces import JointPlace
from flexmbs.system.coordinates import inverse_coordinates
from flexmbs.system.step_scales import model_size
from flexmbs.system.trajectory import Trajectory

LARGE = 1e3  # relative to the wrenches and multipliers: step in self-stress for differences
UNIQUE = 1e-6  # share of a unit self-stress in moments, and forces times the size of the model
RANKED = 20  # outputs at which the rank is evaluated
# of the gap of the loops: dependent rows differ by up to 30 times as much in Bennett's linkage
OF_GAP = 1e3
# relative to the size of the model: frames closer together differ by round-off or by the digits of
# a CAD export, and their distance is no lever arm
COINCIDENT = 1e-6
NO_WRENCH = 1e-11  # over the size of the model: wrenches of unit stresses below it are round-off
NUMBERS = 10**7  # wrench components per self-stress in memory at a time, 80 MB


class JointHistories(NamedTuple):
    """Arrays of `joint_history`, and the multipliers used.

    unique: 1 for each primary and cut joint whose wrench is unique.
    """

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
    """Coordinates of one joint as declared.

    Positions (nt, nq), velocities, accelerations and efforts (nt, nv).
    """

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
    """Wrenches and coordinates of all joints.

    With redundant constraints those of least norm, or for given multipliers, which are equivalent
    for joints with a unique wrench.
    """
    beta = path_coordinates(compiled, trajectory)
    if not redundant:
        return _histories(compiled, trajectory, trajectory.lam, beta)
    lam, pick = trajectory.lam, np.unique(np.linspace(0, len(trajectory.t) - 1, RANKED).astype(int))
    rows_of = UnitRowsOfModel(compiled, beta[0])
    first = _decomposed(rows_of, trajectory, beta, 0)
    # the start is assembled to round-off, but may be singular
    rank = max(
        int((first.size > DEPENDENT).sum()),
        *(_decomposed(rows_of, trajectory, beta, i).rank for i in pick),
    )
    d = lam.shape[1] - rank
    unique = _unique(compiled, trajectory, beta[:1], first, rank)
    if least_norm and d:
        size = max(1, NUMBERS // (6 * len(compiled.places) * d))  # outputs at a time
        length, parts = _length(compiled, unique), []
        for of in (range(a, min(a + size, len(lam))) for a in range(0, len(lam), size)):
            found = [_decomposed(rows_of, trajectory, beta, i) for i in of]
            stress = np.array([each.u[:, rank:] for each in found])
            rows, some = np.array([each.rows for each in found]), _trajectory_at(trajectory, of)
            parts.append(_of_least_norm(compiled, some, beta[of], stress, rows, length))
        lam = np.concatenate(parts)
    return _histories(compiled, trajectory, lam, beta)._replace(unique=unique)


class SelfStressBasis(NamedTuple):
    """Left singular vectors u (nc, nc) and singular values of `UnitRows`.

    rows (nc,): their lengths. gap: that of `UnitRows`. The last vectors divided by these lengths are self-stresses, Gᵀ y =
    0. The rank of G itself depends on the units of lengths and angles: in µm it was too low by one.
    """

    u: np.ndarray
    size: np.ndarray
    rows: np.ndarray
    gap: float

    @property
    def rank(self) -> int:
        """Number of independent rows, by the limit that also counts the redundant ones.

        A gap that the integrator leaves makes dependent rows differ.
        """
        return int((self.size > max(DEPENDENT, OF_GAP * self.gap)).sum())


def _decomposed(
    rows_of: UnitRowsOfModel, trajectory: Trajectory, beta: np.ndarray, i: int
) -> SelfStressBasis:
    """Self-stress basis of the constraints at output i by singular value decomposition."""
    found = rows_of(float(trajectory.t[i]), trajectory.q[i], trajectory.s[i], beta[i])
    u, size, _ = np.linalg.svd(found.G)
    return SelfStressBasis(u, size, found.lengths, found.gap)


def _trajectory_at(trajectory: Trajectory, outputs: range) -> Trajectory:
    """Trajectory restricted to some outputs."""
    of = slice(outputs.start, outputs.stop)
    return Trajectory(*(np.ascontiguousarray(values[of]) for values in trajectory))


def _of_least_norm(
    compiled: Compiled,
    trajectory: Trajectory,
    beta: np.ndarray,
    stress: np.ndarray,
    rows: np.ndarray,
    length: float,
) -> np.ndarray:
    """Multipliers λ + Y a (nt, nc) that minimize the norm of the joint wrenches.

    The wrenches (f, n) act on the children, at their frames; among multipliers with the same
    wrenches the least ones are taken, as for couplings in parallel. The wrenches are w + W a, where
    W takes one evaluation per column y of ``stress``. A norm of joint forces rather than
    multipliers does not depend on the choice of cut joints. Multipliers, also in ``stress``, refer
    to rows of length one, λ times ``rows`` (nt, nc). ``length``: ℓ (m), `_length`. Theory, section
    31.
    """
    lam, d = trajectory.lam * rows, stress.shape[2]
    weight = np.array([1.0, 1.0, 1.0, *[1.0 / length] * 3])

    def wrenches(multipliers: np.ndarray) -> np.ndarray:
        """Weighted joint wrenches of given multipliers."""
        found = _histories(compiled, trajectory, multipliers / rows, beta)
        each = [
            declared_wrench(compiled, trajectory, found, joint) * weight
            for joint in compiled.places
        ]
        return np.concatenate(each, axis=1)

    base = wrenches(lam)
    # wrenches are affine in λ: any step is exact, and a large one reduces round-off
    size = (
        LARGE
        * max(
            float(np.abs(lam).max(initial=0.0)),
            float(np.abs(base).max(initial=0.0) * rows.max(initial=0.0)),
        )
        or 1.0
    )
    W = np.stack([(wrenches(lam + size * stress[:, :, k]) - base) / size for k in range(d)], axis=2)
    # unit multipliers of unit rows are forces of 1/size: stresses of couplings among themselves
    # have no wrenches but round-off
    W[np.abs(W) < NO_WRENCH / model_size(compiled)] = 0.0
    out = np.empty_like(lam)
    for i in range(len(lam)):
        out[i] = lam[i] + stress[i] @ by_priority(
            [Condition(W[i], -base[i]), Condition(stress[i], -lam[i])], d
        )
    return out / rows


def _length(compiled: Compiled, unique: np.ndarray) -> float:
    """Length ℓ (m) that weights moments against forces.

    The largest distance on a body between frames of joints without a unique wrench; the size of the
    model if these frames coincide.
    """
    frames, nb = compiled.system.frames, len(compiled.bodies)
    ends = [
        compiled.frames[end]
        for name, place in compiled.places.items()
        if not unique[nb + place.cut if place.cut >= 0 else place.body]
        for end in (compiled.model.joints[name].parent, compiled.model.joints[name].child)
    ]
    longest = 0.0
    for body in {int(frames.body[m]) for m in ends}:
        own = np.array([frames.x[m] for m in ends if frames.body[m] == body])
        longest = max(longest, float(np.linalg.norm(own[:, None] - own[None], axis=2).max()))
    size = model_size(compiled)
    return longest if longest > COINCIDENT * size else size


def start_coordinates(compiled: Compiled) -> np.ndarray:
    """Declared coordinates of the cut joints, the initial values for the first output."""
    joints = compiled.model.joints
    return np.concatenate(
        [
            np.zeros(0),
            *(np.asarray(joints[name].initial_position) for name in compiled.topology.cuts),
        ]
    )


def path_coordinates(compiled: Compiled, trajectory: Trajectory) -> np.ndarray:
    """Coordinates of the cut joints (nt, nβ), the initial values for each output."""
    if len(trajectory.beta) == len(trajectory.t):
        return trajectory.beta
    return np.tile(start_coordinates(compiled), (len(trajectory.t), 1))


def _histories(
    compiled: Compiled, trajectory: Trajectory, lam: np.ndarray, beta: np.ndarray
) -> JointHistories:
    """Joint loads and coordinates at all outputs for given multipliers."""
    work = make_work(compiled.system, beta[0])
    shapes = history_shapes(compiled, len(trajectory.t))
    z = {
        name: np.zeros(shapes[name])
        for name in ("primary", "cut", "effort", "beta", "eta", "etad", "prescribed")
    }
    found = JointHistories(lam, **z, unique=np.ones(shapes["unique"], np.int64))
    joint_history(compiled.system, work, states_of(trajectory._replace(lam=lam), beta), found)
    compiled.callbacks.raise_error()
    return found


def _unique(
    compiled: Compiled, trajectory: Trajectory, beta: np.ndarray, found: SelfStressBasis, rank: int
) -> np.ndarray:  # fmt: skip
    """Mask of the joints whose wrench no self-stress changes, at the first output."""
    first = _trajectory_at(trajectory, range(1))
    force = float(np.abs(first.lam * found.rows).max(initial=0.0)) or 1.0
    parts = np.random.default_rng(0).uniform(0.5, 1.0, len(found.u) - rank)
    y = found.u[:, rank:] @ parts / found.rows
    base, other = (_histories(compiled, first, first.lam + c * force * y, beta) for c in (0.0, 1.0))
    change = np.concatenate([other.primary - base.primary, other.cut - base.cut], axis=1)[0]
    change[:, :3] *= model_size(compiled)
    return (np.abs(change).max(axis=1) <= UNIQUE * force).astype(np.int64)


def unique_multipliers(compiled: Compiled, trajectory: Trajectory) -> np.ndarray:
    """Mask (nc,) of the multipliers in which no self-stress y, Gᵀ y = 0, has a part.

    At the first output.
    """
    beta = path_coordinates(compiled, trajectory)
    found = _decomposed(UnitRowsOfModel(compiled, beta[0]), trajectory, beta, 0)
    return np.asarray(np.abs(found.u[:, found.rank :]).max(axis=1, initial=0.0) <= UNIQUE)


def declared_wrench(
    compiled: Compiled, trajectory: Trajectory, found: JointHistories, joint: str
) -> np.ndarray:
    """Wrench (nt, 6) on the declared child at its frame, in the axes of that frame."""
    place = compiled.places[joint]
    if place.cut >= 0:
        return found.cut[:, place.cut]
    wrench = np.ascontiguousarray(found.primary[:, place.body])
    if not place.reversed:
        return wrench
    out = np.zeros_like(wrench)
    motions = MotionHistory(trajectory.t, trajectory.q, trajectory.s, trajectory.sd)
    opposite_wrench(compiled.system, make_work(compiled.system), place.body, motions, wrench, out)
    return out


def declared_coordinates(
    compiled: Compiled, trajectory: Trajectory, found: JointHistories, joint: str
) -> JointCoordinates:
    """Coordinates of a joint from its declared parent to its declared child."""
    place = compiled.places[joint]
    nq, nv = sum(m.nq for m in place.motions), sum(m.nv for m in place.motions)
    if place.cut >= 0:
        k = place.cut
        at = int(compiled.system.cuts.beta_at[k])
        effort = found.effort[:, len(compiled.bodies) + k, :nv]
        return JointCoordinates(
            found.beta[:, at : at + nq], found.eta[:, k, :nv], found.etad[:, k, :nv], effort
        )
    at, to = (
        int(each[place.body]) for each in (compiled.system.tree.q_at, compiled.system.tree.s_at)
    )
    rates = (trajectory.s[:, to : to + nv], trajectory.sd[:, to : to + nv])
    tree = JointCoordinates(trajectory.q[:, at : at + nq], *rates, found.effort[:, place.body, :nv])
    tree = _with_prescribed(compiled, place, tree, found.prescribed)
    return (
        _reversed(tuple(_declared_motion(motion) for motion in place.motions), tree)
        if place.reversed
        else tree
    )


def _declared_motion(motion: Motion) -> Motion:
    """Elementary motion behind a prescribed one."""
    return motion.of if isinstance(motion, PrescribedMotion) else motion


def _with_prescribed(
    compiled: Compiled, place: JointPlace, tree: JointCoordinates, prescribed: np.ndarray
) -> JointCoordinates:  # fmt: skip
    """Coordinates of a primary joint, with the prescribed ones inserted."""
    drives = list(compiled.model.drives)
    number = {drives[d]: k for k, d in enumerate(compiled.system.prescribed.drive)}
    q = v = 0
    parts: tuple[list[np.ndarray], ...] = ([], [], [], [])
    for motion in place.motions:
        if isinstance(motion, PrescribedMotion):
            values = tuple(np.moveaxis(prescribed[:, number[motion.drive], :, None], 1, 0))
        else:
            values = (
                tree.position[:, q : q + motion.nq],
                *(each[:, v : v + motion.nv] for each in tree[1:]),
            )
            q, v = q + motion.nq, v + motion.nv
        for part, value in zip(parts, values):
            part.append(value)
    none = np.zeros((len(tree.position), 0))
    return JointCoordinates(*(np.hstack([none, *part]) for part in parts))


def drive_efforts(compiled: Compiled, found: JointHistories, number: int) -> np.ndarray:
    """Torque or force (nt,) of a drive.

    The multiplier of its row, or the effort of its prescribed coordinate by inverse dynamics.
    """
    system = compiled.system
    row = system.drives.row[system.drives.drive == number]
    if len(row):
        return np.asarray(found.lam[:, row[0]])
    return np.asarray(found.prescribed[:, np.flatnonzero(system.prescribed.drive == number)[0], 3])


def _reversed(motions: tuple[Motion, ...], tree: JointCoordinates) -> JointCoordinates:
    """Coordinates and efforts of the reversed chain of a joint."""
    position, velocity = inverse_coordinates(motions, tree.position, tree.velocity)
    _, acceleration = inverse_coordinates(motions, tree.position, tree.acceleration)
    effort = tree.effort[:, ::-1]
    if any(motion.nq > motion.nv for motion in motions):
        units = np.broadcast_to(
            np.eye(tree.velocity.shape[1]), (len(position), *2 * tree.velocity.shape[1:])
        )
        # rates of the declared coordinates for each unit velocity of the tree
        _, rates = inverse_coordinates(motions, tree.position[:, None], units)
        effort = np.linalg.solve(rates, tree.effort[..., None])[..., 0]
    return JointCoordinates(position, velocity, acceleration, effort)
