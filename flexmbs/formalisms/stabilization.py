"""Treatments of the drift of constraints that are satisfied on acceleration level only.

    Baumgarte    g̈ + 2α ġ + α² g = 0,
    projection   min |δ|_M with G δ = −g, q ← q ⊕ δ;   min |Δs|_M with G Δs = −(G s + γ̄), after each step.

Theory: docs/theory.md, section 32. Baumgarte (1972), Comput. Methods Appl. Mech. Eng. 1, 1; Hairer
and Wanner, Solving Ordinary Differential Equations II (1996), section VII.2 (index reduction,
projection methods).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexmbs._jit import part
from flexmbs.checked_arguments import checked_arguments
from flexmbs.dynamics.kkt import project
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked
from flexmbs.model.fields import number

RATE, TOLERANCE = range(2)  # places in the options of a workspace
PROJECTION_STEPS = 8
# of the largest pivot of a constraint row: with a smaller one, stages are projected too
NEAR = 0.03
NEAR_TOLERANCE = 1e-11  # of g at these stages


def checked_option(item: str, value: object, least: float) -> None:
    """Raise InputError for an option that is not a finite number above ``least``."""
    if not checked(item, number, value) > least:
        raise InputError(f"{item}: {value} is not above {least:g}")


@checked_arguments
@dataclass(frozen=True)
class Baumgarte:
    """g̈ + 2α ġ + α² g = 0 with the rate α (1/s): both roots at −α.

    Raises `InputError` unless the rate is positive.
    Source: docs/theory.md, section 32; Baumgarte, Comput. Methods Appl. Mech. Eng. 1 (1972) 1.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=1.0))
    >>> formalism = fm.Multiplier(stabilization=fm.Baumgarte(rate=30.0))
    >>> run = fm.simulate(
    ...     model,
    ...     t_end=1.0,
    ...     formalism=formalism,
    ...     coordinates="absolute",
    ...     integrator="dormand-prince",
    ... )
    >>> run.drift.max().item() < 1e-5
    True
    """

    rate: float = 20.0
    name: ClassVar[str] = "baumgarte"

    def __post_init__(self) -> None:
        checked_option("Baumgarte.rate", self.rate, 0.0)


@checked_arguments
@dataclass(frozen=True)
class Projection:
    """Projection of positions on g = 0 and velocities on G s + γ̄ = 0 after each step.

    The mass-weighted change is the least possible. tolerance: |g| left (m or rad). Nonholonomic
    rows hold for velocities, and for the correction of positions too: it does not slip. Raises
    `InputError` unless the tolerance is positive. Source: docs/theory.md, section 32; Hairer and
    Wanner, Solving Ordinary Differential Equations II (1996), section VII.2.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=1.0))
    >>> formalism = fm.Multiplier(stabilization=fm.Projection())
    >>> run = fm.simulate(
    ...     model,
    ...     t_end=1.0,
    ...     formalism=formalism,
    ...     coordinates="absolute",
    ...     integrator="dormand-prince",
    ... )
    >>> run.drift.max().item() < 1e-10
    True
    """

    tolerance: float = 1e-11
    name: ClassVar[str] = "projection"

    def __post_init__(self) -> None:
        checked_option("Projection.tolerance", self.tolerance, 0.0)


Stabilization = Baumgarte | Projection | None
STABILIZATIONS: dict[str, type[Baumgarte] | type[Projection] | None] = {
    "none": None, Baumgarte.name: Baumgarte, Projection.name: Projection,
}  # fmt: skip


def stabilization_options(formalism: str, given: Stabilization) -> np.ndarray:
    """Parameters (α, tolerance) of a stabilization for the kernels; 0 if unused.

    Raises `InputError` for anything else.
    """
    if given is None:
        return np.zeros(2)
    if isinstance(given, Baumgarte):
        return np.array([given.rate, 0.0])
    if isinstance(given, Projection):
        return np.array([0.0, given.tolerance])
    raise InputError(f"{formalism}.stabilization: {given!r} is not a Baumgarte(…) or Projection(…)")


@part
def projected(system, work, workspace, t, q, s):
    """Project an accepted state onto the constraints if the options of the formalism ask for it.

    Returns the largest remaining |g|.
    """
    if workspace.options[TOLERANCE] > 0.0:
        return project(system, work, t, q, s, workspace.options[TOLERANCE], PROJECTION_STEPS)
    return 0.0
