"""Stability and natural frequencies of equilibria: closed forms of non-conservative systems,
accelerations of random models, unbalance of rotors above their critical speeds."""

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from draws import drawn

import flexmbs as fm
from flexmbs.errors import AuditWarning
from flexmbs.motions import Slide
from flexmbs.studies.equilibrium.equilibrium import Equilibrium

K, L, M = 10.0, 1.0, 1.0


def column(load: float | fm.Ramp) -> fm.Model:
    """Ziegler's double pendulum of masses 2 m and m on springs k, a follower load at its end."""
    model = fm.Model("column", gravity=(0, 0, 0))
    end, at = model.ground, {"end": (0.0, 0.0, L)}
    for name, mass in (("low", 2.0 * M), ("high", M)):
        body = model.add(
            fm.RigidBody(name, mass=mass, com=at["end"], inertia=(1e-9,) * 3, frames=at)
        )
        model.add(
            fm.JointSpring(
                f"spring {name}", model.add(fm.Revolute(f"hinge {name}", end, body, axis="y")), k=K
            )
        )
        end = body["end"]
    model.add(
        fm.FrameForce(
            "load",
            end,
            force=(0.0, 0.0, load if isinstance(load, fm.Ramp) else -load),
            axes="follower",
        )
    )
    return model


@pytest.mark.parametrize("share", [1.0, 1.9, 2.0, 2.05, 2.08, 2.09, 2.5, 4.0])
def test_zieglers_column_flutters(share: float) -> None:
    """2 ω⁴ − (7 − 2 p) ω² k/(m l²) + (k/(m l²))² = 0 with p = P l/k: flutter above p = 7/2 − √2.

    The symmetric part of the stiffness is singular at p = 2 and indefinite above, which is of no
    consequence.
    """
    found = fm.statics(column(share * K / L))
    squares = np.roots([2.0, -(7.0 - 2.0 * share) * K, K**2])
    assert found.stable == (share < 3.5 - np.sqrt(2.0))
    expected = np.sqrt(np.abs(squares)) * (1.0 if found.stable else np.array([-1.0, 1.0]))
    np.testing.assert_allclose(found.frequencies, np.sort(expected), rtol=1e-7)
    roots = np.sqrt(-squares.astype(complex))
    np.testing.assert_allclose(
        np.sort(np.abs(found.eigenvalues.real)), np.sort(np.abs(roots.real)), atol=1e-6
    )


def journal(c: float) -> fm.Model:
    """A mass on an oil film: damping c, and a stiffness that is half its whirl, skew."""

    def film(t: float, r: Any, A: Any, v: Any, w: Any) -> tuple[float, ...]:
        return (
            -40.0 * r[0] - 30.0 * r[1] - c * v[0],
            30.0 * r[0] - 40.0 * r[1] - c * v[1],
            0.0,
            0.0,
            0.0,
            0.0,
        )

    model = fm.Model("journal", gravity=(0, 0, 0))
    shaft = model.add(fm.PointMass("shaft", mass=2.0))
    model.add(fm.Chain("gap", model.ground, shaft, motions=(Slide("x"), Slide("y"))))
    model.add(fm.UserForce("film", shaft, film))
    return model


@pytest.mark.parametrize("c", [4.0, 6.0, 8.0])
def test_oil_whip(c: float) -> None:
    """m λ² + c λ + k ± i κ = 0 of z = x + i y."""
    found = fm.statics(journal(c))
    expected = np.concatenate([np.roots([2.0, c, 40.0 + 30.0j]), np.roots([2.0, c, 40.0 - 30.0j])])
    expected = expected[expected.imag >= 0.0]
    np.testing.assert_allclose(
        np.sort_complex(found.eigenvalues), np.sort_complex(expected), rtol=1e-8
    )
    assert found.stable == bool((expected.real < 0.0).all())


def test_slow_divergence_under_a_strong_damper() -> None:
    """c ẏ = κ y grows by 5e-4 1/s, and is seen."""
    slide = fm.Model("slide", gravity=(0, 0, 0))
    mass = slide.add(fm.PointMass("mass", mass=1.0))
    rail = slide.add(fm.Prismatic("rail", slide.ground, mass, axis="x"))
    slide.add(fm.JointTorque("push", rail, lambda t, x, v: x - 2000.0 * v))
    found = fm.statics(slide)
    assert not found.stable
    assert found.frequencies == pytest.approx([-5e-4], rel=1e-4)


