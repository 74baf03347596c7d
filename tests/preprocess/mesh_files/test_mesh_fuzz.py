"""Damaged mesh files: for any change of their bytes they are read or rejected with InputError, in
limited time and memory.

FLEXMBS_FUZZ=5000 python -m pytest tests/preprocess/mesh_files/test_mesh_fuzz.py      more examples for each format
"""

import contextlib
import os
import re
import time
import tracemalloc
import warnings

import h5py
import meshio
import numpy as np
import pytest
from deck_writers import ansys, febio, ls_dyna, universal
from draws import drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mesh_decks import (
    BRICK,
    NASTRAN,
    ONE_INSTANCE,
    every_card_nastran,
    every_end_nastran,
    every_keyword_abaqus,
    every_shape_abaqus,
    gmsh_binary_partitioned,
    gmsh_text_partitioned,
    plane_deck,
    pyramids_nastran,
    sheet_and_boom_abaqus,
    sheet_and_boom_nastran,
)
from test_plane_decks import nastran_ring
from test_sectors import sector_deck

from flexmbs.errors import InputError
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.structured import box_mesh
from preprocess.mesh_files.read import read_mesh

EXAMPLES = int(os.environ.get("FLEXMBS_FUZZ", "25"))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 25,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SECONDS, BYTES = 20.0, 100e6


def med(path):
    """One hexahedron with a group, as Salome writes it."""
    box = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex8")
    with h5py.File(path, "w") as file:
        step = file.create_group("ENS_MAA/part/step")
        step["NOE/COO"] = box.nodes.T.ravel()
        step["MAI/HE8/NOD"] = box.blocks["hex8"].connectivity.T.ravel() + 1
        step["MAI/HE8/FAM"] = np.array([-7])
        family = file.create_group("FAS/part/ELEME/FAM_-7")
        family.attrs["NUM"] = -7
        family["GRO/NOM"] = np.frombuffer(b"body".ljust(80, b"\0"), np.int8)[None]


def by_meshio(suffix, **options):
    def write(path):
        box = box_mesh((1.0, 1.0, 1.0), (2, 1, 1), "tet10")
        meshio.Mesh(box.nodes, [("tetra10", box.blocks["tet10"].connectivity)]).write(
            path, **options
        )

    return suffix, write


COUPLED = """*SURFACE, NAME=edge, TYPE=NODE
end
*COUPLING, REF NODE=21, SURFACE=edge
*KINEMATIC
1, 6
*EQUATION
2
1, 3, 1.0, 2, 3, -1.0"""


def stepped():
    """A plane sheet of two thicknesses with a rigid edge."""
    text = plane_deck("CPE8", (2, 1), (0.2, 0.1)).replace(
        "*SOLID", "*ELSET, ELSET=thick\n2,\n*SOLID", 1
    )
    text += "*SOLID SECTION, ELSET=thick, MATERIAL=steel\n0.05\n*NODE\n90, 0.3, 0.05\n"
    return text + "*SURFACE, NAME=edge\nthick, S2\n*RIGID BODY, NSET=right, REF NODE=90\n"


def revolved(kind):
    """A disc whose inner elements are at its axis, with an outer surface."""
    text = plane_deck(kind, (2, 1), (0.2, 0.1), section="") + "*SURFACE, NAME=rim\nsheet\n"
    return text + "*NODE\n90, 0., 0.5\n*RIGID BODY, NSET=top, REF NODE=90\n"


