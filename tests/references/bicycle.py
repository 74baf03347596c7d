"""The benchmark bicycle: rear frame with rider, handlebar, two wheels; three hinges, two rolling
wheels (z down, x forward).

J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Linearized dynamics equations for the
balance and steer of a bicycle: a benchmark and review, Proc. R. Soc. A 463 (2007) 1955–1982, table
1.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.motions import Rotate, Slide

BENCHMARK: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "bicycle.json").read_text()
)


def bicycle(speed: float) -> fm.Model:
    """Upright and straight ahead; wheel base w, trail c, steering axis tilted back by λ."""
    p = BENCHMARK["parameters"]
    model = fm.Model("bicycle", gravity=(0.0, 0.0, p["g"]))
    axis = np.array([np.sin(p["lam"]), 0.0, np.cos(p["lam"])])
    rear, front = np.array([0.0, 0.0, -p["rR"]]), np.array([p["w"], 0.0, -p["rF"]])
    # of the steering axis, as high as the front axle
    head = np.array([p["w"] + p["c"], 0.0, 0.0]) - axis * p["rF"] / axis[2]
    frame = fm.RigidBody("rear frame", frames={"head": head - rear}, **_inertia(p, "B", rear))
    bars = fm.RigidBody("handlebar", frames={"axle": front - head}, **_inertia(p, "H", head))
    for body in (frame, bars):
        model.add(body)
    for name, key in (("rear wheel", "R"), ("front wheel", "F")):
        across = p[f"I{key}xx"]
        model.add(fm.RigidBody(name, mass=p[f"m{key}"], inertia=(across, p[f"I{key}yy"], across)))
    motions = [Slide(a) for a in "xyz"] + [Rotate(a) for a in "zxy"]
    model.add(
        fm.Chain(
            "frame",
            "ground",
            "rear frame",
            motions=motions,
            q0=(*rear, 0, 0, 0),
            v0=(speed, 0, 0, 0, 0, 0),
        )
    )
    model.add(fm.Revolute("steering", "rear frame/head", "handlebar", axis=axis))
    for name, holder, key in (("rear", "rear frame", "R"), ("front", "handlebar/axle", "F")):
        radius = p[f"r{key}"]
        model.add(fm.Revolute(f"{name} hub", holder, f"{name} wheel", axis="y", v0=-speed / radius))
        model.add(
            fm.RollingDisc(f"{name} contact", "ground", f"{name} wheel", radius=radius, normal="-z")
        )
    return model


def _inertia(p: dict[str, float], key: str, origin: np.ndarray) -> dict[str, Any]:
    """Mass, centre from the body's origin, inertia about the centre."""
    xx, yy, zz, xz = (p[f"I{key}{ab}"] for ab in ("xx", "yy", "zz", "xz"))
    com = np.array([p[f"x{key}"], 0.0, p[f"z{key}"]]) - origin
    return {"mass": p[f"m{key}"], "com": com, "inertia": ((xx, 0, xz), (0, yy, 0), (xz, 0, zz))}
