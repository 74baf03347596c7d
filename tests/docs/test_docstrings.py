"""Every parameter of a public name is described, and every public name has an example that runs.

What a new name needs: a section ``Examples`` at the end of its docstring, as those of its
neighbours, with

* a first line ``>>> import flexmbs as fm`` or ``>>> import preprocess as pp``: what a user pastes
  runs, without other files;
* the name itself in use, ``fm.Name``, on the smallest model that shows it, in 3 to 10 lines;
* a result below a line, if possible one that a formula gives, with this formula in a comment: ``#
  √(k/m)/2π``;
* rounded numbers of Python (``round``, ``.round(6).tolist()``), no ``-0.0``, no warnings.
"""

import ast
import doctest
import inspect
import re
import sys
import warnings
from pathlib import Path

import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.declaration import Declaration

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
from docstrings import sections

PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in (fm, pp)
    for name in package.__all__
}
CALLED = {
    name: thing
    for name, thing in PUBLIC.items()
    if callable(thing)
    and not (isinstance(thing, type) and issubclass(thing, Declaration | BaseException))
}
RECORDS = (
    "Linearization",
    "FlexibleBodyData",
    "FlexibleFrame",
    "FrameRef",
    "Solution",
    "FEModel",
    "Mesh",
    "Part",
)  # results, not made by users
EXAMPLES = PUBLIC | {
    f"flexmbs.motions.{name}": getattr(fm.motions, name) for name in fm.motions.__all__
}
SHORT = {"flexmbs": "fm", "preprocess": "pp"}
FORMAT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LONGEST = 12  # lines of code, besides those of a file that the example writes
PACKAGES = {  # of extras, by the names that need them
    "fatigue": "rainflow",
    "rainflow": "rainflow",
    "export_fmu": "pythonfmu3",
    "cosimulate": "fmpy",
    "Saltelli": "SALib",
    "SobolIndices": "SALib",
    "sobol_indices": "SALib",
    "environment": "gymnasium",
    "mesh_cad": "netgen",
    "from_step": "netgen",
}
WARNINGS = (fm.AssemblyWarning, fm.AuditWarning, fm.ModelWarning, pp.PreprocessWarning)


def example(name: str) -> doctest.DocTest:
    """The section Examples of a public name. Raises AssertionError if there is none."""
    _, heading, shown = (inspect.getdoc(EXAMPLES[name]) or "").partition("Examples\n--------\n")
    assert heading, f"{name} has no example in its docstring.\n{__doc__}"
    return doctest.DocTestParser().get_doctest(shown, {}, name, None, None)


def undescribed(thing: object) -> list[str]:
    """Lines of the parameters of a public name that have no text below them."""
    text = sections(inspect.getdoc(thing) or "", thing)
    found = text.partition("Parameters\n----------\n")[2].partition("\n\nRaises")[0].splitlines()
    return [
        line
        for line, after in zip(found, [*found[1:], ""])
        if " : " in line and not line.startswith(" ") and not after.strip()
    ]


def test_every_parameter_is_described() -> None:
    names = [name for name in CALLED if name.partition(".")[2] not in RECORDS]
    assert {name: missing for name in names if (missing := undescribed(CALLED[name]))} == {}


def test_every_public_name_has_an_example() -> None:
    for name in EXAMPLES:
        check_form(name, example(name).examples)


def check_form(name: str, lines: list[doctest.Example]) -> None:
    """The example can be pasted, uses the name, shows a result and is short."""
    source = "".join(line.source for line in lines)
    package, _, own = name.partition(".")
    assert re.search(rf"^import {package} as {SHORT[package]}$", source, re.MULTILINE), (
        f"{name} cannot be pasted.\n{__doc__}"
    )
    assert re.search(rf"\b{SHORT[package]}\.{re.escape(own)}\b", source), (
        f"{name} is not used in its example.\n{__doc__}"
    )
    assert any(line.want or line.exc_msg for line in lines), (
        f"the example of {name} shows no result.\n{__doc__}"
    )
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))
    assert statements <= LONGEST, f"{name}: too long.\n{__doc__}"


@pytest.mark.skipif(not COMPILED, reason="the runs of the examples take long interpreted")
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if (package := PACKAGES.get(name.rpartition(".")[2])) is not None:
        pytest.importorskip(package)
    told: list[str] = []
    with warnings.catch_warnings():
        for category in WARNINGS:
            warnings.simplefilter("error", category)
        result = doctest.DocTestRunner(optionflags=FORMAT).run(example(name), out=told.append)
    assert result.failed == 0, "".join(told)
