"""Geometric stiffness: the integrals against scikit-fem, second-order displacements against closed
forms.
"""

import numpy as np
import pytest
import skfem
from peers import PEERS, PINE, peer_grid, uneven_box
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.spatial import cKDTree
from skfem.helpers import sym_grad

from flexmbs.errors import InputError
from preprocess.body.build import reduce
from preprocess.body.prestress import Prestress
from preprocess.elements import ELEMENTS
from preprocess.fe.assembly import assemble
from preprocess.fe.initial_stress import initial_stress_stiffness
from preprocess.fe.interfaces import Rigid
from preprocess.fe.material import Isotropic, elasticity_tensor
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.mesh.structured import box_mesh


@pytest.mark.parametrize("name", ["tet10", "hex20"])
def test_initial_stress_stiffness_is_that_of_scikit_fem(name):
    """K0 = Φᵀ K_G Φ with K_G of the same stresses at the same points; an orthotropic body, all
    components of the stress.
    """
    mesh = uneven_box(name)
    rng = np.random.default_rng(1)
    u, phi = rng.normal(size=(2, 3 * len(mesh.nodes), 3))
    found = initial_stress_stiffness(assemble(mesh, PINE), u, phi)
    rule = ELEMENTS[name].stiffness_rule
    points, weights = (
        (rule.points, rule.weights)
        if ELEMENTS[name].corners == 4
        else ((rule.points + 1) / 2, rule.weights / 8)
    )
    grid, quadrature = peer_grid(mesh, name), (points.T, weights)
    basis = skfem.Basis(grid, skfem.ElementVector(PEERS[name]), quadrature=quadrature)
    node = cKDTree(mesh.nodes).query(basis.doflocs.T)[1]
    component = np.zeros(basis.N, dtype=int)
    component[basis.element_dofs] = (np.arange(len(basis.element_dofs)) % 3)[:, None]
    place = 3 * node + component
    C = elasticity_tensor(PINE.elasticity)
    form = skfem.BilinearForm(
        lambda a, b, w: np.einsum("jl...,ij...,il...->...", w["stress"], a.grad, b.grad)
    )
    for k in range(3):
        stress = np.einsum("ijkl,kl...->ij...", C, sym_grad(basis.interpolate(u[place, k])))
        K_G = form.assemble(basis, stress=stress)
        expected = phi[place].T @ K_G @ phi[place]
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def clamped_free(k, x):
    """Bending mode k of a cantilever of length 1 with unit tip
    deflection: values and slopes at x.
    """
    c = brentq(
        lambda c: np.cos(c) * np.cosh(c) + 1.0, (k - 0.5) * np.pi - 0.4, (k - 0.5) * np.pi + 0.4
    )
    s = (np.sinh(c) - np.sin(c)) / (np.cosh(c) + np.cos(c))

    def parts(x):
        return np.cosh(c * x), np.cos(c * x), np.sinh(c * x), np.sin(c * x)

    def value(x):
        ch, co, sh, si = parts(x)
        return ch - co - s * (sh - si)

    ch, co, sh, si = parts(x)
    return value(x) / value(1.0), c * (sh + si - s * (ch - co)) / value(1.0)


L, H, RHO = 1.0, 0.01, 7850.0


@pytest.fixture(scope="module")
def cantilevers():
    """One slender beam, its frame at the clamped end and in its mean axes."""
    mesh = box_mesh((L, H, H), (24, 1, 1), "hex20", origin=(0.0, -H / 2, -H / 2))
    fe = assemble(mesh, Isotropic(E=2.1e11, nu=0.0, rho=RHO))
    ends = {"hub": Rigid("x0"), "tip": Rigid("x1")}
    return {
        reference: reduce(fe, interfaces=ends, reference=reference)
        for reference in ("hub", "mean axes")
    }


def bent_to_unit_tip_deflection(body, k):
    """Elastic coordinates of bending mode k along y."""
    pair = np.abs(body.modes.frequency / body.modes.frequency[2 * k - 2] - 1.0) < 1e-3
    along_y = body.frames["tip"].phi[1] * pair
    return along_y / (along_y @ along_y)


@pytest.mark.parametrize("k", [1, 2])
def test_shortening_of_a_bent_beam(cantilevers, k):
    """A cantilever with deflection w is shortened up to x by σ/2, σ(x) = ∫w'² dx; its points move
    by that minus the mean over the mass."""
    body = cantilevers["hub"]
    assert body.validate().ok
    x, weights = np.polynomial.legendre.leggauss(60)
    x, weights = 0.5 * (x + 1.0), 0.5 * weights
    slope2 = weights * clamped_free(k, x)[1] ** 2
    q, geometric = bent_to_unit_tip_deflection(body, k), body.geometric
    mean = (1.0 - x) @ slope2 / L
    assert q @ (geometric.frames["tip"] - geometric.frames["hub"])[0] @ q == pytest.approx(
        slope2.sum() / L, rel=2e-3
    )
    assert -(q @ geometric.frames["hub"][0] @ q) == pytest.approx(mean, rel=2e-3)
    assert not geometric.acceleration.any()
    assert not geometric.angular_acceleration.any()
    moment = RHO * H * H * (0.5 * (1.0 - x**2) @ slope2 * L - 0.5 * mean * L**2)
    assert -(q @ geometric.second_moments[0, 0] @ q) == pytest.approx(moment, rel=2e-3)
    assert q @ geometric.rotation[2] @ q == pytest.approx(moment, rel=2e-3)


