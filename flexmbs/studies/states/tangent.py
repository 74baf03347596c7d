"""Tangents of the equations of motion by differences of fourth order, dense.

For statics and linearisation.

The residual R(q, s, ṡ, λ, z, t) = M ṡ − k − Gᵀλ and the constraint values g, ġ = G s + γ̄, g̈ = G ṡ
− γ are evaluated at states q ⊕ δ, s + δs, …; the tangents include all terms: gravity, constraint
forces, geometric terms, user functions. Laws of forces are replaced by their own tangents
(`flexmbs.studies.states.linear_laws`), so that differences are taken of smooth mechanics only.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.algebra.differences import PLACES, WEIGHTS
from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.equations import residual_with_reactions
from flexmbs.dynamics.kinematics import displace
from flexmbs.results.state import State
from flexmbs.studies.states.linear_laws import Corner, linear_laws, require_finite
from flexmbs.system.compile import Compiled
from flexmbs.system.records import (
    ConstraintValues,
    Evaluation,
    Loads,
    System,
    Work,
    copied,
    depends_on_reactions,
)
from flexmbs.system.step_scales import displacement_sizes

STEP = 1e-3  # of rotations (rad), and of displacements over the size of the model
# of 1 + the largest rate: forces but friction are quadratic in rates, without truncation
RATE_STEP = 1e-2
# differences to both sides, one from the other; −3 times the value here
APART = np.array([4.0, 4.0, -1.0, -1.0]) / 2.0
FINER, REFINEMENTS = 0.25, 6  # of the steps of positions, where the mechanics bends within them
BENT, SEEN = 1e-8, 1e-9  # of the slopes along a direction, and of the largest change by a step
CORNER = 1e-4  # of both
ROUND_OFF = 1e-12  # of forces, positions and their rates
# displacements over their sizes whose effect is round-off, and how many of them are tried
BESIDE, TRIALS = 1e-14, 4
MARGIN = 30.0  # of the largest round-off over that of these


@packed()
def perturbed(system, work, t, base, steps, x, out):
    """out ← values of the equations at states base ⊕ steps, row by row.

    R, g, ġ, g̈, rates of force states, powers, velocities of cut joints.

    base (5, n): q, s, ṡ, z, λ; steps (m, 3 ns + nz + 1): changes of q, s, ṡ, z, t; x (4, n) is
    scratch.
    """
    ns = work.r.shape[0]
    nc = work.gs.position.shape[0]
    nz = work.force_rate.shape[0]
    ncut = system.cuts.row.shape[0]
    for i in range(steps.shape[0]):
        displace(system.tree, system.joints, base[0], steps[i], x[0])
        for a in range(ns):
            x[1, a] = base[1, a] + steps[i, ns + a]
            x[2, a] = base[2, a] + steps[i, 2 * ns + a]
        for a in range(nz):
            x[3, a] = base[3, a] + steps[i, 3 * ns + a]
        here = Evaluation(x[0], x[1], x[2], base[4], x[3], work.r)
        residual_with_reactions(system, work, t + steps[i, 3 * ns + nz], here, False)
        for a in range(ns):
            out[i, a] = work.r[a]
        at = ns
        for a in range(nc):
            out[i, at + a] = work.gs.position[a]
            out[i, at + nc + a] = work.gs.velocity[a]
            out[i, at + 2 * nc + a] = work.gs.acceleration[a]
        at += 3 * nc
        for a in range(nz):
            out[i, at + a] = work.force_rate[a]
        at += nz
        out[i, at] = work.power.forces
        out[i, at + 1] = work.power.loss
        out[i, at + 2] = work.power.drives
        at += 3
        for k in range(ncut):
            for a in range(6):
                out[i, at + a] = work.cut.eta[k, a]
            at += 6


class Values(NamedTuple):
    """Residuals of the equations at one state, or their derivatives: one row per direction."""

    r: np.ndarray  # (…, ns) M ṡ − k − Gᵀλ
    gs: ConstraintValues  # (…, nc) g, G s + γ̄, G ṡ − γ
    force_rate: np.ndarray  # (…, nz)
    power: np.ndarray  # (…, 3) of forces, dissipation, drives
    eta: np.ndarray  # (…, ncut, 6) velocities of the cut joints


class Tangents(NamedTuple):
    """Derivatives along δ (q ⊕ δ), s, z and t, the directions first.

    corners: forces whose laws have no slope at the state; the slopes to both sides are averaged.
    rough: (ns,) where, along δ, the mechanics has no slope.
    """

    q: Values
    s: Values
    z: Values
    t: Values
    corners: tuple[Corner, ...]
    rough: np.ndarray


def evaluate(state: State) -> Values:
    """Values of all equations at a state."""
    values = _split(state.compiled, _rows(state, np.zeros((1, _width(state)))))
    return Values(
        values.r[0],
        ConstraintValues(*(each[0] for each in values.gs)),
        values.force_rate[0],
        values.power[0],
        values.eta[0],
    )


def rates_along(
    state: State, delta: np.ndarray, slow: float
) -> Callable[[float, np.ndarray], np.ndarray]:
    """Function of (x, z) that gives the rates ż (2, nz) of force states z displaced by x δ.

    At rest, and at the velocities ``slow`` δ.
    """
    ns, nz, work = len(state.s), len(state.z), state.work()
    nc = state.compiled.n_constraints

    def rates(part: float, z: np.ndarray) -> np.ndarray:
        steps = np.zeros((2, _width(state)))
        steps[:, :ns] = part * delta
        steps[1, ns : 2 * ns] = slow * delta
        steps[:, 3 * ns : 3 * ns + nz] = z - state.z
        return _rows(state, steps, work=work)[:, ns + 3 * nc :][:, :nz]

    return rates


def tangents(state: State, covectors: np.ndarray | None = None) -> Tangents:
    """Derivatives of the equations by q, s, ṡ, λ, z and t at a state.

    covectors (ncut, 36): rows of the cut joints to which its multipliers belong, by default those
    of its coordinates. The rows at other positions continue them.
    """
    ns, nz = len(state.s), len(state.z)
    size = np.concatenate(
        [
            displacement_sizes(state.compiled) * STEP,
            np.full(ns, RATE_STEP * (1.0 + np.abs(state.s).max(initial=0.0))),
            np.full(nz, RATE_STEP * (1.0 + np.abs(state.z).max(initial=0.0))),
            [1e-4 * max(1.0, abs(state.t))],
        ]
    )
    here, own = np.zeros((1, _width(state))), _Evaluated(state, state.compiled.system, state.work())
    if covectors is not None:
        own.work.path.covectors[:] = covectors
    _rows(state, here, own.system, own.work)
    own.work.path.covectors[:] = own.work.cut.covectors
    linear = linear_laws(state, own.work, lambda system, work: _rows(state, here, system, work))
    linear.work.path.covectors[:] = own.work.path.covectors
    evaluated = _Evaluated(state, linear.system, linear.work)
    by_others, _ = _differences(evaluated, ns + np.arange(ns + nz), size[ns:-1])
    by_q, rough = _refined(
        evaluated, np.arange(ns), size[:ns], by_others[:ns] * size[ns : 2 * ns, None]
    )
    if (state.compiled.system.contacts.law_kernel >= 0).any():
        # friction of contacts is smooth over a slip that these steps may exceed
        by_others[:ns], _ = _refined(
            evaluated, ns + np.arange(ns), size[ns : 2 * ns], by_q * size[:ns, None]
        )
    by_time, _ = _differences(own, np.array([2 * ns + nz]), size[-1:])
    parts = by_q, by_others[:ns], by_others[ns:], by_time
    q, s, z, t = (_split(state.compiled, part) for part in parts)
    return Tangents(q, s, z, t, linear.corners, rough)


class _Evaluated(NamedTuple):
    """The equations that are evaluated about a state."""

    state: State
    system: System
    work: Work


def _differences(
    of: _Evaluated, which: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives by central differences along the directions ``which``.

    And the distances of one-sided ones.
    """
    ns, nz = len(of.state.s), len(of.state.z)
    place = np.concatenate([np.arange(2 * ns), 3 * ns + np.arange(nz + 1)])[which]
    steps = np.zeros((len(PLACES), len(which), _width(of.state)))
    for k, factor in enumerate(PLACES):
        steps[k, np.arange(len(which)), place] = factor * size
    rows = _rows(
        of.state,
        np.vstack([np.zeros((1, steps.shape[2])), steps.reshape(-1, steps.shape[2])]),
        of.system,
        of.work,
    )
    around = rows[1:].reshape(len(PLACES), len(which), rows.shape[1])
    slope, apart = (np.einsum("k,kij->ij", weights, around) for weights in (WEIGHTS, APART))
    return slope / size[:, None], (apart - 3.0 * rows[0]) / size[:, None]


