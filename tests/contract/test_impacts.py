"""Runs through impacts: energy never grows, the penetration is bounded, joint limits hold in both
coordinates, rejections take one line."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import flexmbs as fm

LENGTH, STEP = 1.0, 2e-3


def falling_rod(angle: float, speed: tuple[float, float, float], **contact) -> fm.Model:
    """Uniform rod whose lower end starts 1 mm over a floor, without gravity: one impact."""
    model = fm.Model("rod", gravity=(0, 0, 0))
    end = (0, -0.5 * LENGTH, 0)
    inertia = (LENGTH**2 / 12, 1e-3, LENGTH**2 / 12)
    rod = model.add(fm.RigidBody("rod", mass=1.0, inertia=inertia, frames={"end": end}))
    height = 0.5 * LENGTH * np.cos(angle) + 1e-3
    model.add(fm.Planar("plane", model.ground, rod, q0=(0, height, angle), v0=speed))
    model.add(fm.SpherePlane("floor", model.ground, rod["end"], normal="y", **contact))
    return model


speeds = st.tuples(st.floats(-3, 3), st.floats(-3, -0.5), st.floats(-2, 2))
unit = st.floats(0, 1)


@hypothesis.given(st.floats(-1.2, 1.2), speeds, unit, unit, st.floats(0, 2))
@hypothesis.example(0.6, (-0.4, -1.0, 0.0), 1.0, 0.0, 2.0)
@hypothesis.settings(max_examples=10, deadline=None, derandomize=True)
def test_energy_never_grows_and_the_overlap_is_bounded(
    angle, speed, restitution, along, friction
) -> None:
    """Also where Newton's law with friction would add energy (Kane and Levinson, Dynamics, 1985, p.
    348).
    """
    model = falling_rod(
        angle, speed, restitution=restitution, tangential_restitution=along, friction=friction
    )
    solution = fm.simulate(model, t_end=10 * STEP, step=STEP, integrator="moreau-jean")
    energy = solution.energy.total
    assert np.diff(energy).max() <= 1e-7 * energy[0]
    assert np.abs(solution.energy.balance).max() <= 1e-10 * energy[0]
    floor = solution.contact("floor")
    assert floor.gap.min() >= -STEP * np.abs(floor.rate).max() * (1 + 1e-9)
    pressed = np.abs(floor.friction[:, 0])
    assert (pressed <= friction * floor.normal + 1e-9 * (1 + floor.normal)).all()


def test_restitution_is_reduced_where_it_would_add_energy() -> None:
    """One impact that sticks, e_N = 1, e_T = 0: p = −(W M⁻¹
    Wᵀ)⁻¹ (2 U_N⁻, U_T⁻) would add energy.
    """
    angle, speed = 0.6, (-0.4, -1.0, 0.0)
    x, y = 0.5 * LENGTH * np.cos(angle), 0.5 * LENGTH * np.sin(angle)
    W, inverse, v = (
        np.array([[0.0, 1.0, y], [1.0, 0.0, x]]),
        np.diag([1.0, 1.0, 12.0]),
        np.array(speed),
    )
    impulse = -np.linalg.solve(W @ inverse @ W.T, W @ v * [2.0, 1.0])
    after = v + inverse @ W.T @ impulse
    assert abs(impulse[1]) < 2.0 * impulse[0]
    assert after @ np.linalg.solve(inverse, after) > 1.1 * (v @ np.linalg.solve(inverse, v))
    model = falling_rod(angle, speed, restitution=1.0, friction=2.0)
    solution = fm.simulate(model, t_end=5 * STEP, step=STEP, integrator="moreau-jean")
    assert any(
        "restitution was reduced where it would have added energy" in note
        for note in solution.run.notes
    )
    assert solution.energy.total[-1] == pytest.approx(solution.energy.total[0], rel=1e-6)
    assert solution.energy.total[-1] <= solution.energy.total[0]
    found = fm.simulate(model, t_end=5 * STEP, integrator="event-driven")
    assert any(
        "in 1 impacts restitution was reduced where it would have added energy" in note
        for note in found.run.notes
    )
    assert found.energy.total[-1] == pytest.approx(found.energy.total[0], rel=1e-6)


def test_stop_of_a_joint_in_both_coordinates() -> None:
    """Free bodies rotate by the midpoint rule, joints by their angles: the motions differ by the
    order of the method only.
    """
    model = fm.Model("pendulum")
    bob = model.add(fm.RigidBody("bob", mass=1, inertia=(1, 1, 1), com=(1, 0, 0)))
    model.add(fm.Revolute("hinge", model.ground, bob, axis="y", q0=0.2))
    model.add(fm.JointLimit("stop", "hinge", upper=0.3, restitution=0.5))
    apart = []
    for step in (0.005, 0.01):
        how = {"t_end": 0.25, "step": step, "output_step": 0.01, "integrator": "moreau-jean"}
        joint, absolute = (fm.simulate(model, coordinates=c, **how) for c in ("joint", "absolute"))
        apart.append(np.abs(joint.joint("hinge").position - absolute.joint("hinge").position).max())
    assert apart[1] < 4e-7
    assert 3.5 < apart[1] / apart[0] < 4.5
    np.testing.assert_allclose(
        joint.contact("stop.upper").normal,
        absolute.contact("stop.upper").normal,
        rtol=1e-6,
        atol=1e-6,
    )
    (hit,) = joint.run.impacts
    assert (hit.contact, round(hit.t, 1)) == ("stop.upper", 0.2)
    assert hit.lost > 0.0


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_central_impact_of_two_balls(restitution) -> None:
    """Masses 1 and 3, the second at rest: speeds (1 − 3 e)/4 and (1 + e)/4, loss ½ · ¾ (1 − e²)."""
    model = fm.Model("balls", gravity=(0, 0, 0))
    balls = [
        model.add(fm.PointMass(name, mass=mass)) for name, mass in (("first", 1.0), ("second", 3.0))
    ]
    model.add(fm.Prismatic("left", model.ground, balls[0], v0=1.0))
    model.add(fm.Prismatic("right", model.ground, balls[1], q0=0.31))
    model.add(
        fm.SphereSphere(
            "touch", *balls, radius_parent=0.1, radius_child=0.2, restitution=restitution
        )
    )
    solution = fm.simulate(model, t_end=0.05, step=5e-3, integrator="moreau-jean")
    speeds = [solution.joint(name).velocity[-1, 0] for name in ("left", "right")]
    np.testing.assert_allclose(
        speeds, [(1 - 3 * restitution) / 4, (1 + restitution) / 4], atol=1e-12
    )
    (hit,) = solution.run.impacts
    np.testing.assert_allclose([hit.t, hit.lost], [0.01, 0.375 * (1 - restitution**2)], atol=1e-12)
    np.testing.assert_allclose(hit.impulse, [0.75 * (1 + restitution), 0.0, 0.0], atol=1e-12)


def test_a_box_slides_on_four_corners_as_on_a_plane() -> None:
    """More contacts than degrees of freedom: deceleration μ g, no tilt, no penetration, the normal
    forces balance the weight and its moment."""
    size, friction, step = 0.1, 0.6, 5e-3
    model = fm.Model("box", gravity=(0, 0, -9.81))
    corners = {f"corner {k}": (size * (-1) ** k, size * (-1) ** (k // 2), -size) for k in range(4)}
    box = model.add(fm.RigidBody("box", mass=2.0, inertia=(0.02, 0.02, 0.02), frames=corners))
    model.add(
        fm.Free("flight", model.ground, box, q0=(0, 0, size, 1, 0, 0, 0), v0=(0.6, 0.8, 0, 0, 0, 0))
    )
    for corner in corners:
        model.add(fm.SpherePlane(corner, model.ground, box[corner], friction=friction))
    solution = fm.simulate(model, t_end=8 * step, step=step, integrator="moreau-jean")
    speed = 1.0 - friction * 9.81 * solution.t
    np.testing.assert_allclose(solution.s[:, :2], speed[:, None] * [0.6, 0.8], atol=1e-10)
    np.testing.assert_allclose(solution.s[:, 2:], 0.0, atol=1e-10)
    contacts = [solution.contact(corner) for corner in corners]
    assert max(np.abs(contact.gap).max() for contact in contacts) < 1e-11
    force = sum(contact.force[1:] for contact in contacts)
    np.testing.assert_allclose(
        force, np.tile(2.0 * 9.81 * np.array([-0.36, -0.48, 1.0]), (8, 1)), rtol=1e-9
    )
    arms = np.array(list(corners.values()))
    moment = sum(np.cross(arm, contact.force[1:]) for arm, contact in zip(arms, contacts))
    np.testing.assert_allclose(moment, 0.0, atol=1e-9)


def test_tangential_restitution_acts_in_impacts_only() -> None:
    """A point sliding on the floor stops after v²/(2 μ g) and stays there, whatever e_T."""
    friction, step = 0.4, 5e-3
    model = fm.Model("puck")
    puck = model.add(fm.PointMass("puck", mass=3.0))
    model.add(fm.Translation("way", model.ground, puck, v0=(0.6, 0.8, 0)))
    model.add(
        fm.SpherePlane("floor", model.ground, puck, friction=friction, tangential_restitution=1.0)
    )
    solution = fm.simulate(model, t_end=0.3, step=step, integrator="moreau-jean")
    way = 0.5 / (friction * 9.81)
    np.testing.assert_allclose(solution.q[-1], [0.6 * way, 0.8 * way, 0.0], atol=1e-5)
    np.testing.assert_allclose(solution.s[-2:], 0.0, atol=1e-10)
    np.testing.assert_allclose(solution.contact("floor").friction[-2:], 0.0, atol=1e-8)


def dropped(integrator="moreau-jean", **options) -> fm.Solution:
    model = fm.Model("ball")
    ball = model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Prismatic("fall", model.ground, ball, axis="z", q0=options.pop("height", 1.0)))
    drive = options.pop("drive", None)
    if drive is not None:
        model.add(fm.Drive("ram", "fall", drive))
    model.add(fm.SpherePlane("floor", model.ground, ball, radius=0.2, **options))
    return fm.simulate(model, t_end=0.05, step=5e-3, integrator=integrator)


def test_contacts_and_impacts_are_stored(tmp_path) -> None:
    solution = dropped(height=0.205, restitution=0.5, friction=0.1)
    solution.save(tmp_path / "ball.h5")
    read = fm.Solution.load(tmp_path / "ball.h5")
    assert read.contacts == ("floor",)
    assert read.run.impacts == solution.run.impacts != ()
    for key in ("gap", "rate", "slip", "normal", "friction", "force"):
        np.testing.assert_array_equal(
            getattr(read.contact("floor"), key), getattr(solution.contact("floor"), key)
        )
    between = read.at(0.5 * (read.t[1:] + read.t[:-1]))
    assert np.abs(between.q - 0.5 * (read.q[1:] + read.q[:-1])).max() < 1e-3
    with pytest.raises(
        fm.InputError, match="contact 'flor' is not in the solution; did you mean 'floor'"
    ):
        read.contact("flor")


REFUSED = [
    (
        {"height": 0.1},
        "contacts.floor: overlaps by 0.1 (m or rad) at the start; move its bodies by q0, "
        "or correct its normal, radius or bounds",
    ),
    (
        {"integrator": "rattle"},
        "contacts.floor: integrator 'rattle' does not support rigid contacts; use "
        "'moreau-jean' or 'event-driven'",
    ),
    (
        {"integrator": "generalized-alpha"},
        "contacts.floor: integrator 'generalized-alpha' does not support rigid contacts; "
        "use 'moreau-jean' or 'event-driven'",
    ),
]


def double_impact(integrator: str) -> tuple[float, float]:
    """Velocities of the ends of a level rod after its end "b" has struck, "a" resting, both at
    Poisson's law with 0 and 0.5.
    """
    model = fm.Model("rod", gravity=(0, 0, 0))
    ends = {"a": (-0.5, 0, 0), "b": (0.5, 0, 0)}
    rod = model.add(fm.RigidBody("rod", mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), frames=ends))
    model.add(fm.Planar("plane", model.ground, rod, v0=(0, -0.5, -1.0)))
    for name, e in (("a", 0.5), ("b", 0.0)):
        model.add(
            fm.SpherePlane(
                name, model.ground, rod[name], normal="y", restitution=e, restitution_law="poisson"
            )
        )
    solution = fm.simulate(
        model, t_end=4e-4, step=1e-4 if integrator == "moreau-jean" else None, integrator=integrator
    )
    return solution.frame("rod/a").velocity[-1, 1], solution.frame("rod/b").velocity[-1, 1]


@pytest.mark.parametrize("integrator", ["moreau-jean", "event-driven"])
def test_poissons_law_lifts_the_end_that_rests(integrator: str) -> None:
    """v/4 = e v/2 for e = ½, and the end that struck stays;
    Newton's law would leave both at rest.
    """
    np.testing.assert_allclose(double_impact(integrator), [0.25, 0.0], atol=1e-4)


@pytest.mark.parametrize(("given", "line"), REFUSED, ids=[str(given) for given, _ in REFUSED])
def test_refusals(given, line) -> None:
    with pytest.raises(fm.InputError) as caught:
        dropped(**given)
    assert list(caught.value.problems) == [line]


def test_a_drive_through_the_floor_ends_with_a_clear_line() -> None:
    with pytest.raises(fm.SolverError) as stopped:
        dropped(height=0.22, drive=fm.Ramp(0.22, -1.0))
    line = str(stopped.value)
    assert line.startswith(
        "stopped at t = 0.02 s: no impulses keep contact 'floor' closed: a drive presses "
        "through it, or it jams"
    )
    assert line.endswith("free the drive, or lower the friction or the restitution")
    assert stopped.value.solution.t[-1] == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "integrator.step: 'moreau-jean' has no control of its steps; give a fixed step (s)"),
        ({"step": 1e-3, "theta": 0.3}, "integrator.theta: 0.3 is not within 0.5 … 1"),
        ({"step": 1e-3, "max_sweeps": 0}, "integrator.max_sweeps: 0 is not a whole number above 0"),
    ],
)
def test_bad_options(options, line) -> None:
    with pytest.raises(fm.InputError) as caught:
        fm.MoreauJean(**options)
    assert line in str(caught.value)
