"""Abaqus files in parts: includes, instances with their motion, sets of instances, wedges, omitted
content.
"""

import numpy as np
import pytest
from mesh_decks import ASSEMBLY, BRICK, ONE_INSTANCE, every_keyword_abaqus

from flexmbs.errors import InputError
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh_files.abaqus_options import OPTIONS, known_options
from preprocess.mesh_files.read import read_mesh
from preprocess.mesh_files.readers import included_files


def corners(mesh, name):
    return sorted(map(tuple, np.round(mesh.nodes[mesh.node_set(name)], 9)))


def test_instances_are_moved_and_named(tmp_path):
    """A brick shifted up, then turned by 90° about z; the other instance is of an empty part, which
    leaves one body.
    """
    path = tmp_path / "two.inp"
    text = ASSEMBLY.format(part=BRICK).replace(
        "*INSTANCE, NAME=A, PART=block\n", "*INSTANCE, NAME=A, PART=none\n"
    )
    path.write_text(
        text.replace("*HEADING\n", "*HEADING\n*PART, NAME=none\n*END PART\n").replace(
            "A.base, B.5", "B.base, B.5"
        )
    )
    with pytest.warns(PreprocessWarning, match="TIE omitted"):
        mesh = read_mesh(path, unit="m", structural=False)
    bottom = [(-1.0, 0.0, 1.0), (-1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0)]
    assert corners(mesh, "B.base") == bottom
    assert corners(mesh, "picked") == sorted([*bottom, (-1.0, 0.0, 2.0)])
    assert corners(mesh, "both") == sorted([*bottom, (0.0, 0.0, 2.0)])
    assert corners(mesh, "roof") == corners(mesh, "B.top") == [(x, y, 2.0) for x, y, _ in bottom]


def test_two_instances_have_numbers_of_their_own(tmp_path):
    """Both are read, but *TIE is not: the bricks only touch in an edge of two pairs of nodes."""
    path = tmp_path / "two.inp"
    path.write_text(ASSEMBLY.format(part=BRICK))
    told, refused = (
        r"1 \*TIE omitted; declare couplings",
        r"2 parts of 1, 1 elements .* merge the 2 pairs",
    )
    with pytest.warns(PreprocessWarning, match=told), pytest.raises(InputError, match=refused):
        read_mesh(path, unit="m", structural=False)


def test_one_instance_keeps_its_names_and_numbers(tmp_path):
    path = tmp_path / "one.inp"
    text = (
        f"*PART, NAME=Block\n{BRICK}*END PART\n*ASSEMBLY, NAME=w\n*INSTANCE, NAME=Block-1, "
        "PART=Block\n*END INSTANCE\n"
    )
    path.write_text(text + "*NSET, NSET=corner\nBlock-1.7\n*END ASSEMBLY\n")
    mesh = read_mesh(path, unit="m")
    assert {name: mesh.node_ids[places].tolist() for name, places in mesh.node_sets.items()} == {
        "base": [1, 2, 3, 4],
        "top": [5, 6, 7, 8],
        "corner": [7],
    }
    assert mesh.element_sets["brick"].tolist() == [1]


def test_nodes_of_the_assembly_are_not_those_of_the_part(tmp_path):
    """A reference point numbered like a node of the part, as Abaqus/CAE writes it; surfaces without
    faces and of surfaces.
    """
    path = tmp_path / "one.inp"
    path.write_text(ONE_INSTANCE.format(part=BRICK))
    with pytest.warns(
        PreprocessWarning, match="1 MASS elements omitted; attach such masses with PointMass"
    ):
        mesh = read_mesh(path, unit="m", structural=False)
    assert mesh.nodes[0].tolist() == [0, 0, 0]
    assert mesh.quality().volumes == pytest.approx({"brick": 1, "inside": 1})
    sets = {name: mesh.node_ids[places].tolist() for name, places in mesh.node_sets.items()}
    assert sets["picked"] == [1, 8]
    assert sets["ends"] == sets["base"] == [1, 2, 3, 4]
    assert sets["skin"] == sets["both"] == list(range(1, 9))
    with pytest.raises(InputError, match="set 'reference' has no node of a solid element"):
        mesh.node_set("reference")


def test_names_of_sets_in_any_case_of_letters(tmp_path):
    path = tmp_path / "case.inp"
    path.write_text(
        BRICK + "*NSET, NSET=Feet\n1\n*nset, nset=FEET\n2\n*NSET, NSET=all\nfeet, BASE\n*ELSET, "
        "ELSET=Brick\n1\n"
    )
    mesh = read_mesh(path, unit="m")
    assert mesh.node_ids[mesh.node_set("Feet")].tolist() == [1, 2]
    assert mesh.node_ids[mesh.node_set("all")].tolist() == [1, 2, 3, 4]
    assert list(mesh.element_sets) == ["brick"]


