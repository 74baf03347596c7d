"""Events against closed forms for every integrator: a falling mass, the crossings of a pendulum,
loops, files, rejected events."""

import re

import bars
import numpy as np
import pytest
from numba import njit
from scipy.special import ellipk

import flexmbs as fm
from flexmbs.integrators import (
    ESDIRK,
    INTEGRATORS,
    DormandPrince,
    EventDriven,
    GeneralizedAlpha,
    MoreauJean,
    Rattle,
)

G, LENGTH, HEIGHT, START = 9.81, 0.7, 1.3, 1.1
FALL = np.sqrt(2.0 * HEIGHT / G)
# from rest at START to the lowest point
CROSSING = ellipk(np.sin(START / 2.0) ** 2) / np.sqrt(G / LENGTH)
# integrator, error in time of a fall at constant acceleration, error in time of the pendulum's
# crossings
CASES = {
    "generalized-alpha": (GeneralizedAlpha(step=1e-3, newton_tolerance=1e-12), 1e-11, 2e-6),
    "generalized-alpha controlled": (GeneralizedAlpha(rtol=1e-7, atol=1e-9), 1e-9, 2e-5),
    "dormand-prince": (DormandPrince(rtol=1e-10, atol=1e-12), 1e-12, 1e-9),
    "rattle": (Rattle(step=1e-3), 1e-11, 2e-6),
    "esdirk": (ESDIRK(rtol=1e-9, atol=1e-11), 1e-11, 1e-8),
    "moreau-jean": (MoreauJean(step=1e-3), 1e-11, 2e-6),
    "event-driven": (EventDriven(rtol=1e-10, atol=1e-12), 1e-12, 1e-9),
}
named = pytest.mark.parametrize(("method", "fall", "swing"), list(CASES.values()), ids=list(CASES))


def falling() -> fm.Model:
    model = fm.Model("fall", gravity=(0, 0, -G))
    ball = model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=HEIGHT))
    return model


def pendulum() -> fm.Model:
    """A point-like bob at LENGTH below a hinge, released at START."""
    place, about = (0, 0, -LENGTH), {"mass": 1.5, "inertia": (1e-9, 1e-9, 1e-9)}
    return bars.pendulum(q0=START, com=place, frames={"end": place}, **about)


@njit
def height(t, r, A, v, w):
    return r[2]


def test_every_integrator_is_tested():
    assert {method.name for method, _, _ in CASES.values()} == set(INTEGRATORS)


@named
def test_a_falling_mass_stops_at_the_floor(method, fall, swing):
    """t = √(2h/g) by a joint, a frame and a compiled function;
    the last output is the state there.
    """
    functions = {
        "joint": fm.Event("floor", joint="guide", direction=-1, terminal=True),
        "frame": fm.Event("floor", frame="ball", axis="z", terminal=True),
        "function": fm.Event("floor", height, frame="ball", terminal=True),
    }
    for kind in functions if method.name == "dormand-prince" else ["frame"]:
        solution = fm.simulate(
            falling(), t_end=2.0, output_step=0.2, integrator=method, events=[functions[kind]]
        )
        (event,) = solution.events
        assert event.name == "floor"
        assert abs(event.t - FALL) < fall
        assert abs(event.s[0] + G * FALL) < 10 * G * fall
        assert solution.run.outcome == f"stopped at event 'floor' at t = {FALL:.6g} s"
        assert solution.run.finished
        np.testing.assert_allclose(solution.t, [0.0, 0.2, 0.4, event.t])
        np.testing.assert_allclose(solution.q[-1], event.q, atol=1e-12)
        assert abs(solution.energy.balance[-1]) < 1e-6


@named
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_crossings_of_a_pendulum(coordinates, method, fall, swing):
    """Quarter periods K(sin²(φ/2)) √(l/g): every crossing, those of one direction, and turning
    points.
    """
    explicit = method.needs == "accelerations" and coordinates == "absolute"
    form = fm.Multiplier(stabilization=fm.Baumgarte(20.0)) if explicit else "multiplier"
    events = [
        fm.Event("down", joint="hinge", direction=-1),
        fm.Event("lowest", joint="hinge"),
        fm.Event("turn", joint="hinge", velocity=True, direction=1),
        fm.Event("user", lambda t, r, A, v, w: r[0], frame="bob/end", direction=1),
    ]
    how = {"integrator": method, "coordinates": coordinates, "formalism": form}
    solution = fm.simulate(pendulum(), t_end=2.5, output_step=0.5, events=events, **how)
    found = {
        event.name: [other.t for other in solution.events if other.name == event.name]
        for event in events
    }
    for name, quarters in {
        "down": [1, 5],
        "lowest": [1, 3, 5],
        "turn": [2],
        "user": [1, 5],
    }.items():
        factor = 10.0 if coordinates == "absolute" and method.step is None else 1.0
        np.testing.assert_allclose(
            found[name], CROSSING * np.array(quarters), rtol=0.0, atol=4 * factor * swing
        )
    assert [event.t for event in solution.events] == sorted(event.t for event in solution.events)
    assert solution.run.outcome == "finished"
    assert len(solution.t) == 6


