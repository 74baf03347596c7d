"""Couplings by user functions of coordinates of any bodies: the cart of two point masses by
Lagrange's equations of the first kind, equations over three bodies, points of rigid and flexible
bodies, moving constraints."""

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

import flexmbs as fm

FORMS = [
    ("multiplier", "joint"),
    ("multiplier", "absolute"),
    ("recursive", "joint"),
    ("embedding", "joint"),
    ("partitioning", "absolute"),
]
M1, M2, L = 2.0, 3.0, 0.7
POINTS = ("first.0", "first.1", "second.0", "second.1")


def rod(t, x):
    return (x[2] - x[0]) ** 2 + (x[3] - x[1]) ** 2 - L**2


def rod_gradient(t, x):
    dx, dy = x[2] - x[0], x[3] - x[1]
    return [-2 * dx, -2 * dy, 2 * dx, 2 * dy]


def wheel(t, x):
    """The first mass rolls along the rod: (k × d) · ṙ₁ = 0."""
    return [x[1] - x[3], x[2] - x[0], 0.0, 0.0]


def cart(*, jitted: bool = False, gradient: bool = False) -> fm.Model:
    """Two point masses with λ of the rod and μ of the wheel."""
    model = fm.Model("cart", gravity=(0, 0, 0))
    angle, v, omega = 0.4, 1.3, 0.9
    e = np.array([np.cos(angle), np.sin(angle)])
    n = np.array([-e[1], e[0]])
    for name, mass, r, rate in (
        ("first", M1, 0 * e, v * e),
        ("second", M2, L * e, v * e + L * omega * n),
    ):
        model.add(fm.PointMass(f"{name} mass", mass=mass))
        model.add(fm.Translation(name, model.ground, f"{name} mass", q0=(*r, 0), v0=(*rate, 0)))
    made = njit(rod) if jitted else rod
    model.add(
        fm.HolonomicCoupling("rod", POINTS, made, gradient=rod_gradient if gradient else None)
    )
    model.add(fm.VelocityCoupling("wheel", POINTS, njit(wheel_of_tuple) if jitted else wheel))
    return model


def wheel_of_tuple(t, x):
    return (x[1] - x[3], x[2] - x[0], 0.0, 0.0)


def first_kind(t: float, x: np.ndarray) -> np.ndarray:
    """The same equations by NumPy, without pushes."""
    r, v = x[:4].reshape(2, 2), x[4:].reshape(2, 2)
    d, dd = r[1] - r[0], v[1] - v[0]
    across, turning = np.array([-d[1], d[0]]), np.array([-dd[1], dd[0]])
    G = np.array([[*-d, *d], [*across, 0.0, 0.0]])
    gamma = np.array([-dd @ dd, -turning @ v[0]])
    M = np.diag([M1, M1, M2, M2])
    whole = np.block([[M, -G.T], [G, np.zeros((2, 2))]])
    return np.concatenate([x[4:], np.linalg.solve(whole, np.concatenate([np.zeros(4), gamma]))[:4]])


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
def test_cart_of_two_point_masses(formalism: str, coordinates: str) -> None:
    model = cart()
    found = fm.simulate(
        model,
        t_end=2.0,
        output_step=0.1,
        formalism=formalism,
        coordinates=coordinates,
        stabilization="projection" if formalism in ("multiplier", "recursive") else None,
        integrator="dormand-prince",
        rtol=1e-10,
        atol=1e-12,
    )
    start = np.concatenate([found.joint(name).position[0, :2] for name in ("first", "second")])
    rates = np.concatenate([found.joint(name).velocity[0, :2] for name in ("first", "second")])
    exact = solve_ivp(
        first_kind, (0, 2), [*start, *rates], rtol=1e-12, atol=1e-13, t_eval=found.t
    ).y
    places = np.hstack([found.joint(name).position[:, :2] for name in ("first", "second")])
    assert np.abs(places - exact[:4].T).max() < 1e-8
    acceleration = np.array([first_kind(0.0, x)[4:] for x in exact.T])
    force = (
        np.array([list(found.coupling(name).effort.values()) for name in ("rod", "wheel")])
        .sum(axis=0)
        .T
    )
    assert np.abs(force - acceleration * [M1, M1, M2, M2]).max() < 1e-5
    assert found.verdict == "PASS"


