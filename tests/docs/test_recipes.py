"""The recipes run as they are typed and give the outputs that they show."""

import re
from pathlib import Path

import pytest
from recipes import ROOT, blocks, differences

from flexmbs._jit import COMPILED

FOLDER = ROOT / "docs" / "howto"
FORMATS = ROOT / "docs" / "formats"
PACKAGES = {  # of extras, by the pages that need them
    "assembly": ("netgen",),
    "cad": ("netgen",),
    "export": ("pandas", "xarray"),
    "fmu": ("fmpy", "pythonfmu3"),
    "learning": ("gymnasium",),
    "linearize": ("control",),
    "stress_and_fatigue": ("rainflow",),
    "sweep": ("pandas", "xarray"),
}
PAGES = [
    *sorted(path for path in FOLDER.glob("*.md") if path.stem != "index"),
    ROOT / "docs" / "start.md",
    *(FORMATS / f"{name}.md" for name in ("body", "solution")),
]


@pytest.mark.skipif(not COMPILED, reason="the runs of the recipes take long interpreted")
@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_recipe(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in PACKAGES.get(path.stem, ()):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(tmp_path)
    wrong = differences(path.read_text(encoding="utf-8"), tmp_path)
    assert not wrong, "\n".join(
        f"{path.name} shows\n{block.text}but the output is\n{output}" for block, output in wrong
    )


def test_there_are_thirty_recipes_and_each_is_listed_once() -> None:
    listed = re.findall(r"^(\w+)$", (FOLDER / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in PAGES if path.parent == FOLDER)
    assert len(listed) >= 30


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_a_recipe_shows_something(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    languages = [block.language for block in blocks(page)]
    assert {"python", "sh"} & set(languages)
    assert "text" in languages
    assert len(page.splitlines()) <= 140
