"""Two grids for stiff compact solids of second-order elements: the linear elements within them are the coarse one.

    x := S b,    e = P (Pᵀ K P)⁻¹ Pᵀ (b − K x),    x := x + e,    x := x + Sᵀ (b − K x)

P gives the nodes within edges, faces and volumes the values of the linear functions of the corners; a seventh of the nodes of
tetrahedra are corners, and their factor takes a hundredth of the time of that of all nodes. S are steps of Chebyshev's iteration
with the diagonal blocks D of K, for the eigenvalues of D⁻¹K in the upper part of their range. The cycle, symmetric and positive
definite, is a response A in single precision, which conjugate gradients refine to double precision (`refinement`). Where linear
elements lock, in thin walls or near incompressibility, A K has small eigenvalues, which the coefficients of the iteration show;
then a direct factor serves.

Source: Rønquist, Patera, J. Sci. Comput. 2 (1987) 389 (orders of elements as grids); Adams, Brezina, Hu, Tuminaro, J. Comput.
Phys. 188 (2003) 593 (Chebyshev's iteration as smoother).
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import kernel, part
from flexmbs._jit.eights import EIGHT, Blocks, Eights, subtract_blocks
from flexmbs.errors import InputError
from preprocess.solve.cholesky import Cholesky, PivotError, analyse
from preprocess.solve.factors import REFINED, TOGETHER, CholeskyFactor, Factor, Problem
from preprocess.solve.memory import COARSE, check_free_memory
from preprocess.solve.ordering import node_graph, node_order
from preprocess.solve.refinement import ROUGH, refined
from preprocess.solve.sparse_products import Rows, sparse_product
from preprocess.solve.threads import BLOCK, by_rows

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.int64]

STEPS = 3  # of Chebyshev's iteration, before the coarse grid and after
RANGE = 8.0  # of the eigenvalues that they reduce, the largest over the smallest
SAFE = 1.1  # of the largest eigenvalue, estimated
MOST = 30  # steps of conjugate gradients
ROUGHLY, TRIED = 0.1, 1e-5  # expected errors of an approximate response, and of that which shows whether the grids serve
LEAST = 0.25  # eigenvalue of A K from which on they serve
TINY = 1e-300
POWERS = 12  # products for this estimate
SOFT = 1e-6  # ratio of a pivot to its diagonal entry below which the matrix may be singular


class Level(NamedTuple):
    """K in blocks (n, n) of single precision by rows, and the inverse blocks of its diagonal, (9 n,)."""

    indptr: NDArray[np.int32]
    columns: NDArray[np.int32]
    entries: Single
    inverse: Single


class Transfer(NamedTuple):
    """A sparse matrix whose entries stand for three rows each."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: Single


class Step(NamedTuple):
    """``d := before d + after D⁻¹ r`` of Chebyshev's iteration."""

    before: float
    after: float


@kernel
def copy_blocks(K: Rows, nodes: Any, number: Any, low: int, high: int, level: Level) -> None:
    """Blocks of a CSR matrix in the rows of nodes[low:high]; number: of each node among these, negative for others."""
    starts, columns = level.indptr, level.columns
    for i in range(low, high):
        for a in range(3):
            q = starts[i]
            for p in range(K.indptr[3 * nodes[i] + a], K.indptr[3 * nodes[i] + a + 1]):
                node = K.indices[p] // 3
                j = number[node]
                if j < 0:
                    continue
                if columns[q] > j:
                    q = starts[i]
                while columns[q] < j:
                    q += 1
                level.entries[9 * q + 3 * a + K.indices[p] - 3 * node] += K.values[p]


@kernel
def gather(nodes: Any, low: int, high: int, loads: Any, scale: Any, r: Any) -> None:
    """r = loads / scale in the rows of nodes[low:high], eight columns; loads (3 N, 8 or less)."""
    for i in range(low, high):
        for a in range(3):
            at = (3 * i + a) * EIGHT
            for c in range(loads.shape[1]):
                r[at + c] = loads[3 * nodes[i] + a, c] / scale[c]
            for c in range(loads.shape[1], EIGHT):
                r[at + c] = 0.0


