"""Study files: the arguments of `sweep` in TOML.

format = "flexmbs-sweep/1"
model = "arm.toml"
[parameters]
joints.elbow.q0 = { low = 0.5, high = 1.5, count = 5 }     # the keys of `Range`, `Normal`, `LogNormal`
bodies.tool.mass = [0.2, 0.4, 0.8]
[design]                                                   # a grid by default
kind = "grid"                                              # or "list"; "latin-hypercube", "sobol" … with count, seed
[outputs]
sag = "min frame fore/tip position z"                      # or "module:function", with --allow-code
[run]                                                      # of the model by default
t_end = 2.0
[parts]                                                    # with parameters parts.link.material.E
link = "link.toml"                                         # or "module:function", with --allow-code
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flexmbs.api.model import Model, load
from flexmbs.declaration import NestedError, Problem, close_names, raise_nested, shown
from flexmbs.errors import InputError
from flexmbs.model.functions import imports_allowed, named_function
from flexmbs.model.run import Run
from flexmbs.model.schema import DRAFT, FUNCTION, TEXT, Schema, one_of_kinds, record
from flexmbs.model.toml_read import importable
from flexmbs.studies.parameters.outputs import WORDS, Wanted
from flexmbs.studies.sweeps.designs import Design, Grid
from flexmbs.studies.sweeps.named_outputs import checked_outputs
from flexmbs.studies.sweeps.ranges import Axis, LogNormal, Normal, Range, axis_of, read_spread
from flexmbs.toml.document import Locator, ProblemCollector, read_document

FORMAT = "flexmbs-sweep/1"
KEYS = ("format", "model", "parameters", "design", "outputs", "run", "parts")
TABLES = ("parameters", "design", "outputs", "run", "parts")
# keys by which a table is a range or a distribution
RANGE = {*Range.field_names(), "mean", "median"}


class StudyFile(NamedTuple):
    """Content of a study file.

    run: None for that of the model. parts: paths of part files, and functions.
    """

    model: Model
    parameters: dict[str, Axis]
    design: Design
    outputs: dict[str, Wanted]
    run: Run | None
    parts: dict[str, Path | Callable[..., Any]]


def read_study(path: Path, *, allow_outside: bool = False, allow_code: bool = False) -> StudyFile:
    """The study in a file. Raises `InputError` with every problem, one line each."""
    document, notes = read_document(path, "sweep"), ProblemCollector()
    table, locator = document.table, Locator(path.parent, allow_outside, "study")
    notes.attempt((), lambda: _check_keys(table))
    tables = {
        key: notes.attempt((key,), lambda key=key: _as_table(table.get(key, {}))) or {}  # type: ignore[misc]
        for key in TABLES
    }
    design = notes.attempt(("design",), lambda: Design.read_kind(tables["design"], Grid.kind))
    run = notes.attempt(("run",), lambda: Run.read(tables["run"])) if "run" in table else None
    axes: dict[str, Axis] = {}
    for keys, given in flattened(tables["parameters"]):
        name = ".".join(keys)
        if name in axes:
            notes.problems.append(Problem(("parameters", *keys), "is given twice; keep one"))
        axes[name] = notes.attempt(
            ("parameters", *keys),
            lambda name=name, given=given: _axis(name, given),  # type: ignore[misc]
        )
    with imports_allowed(allow_code), importable(path.parent if allow_code else None):
        outputs = {
            name: notes.attempt(("outputs", name), lambda given=given: _output(given))  # type: ignore[misc]
            for name, given in tables["outputs"].items()
        }
        parts = {
            name: notes.attempt(
                ("parts",),
                lambda name=name, given=given: _part(name, given, locator),  # type: ignore[misc]
            )
            for name, given in tables["parts"].items()
        }
    file = (
        notes.attempt((), lambda: locator.path(table["model"], "model"))
        if isinstance(table.get("model"), str)
        else None
    )
    if notes.problems:
        raise document.refusal(notes.problems)
    if file is None:
        raise document.refusal(
            [Problem(("model",), 'names no model file; give one, model = "arm.toml"')]
        )
    model = load(file, allow_outside=allow_outside, allow_code=allow_code)
    return StudyFile(model, axes, design, checked_outputs(outputs), run, parts)


def flattened(
    table: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(key path, value) of all values in nested tables.

    Keys with dots are tables in tables, the innermost one may be a range.
    """
    for key, value in table.items():
        if isinstance(value, Mapping) and not set(value) & RANGE:
            yield from flattened(value, (*path, key))
        else:
            yield (*path, key), value


