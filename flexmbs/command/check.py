"""``flexmbs check``"""

from pathlib import Path

from flexmbs.console.messages import put, put_json
from flexmbs.errors import InputError


def check(path: Path, *, as_json: bool, allow_outside: bool, allow_code: bool) -> int:
    """Print the contents and problems of a model; return 0 if it is ready to run, else 2."""
    from flexmbs.robots.any_file import load_model

    try:
        model = load_model(path, allow_outside=allow_outside, allow_code=allow_code)
    except InputError as error:
        if not as_json:
            raise
        put_json({"ready": False, "errors": list(error.problems), "warnings": []})
        return error.exit_code
    report = model.check()
    if as_json:
        found = {"ready": not report.errors, "errors": report.errors, "warnings": report.warnings}
        put_json(
            {
                "model": model.name,
                **found,
                **report.sections,
                "constraint classes": report.classes,
            }
        )
    else:
        put(str(report))
    return InputError.exit_code if report.errors else 0
