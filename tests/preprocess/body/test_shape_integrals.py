"""Shape integrals against closed-form moments of a box and against direct sums."""

import itertools

import numpy as np
import pytest

from preprocess.body.shape_integrals import shape_integrals
from preprocess.fe.assembly import assemble
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh

SIZE = np.array([1.2, 0.5, 0.3])
ORIGIN = np.array([0.2, -0.1, 0.4])
RHO = 7850.0
STEEL = Isotropic(E=2.1e11, nu=0.3, rho=RHO)
# Quadratic displacement fields, each axis a list of (coefficient, powers of x y z); they lie in the
# space of quadratic elements.
FIELDS = [
    [[(1.0, (2, 0, 0))], [(-0.5, (1, 1, 0)), (0.2, (0, 0, 0))], [(2.0, (0, 0, 1))]],
    [
        [(0.3, (0, 1, 1))],
        [(1.0, (0, 2, 0)), (1.0, (0, 0, 2))],
        [(0.7, (1, 0, 1)), (-1.0, (0, 1, 0))],
    ],
    [[], [(1.0, (1, 0, 0))], [(-1.5, (2, 0, 0)), (0.4, (0, 0, 2))]],
]
POSITION = [[(1.0, (1, 0, 0))], [(1.0, (0, 1, 0))], [(1.0, (0, 0, 1))]]


def moment(powers: tuple[int, ...]) -> float:
    """∫ρ x^i y^j z^k dV over the box."""
    ends = [((o + s) ** (p + 1) - o ** (p + 1)) / (p + 1) for o, s, p in zip(ORIGIN, SIZE, powers)]
    return RHO * float(np.prod(ends))


def product(f: list, g: list) -> float:
    """∫ρ f g dV of two polynomials."""
    return sum(a * b * moment(tuple(np.add(p, q))) for (a, p), (b, q) in itertools.product(f, g))


def values(field: list, x: np.ndarray) -> np.ndarray:
    return np.array(
        [
            sum((c * np.prod(x ** np.array(p), axis=1) for c, p in axis), np.zeros(len(x)))
            for axis in field
        ]
    ).T


@pytest.mark.parametrize("element", ["tet10", "hex20", "hex27"])
def test_closed_form_moments_of_a_box(element: str) -> None:
    mesh = box_mesh(tuple(SIZE), (3, 2, 1), element, origin=tuple(ORIGIN))
    phi = np.stack([values(field, mesh.nodes) for field in FIELDS], axis=2)
    found = shape_integrals(assemble(mesh, STEEL).m, mesh.nodes, phi)
    one = [(1.0, (0, 0, 0))]
    n = range(len(FIELDS))
    expected = {
        "mass": product(one, one),
        "first_moment": [product(one, POSITION[a]) for a in range(3)],
        "second_moment": [[product(POSITION[a], POSITION[b]) for b in range(3)] for a in range(3)],
        "S_bar": [[product(one, FIELDS[k][a]) for k in n] for a in range(3)],
        "xS": [
            [[product(POSITION[a], FIELDS[k][b]) for k in n] for b in range(3)] for a in range(3)
        ],
        "SS": [
            [[[product(FIELDS[k][a], FIELDS[l][b]) for l in n] for k in n] for b in range(3)]
            for a in range(3)
        ],
    }
    for name, value in expected.items():
        np.testing.assert_allclose(
            getattr(found, name), value, rtol=1e-13, atol=1e-13 * np.abs(value).max(), err_msg=name
        )


def test_lumped_mass_gives_the_sum_over_nodes() -> None:
    mesh = box_mesh(tuple(SIZE), (3, 2, 2), "hex20", origin=tuple(ORIGIN))
    m = assemble(mesh, STEEL, mass="lumped").m
    phi = np.random.default_rng(5).normal(size=(len(mesh.nodes), 3, 4))
    found = shape_integrals(m, mesh.nodes, phi)
    weights, x = m.diagonal(), mesh.nodes
    sums = {
        "mass": weights.sum(),
        "first_moment": sum(w * p for w, p in zip(weights, x)),
        "second_moment": sum(w * np.outer(p, p) for w, p in zip(weights, x)),
        "S_bar": sum(w * f for w, f in zip(weights, phi)),
        "xS": sum(w * np.multiply.outer(p, f) for w, p, f in zip(weights, x, phi)),
        "SS": sum(w * np.einsum("ak,bl->abkl", f, f) for w, f in zip(weights, phi)),
    }
    for name, value in sums.items():
        np.testing.assert_allclose(
            getattr(found, name), value, rtol=1e-12, atol=1e-12 * np.abs(value).max(), err_msg=name
        )


def test_consistent_mass_equals_quadrature_of_scikit_fem() -> None:
    """Random nodal shapes: integrals by scikit-fem's own quadrature of the interpolated fields."""
    skfem = pytest.importorskip("skfem")
    grid = skfem.MeshHex.init_tensor(
        *(np.linspace(o, o + s, n) for o, s, n in zip(ORIGIN, SIZE, (3, 2, 3)))
    )
    basis = skfem.Basis(grid, skfem.ElementHex2(), intorder=6)
    mesh = box_mesh(tuple(SIZE), (2, 1, 2), "hex27", origin=tuple(ORIGIN))
    phi = np.random.default_rng(6).normal(size=(len(mesh.nodes), 3, 2))
    found = shape_integrals(assemble(mesh, STEEL).m, mesh.nodes, phi)
    place = np.array([np.argmin(np.linalg.norm(mesh.nodes - p, axis=1)) for p in basis.doflocs.T])
    at_points = np.array(
        [[np.asarray(basis.interpolate(phi[place, a, k])) for k in range(2)] for a in range(3)]
    )
    x = np.asarray(basis.global_coordinates())
    dm = RHO * basis.dx
    np.testing.assert_allclose(
        found.S_bar, np.einsum("akeq,eq->ak", at_points, dm), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        found.xS, np.einsum("aeq,bkeq,eq->abk", x, at_points, dm), rtol=1e-12, atol=1e-11
    )
    np.testing.assert_allclose(
        found.SS, np.einsum("akeq,bleq,eq->abkl", at_points, at_points, dm), rtol=1e-12, atol=1e-11
    )
