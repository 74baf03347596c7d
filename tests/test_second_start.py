"""Work avoided at a second start: imports, the compiler, reading of bodies, compilation of the
user's functions.
"""

import gc
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.flexible_body.body_cache import BodyCache
from flexmbs.system.callbacks import Callbacks

ROOT = Path(__file__).parents[1]
compiled_only = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def run(code: str, folder: Path | None = None, **environment: str) -> str:
    """Output of Python code in a separate process."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    heavy = "linalg interpolate optimize integrate spatial".replace(" ", " scipy.")
    heavy = f"scipy.{heavy} matplotlib h5py jinja2 meshio rich typer skfem"
    code = f"""
import sys, flexmbs as fm
fm.Model, fm.simulate
print([name for name in "{heavy}".split() if name in sys.modules])
"""
    assert run(code, NUMBA_DISABLE_JIT="1").strip() == "[]"


def test_public_names_are_listed_without_imports() -> None:
    code = (
        "import sys, flexmbs; names = dir(flexmbs); print('simulate' in names, 'numpy' in "
        "sys.modules)"
    )
    assert run(code).split() == ["True", "False"]


def test_declarations_import_no_compiler() -> None:
    """Their kernels are plain functions in the same file."""
    code = """
import sys, flexmbs as fm
fm.Model("m").add(fm.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 1.0)))
fm.JointTorque, fm.Bushing, fm.HuntCrossley(1.0), fm.PD(1.0), fm.RollingDisc, fm.SpherePlane
print([name for name in ("numba", "flexmbs._jit", "flexmbs.system") if name in sys.modules])
"""
    assert run(code).strip() == "[]"


@compiled_only
def test_kernels_of_arrays_come_from_the_disk(tmp_path: Path) -> None:
    """The first process compiles a kernel; the second loads it, then compiles another one, which
    links it.
    """
    source = """
from flexmbs._jit import kernel

@kernel
def inner(x):
    return 3.0 * x

@kernel
def outer(x, y):
    return inner(x) + y
"""
    code = f"""
import sys, types
module = sys.modules["preprocess.of_test"] = types.ModuleType("preprocess.of_test")
exec(compile({source!r}, "of_test.py", "exec"), vars(module))
found = module.inner(2.0), sum(module.inner.dispatcher.stats.cache_hits.values())
print(*found, module.outer(2.0, 1.0) if found[1] else "")
"""
    kept = str(tmp_path / "kept")
    assert run(code, tmp_path, NUMBA_CACHE_DIR=kept).split() == ["6.0", "0"]
    assert run(code, tmp_path, NUMBA_CACHE_DIR=kept).split() == ["6.0", "1", "7.0"]


@compiled_only
def test_a_run_from_the_disk_sets_up_no_compiler() -> None:
    code = """
import flexmbs as fm
model = fm.Model("pendulum")
bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0.0, 0.0)))
model.add(fm.Revolute("hinge", model.ground, bar, axis="y"))
fm.simulate(model, t_end=0.01)
from numba.core.registry import cpu_target
print(bool(cpu_target.target_context._registries))
"""
    run(code)
    assert run(code).strip() == "False"


@compiled_only
def test_a_report_of_a_solution_imports_no_compiler(tmp_path: Path) -> None:
    """Nor what else it can do without, with kernels and templates from the disk."""
    made = """
import flexmbs as fm
model = fm.Model("pendulum")
bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0.0, 0.0)))
model.add(fm.Revolute("hinge", model.ground, bar, axis="y"))
fm.simulate(model, t_end=0.01).save("run.h5")
"""
    report = """
import sys
from flexmbs.__main__ import main
try:
    main(["report", "run.h5"])
finally:
    print([name for name in "numba matplotlib rich scipy.linalg yaml".split() if name in sys.modules])
