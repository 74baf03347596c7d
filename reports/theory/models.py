"""Bodies and mechanisms that several studies share."""

import numpy as np

import flexmbs as fm
from flexmbs.motions import Ball, Slide


def rod(name: str, length: float, mass: float = 1.0) -> fm.RigidBody:
    """A slender rod along x from its frame to its frame "end"."""
    about = mass * length**2 / 12.0
    inertia = (0.01 * about, about, about)
    return fm.RigidBody(
        name, mass=mass, inertia=inertia, com=(length / 2.0, 0, 0), frames={"end": (length, 0, 0)}
    )


def ring(
    lengths: tuple[float, ...],
    angles: tuple[float, ...],
    rates: tuple[float, ...] = (),
    loose: int = 0,
) -> fm.Model:
    """A closed loop of n rods in the plane of x and z: hinge i from rod i − 1 to rod i, hinge n + 1
    at the frame "foot".

    angles: of the rods from x, upwards; rates: of the rods, rad/s.  loose: number of the hinge that
    may also tilt and slide along y, two rows instead of five; 0: none, and three rows depend on the
    others.
    """
    n, angles, rates = len(lengths), (0.0, *angles), (0.0, *(rates or (0.0,) * len(angles)))
    points = np.cumsum(
        [[a * np.cos(q), 0.0, a * np.sin(q)] for a, q in zip(lengths, angles[1:])], axis=0
    )
    model = fm.Model("loop", gravity=(0, 0, -9.81), frames={"foot": tuple(points[-1])})
    bodies = [
        model.ground,
        *(model.add(rod(f"rod {i}", length)) for i, length in enumerate(lengths, 1)),
    ]
    for i in range(1, n + 2):
        before = bodies[i - 1]["end"] if i > 1 else model.ground
        after, start = bodies[i] if i <= n else model.ground["foot"], {}
        if i <= n:
            start = {"q0": angles[i - 1] - angles[i]} | (
                {"v0": rates[i - 1] - rates[i]} if any(rates) else {}
            )
        if i == loose:
            model.add(fm.Chain(f"hinge {i}", before, after, motions=(Slide("y"), Ball())))
        else:
            model.add(fm.Revolute(f"hinge {i}", before, after, axis="y", **start))
    return model


def dyad(
    tip: np.ndarray, foot: np.ndarray, first: float, second: float, side: float = 1.0
) -> tuple[float, float]:
    """Angles of two rods, ``first`` m from a point ``tip`` and ``second`` m on to a point ``foot``
    (x, z), bent to one side.
    """
    across = foot - tip
    span = float(np.hypot(*across))
    bend = side * np.arccos((span**2 + first**2 - second**2) / (2.0 * span * first))
    tilt = float(np.arctan2(across[1], across[0]) + bend)
    down = foot - tip - first * np.array([np.cos(tilt), np.sin(tilt)])
    return tilt, float(np.arctan2(down[1], down[0]))


# of seven bodies with three loops: places (x, z) of the joints between bodies, 0 is the ground
HINGES = {
    (0, 1): (0.0, 0.0),
    (1, 2): (-0.2, 0.7),
    (2, 3): (0.3, 1.7),
    (1, 4): (0.3, 0.8),
    (0, 5): (2.0, 0.0),
    (5, 6): (2.0, 0.9),
    (5, 7): (2.2, 1.3),
    (3, 4): (1.2, 1.1),
    (2, 7): (1.1, 1.9),
    (4, 6): (1.2, 0.6),
}
CUTS = {"I": (3, 4), "II": (2, 7), "III": (4, 6)}


def seven_bodies(cuts: tuple[str, ...] = ()) -> fm.Model:
    """Hinges about y; those of `CUTS` may also tilt and slide along y, two rows each. All bodies
    start in world axes.
    """
    at = [
        {str(sum(pair) - k): (x, 0.0, z) for pair, (x, z) in HINGES.items() if k in pair}
        for k in range(8)
    ]
    model = fm.Model("seven bodies", gravity=(0, 0, -9.81), frames=at[0], cuts=cuts)
    for k in range(1, 8):
        com = tuple(np.mean([*at[k].values()], axis=0))
        model.add(
            fm.RigidBody(
                f"K{k}", mass=0.5 * len(at[k]), com=com, inertia=(0.05, 0.06, 0.04), frames=at[k]
            )
        )
    for a, b in HINGES:
        ends = model.ground[str(b)] if a == 0 else f"K{a}/{b}", f"K{b}/{a}"
        if (a, b) in CUTS.values():
            model.add(fm.Chain(f"{a}-{b}", *ends, motions=(Slide("y"), Ball())))
        else:
            model.add(fm.Revolute(f"{a}-{b}", *ends, axis="y", **({"v0": 2.0} if b == 1 else {})))
    return model


# shopping cart: masses (kg) at the ends of a rod (m), the wheel is under the first
M1, M2, L = 2.0, 3.0, 0.7


