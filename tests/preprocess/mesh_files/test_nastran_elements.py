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


CUBE = "GRID,11,,0.,0.,.5\nGRID,12,,1.,0.,.5\nGRID,13,,1.,1.,.5\nGRID,14,,0.,1.,.5\nPSOLID,1,1\n"


def constrained(fe, nodes):
    """Stiffness TᵀKT at the translations of nodes."""
    dofs = (3 * np.asarray(nodes)[:, None] + np.arange(3)).ravel()
    T = fe.constraints.T
    K = fe.K if T is None else T.T @ fe.K @ T
    return K.toarray()[np.ix_(dofs, dofs)]


def test_edges_without_a_middle_are_straight(tmp_path):
    """A hexahedron with one middle, which an equation holds on its edge too: the linear one."""
    middle = "GRID,20,,.5,0.,0.\nMPC,5,20,1,1.,1,1,-.5\n,,2,1,-.5\n"
    middle += "MPC,5,20,2,1.,1,2,-.5\n,,2,2,-.5\nMPC,5,20,3,1.,1,3,-.5\n,,2,3,-.5\n"
    quadratic = "CHEXA,1,1,1,2,3,4,11,12\n,13,14,20\n"
    deck = read(tmp_path, CUBE + quadratic + middle, "MPC = 5\n")
    assert len(deck.blocks["hex20"].ids) == 1
    assert len(deck.nodes) == 20
    fe = pp.assemble(deck)
    linear = pp.assemble(
        read(tmp_path, CUBE + quadratic.replace(",20", "")),
        formulation=pp.Formulation(hex8="full"),
    )
    corners = [np.flatnonzero(np.isin(each.node_ids, linear.node_ids)) for each in (fe, linear)]
    found, expected = (constrained(*each) for each in zip((fe, linear), corners))
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert fe.mass == pytest.approx(7850 * 0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("card", "kind", "middles"),
    [
        ("CTETRA,1,1,1,2,3,11,,23\n", "tet10", 5),
        ("CPENTA,1,1,1,2,3,11,12,13\n,,23\n", "wedge15", 8),
        ("CPYRAM,1,1,1,2,3,4,11,\n,23\n", "pyramid13", 7),
        ("CQUAD8,1,2,1,2,3,4,,23\n", "quad8", 3),
        ("CTRIA6,1,2,1,2,3,,23\n", "tri6", 2),
    ],
)
def test_every_element_may_lack_middles(tmp_path, card, kind, middles):
    """Its constrained stiffness is that of a body without stress under linear displacements."""
    grids = "GRID,23,,1.,.5,0.\nPSHELL,2,1,.05,1,,1\n"
    mesh = read(tmp_path, CUBE + grids + card)
    assert list(mesh.blocks) == [kind]
    assert mesh.node_ids.max() == 23 + middles
    fe = pp.assemble(mesh)
    for node in range(24, 24 + middles):  # between the ends of an edge
        assert node in mesh.node_ids
    assert len(fe.constraints.dependent) == middles * (6 if len(fe.rotating) else 3)
    T = fe.constraints.T
    K, R = T.T @ fe.K @ T, fe.rigid_motion(np.zeros(3))
    assert np.abs(K @ R).max() < 1e-9 * abs(K).max()


def test_middles_of_a_face_are_common(tmp_path):
    """Neighbours without middles at their common edge share the node there."""
    cards = "CQUAD8,1,1,1,2,3,4,,,\nCQUAD8,2,1,2,5,6,3,,,\n"
    mesh = read(tmp_path, cards + PSHELL)
    assert len(mesh.nodes) == 6 + 7


def test_meshes_alone_need_all_middles(tmp_path):
    path = read_path(tmp_path, CUBE + "GRID,23,,1.,.5,0.\nCTETRA,1,1,1,2,3,11,,23\n")
    with pytest.raises(InputError, match="CTETRA 1 has no node G5; it needs 4 or 10 nodes"):
        pp.read_mesh(path, unit="m", structural=False)


def test_masses_on_bushings_alone(tmp_path):
    """√(k/m) along and √(κ/I) about the bushing, held at one grid; saved and read again."""
    path = tmp_path / "springs.bdf"
    path.write_text("""SOL 103
CEND
BEGIN BULK
GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
CBUSH,1,1,1,2,0.,1.,0.
PBUSH,1,K,1.+5,2.+9,2.+9,3.+3,5.+9,5.+9
CONM2,4,1,,2.
,.1,,.1,,,.1
CONM2,5,2,,3.
,.2,,.2,,,.2
ENDDATA
""")
    fe = pp.assemble(pp.read_mesh(path, unit="m"))
    assert (fe.mass, fe.K.shape) == (pytest.approx(5.0), (12, 12))
    body = pp.reduce(
        fe,
        interfaces={"foot": pp.Rigid(pp.Point((0.0, 0.0, 0.0)))},
        reference="foot",
        method=pp.CraigBampton(modes=2),
    )
    expected = np.sqrt([3e3 / 0.2, 1e5 / 3.0]) / (2 * np.pi)
    np.testing.assert_allclose(body.modes.frequency, expected, rtol=1e-9)
    assert body.validate().ok
    body.save(tmp_path / "springs.h5")
    assert body.mass == pytest.approx(5.0)


def test_springs_without_masses_are_no_body(tmp_path):
    path = tmp_path / "springs.bdf"
    path.write_text(
        "SOL 101\nCEND\nBEGIN BULK\nGRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\n"
        "CELAS2,1,1.+5,1,1,2,1\nENDDATA\n"
    )
    with pytest.raises(InputError, match="has no solid elements"):
        pp.read_mesh(path, unit="m")


@pytest.mark.parametrize(
    ("card", "remedy"),
    [("CWELD,7,3,ELEM,1,2", "CWELD is not read; give CBUSH between RBE3"),
     ("CFAST,7,3,ELEM,1,2", "CFAST is not read; give CBUSH between RBE3"),
     ("CSHEAR,7,3,1,2,3,4", "CSHEAR is not read; give CQUAD4 with a PSHELL")],
)  # fmt: skip
def test_refused_elements_have_a_remedy(tmp_path, card, remedy):
    with pytest.raises(InputError, match=remedy):
        pp.read_mesh(read_path(tmp_path, f"CQUAD4,1,1,1,2,3,4\n{PSHELL}{card}\n"), unit="m",
                     structural=True)  # fmt: skip


def test_a_rod_without_torsion_constant(tmp_path):
    """J = 0, and blank: trusses, also between grids of bars."""
    for torsion in ("0.", ""):
        cards = f"{BARS}CROD,3,2,1,3\nPROD,2,1,1.-4,{torsion}\n"
        mesh = read(tmp_path, cards)
        assert not [name for name in mesh.declared.connections if "torsion" in name]
        fe = pp.assemble(mesh)
        extra = 7850 * 1e-4 * np.sqrt(2)
        assert fe.mass == pytest.approx(7850 * 2e-3 + extra, rel=1e-12)


def test_the_first_character_of_a_continuation_counts_for_nothing(tmp_path):
    """The field 10 names it KBAR, the line itself +BAR."""
    bar = "CBAR           1       1       1       2      0.      0.      1.        KBAR\n"
    bar += "+BAR                          .1\n"
    mesh = read(tmp_path, bar + "CBAR,2,1,2,3,0.,0.,1.\nPBAR,1,1,1.-3,1.-6,2.-6,3.-6\n")
    assert mesh.declared.sections["property 1"]["ends"] == [[0.1, 0, 0], [0, 0, 0]]
