"""One run: the state of a time loop, marched in batches of outputs, with its events."""

import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flexmbs.analysis.event import Event
from flexmbs.analysis.initial import InitialState, settle
from flexmbs.analysis.march import state
from flexmbs.analysis.march.event_driven import FromEventToEvent
from flexmbs.analysis.march.events import event_records, located, look, values_at
from flexmbs.analysis.march.explicit import Explicit
from flexmbs.analysis.march.implicit import Implicit
from flexmbs.analysis.march.march import Course, March
from flexmbs.analysis.march.nonsmooth import Nonsmooth
from flexmbs.analysis.march.rattle import Variational
from flexmbs.analysis.march.stiff import StiffMarch
from flexmbs.analysis.stop import INTERRUPTED
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError, MachineError
from flexmbs.formalisms.formalism import Formalism
from flexmbs.integrators import BDF, DormandPrince, EventDriven, GeneralizedAlpha, Integrator, MoreauJean, Radau, Rattle
from flexmbs.results.trajectory import EventRecord
from flexmbs.system.compile import Compiled
from flexmbs.system.records import CUT_KIND, ROLLING_DISC, WATCHED

Progress = Callable[[float, str], None]
BATCH_SECONDS = 0.25  # between two calls of the progress function

MARCHES: dict[type[Integrator], type[March]] = {
    GeneralizedAlpha: Implicit, DormandPrince: Explicit, Rattle: Variational, Radau: StiffMarch, BDF: StiffMarch,
    MoreauJean: Nonsmooth, EventDriven: FromEventToEvent,
}  # fmt: skip
INTEGRATORS: dict[str, type[Integrator]] = {method.name: method for method in MARCHES}


