"""Solutions as MAT-files for MATLAB and Octave."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.exports.labelled import labelled, labels
from flexmbs.files.file_types import check_ending
from flexmbs.files.output import atomic_file

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


def write_mat(solution: SolutionData, path: str | os.PathLike[str]) -> None:
    """Write a MAT-file (version 5) of a solution.

    Contains ``t`` (nt, 1), the arrays of `flexmbs.exports.labelled` under their names, and
    structures ``names`` (cell arrays of texts for every dimension), ``units`` (of every array; by
    index for joints and drives) and ``dims``. Raises `InputError` if a file of another type exists,
    `MachineError`.
    """
    from scipy.io import savemat

    check_ending(path, ".mat")
    arrays, known = labelled(solution), labels(solution)
    content: dict[str, Any] = {
        "t": solution.t[:, None],
        **{name: each.values for name, each in arrays.items()},
    }
    content["model"] = solution.model.name
    content["names"] = {dim: _cells(values) for dim, values in known.coordinates.items()}
    units: dict[str, Any] = {
        "t": "s",
        **{name: each.unit for name, each in arrays.items() if each.unit},
    }
    content["units"] = units | {dim: _cells(values) for dim, values in known.units.items()}
    content["dims"] = {name: _cells(each.dims) for name, each in arrays.items()}
    with atomic_file(path) as draft, open(draft, "wb") as file:
        savemat(file, content, long_field_names=True, do_compression=True)


def _cells(texts: Any) -> np.ndarray:
    """Row of texts, a cell array in MATLAB."""
    cells = np.empty((1, len(texts)), dtype=object)
    cells[0, :] = [str(text) for text in texts]
    return cells
