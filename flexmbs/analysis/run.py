"""One run: its records in memory, steps in batches of outputs, its events."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flexmbs._jit.address import Packed
from flexmbs.analysis.closing import displaced, holonomic_rows
from flexmbs.analysis.event import Event
from flexmbs.analysis.events import event_records, located
from flexmbs.analysis.initial import InitialState, settle
from flexmbs.analysis.stop import INTERRUPTED
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.variation import make_variation
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError, MachineError
from flexmbs.formalisms import calls as equations
from flexmbs.formalisms.formalism import Formalism
from flexmbs.integrators import course as at_course
from flexmbs.integrators.course import (
    ACCEPTED,
    AT,
    BEGUN,
    CALLS,
    CLOCK,
    COMMON,
    CONTACTS,
    COUNTS,
    COURSE,
    DONE,
    DRIVES,
    END,
    EVALUATED,
    EVENTS,
    FIXED,
    GAUGES,
    KEEP,
    LONGEST,
    MEMORY,
    MODEL,
    NEXT,
    NOT_FINITE,
    NOW,
    PLACES,
    REACHED,
    RESIDUAL,
    START,
    STEPPED,
    STICKS,
    STOP,
    TIME,
    UNSEEN,
    WATCHED,
    ContactData,
    Course,
    Exchange,
    Outputs,
    Samples,
    make_point,
)  # fmt: skip
from flexmbs.integrators.integrator import Facts, Integrator
from flexmbs.integrators.sampling import WORKS
from flexmbs.integrators.stepper import march, state_at
from flexmbs.integrators.unseen_contacts import LOOK, REJECTS, TELLS, first_look
from flexmbs.results.drive_jumps import drive_jumps, restarts
from flexmbs.results.trajectory import EventRecord, Impact
from flexmbs.system.compile import Compiled
from flexmbs.system.records import (
    BENDS,
    CO_E,
    CO_ET,
    CO_LAW,
    CO_MU,
    CO_POISSON,
    MASS,
    NF,
    PARENT,
    SECOND,
    System,
    Work,
)  # fmt: skip

Progress = Callable[[float, str], None]
BATCH_SECONDS = 0.25  # between two calls of the progress function
SHARE_OF_RUN = 0.02  # a controlled step is at most this part of the run, so that it passes over no short event
JERK_STEPS = (0.05, 1.0)  # of the first step: the second shows whether the first holds over a step
SMOOTH = 0.5  # of s̈
ASIDE = 1e-11  # of a second or of the time: how far before a jump of a law a stretch ends
PAST = 1e-15  # of a second or of the time: how far behind it the next one begins, on its other side whatever round-off does
SAMPLES = 16  # states that the audit looks at, beside that of the largest accelerations
WORKS_SAMPLED = 100  # steps whose work it integrates again
OVERLAP = 1e-6  # m or rad, of rigid contacts, allowed at the start


class Run:
    """One run, marched in batches of outputs; ``found``: its events so far, ``ending``: the terminal one.

    ``work``: scratch of its evaluations, with the path variables of the start.
    """

    def __init__(
        self, compiled: Compiled, method: Integrator, form: Formalism, times: np.ndarray, work: Work,
        events: Sequence[Event] = (),
    ) -> None:  # fmt: skip
        system = compiled.system
        _check_memory(len(times), int(system.layout[1:].sum()) + int(system.layout[2]))
        self.compiled, self.method, self.declared = compiled, method, events
        self.form = form.fitting(compiled, method.needs)
        self.work, self.room = work, self.form.room(compiled)
        self.events = event_records(compiled, events)
        self.found: list[EventRecord] = []
        self.ending: EventRecord | None = None
        self.impacts: list[Impact] = []
        self.facts = facts(compiled)
        # jumps of drives, just before which a stretch of the run ends; not where rigid contacts may be closed
        jumps = restarts(compiled, float(times[-1])) if not (method.contacts and self.facts.contacts) else []
        if method.sees_contacts and self.facts.contacts:
            self._refuse_jumps(float(times[-1]))
        self.jumps = [t - ASIDE * (1.0 + t) for t in jumps]
        if self.jumps and self.jumps[-1] <= times[-1] <= jumps[-1]:  # a run ends before a jump at its end
            times = np.append(times[:-1], self.jumps.pop())
        self.memory = method.memory(self.facts)
        self.course = self._course(times)
        self.now, self.out = self.course.now, self.course.out
        self._lay_out()

    def _refuse_jumps(self, end: float) -> None:
        """Raise `InputError` for drives whose velocities jump."""
        found = {name: t for t, name in reversed(drive_jumps(self.compiled, 0.0, end))}
        if found:
            raise InputError(
                *(
                    f"drives.{name}: its velocity jumps at t = {t:g} s, an impact that '{self.method.name}' does not know beside "
                    "rigid contacts; prescribe a smooth motion, or take 'moreau-jean'"
                    for name, t in found.items()
                )
            )

    def _course(self, times: np.ndarray) -> Course:
        f, method = self.facts, self.method
        start, now, at = (make_point(f.nq, f.ns, f.nz, f.nc) for _ in range(3))
        work, z = self.work, np.zeros
        nonholonomic = (~holonomic_rows(self.compiled)).astype(np.int64)
        exchange = Exchange(
            work.r, work.x, work.gs, work.beta, work.status, z(GAUGES), work.drive_rate, z(f.ns), z(f.ns), nonholonomic
        )
        control = method.control
        clock = z(CLOCK)
        clock[END], clock[FIXED] = float(times[-1]), float(method.step or 0.0)
        clock[STOP] = self.jumps[0] if self.jumps else clock[END]
        clock[LONGEST] = min(method.longest_step, SHARE_OF_RUN * clock[END])
        clock[NEXT] = method.step or min(1e-3, clock[END] / 100.0, clock[LONGEST])
        counts = z(COUNTS, np.int64)
        counts[WATCHED], counts[EVALUATED] = int(bool(self.declared)), int(method.evaluated)
        if f.contacts and not method.sees_contacts:
            counts[UNSEEN] = TELLS if method.step else REJECTS
        return Course(
            np.full(CALLS, -1, np.int64), z(PLACES, np.int64), clock, np.array(control, float), counts, start, now, at, exchange,
            contact_data(self.compiled.system, work), times, z(f.ns), z(f.ns),
            make_samples(f, len(work.path.beta)),
            corners_before([*self.compiled.corners, *self.jumps], clock[END]), make_outputs(times, f, len(work.path.beta)),
        )  # fmt: skip

    def _lay_out(self) -> None:
        """Records into memory, their addresses into the course."""
        c, system, work = self.course, self.compiled.system, self.work
        self.common = equations.Common(
            system, work, c.exchange, c.contact, self.events, make_variation(self.facts.nq, self.facts.ns, self.facts.nc)
        )
        self.model = equations.Model(system, work, self.room, c.exchange)
        self.packed = {
            MODEL: Packed(self.model), COMMON: Packed(self.common), MEMORY: Packed(self.memory), COURSE: Packed(c),
            START: Packed(c.start), NOW: Packed(c.now), AT: Packed(c.at),
        }  # fmt: skip
        for place, packed in self.packed.items():
            c.place[place] = packed.address
        self.kernels = self.method.calls

    def calls(self) -> Iterator[tuple[int, Any, tuple[Any, Any, Any]]]:
        """What the loop calls: place among the calls, kernel, its records."""
        c, used = self.course, set(self.method.uses)
        for place, kernel in enumerate(equations.of_formalism(type(self.form))):
            if kernel is not None and (place in used or (place in (ACCEPTED, KEEP) and self.method.evaluated)):
                yield place, kernel, (self.model, c.now, c.now)
        for place, kernel in enumerate(equations.SHARED, RESIDUAL):
            watched = (place == EVENTS and self.declared) or (place == CONTACTS and c.counts[UNSEEN])
            if place in used or place in at_course.ALWAYS or watched:
                yield place, kernel, (self.common, c.now, c.now)
        for place, method_kernel in zip(range(at_course.STEP, CALLS), self.kernels):
            yield place, method_kernel, (self.memory, c, c)

    def connect(self) -> None:
        """The addresses of all kernels into the course; what is not on the disk is compiled."""
        for place, kernel, records in self.calls():
            self.course.calls[place] = kernel.address(*records)

    def begin(self, start: InitialState) -> None:
        """Consistent accelerations and multipliers, path variables, the method's memory, signs of the state functions."""
        c, now, p = self.course, self.now, self.packed
        now.q[:], now.s[:] = start.q, start.s
        if len(start.z):
            now.z[:] = start.z
        self._settle(0.0)
        if len(start.contact):
            self._close_contacts(start.contact)
        else:
            self._refuse_overlaps()
        self._restart(0.0)
        if c.counts[UNSEEN]:
            equations.look_at_contacts(p[COMMON], p[NOW], p[NOW])
            first_look(c.contact)
        if self.declared:
            equations.watch(p[COMMON], p[NOW], p[NOW], 0.0, 0.0)
            self.compiled.callbacks.raise_error()
            self.events.before[:] = self.events.value

    def _close_contacts(self, force: np.ndarray) -> None:
        """Rigid contacts that carry a force at the start are closed, with the impulse of a step of it."""
        contact = self.course.contact
        shut = (contact.rigid == 1) & (force[:, 0] > 0.0)
        contact.mode[shut] = STICKS
        contact.impulse[shut] = force[shut] * float(self.course.clock[NEXT])

    def _settle(self, t: float) -> None:
        """Velocities onto the constraints by the change of least kinetic energy, an impact; accelerations, multipliers and path
        variables there."""
        c, now, p = self.course, self.now, self.packed
        settled = settle(self.compiled, self.work, t, now.q, now.s, now.z)
        if settled.status < 0:
            body = self.compiled.bodies[-1 - settled.status]
            raise InputError(
                f"bodies.{body}: nothing gives its motion inertia (mass matrix not positive definite); give it mass or a joint"
            )
        self.form.begin(self.compiled, self.work, now.q, now.s)
        now.sd[:], now.lam[:] = settled.sd, settled.lam
        equations.residual(p[COMMON], p[NOW], p[NOW], t)
        if c.calls[KEEP] >= 0:
            equations.of_formalism(type(self.form))[KEEP](p[MODEL], p[NOW], p[NOW], t)  # type: ignore[misc]
        equations.commit(p[COMMON], p[NOW], p[NOW], t)

    def _restart(self, t: float) -> None:
        """The method's memory at the state."""
        c = self.course
        if self.method.begins_with_jerk and self.facts.nc:
            self._find_jerk(t)
        self.method.begin(self.memory, c)
        c.local[:] = 0.0

    def _jump(self) -> None:
        """Past a jump of a drive: an impact does the work by which the kinetic energy changes."""
        c, now = self.course, self.now
        t = self.jumps.pop(0)
        c.clock[TIME] = t = (t + ASIDE) / (1.0 - ASIDE) + PAST * (1.0 + t)
        c.clock[STOP] = self.jumps[0] if self.jumps else c.clock[END]
        before = now.s.copy()
        self._settle(t)
        self._restart(t)
        M = terms(self.compiled.system, make_work(self.compiled.system, self.work.path.beta), t, now.q, now.s, now.z).M
        now.w[DRIVES] += 0.5 * float((now.s - before) @ M @ (now.s + before))

    def _find_jerk(self, t: float) -> None:
        """s̈ at the start, by the difference of accelerations a little later, into course.local; zero where it does not hold over
        a step."""
        c, now, work = self.course, self.now, make_work(self.compiled.system, self.work.path.beta)
        tree, joints = self.compiled.system.tree, self.compiled.system.joints
        jerk = np.zeros_like(now.sd)
        for part in JERK_STEPS:
            h, q, before = part * float(c.clock[NEXT]), now.q.copy(), jerk
            displaced(tree, joints, now.q, h * now.s + 0.5 * h * h * now.sd + h**3 / 6.0 * before, q)
            later = settle(self.compiled, work, t + h, q, now.s + h * now.sd + 0.5 * h * h * before, now.z + h * now.zd)
            jerk = (later.sd - now.sd) / h
        share = 2.0 - 2.0 * np.abs(jerk - before).max() / (SMOOTH * np.abs(jerk).max() + 1e-300)
        c.local[:] = min(max(share, 0.0), 1.0) * before if later.status >= 0 and np.isfinite(share) else 0.0

    def _refuse_overlaps(self) -> None:
        """Raise `InputError` for rigid contacts that overlap at the start."""
        c = self.course
        if not (self.method.contacts and len(c.contact.gap)):
            return
        equations.look_at_contacts(self.packed[COMMON], self.packed[NOW], self.packed[NOW])
        overlaps = [
            f"contacts.{name}: overlaps by {-g:.4g} (m or rad) at the start; move its bodies apart with q0, "
            "or mend its normal, radius or bounds"
            for name, g, rigid in zip(self.compiled.contacts, c.contact.gap, c.contact.rigid)
            if g < -OVERLAP and rigid
        ]
        if overlaps:
            raise InputError(*overlaps)

    def march(self, progress: Progress | None) -> tuple[int, int]:
        """Run to the end. Returns the last status and the number of outputs reached."""
        reached, batch, n, callbacks = 0, 1, len(self.course.times), self.compiled.callbacks
        while reached < n and self.ending is None:
            begun = time.perf_counter()
            last = min(n, reached + batch)
            try:
                with callbacks.interrupts_kept():
                    status, reached = self._batch(reached, last, progress)
            except KeyboardInterrupt:
                callbacks.error = None
                if reached == 0:  # nothing to keep
                    raise
                return INTERRUPTED, reached
            if isinstance(callbacks.error, KeyboardInterrupt):
                callbacks.error = None
                return INTERRUPTED, reached
            if status != DONE or callbacks.error is not None:
                return (NOT_FINITE if status == DONE else status), reached
            if progress:
                self._tell(progress)
            seconds = time.perf_counter() - begun
            batch = int(min(max(1.0, batch * BATCH_SECONDS / max(seconds, 1e-3)), 4.0 * batch)) if last - 2 > 0 else batch
        return DONE, reached

    def _batch(self, first: int, last: int, progress: Progress | None) -> tuple[int, int]:
        """Outputs first … last−1, through the events on the way, or to a terminal one."""
        c, course, told = self.course, self.packed[COURSE], time.perf_counter()
        while True:
            jump = self.jumps and self.jumps[0] < c.times[last - 1]
            stop = min(int(np.searchsorted(c.times, self.jumps[0], "right")), last) if jump else last
            status = march(course, course, course, first, max(stop, first), self.jumps[0] if jump else 0.0)
            self._take_impacts()
            first = int(c.counts[REACHED])
            if status == DONE and jump:
                self._jump()
                continue
            if status != STEPPED or self.compiled.callbacks.error is not None:
                return status if status != STEPPED else NOT_FINITE, first
            if self.declared and self.events.crossed.any():
                self._locate()
                self.events.crossed[:] = 0
                if self.ending is not None:
                    last = self._cut_off(self.ending.t)
            if progress and time.perf_counter() - told > BATCH_SECONDS:
                self._tell(progress)
                told = time.perf_counter()

    def _tell(self, progress: Progress) -> None:
        t = float(self.course.clock[TIME])
        progress(t / float(self.course.clock[END]), f"t = {t:.4g} s")

    def _take_impacts(self) -> None:
        for k, t, impulse, lost in self.method.impacts(self.memory):
            self.impacts.append(Impact(self.compiled.contacts[k], t, impulse, lost))

    def _locate(self) -> None:
        """Record the events of the last step in the order of their times, to the first terminal one."""
        clock, at = self.course.clock, self.course.at
        begun, end = float(clock[BEGUN]), float(clock[TIME])
        crossed = [int(e) for e in np.flatnonzero(self.events.crossed)]
        for t, e in sorted((located(lambda t, e=e: self._value(e, t), begun, end), e) for e in crossed):  # type: ignore[misc]
            self._look_at(t)
            record = EventRecord(self.declared[e].name, t, at.q.copy(), at.s.copy())
            self.found.append(record)
            if self.declared[e].terminal:
                self.ending = record
                return

    def _look_at(self, t: float) -> None:
        course = self.packed[COURSE]
        state_at(course, course, course, t)

    def _value(self, e: int, t: float) -> float:
        """State function e at a time within the last step."""
        self._look_at(t)
        equations.watch(self.packed[COMMON], self.packed[AT], self.packed[AT], t, 0.0)
        return float(self.events.value[e])

    def _cut_off(self, t: float) -> int:
        """The run ends at time t, which becomes the last output. Returns the number of outputs."""
        times = self.course.times
        k = int(np.searchsorted(times, t - 1e-12 * (1.0 + abs(t))))
        times[k] = t
        return k + 1


