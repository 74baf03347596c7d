"""Values of a declaration at any depth, with their paths."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flexmbs.declaration import Declaration
from flexmbs.model.couplings import ConstantCoupling
from flexmbs.model.item import Item
from flexmbs.model.laws import TimeLaw

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData

Path = tuple[str, ...]


def nested_values(declaration: Declaration, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) of all fields, tuple entries and nested declarations."""
    for field in dataclasses.fields(declaration):  # type: ignore[arg-type]
        value = getattr(declaration, field.name)
        # an array of numbers is one value
        several = isinstance(value, tuple) and not (value and isinstance(value[0], float))
        for k, part in enumerate(value if several else (value,)):
            place = (*path, field.name, str(k)) if several else (*path, field.name)
            yield place, part
            if isinstance(part, Declaration):
                yield from nested_values(part, place)


def model_values(model: "ModelData") -> Iterator[tuple[Path, Any]]:
    """Pairs (path, value) of all `nested_values` of all items except bodies.

    Paths begin with the section and the name of the item.
    """
    for section in (
        model.joints,
        model.forces,
        model.drives,
        model.couplings,
        model.contacts,
        model.rotors,
    ):
        for item in section.values():
            yield from nested_values(item, (item.section, item.name))


def prescribed_motions(model: "ModelData") -> Iterator[tuple[Path, TimeLaw]]:
    """Pairs (path, law of time) of each drive, and of each coupling whose offset is a law."""
    for drive in model.drives.values():
        yield (drive.section, drive.name, "motion"), drive.motion
    for coupling in model.couplings.values():
        if isinstance(coupling, ConstantCoupling) and coupling.offset is not None:
            yield (coupling.section, coupling.name, "offset"), coupling.offset


def items_with_constraints(model: "ModelData") -> tuple[Item, ...]:
    """Items with constraints: joints, drives, couplings, contacts."""
    return (
        *model.joints.values(),
        *model.drives.values(),
        *model.couplings.values(),
        *model.contacts.values(),
    )