@kernel
def scatter(nodes: Any, low: int, high: int, x: Any, scale: Any, found: Any) -> None:
    """The inverse of `gather`: found = scale x."""
    for i in range(low, high):
        for a in range(3):
            at = (3 * i + a) * EIGHT
            for c in range(found.shape[1]):
                found[3 * nodes[i] + a, c] = scale[c] * x[at + c]


@kernel
def residual(K: Level, low: int, high: int, d: Any, r: Any, out: Any) -> None:
    """out := r − K d in the rows of nodes low … high − 1; d, r, out (24 n,)."""
    blocks = Blocks(K.entries, K.columns)
    for i in range(low, high):
        at = 3 * EIGHT * i
        for c in range(at, at + 3 * EIGHT):
            out[c] = r[c]
        subtract_blocks(blocks, K.indptr[i], K.indptr[i + 1], Eights(d, 0, EIGHT), Eights(out, at, EIGHT))


@part
def add_scaled(K: Level, i: int, step: Step, d: Any, r: Any, x: Any, out: Any) -> None:
    """out := before d + after D⁻¹ r, x := x + out in the rows of node i."""
    before, after, at = np.float32(step.before), np.float32(step.after), 3 * EIGHT * i
    for a in range(3):
        k = 9 * i + 3 * a
        p, q, s = K.inverse[k] * after, K.inverse[k + 1] * after, K.inverse[k + 2] * after
        for c in range(at, at + EIGHT):
            value = before * d[c + a * EIGHT] + p * r[c] + q * r[c + EIGHT] + s * r[c + 2 * EIGHT]
            out[c + a * EIGHT] = value
            x[c + a * EIGHT] += value


@kernel
def first_step(K: Level, low: int, high: int, step: Step, r: Any, x: Any, out: Any) -> None:
    """x := out := after D⁻¹ r in the rows of nodes low … high − 1."""
    for i in range(low, high):
        for c in range(3 * EIGHT * i, 3 * EIGHT * (i + 1)):
            x[c] = out[c] = 0.0
        add_scaled(K, i, step, out, r, x, out)


@kernel
def chebyshev_step(K: Level, low: int, high: int, step: Step, d: Any, r: Any, x: Any, out: Any) -> None:
    """r := r − K d, out := before d + after D⁻¹ r, x := x + out in the rows of nodes low … high − 1."""
    blocks = Blocks(K.entries, K.columns)
    for i in range(low, high):
        subtract_blocks(blocks, K.indptr[i], K.indptr[i + 1], Eights(d, 0, EIGHT), Eights(r, 3 * EIGHT * i, EIGHT))
        add_scaled(K, i, step, d, r, x, out)


@kernel
def transfer(P: Transfer, low: int, high: int, x: Any, out: Any) -> None:
    """out := P x in the rows of nodes low … high − 1; x, out in rows of 24."""
    wide = 3 * EIGHT
    for i in range(low, high):
        first = wide * i
        for c in range(first, first + wide):
            out[c] = 0.0
        for q in range(P.indptr[i], P.indptr[i + 1]):
            value, at = P.values[q], wide * P.indices[q] - first
            for c in range(first, first + wide):
                out[c] += value * x[c + at]


@kernel
def inner_products(low: int, high: int, a: Any, b: Any, sums: Any) -> None:
    """Sums of a b in double precision over nodes low … high − 1, by column of eight, added to those of each block of rows."""
    for i in range(3 * low, 3 * high):
        k = i // (3 * BLOCK)
        for c in range(EIGHT):
            sums[k, c] += np.float64(a[EIGHT * i + c]) * np.float64(b[EIGHT * i + c])


@kernel
def combine(low: int, high: int, factor: Any, a: Any, b: Any, out: Any) -> None:
    """out := a + factor b by column of eight, for nodes low … high − 1."""
    for i in range(3 * low, 3 * high):
        for c in range(EIGHT):
            out[EIGHT * i + c] = a[EIGHT * i + c] + factor[c] * b[EIGHT * i + c]


