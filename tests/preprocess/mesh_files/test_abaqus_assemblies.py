"""Sections of parts and instances of Abaqus files: turned instances have the frequencies of the
part, tied ones of the whole.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

import preprocess as pp
from flexmbs.errors import InputError

BLOCK = pp.box_mesh((0.2, 0.1, 0.06), (2, 1, 1), "hex8")
STEEL = "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n"
WOOD = (
    "*MATERIAL, NAME=wood\n*ELASTIC, TYPE=ENGINEERING "
    "CONSTANTS\n1e10,5e8,8e8,0.3,0.2,0.3,6e8,7e8,\n1e8\n*DENSITY\n500.\n"
)
GRAIN = "*ORIENTATION, NAME=grain\n1.,1.,0.,-1.,1.,0.\n"


def nodes_and_elements(nodes: np.ndarray, kind: str, table: np.ndarray, name: str) -> str:
    lines = [
        "*NODE",
        *(f"{k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(nodes, 1)),
        f"*ELEMENT, TYPE={kind}, ELSET={name}",
    ]
    return "\n".join(
        [*lines, *(", ".join(map(str, [k, *(row + 1)])) for k, row in enumerate(table, 1)), ""]
    )


SOLID = nodes_and_elements(BLOCK.nodes, "C3D8", BLOCK.blocks["hex8"].connectivity, "E")
SHELL = nodes_and_elements(
    np.array([[0, 0, 0], [0.3, 0, 0], [0.3, 0.1, 0], [0, 0.1, 0]]),
    "S4",
    np.array([[0, 1, 2, 3]]),
    "E",
)
CORNER = (
    "*NODE\n1, 0, 0, 0\n2, 0.3, 0, 0\n3, 0.3, 0.2, 0\n"
    "*ELEMENT, TYPE=B31, ELSET=E\n1, 1, 2\n*ELEMENT, TYPE=B31, ELSET=F\n2, 2, 3\n"
)
PARTS = {
    "solid": f"{SOLID}{GRAIN}*SOLID SECTION, ELSET=E, MATERIAL=wood, ORIENTATION=grain\n,\n",
    "shell": f"{SHELL}{GRAIN}*SHELL SECTION, ELSET=E, MATERIAL=wood, ORIENTATION=grain\n0.01\n",
    "laminate": f"{SHELL}{GRAIN}*SHELL SECTION, ELSET=E, COMPOSITE, "
    "ORIENTATION=grain\n0.01,3,wood\n0.01,3,steel\n",
    "beams": f"{CORNER}*BEAM SECTION, ELSET=E, MATERIAL=steel, SECTION=RECT\n0.01, 0.03\n0, 0, 1\n"
    "*BEAM SECTION, ELSET=F, MATERIAL=steel, SECTION=RECT, OFFSET1=0.5\n0.01, 0.03\n0, 0.6, 0.8\n",
}


def frequencies(path: Path, text: str) -> np.ndarray:
    """Free ones."""
    path.write_text(text)
    fe = pp.assemble(pp.read_mesh(path, unit="m", structural=True))
    free = np.setdiff1d(np.arange(fe.freedoms.size), fe.constraints.dependent)
    K, M = (fe.constraints.matrix(each)[free][:, free].toarray() for each in (fe.K, fe.M))
    # of the mass, which the rotation about the normal of shells has not
    shift = 1e2 * K.trace() / M.trace()
    found = scipy.linalg.eigh(K, M + K / shift, eigvals_only=True)
    low = found[found < 0.5 * shift][6:]
    assert low.size > 3
    return np.sqrt(low / (1.0 - low / shift)) / (2 * np.pi)


@pytest.mark.parametrize("within", ["part", "instance"])
@pytest.mark.parametrize("kind", PARTS)
def test_turned_instances_have_the_frequencies_of_the_part(
    kind: str, within: str, tmp_path: Path
) -> None:
    """Beam and material axes turn with the instance, whether its mesh is in the part or in the
    instance.
    """
    part, motion = PARTS[kind], "1., 2., 3.\n0.1, 0.2, 0.3, 1.3, -0.4, 0.9, 77.\n"
    plain = frequencies(tmp_path / "plain.inp", part + STEEL + WOOD)
    inside = (
        (f"*PART, NAME=P\n{part}*END PART\n", "")
        if within == "part"
        else ("*PART, NAME=P\n*END PART\n", part)
    )
    turned = (
        f"{inside[0]}*ASSEMBLY, NAME=A\n*INSTANCE, NAME=P-1, PART=P\n{motion}{inside[1]}*END "
        "INSTANCE\n*END ASSEMBLY\n"
    )
    assert np.allclose(
        frequencies(tmp_path / "turned.inp", turned + STEEL + WOOD), plain, rtol=1e-7
    )


def test_tied_instances_are_the_whole(tmp_path: Path) -> None:
    """Two blocks end to end, the second turned by half a turn
    about z, joined by faces that match.
    """
    end = (
        "*ELSET, ELSET=last\n2,\n*SURFACE, NAME=end\nlast, S4\n*SOLID SECTION, ELSET=E, "
        "MATERIAL=steel\n,\n*END PART\n"
    )
    turned = "0.4, 0.1, 0.\n0.4, 0.1, 0., 0.4, 0.1, 1., 180.\n"
    text = (
        f"*PART, NAME=P\n{SOLID}{end}*ASSEMBLY, NAME=A\n*INSTANCE, NAME=P-1, PART=P\n*END "
        "INSTANCE\n"
        f"*INSTANCE, NAME=P-2, PART=P\n{turned}*END INSTANCE\n*TIE, NAME=weld\nP-1.end, "
        f"P-2.end\n*END ASSEMBLY\n{STEEL}"
    )
    whole = pp.box_mesh((0.4, 0.1, 0.06), (4, 1, 1), "hex8")
    plain = nodes_and_elements(whole.nodes, "C3D8", whole.blocks["hex8"].connectivity, "E")
    expected = frequencies(
        tmp_path / "whole.inp", f"{plain}*SOLID SECTION, ELSET=E, MATERIAL=steel\n,\n{STEEL}"
    )
    assert np.allclose(frequencies(tmp_path / "tied.inp", text)[:20], expected[:20], rtol=1e-6)


@pytest.mark.parametrize("kind", ["KINEMATIC", "DISTRIBUTING"])
def test_reference_points_of_assemblies(kind: str, tmp_path: Path) -> None:
    """A surface of a turned instance is coupled with a point of the assembly, which has a mass: as
    in the part.
    """
    part, turn = (
        f"{SOLID}{GRAIN}*SOLID SECTION, ELSET=E, MATERIAL=wood, ORIENTATION=grain\n,\n",
        Rotation.from_rotvec([0.3, -1.1, 0.6]),
    )
    axis, angle = turn.as_rotvec() / turn.magnitude(), np.degrees(turn.magnitude())
    place = np.array([0.3, 0.02, 0.1])
    coupling = f"*COUPLING, CONSTRAINT NAME=c, REF NODE=RP, SURFACE=end\n*{kind}\n"
    mass = "*ELEMENT, TYPE=MASS, ELSET=m\n{0}, {0}\n*MASS, ELSET=m\n2.\n*NSET, NSET=RP\n{0},\n"
    plain = (
        f"{part}*NODE\n900, {', '.join(map(str, place))}\n{mass.format(900)}*ELSET, "
        "ELSET=last\n2,\n"
        f"*SURFACE, NAME=end\nlast, S4\n{coupling}"
    )
    turned = (
        f"*PART, NAME=P\n{part}*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=P-1, "
        "PART=P\n0., 0., 0.\n"
        f"0., 0., 0., {', '.join(map(str, axis))}, {angle}\n*END INSTANCE\n*NODE\n1, "
        f"{', '.join(map(str, turn.apply(place)))}\n"
        f"{mass.format(1)}*ELSET, ELSET=last, INSTANCE=P-1\n2,\n*SURFACE, NAME=end\nlast, "
        f"S4\n{coupling}*END ASSEMBLY\n"
    )
    found, expected = (
        frequencies(tmp_path / f"{n}.inp", text + STEEL + WOOD)
        for n, text in enumerate((turned, plain))
    )
    assert np.allclose(found, expected, rtol=1e-6)
    assert found[0] < 0.7 * frequencies(tmp_path / "free.inp", part + STEEL + WOOD)[0]
    for old, new in (("REF NODE=RP", "REF NODE=1"), ("*END PART", f"{coupling}*END PART")):
        with pytest.raises(
            InputError,
            match=r"\*INSTANCE together with equations, springs, or couplings of node numbers",
        ):
            frequencies(tmp_path / "refused.inp", turned.replace(old, new) + STEEL + WOOD)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "\n0, 0, 1\n",
            "\n",
            r"\*BEAM SECTION: give its first axis, because instance 'P-1' is rotated",
        ),
        ("SECTION=RECT\n", "SECTION=RECT, TAPER\n", r"\*BEAM SECTION, TAPER is not supported"),
        (
            "*END PART",
            "*NODAL THICKNESS\n1, 0.1\n*END PART",
            r"\*NODAL THICKNESS together with \*INSTANCE is not supported",
        ),
    ],
)
def test_what_turned_instances_lack_is_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    motion = "0., 0., 0.\n0., 0., 0., 1., 0., 0., 90.\n"
    text = (
        f"*PART, NAME=P\n{PARTS['beams']}*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=P-1, "
        f"PART=P\n{motion}*END INSTANCE\n"
    )
    with pytest.raises(InputError, match=message):
        frequencies(tmp_path / "deck.inp", (text + "*END ASSEMBLY\n" + STEEL).replace(old, new, 1))


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            "*SHELL SECTION, ELSET=E, MATERIAL=steel, DENSITY=5.\n0.01\n",
            r"\*SHELL SECTION, DENSITY is not supported",
        ),
        (
            "*SHELL SECTION, ELSET=E, MATERIAL=steel, OFFSET=TOP\n0.01\n",
            "expected a number, found 'TOP'",
        ),
    ],
)
def test_options_of_sections_are_not_skipped(section: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        frequencies(tmp_path / "deck.inp", SHELL + section + STEEL)


def test_composite_solids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="COMPOSITE is supported for shells only"):
        frequencies(
            tmp_path / "deck.inp",
            SOLID + "*SOLID SECTION, ELSET=E, COMPOSITE\n0.5,1,wood\n0.5,1,steel\n" + STEEL + WOOD,
        )
