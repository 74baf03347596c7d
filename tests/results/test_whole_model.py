"""A solution read from its file has the whole model: the same views, states and continued runs, or
a rejection with one line.
"""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from test_storage import flexible_pendulum

import flexmbs as fm
from flexmbs.api.solution import Solution
from flexmbs.motions import Rotate, Slide


def machine() -> fm.Model:
    """A loop, a flexible link, and every kind of force and law that needs no function."""
    model = fm.Model(
        "machine",
        gravity=(0.1, 0.0, -9.81),
        frames={"right": (1.0, 0.0, 0.0)},
        run=fm.Run(t_end=0.2),
    )
    beam = flexible_pendulum().bodies["beam"]
    crank = model.add(
        fm.RigidBody("crank", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"end": (0.3, 0, 0)})
    )
    rod = model.add(
        fm.RigidBody(
            "rod", mass=2.0, inertia=(0.1, 0.2, 0.3), com=(0.4, 0, 0), frames={"end": (1.0, 0, 0)}
        )
    )
    model.add(dataclasses.replace(beam, qf0=(0.02,)))
    model.add(fm.PointMass("bob", mass=0.3))
    model.add(fm.Revolute("A", model.ground, crank, axis="y", q0=-0.5, v0=1.0))
    model.add(fm.Revolute("B", crank["end"], rod, axis="y", q0=0.3))
    model.add(
        fm.Chain(
            "C", model.ground["right"], rod["end"], motions=(Slide("x"), Slide("z"), Rotate("y"))
        )
    )
    model.add(fm.Revolute("hinge", crank["end"], "beam/hub", axis="y"))
    model.add(fm.Translation("thrown", model.ground, "bob", q0=(0.0, 0.5, 0.02), v0=(0.1, 0, -0.2)))
    table = fm.Table((0.0, 0.05, 0.1), (0.0, 2.0, 1.0))
    model.add(fm.JointTorque("torque", "A", fm.PID(5.0, 2.0, 0.3, reference=fm.Sine(0.3, 2.0))))
    model.add(fm.JointTorque("couple", "B", table))
    model.add(fm.JointSpring("spring", "hinge", k=20.0, c=0.1, x0=0.1))
    model.add(fm.JointFriction("friction", "A", coulomb=0.2, viscous=0.1))
    model.add(
        fm.FrameForce(
            "push", "beam/tip", force=(0, 0, fm.SmoothStep(3.0, duration=0.1)), axes="follower"
        )
    )
    model.add(fm.PointSpring("rope", "ground", "beam/tip", k=30.0, c=0.2))
    model.add(fm.Bushing("bushing", "ground/right", "rod/end", k=(100.0,) * 6, c=(0.1,) * 6))
    model.add(fm.Drive("fan", "thrown", fm.Ramp(0.5, 0.2), coordinate=1))
    model.add(fm.LinearCoupling("pair", {"hinge": 1.0, "thrown.0": 0.3}))
    model.add(
        fm.SpherePlane(
            "floor",
            model.ground,
            "bob",
            normal="z",
            radius=0.01,
            law=fm.HuntCrossley(1e4, restitution=0.5, speed=1.0),
        )
    )
    return model


@pytest.fixture(scope="module", params=["joint", "absolute"])
def solution(request) -> Solution:
    options = {"step": 5e-3, "output_step": 0.02, "formalism": "multiplier"}
    return fm.simulate(machine(), t_end=0.2, coordinates=request.param, **options)


@pytest.fixture
def read(solution: Solution, tmp_path: Path) -> Solution:
    solution.save(tmp_path / "machine.h5")
    return Solution.load(tmp_path / "machine.h5")


