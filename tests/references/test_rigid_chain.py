"""Chains of rigid links in space against Exudyn's kinematic tree (explicit steps refined until nine
digits stand).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from combinations import Combination, combinations

import flexmbs as fm

PUBLISHED = json.loads((Path(__file__).parent / "data" / "rigid_chain.json").read_text())
LENGTH, WIDTH = 0.1, 0.02
MASS = 7850.0 * LENGTH * WIDTH**2
TOLERANCE = 1e-7


def chain(links: int) -> fm.Model:
    """Cuboid links along x, revolute joints at their ends about z, y, z, …, straight at rest."""
    slope = np.radians(30.0)
    model = fm.Model("chain", gravity=(0.0, -9.81 * np.cos(slope), -9.81 * np.sin(slope)))
    across = MASS * (LENGTH**2 + WIDTH**2) / 12.0
    end: fm.FrameRef = model.ground
    for i in range(links):
        ends = {"end": (LENGTH, 0.0, 0.0)}
        inertia = (MASS * WIDTH**2 / 6.0, across, across)
        link = model.add(
            fm.RigidBody(
                f"link{i}", mass=MASS, inertia=inertia, com=(LENGTH / 2.0, 0.0, 0.0), frames=ends
            )
        )
        model.add(fm.Revolute(f"joint{i}", end, link, axis="zy"[i % 2]))
        end = link["end"]
    return model


@pytest.mark.parametrize(
    ("links", "coordinates", "stabilization"),
    [
        (10, "joint", "none"),
        (10, "absolute", "projection"),
        (50, "joint", "none"),
        (50, "absolute", "none"),
        (200, "absolute", "projection"),
    ],
)
def test_tip_of_the_chain(links: int, coordinates: str, stabilization: str) -> None:
    check(
        links,
        coordinates=coordinates,
        integrator="dormand-prince",
        stabilization=stabilization,
        rtol=1e-8,
        atol=1e-8,
    )


@pytest.mark.parametrize("combination", combinations(fm.DormandPrince(rtol=1e-9, atol=1e-9)))
def test_tip_under_every_formalism(combination: Combination) -> None:
    check(10, **combination.options())


def check(links: int, **options: Any) -> None:
    """The tip at the published times."""
    tips = {float(t): x for t, x in PUBLISHED["tip"][str(links)].items()}
    solution = fm.simulate(chain(links), t_end=max(tips), output_step=0.05, **options)
    tip = solution.frame(f"link{links - 1}/end").position
    for t, published in tips.items():
        np.testing.assert_allclose(tip[round(t / 0.05)], published, rtol=0.0, atol=TOLERANCE)
