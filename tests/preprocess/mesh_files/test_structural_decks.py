"""Beams, shells and spiders of decks: what is read equals what is built in Python; what is not
supported is refused by name.
"""

from dataclasses import replace

import meshio
import numpy as np
import pytest
from mesh_decks import (
    CELLS,
    END,
    MORE,
    POINTS,
    ROOT,
    every_card_nastran,
    sheet_and_boom_abaqus,
    sheet_and_boom_nastran,
)

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
T = pp.TSection(0.03, 0.02, 0.002, 0.003, orientation=(0, 0, 1))
UP, RIGHT = (0, 0, 1), (0, -1, 0)  # axes of a section on a bar along x
CHANNEL = pp.ChannelSection(0.03, 0.02, 0.002, 0.003, orientation=UP)
ANGLE = pp.AngleSection(0.03, 0.02, 0.002, orientation=UP)
TAPERED = pp.RectangularSection(0.012, 0.008, orientation=UP, end={"height": 0.01, "width": 0.006})
GENERAL = pp.GeneralSection(
    96e-6, 512e-12, 1152e-12, 1200e-12, shear=(0.85, 0.8), orientation=(0, 0, 1)
)


CROSS = pp.WalledSection(
    [
        (0, 0, -0.015, 0, 0.004),
        (0, 0, 0.015, 0, 0.004),
        (0, 0, 0, -0.01, 0.003),
        (0, 0, 0, 0.01, 0.003),
    ],
    rectangles=[
        (-0.015, -0.002, 0.015, 0.002),
        (-0.0015, 0.002, 0.0015, 0.01),
        (-0.0015, -0.01, 0.0015, -0.002),
    ],
    orientation=UP,
)
HAT = pp.WalledSection(
    [
        (1e-3, -0.019, 1e-3, -9e-3, 2e-3),
        (1e-3, -9e-3, 0.029, -9e-3, 2e-3),
        (0.029, -9e-3, 0.029, 9e-3, 2e-3),
        (0.029, 9e-3, 1e-3, 9e-3, 2e-3),
        (1e-3, 9e-3, 1e-3, 0.019, 2e-3),
    ],
    rectangles=[
        (0, -0.019, 2e-3, -0.01),
        (0, -0.01, 0.03, -8e-3),
        (0.028, -8e-3, 0.03, 8e-3),
        (0, 8e-3, 0.03, 0.01),
        (0, 0.01, 2e-3, 0.019),
    ],
    orientation=UP,
)
ZED = pp.WalledSection(
    [(1e-3, 0.011, 1e-3, 0, 2e-3), (1e-3, 0, 0.029, 0, 4e-3), (0.029, 0, 0.029, -0.011, 2e-3)],
    rectangles=[(0, -2e-3, 0.03, 2e-3), (0, 2e-3, 2e-3, 0.011), (0.028, -0.011, 0.03, -2e-3)],
    orientation=UP,
)
PLATE = pp.WalledSection(
    [
        (1.5e-3, -9e-3, 1.5e-3, 9e-3, 3e-3),
        (0.029, -9e-3, 0.029, 9e-3, 2e-3),
        (1.5e-3, -9e-3, 0.029, -9e-3, 2e-3),
        (1.5e-3, -0.02, 1.5e-3, -9e-3, 5e-3),
        (1.5e-3, 9e-3, 0.029, 9e-3, 2e-3),
        (1.5e-3, 0.02, 1.5e-3, 9e-3, 5e-3),
    ],
    rectangles=[
        (0, -0.02, 3e-3, 0.02),
        (3e-3, -0.02, 5e-3, -0.01),
        (3e-3, 0.01, 5e-3, 0.02),
        (3e-3, -0.01, 0.03, -8e-3),
        (3e-3, 8e-3, 0.03, 0.01),
        (0.028, -8e-3, 0.03, 8e-3),
    ],
    orientation=UP,
)
DOUBLE = pp.WalledSection(
    [
        (1e-3, 0.5e-3, 0.019, 0.5e-3, 1e-3),
        (1e-3, 0.015, 0.019, 0.015, 2e-3),
        (1e-3, 0.0385, 0.019, 0.0385, 3e-3),
        (1e-3, 0.5e-3, 1e-3, 0.015, 2e-3),
        (1e-3, 0.015, 1e-3, 0.0385, 2e-3),
        (0.019, 0.5e-3, 0.019, 0.015, 2e-3),
        (0.019, 0.015, 0.019, 0.0385, 2e-3),
    ],
    rectangles=[
        (0, 0, 2e-3, 0.04),
        (0.018, 0, 0.02, 0.04),
        (2e-3, 0, 0.018, 1e-3),
        (2e-3, 0.014, 0.018, 0.016),
        (2e-3, 0.037, 0.018, 0.04),
    ],
    orientation=UP,
)
GIRDER = pp.WalledSection(
    [
        (1e-3, -0.01, 1e-3, 0, 2e-3),
        (1e-3, 0, 1e-3, 0.01, 2e-3),
        (1e-3, 0, 0.0285, 0, 2e-3),
        (0.0285, 0, 0.0285, -5e-3, 3e-3),
        (0.0285, 0, 0.0285, 5e-3, 3e-3),
    ],
    rectangles=[(0, -0.01, 2e-3, 0.01), (2e-3, -1e-3, 0.027, 1e-3), (0.027, -5e-3, 0.03, 5e-3)],
    orientation=UP,
)
HOLLOW = pp.WalledSection(
    [
        (2e-3, 0.5e-3, 0.0285, 0.5e-3, 1e-3),
        (0.0285, 0.5e-3, 0.0285, 0.019, 3e-3),
        (0.0285, 0.019, 2e-3, 0.019, 2e-3),
        (2e-3, 0.019, 2e-3, 0.5e-3, 4e-3),
    ],
    rectangles=[
        (0, 0, 0.03, 1e-3),
        (0, 0.018, 0.03, 0.02),
        (0, 1e-3, 4e-3, 0.018),
        (0.027, 1e-3, 0.03, 0.018),
    ],
    orientation=UP,
)


