"""Record of everything from which the numbers in a folder follow.

They are continued only from the same model, options and versions.
"""

import functools
import hashlib
import json
import pathlib
from typing import Any, NamedTuple

import flexmbs
from flexmbs.errors import InputError, shown
from flexmbs.files.inputs import read_bytes
from flexmbs.model.bodies import RigidBody
from flexmbs.model.model import ModelData
from flexmbs.model.shapes import MeshShape
from flexmbs.system.trajectory import provenance

# in a record: those that functions name; ones that appear later may be what they write
FILES = "files"
WHILE = ("date", "machine")  # of the provenance: no versions
MOST = 10_000_000  # bytes of the record


def versions() -> dict[str, str]:
    """Versions of programs and packages, and the digest of the sources of flexmbs."""
    return {key: text for key, text in provenance().items() if key not in WHILE} | {
        "sources": sources()
    }


@functools.cache  # the program that runs does not change
def sources() -> str:
    """Digest of the sources of flexmbs and preprocess."""
    digest, root = hashlib.sha256(), pathlib.Path(flexmbs.__file__).parents[1]
    for path in sorted(
        path for package in ("flexmbs", "preprocess") for path in (root / package).rglob("*.py")
    ):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def mesh_digests(model: ModelData) -> dict[str, str]:
    """Digests of the files of meshes from which masses follow."""
    return {
        f"mesh {k} of body '{name}'": shape.digest
        for name, body in model.bodies.items()
        if isinstance(body, RigidBody) and body.inertia is None
        for k, shape in enumerate(body.shapes)
        if isinstance(shape, MeshShape)
    }


class FingerprintDifference(NamedTuple):
    """Difference to a recorded fingerprint: "options.t_end was 0.5, is 1.0"."""

    name: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {shown(self.was)}, is {shown(self.now)}"


def require_same(path: pathlib.Path, mine: dict[str, Any], form: str, what: str) -> None:
    """Raise `InputError` that lists all differences from a stored record.

    The record has this format.
    """
    problems = [f"{path}: {each}" for each in differences(path, mine, form, what)]
    if problems:
        problems[-1] += (
            f"; resume with what the {what} began with, or with --force (force=True), or "
            "choose another folder"
        )
        raise InputError(*problems)


def differences(
    path: pathlib.Path, mine: dict[str, Any], form: str, what: str
) -> list[FingerprintDifference]:
    """Differences between a record and the stored one.

    Raises `InputError` where there is none of this format.
    """
    try:
        record = json.loads(read_bytes(path, MOST))
        there = dict(record["of"])
        if record["format"] != form:
            raise InputError(
                f"{path}: has format {shown(record['format'])}; this version reads {form!r}"
            )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: is not a record of a {what}; choose another folder") from None
    found = []
    for key in dict.fromkeys((*there, *mine)):
        one, other = there.get(key), mine.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            names = one if key == FILES else dict.fromkeys((*one, *other))
            pairs = [(f"{key}.{name}", one.get(name), other.get(name)) for name in names]
        else:
            pairs = [(key, one, other)]
        found += [FingerprintDifference(*pair) for pair in pairs if pair[1] != pair[2]]
    return found
