"""The time loop from event to event over a formalism; the equations are in `flexmbs.integrators.event_driven`."""

import functools
import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexmbs.analysis.march.march import Course, March
from flexmbs.analysis.march.nonsmooth import refuse_overlaps
from flexmbs.analysis.march.responses import OPEN, SLIPS, STICKS, Contacts, Responses, Unsolved
from flexmbs.analysis.march.state import (
    BEGUN,
    DONE,
    INDEFINITE,
    LONGEST,
    NOT_FINITE,
    REJECTED,
    SMALLEST_STEP,
    STEP,
    STEP_TOO_SMALL,
    STEPPED,
    STEPS,
    TIME,
    UNSOLVED,
)  # fmt: skip
from flexmbs.analysis.march.stiff import kernels, state_of
from flexmbs.integrators import dormand_prince as dp
from flexmbs.integrators.event_driven import TOO_MANY, EventDriven
from flexmbs.results.trajectory import Impact
from flexmbs.system.records import CO_LAW, GAP_FORCE, POWER_LOSS

LOOKS = np.array([0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0])  # parts of a step at which gaps are looked at
TOUCHING = 1e-9  # m or rad, of a gap that is closed
SLIPPING = 1e-7  # m/s, above which a contact slips
CROWD, CROWDED = 500, 1e-5  # impacts within so short a time (s, relative beyond 1 s) go on for ever
ROUND_OFF = 1e-13


class Step(NamedTuple):
    """A step h from y at time t with slopes k, its contacts' modes and directions of slip."""

    t: float
    h: float
    y: np.ndarray
    k: np.ndarray
    mode: np.ndarray
    slip: np.ndarray

    def at(self, t: float) -> np.ndarray:
        """y within the step, of order 4."""
        x = (t - self.t) / self.h
        return self.y + self.h * (dp.DENSE @ x ** np.arange(1, 5)) @ self.k

    def after(self, part: float) -> np.ndarray:
        """y at a part of the step."""
        return self.at(self.t + part * self.h)


