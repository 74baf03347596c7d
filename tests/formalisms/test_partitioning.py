"""Runs by partitioning against the equation of motion of one degree of freedom; choices of
independent coordinates.
"""

import math

import numpy as np
import pytest
from closed_loops import four_bar, parallelograms, slider_crank
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.system.compile import compile_model
from flexmbs.system.names import velocity_names

PRECISE = fm.DormandPrince(rtol=1e-9, atol=1e-10)


def crank_angle(times):
    """Crank angle of the slider-crank from its one equation J φ̈ + J' φ̇²/2 + V' = 0."""
    r, l, g = 0.2, 0.5, 9.81

    def inertia_and_height(phi):
        sine = r * np.sin(phi) / l
        tilt = np.arcsin(sine)
        rate = r * np.cos(phi) / (l * np.cos(tilt))
        rod = (-r * np.sin(phi) - l / 2 * sine * rate) ** 2 + (
            r * np.cos(phi) - l / 2 * np.cos(tilt) * rate
        ) ** 2
        piston = (r * np.sin(phi) + l * sine * rate) ** 2
        return r**2 / 3 + rod + l**2 / 12 * rate**2 + piston, r * np.sin(phi)

    def derivative(t, y):
        J, _ = inertia_and_height(y[0])
        slope, fall = (x.imag / 1e-30 for x in inertia_and_height(y[0] + 1e-30j))
        return y[1], -(slope * y[1] ** 2 / 2 + g * fall) / J

    return solve_ivp(
        derivative,
        (0, times[-1]),
        (0.5, 8.0),
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    ).y[0]


def choices(solution):
    return [note for note in solution.run.notes if note.startswith("independent")]


def run(model, form, **options):
    return fm.simulate(
        model,
        formalism=form,
        **{"t_end": 2.0, "output_step": 0.05, "integrator": PRECISE, **options},
    )


@pytest.mark.parametrize("first", [None, ("main",), ("guide",)])
def test_slider_crank_turns_fully_whatever_is_independent_first(first):
    """The slider is not independent at the dead centres: the crank is selected before them and
    remains.
    """
    found = run(slider_crank(), fm.Partitioning(first))
    angle = found.joint("main").position[:, 0]
    assert np.ptp(angle) > 4 * math.pi
    assert np.abs(angle - crank_angle(found.t)).max() < 1e-6
    assert found.drift[:, 0].max() < 1e-10
    assert found.drift[:, 1].max() < 1e-9
    notes = choices(found)
    assert len(notes) == (first == ("guide",))
    if notes:
        assert notes[0].endswith("s: main.0 instead of guide.0")
        assert 0.0 < float(notes[0].split("t = ")[1].split()[0]) < (math.pi - 0.5) / 6.0


def test_absolute_coordinates_and_fixed_steps():
    found = run(slider_crank(), "partitioning", coordinates="absolute")
    assert np.abs(found.joint("main").position[:, 0] - crank_angle(found.t)).max() < 2e-6
    assert found.drift[:, 0].max() < 1e-10
    assert any("piston.vx instead of" in note for note in choices(found))
    fixed = run(slider_crank(), fm.Partitioning(["guide"]), integrator=fm.DormandPrince(step=2e-3))
    assert np.abs(fixed.joint("main").position[:, 0] - crank_angle(fixed.t)).max() < 1e-6
    assert fixed.drift[:, 0].max() < 1e-10


def test_four_bar_from_badly_chosen_coordinates():
    """The rocker is at rest twice per turn of the crank."""
    good, bad = (run(four_bar(), fm.Partitioning([name])) for name in ("main", "foot"))
    assert choices(good) == []
    assert "main.0 instead of foot.0" in choices(bad)[0]
    assert np.abs(bad.q - good.q).max() < 1e-5
    crank, rod = (
        good.joint("main").position[:, 0],
        good.joint("main").position[:, 0] + good.joint("pin").position[:, 0],
    )
    knee = np.array(
        [0.3 * np.cos(crank) + 0.8 * np.cos(rod), 0.3 * np.sin(crank) + 0.8 * np.sin(rod)]
    )
    assert np.abs(np.hypot(knee[0] - 0.7, knee[1]) - 0.6).max() < 1e-10


@pytest.mark.parametrize("form", ["embedding", "partitioning"])
def test_through_positions_with_all_bars_in_line(form):
    """The cells remain parallelograms and conserve energy at positions where the mechanism could
    branch.
    """
    found = fm.simulate(
        parallelograms(2),
        t_end=8.0,
        output_step=0.1,
        formalism=form,
        integrator=fm.DormandPrince(rtol=1e-8, atol=1e-9),
    )
    tips = [found.frame(f"link{k}/end").position - (k, 0, 0) for k in range(3)]
    assert tips[0][:, 2].min() < -0.99
    assert max(np.abs(tip - tips[0]).max() for tip in tips) < 1e-6
    assert np.abs(found.energy.balance).max() < 1e-5 * found.energy.scale


def test_names_follow_joints_and_bodies():
    model = fm.Model("names")
    body, tail = (
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1, 1, 1))) for name in ("body", "tail")
    )
    bead = model.add(fm.PointMass("bead", mass=1.0))
    model.add(fm.Universal("hip", model.ground, body, axes=("x", "y")))
    turned = model.add(fm.Cylindrical("slot", tail, body, axis="z"))
    model.add(fm.Translation("thread", model.ground, bead))
    compiled = compile_model(model)
    names = velocity_names(compiled)
    assert names == ("hip.0", "hip.1", "slot.1", "slot.0", "thread.0", "thread.1", "thread.2")
    place = compiled.places[turned.name]
    at = [names.index(f"slot.{k}") - names.index("slot.1") for k in range(2)]
    assert at == [place.coordinate("slot", k)[0] for k in range(2)]
    absolute = velocity_names(compile_model(model, "absolute"))
    assert absolute[:6] == tuple(f"body.{axis}" for axis in ("vx", "vy", "vz", "wx", "wy", "wz"))


ALL = "main.0, pin.0, guide.0"
BAD = {
    "unknown": (
        {"independent": ["krank"]},
        f"partitioning.independent: no coordinate 'krank'; known: {', '.join(sorted(ALL.split(', ')))}",
    ),
    "twice": (
        {"independent": ["main", "main"]},
        "partitioning.independent: 'main.0' is named twice",
    ),
    "too many": (
        {"independent": ["main", "pin"]},
        f"partitioning.independent: 2 names for 1 independent coordinates; name 1 of {ALL}",
    ),
    "none": (
        {"independent": []},
        "partitioning.independent: 0 names for 1 independent coordinates",
    ),
    "text": ({"independent": "main"}, "partitioning.independent: 'main' is not a list of names"),
    "tolerance": ({"tolerance": 0.0}, "partitioning.tolerance: 0.0 is not above 0"),
    "limit": ({"limit": 1.0}, "partitioning.limit: 1.0 is not above 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case):
    options, message = BAD[case]
    with pytest.raises(fm.InputError) as refused:
        run(slider_crank(), fm.Partitioning(**options))
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_names_that_determine_nothing_at_the_start():
    with pytest.raises(
        fm.InputError,
        match="guide do not determine the other coordinates at the start; name 1 others of main",
    ):
        run(slider_crank(angle=0.0), fm.Partitioning(["guide"]))
    driven = slider_crank(speed=0.0)
    driven.add(fm.Drive("motor", "main", 0.5))
    with pytest.raises(fm.InputError, match="1 names for 0 independent coordinates"):
        run(driven, fm.Partitioning(["main"]))
