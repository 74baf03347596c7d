"""Points on curves and surfaces, cams and followers against closed forms and independent
integrations.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm

G = 9.81
FORMS = [
    ("multiplier", "joint"),
    ("multiplier", "absolute"),
    ("recursive", "joint"),
    ("embedding", "joint"),
    ("partitioning", "absolute"),
]
EXACT = {"rtol": 1e-8, "atol": 1e-10}


def bead(at: tuple[float, ...], v0: tuple[float, ...] = (0.0, 0.0, 0.0)) -> fm.Model:
    model = fm.Model("bead", gravity=(0, 0, -G))
    body = model.add(fm.RigidBody("bead", mass=0.3, inertia=(1e-4,) * 3))
    model.add(fm.Free("flight", model.ground, body, q0=(*at, 1, 0, 0, 0), v0=(*v0, 0, 0, 0)))
    return model


def hoop(n: int = 201) -> np.ndarray:
    a = np.linspace(0.0, 2.0 * np.pi, n)[:-1]
    return np.column_stack([np.sin(a), 0.0 * a, -np.cos(a)])


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
@pytest.mark.parametrize("planar", [False, True])
def test_a_bead_on_a_hoop_is_a_pendulum(formalism: str, coordinates: str, planar: bool) -> None:
    model = bead((np.sin(1.0), 0.0, -np.cos(1.0)))
    model.add(fm.PointOnCurve("hoop", "ground", "bead", hoop(), closed=True, planar=planar))
    found = fm.simulate(
        model, t_end=2.0, output_step=0.1, formalism=formalism, coordinates=coordinates, **EXACT
    )
    exact = solve_ivp(
        lambda t, y: [y[1], -G * np.sin(y[0])],
        (0, 2),
        [1.0, 0.0],
        rtol=1e-11,
        atol=1e-12,
        t_eval=found.t,
    ).y
    wanted = np.column_stack([np.sin(exact[0]), 0.0 * exact[0], -np.cos(exact[0])])
    # the spline through 200 points of a circle
    assert np.abs(found.body("bead").position - wanted).max() < 3e-6
    normal = 0.3 * (G * np.cos(exact[0]) + exact[1] ** 2)
    force = found.joint("hoop").force  # on the bead, which does not rotate
    assert np.abs(np.einsum("ij,ij->i", force, -wanted) - normal).max() < 1e-3
    assert found.verdict in ("PASS", "WARN")


def test_a_bead_on_a_helix() -> None:
    """s̈ = −g sin α along a helix of radius r and pitch 2π p, through a twisted pair of normals."""
    r, p = 0.5, 0.2
    a = np.linspace(-6 * np.pi, 6 * np.pi, 1201)
    model = bead((r, 0.0, 0.0))
    model.add(
        fm.PointOnCurve(
            "helix", "ground", "bead", np.column_stack([r * np.cos(a), r * np.sin(a), p * a])
        )
    )
    found = fm.simulate(model, t_end=1.5, output_step=0.1, **EXACT)
    angle = -0.5 * G * found.t**2 * p / (r * r + p * p)
    wanted = np.column_stack([r * np.cos(angle), r * np.sin(angle), p * angle])
    assert np.abs(found.body("bead").position - wanted).max() < 1e-6
    assert found.verdict == "PASS"


def test_a_run_ends_where_an_open_curve_does() -> None:
    model = bead((0.1, 0.0, 0.0))
    model.add(fm.PointOnCurve("slope", "ground", "bead", [(0, 0, 0), (1, 0, -0.5), (2, 0, -1.0)]))
    with pytest.raises(
        fm.SolverError, match=r"point 'slope' has reached an end of its curve"
    ) as error:
        fm.simulate(model, t_end=3.0, output_step=0.1)
    x = error.value.solution.body("bead").position[-1]
    assert 1.5 < x[0] <= 2.0 + 1e-5
    model.joints["flight"] = dataclasses.replace(
        model.joints["flight"], q0=(-0.5, 0, 0.25, 1, 0, 0, 0)
    )
    with pytest.raises(
        fm.InputError, match=r"joints\.slope: the point is beyond the ends of its curve"
    ):
        fm.simulate(model, t_end=0.1)


@pytest.mark.parametrize(("formalism", "coordinates"), FORMS)
def test_a_point_in_a_bowl(formalism: str, coordinates: str) -> None:
    """z = (x² + y²)/(2 R), which the spline repeats exactly, against Lagrange's equations in x and
    y.
    """
    R, x = 0.8, np.linspace(-1.0, 1.0, 9)
    start, push = np.array([0.4, 0.1]), np.array([-0.3, 0.9])
    model = bead((*start, start @ start / (2 * R)), (*push, start @ push / R))
    model.add(
        fm.PointOnSurface(
            "bowl", "ground", "bead", x=x, y=x, heights=(x[:, None] ** 2 + x**2) / (2 * R)
        )
    )
    found = fm.simulate(
        model, t_end=2.0, output_step=0.1, formalism=formalism, coordinates=coordinates, **EXACT
    )

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        at, v = y[:2], y[2:]
        M = np.eye(2) + np.outer(at, at) / R**2
        return np.concatenate([v, np.linalg.solve(M, -at / R * (v @ v / R + G))])

    exact = solve_ivp(rates, (0, 2), [*start, *push], rtol=1e-11, atol=1e-12, t_eval=found.t).y
    assert np.abs(found.body("bead").position[:, :2] - exact[:2].T).max() < 1e-6
    assert found.verdict == "PASS"


# Cams

RADIUS, OFFSET, ROLLER = 0.05, 0.02, 0.015


def eccentric(n: int = 120) -> np.ndarray:
    """A circle of radius RADIUS about (OFFSET, 0)."""
    a = np.linspace(0.0, 2.0 * np.pi, n + 1)[:-1]
    return np.column_stack([OFFSET + RADIUS * np.cos(a), RADIUS * np.sin(a)])


def eight() -> np.ndarray:
    """A figure of eight whose loops differ in area."""
    a = np.linspace(0.0, 2.0 * np.pi, 41)[:-1]
    return np.column_stack([np.sin(a) * (1.2 + 0.5 * np.sin(a)), np.sin(a) * np.cos(a)])


def cam(speed: float, contact: Any, lift: float, **spring: float) -> fm.Model:
    """A cam that turns about z at the origin, a follower along x."""
    model = fm.Model("cam", gravity=(0, 0, 0))
    disc = model.add(fm.RigidBody("disc", mass=1.0, inertia=(1e-3,) * 3))
    model.add(fm.RigidBody("follower", mass=0.5, inertia=(1e-4,) * 3))
    model.add(fm.Revolute("shaft", model.ground, disc, axis="z", v0=speed))
    model.add(fm.Prismatic("guide", "ground", "follower", axis="x", q0=lift))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, rate=speed)))
    model.add(fm.JointSpring("spring", "guide", **spring))
    model.add(contact)
    return model


@pytest.mark.parametrize("integrator", ["event-driven", "moreau-jean"])
def test_roller_follower(integrator: str) -> None:
    """Lift e cos θ + √((R + ρ)² − e² sin² θ) of a slow eccentric cam (Norton 2009, chapter 7)."""
    contact = fm.CamRoller("touch", "disc", "follower", points=eccentric(), radius=ROLLER)
    model = cam(6.0, contact, OFFSET + RADIUS + ROLLER, k=800.0, x0=0.0)
    options: Any = {"step": 2e-4} if integrator == "moreau-jean" else EXACT
    found = fm.simulate(model, t_end=1.2, output_step=0.02, integrator=integrator, **options)
    theta = 6.0 * found.t
    wanted = OFFSET * np.cos(theta) + np.sqrt(
        (RADIUS + ROLLER) ** 2 - (OFFSET * np.sin(theta)) ** 2
    )
    assert np.abs(found.joint("guide").position[:, 0] - wanted).max() < (
        3e-5 if integrator == "moreau-jean" else 1e-6
    )


@pytest.mark.parametrize("share", [0.97, 1.03])
def test_jump_of_a_flat_follower(share: float) -> None:
    """y = R + e cos θ, N = k y − m e ω² cos θ ≥ 0 until ω² = k (R + e)/(m e): the follower jumps at
    the largest lift.
    """
    k, m = 600.0, 0.5
    speed = share * np.sqrt(k * (RADIUS + OFFSET) / (m * OFFSET))
    contact = fm.CamFace("touch", "disc", "follower", points=eccentric(), normal="-x")
    model = cam(speed, contact, RADIUS + OFFSET * np.cos(1.0), k=k, x0=0.0)
    model.joints["shaft"] = dataclasses.replace(model.joints["shaft"], q0=1.0)
    model.joints["guide"] = dataclasses.replace(
        model.joints["guide"], v0=-OFFSET * speed * np.sin(1.0)
    )
    model.drives.clear()
    model.add(fm.Drive("motor", "shaft", fm.Ramp(1.0, rate=speed)))
    found = fm.simulate(
        model, t_end=6.0 / speed, output_step=0.05 / speed, integrator="event-driven", **EXACT
    )
    theta = 1.0 + speed * found.t
    off = found.joint("guide").position[:, 0] - RADIUS - OFFSET * np.cos(theta)
    if share < 1.0:
        assert np.abs(off).max() < 1e-6
        force = k * (RADIUS + OFFSET * np.cos(theta)) - m * OFFSET * speed**2 * np.cos(theta)
        # closed by a first impact
        assert np.abs(found.contact("touch").normal - force)[1:].max() < 1e-3 * force.max()
    else:
        assert off.max() > 1e-5
    assert off.min() > -1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fm.PointOnCurve("c", "ground", "b", [(0, 0, 0), (1, 0, 0)]),
            "joints.c.points: must be at least 3 points",
        ),
        (
            lambda: fm.PointOnCurve("c", "ground", "b", [(0, 0, 0), (1, 0, 0), (1, 0, 0)]),
            "joints.c.points: points 1 and 2 are the same",
        ),
        (
            lambda: fm.PointOnCurve("c", "ground", "b", [(0, 0, 0), (1, 0, 0), (0, 0, 0)]),
            "joints.c.points: the curve turns back on itself at point 1",
        ),
        (
            lambda: fm.PointOnCurve(
                "c", "ground", "b", [(0, 0, 0), (1, 0, 0), (2, 0, 0)], closed=True
            ),
            "joints.c.points: the curve turns back on itself at point 2",
        ),
        (
            lambda: fm.PointOnCurve("c", "ground", "b", [(0, 0), (1, 0), (2, 0)]),
            "joints.c.points: point 0 must have 3",
        ),
        (
            lambda: fm.PointOnCurve(
                "c", "ground", "b", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)], planar=True
            ),
            "joints.c.planar: the points are not in a plane",
        ),
        (
            lambda: fm.PointOnSurface(
                "s", "ground", "b", x=(0, 1, 2, 3), y=(0, 1, 2, 3), heights=[(0, 0, 0, 0)] * 3
            ),
            "joints.s.heights: must be 4 rows of 4 numbers, not 3 of 4",
        ),
        (
            lambda: fm.PointOnSurface(
                "s", "ground", "b", x=(0, 1, 1, 3), y=(0, 1, 2, 3), heights=[(0, 0, 0, 0)] * 4
            ),
            "joints.s.x: must increase; 1 follows 1",
        ),
        (
            lambda: fm.CamRoller("c", "disc", "f", points=eccentric(), radius=0.06, reverse=True),
            "contacts.c.radius: 0.06 is above the least radius of curvature of a concave part, 0.05",
        ),
        (
            lambda: fm.CamRoller("c", "disc", "f", points=eccentric(), radius=-1.0),
            "contacts.c.radius: must be >= 0, not -1",
        ),
        (lambda: fm.CamFace("c", "disc", "f", points=eccentric()), "contacts.c.normal: is missing"),
        (
            lambda: fm.CamRoller("c", "disc", "f", points=[(0, 0), (1, 0), (0, 0)], radius=0.1),
            "contacts.c.points: the closed profile crosses itself or encloses nothing: it "
            "has no outside",
        ),
        (
            lambda: fm.CamFace("c", "disc", "f", points=eight(), normal="x"),
            "contacts.c.points: the closed profile crosses itself or encloses nothing",
        ),
        (
            lambda: fm.CurveContact(
                "c", "disc", "f", points_parent=eccentric(), points_child=eight()
            ),
            "contacts.c.points_child: the closed profile crosses itself or encloses nothing",
        ),
        (
            lambda: fm.CamRoller(
                "c", "disc", "f", points=[(0, 0), (1e50, 0), (0, 1e50)], radius=0.1
            ),
            "contacts.c.points: point 1 is beyond 1e+09 m",
        ),
    ],
)
def test_bad_values(make: Any, message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        make()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_starts_on_curves_of_any_size(size) -> None:
    """A bead at the crossing of a figure of eight, with a velocity along none of its branches: the
    change is reported.
    """
    a = 0.3 + np.linspace(0.0, 2 * np.pi, 48, endpoint=False)
    points = size * np.column_stack([np.sin(a), 0 * a, np.sin(a) * np.cos(a)])
    model = fm.Model("eight", gravity=(0, 0, -9.81 * size))
    model.add(fm.PointMass("bead", mass=1.0))
    model.add(fm.Translation("motion", "ground", "bead", q0=(1e-2 * size, 0, 0), v0=(size, 0, 0)))
    model.add(fm.PointOnCurve("wire", "ground", "bead", points, closed=True))
    with pytest.warns(fm.AssemblyWarning, match=r"motion\.v0: the declared value had to change"):
        found = fm.state(model)
    assert np.linalg.norm(found.s) / size == pytest.approx(np.sqrt(0.5), abs=0.02)
    x, _, z = found.q[:3] / size
    assert abs(z**2 - x**2 * (1 - x**2)) < 1e-5
