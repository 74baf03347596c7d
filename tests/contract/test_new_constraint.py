"""A new kind of relation or contact shape is one file: `new_constraints.py` is imported, and its
kinds move under every formalism as user rows, user forces and shapes of the package do, and are in
the model's file."""

import importlib
import math
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from samples import GRAVITY, flexible, rigid, some_frame, some_joint, two_bodies
from scipy.spatial.transform import Rotation
from test_new_force import METHODS, RUNS

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS
from flexmbs.model.contacts import Contact
from flexmbs.model.joints import Joint

ENDS = ("first/b", "second/a")
RADIUS, BOWL, RATE = 0.3, 1.4, 2.5
AXLE = np.array([0.36, 0.8, -0.48])
DISC, STIFFNESS, FRICTION, SLIP = 4.0, 50.0, 0.3, 5.0
RIGID = [
    (form, name) for name, method in INTEGRATORS.items() if method.contacts for form in FORMALISMS
    if method.needs in FORMALISMS[form].provides
]  # fmt: skip


@pytest.fixture(scope="module")
def new() -> Any:
    """The kinds, registered while the block runs."""
    before = {family: set(family.kinds) for family in (Joint, Contact)}
    module = importlib.import_module("new_constraints")
    yield module
    for family, known in before.items():
        for kind in set(family.kinds) - known:
            del family.kinds[kind]
    del sys.modules["new_constraints"]


def depth(t, x, A):
    return BOWL - RADIUS - np.sqrt(x @ x)


def depth_rows(t, x, A):
    return np.concatenate([-x / np.sqrt(x @ x), np.zeros(3)])


def no_slip(t, x, A):
    """Velocity of the contact point along two tangents, in the parent's axes."""
    n = -x / np.sqrt(x @ x)
    first = np.cross([0.0, 0.0, 1.0], n)
    first /= np.sqrt(first @ first)
    return np.array(
        [np.concatenate([d, np.cross(-RADIUS * n, d)]) for d in (first, np.cross(n, first))]
    )


def steered(t, x, A):
    return np.array([-np.sin(RATE * t), np.cos(RATE * t), 0.0, 0.0, 0.0, 0.0])


def relations(new: ModuleType) -> tuple[list[Joint], list[Joint]]:
    """The new relations, and the same by user functions."""
    made = [
        new.RollingInBowl("bowl", *ENDS, radius=RADIUS, bowl=BOWL),
        new.SteeredEdge("edge", *ENDS, rate=RATE),
    ]
    return made, [
        fm.Holonomic("bowl", *ENDS, depth, jacobian=depth_rows),
        fm.VelocityRows("slip", *ENDS, function=no_slip, equations=2, axes="parent"),
        fm.VelocityRows("edge", *ENDS, function=steered, rheonomic=True),
    ]


def held(made: list[Joint]) -> fm.Model:
    """ground – revolute – flexible "first", flexible "second" free, relations between."""
    rng = np.random.default_rng(7)
    model = fm.Model("held", gravity=GRAVITY, frames={"post": some_frame(rng)})
    first = model.add(flexible("first", rng))
    model.add(flexible("second", rng, nf=2))
    model.add(some_joint("revolute", "base", model.ground["post"], first["a"], rng))
    place = (BOWL - RADIUS) * np.array([0.48, -0.6, 0.64])
    turn = Rotation.from_rotvec(rng.normal(size=3)).as_quat(scalar_first=True)
    model.add(fm.Free("motion", *ENDS, q0=(*place, *turn), v0=tuple(rng.normal(size=6))))
    for relation in made:
        model.add(relation)
    return model


def moved(
    model: fm.Model, formalism: str, coordinates: str, integrator: Any, t_end: float = 0.004
) -> np.ndarray:
    """Positions, velocities and work of forces of all outputs."""
    kept = fm.simulate(
        model,
        t_end=t_end,
        output_step=t_end / 2,
        formalism=formalism,
        coordinates=coordinates,
        integrator=integrator,
    ).trajectory
    return np.concatenate([*kept.q, *kept.s, kept.work[:, 0] - kept.work[:, 1]])


def alike(one: np.ndarray, other: np.ndarray, bound: float = 1e-9) -> bool:
    return bool(np.abs(one - other).max() < bound * np.abs(other).max())


@pytest.mark.filterwarnings("ignore::flexmbs.errors.AssemblyWarning")
@pytest.mark.parametrize(("formalism", "coordinates", "needs"), RUNS)
def test_relations_move_as_rows_of_functions(
    new: ModuleType, formalism: str, coordinates: str, needs: str
) -> None:
    one, other = (
        moved(held(made), formalism, coordinates, METHODS[needs], 0.001) for made in relations(new)
    )
    assert alike(one, other)


