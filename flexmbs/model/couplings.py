"""Couplings: equations between joint coordinates.

Here the linear ones of gears, racks, screws, belts and differentials.

Each of these is one row Σ aᵢ qᵢ = b(t) over coordinates of any joints; a new kind is a class with
its parameters and `terms`. Its multiplier λ produces the torque or force aᵢ λ on each coordinate,
between parent and child of its joint; bearing loads from tooth forces and belt tensions are not
included. Source: Shabana, Computational Dynamics (2010), ch. 3 (gears and other kinematic couplings
as constraints).

"""

import abc
import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator

from flexmbs.declaration import Problem, raise_nested, shown
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.fields import NamedValues, Nonzero, Positive, Switch, items, nonzero, sized
from flexmbs.model.frames import joint_name
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.laws import Constant, OptionalLaw

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint


MOST = 24  # largest number of coordinates of one function


class Term(NamedTuple):
    """Coordinate of a coupling.

    The parameter that names it, ``joint`` or ``joint.number``, its factor a, and True if it must be
    an angle, False if it must be a length.
    """

    key: str
    coordinate: str
    factor: float
    angle: bool | None = None


def factor_table(value: object) -> NamedValues:
    """Validate a table of nonzero factors by coordinate."""
    if not isinstance(value, Mapping):
        raise ValueError(
            f"must be a mapping of factors by joint coordinate, such as {{'arm': 1, "
            f"'hand.1': -2}}, not {shown(value)}"
        )
    made: dict[str, float] = {}
    problems: list[Problem] = []
    for key, factor in value.items():
        try:
            made[joint_name(key)] = nonzero(factor)
        except ValueError as error:
            problems.append(Problem((str(key),), str(error)))
    if not (made or problems):
        raise ValueError(
            "is empty; give factors by joint coordinate, such as {'arm': 1, 'hand.1': -2}"
        )
    raise_nested(problems)
    return NamedValues(made)


def two_radii(value: object) -> tuple[float, ...]:
    """Validate two positive radii."""
    radii = sized(2)(value)
    if min(radii) <= 0.0:
        raise ValueError(f"must be > 0, not {min(radii):g}")
    return radii


Coordinate = Annotated[Any, BeforeValidator(joint_name)]


def coordinate_names(value: object) -> tuple[str, ...]:
    """Validate distinct names of coordinates."""
    names = [joint_name(item) for item in items(value)]
    if not names:
        raise ValueError("is empty; name joint coordinates, such as ['arm', 'hand.1']")
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ValueError(f"coordinate '{name}' appears twice; name it once")
    return tuple(names)


def few_coordinates(value: object) -> tuple[str, ...]:
    """Validate distinct names of at most `MOST` coordinates."""
    names = coordinate_names(value)
    if len(names) > MOST:
        raise ValueError(f"must name 1 … {MOST} joint coordinates, not {len(names)}")
    return names


Coordinates = Annotated[Any, BeforeValidator(few_coordinates)]
Factors = Annotated[Any, BeforeValidator(factor_table)]
AnyCoordinates = Annotated[Any, BeforeValidator(coordinate_names)]


class Coupling(Item, abc.ABC, section="couplings"):
    """Equation between joint coordinates.

    A coordinate is named by its joint, by handle or name, or ``'joint.number'`` if the joint has
    several.
    """

    # True if all coordinates are relative to one part, as for gears
    on_one_carrier: ClassVar[bool] = False
    axes: ClassVar[str] = ""  # of its two joints on that part: "parallel", "across" or any

    @property
    @abc.abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """Coordinates, with their factors if these are constant."""

    @property
    @abc.abstractmethod
    def equation(self) -> str:
        """Equation in terms of the names in the model."""

    def coordinates(self, joints: "Mapping[str, Joint]") -> list[CoordinateUse]:
        """Joint coordinates that the coupling connects, as (joint, number)."""
        return [coordinate_of(term.coordinate, joints) for term in self.terms]


