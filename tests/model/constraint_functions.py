"""Functions of relative poses for user-defined constraints."""

import numpy as np

LENGTH = 1.3


def rod(t, x, A):
    """Distance of the child's origin from the parent frame."""
    return 0.5 * (x @ x - LENGTH**2)


def rod_jacobian(t, x, A):
    return [*x, 0.0, 0.0, 0.0]


def wrong_jacobian(t, x, A):
    return [x[0], x[1], -x[2], 0.0, 0.0, 0.0]


def short_jacobian(t, x, A):
    return list(x)


def rod_of_reals(t, x, A):
    """The same without support of complex numbers."""
    return 0.5 * (float(x[0]) ** 2 + float(x[1]) ** 2 + float(x[2]) ** 2 - LENGTH**2)


def hinge(t, x, A):
    """Origin and the axis y kept: a revolute joint about y."""
    return np.array([x[0], x[1], x[2], A[1], A[7]])


def hinge_jacobian(t, x, A):
    """Ȧ = ω̃ A: the second column of A turns with ω."""
    nothing = [0.0] * 3
    e = np.eye(3)
    column = A[1::3]
    return [[*row, *nothing] for row in e] + [
        [*nothing, *np.cross(column, e[0])],
        [*nothing, *np.cross(column, e[2])],
    ]


def shaken(t, x, A):
    """A support that moves: x = 0.1 sin 3t, y = z = 0, no rotation about x."""
    return np.array([x[0] - 0.1 * np.sin(3.0 * t), x[1], x[2]])


def shaken_jacobian(t, x, A):
    rows = np.zeros((3, 7))
    rows[:, :3] = np.eye(3)
    rows[0, 6] = -0.3 * np.cos(3.0 * t)
    return rows


def blade(t, x, A):
    """No velocity along the child's y axis, in the parent's axes."""
    return np.array([[A[1], A[4], A[7], 0.0, 0.0, 0.0]])


def conveyor(t, x, A):
    """The child's x velocity is that of an accelerating belt."""
    return np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.4 * t]])


def two_values(t, x, A):
    return np.array([x[0], x[1]])


def raises(t, x, A):
    raise ZeroDivisionError("no such pose")


def forgotten(t, x, A):
    """A function without a return."""
    x @ x - LENGTH**2


def of_complex_numbers(t, x, A):
    return [0.0, 1j * x[0], 0.0, 0.0, 0.0, 0.0]


def single_number(t, x, A):
    return 1.0
