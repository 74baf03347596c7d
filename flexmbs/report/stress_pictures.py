"""Stress of flexible bodies on their surfaces, as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexmbs.page.figures import field_picture
from flexmbs.results.stress_summary import PASCALS
from flexmbs.results.stress_values import FloatArray, NodalStress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flexmbs.results.solution import SolutionData


def stress_picture(solution: SolutionData, body: str) -> Figure:
    """Picture of the von Mises stress [MPa] of a body at its maximum, with numbered hot spots."""
    view, shape = solution.body(body).stress.glance, solution.shape(body)
    assert shape is not None
    surface = shape.surface
    spots = view.hot_spots()
    values = surface_values(view.field(spots[0].time), surface.node_ids)
    return field_picture(
        surface, PASCALS * values, "MPa", np.array([spot.position for spot in spots])
    )


def surface_values(field: NodalStress, node_ids: np.ndarray) -> FloatArray:
    """Von Mises stress (N,) of a field at given nodes, zero if not available.

    The larger value at material interfaces.
    """
    order = np.argsort(node_ids)
    place = order[np.searchsorted(node_ids, field.node_ids, sorter=order)]
    values = np.zeros(len(node_ids))
    np.maximum.at(values, place, field.von_mises)
    return values
