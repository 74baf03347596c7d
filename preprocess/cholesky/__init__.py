"""Supernodal multifrontal factorization K = P L S Lᵀ Pᵀ of symmetric matrices of meshes.

S = 1 for positive definite matrices (Cholesky); diagonal signs otherwise, whose negative ones count the negative eigenvalues of K
(Sylvester's law of inertia). There are no interchanges: an indefinite K must not be near singular in its leading parts, which
holds for K - σ M with σ away from eigenvalues but in unlucky cases, told by the residual of a solution.
"""

from preprocess.cholesky.factor import Cholesky, PivotError
from preprocess.cholesky.symbolic import Tree, analyse, node_neighbours

__all__ = ["Cholesky", "PivotError", "Tree", "analyse", "node_neighbours"]
