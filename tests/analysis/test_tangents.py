"""Derivatives of runs by tangents of their steps against a small code of its own with complex
numbers; what is refused.
"""

import cmath
import warnings

import bars
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm

AT = {
    "bodies.bob.mass": 1.3,
    "bodies.bob.com.z": -0.7,
    "bodies.bob.inertia.yy": 0.2,
    "forces.spring.k": 4.0,
    "forces.spring.c": 0.3,
    "gravity.z": -9.81,
    "joints.hinge.q0": 0.9,
    "joints.hinge.v0": -0.4,
}
STEP, END, RHO = 0.01, 0.7, 0.6


def pendulum():
    """A damped pendulum about y."""
    inertia = (0.21, 0.2, 0.15)
    model = bars.pendulum(q0=0.9, v0=-0.4, mass=1.3, com=(0, 0, -0.7), inertia=inertia)
    model.add(fm.JointSpring("spring", "hinge", k=4.0, c=0.3))
    return model


def small_code(m, z, inertia, k, c, g, angle, rate):
    """φ and φ̇ at the end, by generalized-α in a few lines; complex parameters give derivatives."""
    am, af = (2.0 * RHO - 1.0) / (RHO + 1.0), RHO / (RHO + 1.0)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    mass, h = inertia + m * z * z, STEP

    def residual(phi, speed, acceleration):
        # a bob at z turned by φ about y is at (z sin φ, z cos φ): potential −m g z cos φ
        return mass * acceleration + m * g * z * cmath.sin(phi) + k * phi + c * speed

    acceleration = -residual(angle, rate, 0.0) / mass
    a = acceleration
    for _ in range(round(END / STEP)):
        new = acceleration
        for _ in range(20):
            a1 = ((1.0 - af) * new + af * acceleration - am * a) / (1.0 - am)
            phi = angle + h * rate + h * h * ((0.5 - beta) * a + beta * a1)
            speed = rate + h * ((1.0 - gamma) * a + gamma * a1)
            slope = mass + (1.0 - af) / (1.0 - am) * (
                h * h * beta * (m * g * z * cmath.cos(phi) + k) + h * gamma * c
            )
            new -= residual(phi, speed, new) / slope
        angle, rate, a, acceleration = phi, speed, a1, new
    return np.array([angle, rate])


def by_complex_step():
    """Im f(p + iε)/ε"""
    at = list(AT.values())
    return np.array(
        [
            small_code(*(p + 1e-30j * (i == k) for k, p in enumerate(at))).imag / 1e-30
            for i in range(len(at))
        ]
    ).T


def test_every_parameter_of_a_pendulum():
    """All numbers of the equation of motion and the initial values, against the complex step of an
    independent code.
    """
    run = fm.Run(t_end=END, step=STEP, rho_inf=RHO, integrator="generalized-alpha")
    outputs = ["last joint hinge.0 position", "last joint hinge.0 velocity"]
    found = fm.sensitivities(pendulum(), list(AT), outputs, run=run, method="tangent")
    np.testing.assert_allclose(found.values, small_code(*AT.values()).real, rtol=1e-7)
    np.testing.assert_allclose(found.gradient, by_complex_step(), rtol=1e-7, atol=1e-9)
    assert (np.abs(found.gradient - by_complex_step()) < found.error + 1e-8).all()


def test_differences_are_those_of_solved_equations():
    """What Newton's method leaves in a run is divided by steps of differences: usually 3e-4 of the
    slopes.
    """
    model = fm.Model("arm")
    upper = model.add(
        fm.RigidBody(
            "upper",
            mass=1.5,
            com=(0.2, 0, 0),
            inertia=(0.01, 0.05, 0.05),
            frames={"end": (0.4, 0, 0)},
        )
    )
    fore = model.add(
        fm.RigidBody("fore", mass=0.7, com=(0.15, 0.01, 0), inertia=(0.01, 0.02, 0.02))
    )
    model.add(fm.Revolute("shoulder", model.ground, upper, axis="y", q0=0.2))
    model.add(fm.Revolute("elbow", upper["end"], fore, axis="y", q0=-0.4))
    turn = fm.SmoothStep(0.8, initial=0.2, start=0.05, duration=0.3)
    model.add(fm.JointTorque("servo", "shoulder", fm.PID(kp=80.0, ki=30.0, kd=6.0, reference=turn)))
    model.add(
        fm.JointTorque(
            "pad", "elbow", fm.Maxwell(k=20.0, relaxation_time=0.1, k0=5.0, c0=0.1, x0=-0.3)
        )
    )
    named = [
        "bodies.fore.com.x",
        "bodies.upper.frames.end.position.x",
        "forces.pad.law.k",
        "gravity.z",
    ]
    differences, tangents = (
        fm.sensitivities(
            model, named, "last joint elbow.0 velocity", t_end=0.25, step=1e-3, method=how
        ).gradient[0]
        for how in ("differences", "tangent")
    )
    np.testing.assert_allclose(differences, tangents, atol=3e-6 * np.abs(tangents).max())


