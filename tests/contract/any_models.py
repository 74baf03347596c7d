"""Random models that draw from every registry: bodies, joints, relations, forces, laws, contacts,
drives, couplings, cuts.
"""

import dataclasses
import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import any_functions as given
import numpy as np
from instants import Instant, instants
from random_models import Poses, Recipe, driven_coordinates, flat, regular, spatial, with_frame
from samples import OIL, Random, some_axis
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.declaration import Declaration
from flexmbs.diagnosis.rank import redundant_rows
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.initial.initial_state import InitialState, require_consistent_accelerations
from flexmbs.model.bodies import Body
from flexmbs.model.check import declaration_report
from flexmbs.model.check_references import motion_of
from flexmbs.model.contact_laws import ContactLaw
from flexmbs.model.contacts import Contact
from flexmbs.model.couplings import Coupling
from flexmbs.model.declared_values import nested_values
from flexmbs.model.drives import Drive
from flexmbs.model.forces import Force, JointForce, OnSeveral, loaded_by_reactions
from flexmbs.model.interpolation import INTERPOLATIONS
from flexmbs.model.joints import Joint
from flexmbs.model.laws import JointLaw, TimeLaw
from flexmbs.model.motions import Motion

FAMILIES: tuple[type[Declaration], ...] = (
    Body,
    Joint,
    Motion,
    Force,
    TimeLaw,
    JointLaw,
    Contact,
    ContactLaw,
    Drive,
    Coupling,
    fm.RotorInertia,
)
RELATIONS = (
    "distance",
    "knife-edge",
    "rolling-disc",
    "disc-on-plane",
    "rolling-sphere",
    "point-on-curve",
    "point-on-surface",
    "holonomic",
    "velocity-rows",
)
CONTACTS = (
    "sphere-plane",
    "sphere-sphere",
    "corner-line",
    "rope",
    "cam-roller",
    "cam-face",
    "joint-limit",
    "user",
    "unilateral-coupling",
    "curve-contact",
)
# drawn in place of some limits and smooth frictions
INSTEAD = ("contacts dry-friction", "forces lugre-friction")
TRIES = 200
ENDS = ("parent", "child", "joint", "coordinate", "frame", "frame_a", "frame_b", "law", "motion")
SINGULAR = "nearly dependent constraints, or no freedom"


class Drawn(NamedTuple):
    """A model, and the reasons why earlier tries of its seed were abandoned."""

    model: fm.Model
    given_up: Counter[str]


def registered() -> list[str]:
    """ "family kind" of everything a model can contain."""
    kinds = [f"{family.section} {kind}" for family in FAMILIES for kind in family.kinds]
    return (
        [each for each in kinds if each not in INSTEAD]
        + [f"table {each}" for each in INTERPOLATIONS]
        + ["body divided", "body divided by full cuts", "body damped over its pieces", *INSTEAD]
    )


def contents(model: fm.Model) -> Counter[str]:
    """How many of each kind a model holds, laws within items and motions of joints too."""
    found: Counter[str] = Counter()
    sections = (
        model.bodies,
        model.joints,
        model.forces,
        model.drives,
        model.couplings,
        model.contacts,
        model.rotors,
    )
    for item in (item for section in sections for item in section.values()):
        found.update(
            map(
                _labels,
                (
                    item,
                    *(
                        part
                        for _, part in nested_values(item)
                        if isinstance(part, Declaration) and part is not item
                    ),
                ),
            )
        )
        found.update(
            f"table {part.interpolation}"
            for _, part in nested_values(item)
            if isinstance(part, fm.Table)
        )
        if isinstance(getattr(item, "data", None), DividedBodyData):
            found["body divided"] += 1
            found["body damped over its pieces"] += len(item.data.pieces[0].damping_rows) > 0
            found["body divided by full cuts"] += any(
                len(f.local) for piece in item.data.pieces for f in piece.frames.values()
            )
        if isinstance(item, Joint):
            found.update(f"motions {motion.kind}" for motion in item.motions)
    return +Counter({label: count for label, count in found.items() if label})


def _labels(part: Declaration) -> str:
    known = part.kind in getattr(type(part), "kinds", ()) and not isinstance(part, Motion)
    return f"{part.section} {part.kind}" if known else ""


