"""`Solution`: the results of a run, with figures, report and file.

Templates and HDF5 are imported on demand, which shortens the start of runs without them.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from flexmbs.api.model import Model
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.check import require_model
from flexmbs.model.model import ModelData
from flexmbs.results.solution import SolutionData

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

    from flexmbs.durability.fatigue import FatigueData
    from flexmbs.player.solids import Solid
    from flexmbs.report.plots import Plots
    from flexmbs.report.view import View
    from flexmbs.signals.signal import Signal


@dataclass(frozen=True, eq=False, repr=False)
class Solution(SolutionData):
    __doc__ = SolutionData.__doc__

    def _repr_html_(self) -> str:
        """Card of the solution in a notebook."""
        from flexmbs.report.cards import solution_card

        return solution_card(self)

    @property
    def plot(self) -> "Plots":
        """Figures of the solution, one method each."""
        from flexmbs.report.plots import Plots

        return Plots(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        solids: "Sequence[Solid]" = (),
        fatigue: "FatigueData | Sequence[FatigueData]" = (),
    ) -> None:
        """Write an HTML page with the motion in three dimensions and figures.

        Also writes ``<name>.summary.json``; a PDF document if the path ends with .pdf, for which
        ``pip install "flexmbs[pdf]"`` is needed. ``solids``: shapes of bodies in the page, such as
        `Robot.solids`. fatigue: a result of `flexmbs.fatigue` of this run, or several; adds a
        section for each, coloured by damage. Raises InputError, MachineError.
        """
        from flexmbs.report.page import write_report

        write_report(self, path, solids, fatigue)

    def compare(
        self,
        other: SolutionData,
        path: str | os.PathLike[str],
        *,
        names: tuple[str, str] = ("first run", "second run"),
    ) -> None:
        """Write an HTML page that compares this run with another.

        It contains superimposed curves, differences of common quantities and both verdicts. names:
        labels of the runs. Raises MachineError.
        """
        from flexmbs.files.file_types import check_kind, comparison_kind
        from flexmbs.files.output import write_text
        from flexmbs.files.paths import file_path
        from flexmbs.report.comparison import comparison_page

        if not isinstance(other, SolutionData):
            raise InputError(f"other: must be a Solution, not {type(other).__name__}")
        if not isinstance(names, tuple | list) or [type(each) for each in names] != [str, str]:
            raise InputError(f"names: must be two strings, not {shown(names)}")
        target = file_path(path)
        check_kind(target, comparison_kind(target))
        write_text(target, comparison_page(self, other, names))

    def show(
        self,
        *,
        solids: "Sequence[Solid]" = (),
        fatigue: "FatigueData | Sequence[FatigueData]" = (),
        browser: bool | None = None,
    ) -> "View":
        """Show the motion in three dimensions.

        A notebook displays the page; elsewhere, or with ``browser``, it opens in a browser.
        ``solids`` and ``fatigue``: see `report`.
        """
        from flexmbs.report.fatigue import damage_of
        from flexmbs.report.single_bodies import extras_of
        from flexmbs.report.view import shown, view

        extras = extras_of(damage_of(self, fatigue))
        return shown(view(self, extras._replace(solids=solids)), browser)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file with everything, flexible bodies included; written atomically.

        Raises MachineError.
        """
        from flexmbs.results.storage import write

        write(self, path)

    def signal(self, name: str) -> "Signal":
        """Channel as a `Signal` for spectra, filters and peaks.

        name: that of the channel in `to_dataframe`, with or without the unit: ``frame fore/tip
        acceleration z``. Raises InputError.
        """
        from flexmbs.exports.data_frames import signal

        return signal(self, name)

    def to_dataframe(self, tables: Iterable[str] | None = None) -> "DataFrame":
        """Pandas data frame over the output times, with one column per channel.

        Columns are named with their unit. tables: names of the tables to include (bodies, frames,
        joints, drives, couplings, contacts, forces, energy), by default all. Raises InputError, and
        MachineError without pandas.
        """
        from flexmbs.exports.data_frames import data_frame

        return data_frame(self, tables)

    def to_xarray(self) -> "Dataset":
        """Xarray dataset of positions, forces and energies over time.

        Frames, joints and axes have names, arrays have ``units``. Raises MachineError without
        xarray.
        """
        from flexmbs.exports.data_frames import dataset

        return dataset(self)

    def to_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write one CSV file per table and the hot spots of stressed bodies into a folder.

        Raises InputError, MachineError.
        """
        from flexmbs.files.output import ensure_folder
        from flexmbs.report.tables import write_tables

        return write_tables(self, ensure_folder(folder))

    def stress_to_csv(
        self, path: str | os.PathLike[str], body: str, nodes: int | Iterable[int]
    ) -> None:
        """Write the stress histories of nodes of a body for fatigue programs.

        Nodes have the numbers of the mesh. Columns: time, six components and von Mises stress [Pa]
        in body axes. Raises InputError, MachineError.
        """
        from flexmbs.durability.histories import write_histories

        write_histories(self.body(body).stress.history(nodes), path)

    def stress_to_uff(
        self, path: str | os.PathLike[str], body: str, nodes: int | Iterable[int]
    ) -> None:
        """Write the stress histories of `stress_to_csv` as a universal file (.uff).

        Datasets 164 and 58, for fatigue and test programs. Raises InputError, and MachineError
        without pyuff.
        """
        from flexmbs.durability.histories import write_universal

        write_universal(self.body(body).stress.history(nodes), path, self.model.name)

    def to_mat(self, path: str | os.PathLike[str]) -> None:
        """Write a MAT-file (version 5) with the arrays of `to_xarray`, their names and units.

        Raises InputError, MachineError.
        """
        from flexmbs.exports.matlab import write_mat

        write_mat(self, path)

    def to_vtkhdf(
        self,
        path: str | os.PathLike[str],
        *,
        instants: int | None = None,
        solids: "Sequence[Solid]" = (),
    ) -> None:
        """Write the moving bodies as a VTKHDF file for ParaView and PyVista.

        The time series contains displacement and stress.

        instants: number of equally spaced outputs, all by default; solids: see `report`. Raises
        InputError, MachineError."""
        from flexmbs.exports.vtkhdf import write_vtkhdf

        write_vtkhdf(self, path, instants=instants, solids=solids)

    def to_gltf(
        self,
        path: str | os.PathLike[str],
        *,
        instants: int | None = None,
        solids: "Sequence[Solid]" = (),
    ) -> None:
        """Write the moving bodies as a glTF file with an animation, for other viewers.

        The file is binary (.glb), or text where the name ends with .gltf. Arguments: see
        `to_vtkhdf`. Raises InputError, MachineError.
        """
        from flexmbs.exports.gltf import write_gltf

        write_gltf(self, path, instants=instants, solids=solids)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: ModelData | None = None) -> Self:
        """Solution stored in a file, with its model.

        The file contains no user functions: all views are available, but operations that would
        call them (states, runs, studies of the model) are rejected unless ``model``, the model of
        the run, is given. Raises InputError naming the file and the item.
        """
        from flexmbs.results.storage import read

        if model is not None:
            require_model(model)
        return read(path, model, cls, Model)
