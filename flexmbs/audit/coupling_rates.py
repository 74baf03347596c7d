"""User functions g(q, t) of constraints and contacts against their derivatives used in the run.

At outputs, [g(t + δ, q ⊕ δ s) − g(t − δ, q ⊖ δ s)]/(2δ), extrapolated to δ = 0, must be the rate G
s + γ̄ of the equations, for contacts W s + w. An undeclared dependence on time or a wrong
derivative that takes effect after the start shows as a difference. A moving contact may have kinks,
such as a floor that starts to move: its derivative there is one-sided.
"""

import numpy as np

from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.initial.assembly import displaced
from flexmbs.model.contacts import UnilateralCoupling, UserContact
from flexmbs.model.general_couplings import HolonomicCoupling
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.results.histories import CONTACT_NUMBERS, contact_history, states_of
from flexmbs.results.joints import path_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, Check
from flexmbs.system.records import Work
from flexmbs.system.step_scales import displacement_sizes, model_size
from flexmbs.system.trajectory import Trajectory

STATES = 24
# motion within a difference: of the size of the model, or rad; its duration is at most this part of
# the run
STEP = 1e-4
ALLOWED = 1e-4  # of the terms of the rate
# of the positions of the bodies: error of a function due to round-off
ROUNDED = 64.0 * np.finfo(float).eps
AT_LEAST = 2  # states with differences: a single one may be at a corner of a function
# of the size of the model: displacements that give the size of a contact's function
ASIDE = 1e-3
STILL = 1e-5  # of the largest velocity: rates of a contact that are round-off
RESTING = 1e-6  # of the size of a gap over the time of the run: rates that change no gap
KINK = 10.0  # times the uncertainty of one-sided slopes: a larger difference between them is a kink
REMEDY = "set rheonomic=True if it depends on time, or correct its derivatives"


def coupling_rates(solution: SolutionData) -> list[Check]:
    """A FAIL for each function of a constraint whose rate differs from that of the equations."""
    rows = _rows(solution)
    if not rows or len(solution.t) < AT_LEAST:
        return []
    numbers = np.array([row for _, row in rows])
    work = make_work(solution.compiled.system, solution.trajectory.beta[0])
    chosen = _compared_outputs(solution)
    apart = np.array([_rate_differences(solution, work, int(k), numbers) for k in chosen])
    return _failures([name for name, _ in rows], apart, solution.t[chosen])


def contact_rates(solution: SolutionData) -> list[Check]:
    """A FAIL for each user function of a contact whose rate differs from that of the equations."""
    contacts = solution.model.contacts
    names = [
        name
        for name in solution.contacts
        if isinstance(contacts.get(name), UserContact | UnilateralCoupling)
    ]
    if not names or len(solution.t) < AT_LEAST:
        return []
    chosen, numbers = _compared_outputs(solution), [solution.contacts.index(name) for name in names]
    beta = path_coordinates(solution.compiled, solution.trajectory)
    here = Trajectory(*(array[chosen] for array in solution.trajectory._replace(beta=beta)))
    gap, rate = np.moveaxis(_contacts(solution, here, 0.0, numbers)[:, :, :2], 2, 0)
    h = time_of_motion(solution, here.s)
    ahead, behind = (
        np.array(
            [
                (_contacts(solution, here, each, numbers)[:, :, 0] - gap) / each
                for each in (side * h, 0.5 * side * h)
            ]
        )
        for side in (1.0, -1.0)
    )
    rough, fine = 0.5 * (ahead + behind)
    slowest = _round_off(solution) / h + RESTING / float(solution.t[-1] - solution.t[0])
    floor = STILL * np.abs(rate).max(axis=0, initial=0.0) + slowest * _size_of_gaps(
        solution, here, numbers
    )
    apart = _relative_difference(rate, (4.0 * fine - rough) / 3.0, np.abs(fine - rough), floor)
    sides = [(2.0 * fine - rough, np.abs(fine - rough)) for rough, fine in (ahead, behind)]
    kink = np.abs(sides[0][0] - sides[1][0]) > KINK * (sides[0][1] + sides[1][1]) + floor
    one_sided = np.min(
        [_relative_difference(rate, slope, doubt, floor) for slope, doubt in sides], axis=0
    )
    apart = np.where(kink, np.minimum(apart, one_sided), apart)
    return _failures([f"contacts.{name}" for name in names], apart, here.t)


def _size_of_gaps(solution: SolutionData, at: Trajectory, numbers: list[int]) -> np.ndarray:
    """Change (n,) of the functions by displacements of the size of the model.

    Extrapolated from small displacements of alternating signs.
    """
    sizes = displacement_sizes(solution.compiled)
    aside = at._replace(s=np.tile(sizes * np.cos(np.pi * np.arange(len(sizes))), (len(at.q), 1)))
    found = [
        _contacts(solution, aside._replace(t=at.t - h), h, numbers)[:, :, 0]
        for h in (ASIDE, -ASIDE)
    ]
    return np.asarray(np.abs(found[0] - found[1]).max(axis=0, initial=0.0)) / ASIDE


def _relative_difference(
    rate: np.ndarray, slope: np.ndarray, doubt: np.ndarray, floor: np.ndarray
) -> np.ndarray:
    """Relative difference of a rate and a slope beyond the uncertainty."""
    size = np.abs(rate) + np.abs(slope) + floor  # 0 for a function that nothing moves
    return np.asarray((np.abs(slope - rate) - doubt) / np.maximum(size, 1e-300))


