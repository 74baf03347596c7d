"""Digest of the inputs of a flexible body, to detect an unchanged part."""

from __future__ import annotations

import functools
import glob
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import flexmbs
from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular
from flexmbs.flexible_body.divided import load_body
from preprocess.mesh_files.readers import included_files

INPUTS = "digest of inputs"  # key of the provenance
BLOCK = 1 << 20  # bytes read and hashed at a time, 1 MB
MADE = (".h5", ".html", ".toml")  # outputs, and the part file itself


def input_digest(
    table: Mapping[str, Any], files: Iterable[Path], allow_outside: bool = False
) -> str:
    """SHA-256 of all inputs of a part file.

    Keys and values, the bytes of the files it reads with their includes, and the program. Raises
    InputError.
    """
    digest = hashlib.sha256(program_digest().encode())
    digest.update(json.dumps(table, sort_keys=True, default=str).encode())
    for path in (
        each for named in files for each in (named, *included_files(named, allow_outside))
    ):
        digest.update(f"\n{path.name}\n".encode())
        _update(digest, path)
    return digest.hexdigest()


def companions(path: Path) -> list[Path]:
    """Files with the name of a matrix file that importers find in its folder.

    Masses, degrees of freedom, nodes.
    """
    return sorted(
        each
        for each in path.parent.glob(f"{glob.escape(path.stem)}.*")
        if each.suffix.lower() not in MADE
    )


@functools.cache  # the program that runs does not change
def program_digest() -> str:
    """Version of the program and SHA-256 of the sources that determine a flexible body.

    These are the sources of the preprocessor and of the flexible body.
    """
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(flexmbs.__version__.encode())
    for path in program_sources(root):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def program_sources(root: Path) -> list[Path]:
    """Source files on which a body depends, in the folder ``root``."""
    shared = root / "flexmbs"
    found = (
        (root / "preprocess").rglob("*.py"),
        (root / "preprocess").rglob("*.toml"),
        (shared / "flexible_body").glob("*.py"),
        shared.glob("*.py"),
    )
    return [path for each in found for path in sorted(each)]


def stored_digest(body: Path) -> str | None:
    """Digest of the inputs of a flexible-body file; None without a valid body."""
    if not body.is_file():
        return None
    try:
        return str(load_body(body).provenance.get(INPUTS, ""))
    except InputError:
        return None


def _update(digest: hashlib._Hash, path: Path) -> None:
    """Add the content of a file to a digest. Raises `InputError`."""
    try:
        with open_regular(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
