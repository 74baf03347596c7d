"""Channels of a solution: named quantities over the output times, with units.

For tables, data frames and files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from flexmbs.declaration import close_names
from flexmbs.errors import InputError
from flexmbs.results.solution import SolutionData
from flexmbs.results.views import FloatArray

XYZ = ("x", "y", "z")
MATRIX = tuple(f"A{a}{b}" for a in XYZ for b in XYZ)
ENERGIES = (
    "kinetic",
    "strain",
    "potential",
    "total",
    "work_of_forces",
    "work_of_drives",
    "dissipated",
    "balance",
)
RATES = ("", "/s", "/s²")


# word by which a channel of a table begins in data frames and signals
ONE = {
    "bodies": "body",
    "frames": "frame",
    "joints": "joint",
    "drives": "drive",
    "couplings": "coupling",
    "contacts": "contact",
    "forces": "force",
}


class Channel(NamedTuple):
    """Name, unit (empty for dimensionless quantities) and values (nt,)."""

    name: str
    unit: str
    values: FloatArray

    @property
    def heading(self) -> str:
        """Heading ``name [unit]``, with ASCII units."""
        return f"{self.name} [{self.unit.replace('²', '2')}]" if self.unit else self.name


def channels(
    solution: SolutionData, tables: Iterable[str] | None = None
) -> dict[str, list[Channel]]:
    """Channels by table: all of `TABLES`, or the given names.

    Tables without channels are omitted. Raises `InputError`.
    """
    wanted = (
        list(TABLES) if tables is None else [tables] if isinstance(tables, str) else list(tables)
    )
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        raise InputError(
            f"tables: '{unknown[0]}' is not a table; {close_names(str(unknown[0]), TABLES)}"
        )
    made = {name: list(TABLES[name](solution)) for name in wanted}
    return {name: found for name, found in made.items() if found}


def _parts(name: str, values: FloatArray, parts: Sequence[str], unit: str) -> Iterator[Channel]:
    """Channels of the components of a vector quantity."""
    for k, part in enumerate(parts):
        yield Channel(f"{name} {part}", unit, values[:, k])


def _bodies(solution: SolutionData) -> Iterator[Channel]:
    """Channels of positions, rotations, angular velocities and modes of the bodies."""
    for name in solution.bodies:
        view = solution.body(name)
        yield from _parts(f"{name} position", view.position, XYZ, "m")
        yield from _parts(f"{name} rotation", view.rotation.reshape(-1, 9), MATRIX, "")
        yield from _parts(f"{name} angular velocity", view.angular_velocity, XYZ, "rad/s")
        yield from (
            Channel(f"{name}.mode{k + 1}", "", view.elastic[:, k])
            for k in range(view.elastic.shape[1])
        )


def _frames(solution: SolutionData) -> Iterator[Channel]:
    """Channels of positions, velocities and accelerations of the frames."""
    for name in solution.frames:
        view = solution.frame(name)
        for what, unit in (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s²")):
            yield from _parts(f"{name} {what}", getattr(view, what), XYZ, unit)


def _joints(solution: SolutionData) -> Iterator[Channel]:
    """Channels of coordinates, rates, efforts and loads of the joints."""
    for name in solution.joints:
        view, (places, rates) = solution.joint(name), coordinate_units(solution, name)
        units = {
            "position": places,
            "velocity": [f"{unit}/s" for unit in rates],
            "acceleration": [f"{unit}/s²" for unit in rates],
            "effort": ["N m" if unit == "rad" else "N" for unit in rates],
        }
        for what, own in units.items():
            values = getattr(view, what)
            yield from (
                Channel(f"{name}.{k} {what}", unit, values[:, k]) for k, unit in enumerate(own)
            )
        yield from _parts(f"{name} force", view.force, XYZ, "N")
        yield from _parts(f"{name} moment", view.torque, XYZ, "N m")


def coordinate_units(solution: SolutionData, joint: str) -> tuple[list[str], list[str]]:
    """Units of the positions (nq) and of the displacements per velocity (nv) of a joint.

    m, rad, or none for quaternions.
    """
    places: list[str] = []
    rates: list[str] = []
    for motion in solution.model.joints[joint].motions:
        if motion.freedoms == 1:
            places.append("rad" if motion.turns else "m")
            rates.append(places[-1])
        elif motion.freedoms:
            lengths = 3 * ["m"] if motion.freedoms == 6 else []
            places += [*lengths, "", "", "", ""]
            rates += [*lengths, "rad", "rad", "rad"]
    return places, rates


def _drives(solution: SolutionData) -> Iterator[Channel]:
    """Channels of coordinate, rate, torque and power of the drives."""
    for name in solution.drives:
        view, drive = solution.drive(name), solution.model.drives[name]
        unit = coordinate_units(solution, str(drive.joint))[1][drive.coordinate]
        yield Channel(f"{name} coordinate", unit, view.coordinate)
        yield Channel(f"{name} rate", f"{unit}/s", view.rate)
        yield Channel(f"{name} torque", "N m" if unit == "rad" else "N", view.torque)
        yield Channel(f"{name} power", "W", view.power)


def _couplings(solution: SolutionData) -> Iterator[Channel]:
    """Channels of value, multiplier, power and efforts of the couplings."""
    for name in solution.couplings:
        view = solution.coupling(name)
        yield from (
            Channel(f"{name} {what}", "", getattr(view, what)) for what in ("value", "multiplier")
        )
        yield Channel(f"{name} power", "W", view.power)
        yield from (
            Channel(f"{name} effort on {coordinate}", "", values)
            for coordinate, values in view.effort.items()
        )


def _contacts(solution: SolutionData) -> Iterator[Channel]:
    """Channels of gap, slip and forces of the contacts."""
    for name, places in zip(solution.contacts, solution.compiled.system.contacts.b >= 0):
        view, (length, force) = solution.contact(name), ("m", "N") if places else ("", "")
        yield Channel(f"{name} gap", length, view.gap)
        yield Channel(f"{name} normal", force, view.normal)
        if places:
            yield from _parts(f"{name} slip", view.slip, ("1", "2"), "m/s")
            yield from _parts(f"{name} friction", view.friction, ("1", "2"), "N")
            yield from _parts(f"{name} force", view.force, XYZ, "N")


def _forces(solution: SolutionData) -> Iterator[Channel]:
    """Channels of efforts, tensions, states and references of the forces."""
    yield from (Channel(*each) for each in solution.force_signals)


def _energy(solution: SolutionData) -> Iterator[Channel]:
    """Channels of the energies."""
    yield from (
        Channel(name.replace("_", " "), "J", getattr(solution.energy, name)) for name in ENERGIES
    )


TABLES: dict[str, Callable[[SolutionData], Iterator[Channel]]] = {
    "bodies": _bodies,
    "frames": _frames,
    "joints": _joints,
    "drives": _drives,
    "couplings": _couplings,
    "contacts": _contacts,
    "forces": _forces,
    "energy": _energy,
}
