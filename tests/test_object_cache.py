"""Object files of kernels on the disk, loaded without Numba."""

import ctypes
import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs._jit as jit
from flexmbs._jit import COMPILED, address, object_cache
from flexmbs._jit.address import Entry, packed
from flexmbs._jit.record_layout import layout

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@packed(float)
def sine_of_sum(x, factor):
    """sin(factor Σ x), with a function from elsewhere."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k]
    return np.sin(factor * total)


@packed(float)
def root(x):
    """√x, and an exception below 0."""
    if x < 0.0:
        raise ValueError
    return np.sqrt(x)


def compiled_kernel(kernel: Any, *layouts: object, key: str | None = None) -> Any:
    from flexmbs._jit import c_functions

    return c_functions.compiled_packed("of_test", kernel.function, layouts, float, key)


def save(file: Path, compiled: Any) -> None:
    object_cache.save(file, compiled.symbol, compiled.library)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compiled_kernel(sine_of_sum, layout(np.zeros(2)), layout(1.0))


def test_what_is_saved_is_loaded(compiled: Any, tmp_path: Path) -> None:
    file = tmp_path / "code" / "kernel"
    save(file, compiled)
    found = object_cache.load(file)
    assert found is not None
    x = np.array([0.2, 0.4])
    words = np.array([0, 0, 2, 8, x.ctypes.data, 2, 8, np.float64(0.5).view(np.int64)], np.int64)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(found.address)(
        words.ctypes.data
    ) == np.sin(0.5 * 0.6000000000000001)


def test_damaged_files_are_not_loaded(compiled: Any, tmp_path: Path) -> None:
    file = tmp_path / "kernel"
    save(file, compiled)
    content = file.read_bytes()
    for damaged in (b"", content[:20], content[:-1], content[:100] + bytes(8) + content[108:]):
        file.write_bytes(damaged)
        assert object_cache.load(file) is None
    assert object_cache.load(tmp_path / "other") is None
    assert object_cache.load(None) is None


def test_code_that_needs_what_is_not_there_is_not_saved(
    compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM would end the process."""
    monkeypatch.setattr(object_cache, "FAILED", "another_name")
    save(tmp_path / "kernel", compiled)
    assert not (tmp_path / "kernel").exists()


def test_an_exception_in_a_kernel_is_raised(tmp_path: Path) -> None:
    """It means a mistake in the kernel; there is no result. In code from the disk, too."""
    made = compiled_kernel(root, layout(1.0))
    save(tmp_path / "kernel", made)
    found = object_cache.load(tmp_path / "kernel")
    assert found is not None
    for code in (made, found):
        call = address._called(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64), code.address)
        words = np.array([4.0, -1.0])
        assert call(words.ctypes.data) == 2.0
        with pytest.raises(RuntimeError, match="NUMBA_DISABLE_JIT=1"):
            call(words[1:].ctypes.data)
        assert call(words.ctypes.data) == 2.0  # reported once


def test_an_exception_is_raised_in_its_own_thread() -> None:
    call = address._called(
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64),
        compiled_kernel(root, layout(1.0)).address,
    )
    words = np.array([4.0, -1.0])
    done, go = threading.Event(), threading.Event()

    def failing() -> None:
        object_cache._failed()
        done.set()
        go.wait(60.0)
        call(words.ctypes.data)

    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(failing)
        done.wait(60.0)
        assert call(words.ctypes.data) == 2.0
        go.set()
        with pytest.raises(RuntimeError):
            task.result(60.0)


def test_without_object_files_numba_keeps_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: in Numba's own files, by the fingerprint."""
    from flexmbs._jit import c_functions

    monkeypatch.setattr(object_cache, "SUPPORTED", False)
    monkeypatch.setattr(c_functions, "CACHE", str(tmp_path))
    layouts = layout(np.zeros(2)), layout(1.0)
    made = compiled_kernel(sine_of_sum, *layouts, key="1" * 32)
    made.keep(tmp_path / "kernel")
    assert not (tmp_path / "kernel").exists()
    assert sum(file.suffix == ".nbc" for file in (tmp_path / "kernels").iterdir()) == 1
    compile_new = c_functions.CFunction._compiled
    monkeypatch.setattr(c_functions.CFunction, "_compiled", None)
    found = compiled_kernel(sine_of_sum, *layouts, key="1" * 32)
    monkeypatch.setattr(object_cache, "SUPPORTED", True)
    found.keep(tmp_path / "kernel")  # the symbols that it needs are not known any more
    assert not (tmp_path / "kernel").exists()
    monkeypatch.setattr(object_cache, "SUPPORTED", False)
    x = np.array([0.2, 0.4])
    words = np.array([0, 0, 2, 8, x.ctypes.data, 2, 8, np.float64(0.5).view(np.int64)], np.int64)
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(found.address)
    assert call(words.ctypes.data) == np.sin(0.5 * 0.6000000000000001)
    monkeypatch.setattr(c_functions.CFunction, "_compiled", compile_new)
    compiled_kernel(sine_of_sum, *layouts, key="2" * 32).keep(None)  # other code
    assert sum(file.suffix == ".nbc" for file in (tmp_path / "kernels").iterdir()) == 2
    other = layout(np.zeros(2, np.float32)), layout(1.0)
    compiled_kernel(sine_of_sum, *other, key="1" * 32).keep(None)
    assert sum(file.suffix == ".nbc" for file in (tmp_path / "kernels").iterdir()) == 3


