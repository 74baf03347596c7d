"""``preprocess reduce``"""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.memory import peak_memory
from flexmbs.console.messages import note, progress_bar, put
from flexmbs.errors import InputError
from flexmbs.files.kinds import BODY
from flexmbs.files.reserve import reserved

if TYPE_CHECKING:
    from flexmbs.flexible_body.record import FlexibleBodyData


def reduce_file(
    path: Path, output: Path | None, *, force: bool, allow_outside: bool, allow_large: bool, keep: Path | None
) -> None:
    """Write the flexible body of a part file, unless an existing file is from the same inputs.

    Raises InputError, SolverError, MachineError.
    """
    target = output or path.with_suffix(".h5")
    with reserved((target, BODY)):
        _reduce(path, target, force=force, allow_outside=allow_outside, allow_large=allow_large, keep=keep)


def _reduce(path: Path, target: Path, *, force: bool, allow_outside: bool, allow_large: bool, keep: Path | None) -> None:
    from flexmbs.flexible_body.divided import DividedBodyData
    from preprocess.command.inspect import described, described_pieces
    from preprocess.inputs.warning import PreprocessWarning
    from preprocess.part_file import read_part
    from preprocess.part_file.digest import stored_digest

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = read_part(path, allow_outside=allow_outside)
        stored = None if force else stored_digest(target)
        if stored and stored == part.digest():
            put(f"unchanged: {target} (--force reduces it again)")
            return
        if part.division is not None and keep is not None:
            raise InputError("--keep: a part in pieces has a factor for each; omit it")
        with progress_bar("read and assemble", memory=True) as progress:
            data: FlexibleBodyData | DividedBodyData
            if part.division is not None:
                data = part.reduce_divided(progress=lambda step, fraction: progress(fraction, step), allow_large=allow_large)
            else:
                data = part.reduce(progress=lambda step, fraction: progress(fraction, step), allow_large=allow_large, keep=keep)
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, PreprocessWarning)]
    for line in dict.fromkeys(messages):  # without those of the compiler
        note(f"warning: {line}")
    data.save(target)
    if isinstance(data, DividedBodyData):
        put(described_pieces(data))
        put(_costs(_summed(piece.provenance for piece in data.pieces), peak_memory()))
    else:
        put(described(data))
        put(_costs(data.provenance, peak_memory()))
    put(f"flexible body: {target}")


def _summed(pieces: Iterable[Mapping[str, str | float]]) -> dict[str, float]:
    """The times of all pieces together, by step."""
    total: dict[str, float] = {}
    for facts in pieces:
        for key, value in facts.items():
            if key.startswith("time "):
                total[key] = total.get(key, 0.0) + float(value)
    return total


def _costs(provenance: Mapping[str, str | float], peak: float) -> str:
    """Wall time of each step and the largest memory."""
    times = {key.removeprefix("time "): float(value) for key, value in provenance.items() if key.startswith("time ")}
    parts = [f"{step} {seconds:.3g} s" for step, seconds in times.items()]
    return f"{', '.join(parts)}; {sum(times.values()):.3g} s in all, {peak / 1e9:.2g} GB at most"
