"""The plots of a page answer a real mouse, in Chromium and Firefox; skipped as
`test_player_browsers` is.
"""

from pathlib import Path

import numpy as np
import pytest
from runs import hanging
from test_player_browsers import BROWSERS, needs_node, seen, skip_without

import flexmbs as fm

END = 0.8


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, fm.Solution]:
    model = hanging(angle=1.0)
    model.add(fm.JointLimit("<b>stop", "hinge", lower=1.2, restitution=0.5))
    solution = fm.simulate(model, t_end=END, step=1e-3, integrator="moreau-jean")
    path = tmp_path_factory.mktemp("report") / "report.html"
    solution.report(path)
    return path, solution


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_plots_answer(browser: str, report: tuple[Path, fm.Solution]) -> None:
    skip_without(browser)
    path, solution = report
    found = seen("plots.mjs", browser, path, screen=browser == "firefox")
    assert (found["messages"], found["requests"]) == ([], [])
    assert len(found["start"]["widths"]) == 1  # time axes are in line
    (values,) = found["hover"]["values"]
    assert values[0] == "t = 0.2 s"
    assert values[1] == "<b>stop.lower: open"
    assert found["clicked"]["time"] == pytest.approx(0.4, abs=1e-3)
    assert len(set(found["clicked"]["cursors"])) == 1  # through all plots
    assert len(found["clicked"]["cursors"]) == len(found["clicked"]["ticks"]) > 5
    assert found["clicked"]["cursors"] != found["start"]["cursors"]
    assert found["selected"] > 300
    spans = [[float(text) for text in ticks] for ticks in found["zoomed"]["ticks"]]
    assert all(0.2 <= ticks[0] < ticks[-1] <= 0.6 for ticks in spans)
    assert found["reset"]["ticks"] == found["start"]["ticks"]
    assert found["hidden"]["lines"] < found["start"]["lines"] == found["shown"]["lines"]
    assert found["jumped"]["time"] == pytest.approx(found["event"], abs=1e-9)
    assert any(np.isclose(found["event"], impact.t) for impact in solution.run.impacts)
    assert found["phone"]["scroll"] <= found["phone"]["width"] == 390
    assert 330 < found["phone"]["plot"] <= 390
    assert found["phone"]["text"] >= 12
