"""Initial velocities due to rates of drives and other constraints at the start.

They are the response to a blow, which is hardly intended.
"""

import numpy as np
import scipy

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.assembly import CutVelocities
from flexmbs.initial.inconsistent_rates import row_items
from flexmbs.initial.initial_state import Moved
from flexmbs.model.couplings import ConstantCoupling, coordinate_of
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import WARN, Check
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work
from flexmbs.system.step_scales import displacement_sizes, model_size
from flexmbs.time_stepping.run import Run

# of the largest velocity at the start, at least of 1 rad/s or the model's size per s
ROUND_OFF = 1e-6
# of the joint's largest velocity in the run: ends of splines have slopes of about 1e-5
NEGLIGIBLE = 1e-4
FREE = 1e-6  # of a velocity: part that is possible with all drives at rest
REMEDY = (
    "declare v0 of these joints (of a body without joint by fm.Free), or start the "
    "constraints at rest"
)


def initial_rates(solution: SolutionData, run: Run) -> list[Check]:
    """Check of joints without declared v0 that start with a velocity.

    The cause is a rate of drives, couplings or relations at the start: min |Δs|_M with G s + γ̄ =
    0. It only matters for joints that the constraints leave free, J N ≠ 0 with G N = 0.
    """
    if run.begun is None:
        return []
    moved = [each for each in run.begun.moved if _undeclared(solution, each)]
    moved = [each for each in moved if each.velocity > _least_velocity(solution, run, each.joint)]
    causes = _causes(solution, run) if moved else []
    free = {each.joint: _free_speed(solution, run, each.joint) for each in moved if causes}
    found = {joint: speed for joint, speed in free.items() if speed}
    if not found:
        return []
    speeds = ", ".join(
        f"{joint} at {speed:.3g} {_unit(solution, joint)}" for joint, speed in found.items()
    )
    text = (
        f"{speeds}: not declared, but the response to the jump of {', '.join(causes)} to an "
        "initial rate"
    )
    return [Check("Initial velocities", WARN, text, REMEDY)]


def _causes(solution: SolutionData, run: Run) -> list[str]:
    """Names of constraints that enforce velocities at the start.

    Drives, rheonomic rows, γ̄ ≠ 0, and couplings whose declared velocities do not fit.
    """
    model, compiled, start = solution.model, solution.compiled, run.begun
    assert start is not None
    found = [name for name, drive in model.drives.items() if drive.motion.state(0.0)[1] != 0.0]
    work, sizes = make_work(compiled.system, start.beta), displacement_sizes(compiled)
    here = terms(compiled.system, work, 0.0, start.q.copy(), np.zeros(len(start.s)))
    speed = max(1.0, float(np.abs(start.s / sizes).max(initial=0.0)))
    rheonomic = np.abs(here.gd) > ROUND_OFF * speed * np.linalg.norm(here.G * sizes, axis=1)
    found += [
        name
        for (section, name), moves in zip(row_items(compiled), rheonomic)
        if moves and section != "drives"
    ]
    for name, coupling in model.couplings.items():
        if isinstance(coupling, ConstantCoupling):
            used = [
                (coordinate_of(term.coordinate, model.joints), term.factor)
                for term in coupling.terms
            ]
            rates = [
                factor * model.joints[each.joint].initial_velocity[each.coordinate]
                for each, factor in used
            ]
            if abs(sum(rates)) > ROUND_OFF * max(map(abs, rates)):
                found.append(name)
    return list(dict.fromkeys(found))


def _undeclared(solution: SolutionData, moved: Moved) -> bool:
    """Mask of the velocities of joints without v0 and of bodies without joint."""
    joint = solution.model.joints.get(moved.joint)
    return joint.v0 is None if joint is not None else moved.joint in _free_bodies(solution.compiled)


def _free_bodies(compiled: Compiled) -> dict[str, int]:
    """Numbers of the bodies without joint, by the names of their coordinates."""
    return {each.label: i for i, each in enumerate(compiled.topology.tree) if each.joint is None}


def _least_velocity(solution: SolutionData, run: Run, name: str) -> float:
    """Smallest velocity of a joint that is not round-off.

    Or negligible relative to the largest one at the outputs.
    """
    assert run.begun is not None
    size = 1.0 if _unit(solution, name) == "rad/s" else model_size(solution.compiled)
    speed = float(np.abs(run.begun.s / displacement_sizes(solution.compiled)).max(initial=0.0))
    fastest = solution.joint(name).velocity if name in solution.model.joints else np.zeros(0)
    return max(
        ROUND_OFF * size * max(1.0, speed), NEGLIGIBLE * float(np.abs(fastest).max(initial=0.0))
    )


def _unit(solution: SolutionData, name: str) -> str:
    """Unit of the velocities of a joint."""
    joint = solution.model.joints.get(name)
    turns = {motion.turns for motion in joint.motions if motion.nv} if joint is not None else set()
    return "rad/s" if turns == {True} else "m/s" if turns == {False} else "(rad/s or m/s)"


def _free_speed(solution: SolutionData, run: Run, name: str) -> float:
    """Largest velocity of the coordinates of a joint that constraints and declarations leave free.

    0 if it is negligible.
    """
    compiled, start = solution.compiled, run.begun
    assert start is not None
    work = make_work(compiled.system, start.beta)
    G = terms(compiled.system, work, 0.0, start.q.copy(), start.s.copy()).G
    declared = [key for key, joint in compiled.model.joints.items() if joint.v0 is not None]
    held = np.vstack([G, *(_velocity_rows(compiled, work, start.q, key) for key in declared)])
    free = scipy.linalg.null_space(held, rcond=FREE) if len(held) else np.eye(len(start.s))
    rows = _velocity_rows(compiled, work, start.q, name)
    movable = np.abs(rows @ free).max(axis=1, initial=0.0) > FREE
    speed = float(np.abs(rows @ start.s)[movable].max(initial=0.0))
    return speed if speed > _least_velocity(solution, run, name) else 0.0


def _velocity_rows(compiled: Compiled, work: Work, q: np.ndarray, name: str) -> np.ndarray:
    """H (nv, ns) of the velocities H s of a joint, or of a body without joint.

    At the state of ``work``.
    """
    system, place = compiled.system, compiled.places.get(name)
    if place is not None and place.cut >= 0:
        return CutVelocities(system, work, [place.cut]).rows(q.copy())
    body = _free_bodies(compiled).get(name, -1) if place is None else place.body
    at, nv = (int(system.tree.s_at[body]), int(system.tree.nv[body])) if body >= 0 else (0, 0)
    return np.eye(int(system.layout[2]))[at : at + nv]
