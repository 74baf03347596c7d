"""The theory page, the table of equations and the walks of docs/dev stay true to the code: what
they name exists, formulas are closed."""

import ast
import functools
import pathlib
import re

import flexmbs as fm
from flexmbs.studies.terms.articulated_terms import ArticulatedTerms
from flexmbs.studies.terms.body_terms import BodyTerms
from flexmbs.studies.terms.forces_by_cause import ForcesByCause
from flexmbs.studies.terms.matrices import Matrices
from flexmbs.studies.terms.open_chain import OpenChain

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", PAGE, re.MULTILINE)
LISTS = ("Sources",)  # sections without equations


def named(text: str) -> list[tuple[str, str]]:
    """(file, name) of all that the lines "Code:" in a text name, as in
    `flexmbs/dynamics/inertia.py: mass_matrix, moments`.
    """
    lines = re.findall(r"^Code: (.+)\.$", text, re.MULTILINE)
    found = [each for line in lines for each in re.findall(r"`([^`:]+): ([^`]+)`", line)]
    return [(path, name) for path, names in found for name in names.split(", ")]


@functools.cache
def defined(path: str) -> frozenset[str]:
    """Names that a module defines: functions, classes, "Class.method" and constants."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef)
            }
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def test_sections_end_with_the_code_of_their_equations():
    for title, text in SECTIONS:
        if not title.endswith(LISTS):
            last = text.strip().splitlines()[-1]
            assert named(last), f"section {title} ends with {last!r}"
            assert (
                re.sub(r"`[^`:]+: [^`]+`", "", last)
                == "Code: " + ", " * (last.count("`") // 2 - 1) + "."
            ), title


def test_what_the_theory_page_names_exists():
    missing = [
        f"{path}: {name}"
        for path, name in dict.fromkeys(named(PAGE))
        if not (ROOT / path).is_file() or name not in defined(path)
    ]
    assert not missing, "docs/theory.md names missing code:\n" + "\n".join(missing)


def test_the_paths_through_the_code_exist():
    text = (ROOT / "docs" / "dev" / "walks.md").read_text(encoding="utf-8")
    steps = [re.findall(r"^\d+\. .*$", path, re.MULTILINE) for path in text.split("\n*From ")[1:]]
    assert [len(path) <= 12 for path in steps] == [True] * 4
    names = [
        (path, name)
        for path, names in re.findall(r"`([\w/.]+): ([^`]+)`", text)
        for name in names.split(", ")
    ]
    assert len(names) >= sum(map(len, steps))
    assert not [f"{path}: {name}" for path, name in names if name not in defined(path)]


def test_sections_are_numbered_and_references_to_them_lead_somewhere():
    numbers = [int(title.split(".")[0]) for title, _ in SECTIONS]
    assert numbers == list(range(1, len(SECTIONS) + 1))
    told = [int(n) for n in re.findall(r"sections? (\d+)", PAGE)] + [
        int(n) for n in re.findall(r"\((\d{1,2})\)", PAGE)
    ]
    assert told
    assert all(n in numbers for n in told)


def test_formulas_are_closed():
    text, blocks = re.subn(r"^\$\$.*?\$\$$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert blocks > 100
    for line in text.splitlines():  # formulas within the text end on their line
        bare = re.sub(r"`[^`]*`", "", line)
        assert bare.count("$") % 2 == 0, line
    for formula in re.findall(r"\$\$(.*?)\$\$|\$([^$]+)\$", PAGE, re.DOTALL):
        inside = "".join(formula)
        assert inside.count("{") == inside.count("}"), inside
        for kind in set(re.findall(r"\\begin\{(\w+)\}", inside)):
            assert inside.count(f"\\begin{{{kind}}}") == inside.count(f"\\end{{{kind}}}"), inside


EQUATIONS = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| [0-4A]\.\d.*$", EQUATIONS, re.MULTILINE)
]
# of the five lecture notes, and across them
ITEMS = {"0": 34, "1": 31, "2": 33, "3": 34, "4": 31, "A": 3}
PARTS = {
    "open_chain": OpenChain,
    "recursion[body]": ArticulatedTerms,
    "body(name)": BodyTerms,
    "forces": ForcesByCause,
}


def has(owner: type, name: str) -> bool:
    return hasattr(owner, name) or name in getattr(owner, "__dataclass_fields__", {})


def is_public(call: str) -> bool:
    """Whether `fm.name`, `fm.Robot.name`, `model.check()`, `fm.matrices(model).name` or a term of
    one of its parts exists.
    """
    if call == "model.check()":
        return has(fm.Model, "check")
    if call.startswith("fm.matrices(model)."):
        part, _, term = call.removeprefix("fm.matrices(model).").rpartition(".")
        return has(PARTS[part] if part else Matrices, term) and (
            not part or has(Matrices, re.split(r"[\[(]", part)[0])
        )
    owner, _, name = call.removeprefix("fm.").rpartition(".")
    return name in dir(fm) if not owner else has(getattr(fm, owner), name)


def test_every_item_of_the_lecture_notes_has_a_row():
    assert [row[0] for row in ROWS] == [
        f"{note}.{k}" for note, count in ITEMS.items() for k in range(1, count + 1)
    ]
    assert [row for row in ROWS if len(row) != 5 or not all(row)] == []


def test_what_the_table_of_equations_names_exists():
    for number, _, code, test, study in ROWS:
        call, *functions = re.findall(r"`([^`]+)`", code)
        assert is_public(call), (number, call)
        assert functions, number
        for each in (*functions, *re.findall(r"`([^`]+)`", test)):
            path, names = each.split(": ")
            assert (ROOT / path).is_file(), (number, path)
            assert set(names.split(", ")) <= defined(path), (number, each)
        assert test.startswith("`tests/"), number
        (link,) = re.findall(r"\((.+)\)", study)
        assert (ROOT / "docs" / link).is_file(), (number, link)


def test_every_study_of_the_theory_is_in_the_table_of_equations():
    pages = {page.parent.name for page in (ROOT / "reports" / "theory").glob("*/README.md")}
    assert pages == set(re.findall(r"reports/theory/(\w+)/README", EQUATIONS))
