"""Parser of standard input data: blocks, indices and sizes are checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from preprocess.formats.standard_input_data import (
    BLOCKS,
    NODE_BLOCKS,
    Sid,
    SidNode,
    TaylorSeries,
    shapes_of_blocks,
)
from preprocess.inputs.number_parsing import content
from preprocess.mesh_files import plain_numbers

# number of modes; guards against allocating memory for damaged files: the first-order terms of Gr
# have 9 n² numbers
MAX_MODES = 500
_ENTRY = re.compile(
    r"m([01n])\s*\(\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*(\d+)\s*)?(?:,\s*\d+\s*)?\)\s*=\s*(\S+)\s*$"
)
_KEY = re.compile(
    r"(mass|nelastq|ielastq\s*\([^)]*\)|order|nrow|ncol|nq|nqn|structure)\s*=\s*(.*?)\s*$",
    re.IGNORECASE,
)
_NODE = re.compile(r"new\s+node\s*=\s*(.+?)\s*$")
_ROWS = {"J": ((6, 1), (3, 3), (3, 1)), "Oe": ((0, 6),)}  # variants; 0: number of modes


class _Block:
    """Entries of one block."""

    def __init__(self, name: str, line: int) -> None:
        self.name, self.line = name, line
        self.size: dict[str, int] = {}
        self.entries: tuple[list[tuple[int, int, float]], list[tuple[int, int, int, float]]] = (
            [],
            [],
        )


def read_sid_text(path: Path) -> Sid:
    """Record of a SID text file.

    Raises InputError with the line for entries that are malformed, missing or out of range.
    """
    lines = (
        content(path, "standard input data of a flexible body")
        .decode("utf-8", errors="replace")
        .splitlines()
    )
    if not any(re.fullmatch(r"\s*new\s+modal\b.*", line) for line in lines):
        raise InputError(
            f"{path}: has no 'new modal'; it is not standard input data (SID) of a flexible body"
        )
    return _Text(path, lines).record()


class _Text:
    """Parser of the text."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        """Parser of the lines of a SID file."""
        self.path, self.lines = path, lines
        self.mass, self.n = np.nan, -1
        self.modes: list[str] = []
        self.swapped = False

    def fail(self, line: int, message: str) -> InputError:
        """Error at a line of the file."""
        return InputError(f"{self.path}:{line + 1}: {message}")

    def record(self) -> Sid:
        """Record of the whole file. Raises `InputError`."""
        nodes: list[tuple[str, dict[str, _Block]]] = []
        blocks: dict[str, _Block] = {}
        in_node = False
        for number, line in self._significant():
            name = line.split()[0]
            if match := _NODE.match(line):
                nodes.append((match.group(1), {}))
                in_node = True
            elif re.fullmatch(r"end\s+node", line):
                in_node = False
            elif line in (*BLOCKS, *NODE_BLOCKS, "sigma", "I", "md"):
                home = nodes[-1][1] if in_node else blocks
                block = self._block(number, {"I": "J", "md": "mdCM"}.get(line, line))
                if block.name in home:
                    raise self.fail(number, f"duplicate block {line}")
                home[block.name] = block
            elif match := _KEY.match(line):
                self._property(number, name.lower(), match.group(2))
        if self.n < 0 or not np.isfinite(self.mass):
            raise InputError(f"{self.path}: refmod lacks mass or nelastq")
        self.swapped = self._order_of_indices(nodes)
        missing = [
            name for name in ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ke") if name not in blocks
        ]
        if missing:
            raise InputError(f"{self.path}: has no block {', '.join(missing)}; it is truncated")
        return Sid(
            self.mass,
            tuple(self.modes),
            tuple(self._node(name, found) for name, found in nodes),
            {name: self._taylor(block) for name, block in blocks.items()},
            self.lines[0].partition(":")[2].strip(),
        )

    def _significant(self) -> Iterator[tuple[int, str]]:
        """Lines outside of blocks."""
        self.next = 0
        while self.next < len(self.lines):
            number = self.next
            self.next += 1
            if text := self.lines[number].strip():
                yield number, text

    def _property(self, number: int, key: str, value: str) -> None:
        """Set a property of the part: mass, number or name of modes."""
        if key == "mass":
            self.mass = self._float(number, value)
        elif key == "nelastq":
            self.n = self._int(number, value)
            if not 0 <= self.n <= MAX_MODES:
                raise self.fail(number, f"nelastq = {self.n}; 0 to {MAX_MODES} modes are supported")
        elif key.startswith("ielastq"):
            self.modes.append(value)

    def _block(self, start: int, name: str) -> _Block:
        """Block of a name with its sizes and entries. Raises `InputError`."""
        block = _Block(name, start)
        for number in range(start + 1, len(self.lines)):
            line = self.lines[number].strip()
            if match := _ENTRY.match(line):
                self._entry(block, number, match)
            elif line.startswith("end"):
                self.next = number + 1
                return block
            elif match := _KEY.match(line):
                block.size[match.group(1).lower()] = self._int(number, match.group(2))
            elif line:
                raise self.fail(number, f"{line[:40]!r} is not an entry of block {name}")
        raise self.fail(start, f"block {name} does not end; the file is truncated")

    def _entry(self, block: _Block, number: int, match: re.Match[str]) -> None:
        """Add an entry of order 0 or 1 to a block. Raises `InputError`."""
        order, i, j, k, text = match.groups()
        value = self._float(number, text)
        if order == "0" and k is None:
            block.entries[0].append((int(i), int(j), value))
        elif order == "1" and k is not None:
            block.entries[1].append((int(i), int(j), int(k), value))
        elif order != "n":
            raise self.fail(
                number, f"m{order} has {2 if k is None else 3} indices; m0 has 2, m1 has 3"
            )

    def _float(self, number: int, text: str) -> float:
        """Finite number of a field. Raises `InputError`."""
        try:
            value = plain_numbers.real(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise self.fail(number, f"{text[:30]!r} is not a number")
        return value

    def _int(self, number: int, text: str) -> int:
        """Integer of a field. Raises `InputError`."""
        if not re.fullmatch(r"[+-]?\d{1,9}", text):
            raise self.fail(number, f"{text[:30]!r} is not an integer")
        return int(text)

    def _order_of_indices(self, nodes: list[tuple[str, dict[str, _Block]]]) -> bool:
        """True if m1 is stored as (row, column, mode) instead of (row, mode, column).

        Detected from the node positions.
        """
        for _, found in nodes:
            entries = found["origin"].entries[1] if "origin" in found else []
            if any(k > 1 for _, _, k, _ in entries):
                return all(j == 1 for _, j, _, _ in entries)
        return False

    def _node(self, name: str, found: dict[str, _Block]) -> SidNode:
        """Node from its blocks. Raises `InputError` for missing ones."""
        missing = [part for part in ("origin", "phi") if part not in found]
        if missing:
            raise InputError(f"{self.path}: node {name} has no {', '.join(missing)}")
        none = TaylorSeries(np.zeros((3, self.n)))
        psi = self._taylor(found["psi"]) if "psi" in found else none
        axes = self._taylor(found["AP"]) if "AP" in found else TaylorSeries(np.eye(3))
        return SidNode(name, self._taylor(found["origin"]), self._taylor(found["phi"]), psi, axes)

    def _taylor(self, block: _Block) -> TaylorSeries:
        """Taylor series m0, m1 of a block."""
        rows, columns = self._shape(block)
        structure = block.size.get("structure", 3)
        m0 = (
            np.eye(rows, columns)
            if structure == 4 and not block.entries[0]
            else np.zeros((rows, columns))
        )
        for i, j, value in block.entries[0]:
            self._inside(block, (i, j), (rows, columns))
            m0[i - 1, j - 1] = value
        if (
            structure == 2
            and rows == columns
            and (not np.tril(m0, -1).any() or not np.triu(m0, 1).any())
        ):
            m0 = m0 + m0.T - np.diag(np.diag(m0))
        return TaylorSeries(m0, self._first_order(block, rows, columns))

    def _first_order(self, block: _Block, rows: int, columns: int) -> np.ndarray | None:
        """First-order array m1 of a block; None if it is missing."""
        if not block.entries[1] and block.size.get("order", 0) < 1:
            return None
        m1 = np.zeros((rows, self.n, columns))
        for i, j, k, value in block.entries[1]:
            index = (i, k, j) if self.swapped else (i, j, k)
            self._inside(block, index, (rows, self.n, columns))
            m1[index[0] - 1, index[1] - 1, index[2] - 1] = value
        return m1

    def _shape(self, block: _Block) -> tuple[int, int]:
        """Rows and columns: those stated by the block, if the format allows them."""
        standard = shapes_of_blocks(self.n)[block.name]
        stated = (block.size.get("nrow", standard[0]), block.size.get("ncol", standard[1]))
        if stated not in (standard, *_ROWS.get(block.name, ())):
            raise self.fail(
                block.line,
                f"block {block.name} is {stated[0]} × {stated[1]}; {self.n} modes need "
                f"{standard[0]} × {standard[1]}",
            )
        return stated

    def _inside(self, block: _Block, index: tuple[int, ...], shape: tuple[int, ...]) -> None:
        """Raise `InputError` for an index outside of a block."""
        if any(not 1 <= i <= size for i, size in zip(index, shape)):
            raise self.fail(
                block.line, f"block {block.name} has an entry {index} outside its size {shape}"
            )
