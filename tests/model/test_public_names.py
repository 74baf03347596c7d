"""The public names of the package."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import flexmbs as fm


def test_public_names_are_few_and_each_has_one_home() -> None:
    assert len(fm.__all__) == len(set(fm.__all__)) <= 100
    assert set(fm.__all__) == set(fm._HOME)
    assert set(fm.__all__) <= set(dir(fm))


def test_type_checkers_see_the_same_homes() -> None:
    tree = ast.parse(Path(fm.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("flexmbs.")]
    assert {alias.name: node.module for node in imports for alias in node.names} == fm._HOME


def test_every_public_name_exists() -> None:
    for name in fm.__all__:
        assert getattr(fm, name) is getattr(importlib.import_module(fm._HOME[name]), name)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'flexmbs' has no attribute 'Modell'"):
        fm.Modell  # noqa: B018


@pytest.mark.parametrize("package", ["flexmbs", "preprocess"])
def test_public_names_are_seen_before_they_are_used(package: str) -> None:
    """Completion in a shell asks `dir` before anything is imported."""
    code = f"import {package} as p; assert set(p.__all__) == set(p._HOME) <= set(dir(p)), set(p.__all__) - set(dir(p))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, flexmbs, flexmbs.errors; print(sorted({'numpy', 'numba', 'pydantic', 'scipy', 'h5py'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
