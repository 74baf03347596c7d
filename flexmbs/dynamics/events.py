"""State functions of events, f(t, q, s) − level, and their changes of sign.

Roots are located in the dense output of the step: Hairer, Nørsett and Wanner, Solving Ordinary
Differential Equations I (1993), section II.6. Theory: docs/theory.md, section 43.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import call_address, part
from flexmbs.algebra.small import mul
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.frames import frame_twist

KIND, PLACE, NUMBER, ADDRESS = range(4)  # columns of Events.info
# kinds of state functions
POSITION, VELOCITY, CUT_POSITION, CUT_VELOCITY, COMPONENT, FUNCTION = range(6)


class Events(NamedTuple):
    """Records of state functions.

    Kind, index and component, address of a user function; values after the last two steps.
    """

    info: np.ndarray  # (n, 4) int64
    level: np.ndarray  # (n,)
    direction: np.ndarray  # (n,) int64
    before: np.ndarray  # (n,)
    value: np.ndarray  # (n,)
    crossed: np.ndarray  # (n,) int64


@part
def event_values(system, work, events, t, q, s):
    """Values f(t, q, s) − level of all event functions.

    f is a coordinate, its rate, a position of a frame, or a user function.
    """
    kinematics(system, work, t, q, s, work.zero)
    info, value = events.info, events.value
    for e in range(info.shape[0]):
        kind, at, k = info[e, KIND], info[e, PLACE], info[e, NUMBER]
        if kind == POSITION:
            f = q[at]
        elif kind == VELOCITY:
            f = s[at]
        elif kind == CUT_POSITION:
            f = work.beta[at]
        elif kind == CUT_VELOCITY:
            f = work.cut.eta[at, k]
        else:
            A, r, _, _, v, w = frame_twist(work.frames, work.motion, at, q, s)
            if kind == COMPONENT:
                f = r[k]
            else:
                io = work.io
                vw, ww = mul(A, v), mul(A, w)
                io[0, 0] = t
                for a in range(3):
                    io[0, 1 + a] = r[a]
                    io[0, 13 + a] = vw[a]
                    io[0, 16 + a] = ww[a]
                for a in range(9):
                    io[0, 4 + a] = A[a]
                call_address(info[e, ADDRESS], io[0], io[1])
                f = io[1, 0]
        value[e] = f - events.level[e]


@part
def crossings(events):
    """Mark the event functions that changed sign in their direction.

    Compared with the last evaluation. Returns 1 if there are any, −1 if one is NaN, else 0.
    """
    found = 0
    for e in range(events.info.shape[0]):
        new, old = events.value[e], events.before[e]
        if new != new:
            return -1
        rising = 1 if old < 0.0 else -1
        # an exact zero counts once, when it is reached
        changed = old * new < 0.0 or (new == 0.0 and old != 0.0)
        events.crossed[e] = 0
        if changed and (events.direction[e] == 0 or events.direction[e] == rising):
            events.crossed[e] = 1
            found = 1
        events.before[e] = new
    return found
