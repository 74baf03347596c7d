"""Ends of beams: arms from the nodes, degrees of freedom that are not joined to them; turned
sections and added mass.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation
from test_beams import NU, RHO, STEEL, UP, E, line

import preprocess as pp
from flexmbs.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore:.*pinned node:preprocess.PreprocessWarning")
G = E / (2 * (1 + NU))
BAR = pp.RectangularSection(0.03, 0.02, orientation=UP)
SAMPLES = [
    BAR,
    pp.AngleSection(0.05, 0.03, 0.004, orientation=UP, offset=(0.01, -0.02)),
    pp.RectangularSection(0.03, 0.02, orientation=UP, end={"height": 0.02}),
]


def one(section, tip=(0.5, 0.0, 0.0)):
    return pp.assemble(line([(0, 0, 0), tip]), STEEL, sections=section)


def ordered(fe):
    six = fe.freedoms.six(np.array([0, 1])).ravel()
    return [A[six][:, six].toarray() for A in (fe.K, fe.M)]


@pytest.mark.parametrize("seed", range(12))
def test_released_ends_are_condensed(seed):
    """K and M are those of the beam with its ends on other nodes, condensed: u_r = −K_rr⁻¹ K_rk u_k
    in local axes.
    """
    random = np.random.default_rng(seed)
    section = replace(
        SAMPLES[seed % 3],
        turn=float(random.uniform(-180, 180)),
        line=("centroid", "shear-centre")[seed % 2],
    )
    released = [
        np.sort(random.choice(6, random.integers(0, 4), replace=False) + 1) for _ in range(2)
    ]
    released[1] = np.setdiff1d(released[1], [c for c in released[0] if c in (1, 2, 3, 4)])
    given = tuple("".join(map(str, each)) for each in released)
    tip = random.uniform(-1, 1, 3)
    fe, free = one(replace(section, released=given), tip), one(section, tip)
    x = tip / np.linalg.norm(tip)
    y = np.array(UP) - x * x[2]
    axes = np.array([x, y / np.linalg.norm(y), np.cross(x, y / np.linalg.norm(y))])
    arm = np.array([0.0, *section.offset]) @ axes  # to the point where the ends are released
    cross = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    own = np.block([[axes, -axes @ cross], [np.zeros((3, 3)), axes]])
    to_local = block_diag(own, own)
    rows = [6 * end + c - 1 for end, each in enumerate(released) for c in each]
    kept = np.setdiff1d(np.arange(12), rows)
    K, M = ordered(free)
    back = np.linalg.inv(to_local)
    local = back.T @ K @ back
    T = np.eye(12)
    T[np.ix_(rows, kept)] = -np.linalg.solve(local[np.ix_(rows, rows)], local[np.ix_(rows, kept)])
    T[np.ix_(rows, rows)] = 0.0
    T = back @ T @ to_local
    for found, whole in zip(ordered(fe), (K, M)):
        np.testing.assert_allclose(found, T.T @ whole @ T, atol=1e-9 * np.abs(whole).max())
    assert fe.mass == pytest.approx(free.mass, rel=1e-12)
    R = fe.rigid_motion(np.array([0.1, 0.2, -0.3]))
    assert np.abs(fe.K @ R).max() < 1e-8 * np.abs(fe.K.data).max()


def test_a_propped_cantilever_and_its_moment():
    """Tip stiffness 1/(L³/3EI + L/kGA); the moment of the released end is zero, its shear force
    constant.
    """
    fe, data = one(replace(BAR, released=("", "56"))), BAR.data(NU)
    K, L = ordered(fe)[0], 0.5
    assert K[8, 8] == pytest.approx(
        1 / (L**3 / (3 * E * data.Iz) + L / (data.ky * G * data.A)), rel=1e-12
    )
    assert np.abs(K[10:]).max() < 1e-9 * np.abs(K).max()
    beams = fe.structures[0]
    forces = [beams.section_forces(s)[0][:, 8] for s in (0.0, 1.0)]
    assert abs(forces[1][5]) < 1e-9 * abs(forces[0][5])
    assert abs(forces[0][5]) == pytest.approx(abs(forces[0][1]) * L, rel=1e-12)


def test_a_line_of_shear_centres():
    """The offset of the shear centre; added mass is there."""
    section = SAMPLES[1]
    data = section.data(NU)
    shifted = replace(section, offset=np.array(section.offset) - data.turn.T @ data.shear_centre)
    for mine, its in zip(
        ordered(one(replace(section, line="shear-centre"))), ordered(one(shifted))
    ):
        np.testing.assert_allclose(mine, its, atol=1e-9 * np.abs(its).max())
    plain, more = (one(replace(section, line="shear-centre", added_mass=m)) for m in (0.0, 8.0))
    place = (more.mass * more.centre_of_mass - plain.mass * plain.centre_of_mass) / 4.0
    np.testing.assert_allclose(
        place, [0.25, -section.offset[1], section.offset[0]] @ np.diag([1, 1, 1]), atol=1e-12
    )


def test_orientations_and_arms_by_element():
    """Rows of element numbers, in any order, are the same as a section for each element."""
    random = np.random.default_rng(4)
    x = np.cumsum(random.uniform(0.2, 1, (4, 3)), axis=0)
    directions, arms = random.uniform(-1, 1, (3, 3)), random.uniform(-0.1, 0.1, (3, 2, 3))
    mesh = line(x)
    rows = [[k + 1, *directions[k]] for k in (2, 0, 1)]
    section = replace(BAR, orientation=rows, ends=[[k + 1, *arms[k].ravel()] for k in (1, 2, 0)])
    found = pp.assemble(mesh, STEEL, sections=section)
    sets = replace(mesh, element_sets={f"{k}": np.array([k + 1]) for k in range(3)})
    each = {f"{k}": replace(BAR, orientation=directions[k], ends=arms[k]) for k in range(3)}
    wanted = pp.assemble(sets, STEEL, sections=each)
    assert abs(found.K - wanted.K).max() < 1e-12 * abs(wanted.K).max()
    assert abs(found.M - wanted.M).max() < 1e-12 * abs(wanted.M).max()
    with pytest.raises(InputError, match="orientation: has no row of element 3; give one"):
        pp.assemble(mesh, STEEL, sections=replace(section, orientation=rows[1:]))


@pytest.mark.parametrize("seed", range(4))
def test_arms_of_the_ends_are_rigid_spiders(seed):
    """The same beam between nodes that follow the others rigidly."""
    random = np.random.default_rng(seed)
    arms = random.uniform(-0.2, 0.2, (2, 3))
    x = np.array([[0.0, 0, 0], [0.7, 0.2, 0.1]])
    section = replace(
        SAMPLES[seed % 3], released=(("", ""), ("", "5"), ("6", "45"), ("", "56"))[seed]
    )
    found = pp.assemble(line(x), STEEL, sections=replace(section, ends=arms))
    sets = {"a": [0], "b": [1], "foot a": [2], "foot b": [3]}
    mesh = replace(line(np.vstack([x, x + arms]), cells=[(2, 3)], sets=sets), separate=True)
    spiders = {f"arm {name}": pp.RigidSpider(f"foot {name}", reference=name) for name in "ab"}
    other = pp.assemble(mesh, STEEL, sections=section, connections=spiders)
    six = other.freedoms.six(np.array([0, 1])).ravel()
    for matrix, mine in zip((other.K, other.M), ordered(found)):
        wanted = other.constraints.matrix(matrix)[six][:, six].toarray()
        np.testing.assert_allclose(mine, wanted, atol=1e-9 * np.abs(wanted).max())
    assert found.mass == pytest.approx(other.mass, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_turned_section_has_another_orientation(seed):
    angle = float(np.random.default_rng(seed).uniform(-180, 180))
    for section in SAMPLES[:2]:
        other = Rotation.from_rotvec([np.radians(angle), 0, 0]).apply(UP)
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        y, z = section.offset
        wanted = one(replace(section, orientation=other))
        found = one(replace(section, turn=angle, offset=(c * y - s * z, s * y + c * z)))
        for mine, its in zip(ordered(found), ordered(wanted)):
            np.testing.assert_allclose(mine, its, atol=1e-9 * np.abs(its).max())


def test_added_mass_is_on_the_line_of_the_centroids():
    """Mass, and inertia about the axis, which it does not change; on shells per area, on trusses
    per length.
    """
    plain, more = one(BAR), one(replace(BAR, added_mass=3.0))
    data = BAR.data(NU)
    assert more.mass - plain.mass == pytest.approx(1.5, rel=1e-12)
    R = more.rigid_motion(np.zeros(3))
    assert R[:, 3] @ (more.M @ R[:, 3]) == pytest.approx(RHO * 0.5 * (data.Iy + data.Iz), rel=1e-9)
    assert R[:, 4] @ (more.M @ R[:, 4]) - R[:, 4] @ (plain.M @ R[:, 4]) == pytest.approx(
        3.0 * 0.5**3 / 3, rel=1e-9
    )
    truss = pp.Mesh.from_arrays([(0, 0, 0), (0.5, 0, 0)], {"truss2": [(0, 1)]})
    assert pp.assemble(
        truss, STEEL, sections=pp.TrussSection(1e-4, added_mass=2.0)
    ).mass == pytest.approx(RHO * 5e-5 + 1.0)
    plate = pp.Mesh.from_arrays(
        [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], {"quad4": [(0, 1, 2, 3)]}
    )
    for section in (
        pp.ShellSection(0.01, added_mass=5.0, offset=0.02),
        pp.LaminateSection([(0.01, 0.0)], added_mass=5.0, offset=0.02),
    ):
        fe = pp.assemble(plate, STEEL, sections=section)
        assert fe.mass == pytest.approx(78.5 + 5.0, rel=1e-12)
        assert fe.centre_of_mass[2] == pytest.approx(0.02, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"released": ("4", "4")},
            "released: element 1 moves without force; keep it at one of its ends",
        ),
        ({"released": ("56", "256")}, "released: element 1 moves without force"),
        ({"released": ("", "7")}, "released: '7'; give digits from 1 to 6"),
        ({"ends": [(1, 2)]}, "ends: .*; give 6 numbers, or rows of a number and these"),
        ({"ends": (1, 2, 3, 4, 5, 6)}, "ends: .*; give 6 numbers, or rows of a number and these"),
        (
            {"orientation": (1, 0, 0, 1)},
            "orientation: .*; give 3 numbers, or rows of a number and these",
        ),
        ({"ends": [(0.5, 0, 0), (0, 0, 0)]}, "ends: element 1 has no length between its ends"),
        ({"added_mass": -1.0}, "added_mass = -1.0; give kg/m that are not negative"),
        ({"turn": np.inf}, "turn: inf; give an angle in degrees"),
    ],
)
def test_bad_ends_are_named(options, message):
    with pytest.raises(InputError, match=message):
        one(replace(BAR, **options))


def test_ends_of_beams_with_three_nodes_are_refused():
    mesh = line([(0, 0, 0), (0.5, 0, 0), (1, 0, 0)], kind="line3")
    with pytest.raises(
        InputError, match="ends and released apply to line2 elements only, not to line3"
    ):
        pp.assemble(mesh, STEEL, sections=replace(BAR, released=("", "56")))


@pytest.mark.parametrize("seed", range(4))
def test_pinned_beams_are_a_truss(seed):
    """Stiffness and mass of trusses, but for the rotary inertia of the beams; rotations follow,
    rigid motions are kept.
    """
    random = np.random.default_rng(seed)
    x, cells = (
        random.uniform(0, 1, (7, 3)),
        [(a, b) for a in range(7) for b in range(a) if random.random() < 0.9],
    )
    bar = pp.RectangularSection(
        0.004, 0.006, orientation=(0.1, 0.2, 1), released=(("456", "56"), ("56", "456"))[seed % 2]
    )
    found = pp.assemble(line(x, cells=cells), STEEL, sections=bar)
    wanted = pp.assemble(
        pp.Mesh.from_arrays(x, {"truss2": cells}), STEEL, sections=pp.TrussSection(2.4e-5)
    )
    K, M = (found.constraints.matrix(A)[:21, :21].toarray() for A in (found.K, found.M))
    np.testing.assert_allclose(K, wanted.K.toarray(), atol=1e-10 * abs(wanted.K).max())
    np.testing.assert_allclose(M, wanted.M.toarray(), atol=1e-3 * abs(wanted.M).max())
    assert len(found.constraints.dependent) == 21
    R = found.rigid_motion(found.centre_of_mass)
    np.testing.assert_allclose(found.constraints.T @ R, R, atol=1e-12)


@pytest.mark.parametrize("pins", [("456", "56"), ("56", "456")])
def test_a_strut_between_nodes_of_a_solid_is_a_truss(pins):
    """These have no rotation of their own: that of the strut follows the nodes around its ends."""
    box = pp.box_mesh((0.4, 0.1, 0.1), (8, 2, 2), "hex8")
    rows = [
        int(np.abs(box.nodes - place).sum(axis=1).argmin())
        for place in ((0.1, 0.05, 0.1), (0.3, 0.1, 0.0))
    ]
    solid = {"hex8": box.blocks["hex8"].connectivity}
    bar = pp.RectangularSection(0.01, 0.01, orientation=UP, released=pins)
    found = []
    for kind, section in (("line2", bar), ("truss2", pp.TrussSection(1e-4))):
        mesh = pp.Mesh.from_arrays(
            box.nodes, {**solid, kind: [rows]}, node_sets=dict(box.node_sets)
        )
        fe = pp.assemble(mesh, STEEL, sections=section)
        found.append(
            pp.reduce(
                fe,
                interfaces={"root": pp.Rigid("x0")},
                method=pp.CraigBampton(modes=4),
                reference="root",
            )
        )
    np.testing.assert_allclose(found[0].modes.frequency, found[1].modes.frequency, rtol=1e-4)
    np.testing.assert_allclose(found[0].second_moment, found[1].second_moment, rtol=1e-4, atol=1e-6)


def test_a_part_with_a_node_that_moves_freely_is_refused():
    """Two pinned beams in one plane leave their common node free across it: beams that hold the
    others do not.
    """
    x = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (1, 1, 0)]
    sets = {"a": [0], "b": [2]}
    mesh = line(x, cells=[(0, 1), (1, 2), (0, 3), (3, 2)], sets=sets)
    mesh = replace(mesh, element_sets={"main": np.array([1, 2]), "struts": np.array([3, 4])})
    sections = {"main": BAR, "struts": replace(BAR, released=("456", "56"))}
    with pytest.warns(
        pp.PreprocessWarning, match="1 pinned node.s., 3: no beam holds their rotation"
    ):
        fe = pp.assemble(mesh, STEEL, sections=sections)
    with pytest.raises(InputError, match="singular"):
        pp.reduce(
            fe,
            interfaces={"a": pp.Rigid("a"), "b": pp.Rigid("b")},
            method=pp.CraigBampton(modes=4),
            reference="a",
        )
