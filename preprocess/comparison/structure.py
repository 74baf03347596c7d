"""Interface of the structures that can be compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from flexmbs.flexible_body.components import FloatArray, IntArray

FREE = "free"


class StructureModes(NamedTuple):
    """Elastic modes of a structure.

    frequency (n,) [Hz], ascending; shapes (N, 3, n) at the nodes, in the structure's own axes.
    """

    frequency: FloatArray
    shapes: FloatArray


class Structure(ABC):
    """Part with interfaces: modes and static compliance, free or held at one interface.

    label: name in tables; nodes (N, 3) [m] and node_ids (N,): nodes with known shapes, in its own
    axes. frames: position (3,) of every interface.
    """

    label: str
    nodes: FloatArray
    node_ids: IntArray
    frames: Mapping[str, FloatArray]

    @abstractmethod
    def modes(self, held: str, count: int) -> StructureModes:
        """Elastic modes, at most ``count``, with interface ``held`` fixed or, for "free", none."""

    @abstractmethod
    def compliance(self, held: str, moving: str) -> FloatArray:
        """Compliance (6, 6) of interface ``moving`` with interface ``held`` fixed.

        Columns are the displacement and rotation under unit forces and moments.
        """
