"""Contract of every formalism: subclass `FormalismContract` in
a test file and give it a formalism.
"""

import functools
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from draws import covering
from instants import Answer, Instant, reference
from random_models import Recipe, random_model

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.dynamics.dense import Terms, multipliers_of_least_norm
from flexmbs.formalisms.formalism import Formalism
from flexmbs.studies.states.evaluate import evaluate

RELATIVE = 1e-9

RECIPES = {
    "one body": Recipe(1, forces=1),
    "two bodies": Recipe(2, forces=2),
    "tree": Recipe(6, forces=4),
    "driven tree": Recipe(4, drives=2, forces=2),
    "loop of two": Recipe(2, loops=1, forces=2),
    "loop": Recipe(4, loops=1, forces=3),
    "driven loop": Recipe(3, loops=1, drives=1, forces=2),
    "loops": Recipe(5, loops=2, forces=4),
    "driven loops": Recipe(5, loops=2, drives=2, forces=3),
    "parallel joints": Recipe(3, loops=1, twins=1, forces=2),
    "prescribed tree": Recipe(5, drives=3),
    "prescribed loops": Recipe(5, loops=1, drives=3),
    "driven parallel joints": Recipe(4, loops=2, twins=1, drives=1, forces=2),
    "flat loop": Recipe(4, loops=1, flat=True, forces=3),
    "flat driven loops": Recipe(6, loops=2, drives=1, flat=True, forces=2),
    "coupled tree": Recipe(4, forces=2, couplings=1),
    "coupled driven tree": Recipe(6, drives=1, forces=3, couplings=2),
    "coupled loop": Recipe(4, loops=1, forces=2, couplings=1),
    "coupled driven loops": Recipe(6, loops=2, drives=1, forces=2, couplings=1),
    "coupled parallel joints": Recipe(4, loops=1, twins=1, forces=2, couplings=1),
}
SEEDS = range(3)
MOVING = {
    "tree": Recipe(2, forces=2),
    "driven loop": Recipe(3, loops=1, drives=1, forces=2),
    "prescribed tree": Recipe(3, drives=2),
    "flat loop": Recipe(4, loops=1, flat=True),
}
T_END = 0.01 if COMPILED else 0.002
EXPLICIT = fm.DormandPrince(rtol=1e-10, atol=1e-10)
IMPLICIT = fm.GeneralizedAlpha(rho_inf=0.9, step=1e-3, newton_tolerance=1e-10)


@functools.cache
def made(recipe: Recipe, seed: int) -> tuple[fm.Model, dict[str, Instant]]:
    return random_model(recipe, seed)


@functools.cache
def expected(recipe: Recipe, seed: int, coordinates: str) -> tuple[Answer, fm.Solution, Terms]:
    """The reference of a model, its views and the dense terms."""
    now = made(recipe, seed)[1][coordinates]
    terms = now.terms()
    answer = reference(terms)
    return answer, now.solution(answer), terms


@functools.cache
def answered(formalism: Formalism, recipe: Recipe, seed: int, coordinates: str) -> Answer:
    """Accelerations and multipliers of a formalism."""
    now = made(recipe, seed)[1][coordinates]
    return Answer(*evaluate(now.compiled, formalism, 0.0, now.q, now.s, now.z, now.beta))


@functools.cache
def motion(
    recipe: Recipe, seed: int, integrator: fm.DormandPrince | fm.GeneralizedAlpha
) -> fm.Solution:
    """Lagrange multipliers in joint coordinates."""
    return fm.simulate(
        made(recipe, seed)[0], t_end=T_END, output_step=T_END / 2, integrator=integrator
    )


def close(found: np.ndarray, wanted: np.ndarray, size: float) -> None:
    assert np.isfinite(found).all()
    assert np.abs(found - wanted).max(initial=0.0) < RELATIVE * size


