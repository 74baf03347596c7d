"""Normal modes of the free body alone."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.flexible_body import FloatArray
from preprocess.arguments import spelt
from preprocess.reduction.eigen import Operator
from preprocess.reduction.normal_modes import NormalModeReduction
from preprocess.reduction.statics import InterfaceStatics


@spelt
@dataclass(frozen=True)
class FreeModes(NormalModeReduction):
    """Basis ``Φ``: elastic modes of the free body, ``K Φ = M Φ Ω²``, and nothing for loads at the interfaces: the body is too
    stiff there by what the modes left out would yield.

    Source: Hurty, AIAA Journal 3 (1965) 678; Shabana, Dynamics of Multibody Systems, section 6.1.
    """

    kind = "free-modes"
    normal = "free-interface"

    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        return {}

    def normal_response(self, statics: InterfaceStatics) -> Operator:
        return statics.free_response

    def degrees_of_freedom(self, statics: InterfaceStatics) -> int:
        return statics.free_degrees_of_freedom - 6
