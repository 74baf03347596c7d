"""Decks whose results CalculiX 2.20 gives too: orientations, offsets, distributing couplings; what
a deck says is not dropped.
"""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse.linalg as sla
from scipy.spatial.transform import Rotation

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh.face_mass import node_areas

CCX = shutil.which("ccx")
FLAP = (
    "*NODE\n1,0,0,0\n2,100,0,0\n3,100,50,0\n4,0,50,0\n5,120,25,0\n*ELEMENT, TYPE=S4, "
    "ELSET=flap\n1, 1, 2, 3, 4\n"
)
STEEL = "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e5, 0.3\n*DENSITY\n7.85e-9\n"
CARBON = "*MATERIAL, NAME=carbon\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n"
CARBON += "1.35e5, 1e4, 1.1e4, 0.3, 0.25, 0.4, 5e3, 4e3\n3e3\n*DENSITY\n1.6e-9\n"
CONSTANTS = {
    "E": (1.35e11, 1e10, 1.1e10),
    "nu": (0.3, 0.25, 0.4),
    "G": (5e9, 4e9, 3e9),
    "rho": 1600.0,
}
SHEET = FLAP + STEEL + "*SHELL SECTION, ELSET=flap, MATERIAL=steel\n2.0\n"


def read(tmp_path, text):
    path = tmp_path / "deck.inp"
    path.write_text(text)
    return pp.read_mesh(path, unit="mm", structural=True)


def row(values):
    return ", ".join(repr(float(value)) for value in values) + "\n"


@pytest.mark.parametrize("seed", range(3))
def test_the_orientation_of_a_shell_turns_its_material_once(tmp_path, seed):
    """A sheet of an orthotropic material is the laminate of one ply along the first axis."""
    angle = np.random.default_rng(seed).uniform(0.3, 1.4)
    first, second = (np.cos(angle), np.sin(angle), 0.0), (-np.sin(angle), np.cos(angle), 0.0)
    orientation = "*ORIENTATION, NAME=o\n" + row([*first, *second])
    mesh = read(
        tmp_path,
        FLAP
        + CARBON
        + orientation
        + "*SHELL SECTION, ELSET=flap, MATERIAL=carbon, ORIENTATION=o\n2.0\n",
    )
    ply = pp.LaminateSection([(2e-3, 0.0)], orientation=first)
    expected = pp.assemble(mesh, pp.Orthotropic(**CONSTANTS), sections=ply)
    assert abs(pp.assemble(mesh).K - expected.K).max() < 1e-9 * abs(expected.K).max()
    along = pp.assemble(
        mesh,
        pp.Orthotropic(**CONSTANTS),
        sections=pp.LaminateSection([(2e-3, 0.0)], orientation=(1, 0, 0)),
    )
    assert abs(along.K - expected.K).max() > 1e-2 * abs(expected.K).max()


def brick(orientation):
    """A bar of eight C3D8 of carbon, in mm."""
    mesh = pp.box_mesh((30.0, 10.0, 10.0), (2, 2, 2), "hex8")
    text = "*NODE, NSET=all\n" + "".join(f"{n}, " + row(x) for n, x in enumerate(mesh.nodes, 1))
    cells = enumerate(mesh.blocks["hex8"].connectivity + 1, 1)
    text += "*ELEMENT, TYPE=C3D8, ELSET=bar\n" + "".join(
        f"{n}, {', '.join(map(str, c))}\n" for n, c in cells
    )
    text += (
        CARBON + f"*ORIENTATION, NAME=o\n{orientation}*SOLID SECTION, ELSET=bar, MATERIAL=carbon, "
        "ORIENTATION=o\n"
    )
    return mesh, text


@pytest.mark.parametrize("seed", range(4))
def test_an_orientation_is_turned_by_its_second_line_and_has_an_origin(tmp_path, seed):
    random = np.random.default_rng(seed)
    axes, about, angle = (
        Rotation.random(random_state=seed).as_matrix(),
        int(random.integers(1, 4)),
        float(random.uniform(20, 70)),
    )
    origin = random.uniform(-5, 5, 3)
    points = [*(origin + 3 * axes[:, 0]), *(origin + 2 * axes[:, 1] + axes[:, 0]), *origin]
    _, text = brick(row(points) + f"{about}, {angle!r}\n")
    mesh = read(tmp_path, text)
    turned = axes @ Rotation.from_rotvec(np.radians(angle) * np.eye(3)[about - 1]).as_matrix()
    expected = pp.assemble(mesh, pp.Orthotropic(**CONSTANTS, axes=turned)).K
    assert abs(pp.assemble(mesh).K - expected).max() < 1e-9 * abs(expected).max()


