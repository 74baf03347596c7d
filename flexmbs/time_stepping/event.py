"""Events: state functions whose change of sign is located in time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked
from flexmbs.model.fields import index, number, optional, switch
from flexmbs.model.frames import FrameRef, frame_ref, joint_name
from flexmbs.model.functions import parameter_count

AXES = "xyz"


@checked_arguments
@dataclass(frozen=True, init=False)
class Event:
    """Moment at which a state function f(t, state) − ``value`` changes its sign.

    The function is one of: freedom ``coordinate`` of ``joint`` (with ``velocity=True`` its rate),
    component "x", "y" or "z" of the world position of ``frame``, or ``function(t, r, A, v, w)`` of
    the motion of ``frame`` in world axes (position (3,), rotation matrix (9,) row by row, velocity
    (3,), angular velocity (3,)), plain or compiled with ``numba.njit``. function: of the motion of
    ``frame``, instead of a joint or an axis.  joint, coordinate: whose coordinate or, with
    velocity, whose rate is taken.  velocity: its rate instead of its position.  frame, axis: whose
    world position is taken, along "x", "y" or "z".  value: subtracted from the function, in its
    unit. direction: 1 only where it rises, −1 only where it falls, 0 both.  terminal: the run ends
    there. The functions are evaluated after every step: two changes of sign within one step are not
    detected. Raises `InputError`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("drop", gravity=(0, 0, -8.0))
    >>> drop = model.add(fm.PointMass("drop", mass=0.01))
    >>> floor = fm.Event("floor", frame=drop, axis="z", value=-1.0, direction=-1, terminal=True)
    >>> fm.simulate(model, t_end=2.0, step=0.01, events=[floor]).run.outcome
    "stopped at event 'floor' at t = 0.5 s"
    """

    name: str
    function: Callable[..., float] | None
    joint: str | None
    coordinate: int
    velocity: bool
    frame: FrameRef | None
    axis: int
    value: float
    direction: int
    terminal: bool

    def __init__(
        self,
        name: str,
        function: Callable[..., float] | None = None,
        *,
        joint: Any = None,
        coordinate: int = 0,
        velocity: bool = False,
        frame: Any = None,
        axis: str | None = None,
        value: float = 0.0,
        direction: int = 0,
        terminal: bool = False,
    ) -> None:
        """Event where a joint coordinate, frame coordinate or user function crosses zero."""
        if not isinstance(name, str) or not name:
            raise InputError(f"event: its name must be a text, not {name!r}")
        item = f"events.{name}"
        _check_kind(item, function, joint, frame, axis)
        if np.ndim(direction) or direction not in (-1, 0, 1):
            raise InputError(
                f"{item}.direction: must be 1 (rising), -1 (falling) or 0 (both), not {direction!r}"
            )
        values: dict[str, Any] = {
            "name": name,
            "function": function,
            "joint": _read(f"{item}.joint", joint_name, joint),
            "coordinate": _read(f"{item}.coordinate", index, coordinate),
            "velocity": _read(f"{item}.velocity", switch, velocity),
            "frame": _read(f"{item}.frame", frame_ref, frame),
            "axis": AXES.index(axis or "x"),
            "value": _read(f"{item}.value", number, value),
            "direction": int(direction),
            "terminal": _read(f"{item}.terminal", switch, terminal),
        }
        for key, given in values.items():
            object.__setattr__(self, key, given)

    @property
    def item(self) -> str:
        """Name of the event in messages."""
        return f"events.{self.name}"


def _read(item: str, check: Callable[[object], Any], value: object) -> Any:
    """Validated argument of an event, or None. Raises `InputError`."""
    return checked(item, optional(check), value)


def _check_kind(item: str, function: Any, joint: Any, frame: Any, axis: str | None) -> None:
    """Raise InputError unless exactly one state function is given."""
    if (joint is None) == (frame is None):
        raise InputError(f"{item}: give a joint, or a frame with an axis or a function")
    if joint is not None and (function is not None or axis is not None):
        raise InputError(
            f"{item}: a joint cannot be combined with a function or an axis; give a frame instead"
        )
    if frame is not None and (function is None) == (axis is None):
        raise InputError(
            f"{item}: a frame needs an axis 'x', 'y' or 'z', or a function(t, r, A, v, w)"
        )
    if axis is not None and (not isinstance(axis, str) or len(axis) != 1 or axis not in AXES):
        raise InputError(f"{item}.axis: must be 'x', 'y' or 'z', not {axis!r}")
    if function is not None and (
        not callable(function) or parameter_count(function) not in (5, None)
    ):
        raise InputError(f"{item}: the function must be function(t, r, A, v, w), not {function!r}")


def checked_events(given: Any) -> tuple[Event, ...]:
    """Validate the events of a run. Raises `InputError`."""
    if isinstance(given, str | Event) or not isinstance(given, Iterable):
        raise InputError(f"events: {shown(given)} is not a list of events; put it in brackets")
    events = tuple(given)
    for event in events:
        if not isinstance(event, Event):
            raise InputError(f"events: {shown(event)} is not an Event")
    return events
