"""Items that do not act on a mechanism change no check of it."""

import dataclasses
import functools

import numpy as np
import pytest
from audited_models import found

import flexmbs as fm
import preprocess as pp
from flexmbs.audit.mechanisms import bodies_with_contacts
from flexmbs.system.compile import compile_model

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")


@functools.cache
def beam(modes, *, damping=0.0, height=0.01, residual=True):
    """A slender steel beam of 0.5 m, held at its root."""
    x = np.linspace(0.0, 0.5, 17)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(16)]},
        node_sets={"root": [0], "tip": [16]},
    )
    section = pp.RectangularSection(height, 0.02, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=210e9, nu=0.3, rho=7850.0), sections=section)
    data = pp.reduce(
        fe,
        interfaces={name: pp.Rigid(name) for name in ("root", "tip")},
        method=pp.CraigBampton(modes=modes),
        reference="root",
        damping=damping,
    )
    return data if residual else dataclasses.replace(data, residual=None)


def estimate(solution):
    """The relative error of reactions that the check of truncated modes states."""
    text = found(solution, "Truncated modes").found
    return float(text.partition(" of the largest reaction")[0].split()[-1])


def nothing(model):
    """No other item."""


def falling_mass(model):
    mass = model.add(fm.PointMass("decoy", mass=3.0))
    model.add(fm.Translation("fall", "ground/far", mass))


def flying_mass(model):
    model.add(fm.PointMass("decoy", mass=1e-3))


def massless_link(model):
    """Two heavy bodies on a link without mass."""
    link = model.add(fm.RigidBody("decoy", mass=0.0, inertia=(0.0,) * 3, frames={"end": (2, 0, 0)}))
    ends = [model.add(fm.RigidBody(f"end {k}", mass=40.0, inertia=(1.0,) * 3)) for k in range(2)]
    model.add(fm.Revolute("swing", model.ground, ends[0], axis="y", q0=0.5))
    model.add(fm.Fixed("weld 1", ends[0], link))
    model.add(fm.Fixed("weld 2", link["end"], ends[1]))


def bouncing_body(model):
    body = model.add(fm.RigidBody("decoy", mass=1.0, inertia=(0.1,) * 3))
    model.add(fm.Prismatic("slide", model.ground, body, axis="z", q0=0.005, v0=-1.0))
    model.add(fm.JointLimit("stop", "slide", lower=0.0, restitution=1.0))


def resting_body(model):
    body = model.add(fm.RigidBody("decoy", mass=1.0, inertia=(0.1,) * 3))
    model.add(fm.Prismatic("slide", model.ground, body, axis="z"))
    model.add(fm.JointLimit("stop", "slide", lower=0.0))


def arm(add):
    """A beam with too few modes, held by a motor, and a sudden force at its tip."""
    model = fm.Model("arm", frames={"far": (30.0, 0, 0)})
    body = model.add(fm.FlexibleBody("beam", data=beam(2)))
    model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y"))
    step = fm.SmoothStep(50.0, start=0.005, duration=1e-3)
    model.add(fm.FrameForce("tap", body["tip"], force=(0, 0, step)))
    model.add(fm.JointTorque("motor", "hinge", fm.PD(kp=500.0, kd=5.0)))
    add(model)
    return model


def distant_stop(model):
    model.add(fm.JointLimit("stop", "hinge", lower=-3.0, upper=3.0, law=fm.HuntCrossley(1e4)))


def test_a_distant_stop_hides_no_unresolved_modes():
    """A stop of the same joint that is not reached; fixed steps too long for the modes."""
    texts = []
    for add in (nothing, distant_stop):
        model = fm.Model("arm", gravity=(0, 0, 0))
        body = model.add(fm.FlexibleBody("beam", data=beam(8)))
        model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y"))
        model.add(fm.FrameForce("pull", body["tip"], force=(50.0, 0, 0)))
        model.add(fm.JointSpring("spring", "hinge", k=100.0))
        add(model)
        run = fm.simulate(model, t_end=0.02, step=5e-4, integrator="generalized-alpha")
        texts.append(found(run, "Unresolved modes"))
    assert texts[0].status != "PASS"
    assert texts[0] == texts[1]