@pytest.mark.skipif(CCX is None, reason="CalculiX (ccx) is not installed")
def test_calculix_turns_an_orientation_so(tmp_path):
    """Displacements of a bar under a force at its corner."""
    mesh, text = brick("1, 2, 0, 0, 1, 3\n2, -25.\n")
    root, corner = mesh.node_sets["x0"], int(mesh.node_sets["x1"][0])
    loaded = "*BOUNDARY\n" + "".join(f"{n + 1}, 1, 3\n" for n in root) + "*STEP\n*STATIC\n*CLOAD\n"
    loaded += f"{corner + 1}, 2, 100.\n*NODE PRINT, NSET=all\nU\n*END STEP\n"
    (tmp_path / "job.inp").write_text(text + loaded)
    subprocess.run([str(CCX), "job"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    lines = [line.split() for line in (tmp_path / "job.dat").read_text().splitlines()]
    found = np.array(
        [[float(x) for x in words[1:]] for words in lines if len(words) == 4 and words[0].isdigit()]
    ).ravel()
    fe = pp.assemble(read(tmp_path, text), formulation=pp.Formulation(hex8="full"))
    free = np.setdiff1d(np.arange(3 * len(mesh.nodes)), (3 * root[:, None] + np.arange(3)).ravel())
    force, u = np.zeros(3 * len(mesh.nodes)), np.zeros(3 * len(mesh.nodes))
    force[3 * corner + 1] = 100.0
    u[free] = sla.spsolve(fe.K.tocsc()[free][:, free], force[free])
    np.testing.assert_allclose(1e3 * u, found, atol=1e-6 * np.abs(found).max())


def test_a_symmetric_laminate_has_both_halves(tmp_path):
    orientation = "*ORIENTATION, NAME=o\n1, 0, 0, 0, 1, 0\n3, 0.\n"
    half = "*SHELL SECTION, ELSET=flap, COMPOSITE, ORIENTATION=o{}\n1.0, 3, carbon\n0.5, 3, steel\n"
    found = pp.assemble(
        read(tmp_path, FLAP + STEEL + CARBON + orientation + half.format(", SYMMETRIC"))
    )
    whole = pp.assemble(
        read(
            tmp_path,
            FLAP
            + STEEL
            + CARBON
            + orientation
            + half.format("")
            + "0.5, 3, steel\n1.0, 3, carbon\n",
        )
    )
    assert found.mass == pytest.approx(5e-3 * (2 * 1.6 + 7.85), rel=1e-12)
    assert abs(found.K - whole.K).max() < 1e-12 * abs(whole.K).max()


@pytest.mark.parametrize(
    ("offset", "axis", "centroid"),
    [  # of the expanded section in CalculiX's output
        ("OFFSET1=0.5", "0., 0., 1.", (0.0, -5.0)),
        ("OFFSET2=0.5", "0., 0., 1.", (10.0, 0.0)),
        ("OFFSET1=0.3, OFFSET2=-0.2", "0., 0., 1.", (-4.0, -3.0)),
        ("OFFSET1=0.3, OFFSET2=-0.2", "0., 1., 1.", (-4.949725, 0.7071)),
    ],
)
def test_offsets_of_beams_are_places_of_the_nodes_in_the_section(tmp_path, offset, axis, centroid):
    beam = "*NODE\n1, 0, 0, 0\n2, 10, 0, 0\n*ELEMENT, TYPE=B31, ELSET=rod\n1, 1, 2\n" + STEEL
    fe = pp.assemble(
        read(
            tmp_path,
            f"{beam}*BEAM SECTION, ELSET=rod, MATERIAL=steel, SECTION=RECT, "
            f"{offset}\n10., 20.\n{axis}\n",
        )
    )
    np.testing.assert_allclose(1e3 * fe.centre_of_mass[1:], centroid, atol=1e-4)


def test_areas_of_nodes():
    """Trapezoids: A and its first moments; a square with eight nodes: -1/12 and 1/3; a triangle
    with six: 0 and 1/3.
    """
    random = np.random.default_rng(1)
    corners = np.array([[0.0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]]) + 0.2 * random.uniform(
        -1, 1, (4, 3)
    ) * [1, 1, 0]
    after = np.roll(corners, -1, axis=0)
    cross = corners[:, 0] * after[:, 1] - after[:, 0] * corners[:, 1]
    for points in (corners, np.vstack([corners, 0.5 * (corners + after)])):
        weights = node_areas(points[None])[0]
        assert weights.sum() == pytest.approx(0.5 * cross.sum(), rel=1e-12)
        np.testing.assert_allclose(
            weights @ points[:, :2], cross @ (corners + after)[:, :2] / 6, rtol=1e-12
        )
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    np.testing.assert_allclose(
        node_areas(np.vstack([square, 0.5 * (square + np.roll(square, -1, axis=0))])[None])[0],
        [-1 / 12] * 4 + [1 / 3] * 4,
    )
    for triangle in (square[:3], np.vstack([square[:3], 0.5 * (square[:3] + square[[1, 2, 0]])])):
        share = [1 / 6] * 3 if len(triangle) == 3 else [0, 0, 0, *[1 / 6] * 3]
        np.testing.assert_allclose(node_areas(triangle[None])[0], share, atol=1e-15)


@pytest.mark.parametrize("kind", ["C3D8", "C3D20"])
@pytest.mark.parametrize("outer", [False, True])
def test_a_distributing_coupling_spreads_a_force_over_the_area(tmp_path, kind, outer):
    """Element faces of unequal size: a force at the centroid is a uniform traction, ∫ N dA/A on
    each node, as in CalculiX.
    """
    name = {"C3D8": "hex8", "C3D20": "hex20"}[kind]
    mesh = pp.box_mesh((30.0, 10.0, 10.0), (2, 3, 2), name)
    nodes = np.array(mesh.nodes)
    nodes[:, 1] = nodes[:, 1] ** 2 / 10  # the faces, and middles of their edges, are uneven
    cells = mesh.blocks[name].connectivity + 1
    corners = cells[:, [1, 2, 6, 5]]
    if kind == "C3D20":
        for k, (a, b) in enumerate(
            [
                (0, 1),
                (1, 2),
                (2, 3),
                (3, 0),
                (4, 5),
                (5, 6),
                (6, 7),
                (7, 4),
                (0, 4),
                (1, 5),
                (2, 6),
                (3, 7),
            ],
            8,
        ):
            nodes[cells[:, k] - 1] = 0.5 * (nodes[cells[:, a] - 1] + nodes[cells[:, b] - 1])
    ends = [n for n, face in enumerate(corners, 1) if (nodes[face - 1, 0] == 30.0).all()]
    text = (
        "*NODE\n"
        + "".join(f"{n}, " + row(x) for n, x in enumerate(nodes, 1))
        + f"{len(nodes) + 1}, 30., 5., 5.\n"
    )
    text += f"*ELEMENT, TYPE={kind}, ELSET=bar\n"
    for n, cell in enumerate(cells, 1):
        items = [str(n), *map(str, cell)]
        text += (
            ", ".join(items[:11])
            + (",\n" + ", ".join(items[11:]) if len(items) > 11 else "")
            + "\n"
        )
    sides = "".join(f"{n}, S4\n" for n in ends)
    text += "*SURFACE, NAME=end, TYPE=ELEMENT\n" + ("bar,\n" if outer else sides) + STEEL
    text += "*SOLID SECTION, ELSET=bar, MATERIAL=steel\n"
    text += f"*COUPLING, REF NODE={len(nodes) + 1}, SURFACE=end, CONSTRAINT NAME=q\n*DISTRIBUTING\n"
    fe = pp.assemble(read(tmp_path, text))
    force = np.zeros(fe.freedoms.size)
    force[fe.freedoms.six(np.array([len(nodes)]))[0][:3]] = (2.0, 3.0, 5.0)
    spread = fe.constraints.loads(force)[: 3 * len(nodes)].reshape(-1, 3)
    x = nodes - [30.0, 5.0, 5.0]
    np.testing.assert_allclose(spread.sum(axis=0), (2.0, 3.0, 5.0), rtol=1e-12)
    np.testing.assert_allclose(np.cross(x, spread).sum(axis=0), 0.0, atol=1e-9)
    if outer:
        assert (spread != 0).any(axis=1).sum() > 30
        return
    total = np.zeros(len(nodes))
    for n in ends:  # of rectangles: a quarter at each corner; -1/12 and 1/3 with middles
        face = cells[n - 1, [1, 2, 6, 5, *((9, 18, 13, 17) if kind == "C3D20" else ())]] - 1
        size = np.ptp(nodes[face], axis=0)
        total[face] += (
            size[1]
            * size[2]
            / 100
            * np.array([-1 / 12] * 4 + [1 / 3] * 4 if kind == "C3D20" else [0.25] * 4)
        )
    np.testing.assert_allclose(spread, total[:, None] * (2.0, 3.0, 5.0), atol=1e-12)


COUPLING = (
    "*NSET, NSET=c\n1, 2, 3\n*SURFACE, NAME=s, TYPE=NODE\nc\n*COUPLING, REF NODE=5, "
    "SURFACE=s{}\n*DISTRIBUTING{}\n"
)
LAYERS = "*ORIENTATION, NAME=o\n1, 0, 0, 0, 1, 0\n{}*SHELL SECTION, ELSET=flap, "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SHEET + COUPLING.format(", INFLUENCE RADIUS=60.", ""), r"\*COUPLING, INFLUENCERADIUS=60. is not supported; remove it"),
        (SHEET + COUPLING.format("", ", WEIGHTING METHOD=LINEAR"), "WEIGHTINGMETHOD=LINEAR is not supported; give UNIFORM"),
        (SHEET + COUPLING.format("", ", COUPLING=STRUCTURAL"), "COUPLING=STRUCTURAL is not supported; give CONTINUUM"),
        (SHEET + COUPLING.format("", "\n1, 2"), r"\*DISTRIBUTING of some translations is not supported"),
        (
            SHEET + "*SURFACE, NAME=s, TYPE=NODE\n1, 2.\n2, 1.\n3, 1.\n*COUPLING, REF NODE=5, " "SURFACE=s\n*DISTRIBUTING\n",
            r"nodes of 's' have different areas; give weights by \*DISTRIBUTING COUPLING",
        ),
        (SHEET + "*NSET, NSET=c\n1\n*RIGID BODY, REF NODE=5, ELSET=flap, PIN NSET=c\n", r"\*RIGID BODY, PINNSET=c is not"),
        (SHEET + "*NSET, NSET=c\n1\n*RIGID BODY, REF NODE=5, ELSET=flap, TIE NSET=c\n", r"\*RIGID BODY, TIENSET=c is not"),
        (SHEET + "*NSET, NSET=c\n1\n*TRANSFORM, NSET=c, TYPE=S\n0, 0, 0, 0, 0, 1\n", r"\*TRANSFORM, TYPE=S: give R"),
        (SHEET + "*NSET, NSET=c\n1\n*TRANSFORM, NSET=c\n1, 0, 0, 2, 0, 0\n", r"\*TRANSFORM, TYPE=R: give R, with two points"),
        (SHEET + "*TRANSFORM, NSET=nothing\n1, 0, 0, 0, 1, 0\n", r"\*TRANSFORM: node set 'nothing' does not exist"),
        (
            SHEET + "*ELEMENT, TYPE=MASS, ELSET=m\n9, -2147483649\n*MASS, ELSET=m\n1e-3\n",
            "mass 9 refers to node -2147483649, which does not exist",
        ),
        (SHEET + "*ELEMENT, TYPE=MASS, ELSET=m\n9, 1\n", r"element 9: mass without \*MASS; give one"),
        (SHEET + "*ELEMENT, TYPE=SPRINGA, ELSET=m\n9, 1, 5\n", r"element 9: spring without \*SPRING; give one"),
        (
            SHEET + "*ELEMENT, TYPE=MASS, ELSET=m\n9, 1\n*MASS, ELSET=m, TYPE=ANISOTROPIC\n1e-3, " "2e-3, 3e-3\n",
            r"\*MASS, TYPE=ANISOTROPIC is not supported",
        ),
        (FLAP + CARBON + LAYERS.format("3, 30.\n") + "MATERIAL=carbon, ORIENTATION=o\n2.\n", "of orientation 'o' is not 3, 0"),
        (FLAP + CARBON + LAYERS.format("1, 0.\n") + "MATERIAL=carbon, ORIENTATION=o\n2.\n", "of orientation 'o' is not 3, 0"),
        (FLAP + CARBON + LAYERS.format("4, 0.\n") + "MATERIAL=carbon\n2.\n", r"\*ORIENTATION: axis 4 of its second line"),
        (
            FLAP + CARBON + "*NODAL THICKNESS\n1, 3.\n" + LAYERS.format("")
            + "MATERIAL=carbon, ORIENTATION=o, NODAL THICKNESS\n2.\n",
            "NODAL THICKNESS is supported for shells of one isotropic material",
        ),
        (FLAP + CARBON + LAYERS.format("") + "COMPOSITE\n1., 3, carbon, o\n1., 3, carbon\n", "ply of carbon has no orientation"),
        (FLAP + "*ORIENTATION, NAME=o, DEFINITION=NODES\n1, 2, 3\n", r"\*ORIENTATION, DEFINITION=NODES is not supported"),
    ],
)  # fmt: skip
def test_nothing_of_a_deck_is_dropped(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_a_spring_has_its_stiffness_at_the_first_temperature(tmp_path):
    coil = (
        SHEET + "*ELEMENT, TYPE=SPRINGA, ELSET=coil\n9, 1, 3\n*SPRING, ELSET=coil\n\n70., 0., "
        "293.\n60., 0., 393.\n"
    )
    # N/m
    assert read(tmp_path, coil).declared.connections["spring 9"]["stiffness"] == pytest.approx(70e3)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("-1., -0.5\n-0.2, -0.1\n0.6, 0.3\n9., 0.4", 2.0),
        ("0., 0.\n3., 1.\n30., 2.", 3.0),
        ("5., -1.\n5., 1.", 0.0),
        ("0., 0., 293.\n3., 1., 293.\n0., 0., 393.\n2., 1., 393.", 3.0),
        ("-1., -1.\n0., 0.\n3., 1.", "has a corner at rest"),
        ("1., 1.\n3., 2.", "is not defined at rest"),
        ("1., 1.\n3., 1.", "needs two points or more .* ascending"),
    ],
)
def test_a_nonlinear_spring_has_its_slope_at_rest(tmp_path, rows, found):
    coil = (
        SHEET
        + f"*ELEMENT, TYPE=SPRINGA, ELSET=coil\n9, 1, 3\n*SPRING, ELSET=coil, NONLINEAR\n{rows}\n"
    )
    if isinstance(found, str):
        with pytest.raises(InputError, match=found):
            read(tmp_path, coil)
    else:
        assert read(tmp_path, coil).declared.connections["spring 9"]["stiffness"] == pytest.approx(
            1e3 * found
        )


