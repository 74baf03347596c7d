"""Derivatives of runs by parameters against closed forms, scaling laws and other methods; what
cannot be differentiated.
"""

import math
import warnings

import bars
import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.special import ellipe, ellipk

import flexmbs as fm
import preprocess as pp

G = 9.81


def pendulum():
    return bars.pendulum(q0=0.9, mass=1.3, com=(0, 0, -0.7), inertia=(0.0, 0.0, 0.0))


def period(solution):
    """Four times the first quarter."""
    return 4.0 * solution.events[0].t


def test_period_of_a_pendulum():
    """T = 4 √(l/g) K(k), k = sin(φ₀/2); ∂T/∂φ₀ = 2 √(l/g) cos(φ₀/2) dK/dk, dK/dk = [E/(1 − k²) −
    K]/k.
    """
    paths = ["bodies.bob.com.z", "bodies.bob.mass", "joints.hinge.q0", "gravity.z"]
    event = fm.Event("down", joint="hinge", terminal=True)
    found = fm.sensitivities(pendulum(), paths, {"period": period}, t_end=1.0, events=[event])
    k = math.sin(0.45)
    K, E = ellipk(k * k), ellipe(k * k)
    root = math.sqrt(0.7 / G)
    expected = {
        "bodies.bob.com.z": -4.0 * root * K / (2.0 * 0.7),
        "bodies.bob.mass": 0.0,
        "joints.hinge.q0": 2.0 * root * math.cos(0.45) * (E / (1.0 - k * k) - K) / k,
        "gravity.z": 4.0 * root * K / (2.0 * G),
    }
    assert found.values[0] == pytest.approx(4.0 * root * K, rel=1e-8)
    for i, (name, value) in enumerate(expected.items()):
        assert found["period", name] == pytest.approx(value, rel=1e-6, abs=1e-7)
        assert abs(found["period", name] - value) < found.error[0, i] + 1e-6


def oscillator():
    model = fm.Model("oscillator", gravity=(0, 0, 0))
    mass = model.add(fm.PointMass("mass", mass=2.0))
    guide = model.add(fm.Prismatic("guide", model.ground, mass, axis="x", q0=0.1, v0=-0.2))
    model.add(fm.JointSpring("spring", guide, k=50.0, c=0.5))
    return model


def displacement(t, m, k, c, x0, v0):
    """x(t) of the damped oscillator; complex parameters give derivatives."""
    decay = c / (2.0 * m)
    omega = np.sqrt(k / m - decay * decay)
    return np.exp(-decay * t) * (
        x0 * np.cos(omega * t) + (v0 + decay * x0) / omega * np.sin(omega * t)
    )


PATHS = [
    "bodies.mass.mass",
    "forces.spring.k",
    "forces.spring.c",
    "joints.guide.q0",
    "joints.guide.v0",
]
AT = (2.0, 50.0, 0.5, 0.1, -0.2)


def by_complex_step(function):
    """Exact derivatives by each parameter: Im f(p + ih)/h."""
    return [
        function(*(p + 1e-30j * (i == k) for i, p in enumerate(AT))).imag / 1e-30
        for k in range(len(AT))
    ]


@pytest.mark.parametrize("integrator", ["esdirk", "dormand-prince"])
def test_an_oscillator_at_a_time(integrator):
    run = fm.Run(t_end=2.0, integrator=integrator)
    found = fm.sensitivities(oscillator(), PATHS, "at 1.37 joint guide.0 position", run=run)
    expected = by_complex_step(lambda *p: displacement(1.37, *p))
    np.testing.assert_allclose(found.gradient[0], expected, rtol=2e-6, atol=1e-9)


