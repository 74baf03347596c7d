"""Indices of kernels are compiled without wraparound: no kernel counts from the end of an array."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

import flexmbs
import preprocess
from flexmbs._jit import COMPILED

KERNELS = {
    "kernel",
    "part",
    "called",
    "seldom",
    "entry",
    "packed",
    "law_kernel",
    "nonlinear_law",
    "LawPart",
}


def kernels(source: str) -> Iterator[ast.FunctionDef]:
    """Functions that are compiled."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(
            ast.unparse(each).split("(")[0] in KERNELS for each in node.decorator_list
        ):
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


BOUNDED = """
import sys, warnings
import flexmbs as fm
sys.path.insert(0, sys.argv[1])
from any_models import any_model
found = []
still = fm.Model("two joints in parallel that leave no velocity")
post = still.add(fm.RigidBody("post", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"top": (0.0, 0.0, 1.0)}))
still.add(fm.Fixed("foot", "ground", post))
block = still.add(fm.RigidBody("block", mass=1.0, inertia=(1.0, 1.0, 1.0)))
still.add(fm.Fixed("weld", post["top"], block))
still.add(fm.Revolute("beside", "ground", block, axis="z"))
still.add(fm.JointSpring("spring", "beside", k=1.0))
models = [still, *(any_model(seed).model for seed in map(int, sys.argv[2:]))]
warnings.simplefilter("ignore")
for model in models:
    for formalism, coordinates, step in (("multiplier", "absolute", 1e-3), ("recursive", "joint", None)):
        try:
            solution = fm.simulate(model, t_end=2e-3, formalism=formalism, coordinates=coordinates, step=step)
            solution.energy.balance, solution.verdict
        except (fm.InputError, fm.SolverError):
            continue
        except RuntimeError as error:
            found.append(str(error))
print(len(models), found)
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="needs Numba's compiler")
def test_no_index_is_out_of_bounds(tmp_path) -> None:
    """Random models by kernels that check their indices, which are compiled anew."""
    given = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "FLEXMBS_ONE_PROCESS": "1"}
    command = [
        sys.executable,
        "-c",
        BOUNDED,
        str(Path(__file__).parent / "contract"),
        *map(str, range(20)),
    ]
    done = subprocess.run(
        command, env=os.environ | given, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "21 []"), done.stderr[-2000:]
