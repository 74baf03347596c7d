"""Linear system of equations with named blocks: print, plot and solve."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.console.columns import aligned
from flexmbs.dynamics.dense import Terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ZERO = 1e-12  # relative to the largest entry of the matrix: smaller entries are not drawn


@dataclass(frozen=True, eq=False)
class BlockSystem:
    """Linear system A x = b in blocks.

    title: description.  equations, unknowns: (name, size) of the block rows and columns.  matrix
    (n, m), right (n,).

    """

    title: str
    equations: tuple[tuple[str, int], ...]
    unknowns: tuple[tuple[str, int], ...]
    matrix: np.ndarray
    right: np.ndarray

    def solve(self) -> dict[str, np.ndarray]:
        """Solve the equations: unknowns by name.

        The least-norm solution if they are not unique (redundant constraints).
        """
        x = np.linalg.lstsq(self.matrix, self.right, rcond=None)[0]
        names = [name for name, _ in self.unknowns]
        return dict(zip(names, np.split(x, np.cumsum([size for _, size in self.unknowns])[:-1])))

    def block(self, equation: str, unknown: str) -> np.ndarray:
        """Block of an equation and an unknown. Raises `KeyError`."""
        return self.matrix[_place(self.equations, equation), _place(self.unknowns, unknown)]

    def pattern(self) -> str:
        """Text of the sizes of the nonzero blocks, one line per block row.

        With the unknowns and the right-hand side.
        """
        largest = float(np.abs(self.matrix).max(initial=0.0))
        unknowns = [(name, size) for name, size in self.unknowns if size]
        cells = [["", *(f"{name} ({size})" for name, size in unknowns), "right"]]
        for name, size in [each for each in self.equations if each[1]]:
            row = [self.block(name, unknown) for unknown, _ in unknowns]
            full = [np.abs(each).max(initial=0.0) > ZERO * largest for each in row]
            right = np.abs(self.right[_place(self.equations, name)]).max(initial=0.0)
            cells.append(
                [f"{name} ({size})", *("■" if each else "·" for each in full), f"{right:.4g}"]
            )
        return "\n".join(aligned(cells))

    def __str__(self) -> str:
        n = len(self.matrix)
        return f"{self.title}: {n} equation{'s' if n != 1 else ''}\n{self.pattern()}"

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot the nonzero entries of the matrix, with lines between the blocks and their names."""
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.figure(figsize=(6.0, 6.0), layout="constrained").add_subplot()
        largest = float(np.abs(self.matrix).max(initial=0.0))
        size = max(1.0, 240.0 / max(self.matrix.shape))
        axes.spy(np.abs(self.matrix) > ZERO * largest, markersize=size, color="C0", marker="s")
        for groups, set_ticks, line in (
            (self.unknowns, axes.set_xticks, axes.axvline),
            (self.equations, axes.set_yticks, axes.axhline),
        ):
            shown = [(name, n) for name, n in groups if n]
            ends = np.cumsum([0, *(n for _, n in shown)])
            set_ticks(0.5 * (ends[1:] + ends[:-1]) - 0.5, [name for name, _ in shown])
            for end in ends[1:-1]:
                line(end - 0.5, color="0.7", linewidth=0.8)
        axes.grid(visible=False)
        axes.set_title(self.title)
        return axes


def _place(groups: tuple[tuple[str, int], ...], name: str) -> slice:
    """Slice of a named block in the rows. Raises KeyError."""
    at = 0
    for each, size in groups:
        if each == name:
            return slice(at, at + size)
        at += size
    raise KeyError(f"no block '{name}'; it has: {', '.join(each for each, _ in groups)}")


def bordered(known: Terms, elastic: np.ndarray) -> BlockSystem:
    """System [[M, Gᵀ], [G, 0]] (ṡ, −λ) = (k, γ), by reference and elastic velocities.

    Theory, sections 23 and 24.
    """
    ns, nc = len(known.M), len(known.G)
    reference = np.setdiff1d(np.arange(ns), elastic)
    order = np.concatenate([reference, elastic, np.arange(ns, ns + nc)]).astype(int)
    sizes = (len(reference), len(elastic), nc)
    equations = tuple(zip(("reference", "elastic", "constraints"), sizes))
    unknowns = tuple(zip(("ṡ_r", "q̈_f", "−λ"), sizes))
    matrix, right = _bordered(known)
    return BlockSystem(
        "equations with multipliers",
        equations,
        unknowns,
        matrix[np.ix_(order, order)],
        right[order],
    )


def bordered_by_items(
    known: Terms, velocities: Sequence[str], constraints: Sequence[str]
) -> BlockSystem:
    """The same system in the order of the coordinates, with one block per item.

    Per joint or body of ``velocities`` (names) and per constraint.
    """
    owners = [name.rpartition(".")[0] for name in velocities]
    groups = tuple(
        (name, len(list(same)))
        for each in (owners, constraints)
        for name, same in itertools.groupby(each)
    )
    matrix, right = _bordered(known)
    return BlockSystem("M and G by joints, bodies and constraints", groups, groups, matrix, right)


def _bordered(known: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Matrix [M Gᵀ; G 0] and right side [k; γ] of the equations of motion."""
    nc = len(known.G)
    return np.block([[known.M, known.G.T], [known.G, np.zeros((nc, nc))]]), np.concatenate(
        [known.k, known.gamma]
    )
