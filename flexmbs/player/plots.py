"""Curves of figures over time, by which a page shows their values at the time of the player."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.player.arrays import Buffer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plots(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """The panels of figures by their names: place in the picture (left, bottom, right, top as fractions), times, curves."""
    buffer = Buffer()
    found = {name: [_panel(buffer, ax) for ax in figure.axes] for name, figure in figures.items()}
    return {"figures": found, "data": buffer.text()}


def _panel(buffer: Buffer, ax: Axes) -> dict[str, Any]:
    place = ax.get_position()
    lines = [line for line in ax.get_lines() if len(np.atleast_1d(line.get_xdata())) > 1 and line.get_transform() == ax.transData]
    return {
        "box": [place.x0, place.y0, place.x1, place.y1], "span": [float(x) for x in ax.get_xlim()], "title": ax.get_title("left"),
        "curves": [
            {
                "name": str(line.get_label()).strip() if not str(line.get_label()).startswith("_child") else ax.get_title("left"),
                "t": buffer.add(np.asarray(line.get_xdata(), float), "f4"),
                "y": buffer.add(np.asarray(line.get_ydata(), float), "f4"),
            }
            for line in lines
        ],
    }  # fmt: skip