@pytest.mark.parametrize("options", [{"jitted": True}, {"gradient": True}])
def test_functions_compiled_or_with_their_gradient(options: dict[str, bool]) -> None:
    plain, other = (
        fm.simulate(model, t_end=0.5, output_step=0.1, rtol=1e-9, atol=1e-11)
        for model in (cart(), cart(**options))
    )
    assert np.abs(plain.q - other.q).max() < 1e-8
    assert np.abs(plain.lam - other.lam).max() < 1e-5


def test_the_rows_by_name() -> None:
    model = cart()
    found = fm.matrices(model)
    assert found.constraints == ("rod", "wheel")
    lines = [" ".join(line.split()) for line in model.check().classes]
    assert "rod holonomic 1 row holonomic scleronomic bilateral geometric implicit" in lines
    assert "wheel velocity 1 row nonholonomic scleronomic bilateral geometric implicit" in lines
    assert any(
        "κ = 1 nonholonomic equation: " in line
        for line in model.check().sections["degrees of freedom"]
    )


def centred(t, x):
    """The mean height of three beads follows a given motion."""
    return x[0] + x[1] + x[2] - 0.3 * np.sin(2.0 * t)


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
def test_an_equation_over_three_bodies_that_moves(formalism: str, coordinates: str) -> None:
    """m_i ẍ_i = −k_i x_i + λ with Σ ẍ_i = r̈: λ = (r̈ + Σ k_i x_i/m_i)/Σ 1/m_i; its work is in the
    energy balance.
    """
    masses, stiffness = np.array([1.0, 2.0, 0.5]), np.array([30.0, 10.0, 20.0])
    model = fm.Model("beads", gravity=(0, 0, 0))
    for k in range(3):
        model.add(fm.RigidBody(f"bead {k}", mass=masses[k], inertia=(0.1, 0.1, 0.1)))
        model.add(
            fm.Prismatic(
                f"wire {k}",
                "ground",
                f"bead {k}",
                axis="x",
                v0=0.2 if k == 0 else 0.6 if k == 1 else -0.2,
            )
        )
        model.add(fm.JointSpring(f"spring {k}", f"wire {k}", k=stiffness[k]))
    model.add(fm.HolonomicCoupling("mean", ["wire 0", "wire 1", "wire 2"], centred, rheonomic=True))
    chosen = {"formalism": formalism, "coordinates": coordinates}
    found = fm.simulate(
        model,
        t_end=1.0,
        output_step=0.05,
        integrator="dormand-prince",
        rtol=1e-10,
        atol=1e-12,
        **chosen,
    )

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        x, v = y[:3], y[3:]
        force = (-1.2 * np.sin(2 * t) + (stiffness * x / masses).sum()) / (1.0 / masses).sum()
        return np.concatenate([v, (force - stiffness * x) / masses])

    exact = solve_ivp(
        rates, (0, 1), [0, 0, 0, 0.2, 0.6, -0.2], rtol=1e-11, atol=1e-13, t_eval=found.t
    ).y
    places = np.column_stack([found.joint(f"wire {k}").position[:, 0] for k in range(3)])
    assert np.abs(places - exact[:3].T).max() < 1e-7
    assert np.abs(found.energy.balance).max() < 1e-7
    assert np.abs(found.coupling("mean").power).max() > 1e-3
    assert found.verdict == "PASS"


def held(t, x):
    """Twice the height of one point is that of another one."""
    return x[1] - 2.0 * x[0]


@pytest.mark.parametrize("integrator", ["esdirk", "generalized-alpha", "dormand-prince", "rattle"])
def test_points_of_bodies_by_a_pose(integrator: str) -> None:
    """Two pendulums whose tips keep z₂ = 2 z₁, against Lagrange's equations in both angles."""
    model = fm.Model("pendulums", gravity=(0, 0, -9.81))
    start = (1.2, np.arccos(2.0 * np.cos(1.2)))
    for k in range(2):
        model.add(
            fm.RigidBody(
                f"bar {k}",
                mass=1.0,
                inertia=(0.01, 0.1, 0.1),
                com=(0, 0, -0.5),
                frames={"tip": (0, 0, -1.0)},
            )
        )
        model.add(fm.Revolute(f"hinge {k}", "ground", f"bar {k}", axis="y", q0=start[k]))
        model.add(fm.Pose(f"tip {k}", "ground", f"bar {k}/tip"))
    model.add(fm.HolonomicCoupling("heights", ["tip 0.2", "tip 1.2"], held))
    options = (
        {"step": 5e-4}
        if integrator in ("generalized-alpha", "rattle")
        else {"rtol": 1e-9, "atol": 1e-11}
    )
    found = fm.simulate(model, t_end=0.5, output_step=0.05, integrator=integrator, **options)
    inertia = 0.1 + 0.25

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        angle, rate = y[:2], y[2:]
        weight = -9.81 * 0.5 * np.sin(angle)
        G = np.array([-2.0 * np.sin(angle[0]), np.sin(angle[1])])
        gamma = -(-2.0 * np.cos(angle[0]) * rate[0] ** 2 + np.cos(angle[1]) * rate[1] ** 2)
        lam = (gamma - G @ weight / inertia) / (G @ G / inertia)
        return np.concatenate([rate, (weight + G * lam) / inertia])

    exact = solve_ivp(rates, (0, 0.5), [*start, 0, 0], rtol=1e-11, atol=1e-13, t_eval=found.t).y
    angles = np.column_stack([found.joint(f"hinge {k}").position[:, 0] for k in range(2)])
    assert np.abs(angles - exact[:2].T).max() < (1e-5 if "step" in options else 1e-7)


