"""User functions g(q, t) of constraints against the derivatives that the run used, along the run.

At outputs, [g(t + δ, q ⊕ δ s) − g(t − δ, q ⊖ δ s)]/(2δ), extrapolated to δ = 0, must be the rate G s + γ̄ of the equations: an
undeclared dependence on time or a wrong derivative that begins after the start shows as a difference.
"""

import numpy as np

from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.initial.assembly import displaced
from flexmbs.model.general_couplings import HolonomicCoupling
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, Check
from flexmbs.system.records import Work

STATES = 24
STEP = 1e-4  # s, less for fast motions
ALLOWED = 1e-4  # of the terms of the rate
ROUND_OFF = 1e-9  # m/s or rad/s: rates at rest
AT_LEAST = 2  # states: one may be at a corner of a function
REMEDY = "set rheonomic=True if it depends on time, or correct its derivatives"


def coupling_rates(solution: SolutionData) -> list[Check]:
    """A FAIL for each function of a constraint whose rate along the run is not that of the equations."""
    rows = _rows(solution)
    if not rows or len(solution.t) < AT_LEAST:
        return []
    numbers = np.array([row for _, row in rows])
    work = make_work(solution.compiled.system, solution.trajectory.beta[0])
    chosen = np.unique(np.linspace(0, len(solution.t) - 1, STATES).astype(int))
    apart = np.array([_apart(solution, work, int(k), numbers) for k in chosen])
    found: dict[str, Check] = {}
    for (name, _), values in zip(rows, apart.T):
        wrong = np.flatnonzero(values > ALLOWED)
        if len(wrong) >= AT_LEAST and name not in found:
            k = int(np.nan_to_num(values).argmax())
            at = f"at t = {solution.t[chosen[k]]:.4g} s"
            text = f"g of {name} changes at another rate than its equation, by {values[k]:.1e} of it {at}"
            found[name] = Check("Functions of constraints", FAIL, text, REMEDY)
    return list(found.values())


def _rows(solution: SolutionData) -> list[tuple[str, int]]:
    """(item, row) of the equations g = 0 by user functions."""
    model, system = solution.model, solution.compiled.system
    found = [
        (f"couplings.{name}", int(row))
        for (name, coupling), row in zip(model.couplings.items(), system.couplers.row)
        if isinstance(coupling, HolonomicCoupling)
    ]
    for k, name in enumerate(solution.compiled.topology.cuts):
        joint = model.joints[name]
        made = joint.row() if isinstance(joint, Relation) else None
        if isinstance(made, FunctionRows) and made.values is not None:
            found += [(f"joints.{name}", int(system.cuts.row[k]) + r) for r in range(int(system.cuts.rows[k]))]
    return found


def _apart(solution: SolutionData, work: Work, k: int, rows: np.ndarray) -> np.ndarray:
    """Differences of the two rates of the ``rows`` at output k over the sum of the sizes of their terms, less the uncertainty of
    the extrapolation."""
    out = solution.trajectory
    q, s, t = out.q[k], out.s[k], float(out.t[k])
    here = _terms(solution, work, k, t, q)
    h = STEP / (1.0 + float(np.abs(s).max(initial=0.0)))
    rough, fine = (_slope(solution, work, k, step)[rows] for step in (h, 0.5 * h))
    exact = (4.0 * fine - rough) / 3.0
    size = np.abs(here.G[rows]) @ np.abs(s) + np.abs(exact) + ROUND_OFF * np.linalg.norm(here.G[rows], axis=1)
    return np.asarray((np.abs(exact - here.gd[rows]) - np.abs(fine - rough)) / np.maximum(size, 1e-300))


def _slope(solution: SolutionData, work: Work, k: int, h: float) -> np.ndarray:
    """Central differences of g (nc,) along the motion at output k."""
    system, out = solution.compiled.system, solution.trajectory
    g = []
    for step in (h, -h):
        q = out.q[k].copy()
        displaced(system.tree, system.joints, out.q[k].copy(), step * out.s[k], q)
        g.append(_terms(solution, work, k, float(out.t[k]) + step, q).g)
    return (g[0] - g[1]) / (2.0 * h)


def _terms(solution: SolutionData, work: Work, k: int, t: float, q: np.ndarray) -> Terms:
    start_from(work, solution.trajectory.beta[k])
    return terms(solution.compiled.system, work, t, q.copy(), solution.trajectory.s[k].copy(), solution.trajectory.z[k])
