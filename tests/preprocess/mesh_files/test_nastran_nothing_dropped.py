"""Nastran decks: what a deck says has its effect, or is refused by name."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import central_inertia

GRIDS = "GRID,1,,0.,0.,0.\nGRID,2,,100.,0.,0.\nGRID,3,,100.,50.,0.\nGRID,4,,0.,50.,0.\nGRID,5,,120.,25.,0.\n"
STEEL, CARBON = "MAT1,1,2.1+5,,.3,7.85-9\n", "MAT8,2,1.35+5,1.+4,.3,5.+3,5.+3,3.5+3,1.6-9\n"
SHEET = GRIDS + STEEL + "CQUAD4,1,7,1,2,3,4,0\nPSHELL,7,1,2.0,1,,1\n"
BAR = GRIDS + STEEL + "CBEAM,1,8,1,2,0.,1.,0.\n"


def read(tmp_path, bulk, before=""):
    path = tmp_path / "deck.bdf"
    path.write_text(f"{before}BEGIN BULK\n{bulk}ENDDATA\n")
    return pp.assemble(pp.read_mesh(path, unit="mm", structural=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("in_case_control", [False, True])
def test_wtmass_multiplies_all_masses(tmp_path, seed, in_case_control):
    factor = float(np.random.default_rng(seed).uniform(0.5, 2.0))
    bulk = SHEET + "CONM2,9,2,0,1.-3,1.,2.,3.\n,5.,0.,6.,0.,0.,7.\n"
    plain, line = read(tmp_path, bulk), f"PARAM,WTMASS,{factor!r}\n"
    scaled = read(tmp_path, bulk, line) if in_case_control else read(tmp_path, bulk + line)
    assert abs(scaled.K - plain.K).max() == 0.0
    assert scaled.mass == pytest.approx(factor * plain.mass, rel=1e-12)
    assert abs(scaled.M - factor * plain.M).max() < 1e-12 * abs(plain.M).max()


def test_a_ply_given_by_its_output_alone_repeats_the_one_before(tmp_path):
    shell = GRIDS + CARBON + "CQUAD4,1,7,1,2,3,4,0\nPCOMP,7,,,,,,,\n,2,1.,0.,YES,{}\n"
    short, full = (read(tmp_path, shell.format(second)) for second in (",,,YES", "2,1.,0.,YES"))
    assert abs(short.K - full.K).max() == 0.0


@pytest.mark.parametrize(
    ("bulk", "message"),
    [
        *[
            (SHEET + f"{card},9,1,5,123456\n", f"1 {card} are not supported")
            for card in ("RJOINT", "RBAR1", "RTRPLT", "GENEL")
        ],
        *[
            (SHEET + f"{card},5,PSHELL,1.-9,7\n", f"1 {card} are not supported")
            for card in ("NSM", "NSM1", "NSML", "NSML1")
        ],
        (SHEET + "RBE2,30,5,123456,1,2,,,,3,4\n", "RBE2 has more fields than a line can hold"),
        (SHEET + "RBE2,30,5,123456,1,2,,,,3\n", "RBE2 has more fields than a line can hold"),
        (SHEET + "PARAM,WTMASS,-1.\n", "WTMASS: give a positive factor"),
        (SHEET + STEEL, "material number 1 occurs twice"),
        (
            SHEET + "CELAS2,9,100.,1,1,2,1\nCELAS2,9,100.,1,1,2,1\n",
            "CELAS2 9: its number occurs twice",
        ),
        (SHEET + "CONM2,9,2,0,1.-3\nCONM2,9,3,0,1.-3\n", "CONM2 9: its number occurs twice"),
        (SHEET + "CBUSH,9,3,2,5,,,,0\nPBUSH,3,K,1.,2.,3.,4.,5.,6.\n,M,1.\n", "PBUSH 3 has a mass"),
        (
            BAR + "PBEAM,8,1,24.,72.,32.,,70.,0.\n,,,,,,,,\n,YES,1.0,24.,72.,32.,,70.,1.-3\n",
            "PBEAM 8: NSM that changes along the beam is not supported",
        ),
        (
            BAR + "PBEAM,8,1,24.,72.,32.,,70.,0.\n,,,,,,,,\n,YES,1.0,24.,72.,32.,5.,70.\n",
            "PBEAM 8: I12 not supported",
        ),
        (
            BAR + "PBEAM,8,1,24.,72.,32.,,70.\n,NO,1.0,12.\n,1.,1.,0.5,0.5\n",
            "PBEAM 8: S1 and S2 not supported",
        ),
        (
            SHEET + 2 * "CORD2R,5,,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n",
            "coordinate system 5 occurs twice",
        ),
        (
            SHEET + "CDAMP3,9,5,1,2\n",
            "1 CDAMP3 elements are not supported; use CTETRA, .*, CQUAD8, .*, CDAMP2",
        ),
        (
            GRIDS + CARBON + "CQUAD4,1,7,1,2,3,4,0\nPSHELL,7,2,2.0,2,3.0,2\n",
            "PSHELL 7 of MAT2 or MAT8 with its own bending or shear is not supported; give a PCOMP",
        ),
        (
            SHEET + "BEGIN SUPER=1\nGRID,11,,1.,1.,1.\n",
            "superelements in one file are not supported",
        ),
    ],
)
def test_what_has_no_effect_is_refused_by_name(tmp_path, bulk, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, bulk)


def beam(first, *others):
    """A bar in small fields with names of its continuation lines."""
    return (
        BAR
        + f"{'PBEAM':8}{'8':8}{'1':8}{'100.':8}{'800.':8}{'900.':8}{'':8}{'1000.':8}{'':8}{first}\n"
        + "".join(others)
    )


def test_continuations_by_name(tmp_path):
    """Those of a card are read, beside it or not; those of no card are refused."""
    second = f"{{:8}}{'0.':8}{'0.':8}\n"
    for first, name in (("+A", "+A"), ("+A", "+"), ("", "+A"), ("", "+"), ("+   A1", "+   A1")):
        assert read(tmp_path, beam(first, second.format(name))).mass > 0.0
    with pytest.raises(
        InputError,
        match=r"continuation '\+B' follows no card; name its card",
    ):
        read(tmp_path, beam("+A", second.format("+B")))


def test_only_the_equations_that_the_case_control_selects_are_applied(tmp_path):
    equations = "MPC,3,1,1,1.,2,1,-1.\nMPC,4,3,1,1.,4,1,-1.\nMPCADD,5,3,4\n"
    with pytest.warns(
        pp.PreprocessWarning,
        match="2 MPC omitted: the case control selects none; write MPC = n before",
    ):
        assert not read(tmp_path, SHEET + equations).constraints.dependent.size
    chosen = [
        read(tmp_path, SHEET + equations, f"CEND\nSUBCASE 1\n  MPC = {n}  $ chosen\n")
        for n in (3, 4, 5)
    ]
    assert [fe.constraints.dependent.size for fe in chosen] == [1, 1, 2]


@pytest.mark.parametrize("name", ["K2GG", "m2gg", "B2GG", "K42GG"])
def test_matrices_that_the_case_control_adds_are_refused(tmp_path, name):
    matrix = "DMIG,KX,0,6,1,0\nDMIG,KX,1,1,,1,1,1000.\n"
    assert read(tmp_path, SHEET + matrix, f"$ {name} = KX\n").mass > 0.0
    with pytest.raises(
        InputError,
        match=f"{name.upper()} of the case control adds a matrix, which is not supported; remove it",
    ):
        read(tmp_path, SHEET + matrix, f"  {name} = KX\n")


def test_structural_damping_is_noted(tmp_path):
    deck = SHEET.replace("7.85-9\n", "7.85-9,,,0.02\n") + "PARAM,G,0.03\nPARAM,K6ROT,1.\n"
    with pytest.warns(
        pp.PreprocessWarning,
        match=r"2 structural damping \(GE, PARAM,G\) omitted: modal damping is an",
    ):
        read(tmp_path, deck)


BUSHING = "GRID,6,,0.,0.,5.\nGRID,7,,0.,50.,5.\nCQUAD4,2,7,6,5,3,7\n"


@pytest.mark.parametrize(
    "cards",
    [
        "CBUSH,60,30,1,6,,,,0\nPBUSH,30,K,100.,100.,100.,10.,10.,10.\n,GE,0.,.04\n",
        "CELAS2,60,100.,1,3,6,3,.05\n",
        "CELAS1,60,30,1,3,6,3\nPELAS,30,100.,.05\n",
        "CELAS1,60,31,1,3,6,3\nPELAS,30,100.,.05,,31,10.\n",
        "CELAS1,60,31,1,3,6,3\nPELAS,30,100.,,,31,10.,.05\n",
        "GRID,8,,0.,-9.,0.\nCTRIA3,3,8,1,8,2,0\nPCOMP,8,,,,,,.03\n,2,1.,0.,YES\n" + CARBON,
    ],
    ids=["PBUSH", "CELAS2", "PELAS", "first PELAS", "second PELAS", "PCOMP"],
)
@pytest.mark.filterwarnings("ignore")
def test_structural_damping_of_links_and_plies_is_noted(tmp_path, cards):
    with pytest.warns(pp.PreprocessWarning, match=r"1 structural damping \(GE, PARAM,G\) omitted"):
        read(tmp_path, SHEET + BUSHING + cards)
    plain = cards.replace(",.05", ",").replace(",0.,.04", ",0.,0.").replace(",.03", ",")
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        read(tmp_path, SHEET + BUSHING + plain)
    assert not [each for each in notices if "GE" in str(each.message)]


def test_matrices_that_the_case_control_does_not_select_are_noted(tmp_path):
    matrices = "DMIG,KX,0,6,1,0\nDMIG,KX,1,1,,1,1,1000.\nDMIG,MX,0,6,1,0\n"
    with pytest.warns(pp.PreprocessWarning, match="DMIG KX, MX omitted: the case control adds no"):
        read(tmp_path, SHEET + matrices)


@pytest.mark.parametrize(("components", "count"), [("123", 3), ("12346", 5), ("123456", 6)])
def test_components_of_the_centre_of_an_average(tmp_path, components, count):
    """REFC on a node of a beam: the other components are those of the beam."""
    deck = SHEET + "GRID,6,,150.,25.,0.\nCBAR,2,8,5,6,0.,0.,1.\nPBARL,8,1,,ROD\n,2.\n"
    fe = read(tmp_path, deck + f"RBE3,31,,5,{components},1.,123,1,2\n,3,4\n")
    assert fe.constraints.dependent.size == count
    (given,) = fe.freedoms.six(np.flatnonzero(fe.node_ids == 5))
    np.testing.assert_array_equal(
        fe.constraints.dependent, sorted(given[int(c) - 1] for c in components)
    )


def test_a_mass_on_a_node_without_elements_is_a_body_that_the_spider_carries(tmp_path):
    """The same body at the centre of a spider, or at one of its dependent nodes."""
    mass = "CONM2,9,{},0,1.-3,5.,0.,2.\n,3.,,4.,,,5.\n"
    at_centre = read(tmp_path, SHEET + "RBE2,30,5,123456,2,3\n" + mass.format(5))
    at_foot = read(
        tmp_path, SHEET + "GRID,6,,115.,25.,0.\nRBE2,30,6,123456,5,2,3\n" + mass.format(5)
    )
    found = [
        pp.reduce(
            fe,
            interfaces={"root": pp.Averaged("root")},
            method=pp.CraigBampton(modes=4),
            reference="root",
        )
        for fe in (with_root(at_centre), with_root(at_foot))
    ]
    np.testing.assert_allclose(found[0].modes.frequency, found[1].modes.frequency, rtol=1e-9)
    np.testing.assert_allclose(central_inertia(found[0]), central_inertia(found[1]), rtol=1e-9)


def with_root(fe):
    return replace(fe, node_sets={**fe.node_sets, "root": np.flatnonzero(fe.nodes[:, 0] < 0.101)})


def test_offsets_of_shells(tmp_path):
    """ZOFFS of CQUAD4 and CTRIA3 is the offset of their section, along their own normals."""
    deck = GRIDS + STEEL + "CQUAD4,1,7,1,2,3,4,,1.5\nCTRIA3,2,7,2,5,3,,-0.5\nPSHELL,7,1,2.0,1,,1\n"
    fe = read(tmp_path, deck)
    assert {each.kind: each.section.offset for each in fe.structures} == {
        "quad4": 1.5e-3,
        "tri3": -0.5e-3,
    }
    area = {"quad4": 5e-3, "tri3": 0.5e-3}
    assert fe.centre_of_mass[2] == pytest.approx(
        sum(area[k] * z for k, z in (("quad4", 1.5e-3), ("tri3", -0.5e-3))) / 5.5e-3
    )


@pytest.mark.parametrize(("plain", "with_rotations"), [("CQUAD4", "CQUADR"), ("CTRIA3", "CTRIAR")])
def test_shells_with_rotations_about_their_normal(plain, with_rotations, tmp_path):
    deck = GRIDS + STEEL + "CQUAD4,1,7,1,2,3,4,,1.5\nCTRIA3,2,7,2,5,3,,-0.5\nPSHELL,7,1,2.0,1,,1\n"
    one, other = (read(tmp_path, text) for text in (deck, deck.replace(plain, with_rotations)))
    assert abs(one.K - other.K).max() == abs(one.M - other.M).max() == 0.0


@pytest.mark.parametrize(("Z0", "middle"), [("", 0.0), ("0.25", 0.75)])
def test_offsets_of_laminates_add_to_their_own(Z0, middle, tmp_path):
    """ZOFFS is that of the reference plane, from which Z0 of PCOMP is the bottom."""
    laminate = f"PCOMP,7,{Z0},,,,,,\n,2,1.,0.,YES\n"
    fe = read(tmp_path, GRIDS + CARBON + "CQUAD4,1,7,1,2,3,4,0,1.5\n" + laminate)
    assert fe.centre_of_mass[2] == pytest.approx(1e-3 * (1.5 + middle))


def test_pbeam_without_its_line_of_stress_points(tmp_path):
    """The first continuation may be missing where one of stations follows."""
    station = ",NO,1.0,12.,36.,16.,,35.\n"
    short, full = (
        read(tmp_path, BAR + f"PBEAM,8,1,24.,72.,32.,,70.\n{line}{station},0.8,0.8\n")
        for line in ("", ",,,,,,,,\n")
    )
    assert short.mass == pytest.approx(18e-6 * 0.1 * 7850)
    assert abs(short.K - full.K).max() == 0.0