def facts(compiled: Compiled) -> Facts:
    """What a method may know of a model."""
    system = compiled.system
    _, nq, ns, nc, nz = (int(n) for n in system.layout)
    free = bool((system.tree[:, PARENT] < 0).all())
    rigid = not system.tree[:, NF].any() and compiled.topology.coordinates == "absolute"
    bent = any(rows.info[:, BENDS].any() for rows in system.forces) or bool((system.contacts.info[:, CO_LAW] >= 0).any())
    return Facts(nq, ns, nz, nc, len(system.contacts.info), free, free and rigid, bent)


def contact_data(system: System, work: Work) -> ContactData:
    """Rigid contacts as numbers; what belongs to the path of the motion is shared with it."""
    info, value, path = system.contacts.info, system.contacts.value, work.path
    n, ns, z = len(info), int(system.layout[2]), np.zeros
    heavy = max(float(system.bodies.rigid[:, MASS].max()), float(system.bodies.rigid[:, SECOND : SECOND + 9].max()), 1e-300)
    return ContactData(
        rigid=(info[:, CO_LAW] < 0).astype(np.int64), poisson=np.ascontiguousarray(info[:, CO_POISSON]),
        e=np.ascontiguousarray(value[:, CO_E]), e_t=np.ascontiguousarray(value[:, CO_ET]),
        mu=np.ascontiguousarray(value[:, CO_MU]), scale=np.array([float(np.linalg.norm(system.gravity)), heavy]),
        gap=z(n), rate=z((n, 3)), beside=z(n),
        force=path.force, mode=path.mode, slip=path.slip, impulse=path.impulse, told=z((n, 3)), row=z(n, np.int64),
        rows=z((3 * n, ns)), look=z((n, LOOK)), unseen=np.full(n, -1.0),
    )  # fmt: skip


