"""Fatigue damage on a page.

Colours by decade, numbered worst nodes, a section of the report, a page of one body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.durability.fatigue import FatigueData, fatigue_part
from flexmbs.errors import InputError
from flexmbs.page.drawings import ColourBar, places_drawing
from flexmbs.page.html import Picture, number, rendered
from flexmbs.page.style import DAMAGE
from flexmbs.player.body_scene import SceneOptions, body_page_scene
from flexmbs.player.fields import Field, SurfaceMark, ends, fractions, legend
from flexmbs.player.markup import player_code, scene_text
from flexmbs.player.surface import has_triangles
from flexmbs.report.single_bodies import MOST, ColouredBody, at_nodes
from flexmbs.report.view import View
from flexmbs.results.bodies import flexible_bodies
from flexmbs.results.hot_spots import SPACING, spread
from flexmbs.results.stress_summary import PASCALS
from flexmbs.scene.scene import SingleBodyScene
from flexmbs.system.trajectory import provenance

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

MARKED = 10
KEYS = ("damage", "life", "amplitude")


class WorstNode(NamedTuple):
    """Row of the table: lengths in m, stresses in MPa."""

    node: int
    position: list[float]
    damage: float
    life: float
    amplitude: float
    mean: float


class FatigueSection(NamedTuple):
    """Fatigue results of one body in the report.

    ``alone``: its scene, or None if a picture is shown instead.
    """

    body: str
    about: str
    notes: list[str]
    worst: list[WorstNode]
    picture: Picture | None
    alone: SingleBodyScene | None


def results_of(
    solution: SolutionData, given: FatigueData | Iterable[FatigueData]
) -> list[FatigueData]:
    """Results as a tuple with at most one per body.

    Raises InputError for other objects or bodies.
    """
    found = list(given) if isinstance(given, Iterable) else [given]
    for k, each in enumerate(found):
        if not isinstance(each, FatigueData):
            raise InputError(f"fatigue: must be results of fm.fatigue, not {type(each).__name__}")
        if (
            each.body not in flexible_bodies(solution)
            or fatigue_part(solution, each.body).digest != each.part.digest
        ):
            raise InputError(
                f"fatigue: the result is of body '{each.body}', which is not in this "
                "solution; it belongs to another run"
            )
        if each.body in [other.body for other in found[:k]]:
            raise InputError(f"fatigue: two results for body '{each.body}'; give one per body")
    return found


def coloured(result: FatigueData) -> ColouredBody:
    """Coloured fields of damage, life and amplitude on a surface, with the worst nodes."""
    surface = result.part.surface
    values = [
        at_nodes(surface.node_ids, result.node_ids, each)
        for each in (result.damage, PASCALS * result.amplitude)
    ]
    fields = [
        Field("damage", "damage in the run", values[0], "damage", logarithmic=True),
        Field("life", "runs to failure", values[0], "damage", logarithmic=True, inverse=True),
        Field("amplitude", "stress amplitude of the worst cycle, MPa", values[1]),
    ]
    rows = {int(node): row for row, node in enumerate(surface.node_ids)}
    return ColouredBody(
        fields,
        [
            SurfaceMark(str(k), rows[int(result.node_ids[row])], KEYS)
            for k, row in enumerate(_marked(result), 1)
        ],
    )


def damage_of(
    solution: SolutionData, given: FatigueData | Iterable[FatigueData]
) -> dict[str, ColouredBody]:
    """Fatigue results as colours in the scene of the motion. Raises InputError as `results_of`."""
    return {
        each.body: coloured(each)
        for each in results_of(solution, given)
        if has_triangles(each.part.surface)
    }


def sections(results: Sequence[FatigueData]) -> list[FatigueSection]:
    """Report sections of fatigue results."""
    return [_section(result, k) for k, result in enumerate(results)]


def fatigue_view(result: FatigueData) -> View:
    """Page of one body. Raises InputError for a body without triangles."""
    if not has_triangles(result.part.surface):
        raise InputError(f"fatigue of {result.body}: its surface has no triangles to show")
    own, section, made = coloured(result), _section(result, 0), provenance()
    table = body_page_scene(result.part, [], _show(result), own.fields, own.marks)
    text = rendered(
        "flexmbs.report",
        "fatigue.html",
        player_code(),
        version=made["flexmbs"],
        date=made["date"],
        tiles=[],
        sections=[section],
        name=result.body,
        still=section.picture,
        scene=scene_text(table),
    )
    return View(text)


def _section(result: FatigueData, k: int) -> FatigueSection:
    """Section k of the report on fatigue: worst nodes, picture, notes."""
    worst = [
        WorstNode(
            int(result.node_ids[row]),
            result.positions[row].tolist(),
            float(result.damage[row]),
            float(result.life[row]),
            PASCALS * float(result.amplitude[row]),
            PASCALS * float(result.mean[row]),
        )
        for row in (_marked(result) or result.worst(1).tolist())
    ]
    shown = has_triangles(result.part.surface)
    own = coloured(result) if shown else None
    alone = (
        SingleBodyScene(f"fatigue-{k}", result.body, _show(result), own.fields, own.marks)
        if own and k < MOST
        else None
    )
    return FatigueSection(
        result.body,
        _about(result),
        _notes(result),
        worst,
        _picture(result, own) if own else None,
        alone,
    )


def _show(result: FatigueData) -> SceneOptions:
    """Options of the player that show the damage."""
    return SceneOptions(result.body, {"field": "damage"}, notes=_notes(result))


def _about(result: FatigueData) -> str:
    """Measure and S–N curve as a sentence."""
    curve = result.curve
    below = "no damage" if np.isinf(curve.slope_below) else f"slope {number(curve.slope_below)}"
    mean = (
        ""
        if curve.mean_stress == "none"
        else f", tensile strength {number(PASCALS * curve.ultimate)} MPa"
    )
    return (
        f"Stress by {result.measure}; S–N curve through {number(PASCALS * curve.amplitude)} MPa at "
        f"{number(curve.cycles)} cycles, slope {number(curve.slope)}, {below} below; mean "
        f"stress: {curve.mean_stress}{mean}."
    )


def _notes(result: FatigueData) -> list[str]:
    """Notes on regions that the colours leave out."""
    n, surface = len(np.unique(result.node_ids)), result.part.surface
    of = int(np.isin(surface.node_ids, result.node_ids)[np.unique(surface.triangles)].sum())
    unknown = len(np.unique(surface.triangles)) - of
    none = int(np.count_nonzero(result.damage == 0.0))
    notes = [f"No damage at {none} of {n} nodes; these have the lowest colour"] if none else []
    return notes + (
        [f"{unknown} nodes of the surface were not evaluated; these are grey"] if unknown else []
    )


def _marked(result: FatigueData) -> list[int]:
    """Rows of the worst nodes with damage, at least 5 % of the size of the body apart."""
    surface = result.part.surface
    size = float(np.linalg.norm(np.ptp(surface.nodes, axis=0)))
    order = [row for row in result.worst(len(result.damage)) if result.damage[row] > 0.0]
    return spread(
        np.array(order, np.int64), result.positions, result.node_ids, MARKED, SPACING * size
    )


def _picture(result: FatigueData, own: ColouredBody) -> Picture:
    """Picture of the damage from two sides."""
    field, surface = own.fields[0], result.part.surface
    table = legend(field)
    bar = ColourBar("damage", [(place, text) for place, text in table["ticks"]], DAMAGE)
    places = fractions(field.values, *ends(field), field.logarithmic)
    drawing = places_drawing(
        surface,
        places,
        bar,
        np.array([surface.nodes[mark.node] for mark in own.marks]).reshape(-1, 3),
    )
    caption = "Damage in the run by decades; numbers mark the worst nodes."
    return Picture(drawing, f"Fatigue damage of {result.body}", caption)
