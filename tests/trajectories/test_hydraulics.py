"""Hydraulic cylinders against closed forms: steady speed, stiffness of the oil that is shut in,
leakage past the piston.
"""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

MASS, BULK, SUPPLY, TANK = 400.0, 1.4e9, 2.1e7, 2e5
A, B, VOLUME_A, VOLUME_B = 2.0e-3, 1.2e-3, 8e-4, 7e-4
VALVE = 3e-7
OIL: dict[str, Any] = {
    "length": 1.0,
    "area_a": A,
    "area_b": B,
    "volume_a": VOLUME_A,
    "volume_b": VOLUME_B,
    "bulk_modulus": BULK,
    "supply": SUPPLY,
    "valve": VALVE,
    "tank": TANK,
    "pressure_a": 6e6,
    "pressure_b": 1e7,
}
FORMS = [
    ("multiplier", "joint", "esdirk"),
    ("multiplier", "absolute", "generalized-alpha"),
    ("recursive", "joint", "dormand-prince"),
    ("embedding", "joint", "dormand-prince"),
    ("partitioning", "joint", "dormand-prince"),
]


def press(load: float = 0.0, **oil: Any) -> fm.Model:
    """A mass on a guide, 1 m from the other end of the cylinder."""
    model = fm.Model("press", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("mass", mass=MASS, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, body, axis="x", q0=1.0))
    model.add(fm.HydraulicCylinder("cylinder", model.ground, body, **(OIL | oil)))
    if load:
        model.add(fm.JointTorque("load", "guide", -load))
    return model


def speed(opening: float, load: float) -> float:
    """p_S − p_A = (A v/(K u))², p_B − p_T = (B v/(K u))² and A p_A − B p_B = P, or with both
    reversed.
    """
    if opening > 0.0:
        return VALVE * opening * np.sqrt((SUPPLY * A - TANK * B - load) / (A**3 + B**3))
    return VALVE * opening * np.sqrt((SUPPLY * B - TANK * A + load) / (A**3 + B**3))


@pytest.mark.parametrize(("opening", "load"), [(0.8, 0.0), (0.8, 9e3), (-0.5, 4e3)])
@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_steady_speed(
    opening: float, load: float, formalism: str, coordinates: str, integrator: str
) -> None:
    """After the valve has opened."""
    model = press(load, opening=fm.SmoothStep(opening, duration=0.05), friction=0.0, smoothing=1e3)
    how = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    # without friction and leakage the vibration of the mass on the oil is damped by the valve only
    found = fm.simulate(model, t_end=0.35, output_step=1e-2, **how)
    v = found.joint("guide").velocity[-1, 0]
    assert abs(v - speed(opening, load)) < 2e-3 * abs(v)
    assert found.verdict == "PASS"
    assert np.abs(found.energy.balance).max() < 1e-4 * np.abs(found.energy.work_of_forces).max()


def shut(e: np.ndarray) -> np.ndarray:
    """Force of the shut cylinder: p = p_0 ∓ β ln(V/V_0) in both chambers."""
    return A * (6e6 - BULK * np.log(1.0 + A * e / VOLUME_A)) - B * (
        1e7 - BULK * np.log(1.0 - B * e / VOLUME_B)
    )


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), FORMS)
def test_stiffness_of_the_shut_cylinder(formalism: str, coordinates: str, integrator: str) -> None:
    """The balanced mass, pushed, vibrates with k = β (A²/V_A + B²/V_B); its motion is that on the
    exact spring of the oil.
    """
    model = press()
    how: dict[str, Any] = {
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
    }
    how |= {"step": 2e-5} if integrator == "generalized-alpha" else {"rtol": 1e-9, "atol": 1e-11}
    start = fm.state(model, velocity={"guide": 0.1})
    found = fm.simulate(model, t_end=0.1, output_step=1e-3, start=start, **how)
    exact = solve_ivp(
        lambda t, y: [y[1], shut(y[0]) / MASS],
        (0.0, 0.1),
        [0.0, 0.1],
        rtol=1e-11,
        atol=1e-14,
        t_eval=found.t,
    ).y
    size = np.abs(exact[0]).max()
    assert (
        np.abs(found.joint("guide").position[:, 0] - 1.0 - exact[0]).max()
        < (2e-3 if "step" in how else 1e-6) * size
    )
    k = BULK * (A**2 / VOLUME_A + B**2 / VOLUME_B)
    assert size == pytest.approx(0.1 / np.sqrt(k / MASS), rel=1e-2)
    assert found.verdict == "PASS"


