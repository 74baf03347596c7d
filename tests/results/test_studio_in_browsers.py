"""The page on which a model is edited, in Chromium and Firefox; skipped as `test_player_browsers`
is.
"""

from pathlib import Path

import pytest
from test_player_browsers import BROWSERS, needs_axe, needs_node, seen, skip_without
from test_studio import HERE, TEXT, TOKEN, opened, serving

import flexmbs as fm


@needs_node
@needs_axe
@pytest.mark.parametrize("browser", BROWSERS)
def test_a_model_is_changed_run_and_saved(browser: str, tmp_path: Path) -> None:
    """A slider moves the machine, a wrong number is a finding, two runs are two curves, and the
    file gets the numbers of the last one.
    """
    skip_without(browser)
    path = tmp_path / "swing.toml"
    path.write_text(TEXT, encoding="utf-8")
    with opened(path) as session, serving(session) as port:
        address = f"http://{HERE}:{port}/{TOKEN}/"
        found = seen("studio.mjs", browser, address, screen=browser == "firefox")  # type: ignore[arg-type]
    assert (found["messages"], found["requests"]) == ([], [])
    start, moved, right = found["start"], found["moved"], found["right"]
    assert start["findings"][0][0] == moved["findings"][0][0] == right["findings"][0][0] == "good"
    assert (start["values"], start["enabled"], start["end"]) == ({}, ["run"], 0.0)
    assert moved["values"]["joints.hinge.q0"] == pytest.approx(1.57, abs=0.1)
    assert moved["picture"]
    assert moved["enabled"] == ["run", "save", "undo"]
    assert found["massless"]["findings"] != moved["findings"]
    kind, line = found["wrong"]["findings"][0]
    assert (kind, found["wrong"]["wrong"], found["wrong"]["enabled"]) == (
        "error",
        ["mass"],
        ["undo"],
    )
    assert line.startswith("bodies.rod.mass: 'heavy' is not a number")
    assert right["values"]["bodies.rod.mass"] == 2.5
    one, two = found["one"], found["two"]
    assert (one["told"], one["runs"], one["end"]) == ("", ["Run 1"], 0.2)
    assert (two["told"], two["runs"]) == ("", ["Run 2", "Run 1"])
    curve = "joint hinge.0 position"
    assert one["curves"] == [f"{curve}, run 1"]
    assert two["curves"] == [f"{curve}, run 2", f"{curve}, run 1"]
    assert len(set(two["lines"])) == 2
    assert two["camera"] == moved["camera"] != start["camera"]
    assert (two["live"], two["canvases"]) == (1, 1)
    assert found["saved"]["told"].startswith(f"saved {path}: ")
    assert (found["saved"]["values"], found["saved"]["enabled"]) == ({}, ["run"])
    model = fm.load(path)
    assert model.bodies["rod"].mass == 0.5  # type: ignore[attr-defined]
    assert model.joints["hinge"].q0 == (two["values"]["joints.hinge.q0"],)
    changed = zip(TEXT.splitlines(), path.read_text(encoding="utf-8").splitlines(), strict=True)
    assert [new.split(" = ")[0] for old, new in changed if old != new] == ["mass", "q0"]
    assert {view: rules for view, rules in found["broken"].items() if rules} == {}
    assert found["phone"]["scroll"] <= found["phone"]["width"] + 1
