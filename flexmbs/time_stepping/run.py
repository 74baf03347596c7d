"""One run: its records in memory, steps in batches of outputs, its events.

An array of these records is either read-only, constants and addresses, or part of the state of the
run (`flexmbs.time_stepping.run_state`).
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit.address import Packed
from flexmbs.console.interrupts import raise_received
from flexmbs.diagnosis.singular_positions import Passage
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.joint_forces import coupled_coordinates
from flexmbs.dynamics.variation import make_variation
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError
from flexmbs.formalisms import calls as equations
from flexmbs.formalisms.formalism import Formalism
from flexmbs.initial.assembly import displaced, holonomic_rows
from flexmbs.initial.initial_state import InitialState, settle
from flexmbs.initial.massless_bodies import body_without_inertia
from flexmbs.integrators.dense_output import nothing_kept
from flexmbs.integrators.generalized_alpha import JERK_STEPS, SMOOTH_JERK
from flexmbs.integrators.integrator import Integrator, MethodCalls
from flexmbs.integrators.missed_contacts import DIVIDES, REJECTS, first_evaluation
from flexmbs.integrators.run_context import (
    DONE,
    NOT_FINITE,
    STEP_TOO_SMALL,
    STEPPED,
    STICKS,
    Calls,
    Clock,
    Counts,
    Exchange,
    Gauge,
    Records,
    RunContext,
    make_coupled,
    make_point,
)  # fmt: skip
from flexmbs.integrators.stepper import integrate, state_at
from flexmbs.results.drive_jumps import drive_jumps, restarts
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.records import LOADINGS, SETTLED, UNBOUNDED, Work, depends_on_reactions
from flexmbs.system.step_scales import contact_sizes, extent, gaps_in_metres
from flexmbs.system.trajectory import EventRecord, Impact
from flexmbs.time_stepping.event import Event
from flexmbs.time_stepping.event_location import event_records, located
from flexmbs.time_stepping.initial_overlaps import check_loaded_overlaps, refuse_overlaps
from flexmbs.time_stepping.outcome import INTERRUPTED
from flexmbs.time_stepping.records import (
    ASIDE,
    begin_sampling,
    check_memory,
    contact_data,
    corners_before,
    facts,
    make_outputs,
    make_sampled,
    make_samples,
)  # fmt: skip

Progress = Callable[[float, str], None]
Keep = Callable[[int], None]
ALWAYS = ("residual", "normalize", "constraints", "commit", "canonical")  # called in every run
# kernels that take long to compile
LONG_KERNELS = ("derivative", "matrix", "correction", "rows")
BATCH_SECONDS = 0.25  # s between two calls of the progress function
# a controlled step is at most this part of the run, so that it does not miss short events
SHARE_OF_RUN = 0.02
# of 1 s or of the time: distance of the next stretch behind a jump, beyond round-off
PAST = 1e-15
# steps over which the pace of a run is measured, and consecutive slow measurements that stop it
PACE, CREPT = 1000, 2
CREEPING = 1e-3  # of the previous steps: a smaller step has collapsed
# steps that a run with collapsed steps may still take: about ten minutes with ten bodies
PATIENCE = 2e7


class Pace(NamedTuple):
    """Progress of a run at an instant: steps, its time (s)."""

    steps: int
    t: float
    crept: int


class PackedRecords(NamedTuple):
    """Records in memory: those of `Records`, then the points."""

    model: Packed
    common: Packed
    memory: Packed
    context: Packed
    start: Packed
    state: Packed
    at: Packed


class Run:
    """One run, integrated in batches of outputs.

    work: scratch of its evaluations, with the path variables of the start. found: its events so
    far. ending: the terminal event.
    """

    def __init__(
        self,
        compiled: Compiled,
        method: Integrator,
        form: Formalism,
        times: np.ndarray,
        work: Work,
        events: Sequence[Event] = (),
    ) -> None:
        """Run of a compiled model with a method, formalism and output times."""
        system = compiled.system
        check_memory(len(times), int(system.layout[1:].sum()) + int(system.layout[2]))
        self.compiled, self.method, self.declared = compiled, method, events
        self.form = form.fitting(compiled, method.needs)
        self.work, self.workspace = work, self.form.workspace(compiled)
        self.events = event_records(compiled, events)
        self.found: list[EventRecord] = []
        self.ending: EventRecord | None = None
        self.impacts: list[Impact] = []
        self.overlaps: list[str] = []  # notes on contacts that overlap at the start
        self.passed: list[Passage] = []  # singular positions of the finished run
        self.begun: InitialState | None = None
        self.pace: Pace | None = None
        self.stopping = False  # True: end after the present step
        # called with the number of outputs after an accepted step
        self.keep: Keep | None = None
        self.facts = facts(compiled)
        # jumps of drives, just before which a stretch of the run ends; none with rigid contacts,
        # which may be closed
        jumps = (
            restarts(compiled, float(times[-1]))
            if not (method.contacts and self.facts.contacts)
            else []
        )
        if method.sees_contacts and self.facts.contacts:
            self._refuse_jumps(float(times[-1]))
        self.jumps = [t - ASIDE * (1.0 + t) for t in jumps]
        # a run ends before a jump at its end
        if self.jumps and self.jumps[-1] <= times[-1] <= jumps[-1]:
            times = np.append(times[:-1], self.jumps.pop())
        self.memory = method.memory(self.facts)
        self.sampled = make_sampled(len(compiled.system.samplers.force))
        self.context = self._context(times)
        self.state, self.out = self.context.state, self.context.out
        self._lay_out()

    def _refuse_jumps(self, end: float) -> None:
        """Raise `InputError` for drives whose prescribed velocities jump."""
        found = {name: t for t, name in reversed(drive_jumps(self.compiled, 0.0, end))}
        if found:
            raise InputError(
                *(
                    f"{name}: its velocity jumps at t = {t:g} s, an impact that "
                    f"'{self.method.name}' does not support together with "
                    "rigid contacts; prescribe a smooth motion, or take 'moreau-jean'"
                    for name, t in found.items()
                )
            )

    def _context(self, times: np.ndarray) -> RunContext:
        """Context of the run: states, clock, exchange arrays and counters."""
        f, method = self.facts, self.method
        start, state, at = (make_point(f.nq, f.ns, f.nz, f.nc) for _ in range(3))
        work, z = self.work, np.zeros
        nonholonomic = (~holonomic_rows(self.compiled)).astype(np.int64)
        exchange = Exchange(
            work.r,
            work.x,
            *work.gs,
            work.beta,
            work.status,
            Gauge(),
            work.drive_rate,
            z(f.ns),
            z(f.ns),
            nonholonomic,
            np.array([LOADINGS * depends_on_reactions(self.compiled.system), SETTLED, UNBOUNDED]),
            np.array([1.0 if len(self.compiled.system.prescribed.law) else 0.0]),
            work.path.stage,
            make_coupled(coupled_coordinates(self.compiled.system), len(work.x)),
        )
        clock = Clock(end=float(times[-1]), fixed=float(method.step or 0.0))
        clock.stop = self.jumps[0] if self.jumps else clock.end
        clock.longest = min(method.longest_step, SHARE_OF_RUN * clock.end)
        clock.next = method.step or min(1e-3, clock.end / 100.0, clock.longest)
        counts = Counts(watched=int(bool(self.declared)), evaluated=int(method.evaluated))
        if f.contacts and not method.sees_contacts:
            counts.unseen = DIVIDES if method.step else REJECTS
        calls = Calls()
        calls.values.fill(-1)
        return RunContext(
            calls,
            Records(),
            z(3, np.int64),
            clock,
            method.control,
            counts,
            start,
            state,
            at,
            exchange,
            contact_data(self.compiled.system, work),
            times,
            z(f.ns),
            z(f.ns),
            make_samples(f, len(work.path.beta)),
            corners_before([*self.compiled.corners, *self.jumps], clock.end),
            self.sampled.due,
            make_outputs(times, f, len(work.path.beta)),
        )

    def _lay_out(self) -> None:
        """Place all records in one memory layout and store their addresses."""
        c, system, work = self.context, self.compiled.system, self.work
        self.common = equations.SharedRecords(
            system,
            work,
            c.exchange,
            c.contact,
            self.events,
            make_variation(self.facts.nq, self.facts.nc, self.facts.sizes),
            self.sampled,
        )
        self.model = equations.FormalismRecords(system, work, self.workspace, c.exchange)
        self.packed = p = PackedRecords(
            *map(Packed, (self.model, self.common, self.memory, c, c.start, c.state, c.at))
        )
        c.records.values[:] = [each.address for each in p[:-3]]
        c.points[:] = [each.address for each in p[-3:]]
        self.kernels = self.method.calls
        events = self.events
        frozen((c.records.values, c.points, events.info, events.level, events.direction))

    def calls(self) -> list[tuple[str, Any, tuple[Any, Any, Any]]]:
        """(name, kernel, records) of the kernels that the loop calls.

        Long ones first and last: two processes that compile them from both ends meet at short ones.
        """
        return sorted(
            self._calls(),
            key=lambda each: (each[0] in MethodCalls._fields, each[0] not in LONG_KERNELS),
        )

    def _calls(self) -> Iterator[tuple[str, Any, tuple[Any, Any, Any]]]:
        """(name, kernel, arguments) of the calls that the method needs."""
        c = self.context
        needed = {*ALWAYS, *self.method.uses, "step", "finish", "between"}
        needed |= {"accepted"} if self.method.evaluated else set()
        needed |= {"keep"} if self.form.has_path(self.compiled) else set()
        needed |= {"events"} if self.declared else set()
        needed |= {"contacts"} if c.counts.unseen else set()
        needed |= {"samples", "jump"} if len(self.sampled.first) else set()
        needed |= {"output"} if self.kernels.output is not nothing_kept else set()
        if len(c.exchange.coupled.at) and "matrix" in needed:
            needed.add("couplings")
        for name, kernel in equations.of_formalism(type(self.form))._asdict().items():
            if kernel is not None and name in needed:
                yield name, kernel, (self.model, c.state, c.state)
        for name, kernel in equations.SHARED.items():
            if name in needed:
                yield name, kernel, (self.common, c.state, c.state)
        for name, kernel in self.kernels._asdict().items():
            if name in needed:
                yield name, kernel, (self.memory, c, c)

    def connect(self) -> None:
        """Store the addresses of all kernels in the context; compile those that are not cached."""
        for name, kernel, records in self.calls():
            setattr(self.context.calls, name, kernel.address(*records))
        frozen(self.context.calls.values)

    def begin(self, start: InitialState) -> None:
        """Initialize the run at its first state.

        Consistent accelerations and multipliers, path variables, memory of the method, signs of the
        state functions.
        """
        c, state, p = self.context, self.state, self.packed
        self.begun = start
        state.q[:], state.s[:] = start.q, start.s
        if len(start.z):
            state.z[:] = start.z
        begin_sampling(self.compiled.system.samplers, self.sampled, state.z)
        self._settle(0.0)
        length, system = extent(self.compiled, self.work.motion.x), self.compiled.system
        c.contact.size[:] = contact_sizes(self.compiled, length)
        c.contact.length[:] = np.where(gaps_in_metres(self.compiled), length, 1.0)
        c.contact.weight[:] = np.linalg.norm(system.gravity) * c.contact.length / length
        if len(start.contact):
            self._close_contacts(start.contact)
        else:
            self._check_overlaps()
        self._restart(0.0)
        if c.counts.unseen:
            equations.evaluate_contacts(p.common, p.state, p.state)
            first_evaluation(c.contact)
        if self.declared:
            equations.watch(p.common, p.state, p.state, 0.0, 0.0)
            self.compiled.callbacks.raise_error()
            self.events.before[:] = self.events.value

    def _close_contacts(self, force: np.ndarray) -> None:
        """Close the rigid contacts that carry a force at the start.

        Their impulse is that of one step with this force.
        """
        contact = self.context.contact
        shut = (contact.rigid == 1) & (force[:, 0] > 0.0)
        contact.mode[shut] = STICKS
        contact.impulse[shut] = force[shut] * self.context.clock.next

    def _settle(self, t: float) -> None:
        """Make velocities consistent by an impact of least kinetic energy.

        Then accelerations, multipliers and path variables.
        """
        c, state, p = self.context, self.state, self.packed
        settled = settle(self.compiled, self.work, t, state.q, state.s, state.z)
        if settled.status < 0:
            body = body_without_inertia(self.compiled, settled.status, state.q, self.work.path.beta)
            raise InputError(
                f"bodies.{body}: its motion has no inertia (mass matrix not "
                "positive definite); give it mass or a joint"
            )
        self.form.begin(self.compiled, self.work, state.q, state.s)
        state.sd[:], state.lam[:] = settled.sd, settled.lam
        equations.residual(p.common, p.state, p.state, t)
        if c.calls.keep >= 0:
            equations.of_formalism(type(self.form)).keep(p.model, p.state, p.state, t)  # type: ignore[misc]
        equations.commit(p.common, p.state, p.state)

    def canonical_multipliers(self) -> np.ndarray:
        """Multipliers of the present state, for rows that depend on its coordinates alone."""
        c, p = self.context, self.packed
        c.at.y[:], c.at.lam[:] = c.state.y, c.state.lam
        equations.canonical(p.common, p.at, p.at, c.clock.time)
        return c.at.lam.copy()

    def _restart(self, t: float) -> None:
        """Initialize the method at the present state."""
        c = self.context
        if self.method.begins_with_jerk and self.facts.nc:
            self._find_jerk(t)
        self.method.begin(self.memory, c)
        c.local[:] = 0.0

    def jump(self) -> None:
        """Pass a jump of a drive: project the velocities and restart the method.

        An impact does the work by which the kinetic energy changes.
        """
        c, state = self.context, self.state
        t = self.jumps.pop(0)
        c.clock.time = t = (t + ASIDE) / (1.0 - ASIDE) + PAST * (1.0 + t)
        c.clock.stop = self.jumps[0] if self.jumps else c.clock.end
        before = state.s.copy()
        self._settle(t)
        self._restart(t)
        M = terms(
            self.compiled.system,
            make_work(self.compiled.system, self.work.path.beta),
            t,
            state.q,
            state.s,
            state.z,
        ).M
        state.works.drives += 0.5 * float((state.s - before) @ M @ (state.s + before))

    def _find_jerk(self, t: float) -> None:
        """context.local ← jerk s̈ at the start, by a difference of accelerations.

        Reduced, down to zero, if it is not constant over a step.
        """
        c, state, work = (
            self.context,
            self.state,
            make_work(self.compiled.system, self.work.path.beta),
        )
        jerk = np.zeros_like(state.sd)
        for part in JERK_STEPS:
            h, q, before = part * c.clock.next, state.q.copy(), jerk
            displaced(
                self.compiled.system,
                state.q,
                h * state.s + 0.5 * h * h * state.sd + h**3 / 6.0 * before,
                q,
            )
            later = settle(
                self.compiled,
                work,
                t + h,
                q,
                state.s + h * state.sd + 0.5 * h * h * before,
                state.z + h * state.zd,
            )
            jerk = (later.sd - state.sd) / h
        share = 2.0 - 2.0 * np.abs(jerk - before).max(initial=0.0) / (
            SMOOTH_JERK * np.abs(jerk).max(initial=0.0) + 1e-300
        )
        c.local[:] = (
            min(max(share, 0.0), 1.0) * before if later.status >= 0 and np.isfinite(share) else 0.0
        )

    def _check_overlaps(self) -> None:
        """Raise `InputError` for overlaps of contacts at the start that no load explains."""
        c, p = self.context, self.packed
        if not len(c.contact.gap):
            return

        def evaluate(k: int) -> object:
            """Evaluate the contacts at the start (k = 0) or at the next state."""
            here = (p.state, p.at)[k]
            return equations.evaluate_contacts(p.common, here, here)

        if self.method.contacts:
            evaluate(0)
            refuse_overlaps(self.compiled, c.contact)
        if not c.contact.rigid.all():
            points = c.state, c.at
            self.overlaps = check_loaded_overlaps(
                self.compiled, c.contact, points, c.clock.end, evaluate
            )

    def stop(self) -> None:
        """End the run after the present step.

        May be called from a signal handler or another thread.
        """
        self.stopping = True
        self.context.counts.paused = 1

    def integrate(self, progress: Progress | None) -> tuple[int, int]:
        """Run from the present state to the end.

        Returns the last status and the number of outputs reached.
        """
        reached, batch, n, callbacks = (
            self.context.counts.reached,
            1,
            len(self.context.times),
            self.compiled.callbacks,
        )
        while reached < n and self.ending is None:
            begun = time.perf_counter()
            last = min(n, reached + batch)
            try:
                with contextlib.nullcontext() if self.keep else callbacks.interrupts_kept():
                    raise_received()
                    status, reached = self._batch(reached, last, progress)
            except KeyboardInterrupt:
                callbacks.error = None
                if reached == 0:  # nothing to keep
                    raise
                return INTERRUPTED, reached
            if isinstance(callbacks.error, KeyboardInterrupt):
                callbacks.error = None
                return INTERRUPTED, reached
            if status == DONE and callbacks.error is None and reached < n and self._stops():
                return INTERRUPTED, reached
            if status != DONE or callbacks.error is not None:
                return (NOT_FINITE if status == DONE else status), reached
            self._report(progress, reached)
            seconds = time.perf_counter() - begun
            batch = (
                int(min(max(1.0, batch * BATCH_SECONDS / max(seconds, 1e-3)), 4.0 * batch))
                if last - 2 > 0
                else batch
            )
        return DONE, reached

    def _batch(self, first: int, last: int, progress: Progress | None) -> tuple[int, int]:
        """Integrate to the outputs first … last−1, through events, or to a terminal event."""
        c, context, reported = self.context, self.packed.context, time.perf_counter()
        while True:
            jump = self.jumps and self.jumps[0] < c.times[last - 1]
            stop = (
                min(int(np.searchsorted(c.times, self.jumps[0], "right")), last) if jump else last
            )
            status = integrate(
                context, context, context, first, max(stop, first), self.jumps[0] if jump else 0.0
            )
            self.take_impacts()
            first = c.counts.reached
            if status == DONE and jump:
                self.jump()
                continue
            if status != STEPPED or self.compiled.callbacks.error is not None:
                return status if status != STEPPED else NOT_FINITE, first
            if self.declared and self.events.crossed.any():
                self._locate()
                self.events.crossed[:] = 0
                if self.ending is not None:
                    last = self._cut_off(self.ending.t)
            if self._stops() or 0 < c.counts.limit <= c.counts.evaluations:
                return INTERRUPTED, first
            if self._creeps():
                return STEP_TOO_SMALL, first
            if self.ending is None and time.perf_counter() - reported > BATCH_SECONDS:
                self._report(progress, first)
                reported = time.perf_counter()

    def _creeps(self) -> bool:
        """True if the step size has collapsed and the remaining time exceeds `PATIENCE`.

        Steps are counted, not timed, so that a run ends at the same step on every machine.
        """
        c, was = self.context, self.pace
        steps, t = c.counts.steps, c.clock.time
        if c.clock.fixed > 0.0 or (was is not None and steps < was.steps + PACE):
            return False
        self.pace = Pace(steps, t, 0)
        if was is None or was.t <= 0.0:
            return False
        mean = max(t - was.t, 1e-300) / (steps - was.steps)
        left = (c.clock.end - t) / mean
        if mean < CREEPING * was.t / was.steps and left > PATIENCE:
            self.pace = Pace(was.steps, was.t, was.crept + 1)
        return self.pace.crept >= CREPT

    def _stops(self) -> bool:
        """True if the run was asked to end and no event has ended it."""
        return self.ending is None and self.stopping

    def _report(self, progress: Progress | None, reached: int) -> None:
        """Report the progress and store the outputs reached."""
        t = self.context.clock.time
        if progress:
            progress(t / self.context.clock.end, f"t = {t:.4g} s")
        if self.keep:
            self.keep(reached)

    def take_impacts(self) -> None:
        """Collect the impacts since the last call from the memory of the method."""
        for k, t, impulse, lost in self.method.impacts(self.memory):
            self.impacts.append(Impact(self.compiled.contacts[k], t, impulse, lost))

    def _locate(self) -> None:
        """Record the events of the last step in order of time, up to the first terminal one."""
        clock, at = self.context.clock, self.context.at
        begun, end = clock.begun, clock.time
        crossed = [int(e) for e in np.flatnonzero(self.events.crossed)]
        times = [(located(partial(self._value, e), begun, end), e) for e in crossed]
        for t, e in sorted(times):
            self._look_at(t)
            record = EventRecord(self.declared[e].name, t, at.q.copy(), at.s.copy())
            self.found.append(record)
            if self.declared[e].terminal:
                self.ending = record
                return

    def _look_at(self, t: float) -> None:
        """Interpolate the state at time t."""
        context = self.packed.context
        state_at(context, context, context, t)

    def _value(self, e: int, t: float) -> float:
        """Event function e at a time within the last step."""
        self._look_at(t)
        equations.watch(self.packed.common, self.packed.at, self.packed.at, t, 0.0)
        return float(self.events.value[e])

    def state_functions(self, declared: Sequence[Event]) -> tuple[np.ndarray, Packed]:
        """Values of further event functions, and the records with which `watch` evaluates them."""
        records = event_records(self.compiled, declared)
        return records.value, Packed(self.common._replace(events=records))

    def _cut_off(self, t: float) -> int:
        """End the run at time t, which becomes the last output.

        Returns the number of outputs.
        """
        times = self.context.times
        k = int(np.searchsorted(times, t - 1e-12 * (min(1.0, times[-1]) + abs(t))))
        times[k] = t
        return k + 1
