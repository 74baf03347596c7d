"""Tangents of runs of random models beside fourth-order differences of whole runs, by parameters
drawn from all of a model.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from random_models import Recipe, random_model

import flexmbs as fm
from flexmbs.algebra.differences import PLACES
from flexmbs.studies.fitting.initial_runs import begun, difference
from flexmbs.studies.fitting.parameter_runs import Runs, prepared_runs, run_options
from flexmbs.studies.fitting.step_tangents import Tangent, concluded_run, everything

# of a parameter's size: steps of differences of runs, smaller ones near singular positions
PART, FINER = 4e-3, 0.25
# change of slopes of positions and velocities from ± step to ± 2 step; the smallest step
STRAIGHT, LEAST = 1e-4, 1e-5
TREE, LOOP = Recipe(bodies=3, forces=3), Recipe(bodies=4, loops=1, drives=1, forces=2, couplings=1)
RECURSIVE, ABSOLUTE = (
    ("recursive", "joint", "generalized-alpha"),
    ("multiplier", "absolute", "generalized-alpha"),
)
EXPLICIT, EMBEDDED = (
    ("recursive", "joint", "dormand-prince"),
    ("embedding", "joint", "dormand-prince"),
)


class Compared(NamedTuple):
    """Relative differences of a derivative by a parameter: of positions and velocities, of
    accelerations and multipliers.
    """

    parameter: str
    motion: float
    forces: float


def groups(solution: fm.Solution) -> list[np.ndarray]:
    """Positions and velocities, accelerations and multipliers, at the middle and at the end of a
    run.
    """
    rows = [len(solution.t) // 2, -1]
    return [
        np.concatenate([each[rows].ravel() for each in pair])
        for pair in ((solution.q, solution.s), (solution.sd, solution.lam))
    ]


def evaluate(solution: fm.Solution) -> np.ndarray:
    return np.concatenate(groups(solution))


def drawn(model: fm.Model, options: Any, seed: int, most: int) -> Runs:
    """Runs by parameters of the model that may vary to both sides, in which its constraints stay
    what they are.
    """
    rng, chosen = np.random.default_rng(seed), list[str]()
    for path in rng.permutation(list(fm.parameters(model))):
        runs = prepared_runs(model, [str(path)], options, (), evaluate)
        scale = abs(runs.base[str(path)]) or 1.0
        try:
            for c in PLACES:
                begun(runs, {str(path): runs.base[str(path)] + c * PART * scale})
        except (fm.InputError, fm.SolverError):
            continue
        chosen.append(str(path))
        if len(chosen) == most:
            break
    return prepared_runs(model, chosen, options, (), evaluate)


def of_runs(runs: Runs, name: str, split: int) -> np.ndarray:
    """Derivative by differences of whole runs, with a step in which slopes of positions and
    velocities stay the same.
    """
    scale = abs(runs.base[name]) or 1.0
    part, bend = PART, np.inf
    while bend > STRAIGHT and part > LEAST:
        values = np.array(
            [
                evaluate(concluded_run(begun(runs, {name: runs.base[name] + c * part * scale})))
                for c in PLACES
            ]
        )
        near, far = (
            (values[k, :split] - values[k + 1, :split]) / (2.0 * PLACES[k] * part * scale)
            for k in (0, 2)
        )
        bend = np.abs(near - far).max() / (
            np.abs(near).max() + 1e-3 * np.abs(values[:, :split]).max() / scale
        )
        found, part = difference(values, part * scale), part * FINER
    return found


def compared(recipe: Recipe, seed: int, how: tuple[str, str, str], most: int) -> Iterator[Compared]:
    """Differences by at most so many parameters. Raises InputError where there is no tangent."""
    model, _ = random_model(recipe, seed)
    run = fm.Run(t_end=0.02, step=1e-3, formalism=how[0], coordinates=how[1], integrator=how[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = drawn(model, run_options(run, None, None), seed, most)
        tangent = Tangent(runs, {}, {})
        solution = concluded_run(begun(runs, {}))
        found = tangent.derivative(solution, everything(runs)).derivative
        split = len(groups(solution)[0])
        for k, (name, value) in enumerate(runs.base.items()):
            scale = abs(value) or 1.0
            expected, errors = of_runs(runs, name, split), list[float]()
            for part in (slice(0, split), slice(split, None)):
                size = (
                    np.abs(expected[part]).max()
                    + 0.01 * np.abs(evaluate(solution)[part]).max() / scale
                )
                errors.append(float(np.abs(found[part, k] - expected[part]).max() / size))
            yield Compared(name, *errors)


def require_smooth(
    recipe: Recipe, seed: int, how: tuple[str, str, str], parameters: list[str]
) -> None:
    """Raises SolverError where `fm.sensitivities` refuses tangents by some parameters: of runs with
    jumps of forces, say.
    """
    if not parameters:
        return
    model, _ = random_model(recipe, seed)
    run = fm.Run(t_end=0.02, step=1e-3, formalism=how[0], coordinates=how[1], integrator=how[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fm.sensitivities(
            model,
            parameters,
            {"q": lambda solution: float(solution.q[-1] @ solution.q[-1])},
            run=run,
            method="tangent",
        )
