"""Figures of a solution: ``solution.plot.joints()`` returns a matplotlib figure."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.page.curve_panels import PlotCurve, PlotPanel, StateBar, limits, readable
from flexmbs.page.figures import mode_picture
from flexmbs.page.style import INK, MUTED, PALETTE, STATES, finish, house_style, label, panels
from flexmbs.report import curves
from flexmbs.report.contacts import contact_panels
from flexmbs.report.pictures import motion_picture
from flexmbs.report.stress_pictures import stress_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flexmbs.results.solution import SolutionData


class Plots:
    """Figures of one solution, made on demand; None if there is nothing to show."""

    def __init__(self, solution: SolutionData) -> None:
        self.solution = solution

    def motion(self) -> Figure:
        """Bodies at a few instants and the paths of the free frames."""
        return motion_picture(self.solution)

    def mode(self, body: str, mode: int) -> Figure:
        """Shape of a mode of a flexible body (0 is the first), coloured by displacement."""
        return mode_picture(self.solution.compiled.data[body], mode)

    def stress(self, body: str) -> Figure:
        """Von Mises stress on a flexible body at the time of its maximum, with hot spots."""
        return stress_picture(self.solution, body)

    def joints(self) -> Figure | None:
        """Joint coordinates and velocities; angles and lengths in separate panels."""
        return drawn(curves.joints(self.solution))

    def frames(self) -> Figure | None:
        """Position of the free frames (the tips), their speed and acceleration."""
        return drawn(curves.frames(self.solution), height=1.75)

    def deflections(self) -> Figure | None:
        """Elastic displacement of the frames of flexible bodies, in body axes."""
        return drawn(curves.deflections(self.solution), height=2.6)

    def reactions(self) -> Figure | None:
        """Force and moment in every joint by component, in world axes."""
        return drawn(curves.reactions(self.solution), height=2.3)

    def efforts(self) -> Figure | None:
        """Torques and forces along the degrees of freedom of joints.

        From drives, couplings, controllers and springs.
        """
        return drawn(curves.efforts(self.solution))

    def forces(self) -> Figure | None:
        """Tensions, currents, pressures, references and states of forces and controllers."""
        return drawn(curves.forces(self.solution))

    def contacts(self) -> Figure | None:
        """States of the contacts, gaps, normal and friction forces.

        Torque and power of friction in joints.
        """
        return drawn(contact_panels(self.solution))

    def energy(self) -> Figure:
        """Energies, works, and the error of the energy balance."""
        return drawn(curves.energy(self.solution), height=2.5) or panels(1)[0]

    def drift(self) -> Figure | None:
        """Constraint errors on logarithmic axes."""
        return drawn(curves.drift(self.solution), height=2.4)

    def steps(self) -> Figure | None:
        """Plot the step size over time, if it varies."""
        return drawn(curves.steps(self.solution), height=2.0)


def drawn(shown: list[PlotPanel], *, height: float = 2.1) -> Figure | None:
    """Matplotlib figure of panels over time; None if there are no curves."""
    if not shown:
        return None
    with house_style():
        figure, axes = panels(len(shown), height=height)
        for ax, panel in zip(axes, readable(shown)):
            ax.set_title(panel.heading)
            _draw(ax, panel)
        finish(axes)
    return figure


def panel_svg(panel: PlotPanel, span: tuple[float, float]) -> bytes:
    """Panel over a range of times as SVG with its texts as text, without title and legend."""
    with house_style():
        figure, (ax,) = panels(1, height=0.5 + 0.26 * len(panel.bars) if panel.bars else 2.0)
        figure.subplots_adjust(top=0.88, right=0.97)
        _draw(ax, panel)
        ax.set(xlim=span, xlabel="t  [s]")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def curve_colour(curve: PlotCurve, k: int) -> str:
    """Colour of curve number k of a panel."""
    return PALETTE[(k if curve.colour is None else curve.colour) % len(PALETTE)]


def _draw(ax: Axes, panel: PlotPanel) -> None:
    """Draw the curves and bars of a panel on matplotlib axes."""
    if panel.bars:
        _draw_bars(ax, panel.bars)
    for k, curve in enumerate(panel.curves):
        ax.plot(
            curve.t,
            curve.y,
            color=curve_colour(curve, k),
            label=label(curve.name),
            drawstyle="steps-post" if curve.stepped else "default",
            linestyle="--" if curve.dashed else "-",
        )
    for note in panel.notes:
        ax.plot([], [], " ", label=label(note))
    if panel.logarithmic:
        ax.set_yscale("log")
    elif panel.curves:
        if any(curve.y.min() < 0.0 < curve.y.max() for curve in panel.curves):
            ax.axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        ends = limits(curve.y for curve in panel.curves)
        ax.set_ylim(ends)
        _mark_peaks(ax, panel, ends)


def _mark_peaks(ax: Axes, panel: PlotPanel, ends: tuple[float, float]) -> None:
    """Draw triangles where cut-off peaks leave the axis, and print the largest one."""
    for k, curve in enumerate(panel.curves):
        for beyond, end, marker in (
            (curve.y > ends[1], ends[1], "^"),
            (curve.y < ends[0], ends[0], "v"),
        ):
            if beyond.any():
                ax.plot(
                    curve.t[beyond],
                    np.full(beyond.sum(), end),
                    marker,
                    color=curve_colour(curve, k),
                    markersize=4,
                    clip_on=False,
                )
    values = np.concatenate([curve.y for curve in panel.curves])
    most = float(values[np.argmax(np.abs(values))]) if len(values) else 0.0
    if not ends[0] <= most <= ends[1]:
        ax.set_title(f"up to {most:.3g}", loc="right", fontsize=9, color=MUTED, fontweight="normal")


def _draw_bars(ax: Axes, bars: tuple[StateBar, ...]) -> None:
    """Draw rows of contact states as bars over time."""
    for row, bar in enumerate(bars):
        for state in bar.states:
            ax.broken_barh(
                [(state.start, state.end - state.start)], (row - 0.3, 0.6), color=STATES[state.kind]
            )
        ax.plot(bar.marks, np.full(len(bar.marks), row), "|", color=INK, markersize=9)
        ax.annotate(
            label(bar.name),
            (0.0, row),
            (6.0, 0.0),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0},
        )
    for kind in dict.fromkeys(state.kind for bar in bars for state in bar.states):
        ax.plot([], [], "s", color=STATES[kind], label=kind)
    ax.set_yticks([])
    ax.invert_yaxis()
