"""Nodes of an Ansys archive (.cdb)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.inputs.number_parsing import content
from preprocess.mesh_files import plain_numbers

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_FORMAT = re.compile(
    r"\(\s*(\d{1,3})i(\d{1,3})\s*,\s*\d{1,3}[eg](\d{1,3})\.\d+(?:e\d+)?\s*\)", re.IGNORECASE
)


def read_archive_nodes(path: Path) -> tuple[Indices, Array]:
    """Numbers (N,) and positions (N, 3) in the NBLOCK of an archive.

    Raises InputError with the line.
    """
    lines = (
        content(path, "an archive of Ansys (CDWRITE)")
        .decode("ascii", errors="replace")
        .splitlines()
    )
    start = next((n for n, line in enumerate(lines) if line.upper().startswith("NBLOCK")), None)
    match = (
        _FORMAT.match(lines[start + 1].strip())
        if start is not None and start + 1 < len(lines)
        else None
    )
    if start is None or match is None:
        raise InputError(
            f"{path}: has no NBLOCK with its format line; write the archive with CDWRITE,DB"
        )
    integers, wide, real = (int(size) for size in match.groups())
    if not (0 < integers < 20 and 0 < wide < 40 and 0 < real < 60):
        raise InputError(
            f"{path}:{start + 2}: {lines[start + 1].strip()[:40]!r} is not a node format"
        )
    ids, positions = [], []
    for number in range(start + 2, len(lines)):
        line = lines[number].rstrip()
        if line.startswith(("N,", "-1")) or line.strip() == "-1":
            break
        fields = [
            line[integers * wide + real * k : integers * wide + real * (k + 1)].strip() or "0"
            for k in range(3)
        ]
        try:
            ids.append(int(line[:wide]))
            positions.append([plain_numbers.real(field) for field in fields])
        except ValueError:
            raise InputError(f"{path}:{number + 1}: {line[:50]!r} is not a node") from None
    x = np.array(positions).reshape(-1, 3)
    if not len(x) or not np.isfinite(x).all():
        raise InputError(f"{path}: NBLOCK has no nodes, or positions that are not finite")
    return np.array(ids, dtype=np.int64), x
