"""Curves of the reader's choice and names of objects, in Chromium and Firefox; skipped as
`test_player_browsers` is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_drawn_elements import acting
from test_player_browsers import BROWSERS, needs_axe, needs_node, seen, skip_without

import flexmbs as fm


@pytest.fixture(scope="module", params=BROWSERS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a script saw of the page of a machine with elements of many kinds."""
    skip_without(request.param)
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    fm.simulate(acting(), t_end=0.2, step=1e-3).report(path)
    return seen("explorer.mjs", request.param, path, screen=request.param == "firefox")


@needs_node
@needs_axe
def test_curves_that_the_reader_chooses(found: dict[str, Any]) -> None:
    """Curves of one unit share a panel; the address keeps the choice; other names are left out."""
    assert (found["messages"], found["requests"]) == ([], [])
    assert found["start"]["panels"]
    force = [f"joint pin force {axis}" for axis in "xyz"]
    panels = found["two"]["panels"]
    assert [panel["title"] for panel in panels] == ["[N]", "[A]"]
    assert [panel["keys"] for panel in panels] == [force, ["force motor current"]]
    assert [panel["lines"] for panel in panels] == [3, 1]
    assert found["two"]["hash"].startswith("#curve=joint+pin+force+x&curve=joint+pin+force+y&")
    across = found["against"]
    assert across["hash"].endswith("&against=frame+arm%2Fend+position+x")
    assert across["chips"][-1] == "horizontal: frame arm/end position x ×"
    assert [(panel["lines"], panel["dots"]) for panel in across["panels"]] == [(3, 3), (1, 1)]
    assert min(length for panel in across["panels"] for length in panel["paths"]) > 100
    assert found["removed"]["panels"][0]["keys"] == force[1:]
    assert found["back"]["panels"] == across["panels"]
    assert [panel["keys"] for panel in found["unknown"]["panels"]] == [["joint pin.0 position"]]
    assert found["phone"]["scroll"] <= found["phone"]["width"] + 1


@needs_node
@needs_axe
def test_names_of_what_the_reader_points_at(found: dict[str, Any]) -> None:
    assert found["pointed"] == {"hidden": False, "text": "arm · rigid", "lit": 1}
    assert (found["left"]["hidden"], found["left"]["lit"]) == (True, 0)
    assert found["clicked"]["text"] == "arm · rigid"
    assert found["labels"]["shown"] > 3
    assert found["labels"]["over"] == 0


@needs_node
@needs_axe
def test_bodies_and_kinds_of_elements_can_be_hidden(found: dict[str, Any]) -> None:
    hidden = found["hidden"]
    assert {"arm", "slide", "Ropes", "Springs and dampers", "Motors and drives", "Stops"} <= set(
        hidden
    )
    for name, (changed, pressed, left) in hidden.items():
        assert (pressed, left) == ("false", 0), name
        assert changed > 5, name


@needs_node
@needs_axe
def test_the_choice_of_curves_is_accessible(found: dict[str, Any]) -> None:
    assert {view: rules for view, rules in found["broken"].items() if rules} == {}
