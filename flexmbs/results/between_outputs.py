"""States between the outputs of a solution: quintic Hermite interpolation of the motion.

Between two outputs at distance h every coordinate is the polynomial of degree 5 that matches
positions, velocities and accelerations of both. Rotations are interpolated by the rotation vector
relative to the first orientation, whose rates give the angular velocity ω = T(θ) θ̇; free motions
by the world position and that rotation. The error in positions is h⁶/46080 times the sixth
derivative of the motion, of order h⁵ in velocities and h⁴ in accelerations. Outputs must resolve
the motion and turn by less than half a turn; a jump of the acceleration between them is smoothed.
With an impact between two outputs, the motion before it is a cubic from the previous output, the
motion after it a cubic to the next output; both have the same third derivative and meet at the
impact, with an error of order h³ in positions. Between several impacts the motion is linear.
Multipliers, force states, works and joint histories follow Akima's cubics (1970), of order h⁴ where
smooth; states of discrete controllers are those of the previous output. Outputs requested in the
run have the integrator's accuracy.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError
from flexmbs.results.histories import cut_rows_history, states_of
from flexmbs.results.joints import JointHistories
from flexmbs.results.views import FloatArray
from flexmbs.system.compile import Compiled
from flexmbs.system.records import OF_CHAIN, held_states, rows_of
from flexmbs.system.trajectory import Trajectory

SMALL = 1e-2  # rad²: below this squared angle, series are used as in `flexmbs.algebra.so3`


class IntervalEnds(NamedTuple):
    """Position, velocity and acceleration (n, m) at both outputs that enclose each of n times."""

    f0: FloatArray
    v0: FloatArray
    a0: FloatArray
    f1: FloatArray
    v1: FloatArray
    a1: FloatArray


class ImpactTimes(NamedTuple):
    """Times of the impacts of a run, ascending.

    in_steps: accelerations at outputs contain the impulses of the last step.
    """

    times: FloatArray
    in_steps: bool


def trajectory_at(
    compiled: Compiled, given: Trajectory, jumps: ImpactTimes, times: FloatArray
) -> Trajectory:
    """Trajectory interpolated at other times within the run.

    Raises `InputError` for times outside it.
    """
    t = given.t
    given = given._replace(sd=_without_impulses(given, jumps.times)) if jumps.in_steps else given
    wrong = times[~((times >= t[0]) & (times <= t[-1]))]
    if len(wrong):
        raise InputError(
            f"times: {wrong[0]:g} s is outside the solution, which covers {t[0]:g} … {t[-1]:g} s"
        )
    i = np.clip(np.searchsorted(t, times, "right") - 1, 0, max(len(t) - 2, 0))
    j = np.minimum(i + 1, len(t) - 1)
    h = np.maximum(t[j] - t[i], 1e-300)[:, None]
    x, jump = (times - t[i])[:, None] / h, _impacts_within(jumps.times, t[i], t[j])
    q, s, sd = (np.empty((len(times), values.shape[1])) for values in (given.q, given.s, given.sd))
    for row, primary in zip(rows_of(compiled.system.tree), compiled.topology.tree):
        at, to = int(row.q_at), int(row.s_at)
        for motion in primary.motions:
            ends = _ends(given, i, j, slice(at, at + motion.nq), slice(to, to + motion.nv))
            curved = {3: _rotation, 6: _pose}.get(motion.nv, _quintic)
            found = curved(ends, h, x, jump)
            q[:, at : at + motion.nq], s[:, to : to + motion.nv], sd[:, to : to + motion.nv] = found
            at, to = at + motion.nq, to + motion.nv
        at, to, nf = int(row.qf_at), int(row.sf_at), int(row.nf)
        ends = _ends(given, i, j, slice(at, at + nf), slice(to, to + nf))
        q[:, at : at + nf], s[:, to : to + nf], sd[:, to : to + nf] = _quintic(ends, h, x, jump)
    drift = given.drift[i] + x * (given.drift[j] - given.drift[i])
    lam, z, work = (_akima(t, values, times) for values in (given.lam, given.z, given.work))
    held = held_states(compiled.system)
    z[:, held] = given.z[i][:, held]
    contact = given.contact[j] if len(given.contact) else given.contact
    beta = np.where(x < 0.5, given.beta[i], given.beta[j]) if len(given.beta) else given.beta
    made = Trajectory(times.copy(), q, s, sd, lam, z, work, drift, given.step[j], contact, beta)
    return made._replace(lam=_with_turning_rows(compiled, given, made))


def _with_turning_rows(compiled: Compiled, given: Trajectory, found: Trajectory) -> FloatArray:
    """Multipliers of ``found`` with those of cut joints whose rows turn relative to the child.

    Bases of different outputs may differ: the wrenches 𝒯ᵀ λ are interpolated in place of λ.
    """
    cuts, lam = compiled.system.cuts, found.lam
    turning = np.flatnonzero((cuts.kernel == OF_CHAIN) & (cuts.constant == 0))
    if len(turning) == 0:
        return lam
    before, now = (
        _cut_rows(compiled, trajectory).reshape(len(trajectory.t), -1, 6, 6)
        for trajectory in (given, found)
    )
    for k in turning:
        n, row = int(cuts.closed[k]), int(cuts.row[k])
        wrench = np.einsum("tij,ti->tj", before[:, k, :n], given.lam[:, row : row + n])
        along = _akima(given.t, wrench, found.t)
        lam[:, row : row + n] = np.einsum("tij,tj->ti", now[:, k, :n], along)
    return lam


def _cut_rows(compiled: Compiled, trajectory: Trajectory) -> FloatArray:
    """Constraint rows (nt, ncut, 36) of the cut joints at all outputs."""
    work = make_work(compiled.system, trajectory.beta[0])
    out = np.zeros((len(trajectory.t), *work.cut.covectors.shape))
    cut_rows_history(compiled.system, work, states_of(trajectory, trajectory.beta), out)
    return out


def _without_impulses(given: Trajectory, impacts: FloatArray) -> FloatArray:
    """Trajectory with accelerations free of impact impulses.

    If the last step had an impact, the mean until the next output, or zero if that interval has an
    impact too. Impulses then do not appear as forces.
    """
    t, s, sd = given.t, given.s, given.sd.copy()
    struck = np.flatnonzero(_counts(impacts, t - given.step, t))
    after = struck[struck + 1 < len(t)]
    calm = after[
        np.searchsorted(impacts, t[after + 1], "right")
        == np.searchsorted(impacts, t[after], "right")
    ]
    sd[struck] = 0.0
    sd[calm] = (s[calm + 1] - s[calm]) / np.maximum(t[calm + 1] - t[calm], 1e-300)[:, None]
    return np.asarray(sd)


def _counts(impacts: FloatArray, start: FloatArray, end: FloatArray) -> Any:
    """Number of impacts between start and end times."""
    reach = 1e-9 * np.abs(end - start)
    return np.searchsorted(impacts, end + reach, "right") - np.searchsorted(
        impacts, start - reach, "left"
    )


def _impacts_within(impacts: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray | None:
    """First and last impact (n, 2) within n intervals, as fractions of these.

    NaN for an interval without impact; None if no interval has one.
    """
    count = _counts(impacts, start, end)
    if not count.any():
        return None
    first = np.searchsorted(impacts, start - 1e-9 * (end - start), "left")
    ends = np.stack([first, first + count - 1], axis=1).clip(0, len(impacts) - 1)
    part = (impacts[ends] - start[:, None]) / np.maximum(end - start, 1e-300)[:, None]
    return np.where(count[:, None] > 0, part.clip(0.0, 1.0), np.nan)


def histories_at(
    compiled: Compiled, given: JointHistories, t: FloatArray, times: FloatArray
) -> JointHistories:
    """Joint wrenches and cut joint coordinates interpolated at other times.

    With normalized Euler parameters.
    """
    values = {
        name: _akima(t, array, times) for name, array in given._asdict().items() if name != "unique"
    }
    for k, name in enumerate(compiled.topology.cuts):
        at = int(compiled.system.cuts.beta_at[k])
        for motion in compiled.model.joints[name].motions:
            at += motion.nq
            if motion.nq > motion.nv:
                values["beta"][:, at - 4 : at] /= np.linalg.norm(
                    values["beta"][:, at - 4 : at], axis=1
                )[:, None]
    return JointHistories(**values, unique=given.unique)


def wrenches_at(
    given: Mapping[str, FloatArray], t: FloatArray, times: FloatArray
) -> dict[str, FloatArray]:
    """Applied wrenches interpolated at other times."""
    return {name: _akima(t, values, times) for name, values in given.items()}


def _ends(given: Trajectory, i: Any, j: Any, q: slice, s: slice) -> IntervalEnds:
    """Coordinates, velocities and accelerations at both ends of intervals i … j."""
    return IntervalEnds(
        *(
            values[k][:, place]
            for k in (i, j)
            for values, place in ((given.q, q), (given.s, s), (given.sd, s))
        )
    )


def _akima(t: FloatArray, values: FloatArray, times: FloatArray) -> FloatArray:
    """Akima cubics through values at strictly increasing times."""
    keep = np.concatenate([[True], np.diff(t) > 0.0])
    if keep.sum() < 2 or values[0].size == 0:
        return np.repeat(values[:1], len(times), axis=0)
    from scipy.interpolate import Akima1DInterpolator  # imported on demand: a quarter of a second

    return np.asarray(Akima1DInterpolator(t[keep], values[keep], axis=0)(times))


Curve = tuple[FloatArray, FloatArray, FloatArray]  # value, velocity, acceleration


def _quintic(e: IntervalEnds, h: FloatArray, x: FloatArray, jump: FloatArray | None) -> Curve:
    """Quintic Hermite interpolation; with a jump of velocity the curves on both sides."""
    v0, v1, a0, a1 = h * e.v0, h * e.v1, h * h * e.a0, h * h * e.a1
    f, v, a = e.f1 - e.f0 - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
    c3, c4, c5 = 10.0 * f - 4.0 * v + 0.5 * a, -15.0 * f + 7.0 * v - a, 6.0 * f - 3.0 * v + 0.5 * a
    value = e.f0 + x * (v0 + x * (0.5 * a0 + x * (c3 + x * (c4 + x * c5))))
    rate = v0 + x * (a0 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
    bend = a0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))
    if jump is not None:
        jumped = _jumped(IntervalEnds(e.f0, v0, a0, e.f1, v1, a1), x, jump)
        value, rate, bend = (
            np.where(np.isnan(jump[:, :1]), *pair) for pair in zip((value, rate, bend), jumped)
        )
    return value, rate / h, bend / (h * h)


def _jumped(e: IntervalEnds, x: FloatArray, jump: FloatArray) -> Curve:
    """Cubic interpolation from both ends to a jump, where the curves meet.

    They have a common third derivative; between the first and the last jump there is a line.
    """
    first, last = jump[:, :1], jump[:, 1:]
    left, back, right = first, 1.0 - last, x - 1.0
    before = e.f0 + left * (e.v0 + 0.5 * left * e.a0)
    after = e.f1 - back * (e.v1 - 0.5 * back * e.a1)
    c = np.where(first == last, after - before, 0.0) / (left**3 + back**3)
    slope = (after - before) / np.where(first == last, 1.0, last - first)
    parts = (
        (
            e.f0 + x * (e.v0 + x * (0.5 * e.a0 + x * c)),
            e.f1 + right * (e.v1 + right * (0.5 * e.a1 + right * c)),
            before + (x - first) * slope,
        ),
        (e.v0 + x * (e.a0 + x * 3.0 * c), e.v1 + right * (e.a1 + right * 3.0 * c), slope),
        (e.a0 + x * 6.0 * c, e.a1 + right * 6.0 * c, 0.0 * slope),
    )
    value, rate, bend = (
        np.where(x <= first, begun, np.where(x > last, ended, middle))
        for begun, ended, middle in parts
    )
    return value, rate, bend


def _rotation(e: IntervalEnds, h: FloatArray, x: FloatArray, jump: FloatArray | None) -> Curve:
    """Interpolated Euler parameters, angular velocity and its rate (body axes)."""
    inverse = e.f0 * [1.0, -1.0, -1.0, -1.0]
    th1 = rotation_vectors(quaternion_product(inverse, e.f1))
    b, c, *_ = _coefficients(th1)
    T = np.eye(3) - b[:, None] * _tilde(th1) + c[:, None] * _tilde(th1) @ _tilde(th1)
    back = np.linalg.inv(T)
    thd1 = np.einsum("nij,nj->ni", back, e.v1)
    thdd1 = np.einsum("nij,nj->ni", back, e.a1 - _tangent_rate(th1, thd1))
    th, thd, thdd = _quintic(IntervalEnds(0.0 * th1, e.v0, e.a0, th1, thd1, thdd1), h, x, jump)
    half = 0.5 * np.linalg.norm(th, axis=1, keepdims=True)
    turn = np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * th], axis=1)
    return (
        quaternion_product(e.f0, turn),
        _tangent(th, thd),
        _tangent(th, thdd) + _tangent_rate(th, thd),
    )


def _pose(e: IntervalEnds, h: FloatArray, x: FloatArray, jump: FloatArray | None) -> Curve:
    """Interpolated position, Euler parameters, twist in body axes and its rate."""
    turned = IntervalEnds(
        *(part[:, -4:] if k % 3 == 0 else part[:, 3:] for k, part in enumerate(e))
    )
    p, w, wd = _rotation(turned, h, x, jump)
    ends = []
    for f, v, a in (e[:3], e[3:]):
        linear = a[:, :3] + np.cross(v[:, 3:], v[:, :3])
        ends += [f[:, :3], _rotated(f[:, 3:], v[:, :3]), _rotated(f[:, 3:], linear)]
    r, rd, rdd = _quintic(IntervalEnds(*ends), h, x, jump)
    back = p * [1.0, -1.0, -1.0, -1.0]
    v = _rotated(back, rd)
    vd = _rotated(back, rdd) - np.cross(w, v)
    return (
        np.concatenate([r, p], axis=1),
        np.concatenate([v, w], axis=1),
        np.concatenate([vd, wd], axis=1),
    )


def quaternion_product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Product a ∘ b of quaternions (n, 4)."""
    scalar = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=1, keepdims=True)
    return np.concatenate(
        [scalar, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])], axis=1
    )


