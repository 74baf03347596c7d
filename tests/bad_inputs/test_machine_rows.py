"""Rows 37, 39, 42: failures of the machine during a run."""

import errno
import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from mechanisms import call, pendulum, saved, with_torque

import flexmbs as fm

Captured = pytest.CaptureFixture[str]


def test_37_full_disk_ends_with_4_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path = saved(pendulum(), tmp_path)
    assert call("run", path) == 0
    old = path.with_suffix(".h5").read_bytes()
    capsys.readouterr()

    def full(*given: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(h5py.Group, "create_dataset", full)
        assert call("run", path, "--t-end", "0.04") == 4
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"error: {path.with_suffix('.h5')}: cannot be written (")
    assert "No space left on device" in line
    assert line.endswith("check the folder, its permissions or the free space")
    assert path.with_suffix(".h5").read_bytes() == old
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model.h5", "model.toml"]


def test_37_unwritable_report_and_tables_end_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path = saved(pendulum(), tmp_path)
    assert call("run", path) == 0

    def readonly(*given: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", readonly)
    for command in ("report", "export"):
        capsys.readouterr()
        assert call(command, path.with_suffix(".h5"), "-o", tmp_path / "out") == 4
        told = capsys.readouterr().err
        assert "cannot be written (Read-only file system)" in told
        assert "Traceback" not in told
    assert not list(tmp_path.glob(".*.tmp"))


def test_39_interrupt_inside_a_function_keeps_what_was_computed(
    tmp_path: Path, capsys: Captured
) -> None:
    """Ctrl-C mostly occurs in Python code of the user; `test_command_line.py` sends the signal to a
    process.
    """
    path = with_torque(
        tmp_path, "return 0.0 if t < 0.025 else [][KeyboardInterrupt] if t < 0 else stop()"
    )
    module = next(tmp_path.glob("torque_*.py"))
    module.write_text(module.read_text() + "\n\ndef stop():\n    raise KeyboardInterrupt\n")
    assert call("run", path, "--allow-code") == 130
    assert "Traceback" not in capsys.readouterr().err
    solution = fm.Solution.load(path.with_suffix(".h5"))
    assert solution.run.outcome == "interrupted at t = 0.02 s"
    np.testing.assert_allclose(solution.t, [0.0, 0.01, 0.02])


def test_42_outputs_beyond_the_memory_are_rejected_with_the_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("flexmbs.time_stepping.records.memory", lambda: 1e6)
    path = saved(pendulum(), tmp_path)
    assert call("run", path, "--t-end", "100", "--output-step", "0.001", "--step", "0.001") == 4
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == (
        "error: output_step: 100001 outputs of 3 numbers need 0.008 GB, the machine has "
        "0.001 GB; choose a longer output_step"
    )


def test_42_millions_of_outputs_are_bad_input(tmp_path: Path, capsys: Captured) -> None:
    path = saved(pendulum(), tmp_path)
    assert call("run", path, "--t-end", "1e9", "--output-step", "1e-3", "--step", "1e-3") == 2
    assert (
        "output_step: 0.001 s gives 1e+12 outputs up to t_end = 1000000000.0 s; choose a longer one"
        in capsys.readouterr().err
    )