def cart(v: float, omega: float, forces: tuple[float, float], angle: float = 0.0) -> fm.Model:
    """The cart in x₁, y₁, φ: F₁ pushes the first mass along the rod, F₂ the second across it;
    starts with σ = (v, ω).
    """
    model = fm.Model("cart", gravity=(0.0, 0.0, 0.0))
    about = M1 * M2 / (M1 + M2) * L**2
    com, frames = (M2 * L / (M1 + M2), 0, 0), {"end": (L, 0, 0)}
    model.add(fm.RigidBody("rod", mass=M1 + M2, com=com, inertia=(0, about, about), frames=frames))
    v0 = (v * np.cos(angle), v * np.sin(angle), omega)
    model.add(fm.Planar("floor", "ground", "rod", q0=(0, 0, angle), v0=v0))
    model.add(fm.KnifeEdge("wheel", "ground", "rod"))
    model.add(fm.FrameForce("along", "rod", force=(forces[0], 0, 0), axes="follower"))
    model.add(fm.FrameForce("across", "rod/end", force=(0, forces[1], 0), axes="follower"))
    return model


def rod_row(t: float, x: np.ndarray) -> float:
    """½ (d² − l²), d = r₂ − r₁, x = (x₁, y₁, x₂, y₂)"""
    return 0.5 * ((x[2] - x[0]) ** 2 + (x[3] - x[1]) ** 2 - L**2)


def wheel_row(t: float, x: np.ndarray) -> list[float]:
    """(k × d)·ṙ₁ = 0"""
    return [x[1] - x[3], x[2] - x[0], 0.0, 0.0]


def cart_of_points(v: float, omega: float, angle: float = 0.0) -> fm.Model:
    """The free cart by Lagrange's equations of the first kind: two point masses, λ of the rod and μ
    of the wheel.
    """
    model, e = (
        fm.Model("cart of points", gravity=(0.0, 0.0, 0.0)),
        np.array([np.cos(angle), np.sin(angle)]),
    )
    n = np.array([-e[1], e[0]])
    for name, mass, r, rate in (
        ("first", M1, 0 * e, v * e),
        ("second", M2, L * e, v * e + L * omega * n),
    ):
        model.add(fm.PointMass(f"mass {name}", mass=mass))
        model.add(fm.Translation(name, "ground", f"mass {name}", q0=(*r, 0), v0=(*rate, 0)))
    points = [f"{name}.{axis}" for name in ("first", "second") for axis in (0, 1)]
    model.add(fm.HolonomicCoupling("rod", points, rod_row))
    model.add(fm.VelocityCoupling("wheel", points, wheel_row))
    return model


def steady_forces(v: float, omega: float) -> tuple[float, float]:
    """F₁, F₂ with which the cart keeps σ = (v, ω)."""
    return -M2 * L * omega**2, M2 * v * omega


def sigmas(run: fm.Solution) -> tuple[np.ndarray, np.ndarray]:
    """σ₁ along the rod and σ₂ = φ̇ of a run of the cart."""
    q, s = run.joint("floor").position, run.joint("floor").velocity
    return s[:, 0] * np.cos(q[:, 2]) + s[:, 1] * np.sin(q[:, 2]), s[:, 2]


class Beam:
    """Forty masses at the corners of ten sections along x, 1 m long, 2 kg, bent by shapes in y and
    z: sums for integrals.

    m (kg), x (40, 3): masses and places.  phi (40, 3, 3): shapes x², x³ in y, x² in z per unit of
    q_f.  K: ∫EI φ″φ″ dx with EI = 100 and 75 N m².
    """

    m = 0.05
    x = np.array(
        [(0.1 * k, y, z) for k in range(1, 11) for y in (-0.03, 0.03) for z in (-0.03, 0.03)]
    )
    K = np.array([[400.0, 600.0, 0.0], [600.0, 1200.0, 0.0], [0.0, 0.0, 300.0]])

    def __init__(self) -> None:
        self.phi = np.zeros((len(self.x), 3, 3))
        self.phi[:, 1, 0], self.phi[:, 1, 1], self.phi[:, 2, 2] = (
            self.x[:, 0] ** 2,
            self.x[:, 0] ** 3,
            self.x[:, 0] ** 2,
        )

    def data(self, name: str, damping: float = 0.0) -> fm.FlexibleBodyData:
        """Shape integrals by sums over the points, and the frame "tip" on the axis."""
        m, x, phi, at_tip = (
            self.m,
            self.x,
            self.phi,
            np.array([[0.0] * 3, [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        )
        slopes = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -2.0], [2.0, 3.0, 0.0]])
        return fm.FlexibleBodyData.from_integrals(
            name,
            mass=m * len(x),
            first_moment=m * x.sum(0),
            second_moment=m * x.T @ x,
            S_bar=m * phi.sum(0),
            xS=m * np.einsum("na,nbk->abk", x, phi),
            SS=m * np.einsum("nak,nbl->abkl", phi, phi),
            K_ff=self.K,
            D_ff=damping * self.K,
            frames={"tip": fm.FlexibleFrame.at_node((1.0, 0.0, 0.0), at_tip, psi=slopes)},
        )
