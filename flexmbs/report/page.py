"""One HTML page about a solution, and its key numbers as ``<name>.summary.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flexmbs.files.kinds import PDF, report_kind
from flexmbs.files.output import write_text
from flexmbs.files.paths import file_path
from flexmbs.page.chart import chart
from flexmbs.page.html import rendered
from flexmbs.page.panels import span_of
from flexmbs.player.markup import player_code
from flexmbs.player.plots import plots
from flexmbs.player.scene import Extras, scene, scene_text
from flexmbs.player.solids import Solid
from flexmbs.report.content import content
from flexmbs.results.summary import summary

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData


def write_report(solution: SolutionData, path: str | os.PathLike[str], solids: Sequence[Solid] = ()) -> None:
    """Write the page to ``path``, a PDF document if it ends with .pdf, and the summary next to it. Raises MachineError."""
    target = file_path(path)
    numbers = summary(solution)
    if report_kind(target) == PDF:
        from flexmbs.report.pdf import write_pdf

        write_pdf(solution, numbers, target)
    else:
        write_text(target, page(solution, numbers, solids))
    write_text(target.with_name(f"{target.stem}.summary.json"), json.dumps(numbers, indent=2, default=str) + "\n")


def page(solution: SolutionData, numbers: dict[str, Any], solids: Sequence[Solid] = ()) -> str:
    """The HTML text; everything from the model is escaped."""
    shown = content(solution, numbers)
    own = shown.contact_panels
    figures = {section.anchor: panels for section, panels in shown.curves} | ({"contacts": own} if own else {})
    span = span_of(panel for panels in figures.values() for panel in panels)
    return rendered(
        "flexmbs.report",
        "report.html",
        player_code(),
        scene=scene_text(scene(solution, Extras(solids))),
        plots=scene_text(plots(figures)),
        charts={anchor: chart(panels, span) for anchor, panels in figures.items()},
        version=numbers["provenance"].get("flexmbs", ""),
        date=numbers["provenance"].get("date", ""),
        **vars(shown),
    )
