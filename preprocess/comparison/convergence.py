"""Convergence of a part over the size of its elements: frequencies and interface compliance.

With three meshes of mean element sizes h₁ > h₂ > h₃ a quantity f(h) = f₀ + C hᵖ has

    (f₁ − f₂)/(f₂ − f₃) = (h₁ᵖ − h₂ᵖ)/(h₂ᵖ − h₃ᵖ),   f₀ = f₃ − (f₂ − f₃) h₃ᵖ/(h₂ᵖ − h₃ᵖ).

The mean size is the cube root of the mean volume of an element, since meshes of free form do not
scale exactly. Where the values are not monotone, or p is outside of `ORDERS`, round-off and the
arrangement of the elements dominate: f₀ is then the last value, and the spread its uncertainty.

Source: Roache, Verification and Validation in Computational Science and Engineering (1998),
chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

if TYPE_CHECKING:
    from preprocess.mesh.mesh import Mesh

Array = NDArray[np.float64]
# of a quantity in the element size: stresses at corners reduce that of quadratic elements, 4, to
# below 2
ORDERS = (0.5, 6.0)
EXACT = 1e-9  # relative change between meshes that is round-off


class Extrapolation(NamedTuple):
    """Extrapolated value, its uncertainty, and the order; the order is NaN if not monotone."""

    value: float
    uncertainty: float
    order: float


class Quantity(NamedTuple):
    """Values of a quantity on the meshes, coarse to fine."""

    name: str
    unit: str
    values: Array
    limit: Extrapolation

    @property
    def error(self) -> float:
        """Relative difference of the finest mesh from the extrapolated value.

        Without an order of convergence the spread of the three values, relative to the last.
        """
        return self.limit.uncertainty / abs(self.limit.value) if self.limit.value else 0.0


class Convergence(NamedTuple):
    """Mean element sizes (m) and numbers of nodes of the meshes, and quantities on them."""

    sizes: Array
    nodes: list[int]
    quantities: list[Quantity]

    def __str__(self) -> str:
        rows = [
            ["mean size of elements, mm", *(f"{1e3 * h:.3g}" for h in self.sizes)],
            ["nodes", *map(str, self.nodes)],
        ]
        rows[0] += ["extrapolated", "order", "error"]
        for each in self.quantities:
            order = "–" if np.isnan(each.limit.order) else f"{each.limit.order:.1f}"
            values = [f"{value:.6g}" for value in (*each.values, each.limit.value)]
            rows.append([f"{each.name}, {each.unit}", *values, order, f"{each.error:.1e}"])
        widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                f"{text:<{width}}" if k == 0 else f"{text:>{width}}"
                for k, (text, width) in enumerate(zip(row, widths))
            )
            for row in rows
        )

    def plot(self, path: str | Path) -> None:
        """Plot the relative differences from the extrapolated values over the size."""
        from matplotlib.figure import Figure

        from flexmbs.files.output import atomic_file

        figure = Figure(figsize=(8.4, 4.4), layout="constrained")
        axes = figure.add_subplot()
        for each in self.quantities:
            off = np.abs(each.values / each.limit.value - 1.0)
            off[-1] = each.error
            style = "-" if each.unit == "Hz" else "--"
            axes.loglog(
                1e3 * self.sizes, np.maximum(off, EXACT), style, marker="o", label=each.name
            )
        axes.set_xlabel("mean size of elements, mm")
        axes.set_ylabel("difference from the extrapolated value")
        axes.grid(which="both", alpha=0.3)
        axes.set_xticks(1e3 * self.sizes, [f"{1e3 * h:.2g}" for h in self.sizes])
        axes.xaxis.minorticks_off()
        figure.legend(fontsize="small", loc="outside right upper")
        kind = Path(path).suffix.removeprefix(".") or "png"
        with atomic_file(path) as draft:
            figure.savefig(draft, format=kind, dpi=150)


def extrapolated(h: Array, f: Array) -> Extrapolation:
    """Limit of three values f (3,) for sizes h (3,), coarse to fine."""
    f1, f2, f3 = (float(each) for each in f)
    scale, spread = max(abs(f1), abs(f2), abs(f3)), float(np.ptp(f))
    if spread <= EXACT * scale:
        return Extrapolation(f3, spread, float("nan"))
    if (f1 - f2) * (f2 - f3) > 0.0:

        def excess(p: float) -> float:
            """Function that is zero at the order of convergence p."""
            return (h[0] ** p - h[1] ** p) * (f2 - f3) - (h[1] ** p - h[2] ** p) * (f1 - f2)

        ends = [np.sign(excess(p)) for p in ORDERS]
        if ends[0] * ends[1] < 0.0:
            p = float(scipy.optimize.brentq(excess, *ORDERS))
            limit = f3 - (f2 - f3) * h[2] ** p / (h[1] ** p - h[2] ** p)
            return Extrapolation(limit, abs(limit - f3), p)
    return Extrapolation(f3, spread, float("nan"))


def convergence(
    meshes: Sequence[Mesh], quantities: Callable[[Mesh], dict[tuple[str, str], float]]
) -> Convergence:
    """Convergence of the quantities, by (name, unit), over three meshes, coarse to fine."""
    sizes, found = [], []
    for mesh in meshes:
        volumes = np.concatenate([block.volume for block in mesh.quality().blocks])
        sizes.append(float(np.cbrt(volumes.mean())))
        found.append(quantities(mesh))
    h = np.array(sizes)
    return Convergence(
        h,
        [len(mesh.nodes) for mesh in meshes],
        [
            Quantity(name, unit, values := np.array([each[name, unit] for each in found]),
                     extrapolated(h / h[0], values))
            for name, unit in found[-1]
            if all((name, unit) in each for each in found)
        ],
    )  # fmt: skip
