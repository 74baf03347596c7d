"""User functions with algebraic unknowns against solutions by hand, in every formalism."""

import functools
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from algebraic_functions import diode, fast_diode, with_diode
from test_loaded_friction import FORMS, G

import flexmbs as fm


def motor(function: Any) -> fm.Model:
    """A rotor with a motor behind a diode."""
    model = fm.Model("motor", gravity=(0, 0, 0))
    model.add(fm.RigidBody("rotor", mass=1.0, inertia=(0.02, 0.02, 0.02)))
    model.add(fm.Revolute("shaft", model.ground, "rotor", axis="z"))
    model.add(fm.JointTorque("motor", "shaft", function))
    return model


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_a_motor_behind_a_diode(formalism: str, coordinates: str, integrator: str) -> None:
    """The rate of J ω̇ = κ i(ω) by integration of dω = …: ∫ J dω/(κ i) = t, with ω(i) explicit."""
    options: Any = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-9, "atol": 1e-11}
    )
    chosen = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    found = fm.simulate(motor(fast_diode), t_end=0.4, output_step=0.1, **chosen, **options)
    current = np.array(
        [fast_diode.unknowns(0.0, 0.0, rate)[0] for rate in found.joint("shaft").velocity[:, 0]]
    )
    fine = np.linspace(current[0], current[-1], 20001)
    slope = -(2.0 + 0.5 / (fine + 1e-3)) / 0.3  # dω/di of R i + 0.5 ln(1 + i/1e-3) = U − κ ω
    time = np.concatenate(
        [[0.0], np.cumsum(0.5 * np.diff(fine) * (0.02 / 0.3) * (slope / fine)[:-1] * 1.0)]
    )
    time += np.concatenate(
        [[0.0], np.cumsum(0.5 * np.diff(fine) * (0.02 / 0.3) * (slope / fine)[1:] * 1.0)]
    )
    at = np.interp(found.t, time, fine)
    assert np.abs(at - current).max() < (2e-5 if integrator == "generalized-alpha" else 1e-6)
    assert found.verdict == "PASS"


def test_plain_and_compiled_functions_and_files_agree(tmp_path: Path) -> None:
    model = motor(fast_diode)
    model.save(tmp_path / "motor.toml")
    assert 'function = "algebraic_functions:fast_diode"' in (tmp_path / "motor.toml").read_text()
    models = model, motor(diode), fm.load(tmp_path / "motor.toml", allow_code=True)
    runs = [fm.simulate(each, t_end=0.1, output_step=0.05, rtol=1e-8).s for each in models]
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-9)
    np.testing.assert_array_equal(runs[2], runs[0])


