"""Velocities at the start that only a drive's initial rate gives: the response to a blow, hardly meant by the user."""

import numpy as np
import scipy

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.assembly import CutVelocities
from flexmbs.initial.initial_state import Moved
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import WARN, Check
from flexmbs.system.compile import Compiled
from flexmbs.time_stepping.run import Run

ROUND_OFF = 1e-6  # of the largest velocity at the start, at least of 1 rad/s or m/s
NEGLIGIBLE = 1e-4  # of the joint's largest velocity in the run: ends of splines have slopes of about 1e-5
FREE = 1e-6  # part of a velocity that motions with all drives at rest have
REMEDY = "declare v0 of these joints, or start the drives at rest"


def initial_rates(solution: SolutionData, run: Run) -> list[Check]:
    """Joints without a declared v0 that start with the velocities of an impact because drives have a rate at
    the start, min |Δs|_M with G s + γ̄ = 0, although the constraints leave them free, J N ≠ 0 with G N = 0.
    """
    drives = [name for name, drive in solution.model.drives.items() if drive.motion.state(0.0)[1] != 0.0]
    if not drives or run.begun is None:
        return []
    moved = [each for each in run.begun.moved if _undeclared(solution, each)]
    least = ROUND_OFF * max(1.0, float(np.abs(run.begun.s).max(initial=0.0)))
    moved = [each for each in moved if each.velocity > max(least, NEGLIGIBLE * _fastest(solution, each.joint))]
    found = [each for each in moved if _is_free(solution.compiled, run, each.joint)]
    if not found:
        return []
    speeds = ", ".join(f"{each.joint} at {each.velocity:.3g} {_unit(solution, each.joint)}" for each in found)
    text = f"{speeds}: not declared, but the response to the jump of {', '.join(drives)} to an initial rate"
    return [Check("Initial velocities", WARN, text, REMEDY)]


def _undeclared(solution: SolutionData, moved: Moved) -> bool:
    """True for the velocities of a joint that has no v0."""
    joint = solution.model.joints.get(moved.joint)
    return joint is not None and joint.v0 is None


def _fastest(solution: SolutionData, name: str) -> float:
    """Largest velocity of a joint at the outputs."""
    return float(np.abs(solution.joint(name).velocity).max(initial=0.0))


def _unit(solution: SolutionData, name: str) -> str:
    """Unit of the velocities of a joint."""
    turns = {motion.turns for motion in solution.model.joints[name].motions if motion.nv}
    return "(rad/s or m/s)" if len(turns) > 1 else "rad/s" if turns == {True} else "m/s"


def _is_free(compiled: Compiled, run: Run, name: str) -> bool:
    """True where a joint can move with all constraints kept and all drives held."""
    start, place = run.begun, compiled.places.get(name)
    if start is None or place is None:
        return False
    system, work = compiled.system, make_work(compiled.system, start.beta)
    G = terms(system, work, 0.0, start.q.copy(), start.s.copy()).G
    if place.cut >= 0:
        rows = CutVelocities(system, work, [place.cut]).rows(start.q.copy())
    else:
        at, nv = int(system.tree.s_at[place.body]), int(system.tree.nv[place.body])
        rows = np.eye(len(start.s))[at : at + nv]
    free = scipy.linalg.null_space(G, rcond=FREE) if len(G) else np.eye(len(start.s))
    return bool(np.abs(rows @ free).max(initial=0.0) > FREE)
