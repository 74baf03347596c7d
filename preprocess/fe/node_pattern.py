"""Node-to-node pattern of a mesh: pairs of nodes that share an element."""

import numpy as np
import scipy.sparse as sp

from preprocess.mesh.mesh import Mesh


def node_pattern(mesh: Mesh) -> sp.csr_matrix:
    """Sorted pattern (N, N) of the nodes that share a solid element.

    It is that of BᵀB with B (elements, N) the nodes of elements.
    """
    tables = [block.connectivity for block in mesh.solids.values()]
    sizes = np.concatenate([np.full(len(table), table.shape[1]) for table in tables])
    members = np.concatenate([table.ravel() for table in tables])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    B = sp.csr_matrix(
        (np.ones(len(members), bool), members, offsets), shape=(len(sizes), len(mesh.nodes))
    )
    pattern = (B.T.tocsr() @ B).tocsr()
    pattern.sort_indices()
    return pattern


def three_to_a_node(pattern: sp.csr_matrix) -> sp.csr_matrix:
    """Pattern (3N, 3N) with three rows and columns for each node."""
    blocks = np.ones((pattern.nnz, 3, 3), np.int8)
    size = 3 * pattern.shape[0]
    return sp.bsr_matrix((blocks, pattern.indices, pattern.indptr), shape=(size, size)).tocsr()