def at_shear_centre(section):
    """The section with its shear centre on the line between the nodes."""
    data = section.data(0.3)
    return replace(section, offset=tuple(-data.turn.T @ data.shear_centre))


def expected():
    """A sheet with a boom of two bars at its end, and a point before its root, in Python."""
    count = len(CELLS)
    mesh = pp.Mesh.from_arrays(
        POINTS, {"quad4": CELLS, "line2": [MORE[:2], MORE[1:3]]},
        node_sets={"end": END, "root": ROOT, "start": MORE[:1], "hold": MORE[3:], "tip": MORE[2:3]},
        element_sets={"sheet": np.arange(1, count + 1), "boom": [count + 1, count + 2]},
    )  # fmt: skip
    sections = {
        "sheet": pp.ShellSection(0.002),
        "boom": pp.RectangularSection(0.012, 0.008, orientation=(0, 0, 1)),
    }
    spiders = {
        "end": pp.RigidSpider("end", reference="start"),
        "root": pp.AveragingSpider(
            "root", reference="hold", components="123456", weights=(1.0, 2.0, 2.0, 1.0)
        ),
    }
    spiders = {f"spider {name}": spider for name, spider in spiders.items()}
    return pp.assemble(mesh, STEEL, sections=sections, connections=spiders)


def matrices(fe):
    """K and M with the degrees of freedom by node number."""
    six = fe.freedoms.six(np.argsort(fe.node_ids)).ravel()
    return [
        A[six][:, six].toarray() for A in (fe.constraints.matrix(fe.K), fe.constraints.matrix(fe.M))
    ]


def test_a_nastran_deck_is_the_model_in_python(tmp_path):
    """Shells, bars, their properties, RBE2 and RBE3 in mm: K and M to round-off, connections
    included.
    """
    path = tmp_path / "arm.bdf"
    path.write_text(sheet_and_boom_nastran())
    mesh = pp.read_mesh(path, unit="mm", structural=True)
    fe, same = pp.assemble(mesh, STEEL), expected()
    assert fe.mass == pytest.approx(same.mass, rel=1e-12)
    for found, wanted in zip(matrices(fe), matrices(same)):
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
    assert set(mesh.element_sets) >= {"property 7", "property 8"}
    body = pp.reduce(
        fe,
        interfaces={
            "root": pp.Rigid("RBE3 31 centre"),
            "tip": pp.Rigid(pp.Point((0.4, 0.03, 0.05))),
        },
        reference="root",
    )
    assert body.provenance["accuracy: frequencies"] < 0.01


