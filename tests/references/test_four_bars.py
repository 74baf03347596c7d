"""The N-four-bar mechanism A02 of the IFToMM library: N + 1 cranks and N couplers, 10 s, energy
drift below 0.1 J.

Rods of 1 kg and 1 m stand upright and start with 1 m/s; where all lie flat the mechanism may
branch, and it passes there twice a turn. The rods stay parallel to each other, hence the exact
positions.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from combinations import Combination, combinations

import flexmbs as fm

DATA = json.loads((Path(__file__).parent / "data" / "four_bars.json").read_text())
IMPLICIT = fm.GeneralizedAlpha(rho_inf=1.0, step=1e-3, newton_tolerance=1e-10)
EXPLICIT = fm.DormandPrince(rtol=1e-9, atol=1e-10)
PROJECTED = {
    "multiplier": fm.Multiplier(stabilization=fm.Projection()),
    "recursive": fm.Recursive(stabilization=fm.Projection()),
    "embedding": fm.Embedding(stabilization=fm.Projection()),
    "partitioning": fm.Partitioning(),
}


def rod(name: str) -> fm.RigidBody:
    return fm.RigidBody(
        name, mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), com=(0.5, 0, 0), frames={"end": (1, 0, 0)}
    )


def four_bars(n: int) -> fm.Model:
    """Cranks on the ground at (i, 0), couplers from each to the next; all revolute about z."""
    places = {f"at{i}": (float(i), 0.0, 0.0) for i in range(n + 1)}
    model = fm.Model(f"{n} four-bars", gravity=(0, -9.81, 0), frames=places)
    cranks = [model.add(rod(f"crank{i}")) for i in range(n + 1)]
    for i, crank in enumerate(cranks):
        model.add(fm.Revolute(f"pivot{i}", model.ground[f"at{i}"], crank, q0=np.pi / 2, v0=-1.0))
    for i in range(n):
        coupler = model.add(rod(f"coupler{i}"))
        model.add(fm.Revolute(f"left{i}", cranks[i]["end"], coupler, q0=-np.pi / 2, v0=1.0))
        model.add(
            fm.Revolute(f"right{i}", coupler["end"], cranks[i + 1]["end"], q0=np.pi / 2, v0=-1.0)
        )
    return model


def check(solution: fm.Solution, n: int) -> None:
    total = solution.energy.total
    assert np.abs(total - total[0]).max() < 0.1
    for i in (0, n):
        at = solution.frame(f"crank{i}/end").position[:, :2]
        np.testing.assert_allclose(at[::100] - [i, 0], DATA[str(n)], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("combination", combinations(IMPLICIT, coordinates=("joint",)))
@pytest.mark.parametrize("n", [2, 10])
def test_implicit_steps_pass_the_flat_positions(n: int, combination: Combination) -> None:
    check(fm.simulate(four_bars(n), t_end=10.0, output_step=0.01, **combination.options()), n)


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("formalism", PROJECTED)
def test_projected_explicit_steps_pass_the_flat_positions(formalism: str, n: int) -> None:
    options = {"formalism": PROJECTED[formalism], "integrator": EXPLICIT}
    check(fm.simulate(four_bars(n), t_end=10.0, output_step=0.01, **options), n)


@pytest.mark.parametrize("formalism", ["multiplier", "recursive"])
def test_forty_four_bars(formalism: str) -> None:
    options = {"formalism": PROJECTED[formalism], "integrator": EXPLICIT}
    check(fm.simulate(four_bars(40), t_end=10.0, output_step=0.01, **options), 40)


def test_absolute_coordinates_pass_with_projection() -> None:
    options = {
        "formalism": PROJECTED["multiplier"],
        "coordinates": "absolute",
        "integrator": EXPLICIT,
    }
    check(fm.simulate(four_bars(2), t_end=10.0, output_step=0.01, **options), 2)


def test_implicit_steps_in_absolute_coordinates_stop_cleanly_where_the_rank_is_lost() -> None:
    with pytest.raises(fm.SolverError, match="near a singular position, where rows of ") as stopped:
        fm.simulate(
            four_bars(2), t_end=10.0, output_step=0.01, coordinates="absolute", integrator=IMPLICIT
        )
    partial = stopped.value.solution
    assert partial.t[-1] > 2.0
    assert np.isfinite(partial.q).all()
