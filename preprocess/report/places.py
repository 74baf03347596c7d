"""Where the interfaces of a flexible body are on its surface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body import FlexibleBodyData, FlexibleFrame, FloatArray, IntArray, Surface
from flexmbs.page.solids import Place
from preprocess.interfaces import rigid_motion

if TYPE_CHECKING:
    from preprocess.interfaces import BoundInterface

RIGID = 1e-7  # of the largest displacement of the shapes


def interface_places(data: FlexibleBodyData, interfaces: Mapping[str, BoundInterface]) -> dict[str, Place]:
    """The frames with the nodes that belong to them: those of ``interfaces``, or those that every shape moves with the frame."""
    assert data.surface is not None
    places = {}
    for name, frame in data.frames.items():
        nodes = interfaces[name].nodes if name in interfaces else _carried_nodes(data.surface, frame)
        places[name] = Place(nodes, frame.x, frame.R)
    return places


def _carried_nodes(surface: Surface, frame: FlexibleFrame) -> IntArray:
    """Rows of the nodes that follow the frame of a rigid interface as a rigid body, ``φ_i = φ + ψ × (x_i − x)``."""
    if frame.kind != "rigid" or not surface.phi.size:
        return np.zeros(0, np.int64)
    carried: FloatArray = rigid_motion(surface.nodes - frame.x) @ np.vstack([frame.phi, frame.psi])
    gap = np.abs(surface.phi - carried).max(axis=(1, 2))
    return np.flatnonzero(gap < RIGID * np.abs(surface.phi).max()).astype(np.int64)