def test_amplitude_and_integrals_of_an_oscillator():
    """Extrema by their closed form at the time t* where ẋ = 0 (its change has no effect), integrals
    by fine quadrature.
    """
    outputs = {
        "largest": "max joint guide.0 position",
        "area": "integral joint guide.0 position",
        "rms": "rms joint guide.0 position",
    }
    found = fm.sensitivities(
        oscillator(),
        PATHS,
        outputs,
        run=fm.Run(t_end=2.0, integrator="dormand-prince", output_step=1e-3),
    )
    t = np.linspace(0.0, 2.0, 20001)
    x = displacement(t, *AT)
    k = int(np.argmax(x))
    peak = (
        t[k] + 0.5 * (t[1]) * (x[k - 1] - x[k + 1]) / (x[k - 1] - 2.0 * x[k] + x[k + 1])
        if 0 < k < len(t) - 1
        else t[k]
    )
    np.testing.assert_allclose(
        found.gradient[0], by_complex_step(lambda *p: displacement(peak, *p)), rtol=2e-5, atol=1e-8
    )
    np.testing.assert_allclose(
        found.gradient[1],
        by_complex_step(lambda *p: simpson(displacement(t, *p), x=t)),
        rtol=2e-6,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        found.gradient[2],
        by_complex_step(lambda *p: np.sqrt(simpson(displacement(t, *p) ** 2, x=t) / 2.0)),
        rtol=2e-6,
        atol=1e-9,
    )
    assert found.units == ("m", "m s", "m")


CRANK, ROD, ROCKER, BASE = 0.2, 0.5, 0.4, 0.6


def four_bar():
    """In the plane x z; a driven crank from the origin, a rod, a rocker about (0.6, 0, 0)."""
    model = fm.Model("four-bar", gravity=(0, 0, 0), frames={"pivot": (BASE, 0, 0)})
    bar = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}
    crank = model.add(fm.RigidBody("crank", **bar, frames={"end": (CRANK, 0, 0)}))
    rod = model.add(fm.RigidBody("rod", **bar, frames={"end": (ROD, 0, 0)}))
    rocker = model.add(fm.RigidBody("rocker", **bar, frames={"end": (ROCKER, 0, 0)}))
    motor = model.add(fm.Revolute("motor", model.ground, crank, axis="y", q0=-1.0))
    model.add(fm.Revolute("knee", crank["end"], rod, axis="y", q0=0.5))
    model.add(fm.Revolute("pivot", model.ground["pivot"], rocker, axis="y", q0=-1.9))
    model.add(fm.Revolute("hip", rod["end"], rocker["end"], axis="y"))
    model.add(fm.Drive("turn", motor, fm.Ramp(-1.0, 2.0)))
    return model


def rocker_angle(crank, rod, rocker, base, t):
    """Angle of the rocker about −y by the law of cosines, upper branch."""
    angle = 1.0 - 2.0 * t
    x, z = crank * np.cos(angle) - base, crank * np.sin(angle)
    d = np.sqrt(x * x + z * z)
    beta = np.arccos((rocker * rocker + d * d - rod * rod) / (2.0 * rocker * d))
    return np.arctan(z / x) + np.pi - beta


def test_geometry_of_a_four_bar():
    """The closed loop by the law of cosines; its derivatives by the complex step."""
    paths = [
        "bodies.crank.frames.end.position.x",
        "bodies.rod.frames.end.position.x",
        "bodies.rocker.frames.end.position.x",
        "frames.pivot.position.x",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AssemblyWarning)
        found = fm.sensitivities(
            four_bar(), paths, "at 0.4 joint pivot.0 position", t_end=0.4, step=1e-3
        )
    lengths = (CRANK, ROD, ROCKER, BASE)
    assert found.values[0] == pytest.approx(-rocker_angle(*lengths, 0.4), abs=1e-8)
    expected = [
        -rocker_angle(*(p + 1e-30j * (i == k) for i, p in enumerate(lengths)), 0.4).imag / 1e-30
        for k in range(4)
    ]
    np.testing.assert_allclose(found.gradient[0], expected, rtol=1e-6)


