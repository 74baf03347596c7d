"""Unit loads of a flexible body: inertia and interface loads, one static case each.

To first order the loads on a body in its own frame are linear in

    3   accelerations of its frame minus gravity      −ρ e_a
    3   angular accelerations                         −ρ e_c × x
    6   products of angular velocities                −ρ ω × (ω × x),  by ω_x², ω_y², ω_z², ω_x ω_y, ω_y ω_z, ω_z ω_x
    6   forces and moments on each interface

and the body is supported by its reference condition: at the interface that carries its frame, or by
inertia (zero momentum). Source: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991)
428; Wallrapp, Mech. Struct. Mach. 22 (1994) 305.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.components import FloatArray
from preprocess.body.reference import Reference, reactions, reference_of, referenced_response
from preprocess.fe.fe_model import FEModel
from preprocess.reduction.interface_statics import InterfaceStatics

AXES = ("x", "y", "z")
PRODUCTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))  # of angular velocities
INERTIAL = 12  # number of inertia loads, which precede those of the interfaces
# remaining load, relative to the load, that is round-off: the reference condition itself carries
# the load
ROUND_OFF = 1e-10


class UnitLoads(NamedTuple):
    """Unit loads along and about the axes of the body frame, and the response of the body to them.

    names (k,); loads (3N, k): nodal forces [N], without reactions; displacements (3N, k) [m]; both
    with components in mesh axes. A load ``carried`` (k,) directly by the reference condition causes
    no displacement. balance (3N, k) or None: inertia forces that balance the loads of a body
    supported by inertia, −M a of the rigid-body motion ``relief`` a (3N, k). origin (3,) and axes
    (3, 3) of the body frame, in mesh axes.
    """

    names: tuple[str, ...]
    loads: FloatArray
    displacements: FloatArray
    origin: FloatArray
    axes: FloatArray
    carried: NDArray[np.bool_]
    balance: FloatArray | None = None
    relief: FloatArray | None = None


@final
class BodyLoads:
    """Unit loads of a body with frame ``origin`` (3,) and ``axes`` (3, 3) in mesh axes.

    They are valid under any reference condition.
    """

    def __init__(self, statics: InterfaceStatics, origin: FloatArray, axes: FloatArray) -> None:
        self._statics, self._origin, self._axes = statics, origin, axes

    @functools.cached_property
    def loads(self) -> FloatArray:
        """Nodal forces (3N, 12 + 6 × interfaces) of the unit loads."""
        return np.hstack(
            [
                inertial_loads(self._statics.fe, self._origin, self._axes),
                interface_loads(self._statics, self._axes),
            ]
        )

    @functools.cached_property
    def _held(self) -> FloatArray:
        """Displacements with every interface held; those under any condition follow from them."""
        return self._statics.response(self.loads)

    def under(self, reference: str | Reference) -> UnitLoads:
        """Unit loads of the body held by a reference condition.

        Raises InputError for an unknown reference.
        """
        statics, loads = self._statics, self.loads
        interfaces = [each.name for each in statics.interfaces]
        rule = reference_of(reference, interfaces)
        taken = reactions(rule, statics, loads)
        displacements = referenced_response(rule, statics, loads, self._held)
        extent = statics.fe.engine.extent
        carried = extent(loads - taken) < ROUND_OFF * extent(loads)
        displacements[:, carried] = 0.0
        names = (*inertial_names(), *_interface_names(interfaces))
        cases = UnitLoads(names, loads, displacements, self._origin, self._axes, carried)
        if not rule.inertial:
            return cases
        return cases._replace(balance=-taken, relief=rigid_acceleration(statics, loads))


def inertial_loads(fe: FEModel, origin: FloatArray, axes: FloatArray) -> FloatArray:
    """Nodal inertia forces (3N, 12) of the twelve unit rigid-body inertia loads.

    Per unit acceleration, angular acceleration and product of angular velocities.
    """
    return np.asarray(-fe.momentum(unit_accelerations(fe.points, origin, axes)))


def unit_accelerations(points: FloatArray, origin: FloatArray, axes: FloatArray) -> FloatArray:
    """Accelerations (P, 3, 12) of points (P, 3) in the twelve unit rigid-body motions.

    Per unit acceleration, angular acceleration and product of angular velocities.
    """
    x = (points - origin) @ axes
    fields = [np.broadcast_to(e, x.shape) for e in np.eye(3)] + [np.cross(e, x) for e in np.eye(3)]
    fields += [_centripetal(x, a, b) for a, b in PRODUCTS]
    return np.stack([field @ axes.T for field in fields], axis=2)


def rigid_acceleration(statics: InterfaceStatics, loads: FloatArray) -> FloatArray:
    """Rigid-body accelerations R Rᵀ f (3N, k) of the free body under loads f (3N, k)."""
    R = statics.rigid_modes
    return np.asarray(R @ statics.fe.engine.inner(R, loads))


def interface_loads(statics: InterfaceStatics, axes: FloatArray) -> FloatArray:
    """Nodal forces (3N, 6 × interfaces) of unit forces and moments on the interfaces.

    The loads act along the axes of the body frame.
    """
    rotation = np.kron(np.eye(2 * len(statics.interfaces)), axes)
    return np.asarray(statics.interface_loads @ rotation)


def _centripetal(x: FloatArray, a: int, b: int) -> FloatArray:
    """Acceleration ω × (ω × x) per ω_a ω_b.

    e_a x_b + e_b x_a for different axes, e_a x_a − x for one.
    """
    field = np.zeros_like(x)
    field[:, a] += x[:, b]
    if a == b:
        return field - x
    field[:, b] += x[:, a]
    return field


def inertial_names() -> list[str]:
    """Names of the twelve inertia loads."""
    names = [f"{kind} {axis}" for kind in ("acceleration", "angular acceleration") for axis in AXES]
    return names + [f"angular velocity {AXES[a]}{AXES[b]}" for a, b in PRODUCTS]


def _interface_names(interfaces: Sequence[str]) -> list[str]:
    """Names "interface force x" … of the unit loads at interfaces."""
    return [
        f"{name} {kind} {axis}"
        for name in interfaces
        for kind in ("force", "moment")
        for axis in AXES
    ]
