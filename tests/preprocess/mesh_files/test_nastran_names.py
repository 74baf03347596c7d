"""Names of Nastran cards: those of an analysis pass, those of the body are read or refused, others
are unknown.
"""

import warnings

import numpy as np
import pytest
from test_nastran_nothing_dropped import SHEET, read

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh_files import nastran, nastran_names

# As programs write them: loads, supports, solution control, aerodynamics, optimization, heat,
# output.
ANALYSIS = """SPC1,2,123456,1,4
SPCADD,4,2
SUPORT,1,123
ASET1,123456,1,THRU,3
USET1,U4,123,2
FORCE,3,2,0,10.,0.,0.,1.
MOMENT  3       2               1.      1.0     0.0     0.0
PLOAD4  3       1       -1.0
GRAV,5,,9810.,0.,0.,-1.
LOAD,6,1.,1.,3,1.,5
TEMP,7,1,20.,2,20.
TEMPD,7,20.
TLOAD1,8,9,,,10
DLOAD,11,1.,1.,8
DAREA,9,2,3,1.
TABLED1,10
,0.,0.,1.,1.,ENDT
FREQ1,12,1.,2.,10
TSTEP,13,100,0.01,1
EIGRL,14,,,10
EIGR    15      LAN                     10
TABDMP1,16,CRIT
,0.,0.02,1000.,0.02,ENDT
SET1,17,1,THRU,4
PARAM,POST,-1
PARAM*  MAXRATIO        1.E+8
DESVAR,18,T,1.,0.5,2.
DVPREL1,19,PSHELL,7,T
,18,1.
DEQATN  20      F(A,B,C,D,E,G,H,P,Q)=A+B*C-MAX(D,E,G)**2
        +H/P,Q
DRESP1,21,W,WEIGHT
DCONSTR,22,21,,1.
AERO,,1.,100.,1.-9
CAERO1,1001,1001,,4,4,,,1
,0.,0.,0.,100.,0.,50.,0.,100.
PAERO1,1001
SPLINE1,1002,1001,1001,1016,17
TABLEM1,23
,0.,1.,100.,0.9,ENDT
MAT4,24,50.
CHBDYG,25,,AREA4,,,26
,1,2,3,4
CONV,25,27,,,28
PLOTEL,29,1,3
"""


def test_every_card_that_is_read_is_known():
    read = {*nastran.MESH_CARDS, *nastran.STRUCTURAL_CARDS} - {"BEGIN"}  # with a number
    assert read <= nastran_names.KNOWN


@pytest.mark.parametrize("lower", [False, True])
def test_cards_of_an_analysis_have_no_effect(tmp_path, lower):
    plain = read(tmp_path, SHEET)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(tmp_path, SHEET + (ANALYSIS.lower() if lower else ANALYSIS))
    assert abs(found.K - plain.K).max() == abs(found.M - plain.M).max() == 0.0


@pytest.mark.parametrize(
    ("card", "near"),
    [("PSHEL,7,1,2.0,1,,1", "PSHELL"), ("MATT,1,3", "MAT\\w*"), ("RBE22,30,5,123456,2", "RBE2"),
     ("PBARR,8,1,2.", "PBARL?"), ("CTETR,9,1,1,2,3,4", "CTETRA"),
     ("GRD,9,,1.,1.,1.", "GRID"),
     ("MPCX,2,5,1,1.,1,1,-1.", "MPC\\w*"), ("CONMM2,9,2,0,1.-3", "CONM2")],
)  # fmt: skip
@pytest.mark.parametrize("structural", [False, True])
def test_unknown_cards_are_refused_with_the_nearest_name(tmp_path, card, near, structural):
    path = tmp_path / "deck.bdf"
    path.write_text(f"BEGIN BULK\n{SHEET}{card}\nENDDATA\n")
    name, line = card.split(",")[0], 2 + SHEET.count("\n")
    with pytest.raises(
        InputError,
        match=f"deck.bdf:{line}: card '{name}' is not known; did you mean {near}\\? Remove it "
        "otherwise",
    ):
        pp.read_mesh(path, unit="mm", structural=structural)