def random_chain(rng: np.random.Generator, *, conservative: bool) -> fm.Model:
    """Links on revolute and prismatic joints with springs, under loads of several kinds; the first
    may be driven.
    """
    model = fm.Model("chain", gravity=tuple(rng.uniform(-3.0, 3.0, 3)))
    end: Any = model.ground
    names = []
    for k in range(int(rng.integers(2, 4))):
        inertia = 0.1 + rng.uniform(0.0, 0.1, 3)
        at, mass = {"end": tuple(rng.uniform(0.2, 0.6, 3))}, rng.uniform(0.5, 2.0)
        body = model.add(
            fm.RigidBody(f"b{k}", mass=mass, inertia=tuple(inertia), com=(0.1, 0.0, 0.2), frames=at)
        )
        made = fm.Revolute if rng.random() < 0.7 else fm.Prismatic
        axis = rng.normal(size=3)
        names.append(
            model.add(made(f"j{k}", end, body, axis=tuple(axis / np.linalg.norm(axis)))).name
        )
        c = 0.0 if conservative else rng.choice([0.0, 0.5])
        model.add(fm.JointSpring(f"s{k}", f"j{k}", k=rng.uniform(60.0, 300.0), c=c))
        end = body["end"]
    model.add(fm.PointSpring("stay", model.ground, end, k=rng.uniform(5.0, 30.0), length=0.3))
    if conservative:
        return model
    model.add(
        fm.FrameForce("follower", end, force=tuple(rng.uniform(-20.0, 20.0, 3)), axes="follower")
    )
    x, y = rng.uniform(-9.0, 9.0, 2)
    model.add(
        fm.UserJointForces(
            "skew", names[-2:], lambda t, q, v: (x * q[1] - 0.1 * v[0], y * q[0] + 0.2 * v[0])
        )
    )
    model.add(fm.JointTorque("control", names[-1], fm.PD(20.0, rng.uniform(-0.5, 2.0))))
    return model


def by_accelerations(model: fm.Model, found: Equilibrium) -> np.ndarray:
    """Eigenvalues of ẋ = f(x), x = (q, s) of the joints, by differences of the accelerations of
    states beside the equilibrium.
    """
    names, at, n = list(model.joints), found.state, len(found.state.s)
    factors = ((8.0, 1.0), (-8.0, -1.0), (-1.0, 2.0), (1.0, -2.0))
    h, A = 1e-3, np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    for k in range(2 * n):
        for weight, factor in factors:
            x = np.concatenate([at.q, at.s])
            x[k] += factor * h
            moved = fm.state(
                model, position=dict(zip(names, x[:n])), velocity=dict(zip(names, x[n:]))
            )
            A[n:, k] += weight * moved.sd / (12.0 * h)
    return np.linalg.eigvals(A)


@pytest.mark.parametrize("seed", drawn(3, 60))
def test_random_chains(seed: int) -> None:
    """Eigenvalues of `statics`, of `linearize`, and of the accelerations of the equations of motion
    are the same.
    """
    model = random_chain(np.random.default_rng(seed), conservative=seed % 3 == 0)
    found = fm.statics(model)
    np.testing.assert_allclose(
        fm.linearize(model, start=found).modes.eigenvalue, found.eigenvalues, rtol=1e-9, atol=1e-9
    )
    expected = by_accelerations(model, found)
    for value in found.eigenvalues:
        assert np.abs(expected - value).min() < 1e-6 * np.abs(expected).max()
    assert found.stable == bool(expected.real.max() < 1e-6)
    if seed % 3 == 0:
        np.testing.assert_allclose(
            found.frequencies, np.unique(np.abs(found.eigenvalues.imag)), rtol=1e-9
        )
        assert found.stable


