"""Craig–Bampton reduction: static constraint modes and fixed-interface normal modes."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.reduction.guyan import constraint_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.normal_modes import NormalModeReduction


@checked_arguments
@dataclass(frozen=True)
class CraigBampton(NormalModeReduction):
    """Craig–Bampton basis ``[Ψ | Φ]``: constraint modes and fixed-interface normal modes.

    Ψ has six constraint modes per interface, ``K_ii Ψ_i = −K_ib``; Φ are normal modes with all
    interfaces held, ``K_ii Φ = M_ii Φ Ω²``. Exact for static loads at the interfaces.

    inertia_relief: add the six responses, interfaces held, to the inertia forces of rigid-body
    accelerations. Source: Craig and Bampton, AIAA Journal 6 (1968) 1313; inertia-relief modes:
    Craig and Kurdila, Fundamentals of Structural Dynamics (2006), section 17.3.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces=ends, method=pp.CraigBampton(modes=4), reference="root"
    ... )
    >>> bar.nf  # 4 normal modes and 6 · 2 static shapes, less 6 rigid motions
    10
    """

    inertia_relief: bool = False

    kind = "craig-bampton"
    exact_statics = True
    normal = "fixed-interface"

    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        """Constraint modes, and inertia-relief modes if requested, by name."""
        shapes = constraint_shapes(statics)
        if self.inertia_relief:
            relief = statics.response(statics.fe.mass_product(statics.rigid_modes))
            shapes["inertia-relief modes"] = relief
        return shapes

    def held(self, statics: InterfaceStatics) -> tuple[int, ...]:
        """All interfaces are held in the modes."""
        return tuple(range(len(statics.interfaces)))

    def degrees_of_freedom(self, statics: InterfaceStatics) -> int:
        """Number of degrees of freedom with all interfaces held."""
        return statics.free_count

    @property
    def _where(self) -> str:
        return "between its interfaces"
