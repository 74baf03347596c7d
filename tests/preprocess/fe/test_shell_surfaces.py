"""Mass, centre and inertia of curved and folded shells against their surfaces, and offsets against
nodes moved to them.

Source of closed forms: area and moments of cylinders, spheres and polygons; integrals of other
surfaces by 16 × 16 Gauss points."""

import warnings

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.shell_schemes import SCHEMES
from tests.draws import drawn
from tests.preprocess.fe.test_shells import KINDS, grid

RHO, THIN = 1000.0, 1e-4
MATERIAL = pp.Isotropic(E=2e11, nu=0.3, rho=RHO)


def shell(mesh, thickness=THIN, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PreprocessWarning)  # of triangles
        return pp.assemble(mesh, MATERIAL, sections=pp.ShellSection(thickness, **options))


def roll(radius, angle, length):
    """Place on a cylinder of an angle."""
    return lambda a, b: (radius * np.cos(angle * a), radius * np.sin(angle * a), length * b)


def tube(count, radius, kind):
    """Closed cylinder of so many elements around."""
    step = 2 if kind in ("quad8", "tri6") else 1
    mesh, rows = grid(count * step, 2, roll(radius, 2 * np.pi, 0.3), kind)
    same = np.arange(len(mesh.nodes))
    last = rows[-1] >= 0
    same[rows[-1][last]] = rows[0][last]
    used, table = np.unique(same[mesh.blocks[kind].connectivity], return_inverse=True)
    return pp.Mesh.from_arrays(
        mesh.nodes[used], {kind: table.reshape(mesh.blocks[kind].connectivity.shape)}
    )


def moments(mesh, kind):
    """∫dA, ∫x dA (3,), ∫x xᵀ dA (3, 3) of the interpolated surface."""
    points, weights = np.polynomial.legendre.leggauss(16)
    r, s = (each.ravel() for each in np.meshgrid(points, points))
    w = np.outer(weights, weights).ravel()
    if SCHEMES[kind].nodes.min() >= 0:  # triangles: by r = (1 + p)/2, s = (1 − r)(1 + q)/2
        w = w * (1 - r) / 8
        r, s = 0.5 * (1 + r), 0.5 * (1 - 0.5 * (1 + r)) * (1 + s)
    table = mesh.blocks[kind].connectivity
    x, total = mesh.nodes[table], np.zeros((4, 4))
    for point, weight in zip(zip(r, s), w):
        N, dN = (each[..., : table.shape[1]] for each in SCHEMES[kind].functions(*point))
        tangents = np.einsum("ia,eac->eic", dN, x)
        dA = weight * np.linalg.norm(np.cross(tangents[:, 0], tangents[:, 1]), axis=1)
        one = np.column_stack([np.ones(len(x)), np.einsum("a,eac->ec", N, x)])
        total += np.einsum("e,ei,ej->ij", dA, one, one)
    return total


def of_mass(fe):
    """The same moments of the model, from its mass points."""
    m, points = fe.m, fe.mass_points.positions
    one = np.column_stack([np.ones(len(points)), points])
    return one.T @ (m @ one)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", drawn(3, 40))
