"""ẋ = f(x, u, t), y = g(x, u, t) of a `Stepper` at its present state, and their slopes.

The slopes are the tangents of `linearize`.

x = (q_c, s_c, z): positions and velocities that are independent under the constraints, and the
states of forces. They are chosen once and keep their meaning along the motion: coordinates of
single freedoms and elastic ones, or all of a ball joint or a free motion with its Euler parameters
p, whose norm f and g do not see. The held inputs u are force states with ż = 0.

    δq_c → δ_c = (HᵀH)⁻¹Hᵀ δq_c with q̇_c = H s_c;    δ = Y δ_c − (1 − Y E_c) P_h g_t δt,  G_h Y = 0;
    G δs + W δ + v_t δt = 0 with the chosen δs;    δṡ = −N Nᵀ (K δ + D δs + r_z δz + r_t δt) − P (G_q δ + G_s δs + a_t δt)

N, P as in `flexmbs.studies.states.balance`. Theory: docs/theory.md, section 52.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from flexmbs.initial.analysis_arguments import (
    require_no_contacts,
    require_no_functions_of_reactions,
    require_no_samplers,
)
from flexmbs.initial.assembly import holonomic_rows
from flexmbs.results.between_outputs import quaternion_product
from flexmbs.results.solution import SolutionData
from flexmbs.results.state import State, state_of
from flexmbs.studies.linear.linearize import require_rest_of_loaded, require_slopes
from flexmbs.studies.run.stepper import Stepper
from flexmbs.studies.states.balance import equation_sizes, free_directions
from flexmbs.studies.states.jacobians import frame_drift, kinematic_matrix, partition
from flexmbs.studies.states.linear_ports import Port, read_outputs
from flexmbs.studies.states.tangent import Tangents, dense, evaluate, tangents
from flexmbs.system.compile import Compiled
from flexmbs.system.names import velocity_names
from flexmbs.system.records import rows_of
from flexmbs.system.step_scales import displacement_sizes

# smallest singular value of the directions of chosen coordinates, over the largest
INDEPENDENT = 1e-6


class Freedom(NamedTuple):
    """A single coordinate, a ball joint or a free motion: places and names in q, places in s."""

    q: list[int]
    names: list[str]
    s: list[int]


class Coordinates(NamedTuple):
    """The chosen states: degrees of freedom, velocities and force states.

    inputs: indices of the inputs among the force states.
    """

    freedoms: list[Freedom]
    s: list[int]
    z: list[int]
    inputs: list[int]

    @property
    def q(self) -> list[int]:
        """Places in q."""
        return [k for freedom in self.freedoms for k in freedom.q]

    @property
    def y(self) -> list[int]:
        """Places of the displacements behind the positions."""
        return [k for freedom in self.freedoms for k in freedom.s]

    def names(self, compiled: Compiled) -> list[str]:
        """Names of the states: ``hinge.0``, ``hinge.0 rate``, ``forces.spring 1``."""
        velocities, forces = velocity_names(compiled), list(compiled.force_states)
        return [
            *(name for freedom in self.freedoms for name in freedom.names),
            *(f"{velocities[k]} rate" for k in self.s),
            *(f"{forces[k]} {1 + forces[:k].count(forces[k])}" for k in self.z),
        ]

    def stored(self, compiled: Compiled) -> dict[str, list[Any]]:
        """Names of the coordinates, from which `named_coordinates` restores them."""
        velocities = velocity_names(compiled)
        return {
            "freedoms": [freedom.names for freedom in self.freedoms],
            "velocities": [velocities[k] for k in self.s],
            "forces": self.z,
            "inputs": self.inputs,
            "names": self.names(compiled),
        }

    def values(self, here: State) -> np.ndarray:
        """State vector x at a state of the model."""
        return np.concatenate([here.q[self.q], here.s[self.s], here.z[self.z]])

    def rates(self, here: State) -> np.ndarray:
        """Rates ẋ at a state of the model."""
        qd = kinematic_matrix(here)[self.q] @ here.s
        return np.concatenate([qd, here.sd[self.s], evaluate(here).force_rate[self.z]])


def coordinates_of(stepper: Stepper) -> tuple[Coordinates, Compiled]:
    """State coordinates of a stepper without those of its inputs, and their model.

    Raises `InputError` for models without slopes, and where no coordinates are independent.
    """
    here = present_state(stepper, {})
    for require in (require_no_contacts, require_no_functions_of_reactions, require_no_samplers):
        require(here.compiled.model, "linearize")
    places = [stepper.inputs.place(name, 0.0) for name in stepper.inputs]
    held = [k for k, item in enumerate(stepper.compiled.force_states) if item in stepper.held]
    return chosen_coordinates(here, places, held), here.compiled


def present_state(stepper: Stepper, inputs: Mapping[str, float]) -> State:
    """Present state of a stepper in joint coordinates, for given inputs.

    Raises `InputError`.
    """
    row = stepper.present(inputs)
    return state_of(SolutionData(stepper.compiled, row, {}), float(row.t[0]))


def chosen_coordinates(
    here: State, inputs: Sequence[int], silent: Collection[int] = ()
) -> Coordinates:
    """Independent coordinates at a state.

    inputs: indices of the inputs among the force states. silent: those that remain zero. Raises
    `InputError` unless single degrees of freedom, ball joints and free motions that keep their
    meaning suffice.
    """
    compiled, known, sizes = here.compiled, dense(here), displacement_sizes(here.compiled)
    of_equations = equation_sizes(here)
    N_h, _ = free_directions(
        known.M, known.G[holonomic_rows(compiled)], of_equations.of(holonomic_rows(compiled))
    )
    N, _ = free_directions(known.M, known.G, of_equations)
    found = _independent(list(freedoms(compiled)), N_h / sizes[:, None])
    if found is None:
        raise InputError(
            "no coordinates of single freedoms determine the positions: loops hold ball "
            "joints or free bodies; cut the loops "
            "at these"
        )
    z = [k for k in range(len(here.z)) if k not in {*inputs, *silent}]
    own = Coordinates(found, [], z, list(inputs))
    moving = (
        own.y
        if holonomic_rows(compiled).all()
        else partition(N, velocity_names(compiled), (), sizes)
    )
    return own._replace(s=moving)


def named_coordinates(compiled: Compiled, stored: Mapping[str, list[Any]]) -> Coordinates:
    """Coordinates named by `Coordinates.stored`."""
    known, velocities = (
        {tuple(each.names): each for each in freedoms(compiled)},
        velocity_names(compiled),
    )
    places = [velocities.index(name) for name in stored["velocities"]]
    return Coordinates(
        [known[tuple(each)] for each in stored["freedoms"]],
        places,
        stored["forces"],
        stored["inputs"],
    )


def freedoms(compiled: Compiled) -> Iterator[Freedom]:
    """All degrees of freedom in the order of q."""
    names = velocity_names(compiled)
    for primary, row in zip(compiled.topology.tree, rows_of(compiled.system.tree)):
        q, s = int(row.q_at), int(row.s_at)
        for motion in primary.motions:
            own = list(range(s, s + motion.nv))
            label, _, axis = names[s].rpartition(".") if own else ("", "", "")
            turns = [f"{label}.e{k}" for k in range(4)]
            single = [f"{label}.{axis.removeprefix('v') if primary.joint is None else axis}"]
            if own:
                called = {1: single, 3: turns, 6: [*(f"{label}.{axis}" for axis in "xyz"), *turns]}[
                    motion.nv
                ]
                yield Freedom(list(range(q, q + motion.nq)), called, own)
            q, s = q + motion.nq, s + motion.nv
        for k in range(int(row.nf)):
            yield Freedom([int(row.qf_at) + k], [names[int(row.sf_at) + k]], [int(row.sf_at) + k])


def _independent(known: list[Freedom], N: np.ndarray) -> list[Freedom] | None:
    """Degrees of freedom whose rows of the free directions N (ns, f) are a basis.

    Single ones if they suffice, otherwise whole joints first.
    """
    single, whole = (
        [each for each in known if len(each.s) == 1],
        [each for each in known if len(each.s) > 1],
    )
    found = _completed([], single, N)
    if found is None:
        taken: list[Freedom] = []
        for each in whole:
            if _regular(N[[k for one in (*taken, each) for k in one.s]]):
                taken.append(each)
        found = _completed(taken, single, N)
    return found and sorted(found, key=lambda each: each.s)


def _completed(taken: list[Freedom], single: list[Freedom], N: np.ndarray) -> list[Freedom] | None:
    """Selection of independent degrees of freedom by pivoting; None if there are too few."""
    rows = [k for each in taken for k in each.s]
    missing = N.shape[1] - len(rows)
    if missing > len(single):
        return None
    free = np.linalg.svd(N[rows])[2][len(rows) :].T if rows else np.eye(N.shape[1])
    pivots = (
        qr((N[[each.s[0] for each in single]] @ free).T, mode="r", pivoting=True)[1]
        if missing
        else ()
    )
    found = [*taken, *(single[int(k)] for k in pivots[:missing])]
    return found if _regular(N[[k for each in found for k in each.s]]) else None


def _regular(rows: np.ndarray) -> bool:
    """True if rows are linearly independent."""
    size = np.linalg.svd(rows, compute_uv=False)
    return len(rows) <= rows.shape[1] and bool(
        size.min(initial=np.inf) > INDEPENDENT * size.max(initial=0.0)
    )


def slopes(here: State, chosen: Coordinates, outputs: Sequence[Port]) -> np.ndarray:
    """Derivatives of ẋ and outputs by states x, inputs u and t.

    Raises `InputError` at corners and jumps, and where the chosen coordinates are dependent.
    """
    require_rest_of_loaded(here)
    known, by = dense(here), tangents(here)
    require_slopes(here, by)
    holonomic = holonomic_rows(here.compiled)
    of_equations = equation_sizes(here)
    N_h, P_h = free_directions(known.M, known.G[holonomic], of_equations.of(holonomic))
    N, P = free_directions(known.M, known.G, of_equations)
    sizes, y, s = displacement_sizes(here.compiled), chosen.y, chosen.s
    if not (_regular(N_h[y] / sizes[y, None]) and _regular(N[s] / sizes[s, None])):
        raise InputError(
            "derivatives: the states of the unit do not determine the motion at t = "
            f"{here.t:g} s; take them elsewhere"
        )
    H = kinematic_matrix(here)
    own = H[np.ix_(chosen.q, y)]
    ends = np.cumsum([0, len(chosen.q), len(s), len(chosen.z) + len(chosen.inputs), 1])
    at_q, at_s, at_z, at_t = (slice(a, b) for a, b in pairwise(ends))
    delta, rate, time = (
        np.zeros((len(here.s), ends[-1])),
        np.zeros((len(here.s), ends[-1])),
        np.zeros(ends[-1]),
    )
    time[at_t] = 1.0
    Y, B, z = N_h @ np.linalg.inv(N_h[y]), N @ np.linalg.inv(N[s]), [*chosen.z, *chosen.inputs]
    delta[:, at_q] = Y @ np.linalg.solve(own.T @ own, own.T)
    moved = -P_h @ by.t.gs.position[0, holonomic]
    delta[:, at_t] = (moved - Y @ moved[y])[:, None]
    rate -= P @ (by.q.gs.velocity.T @ delta + np.outer(by.t.gs.velocity[0], time))
    rate -= B @ rate[s]
    rate[:, at_s] += B

    def along(name: str) -> np.ndarray:
        """Derivative of a named term along the independent directions."""
        parts = (getattr(each, name) for each in (by.q, by.s, by.z, by.t))
        of_q, of_s, of_z, of_t = parts
        change = of_q.T @ delta + of_s.T @ rate + np.outer(of_t[0], time)
        change[:, at_z] += of_z[z].T
        return np.asarray(change)

    turned = (
        by.q.gs.acceleration.T @ delta
        + by.s.gs.acceleration.T @ rate
        + np.outer(by.t.gs.acceleration[0], time)
    )
    accelerated = -N @ (N.T @ along("r")) - P @ turned
    seen = read_outputs(here, outputs, by)
    shown = seen.position @ delta + seen.rate @ rate
    shown[:, at_t] += _explicit(here, outputs, by)[:, None]
    moving = H[chosen.q] @ rate + _turning(here, chosen, H) @ delta
    return np.vstack([moving, accelerated[s], along("force_rate")[chosen.z], shown])


def _turning(here: State, chosen: Coordinates, H: np.ndarray) -> np.ndarray:
    """Derivative (q, ns) of H(q) s with respect to displacements at fixed s.

    For Euler parameters ṗ = ½ p ∘ (0, ω), and for a free motion ẋ = A v.
    """
    D = np.zeros((len(here.q), len(here.s)))
    for freedom in chosen.freedoms:
        if len(freedom.s) > 1:
            p, w = freedom.q[-4:], freedom.s[-3:]
            D[np.ix_(p, w)] = (
                0.5 * quaternion_product(H[np.ix_(p, w)].T, np.tile([0.0, *here.s[w]], (3, 1))).T
            )
            if x := freedom.q[:-4]:
                v = freedom.s[:3]
                D[np.ix_(x, w)] = -H[np.ix_(x, v)] @ skew(here.s[v])
    return D[chosen.q]


def _explicit(here: State, outputs: Sequence[Port], by: Tangents) -> np.ndarray:
    """Partial derivatives of the outputs by t at fixed q and s."""
    drift = evaluate(replace(here, s=np.zeros_like(here.s))).eta
    found = []
    for port in outputs:
        if port[0] == "position":
            found.append(frame_drift(here, str(port[1]))["xyz".index(str(port[2]))])
            continue
        place = here.compiled.places[str(port[1])]
        k = int(port[2]) if len(port) > 2 else 0
        found.append(
            0.0
            if place.cut < 0
            else drift[place.cut, k]
            if port[0] == "coordinate"
            else by.t.eta[0, place.cut, k]
        )
    return np.array(found)
