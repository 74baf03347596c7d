"""Single bodies on the page of a run.

Animated modes, and the largest stress of the run with its hot spots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray
from flexmbs.player.body_scene import SceneOptions
from flexmbs.player.fields import Field, SurfaceMark
from flexmbs.player.surface import has_triangles
from flexmbs.results.bodies import surface_of
from flexmbs.results.stress_summary import PASCALS, StressReport
from flexmbs.scene.scene import Extras, SingleBodyScene

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

MOST = 5  # bodies per section: browsers allow 16 canvases on a page
ENVELOPE = "envelope"
STRESS_NOTE = (
    "Largest von Mises stress of each node over the run; numbers mark the hot spots, worst first."
)


class ColouredBody(NamedTuple):
    """Fields and marks of a body."""

    fields: list[Field]
    marks: list[SurfaceMark]


def mode_scenes(
    solution: SolutionData, groups: Sequence[Sequence[str]]
) -> list[SingleBodyScene | None]:
    """Mode scenes for each group of bodies with the same data, in order.

    None without triangles, and beyond the first `MOST` groups.
    """
    found: list[SingleBodyScene | None] = []
    for names in groups:
        joined = surface_of(solution, names[0])
        fits = (
            joined is not None
            and has_triangles(joined.surface)
            and sum(each is not None for each in found) < MOST
        )
        show = SceneOptions(", ".join(names), {"field": "displacement", "mode": 0}, modes=True)
        found.append(SingleBodyScene(f"modes-{len(found)}", names[0], show) if fits else None)
    return found


def envelopes(solution: SolutionData, reports: Sequence[StressReport]) -> dict[str, ColouredBody]:
    """Largest stress over the run and the hot spots, by body."""
    found = {}
    for report in reports:
        shape = solution.shape(report.body)
        if shape is None or not has_triangles(shape.surface) or not report.spots:
            continue
        surface = shape.surface
        envelope = solution.body(report.body).stress.glance.envelope
        values = PASCALS * at_nodes(surface.node_ids, envelope.node_ids, envelope.von_mises)
        rows = {int(node): row for row, node in enumerate(surface.node_ids)}
        marks = [
            SurfaceMark(str(k), rows[spot.node], (ENVELOPE,))
            for k, spot in enumerate(report.spots, 1)
        ]
        found[report.body] = ColouredBody(
            [Field(ENVELOPE, "largest von Mises stress, MPa", values)], marks
        )
    return found


def stress_scenes(coloured: Mapping[str, ColouredBody]) -> dict[str, SingleBodyScene]:
    """Stress scenes of the first bodies, by body."""
    return {
        body: SingleBodyScene(
            f"stress-{k}",
            body,
            SceneOptions(body, {"field": ENVELOPE}, notes=(STRESS_NOTE,)),
            own.fields,
            own.marks,
        )
        for k, (body, own) in enumerate(list(coloured.items())[:MOST])
    }


def extras_of(
    coloured: Mapping[str, ColouredBody], alone: Sequence[SingleBodyScene] = ()
) -> Extras:
    """Scene extras of coloured bodies: fields, marks and scenes of single bodies."""
    fields = {body: own.fields for body, own in coloured.items()}
    return Extras(
        fields=fields, marks={body: own.marks for body, own in coloured.items()}, alone=alone
    )


def merged(
    first: Mapping[str, ColouredBody], second: Mapping[str, ColouredBody]
) -> dict[str, ColouredBody]:
    """Fields and marks of two sets combined."""
    nothing = ColouredBody([], [])
    pairs = {
        body: (first.get(body, nothing), second.get(body, nothing)) for body in [*first, *second]
    }
    return {
        body: ColouredBody([*a.fields, *b.fields], [*a.marks, *b.marks])
        for body, (a, b) in pairs.items()
    }


def at_nodes(node_ids: IntArray, known: IntArray, values: FloatArray) -> FloatArray:
    """Values (N,) at nodes given by number.

    The larger value for a node with several, NaN if there is none.
    """
    order = np.argsort(node_ids)
    place = order[np.searchsorted(node_ids, known, sorter=order)]
    found = np.full(len(node_ids), np.nan)
    np.fmax.at(found, place, values)
    return found
