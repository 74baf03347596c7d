"""Embedding with chosen quasi-velocities (Appell–Gibbs): the equations in closed form, and rejected
arguments.
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms.embedding import Embedding
from flexmbs.initial.initial_state import consistent_state
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.system.names import velocity_names

M1, M2, LENGTH = 1.3, 0.7, 0.9
PUSH, TURN = 0.8, -0.5


def rod_on_a_wheel() -> fm.Model:
    """Masses M1, M2 on a massless rod; M1 on a wheel that rolls along the rod; forces along the rod
    on M1 and across it on M2.
    """
    model = fm.Model("rod on a wheel", gravity=(0, 0, 0), frames={"floor": fm.Frame()})
    total = M1 + M2
    inertia = M1 * M2 / total * LENGTH**2
    rod = fm.RigidBody(
        "rod",
        mass=total,
        inertia=(1e-3, inertia, inertia),
        com=(M2 / total * LENGTH, 0, 0),
        frames={"end": (LENGTH, 0, 0)},
    )
    body = model.add(rod)
    turn = (np.cos(0.4), 0, 0, np.sin(0.4))
    model.add(
        fm.Free("motion", model.ground, body, q0=(0.3, 0.2, 0, *turn), v0=(1.1, 0, 0, 0, 0, 0.6))
    )
    model.add(fm.Planar("floor", model.ground["floor"], body))
    model.add(fm.KnifeEdge("wheel", model.ground, body))
    model.add(fm.FrameForce("push", body, force=(PUSH, 0, 0), axes="follower"))
    model.add(fm.FrameForce("turn", body["end"], force=(0, TURN, 0), axes="follower"))
    model.cuts = ("floor",)
    return model


@pytest.mark.parametrize("sigma", [
    ["motion.0", "motion.5"],
    [{"motion.0": 1.0, "motion.5": 0.5}, {"motion.5": 2.0}],
    np.array([[1.0, 0, 0, 0, 0, 0.3], [0.2, 0, 0, 0, 0, 1.0]]),
])  # fmt: skip
def test_equations_of_appell(sigma) -> None:
    """(m1 + m2) σ̇1 − m2 l σ2² = F1, m2 l σ1 σ2 + m2 l² σ̇2 = F2 l with σ1 along the rod and σ2 =
    φ̇ (Appell 1911).
    """
    compiled, start = consistent_state(rod_on_a_wheel())
    assert velocity_names(compiled)[0] == "motion.0"
    sd, _ = evaluate(
        compiled, Embedding(quasi_velocities=sigma), 0.0, start.q, start.s, np.zeros(0), start.beta
    )
    forward, turning = start.s[0], start.s[5]
    assert abs(forward - 1.1) < 1e-12
    assert abs(turning - 0.6) < 1e-12
    assert abs((M1 + M2) * sd[0] - M2 * LENGTH * turning**2 - PUSH) < 1e-12
    assert abs(M2 * LENGTH * forward * turning + M2 * LENGTH**2 * sd[5] - TURN * LENGTH) < 1e-12
    assert np.abs(sd[[1, 2, 3, 4]] - (0, 0, 0, 0)).max() < 1e-12


def cart() -> fm.Model:
    """The same in x1, y1, φ: two slides and a turn, with the wheel as a knife edge (Neimark and
    Fufaev 1972; Appell 1911).
    """
    model = fm.Model("cart", gravity=(0, 0, 0))
    light = {"mass": 0.0, "inertia": (0, 0, 0)}
    total = M1 + M2
    inertia = M1 * M2 / total * LENGTH**2
    first, second = (model.add(fm.RigidBody(name, **light)) for name in ("first", "second"))  # type: ignore[arg-type]
    frames = {"end": (LENGTH, 0, 0)}
    rod = fm.RigidBody(
        "rod",
        mass=total,
        inertia=(1e-3, inertia, inertia),
        com=(M2 / total * LENGTH, 0, 0),
        frames=frames,
    )
    body = model.add(rod)
    model.add(fm.Prismatic("x1", model.ground, first, axis="x", q0=0.3, v0=1.1 * np.cos(0.8)))
    model.add(fm.Prismatic("y1", first, second, axis="y", q0=0.2, v0=1.1 * np.sin(0.8)))
    model.add(fm.Revolute("phi", second, body, axis="z", q0=0.8, v0=0.6))
    model.add(fm.KnifeEdge("wheel", model.ground, body))
    model.add(fm.FrameForce("push", body, force=(PUSH, 0, 0), axes="follower"))
    model.add(fm.FrameForce("turn", body["end"], force=(0, TURN, 0), axes="follower"))
    return model


def along_and_about(q: np.ndarray, t: float) -> list[list[float]]:
    """B_σ(q): σ1 = ẋ1 cos φ + ẏ1 sin φ, σ2 = φ̇."""
    return [[np.cos(q[2]), np.sin(q[2]), 0.0], [0.0, 0.0, 1.0]]


def test_quasi_velocities_of_the_position() -> None:
    """The cart as printed, through a full turn of φ; σ from Appell's equations, integrated by
    themselves.
    """
    from scipy.integrate import solve_ivp

    options = {
        "t_end": 4.0,
        "output_step": 0.5,
        "integrator": fm.DormandPrince(rtol=1e-10, atol=1e-12),
    }
    found = fm.simulate(cart(), formalism=fm.Embedding(quasi_velocities=along_and_about), **options)  # type: ignore[arg-type]
    plain = fm.simulate(cart(), formalism="multiplier", **options)  # type: ignore[arg-type]

    def appell(t: float, y: np.ndarray) -> list[float]:
        forward, turning, phi = y[:3]
        rates = (
            (M2 * LENGTH * turning**2 + PUSH) / (M1 + M2),
            (TURN - M2 * forward * turning) / (M2 * LENGTH),
        )
        return [*rates, turning, forward * np.cos(phi), forward * np.sin(phi)]

    exact = solve_ivp(
        appell, (0, 4), [1.1, 0.6, 0.8, 0.3, 0.2], rtol=1e-12, atol=1e-13, t_eval=found.t
    ).y
    q = np.column_stack([found.joint(name).position[:, 0] for name in ("x1", "y1", "phi")])
    assert np.abs(q - exact[[3, 4, 2]].T).max() < 1e-8
    sigma = np.array([np.array(along_and_about(at, 0.0)) @ s for at, s in zip(found.q, found.s)])
    assert np.abs(sigma - exact[:2].T).max() < 1e-8
    assert np.abs(found.body("rod").position - plain.body("rod").position).max() < 1e-8
    assert found.verdict == "PASS"
    assert not any("instead of" in note for note in found.run.notes)  # the σ serve everywhere


def body_axes(q: np.ndarray, t: float) -> list[list[float]]:
    """ω in body axes over the rates of three angles about z, x, z; singular where the second one is
    0.
    """
    s, c = np.sin(q[1:]), np.cos(q[1:])
    return [[s[0] * s[1], c[1], 0.0], [s[0] * c[1], -s[1], 0.0], [c[0], 0.0, 1.0]]


def test_quasi_velocities_that_are_singular_at_zero() -> None:
    """Heavy top in ω of its own axes: rows that depend on each other at q = 0 only are no error."""
    top = fm.Model("top", gravity=(0, 0, -9.81))
    top.add(fm.RigidBody("top", mass=2.0, inertia=(0.25, 0.25, 0.04), com=(0, 0, 0.3)))
    angles = [fm.motions.Rotate(axis) for axis in "zxz"]
    top.add(fm.Chain("tip", "ground", "top", motions=angles, q0=(0, 0.7, 0), v0=(0.6, 0, 40)))
    options = {
        "t_end": 0.3,
        "output_step": 0.1,
        "integrator": fm.DormandPrince(rtol=1e-10, atol=1e-12),
    }
    found = fm.simulate(top, formalism=fm.Embedding(quasi_velocities=body_axes), **options)  # type: ignore[arg-type]
    plain = fm.simulate(top, **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.q, plain.q, atol=1e-8)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda q, t: [[1.0, 0.0]],
            "its function gives [[1.0, 0.0]]; return a matrix of 3 columns, one for each velocity",
        ),
        (
            lambda q, t: [[1.0, 0, 0], [2.0, 0, 0]],
            "its function gives 2 rows that depend on each other; give independent",
        ),
        (lambda q, t: [[0.0, 0, 1.0]], "1 quasi-velocities for 2 degrees of freedom; give 2"),
        (
            lambda q, t: [[np.sin(q[2]), -np.cos(q[2]), 0], [0, 0, 1]],
            "σ1, σ2 do not determine the other velocities at the start",
        ),
    ],
)
def test_rejected_functions(function, message) -> None:
    with pytest.raises(fm.InputError) as error:
        fm.simulate(
            cart(),
            t_end=0.01,
            formalism=Embedding(quasi_velocities=function),
            integrator="dormand-prince",
        )
    assert str(error.value).startswith(f"embedding.quasi_velocities: {message}")


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (
            "motion.0",
            "'motion.0' is not a list; give names of velocities, mappings {name: factor}, "
            "or a matrix",
        ),
        ([], "[] is not a list"),
        (["motion.0", "motion.9"], "no velocity 'motion.9'; did you mean 'motion."),
        ([[1.0, 2.0]], "row 1 is [1.0, 2.0]; give 6 finite numbers"),
        ([{"motion.0": float("nan")}], "row 1 is [nan]; give 1 finite numbers"),
        (
            ["motion.0", {"motion.0": 2.0}],
            "its 2 rows depend on each other; give independent combinations of motion.0",
        ),
        (["motion.0"], "1 quasi-velocities for 2 degrees of freedom; give 2"),
        (
            ["motion.0", "motion.1"],
            "motion.0, motion.1 do not determine the other velocities at the start; choose others",
        ),
    ],
)
def test_rejected(sigma, message) -> None:
    with pytest.raises(fm.InputError) as error:
        fm.simulate(
            rod_on_a_wheel(),
            t_end=0.01,
            formalism=Embedding(quasi_velocities=sigma),
            integrator="dormand-prince",
        )
    assert str(error.value).startswith(f"embedding.quasi_velocities: {message}")