def any_model(seed: int, wanted: str = "", fits: Callable[[fm.Model], bool] | None = None) -> Drawn:
    """The first model of a seed that holds the ``wanted`` kind (of `registered`), ``fits`` and
    starts consistently, away from singular positions. Wanted forces and their laws are added where
    a model is drawn without."""
    given_up: Counter[str] = Counter()
    for attempt in itertools.count():
        if sum(given_up.values()) == TRIES:
            break
        rng = np.random.default_rng((seed, attempt))
        model = _whole(rng)
        if model is None:
            given_up["parts do not fit"] += 1
            continue
        if wanted and not contents(model)[wanted]:
            _add_wanted(model, wanted, rng)
            if not contents(model)[wanted]:
                continue
        if fits is not None and not fits(model):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fm.AssemblyWarning)
                declaration_report(model).raise_errors()
                found = instants(model)
        except fm.InputError as error:
            given_up[error.problems[0]] += 1
            continue
        if not all(
            regular(now, len(model.drives) + len(model.couplings)) for now in found.values()
        ):
            given_up[SINGULAR] += 1
        elif loaded_by_reactions(model.forces.values()) and any(
            _redundant(now) for now in found.values()
        ):
            given_up["friction of undetermined reactions"] += 1
        elif any(_contradictory(now) for now in found.values()):
            given_up["accelerations that contradict each other"] += 1
        else:
            return Drawn(model, given_up)
    raise ValueError(f"no model in {TRIES} tries of seed {seed}: {given_up}")


def _redundant(now: Instant) -> bool:
    return bool(redundant_rows(now.compiled, now.q, now.s, now.beta))


def _contradictory(now: Instant) -> bool:
    """True if constraints that agree now require different accelerations."""
    try:
        require_consistent_accelerations(now.compiled, InitialState(now.q, now.s, now.beta))
    except fm.InputError:
        return True
    return False


def _whole(rng: Random) -> fm.Model | None:
    loops = int(rng.choice([0, 0, 1, 1, 2]))
    recipe = Recipe(bodies=int(rng.integers(1, 5)), loops=loops, twins=int(rng.random() < 0.15))
    if rng.random() < 0.2:
        model = flat(
            dataclasses.replace(
                recipe, bodies=int(rng.integers(3, 6)), loops=min(loops, 1), flat=True
            ),
            rng,
        )
    else:
        model = spatial(recipe, rng)
    if model is None:
        return None
    if rng.random() < 0.35:
        model = _with_relation(model, str(rng.choice(RELATIONS)), rng)
    touching = []
    if rng.random() < 0.4:
        rigid = rng.random() < 0.3
        for i in range(int(rng.integers(1, 3))):
            model, contact = _contact(model, f"contact {i}", rng, rigid=rigid)
            touching.append(contact)
    for contact in touching:
        if contact is not None:
            model.add(contact)
    if rng.random() < 0.3:
        model.cuts = [
            str(rng.choice([name for name, joint in model.joints.items() if joint.carries]))
        ]
    for i in range(int(rng.choice([0, 0, 1, 2]))):
        _add_drive(model, f"drive {i}", rng)
    for i, each in enumerate(rng.spawn(int(rng.spawn(1)[0].choice([0, 1, 0, 2, 1])))):
        _add_coupling(model, f"coupling {i}", each)
    for i in range(int(rng.integers(0, 5))):
        _add_force(model, f"force {i}", rng)
    for i in range(int(rng.choice([0, 0, 1, 2]))):
        _add_rotor(model, f"rotor {i}", rng)
    return model


# Laws


def _table(start: float, rng: Random, *, smooth: bool) -> fm.Table:
    times = np.cumsum(rng.uniform(0.02, 0.06, 5)) - 0.06
    values = start + 0.3 * rng.normal(size=5) * (0.1 if smooth else 1.0)
    if smooth:
        values -= fm.Table(times, values, interpolation="spline")(0.0) - start
    return fm.Table(
        times, values, interpolation="spline" if smooth else str(rng.choice(list(INTERPOLATIONS)))
    )


def time_law(rng: Random) -> Any:
    """Any law of time."""
    laws: list[Callable[[], Any]] = [
        lambda: fm.Constant(rng.normal()),
        lambda: fm.Ramp(rng.normal(), rng.normal(), start=rng.uniform(-0.02, 0.02), end=0.04),
        lambda: fm.SmoothStep(rng.normal(), start=rng.uniform(-0.02, 0.02), duration=0.05),
        lambda: fm.Sine(rng.normal(), rng.uniform(0.5, 5.0), phase=rng.normal()),
        lambda: _table(0.0, rng, smooth=False),
        lambda: fm.Function(
            [given.rising, given.jitted_rising, given.with_rates][int(rng.integers(3))]
        ),
    ]
    return laws[int(rng.integers(len(laws)))]()


def _motion(start: float, rng: Random) -> Any:
    """A law for a drive that begins at a value, with a continuous rate."""
    amplitude, phase = rng.uniform(0.1, 0.5), rng.uniform(-1, 1)
    laws: list[Callable[[], Any]] = [
        lambda: fm.Constant(start),
        lambda: fm.Ramp(start, rng.normal()),
        lambda: fm.SmoothStep(start + 0.1 * rng.normal(), initial=start, duration=0.2),
        lambda: fm.Sine(amplitude, 0.7, phase=phase, offset=start - amplitude * np.sin(phase)),
        lambda: _table(start, rng, smooth=True),
    ]
    return laws[int(rng.integers(len(laws)))]()


