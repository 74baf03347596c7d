"""Fingerprints of kernels: they change with everything that compiled code depends on, and with
nothing else.
"""

import ast
import importlib
import itertools
import pkgutil
import re
import shutil
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flexmbs
import flexmbs._jit as jit
import preprocess
from flexmbs._jit.fingerprints import PACKAGES, fingerprint
from flexmbs._jit.record_layout import layout, layout_text

ROOT = Path(jit.__file__).parents[2]
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
# functions that take plain functions as kernels
BINDERS = {"entry", "seldom_entry", "bound_entry", "rebound", "part", "called", "kernel"}
numbers = itertools.count()

# a kernel, a helper of another module with a constant, a record, a default value, a closure
HELPER = """
from typing import NamedTuple
from flexmbs._jit import part

FACTOR = 2.0
TABLE = (1.0, 2.0)

class Pair(NamedTuple):
    a: float
    b: float

@part
def scaled(x, power=2):
    return FACTOR * x ** power + TABLE[0]

def shifted(offset):
    @part
    def shift(x):
        return x + offset
    return shift

three = shifted(3.0)
"""
KERNEL = """
from preprocess.of_test_helper import Pair, scaled, three
import preprocess.of_test_helper as module
from flexmbs._jit import kernel

@kernel
def first(x):
    \"\"\"One word.\"\"\"
    pair = Pair(x, 1.0)
    return scaled(pair.a) + pair.b

@kernel
def second(x):
    return three(x) * module.TABLE[1]

@kernel
def third(x):
    if x > 0.0:
        return x * third(x - 1.0)
    return 1.0
"""


def modules(kernel: str = KERNEL, helper: str = HELPER) -> types.ModuleType:
    """The module of the kernels, imported with its helper."""
    for name, text in (("of_test_helper", helper), ("of_test", kernel)):
        module = types.ModuleType(f"preprocess.{name}")
        sys.modules[module.__name__] = module
        setattr(preprocess, name, module)  # for `import … as`
        exec(compile(text, f"{next(numbers)}.py", "exec"), vars(module))
    return module


def prints(module: types.ModuleType) -> list[str | None]:
    return [fingerprint(getattr(module, name)) for name in ("first", "second", "third")]


def changed(kernel: str = KERNEL, helper: str = HELPER) -> list[bool]:
    """For each of the kernels, True if its fingerprint is another than before the edit."""
    assert (kernel, helper) != (KERNEL, HELPER)
    before, after = prints(modules()), prints(modules(kernel, helper))
    assert None not in (*before, *after)
    return [one != other for one, other in zip(before, after)]


def edited(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def test_docstrings_comments_and_lines_do_not_count() -> None:
    assert prints(modules()) == prints(modules())
    text = edited(KERNEL, "One word.", "Other words.")
    text = edited(text, "    pair =", "    # a comment\n\n    pair =")
    text = "\n\n# a comment\n" + text
    assert changed(text) == [False] * 3
    assert changed(helper="# a comment\n\n" + HELPER) == [False] * 3


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("FACTOR = 2.0", "FACTOR = 2.5", [True, False, False]),
        ("FACTOR = 2.0", "FACTOR = 2", [True, False, False]),
        ("power=2", "power=3", [True, False, False]),
        ("(1.0, 2.0)", "(1.0, 3.0)", [True, True, False]),
        ("(1.0, 2.0)", "(1.0, -0.0)", [True, True, False]),
        ("shifted(3.0)", "shifted(4.0)", [False, True, False]),
        ("a: float\n    b: float", "b: float\n    a: float", [True, False, False]),
        ("x + offset", "x - offset", [False, True, False]),
        ("import part\n", "import called as part\n", [True, True, False]),
        ("class Pair", "UNUSED = 1\nclass Pair", [False] * 3),
    ],
)
def test_constants_helpers_and_records_count(old: str, new: str, expected: list[bool]) -> None:
    assert changed(helper=edited(HELPER, old, new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("+ pair.b", "- pair.b", [True, False, False]),
        ("+ pair.b", "+ 2.0 * pair.b", [True, False, False]),
        ("x - 1.0", "x - 2.0", [False, False, True]),
        (
            "@kernel\ndef third",
            "from flexmbs._jit import seldom\n@seldom\ndef third",
            [False, False, True],
        ),
    ],
)
def test_code_counts(old: str, new: str, expected: list[bool]) -> None:
    """Options of functions that are called count; here the function calls itself."""
    assert changed(edited(KERNEL, old, new)) == expected


