"""Nastran bulk data: field formats, systems, sets, omitted and rejected content."""

import numpy as np
import pytest
from mesh_decks import NASTRAN

from flexmbs.errors import InputError
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.structured import box_mesh
from preprocess.mesh_files.read import read_mesh

# of Nastran
UPPER = {
    "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
    "hex20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
}
CARD = {
    "tet4": "CTETRA",
    "tet10": "CTETRA",
    "wedge6": "CPENTA",
    "wedge15": "CPENTA",
    "hex8": "CHEXA",
    "hex20": "CHEXA",
}
CARD |= {"pyramid5": "CPYRAM", "pyramid13": "CPYRAM"}


def small(name, fields, width=8):
    """A card in small (8) or large (16) fields, with its continuation lines."""
    per_line, star = (8, "") if width == 8 else (4, "*")
    pieces = [fields[k : k + per_line] for k in range(0, len(fields), per_line)]
    first = [f"{name + star:8s}"] + [f"{star or '+':8s}"] * (len(pieces) - 1)
    return (
        "\n".join(
            head + "".join(f"{field!s:{width}s}" for field in piece)
            for head, piece in zip(first, pieces)
        )
        + "\n"
    )


def large(name, fields):
    return small(name, fields, 16)


def free(name, fields):
    pieces = [fields[k : k + 8] for k in range(0, len(fields), 8)]
    return "".join(
        ",".join([name if k == 0 else "+", *map(str, piece)]) + "\n"
        for k, piece in enumerate(pieces)
    )


@pytest.mark.parametrize("write", [small, large, free])
@pytest.mark.parametrize("name", CARD)
def test_solids_in_every_field_format(tmp_path, name, write):
    box = box_mesh((1.0, 1.0, 1.0), (2, 1, 1), name)
    table = box.blocks[name].connectivity + 1
    path = tmp_path / "part.bdf"
    text = "SOL 103\nCEND\nBEGIN BULK\n$ a comment\n"
    text += "".join(write("GRID", [n, "", *np.round(x, 4)]) for n, x in enumerate(box.nodes, 1))
    for number, row in enumerate(table[:, UPPER.get(name, slice(None))], 11):
        text += write(CARD[name], [number, 7, *row])
    path.write_text(text + write("PSOLID", [7, 1]) + "ENDDATA\nrubbish after the end\n")
    mesh = read_mesh(path, unit="m")
    np.testing.assert_array_equal(mesh.blocks[name].connectivity, table - 1)
    np.testing.assert_array_equal(mesh.blocks[name].ids, np.arange(11, 11 + len(table)))
    np.testing.assert_array_equal(mesh.element_sets["property 7"], mesh.blocks[name].ids)


def test_systems_sets_and_couplings(tmp_path):
    """Positions in rectangular and cylindrical systems, one within the other; omitted content is
    reported.
    """
    path = tmp_path / "part.bdf"
    path.write_text(NASTRAN)
    with pytest.warns(PreprocessWarning) as caught:
        mesh = read_mesh(path, unit="m")
    messages = [str(each.message) for each in caught]
    assert any("RBE2 30 omitted: its nodes are the set 'RBE2 30'" in each for each in messages)
    assert any("1 CONM2 omitted: attach such masses with PointMass" in each for each in messages)
    corners = [
        [0, 0, 0],
        [1, 0, 0],
        [1, 1, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 1],
        [1, 1, 1],
        [0, 1, 1],
    ]
    np.testing.assert_allclose(mesh.nodes, corners, atol=1e-5)
    sets = {name: mesh.node_ids[places].tolist() for name, places in mesh.node_sets.items()}
    assert sets["SPC 3"] == [1, 2, 3, 4, 5, 6]
    assert sets["SET 5"] == [1, 2, 5, 6]
    assert sets["SET 8"] == [1, 2, 3, 8]
    assert sets["RBE2 30"] == sets["RBE3 31"] == sets["property 6"] == [5, 6, 7, 8]
    assert sets["SET 10"] == [2, 3, 4]
    assert mesh.element_sets["SET 9"].tolist() == mesh.element_sets["SET 11"].tolist() == [1]
    assert mesh.element_sets["property 4"].tolist() == [1]


def test_included_files_are_read_from_the_same_folder_only(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    lines = NASTRAN.splitlines(keepends=True)
    (folder / "nodes.bdf").write_text(
        "".join(line for line in lines if line.startswith(("GRID", "*")))
    )
    rest = "".join(line for line in lines if not line.startswith(("GRID", "*"))).replace(
        "CHEXA", "INCLUDE 'nodes.bdf'\nCHEXA"
    )
    path = folder / "part.bdf"
    path.write_text(rest)
    with pytest.warns(PreprocessWarning):
        assert len(read_mesh(path, unit="m").nodes) == 8
    for name, message in (
        ("../x.bdf", "not inside the mesh"),
        ("no.bdf", "does not exist"),
        ("part.bdf", "includes itself"),
    ):
        path.write_text(rest.replace("nodes.bdf", name))
        with pytest.raises(InputError, match=message):
            read_mesh(path, unit="m")


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "CHEXA   1 ",
            "CBAR    1 ",
            r"1 CBAR elements are not supported; export only CTETRA, CPENTA, CHEXA, CPYRAM",
        ),
        ("7       8\nCQUAD", "7\nCQUAD", "CHEXA 1 has no node G8; it needs 8 or 20 nodes"),
        (
            "GRID    5       8",
            "GRID    5       7",
            "local coordinate system 7 does not exist as CORD2R, CORD2C",
        ),
        ("CORD2R  8       0", "CORD2R  8       9", "local coordinate system . refers to itself"),
        (
            "CQUAD4  20",
            "CHEXA   1       4       1       2       3       4       5       6\n        7 "
            "      8\nCQUAD4  20",
            "occurs twice",
        ),
        ("GRID    6 ", "GRID    5 ", "node number 5 occurs twice"),
        ("1.+0", "1.x0", r"part.bdf:9: GRID field 4: expected a number, found '1.x0'"),
        ("SET1,8,1,THRU,3", "SET1,8,1,THRU,999999999999", "claims 999999999997 members of sets"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    path = tmp_path / "part.bdf"
    assert old in NASTRAN
    path.write_text(NASTRAN.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_mesh(path, unit="m", structural=False)


def test_the_property_of_an_element_is_by_default_its_own_number(tmp_path):
    path = tmp_path / "part.bdf"
    path.write_text(NASTRAN.replace("CHEXA   1       4 ", "CHEXA   1         "))
    with pytest.warns(PreprocessWarning):
        assert read_mesh(path, unit="m").element_sets["property 1"].tolist() == [1]
