"""Models in other units, by the units that the documentation of their parameters states."""

import dataclasses
import re
from typing import Any

import numpy as np
from transformations import copy_of, with_arguments_of

import flexmbs as fm
from flexmbs.declaration import Declaration
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.model.frames import FrameRef
from flexmbs.model.laws import TimeLaw


@dataclasses.dataclass(frozen=True)
class Units:
    """Numbers of the new units in a metre, a kilogram and a second."""

    length: float
    mass: float
    time: float

    def of(self, L: float = 0.0, M: float = 0.0, T: float = 0.0) -> float:
        """Factor of a quantity with the dimensions Lᴸ Mᴹ Tᵀ."""
        return self.length**L * self.mass**M * self.time**T

    @property
    def force(self) -> float:
        return self.of(1, 1, -2)

    def factor(self, unit: str) -> float:
        """Factor of a unit such as "N s/m" or "m³/(s √Pa)"; amperes stay."""
        above, _, below = unit.replace("(", "").replace(")", "").partition("/")
        return self._product(above) / self._product(below)

    def _product(self, text: str) -> float:
        basic = {
            "m": self.length,
            "kg": self.mass,
            "s": self.time,
            "rad": 1.0,
            "1": 1.0,
            "Hz": 1.0 / self.time,
            "A": 1.0,
            "N": self.force,
            "Pa": self.force / self.length**2,
            "V": self.force * self.length / self.time,
            "Ω": self.force * self.length / self.time,
            "H": self.force * self.length,
            "": 1.0,
        }
        found = 1.0
        for token in text.split():
            root, name, power = re.fullmatch(r"(√?)([A-Za-zΩ1]*)([²³]?)", token).groups()  # type: ignore[union-attr]
            found *= basic[name] ** ({"": 1.0, "²": 2.0, "³": 3.0}[power] * (0.5 if root else 1.0))
        return found


def documented(kind: type[Declaration]) -> dict[str, str]:
    """Units of the parameters of a kind, as its documentation states them."""
    found = {}
    for base in reversed(kind.__mro__):
        for names, rest in re.findall(
            r"^ *(\w[\w, ]*) : ([^\n]*)$", base.__doc__ or "", re.MULTILINE
        ):
            unit = re.search(r"\[(.*)\]", rest)
            for name in names.split(","):
                found[name.strip()] = unit.group(1) if unit else ""
    return found


