"""Conditions that describe one face of a CAD model, as texts for a part file and for Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.cad.faces import CadFace, Face

Array = NDArray[np.float64]


def described_faces(faces: Sequence[CadFace], nodes: Array) -> list[str]:
    """A line for each face, with conditions that describe it alone."""
    return [f"{each}: {{ {toml_text(selector(each, faces, nodes))} }}" for each in faces]


def selector(face: CadFace, faces: Sequence[CadFace], nodes: Array) -> Face:
    """Shortest conditions by which this face, or the surface that it is a part of, is found."""
    for conditions in _conditions(face):
        wanted = Face(**conditions)
        try:
            found = wanted.chosen(faces, nodes)
        except InputError:
            continue
        if face in found:
            return wanted
    return Face(number=face.number)


def toml_text(face: Face) -> str:
    """Conditions as in a table of a part file."""
    return ", ".join(f"{key} = {_toml(key, value)}" for key, value in face.conditions().items())


def python_text(face: Face) -> str:
    """Expression that makes the same description in Python."""
    return f"pp.{face}"


def _conditions(face: CadFace) -> Iterator[dict[str, Any]]:
    """Sets of conditions that may describe a face, the plainest first."""
    own, near = face.surface, tuple(round(float(x), 6) + 0.0 for x in face.centre)
    if face.name:
        yield {"name": face.name}
    match face.kind:
        case "cylinder" if face.is_hole:
            first: dict[str, Any] = {"hole": round(2.0 * own.radius, 9)}
        case "cylinder" | "sphere":
            first = {face.kind: round(own.radius, 9)}
        case "plane" | "cone":
            first = {face.kind: True}
        case _:
            return
    yield first
    yield first | {"near": near}


def _toml(key: str, value: Any) -> str:
    """Value in a part file; diameters and radii in mm."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(f'{x:g}' for x in value)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value) if isinstance(value, int) else f'"{1e3 * value:.6g} mm"'