def _add_wanted(model: fm.Model, wanted: str, rng: Random) -> None:
    """A force of a kind, or a joint force with a law of a kind."""
    family, _, kind = wanted.rpartition(" ")
    if family == Force.section:
        _add_force(model, "wanted", rng, kind)
    elif wanted == "contacts dry-friction":
        able = [
            (name, at[0])
            for name, joint in model.joints.items()
            for at in driven_coordinates(joint)
        ]
        if able:
            joint, v = able[int(rng.integers(len(able)))]
            model.add(fm.DryFriction("wanted", joint, coordinate=v, **_dry(rng)))
    elif family == JointLaw.section:
        able = [
            (name, at[0])
            for name, joint in model.joints.items()
            for at in driven_coordinates(joint)
        ]
        laws = (_joint_law(rng) for _ in range(100))
        law = next((each for each in laws if getattr(each, "kind", "") == kind), None)
        if able and law is not None:
            joint, v = able[int(rng.integers(len(able)))]
            model.add(fm.JointTorque("wanted", joint, law, coordinate=v))


def _joint_law(rng: Random) -> Any:
    laws: list[Callable[[], Any]] = [
        lambda: fm.PD(20.0, 3.0, reference=time_law(rng)),
        lambda: fm.PID(20.0, 9.0, 3.0, reference=time_law(rng)),
        lambda: fm.SpringDamper(k=12.0, c=1.0, x0=rng.normal(), preload=0.3),
        lambda: fm.DCMotor(
            constant=0.8, resistance=2.0, inductance=0.4, ratio=3.0, voltage=time_law(rng)
        ),
        lambda: fm.LimitedPID(20.0, 9.0, 3.0, lower=-4.0, upper=30.0, reference=time_law(rng)),
        lambda: fm.Maxwell(k=20.0, relaxation_time=0.05, k0=5.0, c0=0.2, x0=rng.normal()),
        lambda: fm.Curve(
            (-1.0, 0.0, 2.0),
            (3.0, 0.5, -4.0),
            of=["velocity", "position"][int(rng.integers(2))],
            command=time_law(rng),
        ),
        lambda: fm.DigitalPID(
            20.0,
            9.0,
            0.1,
            sample_time=0.011,
            delay=0.3 * rng.random() ** 2,
            reference=time_law(rng),
        ),
        lambda: fm.DigitalController(
            [given.digital, given.jitted_digital][int(rng.integers(2))],
            sample_time=0.02,
            memory=(0.3, 0.0),
            computing_time=0.005,
        ),
        lambda: fm.Function([given.hardening, given.jitted_hardening][int(rng.integers(2))]),
        lambda: fm.AffineActuator(
            time_law(rng),
            gain=3.0,
            bias=0.2,
            k=8.0,
            c=1.0,
            lag=0.1 * rng.random(),
            lower=-9.0,
            upper=12.0,
        ),
        lambda: time_law(rng),
    ]
    return laws[int(rng.integers(len(laws)))]()


def _continuous_law(rng: Random) -> Any:
    """No discrete controller."""
    law = _joint_law(rng)
    while isinstance(law, fm.DigitalPID | fm.DigitalController):
        law = _joint_law(rng)
    return law


# Places


def _frames(model: fm.Model, *, points: bool = True) -> dict[str, list[str]]:
    """Frames by body, the ground's too."""
    found = {
        name: [f"{name}/{frame}" for frame in body.known_frames() or ()]
        for name, body in model.bodies.items()
        if points or not isinstance(body, fm.PointMass)
    }
    return found | {"ground": [f"ground/{frame}" for frame in model.frames]}


def _two(model: fm.Model, rng: Random, *, points: bool = True) -> tuple[str, str] | None:
    """Frames of two bodies; one may be the ground, the first more often."""
    frames = _frames(model, points=points)
    names = [name for name in frames if frames[name] and name != "ground"]
    if not names:
        return None
    child = str(rng.choice(names))
    others = ["ground", *(name for name in names if name != child)]
    parent = "ground" if rng.random() < 0.4 else str(rng.choice(others))
    return str(rng.choice(frames[parent])), str(rng.choice(frames[child]))


def _turned_to(axis: tuple[float, ...], world: np.ndarray) -> np.ndarray:
    """A rotation matrix that takes an axis of a frame to a direction of the world."""
    return Rotation.align_vectors([world], [axis])[0].as_matrix()


def _unit(rng: Random) -> np.ndarray:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


# Items


