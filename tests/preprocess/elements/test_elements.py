"""Elements: exactness of quadrature, orientation of faces, patch test, rigid motions, mass."""

import itertools
import math

import numpy as np
import pytest
import scipy.linalg

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.elements.formulation import Formulation
from preprocess.elements.quadrature import (
    gauss_hexahedron,
    gauss_wedge,
    tetrahedron_1,
    tetrahedron_4,
    tetrahedron_15,
    triangle_1,
    triangle_3,
    triangle_6,
)
from preprocess.fe.assembly import assemble
from preprocess.fe.material import VOIGT, Isotropic, Orthotropic, elasticity_tensor
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.mesh.structured import box_mesh

pytestmark = pytest.mark.filterwarnings("ignore:.*far too stiff in bending")
SIZE = (0.3, 0.2, 0.1)
WOOD = Orthotropic(
    E=(12e9, 0.9e9, 0.6e9),
    nu=(0.37, 0.45, 0.42),
    G=(0.7e9, 0.65e9, 0.06e9),
    rho=500.0,
    axes=[[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]],
)


def distorted(name, *, curved=False):
    """A box whose inner nodes are moved: straight-sided, or (curved) by a smooth map that bends
    edges and faces.
    """

    def motion(x):
        inside = np.prod(np.sin(np.pi * x / SIZE), axis=1)[:, None]
        return x + inside * np.array([0.02, -0.015, 0.01])

    mesh = box_mesh(SIZE, (2, 2, 2), name)
    if curved:
        return mesh.moved(
            lambda x: (
                motion(x) + 0.3 * np.column_stack([x[:, 1] ** 2, x[:, 2] ** 2, x[:, 0] * x[:, 1]])
            )
        )
    corners = mesh.moved(motion)
    return corners.moved(lambda x: straightened(corners, x))


def straightened(mesh, x):
    """Every node of each element placed where the element's
    corners, interpolated linearly, put it.
    """
    (name, block), *_ = mesh.blocks.items()
    element = ELEMENTS[name]
    linear = ELEMENTS[{4: "tet4", 5: "pyramid5", 6: "wedge6", 8: "hex8"}[element.corners]]
    x = x.copy()
    x[block.connectivity] = np.einsum(
        "na,eai->eni",
        linear.shape_functions(element.nodes),
        x[block.connectivity[:, : element.corners]],
    )
    return x


@pytest.mark.parametrize(
    "rule, degree", [(tetrahedron_1(), 1), (tetrahedron_4(), 2), (tetrahedron_15(), 5)]
)
def test_tetrahedron_rules_integrate_monomials(rule, degree):
    for powers in itertools.product(range(degree + 1), repeat=3):
        if sum(powers) <= degree:
            exact = math.prod(map(math.factorial, powers)) / math.factorial(sum(powers) + 3)
            assert rule.weights @ np.prod(rule.points ** np.array(powers), axis=1) == pytest.approx(
                exact, abs=1e-16
            )


@pytest.mark.parametrize(
    "triangle, degree", [(triangle_1(), 1), (triangle_3(), 2), (triangle_6(), 4)]
)
def test_wedge_rules_integrate_monomials(triangle, degree):
    rule = gauss_wedge(triangle, 2)
    for i, j, k in itertools.product(range(degree + 1), range(degree + 1), range(4)):
        if i + j <= degree:
            exact = (
                math.factorial(i)
                * math.factorial(j)
                / math.factorial(i + j + 2)
                * (0.0 if k % 2 else 2 / (k + 1))
            )
            assert rule.weights @ np.prod(
                rule.points ** np.array([i, j, k]), axis=1
            ) == pytest.approx(exact, abs=1e-15)


@pytest.mark.parametrize("n", [2, 3])
def test_hexahedron_rules_integrate_monomials(n):
    rule = gauss_hexahedron(n)
    for powers in itertools.product(range(2 * n), repeat=3):
        exact = math.prod(0.0 if p % 2 else 2 / (p + 1) for p in powers)
        assert rule.weights @ np.prod(rule.points ** np.array(powers), axis=1) == pytest.approx(
            exact, abs=1e-14
        )