def clamped(add):
    """A clamped beam with a mass at its tip that begins to bear its weight."""
    model = fm.Model("blade", frames={"far": (30.0, 0, 0)})
    body = model.add(fm.FlexibleBody("beam", data=beam(2)))
    model.add(fm.Fixed("clamp", model.ground, body["root"]))
    tip = model.add(fm.RigidBody("tip", mass=0.05, inertia=(1e-6,) * 3))
    model.add(fm.Fixed("weld", body["tip"], tip))
    add(model)
    return model


@pytest.mark.parametrize("build", [arm, clamped])
@pytest.mark.parametrize(
    "add", [falling_mass, flying_mass, massless_link, bouncing_body, resting_body]
)
def test_truncated_modes_of_one_mechanism(build, add):
    method = "event-driven" if add in (bouncing_body, resting_body) else "esdirk"
    alone, beside = (
        fm.simulate(
            build(each), t_end=0.012, output_step=2e-5, rtol=1e-7, atol=1e-9, integrator=method
        )
        for each in (nothing, add)
    )
    assert estimate(alone) > 0.02
    assert estimate(beside) == pytest.approx(estimate(alone), rel=0.05)
    assert found(beside, "Truncated modes").status == found(alone, "Truncated modes").status


def struck(ball, modes=2, **options):
    """A clamped beam whose tip is hit by a ball with a contact law."""
    model = fm.Model("hit", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("beam", data=beam(modes, damping=0.02, **options)))
    model.add(fm.Fixed("clamp", model.ground, body["root"]))
    if ball == "point":
        ball = model.add(fm.PointMass("ball", mass=0.3))
        model.add(
            fm.Translation("flight", model.ground, ball, q0=(0.5, 0.0, 0.02), v0=(0, 0, -1.0))
        )
    else:
        ball = model.add(fm.RigidBody("ball", mass=0.3, inertia=(1e-5,) * 3))
        start = (0.5, 0, 0.02, 1, 0, 0, 0)
        model.add(fm.Free("flight", model.ground, ball, q0=start, v0=(0, 0, -1.0, 0, 0, 0)))
    law = fm.HuntCrossley(stiffness=1e5, exponent=1.0, damping=0.5)
    model.add(fm.SpherePlane("contact", "beam/tip", ball, radius=0.01, law=law))
    return fm.simulate(model, t_end=0.03, output_step=2e-5, rtol=1e-7, atol=1e-9)


def test_truncated_modes_with_a_point_mass():
    """Its missing rotations do not matter: the force of the clamp is wrong by 27 %."""
    exact, point, rigid = struck("point", 24), struck("point"), struck("rigid")
    force = exact.joint("clamp").force
    wrong = np.linalg.norm(point.joint("clamp").force - force, axis=1).max()
    actual = wrong / np.linalg.norm(force, axis=1).max()
    assert actual > 0.2
    assert actual / 1.5 < estimate(point) < 1.5 * actual
    assert estimate(point) == pytest.approx(estimate(rigid), rel=0.01)
    assert found(exact, "Truncated modes").status == "PASS"


def test_bounds_contain_loads_at_the_interfaces():
    """Without residual modes the force of the contact is not passed over."""
    check = found(struck("point", residual=False), "Truncated modes")
    assert check.status == "WARN"
    assert "reactions not judged: the data have no modes outside the basis" in check.found
    assert float(check.found.partition(" of the largest")[0].split()[-1]) > 0.2


