"""The machines of the gallery: short, listed, and each with a solution; the build of the
documentation runs them. Every public name has a group of the API."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))


def order() -> tuple[str, ...]:
    """The names in the extension that shows the machines."""
    tree = ast.parse((ROOT / "docs" / "_ext" / "machine_pages.py").read_text(encoding="utf-8"))
    (found,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ORDER"
    ]
    return tuple(ast.literal_eval(found))


def test_every_machine_has_a_place() -> None:
    assert sorted(order()) == [path.stem for path in SCRIPTS]
    assert len(SCRIPTS) >= 12


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_a_machine_is_a_short_script_with_a_solution(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) <= 40
    names = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert "solution" in names
    assert text.startswith('"""\n')


def test_every_public_name_has_a_group() -> None:
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    from written_pages import GROUPS, PREPROCESS, grouped

    import flexmbs as fm
    import preprocess as pp

    for package, groups in ((fm, GROUPS), (pp, PREPROCESS)):
        assert sorted(
            name for names in grouped(package, groups).values() for name in names
        ) == sorted(package.__all__)
