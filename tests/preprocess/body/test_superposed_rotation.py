"""Geometric stiffness under superposed rigid rotations: exact for every part, whatever carries its
mass and its loads.

A rigid rotation θ after a displacement φ moves each point by θ × φ more, and turns each rotation by
½ θ × φ_θ more (by the vector of the product of both). Stresses do no work on it, so that with the
loads f at their points and moments M on the interfaces

    θᵀ K0 φ = −Σ f · (θ × φ) − ½ Σ M · (θ × φ_θ).

It follows from the invariance of strain alone, and holds for the exact exponential of every
rotation.
"""

import numpy as np
import pytest
import scipy.linalg
from draws import drawn
from random_parts import KINDS, random_model

import preprocess as pp
from preprocess.body.geometric_stiffness import geometric_stiffness
from preprocess.body.unit_loads import INERTIAL, BodyLoads, inertial_loads, unit_accelerations
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.interface_statics import InterfaceStatics
from tests.preprocess.fe.test_shells import grid

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)


EPSILON = np.zeros((3, 3, 3))
EPSILON[[0, 1, 2], [1, 2, 0], [2, 0, 1]], EPSILON[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = 1.0, -1.0


def errors(fe, interfaces, seed=0):
    """Errors of θᵀ K0 φ for rigid and for elastic φ (2, 3), of inertia loads, forces and moments,
    over the largest of each.
    """
    statics = InterfaceStatics(
        fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
    )
    random = np.random.default_rng(seed)
    origin = fe.centre_of_mass + 0.03 * random.standard_normal(3)
    cases = BodyLoads(statics, origin, np.eye(3)).under("mean axes")
    given = np.hstack([inertial_loads(fe, origin, np.eye(3))[:, 3:], statics.interface_loads])
    elastic = statics.free_response(
        given / np.abs(given).max(axis=0) @ random.standard_normal((given.shape[1], 3))
    )
    elastic *= np.ptp(fe.nodes, axis=0).max() / np.abs(fe.displacements(elastic)).max(axis=(0, 1))
    shapes = np.hstack([fe.rigid_motion(origin)[:, 3:], elastic])
    motion = statics.interface_motion(shapes).reshape(len(statics.interfaces), 6, -1)
    K0 = geometric_stiffness(statics, cases, shapes, motion[:, 3:])[:, :3]

    accelerations = fe.point_displacements(cases.relief)
    accelerations[:, :, :INERTIAL] += unit_accelerations(fe.points, origin, np.eye(3))
    forces = -(fe.m @ accelerations.reshape(len(fe.points), -1)).reshape(accelerations.shape)
    expected = np.einsum(
        "pck,acd,pdm->kam", forces, EPSILON, fe.point_displacements(shapes), optimize=True
    )
    for j in range(len(statics.interfaces)):
        at = INERTIAL + 6 * j
        expected[at : at + 3] += np.einsum("acd,dm->cam", EPSILON, motion[j, :3])
        expected[at + 3 : at + 6] += 0.5 * np.einsum("acd,dm->cam", EPSILON, motion[j, 3:])
    expected[cases.carried] = 0.0
    size = np.abs(expected)
    kinds = np.concatenate(
        [np.zeros(INERTIAL, int), np.tile([1, 1, 1, 2, 2, 2], len(statics.interfaces))]
    )
    worst = [
        [np.abs(K0 - expected)[kinds == k][:, :, own].max() for k in range(3)]
        for own in (slice(3), slice(3, None))
    ]
    return np.array(worst) / [size[kinds == k].max() for k in range(3)]


@pytest.mark.parametrize("seed", drawn(len(KINDS), 10 * len(KINDS)))
def test_random_parts(seed):
    """Exact; for elastic φ but for two-node beams, whose lines are interpolated, and frames that
    follow deformed faces.
    """
    fe, interfaces = random_model(seed)
    rigid, elastic = errors(fe, interfaces, seed)
    assert rigid.max() < 1e-7
    kind, follows = (
        KINDS[seed % len(KINDS)],
        any(not each.drives_nodes for each in interfaces.values()),
    )
    if not follows and kind not in ("beam", "frame", "spider"):
        assert elastic.max() < 1e-7


def sheet(kind, offset=0.0, **options):
    """A doubly curved sheet with a fold in one corner."""
    n = 4 if kind in ("quad4", "tri3") else 8
    a, b = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    nodes = np.stack(
        [a, 0.5 * b + 0.05 * a * b, 0.3 * a * a + 0.1 * np.sin(3 * b) * a], -1
    ).reshape(-1, 3)
    rows = np.arange(a.size).reshape(a.shape)
    step = 1 if n == 4 else 2
    corners = [
        rows[:-1:step, :-1:step],
        rows[step::step, :-1:step],
        rows[step::step, step::step],
        rows[:-1:step, step::step],
    ]
    cells = np.stack([each.ravel() for each in corners], 1)
    if step == 2:
        sides = [rows[1::2, :-1:2], rows[2::2, 1::2], rows[1::2, 2::2], rows[:-1:2, 1::2]]
        cells = np.hstack([cells, np.stack([each.ravel() for each in sides], 1)])
        middle = rows[1::2, 1::2].ravel()
    if kind.startswith("tri"):
        one, two = (cells[:, [0, 1, 2]], cells[:, [0, 2, 3]])
        if step == 2:
            one = np.column_stack([one, cells[:, 4], cells[:, 5], middle])
            two = np.column_stack([two, middle, cells[:, 6], cells[:, 7]])
        cells = np.vstack([one, two])
    used, cells = np.unique(cells, return_inverse=True)
    sets = {"edge": np.searchsorted(used, np.intersect1d(rows[0], used)), "corner": [len(used) - 1]}
    mesh = pp.Mesh.from_arrays(
        nodes[used],
        {kind: cells.reshape(-1, {"quad4": 4, "tri3": 3, "quad8": 8, "tri6": 6}[kind])},
        node_sets=sets,
    )
    return pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.01, offset=offset), **options)