@pytest.mark.parametrize("name", ELEMENTS)
def test_gradients_are_derivatives_of_shape_functions(name):
    element = ELEMENTS[name]
    points = np.random.default_rng(1).uniform(0.05, 0.3, (4, 3))
    h = 1e-5
    for axis in range(3):
        step = h * np.eye(3)[axis]
        numeric = (
            element.shape_functions(points + step) - element.shape_functions(points - step)
        ) / (2 * h)
        np.testing.assert_allclose(element.gradients(points)[..., axis], numeric, atol=1e-8)


@pytest.mark.parametrize("name", ELEMENTS)
def test_faces_look_outwards_and_name_their_own_middles(name):
    element = ELEMENTS[name]
    for table, face in ((shape, row) for shape in element.faces for row in shape.nodes):
        x = element.nodes[face]
        corners = x[: table.corners]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        assert normal @ (corners.mean(axis=0) - element.centre) > 0
        n_middles = min(len(face) - table.corners, table.corners)
        middles = (corners + np.roll(corners, -1, axis=0)) / 2
        np.testing.assert_allclose(x[table.corners :][:n_middles], middles[:n_middles], atol=1e-15)
        area = sum(np.cross(x[b] - x[a], x[c] - x[a]) / 2 for a, b, c in table.triangles)
        np.testing.assert_allclose(area, normal / (2 if table.corners == 3 else 1), atol=1e-15)


@pytest.mark.parametrize(
    "material", [Isotropic(E=70e9, nu=0.33, rho=2700.0), WOOD], ids=["isotropic", "orthotropic"]
)
@pytest.mark.parametrize("name", ELEMENTS)
def test_patch_of_constant_strain(name, material):
    """A linear displacement field has no forces at inner nodes
    and an energy of ½ ε·C·ε per volume.
    """
    mesh = distorted(name)
    fe = assemble(mesh, material)
    gradient = np.array([[1.0, 0.4, -0.2], [0.1, -0.7, 0.3], [0.5, 0.2, 0.6]]) * 1e-3
    u = (mesh.nodes @ gradient.T).ravel()
    force = (fe.K @ u).reshape(-1, 3)
    outer = np.unique(
        np.concatenate([mesh.node_set(s) for s in ("x0", "x1", "y0", "y1", "z0", "z1")])
    )
    inner = np.setdiff1d(np.arange(len(mesh.nodes)), outer)
    assert len(inner) > 0
    assert np.abs(force[inner]).max() < 1e-12 * np.abs(force[outer]).max()
    strain = (gradient + gradient.T) / 2
    engineering = np.array([strain[i, j] * (1 if i == j else 2) for i, j in VOIGT])
    energy = 0.5 * engineering @ material.elasticity @ engineering * math.prod(SIZE)
    assert 0.5 * u @ fe.K @ u == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("name", ELEMENTS)
def test_rigid_motions_meet_no_force_and_mass_is_exact(name):
    mesh = distorted(name, curved=ELEMENTS[name].nodes.shape[0] > 8)
    fe = assemble(mesh, WOOD)
    R = rigid_motion(mesh.nodes - mesh.nodes.mean(axis=0)).reshape(-1, 6)
    assert np.abs(fe.K @ R).max() < 1e-13 * np.abs(fe.K.data).max()
    box = assemble(box_mesh(SIZE, (2, 1, 2), name), WOOD)
    assert box.mass == pytest.approx(500.0 * math.prod(SIZE), rel=1e-13)
    x = box.nodes
    second = x.T @ (box.m @ x)
    exact = np.outer(SIZE, SIZE) / 4 + np.diag(np.square(SIZE)) / 12
    np.testing.assert_allclose(second, 500.0 * math.prod(SIZE) * exact, rtol=1e-12)


