"""Types of the fields of declarations: numbers, vectors, axes, names.

Each validates its value and reports the problem.

Arrays are stored as nested tuples of floats, so that declarations are hashable and comparable.
"""

import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from flexmbs.declaration import shown

LARGEST = 1e60  # in any unit: products of five such numbers stay finite in double precision
SMALLEST = 1e-60  # likewise for quotients
Vector = tuple[float, ...]
Matrix = tuple[Vector, ...]

AXES = {
    sign + letter: tuple(value if i == k else 0.0 for i in range(3))
    for sign, value in (("", 1.0), ("+", 1.0), ("-", -1.0))
    for k, letter in enumerate("xyz")
}


class NamedValues(Mapping[str, Any]):
    """Read-only, hashable mapping of names to values in the given order."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


def number(value: object) -> float:
    """Validate a finite number. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"must be a number, not {shown(value)}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(
            f"must be within ±{LARGEST:g}, not a number of hundreds of digits"
        ) from None
    if not math.isfinite(result):
        raise ValueError(f"must be finite, not {result}")
    if abs(result) > LARGEST:
        raise ValueError(
            f"must be within ±{LARGEST:g}, not {result:g}; results would overflow double precision"
        )
    return result


def switch(value: object) -> bool:
    """Validate True or False. Raises ValueError."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {shown(value)}")
    return value


def positive(value: object) -> float:
    """Validate a positive finite number. Raises ValueError."""
    result = number(value)
    if result <= 0.0:
        raise ValueError(f"must be > 0, not {result:g}")
    return _large_enough(result)


def nonzero(value: object) -> float:
    """Validate a finite number other than zero. Raises ValueError."""
    result = number(value)
    if result == 0.0:
        raise ValueError("must not be 0")
    return _large_enough(result)


def _large_enough(value: float) -> float:
    """Validate that a number is not so small that quotients overflow. Raises ValueError."""
    if abs(value) < SMALLEST:
        raise ValueError(
            f"must be at least {SMALLEST:g}, not {value:g}; quotients would overflow double "
            "precision"
        )
    return value


def nonnegative(value: object) -> float:
    """Validate a finite number of at least zero. Raises ValueError."""
    result = number(value)
    if result < 0.0:
        raise ValueError(f"must be >= 0, not {result:g}")
    return result


def end_time(value: object) -> float:
    """Validate a time; infinity means never."""
    return math.inf if isinstance(value, float) and value == math.inf else number(value)


def index(value: object) -> int:
    """Validate an integer index of at least zero."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise ValueError(f"must be a whole number >= 0, not {shown(value)}")
    return int(value)


def items(value: object) -> list[Any]:
    """List of the items of a list, tuple or array. Raises ValueError."""
    if isinstance(value, (str, bytes, dict, set, frozenset)):
        raise ValueError(f"must be a list, not {shown(value)}")
    try:
        return list(value)  # type: ignore[call-overload]
    except TypeError:
        raise ValueError(f"must be a list, not {shown(value)}") from None


def vector(value: object) -> Vector:
    """Validate a tuple of finite numbers of any length."""
    return tuple(number(item) for item in items(value))


def sized(n: int) -> Callable[[object], Vector]:
    """Validator of a tuple of ``n`` finite numbers."""

    def check(value: object) -> Vector:
        """Validate a vector of n numbers. Raises ValueError."""
        result = vector(value)
        if len(result) != n:
            raise ValueError(f"must have {n} numbers, not {len(result)}")
        return result

    return check


def scalar_or_vector(value: object) -> Any:
    """Validate a number or a tuple of numbers."""
    if isinstance(value, (str, bytes)):
        raise ValueError(f"must be a number or a list of numbers, not {shown(value)}")
    return number(value) if isinstance(value, numbers.Real) else vector(value)


def nonnegative_vector(value: object) -> Vector:
    """Validate a tuple of numbers of at least zero."""
    return tuple(nonnegative(item) for item in items(value))


def damping(value: object) -> Any:
    """Validate modal damping ratios: one number, one per mode, or None."""
    if value is None:
        return None
    return nonnegative(value) if isinstance(value, numbers.Real) else nonnegative_vector(value)


