"""Small motions with nonholonomic rows: ẋ = A x in (y, σ, z).

There are more displacements y than velocities σ.

R(q, s, ṡ, λ) = 0 differentiated, M δṡ + D δs + K δ = Gᵀμ, with G_h δ = 0 of the holonomic rows and,
of all rows, G δs + W δ = 0 and G δṡ + G_s δs + G_q δ = 0:  δ = N_h y,  δs = B σ + (…) y with G B =
0,  and δṡ = −N Nᵀ (D δs + K δ) − P (G_s δs + G_q δ), NᵀMN = 1, G P = 1. y and σ are components of δ
and δs in axes in which A changes least along the motion; about a steady motion it is constant.
Source: Neimark and Fufaev, Dynamics of Nonholonomic Systems (1972), ch. V; Meijaard et al., Proc.
R. Soc. A 463 (2007) 1955.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.dynamics.dense import Terms
from flexmbs.initial.assembly import displaced, holonomic_rows
from flexmbs.results.state import State, settled_state
from flexmbs.studies.linear.steady_axes import SteadyAxes, candidates, speed_of
from flexmbs.studies.states.balance import equation_sizes, free_directions
from flexmbs.studies.states.jacobians import partition
from flexmbs.studies.states.linear_ports import (
    LinearInputs,
    LinearOutputs,
    displacement_rates,
)
from flexmbs.studies.states.tangent import Tangents, dense, tangents
from flexmbs.system.step_scales import displacement_sizes

ROUND_OFF = 1e-14  # of the largest entry of A, and 100 times that of the row's largest
NOISE = 1e-12  # of the same, in columns without larger entries
LATER = 1e-2  # rad or of the model's size of the fastest velocity, to the comparison state of A
# of the entries of A: a motion that is not steady changes them by the distance to that state
CHANGED = 1e-4


class FirstOrder(NamedTuple):
    """ẋ = A x + B u, outputs = C x + feedthrough u, x = (y, σ, z).

    M σ̇ + D σ + K y = 0; δ = basis y.
    """

    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    steady: bool
    M: np.ndarray
    D: np.ndarray
    K: np.ndarray
    basis: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    feedthrough: np.ndarray


class Chosen(NamedTuple):
    """Indices of y and σ among the displacements and velocities in the chosen axes."""

    axes: SteadyAxes
    y: list[int]
    sigma: list[int]


class Small(NamedTuple):
    """Small motions (δ, δs) = X x + X_0 c + X_1 ċ, with the coordinates c of drives.

    d/dt (δ, δs) = rates (δ, δs) + …; (y, σ) = take (δ, δs).
    """

    X: np.ndarray
    X_0: np.ndarray
    X_1: np.ndarray
    motion: np.ndarray  # (n + f, 2 ns): ẏ, σ̇ of (δ, δs)
    take: np.ndarray  # (n + f, 2 ns)
    N: np.ndarray
    P: np.ndarray


def first_order(
    here: State,
    known: Terms,
    slopes: Tangents,
    inputs: LinearInputs,
    outputs: LinearOutputs,
    independent: Sequence[str],
) -> FirstOrder:
    """Matrices of the first-order form ẋ = A x + B u at a state.

    Raises `InputError` for coordinates that are not independent.
    """
    ns, nz = len(here.s), len(here.z)
    chosen, steady = _steadiest(here, known, slopes, independent)
    small = _small(here, known, slopes, chosen, inputs.rows)
    n, names, rows = len(chosen.y), chosen.axes.names, inputs.rows
    force_rate = np.hstack([slopes.q.force_rate.T, slopes.s.force_rate.T])
    seen = np.hstack([outputs.position, outputs.rate])

    def accelerated(sdd: np.ndarray) -> np.ndarray:
        """Rates of the first-order state for accelerations ``sdd``."""
        return np.vstack([small.take[:, ns:] @ sdd, np.zeros((nz, sdd.shape[1]))])

    free = small.N @ small.N.T
    A = np.block(
        [
            [small.motion @ small.X, small.take[:, ns:] @ (free @ -slopes.z.r.T)],
            [force_rate @ small.X, slopes.z.force_rate.T],
        ]
    )
    A = _without_noise(A, n)
    driven = [
        np.vstack([small.motion @ part, force_rate @ part]) for part in (small.X_0, small.X_1)
    ]
    mass = small.X[ns:, n:].T @ known.M @ small.X[ns:, n:]
    own = slice(n, n + len(chosen.sigma))
    still = (
        np.zeros((len(seen), nz)),
        np.zeros((len(seen), inputs.forces.shape[1])),
        np.zeros((len(seen), len(rows))),
    )
    return FirstOrder(
        tuple(names[k] for k in chosen.y),
        tuple(names[k] for k in chosen.sigma),
        steady,
        mass,
        -mass @ A[own, own],
        -mass @ A[own, :n],
        small.X[:ns, :n],
        A,
        np.hstack([accelerated(free @ inputs.forces), *driven, accelerated(small.P[:, rows])]),
        np.hstack([seen @ small.X, still[0]]),
        np.hstack([still[1], seen @ small.X_0, seen @ small.X_1, still[2]]),
    )


def _steadiest(
    here: State, known: Terms, slopes: Tangents, independent: Sequence[str]
) -> tuple[Chosen, bool]:
    """Axes in which A changes least along the motion; True if it is constant."""
    found = [_independent_coordinates(here, known, axes, independent) for axes in candidates(here)]
    speed = speed_of(here)
    if speed == 0.0:
        return found[0], True
    after_it = later(here, LATER / speed)
    then = dense(after_it), tangents(after_it)
    change = []
    for chosen in found:
        now = _small(here, known, slopes, chosen, [])
        there = chosen._replace(axes=SteadyAxes(after_it, chosen.axes.turned))
        after = _small(after_it, *then, there, [])
        size = displacement_sizes(here.compiled)[chosen.y + chosen.sigma]
        A, then_A = (each.motion @ each.X * size / size[:, None] for each in (now, after))
        difference = np.abs(then_A - A).max(axis=1, initial=0.0)
        scale = np.abs(A).max(axis=1, initial=0.0) + speed + 1.0 / speed
        change.append(float((difference / scale).max(initial=0.0)))
    best = int(np.argmin(np.array(change) + CHANGED * np.arange(len(change))))
    further = SteadyAxes(after_it, found[best].axes.turned)
    return found[best], change[best] <= CHANGED and found[best].axes.steady and further.steady


def later(here: State, h: float) -> State:
    """State a short time h later."""
    system, q = here.compiled.system, here.q.copy()
    displaced(system, here.q, h * here.s + 0.5 * h * h * here.sd, q)
    return settled_state(here.compiled, here.t + h, q, here.s + h * here.sd, here.beta, here.z)


def _independent_coordinates(
    here: State, known: Terms, axes: SteadyAxes, independent: Sequence[str]
) -> Chosen:
    """Independent displacements and velocities.

    In the tangent of the holonomic rows, and in the kernel of all rows.
    """
    names, sizes, E = (
        axes.names,
        displacement_sizes(here.compiled),
        axes.map(here.q, here.s)[: len(here.s), : len(here.s)],
    )
    of_equations = equation_sizes(here)
    N_h, _ = free_directions(
        known.M,
        known.G[holonomic_rows(here.compiled)],
        of_equations.of(holonomic_rows(here.compiled)),
    )
    N, _ = free_directions(known.M, known.G, of_equations)
    return Chosen(
        axes, partition(E @ N_h, names, independent, sizes), partition(E @ N, names, (), sizes)
    )


def _small(
    here: State, known: Terms, slopes: Tangents, chosen: Chosen, driven: Sequence[int]
) -> Small:
    """Linearized motions in the chosen coordinates, with changes of the drives.

    The drives' changes are on the rows ``driven``.
    """
    ns, S = len(here.s), chosen.axes.map(here.q, here.s)
    E, turning, W = S[:ns, :ns], S[ns:, :ns], slopes.q.gs.velocity.T
    holonomic = holonomic_rows(here.compiled)
    of_equations = equation_sizes(here)
    N_h, P_h = free_directions(known.M, known.G[holonomic], of_equations.of(holonomic))
    N, P = free_directions(known.M, known.G, of_equations)
    Y = N_h @ np.linalg.inv((E @ N_h)[chosen.y])
    B = N @ np.linalg.inv((E @ N)[chosen.sigma])
    c = P_h[:, (np.cumsum(holonomic) - 1)[list(driven)]]
    c = c - Y @ (E @ c)[chosen.y]

    def velocities(delta: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Velocity variations δs that satisfy the constraint rows and have σ = 0."""
        kept = rate - P @ (W @ delta)
        return kept - B @ (turning @ delta + E @ kept)[chosen.sigma]

    nothing = np.zeros_like(c)
    X = np.block([[Y, np.zeros((ns, B.shape[1]))], [velocities(Y, np.zeros_like(Y)), B]])
    take = np.concatenate([chosen.y, ns + np.array(chosen.sigma, int)]).astype(int)
    motion = (S @ _rates(here, slopes, N, P) + chosen.axes.map_rate())[take]
    X_0 = np.vstack([c, velocities(c, nothing)])
    X_1 = np.vstack([nothing, velocities(nothing, P[:, list(driven)])])
    return Small(X, X_0, X_1, motion, S[take], N, P)


def _rates(here: State, slopes: Tangents, N: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Matrix (2 ns, 2 ns) of the rates of (δ, δs)."""
    free = N @ N.T
    upper = np.hstack([-displacement_rates(here, here.s), np.eye(len(here.s))])
    position = -free @ slopes.q.r.T - P @ slopes.q.gs.acceleration.T
    return np.vstack(
        [upper, np.hstack([position, -free @ slopes.s.r.T - P @ slopes.s.gs.acceleration.T])]
    )


def _without_noise(A: np.ndarray, n: int) -> np.ndarray:
    """A with exact zeros in the columns of ignorable coordinates.

    Their eigenvalues are then zero too.
    """
    size = np.abs(A)
    noise = ROUND_OFF * (100.0 * size.max(axis=1, initial=0.0) + size.max(initial=0.0))
    ignorable = (size[:, :n] <= NOISE / ROUND_OFF * noise[:, None]).all(axis=0)
    A[:, :n][ignorable | (size[:, :n] <= noise[:, None])] = 0.0
    return A
