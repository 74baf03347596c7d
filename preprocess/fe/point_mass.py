"""Declaration of a point mass or rigid body attached to a finite-element model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import raise_problems
from preprocess.inputs.argument_checks import checked_arguments, number
from preprocess.mesh.node_regions import Region

Array = NDArray[np.float64]


@checked_arguments
@dataclass(frozen=True, eq=False)
class PointMass:
    """Point mass or rigid body attached to nodes of a mesh.

    where: the nodes that carry it, by a set's name, a `Point` or a `Plane`. mass: kg. inertia:
    about its centre of mass in mesh axes, kg m², (3, 3) or the three principal moments; None for a
    point mass. position: centre of mass in mesh axes, m; by default the mean of the nodes.
    incomplete: accept moments of inertia that no body has, such as one alone, as some decks give
    them for the motion that they have in view. Raises InputError for a non-positive mass and a
    physically impossible inertia.

    Examples
    --------
    >>> import preprocess as pp
    >>> fe = pp.assemble(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    ... )
    >>> with_motor = pp.attach(fe, [pp.PointMass("x1", 2.0)])
    >>> round(with_motor.mass - fe.mass, 6)
    2.0
    """

    where: str | Region
    mass: float
    _: KW_ONLY
    inertia: ArrayLike | None = None
    position: ArrayLike | None = None
    incomplete: bool = False

    def __post_init__(self) -> None:
        problems: list[str] = []
        object.__setattr__(self, "mass", number(self.mass, "point mass"))
        if not 0 < self.mass < np.inf:
            problems.append(
                f"point mass {self.mass!r} kg is not positive and finite; give kilograms"
            )
        if self.position is not None and not _finite(self.position, (3,)):
            problems.append(
                f"point mass: position {self.position!r:.60} is not a point; give three "
                "coordinates in m"
            )
        problems += _bad_inertia(self.inertia, incomplete=self.incomplete)
        raise_problems(problems)

    @property
    def second_moment(self) -> Array:
        """Second moment S (3, 3) = tr(I)/2 1 - I, kg m²."""
        inertia = _matrix(np.zeros(3) if self.inertia is None else self.inertia)
        return np.asarray(np.trace(inertia) / 2 * np.eye(3) - inertia)


def _finite(value: ArrayLike, shape: tuple[int, ...]) -> bool:
    """True if a value is an array of finite numbers of a shape."""
    return (
        np.shape(value) == shape
        and np.asarray(value).dtype.kind in "iuf"
        and bool(np.isfinite(value).all())
    )


def _matrix(inertia: ArrayLike) -> Array:
    """Inertia matrix from three principal moments or a matrix."""
    given = np.asarray(inertia, dtype=float)
    return np.diag(given) if given.ndim == 1 else given


def _bad_inertia(inertia: ArrayLike | None, *, incomplete: bool = False) -> list[str]:
    """Problems of an impossible inertia; without the triangle inequality if incomplete."""
    if inertia is None:
        return []
    if not (_finite(inertia, (3,)) or _finite(inertia, (3, 3))):
        return [f"point mass: inertia {inertia!r:.80} is not finite with shape (3,) or (3, 3)"]
    I = _matrix(inertia)
    if np.abs(I - I.T).max() > 1e-9 * np.abs(I).max():
        return ["point mass: inertia is not symmetric; give the matrix about the centre of mass"]
    moments = np.linalg.eigvalsh(I)
    impossible = moments[2] > (moments[0] + moments[1]) * (1 + 1e-9)
    if moments[0] < -1e-9 * moments[2] or (impossible and not incomplete):
        shown = ", ".join(f"{m:.4g}" for m in moments)
        return [
            f"point mass: principal moments {shown} kg m² are impossible (the largest "
            "exceeds the sum of the others)"
        ]
    return []
