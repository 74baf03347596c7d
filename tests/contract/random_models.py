"""Random models: trees, loops that close in the position they start from, and loops that close it
more than once.

The bodies are rigid, flexible and point masses, the joints of every kind, some declared from the
child, some driven, with forces of every kind. Positions with nearly dependent constraints are
excluded: all formalisms lose accuracy there.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from any_functions import Together, together
from instants import DEPENDENT, Instant, instants, scaled_constraints
from samples import (
    GRAVITY,
    JOINTS,
    OIL,
    Random,
    divided,
    flexible,
    pose_by_motions,
    rigid,
    some_axis,
    some_frame,
    some_joint,
)
from scipy.linalg import svdvals
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.initial.initial_state import declared_state
from flexmbs.model.joints import Joint
from flexmbs.system.compile import compile_model
from flexmbs.system.topology import topology

# no singular value of G M^(−1/2) lies between the dependent ones and this part of the largest
WELL_CONDITIONED = 1e-3
# others leave its rotation free
POINT_MASS_JOINTS = ("fixed", "prismatic", "translation", "revolute")
TRIES = 200
DIVIDED = 0.2  # of the flexible bodies


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a random model has: closed loops, joints in parallel to closing ones, drives, forces,
    couplings (numbers of them).
    """

    bodies: int = 4
    loops: int = 0
    twins: int = 0
    drives: int = 0
    forces: int = 0
    flat: bool = False
    couplings: int = 0


def random_model(recipe: Recipe, seed: int) -> tuple[fm.Model, dict[str, Instant]]:
    """The first well-conditioned model of a seed, with its states."""
    for attempt in range(TRIES):
        *others, couplings = map(int, dataclasses.astuple(recipe))
        rng = np.random.default_rng((seed, attempt, *others))
        model = (flat if recipe.flat else spatial)(recipe, rng)
        if model is None or not with_couplings(model, couplings, rng):
            continue
        found = instants(model)
        if all(regular(now, len(model.drives) + couplings) for now in found.values()):
            return model, found
    raise ValueError(f"no well-conditioned model in {TRIES} tries of seed {seed} for {recipe}")


def regular(now: Instant, drives: int) -> bool:
    """Constraints clearly dependent or independent, those of ``drives`` and couplings independent
    of the joints, at least one degree of freedom left."""
    t = now.terms()
    size = svdvals(scaled_constraints(t)[1]) if len(t.gamma) else np.zeros(0)
    clear = not ((size > DEPENDENT) & (size < WELL_CONDITIONED * size.max(initial=0.0))).any()
    rank = int((size > DEPENDENT).sum())
    system = now.compiled.system
    joints = np.delete(t.G, [*system.drives.row, *system.couplers.row], axis=0)
    rank_of_joints = np.linalg.matrix_rank(joints, tol=1e-7) if len(joints) else 0
    rows = drives - len(system.prescribed.law)  # prescribed coordinates have none
    return clear and rank < len(t.k) and rank >= rank_of_joints + rows


def spatial(recipe: Recipe, rng: Random) -> fm.Model | None:
    """A random tree of random bodies with the loops of a recipe; None if they do not fit."""
    model = fm.Model("random", gravity=GRAVITY, frames={"post": some_frame(rng)})
    places = [("ground", "post")]
    for i in range(recipe.bodies):
        name = f"b{i}"
        model.add(_body(name, rng, leaf=i == recipe.bodies - 1))
        point = isinstance(model.bodies[name], fm.PointMass)
        kind = str(rng.choice(POINT_MASS_JOINTS)) if point else _kind(rng)
        parent = "/".join(places[int(rng.integers(len(places)))])
        ends = (parent, f"{name}/a") if rng.random() < 0.7 else (f"{name}/a", parent)
        model.add(some_joint(kind, f"j{i}", *ends, rng))
        if not point:
            places += [(name, "b"), (name, "c")]
    for i in range(recipe.loops):
        closed = _closed(model, f"closing {i}", rng, twin=i < recipe.twins)
        if closed is None:
            return None
        model = closed
    if (recipe.drives or recipe.forces > 2) and not any(
        map(driven_coordinates, model.joints.values())
    ):
        return None
    return _with_forces(_with_drives(model, recipe.drives, rng), recipe.forces, rng)


