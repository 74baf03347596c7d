"""Kernels that are compiled again after an edit of a copy of the package: those that it changes.

Each case runs in new processes, which share a cache folder with the run before the edit.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from flexmbs._jit import CACHE, COMPILED
from flexmbs.time_stepping.second_process import OFF

pytestmark = pytest.mark.skipif(
    not COMPILED or CACHE is None, reason="no compiled kernels on the disk"
)
ROOT = Path(__file__).parents[1]
MODEL = """
import sys
import flexmbs as fm
model = fm.Model("pendulum")
bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0.0, 0.0)))
model.add(fm.Revolute("hinge", model.ground, bar, axis="y", v0=2.0))
model.add(fm.LuGreFriction("friction", "hinge", coulomb=0.3, stiffness=100.0, damping=1.0))
solution = fm.simulate(model, t_end=0.05, step=1e-3, formalism="multiplier")
assert fm.__file__.startswith(sys.argv[1]), fm.__file__
print(solution.q[-1, 0].hex(), "numba" in sys.modules)
"""
STEPPER = "flexmbs/integrators/stepper.py"
LAW = (
    "flexmbs/model/forces/lugre_friction.py",
    "rise = (p[STATIC] - p[COULOMB]) * math.exp(-y * y)\n    g =",
    "rise = (p[STATIC] - p[COULOMB]) * math.exp(-y * y)\n    g = 0.5 *",
)


class Ran(NamedTuple):
    """Result of a run, whether it imported the compiler, and the object files after it."""

    q: str
    compiler: bool
    files: frozenset[str]


class Copy:
    """Copy of the package with a cache folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.root, self.cache = folder / "copy", folder / "cache"
        for package in ("flexmbs", "preprocess"):
            shutil.copytree(
                ROOT / package, self.root / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        # kernels of other tests: the code of the copy is the same
        shutil.copytree(
            CACHE or "",
            self.cache / "flexmbs-kernels" / Path(CACHE or "").name,
            ignore=shutil.ignore_patterns("tmp*", "locks"),  # files that other tests are writing
        )

    def run(self) -> Ran:
        given = {"PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(self.cache), OFF: "1"}
        done = subprocess.run(
            [sys.executable, "-c", MODEL, str(self.root)],
            cwd=self.root,
            env=os.environ | given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        q, compiler = done.stdout.split()
        files = frozenset(file.name for file in self.cache.glob("flexmbs-kernels/*/code/*"))
        return Ran(q, compiler == "True", files)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text, old
        path.write_text(text.replace(old, new), encoding="utf-8")


def test_edits_of_the_package(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    copy.run()
    before = copy.run()
    assert not before.compiler

    # a docstring, a comment, and the line numbers of all kernels of the file
    text = (ROOT / STEPPER).read_text(encoding="utf-8")
    word = next(each for each in text.splitlines() if each.startswith('    """')).strip()
    copy.edit(STEPPER, word, word.replace('"""', '"""Another word. ', 1))
    copy.edit(STEPPER, "\nfrom ", "\n# a comment\n\n\nfrom ")
    assert copy.run() == before

    # a constant in a function that the law of the friction calls
    copy.edit(*LAW)
    after = copy.run()
    assert after.compiler
    assert after.q != before.q
    assert len(after.files - before.files) == 1
    assert copy.run() == after._replace(compiler=False)

    # the former code is still on the disk
    copy.edit(LAW[0], LAW[2], LAW[1])
    assert copy.run() == before._replace(files=after.files)