@pytest.mark.parametrize("method", ["tangent", "adjoint"])
def test_outputs_that_are_round_off_refuse_nothing(method):
    """About an axis that is y but for rounding, in random axes of the ground."""
    for seed in range(3):
        turned = Rotation.random(random_state=seed).as_matrix()
        model = fm.Model("turned", frames={"post": fm.Frame((0, 0, 0), turned.tolist())})
        bob = model.add(
            fm.RigidBody(
                "bob", mass=1.3, com=tuple(turned.T @ (0, 0, -0.7)), inertia=(0.2, 0.2, 0.2)
            )
        )
        hinge = model.add(
            fm.Revolute(
                "hinge", model.ground["post"], bob, axis=tuple(turned.T @ (0, 1, 0)), v0=-0.4
            )
        )
        model.add(fm.JointSpring("spring", hinge, k=4.0))
        noise = [
            f"last body bob {what}"
            for what in ("angular velocity x", "angular velocity z", "position y")
        ]
        outputs = [*noise, "last joint hinge.0 velocity"]
        found = fm.sensitivities(
            model,
            ["joints.hinge.v0", "forces.spring.k"],
            outputs,
            t_end=0.2,
            step=STEP,
            method=method,
        )
        assert (np.abs(found.gradient[:3]) < 1e-12).all()
        assert (found.error[3] < 1e-6).all()


@pytest.mark.parametrize("formalism", ["recursive", "embedding", "multiplier"])
def test_steps_of_dormand_prince(formalism):
    """Against differences of runs, whose steps have no noise but round-off; the largest velocity is
    between two outputs.
    """
    run = fm.Run(t_end=1.0, step=STEP, integrator="dormand-prince", formalism=formalism)
    outputs = [
        "last joint hinge.0 position",
        "max joint hinge.0 velocity",
        "rms joint hinge.0 effort",
    ]
    exact = fm.sensitivities(pendulum(), list(AT), outputs, run=run, method="tangent")
    expected = fm.sensitivities(pendulum(), list(AT), outputs, run=run, accuracy=1e-9)
    np.testing.assert_allclose(exact.gradient, expected.gradient, rtol=1e-8, atol=1e-9)
    assert (exact.error < 1e-6 * np.abs(exact.gradient) + 1e-6).all()


def test_an_output_that_depends_on_a_parameter_beside_the_motion():
    """The effort of a spring −k φ − c φ̇: d/dk = −φ − k dφ/dk − c dφ̇/dk."""
    found = fm.sensitivities(
        pendulum(),
        ["forces.spring.k"],
        [
            "last joint hinge.0 position",
            "last joint hinge.0 velocity",
            lambda run: 4.0 * run.joint("hinge").position[-1, 0],
        ],
        t_end=END,
        step=STEP,
        method="tangent",
    )
    assert found.gradient[2, 0] == pytest.approx(4.0 * found.gradient[0, 0], rel=1e-9)


@pytest.mark.parametrize("method", ["tangent", "adjoint"])
def test_a_kink_within_the_steps_is_refused(method):
    """A force that begins to rise at the very start: the first acceleration has other slopes to
    both sides, which tangents and central differences of runs have the mean of."""
    model = fm.Model("pushed", gravity=(0.0, 0.0, 0.0))
    model.add(fm.PointMass("block", mass=2.0))
    model.add(fm.Prismatic("rail", "ground", "block", axis="x"))
    model.add(
        fm.FrameForce("push", "block", force=(fm.Ramp(0.0, 3.0, start=0.0, end=1.0), 0.0, 0.0))
    )
    given = {"outputs": ["last joint rail.0 velocity"], "t_end": 0.02, "step": 1e-3}
    run = fm.Run(t_end=0.02, integrator="generalized-alpha", step=1e-3)
    at = "forces.push.force.x"
    with pytest.raises(
        fm.SolverError, match=r"'last joint rail\.0 velocity' has a kink at this very value"
    ):
        fm.sensitivities(model, [f"{at}.start"], method=method, run=run, **given)
    assert np.isfinite(
        fm.sensitivities(model, {f"{at}.start": 0.0105}, method=method, run=run, **given).gradient
    ).all()


