"""Equilibrium R(q, λ, z) = F, g(q, t) = 0, ż = 0 as equations.

One linearisation, its free directions, and a step from it.

δ = δ_p + N y with G N = 0: the particular part closes the constraints, Nᵀ K N y = −Nᵀ (R + K δ_p)
balances the free ones, and λ, z follow from the residual (least norm if constraints are redundant).
Force states with rates that depend on them, as currents and pressures, are eliminated by δz =
−(∂ż/∂z)⁻¹ (ż + ∂ż/∂q δ); those of integrators act as multipliers of ż = 0. N is orthonormal in the
mass matrix, so that the eigenvalues of NᵀKN are squares of frequencies (rad/s)².
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import cholesky, expm, orthogonal_procrustes, solve_triangular

from flexmbs.diagnosis.rank import displaced, own_sizes
from flexmbs.dynamics.dense import terms
from flexmbs.errors import SolverError
from flexmbs.initial.row_sizes import relative_sizes
from flexmbs.results.state import State
from flexmbs.studies.states.state_sequence import displacement
from flexmbs.studies.states.tangent import Tangents, Values, evaluate, rates_along, tangents
from flexmbs.system.records import SPARE
from flexmbs.system.step_scales import displacement_sizes

RANK = 1e-10  # relative singular value below which rows are dependent
SINGULAR = 1e-8  # of differences
UNSEEN = 1e-6  # displacement, rad or relative to the size of the model
SLOW = 1e-6  # 1/s: velocities at which dampers are negligible
CARRIED = 1e-11  # error of a step in the integration of states that motions change
AFFINE = 1e-10  # of rates: they are linear up to round-off
NOWHERE = 1e-13  # rad or relative to the size of the model: displacements without a direction
SETTLINGS, SETTLED = 50, 1e-12  # Newton steps of force states; of their size
ROUND_OFF = 1e-14  # relative to the size of rows between frames, and to lengths
# largest part of a row of unit length that may be round-off; shorter rows are enlarged less
UNCERTAIN = 1e-8
NOT_HELD = 1e-6  # (rad/s)²: slower than a period of two hours
NOISE = 1e-13  # of the largest squared frequency
ASYMMETRIC = 1e-6  # of the largest stiffness: above the errors of differences
BISECTIONS = 30  # of the damping of a Levenberg–Marquardt step, from 1e-30 on by factors of 100


class OwnStates(NamedTuple):
    """Force states that their own rates bring to rest.

    Indices in z, response −(∂ż/∂z)⁻¹, their change response · ż, and its slope along δ.

    Where a row of ∂ż/∂z is zero, a slow motion alone changes the state, by ∂ż/∂s δ, as pressures of
    oil that is shut in follow from its volume, and bristles of friction from the path (`carried`).
    kept: δz by these changes.
    """

    places: np.ndarray
    response: np.ndarray
    change: np.ndarray
    slope: np.ndarray
    kept: np.ndarray


@dataclass(frozen=True, eq=False)
class Balance:
    """The linearised equilibrium at a state.

    r (ns,), g (n,): imbalance and gaps, rates of integrators under g; K (ns, ns): ∂R/∂δ, both with
    the other force states at ż = 0; forces (ns, n): columns Gᵀ and −∂R/∂z; own: those other states;
    integrators (nz,): mask; N (ns, f): free directions; P (ns, n): δ_p = −P g; stiffness (f, f):
    NᵀKN; rows (nc,): sizes of the rows of G.
    """

    state: State
    r: np.ndarray
    g: np.ndarray
    K: np.ndarray
    forces: np.ndarray
    N: np.ndarray
    P: np.ndarray
    sizes: np.ndarray
    rows: np.ndarray
    tangents: Tangents
    own: OwnStates
    integrators: np.ndarray

    @property
    def stiffness(self) -> np.ndarray:
        """(f, f) reduced stiffness."""
        return np.asarray(self.N.T @ self.K @ self.N)

    @property
    def held(self) -> float:
        """Squared frequency (rad/s)² below which a direction counts as unsupported."""
        return NOT_HELD + NOISE * float(np.abs(self.stiffness).max(initial=0.0))

    def free(self) -> tuple[np.ndarray, np.ndarray]:
        """Squared frequencies (f,), ascending, and directions (ns, f).

        Of the symmetric part of the reduced stiffness.
        """
        value, vector = np.linalg.eigh(0.5 * (self.stiffness + self.stiffness.T))
        return value, self.N @ vector

    @property
    def conservative(self) -> bool:
        """True if the reduced stiffness is symmetric.

        An equilibrium at rest is then a stationary point of an energy.
        """
        A = self.stiffness
        return bool(np.abs(A - A.T).max(initial=0.0) <= ASYMMETRIC * np.abs(A).max(initial=0.0))

    def loose(self) -> tuple[np.ndarray, np.ndarray]:
        """Left and right null vectors (f, k) of the reduced stiffness: unsupported directions.

        Unsupported directions N V, in which the force is Uᵀ Nᵀ r. U is rotated to be as near to V
        as possible; both are equal for a symmetric stiffness.
        """
        left, value, right = np.linalg.svd(self.stiffness)
        few = value <= self.held
        U, V = left[:, few], right[few].T
        return (U @ orthogonal_procrustes(U, V)[0] if few.any() else U), V

    def step(self, load: np.ndarray, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Newton step (δ, change of (λ, z)) towards the residual R = ``load``.

        ``shift`` is added to the reduced stiffness, and 1 (rad/s)² in unsupported directions.
        """
        closing, out, (U, V) = -self.P @ self.g, self.r - load, self.loose()
        A = self.stiffness + shift * np.eye(self.N.shape[1]) + U @ V.T
        delta = (
            closing
            - self.N @ np.linalg.lstsq(A, self.N.T @ (out + self.K @ closing), rcond=None)[0]
        )
        return delta, self._change(out, delta)

    def _change(self, out: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Change of (λ, z) that balances ``out`` + K δ along the constraints."""
        change = balancing(self.forces, out + self.K @ delta, self.sizes, self.rows)
        change[len(self.state.lam) + self.own.places] = self.own.change + self.own.slope @ delta
        return np.asarray(change)

    def weights(self) -> np.ndarray:
        """Weights W (f, ns) that express residual forces as displacements [√kg m].

        That of each direction over its own stiffness.
        """
        value, vector = np.linalg.eigh(0.5 * (self.stiffness + self.stiffness.T))
        return np.asarray((vector / np.maximum(np.abs(value), self.held)).T @ self.N.T)

    def trusted(self, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Levenberg–Marquardt step (δ, change of (λ, z)) limited to ``reach``.

        Not longer than ``reach``:

            y = argmin |W (r + K δ_p) + W K N y|² + μ |y|²,  δ = δ_p + N y,

        the smallest μ ≥ 0 for that length. Source: Moré, The Levenberg–Marquardt algorithm, in:
        Numerical Analysis (1978) 105.
        """
        closing, W = -self.P @ self.g, self.weights()
        left, size, right = np.linalg.svd(W @ self.K @ self.N)
        b, floor = left.T @ (W @ (self.r + self.K @ closing)), NOISE * size.max(initial=0.0)
        size = np.maximum(size, floor)

        def at(damping: float) -> np.ndarray:
            """Damped least-squares step for a damping factor."""
            # forces at their limits have no slope, which no step changes
            part = np.divide(size, size**2 + damping, out=np.zeros_like(size), where=size > 0.0)
            return np.asarray(closing - self.N @ (right.T @ (part * b)))

        delta, low, high = at(0.0), 1e-30, 1e30
        if self.span(delta) > reach:
            for _ in range(BISECTIONS):
                middle = np.sqrt(low * high)
                low, high = (middle, high) if self.span(at(middle)) > reach else (low, middle)
            delta = at(high)
        return delta, self._change(self.r, delta)

    def fall(self) -> float:
        """Largest acceleration along unsupported directions.

        In rad/s², or relative to the size of the model.
        """
        U, V = self.loose()
        return self.span(self.N @ (V @ (U.T @ (self.N.T @ self.r))))

    def span(self, delta: np.ndarray) -> float:
        """Largest component of a displacement in rad, or relative to the size of the model."""
        return float(np.abs(delta / self.sizes).max(initial=0.0))

    def unbalanced(self) -> float:
        """Largest residual force relative to the largest force.

        Without those that correspond to negligible displacements by the stiffness.

        Laws beyond their limits do not give what their slopes promise.
        """
        left = np.abs(self.r)
        seen = left > UNSEEN * np.abs(np.diagonal(self.K)) * self.sizes
        parts = (
            self.forces[:, : len(self.state.lam)] * self.state.lam,
            self.tangents.z.r.T * self.state.z,
            left,
        )
        largest = max(float(np.abs(part).max(initial=0.0)) for part in parts)
        return float(left[seen].max(initial=0.0)) / max(largest, 1e-300)


def balance(state: State, origin: State | None = None) -> Balance:
    """Linearisation of the static equations at a state.

    origin: state from which a slow motion led here, along which force states are `carried`. Without
    it they are those of the state, and their slopes are those of a motion to either side.
    """
    work = state.work()
    known = terms(state.compiled.system, work, state.t, state.q, state.s, state.z)
    state = replace(state, beta=work.beta[:-SPARE].copy())
    if origin is None:
        state, values, slopes, own = settled_states(state)
    else:
        state, values, slopes, own = _led_from(origin, state)
    used = np.abs(slopes.z.r).max(axis=1, initial=0.0) > 0.0
    used[own.places] = False
    with_state = slopes.z.r.T * used
    rows = np.vstack([known.G, slopes.q.force_rate.T[used]])
    forces = np.hstack([known.G.T, -with_state])
    by_own = slopes.z.r[own.places].T
    g = np.concatenate([values.gs.position, values.force_rate[used]])
    sizes = displacement_sizes(state.compiled)
    of_rows = np.zeros(len(rows))
    of_rows[: len(known.G)] = own_sizes(state.compiled, work, len(known.G))
    N, P = free_directions(known.M, rows, EquationSizes(sizes, of_rows))
    r, K = values.r + by_own @ own.change, slopes.q.r.T + by_own @ own.slope
    return Balance(
        state,
        r,
        g,
        K,
        forces,
        N,
        P,
        sizes,
        relative_sizes(state.compiled, work, known.G),
        slopes,
        own,
        used,
    )


def balancing(
    columns: np.ndarray, load: np.ndarray, sizes: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Scaled least-norm solution x of columns x = load.

    rows: the first columns, in moments and forces times the size of the model.
    """
    scale = np.linalg.norm(columns * sizes[:, None], axis=0)
    scale[: len(rows)] = rows
    scale = 1.0 / np.where(scale > 0.0, scale, 1.0)
    return np.asarray(
        scale * np.linalg.lstsq(columns * sizes[:, None] * scale, sizes * load, rcond=RANK)[0]
    )


def settled_states(state: State) -> tuple[State, Values, Tangents, OwnStates]:
    """State with force states changed to their equilibrium ż = 0.

    By damped Newton steps, as far as these go.
    """
    values, slopes = evaluate(state), tangents(state)
    own = own_states(state, values, slopes)
    for _ in range(SETTLINGS):
        size, part = float(np.abs(own.change).max(initial=0.0)), 1.0
        if not size > SETTLED * float(np.abs(state.z[own.places]).max(initial=0.0)):
            break
        rate = np.linalg.norm(values.force_rate[own.places])
        while part > SETTLED:
            z = state.z.copy()
            z[own.places] += part * own.change
            found = evaluate(replace(state, z=z))
            if np.linalg.norm(found.force_rate[own.places]) < 0.9 * rate:
                break
            part *= 0.5
        else:
            break
        state, values = replace(state, z=z), found
        slopes = tangents(state)
        own = own_states(state, values, slopes)
    return state, values, slopes, own


def _led_from(origin: State, state: State) -> tuple[State, Values, Tangents, OwnStates]:
    """`settled_states` at the end of a slow motion, with slopes along its direction."""
    here = settled_states(state)
    own = here[-1]
    if not own.kept.any():
        return here
    delta = displacement(origin, state)
    z = state.z.copy()
    z[own.places] += own.kept @ (carried(origin, delta, own) - z[own.places])
    state, values, slopes, own = settled_states(replace(state, z=z))
    span = float(np.abs(delta / displacement_sizes(state.compiled)).max(initial=0.0))
    if span > NOWHERE:
        moving = tangents(replace(state, s=SLOW / span * delta))
        own = own_states(state, values, slopes, moving.s.force_rate)
    return state, values, slopes, own


def carried(origin: State, delta: np.ndarray, own: OwnStates) -> np.ndarray:
    """Own force states (n,) after a slow motion by δ from a state: dz/dx = ∂ż/∂s δ, 0 ≤ x ≤ 1.

    The motion is straight. At small rates, ż of oil and of bristles is of first degree in s, so
    that the result does not depend on the rate. The equation is stiff where bristles slide far; it
    is linear with constant coefficients for them, and solved in closed form then.
    """
    along = rates_along(origin, delta, SLOW)

    def rate(part: float, z: np.ndarray) -> np.ndarray:
        """dz/dx by the difference of the rates at motion and at rest."""
        full = origin.z.copy()
        full[own.places] = z
        still, moving = along(part, full)[:, own.places]
        return np.asarray(own.kept @ (moving - still)) / SLOW

    first = origin.z[own.places]
    found = _by_constant_coefficients(rate, first)
    if found is None:
        size = np.abs(rate(0.0, first)) + np.abs(first)
        atol = 1e-3 * CARRIED * np.where(size > 0.0, size, 1.0)
        path = solve_ivp(rate, (0.0, 1.0), first, method="LSODA", rtol=CARRIED, atol=atol)
        found = path.y[:, -1]
    return np.asarray(found)


def _by_constant_coefficients(
    rate: Callable[[float, np.ndarray], np.ndarray], z: np.ndarray
) -> np.ndarray | None:
    """z(1) of dz/dx = a + B (z − z(0)), by the exponential of [[B, a], [0, 0]].

    None if the rate is not of this form at the start, in the middle and at the end.
    """
    n, a = len(z), rate(0.0, z)
    steps = np.diag(np.where(a != 0.0, np.abs(a), 1.0))
    B = np.column_stack([(rate(0.0, z + step) - a) / step.max() for step in steps])
    far = 2.0 * steps.sum(axis=0)
    size = AFFINE * (np.abs(a) + np.abs(B) @ far)
    for part in (0.5, 1.0):
        for given in (np.zeros(n), far):
            if (np.abs(rate(part, z + given) - a - B @ given) > size).any():
                return None
    return np.asarray(z + expm(np.block([[B, a[:, None]], [np.zeros((1, n + 1))]]))[:n, n])


def own_states(
    state: State, values: Values, slopes: Tangents, by_s: np.ndarray | None = None
) -> OwnStates:
    """The force states whose rates depend on force states.

    by_s (ns, nz): derivatives of the rates by velocities, by default those of ``slopes``.
    Raises `SolverError` where rest leaves combinations of them undetermined, but not each of these
    states.
    """
    by_z, by_q = slopes.z.force_rate.T, slopes.q.force_rate.T
    acting, integrates = (
        np.abs(slopes.z.r).max(axis=1, initial=0.0) > 0.0,
        np.abs(by_q).max(axis=1, initial=0.0) > 0.0,
    )
    places = np.flatnonzero((np.abs(by_z).max(axis=1, initial=0.0) > 0.0) | (acting & ~integrates))
    matrix = by_z[np.ix_(places, places)]
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    scale = 1.0 / np.where(largest > 0.0, largest, 1.0)
    u, size, _ = np.linalg.svd(matrix * scale[:, None])
    rank = int((size > SINGULAR * size.max(initial=0.0)).sum())
    settles, keeps = u[:, :rank].T * scale, u[:, rank:].T * scale
    solved = np.linalg.inv(np.vstack([settles @ matrix, keeps]))
    response, kept = -solved[:, :rank] @ settles, solved[:, rank:] @ keeps
    # leakage between chambers depends on the path to the equilibrium
    if rank != np.count_nonzero(largest):
        names = ", ".join(
            dict.fromkeys(f"'{state.compiled.force_states[place]}'" for place in places)
        )
        text = f"statics: rest does not determine the force states of {names}"
        raise SolverError(f"{text}; shut-in oil that leaks: open the valve, or set leakage=0")
    by_s = slopes.s.force_rate if by_s is None else by_s
    slope = response @ by_q[places] + kept @ by_s.T[places]
    return OwnStates(places, response, response @ values.force_rate[places], slope, kept)


class EquationSizes(NamedTuple):
    """Sizes of the equations of a state, which make ranks independent of units.

    Comparable displacements (ns,) and own sizes (nc,) of rows between frames, 0 for others.
    """

    displacements: np.ndarray
    rows: np.ndarray

    def of(self, rows: np.ndarray) -> "EquationSizes":
        """Sizes of some of the equations."""
        return EquationSizes(self.displacements, self.rows[rows])


def equation_sizes(here: State) -> EquationSizes:
    """Sizes by which the residuals of the equations are judged."""
    compiled, work = here.compiled, here.work()
    G = terms(compiled.system, work, here.t, here.q, here.s, here.z).G
    return EquationSizes(displacement_sizes(compiled), own_sizes(compiled, work, len(G)))


def free_directions(
    M: np.ndarray, G: np.ndarray, sizes: EquationSizes
) -> tuple[np.ndarray, np.ndarray]:
    """N (ns, f) with G N = 0, NᵀMN = 1, and P (ns, nc) with G P = 1.

    The columns of P have least mass-weighted norm.

    The rank is that of rows divided by their own lengths, as rows of users may have any factors.
    """
    d = sizes.displacements
    G = G * d
    try:
        L = cholesky(d[:, None] * M * d, lower=True)
    except np.linalg.LinAlgError:
        L = np.eye(len(M))
    rows = solve_triangular(L, G.T, lower=True).T
    length, own = np.linalg.norm(rows, axis=1), np.maximum(np.linalg.norm(G, axis=1), sizes.rows)
    noise = ROUND_OFF * own / np.diag(L).min(initial=np.inf)
    # entries of G at round-off of their rows are not directions, however small the mass they act on
    scale = np.where(length > noise, 1.0 / np.maximum(length, noise / UNCERTAIN), 0.0)
    u, size, vt = np.linalg.svd(scale[:, None] * rows)
    rank = int((size > max(RANK * size.max(initial=0.0), (noise * scale).max(initial=0.0))).sum())
    N = solve_triangular(L.T, vt[rank:].T)
    P = solve_triangular(L.T, (vt[:rank].T / size[:rank]) @ (u[:, :rank].T * scale))
    return d[:, None] * N, d[:, None] * P


def moved(state: State, delta: np.ndarray, change: np.ndarray | None = None) -> State:
    """State displaced by δ, with changed λ and z."""
    system, q = state.compiled.system, state.q.copy()
    displaced(system, state.q, np.ascontiguousarray(delta), q)
    lam, z = state.lam, state.z
    if change is not None:
        lam, z = lam + change[: len(lam)], z + change[len(lam) :]
    return replace(state, q=q, lam=lam, z=z)
