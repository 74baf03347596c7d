"""States of a run stored for its audit, and instants of discrete controllers.

At every output the time to the next sample must end at a multiple of the sample time.
"""

import numpy as np

from flexmbs.dynamics.sampled_controllers import LEFT
from flexmbs.results.drive_jumps import near_jumps
from flexmbs.results.histories import reaction_history, states_of
from flexmbs.results.joints import joint_histories
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import FAIL, Check
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Loads, Work, copied, depends_on_reactions
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.records import make_outputs
from flexmbs.time_stepping.run import Run

ALLOWED = 1e-6  # of a sample time: tolerance of instants


def instants_of_samples(solution: SolutionData) -> list[Check]:
    """FAIL for discrete controllers that were not executed at their sample times."""
    system, trajectory = solution.compiled.system, solution.trajectory
    names = [name for name, force in solution.model.forces.items() if force.place == "joint"]
    for f, state, period in zip(
        system.samplers.force, system.samplers.law.state, system.samplers.period
    ):
        left = trajectory.z[:, state + LEFT]
        passed = (trajectory.t + left - left[0]) / period
        wrong = np.abs(passed - np.round(passed)) > ALLOWED
        wrong |= (left < -ALLOWED * period) | (left > (1.0 + ALLOWED) * period)
        if wrong.any():
            text = (
                f"forces.{names[f]} is {left[wrong][0]:.6g} s from its next sample at t = "
                f"{trajectory.t[wrong][0]:.6g} s"
            )
            return [Check("Samples of controllers", FAIL, text, "report it")]
    return []


def sampled(solution: SolutionData, run: Run) -> SolutionData:
    """Solution of the states that the run stored for the audit.

    Those with closed rigid contacts and those after jumps of prescribed velocities are omitted.
    """
    samples = run.context.samples
    usable = (
        (samples.t >= 0.0)
        & (samples.closed == 0)
        & np.isfinite(samples.sd).all(axis=1)
        & ~near_jumps(solution, samples.t)
    )
    pick = np.flatnonzero(usable)
    out = Trajectory(*make_outputs(samples.t[pick], run.facts, samples.beta.shape[1]))
    for name in ("q", "s", "sd", "lam", "z", "beta"):
        getattr(out, name)[:] = getattr(samples, name)[pick]
    return states_as_solution(solution.compiled, out, solution)


def states_as_solution(
    compiled: Compiled, trajectory: Trajectory, of: SolutionData
) -> SolutionData:
    """Solution that consists of some states of a trajectory."""
    redundant = of.run.redundant
    found = (
        joint_histories(compiled, trajectory, redundant=bool(redundant), least_norm=False)
        if len(trajectory.t)
        else None
    )
    return SolutionData(compiled, trajectory, {}, RunInfo(redundant=redundant), stored=found)


def loads_at(compiled: Compiled, trajectory: Trajectory, work: Work, k: int) -> Loads:
    """Reactions at output k that forces depend on.

    They follow from ṡ and λ and are the same in all coordinates; unknown or zero if no force
    depends on them.
    """
    if depends_on_reactions(compiled.system):
        one = trajectory._replace(
            **{name: each[k : k + 1] for name, each in trajectory._asdict().items()}
        )
        read = np.zeros((1, len(compiled.system.readings.body), 6))
        reaction_history(compiled.system, work, states_of(one, one.beta), read)
    return copied(work.loads)


def largest_row(values: np.ndarray) -> float:
    """Largest Euclidean norm of the rows of an array."""
    return float(np.linalg.norm(values, axis=1).max(initial=0.0))


def evenly_spaced(outputs: np.ndarray, most: int) -> np.ndarray:
    """Evenly spaced selection of no more than ``most`` of the outputs."""
    count = min(len(outputs), most)
    return outputs[np.unique(np.linspace(0, len(outputs) - 1, count).round().astype(int))]
