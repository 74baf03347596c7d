"""The page of a run with a divided body in real browsers: one body that moves, coloured without
gaps at its cuts.
"""

from pathlib import Path
from typing import Any

import pytest
from test_divided_parts import divided, swung
from test_player_browsers import BROWSERS, needs_axe, needs_node, seen, skip_without

import flexmbs as fm


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("divided") / "divided.html"
    fm.simulate(swung(divided()), t_end=0.2, step=4e-4).report(path)
    return path


@pytest.fixture(scope="module", params=BROWSERS)
def found(request: pytest.FixtureRequest, page: Path) -> dict[str, Any]:
    skip_without(request.param)
    return seen("divided.mjs", request.param, page, screen=request.param == "firefox")


@needs_node
@needs_axe
def test_the_divided_body_moves_as_one(found: dict[str, Any]) -> None:
    assert (found["messages"], found["requests"]) == ([], [])
    assert found["live"]
    assert found["bodies"] == ["bar"]
    assert found["moved"] > 0.005
    assert found["gaps"] == {"start": 0, "end": 0}  # rows or columns of background across the bar


@needs_node
@needs_axe
def test_its_colours_are_those_of_the_legend_on_both_sides_of_its_cuts(
    found: dict[str, Any],
) -> None:
    for field in ("displacement", "stress"):
        pixels = found["fields"][field]
        assert pixels["inside"] > 0.95 * pixels["body"] > 300.0, field
        assert pixels["kinds"] > 10, field
        # of the legend, between neighbouring pixels along the bar
        assert pixels["jump"] < 0.1, field


@needs_node
@needs_axe
def test_its_page_breaks_no_rule_of_accessibility(found: dict[str, Any]) -> None:
    assert {"light", "phone"} <= set(found["broken"])
    assert {view: rules for view, rules in found["broken"].items() if rules} == {}
