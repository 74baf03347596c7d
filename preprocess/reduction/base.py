"""Interface of a reduction method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.interface_statics import InterfaceStatics

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Basis:
    """Shapes of a reduction in addition to the six rigid-body modes.

    shapes: nodal displacements (3N, n) by name, x y z of each node together, the most important
    first. normal_frequencies: (m,) [Hz] of the normal modes among them, up to which the basis is
    accurate; may be empty. band: intended maximum frequency [Hz]; 0 if unspecified.
    """

    shapes: Mapping[str, FloatArray]
    normal_frequencies: FloatArray = field(default_factory=lambda: np.zeros(0))
    band: float = 0.0


class Reduction(ABC):
    """Reduction method; a new one is a class in its own file and one line in `REDUCTIONS`.

    exact_statics: whether its shapes span the static responses to loads at the interfaces.
    """

    kind: ClassVar[str]
    exact_statics: ClassVar[bool] = False

    @abstractmethod
    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Shapes of the reduced basis for a body and its interfaces.

        Computed with the factorization in ``statics``. Raises InputError, SolverError.
        """
