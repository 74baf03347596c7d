"""Interpolation of second-order elements from their corners.

The corners are the coarse space of `preprocess.solve.multigrid`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from preprocess.elements import ELEMENTS, Element
from preprocess.fe.fe_model import FEModel

LINEAR = {
    element.corners: element
    for element in ELEMENTS.values()
    if element.corners == len(element.nodes)
}

ROUND_OFF = 1e-12  # value of a linear function at a node that is zero but for round-off


def corner_functions(element: Element) -> np.ndarray:
    """Values (nn, corners) at an element's nodes of the linear functions of its corners."""
    return LINEAR[element.corners].shape_functions(element.nodes)


def linear_interpolation(fe: FEModel) -> sp.csr_matrix | None:
    """Interpolation (b, b) of blocks of degrees of freedom from those of the corners of solids.

    ``u_a = Σ_c N_c(ξ_a) u_c`` for the nodes within edges, faces and volumes of second-order
    elements, N of the linear element; one for all other blocks. None if there are no such nodes.
    """
    count = fe.freedoms.size // 3
    corners = np.zeros(count, dtype=bool)
    for structure in fe.structures:
        corners[structure.connectivity] = True
    for group in fe.groups:
        corners[group.connectivity[:, : group.element.corners]] = True
    rows, columns, values, found = [], [], [], corners.copy()
    for group in fe.groups:
        element, table = group.element, group.connectivity
        weights = corner_functions(element)
        for a in range(element.corners, len(element.nodes)):
            nodes, first = np.unique(table[:, a], return_index=True)
            first = first[~found[nodes]]
            within = np.flatnonzero(np.abs(weights[a]) > ROUND_OFF)
            found[table[first, a]] = True
            rows.append(np.repeat(table[first, a], len(within)))
            columns.append(table[first][:, within].ravel())
            values.append(np.tile(weights[a, within], len(first)))
    if not rows or not sum(map(len, rows)):
        return None
    moved = np.concatenate(rows)
    own = np.setdiff1d(np.arange(count), moved)
    entries = (
        np.concatenate([np.ones(len(own)), *values]),
        (np.concatenate([own, *rows]), np.concatenate([own, *columns])),
    )
    return sp.csr_matrix(entries, shape=(count, count))
