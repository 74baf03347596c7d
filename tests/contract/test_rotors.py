"""Rotors on joints of every kind: primary, reversed and cut, on flexible bodies, driven, coupled;
every formalism, both coordinates."""

import dataclasses
import functools
from itertools import product
from typing import Any

import numpy as np
import pytest
from draws import covering
from formalism_contract import close
from instants import Answer, Instant, instants, reference
from random_models import Recipe, driven_coordinates, random_model, regular
from samples import some_axis

import flexmbs as fm
from flexmbs.dynamics.dense import Terms, multipliers_of_least_norm
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.rigid_tree import RigidTree
from flexmbs.studies.states.evaluate import evaluate

RECIPES = {
    "one body": Recipe(1, forces=1),
    "tree": Recipe(5, forces=2),
    "driven tree": Recipe(4, drives=2, forces=2),
    "loop": Recipe(4, loops=1, forces=3),
    "driven loop": Recipe(3, loops=1, drives=1, forces=2),
    "loops": Recipe(5, loops=2, forces=2),
    "flat loop": Recipe(4, loops=1, flat=True, forces=2),
    "coupled tree": Recipe(5, couplings=2, forces=2),
    "coupled loop": Recipe(4, loops=1, couplings=2, forces=3),
    "coupled loops": Recipe(5, loops=2, drives=1, couplings=1, forces=2),
}
SEEDS = range(4)
PAIRS = [
    (name, coordinates)
    for name, formalism in FORMALISMS.items()
    for coordinates in formalism.coordinates
]


def rotors(model: fm.Model, seed: int) -> list[fm.RotorInertia]:
    """A rotor on every coordinate with a position, gyroscopic where it may be."""
    rng, found = np.random.default_rng(seed), []
    for name, joint in model.joints.items():
        for v, _ in driven_coordinates(joint):
            spins = joint.nv == 1 and not isinstance(
                model.bodies.get(joint.parent.body), fm.PointMass
            )
            axis = some_axis(rng) if spins and rng.random() < 0.5 else None
            made = fm.RotorInertia(
                f"rotor {name}.{v}", name, inertia=rng.uniform(0.01, 0.05),
                ratio=float(rng.choice([-1, 1])) * rng.uniform(1.0, 6.0),
                axis=axis, gyroscopic=spins, coordinate=v,
            )  # fmt: skip
            found += (
                [made, dataclasses.replace(made, name=made.name + " twin", inertia=0.01)]
                if rng.random() < 0.2
                else [made]
            )
    return found


@functools.cache
def made(name: str, seed: int) -> tuple[fm.Model, dict[str, Instant]]:
    """The first of the seeds ``seed``, ``seed`` + 100, … whose model is regular with its rotors
    too.
    """
    for attempt in range(5):
        model = random_model(RECIPES[name], seed + 100 * attempt)[0]
        for rotor in rotors(model, seed):
            model.add(rotor)
        found = instants(model)
        if all(regular(now, len(model.drives) + len(model.couplings)) for now in found.values()):
            return model, found
    raise AssertionError("no regular model drawn")


@functools.cache
def expected(name: str, seed: int, coordinates: str) -> tuple[Terms, Answer, fm.Solution]:
    """The dense terms, their solution and its views."""
    now = made(name, seed)[1][coordinates]
    terms = now.terms()
    answer = reference(terms)
    return terms, answer, now.solution(answer)


@pytest.mark.parametrize(("name", "seed", "pair"), covering(product(RECIPES, SEEDS, PAIRS)))
def test_accelerations_multipliers_and_wrenches(
    name: str, seed: int, pair: tuple[str, str]
) -> None:
    """ṡ and λ of the dense terms, and motion and wrenches in all joints as in joint coordinates."""
    formalism, coordinates = pair
    now = made(name, seed)[1][coordinates]
    t, wanted, _ = expected(name, seed, coordinates)
    found = Answer(
        *evaluate(now.compiled, FORMALISMS[formalism](), 0.0, now.q, now.s, now.z, now.beta)
    )
    close(found.sd, wanted.sd, np.abs(wanted.sd).max())
    close(
        multipliers_of_least_norm(t.G, found.lam), wanted.lam, np.abs(wanted.lam).max(initial=1.0)
    )
    this, other = now.solution(found), expected(name, seed, "joint")[2]
    size = max(1.0, *(float(np.abs(other.joint(each).wrench).max()) for each in other.joints))
    for each in this.joints:
        if other.joint(each).unique:
            close(this.joint(each).wrench, other.joint(each).wrench, size)
    for each in this.bodies:
        for quantity in ("acceleration", "angular_acceleration"):
            one, two = (getattr(solution.body(each), quantity) for solution in (this, other))
            close(one, two, 1.0 + np.abs(two).max())
    np.testing.assert_allclose(this.energy.kinetic, other.energy.kinetic, rtol=1e-11)


@pytest.mark.parametrize("name", RECIPES)
def test_the_mass_matrix_is_that_of_the_kinetic_energy(name: str) -> None:
    """½ sᵀ M s in both coordinates."""
    for now in made(name, 0)[1].values():
        energy = now.solution(now.nothing()).energy.kinetic[0]
        assert 0.5 * now.s @ now.terms().M @ now.s == pytest.approx(energy, rel=1e-12)


