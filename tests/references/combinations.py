"""Every registered formalism with each of its coordinates and each compatible integrator."""

from dataclasses import dataclass, field
from typing import Any

import pytest

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import Integrator

Method = Integrator
# what it needs with explicit integrators
PROJECTED = {"multiplier": fm.Multiplier(stabilization=fm.Projection())}


@dataclass(frozen=True)
class Combination:
    """A formalism, coordinates and an integrator for `flexmbs.simulate`."""

    formalism: str
    coordinates: str
    integrator: Method = field(repr=False)

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `flexmbs.simulate`."""
        explicit = self.integrator.needs == "accelerations"
        formalism = PROJECTED.get(self.formalism, self.formalism) if explicit else self.formalism
        return {
            "formalism": formalism,
            "coordinates": self.coordinates,
            "integrator": self.integrator,
        }

    def __str__(self) -> str:
        return f"{self.formalism}-{self.coordinates}-{self.integrator.name}"


def combinations(
    *integrators: Method, coordinates: tuple[str, ...] = ("joint", "absolute")
) -> list[Any]:
    """Test parameters: the formalisms of the registry, in those of their coordinates that are asked
    for.
    """
    found = [
        Combination(name, each, integrator)
        for name, formalism in FORMALISMS.items()
        for each in formalism.coordinates
        if each in coordinates
        for integrator in integrators
        if integrator.needs in formalism.provides
    ]
    return [pytest.param(combination, id=str(combination)) for combination in found]
