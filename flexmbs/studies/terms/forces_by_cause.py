"""The generalized forces k of M ṡ = k + Gᵀλ by their causes.

    k = Q_v + Q_g + Q_k + Q_d + Σ Q_e,   Q_k = −K_ff q_f,   Q_d = −D_ff q̇_f,

each from the residual of the equations of motion at ṡ = 0, λ = 0 with one cause alone: the residual
is linear in gravity and in the list of forces. Theory: docs/theory.md, sections 7, 22 and 23;
Shabana, Dynamics of Multibody Systems (2020), chapter 5.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexmbs.dynamics.dense import terms
from flexmbs.model.contacts import CoordinateContact
from flexmbs.results.state import State
from flexmbs.studies.states.tangent import loads_at
from flexmbs.system.compile import Compiled
from flexmbs.system.records import OF_BOUND, Contacts, Forces, Loads, System, rows_of, some_rows


@dataclass(frozen=True, eq=False)
class ForcesByCause:
    """Parts of k (ns,), N, N m or in units of elastic coordinates.

    Q_v: quadratic velocity vector, k^c of the notation with body wrenches.  Q_g: weight.  Q_k, Q_d:
    elastic and damping forces of the modes.  Q_e: each applied force and each contact with a force
    law by its name.
    """

    Q_v: np.ndarray
    Q_g: np.ndarray
    Q_k: np.ndarray
    Q_d: np.ndarray
    Q_e: dict[str, np.ndarray]

    @property
    def applied(self) -> np.ndarray:
        """(ns,) k^t = Q_g + Q_k + Q_d + Σ Q_e: all but the quadratic velocity vector."""
        return np.asarray(
            self.Q_g + self.Q_k + self.Q_d + sum(self.Q_e.values(), np.zeros_like(self.Q_v))
        )


def forces_by_cause(state: State, loads: Loads | None = None) -> ForcesByCause:
    """Generalized forces k split by cause: gravity, inertia, single forces.

    Forces that depend on reactions are those of its ṡ and λ, or of given ``loads``.
    """
    system, loads = state.compiled.system, loads_at(state) if loads is None else loads
    bare = system._replace(
        gravity=np.zeros(3),
        forces=Forces(*(some_rows(rows, slice(0)) for rows in system.forces)),
        contacts=some_rows(system.contacts, slice(0)),
    )
    inertia_and_elastic = _k(state, bare)
    Q_k, Q_d = _modal_forces(state)
    return ForcesByCause(
        inertia_and_elastic - Q_k - Q_d,
        _k(state, bare._replace(gravity=system.gravity)) - inertia_and_elastic,
        Q_k,
        Q_d,
        {
            name: _k(state, one, loads._replace(joint=loads.joint[rows])) - inertia_and_elastic
            for name, one, rows in _single_forces(state.compiled, bare)
        },
    )


def _k(state: State, system: System, loads: Loads | None = None) -> np.ndarray:
    """Generalized forces k (ns,) with the forces of ``system`` only."""
    alone = replace(state, compiled=replace(state.compiled, system=system))
    found = terms(
        system, alone.work(), state.t, state.q, state.s, state.z, loads, matrices=False
    ).k.copy()
    state.compiled.callbacks.raise_error()
    return found


def _modal_forces(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Elastic forces −K_ff q_f and damping forces −D_ff q̇_f of all bodies.

    The damping is that of all pieces of divided bodies.
    """
    tree, bodies = state.compiled.system.tree, state.compiled.system.bodies
    Q_k, Q_d = np.zeros((2, len(state.s)))
    for i, n in enumerate(tree.nf):
        at, to = int(tree.qf_at[i]), int(tree.sf_at[i])
        Q_k[to : to + n] = -bodies.k_ff[i, :n, :n] @ state.q[at : at + n]
        Q_d[to : to + n] = -bodies.d_ff[i, :n, :n] @ state.s[to : to + n]
    for damped in rows_of(state.compiled.system.pieces_damping):
        places = damped.at[: damped.size]
        Q_d[places] -= damped.D[: damped.size, : damped.size] @ state.s[places]
    return Q_k, Q_d


def _single_forces(compiled: Compiled, bare: System) -> Iterator[tuple[str, System, slice]]:
    """(name, system with only this force, its joint-force rows) of each force.

    The stops of a bounded coordinate count as one force.
    """
    forces, contacts = compiled.system.forces, compiled.system.contacts
    none: Forces = bare.forces
    for name, place, rows in _rows(compiled):
        alone = bare._replace(
            forces=none._replace(**{place: some_rows(getattr(forces, place), rows)})
        )
        yield name, alone, rows if place == "joint" else slice(0)
    for k, name in enumerate(compiled.contacts):
        one: Contacts = some_rows(contacts, slice(k, k + 1))._replace(terms=contacts.terms)
        if one.law_kernel[0] >= 0 and one.geometry_kernel[0] != OF_BOUND:
            yield name, bare._replace(contacts=one), slice(0)


def _rows(compiled: Compiled) -> Iterator[tuple[str, str, slice]]:
    """(name, place, rows in the record of that place) of each force.

    And of each bounded coordinate with a law.
    """
    model, count = compiled.model, dict.fromkeys(Forces._fields, 0)
    acting = [(name, force.place, 1) for name, force in model.forces.items()]
    acting += [
        (name, "joint", len(c.stops()))
        for name, c in model.contacts.items()
        if isinstance(c, CoordinateContact)
    ]
    for name, place, n in acting:
        if n:
            yield name, place, slice(count[place], count[place] + n)
        count[place] += n
