"""HTML page about a solution, and its key numbers as ``<name>.summary.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flexmbs.files.file_types import PDF, check_kind, report_kind
from flexmbs.files.output import write_text
from flexmbs.files.paths import file_path
from flexmbs.page.html import rendered
from flexmbs.player.markup import player_code, scene_text
from flexmbs.player.plots import plots
from flexmbs.player.solids import Solid
from flexmbs.report.content import content
from flexmbs.report.explorer import chosen_signals
from flexmbs.report.fatigue import damage_of, results_of
from flexmbs.report.single_bodies import envelopes, extras_of, merged, mode_scenes, stress_scenes
from flexmbs.results.summary import summary
from flexmbs.scene.scene import scene

if TYPE_CHECKING:
    from flexmbs.durability.fatigue import FatigueData
    from flexmbs.results.solution import SolutionData


def write_report(
    solution: SolutionData,
    path: str | os.PathLike[str],
    solids: Sequence[Solid] = (),
    fatigue: FatigueData | Sequence[FatigueData] = (),
) -> None:
    """Write the page to ``path``, or a PDF document if it ends with .pdf.

    The summary is written next to it. Raises InputError for fatigue results of other runs and for
    other suffixes, MachineError.
    """
    target = file_path(path)
    check_kind(target, report_kind(target))
    results = results_of(solution, fatigue)
    numbers = summary(solution)
    if report_kind(target) == PDF:
        from flexmbs.report.pdf import write_pdf

        write_pdf(solution, numbers, target, results)
    else:
        write_text(target, page(solution, numbers, solids, results))
    write_text(
        target.with_name(f"{target.stem}.summary.json"),
        json.dumps(numbers, indent=2, default=str) + "\n",
    )


def page(
    solution: SolutionData,
    numbers: dict[str, Any],
    solids: Sequence[Solid] = (),
    fatigue: Sequence[FatigueData] = (),
) -> str:
    """HTML text of the report of a solution."""
    shown = content(solution, numbers, fatigue)
    coloured = envelopes(solution, [each for each, _ in shown.stresses])
    modes, stressed = (
        mode_scenes(solution, [part["names"] for part in shown.parts]),
        stress_scenes(coloured),
    )
    alone = [
        each
        for each in (*modes, *stressed.values(), *(section.alone for section in shown.damages))
        if each
    ]
    extras = extras_of(merged(coloured, damage_of(solution, fatigue)), alone)._replace(
        solids=solids
    )
    own = shown.contact_panels
    figures = {each.section.anchor: each.panels for each in shown.curves} | (
        {"contacts": own} if own else {}
    )
    signals = chosen_signals(solution)
    return rendered(
        "flexmbs.report",
        "report.html",
        player_code(),
        scene=scene_text(scene(solution, extras)),
        swinging=modes,
        stressed=stressed,
        plots=scene_text(plots(figures, signals)),
        signal_notes=signals.notes,
        figures=figures,
        version=numbers["provenance"].get("flexmbs", ""),
        date=numbers["provenance"].get("date", ""),
        **vars(shown),
    )
