"""Guyan's reduction: static condensation to the interfaces."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.interface_statics import InterfaceStatics


@checked_arguments
@dataclass(frozen=True)
class Guyan(Reduction):
    """Guyan basis ``Ψ`` of six constraint modes per interface, ``K_ii Ψ_i = −K_ib``.

    It has no normal modes.

    Exact for static loads at the interfaces; for dynamics only far below the first mode with the
    interfaces held. Source: Guyan, AIAA Journal 3 (1965) 380; Irons, ibid. 961.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    >>> bar = pp.reduce(mesh, steel, interfaces=ends, method=pp.Guyan(), reference="root")
    >>> bar.nf  # 6 · 2 static shapes, less 6 rigid motions
    6
    """

    kind = "guyan"
    exact_statics = True

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Constraint modes of the interfaces. Raises `InputError` for a single one."""
        if len(statics.interfaces) < 2:
            raise InputError(
                "method: Guyan with one interface gives rigid-body modes only; add "
                "interfaces or modes"
            )
        return Basis(constraint_shapes(statics))


def constraint_shapes(statics: InterfaceStatics) -> dict[str, FloatArray]:
    """Constraint modes except those of the first interface.

    These depend on the others and the rigid-body modes.
    """
    return {"constraint modes": statics.constraint_modes()[:, 6:]}
