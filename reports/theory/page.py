"""Pages on the equations: a study finds identities and numbers, `write` draws its picture and
writes the tables of its page.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from flexmbs.page.style import PALETTE, WIDTH, house_style

TABLES = "## Identities and numbers"


@dataclass(frozen=True)
class Study:
    """What a study has found.

    identities: largest difference of the two sides of an equation, relative to their size.
    numbers: results to print. times: measured seconds and their ratios, which depend on the
    machine.  listing: text to print as it is. draw: fills a figure of ``height`` inches.
    """

    identities: Mapping[str, float]
    numbers: Mapping[str, float | Sequence[float] | np.ndarray]
    draw: Callable[[Figure], None]
    height: float = 3.6
    listing: str = ""
    times: Mapping[str, float] = field(default_factory=dict)


def difference(found: object, expected: object) -> float:
    """Largest difference of two arrays, relative to the largest entry of both."""
    a, b = np.broadcast_arrays(np.asarray(found, float), np.asarray(expected, float))
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0) / (scale or 1.0))


def vanishes(product: object, *factors: object) -> float:
    """Largest entry of a product that is zero, relative to the product of the largest entries of
    its factors.
    """
    scale = np.prod([np.abs(np.asarray(each, float)).max(initial=0.0) for each in factors])
    return float(np.abs(np.asarray(product, float)).max(initial=0.0) / (scale or 1.0))


def write(folder: Path, study: Study) -> None:
    """picture.png, study.json and the tables of README.md, whose text above them is written by
    hand.
    """
    with house_style():
        figure = Figure(figsize=(WIDTH, study.height))
        figure.set_layout_engine("constrained")
        study.draw(figure)
        figure.savefig(folder / "picture.png", dpi=100)
    with Image.open(folder / "picture.png") as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            folder / "picture.png", optimize=True
        )
    numbers = {name: np.asarray(values, float).tolist() for name, values in study.numbers.items()}
    found = {"identities": dict(study.identities), "numbers": numbers, "times": dict(study.times)}
    (folder / "study.json").write_text(
        json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    page = folder / "README.md"
    text = page.read_text(encoding="utf-8").partition(f"\n{TABLES}\n")[0].rstrip()
    page.write_text("\n\n".join([text, TABLES, *_tables(study)]) + "\n", encoding="utf-8")


def title(folder: Path) -> str:
    """The first line of its page."""
    return (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def _tables(study: Study) -> list[str]:
    numbers = {
        name: ", ".join(map(_number, np.ravel(values))) for name, values in study.numbers.items()
    }
    times = {k: f"{v:.3g}" for k, v in study.times.items()}
    parts = [
        _table(
            "equation",
            "largest relative difference of its sides",
            {k: f"{v:.0e}" for k, v in study.identities.items()},
        )
    ]
    parts += [_table("number", "", numbers)] if numbers else []
    parts += [_table("time", "", times)] if times else []
    return [*parts, f"```text\n{study.listing}\n```"] if study.listing else parts


def _number(x: float) -> str:
    return f"{x if abs(x) > 1e-12 else 0.0:.6g}"


def _table(first: str, second: str, rows: Mapping[str, str]) -> str:
    shown = (
        f"| {key.replace('|', '∣')} | {value.replace('|', '∣')} |" for key, value in rows.items()
    )
    return "\n".join([f"| {first} | {second} |", "|---|---|", *shown])


def arrow(
    axes: Axes, start: np.ndarray, along: np.ndarray, text: str = "", color: str = PALETTE[1]
) -> None:
    """An arrow with a name at its head."""
    end = np.asarray(start) + np.asarray(along)
    axes.annotate(
        "",
        end,
        start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": 1.6,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
    if text:
        axes.annotate(text, end, xytext=(4, 2), textcoords="offset points", color=color, fontsize=9)