@pytest.mark.parametrize(
    "formulation", [Formulation(), Formulation(hex8="full")], ids=["default", "full"]
)
@pytest.mark.parametrize("name", ELEMENTS)
def test_one_element_has_exactly_six_motions_without_strain(name, formulation):
    element = ELEMENTS[name]
    table = np.arange(len(element.nodes))[None]
    straight = element.nodes + 0.2 * np.sin(3.0 * element.nodes[:, [1, 2, 0]])
    fe = assemble(Mesh.from_arrays(straight, {name: table}), WOOD, formulation=formulation)
    values = np.linalg.eigvalsh(fe.K.toarray())
    assert np.abs(values[:6]).max() < 1e-12 * values[-1]
    assert values[6] > 1e-6 * values[-1]


@pytest.mark.parametrize("names", [("hex8", "wedge6"), ("hex20", "wedge15")])
def test_patch_of_hexahedra_and_wedges(names):
    """Adjacent ones share quadrilateral faces; a linear field has no inner forces."""
    left, right = (
        box_mesh((1, 1, 1), (2, 2, 2), names[0]),
        box_mesh((1, 1, 1), (2, 2, 2), names[1], origin=(1.0, 0, 0)),
    )
    together = np.round(np.concatenate([left.nodes, right.nodes]), 12)
    nodes, place = np.unique(together, axis=0, return_inverse=True)
    tables = [
        left.blocks[names[0]].connectivity,
        len(left.nodes) + right.blocks[names[1]].connectivity,
    ]
    mesh = Mesh.from_arrays(nodes, {name: place[table] for name, table in zip(names, tables)})
    skewed = mesh.moved(lambda x: x @ np.array([[1.0, 0.2, 0], [0, 1, 0.1], [0.3, 0, 1]]))
    fe = assemble(skewed, WOOD)
    force = (
        fe.K
        @ (skewed.nodes @ np.array([[1.0, 0.4, -0.2], [0.1, -0.7, 0.3], [0.5, 0.2, 0.6]])).ravel()
    ).reshape(-1, 3)
    inner = (nodes > 0).all(axis=1) & (nodes < [2, 1, 1]).all(axis=1)
    assert inner.any()
    assert np.abs(force[inner]).max() < 1e-12 * np.abs(force).max()
    np.testing.assert_array_equal(np.unique(mesh.surface_triangles()), np.flatnonzero(~inner))


def graded(kinds, seed=2):
    """Hexahedra, then a cell of five pyramids and two tetrahedra about its centre, then tetrahedra,
    with 2 × 2 such rows; all straight-sided, the inner corners moved; names of the elements of one
    order by that of their corners."""
    corners = [
        box_mesh((1, 2, 2), (1, 2, 2), "hex8"),
        box_mesh((1, 2, 2), (1, 2, 2), "pyramid5", origin=(1, 0, 0)),
        box_mesh((1, 2, 2), (1, 2, 2), "tet4", origin=(2, 0, 0)),
    ]
    hexahedra, pyramids, tetrahedra = (
        mesh.nodes[block.connectivity] for mesh in corners for block in mesh.blocks.values()
    )
    facing = (pyramids[:, :4, 0] > 1.99).all(axis=1)
    four = pyramids[facing]
    low = four[:, :4].sum(axis=2).argmin(axis=1)
    # split between low and high as the box's
    base = np.stack([four[np.arange(len(four)), (low + k) % 4] for k in range(4)])
    split = [
        np.stack([base[a], base[b], base[c], four[:, 4]], axis=1)
        for a, b, c in ((0, 1, 2), (0, 2, 3))
    ]
    parts = {8: hexahedra, 5: pyramids[~facing], 4: np.concatenate([*split, tetrahedra])}
    rng = np.random.default_rng(seed)
    shift = {}

    def moved(x):
        inner = (x > 0.01).all(axis=-1) & (x < np.array([2.99, 1.99, 1.99])).all(axis=-1)
        return np.array(
            [
                place + inside * shift.setdefault(tuple(place), rng.uniform(-0.1, 0.1, 3))
                for place, inside in zip(x.reshape(-1, 3), inner.ravel())
            ]
        ).reshape(x.shape)

    linear, points = {4: "tet4", 5: "pyramid5", 8: "hex8"}, {}
    tables, nodes = {}, []
    for count, x in parts.items():
        element = ELEMENTS[kinds[count]]
        places = ELEMENTS[linear[count]].shape_functions(element.nodes) @ moved(x)
        keys = [tuple(each) for each in np.round(places.reshape(-1, 3), 9)]
        for key in keys:
            if key not in points:
                points[key] = len(nodes)
                nodes.append(key)
        tables[kinds[count]] = np.array([points[key] for key in keys]).reshape(places.shape[:2])
    return Mesh.from_arrays(np.array(nodes), tables)


