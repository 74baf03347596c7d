"""Rotating beams with and without geometric stiffening: frequencies, and a spin-up in which a
linear beam diverges.

    python reports/stiffening/study.py [frequencies] [spin-up]        -> frequencies.png, spin_up.png, study.json

Frequencies: a slender solid beam on a hub (radius R = 0 and L) that rotates at a constant rate;
steady motion and linearization about it; flapwise μ = ω √(m L⁴/EI) over γ = Ω √(m L⁴/EI) against
the uniform Euler–Bernoulli beam (Wright, Smith, Thresher, Wang, Journal of Applied Mechanics 49
(1982) 197). Spin-up: the beams of Simo and Vu-Quoc (1986) and of Wu and Haug (1988) clamped to a
shaft that accelerates from rest to Ω in 15 s; lateral deflection of the tip in the hub's frame,
with the body frame at the clamped end, in mean axes and of two parts, against the elastica
(inextensible, arbitrary deflection) and against beam equations to second order.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import cumulative_trapezoid, solve_ivp
from scipy.optimize import brentq

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import SolverError
from flexmbs.page.style import house_style, panels

HERE = Path(__file__).parent
REFERENCE = json.loads((HERE / "reference.json").read_text())
RATIO = 100.0  # L/h


class Beam(NamedTuple):
    """Uniform beam of a rectangular section: length, height along y, width along z (m), E (Pa),
    density (kg/m³).
    """

    L: float
    height: float
    width: float
    E: float
    rho: float

    @property
    def time(self) -> float:
        """√(m L⁴/EI) of flapping along z, s."""
        return float(np.sqrt(self.rho * self.L**4 * 12.0 / (self.E * self.width**2)))


def body(
    beam: Beam, *, divisions: int, element: str = "hex20", modes: int = 8, reference: str = "hub"
) -> fm.FlexibleBodyData:
    """The solid beam along x, reduced with rigid faces at its ends (ν = 0, so that they do not
    stiffen it).
    """
    size = (beam.L, beam.height, beam.width)
    mesh = pp.box_mesh(
        size, (divisions, 1, 1), element, origin=(0.0, -beam.height / 2, -beam.width / 2)
    )
    faces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    material = pp.Isotropic(E=beam.E, nu=0.0, rho=beam.rho)
    return pp.reduce(
        mesh,
        material,
        interfaces=faces,
        method=pp.CraigBampton(modes=modes),
        reference=reference,
        damping=0.0,
    )


def on_a_hub(
    data: fm.FlexibleBodyData,
    motion: Any,
    *,
    radius: float = 0.0,
    stiffening: bool = True,
    parts: int = 1,
) -> fm.Model:
    """A beam, of equal ``parts``, clamped to a hub with a prescribed rotation about z."""
    model = fm.Model("beam on a hub", gravity=(0.0, 0.0, 0.0))
    hub = model.add(
        fm.RigidBody("hub", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"rim": (radius, 0.0, 0.0)})
    )
    model.add(fm.Revolute("shaft", model.ground, hub))
    end = hub["rim"]
    for k in reversed(range(parts)):
        beam = model.add(
            fm.FlexibleBody(f"inner beam {k}" if k else "beam", data=data, stiffening=stiffening)
        )
        model.add(fm.Fixed(f"clamp {k}", end, beam["hub"]))
        end = beam["tip"]
    model.add(fm.Drive("motor", "shaft", motion))
    return model


def flap_frequencies(
    data: fm.FlexibleBodyData, speed: float, *, radius: float = 0.0, stiffening: bool = True
) -> np.ndarray:
    """Flapwise angular frequencies (rad/s) about the steady rotation, ascending; empty if there is
    no steady rotation.
    """
    model = on_a_hub(data, fm.Ramp(0.0, speed), radius=radius, stiffening=stiffening)
    try:
        modes = fm.linearize(model, start=fm.statics(model, steady=True)).modes
    except SolverError:
        return np.zeros(0)
    tip = np.abs(data.frames["tip"].phi @ modes.shape[-data.nf :])
    flap = tip[2] > 10.0 * np.maximum(tip[0], tip[1])
    return np.sort(modes.eigenvalue.imag[flap])


def frequencies() -> dict[str, Any]:
    """μ of the first three flapwise modes by hub radius and γ, with and without stiffening, and the
    errors.
    """
    beam = Beam(1.0, 1.6 / RATIO, 1.0 / RATIO, 2.1e11, 7850.0)
    data = body(beam, divisions=40, modes=14)
    found: dict[str, Any] = {"nf": data.nf, "cases": []}
    for radius in (0, 1):
        for gamma, wanted in REFERENCE["flap"][str(radius)].items():
            row: dict[str, Any] = {"radius": radius, "gamma": int(gamma), "beam": wanted}
            for name, on in (("stiffened", True), ("off", False)):
                mu = (
                    flap_frequencies(
                        data, int(gamma) / beam.time, radius=radius * beam.L, stiffening=on
                    )
                    * beam.time
                )
                row[name] = mu[:3].tolist()
            row["error"] = (np.array(row["stiffened"]) / wanted - 1.0).tolist()
            found["cases"].append(row)
            print(
                f"R/L {radius}  γ {gamma:>2}  beam {np.round(wanted, 4)}  stiffened "
                f"{np.round(row['stiffened'], 4)}  "
                f"off {np.round(row['off'], 4)}  error {np.abs(row['error']).max():.1e}",
                flush=True,
            )
    found["largest_error"] = max(float(np.abs(row["error"]).max()) for row in found["cases"])
    return found


T_SPIN, T_END, STEP, OUTPUT = 15.0, 20.0, 5e-3, 0.02
TITLES = {
    "simo": "Simo and Vu-Quoc, Ω = 6 rad/s",
    "wuhaug4": "Wu and Haug, Ω = 4 rad/s",
    "wuhaug6": "Wu and Haug, Ω = 6 rad/s",
}


def square_beam(L: float, EA: float, EI: float, m: float) -> Beam:
    """Beam with a square section that has the given EA (N), EI
    (N m²) and mass per length (kg/m).
    """
    side = float(np.sqrt(12.0 * EI / EA))
    return Beam(L, side, side, EA / side**2, m / side**2)


SPIN_UPS = {
    "simo": (square_beam(10.0, 2.8e7, 1.4e4, 1.2), 6.0),
    "wuhaug4": (square_beam(8.0, 6.895e10 * 7.3e-5, 6.895e10 * 8.218e-9, 2766.67 * 7.3e-5), 4.0),
    "wuhaug6": (square_beam(8.0, 6.895e10 * 7.3e-5, 6.895e10 * 8.218e-9, 2766.67 * 7.3e-5), 6.0),
}


def spin_up(speed: float) -> fm.Function:
    """ψ(t) = Ω/T (t²/2 + (T/2π)² (cos 2πt/T − 1)) up to T, then Ω (t − T/2), with its rates."""
    w = 2.0 * np.pi / T_SPIN

    def angle(t: float) -> tuple[float, float, float]:
        if t > T_SPIN:
            return speed * (t - 0.5 * T_SPIN), speed, 0.0
        turn = 0.5 * t * t + (np.cos(w * t) - 1.0) / w**2
        return (
            speed / T_SPIN * turn,
            speed / T_SPIN * (t - np.sin(w * t) / w),
            speed / T_SPIN * (1.0 - np.cos(w * t)),
        )

    return fm.Function(angle)


def elastica(
    beam: Beam, speed: float, *, terms: int = 4, points: int = 401
) -> tuple[np.ndarray, np.ndarray]:
    """Times and lateral deflection of the tip of the inextensible beam up to 9 s.

    Ritz's method in the angle of its sections, θ(s, t) = Σ a_j w_j'(s) of the clamped modes w_j, r
    = ∫(cos θ, sin θ) ds.
    """
    s = np.linspace(0.0, 1.0, points)
    slope, curvature = np.transpose(
        [_slope_and_curvature(j + 1, s) for j in range(terms)], (1, 0, 2)
    )
    weights = np.gradient(s) * np.where((s == 0.0) | (s == 1.0), 0.5, 1.0)
    K = (curvature * weights) @ curvature.T * beam.E * beam.width * beam.height**3 / (12.0 * beam.L)
    line = beam.rho * beam.width * beam.height * beam.L * weights

    def along(f: np.ndarray) -> np.ndarray:
        return np.asarray(beam.L * cumulative_trapezoid(f, s, axis=-1, initial=0.0))

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        (a, v), (_, spin, spun) = np.split(state, 2), spin_up(speed).state(t)
        c, n, turn = np.cos(a @ slope), np.sin(a @ slope), v @ slope
        X, Y, x, y = along(-n * slope), along(c * slope), along(c), along(n)
        ax = along(-c * turn**2) - spin**2 * x - spun * y - 2.0 * spin * (v @ Y)
        ay = along(-n * turn**2) - spin**2 * y + spun * x + 2.0 * spin * (v @ X)
        M = (X * line) @ X.T + (Y * line) @ Y.T
        return np.append(v, np.linalg.solve(M, -(X * line) @ ax - (Y * line) @ ay - K @ a))

    t = np.linspace(0.0, 9.0, 9001)
    found = solve_ivp(
        rate,
        (0.0, 9.0),
        np.zeros(2 * terms),
        method="LSODA",
        rtol=1e-8,
        atol=1e-10,
        t_eval=t,
        max_step=0.05,
    )
    return t, along(np.sin(found.y[:terms].T @ slope))[:, -1]


def _slope_and_curvature(k: int, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w' and w'' of mode k of a cantilever of length 1."""
    c = brentq(
        lambda c: np.cos(c) + 1.0 / np.cosh(c), (k - 0.5) * np.pi - 0.4, (k - 0.5) * np.pi + 0.4
    )
    b = (np.sinh(c) - np.sin(c)) / (np.cosh(c) + np.cos(c))
    slope = np.sinh(c * s) + np.sin(c * s) - b * (np.cosh(c * s) - np.cos(c * s))
    return slope / c, np.cosh(c * s) + np.cos(c * s) - b * (np.sinh(c * s) + np.sin(c * s))


