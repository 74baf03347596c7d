"""Universal files (UFF), dataset 58 *function at nodal DOF*.

Histories and responses for test, modal and fatigue programs.

Written by the package pyuff. Format: SDRC universal file format; datasets 58 (binary, double
precision) and 164 (units).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from flexmbs.errors import MachineError
from flexmbs.files.output import atomic_file

TIME, FREQUENCY = ("time", "s", 17), ("frequency", "Hz", 18)  # abscissas: name, unit, data type
TIME_RESPONSE, FREQUENCY_RESPONSE = 1, 4  # function types of the format
DIRECTIONS = {"x": 1, "y": 2, "z": 3}
# data types by unit: stress, displacement, force, velocity, acceleration
DATA_TYPES = {"Pa": 2, "m": 8, "N": 13, "m/s": 11, "m/s2": 12}
_SI = {
    "units_code": 1,
    "units_description": "SI: meter (newton)",
    "temp_mode": 1,
    "length": 1.0,
    "force": 1.0,
    "temp": 1.0,
}
# fraction of a step by which times of equal steps, written with six digits, may be off
_EVEN = 1e-3


class NodalDirection(NamedTuple):
    """Unit, node and direction of a response or an excitation."""

    unit: str = ""
    node: int = 0
    direction: int = 0


class NodalFunction(NamedTuple):
    """Values over an abscissa of a response, per unit of excitation for frequency responses."""

    name: str
    kind: int
    abscissa: tuple[str, str, int]
    x: np.ndarray
    values: np.ndarray
    response: NodalDirection
    excitation: NodalDirection = NodalDirection()


def write_functions(
    path: str | os.PathLike[str], model: str, functions: Iterable[NodalFunction]
) -> None:
    """Write datasets 164 (SI units) and 58, one per function.

    Raises `InputError`, and `MachineError` without pyuff.
    """
    try:
        import pyuff
    except ImportError:
        raise MachineError(
            'to_uff: needs the package pyuff; install it: pip install "flexmbs[uff]"'
        ) from None
    with atomic_file(path) as draft:
        file = pyuff.UFF(str(draft))
        try:
            file.write_sets(
                [
                    {"type": 164, "temp_offset": 273.15, **_SI},
                    *(_dataset(model, each) for each in functions),
                ],
                "add",
            )
        except Exception as error:
            # pyuff does not pass on the reason
            raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None


def _dataset(model: str, function: NodalFunction) -> dict[str, Any]:
    """Dataset 58 of a universal file for a function over time or frequency."""
    name, unit, data_type = function.abscissa
    start, step = (
        float(f"{number:.5e}") for number in (function.x[0], function.x[1] - function.x[0])
    )
    even = np.abs(start + step * np.arange(len(function.x)) - function.x).max() <= _EVEN * step
    response, excitation = function.response, function.excitation
    numerator, denominator = _ascii(response.unit), _ascii(excitation.unit)
    return {
        "type": 58,
        "binary": 1,
        "id1": _ascii(function.name),
        "id2": _ascii(model),
        "func_type": function.kind,
        "rsp_node": response.node,
        "rsp_dir": response.direction,
        "ref_node": excitation.node,
        "ref_dir": excitation.direction,
        "x": function.x,
        "data": function.values,
        "abscissa_spacing": int(even),
        "abscissa_spec_data_type": data_type,
        "abscissa_axis_lab": name,
        "abscissa_axis_units_lab": unit,
        "ordinate_spec_data_type": DATA_TYPES.get(numerator, 0),
        "ordinate_axis_units_lab": numerator[:20] or "NONE",
        "orddenom_spec_data_type": DATA_TYPES.get(denominator, 0),
        "orddenom_axis_units_lab": denominator[:20] or "NONE",
        "z_axis_axis_units_lab": "NONE",
    }


def _ascii(text: str) -> str:
    """Text in the format's encoding: ASCII, one line of at most 80 characters."""
    plain = (
        text.replace("²", "2")
        .replace("³", "3")
        .replace("·", " ")
        .encode("ascii", "replace")
        .decode()
    )
    return " ".join(plain.split())[:80]
