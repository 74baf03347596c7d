"""Abaqus and CalculiX: shapes of beams, their first axes, normals, places of nodes, offsets of
shells; some against CalculiX.
"""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse.linalg as sla
from mesh_decks import every_shape_abaqus

import preprocess as pp
from flexmbs.errors import InputError

CCX = shutil.which("ccx")
STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
MATERIAL = "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n"
NODES = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0.5, 0.3, 0.7\n"
BARS = NODES + "*ELEMENT, TYPE=B31, ELSET=bars\n1, 1, 2\n2, 2, 3\n" + MATERIAL


def read(tmp_path, text, **options):
    path = tmp_path / "deck.inp"
    path.write_text(text)
    return pp.read_mesh(path, unit="m", structural=True, **options)


def beams(tmp_path, shape, dimensions, axis="0., 0., 1.", options=""):
    text = (
        f"{BARS}*BEAM SECTION, ELSET=bars, MATERIAL=steel, "
        f"SECTION={shape}{options}\n{dimensions}\n{axis}\n"
    )
    return pp.assemble(read(tmp_path, text))


UP = (0, 0, 1)


@pytest.mark.parametrize(
    ("shape", "dimensions", "section"),
    [
        ("RECT", "0.03, 0.02", pp.RectangularSection(0.03, 0.02, orientation=UP)),
        ("BOX", "0.03, 0.02, 0.002, 0.002, 0.002, 0.002", pp.BoxSection(0.03, 0.02, 0.002, orientation=UP)),
        ("I", "0.015, 0.03, 0.02, 0.02, 0.003, 0.003, 0.002", pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=UP, turn=90.0)),
        ("I", "0., 0.03, 0.02, 0.02, 0.003, 0.003, 0.002",
         pp.ISection(0.03, 0.02, 0.002, 0.003, orientation=UP, turn=90.0, offset=(0.0, 0.015))),
        ("I", "0.01, 0.03, 0.0, 0.02, 0.0, 0.003, 0.002", pp.TSection(
            0.03, 0.02, 0.002, 0.003, orientation=UP, turn=90.0, line="origin", offset=(0.0, -0.01))),
        ("I", "0.01, 0.03, 0.02, 0.0, 0.003, 0.0, 0.002", pp.TSection(
            0.03, 0.02, 0.002, 0.003, orientation=UP, turn=-90.0, line="origin", offset=(0.0, 0.02))),
        ("L", "0.03, 0.02, 0.002, 0.003", pp.AngleSection(
            0.03, 0.02, 0.002, 0.003, orientation=UP, line="origin", offset=(-0.0015, -0.001))),
        ("HEX", "0.02, 0.001", pp.WalledSection(
            [(0.019423 * np.cos(a), 0.019423 * np.sin(a), 0.019423 * np.cos(b), 0.019423 * np.sin(b), 0.001)
             for a, b in [(k * np.pi / 3, (k + 1) * np.pi / 3) for k in range(6)]], orientation=UP)),
        ("ARBITRARY", "3, 0.02, 0., 0., 0., 0.002\n0., 0.03, 0.004\n0.02, 0.03, 0.002", pp.WalledSection(
            [(0.02, 0, 0, 0, 0.002), (0, 0, 0, 0.03, 0.004), (0, 0.03, 0.02, 0.03, 0.002)], orientation=UP, line="origin")),
        ("CIRC", "0.03, 0.03", pp.CircularSection(0.03)),
        ("PIPE", "0.015, 0.002", pp.TubularSection(0.03, 0.002)),
    ],
)  # fmt: skip
def test_shapes(tmp_path, shape, dimensions, section):
    found = beams(tmp_path, shape, dimensions)
    wanted = pp.assemble(found.mesh, STEEL, sections=section)
    tolerance = 1e-4 if shape == "HEX" else 1e-9
    for mine, its in ((found.K, wanted.K), (found.M, wanted.M)):
        assert abs(mine - its).max() < tolerance * abs(its).max()


