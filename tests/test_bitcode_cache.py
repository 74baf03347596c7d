"""Bitcode of parts on the disk, and kernels that two processes compile together."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flexmbs._jit import COMPILED
from flexmbs._jit.locks import locked
from flexmbs.time_stepping.second_process import OFF

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
ROOT = Path(__file__).parents[1]
SOURCE = """
from flexmbs._jit import called, kernel, part

@part
def doubled(x):
    return 2.0 * x

@called
def shared(x):
    return doubled(x) + max(x, 1.0) ** 3

@part
def other(x):
    return shared(x) - 1.0

@kernel
def first(x):
    return shared(x)

@kernel
def second(x):
    return other(x) + shared(2.0 * x)

def local(factor):
    @part
    def scaled(x):
        return factor * x

    @kernel
    def scaled_kernel(x):
        return scaled(x)

    return scaled_kernel
"""
PROGRAM = """
import importlib.util, sys
if len(sys.argv) > 3:  # a name that this version of Numba lacks
    name, _, attribute = sys.argv[3].rpartition(".")
    delattr(importlib.import_module(name), attribute)
from pathlib import Path
spec = importlib.util.spec_from_file_location("preprocess.of_test", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
value = eval(sys.argv[2], vars(module))
from flexmbs._jit import CACHE
print(value, len(list(Path(CACHE, "parts").iterdir())) if Path(CACHE, "parts").exists() else 0)
"""


@pytest.fixture(name="compute")
def compute_in_new_process(tmp_path: Path):
    """Value of an expression and the number of parts on the
    disk after it, from a separate process.
    """
    (tmp_path / "of_test.py").write_text(SOURCE)

    def compute(expression: str, *missing: str) -> tuple[float, int]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        }
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "of_test.py"), expression]
        command += missing
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        value, count = done.stdout.split()
        return float(value), int(count)

    return compute


def test_parts_are_lowered_once_for_all_processes(compute) -> None:
    assert compute("first(3.0)") == (33.0, 2)
    assert compute("second(3.0)") == (32.0 + 12.0 + 216.0, 3)


def test_a_damaged_file_is_made_anew(compute, tmp_path: Path) -> None:
    compute("first(3.0)")
    for file in (tmp_path / "cache").rglob("parts/*"):
        file.write_bytes(file.read_bytes()[:100])
    assert compute("second(3.0)") == (260.0, 3)
    for file in (tmp_path / "cache").rglob("parts/*"):
        assert len(file.read_bytes()) > 100


@pytest.mark.parametrize(
    ("missing", "count"),
    [
        ("numba.core.caching.CompileResultCacheImpl", 2),
        ("numba.core.codegen.JITCodeLibrary", 0),
        ("numba.core.typed_passes.NativeLowering", 0),
    ],
)
def test_without_classes_of_numba_nothing_is_kept(compute, missing: str, count: int) -> None:
    """Kernels run all the same, compiled as ordinary ones."""
    assert compute("first(3.0)", missing) == (33.0, count)


def test_functions_within_functions_differ_by_their_closures(compute) -> None:
    for _ in range(2):
        assert compute("local(2.0)(1.0) + 10.0 * local(3.0)(1.0)") == (32.0, 2)
    assert compute("local(4.0)(1.0) + 10.0 * local(3.0)(1.0)") == (34.0, 3)


def test_parts_are_compiled_again_where_they_change(compute, tmp_path: Path) -> None:
    """In a helper that two parts call: both of them, and the kernels; another word changes none."""
    compute("second(3.0)")
    text = SOURCE.replace("@part\ndef doubled(x):", '@part\ndef doubled(x):\n    """2 x"""')
    (tmp_path / "of_test.py").write_text(text)
    assert compute("second(3.0)") == (260.0, 3)
    (tmp_path / "of_test.py").write_text(SOURCE.replace("2.0 * x\n\n@called", "4.0 * x\n\n@called"))
    assert compute("second(3.0)") == (38.0 + 24.0 + 216.0, 6)
    (tmp_path / "of_test.py").write_text(SOURCE)
    assert compute("second(3.0)") == (260.0, 6)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with locked(str(tmp_path), "kernel") as free:
        assert free
        with locked(str(tmp_path), "kernel", wait=False) as again:
            assert not again
        with locked(str(tmp_path), "other", wait=False) as other:
            assert other
    with locked(str(tmp_path), "kernel", wait=False) as after:
        assert after


COUNTED = """
from flexmbs._jit.address import Entry
from flexmbs.studies.run.warmup import compile_backwards, kernels, pendulum
import flexmbs as fm
compile_backwards("recursive", "dormand-prince")
found = [kernel for kernel, _ in kernels("recursive", "dormand-prince")]
before = [len(kernel.compiled) for kernel in found]
fm.simulate(pendulum(spring=True), t_end=0.1, formalism="recursive", integrator="dormand-prince")
print(before == [1] * len(found) == [len(kernel.compiled) for kernel in found])
"""


def test_the_second_process_compiles_what_the_run_needs() -> None:
    """Kernels for records of the same layout: the run finds them all."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), OFF: "1"}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr


STARTED = """
import json
import flexmbs as fm
from flexmbs._jit import address
from flexmbs.time_stepping import second_process
from flexmbs.studies.run.warmup import pendulum
started = []
class Process:
    def __init__(self, command, **given):
        started.append(json.loads(command[-1]))
    def poll(self):
        return 0
second_process.subprocess.Popen = Process
second_process._processors = lambda: {processors}
second_process._allowed = lambda: True
missing, load = [None], address.object_cache.load  # the first kernel is not on the disk
address.object_cache.load = lambda place: missing.pop() if missing else load(place)
{runs}
print(json.dumps(started))
"""
ONE = """
for _ in range(2):
    fm.simulate(pendulum(spring=True), t_end=0.01, formalism="recursive", integrator="dormand-prince")
"""
COMPARED = """
fm.compare(pendulum(spring=True), t_end=0.01, step=1e-3, formalisms=["multiplier", "recursive"],
           integrators=["generalized-alpha", "dormand-prince"])
"""


def started(runs: str, folder: Path, processors: int) -> list[list[list[str]]]:
    """Pairs that each of the other processes is to compile."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    text = STARTED.replace("{processors}", str(processors)).replace("{runs}", runs)
    command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_the_second_process_is_started_for_the_first_run_of_a_pair(tmp_path: Path) -> None:
    """Without running the ``__main__`` of the user's script, and once; not if none is missing."""
    assert started(ONE, tmp_path, 2) == [[["recursive", "dormand-prince"]]]
    assert started("missing.clear()" + ONE, tmp_path, 2) == []


def test_a_comparison_is_compiled_ahead_by_all_processors(tmp_path: Path) -> None:
    """Each process has all pairs, the last ones first, and begins with another; the runs start none
    of their own.
    """
    integrators = ("generalized-alpha", "dormand-prince")
    pairs = [
        [formalism, integrator]
        for formalism in ("recursive", "multiplier")
        for integrator in reversed(integrators)
    ]
    (alone,) = started(COMPARED, tmp_path, 2)
    assert alone == pairs
    ahead = f"""
with second_process.compiling_ahead({[tuple(pair) for pair in pairs[::-1]]}):
    address._before_compilation()
"""
    for processors, count in ((4, 3), (64, 4)):
        found = started(ahead, tmp_path, processors)
        assert [own[0] for own in found] == pairs[:count]
        assert all(sorted(own) == sorted(pairs) for own in found)
