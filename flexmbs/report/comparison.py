"""Comparison page of two runs: superimposed curves, differences, both verdicts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.page.curve_panels import FloatArray, PlotCurve, PlotPanel, readable
from flexmbs.page.html import Picture, number, rendered
from flexmbs.player.markup import player_code, scene_text
from flexmbs.player.plots import plots
from flexmbs.report.contacts import contact_panels
from flexmbs.report.curves import REACTIONS, SECTIONS, largest_reactions
from flexmbs.report.poster import motion_drawing
from flexmbs.report.view import CAPTION
from flexmbs.results.summary import summary
from flexmbs.scene.scene import scene_of_two

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

A, B = "A", "B"
MOST_TIMES = 1200  # times at which the runs are compared
MOST_ROWS, MOST_LINES = 200, 400
# relative to the largest reaction (a force times the size of the model as a moment): differences of
# smaller reactions are insignificant
LITTLE = 1e-4
# quantities whose difference is meaningless
ERRORS = ("Error of the energy balance", "Largest constraint error", "Step size")
NUMBERS = (
    "t_end",
    "outputs",
    "bodies",
    "coordinates",
    "elastic_coordinates",
    "constraints",
    "energy_missing",
)


class QuantityDifference(NamedTuple):
    """Comparison of one quantity.

    Largest values of both runs, the largest difference with its time, the root mean square
    difference; scale: the largest value in the same plot, for reactions at least `LITTLE` times the
    largest reaction.
    """

    section: str
    name: str
    unit: str
    a: float
    b: float
    largest: float
    time: float
    mean: float
    scale: float

    @property
    def relative(self) -> float:
        """Largest difference divided by the largest value in the same plot."""
        return self.largest / max(self.scale, 1e-300)


def comparison_page(a: SolutionData, b: SolutionData, names: tuple[str, str]) -> str:
    """HTML text of the comparison of two runs.

    ``names``: labels of the runs, such as their file names; all text from the models is escaped.
    """
    numbers = summary(a), summary(b)
    shown = {
        anchor: (title, readable(superimposed(*pair), 8)) for anchor, title, pair in _pairs(a, b)
    }
    found, notes = differences(a, b)
    return rendered(
        "flexmbs.report",
        "comparison.html",
        player_code(),
        version=numbers[0]["provenance"].get("flexmbs", ""),
        date=numbers[0]["provenance"].get("date", ""),
        tiles=_tiles(found),
        names=names,
        numbers=numbers,
        notes=[*_unlike(a, b), *notes],
        differences=found[:MOST_ROWS],
        left=max(len(found) - MOST_ROWS, 0),
        facts=_facts(*numbers),
        checks=_checks(*numbers),
        change=_change(a, b, names),
        sections=[
            {"anchor": anchor, "title": title, "panels": panels}
            for anchor, (title, panels) in shown.items()
        ],
        plots=scene_text(plots({anchor: panels for anchor, (_, panels) in shown.items()})),
        scene=scene_text(scene_of_two(a, b, (A, B))),
        still=Picture(motion_drawing(a), "Run A", f"Run A. {CAPTION}"),
    )


def differences(a: SolutionData, b: SolutionData) -> tuple[list[QuantityDifference], list[str]]:
    """Differences of all common curves, the largest relative difference first, and notes.

    At times of the first run covered by both.
    """
    try:
        first, second, notes = at_common_times(a, b)
    except InputError as error:
        return [], [str(error)]
    found, least = (
        [],
        dict(
            zip(REACTIONS, LITTLE * np.maximum(largest_reactions(first), largest_reactions(second)))
        ),
    )
    for _, title, (left, right) in _pairs(first, second):
        others = {panel.heading: panel for panel in right}
        for panel in left:
            if panel.title not in ERRORS and panel.heading in others:
                found += _in_panel(title, panel, others[panel.heading], least.get(panel.title, 0.0))
    return sorted(found, key=lambda each: -each.relative), [
        *notes,
        *([] if found else ["The runs have no quantity in common."]),
    ]


def _in_panel(section: str, a: PlotPanel, b: PlotPanel, least: float) -> list[QuantityDifference]:
    """Differences of the common curves of two panels.

    The scale is at least ``least``, because moments that are errors of forces are insignificant.
    """
    same = {curve.name: curve for curve in b.curves}
    scale = max(
        (float(np.abs(curve.y).max(initial=0.0)) for curve in (*a.curves, *b.curves)), default=0.0
    )
    scale = max(scale, least)
    pairs = ((curve, same[curve.name]) for curve in a.curves if curve.name in same)
    return [each for pair in pairs for each in _difference(QuantityPlace(section, a, scale), *pair)]


class QuantityPlace(NamedTuple):
    """Section, panel and scale of a quantity."""

    section: str
    panel: PlotPanel
    scale: float


def _difference(place: QuantityPlace, a: PlotCurve, b: PlotCurve) -> list[QuantityDifference]:
    """Difference at the times of both runs.

    Contact forces exclude steps with impacts, which may occur at different times.
    """
    t, left, right = np.intersect1d(a.t, b.t, return_indices=True)
    if not len(t):
        return []
    x, y = a.y[left], b.y[right]
    error = np.abs(x - y)
    k = int(error.argmax())
    values = (
        float(np.abs(x).max()),
        float(np.abs(y).max()),
        float(error[k]),
        float(t[k]),
        float(np.sqrt((error**2).mean())),
    )
    return [
        QuantityDifference(
            place.section, f"{place.panel.title}, {a.name}", place.panel.unit, *values, place.scale
        )
    ]


def at_common_times(
    a: SolutionData, b: SolutionData
) -> tuple[SolutionData, SolutionData, list[str]]:
    """Both solutions at the common output times. Raises InputError if there are none.

    Raises InputError if there are none.
    """
    if len(a.t) == len(b.t) <= MOST_TIMES and np.array_equal(a.t, b.t):
        return a, b, []
    times = common_times(a, b)
    if len(times) < 2:
        raise InputError(
            f"the runs have no time in common: {a.t[0]:g} … {a.t[-1]:g} s and {b.t[0]:g} "
            f"… {b.t[-1]:g} s"
        )
    note = (
        f"Differences at {len(times)} times from {number(times[0])} to {number(times[-1])} s, "
        "interpolated between outputs"
    )
    note += ", excluding times next to impacts." if a.run.impacts or b.run.impacts else "."
    return a.at(times), b.at(times), [note]


def common_times(a: SolutionData, b: SolutionData) -> FloatArray:
    """Output times of a within the range of b, not near impacts, at most `MOST_TIMES`.

    Between outputs with an impact, interpolation is not valid.
    """
    inside = a.t[(a.t >= b.t[0]) & (a.t <= b.t[-1])]
    inside = inside[~(near_impacts(a, inside) | near_impacts(b, inside))]
    return (
        inside[np.unique(np.linspace(0, len(inside) - 1, min(len(inside), MOST_TIMES)).astype(int))]
        if len(inside)
        else inside
    )


def near_impacts(solution: SolutionData, times: FloatArray) -> NDArray[np.bool_]:
    """Mask of the times near an impact.

    The impact is between the enclosing outputs, or in the last step before the earlier output.
    """
    t, impacts = solution.t, np.sort([impact.t for impact in solution.run.impacts])
    after = np.clip(np.searchsorted(t, times, side="right"), 1, len(t) - 1)
    start, reach = t[after - 1] - solution.trajectory.step[after - 1], 1e-9 * float(np.ptp(t))
    return np.searchsorted(impacts, t[after] + reach, side="right") > np.searchsorted(
        impacts, start - reach, side="left"
    )


def _pairs(
    a: SolutionData, b: SolutionData
) -> Iterator[tuple[str, str, tuple[list[PlotPanel], list[PlotPanel]]]]:
    """Sections (anchor, title, panels of both runs) that at least one run has."""
    for section in SECTIONS:
        pair = section.panels(a), section.panels(b)
        if any(pair):
            yield section.anchor, section.title, pair
    contacts = contact_panels(a), contact_panels(b)
    if any(contacts):
        yield "contacts", "Contacts and friction", contacts


def superimposed(a: Sequence[PlotPanel], b: Sequence[PlotPanel]) -> list[PlotPanel]:
    """Panels with the same title superimposed.

    Curves of A are solid, those of B dashed, with one colour per quantity.
    """
    left, right = ({panel.heading: panel for panel in panels} for panels in (a, b))
    found = []
    for heading in dict.fromkeys([*left, *right]):
        pair = left.get(heading), right.get(heading)
        names = list(dict.fromkeys(curve.name for panel in pair if panel for curve in panel.curves))
        curves = [
            curve._replace(name=f"{curve.name} {run}", dashed=run == B, colour=k)
            for k, name in enumerate(names)
            for run, panel in zip((A, B), pair)
            for curve in (panel.curves if panel else ())
            if curve.name == name
        ]
        bars = tuple(
            bar._replace(name=f"{bar.name} {run}")
            for run, panel in zip((A, B), pair)
            if panel
            for bar in panel.bars
        )
        base = pair[0] or pair[1]
        assert base is not None
        quiet = tuple(
            f"{name} {run}" for run, panel in zip((A, B), pair) if panel for name in panel.quiet
        )
        found.append(base._replace(curves=tuple(curves), bars=bars, quiet=quiet))
    return found


def _unlike(a: SolutionData, b: SolutionData) -> list[str]:
    """Sentences on items that only one of the models has."""
    found = []
    if a.model.name != b.model.name:
        found.append(f"The models have different names: {a.model.name} and {b.model.name}.")
    for what in ("bodies", "joints", "drives", "contacts"):
        left, right = getattr(a, what), getattr(b, what)
        for run, own, other in ((A, left, right), (B, right, left)):
            if alone := [name for name in own if name not in other]:
                more = f" and {len(alone) - 12} more" if len(alone) > 12 else ""
                found.append(f"{what.capitalize()} of {run} only: {', '.join(alone[:12])}{more}.")
    return found


def _tiles(found: list[QuantityDifference]) -> list[tuple[str, str, str]]:
    """(value, unit, text) of the largest relative difference of each section."""
    worst: dict[str, float] = {}
    for each in found:
        worst.setdefault(each.section, each.relative)
    return [
        (number(value, 2), "", f"largest relative difference, {section.lower()}")
        for section, value in worst.items()
    ]


def _facts(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Rows (name, value of A, value of B, True if they differ) of sizes, options and statistics."""
    rows = [(key.replace("_", " "), a[key], b[key]) for key in NUMBERS]
    for table in ("options", "statistics"):
        keys = dict.fromkeys([*a[table], *b[table]])
        rows += [(key.replace("_", " "), a[table].get(key), b[table].get(key)) for key in keys]
    rows += [
        (f"largest force in {name} [N]", a["joints"][name]["largest_force"], own["largest_force"])
        for name, own in b["joints"].items()
        if name in a["joints"]
    ]
    return [(name, _text(left), _text(right), left != right) for name, left, right in rows]


def _text(value: Any) -> str:
    """Value as text: a formatted number, "–" for None."""
    return (
        number(value) if isinstance(value, (int, float)) else "–" if value is None else str(value)
    )


def _checks(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Rows (title, check of A, check of B); None if a run has no check of that title."""
    left, right = ({check["title"]: check for check in numbers["checks"]} for numbers in (a, b))
    return [(title, left.get(title), right.get(title)) for title in dict.fromkeys([*left, *right])]


def _change(a: SolutionData, b: SolutionData, names: tuple[str, str]) -> str:
    """Text of the differing lines of the model files."""
    lines = difflib.unified_diff(
        a.model_text.splitlines(), b.model_text.splitlines(), *names, lineterm="", n=1
    )
    found = list(lines)
    return "\n".join(found[:MOST_LINES]) + (
        f"\n… {len(found) - MOST_LINES} more lines" if len(found) > MOST_LINES else ""
    )