@pytest.mark.parametrize("offset", [0.0, 0.02])
@pytest.mark.parametrize("kind", ["quad4", "tri3", "quad8", "tri6"])
@pytest.mark.filterwarnings("ignore")
def test_curved_shells(kind, offset):
    """With a body off a corner; for a force at the corner too,
    offset from the middle of the shell.
    """
    fe = sheet(kind, offset)
    place = fe.nodes[fe.node_sets["corner"][0]] + [0.05, 0.02, -0.1]
    fe = pp.attach(fe, [pp.PointMass("corner", 3.0, position=place, inertia=(0.01, 0.02, 0.015))])
    assert errors(fe, {"edge": pp.Rigid("edge"), "corner": pp.Rigid("corner")}).max() < 1e-7


RECTANGLE = {"height": 0.02, "width": 0.05, "orientation": (0.1, 0.3, 1.0)}
SECTIONS = {
    "plain": pp.RectangularSection(**RECTANGLE),
    "offset": pp.RectangularSection(**RECTANGLE, offset=(0.05, 0.03), added_mass=2.0),
    "arms": pp.RectangularSection(**RECTANGLE, ends=((0.02, 0.0, 0.03), (-0.02, 0.01, 0.02))),
    "channel": pp.ChannelSection(
        0.05, 0.03, 0.003, 0.004, orientation=(0.1, 0.3, 1.0), line="shear-centre"
    ),
    "tapered": pp.RectangularSection(**RECTANGLE, end={"height": 0.03}),
}


def bow(section, kind="line2", n=4):
    """A bent line of beams with a body off its tip."""
    x = np.linspace(0, 1, n + 1)[:, None] * [1.0, 0.1, 0.2]
    x[:, 1] += 0.3 * x[:, 0] ** 2
    cells = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    if kind == "line3":
        cells = np.column_stack([np.arange(0, n, 2), np.arange(2, n + 1, 2), np.arange(1, n, 2)])
    mesh = pp.Mesh.from_arrays(x, {kind: cells}, node_sets={"root": [0], "tip": [n]})
    body = pp.PointMass(
        "tip", 1.0, position=x[-1] + [0.1, 0.05, -0.08], inertia=(1e-3, 2e-3, 1.5e-3)
    )
    return pp.attach(pp.assemble(mesh, STEEL, sections=section), [body])


ENDS = {"root": pp.Rigid("root"), "tip": pp.Rigid("tip", position=(1.0, 0.45, 0.25))}


@pytest.mark.parametrize("name", SECTIONS)
def test_two_node_beams(name):
    """Exact for rigid φ; for elastic φ the error falls as the
    square of the length of the elements.
    """
    coarse, fine = (errors(bow(SECTIONS[name], n=n), ENDS) for n in (4, 8))
    assert coarse[0].max() < 1e-7
    assert fine[1].max() < 0.06
    assert (fine[1] < coarse[1] / 2.5).all()


@pytest.mark.parametrize("name", ["plain", "offset", "channel"])
def test_three_node_beams(name):
    assert errors(bow(SECTIONS[name], "line3"), ENDS).max() < 1e-7


def test_spiders_that_follow_each_other():
    """Rigid spider on the centre of another, with a body on the last and an interface beside it."""
    box = pp.box_mesh((0.4, 0.05, 0.04), (3, 1, 1), "hex20")
    n = len(box.nodes)
    nodes = np.vstack([box.nodes, [(0.45, 0.02, 0.03), (0.5, -0.1, 0.05)]])
    mesh = pp.Mesh.from_arrays(
        nodes,
        {"hex20": box.blocks["hex20"].connectivity, "line2": [(n, n + 1)]},
        node_sets={"x0": box.node_sets["x0"], "x1": box.node_sets["x1"], "wrist": [n]},
    )
    connections = {
        "hand": pp.RigidSpider("x1", reference="wrist"),
        "finger": pp.RigidSpider("wrist", position=(0.5, 0.1, 0.0)),
        "palm": pp.AveragingSpider("x0", position=(-0.05, 0.03, 0.1)),
    }
    fe = pp.assemble(mesh, STEEL, sections=SECTIONS["plain"], connections=connections)
    bodies = [
        pp.PointMass("finger", 0.5, position=(0.52, 0.15, 0.05)),
        pp.PointMass("palm", 0.3, position=(-0.1, 0.0, 0.0)),
    ]
    ends = {"tip": pp.Rigid("finger", position=(0.55, 0.1, 0.1)), "palm": pp.Rigid("palm")}
    rigid, _ = errors(pp.attach(fe, bodies), ends)
    assert rigid.max() < 1e-7


