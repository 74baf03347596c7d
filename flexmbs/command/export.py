"""``flexmbs export``"""

from pathlib import Path
from typing import NamedTuple

from flexmbs.console.messages import progress_bar, put
from flexmbs.errors import InputError
from flexmbs.files.output import ensure_folder


class ExportOptions(NamedTuple):
    """Formats to write, and the number of instants or the times (s) of the bodies."""

    csv: bool
    mat: bool
    vtu: bool
    vtkhdf: bool
    gltf: bool
    instants: int
    times: list[float]


def export(path: Path, folder: Path | None, wanted: ExportOptions) -> None:
    """Write the tables and bodies of a solution file into a folder.

    Raises InputError, MachineError.
    """
    from flexmbs.api.solution import Solution
    from flexmbs.exports.gltf import write_gltf
    from flexmbs.exports.vtkhdf import write_vtkhdf

    if not any((wanted.csv, wanted.mat, wanted.vtu, wanted.vtkhdf, wanted.gltf)):
        raise InputError(
            "export: nothing to write; omit --no-csv or add --mat, --vtkhdf, --gltf or --vtu"
        )
    solution = Solution.load(path)
    target = ensure_folder(folder or path.with_suffix(""))
    written = solution.to_csv(target) if wanted.csv else []
    if wanted.mat:
        written.append(target / f"{path.stem}.mat")
        solution.to_mat(written[-1])
    if wanted.vtu:
        written += _bodies(solution, target, wanted.instants, wanted.times)
    if wanted.vtkhdf:
        written.append(target / f"{path.stem}.vtkhdf")
        write_vtkhdf(solution, written[-1], instants=wanted.instants, times=wanted.times)
    if wanted.gltf:
        written.append(target / f"{path.stem}.glb")
        write_gltf(solution, written[-1], instants=wanted.instants, times=wanted.times)
    put("\n".join(map(str, written)))


def _bodies(solution: object, folder: Path, instants: int, times: list[float]) -> list[Path]:
    """Write the files of the bodies with a progress bar; their paths."""
    from flexmbs.command.bodies import write_bodies

    with progress_bar("writing bodies") as progress:
        return write_bodies(solution, folder, instants, progress, times=times)  # type: ignore[arg-type]
