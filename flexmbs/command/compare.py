"""``flexmbs compare``"""

import dataclasses
import math
from pathlib import Path
from typing import Any

from flexmbs.console.messages import progress_bar, put, put_json
from flexmbs.errors import InputError, SolverError


def compare(
    path: Path, given: dict[str, Any], *, every: bool, as_json: bool, access: dict[str, bool]
) -> int:
    """Print one row per formalism, coordinates and integrator as soon as it is available.

    Return 0 if all runs finished, else 3.
    """
    from flexmbs.robots.any_file import load_model
    from flexmbs.studies.run.compare import INTEGRATORS_COMPARED
    from flexmbs.studies.run.compare import compare as analysis

    model = load_model(path, allow_outside=access["allow_outside"], allow_code=access["allow_code"])
    options = {key: value for key, value in given.items() if value is not None}
    if every:
        options.setdefault("integrators", INTEGRATORS_COMPARED)
    if "t_end" not in options:
        if model.run is None:
            raise InputError(
                f"run.t_end: model '{model.name}' has no [run] table; give the end time, "
                "--t-end 1.0"
            )
        options["t_end"] = model.run.t_end
    with progress_bar(f"comparing {model.name}") as progress:
        found = analysis(
            model, progress=progress, tell=None if as_json else progress.put, **options
        )
    if as_json:
        rows = [
            {
                f.name: _without_nan(getattr(row, f.name))
                for f in dataclasses.fields(row)
                if f.name != "solution"
            }
            for row in found.rows
        ]
        put_json({"model": found.model, "verdict": found.verdict, "rows": rows})
    else:
        put("\n".join([*found.notes, found.verdict]))
    return 0 if found.finished else SolverError.exit_code


def _without_nan(value: Any) -> Any:
    """Value for JSON: None in place of NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value