def test_places_of_unequal_sections(tmp_path):
    """Centroids from the node, along n₁ = z and t × n₁ = −y of a bar along x: by the moments of the
    rectangles.
    """

    def centre(shape, dimensions):
        nodes = "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n*ELEMENT, TYPE=B31, ELSET=bars\n1, 1, 2\n"
        text = (
            f"{nodes}{MATERIAL}*BEAM SECTION, ELSET=bars, MATERIAL=steel, "
            f"SECTION={shape}\n{dimensions}\n0., 0., 1.\n"
        )
        return pp.assemble(read(tmp_path, text)).centre_of_mass[[2, 1]] * [1, -1]

    # length, thickness, height
    rows = np.array([[0.02, 0.003, 0.0015], [0.01, 0.002, 0.029], [0.025, 0.001, 0.0155]])
    height = (rows[:, 0] * rows[:, 1]) @ rows[:, 2] / (rows[:, 0] @ rows[:, 1])
    found = centre("I", "0.011, 0.03, 0.02, 0.01, 0.003, 0.002, 0.001")
    np.testing.assert_allclose(found, (0, height - 0.011), atol=1e-12)
    area = np.array([0.03 * 0.002, 0.018 * 0.003])
    found = centre("L", "0.03, 0.02, 0.002, 0.003")
    np.testing.assert_allclose(
        found,
        (area @ [0.015 - 0.0015, 0.0] / area.sum(), area @ [0.0, 0.011 - 0.001] / area.sum()),
        atol=1e-12,
    )
    found = centre("BOX", "0.03, 0.02, 0.004, 0.001, 0.002, 0.003")
    area = np.array([0.004 * 0.02, 0.002 * 0.02, 0.001 * 0.024, 0.003 * 0.024])
    place = area @ [[0.013, 0], [-0.014, 0], [-0.001, 0.0095], [-0.001, -0.0085]] / area.sum()
    np.testing.assert_allclose(found, place, atol=1e-12)


def test_a_general_section_has_places_of_its_centroid_and_shear_centre(tmp_path):
    """From the nodes, along both axes; without a place it is there."""
    own = (
        "*BEAM GENERAL SECTION, ELSET=bars, DENSITY=7850.\n3e-4, 1e-8, 0., 3e-8, 2e-8\n0., "
        "0., 1.\n2.1e11, 8.1e10\n"
    )
    mesh = read(tmp_path, BARS + own + "*CENTROID\n0.01, -0.02\n*SHEAR CENTER\n-0.004, 0.003\n")
    section = pp.GeneralSection(
        3e-4,
        1e-8,
        3e-8,
        2e-8,
        shear=(1, 1),
        orientation=UP,
        offset=(0.01, -0.02),
        shear_centre=(-0.014, 0.023),
    )
    wanted = pp.assemble(mesh, sections=section)
    assert abs(pp.assemble(mesh).K - wanted.K).max() < 1e-12 * abs(wanted.K).max()
    mesh = read(tmp_path, BARS + own + "*SHEAR CENTER\n-0.004\n")
    assert mesh.declared.sections["bars"]["offset"] == [0.0, 0.0]
    with pytest.raises(
        InputError, match=r"\*CENTROID without \*BEAM GENERAL SECTION, SECTION=GENERAL before it"
    ):
        read(tmp_path, BARS + "*BEAM SECTION, ELSET=bars, MATERIAL=steel\n0.03\n*CENTROID\n0.01\n")


def test_a_general_section_has_its_own_constants(tmp_path):
    text = (
        BARS.replace(MATERIAL, "")
        + "*BEAM GENERAL SECTION, ELSET=bars, SECTION=GENERAL, DENSITY=7850.\n"
    )
    found = pp.assemble(
        read(tmp_path, text + "3e-4, 1e-8, 0., 3e-8, 2e-8\n0., 0., 1.\n2.1e11, 8.0769230769e10\n")
    )
    section = pp.GeneralSection(3e-4, 1e-8, 3e-8, 2e-8, shear=(1.0, 1.0), orientation=UP)
    wanted = pp.assemble(found.mesh, STEEL, sections=section)
    assert abs(found.K - wanted.K).max() < 1e-9 * abs(wanted.K).max()
    assert found.mass == pytest.approx(wanted.mass, rel=1e-12)


