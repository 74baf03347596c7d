"""Outputs of the command line: paths, locks, and encodings of the terminal."""

import errno
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError, MachineError
from flexmbs.files.file_types import SOLUTION
from flexmbs.files.output import atomic_file, temporary_folder
from flexmbs.files.reserved_outputs import reserved
from flexmbs.report.view import View
from preprocess.mesh.structured import box_mesh

sys.path.insert(0, str(Path(__file__).parent / "bad_inputs"))
from mechanisms import call, pendulum, saved

Captured = pytest.CaptureFixture[str]
FLOCK = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")


def never(*given: object, **options: object) -> None:
    raise AssertionError("it was computed all the same")


def test_61_what_cannot_be_written_is_known_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    import flexmbs.studies.run.simulate as analysis

    path = saved(pendulum(), tmp_path)
    monkeypatch.setattr(analysis, "simulate", never)
    given = os.open

    def readonly(file: str, flags: int, *mode: int, **options: object) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system", str(file))
        return given(file, flags, *mode, **options)

    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    cases = [
        (
            ("--report", tmp_path / "folder"),
            2,
            f"error: {tmp_path}/folder: is a folder, which an output would replace",
        ),
        (
            ("-o", tmp_path / "pipe"),
            2,
            f"error: {tmp_path}/pipe: is a pipe, which an output would replace",
        ),
        (("-o", "/dev/null"), 2, "error: /dev/null: is a device, which an output would replace"),
        (("--report", path.with_suffix(".h5")), 2, "is used for several outputs"),
    ]
    for options, code, message in cases:
        assert call("run", path, *options) == code
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    monkeypatch.setattr(os, "open", readonly)
    assert call("run", path) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"error: {path.with_suffix('.h5')}: cannot be written (Read-only file system); check"
    )
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "model.toml", "pipe"]


def test_61_a_solution_that_cannot_be_written_at_the_end_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path, spare = saved(pendulum(), tmp_path), tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    given = os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target).parent == tmp_path:
            raise OSError(errno.ENOSPC, "No space left on device")
        given(source, target)

    monkeypatch.setattr(os, "replace", full)
    assert call("run", path, "--report", tmp_path / "out.html") == 4
    told = capsys.readouterr()
    first, second = told.err.splitlines()
    (kept,) = spare.rglob("model.h5")
    assert first.startswith(
        f"error: {path.with_suffix('.h5')}: cannot be written (No space left on device)"
    )
    assert first.endswith(f"saved as {kept} instead")
    assert second.startswith(
        f"error: {tmp_path}/out.html: cannot be written (No space left on device)"
    )
    assert told.out.splitlines()[-1] == "PASS"  # the numbers are reported all the same
    np.testing.assert_allclose(fm.Solution.load(kept).t, np.arange(6) * 0.01, atol=1e-15)


