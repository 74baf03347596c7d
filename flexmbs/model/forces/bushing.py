"""Elastic bearing between two frames."""

from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import NonnegativeSix
from flexmbs.model.forces.force import BetweenFrames


@law_kernel
def linear(p, u, x, out):
    """−k δ of displacement and rotation vector δ, −c v of the velocities, p = (k (6), c (6))

    As the gradient of ½ δᵀ k δ the elastic part is conservative at large rotations too.
    """
    for a in range(6):
        out[a] = -p[a] * x[1 + a]
        out[6 + a] = -p[6 + a] * x[7 + a]


@linear.slopes
def linear_slopes(p, u, x, out):
    """diag(k), diag(c)"""
    for a in range(6):
        out[7 * a] = p[a]
        out[36 + 7 * a] = p[6 + a]


class Bushing(BetweenFrames, kind="bushing"):
    """Elastic bearing between two frames, in the axes of ``frame_a``.

    Parameters
    ----------
    k : 6 floats [N/m, N m/rad]
        Stiffnesses of 3 translations, 3 rotations.
    c : 6 floats [N s/m, N m s/rad]
        Dampings of 3 translations, 3 rotations.
    """

    k: NonnegativeSix
    c: NonnegativeSix = (0.0,) * 6

    def row(self) -> Row:
        return Row(linear, (*self.k, *self.c))
