"""Random tests draw a few cases in each run and many under the mark `slow`."""

from collections.abc import Collection
from typing import Any

import pytest


def drawn(few: int | Collection[int], many: int) -> list[Any]:
    """Seeds below ``many`` as parameters; all but the first ``few``, or those named, are slow."""
    fast = range(few) if isinstance(few, int) else few
    return [
        seed if seed in fast else pytest.param(seed, marks=pytest.mark.slow) for seed in range(many)
    ]
