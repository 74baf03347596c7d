"""Ropes: two frames whose distance is bounded."""

import math

from pydantic import model_validator

from flexmbs.algebra.vectors import across, dot, load3, scale
from flexmbs.declaration import NestedError
from flexmbs.law_kernel import LawKernel, law_kernel
from flexmbs.model.contacts.contact import FrameContact, touching
from flexmbs.model.fields import Positive

TOGETHER = 1e-14  # m between the ends: the direction is arbitrary


@law_kernel
def taut(p, u, x, out):
    """Kernel of the gap of a rope, g = L − |r|; p = (L,)."""
    r = load3(x, 0)
    distance = math.sqrt(dot(r, r))
    n = scale(-1.0 / distance, r) if distance > TOGETHER else (1.0, 0.0, 0.0)
    touching(out, p[0] - distance, 0.0, n, across(n), (0.0, 0.0, 0.0))


class Rope(FrameContact, kind="rope"):
    """Massless rope between the origins of two frames, g = length − distance ≥ 0.

    It transmits tension when taut.

    Rigid, or with a contact ``law`` for its elongation. For a rod, which also transmits pressure,
    use `Distance`. Source: docs/theory.md, section 40.

    Parameters
    ----------
    length : float [m]
        Length.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("bungee jump", gravity=(0, 0, -10.0))
    >>> jumper = model.add(fm.PointMass("jumper", mass=80.0))
    >>> fall = model.add(fm.Translation("fall", model.ground, jumper))
    >>> elastic = fm.HuntCrossley(stiffness=640.0, exponent=1.0, damping=0.0)
    >>> rope = model.add(fm.Rope("rope", model.ground, jumper, length=20.0, law=elastic))
    >>> depth = -fm.simulate(model, t_end=4.0, step=0.02).body("jumper").position[:, 2].min()
    >>> round(depth.item(), 2)  # m g (l + x) = k x²/2
    28.43
    """

    length: Positive

    @model_validator(mode="after")
    def _no_plane(self) -> "Rope":
        """Raise `NestedError` for friction or tangential restitution."""
        for key in ("friction", "tangential_restitution"):
            if getattr(self, key):
                raise NestedError.at(
                    (key,), "does not apply to a rope, which has no contact plane; omit it"
                )
        return self

    @property
    def size(self) -> float:
        return self.length

    def shape(self) -> tuple[LawKernel, tuple[float, ...]]:
        """Kernel of the gap of a rope, and its length."""
        return taut, (self.length,)
