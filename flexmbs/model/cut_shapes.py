"""Local displacements of the cut of a divided body, which its two pieces have in common."""

from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.couplings import Coupling, Term

Elastic = tuple[str, tuple[float, ...]]  # a piece, and the factors of its elastic coordinates


class CutShape(Coupling):
    """One equation Σ a q_f = 0 between the elastic coordinates of two pieces: what one displacement
    of the cut, relative to its frame, is in one less what it is in the other. Only `in_pieces`
    makes it, no file has it.

    Parameters
    ----------
    of : pairs of str and floats
        The pieces, with the factors of their elastic coordinates.
    """

    of: tuple[Elastic, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        return ()  # no coordinates of joints

    @property
    def equation(self) -> str:
        return " = ".join(f"displacement of {name}" for name, _ in self.of)

    def constraint_classes(self) -> tuple[ConstraintClass, ...]:
        return (ConstraintClass(1, scleronomic=True, active=False),)