def test_a_kink_has_no_derivative():
    """|v| at the start, where v is zero."""
    model = fm.Model("slider", gravity=(0, 0, 0))
    block = model.add(fm.PointMass("block", mass=2.0))
    model.add(fm.Prismatic("rail", model.ground, block, v0=0.0))

    def speed(run):
        return abs(run.joint("rail").velocity[-1, 0])

    with pytest.warns(fm.ModelWarning, match="kink"):
        found = fm.sensitivities(
            model, ["joints.rail.v0"], speed, t_end=0.1, step=0.01, method="tangent"
        )
    assert np.isnan(found.gradient[0, 0])
    assert np.isinf(found.error[0, 0])


def test_what_has_no_tangent_is_named():
    model = pendulum()
    down = fm.Event("down", joint="hinge", terminal=True)
    last = "last joint hinge.0 position"
    for options, text in (
        ({"t_end": 0.1}, "not controlled ones of 'esdirk'"),
        ({"t_end": 0.1, "step": 0.01, "events": [down]}, "event 'down'"),
        ({"run": fm.Run(t_end=0.1, step=0.01, output_step=0.015)}, "not at the end of a step"),
    ):  # fmt: skip
        with pytest.raises(fm.InputError, match=text):
            fm.sensitivities(model, ["bodies.bob.mass"], last, method="tangent", **options)
    with pytest.raises(fm.InputError, match="must be one of differences, tangent, adjoint"):
        fm.sensitivities(model, ["bodies.bob.mass"], last, t_end=0.1, method="exact")
    boundary = fm.Model("plate", gravity=(0, 0, -9.81))
    plate = boundary.add(fm.RigidBody("plate", mass=1.0, com=(0, 0, -0.2), inertia=(0.1, 0.2, 0.3)))
    boundary.add(fm.Revolute("hinge", boundary.ground, plate, axis="y", q0=0.2))
    with pytest.raises(
        fm.InputError, match=r"bodies.plate.inertia.zz = 0.3.*not physical.*differences"
    ):
        fm.sensitivities(
            boundary, ["bodies.plate.inertia.zz"], last, t_end=0.1, step=0.01, method="tangent"
        )


def test_rigid_contacts_are_refused():
    model = fm.Model("ball", gravity=(0, 0, -9.81))
    ball = model.add(
        fm.RigidBody("ball", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"centre": (0, 0, 0)})
    )
    model.add(fm.Prismatic("fall", model.ground, ball, axis="z", q0=1.0))
    model.add(fm.JointSpring("spring", "fall", k=5.0))
    model.add(fm.JointLimit("floor", "fall", lower=0.0))
    run = fm.Run(t_end=0.1, integrator="moreau-jean", step=0.01)
    with pytest.raises(
        fm.InputError, match="not fixed ones of 'moreau-jean'; take method='differences'"
    ):
        fm.sensitivities(
            model, ["bodies.ball.mass"], "last joint fall.0 position", run=run, method="tangent"
        )


def four_bar():
    """A four-bar with a spring and a damped motor joint, in the plane x z, released from rest."""
    model = fm.Model("four-bar", frames={"pivot": (0.6, 0, 0)})
    bar = {"mass": 1.0, "inertia": (0.01, 0.011, 0.012)}
    crank = model.add(fm.RigidBody("crank", **bar, com=(0.1, 0, 0), frames={"end": (0.2, 0, 0)}))
    rod = model.add(fm.RigidBody("rod", **bar, com=(0.25, 0, 0), frames={"end": (0.5, 0, 0)}))
    rocker = model.add(fm.RigidBody("rocker", **bar, com=(0.2, 0, 0), frames={"end": (0.4, 0, 0)}))
    motor = model.add(fm.Revolute("motor", model.ground, crank, axis="y", q0=-1.0))
    model.add(fm.Universal("knee", crank["end"], rod, axes=("y", "z"), q0=(0.5, 0.0)))
    model.add(fm.Revolute("pivot", model.ground["pivot"], rocker, axis="y", q0=-1.9))
    model.add(fm.Spherical("hip", rod["end"], rocker["end"]))
    model.add(fm.JointSpring("spring", motor, k=6.0, c=0.2))
    return model


