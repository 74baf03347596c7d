"""Reductions: each gives a basis for a finite-element body with interfaces."""

from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.craig_bampton import CraigBampton

REDUCTIONS: dict[str, type[Reduction]] = {method.kind: method for method in (CraigBampton,)}

__all__ = ["REDUCTIONS", "Basis", "CraigBampton", "Progress", "Reduction"]
