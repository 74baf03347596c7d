"""Singular positions along a motion are reported with times and joints; reactions of redundant
joints are marked.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

ROD = {"mass": 1.0, "inertia": (1e-3, 1 / 12, 1 / 12), "com": (0.5, 0, 0)}


def cells(n, angle=np.pi / 2, speed=-1.0):
    """n parallelograms of rods of 1 kg and 1 m in a row, cranks at an angle from the horizontal."""
    model = fm.Model(
        "cells", gravity=(0, -9.81, 0), frames={f"p{i}": (i, 0, 0) for i in range(n + 1)}
    )
    cranks = [
        model.add(fm.RigidBody(f"crank{i}", frames={"tip": (1, 0, 0)}, **ROD)) for i in range(n + 1)
    ]
    for i, crank in enumerate(cranks):
        model.add(fm.Revolute(f"foot{i}", model.ground[f"p{i}"], crank, q0=angle, v0=speed))
    for i in range(n):
        coupler = model.add(fm.RigidBody(f"coupler{i}", frames={"tip": (1, 0, 0)}, **ROD))
        model.add(fm.Revolute(f"pin{i}", cranks[i]["tip"], coupler, q0=-angle, v0=-speed))
        model.add(fm.Revolute(f"knee{i}", coupler["tip"], cranks[i + 1]["tip"], q0=angle, v0=speed))
    return model


def parallelogram(n, t_end):
    """θ(t) from the horizontal and the times at which all links are aligned: ((n+1)/3 + n) θ'' =
    −((n+1)/2 + n) g cos θ.
    """

    def flat(t, y):
        return np.sin(y[0])

    rate = ((n + 1) / 2 + n) * 9.81 / ((n + 1) / 3 + n)
    found = solve_ivp(
        lambda t, y: [y[1], -rate * np.cos(y[0])],
        (0, t_end),
        [np.pi / 2, -1.0],
        rtol=1e-11,
        atol=1e-12,
        events=flat,
    )
    return found.y[0, -1], found.t_events[0]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_aligned_links_are_reported_with_times_and_joints(coordinates):
    """Crossing with the fixed steps of generalized-α: the motion follows the parallelogram, its
    flat positions are noted.
    """
    solution = fm.simulate(
        cells(2), t_end=1.5, step=1e-3, output_step=0.01, coordinates=coordinates
    )
    angle, times = parallelogram(2, 1.5)
    tip = solution.frame("crank0/tip").position[-1]
    np.testing.assert_allclose(tip[:2], [np.cos(angle), np.sin(angle)], atol=1e-4)
    assert np.ptp(solution.energy.total) < 0.1
    told = [note for note in solution.run.notes if note.startswith("passed a singular position")]
    assert len(told) == len(times) == 2
    for note, t in zip(told, times, strict=True):
        assert float(note.split("t = ")[1].split(" s")[0]) == pytest.approx(t, abs=1e-4)
        assert any(f"'{joint}{i}'" in note for joint in ("knee", "pin", "foot") for i in range(3))


def branch_check(solution):
    return next(check for check in solution.audit if check.title == "Singular positions")


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_branches_are_judged(monkeypatch):
    """PASS where inertia carries both runs across; WARN where no second run shows it, and where the
    links nearly stop in line: of θ'² = θ'₀² − 2 r with r = θ''/cos θ only (0.005 θ'₀)² is left.
    """
    options = {"t_end": 1.0, "step": 1e-3, "output_step": 0.01}
    check = branch_check(fm.simulate(cells(1), **options))
    assert (check.status, check.found) == ("PASS", "passed 1; a second run takes the same branch")
    with monkeypatch.context() as patched:
        patched.setattr("flexmbs.audit.second_run.MOST", 1e-9)
        unconfirmed = branch_check(fm.simulate(cells(1), **options))
    rate = 2.0 * 9.81 / (2.0 / 3.0 + 1.0)
    model = cells(1, speed=-np.sqrt(2.0 * rate / (1.0 - 0.005**2)))
    model.gravity = (0, 9.81, 0)
    slow = branch_check(fm.simulate(model, t_end=0.7, output_step=0.01, coordinates="absolute"))
    for check in (unconfirmed, slow):
        assert check.status == "WARN"
        assert "the motion may branch" in check.found


def test_a_regular_motion_has_no_such_note():
    solution = fm.simulate(cells(1), t_end=0.5, step=2e-3)
    assert "Singular positions" not in [check.title for check in solution.audit]
    assert not [note for note in solution.run.notes if "singular" in note]


def test_reactions_of_a_redundant_loop_are_marked():
    """The out-of-plane reactions of the loop of revolutes are not unique; those of a pendulum
    attached to it are.
    """
    model = cells(1, angle=1.0)
    bob = model.add(fm.RigidBody("bob", **ROD))
    model.add(fm.Revolute("hook", "crank0/tip", bob))
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    assert [name for name, _ in solution.run.redundant] == ["knee0"]
    assert sum(rows for _, rows in solution.run.redundant) == 3
    unique = {
        name: solution.joint(name).unique for name in ("foot0", "pin0", "knee0", "foot1", "hook")
    }
    assert unique == {"foot0": False, "pin0": False, "knee0": False, "foot1": False, "hook": True}


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("stabilization", ["projection", "baumgarte"])
def test_explicit_steps_straddle_the_aligned_position(stabilization, coordinates):
    """Error-controlled Dormand–Prince keeps to the branch of the parallelogram through both flat
    positions.
    """
    how = {
        "integrator": "dormand-prince",
        "stabilization": stabilization,
        "coordinates": coordinates,
    }
    solution = fm.simulate(cells(2), t_end=1.5, output_step=0.05, rtol=1e-8, atol=1e-10, **how)
    angle, _ = parallelogram(2, 1.5)
    tip = solution.frame("crank0/tip").position[-1]
    np.testing.assert_allclose(tip[:2], [np.cos(angle), np.sin(angle)], atol=1e-6)
    assert np.ptp(solution.energy.total) < 1e-4
    assert solution.statistics["steps"] + solution.statistics["rejected"] < 2000