@pytest.mark.parametrize("how", ["node", "normal", "cosines"])
def test_first_axes_of_elements(tmp_path, how):
    """A node beside the beam gives n₁, *NORMAL and the cosines behind the coordinates n₂; they hold
    before the section's axis.
    """
    text, first = BARS, np.array([0.5, 0.3, 0.7])
    if how == "node":
        text = text.replace("1, 1, 2\n", "1, 1, 2, 4\n")
    else:
        n2 = np.cross([1, 0, 0], first)
        row = f"{n2[0]}, {n2[1]}, {n2[2]}"
        rows = f"*NORMAL\n1, 1, {row}\n1, 2, {row}\n"
        text = (
            text + rows
            if how == "normal"
            else text.replace("1, 0, 0, 0\n2, 1, 0, 0", f"1, 0, 0, 0, {row}\n2, 1, 0, 0, {row}")
        )
        if how == "cosines":
            text = text.replace("2, 2, 3\n", "").replace("3, 1, 1, 0\n", "")
    section = "*BEAM SECTION, ELSET=bars, MATERIAL=steel, SECTION=RECT\n0.03, 0.02\n0., 0., 1.\n"
    found = pp.assemble(read(tmp_path, text + section))
    rows = [(n, *(first if n == 1 else (0, 0, 1))) for n in found.mesh.blocks["line2"].ids]
    wanted = pp.assemble(
        found.mesh, STEEL, sections=pp.RectangularSection(0.03, 0.02, orientation=rows)
    )
    assert abs(found.K - wanted.K).max() < 1e-9 * abs(wanted.K).max()


def test_circles_of_parts_have_a_radius(tmp_path):
    part = (
        f"*PART, NAME=P\n{BARS.replace(MATERIAL, '')}*BEAM SECTION, ELSET=bars, "
        "MATERIAL=steel, SECTION=CIRC\n0.015\n0., 0., 1.\n"
    )
    deck = (
        part
        + "*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=I, PART=P\n*END INSTANCE\n*END ASSEMBLY\n"
        + MATERIAL
    )
    assert pp.assemble(read(tmp_path, deck)).mass == pytest.approx(
        7850 * 2 * np.pi * 0.015**2, rel=1e-9
    )
    with pytest.raises(
        InputError,
        match="SECTION=CIRC: one number may be a radius or a diameter; give two diameters",
    ):
        beams(tmp_path, "CIRC", "0.015")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SECTION=TRAPEZOID\n1, 2, 3, 4",
            "SECTION=TRAPEZOID is not supported; use RECT, CIRC, PIPE, BOX, I, L, HEX, ARBITRARY",
        ),
        ("SECTION=I\n0.01, 0.03, 0., 0., 0., 0., 0.002", "SECTION=I: walls without thickness"),
        ("SECTION=I\n0.01, 0.03, 0.02", "SECTION=I has 3 dimensions; it needs 7"),
        (
            "SECTION=L, OFFSET1=0.5\n0.03, 0.02, 0.002, 0.003",
            "OFFSET of SECTION=L is not supported",
        ),
        (
            "SECTION=ARBITRARY\n5, 0.02, 0., 0., 0., 0.002",
            "SECTION=ARBITRARY: '5' segments; give two or more, and a line of each",
        ),
        ("SECTION=HEX\n0.02, 0.018", "SECTION=HEX: walls without thickness, or that do not fit"),
        (
            "SECTION=RECT\n-0.03, 0.02",
            "SECTION=RECT: dimension -0.03; give dimensions that are not negative",
        ),
        (
            "SECTION=BOX\n0.03, 0.02, 0.002, 0.002, 0., 0.002",
            "SECTION=BOX: walls without thickness",
        ),
    ],
)
def test_bad_shapes_are_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, f"{BARS}*BEAM SECTION, ELSET=bars, MATERIAL=steel, {text}\n0., 0., 1.\n")


