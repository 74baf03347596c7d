"""Pages of CAD files and meshes: lists of faces with lines to paste, regions in the picture."""

import html
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from command_calls import command

import preprocess as pp
from preprocess.cad.mesh_cad import read_faces
from preprocess.cad.selectors import python_text, selector, toml_text
from preprocess.part_file.from_tables import PartFiles
from preprocess.part_file.regions import read_face

pytest.importorskip("netgen", reason="needs netgen-mesher")
TESTS = Path(__file__).parents[2]
sys.path.append(str(TESTS / "results"))
from test_player_browsers import needs_node, seen, skip_without  # noqa: E402

MESHES = TESTS.parent / "meshes"
PARTS = ("bracket", "robot_link", "sheet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PARTS)
def test_each_line_selects_its_face_alone(name):
    """As text of a part file and as Python: read again, they find the face, or its surface."""
    faces, nodes = read_faces(MESHES / f"{name}.step")
    for face in faces:
        found = selector(face, faces, nodes)
        table = tomllib.loads(f"x = {{ {toml_text(found)} }}")["x"]
        for wanted in (read_face(table, PartFiles.__new__(PartFiles)), eval(python_text(found))):
            chosen = wanted.chosen(faces, nodes)
            assert face in chosen
            assert len(chosen) == 1 or face.surface.kind in ("plane", "cylinder")
            # parts of one surface have the same radius
            assert {round(each.surface.radius, 9) for each in chosen} == {
                round(face.surface.radius, 9)
            }


def listed(text):
    """Names and lines of the list of a page."""
    rows = re.findall(r'<li data-region="([^"]*)".*?</li>', text, re.DOTALL)
    codes = re.findall(r"<code>(.*?)</code>", text, re.DOTALL)
    return [html.unescape(row) for row in rows], [html.unescape(code) for code in codes]


def test_view_of_a_cad_file(folder, capsys):
    shutil.copy(MESHES / "robot_link.step", folder)
    code, out, err = command(capsys, "view", "robot_link.step")
    assert (code, out, err) == (0, "view: robot_link.view.html\n", "")
    text = Path("robot_link.view.html").read_text(encoding="utf-8")
    rows, lines = listed(text)
    assert len(rows) == 12
    assert (
        rows[11] == "face 12: hole of diameter 40 mm, axis z, area 3770 mm², centre (0, 0, 15) mm"
    )
    assert 'interfaces.face12 = { hole = "40 mm" }' in lines
    assert "pp.face(hole=0.04)" in lines
    [scene] = re.findall(r'id="flexmbs-scene">(.*?)</script>', text, re.DOTALL)
    regions = json.loads(scene)["parts"][0]["regions"]
    assert len(regions) == 12
    assert regions[9]["colour"] == "#ff0000"  # of the file


def test_view_of_a_mesh(folder, capsys):
    shutil.copy(MESHES / "link.msh", folder)
    assert command(capsys, "view", "link.msh", "--unit", "mm")[0] == 0
    text = Path("link.view.html").read_text(encoding="utf-8")
    rows, lines = listed(text)
    assert [row.split(",")[0] for row in rows] == ["hub_face", "tip_face"]
    assert lines[:2] == ['interfaces.hub_face = { set = "hub_face" }', "pp.Averaged('hub_face')"]
    assert "from (-25, -13, -25) to (275, 13, 25) mm" in text


@pytest.mark.parametrize("name", ["part.STEP", "part.p21", "part.Stp"])
def test_suffixes_that_netgen_does_not_know(folder, name):
    shutil.copy(MESHES / "bracket.step", name)
    assert len(read_faces(name)[0]) == len(read_faces(MESHES / "bracket.step")[0])


def test_check_and_report_of_parts(folder, capsys):
    """Checks of CAD files, meshes and bodies list their contents; a body has a report."""
    shutil.copy(MESHES / "robot_link.step", folder)
    shutil.copy(MESHES / "link.msh", folder)
    bar = pp.reduce(
        pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
        interfaces={"root": pp.Rigid("x0")},
        reference="root",
    )
    bar.save("bar.h5")
    assert "face 12: hole of diameter 40 mm" in command(capsys, "check", "robot_link.step")[1]
    assert "node sets: hub_face (242)" in command(capsys, "check", "link.msh")[1]
    assert "root" in command(capsys, "check", "bar.h5")[1]
    assert command(capsys, "report", "bar.h5")[:2] == (0, "report: bar.html\n")
    for name in ("robot_link.step", "link.msh", "bar.h5"):
        code, _, err = command(capsys, "run", name)
        assert (code, err.count("\n")) == (2, 1)
        assert "see " in err


@needs_node
def test_the_pointer_names_the_face_that_is_drawn(folder, capsys):
    skip_without("chrome")
    shutil.copy(MESHES / "bracket.step", folder)
    assert command(capsys, "view", "bracket.step")[0] == 0
    found = seen("regions.mjs", "chrome", folder / "bracket.view.html", screen=False)
    assert (found["messages"], found["requests"]) == ([], [])
    points = found["points"]
    assert sum(named >= 0 for named, _ in points) > 20
    assert len({named for named, _ in points}) > 4
    # a pixel beside an edge may belong to the other side
    assert sum(named != drawn for named, drawn in points) <= 0.03 * len(points)
    clicked = found["clicked"]
    assert clicked["current"].index(True) == clicked["chosen"]
    assert clicked["current"].count(True) == 1
    assert clicked["note"] == found["rows"][clicked["chosen"]]
