"""A sequence of states as a `Solution`, for analyses without time integration."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.audit.friction_at_rest import friction_at_rest
from flexmbs.audit.state_checks import audited_states
from flexmbs.diagnosis.rank import redundant_rows
from flexmbs.errors import InputError
from flexmbs.initial.assembly import offset
from flexmbs.results.state import State
from flexmbs.results.summary import AT_REST_ANALYSES
from flexmbs.studies.states.tangent import evaluate
from flexmbs.system.check import SWITCHED_OFF, Check
from flexmbs.system.trajectory import RunInfo, Trajectory

SLOW = 1e-6  # 1/s: velocities at which dampers are negligible


def solution_of(
    states: Sequence[State],
    *,
    options: Mapping[str, Any],
    power: np.ndarray | None = None,
    outcome: str = "finished",
    at_rest: bool = False,
) -> Solution:
    """A solution whose outputs are the given states.

    Works by the trapezoidal rule from ``power`` (nt, 3) if given.

    at_rest: the states have no velocities, whatever those of drives are; works are those between
    them.
    """
    n = len(states)
    t = np.array([each.t for each in states])
    gs = [evaluate(each).gs for each in states]
    drift = np.array(
        [[np.abs(rows).max(initial=0.0) for rows in (g.position, g.velocity)] for g in gs]
    )
    if at_rest:
        drift[:, 1] = 0.0
    q, s, sd, lam, z = (
        np.array([getattr(each, key) for each in states]) for key in ("q", "s", "sd", "lam", "z")
    )
    works = works_along(states) if at_rest else np.zeros((n, 3))
    if power is not None:
        works[1:] = np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t)[:, None], axis=0)
    beta = np.array([each.beta for each in states])
    trajectory = Trajectory(t, q, s, sd, lam, z, works, drift, np.diff(t, prepend=t[0]), beta=beta)
    first = states[0]
    redundant = redundant_rows(first.compiled, first.q, first.s, first.beta)
    info = RunInfo(options=dict(options), outcome=outcome, redundant=redundant)
    return Solution(first.compiled, trajectory, {"steps": n}, info)


def works_along(states: Sequence[State]) -> np.ndarray:
    """Works (nt, 3) of forces and drives along a sequence of equilibria.

    By the trapezoidal rule.

    W = Σ ½ (F₀ · δ₀ + F₁ · δ₁) of the displacements δ between two states, in the axes of either,
    and Σ ½ (λ₀ · Δb₀ + λ₁ · Δb₁) with the changes Δb = −Δg of the constraints with time at either:
    exact where forces are linear along the way, with corners of loads at any time.
    """
    works = np.zeros((len(states), 3))
    for k, (a, b) in enumerate(itertools.pairwise(states)):
        sides = ((a, -displacement(b, a), b.t - a.t), (b, displacement(a, b), a.t - b.t))
        of_forces = [
            evaluate(replace(each, s=SLOW * delta)).power[0] / SLOW for each, delta, _ in sides
        ]
        of_drives = [
            each.lam
            @ (evaluate(each).gs.position - evaluate(replace(each, t=each.t + h)).gs.position)
            * np.sign(h)
            for each, _, h in sides
        ]
        works[k + 1] = works[k] + [0.5 * sum(of_forces), 0.0, 0.5 * sum(of_drives)]
    return works


def displacement(a: State, b: State) -> np.ndarray:
    """Displacement δ (ns,) from state a to b, in the axes of b."""
    tree, delta = a.compiled.system.tree, np.zeros(len(a.s))
    for i, primary in enumerate(a.compiled.topology.tree):
        at, to = int(tree.q_at[i]), int(tree.s_at[i])
        change = offset(primary.motions, a.q[at:], b.q[at:])
        delta[to : to + len(change)] = change
        elastic, nf = int(tree.qf_at[i]), int(tree.nf[i])
        delta[tree.sf_at[i] :][:nf] = (b.q - a.q)[elastic : elastic + nf]
    return delta


def with_state_checks(
    solution: Solution, *, audit: bool, balanced: bool, deformed: bool = True, shape: bool = False,
    more: Sequence[Check] = (),
) -> Solution:  # fmt: skip
    """Solution with the checks of its states attached.

    Or the note that there are none.

    more: checks of the analysis.
    """
    if not audit:
        return solution.with_checks([*solution.run.checks, SWITCHED_OFF])
    found = audited_states(solution, balanced=balanced, deformed=deformed, shape=shape)
    at_rest = solution.run.options.get("analysis") in AT_REST_ANALYSES and not solution.s.any()
    if at_rest:
        found += friction_at_rest(solution)
    return solution.with_checks([*solution.run.checks, *found, *more])


def checked_times(times: Sequence[float] | np.ndarray) -> np.ndarray:
    """Increasing times (nt,) as an array. Raises `InputError`."""
    try:
        found = np.atleast_1d(np.asarray(times, float))
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if (
        found.ndim != 1
        or len(found) == 0
        or not np.isfinite(found).all()
        or (np.diff(found) <= 0.0).any()
    ):
        raise InputError("times: must be finite numbers that increase, in seconds")
    return found
