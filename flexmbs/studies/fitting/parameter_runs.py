"""Runs of a model with other values of its parameters.

They are not audited; their discrete course must be the same in all of them.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.integrators import GeneralizedAlpha
from flexmbs.model.run import OF_INTEGRATOR, Run
from flexmbs.report.contacts import KINDS, friction_of, states_of
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.parameter_bounds import read_number
from flexmbs.studies.parameters.parameter_paths import Build, made, number_of
from flexmbs.studies.run.options import chosen_integrator, requested_options
from flexmbs.studies.run.run_setup import Prepared, RunStart, prepared
from flexmbs.studies.run.simulate import simulate, unaudited
from flexmbs.time_stepping.event import Event, checked_events
from flexmbs.time_stepping.outcome import INTERRUPTED

Values = dict[str, float]
Evaluate = Callable[[Solution], FloatArray]
OPTIONS = (
    "formalism",
    "coordinates",
    "integrator",
    "stabilization",
    "step",
    "output_step",
    "rho_inf",
    "rtol",
    "atol",
    "audit",
    "t_end",
)
TIGHT = {"rtol": 1e-9, "atol": 1e-11}  # of controlled steps, if the user states none
# tolerance of Newton's method: what it leaves is divided by the steps of differences
NEWTON = 1e-13

TIME_STEPPING = "moreau-jean"
LEAST_OUTPUTS, MOST_OUTPUTS = 200, 100_000
NAMES = {
    "end": "ends of runs",
    "events": "events",
    "impacts": "impacts",
    "contacts": "states of contacts",
    "redundant": "redundant constraints",
}


class Course(NamedTuple):
    """Discrete properties of a run: derivatives exist only for runs in which these are the same.

    late: rigid contacts that change their state at the ends of steps, whenever that would be.
    """

    end: str
    events: tuple[str, ...]
    impacts: tuple[str, ...]
    contacts: tuple[str, ...]
    redundant: tuple[tuple[str, int], ...]
    late: tuple[str, ...] = ()

    def require_smooth(self) -> None:
        """Raise `InputError` for contacts that close at the ends of steps.

        Their times change in jumps.
        """
        if self.late:
            raise InputError(
                f"contacts.{self.late[0]}: '{TIME_STEPPING}' closes contacts at the ends "
                "of steps, its runs have no derivatives "
                "by parameters; use integrator='event-driven'"
            )

    def difference(self, other: "Course") -> str:
        """Difference to another course, in words; empty if there is none."""
        for what, mine, its in zip(self._fields, self, other):
            if mine != its:
                return f"other {NAMES[what]}, {_text(its)} instead of {_text(mine)}"
        return ""


class Result(NamedTuple):
    """Values (n,) of the outputs of a run, and its course."""

    values: FloatArray
    course: Course


@dataclasses.dataclass(frozen=True)
class Runs:
    """Runs of a model, or of those that a function builds, with options in common.

    ``runs(values)``: outputs of the run with these values of the parameters.  solved: whether
    equations are solved to round-off.
    """

    build: Build
    base: Values
    options: dict[str, Any]
    events: tuple[Event, ...]
    evaluate: Evaluate
    solved: bool = False

    def model(self, values: Mapping[str, float]) -> Model:
        """Model with these parameter values. Raises `InputError`."""
        return made(self.build, {**self.base, **values})

    def __call__(self, values: Mapping[str, float], **options: Any) -> Result:
        """Outputs and course of the run with these values, and other options.

        Raises `InputError`, `SolverError`.
        """
        solution = self.solution(values, **options)
        return Result(self.evaluate(solution), course(solution))

    def solution(self, values: Mapping[str, float], **options: Any) -> Solution:
        """Solution of a run with these parameter values. Raises `InputError`, `SolverError`."""
        ready = self.prepared(values, **options)
        begun = time.perf_counter()
        status, written = ready.run.integrate(None)
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        return unaudited(ready, status, written, time.perf_counter() - begun)

    def prepared(self, values: Mapping[str, float], **options: Any) -> Prepared:
        """Run with these parameter values, not started. Raises `InputError`."""
        model = self.model(values)
        found = requested_options(model, {**self.options, **options})
        method = chosen_integrator(found["integrator"], {key: found[key] for key in OF_INTEGRATOR})
        if self.solved and isinstance(method, GeneralizedAlpha):
            method = dataclasses.replace(
                method, newton_tolerance=min(NEWTON, method.newton_tolerance)
            )
        found |= {"integrator": method} | dict.fromkeys(OF_INTEGRATOR)
        return prepared(model, found, RunStart(), self.events, None)

    def solving(self) -> "Runs":
        """Same runs with Newton's method converged to round-off."""
        return dataclasses.replace(self, solved=True)

    def evaluating(self, evaluate: Evaluate) -> "Runs":
        """The same runs with other outputs."""
        return dataclasses.replace(self, evaluate=evaluate)

    def with_outputs(self, step: float) -> "Runs":
        """Same runs with outputs at least so often, but not more than `MOST_OUTPUTS` of them."""
        end = float(requested_options(self.model(self.base), self.options)["t_end"])
        step = min(max(step, end / MOST_OUTPUTS), end / LEAST_OUTPUTS)
        return dataclasses.replace(self, options=self.options | {"output_step": step, "t_end": end})

    def audited(self, values: Mapping[str, float]) -> Solution:
        """Audited solution with these parameter values; findings become warnings."""
        return simulate(self.model(values), **self.options, events=self.events)


