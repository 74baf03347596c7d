"""Files that the disk does not take, and files with flipped bits: refused by name, never wrong in
silence.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import h5py
import numpy as np
import pytest
from draws import drawn
from hdf5_edits import open_unverified

import flexmbs as fm
import preprocess as pp
from flexmbs.command.watch import ProgressPage
from flexmbs.errors import InputError
from flexmbs.files.append_log import frame_bytes
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.results.output_log import FIRST, read_rows
from flexmbs.studies.run.run_folder import read_checkpoint
from flexmbs.studies.sweeps.batch import Record, packed_record, read_log
from flexmbs.studies.sweeps.folder import records_in
from preprocess.command.inspect import described_pieces

sys.path.append(str(Path(__file__).parent / "preprocess"))
from part_files import PART, bar

DIGEST = "flexmbs.flexible_body.file"  # a hostile writer makes digests as well
SIZES = 12  # limits tried between nothing and the whole file
KINDS = {"run.h5": fm.Solution, "bar.h5": fm.FlexibleBodyData, "bars.h5": DividedBodyData}
LIMITED = """
import gc, os, resource, sys
source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
import flexmbs.errors
from {module} import {kind}
content = {kind}.load(source)
content.save(target)
length = os.path.getsize(target)
for size in [0, 1, *(8 + (length - 9) * k // count for k in range(count + 1)), length + 4096]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try: content.save(target); told = "written"
    except flexmbs.errors.MachineError as error: told = str(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    gc.collect()
    print(told, "|", *os.listdir(os.path.dirname(target)))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file of a solution with a flexible
    body, of the body, and of a divided one.
    """
    folder = tmp_path_factory.mktemp("files")
    steel, method = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), pp.CraigBampton(modes=3)
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    mesh = pp.box_mesh((0.4, 0.02, 0.03), (8, 1, 1), "hex8")
    bar = pp.reduce(mesh, steel, interfaces=ends, method=method, reference="root", damping=0.02)
    bar.save(folder / "bar.h5")
    pp.reduce_divided(pp.divide(mesh, pieces=2), steel, interfaces=ends, reference="root").save(
        folder / "bars.h5"
    )
    model = fm.Model("arm")
    arm = model.add(fm.FlexibleBody("arm", data=bar))
    model.add(fm.Revolute("hinge", model.ground, arm["root"], axis="y"))
    fm.simulate(model, t_end=0.02, step=1e-3).save(folder / "run.h5")
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such limits")
@pytest.mark.parametrize("name", KINDS)
def test_a_full_disk_keeps_the_old_file(name: str, files: Path, tmp_path: Path) -> None:
    """One line for every size of the disk; HDF5 left invalid identifiers, whose release ended the
    process.
    """
    target = tmp_path / name
    script = LIMITED.format(module=KINDS[name].__module__, kind=KINDS[name].__name__)
    command = [sys.executable, "-c", script, files / name, target, str(SIZES)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    *refused, written = done.stdout.splitlines()
    line = (
        f"{target}: cannot be written (File too large); check the folder, its permissions or "
        f"the free space | {name}"
    )
    assert refused == [line] * (SIZES + 3)
    assert written == f"written | {name}"


SMALL = """
import os, subprocess, sys
source, folder = sys.argv[1:]
import flexmbs.errors
from {module} import {kind}
content, length = {kind}.load(source), os.path.getsize(source)
for k in range(7):
    size = 4096 * max(1, -(-length * k // (5 * 4096)))  # whole pages; 0 has no limit
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={{size}}", "none", folder], check=True)
    try: content.save(folder + "/x.h5"); told = "written"
    except flexmbs.errors.MachineError as error: told = str(error)
    print(told, "|", *os.listdir(folder))
    subprocess.run(["umount", folder], check=True)
"""


@pytest.mark.parametrize("name", KINDS)
def test_a_full_file_system(name: str, files: Path, tmp_path: Path) -> None:
    """As the limit, where this process may mount file systems in a name space of its own."""
    trial = ["unshare", "-m", "mount", "-t", "tmpfs", "none", tmp_path]
    if not shutil.which("unshare") or subprocess.run(trial, capture_output=True).returncode:
        pytest.skip("may not mount file systems")
    script = SMALL.format(module=KINDS[name].__module__, kind=KINDS[name].__name__)
    command = ["unshare", "-m", sys.executable, "-c", script, files / name, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    line = (
        f"{tmp_path / 'x.h5'}: cannot be written (No space left on device); check the folder, "
        "its permissions or the free space |"
    )
    assert done.stdout.splitlines() == [line] * 5 + ["written | x.h5"] * 2


def _solution(path: Path) -> list[object]:
    run = fm.Solution.load(path)
    arrays = [*run.trajectory, *run._joints, *run.applied.values()]
    return [str(run), run.model_text, *(array.tobytes() for array in arrays)]


def _body(path: Path) -> list[object]:
    data = fm.FlexibleBodyData.load(path)
    surface, stress = data.surface, data.stress
    assert surface is not None
    assert stress is not None
    arrays = (data.K_ff, data.SS, surface.phi, surface.triangles, stress.modes, stress.correction)
    return [data.digest, data.provenance, *(array.tobytes() for array in arrays)]


@pytest.mark.parametrize("seed", drawn(4, 60))
@pytest.mark.parametrize(("name", "content"), [("run.h5", _solution), ("bar.h5", _body)])
def test_a_flipped_bit_is_found(
    name: str, content: Callable[[Path], list[object]], seed: int, files: Path, tmp_path: Path
) -> None:
    """Any bit: refused in one line, or of no effect (gaps between items); effects were silent in
    joints/effort and surfaces.
    """
    data, rng = (files / name).read_bytes(), np.random.default_rng(seed)
    intact, path, refused = content(files / name), tmp_path / name, 0
    for place in rng.integers(len(data), size=12):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            assert content(path) == intact
        except InputError as error:
            (line,) = error.problems
            assert line.startswith(f"{path}: ")
            refused += 1
    assert refused > 3


@pytest.mark.parametrize("name", ["run.h5", "bar.h5"])
def test_damaged_items_are_named(name: str, files: Path, tmp_path: Path) -> None:
    """Every data set in turn, found by its offset in the file."""
    data, path = (files / name).read_bytes(), tmp_path / name
    places: dict[str, int] = {}

    def visit(item: str, found: h5py.Group | h5py.Dataset) -> None:
        if isinstance(found, h5py.Dataset) and found.size:
            places[item] = found.id.get_offset()

    with h5py.File(files / name, "r") as file:
        file.visititems(visit)
    assert len(places) > 20
    for item, place in places.items():
        damaged = bytearray(data)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(
            InputError, match=r"damaged \(checksums differ\); the other \d+ items are intact"
        ) as error:
            KINDS[name].load(path)
        assert str(error.value).startswith(f"{path}: {item}: damaged")


@pytest.mark.parametrize(
    "shape", ["[-1]", "[99999999999999999999]", "[4294967296, 4294967296]", "[1e400]"]
)
def test_a_log_whose_rows_are_too_long(shape: str, tmp_path: Path) -> None:
    """Behind a correct checksum."""
    head = f'{{"format": "flexmbs-outputs/1", "fields": [["t", {shape}]]}}'
    (tmp_path / "outputs.log").write_bytes(frame_bytes(head.encode()))
    with pytest.raises(InputError, match="does not start as a log of outputs"):
        read_rows(tmp_path / "outputs.log")


@pytest.mark.parametrize("seed", drawn(4, 60))
def test_a_flipped_bit_loses_no_case_of_a_finished_sweep(seed: int, tmp_path: Path) -> None:
    """Its log is written as a whole: the last frame is not torn either, and was left out in
    silence.
    """
    angles = [0.1, 0.2, 0.3]
    data = b"".join(
        frame_bytes(packed_record(Record(str(q0), {"q0": q0}, {"speed": (2.0, "m/s")}, "PASS")))
        for q0 in angles
    )
    log, rng = tmp_path / "cases.log", np.random.default_rng(seed)
    log.write_bytes(data)
    assert [record.inputs["q0"] for record in records_in(tmp_path).values()] == angles
    for place in [len(data) - 1, *rng.integers(len(data), size=20)]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        log.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cases\.log: is damaged at byte"):
            records_in(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"case"', '"kase"'),
        ('"inputs"', '"inputs'),
        ("0.5", "1" + 400 * "0"),
        ("0.5", "{}"),
        ("[2.0,", "["),
        ('"findings": []', '"findings": 7'),
    ],
)
def test_a_result_of_a_sweep_that_is_none(old: str, new: str, tmp_path: Path) -> None:
    """Behind a correct checksum."""
    content = packed_record(Record("a", {"q0": 0.5}, {"speed": (2.0, "m/s")}, "PASS")).decode()
    assert old in content
    path = tmp_path / "a.log"
    path.write_bytes(frame_bytes(content.replace(old, new).encode()))
    with pytest.raises(InputError, match=r"a\.log: contains a result that is not one of a sweep"):
        list(read_log(path))


def test_control_characters_of_files_do_not_reach_the_terminal(tmp_path: Path) -> None:
    deck = tmp_path / "m.inp"
    deck.write_bytes(b"*NODE\n1, \x1b[31m, 0., 0.\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n")
    with pytest.raises(InputError, match=r"found '1, \\x1b\[31m, 0., 0.'") as error:
        pp.read_mesh(deck, unit="m")
    assert str(error.value).isprintable()


def test_a_header_of_an_array_that_does_not_end(tmp_path: Path) -> None:
    """NumPy raised an error of Python's tokenizer."""
    shapes = tmp_path / "shapes.npy"
    np.save(shapes, np.zeros((3, 2)))
    shapes.write_bytes(shapes.read_bytes().replace(b"(3, 2)", b"(((((("))
    with zipfile.ZipFile(tmp_path / "checkpoint.npz", "w") as archive:
        archive.write(shapes, "a.npy")
    text = PART.replace("modes = 2", 'kind = "given-shapes"\nshapes = "shapes.npy"')
    with pytest.raises(InputError, match="is not an array of numbers") as error:
        pp.read_part(bar(tmp_path, text))
    assert len(str(error.value).splitlines()) == 1
    with pytest.raises(InputError, match="is damaged") as error:
        read_checkpoint(tmp_path / "checkpoint.npz")
    assert len(str(error.value).splitlines()) == 1


def test_names_of_any_length_leave_a_line_of_limited_length(tmp_path: Path) -> None:
    deck = tmp_path / "m.inp"
    deck.write_text("*NODE\n" + 9999 * "[" + ", 0., 0., 0.\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n")
    with pytest.raises(InputError) as error:
        pp.read_mesh(deck, unit="m")
    assert len(str(error.value)) < 2000
    (line,) = fm.InputError("name: " + 9999 * "[" + ": no such item; correct it").problems
    assert len(line) < 2000
    assert line.startswith("name: [[[")
    assert line.endswith("[: no such item; correct it")


@pytest.mark.parametrize("item", ["stress/modes", "surface/phi", "elastic/K_ff", "frames/tip/x"])
def test_numbers_of_bodies_whose_products_overflow(item: str, files: Path, tmp_path: Path) -> None:
    """Pages and eigenvalues of infinite stress and positions failed."""
    path = tmp_path / "run.h5"
    shutil.copy(files / "run.h5", path)
    with open_unverified(path) as file:
        values = file[f"bodies/0/{item}"][()]
        values.reshape(-1)[0] = -1e200
        file[f"bodies/0/{item}"][...] = values
    with (
        mock.patch(f"{DIGEST}._check_digest"),
        pytest.raises(InputError, match=r"not finite or exceed 1e\+60"),
    ):
        fm.Solution.load(path)


@pytest.mark.parametrize("item", ["stress/modes", "surface/phi"])
def test_pages_of_numbers_whose_squares_overflow(item: str, files: Path, tmp_path: Path) -> None:
    """In single precision; a page is JSON, which has no infinite numbers."""
    path = tmp_path / "run.h5"
    shutil.copy(files / "run.h5", path)
    with open_unverified(path) as file:
        values = file[f"bodies/0/{item}"]
        values[...] *= 1e37 / np.abs(values[()]).max()
    with mock.patch(f"{DIGEST}._check_digest"):
        fm.Solution.load(path).report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("item", "value", "message"),
    [
        ("inertia/mass", 0.0, r"mass: must be at least 1e-60, not 0"),
        ("inertia/mass", 1e-200, r"mass: must be at least 1e-60, not 1e-200"),
        ("frames/tip/R", 0.5, r"frame\.R: is not a rotation"),
    ],
)
def test_bodies_without_mass_or_axes(
    item: str, value: float, message: str, files: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bar.h5"
    shutil.copy(files / "bar.h5", path)
    with open_unverified(path) as file:
        file[item][...] = value
    with (
        mock.patch(f"{DIGEST}._check_digest"),
        pytest.raises(InputError, match=message),
    ):
        fm.FlexibleBodyData.load(path)


def test_divided_bodies_without_inertia(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "bars.h5"
    shutil.copy(files / "bars.h5", path)
    with open_unverified(path) as file:
        for piece in file.values():
            piece["inertia/SS"][...] *= -1.0
    with mock.patch(f"{DIGEST}._check_digest"):
        body = DividedBodyData.load(path)
    with pytest.raises(InputError, match="the other 1 pieces is not positive definite"):
        described_pieces(body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record["shown"].update(t_end=0.0), "is not a record of a run"),
        (lambda record: record["shown"].update(t_end=10**400), "is not a record of a run"),
        (lambda record: None, "has other outputs than a run"),
    ],
)
def test_progress_of_what_is_no_run(change: Any, message: str, tmp_path: Path) -> None:
    shown = {"name": "arm", "t_end": 1.0, "velocities": []}
    record = {"shown": shown, "provenance": {"flexmbs": "1", "date": "today"}}
    change(record)
    (tmp_path / "run.json").write_text(json.dumps(record))
    head = b'{"format": "flexmbs-outputs/1", "fields": [["t", []]]}'
    rows = FIRST.pack(0) + np.zeros(2).tobytes()
    (tmp_path / "outputs.log").write_bytes(frame_bytes(head) + frame_bytes(rows))
    with pytest.raises(InputError, match=message):
        ProgressPage(tmp_path).text()
