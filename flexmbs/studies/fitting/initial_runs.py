"""Initial states of the nominal and perturbed runs, for derivatives by parameters."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from flexmbs.algebra.differences import PLACES, narrow_and_wide
from flexmbs.errors import InputError, SolverError
from flexmbs.formalisms import calls as equations
from flexmbs.integrators import GeneralizedAlpha
from flexmbs.integrators.generalized_alpha import CONSTANT
from flexmbs.integrators.run_context import (
    DONE,
    STEPPED,
)  # fmt: skip
from flexmbs.integrators.stepper import integrate
from flexmbs.signals.signal_arguments import FloatArray
from flexmbs.studies.fitting.parameter_runs import Runs, Values
from flexmbs.studies.fitting.trajectory_equations import TrajectoryPoints
from flexmbs.studies.run.run_setup import Prepared
from flexmbs.system.compile import Compiled
from flexmbs.time_stepping.run import Run

# step of a parameter over its size, with four places, and with two for iterations
PART, QUICK = 4e-3, 1e-4
FINER, TRIES = (
    0.25,
    8,
)  # factor of a smaller step for initial states, and largest number of reductions
# change of the slope of a start from ± step to ± 2 step, over its size, where it is no slope yet
BENT = 0.1
STRAIGHT = 1e-4  # the same where it is small enough: the error of D₄ is about its square
LITTLE = 1e-3  # of values over the size of a parameter: slopes below it count as that large
LENGTH = 1e-6  # rad, m, and per second: values below it may be round-off


class Beginning(NamedTuple):
    """The state of a run at its start.

    ``s`` as an output has it, ``began`` and ``a`` as the first step has them.
    """

    q: FloatArray
    s: FloatArray
    began: FloatArray
    a: FloatArray
    sd: FloatArray
    lam: FloatArray
    x: FloatArray  # force states, works
    xd: FloatArray


class Begun(NamedTuple):
    """A run at its start."""

    ready: Prepared
    start: Beginning

    @property
    def compiled(self) -> Compiled:
        """Its compiled model."""
        return self.ready.run.compiled


class Variants(NamedTuple):
    """Runs with one parameter changed by `PLACES` times the step.

    Two runs (± step) or four (± step, ± 2 step).
    """

    name: str
    scale: float
    step: float
    runs: tuple[Begun, ...]

    def slope(self, of: Callable[[Begun], FloatArray]) -> FloatArray:
        """Derivative dy/dp of a function of the perturbed runs, by central differences."""
        return difference(np.array([of(run) for run in self.runs]), self.step)

    @property
    def bend(self) -> float:
        """Largest relative change of initial derivatives when the step is doubled, or 0.

        The slopes of q, s and the constants of the start.
        """
        if len(self.runs) == 2:
            return 0.0
        found = [0.0]
        for values in zip(
            *((run.start.q, run.start.s, run.compiled.initial_constants) for run in self.runs)
        ):
            near, far = narrow_and_wide(values, self.step)
            least = LITTLE * (LENGTH + np.abs(values[0]).max(initial=0.0)) / self.scale
            found.append(
                float(np.abs(near - far).max(initial=0.0) / (np.abs(near).max(initial=0.0) + least))
            )
        return max(found)


def difference(values: FloatArray, step: float) -> FloatArray:
    """Derivative from values (4, …) at `PLACES` times a step, of order four.

    From two values (2, …) at ± step, of order two.
    """
    if len(values) == 2:
        return np.asarray((values[0] - values[1]) / (2.0 * step))
    near, far = narrow_and_wide(values, step)
    return (4.0 * near - far) / 3.0


def begun(runs: Runs, values: Values) -> Begun:
    """Initial run with these parameter values and a tight Newton tolerance.

    Raises `InputError`.
    """
    ready = runs.solving().prepared(values)
    return Begun(ready, _beginning(ready))


def _beginning(ready: Prepared) -> Beginning:
    """Initial state, as the first step of the generalized-α method takes it.

    See `flexmbs.integrators.generalized_alpha.suit`.
    """
    run, method, state = ready.run, ready.method, ready.run.state
    q, s, sd, lam = (each.copy() for each in (state.q, state.s, state.sd, state.lam))
    x, xd = np.concatenate([state.z, state.w]), np.concatenate([state.zd, state.power])
    began, a = s, sd
    if isinstance(method, GeneralizedAlpha) and run.memory.last[CONSTANT] > 0.0:
        h, (am, af, beta, gamma) = run.context.clock.next, method.parameters()
        a = sd + (am - af) * h * run.memory.jerk
        began = s + _shift(
            run,
            h * h * run.memory.kappa,
            ((1.0 - am) / (h * h * beta * (1.0 - af)), gamma / (h * beta)),
        )
    return Beginning(q, s, began, a, sd, lam, x, xd)


def _shift(run: Run, rates: FloatArray, factors: tuple[float, float]) -> FloatArray:
    """Velocity change Δs with G Δs = ``rates``, by the matrix of the first step."""
    packed, exchange, form = (
        run.packed,
        run.context.exchange,
        equations.of_formalism(type(run.form)),
    )
    of_form = packed.model, packed.state, packed.state
    equations.residual(packed.common, packed.state, packed.state, 0.0, 1.0)
    form.matrix(*of_form, *factors)  # type: ignore[misc]
    ns = len(run.state.s)
    exchange.x[:ns] = 0.0
    exchange.x[ns:] = np.where(exchange.nonholonomic == 1, 0.0, rates)
    form.correction(*of_form)  # type: ignore[misc]
    return np.array(exchange.x[:ns])


def step_of(run: Run) -> bool:
    """Take one step of a run; True if it was not at its end.

    Raises `SolverError` and exceptions of user functions.
    """
    clock, context = run.context.clock, run.packed.context
    if not clock.time < clock.end:
        return False
    run.context.counts.paused = 1
    clock.stop = clock.end
    status = integrate(context, context, context, 0.0, 0.0, clock.end)
    run.compiled.callbacks.raise_error()
    if status not in (DONE, STEPPED):
        raise SolverError(
            f"method: a step at t = {clock.time:.6g} s is not possible; take method='differences'"
        )
    return True


def variants(
    runs: Runs,
    base: Begun,
    name: str,
    scale: float,
    *,
    quick: bool = False,
    mapped: Callable[..., Iterable[Any]] = map,
) -> Variants:
    """Initial runs with perturbed parameter, with steps for which they are smooth.

    Near a singular position the assembled state changes over a small interval of a parameter.
    Raises `InputError` if the perturbed model has other coordinates or constraints, or does not
    run.
    """
    places = QUICK * scale * PLACES[:2] if quick else PART * scale * PLACES
    best = Variants(name, scale, places[0], _perturbed_runs(runs, base, name, places, mapped))
    for k in range(1, TRIES):
        if best.bend <= STRAIGHT:
            break
        finer = places * FINER**k
        found = Variants(name, scale, finer[0], _perturbed_runs(runs, base, name, finer, mapped))
        if 0.5 * best.bend < found.bend < BENT:  # round-off
            break
        best = min(best, found, key=lambda each: each.bend)
    return best


def _perturbed_runs(
    runs: Runs, base: Begun, name: str, changes: FloatArray, mapped: Callable[..., Iterable[Any]]
) -> tuple[Begun, ...]:  # fmt: skip
    """Initial runs with changes of one parameter. Raises `InputError`."""
    middle = runs.base[name]

    def made(change: float) -> Begun:
        """Initial run with a changed parameter. Raises `InputError` naming the value."""
        try:
            return begun(runs, {name: middle + change})
        except InputError as error:
            why = str(error).partition("\n")[0]
            raise InputError(
                f"{name} = {middle + change:.6g}: {why}; take method='differences'"
            ) from None

    found = tuple(mapped(made, changes.tolist()))
    for run in found:
        here, there = (each.compiled for each in (base, run))
        if _shape(here) != _shape(there) or run.ready.redundant != base.ready.redundant:
            raise InputError(
                f"{name}: coordinates or constraints of the model depend on it; take "
                "method='differences'"
            )
    return found


def _shape(compiled: Compiled) -> tuple[Any, ...]:
    """Discrete properties of a compiled model that perturbed runs must share.

    Bodies in their order, the joints between them and which are cut, numbers.
    """
    shape = compiled.topology
    return (
        shape.bodies,
        shape.cuts,
        tuple(each.joint for each in shape.tree),
        tuple(compiled.system.layout.tolist()),
    )


def recorded(base: Begun) -> tuple[TrajectoryPoints, FloatArray]:
    """Run to the end: states and unknowns y at the ends of all steps.

    The run is at its end afterwards. Raises `SolverError`.
    """
    run, start = base.ready.run, base.start
    state, path = run.state, run.work.path
    nz = len(state.z)
    ys = [state.y.copy()]
    rows: list[tuple[Any, ...]] = []

    def record(t: float, of: Any, z: FloatArray, d: FloatArray) -> None:
        """Add a row of `TrajectoryPoints`: a point with its path."""
        kept = (of.q, of.s, of.sd, of.lam, z, path.beta, path.covectors, d)
        rows.append((t, *(each.copy() for each in kept)))

    record(0.0, start, start.x[:nz], 0.0 * start.s)
    while step_of(run):
        record(run.context.clock.time, state, state.z, state.d)
        ys.append(state.y.copy())
    return TrajectoryPoints(*(np.array(column) for column in zip(*rows))), np.array(ys)
