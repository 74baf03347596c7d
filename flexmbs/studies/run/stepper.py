"""`Stepper`: a run that the caller advances step by step.

Inputs and outputs are accessed by name; the state can be saved and restored.

A step is the one of the compiled loop; between two calls the state lies in the arrays of the run,
see `flexmbs.time_stepping.run_state`. Inputs are force states that are constant within steps; where
one is set the forces jump, as at a sample of a discrete controller. Theory: docs/theory.md,
sections 39 and 44.
"""

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from flexmbs._jit.address import bound_arguments
from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.audit import audited_steps
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, SolverError, shown
from flexmbs.formalisms.calls import watch
from flexmbs.formalisms.formalism import Formalism
from flexmbs.initial.assembly import Assemble
from flexmbs.integrators import Integrator
from flexmbs.integrators.integrator import is_number
from flexmbs.integrators.run_context import DONE, STEPPED
from flexmbs.integrators.stepper import (
    REFUSED,
    HeldInputs,
    LeadCalls,
    LeadOrder,
    integrate,
    lead,
    write_present,
)  # fmt: skip
from flexmbs.model.run import NONE
from flexmbs.results.state import HasState
from flexmbs.studies.run.options import requested_options
from flexmbs.studies.run.present_quantities import Port, Quantities
from flexmbs.studies.run.run_folder import options_of
from flexmbs.studies.run.run_setup import Prepared, RunStart, notes_of, prepared
from flexmbs.studies.run.stepper_ports import (
    OF_INPUTS,
    OF_OUTPUTS,
    OF_STEPPER,
    Ports,
    StepperInputs,
    StepperOutputs,
    named,
    places,
    state_functions,
    units_of,
    with_inputs,
)  # fmt: skip
from flexmbs.system.check import SWITCHED_OFF, Check, verdict
from flexmbs.system.compile import Compiled
from flexmbs.system.names import velocity_names
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.outcome import outcome
from flexmbs.time_stepping.records import make_outputs
from flexmbs.time_stepping.run_state import RunState, State

CHANGED = "inputs.changed"  # in the state: inputs were set since the last step
MODEL = "model"  # in the state: digests of the names of its coordinates and of its flexible bodies
OPTIONS = "options"  # in the state: those of the run, as JSON
# of a second or of the time: round-off of a time, and how far a run stands behind a jump of a drive
# at it
BESIDE = 1e-12


