"""Events of a run.

Their state functions as records, and the times at which these change sign within a step.
"""

from collections.abc import Callable, Sequence

import numpy as np

from flexmbs.declaration import close_names, require_known
from flexmbs.dynamics.events import (
    COMPONENT,
    CUT_POSITION,
    CUT_VELOCITY,
    FUNCTION,
    POSITION,
    VELOCITY,
    Events,
)
from flexmbs.errors import InputError
from flexmbs.system.compile import Compiled
from flexmbs.time_stepping.event import Event

TOLERANCE = 1e-12  # relative tolerance of the time of an event


def event_records(compiled: Compiled, events: Sequence[Event]) -> Events:
    """Records of the events of a run.

    Raises `InputError` for items that the model does not have.
    """
    info = [(*_row(compiled, event), _address(compiled, event)) for event in events]
    n = len(info)
    return Events(
        np.array(info, np.int64).reshape(-1, 4),
        np.array([event.value for event in events], float),
        np.array([event.direction for event in events], np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.int64),
    )


def _row(compiled: Compiled, event: Event) -> tuple[int, int, int]:
    """(kind, index, number) of the state function of an event."""
    if event.joint is None:
        assert event.frame is not None
        if event.frame not in compiled.frames:
            raise InputError(
                f"{event.item}.frame: no frame '{event.frame}'; "
                f"{close_names(str(event.frame), compiled.frame_names)}"
            )
        return (
            (COMPONENT if event.function is None else FUNCTION),
            compiled.frames[event.frame],
            event.axis,
        )
    require_known(event.joint, compiled.places, f"{event.item}.joint: no joint '{event.joint}'")
    place = compiled.places[event.joint]
    v, q = place.coordinate(event.item, event.coordinate)
    system = compiled.system
    if place.cut >= 0:
        return (
            (CUT_VELOCITY, place.cut, v)
            if event.velocity
            else (CUT_POSITION, int(system.cuts.beta_at[place.cut]) + q, 0)
        )
    at = (
        int(system.tree.s_at[place.body]) + v
        if event.velocity
        else int(system.tree.q_at[place.body]) + q
    )
    return (VELOCITY if event.velocity else POSITION), at, 0


def _address(compiled: Compiled, event: Event) -> int:
    """Address of the callback of the user function of an event; 0 without one."""
    return (
        0
        if event.function is None
        else compiled.callbacks.address(event.item, event.function, _function_body, 19, 1)
    )


def _function_body(function: Callable[..., float], x: np.ndarray) -> tuple[object]:
    """Value of the user function for time and frame motion."""
    given = x.copy()  # the function may keep or modify its argument
    return (function(float(given[0]), given[1:4], given[4:13], given[13:16], given[16:]),)


def located(value: Callable[[float], float], begun: float, end: float) -> float:
    """Root of a state function between two times of a step, by Brent's method."""
    from scipy.optimize import brentq

    first, last = value(begun), value(end)
    if first * last >= 0.0:  # the change of sign is within round-off of an end
        return begun if abs(first) < abs(last) else end
    return float(
        brentq(value, begun, end, xtol=TOLERANCE * abs(end), rtol=8.0 * np.finfo(float).eps)
    )