def test_61_nothing_is_hidden_by_a_draft_that_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a read-only file system even removing what is missing fails."""

    def readonly(*given: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", readonly)
    with pytest.raises(MachineError, match="cannot be written"), atomic_file(tmp_path / "x"):
        readonly()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_61_results_that_the_disk_does_not_take(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = program("check", saved(pendulum(), tmp_path), stdout=full)
    assert done.returncode == 4
    assert (
        done.stderr
        == b"error: the results: No space left on device; check the file, its permissions or "
        b"the free space\n"
    )


def program(*arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    """The command line in a separate process."""
    command = [sys.executable, "-m", "flexmbs", *map(str, arguments)]
    return subprocess.run(
        command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    )  # type: ignore[call-overload]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-8"])
def test_62_characters_that_the_output_cannot_show_are_replaced(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = pendulum()
    model.add(fm.JointTorque("Drehmoment λ → 電", "hinge", 1.0))
    path = saved(model, tmp_path)
    told = [io.BytesIO(), io.BytesIO()]
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(told[0], encoding=encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(told[1], encoding=encoding))
    assert call("check", path) == 0
    assert call("run", path, "--t-end", "0.01") == 0
    assert call("list") == 0
    assert call("list", "λ") == 2
    sys.stdout.flush()
    sys.stderr.flush()
    shown, errors = (stream.getvalue().decode(encoding) for stream in told)
    assert f"Drehmoment {'λ → 電' if encoding == 'utf-8' else '? ? ?'}" in shown
    assert (
        f"error: list: unknown family or kind '{'λ' if encoding == 'utf-8' else '?'}'; "
        "families: bodies" in errors
    )


def test_62_the_plainest_of_systems(tmp_path: Path) -> None:
    model = pendulum()
    model.add(fm.JointTorque("Drehmoment λ → 電", "hinge", 1.0))
    environment = os.environ | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for arguments in (("run", saved(model, tmp_path)), ("run", "--help")):
        done = program(*arguments, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")


def test_62_file_names_that_are_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/na\xefve"
    os.mkdir(folder)
    path = saved(pendulum(), tmp_path)
    os.rename(path, folder + b"/model.toml")
    command = [
        sys.executable,
        "-m",
        "flexmbs",
        "run",
        folder + b"/model.toml",
        "--report",
        folder + b"/out.html",
    ]
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(os.listdir(folder)) == [
        b"model.h5",
        b"model.toml",
        b"out.html",
        b"out.summary.json",
    ]


@FLOCK
def test_66_a_file_that_another_run_writes_is_rejected(tmp_path: Path, capsys: Captured) -> None:
    path = saved(pendulum(), tmp_path)
    output = path.with_suffix(".h5")
    code = (
        "import sys, pathlib, flexmbs.files.reserved_outputs as r\n"
        f"with r.reserved((pathlib.Path({str(output)!r}), {SOLUTION!r})): print('held', "
        "flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin is not None
    assert other.stdout is not None
    try:
        assert other.stdout.readline() == b"held\n"
        assert call("run", path) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(
            f"error: {output}: another run is writing it (process {other.pid} since 20"
        )
        assert line.endswith("wait for it, or choose another file with -o")
        assert call("run", path, "-o", tmp_path / "other.h5") == 0
    finally:
        other.kill()  # the lock is released however the process ends
        other.wait()
    assert (tmp_path / ".model.h5.lock").exists()
    assert call("run", path) == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "model.h5",
        "model.toml",
        "other.h5",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of file sizes")
def test_66_a_disk_without_space_keeps_no_lock(tmp_path: Path) -> None:
    code = (
        "import resource, sys, pathlib, flexmbs.files.reserved_outputs as r\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        f"with r.reserved((pathlib.Path({str(tmp_path / 'x.h5')!r}), {SOLUTION!r})): pass"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MachineError" in done.stderr
    assert not list(tmp_path.iterdir())


@FLOCK
def test_66_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    output = (tmp_path / "x.h5", SOLUTION)
    for _ in range(2):
        with (
            reserved(output),
            pytest.raises(InputError, match="another run is writing it"),
            reserved(output),
        ):
            never()
    assert list(tmp_path.iterdir()) == []


def test_66_two_writers_do_not_share_a_draft(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "x") as one, atomic_file(tmp_path / "x") as other:
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "x").read_text() == "one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def flexible(folder: Path) -> Path:
    """A model file with a flexible body, and ``body.h5`` that it uses."""
    mesh, steel = box_mesh((0.2, 0.02, 0.02), (2, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    made = pp.reduce(
        mesh,
        steel,
        interfaces={"root": pp.Rigid("x0")},
        reference="root",
        method=pp.CraigBampton(modes=1),
    )
    made.save(folder / "body.h5")
    model = fm.Model("flex")
    model.add(fm.FlexibleBody("arm", folder / "body.h5"))
    model.add(fm.Revolute("hinge", "ground", "arm/root", axis="y"))
    model.run = fm.Run(t_end=0.001, step=0.001)
    model.save(folder / "body.toml")
    return folder / "body.toml"


def test_outputs_replace_no_file_of_another_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    import flexmbs.studies.run.simulate as analysis

    path, body, part, mesh = (
        flexible(tmp_path),
        tmp_path / "body.h5",
        tmp_path / "link.toml",
        tmp_path / "link.msh",
    )
    page, solution, notes = tmp_path / "page.html", tmp_path / "ok.h5", tmp_path / "notes.txt"
    part.write_text('# the part\nformat = "flexmbs-part/1"\n')
    mesh.write_text("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n")
    notes.write_text("not made by flexmbs\n")
    for _ in range(2):  # files of the same kind are replaced
        assert call("run", path, "-o", solution, "--report", page) in (0, 3)  # of a coarse step
    there = {file: file.read_bytes() for file in tmp_path.iterdir()}
    monkeypatch.setattr(analysis, "simulate", never)
    cases = [
        (("run", path), body, "a flexible body, not a solution"),
        (("run", path, "-o", path), path, "a model, not a solution"),
        (("run", path, "-o", solution, "--report", path), path, "a model, not an HTML page"),
        (("run", path, "-o", page), page, "an HTML page, not a solution"),
        (("report", solution, "-o", solution), solution, "a solution, not an HTML page"),
        (("preprocess", "report", body, "-o", body), body, "a flexible body, not an HTML page"),
        (("preprocess", "reduce", part, "-o", mesh), mesh, "a mesh, not a flexible body"),
        (("preprocess", "reduce", part, "-o", part), part, "a part file, not a flexible body"),
        (
            ("preprocess", "reduce", part, "-o", solution),
            solution,
            "a solution, not a flexible body",
        ),
        (
            ("preprocess", "convert", body, mesh, "--to", "mbdyn"),
            mesh,
            "a mesh, not a body for MBDyn",
        ),
    ]
    capsys.readouterr()
    for arguments, file, found in cases:
        assert call(*arguments) == 2
        lines = capsys.readouterr().err.splitlines()
        assert f"error: {file}: exists and is {found}; choose another name with -o" == lines[-1]
    kept = fm.Solution.load(solution)
    writers = [
        (kept.save, body),
        (kept.save, notes),
        (kept.report, notes),
        (pendulum().save, part),
        (pendulum().save, notes),
    ]
    for write, file in writers:
        with pytest.raises(InputError, match="exists and is"):
            write(file)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == there


def test_outputs_replace_empty_files(tmp_path: Path) -> None:
    path, empty = saved(pendulum(), tmp_path), tmp_path / "empty"
    empty.touch()
    assert call("run", path, "-o", empty) == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_temporary_folder_that_is_full_is_named(number: int) -> None:
    with (
        pytest.raises(MachineError, match=f"^{tempfile.gettempdir()}: cannot be written .*; check"),
        temporary_folder("test"),
    ):
        raise OSError(number, os.strerror(number))


def test_a_temporary_folder_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of other files stay as they are."""
    pytest.importorskip("pythonfmu3")
    with pytest.raises(FileNotFoundError), temporary_folder("test"):
        (tmp_path / "none").read_bytes()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    model = fm.Model("pendulum")
    rod = model.add(fm.RigidBody("rod", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("hinge", model.ground, rod, axis="y"))
    outputs = {"angle": ("coordinate", "hinge")}
    page = View("text")
    for write in (
        lambda: fm.export_fmu(model, tmp_path / "a.fmu", t_end=1.0, outputs=outputs),
        page.open,
    ):
        with pytest.raises(MachineError, match=r"none: cannot be written .*No such file.*; check"):
            write()
