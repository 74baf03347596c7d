"""Random bodies, joints and models for the contract tests, and the state of a model in either
coordinates.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.frames import frame_pose, world_pose
from flexmbs.dynamics.work import make_work
from flexmbs.flexible_body.components import GeometricStiffness
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.initial.initial_state import InitialState, consistent_state, in_coordinates, settle
from flexmbs.model.frames import frame_ref
from flexmbs.model.motions import (
    Ball,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Motion,
    Rotate,
    ScrewMotion,
    Slide,
)
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Evaluation, System, Work

Random = np.random.Generator
GRAVITY = (0.4, -0.7, -9.6)


@dataclass(frozen=True)
class Cloud:
    """A body of point masses (N,) at x (N, 3) with shapes phi (N, 3, nf): every inertia integral is
    a plain sum.
    """

    mass: np.ndarray
    x: np.ndarray
    phi: np.ndarray

    def data(self, rng: Random, stiffness: float = 400.0) -> fm.FlexibleBodyData:
        """Its shape integrals by direct sums, random K and D, and three frames of which "c" does
        not move with the shapes.
        """
        m, x, phi = self.mass, self.x, self.phi
        nf = phi.shape[2]
        A, B = rng.normal(size=(2, nf, nf))
        frames = {}
        for name, k in (("a", 0), ("b", 1)):
            psi, axes = 0.5 * rng.normal(size=(3, nf)), Rotation.random(rng=rng).as_matrix()
            frames[name] = fm.FlexibleFrame(x[k], axes, phi[k], psi)
        frames["c"] = fm.FlexibleFrame.at_node(
            rng.normal(size=3), np.zeros((3, nf)), axes=Rotation.random(rng=rng).as_matrix()
        )
        return fm.FlexibleBodyData.from_integrals(
            "cloud",
            mass=m.sum(),
            first_moment=m @ x,
            second_moment=np.einsum("n,na,nb->ab", m, x, x),
            S_bar=np.einsum("n,nak->ak", m, phi),
            xS=np.einsum("n,na,nbk->abk", m, x, phi),
            SS=np.einsum("n,nak,nbl->abkl", m, phi, phi),
            K_ff=stiffness * (A @ A.T + np.eye(nf)),
            D_ff=0.01 * stiffness * (B @ B.T + np.eye(nf)),
            frames=frames,
        )

    def geometric(self, rng: Random) -> GeometricStiffness:
        """Geometric stiffness of random second-order displacements ½ γ(q, q) of its masses; the
        frame "b" has none.
        """
        m, x = self.mass, self.x
        nf = self.phi.shape[2]
        gamma = 0.4 * rng.normal(size=(len(m), 3, nf, nf))
        gamma += gamma.transpose(0, 1, 3, 2)
        turning = rng.normal(size=(2, 3, nf, nf))
        turning += turning.transpose(0, 1, 3, 2)
        D = np.einsum("n,na,nbkl->abkl", m, x, gamma)
        cyclic = ((1, 2), (2, 0), (0, 1))
        rotation = [-D[a, a] - D[b, b] for a, b in cyclic] + [
            D[a, b] + D[b, a] for a, b in ((0, 1), (1, 2), (2, 0))
        ]
        frames = {
            "a": np.concatenate([-gamma[0], turning[0]]),
            "c": np.concatenate([-gamma[2], turning[1]]),
        }
        return GeometricStiffness(
            np.einsum("n,nakl->akl", m, gamma),
            np.array([D[a, b] - D[b, a] for a, b in cyclic]),
            np.array(rotation),
            frames,
        )


def cloud(rng: Random, nf: int = 3, nodes: int = 7) -> Cloud:
    return Cloud(
        rng.uniform(0.2, 1.0, nodes), rng.normal(size=(nodes, 3)), rng.normal(size=(nodes, 3, nf))
    )


def some_frame(rng: Random) -> fm.Frame:
    return fm.Frame(tuple(rng.normal(size=3)), Rotation.random(rng=rng).as_matrix().tolist())


def flexible(name: str, rng: Random, nf: int = 3, *, stiffened: bool = False) -> fm.FlexibleBody:
    """A flexible body in a random state of its shapes; ``stiffened``: with geometric stiffness,
    from the same random numbers.
    """
    nodes = cloud(rng, nf)
    data = nodes.data(rng)
    if stiffened:
        data = dataclasses.replace(data, geometric=nodes.geometric(rng.spawn(1)[0]))
    return fm.FlexibleBody(
        name, data=data, qf0=tuple(0.05 * rng.normal(size=nf)), qf_dot0=tuple(rng.normal(size=nf))
    )


def divided(body: fm.FlexibleBody, rng: Random) -> fm.FlexibleBody:
    """The body with a second piece of random shapes, welded at its frame "c", which is the first's
    "cut"; where that has three shapes, half of them with a local displacement of the cut, which is
    the same in both states; half of all with damping of both together."""
    other = flexible(body.name, rng, int(rng.integers(1, 4)))
    first, second = _renamed(body.data, "c", "cut"), _renamed(other.data, "a", "cut")
    if second.nf == 3 and rng.random() < 0.5:
        local = rng.normal(size=(1, first.nf))
        given = np.array([body.qf0, body.qf_dot0]) @ local[0]
        there = np.linalg.lstsq(np.array([other.qf0, other.qf_dot0]), given, rcond=None)[0]
        first, second = (
            _with_local(data, row) for data, row in ((first, local), (second, there[None]))
        )
    pieces = (
        first,
        dataclasses.replace(second, frames={name: second.frames[name] for name in ("cut", "c")}),
    )
    beside = rng.spawn(1)[0]
    if beside.random() < 0.5:
        m = int(beside.integers(1, 9))
        pieces = tuple(
            dataclasses.replace(each, damping_rows=beside.normal(size=(m, each.nf)))
            for each in pieces
        )
    given = {key: (*getattr(body, key), *getattr(other, key)) for key in ("qf0", "qf_dot0")}
    return dataclasses.replace(body, data=DividedBodyData(body.name, pieces), **given)


def _with_local(data: fm.FlexibleBodyData, rows: np.ndarray) -> fm.FlexibleBodyData:
    return dataclasses.replace(
        data, frames={**data.frames, "cut": dataclasses.replace(data.frames["cut"], local=rows)}
    )


def _renamed(data: fm.FlexibleBodyData, old: str, new: str) -> fm.FlexibleBodyData:
    """The same with another name of a frame."""
    names = {name: new if name == old else name for name in data.frames}
    frames = {names[name]: frame for name, frame in data.frames.items()}
    geometric = data.geometric and dataclasses.replace(
        data.geometric, frames={names[name]: K0 for name, K0 in data.geometric.frames.items()}
    )
    return dataclasses.replace(data, frames=frames, geometric=geometric)


def rigid(name: str, rng: Random) -> fm.RigidBody:
    x = rng.normal(size=(6, 3))
    x -= x.mean(axis=0)
    inertia = np.trace(x.T @ x) * np.eye(3) - x.T @ x
    frames = {key: some_frame(rng) for key in "abc"}
    return fm.RigidBody(
        name,
        mass=rng.uniform(0.5, 3.0),
        inertia=inertia.tolist(),
        com=tuple(rng.normal(size=3)),
        frames=frames,
    )


def some_axis(rng: Random) -> tuple[float, ...]:
    return tuple(rng.normal(size=3))


CHAIN = (
    Rotate((1, 2, 0.5)),
    FixedTranslation((0.3, -0.2, 0.1)),
    FixedRotation((1, 0, 1), 0.7),
    ScrewMotion("y", 0.13),
    Slide((0, 1, 1)),
)
TWO_ANGLES = (Rotate("z"), Rotate("y"), FixedTranslation((0.8, 0.0, 0.0)), Ball())
BALL_CHAIN = (Slide("y"), Ball(), FixedTranslation((0.1, 0.5, -0.3)), FixedRotation("x", -1.1))

# a soft and slow hydraulic cylinder
OIL = {
    "length": 1.0,
    "area_a": 0.02,
    "area_b": 0.012,
    "volume_a": 0.2,
    "volume_b": 0.15,
    "bulk_modulus": 3e4,
    "supply": 1e3,
    "valve": 2e-4,
    "pressure_a": 400.0,
    "pressure_b": 500.0,
    "friction": 0.5,
    "smoothing": 100.0,
}

# every registered kind of joint, by its parameters; three chains
JOINTS: dict[str, tuple[type, Callable[[Random], dict[str, Any]]]] = {
    "fixed": (fm.Fixed, lambda rng: {}),
    "revolute": (fm.Revolute, lambda rng: {"axis": some_axis(rng)}),
    "prismatic": (fm.Prismatic, lambda rng: {"axis": some_axis(rng)}),
    "cylindrical": (fm.Cylindrical, lambda rng: {"axis": some_axis(rng)}),
    "universal": (fm.Universal, lambda rng: {"axes": (some_axis(rng), some_axis(rng))}),
    "spherical": (fm.Spherical, lambda rng: {}),
    "planar": (fm.Planar, lambda rng: {"axis": some_axis(rng)}),
    "free": (fm.Free, lambda rng: {}),
    "pose": (fm.Pose, lambda rng: {}),
    "screw": (fm.Screw, lambda rng: {"axis": some_axis(rng), "pitch": 0.2}),
    "translation": (fm.Translation, lambda rng: {}),
    "chain": (fm.Chain, lambda rng: {"motions": CHAIN}),
    "chain with two angles": (fm.Chain, lambda rng: {"motions": TWO_ANGLES}),
    "chain with a ball": (fm.Chain, lambda rng: {"motions": BALL_CHAIN}),
}


def some_position(motions: tuple[Motion, ...], rng: Random) -> np.ndarray:
    """Random coordinates, well away from the singular
    positions of universal and distance joints.
    """
    parts = [np.zeros(0)]
    for motion in motions:
        turn = Rotation.random(rng=rng).as_quat(scalar_first=True)
        if isinstance(motion, FreeMotion):
            parts.append(np.concatenate([rng.normal(size=3), turn]))
        else:
            parts.append(turn if isinstance(motion, Ball) else rng.uniform(-0.9, 0.9, motion.nq))
    return np.concatenate(parts)


def pose_by_motions(motions: tuple[Motion, ...], q: np.ndarray) -> np.ndarray:
    """4×4 pose by SciPy's rotations, motion by motion."""
    X, at = np.eye(4), 0
    for motion in motions:
        Y = np.eye(4)
        c = q[at : at + motion.nq]
        match motion:
            case Rotate():
                Y[:3, :3] = Rotation.from_rotvec(c[0] * np.array(motion.axis)).as_matrix()
            case Slide():
                Y[:3, 3] = c[0] * np.array(motion.axis)
            case ScrewMotion():
                Y[:3, :3] = Rotation.from_rotvec(c[0] * np.array(motion.axis)).as_matrix()
                Y[:3, 3] = motion.pitch * c[0] * np.array(motion.axis)
            case Ball():
                Y[:3, :3] = Rotation.from_quat(c, scalar_first=True).as_matrix()
            case FreeMotion():
                Y[:3, 3], Y[:3, :3] = (
                    c[:3],
                    Rotation.from_quat(c[3:], scalar_first=True).as_matrix(),
                )
            case FixedTranslation():
                Y[:3, 3] = motion.displacement
            case FixedRotation():
                Y[:3, :3] = Rotation.from_rotvec(motion.angle * np.array(motion.axis)).as_matrix()
        X, at = X @ Y, at + motion.nq
    return X


