"""Solids of revolution: NAFEMS FV41 (free cylinder) and FV42 (thick hollow sphere), by one sector
whose nodes move alike.

Sources: NAFEMS, The Standard NAFEMS Benchmarks, TNSB rev. 3 (1990), FV41, FV42; Love, Mathematical
Theory of Elasticity, section 196 (radial vibrations of a hollow sphere).
"""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
from scipy.special import spherical_jn, spherical_yn

import preprocess as pp

E, NU, RHO = 2e11, 0.3, 8000.0
STEEL = pp.Isotropic(E=E, nu=NU, rho=RHO)


def frequencies(fe, motion):
    """All frequencies [Hz] of the motions (n, m) of the nodes."""
    K, M = (motion.T @ (A @ motion) for A in (fe.K, fe.M))
    values = scipy.linalg.eigh(np.asarray(K.todense()), np.asarray(M.todense()), eigvals_only=True)
    return np.sqrt(np.maximum(values, 0.0)) / (2 * np.pi)


def together(places, directions):
    """(3N, m): one column for each different place (N, …) and direction (N, 3, d)."""
    _, place = np.unique(np.round(places, 9), axis=0, return_inverse=True)
    n, d = len(places), directions.shape[2]
    rows, columns = (
        np.repeat(np.arange(3 * n), d),
        np.repeat(d * place.ravel(), 3 * d).reshape(n, 3, d) + np.arange(d),
    )
    return sp.csr_matrix(
        (directions.ravel(), (rows, columns.ravel())), shape=(3 * n, d * (place.max() + 1))
    )


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [("hex20", 2e-3), ("hex27", 2e-3), ("wedge15", 2e-3), ("pyramid13", 3e-3)],
)
def test_fv41_free_cylinder(kind, tolerance):
    """Axisymmetric modes of a cylinder 1.8 m to 2.2 m in radius and 10 m long, after its motion
    along the axis.
    """
    angle = np.radians(1.0)
    box = pp.box_mesh((0.4, angle, 10.0), (2, 1, 16), kind, origin=(1.8, -0.5 * angle, 0.0))
    mesh = box.moved(
        lambda x: np.column_stack([x[:, 0] * np.cos(x[:, 1]), x[:, 0] * np.sin(x[:, 1]), x[:, 2]])
    )
    r, phi, z = box.nodes.T
    directions = np.zeros((len(r), 3, 2))
    directions[:, 0, 0], directions[:, 1, 0], directions[:, 2, 1] = np.cos(phi), np.sin(phi), 1.0
    found = frequencies(pp.assemble(mesh, STEEL), together(np.column_stack([r, z]), directions))
    assert found[0] < 0.01
    np.testing.assert_allclose(found[1:6], [243.53, 377.41, 394.11, 397.72, 405.28], rtol=tolerance)


def sphere(inner, outer, count):
    """Frequencies [Hz] of radial vibrations u = a j₁(k r) + b y₁(k r) with σ_rr = (λ + 2μ) u′ + 2 λ
    u/r = 0 on both surfaces.
    """
    lam, mu = E * NU / ((1 + NU) * (1 - 2 * NU)), E / (2 * (1 + NU))
    speed = np.sqrt((lam + 2 * mu) / RHO)

    def determinant(k):
        rows = [
            [
                (lam + 2 * mu) * k * f(1, k * r, derivative=True) + 2 * lam * f(1, k * r) / r
                for f in (spherical_jn, spherical_yn)
            ]
            for r in (inner, outer)
        ]
        return np.linalg.det(rows) / (lam + 2 * mu) ** 2

    steps = np.linspace(0.1, 5.0, 2000)
    values = [determinant(k) for k in steps]
    roots = [
        scipy.optimize.brentq(determinant, a, b)
        for a, b, f, g in zip(steps, steps[1:], values, values[1:])
        if f * g < 0
    ]
    return np.array(roots[:count]) * speed / (2 * np.pi)


@pytest.mark.parametrize("kind", ["hex20", "tet10", "wedge15", "pyramid13"])
def test_fv42_thick_hollow_sphere(kind):
    """Radial modes of a sphere of radii 1.8 m and 6 m: NAFEMS, and Love's equation."""
    reference = sphere(1.8, 6.0, 5)
    np.testing.assert_allclose(reference, [369.91, 838.03, 1451.2, 2117.0, 2795.8], rtol=1e-3)
    half = np.radians(1.0)
    box = pp.box_mesh((4.2, 2 * half, 2 * half), (16, 1, 1), kind, origin=(1.8, -half, -half))
    r, a, b = box.nodes.T
    outward = np.column_stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)])
    mesh = box.moved(lambda x: r[:, None] * outward)
    found = frequencies(pp.assemble(mesh, STEEL), together(r[:, None], outward[:, :, None]))
    np.testing.assert_allclose(found[:5], reference, rtol=2e-3)