def test_all_unknown_cards_of_the_body_are_listed_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, SHEET + "GRDX,1,2\nCQQQQ,1\nCQQQQ,2\n&,1\n")
    first, second, third = caught.value.problems
    assert "'GRDX' is not known; did you mean GRID" in first
    assert "'CQQQQ' is not known; remove it" in second
    assert "'&' is not the name of a card; remove the line" in third


def test_cards_of_other_dialects_are_noted(tmp_path):
    cards = "DEBUG,200,1\nYPARAM,3,4\nDMRLAW,1\nDMRLAW,2\nSPCX,1,2\n"
    with pytest.warns(pp.PreprocessWarning) as caught:
        read(tmp_path, SHEET + cards)
    found = [str(each.message).partition(": ")[2] for each in caught]
    assert [each.partition(" omitted")[0] for each in found] == ["1 YPARAM", "2 DMRLAW", "1 SPCX"]


@pytest.mark.parametrize("seed", range(3))
def test_a_letter_too_many_or_too_few_is_never_passed(tmp_path, seed):
    """Random changes of the names of cards of bodies: another name that exists, or a refusal."""
    random, names = np.random.default_rng(seed), sorted(nastran_names.OF_BODIES)
    for name in random.choice(names, 40):
        place, letter = (
            int(random.integers(len(name))),
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[random.integers(26)],
        )
        changed = str(
            random.choice([name[:place] + name[place + 1 :], name[:place] + letter + name[place:]])
        )
        if (
            changed
            and changed[:8] == changed
            and changed not in {*nastran_names.KNOWN, "ENDDATA", "INCLUDE", "BEGIN"}
        ):
            with pytest.raises(InputError, match="is not known"):
                read(tmp_path, SHEET + f"{changed},1,2\n")


@pytest.mark.parametrize(
    ("card", "note"),
    [("MATT1,1,3", "the values of the properties and materials are used"), ("MATS1,1,,PLASTIC", "the body is linear elastic"),
     ("BSURF,5,1", "contacts act between bodies of the mechanism"), ("SNORM,1,,0.,0.,1.", "the normals of shells are those of")],
)  # fmt: skip
def test_what_changes_the_body_in_an_analysis_alone_is_noted(tmp_path, card, note):
    with pytest.warns(pp.PreprocessWarning, match=f"1 {card.split(',')[0]} omitted: {note}"):
        read(tmp_path, SHEET + card + "\n")


@pytest.mark.parametrize(
    "card", ["MFLUID,1", "BGSET,1,2,3", "NTHICK,1,2.", "RSPLINE,9,,1,2", "TIE,1,2,3"]
)
def test_what_belongs_to_the_body_is_refused_by_name(tmp_path, card):
    with pytest.raises(InputError, match=f"1 {card.split(',')[0]} are not supported"):
        read(tmp_path, SHEET + card + "\n")


def test_case_control_of_included_files_counts(tmp_path):
    equations = "MPC,3,1,1,1.,2,1,-1.\n"
    (tmp_path / "case.txt").write_text("MPC = 3\n")
    assert (
        read(tmp_path, SHEET + equations, "CEND\nINCLUDE 'case.txt'\n").constraints.dependent.size
        == 1
    )
    with pytest.raises(InputError, match="TFL of the case control adds a matrix"):
        read(tmp_path, SHEET, "CEND\nTFL = 5\n")


def test_bulk_data_without_its_beginning(tmp_path):
    path = tmp_path / "deck.bdf"
    path.write_text(f"SOL 103\nCEND\nECHO = NONE\n{SHEET}ENDDATA\n")
    with pytest.raises(
        InputError, match="has CEND, but no BEGIN BULK; write it before the bulk data"
    ):
        pp.read_mesh(path, unit="mm", structural=True)
