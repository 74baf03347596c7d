"""Time integration: generalized-α and Dormand–Prince."""

from flexmbs.integrators.dormand_prince import DormandPrince
from flexmbs.integrators.generalized_alpha import GeneralizedAlpha

__all__ = ["DormandPrince", "GeneralizedAlpha"]
