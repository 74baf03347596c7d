"""Check that the null space of the stiffness consists of the six rigid-body modes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.fe_model import FEModel
from preprocess.reduction.interface_statics import InterfaceStatics

REMEDY = "attach a PointMass with inertia to its nodes, or connect them more stiffly"
# mass moved by an interface motion relative to the mass of the part; below machine precision the
# mass is lost in the sum
LIGHT = 1e-15
# |K R| / |K| |R| of rigid-body modes; matrices printed with seven digits also satisfy it
RESIDUAL = 1e-6
# of the largest moment of inertia: below it the least one is round-off; a wire of 1 µm in 1 m has 1e-12
NO_INERTIA = 1e-13


class RigidBodyModes(NamedTuple):
    """Number of strain-free modes, and residual ``|K R| / |K| |R|`` of the rigid-body modes R."""

    rigid_body_modes: float
    rigid_body_residual: float


def rigid_body_modes(statics: InterfaceStatics) -> RigidBodyModes:
    """Strain-free modes of the body.

    With every interface held there are none, hence the interface coordinates represent all of them.
    Raises InputError unless they are the six rigid-body modes.
    """
    fe = statics.fe
    _require_inertia(fe)
    R = fe.rigid_motion(fe.centre_of_mass)
    residual = _rigid_residual(fe, R)
    if residual > RESIDUAL:
        raise InputError(
            "stiffness: rigid-body modes are not strain-free (|K R|/|K| = "
            f"{residual:.2g}); give K without supports"
        )
    count = 6
    if len(statics.interfaces) > 1:
        count = _strain_free(statics, R, _strain_of_rigid_motion(fe, R))
    if count != 6:
        raise InputError(
            f"stiffness: {count} rigid-body modes found instead of 6; connect the parts of the mesh"
        )
    return RigidBodyModes(float(count), residual)


def _require_inertia(fe: FEModel) -> None:
    """Raise InputError for a part without mass, or whose mass is on one line."""
    if not fe.mass > 0:
        raise InputError(f"{fe.source}: mass: the part has none; give density, or masses on nodes")
    R = fe.rigid_motion(fe.centre_of_mass)[:, 3:]
    moments = np.linalg.eigvalsh(fe.engine.inner(R, fe.mass_product(R)))
    if not moments[0] > NO_INERTIA * moments[-1]:
        raise InputError(
            f"{fe.source}: mass: moments of inertia {', '.join(f'{x:.3g}' for x in moments)} kg m²: "
            "the mass is on one line; give density, the inertia of masses on nodes, or a "
            "consistent mass"
        )


def _strain_free(statics: InterfaceStatics, R: FloatArray, rigid_quotient: float) -> int:
    """Number of strain-free motions of the interfaces.

    Raises InputError for an interface with a motion that moves no mass: the ω² of the other motions
    is then lost in the round-off of its own. With the mass of the whole part instead, they are not
    strain-free.
    """
    inner, mass = statics.fe.engine.inner, statics.fe.mass_product
    Psi, inertia = statics.constraint_modes(), np.diag(inner(R, mass(R)))
    part = np.tile(np.repeat([inertia[:3].mean(), inertia[3:].mean()], 3), len(statics.interfaces))
    K, M = statics.interface_stiffness, inner(Psi, mass(Psi))
    M = 0.5 * (M + M.T)
    try:
        count = rigid_mode_count(K, M, rigid_quotient)
    except (ValueError, np.linalg.LinAlgError):  # not finite, not positive definite
        count = -1
    if count == 6 or (count > 6 and rigid_mode_count(K, np.diag(part), rigid_quotient) > 6):
        return count
    lightest = scipy.linalg.eigh(M / np.sqrt(np.outer(part, part)))[1][:, 0]
    name = statics.interfaces[int(np.abs(lightest).argmax()) // 6].name
    raise InputError(f"interfaces.{name}: a motion of it moves no mass; {REMEDY}")


def _strain_of_rigid_motion(fe: FEModel, R: FloatArray) -> float:
    """Largest Rayleigh quotient ``rᵀKr / rᵀMr`` of the rigid-body motions.

    Zero up to the accuracy of K.
    """
    inner = fe.engine.inner
    quotient = scipy.linalg.eigh(
        inner(R, fe.stiffness_product(R)), inner(R, fe.mass_product(R)), eigvals_only=True
    )
    return float(np.abs(quotient).max())


def _rigid_residual(fe: FEModel, R: FloatArray) -> float:
    """Largest elastic force of unit rigid motions relative to the largest stiffness."""
    engine, entries = fe.engine, fe.K.data[:, None]
    unit = R / engine.extent(R)
    return float(engine.extent(fe.stiffness_product(unit)).max() / engine.extent(entries).max())


def rigid_mode_count(K: FloatArray, M: FloatArray, rigid_quotient: float) -> int:
    """Number of strain-free modes of the reduced body.

    These have ω² below round-off, estimated by ``rigid_quotient`` (ω² of the rigid-body modes) and
    by the accuracy of the eigenvalues. Raises ValueError, and LinAlgError if M is not positive
    definite.
    """
    diagonal = np.diag(M)
    scale = np.where(diagonal > 0, diagonal, np.nan) ** -0.5
    omega2 = scipy.linalg.eigh(
        scale[:, None] * K * scale, scale[:, None] * M * scale, eigvals_only=True
    )
    return int(np.sum(np.abs(omega2) <= 100 * rigid_quotient + 1e-12 * omega2[-1]))


def check_interface_masses(statics: InterfaceStatics, shapes: FloatArray) -> None:
    """Raise InputError for an interface with so little mass that results would be round-off.

    M-orthonormal elastic shapes (3N, n) move such an interface much more than rigid motions of unit
    mass do.
    """
    inner, L = statics.fe.engine.inner, statics.interface_loads
    motion, R = inner(L, shapes), inner(L, statics.rigid_modes)
    for k, interface in enumerate(statics.interfaces):
        rows = slice(6 * k, 6 * k + 6)
        share = float(np.linalg.norm(np.linalg.solve(R[rows], motion[rows]), 2) ** -2)
        if share < LIGHT:
            raise InputError(
                f"interfaces.{interface.name}: moves {share:.1g} of the mass of the part, "
                f"below round-off; {REMEDY}"
            )