def same(one: object, other: object) -> None:
    """Bitwise equality of results of any kind."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = tuple(one.values()), tuple(other.values())
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, (tuple, list)):
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif dataclasses.is_dataclass(one):
        fields = (field.name for field in dataclasses.fields(one) if not field.name.startswith("_"))
        for name in fields:
            same(getattr(one, name), getattr(other, name))
    else:
        assert one == other


def views(solution: Solution):
    yield from (solution.body(name) for name in solution.bodies)
    yield from (solution.frame(name) for name in solution.frames)
    yield from (solution.joint(name) for name in solution.joints)
    yield from (solution.drive(name) for name in solution.drives)
    yield from (solution.coupling(name) for name in solution.couplings)
    yield from (solution.contact(name) for name in solution.contacts)
    yield solution.energy


def test_every_view_is_the_same(solution: Solution, read: Solution) -> None:
    for one, other in zip(views(solution), views(read), strict=True):
        same(one, other)
    for one, other in zip(
        views(solution.at([0.03, 0.111])), views(read.at([0.03, 0.111])), strict=True
    ):
        same(one, other)


def test_the_compiled_model_is_the_same(solution: Solution, read: Solution) -> None:
    """All records: numbers of forces, drives, laws, lengths of springs."""
    for name, record, other in zip(
        solution.compiled.system._fields, solution.compiled.system, read.compiled.system
    ):
        same((name, record), (name, other))
    sections = ("joints", "forces", "drives", "couplings", "contacts", "rotors")
    assert [list(read.model.items(key)) for key in sections] == [
        list(solution.model.items(key)) for key in sections
    ]
    assert read.model.forces == solution.model.forces
    assert read.model.drives == solution.model.drives
    assert read.model.run == solution.model.run


def test_states_are_the_same(solution: Solution, read: Solution) -> None:
    one, other = fm.state_of(solution, 0.1), fm.state_of(read, 0.1)
    for name in ("t", "q", "s", "sd", "lam", "z", "beta"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_runs_continue_the_same(solution: Solution, read: Solution) -> None:
    coordinates = solution.compiled.topology.coordinates
    options = {"t_end": 0.02, "step": 5e-3, "coordinates": coordinates}
    one = fm.simulate(solution.model, start=fm.state_of(solution, 0.2), **options)
    other = fm.simulate(read.model, start=fm.state_of(read, 0.2), **options)
    same(one.trajectory, other.trajectory)
    same(one.joint("C").wrench, other.joint("C").wrench)


def test_efforts_of_a_prescribed_motion_are_the_same(tmp_path: Path) -> None:
    model = fm.Model("arm")
    arm = model.add(
        fm.RigidBody("arm", mass=1.0, inertia=(1, 1, 1), com=(0.5, 0, 0), frames={"tip": (1, 0, 0)})
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, arm, axis="y"))
    model.add(
        fm.Drive("motor", hinge, fm.Table((0.0, 0.1, 0.2), (0.0, 0.3, 0.4), interpolation="spline"))
    )
    model.add(fm.FrameForce("load", arm["tip"], force=(0, 0, -20.0)))
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    solution.save(tmp_path / "arm.h5")
    read = Solution.load(tmp_path / "arm.h5")
    one, other = fm.inverse_dynamics(solution), fm.inverse_dynamics(read)
    assert np.abs(one.effort["motor"]).min() > 20.0
    same(one.effort, other.effort)


def test_functions_are_missed_by_name(tmp_path: Path) -> None:
    """All views are available; calls of the function are rejected, and work with the model of the
    run.
    """
    model = flexible_pendulum()
    solution = fm.simulate(model, t_end=0.05, step=0.005)
    solution.save(tmp_path / "beam.h5")
    read = Solution.load(tmp_path / "beam.h5")
    for one, other in zip(views(solution), views(read), strict=True):
        same(one, other)
    line = (
        r"^forces\.push\.force\.2\.function: its function '<function .*>' is missing: "
        r".*Solution\.load\(path, model=\.\.\.\)$"
    )
    calls = [
        lambda: fm.state_of(read, 0.05),
        lambda: fm.simulate(read.model, t_end=0.01, step=0.005),
        lambda: fm.state(read.model),
        lambda: fm.linearize(read.model),
        lambda: fm.statics(read.model),
        lambda: fm.inverse_dynamics(read, actuators=("hinge",)),
    ]
    for call in calls:
        with pytest.raises(fm.InputError, match=line) as error:
            call()
        assert len(error.value.problems) == 1
    assert any("forces.push.force.2" in line for line in read.model.check().errors)
    with_model = Solution.load(tmp_path / "beam.h5", model=model)
    same(fm.state_of(with_model, 0.05).sd, fm.state_of(solution, 0.05).sd)


def test_another_model_is_rejected_by_item(tmp_path: Path) -> None:
    solution = fm.simulate(flexible_pendulum(), t_end=0.01, step=0.005)
    solution.save(tmp_path / "beam.h5")
    other = flexible_pendulum(rate=1.0)
    other.forces["push"] = fm.FrameForce("push", "beam/tip", force=(0, 0, math.sin))
    with pytest.raises(fm.InputError) as error:
        Solution.load(tmp_path / "beam.h5", model=other)
    texts = [problem.partition(": ")[2] for problem in error.value.problems]
    assert [text.partition(" differs")[0] for text in texts] == [
        "model: bodies.beam",
        "model: forces.push",
    ]


def test_missing_user_constraints_are_named(tmp_path: Path) -> None:
    model = fm.Model("bead")
    model.add(fm.RigidBody("bead", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Translation("anywhere", model.ground, "bead", q0=(0.3, 0, 0.4)))
    model.add(
        fm.Holonomic(
            "rod", model.ground, "bead", lambda t, x, A: x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - 0.25
        )
    )
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    solution.save(tmp_path / "bead.h5")
    read = Solution.load(tmp_path / "bead.h5")
    same(read.joint("rod").wrench, solution.joint("rod").wrench)
    with pytest.raises(fm.InputError, match=r"^joints\.rod\.function: its function"):
        fm.state_of(read, 0.02)
