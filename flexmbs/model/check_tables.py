"""Tables of time that overshoot their points, or that drive a joint with jumps."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.model.declared_values import model_values, prescribed_motions
from flexmbs.model.interpolation import excess, jumps
from flexmbs.model.laws import Table

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData

SWING = 0.01  # relative to the range of all values: smaller overshoots are ignored
JUMP = 1e-3  # relative to the largest rate or acceleration: smaller jumps are ignored


def table_warnings(model: "ModelData") -> Iterator[Problem]:
    """Warnings of tables that overshoot or have jumps.

    And jumps of rate and acceleration for tables that drive joints.
    """
    for path, part in model_values(model):
        if isinstance(part, Table):
            yield from _overshoot(path, part)
    t_end = model.run.t_end if model.run is not None else np.inf
    for path, law in prescribed_motions(model):
        if isinstance(law, Table):
            yield from _jerks(path, law, t_end)


def _overshoot(path: tuple[str, ...], table: Table) -> Iterator[Problem]:
    """Warning of the interval with the largest overshoot of a table."""
    t, x = np.array(table.times), np.array(table.values)
    over = excess(t, table.coefficients(), x)
    k = int(np.argmax(np.abs(over)))
    allowed = SWING * np.ptp(x) + 1e-12 * np.abs(x).max()
    if abs(over[k]) <= allowed:
        return
    count = int((np.abs(over) > allowed).sum())
    most = f", the worst of {count} intervals" if count > 1 else ""
    side = "above" if over[k] > 0 else "below"
    text = (
        f"its {table.interpolation} overshoots by {abs(over[k]):.4g} {side} the values "
        f"{x[k]:g} and {x[k + 1]:g}"
    )
    where = f"between t = {t[k]:g} and {t[k + 1]:g} s"
    yield Problem(path, f'{text} {where}{most}; use more points, or interpolation = "monotone"')


def _jerks(path: tuple[str, ...], table: Table, t_end: float) -> Iterator[Problem]:
    """Warnings of jumps in rate and acceleration of a prescribed coordinate.

    Those of the rate require infinite forces.
    """
    t, c = np.array(table.times), table.coefficients()
    rate, acceleration = jumps(t, c)
    known = t[1:-1] < t_end
    fastest, last = (
        float(np.abs([c[2], _rates_at_ends(t, c)]).max()),
        float(_rates_at_ends(t, c)[-1]),
    )
    most = _largest(rate[known])
    if abs(most[1]) > JUMP * fastest:
        text = (
            f"its rate jumps at the points, by {most[1]:.4g} at t = "
            f"{t[1:-1][known][most[0]]:g} s: an infinite acceleration"
        )
        yield Problem(path, f'{text}; use interpolation = "spline" or "monotone"')
    elif abs((most := _largest(acceleration[known]))[1]) > JUMP * float(np.abs(2.0 * c[1]).max()):
        text = (
            f"its acceleration jumps at the points, by {most[1]:.4g} at t = "
            f"{t[1:-1][known][most[0]]:g} s"
        )
        yield Problem(path, f'{text}; interpolation = "spline" makes it continuous')
    ends = [
        ("begins", float(t[0]), float(c[2, 0]), t[0] > 0.0),
        ("ends", float(t[-1]), -last, t[-1] < t_end),
    ]
    for word, at, jump, met in ends:
        if met and abs(jump) > JUMP * fastest:
            yield Problem(
                path,
                f"its rate jumps by {jump:.4g} at t = {at:g} s, where it {word} and is "
                "held constant; let the rate vanish there",
            )


def _rates_at_ends(t: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Rates (n − 1,) at the right end of each interval."""
    h = np.diff(t)
    return np.asarray((3.0 * c[0] * h + 2.0 * c[1]) * h + c[2])


def _largest(values: np.ndarray) -> tuple[int, float]:
    """Index and value of the largest magnitude; 0 if there is none."""
    if not len(values):
        return 0, 0.0
    k = int(np.argmax(np.abs(values)))
    return k, float(values[k])