def _check_keys(table: Mapping[str, Any]) -> None:
    """Raise `NestedError` for unknown keys or another format of a study file."""
    problems = [
        Problem((key,), f"unknown key; {close_names(key, KEYS)}")
        for key in table
        if key not in KEYS
    ]
    if table.get("format") != FORMAT:
        given = (
            f"is {shown(table['format'])}; this version reads"
            if "format" in table
            else "is missing; a study begins with format ="
        )
        problems.append(Problem(("format",), f"{given} '{FORMAT}'"))
    raise_nested(problems)


def _as_table(value: object) -> Mapping[str, Any]:
    """Raise `NestedError` unless a value is a table."""
    if not isinstance(value, Mapping):
        raise NestedError.at((), f"must be a table, not {shown(value)}")
    return value


def _axis(name: str, given: Any) -> Axis:
    """Values or distribution of a parameter from a study file. Raises `NestedError`."""
    if isinstance(given, Mapping):
        return read_spread(given)
    try:
        return axis_of(name, given)
    except InputError as error:
        raise NestedError(
            [Problem((), problem.partition(": ")[2]) for problem in error.problems]
        ) from None


def _output(given: Any) -> Any:
    """Output from a file: a text, or the function that it names."""
    return (
        _function(given) if isinstance(given, str) and ":" in given and " " not in given else given
    )


def _part(name: str, given: Any, locator: Locator) -> Path | Callable[..., Any]:
    """Part from a file: path of a part file, or named function."""
    if not isinstance(given, str):
        raise NestedError.at(
            (name,), f"must be the name of a part file or 'module:function', not {shown(given)}"
        )
    return locator.path(given, name) if given.endswith(".toml") else _function(given, name)


def _function(given: str, *key: str) -> Callable[..., Any]:
    """Function named by "module:function". Raises `NestedError`."""
    try:
        return named_function(given)
    except ValueError as error:
        raise NestedError.at(key, str(error)) from None


def sweep_schema() -> Schema:
    """JSON schema of ``flexmbs-sweep`` files."""
    scalar: Schema = {"type": ["number", "string", "boolean"]}
    listed: Schema = {"type": "array", "items": scalar, "minItems": 1}
    values: Schema = {
        "anyOf": [
            listed,
            record(Range),
            record(Normal),
            record(LogNormal),
            {"$ref": "#/$defs/parameters"},
        ]
    }
    channel: Schema = {
        "type": "string", "pattern": f"^({'|'.join((*WORDS, 'at [0-9.eE+-]+'))}) .+",
        "description": "A word and a channel: 'max joint elbow.0 effort'.",
    }  # fmt: skip
    design = one_of_kinds({kind: cls for kind, cls in Design.kinds.items()})
    return {
        "$schema": DRAFT,
        "title": "Sweep of flexmbs",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "model", "parameters", "outputs"],
        "properties": {
            "format": {"const": FORMAT},
            "model": TEXT | {"description": "The model file."},
            "parameters": {"$ref": "#/$defs/parameters"},
            "design": design,
            "run": record(Run),
            "outputs": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": [channel, FUNCTION]},
            },
            "parts": {
                "type": "object",
                "additionalProperties": {"anyOf": [TEXT | {"pattern": r"\.toml$"}, FUNCTION]},
            },
        },
        "$defs": {
            "parameters": {"type": "object", "minProperties": 1, "additionalProperties": values}
        },
    }
