"""``preprocess``: exit codes, messages, files, and what it imports."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from part_files import PART, bar, call

from flexmbs.__main__ import main as flexmbs
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.part_file import read_part

Captured = pytest.CaptureFixture[str]
LEFT = "plane = { point = [0.0, 0.0, 0.0], normal = [1.0, 0.0, 0.0] }"
MESH = Path(__file__).parents[3] / "meshes" / "link.msh"


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return bar(tmp_path)


def test_help_imports_no_numpy() -> None:
    code = (
        "import sys, preprocess.__main__ as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'numpy', 'scipy', 'numba', 'matplotlib', 'h5py', 'pydantic', 'jinja2', "
        "'meshio'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    for command in ("reduce", "inspect", "compare", "convert", "report", "materials"):
        assert command in done.stdout


def test_materials(tmp_path: Path, capsys: Captured) -> None:
    assert call("materials") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "name",
        "E",
        "[GPa]",
        "nu",
        "rho",
        "[kg/m³]",
        "yield",
        "[MPa]",
        "note",
    ]
    assert any(
        line.split()[:6] == ["Al", "6061-T6", "68.3", "0.33", "2710", "248"] for line in lines
    )
    assert call("materials", "s 355") == 0
    told = capsys.readouterr().out
    assert "S355" in told
    assert "EN 1993-1-1:2005, table 3.1" in told
    own = tmp_path / "own.toml"
    own.write_text(
        'format = "flexmbs-materials/1"\n[materials.mine]\nE = 1e9\nnu = 0.3\nrho = 1e3\n'
        'source = "test"\n'
    )
    assert call("materials", "--file", own, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [found[0]["name"], found[0]["E"]] == ["mine", 1e9]
    assert len(found) == len(lines)
    assert call("materials", "s356") == 2
    assert "did you mean 'S355'?" in capsys.readouterr().err


def test_reduce_and_inspect(part: Path, capsys: Captured) -> None:
    assert call("reduce", part) == 0
    told = capsys.readouterr()
    assert "bar: 78 kg, centre of mass 500, 0, 0 mm, 8 modes" in told.out
    assert told.err == ""
    data = FlexibleBodyData.load(part.with_suffix(".h5"))
    assert data.mass == pytest.approx(78.0, rel=1e-9)
    assert call("inspect", part.with_suffix(".h5"), "--json") == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["sound"] is True
    assert numbers["frames"].keys() == {"left", "right"}
    slender = 78.0 * (1.0 + 0.1**2) / 12  # rods about their middle
    np.testing.assert_allclose(
        np.diag(numbers["inertia"]), [78.0 * 0.02 / 12, slender, slender], rtol=1e-9
    )


def test_unchanged_parts_are_not_computed_again(part: Path, capsys: Captured) -> None:
    body = part.with_suffix(".h5")

    def made() -> str:
        return str(FlexibleBodyData.load(body).provenance["created"]) + str(body.stat().st_mtime_ns)

    assert call("reduce", part) == 0
    first = made()
    part.write_text("# a comment\n" + PART)
    assert call("reduce", part) == 0
    assert f"unchanged: {body}" in capsys.readouterr().out
    assert made() == first
    assert call("reduce", part, "--force") == 0
    forced = made()
    assert forced != first
    part.write_text(PART.replace("damping = 0.01", "damping = 0.02"))
    assert call("reduce", part) == 0
    assert FlexibleBodyData.load(body).modes.damping[0] == 0.02
    mesh = part.with_suffix(".vtu")
    mesh.write_bytes(mesh.read_bytes() + b"\n")  # the same mesh, but not verified
    assert call("reduce", part) == 0
    assert "unchanged:" not in capsys.readouterr().out
    body.write_bytes(body.read_bytes()[:5000])
    assert call("reduce", part) == 0
    assert FlexibleBodyData.load(body).validate().ok


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nu = 0.3", "nu = 0.5", "bar.toml:9: material.nu: nu = 0.5 is outside"),
        ("nu = 0.3\n", "", "bar.toml:7: material.nu: is missing"),
        ("E = 2e11", 'E = "steel"', "bar.toml:8: material.E: must be a number, not 'steel'"),
        ('unit = "m"\n', "", "bar.toml: unit: is missing"),
        ("damping = 0.01", "dampign = 0.01", "bar.toml:6: dampign: unknown key; did you mean 'damping'?"),
        ("damping = 0.01", "damping = -0.01", "bar.toml:6: damping: ratio -0.01 of mode 1; ratios must not be negative"),
        ("damping = 0.01", "damping = [0.01, 0.02]", "bar.toml:6: damping: 2 ratios for 8 modes"),
        ('mesh = "bar.vtu"', 'mesh = "../bar.vtu"', "bar.toml:3: mesh: '../bar.vtu' is not inside the part's folder"),
        ('mesh = "bar.vtu"', 'mesh = "http://x/bar.vtu"', "'http://x/bar.vtu' is a URL; only files are read"),
        ('mesh = "bar.vtu"', 'mesh = "bra.vtu"', "bra.vtu: no such file"),
        ("plane = { point = [0.0, 0.0, 0.0],", "plane = {", "bar.toml:12: interfaces.left.plane.point: is missing"),
        ("plane = { point", 'set = "end"\nplane = { point', "or conditions of a face, not set and plane"),
        ("[0.0, 0.0, 0.0]", "[0.05, 0.0, 0.0]", "bar.toml:11: interfaces.left: no node on the plane"),
        (LEFT, 'set = "end"', "interfaces.left: the mesh has no set 'end'"),
        (LEFT, 'kind = "welded"', "interfaces.left.kind: unknown kind 'welded'; known: averaged, rigid"),
        ("modes = 2", "modes = 0", "bar.toml:16: method.modes: is 0"),
        ("modes = 2", "modes = 2000", "bar.toml:16: method.modes: 2000 requested; the body has"),
        ("modes = 2", 'kind = "magic"', "bar.toml:16: method.kind: unknown kind 'magic'"),
        ("modes = 2", "wheels = 2", "bar.toml:16: method.wheels: unknown key"),
        ('reference = "left"', 'reference = "middle"', "bar.toml:5: reference: no interface 'middle'"),
        ("[method]", "[method", "bar.toml:15: not TOML"),
    ],
)  # fmt: skip
def test_bad_parts(part: Path, old: str, new: str, message: str, capsys: Captured) -> None:
    assert old in PART
    part.write_text(PART.replace(old, new, 1))
    assert call("reduce", part) == 2
    told = capsys.readouterr().err
    assert message in told
    assert all(line.startswith(("error: ", "warning: ")) for line in told.splitlines())
    assert not part.with_suffix(".h5").exists()


def test_inspect_a_mesh(capsys: Captured) -> None:
    assert call("inspect", MESH, "--unit", "mm", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["elements"].keys() == {"hex20"}
    hexahedra = facts["elements"]["hex20"]
    assert hexahedra["number"] == 556
    assert hexahedra["volume"] == pytest.approx(226.3e-6, rel=1e-3)  # meshes/README.md
    assert hexahedra["scaled_jacobian"][0] == pytest.approx(0.61, abs=0.005)
    assert facts["node sets"] == {"hub_face": 242, "tip_face": 242}
    np.testing.assert_allclose(facts["high"], [0.275, 0.013, 0.025], rtol=1e-6)
    assert call("inspect", MESH) == 0
    told = capsys.readouterr()
    assert "3611 nodes, 10833 degrees of freedom, from -25, -13, -25 to 275, 13, 25 m" in told.out
    assert "read in m; set another with --unit" in told.out
    assert "hub_face (242), tip_face (242)" in told.out
    assert told.err == ""


def test_flexmbs_preprocess_is_the_same(part: Path, capsys: Captured) -> None:
    part.write_text(PART.replace("modes = 2", "modes = 0"))
    with pytest.raises(SystemExit) as stop:
        flexmbs(["preprocess", "reduce", str(part)])
    assert stop.value.code == 2
    assert "method.modes: is 0" in capsys.readouterr().err


def test_convert_and_inspect(part: Path, capsys: Captured) -> None:
    assert call("reduce", part) == 0
    body, sid, back = part.with_suffix(".h5"), part.with_suffix(".sid"), part.with_name("back.h5")
    assert call("convert", body, sid) == 0
    told = capsys.readouterr()
    assert f"bar: 78 kg, 8 modes: {sid}" in told.out
    assert f"warning: {sid}: SID does not support the surface" in told.err
    assert call("convert", sid, back) == 0
    assert FlexibleBodyData.load(back).mass == pytest.approx(78.0, rel=1e-9)
    capsys.readouterr()
    assert call("inspect", sid) == 0
    assert "ok       mass is positive" in capsys.readouterr().out
    for wrong, message in (
        (("--to", "magic"), "format: 'magic' is unknown; choose one of"),
        (("--from", "magic"), "format: 'magic' is unknown; choose one of"),
        (("--frame", "tip"), "--frame: 'tip' is not NAME=NODE"),
        (("--node", "tip"), "--node: 'tip' is not NAME=NODE"),
        (("--unit-out", "mm"), "flexmbs files are in SI units"),
    ):
        assert call("convert", sid, back, *wrong) == 2
        assert message in capsys.readouterr().err


def test_convert_to_a_superelement_in_other_units(part: Path, capsys: Captured) -> None:
    assert call("reduce", part) == 0
    body, dmig = part.with_suffix(".h5"), part.with_name("bar.dmig")
    assert call("convert", body, dmig, "--unit-out", "mm-t-s", "--node", "left=70") == 0
    assert "$ frame left: grid 70" in dmig.read_text()
    back = part.with_name("back.h5")
    assert call("convert", dmig, back, "--unit", "mm-t-s") == 0
    assert FlexibleBodyData.load(back).mass == pytest.approx(78.0, rel=1e-9)
    capsys.readouterr()
    assert call("convert", dmig, back) == 2
    assert "its units are mm-t-s, not m-kg-s" in capsys.readouterr().err
    assert call("inspect", dmig, "--unit", "mm-t-s") == 0
    assert "bar: 78 kg" in capsys.readouterr().out


def test_part_of_matrices(part: Path, capsys: Captured) -> None:
    assert call("reduce", part) == 0
    fe = read_part(part).model()
    scipy.io.mmwrite(part.with_name("K.mtx"), fe.K, precision=17)
    scipy.io.mmwrite(part.with_name("m.mtx"), fe.m, precision=17)
    np.savetxt(part.with_name("nodes.txt"), np.column_stack([fe.node_ids + 1, fe.nodes]))
    given = part.with_name("given.toml")
    head, rest = (
        PART.split("[material]")[0],
        "[interfaces.left]" + PART.split("[interfaces.left]")[1],
    )
    head = head.replace('mesh = "bar.vtu"\nunit = "m"\n', "")
    matrices = '[matrices]\nfile = "K.mtx"\nmass = "m.mtx"\nnodes = "nodes.txt"\n'
    given.write_text(head + matrices + rest)
    assert call("reduce", given) == 0
    same, own = (FlexibleBodyData.load(path.with_suffix(".h5")) for path in (given, part))
    np.testing.assert_allclose(same.modes.frequency, own.modes.frequency, rtol=1e-8)
    assert same.stress is None
    capsys.readouterr()
    assert call("inspect", part.with_name("K.mtx")) == 2  # which nodes?
    assert call("convert", part.with_name("K.mtx"), part.with_name("x.sid")) == 2
    given.write_text(head + 'mesh = "bar.vtu"\n' + matrices.replace("K.mtx", "../K.mtx") + rest)
    assert call("reduce", given) == 2
    told = capsys.readouterr().err
    assert "mesh: belongs to a mesh; omit it with [matrices]" in told
    assert "matrices.file: '../K.mtx' is not inside the part's folder" in told