def test_a_surface_named_like_a_set_is_kept_beside_it(tmp_path):
    path = tmp_path / "twice.inp"
    path.write_text(BRICK.replace("NAME=top", "NAME=base"))
    mesh = read_mesh(path, unit="m")
    assert mesh.node_ids[mesh.node_set("base")].tolist() == [1, 2, 3, 4]
    assert mesh.node_ids[mesh.node_set("surface base")].tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "*SYSTEM\n1., 0.\n",
            r":1: \*SYSTEM needs the origin, or it and a point on the first axis",
        ),
        ("*ELGEN, ELSET=all\n1, 3, 8, 1\n", r":1: \*ELGEN is not supported"),
        (
            "*SURFACE, NAME=x, COMBINE=DIFFERENCE\ntop, top\n",
            r":1: \*SURFACE, COMBINE=DIFFERENCE of top, top is not supported; name",
        ),
    ],
)
def test_content_that_would_be_lost_is_rejected(tmp_path, text, message):
    path = tmp_path / "lost.inp"
    path.write_text(text + BRICK)
    with pytest.raises(InputError, match=message):
        read_mesh(path, unit="m")


def test_includes_and_continued_keywords(tmp_path):
    (tmp_path / "mesh.inc").write_text(BRICK.split("*ELEMENT")[0])
    (tmp_path / "bricks.txt").write_text("1, 1, 2, 3, 4, 5, 6, 7, 8\n")
    path = tmp_path / "main.inp"
    path.write_text(
        '*Include, input="mesh.inc"\n*ELEMENT, TYPE=C3D8I,\nELSET=all, '
        "INPUT=bricks.txt\n*NSET, NSET=one\n1\n"
    )
    mesh = read_mesh(path, unit="m")
    assert mesh.element_sets["all"].tolist() == [1]
    assert len(mesh.nodes) == 8
    assert [each.name for each in included_files(path)] == ["mesh.inc", "bricks.txt"]


def test_faces_of_wedges(tmp_path):
    """S1 and S2 are the triangles, S3 to S5 the sides along the edges 12, 23, 31."""
    path = tmp_path / "wedge.inp"
    faces = "".join(f"*SURFACE, NAME=S{k}\n1, S{k}\n" for k in range(1, 6))
    nodes = "*NODE\n1,0,0,0\n2,1,0,0\n3,0,1,0\n4,0,0,1\n5,1,0,1\n6,0,1,1\n"
    path.write_text(nodes + "*ELEMENT, TYPE=C3D6\n1, 1, 2, 3, 4, 5, 6\n" + faces)
    mesh = read_mesh(path, unit="m")
    found = [mesh.node_ids[mesh.node_set(f"S{k}")].tolist() for k in range(1, 6)]
    assert found == [[1, 2, 3], [4, 5, 6], [1, 2, 4, 5], [2, 3, 5, 6], [1, 3, 4, 6]]


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "PART=Block",
            "PART=Brick",
            r"two.inp:\d+: \*INSTANCE 'B' is of part 'BRICK', which does not exist; the "
            r"parts are: BLOCK",
        ),
        (
            "0., 0., 0., 0., 0., 1., 90.",
            "0., 0., 0., 0., 0., 0., 90.",
            "the axis of the rotation has zero length",
        ),
        (
            "0., 0., 0., 0., 0., 1., 90.",
            "0., 0., 0., 90.",
            "expected two points of an axis and an angle, found 4 numbers",
        ),
        (
            "INSTANCE=B\nbase",
            "INSTANCE=C\nbase",
            "set 'picked' is of instance 'C', which does not exist",
        ),
        ("A.base", "A.bass", "set 'both' refers to 'A.bass', which is not defined before it"),
        (
            "*NODE\n",
            "*NODE, SYSTEM=S\n",
            "SYSTEM=S is not supported; give the nodes in rectangular coordinates",
        ),
        (
            "*ELEMENT, TYPE=C3D8, ELSET=brick\n",
            "*ELEMENT, TYPE=C3D8\n1, 1, 2, 3, 4, 5, 6, 7, 8\n",
            "element number 1 occurs twice",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    path = tmp_path / "two.inp"
    text = ASSEMBLY.format(part=BRICK)
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_mesh(path, unit="m")


def generated(tmp_path, lines, options=""):
    text = BRICK.replace("*ELEMENT", f"*NGEN{options}\n{lines}\n*ELEMENT", 1)
    path = tmp_path / "generated.inp"
    path.write_text(text)
    return path


def test_nodes_are_generated_on_the_line_between_two(tmp_path):
    """In equal steps of number and place; the set has the ends too."""
    path = tmp_path / "row.inp"
    corners = (
        "1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n31, 6, 0, 3\n32, 7, 0, 3\n33, 7, 1, "
        "3\n34, 6, 1, 3\n"
    )
    lines = "".join(f"{k}, {k + 30}, 10\n" for k in range(1, 5))
    cells = "".join(
        f"{k + 1}, " + ", ".join(str(10 * k + n) for n in (1, 2, 3, 4, 11, 12, 13, 14)) + "\n"
        for k in range(3)
    )
    path.write_text(f"*NODE\n{corners}*NGEN, NSET=edges\n{lines}*ELEMENT, TYPE=C3D8\n{cells}")
    mesh = read_mesh(path, unit="m")
    assert mesh.node_ids[mesh.node_sets["edges"]].tolist() == mesh.node_ids.tolist()
    for number, place in ((11, (2, 0, 1)), (23, (5, 1, 2))):
        np.testing.assert_allclose(
            mesh.nodes[mesh.node_ids.tolist().index(number)], place, atol=1e-12
        )


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("1, 99", "", r"\*NGEN: node 99 does not exist; define it before"),
        ("1, 4, 2", "", r"\*NGEN: from 1 to 4 by 2 is not a whole number of steps"),
        ("4, 1", "", r"\*NGEN: from 4 to 1 by 1 is not a whole"),
        ("1, 4, 0", "", r"\*NGEN: from 1 to 4 by 0 is not a whole"),
        ("1, 4, 1", ", LINE=C", r"\*NGEN, LINE=C is not supported"),
        ("1, a", "", "expected integers"),
        ("1", "", r"\*NGEN: from 1 to 1 by 1 is not a whole"),
    ],
)
def test_nodes_that_cannot_be_generated(tmp_path, lines, options, message):
    with pytest.raises(InputError, match=message):
        read_mesh(generated(tmp_path, lines, options), unit="m")


