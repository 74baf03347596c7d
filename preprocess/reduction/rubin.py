"""MacNeal–Rubin reduction: free-interface normal modes and residual attachment modes."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.reduction.base import Basis, Progress
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.normal_modes import NormalModeReduction


@checked_arguments
@dataclass(frozen=True)
class Rubin(NormalModeReduction):
    """Basis ``[Φ, A − Φ Ω⁻² Φᵀ L]`` of free-interface normal modes and residual attachment modes.

    Φ are normal modes of the free body; the attachment modes are the residuals of the
    inertia-relief response ``A = Pᵀ K_c⁻¹ P L`` to the unit loads L at the interfaces. Exact for
    static loads at the interfaces and for the modes kept.

    The residual modes keep their mass, as in Rubin's method; MacNeal's have stiffness only. Source:
    MacNeal, Computers & Structures 1 (1971) 581; Rubin, AIAA Journal 13 (1975) 995.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces=ends, method=pp.Rubin(modes=4), reference="mean axes"
    ... )
    >>> (
    ...     bar.nf,
    ...     round(bar.modes.frequency.min().item()),
    ... )  # 4 + 6 · 2; 4.73² √(E I/(ρ A l⁴))/2π = 664 Hz without shear
    (16, 661)
    """

    kind = "rubin"
    exact_statics = True
    normal = "free-interface"

    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        """Attachment modes of unit loads on the interfaces, by name."""
        return {"residual attachment modes": statics.free_response(statics.interface_loads)}

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Free-interface modes and the residual part of the attachment modes."""
        found = super().basis(statics, progress)
        attachment, modes = (
            found.shapes["residual attachment modes"],
            found.shapes["free-interface modes"],
        )
        residual = attachment - modes @ statics.fe.engine.inner(
            modes, statics.fe.mass_product(attachment)
        )
        blocks = {"free-interface modes": modes, "residual attachment modes": residual}
        return Basis(blocks, found.normal_frequencies, found.band)