def on_table(
    masses: np.ndarray, stiffness: np.ndarray, offsets: np.ndarray, speed: float
) -> fm.Model:
    """Discs (n) on a massless turning shaft, which slide across it against springs (n, n), their
    centres off it (n, 2).
    """
    model = fm.Model("rotor", gravity=(0, 0, 0))
    table = model.add(fm.RigidBody("table", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("axle", model.ground, table, axis="z"))
    model.add(fm.Drive("motor", "axle", fm.Ramp(0.0, rate=speed)))
    for k, (mass, offset) in enumerate(zip(masses, offsets)):
        disc = model.add(
            fm.RigidBody(f"disc {k}", mass=mass, inertia=(1.0, 1.0, 1.0), com=(*offset, 0.0))
        )
        model.add(fm.Chain(f"plane {k}", table, disc, motions=(Slide("x"), Slide("y"))))
    rows = stiffness.tolist()

    def bent(t: float, x: Any, v: Any) -> list[float]:
        return [-sum(a * b for a, b in zip(row, x)) for row in rows]

    for axis in (0, 1):
        model.add(
            fm.UserJointForces(
                f"shaft {axis}", [f"plane {k}.{axis}" for k in range(len(masses))], bent
            )
        )
    return model


@pytest.mark.parametrize(("seed", "speed"), list(itertools.product(range(2), (0.5, 1.3, 2.2, 4.0))))
def test_unbalance_above_critical_speeds(seed: int, speed: float) -> None:
    """(K − Ω² M) x = Ω² M e of discs on a shaft, below, between and above their critical speeds;
    for one disc x = e Ω²/(ω² − Ω²). Whirl frequencies are |ω ∓ Ω| on the shaft, and all speeds are
    stable without damping."""
    rng, n = np.random.default_rng(seed), 1 + 2 * seed
    masses, offsets = rng.uniform(1.0, 3.0, n), rng.uniform(-1e-3, 1e-3, (n, 2))
    root = rng.uniform(-1.0, 1.0, (n, n))
    stiffness = 1e3 * (root @ root.T + 2.0 * np.eye(n))
    own = np.sqrt(np.linalg.eigvals(stiffness / masses[:, None]).real)
    omega = speed * own.min()
    found = fm.statics(on_table(masses, stiffness, offsets, omega), steady=True)
    expected = np.linalg.solve(
        stiffness - omega**2 * np.diag(masses), omega**2 * masses[:, None] * offsets
    )
    np.testing.assert_allclose(found.state.q[1:].reshape(n, 2), expected, rtol=1e-7)
    whirl = np.sort(np.abs(np.concatenate([own - omega, own + omega])))
    np.testing.assert_allclose(found.frequencies, whirl, rtol=1e-6)
    assert found.stable


@pytest.mark.filterwarnings("ignore:branch")  # speeds too far apart to follow the modes
def test_campbell_diagram_with_unbalance_through_critical_speeds() -> None:
    """Frequencies |ω ∓ Ω| on a turning shaft, at speeds below and above its critical ones."""
    masses, stiffness = np.array([2.0, 1.0]), np.array([[3e3, -1e3], [-1e3, 2e3]])
    own = np.sqrt(np.linalg.eigvals(stiffness / masses[:, None]).real)
    model = on_table(masses, stiffness, np.array([[1e-3, 0.0], [0.0, 5e-4]]), 1.0)
    speeds = np.array([0.5, 0.9, 1.2, 2.2]) * own.min()
    found = fm.campbell(model, speeds, drive="motor")
    for speed, row in zip(speeds, found.frequency):
        whirl = np.sort(np.abs(np.concatenate([own - speed, own + speed]))) / (2.0 * np.pi)
        np.testing.assert_allclose(np.sort(row), whirl, rtol=1e-6)


def test_a_zero_of_the_residual_where_the_energy_has_no_minimum() -> None:
    """k x − c x³ = F from beyond the maximum of the energy, from which it falls without end: its
    saddle is found, unstable.
    """
    model = fm.Model("softening", gravity=(0, 0, 0))
    mass = model.add(fm.PointMass("mass", mass=2.0))
    rail = model.add(fm.Prismatic("rail", model.ground, mass, axis="x", q0=1.4))
    model.add(fm.JointTorque("spring", rail, lambda t, x, v: 3.0 - (10.0 * x - 8.0 * x**3)))
    found = fm.statics(model)
    x = float(found.state.q[0])
    assert abs(10.0 * x - 8.0 * x**3 - 3.0) < 1e-9
    slope = (10.0 - 24.0 * x**2) / 2.0
    assert slope < 0.0
    assert not found.stable
    assert found.frequencies == pytest.approx([-np.sqrt(-slope)], rel=1e-6)


def path_finding(found: fm.Solution, title: str) -> str:
    """The check of a title, if it is a finding."""
    return " ".join(
        str(check) for check in found.audit if check.title == title and check.status != "PASS"
    )


@pytest.mark.filterwarnings("ignore::flexmbs.errors.AuditWarning")
@pytest.mark.parametrize("seed", drawn(2, 20))
def test_stability_along_a_path_is_that_of_each_equilibrium(seed: int) -> None:
    """Flutter of Ziegler's column by a growing follower load; the first output beyond p = 7/2 − √2
    is named.
    """
    rate = np.random.default_rng(seed).uniform(1.0, 4.0) * K / L
    times = np.linspace(0.0, 1.0, 6)
    found = fm.quasi_static(column(fm.Ramp(0.0, rate=-rate)), times)
    unstable = [not fm.statics(column(rate * t)).stable for t in times]
    assert unstable == [bool(rate * t * L / K > 3.5 - np.sqrt(2.0)) for t in times]
    told = path_finding(found, "Stability")
    if any(unstable):
        first = times[unstable.index(True)]
        assert f"unstable at {sum(unstable)} of 6 outputs, the first at t = {first:.6g} s" in told
    assert found.verdict == ("WARN" if any(unstable) else "PASS")


def truss() -> fm.Model:
    """Mises truss: two bars as springs of 10 kN/m, ends 2 m apart, the middle 0.3 m above them."""
    model = fm.Model(
        "truss", gravity=(0, 0, 0), frames={"left": (-1.0, 0, 0), "right": (1.0, 0, 0)}
    )
    top = model.add(fm.RigidBody("top", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Chain("plane", model.ground, top, motions=(Slide("x"), Slide("y")), q0=(0.0, 0.3)))
    for side in ("left", "right"):
        model.add(
            fm.PointSpring(side, model.ground[side], top, k=1e4, length=float(np.hypot(1.0, 0.3)))
        )
    return model


def test_a_truss_snaps_through_under_a_load_and_not_under_a_drive() -> None:
    """The jump is where the load 2 k y (l₀/l − 1) is largest; a drive leads through all positions
    without one.
    """
    y = np.linspace(0.0, 0.3, 100001)
    limit = (2e4 * y * (np.hypot(1.0, 0.3) / np.hypot(1.0, y) - 1.0)).max()
    model = truss()
    model.add(fm.FrameForce("load", "top", force=(0, fm.Ramp(0.0, rate=-1.25 * limit), 0)))
    with pytest.warns(AuditWarning, match="WARN: Branch: jump by"):
        found = fm.quasi_static(model, np.linspace(0.0, 1.0, 6))
    told = float(path_finding(found, "Branch").split("t = ")[1].split(" s")[0])
    assert 0.8 <= told <= 0.8 + 0.2 / 64 + 1e-6
    driven = truss()
    driven.add(fm.Drive("drive", "plane", fm.Ramp(0.3, rate=-0.6), coordinate=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fm.quasi_static(driven, np.linspace(0.0, 1.0, 6)).verdict == "PASS"


@pytest.mark.parametrize("stiffness", [10.0, 40.0])
def test_a_soft_shaft_turns_a_pendulum_over_its_dead_centre_by_a_jump(stiffness: float) -> None:
    """k (ψ − φ) = m g r sin φ: one branch if k > m g r = 14.7 N m, otherwise it ends where dψ/dφ =
    0.
    """
    model = fm.Model("pendulum")
    crank = model.add(fm.RigidBody("crank", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    rod = model.add(fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001)))
    model.add(fm.Revolute("motor", model.ground, crank, axis="y"))
    model.add(
        fm.JointSpring("shaft", model.add(fm.Revolute("hinge", crank, rod, axis="y")), k=stiffness)
    )
    model.add(fm.Drive("drive", "motor", fm.Ramp(0.0, rate=1.0)))
    weight = 3.0 * 9.81 * 0.5
    times = np.linspace(0.0, 5.0, 11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if stiffness < weight else "error")
        told = path_finding(fm.quasi_static(model, times), "Branch")
    if stiffness > weight:
        assert not told
    else:
        turn = np.arccos(-stiffness / weight)
        end = turn + weight / stiffness * np.sin(turn)
        assert end <= float(told.split("t = ")[1].split(" s")[0]) <= end + 0.5 / 64 + 1e-5


def test_periodic_matrices_are_no_answer_about_stability() -> None:
    """A shaft with two stiffnesses in bearings with two others: parametric resonance by Floquet's
    theory (2.08 1/s), while the matrices of one instant have no growing mode.
    """
    model = fm.Model("rotor", gravity=(0, 0, 0))
    model.add(fm.PointMass("bearing", mass=1.0))
    model.add(fm.Translation("way", "ground", "bearing"))
    stiffness, damping = (1e4, 4e4, 1e6, 0, 0, 0), (5.0, 5.0, 5.0, 0, 0, 0)
    model.add(fm.Bushing("oil", "ground", "bearing", k=stiffness, c=damping))
    model.add(fm.RigidBody("spider", mass=1e-3, inertia=(1e-5,) * 3))
    model.add(fm.RigidBody("disc", mass=2.0, inertia=(0.01, 0.01, 0.02)))
    model.add(fm.Revolute("spin", "bearing", "spider", axis="z"))
    model.add(fm.Translation("bend", "spider", "disc"))
    for i, k in enumerate((8e3, 16e3, 1e6)):
        model.add(fm.JointSpring(f"shaft {i}", "bend", k=k, c=1.0, coordinate=i))
    model.add(fm.Drive("motor", "spin", fm.Ramp(0.0, rate=58.0)))
    with pytest.warns(fm.AuditWarning, match="Stability: not known: the matrices"):
        found = fm.statics(model, steady=True)
    assert found.verdict == "WARN"
