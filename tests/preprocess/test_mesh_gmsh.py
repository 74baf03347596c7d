"""Gmsh 4.1 by hand: entities in several physical groups, parametric nodes, sparse numbers, text and binary alike."""

import struct

import numpy as np
import pytest

from preprocess.mesh import read_mesh

NODES = [(10, 0, 0, 0), (20, 1, 0, 0), (30, 0, 1, 0), (40, 0, 0, 1), (50, 1, 1, 1)]
NAMES = '$PhysicalNames\n3\n2 5 "foot"\n3 1 "body"\n3 2 "upper half"\n$EndPhysicalNames\n'

TEXT = (
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
    + NAMES
    + """$Entities
1 0 1 2
7 0 0 0 0
3 0 0 0 1 1 0 1 5 0
1 0 0 0 1 1 1 1 1 1 3
2 0 0 0 1 1 1 2 1 2 1 3
$EndEntities
$Nodes
2 5 10 50
2 3 1 3
10
20
30
0 0 0 0.1 0.2
1 0 0 0.3 0.4
0 1 0 0.5 0.6
3 1 0 2
40
50
0 0 1
1 1 1
$EndNodes
$Elements
3 3 1 9
2 3 2 1
1 10 20 30
3 1 4 1
5 10 20 30 40
3 2 4 1
9 20 30 40 50
$EndElements
"""
)


def binary():
    """The same in binary."""

    def section(name, *parts):
        return b"$" + name + b"\n" + b"".join(parts) + b"\n$End" + name + b"\n"

    def surface_or_volume(tag, groups, boundary):
        return struct.pack("<i6dQ", tag, *[0.0] * 3, *[1.0] * 3, len(groups)) + struct.pack(
            f"<{len(groups)}iQ{len(boundary)}i", *groups, len(boundary), *boundary
        )

    entities = struct.pack("<4Q", 1, 0, 1, 2) + struct.pack("<i3dQ", 7, 0, 0, 0, 0)
    entities += surface_or_volume(3, [5], []) + surface_or_volume(1, [1], [3]) + surface_or_volume(2, [1, 2], [3])
    nodes = struct.pack("<4Q", 2, 5, 10, 50) + struct.pack("<3iQ", 2, 3, 1, 3) + struct.pack("<3Q", 10, 20, 30)
    nodes += struct.pack("<15d", 0, 0, 0, 0.1, 0.2, 1, 0, 0, 0.3, 0.4, 0, 1, 0, 0.5, 0.6)
    nodes += struct.pack("<3iQ", 3, 1, 0, 2) + struct.pack("<2Q6d", 40, 50, 0, 0, 1, 1, 1, 1)
    elements = struct.pack("<4Q", 3, 3, 1, 9) + struct.pack("<3iQ4Q", 2, 3, 2, 1, 1, 10, 20, 30)
    elements += struct.pack("<3iQ5Q", 3, 1, 4, 1, 5, 10, 20, 30, 40) + struct.pack("<3iQ5Q", 3, 2, 4, 1, 9, 20, 30, 40, 50)
    head = b"$MeshFormat\n4.1 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n"
    return head + NAMES.encode() + section(b"Entities", entities) + section(b"Nodes", nodes) + section(b"Elements", elements)


@pytest.mark.parametrize("content", [TEXT.encode(), binary()], ids=["text", "binary"])
def test_entities_in_several_groups(tmp_path, content):
    path = tmp_path / "two.msh"
    path.write_bytes(content)
    mesh = read_mesh(path, unit="m", fix="orientation")
    assert mesh.node_ids.tolist() == [number for number, *_ in NODES]
    np.testing.assert_allclose(mesh.nodes, [x for _, *x in NODES])
    assert mesh.blocks["tet4"].ids.tolist() == [5, 9]
    assert sorted(mesh.element_sets["body"]) == [5, 9]
    assert mesh.element_sets["upper half"].tolist() == [9]
    assert mesh.node_ids[mesh.node_set("foot")].tolist() == [10, 20, 30]