@pytest.mark.parametrize(
    "kinds",
    [{8: "hex8", 5: "pyramid5", 4: "tet4"}, {8: "hex20", 5: "pyramid13", 4: "tet10"}],
    ids=["1", "2"],
)
def test_pyramids_join_hexahedra_and_tetrahedra(kinds):
    """One mesh without gaps: constant strain, six motions without strain, volume; a quadratic field
    has its energy of ∫ε·C·ε.
    """
    mesh = graded(kinds)
    fe = assemble(mesh, WOOD)
    outer = np.zeros(len(mesh.nodes), bool)
    outer[np.unique(mesh.surface_triangles())] = True
    on_box = (np.isclose(mesh.nodes, 0) | np.isclose(mesh.nodes, [3, 2, 2])).any(axis=1)
    np.testing.assert_array_equal(outer, on_box)
    gradient = np.array([[1.0, 0.4, -0.2], [0.1, -0.7, 0.3], [0.5, 0.2, 0.6]]) * 1e-3
    force = (fe.K @ (mesh.nodes @ gradient.T).ravel()).reshape(-1, 3)
    assert np.abs(force[~outer]).max() < 1e-11 * np.abs(force).max()
    assert fe.mass == pytest.approx(12 * 500.0, rel=1e-12)
    values = np.linalg.eigvalsh(fe.K.toarray())
    assert values[5] < 1e-10 * values[-1]
    assert values[6] > 1e-6 * values[-1]
    if kinds[5] == "pyramid13":  # u_x = x²/2 in straight-sided elements: ε_xx = x
        u = np.zeros((len(mesh.nodes), 3))
        u[:, 0] = 0.5 * mesh.nodes[:, 0] ** 2
        assert u.ravel() @ fe.K @ u.ravel() == pytest.approx(elastic(WOOD) * 4 * 3**3 / 3, rel=1e-3)


def elastic(material):
    """C_xxxx."""
    return material.elasticity[0, 0]


def bent_bar(formulation):
    """Energy of a bar of hex8 in the displacements of pure bending with curvature κ, over E κ² ∫y²
    dV / 2 (Saint-Venant).
    """
    steel, curvature = Isotropic(E=210e9, nu=0.3, rho=7850.0), 0.01
    mesh = box_mesh((1.0, 0.2, 0.1), (4, 1, 1), "hex8", origin=(0.0, -0.1, -0.05))
    x, y, z = mesh.nodes.T
    u = curvature * np.column_stack([-x * y, (x**2 + 0.3 * (y**2 - z**2)) / 2, 0.3 * y * z]).ravel()
    return (
        u
        @ assemble(mesh, steel, formulation=formulation).K
        @ u
        / (210e9 * curvature**2 * 0.1 * 0.2**3 / 12)
    )


def test_incompatible_modes_avoid_shear_locking():
    """Regular hex8 with incompatible modes represent pure bending exactly, one across the height;
    without them they are too stiff."""
    assert bent_bar(Formulation()) == pytest.approx(1.0, rel=1e-12)
    assert bent_bar(Formulation(hex8="full")) > 1.5
    with pytest.raises(
        InputError,
        match=r"formulation\.hex8: is 'reduced'; give one of 'incompatible modes', 'full'",
    ):
        Formulation(hex8="reduced")


