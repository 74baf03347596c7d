"""Consistent initial values of closed loops: least change, weights, locked joints, branches, starts
from afar.
"""

import numpy as np
import pytest
from bars import bar
from scipy.optimize import minimize

import flexmbs as fm
from flexmbs.initial.loop_closure import LoopClosure
from flexmbs.studies.states.state_sequence import solution_of

CRANK, ROD, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.7


def four_bar(crank=None, pin=None, knee=None, foot=None, v0=None, ground=GROUND):
    """Crank, rod and rocker in the x-y plane; the foot, which closes the loop, is cut. Joint angles
    are relative.
    """
    model = fm.Model("four-bar", frames={"far": (ground, 0, 0)}, cuts=("foot",))
    bars = {
        name: model.add(bar(name, length))
        for name, length in (("crank", CRANK), ("rod", ROD), ("rocker", ROCKER))
    }
    model.add(fm.Revolute("main", model.ground, bars["crank"], q0=crank, v0=v0))
    model.add(fm.Revolute("pin", bars["crank"]["end"], bars["rod"], q0=pin))
    model.add(fm.Revolute("knee", bars["rod"]["end"], bars["rocker"], q0=knee))
    model.add(fm.Revolute("foot", bars["rocker"]["end"], model.ground["far"], q0=foot))
    return model


def closed(angle, sign):
    """Absolute angles of rod and rocker (knee to foot) at a crank angle: sign +1 with the knee
    above the line, −1 below.
    """
    tip = CRANK * np.array([np.cos(angle), np.sin(angle)])
    d = np.array([GROUND, 0.0]) - tip
    span = np.hypot(*d)
    rod = np.arctan2(d[1], d[0]) + sign * np.arccos(
        (ROD**2 + span**2 - ROCKER**2) / (2 * ROD * span)
    )
    knee = tip + ROD * np.array([np.cos(rod), np.sin(rod)])
    return rod, np.arctan2(-knee[1], GROUND - knee[0])


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


def angle(found, joint):
    return float(found.joints[joint].position[0])


@pytest.mark.parametrize("sign", [1, -1])
def test_cut_joint_chooses_the_branch(sign):
    """Only the crank and the foot are given; the rod above or
    below follows from the foot's angle.
    """
    rod, rocker = closed(0.9, sign)
    found = fm.assemble(four_bar(crank=0.9, foot=wrapped(-rocker)), locked="main")
    assert angle(found, "main") == pytest.approx(0.9, abs=1e-12)
    assert wrapped(angle(found, "pin") + 0.9 - rod) == pytest.approx(0, abs=1e-9)
    assert wrapped(angle(found, "foot") + rocker) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("off", [-1.05, 1.05])
def test_from_afar(off):
    """A slider-crank declared with the rod 60° from its closed position: sin of the rod's angle is
    −r/l sin φ.
    """
    model = fm.Model("slider-crank")
    crank, rod = model.add(bar("crank", 0.2)), model.add(bar("rod", 0.5))
    slider = model.add(fm.RigidBody("slider", mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    rod_angle = -np.arcsin(0.2 / 0.5 * np.sin(0.8))
    model.add(fm.Revolute("main", model.ground, crank, q0=0.8))
    model.add(fm.Revolute("pin", crank["end"], rod, q0=rod_angle - 0.8 + off))
    model.add(fm.Revolute("wrist", rod["end"], slider))
    model.add(fm.Prismatic("guide", model.ground, slider, axis="x", q0=0.3))
    found = fm.assemble(model, locked=("main",))
    assert angle(found, "guide") == pytest.approx(
        0.2 * np.cos(0.8) + 0.5 * np.cos(rod_angle), abs=1e-9
    )


def least_change(weights, start):
    """The four-bar's three absolute angles of least weighted mass-norm change of the relative ones,
    by a general optimizer.
    """
    lengths = np.array([CRANK, ROD, ROCKER])
    sums = np.tril(np.ones((3, 3)))  # absolute angles from relative ones

    def mass(x):
        a = sums @ x
        M = np.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                for k in range(max(i, j), 3):
                    arms = [lengths[n] if n < k else lengths[n] / 2 for n in (i, j)]
                    M[i, j] += arms[0] * arms[1] * np.cos(a[i] - a[j]) + (
                        lengths[k] ** 2 / 12 if i == j == k else 0.0
                    )
        return sums.T @ M @ sums

    def gap(x):
        a = sums @ x
        return np.array([lengths @ np.cos(a) - GROUND, lengths @ np.sin(a)])

    x = np.array(start, float)
    for _ in range(40):  # the metric is that of the last position
        W = np.sqrt(np.outer(weights, weights)) * mass(x)
        x = minimize(
            lambda y, W=W: (y - start) @ W @ (y - start),
            x,
            constraints={"type": "eq", "fun": gap},
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 200},
        ).x
    return x


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (100.0, 1.0, 1.0), (1.0, 1.0, 1e-3)])
def test_least_weighted_change(weights):
    rod, rocker = closed(0.7, 1)
    start = np.array([0.7, rod - 0.7, rocker - rod]) + (0.1, -0.15, 0.2)
    names = ("main", "pin", "knee")
    found = fm.assemble(four_bar(*start), weights=dict(zip(names, weights, strict=True)))
    np.testing.assert_allclose(
        [angle(found, name) for name in names], least_change(weights, start), atol=2e-6
    )