def turning(t, x):
    return x[0] - np.sin(t)


def from_later(t, x):
    return x[0] * (1.0 if t < 1.5 else 2.0)


def drifting(t, x):
    return [1.0, t, 0.0, 0.0]


def wrong_gradient(t, x):
    a = rod_gradient(t, x)
    return [a[0], -0.5 * a[1], a[2], a[3]]


def raises(t, x):
    raise ValueError("no")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fm.HolonomicCoupling("c", [], rod),
            "couplings.c.of: is empty; name joint coordinates",
        ),
        (
            lambda: fm.HolonomicCoupling("c", ["first.0", "first.0"], rod),
            "couplings.c.of: coordinate 'first.0' appears twice",
        ),
        (
            lambda: fm.HolonomicCoupling("c", POINTS, 3.0),
            "couplings.c.function: must be a function",
        ),
        (lambda: fm.HolonomicCoupling("c", POINTS, lambda t: 0.0), "couplings.c.function: "),
        (
            lambda: fm.VelocityCoupling("c", POINTS, wheel, offset=1.0),
            "couplings.c.offset: unknown key",
        ),
    ],
)
def test_bad_declarations(make, message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        make()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        (fm.HolonomicCoupling("c", POINTS, wheel), "couplings.c.function: gives 4 numbers, not 1"),
        (
            fm.HolonomicCoupling("c", POINTS, raises),
            "couplings.c.function: raises ValueError: 'no' at the declared start and near it",
        ),
        (
            fm.HolonomicCoupling("c", POINTS, rod, gradient=rod),
            "couplings.c.gradient: gives 1 numbers, not 4",
        ),
        (
            fm.VelocityCoupling("c", POINTS, rod),
            "couplings.c.function: gives 1 numbers, not 4 or 5",
        ),
        (
            fm.HolonomicCoupling("c", POINTS, turning),
            "couplings.c.rheonomic: the function depends on time; set rheonomic=True",
        ),
        (
            fm.HolonomicCoupling("c", POINTS, from_later),
            "couplings.c.rheonomic: the function depends on time",
        ),
        (
            fm.VelocityCoupling("c", POINTS, drifting),
            "couplings.c.rheonomic: the function depends on time",
        ),
        (
            fm.HolonomicCoupling("c", POINTS, rod, gradient=wrong_gradient),
            "couplings.c.gradient: ∂g/∂(first.1) is given as 0.27259",
        ),
        (
            fm.VelocityCoupling("c", ["first.0", "second.7"], rod),
            "couplings.c.of: joint 'second' has no coordinate 7",
        ),
        (fm.VelocityCoupling("c", ["nowhere"], rod), "couplings.c.of: no joint 'nowhere'"),
    ],
)
def test_bad_functions(coupling, message: str) -> None:
    model = cart()
    model.add(coupling)
    with pytest.raises(fm.InputError) as error:
        fm.simulate(model, t_end=0.1)
    assert any(line.startswith(message) for line in str(error.value).splitlines())


def test_rattle_and_kinematics_are_rejected() -> None:
    with pytest.raises(fm.InputError, match="not those on velocities of coupling 'wheel'"):
        fm.simulate(cart(), t_end=0.1, step=0.01, integrator="rattle")
    with pytest.raises(fm.InputError, match="kinematics: coupling 'wheel' constrains velocities"):
        fm.kinematics(cart(), [0.0, 1.0])
