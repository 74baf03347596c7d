"""User-defined shapes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import InputError, warn_caller
from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.inputs.warning import PreprocessWarning
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.interface_statics import InterfaceStatics

# change of a shape by the projection relative to its largest displacement; shapes printed with
# seven digits pass without a warning
_DISTORTION = 1e-6


@checked_arguments
@dataclass(frozen=True, eq=False, repr=False)
class GivenShapes(Reduction):
    """Basis of given nodal displacements, for example measured modes.

    shapes: (3N, n) or (N, 3, n), nodes in the order of the mesh, mesh axes. Nodes of rigid
    interfaces are projected onto the nearest rigid motion, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.0, rho=7850.0),
    ... )
    >>> bend = np.zeros((len(mesh.nodes), 3, 1))
    >>> s, z = mesh.nodes[:, 0], mesh.nodes[:, 2] - 0.01
    >>> bend[:, 2, 0], bend[:, 0, 0] = s**2, -2 * s * z
    >>> bar = pp.reduce(
    ...     mesh,
    ...     steel,
    ...     interfaces={"root": pp.Rigid("x0")},
    ...     method=pp.GivenShapes(bend),
    ...     reference="root",
    ... )
    >>> bar.modes.frequency.round().tolist()  # Rayleigh's quotient of w = x²: √20 √(E I/(ρ A l⁴))/2π
    [133.0]
    """

    shapes: ArrayLike

    kind = "given-shapes"

    def __post_init__(self) -> None:
        try:
            values = np.array(self.shapes)
            if values.dtype.kind == "c":
                raise InputError(
                    "method.shapes: are complex; give real and imaginary parts as separate shapes"
                )
            values = values.astype(float)
        except (TypeError, ValueError):
            raise InputError(
                f"method.shapes: {self.shapes!r:.60} is not an array of numbers; give "
                "displacements (3N, n)"
            ) from None
        if values.ndim not in (2, 3) or not values.size or not np.isfinite(values).all():
            raise InputError(
                f"method.shapes: shape {values.shape}; give finite displacements (3N, n) "
                "or (N, 3, n)"
            )
        values = values.reshape(-1, values.shape[-1])
        if not np.abs(values).max(axis=0).min() > 0:
            raise InputError(
                f"method.shapes: shape {int(np.argmin(np.abs(values).max(axis=0))) + 1} "
                "is zero; remove it"
            )
        object.__setattr__(self, "shapes", values)

    @property
    def _values(self) -> FloatArray:
        return np.asarray(self.shapes)

    def __repr__(self) -> str:
        digest = hashlib.sha256(np.ascontiguousarray(self._values).data).hexdigest()
        return f"GivenShapes({self._values.shape[1]} shapes, sha256 {digest[:16]})"

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """The given shapes, made admissible at the interfaces. Raises `InputError`."""
        if len(self._values) != statics.size:
            raise InputError(
                f"method.shapes: has {len(self._values)} rows; the mesh has "
                f"{statics.size // 3} nodes, three rows each"
            )
        shapes = self._values / np.abs(self._values).max(axis=0)
        admissible = statics.admissible(shapes)
        change = float(np.abs(admissible - shapes).max())
        if change > _DISTORTION:
            warn_caller(
                f"method.shapes: they distort rigid interfaces by up to {change:.2g} of "
                "their largest displacement; "
                "projected onto the nearest rigid motion",
                PreprocessWarning,
            )
        return Basis({"given shapes": admissible})