"""
    run(made, tmp_path)
    run(report, tmp_path)
    assert run(report, tmp_path).splitlines()[-1] == "[]"
    assert "pendulum" in (tmp_path / "run.html").read_text(encoding="utf-8")


def body(mass: float = 2.0) -> fm.FlexibleBodyData:
    """A body of one mode."""
    S, xS, SS = np.zeros((3, 1)), np.zeros((3, 3, 1)), np.zeros((3, 3, 1, 1))
    SS[2, 2, 0, 0] = 0.5
    return fm.FlexibleBodyData.from_integrals(
        "part",
        mass=mass,
        first_moment=np.zeros(3),
        second_moment=0.1 * np.eye(3),
        S_bar=S,
        xS=xS,
        SS=SS,
        K_ff=[[100.0]],
        frames={"a": fm.FlexibleFrame.at_node(np.zeros(3), np.zeros((3, 1)))},
    )


class Reader:
    """`FlexibleBodyData.load` that counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, path: str | Path) -> fm.FlexibleBodyData:
        self.count += 1
        return fm.FlexibleBodyData.load(path)


@pytest.mark.parametrize("age", [0.0, 1000.0])
def test_a_body_is_read_once_and_again_when_its_file_changes(tmp_path: Path, age: float) -> None:
    """Recently written, and long ago; the change keeps size and times of the file."""
    path, kept, read = tmp_path / "part.h5", BodyCache(), Reader()
    body().save(path)
    found = path.stat()
    before = (found.st_atime_ns, found.st_mtime_ns - int(1e9 * age))
    os.utime(path, ns=before)
    first = kept.load(path, read)
    assert kept.load(path, read) is first
    assert read.count == 1
    body(mass=3.0).save(tmp_path / "other.h5")
    changed = (tmp_path / "other.h5").read_bytes()
    assert len(changed) == found.st_size
    with open(path, "r+b") as file:
        file.write(changed)
    os.utime(path, ns=before)
    assert kept.load(path, read).mass == 3.0
    assert first.mass == 2.0
    path.unlink()
    with pytest.raises(fm.InputError, match="no such file"):
        kept.load(path, read)


def test_times_that_stood_still_spare_the_hash(tmp_path: Path, monkeypatch) -> None:
    """By the clock of a later time the file is old; a file whose times change is hashed again."""
    path, kept, read, hashes = tmp_path / "part.h5", BodyCache(), Reader(), []
    body().save(path)
    module = sys.modules[BodyCache.__module__]
    digest = module.hashlib.file_digest
    monkeypatch.setattr(module.time, "time", lambda: 1e-9 * path.stat().st_ctime_ns + 100.0)
    monkeypatch.setattr(
        module.hashlib, "file_digest", lambda file, name: hashes.append(name) or digest(file, name)
    )
    first = kept.load(path, read)
    assert kept.load(path, read) is first
    assert len(hashes) == 1
    os.utime(path)
    assert kept.load(path, read) is first
    assert (len(hashes), read.count) == (2, 1)


def test_a_run_hashes_a_file_once(tmp_path: Path, monkeypatch) -> None:
    """However young the file is; the next run sees what has
    changed, with the same size and times.
    """
    path, hashes = tmp_path / "part.h5", []
    body().save(path)
    module = sys.modules[BodyCache.__module__]
    digest = module.hashlib.file_digest
    monkeypatch.setattr(
        module.hashlib, "file_digest", lambda file, name: hashes.append(name) or digest(file, name)
    )
    model = fm.Model("two", gravity=(0, 0, 0))
    for name in ("first", "second"):
        model.add(
            fm.Prismatic(
                name,
                "ground",
                model.add(fm.FlexibleBody(f"{name} part", str(path))),
                axis="x",
                v0=1.0,
            )
        )
    found = path.stat()
    for mass, count in ((2.0, 2), (2.0, 1), (3.0, 2)):  # one more where the body is read
        if mass != 2.0:
            body(mass).save(tmp_path / "other.h5")
            path.write_bytes((tmp_path / "other.h5").read_bytes())
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        hashes.clear()
        solution = fm.simulate(model, t_end=0.1, step=0.05)
        assert solution.energy.kinetic[0] == pytest.approx(mass)
        assert len(hashes) == count


