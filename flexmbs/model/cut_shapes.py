"""Local displacements at the cut of a divided body, which are common to its two pieces."""

from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.couplings import Coupling, Term

Elastic = tuple[str, tuple[float, ...]]  # a piece, and the factors of its elastic coordinates


class CutShape(Coupling):
    """Equation Σ a q_f = 0 between the elastic coordinates of two pieces.

    A displacement of the cut relative to its frame is equal in both. Made only by `in_pieces` and
    not stored in files.

    Parameters
    ----------
    of : pairs of str and floats
        Pieces, with the factors of their elastic coordinates.
    """

    of: tuple[Elastic, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        return ()  # no coordinates of joints

    @property
    def equation(self) -> str:
        return " = ".join(f"displacement of {name}" for name, _ in self.of)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        """One holonomic, scleronomic row."""
        return (ConstraintClass(1, scleronomic=True, active=False),)
