"""Mesh files in every format, named sets, and queries of a mesh."""

import pathlib
import subprocess
import sys

import meshio
import numpy as np
import pytest

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh
from preprocess.mesh_files.read import read_mesh

for kind in ("wedge15", "pyramid13"):
    # meshio 5.3 has no dimension for these cells
    meshio._mesh.topological_dimension.setdefault(kind, 3)
LINK = pathlib.Path(__file__).parents[3] / "meshes" / "link.msh"
SKINS = {3: "triangle", 6: "triangle6", 4: "quad", 8: "quad8", 9: "quad9"}


def volume(mesh):
    """By the divergence theorem over the surface triangles: ∫ x·n dA / 3."""
    a, b, c = (mesh.nodes[mesh.surface_triangles()[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def skin(mesh, name, places):
    """Faces of the elements of one type whose nodes all are in a set, as cells of meshio."""
    found = []
    for table in ELEMENTS[name].faces:
        faces = mesh.blocks[name].connectivity[:, table.nodes].reshape(-1, table.nodes.shape[1])
        found.append((SKINS[faces.shape[1]], faces[np.isin(faces, places).all(axis=1)]))
    return max(found, key=lambda cells: len(cells[1]))


def with_groups(mesh, name):
    """meshio's mesh in mm with the end x1 as physical group 7 "tip side" and the solid as physical
    group 3 "body".
    """
    kind, faces = skin(mesh, name, mesh.node_set("x1"))
    cells = [(kind, faces), (ELEMENTS[name].meshio_name, mesh.blocks[name].connectivity)]
    tags = [np.full(len(faces), 7), np.full(len(mesh.blocks[name].connectivity), 3)]
    groups = {"tip side": np.array([7, 2]), "body": np.array([3, 3])}
    dim_tags = np.column_stack(
        [np.where(np.isin(np.arange(len(mesh.nodes)), faces), 2, 3), np.ones(len(mesh.nodes))]
    ).astype(int)
    return meshio.Mesh(
        mesh.nodes * 1e3,
        cells,
        point_data={"gmsh:dim_tags": dim_tags},
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": [np.ones_like(t) for t in tags]},
        field_data=groups,
    )


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("version", ["gmsh22", "gmsh"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_gmsh_keeps_elements_and_physical_names(tmp_path, capfd, name, version, binary):
    box = box_mesh((0.4, 0.2, 0.1), (2, 2, 1), name)
    path = tmp_path / "box.msh"
    with_groups(box, name).write(path, file_format=version, binary=binary)
    capfd.readouterr()
    mesh = read_mesh(path, unit="mm")
    assert capfd.readouterr() == ("", "")
    assert volume(mesh) == pytest.approx(0.4 * 0.2 * 0.1, rel=1e-12)
    places = box.nodes[box.blocks[name].connectivity]
    np.testing.assert_allclose(mesh.nodes[mesh.blocks[name].connectivity], places, atol=1e-15)
    assert len(mesh.node_set("tip side")) == len(box.node_set("x1"))
    np.testing.assert_allclose(mesh.nodes[mesh.node_set("tip side"), 0], 0.4)
    assert len(mesh.element_sets["body"]) == len(box.blocks[name].ids)
    assert mesh.unit == "mm"
    assert mesh.source == str(path)


def test_physical_group_without_a_name_is_called_by_its_number(tmp_path):
    box = box_mesh((0.4, 0.2, 0.1), (1, 1, 1), "hex8")
    content = with_groups(box, "hex8")
    content.field_data = {}
    content.write(tmp_path / "box.msh", file_format="gmsh22", binary=False)
    np.testing.assert_array_equal(
        read_mesh(tmp_path / "box.msh", unit="mm").node_set("physical 7"), box.node_set("x1")
    )


def test_the_link_agrees_with_its_readme():
    mesh = read_mesh(LINK, unit="mm")
    assert {name: len(block.ids) for name, block in mesh.blocks.items()} == {"hex20": 556}
    assert 3 * len(mesh.nodes) == 10833
    assert volume(mesh) == pytest.approx(226.3e-6, rel=2e-3)
    for name, x in (("hub_face", 0.0), ("tip_face", 0.25)):
        bore = mesh.nodes[mesh.node_set(name)]
        np.testing.assert_allclose(np.hypot(bore[:, 0] - x, bore[:, 2]), 0.0125, rtol=2e-4)
        assert np.ptp(bore[:, 1]) == pytest.approx(0.026)


@pytest.mark.parametrize("name", ELEMENTS)
def test_vtu_keeps_elements_and_flags(tmp_path, name):
    box = box_mesh((4.0, 2.0, 1.0), (2, 1, 1), name)
    flag = np.isin(np.arange(len(box.nodes)), box.node_set("x1")).astype(np.int32)
    cells = [(ELEMENTS[name].meshio_name, box.blocks[name].connectivity)]
    meshio.Mesh(box.nodes, cells, point_data={"tip": flag, "temperature": box.nodes[:, 0]}).write(
        tmp_path / "box.vtu"
    )
    mesh = read_mesh(tmp_path / "box.vtu", unit="in")
    assert volume(mesh) == pytest.approx(8.0 * 0.0254**3, rel=1e-12)
    np.testing.assert_array_equal(mesh.node_set("tip"), box.node_set("x1"))
    assert list(mesh.node_sets) == ["tip"]


@pytest.mark.parametrize("name", ["tet4", "tet10", "hex8", "hex20"])
def test_nastran_keeps_elements_and_numbers(tmp_path, name):
    box = box_mesh((4.0, 2.0, 1.0), (2, 1, 1), name)
    cells = [(ELEMENTS[name].meshio_name, box.blocks[name].connectivity)]
    data = {"nastran:ref": [np.full(len(cells[0][1]), 5)]}
    meshio.Mesh(box.nodes, cells, cell_data=data).write(tmp_path / "box.bdf")
    mesh = read_mesh(tmp_path / "box.bdf", unit="cm")
    assert volume(mesh) == pytest.approx(8e-6, rel=1e-9)
    np.testing.assert_array_equal(mesh.node_ids, np.arange(1, len(box.nodes) + 1))
    assert len(mesh.element_sets["property 5"]) == len(cells[0][1])


INP = """*HEADING
two bricks, the nodes in two blocks, numbers with gaps
*Node, nset=base
10, 0., 0., 0.
11, 1., 0., 0.
12, 1., 1., 0.
13, 0., 1., 0.
*NODE
20, 0., 0., 1.
21, 1., 0., 1.
22, 1., 1., 1.
23, 0., 1., 1.
** a comment
30, 0., 0., 2.
31, 1., 0., 2.
32, 1., 1., 2.
33, 0., 1., 2.
99, 5., 5., 5.
*Element, type=c3d8r, elset=lower
7, 10, 11, 12, 13,
20, 21, 22, 23
*ELEMENT, TYPE=C3D8, ELSET=upper
9, 20,21,22,23, 30,31,32,33
*NSET, NSET=top, GENERATE
30, 33, 1
*NSET, NSET=mixed
base, 30
99
*ELSET, ELSET=all
lower, upper
*SURFACE, NAME=roof, TYPE=ELEMENT
upper, S2
*SURFACE, NAME=front
all, S3
*SURFACE, NAME=corner, TYPE=NODE
top
*STEP
*STATIC
"""


def test_abaqus_sets_and_surfaces(tmp_path):
    path = tmp_path / "bricks.inp"
    path.write_text(INP)
    mesh = read_mesh(path, unit="m")
    numbers = {name: mesh.node_ids[places].tolist() for name, places in mesh.node_sets.items()}
    assert numbers == {
        "base": [10, 11, 12, 13],
        "top": [30, 31, 32, 33],
        "mixed": [10, 11, 12, 13, 30],
        "roof": [30, 31, 32, 33],
        "front": [10, 11, 20, 21, 30, 31],
        "corner": [30, 31, 32, 33],
    }
    assert {name: ids.tolist() for name, ids in mesh.element_sets.items()} == {
        "lower": [7],
        "upper": [9],
        "all": [7, 9],
    }
    assert mesh.blocks["hex8"].ids.tolist() == [7, 9]
    assert 99 not in mesh.node_ids
    assert volume(mesh) == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["tet4", "tet10", "hex8", "hex20"])
def test_abaqus_elements_of_every_order(tmp_path, name):
    box = box_mesh((4.0, 2.0, 1.0), (2, 1, 1), name)
    meshio.Mesh(box.nodes, [(ELEMENTS[name].meshio_name, box.blocks[name].connectivity)]).write(
        tmp_path / "box.inp"
    )
    mesh = read_mesh(tmp_path / "box.inp", unit="m")
    np.testing.assert_array_equal(mesh.blocks[name].connectivity, box.blocks[name].connectivity)


def test_abaqus_faces_have_their_middles(tmp_path):
    """Surface of face S1 … of one element of second order: exactly the nodes on one side of the
    box.
    """
    box = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex20")
    path = tmp_path / "box.inp"
    meshio.Mesh(box.nodes, [("hexahedron20", box.blocks["hex20"].connectivity)]).write(path)
    sides = {"S1": "z0", "S2": "z1", "S3": "y0", "S4": "x1", "S5": "y1", "S6": "x0"}
    with path.open("a") as file:
        file.writelines(f"*SURFACE, NAME={face}\n1, {face}\n" for face in sides)
    mesh = read_mesh(path, unit="m")
    for face, side in sides.items():
        np.testing.assert_array_equal(mesh.node_set(face), box.node_set(side))


def test_skin_elements_of_a_gmsh_export_become_sets(tmp_path):
    """Gmsh writes named surfaces to .inp as plane-stress elements; they are sets of the solid, not
    elements of it.
    """
    path = tmp_path / "bricks.inp"
    path.write_text(
        INP + "*ELEMENT, TYPE=CPS4, ELSET=wall\n50, 10, 11, 21, 20\n*NSET, NSET=wall nodes, "
        "ELSET=wall\n"
    )
    mesh = read_mesh(path, unit="m")
    assert mesh.node_ids[mesh.node_set("wall nodes")].tolist() == [10, 11, 20, 21]
    assert len(mesh.blocks["hex8"].ids) == 2


def test_vtu_keeps_regions(tmp_path):
    box = box_mesh((4.0, 2.0, 1.0), (4, 1, 1), "hex8")
    data = {
        "material": [np.array([3, 3, 7, 7])],
        "kept": [np.array([0, 1, 1, 0])],
        "error": [np.linspace(0, 1, 4)],
    }
    meshio.Mesh(box.nodes, [("hexahedron", box.blocks["hex8"].connectivity)], cell_data=data).write(
        tmp_path / "box.vtu"
    )
    mesh = read_mesh(tmp_path / "box.vtu", unit="m")
    found = {name: ids.tolist() for name, ids in mesh.element_sets.items()}
    assert found == {"material 3": [0, 1], "material 7": [2, 3], "kept": [1, 2]}


def test_nodes_on_a_plane():
    mesh = box_mesh((1.0, 1.0, 1.0), (2, 2, 2), "hex20")
    np.testing.assert_array_equal(mesh.nodes_on_plane((1, 0, 0), (2.0, 0, 0)), mesh.node_set("x1"))
    diagonal = mesh.nodes_on_plane((0.5, 0.5, 0.5), (1, 1, 1))
    np.testing.assert_allclose(mesh.nodes[diagonal].sum(axis=1), 1.5)
    assert len(mesh.nodes_on_plane((0, 0, 0), (1, 0, 0), tol=2.0)) == len(mesh.nodes)
    with pytest.raises(InputError, match=r"nearest is 0.3 m away"):
        mesh.nodes_on_plane((1.3, 0, 0), (1, 0, 0))
    with pytest.raises(InputError, match="has zero length"):
        mesh.nodes_on_plane((0, 0, 0), (0, 0, 0))


@pytest.mark.parametrize("name", ELEMENTS)
def test_surface_is_closed_and_encloses_the_volume(name):
    mesh = box_mesh((1.0, 2.0, 3.0), (2, 1, 2), name, origin=(5.0, 5.0, 5.0))
    a, b, c = (mesh.nodes[mesh.surface_triangles()[:, k]] for k in range(3))
    np.testing.assert_allclose(np.cross(b - a, c - a).sum(axis=0), 0.0, atol=1e-12)
    assert volume(mesh) == pytest.approx(6.0, rel=1e-12)
    on_surface = np.unique(mesh.surface_triangles())
    expected = np.unique(np.concatenate(list(mesh.node_sets.values())))
    np.testing.assert_array_equal(on_surface, expected)


def test_inverted_elements_are_turned_on_request_only(tmp_path):
    for name in ELEMENTS:
        box = box_mesh((1.0, 1.0, 1.0), (2, 1, 1), name)
        table = box.blocks[name].connectivity.copy()
        table[0] = table[0][ELEMENTS[name].mirrored]
        path = tmp_path / f"{name}.vtu"
        meshio.Mesh(box.nodes, [(ELEMENTS[name].meshio_name, table)]).write(path)
        with pytest.raises(
            InputError, match=r"1 element\(s\) inverted .* element 0 .*fix='orientation'"
        ):
            read_mesh(path, unit="m")
        mesh = read_mesh(path, unit="m", fix="orientation")
        np.testing.assert_array_equal(mesh.blocks[name].connectivity, box.blocks[name].connectivity)


def test_mesh_from_arrays_is_checked():
    corners = box_mesh((1, 1, 1), (1, 1, 1), "hex8").nodes
    with pytest.raises(InputError, match="unknown element type 'hex9'; choose one of tet4"):
        Mesh.from_arrays(corners, {"hex9": [[0]]})
    with pytest.raises(InputError, match="refers to node 11"):
        Mesh.from_arrays(corners, {"tet4": [[0, 1, 2, 11]]})


def test_the_link_is_made_by_its_script(tmp_path):
    path = tmp_path / "link.msh"
    subprocess.run(
        [sys.executable, LINK.with_name("make_link.py"), "--output", path],
        check=True,
        capture_output=True,
    )
    assert path.read_text() == LINK.read_text()
