"""Gmsh 4.1 by hand: entities in several physical groups, parametric nodes, sparse numbers, text and
binary alike.
"""

import numpy as np
import pytest
from mesh_decks import (
    GMSH_NODES,
    GMSH_TEXT,
    gmsh_binary,
    gmsh_binary_partitioned,
    gmsh_text_partitioned,
)

from flexmbs.errors import InputError
from preprocess.mesh_files.read import read_mesh

FILES = {
    "text": GMSH_TEXT.encode(),
    "binary": gmsh_binary(),
    "text in partitions": gmsh_text_partitioned(),
    "binary in partitions": gmsh_binary_partitioned(),
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_entities_in_several_groups(tmp_path, content):
    path = tmp_path / "two.msh"
    path.write_bytes(content)
    mesh = read_mesh(path, unit="m", fix="orientation")
    assert mesh.node_ids.tolist() == [number for number, *_ in GMSH_NODES]
    np.testing.assert_allclose(mesh.nodes, [x for _, *x in GMSH_NODES])
    assert mesh.blocks["tet4"].ids.tolist() == [5, 9]
    assert sorted(mesh.element_sets["body"]) == [5, 9]
    assert mesh.element_sets["upper half"].tolist() == [9]
    assert mesh.node_ids[mesh.node_set("foot")].tolist() == [10, 20, 30]


BRICKS = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
2 9 "foot"
3 1 "all"
3 2 "steel"
$EndPhysicalNames
$Nodes
12
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
5 0 0 1
6 1 0 1
7 1 1 1
8 0 1 1
9 0 0 2
10 1 0 2
11 1 1 2
12 0 1 2
$EndNodes
$Elements
4
1 3 2 9 1 1 2 3 4
2 5 2 1 1 1 2 3 4 5 6 7 8
3 5 4 1 1 1 2 5 6 7 8 9 10 11 12
4 5 2 2 1 1 2 3 4 5 6 7 8
$EndElements
"""


def test_elements_that_gmsh_2_writes_once_for_each_group(tmp_path):
    """The lower brick is in two groups: once in the mesh, in both sets."""
    path = tmp_path / "bricks.msh"
    path.write_text(BRICKS)
    mesh = read_mesh(path, unit="m")
    assert mesh.quality().blocks[0].volume.tolist() == pytest.approx([1, 1])
    assert {name: sorted(members) for name, members in mesh.element_sets.items()} == {
        "all": [2, 3],
        "steel": [2],
    }
    path.write_text(BRICKS.replace("4 5 2 2 1", "4 5 2 1 1"))  # twice in the same group is a double
    with pytest.raises(InputError, match="share one face; remove the duplicates"):
        read_mesh(path, unit="m")


@pytest.mark.parametrize(
    "head, message",
    [
        (
            b"$MeshFormat\n4 0 8\n$EndMeshFormat\n",
            "Gmsh format 4.0 is not supported; save as version 4.1 or 2.2",
        ),
        (b"$NOD\n8\n", "Gmsh format 1 is not supported; save as version 4.1 or 2.2"),
        (
            b"$MeshFormat\n2.2 1 8\n\0\0\0\1\n$EndMeshFormat\n",
            "big-endian binary data are not supported; save as text",
        ),
    ],
)
def test_other_versions_are_named(tmp_path, head, message):
    (tmp_path / "old.msh").write_bytes(head)
    with pytest.raises(InputError, match=message):
        read_mesh(tmp_path / "old.msh", unit="m")