class Run:
    """One run, marched in batches of outputs; ``found``: its events so far, ``ending``: the terminal one."""

    def __init__(
        self, compiled: Compiled, method: Integrator, form: Formalism, times: np.ndarray, start: InitialState,
        events: Sequence[Event] = (),
    ) -> None:  # fmt: skip
        system = compiled.system
        _, nq, ns, nc, nz = (int(n) for n in system.layout)
        _check_memory(len(times), int(system.layout[1:].sum()) + ns)
        self.course = Course(
            compiled, system, make_work(system, start.beta), form, form.room(compiled), method, state.make_now(nq, ns, nc, nz),
            event_records(compiled, events), times, state.make_trajectory(times, nq, ns, nc, nz, len(system.contacts.info)),
        )  # fmt: skip
        self.declared = events
        self.found: list[EventRecord] = []
        self.ending: EventRecord | None = None
        self.now, self.work, self.room, self.out = self.course.now, self.course.work, self.course.room, self.course.out
        self._begin(start)
        self.work.cut[system.cuts[:, CUT_KIND] == ROLLING_DISC, WATCHED] = 1.0
        self.loop = MARCHES[type(method)](self.course)

    def _begin(self, start: InitialState) -> None:
        """Consistent accelerations and multipliers, the first step, signs of the state functions."""
        c, now, events = self.course, self.now, self.course.events
        now.q[:], now.s[:] = start.q, start.s
        if len(start.z):
            now.z[:] = start.z
        settled = settle(c.compiled, c.work, 0.0, now.q, now.s, now.z)
        if settled.status < 0:
            body = c.compiled.bodies[-1 - settled.status]
            raise InputError(
                f"bodies.{body}: nothing gives its motion inertia (mass matrix not positive definite); give it mass or a joint"
            )
        c.form.begin(c.compiled, c.work, now.q, now.s)
        now.sd[:], now.lam[:], now.a[:] = settled.sd, settled.lam, settled.sd
        t_end = float(c.times[-1])
        now.clock[state.LONGEST] = min(c.method.longest_step, state.SHARE_OF_RUN * t_end)
        now.clock[state.STEP] = c.method.step or min(1e-3, t_end / 100.0, now.clock[state.LONGEST])
        if self.declared:
            values_at(c.system, c.work, events, 0.0, now.q, now.s)
            c.compiled.callbacks.raise_error()
            events.before[:] = events.value

    def march(self, progress: Progress | None) -> tuple[int, int]:
        """Run to the end. Returns the last status and the number of outputs reached."""
        reached, batch, n, callbacks = 0, 1, len(self.course.times), self.course.compiled.callbacks
        while reached < n and self.ending is None:
            begun = time.perf_counter()
            last = min(n, reached + batch)
            try:
                with callbacks.interrupts_kept():
                    status, reached = self._batch(reached, last)
            except KeyboardInterrupt:
                callbacks.error = None
                if reached == 0:  # nothing to keep
                    raise
                return INTERRUPTED, reached
            if isinstance(callbacks.error, KeyboardInterrupt):
                callbacks.error = None
                return INTERRUPTED, reached
            if status != state.DONE or callbacks.error is not None:
                return (state.NOT_FINITE if status == state.DONE else status), reached
            if progress:
                progress(reached / n, f"t = {self.now.clock[state.TIME]:.4g} s")
            seconds = time.perf_counter() - begun
            batch = int(min(max(1.0, batch * BATCH_SECONDS / max(seconds, 1e-3)), 4.0 * batch)) if last - 2 > 0 else batch
        return state.DONE, reached

    def _batch(self, first: int, last: int) -> tuple[int, int]:
        """Outputs first … last−1, through the events on the way, or to a terminal one."""
        c, now = self.course, self.now
        while True:
            status, reached = (int(n) for n in self.loop.outputs(first, last))
            if status != state.STEPPED:
                return status, reached
            first = reached
            if not self.declared:
                continue
            seen = int(look(c.system, c.work, c.events, float(now.clock[state.TIME]), now.q, now.s))
            if seen == state.NOT_FINITE or c.compiled.callbacks.error is not None:
                return state.NOT_FINITE, reached
            if seen == state.STEPPED:
                self._locate()
                if self.ending is not None:
                    last = self._cut_off(self.ending.t)

    def _locate(self) -> None:
        """Record the events of the last step in the order of their times, to the first terminal one."""
        events, clock = self.course.events, self.now.clock
        begun, end = float(clock[state.BEGUN]), float(clock[state.TIME])
        crossed = [int(e) for e in np.flatnonzero(events.crossed)]
        for t, e in sorted((located(lambda t, e=e: self._value(e, t), begun, end), e) for e in crossed):  # type: ignore[misc]
            self.loop.look_at(t)
            at = self.now.at
            record = EventRecord(self.declared[e].name, t, at.q.copy(), at.s.copy())
            self.found.append(record)
            if self.declared[e].terminal:
                self.ending = record
                return

    def _value(self, e: int, t: float) -> float:
        """State function e at a time within the last step."""
        c, at = self.course, self.now.at
        self.loop.look_at(t)
        values_at(c.system, c.work, c.events, t, at.q, at.s)
        return float(c.events.value[e])

    def _cut_off(self, t: float) -> int:
        """The run ends at time t, which becomes the last output. Returns the number of outputs."""
        times = self.course.times
        k = int(np.searchsorted(times, t - 1e-12 * (1.0 + abs(t))))
        times[k] = t
        return k + 1


def _check_memory(outputs: int, numbers: int) -> None:
    """MachineError when the outputs of so many numbers each cannot fit in the machine's memory."""
    need, there = 8.0 * outputs * (numbers + 7), memory()
    if need > there:
        raise MachineError(
            f"output_step: {outputs} outputs of {numbers} numbers need {need / 1e9:.3g} GB, "
            f"the machine has {there / 1e9:.3g} GB; choose a longer output_step"
        )


def memory() -> float:
    """Bytes of memory of the machine; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def statistics(now: state.Now, prepare: float, march: float) -> dict[str, Any]:
    names = ("steps", "rejected", "iterations", "factorizations", "evaluations", "dependent_rows")
    counts = {name: int(now.statistics[k]) for k, name in enumerate(names)}
    return {**counts, "prepare_seconds": prepare, "solve_seconds": march}
