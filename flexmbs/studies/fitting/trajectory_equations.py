"""The equations of motion along a trajectory, and their slopes there.

At each point (t, q, s, ṡ, λ, z) the residual r = M ṡ − k − Gᵀλ, the constraint values g and G s +
γ̄, and the rates ẋ of the force states and works x = (z, w) are evaluated at q ⊕ δ, s + δs, ….
Slopes along ṡ and λ, in which all of them are linear, are single differences; those along q, s and
z are central ones of fourth order,

    D₄ = (4 D(h) − D(2h))/3,   error about |D(h) − D(2h)|²/|D₄|,

where D(h) and D(2h) agree to `AGREE`, else those of `flexmbs.studies.states.tangent` with exact
slopes of the laws of forces.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.algebra.differences import PLACES, narrow_and_wide
from flexmbs.errors import InputError
from flexmbs.results.state import State
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.trajectory_kernels import equations_along
from flexmbs.studies.states.tangent import tangents
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work
from flexmbs.system.step_scales import displacement_sizes

# of displacements over their sizes, of velocities and force states over one and their largest value
STEP = 1e-3
LINEAR = 1e3  # steps of accelerations and multipliers over one and their largest value
# difference of D(h) and D(2h) over the slopes along the same direction: that of D₄ is about its
# square
AGREE = 1e-5
ROUND_OFF = 1e-14  # of the largest values, over the step
POWERS = 3  # of forces, dissipation, drives


class TrajectoryPoints(NamedTuple):
    """States at instants, n of them; d is the displacement from the state before."""

    t: FloatArray  # (n,)
    q: FloatArray  # (n, nq)
    s: FloatArray  # (n, ns)
    sd: FloatArray  # (n, ns)
    lam: FloatArray  # (n, nc)
    z: FloatArray  # (n, nz)
    beta: FloatArray  # (n, nβ) coordinates of the cut joints
    covectors: FloatArray  # (n, ncut, 36) rows of the cut joints that the run continues
    d: FloatArray  # (n, ns)

    def part(self, first: int, last: int) -> "TrajectoryPoints":
        """The points first … last − 1."""
        return TrajectoryPoints(*(each[first:last] for each in self))


def values_along(
    compiled: Compiled, work: Work, points: TrajectoryPoints, steps: FloatArray | None = None
) -> FloatArray:
    """Residuals of the equations (n, m, …) at points of a trajectory and displaced ones.

    steps (m, …): changes of the points, none by default. The path in ``work`` is overwritten.
    Raises the exceptions of user functions.
    """
    system = compiled.system
    _, nq, ns, nc, nz = (int(n) for n in system.layout)
    steps = np.zeros((1, 3 * ns + nc + nz)) if steps is None else steps
    width = max(nq, ns, nc, nz, 1)
    base = np.zeros((len(points.t), 5, width))
    for k, array in enumerate((points.q, points.s, points.sd, points.lam, points.z)):
        base[:, k, : array.shape[1]] = array
    out = np.zeros((len(points.t), len(steps), ns + 2 * nc + nz + POWERS))
    if len(points.t):
        path = np.ascontiguousarray(points.beta), np.ascontiguousarray(points.covectors)
        equations_along(
            system,
            work,
            points.t,
            base,
            path,
            np.ascontiguousarray(steps),
            np.zeros((5, width)),
            out,
        )
        compiled.callbacks.raise_error()
    return out


def slopes_along(compiled: Compiled, work: Work, points: TrajectoryPoints) -> FloatArray:
    """Derivatives of the equations at points, (n, ns + 2 nc + nz + 3, 3 ns + nc + nz).

    Along δ of q ⊕ δ, s, ṡ, λ and z.

    Raises `InputError` where they have none.
    """
    _, _, ns, nc, nz = (int(n) for n in compiled.system.layout)
    size = _sizes(compiled, points)
    bent = np.concatenate([np.arange(2 * ns), 3 * ns + nc + np.arange(nz)])
    linear = 2 * ns + np.arange(ns + nc)
    steps = np.zeros((1 + len(PLACES) * len(bent) + len(linear), 3 * ns + nc + nz))
    rows = 1 + np.arange(len(PLACES) * len(bent)).reshape(len(bent), len(PLACES))
    steps[rows, bent[:, None]] = size[bent, None] * PLACES
    rest = 1 + rows.size + np.arange(len(linear))
    steps[rest, linear] = size[linear]
    values = values_along(compiled, work, points, steps)
    here, around = (
        values[:, :1],
        values[:, 1 : 1 + rows.size].reshape(len(values), len(bent), len(PLACES), -1),
    )
    near, far = narrow_and_wide(np.moveaxis(around, 2, 0), size[bent, None])
    found = np.zeros((len(values), steps.shape[1], values.shape[2]))
    found[:, bent] = (4.0 * near - far) / 3.0
    found[:, linear] = (values[:, rest] - here) / size[linear, None]
    for n in _unsettled(
        near - far, found[:, bent], np.abs(around).max(axis=(1, 2)), size[bent], (ns, nc)
    ):
        found[n, bent] = _exact(compiled, points.part(n, n + 1))
    return np.ascontiguousarray(found.swapaxes(1, 2))


def _sizes(compiled: Compiled, points: TrajectoryPoints) -> FloatArray:
    """Step sizes for the directions of `slopes_along`.

    Along ṡ and λ they exceed the values, which reduces round-off.
    """
    largest = [np.full(each.shape[1], 1.0 + np.abs(each).max(initial=0.0)) for each in points[2:6]]
    s, sd, lam, z = largest
    return np.concatenate(
        [STEP * displacement_sizes(compiled), STEP * s, LINEAR * sd, LINEAR * lam, STEP * z]
    )


def _unsettled(
    change: FloatArray,
    slope: FloatArray,
    most: FloatArray,
    size: FloatArray,
    counts: tuple[int, int],
) -> np.ndarray:
    """Mask of points where differences with two step sizes disagree.

    In r, in constraint values, or in rates.
    """
    ns, nc = counts
    wrong = np.zeros(len(change), bool)
    for rows in (slice(0, ns), slice(ns, ns + 2 * nc), slice(ns + 2 * nc, None)):
        if change[:, :, rows].size:
            scale = np.abs(slope[:, :, rows]).max(axis=2)
            round_off = ROUND_OFF * most[:, rows].max(axis=1)[:, None] / size
            wrong |= (np.abs(change[:, :, rows]).max(axis=2) > AGREE * scale + round_off).any(
                axis=1
            )
    return np.flatnonzero(wrong)


def _exact(compiled: Compiled, point: TrajectoryPoints) -> FloatArray:
    """Derivatives along q, s and z at one point of a trajectory, from `tangents`.

    By differences of the mechanics and exact slopes of the laws.
    """
    t, beta = float(point.t[0]), point.beta[0]
    found = tangents(
        State(compiled, t, point.q[0], point.s[0], point.sd[0], point.lam[0], point.z[0], beta),
        point.covectors[0],
    )
    if found.corners or found.rough.any():
        what = f"{found.corners[0]}" if found.corners else "the mechanics has no slope there"
        raise InputError(f"method: at t = {t:.6g} s {what}; take method='differences'")
    parts = (found.q, found.s, found.z)
    return np.vstack(
        [np.hstack([v.r, v.gs.position, v.gs.velocity, v.force_rate, v.power]) for v in parts]
    )
