"""Elements: exactness of quadrature, orientation of faces, patch test, rigid motions, mass."""

import itertools
import math

import numpy as np
import pytest

from preprocess.assembly import assemble
from preprocess.elements import ELEMENTS
from preprocess.elements.quadrature import gauss_hexahedron, tetrahedron_1, tetrahedron_4, tetrahedron_15
from preprocess.fe_model import rigid_motions
from preprocess.material import VOIGT, Isotropic, Orthotropic, elasticity_tensor
from preprocess.structured import box_mesh

SIZE = (0.3, 0.2, 0.1)
WOOD = Orthotropic(
    E=(12e9, 0.9e9, 0.6e9),
    nu=(0.37, 0.45, 0.42),
    G=(0.7e9, 0.65e9, 0.06e9),
    rho=500.0,
    axes=[[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]],
)


def distorted(name, *, curved=False):
    """A box whose inner nodes are moved: straight-sided, or (curved) by a smooth map that bends edges and faces."""

    def motion(x):
        inside = np.prod(np.sin(np.pi * x / SIZE), axis=1)[:, None]
        return x + inside * np.array([0.02, -0.015, 0.01])

    mesh = box_mesh(SIZE, (2, 2, 2), name)
    if curved:
        return mesh.moved(lambda x: motion(x) + 0.3 * np.column_stack([x[:, 1] ** 2, x[:, 2] ** 2, x[:, 0] * x[:, 1]]))
    corners = mesh.moved(motion)
    return corners.moved(lambda x: straightened(corners, x))


def straightened(mesh, x):
    """Every node of each element placed where the element's corners, interpolated linearly, put it."""
    (name, block), *_ = mesh.blocks.items()
    element = ELEMENTS[name]
    linear = ELEMENTS["tet4" if element.corners == 4 else "hex8"]
    x = x.copy()
    x[block.connectivity] = np.einsum(
        "na,eai->eni", linear.shape_functions(element.nodes), x[block.connectivity[:, : element.corners]]
    )
    return x


@pytest.mark.parametrize("rule, degree", [(tetrahedron_1(), 1), (tetrahedron_4(), 2), (tetrahedron_15(), 5)])
def test_tetrahedron_rules_integrate_monomials(rule, degree):
    for powers in itertools.product(range(degree + 1), repeat=3):
        if sum(powers) <= degree:
            exact = math.prod(map(math.factorial, powers)) / math.factorial(sum(powers) + 3)
            assert rule.weights @ np.prod(rule.points ** np.array(powers), axis=1) == pytest.approx(exact, abs=1e-16)


@pytest.mark.parametrize("n", [2, 3])
def test_hexahedron_rules_integrate_monomials(n):
    rule = gauss_hexahedron(n)
    for powers in itertools.product(range(2 * n), repeat=3):
        exact = math.prod(0.0 if p % 2 else 2 / (p + 1) for p in powers)
        assert rule.weights @ np.prod(rule.points ** np.array(powers), axis=1) == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize("name", ELEMENTS)
def test_gradients_are_derivatives_of_shape_functions(name):
    element = ELEMENTS[name]
    points = np.random.default_rng(1).uniform(0.05, 0.3, (4, 3))
    h = 1e-5
    for axis in range(3):
        step = h * np.eye(3)[axis]
        numeric = (element.shape_functions(points + step) - element.shape_functions(points - step)) / (2 * h)
        np.testing.assert_allclose(element.gradients(points)[..., axis], numeric, atol=1e-8)


@pytest.mark.parametrize("name", ELEMENTS)
def test_faces_look_outwards_and_name_their_own_middles(name):
    element = ELEMENTS[name]
    for face in element.faces:
        x = element.nodes[face]
        corners = x[: element.face_corners]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        assert normal @ (corners.mean(axis=0) - element.nodes[: element.corners].mean(axis=0)) > 0
        n_middles = min(len(face) - element.face_corners, element.face_corners)
        middles = (corners + np.roll(corners, -1, axis=0)) / 2
        np.testing.assert_allclose(x[element.face_corners :][:n_middles], middles[:n_middles], atol=1e-15)
        area = sum(np.cross(x[b] - x[a], x[c] - x[a]) / 2 for a, b, c in element.triangles)
        np.testing.assert_allclose(area, normal / (2 if element.face_corners == 3 else 1), atol=1e-15)


@pytest.mark.parametrize("material", [Isotropic(E=70e9, nu=0.33, rho=2700.0), WOOD], ids=["isotropic", "orthotropic"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_patch_of_constant_strain(name, material):
    """A linear displacement field meets no force at inner nodes and stores ½ ε·C·ε of energy per volume."""
    mesh = distorted(name)
    fe = assemble(mesh, material)
    gradient = np.array([[1.0, 0.4, -0.2], [0.1, -0.7, 0.3], [0.5, 0.2, 0.6]]) * 1e-3
    u = (mesh.nodes @ gradient.T).ravel()
    force = (fe.K @ u).reshape(-1, 3)
    outer = np.unique(np.concatenate([mesh.node_set(s) for s in ("x0", "x1", "y0", "y1", "z0", "z1")]))
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
    R = rigid_motions(mesh.nodes - mesh.nodes.mean(axis=0))
    assert np.abs(fe.K @ R).max() < 1e-13 * np.abs(fe.K.data).max()
    box = assemble(box_mesh(SIZE, (2, 1, 2), name), WOOD)
    assert box.mass == pytest.approx(500.0 * math.prod(SIZE), rel=1e-13)
    x = box.nodes
    second = x.T @ (box.m @ x)
    exact = np.outer(SIZE, SIZE) / 4 + np.diag(np.square(SIZE)) / 12
    np.testing.assert_allclose(second, 500.0 * math.prod(SIZE) * exact, rtol=1e-12)


@pytest.mark.parametrize("name", ELEMENTS)
def test_lumped_mass_is_positive_and_complete(name):
    mesh = distorted(name, curved=ELEMENTS[name].nodes.shape[0] > 8)
    consistent, lumped = assemble(mesh, WOOD), assemble(mesh, WOOD, lumped=True)
    assert lumped.m.nnz == len(mesh.nodes)
    assert lumped.m.data.min() > 0
    assert lumped.mass == pytest.approx(consistent.mass, rel=1e-12)


def test_isotropic_is_a_case_of_orthotropic_in_any_axes():
    E, nu = 70e9, 0.33
    G = E / (2 * (1 + nu))
    same = Orthotropic(E=(E,) * 3, nu=(nu,) * 3, G=(G,) * 3, rho=1.0e3, axes=WOOD.axes)
    np.testing.assert_allclose(same.elasticity, Isotropic(E=E, nu=nu, rho=1.0e3).elasticity, atol=1e-12 * E)


def test_orthotropic_constants_are_what_a_tension_test_measures():
    """Under σ_xx alone the strains are 1/E_x along, -nu_xy/E_x and -nu_xz/E_x across; each shear modulus in its plane."""
    own = Orthotropic(E=WOOD.E, nu=WOOD.nu, G=WOOD.G, rho=WOOD.rho)
    strain = np.linalg.solve(own.elasticity, [1.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(strain, [1 / 12e9, -0.37 / 12e9, -0.45 / 12e9, 0, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(own.elasticity)[3:], [0.06e9, 0.65e9, 0.7e9])
    turned = elasticity_tensor(WOOD.elasticity)
    axis = np.asarray(WOOD.axes)[:, 0]
    along = np.einsum("i,j,k,l,ijkl", axis, axis, axis, axis, turned)
    assert along == pytest.approx(own.elasticity[0, 0], rel=1e-12)
