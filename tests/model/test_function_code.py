"""The digest of user functions follows what they compute: code, constants, enclosed values and the
functions that they call.
"""

import copy
import functools
import hashlib
import importlib
import pathlib
import subprocess
import sys
import types
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.function_code import code_digest, contents_named, functions_of

SOURCE = """
import numpy as np
GAIN, TABLE, KINDS = 2.0, np.array([1.0, 2.0]), {"a", "b", "c"}
def helper(x):
    return x * x
def law(t, x, v, *, limit=3.0):
    return min(limit, GAIN * helper(x)) + TABLE[0] * np.sin(t) + (v in {"a", "b", "c", "d"})
"""


def made(source: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"__name__": "user"}
    exec(compile(source, "user.py", "exec"), space)
    return space["law"]


@pytest.mark.parametrize(
    "old, new",
    [("GAIN * helper", "GAIN + helper"), ("x * x", "x * x * x"), ("GAIN, TABLE, KINDS = 2.0", "GAIN, TABLE, KINDS = 2.5"),
     ("[1.0, 2.0]", "[1.0, 2.1]"), ("limit=3.0", "limit=4.0"), ("np.sin", "np.cos")],
)  # fmt: skip
def test_every_change_of_the_computation_is_seen(old: str, new: str) -> None:
    assert code_digest(made(SOURCE)) == code_digest(made("\n# a remark\n" + SOURCE))
    assert code_digest(made(SOURCE.replace(old, new))) != code_digest(made(SOURCE))


def test_it_is_the_same_in_another_process() -> None:
    """Orders of sets change with the seed of the hashes; addresses with the process."""
    program = "from flexmbs.model.function_code import code_digest\nspace = {'__name__': 'user'}\n"
    program += (
        f"exec(compile({SOURCE!r}, 'user.py', 'exec'), space)\nprint(code_digest(space['law']))"
    )
    commands = [[sys.executable, "-c", program]] * 2
    found = {
        subprocess.run(each, capture_output=True, text=True, check=True).stdout.strip()
        for each in commands
    }
    assert found == {code_digest(made(SOURCE))}


class Gain:
    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, t: float) -> float:
        return self.k * t

    def method(self, t: float) -> float:
        return -self.k * t


def enclosing(k: Any) -> Callable[..., Any]:
    return lambda t: k * t


def within(k: float) -> Callable[..., Any]:
    """A global name that only an inner function uses."""
    space: dict[str, Any] = {"K": k}
    exec(
        compile(
            "def law(t):\n    return (lambda: K * t)() + sum(K for _ in range(2))",
            "user.py",
            "exec",
        ),
        space,
    )
    return space["law"]


def of_module(k: float) -> Callable[..., Any]:
    """A value of a module of the user, in a package of modules that know each other."""
    package, values = types.ModuleType("package"), types.ModuleType("package.values")
    for module in (package, values):
        module.__file__ = "/home/user/package.py"
        module.values, module.package, module.k = values, package, k  # type: ignore[attr-defined]
    space: dict[str, Any] = {"package": package}
    exec(compile("def law(t):\n    return package.values.k * t", "user.py", "exec"), space)
    return space["law"]


def scaled(k: float, t: float) -> float:
    return k * t


def recursive(n: int) -> int:
    return n * recursive(n - 1) if n else 1


@pytest.mark.parametrize(
    "make",
    [enclosing, Gain, lambda k: Gain(k).method, lambda k: functools.partial(scaled, k), lambda k: numba.njit(enclosing(k)),
     lambda k: enclosing(np.full(3, k)), lambda k: enclosing([1.0, {"k": k}]), lambda k: enclosing(enclosing(k)),
     lambda k: enclosing(Fraction(k)), lambda k: enclosing(pathlib.Path(f"mesh{k}.msh")), lambda k: enclosing(deque([k])),
     lambda k: within(k), lambda k: of_module(k),
     lambda k: fm.algebraic(residual=lambda t, x, v, y: [y[0] - k * x])(lambda t, x, v, y: y[0])],
)  # fmt: skip
def test_values_within_count(make: Callable[[float], Any]) -> None:
    assert code_digest(make(2.0)) == code_digest(make(2.0))
    assert code_digest(make(2.0)) != code_digest(make(2.5))


