"""Craig–Chang reduction: inertia-relief attachment modes and free-interface normal modes."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.reduction.base import Basis, Progress
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.normal_modes import NormalModeReduction


@checked_arguments
@dataclass(frozen=True)
class CraigChang(NormalModeReduction):
    """Craig–Chang basis ``[A | Φ]``: inertia-relief attachment modes and free normal modes.

    The responses ``A = Pᵀ K_c⁻¹ P L`` of the free body to unit loads L at the interfaces are
    balanced by the inertia forces of its rigid-body acceleration, ``P = 1 − M R Rᵀ``. Φ are
    free-interface normal modes; by default there are none.

    Without modes it is the free-body counterpart of Guyan's reduction. With the same modes it spans
    the same space as `Rubin`. Source: Craig and Chang, AIAA Journal 14 (1976) 1633; Craig and
    Kurdila, Fundamentals of Structural Dynamics (2006), section 17.3.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(mesh, steel, interfaces=ends, method=pp.CraigChang(), reference="root")
    >>> bar.nf  # responses to 6 · 2 unit loads
    12
    """

    kind = "craig-chang"
    exact_statics = True
    normal = "free-interface"

    def __post_init__(self) -> None:
        if (
            self.modes is not None
            or self.frequency is not None
            or self.band is not None
            or self.tolerance is not None
        ):
            super().__post_init__()

    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        """Inertia-relief attachment modes by name."""
        return {"inertia-relief attachment modes": statics.free_response(statics.interface_loads)}

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Attachment modes alone, or with free-interface modes."""
        if self.modes is None and self.frequency is None:
            return Basis(self.static_shapes(statics))
        return super().basis(statics, progress)
