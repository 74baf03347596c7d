"""Ports of a stepper on random models: vectors against names, bitwise, and every kind of output
against the views of a solution at the same times.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_models import Recipe, random_model
from scipy.spatial.transform import Rotation

import flexmbs as fm

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
STEP, COUNT = 1e-4, 5
TREE, LOOP = Recipe(bodies=3, drives=1, forces=3), Recipe(bodies=3, loops=1, forces=2)
CASES = [(recipe, seed) for recipe in (TREE, LOOP) for seed in (1, 2)]
VIEWS = ("position", "velocity", "angular velocity", "acceleration", "angular acceleration")


def inputs_of(model: fm.Model) -> dict[str, tuple[Any, ...]]:
    """A force and a torque on each body."""
    return {
        f"{kind} {body}": (kind, body, axis)
        for body in model.bodies
        for kind, axis in (("force", "x"), ("torque", "z"))
        if not (kind == "torque" and isinstance(model.bodies[body], fm.PointMass))
    }


def outputs_of(model: fm.Model) -> dict[str, tuple[Any, ...]]:
    """Every kind of output of every item, mixed."""
    kinds = (
        (model.contacts, ("contact force",)),
        (model.bodies, (*VIEWS, "rotation")),
        (model.joints, ("reaction force", "reaction torque")),
    )
    return {
        f"{kind} {item} {axis}": (kind, item, axis)
        for items, names in kinds
        for item in items
        for kind in names
        for axis in "xyz"
    }


def shown_by(solution: fm.Solution, port: tuple[Any, ...]) -> np.ndarray:
    """The quantity of a port over the outputs of a solution."""
    kind, item, axis = port
    if kind == "rotation":
        found = Rotation.from_matrix(solution.frame(item).rotation).as_rotvec()
    elif kind in VIEWS:
        found = getattr(solution.frame(item), kind.replace(" ", "_"))
    elif kind == "contact force":
        found = solution.contact(item).force
    else:
        found = getattr(solution.joint(item), kind.removeprefix("reaction "))
    return found[:, "xyz".index(axis)]


@pytest.mark.parametrize(("recipe", "seed"), CASES)
def test_vectors_are_named_ports(recipe: Recipe, seed: int) -> None:
    """Inputs that change, stay and return to their values; outputs that are read or not."""
    model, _ = random_model(recipe, seed)
    ports = {"inputs": inputs_of(model), "outputs": {"x": ("position", "b0", "x")}}
    named, vectors = (fm.Stepper(model, t_end=1.0, step=STEP, **ports) for _ in range(2))
    rng = np.random.default_rng(seed)
    u = np.zeros(len(named.inputs))
    for k in range(COUNT):
        u[rng.integers(len(u))] = rng.normal()
        for name, value in zip(named.inputs, u):
            named.inputs[name] = value
        vectors.controls[:] = u
        assert named.step() == vectors.step()
        if k % 2:
            assert vectors.observations.tolist() == list(named.outputs.values())
        assert vectors.q.tobytes() == named.q.tobytes()
        assert vectors.s.tobytes() == named.s.tobytes()


def check(model: fm.Model, **how: Any) -> None:
    """Outputs of a stepper are the views of a solution, and reading them leaves the run as is."""
    ports = outputs_of(model)
    times = STEP * np.arange(COUNT + 1)
    solution = fm.simulate(model, t_end=times[-1], step=STEP, audit="none", **how)
    if solution.run.redundant:
        ports = {name: port for name, port in ports.items() if "reaction" not in name}
    stepper = fm.Stepper(model, t_end=times[-1], step=STEP, outputs=ports, **how)
    wanted = np.array([shown_by(solution, port) for port in ports.values()])
    for k, t in enumerate(times):
        stepper.advance(t)
        found, size = stepper.observations, 1.0 + np.abs(wanted[:, k])
        np.testing.assert_allclose(found / size, wanted[:, k] / size, rtol=0.0, atol=1e-11)
        assert found.tolist() == list(stepper.outputs.values())
    assert stepper.q.tobytes() == solution.q[-1].tobytes()


@pytest.mark.parametrize(("recipe", "seed"), CASES)
@pytest.mark.parametrize("how", [{}, {"coordinates": "absolute"}], ids=str)
def test_outputs_are_those_of_a_solution(recipe: Recipe, seed: int, how: dict[str, Any]) -> None:
    check(random_model(recipe, seed)[0], **how)


def ball(**contact: Any) -> fm.Model:
    """A ball that slides on the floor."""
    model = fm.Model("ball", gravity=(0.0, 0.0, -9.81))
    body = model.add(fm.RigidBody("ball", mass=2.0, inertia=(1, 1, 1)))
    model.add(fm.Translation("flight", model.ground, body, v0=(1, 0.5, 0)))
    model.add(fm.SpherePlane("floor", model.ground, body, **contact))
    return model


@pytest.mark.parametrize(
    ("contact", "integrator"),
    [
        ({"friction": 0.3, "restitution": 0.0}, "moreau-jean"),
        ({"law": fm.HuntCrossley(1e5)}, "generalized-alpha"),
    ],
    ids=["rigid", "elastic"],
)
def test_contact_forces_are_those_of_a_solution(contact: dict[str, Any], integrator: str) -> None:
    check(ball(**contact), integrator=integrator)


def sampled() -> fm.Model:
    """A table with a discrete controller, which acts at some of the outputs."""
    model = fm.Model("table")
    table = model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    axle = model.add(fm.Revolute("axle", model.ground, table, axis="z", v0=1.0))
    law = fm.DigitalController(
        lambda memory, t, x, v: (-50.0 * v + 1e5 * x, ()), sample_time=2.0 * STEP
    )
    model.add(fm.JointTorque("brake", axle, law))
    return model


@pytest.mark.parametrize("integrator", ["generalized-alpha", "rattle"])
def test_samples_act_on_outputs_at_their_times(integrator: str) -> None:
    check(sampled(), integrator=integrator)


def test_inputs_act_on_accelerations_at_once() -> None:
    """Before the first step: α = u / I, and back."""
    model = fm.Model("turntable")
    table = model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    model.add(fm.Revolute("axle", table, model.ground, axis="z"))
    ports = {
        "inputs": {"motor": ("torque", "table", "z")},
        "outputs": {"alpha": ("angular acceleration", "table", "z")},
    }
    stepper = fm.Stepper(model, t_end=1.0, step=0.01, **ports)
    for u in (3.0, 0.0, -1.0):
        stepper.controls[0] = u
        assert stepper.observations == pytest.approx([u / 0.2], abs=1e-12)
        stepper.step()


def redundant_door() -> fm.Model:
    """A door on two hinges."""
    model = fm.Model("door", frames={"top": (0, 0, 1.0)})
    door = model.add(fm.RigidBody("door", mass=1.0, inertia=(1, 1, 1), frames={"top": (0, 0, 1.0)}))
    model.add(fm.Revolute("low", model.ground, door, axis="z"))
    model.add(fm.Revolute("high", "ground/top", door["top"], axis="z"))
    return model


BAD: list[tuple[Callable[[], fm.Model], tuple[Any, ...], str]] = [
    (ball, ("velocity", "bal", "x"), "outputs.y: no frame 'bal'"),
    (ball, ("contact force", "flor", "x"), "outputs.y: no contact 'flor'"),
    (ball, ("contact force", "floor"), "outputs.y: .*give a contact and one of the world axes"),
    (ball, ("reaction force", "knee", "x"), "outputs.y: no joint 'knee'"),
    (ball, ("acceleration", "ball", 0), "outputs.y: .*give a frame and one of the world axes"),
    (redundant_door, ("reaction force", "low", "x"), "outputs.y: redundant constraints leave"),
]


@pytest.mark.parametrize(("model", "port", "text"), BAD)
def test_wrong_outputs_are_named(model: Any, port: tuple[Any, ...], text: str) -> None:
    given = {"law": fm.HuntCrossley(1e5)} if model is ball else {}
    with pytest.raises(fm.InputError, match=text):
        fm.Stepper(model(**given), t_end=1.0, step=0.01, outputs={"y": port})


def test_controls_that_are_not_finite_are_named() -> None:
    """The step is not taken."""
    stepper = fm.Stepper(
        redundant_door(), t_end=1.0, step=0.01, inputs={"u": ("torque", "door", "z")}
    )
    stepper.controls[0] = np.nan
    for call in (stepper.step, lambda: stepper.advance(0.1), lambda: stepper.state):
        with pytest.raises(fm.InputError, match=r"inputs\.u: nan is not a finite number"):
            call()
    assert stepper.t == 0.0
    stepper.inputs["u"] = 1.0
    stepper.step()
