"""Unilateral constraints by user functions: moving bounds, combinations of coordinates, friction,
force laws, wrong functions.
"""

import math

import numpy as np
import pytest
from numba import njit
from scipy.optimize import brentq

import flexmbs as fm

G, HEIGHT, A, OMEGA, E = 9.81, 0.5, 0.1, 3.0, 0.5
FORMS = [
    ("multiplier", "joint"),
    ("multiplier", "absolute"),
    ("recursive", "joint"),
    ("embedding", "joint"),
    ("partitioning", "absolute"),
]
FAST = {"integrator": fm.EventDriven(rtol=1e-10, atol=1e-13)}


def above_floor(t, x):
    return x[0] - A * np.sin(OMEGA * t)


def slope_above_floor(t, x):
    return (1.0, -A * OMEGA * math.cos(OMEGA * t))


def pose_above_floor(t, x, R):
    return x[2] - A * np.sin(OMEGA * t)


def row_above_floor(t, x, R):
    return (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -A * OMEGA * math.cos(OMEGA * t))


def bounds() -> dict[str, dict]:
    """The moving floor as a function of a coordinate and of a pose; compiled, plain, with and
    without derivatives.
    """
    of = {"of": ["lift"], "rheonomic": True}
    ends = {"parent": "ground", "child": "ball", "rheonomic": True}
    return {
        "coordinate": {**of, "function": above_floor},
        "coordinate, compiled": {
            **of,
            "function": njit(above_floor),
            "gradient": njit(slope_above_floor),
        },
        "coordinate, compiled function": {**of, "function": njit(above_floor)},
        "pose": {**ends, "function": pose_above_floor},
        "pose, compiled": {
            **ends,
            "function": njit(pose_above_floor),
            "jacobian": njit(row_above_floor),
        },
    }


def falling(bound: dict, *, height: float = HEIGHT, **options) -> fm.Model:
    model = fm.Model("falling", gravity=(0, 0, -G))
    model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("lift", model.ground, "ball", axis="z", q0=height))
    model.add(
        (fm.UnilateralCoupling if "of" in bound else fm.UserContact)("floor", **bound, **options)
    )
    return model


def first_impact() -> tuple[float, float]:
    """Time t of h − ½ g t² = A sin ωt and ġ there."""
    t = brentq(lambda t: HEIGHT - 0.5 * G * t * t - A * math.sin(OMEGA * t), 0.0, 0.5, xtol=1e-15)
    return t, -G * t - A * OMEGA * math.cos(OMEGA * t)


@pytest.mark.parametrize("kind", bounds())
def test_impact_on_a_moving_floor(kind: str) -> None:
    t, rate = first_impact()
    found = fm.simulate(
        falling(bounds()[kind], restitution=E), t_end=1.2 * t, output_step=0.1 * t, **FAST
    )
    impact = found.contact("floor").impacts[0]
    assert impact.t == pytest.approx(t, abs=1e-10)
    assert impact.impulse[0] == pytest.approx(-2.0 * (1.0 + E) * rate, rel=1e-9)
    assert impact.lost == pytest.approx(0.5 * 2.0 * (1.0 - E**2) * rate**2, rel=1e-9)
    late = found.t[-1] - t
    speed = -G * t - (1.0 + E) * rate - G * late
    assert found.joint("lift").velocity[-1, 0] == pytest.approx(speed, abs=1e-8)
    assert np.abs(found.energy.balance).max() < 1e-9 * found.energy.scale
    assert found.energy.work_of_drives[-1] == pytest.approx(
        -2.0 * (1.0 + E) * rate * A * OMEGA * math.cos(OMEGA * t), rel=1e-8
    )


