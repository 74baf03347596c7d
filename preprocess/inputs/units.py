"""Consistent unit systems of other programs, as factors to SI."""

from __future__ import annotations

import re
from typing import NamedTuple

from flexmbs.errors import InputError

POUND = 4.4482216152605  # pound-force in N (0.45359237 kg · 9.80665 m/s²)
INCH, FOOT = 0.0254, 0.3048  # m


class Units(NamedTuple):
    """Units of length [m], mass [kg] and time [s]; the unit of force is derived."""

    name: str
    length: float
    mass: float
    time: float

    @property
    def force(self) -> float:
        """Unit of force, N."""
        return self.mass * self.length / self.time**2

    @property
    def stiffness(self) -> float:
        """Unit of force per length, N/m."""
        return self.mass / self.time**2

    @property
    def pressure(self) -> float:
        """Unit of pressure, Pa."""
        return self.force / self.length**2

    @property
    def density(self) -> float:
        """Unit of density, kg/m³."""
        return self.mass / self.length**3

    def factor(self, force: int, length: int, time: int) -> float:
        """SI value of the unit of a quantity with these powers of force, length and time."""
        return self.force**force * self.length**length * self.time**time


SI = Units("m-kg-s", 1.0, 1.0, 1.0)
UNIT_SYSTEMS = {
    system.name: system
    for system in (
        SI,
        Units("mm-t-s", 1e-3, 1e3, 1.0),
        Units("mm-kg-ms", 1e-3, 1.0, 1e-3),
        Units("mm-g-ms", 1e-3, 1e-3, 1e-3),
        Units("cm-g-s", 1e-2, 1e-3, 1.0),
        Units("in-lbf-s", INCH, POUND / INCH, 1.0),
        Units("ft-slug-s", FOOT, POUND / FOOT, 1.0),
    )
}
UNIT_SYSTEMS["SI"] = SI
NEWTONS = {
    name: Units(name, size, 1.0 / size, 1.0)
    for name, size in (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3), ("in", INCH))
}
"""Units of length, with forces in N and times in s."""
MESH_UNITS = NEWTONS | UNIT_SYSTEMS


def mesh_units(name: str, item: str) -> Units:
    """Units of a mesh file from a length unit or the name of a system.

    Raises InputError naming the item.
    """
    if not isinstance(name, str) or name not in MESH_UNITS:
        raise InputError(f"{item} {name!r:.60} is unknown; give one of {', '.join(MESH_UNITS)}")
    return MESH_UNITS[name]


LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "in": INCH, "ft": FOOT}


def length(text: str) -> float:
    """Length (m) of a text with a unit, as "4 mm" or "0.5in". Raises InputError."""
    found = re.fullmatch(r"\s*([-+.\deE]+?)\s*([a-zµ]+)\s*", text)
    try:
        if found and found[2] in LENGTHS:
            return float(found[1]) * LENGTHS[found[2]]
    except ValueError:
        pass
    raise InputError(f"{text!r} is no length; give a number and a unit of {', '.join(LENGTHS)}")
