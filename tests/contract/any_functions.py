"""User functions for random models, plain and compiled by Numba."""

import math

import numba
import numpy as np

from flexmbs.robots import Controller

ROD = 0.8  # m


def wind(t, r, A, v, w):
    return tuple(0.5 - 0.3 * v[i] + 0.1 * r[i] for i in range(3)) + tuple(
        0.1 * A[i] - 0.05 * w[i] for i in range(3)
    )


@numba.njit
def jitted_wind(t, r, A, v, w):
    return (
        math.sin(3.0 * t) - 0.2 * v[0],
        -0.3 * v[1],
        0.1 * r[0],
        0.2 * A[3] - 0.1 * w[0],
        0.0,
        -0.1 * w[2],
    )


def held_back(t, r, A, v, w, reactions):
    size = math.sqrt(sum(reactions[0, a] ** 2 for a in range(3)))
    return tuple(-0.03 * size * math.tanh(v[a] / 0.3) for a in range(3)) + (
        0.0,
        0.01 * reactions[-1, 4],
        0.0,
    )


@numba.njit
def jitted_held_back(t, r, A, v, w, reactions):
    size = np.abs(reactions).sum()
    return (
        -0.01 * size * math.tanh(v[0]),
        0.02 * reactions[0, 2],
        0.0,
        0.0,
        0.0,
        -0.01 * size * math.tanh(w[2]),
    )


def rising(t):
    return 0.4 * math.sin(2.0 * t) + 0.1


@numba.njit
def jitted_rising(t):
    return 0.3 * t - 0.2 * t**3


def with_rates(t):
    return 0.2 * t**2, 0.4 * t, 0.4


def hardening(t, x, v):
    return -2.0 * x - 0.5 * v**3 - t


@numba.njit
def jitted_hardening(t, x, v):
    return -3.0 * x - x**3 - 0.2 * v


def rubbing(t, x, v, loads):
    return -0.02 * (loads[0] + loads[1] + 0.5 * loads[2] + 0.5 * loads[3]) * math.tanh(v / 0.3)


@numba.njit
def jitted_rubbing(t, x, v, loads):
    return -(0.1 + 0.03 * loads[0] + 0.01 * loads[2]) * math.tanh(v / 0.3)


def digital(memory, t, x, v):
    return -3.0 * x - 0.2 * v + memory[0], (0.5 * memory[0] + 0.1 * t, x)


@numba.njit
def jitted_digital(memory, t, x, v):
    return -2.0 * x + 0.1 * memory[1], (memory[0] + 0.01, 0.5 * memory[1] + x)


def rubber(t, elongation, rate):
    return 20.0 * elongation + 30.0 * elongation**3 + 0.5 * rate


@numba.njit
def jitted_rubber(t, elongation, rate):
    return 15.0 * math.tanh(elongation) + 0.5 * rate


def together(t, x, v):
    rest = x[0] - 0.3 * x[-1]
    return [
        -(8.0 * rest + 0.5 * v.sum()) * (0.5 + 0.1 * k) * math.cos(0.2 * t) for k in range(len(x))
    ]


@numba.njit
def jitted_together(t, x, v):
    return -2.0 * np.tanh(x) - 0.3 * v + 0.1 * x.sum()


class Together(Controller):
    """A controller of any coordinates."""

    def forces(self, t, q, qd):
        return np.array(together(t, q, qd)) - 0.1 * qd

    def __eq__(self, other):
        return isinstance(other, Together)

    __hash__ = object.__hash__


def rod(t, x, A):
    return x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - ROD**2


@numba.njit
def jitted_rod(t, x, A):
    return x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - ROD**2


def rod_jacobian(t, x, A):
    return (2.0 * x[0], 2.0 * x[1], 2.0 * x[2], 0.0, 0.0, 0.0)


def growing_rod(t, x, A):
    return x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - (ROD + 0.3 * t) ** 2


def blade(t, x, A):
    return (A[1], A[4], A[7], 0.0, 0.2, 0.0)


@numba.njit
def jitted_blade(t, x, A):
    return (A[1], A[4], A[7], 0.1, 0.0, 0.3)


def turning_blade(t, x, A):
    return (math.cos(t), math.sin(t), 0.0, 0.0, 0.0, 0.2)


# equations between joint coordinates


def wavy(t, x):
    return x[0] + 0.4 * np.sin(x[-1] + 0.3) - 0.1


def slope_of_wavy(t, x):
    a = np.zeros(len(x))
    a[0] = 1.0
    a[-1] += 0.4 * np.cos(x[-1] + 0.3)
    return a


def rising_wave(t, x):
    return x[0] + 0.4 * np.sin(x[-1] + 2.0 * t) - 0.2 * t


def leaning(t, x):
    return 1.0 + 0.5 * np.sin(x)


def pushed(t, x):
    return np.append(1.0 + 0.5 * np.sin(x + t), 0.1 * np.cos(3.0 * t))


# unilateral constraints g ≥ 0 between two frames, and their velocities of slip


def over_bowl(t, x, A):
    return x[2] - 0.3 * (x[0] ** 2 + x[1] ** 2)


@numba.njit
def jitted_over_bowl(t, x, A):
    return x[2] - 0.3 * (x[0] ** 2 + x[1] ** 2)


def slope_over_bowl(t, x, A):
    return (-0.6 * x[0], -0.6 * x[1], 1.0, 0.0, 0.0, 0.0)


def over_lift(t, x, A):
    return x[2] - 0.1 * np.sin(3.0 * t) + 0.05 * A[6]


def over_floor(t, x, A):
    return x[2]


def far_below(t, x, A):
    return x[2] - 3.0 + 0.1 * np.sin(t)


def falling_wave(t, x):
    return rising_wave(t, x) - 6.0


def slip_on_belt(t, x, A):
    return ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.3 * math.cos(t)), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


jitted_wavy = numba.njit(wavy)
jitted_leaning = numba.njit(leaning)
