"""A body against its full model: dense eigenproblems, a bar in tension, bodies of one mesh under
two reference conditions.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from part_files import PART, bar, call

from preprocess.part_file import read_part

ALL = PART.replace("modes = 2", "modes = 36").replace("nu = 0.3", "nu = 0.0")
Captured = pytest.CaptureFixture[str]


def compared(capsys: Captured, *arguments: object) -> dict:
    assert call("compare", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_body_with_all_modes_is_its_full_model(tmp_path: Path, capsys: Captured) -> None:
    part = bar(tmp_path, ALL)
    assert call("reduce", part) == 0
    capsys.readouterr()
    found = compared(capsys, part.with_suffix(".h5"))
    fe = read_part(part).model()
    dense = scipy.linalg.eigh(fe.K.toarray(), fe.M.toarray(), eigvals_only=True)[6:18]
    pairs = found["modes"]["free"]
    np.testing.assert_allclose(
        [pair["second"] for pair in pairs], np.sqrt(dense) / (2 * np.pi), rtol=1e-6
    )
    assert found["modes"].keys() == {"free", "left"}
    held = found["modes"]["left"]
    kept = np.setdiff1d(np.arange(len(fe.nodes)), np.flatnonzero(fe.nodes[:, 0] < 1e-9))
    end = np.flatnonzero(fe.nodes[:, 0] > 1 - 1e-9)
    T = np.zeros((3 * len(fe.nodes), 6))  # the right end as one rigid body
    arm = fe.nodes[end] - fe.nodes[end].mean(axis=0)
    for i, r in zip(end, arm):
        T[3 * i : 3 * i + 3] = np.hstack([np.eye(3), -np.cross(np.eye(3), r)])
    free = np.eye(3 * len(fe.nodes))[
        :, (3 * np.setdiff1d(kept, end)[:, None] + np.arange(3)).ravel()
    ]
    B = np.hstack([free, T])
    dense = scipy.linalg.eigh(B.T @ fe.K @ B, B.T @ fe.M @ B, eigvals_only=True)[:12]
    np.testing.assert_allclose(
        [pair["second"] for pair in held], np.sqrt(dense) / (2 * np.pi), rtol=1e-6
    )
    assert max(abs(pair["error"]) for pair in held) < 1e-6
    assert min(pair["mac"] for pair in held) > 1 - 1e-6


def test_compliance_of_a_bar(tmp_path: Path, capsys: Captured) -> None:
    """ℓ / EA in tension; what two modes lack, the interfaces still have."""
    part = bar(tmp_path, PART.replace("nu = 0.3", "nu = 0.0"))
    assert call("reduce", part) == 0
    capsys.readouterr()
    found = compared(capsys, part.with_suffix(".h5"), part)
    (compliance,) = found["compliance"]
    assert (compliance["held"], compliance["moving"]) == ("left", "right")
    assert compliance["first"][0][0] == pytest.approx(1.0 / (2e11 * 0.01), rel=1e-9)
    assert compliance["error"] < 1e-9
    errors = [pair["error"] for pair in found["modes"]["left"] if pair["error"] is not None]
    assert min(errors) > -1e-9  # a reduced body is stiffer, Rayleigh's principle
    assert max(errors) > 1e-4


def test_reference_conditions_do_not_change_the_body(tmp_path: Path, capsys: Captured) -> None:
    part = bar(tmp_path)
    free = tmp_path / "free.toml"
    free.write_text(PART.replace('reference = "left"', 'reference = "mean axes"'))
    axes = "axes = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]"
    turned = tmp_path / "turned.toml"
    turned.write_text(PART.replace("[interfaces.right]", f"{axes}\n[interfaces.right]"))
    for path in (part, free, turned):
        assert call("reduce", path) == 0
    capsys.readouterr()
    for other in (free, turned):
        found = compared(capsys, part.with_suffix(".h5"), other.with_suffix(".h5"), "--modes", "8")
        for pairs in found["modes"].values():
            assert max(abs(pair["error"]) for pair in pairs) < 1e-6
            assert min(pair["mac"] for pair in pairs) > 1 - 1e-6
        assert found["compliance"][0]["error"] < 1e-8


def test_modes_that_the_body_does_not_have_are_reported(tmp_path: Path, capsys: Captured) -> None:
    part = bar(tmp_path)
    assert call("reduce", part) == 0
    capsys.readouterr()
    assert call("compare", part.with_suffix(".h5")) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any(row[1:2] == ["none"] for row in rows)


def test_what_cannot_be_compared(tmp_path: Path, capsys: Captured) -> None:
    part = bar(tmp_path)
    body = part.with_suffix(".h5")
    assert call("reduce", part) == 0
    part.write_text(
        PART.replace('unit = "m"', 'unit = "cm"').replace(
            "[1.0, 0.0, 0.0], n", "[0.01, 0.0, 0.0], n"
        )
    )
    assert call("compare", body) == 2
    assert "nodes of the same number are up to" in capsys.readouterr().err
    part.unlink()
    assert call("compare", body) == 2
    assert (
        "bar.toml: no such file; give the part file or another flexible body"
        in capsys.readouterr().err
    )
