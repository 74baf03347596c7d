"""The README stays true: its example runs as typed, and its links exist."""

import pathlib
import re
import shutil

import numpy as np
import pytest

from flexmbs._jit import COMPILED

ROOT = pathlib.Path(__file__).resolve().parents[1]
README, FEATURES = (
    (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/features.md")
)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
GRAVITY, TOOL_MASS, TOOL_HEIGHT = 9.81, 0.4, 0.05


@pytest.mark.skipif(not COMPILED, reason="two seconds of two flexible links take long interpreted")
def test_the_example_runs_and_ends_in_equilibrium(tmp_path, monkeypatch, capsys):
    (example,), (steps,) = PYTHON.findall(README), PYTHON.findall(FEATURES)
    (tmp_path / "meshes").mkdir()
    shutil.copy(ROOT / "meshes" / "link.msh", tmp_path / "meshes")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    exec(compile(example, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "ready to run" in printed
    assert "verdict of the audit: PASS" in printed
    assert (tmp_path / "arm.html").stat().st_size > 10_000
    assert (tmp_path / "arm.h5").exists()
    solution, link = names["solution"], names["link"]
    turn = np.cumsum([solution.joint(name).position[-1, 0] for name in ("shoulder", "elbow")])
    length = link.frames["tip"].x[0]
    x, z = length * np.cumsum(np.cos(turn)), -length * np.cumsum(np.sin(turn))
    # links deform by less
    assert solution.frame("fore/tip").position[-1] == pytest.approx([x[1], 0.0, z[1]], abs=2e-4)
    tool_x = x[1] + TOOL_HEIGHT * np.sin(turn[1])
    about_shoulder = link.mass * (x[0] / 2 + (x[0] + x[1]) / 2) + TOOL_MASS * tool_x
    about_elbow = link.mass * (x[1] - x[0]) / 2 + TOOL_MASS * (tool_x - x[0])
    for name, lever in (("shoulder", about_shoulder), ("elbow", about_elbow)):
        assert solution.joint(name).effort[-1, 0] == pytest.approx(-GRAVITY * lever, rel=1e-3)
    exec(compile(steps, "features.md", "exec"), names)
    stepper = names["stepper"]
    assert (stepper.t, stepper.inputs["push"], stepper.outputs["angle"]) == (0.0, 0.0, 1.0)


def test_every_link_of_the_front_pages_leads_somewhere():
    for page in (
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "meshes/README.md",
        "docs/features.md",
    ):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} points to {target}"
