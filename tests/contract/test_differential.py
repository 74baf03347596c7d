"""Random models that draw from every registry: formalisms, coordinates and integrators agree or refuse in one line.

`reports/differential/study.py` does the same with many more models and all pairs.
"""

from collections import Counter

import numpy as np
import pytest
from any_models import any_model, contents, registered
from differential import Pair, examine, pairs

SEEDS = range(40)
TAKEN = 2  # pairs of each model


def taken(seed: int, there: list[Pair]) -> list[Pair]:
    """Some of all pairs, other ones for each seed, all over the seeds."""
    order = np.random.default_rng(0).permutation(len(there))
    return [there[order[(TAKEN * seed + k) % len(there)]] for k in range(TAKEN)]


def test_every_registered_kind_is_drawn() -> None:
    drawn = sum((contents(any_model(seed).model) for seed in SEEDS), start=Counter())
    assert [kind for kind in registered() if not drawn[kind]] == []
    assert {pair for seed in SEEDS for pair in taken(seed, pairs())} == set(pairs())


@pytest.mark.parametrize("seed", SEEDS)
def test_all_agree(seed: int) -> None:
    assert examine(any_model(seed).model, lambda there: taken(seed, there)).failures == []
