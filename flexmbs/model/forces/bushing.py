"""Elastic bearing between two frames."""

import math

import numpy as np
from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawPart, Row, StateName, law_kernel, nonlinear_law
from flexmbs.model.fields import NonnegativeSix, OptionalCurve
from flexmbs.model.forces.force import BetweenFrames
from flexmbs.model.interpolation import monotone

CURVES = ("curve_x", "curve_y", "curve_z", "curve_rx", "curve_ry", "curve_rz")


@law_kernel
def linear(p, u, x, out):
    """Kernel of a linear bushing, force −k δ − c v, p = (k (6), c (6)).

    As the gradient of ½ δᵀ k δ the elastic part is conservative at large rotations too.

    """
    for a in range(6):
        out[a] = -p[a] * x[1 + a]
        out[6 + a] = -p[6 + a] * x[7 + a]


@linear.slopes
def linear_slopes(p, u, x, out):
    """Kernel of the stiffness diag(k) and damping diag(c) of a linear bushing."""
    for a in range(6):
        out[7 * a] = p[a]
        out[36 + 7 * a] = p[6 + a]


@LawPart
def on_curve(p, at, x):
    """Value and slope (f, f') of a piecewise cubic, extrapolated linearly.

    p[at:] = (n, n points, 4 (n − 1) coefficients).
    """
    n = int(p[at])
    i = 0
    while i < n - 2 and x >= p[at + 2 + i]:
        i += 1
    inside = min(max(x, p[at + 1]), p[at + n])
    c = at + 1 + n + 4 * i
    s = inside - p[at + 1 + i]
    slope = p[c + 2] + s * (2.0 * p[c + 1] + s * 3.0 * p[c])
    return p[c + 3] + s * (p[c + 2] + s * (p[c + 1] + s * p[c])) + slope * (x - inside), slope


@nonlinear_law
def viscoelastic(p, u, x, out):
    """Kernel of a bushing with nonlinear curves and Maxwell branches.

    −k δ or −f(δ), −c v, and Maxwell branches: −z, ż = k₁ δ̇ − z/T; p = (k, c, k₁, T, indices of the
    curves, 0 for none).

    Rates of the rotation vector ϑ from ω in axes of a: ϑ̇ = ω − ½ ϑ × ω + (1 − ½ ϑ cot ½ϑ)/ϑ² ϑ ×
    (ϑ × ω).
    """
    t2 = x[4] * x[4] + x[5] * x[5] + x[6] * x[6]
    half = 0.5 * math.sqrt(t2)
    c = (1.0 - half / math.tan(half)) / t2 if t2 > 1e-4 else 1.0 / 12.0 + t2 / 720.0
    cross_x = x[5] * x[12] - x[6] * x[11]
    cross_y = x[6] * x[10] - x[4] * x[12]
    cross_z = x[4] * x[11] - x[5] * x[10]
    for a in range(6):
        rate = x[7 + a]
        if a == 3:
            rate += -0.5 * cross_x + c * (x[5] * cross_z - x[6] * cross_y)
        if a == 4:
            rate += -0.5 * cross_y + c * (x[6] * cross_x - x[4] * cross_z)
        if a == 5:
            rate += -0.5 * cross_z + c * (x[4] * cross_y - x[5] * cross_x)
        force = p[a] * x[1 + a]
        at = int(p[24 + a])
        if at > 0:
            force, _ = on_curve(p, at, x[1 + a])
        out[a] = -force - x[13 + a]
        out[6 + a] = -p[6 + a] * x[7 + a]
        out[12 + a] = p[12 + a] * rate - x[13 + a] / p[18 + a]


@viscoelastic.slopes
def viscoelastic_slopes(p, u, x, out):
    """Kernel of stiffness and damping of a viscoelastic bushing."""
    for a in range(6):
        k = p[a]
        at = int(p[24 + a])
        if at > 0:
            _, k = on_curve(p, at, x[1 + a])
        out[7 * a] = k + p[12 + a]
        out[36 + 7 * a] = p[6 + a]


