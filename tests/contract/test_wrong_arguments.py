"""Wrong arguments of every kind of item, in Python and in model files: one line each, the same
text.

Every value in the table of an item is replaced by wrong ones: misspelt, swapped, duplicated, of
another type, not finite; keys are removed and misspelt. Nothing may raise anything but
`InputError`.
"""

import copy
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from any_models import _add_wanted, _whole, contents, registered
from draws import drawn

import flexmbs as fm
from flexmbs.model.check import declaration_report
from flexmbs.model.model import SECTIONS
from flexmbs.model.toml_read import model_of
from flexmbs.studies.run.options import default_formalism
from flexmbs.toml.document import Locator

Place = tuple[Any, ...]
# characters of a message: two or three lines of a terminal with lists of known names
LONGEST = 1000
KINDS = [each for each in registered() if not each.startswith(("table", "body", "motions"))]
FAST = KINDS[::6]  # in the default run


def declared(seed: int, wanted: str, folder: Path) -> tuple[fm.Model, dict[str, Any]] | None:
    """A random model that holds the ``wanted`` kind, and its file as a table."""
    for attempt in range(60):
        rng = np.random.default_rng((seed, attempt))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _whole(rng)
        if model is None:
            continue
        if not contents(model)[wanted]:
            _add_wanted(model, wanted, rng)
        if not contents(model)[wanted]:
            continue
        if any(getattr(body, "data", None) is not None for body in model.bodies.values()):
            continue  # files of bodies have tests of their own
        model.folder = folder
        try:
            table = tomllib.loads(model.to_toml())
        except fm.InputError:  # it holds functions without a name
            continue
        if not model_of(table, Locator(folder, False), fm.Model)[1]:
            return model, table
    return None


def values(value: Any, path: Place) -> Iterator[tuple[Place, Any]]:
    """Every value of a table with its path."""
    yield path, value
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        yield from values(each, (*path, key))


def wrong_values(value: Any) -> list[Any]:
    if isinstance(value, str):
        swapped = value[1::-1] + value[2:]
        return [
            value + "d",
            value[:-1],
            swapped,
            "",
            value.upper(),
            3.0,
            [value],
            {value: 1},
            True,
            value + "/nowhere",
            "ground",
            "a/b/c",
        ]
    if isinstance(value, bool):
        return ["yes", 2, [value]]
    if isinstance(value, int | float):
        return [
            -value or -1.0,
            0.0,
            float("nan"),
            float("inf"),
            "1",
            [value, value],
            True,
            1e300,
            {},
            -1,
            7,
        ]
    if isinstance(value, list):
        return [
            value + value[:1],
            value[:-1],
            [],
            "x",
            3.0,
            value[::-1],
            [value],
            {str(i): x for i, x in enumerate(value)},
        ]
    return [[], "x", {}, 3, {**value, "unknwon": 1}]


def changed(table: dict[str, Any], path: Place, make: Any) -> dict[str, Any]:
    """A copy of the table, in which ``make`` has changed the
    container of the last key of the path.
    """
    table = copy.deepcopy(table)
    inner = table
    for key in path[:-1]:
        inner = inner[key]
    make(inner, path[-1])
    return table


def mutations(table: dict[str, Any], item: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables with one wrong value, missing key or misspelt key within an item."""
    section, name = item
    for path, value in values(table[section][name], item):
        if len(path) < 3:
            continue
        for wrong in wrong_values(value):
            yield (
                f"{path} = {wrong!r}",
                changed(table, path, lambda inner, key, wrong=wrong: inner.__setitem__(key, wrong)),
            )
        if isinstance(path[-1], str) and path[-1] != "kind":
            yield f"{path} missing", changed(table, path, lambda inner, key: inner.pop(key))
            yield (
                f"{path} misspelt",
                changed(
                    table, path, lambda inner, key: inner.__setitem__(f"{key}x", inner.pop(key))
                ),
            )


def problems_in_file(table: dict[str, Any], folder: Path) -> set[str]:
    model, problems = model_of(table, Locator(folder, False), fm.Model)
    return set(map(str, problems)) or set(declaration_report(model).errors)


def problems_in_python(table: dict[str, Any], folder: Path) -> set[str] | None:
    """Problems of the same declarations in a script; None where their kind does not exist."""
    try:
        model = fm.Model(
            table["name"],
            gravity=table["gravity"],
            frames=table.get("frames", {}),
            cuts=table.get("cuts", ()),
        )
        model.folder = folder
        for section, family in SECTIONS.items():
            for name, given in table.get(section, {}).items():
                keys = {key: value for key, value in given.items() if key != "kind"}
                kind = given.get(
                    "kind", next(iter(family.kinds)) if len(family.kinds) == 1 else None
                )
                if not isinstance(kind, str) or kind not in family.kinds:
                    return None
                if isinstance(keys.get("file"), str):
                    keys["file"] = str(folder / keys["file"])
                model.add(family.kinds[kind](name=name, **keys))
    except fm.InputError as error:
        return set(error.problems)
    default_formalism(model, "joint")  # as `simulate`, which makes the topology before it reports
    return set(declaration_report(model).errors)


@pytest.mark.parametrize("seed", drawn(1, 4))
@pytest.mark.parametrize(
    "wanted", [pytest.param(each, marks=[] if each in FAST else pytest.mark.slow) for each in KINDS]
)
def test_wrong_arguments(wanted: str, seed: int, tmp_path: Path) -> None:
    found = declared(seed, wanted, tmp_path)
    if found is None:
        pytest.skip("its samples hold functions without a name or data in memory")
    table = found[1]
    section, kind = wanted.rsplit(maxsplit=1)
    family = SECTIONS.get(section)
    names = [
        name for name, given in table.get(section, {}).items() if given.get("kind", kind) == kind
    ]
    items = (
        [(section, names[0])]
        if family and names
        else [(key, name) for key in SECTIONS for name in table.get(key, {})][:2]
    )
    rng = np.random.default_rng(seed)
    cases = [case for item in items for case in mutations(table, item)]
    for what, wrong in (cases[k] for k in rng.permutation(len(cases))[:40]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            in_file, in_python = (
                problems_in_file(wrong, tmp_path),
                problems_in_python(wrong, tmp_path),
            )
        assert all("\n" not in line and len(line) < LONGEST for line in in_file), (what, in_file)
        if in_python is not None and in_file:  # a script stops at its first wrong item
            assert in_python, what
            assert in_python & in_file or not in_python - in_file, (what, in_file, in_python)