@pytest.mark.filterwarnings("ignore::flexmbs.errors.AssemblyWarning")
def test_relations_hold(new: ModuleType) -> None:
    """Without either of them the motion is another one."""
    made = relations(new)[0]
    runs = [
        moved(held(each), "multiplier", "joint", METHODS["residual"], 0.02)
        for each in (made, made[:1], made[1:])
    ]
    assert not alike(runs[1], runs[0], 1e-3)
    assert not alike(runs[2], runs[0], 1e-3)


def pressed(t, r, A, v, w):
    """Force and moment on a disc that sinks into the plane z = 0, with friction tanh(|γ|/v_r)."""
    n, axle = np.array([0.0, 0.0, 1.0]), np.reshape(A, (3, 3)) @ AXLE
    m = n - (n @ axle) * axle
    c = -DISC * m / np.linalg.norm(m)
    normal = STIFFNESS * max(-n @ (r + c), 0.0)
    slip = np.array(v) + np.cross(w, c)
    slip -= (n @ slip) * n
    speed = math.sqrt(slip @ slip)
    force = normal * (n - FRICTION * math.tanh(speed / SLIP) * slip / speed)
    return [*force, *np.cross(c, force)]


@pytest.mark.parametrize(("formalism", "coordinates", "needs"), RUNS)
def test_a_shape_presses_as_a_function_of_the_user(
    new: ModuleType, formalism: str, coordinates: str, needs: str
) -> None:
    """A disc with a law of Hunt and Crossley with the exponent 1, on a flexible body of a tree."""
    law = fm.HuntCrossley(STIFFNESS, exponent=1.0, slip_velocity=SLIP)
    given = {"radius": DISC, "friction": FRICTION, "law": law, "preloaded": True}
    disc = new.DiscPlane("c", "ground", "second/b", axis=tuple(AXLE), **given)
    models = [two_bodies("cylindrical", 3) for _ in range(2)]
    models[0].add(disc)
    models[1].add(fm.UserForce("c", "second/b", pressed))
    one, other = (moved(model, formalism, coordinates, METHODS[needs]) for model in models)
    # constrained velocities begin off their exact values by h² κ in the metric of Newton's matrix,
    # whose slopes are differences for user-defined forces
    assert alike(one, other, 1e-7 if needs == "residual" else 1e-9)
    assert np.abs(other[-3:]).max() > 0.01


def falling(contact: Contact) -> fm.Model:
    """A wheel in the plane of x and z that falls onto the ground, spins and bounces."""
    model = fm.Model("falling", gravity=(0, 0, -9.81))
    model.add(rigid("wheel", np.random.default_rng(2)))
    model.add(
        fm.Planar("motion", "ground", "wheel", axis="y", q0=(0.41, 0.0, 0.2), v0=(-1.0, 0.5, 8.0))
    )
    model.add(contact)
    return model


@pytest.mark.parametrize(("formalism", "integrator"), RIGID)
def test_impacts_of_a_shape(new: ModuleType, formalism: str, integrator: str) -> None:
    """A disc whose axle is parallel to the plane meets it as a sphere does."""
    given = {"radius": 0.4, "normal": "z", "restitution": 0.5, "friction": 0.3}
    made = (
        new.DiscPlane("c", "ground", "wheel", **given),
        fm.SpherePlane("c", "ground", "wheel", **given),
    )
    step = {"step": 0.002} if integrator == "moreau-jean" else {}
    runs = [
        fm.simulate(falling(each), t_end=0.03, formalism=formalism, integrator=integrator, **step)
        for each in made
    ]
    impulses = [solution.contact("c").force for solution in runs]
    np.testing.assert_allclose(runs[0].trajectory.q, runs[1].trajectory.q, atol=1e-10)
    np.testing.assert_allclose(impulses[0], impulses[1], atol=1e-8)
    assert np.abs(runs[1].trajectory.s[-1] - runs[1].trajectory.s[0]).max() > 0.5


@pytest.mark.parametrize("kind", ["rolling-in-bowl", "steered-edge", "disc-plane"])
def test_it_is_in_the_file_of_the_model(new: ModuleType, kind: str, tmp_path) -> None:
    model = fm.Model("kept")
    for name in ("first", "second"):
        model.add(rigid(name, np.random.default_rng(1)))
        model.add(fm.Free(f"motion of {name}", "ground", name))
    made = [*relations(new)[0], new.DiscPlane("disc", *ENDS, radius=0.3)]
    model.add(next(each for each in made if each.kind == kind))
    model.save(tmp_path / "model.toml")
    assert fm.load(tmp_path / "model.toml") == model
