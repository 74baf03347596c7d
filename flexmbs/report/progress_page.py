"""Progress page of a running simulation, from its log of outputs alone.

Progress, velocities, works, steps, drift.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.page.curve_panels import MOST_CURVES, FloatArray, PlotPanel, panel
from flexmbs.page.html import number, rendered
from flexmbs.player.markup import player_code, scene_text
from flexmbs.player.plots import plots

WORKS, DRIFTS = ("forces", "dissipated", "drives"), ("positions", "velocities")


class RunProgress(NamedTuple):
    """Progress of a run as recorded in its folder."""

    name: str  # of the model
    folder: str
    t_end: float  # s
    velocities: Sequence[str]  # names of the columns of s
    columns: Mapping[str, FloatArray]  # outputs so far, by field; empty before the first one
    age: float  # s since the last output
    finished: bool
    version: str
    date: str


def is_of_run(columns: Mapping[str, FloatArray]) -> bool:
    """True if logged outputs have the fields of a simulation run."""
    widths = {"t": (), "step": (), "work": (len(WORKS),), "drift": (len(DRIFTS),)}
    return (
        {"s", *widths} <= columns.keys()
        and columns["s"].ndim == 2
        and all(columns[name].shape[1:] == width for name, width in widths.items())
    )


def live_page(run: RunProgress) -> str:
    """HTML text of the page of a running simulation."""
    t = run.columns.get("t", np.zeros(0))
    reached = float(t[-1]) if len(t) else 0.0
    panels = (
        {"Velocities": _velocities(run, t), "Works, steps and drift": _of_run(run, t)}
        if len(t)
        else {}
    )
    return rendered(
        "flexmbs.report",
        "live.html",
        player_code(),
        name=run.name,
        folder=run.folder,
        version=run.version,
        date=run.date,
        state="finished"
        if run.finished
        else f"last output {number(run.age, 2)} s ago"
        if len(t)
        else "no outputs yet",
        tiles=[
            (number(100.0 * reached / run.t_end, 3), "%", "of the run"),
            (number(reached), "s", f"of {number(run.t_end)} s"),
            (number(float(len(t)), 6), "", "outputs"),
        ],
        sections=[
            {"anchor": f"part{k}", "title": title, "panels": own}
            for k, (title, own) in enumerate(panels.items())
        ],
        plots=scene_text(plots({f"part{k}": own for k, own in enumerate(panels.values())})),
    )


def _velocities(run: RunProgress, t: FloatArray) -> list[PlotPanel]:
    """Panel of the velocities during a run."""
    s = run.columns["s"]
    names = list(run.velocities)[: s.shape[1]]
    found = panel(
        "Velocities of joints, bodies and modes",
        "SI",
        t,
        {name: s[:, k] for k, name in enumerate(names[:MOST_CURVES])},
    )
    return [found._replace(more=max(len(names) - MOST_CURVES, 0))]


def _of_run(run: RunProgress, t: FloatArray) -> list[PlotPanel]:
    """Panels of works, step size and constraint errors during a run."""
    work, drift, step = run.columns["work"], run.columns["drift"], run.columns["step"]
    return [
        panel("Works", "J", t, {name: work[:, k] for k, name in enumerate(WORKS)}),
        panel("Steps", "s", t, {"step": np.asarray(step)}, logarithmic=True),
        panel(
            "Largest constraint error",
            "SI",
            t,
            {name: drift[:, k] for k, name in enumerate(DRIFTS)},
            logarithmic=True,
        ),
    ]
