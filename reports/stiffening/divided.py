"""Divided bodies against the elastica: a clamped bar with a load at its tip, and a blade on a hub
that starts to rotate.

python reports/stiffening/divided.py        -> divided.png, divided.json, tables on stdout (two minutes)
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
from matplotlib.figure import Figure
from numpy.typing import NDArray
from study import SPIN_UPS, STEP, Beam, largest, on_a_hub, spin_up, tip_deflection
from study import elastica as rotating_elastica

import flexmbs as fm
import preprocess as pp
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.page.style import PALETTE, decades, house_style

HERE = Path(__file__).parent
LENGTH, SIDE, YOUNG = 1.0, 0.02, 2.1e11
EI = YOUNG * SIDE**4 / 12
PIECES, LOADS = (1, 2, 4, 8), (0.1, 0.2, 0.3, 0.4)
# Poisson's ratio, element, ends, cuts
CASES: dict[str, tuple[float, str, Any, str]] = {
    "rigid cuts and ends, ν = 0": (0.0, "hex20", pp.Rigid, "rigid"),
    "rigid cuts and ends, ν = 0.3": (0.3, "hex20", pp.Rigid, "rigid"),
    "averaged cuts, rigid ends, ν = 0.3": (0.3, "hex20", pp.Rigid, "averaged"),
    "averaged cuts and ends, ν = 0.3": (0.3, "hex8", pp.Averaged, "averaged"),
}
BLADE, _ = SPIN_UPS["wuhaug6"]
SPEEDS, BLADE_PIECES, TURNING = (6.0, 12.0), (1, 2, 3, 6), 9.0  # rad/s, pieces, s


def elastica(force: float) -> NDArray[np.float64]:
    """Tip position (x, z) of an inextensible cantilever under a dead load across it: EI θ'' = −F
    cos θ.
    """

    def slope(s: float, y: NDArray[np.float64]) -> list[float]:
        return [y[1], -force / EI * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

    def end(curvature: float) -> NDArray[np.float64]:
        return np.asarray(
            scipy.integrate.solve_ivp(
                slope, (0, LENGTH), [0, curvature, 0, 0], rtol=1e-10, atol=1e-12
            ).y[:, -1]
        )

    root = scipy.optimize.brentq(
        lambda curvature: end(curvature)[1], 0.0, 1.01 * force * LENGTH / EI
    )
    return end(root)[2:]


def bar(pieces: int, case: str) -> DividedBodyData:
    """The divided bar."""
    nu, element, end, cuts = CASES[case]
    mesh, material = (
        pp.box_mesh((LENGTH, SIDE, SIDE), (40, 1, 1), element),
        pp.Isotropic(E=YOUNG, nu=nu, rho=7850.0),
    )
    return pp.reduce_divided(
        pp.divide(mesh, pieces=pieces),
        material,
        interfaces={"root": end("x0"), "tip": end("x1")},
        reference="root",
        cuts=cuts,
        method=pp.CraigBampton(modes=4),
        estimate=False,
    )


def tip(data: DividedBodyData, force: float) -> NDArray[np.float64]:
    """Tip position (x, z) of the bar."""
    model = fm.Model("bar", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Fixed("clamp", model.ground, body["root"]))
    model.add(fm.FrameForce("load", body["tip"], force=(0.0, 0.0, force)))
    return np.asarray(fm.statics(model).solution.frame("bar/tip").position[-1, [0, 2]])


def static_errors() -> dict[str, dict[str, list[float]]]:
    """Error of the tip over the length, by case and number of pieces, at all loads."""
    exact = []
    for deflection in LOADS:
        force = scipy.optimize.brentq(
            lambda load, to=deflection: elastica(load)[1] - to * LENGTH, 300.0, 6000.0
        )
        exact.append((force, elastica(force)))
    found: dict[str, dict[str, list[float]]] = {}
    for case in CASES:
        found[case] = {}
        for pieces in PIECES:
            data = bar(pieces, case)
            found[case][str(pieces)] = [
                float(np.abs(tip(data, force) - end).max() / LENGTH) for force, end in exact
            ]
    return found


def blade(beam: Beam, pieces: int) -> DividedBodyData:
    """The solid beam along x, as the study of undivided ones reduces it, in pieces."""
    size = (beam.L, beam.height, beam.width)
    mesh = pp.box_mesh(size, (30, 1, 1), origin=(0.0, -beam.height / 2, -beam.width / 2))
    return pp.reduce_divided(
        pp.divide(mesh, pieces=pieces),
        pp.Isotropic(E=beam.E, nu=0.0, rho=beam.rho),
        reference="hub",
        interfaces={"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        method=pp.CraigBampton(modes=4),
        estimate=False,
    )


def spun() -> dict[str, dict[str, Any]]:
    """Largest deflection of the tip in the axes of the hub over the length, that of the elastica,
    by speed and pieces.
    """
    found: dict[str, dict[str, Any]] = {}
    for speed in SPEEDS:
        exact, _ = largest(*rotating_elastica(BLADE, speed))
        row: dict[str, Any] = {"elastica": exact / BLADE.L}
        for pieces in BLADE_PIECES:
            model = on_a_hub(blade(BLADE, pieces), spin_up(speed))
            integrator = fm.GeneralizedAlpha(step=STEP, rho_inf=0.9)
            run = fm.simulate(model, t_end=TURNING, output_step=0.02, integrator=integrator)
            peak, _ = largest(run.t, tip_deflection(run)[:, 1])
            deflected = next(check for check in run.audit if check.title == "Deflection of beam")
            row[str(pieces)] = {
                "peak": peak / BLADE.L,
                "difference": peak / exact - 1.0,
                "deflection": deflected.status,
                "remedy": deflected.remedy,
                "energy_balance": float(np.abs(run.energy.balance).max() / run.energy.scale),
            }
            print(speed, pieces, row[str(pieces)], flush=True)
        found[f"{speed:g}"] = row
    return found


def main() -> None:
    found, turning = static_errors(), spun()
    print(
        "| | pieces | "
        + " | ".join(f"{100 * each:g} %" for each in LOADS)
        + " |\n|---|---|"
        + "---|" * len(LOADS)
    )
    for case, rows in found.items():
        for pieces, errors in rows.items():
            print(f"| {case} | {pieces} | " + " | ".join(f"{error:.1e}" for error in errors) + " |")
    print(
        "| Ω | elastica | "
        + " | ".join(f"{pieces}" for pieces in BLADE_PIECES)
        + " |\n|---|---|"
        + "---|" * len(BLADE_PIECES)
    )
    for speed, row in turning.items():
        values = " | ".join(f"{row[str(pieces)]['difference']:.1e}" for pieces in BLADE_PIECES)
        print(f"| {speed} rad/s | {100 * row['elastica']:.2f} % | {values} |")
    table = {"deflections": LOADS, "errors": found, "spun": turning}
    (HERE / "divided.json").write_text(json.dumps(table, indent=1, ensure_ascii=False))
    with house_style():
        figure = Figure(figsize=(6.5, 4.4))
        axes = figure.subplots()
        for color, (case, rows) in zip(PALETTE, found.items()):
            axes.loglog(
                PIECES, [rows[str(pieces)][2] for pieces in PIECES], "o-", color=color, label=case
            )
        axes.set_title("Error of the tip over the length, deflected by 30 %")
        axes.set_xlabel("pieces")
        axes.set_xticks(PIECES, [str(pieces) for pieces in PIECES])
        axes.minorticks_off()
        decades(axes.yaxis)
        axes.legend()
        figure.savefig(HERE / "divided.png", dpi=85)


if __name__ == "__main__":
    main()
