"""Accelerations and multipliers of one state under a formalism."""

import functools
from typing import Any

import numpy as np

from flexmbs._jit import bound
from flexmbs.dynamics.work import make_work
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.formalism import unchanged as accepted
from flexmbs.formalisms.multiplier import accelerations
from flexmbs.system.compile import Compiled


def at_state(system, work, room, t, q, s, z, sd, lam):
    """The formalism's preparation of a state, then ṡ and λ there; returns its status. The formalism's parts are bound."""
    accepted(system, work, room, t, q, s)
    return accelerations(system, work, room, t, q, s, z, sd, lam)


@functools.cache
def _kernel(formalism: type[Formalism]) -> Any:
    return bound(at_state, formalism.name, lightly=True, accelerations=formalism.accelerations, accepted=formalism.accepted)


def evaluate(
    compiled: Compiled, formalism: Formalism, t: float, q: np.ndarray, s: np.ndarray, z: np.ndarray | None = None,
    beta: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(ṡ, λ) of a consistent state (t, q, s, force states z); ``beta``: coordinates of the cut joints to start from.

    Raises `FloatingPointError` where the mass matrix is not definite.
    """
    _, _, ns, nc, nz = (int(n) for n in compiled.system.layout)
    sd, lam = np.zeros(ns), np.zeros(nc)
    work = make_work(compiled.system, beta)
    status = _kernel(type(formalism))(
        compiled.system,
        work,
        formalism.room(compiled),
        float(t),
        q.copy(),
        s.copy(),
        np.zeros(nz) if z is None else np.array(z, float),
        sd,
        lam,
    )
    if status < 0:
        raise FloatingPointError(f"mass matrix of body '{compiled.bodies[-1 - status]}' is not definite")
    return sd, lam
