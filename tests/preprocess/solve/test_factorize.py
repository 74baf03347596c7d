"""Factorization, ordering and eigenmodes."""

import pathlib

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from arpack_modes import eigenmodes, eigenvalues_below

from flexmbs.errors import InputError
from preprocess.fe.assembly import assemble
from preprocess.fe.corner_interpolation import linear_interpolation
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh
from preprocess.mesh_files.read import read_mesh
from preprocess.solve.cholesky import analyse
from preprocess.solve.factorize import factorize
from preprocess.solve.ordering import (
    MANY,
    graph_coordinates,
    node_graph,
    node_order,
    plane_dissection,
)

LINK = pathlib.Path(__file__).parents[3] / "meshes" / "link.msh"
STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)


@pytest.fixture(scope="module")
def cantilever():
    """K and M of a beam held at one end, its free nodes' positions and degrees of freedom."""
    mesh = box_mesh((1.0, 0.1, 0.06), (16, 3, 2), "hex20")
    fe = assemble(mesh, STEEL)
    free = np.setdiff1d(np.arange(len(mesh.nodes)), mesh.node_set("x0"))
    dof = (3 * free[:, None] + np.arange(3)).ravel()
    return fe.K[dof][:, dof], fe.M[dof][:, dof], mesh.nodes[free]


def test_solution_has_no_residual(cantilever):
    K, _, x = cantilever
    b = np.random.default_rng(0).standard_normal((K.shape[0], 3))
    for loads in (b, b[:, 0]):
        u = factorize(K, coordinates=x).solve(loads)
        assert u.shape == loads.shape
        assert np.linalg.norm(K @ u - loads) < 1e-9 * np.linalg.norm(loads)


def test_tip_load_bends_as_timoshenko_predicts(cantilever):
    """P L³/3EI + P L/κGA with κ = 5/6 and the clamped face free of Saint-Venant effects: within 1 %
    for L/h = 10.
    """
    K, _, x = cantilever
    tip = np.flatnonzero(x[:, 0] > 1 - 1e-9)
    load = np.zeros(K.shape[0])
    load[3 * tip + 1] = 1.0 / len(tip)
    E, nu, b, h = 210e9, 0.3, 0.06, 0.1
    expected = 1 / (3 * E * b * h**3 / 12) + 1 / (5 / 6 * E / 2 / (1 + nu) * b * h)
    assert factorize(K).solve(load)[3 * tip + 1].mean() == pytest.approx(expected, rel=1e-2)


def test_any_number_of_degrees_of_freedom_may_be_held(cantilever):
    K, _, _ = cantilever
    part = K[4:][:, 4:]
    b = np.ones(part.shape[0])
    assert part.shape[0] % 3 != 0
    assert np.linalg.norm(part @ factorize(part).solve(b) - b) < 1e-9 * np.linalg.norm(b)


def test_dissection_fills_far_less_than_the_default_order():
    mesh = read_mesh(LINK, unit="mm")
    fe = assemble(mesh, STEEL)
    free = np.setdiff1d(np.arange(len(mesh.nodes)), mesh.node_set("hub_face"))
    dof = (3 * free[:, None] + np.arange(3)).ravel()
    K = fe.K[dof][:, dof]
    assert factorize(K).nnz < 0.6 * sla.splu(K.tocsc()).nnz


@pytest.mark.parametrize("positions", ["given", "from the graph"])
def test_plane_dissection_is_a_permutation_of_little_fill(positions, monkeypatch):
    mesh = box_mesh((1.0, 0.5, 0.4), (14, 8, 6), "hex8")
    fe = assemble(mesh, STEEL)
    graph = sp.csr_matrix(
        (np.ones(fe.m.nnz, dtype=np.int8), fe.m.indices, fe.m.indptr), shape=fe.m.shape
    )
    x = mesh.nodes if positions == "given" else graph_coordinates(graph)
    np.testing.assert_array_equal(np.sort(plane_dissection(graph, x)), np.arange(len(x)))
    K = (fe.K + 1e9 * sp.eye(fe.K.shape[0])).tocsr()
    with_metis = factorize(K).nnz
    monkeypatch.setattr("preprocess.solve.ordering.pymetis", None)
    assert (
        factorize(K, coordinates=mesh.nodes if positions == "given" else None).nnz
        < 1.6 * with_metis
    )


@pytest.mark.parametrize("cells, element", [((16, 8, 6), "tet10"), ((18, 9, 8), "hex20")])
def test_coarse_nodes_order_second_order_meshes(cells, element):
    """Little more fill than all nodes give, with nodes held between which others are free."""
    mesh = box_mesh((1.0, 0.5, 0.4), cells, element)
    fe = assemble(mesh, STEEL)
    nodes = np.setdiff1d(
        np.arange(len(mesh.nodes)),
        np.union1d(mesh.node_set("x0"), mesh.blocks[element].connectivity[:1, :4]),
    )
    graph, P = node_graph(fe.K, nodes), linear_interpolation(fe)
    assert len(nodes) >= MANY
    assert P is not None
    inner = P[nodes][:, nodes].tocsr()
    assert (np.diff(inner.indptr) == 0).any()
    orders = node_order(graph), node_order(graph, interpolation=inner)
    np.testing.assert_array_equal(np.sort(orders[1]), np.arange(len(nodes)))
    whole, coarse = (analyse(graph.indptr, graph.indices, order).panel[-1] for order in orders)
    assert coarse < 1.1 * whole


def test_unlinked_nodes_are_ordered_too():
    np.testing.assert_array_equal(
        np.sort(node_order(sp.eye(5, format="csr", dtype=np.int8))), np.arange(5)
    )


def test_a_floating_part_is_named():
    """Two boxes, one of them held: the message counts and names the nodes of the other."""
    fe = assemble(box_mesh((1, 1, 1), (2, 1, 1), "hex8"), STEEL)
    n = len(fe.nodes)
    held = sp.csr_matrix(fe.K + 1e12 * sp.eye(3 * n))
    K = sp.block_diag([held, fe.K], format="csr")
    with pytest.raises(
        InputError,
        match=rf"singular: {n} of {2 * n} nodes in 2 separate parts move freely \(node {100 + n}, ",
    ):
        factorize(K, node_ids=np.arange(100, 100 + 2 * n))
    with pytest.raises(InputError, match="no free degree"):
        factorize(sp.csr_matrix((0, 0)))


def test_a_hinge_is_found_singular():
    """Fixed along one edge only, a box can still rotate about it."""
    mesh = box_mesh((1, 1, 1), (2, 2, 2), "hex8")
    fe = assemble(mesh, STEEL)
    edge = np.intersect1d(mesh.node_set("x0"), mesh.node_set("y0"))
    free = np.setdiff1d(np.arange(len(mesh.nodes)), edge)
    dof = (3 * free[:, None] + np.arange(3)).ravel()
    with pytest.raises(InputError, match="singular"):
        factorize(fe.K[dof][:, dof])


def test_modes_satisfy_their_equation_and_none_is_missed(cantilever):
    K, M, _ = cantilever
    modes = eigenmodes(K, M, 10)
    residual = K @ modes.shapes - M @ modes.shapes * (2 * np.pi * modes.frequencies) ** 2
    assert np.abs(residual).max() < 1e-7 * np.abs(K @ modes.shapes).max()
    np.testing.assert_allclose(modes.shapes.T @ (M @ modes.shapes), np.eye(10), atol=1e-10)
    assert eigenvalues_below(K, M, (2 * np.pi * modes.frequencies[9]) ** 2 * 1.0001) == 10