def on_a_driven_floor() -> fm.Model:
    """The same floor as a driven body under a built-in contact."""
    model = fm.Model("driven", gravity=(0, 0, -G))
    model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.RigidBody("floor", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Prismatic("lift", model.ground, "ball", axis="z", q0=HEIGHT))
    model.add(fm.Prismatic("table", model.ground, "floor", axis="z"))
    model.add(fm.Drive("shaker", "table", fm.Sine(A, frequency=OMEGA / (2 * math.pi))))
    model.add(fm.SpherePlane("floor", "floor", "ball", restitution=E))
    return model


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
@pytest.mark.parametrize("kind", ["coordinate", "pose"])
def test_bouncing_is_that_of_a_driven_floor(formalism: str, coordinates: str, kind: str) -> None:
    """Impacts, rest on the floor and forces, by events and by time stepping."""
    outputs, how = (
        {"t_end": 1.0, "output_step": 0.02},
        {"formalism": formalism, "coordinates": coordinates},
    )
    model = falling(bounds()[kind], restitution=E)
    driven = fm.simulate(on_a_driven_floor(), **outputs, integrator=fm.MoreauJean(step=1e-4))
    by_events = fm.simulate(model, **outputs, **how, **FAST)
    compared = [(by_events, 3e-3)]
    if formalism in ("multiplier", "recursive"):  # the others have no residual
        compared.append(
            (fm.simulate(model, **outputs, **how, integrator=fm.MoreauJean(step=1e-4)), 2e-4)
        )
    for one, tolerance in compared:
        z, other = (each.joint("lift").position[:, 0] for each in (one, driven))
        assert np.abs(z - other).max() < tolerance
        assert np.abs(one.energy.balance).max() < 1e-8 * one.energy.scale
    assert by_events.contact("floor").gap.min() > -1e-8
    assert len(by_events.contact("floor").impacts) > 4
    last = by_events.t[-1]
    assert by_events.contact("floor").normal[-1] == pytest.approx(
        2.0 * (G - A * OMEGA**2 * math.sin(OMEGA * last)), rel=1e-6
    )


def test_leaves_a_floor_that_falls_faster() -> None:
    """A ω² > g: the mass lifts off where ω² A sin ωt = g."""
    omega, model = 15.0, fm.Model("shaken", gravity=(0, 0, -G))
    model.add(fm.PointMass("ball", mass=2.0))
    model.add(fm.Prismatic("lift", model.ground, "ball", axis="z", v0=A * omega))
    model.add(
        fm.UnilateralCoupling(
            "floor", ["lift"], lambda t, x: x[0] - A * np.sin(omega * t), rheonomic=True
        )
    )
    off = math.asin(G / (A * omega**2)) / omega
    found = fm.simulate(model, t_end=off + 0.1, output_step=1e-3, **FAST)
    late = np.maximum(found.t - off, 0.0)
    z = A * math.sin(omega * off) + A * omega * math.cos(omega * off) * late - 0.5 * G * late**2
    exact = np.where(found.t < off, A * np.sin(omega * found.t), z)
    assert np.abs(found.joint("lift").position[:, 0] - exact).max() < 1e-7
    force = np.where(found.t < off, 2.0 * (G - A * omega**2 * np.sin(omega * found.t)), 0.0)
    away = np.abs(found.t - off) > 1e-3
    assert np.abs(found.contact("floor").normal - force)[away].max() < 1e-5
    assert np.abs(found.energy.balance).max() < 1e-8 * found.energy.scale


def combined(**options) -> fm.Model:
    """A cart with a double pendulum, and a stop of a combination of all three coordinates."""
    model = fm.Model("combined", gravity=(0, 0, 0))
    model.add(fm.RigidBody("cart", mass=3.0, inertia=(1, 1, 1)))
    for name, mass in (("upper", 1.0), ("lower", 0.7)):
        model.add(
            fm.RigidBody(
                name,
                mass=mass,
                inertia=(0.02, 0.02, 0.02),
                com=(0, 0, -0.3),
                frames={"end": (0, 0, -0.6)},
            )
        )
    model.add(fm.Prismatic("rail", model.ground, "cart", axis="x", v0=-1.0))
    model.add(fm.Revolute("shoulder", "cart", "upper", axis="y", q0=0.4, v0=0.3))
    model.add(fm.Revolute("elbow", "upper/end", "lower", axis="y", q0=-0.7, v0=-0.9))
    model.add(fm.UnilateralCoupling("stop", ["rail", "shoulder", "elbow"], combination, **options))
    return model


def combination(t, x):
    return 0.05 + x[0] + 0.4 * np.sin(x[1]) + 0.3 * x[2] + 0.1


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_impact_of_a_combination_of_coordinates(formalism: str, coordinates: str, law: str) -> None:
    """Δs = −(1 + e) M⁻¹ Gᵀ ġ/(G M⁻¹ Gᵀ), with M of the formalism of joint coordinates at the
    impact.
    """
    model = combined(restitution=0.6, restitution_law=law)
    given = {"formalism": formalism, "coordinates": coordinates, "output_step": 0.01, **FAST}
    t = fm.simulate(model, t_end=1.0, **given).contact("stop").impacts[0].t
    before, after = (fm.simulate(model, t_end=t + late, **given) for late in (-1e-9, 1e-9))
    names = ("rail", "shoulder", "elbow")
    x = np.array([before.joint(name).position[-1, 0] for name in names])
    s = np.array([[run.joint(name).velocity[-1, 0] for name in names] for run in (before, after)])
    free = combined()
    free.contacts.clear()
    for name, place in zip(names, x):
        object.__setattr__(free.joints[name], "q0", (float(place),))
    M = fm.matrices(free, coordinates="joint").M
    row = np.array([1.0, 0.4 * math.cos(x[1]), 0.3])
    rate = float(row @ s[0])
    assert rate < -0.1
    assert s[1] - s[0] == pytest.approx(
        -1.6 * np.linalg.solve(M, row) * rate / (row @ np.linalg.solve(M, row)), abs=1e-6
    )
    assert after.contact("stop").impacts[0].impulse[0] == pytest.approx(
        -1.6 * rate / (row @ np.linalg.solve(M, row)), rel=1e-6
    )


