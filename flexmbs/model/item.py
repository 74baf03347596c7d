"""`Item`: a named member of a model that holds or acts between bodies: joints, forces, drives."""

import dataclasses
from typing import NamedTuple

from flexmbs.model.declaration import Declaration
from flexmbs.model.fields import Name
from flexmbs.model.frames import ItemHandle


class CoordinateUse(NamedTuple):
    """What an item needs of a joint: one of its freedoms; ``position`` if also the position coordinate of it."""

    joint: str
    freedom: int
    position: bool


class Item(Declaration):
    """A joint, force or drive, under its name."""

    name: Name = dataclasses.field(kw_only=False)

    def handle(self) -> ItemHandle:
        """What ``model.add`` returns."""
        return ItemHandle(self.section, self.name)

    def coordinate_used(self) -> CoordinateUse | None:
        """The freedom of a joint it acts on, if any."""
        return None