@pytest.mark.parametrize("make", [pendulum, four_bar])
@pytest.mark.parametrize(("coordinates", "first"), [("joint", 0), ("absolute", 3)])
def test_adjoint_and_tangent(make, coordinates, first):
    """Forwards and backwards through the same steps, by every sixth parameter, others in each
    coordinates.
    """
    model = make()
    joint = next(iter(model.joints))
    paths = [
        path for path in fm.parameters(model) if path.startswith(("bodies", "forces", "gravity.z"))
    ][first::6]
    outputs = [
        f"last joint {joint}.0 position",
        f"max joint {joint}.0 velocity",
        f"rms joint {joint}.0 effort",
    ]
    scales = {path: 0.01 for path in paths if ".inertia." in path}
    run = fm.Run(
        t_end=0.1,
        step=2e-3,
        integrator="generalized-alpha",
        formalism="multiplier",
        coordinates=coordinates,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AssemblyWarning)
        forwards, backwards = (
            fm.sensitivities(model, paths, outputs, run=run, method=method, scales=scales)
            for method in ("tangent", "adjoint")
        )
    size = np.abs(forwards.gradient).max(axis=1)[:, None] + 1e-3
    assert (np.abs(backwards.gradient - forwards.gradient) < 1e-6 * size).all()


def test_what_has_no_adjoint_is_named():
    def last(run):
        return run.joint("hinge").position[-1, 0]

    with pytest.raises(fm.InputError, match="output 'last' is a function of the solution"):
        fm.sensitivities(
            pendulum(), ["bodies.bob.mass"], last, t_end=0.1, step=0.01, method="adjoint"
        )
    run = fm.Run(t_end=0.1, step=0.01, integrator="dormand-prince")
    with pytest.raises(fm.InputError, match="'dormand-prince' has no adjoint"):
        fm.sensitivities(
            pendulum(),
            ["bodies.bob.mass"],
            "last joint hinge.0 position",
            run=run,
            method="adjoint",
        )


AHEAD = 0.5  # rad, of the pin before the axis of its crank


def crank_of(radius, rod, x, speed):
    """Angle and speed of the crank of a slider at x: rod² = x² + radius² − 2 x radius cos φ, and
    its rate.
    """
    cosine = (x * x + radius * radius - rod * rod) / (2.0 * x * radius)
    angle = cmath.acos(cosine)
    return np.array(
        [angle - AHEAD, speed * (radius * cosine - x) / (x * radius * cmath.sin(angle))]
    )


@pytest.mark.parametrize(
    ("seed", "integrator"),
    [(0, "generalized-alpha"), (1, "dormand-prince"), (2, "generalized-alpha")],
)
# of runs beside, beyond the dead centre
@pytest.mark.filterwarnings("ignore::flexmbs.AssemblyWarning")
def test_starts_near_singular_positions(seed, integrator):
    """A slider-crank whose slider is declared near its outer dead centre, by 1/100 to 1/10⁴ of the
    length: derivatives of the crank that assembly finds, against the complex step of the closed
    form."""
    rng = np.random.default_rng(seed)
    radius, rod, speed = rng.uniform(0.2, 0.5), rng.uniform(0.7, 1.2), -rng.uniform(0.01, 0.1)
    x = (radius + rod) * (1.0 - 10.0 ** -rng.uniform(2.0, 4.0))

    def machine(radius, rod, x, speed):
        model = fm.Model("slider-crank", gravity=(0, 0, 0))
        pin = (radius * np.cos(AHEAD), radius * np.sin(AHEAD), 0)
        crank = model.add(
            fm.RigidBody("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"pin": pin})
        )
        block = model.add(fm.PointMass("block", mass=1.0))
        model.add(fm.Revolute("crank", model.ground, crank, axis="z"))
        model.add(fm.Prismatic("rail", model.ground, block, axis="x", q0=x, v0=speed))
        model.add(fm.Distance("rod", crank["pin"], block, length=rod))
        return model

    at = {"radius": radius, "rod": rod, "x": x, "speed": speed}
    outputs = ["first joint crank.0 position", "first joint crank.0 velocity"]
    run = fm.Run(t_end=2e-6, step=1e-6, integrator=integrator)
    found = fm.sensitivities(machine, at, outputs, run=run, method="tangent")
    by_complex_steps = [
        crank_of(*(p + 1e-30j * (i == k) for k, p in enumerate(at.values()))).imag / 1e-30
        for i in range(4)
    ]
    expected = np.array(by_complex_steps).T
    np.testing.assert_allclose(found.values, crank_of(*at.values()).real, rtol=1e-9)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-7, atol=1e-9)
