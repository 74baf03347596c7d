"""A clamped bar with a load at its tip, divided into pieces that are welded at the cuts, against the elastica.

python reports/stiffening/divided.py        -> divided.png, divided.json, table on stdout (a minute)
"""

import json
from pathlib import Path

import numpy as np
import scipy.integrate
import scipy.optimize
from matplotlib.figure import Figure
from numpy.typing import NDArray

import flexmbs as fm
import preprocess as pp
from flexmbs.page.style import PALETTE, decades, house_style

HERE = Path(__file__).parent
LENGTH, SIDE, YOUNG = 1.0, 0.02, 2.1e11
EI = YOUNG * SIDE**4 / 12
PIECES, LOADS = (1, 2, 4, 8), (0.1, 0.2, 0.3, 0.4)
CASES = {"rigid, ν = 0": (0.0, pp.Rigid), "rigid, ν = 0.3": (0.3, pp.Rigid), "averaged, ν = 0.3": (0.3, pp.Averaged)}


def elastica(force: float) -> NDArray[np.float64]:
    """Tip position (x, z) of an inextensible cantilever under a dead load across it: EI θ'' = −F cos θ."""

    def slope(s: float, y: NDArray[np.float64]) -> list[float]:
        return [y[1], -force / EI * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

    def end(curvature: float) -> NDArray[np.float64]:
        return np.asarray(scipy.integrate.solve_ivp(slope, (0, LENGTH), [0, curvature, 0, 0], rtol=1e-10, atol=1e-12).y[:, -1])

    root = scipy.optimize.brentq(lambda curvature: end(curvature)[1], 0.0, 1.01 * force * LENGTH / EI)
    return end(root)[2:]


def tip(pieces: int, force: float, case: str) -> NDArray[np.float64]:
    """Tip position (x, z) of the divided bar."""
    nu, kind = CASES[case]
    bar, material = pp.box_mesh((LENGTH, SIDE, SIDE), (40, 1, 1)), pp.Isotropic(E=YOUNG, nu=nu, rho=7850.0)
    model = fm.Model("bar", gravity=(0, 0, 0))
    end: fm.FrameRef = model.ground
    for k, mesh in enumerate(pp.divide(bar, pieces=pieces) if pieces > 1 else (bar,), 1):
        first, last = ("x0" if k == 1 else f"cut {k - 1}"), ("x1" if k == pieces else f"cut {k}")
        interfaces = {name: (pp.Rigid if name in ("x0", "x1") else kind)(name) for name in (first, last)}
        data = pp.reduce(mesh, material, interfaces=interfaces, method=pp.CraigBampton(modes=4), reference=first, estimate=False)
        piece = model.add(fm.FlexibleBody(f"bar {k}", data=data))
        model.add(fm.Fixed(f"weld {k}", end, piece[first]))
        end = piece[last]
    model.add(fm.FrameForce("load", end, force=(0.0, 0.0, force)))
    position = fm.statics(model).solution.frame(str(end)).position[-1]
    return np.array([position[0], position[2]])


def main() -> None:
    found: dict[str, dict[str, list[float]]] = {}
    exact = []
    for deflection in LOADS:
        force = scipy.optimize.brentq(lambda load, to=deflection: elastica(load)[1] - to * LENGTH, 300.0, 6000.0)
        exact.append((force, elastica(force)))
    for case in CASES:
        found[case] = {}
        for pieces in PIECES:
            off = [np.abs(tip(pieces, force, case) - end).max() for force, end in exact]
            found[case][str(pieces)] = [float(each / LENGTH) for each in off]
    print("| cuts | pieces | " + " | ".join(f"{100 * each:g} %" for each in LOADS) + " |\n|---|---|" + "---|" * len(LOADS))
    for case, rows in found.items():
        for pieces, errors in rows.items():
            print(f"| {case} | {pieces} | " + " | ".join(f"{error:.1e}" for error in errors) + " |")
    (HERE / "divided.json").write_text(json.dumps({"deflections": LOADS, "errors": found}, indent=1, ensure_ascii=False))
    with house_style():
        figure = Figure(figsize=(6.5, 4.4))
        axes = figure.subplots()
        for color, (case, rows) in zip(PALETTE, found.items()):
            axes.loglog(PIECES, [rows[str(pieces)][2] for pieces in PIECES], "o-", color=color, label=case)
        axes.set_title("Error of the tip over the length, deflected by 30 %")
        axes.set_xlabel("pieces")
        axes.set_xticks(PIECES, [str(pieces) for pieces in PIECES])
        axes.minorticks_off()
        decades(axes.yaxis)
        axes.legend()
        figure.savefig(HERE / "divided.png", dpi=85)


if __name__ == "__main__":
    main()