def six_nonnegative(value: object) -> Vector:
    """Validate six numbers of at least zero."""
    result = nonnegative_vector(value)
    if len(result) != 6:
        raise ValueError(f"must have 6 numbers (3 translations, 3 rotations), not {len(result)}")
    return result


def optional_curve(value: object) -> Any:
    """Validate a curve (increasing points, values) or None."""
    if value is None:
        return None
    both = items(value)
    if len(both) != 2:
        raise ValueError(f"must be two lists, points and values, not {shown(value)}")
    points, values = vector(both[0]), vector(both[1])
    if len(points) < 2 or len(points) != len(values):
        raise ValueError(
            f"must have as many values as points, at least 2; given are {len(points)} and "
            f"{len(values)}"
        )
    for before, after in itertools.pairwise(points):
        if after <= before:
            raise ValueError(f"points must increase; {after:g} follows {before:g}")
    return points, values


def unit_axis(value: object) -> Vector:
    """Validate an axis: unit vector from ``"x"``, ``"-z"``, ... or three numbers."""
    if isinstance(value, str):
        if value not in AXES:
            raise ValueError(
                f"must be one of x, y, z, -x, -y, -z or three numbers, not {shown(value)}"
            )
        return AXES[value]
    given = sized(3)(value)
    length = math.hypot(*given)
    if length == 0.0:
        raise ValueError("the axis has zero length; give a direction such as 'z' or [0, 0, 1]")
    return given if abs(length - 1.0) < 1e-15 else tuple(component / length for component in given)


def name(value: object) -> str:
    """Validate a name: text without "/" (which separates body and frame) or control characters."""
    if not isinstance(value, str):
        raise ValueError(f"a name must be text, not {shown(value)}")
    if not value or value != value.strip() or len(value) > 100:
        raise ValueError(
            "a name must have 1 to 100 characters and no leading or trailing blanks, not "
            f"{shown(value)}"
        )
    if "/" in value or not value.isprintable():
        raise ValueError(f"a name must not contain '/' or control characters: {shown(value)}")
    return value


def optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Validator that also accepts None."""
    return lambda value: None if value is None else check(value)


def choice(*names: str) -> BeforeValidator:
    """Validator of a text that must be one of some names."""

    def check(value: object) -> str:
        """Validate one of the allowed names. Raises ValueError."""
        if value not in names:
            raise ValueError(f"must be {' or '.join(map(repr, names))}, not {shown(value)}")
        return str(value)

    return BeforeValidator(check)


optional_positive = optional(positive)
optional_nonnegative = optional(nonnegative)


def checked(check: Callable[[Any], Any]) -> Any:
    """Field type that stores the value returned by ``check``."""
    return Annotated[Any, BeforeValidator(check)]


Name = Annotated[str, BeforeValidator(name)]
Number = Annotated[float, BeforeValidator(number)]
Positive = Annotated[float, BeforeValidator(positive)]
Nonzero = Annotated[float, BeforeValidator(nonzero)]
Nonnegative = Annotated[float, BeforeValidator(nonnegative)]
Time = Annotated[float, BeforeValidator(end_time)]
Switch = Annotated[bool, BeforeValidator(switch)]
Index = Annotated[int, BeforeValidator(index)]
Vector3 = Annotated[Any, BeforeValidator(sized(3))]
AnyVector = Annotated[Any, BeforeValidator(vector)]
OptionalScalarOrVector = Annotated[Any, BeforeValidator(optional(scalar_or_vector))]
NonnegativeSix = Annotated[Any, BeforeValidator(six_nonnegative)]
Damping = Annotated[Any, BeforeValidator(damping)]
OptionalVector = Annotated[Any, BeforeValidator(optional(vector))]
OptionalCurve = Annotated[Any, BeforeValidator(optional_curve)]
OptionalNumber = Annotated[Any, BeforeValidator(optional(number))]
OptionalPositive = Annotated[Any, BeforeValidator(optional_positive)]
OptionalNonnegative = Annotated[Any, BeforeValidator(optional_nonnegative)]
Axis = Annotated[Any, BeforeValidator(unit_axis)]
