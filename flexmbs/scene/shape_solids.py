"""Solids of the shapes of a model, for pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.frames import GROUND
from flexmbs.model.shapes.shape import LARGEST
from flexmbs.player.solids import Solid, thinned

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData
    from flexmbs.model.shapes import Shape

# triangles per shape, and the least number for each of its colours
MOST_TRIANGLES, FEWEST = 6000, 60


def shape_solids(model: ModelData, given: Sequence[Solid] = ()) -> tuple[list[Solid], list[str]]:
    """Given solids and those of the shapes, and notes on shapes that cannot be drawn.

    Given solids replace the shapes of a body; on the ground, both are drawn.
    """
    found, notes = list(given), []
    taken = {each.body for each in given} - {GROUND}
    for body, shapes in [(GROUND, model.shapes)] + [
        (name, each.shapes) for name, each in model.bodies.items() if name not in taken
    ]:
        for k, shape in enumerate(shapes):
            try:
                found += solids_of_shape(shape, body)
            except (InputError, OSError) as error:
                owner = "" if body == GROUND else f"bodies.{body}."
                notes.append(f"{owner}shapes.{k} is not shown: {error}")
    return found, notes


def solids_of_shape(shape: Shape, body: str) -> Iterator[Solid]:
    """Solids of a shape, one per colour, with a limited number of triangles. Raises InputError."""
    meshes = shape.meshes()
    total = sum(len(each.triangles) for each in meshes)
    if not all((np.abs(each.points) <= LARGEST).all() for each in meshes):
        raise InputError(f"it is larger than {LARGEST:g} m; correct its size, scale or position")
    for points, triangles, colour in meshes:
        most = max(MOST_TRIANGLES * len(triangles) // total, FEWEST)
        rows, few, _ = thinned(points, triangles, most)
        if len(few):
            yield Solid(body, points[rows], few, colour)