def test_mass_and_inertia_are_those_of_the_surface(kind, seed):
    """Random sheets: strips folded along random lines, rolled, and doubly curved ones."""
    random = np.random.default_rng(seed)
    n = 2 * int(random.integers(2, 5))
    turns = np.cumsum(random.uniform(-0.8, 0.8, n + 1))
    path = np.cumsum(np.column_stack([np.cos(turns), np.sin(turns)]), axis=0) / n
    bulge = (seed % 2) * random.uniform(0, 0.3)

    def place(a, b):
        x, y = path[round(a * n)]
        return x, y + bulge * b * (1 - b) * a, b

    mesh, _ = grid(n, n, place, kind, straight=True)
    expected = RHO * THIN * moments(mesh, kind)
    np.testing.assert_allclose(of_mass(shell(mesh)), expected, atol=2e-4 * expected[0, 0])
    if not bulge and kind in ("quad4", "tri3"):  # flat facets
        np.testing.assert_allclose(of_mass(shell(mesh)), expected, atol=1e-7 * expected[0, 0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [8, 16, 24, 45])
def test_the_mass_of_a_facetted_cylinder_is_that_of_its_polygon(kind, count):
    """ρ h L 2 n R sin(π/n), at all angles between facets; quad4 had cos(π/n) of it up to 50°.
    Curved ones: 2 π R, to n⁻⁴."""
    radius, flat = 0.5, kind in ("quad4", "tri3")
    around = 2 * radius * (count * np.sin(np.pi / count) if flat else np.pi)
    expected = RHO * THIN * 0.3 * around
    assert shell(tube(count, radius, kind)).mass == pytest.approx(
        expected, rel=1e-12 if flat else 3.0 / count**4
    )


def test_a_bend_of_two_elements_has_the_mass_of_its_chords():
    mesh, _ = grid(2, 1, roll(1.0, np.pi / 2, 1.0))
    assert shell(mesh).mass == pytest.approx(RHO * THIN * 4 * np.sin(np.pi / 8), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mass_of_a_sphere_is_that_of_its_area(kind):
    """The part of a sphere within 60° of the equator: 2 π R² 2 sin 60°, by elements of 7.5°."""

    def place(a, b):
        turn, height = 2 * np.pi * a, np.radians(60) * (2 * b - 1)
        return np.cos(height) * np.cos(turn), np.cos(height) * np.sin(turn), np.sin(height)

    mesh, _ = grid(48, 16, place, kind)
    # chords: about 0.13 of the squared angle in both directions
    within = 2e-4 if kind in ("quad8", "tri6") else 6e-3
    assert shell(mesh).mass == pytest.approx(
        RHO * THIN * 4 * np.pi * np.sin(np.radians(60)), rel=within
    )


@pytest.mark.parametrize("kind", KINDS)
def test_added_mass_is_that_of_the_area(kind):
    mesh, _ = grid(12, 2, roll(0.5, 2.0, 0.3), kind)
    plain, loaded = shell(mesh), shell(mesh, added_mass=0.7)
    assert loaded.mass - plain.mass == pytest.approx(0.7 * plain.mass / (RHO * THIN), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0.05, -0.1])
def test_an_offset_on_a_cylinder_is_its_other_radius(kind, offset):
    """Mass and inertia of a tube with an offset are those of one with nodes on its middle surface:
    of tri3 the mass was −5 % for offset/R = 5 %. The stiffness of tri3 is that one too, by rigid
    arms from the nodes."""
    on_nodes, middle = tube(24, 1.0, kind), tube(24, 1.0 + offset, kind)
    one, two = shell(on_nodes, 0.01, offset=offset), shell(middle, 0.01)
    np.testing.assert_allclose(
        of_mass(one), of_mass(two), atol=1e-9 if kind in ("quad4", "tri3") else 1e-3
    )
    if kind == "tri3":
        np.testing.assert_allclose(
            np.stack(carried(one, two)), 0.0, atol=1e-9 * np.abs(two.K).max()
        )


def carried(one, two):
    """K and M of one model less those of another one that rigid arms carry."""
    T = np.eye(one.freedoms.size)
    for six, arm in zip(one.freedoms.six(np.arange(len(one.nodes))), two.nodes - one.nodes):
        T[np.ix_(six[:3], six[3:])] = -skew(arm)
    return [a.toarray() - T.T @ b.toarray() @ T for a, b in ((one.K, two.K), (one.M, two.M))]


@pytest.mark.parametrize("fold", [0.0, 1.2, 1.5])
def test_a_folded_sheet_of_triangles_has_each_half_at_its_own_offset(fold):
    """Also: flat ones are those of nodes moved to the middle surface, by rigid arms."""

    def place(a, b):
        over = max(b - 0.5, 0.0)
        return a, min(b, 0.5) + over * np.cos(fold), over * np.sin(fold)

    mesh, _ = grid(3, 4, place, "tri3")
    fe = shell(mesh, 0.02, offset=0.05)
    assert fe.mass == pytest.approx(RHO * 0.02, rel=1e-9)
    lower = np.array([0.5, 0.25, 0.05])
    upper = np.array(
        [
            0.5,
            0.5 + 0.25 * np.cos(fold) - 0.05 * np.sin(fold),
            0.25 * np.sin(fold) + 0.05 * np.cos(fold),
        ]
    )
    np.testing.assert_allclose(fe.centre_of_mass, (lower + upper) / 2, atol=1e-9)
    if not fold:
        moved = pp.Mesh.from_arrays(
            mesh.nodes + [0, 0, 0.05], {"tri3": mesh.blocks["tri3"].connectivity}
        )
        other = shell(moved, 0.02)
        np.testing.assert_allclose(
            np.stack(carried(fe, other)), 0.0, atol=1e-9 * np.abs(other.K).max()
        )


@pytest.mark.parametrize("kind", KINDS)
def test_stress_of_shells_with_an_offset_is_that_of_nodes_moved_to_it(kind):
    """Modes of a clamped plate: frequencies and stress on both faces."""
    bodies = []
    for offset, height in ((0.03, 0.0), (0.0, 0.03)):
        mesh, _ = grid(8, 2, lambda a, b, z=height: (0.4 * a, 0.1 * b, z), kind)
        ends = {"root": pp.Rigid("a0")}
        fe = shell(mesh, 0.01, offset=offset)
        bodies.append(
            pp.reduce(
                fe,
                interfaces=ends,
                reference="root",
                method=pp.CraigBampton(modes=4),
                stiffening=False,
            )
        )
    one, two = bodies
    np.testing.assert_allclose(one.modes.frequency, two.modes.frequency, rtol=1e-3)
    np.testing.assert_allclose(
        one.surface.nodes[-8:, 2], two.surface.nodes[-8:, 2] + 0.03, atol=1e-12
    )
    for k in range(3):
        found, expected = (np.abs(each.stress.modes[..., k]) for each in bodies)
        np.testing.assert_allclose(found, expected, atol=2e-2 * expected.max())


@pytest.mark.parametrize("seed", drawn(2, 20))
def test_geometric_stiffness_of_offset_triangles_does_not_change_with_rotations(seed):
    """A rotation of the whole sheet changes no strain, to second order: θᵀ K0 θ = −Σ f·(θ × (θ ×
    x)) for the nodal forces f = K u of its stresses, and its translations are no part of K0."""
    random = np.random.default_rng(seed)
    bulge, offset = random.uniform(0, 0.4), random.uniform(-0.05, 0.05)
    mesh, _ = grid(3, 4, lambda a, b: (a, b, bulge * a * b), "tri3")
    fe = shell(mesh, 0.02, offset=offset)
    u = 1e-3 * random.standard_normal((fe.freedoms.size, 1))
    K0 = fe.structures[0].initial_stress_stiffness(
        u, fe.freedoms.rigid_motion(mesh.nodes).reshape(-1, 6)
    )[0]
    forces = (fe.K @ u)[fe.freedoms.six(np.arange(len(mesh.nodes)))[:, :3], 0]
    product = np.einsum("ai,aj->ij", forces, mesh.nodes)
    expected = np.zeros((6, 6))
    expected[3:, 3:] = np.trace(product) * np.eye(3) - 0.5 * (product + product.T)
    np.testing.assert_allclose(K0, expected, atol=1e-11 * np.abs(expected).max())


def test_a_triangle_whose_offset_surface_is_folded_is_named():
    with pytest.raises(
        InputError,
        match=r"tri3 element .* curved more than its thickness and offset allow; remesh there",
    ):
        shell(tube(8, 1.0, "tri3"), 0.01, offset=-1.2)


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_shells_of_all_types_and_sections_are_on_one_surface(offset):
    """A tube of quad4 and pairs of tri3 in turn, of two sections: mass, inertia of the tube of
    quad4 of one section."""
    count = 12
    plain = tube(count, 1.0, "quad4")
    cells = plain.blocks["quad4"].connectivity
    split = np.arange(len(cells)) % 3 == 0
    triangles = np.vstack([cells[split][:, [0, 1, 2]], cells[split][:, [0, 2, 3]]])
    kept = int((~split).sum())
    sets = {
        "a": np.arange(1, kept // 2 + 1),
        "b": np.arange(kept // 2 + 1, kept + len(triangles) + 1),
    }
    mixed = pp.Mesh.from_arrays(
        plain.nodes, {"quad4": cells[~split], "tri3": triangles}, element_sets=sets
    )
    sections = {name: pp.ShellSection(0.01, offset=offset) for name in sets}
    fe = pp.assemble(mixed, MATERIAL, sections=sections)
    # second moments across the thickness are along directors, which are those of facets in tri3
    thick = 1e-2 * 0.01**2
    np.testing.assert_allclose(
        of_mass(fe), of_mass(shell(plain, 0.01, offset=offset)), atol=fe.mass * thick
    )
    polygon = 2 * count * np.sin(np.pi / count) * (1.0 + offset)
    assert fe.mass == pytest.approx(RHO * 0.01 * 0.3 * polygon, rel=1e-12)


def test_a_skin_stays_curved_where_a_stiffener_meets_it():
    """A tube with a ring of plates across it: the skin has the offset of the tube without; normals
    of skin and ring are apart."""
    count, offset = 16, 0.05
    skin = tube(count, 1.0, "quad4")
    height = skin.nodes[:, 2]
    middle = np.flatnonzero(np.abs(height - np.median(height)) < 1e-9)
    middle = middle[np.argsort(np.arctan2(*skin.nodes[middle, 1::-1].T))]
    inner = len(skin.nodes) + np.arange(len(middle))
    nodes = np.vstack([skin.nodes, skin.nodes[middle] * [0.7, 0.7, 1.0]])
    ring = np.column_stack([middle, np.roll(middle, -1), np.roll(inner, -1), inner])
    cells = np.vstack([skin.blocks["quad4"].connectivity, ring])
    sets = {
        "skin": np.arange(1, len(cells) - len(ring) + 1),
        "ring": np.arange(len(cells) - len(ring) + 1, len(cells) + 1),
    }
    mesh = pp.Mesh.from_arrays(nodes, {"quad4": cells}, element_sets=sets)
    sections = {"skin": pp.ShellSection(0.01, offset=offset), "ring": pp.ShellSection(0.01)}
    one = {name: pp.ShellSection(0.01) for name in sets}
    stiff, plain = (pp.assemble(mesh, MATERIAL, sections=each) for each in (sections, one))
    alone = [shell(skin, 0.01, offset=each) for each in (offset, 0.0)]
    assert stiff.mass - plain.mass == pytest.approx(alone[0].mass - alone[1].mass, rel=1e-9)


def reversed_elements(mesh, kind, rows):
    """The mesh with the node order of some elements reversed."""
    order = {
        "tri3": [0, 2, 1],
        "quad4": [0, 3, 2, 1],
        "tri6": [0, 2, 1, 5, 4, 3],
        "quad8": [0, 3, 2, 1, 7, 6, 5, 4],
    }
    table = mesh.blocks[kind].connectivity.copy()
    table[rows] = table[rows][:, order[kind]]
    return pp.Mesh.from_arrays(mesh.nodes, {kind: table})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", drawn(2, 20))
def test_the_node_order_of_shells_without_offset_does_not_matter(kind, seed):
    """Curved and folded sheets with random elements reversed: stiffness and mass are the same; the
    frequencies of a curved sheet of quad4 changed by 5 %."""
    random = np.random.default_rng(seed)
    fold = random.uniform(0, 3.0)

    def place(a, b):
        over = max(b - 0.5, 0.0)
        height = 0.3 * np.sin(2.5 * a) + over * np.sin(fold)
        return a, min(b, 0.5) + over * np.cos(fold), height

    mesh, _ = grid(8, 8, place, kind)
    count = len(mesh.blocks[kind].ids)
    other = reversed_elements(mesh, kind, np.flatnonzero(random.uniform(size=count) < 0.4))
    one, two = shell(mesh, 0.01), shell(other, 0.01)
    np.testing.assert_allclose(of_mass(one), of_mass(two), atol=1e-9 * one.mass)
    np.testing.assert_allclose(one.K.toarray(), two.K.toarray(), atol=1e-6 * np.abs(one.K).max())