def _compared_outputs(solution: SolutionData) -> np.ndarray:
    """Indices of the outputs at which the functions are compared."""
    return np.unique(np.linspace(0, len(solution.t) - 1, STATES).astype(int))


def _failures(names: list[str], apart: np.ndarray, times: np.ndarray) -> list[Check]:
    """A FAIL for each item with differences (states, rows) that are too large."""
    found: dict[str, Check] = {}
    for name, values in zip(names, apart.T):
        wrong = np.flatnonzero(values > ALLOWED)
        if len(wrong) >= AT_LEAST and name not in found:
            k = int(np.nan_to_num(values).argmax())
            text = (
                f"g of {name} does not change at the rate of its equation: difference {values[k]:.1e} "
                f"of it at t = {times[k]:.4g} s"
            )
            found[name] = Check("Functions of constraints", FAIL, text, REMEDY)
    return list(found.values())


def _contacts(solution: SolutionData, at: Trajectory, h: float, numbers: list[int]) -> np.ndarray:
    """`contact_history` of some contacts at states displaced along their motion by the time h."""
    return contacts_along(solution, at._replace(sd=np.zeros_like(at.sd)), h)[:, numbers]


def contacts_along(solution: SolutionData, at: Trajectory, h: float) -> np.ndarray:
    """`contact_history` at the states (q ⊕ (h s + ½ h² ṡ), s + h ṡ) at t + h."""
    system, q = solution.compiled.system, at.q.copy()
    for k in range(len(q)):
        displaced(system, at.q[k].copy(), h * at.s[k] + 0.5 * h * h * at.sd[k], q[k])
    moved = at._replace(t=at.t + h, q=q, s=at.s + h * at.sd)
    out = np.zeros((len(q), len(solution.contacts), CONTACT_NUMBERS))
    contact_history(system, make_work(system, at.beta[0]), states_of(moved, at.beta), out)
    return out


def _rows(solution: SolutionData) -> list[tuple[str, int]]:
    """(item, row) of the constraint rows by user functions."""
    model, system = solution.compiled.model, solution.compiled.system
    found = [
        (f"couplings.{name}", int(row))
        for (name, coupling), row in zip(model.couplings.items(), system.couplers.row)
        if isinstance(coupling, HolonomicCoupling)
    ]
    for k, name in enumerate(solution.compiled.topology.cuts):
        joint = model.joints[name]
        made = joint.row() if isinstance(joint, Relation) else None
        if isinstance(made, FunctionRows) and made.values is not None:
            found += [
                (f"joints.{name}", int(system.cuts.row[k]) + r)
                for r in range(int(system.cuts.rows[k]))
            ]
    return found


def _rate_differences(solution: SolutionData, work: Work, k: int, rows: np.ndarray) -> np.ndarray:
    """Relative differences of rates and slopes of constraint ``rows`` at output k.

    Relative to the sum of the sizes of their terms, less the uncertainty of the extrapolation.
    """
    out = solution.trajectory
    q, s, t = out.q[k], out.s[k], float(out.t[k])
    here = _terms(solution, work, k, t, q)
    h = time_of_motion(solution, s)
    rough, fine = (_slope(solution, work, k, step)[rows] for step in (h, 0.5 * h))
    exact = (4.0 * fine - rough) / 3.0
    size = np.abs(here.G[rows]) @ np.abs(s) + np.abs(exact)
    sizes = displacement_sizes(solution.compiled)
    round_off = _round_off(solution) / h * np.linalg.norm(here.G[rows] * sizes, axis=1)
    return np.asarray(
        (np.abs(exact - here.gd[rows]) - np.abs(fine - rough) - round_off)
        / np.maximum(size, 1e-300)
    )


def time_of_motion(solution: SolutionData, s: np.ndarray) -> float:
    """Time (s) within which the motion with velocities s covers `STEP`.

    At most that part of the run.
    """
    rate = float(np.abs(s / displacement_sizes(solution.compiled)).max(initial=0.0))
    return STEP / (rate + 1.0 / float(solution.t[-1] - solution.t[0]))


def _round_off(solution: SolutionData) -> float:
    """Round-off of positions relative to the size of the model.

    It is larger if the model is far from the origin.
    """
    far = max(float(np.abs(solution.body(name).position).max()) for name in solution.bodies)
    return ROUNDED * max(1.0, far / model_size(solution.compiled))


def _slope(solution: SolutionData, work: Work, k: int, h: float) -> np.ndarray:
    """Rates of g (nc,) at output k by central differences along the motion."""
    system, out = solution.compiled.system, solution.trajectory
    g = []
    for step in (h, -h):
        q = out.q[k].copy()
        displaced(system, out.q[k].copy(), step * out.s[k], q)
        g.append(_terms(solution, work, k, float(out.t[k]) + step, q).g)
    return (g[0] - g[1]) / (2.0 * h)


def _terms(solution: SolutionData, work: Work, k: int, t: float, q: np.ndarray) -> Terms:
    """Terms of the equations of motion at output k, with other t and q."""
    start_from(work, solution.trajectory.beta[k])
    return terms(
        solution.compiled.system,
        work,
        t,
        q.copy(),
        solution.trajectory.s[k].copy(),
        solution.trajectory.z[k],
    )