def _kind(rng: Random) -> str:
    """A kind of joint, seldom a free one: it takes its body out of every loop."""
    loose = rng.random()
    if loose < 0.04:
        return "free"
    return (
        "pose"
        if loose < 0.08
        else str(rng.choice([kind for kind in JOINTS if kind not in ("free", "pose")]))
    )


def _body(name: str, rng: Random, *, leaf: bool) -> Any:
    choice = rng.random()
    if leaf and choice < 0.5:
        return fm.PointMass(name, mass=rng.uniform(0.5, 2.0), frames={"a": some_frame(rng)})
    if rng.random() < 0.6:
        body = flexible(name, rng, int(rng.integers(1, 4)), stiffened=int(name[1:]) % 2 == 0)
        # leaves the numbers to come as they are
        other = np.random.default_rng(rng.bit_generator.state["state"]["state"])
        return divided(body, other) if other.random() < DIVIDED else body
    return rigid(name, rng)


class Poses:
    """World poses (R, x) of the frames of a model as declared."""

    def __init__(self, model: fm.Model) -> None:
        compiled = compile_model(model)
        start = declared_state(compiled)
        now = Instant(
            compiled, start.q, start.s, np.zeros(int(compiled.system.layout[4])), start.beta
        )
        self.solution = now.solution(now.nothing())

    def __call__(self, frame: str) -> tuple[np.ndarray, np.ndarray]:
        view = self.solution.frame(frame)
        return view.rotation[0], view.position[0]


def _closed(model: fm.Model, name: str, rng: Random, *, twin: bool) -> fm.Model | None:
    """The model with a joint, or two in parallel, between two bodies at their positions; None for
    point masses.
    """
    a, b = (str(x) for x in rng.permutation(["ground", *model.bodies])[:2])
    if any(isinstance(model.bodies.get(end), fm.PointMass) for end in (a, b)):
        return None
    start = f"{a}/post" if a == "ground" else f"{a}/{rng.choice(['b', 'c'])}"
    pose = Poses(model)
    joint = some_joint(_kind(rng), name, start, b, rng)
    (R, x), X = pose(start), pose_by_motions(joint.motions, np.array(joint.q0))
    end = (R @ X[:3, :3], R @ X[:3, 3] + x)
    model = with_frame(model, b, f"end of {name}", end, pose, rng)
    child = f"{b}/end of {name}"
    ends = {"parent": start, "child": child}
    if rng.random() < 0.3:
        ends, joint = _turned(joint, start, child)
    for number in range(1 + twin):
        model.add(dataclasses.replace(joint, name=name + " twin" * number, **ends))
    return model


def _turned(joint: Joint, start: str, child: str) -> tuple[dict[str, str], Joint]:
    """Joints with one constant axis also close in reverse, with opposite coordinates."""
    if not isinstance(joint, (fm.Revolute, fm.Prismatic, fm.Screw)):
        return {"parent": start, "child": child}, joint
    return {"parent": child, "child": start}, dataclasses.replace(joint, q0=(-joint.q0[0],))


def with_frame(
    model: fm.Model,
    body: str,
    name: str,
    at: tuple[np.ndarray, np.ndarray],
    pose: Poses,
    rng: Random,
) -> fm.Model:
    """A copy of the model with a frame more, at a world pose (R, x) in the declared position, on a
    body or the ground.
    """
    (B, y), (R, x) = (np.eye(3), np.zeros(3)) if body == "ground" else pose(body), at
    rotation, position = B.T @ R, B.T @ (x - y)
    ground, bodies = dict(model.frames), dict(model.bodies)
    if body == "ground":
        ground[name] = fm.Frame(tuple(position), rotation.tolist())
    elif isinstance(bodies[body], fm.FlexibleBody):
        bodies[body] = _with_elastic_frame(bodies[body], name, rotation, position, rng)
    else:
        frame = fm.Frame(tuple(position), rotation.tolist())
        bodies[body] = dataclasses.replace(
            bodies[body], frames={**bodies[body].frames, name: frame}
        )
    copy = fm.Model(model.name, gravity=model.gravity, frames=ground)
    copy.bodies.update(bodies)
    copy.joints.update(model.joints)
    return copy


