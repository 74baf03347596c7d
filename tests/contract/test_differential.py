"""Random models that draw from every registry: formalisms, coordinates and integrators agree or reject in one line.

`reports/differential/study.py` does the same with many more models and all pairs.
"""

import numpy as np
import pytest
from any_models import any_model, contents, registered
from differential import Pair, examine, pairs

import flexmbs as fm

KINDS = registered()  # one model for each, whatever else it holds
TAKEN = 2  # pairs of each model
DIVIDED = 8  # models with divided bodies, which run under all pairs together


def taken(number: int, there: list[Pair]) -> list[Pair]:
    """Some of all pairs, other ones for each model, all over the models."""
    order = np.random.default_rng(0).permutation(len(there))
    return [there[order[(TAKEN * number + k) % len(there)]] for k in range(TAKEN)]


def test_every_pair_is_taken() -> None:
    assert {pair for number in range(len(KINDS)) for pair in taken(number, pairs())} == set(pairs())


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_all_agree(number: int) -> None:
    model = any_model(number, KINDS[number]).model
    assert contents(model)[KINDS[number]]
    assert examine(model, lambda there: taken(number, there)).failures == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(DIVIDED))
def test_divided_bodies_agree_under_every_pair(number: int) -> None:
    """All formalisms × coordinates × integrators, divided among so many models."""
    model = any_model(1000 + number, "body divided").model
    assert examine(model, lambda there: pairs()[number::DIVIDED]).failures == []


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::flexmbs.AuditWarning", "ignore::flexmbs.AssemblyWarning")
@pytest.mark.parametrize("pair", [("recursive", "dormand-prince"), ("multiplier", "rattle"), ("multiplier", "esdirk")])
def test_runs_that_run_away_end_in_one_line(pair: tuple[str, str]) -> None:
    """A force that grows with the cube of the way: numbers of 1e150 are not searched for singular positions."""
    model = fm.Model("away", gravity=(0, 0, 0))
    for k in range(2):
        model.add(fm.RigidBody(f"slide {k}", mass=1.0, inertia=(1.0, 1.0, 1.0)))
        model.add(fm.Prismatic(f"guide {k}", "ground" if k == 0 else "slide 0", f"slide {k}", axis="x"))
        model.add(fm.JointTorque(f"push {k}", f"guide {k}", lambda t, x, v: 1.0 + 1e12 * x * x * x))
    options = {"step": 1e-3} if pair[1] == "rattle" else {"rtol": 1e-7, "atol": 1e-9}
    with pytest.raises(fm.SolverError) as error:
        fm.simulate(model, t_end=0.5, output_step=0.0125, formalism=pair[0], integrator=pair[1], **options)
    assert "\n" not in str(error.value)
