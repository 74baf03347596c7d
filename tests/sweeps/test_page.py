"""The page of a sweep: response surfaces are exact for polynomials, nothing of a name is markup,
the axes answer a mouse.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.report.response_surface import fitted
from flexmbs.report.sweep_charts import LETTER, column, scatter
from flexmbs.studies.sweeps.batch import Record
from flexmbs.studies.sweeps.table import result_of

HERE = pathlib.Path(__file__).parent
NODE = shutil.which("node")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
MODULES = pathlib.Path(
    os.environ.get("FLEXMBS_NODE_MODULES", HERE.parent / "player" / "node_modules")
)
NASTY = "<script>alert(1)</script>"


def result() -> fm.SweepResult:
    """64 cases of which the last one failed."""
    axes = {
        "joints.a.q0": fm.Range(0.0, 1.0),
        "bodies.b.mass": fm.Range(0.1, 10.0, log=True),
        NASTY: ("x", "<b>y"),
    }
    records = []
    for k, (q0, mass, text) in enumerate(fm.Sobol(count=64).points(axes)):
        outputs = (
            {"sag": (q0 * np.log(mass), "m"), f"{NASTY} out": (1.0 + q0, "")} if k < 63 else {}
        )
        records.append(
            Record(
                f"{k:032x}",
                dict(zip(axes, (q0, mass, text))),
                outputs,
                "PASS" if k < 63 else "",
                failure="" if k < 63 else f"RuntimeError: {NASTY}",
            )
        )
    return result_of(records, None)


def test_a_polynomial_is_found_exactly() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform((1.0, -2.0, 5.0), (2.0, 2.0, 9.0), (40, 3))
    y = 3.0 + 2.0 * x[:, 0] - x[:, 1] * x[:, 2] + 0.5 * x[:, 1] ** 2
    surface = fitted(x, y)
    assert surface is not None
    np.testing.assert_allclose(surface(x), y, rtol=1e-12)
    assert surface.q2 > 1.0 - 1e-12
    assert np.argmax(surface.influence()) == 1


def test_q2_is_that_of_fits_without_each_case() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(-1.0, 1.0, (20, 2))
    y = np.sin(3.0 * x[:, 0]) + x[:, 1] + 0.1 * rng.standard_normal(20)
    whole = fitted(x, y)
    assert whole is not None
    A = np.stack([np.prod(x[:, list(term)], axis=1) for term in whole.terms], axis=1)
    errors = [
        y[k] - A[k] @ np.linalg.lstsq(np.delete(A, k, 0), np.delete(y, k), rcond=None)[0]
        for k in range(20)
    ]
    assert whole.q2 == pytest.approx(
        1.0 - np.square(errors).sum() / np.square(y - y.mean()).sum(), abs=1e-10
    )


def test_too_few_cases_have_no_surface() -> None:
    x = np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
    assert fitted(x, x[:, 0]) is None
    assert fitted(np.ones((9, 2)), np.arange(9.0)) is None
    few = fitted(
        np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.2)]),
        np.array([0.0, 1.0, 2.0, 3.0, 0.9]),
    )
    assert few is not None
    assert len(few.terms) == 3  # linear


def test_axes_are_logarithmic_for_equal_ratios() -> None:
    assert column("m", "", np.geomspace(0.1, 100.0, 7)).log
    assert not column("m", "", np.linspace(0.1, 100.0, 7)).log
    assert not column("m", "", np.array([-1.0, 0.0, 100.0])).log


def test_nothing_of_a_name_is_markup(tmp_path: pathlib.Path) -> None:
    result().report(tmp_path / "page.html", name=NASTY)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "alert(1)" in text
    assert len(re.findall(r"<script", text)) == 2  # the data and the program's own
    assert "<b>y" not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src &#39;none&#39;") or policy[1].startswith(
        "default-src 'none'"
    )
    assert not re.search(r'\sstyle="|\son\w+="|https?://(?!www.w3.org)', text)
    cases = json.loads(re.search(r'id="flexmbs-cases">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    assert len(cases) == 64
    assert cases[63].endswith(", failed")


@pytest.mark.skipif(
    not (NODE and CHROMIUM and (MODULES / "puppeteer-core").exists()),
    reason="node, Chromium or puppeteer-core is missing",
)
def test_the_axes_answer_a_mouse(tmp_path: pathlib.Path) -> None:
    found_result = result()
    found_result.report(tmp_path / "page.html")
    command = [
        str(NODE),
        str(HERE / "sweep.mjs"),
        str(CHROMIUM),
        str(tmp_path / "page.html"),
        str(MODULES.parent),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert (seen["messages"], seen["requests"]) == ([], [])
    assert (seen["start"]["lines"], seen["start"]["off"], seen["start"]["maps"]) == (63, 0, 2)
    q0 = found_result.parameters["joints.a.q0"][:63]
    low, high = (
        found_result.parameters["joints.a.q0"].min(),
        found_result.parameters["joints.a.q0"].max(),
    )
    kept = int((q0 <= high - 0.55 * (high - low)).sum())
    assert abs(63 - seen["kept"]["off"] - kept) <= 1
    assert seen["kept"]["told"] == f"{63 - seen['kept']['off']} of 63 cases in the ranges"
    assert seen["kept"]["points"] > 0
    assert (seen["freed"]["off"], seen["freed"]["told"]) == (0, "")
    assert seen["hovered"]["told"].startswith("case 0: joints.a.q0")
    assert seen["hovered"]["on"] > 1
    assert seen["phone"]["scroll"] <= seen["phone"]["width"] == 390


@pytest.mark.parametrize("largest", [4.0, 4e3, 4e6, 4e-5])
def test_numbers_below_a_plot_do_not_touch(largest: float) -> None:
    """Of thousands every second one."""
    values = np.linspace(0.25, 1.0, 9) * largest
    axis = column("mass", "kg", values)
    drawing = scatter(axis, column("force", "N", values), range(9), ["h0"] * 9)
    found = [
        (float(x), text)
        for x, text in re.findall('<text class="middle" x="([^"]*)"[^>]*>([^<]*)<', drawing)
    ]
    assert len(found) >= 2
    for (a, left), (b, right) in pairwise(found):
        assert b - a > 0.5 * LETTER * (len(left) + len(right))
