"""Consistent unit systems of other programs, as factors to SI."""

from __future__ import annotations

from typing import NamedTuple

from flexmbs.errors import InputError


class Units(NamedTuple):
    """Units of length [m], mass [kg] and time [s]; the force unit is the derived one."""

    name: str
    length: float
    mass: float
    time: float

    @property
    def stiffness(self) -> float:
        """Of a force per length, N/m."""
        return self.mass / self.time**2


SI = Units("m-kg-s", 1.0, 1.0, 1.0)
UNIT_SYSTEMS = {
    system.name: system
    for system in (
        SI,
        Units("mm-t-s", 1e-3, 1e3, 1.0),
        Units("mm-kg-ms", 1e-3, 1.0, 1e-3),
        Units("mm-g-ms", 1e-3, 1e-3, 1e-3),
        Units("in-lbf-s", 0.0254, 4.4482216152605 / 0.0254, 1.0),
    )
}


def units_named(name: str) -> Units:
    """System of units by name. Raises InputError."""
    if name not in UNIT_SYSTEMS:
        raise InputError(f"units: {name!r} is unknown; give one of {', '.join(UNIT_SYSTEMS)}")
    return UNIT_SYSTEMS[name]
