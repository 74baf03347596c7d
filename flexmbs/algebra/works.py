"""Works of a motion and their rates by cause."""

from flexmbs._jit import part
from flexmbs._jit.scalars import Scalars


class Works(Scalars):
    """Works (J) or powers (W)."""

    forces: float  # of applied forces
    loss: float  # dissipated
    drives: float


@part
def clear_works(works):
    """Set all works to zero."""
    works.forces = 0.0
    works.loss = 0.0
    works.drives = 0.0


@part
def copy_works(works, out):
    """Copy the works to ``out``."""
    out.forces = works.forces
    out.loss = works.loss
    out.drives = works.drives
