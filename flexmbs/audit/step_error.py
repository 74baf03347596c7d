"""Effect of the errors of single steps on the positions at the end of a run.

The method's estimate of the error of each step (an embedded formula or the jump of accelerations)
is summed by size over the steps for each coordinate, as a displacement: in m, rotations times the
size of the model, modes by their largest displacement. The error of a coordinate is limited to
twice its range. Ranges exclude steady translation and rotation; each error is relative to the range
of its own coordinate, that of a rotation to one turn at most, or to a fraction of the largest range
of its mechanism if that is larger. The amplification of errors by an unstable or chaotic motion is
not included: see the second run.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.model.check_topology import groups
from flexmbs.model.frames import GROUND
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.records import rows_of
from flexmbs.system.step_scales import displacement_sizes, model_size
from flexmbs.time_stepping.run import Run

MOTION = (1e-2, 1e-1)  # of the largest motion
NO_MOTION = 1e-7  # of the model's size: smaller errors are negligible
TURN = 2.0 * np.pi  # rad: largest scale of rotations, whatever the number of turns
FAR = 3.0  # of the model's size: larger translations do not mask smaller motions
# of the model's size: upper limit of steady translation in the scale of other coordinates
SMALL = 1e-2
STEADY = 3e-3  # of a steady translation or rotation: scale of coordinates without other motion
# of the deformation of a body: lower bound of the scale of its modes. A mode with a fortieth of the
# root of strain energy, wrong by 2.5 % of itself, changes displacements and stresses by less than
# 1e-3
DEFORMED = 0.3
MINOR = 0.03  # of the largest range of a mechanism: lower bound of the scale of its coordinates


class Measure(NamedTuple):
    """Scales of position errors.

    Sizes (ns,) of comparable displacements, ranges relative to them, and the motion of each
    coordinate relative to which its error is measured.
    """

    sizes: np.ndarray
    ranges: np.ndarray
    motion: np.ndarray
    still: bool

    @classmethod
    def of(cls, solution: SolutionData) -> "Measure":
        """Scales of displacements, from the motion in a run."""
        sizes = displacement_sizes(solution.compiled)
        ranges, beside = (each / sizes for each in _ranges(solution))
        rotations = sizes == 1.0
        own = np.maximum(beside, STEADY * ranges)
        own[rotations] = np.minimum(own[rotations], TURN)
        _raise_minor_modes(own, ranges, sizes, solution)
        motion = np.maximum(own, NO_MOTION)
        for part in _mechanisms(solution):
            largest = np.minimum(
                np.maximum(beside, np.minimum(own, SMALL))[part],
                np.where(rotations[part], TURN, FAR),
            )
            motion[part] = np.maximum(motion[part], MINOR * float(largest.max(initial=0.0)))
        return cls(sizes, ranges, motion, float(own.max(initial=0.0)) <= NO_MOTION)

    def bounded(self, errors: np.ndarray) -> np.ndarray:
        """Errors (…, ns) in comparable sizes, at most twice the range of the coordinate."""
        return np.minimum(errors / self.sizes, 2.0 * self.ranges)

    def shares(self, errors: np.ndarray) -> np.ndarray:
        """Errors of the steps (…, ns) relative to the size of the motion."""
        return self.bounded(errors) / self.motion


def step_error(solution: SolutionData, run: Run) -> list[Check]:
    """Check of the position error estimated from the local errors of the steps.

    For methods with an error estimate of a step.
    """
    spent = run.context.spent
    measure = Measure.of(solution)
    if not spent.any() or measure.still:
        return []
    shares = measure.shares(spent)
    worst = int(shares.argmax())
    share = float(shares[worst])
    status = graded(share, MOTION)
    size = float(measure.bounded(spent)[worst]) * model_size(solution.compiled)
    text = (
        f"about {share:.1e} of the motion (sum of the errors of single steps), {size:.1e} m "
        f"{place_of(solution, worst)}"
    )
    fixed = solution.run.options["step"]
    remedy = (
        f"use a smaller step than {fixed:g} s, or omit it for error control"
        if fixed
        else "lower rtol and atol"
    )
    return [Check("Error of the steps", status, text, "" if status == PASS else remedy)]


def _ranges(solution: SolutionData) -> tuple[np.ndarray, np.ndarray]:
    """Range (ns,) of each coordinate over the run.

    And the same without steady translation.
    """
    t, s = solution.t, solution.s
    travelled = np.zeros_like(s)
    travelled[1:] = np.cumsum(0.5 * (s[1:] + s[:-1]) * np.diff(t)[:, None], axis=0)
    for row in rows_of(solution.compiled.system.tree):
        nf, to, at = int(row.nf), int(row.sf_at), int(row.qf_at)
        travelled[:, to : to + nf] = solution.q[:, at : at + nf]
    steady = np.outer((t - t[0]) / max(float(t[-1] - t[0]), 1e-300), travelled[-1] - travelled[0])
    return np.ptp(travelled, axis=0), np.ptp(travelled - steady, axis=0)


def _raise_minor_modes(
    own: np.ndarray, ranges: np.ndarray, sizes: np.ndarray, solution: SolutionData
) -> None:
    """Raise the motion of modes to at least `DEFORMED` of the deformation of their body.

    Measured by displacement and by the square root of strain energy.
    """
    tree, stiffness = solution.compiled.system.tree, solution.compiled.system.bodies.k_ff
    for i, nf in enumerate(tree.nf):
        if nf:
            f = slice(tree.sf_at[i], tree.sf_at[i] + nf)
            root = np.sqrt(np.diagonal(stiffness[i])[:nf]) * sizes[f]
            strained = (root * ranges[f]).max() / np.maximum(root, 1e-300)
            own[f] = np.maximum(own[f], DEFORMED * np.minimum(strained, ranges[f].max()))


def _mechanisms(solution: SolutionData) -> list[np.ndarray]:
    """Coordinate indices of each group of bodies that joints connect without the ground."""
    joints = [
        each
        for each in solution.compiled.model.joints.values()
        if GROUND not in (each.parent.body, each.child.body)
    ]
    body_of, bodies = _body_of(solution), solution.compiled.bodies
    numbers = (
        [bodies.index(name) for name in group if name in bodies]
        for group in groups(solution.compiled.model, joints)
    )
    return [np.flatnonzero(np.isin(body_of, each)) for each in numbers if each]


def _body_of(solution: SolutionData) -> np.ndarray:
    """(ns,) index of the body of each velocity coordinate."""
    sizes = solution.compiled.system.elimination.size[: len(solution.compiled.bodies)]
    return np.repeat(np.arange(len(sizes)), sizes)


def place_of(solution: SolutionData, coordinate: int) -> str:
    """Text that names the body or bodies to which a velocity coordinate belongs."""
    compiled = solution.compiled
    return "at body " + compiled.whole_of(compiled.bodies[int(_body_of(solution)[coordinate])])
