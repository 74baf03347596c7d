"""State functions of events along a run: their values after every step, and where they change sign within a step."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from flexmbs._jit import call_address, part, seldom
from flexmbs.algebra.small import mul
from flexmbs.analysis.event import Event
from flexmbs.analysis.march.state import DONE, NOT_FINITE, STEPPED
from flexmbs.declaration import close_names
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.frames import frame_twist
from flexmbs.errors import InputError
from flexmbs.system.compile import Compiled
from flexmbs.system.records import CUT_BETA, ETA, Q_AT, S_AT

KIND, PLACE, NUMBER, ADDRESS = range(4)  # columns of Events.info
POSITION, VELOCITY, CUT_POSITION, CUT_VELOCITY, COMPONENT, FUNCTION = range(6)  # kinds of state functions
TOLERANCE = 1e-12  # of the time of an event, relative beyond 1 s


class Events(NamedTuple):
    """State functions as records: kind, place and number within it, address of a user function; values after two steps."""

    info: np.ndarray  # (n, 4) int64
    level: np.ndarray  # (n,)
    direction: np.ndarray  # (n,) int64
    before: np.ndarray  # (n,)
    value: np.ndarray  # (n,)
    crossed: np.ndarray  # (n,) int64


def event_records(compiled: Compiled, events: Sequence[Event]) -> Events:
    """Records of the events of a run. Raises `InputError` for what the model does not have."""
    info = [(*_row(compiled, event), _address(compiled, event)) for event in events]
    n = len(info)
    return Events(
        np.array(info, np.int64).reshape(-1, 4), np.array([event.value for event in events], float),
        np.array([event.direction for event in events], np.int64), np.zeros(n), np.zeros(n), np.zeros(n, np.int64),
    )  # fmt: skip


def _row(compiled: Compiled, event: Event) -> tuple[int, int, int]:
    """(kind, place, number) of an event's state function."""
    if event.joint is None:
        assert event.frame is not None
        if event.frame not in compiled.frames:
            raise InputError(
                f"{event.item}.frame: no frame '{event.frame}'; {close_names(str(event.frame), map(str, compiled.frames))}"
            )
        return (COMPONENT if event.function is None else FUNCTION), compiled.frames[event.frame], event.axis
    if event.joint not in compiled.places:
        raise InputError(f"{event.item}.joint: no joint '{event.joint}'; {close_names(event.joint, compiled.places)}")
    place = compiled.places[event.joint]
    v, q = place.coordinate(event.item, event.coordinate)
    system = compiled.system
    if place.cut >= 0:
        return (CUT_VELOCITY, place.cut, v) if event.velocity else (CUT_POSITION, int(system.cuts[place.cut, CUT_BETA]) + q, 0)
    at = int(system.tree[place.body, S_AT]) + v if event.velocity else int(system.tree[place.body, Q_AT]) + q
    return (VELOCITY if event.velocity else POSITION), at, 0


def _address(compiled: Compiled, event: Event) -> int:
    return 0 if event.function is None else compiled.callbacks.address(event.item, event.function, _function_body, 19, 1)


def _function_body(function: Callable[..., float], x: np.ndarray) -> tuple[float]:
    given = x.copy()  # what the function may keep or change
    return (float(function(float(given[0]), given[1:4], given[4:13], given[13:16], given[16:])),)


@part
def event_values(system, work, events, t, q, s):
    """Values of all state functions at a state."""
    kinematics(system, work, t, q, s, work.zero)
    info, value = events.info, events.value
    for e in range(info.shape[0]):
        kind, at, k = info[e, KIND], info[e, PLACE], info[e, NUMBER]
        if kind == POSITION:
            f = q[at]
        elif kind == VELOCITY:
            f = s[at]
        elif kind == CUT_POSITION:
            f = work.beta[at]
        elif kind == CUT_VELOCITY:
            f = work.cut[at, ETA + k]
        else:
            A, r, _, _, v, w = frame_twist(system.frames, work.motion, at, q, s)
            if kind == COMPONENT:
                f = r[k]
            else:
                io = work.io
                vw, ww = mul(A, v), mul(A, w)
                io[0, 0] = t
                for a in range(3):
                    io[0, 1 + a] = r[a]
                    io[0, 13 + a] = vw[a]
                    io[0, 16 + a] = ww[a]
                for a in range(9):
                    io[0, 4 + a] = A[a]
                call_address(info[e, ADDRESS], io[0], io[1])
                f = io[1, 0]
        value[e] = f - events.level[e]


@seldom
def look(system, work, events, t, q, s):
    """Mark the state functions that have changed their sign in their direction since the last look.

    Returns `STEPPED` if there are any, `NOT_FINITE` where one gives no number, else `DONE`.
    """
    event_values(system, work, events, t, q, s)
    found = DONE
    for e in range(events.info.shape[0]):
        new, old = events.value[e], events.before[e]
        if new != new:
            return NOT_FINITE
        rising = 1 if old < 0.0 else -1
        changed = old * new < 0.0 or (new == 0.0 and old != 0.0)
        events.crossed[e] = 0
        if changed and events.direction[e] in (0, rising):
            events.crossed[e] = 1
            found = STEPPED
        events.before[e] = new
    return found


@seldom
def values_at(system, work, events, t, q, s):
    """`event_values` for Python."""
    event_values(system, work, events, t, q, s)


def located(value: Callable[[float], float], begun: float, end: float) -> float:
    """Time in a step at which a state function is zero, by Brent's method (Brent 1973, ch. 4)."""
    from scipy.optimize import brentq  # a fifth of a second, for runs with events

    first, last = value(begun), value(end)
    if first * last >= 0.0:  # the change of sign is within round-off of an end
        return begun if abs(first) < abs(last) else end
    return float(brentq(value, begun, end, xtol=TOLERANCE * max(1.0, abs(end)), rtol=8.0 * np.finfo(float).eps))
