"""Machine code of kernels from the disk, loaded without Numba."""

import contextlib
import ctypes
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import flexmbs._jit as jit
from flexmbs._jit import COMPILED, address, machine_code
from flexmbs._jit.address import Entry, packed
from flexmbs._jit.words import layout

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@packed(float)
def sine_of_sum(x, factor):
    """sin(factor Σ x), with a function from elsewhere."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k]
    return np.sin(factor * total)


@pytest.fixture(scope="module")
def compiled() -> object:
    """Compiled here, not taken from Numba's files of an earlier test run."""
    from flexmbs._jit import c_functions

    kernel = sine_of_sum.function  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_functions, "keeping", lambda keep: contextlib.nullcontext(False))
        return c_functions.compiled_packed(
            "of_test", kernel, (layout(np.zeros(2)), layout(1.0)), float
        )


def test_what_is_saved_is_loaded(compiled: object, tmp_path: Path) -> None:
    file = tmp_path / "code" / "kernel"
    machine_code.save(file, compiled)
    found = machine_code.load(file)
    assert found is not None
    x = np.array([0.2, 0.4])
    words = np.array([0, 0, 2, 8, x.ctypes.data, 2, 8, np.float64(0.5).view(np.int64)], np.int64)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(found.address)(
        words.ctypes.data
    ) == np.sin(0.5 * 0.6000000000000001)


def test_damaged_files_are_not_loaded(compiled: object, tmp_path: Path) -> None:
    file = tmp_path / "kernel"
    machine_code.save(file, compiled)
    content = file.read_bytes()
    for damaged in (b"", content[:20], content[:-1], content[:100] + bytes(8) + content[108:]):
        file.write_bytes(damaged)
        assert machine_code.load(file) is None
    assert machine_code.load(tmp_path / "other") is None
    assert machine_code.load(None) is None


def test_code_that_needs_what_is_not_there_is_not_saved(
    compiled: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM would end the process."""
    monkeypatch.setattr(machine_code, "HELPERS", ())
    machine_code.save(tmp_path / "kernel", compiled)
    assert not (tmp_path / "kernel").exists()


def test_code_from_the_files_of_numba_is_not_kept_again(tmp_path: Path) -> None:
    """It has no object file any more, and no names of what it needs."""
    from flexmbs._jit import c_functions

    layouts = layout(np.zeros(2)), layout(1.0)
    for _ in range(2):  # compiled, or loaded; loaded
        made = c_functions.compiled_packed("of_test_again", sine_of_sum.function, layouts, float)  # type: ignore[attr-defined]
    if not made.cache_hits:
        pytest.skip("no cache here")
    machine_code.save(tmp_path / "kernel", made)
    assert not (tmp_path / "kernel").exists()


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
    assert len({machine_code.place(str(tmp_path), "kernel", (each,)) for each in layouts}) == len(
        layouts
    )


@pytest.mark.parametrize(("written", "edited"), [(False, False), (True, False), (True, True)])
def test_a_process_that_began_before_an_edit_keeps_nothing(
    written: bool, edited: bool, compiled: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is that of the sources when it began; a file that it imports now may be a newer
    one.
    """
    from flexmbs._jit import compiler

    monkeypatch.setattr(address, "CACHE", str(tmp_path / "0123"))
    monkeypatch.setattr(jit, "CACHE", str(tmp_path / "0123"))
    monkeypatch.setattr(jit, "_READ", {"kernels.py": (1, 8)})
    monkeypatch.setattr(jit, "_states", lambda paths: {"kernels.py": (2 if written else 1, 8)})
    monkeypatch.setattr(jit, "_source_digest", lambda: "4567" if edited else "0123")
    (tmp_path / "0123").mkdir()
    address._linked_code("of_test", "", (), True, lambda c: compiled)
    assert (tmp_path / "0123" / "code").exists() is not edited
    with compiler.keeping(True) as kept:
        assert kept is not edited


def test_edited_new_and_lost_sources_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited, lost = tmp_path / "edited.py", tmp_path / "lost.py"
    for each in (edited, lost):
        each.write_text("from flexmbs._jit import kernel")
    monkeypatch.setattr(jit, "CACHE", str(tmp_path / "0123"))
    monkeypatch.setattr(jit, "_source_digest", lambda: "4567")
    watched = [str(tmp_path), str(edited), str(lost)]
    for change in (
        lambda: edited.write_text("from flexmbs._jit import part"),
        lost.unlink,
        (tmp_path / "new.py").touch,
    ):
        monkeypatch.setattr(jit, "_READ", jit._states(watched))
        assert jit.sources_unchanged()
        change()
        assert not jit.sources_unchanged()


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
        address, "_linked_code", lambda *given: machine_code.Code(of_entry.make(), None)
    )
    entry = Entry(sine_of_sum.__wrapped__, "of_test")  # type: ignore[attr-defined]
    assert of_entry.taken(lambda: entry.address(np.zeros(2), np.zeros(2), np.zeros(2))) == [0, 0]