def run(
    data: fm.FlexibleBodyData, speed: float, *, stiffening: bool, parts: int = 1
) -> tuple[fm.Solution, str]:
    """The spin-up up to its end, and the reason of the end."""
    model = on_a_hub(data, spin_up(speed), stiffening=stiffening, parts=parts)
    try:
        integrator = fm.GeneralizedAlpha(step=STEP, rho_inf=0.9)
        return fm.simulate(
            model, t_end=T_END, output_step=OUTPUT, integrator=integrator
        ), "completed"
    except SolverError as error:
        if not isinstance(error.solution, fm.Solution):
            raise
        return error.solution, str(error)


def tip_deflection(solution: fm.Solution) -> np.ndarray:
    """Position of the tip in the axes of the hub (nt, 3), m."""
    hub, tip = solution.body("hub"), solution.frame("beam/tip")
    return np.einsum("tji,tj->ti", hub.rotation, tip.position - hub.position)


def largest(t: np.ndarray, deflection: np.ndarray) -> tuple[float, float]:
    """The lowest value and its time, by a parabola through the values around it."""
    peak = int(np.argmin(deflection))
    near = slice(peak - 2, peak + 3)
    fit = np.polyfit(t[near] - t[peak], deflection[near], 2)
    return float(fit[2] - fit[1] ** 2 / (4.0 * fit[0])), float(t[peak] - fit[1] / (2.0 * fit[0]))


