"""`Solution`: the results of a run, with its figures, its page and its file.

What these need (templates, HDF5) is imported when they are asked for: a run without them starts sooner.
"""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from flexmbs.api.model import Model
from flexmbs.model.check import require_model
from flexmbs.model.model import ModelData
from flexmbs.results.solution import SolutionData

if TYPE_CHECKING:
    from flexmbs.report.plots import Plots


@dataclass(frozen=True, eq=False, repr=False)
class Solution(SolutionData):
    __doc__ = SolutionData.__doc__

    @property
    def plot(self) -> "Plots":
        """Figures of the solution, one method each."""
        from flexmbs.report.plots import Plots

        return Plots(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """One HTML page with figures, and ``<name>.summary.json`` beside it. Raises MachineError."""
        from flexmbs.report.page import write_report

        write_report(self, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """HDF5 file that holds everything, flexible bodies included; complete or not there at all. Raises MachineError."""
        from flexmbs.results.storage import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: ModelData | None = None) -> Self:
        """The solution in a file, with its whole model.

        A file has no functions of the user: all views are there, but what would call them (states, runs, studies of the
        model) is refused unless ``model``, the model of the run, is given. Raises InputError naming the file and the item.
        """
        from flexmbs.results.storage import read

        if model is not None:
            require_model(model)
        return read(path, model, cls, Model)
