"""Quasi-velocities: user-defined σ = B_σ s, completed to a full set w of velocities.

s = T w with a regular T. For a constant T

    TᵀM T ẇ = Tᵀ k + (G T)ᵀ λ,   G T w + γ̄ = 0

has the same λ. B_σ may be a function of q and t: T then belongs to the instant, and only σ̇ = B_σ ṡ
+ Ḃ_σ s, never ṡ, needs Ḃ_σ. Embedding with the σ as independent velocities is the method of Appell
and Gibbs, with s = B σ + b:

    BᵀMB σ̇ = Bᵀ (k − M (Ḃ σ + ḃ)),   G B = 0,   B_σ B = 1,   G b = −γ̄,   B_σ b = 0.

Theory: docs/theory.md, sections 34 and 36. Papastavridis, Analytical Mechanics (2002), chapter 3;
Lurie, Analytical Mechanics (2002); Neimark and Fufaev, Dynamics of Nonholonomic Systems (1972).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from flexmbs._jit import called
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.system.compile import Compiled
from flexmbs.system.names import full_name, velocity_names

WHERE = "embedding.quasi_velocities"
ROUND_OFF = 1e-9  # of the largest entry of G
SINGULAR = 1e-8  # of the largest entry of G: smaller singular values count as zero
DEPENDENT = 1e-9  # of the largest pivot of B_σ: rows with smaller pivots are dependent


class QuasiVelocities(NamedTuple):
    """A full set of velocities w, s = T w, that ends with the chosen σ (theory, section 34)."""

    T: np.ndarray  # (ns, ns) s = T w
    names: tuple[str, ...]  # of w
    chosen: int  # number of σ
    address: int = 0  # of the C function T(t, q) if B_σ is a function


def quasi_velocities(
    compiled: Compiled, given: Any, q: np.ndarray | None = None, *, regular: bool = True
) -> QuasiVelocities:
    """Full set of quasi-velocities from user-defined rows B_σ, checked for regularity.

    given: names of velocities, mappings {name: coefficient}, a matrix (f, ns), or a function. T =
    [E; B_σ]⁻¹ with those rows E of the unit matrix that pivoted QR of B_σ finds independent of it.
    For a function B_σ(q, t), E is an orthonormal basis of its null space at every instant, here at
    ``q`` and t = 0 if given; if not ``regular``, its rows may be dependent there, and T is the unit
    matrix. Raises `InputError` for unknown names, numbers that are not finite, and dependent rows.
    Theory, section 34.
    """
    names = velocity_names(compiled)
    if callable(given):
        return (
            _evaluated_at_start(given, q, len(names), regular=regular)
            if q is not None
            else _varying(compiled, given, len(names))
        )
    B, own = _rows(given, names)
    R, order = scipy.linalg.qr(B, mode="r", pivoting=True)
    size = np.abs(np.diagonal(R))
    if len(B) > len(names) or not size.min(initial=np.inf) > DEPENDENT * size.max(initial=0.0):
        raise InputError(
            f"{WHERE}: its {len(B)} rows depend on each other; give independent "
            f"combinations of {', '.join(names)}"
        )
    # unit rows for the columns without pivot complete B_σ to a regular matrix
    others = np.sort(order[len(B) :])
    w = (*(names[c] for c in others), *own)
    T = np.linalg.inv(np.vstack([np.eye(len(names))[others], B]))
    return QuasiVelocities(np.ascontiguousarray(T), w, len(B))


def _varying(compiled: Compiled, given: Callable[..., Any], ns: int) -> QuasiVelocities:
    """Quasi-velocities given by a function B_σ(q, t).

    Its number of rows is that at rest, where they may be dependent.
    """
    nq = int(compiled.system.layout[1])

    def full_set(function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
        """Rows B(q, t) of a user function, completed to a square matrix."""
        B = _matrix(function(x[1:].copy(), float(x[0])), ns)
        return completed(B).ravel()

    address = compiled.callbacks.address(WHERE, given, full_set, 1 + nq, ns * ns)
    return _evaluated_at_start(given, rest(compiled), ns, regular=False)._replace(address=address)


def _evaluated_at_start(
    given: Callable[..., Any], q: np.ndarray, ns: int, *, regular: bool
) -> QuasiVelocities:
    """Evaluate a function B_σ at q and t = 0: full set of quasi-velocities."""
    try:
        B = _matrix(given(q.copy(), 0.0), ns)
        T = completed(B) if regular else np.eye(ns)
    except InputError as error:
        raise InputError(f"{WHERE}: its function {error}") from None
    others = (f"complement {i}" for i in range(1, ns - len(B) + 1))
    return QuasiVelocities(
        np.ascontiguousarray(T), (*others, *(f"σ{i}" for i in range(1, len(B) + 1))), len(B)
    )


def rest(compiled: Compiled) -> np.ndarray:
    """Reference coordinates q (nq,): undeformed bodies, all joint coordinates zero."""
    q, tree = np.zeros(int(compiled.system.layout[1])), compiled.system.tree
    for i, primary in enumerate(compiled.topology.tree):
        at = [x for motion in primary.motions for x in motion.rest]
        q[int(tree.q_at[i]) : int(tree.q_at[i]) + len(at)] = at
    return q


def completed(B: np.ndarray) -> np.ndarray:
    """T = [E; B]⁻¹ = [Eᵀ, B⁺] with an orthonormal basis E of the null space of B (f, ns).

    Raises `InputError`.
    """
    u, size, vt = np.linalg.svd(B)
    if len(B) > B.shape[1] or not size.min(initial=np.inf) > DEPENDENT * size.max(initial=0.0):
        raise InputError(
            f"gives {len(B)} rows that depend on each other; give independent "
            "combinations of the velocities"
        )
    f = len(B)
    return np.hstack([vt[f:].T, (vt[:f].T / size) @ u.T])


def _matrix(values: Any, ns: int) -> np.ndarray:
    """B_σ (f, ns) from the result of a function."""
    try:
        B = np.asarray(values, float)
    except (TypeError, ValueError):
        B = np.zeros(0)
    if B.ndim != 2 or B.shape[1] != ns or len(B) == 0 or not np.isfinite(B).all():
        raise InputError(
            f"gives {shown(values)}; return a matrix of {ns} columns, one for each velocity"
        )
    return B


def require_regular(own: QuasiVelocities, G: np.ndarray) -> None:
    """Raise `InputError` unless the σ determine the motion.

    There must be as many as G leaves degrees of freedom, and [G; B_σ] must be regular on the
    independent rows of G, that is, the columns of G T of the other velocities must have full rank
    (theory, section 34).
    """
    rank = (
        np.linalg.matrix_rank(G, ROUND_OFF * max(1.0, float(np.abs(G).max(initial=0.0))))
        if len(G)
        else 0
    )
    others = len(own.T) - own.chosen
    if own.chosen != len(own.T) - rank:
        raise InputError(
            f"{WHERE}: {own.chosen} quasi-velocities for {len(own.T) - rank} degrees of "
            f"freedom; give {len(own.T) - rank}"
        )
    # [G; B_σ] is regular if the columns of the other velocities have the rank of G
    rest = (G @ own.T)[:, :others]
    if rank and not np.linalg.svd(rest, compute_uv=False)[rank - 1] > SINGULAR * np.abs(G).max():
        undetermined = ", ".join(own.names[others:])
        raise InputError(
            f"{WHERE}: {undetermined} do not determine the other velocities at the start; "
            "choose others"
        )


def _rows(given: Any, names: tuple[str, ...]) -> tuple[np.ndarray, list[str]]:
    """Matrix B_σ (f, ns) and names of user-defined quasi-velocities."""
    if (
        isinstance(given, str | Mapping)
        or not isinstance(given, Sequence | np.ndarray)
        or len(given) == 0
    ):
        raise InputError(
            f"{WHERE}: {shown(given)} is not a list; give names of velocities, mappings "
            f"{{name: factor}}, or a matrix"
        )
    rows, own = [], []
    for i, row in enumerate(given, 1):
        if isinstance(row, str | Mapping):
            rows.append(_combination(row, names))
            own.append(full_name(row, names) if isinstance(row, str) else _sum(row, names))
        else:
            rows.append(_numbers(row, i, len(names)))
            own.append(f"σ{i}")
    return np.array(rows), own


def _combination(row: str | Mapping[Any, Any], names: tuple[str, ...]) -> np.ndarray:
    """One row of B_σ (ns,) from a name or a mapping of names to factors."""
    given = {row: 1.0} if isinstance(row, str) else row
    terms = {
        full_name(name, names) if isinstance(name, str) else name: factor
        for name, factor in given.items()
    }
    if len(terms) < len(given):
        raise InputError(f"{WHERE}: {shown(given)} names a velocity twice; name each once")
    for name in terms:
        require_known(name, names, f"{WHERE}: no velocity {shown(name)}")
    found = np.zeros(len(names))
    found[[names.index(name) for name in terms]] = _numbers(list(terms.values()), 1, len(terms))
    return found


def _sum(row: Mapping[str, float], names: tuple[str, ...]) -> str:
    """Linear combination of named velocities as text."""
    return " + ".join(f"{factor:g} {full_name(name, names)}" for name, factor in row.items())


def _numbers(row: Any, i: int, count: int) -> np.ndarray:
    """Row i as ``count`` finite numbers. Raises `InputError`."""
    try:
        values = np.asarray(row, float)
    except (TypeError, ValueError):
        raise InputError(f"{WHERE}: row {i} is {shown(row)}; give {count} numbers") from None
    if values.shape != (count,) or not np.isfinite(values).all():
        raise InputError(f"{WHERE}: row {i} is {shown(row)}; give {count} finite numbers")
    return values


@called
def rows_in_quasi_velocities(T, G, scratch):
    """G ← G T: constraint matrix in quasi-velocities."""
    n = T.shape[0]
    for r in range(G.shape[0]):
        for c in range(n):
            scratch[c] = G[r, c]
            G[r, c] = 0.0
        for a in range(n):
            f = scratch[a]
            if f != 0.0:
                for c in range(n):
                    G[r, c] += f * T[a, c]


@called
def mass_in_quasi_velocities(T, M, X):
    """M ← TᵀM T (ns, ns); X (ns, ns) is workspace."""
    n = T.shape[0]
    for a in range(n):
        for c in range(n):
            X[a, c] = 0.0
        for b in range(n):
            f = M[a, b]
            if f != 0.0:
                for c in range(n):
                    X[a, c] += f * T[b, c]
    for a in range(n):
        for c in range(n):
            M[a, c] = 0.0
    for b in range(n):
        for a in range(n):
            f = T[b, a]
            if f != 0.0:
                for c in range(n):
                    M[a, c] += f * X[b, c]


@called
def forces_in_quasi_velocities(T, r, scratch):
    """r ← Tᵀ r (ns,)."""
    n = T.shape[0]
    for a in range(n):
        scratch[a] = r[a]
        r[a] = 0.0
    for b in range(n):
        for a in range(n):
            r[a] += T[b, a] * scratch[b]


@called
def velocities_of(T, w, scratch):
    """w ← T w (ns,), the velocities s."""
    n = T.shape[0]
    for a in range(n):
        scratch[a] = w[a]
    for a in range(n):
        w[a] = 0.0
        for b in range(n):
            w[a] += T[a, b] * scratch[b]