def test_locked_joint_keeps_its_speed():
    """With the crank locked at 2 rad/s, the other velocities are those of the velocity polygon of
    the four-bar.
    """
    rod, rocker = closed(0.7, 1)
    found = fm.assemble(four_bar(0.7, rod - 0.7 + 0.2, rocker - rod, v0=2.0), locked=("main",))
    a, b, c = 0.7, *closed(0.7, 1)
    G = np.array([[-ROD * np.sin(b), -ROCKER * np.sin(c)], [ROD * np.cos(b), ROCKER * np.cos(c)]])
    turn = np.linalg.solve(G, -2.0 * CRANK * np.array([-np.sin(a), np.cos(a)]))
    assert found.joints["main"].velocity[0] == pytest.approx(2.0, abs=1e-12)
    assert found.joints["pin"].velocity[0] == pytest.approx(turn[0] - 2.0, rel=1e-8)
    assert found.joints["knee"].velocity[0] == pytest.approx(turn[1] - turn[0], rel=1e-8)


def test_cut_joint_can_be_locked():
    rod, rocker = closed(0.7, 1)
    found = fm.assemble(four_bar(0.66, rod - 0.7, rocker - rod, foot=-rocker), locked=("foot",))
    assert angle(found, "main") == pytest.approx(0.7, abs=1e-9)


def test_locked_joints_that_contradict_are_named():
    rod, rocker = closed(0.7, 1)
    model = four_bar(0.7, rod - 0.7 + 0.3, rocker - rod)
    with pytest.raises(
        fm.InputError,
        match=r"joints\.pin: is locked at q0, but the loops close only if it moves by 0\.",
    ):
        fm.assemble(model, locked=("main", "pin", "knee"))


def test_locked_speeds_that_contradict_are_named():
    rod, rocker = closed(0.7, 1)
    with pytest.raises(
        fm.InputError,
        match=r"joints\.(main|pin): is locked, but the constraints hold only if v0 changes",
    ):
        fm.assemble(four_bar(0.7, rod - 0.7, rocker - rod, v0=2.0), locked=("main", "pin"))


def test_loop_that_cannot_close_reports_the_gap():
    """Stretched out, the bars leave 2 − (0.3 + 0.8 + 0.6) = 0.3 m."""
    with pytest.raises(
        fm.InputError, match=r"joints\.foot: the loop does not close, residual gap"
    ) as told:
        fm.assemble(four_bar(0.1, 0.1, 0.1, ground=2.0))
    assert 0.3 <= float(str(told.value).split("gap ")[1].split(" ")[0]) < 0.4


def test_drive_that_contradicts_is_named():
    """A rocker driven to 90° against a crank driven to 40°."""
    model = four_bar(0.7, 0.4, -1.6)
    model.add(fm.Drive("crank motor", "main", 0.7))
    model.add(fm.Drive("pin motor", "pin", 2.0))
    with pytest.raises(
        fm.InputError,
        match=r"drives\.pin motor: its motion contradicts|joints\.foot: the loop does not close",
    ):
        fm.assemble(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"locked": ("mian",)}, "initial.locked: no joint 'mian'; did you mean 'main'?"),
        ({"weights": {"hip": 1.0}}, "initial.weights: no joint 'hip'"),
        ({"weights": {"pin": 0.0}}, "initial.weights.pin: 0.0 is not positive"),
        (
            {"weights": {"pin": (1.0, 2.0)}},
            "initial.weights.pin: 2 numbers for 1 degrees of freedom",
        ),
    ],
)
def test_slips_are_reported(options, message):
    with pytest.raises(fm.InputError, match=message.replace("(", r"\(")):
        fm.assemble(four_bar(), **options)