def cantilever(youngs=70e9):
    """A reduced beam under a step force: from the mesh on."""
    mesh = pp.box_mesh((0.3, 0.03, 0.02), (6, 1, 1), "hex20")
    part = pp.reduce(
        mesh,
        pp.Isotropic(E=youngs, nu=0.33, rho=2700.0),
        interfaces={"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        method=pp.CraigBampton(modes=1),
        reference="hub",
    )
    model = fm.Model("cantilever", gravity=(0, 0, 0))
    beam = model.add(fm.FlexibleBody("beam", data=part, stiffening=False))
    model.add(fm.Fixed("clamp", model.ground, beam["hub"]))
    model.add(fm.FrameForce("load", beam["tip"], force=(0, 0, 1.0)))
    return model


def test_tip_of_a_beam_from_its_material():
    """Linear dynamics from rest with a constant load: w(t; E, F) = (F/E) W(t √E), hence ∂w/∂F = w/F
    and ∂w/∂E = (½ t ẇ − w)/E, through mesh, reduction and run."""
    t = 0.004
    run = fm.Run(t_end=0.005, integrator="dormand-prince", output_step=1e-5)
    found = fm.sensitivities(
        cantilever,
        {"youngs": 70e9, "forces.load.force.z": 1.0},
        ["at 0.004 frame beam/tip position z", "at 0.004 frame beam/tip velocity z"],
        run=run,
        accuracy=1e-5,
    )
    w, rate = found.values[0], found.values[1]
    assert found.gradient[0, 1] == pytest.approx(w, rel=1e-4)
    assert found.gradient[0, 0] == pytest.approx((0.5 * t * rate - w) / 70e9, rel=2e-4)


def door(damping=6.0):
    model = fm.Model("door", gravity=(0, 0, 0))
    leaf = model.add(fm.RigidBody("leaf", mass=20.0, com=(0.45, 0, 0), inertia=(4.0, 5.3, 1.35)))
    hinge = model.add(fm.Revolute("hinge", model.ground, leaf, axis="z", q0=1.2))
    model.add(fm.JointSpring("closer", hinge, k=15.0, c=damping))
    return model


def test_a_function_with_arguments_and_threads_give_the_same():
    outputs = ["rms joint hinge.0 position", lambda solution: solution.joint("hinge").effort[-1, 0]]
    one = fm.sensitivities(door(), ["forces.closer.c"], outputs, t_end=2.0, step=4e-3)
    other = fm.sensitivities(door, {"damping": 6.0}, outputs, t_end=2.0, step=4e-3, workers=2)
    np.testing.assert_array_equal(one.gradient, other.gradient)
    assert one.relative[0, 0] == pytest.approx(6.0 * one.gradient[0, 0] / one.values[0])


def test_at_a_bound_the_derivative_is_one_sided():
    """x(t) of an oscillator at c = 0, below which there is no model."""
    model = oscillator()
    model.forces["spring"] = fm.JointSpring("spring", "guide", k=50.0, c=0.0)
    found = fm.sensitivities(
        model, ["forces.spring.c"], "at 1.37 joint guide.0 position", t_end=2.0
    )
    expected = displacement(1.37, 2.0, 50.0, 1e-30j, 0.1, -0.2).imag / 1e-30
    assert found.gradient[0, 0] == pytest.approx(expected, rel=1e-5)
    assert "derivative to one side" in found.notes[0]


def ball(height):
    model = fm.Model("ball")
    sphere = model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Prismatic("fall", model.ground, sphere, axis="z", q0=height))
    model.add(
        fm.SpherePlane("floor", model.ground, sphere, radius=0.0, normal="z", restitution=0.5)
    )
    return model


def test_a_run_with_another_number_of_impacts_is_reported():
    """√(2h/g) = 0.5 s: at this height the ball just reaches the floor at the end."""
    run = fm.Run(t_end=0.5, integrator="event-driven")
    just = 0.5 * G * 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lost = fm.sensitivities(
            ball(just), ["joints.fall.q0"], "last joint fall.0 velocity", run=run
        )
        near = fm.sensitivities(
            ball(1.003 * just), ["joints.fall.q0"], "last joint fall.0 position", run=run
        )
    assert np.isnan(lost.gradient).all()
    assert "no derivative" in lost.notes[0]
    assert "other impacts" in lost.notes[0]
    assert near["last joint fall.0 position", "joints.fall.q0"] == pytest.approx(1.0, abs=1e-6)
    assert "the derivative holds for changes below" in near.notes[0]


def test_no_derivative_is_a_warning():
    with pytest.warns(fm.ModelWarning, match="no derivative"):
        fm.sensitivities(
            ball(0.125 * G),
            ["joints.fall.q0"],
            "last joint fall.0 velocity",
            run=fm.Run(t_end=0.5, integrator="event-driven"),
        )


def test_a_kink_has_no_derivative():
    """|x| with x = 0 at this value: central differences alone would give zero."""
    model = oscillator()
    model.joints["guide"] = fm.Prismatic("guide", "ground", "mass", axis="x", q0=0.0, v0=0.0)
    outputs = {
        "size": lambda solution: abs(solution.joint("guide").position[-1, 0]),
        "place": "last joint guide.0 position",
    }
    with pytest.warns(fm.ModelWarning, match="no derivative of 1 of 2 outputs: a kink"):
        found = fm.sensitivities(model, ["joints.guide.q0"], outputs, t_end=0.5, step=2e-3)
    assert math.isnan(found["size", "joints.guide.q0"])
    assert found["place", "joints.guide.q0"] == pytest.approx(
        displacement(0.5, *AT[:3], 1.0, 0.0), rel=1e-4
    )


