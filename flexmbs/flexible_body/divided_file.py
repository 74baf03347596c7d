"""HDF5 file of a divided body: one group per piece, in the format of a flexible-body file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import h5py

from flexmbs.errors import InputError
from flexmbs.files.hdf5 import attributes, read_whole, set_text, write_atomically
from flexmbs.flexible_body.file import DIVIDED, GENERATOR, body, fill
from flexmbs.flexible_body.record import FlexibleBodyData

if TYPE_CHECKING:
    from flexmbs.flexible_body.divided import DividedBodyData

MOST = 100  # largest number of pieces that is read
ORIGIN = "flexmbs preprocess"


def write(data: DividedBodyData, path: str | os.PathLike[str]) -> None:
    """Write ``data`` to the file ``path``, atomically. Raises MachineError."""

    def fill_file(file: h5py.File) -> None:
        """Write the header and one group for each piece into an open file."""
        for key, text in {"format": DIVIDED, "name": data.name, "generator": GENERATOR}.items():
            set_text(file, key, text)
        for k, piece in enumerate(data.pieces, 1):
            fill(file.create_group(str(k), track_order=True), piece)

    write_atomically(path, fill_file)


def read(path: str | os.PathLike[str], make: type[DividedBodyData]) -> DividedBodyData:
    """Body in the file ``path``. Raises InputError naming the file and the item."""

    def whole(file: h5py.File) -> DividedBodyData:
        """Divided body from an open file."""
        groups = _groups(file)
        return make(
            str(attributes(file)["name"]), tuple(_piece(file, k) for k in range(1, len(groups) + 1))
        )

    return read_whole(path, whole, ORIGIN)


def has_pieces(path: str | os.PathLike[str]) -> bool:
    """True if the file ``path`` contains a divided body.

    Raises InputError if it is not a flexible-body file.
    """
    return read_whole(
        path, lambda file: attributes(file).get("format") == DIVIDED, ORIGIN, verified=False
    )


def _groups(file: h5py.File) -> list[h5py.Group]:
    """The groups of the pieces. Raises InputError."""
    header = attributes(file)
    if header.get("format") != DIVIDED:
        raise InputError(
            f"format: is {header.get('format', 'missing')!r}; a divided body has {DIVIDED!r}"
        )
    wanted = [str(k) for k in range(1, len(file) + 1)]
    if sorted(file) != sorted(wanted) or not 1 <= len(wanted) <= MOST or "name" not in header:
        raise InputError(
            f"{', '.join(list(file)[:5])}: are not the pieces 1, 2, … of a divided body; "
            "write the file again"
        )
    links = [file.get(key, getlink=True) for key in wanted]
    if not all(
        isinstance(link, h5py.HardLink) and isinstance(file[key], h5py.Group)
        for key, link in zip(wanted, links)
    ):
        raise InputError("a piece is not a group of the file itself; write the file again")
    return [file[key] for key in wanted]


def _piece(file: h5py.File, number: int) -> FlexibleBodyData:
    """Piece of a divided body from its group. Raises `InputError` naming the piece."""
    try:
        return body(file[str(number)], FlexibleBodyData)
    except InputError as error:
        raise InputError(*(f"piece {number}: {problem}" for problem in error.problems)) from None
