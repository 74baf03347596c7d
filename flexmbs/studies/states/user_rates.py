"""Verification of rates returned by user functions of time.

f(t) → (value, rate, acceleration) is compared with differences.
"""

import numbers
from collections.abc import Iterator

import numpy as np

from flexmbs.api.model import Model
from flexmbs.declaration import Problem
from flexmbs.errors import InputError
from flexmbs.model.declared_values import model_values
from flexmbs.model.laws import Function

SAMPLES = 9
WIDTH = 1e-3  # of the interval, of the wider of two differences
# of the largest rate: limit of the deviation of differences of two widths that are accepted as the
# derivative
AGREED = 0.01
# of the largest rate: deviation from the derivative above which a returned rate is wrong
WRONG = 0.05
NAMES = ("value", "rate", "acceleration")


def require_stated_rates(model: Model, t_begin: float, t_end: float) -> None:
    """Raise `InputError` for each function of time whose rates are not its derivatives.

    In most of the interval.
    """
    problems = list(_problems(model, t_begin, t_end))
    if problems:
        raise InputError(*map(str, problems))


def _problems(model: Model, t_begin: float, t_end: float) -> Iterator[Problem]:
    """Problems of user laws of time whose stated rates are wrong."""
    for path, part in model_values(model):
        if (
            isinstance(part, Function)
            and part.parameters == 1
            and (text := _wrong(part, t_begin, t_end))
        ):
            yield Problem(path, text)


def _wrong(law: Function, t_begin: float, t_end: float) -> str:
    """Problem of the rates of a law; None if they are right, not returned or cannot be judged."""
    times = t_begin + (t_end - t_begin) * (
        0.05 + 0.9 * np.modf(0.5 + 0.618034 * np.arange(SAMPLES))[0]
    )
    h = WIDTH * (t_end - t_begin)
    try:
        if isinstance(law.function(float(times[0])), numbers.Real):
            return ""
        here = np.array([law.function(float(t)) for t in times], float)
        wide = [
            np.array([law.function(float(t + k * h)) for t in times], float) for k in (-2, -1, 1, 2)
        ]
    except Exception:  # reported by a run that reaches it
        return ""
    if not (
        h > 0.0
        and here.shape == (SAMPLES, 3)
        and np.isfinite(here).all()
        and np.isfinite(wide).all()
    ):
        return ""
    for a in (1, 2):
        narrow = (wide[2] - wide[1])[:, a - 1] / (2.0 * h)
        broad = (wide[3] - wide[0])[:, a - 1] / (4.0 * h)
        size = max(np.abs(narrow).max(), np.abs(here[:, a]).max())
        judged = np.abs(narrow - broad) <= AGREED * size
        off = judged & (np.abs(here[:, a] - narrow) > WRONG * size)
        if 2 * off.sum() > SAMPLES:
            k = int(np.argmax(np.where(off, np.abs(here[:, a] - narrow), 0.0)))
            return (
                f"the function returns the {NAMES[a]} {here[k, a]:.6g} at t = {times[k]:.6g} "
                f"s, but its {NAMES[a - 1]} changes by "
                f"{narrow[k]:.6g} per second; correct it, or return the value only"
            )
    return ""
