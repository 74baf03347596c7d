"""Rows 22 to 27 and 34: inconsistent models and initial states."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from mechanisms import HALF, bar, call, four_bar, pendulum, pulled, saved, slider_crank

import flexmbs as fm

Captured = pytest.CaptureFixture[str]


def test_22_bodies_without_a_joint_to_the_ground_are_named(
    tmp_path: Path, capsys: Captured
) -> None:
    model = pendulum()
    model.add(bar("stone", 0.1))
    path = saved(model, tmp_path)
    assert call("run", path) == 0
    assert (
        "note: bodies: not connected to the ground by joints: stone; they move freely"
        in capsys.readouterr().err
    )


def test_23_dependent_constraints_are_named_and_their_reactions_marked(
    tmp_path: Path, capsys: Captured
) -> None:
    path = saved(slider_crank(0.5), tmp_path)
    assert call("check", path) == 0
    assert "warning: joint 'wrist': 3 constraints depend on the others" in capsys.readouterr().out
    assert call("run", path) == 0
    assert "note: joint 'wrist': 3 constraints depend on the others" in capsys.readouterr().err
    assert not fm.Solution.load(path.with_suffix(".h5")).joint("wrist").unique


@pytest.mark.parametrize("command", ["check", "run"])
def test_24_25_loop_that_cannot_close_reports_the_gap(
    command: str, tmp_path: Path, capsys: Captured
) -> None:
    """The bars reach 1.7 m; the pivots are 2.5 m apart, so the smallest gap is 0.8 m."""
    path = saved(four_bar(2.5), tmp_path)
    assert call(command, path) == 2
    told = "".join(capsys.readouterr())
    line = next(line for line in told.splitlines() if line.startswith("error: "))
    assert line.startswith("error: joints.knee: the loop does not close, residual gap ")
    assert line.endswith(" (m or rad); correct the lengths or start closer with q0")
    # the largest component of the gap
    assert float(line.split("gap ")[1].split()[0]) > 0.8 / math.sqrt(3)
    assert not path.with_suffix(".h5").exists()


def test_25_drive_against_a_loop_is_rejected() -> None:
    model = slider_crank(0.5)
    model.add(fm.Drive("puller", "guide", 3 * HALF))
    with pytest.raises(
        fm.InputError,
        match=r"joints\.wrist: the loop does not close|drives\.puller: its motion contradicts",
    ):
        fm.simulate(model, t_end=0.1)


def test_26_inconsistent_start_is_projected_and_reported() -> None:
    """Only the crank has a declared velocity; rod and slider follow: pin by −2 of the crank's rate
    (isosceles triangle).
    """
    model = slider_crank(0.5)
    object.__setattr__(model.joints["main"], "v0", (1.0,))
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    moved = {line.split(" by ")[0] for line in solution.run.moved}
    assert moved == {"main", "pin", "guide"}
    assert all(f"assembly moved {line}" in solution.run.notes for line in solution.run.moved)
    crank, rod = (solution.joint(name).velocity[0, 0] for name in ("main", "pin"))
    assert rod == pytest.approx(-2 * crank, rel=1e-9)
    assert abs(crank) > 0.1


def test_27_singular_start_is_reported_with_its_joint(tmp_path: Path, capsys: Captured) -> None:
    path = saved(slider_crank(math.pi / 2), tmp_path)
    assert call("check", path) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "singular" in line)
    assert line.startswith(
        "warning: model: the initial position is singular: rows of 'wrist' are dependent here only"
    )
    assert line.endswith("start slightly away from it with q0")
    regular = fm.assemble(slider_crank(0.5))
    assert regular.singular is None
    assert regular.redundant == [("wrist", 3)]
    # of the mechanism, not of the position
    assert fm.assemble(slider_crank(math.pi / 2)).redundant == [("wrist", 3)]


@pytest.mark.parametrize("angle", [0.0, math.pi])
def test_27_dead_centre_of_the_crank_is_no_singular_position_of_the_loop(angle: float) -> None:
    assert fm.assemble(slider_crank(angle)).singular is None


def test_27_dead_centre_of_a_driven_slider_is_singular() -> None:
    model = slider_crank(0.0)
    model.add(fm.Drive("puller", "guide", fm.Ramp(2 * HALF, -0.5)))
    assert fm.assemble(model).singular is not None
    assert fm.assemble(pulled()[0]).singular is None


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_27_run_from_a_singular_position_stops_cleanly(coordinates: str) -> None:
    """The rod's declared rate is that of neither branch: −2 of the crank's with a moving slider, 0
    with one at rest.
    """
    model = slider_crank(math.pi / 2, v0=1.0)
    object.__setattr__(model.joints["pin"], "v0", (-1.0,))
    with pytest.raises(
        fm.SolverError, match="near a singular position, where rows of 'wrist'"
    ) as stopped:
        fm.simulate(model, t_end=0.1, step=0.01, coordinates=coordinates)
    solution = stopped.value.solution
    assert isinstance(solution, fm.Solution)
    assert any("the initial position is singular" in note for note in solution.run.notes)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_27_singular_start_is_the_reason_wherever_its_run_stops(coordinates: str) -> None:
    """Round-off decides how many steps succeed and on which branch; a run that is finished does not
    pass.
    """
    rng, stopped = np.random.default_rng(0), 0
    for _ in range(25):
        v0, step = 10.0 ** rng.uniform(-1.0, 1.0), 10.0 ** rng.uniform(-3.0, -2.0)
        model = slider_crank(math.pi / 2 + 1e-15 * rng.uniform(-1.0, 1.0), v0=v0)
        object.__setattr__(model.joints["pin"], "v0", (v0 * rng.uniform(-1.9, -0.1),))
        try:
            with warnings.catch_warnings(action="ignore", category=fm.AuditWarning):
                solution = fm.simulate(model, t_end=10 * step, step=step, coordinates=coordinates)
        except fm.SolverError as error:
            stopped += 1
            solution = error.solution
            told = "near a singular position, where rows of 'wrist'" in str(error)
        else:
            told = solution.verdict != "PASS"
        assert told
        assert any("the initial position is singular" in note for note in solution.run.notes)
    assert stopped


@pytest.mark.parametrize(("frequency", "warned"), [(15.0, False), (17.0, True)])
def test_34_load_above_the_modes_is_reported(frequency: float, warned: bool) -> None:
    """One mode of 100 rad/s, 15.9 Hz."""
    nf, zero = 1, np.zeros((3, 1))
    SS = np.zeros((3, 3, nf, nf))
    SS[2, 2] = 0.4
    tip = fm.FlexibleFrame.at_node((1.0, 0, 0), [[0.0], [0.0], [1.5]])
    data = fm.FlexibleBodyData.from_integrals(
        "beam",
        mass=1.0,
        first_moment=(0.5, 0, 0),
        second_moment=np.diag([1 / 3, 1e-4, 1e-4]),
        S_bar=[[0.0], [0.0], [0.3]],
        xS=np.zeros((3, 3, nf)),
        SS=SS,
        K_ff=[[4000.0]],
        D_ff=[[2.0]],
        frames={"hub": fm.FlexibleFrame.at_node((0.0, 0, 0), zero), "tip": tip},
    )
    model = fm.Model("beam")
    beam = model.add(fm.FlexibleBody("beam", data=data))
    model.add(fm.Revolute("hinge", model.ground, beam["hub"], axis="y"))
    model.add(fm.FrameForce("shaker", beam["tip"], force=(0, 0, fm.Sine(1.0, frequency))))
    found = [line for line in model.check().warnings if line.startswith("forces.shaker: ")]
    assert (
        found
        == [
            "forces.shaker: its 17 Hz exceed the highest mode of body 'beam', 15.92 Hz; "
            "reduce that body with more modes"
        ]
        * warned
    )
