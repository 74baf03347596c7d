"""Gear trains against closed forms: ratios, motions, torques, energies, under every formalism and
in both coordinates.

Ratios by Willis' equation: Müller, Epicyclic Drive Trains (1982). Geared inertias by work and
energy of connected bodies: seen from the first shaft, the inertia of the second is divided by the
ratio squared.
"""

import math

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS

PAIRS = [
    (name, coordinates) for name, kind in FORMALISMS.items() for coordinates in kind.coordinates
]
ALL = [
    (form, coordinates, method)
    for form, coordinates in PAIRS
    for method, integrator in INTEGRATORS.items()
    if integrator.needs in FORMALISMS[form].provides
    and (coordinates != "rheonomic" or integrator.takes_time)
]
STEPS = {"generalized-alpha": 1e-3, "moreau-jean": 1e-3, "rattle": 1e-3}
I1, I2, MASS, TORQUE, RATIO = 0.3, 0.8, 1.7, 2.0, 2.5
FIRST, SECOND = "first bearing", "second bearing"
each_pair = pytest.mark.parametrize(("formalism", "coordinates"), PAIRS)


def disc(model: fm.Model, name: str, inertia: float, *, parent: str = "ground", **options) -> str:
    """A disc on a bearing about z; returns the name of the bearing."""
    model.add(
        fm.RigidBody(name, mass=MASS, inertia=(inertia,) * 3, frames=options.pop("frames", {}))
    )
    model.add(
        fm.Revolute(f"{name} bearing", parent, options.pop("child", name), axis="z", **options)
    )
    return f"{name} bearing"


