"""Loads and prescribed motions above the modal bandwidth of a flexible body."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flexmbs.declaration import Problem
from flexmbs.model.declared_values import nested_values
from flexmbs.model.laws import Sine

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData


def frequency_warnings(model: "ModelData", highest: Mapping[str, float]) -> Iterator[Problem]:
    """Warnings of sine laws above the highest mode of a flexible body."""
    slowest = min(highest, key=highest.__getitem__, default=None)
    if slowest is None:
        return
    for item in (*model.forces.values(), *model.drives.values(), *model.couplings.values()):
        fastest = max(
            (abs(law.frequency) for _, law in nested_values(item) if isinstance(law, Sine)),
            default=0.0,
        )
        if fastest > highest[slowest]:
            text = (
                f"its {fastest:.4g} Hz exceed the highest mode of body '{slowest}', "
                f"{highest[slowest]:.4g} Hz"
            )
            yield Problem((item.section, item.name), f"{text}; reduce that body with more modes")
