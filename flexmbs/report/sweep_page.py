"""Page of a sweep: parallel coordinates, scatter plots, response surfaces and the table."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexmbs.page.html import PageCode, number, rendered
from flexmbs.player.markup import HERE as PLAYER
from flexmbs.player.markup import joined_modules
from flexmbs.report.response_surface import FloatArray, fitted
from flexmbs.report.sweep_charts import (
    ChartColumn,
    column,
    parallel,
    scale,
    scatter,
    shades,
    surface_map,
)

MOST_LINES, MOST_POINTS, MOST_ROWS, MOST_MESSAGES = 1000, 1500, 200, 100
MOST_OUTPUTS, MOST_PARAMETERS = 6, 8
TEMPLATES = Path(__file__).with_name("templates")


class SweepCases(NamedTuple):
    """Columns of parameters and outputs, verdict and message of each case, as shown on the page."""

    name: str
    parameters: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    verdict: Sequence[str]
    message: Sequence[str]
    seconds: FloatArray
    counts: Mapping[str, int]


def sweep_page(cases: SweepCases, *, version: str, date: str) -> str:
    """HTML text of the page of a sweep."""
    given = [column(name, "", values) for name, values in cases.parameters.items()]
    found = [
        column(name, cases.units.get(name, ""), values)._replace(log=False)
        for name, values in cases.outputs.items()
    ]
    varied = [
        each for each in given if each.ends[0] < each.ends[1] and len(np.unique(each.values)) > 1
    ]
    shown = [each for each in found if np.isfinite(each.values).any()][:MOST_OUTPUTS]
    lines, points = (
        thinned(len(cases.verdict), MOST_LINES),
        thinned(len(cases.verdict), MOST_POINTS),
    )
    colours = shades(shown[0].values) if shown else []
    axes = [*varied[:MOST_PARAMETERS], *shown]
    told = [
        (k, verdict, text)
        for k, (verdict, text) in enumerate(zip(cases.verdict, cases.message))
        if text
    ]
    rows = _rows(cases)
    return rendered(
        "flexmbs.report",
        "sweep.html",
        _code(),
        version=version,
        date=date,
        name=cases.name,
        n=len(cases.verdict),
        counts=cases.counts,
        tiles=_tiles(cases),
        told=_embedded(rows, [each.heading for each in (*given, *found)]),
        colour=shown[0] if shown else None,
        scale=scale(shown[0]) if shown else "",
        parallel=parallel(axes, lines, colours) if shown else "",
        thinned=len(lines) if len(lines) < len(cases.verdict) else 0,
        scatters=[
            (each.heading, [_scatter(one, each, points) for one in varied[:MOST_PARAMETERS]])
            for each in shown
        ],
        surfaces=[made for each in shown if (made := _surface(varied, each))],
        messages=told[:MOST_MESSAGES],
        more_messages=max(len(told) - MOST_MESSAGES, 0),
        heads=[each.heading for each in (*given, *found)],
        rows=rows[:MOST_ROWS],
        more_rows=max(len(rows) - MOST_ROWS, 0),
    )


def thinned(n: int, most: int) -> list[int]:
    """Indices of at most ``most`` of n cases, evenly spaced."""
    return (
        list(range(n)) if n <= most else np.unique(np.linspace(0, n - 1, most).astype(int)).tolist()
    )


def _code() -> PageCode:
    """(style, script) of the sweep page."""
    style, script = (
        TEMPLATES.joinpath(f"sweep.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    return PageCode(
        style=style,
        script=f"{joined_modules(PLAYER / 'js', 'reach')}\n{script}",
        package="flexmbs.report",
    )


def _tiles(cases: SweepCases) -> list[tuple[str, str, str]]:
    """(number, unit, text) of the figures at the top: cases, parameters, outputs, time."""
    total, n = float(cases.seconds.sum()), len(cases.verdict)
    return [
        (str(n), "", "cases"),
        (str(len(cases.parameters)), "", "parameters"),
        (str(len(cases.outputs)), "", "outputs"),
        (number(total / max(n, 1), 3), "s", "per case"),
        (number(total, 3), "s", "in total"),
    ]


def _scatter(
    across: ChartColumn, up: ChartColumn, points: Sequence[int]
) -> tuple[str, float | None]:
    """Plot of an output over a parameter, and Spearman's rank correlation for numbers."""
    good = np.isfinite(up.values)
    plot = scatter(across, up, points, shades(up.values))
    if (
        across.texts
        or good.sum() < 3
        or np.ptp(up.values[good]) == 0.0
        or np.ptp(across.values[good]) == 0.0
    ):
        return plot, None
    from scipy.stats import spearmanr

    return plot, float(spearmanr(across.values[good], up.values[good]).statistic)


def _surface(parameters: Sequence[ChartColumn], output: ChartColumn) -> dict[str, Any] | None:
    """SVG map of the response surface of an output.

    None if its cases do not determine one of at least two parameters.

    None if its cases do not determine one of at least two parameters.
    """
    numbers = [each for each in parameters if not each.texts]
    good = np.isfinite(output.values)
    if len(numbers) < 2 or good.sum() < 3:
        return None
    placed = [each._replace(values=each.place(each.values)) for each in numbers]
    surface = fitted(np.stack([each.values[good] for each in placed], axis=1), output.values[good])
    if surface is None:
        return None
    first, second = np.argsort(-surface.influence(), kind="stable")[:2]
    kind = "quadratic" if any(len(term) == 2 for term in surface.terms) else "linear"
    return {
        "heading": output.heading,
        "map": surface_map(surface, (int(first), int(second)), numbers, output),
        "up": numbers[second].heading,
        "scale": scale(output),
        "kind": kind,
        "q2": surface.q2,
    }


def _rows(cases: SweepCases) -> list[dict[str, Any]]:
    """Table cells of each case as texts."""
    values = [*cases.parameters.values(), *cases.outputs.values()]
    return [
        {"k": k, "texts": [_text(column[k]) for column in values], "verdict": verdict}
        for k, verdict in enumerate(cases.verdict)
    ]


def _text(value: Any) -> str:
    """Value as text; "–" for numbers that are not finite."""
    if isinstance(value, float):
        return number(float(value), 5) if np.isfinite(value) else "–"
    return str(value)


def _embedded(rows: Sequence[dict[str, Any]], heads: Sequence[str]) -> str:
    """Data of each case for the script, as JSON that cannot end the element."""
    texts = [
        f"case {row['k']}: "
        + ", ".join(f"{head} {text}" for head, text in zip(heads, row["texts"]))
        + f", {row['verdict']}"
        for row in rows
    ]
    return json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
