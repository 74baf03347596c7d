"""Factorization of symmetric positive definite sparse matrices, and the natural modes it gives."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from flexmbs._jit import COMPILED
from flexmbs.errors import InputError, SolverError
from preprocess.cholesky import PivotError
from preprocess.factors import BACKENDS, Factor, Problem
from preprocess.ordering import node_graph, node_order

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SINGULAR = 1e14  # estimated condition number at which a matrix counts as singular
DEFAULT = "cholesky" if COMPILED else "superlu"


def factorize(
    K: sp.csr_matrix,
    *,
    nodes: Indices | None = None,
    coordinates: Array | None = None,
    node_ids: Indices | None = None,
    definite: bool = True,
    backend: str = DEFAULT,
) -> Factor:
    """Factor of a symmetric matrix (n, n), whose degrees of freedom come in threes, node by node, where it is a stiffness.

    nodes (N,): which nodes are free, ascending, the others being held; by default all.
    coordinates (n/3, 3): of all nodes, used by the ordering where METIS is missing; node_ids (n/3,): numbers for messages.
    definite: whether K has to be positive definite; if not, it is factored without interchanges and its negative pivots counted.
    backend: "cholesky" (the package's own), "superlu" or "pardiso" (extra ``mkl``).
    Raises InputError naming what floats when K is singular, MachineError when memory does not suffice or the backend is missing.
    """
    free = np.arange(-(-K.shape[0] // 3)) if nodes is None else nodes
    if not len(free):
        raise InputError("stiffness: no free degree of freedom is left; hold fewer nodes")
    if backend not in BACKENDS:
        raise InputError(f"backend: {backend!r} is not known; it is one of {', '.join(BACKENDS)}")
    graph = node_graph(K, free)
    problem = Problem(K, free, graph, node_order(graph, None if coordinates is None else coordinates[free]), definite)
    try:
        factor = BACKENDS[backend](problem)
    except PivotError as error:
        raise InputError(_singular(problem, _loose_motion(problem, error.dof), node_ids)) from error
    motion = _soft_motion(problem, factor) if factor.doubtful() else None
    if motion is not None:
        raise InputError(_singular(problem, motion, node_ids))
    return factor


def _soft_motion(problem: Problem, factor: Factor) -> Array | None:
    """A motion that meets no resistance to working accuracy, found by two steps of inverse iteration; None when there is none."""
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


def _loose_motion(problem: Problem, dof: int | None) -> Array:
    """The motion for which elimination stopped at a degree of freedom: of its part where there are several, else the softest."""
    K = problem.K
    n_parts, _ = connected_components(problem.graph, directed=False)
    if n_parts == 1:
        stiffened = (K + 1e-9 * abs(K.diagonal()).max() * sp.eye(K.shape[0], format="csr")).tocsr()
        try:
            return BACKENDS[DEFAULT](problem._replace(K=stiffened)).solve(np.random.default_rng(0).standard_normal(K.shape[0]))
        except PivotError:
            pass  # far from definite: no single motion is to blame
    return _part_of(problem, dof)


def _part_of(problem: Problem, dof: int | None) -> Array:
    """Indicator of the part of K that a degree of freedom belongs to, the smallest part when none is given."""
    _, part = connected_components(problem.graph, directed=False)
    chosen = np.argmin(np.bincount(part)) if dof is None else part[np.searchsorted(problem.nodes, dof // 3)]
    motion = np.zeros(problem.K.shape[0])
    rows = problem.rows
    motion[rows] = np.repeat(part == chosen, 3)[: len(rows)]
    return motion


def _singular(problem: Problem, motion: Array, node_ids: Indices | None) -> str:
    """One line that says which nodes move freely."""
    moving = np.unique(np.flatnonzero(np.abs(motion) > 0.05 * np.abs(motion).max()) // 3)
    labels = moving if node_ids is None else np.asarray(node_ids)[moving]
    n_parts, _ = connected_components(problem.graph, directed=False)
    shown = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    parts = f" in {n_parts} separate parts" if n_parts > 1 else ""
    return (
        f"stiffness: singular: {len(labels)} of {len(problem.nodes)} nodes{parts} move freely (node {shown}); hold or join them"
    )


class NaturalModes(NamedTuple):
    """Frequencies (n,) in Hz, ascending, and mass-normalised shapes (dof, n): shapesᵀ M shapes = 1."""

    frequencies: Array
    shapes: Array


def eigenmodes(
    K: sp.csr_matrix, M: sp.csr_matrix, n: int, *, factor: Factor | None = None, shift: float = 0.0, verify: bool = False
) -> NaturalModes:
    """The n modes K φ = ω² M φ nearest to ω² = shift (rad²/s²), by Lanczos iteration with (K - shift M)⁻¹.

    A free body needs a negative shift. factor: of K - shift M when it exists already. verify: count the eigenvalues below the
    highest one found by a second factorization, so that no mode is missed.
    Raises InputError for a singular matrix or n out of range, SolverError when the iteration fails or a mode is missing.
    """
    size = K.shape[0]
    if not 0 < n < size:
        raise InputError(f"modes: {n} asked of {size} degrees of freedom; give a number from 1 to {size - 1}")
    chosen = factor or factorize(K - shift * M if shift else K, definite=shift <= 0)
    inverse = sla.LinearOperator((size, size), matvec=chosen.solve, matmat=chosen.solve, dtype=float)
    start = np.random.default_rng(0).standard_normal(size)
    try:
        values, shapes = sla.eigsh(K, n, M, sigma=shift, OPinv=inverse, v0=start, ncv=min(size, max(2 * n + 1, 20)))
    except sla.ArpackNoConvergence as error:
        found = len(error.eigenvalues)
        raise SolverError(f"modes: {found} of {n} converged; ask for fewer, or shift nearer to the frequencies wanted") from error
    ascending = np.argsort(values)
    values, shapes = values[ascending], shapes[:, ascending]
    if verify:
        _verify(K, M, values)
    return NaturalModes(np.sqrt(np.maximum(values, 0.0)) / (2 * np.pi), shapes)


def eigenvalues_below(K: sp.csr_matrix, M: sp.csr_matrix, value: float) -> int:
    """Number of eigenvalues ω² of K φ = ω² M φ below a value, from the signs of the pivots of K - value M (Sturm sequence)."""
    return factorize(K - value * M, definite=False).negative_pivots()


def _verify(K: sp.csr_matrix, M: sp.csr_matrix, values: Array) -> None:
    """SolverError unless the values are all those up to the highest but one cluster."""
    gaps = np.flatnonzero(np.diff(values) > 1e-6 * np.abs(values[-1]))
    if not len(gaps):
        return
    cut = gaps[-1]
    expected = eigenvalues_below(K, M, float(0.5 * (values[cut] + values[cut + 1])))
    if expected != cut + 1:
        raise SolverError(f"modes: {cut + 1} found where there are {expected}; ask for more modes, or change the shift")