def test_a_run_starts_from_the_wanted_state():
    rod, rocker = closed(0.7, 1)
    model = four_bar(0.7, rod - 0.7 + 0.2, rocker - rod, v0=2.0)
    solution = fm.simulate(model, t_end=0.01, step=0.005, initial=fm.Assemble(locked=("main",)))
    assert solution.joint("main").position[0, 0] == pytest.approx(0.7, abs=1e-12)
    assert solution.joint("main").velocity[0, 0] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("error", [0.0, 1e-4])
def test_what_is_declared_closed_is_not_searched_for(error, monkeypatch):
    """Positions next to the declared ones, the cut joint's among them, are taken without trials
    from elsewhere.
    """
    places = []
    plain = LoopClosure._place
    monkeypatch.setattr(
        LoopClosure, "_place", lambda self, *given: places.append(given) or plain(self, *given)
    )
    monkeypatch.setattr(LoopClosure, "_scattered", lambda *given: pytest.fail("searched elsewhere"))
    rod, rocker = closed(0.9, 1)
    model = four_bar(crank=0.9, pin=rod - 0.9 + error, knee=rocker - rod, foot=-rocker)
    if error:
        with pytest.warns(fm.AssemblyWarning, match="the declared value had to change by"):
            found = fm.assemble(model)
    else:
        found = fm.assemble(model)
        assert len(places) == 1
    assert len(places) < 20
    assert abs(angle(found, "main") - 0.9) <= error
    assert abs(angle(found, "foot") + rocker) <= error


@pytest.mark.parametrize("place", [1e3, -1e6])
def test_a_drive_may_prescribe_a_place_far_away(place):
    """A sliding arm on a long rail, as in millimetres."""
    model = fm.Model("cart")
    cart = model.add(fm.RigidBody("cart", mass=1, inertia=(1, 1, 1), frames={"tip": (0, 0, 1)}))
    arm = model.add(fm.RigidBody("arm", mass=1, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("rail", model.ground, cart, axis="x"))
    model.add(fm.Revolute("hinge", cart["tip"], arm, q0=0.3))
    model.add(fm.Drive("motor", "rail", fm.Ramp(place, 1.0)))
    found = fm.assemble(model).joints
    assert found["rail"].position == pytest.approx(place, abs=1e-9)
    assert found["hinge"].position == 0.3


@pytest.mark.parametrize("mass", [1e-8, 1e-5, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize(("crank", "slide"), [(-2.93, -1.85), (0.4, -1.3)])
def test_loops_close_whatever_the_mass_of_the_rod(mass: float, crank: float, slide: float) -> None:
    """A slider-crank with bodies of 1 kg, of which no declared coordinate fits the others. Oracle:
    the rod is as long as the distance of its ends.
    """
    model = fm.Model("slider-crank")
    first = model.add(bar("crank", 0.3))
    rod = model.add(
        fm.RigidBody(
            "rod",
            mass=mass,
            com=(0.45, 0, 0),
            inertia=(1e-3 * mass, 0.0675 * mass, 0.0675 * mass),
            frames={"end": (0.9, 0, 0)},
        )
    )
    slider = model.add(fm.RigidBody("slider", mass=1.0, inertia=(0.01,) * 3))
    model.add(fm.Revolute("main", model.ground, first, axis="-y", q0=crank))
    model.add(fm.Spherical("pin", first["end"], rod))
    model.add(fm.Prismatic("guide", model.ground, slider, axis="x", q0=slide))
    model.add(fm.Revolute("wrist", rod["end"], slider, axis="-y"))
    found = solution_of([fm.state(model)], options={})
    ends = found.frame("crank/end").position[0], found.body("slider").position[0]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(0.9, abs=1e-9)
