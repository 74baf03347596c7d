"""Structure of the code: lengths, parameters, import cycles, and kinds named outside of their own
file.

    python reports/structure/study.py                     prints the table next to that in before.json
    python reports/structure/study.py --save before.json  of the current tree

It reads the sources only, without importing the packages. `grimp` comes with import-linter (the
extra dev).
"""

import argparse
import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp

ROOT = Path(__file__).parents[2]
PACKAGES = ("flexmbs", "preprocess")
KERNELS = {"part", "called", "entry", "kernel", "packed"}
LONG_FILE, LONG_FUNCTION, LONGEST_FUNCTION, MANY, MOST = 300, 40, 60, 6, 8
WIDTH = 100  # characters of a line
NO_SUBJECT = re.compile(
    r"(What|Whether|Those|How|By|That|Which|Where|If|It|They|So|As|For|Of|In|On|At|With|Without"
    r"|From|Who|Whose|When|Onto|Into|Are|Is|Has|Have|Does|Do|Can|May)[ ,:]"
)
REGISTRIES = {  # where the kinds of a family are declared, and their base class
    "joints": ("model/joints.py", "Joint"),
    "relations": ("model/relations", "Relation"),
    "elementary motions": ("model/motions.py", "Motion"),
    "forces": ("model/forces", "Force"),
    "contacts": ("model/contacts", "Contact"),
    "laws": ("model/laws.py", "Law"),
    "formalisms": ("formalisms", "Formalism"),
    "integrators": ("integrators", "Integrator"),
}


def sources() -> dict[Path, ast.Module]:
    """The syntax tree of every file of the packages."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """All functions and methods."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_kernel(function: ast.FunctionDef) -> bool:
    """Is it compiled?"""
    called = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(isinstance(each, ast.Name) and each.id in KERNELS for each in called)


def parameters(function: ast.FunctionDef) -> int:
    """Number of parameters, without ``self`` and ``cls``."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    assert function.end_lineno is not None
    first = function.body[0]
    doc = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    said = (first.end_lineno or 0) - first.lineno + 1 if doc else 0
    return function.end_lineno - function.lineno + 1 - said


def comment_lines(path: Path) -> int:
    """Lines with a comment."""
    text = path.read_text(encoding="utf-8")
    return sum(
        token.type == tokenize.COMMENT
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def inner_imports(tree: ast.Module) -> int:
    """Imports of the packages inside functions."""
    found = (
        node
        for function in functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom)
    )
    return sum((node.module or "").split(".")[0] in PACKAGES for node in found)


def circles(typing: bool) -> list[list[str]]:
    """Strongly connected sets of modules, with the imports that only type checkers see or without
    them.
    """
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=not typing, cache_dir=None)
    reached = {module: graph.find_upstream_modules(module) for module in graph.modules}
    found: dict[str, list[str]] = {}
    for module in sorted(graph.modules):
        together = sorted(
            {module, *(other for other in reached[module] if module in reached[other])}
        )
        if len(together) > 1:
            found.setdefault(together[0], together)
    return list(found.values())


def kinds(trees: dict[Path, ast.Module]) -> dict[str, str]:
    """For each family: how often its kinds are named outside of their own files and of lists of
    public names, and in how many files."""
    told = {}
    for family, (home, base) in REGISTRIES.items():
        where = ROOT / "flexmbs" / home
        own = {path: tree for path, tree in trees.items() if path == where or where in path.parents}
        names = {
            node.name
            for tree in own.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            and any(base in ast.unparse(each) for each in node.bases)
        }
        count: dict[Path, int] = {}
        for path, tree in trees.items():
            if path in own or path.name == "__init__.py":
                continue
            used = sum(isinstance(node, ast.Name) and node.id in names for node in ast.walk(tree))
            if used:
                count[path] = used
        told[family] = f"{sum(count.values())} in {len(count)} files"
    return told


def statements(tree: ast.Module) -> int:
    """Number of statements."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def largest_package(trees: dict[Path, ast.Module]) -> str:
    """Largest number of modules in one folder."""
    count = Counter(path.parent for path in trees if path.name != "__init__.py")
    folder, most = count.most_common(1)[0]
    return f"{most} ({folder.relative_to(ROOT)})"


