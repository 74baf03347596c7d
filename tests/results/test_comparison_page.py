"""Two runs on one page: differences against closed forms, models that differ, names escaped."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runs import LENGTH, driven_rod, hanging, parallelogram, rod

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.report.comparison import comparison_page, differences, near_impacts

NASTY = "<img src=x onerror=alert(1)>"


def parts(text: str) -> dict[str, list[dict]]:
    return json.loads(re.findall('id="flexmbs-plots">(.*?)</script>', text)[0])["figures"]  # type: ignore[no-any-return]


def test_differences_are_those_of_closed_forms() -> None:
    """Rods driven at 2 and at 2.5 rad/s: angles differ by 0.5
    t, angular velocities by 0.5 rad/s.
    """
    a = fm.simulate(driven_rod(2.0), t_end=0.4, step=0.01)
    b = fm.simulate(driven_rod(2.5), t_end=0.3, step=0.004)
    found, notes = differences(a, b)
    named = {each.name: each for each in found}
    assert notes == ["Differences at 31 times from 0 to 0.3 s, interpolated between outputs."]
    angle, rate = named["Joint angles, hinge.0"], named["Joint angular velocities, hinge.0"]
    assert (angle.unit, rate.unit) == ("rad", "rad/s")
    np.testing.assert_allclose(
        [angle.largest, angle.time, rate.largest, rate.mean], [0.15, 0.3, 0.5, 0.5], rtol=1e-6
    )
    assert rate.relative == pytest.approx(0.2)
    assert rate.a == pytest.approx(2.0)
    speed = named["Speed, rod/tip"]
    assert speed.largest == pytest.approx(0.5 * LENGTH, rel=1e-6)
    assert not any(each.name.startswith("Error") for each in found)
    assert [each.relative for each in found] == sorted(
        (each.relative for each in found), reverse=True
    )
    same, notes = differences(a, a)
    assert notes == []
    assert max(each.largest for each in same) == 0.0


def double_pendulum(angle: float) -> fm.Model:
    model = fm.Model("double pendulum", gravity=(0.0, 0.0, -9.81))
    upper, lower = model.add(rod("upper")), model.add(rod("lower"))
    model.add(fm.Revolute("shoulder", model.ground, upper["hinge"], axis="y", q0=angle))
    model.add(fm.Revolute("elbow", upper["tip"], lower["hinge"], axis="y", q0=0.3))
    return model


def test_moments_that_are_errors_beside_the_forces_say_little() -> None:
    """In the plane hinges carry no moment; what is left of the run's error, differs as much as it
    is large.
    """
    found, _ = differences(
        *(fm.simulate(double_pendulum(angle), t_end=1.0) for angle in (0.2, 0.5))
    )
    moments = [each for each in found if each.name.startswith("Joint moment")]
    assert max(each.relative for each in moments) < 0.1
    assert max(each.relative for each in found if each.name.startswith("Joint force")) > 0.1


def test_a_page_of_two_runs() -> None:
    a = fm.simulate(hanging(), t_end=0.1, step=0.01)
    b = fm.simulate(hanging(damping=0.3), t_end=0.1, step=0.01)
    failed = replace(b, run=replace(b.run, outcome="the step became too small"))
    text = comparison_page(a, failed, (f"{NASTY}.h5", "b.h5"))
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;.h5, solid lines" in text
    assert text.index('class="badge PASS"') < text.index('class="badge FAIL"')
    joints = parts(text)["joints"][0]
    assert [(curve["name"], curve["dashed"], curve["colour"]) for curve in joints["curves"]] == [
        ("hinge.0 A", False, 0), ("hinge.0 B", True, 0),
    ]  # fmt: skip
    assert "+c = 0.3" in text  # what differs in the model files
    data = [
        '<script type="application/json" id="flexmbs-scene">',
        '<script type="application/json" id="flexmbs-plots">',
    ]
    assert re.findall("<script[^>]*>", text) == [*data, '<script type="module">']
    assert all(
        source.startswith(("#", "data:image/"))
        for source in re.findall(r'(?:src|href)="([^"]*)"', text)
    )
    for anchor in re.findall('<a href="#([^"]*)">', text):
        assert f'id="{anchor}"' in text


def test_different_models_are_named_and_nothing_is_made_up() -> None:
    a = fm.simulate(hanging(), t_end=0.05, step=0.01)
    b = fm.simulate(parallelogram(), t_end=0.05, step=0.01)
    text = comparison_page(a, b, ("a.h5", "b.h5"))
    for line in (
        "The models have different names: pendulum and parallelogram.", "Bodies of A only: rod.",
        "Bodies of B only: left, right, coupler.", "Joints of A only: hinge.",
    ):  # fmt: skip
        assert line in text
    names = {
        curve["name"]
        for panels in parts(text).values()
        for panel in panels
        for curve in panel["curves"]
    }
    assert {"hinge.0 A", "A.0 B", "kinetic A", "kinetic B"} <= names
    found, _ = differences(a, b)
    assert {each.section for each in found} == {"Energy balance"}
    late = replace(b, trajectory=b.trajectory._replace(t=b.t + 1.0))
    assert differences(a, late)[1] == ["the runs have no time in common: 0 … 0.05 s and 1 … 1.05 s"]


def test_times_beside_impacts_are_left_out() -> None:
    model = hanging(angle=1.0)
    model.add(fm.JointLimit("stop", "hinge", lower=1.2, restitution=0.5))
    coarse, fine = (
        fm.simulate(model, t_end=0.8, step=step, integrator="moreau-jean") for step in (1e-3, 5e-4)
    )
    (impact, *_) = coarse.run.impacts
    beside = near_impacts(coarse, coarse.t)
    assert beside[np.abs(coarse.t - impact.t).argmin()]
    assert beside.sum() < 6 * len(coarse.run.impacts)
    found, notes = differences(coarse, fine)
    assert notes[0].endswith("interpolated between outputs, excluding times next to impacts.")
    named = {each.name: each for each in found}
    assert max(named[f"Joint force, hinge {axis}"].largest for axis in "xz") < 2.0
    assert named["Joint angles, hinge.0"].largest < 5e-3


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "a.h5", tmp_path / "b.h5"]
    for file, damping in zip(files, (0.0, 0.2)):
        fm.simulate(hanging(damping=damping), t_end=0.05, step=0.01).save(file)
    for given, code in ((files, 0), ([*files, files[0]], 2)):
        with pytest.raises(SystemExit) as end:
            main(["report", *map(str, given)])
        assert (end.value.code or 0) == code
    assert "takes one solution, or two to compare, not 3" in capsys.readouterr().err
    assert "Comparison of two runs" in (tmp_path / "a-b.html").read_text()
