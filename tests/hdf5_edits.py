"""HDF5 files with open_unverified content, for tests of readers."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import h5py

from flexmbs.files.hdf5 import CHECKSUM, items


@contextlib.contextmanager
def open_unverified(path: Path) -> Iterator[h5py.File]:
    """The file, open for changes and without checksums, which would reveal them before the reader
    looks at the content.
    """
    with h5py.File(path, "r+") as file:
        for item in [file, *(item for _, item in items(file))]:
            item.attrs.pop(CHECKSUM, None)
        yield file