def test_twisted_normals_and_bad_constants_are_named(tmp_path):
    section = "*BEAM SECTION, ELSET=bars, MATERIAL=steel, SECTION=RECT\n0.03, 0.02\n0., 0., 1.\n"
    with pytest.raises(InputError, match="element 1 has different normals at its nodes"):
        read(tmp_path, BARS + section + "*NORMAL\n1, 1, 0, 0, 1\n1, 2, 0, 1, 0\n")
    with pytest.raises(
        InputError, match="needs a MATERIAL, or E and G above E/3 in its third line"
    ):
        read(
            tmp_path,
            BARS + "*BEAM GENERAL SECTION, ELSET=bars\n3e-4, 1e-8, 0., 3e-8, 2e-8\n0., 0., 1.\n",
        )
    with pytest.raises(InputError, match="element 1: the node 77 beside it does not exist"):
        read(tmp_path, BARS.replace("1, 1, 2\n", "1, 1, 2, 77\n") + section)
    plate = (
        NODES
        + "*ELEMENT, TYPE=S3, ELSET=p\n1, 1, 2, 3\n"
        + MATERIAL
        + "*SHELL SECTION, ELSET=p, MATERIAL=steel\n0.01\n"
    )
    with pytest.raises(
        InputError, match="normals: of element 1 at node 1: is far from its surface"
    ):
        pp.assemble(read(tmp_path, plate + "*NORMAL\np, 1, 1., 0., 0.\n")).K.sum()


@pytest.mark.parametrize(
    ("system", "node", "place"),
    [
        ("*SYSTEM\n1., 2., 3.\n", "2., 0., 1.", (3, 2, 4)),
        ("*SYSTEM\n1., 2., 3., 1., 5., 3.\n", "2., 0., 1.", (1, 4, 4)),
        ("*SYSTEM\n1., 2., 3., 1., 2., 4.\n1., 5., 9.\n", "2., 4., 1.", (0, 6, 5)),
        ("*SYSTEM\n1., 2., 3.\n*SYSTEM\n", "2., 0., 1.", (2, 0, 1)),
    ],
)
@pytest.mark.parametrize("more", ["", ", SYSTEM=C"])
def test_nodes_in_local_systems(tmp_path, system, node, place, more):
    """Origin, point on the first axis, point in the plane of the first two; cylindrical coordinates
    with degrees.
    """
    if more:
        x, y, z = map(float, node.split(","))
        node = f"{np.hypot(x, y)!r}, {np.degrees(np.arctan2(y, x))!r}, {z}".replace(
            "np.float64(", ""
        ).replace(")", "")
    deck = (
        f"*NODE\n1, 0, 0, 0\n{system}*NODE{more}\n2, {node}\n*ELEMENT, TYPE=T3D2, ELSET=r\n1, "
        "1, 2\n"
    )
    np.testing.assert_allclose(read(tmp_path, deck).nodes[1], place, atol=1e-12)


@pytest.mark.parametrize(
    "text", ["1., 2.", "1., 2., 3., 1., 2., 4.", "0, 0, 0, 1, 0, 0\n2, 0, 0", "0, 0, 0\n1, 0, 0"]
)
def test_bad_systems_are_named(tmp_path, text):
    with pytest.raises(InputError, match=r"\*SYSTEM"):
        read(tmp_path, f"*SYSTEM\n{text}\n{NODES}")


PLATE = (
    "*NODE, NSET=all\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n*ELEMENT, TYPE=S4, "
    "ELSET=p\n1, 1, 2, 3, 4\n" + MATERIAL
)


