"""Laws of time against the steps: variation within a step, where no method evaluates them.

At some steps of the run the law is compared with the straight line between its values at both ends.
For a sine the root mean square of the difference over that of the law is (ω h)²/11 while the steps
resolve it, and 1 or more if it is aliased.
"""

import math
from collections.abc import Iterator

import numpy as np

from flexmbs.model.declared_values import model_values
from flexmbs.model.laws import Constant, Function, TimeLaw
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded

STEPS = 40  # of the run that are sampled
FRACTIONS = (0.29, 0.5, 0.83)  # of a step
FIXED = (0.1, 0.5)  # ω h = 1 and 2.4, about six and three steps a period
CONTROLLED = (0.5, np.inf)  # their error is estimated at points within the step too
STEADILY = 0.9  # of the steps are judged: jumps and corners occur in few
SHORT = 0.4  # of a fixed step: half of a piece of a law
STEADY = 1e-12  # of the values: a law that does not change


def forcing(solution: SolutionData) -> list[Check]:
    """Check that the steps resolve the laws of time."""
    worst, place, short = 0.0, "", _short_pieces(solution)
    begun, lengths = _steps(solution)
    for name, law in _laws(solution):
        share = _missed(law, begun, lengths)
        if share > worst:
            worst, place = share, name
    if not place:
        return short
    fixed = solution.run.options["step"]
    status = graded(worst, FIXED if fixed else CONTROLLED)
    text = (
        f"{place} differs within steps of about {np.median(lengths):.3g} s by {worst:.2g} of "
        "its size from a straight line"
    )
    return [
        Check("Laws of time", status, text, "" if status == PASS else "use smaller steps"),
        *short,
    ]


def _short_pieces(solution: SolutionData) -> list[Check]:
    """WARN for a table whose points are closer than a fixed step; None if there is none."""
    step, begun, ended = solution.run.options["step"], float(solution.t[0]), float(solution.t[-1])
    corners = np.array([*(t for t in solution.compiled.corners if begun < t < ended), ended])
    pieces = np.diff(corners, prepend=begun)
    if not step or pieces.min() >= SHORT * step:
        return []
    k = int(np.argmax(pieces <= 1.001 * pieces.min()))
    text = (
        f"one changes within {2.0 * pieces[k]:.4g} s at t = {corners[k] - pieces[k]:.6g} s, "
        f"less than the step of {step:g} s"
    )
    return [Check("Pieces of laws", WARN, text, "use a smaller step")]


def _laws(solution: SolutionData) -> Iterator[tuple[str, TimeLaw]]:
    """(path, law) of the laws of the model that depend on time only and are not constant."""
    for path, part in model_values(solution.model):
        wants_more = isinstance(part, Function) and part.parameters != 1
        if isinstance(part, TimeLaw) and not isinstance(part, Constant) and not wants_more:
            yield ".".join(path), part


def _steps(solution: SolutionData) -> tuple[np.ndarray, np.ndarray]:
    """Start times and lengths of some steps of the run."""
    t = solution.t
    chosen = t[0] + (t[-1] - t[0]) * np.modf(0.5 + 0.618034 * np.arange(STEPS))[0]
    lengths = np.interp(chosen, t, solution.trajectory.step)
    begun = np.minimum(chosen, t[-1] - lengths)
    keep = (lengths > 0.0) & (begun >= t[0])
    return begun[keep], lengths[keep]


def _missed(law: TimeLaw, begun: np.ndarray, lengths: np.ndarray) -> float:
    """Relative part of the change of a law that steps of these lengths miss.

    0 if it cannot be determined.
    """
    try:
        ends = np.array([[law(float(t)) for t in times] for times in (begun, begun + lengths)])
        within = np.array([[law(float(t)) for t in begun + x * lengths] for x in FRACTIONS])
    except Exception:  # a user function that is undefined there
        return 0.0
    if ends.size == 0 or not (np.isfinite(ends).all() and np.isfinite(within).all()):
        return 0.0
    straight = np.array([(1.0 - x) * ends[0] + x * ends[1] for x in FRACTIONS])
    size = float(np.std(np.concatenate([ends.ravel(), within.ravel()])))
    if size <= STEADY * float(np.abs(ends).max(initial=0.0)):
        return 0.0
    missed = np.sort(np.mean((within - straight) ** 2, axis=0))
    return float(np.sqrt(missed[: math.ceil(STEADILY * len(missed))].mean())) / size