@pytest.mark.parametrize("kind", ["quad4", "tri3", "quad8", "tri6"])
@pytest.mark.filterwarnings("ignore")
def test_mass_points_of_shells_move_with_the_exponentials_of_nodal_rotations(kind):
    """Second differences of the work of forces on points Σ N_a (x_a + u_a) + exp(θ̃_a) r_a, without
    any stress.
    """
    shells = sheet(kind, 0.02).structures[0]
    random = np.random.default_rng(3)
    size = shells.freedoms.size
    phi = random.standard_normal((size, 2))
    points, masses = shells.mass_points()
    forces = random.standard_normal((*masses.shape, 3, 1))
    K0 = shells.initial_stress_stiffness(np.zeros((size, 1)), phi, forces)[0]
    nodal = points.motion.reshape(*points.motion.shape[:3], -1, 6)
    arms = np.stack([nodal[:, :, 1, :, 5], nodal[:, :, 2, :, 3], nodal[:, :, 0, :, 4]], axis=-1)
    for k in range(2):
        turns = phi[shells.freedoms.six(shells.connectivity), k][:, :, 3:]

        def work(h, turns=turns):
            R = np.array(
                [[scipy.linalg.expm(h * np.cross(np.eye(3), t)) for t in row] for row in turns]
            )
            return -np.einsum("eaij,epaj,epi->", R, arms, forces[..., 0])

        assert (work(1e-3) - 2 * work(0.0) + work(-1e-3)) / 1e-6 == pytest.approx(
            K0[k, k], rel=1e-4
        )


LINKS = {
    "bushing": {"translation": (1e7, 2e7, 5e6), "rotation": (1e3, 2e3, 5e3), "at": 0.3},
    "hinge": {"translation": (1e9,) * 3, "rotation": (10.0, 1e5, 1e5)},
}


@pytest.mark.parametrize("spring", [False, True])
@pytest.mark.parametrize("name", LINKS)
def test_springs_and_bushings(name, spring):
    """Two bent beams with a gap between their ends, and a spring from end to end."""
    x = np.linspace(0, 1, 5)[:, None]
    first = x * [0.5, 0.05, 0.1] + 0.1 * x**2 * [0.0, 0.0, 1.0]
    second = first[-1] + [0.05, 0.02, -0.03] + x * [0.3, 0.3, -0.1]
    nodes = np.vstack([first, second])
    mesh = pp.Mesh.from_arrays(nodes, {"line3": [(0, 2, 1), (2, 4, 3), (5, 7, 6), (7, 9, 8)]},
                               node_sets={"root": [0], "tip": [9], "a": [4], "b": [5]})  # fmt: skip
    turned = scipy.spatial.transform.Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix()
    connections = {"joint": pp.Bushing("a", "b", axes=turned, **LINKS[name])}
    if spring:
        connections["tie rod"] = pp.Spring("root", "tip", 1e6)
    fe = pp.assemble(mesh, STEEL, sections=SECTIONS["plain"], connections=connections)
    assert errors(fe, {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}).max() < 1e-7


@pytest.mark.parametrize("gap", [0.0, 0.02])
@pytest.mark.filterwarnings("ignore::preprocess.PreprocessWarning")
def test_ties_to_faces_at_a_distance(gap):
    """Exact for rigid φ; for elastic φ, too, without a gap: frames that follow deformed faces."""
    cube = pp.box_mesh((0.1, 0.1, 0.1), (2, 2, 2), "hex8")
    n = len(cube.nodes)
    plate, rows = grid(3, 3, lambda u, v: (0.2 * u - 0.05, 0.2 * v - 0.05, -gap), "quad4")
    blocks = {"hex8": cube.blocks["hex8"].connectivity}
    blocks["quad4"] = plate.blocks["quad4"].connectivity + n
    sets = {"foot": cube.node_sets["z0"], "top": cube.node_sets["z1"], "edge": n + rows[0]}
    sets["plate"] = n + np.arange(len(plate.nodes))
    mesh = pp.Mesh.from_arrays(np.vstack([cube.nodes, plate.nodes]), blocks, node_sets=sets)
    weld = {"weld": pp.Tie("foot", "plate", tolerance=0.03)}
    fe = pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.01), connections=weld)
    rigid, elastic = errors(fe, {"edge": pp.Rigid("edge"), "top": pp.Rigid("top")})
    assert rigid.max() < 1e-7
    assert elastic.max() < (0.05 if gap else 1e-7)
