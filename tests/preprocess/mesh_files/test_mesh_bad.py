"""Common mistakes with meshes: each gives one InputError line with the item and the remedy, or one
warning.
"""

import pathlib
import random
import warnings

import meshio
import numpy as np
import pytest
from deck_writers import ansys, febio, ls_dyna, nastran

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh
from preprocess.mesh_files.read import read_mesh

LINK = pathlib.Path(__file__).parents[3] / "meshes" / "link.msh"
BOX = box_mesh((1.0, 1.0, 1.0), (2, 1, 1), "hex8")
BRICKS = BOX.blocks["hex8"].connectivity


def expect_refusal(path, message, **options):
    """The one InputError of reading a file; it names the file."""
    with pytest.raises(InputError, match=message) as caught:
        read_mesh(path, **{"unit": "m", **options})
    assert all(str(path) in problem and "\n" not in problem for problem in caught.value.problems)
    assert caught.value.exit_code == 2


def saved(path, nodes=BOX.nodes, cells=(("hexahedron", BRICKS),), **options):
    meshio.Mesh(nodes, list(cells)).write(path, **options)
    return path


def text_msh(path, **options):
    return saved(path, file_format="gmsh22", binary=False, **options)


def refusal(path):
    """The InputError of a file, None when it is read; anything else goes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreprocessWarning)
        try:
            read_mesh(path, unit="m")
        except InputError as error:
            return error
    return None


# 1 empty, truncated or wrong-format files


@pytest.mark.parametrize(
    "suffix, section",
    [(".msh", r"\$MeshFormat"), (".inp", r"\*NODE"), (".vtu", "<VTKFile>"), (".bdf", "BEGIN BULK")],
)
def test_empty_and_wrong_format(tmp_path, suffix, section):
    path = tmp_path / f"part{suffix}"
    path.write_bytes(b"")
    expect_refusal(path, f"empty; expected {section} at byte 0")
    path.write_text("solid cube\nfacet normal 0 0 0\n")
    expect_refusal(path, "expected|is not")
    path.write_bytes(bytes(range(256)) * 20)
    expect_refusal(path, "expected|is not|cannot be read")


def test_unknown_format_and_missing_file(tmp_path):
    path = tmp_path / "part.xyz"
    path.write_text("solid")
    expect_refusal(path, r"format '.xyz' is not supported; use one of .msh, .inp")
    expect_refusal(tmp_path / "none.msh", "no such file")
    expect_refusal(tmp_path, "format '' is not supported")


def test_truncation_names_the_line_and_the_section(tmp_path):
    path = tmp_path / "cut.msh"
    lines = LINK.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:100]))
    expect_refusal(path, rf"{path}:10: section \$Nodes has no \$EndNodes up to the last line, 100")
    end = lines.index("$EndNodes\n")
    path.write_text("".join(lines[: end - 5] + lines[end:]))
    expect_refusal(path, rf":{end - 4}: \$Nodes ends early: expected a node")
    path.write_text("".join(lines[:end] + ["$EndNodes\n"]))
    expect_refusal(path, r"no section \$Elements")
    path.write_text("".join(lines).replace("1 -25 -13 0\n", "1 -25 x\n"))
    expect_refusal(path, "expected a node: number x y z, found '1 -25 x'")


@pytest.mark.parametrize("suffix", [".msh", "_binary.msh", "_41.msh", ".inp", ".vtu", ".bdf"])
def test_damaged_files_never_escape_as_anything_else(tmp_path, capfd, suffix):
    """Files cut and altered at many random places are read or rejected with InputError; nothing
    else, and nothing is printed.
    """
    path = tmp_path / f"part{suffix}"
    formats = {
        ".msh": ("gmsh22", False),
        "_binary.msh": ("gmsh22", True),
        "_41.msh": ("gmsh", False),
    }
    options = dict(zip(("file_format", "binary"), formats[suffix])) if suffix in formats else {}
    box = box_mesh((1.0, 1.0, 1.0), (2, 1, 1), "tet10")
    saved(path, box.nodes, [("tetra10", box.blocks["tet10"].connectivity)], **options)
    good = path.read_bytes()
    rng = random.Random(1)
    refusals = 0
    capfd.readouterr()
    for _ in range(60):
        data = bytearray(good)
        for _ in range(rng.randrange(3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randrange(len(data))] if rng.random() < 0.5 else data)
        refusals += refusal(path) is not None
    assert refusals > 20
    assert capfd.readouterr() == ("", "")


# 2 nodes without finite positions


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("suffix", [".msh", ".inp", ".vtu"])
def test_positions_that_are_no_positions(tmp_path, suffix, value):
    nodes = BOX.nodes.copy()
    nodes[3, 1] = value
    path = tmp_path / f"part{suffix}"
    saved(path, nodes, **({"file_format": "gmsh22", "binary": False} if suffix == ".msh" else {}))
    expect_refusal(
        path,
        rf"1 node\(s\) not finite or beyond 1e\+09 m: node {3 if suffix == '.vtu' else 4} at \(",
    )


# 3 references to nodes that are missing


def test_missing_nodes_are_named(tmp_path):
    path = text_msh(tmp_path / "part.msh")
    path.write_text(path.read_text().replace("\n7 ", "\n70 ", 1))
    expect_refusal(path, r"element 1 \(hexahedron\) refers to node 7, which does not exist")
    deck = saved(tmp_path / "part.inp")
    deck.write_text(deck.read_text().replace("\n7, ", "\n70, ", 1))
    expect_refusal(deck, "element 1 refers to node 7, which does not exist")
    grid = saved(tmp_path / "part.vtu", cells=[("hexahedron", np.where(BRICKS == 6, 60, BRICKS))])
    expect_refusal(grid, r"element 0 \(hex8\) refers to node 60, which does not exist")
    cards = saved(tmp_path / "part.bdf")
    cards.write_text(
        "\n".join(
            line for line in cards.read_text().splitlines() if not line.startswith("GRID*   7 ")
        )
    )
    expect_refusal(cards, "element 1 refers to node 7, which does not exist")


# 4 elements without volume


def test_worst_elements_are_listed(tmp_path):
    mesh = box_mesh((8.0, 1.0, 1.0), (8, 1, 1), "hex8")
    nodes = mesh.nodes.copy()
    nodes[np.isclose(nodes[:, 0], 1.0)] = nodes[np.isclose(nodes[:, 0], 2.0)] + [0.5, 0, 0]
    path = text_msh(
        tmp_path / "part.msh", nodes=nodes, cells=[("hexahedron", mesh.blocks["hex8"].connectivity)]
    )
    expect_refusal(
        path,
        r"1 element\(s\) inverted or without volume, the worst: element 2 \(hex8, "
        r"smallest det J -.* m³\)",
    )
    flat = mesh.nodes * [1, 1, 0]
    path = text_msh(
        tmp_path / "flat.msh", nodes=flat, cells=[("hexahedron", mesh.blocks["hex8"].connectivity)]
    )
    expect_refusal(
        path,
        r"8 element\(s\) inverted or without volume, the worst: element (\d \(hex8, "
        r"smallest det J 0 m³\)(, )?){5}; remesh there",
    )


def test_a_single_bad_corner_of_a_curved_element_is_found():
    mesh = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex20")
    nodes = mesh.nodes.copy()
    nodes[np.flatnonzero((nodes == [0.5, 0, 0]).all(axis=1))] = [0.2, 0, 0]
    with pytest.raises(InputError, match="inverted"):
        Mesh.from_arrays(nodes, {"hex20": mesh.blocks["hex20"].connectivity})


# 5 and 6 parts that are not joined, coincident nodes


def two_boxes(gap, size=(1.0, 1.0, 1.0)):
    other = box_mesh(size, (1, 1, 1), "hex8", origin=(1.0 + gap, 0.0, 0.0))
    nodes = np.concatenate([BOX.nodes, other.nodes])
    return nodes, np.concatenate([BRICKS, len(BOX.nodes) + other.blocks["hex8"].connectivity])


def test_separate_parts_are_counted(tmp_path):
    nodes, bricks = two_boxes(0.1)
    expect_refusal(
        text_msh(tmp_path / "part.msh", nodes=nodes, cells=[("hexahedron", bricks)]),
        "2 parts of 2, 1 elements are not connected: 12 rigid",
    )
    nodes, bricks = two_boxes(0.0)
    path = text_msh(tmp_path / "unmerged.msh", nodes=nodes, cells=[("hexahedron", bricks)])
    expect_refusal(path, "12 rigid-body modes instead of 6; merge the 4 pairs of coincident nodes")


def test_a_hinge_between_two_parts_is_a_seventh_mode():
    nodes, bricks = two_boxes(0.0)
    merged, place = np.unique(
        np.column_stack([nodes[:, :2], nodes[:, 2] + (np.arange(len(nodes)) >= 12)]),
        axis=0,
        return_inverse=True,
    )
    with pytest.raises(
        InputError,
        match="2 parts of 2, 1 elements are not connected: 7 rigid-body modes instead of 6",
    ):
        Mesh.from_arrays(merged, {"hex8": place[bricks]})


def test_coincident_nodes_in_one_part_are_only_doubtful():
    """A slit: two boxes side by side on a third, their common face not merged."""
    mesh = box_mesh((2.0, 1.0, 2.0), (2, 1, 2), "hex8")
    nodes, bricks = mesh.nodes, mesh.blocks["hex8"].connectivity.copy()
    slit = np.flatnonzero((nodes[:, 0] == 1.0) & (nodes[:, 2] == 2.0))
    doubled = np.concatenate([nodes, nodes[slit]])
    upper = bricks[(nodes[bricks].mean(axis=1)[:, [0, 2]] > 1.0).all(axis=1)]
    for n, place in enumerate(slit):
        bricks = np.where(
            (bricks == place) & (bricks[:, :1] == upper[:, :1]), len(nodes) + n, bricks
        )
    with pytest.warns(
        PreprocessWarning, match=r"2 pairs of nodes coincide within .* m \(first: \d+ and \d+\)"
    ):
        Mesh.from_arrays(doubled, {"hex8": bricks})


@pytest.mark.parametrize(
    "card", ["RBE2,90,11,123456,5,6,7,8", "RBE3,90,,11,123456,1.,123,5,6\n,7,8"]
)
def test_the_centre_of_a_spider_at_a_node_is_no_coincidence(tmp_path, card):
    """It is not a node of an element, and must not be merged with one."""
    mesh = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex8")
    lines = [
        f"GRID,{k + 1},,{','.join(f'{float(x)!r}' for x in place)}"
        for k, place in enumerate(mesh.nodes)
    ]
    hexa = [str(k + 1) for k in mesh.blocks["hex8"].connectivity[0]]
    cells = ["CHEXA,1,1," + ",".join(hexa[:6]), "," + ",".join(hexa[6:])]
    centre = "GRID,11,," + ",".join(f"{float(x)!r}" for x in mesh.nodes[7])
    deck = [*lines, centre, *cells, "PSOLID,1,1", "MAT1,1,2.1+11,,.3,7850.", card, "ENDDATA"]
    path = tmp_path / "spider.bdf"
    path.write_text("BEGIN BULK\n" + "\n".join(deck) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PreprocessWarning)
        assert len(read_mesh(path, unit="m", structural=True).nodes) == 9


def test_neighbours_of_unlike_order_are_rejected():
    """A hanging middle: one element of two has its own node in the middle of a common edge."""
    mesh = box_mesh((2.0, 1.0, 1.0), (2, 1, 1), "hex20")
    table = mesh.blocks["hex20"].connectivity.copy()
    x = mesh.nodes
    middle = int(np.flatnonzero((x == [1.0, 0.5, 0.0]).all(axis=1))[0])
    table[1][table[1] == middle] = len(x)
    with pytest.raises(
        InputError, match=r"1 face\(s\) with different mid-side nodes, first elements 1 and 2"
    ):
        Mesh.from_arrays(np.concatenate([x, x[[middle]]]), {"hex20": table})


# 7 units


def test_unit_is_required_and_doubted_when_the_size_is_odd(tmp_path):
    path = text_msh(tmp_path / "part.msh", nodes=BOX.nodes * 5e3)
    with pytest.raises(InputError, match="read_mesh: unit is missing"):
        read_mesh(path)
    expect_refusal(path, "unit 'furlong' is unknown; give one of m, cm, mm, in", unit="furlong")
    with pytest.warns(
        PreprocessWarning, match=r"is 8\.66e\+03 m large with unit='m'; is the unit right\?"
    ):
        read_mesh(path, unit="m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_mesh(path, unit="mm").size == pytest.approx(5 * np.sqrt(3))


# 8 unknown sets


def test_unknown_set_gives_close_names():
    mesh = read_mesh(LINK, unit="mm")
    with pytest.raises(
        InputError, match="no node or surface set 'hub_fase'; did you mean: hub_face"
    ):
        mesh.node_set("hub_fase")
    with pytest.raises(InputError, match="'flange'; did you mean: hub_face, tip_face"):
        mesh.node_set("flange")


# 10 elements that do not belong in a solid model


def test_foreign_elements_are_counted(tmp_path):
    whole = ("wedge18", np.arange(18)[None] % 12)
    expect_refusal(
        text_msh(tmp_path / "mixed.msh", cells=[("hexahedron", BRICKS), whole]),
        "1 wedge18 elements are not supported; remesh with tet4, tet10",
    )
    shells = ("quad", np.array([[0, 1, 3, 2]]))
    expect_refusal(
        text_msh(tmp_path / "shells.msh", cells=[shells]),
        r"no solid elements \(found 1 quad elements\)",
    )
    beside = np.concatenate([BOX.nodes, [[5.0, 0, 0], [6, 0, 0], [6, 1, 0]]])
    loose = ("triangle", np.array([[12, 13, 14]]))
    path = text_msh(tmp_path / "loose.msh", nodes=beside, cells=[("hexahedron", BRICKS), loose])
    expect_refusal(path, "1 triangle elements are not on a solid element")


def test_foreign_abaqus_and_nastran_elements_are_counted(tmp_path):
    deck = saved(tmp_path / "part.inp")
    deck.write_text(deck.read_text() + "*ELEMENT, TYPE=S4R\n9, 1, 2, 4, 3\n")
    expect_refusal(deck, r"part.inp:\d+: 1 line\(s\) of element type S4R are not supported")
    deck.write_text(deck.read_text().replace("S4R", "C3D27"))
    expect_refusal(deck, "element type C3D27")
    deck.write_text("*INCLUDE, INPUT=/etc/passwd\n")
    expect_refusal(
        deck, r"part.inp:1: '/etc/passwd' is not inside the mesh file's folder; move it there"
    )
    cards = saved(tmp_path / "part.bdf")
    cards.write_text(
        cards.read_text().replace(
            "ENDDATA",
            "CBEAM   91      1       1       2       4       3\nCELAS1  92      1       1 "
            "      1\nENDDATA",
        )
    )
    expect_refusal(cards, "1 CBEAM and 1 CELAS1 elements are not supported", structural=False)
    cards = saved(tmp_path / "system.bdf")
    cards.write_text(
        cards.read_text().replace(
            "GRID*   1               " + " " * 16, "GRID*   1               5" + " " * 15
        )
    )
    expect_refusal(cards, "local coordinate system")


# 12 claims


@pytest.mark.parametrize(
    "version, section",
    [("gmsh22", "Nodes"), ("gmsh22", "Elements"), ("gmsh", "Nodes"), ("gmsh", "Elements")],
)
@pytest.mark.parametrize("binary", [False, True])
def test_absurd_counts_are_rejected_before_anything_is_allocated(
    tmp_path, version, section, binary
):
    path = saved(tmp_path / "part.msh", file_format=version, binary=binary)
    data = path.read_bytes()
    start = data.index(b"$" + section.encode() + b"\n") + len(section) + 2
    if version == "gmsh" and binary:
        data = data[: start + 8] + np.array([10**11], dtype="<u8").tobytes() + data[start + 16 :]
    elif version == "gmsh" and section == "Elements":
        first = data.index(b"\n", start) + 1
        end = data.index(b"\n", first)
        fields = data[first:end].split()
        data = data[:first] + b" ".join([*fields[:3], b"100000000000"]) + data[end:]
    elif version == "gmsh":
        data = data[:start] + b"1 100000000000 1 100000000000" + data[data.index(b"\n", start) :]
    else:
        data = data[:start] + b"100000000000" + data[data.index(b"\n", start) :]
    path.write_bytes(data)
    expect_refusal(path, r"claims 100000000000 .* in a (file|section) of")


def test_absurd_vtu_and_abaqus_claims(tmp_path):
    path = saved(tmp_path / "part.vtu")
    path.write_bytes(
        path.read_bytes().replace(b'NumberOfPoints="12"', b'NumberOfPoints="100000000000"')
    )
    expect_refusal(path, "claims NumberOfPoints=100000000000 in a file of")
    deck = saved(tmp_path / "part.inp")
    deck.write_text(deck.read_text() + "*NSET, NSET=all, GENERATE\n1, 100000000000, 1\n")
    expect_refusal(deck, "claims 100000000000 members of sets")


BRICK_INP = "*NODE\n" + "".join(
    f"{k + 1}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(BOX.nodes[BRICKS[0]])
) + "*ELEMENT, TYPE=C3D8, ELSET=A0\n1, 1, 2, 3, 4, 5, 6, 7, 8\n"  # fmt: skip
ONE_BRICK = (BOX.nodes, {"hex8": BRICKS[:1]})
CLAIMS = {
    "ansys": (".cdb", ansys(*ONE_BRICK, "CMBLOCK,A,NODE,4\n(4i10)\n" + "         1     -9000" * 2)),
    "febio": (".feb", febio(*ONE_BRICK, '<NodeSet name="a">1:9000,1:9000</NodeSet>')),
    "ls-dyna": (".k", ls_dyna(*ONE_BRICK, "*SET_NODE_LIST_GENERATE\n1\n1,9000,1,9000\n")),
    "nastran": (".bdf", nastran(*ONE_BRICK, "SET1,1,1,THRU,9000\nSET1,2,1,THRU,9000")),
    "case control": (".bdf", "SET 1 = 1 THRU 9000\nSET 2 = 1 THRU 9000\n" + nastran(*ONE_BRICK)),
    "replications": (".bdf", nastran(*ONE_BRICK, "GRID,900,,1.,1.,1.\n=,*1,==\n=(400)\n=(400)")),
    "abaqus": (".inp", BRICK_INP + "*NSET, NSET=A, GENERATE\n1, 9000\n1, 9000\n"),
    "sets of sets": (
        ".inp",
        BRICK_INP + "".join(f"*ELSET, ELSET=A{k + 1}\nA{k}, A{k}\n" for k in range(13)),
    ),
    "unions": (
        ".inp",
        f"{BRICK_INP}*SURFACE, NAME=A0\nA0, S1\n"
        + "".join(f"*SURFACE, COMBINE=UNION, NAME=A{k + 1}\nA{k}, A{k}\n" for k in range(13)),
    ),
    "generated nodes": (".inp", BRICK_INP + "*NODE\n600, 9, 9, 9\n*NGEN\n8, 600\n8, 600\n"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_many_ranges_and_copies_have_one_limit(tmp_path, monkeypatch, name):
    """Each is below the limit: of the file, or of its bytes if it has more."""
    suffix, text = CLAIMS[name]
    path = tmp_path / f"part{suffix}"
    path.write_text(text)
    assert refusal(path) is None
    monkeypatch.setattr("preprocess.mesh_files.claims.MOST", 10_000)
    expect_refusal(path, r"claims \d+ [a-z ]+, with which ranges and copies make more than \d+;")
    path.write_text(text + "\n" * 100_000)
    assert refusal(path) is None


def test_compressed_data_that_could_fill_the_memory_are_rejected(tmp_path, monkeypatch):
    path = saved(tmp_path / "part.vtu", compression="zlib")
    assert read_mesh(path, unit="m").size > 0
    monkeypatch.setattr(
        "preprocess.mesh_files.vtu.free_memory", lambda: 1000.0 * path.stat().st_size
    )
    expect_refusal(path, "could expand beyond the free memory; save it uncompressed")
    text = path.read_bytes().replace(
        b"<VTKFile", b"<!-- " + b"x" * 10000 + b" --><VTKFile" + b" " * 10000, 1
    )
    path.write_bytes(text.replace(b"vtkZLibDataCompressor", b"vtkZLib&#68;ataCompressor"))
    expect_refusal(path, "could expand beyond the free memory; save it uncompressed")


def test_vtu_claims_in_other_words(tmp_path):
    path = saved(tmp_path / "part.vtu")
    path.write_bytes(
        path.read_bytes().replace(b'NumberOfPoints="12"', b'NumberOfPoints="&#49;00000000000"')
    )
    expect_refusal(path, "claims NumberOfPoints=100000000000 in a file of")


def test_document_types_are_rejected(tmp_path):
    path = saved(tmp_path / "part.vtu")
    bomb = b'<?xml version="1.0"?>\n<!DOCTYPE lolz [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n'
    path.write_bytes(bomb + path.read_bytes().split(b"?>", 1)[1])
    expect_refusal(path, "declares a document type")
    path.write_text(path.read_text(), encoding="utf-16")
    expect_refusal(path, "declares a document type|not XML")


def test_all_element_types_have_a_bad_example_found():
    for name, element in ELEMENTS.items():
        mesh = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), name)
        with pytest.raises(InputError, match="inverted"):
            Mesh.from_arrays(mesh.nodes * [1, 1, -1], {name: mesh.blocks[name].connectivity})
        assert len(element.nodes) == mesh.blocks[name].connectivity.shape[1]
