"""The running state of a time loop, what every loop does at an output, and how a batch of outputs can end."""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs.formalisms.kkt import largest
from flexmbs.integrators import dormand_prince as dp
from flexmbs.results.trajectory import Trajectory
from flexmbs.system.records import G_POSITION, G_VELOCITY

DONE, NO_CONVERGENCE, NOT_FINITE, INDEFINITE, STEP_TOO_SMALL = range(5)
STEPS, REJECTED, ITERATIONS, FACTORIZATIONS, EVALUATIONS, DEPENDENT = range(6)

SMALLEST_STEP = 1e-13
ACCEPTED_GAP = 1e-6  # m or rad, left by the projection


class Now(NamedTuple):
    """The running state and vectors of the integrator."""

    clock: np.ndarray  # (4,) time, step, step of the factorization (0 none), largest |correction| of the run
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
    statistics: np.ndarray  # (8,) int64


def make_now(nq: int, ns: int, nc: int, nz: int) -> Now:
    """Zeroed running state."""
    z = np.zeros
    ny = nq + ns + nz + 3
    return Now(
        clock=z(4), q=z(nq), s=z(ns), sd=z(ns), lam=z(nc), z=z(nz), a=z(ns), work=z(3), q0=z(nq), s0=z(ns), sd0=z(ns), lam0=z(nc),
        z0=z(nz), zd0=z(nz), power0=z(3), delta=z(ns), a1=z(ns), travel=z(ns), path=z(ns), y=z(ny), y1=z(ny),
        k=z((dp.STAGES, ny)), statistics=z(8, np.int64),
    )  # fmt: skip


def make_trajectory(times: np.ndarray, nq: int, ns: int, nc: int, nz: int) -> Trajectory:
    """Room for the outputs."""
    n = len(times)
    z = np.zeros
    return Trajectory(times.copy(), z((n, nq)), z((n, ns)), z((n, ns)), z((n, nc)), z((n, nz)), z((n, 3)), z((n, 2)), z(n))


@part
def record(now, work, out, i):
    """Copy the running state to output i."""
    out.t[i] = now.clock[0]
    out.step[i] = now.clock[1]
    for a in range(now.q.shape[0]):
        out.q[i, a] = now.q[a]
    for a in range(now.s.shape[0]):
        out.s[i, a] = now.s[a]
        out.sd[i, a] = now.sd[a]
    for a in range(now.lam.shape[0]):
        out.lam[i, a] = now.lam[a]
    for a in range(now.z.shape[0]):
        out.z[i, a] = now.z[a]
    for a in range(3):
        out.work[i, a] = now.work[a]
    out.drift[i, 0] = largest(work.gs[G_POSITION])
    out.drift[i, 1] = largest(work.gs[G_VELOCITY])


@part
def next_step(fixed, proposed, left):
    """Step to take: the fixed or the proposed one, shortened so that the output time is met; few steps ahead are made equal."""
    h = fixed if fixed > 0.0 else proposed
    count = np.ceil(left / h * (1.0 - 1e-9))
    if fixed > 0.0:
        return h if count > 1.0 or left > h * (1.0 - 1e-9) else left
    return left / max(count, 1.0) if count < 8.0 else h