def _with_relation(model: fm.Model, kind: str, rng: Random) -> fm.Model:
    """The model with a relation satisfied in the declared position."""
    ends = _two(model, rng, points=False)
    if ends is None:
        return model
    parent, child = ends
    pose = Poses(model)
    A, x = pose(child)
    body, name, axis = parent.split("/")[0], "place", some_axis(rng)
    if kind == "knife-edge":
        model.add(fm.KnifeEdge("relation", parent, child, axis=axis))
    elif kind == "distance":
        length = float(rng.uniform(0.2, 1.0))
        model = with_frame(
            model,
            body,
            name,
            (Rotation.random(rng=rng).as_matrix(), x - length * _unit(rng)),
            pose,
            rng,
        )
        model.add(fm.Distance("relation", f"{body}/{name}", child, length=length))
    elif kind == "velocity-rows":
        model.add(_velocity_rows(parent, child, rng))
    elif kind == "holonomic":
        model = with_frame(
            model,
            body,
            name,
            (Rotation.random(rng=rng).as_matrix(), x - given.ROD * _unit(rng)),
            pose,
            rng,
        )
        model.add(_holonomic(f"{body}/{name}", child, rng))
    elif kind == "point-on-curve":
        model = with_frame(model, body, name, (Rotation.random(rng=rng).as_matrix(), x), pose, rng)
        planar, twist = [(True, 0.0), (False, 0.0), (False, 0.3)][int(rng.integers(3))]
        a = np.linspace(0.0, 2.0 * np.pi, 13)[:-1]
        points = np.column_stack([0.8 * np.cos(a) - 0.8, 0.8 * np.sin(a), twist * np.sin(2.0 * a)])
        model.add(
            fm.PointOnCurve("relation", f"{body}/{name}", child, points, closed=True, planar=planar)
        )
    elif kind == "point-on-surface":
        model = with_frame(model, body, name, (Rotation.random(rng=rng).as_matrix(), x), pose, rng)
        grid = np.linspace(-2.0, 2.0, 9)
        heights = rng.uniform(-0.3, 0.3) * np.sin(grid)[:, None] + rng.uniform(-0.2, 0.2) * grid**2
        model.add(
            fm.PointOnSurface("relation", f"{body}/{name}", child, x=grid, y=grid, heights=heights)
        )
    elif kind == "rolling-sphere":
        n, radius = _unit(rng), 0.6
        model = with_frame(model, body, name, (_turned_to(axis, n), x - radius * n), pose, rng)
        model.add(fm.RollingSphere("relation", f"{body}/{name}", child, radius=radius, normal=axis))
    else:
        axle = some_axis(rng)
        a = A @ (np.array(axle) / np.linalg.norm(axle))
        n = np.cross(a, _unit(rng))
        n = n / np.linalg.norm(n) + rng.uniform(-0.5, 0.5) * a
        n /= np.linalg.norm(n)
        radius, rim = 0.7, float(rng.choice([0.0, 0.2]))
        low = (radius - rim) * np.sqrt(1.0 - (n @ a) ** 2) + rim
        model = with_frame(model, body, name, (_turned_to(axis, n), x - low * n), pose, rng)
        made = fm.RollingDisc if kind == "rolling-disc" else fm.DiscOnPlane
        model.add(
            made(
                "relation", f"{body}/{name}", child, radius=radius, rim=rim, axis=axle, normal=axis
            )
        )
    return model


def _holonomic(parent: str, child: str, rng: Random) -> fm.Holonomic:
    choices: list[dict[str, Any]] = [
        {"function": given.rod},
        {"function": given.jitted_rod},
        {"function": given.rod, "jacobian": given.rod_jacobian},
        {"function": given.growing_rod, "rheonomic": True},
    ]
    return fm.Holonomic("relation", parent, child, **choices[int(rng.integers(len(choices)))])


def _velocity_rows(parent: str, child: str, rng: Random) -> fm.VelocityRows:
    axes = str(rng.choice(["child", "parent"]))
    rows = rng.normal(size=(int(rng.integers(1, 3)), int(rng.integers(6, 8)))).tolist()
    choices: list[dict[str, Any]] = [
        {"covectors": rows},
        {"function": given.blade},
        {"function": given.jitted_blade},
        {"function": given.turning_blade, "rheonomic": True},
    ]
    return fm.VelocityRows(
        "relation", parent, child, axes=axes, **choices[int(rng.integers(len(choices)))]
    )


