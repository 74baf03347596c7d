"""Random models that draw from every registry: formalisms, coordinates and integrators agree or
reject in one line.

`reports/differential/study.py` does the same with many more models and all pairs.
"""

import functools
from collections import Counter

import numpy as np
import pytest
from any_models import any_model, contents, registered
from differential import Pair, examine, pairs
from draws import drawn

import flexmbs as fm

KINDS = registered()  # one model for each, whatever else it holds
COVERING = (  # each kind is in two of the models of these
    "joints prismatic", "joints universal", "joints knife-edge", "joints point-on-curve",
    "joints disc-on-plane", "motions slide", "forces frame-force", "forces joint-torque",
    "forces guide-friction", "forces user-force", "forces user-friction", "forces wheel-creep",
    "joint laws pd", "joint laws pid", "joint laws spring-damper", "joint laws dc-motor",
    "joint laws limited-pid", "joint laws affine-actuator", "joint laws curve",
    "joint laws digital-pid", "joint laws digital-controller", "contacts curve-contact",
    "contacts joint-limit", "contacts rope", "contacts sphere-sphere", "contact laws hunt-crossley",
    "couplings linear", "couplings rack-pinion", "couplings screw", "couplings velocity",
    "table monotone", "body divided", "contacts dry-friction",
)  # fmt: skip
ORDER = [*COVERING, *(kind for kind in KINDS if kind not in COVERING)]
RARE = ("joint laws digital-controller", "joint laws pd")  # in the models for them alone
TAKEN = 2  # pairs of each model
DIVIDED = 8  # models with divided bodies, which run under all pairs together


@functools.cache
def model_of(kind: str) -> fm.Model:
    return any_model(KINDS.index(kind), kind).model


def taken(number: int, there: list[Pair]) -> list[Pair]:
    """Some of all pairs, other ones for each model, all over the models."""
    order = np.random.default_rng(0).permutation(len(there))
    return [there[order[(TAKEN * number + k) % len(there)]] for k in range(TAKEN)]


def test_every_pair_is_taken() -> None:
    assert {pair for number in range(len(COVERING)) for pair in taken(number, pairs())} == set(
        pairs()
    )


def test_every_kind_is_in_two_models() -> None:
    found = Counter(kind for wanted in COVERING for kind in contents(model_of(wanted)))
    assert [kind for kind in KINDS if found[kind] < 2 - (kind in RARE)] == []


@pytest.mark.parametrize("number", drawn(len(COVERING), len(ORDER)), ids=ORDER)
def test_all_agree(number: int) -> None:
    model = model_of(ORDER[number])
    assert contents(model)[ORDER[number]]
    assert examine(model, lambda there: taken(number, there)).failures == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(DIVIDED))
def test_divided_bodies_agree_under_every_pair(number: int) -> None:
    """All formalisms × coordinates × integrators, divided among so many models."""
    model = any_model(1000 + number, "body divided").model
    assert examine(model, lambda there: pairs()[number::DIVIDED]).failures == []


@pytest.mark.filterwarnings(
    "error::RuntimeWarning", "ignore::flexmbs.AuditWarning", "ignore::flexmbs.AssemblyWarning"
)
@pytest.mark.parametrize(
    "pair", [("recursive", "dormand-prince"), ("multiplier", "rattle"), ("multiplier", "esdirk")]
)
def test_runs_that_run_away_end_in_one_line(pair: tuple[str, str]) -> None:
    """A force that grows with the cube of the way: numbers of 1e150 are not searched for singular
    positions.
    """
    model = fm.Model("away", gravity=(0, 0, 0))
    for k in range(2):
        model.add(fm.RigidBody(f"slide {k}", mass=1.0, inertia=(1.0, 1.0, 1.0)))
        model.add(
            fm.Prismatic(f"guide {k}", "ground" if k == 0 else "slide 0", f"slide {k}", axis="x")
        )
        model.add(fm.JointTorque(f"push {k}", f"guide {k}", lambda t, x, v: 1.0 + 1e12 * x * x * x))
    options = {"step": 1e-3} if pair[1] == "rattle" else {"rtol": 1e-7, "atol": 1e-9}
    with pytest.raises(fm.SolverError) as error:
        fm.simulate(
            model, t_end=0.5, output_step=0.0125, formalism=pair[0], integrator=pair[1], **options
        )
    assert "\n" not in str(error.value)
