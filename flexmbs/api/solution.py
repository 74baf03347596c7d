"""`Solution`: the results of a run, with figures, report and file.

Templates and HDF5 are imported on demand, which shortens the start of runs without them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from flexmbs.api.model import Model
from flexmbs.model.check import require_model
from flexmbs.model.model import ModelData
from flexmbs.results.solution import SolutionData

if TYPE_CHECKING:
    from flexmbs.player.solids import Solid
    from flexmbs.report.plots import Plots
    from flexmbs.report.view import View


@dataclass(frozen=True, eq=False, repr=False)
class Solution(SolutionData):
    __doc__ = SolutionData.__doc__

    @property
    def plot(self) -> "Plots":
        """Figures of the solution, one method each."""
        from flexmbs.report.plots import Plots

        return Plots(self)

    def report(self, path: str | os.PathLike[str], *, solids: "Sequence[Solid]" = ()) -> None:
        """Write an HTML page with the motion in three dimensions and figures, and ``<name>.summary.json``. ``solids``: shapes of
        bodies, such as `Robot.solids`. Raises MachineError."""
        from flexmbs.report.page import write_report

        write_report(self, path, solids)

    def show(self, *, solids: "Sequence[Solid]" = (), browser: bool | None = None) -> "View":
        """The motion in three dimensions, as a page that a notebook displays; elsewhere, or with ``browser``, it is opened in a
        browser. ``solids`` as of `report`."""
        from flexmbs.player.scene import Extras
        from flexmbs.report.view import shown, view

        return shown(view(self, Extras(solids)), browser)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file with everything, flexible bodies included; written atomically. Raises MachineError."""
        from flexmbs.results.storage import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: ModelData | None = None) -> Self:
        """The solution in a file, with its whole model.

        A file holds no user functions: all views are available, but operations that would call them (states, runs, studies
        of the model) are rejected unless ``model``, the model of the run, is given. Raises InputError naming the file and the
        item.
        """
        from flexmbs.results.storage import read

        if model is not None:
            require_model(model)
        return read(path, model, cls, Model)
