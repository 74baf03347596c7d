"""Implicit methods for stiff ordinary differential equations, marched by SciPy: Radau IIA and BDF.

For minimal coordinates: the equations are y' = f(t, y) with y = (q, s, force states, works). Constraints are kept as the
formalism keeps them, by its own correction or by Baumgarte's stabilization.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flexmbs._jit.address import NoRecord, PythonEntry, invoke
from flexmbs.integrators.between import nothing_kept
from flexmbs.integrators.course import (
    COMMON,
    CORNER,
    DERIVATIVE,
    DONE,
    END,
    EVALUATIONS,
    FACTORIZATIONS,
    INDEFINITE,
    LONGEST,
    MODEL,
    NORMALIZE,
    NOT_FINITE,
    NOW,
    STEP_TOO_SMALL,
    TAKEN,
    TIME,
    Course,
)  # fmt: skip
from flexmbs.integrators.integrator import ATOL, RTOL, Facts, Integrator, MethodCalls, check_step, check_tolerance


@dataclass(frozen=True)
class Stiff(Integrator):
    """Options of both methods: tolerances ``rtol`` and ``atol``, and a longest step ``max_step`` (s)."""

    rtol: float = RTOL
    atol: float = ATOL
    max_step: float | None = None

    uses: ClassVar[tuple[int, ...]] = (DERIVATIVE,)
    needs: ClassVar[str] = "accelerations"
    treatments: ClassVar[tuple[str, ...]] = ("none", "baumgarte")
    evaluated: ClassVar[bool] = True
    takes_back: ClassVar[bool] = False
    step: ClassVar[None] = None  # type: ignore[misc]

    def __post_init__(self) -> None:
        check_tolerance("rtol", self.rtol)
        check_tolerance("atol", self.atol)
        check_step("max_step", self.max_step)

    def memory(self, facts: Facts) -> NoRecord:
        return NoRecord()

    def connected(self, course: Course) -> MethodCalls:
        solver = Solver(self, course)
        return MethodCalls(PythonEntry(solver.step), nothing_kept, PythonEntry(solver.between))

    @property
    def longest_step(self) -> float:
        return math.inf if self.max_step is None else self.max_step


@dataclass(frozen=True)
class Radau(Stiff):
    """Radau IIA of order 5 with controlled steps (Hairer & Wanner 1996, IV.8), for stiff minimal coordinates."""

    name: ClassVar[str] = "radau"


@dataclass(frozen=True)
class BDF(Stiff):
    """Backward differentiation of variable order 1 to 5 (Shampine & Reichelt 1997), for stiff minimal coordinates."""

    name: ClassVar[str] = "bdf"


class Halt(Exception):
    """The equations give no numbers."""


class Solver:
    """A solver of SciPy over one run: it takes its own steps, which the stepper accepts."""

    def __init__(self, method: Stiff, course: Course) -> None:
        self.method, self.course = method, course
        self.solver: Any = None
        self.dense: Callable[[float], np.ndarray] | None = None
        self.status = 0

    def step(self, h: float, a: float, b: float) -> int:
        """One step of the solver into ``now``; a status of `Course`."""
        course, clock = self.course, self.course.clock
        try:
            if self.solver is None:
                self.solver = self._start()
            bound = course.corners[course.counts[CORNER]]
            if self.solver.t_bound != bound:
                self.solver.t_bound, self.solver.status = bound, "running"
            with np.errstate(all="ignore"):  # numbers that are not finite end the step
                self.solver.step()
            if self.solver.jac_factor is not None:  # of a coordinate on which nothing depends it grows without bound
                np.minimum(self.solver.jac_factor, 1.0, out=self.solver.jac_factor)
            if self.solver.status == "failed":
                return INDEFINITE if self.status < 0 else STEP_TOO_SMALL
            self.dense = self.solver.dense_output()
            clock[TAKEN] = self.solver.t - clock[TIME]
            course.counts[FACTORIZATIONS] = self.solver.nlu
            self._evaluate(float(self.solver.t), self.solver.y)
        except Halt:
            return NOT_FINITE
        except (ValueError, np.linalg.LinAlgError):  # SciPy meets numbers that are not finite
            return INDEFINITE if self.status < 0 else NOT_FINITE
        except BaseException:  # an interrupt, which the run finds by itself
            return NOT_FINITE
        return DONE

    def between(self, t: float, a: float, b: float) -> int:
        """The state at time t of the last step."""
        course = self.course
        course.at.y[:] = course.now.y if self.dense is None or t >= course.clock[TIME] else self.dense(t)
        return DONE

    def _start(self) -> Any:
        import scipy.integrate

        m, course = self.method, self.course
        kind = {Radau.name: scipy.integrate.Radau, BDF.name: scipy.integrate.BDF}[m.name]
        return kind(
            self._rate, 0.0, course.now.y.copy(), float(course.clock[END]), max_step=float(course.clock[LONGEST]),
            rtol=max(m.rtol, 1e-13), atol=m.atol,
        )  # fmt: skip

    def _evaluate(self, t: float, y: np.ndarray) -> int:
        """ẏ of ``now`` at y."""
        course = self.course
        model, common, now = (int(course.place[k]) for k in (MODEL, COMMON, NOW))
        course.now.y[:] = y
        course.counts[EVALUATIONS] += 1
        invoke(int(course.calls[NORMALIZE]), common, now, now, t)
        return invoke(int(course.calls[DERIVATIVE]), model, now, now, t)

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        self.status = self._evaluate(float(t), y)
        if self.status >= 0 and not np.isfinite(self.course.now.yd).all():
            raise Halt
        yd = self.course.now.yd.copy()
        if self.status < 0:
            self.course.exchange.status[0] = -1 - self.status
            yd[:] = np.nan
        return yd