def slider(model: fm.Model, name: str, **options) -> str:
    """A mass on a slide along x; returns the name of the slide."""
    model.add(fm.RigidBody(name, mass=MASS, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Prismatic(f"{name} slide", "ground", name, axis="x", **options))
    return f"{name} slide"


def two_shafts(coupling: fm.Gear | fm.Belt | fm.LinearCoupling, **initial: float) -> fm.Model:
    model = fm.Model("two shafts", gravity=(0, 0, 0))
    disc(model, "first", I1, **initial)
    disc(model, "second", I2, q0=0.2)
    model.add(coupling)
    model.add(fm.JointTorque("torque", FIRST, TORQUE))
    return model


def run(
    model: fm.Model,
    formalism: str,
    coordinates: str,
    t_end: float = 0.5,
    method: str = "dormand-prince",
) -> fm.Solution:
    control = {"step": STEPS[method]} if method in STEPS else {"rtol": 1e-9, "atol": 1e-11}
    solution = fm.simulate(
        model,
        t_end=t_end,
        output_step=t_end / 5,
        formalism=formalism,
        coordinates=coordinates,
        integrator=method,
        **control,
    )
    assert solution.verdict != "FAIL", solution.audit
    return solution


# two geared inertias under a torque


PAIRED = {
    "gear": (fm.Gear("pair", FIRST, SECOND, ratio=RATIO), -RATIO),
    "internal gear": (fm.Gear("pair", FIRST, SECOND, ratio=RATIO, internal=True), RATIO),
    "belt": (fm.Belt("pair", FIRST, SECOND, radii=(0.2, 0.5)), RATIO),
    "crossed belt": (fm.Belt("pair", FIRST, SECOND, radii=(0.2, 0.5), crossed=True), -RATIO),
    "linear": (fm.LinearCoupling("pair", {FIRST: 0.5, f"{SECOND}.0": 0.5 * RATIO}), -RATIO),
}


def check_two_shafts(solution: fm.Solution, ratio: float, error: float) -> None:
    """α₁ = T/(I₁ + I₂/i²), q̇₁ = i q̇₂; the coupling puts I₂ α₂ on the second shaft and −I₂ α₂/i on
    the first.
    """
    first, second, pair = solution.joint(FIRST), solution.joint(SECOND), solution.coupling("pair")
    rate = TORQUE / (I1 + I2 / ratio**2)
    np.testing.assert_allclose(first.position[:, 0], 0.5 * rate * solution.t**2, atol=error)
    np.testing.assert_allclose(
        second.position[:, 0], 0.2 + 0.5 * rate / ratio * solution.t**2, atol=error
    )
    on_first, on_second = pair.effort.values()
    np.testing.assert_allclose(on_second, I2 * rate / ratio, rtol=1e-6)
    np.testing.assert_allclose(on_first, -I2 * rate / ratio**2, rtol=1e-6)
    np.testing.assert_allclose(second.effort[:, 0], I2 * rate / ratio, rtol=1e-6)
    np.testing.assert_allclose(first.effort[:, 0], I1 * rate, rtol=1e-6)
    np.testing.assert_allclose(pair.value, pair.value[0], atol=error)
    np.testing.assert_allclose(pair.power, 0.0, atol=1e-7)
    np.testing.assert_allclose(solution.energy.balance, 0.0, atol=1e-6)


@pytest.mark.parametrize("kind", PAIRED)
def test_two_geared_inertias(kind: str) -> None:
    coupling, ratio = PAIRED[kind]
    check_two_shafts(run(two_shafts(coupling), "recursive", "joint"), ratio, 1e-8)
    check_two_shafts(run(two_shafts(coupling), "multiplier", "absolute"), ratio, 1e-8)


@pytest.mark.parametrize(("formalism", "coordinates", "method"), ALL)
def test_every_integrator(formalism: str, coordinates: str, method: str) -> None:
    """The accelerations are constant: methods of second order have no error either, but for the
    start of moreau-jean.
    """
    solution = run(two_shafts(PAIRED["gear"][0]), formalism, coordinates, 0.1, method)
    if method == "moreau-jean":
        rate = TORQUE / (I1 + I2 / RATIO**2)
        np.testing.assert_allclose(
            solution.joint(FIRST).position[:, 0], 0.5 * rate * solution.t**2, atol=1e-3
        )
        np.testing.assert_allclose(solution.coupling("pair").value, 0.2 * RATIO, atol=1e-9)
    else:
        check_two_shafts(solution, -RATIO, 1e-6)


TO_SLIDE = {
    "rack": (fm.RackPinion("pair", FIRST, "second slide", radius=0.25), 0.25),
    "opposite rack": (fm.RackPinion("pair", FIRST, "second slide", radius=-0.25), -0.25),
    "screw": (fm.ScrewCoupler("pair", FIRST, "second slide", lead=0.25 * 2.0 * math.pi), 0.25),
}


@pytest.mark.parametrize("kind", TO_SLIDE)
@each_pair
def test_rotation_to_translation(kind: str, formalism: str, coordinates: str) -> None:
    """x = r φ, α = T/(I + m r²), force on the slide m r α."""
    coupling, r = TO_SLIDE[kind]
    model = fm.Model("slide", gravity=(0, 0, 0))
    disc(model, "first", I1)
    slider(model, "second", q0=0.1)
    model.add(coupling)
    model.add(fm.JointTorque("torque", FIRST, TORQUE))
    solution = run(model, formalism, coordinates)
    rate = TORQUE / (I1 + MASS * r**2)
    np.testing.assert_allclose(solution.joint(FIRST).velocity[:, 0], rate * solution.t, atol=1e-7)
    np.testing.assert_allclose(
        solution.joint("second slide").position[:, 0],
        0.1 + 0.5 * r * rate * solution.t**2,
        atol=1e-8,
    )
    np.testing.assert_allclose(
        solution.coupling("pair").effort["second slide"], MASS * r * rate, rtol=1e-7
    )


@pytest.mark.parametrize("ratio", [1.0, 2.6])
@each_pair
def test_differential_splits_the_torque(ratio: float, formalism: str, coordinates: str) -> None:
    """q_c = (q₁ + i q₂)/(1 + i): the torque on the carrier acts as T/(1 + i) on the first and i
    T/(1 + i) on the second shaft.
    """
    model = fm.Model("differential", gravity=(0, 0, 0))
    shafts = (("case", 0.5, None), ("left", 0.2, 0.3), ("right", 0.7, -0.4))
    names = [disc(model, name, inertia, v0=v0) for name, inertia, v0 in shafts]
    model.add(fm.Differential("differential", *names, ratio=ratio))
    model.add(fm.JointTorque("torque", names[0], TORQUE))
    solution = run(model, formalism, coordinates)
    share = np.array([1.0, ratio]) / (1.0 + ratio)
    alpha = np.linalg.solve(np.diag([0.2, 0.7]) + 0.5 * np.outer(share, share), TORQUE * share)
    for name, start, rate in zip(names[1:], (0.3, -0.4), alpha):
        np.testing.assert_allclose(
            solution.joint(name).velocity[:, 0], start + rate * solution.t, atol=1e-7
        )
    np.testing.assert_allclose(
        solution.joint(names[0]).velocity[0, 0], share @ (0.3, -0.4), atol=1e-12
    )
    efforts = solution.coupling("differential").effort
    left, right, case = efforts[names[1]], efforts[names[2]], efforts[names[0]]
    np.testing.assert_allclose(
        [left, right / ratio, -case / (1.0 + ratio)], np.tile(left, (3, 1)), rtol=1e-9
    )
    np.testing.assert_allclose(left, 0.2 * alpha[0], rtol=1e-7)


# rheonomic


@each_pair
def test_rheonomic_coupling(formalism: str, coordinates: str) -> None:
    """q₁ − q₂ = b(t) between free discs: λ = b̈ I₁I₂/(I₁ + I₂), momentum is kept, the work is the
    kinetic energy.
    """
    law = fm.Sine(0.4, 0.5, offset=-0.2)
    model = fm.Model("rheonomic", gravity=(0, 0, 0))
    disc(model, "first", I1)
    disc(model, "second", I2)
    model.add(fm.LinearCoupling("pair", {FIRST: 1.0, SECOND: -1.0}, offset=law))
    solution = run(model, formalism, coordinates, 0.6)
    b, bd, bdd = np.array([law.state(t) for t in solution.t]).T
    reduced = I1 * I2 / (I1 + I2)
    first, second, pair = solution.joint(FIRST), solution.joint(SECOND), solution.coupling("pair")
    np.testing.assert_allclose(first.position[:, 0] - second.position[:, 0], b, atol=1e-9)
    np.testing.assert_allclose(
        I1 * first.velocity[:, 0] + I2 * second.velocity[:, 0], 0.0, atol=1e-9
    )
    np.testing.assert_allclose(pair.value, b, atol=1e-9)
    np.testing.assert_allclose(pair.multiplier, reduced * bdd, atol=1e-7)
    np.testing.assert_allclose(pair.power, reduced * bdd * bd, atol=1e-7)
    kinetic = 0.5 * reduced * bd**2
    np.testing.assert_allclose(solution.energy.kinetic, kinetic, atol=1e-8)
    np.testing.assert_allclose(solution.energy.work_of_drives, kinetic - kinetic[0], atol=1e-7)


# epicyclic trains


SUN, PLANET, RING = 24, 18, 60


def planetary(planets: int = 1, driven: float | None = 5.0) -> fm.Model:
    """Planets on a carrier between the sun and a ring gear that is fixed; angles of planets are
    relative to the carrier.
    """
    model = fm.Model("planetary", gravity=(0, -9.81, 0))
    radius = 0.1
    places = [
        (radius * math.cos(a), radius * math.sin(a), 0.0)
        for a in 2.0 * math.pi * np.arange(planets) / planets
    ]
    sun = disc(model, "sun", 0.1)
    carrier = disc(
        model, "carrier", 0.4, frames={f"pin {k}": place for k, place in enumerate(places)}
    )
    for k in range(planets):
        pin = disc(model, f"planet {k}", 0.05, parent=f"carrier/pin {k}")
        model.add(fm.LinearCoupling(f"sun mesh {k}", {sun: SUN, carrier: -SUN, pin: PLANET}))
        model.add(fm.LinearCoupling(f"ring mesh {k}", {carrier: RING, pin: PLANET}))
    if driven is not None:
        model.add(fm.Drive("motor", sun, fm.Ramp(0.0, driven)))
    else:
        model.add(fm.JointTorque("torque", sun, TORQUE))
    return model


@pytest.mark.parametrize("planets", [1, 3])
@each_pair
def test_planetary_train(planets: int, formalism: str, coordinates: str) -> None:
    """q̇_s/q̇_c = 1 + z_r/z_s; of several planets the equations depend on each other, their
    multipliers are not unique.
    """
    solution = run(planetary(planets), formalism, coordinates, 0.3)
    ratio = 1.0 + RING / SUN
    np.testing.assert_allclose(
        solution.joint("carrier bearing").velocity[:, 0], 5.0 / ratio, rtol=1e-8
    )
    np.testing.assert_allclose(
        solution.joint("planet 0 bearing").velocity[:, 0], -RING / PLANET * 5.0 / ratio, rtol=1e-8
    )
    np.testing.assert_allclose(
        solution.joint("carrier bearing").position[:, 0], 5.0 / ratio * solution.t, atol=1e-8
    )
    assert solution.coupling("sun mesh 0").unique == (planets == 1)
    assert sum(rows for _, rows in solution.run.redundant) == planets - 1


def test_planetary_train_under_a_torque() -> None:
    """½ I ω_s² is the kinetic energy of all parts: three planets also turn about the sun, and their
    weights balance.
    """
    solution = run(planetary(3, None), "recursive", "joint", 0.3)
    carrier = 1.0 / (1.0 + RING / SUN)
    spin = carrier * (1.0 - RING / PLANET)
    inertia = 0.1 + 0.4 * carrier**2 + 3 * (0.05 * spin**2 + MASS * 0.1**2 * carrier**2)
    np.testing.assert_allclose(
        solution.joint("sun bearing").velocity[:, 0], TORQUE / inertia * solution.t, atol=1e-7
    )


Z1, Z2, PINS = 12, 30, 40


def reducer(both: bool) -> fm.Model:
    """RV reducer: a sun turns two crankshafts on the output carrier, whose eccentrics move a
    cycloid disc in a ring of pins.
    """
    model = fm.Model("RV reducer", gravity=(0, 0, 0))
    e, radius = 0.004, 0.05
    sun = disc(model, "sun", 1e-4)
    pins = {"left": (-radius, 0.0, 0.0), "right": (radius, 0.0, 0.0)}
    carrier = disc(model, "carrier", 0.02, frames=pins)
    eccentric = {"eccentric": (e * math.cos(0.8), e * math.sin(0.8), 0.0)}
    cranks = [
        disc(model, f"{side} crank", 1e-4, parent=f"carrier/{side}", frames=eccentric)
        for side in pins
    ]
    model.add(fm.RigidBody("disc", mass=0.5, inertia=(1e-3,) * 3, frames=pins))
    for side in pins:
        model.add(
            fm.Revolute(f"{side} eccentric", f"{side} crank/eccentric", f"disc/{side}", axis="z")
        )
    for side, crank in zip(pins, cranks[: 1 + both]):
        model.add(fm.LinearCoupling(f"{side} spur", {sun: Z1, carrier: -Z1, crank: Z2}))
    model.add(
        fm.LinearCoupling("cycloid", {"left eccentric": PINS - 1, carrier: PINS, cranks[0]: PINS})
    )
    return model


@pytest.mark.parametrize(
    ("formalism", "coordinates", "both"),
    [*((*pair, True) for pair in PAIRS), ("multiplier", "joint", False)],
)
def test_ratio_of_an_rv_reducer(formalism: str, coordinates: str, both: bool) -> None:
    """i = 1 + (z₂/z₁) z_pins with the ring of pins fixed and the carrier as output; a second spur
    gear is redundant.
    """
    model = reducer(both)
    model.add(fm.Drive("motor", "sun bearing", fm.Ramp(0.0, 20.0)))
    solution = run(model, formalism, coordinates, 0.1)
    ratio = 1.0 + Z2 / Z1 * PINS
    np.testing.assert_allclose(
        solution.joint("carrier bearing").velocity[:, 0], 20.0 / ratio, rtol=1e-7
    )
    np.testing.assert_allclose(
        solution.joint("carrier bearing").position[:, 0], 20.0 / ratio * solution.t, atol=1e-9
    )


def test_torque_of_an_rv_reducer() -> None:
    """The input torque of a load that moves steadily is T/i."""
    model = reducer(True)
    model.add(fm.JointTorque("load", "carrier bearing", -100.0))
    model.add(fm.Drive("motor", "sun bearing", 0.0))
    held = fm.statics(model)
    np.testing.assert_allclose(
        held.solution.drive("motor").torque, 100.0 / (1.0 + Z2 / Z1 * PINS), rtol=1e-8
    )


# initial states and studies


def test_the_initial_position_gives_the_offset() -> None:
    """Also in a loop, whose undeclared coordinates follow from those declared."""
    model = fm.Model("linkage", gravity=(0, 0, 0), frames={"end": (1.1, 0, 0)})
    disc(model, "crank", 0.1, q0=0.7, frames={"tip": (0.3, 0, 0)})
    disc(model, "rod", 0.1, parent="crank/tip", frames={"tip": (1.0, 0, 0)})
    disc(model, "rocker", 0.1, parent="ground/end", frames={"tip": (0.5, 0, 0)})
    model.add(fm.Revolute("closing", "rod/tip", "rocker/tip", axis="z"))
    disc(model, "wheel", 0.2, q0=3.0)
    free = fm.assemble(model)
    model.add(fm.Gear("mesh", "rocker bearing", "wheel bearing", ratio=3.0))
    geared = fm.assemble(model)
    for name, joint in free.joints.items():
        np.testing.assert_allclose(geared.joints[name].position, joint.position, atol=1e-9)
    solution = run(model, "multiplier", "joint", 0.1)
    np.testing.assert_allclose(
        solution.coupling("mesh").value, free.joints["rocker bearing"].position[0] + 9.0, atol=1e-8
    )


def test_a_given_offset_moves_what_is_not_declared() -> None:
    model = fm.Model("two shafts", gravity=(0, 0, 0))
    disc(model, "first", I1, q0=0.4, v0=1.5)
    disc(model, "second", I2)
    model.add(fm.Gear("pair", FIRST, SECOND, ratio=2.0, offset=1.0))
    solution = fm.simulate(model, t_end=0.01, output_step=0.01)
    assert solution.joint(FIRST).position[0, 0] == 0.4
    np.testing.assert_allclose(solution.joint(SECOND).position[0, 0], 0.3, atol=1e-12)
    np.testing.assert_allclose(solution.joint(SECOND).velocity[0, 0], -0.75, atol=1e-12)


def test_small_motions_of_a_geared_shaft() -> None:
    """ω² = k/(I₁ + I₂/i²)"""
    model = two_shafts(PAIRED["gear"][0])
    del model.forces["torque"]
    model.add(fm.JointSpring("shaft", FIRST, k=30.0))
    omega = math.sqrt(30.0 / (I1 + I2 / RATIO**2))
    np.testing.assert_allclose(
        fm.linearize(model).modes.frequency, omega / (2.0 * math.pi), rtol=1e-6
    )


def test_a_weight_on_a_rack() -> None:
    """A spring on the pinion carries the weight on the rack: k φ = m g r."""
    model = fm.Model("hoist", gravity=(-9.81, 0, 0))
    disc(model, "first", I1)
    slider(model, "second")
    model.add(fm.RackPinion("pair", FIRST, "second slide", radius=0.25))
    model.add(fm.JointSpring("spring", FIRST, k=50.0))
    held = fm.statics(model)
    np.testing.assert_allclose(
        held.solution.joint(FIRST).position[0, 0], -MASS * 9.81 * 0.25 / 50.0, rtol=1e-8
    )
    np.testing.assert_allclose(
        held.solution.coupling("pair").effort["second slide"], MASS * 9.81, rtol=1e-8
    )


def test_kinematics_of_a_train() -> None:
    times = np.linspace(0.0, 1.0, 5)
    found = fm.kinematics(planetary(), times)
    np.testing.assert_allclose(
        found.joint("carrier bearing").position[:, 0], 5.0 * times / (1.0 + RING / SUN), atol=1e-10
    )


def test_inverse_dynamics_of_a_train() -> None:
    """The motor's torque for a given acceleration of the carrier."""
    model = planetary(3, None)
    model.forces.clear()
    model.add(fm.Drive("motor", "sun bearing", lambda t: 0.5 * 7.0 * t * t))
    carrier = 1.0 / (1.0 + RING / SUN)
    spin = carrier * (1.0 - RING / PLANET)
    inertia = 0.1 + 0.4 * carrier**2 + 3 * (0.05 * spin**2 + MASS * 0.1**2 * carrier**2)
    efforts = fm.inverse_dynamics(fm.kinematics(model, [0.1, 0.2]))
    np.testing.assert_allclose(efforts.effort["motor"][:, 0], 7.0 * inertia, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coordinates", ["joint", "absolute", "rheonomic"])
def test_couplings_in_parallel_share_their_torque(seed: int, coordinates: str) -> None:
    """A gear train closed by several equal couplings, each a multiple of the others.

    Multipliers of rows a₁, a₂ = c a₁, … are of least norm in rows of length one: all efforts are
    equal, and the sum is that of a single coupling.
    """
    rng = np.random.default_rng(seed)
    ratios, copies = rng.uniform(0.4, 2.5, 3), int(rng.integers(2, 5))
    factors = rng.uniform(0.1, 10.0, copies)

    def run(factors: np.ndarray) -> fm.Solution:
        """The train with one coupling between neighbours for each of the factors."""
        frames = {f"b{k}": (0.1 * k, 0, 0) for k in range(4)}
        model = fm.Model("train", gravity=(0, 0, 0), frames=frames)
        for k in range(4):
            wheel = model.add(fm.RigidBody(f"w{k}", mass=1.0, inertia=(1, 1, 0.01 * (k + 1))))
            model.add(fm.Revolute(f"j{k}", f"ground/b{k}", wheel, axis="z"))
        for k, ratio in enumerate(ratios):
            for n, c in enumerate(factors):
                model.add(fm.LinearCoupling(f"c{k}{n}", {f"j{k}": c, f"j{k + 1}": c * ratio}))
        model.add(fm.JointTorque("motor", "j0", 1.0))
        return fm.simulate(model, t_end=0.02, coordinates=coordinates, rtol=1e-9, atol=1e-11)

    several, single = run(factors), run(np.ones(1))
    for k in range(3):
        whole = single.coupling(f"c{k}0").effort[f"j{k}"]
        for n in range(copies):
            found = several.coupling(f"c{k}{n}").effort[f"j{k}"]
            assert found == pytest.approx(whole / copies, rel=1e-6)
    assert several.joint("j0").torque == pytest.approx(single.joint("j0").torque, abs=1e-9)