def geared(rotor_is_a_body: bool, kind: Any, turned: bool) -> fm.Model:
    """A pendulum on a ball that carries the rotor of a second body's joint; the rotor in the
    carrier, or a body of its own.
    """
    frame, inertia, across = fm.Frame((0.4, 0.1, -0.2), ("y", 0.7)), 0.03, 0.02
    spin = np.diag([across, across, inertia])  # about z of the rotor's frame
    R = np.array(frame.rotation) @ np.array(fm.Frame((0, 0, 0), ("x", 0.9)).rotation)
    J = np.diag([0.4, 0.5, 0.3])
    model = fm.Model("geared", gravity=(0.4, -1.0, -9.0))
    at = {"out": frame, "rotor": fm.Frame((0, 0, 0), R.tolist())}
    own = J - R @ spin @ R.T if rotor_is_a_body else J
    carrier = model.add(fm.RigidBody("carrier", mass=2.0, inertia=own.tolist(), frames=at))
    arm = model.add(
        fm.RigidBody(
            "arm",
            mass=1.5,
            inertia=(0.2, 0.3, 0.25),
            com=(0.1, 0.3, 0.0),
            frames={"in": (0.1, -0.3, 0.2)},
        )
    )
    if turned:
        model.add(fm.Spherical("ball", model.ground, arm, v0=(0.7, -0.4, 0.9)))
    else:
        model.add(fm.Spherical("ball", model.ground, carrier, v0=(0.7, -0.4, 0.9)))
    model.add(kind("hinge", carrier["out"], arm["in"], axis=(0.3, 0.8, -0.2), q0=0.4, v0=1.3))
    axis = np.array(frame.rotation).T @ R[:, 2]
    if rotor_is_a_body:
        rotor = model.add(fm.RigidBody("rotor", mass=0.0, inertia=spin.tolist()))
        model.add(fm.Revolute("spin", carrier["rotor"], rotor, axis="z", q0=0.2, v0=-7.0 * 1.3))
    else:
        model.add(fm.RotorInertia("rotor", "hinge", inertia=inertia, ratio=-7.0, axis=tuple(axis)))
    return model


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", [fm.Revolute, fm.Prismatic])
def test_a_rotor_is_a_body_that_turns_with_the_joint(kind: Any, turned: bool) -> None:
    """M and k of a model in which the rotor is a rigid body, its rate bound to that of the joint:
    s' = P s.
    """
    bound, free = (instants(geared(body, kind, turned))["joint"] for body in (False, True))
    order = {name: at for at, name in enumerate(velocities(free))}
    P = np.zeros((len(free.s), len(bound.s)))
    for column, name in enumerate(velocities(bound)):
        P[order[name], column] = 1.0
        if name == "hinge.0":
            P[order["spin.0"], column] = -7.0
    np.testing.assert_allclose(free.s, P @ bound.s, atol=1e-14)
    whole, mine = free.terms(), bound.terms()
    np.testing.assert_allclose(mine.M, P.T @ whole.M @ P, atol=1e-13)
    np.testing.assert_allclose(mine.k, P.T @ whole.k, atol=1e-12)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", [fm.Revolute, fm.Prismatic, fm.Screw])
def test_the_recursion_of_rigid_trees_has_rotors(kind: Any, turned: bool) -> None:
    """The shortest form of the recursion, with a rotor on each joint, against the dense terms."""
    more = {"pitch": 0.3} if kind is fm.Screw else {}
    model = geared(False, functools.partial(kind, **more), turned)
    end = "carrier" if turned else "arm"
    tip = model.add(fm.RigidBody("tip", mass=0.7, inertia=(0.1, 0.2, 0.15), com=(0.1, 0.0, 0.2)))
    model.add(fm.Universal("wrist", end, tip, v0=(0.4, -0.8)))
    model.add(
        fm.RotorInertia(
            "armature", "wrist", inertia=0.01, ratio=4.0, gyroscopic=False, coordinate=1
        )
    )
    model.add(fm.RotorInertia("second", "hinge", inertia=0.002, ratio=11.0))
    now = instants(model)["joint"]
    formalism = FORMALISMS["recursive"]()
    assert isinstance(formalism.fitting(now.compiled, "accelerations"), RigidTree)
    t = now.terms()
    found, _ = evaluate(now.compiled, formalism, 0.0, now.q, now.s, now.z, now.beta)
    np.testing.assert_allclose(found, np.linalg.solve(t.M, t.k), rtol=1e-11)


def velocities(now: Instant) -> tuple[str, ...]:
    from flexmbs.system.names import velocity_names

    return tuple(velocity_names(now.compiled))


def test_every_place_of_a_rotor_is_here() -> None:
    """Primary, reversed, cut; on rigid and flexible bodies, on the ground; with and without
    gyroscopic part; driven.
    """
    seen = set()
    for name in RECIPES:
        for seed in SEEDS:
            model, found = made(name, seed)
            compiled = found["joint"].compiled
            for rotor in model.rotors.values():
                place, joint = compiled.places[rotor.joint], model.joints[rotor.joint]
                carrier = (
                    model.bodies[joint.parent.body].kind
                    if joint.parent.body in model.bodies
                    else "ground"
                )
                where = "cut" if place.cut >= 0 else "reversed" if place.reversed else "primary"
                driven = any(drive.joint == rotor.joint for drive in model.drives.values())
                uses = [
                    use
                    for coupling in model.couplings.values()
                    for use in coupling.coordinates(model.joints)
                ]
                seen |= {f"{where} coupled" for use in uses if use.joint == rotor.joint}
                spins = "gyroscopic" if rotor.gyroscopic else "armature"
                seen |= {
                    where,
                    carrier,
                    spins,
                    f"{where} {spins}",
                    f"driven {driven}",
                    f"{spins} on {carrier}",
                }
    wanted = {
        f"{where} {spins}"
        for where in ("primary", "reversed", "cut")
        for spins in ("gyroscopic", "armature")
    }
    wanted |= {
        "gyroscopic on flexible",
        "gyroscopic on rigid",
        "gyroscopic on ground",
        "driven True",
    }
    assert wanted | {"primary coupled", "reversed coupled", "cut coupled"} <= seen