def test_leakage_past_a_held_piston() -> None:
    """p_A − p_B falls with the rate β G (1/V_A + 1/V_B), V_A p_A + V_B p_B stays."""
    leak = 2e-12
    model = press(leakage=leak)
    model.add(fm.Drive("held", "guide", fm.Constant(1.0)))
    found = fm.simulate(model, t_end=0.3, output_step=0.01, rtol=1e-9, atol=1e-11)
    rate = BULK * leak * (1.0 / VOLUME_A + 1.0 / VOLUME_B)
    gap = (6e6 - 1e7) * np.exp(-rate * found.t)
    mean = (VOLUME_A * 6e6 + VOLUME_B * 1e7) / (VOLUME_A + VOLUME_B)
    pressure_a = mean + gap * VOLUME_B / (VOLUME_A + VOLUME_B)
    pressure_b = mean - gap * VOLUME_A / (VOLUME_A + VOLUME_B)
    held = found.joint("guide").effort[:, 0]
    exact = -(A * pressure_a - B * pressure_b)
    assert np.abs(held - exact).max() < 1e-7 * np.abs(exact).max()


def test_linearized_frequency() -> None:
    """ω = √(k/m) of the shut cylinder about its balance."""
    model = press()
    k = BULK * (A**2 / VOLUME_A + B**2 / VOLUME_B)
    found = fm.linearize(model).modes.eigenvalue
    assert np.abs(found).max() == pytest.approx(np.sqrt(k / MASS), rel=1e-6)


def test_the_end_of_the_stroke_stops_the_run() -> None:
    model = press(opening=1.0, volume_b=2e-5)
    model.add(fm.JointTorque("pull", "guide", 1e9))
    with pytest.raises(fm.SolverError):
        fm.simulate(model, t_end=1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"supply": 1e5}, "forces.cylinder.tank: must be below supply = 100000, not 200000"),
        ({"area_a": 0.0}, "forces.cylinder.area_a: must be > 0, not 0"),
        ({"bulk_modulus": -1.0}, "forces.cylinder.bulk_modulus: must be > 0, not -1"),
        ({"opening": "wide"}, "forces.cylinder.opening.function: must be a function or its name"),
    ],
)
def test_bad_values(change: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        press(**change)
    assert message in str(error.value)


def test_a_model_file(tmp_path: Any) -> None:
    model = press(opening=fm.SmoothStep(1.0, duration=0.1))
    model.save(tmp_path / "press.toml")
    assert fm.load(tmp_path / "press.toml") == model


def test_an_empty_chamber_is_named() -> None:
    """The stroke ends where V_B − A_B e = 0: the load drives on, and the oil gets ever stiffer."""
    model = press(opening=1.0)
    start = fm.state(model, velocity={"guide": 60.0})
    with pytest.raises(fm.SolverError, match=r"chamber B of hydraulic cylinder '.*' is empty"):
        fm.simulate(model, t_end=2.0, start=start)


def test_vacuum_and_an_empty_chamber_are_reasons_to_stop() -> None:
    (cylinder,) = press().forces.values()
    assert cylinder.end_of_validity(0.0, [0.0, 0.0]) == ""
    told = cylinder.end_of_validity(0.0, [-(6e6 + 2e5) / SUPPLY, 0.0])
    assert told.startswith(
        f"the pressure in chamber A of hydraulic cylinder '{cylinder.name}' fell"
    )
    assert "-2e+05 Pa, below vacuum" in told
    assert "chamber A" in cylinder.end_of_validity(-0.999 * VOLUME_A / A, [0.0, 0.0])
    assert "chamber B" in cylinder.end_of_validity(0.999 * VOLUME_B / B, [0.0, 0.0])


def test_a_guide_without_lateral_force_has_no_warning() -> None:
    """Its reaction along the axis is what inertia and oil leave, 2e-5 of the latter."""
    model = fm.Model("press", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("mass", mass=500.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, body, axis="x", q0=1.0))
    oil = {"length": 1.0, "area_a": 2e-3, "area_b": 1.5e-3, "volume_a": 1e-4, "volume_b": 1e-4}
    pressures = {"supply": 1e7, "tank": 1e5, "pressure_a": 1e6, "pressure_b": 1e6}
    losses = {"bulk_modulus": 1.5e9, "valve": 1e-7, "leakage": 1e-12, "friction": 200.0}
    opening = fm.Sine(amplitude=0.5, frequency=1.0)
    model.add(
        fm.HydraulicCylinder(
            "cylinder", model.ground, body, opening=opening, **oil, **pressures, **losses
        )
    )
    solution = fm.simulate(model, t_end=1.0)
    assert [check for check in solution.audit if check.status != "PASS"] == []
