"""Report, summary and tables of a solution."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runs import driven_rod, hanging, parallelogram
from test_storage import flexible_pendulum

import flexmbs as fm
from flexmbs.files.output import slug, spreadsheet_cell
from flexmbs.flexible_body.components import Surface
from flexmbs.page.curve_panels import MOST_POINTS, limits, panel, span_of, thinned, ticks
from flexmbs.page.html import number, powers
from flexmbs.player.plots import plots
from flexmbs.report.comparison import superimposed
from flexmbs.report.curves import efforts, reactions
from flexmbs.report.page import page
from flexmbs.report.plots import drawn, panel_svg
from flexmbs.report.tables import write_tables
from flexmbs.results.summary import checks, summary
from flexmbs.system.check import FAIL, PASS, WARN

NASTY = '<script>alert("1")<b>'


def named_nastily() -> fm.Model:
    model = fm.Model("$a_1$ & <img src=x onerror=alert(1)>", gravity=(0, 0, -9.81))
    body = model.add(
        fm.RigidBody(
            NASTY, mass=1.0, inertia=(1, 1, 1), com=(0.5, 0, 0), frames={"=cmd()": (1, 0, 0)}
        )
    )
    model.add(fm.Revolute('_hinge, "$x^2$"', model.ground, body, axis="y"))
    return model


def test_efforts_are_those_of_coordinates_on_which_something_acts() -> None:
    """Nothing acts along a free coordinate, and its curve is not drawn."""
    model = fm.Model("double", gravity=(0, 0, -9.81))
    rod, bob = (
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1, 1, 1), com=(1, 0, 0)))
        for name in ("rod", "bob")
    )
    model.add(fm.Revolute("hinge", model.ground, rod, axis="y"))
    model.add(fm.Revolute("free", rod, bob, axis="y", q0=0.5))
    model.add(fm.JointSpring("spring", "hinge", k=10.0))
    solution = fm.simulate(model, t_end=0.5, integrator=fm.MoreauJean(step=1e-3))
    assert np.abs(solution.joint("free").effort).max() < 1e-9
    assert [[curve.name for curve in each.curves] for each in efforts(solution)] == [["hinge.0"]]
    assert efforts(fm.simulate(hanging(), t_end=0.02, step=0.01)) == []


@pytest.mark.parametrize("driven", [False, True])
def test_pages_of_models_without_any_coordinate(driven: bool, tmp_path: Path) -> None:
    """All bodies are held, or all motion is given as rheonomic coordinates: no unknown and no
    equation is left.
    """
    model = fm.Model("table", gravity=(0, 0, -9.81))
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    model.add(
        fm.Revolute("turn", model.ground, body, axis="y")
        if driven
        else fm.Fixed("turn", model.ground, body)
    )
    if driven:
        model.add(fm.Drive("motor", "turn", fm.Sine(1.0, frequency=1.0)))
    solution = fm.simulate(
        model, t_end=0.1, step=0.01, coordinates="rheonomic" if driven else "joint"
    )
    assert solution.s.shape[1] == 0
    solution.report(tmp_path / "out.html")
    assert "0 velocities in" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_page_is_one_file_and_escapes_names(tmp_path: Path) -> None:
    solution = fm.simulate(named_nastily(), t_end=0.05, step=0.01)
    solution.report(tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    data = [f'<script type="application/json" id="flexmbs-{name}">' for name in ("scene", "plots")]
    assert re.findall("<script[^>]*>", page) == [*data, '<script type="module">']
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(&#34;1&#34;)&lt;b&gt;" in page
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert sources
    assert all(source.startswith(("data:image/", "#")) for source in sources)
    for anchor in re.findall('<a href="#([^"]*)">', page):
        assert f'id="{anchor}"' in page
    places = re.findall(r'data-plot="(\w+)"><div class="panel">', page)
    assert places == ["joints", "frames", "reactions", "energy"]
    assert not re.findall(
        r'\sstyle="|\son\w+="', re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    )
    for title in (
        "Checks",
        "Model",
        "Joints",
        "Reactions",
        "Energy balance",
        "Solver",
        "Provenance",
    ):
        assert f"<h2>{title}</h2>" in page
    numbers = json.loads((tmp_path / "out.summary.json").read_text())
    assert numbers["verdict"] == PASS
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.html", "out.summary.json"]


def test_modes_are_listed_and_drawn(tmp_path: Path) -> None:
    model = flexible_pendulum()
    data = model.bodies["beam"].load()  # type: ignore[attr-defined]
    nodes = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
    phi = np.zeros((4, 3, 1))
    phi[1, 2, 0] = 1.5
    surface = Surface(
        nodes, phi, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), np.arange(4)
    )
    model = fm.Model("beam")
    beam = model.add(fm.FlexibleBody("beam", data=replace(data, surface=surface)))
    model.add(fm.Revolute("hinge", model.ground, beam["hub"], axis="y"))
    fm.simulate(model, t_end=0.02, step=0.002).report(tmp_path / "beam.html")
    page = (tmp_path / "beam.html").read_text(encoding="utf-8")
    frequency = np.sqrt(4000 / 0.4) / (2 * np.pi)
    assert f"Mode 1 · {frequency:.4g} Hz" in page
    assert "<h2>Modes</h2>" in page
    assert "<h2>Elastic deflection</h2>" in page


def test_verdicts() -> None:
    good = fm.simulate(driven_rod(2.0), t_end=0.05, step=0.01)
    assert summary(good)["verdict"] == PASS
    loop = fm.simulate(parallelogram(), t_end=0.02, step=0.005)
    found = {check.title: check for check in checks(loop)}
    assert found["Redundancy"].status == WARN
    text = page(loop, summary(loop))
    assert "3 redundant constraint rows, 1 rigid-body degrees of freedom" in text
    assert "<p>planar motion: f = 3·3 − 8 = 1 (3n − b)<br>" in text
    stopped = replace(good, run=replace(good.run, outcome="the step became too small"))
    assert summary(stopped)["verdict"] == FAIL
    lossy = replace(good, trajectory=good.trajectory._replace(work=good.trajectory.work * 0.5))
    assert {check.title: check.status for check in checks(lossy)}["Energy balance"] == FAIL
    loose = replace(good, trajectory=good.trajectory._replace(drift=good.trajectory.drift + 1e-5))
    assert {check.title: check.status for check in checks(loose)}["Position drift"] == WARN


def test_large_deflection_is_reported_with_its_time() -> None:
    solution = fm.simulate(flexible_pendulum(), t_end=0.05, step=0.005)
    late = solution.trajectory.q.copy()
    late[-1, 1] = 0.2  # 0.3 m at the tip of a beam of 1 m
    bent = replace(solution, trajectory=solution.trajectory._replace(q=late))
    found = {check.title: check for check in checks(bent)}["Deflection of beam"]
    assert found.status == WARN
    assert "beyond the linear range at t = 0.05 s" in found.found
    assert {check.title: check for check in checks(solution)}["Deflection of beam"].status == PASS


def test_tables_hold_every_digit_and_no_formula(tmp_path: Path) -> None:
    model = named_nastily()
    solution = fm.simulate(model, t_end=0.05, step=0.01)
    written = {path.name for path in write_tables(solution, tmp_path)}
    assert written == {"bodies.csv", "frames.csv", "joints.csv", "energy.csv"}
    rows = list(csv.reader(io.StringIO((tmp_path / "frames.csv").read_text(), newline="")))
    assert rows[0][1] == f"{NASTY}/=cmd() position x [m]"
    values = np.array(rows[1:], float)
    np.testing.assert_array_equal(values[:, 0], solution.t)
    np.testing.assert_array_equal(values[:, 1:4], solution.frame(f"{NASTY}/=cmd()").position)


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@x", "\tx"])
def test_cells_that_start_a_formula_are_quoted(name: str) -> None:
    assert spreadsheet_cell(name) == "'" + name
    assert spreadsheet_cell("elbow") == "elbow"


SLUGS = {"../x": "x", "a b/c": "a-b-c", "<script>": "script", "": "unnamed", "..": "unnamed"}


@pytest.mark.parametrize(("name", "safe"), SLUGS.items())
def test_slugs_are_never_paths(name: str, safe: str) -> None:
    assert slug(name) == safe


def test_thinned_curves_keep_their_peaks() -> None:
    t = np.linspace(0.0, 1.0, 100_000)
    y = np.sin(40 * t)
    y[54_321] = 7.0
    few_t, few = thinned(t, y)
    assert len(few) <= MOST_POINTS + 2
    assert few.max() == 7.0
    assert (few_t[0], few_t[-1]) == (0.0, 1.0)
    assert np.all(np.diff(few_t) > 0)


def test_axes_end_before_short_peaks() -> None:
    sine = np.sin(np.arange(1000) / 50)
    np.testing.assert_allclose(limits([sine]), [-1.12, 1.12], atol=1e-3)
    peaked = np.where(np.arange(1000) == 500, 4000.0, sine)
    low, high = limits([peaked])
    assert low < -0.99
    assert 1.0 < high < 3.0
    pulse = np.where(np.abs(np.arange(1000) - 500) < 20, 4000.0, sine)  # long enough to be seen
    assert limits([pulse])[1] > 4000.0
    np.testing.assert_allclose(limits([np.full(3, 3.0)]), [1.8, 4.2])
    assert limits([np.array([0.0, np.nan])]) == (-1.0, 1.0)
    assert limits([]) == (0.0, 1.0)
    np.testing.assert_allclose(ticks(-0.13, 0.27, 4), [-0.1, 0.0, 0.1, 0.2])


def test_peaks_that_leave_the_axis_are_marked() -> None:
    t = np.linspace(0.0, 1.0, 1000)
    y = np.sin(20 * t)
    y[[300, 301, 700]] = 40.0, 90.0, -50.0
    figure = drawn([panel("Force", "N", t, {"spiked": y, "calm": 0.5 * np.sin(20 * t)})])
    calm = drawn([panel("Force", "N", t, {"calm": np.sin(20 * t)})])
    assert figure is not None
    assert calm is not None
    marked = {
        line.get_marker(): line.get_xdata()
        for line in figure.axes[0].lines
        if line.get_marker() in ("^", "v")
    }
    np.testing.assert_array_equal(marked["^"], t[[300, 301]])
    np.testing.assert_array_equal(marked["v"], t[[700]])
    assert figure.axes[0].get_title("right") == "up to 90"
    assert {line.get_marker() for line in calm.axes[0].lines} == {"None"}
    assert calm.axes[0].get_title("right") == ""


def test_reactions_at_round_off_are_zero_and_said_so() -> None:
    """The moment in the hinge of a plane pendulum is zero, what the steps leave of it is not a
    signal; forces keep every digit.
    """
    solution = fm.simulate(hanging(), t_end=0.5, step=1e-3)
    left = float(np.abs(solution.joint("hinge").torque).max())
    assert 0.0 <= left < 1e-5
    force, moment = reactions(solution)
    assert [curve.name for curve in force.curves] == ["hinge x", "hinge z"]
    for curve, axis in zip(force.curves, (0, 2), strict=True):
        np.testing.assert_array_equal(curve.y, solution.joint("hinge").force[:, axis])
    assert (force.quiet, moment.quiet) == ((), ("hinge",))
    assert not moment.curves[0].y.any()
    text = page(solution, summary(solution))
    assert '"notes":["zero except for round-off: hinge"]' in text.replace(": [", ":[")
    row = re.search(r"<tr><td>hinge</td>.*?</tr>", text, re.DOTALL)
    assert row
    assert re.findall(r"<td[^>]*>0</td>", row[0])
    driven = reactions(fm.simulate(driven_rod(2.0), t_end=0.1, step=1e-3))
    assert not any(each.quiet for each in driven)  # its moment holds the rod
    both = superimposed(reactions(solution), reactions(solution))
    assert [each.quiet for each in both] == [(), ("hinge A", "hinge B")]


def test_time_axes_are_in_line_through_the_page() -> None:
    """Also of sections whose curves begin later, such as a step size."""
    t = np.linspace(0.0, 2.0, 21)
    early, late = panel("Speed", "m/s", t, {"a": t}), panel("Step", "s", t[8:], {"a": t[8:]})
    span = span_of([early, late])
    assert plots({"a": [early], "b": [late]})["span"] == list(span) == [0.0, 2.0]
    ticks_of = [
        re.findall(rb'id="xtick_.*? x="([\d.]+)"', panel_svg(each, span), re.DOTALL)
        for each in (early, late)
    ]
    assert ticks_of[0] == ticks_of[1]
    assert len(ticks_of[0]) > 4


def test_work_of_drives_is_told_of_drives_alone() -> None:
    """A controller is a force, whose work is that of forces."""
    driven = fm.simulate(driven_rod(2.0), t_end=0.02, step=0.01)
    assert "work_of_drives" in summary(driven)["energy_at_end"]
    free = fm.simulate(hanging(), t_end=0.02, step=0.01)
    assert list(summary(free)["energy_at_end"])[-2:] == ["work_of_forces", "dissipated"]


SENTENCES = {
    "about 2.3e-05 of it, -1.5E+3": "about 2.3·10⁻⁵ of it, -1.5E+3",
    "2.30e-04, -1.5e+03, 4.0e+06 N": "0.000230, -1500, 4.0·10⁶ N",
    "2e-05 m at node1e-5 in file_2e5.h5": "2·10⁻⁵ m at node1e-5 in file_2e5.h5",
    "1.0e+00 N": "1.0 N",
}


@pytest.mark.parametrize(("text", "told"), SENTENCES.items())
def test_sentences_have_the_numbers_of_the_page(text: str, told: str) -> None:
    assert powers(text) == told


NUMBERS = {
    0.0: "0",
    5e-4: "0.0005",
    -0.5: "−0.5",
    -2.5e-9: "−2.50·10⁻⁹",
    12.5: "12.5",
    123456.0: "123456",
    3.2e-7: "3.20·10⁻⁷",
    7e9: "7.00·10⁹",
}


@pytest.mark.parametrize(("value", "text"), NUMBERS.items())
def test_numbers_as_people_read_them(value: float, text: str) -> None:
    assert number(value) == text


def test_minus_zero_is_zero() -> None:
    assert number(-0.0) == "0"


def test_the_page_of_a_controlled_robot_names_its_joints() -> None:
    """The controller acts on joint coordinates, which the table of forces lists."""
    arm = fm.Robot.from_dh(
        [fm.robots.Link(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0, 0.03, 0.03))]
    )
    hold = fm.robots.PDGravity(arm, fm.robots.Quintic([0.3], [0.3], 1.0), kp=100.0, kd=10.0)
    solution = fm.simulate(fm.robots.controlled(arm.started([0.3]), hold), t_end=0.05, step=0.01)
    text = page(solution, summary(solution))
    assert re.search(
        r"<td>control</td>\s*<td>robot-control</td>\s*<td>joint1</td>",
        text.replace("joint1.0", "joint1"),
    )


def test_unwritable_report_says_so(tmp_path: Path) -> None:
    solution = fm.simulate(hanging(), t_end=0.02, step=0.01)
    with pytest.raises(fm.MachineError, match="cannot be written") as error:
        solution.report(tmp_path / "missing" / "x.html")
    assert error.value.exit_code == 4
