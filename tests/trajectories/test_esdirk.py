"""The ESDIRK method: its coefficients against the order conditions of all rooted trees, its order
on models, stiff, light and singular ones against closed forms and against Dormand–Prince with small
tolerances."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from rods import double_pendulum

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators.esdirk_tableau import DENSE, EMBEDDED, STAGES, WEIGHTS, A, C

Tree = tuple["Tree", ...]  # the branches of a root
FORMS = [
    (name, where)
    for name, form in FORMALISMS.items()
    for where in form.coordinates
    if "residual" in form.provides
]


def grown(tree: Tree) -> Iterator[Tree]:
    """Trees with one leaf more."""
    yield tuple(sorted((*tree, ())))
    for k, branch in enumerate(tree):
        for other in grown(branch):
            yield tuple(sorted((*tree[:k], other, *tree[k + 1 :])))


def trees(order: int) -> set[Tree]:
    """All rooted trees with so many nodes."""
    found: set[Tree] = {()}
    for _ in range(order - 1):
        found = {larger for tree in found for larger in grown(tree)}
    return found


def nodes(tree: Tree) -> int:
    return 1 + sum(map(nodes, tree))


def density(tree: Tree) -> int:
    return nodes(tree) * math.prod(map(density, tree))


def weights(tree: Tree) -> np.ndarray:
    """Φ_i of the stages: b·Φ = 1/density is the condition (Butcher 1963; Hairer, Nørsett & Wanner
    1993, II.2).
    """
    found = np.ones(STAGES)
    for branch in tree:
        found = found * (A @ weights(branch))
    return found


def defect(b: np.ndarray, order: int) -> float:
    return max(abs(b @ weights(tree) - 1.0 / density(tree)) for tree in trees(order))


def test_order_conditions() -> None:
    assert [len(trees(order)) for order in range(1, 7)] == [1, 1, 2, 4, 9, 20]
    assert max(defect(A[-1], order) for order in range(1, 6)) < 1e-15
    assert max(defect(EMBEDDED, order) for order in range(1, 5)) < 1e-15
    assert defect(A[-1], 6) > 1e-3
    assert defect(EMBEDDED, 5) > 1e-3
    np.testing.assert_allclose(WEIGHTS, [A[-1] - EMBEDDED, (A[-1] - EMBEDDED) @ A], atol=1e-16)


def test_stages_have_order_two_and_one_diagonal_entry() -> None:
    np.testing.assert_allclose(A @ np.ones(STAGES), C, atol=1e-15)
    np.testing.assert_allclose(A @ C, 0.5 * C**2, atol=1e-15)
    np.testing.assert_array_equal(np.diag(A), [0.0, *[0.184] * 6])
    assert not np.triu(A, 1).any()


def growth(b: np.ndarray, z: complex) -> float:
    """|R(z)| = |1 + z b (1 − z A)⁻¹ 1|"""
    return abs(1.0 + z * b @ np.linalg.solve(np.eye(STAGES) - z * A, np.ones(STAGES)))


def test_stability() -> None:
    """A-stable by the maximum on the imaginary axis, with R(∞) = 0; the embedded method is A-stable
    too.
    """
    axis = 1j * np.logspace(-3, 6, 4000)
    for b in (A[-1], EMBEDDED):
        assert max(growth(b, z) for z in axis) < 1.0 + 1e-12
    assert growth(A[-1], -1e8) < 1e-6


def test_continuous_weights_have_order_four_and_meet_the_ends() -> None:
    for x in (0.2, 0.5, 0.9, 1.0):
        b = DENSE @ x ** np.arange(1, 5)
        for order in range(1, 5):
            for tree in trees(order):
                assert b @ weights(tree) == pytest.approx(x**order / density(tree), abs=1e-13)
    np.testing.assert_allclose(DENSE @ np.ones(4), A[-1], atol=1e-13)
    np.testing.assert_allclose(DENSE[:, 0], np.eye(STAGES)[0], atol=1e-12)
    np.testing.assert_allclose(DENSE @ np.arange(1, 5), np.eye(STAGES)[-1], atol=1e-12)


def top() -> fm.Model:
    """A heavy body that spins with 30 rad/s about an axis which nods."""
    model = fm.Model("top")
    body = model.add(
        fm.RigidBody("end", mass=2.0, inertia=(0.02, 0.03, 0.02), frames={"foot": (0, -0.3, 0)})
    )
    model.add(fm.Spherical("foot", model.ground, body["foot"], v0=(0.5, 30.0, -1.0)))
    return model


def four_bar() -> fm.Model:
    """A spatial loop with a spherical and a universal joint."""
    model = fm.Model("four bars", frames={"far": (0.8, 0, 0)})
    bar = {"mass": 0.5, "inertia": (1e-3, 1e-2, 1e-2)}
    a = model.add(fm.RigidBody("a", com=(0, 0, 0.1), frames={"end": (0, 0, 0.2)}, **bar))
    b = model.add(fm.RigidBody("b", com=(0.4, 0, 0), frames={"end": (0.8, 0, 0)}, **bar))
    end = model.add(fm.RigidBody("end", com=(0, 0, 0.3), frames={"end": (0, 0, 0.5)}, **bar))
    model.add(fm.Revolute("crank", model.ground, a, axis="y", v0=8.0))
    model.add(fm.Spherical("pin", a["end"], b))
    model.add(fm.Universal("knee", b["end"], end["end"], axes=("y", "z"), q0=(0.6, 0)))
    model.add(fm.Revolute("foot", model.ground["far"], end, axis="y"))
    return model


def disc() -> fm.Model:
    """A disc that rolls without slip and leans."""
    model = fm.Model("disc")
    body = model.add(fm.RigidBody("end", mass=1.0, inertia=(0.0625, 0.125, 0.0625)))
    lean = (0, 0, 0.5 * np.cos(0.3), np.cos(0.15), np.sin(0.15), 0.0, 0.0)
    model.add(fm.Free("motion", model.ground, body, q0=lean, v0=(2.0, 0, 0, 6.0, 4.0, 5.0)))
    model.add(fm.RollingDisc("contact", model.ground, body, radius=0.5))
    return model


def controlled() -> fm.Model:
    """A pendulum on a sledge under PID control, whose integral is a force state."""
    model = fm.Model("controlled")
    sledge = model.add(fm.RigidBody("sledge", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    end = model.add(fm.RigidBody("end", mass=1.0, inertia=(0.02, 0.02, 0.02), com=(0, 0, -0.5)))
    rail = model.add(fm.Prismatic("rail", model.ground, sledge, axis="x", v0=1.0))
    model.add(fm.Revolute("hinge", sledge, end, axis="y", q0=1.0))
    model.add(
        fm.JointTorque(
            "motor", rail, fm.PID(kp=80.0, ki=900.0, kd=8.0, reference=fm.Sine(0.2, 2.0))
        )
    )
    return model


def rods() -> fm.Model:
    """Two soft rods on a spherical and a universal joint; the lower one is compared."""
    return double_pendulum()


def final(model: fm.Model, t_end: float, **options: Any) -> np.ndarray:
    solution = fm.simulate(model, t_end=t_end, output_step=t_end, **options)
    body = solution.body(list(solution.bodies)[-1])
    return np.concatenate(
        [
            body.position[-1],
            body.rotation[-1].ravel(),
            body.velocity[-1],
            body.angular_velocity[-1] / 10.0,
        ]
    )


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
@pytest.mark.parametrize(
    ("make", "long"),
    [(top, 4e-3), (four_bar, 4e-3), (rods, 4e-3), (disc, 1e-2), (controlled, 2e-2)],
)
def test_order_five(
    make: Callable[[], fm.Model], long: float, formalism: str, coordinates: str
) -> None:
    projected = {
        "integrator": fm.DormandPrince(rtol=1e-12, atol=1e-14),
        "stabilization": "projection",
    }
    exact = final(make(), 0.2, formalism="multiplier", **projected)
    errors = []
    for step in (long, long / 2.0):
        method = fm.ESDIRK(step=step, rtol=1e-12, atol=1e-14)
        errors.append(
            np.abs(
                final(make(), 0.2, integrator=method, formalism=formalism, coordinates=coordinates)
                - exact
            ).max()
        )
    assert 1e-11 < errors[1] < 1e-6
    assert 4.4 < np.log2(errors[0] / errors[1]) < 6.0


@pytest.mark.parametrize("stiffness", [1e4, 1e6, 1e8])
def test_a_stiff_spring_follows_its_reference(stiffness: float) -> None:
    """m ẍ = k (r − x) + c (ṙ − ẋ), r = a sin ωt, in steady state: x = Im(H a e^{iωt}), H = (k +
    icω)/(k − mω² + icω).
    """
    mass, omega, size = 2.0, 3.0, 0.1
    damping = 0.2 * np.sqrt(stiffness * mass)
    response = (
        size
        * (stiffness + 1j * damping * omega)
        / (stiffness - mass * omega**2 + 1j * damping * omega)
    )
    model = fm.Model("follower", gravity=(0, 0, 0))
    block = model.add(fm.RigidBody("block", mass=mass, inertia=(1, 1, 1)))
    guide = model.add(
        fm.Prismatic(
            "guide", model.ground, block, q0=response.imag, v0=(1j * omega * response).imag
        )
    )
    law = fm.PD(kp=stiffness, kd=damping, reference=fm.Sine(size, omega / (2.0 * np.pi)))
    model.add(fm.JointTorque("spring", guide, law))
    solution = fm.simulate(model, t_end=2.0, output_step=0.01, integrator="esdirk")
    exact = response * np.exp(1j * omega * solution.t)
    found = solution.joint("guide")
    assert np.abs(found.position[:, 0] - exact.imag).max() < 1e-7 * size
    assert np.abs(found.velocity[:, 0] - (1j * omega * exact).imag).max() < 1e-5 * size * omega
    assert solution.statistics["steps"] < 2000
    assert solution.verdict != "FAIL"


def light(ratio: float, bend: float) -> fm.Model:
    """A pendulum of two bodies: a nearly massless link with a heavy bob on a hinge."""
    model = fm.Model("light")
    link = fm.RigidBody(
        "light", mass=ratio, inertia=(0.1 * ratio,) * 3, com=(0.5, 0, 0), frames={"end": (1, 0, 0)}
    )
    bob = model.add(fm.RigidBody("heavy", mass=1.0, inertia=(1e-3,) * 3, com=(1.0, 0, 0)))
    upper = model.add(link)
    model.add(fm.Revolute("A", model.ground, upper, axis="y", q0=0.5))
    model.add(fm.Revolute("B", upper["end"], bob, axis="y", q0=bend))
    return model


def heavy_motion(solution: fm.Solution) -> np.ndarray:
    return solution.body("heavy").position


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("ratio", "bend"), [(1e-6, 1.0), (1e-8, 1.0), (1e-6, 0.1), (1e-8, 0.0)])
def test_a_nearly_massless_body_that_carries_a_heavy_one(
    ratio: float, bend: float, coordinates: str
) -> None:
    """The default integrator; generalized-α is nearly exact, or its audit reports the error."""
    run = {"t_end": 1.0, "output_step": 0.02}
    exact = heavy_motion(
        fm.simulate(light(ratio, bend), integrator=fm.DormandPrince(rtol=1e-11, atol=1e-13), **run)
    )
    found = fm.simulate(light(ratio, bend), coordinates=coordinates, rtol=1e-6, **run)
    assert found.run.options["integrator"] == "esdirk"
    assert np.abs(heavy_motion(found) - exact).max() < 3e-5
    other = fm.simulate(
        light(ratio, bend),
        coordinates=coordinates,
        rtol=1e-6,
        integrator="generalized-alpha",
        **run,
    )
    assert np.abs(heavy_motion(other) - exact).max() < 3e-3 or other.verdict != "PASS"


def flat_bars() -> fm.Model:
    """Two four-bars in a row on parallel hinges, which fall
    through positions where all lie flat.
    """
    places = {f"at{i}": (float(i), 0.0, 0.0) for i in range(3)}
    model = fm.Model("flat", gravity=(0, -9.81, 0), frames=places)
    shape = {
        "mass": 1.0,
        "inertia": (1e-3, 1 / 12, 1 / 12),
        "com": (0.5, 0, 0),
        "frames": {"end": (1, 0, 0)},
    }
    cranks = [model.add(fm.RigidBody(f"crank{i}", **shape)) for i in range(3)]
    for i, crank in enumerate(cranks):
        model.add(fm.Revolute(f"pivot{i}", model.ground[f"at{i}"], crank, q0=np.pi / 2, v0=-1.0))
    for i in range(2):
        coupler = model.add(fm.RigidBody(f"coupler{i}", **shape))
        model.add(fm.Revolute(f"left{i}", cranks[i]["end"], coupler, q0=-np.pi / 2, v0=1.0))
        model.add(
            fm.Revolute(f"right{i}", coupler["end"], cranks[i + 1]["end"], q0=np.pi / 2, v0=-1.0)
        )
    return model


@pytest.mark.parametrize("formalism", ["multiplier", "recursive"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_singular_positions_are_passed(tolerance: float, formalism: str) -> None:
    """All cranks stay parallel to a single one with the same energy: θ̈ = −(Σ m x)/(Σ J) g cos θ,
    integrated alone.
    """
    from scipy.integrate import solve_ivp

    # of cranks and of couplers, which move as their ends do
    inertia, moment = 3.0 / 3.0 + 2.0, 3.0 * 0.5 + 2.0
    exact = solve_ivp(
        lambda t, y: (y[1], -9.81 * moment / inertia * np.cos(y[0])),
        (0.0, 3.0),
        (np.pi / 2, -1.0),
        rtol=1e-12,
        atol=1e-12,
        t_eval=np.linspace(0.0, 3.0, 31),
        method="DOP853",
    )
    method = fm.ESDIRK(rtol=tolerance, atol=0.01 * tolerance)
    solution = fm.simulate(
        flat_bars(), t_end=3.0, output_step=0.1, integrator=method, formalism=formalism
    )
    for i in range(3):
        angle = np.unwrap(solution.joint(f"pivot{i}").position[:, 0])
        assert np.abs(angle - exact.y[0]).max() < 300.0 * tolerance


def vibrating() -> fm.Model:
    """A pendulum with a block on a stiff damped spring (1.6 kHz) at its end."""
    model = fm.Model("vibrating")
    bar = model.add(
        fm.RigidBody(
            "bar", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0), frames={"end": (1, 0, 0)}
        )
    )
    block = model.add(fm.RigidBody("block", mass=0.1, inertia=(1e-3,) * 3))
    model.add(fm.Revolute("hinge", model.ground, bar, axis="y"))
    guide = model.add(fm.Prismatic("guide", bar["end"], block, axis="x"))
    model.add(fm.JointSpring("spring", guide, k=1e7, c=40.0))
    return model


def test_fast_vibrations_do_not_limit_the_steps() -> None:
    counts = {}
    for method in ("esdirk", "dormand-prince"):
        counts[method] = fm.simulate(vibrating(), t_end=2.0, integrator=method).statistics["steps"]
    assert 10 * counts["esdirk"] < counts["dormand-prince"]


def test_factorizations_serve_several_stages_in_absolute_coordinates() -> None:
    counts = fm.simulate(
        four_bar(), t_end=0.5, coordinates="absolute", integrator="esdirk"
    ).statistics
    assert counts["factorizations"] < 2 * counts["steps"]
    assert counts["iterations"] > 6 * counts["steps"]


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_where_constraint_axes_turn_with_the_body(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = fm.Model("propeller", gravity=(0.0, 0.0, -9.81))
    inertia = (0.01, 0.02, 0.03)
    blade = model.add(
        fm.RigidBody("blade", mass=1.0, com=tuple(rng.uniform(-0.1, 0.1, 3)), inertia=inertia)
    )
    model.add(fm.Revolute("shaft", blade, model.ground, axis="z", v0=float(rng.uniform(3.0, 20.0))))
    options: dict[str, Any] = {
        "t_end": 2.0,
        "output_step": 0.5,
        "integrator": fm.ESDIRK(rtol=10.0 ** -rng.uniform(3.0, 9.0)),
    }
    absolute = fm.simulate(model, coordinates="absolute", **options)
    recursive = fm.simulate(model, formalism="recursive", **options)
    found, expected = (run.joint("shaft").wrench for run in (absolute, recursive))
    assert found == pytest.approx(expected, abs=5e-3 * np.abs(expected).max())
    assert absolute.verdict == "PASS"


def test_options() -> None:
    bounded = fm.simulate(
        top(), t_end=0.1, integrator=fm.ESDIRK(max_step=1e-3, rtol=1e-3, atol=1e-3)
    )
    assert bounded.statistics["steps"] >= 100
    with pytest.raises(fm.InputError, match=r"integrator\.max_step: -1\.0 is not positive"):
        fm.ESDIRK(max_step=-1.0)


def test_rigid_contacts_are_rejected() -> None:
    model = fm.Model("drop")
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(0.1,) * 3))
    model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=1.0))
    model.add(fm.SpherePlane("floor", model.ground, ball, normal="z", radius=0.1))
    with pytest.raises(
        fm.InputError, match="integrator 'esdirk' does not support rigid contacts; use"
    ):
        fm.simulate(model, t_end=1.0)


@pytest.mark.parametrize(
    ("options", "name", "why"),
    [
        ({}, "esdirk", "for error-controlled steps"),
        ({"rho_inf": 0.5}, "generalized-alpha", "which has rho_inf"),
        (
            {"formalism": "partitioning"},
            "dormand-prince",
            "which is compatible with this formalism",
        ),
        (
            {"formalism": fm.Embedding()},
            "dormand-prince",
            "which is compatible with this formalism",
        ),
    ],
)
def test_the_integrator_chosen_is_reported(options: dict[str, Any], name: str, why: str) -> None:
    run = fm.simulate(top(), t_end=0.02, **options).run
    assert run.options["integrator"] == name
    assert f"integrator: '{name}', {why}, by default" in run.notes


@pytest.mark.parametrize(
    ("options", "name"),
    [({"integrator": "esdirk"}, "esdirk"), ({"step": 1e-2}, "generalized-alpha")],
)
def test_what_is_named_or_plain_is_not_reported(options: dict[str, Any], name: str) -> None:
    run = fm.simulate(top(), t_end=0.02, **options).run
    assert run.options["integrator"] == name
    assert not any("by default" in note for note in run.notes)
