"""How far the errors of single steps may have moved the positions by the end of a run.

The method's estimate of the error of each step (an embedded formula or the jump of accelerations) is summed by size over the
steps for each coordinate, as a displacement: in m, rotations times the size of the model, modes by what they displace. No
coordinate can be further off than twice its range. Ranges are those beside a steady travel or turning; each error is measured by
the range of its own coordinate, a rotation's by a turn at most, or by a part of the largest one of its mechanism where that is
more. How an unstable or chaotic motion lets errors grow is not in it: that shows in a second run.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.algebra.blocks import SIZE
from flexmbs.model.check_topology import groups
from flexmbs.model.frames import GROUND
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.records import NF, QF_AT, SF_AT
from flexmbs.system.sizes import displacement_sizes, model_size
from flexmbs.time_stepping.run import Run

MOTION = (1e-2, 1e-1)  # of the largest motion
NO_MOTION = 1e-7  # of the model's size: errors of less are none of a motion
TURN = 2.0 * np.pi  # rad: a pose that is off by a part of a turn is off, however often the body turned before
FAR = 3.0  # of the model's size: a travel beyond it hides no smaller motion of others
SMALL = 1e-2  # of the model's size: no more of a steady travel counts for other coordinates
STEADY = 3e-3  # of a steady travel or turning: errors of coordinates that do nothing else are measured by it
MINOR = 0.03  # of the largest range of a mechanism: errors of its coordinates that move less are measured by it


class Measure(NamedTuple):
    """What errors of positions are measured by: sizes (ns,) of displacements that are alike, ranges over them, and the motion of
    each coordinate by which its error counts."""

    sizes: np.ndarray
    ranges: np.ndarray
    motion: np.ndarray
    still: bool

    @classmethod
    def of(cls, solution: SolutionData) -> "Measure":
        """That of a run."""
        sizes = displacement_sizes(solution.compiled)
        ranges, beside = (each / sizes for each in _ranges(solution))
        rotations = sizes == 1.0
        own = np.maximum(beside, STEADY * ranges)
        own[rotations] = np.minimum(own[rotations], TURN)
        motion = np.maximum(own, NO_MOTION)
        for part in _mechanisms(solution):
            largest = np.minimum(np.maximum(beside, np.minimum(own, SMALL))[part], np.where(rotations[part], TURN, FAR))
            motion[part] = np.maximum(motion[part], MINOR * float(largest.max(initial=0.0)))
        return cls(sizes, ranges, motion, float(own.max(initial=0.0)) <= NO_MOTION)

    def bounded(self, errors: np.ndarray) -> np.ndarray:
        """(…, ns) sizes of displacements that are alike, none beyond twice the range of its coordinate."""
        return np.minimum(errors / self.sizes, 2.0 * self.ranges)

    def shares(self, errors: np.ndarray) -> np.ndarray:
        """(…, ns) of the motion."""
        return self.bounded(errors) / self.motion


def step_error(solution: SolutionData, run: Run) -> list[Check]:
    """The estimated error of positions over the motion, for methods that estimate that of a step."""
    spent = run.context.spent
    measure = Measure.of(solution)
    if not spent.any() or measure.still:
        return []
    shares = measure.shares(spent)
    worst = int(shares.argmax())
    share = float(shares[worst])
    status = graded(share, MOTION)
    size = float(measure.bounded(spent)[worst]) * model_size(solution.compiled)
    text = f"about {share:.1e} of the motion, summed without their growth, {size:.1e} m {place_of(solution, worst)}"
    fixed = solution.run.options["step"]
    mend = f"take a smaller step than {fixed:g} s, or leave it out" if fixed else "lower rtol and atol"
    return [Check("Error of the steps", status, text, "" if status == PASS else mend)]


def _ranges(solution: SolutionData) -> tuple[np.ndarray, np.ndarray]:
    """(ns,) range of each velocity coordinate's integral, of modes that of their amplitude; the same beside a steady travel."""
    t, s = solution.t, solution.s
    travelled = np.zeros_like(s)
    travelled[1:] = np.cumsum(0.5 * (s[1:] + s[:-1]) * np.diff(t)[:, None], axis=0)
    for row in solution.compiled.system.tree:
        nf, to, at = int(row[NF]), int(row[SF_AT]), int(row[QF_AT])
        travelled[:, to : to + nf] = solution.q[:, at : at + nf]
    steady = np.outer((t - t[0]) / max(float(t[-1] - t[0]), 1e-300), travelled[-1] - travelled[0])
    return np.ptp(travelled, axis=0), np.ptp(travelled - steady, axis=0)


def _mechanisms(solution: SolutionData) -> list[np.ndarray]:
    """The velocity coordinates of bodies that joints connect with each other, not by the ground."""
    joints = [each for each in solution.model.joints.values() if GROUND not in (each.parent.body, each.child.body)]
    body_of, bodies = _body_of(solution), solution.compiled.bodies
    numbers = ([bodies.index(name) for name in group if name in bodies] for group in groups(solution.model, joints))
    return [np.flatnonzero(np.isin(body_of, each)) for each in numbers if each]


def _body_of(solution: SolutionData) -> np.ndarray:
    """(ns,) number of the body that a velocity coordinate belongs to."""
    sizes = solution.compiled.system.elimination.node[: len(solution.compiled.bodies), SIZE]
    return np.repeat(np.arange(len(sizes)), sizes)


def place_of(solution: SolutionData, coordinate: int) -> str:
    """At which body: that which a velocity coordinate belongs to."""
    return "at body " + solution.compiled.bodies[int(_body_of(solution)[coordinate])]
