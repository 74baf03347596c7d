"""Points that slide on a surface z = f(x, y) of the parent.

    g = z − f,   ġ = d · ẏ with d = (−f_x, −f_y, 1),   g̈ = d · ÿ + ḋ · ẏ,   ḋ = −(f_xx ẋ + f_xy ẏ,
    f_xy ẋ + f_yy ẏ, 0).

The multiplier is the component of the constraint force along z. Haug, Computer Aided Kinematics and
Dynamics of Mechanical Systems (1989), chapter 9; docs/theory.md, section 37.
"""

import itertools
import math
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.algebra.vectors import add, cross, load3, load9, mul, store3, tmul
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import KEPT, Row, law_kernel
from flexmbs.model.fields import Vector, items, vector
from flexmbs.model.relations.relation import Relation, point_row
from flexmbs.model.surfaces import is_outside, surface_at, surface_numbers

SURFACE = 0  # index of the surface in the parameters


def _grid(value: object) -> Vector:
    """Validate at least 4 increasing numbers."""
    made = vector(value)
    if len(made) < 4:
        raise ValueError(f"must have at least 4 numbers, not {len(made)}")
    for before, after in itertools.pairwise(made):
        if after <= before:
            raise ValueError(f"must increase; {after:g} follows {before:g}")
    return made


def _rows(value: object) -> Any:
    """List of rows of numbers as a tuple of vectors."""
    return tuple(vector(row) for row in items(value))


Grid = Annotated[Any, BeforeValidator(_grid)]


@law_kernel
def on_surface(p, u, x, out):
    """Kernel of the constraint of a point to a surface, g = z − f(x, y).

    p = the surface; NaN beyond its edges.
    """
    A, v, w = load9(x, 4), load3(x, 13), load3(x, 16)
    y, rate = mul(A, load3(x, 1)), mul(A, v)
    f, fx, fy, fxx, fxy, fyy = surface_at(p, SURFACE, y[0], y[1])
    d = tmul(A, (-fx, -fy, 1.0))
    turn = (-fxx * rate[0] - fxy * rate[1], -fxy * rate[0] - fyy * rate[1], 0.0)
    zero = (0.0, 0.0, 0.0)
    point_row(out, 0, y[2] - f, d, add(tmul(A, turn), cross(d, w)), zero, zero, v, w)
    if is_outside(p, SURFACE, y[0], y[1]):
        store3(out, KEPT, (math.nan, math.nan, math.nan))


class PointOnSurface(Relation, kind="point-on-surface"):
    """The origin of the child frame slides on the surface z = f(x, y) of the parent frame.

    One equation g = z − f(x, y).

    The surface is a bicubic spline through heights over a grid. A run that reaches its edge stops
    there. Source: docs/theory.md, section 37.

    Parameters
    ----------
    x : floats [m]
        Increasing coordinates of the grid, at least 4.
    y : floats [m]
        The same along y.
    heights : rows of floats [m]
        Heights, one row per x with one number per y.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> x = np.linspace(-1.0, 1.0, 9)
    >>> model = fm.Model("bead in a bowl", gravity=(0, 0, -9.0))
    >>> bead = model.add(fm.PointMass("bead", mass=0.1))
    >>> way = model.add(fm.Translation("way", model.ground, bead))
    >>> bowl = model.add(
    ...     fm.PointOnSurface(
    ...         "bowl", model.ground, bead, x=x, y=x, heights=x[:, None] ** 2 + 2 * x**2
    ...     )
    ... )
    >>> (2 * np.pi * fm.linearize(model).modes.frequency).round(
    ...     4
    ... ).tolist()  # √(g f″) of z = x² + 2 y²: √18, √36
    [4.2426, 6.0]
    """

    x: Grid
    y: Grid
    heights: Annotated[Any, BeforeValidator(_rows)]

    extended: ClassVar[tuple[str, ...]] = ("parent",)
    undefined: ClassVar[str] = (
        "the point is beyond the edges of its surface; start within them, or extend its grid"
    )
    lost: ClassVar[str] = (
        "point {names} has reached an edge of its surface; end the run before it, or "
        "extend its grid"
    )

    @property
    def among_equals(self) -> str:
        return self.name

    @model_validator(mode="after")
    def _one_height_each(self) -> "PointOnSurface":
        """Raise `NestedError` unless there is one height for each (x, y)."""
        if len(self.heights) != len(self.x) or any(len(row) != len(self.y) for row in self.heights):
            lengths = ", ".join(map(str, sorted({len(row) for row in self.heights})))
            text = (
                f"must be {len(self.x)} rows of {len(self.y)} numbers, not "
                f"{len(self.heights)} of {lengths}"
            )
            raise NestedError.at(("heights",), text)
        return self

    @property
    def extent(self) -> float:
        return float(max(np.ptp(self.x), np.ptp(self.y)))

    def row(self) -> Row:
        """Kernel of a point on a surface, with the spline of the heights."""
        return Row(on_surface, surface_numbers(self.x, self.y, self.heights))

    def clearance(self, R: Any, x: Any) -> float:
        """Measure of distance from the edges of a surface: 0 beyond, 1 well inside."""
        ends = [(grid[0], grid[-1], a) for grid, a in ((self.x, x[0]), (self.y, x[1]))]
        edge = min(min(a - low, high - a) / (high - low) for low, high, a in ends)
        outside = is_outside(
            np.array(surface_numbers(self.x, self.y, self.heights)), SURFACE, x[0], x[1]
        )
        return 0.0 if outside else float(min(max(10.0 * edge, 0.0) + 1e-3, 1.0))
