"""Meshes of CAD files: volumes, faces, units, choices of solids; damaged files."""

import dataclasses
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError, MachineError
from preprocess.cad.netgen import Request, run_netgen

pytest.importorskip("netgen", reason="needs netgen-mesher")
MESHES = Path(__file__).parents[3] / "meshes"
STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)


@pytest.fixture(scope="module")
def link():
    return pp.mesh_cad(MESHES / "robot_link.step", size=12e-3, sizes={pp.face(hole=20e-3): 4e-3})


def area_of(mesh, face):
    """Area of the flat triangles between the corners, m²."""
    a, b, c = (mesh.nodes[face.triangles[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()


def test_volume_and_holes_are_exact(link):
    """Curved elements: the volume of round walls to 1e-5; nodes of a hole on its radius."""
    assert set(link.blocks) == {"tet10"}
    solid = run_netgen(Request(str(MESHES / "robot_link.step"), surface=True)).solids[0]
    volume = link.quality().blocks[0].volume.sum()
    assert volume == pytest.approx(solid.volume, rel=1e-4)
    for face in link.node_sets.faces:
        if face.is_hole:
            distance = face.surface.distances(link.nodes[face.nodes])
            assert distance.max() < 1e-8
        assert area_of(link, face) == pytest.approx(face.area, rel=3e-2)
    mass = pp.assemble(link, STEEL).mass
    assert mass == pytest.approx(7850.0 * volume, rel=1e-12)


def test_outward_faces_enclose_the_volume(link):
    """∮ x · dA / 3 over the flat triangles of all faces."""
    total = 0.0
    for face in link.node_sets.faces:
        a, b, c = (link.nodes[face.triangles[:, k]] for k in range(3))
        total += np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert total == pytest.approx(link.quality().blocks[0].volume.sum(), rel=2e-2)


def test_elements_are_small_on_refined_faces(link):
    def side(face):
        a, b = link.nodes[face.triangles[:, 0]], link.nodes[face.triangles[:, 1]]
        return np.median(np.linalg.norm(a - b, axis=1))

    tip, hub = (pp.face(hole=d).chosen(link.node_sets.faces, link.nodes)[0] for d in (20e-3, 40e-3))
    assert side(tip) < 5e-3 < 7e-3 < side(hub)


@pytest.mark.parametrize(
    ("conditions", "number"),
    [
        ({"hole": 20e-3}, 11),
        ({"hole": True, "near": (0, 0, 0)}, 12),
        ({"hole": True, "largest": True}, 12),
        ({"hole": True, "axis": (0, 0, -1), "near": (0.3, 0, 0)}, 11),
        ({"cylinder": 35e-3}, 5),
        ({"name": "motor_flange"}, 10),
        ({"colour": "red"}, 10),
        ({"colour": (1.0, 0.0, 0.0)}, 10),
        ({"plane": True, "normal": (0, 0, 1), "near": (0.3, 0, 0.03)}, 8),
        ({"plane": True, "normal": (0, 0, 1), "largest": True}, 4),
        ({"number": 3}, 3),
    ],
)
def test_faces_are_found_as_engineers_describe_them(link, conditions, number):
    found = pp.face(**conditions).chosen(link.node_sets.faces, link.nodes)
    assert [face.number for face in found] == [number]
    rows = pp.face(**conditions).rows(link.nodes, link.node_sets)
    np.testing.assert_array_equal(rows, link.node_sets[f"face {number}"])


def test_all_of_a_kind(link):
    holes = pp.face(hole=True, all=True).chosen(link.node_sets.faces, link.nodes)
    assert sorted(face.number for face in holes) == [11, 12]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"hole": True}, "2 faces fit; add a condition, or all=True: face 11: hole of diameter 20"),
        ({"plane": True, "top": (0, 0, 1)}, "2 faces fit.*face 8: plane.*face 10: plane"),
        ({"hole": 18e-3}, "no face fits; there are face 11: hole of diameter 20 mm.*face 12"),
        ({"name": "motor_flnge"}, "no face fits; the names are 'motor_flange'"),
        ({"sphere": True}, "no face fits of 12"),
    ],
)
def test_no_face_or_several_are_refused_with_a_list(link, conditions, message):
    with pytest.raises(InputError, match=message):
        pp.face(**conditions).rows(link.nodes, link.node_sets)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "give a condition"),
        ({"hole": -1.0}, "hole"),
        ({"hole": float("nan")}, "hole"),
        ({"near": (1.0, 2.0)}, "near"),
        ({"normal": (0, 0, 0)}, "normal"),
        ({"colour": "reddish"}, "colour 'reddish' is unknown"),
        ({"near": (0, 0, 0), "largest": True}, "near and largest exclude each other"),
        ({"hol": 3.0}, "hol"),
    ],
)
def test_conditions_that_make_no_sense(conditions, message):
    with pytest.raises(InputError, match=message):
        pp.face(**conditions)


