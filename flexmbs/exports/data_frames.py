"""Solutions as pandas data frames and xarray datasets; both packages are optional."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flexmbs.declaration import close_names
from flexmbs.errors import InputError, MachineError
from flexmbs.exports.labelled import labelled, labels
from flexmbs.results.channels import ONE, TABLES, channels
from flexmbs.signals.signal import Signal

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from flexmbs.results.solution import SolutionData


def data_frame(solution: SolutionData, tables: Iterable[str] | None = None) -> DataFrame:
    """Pandas data frame of the channels over the output times.

    Index ``t [s]``, columns such as ``frame fore/tip position x [m]``; ``attrs["units"]`` maps
    columns to units. Raises `InputError`, and `MachineError` without pandas.
    """
    pandas = optional("pandas", "to_dataframe")
    columns, units = {}, {}
    for table, found in channels(solution, tables).items():
        for channel in found:
            name = f"{ONE.get(table, table)} {channel.heading}"
            columns[name], units[name] = channel.values, channel.unit
    frame: DataFrame = pandas.DataFrame(columns, index=pandas.Index(solution.t, name="t [s]"))
    frame.attrs.update(units=units, model=solution.model.name)
    return frame


def signal(solution: SolutionData, name: str) -> Signal:
    """Channel with a name such as ``frame fore/tip position x``, with or without the unit.

    Raises `InputError`.
    """
    name = str(name)
    for table, made in TABLES.items():  # evaluates one table at a time, up to the channel
        if ONE.get(table, table) == name.partition(" ")[0]:
            for channel in made(solution):
                full = f"{ONE.get(table, table)} {channel.name}"
                if name in (full, f"{ONE.get(table, table)} {channel.heading}"):
                    return Signal(solution.t, channel.values, full, channel.unit or "1")
    known = [
        f"{ONE.get(table, table)} {channel.name}"
        for table, found in channels(solution).items()
        for channel in found
    ]
    raise InputError(f"signal: '{name}' is not in the solution; {close_names(name, known)}")


def dataset(solution: SolutionData) -> Dataset:
    """Arrays of `flexmbs.exports.labelled` with the names of their indices.

    ``attrs["units"]`` of each array, or units along a dimension: ``place_unit``, ``freedom_unit``,
    ``drive_unit``. Raises `MachineError` without xarray.
    """
    xarray = optional("xarray", "to_xarray")
    arrays, names = labelled(solution), labels(solution)
    used = {dim for array in arrays.values() for dim in array.dims}
    coordinates: dict[str, Any] = {"time": ("time", solution.t, {"units": "s"})}
    coordinates |= {dim: list(values) for dim, values in names.coordinates.items() if dim in used}
    coordinates |= {
        f"{dim}_unit": (dim, list(values)) for dim, values in names.units.items() if dim in used
    }
    variables = {
        name: (each.dims, each.values, {"units": each.unit} if each.unit else {})
        for name, each in arrays.items()
    }
    result: Dataset = xarray.Dataset(variables, coordinates, {"model": solution.model.name})
    return result


def optional(module: str, method: str) -> Any:
    """Module of an optional package. Raises `MachineError` with installation instructions."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MachineError(
            f"{method}: needs {package}; install it: pip install {package}"
        ) from None
