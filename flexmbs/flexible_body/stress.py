"""Stress of a flexible body from its elastic coordinates and its loads.

    σ = σ₀ + Σ_k q_k σ_k + Σ_j ζ_j τ_j,    τ_j = σ(u_j) − Σ_k c_jk σ_k,    c_j = (Φᵀ K Φ)⁻¹ Φᵀ K u_j

σ_k is the stress of mode shape k; u_j and σ(u_j) are the displacement and the stress under the
static unit load j; c_j is the part of u_j in the space of the modes, so that τ_j is the remainder.
For loads ζ_j(t) that the modes follow quasi-statically, q = Σ ζ_j c_j, the sum is Σ ζ_j σ(u_j): the
stress of the full finite-element model, regardless of the number of modes. The dynamic part of the
modal response adds its own stress (mode acceleration method).

The unit loads are: 3 accelerations of the body frame minus gravity, 3 angular accelerations, 6
products of the angular velocity ω_x², ω_y², ω_z², ω_xω_y, ω_yω_z, ω_zω_x, then 3 forces and 3
moments at each interface, all in body axes.

Source: Craig, Structural Dynamics, section 15.4 (mode acceleration); Schwertassek and Wallrapp,
Dynamik flexibler Mehrkörpersysteme, section 6.3 (unit loads of a body in a floating frame).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import raise_problems
from flexmbs.flexible_body.components import shape_problems
from flexmbs.flexible_body.plies import Plies, check_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StressArray = NDArray[np.floating[Any]]

COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "zx")
INERTIA_LOADS = 12
WRENCH = 6


@dataclass(frozen=True, eq=False)
class StressModes:
    """Stress at nodes in body axes, components xx, yy, zz, xy, yz, zx, Pa.

    rows (n,): indices of the nodes among those of the body's surface; a node shared by materials
    has one row per material. modes (n, 6, nf): stress of the mode shapes, σ_k.  correction (n, 6,
    12 + 6 k): static correction τ_j for the unit loads. interfaces: names of the k frames with unit
    loads, in the order of their columns. material (n,): index of the material of a row. compliance
    (m, 6, 6): strain by stress, engineering shears [1/Pa]. yield_stress (m,): [Pa], infinite if
    unknown.  initial (n, 6): initial stress σ₀ of the undeformed body, or None. missing (12 + 6 k,
    12 + 6 k): ∫ w_i · w_j dm / m of the displacements w_j = u_j − Σ_k c_jk φ_k missing in the
    modes, or None; under loads ζ their root mean square over the mass is √(ζᵀ missing ζ) [m].
    plies: of laminated shells, or None. Modes and correction may have single precision, and may be
    in a file that is read on demand. Raises InputError for wrong shapes and values that are not
    finite.
    """

    rows: IntArray
    modes: StressArray
    correction: StressArray
    interfaces: tuple[str, ...]
    material: IntArray
    compliance: FloatArray
    yield_stress: FloatArray
    initial: FloatArray | None = None
    missing: FloatArray | None = None
    plies: Plies | None = None

    def __post_init__(self) -> None:
        n, m = len(self.rows), len(self.compliance)
        object.__setattr__(self, "interfaces", tuple(str(name) for name in self.interfaces))
        shapes: dict[str, tuple[int, ...]] = {
            "rows": (n,),
            "material": (n,),
            "compliance": (m, 6, 6),
            "yield_stress": (m,),
            "modes": (n, 6, self.nf),
            "correction": (n, 6, INERTIA_LOADS + WRENCH * len(self.interfaces)),
        }
        if self.initial is not None:
            shapes["initial"] = (n, 6)
        if self.missing is not None:
            shapes["missing"] = shapes["correction"][2:] * 2
        problems = shape_problems(
            self, "stress", shapes, ("modes", "correction", "compliance", "initial", "missing")
        )
        if n and not 0 <= self.material.min() <= self.material.max() < m:
            problems.append(f"stress.material: refers to materials outside 0..{m - 1}")
        problems += [] if self.plies is None else check_rows(self.plies, n)
        if not np.all(np.asarray(self.yield_stress) > 0):
            problems.append("stress.yield_stress: must be positive; infinite if unknown")
        raise_problems(problems)

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return int(np.shape(self.modes)[-1])

    @property
    def size(self) -> int:
        """Bytes of modes and correction."""
        return int(self.modes.nbytes + self.correction.nbytes)


def von_mises(stress: FloatArray) -> FloatArray:
    """Equivalent stress of von Mises of stress (..., 6).

    ``σ_v = √(½[(σ_xx−σ_yy)² + (σ_yy−σ_zz)² + (σ_zz−σ_xx)²] + 3(σ_xy² + σ_yz² + σ_zx²))``
    """
    xx, yy, zz, xy, yz, zx = np.moveaxis(stress, -1, 0)
    normal = (xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2
    return np.asarray(np.sqrt(0.5 * normal + 3.0 * (xy**2 + yz**2 + zx**2)))
