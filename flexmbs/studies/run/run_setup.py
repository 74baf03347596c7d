"""Setup of a run from a model and options.

The run at its start, with the information that its solution will hold.
"""

import dataclasses
import time
from typing import Any, NamedTuple

from flexmbs.api.model import Model
from flexmbs.diagnosis.assemble import redundancy_text
from flexmbs.diagnosis.rank import (
    DEPENDENT,
    NEARLY,
    Pivots,
    Singular,
    has_usual_rank,
    pivots,
    singular_position,
)
from flexmbs.diagnosis.singular_positions import passage_notes, passages
from flexmbs.dynamics.work import make_work
from flexmbs.errors import AssemblyWarning, InputError, warn_caller
from flexmbs.flexible_body.body_cache import reading_once
from flexmbs.formalisms.formalism import Formalism
from flexmbs.initial.assembly import Assemble
from flexmbs.initial.initial_state import (
    InitialState,
    consistent_state,
    in_coordinates,
    initial_state,
    require_consistent_accelerations,
)
from flexmbs.integrators import Integrator
from flexmbs.integrators.missed_contacts import unseen_notes
from flexmbs.model.check import declaration_report
from flexmbs.model.declared_values import model_values
from flexmbs.model.laws import Constant, TimeLaw
from flexmbs.model.run import OF_INTEGRATOR
from flexmbs.results.state import HasState, given_state, require_same_shapes, started
from flexmbs.studies.run.options import (
    check_contacts,
    check_reactions,
    check_velocity_rows,
    chosen_formalism,
    chosen_integrator,
    output_times,
)  # fmt: skip
from flexmbs.studies.states.unique_reactions import require_determined_loads
from flexmbs.studies.states.user_rates import require_stated_rates
from flexmbs.system.compile import Compiled
from flexmbs.system.trajectory import Trajectory
from flexmbs.time_stepping.event import Event
from flexmbs.time_stepping.run import Progress, Run
from flexmbs.time_stepping.second_process import all_compiled, compile_in_second_process


class RunStart(NamedTuple):
    """Start of a run.

    A state or an equilibrium, or the declared values with options of the assembly.
    """

    given: HasState | None = None
    assembly: Assemble | None = None


class Prepared(NamedTuple):
    """A run at its start, with the findings of its preparation."""

    model: Model
    chosen: dict[str, Any]  # all options
    method: Integrator
    form: Formalism
    run: Run
    first: Pivots  # of the constraints at the start
    regular: InitialState  # the start, or a regular position near a singular one
    redundant: list[tuple[str, int]]
    singular: Singular | None
    moved: list[str]
    warned: list[str]
    seconds: float


@reading_once()
def prepared(
    model: Model,
    chosen: dict[str, Any],
    start: RunStart,
    events: tuple[Event, ...],
    progress: Progress | None,
) -> Prepared:
    """Run of a model with all options set, at its consistent initial state.

    Its kernels are compiled. Raises `InputError`.
    """
    method = chosen_integrator(chosen["integrator"], {key: chosen[key] for key in OF_INTEGRATOR})
    form = chosen_formalism(
        chosen["formalism"], chosen["stabilization"], chosen["coordinates"], method
    )
    times = output_times(chosen["t_end"], method.step, chosen["output_step"])
    warned = _checked(model, method, chosen["t_end"])
    compile_in_second_process(form.name, method.name)
    begun = time.perf_counter()
    if progress:
        progress(0.0, "assembling")
    joint, first_state = _starting_state(model, start.given, start.assembly)
    singular = singular_position(joint, first_state)
    usual = has_usual_rank(joint, first_state, singular)
    compiled, first_state = in_coordinates(joint, first_state, chosen["coordinates"])
    if singular:
        singular = singular._replace(
            near=in_coordinates(joint, singular.near, chosen["coordinates"])[1]
        )
    regular = singular.near if singular else first_state
    first = pivots(compiled, regular.q, regular.s, regular.beta)
    compiled = dataclasses.replace(compiled, rank=first.rank(NEARLY) if usual else None)
    run = Run(compiled, method, form, times, make_work(compiled.system, first_state.beta), events)
    run.connect()
    all_compiled()
    run.begin(first_state)
    redundant = first.dependent(DEPENDENT)
    if redundant:
        require_determined_loads(compiled, first_state)
        if not singular:
            require_consistent_accelerations(compiled, first_state)
    if progress:
        progress(0.0, "compiling (once)")
    moved = [str(m) for m in first_state.moved]
    seconds = time.perf_counter() - begun
    return Prepared(
        model,
        chosen,
        method,
        form,
        run,
        first,
        regular,
        redundant,
        singular,
        moved,
        warned,
        seconds,
    )


def notes_of(ready: Prepared, good: Trajectory) -> list[str]:
    """Notes on the choices, the start and the course of the run."""
    chosen, compiled, first = ready.chosen, ready.run.compiled, ready.first
    ready.run.passed = passages(compiled, good, ready.regular.beta, first.rank(NEARLY))
    return [
        *(
            [f"integrator: '{ready.method.name}', {chosen['why']}, by default"]
            if chosen.get("why")
            else []
        ),
        *ready.warned,
        *(redundancy_text(compiled.model, name, rows) for name, rows in ready.redundant),
        *(f"assembly moved {m}" for m in ready.moved),
        *([str(ready.singular)] if ready.singular else []),
        *_notes_of_run(ready.run, ready.form),
        *passage_notes(ready.run.passed),
    ]


def _notes_of_run(run: Run, form: Formalism) -> list[str]:
    """Notes of the model, the formalism and the method after the run."""
    return [
        *run.compiled.topology.notes(),
        *run.compiled.callbacks.slow_notes(),
        *form.notes(run.compiled, run.workspace),
        *run.method.notes(run.memory),
        *run.overlaps,
        *unseen_notes(run.context.contact, run.compiled.contacts),
    ]


def _checked(model: Model, method: Integrator, t_end: float) -> list[str]:
    """Issue warnings on the declaration.

    Raises `InputError` if the model, or the model with this method, has errors.
    """
    report = declaration_report(model)
    report.raise_errors()
    check_velocity_rows(model, method)
    check_contacts(model, method)
    check_reactions(model, method)
    require_stated_rates(model, 0.0, t_end)
    return list(report.warnings)


def _starting_state(
    model: Model, start: HasState | None, initial: Assemble | None
) -> tuple[Compiled, InitialState]:
    """Compiled model in joint coordinates and its consistent initial state."""
    if start is not None and initial is not None:
        raise InputError("initial: a start is already consistent; give initial or start, not both")
    if start is None:
        return consistent_state(model, how=initial)
    joint, _ = initial_state(model, how=Assemble(elastic=True))
    given = given_state("start", start)
    _warn_of_time(model, given.t)
    found = started(joint, given)
    require_same_shapes(joint, given, "start")
    return joint, found


def _warn_of_time(model: Model, t: float) -> None:
    """Warn if a state at another time starts a run with laws of time."""
    found = (".".join(path[:2]) for path, part in model_values(model) if _depends_on_time(part))
    if t != 0.0 and (items := dict.fromkeys(found)):
        names = ", ".join(items)
        text = f"start: its time t = {t:g} s becomes t = 0; laws of time restart ({names})"
        warn_caller(f"{text}, shift them by {t:g} s to continue them", AssemblyWarning)


def _depends_on_time(part: object) -> bool:
    """True for a law that is not constant, and for functions."""
    return not isinstance(part, Constant) if isinstance(part, TimeLaw) else callable(part)