class ConstantCoupling(Coupling):
    """Equation Σ aᵢ qᵢ = b(t) between joint coordinates, with constant factors.

    Parameters
    ----------
    offset : law of time, float, function or None [unit of a q]
        b(t); None: the constant value in the initial position.
    """

    offset: OptionalLaw = None

    @property
    def equation(self) -> str:
        """(factors, coordinates, offset b) of Σ a β = b."""
        b = (
            "constant"
            if self.offset is None
            else f"{self.offset.value:.6g}"
            if isinstance(self.offset, Constant)
            else "b(t)"
        )
        return " ".join(f"{term.factor:+.6g}·{term.coordinate}" for term in self.terms) + f" = {b}"

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One holonomic row; rheonomic if b depends on time."""
        steady = self.offset is None or isinstance(self.offset, Constant)
        return (ConstraintClass(1, scleronomic=steady, active=not steady),)


def coordinate_of(text: str, joints: "Mapping[str, Joint]") -> CoordinateUse:
    """(joint, number) of a coordinate "joint" or "joint.number"."""
    joint, dot, place = text.rpartition(".")
    if text not in joints and dot and place.isdecimal():
        return CoordinateUse(joint, int(place))
    return CoordinateUse(text, 0)


class LinearCoupling(ConstantCoupling, kind="linear"):
    """Σ aᵢ qᵢ = b(t) over any joint coordinates.

    Source: docs/theory.md, section 14.

    Parameters
    ----------
    factors : mapping from coordinate to float
        aᵢ by coordinate, such as ``{"arm": 1.0, "hand.1": -2.0}``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("gripper", gravity=(0, 0, 0))
    >>> left, right = (
    ...     model.add(fm.RigidBody(name, mass=0.1, inertia=(1e-5, 1e-5, 1e-5)))
    ...     for name in ("left", "right")
    ... )
    >>> one = model.add(fm.Prismatic("one", model.ground, left, axis="x", v0=0.02))
    >>> other = model.add(fm.Prismatic("other", model.ground, right, axis="x"))
    >>> mirror = model.add(fm.LinearCoupling("mirror", {"one": 1.0, "other": 1.0}))  # x₁ + x₂ = b
    >>> fm.assemble(model).joints["other"].velocity.round(6).tolist()
    [-0.02]
    """

    factors: Factors = dataclasses.field(kw_only=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(
            Term("factors", coordinate, factor) for coordinate, factor in self.factors.items()
        )


class Gear(ConstantCoupling, kind="gear"):
    """Gear pair, q₁ + i q₂ = b, or q₁ − i q₂ = b if internal.

    The coordinates are the angles of the gears relative to the part that carries both, about
    parallel axes in the same direction, or for bevel gears about axes that both point to or away
    from the apex: the gears turn in opposite directions. Source: docs/theory.md, section 14.

    Parameters
    ----------
    first : coordinate [rad]
        Angle q₁ of the first gear.
    second : coordinate [rad]
        Angle q₂ of the second gear.
    ratio : float
        i = q̇₁/q̇₂ without sign: radius or number of teeth of the second gear over that of the
        first.
    internal : bool
        One of the gears is a ring gear: both turn in the same direction.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("gearbox", frames={"second": (0.12, 0, 0)})
    >>> pinion, wheel = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    ...     for name in ("pinion", "wheel")
    ... )
    >>> first = model.add(fm.Revolute("first", model.ground, pinion, axis="z", v0=12.0))
    >>> second = model.add(fm.Revolute("second", model.ground["second"], wheel, axis="z"))
    >>> teeth = model.add(fm.Gear("teeth", first, second, ratio=3.0))
    >>> fm.assemble(model).joints["second"].velocity.round(6).tolist()  # −q̇₁/i
    [-4.0]
    """

    on_one_carrier: ClassVar[bool] = True

    first: Coordinate = dataclasses.field(kw_only=False)
    second: Coordinate = dataclasses.field(kw_only=False)
    ratio: Positive
    internal: Switch = False

    @property
    def terms(self) -> tuple[Term, ...]:
        """Coefficients of the coordinates in the coupling equation: 1 and ±ratio."""
        i = -self.ratio if self.internal else self.ratio
        return Term("first", self.first, 1.0, True), Term("second", self.second, i, True)


class RackPinion(ConstantCoupling, kind="rack-pinion"):
    """Rack and pinion, x − r φ = b.

    Source: docs/theory.md, section 14.

    Parameters
    ----------
    pinion : coordinate [rad]
        Angle φ of the pinion.
    rack : coordinate [m]
        Displacement x of the rack.
    radius : float [m]
        Pitch radius r of the pinion; negative if the rack moves back as the pinion turns forward.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("steering")
    >>> pinion, rack = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    ...     for name in ("pinion", "rack")
    ... )
    >>> column = model.add(fm.Revolute("column", model.ground, pinion, axis="z", v0=5.0))
    >>> guide = model.add(fm.Prismatic("guide", model.ground, rack, axis="x"))
    >>> teeth = model.add(fm.RackPinion("teeth", column, guide, radius=0.01))
    >>> fm.assemble(model).joints["guide"].velocity.round(6).tolist()  # r φ̇
    [0.05]
    """

    on_one_carrier: ClassVar[bool] = True
    axes: ClassVar[str] = "across"

    pinion: Coordinate = dataclasses.field(kw_only=False)
    rack: Coordinate = dataclasses.field(kw_only=False)
    radius: Nonzero

    @property
    def terms(self) -> tuple[Term, ...]:
        return Term("pinion", self.pinion, -self.radius, True), Term("rack", self.rack, 1.0, False)


class ScrewCoupler(ConstantCoupling, kind="screw"):
    """Screw and nut on separate joints, x − p φ/2π = b.

    Source: docs/theory.md, section 14.

    Parameters
    ----------
    screw : coordinate [rad]
        Angle φ of the screw.
    nut : coordinate [m]
        Displacement x of the nut.
    lead : float [m]
        Displacement p per revolution; negative for opposite directions.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("ball screw")
    >>> screw, table = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    ...     for name in ("screw", "table")
    ... )
    >>> spindle = model.add(
    ...     fm.Revolute("spindle", model.ground, screw, axis="x", v0=2 * 3.14159265 * 50.0)
    ... )
    >>> guide = model.add(fm.Prismatic("guide", model.ground, table, axis="x"))
    >>> nut = model.add(fm.ScrewCoupler("nut", spindle, guide, lead=0.01))
    >>> fm.assemble(model).joints["guide"].velocity.round(
    ...     6
    ... ).tolist()  # lead · 50 revolutions a second
    [0.5]
    """

    on_one_carrier: ClassVar[bool] = True
    axes: ClassVar[str] = "parallel"

    screw: Coordinate = dataclasses.field(kw_only=False)
    nut: Coordinate = dataclasses.field(kw_only=False)
    lead: Nonzero

    @property
    def terms(self) -> tuple[Term, ...]:
        return Term("screw", self.screw, -self.lead / (2.0 * math.pi), True), Term(
            "nut", self.nut, 1.0, False
        )


class Belt(ConstantCoupling, kind="belt"):
    """Belt or chain without slip between two pulleys with parallel axes, r₁ q₁ − r₂ q₂ = b.

    The axes have the same direction; crossed: r₁ q₁ + r₂ q₂ = b.

    Its multiplier is the difference between the tensions in the two strands (N).
    Source: docs/theory.md, section 14.

    Parameters
    ----------
    first : coordinate [rad]
        Angle q₁ of the first pulley.
    second : coordinate [rad]
        Angle q₂ of the second pulley.
    radii : 2 floats [m]
        Radii r₁, r₂ of the pulleys.
    crossed : bool
        The pulleys turn in opposite directions.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("belt drive", frames={"second": (0.5, 0, 0)})
    >>> motor, fan = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    ...     for name in ("motor", "fan")
    ... )
    >>> first = model.add(fm.Revolute("first", model.ground, motor, axis="z", v0=12.0))
    >>> second = model.add(fm.Revolute("second", model.ground["second"], fan, axis="z"))
    >>> belt = model.add(fm.Belt("belt", first, second, radii=(0.05, 0.15)))
    >>> fm.assemble(model).joints["second"].velocity.round(6).tolist()  # r₁ q̇₁/r₂
    [4.0]
    """

    on_one_carrier: ClassVar[bool] = True
    axes: ClassVar[str] = "parallel"

    first: Coordinate = dataclasses.field(kw_only=False)
    second: Coordinate = dataclasses.field(kw_only=False)
    radii: Annotated[Any, BeforeValidator(two_radii)]
    crossed: Switch = False

    @property
    def terms(self) -> tuple[Term, ...]:
        """Coefficients of the coordinates in the coupling equation: the radii, signed."""
        r = self.radii[1] if self.crossed else -self.radii[1]
        return Term("first", self.first, self.radii[0], True), Term("second", self.second, r, True)


class Differential(ConstantCoupling, kind="differential"):
    """Differential or planetary gear, q₁ + i q₂ = (1 + i) q_c (Willis equation).

    All angles are relative to the housing about one direction.

    A bevel differential has i = 1, q₁ + q₂ = 2 q_c; for a planetary gear ``first`` is the sun,
    ``second`` the ring gear. Source: docs/theory.md, section 14.

    Parameters
    ----------
    carrier : coordinate [rad]
        Angle q_c of the carrier.
    first : coordinate [rad]
        Angle q₁ of the first shaft, or the sun.
    second : coordinate [rad]
        Angle q₂ of the second shaft, or the ring gear.
    ratio : float
        i: number of teeth of the ring gear divided by that of the sun; 1 for a bevel differential.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("axle")
    >>> for name, speed in (("carrier", 10.0), ("left", 8.0), ("right", None)):
    ...     body = model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.1)))
    ...     shaft = model.add(fm.Revolute(f"{name} shaft", model.ground, body, axis="y", v0=speed))
    >>> gear = model.add(fm.Differential("gear", "carrier shaft", "left shaft", "right shaft"))
    >>> fm.assemble(model).joints["right shaft"].velocity.round(6).tolist()  # 2 q̇_c − q̇₁
    [12.0]
    """

    on_one_carrier: ClassVar[bool] = True

    carrier: Coordinate = dataclasses.field(kw_only=False)
    first: Coordinate = dataclasses.field(kw_only=False)
    second: Coordinate = dataclasses.field(kw_only=False)
    ratio: Positive = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        """Coefficients of the carrier and both shafts in Willis' equation."""
        i = self.ratio
        return (
            Term("carrier", self.carrier, -1.0 - i, True), Term("first", self.first, 1.0, True),
            Term("second", self.second, i, True),
        )  # fmt: skip
