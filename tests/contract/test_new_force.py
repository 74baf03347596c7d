"""A new kind of force is one file: `new_forces.py` is imported, and its kinds run under every
formalism in all coordinates, count in the stress of the bodies on which they act, and are in the
model's file."""

import dataclasses
import importlib
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from samples import difference, rigid, some_joint, state, two_bodies

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.dynamics.equations import residual
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.rigid_tree import RigidTree
from flexmbs.model.contact_laws import ContactLaw
from flexmbs.model.forces import Force
from flexmbs.results.applied_wrenches import applied_wrenches
from flexmbs.system.compile import compile_model
from flexmbs.system.records import Evaluation
from flexmbs.time_stepping.records import facts

A, B = "first/c", "second/b"
METHODS = {
    "residual": fm.GeneralizedAlpha(step=1e-3, newton_tolerance=1e-13),
    "accelerations": fm.DormandPrince(rtol=1e-10, atol=1e-10),
}
RUNS = [
    (name, coordinates, needs)
    for name, formalism in FORMALISMS.items()
    for coordinates in formalism.coordinates
    for needs in METHODS
    if needs in formalism.provides
]


@pytest.fixture(scope="module")
def new() -> Any:
    """The kinds, registered while the block runs."""
    before = {family: set(family.kinds) for family in (Force, ContactLaw)}
    module = importlib.import_module("new_forces")
    yield module
    for family, known in before.items():
        for kind in set(family.kinds) - known:
            del family.kinds[kind]
    del sys.modules["new_forces"]


def fast_air(t, r, A, v, w):
    return [*(-0.3 * np.linalg.norm(v) * np.array(v)), 0.0, 0.0, 0.0]


def pairs(new: ModuleType) -> dict[str, tuple[Force, Force]]:
    """Each new kind and the same force as one that the package has."""
    return {
        "joint": (
            new.Cogging("f", "hinge", torque=2.0, teeth=7.0, fan=0.3),
            fm.JointTorque(
                "f", "hinge", lambda t, x, v: -2.0 * math.sin(7.0 * x) - 0.3 * v * abs(v)
            ),
        ),
        "frame": (new.Drag("f", B, c=0.3), fm.UserForce("f", B, fast_air)),
        "line": (
            new.CubicSpring("f", A, B, k=40.0, length=0.5),
            fm.PointSpring("f", A, B, length=0.5, law=lambda t, e, rate: 40.0 * e**3),
        ),
        "pair": (new.Stiffening("f", A, B, k=30.0), fm.Bushing("f", A, B, k=(30.0,) * 6)),
    }


def with_force(force: Force, seed: int = 3) -> fm.Model:
    model = two_bodies("cylindrical", seed)
    model.add(force)
    return model


@pytest.mark.skipif(COMPILED, reason="calls parts of kernels")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("place", ["joint", "frame", "line", "pair"])
def test_it_acts_as_the_same_force_of_another_kind(
    new: ModuleType, place: str, coordinates: str
) -> None:
    """Accelerations, and the stiffness and damping for Newton's matrix, given by the law or found
    by differences.
    """
    one, other = (state(with_force(force), coordinates) for force in pairs(new)[place])
    assert difference(one, other) < 1e-12
    assert difference(one, state(two_bodies("cylindrical", 3), coordinates)) > 1e-3
    for now in (one, other):
        here = Evaluation(now.q, now.s, now.sd, now.lam, np.zeros(0), now.work.r)
        residual(now.system, now.work, 0.0, here, True)
    for found, wanted in (
        (one.work.slopes, other.work.slopes),
        (one.work.joint_slope, other.work.joint_slope),
    ):
        assert np.abs(found - wanted).max(initial=0.0) < 1e-7 * (
            1.0 + np.abs(wanted).max(initial=0.0)
        )
    assert (
        place == "frame"
        or max(
            np.abs(one.work.slopes).max(initial=0.0), np.abs(one.work.joint_slope).max(initial=0.0)
        )
        > 0.1
    )


@pytest.mark.parametrize(("formalism", "coordinates", "needs"), RUNS)
def test_it_runs_under_every_formalism(
    new: ModuleType, formalism: str, coordinates: str, needs: str
) -> None:
    """All new kinds at once move as those that the package has."""
    ends = []
    for k in range(2):
        model = two_bodies("cylindrical", 3)
        for place, both in pairs(new).items():
            model.add(
                type(both[k])(
                    place,
                    **{
                        key: getattr(both[k], key) for key in both[k].field_names() if key != "name"
                    },
                )
            )
        solution = fm.simulate(
            model,
            t_end=0.004,
            output_step=0.002,
            formalism=formalism,
            coordinates=coordinates,
            integrator=METHODS[needs],
        )
        # user functions do not return the dissipation
        forces, dissipated, _ = solution.trajectory.work.T
        ends.append(
            np.concatenate([*solution.trajectory.q, *solution.trajectory.s, forces - dissipated])
        )
    assert np.abs(ends[0]).max() > 0.1
    assert np.abs(ends[0] - ends[1]).max() < 1e-9 * np.abs(ends[1]).max()


