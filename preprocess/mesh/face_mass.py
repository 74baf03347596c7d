"""Mass matrix ∫ N Nᵀ dA of the faces of solid elements, per unit area density."""

import itertools

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preprocess.elements import ELEMENTS
from preprocess.elements.element import midpoints, monomials
from preprocess.elements.quadrature import triangle_6
from preprocess.mesh.faces import outer_faces
from preprocess.mesh.mesh import Mesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
SQUARE = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
BIQUADRATIC = tuple((i, j, 0) for i, j in itertools.product(range(3), repeat=2))
EXPONENTS = {
    3: ((0, 0, 0), (1, 0, 0), (0, 1, 0)),
    6: tuple(each for each in BIQUADRATIC if sum(each) <= 2),
    4: tuple(each for each in BIQUADRATIC if max(each) <= 1),
    8: tuple(each for each in BIQUADRATIC if sum(each) <= 3),
    9: BIQUADRATIC,
}  # of the shape functions on a face, by its number of nodes


def face_mass(mesh: Mesh, rows: Indices, beside: Mesh | None = None) -> sp.csr_matrix:
    """Mass matrix ∫ N_a N_b dA (n, n) [m²] over outer faces.

    All nodes of a face must be among the given ``rows``. Only faces whose nodes, by number, the
    mesh ``beside`` has too: if the other mesh encloses an element, not all of its faces lie between
    both.
    """
    place = np.full(len(mesh.nodes), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    others = (
        None
        if beside is None
        else {face for nodes in _outer(beside) for face in _numbered(beside, nodes)}
    )
    total = sp.csr_matrix((len(rows), len(rows)))
    for nodes in _outer(mesh):
        inside = nodes[(place[nodes] >= 0).all(axis=1)]
        if others is not None:
            inside = inside[np.array([face in others for face in _numbered(mesh, inside)], bool)]
        at, k = place[inside], inside.shape[1]
        i, j = np.repeat(at, k, axis=1).ravel(), np.tile(at, (1, k)).ravel()
        total = total + sp.csr_matrix(
            (face_masses(mesh.nodes[inside]).ravel(), (i, j)), shape=total.shape
        )
    return total


def _outer(mesh: Mesh) -> list[Indices]:
    """Outer faces of solid elements by shape, as rows of their nodes."""
    solids = {name: block.connectivity for name, block in mesh.blocks.items() if name in ELEMENTS}
    return [nodes for _, nodes in outer_faces(solids)] if solids else []


def _numbered(mesh: Mesh, nodes: Indices) -> list[tuple[int, ...]]:
    """Faces by ascending node numbers, to compare them."""
    return [tuple(face) for face in np.sort(mesh.node_ids[nodes], axis=1).tolist()]


def node_areas(x: Array) -> Array:
    """Nodal areas ∫ N_a dA (e, k) of faces.

    Negative at the corners of quadrilaterals with eight nodes; Σ_b N_b = 1.
    """
    return np.asarray(face_masses(x).sum(axis=2))


def face_masses(x: Array) -> Array:
    """Mass matrices ∫ N Nᵀ dA (e, k, k) of faces with node positions (e, k, 3).

    Corners first, then the middles of the sides, then the centre.
    """
    k = x.shape[1]
    corners = 3 if k in (3, 6) else 4
    points, weights = _rule(corners)
    exponents = np.array(EXPONENTS[k])
    to_nodes = np.linalg.inv(monomials(_nodes(corners, k), exponents))
    N = monomials(points, exponents) @ to_nodes
    tangents = [
        np.einsum("qk,ekx->eqx", monomials(points, exponents, axis) @ to_nodes, x)
        for axis in (0, 1)
    ]
    area = np.linalg.norm(np.cross(*tangents), axis=-1) * weights
    return np.asarray(np.einsum("eq,qa,qb->eab", area, N, N))


def _nodes(corners: int, k: int) -> Array:
    """Reference coordinates (k, 3) of the nodes of a face."""
    vertices = TRIANGLE if corners == 3 else SQUARE
    sides = [(i, (i + 1) % corners) for i in range(corners)]
    return np.concatenate([vertices, midpoints(vertices, [*sides, range(corners)])])[:k]


def _rule(corners: int) -> tuple[Array, Array]:
    """Quadrature points (nq, 3) on a face and weights, exact to degree 4."""
    if corners == 3:
        rule = triangle_6()
        return np.column_stack([rule.points, np.zeros(len(rule.points))]), rule.weights
    x, w = np.polynomial.legendre.leggauss(3)
    return np.array([(a, b, 0.0) for a in x for b in x]), np.outer(w, w).ravel()
