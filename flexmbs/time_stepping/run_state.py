"""The state of a run as plain arrays by name: everything on which its future depends.

`Run` lays out its records once: nested NamedTuples of arrays, to which the compiled loop holds
addresses. An array in them is either read-only (the model, constants, addresses) or state: the
point (q, s, z, works and their rates), the path variables (`Path`), the memory of the method,
clock, counts and estimated errors of the context, instants of discrete controllers, signs of
events, and the scratch, which may hold a factorization that following steps use. `arrays` walks the
records and finds every writable array, so that a new field cannot be forgotten.

`RunState.saved` copies these arrays after an accepted step, together with the little that `Run`
keeps in Python (remaining jumps, events, impacts and pace so far). `RunState.restore` writes the
copies back to the same places, in the same run or in a new one of the same model and options, also
in another process. The loop then continues bitwise equal, since it reads nothing else; user
functions must depend on their arguments alone. Outputs are not part of the state. Theory:
docs/theory.md, section 33.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from flexmbs._jit.scalars import Scalars
from flexmbs.errors import InputError
from flexmbs.integrators.missed_contacts import DIVIDES
from flexmbs.integrators.run_context import Counts
from flexmbs.system.trajectory import EventRecord, Impact
from flexmbs.time_stepping.run import Pace, Run

State = dict[str, np.ndarray]
OUTPUTS = "out"  # field of the context that is not part of the state
# kernels use these integers as indices of arrays of the same length
PERMUTATIONS = ("row", "column", "order")
MANY = 2**53  # larger than any counter: the integers below are those that a float represents


def arrays(run: Run) -> State:
    """Arrays of the run that are its state, by the path of their names.

    Views of other arrays are left out.
    """
    context = run.context._asdict()
    del context[OUTPUTS]
    roots = {
        "common": run.common._asdict(),
        "model": run.model._asdict(),
        "memory": run.memory._asdict(),
        "context": context,
    }
    found: State = {}
    taken: list[tuple[int, int]] = []
    for name, array in (each for root, fields in roots.items() for each in _walk(root, fields)):
        begin = int(array.__array_interface__["data"][0])
        if array.size and not any(
            first <= begin and begin + array.nbytes <= last for first, last in taken
        ):
            taken.append((begin, begin + array.nbytes))
            found[name] = array
    return found


def _walk(path: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """(path, array) of the writable arrays in nested records."""
    for name, value in fields.items():
        if isinstance(value, Scalars):
            value = value.values
        if isinstance(value, np.ndarray):
            if value.flags.writeable:
                yield f"{path}.{name}", value
        elif isinstance(value, tuple):
            own = (
                value._asdict()
                if hasattr(value, "_asdict")
                else {str(k): each for k, each in enumerate(value)}
            )
            yield from _walk(f"{path}.{name}", own)


class RunState:
    """Copies of the state of a run."""

    def __init__(self, run: Run) -> None:
        self.run, self.arrays = run, arrays(run)

    def saved(self) -> State:
        """Copies of all arrays of the state, including Python values as arrays."""
        return {name: array.copy() for name, array in self.arrays.items()} | _python_state(self.run)

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Write a state of a run of the same model and options into the arrays.

        Raises `InputError` if it belongs to another run, or has indices beyond the arrays.
        """
        run = self.run
        _check(self._layout, _python_state(run), state)
        self._require_indices(state)
        for name, array in self.arrays.items():
            np.copyto(array, state[name])
        nq = len(run.state.q)
        run.jumps = [float(t) for t in state["run.jumps"]]
        run.found = [
            EventRecord(
                run.declared[int(row[0])].name,
                float(row[1]),
                row[2 : 2 + nq].copy(),
                row[2 + nq :].copy(),
            )
            for row in state["run.events"]
        ]
        run.impacts = [
            Impact(
                run.compiled.contacts[int(row[0])],
                float(row[1]),
                (float(row[2]), float(row[3]), float(row[4])),
                float(row[5]),
            )
            for row in state["run.impacts"]
        ]
        run.ending = run.found[-1] if run.found and state["run.ended"][0] else None
        run.pace = next((Pace(int(n), float(t), int(k)) for n, t, k in state["run.pace"]), None)

    def _require_indices(self, state: Mapping[str, np.ndarray]) -> None:
        """Raise `InputError` for integers with which kernels would leave their arrays."""
        names, most = self._most
        given = np.concatenate([state[name].ravel() for name in names], dtype=np.int64)
        events, impacts = state["run.events"][:, 0], state["run.impacts"][:, 0]
        if not ((given < 0) | (given > most)).any() and not len(events) and not len(impacts):
            return
        largest = self._largest_integers() | {
            "run.events": len(self.run.declared) - 1,
            "run.impacts": len(self.run.compiled.contacts) - 1,
        }
        for name, limit in largest.items():
            given = state[name] if name in self.arrays else state[name][:, 0]
            bad = np.flatnonzero(~((given >= 0) & (given <= limit)))
            if len(bad):
                raise InputError(
                    f"state: '{name}[{bad[0]}]' = {given.flat[bad[0]]} is not in the range of its "
                    "indices; the state is damaged"
                )

    @functools.cached_property
    def _most(self) -> tuple[list[str], np.ndarray]:
        """Names of the integer arrays, and the largest value of each of their entries."""
        largest = self._largest_integers()
        each = [np.broadcast_to(most, self.arrays[name].size) for name, most in largest.items()]
        return list(largest), np.concatenate([np.zeros(0, np.int64), *each])

    @functools.cached_property
    def _layout(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """Type and shape of each array."""
        return {name: (array.dtype, array.shape) for name, array in self.arrays.items()}

    def _largest_integers(self) -> dict[str, np.ndarray | int]:
        """Largest value of each entry of the integer arrays; the smallest is 0."""
        run, context = self.run, self.run.context
        found: dict[str, np.ndarray | int] = {
            name: array.size - 1 if name.rsplit(".", 1)[-1] in PERMUTATIONS else MANY
            for name, array in self.arrays.items()
            if array.dtype.kind == "i"
        }
        counts = Counts(np.full(len(context.counts.values), MANY))
        counts.reached, counts.corner = len(context.times), len(context.corners)
        counts.taking, counts.unseen = len(context.contact.row), DIVIDES
        ns, nc = len(run.state.s), len(context.state.lam)
        numbers = [min(ns, nc), ns, MANY]  # rank, named and made of `CoordinateChoice.numbers`
        found["context.counts"] = counts.values
        found["common.work.path.choice"] = np.array([*numbers, *[nc - 1] * nc, *[ns - 1] * ns])
        found["model.workspace.choice.numbers"] = np.array(numbers)
        return {name: most for name, most in found.items() if name in self.arrays}


def _python_state(run: Run) -> State:
    """Python values of the state as arrays: jumps, events, impacts, pace.

    The last event is the terminal one if ``ended``.
    """
    declared, contacts = [event.name for event in run.declared], run.compiled.contacts
    nq, ns = len(run.state.q), len(run.state.s)
    events = [
        (float(declared.index(event.name)), event.t, *event.q, *event.s) for event in run.found
    ]
    impacts = [
        (float(contacts.index(each.contact)), each.t, *each.impulse, each.lost)
        for each in run.impacts
    ]
    return {
        "run.jumps": np.array(run.jumps, float),
        "run.ended": np.array([run.ending is not None]),
        "run.events": np.array(events).reshape(-1, 2 + nq + ns),
        "run.impacts": np.array(impacts).reshape(-1, 6),
        "run.pace": np.array([run.pace] if run.pace else [], float).reshape(-1, 3),
    }


def _check(
    own: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]],
    beside: State,
    state: Mapping[str, np.ndarray],
) -> None:
    """Raise `InputError` unless the state has exactly arrays of these types and shapes.

    Those of ``beside`` may have any number of rows.
    """
    wanted = dict(own) | {name: (each.dtype, each.shape[1:]) for name, each in beside.items()}
    for name, (kind, shape) in wanted.items():
        given = state.get(name)
        if not isinstance(given, np.ndarray):
            raise InputError(
                f"state: '{name}' is missing; it belongs to another model or to other options"
            )
        found = given.shape[1:] if name in beside else given.shape
        if found != shape or given.dtype != kind:
            text = f"has {given.dtype} {given.shape}, this run {kind} {shape}"
            raise InputError(
                f"state: '{name}' {text}; it belongs to another model or to other options"
            )
    if len(state) > len(wanted):
        name = next(name for name in state if name not in wanted)
        raise InputError(
            f"state: '{name}' is unknown; it belongs to another model or to other options"
        )
