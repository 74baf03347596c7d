"""Decks of CalculiX and Abaqus with materials, sections and connections: what is built in Python,
or refused by name.
"""

import numpy as np
import pytest
from mesh_decks import every_keyword_abaqus

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.inputs.warning import PreprocessWarning

NODES = """*NODE, NSET=all
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 0, 0, 1
6, 1, 0, 1
7, 1, 1, 1
8, 0, 1, 1
"""
BRICK = NODES + "*ELEMENT, TYPE=C3D8, ELSET=brick\n1, 1, 2, 3, 4, 5, 6, 7, 8\n"
STEEL = "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n"
SOLID = "*SOLID SECTION, ELSET=brick, MATERIAL=steel\n"


def read(tmp_path, text, unit="m", **options):
    path = tmp_path / "deck.inp"
    path.write_text(text)
    return pp.read_mesh(path, unit=unit, structural=True, **options)


def test_materials_and_sections_of_the_file(tmp_path):
    """A brick: K and M are those of the material in Python; in mm the constants are in N/mm² and
    t/mm³.
    """
    mesh = read(tmp_path, BRICK + STEEL + SOLID)
    expected = pp.assemble(mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0))
    fe = pp.assemble(mesh)
    assert abs(fe.K - expected.K).max() == 0.0
    body = pp.reduce(
        mesh,
        interfaces={"root": pp.Rigid(pp.Plane((0, 0, 0), (0, 0, 1)))},
        reference="root",
        method=pp.CraigBampton(modes=2),
    )
    assert body.mass == pytest.approx(7850.0, rel=1e-12)
    nodes = (
        NODES.replace("1, ", "1000, ")
        .replace(", 1\n", ", 1000\n")
        .replace("1000, 0, 0, 0", "1, 0, 0, 0")
    )
    in_mm = (
        nodes
        + BRICK.removeprefix(NODES)
        + STEEL.replace("2.1e11", "2.1e5").replace("7850.", "7.85e-9")
        + SOLID
    )
    small = pp.assemble(read(tmp_path, in_mm, unit="mm"))
    assert abs(small.K - fe.K).max() < 1e-9 * abs(fe.K).max()
    assert small.mass == pytest.approx(7850.0)