CALL = "    def __call__(self, t): return self.gain(t)\n"
GAIN = "    def gain(self, t): return {k} * t\n"
OF_FILES = {  # what is in which file, with a law in laws.py; {k} changes
    "method": {"laws.py": f"class Law:\n{CALL}{GAIN}law = Law()"},
    "method of a bound method": {"laws.py": f"class Law:\n{CALL}{GAIN}law = Law().gain"},
    "base": {"laws.py": f"class Base:\n{GAIN}class Law(Base):\n{CALL}law = Law()"},
    "attribute of a class": {
        "laws.py": "class Law:\n    k = {k}\n    def __call__(self, t): return self.k * t\nlaw = "
        "Law()"
    },
    "property": {
        "laws.py": "class Law:\n    def __call__(_, t): return _.k * t\n    k = property(lambda _: "
        "{k})\nlaw = Law()"
    },
    "static method": {
        "laws.py": "class Space:\n    f = staticmethod(lambda t: {k} * t)\ndef law(t): return "
        "Space.f(t)"
    },
    "member": {
        "laws.py": "import enum\nclass E(enum.Enum):\n    A = {k}\ndef law(t): return E.A.value * t"
    },
    "attribute": {"laws.py": "def law(t): return law.k * t\nlaw.k = {k}"},
    "bytes": {"laws.py": "K = memoryview(bytes([{k}]))\ndef law(t): return K[0] * t"},
    "table": {"laws.py": "import pandas\nK = pandas.Series([{k}])\ndef law(t): return K[0] * t"},
    "class of a module": {
        "helps.py": f"class Gain:\n{GAIN}",
        "laws.py": "import helps\ndef law(t): return helps.Gain().gain(t)",
    },
    "import within": {
        "helps.py": "K = {k}",
        "laws.py": "def law(t):\n    from helps import K as gain\n    return gain * t",
    },
    "module within": {
        "more/helps.py": "K = {k}",
        "laws.py": "def law(t):\n    import more.helps as m\n    return m.K * t",
    },
    "module by its name": {
        "helps.py": "K = {k}",
        "laws.py": 'import importlib\ndef law(t): return importlib.import_module("helps").K * t',
    },
    "module within by its name": {
        "more/helps.py": "K = {k}",
        "laws.py": 'import importlib\ndef law(t): return importlib.import_module("more.helps").K * t',
    },
    "module by the built-in function": {
        "helps.py": "K = {k}",
        "laws.py": 'def law(t): return __import__("helps").K * t',
    },
    "cache": {
        "laws.py": "import functools\n@functools.cache\ndef gain(t): return {k} * t\ndef law(t): "
        "return "
        "gain(t)"
    },
    "folder": {
        "more/helps.py": "K = {k}",
        "laws.py": "import more.helps\ndef law(t): return more.helps.K * t",
    },
    "relative": {
        "laws.py": "from more.within import law",
        "more/within.py": "def law(t):\n    from .helps import K\n    return K * t",
        "more/helps.py": "K = {k}",
    },
    "named as that of Python": {
        "calib/python/helps.py": "def gain(t): return {k} * t",
        "laws.py": "from calib.python import helps\ndef law(t): return helps.gain(t)",
    },
}


