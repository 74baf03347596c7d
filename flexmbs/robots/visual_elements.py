"""Visual elements of the links of URDF, MJCF and SDF files, with file names; no file is read."""

from pathlib import Path
from typing import NamedTuple

from flexmbs.model.frames import Frame


class Visual(NamedTuple):
    """Visual of a link.

    kind "mesh" with ``file``, enlarged by ``scale``, or a primitive with ``size`` in m: "box" (x,
    y, z), "cylinder" (radius, length along z), "sphere" (radius,), "capsule" (radius, length
    without its ends), "ellipsoid" (three radii), centred at ``origin``, the pose in the link's
    frame. colour: (red, green, blue, alpha), 0 to 1, or None. ``Robot.pose(q, visual.link)`` gives
    the pose of the link's frame.

    """

    link: str
    kind: str
    file: Path | None
    size: tuple[float, ...]
    scale: tuple[float, ...]
    origin: Frame
    colour: tuple[float, ...] | None
