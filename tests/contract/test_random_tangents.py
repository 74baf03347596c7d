"""Tangents of runs of random models against fourth-order differences of whole runs, by parameters drawn from all of a model.

Accelerations and multipliers of constrained models have the round-off of both methods over h²: positions and velocities are
compared to 1e-6, those to 1e-3.
"""

import warnings

import numpy as np
import pytest
from random_models import Recipe, random_model

import flexmbs as fm
from flexmbs.studies.fitting.along import STENCIL
from flexmbs.studies.fitting.begun import begun, difference
from flexmbs.studies.fitting.exact import Tangent, concluded_run, everything
from flexmbs.studies.fitting.runs import Runs, prepared_runs, run_options

PART = 4e-3  # of a parameter's size: steps of differences of runs
PARAMETERS = 5
TREE, LOOP = Recipe(bodies=3, forces=3), Recipe(bodies=4, loops=1, drives=1, forces=2, couplings=1)
RECURSIVE, ABSOLUTE = ("recursive", "joint", "generalized-alpha"), ("multiplier", "absolute", "generalized-alpha")
EXPLICIT, EMBEDDED = ("recursive", "joint", "dormand-prince"), ("embedding", "joint", "dormand-prince")
CASES = [(TREE, 0, RECURSIVE), (TREE, 2, ABSOLUTE), (LOOP, 2, RECURSIVE), (TREE, 1, EXPLICIT), (LOOP, 2, EMBEDDED)]
MORE = [(recipe, seed, how) for seed in range(3, 10) for recipe in (TREE, LOOP) for how in (RECURSIVE, ABSOLUTE, EXPLICIT)]


def groups(solution):
    """Positions and velocities, accelerations and multipliers, at the middle and at the end of a run."""
    rows = [len(solution.t) // 2, -1]
    return [
        np.concatenate([each[rows].ravel() for each in pair]) for pair in ((solution.q, solution.s), (solution.sd, solution.lam))
    ]


def evaluate(solution):
    return np.concatenate(groups(solution))


def drawn(model, options, seed) -> Runs:
    """Runs by some parameters of the model that may vary to both sides, in which its constraints stay what they are."""
    rng, chosen = np.random.default_rng(seed), []
    for path in rng.permutation(list(fm.parameters(model))):
        runs = prepared_runs(model, [str(path)], options, (), evaluate)
        scale = abs(runs.base[str(path)]) or 1.0
        try:
            for c in STENCIL:
                begun(runs, {str(path): runs.base[str(path)] + c * PART * scale})
        except (fm.InputError, fm.SolverError):
            continue
        chosen.append(str(path))
        if len(chosen) == PARAMETERS:
            break
    return prepared_runs(model, chosen, options, (), evaluate)


def compare(recipe, seed, how):
    model, _ = random_model(recipe, seed)
    run = fm.Run(t_end=0.02, step=1e-3, formalism=how[0], coordinates=how[1], integrator=how[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = drawn(model, run_options(run, None, None), seed)
        try:
            tangent = Tangent(runs, {}, {})
        except fm.InputError as error:  # refused by name
            return str(error)
        solution = concluded_run(begun(runs, {}))
        found = tangent.derivative(solution, everything(runs)).derivative
        split = len(groups(solution)[0])
        for k, (name, value) in enumerate(runs.base.items()):
            scale = abs(value) or 1.0
            values = [evaluate(concluded_run(begun(runs, {name: value + c * PART * scale}))) for c in STENCIL]
            expected = difference(np.array(values), PART * scale)
            for part, tolerance in ((slice(0, split), 1e-6), (slice(split, None), 1e-3)):
                size = np.abs(expected[part]).max() + 0.01 * np.abs(evaluate(solution)[part]).max() / scale
                assert np.abs(found[part, k] - expected[part]).max() < tolerance * size, name
    return ""


@pytest.mark.parametrize(("recipe", "seed", "how"), CASES)
def test_random_models(recipe, seed, how):
    assert compare(recipe, seed, how) == ""


@pytest.mark.slow
def test_many_random_models():
    """Most have tangents; the others are refused for a reason that is named."""
    refused = [text for case in MORE if (text := compare(*case))]
    assert all("take method='differences'" in text for text in refused)
    assert len(MORE) - len(refused) >= 20
