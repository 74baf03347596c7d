"""Location of the interfaces of a flexible body on its surface."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flexmbs.flexible_body.components import FlexibleFrame, FloatArray, IntArray, Surface
from flexmbs.flexible_body.free_body import elastic_frame_motion
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.page.solids import MarkedFrame
from preprocess.fe.interfaces import BoundInterface
from preprocess.mesh.rigid_motion import rigid_motion

# deviation from the frame's rigid motion relative to the largest displacement, above the accuracy
# of bodies in files with eight digits
RIGID = 1e-7


def interface_places(
    data: FlexibleBodyData, interfaces: Mapping[str, BoundInterface]
) -> dict[str, MarkedFrame]:
    """Frames of a body, each with the surface nodes that follow it.

    Those of ``interfaces``, or the nodes that follow the frame in every shape.
    """
    assert data.surface is not None
    places = {}
    for name, frame in data.frames.items():
        nodes = (
            interfaces[name].nodes if name in interfaces else _carried_nodes(data.surface, frame)
        )
        places[name] = MarkedFrame(nodes, frame.x, frame.R)
    return places


def _carried_nodes(surface: Surface, frame: FlexibleFrame) -> IntArray:
    """Rows of the nodes that follow the frame of a rigid interface, ``φ_i = φ + ψ × (x_i − x)``."""
    if frame.kind != "rigid" or not surface.phi.size:
        return np.zeros(0, np.int64)
    carried: FloatArray = rigid_motion(surface.nodes - frame.x) @ elastic_frame_motion(frame)
    gap = np.abs(surface.phi - carried).max(axis=(1, 2))
    return np.flatnonzero(gap < RIGID * np.abs(surface.phi).max()).astype(np.int64)
