"""Frames on bodies, to which joints and forces attach, and references to them."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import Declaration, NestedError, Problem, close_names, raise_nested, shown
from flexmbs.errors import InputError, warn_caller
from flexmbs.model.fields import (
    Matrix,
    NamedValues,
    Vector,
    Vector3,
    items,
    name,
    number,
    optional,
    sized,
    unit_axis,
    vector,
)

GROUND = "ground"
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def unit_quaternion(value: object) -> Vector:
    """Validate a quaternion, scalar first; normalized.

    A deviation below 1e-6 is normalized with a warning, a larger one is an error.
    """
    given = sized(4)(value)
    length = math.hypot(*given)
    if abs(length - 1.0) > 1e-6:
        raise ValueError(f"the quaternion has length {length:g}; it must be 1 (scalar first)")
    if abs(length - 1.0) <= 1e-12:
        return given
    warn_caller(f"quaternion {shown(given)} has length {length!r}; it is normalised")
    return tuple(component / length for component in given)


def quaternion_matrix(quaternion: Vector) -> Matrix:
    """Rotation matrix of a unit quaternion (e0, e1, e2, e3)."""
    a, b, c, d = quaternion
    return (
        (1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)),
        (2.0 * (b * c + a * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - a * b)),
        (2.0 * (b * d - a * c), 2.0 * (c * d + a * b), 1.0 - 2.0 * (b * b + c * c)),
    )


def axis_angle_matrix(axis: Vector, angle: float) -> Matrix:
    """Rotation matrix of an angle in rad about a unit axis (Rodrigues).

    cos 1 + sin ñ + (1 − cos) n nᵀ.
    """
    s, v = math.sin(angle), 1.0 - math.cos(angle)
    x, y, z = axis
    return (
        (1.0 - v * (y * y + z * z), v * x * y - s * z, v * x * z + s * y),
        (v * x * y + s * z, 1.0 - v * (x * x + z * z), v * y * z - s * x),
        (v * x * z - s * y, v * y * z + s * x, 1.0 - v * (x * x + y * y)),
    )


def _given_matrix(value: list[Any]) -> Matrix:
    """Validate a rotation matrix, accurate to 1e-6."""
    rows = tuple(sized(3)(row) for row in value)
    for i in range(3):
        for k in range(3):
            product = sum(rows[i][m] * rows[k][m] for m in range(3))
            if abs(product - (i == k)) > 1e-6:
                raise ValueError(
                    f"the rows must be orthonormal; row {i + 1} · row {k + 1} = {product:g}"
                )
    cross = (
        rows[1][1] * rows[2][2] - rows[1][2] * rows[2][1],
        rows[1][2] * rows[2][0] - rows[1][0] * rows[2][2],
    )
    if (
        rows[0][0] * cross[0]
        + rows[0][1] * cross[1]
        + rows[0][2] * (rows[1][0] * rows[2][1] - rows[1][1] * rows[2][0])
        < 0.0
    ):
        raise ValueError("the matrix is a reflection (determinant -1), not a rotation")
    return rows


def rotation_matrix(value: object) -> Matrix:
    """Rotation matrix from None, a 3×3 matrix, a quaternion, or ``(axis, angle)``.

    The columns of a matrix are the axes of the frame.
    """
    if value is None:
        return IDENTITY
    given = items(value)
    if len(given) == 2:
        axis, angle = unit_axis(given[0]), number(given[1])
        if abs(angle) > 2.0 * math.pi:
            warn_caller(
                f"rotation: the angle {angle:g} is more than a full turn; angles are in rad"
            )
        return axis_angle_matrix(axis, angle)
    if len(given) == 4:
        return quaternion_matrix(unit_quaternion(given))
    if len(given) == 3:
        return _given_matrix(given)
    raise ValueError(
        f"must be a 3×3 matrix, a quaternion (4 numbers) or (axis, angle), not {shown(value)}"
    )


class Frame(Declaration):
    """Frame on a body.

    Parameters
    ----------
    position : 3 floats [m]
        Origin in the body frame.
    rotation : rotation
        None, a 3×3 matrix frame → body whose columns are the axes of the frame, a unit quaternion
        (scalar first), or ``(axis, angle)`` with the angle in rad; stored as the matrix.

    Examples
    --------
    >>> import flexmbs as fm
    >>> gripper = fm.Frame((0.3, 0, 0), rotation=("y", 1.5707963267948966))
    >>> [
    ...     [round(x) for x in row] for row in gripper.rotation
    ... ]  # its z axis, the last column, is the x axis of the body
    [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    >>> arm = fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"gripper": gripper})
    """

    position: Vector3 = dataclasses.field(default=(0.0, 0.0, 0.0), kw_only=False)
    rotation: Annotated[Any, BeforeValidator(rotation_matrix)] = dataclasses.field(
        default=None, kw_only=False
    )


def frame(value: object) -> Frame:
    """`Frame` from a position, a table or a `Frame`."""
    if isinstance(value, Frame):
        return value
    if isinstance(value, Mapping):
        return Frame.read(value)
    return Frame.read({"position": vector(value)})


@checked_arguments
@dataclasses.dataclass(frozen=True)
class FrameRef:
    """Reference to a frame of a body; ``frame == ""`` is the body frame itself.

    Its text is ``body/frame``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("robot")
    >>> arm = model.add(
    ...     fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0.3, 0, 0)})
    ... )
    >>> arm["tip"] == fm.FrameRef("arm", "tip"), str(arm["tip"])
    (True, 'arm/tip')
    """

    body: str
    frame: str = ""

    def __str__(self) -> str:
        return f"{self.body}/{self.frame}" if self.frame else self.body


@dataclasses.dataclass(frozen=True)
class BodyHandle(FrameRef):
    """Handle returned by ``model.add(body)``: a reference to the body frame.

    ``handle["hub"]`` refers to a frame of the body.
    """

    known: tuple[str, ...] | None = dataclasses.field(default=None, compare=False, repr=False)

    def __getitem__(self, name: str) -> FrameRef:
        if self.known is not None and name not in self.known:
            raise InputError(
                f"bodies.{self.body}: no frame '{name}'; {close_names(str(name), self.known)}"
            )
        return FrameRef(self.body, name)


@dataclasses.dataclass(frozen=True)
class ItemHandle:
    """Handle returned by ``model.add`` for a joint, force or drive.

    It is accepted wherever the name of the item is.
    """

    section: str
    name: str

    def __str__(self) -> str:
        return self.name


def frames_used(item: Declaration) -> dict[str, FrameRef]:
    """Frame references of an item, by field."""
    values = ((key, getattr(item, key)) for key in item.field_names())
    return {key: value for key, value in values if isinstance(value, FrameRef)}


def frame_ref(value: object) -> FrameRef:
    """Validate a frame reference: ``"body/frame"``, ``"body"``, handle, body or `FrameRef`."""
    if isinstance(value, FrameRef):
        return FrameRef(value.body, value.frame)
    if isinstance(value, Declaration) and value.section == "bodies":
        return FrameRef(value.name)  # type: ignore[attr-defined]
    if not isinstance(value, str):
        raise ValueError(
            f"must be a frame such as 'body/frame' or body['frame'], not {shown(value)}"
        )
    body, slash, place = value.partition("/")
    return FrameRef(name(body), name(place) if slash else "")


def joint_name(value: object) -> str:
    """Validate the name of a joint, given by handle or string."""
    if isinstance(value, ItemHandle) and value.section == "joints":
        return value.name
    if isinstance(value, str):
        return name(value)
    raise ValueError(f"must be a joint (its handle or name), not {shown(value)}")


def joint_names(value: object) -> tuple[str, ...]:
    """Validate a list of joint names or handles."""
    return tuple(joint_name(item) for item in items(value))


def frame_table(value: object) -> NamedValues:
    """Validate a table of named frames."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a mapping of named frames, not {shown(value)}")
    made: dict[str, Frame] = {}
    problems: list[Problem] = []
    for key, place in value.items():
        try:
            made[name(key)] = frame(place)
        except NestedError as error:
            problems.extend(
                Problem((str(key), *inner.path), inner.message) for inner in error.problems
            )
        except ValueError as error:
            problems.append(Problem((str(key),), str(error)))
    raise_nested(problems)
    return NamedValues(made)


FrameLike = Annotated[Any, BeforeValidator(frame_ref)]
JointLike = Annotated[Any, BeforeValidator(joint_name)]
OptionalJoint = Annotated[Any, BeforeValidator(optional(joint_name))]
JointNames = Annotated[Any, BeforeValidator(joint_names)]
Frames = Annotated[Any, BeforeValidator(frame_table)]