@pytest.mark.parametrize(
    ("offset", "middle"), [("0.5", -0.1), ("SPOS", -0.1), ("SNEG", 0.1), ("-0.3", 0.06)]
)
def test_offsets_of_shells_are_places_of_the_nodes(tmp_path, offset, middle):
    """Thicknesses of the nodes from the middle along the normal, as in CalculiX."""
    deck = PLATE + f"*SHELL SECTION, ELSET=p, MATERIAL=steel, OFFSET={offset}\n0.2\n"
    assert pp.assemble(read(tmp_path, deck)).centre_of_mass[2] == pytest.approx(middle)
    if CCX is None or offset.startswith("S"):
        return
    job = (
        deck + "*BOUNDARY\n1, 1, 3\n*STEP\n*STATIC\n*CLOAD\n3, 3, 1.\n*NODE FILE, "
        "OUTPUT=3D\nU\n*END STEP\n"
    )
    (tmp_path / "job.inp").write_text(job)
    subprocess.run([str(CCX), "job"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    block = (tmp_path / "job.frd").read_text().split("    2C")[1].splitlines()[1:9]
    z = [float(line[37:49]) for line in block]
    assert 0.5 * (min(z) + max(z)) == pytest.approx(middle, abs=1e-6)


@pytest.mark.skipif(CCX is None, reason="CalculiX (ccx) is not installed")
@pytest.mark.parametrize(
    "walls", [(0.1, 0.05, 0.05, 0.05), (0.05, 0.1, 0.05, 0.05), (0.05, 0.05, 0.08, 0.1)]
)
def test_walls_of_a_box_are_those_of_calculix(tmp_path, walls):
    """Tip of a cantilever under a force along it, beside its centroid, and under one across it."""
    n = 20
    deck = "*NODE, NSET=all\n" + "".join(f"{k + 1}, {k}, 0, 0\n" for k in range(2 * n + 1))
    deck += (
        "*ELEMENT, TYPE=B32R, ELSET=bar\n"
        + "".join(f"{k + 1}, {2 * k + 1}, {2 * k + 2}, {2 * k + 3}\n" for k in range(n))
        + MATERIAL
    )
    deck += (
        "*BEAM SECTION, ELSET=bar, MATERIAL=steel, SECTION=BOX\n1., 2., "
        f"{', '.join(map(str, walls))}\n0., 1., 0.\n"
    )
    load = (
        f"*BOUNDARY\n1, 1, 6\n*STEP\n*STATIC\n*CLOAD\n{2 * n + 1}, {{}}, 1e5\n*NODE PRINT, "
        "NSET=all\nU\n*END STEP\n"
    )
    fe = pp.assemble(read(tmp_path, deck))
    six = fe.freedoms.six(np.argsort(fe.node_ids))
    free = np.setdiff1d(np.arange(fe.freedoms.size), six[0])
    for component in range(3):
        (tmp_path / "job.inp").write_text(deck + load.format(component + 1))
        subprocess.run([str(CCX), "job"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
        found = np.array([float(x) for x in (tmp_path / "job.dat").read_text().split()[-3:]])
        force, u = np.zeros(fe.freedoms.size), np.zeros(fe.freedoms.size)
        force[six[-1][component]] = 1e5
        u[free] = sla.spsolve(fe.K.tocsc()[free][:, free], force[free])
        np.testing.assert_allclose(u[six[-1][:3]], found, atol=0.03 * np.abs(found).max())


def test_every_shape_in_one_deck(tmp_path):
    with pytest.warns(
        pp.PreprocessWarning,
        match="SECTION=L: the nodes are assumed where the middle lines of the legs meet",
    ):
        mesh = read(tmp_path, every_shape_abaqus(), separate=True)
    fe = pp.assemble(mesh)
    R = fe.rigid_motion(np.zeros(3))
    assert np.abs(fe.K @ R).max() < 1e-8 * np.abs(fe.K.data).max()
    places = dict(zip(mesh.node_ids.tolist(), mesh.nodes))
    np.testing.assert_allclose(places[2], (0.11, 0.1, 0.0), atol=1e-12)
    np.testing.assert_allclose(places[33], (2 * np.cos(np.pi / 6), 1.0, 0.0), atol=1e-12)
    directors = {
        int(n): d
        for each in fe.structures
        if each.kind == "quad4"
        for n, d in zip(each.numbers[0], each.directors[0])
    }
    np.testing.assert_allclose(directors[32], np.array([0.01, 0, 1]) / np.sqrt(1.0001), rtol=1e-12)
