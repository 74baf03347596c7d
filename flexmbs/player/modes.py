"""Mode shapes of a flexible body for the player.

Displacement relative to its maximum, and the associated stress.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import von_mises
from flexmbs.page.drawings import deformed_drawing, side_by_side
from flexmbs.page.html import Picture, number
from flexmbs.player.arrays import Buffer
from flexmbs.player.fields import FINE, UNKNOWN, fractions
from flexmbs.player.surface import PageSurface, has_triangles

FloatArray = NDArray[np.float64]

FEWEST, MOST, MOST_VALUES = (
    6,
    24,
    250_000,
)  # least and largest number of modes, and largest number of modes times vertices, of one body
STEP = 1e-3  # resolution relative to the largest displacement
MILLIMETRE, PASCALS = 1e-3, 1e-6


def modes_shown(data: FlexibleBodyData, skin: PageSurface) -> int:
    """Number of the lowest modes that the player shows."""
    return min(data.nf, MOST, max(FEWEST, MOST_VALUES // max(len(skin.rows), 1)))


def mode_title(data: FlexibleBodyData, mode: int) -> str:
    """Mode number, counted from one, and frequency."""
    return f"Mode {mode + 1} · {number(float(data.modes.frequency[mode]))} Hz"


def mode_pictures(data: FlexibleBodyData, most: int) -> list[Picture]:
    """Pictures of the lowest modes, coloured by displacement; none without triangles."""
    surface = data.surface
    if surface is None or not has_triangles(surface):
        return []
    titles = [mode_title(data, k) for k in range(min(data.nf, most))]
    shapes = [surface.phi[:, :, k] for k in range(len(titles))]
    values = [np.linalg.norm(u, axis=1) for u in shapes]
    drawings = side_by_side(partial(deformed_drawing, surface), shapes, values)
    return [
        Picture(drawing, f"{title} of {data.name}", title)
        for drawing, title in zip(drawings, titles)
    ]


def mode_stress(data: FlexibleBodyData, mode: int) -> FloatArray:
    """Von Mises stress (N,) [Pa] of a mode for a largest displacement of one metre.

    At the nodes of the surface, the larger value at material boundaries; NaN without stress data.
    """
    assert data.surface is not None
    assert data.stress is not None
    of_row = von_mises(np.asarray(data.stress.modes[:, :, mode], float)) / _largest(
        data.surface, mode
    )
    values = np.full(len(data.surface.nodes), -np.inf)
    np.maximum.at(values, data.stress.rows, of_row)
    return np.where(np.isfinite(values), values, np.nan)


def stored_modes(
    buffer: Buffer, data: FlexibleBodyData, skin: PageSurface, frames: list[str]
) -> list[dict[str, Any]]:
    """Shapes of the lowest modes with frame motions and stress, stored in the buffer.

    Shapes relative to their largest displacement, motions (u, θ) of the frames per metre of it, and
    the stress [MPa] per millimetre of it if the body has stress modes.
    """
    assert data.surface is not None
    found = []
    for k in range(modes_shown(data, skin)):
        largest = _largest(data.surface, k)
        shape = data.surface.phi[skin.rows, :, k] / largest
        moved = [
            [*data.frames[name].phi[:, k] / largest, *data.frames[name].psi[:, k] / largest]
            for name in frames
        ]
        table: dict[str, Any] = {
            "name": mode_title(data, k),
            "shapes": buffer.steps(shape[None], STEP),
            "frames": moved,
        }
        if data.stress is not None:
            values = MILLIMETRE * PASCALS * mode_stress(data, k)[skin.rows]
            high = float(np.nanmax(values, initial=0.0)) or 1.0
            places = fractions(values, 0.0, high, False)
            table["stress"] = buffer.add(
                np.where(np.isnan(places), UNKNOWN, np.rint(FINE * places)),
                "i2",
                delta=True,
                step=1.0 / FINE,
            )
            table["largest"] = high
        found.append(table)
    return found


def _largest(surface: Surface, mode: int) -> float:
    """Largest displacement of the surface in a mode."""
    return max(float(np.linalg.norm(surface.phi[:, :, mode], axis=1).max(initial=0.0)), 1e-300)
