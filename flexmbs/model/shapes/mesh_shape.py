"""Shape from a file of triangles."""

import dataclasses
import functools
import hashlib
import numbers
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BeforeValidator

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.files.inputs import read_bytes
from flexmbs.files.surface_files import read_surface
from flexmbs.model.fields import Vector, nonzero, sized
from flexmbs.model.shapes.collada import ColouredMesh, read_collada
from flexmbs.model.shapes.mass_properties import MassProperties
from flexmbs.model.shapes.shape import LARGEST, SIDES, Shape
from flexmbs.model.shapes.triangles import (
    ClosedSurface,
    Triangles,
    closed_surface,
    volume_integrals,
)

FILES = 32  # in the cache: more than the parts of a machine that are used at once


class _Stamp(NamedTuple):
    """File and the digest of its contents."""

    path: str
    digest: str


def _file(value: object) -> str:
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise ValueError(
            f"must be the path of an STL, OBJ, PLY, OFF or DAE file, not {shown(value)}"
        )
    return str(value)


def _scale(value: object) -> Vector:
    """Three factors from one or three."""
    if isinstance(value, numbers.Real):
        return (nonzero(value),) * 3
    return tuple(nonzero(each) for each in sized(3)(value))


class MeshShape(Shape, kind="mesh"):
    """Shape with the triangles of a file; its volume is that inside its closed surface.

    Triangles that are reversed relative to their neighbours are turned, with a warning of
    `Model.check`. Mass and inertia of an open surface are an error.

    Parameters
    ----------
    file : path
        STL, OBJ, PLY, OFF or COLLADA (DAE) file.
    scale : float or 3 floats
        Factors of its coordinates along x, y, z; 0.001 for a file in mm. Negative ones mirror it.

    Examples
    --------
    >>> import flexmbs as fm
    >>> from pathlib import Path
    >>> corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    >>> faces = ["3 0 2 1", "3 0 1 3", "3 0 3 2", "3 1 2 3"]
    >>> _ = Path("wedge.off").write_text("\\n".join(["OFF", "4 4 6", *corners, *faces]))
    >>> wedge = fm.RigidBody("wedge", shapes=[fm.MeshShape("wedge.off", scale=0.1)], density=6000)
    >>> round(wedge.mass_properties.mass, 9)  # ρ l³/6
    1.0
    """

    file: Annotated[str, BeforeValidator(_file)] = dataclasses.field(kw_only=False)
    scale: Annotated[Any, BeforeValidator(_scale)] = 1.0

    def volume(self) -> MassProperties:
        surface = self._closed()
        return volume_integrals(surface.points, surface.triangles)

    def triangles(self, sides: int = SIDES) -> Triangles:
        """Distinct points and triangles of the file with its scale. Raises `InputError`."""
        return _joined(self._read())

    def meshes(self) -> list[ColouredMesh]:
        return [
            self._placed(each._replace(colour=each.colour or self.colour)) for each in self._read()
        ]

    def notes(self) -> list[str]:
        turned = self._closed().turned
        if not turned:
            return []
        return [f"{turned} triangles of '{self.file}' are turned, their normals point inwards"]

    def _closed(self) -> ClosedSurface:
        try:
            return _closed_surface(self._stamp(), self.scale)
        except InputError as error:
            raise InputError(f"'{self.file}' {error}") from None

    def _read(self) -> list[ColouredMesh]:
        """Triangles of the file with its scale, per colour. Raises `InputError`."""
        try:
            return _scaled(self._stamp(), self.scale)
        except InputError as error:
            raise InputError(f"'{self.file}' {error}") from None

    @property
    def digest(self) -> str:
        """SHA-256 of the contents of the file. Raises `InputError`."""
        return self._stamp().digest

    def _stamp(self) -> _Stamp:
        """State of the file. Raises `InputError` if it cannot be read."""
        path = Path(self.file)
        try:
            digest = hashlib.sha256(read_bytes(path)).hexdigest()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}") from None
        return _Stamp(str(path.resolve()), digest)

    def _compared(self) -> tuple[Any, ...]:
        """Values of all fields; the file by its resolved path, as model files store it."""
        resolved = str(Path(self.file).resolve())
        values = zip(dataclasses.fields(self), super()._compared(), strict=True)
        return tuple(resolved if field.name == "file" else value for field, value in values)


@functools.lru_cache(FILES)
def _read_file(stamp: _Stamp) -> list[ColouredMesh]:
    path = Path(stamp.path)
    try:
        if path.suffix.lower() == ".dae":
            return read_collada(path)
        return [ColouredMesh(*read_surface(path), None)]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None


def _scaled(stamp: _Stamp, scale: Vector) -> list[ColouredMesh]:
    found = [
        each._replace(
            points=each.points * np.array(scale),
            triangles=each.triangles[:, :: -1 if np.prod(scale) < 0.0 else 1],
        )
        for each in _read_file(stamp)
    ]
    if not all((np.abs(each.points) <= LARGEST).all() for each in found):
        raise InputError(f"is larger than {LARGEST:g} m; correct its scale")
    return found


def _joined(meshes: list[ColouredMesh]) -> Triangles:
    """One surface of distinct points."""
    starts = np.cumsum([0, *(len(each.points) for each in meshes)])
    points, same = np.unique(
        np.concatenate([each.points for each in meshes]), axis=0, return_inverse=True
    )
    rows = [each.triangles + start for each, start in zip(meshes, starts)]
    return Triangles(points, same.reshape(-1)[np.concatenate(rows)])


@functools.lru_cache(FILES)
def _closed_surface(stamp: _Stamp, scale: Vector) -> ClosedSurface:
    return closed_surface(*_joined(_scaled(stamp, scale)))
