"""Force states along a prescribed motion: ż = f(t, q(t), s(t), z) from z = 0 at its first time.

Bristles, integrals of controllers, currents and pressures have their own rates, which the motion
prescribes in kinematics. They are integrated by a method that changes between those of Adams and
the backward differentiation formulas (Petzold 1983), and judged by a second integration with an
implicit Runge–Kutta method (Radau IIA). Source: docs/theory.md, section 51.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

from flexmbs.errors import SolverError
from flexmbs.results.state import State
from flexmbs.studies.states.tangent import evaluate
from flexmbs.system.check import PASS, WARN, Check

TITLE = "Force states"
RELATIVE = 1e-8  # error of a step
# of the largest change at the first rates: bristles and pressures settle at a small part of it
ABSOLUTE = 1e-11
JUDGED = 1e-4  # error of a step of the second integration
SMALL = 0.1  # of the largest value: smaller ones count as that
SAMPLES = 16  # of the rates between the outputs
SMALLEST = 1e-16  # errors of states that stay zero
AGREE = 1e-3  # of the largest value of a state: differences of both integrations
REMEDY = "simulate the model, or compute the motion at more times"
# evaluations of one integration, and of each output and corner of laws: smooth motions need fewer
# than 20 of each; a law that switches to and fro at a limit would need millions
MOST, MOST_EACH = 5_000, 100

Reach = Callable[[State, float], State]


def with_force_states(
    motion: Sequence[State], reach: Reach, *, audit: bool
) -> tuple[list[State], list[Check]]:
    """States of a motion with their force states, and the checks of these.

    reach: continues the motion from a state to a later time. Raises `SolverError` where the rates
    or the motion are undefined.
    """
    if not len(motion[0].z):
        return list(motion), []
    prescribed = _Prescribed(motion, reach)
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(motion[0].compiled.force_states))
    begins = f"those of {names} have their initial values at t = {motion[0].t:g} s"
    if len(motion) == 1:
        return list(motion), [Check(TITLE, PASS, begins)]
    z = prescribed.integrated("LSODA", RELATIVE, ABSOLUTE * prescribed.size)
    checks = []
    if audit:
        largest = np.abs(z).max(axis=0)
        other = prescribed.integrated("Radau", JUDGED, SMALL * JUDGED * largest)
        apart = np.abs(other - z).max(axis=0) / np.where(largest > 0.0, largest, 1.0)
        share = float(apart.max())
        text = f"{begins}; a second integration differs by {share:.1e} of the largest value"
        good = share <= AGREE
        checks = [Check(TITLE, PASS if good else WARN, text, "" if good else REMEDY)]
    return [replace(state, z=row) for state, row in zip(motion, z)], checks


class _Prescribed:
    """Rates of force states along a motion, which is computed at any time between its states."""

    def __init__(self, motion: Sequence[State], reach: Reach) -> None:
        """The motion, its last computed state and a size (nz,) of each force state."""
        self.motion, self.reach, self.last = motion, reach, motion[0]
        self.times = [state.t for state in motion]
        corners = [t for t in motion[0].compiled.corners if self.times[0] < t < self.times[-1]]
        self.ends = [*corners, self.times[-1]]
        self.most = MOST + MOST_EACH * (len(motion) + len(corners))
        self.count = 0
        # a motion may rest at all of its outputs
        between = [self.at(t) for t in np.linspace(self.times[0], self.times[-1], SAMPLES)]
        between += [self.at(t) for t in corners]
        rates = np.array([evaluate(state).force_rate for state in (*motion, *between)])
        self.size = np.abs(rates).max(axis=0) * (self.times[-1] - self.times[0])

    def rate(self, t: float, z: np.ndarray, last: float) -> np.ndarray:
        """Rates ż (nz,) at a time, at most ``last``, and for force states. Raises `SolverError`."""
        self.count += 1
        if self.count > self.most:
            names = ", ".join(f"'{name}'" for name in self.motion[0].compiled.force_states)
            raise SolverError(
                f"force states of {names} at t = {t:g} s: their rates switch to and fro, as at the "
                "limits of a controller; simulate the model"
            )
        state = self.at(min(float(t), last))
        return evaluate(replace(state, z=np.ascontiguousarray(z))).force_rate

    def at(self, t: float) -> State:
        """State of the motion at a time, continued from the nearest earlier one."""
        if self.last.t != t:
            before = self.motion[max(0, bisect_right(self.times, t) - 1)]
            start = self.last if before.t < self.last.t < t else before
            self.last = start if start.t == t else self.reach(start, t)
        return self.last

    def integrated(self, method: str, tolerance: float, floor: np.ndarray) -> np.ndarray:
        """Force states (nt, nz) at the times of the motion. Raises `SolverError`.

        Steps end at corners of laws, and are not longer than the largest interval of these times,
        so that none of them passes over a short change of a drive that outputs show.
        """
        self.count = 0
        rows = [z := np.zeros(len(self.size))]
        start, options = self.times[0], {"rtol": tolerance, "atol": np.maximum(floor, SMALLEST)}
        for end in self.ends:
            within = [t for t in self.times if start < t <= end]
            found = solve_ivp(
                self.rate,
                (start, end),
                z,
                method=method,
                t_eval=sorted({*within, end}),
                max_step=float(np.diff(self.times).max()),
                # a law that jumps at the corner has its value after it there
                args=(float(np.nextafter(end, start)) if end < self.times[-1] else end,),
                **options,
            )
            if not found.success:
                raise SolverError(f"force states at t = {found.t[-1]:g} s: {found.message}")
            rows += list(found.y.T[: len(within)])
            start, z = end, found.y[:, -1]
        return np.array(rows)