def rigid_pair() -> fm.Model:
    rng = np.random.default_rng(4)
    model = fm.Model("rigid tree")
    first, second = model.add(rigid("first", rng)), model.add(rigid("second", rng))
    model.add(some_joint("revolute", "base", model.ground, first["a"], rng))
    model.add(some_joint("revolute", "hinge", first["b"], second["a"], rng))
    return model


@pytest.mark.parametrize("place", ["joint", "frame", "line", "pair"])
def test_no_shortest_way_drops_it(new: ModuleType, place: str) -> None:
    """Rigid trees under joint forces have a special recursion; others must not use it."""
    model = rigid_pair()
    model.add(pairs(new)[place][0])
    form = fm.Recursive().fitting(compile_model(model, "joint"), "accelerations")
    assert isinstance(form, RigidTree if place == "joint" else fm.Recursive)
    runs = [
        fm.simulate(
            each, t_end=0.002, formalism=name, integrator=METHODS["accelerations"]
        ).trajectory.s
        for each, name in ((model, "recursive"), (model, "multiplier"), (rigid_pair(), "recursive"))
    ]
    assert np.abs(runs[0][-1] - runs[1][-1]).max() < 1e-9
    assert np.abs(runs[0][-1] - runs[2][-1]).max() > 1e-7


@pytest.mark.parametrize(
    ("place", "frames"), [("joint", []), ("frame", [B]), ("line", [A, B]), ("pair", [A, B])]
)
def test_the_stress_knows_where_it_acts(new: ModuleType, place: str, frames: list[str]) -> None:
    found = []
    for force in pairs(new)[place]:
        solution = fm.simulate(with_force(force), t_end=0.001, step=0.001)
        stressed = {name: SimpleNamespace(stress=True) for name in solution.compiled.bodies}
        found.append(
            applied_wrenches(
                dataclasses.replace(solution.compiled, data=stressed), solution.trajectory
            )
        )
        assert sorted(found[-1]) == frames
    for frame in frames:
        assert np.abs(found[1][frame]).max() > 0.1
        np.testing.assert_allclose(found[0][frame], found[1][frame], rtol=1e-9, atol=1e-9)


def test_the_method_knows_that_it_bends(new: ModuleType) -> None:
    bent = {
        place: facts(compile_model(with_force(force))).strongly_nonlinear
        for place, (force, _) in pairs(new).items()
    }
    assert bent == {"joint": True, "frame": False, "line": False, "pair": False}


def test_an_elastic_law_between_frames_keeps_the_energy(new: ModuleType) -> None:
    """Kinetic, strain and gravity energy change by the work of the force, which a force of a
    potential gets back.
    """
    model = two_bodies("free", 5)
    model.add(new.Stiffening("f", A, B, k=30.0, b=2.0))
    energy = fm.simulate(
        model, t_end=0.004, integrator=METHODS["accelerations"], formalism="recursive"
    ).energy
    total = energy.kinetic + energy.strain + energy.potential + energy.dissipated
    np.testing.assert_allclose(total - total[0], energy.work_of_forces, atol=1e-7)
    assert np.abs(energy.work_of_forces).max() > 1e-3


@pytest.mark.parametrize("place", ["joint", "frame", "line", "pair"])
def test_it_is_in_the_file_of_the_model(new: ModuleType, place: str, tmp_path) -> None:
    model = rigid_pair()
    model.add(pairs(new)[place][0])
    model.save(tmp_path / "model.toml")
    assert fm.load(tmp_path / "model.toml") == model


@pytest.mark.parametrize(("formalism", "coordinates", "needs"), RUNS)
def test_a_new_law_of_contacts_is_one_file_too(
    new: ModuleType, formalism: str, coordinates: str, needs: str
) -> None:
    """A floor and a joint limit with the new law, which without friction is that of Hunt and
    Crossley with the exponent 1.
    """
    ends = []
    for law in (new.Layer(k=50.0), fm.HuntCrossley(50.0, exponent=1.0), new.Layer(k=50.0, c=3.0)):
        model = two_bodies("cylindrical", 3)
        model.add(
            fm.SpherePlane(
                "floor", "ground/post", B, normal="z", radius=9.0, law=law, preloaded=True
            )
        )
        model.add(fm.JointLimit("stop", "hinge", lower=3.0, law=law, preloaded=True))
        solution = fm.simulate(
            model,
            t_end=0.004,
            output_step=0.002,
            formalism=formalism,
            coordinates=coordinates,
            integrator=METHODS[needs],
        )
        ends.append(
            np.concatenate(
                [
                    *solution.trajectory.q,
                    *solution.trajectory.s,
                    solution.contact("floor").force[-1],
                ]
            )
        )
    assert np.abs(ends[1][-3:]).max() > 1.0
    assert np.abs(ends[0] - ends[1]).max() < 1e-9 * np.abs(ends[1]).max()
    assert np.abs(ends[0] - ends[2]).max() > 1e-3