def test_a_part_file_of_the_deck(tmp_path):
    (tmp_path / "arm.bdf").write_text(sheet_and_boom_nastran())
    (tmp_path / "arm.toml").write_text(
        'format = "flexmbs-part/1"\nmesh = "arm.bdf"\nunit = "mm"\nstructural = '
        'true\nreference = "root"\n'
        "material = { E = 2.1e11, nu = 0.3, rho = 7850.0 }\n"
        'interfaces.root.set = "RBE3 31 centre"\nmethod.modes = 6\n'
    )
    body = pp.read_part(tmp_path / "arm.toml").reduce()
    assert body.mass == pytest.approx(expected().mass, rel=1e-9)
    (tmp_path / "arm.toml").write_text(
        (tmp_path / "arm.toml").read_text() + '[sections."property 7"]\nthickness = 0.004\n'
    )
    with pytest.raises(InputError, match=r"sections: 2 element\(s\) without one: 101, 102"):
        pp.read_part(tmp_path / "arm.toml").reduce()


@pytest.mark.parametrize(
    ("card", "properties"),
    [
        ("PBARL,8,1,,ROD\n,10.0", pp.CircularSection(0.02)),
        ("PBARL,8,1,,TUBE\n,10.0,8.0", pp.TubularSection(0.02, 0.002)),
        ("PBARL,8,1,,BOX\n,20.0,30.0,2.0,2.0", pp.BoxSection(0.03, 0.02, 0.002, orientation=(0, 0, 1))),
        ("PBARL,8,1,,I\n,30.0,20.0,20.0,2.0,3.0,3.0", pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=(0, 0, 1))),
        ("PBARL,8,1,,TUBE2\n,10.0,2.0", pp.TubularSection(0.02, 0.002)),
        ("PBARL,8,1,,BOX1\n,20.,30.,2.,2.,2.,2.", pp.BoxSection(0.03, 0.02, 0.002, orientation=UP)),
        ("PBARL,8,1,,I1\n,18.0,2.0,24.0,30.0", pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=UP)),
        ("PBARL,8,1,,H\n,24.0,6.0,20.0,2.0", pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=RIGHT)),
        ("PBARL,8,1,,T1\n,20.0,27.0,3.0,2.0", replace(T, orientation=RIGHT)),
        ("PBARL,8,1,,T2\n,20.0,30.0,3.0,2.0", replace(T, orientation=(0, 0, -1))),
        ("PBARL,8,1,,CHAN\n,20.0,30.0,2.0,3.0", CHANNEL),
        ("PBARL,8,1,,CHAN1\n,18.0,2.0,24.0,30.0", CHANNEL),
        ("PBARL,8,1,,CHAN2\n,3.0,2.0,20.0,30.0", replace(CHANNEL, orientation=(0, 1, 0))),
        ("PBARL,8,1,,L\n,20.0,30.0,2.0,2.0", ANGLE),
        ("PBEAML,8,1,,CHAN\n,20.0,30.0,2.0,3.0", at_shear_centre(CHANNEL)),
        ("PBEAML,8,1,,L\n,20.0,30.0,2.0,2.0", at_shear_centre(ANGLE)),
        ("PBEAML,8,1,,BAR\n,8.0,12.0,,YES,1.0,6.0,10.0", TAPERED),
        ("PBEAML,8,1,,BAR\n,8.0,12.0,,NO,0.5,7.0,11.0\n,YES,1.0,6.0,10.0", TAPERED),
        ("PBEAM,8,1,96.,1152.,512.,,1200.\n,,,,,,,,\n,YES,1.0,48.,576.,,,600.\n,,,,,,,,\n,0.85,0.80",
         replace(GENERAL, end={"area": 48e-6, "Iz": 576e-12, "Iy": 512e-12, "J": 600e-12})),
        ("PBARL,8,1,,T\n,20.0,30.0,3.0,2.0", T),
        ("PBEAML,8,1,,T\n,20.0,30.0,3.0,2.0", at_shear_centre(T)),
        ("PBAR,8,1,96.0,1152.0,512.0,1200.0\n,,,,,,,,\n,0.85,0.80", GENERAL),
        ("PBARL,8,1,,CROSS\n,16.,4.,30.,3.", CROSS),
        ("PBARL,8,1,,HAT\n,30.,2.,20.,9.", HAT),
        ("PBEAML,8,1,,HAT\n,30.,2.,20.,9.", at_shear_centre(HAT)),
        ("PBARL,8,1,,HAT1\n,40.,30.,20.,2.,3.", PLATE),
        ("PBARL,8,1,,DBOX\n,40.,20.,15.,1.,2.,3.,2.,2.\n,2.,2.", DOUBLE),
        ("PBEAML,8,1,,DBOX\n,40.,20.,15.,1.,2.,3.,2.,2.\n,2.,2.", at_shear_centre(DOUBLE)),
        ("PBARL,8,1,,Z\n,9.,4.,26.,30.", ZED),
        ("PBARL,8,1,,I\n,30.,20.,10.,2.,2.,3.", GIRDER),
        ("PBEAML,8,1,,I\n,30.,20.,10.,2.,2.,3.", at_shear_centre(GIRDER)),
        ("PBARL,8,1,,BOX1\n,20.,30.,3.,4.,2.,1.", HOLLOW),
        ("PBARL,8,1,,L\n,20.,30.,3.,2.", replace(ANGLE, flat=0.003)),
        ("PBARL,8,1,,BAR\n,8.0,12.0,3.-6", pp.RectangularSection(0.012, 0.008, orientation=UP, added_mass=3.0)),
        ("PBAR,8,1,96.,1152.,512.,1200.,3.-6\n,,,,,,,,\n,0.85,0.80", replace(GENERAL, added_mass=3.0)),
        ("PBEAM,8,1,96.,1152.,512.,,1200.,3.-6\n,,,,,,,,\n,0.85,0.80", replace(GENERAL, added_mass=3.0)),
        ("PBEAM,8,1,96.,1152.,512.,,1200.,3.-6\n,7.,-5.,-7.,3.,0.,0.,0.,0.\n,0.85,0.80\n,,,,,2.,-4.,2.",
         replace(GENERAL, shear_centre=(-0.002, 0.004), line="shear-centre", added_mass=3.0, height=0.018, width=0.014)),
        ("PBEAML,8,1,,CHAN\n,20.,30.,2.,3.,3.-6", replace(CHANNEL, line="shear-centre", added_mass=3.0)),
        ("PBAR,8,1,96.,1152.,512.,1200.\n,7.,-5.,-7.,3.,0.,0.,0.,0.\n,0.85,0.80", replace(GENERAL, height=0.014, width=0.01)),
    ],
)  # fmt: skip
def test_sections_of_bars(tmp_path, card, properties):
    path = tmp_path / "arm.bdf"
    path.write_text(sheet_and_boom_nastran(bar=card))
    beams = pp.assemble(pp.read_mesh(path, unit="mm", structural=True), STEEL).structures
    found = next(each for each in beams if each.kind == "line2")  # with the bar along x
    wanted = replace(
        found, section=replace(properties, orientation=UP) if properties.round else properties
    )
    for s in (0.0, 0.5, 1.0):
        for value, its in zip(found.section.at(s).data(0.3), properties.at(s).data(0.3)):
            assert value == pytest.approx(its, rel=1e-9, abs=1e-15)
    np.testing.assert_allclose(
        found.stiffness(), wanted.stiffness(), atol=1e-9 * np.abs(wanted.stiffness()).max()
    )
    (points, mass), (others, its) = found.mass_points(), wanted.mass_points()
    np.testing.assert_allclose(mass, its, rtol=1e-9)
    np.testing.assert_allclose(points.positions, others.positions, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "PSHELL,7,1,2.0,1,,1",
            "PROD,7,1,2.0",
            "property 7 of CTRIA3, CQUAD4, CTRIAR, CQUADR, CTRIA6, CQUAD8 elements is not "
            "one of PSHELL, PCOMP",
        ),
        ("PSHELL,7,1,2.0,1,,1", "PSHELL,7,1,2.0,1,,1\n,,,1", "PSHELL 7: MID4 couples membrane"),
        (
            "PSHELL,7,1,2.0,1,,1",
            "PSHELL,7,1,2.0,1,,1,,-0.1",
            "PSHELL 7: NSM = -0.1; give a mass that is not negative",
        ),
        (
            "BAR\n",
            "HEXA\n",
            "PBARL 8: section HEXA is not supported; use ROD, TUBE, TUBE2, BAR, BOX, "
            "BOX1, I, I1, H, T",
        ),
        (",8.0,12.0", ",8.0", "PBARL 8: section BAR: DIM2 is not positive; give all 2 dimensions"),
        (",8.0,12.0", ",8.0,12.0,,3.0", "PBARL 8: section BAR has 2 dimensions; remove the others"),
        (
            "PBARL,8,1,,BAR\n,8.0,12.0",
            "PBEAML,8,1,,T\n,8.,12.,1.,2.,,YES,1.0,4.\n",
            "PBEAML 8: tapered section T is not",
        ),
        (
            "PBARL,8,1,,BAR\n,8.0,12.0",
            "PBEAML,8,1,,ROD\n,8.,,YES,0.5,5.,,YES,1.0\n,6.",
            "PBEAML 8: station 0.5 deviates from the line",
        ),
        (",0.,0.,1.\n", ",999\n", "CBAR 101: node 999 has no GRID card; give one"),
        (
            ",0.,0.,1.\n",
            ",0.,0.,0.\n",
            "CBAR 101: has no orientation; give the vector X1, X2, X3, or a node G0",
        ),
        (
            ",0.,0.,1.\n",
            ",0.,0.,1.,EGG\n",
            "CBAR 101: OFFT = EGG is not supported; give offsets in displacement axes",
        ),
        (
            ",0.,0.,1.\n",
            ",0.,0.,1.,GGB\n",
            "CBAR 101: OFFT = GGB is not supported; give offsets in displacement axes",
        ),
        (",0.,0.,1.\n", ",0.,0.,1.\n,57\n", "CBAR 101: pin flags '57'; give digits from 1 to 6"),
        (
            "CQUAD4,1,7,1,5,6,2",
            "CQUAD4,1,7,1,5,6,2\n,,,-0.5",
            "CQUAD4 1: T1 = -0.5; give a positive",
        ),
        (
            "GRID,1,,",
            "GRID,1,,0.,0.,0.,3\nGRID,99,,",
            "GRID 1: displacement system 3 does not exist; give its CORD card",
        ),
        ("2.,123456,2,3", "2.,123456,2,3,UM,5,3", "RBE3 31: UM is not supported"),
        ("2.,123456,2", "2.,12,2", "RBE3 31: has groups of different components"),
        ("BEGIN BULK", "BEGIN BULK\nGRDSET,,,,,,3", "GRID 1: displacement system 3 does not exist"),
        ("BEGIN BULK", "BEGIN BULK\nBAROR,,8,,,0.,0.,1.\nBAROR,,8", "BAROR occurs twice; keep one"),
        ("ENDDATA", "PBARL,8,1,,ROD\n,10.0\nENDDATA", "property number 8 occurs twice"),
        (",123456,2,3", ",123456,2,999", "RBE3 31: node 999 has no GRID card"),
        (",123456,2,3", ",123456,2,2", "RBE3 31: node 2 occurs twice"),
        ("ENDDATA", "RBE2,44,999,123456,1\nENDDATA", "RBE2 44: node 999 has no GRID card"),
        (
            "ENDDATA",
            "RBAR,40,1,2\nENDDATA",
            "RBAR 40: only CNA or CNB = 123456 and components of the other end are supported",
        ),
        (
            "ENDDATA",
            "CTUBE,41,8,21,22\nENDDATA",
            "property 8 of CROD, CTUBE elements is not one of",
        ),
        ("ENDDATA", "PTUBE,9,1,10.,6.\nENDDATA", "PTUBE 9: OD = 10 with T = 6 is not a tube"),
        (
            "ENDDATA",
            "PTUBE,9,1,10.,2.,,8.\nENDDATA",
            "PTUBE 9: OD2 of a tapered tube is not supported",
        ),
        (
            "ENDDATA",
            "CROD,41,9,21,22\nPROD,9,7,2.0,3.0\nENDDATA",
            "CROD 41: its torsion needs MAT1 7; give one, or J = 0",
        ),
        ("PSHELL,7,1,2.0,1,,1", "PCOMP,7", "PCOMP 7: has no plies"),
        (
            "ENDDATA",
            "CELAS2,41,1e6,21,1,2,3\nENDDATA",
            "CELAS2 41: only springs between equal components of two grids",
        ),
        ("ENDDATA", "CDAMP1,41,9,1,1,2,1\nENDDATA", "CDAMP1 41: PDAMP 9 does not exist"),
        ("ENDDATA", "CDAMP3,41,9,1,2\nENDDATA", "1 CDAMP3 elements are not supported"),
        (
            "ENDDATA",
            "CVISC,41,9,1,2\nPVISC,9,1.0,2.0\nENDDATA",
            "CVISC 41: PVISC with CR1 is not supported; give a CBUSH with B4",
        ),
        (
            "ENDDATA",
            "CBUSH,41,9,21,2\nENDDATA",
            "CBUSH 41: needs two grids, and PBUSH 9; bushings to the ground",
        ),
        (
            "ENDDATA",
            "CONM2,41,21,7,1.0\nENDDATA",
            "CONM2: local coordinate system 7 does not exist",
        ),
        ("ENDDATA", "MPC,4,21,1,1.0\nENDDATA", "MPC 4 has 1 terms; it needs two or more"),
        (
            "BEGIN BULK",
            "MPC = 4\nBEGIN BULK\nMPCADD,4,1,2",
            "selects MPC = 4, but there is no MPC 1; it has: none",
        ),
        (
            "BEGIN BULK",
            "MPC = 4\nSUBCASE 2\nMPC = 5\nBEGIN BULK",
            "selects MPC = 4, 5 in different subcases; keep one",
        ),
        (
            "ENDDATA",
            "PBEAM,9,1,2.0,3.0,4.0,,5.0\n,,,,,,,,\n,,\n,,,,,1.,2.,0.\nENDDATA",
            "PBEAM 9: N1 and N2 that change along",
        ),
        (
            "ENDDATA",
            "PBEAM,9,1,2.0,3.0,4.0,,5.0\n,,,,,,,,\n,NO,0.5,1.0\nENDDATA",
            "PBEAM 9: station 0.5 deviates from the line",
        ),
    ],
)
def test_unsupported_cards_are_refused_by_name(tmp_path, old, new, message):
    path = tmp_path / "arm.bdf"
    text = sheet_and_boom_nastran()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        pp.read_mesh(path, unit="mm", structural=True)


