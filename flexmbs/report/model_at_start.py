"""Model at its start as a solution with one output, for inspection before a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.initial.initial_state import InitialState, declared_state, initial_state
from flexmbs.model.check import declaration_report, require_model
from flexmbs.model.model import ModelData
from flexmbs.player.solids import Solid
from flexmbs.report.view import View, view
from flexmbs.results.solution import SolutionData
from flexmbs.scene.scene import Extras
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.trajectory import RunInfo, Trajectory


class ModelStart(NamedTuple):
    """Start of a model, and notes."""

    solution: SolutionData
    notes: list[str]


def model_view(model: ModelData, solids: Sequence[Solid] = (), notes: Sequence[str] = ()) -> View:
    """Page of a model at its start, without forces."""
    start = start_of(model)
    return view(start.solution, Extras(solids, [*start.notes, *notes], forces=False))


def start_of(model: ModelData) -> ModelStart:
    """Consistent initial state; if there is none, the declared positions, with the reason.

    Raises InputError for models with other problems.
    """
    require_model(model)
    declaration_report(model).raise_errors()
    try:
        compiled, state = initial_state(model)
        notes = [f"assembly moved {moved}" for moved in state.moved]
    except InputError as error:
        compiled = compile_model(model, "joint")
        state = declared_state(compiled)
        notes = [f"declared positions, not assembled: {problem}" for problem in error.problems]
    return ModelStart(
        SolutionData(compiled, _one_output(compiled, state), {}, RunInfo(outcome="not run")), notes
    )


def _one_output(compiled: Compiled, state: InitialState) -> Trajectory:
    """Trajectory with positions and velocities, and zeros otherwise."""
    s = state.s[None]
    rest = (
        np.zeros_like(s),
        np.zeros((1, compiled.n_constraints)),
        np.zeros((1, int(compiled.system.layout[4]))),
    )
    return Trajectory(
        np.zeros(1),
        state.q[None],
        s,
        *rest,
        np.zeros((1, 3)),
        np.zeros((1, 2)),
        np.zeros(1),
        beta=state.beta[None],
    )
