"""Reductions of three parts against their full finite-element models: frequencies, frequency
responses, estimated errors.

    python reports/reduction/study.py        -> link.png, plate.png, crank.png, reduction.json, tables on stdout

The full models are solved independently of the reductions: ARPACK with SuperLU for the frequencies,
and the sum of many modes and of six moments of the remainder for the responses, verified by direct
solutions at two frequencies.
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from parts import Part, parts

import preprocess as pp
from flexmbs.page.style import INK, PALETTE, decades, house_style
from preprocess.fe.interfaces import BoundInterface, bind_interfaces
from preprocess.reduction import Reduction
from preprocess.reduction.accuracy import accuracy
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics

Array = NDArray[np.float64]
HERE = Path(__file__).parent
MODES, LOSS, POINTS, SHOWN = 10, 0.01, 400, 12
FULL_MODES, MOMENTS = 60, 6


def methods(part: Part) -> dict[str, Reduction]:
    first, count = next(iter(part.interfaces)), MODES + 6 * (len(part.interfaces) - 1)
    return {
        "Guyan": pp.Guyan(),
        "Craig–Bampton": pp.CraigBampton(modes=MODES),
        "Craig–Bampton, inertia relief": pp.CraigBampton(modes=MODES, inertia_relief=True),
        "Rubin": pp.Rubin(modes=MODES),
        "Craig–Chang": pp.CraigChang(),
        "Krylov about 0": pp.Krylov(moments=2),
        "Krylov about 0 and the band": pp.Krylov(frequencies=(0.0, part.band), moments=1),
        "free modes": pp.FreeModes(modes=count),
        "clamped modes": pp.ClampedModes(at=first, modes=count),
    }


class Full(NamedTuple):
    """Full model: frequencies [Hz] of the free and of the held body, the receptance (points,) of
    the held one at the loaded interface, and its largest deviation from direct solutions."""

    free: Array
    held: Array
    response: Array
    check: float


class Reduced(NamedTuple):
    """A reduction: size, seconds, frequencies and estimated errors, receptance (points,), error of
    the compliance.
    """

    size: int
    seconds: float
    free: Array
    held: Array
    estimates: dict[str, Array]
    response: Array
    compliance: float


def allowed(part: Part, bound: list[BoundInterface], held: bool) -> sp.csr_matrix:
    """Displacements (3N, n) admissible for rigid interfaces, optionally with the first of them
    held.
    """
    size = 3 * len(part.fe.nodes)
    driven = np.concatenate(
        [(3 * b.nodes[:, None] + np.arange(3)).ravel() for b in bound if b.drives_nodes]
    )
    columns = [sp.eye(size, format="csc")[:, np.setdiff1d(np.arange(size), driven)]]
    for b in bound[1 if held else 0 :]:
        if b.drives_nodes:
            T = sp.lil_matrix((size, 6))
            T[(3 * b.nodes[:, None] + np.arange(3)).ravel()] = b.rigid_motion.reshape(-1, 6)
            columns.append(T.tocsc())
    return sp.hstack(columns).tocsr()


def load(part: Part, bound: list[BoundInterface]) -> Array:
    """Unit force at the loaded interface along the part's axis (3N,)."""
    found = np.zeros(3 * len(part.fe.nodes))
    b = next(b for b in bound if b.name == part.loaded)
    found[(3 * b.nodes[:, None] + np.arange(3)).ravel()] = b.average[part.axis]
    return found


