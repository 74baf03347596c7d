"""Every parameter of a public name is described, and the examples of docstrings run."""

import doctest
import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.declaration import Declaration

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
from docstrings import sections

PUBLIC = {f"{package.__name__}.{name}": getattr(package, name) for package in (fm, pp) for name in package.__all__}
CALLED = {
    name: thing
    for name, thing in PUBLIC.items()
    if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Declaration | BaseException))
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
WITH_EXAMPLES = {name: thing for name, thing in PUBLIC.items() if ">>>" in (inspect.getdoc(thing) or "")}


@pytest.mark.parametrize("name", sorted(name for name in CALLED if name.partition(".")[2] not in RECORDS))
def test_every_parameter_is_described(name: str) -> None:
    text = sections(inspect.getdoc(CALLED[name]) or "", CALLED[name])
    found = text.partition("Parameters\n----------\n")[2].partition("\n\nRaises")[0].splitlines()
    missing = [
        line for line, after in zip(found, [*found[1:], ""]) if " : " in line and not line.startswith(" ") and not after.strip()
    ]
    assert missing == []


@pytest.mark.skipif(not COMPILED, reason="the runs of the examples take long interpreted")
@pytest.mark.parametrize("name", sorted(WITH_EXAMPLES))
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing = WITH_EXAMPLES[name]
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {thing.__name__: thing}, name, None, None)
    told: list[str] = []
    with warnings.catch_warnings(), np.printoptions(legacy="1.25"):  # numbers of NumPy look like those of Python
        warnings.simplefilter("error", fm.AuditWarning)
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=told.append)
    assert result.attempted > 1
    assert result.failed == 0, "".join(told)