def test_faces_of_one_surface_are_one():
    """The two halves of a bore, as many exporters write it."""
    from preprocess.cad.faces import CadFace, Face
    from preprocess.cad.surfaces import Surface

    angle = np.linspace(0, 2 * np.pi, 41)[:-1]
    ring = 0.01 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    x = np.vstack([ring, ring + (0, 0, 0.02)])
    rows = np.arange(80).reshape(2, 40)
    halves = [rows[:, :21].ravel(), np.append(rows[:, 20:], rows[:, :1], axis=1).ravel()]
    axis = Surface("cylinder", np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.01)
    faces = [
        CadFace(k, axis, nodes, np.zeros((0, 3), int), 6e-4, x[nodes].mean(axis=0), True, np.pi)
        for k, nodes in enumerate(halves, 1)
    ]
    assert len(Face(hole=0.02).chosen(faces, x)) == 2
    faces[1] = dataclasses.replace(faces[1], nodes=rows[:, 25:35].ravel())  # apart
    with pytest.raises(InputError, match="2 faces fit"):
        Face(hole=0.02).chosen(faces, x)


def test_units_of_the_file_and_brep(tmp_path):
    """The same part in metres and in inches, and as BREP in mm."""
    text = (MESHES / "bracket.step").read_text()
    reference = pp.mesh_cad(MESHES / "bracket.step", size=20e-3)
    mm = "SI_UNIT(.MILLI.,.METRE.)"
    assert mm in text
    (tmp_path / "metres.step").write_text(text.replace(mm, "SI_UNIT($,.METRE.)"))
    large = pp.mesh_cad(tmp_path / "metres.step", size=20.0)
    np.testing.assert_allclose(np.ptp(large.nodes, 0), 1e3 * np.ptp(reference.nodes, 0), rtol=1e-9)
    program = (
        "from netgen.occ import OCCGeometry; "
        f"OCCGeometry({str(MESHES / 'bracket.step')!r}).shape.WriteBrep('bracket.brep')"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    brep = pp.mesh_cad(tmp_path / "bracket.brep", size=20e-3)
    np.testing.assert_allclose(np.ptp(brep.nodes, 0), np.ptp(reference.nodes, 0), rtol=1e-9)


def test_meshes_are_reproducible_and_linear_on_request():
    first, second = (pp.mesh_cad(MESHES / "sheet.step", order=1) for _ in range(2))
    assert set(first.blocks) == {"tet4"}
    np.testing.assert_array_equal(first.nodes, second.nodes)
    with pytest.raises(InputError, match="no face fits"):  # the bend is no hole
        pp.face(hole=6e-3).rows(first.nodes, first.node_sets)


def test_several_solids(tmp_path):
    program = (
        "from netgen.occ import *; a = Box(Pnt(0,0,0), Pnt(10,10,10)); a.name = 'foot'; "
        "b = Box(Pnt(10,0,0), Pnt(30,10,10)); Compound([a, b]).WriteStep('two.step')"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    path = tmp_path / "two.step"
    with pytest.raises(InputError, match=r"holds 2 solids; choose with solid=: 1 .*1 cm³"):
        pp.mesh_cad(path)
    with pytest.raises(InputError, match="holds 2 solids"):
        pp.mesh_cad(path, solid="hand")
    volumes = [pp.mesh_cad(path, solid=k).quality().blocks[0].volume.sum() for k in (1, 2)]
    np.testing.assert_allclose(volumes, [1e-6, 2e-6], rtol=1e-9)
    whole = pp.mesh_cad(path, solid="all")  # conforming at the common face
    assert sorted(len(ids) > 0 for ids in whole.element_sets.values()) == [True, True]
    assert whole.quality().blocks[0].volume.sum() == pytest.approx(3e-6, rel=1e-9)


def test_inverted_curved_elements_are_straightened():
    from preprocess.cad.mesh_cad import straighten

    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    pairs = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
    nodes = np.vstack([x, [(x[a] + x[b]) / 2 for a, b in pairs]])
    straight = nodes.copy()
    assert not straighten(nodes, np.arange(10)[None]).size
    nodes[4] = (0.5, 0.8, 0.0)  # beyond the opposite side
    moved = straighten(nodes, np.arange(10)[None])
    assert moved == pytest.approx([0.8])
    np.testing.assert_allclose(nodes, straight, atol=1e-15)


def test_reduced_cad_part_agrees_with_a_structured_mesh(tmp_path):
    """Frequencies of a bar from STEP and from hexahedra of second order."""
    program = "from netgen.occ import *; Box(Pnt(0,0,0), Pnt(200,20,10)).WriteStep('bar.step')"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    ends = {
        "root": pp.Rigid(pp.face(plane=True, normal=(-1, 0, 0))),
        "tip": pp.Rigid(pp.face(plane=True, normal=(1, 0, 0))),
    }
    how = {"reference": "root", "method": pp.CraigBampton(modes=8)}
    found = pp.reduce(pp.mesh_cad(tmp_path / "bar.step", size=5e-3), STEEL, interfaces=ends, **how)
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    known = pp.reduce(
        pp.box_mesh((0.2, 0.02, 0.01), (40, 4, 2), "hex20"), STEEL, interfaces=ends, **how
    )
    np.testing.assert_allclose(found.modes.frequency[:6], known.modes.frequency[:6], rtol=7e-3)
    assert found.mass == pytest.approx(known.mass, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.step", b"", "is no STEP file"),
        ("a.step", b"hello", "is no STEP file"),
        ("a.step", b"ISO-10303-21;\nHEADER;\n", "Open CASCADE cannot read it|holds no solid"),
        ("a.iges", b"nothing of the kind", "Open CASCADE cannot read it|holds no solid"),
        ("a.sldprt", b"x", "'.sldprt' is no CAD format; use one of .step"),
        ("missing.step", None, "no such file"),
    ],
)
def test_files_that_are_none(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        pp.mesh_cad(tmp_path / name)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_end_in_one_line(tmp_path, seed):
    """Netgen may end with a signal; the process of the user goes on."""
    rng = random.Random(seed)
    data = bytearray((MESHES / "bracket.step").read_bytes())
    for _ in range(3):
        at = rng.randrange(len(data) // 10, len(data))
        if rng.random() < 0.5:
            del data[at : at + rng.randrange(1, 400)]
        else:
            data[at : at + 3] = rng.choice([b"1e308", b"#999999", b"-1.", b"\0\0\0"])
    path = tmp_path / "damaged.step"
    path.write_bytes(data)
    problems: tuple[str, ...] = ()
    try:
        assert np.isfinite(pp.mesh_cad(path, size=30e-3).nodes).all()
    except InputError as error:
        problems = error.problems
    assert all(str(path) in line and len(line) < 1500 for line in problems)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0.0}, "size"),
        ({"size": "4 mm"}, "size"),
        ({"order": 3}, "order: is 3"),
        ({"grading": 2.0}, "grading: is 2"),
        ({"curvature": -1.0}, "curvature"),
        ({"sizes": {"hub": 1e-3}}, "sizes"),
        ({"sizes": {pp.face(hole=1.0): 1e-3}}, "no face fits"),
        ({"solid": 4}, "holds 1 solids"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        pp.mesh_cad(MESHES / "sheet.step", **options)


def test_without_netgen(monkeypatch):
    monkeypatch.setattr("preprocess.cad.netgen.find_spec", lambda name: None)
    with pytest.raises(MachineError, match=r'pip install "flexmbs\[cad\]"'):
        pp.mesh_cad(MESHES / "sheet.step")