@checked_arguments
class Stepper:
    """A run of a model that is led step by step, for control loops, co-simulation and learning.

    ``state`` is everything that the future depends on, arrays by name: a run that it is given to
    goes on bitwise equal, also in another process with the same model, options and versions. One of
    other options, or of a model with other coordinates or flexible bodies, is refused. A step that
    fails leaves q, s and t of the one before; to go on from there, put back a state taken before.
    The `audit` verifies states of the steps so far; their errors are not judged: see ``notes``, and
    judge model and steps by a run of `simulate`. A call of `step` or `advance` costs one to two
    microseconds beside its steps. Many inputs and outputs are cheaper by ``controls[:] = u`` and
    ``observations``, arrays in the order of the ports. Threads may share a stepper: they go one after the other.

    Parameters
    ----------
    model : Model
        The model.
    t_end : float [s], optional
        The last time that can be reached; that of the model's ``run`` by default.
    step, start, formalism, coordinates, integrator, stabilization, rtol, atol, rho_inf, initial, audit : optional
        As of `simulate`; "full" is "standard" here.
    inputs : mapping of names to ports, or list of ports
        Forces that are held until they are set again, zero at the start: ("effort", joint[,
        coordinate]) [N, N m], ("force", frame, axis) [N], ("torque", frame, axis) [N m] in world
        axes. Ports of a list are named as "effort shoulder". Drives, whose rate and acceleration a
        held value does not have, keep their laws of time.
    outputs : mapping of names to ports, or list of ports
        ("coordinate", joint[, coordinate]) [m, rad], ("rate", joint[, coordinate]), and components
        in world axes: ("position", frame, axis) [m], ("rotation", frame, axis) of the rotation
        vector, |θ| ≤ π [rad], ("velocity", frame, axis), ("angular velocity", frame, axis),
        ("acceleration", frame, axis), ("angular acceleration", frame, axis), ("reaction force",
        joint, axis) [N] and ("reaction torque", joint, axis) [N m] on the child at its frame,
        ("contact force", contact, axis) [N] on the second body. Accelerations and forces are those
        after inputs that were set and samples that are due.

    Raises
    ------
    InputError
        For a model, options or ports that cannot be run.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> table = model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    >>> axle = model.add(fm.Revolute("axle", model.ground, table, axis="z"))
    >>> ports = {"inputs": {"motor": ("effort", "axle")}, "outputs": {"speed": ("rate", "axle")}}
    >>> stepper = fm.Stepper(model, t_end=2.0, step=1e-3, **ports)
    >>> for k in range(1, 201):
    ...     stepper.inputs["motor"] = 2.0 * (3.0 - stepper.outputs["speed"])
    ...     t = stepper.advance(0.01 * k)
    >>> round(stepper.outputs["speed"], 6)
    3.0
    """

    def __init__(
        self,
        model: Model,
        *,
        t_end: float | None = None,
        step: float | None = None,
        start: HasState | None = None,
        formalism: str | Formalism | None = None,
        coordinates: str | None = None,
        integrator: str | Integrator | None = None,
        stabilization: str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        rho_inf: float | None = None,
        audit: str | None = None,
        initial: Assemble | None = None,
        inputs: Ports = (),
        outputs: Ports = (),
    ) -> None:
        """Run that is advanced step by step with inputs and outputs."""
        given: dict[str, Any] = {
            "t_end": t_end,
            "step": step,
            "output_step": None,
            "formalism": formalism,
            "coordinates": coordinates,
            "integrator": integrator,
            "stabilization": stabilization,
            "rtol": rtol,
            "atol": atol,
            "rho_inf": rho_inf,
            "audit": audit,
        }
        chosen = requested_options(model, given)
        chosen["output_step"] = chosen["t_end"]  # none are stored
        given_inputs = named(inputs, "inputs", OF_INPUTS)
        driven, held = with_inputs(model, given_inputs)
        read = named(outputs, "outputs", OF_STEPPER)
        self._ready = prepared(driven, chosen, RunStart(start, initial), (), None)
        self._run = run = self._ready.run
        self._alone = threading.RLock()  # threads that share the stepper go one after the other
        self._clock = run.context.clock
        self.held = frozenset(each.item for each in held.values())  # forces that apply the inputs
        at = places(held, run.compiled.force_states)
        self._inputs = HeldInputs(
            np.zeros(len(at)), np.array(list(at.values()), np.int64), LeadCalls(), LeadOrder()
        )
        values, functions = run.state_functions(state_functions(read))
        calls, context = self._inputs.calls, run.packed.context
        calls.integrate = integrate.address(*(run.context,) * 3)
        calls.jump = run.kernels.jump.address(run.memory, run.context, run.context)
        calls.watch = watch.address(functions.record, run.state, run.state)
        calls.functions = functions.address
        self._functions = functions  # kept, `lead` holds its address
        self._order: Any = self._inputs.order.view
        self._lead = bound_arguments(lead, run.context, self._inputs)
        self._whole, self._model = RunState(run), _identity(run.compiled)
        self._options = np.array([json.dumps(options_of(self._ready))], np.bytes_)
        self._none = Trajectory(*(array[:0] for array in run.out))
        self._start = self.present()
        self.inputs = StepperInputs(units_of(model, given_inputs), at, self._inputs.given)
        self._more = _more(self._ready, read)
        if self._more is not None:
            self._write = write_present.bound(context, context, context)
            state_values, values = values, np.zeros(len(read))
            of_state = np.array([port[0] in OF_OUTPUTS for port in read.values()], bool)
            self._gather = values, of_state, state_values
        self._evaluate = watch.bound(functions, run.packed.state, run.packed.state)
        self.outputs = StepperOutputs(units_of(model, read), values, self._evaluated, self._alone)

    @property
    def t(self) -> float:
        """The present time (s)."""
        return self._clock.time

    @property
    def t_end(self) -> float:
        """The last time that can be reached (s)."""
        return self._clock.end

    @property
    def q(self) -> np.ndarray:
        """Positions (nq,) as of `Solution.q`, a copy."""
        with self._alone:
            return self._run.state.q.copy()

    @property
    def s(self) -> np.ndarray:
        """Velocities (ns,), a copy."""
        with self._alone:
            return self._run.state.s.copy()

    @property
    def controls(self) -> np.ndarray:
        """Inputs in their order: ``stepper.controls[:] = u`` acts from the present time on.

        Steps raise `InputError` for values that are not finite.
        """
        return self._inputs.given

    @property
    def observations(self) -> np.ndarray:
        """Outputs in their order at the present state, a copy."""
        return self.outputs.vector()

    def step(self) -> float:
        """Take one accepted step; time (s) at its end.

        Raises `InputError` at ``t_end``, `SolverError` where no step is accepted, and exceptions of
        user functions.
        """
        with self._alone:
            if not self._clock.time < self._clock.end:
                raise InputError(
                    f"step: the stepper is at its end, t_end = {self._clock.end:g} s; "
                    "give a longer one"
                )
            return self._steps(self._clock.end, 1.0)

    def advance(self, t: float) -> float:
        """Take steps to the time ``t`` (s), at which the last one ends.

        Returns the time reached. Raises as `step`.
        """
        with self._alone:
            return self._advance(t)

    def _advance(self, t: float) -> float:
        """Advance to time t; the time reached. Raises `InputError`."""
        now, end = self._clock.time, self._clock.end
        # the type is compared first: `is_number` takes as long as half of a short step
        if not (type(t) is float or is_number(t)) or not (
            now - BESIDE * (1.0 + now) <= t <= end * (1.0 + BESIDE)
        ):
            raise InputError(f"advance: t = {shown(t)} is not within {now:g} … {end:g} s")
        return self._steps(min(float(t), end), 0.0)

    @property
    def compiled(self) -> Compiled:
        """The compiled model, with a force for each input."""
        return self._run.compiled

    def present(self, inputs: Mapping[str, float] | None = None) -> Trajectory:
        """Trajectory with the present state as only output, for other inputs.

        Raises `InputError`.
        """
        run = self._run
        with self._alone:
            self._hold()
            state, path = run.state, run.work.path
            row = Trajectory(*make_outputs(np.array([self._clock.time]), run.facts, len(path.beta)))
            for name in ("q", "s", "sd", "lam", "z"):
                getattr(row, name)[0] = getattr(state, name)
            row.lam[0] = run.canonical_multipliers()
            row.beta[0] = path.beta
        for name, value in (inputs or {}).items():
            row.z[0, self.inputs.place(name, value)] = value
        return row

    @property
    def notes(self) -> list[str]:
        """Notes as of `Solution.run.notes`.

        Choices, warnings, contacts that a step has missed so far.
        """
        return notes_of(self._ready, self._none)

    @property
    def audit(self) -> tuple[Check, ...]:
        """Checks of the steps so far, evaluated again at each call.

        Accelerations and reactions at the ends of some of them by the equations in other
        coordinates, user functions, modes of bodies.

        Errors of the steps are NOT JUDGED, and with ``audit="none"`` nothing is.
        """
        if self._ready.chosen["audit"] == NONE:
            return (SWITCHED_OFF,)
        with self._alone:
            now = self.present()
            now.drift[0] = [
                np.abs(each).max(initial=0.0)
                for each in (self._run.context.exchange.g, self._run.context.exchange.gd)
            ]
            rows = (np.concatenate(pair) for pair in zip(self._start, now))
            info = RunInfo(redundant=self._ready.redundant)
            solution = Solution(self._run.compiled, Trajectory(*rows), {}, info)
            return audited_steps(solution, self._run)

    @property
    def verdict(self) -> str:
        """The worst of the `audit`: "NOT JUDGED", "WARN" or "FAIL"."""
        return verdict(self.audit)

    @property
    def state(self) -> State:
        """Everything on which the future depends.

        Copies of arrays by name, which `numpy.savez` stores.
        """
        with self._alone:
            self._hold()
            return self._whole.saved() | {
                CHANGED: np.array([self._inputs.calls.changed == 1]),
                MODEL: self._model.copy(),
                OPTIONS: self._options.copy(),
            }

    @state.setter
    def state(self, state: State) -> None:
        """Restore a state that `Stepper.state` returned. Raises `InputError`."""
        own = (CHANGED, MODEL, OPTIONS)
        if not isinstance(state, Mapping) or not state.keys() >= set(own):
            raise InputError(
                f"state: {shown(state)} is not a state of a stepper; give one that "
                "`Stepper.state` was"
            )
        self._require_own(state[MODEL])
        self._require_same(state[OPTIONS])
        with self._alone:
            self._whole.restore({name: array for name, array in state.items() if name not in own})
            self._inputs.given[:] = self._run.state.z[self._inputs.place]
            self._inputs.calls.changed, self.outputs.old = int(state[CHANGED][0]), True

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "stepper: cannot be copied; create another one of the same model and options, and "
            "give it this one's state"
        )

    def _require_own(self, given: np.ndarray) -> None:
        """Raise `InputError` for a state of another model.

        Values of its parameters may differ.
        """
        if np.array_equal(given, self._model):
            return
        if np.shape(given) != self._model.shape or given[0] != self._model[0]:
            raise InputError(
                "state: belongs to a model with other coordinates; give one of this model"
            )
        compiled = self._run.compiled
        piece = list(compiled.data)[int(np.argmax(given[1:] != self._model[1:]))]
        raise InputError(
            f"state: body '{compiled.whole_of(piece)}' was reduced differently, its elastic "
            "coordinates belong to other modes; give a "
            "state of this model"
        )

    def _require_same(self, given: np.ndarray) -> None:
        """Raise `InputError` for a state with other options."""
        if np.array_equal(given, self._options):
            return
        try:
            there, here = (dict(json.loads(options[0])) for options in (given, self._options))
        except (TypeError, ValueError, LookupError, RecursionError):
            raise InputError(
                f"state: '{OPTIONS}' holds {shown(given)}; give one from `Stepper.state`"
            ) from None
        key = next(key for key in (*here, *there) if here.get(key) != there.get(key))
        raise InputError(
            f"state: of a run with {key} = {there.get(key)}, this one has "
            f"{here.get(key)}; use the options of that run"
        )

    def _hold(self) -> None:
        """Set the force states of the inputs. Raises `InputError` for those that are not finite."""
        given, place, calls, _ = self._inputs
        z = self._run.state.z
        if np.array_equal(z[place], given):
            return
        self.inputs.validate()
        z[place], calls.changed = given, 1

    def _steps(self, t: float, once: float) -> float:
        """Take one step, or steps to t, through jumps of drives; time reached."""
        run, outputs, contacts = self._run, self.outputs, self._run.method.contacts
        callbacks = run.compiled.callbacks
        reading = outputs.read and self._more is None
        outputs.old, outputs.read = True, False
        order = self._order
        order[1], order[2] = once, reading
        while True:
            jump = bool(run.jumps) and run.jumps[0] < t
            order[0] = run.jumps[0] if jump else t
            status = self._lead()
            if status not in (DONE, STEPPED) or callbacks.error is not None or contacts:
                self._judge(status)
            if status == DONE and jump:
                run.jump()
            elif status == DONE or once:
                outputs.old = not reading
                return float(self._clock.time)

    def _evaluated(self) -> None:
        """Evaluate the outputs at the present state.

        Forces jump before, if inputs were set and outputs depend on forces.
        """
        if self._more is None:
            self._evaluate(self._clock.time, 0.0, 0.0)
            return
        self._order[0] = -1.0  # no step
        self._judge(self._lead())
        self._evaluate(self._clock.time, 0.0, 0.0)
        self._judge(self._write(0.0, 0.0, 0.0))
        self._more.evaluate()
        values, of_state, state_values = self._gather
        values[of_state], values[~of_state] = state_values, self._more.values

    def _judge(self, status: int) -> None:
        """Raise the error of a user function, or `SolverError` for a failed status."""
        run, callbacks = self._run, self._run.compiled.callbacks
        if run.method.contacts:
            run.take_impacts()
        if status in (DONE, STEPPED) and callbacks.error is None:
            return
        callbacks.raise_error()
        if status == REFUSED:
            self.inputs.validate()
        first, singular = self._ready.first, self._ready.singular
        if cause := self.inputs.overwhelming():
            raise SolverError(f"stopped at t = {self.t:.6g} s: {cause}")
        raise SolverError(
            outcome(
                status, run.compiled, run.method, run.context, run.work, first, singular, self._none
            )
        )


def _more(ready: Prepared, ports: Mapping[str, Port]) -> Quantities | None:
    """Outputs that need accelerations, reactions or contact forces, or rotations and velocities."""
    ports = {name: port for name, port in ports.items() if port[0] not in OF_OUTPUTS}
    if not ports:
        return None
    row = Trajectory(*(array[:1] for array in ready.run.out))
    return Quantities(ready.run.compiled, row, ports, redundant=bool(ready.redundant))


def _identity(compiled: Compiled) -> np.ndarray:
    """SHA-256 of the names of the coordinates, then of each flexible body."""
    names = json.dumps(
        [
            compiled.topology.coordinates,
            velocity_names(compiled),
            compiled.topology.cuts,
            compiled.force_states,
        ]
    )
    return np.array(
        [
            hashlib.sha256(names.encode()).hexdigest(),
            *(data.digest for data in compiled.data.values()),
        ],
        "S64",
    )
