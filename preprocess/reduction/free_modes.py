"""Normal modes of the free body alone."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.normal_modes import NormalModeReduction


@checked_arguments
@dataclass(frozen=True)
class FreeModes(NormalModeReduction):
    """Basis ``Φ`` of elastic modes of the free body, ``K Φ = M Φ Ω²``, without static shapes.

    At the interfaces the body is too stiff, by the residual flexibility of the truncated modes.
    Source: Hurty, AIAA Journal 3 (1965) 678; Shabana, Dynamics of Multibody Systems, section 6.1.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> end = {"end": pp.Averaged("x0")}
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces=end, method=pp.FreeModes(modes=4), reference="mean axes"
    ... )
    >>> round(
    ...     bar.modes.frequency.min().item()
    ... )  # 4.73² √(E I/(ρ A l⁴))/2π = 664 Hz by beam theory without shear
    661
    """

    kind = "free-modes"
    normal = "free-interface"

    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        """No static shapes."""
        return {}
