"""Soft rods as flexible bodies in closed form, and models of them."""

import numpy as np

import flexmbs as fm

MASS, LENGTH, BENDING = 1.2, 1.0, 2.5  # kg, m, EI in N m²
# Ritz values of x², x³, rad/s
FREQUENCIES = np.array([3.53009, 34.8068]) * np.sqrt(BENDING / (MASS * LENGTH**3))


def rod(
    *, mass: float = MASS, length: float = LENGTH, bending: float = BENDING
) -> fm.FlexibleBodyData:
    """Uniform rod along x attached at its root, bending by (x/L)² and (x/L)³ in y and in z (exact
    under a tip force).

    ∫ (x/L)^(m+n) dm = mass/(m+n+1); K = EI/L³ [[4, 6], [6, 12]] from ∫ φ'' φ'' dx.
    """
    S_bar, xS, SS = np.zeros((3, 4)), np.zeros((3, 3, 4)), np.zeros((3, 3, 4, 4))
    powers = np.array([2, 3, 2, 3])
    for a, axis in enumerate((1, 1, 2, 2)):
        S_bar[axis, a] = mass / (powers[a] + 1)
        xS[0, axis, a] = mass * length / (powers[a] + 2)
        for b, other in enumerate((1, 1, 2, 2)):
            SS[axis, other, a, b] = mass / (powers[a] + powers[b] + 1)
    K = np.kron(np.eye(2), bending / length**3 * np.array([[4.0, 6.0], [6.0, 12.0]]))
    tip = np.zeros((3, 4))
    tip[1, :2] = tip[2, 2:] = 1.0
    turn = np.zeros((3, 4))  # slope of y turns about z, of z about −y
    turn[2, :2] = np.array([2.0, 3.0]) / length
    turn[1, 2:] = -np.array([2.0, 3.0]) / length
    frames = {
        "root": fm.FlexibleFrame.at_node((0, 0, 0), np.zeros((3, 4))),
        "tip": fm.FlexibleFrame.at_node((length, 0, 0), tip, psi=turn),
    }
    return fm.FlexibleBodyData.from_integrals(
        "rod",
        mass=mass,
        first_moment=(mass * length / 2, 0, 0),
        second_moment=np.diag([mass * length**2 / 3, 1e-3, 1e-3]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=K,
        frames=frames,
    )


def double_pendulum(**options) -> fm.Model:
    """Two soft rods on a spherical and a universal joint, out of the plane, without damping."""
    model = fm.Model("two rods", gravity=(0, 0, -9.81))
    upper = model.add(fm.FlexibleBody("upper", data=rod(), qf0=(0.02, 0.0, 0.03, 0.0), **options))
    lower = model.add(
        fm.FlexibleBody("lower", data=rod(bending=4.0), qf_dot0=(0.1, 0.0, 0.0, 0.2), **options)
    )
    c = np.sqrt(0.5)
    model.add(
        fm.Spherical("shoulder", model.ground, upper["root"], q0=(c, 0, c, 0), v0=(0.3, 0.5, 0.2))
    )
    model.add(
        fm.Universal(
            "elbow", upper["tip"], lower["root"], axes=("y", "z"), q0=(0.4, -0.3), v0=(0.2, 1.0)
        )
    )
    return model
