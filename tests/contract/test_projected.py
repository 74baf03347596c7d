"""The dense projection against the dense matrices that the block-sparse kernels give."""

import numpy as np
import pytest
from projected import Projected
from samples import JOINTS, state, two_bodies
from test_recursive import with_drives
from test_topology import LOOPS, dense_solution, loops, planar_four_bar, random_tree

from flexmbs.dynamics.dense import multipliers_of_least_norm
from flexmbs.studies.states.evaluate import evaluate


def check(model):
    now = state(model)
    t, expected, multipliers = dense_solution(now)
    sd, lam = evaluate(
        now.compiled, Projected(), 0.0, now.q, now.s, np.zeros(0), now.work.path.beta
    )
    assert np.abs(sd - expected).max() < 1e-11 * np.abs(expected).max()
    assert np.abs(multipliers_of_least_norm(t.G, lam) - multipliers).max(
        initial=0.0
    ) < 1e-11 * np.abs(multipliers).max(initial=1.0)


@pytest.mark.parametrize("kind", JOINTS)
def test_joints(kind):
    check(two_bodies(kind, 5))


@pytest.mark.parametrize("seed", range(3))
def test_trees(seed):
    check(random_tree(seed))


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    check(loops(name))


def test_redundant_loop():
    check(planar_four_bar())


def test_drives():
    check(with_drives(two_bodies("chain", 4), ("hinge", 0), ("base", 0)))