SOFT = fm.HuntCrossley(4e3, exponent=1.5, damping=0.3, slip_velocity=1e-2)
METHODS = [
    fm.GeneralizedAlpha(step=5e-4),
    fm.ESDIRK(rtol=1e-8, atol=1e-10),
    fm.DormandPrince(rtol=1e-9, atol=1e-11),
    fm.Rattle(step=2e-4),
    fm.MoreauJean(step=2e-4),
    fm.EventDriven(rtol=1e-9, atol=1e-11),
]


def plane_below(t, x, R):
    return x[2]


def along_plane(t, x, R):
    return ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0))


def sliding(kind: str, law: fm.HuntCrossley | None, mu: float = 0.3) -> fm.Model:
    """A particle falls on a plane and slides on it, by a contact of its kind and by a stop of one
    coordinate.
    """
    model = fm.Model("sliding", gravity=(0, 0, -G))
    model.add(fm.PointMass("particle", mass=0.5))
    model.add(fm.Translation("way", model.ground, "particle", q0=(0, 0, 0.05), v0=(1.0, 0.5, 0)))
    if kind == "user":
        model.add(
            fm.UserContact(
                "floor", "ground", "particle", plane_below, slip=along_plane, friction=mu, law=law
            )
        )
    elif kind == "built-in":
        model.add(fm.SpherePlane("floor", "ground", "particle", friction=mu, law=law))
    elif kind == "coupling":
        model.add(fm.UnilateralCoupling("floor", ["way.2"], lambda t, x: x[0], law=law))
    else:
        model.add(fm.JointLimit("floor", "way", coordinate=2, lower=0.0, law=law))
    return model


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize(
    ("kinds", "coordinates"), [(("user", "built-in"), "joint"), (("coupling", "limit"), "absolute")]
)
def test_force_laws_are_those_of_the_contacts(
    method, kinds: tuple[str, str], coordinates: str
) -> None:
    """Every integrator: the same motion and forces as with the contact of the package."""
    one, other = (
        fm.simulate(
            sliding(kind, SOFT),
            t_end=0.5,
            output_step=0.02,
            coordinates=coordinates,
            integrator=method,
        )
        for kind in kinds
    )
    reference = "floor.lower" if kinds[1] == "limit" else "floor"
    assert np.abs(one.joint("way").position - other.joint("way").position).max() < 1e-6
    assert other.contact(reference).normal.max() > 1.0
    assert one.contact("floor").normal == pytest.approx(other.contact(reference).normal, abs=1e-2)


@pytest.mark.parametrize(
    "method", [fm.EventDriven(), fm.MoreauJean(step=1e-3)], ids=lambda method: method.name
)
def test_friction_is_that_of_the_plane(method) -> None:
    one, other = (
        fm.simulate(sliding(kind, None), t_end=0.8, output_step=0.02, integrator=method)
        for kind in ("user", "built-in")
    )
    assert np.abs(one.joint("way").position - other.joint("way").position).max() < 1e-9
    assert one.contact("floor").friction == pytest.approx(other.contact("floor").friction, abs=1e-6)


