"""Links, as rows of Denavit–Hartenberg tables, and the motors of their joints."""

import dataclasses
import math
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from flexmbs.declaration import Declaration, shown
from flexmbs.model.bodies import inertia_matrix
from flexmbs.model.fields import Nonnegative, Number, Vector3, choice, name, nonnegative, vector


def two_rates(value: object) -> tuple[float, ...]:
    """Validate Coulomb friction: one number, or a pair (positive, negative direction)."""
    given = vector(value) if np.ndim(value) else vector((value,))  # type: ignore[arg-type]
    if len(given) == 1:
        given = (given[0], -given[0])
    if len(given) != 2 or given[0] < 0.0 or given[1] > 0.0:
        raise ValueError(
            "must be one number >= 0, or two for motion in + and − with signs + and −, "
            f"not {shown(value)}"
        )
    return given


def _maximum(value: object) -> float:
    """Validate a maximum of at least zero; infinity means no limit."""
    return math.inf if value == math.inf else nonnegative(value)


class Motor(Declaration):
    """Motor of a joint with a gear; all values on the motor side.

    inertia J (kg m²), gear ratio G = motor rate over joint rate, viscous friction B (N m s/rad),
    Coulomb friction T (N m) for positive and negative rates.  rate (rad/s), torque (N m): maxima,
    infinite by default, for information only.  At the joint: G²J q̈ + |G|(|G| B q̇ + T); only the
    spin of the rotor about its own axis relative to the link is considered, as in `RotorInertia`
    with gyroscopic=False. Corke, Armstrong-Hélouvry, IEEE ICRA (1994) 1608.

    """

    inertia: Nonnegative = 0.0
    gear: Number = 1.0
    viscous: Nonnegative = 0.0
    coulomb: Annotated[Any, BeforeValidator(two_rates)] = (0.0, 0.0)
    rate: Annotated[float, BeforeValidator(_maximum)] = math.inf
    torque: Annotated[float, BeforeValidator(_maximum)] = math.inf


def _limits(value: object) -> Any:
    """Validate joint limits (lower, upper) or None. Raises ValueError."""
    if value is None:
        return None
    given = vector(value)
    if len(given) != 2 or given[0] > given[1]:
        raise ValueError(f"must be two numbers, lower and upper, not {shown(value)}")
    return given


def _name(value: object) -> str:
    """Validate a name that may be empty. Raises ValueError."""
    return "" if value == "" else name(value)


class Link(Declaration):
    """Row of a Denavit–Hartenberg table with the inertia of its link.

    a, d in m; alpha, theta in rad; ``joint`` "revolute" (θ + q) or "prismatic" (d + q). limits: of
    q. mass (kg), com (m) and inertia about the centre of mass (kg m², as in `RigidBody`) in the
    axes of the link's frame. name: of the body.

    """

    a: Number = dataclasses.field(default=0.0, kw_only=False)
    alpha: Number = dataclasses.field(default=0.0, kw_only=False)
    d: Number = dataclasses.field(default=0.0, kw_only=False)
    theta: Number = dataclasses.field(default=0.0, kw_only=False)
    joint: Annotated[str, choice("revolute", "prismatic")] = "revolute"
    limits: Annotated[Any, BeforeValidator(_limits)] = None
    mass: Nonnegative = 0.0
    com: Vector3 = (0.0, 0.0, 0.0)
    inertia: Annotated[Any, BeforeValidator(inertia_matrix)] = (0.0, 0.0, 0.0)
    motor: Motor | None = None
    name: Annotated[str, BeforeValidator(_name)] = ""
