"""Geometric stiffness: the integrals against scikit-fem, second-order displacements against closed forms."""

import numpy as np
import pytest
import skfem
from scipy.spatial import cKDTree
from skfem.helpers import sym_grad
from test_assemble import PEERS, PINE, peer_grid, uneven_box

from preprocess.assemble import assemble
from preprocess.elements import ELEMENTS
from preprocess.material import elasticity_tensor
from preprocess.prestress import initial_stress_stiffness


@pytest.mark.parametrize("name", ["tet10", "hex20"])
def test_initial_stress_stiffness_is_that_of_scikit_fem(name):
    """K0 = Φᵀ K_G Φ with K_G of the same stresses at the same points; an orthotropic body, all components of the stress."""
    mesh = uneven_box(name)
    rng = np.random.default_rng(1)
    u, phi = rng.normal(size=(2, 3 * len(mesh.nodes), 3))
    found = initial_stress_stiffness(assemble(mesh, PINE), u, phi)
    rule = ELEMENTS[name].stiffness_rule
    points, weights = (rule.points, rule.weights) if ELEMENTS[name].corners == 4 else ((rule.points + 1) / 2, rule.weights / 8)
    grid, quadrature = peer_grid(mesh, name), (points.T, weights)
    basis = skfem.Basis(grid, skfem.ElementVector(PEERS[name]), quadrature=quadrature)
    node = cKDTree(mesh.nodes).query(basis.doflocs.T)[1]
    component = np.zeros(basis.N, dtype=int)
    component[basis.element_dofs] = (np.arange(len(basis.element_dofs)) % 3)[:, None]
    place = 3 * node + component
    C = elasticity_tensor(PINE.elasticity)
    form = skfem.BilinearForm(lambda a, b, w: np.einsum("jl...,ij...,il...->...", w["stress"], a.grad, b.grad))
    for k in range(3):
        stress = np.einsum("ijkl,kl...->ij...", C, sym_grad(basis.interpolate(u[place, k])))
        K_G = form.assemble(basis, stress=stress)
        expected = phi[place].T @ K_G @ phi[place]
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-13 * np.abs(expected).max())