def test_a_replaced_global_is_noticed_before_the_code_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fingerprint that was computed first is remembered; a second look must differ."""
    module = modules()
    key = fingerprint(module.second)
    monkeypatch.setattr(jit, "compiler_unchanged", lambda: True)
    assert jit.may_be_kept(module.second, key)
    module.module.TABLE = (1.0, 7.0)
    assert fingerprint(module.second) == key
    assert not jit.may_be_kept(module.second, key)


def test_objects_of_unknown_content_have_none() -> None:
    assert fingerprint(lambda x: x) is None  # not of these packages
    for value in ("object()", "{1: 2.0}", "lambda x: open", "__import__('json')"):
        text = KERNEL + f"\nUNKNOWN = {value}\n@kernel\ndef fourth(x):\n    return UNKNOWN\n"
        found = fingerprint(modules(text).fourth)
        assert (found is None) == ("lambda" not in value), value
    cycle = "\n@kernel\ndef odd(x):\n    return even(x)\n@kernel\ndef even(x):\n    return odd(x)\n"
    assert fingerprint(modules(KERNEL + cycle).odd) is None


def test_layouts_count_by_the_names_of_their_fields() -> None:
    from collections import namedtuple

    one, other = (namedtuple("Record", names) for names in ("a b", "b a"))
    one.__module__ = other.__module__ = "preprocess.of_test"
    texts = {layout_text(layout(kind(1.0, 2.0))) for kind in (one, other)}
    assert len(texts) == 2


def all_modules() -> list[types.ModuleType]:
    return [
        importlib.import_module(found.name)
        for package in (flexmbs, preprocess)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if ".command" not in found.name and "__main__" not in found.name
    ]


@pytest.mark.skipif(not jit.COMPILED, reason="kernels are plain functions")
def test_every_kernel_of_the_packages_has_a_fingerprint() -> None:
    """Else it would be compiled in each process. No two of them are the same."""
    from flexmbs._jit.address import Entry, PackedKernel
    from flexmbs.dynamics import law_calls
    from flexmbs.formalisms import FORMALISMS, calls
    from flexmbs.law_kernel import LAW_KERNELS

    kinds = jit.Lazy, Entry, PackedKernel
    found = {
        id(value): value
        for module in all_modules()
        for value in vars(module).values()
        if isinstance(value, kinds)
    }
    kernels: list[Any] = list(found.values())
    own = [law for law in LAW_KERNELS if law.value.__module__.split(".")[0] in PACKAGES]
    kernels += [law_calls._entry(law.number) for law in own]
    kernels += [each for form in FORMALISMS.values() for each in calls.of_formalism(form) if each]
    assert len(kernels) > 700
    made: dict[str | None, Callable[..., Any]] = {fingerprint(each): each for each in kernels}
    assert None not in made, made[None]
    functions = {getattr(each, "py_func", None) or each.function.py_func for each in kernels}
    assert len(made) == len(functions)


@pytest.mark.parametrize("name", ["record_layout.py", "numba_pipelines.py", "blas.py"])
def test_an_edit_of_the_compiler_changes_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "_jit"
    shutil.copytree(ROOT / "flexmbs" / "_jit", folder)
    before = jit.compiler_digest(folder)
    assert before == jit.compiler_digest()
    with open(folder / name, "a", encoding="utf-8") as file:
        file.write("\n# edited\n")
    assert jit.compiler_digest(folder) != before


def test_without_source_files_nothing_is_kept(tmp_path: Path) -> None:
    """As in a frozen program: a new version of the compiler layer would not be noticed."""
    assert jit.compiler_digest(tmp_path) == ""
    assert jit._cache_folder("") is None


def compiled(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that are compiled: decorated, or given to a function that binds them."""
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


def test_no_kernel_has_a_statement_that_raises() -> None:
    """A C function has no way to pass an exception on: the run would be lost."""
    checked = 0
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for function in compiled(ast.parse(path.read_bytes())):
                checked += 1
                raising = [
                    node for node in ast.walk(function) if isinstance(node, ast.Raise | ast.Assert)
                ]
                assert not raising, f"{path.relative_to(ROOT)}: {function.name}"
    assert checked > 500


@pytest.mark.skipif(jit.CACHE is None, reason="nothing is kept")
def test_object_files_need_nothing_of_python() -> None:
    """Only functions of C's library, and the one that reports an exception."""
    for file in sorted(Path(jit.CACHE or "", "code").glob("*")):
        head = file.read_bytes()[32:].partition(b"\n")[0].decode()
        found = [name for name in head.split()[1:] if re.match("_?Py|numba|NRT", name)]
        assert not found, (file.name, found)