def some_joint(
    kind: str, name: str, parent: Any, child: Any, rng: Random, *, moving: bool = True
) -> Any:
    """A joint of a kind with random parameters, position and velocity."""
    make, parameters = JOINTS[kind]
    given = parameters(rng)
    bare = make(name, parent, child, **given)
    q0, v0 = some_position(bare.motions, rng), rng.normal(size=bare.nv) * moving
    return make(name, parent, child, q0=tuple(q0), v0=tuple(v0), **given)


def two_bodies(kind: str, seed: int, *, turned: bool = False) -> fm.Model:
    """ground – revolute – flexible "first" – joint "hinge" of a kind – flexible "second", all at
    random.
    """
    rng = np.random.default_rng(seed)
    model = fm.Model("two bodies", gravity=GRAVITY, frames={"post": some_frame(rng)})
    first, second = model.add(flexible("first", rng)), model.add(flexible("second", rng, nf=2))
    model.add(some_joint("revolute", "base", model.ground["post"], first["a"], rng))
    ends = (second["a"], first["b"]) if turned else (first["b"], second["a"])
    model.add(some_joint(kind, "hinge", *ends, rng))
    return model


@dataclass(frozen=True)
class State:
    """A model at t = 0 in some coordinates: consistent q, s, and the accelerations and multipliers
    there.
    """

    compiled: Compiled
    work: Work
    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    status: int

    @property
    def system(self) -> System:
        return self.compiled.system

    def motion(self) -> dict[str, np.ndarray]:
        """Pose, twist, twist rate (with −gravity), elastic coordinates, rates and accelerations of
        all bodies by name.
        """
        z = np.zeros(int(self.system.layout[4]))
        r = np.zeros(len(self.s))
        residual(
            self.system, self.work, 0.0, Evaluation(self.q, self.s, self.sd, self.lam, z, r), False
        )
        tree, found = self.system.tree, {}
        for i, name in enumerate(self.compiled.bodies):
            m, at, to, nf = self.work.motion, tree.qf_at[i], tree.sf_at[i], tree.nf[i]
            rigid_part = m.x[i], m.A[i], m.twist[i], m.acceleration[i]
            elastic = self.q[at : at + nf], self.s[to : to + nf], self.sd[to : to + nf]
            found[name] = np.concatenate([*rigid_part, *elastic])
        return found

    def pose(self, frame: str) -> tuple[np.ndarray, np.ndarray]:
        """World rotation and position of a frame, at the state that `work` holds."""
        m = self.compiled.frames[frame_ref(frame)]
        R, x = world_pose(
            self.work.frames, self.work.motion, m, *frame_pose(self.work.frames, m, self.q)
        )
        return np.reshape(R, (3, 3)), np.array(x)


def state(model: fm.Model, coordinates: str = "joint") -> State:
    return state_of(*consistent_state(model), coordinates)


def state_of(joint: Compiled, start: InitialState, coordinates: str = "joint") -> State:
    """The state of a model that is assembled already."""
    compiled, start = in_coordinates(joint, start, coordinates)
    work = make_work(compiled.system, start.beta)
    q, s = start.q.copy(), start.s.copy()
    settled = settle(compiled, work, 0.0, q, s)
    return State(compiled, work, q, s, settled.sd, settled.lam, settled.status)


def states(model: fm.Model) -> tuple[State, State]:
    """In joint and in absolute coordinates, from one assembly."""
    assembled = consistent_state(model)
    return state_of(*assembled), state_of(*assembled, "absolute")


def difference(a: State, b: State) -> float:
    """Largest difference of motion, relative to the largest acceleration, over all bodies."""
    one, other = a.motion(), b.motion()
    assert one.keys() == other.keys()
    return max(
        float(np.abs(one[name] - other[name]).max() / (1.0 + np.abs(one[name]).max()))
        for name in one
    )