def course(solution: Solution) -> Course:
    """Discrete course of a run: how it ended, its events, impacts and contact states.

    How it ended, its events, impacts, states of rigid contacts, redundant constraints.
    """
    run = solution.run
    impacts = tuple(impact.contact for impact in run.impacts)
    kinds = {
        name: states_of(solution.contact(name), friction_of(solution, name))
        for name in solution.overlaps
    }
    late = tuple(name for name, states in kinds.items() if np.diff(states).any())
    return Course(
        run.outcome.partition(" at t =")[0], tuple(event.name for event in run.events), impacts,
        tuple(f"{name}: {_passed(states)}" for name, states in kinds.items()), tuple(run.redundant),
        late if run.options.get("integrator") == TIME_STEPPING else (),
    )  # fmt: skip


def _passed(states: np.ndarray) -> str:
    """Sequence of states that a rigid contact passes through."""
    return " ".join(KINDS[kind] for kind in states[np.flatnonzero(np.diff(states, prepend=-1))])


def _text(value: Any) -> str:
    """Value as text: quoted string, or number and first items of a list."""
    if isinstance(value, str):
        return f"'{value}'"
    return (
        f"{len(value)} ({', '.join(map(str, value[:3]))}{', …' if len(value) > 3 else ''})"
        if value
        else "none"
    )


def base_values(build: Build, parameters: Any) -> Values:
    """Initial values of the parameters, from the model if only paths are given.

    Raises `InputError`.
    """
    if isinstance(parameters, str):
        parameters = [parameters]
    if isinstance(parameters, Mapping):
        found = {
            str(name): read_number(value, f"parameters.{name}")
            for name, value in parameters.items()
        }
    elif isinstance(parameters, Sequence):
        for name in parameters:
            if not isinstance(name, str) or "." not in name:
                remedy = (
                    "an argument of a function needs its value, {'name': value, …}"
                    if isinstance(name, str)
                    else "give texts"
                )
                raise InputError(
                    f"parameters: {shown(name)} is not the path of a parameter, such as "
                    f"'bodies.tool.mass'; {remedy}"
                )
        model = made(build, {})
        found = {name: number_of(build, model, name) for name in parameters}
    else:
        raise InputError(
            f"parameters: {shown(parameters)} is not a list of paths, such as ['bodies.tool.mass']"
        )
    if not found:
        raise InputError(
            "parameters: is empty; give one path or more, such as 'bodies.tool.mass' "
            "(fm.parameters lists them)"
        )
    model = made(build, found)
    for name in found:
        if "." in name:
            number_of(build, model, name)
    return found


def run_options(run: Run | None, t_end: float | None, step: float | None) -> dict[str, Any]:
    """Options of `simulate` from those of a run, its end and its step.

    With tight tolerances of controlled steps.
    """
    if run is not None and not isinstance(run, Run):
        raise InputError(f"run: {shown(run)} is not an fm.Run; give fm.Run(t_end=…, step=…)")
    options: dict[str, Any] = {key: None if run is None else getattr(run, key) for key in OPTIONS}
    options |= {
        key: value for key, value in (("t_end", t_end), ("step", step)) if value is not None
    }
    return options


def tightened(options: dict[str, Any], model: Model) -> dict[str, Any]:
    """The options with tight tolerances if steps are controlled and none are given.

    The options include those of the model's [run].
    """
    found = requested_options(model, options)
    options = {key: found.get(key) for key in OPTIONS}
    if (
        options["step"] is None
        and found.get("step") is None
        and not hasattr(found["integrator"], "step")
    ):
        options |= {key: value for key, value in TIGHT.items() if options[key] is None}
    return options


def prepared_runs(
    build: Build,
    parameters: Any,
    options: dict[str, Any],
    events: Sequence[Event],
    evaluate: Evaluate,
    *,
    end: float | None = None,
) -> Runs:
    """Runs that vary parameters about their initial values.

    Raises `InputError`.
    """
    base = base_values(build, parameters)
    model = made(build, base)
    if options["t_end"] is None and model.run is None:
        options = {**options, "t_end": end}
    return Runs(build, base, tightened(options, model), checked_events(events), evaluate)