class FormalismContract:
    """The tests; ``formalism`` is the object under test."""

    formalism: ClassVar[Formalism]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """All coordinates that the formalism supports, with every recipe and seed."""
        coordinates = self.formalism.coordinates
        if "seed" in metafunc.fixturenames:
            metafunc.parametrize(
                ("name", "seed", "coordinates"), covering(product(RECIPES, SEEDS, coordinates))
            )
        elif "coordinates" in metafunc.fixturenames:
            metafunc.parametrize("coordinates", coordinates)

    def test_accelerations_and_multipliers(self, name: str, seed: int, coordinates: str) -> None:
        """ṡ, and λ of least norm, are those of Udwadia and Kalaba's formula on the dense terms."""
        wanted, _, t = expected(RECIPES[name], seed, coordinates)
        found = answered(self.formalism, RECIPES[name], seed, coordinates)
        assert np.abs(t.gd).max(initial=0.0) < 1e-11
        close(found.sd, wanted.sd, np.abs(wanted.sd).max())
        close(
            multipliers_of_least_norm(t.G, found.lam),
            wanted.lam,
            np.abs(wanted.lam).max(initial=1.0),
        )
        close(
            t.G.T @ found.lam,
            t.M @ found.sd - t.k,
            np.abs(t.k).max() + np.abs(t.M @ wanted.sd).max(),
        )

    def test_wrenches_and_motion(self, name: str, seed: int, coordinates: str) -> None:
        """Wrenches in all joints are those of the reference; accelerations and unique wrenches
        those in joint coordinates too.
        """
        now = made(RECIPES[name], seed)[1][coordinates]
        found = now.solution(answered(self.formalism, RECIPES[name], seed, coordinates))
        wanted = expected(RECIPES[name], seed, coordinates)[1]
        joint = expected(RECIPES[name], seed, "joint")[1]
        size = max(1.0, *(float(np.abs(wanted.joint(name).wrench).max()) for name in wanted.joints))
        for each in found.joints:
            close(found.joint(each).wrench, wanted.joint(each).wrench, size)
            if joint.joint(each).unique:
                close(found.joint(each).wrench, joint.joint(each).wrench, size)
            close(
                found.joint(each).acceleration,
                joint.joint(each).acceleration,
                1.0 + np.abs(joint.sd).max(),
            )
        for each in found.drives:
            if joint.joint(found.model.drives[each].joint).unique:
                close(found.drive(each).torque, joint.drive(each).torque, size)
        for each in found.bodies:
            for quantity in ("acceleration", "angular_acceleration"):
                this, other = (
                    getattr(solution.body(each), quantity) for solution in (found, joint)
                )
                close(this, other, 1.0 + np.abs(other).max())

    @pytest.mark.skipif(not COMPILED, reason="hundreds of steps: in compiled runs")
    @pytest.mark.parametrize("name", MOVING)
    def test_short_motion(self, name: str, coordinates: str) -> None:
        """Explicit and implicit steps if the formalism supports them: the motion, its energy
        balance and its constraints.
        """
        for integrator in (EXPLICIT, IMPLICIT):
            if integrator.needs in self.formalism.provides:
                self.check_motion(MOVING[name], coordinates, integrator)

    def check_motion(
        self, recipe: Recipe, coordinates: str, integrator: fm.DormandPrince | fm.GeneralizedAlpha
    ) -> None:
        tolerance = 1e-7 if integrator is EXPLICIT else 1e-5
        options = {
            "formalism": self.formalism,
            "coordinates": coordinates,
            "integrator": integrator,
        }
        found = fm.simulate(made(recipe, 0)[0], t_end=T_END, output_step=T_END / 2, **options)
        wanted = motion(recipe, 0, EXPLICIT)
        for each in found.bodies:
            this, other = found.body(each), wanted.body(each)
            assert np.abs(this.position - other.position).max() < tolerance
            assert np.abs(this.rotation - other.rotation).max() < tolerance
            assert np.abs(this.velocity - other.velocity).max() < 1e2 * tolerance
        assert np.abs(found.energy.balance).max() < 1e2 * tolerance * found.energy.scale
        assert found.drift.max() < 1e2 * tolerance