@pytest.mark.parametrize("structural", [False, True])
@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("NODES", "NODE"),
        ("ELEMNT, TYPE=C3D8", "ELEMENT"),
        ("N SETT, NSET=a", "NSET"),
        ("QQQ, A=b", ""),
        ("ESET, ELSET=a", "ELSET"),
        ("SURFACES, NAME=a", "SURFACE"),
    ],
)
def test_misspelt_keywords_are_refused_with_the_nearest_name(tmp_path, wrong, near, structural):
    path = tmp_path / "deck.inp"
    path.write_text(BRICK + f"*{wrong}\n9\n")
    if not near and not structural:
        assert len(read_mesh(path, unit="m").nodes) == 8
        return
    name, mend = (
        wrong.split(",")[0],
        f"did you mean \\*{near}\\? Remove it otherwise"
        if near
        else "remove it if it has no meaning",
    )
    with pytest.raises(InputError, match=f"\\*{name} is not (known|supported); {mend}"):
        read_mesh(path, unit="m", structural=structural)


@pytest.mark.parametrize("seed", range(20))
def test_options_with_a_wrong_letter_are_refused(tmp_path, seed):
    """Of any keyword of a deck, any option that it has or could have."""
    random = np.random.default_rng(seed)
    lines = every_keyword_abaqus().splitlines()
    end = next(k for k, line in enumerate(lines) if line.upper().startswith("*STEP"))
    having = [k for k in range(end) if OPTIONS.get(lines[k][1:].split(",")[0].strip().upper())]
    k = random.choice(having)
    keyword, *rest = [part.strip() for part in lines[k][1:].split(",")]
    name = str(random.choice(OPTIONS[keyword.upper()]))
    place = int(random.integers(len(name)))
    wrong = name[:place] + str(random.choice(["", "Q", 2 * name[place]])) + name[place + 1 :]
    lines[k] = (
        f"*{keyword}, "
        f"{', '.join(part for part in rest if not part.upper().startswith(name))}, "
        f"{wrong}=1"
    )
    if wrong.replace(" ", "") in (each.replace(" ", "") for each in OPTIONS[keyword.upper()]):
        return
    path = tmp_path / "deck.inp"
    path.write_text("\n".join(lines))
    with pytest.raises(
        InputError,
        match=rf":\d+: \*{keyword.upper()}, {wrong} is not supported; (did you mean|remove it)",
    ):
        read_mesh(path, unit="m", structural=True)


def test_options_have_one_name():
    """Blanks do not count; abbreviations are refused with the whole name; *STEP and what follows
    may have any.
    """
    assert known_options("TIE", {"POSITIONTOLERANCE": "0.1", "N AME": "t"}, "x:1") == {
        "POSITION TOLERANCE": "0.1",
        "NAME": "t",
    }
    with pytest.raises(
        InputError,
        match=r"x:1: \*NSET, GEN is not supported; did you mean GENERATE\? Remove it otherwise",
    ):
        known_options("NSET", {"NSET": "a", "GEN": ""}, "x:1")
    assert known_options("STEP", {"PERTURBATION": ""}, "x:1") == {"PERTURBATION": ""}