def test_events_of_cut_joints_are_those_of_tree_joints():
    """A loop: the same angle and speed of a joint, once in the tree and once cut."""
    model = fm.Model("four bars", frames={"far": (0.8, 0, 0)})
    bar = {"mass": 0.5, "inertia": (1e-3, 1e-2, 1e-2)}
    a = model.add(fm.RigidBody("a", com=(0, 0, 0.1), frames={"end": (0, 0, 0.2)}, **bar))
    b = model.add(fm.RigidBody("b", com=(0.4, 0, 0), frames={"end": (0.8, 0, 0)}, **bar))
    c = model.add(fm.RigidBody("c", com=(0, 0, 0.3), frames={"end": (0, 0, 0.5)}, **bar))
    model.add(fm.Revolute("crank", model.ground, a, axis="y", q0=0.0, v0=8.0))
    model.add(fm.Spherical("pin", a["end"], b))
    model.add(fm.Universal("knee", b["end"], c["end"], axes=("y", "z"), q0=(0.6, 0)))
    model.add(fm.Revolute("foot", model.ground["far"], c, axis="y"))
    times = []
    for coordinates in ("joint", "absolute"):
        events = [
            fm.Event("angle", joint="crank", value=2.0),
            fm.Event("rate", joint="foot", velocity=True),
        ]
        how = {"integrator": DormandPrince(rtol=1e-9, atol=1e-11), "stabilization": "none"}
        how = {
            "integrator": how["integrator"],
            "formalism": fm.Multiplier(stabilization=fm.Projection()),
        }
        times.append(
            [
                (e.name, e.t)
                for e in fm.simulate(
                    model, t_end=0.6, coordinates=coordinates, events=events, **how
                ).events
            ]
        )
    assert [name for name, _ in times[0]] == [name for name, _ in times[1]]
    assert {name for name, _ in times[0]} == {"angle", "rate"}
    np.testing.assert_allclose(
        [t for _, t in times[0]], [t for _, t in times[1]], rtol=0.0, atol=1e-7
    )


def test_events_come_back_from_a_file(tmp_path):
    solution = fm.simulate(
        falling(),
        t_end=1.0,
        output_step=0.1,
        events=[fm.Event("floor", frame="ball", axis="z", terminal=True)],
    )
    solution.save(tmp_path / "fall.h5")
    read = fm.Solution.load(tmp_path / "fall.h5")
    assert read.events[0].name == "floor"
    assert read.events[0].t == solution.events[0].t
    np.testing.assert_array_equal(read.events[0].q, solution.events[0].q)
    assert read.run.finished
    solution.report(tmp_path / "fall.html")
    assert re.search(
        r"Event floor at <button [^>]*>t = 0\.51",
        (tmp_path / "fall.html").read_text(encoding="utf-8"),
    )


def test_a_function_that_fails_stops_the_run():
    def broken(t, r, A, v, w):
        if t > 0.05:
            raise LookupError("no floor")
        return 1.0

    with pytest.raises(LookupError, match="no floor") as raised:
        fm.simulate(
            falling(),
            t_end=1.0,
            integrator="generalized-alpha",
            events=[fm.Event("floor", broken, frame="ball")],
        )
    assert raised.value.__notes__[0].startswith("in the function of events.floor at t = 0.05")
    with pytest.raises(
        fm.SolverError,
        match=r"the function of events\.floor returned a non-finite number at .*\(t = 0\.0",
    ):
        fm.simulate(
            falling(),
            t_end=1.0,
            events=[
                fm.Event("floor", lambda t, r, A, v, w: np.nan if t > 0.05 else 1.0, frame="ball")
            ],
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"joint": "guid"}, "events.stop.joint: no joint 'guid'; did you mean 'guide'?"),
        ({"joint": "guide", "coordinate": 1}, "events.stop.coordinate: 1 is not"),
        ({"frame": "ball/top", "axis": "z"}, "events.stop.frame: no frame 'ball/top'"),
        ({"frame": "ball"}, "events.stop: a frame needs an axis"),
        ({"frame": "ball", "axis": "w"}, "events.stop.axis: must be 'x', 'y' or 'z', not 'w'"),
        ({}, "events.stop: give a joint, or a frame"),
        ({"joint": "guide", "axis": "z"}, "events.stop: a joint cannot be combined"),
        ({"joint": "guide", "direction": 2}, "events.stop.direction: must be 1"),
        (
            {"joint": "guide", "velocity": np.array([1, 2])},
            "events.stop.velocity: must be true or false",
        ),
        (
            {"joint": "guide", "terminal": "no"},
            "events.stop.terminal: must be true or false, not 'no'",
        ),
        ({"joint": "guide", "value": np.nan}, "events.stop.value: "),
        (
            {"frame": "ball", "function": lambda t: t},
            "events.stop: the function must be function(t, r, A, v, w)",
        ),
    ],
)
def test_what_is_wrong_with_an_event_is_reported(given, message):
    with pytest.raises(fm.InputError) as refused:
        fm.simulate(falling(), t_end=1.0, events=[fm.Event("stop", **given)])
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("coordinate", "x"),
        ("coordinate", np.nan),
        ("coordinate", 0.7),
        ("direction", np.array([1, 1])),
    ],
)
def test_odd_numbers_are_rejected_by_name(key: str, value: object) -> None:
    with pytest.raises(fm.InputError, match=rf"events\.turn\.{key}"):
        fm.Event("turn", joint="hinge", **{key: value})
