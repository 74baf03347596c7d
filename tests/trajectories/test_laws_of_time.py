"""Short changes of laws of time are resolved by error-controlled steps, and reported if a fixed
step may miss them.
"""

import math

import numpy as np
import pytest

import flexmbs as fm

CONTROLLED = ("generalized-alpha", "dormand-prince", "esdirk")


def slider(law=None):
    """A mass of 1 kg on a guide, at rest, under a force along it."""
    model = fm.Model("slider", gravity=(0, 0, 0))
    model.add(fm.RigidBody("mass", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, "mass", axis="x"))
    if law is not None:
        model.add(fm.FrameForce("pulse", "mass", force=(law, 0, 0)))
    return model


@pytest.mark.parametrize("integrator", CONTROLLED)
@pytest.mark.parametrize("seed", range(3))
def test_short_pulses(integrator, seed):
    """Impulse over mass, for a pulse anywhere in the run: triangular tables, a ramp up and its end,
    a smooth bump.
    """
    rng = np.random.default_rng(seed)
    t, width = rng.uniform(1.0, 9.0), 10.0 ** rng.uniform(-3, -1.5)
    height = 1.0 / width
    triangle = fm.Table(
        (0.0, t, t + width, t + 2 * width, 20.0), (0, 0, height, 0, 0), interpolation="linear"
    )
    box = fm.Table(
        (0.0, t, t + 1e-3 * width, t + width, t + 1.001 * width, 20.0), (0, 0, height, height, 0, 0)
    )
    for law in (triangle, box):
        solution = fm.simulate(slider(law), t_end=10.0, integrator=integrator)
        assert solution.frame("mass").velocity[-1, 0] == pytest.approx(1.0, rel=2e-4), law


@pytest.mark.parametrize("integrator", CONTROLLED)
@pytest.mark.parametrize(
    "law", [fm.SmoothStep(0.1, start=5.03, duration=0.01), fm.Ramp(0.0, 10.0, start=5.03, end=5.04)]
)
def test_short_motion_of_a_reference(integrator, law):
    """A damper to a reference that moves by 0.1 m within 0.01 s: x → 0.1 (1 − exp(−t)) after it."""
    model = slider()
    model.add(fm.JointTorque("damper", "guide", fm.PD(kp=0.0, kd=1.0, reference=law)))
    solution = fm.simulate(model, t_end=10.0, integrator=integrator)
    assert solution.frame("mass").position[-1, 0] == pytest.approx(
        0.1 * (1.0 - math.exp(-4.965)), rel=2e-3
    )


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_a_fixed_step_that_passes_over_a_law_is_reported():
    law = fm.Table((0.0, 5.03, 5.032, 5.034, 10.0), (0, 0, 500.0, 0, 0))
    audit = fm.simulate(slider(law), t_end=10.0, step=0.01).audit
    told = [f"{check.status} {check.found}" for check in audit if check.title == "Pieces of laws"]
    assert told == ["WARN one changes within 0.002 s at t = 5.03 s, less than the step of 0.01 s"]
    fine = fm.simulate(slider(law), t_end=10.0, step=1e-3, output_step=0.1).audit
    assert "Pieces of laws" not in [check.title for check in fine]


@pytest.mark.parametrize("t", [0.0, 3.3, 100.0, 3600.0])
@pytest.mark.parametrize("frequency", [0.01, 20.0, 100.0])
def test_rates_of_plain_functions_are_the_same_at_all_times(t, frequency):
    w = 2.0 * math.pi * frequency
    x, v, a = fm.Function(lambda t: math.sin(w * t + 1.0)).state(t)
    assert x == math.sin(w * t + 1.0)
    assert v == pytest.approx(w * math.cos(w * t + 1.0), abs=1e-5 * w + 1e-9)
    assert a == pytest.approx(-w * w * math.sin(w * t + 1.0), abs=1e-5 * w * w + 1e-3)


def test_constant_laws_do_not_restart(recwarn):
    model = slider()
    model.add(fm.JointTorque("control", "guide", fm.PD(kp=1.0, reference=0.3)))
    first = fm.simulate(model, t_end=0.1)
    fm.simulate(model, t_end=0.1, start=fm.state_of(first, 0.1))
    assert not [str(each.message) for each in recwarn if "restart" in str(each.message)]


def cart(motion):
    model = fm.Model("cart")
    cart = model.add(fm.RigidBody("cart", mass=1, inertia=(1, 1, 1)))
    bob = model.add(fm.RigidBody("bob", mass=1, inertia=(0.02,) * 3, com=(0, 0, -0.5)))
    model.add(fm.Prismatic("rail", model.ground, cart, axis="x"))
    model.add(fm.Revolute("hinge", cart, bob, axis="y"))
    model.add(fm.Drive("motor", "rail", motion))
    return model


@pytest.mark.parametrize(
    "motion, wrong",
    [
        (lambda t: (0.2 * np.sin(3 * t), 0.0, 0.0), "returns the rate 0"),
        (lambda t: (0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), 0.0), "returns the acceleration 0"),
        (
            lambda t: (0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.cos(3 * t)),
            "returns the acceleration",
        ),
    ],
)
def test_stated_rates_that_are_not_those_of_the_function(motion, wrong):
    with pytest.raises(fm.InputError, match=rf"drives\.motor\.motion: the function {wrong}"):
        fm.simulate(cart(motion), t_end=1.0)


@pytest.mark.parametrize(
    "motion",
    [
        lambda t: (0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)),
        lambda t: (1e-4 * np.sin(900 * t), 0.09 * np.cos(900 * t), -81 * np.sin(900 * t)),
        lambda t: (0.3, 0, 0),
        lambda t: (max(t - 0.03, 0.0) ** 3, 3 * max(t - 0.03, 0.0) ** 2, 6 * max(t - 0.03, 0.0)),
        lambda t: (0.0, 0.0, 0.0) if t < 0.05 else (0.1 * (t - 0.05) ** 2, 0.2 * (t - 0.05), 0.2),
    ],
)
def test_stated_rates_that_are(motion):
    assert fm.simulate(cart(motion), t_end=0.1).run.finished


@pytest.mark.parametrize(
    "pair", [("recursive", "esdirk"), ("embedding", "dormand-prince")], ids=" ".join
)
def test_jumps_of_velocities_at_any_time_and_at_the_end(pair):
    """Corners whose times come to lie an ulp off: the run includes each jump, with its work."""
    corners = [8.01, 8.04, 8.31, 9.0, 9.9, 11.0, 11.07]
    values = np.cumsum([0.0, 0.0, 0.02, -0.03, 0.05, 0.01, -0.04, 0.03])
    model = fm.Model("slider", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    slide = model.add(fm.Prismatic("slide", model.ground, body, axis="z"))
    model.add(fm.Drive("motor", slide, fm.Table((0.0, *corners), values, interpolation="linear")))
    for t_end in (9.9, 11.07, 11.5):
        run = fm.simulate(
            model, t_end=t_end, output_step=0.1, formalism=pair[0], integrator=pair[1]
        )
        rate = np.append(np.diff(values) / np.diff([0.0, *corners]), 0.0)
        aside = np.where(run.t < t_end, run.t + 1e-12, run.t)
        expected = rate[np.searchsorted([0.0, *corners], aside, "right") - 1]
        np.testing.assert_allclose(run.joint("slide").velocity[:, 0], expected, atol=1e-9)
        assert np.abs(run.energy.balance).max() < 1e-9 * run.energy.scale
