"""Commands for CAD files: inspect, mesh, reduce, converge; part files with a CAD file."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.__main__ import main
from preprocess.comparison.convergence import Quantity, extrapolated

pytest.importorskip("netgen", reason="needs netgen-mesher")
MESHES = Path(__file__).parents[3] / "meshes"
ALUMINIUM = "E = 70e9, nu = 0.33, rho = 2700"
PART = """
format = "flexmbs-part/1"
mesh = "robot_link.step"
reference = "hub"
material = { E = 70e9, nu = 0.33, rho = 2700 }
cad = { size = "15 mm", refine = [{ size = "8 mm", hole = "20 mm" }] }
interfaces.hub = { hole = "40 mm", near = [0, 0, "15 mm"] }
interfaces.tip = { cylinder = 10e-3, axis = [0, 0, 1] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(MESHES / "robot_link.step", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    """Exit code and output of ``preprocess``."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    told = capsys.readouterr()
    return ended.value.code or 0, told.out, told.err


def test_inspect_lists_faces_with_lines_to_paste(folder, capsys):
    """Each description finds its own face alone."""
    code, out, _ = run(capsys, "inspect", "robot_link.step", "--json")
    assert code == 0
    faces = json.loads(out)["faces"]
    assert len(faces) == 12
    described = {face["description"] for face in faces}
    assert len(described) == 12
    assert 'hole = "40 mm"' in described
    assert 'name = "motor_flange"' in described
    code, out, _ = run(capsys, "inspect", "robot_link.step")
    assert "face 12: hole of diameter 40 mm, axis z, area 3770 mm²" in out


def test_mesh_is_read_again_with_its_faces(folder, capsys):
    options = ("--size", "15mm", "--refine", 'size = "8 mm", hole = "20 mm"')
    code, out, err = run(capsys, "mesh", "robot_link.step", "-o", "link.msh", *options)
    assert (code, err) == (0, "")
    assert "mesh in mm: link.msh" in out
    again = pp.read_mesh("link.msh", unit="mm")
    made = pp.mesh_cad("robot_link.step", size=15e-3, sizes={pp.face(hole=20e-3): 8e-3})
    assert len(again.nodes) == len(made.nodes)
    assert set(again.node_sets) >= {"motor_flange", "face 11", "face 12"}
    volumes = [mesh.quality().blocks[0].volume.sum() for mesh in (again, made)]
    assert volumes[0] == pytest.approx(volumes[1], rel=1e-9)
    assert len(again.node_sets["face 12"]) == len(made.node_sets["face 12"])


def test_options_are_a_part_file(folder, capsys):
    """The same body from a part file and from options; a second call finds it unchanged."""
    Path("link.toml").write_text(PART)
    assert run(capsys, "reduce", "link.toml", "-o", "a.h5")[0] == 0
    options = [
        *("--material", ALUMINIUM, "--interface", 'hub=hole = "40 mm", near = [0, 0, 0.015]'),
        *("--interface", 'tip=cylinder = "10 mm", axis = [0, 0, 1]', "--size", "15mm"),
        *("--refine", 'size = "8 mm", hole = "20 mm"', "-o", "b.h5"),
    ]
    assert run(capsys, "reduce", "robot_link.step", *options)[0] == 0
    a, b = (pp.read_body(name) for name in ("a.h5", "b.h5"))
    np.testing.assert_array_equal(a.K_ff, b.K_ff)
    assert list(a.frames) == ["hub", "tip"]
    np.testing.assert_allclose(a.frames["tip"].x - a.frames["hub"].x, (0.3, 0, 0), atol=1e-12)
    _, out, _ = run(capsys, "reduce", "robot_link.step", *options)
    assert out.startswith("unchanged: b.h5")


def test_divided_cad_part(folder):
    Path("link.toml").write_text(PART + 'divide = { pieces = 2, along = "x" }\n')
    body = pp.read_part("link.toml").reduce_divided()
    assert len(body.pieces) == 2
    assert list(body.frames) == ["hub", "tip"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("40 mm", "41 mm"), r"interfaces\.hub: face.hole=0\.041.* no face fits; there are"),
        (('"40 mm"', '"40 parsec"'), r"interfaces\.hub\.hole: '40 parsec' is no length"),
        (("hub = { hole", "hub = { whole"), r"interfaces\.hub\.whole: unknown key"),
        (('reference = "hub"', 'reference = "hub"\nunit = "mm"'), "unit: belongs to a mesh file"),
        (("robot_link.step", "robot_link.msh"), "cad: needs a CAD file as mesh"),
        (('size = "15 mm"', "size = -1"), "size"),
        (("refine = [{", "refine = [{ sizes = 3,"), "sizes: unknown key"),
        (("near = [0, 0, ", "set = 'x', near = [0, 0, "), "give one of set, point, plane, or"),
    ],
)
def test_mistakes_in_part_files(folder, change, message):
    Path("link.toml").write_text(PART.replace(*change, 1))
    with pytest.raises(InputError, match=message):
        pp.read_part("link.toml").reduce()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reduce", "robot_link.step"), "give --material"),
        (("reduce", "robot_link.step", "--material", ALUMINIUM), "give --interface NAME=FACE"),
        (
            ("reduce", "robot_link.step", "--material", ALUMINIUM, "--interface", "hub"),
            "'hub' is not NAME=FACE",
        ),
        (
            ("reduce", "robot_link.step", "--material", ALUMINIUM, "--interface", "hub=hole"),
            "is no list of conditions",
        ),
        (("mesh", "robot_link.step", "-o", "a.vtu"), "give a name that ends with .msh"),
        (("mesh", "robot_link.step", "--size", "4 miles"), "'4 miles' is no length"),
        (("converge", "robot_link.step"), "give --material"),
    ],
)
def test_mistakes_on_the_command_line(folder, capsys, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_converge_extrapolates(folder, capsys):
    Path("link.toml").write_text(PART.replace("15 mm", "24 mm"))
    code, out, _ = run(capsys, "converge", "link.toml", "--modes", "3", "--json", "-o", "c.png")
    assert code == 0
    found = json.loads(out.splitlines()[0] if out.startswith('{"') else out[: out.rindex("}") + 1])
    assert found["nodes"] == sorted(found["nodes"])
    assert len(found["quantities"]) == 3 + 6
    for each in found["quantities"]:
        assert abs(each["values"][-1] / each["value"] - 1.0) < 0.05
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_extrapolation_is_exact_for_powers():
    h = np.array([1.0, 0.72, 0.49])
    for p in (1.0, 2.0, 3.7):
        found = extrapolated(h, 5.0 + 0.3 * h**p)
        assert found.value == pytest.approx(5.0, abs=1e-10)
        assert found.order == pytest.approx(p, abs=1e-9)
    swinging = extrapolated(h, np.array([5.0, 5.2, 5.1]))
    assert swinging.value == 5.1
    assert swinging.uncertainty == pytest.approx(0.2)
    assert np.isnan(swinging.order)
    # values that fall too slowly for an order are not converged: their error is not zero
    slow = np.array([240.699, 240.216, 239.808])
    found = Quantity("mode 1", "Hz", slow, extrapolated(np.array([1.56, 1.22, 0.979]), slow))
    assert np.isnan(found.limit.order)
    assert found.error == pytest.approx(0.891 / 239.808)
    assert np.isnan(extrapolated(h, np.full(3, 5.0)).order)


def workers(folder):
    """Processes whose command names a folder."""
    found = (each for each in Path("/proc").glob("[0-9]*/cmdline"))
    return [each for each in found if bytes(folder) in _content(each)]


def _content(path):
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_netgen_ends_with_the_command(folder, number):
    """With its temporary folder, also where the command is killed."""
    temporary = folder / "temporary"
    temporary.mkdir()
    arguments = ["mesh", "robot_link.step", "-o", "link.msh", "--size", "0.6mm"]
    command = subprocess.Popen(
        [sys.executable, "-m", "preprocess", *arguments],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    while not workers(temporary) and command.poll() is None:
        time.sleep(0.05)
    time.sleep(1.0)  # it reads the file
    assert workers(temporary)
    command.send_signal(number)
    _, told = command.communicate(timeout=20)
    assert command.returncode == (129 if number == signal.SIGHUP else -9), told
    until = time.monotonic() + 20.0
    while (workers(temporary) or any(temporary.iterdir())) and time.monotonic() < until:
        time.sleep(0.1)
    assert not workers(temporary)
    assert not any(temporary.iterdir())
    if number == signal.SIGHUP:
        assert [each.name for each in folder.iterdir() if "lock" in each.name] == []


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
from preprocess.__main__ import main
main(["inspect", "robot_link.step"])
"""


def test_a_temporary_folder_without_space_is_named(folder, capsys, monkeypatch):
    """The machine failed, not the geometry."""
    temporary = folder / "temporary"
    temporary.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    told = f"error: {temporary}: cannot be written (File too large); check the folder"
    assert ended.returncode == 4
    assert ended.stderr.splitlines()[-1].startswith(told)
    monkeypatch.setattr("tempfile.tempdir", str(folder / "missing"))
    code, _, err = run(capsys, "inspect", "robot_link.step")
    assert code == 4
    assert "missing: cannot be written (No such file or directory); check the folder" in err


def test_names_of_files_need_not_be_unicode(folder, capsys):
    os.rename("robot_link.step", b"\377.step")
    assert run(capsys, "inspect", "\udcff.step")[0] == 0