def _contact(model: fm.Model, name: str, rng: Random, *, rigid: bool) -> tuple[fm.Model, Any]:
    """The model with a frame near another one, and the contact between both; with a force law it
    may be closed.
    """
    gap = rng.uniform(0.002, 0.05) if rigid else rng.uniform(-0.2, 0.1)
    loss = [{"damping": 0.3}, {"restitution": 0.6, "speed": 1.0}, {}][int(rng.integers(3))]
    common: dict[str, Any] = {
        "law": None
        if rigid
        else fm.HuntCrossley(
            60.0, exponent=rng.choice([1.0, 1.5]), slip_velocity=0.3, turn_velocity=0.5, **loss
        )
    }
    if not rigid:
        common["preloaded"] = True  # some begin closed, far from equilibrium
    else:
        common |= {
            "restitution": float(rng.choice([0.0, 0.5])),
            "restitution_law": str(rng.choice(["newton", "poisson"])),
        }
    kind = str(rng.choice(CONTACTS))
    if kind == "joint-limit":
        able = [
            (name, at) for name, joint in model.joints.items() for at in driven_coordinates(joint)
        ]
        if not able:
            return model, None
        joint, (v, q) = able[int(rng.integers(len(able)))]
        if rigid and gap > 0.025:  # half of them
            return model, fm.DryFriction(name, joint, coordinate=v, **_dry(rng))
        at = model.joints[joint].q0[q] if model.joints[joint].q0 is not None else 0.0
        bounds = (
            {"lower": at - gap} if rng.random() < 0.6 else {"upper": at + gap, "lower": at - 1.0}
        )
        return model, fm.JointLimit(name, joint, coordinate=v, **bounds, **common)
    if kind == "unilateral-coupling":
        return model, _between_coordinates(model, name, gap, rng, common)
    ends = _two(model, rng, points=False)
    if ends is None:
        return model, None
    parent, child = ends
    pose, body, frame, n, axis = (
        Poses(model),
        parent.split("/")[0],
        f"at {name}",
        _unit(rng),
        some_axis(rng),
    )
    x, at = pose(child)[1], f"{body}/at {name}"
    common["friction"] = float(rng.choice([0.0, 0.3]))
    if not rigid and common["friction"] and kind not in ("rope", "user"):
        common |= {"rolling_friction": 0.05, "torsional_friction": 0.04}
    if kind == "sphere-sphere":
        model = with_frame(
            model, body, frame, (_turned_to(axis, n), x - (0.5 + gap) * n), pose, rng
        )
        return model, fm.SphereSphere(
            name, at, child, radius_parent=0.2, radius_child=0.3, **common
        )
    if kind == "rope":
        model = with_frame(model, body, frame, (_turned_to(axis, n), x - 0.5 * n), pose, rng)
        return model, fm.Rope(name, at, child, length=0.5 + gap, **(common | {"friction": 0.0}))
    if kind == "user":
        model = with_frame(
            model, body, frame, (_turned_to((0.0, 0.0, 1.0), n), x - gap * n), pose, rng
        )
        choices: list[dict[str, Any]] = [
            {"function": given.over_bowl},
            {"function": given.jitted_over_bowl},
            {"function": given.over_bowl, "jacobian": given.slope_over_bowl},
            {"function": given.over_lift, "rheonomic": True},
            {"function": given.over_floor, "slip": given.slip_on_belt, "rheonomic": True},
        ]
        chosen = choices[int(rng.integers(len(choices)))]
        return model, fm.UserContact(
            name, at, child, **(common | chosen | ({} if "slip" in chosen else {"friction": 0.0}))
        )
    if kind == "sphere-plane":
        radius = float(rng.choice([0.0, 0.3]))
        model = with_frame(
            model, body, frame, (_turned_to(axis, n), x - (radius + gap) * n), pose, rng
        )
        return model, fm.SpherePlane(name, at, child, radius=radius, normal=axis, **common)
    if kind == "curve-contact":
        a, R = np.linspace(0.0, 2.0 * np.pi, 17)[:-1], pose(child)[0]
        points, disc = (
            np.column_stack([0.4 * np.cos(a), 0.3 * np.sin(a)]),
            0.2 * np.column_stack([np.cos(a), np.sin(a)]),
        )
        model = with_frame(model, body, frame, (R, x - (0.6 + gap) * R[:, 0]), pose, rng)
        return model, fm.CurveContact(
            name, at, child, points_parent=points, points_child=disc, **common
        )
    if kind.startswith("cam"):
        a = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
        points = np.column_stack([0.4 * np.cos(a), 0.3 * np.sin(a)])
        if kind == "cam-roller":
            model = with_frame(
                model, body, frame, (_turned_to((1.0, 0.0, 0.0), n), x - (0.5 + gap) * n), pose, rng
            )
            return model, fm.CamRoller(name, at, child, points=points, radius=0.1, **common)
        n = -pose(child)[0] @ (np.array(axis) / np.linalg.norm(axis))
        model = with_frame(
            model, body, frame, (_turned_to((1.0, 0.0, 0.0), n), x - (0.4 + gap) * n), pose, rng
        )
        return model, fm.CamFace(name, at, child, points=points, normal=axis, **common)
    R = _turned_to((0.0, 1.0, 0.0), n)
    model = with_frame(model, body, frame, (R, x - gap * n - 0.4 * R[:, 0]), pose, rng)
    return model, fm.CornerLine(name, at, child, length=[None, 1.0][int(rng.integers(2))], **common)


