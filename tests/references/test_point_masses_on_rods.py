"""Point masses on massless rods: spherical and double pendulum, a truss, against closed forms and
independent equations.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.motions import Ball, FixedTranslation, Rotate, Slide

G = 9.81
WAYS = [
    (name, coordinates)
    for name, form in FORMALISMS.items()
    for coordinates in ("joint", "absolute")
    if coordinates in form.coordinates
]
TIGHT = {"integrator": fm.DormandPrince(rtol=1e-9, atol=1e-10)}


def spherical_pendulum(start: tuple[float, ...], velocity: tuple[float, ...]) -> fm.Model:
    """A point mass on a rod; its declared start gives the direction."""
    model = fm.Model("spherical pendulum", gravity=(0, 0, -G))
    bob = model.add(fm.PointMass("bob", mass=2.0))
    model.add(fm.Distance("rod", model.ground, bob, length=float(np.linalg.norm(start))))
    model.add(fm.Translation("place", model.ground, bob, q0=start, v0=velocity))
    return model


def on_sphere(start: tuple[float, ...], velocity: tuple[float, ...], end: float) -> np.ndarray:
    """x'' = g − ((g · x + x'²)/L²) x at the end."""
    g, square = np.array([0.0, 0.0, -G]), float(np.dot(start, start))

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        x, v = y[:3], y[3:]
        return np.concatenate([v, g - (g @ x + v @ v) / square * x])

    return solve_ivp(rate, (0.0, end), [*start, *velocity], rtol=1e-12, atol=1e-13).y[:3, -1]


@pytest.mark.parametrize(("formalism", "coordinates"), WAYS)
@pytest.mark.parametrize(
    ("start", "velocity"),
    [
        ((0.0, 0.0, -0.5), (6.0, 0.0, 0.0)),  # full turns from below through the highest point
        ((0.3, 0.0, 0.4), (0.0, 1.5, 0.0)),
        ((0.5, 0.0, 0.0), (0.0, 0.0, 6.0)),
        ((0.0, 0.0, 0.5), (0.0, 1e-2, 0.0)),  # near the upper equilibrium
    ],
)
def test_spherical_pendulum(start, velocity, formalism: str, coordinates: str) -> None:
    model = spherical_pendulum(start, velocity)
    run = fm.simulate(model, t_end=1.2, formalism=formalism, coordinates=coordinates, **TIGHT)
    np.testing.assert_allclose(
        run.body("bob").position[-1], on_sphere(start, velocity, 1.2), atol=2e-7
    )
    assert np.abs(np.linalg.norm(run.body("bob").position, axis=1) - 0.5).max() < 1e-8
    x, v = run.body("bob").position, run.body("bob").velocity
    # m (g · e + v²/L), negative along the rod
    pull = -2.0 * (x[:, 2] * -G + np.sum(v**2, axis=1)) / 0.5
    np.testing.assert_allclose(np.sum(run.joint("rod").force * x, axis=1) / 0.5, pull, atol=2e-5)


@pytest.mark.parametrize("integrator", ["generalized-alpha", "esdirk", "rattle"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_rods_turn_fully_under_fixed_and_implicit_steps(integrator: str, coordinates: str) -> None:
    start, velocity = (0.0, 0.0, -0.5), (6.0, 0.0, 0.0)
    model, step = (
        spherical_pendulum(start, velocity),
        {} if integrator == "esdirk" else {"step": 5e-4},
    )
    run = fm.simulate(model, t_end=1.2, coordinates=coordinates, integrator=integrator, **step)
    np.testing.assert_allclose(
        run.body("bob").position[-1], on_sphere(start, velocity, 1.2), atol=2e-3
    )


@pytest.mark.parametrize(("formalism", "coordinates"), WAYS)
def test_double_pendulum_starts_along_the_axes(formalism: str, coordinates: str) -> None:
    """Two masses hung one on the other, placed by the axes of the rods: Lagrange's equations of two
    angles.
    """
    a, b = 0.9, -0.4
    model = fm.Model("double pendulum", gravity=(0, 0, -G))
    lower, upper = (
        model.add(fm.PointMass(name, mass=mass)) for name, mass in (("lower", 0.5), ("upper", 1.5))
    )
    model.add(fm.Distance("second", upper, lower, length=0.7, axis=(np.sin(b), 0, -np.cos(b))))
    model.add(
        fm.Distance("first", model.ground, upper, length=0.4, axis=(np.sin(a), 0, -np.cos(a)))
    )
    run = fm.simulate(model, t_end=1.0, formalism=formalism, coordinates=coordinates, **TIGHT)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        (p, q), (u, w) = y[:2], y[2:]
        M = np.array(
            [[2.0 * 0.16, 0.5 * 0.28 * np.cos(p - q)], [0.5 * 0.28 * np.cos(p - q), 0.5 * 0.49]]
        )
        k = 0.5 * 0.28 * np.sin(p - q) * np.array([-(w**2), u**2]) - G * np.array(
            [2.0 * 0.4 * np.sin(p), 0.5 * 0.7 * np.sin(q)]
        )
        return np.concatenate([[u, w], np.linalg.solve(M, k)])

    p, q = solve_ivp(rate, (0.0, 1.0), [a, b, 0.0, 0.0], rtol=1e-12, atol=1e-13).y[:2, -1]
    first = 0.4 * np.array([np.sin(p), 0.0, -np.cos(p)])
    np.testing.assert_allclose(run.body("upper").position[-1], first, atol=1e-6)
    np.testing.assert_allclose(
        run.body("lower").position[-1],
        first + 0.7 * np.array([np.sin(q), 0.0, -np.cos(q)]),
        atol=1e-6,
    )


def truss() -> fm.Model:
    """Three points in the x-z plane, three rods, a pin at the left and a roller at the right, a
    load on the top.
    """
    model = fm.Model("truss", gravity=(0, 0, 0))
    left, right, top = (
        model.add(fm.PointMass(name, mass=1.0)) for name in ("left", "right", "top")
    )
    model.add(fm.Fixed("pin", model.ground, left))
    model.add(fm.Prismatic("roller", model.ground, right, axis="x"))
    model.add(fm.Chain("plane", model.ground, top, motions=(Slide("x"), Slide("z"))))
    for name, ends, length, axis in (
        ("chord", (left, right), 2.0, "x"),
        ("rafter", (left, top), np.sqrt(2.0), (1, 0, 1)),
        ("other rafter", (right, top), np.sqrt(2.0), (-1, 0, 1)),
    ):
        model.add(fm.Distance(name, *ends, length=length, axis=axis))
    model.add(fm.FrameForce("load", top, force=(10.0, 0.0, -30.0)))
    return model


@pytest.mark.parametrize(("formalism", "coordinates"), WAYS)
def test_truss_by_the_method_of_joints(formalism: str, coordinates: str) -> None:
    """Equilibrium of the top: (F₁ − F₂)/√2 = 10, −(F₁ + F₂)/√2 = 30 for the tensions F; then of the
    right point.
    """
    found = fm.simulate(truss(), t_end=0.01, formalism=formalism, coordinates=coordinates, **TIGHT)
    one, two = np.linalg.solve(np.array([[-1.0, 1.0], [-1.0, -1.0]]) / np.sqrt(2.0), [-10.0, 30.0])
    e, f = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0), np.array([-1.0, 0.0, 1.0]) / np.sqrt(2.0)
    np.testing.assert_allclose(
        found.body("top").position, [[1.0, 0.0, 1.0]] * len(found.t), atol=1e-9
    )
    np.testing.assert_allclose(found.joint("rafter").force[-1], -one * e, atol=1e-7)
    np.testing.assert_allclose(found.joint("other rafter").force[-1], -two * f, atol=1e-7)
    np.testing.assert_allclose(
        found.joint("chord").force[-1], (two / np.sqrt(2.0), 0.0, 0.0), atol=1e-7
    )


def test_statics_of_the_truss() -> None:
    """The support on the left takes the horizontal load."""
    reactions = fm.statics(truss()).reactions
    np.testing.assert_allclose(reactions["pin"].force[0], [-10.0, 0.0, 10.0], atol=1e-9)
    np.testing.assert_allclose(reactions["roller"].force[0], [0.0, 0.0, 20.0], atol=1e-9)


def test_rods_beside_the_mass_are_rejected() -> None:
    """A rod at a frame beside the mass would turn it, which has no inertia."""
    model = fm.Model("arm")
    bob = model.add(fm.PointMass("bob", mass=1.0, frames={"eye": (0, 0, 0.1)}))
    model.add(fm.Distance("rod", model.ground, bob["eye"], length=1.0, axis="-z"))
    assert model.check().errors == [
        "bodies.bob: has no rotational inertia, and is held only by rods and relations "
        "at its frame 'eye' away from the mass; "
        "attach them to the mass itself, or use a rigid body with inertia"
    ]


ROD = FixedTranslation((0.8, 0.0, 0.0))


@pytest.mark.parametrize(
    ("motions", "coordinates", "runs"),
    [
        ((Ball(), ROD), "joint", False),
        ((Ball(), ROD), "absolute", False),
        ((Rotate("z"), Rotate("y"), ROD, Ball()), "joint", False),
        # a ball at the mass leaves its axes free
        ((Rotate("z"), Rotate("y"), ROD, Ball()), "absolute", True),
        ((Rotate("y"), ROD), "joint", True),
        ((Rotate("y"), ROD), "absolute", True),
    ],
)
def test_point_masses_on_chains(motions: tuple[object, ...], coordinates: str, runs: bool) -> None:
    """A chain that turns the mass about itself is refused: nothing stands still in mid-air."""
    model = fm.Model("chain", gravity=(0, 0, -G))
    bob = model.add(fm.PointMass("bob", mass=1.0))
    model.add(fm.Chain("chain", model.ground, bob, motions=motions))
    if not runs:
        with pytest.raises(fm.InputError, match="its motion has no inertia"):
            fm.simulate(model, t_end=0.3, coordinates=coordinates, **TIGHT)
        return
    run = fm.simulate(model, t_end=0.3, coordinates=coordinates, **TIGHT)
    np.testing.assert_allclose(
        run.body("bob").position[-1], on_sphere((0.8, 0, 0), (0, 0, 0), 0.3), atol=1e-7
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_ball_at_the_mass_and_a_rod_beside_it(coordinates: str) -> None:
    """The axes of the mass matter for the rod and have no inertia: refused, not held still."""
    model = fm.Model("two", frames={"post": (0.0, 1.5, 0.0)})
    arm = model.add(
        fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"tip": (0.0, 1.0, 0.0)})
    )
    bob = model.add(fm.PointMass("bob", mass=1.0, frames={"eye": (0.0, 0.0, 0.3)}))
    model.add(fm.Revolute("hinge", model.ground, arm, axis="x"))
    model.add(fm.Spherical("ball", arm["tip"], bob))
    model.add(
        fm.Distance("rod", model.ground["post"], bob["eye"], length=float(np.hypot(0.5, 0.3)))
    )
    with pytest.raises(fm.InputError, match="bob"):
        fm.simulate(model, t_end=0.1, coordinates=coordinates)


def test_forces_beside_a_point_mass_are_told() -> None:
    model = fm.Model("eye")
    bob = model.add(fm.PointMass("bob", mass=1.0, frames={"eye": (0, 0, 0.1)}))
    model.add(fm.PointSpring("string", model.ground, bob["eye"], k=10.0, length=0.5))
    assert (
        "forces.string: acts at frame 'eye' away from point mass 'bob', whose axes do not rotate"
        in str(model.check())
    )


def four_bar(coupler: bool) -> fm.Model:
    """Two cranks whose ends are joined by a link without mass, or by a distance."""
    model = fm.Model("four-bar", frames={"g": (0.5, 0, 0)})
    inertia = (0.01, 0.01, 0.01)
    a = model.add(
        fm.RigidBody("a", mass=1, com=(0.1, 0, 0), inertia=inertia, frames={"b": (0.2, 0, 0)})
    )
    r = fm.RigidBody("r", mass=1, com=(0, 0, 0.2), inertia=inertia, frames={"b": (0, 0, 0.3)})
    model.add(fm.Revolute("A", model.ground, a, axis="y", q0=-0.3, v0=3.0))
    model.add(fm.Revolute("D", model.ground["g"], model.add(r), axis="y"))
    if coupler:
        inertia = (0.0, 0.0, 0.0)
        link = model.add(fm.RigidBody("c", mass=0, inertia=inertia, frames={"b": (0.4, 0, 0)}))
        model.add(fm.Revolute("B", a["b"], link, axis="y"))
        model.add(fm.Revolute("C", link["b"], "r/b", axis="y"))
    else:
        model.add(fm.Distance("C", a["b"], "r/b", length=0.4))
    return model


@pytest.mark.parametrize(("formalism", "coordinates"), WAYS)
def test_a_coupler_without_mass_is_a_rod(formalism: str, coordinates: str) -> None:
    """The loop is not cut at the coupler, whose motion would have no inertia there."""
    rod = fm.simulate(four_bar(False), t_end=0.3, **TIGHT)
    found = fm.simulate(
        four_bar(True), t_end=0.3, formalism=formalism, coordinates=coordinates, **TIGHT
    )
    for name in ("A", "D"):
        assert found.joint(name).position[-1] == pytest.approx(rod.joint(name).position[-1], 1e-6)
