"""Indices of kernels are compiled without wraparound: no kernel counts from the end of an array."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

import flexmbs
import preprocess
from flexmbs._jit import COMPILED

KERNELS = {"kernel", "part", "called", "seldom", "entry", "packed", "law_kernel", "nonlinear_law", "LawPart"}


def kernels(source: str) -> Iterator[ast.FunctionDef]:
    """Functions that are compiled."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(each).split("(")[0] in KERNELS for each in node.decorator_list):
            yield node


@pytest.mark.parametrize("package", [flexmbs, preprocess])
def test_no_index_counts_from_the_end(package) -> None:
    """Slices may: they are handled by Numba's functions."""
    checked = 0
    for path in Path(package.__file__).parent.rglob("*.py"):
        for function in kernels(path.read_text(encoding="utf-8")):
            checked += 1
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
                    signs = [each for each in ast.walk(node.slice) if isinstance(each, ast.UnaryOp)]
                    assert not signs, f"{path.name}:{node.lineno}: {ast.unparse(node)}"
    assert checked > 20


@pytest.mark.skipif(not COMPILED, reason="needs Numba's compiler")
def test_functions_of_users_count_from_the_end_as_ever() -> None:
    @numba.njit
    def last(x, i):
        return x[-1] + x[i]

    assert last(np.array([1.0, 2.0, 5.0]), -2) == 7.0