class InUnits:
    """Items in other units, by the units that their documentation states."""

    def __init__(self, model: fm.Model, units: Units) -> None:
        self.model, self.units = model, units

    def changed(self) -> fm.Model:
        """The model; items with functions whose arguments have units of several coordinates are
        left out.
        """
        g = tuple(self.units.of(1, 0, -2) * np.array(self.model.gravity))
        frames = {name: self.frame(frame) for name, frame in self.model.frames.items()}
        return copy_of(self.model, self.item, gravity=g, frames=frames)

    def frame(self, frame: fm.Frame) -> fm.Frame:
        return fm.Frame(tuple(self.units.length * np.array(frame.position)), frame.rotation)

    def coordinate(self, joint: str, number: int = 0) -> bool:
        """Is a coordinate an angle?"""
        turns = [
            motion.turns for motion in self.model.joints[joint].motions for _ in range(motion.nv)
        ]
        return bool(turns[number])

    def item(self, item: Any) -> Any:
        match item:
            case fm.RigidBody() | fm.PointMass():
                made = self.plain(item, turns=False)
                return dataclasses.replace(
                    made, frames={name: self.frame(frame) for name, frame in item.frames.items()}
                )
            case fm.FlexibleBody():
                rates = (
                    {}
                    if item.qf_dot0 is None
                    else {"qf_dot0": tuple(np.array(item.qf_dot0) / self.units.time)}
                )
                return dataclasses.replace(item, data=flexible_in(item.data, self.units), **rates)
            case _:
                return self.other(item)

    def other(self, item: Any) -> Any:
        """Joints, forces and the rest."""
        if any(
            callable(getattr(item, key, None)) for key in ("function", "controller", "law")
        ) and not isinstance(getattr(item, "law", None), Declaration):
            return self.of_function(item)
        if hasattr(item, "terms") and hasattr(item, "offset"):
            return self.coupling(item)
        if isinstance(
            item, fm.Transmission | fm.RobotControl | fm.UserContact | fm.UnilateralCoupling
        ):
            return None
        if isinstance(getattr(item, "law", None), fm.DigitalController):
            return None  # its samples and memory have units of their own
        joint = getattr(item, "joint", None)
        turns = (
            self.coordinate(joint, getattr(item, "coordinate", 0))
            if isinstance(joint, str)
            else False
        )
        made = self.plain(item, turns=turns)
        if isinstance(item, fm.VelocityRows):
            scale = np.array([1.0 / self.units.length] * 3 + [1.0] * 3 + [1.0 / self.units.time])
            made = dataclasses.replace(
                made, covectors=[(scale[: len(row)] * row).tolist() for row in item.covectors]
            )
        if isinstance(item, fm.RotorInertia) and not turns:
            made = dataclasses.replace(made, ratio=item.ratio / self.units.length)
        if hasattr(item, "q0") and hasattr(item, "motions"):
            changes: dict[str, Any] = {}
            if item.q0 is not None:
                changes["q0"] = self.values(item, item.q0, rate=False)
            if item.v0 is not None:
                changes["v0"] = self.values(item, item.v0, rate=True)
            made = dataclasses.replace(made, **changes)
            if item.kind == "chain":
                made = dataclasses.replace(
                    made, motions=tuple(self.plain(motion, turns=False) for motion in item.motions)
                )
        return made

    def values(self, joint: Any, given: Any, *, rate: bool) -> tuple[float, ...]:
        """q0 or v0 of a joint."""
        factors: list[float] = []
        for motion in joint.motions:
            n = motion.nv if rate else motion.nq
            lengths = {True: 0, False: n}[motion.turns] if n not in (6, 7) else 3
            factors += [self.units.length] * lengths + [1.0] * (n - lengths)
        scale = 1.0 / self.units.time if rate else 1.0
        return tuple(scale * f * x for f, x in zip(factors, given))

    def plain(self, part: Any, *, turns: bool, factor: float = 1.0) -> Any:
        """A declaration whose numbers have documented units, of an angle if it ``turns``;
        ``factor`` of the values of a law.
        """
        if isinstance(part, fm.Function):
            return self.function(part, turns, factor)
        units, changes = documented(type(part)), {}
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            if field.name in ("name", "q0", "v0", "frames", "motions"):
                continue
            by = self.factors(part, field.name, units.get(field.name, ""), turns)
            if isinstance(part, TimeLaw):
                own = field.name in (
                    "value",
                    "value0",
                    "rate",
                    "amplitude",
                    "offset",
                    "initial",
                    "values",
                )
                by = (factor if own else 1.0) * np.asarray(by)
            changes[field.name] = self.scaled(value, by, turns)
        if isinstance(part, fm.AffineActuator):  # its command keeps its numbers
            changes["gain"] = self.units.factor("N m" if turns else "N") * part.gain
        if isinstance(part, fm.DCMotor) and not turns:
            changes["ratio"] = part.ratio / self.units.length
        return dataclasses.replace(part, **changes)

    def function(self, law: fm.Function, turns: bool, factor: float) -> fm.Function:
        """A user function of time, or of time and a coordinate with its rate, whose value has a
        factor.
        """
        inner, u = getattr(law.function, "py_func", law.function), self.units
        length = 1.0 if turns else u.length
        if law.parameters != 1:
            return fm.Function(
                lambda t, x, v: factor * inner(t / u.time, x / length, v * u.time / length)
            )
        if np.ndim(inner(0.0)) == 0:
            return fm.Function(lambda t: factor * inner(t / u.time))
        rates = factor * u.time ** -np.arange(3.0)
        return fm.Function(lambda t: tuple(rates * inner(t / u.time)))

    def scaled(self, value: Any, by: Any, turns: bool) -> Any:
        if isinstance(value, Declaration):
            return self.plain(value, turns=turns, factor=float(by)) if np.ndim(by) == 0 else value
        if (
            isinstance(value, bool | str | None | FrameRef)
            or callable(value)
            or (isinstance(value, int) and by == 1.0)
        ):
            return value
        if isinstance(value, tuple) and value and isinstance(value[0], Declaration):
            return tuple(self.scaled(each, by, turns) for each in value)
        if isinstance(value, int | float):
            return float(by) * value
        try:
            array = np.array(value, float)
        except (TypeError, ValueError):
            return value
        if np.array_equal(np.asarray(by), 1.0):
            return value
        scaled = (
            array * by if array.ndim < 2 or np.ndim(by) == 0 else array * np.asarray(by)[:, None]
        )
        return scaled.tolist()

    def factors(self, part: Any, name: str, unit: str, turns: bool) -> Any:
        """Of a parameter: one factor, or those of its components."""
        if part.kind == "curve" and name == "points":
            unit = "m or rad" if part.of == "position" else "m/s or rad/s"
        if unit == "N/m^n":
            n = part.exponent
            return self.units.force * (self.units.length if turns else self.units.length**-n)
        if part.kind == "hunt-crossley" and turns:
            return (
                1.0 / self.units.time
                if name in ("speed", "slip_velocity")
                else self.units.time
                if name == "damping"
                else 1.0
            )
        if part.kind == "bushing":
            pair = [self.units.factor(each) for each in unit.split(", ")] if ", " in unit else []
            if name.startswith("curve"):
                return pair
            return np.repeat(pair, 3) if pair else self.units.factor(unit)
        if " = " in unit or unit.startswith("unit of") or unit == "1 or rad/m":
            return self.units.factor(unit.split(" = ")[0]) if " = " in unit else 1.0
        choices = unit.split(" or ")
        return self.units.factor(choices[min(len(choices) - 1, int(turns))])

    def coupling(self, item: Any) -> Any:
        """A linear coupling: its row times a factor."""
        offset, made = item.offset, dataclasses.replace(item, offset=None)
        u = [
            1.0 if self.coordinate(use.joint, use.coordinate) else self.units.length
            for use in item.coordinates(self.model.joints)
        ]
        if item.kind == "linear":
            made = dataclasses.replace(
                made, factors={key: f / each for (key, f), each in zip(item.factors.items(), u)}
            )
        else:
            made = self.plain(made, turns=False)
        ratios = [
            new.factor * each / old.factor for new, old, each in zip(made.terms, item.terms, u)
        ]
        assert np.allclose(ratios, ratios[0])
        return dataclasses.replace(
            made, offset=None if offset is None else self.scaled(offset, ratios[0], False)
        )

    def of_function(self, item: Any) -> Any:
        """Items of user functions; None for those that are not supported here."""
        u = self.units
        function = getattr(
            getattr(item, "function", None), "py_func", getattr(item, "function", None)
        )
        if isinstance(item, fm.UserForce):
            load = np.repeat([u.force, u.force * u.length], 3)

            def pushed(t: float, r: Any, A: Any, v: Any, w: Any, *reactions: Any) -> Any:
                rates = np.array(v) * u.time / u.length, np.array(w) * u.time
                given = function(
                    t / u.time,
                    np.array(r) / u.length,
                    A,
                    *rates,
                    *(np.array(each) / load for each in reactions),
                )
                return tuple(load * np.array(given[:6]))

            return dataclasses.replace(
                item, function=with_arguments_of(pushed, item.function, reads=bool(item.reads))
            )
        if isinstance(item, fm.Holonomic):
            return dataclasses.replace(
                item,
                jacobian=None,
                function=lambda t, x, A: function(t / u.time, np.array(x) / u.length, A),
            )
        if isinstance(item, fm.HolonomicCoupling):
            angles = [
                self.coordinate(use.joint, use.coordinate)
                for use in item.coordinates(self.model.joints)
            ]
            scale = np.where(angles, 1.0, 1.0 / u.length)
            return dataclasses.replace(
                item, gradient=None, function=lambda t, x: function(t / u.time, x * scale)
            )
        return None