def test_damping_and_initial_stress_are_noted(tmp_path):
    with pytest.warns(
        pp.PreprocessWarning,
        match=r"1 \*DAMPING omitted; modal damping is an option of reduce",
    ):
        read(tmp_path, SHEET + "*DAMPING, ALPHA=2.\n")
    with pytest.warns(
        pp.PreprocessWarning,
        match=r"1 \*INITIAL CONDITIONS, TYPE=STRESS omitted; .* the option prestress",
    ):
        read(
            tmp_path,
            SHEET + "*INITIAL CONDITIONS, TYPE=TEMPERATURE\n1, 20.\n*Initial Conditions, "
            "type=Stress\nflap, 9.\n",
        )


@pytest.mark.parametrize("terms", ["2, 1, 0., 3, 1, 0.", "2, 1, 1., 2, 1, -1."])
def test_equations_that_say_nothing_are_refused(tmp_path, terms):
    with pytest.raises(
        InputError,
        match="equation that begins with component 1 of node 2: its factors vanish; remove it",
    ):
        read(tmp_path, SHEET + f"*EQUATION\n2\n{terms}\n")


def test_the_first_factor_of_an_equation_may_vanish(tmp_path):
    """Another degree of freedom is the dependent one."""
    text = SHEET + "*EQUATION\n3\n2, 1, 0., 3, 1, 1., 4, 1, -1.\n"
    assert read(tmp_path, text).declared.connections["equation 1"]["terms"] == [
        (3, 1, 1.0),
        (4, 1, -1.0),
    ]


