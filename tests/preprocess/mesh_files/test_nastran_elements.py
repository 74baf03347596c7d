"""Elements of Nastran with fields of their own: thickness at corners, masses, missing nodes."""

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError

GRIDS = """GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,1.,1.,0.
GRID,4,,0.,1.,0.
GRID,5,,2.,0.,0.
GRID,6,,2.,1.,0.
MAT1,1,2.1+11,,.3,7850.
"""
PSHELL = "PSHELL,1,1,.05,1,,1\n"


def read(tmp_path, cards, before=""):
    path = tmp_path / "part.bdf"
    path.write_text(f"SOL 103\nCEND\n{before}BEGIN BULK\n{GRIDS}{cards}ENDDATA\n")
    return pp.read_mesh(path, unit="m")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (",,,.02,.03,.03,.02", [0.02, 0.03, 0.03, 0.02]),
        (",,,.02,,.03", [0.02, 0.05, 0.03, 0.05]),
        (",,1,.4,1.,2.", [0.02, 0.05, 0.1, 0.05]),  # TFLAG = 1
    ],
)
def test_shells_have_their_own_thickness(tmp_path, fields, expected):
    """Also beside one of the property's, and of others at the same grids."""
    cards = f"CQUAD4,1,1,1,2,3,4\n{fields}\nCQUAD4,2,1,2,5,6,3\nCQUAD4,3,1,1,2,3,4\n,,,.01,.01,.01,.01\n"
    with pytest.raises(InputError, match="shells lie on each other"):
        read(tmp_path, cards + PSHELL)
    fe = pp.assemble(read(tmp_path, cards.partition("CQUAD4,3")[0] + PSHELL))
    own, rest = sorted(fe.structures, key=lambda each: each.ids[0])
    np.testing.assert_allclose(own.thickness, [expected], rtol=1e-14)
    np.testing.assert_allclose(rest.thickness, 0.05)
    assert fe.mass == pytest.approx(7850 * (np.mean(expected) + 0.05), rel=1e-12)


def test_steps_of_thickness(tmp_path):
    """Two shells with different thickness at their common grids are in two sets, others in one."""
    cards = "CQUAD4,1,1,1,2,3,4\n,,,.02,.02,.02,.02\nCQUAD4,2,1,2,5,6,3\n,,,.04,.04,.04,.04\n"
    fe = pp.assemble(read(tmp_path, cards + PSHELL))
    assert [float(each.thickness.mean()) for each in fe.structures] == [0.02, 0.04]
    smooth = cards.replace(",,,.02,.02,.02,.02", ",,,.02,.04,.04,.02")
    assert len(pp.assemble(read(tmp_path, smooth + PSHELL)).structures) == 1


def test_thickness_between_corners_of_triangles(tmp_path):
    middles = "GRID,12,,.5,0.,0.\nGRID,23,,1.,.5,0.\nGRID,13,,.5,.5,0.\n"
    cards = "CTRIA6,1,1,1,2,3,12,23,13\n,,,.02,.04,.06\n"
    fe = pp.assemble(read(tmp_path, middles + cards + PSHELL))
    (shell,) = fe.structures
    np.testing.assert_allclose(shell.thickness, [[0.02, 0.04, 0.06, 0.03, 0.05, 0.04]])


def test_a_laminate_has_no_thickness_of_its_own(tmp_path):
    cards = "CQUAD4,1,1,1,2,3,4\n,,,.02,.03,.03,.02\nPCOMP,1\n,1,.1,0.\n"
    with pytest.raises(InputError, match="CQUAD4 1 has its own thickness T1 to T4"):
        pp.read_mesh(read_path(tmp_path, cards), unit="m", structural=True)


def read_path(tmp_path, cards):
    path = tmp_path / "deck.bdf"
    path.write_text(f"SOL 103\nCEND\nBEGIN BULK\n{GRIDS}{cards}ENDDATA\n")
    return path


BARS = "CBAR,1,1,1,2,0.,0.,1.\nCBAR,2,1,2,3,0.,0.,1.\nPBAR,1,1,1.-3,1.-6,2.-6,3.-6\n"


@pytest.mark.parametrize("moments", [(0.1, 0.0, 0.0), (0.0, 0.2, 0.1), (0.1, 0.1, 0.1)])
def test_a_mass_with_one_moment_of_inertia(tmp_path, moments):
    """Added to the mass matrix as it is, in Nastran as here; a warning names it."""
    I11, I22, I33 = moments
    bars = pp.assemble(read(tmp_path, BARS))
    path = read_path(tmp_path, f"{BARS}CONM2,9,3,,2.\n,{I11},,{I22},,,{I33}\n")
    if max(moments) > sum(moments) / 2 + 1e-9:
        with pytest.warns(pp.PreprocessWarning, match="CONM2 9: no body has these moments"):
            fe = pp.assemble(pp.read_mesh(path, unit="m"))
    else:
        fe = pp.assemble(pp.read_mesh(path, unit="m"))
    six = fe.freedoms.six(np.array([2]))[0]
    added = (fe.M - bars.M).toarray()
    np.testing.assert_allclose(np.diag(added)[six], [2, 2, 2, *moments], atol=1e-12)
    assert np.abs(added - np.diag(np.diag(added))).max() < 1e-12


def test_lines_of_a_text_begin_with_blanks(tmp_path):
    """Continuations of DEQATN, with a comma in the text."""
    text = "DEQATN  100     F(X1,X2) = RSS(X1+0.000, X2+0.103,\n        X1+0.5, X2)\n"
    assert len(read(tmp_path, text + BARS).blocks["line2"].ids) == 2
