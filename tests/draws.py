"""Random tests, and tests of products of parameters, run a few cases in each run and the others
under the mark `slow`.
"""

import itertools
from collections.abc import Collection, Iterable
from typing import Any

import pytest


def drawn(few: int | Collection[int], many: int) -> list[Any]:
    """Seeds below ``many`` as parameters; all but the first ``few``, or those named, are slow."""
    fast = range(few) if isinstance(few, int) else few
    return [
        seed if seed in fast else pytest.param(seed, marks=pytest.mark.slow) for seed in range(many)
    ]


def slow(cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Cases of several parameters, all slow."""
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


def covering(cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Cases of several parameters; those that are not slow contain every pair of values of two
    parameters that the cases contain.

    The choice is greedy: first the cases of which all pairs are new, in their order, then those of
    which one less is new, and so on.
    """
    cases = list(cases)
    pairs = [set(itertools.combinations(enumerate(case), 2)) for case in cases]
    covered: set[Any] = set()
    fast: set[int] = set()
    for least in range(max(map(len, pairs), default=0), 0, -1):
        for k, found in enumerate(pairs):
            if len(found - covered) >= least:
                fast.add(k)
                covered |= found
    return [
        pytest.param(*case, marks=() if k in fast else pytest.mark.slow)
        for k, case in enumerate(cases)
    ]
