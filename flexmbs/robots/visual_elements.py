"""Visual elements of the links of URDF, MJCF and SDF files; no file of a mesh is read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.model.frames import Frame
from flexmbs.model.shapes import Shape


class Visual(NamedTuple):
    """Shape of a link in the frame of the link.

    ``Robot.pose(q, visual.link)`` gives the pose of the link's frame.
    """

    link: str
    shape: Shape


def visual_of(
    link: str,
    kind: str,
    values: Mapping[str, Any],
    place: Frame,
    colour: Sequence[float] | None,
    note: Callable[[str], None],
) -> Visual | None:
    """Visual with a shape of a kind; a note and None for values that a shape cannot have."""
    try:
        make: Any = Shape.kinds[kind]
        shape: Shape = make(
            **values,
            position=place.position,
            rotation=place.rotation,
            colour=None if colour is None else np.clip(colour, 0.0, 1.0),
        )
    except InputError as error:
        note(f"visual of link {link}: {error}")
        return None
    return Visual(link, shape)