def on_belt(t, x, R):
    return ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.8), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_a_belt_takes_a_particle_along(scale: float) -> None:
    """ẋ = μ g t up to the speed of the belt, whose drive does the work; also where g is not a
    distance.
    """
    mu, v = 0.3, 0.8
    model = fm.Model("belt", gravity=(0, 0, -G))
    model.add(fm.PointMass("particle", mass=0.5))
    model.add(fm.Translation("way", model.ground, "particle"))
    options = {"slip": on_belt, "friction": mu, "rheonomic": True}
    model.add(fm.UserContact("belt", "ground", "particle", lambda t, x, R: scale * x[2], **options))
    found = fm.simulate(model, t_end=0.5, output_step=0.01, **FAST)
    assert found.joint("way").velocity[:, 0] == pytest.approx(
        np.minimum(mu * G * found.t, v), abs=1e-6
    )
    assert found.contact("belt").normal[:20] * scale == pytest.approx(0.5 * G, rel=1e-8)
    assert np.abs(found.energy.balance).max() < 1e-8 * found.energy.scale
    assert found.energy.work_of_drives[-1] == pytest.approx(
        mu * 0.5 * G * v * v / (mu * G), rel=1e-5
    )


@pytest.mark.parametrize(
    "integrator", [fm.EventDriven(), fm.MoreauJean(step=1e-3)], ids=lambda method: method.name
)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_gap_that_is_no_number_stops_the_run(integrator, *, compiled: bool) -> None:
    def lost(t, x):
        return x[0] if t < 0.2 else math.nan

    model = falling({"of": ["lift"], "function": njit(lost) if compiled else lost})
    with pytest.raises(
        fm.SolverError, match=r"the function of contacts\.floor returned a non-finite number"
    ):
        fm.simulate(model, t_end=0.3, output_step=0.1, integrator=integrator)


def tilted(t, x, R):
    return ((1.0, 0.0, 0.2, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0))


WRONG = {
    "undeclared time": (
        {"of": ["lift"], "function": above_floor},
        "contacts.floor.rheonomic: the function depends on time",
    ),
    "wrong gradient": (
        {"of": ["lift"], "function": lambda t, x: x[0], "gradient": lambda t, x: [2.0]},
        "correct the gradient",
    ),
    "long gradient": (
        {"of": ["lift"], "function": lambda t, x: x[0], "gradient": lambda t, x: [1.0, 0.0]},
        "gives 2 numbers",
    ),
    "two values": (
        {"of": ["lift"], "function": lambda t, x: [x[0], 1.0]},
        "gives 2 numbers, not 1",
    ),
    "complex": ({"of": ["lift"], "function": lambda t, x: x[0] + 1j}, "return real numbers"),
    "no joint": ({"of": ["lifts"], "function": lambda t, x: x[0]}, "did you mean 'lift'?"),
    "pose in time": (
        {"parent": "ground", "child": "ball", "function": pose_above_floor},
        "contacts.floor.rheonomic: ",
    ),
    "wrong jacobian": (
        {
            "parent": "ground",
            "child": "ball",
            "function": plane_below,
            "jacobian": lambda t, x, R: (0, 0, 2.0, 0, 0, 0),
        },
        "correct the jacobian",
    ),
    "two gaps": (
        {"parent": "ground", "child": "ball", "function": lambda t, x, R: (x[2], x[1])},
        "gives 2 numbers, not 1",
    ),
    "no slip": (
        {"parent": "ground", "child": "ball", "function": plane_below, "friction": 0.2},
        "slip: is missing",
    ),
    "one slip": (
        {
            "parent": "ground",
            "child": "ball",
            "function": plane_below,
            "slip": lambda t, x, R: [1.0, 0, 0, 0, 0, 0],
        },
        "slip: gives 6 numbers, not 2 × 6",
    ),
    "tilted slip": (
        {"parent": "ground", "child": "ball", "function": plane_below, "slip": tilted},
        "must be unit vectors",
    ),
}


@pytest.mark.parametrize(("bound", "text"), WRONG.values(), ids=WRONG)
def test_wrong_functions_are_refused(bound: dict, text: str) -> None:
    with pytest.raises(fm.InputError) as caught:
        fm.simulate(falling(bound), t_end=0.1, **FAST)
    assert text in str(caught.value)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("method", ["event-driven", fm.MoreauJean(step=1e-3)])
def test_the_torque_of_a_joint_contains_that_of_its_stop(coordinates, method):
    """A pendulum that rests against a stop: the joint transmits the moment m g c of the stop."""
    model = fm.Model("rest")
    arm = model.add(fm.RigidBody("arm", mass=2.0, com=(0.3, 0, 0), inertia=(0.01, 0.1, 0.1)))
    model.add(fm.Revolute("hinge", model.ground, arm, axis="y"))
    model.add(fm.JointLimit("stop", "hinge", upper=0.0))
    run = fm.simulate(
        model, t_end=0.1, output_step=0.01, integrator=method, coordinates=coordinates
    )
    assert run.joint("hinge").torque[:, 1] == pytest.approx(-2.0 * 9.81 * 0.3)