def flexible_in(data: Any, u: Units) -> Any:
    """A flexible body in other units; its elastic coordinates keep their numbers."""
    if isinstance(data, DividedBodyData):
        return dataclasses.replace(
            data, pieces=tuple(flexible_in(piece, u) for piece in data.pieces)
        )
    dimensions = {
        "mass": (0, 1, 0),
        "first_moment": (1, 1, 0),
        "second_moment": (2, 1, 0),
        "S_bar": (1, 1, 0),
        "xS": (2, 1, 0),
        "SS": (2, 1, 0),
        "K_ff": (2, 1, -2),
        "D_ff": (2, 1, -1),
        "damping_rows": (1, 0.5, -0.5),
    }
    made: dict[str, Any] = {
        name: getattr(data, name) * u.of(*powers) for name, powers in dimensions.items()
    }
    made["frames"] = {
        name: dataclasses.replace(
            frame, x=u.length * frame.x, phi=u.length * frame.phi, local=u.length * frame.local
        )
        for name, frame in data.frames.items()
    }
    table = data.modes
    mass = np.repeat([u.mass, u.mass * u.length**2], 3)
    made["modes"] = dataclasses.replace(
        table, frequency=table.frequency / u.time, effective_mass=table.effective_mass * mass
    )
    if data.geometric is not None:
        g = data.geometric
        load = np.repeat([u.length, 1.0], 3)[:, None, None]
        made["geometric"] = dataclasses.replace(
            g,
            acceleration=g.acceleration * u.of(1, 1),
            angular_acceleration=g.angular_acceleration * u.of(2, 1),
            rotation=g.rotation * u.of(2, 1),
            frames={name: K * load for name, K in g.frames.items()},
        )
    return dataclasses.replace(data, **made)