def test_plates_without_shear_are_reported(tmp_path):
    path = tmp_path / "arm.bdf"
    path.write_text(sheet_and_boom_nastran().replace("PSHELL,7,1,2.0,1,,1", "PSHELL,7,1,2.0,1"))
    with pytest.warns(
        pp.PreprocessWarning, match="PSHELL 7 has no MID3, .*: it is read as a flexible one"
    ):
        pp.read_mesh(path, unit="mm", structural=True)


def test_every_nastran_card_is_the_model_in_python(tmp_path):
    """Laminates, beams, rods, bushings, springs, an equation, a mass with offset and inertia, and
    materials of the deck in mm.
    """
    path = tmp_path / "frame.bdf"
    path.write_text(every_card_nastran())
    mesh = pp.read_mesh(path, unit="mm", structural=True)
    fe = pp.assemble(mesh)
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    strengths = (1.5e9, 1.2e9, 5e7, 2e8, 7e7)
    carbon = pp.Orthotropic(
        E=(1.35e11, 1e10, 1e10),
        nu=(0.3, 0.0, 0.0),
        G=(5e9, 4e9, 3e9),
        rho=1600.0,
        strengths=strengths,
    )
    ply = fe.structures[0].section.materials[0]
    np.testing.assert_allclose(ply.strengths, strengths, rtol=1e-12)
    nodes = {number: row for row, number in enumerate(mesh.node_ids.tolist())}
    plies = [(1e-3, 0.0), (2e-3, 45.0), (2e-3, 45.0), (1e-3, 0.0)]
    sections = {
        "property 1": pp.LaminateSection(
            plies, orientation=(0, 1, 0), materials=(carbon,) * 4, offset=5e-3
        ),
        "property 2": pp.GeneralSection(
            96e-6, 512e-12, 1152e-12, 1200e-12, shear=(1.0, 0.8), orientation=(0, 0, 1)
        ),
        "property 3": pp.TrussSection(50e-6),
    }
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    damped = {"translation_damping": (1e3, 2e3, 3e3), "rotation_damping": (4.0, 5.0, 6.0)}
    six = {"translation": (1e6, 2e6, 3e6), "rotation": (40.0, 50.0, 60.0), "at": 0.5, **damped}
    connections = {
        "one": pp.Bushing(12, 13, axes=turned, **six),
        "two": pp.Bushing(13, 14, axes=np.eye(3), **six),
        "spring": pp.Spring(12, 3, 5e5, direction=(1, 0, 0), damping=500.0),
        "turn": pp.Bushing(11, 2, rotation=(0.0, 0.0, 7.0), rotation_damping=(0.0, 0.0, 7e-3)),
        "viscous": pp.Spring(4, 12, 0.0, damping=200.0),
        "mean": pp.Equation([(5, 3, 2.0), (1, 3, -1.0), (2, 3, -1.0)]),
    }
    plain = replace(
        mesh,
        declared=FileDeclarations(),
        node_sets={**mesh.node_sets, "end": np.array([nodes[14]])},
    )
    same = pp.assemble(plain, steel, sections=sections, connections=connections)
    offset = np.array(mesh.nodes[nodes[14]]) + [0.01, 0.0, 0.02]
    inertia = np.array([[2e-3, -1e-4, 0.0], [-1e-4, 3e-3, 0.0], [0.0, 0.0, 4e-3]])
    same = pp.attach(same, [pp.PointMass("end", 2.0, inertia=inertia, position=offset)])
    assert fe.mass == pytest.approx(same.mass, rel=1e-12)
    for found, wanted in zip(matrices(fe), matrices(same)):
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
    assert abs(fe.D - same.D).max() < 1e-12 * abs(same.D).max()
    R = fe.rigid_motion(np.zeros(3))
    assert np.abs(fe.D @ R).max() < 1e-9 * abs(fe.D).max()
    assert np.abs(fe.constraints.loads(fe.K @ R)).max() < 1e-8 * np.abs(fe.K.data).max()