def spin_ups() -> tuple[dict[str, Any], dict[str, Any]]:
    """Largest deflections, divergence of the unstiffened beam, and histories for the plot."""
    table, curves = {}, {}
    for name, (beam, speed) in SPIN_UPS.items():
        wanted = REFERENCE["spin_up"][name]
        exact, when = largest(*elastica(beam, speed))
        row = {
            "elastica": exact,
            "time_of_peak": when,
            "second_order": wanted["peak"] / exact - 1.0,
        }
        for what, frame, parts in (
            ("two parts", "mean axes", 2),
            ("hub", "hub", 1),
            ("mean axes", "mean axes", 1),
        ):
            part = beam._replace(L=beam.L / parts)
            data = body(part, divisions=30 // parts, modes=8, reference=frame)
            on, _ = run(data, speed, stiffening=True, parts=parts)
            tip = tip_deflection(on)
            peak, when = largest(on.t, tip[:, 1])
            row[what] = {
                "peak": peak,
                "time_of_peak": when,
                "difference": peak / exact - 1.0,
                "difference_from_second_order": peak / wanted["peak"] - 1.0,
                "shortening_at_peak": float(beam.L - tip[np.argmin(tip[:, 1]), 0]),
                "steady_extension": float(np.mean(tip[on.t > T_SPIN + 1.0, 0]) - beam.L),
                "energy_balance": float(np.abs(on.energy.balance).max() / on.energy.scale),
                "verdict": on.verdict,
            }
        off, outcome = run(body(beam, divisions=30, modes=8), speed, stiffening=False)
        tip_off = tip_deflection(off)
        beyond = np.flatnonzero(np.abs(tip_off[:, 1]) > beam.L / 2.0)
        table[name] = row | {
            "off_exceeds_half_length_at": float(off.t[beyond[0]]),
            "off_outcome": outcome,
        }
        curves[name] = {
            "t": on.t,
            "v": tip[:, 1],
            "t_off": off.t[: beyond[0]],
            "v_off": tip_off[: beyond[0], 1],
        }
        print(name, table[name], flush=True)
    return table, curves


def draw_frequencies(found: dict[str, Any]) -> Figure:
    """μ over γ: beam theory, the program, and the program without stiffening."""
    figure = Figure(figsize=(8.6, 5.2))
    axes = figure.subplots(1, 2, sharey=True)
    for ax, radius in zip(axes, (0, 1)):
        rows = [row for row in found["cases"] if row["radius"] == radius]
        gamma = [row["gamma"] for row in rows]
        for mode in range(3):
            first = mode == 0
            ax.plot(
                gamma,
                [row["beam"][mode] for row in rows],
                color="#5d6b7a",
                label="beam theory" if first else None,
            )
            style = {"linestyle": "none", "marker": "o", "markersize": 4.5, "color": "#1f5a94"}
            ax.plot(
                gamma,
                [row["stiffened"][mode] for row in rows],
                label="with geometric stiffness" if first else None,
                **style,
            )
            style |= {"marker": "x", "markersize": 5.5, "color": "#d07a36"}
            off = [row["off"][mode] if len(row["off"]) > mode else np.nan for row in rows]
            ax.plot(gamma, off, label="without" if first else None, **style)
        ax.set_title(f"hub radius R = {'0' if radius == 0 else 'L'}")
        ax.set_xlabel("speed γ = Ω √(mL⁴/EI)")
        ax.set_xlim(-0.3, 10.3)
    axes[0].set_ylabel("flapwise frequency μ = ω √(mL⁴/EI)")
    axes[0].legend(loc="upper left", bbox_to_anchor=(0.0, 0.62))
    return figure


def draw_spin_ups(curves: dict[str, Any]) -> Figure:
    """Lateral deflection of the tips over time."""
    figure, axes = panels(len(curves), height=2.2)
    for ax, (name, curve) in zip(axes, curves.items()):
        wanted = REFERENCE["spin_up"][name]
        ax.plot(curve["t"], curve["v"], color="#1f5a94", label="with geometric stiffness")
        ax.plot(curve["t_off"], curve["v_off"], color="#d07a36", label="without")
        ax.plot(wanted["t"], wanted["v"], "o", color="#5d6b7a", markersize=3.5, label="beam theory")
        ax.set_xlim(0.0, T_END)
        low = 1.25 * wanted["peak"]
        ax.set_ylim(2.2 * low, -0.5 * low)
        ax.set_title(f"{TITLES[name]}: tip deflection in the hub's frame (m)")
    axes[0].legend(loc="lower right", ncol=3)
    axes[-1].set_xlabel("time (s)")
    return figure


def main() -> None:
    chosen = sys.argv[1:] or ["frequencies", "spin-up"]
    target = HERE / "study.json"
    table = json.loads(target.read_text()) if target.exists() else {}
    with house_style():
        if "frequencies" in chosen:
            table["frequencies"] = frequencies()
            draw_frequencies(table["frequencies"]).savefig(HERE / "frequencies.png", dpi=120)
        if "spin-up" in chosen:
            table["spin_up"], curves = spin_ups()
            draw_spin_ups(curves).savefig(HERE / "spin_up.png", dpi=120)
    target.write_text(json.dumps(table, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
