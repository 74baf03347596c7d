"""Planar linkages of uniform bars for the tests of formalisms."""

import math

import numpy as np
from bars import bar

import flexmbs as fm


def slider_crank(speed: float = 8.0, angle: float = 0.5) -> fm.Model:
    """Crank of 0.2 m and rod of 0.5 m; the slider is at rest at the crank angles 0 and π."""
    r, l = 0.2, 0.5
    tilt = math.asin(r * math.sin(angle) / l)
    rate = r * math.cos(angle) / (l * math.cos(tilt)) * speed
    model = fm.Model("slider-crank")
    crank, rod = model.add(bar("crank", r)), model.add(bar("rod", l))
    piston = model.add(fm.RigidBody("piston", mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("main", model.ground, crank, axis="-y", q0=angle, v0=speed))
    model.add(fm.Revolute("pin", crank["end"], rod, axis="-y", q0=-angle - tilt, v0=-speed - rate))
    at, pace = (
        r * math.cos(angle) + l * math.cos(tilt),
        -r * math.sin(angle) * speed - l * math.sin(tilt) * rate,
    )
    model.add(fm.Prismatic("guide", model.ground, piston, axis="x", q0=at, v0=pace))
    model.add(fm.Revolute("wrist", rod["end"], piston, axis="-y"))
    return model


def four_bar(angle: float = 0.7, speed: float = 6.0) -> fm.Model:
    """Crank 0.3 m, rod 0.8 m, rocker 0.6 m, ground 0.7 m: the
    crank turns fully, the rocker swings.
    """
    model = fm.Model("four-bar", frames={"far": (0.7, 0, 0)})
    tip = 0.3 * np.array([math.cos(angle), math.sin(angle)])
    d = np.array([0.7, 0.0]) - tip
    span = math.hypot(*d)
    rod = math.atan2(d[1], d[0]) + math.acos((0.8**2 + span**2 - 0.6**2) / (2 * 0.8 * span))
    knee = tip + 0.8 * np.array([math.cos(rod), math.sin(rod)])
    rocker = math.atan2(knee[1], knee[0] - 0.7)
    bars = [
        model.add(bar(name, length))
        for name, length in (("crank", 0.3), ("rod", 0.8), ("rocker", 0.6))
    ]
    model.add(fm.Revolute("main", model.ground, bars[0], axis="-y", q0=angle, v0=speed))
    model.add(fm.Revolute("pin", bars[0]["end"], bars[1], axis="-y", q0=rod - angle))
    model.add(fm.Revolute("foot", model.ground["far"], bars[2], axis="-y", q0=rocker))
    model.add(fm.Revolute("knee", bars[1]["end"], bars[2]["end"], axis="-y", q0=rocker - rod))
    return model


def parallelograms(cells: int, speed: float = -1.0) -> fm.Model:
    """A row of cells with links of 1 m, upright at the start; all bars are aligned when the links
    are horizontal.
    """
    model = fm.Model("N four-bar", frames={f"post{k}": (float(k), 0, 0) for k in range(cells + 1)})
    links = [model.add(bar(f"link{k}", 1.0)) for k in range(cells + 1)]
    for k, link in enumerate(links):
        model.add(
            fm.Revolute(
                f"foot{k}", model.ground[f"post{k}"], link, axis="-y", q0=math.pi / 2, v0=speed
            )
        )
    for k in range(cells):
        rod = model.add(bar(f"rod{k}", 1.0))
        model.add(
            fm.Revolute(f"near{k}", links[k]["end"], rod, axis="-y", q0=-math.pi / 2, v0=-speed)
        )
        model.add(
            fm.Revolute(
                f"far{k}", rod["end"], links[k + 1]["end"], axis="-y", q0=math.pi / 2, v0=speed
            )
        )
    return model
