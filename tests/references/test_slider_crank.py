"""Slider-crank with a flexible connecting rod (Simeon 1996; Test Set for IVP Solvers) as a
user-defined body.

The rod has two lateral shapes sin πξ, sin 2πξ and two axial ones 4ξ(1 − ξ), ξ(2ξ − 1) over its
chord. The published model takes 15 times the consistent axial mass; its digits need that mass, and
a second reference solution has the consistent one.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.motions import Ball, Slide

DATA = json.loads((Path(__file__).parent / "data" / "slider_crank.json").read_text())
M1, M2, M3, L1, L2, J1, J2 = 0.36, 0.151104, 0.075552, 0.15, 0.30, 0.002727, 0.0045339259
E, RHO, SIDE, OMEGA = 0.2e12, 7870.0, 0.008, 150.0
MASS = RHO * SIDE**2 * L2
PI = np.pi


def stiffness() -> np.ndarray:
    """Bending and stretching of a beam of square section."""
    c, bending = E * SIDE**2 / L2, (SIDE / L2) ** 2
    K = np.zeros((4, 4))
    K[0, 0], K[1, 1] = c * PI**4 / 24.0 * bending, c * PI**4 * 2.0 / 3.0 * bending
    K[2:, 2:] = c / 3.0 * np.array([[16.0, -8.0], [-8.0, 7.0]])
    return K


def rod(axial_mass: float) -> fm.FlexibleBodyData:
    """Integrals ∫φ dm, ∫x φ dm, ∫φ φ dm of the four shapes over dm = MASS dξ, x = L2 ξ; axial mass
    times a factor.
    """
    S_bar, xS, SS = np.zeros((3, 4)), np.zeros((3, 3, 4)), np.zeros((3, 3, 4, 4))
    S_bar[0] = MASS * np.array([0.0, 0.0, 2.0 / 3.0, 1.0 / 6.0])
    S_bar[1] = MASS * np.array([2.0 / PI, 0.0, 0.0, 0.0])
    xS[0, 0] = MASS * L2 * np.array([0.0, 0.0, 1.0 / 3.0, 1.0 / 6.0])
    xS[0, 1] = MASS * L2 * np.array([1.0 / PI, -1.0 / (2.0 * PI), 0.0, 0.0])
    SS[1, 1, 0, 0] = SS[1, 1, 1, 1] = MASS / 2.0
    SS[0, 0, 2:, 2:] = axial_mass * MASS / 15.0 * np.array([[8.0, 1.0], [1.0, 2.0]])
    SS[0, 1, 2:, :2] = MASS * np.array(
        [[16.0 / PI**3, 0.0], [1.0 / PI - 8.0 / PI**3, -1.0 / (2.0 * PI)]]
    )
    SS[1, 0] = SS[0, 1].T
    across = M2 * SIDE**2 / 12.0
    along = J2 - across
    end = fm.FlexibleFrame.at_node(
        (L2, 0.0, 0.0), np.array([[0.0, 0.0, 0.0, 1.0], [0.0] * 4, [0.0] * 4])
    )
    return fm.FlexibleBodyData.from_integrals(
        "rod",
        mass=M2,
        first_moment=(M2 * L2 / 2.0, 0.0, 0.0),
        second_moment=np.diag([along, across, across]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=stiffness(),
        frames={"end": end},
    )


def slider_crank(data: fm.FlexibleBodyData, start: list[float]) -> fm.Model:
    """Crank at constant speed, rod, and a slider on the x axis that holds the end of the rod on a
    line across the plane.
    """
    p1, p2, x3, v1, v2, v3 = *start[:3], *start[7:10]
    model = fm.Model("slider-crank", gravity=(0.0, 0.0, 0.0))
    shape = {"com": (L1 / 2.0, 0.0, 0.0), "frames": {"pin": (L1, 0.0, 0.0)}}
    moment = J1 - M1 * L1**2 / 4.0
    crank = model.add(fm.RigidBody("crank", mass=M1, inertia=(moment, moment, moment), **shape))
    flexible = model.add(
        fm.FlexibleBody("rod", data=data, qf0=tuple(start[3:7]), qf_dot0=tuple(start[10:14]))
    )
    slider = model.add(fm.RigidBody("slider", mass=M3, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("crank shaft", model.ground, crank, q0=p1, v0=v1))
    model.add(fm.Revolute("crank pin", crank["pin"], flexible, q0=p2 - p1, v0=v2 - v1))
    model.add(fm.Prismatic("guide", model.ground, slider, q0=x3, v0=v3))
    turned = (np.cos(p2 / 2.0), 0.0, 0.0, np.sin(p2 / 2.0))
    model.add(
        fm.Chain(
            "piston pin", slider, flexible["end"], motions=(Slide("z"), Ball()), q0=(0.0, *turned)
        )
    )
    model.add(fm.Drive("motor", "crank shaft", fm.Ramp(0.0, OMEGA)))
    return model


def state(solution: fm.Solution) -> tuple[np.ndarray, np.ndarray]:
    """(φ1, φ2, x3, q1 … q4) over time, and its rates."""
    shaft, pin, guide = (solution.joint(name) for name in ("crank shaft", "crank pin", "guide"))
    rod = solution.body("rod")

    def row(joint: str, elastic: np.ndarray) -> np.ndarray:
        a, b, c = (getattr(view, joint)[:, 0] for view in (shaft, pin, guide))
        return np.column_stack([a, a + b, c, elastic])

    return row("position", rod.elastic), row("velocity", rod.elastic_rate)


RIGID_START = [0.0, 0.0, L1 + L2, 0.0, 0.0, 0.0, 0.0, OMEGA, -75.0, 0.0, 0.0, 0.0, 0.0, 0.0]
CASES = {
    "published": (15.0, DATA["start"], DATA["published"]),
    "rigid start": (15.0, RIGID_START, DATA["rigid_start"]),
    "consistent mass": (1.0, RIGID_START, DATA["consistent_mass"]),
}


@pytest.mark.parametrize(
    ("case", "coordinates", "tolerance"),
    [
        ("published", "joint", 1e-9),
        ("published", "absolute", 1e-9),
        ("rigid start", "joint", 1e-8),
        ("consistent mass", "joint", 1e-8),
    ],
)
def test_slider_crank(case: str, coordinates: str, tolerance: float) -> None:
    """Angles and slider to 1e-6, lateral shapes to 1e-4 of their values after 0.1 s (2.4 turns)."""
    axial_mass, start, final = CASES[case]
    method = fm.DormandPrince(rtol=tolerance, atol=tolerance)
    model = slider_crank(rod(axial_mass), start)
    solution = fm.simulate(
        model, t_end=0.1, output_step=1e-3, coordinates=coordinates, integrator=method
    )
    position, rate = state(solution)
    np.testing.assert_allclose(position[-1, :3], final[:3], rtol=1e-6)
    np.testing.assert_allclose(position[-1, 3:5], final[3:5], rtol=1e-4)
    np.testing.assert_allclose(rate[-1, :3], final[7:10], rtol=1e-5)
    # their force of constraint is −Gᵀλ
    np.testing.assert_allclose(solution.drive("motor").torque[-1], -final[23], rtol=5e-4)
    if case == "consistent mass":
        path = DATA["consistent_mass_path"]
        at = np.round(np.array(path["t"]) / 1e-3).astype(int)
        np.testing.assert_allclose(position[at, :3], np.array(path["q"])[:, :3], rtol=1e-6)
        np.testing.assert_allclose(
            position[at, 3:5], np.array(path["q"])[:, 3:5], rtol=0.0, atol=1e-7
        )
