"""Factorization of symmetric sparse matrices."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from flexmbs._jit import COMPILED
from flexmbs.errors import InputError
from preprocess.solve.cholesky import PivotError
from preprocess.solve.factors import BACKENDS, Factor, FactorProblem
from preprocess.solve.multigrid import Multigrid
from preprocess.solve.ordering import node_graph, node_order

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NONE = np.zeros(0, np.int64)
# estimated condition number at which a matrix counts as singular: two digits before machine
# precision
SINGULAR = 1e14
DEFAULT = "cholesky" if COMPILED else "superlu"


def factorize(
    K: sp.csr_matrix,
    *,
    nodes: Indices | None = None,
    coordinates: Array | None = None,
    node_ids: Indices | None = None,
    definite: bool = True,
    interpolation: sp.csr_matrix | None = None,
    backend: str = DEFAULT,
) -> Factor:
    """Factor of a symmetric matrix (n, n) with three degrees of freedom per node.

    nodes (N,): free nodes, ascending, the others are fixed; by default all. coordinates (n/3, 3):
    of all nodes, used by the ordering if METIS is missing; node_ids (n/3,): numbers for messages.
    definite: whether K must be positive definite; otherwise it is factored without pivoting and its
    negative pivots are counted. interpolation (n/3, n/3): of all nodes from coarse ones, one for
    these, used by the ordering; for many nodes a two-grid method replaces the factor if it
    converges, see `multigrid`. backend: "cholesky" (the package's own), "superlu" or "pardiso"
    (extra ``mkl``). Raises InputError naming the unconstrained nodes if K is singular, MachineError
    for insufficient memory or a missing backend.
    """
    free = np.arange(-(-K.shape[0] // 3)) if nodes is None else nodes
    if not len(free):
        raise InputError("stiffness: no free degree of freedom; fix fewer nodes")
    if backend not in BACKENDS:
        raise InputError(f"backend: {backend!r} is unknown; choose one of {', '.join(BACKENDS)}")
    graph = node_graph(K, free)
    problem = FactorProblem(K, free, graph, NONE, definite, interpolation)
    found = Multigrid.serving(problem) if backend == "cholesky" else None
    if found is not None and not found.nearly_singular():
        return found
    problem = problem._replace(
        order=node_order(graph, None if coordinates is None else coordinates[free], problem.inner)
    )
    try:
        factor = BACKENDS[backend](problem)
    except PivotError as error:
        raise InputError(_singular(problem, _loose_motion(problem, error.dof), node_ids)) from error
    motion = _soft_motion(problem, factor) if factor.nearly_singular() else None
    if motion is not None:
        raise InputError(_singular(problem, motion, node_ids))
    return factor


def _soft_motion(problem: FactorProblem, factor: Factor) -> Array | None:
    """Near-null vector of K by two steps of inverse iteration.

    None if K is regular to working accuracy.
    """
    K = problem.K
    size = float(np.abs(K.data).max(initial=0.0))
    x = np.random.default_rng(0).standard_normal(K.shape[0])
    for _ in range(2):
        y = factor.solve(x / np.linalg.norm(x))
        growth = np.linalg.norm(y)
        if not np.isfinite(growth) or growth * size > SINGULAR:
            return y if np.isfinite(growth) else _part_of(problem, None)
        x = y
    return None


def _loose_motion(problem: FactorProblem, dof: int | None) -> Array:
    """Motion (n,) of the structure that makes a pivot zero.

    That of its connected component if there are several, otherwise the softest.
    """
    K = problem.K
    n_parts, _ = connected_components(problem.graph, directed=False)
    if n_parts == 1:
        stiffened = (K + 1e-9 * abs(K.diagonal()).max() * sp.eye(K.shape[0], format="csr")).tocsr()
        try:
            return BACKENDS[DEFAULT](problem._replace(K=stiffened)).solve(
                np.random.default_rng(0).standard_normal(K.shape[0])
            )
        except PivotError:
            pass  # indefinite: no single motion is responsible
    return _part_of(problem, dof)


def _part_of(problem: FactorProblem, dof: int | None) -> Array:
    """Indicator of the connected component of a degree of freedom.

    By default the smallest component.
    """
    _, part = connected_components(problem.graph, directed=False)
    chosen = (
        np.argmin(np.bincount(part))
        if dof is None
        else part[np.searchsorted(problem.nodes, dof // 3)]
    )
    motion = np.zeros(problem.K.shape[0])
    rows = problem.rows
    motion[rows] = np.repeat(part == chosen, 3)[: len(rows)]
    return motion


def _singular(problem: FactorProblem, motion: Array, node_ids: Indices | None) -> str:
    """Message naming the nodes that move freely."""
    moving = np.unique(np.flatnonzero(np.abs(motion) > 0.05 * np.abs(motion).max()) // 3)
    labels = moving if node_ids is None else np.asarray(node_ids)[moving]
    n_parts, _ = connected_components(problem.graph, directed=False)
    shown = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    parts = f" in {n_parts} separate parts" if n_parts > 1 else ""
    return (
        f"stiffness: singular: {len(labels)} of {len(problem.nodes)} nodes{parts} move freely "
        f"(node {shown}); fix or connect them"
    )