class Iteration:
    """Conjugate gradients with two grids as preconditioner, for eight loads in single precision."""

    def __init__(self, level: Level, coarse: Cholesky, P: sp.csr_matrix) -> None:
        """P (n, c): nodes from coarse ones."""
        self._level, self.coarse, self._count = level, coarse, P.shape[0]
        self._down, self._up, self._low = _transfer(P.T.tocsr()), _transfer(P), _columns(P.shape[1])
        self._x, self._left, self._p, self._z, self._r, self._d, self._out = (_columns(self._count) for _ in range(7))
        self._steps = chebyshev_steps(SAFE * self._largest_eigenvalue())

    def solve(self, loads: Array, nodes: Indices, error: float, found: Array) -> float:
        """found := x in the rows of the nodes, K x = b for loads b (3 N, 8 or less), with an expected ``error`` relative in the
        energy norm. Returns the least eigenvalue of A K that the iteration has seen; source: Golub, Van Loan, section 11.3."""
        scale = np.maximum(np.abs(loads).max(axis=0, initial=0.0), TINY)
        x, left, p, z, product = self._x, self._left, self._p, self._z, self._r
        by_rows(lambda low, high: gather(nodes, low, high, loads, scale, left), self._count)
        x[:] = 0.0
        size = before = np.zeros(EIGHT)
        steps, ratios = list[Array](), list[Array]()
        for k in range(MOST):
            self._cycle(left)
            square = np.maximum(self._inner(z, left), TINY)  # of the error, in the energy norm
            size, before = (size, before) if k else (square, square)
            ratios.append(square / before if k else np.zeros(EIGHT))
            self._combine(ratios[-1], z, p, p)
            if np.sqrt((square / size) * (square / before)).max() <= error:  # expected after this step
                self._combine(np.ones(EIGHT), x, z, x)
                break
            product[:] = 0.0
            self._each(residual, p, product, product)
            steps.append(square / np.maximum(-self._inner(p, product), TINY))
            self._combine(steps[-1], x, p, x)
            self._combine(steps[-1], left, product, left)
            before = square
        by_rows(lambda low, high: scatter(nodes, low, high, x, scale, found), self._count)
        return least_eigenvalue(np.array(steps), np.array(ratios))

    def _cycle(self, b: Single) -> None:
        """z ≈ K⁻¹ b."""
        r, z, d, out = self._r, self._z, self._d, self._out
        r[:] = b
        self._each(first_step, self._steps[0], r, z, d)
        for step in self._steps[1:]:
            self._each(chebyshev_step, step, d, r, z, out)
            d, out = out, d
        self._each(residual, d, r, r)
        by_rows(lambda low, high: transfer(self._down, low, high, r, self._low), len(self._low) // (3 * EIGHT))
        e = self.coarse.solve(self._low.reshape(-1, EIGHT).astype(float)).astype(np.float32).reshape(-1)
        by_rows(lambda low, high: transfer(self._up, low, high, e, d), self._count)
        self._combine(np.ones(EIGHT), z, d, z)
        for step in self._steps:
            self._each(chebyshev_step, step, d, r, z, out)
            d, out = out, d

    def _largest_eigenvalue(self) -> float:
        """Estimate of the largest eigenvalue of D⁻¹ K by powers of random vectors."""
        v, r, growth = self._x, self._r, np.zeros(EIGHT)
        v[:] = np.random.default_rng(0).standard_normal(len(v))
        for _ in range(POWERS):
            r[:] = 0.0
            self._each(residual, v, r, r)
            self._each(first_step, Step(0.0, -1.0), r, v, self._out)
            growth = np.sqrt(self._inner(v, v))
            self._combine(1.0 / growth - 1.0, v, v, v)
        return float(growth.max())

    def _each(self, function: Any, *given: Any) -> None:
        """A function of K and of the rows of nodes, for all of these."""
        by_rows(lambda low, high: function(self._level, low, high, *given), self._count)

    def _combine(self, factor: Array, a: Single, b: Single, out: Single) -> None:
        """out := a + factor b."""
        with np.errstate(over="ignore"):  # of an iteration that diverges, which its coefficients show
            factors = factor.astype(np.float32)
        by_rows(lambda low, high: combine(low, high, factors, a, b, out), self._count)

    def _inner(self, a: Single, b: Single) -> Array:
        """The diagonal of aᵀ b."""
        sums = np.zeros((-(-self._count // BLOCK), EIGHT))
        by_rows(lambda low, high: inner_products(low, high, a, b, sums), self._count)
        return np.asarray(sums.sum(axis=0))


def least_eigenvalue(steps: Array, ratios: Array) -> float:
    """Least eigenvalue of A K by conjugate gradients with the preconditioner A, for several loads (k, m): steps α along the
    directions, and ratios β of these (k or more, m), β_0 = 0; infinite without steps.

    ``T_kk = 1/α_k + β_k/α_{k-1},  T_k,k+1 = √β_{k+1}/α_k``.
    """
    least = np.inf
    for a, b in zip(steps.T, ratios.T[:, : len(steps)]):
        diagonal = 1.0 / a + b / np.concatenate([[1.0], a[:-1]])
        T = np.diag(diagonal) + np.diag(np.sqrt(b[1:]) / a[:-1], 1)
        least = min(least, float(np.linalg.eigvalsh(T, UPLO="U")[0])) if np.isfinite(T).all() else 0.0
    return least


def _columns(count: int) -> Single:
    """Eight columns of three numbers to each of some nodes."""
    return np.zeros(3 * EIGHT * count, np.float32)


@final
class Multigrid(Factor):
    """Response of second-order elements by two grids; by a direct factor from the first load on that it does not refine."""

    def __init__(self, problem: Problem) -> None:
        """Raises PivotError where the coarse matrix has no factor or a node no stiffness."""
        assert problem.interpolation is not None
        self._problem, self._error = problem, 0.0
        self._direct: CholeskyFactor | None = None
        coarse = problem.nodes[problem.interpolation.diagonal()[problem.nodes] == 1.0]
        P = problem.interpolation[problem.nodes][:, coarse].tocsr()
        factor, self._diagonal = _coarse_factor(problem, P)
        self._level = _level(problem)
        self._iteration = Iteration(self._level, factor, P)

    @classmethod
    def serving(cls, problem: Problem) -> Multigrid | None:
        """Two grids, if they serve for uniform loads, which find soft motions, and for random ones."""
        if problem.interpolation is None or not problem.definite:
            return None
        if np.count_nonzero(problem.interpolation.diagonal()[problem.nodes]) > COARSE * len(problem.nodes):
            return None
        try:
            found = cls(problem)
        except PivotError:
            return None
        loads = np.random.default_rng(0).standard_normal((problem.K.shape[0], EIGHT))
        loads[:, :3] = np.tile(np.eye(3), (len(loads) // 3, 1))
        least = found._iteration.solve(loads, problem.nodes, TRIED, np.zeros(loads.shape))
        return found if least > LEAST else None

    @property
    def rough(self) -> bool:
        return self._direct is None or self._direct.rough

    @property
    def form(self) -> str:
        return "two grids" if self._direct is None else self._direct.form

    @property
    def error(self) -> float:
        return self._error if self._direct is None else max(self._error, self._direct.error)

    @property
    def nnz(self) -> int:
        return self._iteration.coarse.nnz + len(self._level.entries) if self._direct is None else self._direct.nnz

    def approximate(self, loads: Array) -> Array:
        if self._direct is not None:
            return self._direct.approximate(loads)
        return self._responses(np.asarray(loads.reshape(len(loads), -1), float), ROUGHLY).reshape(loads.shape)

    def solve(self, loads: Array) -> Array:
        if self._direct is not None:
            return self._direct.solve(loads)
        columns = loads.reshape(len(loads), -1)
        found = np.empty(columns.shape)
        for low in range(0, columns.shape[1], TOGETHER):
            part = np.ascontiguousarray(columns[:, low : low + TOGETHER], dtype=float)
            found[:, low : low + TOGETHER], error = refined(self._product, self._cycle, part)
            error *= (1.0 - LEAST) / (ROUGH * np.sqrt(LEAST))  # in the norm of A, reduced once more by 1 − A K
            if not error <= REFINED:
                self._direct = self._factored()
                return self._direct.solve(loads)
            self._error = max(self._error, error)
        return found.reshape(loads.shape)

    def _factored(self) -> CholeskyFactor:
        """A direct factor in place of the two grids."""
        self._error = 0.0
        try:
            return CholeskyFactor(self._problem._replace(order=node_order(self._problem.graph)))
        except PivotError as error:
            raise InputError("stiffness: is not positive definite; correct springs and equations of the part") from error

    def negative_pivots(self) -> int:
        return 0 if self._direct is None else self._direct.negative_pivots()

    def nearly_singular(self) -> bool:
        ratio = self._iteration.coarse.pivots() / np.maximum(self._diagonal, 1e-300)
        return bool(ratio.min() < SOFT)

    def _product(self, x: Array) -> Array:
        return sparse_product(self._problem.K, x)

    def _cycle(self, loads: Array) -> Array:
        """The first approximation of the iteration, linear in the loads."""
        return self._responses(loads, np.inf)

    def _responses(self, loads: Array, error: float) -> Array:
        """Responses to loads (n, k), eight at once, of an expected error."""
        found = np.zeros(loads.shape)
        for low in range(0, loads.shape[1], EIGHT):
            self._iteration.solve(loads[:, low : low + EIGHT], self._problem.nodes, error, found[:, low : low + EIGHT])
        return found


def chebyshev_steps(largest: float) -> tuple[Step, ...]:
    """Steps of Chebyshev's iteration for eigenvalues between the largest and a part of it."""
    least = largest / RANGE
    middle, half = 0.5 * (largest + least), 0.5 * (largest - least)
    steps, rho = [Step(0.0, 1.0 / middle)], half / middle
    for _ in range(STEPS - 1):
        following = 1.0 / (2.0 * middle / half - rho)
        steps.append(Step(following * rho, 2.0 * following / half))
        rho = following
    return tuple(steps)


def _level(problem: Problem) -> Level:
    """The rows and columns of K of some nodes in single precision. Raises PivotError where a diagonal block is singular."""
    K, nodes, graph = problem.K, problem.nodes, problem.graph
    graph.sort_indices()
    number = np.full(K.shape[0] // 3, -1)
    number[nodes] = np.arange(len(nodes))
    level = Level(graph.indptr, graph.indices, np.zeros(9 * graph.nnz, np.float32), np.zeros(0, np.float32))
    rows = Rows(K.indptr, K.indices, K.data)
    by_rows(lambda low, high: copy_blocks(rows, nodes, number, low, high, level), len(nodes))
    owner = np.repeat(np.arange(len(nodes)), np.diff(graph.indptr))
    blocks = level.entries.reshape(-1, 3, 3)[graph.indices == owner].astype(float)
    try:
        inverse = np.linalg.inv(blocks)
    except np.linalg.LinAlgError:
        raise PivotError(None) from None
    if len(blocks) < len(nodes) or not np.isfinite(inverse).all():
        raise PivotError(None)
    return level._replace(inverse=inverse.astype(np.float32).ravel())


def _transfer(P: sp.csr_matrix) -> Transfer:
    return Transfer(P.indptr, P.indices, P.data.astype(np.float32))


def _coarse_factor(problem: Problem, P: sp.csr_matrix) -> tuple[Cholesky, Array]:
    """Factor of PᵀKP in single precision, and the diagonal. Raises PivotError, MachineError."""
    entries = P.tocoo()
    rows, columns = (np.add.outer(3 * each, np.arange(3)).ravel() for each in (problem.nodes[entries.row], entries.col))
    lift = sp.csr_matrix((np.repeat(entries.data, 3), (rows, columns)), shape=(problem.K.shape[0], 3 * P.shape[1]))
    K = (lift.T @ (problem.K @ lift)).tocsr()
    nodes = np.arange(P.shape[1])
    graph = node_graph(K, nodes)
    tree = analyse(graph.indptr, graph.indices, node_order(graph))
    check_free_memory(Cholesky.bytes_needed(tree, np.float32), f"the factor of {K.shape[0]} coarse degrees of freedom")
    return Cholesky(K, tree, precision=np.float32), K.diagonal()
