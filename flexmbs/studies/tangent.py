"""Tangents of the equations of motion by differences of fourth order, dense: for statics and linearisation.

The residual R(q, s, ṡ, λ, z, t) = M ṡ − k − Gᵀλ and the constraint values g, ġ = G s + γ̄, g̈ = G ṡ − γ are evaluated at states
q ⊕ δ, s + δs, …; the tangents include all terms: gravity, constraint forces, geometric terms, user functions. Laws of forces are
replaced by their own tangents (`flexmbs.studies.linear_laws`), so that only smooth mechanics is left to the differences.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.equations import residual_with_reactions
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.work import make_work
from flexmbs.errors import SolverError
from flexmbs.results.state import State
from flexmbs.studies.linear_laws import Corner, linear_laws
from flexmbs.system.compile import Compiled
from flexmbs.system.records import ConstraintValues, Evaluation, System, Work
from flexmbs.system.sizes import displacement_sizes

STEP = 1e-3  # of rotations (rad), and of displacements over the size of the model
RATE_STEP = 1e-2
STENCIL = ((1.0, 8.0 / 12.0), (-1.0, -8.0 / 12.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0))


@packed()
def perturbed(system, work, t, base, steps, x, out):
    """Rows of ``out``: R, g, ġ, g̈, rates of force states, powers, velocities of cut joints at base ⊕ the rows of ``steps``.

    base (5, n): q, s, ṡ, z, λ; steps (m, 3 ns + nz + 1): changes of q, s, ṡ, z, t; x (4, n) is scratch.
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
        for a in range(3):
            out[i, at + a] = work.power[a]
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
    """Derivatives along δ (q ⊕ δ), s, z and t, the directions first; forces whose laws have no slope there: those of both sides
    are averaged."""

    q: Values
    s: Values
    z: Values
    t: Values
    corners: tuple[Corner, ...]


def evaluate(state: State) -> Values:
    """The equations at a state."""
    values = _split(state.compiled, _rows(state, np.zeros((1, _width(state)))))
    return Values(
        values.r[0], ConstraintValues(*(each[0] for each in values.gs)), values.force_rate[0], values.power[0], values.eta[0]
    )


def tangents(state: State) -> Tangents:
    """All derivatives at a state; with respect to q at fixed s, ṡ, λ."""
    ns, nz = len(state.s), len(state.z)
    size = np.concatenate([
        displacement_sizes(state.compiled) * STEP, np.full(ns, RATE_STEP * (1.0 + np.abs(state.s).max(initial=0.0))),
        np.full(nz, RATE_STEP * (1.0 + np.abs(state.z).max(initial=0.0))), [1e-4 * max(1.0, abs(state.t))],
    ])  # fmt: skip
    here = np.zeros((1, _width(state)))
    _rows(state, here)
    linear = linear_laws(state, lambda system, work: _rows(state, here, system, work))
    work = make_work(linear.system, state.beta)
    of_state = _differences(state, size[:-1], linear.system, work)
    of_time = _differences(state, np.concatenate([0.0 * size[:-1], size[-1:]]), state.compiled.system, state.work())
    parts = (of_state[:ns], of_state[ns : 2 * ns], of_state[2 * ns :], of_time[-1:])
    return Tangents(*(_split(state.compiled, part) for part in parts), linear.corners)


def _differences(state: State, size: np.ndarray, system: System, work: Work) -> np.ndarray:
    """(m, …): derivatives of all results along q, s, z and t, as many as there are steps; with a step of zero none."""
    ns, nz = len(state.s), len(state.z)
    place = np.concatenate([np.arange(2 * ns), 3 * ns + np.arange(nz + 1)])
    taken = np.flatnonzero(size)
    steps = np.zeros((len(STENCIL), len(taken), _width(state)))
    for k, (factor, _) in enumerate(STENCIL):
        steps[k, np.arange(len(taken)), place[taken]] = factor * size[taken]
    rows = _rows(state, steps.reshape(-1, steps.shape[2]), system, work).reshape(len(STENCIL), len(taken), -1)
    return np.asarray(np.einsum("k,kij->ij", [weight for _, weight in STENCIL], rows) / size[taken, None])


def dense(state: State, loads: np.ndarray | None = None) -> Terms:
    """M, k, G, γ, g, ġ at a state; forces that depend on reactions are those of its ṡ and λ, or of given ``loads``."""
    loads = loads_at(state) if loads is None else loads
    return terms(state.compiled.system, state.work(), state.t, state.q, state.s, state.z, loads)


def loads_at(state: State) -> np.ndarray:
    """Loads (njf, 4) of the joint forces that depend on the reactions of ṡ and λ, zero for the others."""
    work = state.work()
    if state.compiled.system.forces.joint.loaded.any():
        _rows(state, np.zeros((1, _width(state))), work=work)
    return np.array(work.loads[:, :4])


def _width(state: State) -> int:
    return 3 * len(state.s) + len(state.z) + 1


def _rows(state: State, steps: np.ndarray, system: System | None = None, work: Work | None = None) -> np.ndarray:
    system, work = system or state.compiled.system, work or state.work()
    _, nq, ns, nc, nz = (int(n) for n in system.layout)
    base = np.zeros((5, max(nq, ns, nc, nz, 1)))
    for row, values in zip(base, (state.q, state.s, state.sd, state.z, state.lam)):
        row[: len(values)] = values
    out = np.zeros((len(steps), ns + 3 * nc + nz + 3 + 6 * len(system.cuts.row)))
    perturbed(system, work, state.t, base, steps, np.zeros((4, base.shape[1])), out)
    state.compiled.callbacks.raise_error()
    if not np.isfinite(out).all():
        call = state.compiled.callbacks.where
        cause = f"{call.item}: its function returned a non-finite value at {call.text}" if call else "the forces are not finite"
        raise SolverError(f"{cause}; correct the forces or start from another position")
    return out


def _split(compiled: Compiled, rows: np.ndarray) -> Values:
    _, _, ns, nc, nz = (int(n) for n in compiled.system.layout)
    r, gs, rate, power, eta = np.split(rows, np.cumsum([ns, 3 * nc, nz, 3]), axis=1)
    n, ncut = len(rows), len(compiled.system.cuts.row)
    return Values(r, ConstraintValues(*gs.reshape(n, 3, nc).swapaxes(0, 1)), rate, power, eta.reshape(n, ncut, 6))


def cut_rates(state: State) -> np.ndarray:
    """(ncut, 6, ns): velocities of the cut joints are this matrix times s."""
    ns = len(state.s)
    steps = np.zeros((ns + 1, _width(state)))
    steps[1 + np.arange(ns), ns + np.arange(ns)] = 1.0
    eta = _split(state.compiled, _rows(state, steps)).eta
    return np.moveaxis(eta[1:] - eta[0], 0, -1)
