"""Kernels of laws (`flexmbs.law_kernel`) called by address, out = value(p, u, x).

Each is compiled only if a model contains it. p are the parameters of the law, u the values of laws
of time and user functions, x time and motion. The compiled kernels of the equations name no law, so
that a new law is compiled alone.

Theory: docs/theory.md, sections 39 and 41.
"""

import functools

import numpy as np

from flexmbs._jit import as_part, call_address, part
from flexmbs._jit.address import Entry, bound_entry, call, memory_of
from flexmbs._jit.record_layout import words
from flexmbs.dynamics.laws import law_of_time
from flexmbs.law_kernel import KEPT, LAW_KERNELS
from flexmbs.system.records import (
    LAW_FUNCTION, LawArguments, LawWorkspace, System,
)  # fmt: skip

ARGUMENTS = 19  # largest number of a law's arguments: time and the motion of a frame
N_WORDS = 28  # words that describe four arrays
WIDTH = 72  # largest result of a law: two matrices (6, 6)


def _value(given, none, same, t, slopes, b):
    """Evaluate a law that has no derivatives; does nothing if slopes are asked for."""
    if slopes == 0.0:
        value(given.p, given.u, given.x, given.out)  # noqa: F821
    return 0


def _with_slopes(given, none, same, t, slopes, b):
    """Evaluate a law, or its derivatives if ``slopes`` is not 0."""
    if slopes == 0.0:
        value(given.p, given.u, given.x, given.out)  # noqa: F821
    else:
        derivatives(given.p, given.u, given.x, given.out)  # noqa: F821
    return 0


@functools.cache
def _entry(number: int) -> Entry:
    """The compiled kernel of law ``number``, with its derivatives if it has any."""
    law = LAW_KERNELS[number]
    name = f"{law.value.__module__}_{law.value.__name__}"
    parts = {"value": as_part(law.value)}
    if law.derivatives is None:
        return bound_entry(_value, name, **parts)
    return bound_entry(_with_slopes, name, **parts, derivatives=as_part(law.derivatives))


def _address(number: int, arguments: LawArguments) -> int:
    """Address of the compiled law ``number`` for its arguments."""
    return _entry(number).address(arguments, arguments, arguments)


def compile_laws() -> None:
    """Compile the kernels of all laws ahead of time."""
    for number in range(len(LAW_KERNELS)):
        _address(number, LawArguments(*[np.zeros(1)] * 4))


def most_stored(system: System) -> int:
    """Largest number of force states of a law, or of stored numbers of a discrete controller."""
    n = max(int(rows.law.n_states.max(initial=0)) for rows in system.forces)
    return max(n, int(system.samplers.n_memory.max(initial=0)))


def most_read(system: System) -> int:
    """Largest number of reaction components that a law reads."""
    return 6 * max(
        int(rows.n_readings.max(initial=0)) for rows in (system.forces.frame, system.forces.pair)
    )


def most_constants(system: System) -> int:
    """Largest number of parameters of a user function."""
    return int(np.diff(system.laws.at)[system.laws.kind == LAW_FUNCTION].max(initial=0))


def most_arguments(system: System) -> int:
    """Largest number of arguments of a law for time and motion."""
    return max(ARGUMENTS, 1 + 2 * system.forces.joints.body.shape[1])


def make_law_workspace(system: System) -> LawWorkspace:
    """Workspace for the kernels of a system: addresses, words, u, x and out.

    `connect_laws` fills the addresses and words.
    """
    lawful = (*system.forces, system.samplers)
    most = max(int((rows.law.n_given * rows.law.gives).max(initial=KEPT)) for rows in lawful)
    stored = most_stored(system) + most_read(system)
    called_laws = _called(system)
    n = 1 + max((place for place, _, _ in called_laws), default=-1)
    most += max((LAW_KERNELS[number].workspace(p) for _, number, p in called_laws), default=0)
    # force states are followed by their bases and a weight
    # (`flexmbs.dynamics.force_laws.give_states`)
    x, out = (
        np.zeros(most_arguments(system) + 2 * stored + 1),
        np.zeros(max(WIDTH, most_arguments(system)) + stored),
    )
    return LawWorkspace(
        np.zeros(n, np.int64), np.zeros((n, N_WORDS), np.int64), np.zeros(most), x, out
    )


def connect_laws(system: System, laws: LawWorkspace) -> None:
    """Store the addresses of the kernels and of their arguments in the workspace.

    The arguments lie in the same workspace.
    """
    for place, number, value in _called(system):
        arguments = LawArguments(value, laws.u, laws.x, laws.out)
        laws.words[place] = words(arguments)
        laws.calls[place] = _address(number, arguments)


def _called(system: System) -> list[tuple[int, int, np.ndarray]]:
    """(index, number, parameters) of each force law and contact geometry with a kernel."""
    lawful, contacts, cuts = (*system.forces, system.samplers), system.contacts, system.cuts
    found = [
        each for rows in lawful for each in zip(rows.law.kernel_index, rows.law.kernel, rows.value)
    ]
    found += zip(contacts.law_index, contacts.law_kernel, contacts.law)
    found += zip(contacts.geometry_index, contacts.geometry_kernel, contacts.geometry)
    found += zip(cuts.kernel_index, cuts.kernel, system.relations)
    return [(int(index), int(kernel), value) for index, kernel, value in found if kernel >= 0]


@part
def given_values(law_rows, f, laws, workspace, io, n):
    """Evaluate the arguments u of force f: its laws of time and its user functions.

    A user function takes the first n numbers in workspace.x and its own parameters.
    """
    gives = law_rows.gives[f]
    for k in range(law_rows.n_given[f]):
        law = law_rows.first[f] + k
        if laws.kind[law] == LAW_FUNCTION:
            for a in range(n):
                io[0, a] = workspace.x[a]
            for a in range(laws.at[law], laws.at[law + 1]):
                io[0, n + a - laws.at[law]] = laws.value[a]
            call_address(laws.address[law], io[0], io[1])
            for a in range(gives):
                workspace.u[k * gives + a] = io[1, a]
        else:
            value, rate, _ = law_of_time(laws, law, workspace.x[0], io)
            workspace.u[k * gives] = value
            if gives > 1:
                workspace.u[k * gives + 1] = rate


@part
def call_law(place, p, workspace, count, slopes):
    """out[:count] ← result of the law with parameters p, called by its stored address.

    Or its slopes (``slopes`` 1.0) if it has any.
    """
    # a law need not write zeros, and another law may have written there
    for a in range(count):
        workspace.out[a] = 0.0
    here = memory_of(
        workspace.words[place], LawArguments(p, workspace.u, workspace.x, workspace.out)
    )
    call(workspace.calls[place], here, here, here, 0.0, slopes, 0.0)