def _refined(
    of: _Evaluated, which: np.ndarray, size: np.ndarray, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives by differences with steps refined until they settle.

    Smaller steps are used where these derivatives differ by more than round-off. Also where there
    are no derivatives: values that do not converge, or differ on both sides. others: changes by
    steps along other directions.
    """
    size = size.copy()
    found, apart = _differences(of, which, size)
    finer, closer = _differences(of, which, size * FINER)
    groups = _groups(of, np.vstack([found * size[:, None], others]))

    def exceeds(change: np.ndarray, part: float, seen: float) -> np.ndarray:
        """Rows that changed by more than a part of the derivative and by more than round-off."""
        rows = [np.zeros(len(size), bool)]
        for at, effect, round_off in groups:
            most, slope = (np.abs(each[:, at]).max(axis=1, initial=0.0) for each in (change, finer))
            rows.append(
                (most > part * slope) & (most * size * FINER > max(seen * effect, round_off))
            )
        return np.asarray(np.any(rows, axis=0))

    for _ in range(REFINEMENTS):
        bent = exceeds(found - finer, BENT, SEEN)
        if not bent.any():
            break
        size[bent] *= FINER
        found[bent], apart[bent] = finer[bent], closer[bent]
        finer[bent], closer[bent] = _differences(of, which[bent], size[bent] * FINER)
    stays = np.where(np.abs(closer) > 0.5 * np.abs(apart), closer, 0.0)
    return found, np.logical_or(
        exceeds(found - finer, CORNER, SEEN), exceeds(stays, CORNER, CORNER)
    )


class _Group(NamedTuple):
    """Columns of results of one unit, except for angles and lengths.

    With their largest change by the steps, and their round-off, including that of sums of larger
    terms.
    """

    at: slice
    effect: float
    round_off: float


def _groups(of: _Evaluated, changes: np.ndarray) -> list[_Group]:
    """Equation groups with their scales and round-off: R, g, ġ, g̈, rates, cut velocities."""
    _, _, ns, nc, nz = (int(n) for n in of.system.layout)
    beside = np.zeros((1 + TRIALS, _width(of.state)))
    beside[1:, :ns] = (
        BESIDE
        * displacement_sizes(of.state.compiled)
        * np.random.default_rng(0).uniform(-1.0, 1.0, (TRIALS, ns))
    )
    here, *others = _rows(of.state, beside, of.system, of.work)
    noise = MARGIN * np.abs(np.array(others) - here).max(axis=0)
    motion = of.work.motion
    sizes = (
        motion.through,
        motion.x,
        motion.twist,
        motion.acceleration,
        of.work.force_rate,
        None,
        motion.twist,
    )
    ends = np.cumsum([0, ns, nc, nc, nc, nz, 3, 6 * len(of.system.cuts.row)])
    return [
        _Group(
            slice(a, b),
            float(np.abs(changes[:, a:b]).max(initial=0.0)),
            max(
                ROUND_OFF * float(np.abs(size).max(initial=0.0)), float(noise[a:b].max(initial=0.0))
            ),
        )
        for a, b, size in zip(ends, ends[1:], sizes)
        if size is not None
    ]


def dense(state: State, loads: Loads | None = None) -> Terms:
    """Dense M, k, G, γ, g, ġ at a state.

    Forces that depend on reactions are those of its ṡ and λ, or of given ``loads``.
    """
    loads = loads_at(state) if loads is None else loads
    return terms(state.compiled.system, state.work(), state.t, state.q, state.s, state.z, loads)


def loads_at(state: State) -> Loads:
    """Reactions for ṡ and λ that forces depend on."""
    work = state.work()
    if depends_on_reactions(state.compiled.system):
        _rows(state, np.zeros((1, _width(state))), work=work)
    return copied(work.loads)


def _width(state: State) -> int:
    """Number of columns of the tangent: displacements, rates, accelerations, force states, t."""
    return 3 * len(state.s) + len(state.z) + 1


def _rows(
    state: State, steps: np.ndarray, system: System | None = None, work: Work | None = None
) -> np.ndarray:
    """Values of the equations of motion at states perturbed by steps."""
    system, work = system or state.compiled.system, work or state.work()
    _, nq, ns, nc, nz = (int(n) for n in system.layout)
    base = np.zeros((5, max(nq, ns, nc, nz, 1)))
    for row, values in zip(base, (state.q, state.s, state.sd, state.z, state.lam)):
        row[: len(values)] = values
    out = np.zeros((len(steps), ns + 3 * nc + nz + 3 + 6 * len(system.cuts.row)))
    perturbed(system, work, state.t, base, steps, np.zeros((4, base.shape[1])), out)
    require_finite(state, out)
    return out


def _split(compiled: Compiled, rows: np.ndarray) -> Values:
    """Rows of values split into residuals, constraint values, rates, powers and cut velocities."""
    _, _, ns, nc, nz = (int(n) for n in compiled.system.layout)
    r, gs, rate, power, eta = np.split(rows, np.cumsum([ns, 3 * nc, nz, 3]), axis=1)
    n, ncut = len(rows), len(compiled.system.cuts.row)
    return Values(
        r,
        ConstraintValues(*gs.reshape(n, 3, nc).swapaxes(0, 1)),
        rate,
        power,
        eta.reshape(n, ncut, 6),
    )


def cut_rates(state: State) -> np.ndarray:
    """Matrices (ncut, 6, ns) from velocities s to the twists of the cut joints."""
    ns = len(state.s)
    steps = np.zeros((ns + 1, _width(state)))
    steps[1 + np.arange(ns), ns + np.arange(ns)] = 1.0
    eta = _split(state.compiled, _rows(state, steps)).eta
    return np.moveaxis(eta[1:] - eta[0], 0, -1)
