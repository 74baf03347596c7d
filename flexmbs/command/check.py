"""``flexmbs check``"""

from pathlib import Path

from flexmbs.console.messages import put, put_json
from flexmbs.errors import InputError
from flexmbs.files.file_types import BODY, kind_of


def check(path: Path, *, as_json: bool, allow_outside: bool, allow_code: bool) -> int:
    """Print the contents and problems of a model; return 0 if it is ready to run, else 2.

    Of CAD files, meshes and flexible bodies, print what ``preprocess inspect`` does.
    """
    from flexmbs.robots.any_file import CAD, MESHES, load_model

    if path.suffix.lower() in (*CAD, *MESHES) or kind_of(path) == BODY:
        from preprocess.command.inspect import inspect

        return inspect(path, unit=None, as_json=as_json, allow_outside=allow_outside)

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
