"""Optima against closed forms and grids; limits, bounds, history, what is not possible."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.studies.parameters.parameter_paths import changed

INERTIA, STIFFNESS = 5.4, 15.0
POSITION, SPEED = "rms joint hinge.0 position", "peak joint hinge.0 velocity"


def door(damping=6.0):
    model = fm.Model("door", gravity=(0, 0, 0))
    leaf = model.add(fm.RigidBody("leaf", mass=20.0, com=(0.45, 0, 0), inertia=(4.0, 5.3, 1.35)))
    hinge = model.add(fm.Revolute("hinge", model.ground, leaf, axis="z", q0=1.2))
    model.add(fm.JointSpring("closer", hinge, k=STIFFNESS, c=damping))
    return model


def test_least_square_of_an_oscillation():
    """∫₀^∞ x² dt of J ẍ + c ẋ + k x = 0 from rest is x₀² (J/2c + c/2k): smallest at c = √(J k),
    with x₀² √(J/k).
    """
    found = fm.optimize(
        door(),
        ["forces.closer.c"],
        lambda solution: float(solution.signal("joint hinge.0 position").rms ** 2),
        t_end=12.0,
        step=5e-3,
        bounds={"forces.closer.c": (1.0, 60.0)},
    )
    assert found.values[0] == pytest.approx(np.sqrt(INERTIA * STIFFNESS), rel=2e-3)
    assert found.results[0] * 12.0 == pytest.approx(1.2**2 * np.sqrt(INERTIA / STIFFNESS), rel=1e-3)
    assert found.feasible
    assert found.solution.verdict == "PASS"
    assert len(found.history) <= found.runs


@pytest.mark.parametrize("method", ["gradient", "global"])
def test_a_limit_is_active_where_a_grid_says_so(method):
    model, limit = door(), 1.0
    grid = np.linspace(2.0, 30.0, 57)
    run = {"t_end": 4.0, "step": 8e-3}
    found = fm.optimize(
        model,
        {"forces.closer.c": 20.0},
        POSITION,
        **run,
        bounds={"forces.closer.c": (2.0, 30.0)},
        limits={SPEED: (None, limit)},
        method=method,
        most=30,
    )
    rows = []
    for c in grid:
        solution = fm.simulate(changed(model, {"forces.closer.c": float(c)}), **run)
        rate = np.abs(solution.joint("hinge").velocity).max()
        rows.append(solution.signal("joint hinge.0 position").rms if rate <= limit else np.inf)
    best = grid[int(np.argmin(rows))]
    assert abs(found.values[0] - best) <= grid[1] - grid[0]
    assert found.results[1] <= limit * (1.0 + 1e-5)
    assert found.results[0] <= min(rows) * (1.0 + 1e-4)
    assert found.feasible


def test_an_optimum_at_a_bound_is_noted():
    found = fm.optimize(
        door, {"damping": 6.0}, SPEED, t_end=2.0, step=8e-3, bounds={"damping": (2.0, 9.0)}
    )
    assert found.values[0] == pytest.approx(9.0)
    assert found.notes == ("damping is at its bound 9",)
    pytest.importorskip("pandas")
    assert list(found.to_dataframe().columns) == ["damping", SPEED]


def test_a_start_without_slope_is_noted():
    """1 − q² is largest in the middle: a search that begins there stays."""
    model = fm.Model("rail", gravity=(0, 0, 0))
    cart = model.add(fm.RigidBody("cart", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    guide = model.add(fm.Prismatic("guide", model.ground, cart, axis="x"))
    model.add(fm.JointSpring("spring", guide, k=4.0))
    start, run = (
        {"joints.guide.q0": 0.0},
        {"t_end": 0.1, "step": 1e-2, "bounds": {"joints.guide.q0": (-1.0, 1.0)}},
    )
    found = fm.optimize(model, start, lambda solution: 1.0 - solution.q[-1, 0] ** 2, **run)
    assert "has no slope at the start, which may be no minimum" in found.notes[0]
    found = fm.optimize(
        model, {"joints.guide.q0": 0.1}, lambda solution: 1.0 - solution.q[-1, 0] ** 2, **run
    )
    assert found.values[0] == pytest.approx(1.0)


def test_limits_that_cannot_be_kept_are_a_warning():
    with pytest.warns(fm.ModelWarning, match="is not within its limits"):
        found = fm.optimize(
            door,
            {"damping": 6.0},
            POSITION,
            t_end=2.0,
            step=8e-3,
            bounds={"damping": (2.0, 9.0)},
            limits={SPEED: (None, 0.01)},
        )
    assert not found.feasible


def test_named_outputs():
    outputs = {"turned": lambda solution: solution.joint("hinge").position[-1, 0]}
    found = fm.optimize(
        door,
        {"damping": 6.0},
        POSITION,
        t_end=2.0,
        step=8e-3,
        bounds={"damping": (2.0, 40.0)},
        limits={"turned": (0.2, None)},
        outputs=outputs,
    )
    assert found.outputs == (POSITION, "turned")
    assert found.results[1] >= 0.2 - 1e-6


def weak(*, damping):
    """A door that has no more than this damping."""
    if damping > 15.0:
        raise fm.InputError("damping: must be at most 15")
    return door(damping)


def test_runs_that_are_not_possible_are_avoided():
    """A search meets values for which there is no model."""
    found = fm.optimize(
        weak,
        {"damping": 14.0},
        SPEED,
        t_end=2.0,
        step=8e-3,
        method="global",
        bounds={"damping": (2.0, 30.0)},
        most=20,
    )
    assert 14.0 < found.values[0] <= 15.0
    assert np.isnan(found.history[:, 1]).any()


@pytest.mark.parametrize("limit", [(9.0, None), (None, -9.0), (9.0, 9.5)])
def test_a_run_that_is_not_possible_keeps_no_limit(limit):
    """On whichever side the limit is that no run keeps."""
    with pytest.warns(fm.ModelWarning, match="is not within its limits"):
        found = fm.optimize(
            weak,
            {"damping": 14.0},
            SPEED,
            t_end=2.0,
            step=8e-3,
            method="global",
            bounds={"damping": (2.0, 30.0)},
            most=3,
            limits={POSITION: limit},
        )
    assert np.isnan(found.history[:, 1]).any()
    assert found.values[0] <= 15.0
    assert not found.feasible


def test_a_descent_to_the_edge_of_possible_runs_is_noted():
    found = fm.optimize(weak, {"damping": 14.0}, SPEED, t_end=2.0, step=8e-3)
    assert found.values[0] == pytest.approx(15.0, abs=1e-5)
    assert found.notes == (
        "runs next to it are not possible: it may be the limit of feasible values, not a minimum",
    )


def test_a_descent_into_runs_that_are_not_possible_names_the_mend():
    def soft(*, k):
        if k < 50.0:
            raise fm.InputError("k: must be at least 50")
        model = fm.Model("oscillator", gravity=(0, 0, 0))
        block = model.add(fm.PointMass("block", mass=1.0))
        rail = model.add(fm.Prismatic("rail", model.ground, block, q0=0.1))
        model.add(fm.JointSpring("spring", rail, k=k))
        return model

    with pytest.raises(
        fm.SolverError,
        match=r"optimize: k = .* at least 50; set bounds that keep the search from there, or",
    ):
        fm.optimize(
            soft, {"k": 100.0}, lambda run: -run.joint("rail").position[-1, 0], t_end=0.1, step=1e-3
        )


WRONG = {
    "method": (dict(method="magic"), "method: must be 'gradient' or 'global', not 'magic'"),
    "no bounds": (
        dict(method="global", bounds=None),
        "bounds.damping: method 'global' needs both bounds",
    ),
    "output": (dict(minimize="least joint hinge.0 position"), "'least' begins no output"),
    "limit": (dict(limits={"high joint hinge.0 position": (0, 1)}), "'high' begins no output"),
    "limits": (dict(limits=[1.0]), "limits: [1.0] is not a dict of limits"),
    "unused": (
        dict(outputs={"x": lambda solution: 1.0}),
        "outputs: 'x' is neither minimized nor limited",
    ),
    "outputs": (dict(outputs=3), "outputs: 3 is not a dict of outputs"),
    "most": (dict(most=0), "most: must be a whole number"),
    "start": (dict(bounds={"damping": (7.0, 9.0)}), "the start 6 is not within 7 … 9"),
    "text as bound": (
        dict(bounds={"damping": ("a", 9.0)}),
        "bounds.damping: must be a number, not 'a'",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_named_in_one_line(what):
    given, message = WRONG[what]
    arguments = {
        "minimize": POSITION,
        "t_end": 1.0,
        "step": 8e-3,
        "bounds": {"damping": (2.0, 9.0)},
    } | given
    with pytest.raises(fm.InputError) as error:
        fm.optimize(door, {"damping": 6.0}, arguments.pop("minimize"), **arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_two_parameters_and_a_limit():
    """a + 2b is least, where a b² ≥ 8, at a = b = 2: 1 = λ b², 2 = 2 λ a b."""
    model = fm.Model("two", run=fm.Run(t_end=0.01, step=0.01))
    for name in "ab":
        model.add(fm.PointMass(name, mass=1.0))

    def masses(solution):
        return np.array([solution.model.bodies[name].mass for name in "ab"])

    outputs = {
        "sum": lambda run: masses(run)[0] + 2.0 * masses(run)[1],
        "product": lambda run: masses(run)[0] * masses(run)[1] ** 2,
    }
    start = {"bodies.a.mass": 4.0, "bodies.b.mass": 3.0}
    found = fm.optimize(model, start, "sum", outputs=outputs, limits={"product": (8.0, None)})
    np.testing.assert_allclose(found.values, [2.0, 2.0], rtol=1e-5)
    assert found.feasible