def _rotated(p: FloatArray, v: FloatArray) -> FloatArray:
    """Rotated vectors A(p) v for quaternions p (n, 4)."""
    twice = 2.0 * np.cross(p[:, 1:], v)
    return np.asarray(v + p[:, :1] * twice + np.cross(p[:, 1:], twice))


def rotation_vectors(p: FloatArray) -> FloatArray:
    """Rotation vector of a quaternion, angle below π."""
    p = np.where(p[:, :1] < 0.0, -p, p)
    n = np.linalg.norm(p[:, 1:], axis=1, keepdims=True)
    return np.asarray(
        p[:, 1:] * np.where(n < 1e-10, 2.0, 2.0 * np.arctan2(n, p[:, :1]) / np.maximum(n, 1e-300))
    )


def _tilde(v: FloatArray) -> FloatArray:
    """Skew-symmetric matrices (n, 3, 3) of vectors (n, 3)."""
    z = 0.0 * v[:, 0]
    x, y, w = v.T
    return np.array([[z, -w, y], [w, z, -x], [-y, x, z]]).transpose(2, 0, 1)


def _coefficients(th: FloatArray) -> tuple[FloatArray, ...]:
    """Coefficients of T(θ) = 1 − b θ̃ + c θ̃², and of its rate.

    b, c, and (db/dt, dc/dt) / (θ·θ̇), each (n, 1).
    """
    t2 = (th * th).sum(axis=1, keepdims=True)
    big = np.maximum(t2, SMALL)
    t = np.sqrt(big)
    a, b = np.sin(t) / t, (1.0 - np.cos(t)) / big
    c = (1.0 - a) / big
    low = t2 < SMALL
    return (
        np.where(low, 0.5 - t2 / 24.0 * (1.0 - t2 / 30.0 * (1.0 - t2 / 56.0)), b),
        np.where(low, 1.0 / 6.0 - t2 / 120.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0)), c),
        np.where(low, -1.0 / 12.0 + t2 / 180.0 * (1.0 - 3.0 * t2 / 112.0), (a - 2.0 * b) / big),
        np.where(low, -1.0 / 60.0 + t2 / 1260.0 * (1.0 - t2 / 48.0), (b - 3.0 * c) / big),
    )


def _tangent(th: FloatArray, y: FloatArray) -> FloatArray:
    """Products T(θ) y of the tangent operator, row by row."""
    b, c, *_ = _coefficients(th)
    w = np.cross(th, y)
    return np.asarray(y - b * w + c * np.cross(th, w))


def _tangent_rate(th: FloatArray, thd: FloatArray) -> FloatArray:
    """Products Ṫ(θ) θ̇ of the rate of the tangent operator, row by row."""
    _, c, db, dc = _coefficients(th)
    rate, w = (th * thd).sum(axis=1, keepdims=True), np.cross(th, thd)
    return np.asarray(-db * rate * w + dc * rate * np.cross(th, w) + c * np.cross(thd, w))
