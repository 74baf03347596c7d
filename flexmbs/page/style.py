"""Common style of all figures: palette, fonts, axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

PALETTE = ("#1f5a94", "#d07a36", "#2f8f7d", "#9a3f55", "#7568ad", "#a98f2f", "#56636e", "#4c9fc8")
INK, MUTED, GRID = "#1d2733", "#5d6b7a", "#e4e9ee"
STATES = {"open": "#e4e9ee", "closed": PALETTE[0], "stick": PALETTE[2], "slip": PALETTE[1]}
SHADES = ("#e3e9ef", "#a9c6de", "#4b8bc0", "#1f5a94", "#123a63")
STRESS = ("#eef1f4", "#f8dcab", "#f2ab62", "#dc662f", "#a5241f", "#4f0f14")
DAMAGE = ("#eef1f4", "#cfd6ea", "#aba4d4", "#9466b5", "#7a2286", "#3f0a4f")
WIDTH = 8.6  # inches of a full-width figure
# inches: titles, time label, distance between panels
ABOVE, BELOW, BETWEEN = 0.3, 0.5, 0.55
LEFT, RIGHT = 0.078, 0.745  # ends of all panels relative to the width
FONTS = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": "#b9c3cd",
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.0,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "flexmbs",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Context with the matplotlib settings of all figures."""
    import matplotlib
    from cycler import cycler

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**SETTINGS, "axes.prop_cycle": cycler(color=PALETTE)})
        yield


def panels(count: int, *, height: float = 2.1, share: bool = True) -> "tuple[Figure, list[Axes]]":
    """Full-width figure with ``count`` stacked panels and a common time axis."""
    from flexmbs.page.notebook_figure import NotebookFigure

    total = height * count + 0.35
    figure = NotebookFigure(figsize=(WIDTH, total))
    # fixed positions: a layout fitted to all texts takes half of the time of a page
    figure.set_layout_engine("none")
    axes = figure.subplots(count, 1, sharex=share, squeeze=False)[:, 0]
    inner = (total - ABOVE - BELOW - (count - 1) * BETWEEN) / count
    figure.subplots_adjust(LEFT, BELOW / total, RIGHT, 1.0 - ABOVE / total, hspace=BETWEEN / inner)
    return figure, list(axes)


def label(name: str) -> str:
    """Name formatted for a legend."""
    short = name if len(name) <= 34 else f"{name[:31]}…"
    return f" {short}" if short.startswith("_") else short


def finish(axes: "list[Axes]", *, xlabel: str = "t  [s]") -> None:
    """Add the time label and the legends to panels.

    The label is below the last panel; a panel has a legend if its curves differ from the previous
    panel.
    """
    axes[-1].set_xlabel(xlabel)
    before: list[str] = []
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        if handles and labels != before:
            before = labels
            outer_legend(ax, 1.04)


def outer_legend(ax: "Axes", top: float) -> None:
    """Add a legend on the right of a panel; ``top``: relative to the height of the panel."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.005, top), borderaxespad=0.0, handlelength=1.4)


def decades(axis: "Axis") -> None:
    """Set labels 1e-8, 0.1, 100 on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