@pytest.mark.parametrize("kinds", [("S4", "B31"), ("S4R", "B31")])
def test_abaqus_shells_and_beams(tmp_path, kinds):
    path = tmp_path / "arm.inp"
    path.write_text(sheet_and_boom_abaqus(kinds))
    mesh = pp.read_mesh(path, unit="m", structural=True, separate=True)
    np.testing.assert_array_equal(mesh.blocks["quad4"].connectivity, CELLS)
    sections = {
        "sheet": pp.ShellSection(0.002),
        "boom": pp.RectangularSection(0.012, 0.008, orientation=(0, 0, 1)),
    }
    fe = pp.assemble(
        mesh,
        STEEL,
        sections=sections,
        connections={"spider": pp.RigidSpider("end", reference="start")},
    )
    assert fe.mass == pytest.approx(expected().mass, rel=1e-12)
    with pytest.raises(
        InputError, match=r"element type S4R? are not supported; read it with structural=True"
    ):
        pp.read_mesh(path, unit="m")


def test_abaqus_couplings_and_equations(tmp_path):
    """Sheet and boom by a kinematic coupling, or by the same constraint written as equations: the
    model in Python.
    """
    sections = {
        "sheet": pp.ShellSection(0.002),
        "boom": pp.RectangularSection(0.012, 0.008, orientation=(0, 0, 1)),
    }
    path, start = tmp_path / "arm.inp", MORE[0] + 1
    surface = "*SURFACE, NAME=edge, TYPE=NODE\nend\n"
    path.write_text(
        sheet_and_boom_abaqus(
            extra=f"{surface}*COUPLING, REF NODE={start}, SURFACE=edge, CONSTRAINT "
            "NAME=weld\n*KINEMATIC\n1, 6"
        )
    )
    coupled = pp.assemble(pp.read_mesh(path, unit="m", structural=True), STEEL, sections=sections)
    mesh = pp.read_mesh(path, unit="m", structural=True)
    spider = {"weld": pp.RigidSpider("end", reference="start")}
    plain = pp.assemble(
        replace(mesh, declared=FileDeclarations()), STEEL, sections=sections, connections=spider
    )
    for found, wanted in zip(matrices(coupled), matrices(plain)):
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
    lines = ["*EQUATION"]
    for node in END + 1:
        dx, dy, dz = POINTS[node - 1] - POINTS[MORE[0]]
        turns = {
            1: ((5, dz), (6, -dy)),
            2: ((6, dx), (4, -dz)),
            3: ((4, dy), (5, -dx)),
            4: (),
            5: (),
            6: (),
        }
        for c, arms in turns.items():
            terms = [
                (node, c, 1.0),
                (start, c, -1.0),
                *((start, k, -arm) for k, arm in arms if arm),
            ]
            lines += [str(len(terms)), ", ".join(f"{a}, {b}, {f!r}" for a, b, f in terms)]
    path.write_text(
        sheet_and_boom_abaqus(
            extra="\n".join(lines).replace("np.float64", "").replace("(", "").replace(")", "")
        )
    )
    written = pp.assemble(pp.read_mesh(path, unit="m", structural=True), STEEL, sections=sections)
    for found, wanted in zip(matrices(written), matrices(plain)):
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (sheet_and_boom_abaqus(("S9R5", "B31")), "element type S9R5 are not supported"),
        (sheet_and_boom_abaqus(("S4", "B33")), "element type B33 are not supported"),
        (
            sheet_and_boom_abaqus(extra="*TIE, NAME=t\na, b"),
            r"\*TIE is of surface .*, which does not exist",
        ),
        (
            sheet_and_boom_abaqus(extra="*COUPLING, REF NODE=1, SURFACE=s"),
            "surface or set 's', which does not exist",
        ),
        (
            sheet_and_boom_abaqus(
                extra="*SURFACE, NAME=s, TYPE=NODE\nend\n*COUPLING, REF NODE=1, SURFACE=s"
            ),
            r"\*COUPLING is neither \*KINEMATIC nor \*DISTRIBUTING",
        ),
        (sheet_and_boom_abaqus(extra="*COUPLING, SURFACE=s"), r"\*COUPLING has no REF NODE"),
        (sheet_and_boom_abaqus(extra="*EQUATION\n3\n1, 1, 1.0"), r"\*EQUATION: expected 3 terms"),
        (
            sheet_and_boom_abaqus(extra="*TRANSFORM\n0,1,0,1,0,0\n*EQUATION\n2\n1,1,1.,2,1,-1."),
            "TRANSFORM needs NSET=",
        ),
        (sheet_and_boom_abaqus(extra="*MPC\nBEAM, 1, 2"), r"\*MPC BEAM is not supported"),
    ],
)
def test_unsupported_keywords_are_refused_by_name(tmp_path, text, message):
    path = tmp_path / "arm.inp"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        pp.read_mesh(path, unit="m", structural=True)