def solve_full(part: Part, bound: list[BoundInterface], frequency: Array) -> Full:
    shift = (0.2 * 2 * np.pi * part.band) ** 2
    found = []
    for held in (False, True):
        T = allowed(part, bound, held)
        K, M = (T.T @ part.fe.K @ T).tocsc(), (T.T @ part.fe.M @ T).tocsc()
        factor = sla.splu(
            K + shift * M,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        inverse = sla.LinearOperator(K.shape, matvec=factor.solve, dtype=float)
        omega2, modes = sla.eigsh(K, FULL_MODES if held else 36, M, sigma=-shift, OPinv=inverse)
        found.append((K, M, factor, *_sorted(omega2, modes), T))
    K, M, factor, omega2, modes, T = found[1]
    f = T.T @ load(part, bound)
    response = _full_response((omega2, modes), factor.solve, M, f, shift, frequency)
    check = 0.0
    for at in (POINTS // 7, POINTS - 9):
        A = ((1 + 1j * LOSS) * K - (2 * np.pi * frequency[at]) ** 2 * M).tocsc()
        direct = f @ sla.splu(A, permc_spec="MMD_AT_PLUS_A").solve(f.astype(complex))
        check = max(check, abs(direct / response[at] - 1))
    hertz = [np.sqrt(np.maximum(each[3], 0)) / (2 * np.pi) for each in found]
    return Full(hertz[0][6:], hertz[1], response, check)


def _sorted(omega2: Array, modes: Array) -> tuple[Array, Array]:
    order = np.argsort(omega2)
    return omega2[order], modes[:, order]


def _full_response(
    pairs: tuple[Array, Array],
    solve: Any,
    M: sp.csc_matrix,
    f: Array,
    shift: float,
    frequency: Array,
) -> Array:
    """fᵀ (K (1 + iη) − ω² M)⁻¹ f: the sum of the modes, the
    remainder by its moments about −shift.
    """
    omega2, modes = pairs
    terms, X = [], f
    for _ in range(MOMENTS):
        X = solve(X - M @ (modes @ (modes.T @ X)))
        terms.append(f @ X)
        X = M @ X
    mu = (2 * np.pi * frequency) ** 2 / (1 + 1j * LOSS)
    modal = np.einsum("j,wj->w", (modes.T @ f) ** 2, 1 / (omega2[None] - mu[:, None]))
    rest = sum((mu + shift) ** j * term for j, term in enumerate(terms))
    return (modal + rest) / (1 + 1j * LOSS)


def solve_reduced(
    part: Part, statics: InterfaceStatics, method: Reduction, frequency: Array
) -> Reduced:
    began = time.perf_counter()
    basis = method.basis(statics, lambda *_: None)
    shapes = elastic_shapes(statics, basis.shapes).shapes
    seconds = time.perf_counter() - began
    found = accuracy(statics, shapes, part.band)
    hold, R = statics.interface_loads[:, :6].T, statics.rigid_modes
    follow = np.linalg.solve(hold @ R, hold @ shapes)
    K, M = shapes.T @ (part.fe.K @ shapes), np.eye(shapes.shape[1]) + follow.T @ follow
    f = (shapes - R @ follow).T @ load(part, list(statics.interfaces))
    mu = (2 * np.pi * frequency) ** 2 / (1 + 1j * LOSS)
    response = np.array([f @ np.linalg.solve(K - m * M, f) for m in mu]) / (1 + 1j * LOSS)
    free, held = found.frequencies[0], found.frequencies[1]
    estimates = {"free": free.error, "held": held.error}
    return Reduced(
        shapes.shape[1],
        seconds,
        free.frequency,
        held.frequency,
        estimates,
        response,
        max(found.compliance.values()),
    )


def draw(part: Part, full: Full, reduced: dict[str, Reduced], frequency: Array) -> Figure:
    """Response at the loaded interface; its error; errors of the frequencies of the free and of the
    held body by mode.
    """
    figure = Figure(figsize=(11.0, 8.0))
    axes = figure.subplots(2, 2)
    (response, error), (free, held) = axes
    first = next(iter(part.interfaces))
    response.semilogy(
        frequency, np.abs(full.response), color="black", linewidth=2.4, label="full model"
    )
    for number, (name, each) in enumerate(reduced.items()):
        color = (*PALETTE, INK)[number]
        style = {
            "linewidth": 1.1,
            "label": f"{name} ({each.size})",
            "color": color,
            "linestyle": "--" if color == INK else "-",
        }
        response.semilogy(frequency, np.abs(each.response), **style)
        off = np.abs(each.response - full.response) / np.abs(full.response)
        error.semilogy(frequency, np.maximum(off, 1e-9), color=color, linewidth=1.1)
        for ax, kind, ours, theirs in (
            (free, "free", each.free, full.free),
            (held, "held", each.held, full.held),
        ):
            measured = np.maximum(ours / theirs[: len(ours)] - 1, 1e-13)
            count = 1 + np.arange(len(ours))
            ax.semilogy(count, measured, color=color, linewidth=1.1)
            ax.semilogy(
                count,
                np.maximum(each.estimates[kind], 1e-13),
                "o",
                color=color,
                markersize=4,
                mfc="none",
            )
    unit = "xyz"[part.axis]
    response.set_title(f"Receptance at {part.loaded} along {unit}, held at {first} (m/N)")
    error.set_title("Relative error of the receptance")
    free.set_title("Error of the frequencies, free body")
    held.set_title(f"Error of the frequencies, held at {first}")
    for ax in (response, error):
        ax.set_xlabel("Hz")
        ax.axvline(part.band, color="#5d6b7a", linewidth=0.8, linestyle=":")
    for ax in (free, held):
        ax.margins(x=0.02)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("mode (lines: measured; circles: estimated)")
    for ax in axes.ravel():
        decades(ax.yaxis)
    figure.legend(loc="outside lower center", ncol=5)
    return figure


def facts(full: Full, each: Reduced, inside: NDArray[np.bool_]) -> dict[str, Any]:
    """Numbers of a reduction for the table."""
    off = np.abs(each.response[inside] - full.response[inside]) / np.abs(full.response[inside])
    result: dict[str, Any] = {
        "size": each.size, "seconds": round(each.seconds, 2), "compliance": each.compliance,
        "response": float(np.sqrt(np.mean(off**2))),
    }  # fmt: skip
    for kind, ours, theirs in (("free", each.free, full.free), ("held", each.held, full.held)):
        measured = ours / theirs[: len(ours)] - 1
        seen = measured > 1e-9
        ratio = each.estimates[kind][seen] / measured[seen]
        result[kind] = float(max(measured.max(), 0.0))
        result[f"{kind} estimate to measured"] = (
            [float(ratio.min()), float(ratio.max())] if seen.any() else []
        )
    return result


def automatic(part: Part, statics: InterfaceStatics, full: Full) -> list[dict[str, Any]]:
    """Numbers of modes selected by modes="auto", and their errors."""
    rows = []
    for method, tolerances in ((pp.CraigBampton, (1e-2, 1e-3)), (pp.Rubin, (1e-2, 1e-3, 1e-4))):
        for tolerance in tolerances:
            basis = method(modes="auto", band=part.band, tolerance=tolerance).basis(
                statics, lambda *_: None
            )
            found = accuracy(statics, elastic_shapes(statics, basis.shapes).shapes, part.band)
            pairs = [
                (found.frequencies[0].frequency, full.free),
                (found.frequencies[1].frequency, full.held),
            ]
            measured = max(float((ours / theirs[: len(ours)] - 1).max()) for ours, theirs in pairs)
            rows.append(
                {
                    "method": method.__name__,
                    "tolerance": tolerance,
                    "modes": len(basis.normal_frequencies),
                    "estimated": found.worst_frequency,
                    "measured": measured,
                }
            )
    return rows


def show(name: str, table: dict[str, dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    print(
        f"\n### {name}\n\n| reduction | shapes | free | held | estimate / measured | "
        "compliance | response |"
    )
    print("|---|---|---|---|---|---|---|")
    for method, each in table.items():
        ratios = each["free estimate to measured"] + each["held estimate to measured"]
        span = f"{min(ratios):.2f} … {max(ratios):.2f}" if ratios else "–"
        errors = " | ".join(f"{each[key]:.1e}" for key in ("free", "held"))
        print(
            f"| {method} | {each['size']} | {errors} | {span} | {each['compliance']:.1e} "
            f"| {each['response']:.1e} |"
        )
    print(
        '\n| modes="auto" | tolerance | normal modes | estimated | measured '
        "|\n|---|---|---|---|---|"
    )
    for row in rows:
        print(
            f"| {row['method']} | {row['tolerance']:g} | {row['modes']} | "
            f"{row['estimated']:.1e} | {row['measured']:.1e} |"
        )


def main() -> None:
    results: dict[str, Any] = {}
    for part in parts():
        bound = bind_interfaces(
            part.interfaces, part.fe.nodes, part.fe.node_sets, part.fe.triangles
        )
        frequency = np.linspace(0.02, 1.3, POINTS) * part.band
        began = time.perf_counter()
        full = solve_full(part, bound, frequency)
        print(
            f"{part.name}: {3 * len(part.fe.nodes)} degrees of freedom, full model "
            f"{time.perf_counter() - began:.1f} s, "
            f"responses against direct solutions {full.check:.1e}"
        )
        statics = InterfaceStatics(part.fe, bound)
        reduced = {
            name: solve_reduced(part, statics, method, frequency)
            for name, method in methods(part).items()
        }
        with house_style():
            draw(part, full, reduced, frequency).savefig(HERE / f"{part.name}.png", dpi=85)
        table = {name: facts(full, each, frequency <= part.band) for name, each in reduced.items()}
        rows = automatic(part, statics, full)
        show(part.name, table, rows)
        results[part.name] = {
            "degrees_of_freedom": 3 * len(part.fe.nodes),
            "band": part.band,
            "direct_check": full.check,
            "free": full.free[:SHOWN].tolist(),
            "held": full.held[:SHOWN].tolist(),
            "methods": table,
            "automatic": rows,
        }
    (HERE / "reduction.json").write_text(json.dumps(results, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
