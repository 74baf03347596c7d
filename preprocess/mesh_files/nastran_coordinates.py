"""Coordinate systems of Nastran bulk data: rectangular, cylindrical and spherical, by three points (CORD2R, CORD2C, CORD2S)."""

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.nastran_cards import Card, integer_field, real_field

Array = NDArray[np.float64]
Frames = dict[int, tuple[Array, Array]]


def basic_position(system: int, given: Array, card: Card, systems: dict[int, Card], located: Frames, depth: int = 0) -> Array:
    """Position in the basic system from coordinates in a rectangular, cylindrical or spherical system (angles in degrees)."""
    if system == 0:
        return given
    if system not in systems or depth > len(systems):
        why = "refers to itself" if system in systems else "does not exist as CORD2R, CORD2C or CORD2S"
        raise InputError(f"{card.line}: {card.name}: local coordinate system {system} {why}; export in the basic system")
    own = systems[system]
    if system not in located:
        points = [np.array([real_field(own, 2 + 3 * k + axis) for axis in range(3)]) for k in range(3)]
        A, B, C = (basic_position(integer_field(own, 1, 0), point, own, systems, located, depth + 1) for point in points)
        located[system] = A, _axes(own, B - A, C - A)
    origin, axes = located[system]
    return np.asarray(origin + axes @ _rectangular(own.name, given))


def _axes(card: Card, z: Array, plane: Array) -> Array:
    """Axes (columns): z, and x in the half plane."""
    y = np.cross(z, plane)
    if not (np.linalg.norm(z) > 0 and np.linalg.norm(y) > 0):
        raise InputError(f"{card.line}: {card.name} {integer_field(card, 0)}: its three points are collinear")
    z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
    return np.column_stack([np.cross(y, z), y, z])


def _rectangular(kind: str, given: Array) -> Array:
    r, first, second = given
    theta = np.radians(first)
    if kind == "CORD2C":
        return np.array([r * np.cos(theta), r * np.sin(theta), second])
    if kind == "CORD2S":
        phi = np.radians(second)
        return r * np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    return given