class Bushing(BetweenFrames, kind="bushing"):
    """Elastic bearing between two frames, in the axes of ``frame_a``.

    A Maxwell branch f, ḟ = k₁·δ̇ − f/T, in parallel with each spring gives for δ sin Ωt the dynamic
    stiffness k + iΩ·c + k₁·iΩT/(1 + iΩT). Use one bushing per additional branch. Source: Lakes,
    Viscoelastic Materials (2009), section 2.6.

    Parameters
    ----------
    k : 6 floats [N/m, N m/rad]
        Stiffnesses of 3 translations, 3 rotations.
    c : 6 floats [N s/m, N m s/rad]
        Dampings of 3 translations, 3 rotations.
    branch_k : 6 floats [N/m, N m/rad]
        Stiffnesses k₁ of the Maxwell branches, whose forces are initially zero.
    relaxation_time : 6 floats [s]
        Relaxation times T of the branches, positive where there is a branch.
    curve_x : two lists of floats or None [m, N]
        Increasing displacements and restoring forces, replacing k along x: monotone
        cubics, extrapolated linearly.
    curve_y : two lists of floats or None [m, N]
        The same along y.
    curve_z : two lists of floats or None [m, N]
        The same along z.
    curve_rx : two lists of floats or None [rad, N m]
        Angles and restoring moments, replacing k about x.
    curve_ry : two lists of floats or None [rad, N m]
        The same about y.
    curve_rz : two lists of floats or None [rad, N m]
        The same about z.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("engine mount", gravity=(0, 0, -10.0))
    >>> engine = model.add(fm.RigidBody("engine", mass=120.0, inertia=(5.0, 8.0, 8.0)))
    >>> mount = model.add(
    ...     fm.Bushing(
    ...         "mount", model.ground, engine, k=(4e5, 4e5, 3e5, 2e4, 2e4, 2e4), c=(900,) * 6
    ...     )
    ... )
    >>> sag = fm.statics(model).solution.body("engine").position[0, 2]
    >>> round(sag.item(), 6)  # −m g/k
    -0.004
    """

    k: NonnegativeSix
    c: NonnegativeSix = (0.0,) * 6
    branch_k: NonnegativeSix = (0.0,) * 6
    relaxation_time: NonnegativeSix = (0.0,) * 6
    curve_x: OptionalCurve = None
    curve_y: OptionalCurve = None
    curve_z: OptionalCurve = None
    curve_rx: OptionalCurve = None
    curve_ry: OptionalCurve = None
    curve_rz: OptionalCurve = None

    @model_validator(mode="after")
    def _times(self) -> "Bushing":
        """Raise `NestedError` for relaxing branches without a relaxation time."""
        for a, (k, T) in enumerate(zip(self.branch_k, self.relaxation_time)):
            if k > 0.0 and not T > 0.0:
                raise NestedError.at(
                    ("relaxation_time", str(a)), f"must be > 0 for branch_k = {k:g}, not {T:g}"
                )
        return self

    def row(self) -> Row:
        """Kernel and parameters of the bushing: linear, or with curves and Maxwell branches."""
        curves = [getattr(self, key) for key in CURVES]
        if not any(self.branch_k) and not any(curves):
            return Row(linear, (*self.k, *self.c))
        places: list[float] = []
        data: list[float] = []
        for curve in curves:
            places.append(float(30 + len(data)) if curve else 0.0)
            if curve:
                points, values = curve
                found = monotone(np.array(points), np.array(values))
                data += [float(len(points)), *points, *found.T.ravel().tolist()]
        times = tuple(T if k > 0.0 else 1.0 for k, T in zip(self.branch_k, self.relaxation_time))
        parameters = (*self.k, *self.c, *self.branch_k, *times, *places, *data)
        names = tuple(
            StateName(
                f"Maxwell branch {key.removeprefix('curve_')}", "N m" if "r" in key[6:] else "N"
            )
            for key in CURVES
        )
        return Row(viscoelastic, parameters, states=6, names=names)
