"""What a reduction is: from matrices and interfaces to a small basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from flexmbs.flexible_body import FloatArray

if TYPE_CHECKING:
    from preprocess.reduction.statics import InterfaceStatics

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Basis:
    """Shapes whose span holds the six rigid-body motions and the motions of every interface.

    shapes: (3N, n) nodal displacements, x y z of each node together.
    interface_motion: (interfaces, 6, n) translation and rotation of each frame in mesh axes, ``[t; θ] = E_j q``.
    normal_frequencies: (m,) [Hz] of the normal modes that the reduction computed, up to which the basis is accurate; may be none.
    """

    shapes: FloatArray
    interface_motion: FloatArray
    normal_frequencies: FloatArray


class Reduction(ABC):
    """Rule that makes a basis; a new one is a class in its own file and one line in `REDUCTIONS`."""

    kind: ClassVar[str]

    @abstractmethod
    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Basis of the body ``statics.fe`` with ``statics.interfaces``, by the factorization that ``statics`` holds.

        Raises InputError, SolverError.
        """
