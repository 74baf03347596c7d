"""Arguments that `identify` and `optimize` share: bounds and sizes of parameters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked
from flexmbs.model.fields import number

Limits = tuple[float, float]


def read_number(value: Any, key: str) -> float:
    """A finite number. Raises `InputError`."""
    return checked(key, number, value)


def read_limits(given: Any, key: str, known: Sequence[str] | None = None) -> dict[str, Limits]:
    """Pairs (low, high) by name, None for no limit. Raises `InputError`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            f"{key}: {shown(given)} is not a dict of limits, {{'bodies.tool.mass': (0.1, 2.0)}}"
        )
    for name in given:
        if known is not None and name not in known:
            raise InputError(
                f"{key}: '{name}' is not among the parameters; {close_names(str(name), known)}"
            )
    return {str(name): _pair(value, f"{key}.{name}") for name, value in given.items()}


def _pair(value: Any, key: str) -> Limits:
    """Pair (low, high), infinite for None. Raises `InputError`."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise InputError(
            f"{key}: must be two numbers (low, high), or None for no limit, not {shown(value)}"
        )
    low, high = (
        end if part is None or (isinstance(part, float) and part == end) else read_number(part, key)
        for part, end in zip(value, (-math.inf, math.inf))
    )
    if not low < high:
        raise InputError(f"{key}: the lower limit {low:g} must be below the upper one, {high:g}")
    return low, high


def require_within(values: Mapping[str, float], bounds: Mapping[str, Limits]) -> None:
    """Raise `InputError` for a value outside of its bounds."""
    for name, (low, high) in bounds.items():
        if not low <= values[name] <= high:
            raise InputError(
                f"bounds.{name}: the start {values[name]:g} is not within {low:g} … {high:g}"
            )


def sizes(
    values: Mapping[str, float], scales: Mapping[str, float], bounds: Mapping[str, Limits]
) -> dict[str, float]:
    """Scale of each parameter: given, from its value or from its bounds.

    The given one, its absolute value, for a zero the width of its bounds, or 1.
    """
    found = {}
    for name, value in values.items():
        width = bounds[name][1] - bounds[name][0] if name in bounds else math.inf
        found[name] = scales.get(name, abs(value) or (width if math.isfinite(width) else 1.0))
    return found