def _dry(rng: Random) -> dict[str, float]:
    """Limits of a friction that sticks."""
    choices = [{}, {"static": 1.5}, {"static": 1.5, "stribeck_velocity": 0.4}]
    return {"coulomb": 1.0, **choices[int(rng.integers(len(choices)))]}


def _between_coordinates(
    model: fm.Model, name: str, gap: float, rng: Random, common: dict[str, Any]
) -> Any:
    """A unilateral equation between up to three coordinates, about ``gap`` from its bound."""
    value = {
        f"{j}.{v}": joint.initial_position[q]
        for j, joint in model.joints.items()
        for v, q in driven_coordinates(joint)
    }
    names = [str(each) for each in rng.permutation(list(value))[: int(rng.integers(1, 4))]]
    if not names:
        return None
    x = np.array([value[each] for each in names])
    choices: list[tuple[Any, Any, bool]] = [
        (given.wavy, None, False),
        (given.jitted_wavy, None, False),
        (given.wavy, given.slope_of_wavy, False),
        (given.rising_wave, None, True),
    ]
    function, gradient, timed = choices[int(rng.integers(4))]
    if common["law"] is None and function(0.0, x) < gap:  # rigid ones begin open
        return None
    return fm.UnilateralCoupling(
        name, names, function, gradient=gradient, rheonomic=timed, **common
    )


def _add_drive(model: fm.Model, name: str, rng: Random) -> None:
    used = {(drive.joint, drive.coordinate) for drive in model.drives.values()}
    able = [
        (j, at)
        for j, joint in model.joints.items()
        for at in driven_coordinates(joint)
        if (j, at[0]) not in used
    ]
    if able:
        joint, (v, q) = able[int(rng.integers(len(able)))]
        start = model.joints[joint].initial_position[q]
        model.add(fm.Drive(name, joint, _motion(start, rng), coordinate=v))


def _add_coupling(model: fm.Model, name: str, rng: Random) -> None:
    """A coupling of any kind that holds in the declared position; the same of a kind that the
    joints do not allow is none.
    """
    able = [(j, *at) for j, joint in model.joints.items() for at in driven_coordinates(joint)]
    turning = [each for each in able if motion_of(model.joints[each[0]], each[1]).turns]
    angles = [f"{j}.{v}" for j, v, _ in (turning[k] for k in rng.permutation(len(turning)))]
    lengths = [f"{j}.{v}" for j, v, _ in able if not motion_of(model.joints[j], v).turns]
    value = {f"{j}.{v}": model.joints[j].initial_position[q] for j, v, q in able}
    names, sign = list(rng.permutation(list(value))), float(rng.choice([-1.0, 1.0]))
    made: dict[str, tuple[bool, Callable[[], Any]]] = {
        "linear": (
            bool(names),
            lambda: fm.LinearCoupling(
                name,
                {str(c): sign * rng.uniform(0.3, 2.0) for c in names[: int(rng.integers(1, 4))]},
            ),
        ),
        "gear": (
            len(angles) > 1,
            lambda: fm.Gear(
                name, *angles[:2], ratio=rng.uniform(0.5, 2.0), internal=bool(rng.random() < 0.5)
            ),
        ),
        "rack-pinion": (
            bool(angles and lengths),
            lambda: fm.RackPinion(name, angles[0], lengths[0], radius=0.6 * sign),
        ),
        "screw": (
            bool(angles and lengths),
            lambda: fm.ScrewCoupler(name, angles[0], lengths[0], lead=4.0 * sign),
        ),
        "belt": (
            len(angles) > 1,
            lambda: fm.Belt(
                name, *angles[:2], radii=rng.uniform(0.4, 1.0, 2), crossed=bool(rng.random() < 0.5)
            ),
        ),
        "differential": (
            len(angles) > 2,
            lambda: fm.Differential(name, *angles[:3], ratio=float(rng.choice([1.0, 1.7]))),
        ),
    }
    kind = str(rng.choice(list(Coupling.kinds)))
    if kind in ("holonomic", "velocity"):
        some = [str(c) for c in names[: int(rng.integers(1, 4))]]
        if some:
            model.add(_general_coupling(kind, name, some, rng))
        return
    possible, make = made[kind]
    if possible:
        coupling = make()
        start = sum(term.factor * value[term.coordinate] for term in coupling.terms)
        model.add(
            dataclasses.replace(
                coupling, offset=_motion(start, rng) if rng.random() < 0.5 else None
            )
        )