def _with_elastic_frame(
    body: fm.FlexibleBody, name: str, R: np.ndarray, x: np.ndarray, rng: Random
) -> fm.FlexibleBody:
    """A frame that moves with the modes and stands at (R, x) of the deformed body: x = x₀ + φ q, R
    = exp(ψ q) R₀.
    """
    pieces = body.data.pieces if isinstance(body.data, DividedBodyData) else (body.data,)
    q = np.array(body.qf0)[: pieces[0].nf]
    phi, psi = rng.normal(size=(3, len(q))), 0.5 * rng.normal(size=(3, len(q)))
    undeformed = Rotation.from_rotvec(psi @ q).as_matrix().T @ R
    frame = fm.FlexibleFrame(x - phi @ q, undeformed, phi, psi)
    first = dataclasses.replace(pieces[0], frames={**pieces[0].frames, name: frame})
    data = (
        first if len(pieces) == 1 else dataclasses.replace(body.data, pieces=(first, *pieces[1:]))
    )
    return dataclasses.replace(body, data=data)


def flat(recipe: Recipe, rng: Random) -> fm.Model:
    """A planar linkage in a plane across space: joints along its normal close spatial loops three
    times too often.
    """
    model = fm.Model("flat", gravity=GRAVITY, frames={"post": some_frame(rng)})
    end = "ground/post"
    planar = 1 if rng.random() < 0.5 else -1
    for i in range(recipe.bodies):
        frames = {key: _flat_frame(rng) for key in "ab"}
        model.add(dataclasses.replace(rigid(f"b{i}", rng), frames=frames))
        kind: Callable[..., Any] = fm.Planar if i == planar else fm.Revolute
        size = kind("size", end, f"b{i}/a", axis="z").nv
        model.add(
            kind(
                f"j{i}",
                end,
                f"b{i}/a",
                axis="z",
                q0=tuple(rng.uniform(-1, 1, size)),
                v0=tuple(rng.normal(size=size)),
            )
        )
        end = f"b{i}/b"
    for i in range(recipe.loops):
        pose = Poses(model)
        model = with_frame(model, "ground", f"end {i}", pose(end), pose, rng)
        model.add(fm.Revolute(f"closing {i}", end, f"ground/end {i}", axis="z"))
        end = f"b{recipe.bodies // 2 - 1}/b"
    return _with_forces(_with_drives(model, recipe.drives, rng), recipe.forces, rng)


def _flat_frame(rng: Random) -> fm.Frame:
    return fm.Frame((*rng.normal(size=2), 0.0), (("z", float(rng.uniform(-3, 3)))))


def driven_coordinates(joint: Joint) -> list[tuple[int, int]]:
    """(index, position) of the coordinates of a joint that a drive can prescribe."""
    found, v, q = [], 0, 0
    for motion in joint.motions:
        if motion.nv == 1:
            found.append((v, q))
        v, q = v + motion.nv, q + motion.nq
    return found


def _with_drives(model: fm.Model, number: int, rng: Random) -> fm.Model:
    """Drives that start from the declared coordinates, cut joints first."""
    cuts = [name for name in topology(model).cuts if not name.endswith("twin")]
    others = [name for name in model.joints if name not in cuts and not name.endswith("twin")]
    names = map(str, (*rng.permutation(cuts), *rng.permutation(others)))
    for joint in itertools.islice(
        (name for name in names if driven_coordinates(model.joints[name])), number
    ):
        choices = driven_coordinates(model.joints[joint])
        v, q = choices[int(rng.integers(len(choices)))]
        amplitude, phase = rng.uniform(0.2, 0.6), rng.uniform(-1, 1)
        law = fm.Sine(
            amplitude,
            0.7,
            phase=phase,
            offset=model.joints[joint].q0[q] - amplitude * np.sin(phase),
        )
        model.add(fm.Drive(f"drive of {joint}", joint, law, coordinate=v))
    return model


def with_couplings(model: fm.Model, number: int, rng: Random) -> bool:
    """Couplings of two or three coordinates that hold in the declared position, some rheonomic;
    False if they do not fit.
    """
    able = [(name, *at) for name, joint in model.joints.items() for at in driven_coordinates(joint)]
    for i in range(number):
        if len(able) < 2:
            return False
        chosen = [able[k] for k in rng.permutation(len(able))[: int(rng.integers(2, 4))]]
        factors = {
            f"{joint}.{v}": float(rng.choice([-1.0, 1.0]) * rng.uniform(0.4, 2.0))
            for joint, v, _ in chosen
        }
        start = sum(
            a * model.joints[joint].initial_position[q]
            for (joint, _, q), a in zip(chosen, factors.values())
        )
        amplitude, phase = rng.uniform(0.2, 0.6), rng.uniform(-1, 1)
        law = fm.Sine(amplitude, 0.7, phase=phase, offset=start - amplitude * np.sin(phase))
        model.add(
            fm.LinearCoupling(f"coupling {i}", factors, offset=law if rng.random() < 0.5 else None)
        )
    return True


