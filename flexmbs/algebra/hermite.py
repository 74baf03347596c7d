"""Hermite polynomials on the interval 0 … 1."""

from flexmbs._jit import part


@part
def cubic(f0, f1, d0, d1, x):
    """Hermite cubic at x with values f0, f1 and slopes d0, d1 at 0 and 1."""
    y = 1.0 - x
    return y * y * ((1.0 + 2.0 * x) * f0 + x * d0) + x * x * ((1.0 + 2.0 * y) * f1 - y * d1)


@part
def cubic_integral(f0, f1, d0, d1, x):
    """Integral from 0 to x of the Hermite cubic."""
    x2 = x * x
    x3 = x2 * x
    x4 = x2 * x2
    return (
        (x - x3 + 0.5 * x4) * f0
        + (x3 - 0.5 * x4) * f1
        + (0.5 * x2 - 2.0 / 3.0 * x3 + 0.25 * x4) * d0
        + (0.25 * x4 - x3 / 3.0) * d1
    )
