"""Comparison of a flexible body with its finite-element model, or with another body of its mesh."""

from preprocess.comparison.compare import Comparison, Compliance, Pair, compare
from preprocess.comparison.full_model import FullModel
from preprocess.comparison.reduced_body import ReducedBody
from preprocess.comparison.structure import Structure, StructureModes

__all__ = [
    "Comparison",
    "Compliance",
    "FullModel",
    "Pair",
    "ReducedBody",
    "Structure",
    "StructureModes",
    "compare",
]
