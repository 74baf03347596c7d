"""``flexmbs export``"""

from pathlib import Path

from flexmbs.console.messages import progress_bar, put
from flexmbs.errors import InputError, MachineError


def export(path: Path, folder: Path | None, *, csv: bool, vtu: bool, instants: int, times: list[float]) -> None:
    """Write the tables and bodies of a solution file into a folder. Raises InputError, MachineError."""
    from flexmbs.api.solution import Solution
    from flexmbs.report.tables import write_tables

    if not csv and not vtu:
        raise InputError("export: nothing to write; omit --no-csv or add --vtu")
    solution = Solution.load(path)
    target = folder or path.with_suffix("")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"{target}: cannot be created ({error.strerror}); check the folder's permissions or choose another"
        ) from None
    written = write_tables(solution, target) if csv else []
    if vtu:
        written += _bodies(solution, target, instants, times)
    put("\n".join(map(str, written)))


def _bodies(solution: object, folder: Path, instants: int, times: list[float]) -> list[Path]:
    from flexmbs.command.bodies import write_bodies

    with progress_bar("writing bodies") as progress:
        return write_bodies(solution, folder, instants, progress, times=times)  # type: ignore[arg-type]
