"""Certified reductions of the three parts: proved against measured errors.

    python reports/reduction/certified.py        -> certified.png, certified.json, table on stdout

Frequencies of the full models by ARPACK and SuperLU (`study.solve_full`), transfer functions by
direct solutions at the resonances of the free body and between them.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg as sla
from matplotlib.figure import Figure
from numpy.typing import NDArray
from parts import Part, parts
from study import allowed, solve_full

from flexmbs.errors import InputError
from flexmbs.page.style import PALETTE, decades, house_style
from preprocess.fe.interfaces import BoundInterface, bind_interfaces
from preprocess.reduction.certificate import AccuracyRequest, Certificate
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.smallest_basis import smallest_basis
from preprocess.reduction.transfer_error import LOSS

Array = NDArray[np.float64]
HERE = Path(__file__).parent
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
SOLUTIONS = 8  # direct ones for the transfer functions


class Direct:
    """Elastic transfer functions of the full free body, scaled, at some s = ω²."""

    def __init__(self, part: Part, statics: InterfaceStatics, at: Array) -> None:
        T = allowed(part, list(statics.interfaces), held=False)
        K, M, L = T.T @ part.fe.K @ T, T.T @ part.fe.M @ T, T.T @ statics.interface_loads
        rigid = statics.interface_loads.T @ statics.rigid_modes
        compliance = statics.interface_loads.T @ statics.free_response(statics.interface_loads)
        self.at, self.scale = at, 1.0 / np.sqrt(np.diag(compliance))[:, None]
        self.H = []
        for s in at:
            A = ((1 + 1j * LOSS) * K - s * M).tocsc()
            factor = sla.splu(
                A,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
            self.H.append(
                self.scale
                * (L.T @ factor.solve(L.astype(complex)) + rigid @ rigid.T / s)
                * self.scale.T
            )

    def error(self, reduced: FreeReduction) -> float:
        """Largest error of a reduction, as that of a frequency."""
        lam, motion = reduced.ritz(None)
        b, worst = self.scale * (reduced.elastic @ motion[:-6]), 0.0
        for s, H in zip(self.at, self.H):
            d = lam * (1 + 1j * LOSS) - s
            size = (np.einsum("ij,ij->j", b, b) / np.abs(d)).sum()
            worst = max(
                worst,
                0.5 * float(np.linalg.norm(H - (b / d) @ b.T, 2) / size * (np.abs(d) / lam).min()),
            )
        return worst


def rows_of(part: Part) -> list[dict[str, Any]]:
    bound: list[BoundInterface] = bind_interfaces(
        part.interfaces, part.fe.nodes, part.fe.node_sets, part.fe.triangles
    )
    full = solve_full(part, bound, np.linspace(0.5, 1.0, 400) * part.band)
    statics = InterfaceStatics(part.fe, bound)
    inside = full.free[full.free < part.band]
    points = np.concatenate([inside, np.linspace(0.3, 1.0, SOLUTIONS) * part.band])[
        -SOLUTIONS - len(inside) :
    ]
    direct = Direct(part, statics, np.sort((2 * np.pi * points) ** 2))
    return [
        row
        for tolerance in TOLERANCES
        if (row := _row(part, statics, tolerance, (full.free, full.held), direct))
    ]


def _row(
    part: Part,
    statics: InterfaceStatics,
    tolerance: float,
    full: tuple[Array, Array],
    direct: Direct,
) -> dict[str, Any] | None:
    began = time.perf_counter()
    try:
        method, basis, reference = smallest_basis(
            statics, AccuracyRequest(part.band, tolerance), lambda *_: None
        )
    except InputError as error:
        print(f"{part.name}: {error}")
        return None
    shapes = elastic_shapes(statics, basis.shapes).shapes
    reduced = FreeReduction.of(statics, shapes)
    found = reference.certificate(reduced)
    seconds, (proved, measured) = time.perf_counter() - began, _frequency_errors(found, full)
    return {
        "part": part.name,
        "tolerance": tolerance,
        "method": type(method).__name__,
        "modes": len(basis.normal_frequencies),
        "shapes": shapes.shape[1],
        "seconds": round(seconds, 1),
        "proved": proved,
        "measured": measured,
        "transfer proved": found.transfer.as_frequency,
        "transfer measured": direct.error(reduced),
    }


def _frequency_errors(
    found: Certificate, full: tuple[Array, Array]
) -> tuple[list[float], list[float]]:
    """Of all frequencies in the band, free and held at the first interface."""
    proved, measured = list[float](), list[float]()
    for bounds, values in zip(found.supports, full):
        m = len(bounds.reduced)
        assert (bounds.lower <= values[:m] * (1 + 1e-7)).all()
        assert (values[:m] <= bounds.upper * (1 + 1e-7)).all()
        proved += bounds.error.tolist()
        measured += (bounds.reduced / values[:m] - 1).tolist()
    return proved, measured


def draw(rows: list[dict[str, Any]]) -> Figure:
    """Shapes by tolerance; proved against measured errors."""
    figure = Figure(figsize=(11.0, 4.6))
    size, errors = figure.subplots(1, 2)
    for color, name in zip(PALETTE, dict.fromkeys(row["part"] for row in rows)):
        own = [row for row in rows if row["part"] == name]
        size.semilogx(
            [row["tolerance"] for row in own],
            [row["shapes"] for row in own],
            "o-",
            color=color,
            label=name,
        )
        x = np.concatenate([np.maximum(row["measured"], 1e-9) for row in own])
        errors.loglog(
            x,
            np.concatenate([row["proved"] for row in own]),
            "o",
            color=color,
            markersize=4,
            mfc="none",
        )
        transfer = (
            [row["transfer measured"] for row in own],
            [row["transfer proved"] for row in own],
        )
        errors.loglog(*transfer, "s", color=color, markersize=7, mfc="none")
    span = np.array([1e-9, 1.0])
    errors.loglog(span, span, color="black", linewidth=0.8)
    errors.loglog(span, 10 * span, color="black", linewidth=0.8, linestyle="--")
    size.set_title("Elastic shapes of the smallest proved basis")
    size.set_xlabel("tolerance")
    errors.set_title("Proved error (circles: frequencies, squares: transfer)")
    errors.set_xlabel("measured error (lines: equal, ten times)")
    for axis in (size.xaxis, errors.xaxis, errors.yaxis):
        decades(axis)
    size.legend()
    return figure


def main() -> None:
    rows = [row for part in parts() for row in rows_of(part)]
    print(
        "| part | tolerance | method | modes | shapes | frequencies proved | measured | "
        "transfer proved | measured | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        errors = [
            max(row["proved"]),
            max(row["measured"]),
            row["transfer proved"],
            row["transfer measured"],
        ]
        cells = [f"{error:.1e}" for error in errors]
        names = [row["part"], f"{row['tolerance']:g}", row["method"], row["modes"], row["shapes"]]
        print("| " + " | ".join(map(str, [*names, *cells, row["seconds"]])) + " |")
    with house_style():
        draw(rows).savefig(HERE / "certified.png", dpi=85)
    (HERE / "certified.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