def _general_coupling(kind: str, name: str, names: list[str], rng: Random) -> Any:
    if kind == "velocity":
        choices: list[dict[str, Any]] = [
            {"function": given.leaning},
            {"function": given.jitted_leaning},
            {"function": given.pushed, "rheonomic": True},
        ]
        return fm.VelocityCoupling(name, names, **choices[int(rng.integers(3))])
    choices = [
        {"function": given.wavy},
        {"function": given.jitted_wavy},
        {"function": given.wavy, "gradient": given.slope_of_wavy},
        {"function": given.rising_wave, "rheonomic": True},
    ]
    return fm.HolonomicCoupling(name, names, **choices[int(rng.integers(4))])


def _add_rotor(model: fm.Model, name: str, rng: Random) -> None:
    """A rotor on any coordinate with a position, gyroscopic where it may be."""
    able = [(j, at[0]) for j, joint in model.joints.items() for at in driven_coordinates(joint)]
    if not able:
        return
    joint, v = able[int(rng.integers(len(able)))]
    carrier = model.bodies.get(model.joints[joint].parent.body)
    spins = (
        model.joints[joint].nv == 1
        and not isinstance(carrier, fm.PointMass)
        and bool(rng.random() < 0.8)
    )
    axis = {"axis": some_axis(rng)} if spins and rng.random() < 0.5 else {}
    ratio = float(rng.choice([-1, 1])) * rng.uniform(1.0, 6.0)
    model.add(
        fm.RotorInertia(
            name,
            joint,
            inertia=rng.uniform(5e-3, 3e-2),
            ratio=ratio,
            gyroscopic=spins,
            coordinate=v,
            **axis,
        )
    )


def _add_force(model: fm.Model, name: str, rng: Random, kind: str = "") -> None:
    """A force of any kind, or of the given one, on any joint or frame."""
    able = [(j, at[0]) for j, joint in model.joints.items() for at in driven_coordinates(joint)]
    kind = kind or str(
        rng.choice([each for each in Force.kinds if f"forces {each}" not in INSTEAD])
    )
    if kind in ("pin-friction", "guide-friction", "user-friction"):
        able = [(j, v) for j, v in able if _may_rub(kind, model.joints[j], v)]
    if issubclass(Force.kinds[kind], JointForce):
        if able:
            joint, v = able[int(rng.integers(len(able)))]
            model.add(_joint_force(kind, name, joint, v, rng))
        return
    if issubclass(Force.kinds[kind], OnSeveral):
        if able and kind == "transmission":
            some = {
                f"{j}.{v}": float(rng.uniform(-2.0, 2.0))
                for j, v in (able[k] for k in rng.permutation(len(able))[:3])
            }
            model.add(fm.Transmission(name, some, _continuous_law(rng)))
        elif able:
            some = [
                f"{j}.{v}"
                for j, v in (able[k] for k in rng.permutation(len(able))[: int(rng.integers(1, 6))])
            ]
            if kind == "robot-control":
                model.add(fm.RobotControl(name, some, given.Together()))
                return
            model.add(
                fm.UserJointForces(
                    name, some, [given.together, given.jitted_together][int(rng.integers(2))]
                )
            )
        return
    two = _two(model, rng, points=kind == "frame-force")
    if two is None:
        return
    a, b = two if rng.random() < 0.5 else (two[1], two[0])
    point = isinstance(model.bodies[two[1].split("/")[0]], fm.PointMass)
    made: dict[str, Callable[[], Any]] = {
        "frame-force": lambda: fm.FrameForce(
            name,
            two[1],
            force=tuple(time_law(rng) for _ in range(3)),
            axes=str(rng.choice(["world", "follower"])),
            torque=(0.0,) * 3 if point else tuple(time_law(rng) for _ in range(3)),
        ),
        "user-force": lambda: _user_force(model, name, two[1], rng),
        "wheel-creep": lambda: _creep(model, name, a, b, rng),
        "point-spring": lambda: fm.PointSpring(name, a, b, **_spring(rng)),
        "hydraulic-cylinder": lambda: fm.HydraulicCylinder(
            name, a, b, **OIL, opening=time_law(rng), leakage=1e-6 * rng.random()
        ),
        "bushing": lambda: fm.Bushing(
            name, a, b, k=(8, 5, 7, 3, 2, 2.5), c=(0.3, 0.2, 0.1, 0.05, 0.07, 0.09), **_bushing(rng)
        ),
    }
    model.add(made[kind]())


def _user_force(model: fm.Model, name: str, frame: str, rng: Random) -> fm.UserForce:
    """A function of the motion of a frame alone, or also of the reactions of up to two joints or
    relations.
    """
    joints = [joint for joint in model.joints if model.joints[joint].kind != "free"]
    if rng.random() < 0.5 or not joints:
        return fm.UserForce(name, frame, [given.wind, given.jitted_wind][int(rng.integers(2))])
    read = [str(each) for each in rng.permutation(joints)[: int(rng.integers(1, 3))]]
    return fm.UserForce(
        name, frame, [given.held_back, given.jitted_held_back][int(rng.integers(2))], reads=read
    )


