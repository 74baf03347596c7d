"""Result files of CalculiX (.frd, ASCII): nodes, elements, modes.

Source: Wittig, CalculiX GraphiX manual, section "Result Format".
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.inputs.number_parsing import content
from preprocess.mesh_files import plain_numbers

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_TYPES = {1: "hex8", 2: "wedge6", 3: "tet4", 4: "hex20", 5: "wedge15", 6: "tet10"}
_COUNTS = {1: 8, 2: 6, 3: 4, 4: 20, 5: 15, 6: 10}
# The file lists the midpoints of the vertical edges before those of the upper face.
_ORDER = {
    4: (*range(12), *range(16, 20), *range(12, 16)),
    5: (*range(9), *range(12, 15), *range(9, 12)),
}
ACCURACY = 1e-5  # relative accuracy of positions, which have six digits


class FrdMode(NamedTuple):
    """Displacement field.

    frequency [cycles per unit of time] and values (N, 3) in the order of the nodes.
    """

    frequency: float
    displacement: Array


class FrdResult(NamedTuple):
    """Content of a result file.

    Node numbers (N,), positions (N, 3), node indices by element type in VTK order, displacement
    fields.
    """

    ids: Indices
    positions: Array
    elements: dict[str, Indices]
    modes: tuple[FrdMode, ...]


def read_frd(path: Path) -> FrdResult:
    """Content of an ASCII .frd file. Raises InputError naming the line."""
    lines = content(path, "a CalculiX result file").decode("ascii", errors="replace").splitlines()
    ids, positions = np.zeros(0, np.int64), np.zeros((0, 3))
    cells: dict[str, list[list[int]]] = {}
    modes = []
    frequency, number = 0.0, 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("    2C"):
            number, labels, positions = _values(path, lines, number + 1, 3)
            ids = labels
        elif line.startswith("    3C"):
            number = _elements(path, lines, number + 1, cells)
        elif line.startswith("  100C"):
            frequency = _number(path, number, line[12:24])
        elif line.startswith(" -4") and line[3:12].strip() == "DISP":
            number, labels, field = _values(path, lines, number + 1, 3)
            modes.append(FrdMode(frequency, _ordered(path, ids, labels, field)))
        number += 1
    if not len(ids):
        raise InputError(
            f"{path}: has no nodes (block 2C); it is not a CalculiX result file or has no results"
        )
    index = {int(node): n for n, node in enumerate(ids)}
    return FrdResult(
        ids,
        positions,
        {kind: _connectivity(path, rows, index) for kind, rows in cells.items()},
        tuple(modes),
    )


def _values(path: Path, lines: list[str], start: int, width: int) -> tuple[int, Indices, Array]:
    """Lines " -1 node v v v" up to " -3", in columns of 3, 10 and 12 characters.

    Returns last line, nodes, values.
    """
    labels, values = [], []
    for number in range(start, len(lines)):
        line = lines[number]
        if line.startswith(" -1"):
            labels.append(int(_number(path, number, line[3:13])))
            values.append(
                [_number(path, number, line[13 + 12 * k : 25 + 12 * k]) for k in range(width)]
            )
        elif line.startswith(" -3"):
            return number, np.array(labels, np.int64), np.array(values).reshape(-1, width)
        elif not line.startswith(" -5"):
            raise InputError(
                f"{path}:{number + 1}: {line[:30]!r} is not supported; write the results as ASCII"
            )
    raise InputError(f"{path}: ends within the block starting at line {start}; it is truncated")


def _elements(path: Path, lines: list[str], start: int, cells: dict[str, list[list[int]]]) -> int:
    """Read the elements of a block 3C into ``cells``, node numbers in VTK order.

    Returns the block's last line.
    """
    kind = 0
    nodes: list[int] = []
    for number in range(start, len(lines)):
        line = lines[number]
        if line.startswith(" -1"):
            kind, nodes = int(_number(path, number, line[13:18])), []
        elif line.startswith(" -2") and kind in _TYPES:
            nodes += [
                int(_number(path, number, line[k : k + 10]))
                for k in range(3, len(line.rstrip()), 10)
            ]
            if len(nodes) == _COUNTS[kind]:
                order = _ORDER.get(kind, range(len(nodes)))
                cells.setdefault(_TYPES[kind], []).append([nodes[k] for k in order])
            elif len(nodes) > _COUNTS[kind]:
                raise InputError(
                    f"{path}:{number + 1}: an element has {len(nodes)} nodes; its type "
                    f"has {_COUNTS[kind]}"
                )
        elif line.startswith(" -3"):
            return number
    raise InputError(f"{path}: ends within the elements starting at line {start}; it is truncated")


def _number(path: Path, line: int, text: str) -> float:
    """Finite number of a field. Raises `InputError`."""
    try:
        value = plain_numbers.real(text)
    except ValueError:
        value = np.nan
    if not abs(value) < 1e300:
        raise InputError(
            f"{path}:{line + 1}: {text.strip()[:20]!r} is not a number; write the results as ASCII"
        )
    return value


def _ordered(path: Path, ids: Indices, labels: Indices, field: Array) -> Array:
    """Field in the order of ``ids``; zero at nodes not listed."""
    index = {int(node): n for n, node in enumerate(ids)}
    ordered = np.zeros((len(ids), 3))
    known = [(index[int(node)], n) for n, node in enumerate(labels) if int(node) in index]
    if len(known) != len(labels):
        raise InputError(f"{path}: displacements refer to nodes that the file does not define")
    if known:
        at, rows = np.array(known).T
        ordered[at] = field[rows]
    return ordered


def _connectivity(path: Path, rows: list[list[int]], index: dict[int, int]) -> Indices:
    """Node rows of elements given by node numbers. Raises `InputError`."""
    try:
        return np.array([[index[node] for node in row] for row in rows], dtype=np.int64)
    except KeyError as error:
        raise InputError(
            f"{path}: an element refers to node {error.args[0]}, which the file does not define"
        ) from None


def known_elements(frd: FrdResult) -> dict[str, Indices]:
    """Elements of an .frd file that have supported types, by type."""
    return {kind: rows for kind, rows in frd.elements.items() if kind in ELEMENTS}