@pytest.mark.parametrize("hold", ["brake", "fixed"])
def test_held_joints_count_as_held(hold):
    model = fm.Model("held", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("beam", data=beam(2, damping=0.02)))
    if hold == "fixed":
        model.add(fm.Fixed("clamp", model.ground, body["root"]))
    else:
        model.add(fm.Revolute("clamp", model.ground, body["root"], axis="y"))
        model.add(fm.DryFriction("brake", "clamp", coulomb=1e3))
    step = fm.SmoothStep(50.0, start=0.005, duration=1e-3)
    model.add(fm.FrameForce("tap", body["tip"], force=(0, 0, step)))
    run = fm.simulate(model, t_end=0.02, output_step=2e-5, integrator="event-driven")
    assert estimate(run) == pytest.approx(0.23, abs=0.01)  # 0.2256 against 24 modes


def driven(add, tap=100.0):
    """An undamped beam that a motor turns, and a force within a part of a step at its tip."""
    model = fm.Model("arm", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("beam", data=beam(6, height=0.03)))
    model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y"))
    model.add(fm.Drive("motor", "hinge", fm.SmoothStep(1.0, start=0.0, duration=0.05)))
    step = fm.SmoothStep(tap, start=0.02, duration=5e-4)
    model.add(fm.FrameForce("tap", body["tip"], force=(0, 0, step)))
    add(model)
    return fm.simulate(model, t_end=0.05, integrator="moreau-jean", step=1e-3)


def test_impacts_elsewhere_leave_forces_judged():
    """The same findings of forces, and as many states by other equations."""
    alone, beside = driven(nothing), driven(bouncing_body)
    assert beside.run.impacts
    titles = ("Second opinion", "Reactions", "Forces of the second run", "Unresolved modes")
    for title in titles:
        ours, others = found(alone, title), found(beside, title)
        assert others.status == ours.status, title
    forces = found(beside, "Forces of the second run")
    assert forces.status == "FAIL"
    assert "at joint hinge" in forces.found
    assert abs(count(alone) - count(beside)) <= 2


def count(solution):
    """The number of states by other equations."""
    return int(found(solution, "Second opinion").found.split()[0])


def test_forces_between_impacts_are_judged():
    """A beam on a slide that bounces: its reactions between the impacts depend on the step."""
    model = fm.Model("bouncing", gravity=(0, 0, 0))
    cart = model.add(fm.RigidBody("cart", mass=5.0, inertia=(0.1,) * 3))
    model.add(fm.Prismatic("slide", model.ground, cart, axis="z", q0=0.02, v0=-1.0))
    model.add(fm.JointLimit("stop", "slide", lower=0.0, restitution=1.0))
    body = model.add(fm.FlexibleBody("beam", data=beam(6, height=0.03)))
    model.add(fm.Fixed("clamp", cart, body["root"]))
    run = fm.simulate(model, t_end=0.06, integrator="moreau-jean", step=1e-3)
    assert run.run.impacts
    assert "at joint" in found(run, "Forces of the second run").found


def test_impacts_are_transmitted_by_joints_and_couplings():
    model = fm.Model("groups")
    bodies = [model.add(fm.RigidBody(f"b{k}", mass=1.0, inertia=(1.0,) * 3)) for k in range(5)]
    model.add(fm.Revolute("j0", model.ground, bodies[0], axis="z"))
    model.add(fm.Revolute("j1", model.ground, bodies[1], axis="z"))
    model.add(fm.Revolute("j2", bodies[1], bodies[2], axis="z"))
    model.add(fm.Revolute("j3", model.ground, bodies[3], axis="z"))
    model.add(fm.Gear("gear", "j0", "j1", ratio=2.0))
    model.add(fm.JointLimit("stop", "j0", lower=-1.0, upper=1.0))
    model.add(fm.SpherePlane("floor", model.ground, bodies[4]))
    compiled = compile_model(model)
    assert bodies_with_contacts(compiled, ["stop.upper"]) == {"b0", "b1", "b2"}
    assert bodies_with_contacts(compiled, ["floor"]) == {"b4"}
    assert bodies_with_contacts(compiled, []) == set()