def test_unknowns_follow_reactions() -> None:
    """Dry friction as h(y) = y + μ N tanh(v/…) with the load of a reaction: the deceleration of a
    block is μ g.
    """
    model = fm.Model("block", gravity=(0, 0, -G))
    model.add(fm.RigidBody("block", mass=2.0, inertia=(0.1,) * 3))
    model.add(fm.Prismatic("guide", model.ground, "block", axis="x", v0=2.0))

    def law(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any, y: Any) -> list[float]:
        return [y[0], 0.0, 0.0, 0.0, 0.0, 0.0]

    def equation(t: float, r: Any, A: Any, v: Any, w: Any, reactions: Any, y: Any) -> list[float]:
        return [y[0] + 0.2 * np.hypot(reactions[0, 1], reactions[0, 2]) * np.tanh(v[0] / 1e-4)]

    model.add(fm.UserForce("rubbing", "block", fm.algebraic(equation)(law), reads=["guide"]))
    found = fm.simulate(model, t_end=0.3, output_step=0.1, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        found.joint("guide").velocity[:, 0], 2.0 - 0.2 * G * found.t, atol=1e-6
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_an_equation_without_solution_ends_the_run(compiled: bool) -> None:
    def law(t, x, v, y):  # type: ignore[no-untyped-def]
        return y[0]

    def equation(t, x, v, y):  # type: ignore[no-untyped-def]
        return (y[0] ** 2 + 1.0,)

    made = numba.njit if compiled else lambda function: function
    with pytest.raises(
        ValueError, match=r"no y with h\(\.\.\., y\) = 0 was found from the guess"
    ) as raised:
        fm.simulate(motor(fm.algebraic(made(equation), guess=0.3)(made(law))), t_end=0.1)
    assert "in the function of forces.motor at t = 0 s" in raised.value.__notes__


@pytest.mark.parametrize("compiled", [False, True])
def test_unknowns_of_any_size(compiled: bool) -> None:
    """z + z³ = 2 and eᶻ = 3 of z = y/x: differences over longer steps than the size x are no
    slopes.
    """

    def law(t, x, v, y):  # type: ignore[no-untyped-def]
        return y[0] / x

    def cubic(t, x, v, y):  # type: ignore[no-untyped-def]
        return (y[0] / x + (y[0] / x) ** 3 - 2.0,)

    def exponential(t, x, v, y):  # type: ignore[no-untyped-def]
        return (np.exp(y[0] / x) - 3.0,)

    made = numba.njit if compiled else lambda function: function
    with np.errstate(over="ignore"):
        for equation, exact in ((cubic, 1.0), (exponential, np.log(3.0))):
            solved = fm.algebraic(made(equation))(made(law))
            for size in (1e-12, 1e-9, 1e-3, 1.0, 1e6):
                assert solved(0.0, size, 0.0) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("corner", [0.0, 1.0, -30.0])
def test_corners_beside_the_solution(corner: float) -> None:
    """One nearer than the step of the differences, as of a diode."""

    def law(t: float, x: float, v: float, y: Any) -> float:
        return float(y[0]) - corner

    def equation(t: float, x: float, v: float, y: Any) -> list[float]:
        return [y[0] - corner + 5.0 * max(y[0] - corner, 0.0) - 3e-7]

    assert fm.algebraic(equation)(law)(0.0, 0.0, 0.0) == pytest.approx(5e-8, rel=1e-6)


@pytest.mark.parametrize(
    ("equation", "words"),
    [
        (lambda t, x, v, y: y[0] - 1.0, r"-1\.0\)?; return 1 numbers"),
        (lambda t, x, v, y: [y[0] - 1j], r"return 1 numbers"),
        (lambda t, x, v, y: ["a"], r"\['a'\]; return 1 numbers"),
        (lambda t, x, v, y: None, r"None; return 1 numbers"),
    ],
)
def test_a_residual_that_gives_no_numbers(equation: Any, words: str) -> None:
    with pytest.raises(
        fm.InputError,
        match=rf"^forces\.motor: its function has a residual that gives .*{words} in a list or "
        r"tuple",
    ):
        fm.simulate(motor(fm.algebraic(equation)(lambda t, x, v, y: y[0])), t_end=0.1)


@pytest.mark.parametrize(
    "equation", [lambda t, x, v, y: y[0] - 1.0, lambda t, x, v, y: (y[0], "a")]
)
def test_a_compiled_residual_that_gives_no_numbers(equation: Any) -> None:
    solved = fm.algebraic(numba.njit(equation))(numba.njit(lambda t, x, v, y: y[0]))
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.motor: its function has a residual that gives .*; return 1 numbers",
    ):
        fm.simulate(motor(solved), t_end=0.1)


def test_any_callable_is_decorated() -> None:
    solved = fm.algebraic(lambda t, y: [y[0] - t])(
        functools.partial(lambda factor, t, y: factor * y[0], 2.0)
    )
    assert solved(3.0) == pytest.approx(6.0, rel=1e-12)


def test_wrong_declarations() -> None:
    with pytest.raises(fm.InputError, match=r"^residual: must be a function, not 3\.0"):
        fm.algebraic(3.0)  # type: ignore[arg-type]
    with pytest.raises(
        fm.InputError, match=r"^residual: takes 3 arguments; it must take those of the function, 4"
    ):
        fm.algebraic(lambda t, x, y: [y[0]])(lambda t, x, v, y: y[0])
    for guess in ("a", [np.nan], [], [[1.0]]):
        with pytest.raises(fm.InputError, match=r"^guess: must be"):
            fm.algebraic(with_diode, guess=guess)  # type: ignore[arg-type]
    with pytest.raises(
        fm.InputError, match="takes 1 arguments; it must take those of a user function, then y"
    ):
        fm.algebraic(with_diode)(lambda t: 0.0)
    with pytest.raises(
        ValueError,
        match="the residual must have as many equations as the guess has unknowns",
    ):
        fm.simulate(
            motor(fm.algebraic(lambda t, x, v, y: (0.0, 0.0))(lambda t, x, v, y: y[0])), t_end=0.1
        )