def wind(t: float, r: Any, A: Any, v: Any, w: Any) -> tuple[float, ...]:
    return tuple(0.5 - 0.3 * v[i] + 0.1 * r[i] for i in range(3)) + tuple(
        0.1 * A[i] - 0.05 * w[i] for i in range(3)
    )


def _with_forces(model: fm.Model, number: int, rng: Random) -> fm.Model:
    """Forces of random kinds on random frames and joints, cut ones too."""
    for i in range(number):
        model.add(
            _joint_force(f"f{i}", model, rng) if i % 3 == 2 else _frame_force(f"f{i}", model, rng)
        )
    return model


def _frame_force(name: str, model: fm.Model, rng: Random) -> Any:
    frames = {
        body: [f"{body}/{frame}" for frame in model.bodies[body].known_frames() or ()]
        for body in model.bodies
    }
    one, other = (str(body) for body in rng.permutation(["ground", *frames])[:2])
    frames["ground"] = ["ground/post"]
    frame, end = str(rng.choice(frames[one])), str(rng.choice(frames[other]))
    moving = end if one == "ground" else frame
    match int(rng.integers(5)):
        case 4:
            sizes = {
                "radius": 0.4,
                "along": 6.0,
                "across": 4.0,
                "friction": 0.3,
                "slow": 0.5,
                "trail": 0.05,
            }
            return fm.WheelCreep(
                name, frame, end, stiffness=20.0, damping=1.0, axis=some_axis(rng), **sizes
            )
        case 0:
            axes = str(rng.choice(["world", "follower"]))
            return fm.FrameForce(
                name,
                moving,
                force=tuple(rng.normal(size=3)),
                torque=tuple(rng.normal(size=3)),
                axes=axes,
            )
        case 1:
            return fm.UserForce(name, moving, wind)
        case 2 if not joined(model, frame, end):
            if name == "f1":
                return fm.HydraulicCylinder(name, frame, end, **OIL)
            return fm.PointSpring(name, frame, end, k=60.0, c=3.0, length=0.4)
        case _:
            return fm.Bushing(
                name, frame, end, k=(8, 5, 7, 3, 2, 2.5), c=(0.3, 0.2, 0.1, 0.05, 0.07, 0.09)
            )


def joined(model: fm.Model, a: Any, b: Any) -> bool:
    """Whether joints make frames a and b coincide: the line between them has no direction."""
    place: dict[str, set[str]] = {}
    for joint in model.joints.values():
        both = place.get(str(joint.parent), {str(joint.parent)}) | place.get(
            str(joint.child), {str(joint.child)}
        )
        place.update(dict.fromkeys(both, both))
    return str(b) in place.get(str(a), {str(a)})


def _joint_force(name: str, model: fm.Model, rng: Random) -> Any:
    joint = str(
        rng.choice([name for name, joint in model.joints.items() if driven_coordinates(joint)])
    )
    coordinates = driven_coordinates(model.joints[joint])
    at = {"coordinate": coordinates[int(rng.integers(len(coordinates)))][0]}
    choice = rng.random()
    if choice < 0.3:
        return fm.JointSpring(name, joint, k=20.0, c=3.0, x0=0.1, **at)
    if choice < 0.6:
        return fm.JointFriction(
            name, joint, coulomb=2.0, static=3.0, stribeck_velocity=0.4, regularization=0.1, **at
        )
    if choice < 0.8:
        return fm.JointTorque(
            name, joint, fm.PID(30.0, 9.0, 4.0, reference=fm.Sine(0.4, 0.8)), **at
        )
    several = [
        f"{each}.{v}"
        for each in reversed(model.joints)
        for v, _ in driven_coordinates(model.joints[each])
    ][:3]
    if choice < 0.87:
        return fm.UserJointForces(name, several, together)
    if choice < 0.93:
        return fm.RobotControl(name, several, Together())
    return fm.Transmission(
        name,
        dict(zip(several, (1.0, -0.6, 0.3))),
        fm.Maxwell(20.0, relaxation_time=0.3, k0=9.0, c0=2.0),
    )
