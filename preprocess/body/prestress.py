"""Prestress: constant loads that act before any motion, and the modes under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError, raise_problems
from flexmbs.flexible_body.components import FloatArray
from preprocess.body.body_modes import BodyModes
from preprocess.body.geometric_stiffness import geometric_stiffness
from preprocess.body.unit_loads import PRODUCTS, UnitLoads
from preprocess.inputs.argument_checks import checked_arguments, instance
from preprocess.reduction.interface_statics import InterfaceStatics


@checked_arguments
@dataclass(frozen=True)
class Prestress:
    """Constant loads that act before any motion and are not part of the model, such as bolt forces.

    wrenches: force x y z [N] and moment x y z [N m] on interfaces by name; rotation: angular
    velocity [rad/s], for a part at constant speed that does not rotate in the model; both along the
    axes of the body frame. The reactions of the reference condition balance the loads.
    """

    wrenches: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rotation: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        instance(
            self.wrenches,
            Mapping,
            "prestress.wrenches",
            "a table, interface → three forces and three moments",
        )
        given = {f"wrenches.{name}": (wrench, 6) for name, wrench in self.wrenches.items()} | {
            "rotation": (self.rotation, 3)
        }
        problems = [
            f"prestress.{item}: needs {size} finite numbers, has {value!r:.60}"
            for item, (value, size) in given.items()
            if np.shape(value) != (size,) or not np.all(np.isfinite(np.asarray(value, float)))
        ]
        raise_problems(problems)

    def factors(self, interfaces: Sequence[str]) -> FloatArray:
        """Load factors of the unit loads (k,).

        Raises InputError for a wrench on an unknown interface.
        """
        unknown = [name for name in self.wrenches if name not in interfaces]
        if unknown:
            raise InputError(
                f"prestress.wrenches: no interface {unknown[0]!r}; the interfaces are: "
                f"{', '.join(interfaces)}"
            )
        products = [self.rotation[a] * self.rotation[b] for a, b in PRODUCTS]
        wrenches = [self.wrenches.get(name, np.zeros(6)) for name in interfaces]
        return np.concatenate([np.zeros(6), products, *wrenches])


def prestressed(
    statics: InterfaceStatics,
    cases: UnitLoads,
    modes: BodyModes,
    shapes: FloatArray,
    given: Prestress,
) -> BodyModes:
    """Modes of the prestressed body, ``(diag(ω²) + K0) v = ω'² v``, and its unit loads.

    The unit loads are those under the reference condition of the body. Raises InputError for a part
    that buckles.
    """
    factors = given.factors([each.name for each in statics.interfaces])
    rotations = (statics.interface_loads.T @ shapes).reshape(len(statics.interfaces), 6, -1)[:, 3:]
    K0 = np.tensordot(factors, geometric_stiffness(statics, cases, shapes, rotations), axes=1)
    K = np.diag(modes.omega**2)
    least = scipy.linalg.eigh(K0, K, eigvals_only=True)[0]
    if not least > -1.0:
        raise InputError(
            f"prestress: the part buckles at {-1.0 / least:.3g} times the load; reduce it"
        )
    omega2, vectors = np.linalg.eigh(K + K0)
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(vectors))])
    return modes._replace(V=modes.V @ vectors, c=modes.c @ vectors, omega=np.sqrt(omega2))
