"""MED files written here to the structure that Salome writes, and by meshio."""

import h5py
import meshio
import numpy as np
import pytest

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.mesh.structured import box_mesh
from preprocess.mesh_files.read import read_mesh

TYPE = {
    "tet4": "TE4",
    "tet10": "T10",
    "hex8": "HE8",
    "hex20": "H20",
    "wedge6": "PE6",
    "wedge15": "P15",
}
TYPE |= {"pyramid5": "PY5", "pyramid13": "P13"}
FACE = {3: "TR3", 6: "TR6", 4: "QU4", 8: "QU8"}


def names(group, family, number, texts):
    part = group.create_group(f"FAM_{number}_{family}")
    part.attrs["NUM"] = number
    rows = np.zeros((len(texts), 80), np.int8)
    for row, text in zip(rows, texts):
        row[: len(text)] = np.frombuffer(text.encode(), np.int8)
    part.create_group("GRO").create_dataset("NOM", data=rows)


def write(path, box, name):
    """One mesh in one step: volumes mirrored as MED has them, the side x1 as group "tip", two
    groups of volumes, one of nodes.
    """
    element, table = ELEMENTS[name], box.blocks[name].connectivity[:, ELEMENTS[name].mirrored]
    shape = element.faces[-1]
    faces = box.blocks[name].connectivity[:, shape.nodes].reshape(-1, shape.nodes.shape[1])
    tip = faces[np.isin(faces, box.node_set("x1")).all(axis=1)]
    with h5py.File(path, "w") as file:
        mesh = file.create_group("ENS_MAA/part")
        mesh.attrs["ESP"] = 3
        step = mesh.create_group("-0000000000000000001-0000000000000000001")
        step["NOE/COO"] = box.nodes.T.ravel()
        step["NOE/NUM"] = np.arange(len(box.nodes), dtype=np.int32) + 101
        step["NOE/FAM"] = np.isin(np.arange(len(box.nodes)), box.node_set("x0")).astype(np.int32)
        for kind, rows, family in (
            (TYPE[name], table, [-8] + [-7] * (len(table) - 1)),
            (FACE[tip.shape[1]], tip, [-9] * len(tip)),
        ):
            step[f"MAI/{kind}/NOD"] = rows.T.ravel().astype(np.int32) + 1
            step[f"MAI/{kind}/FAM"] = np.array(family, dtype=np.int32)
        names(file.create_group("FAS/part/NOEUD"), "root", 1, ["root"])
        groups = file.create_group("FAS/part/ELEME")
        for number, texts in ((-7, ["body"]), (-8, ["body", "first"]), (-9, ["tip"])):
            names(groups, texts[-1], number, texts)


@pytest.mark.parametrize("name", TYPE)
def test_salome_file(tmp_path, name):
    box = box_mesh((0.4, 0.2, 0.1), (2, 1, 1), name)
    path = tmp_path / "part.med"
    write(path, box, name)
    mesh = read_mesh(path, unit="m")
    np.testing.assert_array_equal(mesh.blocks[name].connectivity, box.blocks[name].connectivity)
    np.testing.assert_array_equal(mesh.node_ids, np.arange(len(box.nodes)) + 101)
    np.testing.assert_array_equal(mesh.node_set("root"), box.node_set("x0"))
    np.testing.assert_array_equal(mesh.node_set("tip"), box.node_set("x1"))
    np.testing.assert_array_equal(np.sort(mesh.element_sets["body"]), mesh.blocks[name].ids)
    assert mesh.element_sets["first"].tolist() == [mesh.blocks[name].ids[0]]


def test_file_of_meshio(tmp_path):
    box = box_mesh((0.4, 0.2, 0.1), (2, 1, 1), "hex8")
    meshio.Mesh(box.nodes, [("hexahedron", box.blocks["hex8"].connectivity)]).write(
        tmp_path / "part.med"
    )
    mesh = read_mesh(tmp_path / "part.med", unit="m")
    np.testing.assert_array_equal(mesh.blocks["hex8"].connectivity, box.blocks["hex8"].connectivity)


def damaged(path, change):
    with h5py.File(path, "r+") as file:
        change(file, file["ENS_MAA/part/-0000000000000000001-0000000000000000001"])


def compress(file, step):
    data = step["NOE/COO"][()]
    del step["NOE/COO"]
    step.create_dataset("NOE/COO", data=data, compression="gzip")


def link_elsewhere(file, step):
    del step["NOE/COO"]
    step["NOE/COO"] = h5py.ExternalLink("/etc/passwd", "/x")


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda file, step: file.copy("ENS_MAA/part", "ENS_MAA/other"),
            r"has 2 meshes \(other, part\)",
        ),
        (
            lambda file, step: step["MAI/HE8/NOD"].write_direct(np.full(16, 99, np.int32)),
            "refers to node 99, which does not exist",
        ),
        (lambda file, step: step.move("MAI/HE8", "MAI/PY5"), "16 entries, not a multiple of 5"),
        (
            lambda file, step: step.move("MAI/HE8", "MAI/O12"),
            "elements of type O12 are not supported",
        ),
        (compress, "compressed, virtual or external"),
        (link_elsewhere, "is a soft or external link"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    path = tmp_path / "part.med"
    write(path, box_mesh((0.4, 0.2, 0.1), (2, 1, 1), "hex8"), "hex8")
    damaged(path, change)
    with pytest.raises(InputError, match=message):
        read_mesh(path, unit="m")
