"""Machine code on the disk is that of the present sources: its folder is named by a digest of all
that kernels are made of.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

import flexmbs._jit as jit

ROOT = Path(jit.__file__).parents[2]
SOURCES = {
    path: path.read_bytes()
    for package in jit.PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}
DECORATORS = {
    "kernel",
    "part",
    "called",
    "seldom",
    "entry",
    "seldom_entry",
    "packed",
    "law_kernel",
    "nonlinear_law",
    "LawPart",
}
# take plain functions
BINDERS = {"entry", "seldom_entry", "bound_entry", "rebound", "part", "called", "kernel"}


def digested(path: Path) -> bool:
    return jit._in_digest(path, SOURCES[path])


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(SOURCES[path])


@functools.cache
def imported(path: Path) -> dict[str, tuple[str, str]]:
    """Module and name there of the names that a file imports."""
    pairs = [
        (node.module, each)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    ]
    return {each.asname or each.name: (module or "", each.name) for module, each in pairs}


def compiled(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that are compiled: decorated, or given to what binds them."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in BINDERS]
    bound = {name.id for call in calls for name in ast.walk(call) if isinstance(name, ast.Name)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        node
        for node in functions
        if node.name in bound
        or any(ast.unparse(each).split("(")[0] in DECORATORS for each in node.decorator_list)
    ]


@functools.cache
def origin(module: str, name: str) -> Path | None:
    """File of this project that defines what is imported, through those that only pass it on."""
    if module.split(".")[0] not in jit.PACKAGES:
        return None
    place = ROOT.joinpath(*module.split("."), name)
    if place.with_suffix(".py") in SOURCES:  # a module
        return place.with_suffix(".py")
    path = place.parent.with_suffix(".py")
    path = path if path in SOURCES else place.parent / "__init__.py"
    return origin(*imported(path)[name]) if name in imported(path) else path


def test_all_that_kernels_use_is_in_the_digest() -> None:
    """Constants are in machine code, and the layout of records: an edit of their file would else
    run the old code.
    """
    found: dict[str, set[str]] = {}
    used = 0
    for path in SOURCES:
        names = imported(path)
        for function in compiled(tree_of(path)):
            assert digested(path), f"{path.relative_to(ROOT)} has the kernel {function.name}"
            for node in (each for statement in function.body for each in ast.walk(statement)):
                if isinstance(node, ast.Name) and node.id in names:
                    place = origin(*names[node.id])
                    used += place is not None
                    if place is not None and not digested(place):
                        found.setdefault(str(place.relative_to(ROOT)), set()).add(node.id)
    assert used > 3000
    assert not found, "say in the docstring of these files that they are sources of `flexmbs._jit`"


def test_records_of_kernels_are_in_the_digest() -> None:
    """The fields of a record by their order: kernels find them by name, machine code by place."""
    from flexmbs.dynamics import articulated_work
    from flexmbs.system import records

    for module in (records, articulated_work):
        assert digested(Path(module.__file__))


@pytest.mark.parametrize(
    "name",
    ["flexmbs/dynamics/articulated_work.py", "flexmbs/system/records.py", "flexmbs/_jit/words.py"],
)
def test_an_edit_changes_the_folder(name: str, tmp_path: Path) -> None:
    for path in SOURCES:
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(SOURCES[path])
    before = jit._source_digest(tmp_path)
    assert before == jit._source_digest()
    (tmp_path / name).write_bytes(SOURCES[ROOT / name] + b"\n# edited\n")
    assert jit._source_digest(tmp_path) != before


def test_no_kernel_has_a_statement_that_raises() -> None:
    """Loaded without Numba, a kernel that raises ends the process."""
    for path in SOURCES:
        for function in compiled(tree_of(path)):
            raising = [
                node for node in ast.walk(function) if isinstance(node, ast.Raise | ast.Assert)
            ]
            assert not raising, f"{path.relative_to(ROOT)}: {function.name}"


@pytest.mark.skipif(jit.CACHE is None, reason="nothing is kept")
def test_no_machine_code_has_an_exception() -> None:
    """Numba puts the exceptions that code may raise, pickled, beside it: none but that of an index
    of a tuple, which some loops over fixed ranges have."""
    for file in sorted(Path(jit.CACHE or "", "code").glob("*")):
        _, _, code = file.read_bytes().partition(b"\n")
        raised = set(re.findall(rb"builtins\x94\x8c.(\w+)\x94", code, re.DOTALL))
        assert raised <= {b"IndexError"}, (file.name, raised)
        assert raised == set() or b"tuple index out of range" in code
