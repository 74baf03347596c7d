"""Arrays of a solution with names for every index and units, for xarray and MAT-files."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.results.channels import ENERGIES, XYZ, coordinate_units
from flexmbs.results.solution import SolutionData
from flexmbs.results.views import FloatArray

FRAME = {"position": "m", "velocity": "m/s", "acceleration": "m/s²"}
TURNING = {"angular_velocity": "rad/s", "angular_acceleration": "rad/s²"}


class LabelledArray(NamedTuple):
    """Array with names of its dimensions (time first) and unit.

    The unit is empty if the indices have different units.
    """

    dims: tuple[str, ...]
    values: FloatArray
    unit: str


class DimensionLabels(NamedTuple):
    """Coordinates of the dimensions (texts or times), and units of their indices."""

    coordinates: dict[str, Sequence[str]]
    units: dict[str, Sequence[str]]


def labels(solution: SolutionData) -> DimensionLabels:
    """Names of the indices of all dimensions except time, and their units.

    Joint coordinates and drives have units by index.
    """
    units = {name: coordinate_units(solution, name) for name in solution.joints}
    drives = [solution.model.drives[name] for name in solution.drives]
    nf = {name: solution.body(name).elastic.shape[1] for name in solution.bodies}
    return DimensionLabels(
        {
            "body": solution.bodies,
            "frame": solution.frames,
            "joint": solution.joints,
            "axis": XYZ,
            "column": XYZ,
            "mode": [f"{name}.mode{k + 1}" for name, count in nf.items() for k in range(count)],
            "place": [
                f"{name}.{k}" for name, (places, _) in units.items() for k in range(len(places))
            ],
            "freedom": [
                f"{name}.{k}" for name, (_, rates) in units.items() for k in range(len(rates))
            ],
            "drive": solution.drives,
            "contact": solution.contacts,
        },
        {
            "place": [unit or "1" for places, _ in units.values() for unit in places],
            "freedom": [unit for _, rates in units.values() for unit in rates],
            "drive": [units[str(drive.joint)][1][drive.coordinate] for drive in drives],
        },
    )


def labelled(solution: SolutionData) -> dict[str, LabelledArray]:
    """All arrays by name: ``frame_position`` (time, frame, axis) … ``energy_total`` (time).

    Empty ones are omitted.

    joint_position is indexed by ``place`` (for balls the quaternion), velocities and efforts by
    ``freedom``.

    """
    found = dict(_all(solution))
    return {name: array for name, array in found.items() if array.values.size}


def _all(solution: SolutionData) -> Iterator[tuple[str, LabelledArray]]:
    """(name, labelled array) for all quantities of frames, bodies, joints and forces."""
    frames = [solution.frame(name) for name in solution.frames]
    bodies = [solution.body(name) for name in solution.bodies]
    for what, unit in (FRAME | TURNING).items():
        yield (
            f"frame_{what}",
            _stacked(solution, [getattr(view, what) for view in frames], ("frame", "axis"), unit),
        )
        yield (
            f"body_{what}",
            _stacked(solution, [getattr(view, what) for view in bodies], ("body", "axis"), unit),
        )
    for kind, views in (("frame", frames), ("body", bodies)):
        yield (
            f"{kind}_rotation",
            _stacked(solution, [view.rotation for view in views], (kind, "axis", "column"), "1"),
        )
    yield "elastic", _joined(solution, [view.elastic for view in bodies], "mode", "")
    joints = [solution.joint(name) for name in solution.joints]
    yield "joint_position", _joined(solution, [view.position for view in joints], "place", "")
    for what in ("velocity", "acceleration", "effort"):
        yield (
            f"joint_{what}",
            _joined(solution, [getattr(view, what) for view in joints], "freedom", ""),
        )
    for what, unit in (("force", "N"), ("torque", "N m")):
        yield (
            f"joint_{what}",
            _stacked(solution, [getattr(view, what) for view in joints], ("joint", "axis"), unit),
        )
    drives = [solution.drive(name) for name in solution.drives]
    for what, unit in (("coordinate", ""), ("rate", ""), ("torque", ""), ("power", "W")):
        yield (
            f"drive_{what}",
            _stacked(solution, [getattr(view, what) for view in drives], ("drive",), unit),
        )
    contacts = [solution.contact(name) for name in solution.contacts]
    yield "contact_gap", _stacked(solution, [view.gap for view in contacts], ("contact",), "")
    yield "contact_normal", _stacked(solution, [view.normal for view in contacts], ("contact",), "")
    yield (
        "contact_force",
        _stacked(solution, [view.force for view in contacts], ("contact", "axis"), ""),
    )
    for name in ENERGIES:
        yield f"energy_{name}", LabelledArray(("time",), getattr(solution.energy, name), "J")


def _stacked(
    solution: SolutionData, parts: Sequence[FloatArray], dims: tuple[str, ...], unit: str
) -> LabelledArray:
    """Arrays of several items stacked along a new axis, (nt, items, …)."""
    values = np.stack(parts, axis=1) if parts else np.zeros((len(solution.t), *len(dims) * [0]))
    return LabelledArray(("time", *dims), values, unit)


def _joined(
    solution: SolutionData, parts: Sequence[FloatArray], dim: str, unit: str
) -> LabelledArray:
    """Arrays (nt, n) of several items concatenated, (nt, Σ n)."""
    return LabelledArray(
        ("time", dim), np.concatenate([np.zeros((len(solution.t), 0)), *parts], axis=1), unit
    )