def second_order_distance(body, q):
    """Change of the distance between hub and tip, terms of second order."""
    x, phi, K0 = (
        a - b
        for a, b in (
            (getattr(body.frames["tip"], part), getattr(body.frames["hub"], part))
            if part
            else (body.geometric.frames["tip"][:3], body.geometric.frames["hub"][:3])
            for part in ("x", "phi", "")
        )
    )
    along = x / np.linalg.norm(x)
    across = phi @ q - along * (along @ phi @ q)
    return -0.5 * along @ (q @ K0 @ q) + 0.5 * across @ across / np.linalg.norm(x)


def test_reference_conditions_agree(cantilevers):
    """The distance between the ends of a bent beam, to second order, does not depend on how the
    body frame follows it.
    """
    held, free = cantilevers["hub"], cantilevers["mean axes"]
    assert not free.geometric.acceleration.any()
    assert not free.geometric.angular_acceleration.any()
    R = rigid_motion(held.surface.nodes).reshape(-1, 6)
    for k in (1, 2):
        q = bent_to_unit_tip_deflection(held, k)
        both = np.hstack([free.surface.phi.reshape(len(R), -1), R])
        q_free = np.linalg.lstsq(both, held.surface.phi.reshape(len(R), -1) @ q, rcond=None)[0][
            : free.nf
        ]
        assert second_order_distance(free, q_free) == pytest.approx(
            second_order_distance(held, q), rel=1e-6
        )


def frequencies_under_tension(force):
    """Angular frequencies of a cantilever under an axial end force: Ritz with polynomials, EI w''
    v'' + N w' v' = ω² m w v.
    """
    EI, m = 2.1e11 * H**4 / 12.0, RHO * H * H
    shapes = [np.polynomial.Polynomial.basis(k) for k in range(2, 11)]

    def gram(order):
        given = [p.deriv(order) if order else p for p in shapes]
        return np.array([[(a * b).integ()(L) for a in given] for b in given])

    return np.sqrt(eigh(EI * gram(2) + force * gram(1), m * gram(0), eigvals_only=True))


@pytest.mark.parametrize("part", [0.8, -0.5])
def test_frequencies_of_a_beam_under_an_axial_load(part):
    """Tension and compression by a part of the buckling load;
    above that load the part is rejected.
    """
    mesh = box_mesh((L, H, 1.5 * H), (40, 1, 1), "hex8", origin=(0.0, -H / 2, -0.75 * H))
    fe = assemble(mesh, Isotropic(E=2.1e11, nu=0.0, rho=RHO))
    ends = {"hub": Rigid("x0"), "tip": Rigid("x1")}
    critical = np.pi**2 * 2.1e11 * 1.5 * H**4 / 12.0 / (4.0 * L**2)

    def body(force):
        load = Prestress(wrenches={"tip": (force, 0.0, 0.0, 0.0, 0.0, 0.0)})
        return reduce(
            fe, interfaces=ends, reference="hub", prestress=load, stress=None, estimate=False
        )

    found = body(part * critical)
    along_y = np.abs(found.frames["tip"].phi[1]) > 10.0 * np.abs(found.frames["tip"].phi[2])
    expected = frequencies_under_tension(part * critical / 1.5)[:2]
    np.testing.assert_allclose(
        2.0 * np.pi * found.modes.frequency[along_y][:2], expected, rtol=3e-3
    )
    assert found.validate().ok
    with pytest.raises(InputError, match=r"buckles at 0\.9"):
        body(-critical / 0.98)


@pytest.mark.parametrize("wrenches", [3, None, [1.0, 0.0]])
def test_wrenches_are_a_table(wrenches):
    with pytest.raises(
        InputError, match=r"prestress\.wrenches: must be a table, interface → three forces"
    ):
        Prestress(wrenches)


def test_a_table_is_no_prestress() -> None:
    part, wrenches = box_mesh((0.2, 0.1, 0.1), (1, 1, 1), "hex8"), {"a": (1.0, 0, 0, 0, 0, 0)}
    with pytest.raises(InputError, match="prestress: must be a Prestress, such as"):
        reduce(
            part,
            Isotropic(E=2e11, nu=0.3, rho=7800.0),
            interfaces={"a": Rigid("x0")},
            reference="a",
            prestress=wrenches,
        )