def _creep(model: fm.Model, name: str, a: str, b: str, rng: Random) -> fm.WheelCreep:
    """The load of a wheel that touches is read where there is one."""
    sizes = {"along": 6.0, "across": 4.0, "friction": 0.3, "slow": 0.5, "trail": 0.05}
    touching = [joint for joint in model.joints.values() if joint.kind == "disc-on-plane"]
    if touching:
        disc = touching[0]
        plane = {"radius": disc.radius, "rim": disc.rim, "axis": disc.axis, "normal": disc.normal}
        return fm.WheelCreep(name, disc.parent, disc.child, contact=disc.name, **plane, **sizes)
    load = (
        {"load": float(rng.uniform(5.0, 20.0))}
        if rng.random() < 0.5
        else {"stiffness": 20.0, "damping": 1.0}
    )
    return fm.WheelCreep(
        name, a, b, radius=0.4, axis=some_axis(rng), normal=some_axis(rng), **load, **sizes
    )


def _may_rub(kind: str, joint: Joint, v: int) -> bool:
    """Whether friction of reactions goes with a degree of freedom."""
    if joint.kind not in ("revolute", "prismatic", "cylindrical"):
        return False
    return kind == "user-friction" or motion_of(joint, v).turns == (kind == "pin-friction")


def _spring(rng: Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"k": 30.0, "c": 2.0, "length": 0.4},
        {"k": 30.0},
        {"law": given.rubber},
        {"law": given.jitted_rubber, "length": 0.7},
    ]
    return choices[int(rng.integers(len(choices)))]


def _bushing(rng: Random) -> dict[str, Any]:
    curve = (-0.5, 0.0, 0.3, 1.0), (-5.0, 0.2, 3.0, 4.0)
    branches = {
        "branch_k": (4.0, 0.0, 3.0, 1.0, 2.0, 0.0),
        "relaxation_time": (0.05, 0.0, 0.1, 0.03, 0.08, 0.0),
    }
    choices: list[dict[str, Any]] = [
        {},
        branches,
        {"curve_y": curve, "curve_rx": curve},
        {**branches, "curve_x": curve},
    ]
    return choices[int(rng.integers(len(choices)))]


def _joint_force(kind: str, name: str, joint: str, v: int, rng: Random) -> Any:
    if kind == "joint-spring":
        return fm.JointSpring(name, joint, k=20.0, c=3.0, x0=0.1, coordinate=v)
    if kind == "joint-friction":
        static = {"static": 1.5, "stribeck_velocity": 0.4} if rng.random() < 0.5 else {}
        uneven = {"reverse": 0.6} if not static and rng.random() < 0.5 else {}
        if not static and not uneven:
            return fm.LuGreFriction(
                name, joint, coulomb=1.0, stiffness=40.0, damping=2.0, viscous=0.2, coordinate=v
            )
        return fm.JointFriction(
            name,
            joint,
            coulomb=1.0,
            viscous=0.2,
            regularization=0.1,
            coordinate=v,
            **static,
            **uneven,
        )
    if kind == "lugre-friction":
        static = {"static": 1.5, "stribeck_velocity": 0.4} if rng.random() < 0.5 else {}
        return fm.LuGreFriction(
            name,
            joint,
            coulomb=1.0,
            stiffness=40.0,
            damping=2.0,
            viscous=0.2,
            coordinate=v,
            **static,
        )
    if kind == "user-friction":
        return fm.UserFriction(
            name, joint, [given.rubbing, given.jitted_rubbing][int(rng.integers(2))], coordinate=v
        )
    if kind.endswith("-friction"):
        rubs = {"friction": 0.1, "preload": 0.2, "regularization": 0.2}
        static = {"static": 0.2, "stribeck_velocity": 0.5} if rng.random() < 0.5 else {}
        if kind == "pin-friction":
            return fm.PinFriction(
                name, joint, radius=0.05, length=0.8, arm=0.03, coordinate=v, **rubs, **static
            )
        return fm.GuideFriction(name, joint, length=1.5, width=2.0, coordinate=v, **rubs, **static)
    return fm.JointTorque(name, joint, _joint_law(rng), coordinate=v)


def described(model: fm.Model) -> Iterator[str]:
    """One line for each item."""
    yield f"cuts {model.cuts}"
    for section in (
        model.bodies,
        model.joints,
        model.forces,
        model.drives,
        model.couplings,
        model.contacts,
        model.rotors,
    ):
        for name, item in section.items():
            ends = [f"{key} {getattr(item, key)}" for key in ENDS if key in item.__dict__]
            yield " ".join([item.section, item.kind, f"'{name}'", *ends])
