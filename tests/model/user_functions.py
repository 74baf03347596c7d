"""Functions as in a module of the user."""


def swing(t):
    return 0.3 * t**2


def swing_with_rates(t):
    return 0.3 * t**2, 0.6 * t, 0.6


def friction(t, x, v):
    return -0.1 * v


def rubbing(t, x, v, loads):
    return -0.01 * loads[0] * v


def rubber(t, elongation, rate):
    return 1e3 * elongation + 1e5 * elongation**3


def wind(t, r, A, v, w):
    return (-v[0], -v[1], -v[2], 0.0, 0.0, 0.0)


def braked(t, r, A, v, w, reactions):
    return (-0.1 * reactions[0, 2] * v[0], 0.0, 0.0, 0.0, 0.0, -0.1 * reactions[1, 5])


def cable(t, x, v):
    return -10.0 * x[0] - v[0], 5.0 * x[1]


def bent(t, x):
    return x[0] ** 2 - x[1]


def above(t, x):
    return x[0] + x[1] ** 2 - 0.1 * t


def slope_of_above(t, x):
    return [1.0, 2.0 * x[1], -0.1]


def over_ground(t, x, A):
    return x[2]


def sliding(t, x, A):
    return ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0))


def slipping(t, x):
    return [1.0, x[0]]
