"""Numbers v + ε d with an infinitesimal ε > 0, and their evaluation in kernels of laws.

They give slopes without differences.

f(x + ε d) = f(x) + ε f'(x; d) is exact for each operation. Equal values are ordered by their d, so
that a law that bends at x takes the branch beyond it, and f'(x; d) is its one-sided derivative.
Griewank and Walther, Evaluating Derivatives (2008), chapters 3 and 14.
"""

import functools
import math
import types
from collections.abc import Callable
from typing import Any

from flexmbs.law_kernel import LawPart

# relative difference of values that are taken as equal, such as that of a state from Newton's
# method to a limit
SAME = 1e-9


class Dual:
    """v + ε d."""

    __slots__ = ("d", "v")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, v: float, d: float) -> None:
        self.v, self.d = v, d

    def __add__(self, other: Any) -> "Dual":
        v, d = _parts(other)
        return Dual(self.v + v, self.d + d)

    def __mul__(self, other: Any) -> "Dual":
        v, d = _parts(other)
        return Dual(self.v * v, self.d * v + self.v * d)

    def __neg__(self) -> "Dual":
        return Dual(-self.v, -self.d)

    def __pos__(self) -> "Dual":
        return self

    def __sub__(self, other: Any) -> "Dual":
        return self + -other

    def __rsub__(self, other: Any) -> "Dual":
        return -self + other

    def __truediv__(self, other: Any) -> "Dual":
        v, d = _parts(other)
        return Dual(self.v / v, (self.d - self.v / v * d) / v)

    def __rtruediv__(self, other: Any) -> "Dual":
        return Dual(other, 0.0) / self

    def __pow__(self, n: Any) -> "Dual":
        if isinstance(n, Dual):
            return power(self, n)
        return Dual(self.v**n, n * self.v ** (n - 1) * self.d if n else 0.0)

    def __rpow__(self, base: Any) -> "Dual":
        return power(Dual(base, 0.0), self)

    def __abs__(self) -> "Dual":
        return -self if self < 0.0 else self

    def __lt__(self, other: Any) -> bool:
        return _order(self, other) < 0.0

    def __le__(self, other: Any) -> bool:
        return _order(self, other) <= 0.0

    def __gt__(self, other: Any) -> bool:
        return _order(self, other) > 0.0

    def __ge__(self, other: Any) -> bool:
        return _order(self, other) >= 0.0

    def __eq__(self, other: object) -> bool:
        return _order(self, other) == 0.0

    __radd__, __rmul__ = __add__, __mul__


def _parts(x: Any) -> tuple[float, float]:
    """Value and derivative of a dual number; derivative 0 of other numbers."""
    return (x.v, x.d) if isinstance(x, Dual) else (x, 0.0)


def _order(a: Any, b: Any) -> float:
    """Sign of a − b for dual numbers."""
    (v, d), (w, e) = _parts(a), _parts(b)
    same = v == w or abs(v - w) <= SAME * max(abs(v), abs(w)) < math.inf
    return d - e if same and (d != e or v == w) else v - w


def power(x: Any, y: Any) -> Any:
    """Power x^y of dual numbers, x positive if it changes."""
    if not isinstance(x, Dual) and not isinstance(y, Dual):
        return math.pow(x, y)
    value = _parts(x)[0] ** _parts(y)[0]
    change = y * logarithm(x)
    return Dual(value, value * change.d)


def _of_one(
    function: Callable[[float], float], slope: Callable[[float], float]
) -> Callable[[Any], Any]:
    """Extension of a function of one number to dual numbers by its derivative."""

    def extended(x: Any) -> Any:
        """The function of one argument, also for dual numbers by the chain rule."""
        if not isinstance(x, Dual):
            return function(x)
        return Dual(function(x.v), slope(x.v) * x.d if x.d else 0.0)

    return extended


def _atan2(y: Any, x: Any) -> Any:
    """atan2(y, x) of dual numbers."""
    (v, d), (w, e) = _parts(y), _parts(x)
    return Dual(math.atan2(v, w), (w * d - v * e) / (v * v + w * w))


def _copysign(x: Any, y: Any) -> Any:
    """|x| with the sign of y for dual numbers."""
    return -abs(x) if y < 0.0 else abs(x)


logarithm = _of_one(math.log, lambda x: 1.0 / x)
root = _of_one(math.sqrt, lambda x: 0.5 / math.sqrt(x))
ONE = {
    "exp": math.exp,
    "expm1": math.exp,
    "log1p": lambda x: 1.0 / (1.0 + x),
    "sin": math.cos,
    "cos": lambda x: -math.sin(x),
    "tan": lambda x: 1.0 + math.tan(x) ** 2,
    "sinh": math.cosh,
    "cosh": math.sinh,
    "tanh": lambda x: 1.0 - math.tanh(x) ** 2,  # cosh² overflows
    "asin": lambda x: 1.0 / math.sqrt(1.0 - x * x),
    "acos": lambda x: -1.0 / math.sqrt(1.0 - x * x),
    "atan": lambda x: 1.0 / (1.0 + x * x),
    "asinh": lambda x: 1.0 / math.sqrt(1.0 + x * x),
    "atanh": lambda x: 1.0 / (1.0 - x * x),
    "erf": lambda x: 2.0 / math.sqrt(math.pi) * math.exp(-x * x),
    "floor": lambda x: 0.0,
    "ceil": lambda x: 0.0,
}
MATH = types.SimpleNamespace(
    **{
        **vars(math),
        **{name: _of_one(getattr(math, name), slope) for name, slope in ONE.items()},
        "log": logarithm,
        "sqrt": root,
        "fabs": abs,
        "pow": power,
        "atan2": _atan2,
        "hypot": lambda x, y: root(x * x + y * y),
        "copysign": _copysign,
    }
)


@functools.cache
def on_duals(function: Callable[..., Any]) -> Callable[..., Any]:
    """User law, with the `LawPart` that it calls, adapted to dual numbers."""
    known = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    parts = {
        name: on_duals(value.function)
        for name, value in known.items()
        if isinstance(value, LawPart)
    }
    return types.FunctionType(
        function.__code__, {**function.__globals__, "math": MATH, **parts}, function.__name__
    )
