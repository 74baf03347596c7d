"""Kinds of forces from outside the package, one for each kind of location of forces, and a contact
law.
"""

import math

from flexmbs.law_kernel import LawKernel, Row, law_kernel, nonlinear_law
from flexmbs.model.contact_laws import ContactLaw
from flexmbs.model.fields import Number, Positive
from flexmbs.model.forces import AlongLine, BetweenFrames, JointForce, OnFrame


@nonlinear_law
def cogging(p, u, x, out):
    """τ = −T sin(n x) − c η |η|, p = (T, n, c)"""
    out[1] = -p[2] * x[2] * abs(x[2])
    out[0] = -p[0] * math.sin(p[1] * x[1]) + out[1]


@cogging.slopes
def cogging_slopes(p, u, x, out):
    """(T n cos(n x), 2 c |η|)"""
    out[0] = p[0] * p[1] * math.cos(p[1] * x[1])
    out[1] = 2.0 * p[2] * abs(x[2])


class Cogging(JointForce, kind="cogging"):
    """Torque of the magnets of a motor with ``teeth`` n, and of its fan."""

    torque: Positive
    teeth: Positive
    fan: Positive

    def row(self) -> Row:
        return Row(cogging, (self.torque, self.teeth, self.fan))


@law_kernel
def cubic(p, u, x, out):
    """F = k e³"""
    out[0] = p[0] * x[1] ** 3


class CubicSpring(AlongLine, kind="cubic-spring"):
    """Tension k e³; without slopes of its own."""

    k: Positive
    length: Positive

    def unloaded_length(self) -> float:
        return self.length

    def row(self) -> Row:
        return Row(cubic, (self.k,))


@law_kernel
def drag(p, u, x, out):
    """F = −c |v| v"""
    speed = math.sqrt(x[13] * x[13] + x[14] * x[14] + x[15] * x[15])
    for a in range(3):
        out[a] = -p[0] * speed * x[13 + a]


class Drag(OnFrame, kind="drag"):
    """Quadratic drag."""

    c: Positive

    def row(self) -> Row:
        return Row(drag, (self.c,))


@law_kernel
def stiffening(p, u, x, out):
    """−∂V/∂δ of V = ½ k |δ|² (1 + ½ b |δ|²) of displacement and rotation vector δ, p = (k, b)"""
    size = 0.0
    for a in range(6):
        size += x[1 + a] * x[1 + a]
    for a in range(6):
        out[a] = -p[0] * (1.0 + p[1] * size) * x[1 + a]


class Stiffening(BetweenFrames, kind="stiffening"):
    """Hardening elastic bearing; with b = 0 a bushing."""

    k: Positive
    b: Number = 0.0

    def row(self) -> Row:
        return Row(stiffening, (self.k, self.b))


@nonlinear_law
def layer(p, u, x, out):
    """N = −k g of a gap g < 0, T = −c γ, p = (k, c)"""
    if x[0] < 0.0:
        out[0] = out[1] = -p[0] * x[0]
        out[2] = -p[1] * x[2]
        out[3] = -p[1] * x[3]


@layer.slopes
def layer_slopes(p, u, x, out):
    """(k, 0, c, c)"""
    if x[0] < 0.0:
        out[0] = p[0]
        out[2] = out[3] = p[1]


@nonlinear_law
def pad(p, u, x, out):
    """τ = −σ k g of a gap g = σ (x − bound) < 0, p = (k, bound, σ)"""
    out[0] = -p[2] * p[0] * min(p[2] * (x[1] - p[1]), 0.0)


class Layer(ContactLaw, kind="layer"):
    """Elastic layer wetted with oil: force k (N/m) times
    indentation, viscous friction c (N s/m).
    """

    k: Positive
    c: Number = 0.0

    def contact(self) -> tuple[LawKernel, tuple[float, ...]]:
        return layer, (self.k, self.c)

    def stop(self, bound: float, sign: float) -> Row:
        return Row(pad, (self.k, bound, sign))