def test_a_lamina_is_an_orthotropic_sheet(tmp_path):
    """E1, E2, ν12, G12, G13, G23 of plane stress: of shells alone."""
    lamina = (
        "*MATERIAL, NAME=carbon\n*ELASTIC, TYPE=LAMINA\n1.3e5, 1e4, 0.3, 5e3, 4e3, "
        "3e3\n*DENSITY\n1.6e-9\n"
    )
    mesh = read(
        tmp_path, FLAP + lamina + LAYERS.format("3, 0.\n") + "MATERIAL=carbon, ORIENTATION=o\n2.\n"
    )
    ply = pp.Orthotropic(E=(1.3e11, 1e10, 1e10), nu=(0.3, 0.0, 0.0), G=(5e9, 4e9, 3e9), rho=1600.0)
    section = pp.LaminateSection([(2e-3, 0.0)], orientation=(1, 0, 0))
    wanted = pp.assemble(mesh, ply, sections=section)
    assert abs(pp.assemble(mesh).K - wanted.K).max() < 1e-12 * abs(wanted.K).max()
    _, text = brick("1, 0, 0, 0, 1, 0\n")
    with pytest.raises(InputError, match="TYPE=LAMINA is of shells; give ENGINEERING CONSTANTS"):
        read(tmp_path, text.replace(CARBON, lamina))
