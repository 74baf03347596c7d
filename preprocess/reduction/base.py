"""What a reduction is: from matrices and interfaces to a small basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flexmbs.flexible_body import FloatArray

if TYPE_CHECKING:
    from preprocess.reduction.statics import InterfaceStatics

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Basis:
    """Shapes that a reduction gives besides the six rigid-body motions, which are always part of a body.

    shapes: nodal displacements (3N, n) by what they are called, x y z of each node together, the most important first.
    normal_frequencies: (m,) [Hz] of the normal modes among them, up to which the basis is accurate; may be none.
    band: frequency [Hz] up to which the reduced body is meant to be used; 0 when not said.
    """

    shapes: Mapping[str, FloatArray]
    normal_frequencies: FloatArray = field(default_factory=lambda: np.zeros(0))
    band: float = 0.0


class Reduction(ABC):
    """Rule that makes a basis; a new one is a class in its own file and one line in `REDUCTIONS`."""

    kind: ClassVar[str]

    @abstractmethod
    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Basis of the body ``statics.fe`` with ``statics.interfaces``, by the factorization that ``statics`` holds.

        Raises InputError, SolverError.
        """