TAPERED, CHANNEL = (
    "PBEAML,8,1,,BAR\n,8.0,12.0,,YES,1.0,6.0,10.0",
    "PBEAML,8,1,,CHAN2\n,3.0,2.0,20.0,30.0",
)
FORMATS = {
    "gmsh 2.2": by_meshio(".msh", file_format="gmsh22", binary=False),
    "gmsh 2.2 binary": by_meshio(".msh", file_format="gmsh22", binary=True),
    "gmsh 4.1": by_meshio(".msh", file_format="gmsh", binary=False),
    "gmsh 4.1 binary": by_meshio(".msh", file_format="gmsh", binary=True),
    "gmsh 4.1 in partitions": (".msh", lambda path: path.write_bytes(gmsh_text_partitioned())),
    "gmsh 4.1 binary in partitions": (
        ".msh",
        lambda path: path.write_bytes(gmsh_binary_partitioned()),
    ),
    "abaqus": (".inp", lambda path: path.write_text(ONE_INSTANCE.format(part=BRICK))),
    "nastran": (".bdf", lambda path: path.write_text(NASTRAN)),
    "nastran pyramids": (".bdf", lambda path: path.write_text(pyramids_nastran())),
    "abaqus shells": (".inp", lambda path: path.write_text(sheet_and_boom_abaqus(extra=COUPLED))),
    "abaqus with everything of shells": (
        ".inp",
        lambda path: path.write_text(every_keyword_abaqus()),
    ),
    "abaqus shapes of beams and shells": (
        ".inp",
        lambda path: path.write_text(every_shape_abaqus()),
    ),
    "abaqus sector of shells": (".inp", lambda path: path.write_text(sector_deck())),
    "abaqus extruded": (".inp", lambda path: path.write_text(stepped())),
    "abaqus revolved": (".inp", lambda path: path.write_text(revolved("CAX4"))),
    "abaqus revolved of second order": (".inp", lambda path: path.write_text(revolved("CAX6"))),
    "nastran revolved": (".bdf", lambda path: path.write_text(nastran_ring(1))),
    "nastran with everything of shells": (
        ".bdf",
        lambda path: path.write_text(every_card_nastran()),
    ),
    "nastran ends of beams and shells": (".bdf", lambda path: path.write_text(every_end_nastran())),
    "nastran tapered beams and shells": (
        ".bdf",
        lambda path: path.write_text(sheet_and_boom_nastran(bar=TAPERED)),
    ),
    "nastran channels and shells": (
        ".bdf",
        lambda path: path.write_text(sheet_and_boom_nastran(bar=CHANNEL)),
    ),
    "nastran shells": (".bdf", lambda path: path.write_text(sheet_and_boom_nastran())),
    "vtu": by_meshio(".vtu"),
    "vtu text": by_meshio(".vtu", binary=False),
    "med": (".med", med),
}
BOX = box_mesh((20.0, 10.0, 10.0), (1, 1, 1), "hex8")
SHEET = np.array([(0, 0, 0), (9, 0, 0), (9, 9, 0), (0, 9, 0), (20, 20, 20), (30, 20, 20.0)])
BRICKS = (BOX.nodes, {"hex8": BOX.blocks["hex8"].connectivity})
PLATES = (SHEET, {"quad4": np.array([[0, 1, 2, 3]])})
OF_ANSYS = """RLBLOCK,1,9,6,7
(2i8,6g16.9)
(7g16.9)
       9       6 2.000000000E-05 2.000000000E-05 2.000000000E-05 3.000000000E-03 4.000000000E-03 5.000000000E-03
CMBLOCK,END     ,NODE,       2
(8i10)
         7        -13
SECTYPE,7,BEAM,RECT
SECDATA,6.0,9.0
ET,7,188
ET,9,21
ET,10,14
R,10,80.0
LOCAL,R5.0,LOC, 12, 0, 0.0, 0.0, 0.0
LOCAL,R5.0,ANG, 12, 0, 10.0, 0.0, 0.0
TYPE,7
SECNUM,7
EN,31,19,22
TYPE,9
REAL,9
EN,32,22
TYPE,10
REAL,10
EN,33,7,10
EMOD,31,ESYS,12
*SET,tid,21
ET,20,175
ET,tid,170
KEYOPT,20,4,2
KEYOPT,20,2,2
KEYOPT,20,12,5
TYPE,20
REAL,20
EN,41,10
EN,42,13
EN,43,16
TYPE,21
EN,44,19"""
OF_LS_DYNA = """*SET_NODE_LIST_TITLE
END
         5
         7        10        13        16        19
*SET_NODE_LIST_GENERATE
6,
7,13
*CONSTRAINED_NODAL_RIGID_BODY
8,0,5,22
*PARAMETER
R mass,1e-5
*ELEMENT_MASS
90,22,&mass"""
OF_FEBIO = '<NodeSet name="a">7,10:16:3</NodeSet><Surface name="s"><quad4 id="1">7,10,13,16</quad4></Surface>'
OF_UNIVERSAL = """    -1
  2467
         1         0         0         0         0         0         0         3
END
         7         7         0         0         7        10         0         0
         8        11         0         0
    -1"""
