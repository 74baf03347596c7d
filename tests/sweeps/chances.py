"""Machines and outputs of the tests of Sobol indices and of probabilities, in closed form."""

import math

import flexmbs as fm

A, B = 7.0, 0.1  # of the function of Ishigami


def thrown() -> fm.Model:
    """A point mass from rest in a uniform field: after 1 s its
    velocity is the field, to round-off.
    """
    model = fm.Model("thrown", gravity=(0, 0, -10.0), run=fm.Run(t_end=1.0, step=0.25))
    model.add(fm.PointMass("stone", mass=2.0))
    return model


def ishigami(solution: fm.Solution) -> float:
    """sin x₁ + A sin² x₂ + B x₃⁴ sin x₁ of the velocities."""
    x, y, z = solution.body("stone").velocity[-1]
    return math.sin(x) + A * math.sin(y) ** 2 + B * z**4 * math.sin(x)


def energy(solution: fm.Solution) -> float:
    """½ m v²."""
    return (
        0.5
        * float(solution.model.bodies["stone"].mass)
        * float(solution.body("stone").velocity[-1, 2]) ** 2
    )