def test_after_an_impact():
    """z after one impact at t₁ = √(2h/g): z = e g t₁ (T − t₁) − g (T − t₁)²/2."""
    h, T, e = 0.6, 0.6, 0.5
    found = fm.sensitivities(
        ball(h), ["joints.fall.q0", "contacts.floor.restitution"], "last joint fall.0 position",
        run=fm.Run(t_end=T, integrator="event-driven"),
    )  # fmt: skip
    t1 = math.sqrt(2.0 * h / G)
    rate = 1.0 / (G * t1)  # ∂t₁/∂h
    slope = rate * (e * G * (T - 2.0 * t1) + G * (T - t1))
    np.testing.assert_allclose(found.gradient[0], [slope, G * t1 * (T - t1)], rtol=1e-5)


def test_the_table():
    found = fm.sensitivities(
        door(), ["forces.closer.c"], "last joint hinge.0 position", t_end=1.0, step=4e-3
    )
    text = str(found).splitlines()
    assert text[0].split() == ["output", "parameter", "derivative", "error", "relative"]
    assert text[1].startswith("last joint hinge.0 position  forces.closer.c")
    pytest.importorskip("pandas")
    frame = found.to_dataframe()
    assert list(frame.columns) == ["output", "parameter", "derivative", "error", "relative"]
    assert frame["derivative"][0] == found["last joint hinge.0 position", "forces.closer.c"]


OUTPUT = "last joint hinge.0 position"
WRONG = {
    "unknown parameter": (
        dict(parameters=["forces.closer.k2"]),
        "'k2' is not in forces.closer; did you mean 'k'?",
    ),
    "no path": (dict(parameters=["k"]), "parameters: 'k' is not the path of a parameter"),
    "no parameters": (dict(parameters=[]), "parameters: is empty"),
    "unknown word": (dict(outputs="biggest joint hinge.0 position"), "'biggest' begins no output"),
    "unknown channel": (
        dict(outputs="max joint hing.0 position"),
        "'joint hing.0 position' is not in the solution; did you mean",
    ),
    "no time": (dict(outputs="at noon joint hinge.0 position"), "'at' takes a time in seconds"),
    "time after the end": (
        dict(outputs="at 9 joint hinge.0 position"),
        "t = 9 s is outside of the run, 0 … 1 s",
    ),
    "no output": (dict(outputs=[3.0]), "outputs[0]: 3.0 is neither a text"),
    "twice": (dict(outputs=[OUTPUT, OUTPUT]), "is there twice"),
    "a function of nothing": (
        dict(outputs=lambda solution: None),
        "the function gave None; return one number",
    ),
    "not finite": (
        dict(outputs={"y": lambda solution: math.nan}),
        "'y' is nan; it must be a finite number",
    ),
    "accuracy": (dict(accuracy=0.0), "accuracy: must be within 1e-12 … 1, not 0"),
    "scale": (
        dict(scales={"forces.closer.c": -1.0}),
        "scales.forces.closer.c: must be > 0, not -1",
    ),
    "scale of another": (dict(scales={"c": 1.0}), "scales: 'c' is not among the parameters"),
    "run": (dict(run="fast"), "run: 'fast' is not an fm.Run"),
    "workers": (dict(workers=0), "workers: must be a whole number"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_named_in_one_line(what):
    given, message = WRONG[what]
    arguments = {
        "parameters": ["forces.closer.c"],
        "outputs": OUTPUT,
        "t_end": 1.0,
        "step": 4e-3,
    } | given
    with pytest.raises(fm.InputError) as error:
        fm.sensitivities(door(), arguments.pop("parameters"), arguments.pop("outputs"), **arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_pair_is_named():
    found = fm.sensitivities(door(), ["forces.closer.c"], OUTPUT, t_end=1.0, step=4e-3)
    with pytest.raises(fm.InputError, match=r"'forces\.closer\.k' is not there"):
        found[OUTPUT, "forces.closer.k"]
