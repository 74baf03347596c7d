"""Visuals of links as solids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.model.shapes import MeshShape, Shape
from flexmbs.player.solids import Solid
from flexmbs.robots.visual_elements import Visual
from flexmbs.scene.shape_solids import solids_of_shape


def solids_of(
    model: ModelData, visuals: tuple[Visual, ...], frames: Mapping[str, FrameRef]
) -> tuple[list[Solid], list[str]]:
    """(solids in the axes of the bodies of the links, notes on visuals that cannot be shown)."""
    found: list[Solid] = []
    notes: list[str] = []
    for visual in visuals:
        ref = frames.get(visual.link) or FrameRef(visual.link)
        place = _place(model, ref)
        R, o = np.array(place.rotation), np.array(place.position)
        try:
            _require_file(visual.shape)
            for solid in solids_of_shape(visual.shape, ref.body):
                found.append(solid._replace(vertices=solid.vertices @ R.T + o))
        except (InputError, OSError) as error:
            notes.append(f"visual of link {visual.link} is not shown: {error}")
    return found, notes


def _place(model: ModelData, ref: FrameRef) -> Frame:
    """Frame of a link on the model body that carries it."""
    if not ref.frame:
        return Frame()
    frames = model.frames if ref.body == GROUND else model.bodies[ref.body].frames  # type: ignore[attr-defined]
    return frames[ref.frame]  # type: ignore[no-any-return]


def _require_file(shape: Shape) -> None:
    """Raise InputError, with the remedy of robot files, if the file of a mesh is missing."""
    if isinstance(shape, MeshShape) and not Path(shape.file).exists():
        remedy = (
            "copy it there, or give the folder of its package by package_path= or ROS_PACKAGE_PATH"
        )
        raise InputError(f"no file '{shape.file}'; {remedy}")