@pytest.mark.parametrize("suffix", ["vtu", "msh"])
def test_triangles_and_lines_of_other_formats(tmp_path, suffix):
    path = tmp_path / f"arm.{suffix}"
    cells = [
        ("quad", CELLS[:6]),
        ("triangle", np.vstack([CELLS[6:, :3], CELLS[6:, [0, 2, 3]]])),
        ("line", [MORE[:2], MORE[1:3]]),
    ]
    meshio.Mesh(POINTS[: MORE[3]], cells).write(
        path, **({"file_format": "gmsh22", "binary": False} if suffix == "msh" else {})
    )
    mesh = pp.read_mesh(path, unit="m", structural=True, separate=True)
    assert {kind: len(block.ids) for kind, block in mesh.blocks.items()} == {
        "quad4": 6,
        "tri3": 12,
        "line2": 2,
    }
    with pytest.raises(
        InputError, match=r"no solid elements .* or read its beams and shells with structural=True"
    ):
        pp.read_mesh(path, unit="m")


def test_a_deck_is_read_as_it_declares(tmp_path):
    """Shells with a property are elements by default; faces without one are named regions."""
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    corners += [(x, y, 1) for x, y, _ in corners]
    grids = "".join(f"GRID,{k + 1},,{x}.,{y}.,{z}.\n" for k, (x, y, z) in enumerate(corners))
    cards = "CHEXA,1,1,1,2,3,4,5,6\n,7,8\nPSOLID,1,1\nMAT1,1,2.+11,,.3,7800.\nCQUAD4,2,7,1,2,3,4\n"
    path = tmp_path / "part.bdf"
    path.write_text(f"BEGIN BULK\n{grids}{cards}PSHELL,7,1,.01\nENDDATA\n")
    mesh = pp.read_mesh(path, unit="m")
    assert mesh.structural
    assert pp.assemble(mesh).mass == pytest.approx(7800.0 * 1.01)
    path.write_text(f"BEGIN BULK\n{grids}{cards}ENDDATA\n")
    with pytest.warns(pp.PreprocessWarning, match="only its solids are read, .*property 7 of"):
        mesh = pp.read_mesh(path, unit="m")
    assert not mesh.structural
    assert len(mesh.node_sets["property 7"]) == 4
    with pytest.raises(InputError, match="property 7 of"):
        pp.read_mesh(path, unit="m", structural=True)