def corners_before(corners: Sequence[float], end: float) -> np.ndarray:
    """Those within the run, and its end."""
    found = np.array([*sorted(t for t in corners if 0.0 < t < end), end])
    found.flags.writeable = False
    return found


def make_outputs(times: np.ndarray, f: Facts, n_beta: int) -> Outputs:
    """Room for the outputs."""
    n, z = len(times), np.zeros
    return Outputs(
        times.copy(), z((n, f.nq)), z((n, f.ns)), z((n, f.ns)), z((n, f.nc)), z((n, f.nz)), z((n, 3)), z((n, 2)), z(n),
        z((n, f.contacts, 3)), z((n, n_beta)),
    )  # fmt: skip


def make_samples(f: Facts, n_beta: int) -> Samples:
    """Room for what the audit looks at."""
    n, z = SAMPLES + 1, np.zeros
    return Samples(
        np.full(n, -1.0),
        z((n, f.nq)),
        z((n, f.ns)),
        z((n, f.ns)),
        z((n, f.nc)),
        z((n, f.nz)),
        z((n, n_beta)),
        z(n, np.int64),
        z(1),
        z((WORKS_SAMPLED, WORKS)),
    )


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


def statistics(course: Course, prepare: float, march: float) -> dict[str, Any]:
    names = ("steps", "rejected", "iterations", "factorizations", "evaluations", "dependent_rows")
    counts = {name: int(course.counts[k]) for k, name in enumerate(names)}
    counts["unseen_contacts"] = int((course.contact.unseen >= 0.0).sum())
    return {**counts, "prepare_seconds": prepare, "solve_seconds": march}
