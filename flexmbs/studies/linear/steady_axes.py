"""Axes in which a steady motion is steady.

V = E(β) η of the joints whose velocities η change along it.

A cart on a circle has varying ẋ and ẏ, but a constant velocity in its own axes, and constant
equations there. For each joint of single motions the frame behind one of them is chosen in which
the twist of the child is constant, V̇ = E η̇ + Ė η = 0.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from flexmbs.algebra.differences import STENCIL
from flexmbs.model.chain_twists import chain_twists
from flexmbs.model.motions import Motion
from flexmbs.results.state import State
from flexmbs.system.names import FREE_NAMES, velocity_names
from flexmbs.system.records import rows_of
from flexmbs.system.step_scales import displacement_sizes, model_size

STEP = 1e-3  # of a fourth-order difference: truncation 1e-12, round-off 1e-13 relative
STEADY = 1e-7  # rates of velocities over their sizes, of 1 s⁻² + |s|²


@dataclass(frozen=True)
class Turned:
    """A joint of the tree whose velocities are components of its twist.

    The components ``rows`` of the twist behind ``after`` of its motions.
    """

    label: str
    motions: tuple[Motion, ...]
    after: int
    rows: np.ndarray
    q_at: int
    s_at: int

    def matrix(self, q: np.ndarray) -> np.ndarray:
        """Transformation E (nv, nv) of velocities at positions q."""
        nq = sum(motion.nq for motion in self.motions)
        return chain_twists(self.motions, q[self.q_at : self.q_at + nq], self.after)[self.rows]

    def slope(self, q: np.ndarray, along: np.ndarray) -> np.ndarray:
        """∂E/∂q along a change of positions."""
        return np.asarray(_slope(lambda h: self.matrix(q + h * along)))

    @property
    def place(self) -> slice:
        """Indices of its velocities in s."""
        return slice(self.s_at, self.s_at + len(self.rows))


@dataclass(frozen=True)
class SteadyAxes:
    """Velocities and displacements ŝ = E s, δ̂ = E δ.

    Δŝ = E δs + E' δ with E' δ = (∂E/∂q · δ) s.
    """

    state: State
    turned: tuple[Turned, ...]

    @property
    def names(self) -> list[str]:
        """Names of the velocities.

        ``joint.vx`` … ``joint.wz`` for components of the twist instead of joint velocities.
        """
        names = list(velocity_names(self.state.compiled))
        for joint in self.turned:
            names[joint.place] = [f"{joint.label}.{FREE_NAMES[row]}" for row in joint.rows]
        return names

    @property
    def steady(self) -> bool:
        """True if the velocities are constant in these axes."""
        rate = self.state.sd / displacement_sizes(self.state.compiled)
        for joint in self.turned:
            rate[joint.place] = 0.0
        return bool(np.abs(rate).max(initial=0.0) <= _limit(self.state))

    def map(self, q: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Transformation S (2 ns, 2 ns) of (δ, δs) to these axes."""
        ns = len(s)
        S = np.eye(2 * ns)
        for joint in self.turned:
            own = joint.place
            moving = slice(ns + own.start, ns + own.stop)
            S[own, own] = S[moving, moving] = joint.matrix(q)
            for k in range(len(joint.rows)):
                along = np.zeros(len(q))
                along[joint.q_at + k] = 1.0
                S[moving, own.start + k] = joint.slope(q, along) @ s[own]
        return S

    def map_rate(self) -> np.ndarray:
        """Rate Ṡ of the transformation along the motion."""
        if not self.turned:
            return np.zeros((2 * len(self.state.s),) * 2)
        q, s, sd = self.state.q, self.state.s, self.state.sd
        rate = np.zeros(len(q))
        second = np.zeros(len(q))
        for joint in self.turned:
            at = slice(joint.q_at, joint.q_at + len(joint.rows))
            rate[at], second[at] = s[joint.place], sd[joint.place]
        return _slope(lambda h: self.map(q + h * rate + 0.5 * h * h * second, s + h * sd))


def candidates(state: State) -> list[SteadyAxes]:
    """Candidate velocity axes: joint velocities, and twists if another choice is possible.

    Twists of the child frame come first.
    """
    found, sizes = [], np.repeat([model_size(state.compiled), 1.0], 3)
    for row, primary in zip(rows_of(state.compiled.system.tree), state.compiled.topology.tree):
        nv = sum(motion.nv for motion in primary.motions)
        single = nv > 1 and all(motion.nq == motion.nv <= 1 for motion in primary.motions)
        if single and np.abs(state.s[row.s_at :][:nv]).max() > 0.0:
            for after in range(len(primary.motions), -1, -1):
                joint = Turned(
                    primary.label,
                    primary.motions,
                    after,
                    np.arange(6),
                    int(row.q_at),
                    int(row.s_at),
                )
                if np.abs(_twist_rate(joint, state, nv) / sizes).max() <= _limit(state):
                    E = joint.matrix(state.q)
                    found.append(
                        replace(joint, rows=np.sort(qr(E.T, mode="r", pivoting=True)[1][:nv]))
                    )
                    break
    return [SteadyAxes(state, ()), *([SteadyAxes(state, tuple(found))] if found else [])]


def _twist_rate(joint: Turned, state: State, nv: int) -> np.ndarray:
    """Rate V̇ = E η̇ + Ė η of the twist of a joint."""
    own, at = slice(joint.s_at, joint.s_at + nv), slice(joint.q_at, joint.q_at + nv)
    along = np.zeros(len(state.q))
    along[at] = state.s[own]
    return np.asarray(
        joint.matrix(state.q) @ state.sd[own] + joint.slope(state.q, along) @ state.s[own]
    )


def _slope(function):  # type: ignore[no-untyped-def]
    """Derivative of a function at zero, by differences of fourth order."""
    return sum(weight * function(factor * STEP) for factor, weight in STENCIL) / STEP


def speed_of(state: State) -> float:
    """Largest velocity, rad/s or in sizes of the model per s."""
    return float(np.abs(state.s / displacement_sizes(state.compiled)).max(initial=0.0))


def _limit(state: State) -> float:
    """Limit of accelerations below which a motion is steady."""
    return STEADY * (1.0 + speed_of(state) ** 2)
