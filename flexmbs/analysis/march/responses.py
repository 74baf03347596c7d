"""Rigid contacts of a state: velocities, what unit forces do to them, forces of closed contacts and impulses of impacts.

Everything comes from the formalism's accelerations with given contact forces: ṡ is affine in them, Y_j = ṡ(e_j) − ṡ(0), and the
velocities U of the contacts are affine in s, hence the Delassus operator D_ij = U_i(s + Y_j) − U_i(s).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexmbs._jit import seldom
from flexmbs.analysis.march.march import Course
from flexmbs.analysis.march.nonsmooth import first_contacts, make_touch
from flexmbs.integrators.contact_problem import NO_SOLUTION, closed_forces, impact
from flexmbs.integrators.redundant_contacts import make_room
from flexmbs.system.records import CO_E, CO_ET, CO_MU, CO_POISSON, GAP_FORCE

ACROSS = 1e-5  # s, of the differences that give accelerations of contacts
HOLD = 20.0  # 1/s, at which closed contacts forget errors of their gaps and velocities
SWEEPS = 500
EXACT = 1e-13  # of the forces
HALVINGS = 40
GAINED = 1e-12  # of the energy that is round-off
OPEN, STICKS, SLIPS = range(3)


@seldom
def contact_problem(n, D, c, expansion, mu, least, tolerance, sweeps, p, room):
    """`impact` for Python."""
    return impact(n, D, c, expansion, mu, least, tolerance, sweeps, p, room)


@seldom
def force_problem(n, D, a, slides, slip, mu, least, tolerance, sweeps, f, room):
    """`closed_forces` for Python."""
    return closed_forces(n, D, a, slides, slip, mu, least, tolerance, sweeps, f, room)


class Unsolved(Exception):
    """A contact has no force or impulse that keeps it closed."""

    def __init__(self, contact: int, sweeps: int) -> None:
        self.contact, self.sweeps = contact, sweeps


class Contacts(NamedTuple):
    """Gaps (n,), velocities along normals and tangents (n, 3), beside an edge (n,)."""

    gap: np.ndarray
    rate: np.ndarray
    beside: np.ndarray


class Responses:
    """Contacts of a run and their responses to forces; ``derivative(t, y)`` is ẏ with the forces that stand."""

    def __init__(self, course: Course, derivative: Callable[[float, np.ndarray], np.ndarray]) -> None:
        self.course, self.derivative = course, derivative
        self.touch = make_touch(course.system)
        _, self.nq, self.ns, _, self.nz = (int(n) for n in course.system.layout)
        self.velocities = slice(self.nq, self.nq + self.ns)
        value = course.system.contacts.value
        self.e, self.e_t, self.mu = value[:, CO_E], value[:, CO_ET], value[:, CO_MU]
        self.poisson = course.system.contacts.info[:, CO_POISSON] == 1

    def contacts(self, t: float, q: np.ndarray, s: np.ndarray) -> Contacts:
        """The contacts at a state."""
        first_contacts(self.course.system, self.course.work, self.touch, t, q, s)
        return Contacts(self.touch.gap.copy(), self.touch.rate.copy(), self.touch.beside.copy())

    def apply(self, closed: np.ndarray, forces: np.ndarray) -> None:
        """Let forces (m, 3) act at the contacts ``closed`` and none at the others."""
        all_forces = self.course.work.contact[:, GAP_FORCE : GAP_FORCE + 3]
        all_forces[:] = 0.0
        all_forces[closed] = forces

    def operator(self, t: float, y: np.ndarray, closed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ẏ without forces, Y (3m, ns) and D (3m, 3m); rows of tangents without friction are zero."""
        m = len(closed)
        self.apply(closed, np.zeros((m, 3)))
        free = self.derivative(t, y)
        q, s = y[: self.nq], y[self.velocities]
        Y, D = np.zeros((3 * m, self.ns)), np.zeros((3 * m, 3 * m))
        before = self.contacts(t, q, s).rate[closed].ravel()
        for j in range(3 * m):
            if j % 3 == 0 or self.mu[closed[j // 3]] > 0.0:
                unit = np.zeros(3 * m)
                unit[j] = 1.0
                self.apply(closed, unit.reshape(m, 3))
                Y[j] = self.derivative(t, y)[self.velocities] - free[self.velocities]
                D[:, j] = self.contacts(t, q, s + Y[j]).rate[closed].ravel() - before
        D[np.repeat(self.mu[closed] == 0.0, 3) & (np.arange(3 * m) % 3 > 0)] = 0.0
        return free, Y, D

    def accelerations(self, t: float, y: np.ndarray, yd: np.ndarray, closed: np.ndarray) -> np.ndarray:
        """Accelerations (m, 3) of the contacts along a motion, and what forgets errors of their gaps and velocities."""
        q, s, qd, sd = y[: self.nq], y[self.velocities], yd[: self.nq], yd[self.velocities]
        later, earlier = (self.contacts(t, q + x * qd, s + x * sd).rate[closed] for x in (ACROSS, -ACROSS))
        now = self.contacts(t, q, s)
        a = (later - earlier) / (2.0 * ACROSS) + HOLD * now.rate[closed]
        a[:, 0] += HOLD * (now.rate[closed, 0] + HOLD * now.gap[closed])
        return np.asarray(a)

    def held(self, t: float, y: np.ndarray, closed: np.ndarray, mode: np.ndarray, slip: np.ndarray) -> np.ndarray:
        """Forces (m, 3) of the closed contacts, in ``mode`` (m,) `STICKS` or `SLIPS` along ``slip`` (m, 2). Raises `Unsolved`."""
        free, _, D = self.operator(t, y, closed)
        a = self.accelerations(t, y, free, closed).ravel()
        m = len(closed)
        x, mu = np.zeros(3 * m), np.ascontiguousarray(self.mu[closed])
        least = 1e-13 * np.full(m, np.abs(np.diag(D)).max(initial=0.0))
        slides = np.asarray(mode != STICKS, dtype=np.int64)
        done, worst = force_problem(m, D, a, slides, slip, mu, least, EXACT, 20 * SWEEPS, x, make_room(m))
        if done in (NO_SOLUTION, 20 * SWEEPS):
            raise Unsolved(int(closed[worst]), int(done))
        return x.reshape(-1, 3)

    def struck(
        self, t: float, y: np.ndarray, closed: np.ndarray, settling: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Impulses (m, 3) of an impact, velocities of the contacts before and after (m, 3), change of s. Raises `Unsolved`.

        Where restitution with friction would add energy, restitution is lowered until none is added.
        """
        _, Y, D = self.operator(t, y, closed)
        before = self.contacts(t, y[: self.nq], y[self.velocities]).rate[closed]
        p = self._impulses(D, before, closed, settling, 1.0)
        gain, size = _energy(p, D, before)
        if gain > GAINED * size:
            p = self._impulses(D, before, closed, settling, self._share(D, before, closed, settling))
        return p.reshape(-1, 3), before, before + (D @ p).reshape(-1, 3), p @ Y

    def _share(self, D: np.ndarray, before: np.ndarray, closed: np.ndarray, settling: float) -> float:
        """The largest part of restitution that adds no energy."""
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            share = 0.5 * (low + high)
            gain, _ = _energy(self._impulses(D, before, closed, settling, share), D, before)
            low, high = (low, share) if gain > 0.0 else (share, high)
        return low

    def _impulses(self, D: np.ndarray, before: np.ndarray, closed: np.ndarray, settling: float, share: float) -> np.ndarray:
        """Impulses (3m,) with restitution times ``share``."""
        c = before.copy()
        fast = before[:, 0] < -settling
        e = share * self.e[closed]
        expansion = np.where(self.poisson[closed] & fast.any(), e, 0.0)
        c[:, 0] += np.where(fast & ~self.poisson[closed], e * before[:, 0], 0.0)
        c[:, 1:] += np.where(fast, share * self.e_t[closed], 0.0)[:, None] * before[:, 1:]
        p, m = np.zeros(3 * len(closed)), len(closed)
        least = 1e-13 * np.full(m, np.abs(np.diag(D)).max(initial=0.0))
        mu = np.ascontiguousarray(self.mu[closed])
        done, worst = contact_problem(m, D, c.ravel(), expansion, mu, least, EXACT, 20 * SWEEPS, p, make_room(m))
        if done in (NO_SOLUTION, 20 * SWEEPS):
            raise Unsolved(int(closed[worst]), int(done))
        return p


def _energy(p: np.ndarray, D: np.ndarray, before: np.ndarray) -> tuple[float, float]:
    """Energy that impulses add, ½ p·(U⁻ + U⁺), and the size of its terms."""
    terms = 0.5 * p * (2.0 * before.ravel() + D @ p)
    return float(terms.sum()), float(np.abs(terms).sum())
