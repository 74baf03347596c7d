"""Finite-element model as a structure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from preprocess.comparison.structure import FREE, Structure, StructureModes
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Interface, bind_interfaces
from preprocess.reduction.interface_statics import InterfaceStatics


class FullModel(Structure):
    """Structure of a finite-element model with interfaces.

    One factorization is needed. Raises InputError.
    """

    def __init__(
        self, fe: FEModel, interfaces: Mapping[str, Interface], label: str = "full model"
    ) -> None:
        self._statics = InterfaceStatics(
            fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
        )
        self.label, self.nodes, self.node_ids = label, fe.nodes, fe.node_ids
        self.frames = {each.name: each.position for each in self._statics.interfaces}

    def modes(self, held: str, count: int) -> StructureModes:
        """Lowest modes with one interface held, or of the free structure."""
        statics = self._statics
        most = statics.free_degrees_of_freedom - 6 if held == FREE else statics.free_count
        found = statics.modes(() if held == FREE else (self._index(held),), count=min(count, most))
        return StructureModes(found.omega / (2 * np.pi), statics.fe.displacements(found.shapes))

    def compliance(self, held: str, moving: str) -> FloatArray:
        """Compliance (6, 6) of an interface with another one held."""
        k = self._index(moving)
        loads = self._statics.interface_loads[:, 6 * k : 6 * k + 6]
        return np.asarray(loads.T @ self._statics.held_response(loads, self._index(held)))

    def _index(self, name: str) -> int:
        """Index of an interface."""
        return list(self.frames).index(name)
