"""Surfaces z = f(x, y) over a rectangular grid.

Coefficients of bicubic splines, and the kernel part that evaluates them.

f = Σ_kl C[k, l] (x − x_i)^(3 − k) (y − y_j)^(3 − l) on each cell, C² over the grid: splines
(not-a-knot) along x of splines along y. de Boor, A Practical Guide to Splines (1978), chapter XVII.

"""

import numpy as np

from flexmbs.algebra.intervals import interval
from flexmbs.law_kernel import LawPart
from flexmbs.model.fields import Matrix, Vector

NX, NY, GRID = 0, 1, 2  # indices in the numbers of a surface; coefficients follow the two grids
BEYOND = 1e-6  # relative to its size: continuation of a surface beyond its edges


def surface_numbers(x: Vector, y: Vector, heights: Matrix) -> tuple[float, ...]:
    """Bicubic spline surface as flat numbers, read by `surface_at`.

    (nx, ny, x, y, C (nx − 1, ny − 1, 4, 4))
    """
    from scipy.interpolate import CubicSpline  # import on demand: a third of a second

    along_y = CubicSpline(np.array(y), np.array(heights), axis=1).c  # (4, ny − 1, nx)
    c = CubicSpline(np.array(x), along_y, axis=2).c  # (4, nx − 1, 4, ny − 1)
    return (
        float(len(x)),
        float(len(y)),
        *x,
        *y,
        *np.ascontiguousarray(c.transpose(1, 3, 0, 2)).ravel().tolist(),
    )


@LawPart
def surface_at(p, o, x, y):
    """Values f, f_x, f_y, f_xx, f_xy, f_yy of the surface whose numbers begin at p[o]"""
    nx, ny = int(p[o + NX]), int(p[o + NY])
    i, j = interval(p, o + GRID, nx, x), interval(p, o + GRID + nx, ny, y)
    r, s = x - p[o + GRID + i], y - p[o + GRID + nx + j]
    at = o + GRID + nx + ny + 16 * (i * (ny - 1) + j)
    f = fx = fxx = fy = fxy = fyy = 0.0
    for _ in range(4):
        c = ((p[at] * s + p[at + 1]) * s + p[at + 2]) * s + p[at + 3]
        cs = (3.0 * p[at] * s + 2.0 * p[at + 1]) * s + p[at + 2]
        css = 6.0 * p[at] * s + 2.0 * p[at + 1]
        fxx = fxx * r + 2.0 * fx
        fx = fx * r + f
        f = f * r + c
        fxy = fxy * r + fy
        fy = fy * r + cs
        fyy = fyy * r + css
        at += 4
    return f, fx, fy, fxx, fxy, fyy


@LawPart
def is_outside(p, o, x, y):
    """True if (x, y) is beyond the edges of the grid, by more than round-off"""
    nx, ny = int(p[o + NX]), int(p[o + NY])
    a, b = p[o + GRID], p[o + GRID + nx - 1]
    c, d = p[o + GRID + nx], p[o + GRID + nx + ny - 1]
    e, f = BEYOND * (b - a), BEYOND * (d - c)
    return x < a - e or x > b + e or y < c - f or y > d + f
