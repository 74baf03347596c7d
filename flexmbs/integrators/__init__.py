"""Time integration: options of the methods, and their formulas in numbers."""

from flexmbs.integrators.dormand_prince import DormandPrince
from flexmbs.integrators.esdirk import ESDIRK
from flexmbs.integrators.event_driven import EventDriven
from flexmbs.integrators.generalized_alpha import GeneralizedAlpha
from flexmbs.integrators.integrator import Integrator
from flexmbs.integrators.moreau_jean import MoreauJean
from flexmbs.integrators.rattle import Rattle

__all__ = [
    "ESDIRK",
    "INTEGRATORS",
    "DormandPrince",
    "EventDriven",
    "GeneralizedAlpha",
    "Integrator",
    "MoreauJean",
    "Rattle",
]

INTEGRATORS: dict[str, type[Integrator]] = {
    method.name: method
    for method in (GeneralizedAlpha, ESDIRK, DormandPrince, Rattle, MoreauJean, EventDriven)
}