def test_kept_bodies_are_few_and_cannot_be_written_to(tmp_path: Path) -> None:
    kept, read = BodyCache(bodies=2), Reader()
    for mass in (1.0, 2.0, 3.0):
        body(mass).save(tmp_path / f"{mass}.h5")
        data = kept.load(tmp_path / f"{mass}.h5", read)
    assert len(kept) == 2
    for array in (data.K_ff, data.SS, data.modes.frequency, data.frames["a"].x):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    kept.load(tmp_path / "1.0.h5", read)
    assert read.count == 4
    small = BodyCache(size=10)
    small.load(tmp_path / "1.0.h5", read)
    assert len(small) == 0


def test_threads_that_want_a_body_wait_for_the_one_that_reads_it(tmp_path: Path) -> None:
    """All get the same body; another one is read meanwhile."""
    kept, read, free = BodyCache(), Reader(), threading.Event()
    body().save(tmp_path / "part.h5")
    body(mass=3.0).save(tmp_path / "other.h5")

    def slowly(path: str | Path) -> fm.FlexibleBodyData:
        found = read(path)
        free.wait(60.0)
        return found

    with ThreadPoolExecutor(4) as pool:
        same = [pool.submit(kept.load, tmp_path / "part.h5", slowly) for _ in range(4)]
        assert kept.load(tmp_path / "other.h5", fm.FlexibleBodyData.load).mass == 3.0
        free.set()
        assert len({id(each.result(60.0)) for each in same}) == 1
    assert read.count == 1


def test_a_model_reads_its_file_once(tmp_path: Path, monkeypatch) -> None:
    read = Reader()
    body(mass=7.0).save(tmp_path / "part.h5")
    load = fm.FlexibleBodyData.load
    monkeypatch.setattr(
        fm.FlexibleBodyData,
        "load",
        lambda path: (setattr(read, "count", read.count + 1), load(path))[1],
    )
    model = fm.Model("two")
    for name in ("first", "second"):
        model.add(fm.FlexibleBody(name, str(tmp_path / "part.h5")))
    assert not model.check().errors
    assert not model.check().errors
    assert read.count == 1


def force(scale: float):
    """A Numba function with its own number."""
    import numba

    @numba.njit
    def of(t, x, v):
        return scale * x if t < 10.0 else np.nan

    return of


def called(callbacks: Callbacks, function, t: float) -> float:
    """The function's result by its address."""
    from flexmbs._jit import call_address, jitted

    @jitted
    def call(address, x, out):
        call_address(address, x, out)

    address = callbacks.address(
        "item", function, lambda function, x: (function(*x.tolist()),), 3, 1
    )
    out = np.zeros(1)
    call(address, np.array([t, 2.0, 0.0]), out)
    return float(out[0])


@compiled_only
def test_a_compiled_function_is_compiled_once_for_all_runs() -> None:
    """The machine code is the function's own; each run gets its own reports; another function has
    other code.
    """
    from flexmbs.system import callbacks as module

    made, compile_ = [], module.compiled_callback
    module.compiled_callback = lambda *given: made.append(given) or compile_(*given)
    try:
        three, runs = force(3.0), [Callbacks(), Callbacks()]
        assert [called(run, three, 0.0) for run in runs] == [6.0, 6.0]
        assert len(made) == 1
        assert np.isnan(called(runs[1], three, 11.0))
        assert runs[0].where is None
        assert runs[1].where is not None
        assert runs[1].where.t == 11.0
        assert called(runs[0], force(4.0), 0.0) == 8.0
        assert len(made) == 2
        three.recompile()
        assert called(Callbacks(), three, 0.0) == 6.0
        assert len(made) == 3
    finally:
        module.compiled_callback = compile_


@compiled_only
def test_a_compiled_function_is_not_kept_alive() -> None:
    function = force(3.0)
    called(Callbacks(), function, 0.0)
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None
