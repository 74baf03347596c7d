"""Digest of everything a flexible body is made from, by which an unchanged part is not computed again."""

from __future__ import annotations

import glob
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import flexmbs
from flexmbs.errors import InputError
from flexmbs.flexible_body import FlexibleBodyData
from flexmbs.page.inputs import opened
from preprocess.mesh_include import included_files

if TYPE_CHECKING:
    from preprocess.part_file.part import Part

INPUTS = "digest of inputs"  # key of the provenance
BLOCK = 1 << 20
MADE = (".h5", ".html", ".toml")  # what is made of a part, and the part file itself


def input_digest(part: Part) -> str:
    """SHA-256 of the part file's keys and values, the bytes of every file it reads, and the program. Raises InputError."""
    digest = hashlib.sha256(program_digest().encode())
    digest.update(json.dumps(part.document.table, sort_keys=True, default=str).encode())
    beside = () if part.matrices is None else companions(Path(part.matrices.file))
    for path in (each for named in (*part.files, *beside) for each in (named, *included_files(named))):
        digest.update(f"\n{path.name}\n".encode())
        _update(digest, path)
    return digest.hexdigest()


def companions(path: Path) -> list[Path]:
    """Files of the same name beside a file of matrices, which importers find by themselves: masses, freedoms, nodes."""
    return sorted(each for each in path.parent.glob(f"{glob.escape(path.stem)}.*") if each.suffix.lower() not in MADE)


def program_digest() -> str:
    """Version of the program and SHA-256 of the sources of the preprocessor and of the flexible body."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(flexmbs.__version__.encode())
    for path in [*sorted((root / "preprocess").rglob("*.py")), *sorted((root / "flexmbs").glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_current(body: Path, part: Part) -> bool:
    """Whether the file holds a sound flexible body made from these inputs by this program."""
    if not body.is_file():
        return False
    try:
        stored = FlexibleBodyData.load(body).provenance.get(INPUTS)
    except InputError:
        return False
    return stored == input_digest(part)


def _update(digest: hashlib._Hash, path: Path) -> None:
    try:
        with opened(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