def test_layouts_have_files_of_their_own(tmp_path: Path) -> None:
    layouts = [
        layout(x)
        for x in (
            1,
            1.0,
            np.zeros(2),
            np.zeros((2, 2)),
            np.zeros(2, int),
            (1, 1.0),
            (1.0, 1),
            ((1,), 1.0),
            ((1, 1.0),),
        )
    ]
    assert len({object_cache.place(str(tmp_path), "kernel", (each,)) for each in layouts}) == len(
        layouts
    )


@pytest.mark.parametrize("edited", [False, True])
def test_a_process_that_began_before_an_edit_of_the_compiler_keeps_nothing(
    edited: bool, compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is that of the files when it began; a file
    that it imports now may be a newer one.
    """
    for module in (jit, address):
        monkeypatch.setattr(module, "CACHE", str(tmp_path / "0123"))
        monkeypatch.setattr(module, "fingerprint", lambda *given: "of test")
    monkeypatch.setattr(jit, "compiler_digest", lambda: "4567" if edited else "0123")
    (tmp_path / "0123").mkdir()
    address._linked_code(lambda: None, "of_test", "", (), lambda c, key: compiled)
    assert (tmp_path / "0123" / "code").exists() is not edited


def test_least_recently_used_files_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those used within a day: a run may be about to load them."""
    monkeypatch.setattr(object_cache, "MOST", 3)
    for k in range(4):
        object_cache.write(tmp_path / "code" / f"0{k}", b"x")
    assert len(list((tmp_path / "code").iterdir())) == 4
    for k in range(4):
        age = object_cache.RECENT * (2 + k)
        os.utime(tmp_path / "code" / f"0{k}", (time.time() - age,) * 2)
    object_cache.write(tmp_path / "code" / "04", b"x")
    assert {file.name for file in (tmp_path / "code").iterdir()} == {"00", "01", "04"}


@pytest.mark.parametrize("unused", [True, False])
def test_the_first_missing_kernel_is_announced(
    unused: bool, compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, to whoever starts a second process."""
    monkeypatch.setattr(address, "CACHE", str(tmp_path))
    monkeypatch.setattr(address, "fingerprint", lambda *given: "of test")
    heard: list[int] = []
    address.before_compilation(lambda: heard.append(1))
    if unused:
        address.before_compilation(None)
    for name in ("one", "two"):
        address._linked_code(lambda: None, name, "", (), lambda c, key: compiled)
    assert heard == [] if unused else [1]


class Late:
    """What two threads make at once, 0 and 1; the second one has it when the first has used its
    own.
    """

    def __init__(self) -> None:
        self.both, self.used, self.numbers = (
            threading.Barrier(2),
            threading.Event(),
            itertools.count(),
        )

    def make(self) -> int:
        number = next(self.numbers)
        self.both.wait(60.0)
        if number:
            self.used.wait(60.0)
        return number

    def taken(self, use: Callable[[], float]) -> list[float]:
        """What the threads use."""
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(lambda: (use(), self.used.set())[0]) for _ in range(2)]
            return [task.result(60.0) for task in tasks]


def test_threads_that_compile_a_kernel_at_once_run_the_same_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The code that a later one replaces would be freed while it runs, or while records hold its
    address.
    """
    of_kernel, of_entry = Late(), Late()

    def compiled(layouts: object) -> tuple[None, Callable[[int], int]]:
        number = of_kernel.make()
        return None, lambda at: number

    kernel = packed(float)(sine_of_sum.__wrapped__)  # type: ignore[attr-defined]
    monkeypatch.setattr(kernel, "_compile", compiled)
    assert of_kernel.taken(lambda: kernel(np.zeros(2), 1.0)) == [0, 0]
    monkeypatch.setattr(
        address, "_linked_code", lambda *given: object_cache.Code(of_entry.make(), None)
    )
    entry = Entry(sine_of_sum.__wrapped__, "of_test")  # type: ignore[attr-defined]
    assert of_entry.taken(lambda: entry.address(np.zeros(2), np.zeros(2), np.zeros(2))) == [0, 0]