def test_reduced_hexahedra_are_those_of_calculix():
    """hex20 with eight points for K and m: the seven printed digits of C3D20R in CalculiX's own
    test beamf, a clamped bar of 2 × 2 × 8 elements; six rigid motions, and six more without energy
    of a single element, none of eight."""
    steel, reduced = (
        Isotropic(E=210e9, nu=0.3, rho=7800.0),
        Formulation(hex20="reduced", mass_rule="stiffness"),
    )
    mesh = box_mesh((1e-3, 1.5e-3, 8e-3), (2, 2, 8), "hex20")
    fe = assemble(mesh, steel, formulation=reduced)
    free = np.setdiff1d(
        np.arange(3 * len(mesh.nodes)), 3 * mesh.node_sets["z0"][:, None] + np.arange(3)
    )
    K, M = (A[free][:, free].toarray() for A in (fe.K, fe.M))
    # of a singular M
    periods2 = scipy.linalg.eigh(
        M, K, eigvals_only=True, subset_by_index=(len(K) - 10, len(K) - 1)
    )[::-1]
    found = 1 / np.sqrt(periods2) / (2 * np.pi)
    printed = [
        13096.03,
        19319.52,
        76839.71,
        86955.23,
        105963.6,
        162998.5,
        197645.0,
        256161.0,
        261139.5,
        351862.3,
    ]
    np.testing.assert_allclose(found, printed, rtol=4e-7)
    for count, free_of_energy in (((1, 1, 1), 12), ((2, 2, 2), 6)):
        values = np.linalg.eigvalsh(
            assemble(
                box_mesh((1.0, 0.2, 0.1), count, "hex20"), WOOD, formulation=reduced
            ).K.toarray()
        )
        assert (values < 1e-9 * values[-1]).sum() == free_of_energy
    with pytest.raises(
        InputError, match=r"formulation\.hex20: is 'no'; give one of 'full', 'reduced'"
    ):
        Formulation(hex20="no")


def test_mass_at_the_points_of_the_stiffness():
    """Four points are exact for the linear fields that rigid motions are, not for the quadratic
    shape functions.
    """
    mesh = distorted("tet10")
    own, four = (
        assemble(mesh, WOOD),
        assemble(mesh, WOOD, formulation=Formulation(mass_rule="stiffness")),
    )
    assert abs(own.K - four.K).max() == 0.0
    assert abs(own.m - four.m).max() > 0.1 * abs(own.m).max()
    linear = np.column_stack([np.ones(len(mesh.nodes)), mesh.nodes])
    np.testing.assert_allclose(
        linear.T @ (four.m @ linear), linear.T @ (own.m @ linear), rtol=1e-12
    )
    assert "mass_rule='stiffness'" in four.elements


@pytest.mark.parametrize("name", ELEMENTS)
def test_lumped_mass_is_positive_and_complete(name):
    mesh = distorted(name, curved=ELEMENTS[name].nodes.shape[0] > 8)
    consistent, lumped = assemble(mesh, WOOD), assemble(mesh, WOOD, mass="lumped")
    assert lumped.m.nnz == len(mesh.nodes)
    assert lumped.m.data.min() > 0
    assert lumped.mass == pytest.approx(consistent.mass, rel=1e-12)


def test_isotropic_is_a_case_of_orthotropic_in_any_axes():
    E, nu = 70e9, 0.33
    G = E / (2 * (1 + nu))
    same = Orthotropic(E=(E,) * 3, nu=(nu,) * 3, G=(G,) * 3, rho=1.0e3, axes=WOOD.axes)
    np.testing.assert_allclose(
        same.elasticity, Isotropic(E=E, nu=nu, rho=1.0e3).elasticity, atol=1e-12 * E
    )


def test_orthotropic_constants_are_what_a_tension_test_measures():
    """Under σ_xx alone the strains are 1/E_x along, -nu_xy/E_x and -nu_xz/E_x across; each shear
    modulus in its plane.
    """
    own = Orthotropic(E=WOOD.E, nu=WOOD.nu, G=WOOD.G, rho=WOOD.rho)
    strain = np.linalg.solve(own.elasticity, [1.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(strain, [1 / 12e9, -0.37 / 12e9, -0.45 / 12e9, 0, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(own.elasticity)[3:], [0.06e9, 0.65e9, 0.7e9])
    turned = elasticity_tensor(WOOD.elasticity)
    axis = np.asarray(WOOD.axes)[:, 0]
    along = np.einsum("i,j,k,l,ijkl", axis, axis, axis, axis, turned)
    assert along == pytest.approx(own.elasticity[0, 0], rel=1e-12)