FORMATS |= {
    "ansys": (".cdb", lambda path: path.write_text(ansys(*BRICKS))),
    "ansys with everything of shells": (
        ".cdb",
        lambda path: path.write_text(ansys(*PLATES, OF_ANSYS)),
    ),
    "ls-dyna": (".k", lambda path: path.write_text(ls_dyna(*BRICKS))),
    "ls-dyna shells": (".k", lambda path: path.write_text(ls_dyna(*PLATES, OF_LS_DYNA))),
    "febio": (".feb", lambda path: path.write_text(febio(*BRICKS, OF_FEBIO))),
    "febio shells": (".feb", lambda path: path.write_text(febio(*PLATES, OF_FEBIO))),
    "universal": (".unv", lambda path: path.write_text(universal(*BRICKS, OF_UNIVERSAL))),
    "universal shells": (".unv", lambda path: path.write_text(universal(*PLATES, OF_UNIVERSAL))),
}
STRUCTURAL = {"structural": True, "separate": True}
PLACE = st.floats(0, 1, exclude_max=True)
NUMBER = st.sampled_from(
    [
        b"-1",
        b"0",
        b"999999999999",
        b"1e400",
        b"nan",
        b"-",
        b"*",
        b"THRU",
        b"\0",
        b"1.5",
        b"2147483648",
        b"9" * 30,
    ]
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("byte"), PLACE, st.integers(0, 255)),
        st.tuples(st.just("cut"), PLACE, st.just(0)),
        st.tuples(st.just("drop line"), PLACE, st.just(0)),
        st.tuples(st.just("double line"), PLACE, st.just(0)),
        st.tuples(st.just("swap"), PLACE, PLACE),
        st.tuples(st.just("word"), PLACE, NUMBER),
    ),
    min_size=1,
    max_size=4,
)


def changed(data, changes):
    """The file after bytes, lines and words of it have been altered."""
    for kind, place, value in changes:
        lines = data.split(b"\n")
        at, line = int(place * len(data)), int(place * len(lines))
        if kind == "byte" and data:
            data = data[:at] + bytes([value]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at]
        elif kind in ("drop line", "double line"):
            data = b"\n".join(
                lines[:line]
                + lines[line : line + 1] * (2 * (kind == "double line"))
                + lines[line + 1 :]
            )
        elif kind == "swap":
            other = int(value * len(lines))
            lines[line], lines[other] = lines[other], lines[line]
            data = b"\n".join(lines)
        elif kind == "word":
            words = lines[line].split()
            lines[line] = (
                lines[line].replace(words[int(place * 97) % len(words)], value, 1)
                if words
                else value
            )
            data = b"\n".join(lines)
    return data


@pytest.fixture(scope="module", params=FORMATS)
def sample(request, tmp_path_factory):
    """Path, content and options of a good file."""
    suffix, write = FORMATS[request.param]
    path = tmp_path_factory.mktemp("fuzz") / f"part{suffix}"
    write(path)
    data = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreprocessWarning)
        options = STRUCTURAL if request.param.endswith("shells") else {}
        read_mesh(path, unit="m", **options)
    return path, data, options


