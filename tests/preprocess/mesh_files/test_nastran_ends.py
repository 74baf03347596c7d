"""Nastran decks: ends of beams, displacement systems, defaults, rods and tubes, as the models in
Python that they say.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from mesh_decks import every_end_nastran
from scipy.spatial.transform import Rotation

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh.declarations import FileDeclarations

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
GRIDS = {1: (0.0, 0, 0), 2: (100.0, 0, 0), 3: (100.0, 80, 20), 4: (0.0, 90, 10)}
SECTION = "PBARL,8,1,,BAR\n,8.0,12.0\nMAT1,1,2.1+5,,.3,7.85-9\n"
BAR = pp.RectangularSection(0.012, 0.008, orientation=(0, 0, 1))


def grids(systems=None):
    systems = systems or {}
    return "".join(
        f"GRID,{n},,{x},{y},{z},{systems.get(n, '')}\n" for n, (x, y, z) in GRIDS.items()
    )


def read(tmp_path, bulk, before="", **options):
    path = tmp_path / "deck.bdf"
    path.write_text(f"{before}BEGIN BULK\n{bulk}ENDDATA\n")
    return pp.read_mesh(path, unit="mm", structural=True, **options)


def ordered(fe):
    six = fe.freedoms.six(np.argsort(fe.node_ids)).ravel()
    return [fe.constraints.matrix(A)[six][:, six].toarray() for A in (fe.K, fe.M)]


def python(sections, cells, kind="line2", **options):
    """The grids joined by elements of one kind, numbered from 1, each with its section."""
    mesh = pp.Mesh.from_arrays(1e-3 * np.array(list(GRIDS.values())), {kind: cells},
                               element_sets={f"{k}": [k] for k in range(1, len(cells) + 1)})  # fmt: skip
    mesh = replace(mesh, separate=True)
    return pp.assemble(
        mesh, STEEL, sections={f"{k}": each for k, each in enumerate(sections, 1)}, **options
    )


def same(found, wanted):
    for mine, its in zip(ordered(found), ordered(wanted)):
        np.testing.assert_allclose(mine, its, atol=1e-9 * np.abs(its).max())


CELLS = [(0, 1), (1, 2), (2, 3), (3, 0)]
RING = "CBAR,2,8,2,3,0.,0.,1.\nCBAR,3,8,3,4,0.,0.,1.\nCBAR,4,8,4,1,0.,0.,1.\n"


@pytest.mark.parametrize(
    ("card", "section"),
    [
        ("CBAR,1,8,1,2,4", replace(BAR, orientation=(0, 90, 10))),
        ("CBAR,1,8,1,2,0.,1.,1.", replace(BAR, orientation=(0, 1, 1))),
        ("CBAR,1,8,1,2,0.,1.,1.\n,,56", replace(BAR, orientation=(0, 1, 1), released=("", "56"))),
        ("CBAR,1,8,1,2,0.,1.,1.\n,45,5", replace(BAR, orientation=(0, 1, 1), released=("45", "5"))),
        (
            "CBAR,1,8,1,2,0.,0.,1.\n,,,1.,2.,3.,-4.,5.,-6.",
            replace(BAR, ends=[(1e-3, 2e-3, 3e-3), (-4e-3, 5e-3, -6e-3)]),
        ),
        (
            "CBEAM,1,8,1,2,0.,0.,1.\n,5,,0.,0.,4.",
            replace(BAR, ends=[(0, 0, 4e-3), (0, 0, 0)], released=("5", "")),
        ),
        ("CBAR,1,,1,2\nBAROR,,8,,,0.,1.,1.", replace(BAR, orientation=(0, 1, 1))),
        ("CBAR,1,,1,2\nBAROR,,8,,,4", replace(BAR, orientation=(0, 90, 10))),
        ("CBEAM,1,,1,2\nBEAMOR,,8,,,0.,1.,1.", replace(BAR, orientation=(0, 1, 1))),
        ("CBAR,1,8,1,2,0.,0.,1.,GGG\nBAROR,,9,,,1.,1.,1.,BGG", BAR),
    ],
)
def test_ends_of_bars(tmp_path, card, section):
    found = pp.assemble(read(tmp_path, grids() + f"{card}\n" + RING + SECTION))
    same(found, python([section, BAR, BAR, BAR], CELLS))


@pytest.mark.parametrize("seed", range(4))
def test_vectors_of_bars_are_in_the_displacement_axes_of_their_grids(tmp_path, seed):
    """Orientation in those of GA, offsets each in its own; with OFFT = BGG the orientation is in
    basic axes.
    """
    random = np.random.default_rng(seed)
    axes = [Rotation.random(random_state=10 * seed + k).as_matrix() for k in range(2)]
    cards = ""
    for k, A in enumerate(axes):
        points = [*(3.0 * A[:, 2]), *(2 * A[:, 0] + A[:, 2])]
        a, b, c, d, e, f = points
        cards += f"CORD2R,{5 + k},,0.,0.,0.,{a!r},{b!r},{c!r}\n,{d!r},{e!r},{f!r}\n"
    cards = cards.replace("np.float64(", "").replace(")", "")
    v, (wa, wb) = random.uniform(-1, 1, 3), random.uniform(-9, 9, (2, 3))
    offt = ("GGG", "BGG", "", "B")[seed]
    text = ",".join(f"{float(x)!r}" for x in v)
    ends = ",".join(f"{float(x)!r}" for x in (*wa, *wb))
    bar = f"CBAR,1,8,1,2,{text},{offt}\n,,,{ends}\n"
    found = pp.assemble(
        read(
            tmp_path,
            grids({1: 5, 2: 6})
            + cards
            + bar
            + RING.replace("4,1,0.,0.,1.", "4,1,0.,0.,1.")
            + SECTION,
        )
    )
    direction = v if offt.startswith("B") else axes[0] @ v
    section = replace(
        BAR, orientation=direction, ends=1e-3 * np.array([axes[0] @ wa, axes[1] @ wb])
    )
    second = replace(BAR, orientation=axes[1][:, 2])  # of the bar from 2 to 3
    same(found, python([section, second, BAR, BAR], CELLS))


@pytest.mark.parametrize("kind", ["CORD2C", "CORD2S", "CORD1C", "CORD1S"])
def test_curved_displacement_axes(tmp_path, kind):
    """Orientation along r, φ and z, or r, θ and φ at GA, of systems by points and by grids."""
    card = (
        f"{kind},5,,0.,0.,-50.,0.,0.,10.\n,9.,0.,-50.\n"
        if kind[4] == "2"
        else f"{kind},5,11,12,13\n"
    )
    more = (
        "GRID,11,,0.,0.,-50.\nGRID,12,,0.,0.,10.\nGRID,13,,9.,0.,-50.\n" if kind[4] == "1" else ""
    )
    x = np.array(GRIDS[3]) - [0, 0, -50]
    r = np.array([x[0], x[1], 0]) / np.hypot(x[0], x[1])
    around = np.array([-r[1], r[0], 0.0])
    out, down = x / np.linalg.norm(x), np.cross(around, x / np.linalg.norm(x))
    columns = [r, around, [0, 0, 1]] if kind[5] == "C" else [out, down, around]
    v = np.array([0.3, 0.5, -0.7])
    bars = "CBAR,1,8,1,2,0.,0.,1.\nCBAR,2,8,2,3,0.,0.,1.\nCBAR,3,8,3,4,0.3,0.5,-0.7\nCBAR,4,8,4,1,0.,0.,1.\n"
    found = pp.assemble(read(tmp_path, grids({3: 5}) + more + card + bars + SECTION))
    same(found, python([BAR, BAR, replace(BAR, orientation=v @ np.array(columns)), BAR], CELLS))
    # on the axis: as the defining points, here along those of the basic system
    on_axis = pp.assemble(read(tmp_path, grids({1: 5, 3: 5}) + more + card + bars + SECTION))
    same(on_axis, found)


TURNED = "CORD2R,5,,0.,0.,0.,1.,2.,3.\n,3.,-1.,2.\nCORD2C,6,,-7.,5.,0.,-7.,5.,1.\n,1.,5.,0.\n"


def axes_of(system, node):
    if system == 5:
        z, plane = np.array([1.0, 2, 3]), np.array([3.0, -1, 2])
        y = np.cross(z, plane)
        return np.column_stack(
            [
                np.cross(y, z) / np.linalg.norm(np.cross(y, z)),
                y / np.linalg.norm(y),
                z / np.linalg.norm(z),
            ]
        )
    x, y, _ = np.array(GRIDS[node]) - [-7, 5, 0]
    c, s = x / np.hypot(x, y), y / np.hypot(x, y)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_equations_springs_and_masses_in_displacement_axes(tmp_path):
    """MPC, CELAS along one axis of two grids, CONM2 with CID: motions satisfy them, K and M are
    those in basic axes.
    """
    bars = "CBAR,1,8,1,2,0.,0.,1.,BGG\n" + RING.replace("0.,0.,1.", "0.,0.,1.,BGG")
    deck = grids({2: 5, 3: 5, 4: 6}) + TURNED + bars + SECTION
    deck += "MPC,3,4,2,2.,2,1,-3.\n,,1,3,1.\nCELAS2,22,600.,2,6,3,6\n"
    deck += "CONM2,9,4,6,0.001,1.,2.,3.\n,5.,.1,6.,.2,.3,7.\n"
    fe = pp.assemble(read(tmp_path, deck, "MPC = 3\n"), held=True)
    six = fe.freedoms.six(np.argsort(fe.node_ids))
    u = fe.constraints.motion(np.random.default_rng(1).uniform(-1, 1, (fe.freedoms.size, 3)))
    A5, A6 = axes_of(5, 2), axes_of(6, 4)
    residual = 2 * A6[:, 1] @ u[six[3][:3]] - 3 * A5[:, 0] @ u[six[1][:3]] + u[six[0][2]]
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)
    plain = pp.assemble(read(tmp_path, grids() + bars.replace(",BGG", "") + SECTION))
    rows = plain.freedoms.six(np.argsort(plain.node_ids))
    K = (fe.K[six.ravel()][:, six.ravel()] - plain.K[rows.ravel()][:, rows.ravel()]).toarray()
    b = np.zeros(24)
    b[9:12], b[15:18] = -A5[:, 2], A5[:, 2]
    np.testing.assert_allclose(K, 600e-3 * np.outer(b, b), atol=1e-6)
    mass, arm = 1.0, 1e-3 * (A6 @ [1, 2, 3])
    inertia = 1e-3 * A6 @ np.array([[5, -0.1, -0.2], [-0.1, 6, -0.3], [-0.2, -0.3, 7]]) @ A6.T
    cross = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    M = (fe.M[six.ravel()][:, six.ravel()] - plain.M[rows.ravel()][:, rows.ravel()]).toarray()[
        18:, 18:
    ]
    np.testing.assert_allclose(
        M,
        np.block(
            [[mass * np.eye(3), -mass * cross], [mass * cross, inertia - mass * cross @ cross]]
        ),
        atol=1e-9,
    )


def moved_at_random(folder, deck):
    """The part of a deck, its degrees of freedom by node number, and two random motions that its
    connections allow.
    """
    fe = pp.assemble(read(folder, deck))
    six = fe.freedoms.six(np.argsort(fe.node_ids))
    return (
        fe,
        six,
        fe.constraints.motion(np.random.default_rng(1).uniform(-1, 1, (fe.freedoms.size, 2))),
    )


@pytest.mark.parametrize("components", ["1", "13", "23", "135", "2456", "123", "123456"])
def test_rigid_spiders_of_single_components_in_displacement_axes(tmp_path, components):
    """Along the chosen axes of each foot u = t + θ × r, about them θ; the others are free."""
    bars = (
        "CBAR,1,8,1,2,0.,0.,1.,BGG\n"
        + RING.replace("0.,0.,1.", "0.,0.,1.,BGG")
        + "GRID,7,,50.,40.,60.,6\n"
    )
    deck = grids({2: 5, 3: 6}) + TURNED + bars + SECTION + f"RBE2,31,7,{components},2,3,4\n"
    fe, six, u = moved_at_random(tmp_path, deck)
    t, theta = u[six[4][:3]], u[six[4][3:]]
    assert fe.constraints.dependent.size == 3 * len(components)
    for node, axes in ((2, axes_of(5, 2)), (3, axes_of(6, 3)), (4, np.eye(3))):
        r = 1e-3 * (np.array(GRIDS[node]) - [50, 40, 60])
        own = u[six[node - 1]]
        moved, turned = own[:3] - t - np.cross(theta, r, axisa=0, axisc=0), own[3:] - theta
        for c in map(int, components):
            deviation = axes[:, (c - 1) % 3] @ (moved if c <= 3 else turned)
            np.testing.assert_allclose(deviation, 0.0, atol=1e-12)
    R = fe.rigid_motion(np.zeros(3))
    np.testing.assert_allclose(fe.constraints.motion(R), R, atol=1e-9)


def test_a_spring_along_its_line_in_displacement_axes(tmp_path):
    bars = "CBAR,1,8,1,2,0.,0.,1.,BGG\n" + RING.replace("0.,0.,1.", "0.,0.,1.,BGG") + SECTION
    system = "CORD2R,7,,5.,5.,5.,6.,5.,5.\n,5.,7.,6.\n"  # z along x
    one = pp.assemble(
        read(tmp_path, grids({1: 7, 2: 7}) + system + bars + "CELAS2,9,500.,1,3,2,3\n")
    )
    other = pp.assemble(read(tmp_path, grids() + bars + "CELAS2,9,500.,1,1,2,1\n"))
    assert abs(one.K - other.K).max() < 1e-9 * abs(other.K).max()
    with pytest.raises(
        InputError,
        match=r"CELAS2 9: its component has different directions at its grids \(CD\); give a CBUSH",
    ):
        read(tmp_path, grids({1: 7}) + system + bars + "CELAS2,9,500.,1,3,2,3\n")


@pytest.mark.parametrize("components", ["12", "13", "1346", "246", "123", "123456"])
def test_averages_of_single_components_in_displacement_axes(tmp_path, components):
    """The motion of the centre is that of the least weighted squares of the chosen components,
    along the axes of each foot.
    """
    bars = (
        "CBAR,1,8,1,2,0.,0.,1.,BGG\n"
        + RING.replace("0.,0.,1.", "0.,0.,1.,BGG")
        + "GRID,7,,50.,40.,60.\n"
    )
    deck = (
        grids({2: 5, 3: 6})
        + TURNED
        + bars
        + SECTION
        + f"RBE3,31,,7,123456,2.,{components},2,1\n,3.,{components},3,4\n"
    )
    fe, six, u = moved_at_random(tmp_path, deck)
    arms = {node: 1e-3 * (np.array(GRIDS[node]) - [50, 40, 60]) for node in GRIDS}
    size = np.mean([np.linalg.norm(arm) for arm in arms.values()])
    pull = np.zeros((6, 2))
    for node, axes, weight in (
        (1, np.eye(3), 2),
        (2, axes_of(5, 2), 2),
        (3, axes_of(6, 3), 3),
        (4, np.eye(3), 3),
    ):
        x, y, z = arms[node]
        rigid = np.block(
            [
                [np.eye(3), np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])],
                [np.zeros((3, 3)), np.eye(3)],
            ]
        )
        for c in map(int, components):
            row = np.zeros(6)
            row[3 * (c > 3) :][:3] = axes[:, (c - 1) % 3]
            pull += (
                weight
                * (size**2 if c > 3 else 1)
                * np.outer(row @ rigid, row @ (u[six[node - 1]] - rigid @ u[six[4]]))
            )
    np.testing.assert_allclose(pull, 0.0, atol=1e-12)
    R = fe.rigid_motion(np.zeros(3))
    np.testing.assert_allclose(fe.constraints.motion(R), R, atol=1e-9)
    with pytest.raises(
        InputError, match="RBE3 31: components 12 of a centre with a displacement system"
    ):
        read(
            tmp_path,
            deck.replace("GRID,7,,50.,40.,60.", "GRID,7,,50.,40.,60.,5").replace(
                "7,123456", "7,12"
            ),
        )


def test_a_rigid_bar_is_a_spider(tmp_path):
    bars = "CBAR,1,8,1,2,0.,0.,1.\n" + RING + SECTION
    own = grids() + bars + "GRID,7,,50.,40.,60.\n"
    spider, one, other = (
        pp.assemble(read(tmp_path, own + card))
        for card in ("RBE2,9,1,123456,7\n", "RBAR,9,1,7,123456\n", "RBAR,9,7,1,,123456\n")
    )
    for fe in (one, other):
        assert abs(fe.K - spider.K).max() == 0.0
        assert abs(fe.constraints.T - spider.constraints.T).max() == 0.0


RODS = grids() + "CBAR,2,8,2,3,0.,0.,1.\nCBAR,3,8,3,4,0.,0.,1.\nCBAR,4,8,4,1,0.,0.,1.\n" + SECTION


def test_tubes_and_rods_twist_what_turns(tmp_path):
    """CTUBE, CROD with J and CONROD between nodes of bars: EA/L along, GJ/L about their axis;
    masses with NSM.
    """
    bars = python([BAR, BAR, BAR], CELLS[1:])
    area, J = 0.25e-6 * np.pi * (10**2 - 8**2), np.pi / 32 * (0.01**4 - 0.008**4)
    for cards, (A, twist), more in (
        ("CTUBE,9,7,1,3\nPTUBE,7,1,10.,1.\n", (area, J), 0.0),
        ("CROD,9,7,1,3\nPROD,7,1,50.,30.,,2.-6\n", (5e-5, 3e-11), 2.0),
        ("CONROD,9,1,3,1,50.,30.,,2.-6\n", (5e-5, 3e-11), 2.0),
    ):
        fe = pp.assemble(read(tmp_path, RODS + cards))
        x = 1e-3 * (np.array(GRIDS[3]) - GRIDS[1])
        L = np.linalg.norm(x)
        e = x / L
        wanted = np.zeros((24, 24))
        for first, k in ((0, 2.1e11 * A / L), (3, 2.1e11 / 2.6 * twist / L)):
            b = np.zeros(24)
            b[first : 3 + first], b[12 + first : 15 + first] = -e, e
            wanted += k * np.outer(b, b)
        difference = ordered(fe)[0] - ordered(bars)[0]
        np.testing.assert_allclose(difference, wanted, atol=1e-9 * np.abs(ordered(fe)[0]).max())
        np.testing.assert_allclose(difference[3:6, 15:18], wanted[3:6, 15:18], rtol=1e-5)
        assert fe.mass - bars.mass == pytest.approx((7850 * A + more) * L, rel=1e-9)


def test_torsion_of_rods_that_nothing_resists_is_left_out(tmp_path):
    """A truss of tubes, a tube with a free end: no rotation there; between turned nodes through
    others it is refused.
    """
    truss = "".join(
        f"CTUBE,{k},7,{a},{b}\n"
        for k, (a, b) in enumerate([(1, 2), (2, 3), (3, 4), (4, 1), (1, 3), (2, 4)], 1)
    )
    fe = pp.assemble(read(tmp_path, grids() + truss + "PTUBE,7,1,10.,1.\n" + SECTION))
    assert not fe.rotating.size
    one = pp.assemble(
        read(
            tmp_path,
            RODS
            + "GRID,5,,50.,40.,60.\nCTUBE,9,7,1,5\nCONROD,10,2,5,1,9.\nCONROD,11,3,5,1,9.\nPTUBE,7,1,10.,1.\n",
        )
    )
    assert len(one.rotating) == 4
    with pytest.raises(
        InputError,
        match="CTUBE 10: torsion of rods through node 5, whose rotation nothing else acts on",
    ):
        read(
            tmp_path,
            RODS + "GRID,5,,50.,40.,60.\nCTUBE,9,7,1,5\nCTUBE,10,7,2,5\nPTUBE,7,1,10.,1.\n",
        )


def test_rods_of_one_section_are_one_set(tmp_path):
    deck = grids() + "".join(f"CONROD,{k},{a},{b},1,{area}.\n" for k, (a, b, area) in enumerate(
        [(1, 2, 9), (2, 3, 9), (3, 4, 8), (4, 1, 9), (1, 3, 8), (2, 4, 9)], 1))  # fmt: skip
    mesh = read(tmp_path, deck + SECTION)
    assert {name: list(numbers) for name, numbers in mesh.element_sets.items()} == {
        "CONROD 1": [1, 2, 4, 6],
        "CONROD 3": [3, 5],
    }


PINNED = "ignore:.*pinned node:preprocess.PreprocessWarning"


def condensed(fe, kept):
    """Stiffness on the degrees of freedom of some grids, the others without load."""
    K = ordered(fe)[0]
    rows = np.concatenate([6 * (n - 1) + np.arange(k) for n, k in kept.items()])
    rest = np.setdiff1d(np.flatnonzero(np.diag(K) > 0), rows)
    return (
        K[np.ix_(rows, rows)]
        - K[np.ix_(rows, rest)]
        @ np.linalg.pinv(K[np.ix_(rest, rest)], 1e-12)
        @ K[np.ix_(rest, rows)]
    )


def test_a_grid_that_nothing_else_turns_may_be_pinned(tmp_path):
    """A free end, and a hinge of both bars there, as without the pin and as of one bar: statics are
    the same.
    """
    ends = "CBAR,1,8,1,2,0.,0.,1.\n", "CBAR,2,8,2,3,0.,0.,1.\n"
    with pytest.warns(
        pp.PreprocessWarning, match="1 pinned node.s., 3: no beam holds their rotation"
    ):
        pinned = pp.assemble(
            read(tmp_path, grids() + ends[0] + ends[1] + ",,456\n" + SECTION, separate=True)
        )
    plain = pp.assemble(read(tmp_path, grids() + ends[0] + ends[1] + SECTION, separate=True))
    kept = {1: 6, 2: 6, 3: 3}
    np.testing.assert_allclose(
        condensed(pinned, kept), condensed(plain, kept), atol=1e-7 * abs(plain.K).max()
    )
    with pytest.warns(
        pp.PreprocessWarning, match="1 pinned node.s., 2: no beam holds their rotation"
    ):
        both = pp.assemble(
            read(tmp_path, grids() + ends[0] + ",,456\n" + ends[1] + ",456\n" + RING[22:] + SECTION)
        )
    one = pp.assemble(read(tmp_path, grids() + ends[0] + ends[1] + ",456\n" + RING[22:] + SECTION))
    kept = {1: 6, 2: 3, 3: 6, 4: 6}
    np.testing.assert_allclose(
        condensed(both, kept), condensed(one, kept), atol=1e-7 * abs(one.K).max()
    )


@pytest.mark.filterwarnings(PINNED)
@pytest.mark.parametrize("pins", ["56,456", "456,56", "456,456"])
def test_bars_with_pins_are_trusses(tmp_path, pins):
    """Also those that are free to turn about their axis at both ends."""
    pairs = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3), (2, 4)]
    bars = "".join(f"CBAR,{k},8,{a},{b},1.,2.,3.\n,{pins}\n" for k, (a, b) in enumerate(pairs, 1))
    rods = "".join(f"CONROD,{k},{a},{b},1,96.\n" for k, (a, b) in enumerate(pairs, 1))
    found = pp.assemble(read(tmp_path, grids() + bars + SECTION))
    wanted = pp.assemble(read(tmp_path, grids() + rods + SECTION))
    K = ordered(found)[0].reshape(4, 6, 4, 6)[:, :3, :, :3].reshape(12, 12)
    place = (3 * np.argsort(wanted.node_ids)[:, None] + np.arange(3)).ravel()
    np.testing.assert_allclose(
        K, wanted.K[place][:, place].toarray(), atol=1e-9 * abs(wanted.K).max()
    )
    assert found.mass == pytest.approx(wanted.mass, rel=1e-12)


@pytest.mark.filterwarnings(PINNED)
@pytest.mark.parametrize("pins", ["56,56", "56,456", "456,456"])
def test_a_hinged_bar_between_nodes_of_a_solid_transmits_no_torque(tmp_path, pins):
    """Nor where its flags leave its twist: it turns with the nodes around its ends."""
    corners = [(x, y, z) for z in (0, 50) for x, y in ((0, 0), (100, 0), (100, 50), (0, 50))]
    brick = "".join(
        f"GRID,{k},,{float(x)},{float(y)},{float(z)}\n" for k, (x, y, z) in enumerate(corners, 1)
    )
    brick += "CHEXA,1,1,1,2,3,4,5,6\n,7,8\nPSOLID,1,1\n" + SECTION
    bar = pp.assemble(read(tmp_path, brick + f"CBAR,2,8,1,7,0.,0.,1.\n,{pins}\n"))
    rod = pp.assemble(read(tmp_path, brick + "CONROD,2,1,7,1,96.\n"))
    K = bar.constraints.matrix(bar.K)[:24, :24].toarray()
    assert len(bar.constraints.dependent) == 6
    np.testing.assert_allclose(K, rod.K.toarray(), atol=1e-9 * abs(rod.K).max())


def test_laminates_are_turned_from_their_first_side(tmp_path):
    """THETA of CQUAD4 and CTRIA3, blank for none, of elements along different sides."""
    carbon, plies = (
        "MAT8,2,1.35+5,1.+4,.3,5.+3,5.+3,3.5+3,1.6-9\n",
        "PCOMP,7,,,,,,,\n,2,1.,20.,,2,2.,-50.\n",
    )
    more = "GRID,5,,120.,40.,0.\nGRID,6,,100.,50.,0.\nGRID,7,,0.,50.,0.\n"
    deck = (
        more
        + "GRID,1,,0.,0.,0.\nGRID,2,,100.,0.,0.\nCQUAD4,1,7,6,7,1,2,15.\nCTRIA3,2,7,2,5,6\n"
        + carbon
        + plies
    )
    mesh = read(tmp_path, deck)
    found = pp.assemble(mesh)
    material = pp.Orthotropic(
        E=(1.35e11, 1e10, 1e10), nu=(0.3, 0.0, 0.0), G=(5e9, 5e9, 3.5e9), rho=1600.0
    )
    c, s = np.cos(np.radians(15)), np.sin(np.radians(15))
    sections = {
        "a": pp.LaminateSection([(1e-3, 20.0), (2e-3, -50.0)], orientation=(-c, -s, 0)),
        "b": pp.LaminateSection([(1e-3, 20.0), (2e-3, -50.0)], orientation=(20, 40, 0)),
    }
    plain = replace(
        mesh, declared=FileDeclarations(), element_sets={"a": np.array([1]), "b": np.array([2])}
    )
    wanted = pp.assemble(plain, material, sections=sections)
    assert abs(found.K - wanted.K).max() < 1e-9 * abs(wanted.K).max()


def test_masses_per_length_and_area(tmp_path):
    """NSM of PSHELL, PCOMP and PBAR, with PARAM,WTMASS."""
    shell = "GRID,1,,0.,0.,0.\nGRID,2,,100.,0.,0.\nGRID,6,,100.,50.,0.\nGRID,7,,0.,50.,0.\nCQUAD4,1,7,1,2,6,7,20.\n"
    steel = "MAT1,1,2.1+5,,.3,7.85-9\nPARAM,WTMASS,2.\n"
    for card, thickness in (
        ("PSHELL,7,1,2.0,1,,1,,3.-9\n", 2e-3),
        ("PCOMP,7,,3.-9,,,,,\n,1,1.5,0.\n", 1.5e-3),
    ):
        fe = pp.assemble(read(tmp_path, shell + steel + card))
        assert fe.mass == pytest.approx(2 * 5e-3 * (7850 * thickness + 3.0), rel=1e-9)


def test_every_end_in_one_deck(tmp_path):
    path = tmp_path / "deck.bdf"
    path.write_text(every_end_nastran())
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        # two nodes of one place are joined by a connection
        mesh = pp.read_mesh(path, unit="mm", structural=True)
    assert not any(word in str(each.message) for each in noted for word in ("omitted", "coincide"))
    fe = pp.assemble(mesh)
    R = fe.rigid_motion(np.zeros(3))
    np.testing.assert_allclose(fe.constraints.motion(R), R, atol=1e-9)
    assert np.abs(fe.constraints.loads(fe.K @ R)).max() < 1e-8 * np.abs(fe.K.data).max()
    assert set(mesh.element_sets) >= {
        "property 11",
        "property 11 (2)",
        "property 12",
        "property 13",
        "CONROD 35",
    }


def test_six_equations_along_turned_axes_merge_two_grids(tmp_path):
    """Two grids at one place with equal displacements along the axes of their CD are one grid."""
    bars = "CBAR,1,8,{},2,0.,0.,1.,BGG\n" + RING.replace("0.,0.,1.", "0.,0.,1.,BGG")
    equations = "".join(f"MPC,3,11,{c},1.,1,{c},-1.\n" for c in range(1, 7))
    two = (
        grids({1: 5, 2: 5})
        + "GRID,11,,0.,0.,0.,5\n"
        + TURNED
        + bars.format(11)
        + SECTION
        + equations
    )
    one = pp.assemble(read(tmp_path, grids({1: 5, 2: 5}) + TURNED + bars.format(1) + SECTION))
    fe = pp.assemble(read(tmp_path, two, "MPC = 3\n"))
    K, M = (fe.constraints.matrix(A).toarray() for A in (fe.K, fe.M))
    free = np.setdiff1d(np.arange(len(K)), fe.constraints.dependent)
    found = scipy.linalg.eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)[6:]
    wanted = scipy.linalg.eigh(one.K.toarray(), one.M.toarray(), eigvals_only=True)[6:]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
