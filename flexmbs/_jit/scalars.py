"""Mutable numbers with names, as a field of a record that compiled code reads and writes.

>>> class Clock(Scalars):
...     time: float
...     taken: float  # length of the last step
>>> clock = Clock(time=1.0)
>>> clock.taken = 0.25
>>> clock.values
array([1.  , 0.25])
"""

import inspect
from typing import Any

import numpy as np


def _number(k: int) -> property:
    """Property for number k of `Scalars`, by a memory view."""

    def get(self: "Scalars") -> Any:
        """Return number k."""
        return self.view[k]

    def put(self: "Scalars", value: Any) -> None:
        """Set number k."""
        self.view[k] = value

    return property(get, put)


class Scalars:
    """Base of records of mutable numbers, all float or all int, one for each annotation.

    ``values`` holds them in one array. Compiled code has a structure of the same layout there.
    """

    __slots__ = ("values", "view")
    fields: np.dtype[Any]

    def __init_subclass__(cls) -> None:
        kinds = inspect.get_annotations(cls)
        for k, name in enumerate(kinds):
            setattr(cls, name, _number(k))
        cls.fields = np.dtype(list(kinds.items()), align=True)

    def __init__(self, values: np.ndarray | None = None, **given: float) -> None:
        self.values = np.zeros(1, self.fields).view(self.fields[0]) if values is None else values
        self.view = self.values.data
        for name, value in given.items():
            setattr(self, name, value)