@pytest.mark.parametrize(
    ("elastic", "material"),
    [
        (
            "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1.35e11, 1e10, 1.1e10, 0.3, 0.25, 0.4, " "5e9, 4e9\n3e9",
            pp.Orthotropic(E=(1.35e11, 1e10, 1.1e10), nu=(0.3, 0.25, 0.4), G=(5e9, 4e9, 3e9), rho=7850.0),
        ),
        (
            "*ELASTIC, TYPE=ORTHO\n5e11, 1.5e11, 4e11, 1.6e11, 1.7e11, 3e11, 1.1e11, 1.2e11\n1.3e11",
            pp.Anisotropic(
                C=[[5e11, 1.5e11, 1.6e11, 0, 0, 0], [1.5e11, 4e11, 1.7e11, 0, 0, 0], [1.6e11, 1.7e11, 3e11, 0, 0, 0],
                   [0, 0, 0, 1.3e11, 0, 0], [0, 0, 0, 0, 1.2e11, 0], [0, 0, 0, 0, 0, 1.1e11]], rho=7850.0,
            ),
        ),
        (
            "*ELASTIC, TYPE=ANISO\n5e11, 1.5e11, 4e11, 1.6e11, 1.7e11, 3e11, 1e9, 2e9\n"
            "3e9, 1.1e11, 4e9, 5e9, 6e9, 7e9, 1.2e11, 8e9\n"
            "9e9, 1e10, 1.1e10, 1.2e10, 1.3e11",
            pp.Anisotropic(
                C=[[5e11, 1.5e11, 1.6e11, 8e9, 4e9, 1e9], [1.5e11, 4e11, 1.7e11, 9e9, 5e9, 2e9],
                   [1.6e11, 1.7e11, 3e11, 1e10, 6e9, 3e9], [8e9, 9e9, 1e10, 1.3e11, 1.2e10, 1.1e10],
                   [4e9, 5e9, 6e9, 1.2e10, 1.2e11, 7e9], [1e9, 2e9, 3e9, 1.1e10, 7e9, 1.1e11]], rho=7850.0,
            ),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_anisotropic_materials_and_orientations(tmp_path, elastic, material, turned):
    axes = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]) if turned else np.eye(3)
    orientation = "*ORIENTATION, NAME=OR1\n0., 2., 0., -1., 3., 0.\n" if turned else ""
    section = "*SOLID SECTION, ELSET=brick, MATERIAL=STEEL" + (
        ", ORIENTATION=or1" if turned else ""
    )
    text = BRICK + f"*MATERIAL, NAME=steel\n{elastic}\n*DENSITY\n7850.\n" + orientation + section
    names = {"axes": axes} if turned else {}
    kind = type(material)
    own = kind(
        **{
            key: getattr(material, key)
            for key in (("C", "rho") if kind is pp.Anisotropic else ("E", "nu", "G", "rho"))
        },
        **names,
    )
    mesh = read(tmp_path, text)
    found, expected = pp.assemble(mesh).K, pp.assemble(mesh, own).K
    assert abs(found - expected).max() < 1e-9 * abs(expected).max()


def test_later_sections_hold(tmp_path):
    """Two bricks in one section, one of them in a later one too."""
    more = "*NODE\n9, 2, 0, 0\n10, 2, 1, 0\n11, 2, 0, 1\n12, 2, 1, 1\n"
    more += "*ELEMENT, TYPE=C3D8, ELSET=other\n2, 2, 9, 10, 3, 6, 11, 12, 7\n"
    foam = (
        "*MATERIAL, NAME=foam\n*ELASTIC\n1e9, 0.2\n*DENSITY\n100.\n*ELSET, ELSET=both\nbrick, "
        "other\n"
    )
    mesh = read(
        tmp_path,
        BRICK + more + STEEL + foam + "*SOLID SECTION, ELSET=both, MATERIAL=foam\n" + SOLID,
    )
    assert pp.assemble(mesh).mass == pytest.approx(7950.0)


def test_every_keyword_is_the_model_in_python(tmp_path):
    """Trusses, beams, shells with laminates and nodal thickness, spiders, ties, equations, springs,
    masses in one deck.
    """
    with pytest.warns(
        PreprocessWarning, match=r"1 \*CONTACT PAIR omitted; contacts act between bodies"
    ) as noted:
        mesh = read(tmp_path, every_keyword_abaqus())
    assert any(
        "1 *PLASTIC omitted; the body is linear elastic" in str(each.message) for each in noted
    )
    assert {name: len(block.ids) for name, block in mesh.blocks.items()} == {
        "hex8": 2, "quad8": 1, "quad4": 1, "line3": 1, "line2": 1, "truss2": 1,
    }  # fmt: skip
    kinds = {name: given["kind"] for name, given in mesh.declared.sections.items()}
    assert kinds == {
        "plate": "laminate",
        "flap": "shell",
        "mast": "tubular",
        "rod": "rectangular",
        "stay": "truss",
    }
    connections = [given["kind"] for given in mesh.declared.connections.values()]
    assert sorted(set(connections)) == [
        "averaging-spider",
        "equation",
        "rigid-spider",
        "spring",
        "tie",
    ]
    fe = pp.assemble(mesh)
    assert fe.D.diagonal().sum() == pytest.approx(10.0)  # N s/m of a dashpot at both ends
    R = fe.rigid_motion(np.zeros(3))
    np.testing.assert_allclose(fe.constraints.motion(R), R, atol=1e-9)
    assert np.abs(fe.constraints.loads(fe.K @ R)).max() < 1e-9 * np.abs(fe.K.data).max()
    without = pp.read_mesh(tmp_path / "deck.inp", unit="m", structural=True)
    sheets, mast, bars = (
        0.02 * 1600 + 0.01 * 7850,
        np.pi * (0.05**2 - 0.04**2) * 0.5107,
        0.02 * 0.03 * 0.5 + 1e-4,
    )
    assert fe.mass == pytest.approx(7850 * (1 + 0.8**2 + mast + bars) + sheets + 12.0, rel=1e-5)
    assert fe.point_masses[0].mass == 12.0
    assert without.separate  # connections join its parts


def test_a_transform_turns_the_components_of_equations(tmp_path):
    """u_φ of node 2 about the z axis through node 1 is u_y there."""
    held = (
        "*NSET, NSET=two\n2, 3\n*TRANSFORM, NSET=two, TYPE=C\n0., 0., 0., 0., 0., "
        "1.\n*EQUATION\n2\n2, 2, 1.0, 3, 1, -2.0\n"
    )
    mesh = read(tmp_path, BRICK + STEEL + SOLID + held)
    terms = {
        (node, k): factor for node, k, factor in mesh.declared.connections["equation 1"]["terms"]
    }
    assert terms == {
        (2, 2): 1.0,
        (3, 1): pytest.approx(-np.sqrt(2)),
        (3, 2): pytest.approx(-np.sqrt(2)),
    }
    with pytest.raises(
        InputError, match=r"connections.equation 1: it does not allow rigid motions"
    ):
        pp.assemble(mesh)
    model = pp.assemble(mesh, held=True)
    assert model.constraints.dependent.size == 1
    with pytest.raises(
        InputError, match="part: was assembled with held=True; a body must be free to move"
    ):
        pp.reduce(
            model, interfaces={"root": pp.Rigid(pp.Plane((0, 0, 0), (0, 0, 1)))}, reference="root"
        )


@pytest.mark.parametrize(
    ("kind", "count"),
    [("PLANE, 1, 2, 4, 3, 9", 2), ("STRAIGHT, 1, 2, 10", 2), ("MEANROT, 1, 1, 1, 2", 0)],
)
def test_multi_point_constraints_allow_rigid_motions(tmp_path, kind, count):
    """Nodes of a plane and of a line follow it as a rigid motion does; those that lie outside it
    cannot.
    """
    more = "*NODE\n9, 0.3, 0.4, 0\n10, 0.3, 0, 0\n"
    mesh = read(tmp_path, BRICK + more + STEEL + SOLID + f"*MPC\n{kind}\n")
    assert len(mesh.declared.connections) == count
    assert pp.assemble(mesh).constraints.dependent.size == count
    if kind.startswith("STRAIGHT"):
        away = BRICK + more.replace("10, 0.3, 0", "10, 0.3, 0.1") + STEEL + SOLID
        with pytest.raises(InputError, match="does not allow rigid motions"):
            pp.assemble(read(tmp_path, away + f"*MPC\n{kind}\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*CFD", r"\*CFD is not supported; remove it"),
        ("*SHELL SECTION, ELSET=brick, MATERIAL=steel\n", r"is not the section|\*SHELL SECTION"),
        (
            "*ELEMENT, TYPE=CPS4\n9, 1, 2, 3, 4",
            "1 hexahedron and 1 plane stress quad elements are in one file; plane elements are extruded",
        ),
        (
            "*ELEMENT, TYPE=D\n9, 1, 2, 3",
            "element type D are not supported; networks of fluids and heat",
        ),
        (
            "*ELEMENT, TYPE=F3D8\n9, 1, 2, 3, 4, 5, 6, 7, 8",
            "F3D8 are not supported; fluids do not belong",
        ),
        ("*ELEMENT, TYPE=SPRING1\n9, 1", "springs to the ground hold the body; give SPRINGA"),
        (
            "*TIE, NAME=t, CYCLIC SYMMETRY\na, b",
            r"\*TIE, CYCLIC SYMMETRY without \*CYCLIC SYMMETRY MODEL",
        ),
        ("*MPC\nBEAM, 1, 2", r"\*MPC BEAM is not supported; use PLANE, STRAIGHT"),
        ("*ELASTIC, TYPE=TRACTION\n1, 2", r"\*ELASTIC, TYPE=TRACTION is not supported"),
        (
            "*ORIENTATION, NAME=o\n1, 0, 0, 2, 0, 0",
            r"\*ORIENTATION: its two points are collinear",
        ),
        ("*SPRING, ELSET=brick\n10.", "set 'brick' has no spring elements"),
        (
            "*SOLID SECTION, ELSET=nothing, MATERIAL=steel",
            r"\*SOLID SECTION: element set 'nothing' does not exist",
        ),
        (
            "*RIGID BODY, NSET=nothing, REF NODE=1",
            "rigid body 1 is of surface or set 'nothing', which does not exist",
        ),
    ],
)
def test_unsupported_keywords_are_refused_by_name(tmp_path, text, message):
    if text.startswith("*SHELL"):
        mesh = read(tmp_path, BRICK + STEEL + text)
        assert mesh.declared.sections == {}  # of solids it gives the material
        return
    with pytest.raises(InputError, match=message):
        read(tmp_path, BRICK + STEEL + text + "\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "*MATERIAL, NAME=steel\n*HYPERELASTIC\n1., 2.\n",
            r"material 'steel' is \*HYPERELASTIC, which is not linear elastic",
        ),
        (
            "*MATERIAL, NAME=steel\n*CONDUCTIVITY\n50.\n",
            r"material 'steel' has no \*ELASTIC; give materials",
        ),
        (
            "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e11, 0.3\n",
            r"material 'steel' has no \*DENSITY; give density",
        ),
        ("", "material 'steel' does not exist"),
    ],
)
def test_materials_that_are_not_complete_are_named(tmp_path, text, message):
    mesh = read(tmp_path, BRICK + text + SOLID)
    with pytest.raises(InputError, match=message):
        pp.assemble(mesh)
    assert pp.assemble(mesh, pp.Isotropic(E=1e9, nu=0.3, rho=1000.0)).mass == pytest.approx(1000.0)
