"""Bricard's mechanism A04 of the IFToMM library: five rods and six revolute joints, mobile in spite
of zero degrees of freedom by counting, 10 s."""

import json
from pathlib import Path

import numpy as np
import pytest
from combinations import Combination, combinations

import flexmbs as fm

DATA = json.loads((Path(__file__).parent / "data" / "bricard.json").read_text())
EXPLICIT = fm.DormandPrince(rtol=1e-9, atol=1e-9)
IMPLICIT = fm.GeneralizedAlpha(rho_inf=1.0, step=5e-4, newton_tolerance=1e-10)
POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
AXES = "yzxyzx"
ALONG, ACROSS = 0.02 / 12, 1.01 / 12  # 1 kg, 1 m x 0.1 m x 0.1 m


def bricard() -> fm.Model:
    """Rods from P0 to P5, whose frames stand as the world's at first."""
    model = fm.Model("Bricard's mechanism", gravity=(0, -9.81, 0), frames={"P5": tuple(POINTS[5])})
    end: fm.FrameRef = model.ground
    for i, way in enumerate(np.diff(POINTS, axis=0)):
        inertia = np.where(way == 0.0, ACROSS, ALONG)
        rod = fm.RigidBody(
            f"rod{i}",
            mass=1.0,
            inertia=tuple(inertia),
            com=tuple(way / 2),
            frames={"end": tuple(way)},
        )
        part = model.add(rod)
        model.add(fm.Revolute(f"P{i}", end, part, axis=AXES[i]))
        end = part["end"]
    model.add(fm.Revolute("P5", end, model.ground["P5"], axis=AXES[5]))
    return model


@pytest.mark.parametrize("combination", combinations(EXPLICIT, IMPLICIT))
def test_bricard(combination: Combination) -> None:
    solution = fm.simulate(bricard(), t_end=10.0, output_step=0.05, **combination.options())
    at = np.round(np.array(DATA["t"]) / 0.05).astype(int)
    np.testing.assert_allclose(
        solution.frame("rod2/end").position[at], DATA["P3"], rtol=0.0, atol=1e-5
    )
    assert sum(rows for _, rows in solution.run.redundant) == 1
