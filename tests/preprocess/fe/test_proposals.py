"""Proposed interfaces: spiders, sets of nodes and round holes, as lines that can be pasted."""

import json
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from deck_writers import nastran, number

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.proposals import part_line, proposals, python_line

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
R, r, H = 0.05, 0.01, 0.01


def perforated(kind):
    """Square plate with a round hole, 16 elements around it."""
    box = pp.box_mesh((1.0, 1.0, H), (16, 3, 1), kind)
    x, y, z = box.nodes.T
    c, s = np.cos(-2 * np.pi * x), np.sin(-2 * np.pi * x)
    distance = r + (R / np.maximum(abs(c), abs(s)) - r) * y
    points = np.column_stack([distance * c, distance * s, z]).round(9)
    used, index = np.unique(points, axis=0, return_inverse=True)
    tables = {name: index.ravel()[each.connectivity] for name, each in box.blocks.items()}
    return pp.Mesh.from_arrays(used, tables)


def deck(path):
    """A box with two spiders, one of them with a mass, and two sets."""
    box = pp.box_mesh((100.0, 20.0, 20.0), (4, 1, 1), "hex8")
    nodes = np.vstack([box.nodes, [(120.0, 10, 10), (-15.0, 10, 10)]])
    tip, root = ([number(k) for k in np.flatnonzero(box.nodes[:, 0] == x)] for x in (100, 0))
    centres = [number(len(nodes) - k) for k in (2, 1)]
    extra = f"RBE2,30,{centres[0]},123456,{','.join(map(str, tip))}\n"
    extra += f"RBE3,31,,{centres[1]},123456,1.0,123,{root[0]},{root[1]}\n,{root[2]}\n"
    extra += f"CONM2,50,{centres[1]},,1e-5\nSPC1,5,123,{root[0]}\n"
    extra += f"SPC1,4,123,{','.join(map(str, root))}"
    path.write_text(nastran(nodes, {"hex8": box.blocks["hex8"].connectivity}, extra))
    return path


def test_spiders_and_sets_of_a_deck(tmp_path):
    mesh = pp.read_mesh(deck(tmp_path / "box.bdf"), unit="mm", structural=True)
    found = {each.name: each for each in proposals(mesh)}
    assert list(found) == ["RBE2 30", "RBE3 31", "SPC 4"]  # SPC 5 is one node, which cannot turn
    assert found["RBE2 30"].what == "centre of a rigid spider of 4 nodes"
    assert found["RBE3 31"].what.endswith("which carries a mass")
    assert np.allclose(found["RBE2 30"].position, (0.12, 0.01, 0.01))
    assert found["SPC 4"].nodes == 4
    ends = pp.spider_interfaces(mesh)
    assert list(ends) == ["RBE2 30", "RBE3 31"]
    body = pp.reduce(mesh, interfaces=ends, reference="RBE2 30", method=pp.CraigBampton(modes=3))
    apart = body.frames["RBE3 31"].x - body.frames["RBE2 30"].x
    assert np.allclose(apart, (-0.135, 0, 0))


@pytest.mark.parametrize("kind", ["hex8", "hex20", "tet4", "tet10", "wedge15"])
def test_a_round_hole(kind):
    """Centre and radius are exact; the nodes are those of the hole."""
    mesh = perforated(kind)
    (hole,) = (each for each in proposals(mesh) if each.name.startswith("hole"))
    assert np.allclose(hole.position, (0, 0, H / 2), atol=1e-9)
    assert "radius 10 mm, 10 mm long" in hole.what
    on_hole = np.hypot(*mesh.nodes[:, :2].T) < r * (1 + 1e-6)
    assert hole.nodes == on_hole.sum()
    ends = {"hole": hole.interface}
    body = pp.reduce(
        mesh, STEEL, interfaces=ends, reference="hole", method=pp.CraigBampton(modes=1)
    )
    assert np.allclose(body.com, (0, 0, 0), atol=1e-4)


def test_boxes_have_no_holes_and_their_faces_are_proposed():
    found = proposals(pp.box_mesh((0.1, 0.02, 0.02), (5, 2, 2)))
    assert [each.name for each in found] == ["x0", "x1", "y0", "y1", "z0", "z1"]


def test_lines_can_be_pasted(tmp_path):
    """The line of a part file, and that of Python, give the interface."""
    mesh = perforated("hex8")
    boxes = pp.box_mesh((0.1, 0.02, 0.02), (5, 2, 2))
    for each in [*proposals(mesh), *proposals(boxes)]:
        (table,) = tomllib.loads(part_line(each))["interfaces"].values()
        (made,) = eval("{" + python_line(each) + "}").values()
        assert type(made) is type(each.interface)
        assert table["kind"] == made.kind
        assert made.where == each.interface.where
        assert (table.get("set") or tuple(table["point"])) == getattr(
            made.where, "position", made.where
        )


def test_files_without_spiders(tmp_path):
    with pytest.raises(InputError, match="the file has no spiders with a centre"):
        pp.spider_interfaces(pp.box_mesh((0.1, 0.02, 0.02), (5, 1, 1)))


def run(*arguments):
    command = [sys.executable, "-m", "preprocess", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_inspect_and_reduce_with_all_spiders(tmp_path):
    path = deck(tmp_path / "box.bdf")
    shown = run("inspect", path, "--unit", "mm")
    assert 'interfaces."RBE2 30" = { kind = "rigid", set = "RBE2 30 centre" }' in shown.stdout
    assert "'RBE2 30': pp.Rigid('RBE2 30 centre')," in shown.stdout
    listed = json.loads(run("inspect", path, "--unit", "mm", "--json").stdout)["interfaces"]
    assert [each["name"] for each in listed] == ["RBE2 30", "RBE3 31", "SPC 4"]
    made = run("reduce", path, "--unit", "mm", "--all-spiders", "--modes", 3)
    assert made.returncode == 0, made.stderr
    assert re.search(r"frame RBE2 30: .*\nframe RBE3 31: ", made.stdout)
    other = tmp_path / "one.h5"
    one = run("reduce", path, "--unit", "mm", "--interface", "hub=RBE2 30 centre", "-o", other)
    assert "frame hub: 0, 0, 0 mm, rigid" in one.stdout
    lumped = run("reduce", path, "--unit", "mm", "--all-spiders", "--mass", "deck", "-o", other)
    assert lumped.returncode == 0, lumped.stderr
    assert "lumped mass" in str(fm.FlexibleBodyData.load(other).provenance)
    wrong = run("reduce", path, "--unit", "mm", "--all-spiders", "--mass", "lump", "-o", other)
    assert wrong.returncode == 2
    assert "mass" in wrong.stderr
    missing = run("reduce", path)
    assert missing.returncode == 2
    assert "give --unit" in missing.stderr
    assert "either --all-spiders or --interface NAME=SET" in missing.stderr


PART = """format = "flexmbs-part/1"
mesh = "box.bdf"
unit = "mm"
structural = true
{more}
"""


def test_spiders_of_a_part_file(tmp_path):
    deck(tmp_path / "box.bdf")
    path = tmp_path / "box.toml"
    path.write_text(PART.format(more='interfaces = "spiders"\nmethod.modes = 3'))
    body = pp.read_part(path).reduce()
    assert list(body.frames) == ["RBE2 30", "RBE3 31"]
    assert np.allclose(body.frames["RBE2 30"].x, 0)  # the first is the reference
    path.write_text(PART.format(more='interfaces = "spider"'))
    with pytest.raises(InputError, match="interfaces: must be a table") as caught:
        pp.read_part(path)
    assert "reference: is missing" in str(caught.value)
