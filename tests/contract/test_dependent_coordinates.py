"""Embedding and partitioning at consistent states of random trees and loops; M and G by reference
and elastic coordinates.
"""

import functools

import numpy as np
import pytest
import scipy.linalg
from samples import state, state_of
from test_topology import COORDINATES, LOOPS, dense_solution, loops, planar_four_bar, random_tree

import flexmbs as fm
from flexmbs.dynamics.dense import partitioned_terms, terms
from flexmbs.initial.initial_state import InitialState, consistent_state
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.system.compile import Compiled


def driven(*, cut: bool) -> fm.Model:
    """The planar four-bar with its crank or the joint that closes its loop driven."""
    model = planar_four_bar()
    now = state(model)
    joint = now.compiled.topology.cuts[0] if cut else "main"
    model.add(fm.Drive("motor", joint, fm.Ramp(float(now.work.beta[0]) if cut else 0.7, 0.7)))
    return model


MODELS = {
    **{f"tree {seed}": (lambda seed=seed: random_tree(seed)) for seed in (0, 3)},
    **{name: (lambda name=name: loops(name)) for name in LOOPS},
    "redundant four-bar": planar_four_bar,
    "driven crank": lambda: driven(cut=False),
    "driven at the cut": lambda: driven(cut=True),
}


@functools.cache
def assembled(name: str) -> tuple[Compiled, InitialState]:
    """A model at its consistent start."""
    return consistent_state(MODELS[name]())


@pytest.mark.parametrize(
    "form", [fm.Embedding(), fm.Partitioning()], ids=["embedding", "partitioning"]
)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name", MODELS)
def test_accelerations_and_constraint_forces(name, coordinates, form):
    """ṡ and Gᵀλ against the dense bordered equations."""
    now = state_of(*assembled(name), coordinates)
    t, sd, lam = dense_solution(now)
    found, multipliers = evaluate(now.compiled, form, 0.0, now.q, now.s, beta=now.work.beta[:-8])
    assert np.abs(found - sd).max() < 1e-9 * np.abs(sd).max()
    force = t.G.T @ lam
    assert np.abs(t.G.T @ multipliers - force).max(initial=0.0) < 1e-9 * np.abs(force).max(
        initial=1.0
    )


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_blocks_by_reference_and_elastic_coordinates(coordinates):
    now = state_of(*assembled("flexible coupled loops"), coordinates)
    full = terms(now.system, now.work, 0.0, now.q, now.s)
    p = partitioned_terms(now.system, now.work, 0.0, now.q, now.s)
    order = np.concatenate([p.reference, p.elastic])
    assert sorted(order) == list(range(len(now.s)))
    assert len(p.elastic) == now.system.tree.nf.sum() > 0
    assert np.array_equal(
        np.block([[p.M_rr, p.M_rf], [p.M_rf.T, p.M_ff]]), full.M[np.ix_(order, order)]
    )
    assert np.array_equal(np.hstack([p.G_r, p.G_f]), full.G[:, order])
    if coordinates == "absolute":  # elastic coordinates of different bodies are not coupled there
        own = [now.system.bodies.m_ff[i, :nf, :nf] for i, nf in enumerate(now.system.tree.nf)]
        assert np.abs(p.M_ff - scipy.linalg.block_diag(*own)).max() < 1e-12 * np.abs(p.M_ff).max()
