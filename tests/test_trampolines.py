"""Trampolines of user functions: each calls its own function and report, and is used again."""

import ctypes
import gc

import pytest

from flexmbs._jit import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="no machine code")

CHECKED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
REPORT = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


def address(function: object) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)  # type: ignore[arg-type]


def test_reports_are_those_of_their_own_function() -> None:
    from flexmbs._jit.trampolines import AT_ONCE, reported

    heard: list[tuple[int, int, int]] = []
    kept = []
    for k in range(AT_ONCE + 3):
        checked = CHECKED(lambda x, out, k=k: int(x == k))
        report = REPORT(lambda x, out, k=k: heard.append((k, x, out)))
        kept.append((checked, report, *reported(address(checked), address(report))))
    for k, each in enumerate(kept):
        for x in range(len(kept)):
            REPORT(each[2])(x, 7)
        assert heard == [(k, k, 7)]
        heard.clear()
    del kept[:5], each
    gc.collect()
    checked, report = CHECKED(lambda x, out: 1), REPORT(lambda x, out: heard.append((-1, x, out)))
    again, _alive = reported(address(checked), address(report))
    REPORT(again)(2, 3)
    REPORT(kept[0][2])(5, 3)
    assert heard == [(-1, 2, 3), (5, 5, 3)]


def test_code_outlives_borrowers_in_a_cycle() -> None:
    """Collected together, borrowers give their code back; what holds it must not be collected with
    them.
    """
    from flexmbs._jit import trampolines as module

    heard: list[int] = []
    checked, report = CHECKED(lambda x, out: 1), REPORT(lambda x, out: heard.append(x))
    lent = []
    while module._free:  # all code that exists is lent
        lent.append(module.reported(address(checked), address(report)))
    some: list[object] = [
        module.reported(address(checked), address(report)) for _ in range(module.AT_ONCE)
    ]
    some.append(some)
    code = [each[0] for each in some[:-1]]  # type: ignore[index]
    del some
    gc.collect()
    again = [module.reported(address(checked), address(report)) for _ in range(len(code))]
    for place, _ in again:
        REPORT(place)(4, 0)
    assert {place for place, _ in again} & set(code)
    assert heard == [4] * len(again)


def test_the_last_one_may_be_taken_by_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a look at what is free and its taking."""
    from flexmbs._jit import trampolines as module

    class Emptied(list[object]):
        def __bool__(self) -> bool:
            return True

    monkeypatch.setattr(module, "_free", Emptied())
    heard: list[int] = []
    checked, report = CHECKED(lambda x, out: 1), REPORT(lambda x, out: heard.append(x))
    lent = [module.reported(address(checked), address(report)) for _ in range(module.AT_ONCE + 1)]
    for k, (place, _) in enumerate(lent):
        REPORT(place)(k, 0)
    assert heard == list(range(len(lent)))
