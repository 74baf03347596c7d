"""The public names of the packages: one line of the stub to each."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import flexmbs as fm
import preprocess as pp

PACKAGES = pytest.mark.parametrize("package", [fm, pp])


def homes(package: ModuleType) -> list[tuple[str, str]]:
    """(name, module) of each import in the stub, which type checkers read too."""
    tree = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [
        (alias.asname or "", f"{package.__name__}.{node.module or alias.name}")
        for node in imports
        for alias in node.names
    ]


@PACKAGES
def test_public_names_are_few_and_each_has_one_home(package: ModuleType) -> None:
    assert sorted(name for name, _ in homes(package)) == sorted(set(package.__all__))
    kinds = [
        name
        for name in package.__all__
        if isinstance(getattr(package, name), type) and "kind" in vars(getattr(package, name))
    ]
    # beside the kinds of items, of which there may be many
    assert len(package.__all__) - len(kinds) <= 76
    assert set(package.__all__) <= set(dir(package))


@PACKAGES
def test_every_public_name_exists(package: ModuleType) -> None:
    for name, home in homes(package):
        module = importlib.import_module(home)
        assert getattr(package, name) is (
            module if home == f"{package.__name__}.{name}" else getattr(module, name)
        )


@PACKAGES
def test_unknown_name(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="Modell"):
        package.Modell  # noqa: B018


@PACKAGES
def test_public_names_are_seen_before_they_are_used(package: ModuleType) -> None:
    """Completion in a shell calls `dir` before anything is imported."""
    code = (
        f"import {package.__name__} as p; assert set(p.__all__) <= set(dir(p)), "
        "set(p.__all__) - set(dir(p))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""


@PACKAGES
def test_importing_the_package_imports_nothing_heavy(package: ModuleType) -> None:
    code = (
        f"import sys, {package.__name__}, flexmbs.errors; "
        "print(sorted({'numpy', 'numba', 'pydantic', 'scipy', 'h5py'} & set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