@pytest.mark.parametrize("files", OF_FILES.values(), ids=OF_FILES)
def test_changed_classes_and_modules_are_seen(
    files: dict[str, str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a law refers to, however its module is laid out; a call and a copy of the law change
    nothing.
    """
    if "pandas" in "".join(files.values()):
        pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for k, head in ((2, ""), (2, "# a remark\n"), (3, "")):
        for name, source in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(head + source.replace("{k}", str(k)) + "\n")
        for name in [
            each
            for each in sys.modules
            if each.partition(".")[0] in ("laws", "helps", "more", "calib")
        ]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        law = importlib.import_module("laws").law
        found.append(code_digest(law))
        assert law(1.0) == k
        copy.copy(law)
        assert code_digest(law) == found[-1]
    assert found[0] == found[1] != found[2]


def test_kinds_of_the_user_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their class is code, as a function is."""
    monkeypatch.setattr(fm.Chain, "kinds", dict(fm.Chain.kinds))  # of this test alone

    class Jib(fm.Chain, kind="jib"):
        """A joint of the user's own kind."""

    model = fm.Model("m")
    body = model.add(fm.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(Jib("j", model.ground, body, motions=(fm.motions.Rotate("y"),)))
    ((place, kind),) = functions_of(model)
    assert (place, kind) == ("joints.j", Jib)
    before = code_digest(kind)
    monkeypatch.setattr(Jib, "scale", 2.0, raising=False)
    assert code_digest(kind) != before


def test_functions_that_call_themselves_end() -> None:
    assert len(code_digest(recursive)) == 64


def test_chains_of_objects_end() -> None:
    chain: list[Any] = []
    for _ in range(5000):
        chain = [chain]
    assert len(code_digest(enclosing(chain))) == 64


def test_functions_of_a_model_by_place() -> None:
    model = fm.Model("m")
    body = model.add(fm.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("j", model.ground, body, axis="z"))
    law = enclosing(1.0)
    model.add(fm.JointTorque("push", "j", fm.PD(kp=1.0, kd=1.0, reference=fm.Function(law))))
    assert [function for _, function in functions_of(model)] == [law]
    ((place, _),) = functions_of(model)
    assert place.startswith("forces.push.")


def test_files_are_found_where_a_function_names_them(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.msh", "b.msh", "c.msh", "noending"):
        pathlib.Path(name).write_text("$MeshFormat")

    def build(mesh: str = "a.msh") -> Any:
        """c.msh is in running text only."""
        return [mesh, tmp_path / "b.msh", "absent.msh", "noending"]

    other = tmp_path / "b.msh"
    digest = hashlib.sha256(b"$MeshFormat").hexdigest()
    assert contents_named(build) == {"a.msh": digest, "b.msh": digest}
    assert contents_named(enclosing(other)) == {str(other): digest}


def test_files_are_found_beside_the_module_that_names_them(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module itself is known by its code."""
    (tmp_path / "table_beside.csv").write_text("3.0")
    (tmp_path / "law_beside.py").write_text(
        "import pathlib\ndef law(t):\n    return float((pathlib.Path(__file__).parent / "
        "'table_beside.csv').read_text())"
    )
    monkeypatch.syspath_prepend(tmp_path)
    law = importlib.import_module("law_beside").law
    assert law(0.0) == 3.0
    assert contents_named(law) == {
        str(tmp_path / "table_beside.csv"): hashlib.sha256(b"3.0").hexdigest()
    }


@pytest.mark.parametrize(
    "named",
    ["FOLDER / 'table.csv'", "BESIDE / 'table.csv'", "pathlib.Path(__file__).parent / 'data' / 'table.csv'",
     "f'{FOLDER}/table.csv'", "str(BESIDE) + '/table.csv'", "os.path.join('data', 'table.csv')", "'data/table.csv'"],
)  # fmt: skip
def test_files_are_found_in_folders_that_are_named(
    named: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table.csv").write_text("3.0")
    (tmp_path / "law_of_folder.py").write_text(
        "import os, pathlib\nFOLDER = pathlib.Path('data')\nBESIDE = "
        "pathlib.Path(__file__).parent / 'data'\n"
        f"def law(t):\n    return float(pathlib.Path({named}).read_text())\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "law_of_folder", raising=False)
    importlib.invalidate_caches()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    law = importlib.import_module("law_of_folder").law
    assert law(0.0) == 3.0
    assert {pathlib.Path(path).resolve() for path in contents_named(law)} == {
        (tmp_path / "data" / "table.csv").resolve()
    }
