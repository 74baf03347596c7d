"""Tangents of runs of random models against fourth-order differences of whole runs, by parameters
drawn from all of a model.

Accelerations and multipliers of constrained models have the round-off of both methods over h²:
positions and velocities are compared to 1e-6, those to 1e-3.
"""

import pytest
from random_tangents import ABSOLUTE, EMBEDDED, EXPLICIT, LOOP, RECURSIVE, TREE, compared

import flexmbs as fm

PARAMETERS = 5
CASES = [
    (TREE, 0, RECURSIVE),
    (TREE, 2, ABSOLUTE),
    (LOOP, 2, RECURSIVE),
    (TREE, 1, EXPLICIT),
    (LOOP, 2, EMBEDDED),
]
# a cylinder that cannot move: its rates are round-off
CASES += [(LOOP, 4, ("multiplier", "joint", "generalized-alpha"))]
MORE = [
    (recipe, seed, how)
    for seed in range(3, 10)
    for recipe in (TREE, LOOP)
    for how in (RECURSIVE, ABSOLUTE, EXPLICIT)
]


def check(recipe, seed, how):
    found = list(compared(recipe, seed, how, PARAMETERS))
    assert [each for each in found if not (each.motion < 1e-6 and each.forces < 1e-3)] == []


@pytest.mark.parametrize(("recipe", "seed", "how"), CASES)
def test_random_models(recipe, seed, how):
    check(recipe, seed, how)


@pytest.mark.slow
def test_many_random_models():
    """Most have tangents; the others are refused for a reason that is named."""
    refused = []
    for case in MORE:
        try:
            check(*case)
        except fm.InputError as error:
            refused.append(str(error))
    assert all("take method='differences'" in text for text in refused)
    assert len(MORE) - len(refused) >= 20
