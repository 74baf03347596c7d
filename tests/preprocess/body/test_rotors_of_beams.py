"""Whirl speeds of shafts of beams, against the published rotor and an independent model in the
inertial frame.
"""

import numpy as np
import pytest
import scipy.linalg

import flexmbs as fm
import preprocess as pp

E, NU, RHO, L, D = 2.11e11, 0.3, 7810.0, 1.5, 0.05
SUPPORT = 1e6  # N/m


def disc(diameter, thickness=0.07):
    """Mass, polar and diametral moment of inertia of a disc on the shaft."""
    m = RHO * np.pi / 4 * (diameter**2 - D**2) * thickness
    return m, m / 8 * (diameter**2 + D**2), m / 16 * (diameter**2 + D**2) + m * thickness**2 / 12


def inertial_frame(section, speed, n, discs):
    """Whirl speeds (rad/s), forward positive, of v + i w and its slope at n + 1 nodes (Nelson
    1980): M p̈ − i Ω G ṗ + K p = 0, with twice the mass of rotary inertia in G.
    """
    d, h = section.data(NU), L / n
    I, f = d.Iy, 12 * E * d.Iy * 2 * (1 + NU) / (d.ky * E * d.A * h**2)
    K, M, G = np.zeros((3, 2 * n + 2, 2 * n + 2))
    s, weights = (
        0.5 * (np.polynomial.legendre.leggauss(6)[0] + 1),
        0.5 * np.polynomial.legendre.leggauss(6)[1],
    )
    bend, line, tilt = np.zeros((3, 4, 4))
    for x, w in zip(s, h * weights):
        v = np.array(
            [
                1 - 3 * x**2 + 2 * x**3 + f * (1 - x),
                h * (x - 2 * x**2 + x**3 + f / 2 * (x - x**2)),
                3 * x**2 - 2 * x**3 + f * x,
                h * (x**3 - x**2 - f / 2 * (x - x**2)),
            ]
        ) / (1 + f)
        turn = np.array(
            [
                6 * (x**2 - x) / h,
                1 - 4 * x + 3 * x**2 + f * (1 - x),
                6 * (x - x**2) / h,
                3 * x**2 - 2 * x + f * x,
            ]
        )
        bent = (
            np.array([6 * (2 * x - 1) / h, 6 * x - 4 - f, 6 * (1 - 2 * x) / h, 6 * x - 2 + f])
            / h
            / (1 + f)
        )
        slope = np.array(
            [
                (6 * x**2 - 6 * x - f) / h,
                1 - 4 * x + 3 * x**2 + f / 2 * (1 - 2 * x),
                (6 * x - 6 * x**2 + f) / h,
                3 * x**2 - 2 * x - f / 2 * (1 - 2 * x),
            ]
        ) / (1 + f)
        shear = slope - turn / (1 + f)
        bend += w * (
            E * I * np.outer(bent, bent) + d.ky * E / (2 + 2 * NU) * d.A * np.outer(shear, shear)
        )
        line += w * RHO * d.A * np.outer(v, v)
        tilt += w * RHO * I * np.outer(turn, turn) / (1 + f) ** 2
    for k in range(n):
        own = slice(2 * k, 2 * k + 4)
        K[own, own] += bend
        M[own, own] += line + tilt
        G[own, own] += 2 * tilt
    for place, (m, polar, diametral) in discs.items():
        k = 2 * place
        M[k, k] += m
        M[k + 1, k + 1] += diametral
        G[k + 1, k + 1] += polar
    K[0, 0] += SUPPORT
    K[-2, -2] += SUPPORT
    one, none = np.eye(len(K)), np.zeros_like(K)
    rates = scipy.linalg.eigvals(
        np.block([[none, one], [-K, 1j * speed * G]]), np.block([[one, none], [none, M]])
    )
    return rates.imag[np.argsort(np.abs(rates.imag))]


def rotating_frame(section, speed, n, discs, reference):
    """|ω| of the eigenvalues seen on a shaft of beams that turns with its frame."""
    cells = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    sets = {"left": [0], "right": [n]} | {f"disc {k}": [k] for k in discs}
    mesh = pp.Mesh.from_arrays(
        np.linspace(0, L, n + 1)[:, None] * [1.0, 0, 0], {"line2": cells}, node_sets=sets
    )
    fe = pp.assemble(mesh, pp.Isotropic(E=E, nu=NU, rho=RHO), sections=section)
    fe = pp.attach(
        fe, [pp.PointMass(f"disc {k}", m, inertia=(p, d, d)) for k, (m, p, d) in discs.items()]
    )
    ends = {"left": pp.Rigid("left"), "right": pp.Rigid("right")}
    data = pp.reduce(
        fe,
        interfaces=ends,
        reference=reference,
        stress=None,
        estimate=False,
        method=pp.CraigBampton(modes=24),
    )
    model, o = fm.Model("rotor", gravity=(0, 0, 0)), fm.motions
    spinner = model.add(
        fm.RigidBody("spinner", mass=1.0, inertia=(1.0,) * 3, frames={"right": (L, 0, 0)})
    )
    model.add(fm.Revolute("spin", model.ground, spinner, axis="x"))
    model.add(fm.Drive("motor", "spin", fm.Ramp(0.0, rate=speed)))
    shaft = model.add(fm.FlexibleBody("shaft", data=data))
    sideways = (o.Slide("y"), o.Slide("z"), o.Rotate("y"), o.Rotate("z"))
    model.add(fm.Chain("float", spinner, shaft["left"], motions=sideways))
    stiffness = (0, SUPPORT, SUPPORT, 0, 0, 0)
    model.add(fm.Bushing("left bearing", spinner, shaft["left"], k=stiffness))
    model.add(fm.Bushing("right bearing", spinner["right"], shaft["right"], k=stiffness))
    at = fm.statics(model, steady=True, audit=False)
    return np.abs(np.asarray(fm.linearize(model, start=at, audit=False).modes.eigenvalue).imag)


def largest_error(whirl, seen, speed, count):
    """Of whirl speeds, each against the nearest of what is seen on the shaft, |ω − Ω|."""
    return max(np.abs(seen - abs(w - speed)).min() / abs(w) for w in whirl[:count])


def test_friswell_example_5_9_1():
    """Two discs on a shaft at 4000 rpm: 85.39, 87.80, 251.78, 294.71 rad/s in the book, for ν =
    0.2993.
    """
    speed, n = 4000 * np.pi / 30, 12
    discs, section = {n // 3: disc(0.28), 2 * n // 3: disc(0.35)}, pp.CircularSection(D)
    whirl = inertial_frame(section, speed, n, discs)
    np.testing.assert_allclose(np.abs(whirl[:4]), [85.39, 87.80, 251.78, 294.71], rtol=1e-4)
    assert (
        largest_error(whirl, rotating_frame(section, speed, n, discs, "mean axes"), speed, 6) < 5e-5
    )


@pytest.mark.parametrize("reference", ["left", "mean axes"])
def test_a_square_shaft_at_high_speed(reference):
    """Whirl at 2000 rad/s, whatever carries the body frame:
    the tilt of sections makes 2 % of it.
    """
    section = pp.RectangularSection(D, D, orientation=(0, 1, 0))
    whirl = inertial_frame(section, 2000.0, 12, {})
    assert (
        largest_error(whirl, rotating_frame(section, 2000.0, 12, {}, reference), 2000.0, 6) < 5e-5
    )