class FromEventToEvent(March):
    """Dormand–Prince with located impacts and forces of closed contacts."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        system, now = course.system, course.now
        self.rate, self.prepare, self.output = kernels(type(course.form))
        self.responses = Responses(course, self._bare)
        n = len(system.contacts.info)
        self.rigid = system.contacts.info[:, CO_LAW] < 0
        self.mode, self.slip = np.full(n, OPEN), np.zeros((n, 2))
        self.y = np.concatenate([now.q, now.s, now.z, now.work])
        self.size = len(self.y) - 3
        self.last: Step | None = None
        self.status = DONE
        self.recent: deque[float] = deque(maxlen=CROWD)
        first = self._contacts(0.0, self.y)
        refuse_overlaps(course.compiled, first.gap)
        self.begun = False

    def outputs(self, first: int, last: int) -> tuple[int, int]:
        clock, times = self.course.now.clock, self.course.times
        try:
            if not self.begun:
                self.begun = True
                self._collide(0.0, self._touching(self._contacts(0.0, self.y)))
            for i in range(first, last):
                while clock[TIME] < times[i] - ROUND_OFF * (1.0 + times[i]):
                    status = self._step(float(times[-1]))
                    if status != DONE or self.watched:
                        return (STEPPED if status == DONE else status), i
                self._record(i)
        except Unsolved as error:
            self.course.work.status[0], self.course.work.status[1] = error.contact, error.sweeps
            return UNSOLVED, i if self.last is not None else first
        return DONE, last

    def look_at(self, t: float) -> None:
        c = self.course
        assert self.last is not None
        state_of(c.system, c.now, self.last.at(t))

    def _record(self, i: int) -> None:
        """Output i, with the forces of the closed contacts there."""
        c, t = self.course, float(self.course.times[i])
        within = self.last is not None and t < c.now.clock[TIME] - ROUND_OFF * (1.0 + t)
        y, mode, slip = self.y, self.mode, self.slip
        if within and self.last is not None:
            y, mode, slip = self.last.at(t), self.last.mode, self.last.slip
        self._derivative(t, y, mode, slip)
        self.output(c.system, c.work, c.room, c.now, y, t, c.out, i)
        c.out.contact[i] = c.work.contact[:, GAP_FORCE : GAP_FORCE + 3]
        c.out.contact[i][~self.rigid] = 0.0

    def _contacts(self, t: float, y: np.ndarray) -> Contacts:
        nq, ns = self.responses.nq, self.responses.ns
        return self.responses.contacts(t, y[:nq], y[nq : nq + ns])

    def _bare(self, t: float, y: np.ndarray) -> np.ndarray:
        """ẏ with the contact forces that stand."""
        c = self.course
        yd = np.empty_like(y)
        status = int(self.rate(c.system, c.work, c.room, c.now, float(t), np.ascontiguousarray(y), yd))
        if status < 0:
            self.status = INDEFINITE
            yd[:] = np.nan
        return yd

    def _derivative(self, t: float, y: np.ndarray, mode: np.ndarray, slip: np.ndarray) -> np.ndarray:
        """ẏ with the forces of the closed contacts; slipping contacts keep their direction while they turn back."""
        closed = np.flatnonzero(mode != OPEN)
        forces = np.zeros((len(closed), 3))
        rate = np.zeros((len(closed), 3))
        if len(closed):
            rate = self._contacts(t, y).rate[closed]
            direction = slip[closed].copy()
            for b, u in enumerate(rate[:, 1:]):
                speed = float(np.hypot(*u))
                if u @ direction[b] > 0.5 * speed > 0.0:
                    direction[b] = u / speed
            forces = self.responses.held(t, y, closed, mode[closed], direction)
        self.responses.apply(closed, forces)
        yd = self._bare(t, y)
        yd[self.size + POWER_LOSS] -= float((forces * rate).sum())
        return yd

    def _step(self, end: float) -> int:
        """One step, to the first event in it; its status."""
        c, clock = self.course, self.course.now.clock
        self.status = DONE
        t = float(clock[TIME])
        while True:
            h = min(float(clock[STEP]), float(clock[LONGEST]), end - t)
            step, y1, error = self._try(t, h)
            if c.compiled.callbacks.error is not None:
                return NOT_FINITE
            if error <= 1.0:
                break
            c.now.statistics[REJECTED] += 1
            clock[STEP] = h * (max(0.2, 0.9 * error**-0.2) if math.isfinite(error) else 0.1)
            if clock[STEP] < SMALLEST_STEP * (1.0 + abs(t)):
                return self.status if self.status != DONE else STEP_TOO_SMALL if math.isfinite(error) else NOT_FINITE
        clock[STEP] = h * min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2))
        self.last = step
        until, struck, turned = self._first_event(step)
        self.y = y1 if until >= t + h else step.at(until)
        clock[BEGUN], clock[TIME] = t, until
        c.now.statistics[STEPS] += 1
        self._accept(until)
        if struck.any():
            self._collide(until, struck)
        self._change_modes(until, turned)
        return DONE

    def _try(self, t: float, h: float) -> tuple[Step, np.ndarray, float]:
        """A step of Dormand–Prince: its record, its end and the norm of its error."""
        k = np.zeros((dp.STAGES, len(self.y)))
        y1 = self.y
        for j in range(dp.STAGES):
            if j:
                y1 = self.y + h * dp.A[j, :j] @ k[:j]
            k[j] = self._derivative(t + dp.C[j] * h, y1, self.mode, self.slip)
        m, n = self.course.method, self.size
        assert isinstance(m, EventDriven)
        scale = m.atol + m.rtol * np.maximum(np.abs(self.y[:n]), np.abs(y1[:n]))
        error = float(np.sqrt(np.mean((h * (dp.ERROR @ k)[:n] / scale) ** 2))) if n else 0.0
        step = Step(t, h, self.y, k, self.mode.copy(), self.slip.copy())
        return step, y1, error if math.isfinite(error) else math.inf

    def _accept(self, t: float) -> None:
        """The formalism's preparation of the state that was reached."""
        c, now = self.course, self.course.now
        self.prepare(c.system, c.work, c.room, now, t, self.y)
        self.y = np.concatenate([now.q, now.s, self.y[len(now.q) + len(now.s) :]])

    def _first_event(self, step: Step) -> tuple[float, np.ndarray, np.ndarray]:
        """Time of the first event in a step, or its end; contacts that strike there, contacts whose slip turns back there."""
        n = len(self.mode)
        free = (step.mode == OPEN) & self.rigid
        sliding = (step.mode == SLIPS) & (self.responses.mu > 0.0)
        found: list[tuple[float, int, bool]] = []
        if free.any() or sliding.any():
            start = self._contacts(step.t, step.y)
            looks = [(0.0, start), *((x, self._contacts(step.t + x * step.h, step.after(x))) for x in LOOKS)]
            for k in range(n):
                if free[k]:
                    found += [(t, k, True) for t in self._root(step, looks, functools.partial(_gap, k))]
                elif sliding[k]:
                    found += [(t, k, False) for t in self._root(step, looks, functools.partial(_slip, k, step.slip[k]))]
        until = min((t for t, _, _ in found), default=step.t + step.h)
        struck, turned = np.zeros(n, bool), np.zeros(n, bool)
        for t, k, hits in found:
            if t <= until + ROUND_OFF * (1.0 + until):
                (struck if hits else turned)[k] = True
        return until, struck, turned

    def _root(self, step: Step, looks: list[tuple[float, Contacts]], value: Callable[[Contacts], float]) -> list[float]:
        """Time at which a function that is not negative at first becomes negative, if it does."""

        def at(t: float) -> float:
            return value(self._contacts(t, step.at(t)))

        from scipy.optimize import brentq  # a fifth of a second, for runs with impacts

        high = 0.0
        for x, contacts in looks:
            if value(contacts) < 0.0 and x > 0.0:
                begun, end = step.t + high * step.h, step.t + x * step.h
                if at(begun) <= 0.0:
                    return [begun]
                return [float(brentq(at, begun, end, xtol=1e-15 * (1.0 + end), rtol=8.0 * np.finfo(float).eps))]
            high = x
        return []

    def _touching(self, contacts: Contacts) -> np.ndarray:
        """Open rigid contacts that touch and do not part."""
        close = (contacts.gap <= TOUCHING) & (contacts.beside == 0.0) & (contacts.rate[:, 0] <= self._settling())
        return np.asarray(close & self.rigid & (self.mode == OPEN))

    def _settling(self) -> float:
        m = self.course.method
        assert isinstance(m, EventDriven)
        return m.settling

    def _collide(self, t: float, struck: np.ndarray) -> None:
        """Impact of the contacts ``struck`` with all that are closed; they part, or stay closed."""
        c, clock = self.course, self.course.now.clock
        closed = np.flatnonzero(struck | self._touching(self._contacts(t, self.y)) | (self.mode != OPEN))
        if not len(closed):
            return
        p, before, after, change = self.responses.struck(t, self.y, closed, self._settling())
        self.y = self.y.copy()
        self.y[self.responses.velocities] += change
        lost = -0.5 * (p * (before + after)).sum(axis=1)
        self.y[self.size + POWER_LOSS] += lost.sum()
        hard = False
        for b, k in enumerate(closed):
            if before[b, 0] < -self._settling() and p[b, 0] > 0.0:
                hard = True
                impulse = (float(p[b, 0]), float(p[b, 1]), float(p[b, 2]))
                self.impacts.append(Impact(c.compiled.contacts[k], t, impulse, float(lost[b])))
                self.recent.append(t)
            parts = after[b, 0] > 0.5 * self.responses.e[k] * self._settling() and after[b, 0] > ROUND_OFF
            self._set_mode(int(k), parts, after[b, 1:])
        if len(self.recent) == CROWD and t - self.recent[0] < CROWDED * (1.0 + t):
            raise Unsolved(int(closed[0]), TOO_MANY)
        if hard:
            self._shorten(t, closed)
        self._accept_velocities(clock)

    def _accept_velocities(self, clock: np.ndarray) -> None:
        """The running state after an impact."""
        now = self.course.now
        now.s[:] = self.y[self.responses.velocities]
        now.q[:] = self.y[: self.responses.nq]

    def _shorten(self, t: float, closed: np.ndarray) -> None:
        """The next step is no longer than the flights that begin, so that gaps are seen before they close again."""
        clock = self.course.now.clock
        flying = closed[self.mode[closed] == OPEN]
        if not len(flying):
            return
        yd = self._derivative(t, self.y, self.mode, self.slip)
        rate = self._contacts(t, self.y).rate[flying, 0]
        q, s = slice(0, self.responses.nq), self.responses.velocities
        h = 1e-6
        fall = (self.responses.contacts(t, self.y[q] + h * yd[q], self.y[s] + h * yd[s]).rate[flying, 0] - rate) / h
        for u, a in zip(rate, fall):
            if a < 0.0 < u:
                clock[STEP] = min(clock[STEP], -2.2 * u / a)

    def _change_modes(self, t: float, turned: np.ndarray) -> None:
        """Slip that turned back sticks, sticking that gave way slips, contacts without force that part open."""
        shut = np.flatnonzero(self.mode != OPEN)
        if not len(shut):
            return
        now = self._contacts(t, self.y)
        force = self.course.work.contact[:, GAP_FORCE]
        for k in shut:
            if (now.rate[k, 0] > 1e-9 and force[k] <= 0.0) or now.beside[k] != 0.0:
                self.mode[k] = OPEN
            elif turned[k]:
                self.mode[k] = STICKS
            elif self.mode[k] == STICKS:
                self._set_mode(int(k), False, now.rate[k, 1:])

    def _set_mode(self, k: int, parts: bool, u: np.ndarray) -> None:
        speed = float(np.hypot(*u))
        self.mode[k] = OPEN if parts else SLIPS if speed > SLIPPING else STICKS
        if self.mode[k] == SLIPS:
            self.slip[k] = u / speed


def _slip(k: int, direction: np.ndarray, contacts: Contacts) -> float:
    """Velocity of slip of a contact along a direction."""
    return float(contacts.rate[k, 1:] @ direction)


def _gap(k: int, contacts: Contacts) -> float:
    """The gap of a contact, positive beside an edge."""
    return 1.0 if contacts.beside[k] else float(contacts.gap[k])
