"""The time loop of SciPy's solvers over a formalism: ẏ of y = (q, s, z, work) is one compiled kernel."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs._jit import bound, bound_part, seldom
from flexmbs.analysis.march.explicit import derivative, output
from flexmbs.analysis.march.march import Course, March
from flexmbs.analysis.march.state import (
    BEGUN,
    DONE,
    FACTORIZATIONS,
    INDEFINITE,
    LONGEST,
    NOT_FINITE,
    STEP,
    STEP_TOO_SMALL,
    STEPPED,
    STEPS,
    TIME,
    record,
    unpack,
)  # fmt: skip
from flexmbs.dynamics.kinematics import normalize_positions
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.formalism import unchanged as accepted
from flexmbs.integrators.stiff import BDF, Radau, Stiff


def rate(system, work, room, now, t, y, yd):
    """ẏ at (t, y); returns the formalism's status."""
    unpack(y, now.q, now.s, now.z, now.work)
    normalize_positions(system.tree, system.joints, now.q)
    status = derivative(system, work, room, now, t, yd)
    if status < 0:
        work.status[0] = -1 - status
    return status


def after_step(system, work, room, now, t, y):
    """The accepted state with the formalism's preparation."""
    unpack(y, now.q, now.s, now.z, now.work)
    normalize_positions(system.tree, system.joints, now.q)
    accepted(system, work, room, t, now.q, now.s)


def stiff_output(system, work, room, now, y, t, out, i):
    """Output i of the state y at time t."""
    at = now.at
    unpack(y, at.q, at.s, at.z, at.work)
    output(system, work, room, now, t)
    record(now, work, out, t, i)


@seldom
def state_of(system, now, y):
    """y as the state asked for."""
    unpack(y, now.at.q, now.at.s, now.at.z, now.at.work)
    normalize_positions(system.tree, system.joints, now.at.q)


@functools.cache
def kernels(formalism: type[Formalism]) -> tuple[Any, Any, Any]:
    """(ẏ, after a step, output) over a formalism."""
    parts = {"accelerations": formalism.accelerations, "accepted": formalism.accepted}
    derivative_part = bound_part(derivative, accelerations=formalism.accelerations)
    return (
        bound(rate, formalism.name, derivative=derivative_part),
        bound(after_step, formalism.name, lightly=True, accepted=formalism.accepted),
        bound(stiff_output, formalism.name, lightly=True, output=bound_part(output, **parts)),
    )


class Halt(Exception):
    """A function of the user has failed."""


class StiffMarch(March):
    """Radau IIA or BDF of SciPy."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self.solver: Any = None
        self.dense: Callable[[float], np.ndarray] | None = None
        self.rate, self.after, self.output = kernels(type(course.form))
        self.status = 0

    def outputs(self, first: int, last: int) -> tuple[int, int]:
        c = self.course
        for i in range(first, last):
            while c.now.clock[TIME] < c.times[i]:
                status = self._step()
                if status != DONE:
                    return status, i
            y = self._y() if self.dense is None or c.times[i] >= c.now.clock[TIME] else self.dense(float(c.times[i]))
            self.output(c.system, c.work, c.room, c.now, y, float(c.times[i]), c.out, i)
        return DONE, last

    def look_at(self, t: float) -> None:
        assert self.dense is not None
        state_of(self.course.system, self.course.now, np.asarray(self.dense(t)))

    def _step(self) -> int:
        """One step of the solver; its status."""
        c, clock = self.course, self.course.now.clock
        try:
            if self.solver is None:
                self.solver = self._start()
            self.solver.step()
        except Halt:
            return NOT_FINITE
        except (ValueError, np.linalg.LinAlgError):  # SciPy meets numbers that are not finite
            return self._failure(NOT_FINITE)
        if self.solver.status == "failed":
            return self._failure(STEP_TOO_SMALL)
        self.dense = self.solver.dense_output()
        clock[BEGUN], clock[TIME], clock[STEP] = self.solver.t_old, self.solver.t, self.solver.step_size
        c.now.statistics[STEPS] += 1
        c.now.statistics[FACTORIZATIONS] = self.solver.nlu
        self.after(c.system, c.work, c.room, c.now, float(self.solver.t), self.solver.y)
        return STEPPED if self.watched else DONE

    def _failure(self, status: int) -> int:
        return INDEFINITE if self.status < 0 else status

    def _start(self) -> Any:
        import scipy.integrate

        c, m = self.course, self.course.method
        assert isinstance(m, Stiff)
        kind = {Radau.name: scipy.integrate.Radau, BDF.name: scipy.integrate.BDF}[m.name]
        return kind(
            self._rate, 0.0, self._y(), float(c.times[-1]), max_step=c.now.clock[LONGEST], rtol=max(m.rtol, 1e-13), atol=m.atol
        )

    def _y(self) -> np.ndarray:
        """The running state."""
        if self.solver is not None:
            return np.asarray(self.solver.y)
        now = self.course.now
        return np.concatenate([now.q, now.s, now.z, now.work])

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        c = self.course
        yd = np.empty_like(y)
        status = int(self.rate(c.system, c.work, c.room, c.now, float(t), np.ascontiguousarray(y), yd))
        if c.compiled.callbacks.error is not None:
            raise Halt
        self.status = status
        if status < 0:
            yd[:] = np.nan
        return yd
