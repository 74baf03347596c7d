"""Layouts and words of records are remembered for all threads."""

import sys
import threading
from typing import NamedTuple

import numpy as np

from flexmbs._jit.record_layout import RECORDS, layout, remember


class Pair(NamedTuple):
    a: np.ndarray
    b: float


def test_threads_remember_more_records_than_are_kept() -> None:
    """Each forgets those of the others meanwhile; all layouts of a kind are one object."""
    failed, found = [], set[int]()

    def work() -> None:
        try:
            records = [Pair(np.zeros(3), 1.0) for _ in range(2 * RECORDS)]
            for _ in range(60):
                for record in records:
                    assert remember(record) is record
                    found.add(id(layout(record)))
        except Exception as error:
            failed.append(repr(error))

    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(switching)
    assert failed == []
    assert len(found) == 1