def docstrings_without_subject(trees: dict[Path, ast.Module]) -> int:
    """Docstrings whose first word is a conjunction, preposition or auxiliary verb."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    texts = (
        ast.get_docstring(node) or ""
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    )
    return sum(bool(NO_SUBJECT.match(text)) for text in texts)


def index_constants(trees: dict[Path, ast.Module]) -> int:
    """Constants at the top of modules that are numbered by ``range`` and used as indices of arrays.

    Where no name of a group is within the brackets of an index, in its module or in one that
    imports it, the group is an enumeration.
    """
    indices = {path: _names_in_indices(tree) for path, tree in trees.items()}
    imported = {path: _imported(tree) for path, tree in trees.items()}
    count = 0
    for path, tree in trees.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        users = [path, *(other for other in trees if module in imported[other])]
        for names in _numbered_by_range(tree):
            if any(names & indices[each] for each in users):
                count += len(names)
    return count


def _numbered_by_range(tree: ast.Module) -> Iterator[set[str]]:
    """Groups of names that are assigned by ``range`` at the top of a module."""
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) == "range"
        ):
            yield {each.id for each in node.targets[0].elts if isinstance(each, ast.Name)}


def _names_in_indices(tree: ast.Module) -> set[str]:
    """Names within the brackets of indices."""
    return {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        for name in ast.walk(node.slice)
        if isinstance(name, ast.Name)
    }


def _imported(tree: ast.Module) -> set[str]:
    """Modules from which names are imported."""
    return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def unused_parameters(function: ast.FunctionDef) -> int:
    """Number of parameters that the body does not name."""
    named = {
        node.id for each in function.body for node in ast.walk(each) if isinstance(node, ast.Name)
    }
    return sum(each.arg not in named for each in function.args.args)


def shared_class_names(trees: dict[Path, ast.Module]) -> int:
    """Names of classes that two or more modules define."""
    count = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    return sum(n > 1 for n in count.values())


def record_columns(trees: dict[Path, ast.Module]) -> int:
    """Integers at the top of system/records.py that name columns."""
    tree = trees[ROOT / "flexmbs" / "system" / "records.py"]
    targets = (
        target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
    )
    names = (
        name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    )
    return sum(bool(re.fullmatch(r"[A-Z][A-Z0-9_]*", name)) for name in names)


def measured() -> dict[str, Any]:
    """The figures of the tree."""
    trees = sources()
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    every = [(path, each) for path, tree in trees.items() for each in functions(tree)]
    kernels = [(path, each) for path, each in every if is_kernel(each)]
    widest = max(kernels, key=lambda pair: parameters(pair[1]))
    longest = max(every, key=lambda pair: length(pair[1]))
    most = max(lines, key=lambda path: lines[path])
    real = circles(typing=False)
    return {
        "files": len(lines),
        "lines": sum(lines.values()),
        "statements": sum(map(statements, trees.values())),
        "most modules in a folder": largest_package(trees),
        f"lines over {WIDTH} characters": sum(
            len(line) > WIDTH
            for path in trees
            for line in path.read_text(encoding="utf-8").splitlines()
        ),
        "docstrings without a subject": docstrings_without_subject(trees),
        "class names of two or more modules": shared_class_names(trees),
        "constants that number the entries of arrays": index_constants(trees),
        f"files above {LONG_FILE} lines": sum(n > LONG_FILE for n in lines.values()),
        "longest file": f"{lines[most]} ({most.relative_to(ROOT)})",
        "functions": len(every),
        f"functions above {LONG_FUNCTION} lines": sum(
            length(each) > LONG_FUNCTION for _, each in every
        ),
        f"functions above {LONGEST_FUNCTION} lines": sum(
            length(each) > LONGEST_FUNCTION for _, each in every
        ),
        "longest function": f"{length(longest[1])} ({longest[1].name})",
        "kernels": len(kernels),
        f"kernels with at most {MANY} parameters": f"{sum(parameters(k) <= MANY for _, k in kernels) / len(kernels):.0%}",
        f"kernels with more than {MOST} parameters": sum(parameters(k) > MOST for _, k in kernels),
        "most parameters of a kernel": f"{parameters(widest[1])} ({widest[1].name})",
        "unused parameters of kernels": sum(unused_parameters(k) for _, k in kernels),
        "comment lines": f"{sum(map(comment_lines, trees)) / sum(lines.values()):.1%}",
        "import cycles": len(real),
        "files in import cycles": sum(map(len, real)),
        "imports inside functions": sum(map(inner_imports, trees.values())),
        "integers that name columns of records": record_columns(trees),
        **{f"{family} named elsewhere": text for family, text in kinds(trees).items()},
    }


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--save", type=Path, help="JSON file for the figures")
    chosen = asked.parse_args()
    now = measured()
    if chosen.save:
        chosen.save.write_text(
            json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    path = Path(__file__).parent / "before.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for key, value in now.items():
        print(f"| {key} | {before.get(key, '')} | {value} |")


if __name__ == "__main__":
    main()
