"""`Shape`: geometry on a body, for its picture, mass and inertia."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator

from flexmbs.declaration import Declaration, NestedError, Problem, raise_nested, shown
from flexmbs.model.fields import (
    OptionalNonnegative,
    Vector,
    Vector3,
    items,
    number,
    optional,
    positive,
    vector,
)
from flexmbs.model.frames import rotation_matrix
from flexmbs.model.shapes.collada import ColouredMesh
from flexmbs.model.shapes.mass_properties import MassProperties
from flexmbs.model.shapes.triangles import Triangles

# m: products of five such lengths are within double precision, their squares within the single
# precision of pictures
SMALLEST, LARGEST = 1e-12, 1e9
SIDES = 24  # of a circle in a picture


def dimension(value: object) -> float:
    """A length that can be drawn (m)."""
    result = positive(value)
    if not SMALLEST <= result <= LARGEST:
        raise ValueError(f"must be within {SMALLEST:g} … {LARGEST:g} m, not {result:g}")
    return result


def optional_dimension(value: object) -> float:
    """A length that can be drawn, or zero (m)."""
    return 0.0 if number(value) == 0.0 else dimension(value)


def dimensions(n: int) -> BeforeValidator:
    """Check for ``n`` lengths that can be drawn."""

    def check(value: object) -> Vector:
        given = items(value)
        if len(given) != n:
            raise ValueError(f"must have {n} numbers, not {len(given)}")
        return tuple(dimension(each) for each in given)

    return BeforeValidator(check)


def colour_values(value: object) -> Vector:
    """Red, green, blue and perhaps opacity, 0 to 1."""
    given = vector(value)
    if len(given) not in (3, 4) or not all(0.0 <= each <= 1.0 for each in given):
        raise ValueError(
            "must be (red, green, blue) or (red, green, blue, opacity), each within 0 … 1, not "
            f"{shown(given)}"
        )
    return given


Dimension = Annotated[float, BeforeValidator(dimension)]
OptionalDimension = Annotated[float, BeforeValidator(optional_dimension)]


class Shape(Declaration, section="shapes"):
    """Shape on a body, for its picture, mass and inertia.

    Parameters
    ----------
    position : 3 floats [m]
        Origin of the shape in the body frame.
    rotation : rotation
        None, a 3×3 matrix shape → body, a unit quaternion (scalar first), or ``(axis, angle)``
        with the angle in rad.
    colour : 3 or 4 floats or None
        Red, green, blue and, if given, opacity, 0 to 1; None: the colour of the body.
    density : float or None [kg/m³]
        Density of this shape; None: the density of its body. Zero: the shape has no mass.
    """

    # False for surfaces without a volume
    solid: ClassVar[bool] = True

    position: Vector3 = (0.0, 0.0, 0.0)
    rotation: Annotated[Any, BeforeValidator(rotation_matrix)] = None
    colour: Annotated[Any, BeforeValidator(optional(colour_values))] = None
    density: OptionalNonnegative = None

    def volume(self) -> MassProperties:
        """Volume [m³], centre [m] and inertia [m⁵] of the density one, in the axes of the shape.

        Raises `InputError`.
        """
        raise NotImplementedError

    def triangles(self, sides: int = SIDES) -> Triangles:
        """Surface in the axes of the shape, circles with ``sides`` corners. Raises `InputError`."""
        raise NotImplementedError

    def meshes(self) -> list[ColouredMesh]:
        """Surface in the axes of the body, one mesh per colour. Raises `InputError`."""
        return [self._placed(ColouredMesh(*self.triangles(), self.colour))]

    def properties(self, density: float) -> MassProperties:
        """Mass, centre of mass and inertia in the axes of the body. Raises `InputError`."""
        own = self.volume().scaled(density)
        return own.placed(np.array(self.rotation), np.array(self.position))

    def notes(self) -> list[str]:
        """Corrections of the geometry that the user should know. Raises `InputError`."""
        return []

    def _placed(self, mesh: ColouredMesh) -> ColouredMesh:
        points = mesh.points @ np.array(self.rotation).T + np.array(self.position)
        return mesh._replace(points=points)


def shape(value: object) -> Shape:
    """`Shape` from a table of a file or a `Shape`."""
    if isinstance(value, Shape):
        return value
    if isinstance(value, Mapping):
        made: Shape = Shape.read_kind(value)
        return made
    raise ValueError(f"must be a shape such as Box((0.1, 0.2, 0.3)), not {shown(value)}")


def shape_list(value: object) -> tuple[Shape, ...]:
    """Shapes of a body in the given order."""
    made: list[Shape] = []
    problems: list[Problem] = []
    for k, each in enumerate([value] if isinstance(value, Shape | Mapping) else items(value)):
        try:
            made.append(shape(each))
        except NestedError as error:
            problems += [Problem((str(k), *inner.path), inner.message) for inner in error.problems]
        except ValueError as error:
            problems.append(Problem((str(k),), str(error)))
    raise_nested(problems)
    return tuple(made)


Shapes = Annotated[Any, BeforeValidator(shape_list)]