@FUZZ
@given(changes=CHANGES)
def test_damaged_files_are_read_or_rejected(sample, changes):
    path, data, options = sample
    path.write_bytes(changed(data, changes))
    problems: tuple[str, ...] = ()
    tracemalloc.start()
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PreprocessWarning)
            read_mesh(path, unit="m", **options)
    except InputError as error:
        problems = error.problems
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert all("\n" not in problem and str(path) in problem for problem in problems)
    assert peak < BYTES
    assert time.perf_counter() - begun < SECONDS


@pytest.mark.parametrize("part", drawn(1, 40))
def test_files_cut_off_are_read_or_rejected(sample, part):
    """The lengths of one of forty classes; together every length."""
    path, data, options = sample
    few = len(data) // 12 if part == 0 else 40  # bytes between the lengths tried
    for length in range(part, len(data), few):
        path.write_bytes(data[:length])
        begun = time.perf_counter()
        with warnings.catch_warnings(), contextlib.suppress(InputError):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PreprocessWarning)
            read_mesh(path, unit="m", **options)
        assert time.perf_counter() - begun < SECONDS


SHORT = {
    ".cdb": ["MPDATA,R5.0,1", "EMODIF", "EMODIF,31", "N,R5.3,LOC", "CE,1,0,7,UX,1", "RLBLOCK,1"],
    ".k": ["*PARAMETER\n,5", "*PARAMETER\nR", "*SECTION_SHELL\n3", "*PART\nx\n1"],
}


def shorter(line):
    """The line up to each of its fields, and without one field between commas."""
    yield from (line[: found.start()] for found in re.finditer(r"(?<=[^,\s])[,\s]+", line))
    yield from (
        line[: found.start()] + line[found.end() :] for found in re.finditer(r"(?<=,)[^,]+", line)
    )


@pytest.mark.parametrize("part", drawn(1, 20))
def test_records_that_lack_fields_are_named(sample, part):
    """No message says just that the file is damaged."""
    path, data, options = sample
    if path.suffix in (".msh", ".vtu", ".med"):
        pytest.skip("their content has counts instead of records")
    lines = data.decode().split("\n")
    last = max(
        (k for k, line in enumerate(lines) if line.startswith(("*MAT", "SECOFF"))), default=0
    )
    cases = [(k, short) for k, line in enumerate(lines) for short in shorter(line)]
    cases = [*cases[part::20], *((last, short) for short in SHORT.get(path.suffix, ()))]
    for k, short in cases:
        path.write_text("\n".join([*lines[:k], short, *lines[k + 1 :]]))
        problems = ()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreprocessWarning)
            try:
                read_mesh(path, unit="m", **options)
            except InputError as error:
                problems = error.problems
        assert not any("is damaged" in problem for problem in problems), short


REAL = re.compile(rb"[-+]?\d+\.\d*(?:[EeDd][-+]?\d+)?")
EXTREME = (b"1e308", b"-1e308", b"5e-324", b"1e160", b"0.", b"1e999", b"nan")


@pytest.mark.parametrize("part", drawn(1, 20))
def test_extreme_numbers_are_refused_without_warnings(sample, part):
    """By the item: no warning of NumPy, no message just of damage."""
    path, data, options = sample
    if not data.isascii() or path.suffix in (".med", ".vtu"):
        pytest.skip("their numbers are binary")
    cases = [(found, value) for found in REAL.finditer(data) for value in EXTREME]
    for found, value in cases[part::20][:150]:
        text = value.rjust(len(found[0]))
        path.write_bytes(data[: found.start()] + text + data[found.end() :])
        problems = ()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PreprocessWarning)
            try:
                read_mesh(path, unit="file" if path.suffix == ".unv" else "mm", **options)
            except InputError as error:
                problems = error.problems
        assert not any("is damaged" in problem for problem in problems), (found[0], value)
