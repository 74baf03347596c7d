"""Supernodal multifrontal factorization K = P L S Lᵀ Pᵀ of symmetric matrices of meshes.

S = 1 for positive definite matrices (Cholesky); diagonal signs otherwise, whose negative ones count
the negative eigenvalues of K (Sylvester's law of inertia). There is no pivoting: the leading blocks
of an indefinite K must not be near singular, which holds for K - σ M with σ away from eigenvalues
in all but rare cases; the residual of a solution detects these.
"""

from preprocess.solve.cholesky.factor import Cholesky, PivotError, TransientFactor
from preprocess.solve.cholesky.symbolic import EliminationTree, analyse

__all__ = ["Cholesky", "EliminationTree", "PivotError", "TransientFactor", "analyse"]
