"""The running state of a time loop, what every loop does at an output, and how a batch of outputs can end."""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs.formalisms.kkt import largest
from flexmbs.integrators import dormand_prince as dp
from flexmbs.results.trajectory import Trajectory
from flexmbs.system.records import G_POSITION, G_VELOCITY

DONE, NO_CONVERGENCE, NOT_FINITE, INDEFINITE, STEP_TOO_SMALL, STEPPED, UNSOLVED = range(7)
STEPS, REJECTED, ITERATIONS, FACTORIZATIONS, EVALUATIONS, DEPENDENT = range(6)
# places of Now.clock: FACTOR the step of the factorization (0 none), BEGUN the start of the last step, DISTANCE from a singular
# position (1 at its largest) and its RATE
TIME, STEP, FACTOR, BEGUN, LONGEST, DISTANCE, RATE = range(7)

PAUSE = 1000  # steps between returns to Python, which only there sees an interrupt
SMALLEST_STEP = 1e-13
ACCEPTED_GAP = 1e-6  # m or rad, left by the projection
SHARE_OF_RUN = 0.02  # a controlled step is at most this part of the run, so that it passes over no short event


class At(NamedTuple):
    """A state within the last step, where an output or an event asks for it."""

    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    work: np.ndarray  # (3,)


class Now(NamedTuple):
    """The running state and vectors of the integrator."""

    clock: np.ndarray  # (7,) TIME, STEP, FACTOR, BEGUN, LONGEST, DISTANCE, RATE
    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    a: np.ndarray
    work: np.ndarray  # (3,)
    q0: np.ndarray
    s0: np.ndarray
    sd0: np.ndarray
    lam0: np.ndarray
    z0: np.ndarray
    zd0: np.ndarray
    power0: np.ndarray
    delta: np.ndarray
    a1: np.ndarray
    travel: np.ndarray
    path: np.ndarray
    y: np.ndarray  # (nq + ns + nz + 3,)
    y1: np.ndarray
    k: np.ndarray  # (7, nq + ns + nz + 3)
    e0: np.ndarray
    e1: np.ndarray
    gap: np.ndarray  # (nc,)
    rows: np.ndarray  # (nc, 6) closed directions at the end of the step
    still: np.ndarray  # (3,) zeros
    statistics: np.ndarray  # (8,) int64
    at: At


def make_now(nq: int, ns: int, nc: int, nz: int) -> Now:
    """Zeroed running state."""
    z = np.zeros
    ny = nq + ns + nz + 3
    return Now(
        clock=z(7), q=z(nq), s=z(ns), sd=z(ns), lam=z(nc), z=z(nz), a=z(ns), work=z(3), q0=z(nq), s0=z(ns), sd0=z(ns), lam0=z(nc),
        z0=z(nz), zd0=z(nz), power0=z(3), delta=z(ns), a1=z(ns), travel=z(ns), path=z(ns), y=z(ny), y1=z(ny),
        k=z((dp.STAGES, ny)), e0=z(ns), e1=z(ns), gap=z(nc), rows=z((nc, 6)), still=z(3), statistics=z(8, np.int64),
        at=At(q=z(nq), s=z(ns), sd=z(ns), lam=z(nc), z=z(nz), work=z(3)),
    )  # fmt: skip


def make_trajectory(times: np.ndarray, nq: int, ns: int, nc: int, nz: int, contacts: int = 0) -> Trajectory:
    """Room for the outputs."""
    n = len(times)
    z = np.zeros
    return Trajectory(
        times.copy(), z((n, nq)), z((n, ns)), z((n, ns)), z((n, nc)), z((n, nz)), z((n, 3)), z((n, 2)), z(n), z((n, contacts, 3))
    )  # fmt: skip


@part
def copy(values, out):
    """out ← values"""
    for a in range(values.shape[0]):
        out[a] = values[a]


@part
def pack(now, y):
    """y = (q, s, z, work) of the running state"""
    nq, ns, nz = now.q.shape[0], now.s.shape[0], now.z.shape[0]
    copy(now.q, y)
    for a in range(ns):
        y[nq + a] = now.s[a]
    for a in range(nz):
        y[nq + ns + a] = now.z[a]
    for a in range(3):
        y[nq + ns + nz + a] = now.work[a]


@part
def unpack(y, q, s, z, work):
    """The state in y = (q, s, z, work)"""
    nq, ns, nz = q.shape[0], s.shape[0], z.shape[0]
    for a in range(nq):
        q[a] = y[a]
    for a in range(ns):
        s[a] = y[nq + a]
    for a in range(nz):
        z[a] = y[nq + ns + a]
    for a in range(3):
        work[a] = y[nq + ns + nz + a]


@part
def take(now, at):
    """The running state as the state asked for."""
    copy(now.q, at.q)
    copy(now.s, at.s)
    copy(now.sd, at.sd)
    copy(now.lam, at.lam)
    copy(now.z, at.z)
    copy(now.work, at.work)


@part
def record(now, work, out, t, i):
    """Copy the state asked for to output i at time t."""
    at = now.at
    out.t[i] = t
    out.step[i] = now.clock[STEP]
    copy(at.q, out.q[i])
    copy(at.s, out.s[i])
    copy(at.sd, out.sd[i])
    copy(at.lam, out.lam[i])
    copy(at.z, out.z[i])
    copy(at.work, out.work[i])
    out.drift[i, 0] = largest(work.gs[G_POSITION])
    out.drift[i, 1] = largest(work.gs[G_VELOCITY])


@part
def ahead(now, fixed, t):
    """Is time t still ahead? A step that ends at t but for round-off is set to it."""
    clock = now.clock
    if clock[TIME] < t - 1e-12 * (1.0 + abs(t)) - 1e-9 * fixed:
        return True
    if clock[TIME] <= t + 1e-12 * (1.0 + abs(t)) + 1e-9 * fixed:
        clock[TIME] = t
    return False


@part
def next_step(clock, fixed, end):
    """Step to take: the fixed or the proposed one, shortened so that the end is met; the last steps are made equal."""
    h = fixed if fixed > 0.0 else min(clock[STEP], clock[LONGEST])
    left = end - clock[TIME]
    count = np.ceil(left / h * (1.0 - 1e-9))
    if fixed > 0.0:
        return h if count > 1.0 or left > h * (1.0 - 1e-9) else left
    return left / max(count, 1.0) if count < 8.0 else h
