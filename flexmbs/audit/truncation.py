"""Reactions that are missing because modes of flexible bodies were truncated.

The modes η outside the bases (`ResidualModes`) are driven by the motion that occurred, and act back
on the model:

    η̈ + 2ζω η̇ + ω² η + Mₙᵀ δs' = e,    e = Σ_j φᵀf_j ζ_j − φᵀMΦ q̈ − φᵀKΦ q,
    M δs' + D δs + K δx + Mₙ η̈ = Gᵀ δλ,    G δs + Gₙ η̇ = 0.

δx is the change of the positions of all bodies, with M and the constraints G of one state, in which
the run's loads are largest, K and D the elastic ones, Mₙ the coupling of η with the motion of the
body frames and with the bases. Gᵀδλ are the missing reactions. The modes of this linear system are
integrated exactly for an e that is linear between the run's steps. With fixed interfaces it is the
sum Σ L_kᵀη̈_k over the modes beyond the basis. It is exact for small deflections about that state;
Coriolis forces and geometric stiffness of the modes outside the bases are left out. Source: Craig
and Kurdila, Fundamentals of Structural Dynamics (2006), sections 11.3 (mode acceleration) and 17.3.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from flexmbs.audit.contact_states import held_contacts
from flexmbs.audit.counted_work import full, most_evaluations
from flexmbs.audit.cross_check import converted_to
from flexmbs.audit.force_differences import REACTIONS, Scales, rerun
from flexmbs.audit.mechanisms import (
    body_of_velocities,
    mechanism_sizes,
    mechanisms,
    sizes_of_joints,
)
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.flexible_body.components import ResidualModes, x_cross_shapes
from flexmbs.model.bodies import Body, PointMass, RigidBody
from flexmbs.model.frames import FrameRef
from flexmbs.results.body_loads import body_loads, frame_wrenches, inertia_factors
from flexmbs.results.histories import CONTACT_NUMBERS, StateHistory, contact_history
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.step_scales import displacement_sizes

TITLE = "Truncated modes"
RIGID = 1e-9  # of the highest squared frequency: motions without stiffness
DAMPED = 0.99  # largest damping ratio: beyond it a mode does not oscillate
FULL_RANK = 1e-10  # of the largest singular value of the constraints
MOST_STATES = 5_000  # of a run: 0.2 s; not of a full audit
MOST_UNKNOWNS = 600  # 0.3 s; likewise
NO_MODES = "the data have no modes outside the basis"
EXACT = "CraigBampton or Rubin, which are exact under loads at the interfaces"
AGAIN = f"reduce it from its mesh or its matrices with estimate=True, and {EXACT}"
# of one: share of the inertia of a motion of the body that residual modes may carry. Many of them
# carry nearly all that moves the interfaces, and at a deflected state, where M differs from that of
# the reduction by the relative deflection, more than there is: M is then not positive definite
CARRIED = 0.999
# of the smallest mass and moments of the flexible bodies: those of bodies that have none
LIGHT = 1e-8
ALMOST = 0.7  # of the known modes: where as many are needed, more may be
# of the static deflection, and of the largest excitation, to which undamped vibrations add: sudden
# starts
DEFLECTED, LOADED = 0.5, 0.2
# times rtol and the largest velocity: absolute tolerances of velocities above it determine the
# steps; and the finest one, 1e-14 of lengths with its share for constraints
LOOSE, FINEST = 10.0, 1e-12
RESOLVED = 1.5  # steps between two outputs, above which the run is repeated with an output at each


class Oscillators(NamedTuple):
    """All residual modes of a model.

    The bodies to which they belong, frequencies (m,) [Hz], excitation (nt, m).
    """

    body: tuple[str, ...]
    frequency: np.ndarray
    excitation: np.ndarray


class Linear(NamedTuple):
    """The linear system, with the residual modes last.

    Mass, damping, stiffness (n, n) and constraints (nc, n).
    """

    M: np.ndarray
    D: np.ndarray
    K: np.ndarray
    G: np.ndarray
    compiled: Compiled


def truncation(scales: Scales) -> list[Check]:
    """Check of the joint reactions that omitted modes of flexible bodies would cause."""
    solution, run, mine = scales.solution, scales.run, scales.loaded
    data = solution.compiled.data
    if not data or not solution.compiled.places or solution.run.options.get("analysis"):
        return []
    residual = {name: each.residual for name, each in data.items() if each.residual is not None}
    unknown = [name for name in data if name not in residual]
    found = _unjudged(scales, unknown, NO_MODES, AGAIN) if unknown else []
    residual = {name: each for name, each in residual.items() if len(each.frequency)}
    if not residual:
        return found or [Check(TITLE, PASS, "none: the bases are complete")]
    size = sum(len(each.frequency) for each in residual.values()) + sum(
        each.nf + 6 for each in data.values()
    )
    if size > MOST_UNKNOWNS and not full(solution):
        why = f"{size} unknowns need too much work"
        return found + _unjudged(scales, list(residual), why, 'use audit="full"')
    if not len(mine.t) or run.begun is None or len(solution.t) < 2:
        why = "no state of the run can be used"
        return found + _unjudged(scales, list(residual), why, "use simulate, with more outputs")
    return [*found, _reaction_check(scales, _absolute(mine), residual)]


def _unjudged(scales: Scales, names: Sequence[str], why: str, remedy: str) -> list[Check]:
    """Check of reactions that cannot be estimated.

    PASS if what the modes of the bodies ``names`` omit cannot matter, apart from resonances.
    """
    solution = scales.solution
    length, share, worst = mechanism_sizes(solution.compiled), 0.0, ""
    for name in names:
        scale = scales.reaction_of(name)
        if scale is None:  # no joint transmits its inertia forces
            continue
        omitted = _omitted(solution, name) / np.array([1.0, length[name]])
        found = float(omitted.max(initial=0.0)) / scale
        if not found <= share:
            share, worst = found, solution.compiled.whole_of(name)
    if share <= REACTIONS[0]:
        text = f"reactions not judged: {why}; the omitted inertia is at most {share:.1e} of the"
        return [Check(TITLE, PASS, f"{text} largest reaction")]
    text = f"reactions not judged: {why}; the omitted inertia may be {min(share, 1.0):.1e} of the"
    return [Check(TITLE, WARN, f"{text} largest reaction, at {worst}", remedy)]


def _omitted(solution: SolutionData, name: str) -> np.ndarray:
    """Bounds (nt, 2) of force and moment that the omitted modes of a body cause.

    The modes φ_k with the loaded frames fixed are excited by φ_kᵀM a, and react with L_k = φ_kᵀM R,
    a the field of all accelerations, R a rigid one. With G the Gram matrix of (R, Φ) without the
    shapes of the basis that fix these frames, Σ|L_k φ_kᵀM a| ≤ √G_RR √(aᵀG a). Loads at frames that
    the basis cannot move in all directions excite them too, where they change.
    """
    data, tree = solution.compiled.data[name], solution.compiled.system.tree
    i = solution.compiled.bodies.index(name)
    wrenches = frame_wrenches(solution, name)
    moved = {
        frame: np.vstack([data.frames[frame].phi, data.frames[frame].psi])
        for frame in wrenches
        if frame in data.frames
    }
    shapes = np.vstack([np.zeros((1, data.nf)), *moved.values()])
    c, S = data.first_moment, data.second_moment
    cross = np.cross(np.eye(3), c)
    whole = np.block([[data.mass * np.eye(3), cross.T], [cross, np.trace(S) * np.eye(3) - S]])
    L = np.vstack([data.S_bar, x_cross_shapes(data.xS)])
    G = np.block([[whole, L], [L.T, data.m_ff]])
    fixed = np.vstack([np.zeros((6, data.nf)), np.eye(data.nf)]) @ scipy.linalg.null_space(shapes)
    if fixed.size:
        G -= G @ fixed @ np.linalg.solve(fixed.T @ G @ fixed, fixed.T @ G)
    qdd = solution.sd[:, tree.sf_at[i] :][:, : tree.nf[i]]
    a = np.hstack([inertia_factors(solution, name)[:, :6], qdd])
    excited = np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", a, G, a), 0.0))
    most = np.sqrt(np.maximum(np.diag(G)[:6], 0.0))
    found = np.outer(excited, [most[:3].max(), most[3:].max()])
    for frame, wrench in wrenches.items():
        if frame in moved and moved[frame].any() and np.linalg.matrix_rank(moved[frame]) < 6:
            change = wrench - wrench.mean(axis=0)
            size = np.linalg.norm(change[:, :3], axis=1)
            arm = float(np.linalg.norm(data.frames[frame].x))
            found[:, 0] += size
            found[:, 1] += np.linalg.norm(change[:, 3:], axis=1) + arm * size
    return found


class _Missing(NamedTuple):
    """Largest missing reaction relative to the largest one, the joint, and its time [s]."""

    share: float
    joint: str
    t: float


def _reaction_check(scales: Scales, target: Compiled, residual: dict[str, ResidualModes]) -> Check:
    """Check of the missing reactions, evaluated over the steps of the run.

    target: its model in absolute coordinates.
    """
    solution, mine = scales.solution, scales.loaded
    fine = _resolved(scales)
    found = excitations(fine, residual)
    k = int(np.linalg.norm(mine.sd[:, _beside(mine.compiled, residual)], axis=1).argmax())
    joints = tuple(solution.compiled.places)
    system = linear_system(mine, target, k, residual)
    held = np.zeros((len(solution.contacts), 3), bool)
    if not any(each.moves_frames for each in residual.values()):  # their shapes at contacts
        held = held_contacts(solution, scales.contacts)
        rows = _held_rows(mine, target, k, held)
        rows = np.pad(rows, ((0, 0), (0, system.G.shape[1] - rows.shape[1])))
        system = system._replace(G=np.vstack([system.G, rows]))
    modes = modal(system, joints, len(found.frequency))
    length = sizes_of_joints(solution.compiled)
    size, static = (
        np.array([scales.reaction[name] * np.repeat([1.0, length[name]], 3) for name in joints]),
        _static_share(fine, residual),
    )

    def worst(chosen: np.ndarray) -> _Missing:
        """Largest relative load that the omitted modes ``chosen`` cause at a joint."""
        lacking = (
            missing(modes, found.excitation * chosen, fine.t, static).reshape(len(fine.t), -1, 6)
            / size
        )
        shares = np.maximum(
            *(np.linalg.norm(part, axis=2) for part in (lacking[:, :, :3], lacking[:, :, 3:]))
        )
        k, joint = np.unravel_index(int(np.nan_to_num(shares, nan=np.inf).argmax()), shares.shape)
        return _Missing(float(shares[k, joint]), joints[joint], float(fine.t[k]))

    every = np.ones(len(found.frequency))
    all_ = worst(every)
    status = graded(all_.share, REACTIONS)
    joint = solution.compiled.owner_of(all_.joint)
    text = (
        f"about {all_.share:.1e} of the largest reaction is missing, at joint {joint}, t = "
        f"{all_.t:.4g} s"
    )
    text += f", by {len(every)} modes outside the bases, up to {found.frequency.max():.4g} Hz"
    if fine.t[-1] < solution.t[-1]:
        text += f"; the time after {fine.t[-1]:.4g} s was not checked"
    text += "; without the impulses of impacts" if solution.run.impacts else ""
    if scales.loaded is not scales.mine and not held.any(axis=1).all():
        text += "; contacts and dry friction that do not hold all the time count as free"
    remedy = "" if status == PASS else _remedy(solution, found, worst, residual)
    if remedy and static < DEFLECTED and _starts_suddenly(solution, found.excitation):
        remedy = f"start in equilibrium, with start=fm.statics(model), or {remedy}"
    return Check(TITLE, status, text, remedy)


def _beside(compiled: Compiled, names: Iterable[str]) -> np.ndarray:
    """True for the velocity coordinates (ns,) of the mechanisms to which the bodies belong."""
    number = mechanisms(compiled)
    chosen = {number[name] for name in names}
    return np.array([number[name] in chosen for name in body_of_velocities(compiled)])


def _remedy(
    solution: SolutionData,
    found: Oscillators,
    worst: Callable[[np.ndarray], _Missing],
    residual: dict[str, ResidualModes],
) -> str:
    """Remedy: number of modes that the body with the largest error needs."""
    names = np.array(found.body)
    body = max(dict.fromkeys(found.body), key=lambda name: worst(names == name).share)
    if residual[body].moves_frames:
        return f"reduce {solution.compiled.whole_of(body)} with {EXACT}"
    own = np.flatnonzero(names == body)
    low, high = 0, len(own)  # the modes above ``high`` alone are within the limit
    while low < high:
        middle = (low + high) // 2
        chosen = np.zeros(len(names))
        chosen[own[middle:]] = 1.0
        low, high = (low, middle) if worst(chosen).share <= REACTIONS[0] else (middle + 1, high)
    # between the Ritz vectors there may be others
    more = f"at least {len(own)}" if low > ALMOST * len(own) else f"about {low}"
    top = found.frequency[own[max(low, 1) - 1]]
    return (
        f"reduce {solution.compiled.whole_of(body)} with {more} more modes, all those up to "
        f"{top:.4g} Hz, or state its damping"
    )


def _starts_suddenly(solution: SolutionData, excitation: np.ndarray) -> bool:
    """True if the model starts at rest under loads that are among the largest of the run."""
    sizes = np.linalg.norm(excitation, axis=1)
    return not solution.s[0].any() and bool(sizes[0] > LOADED * sizes.max())


def _static_share(solution: SolutionData, residual: dict[str, ResidualModes]) -> float:
    """Fraction 0 … 1 of the static deflection with which the residual modes start.

    In the norm of strain energy: (q·p)/(pᵀK⁻¹p) of the loads p = m q̈ + K q.
    """
    system, both = solution.compiled.system, np.zeros(2)
    for name in residual:
        i = solution.compiled.bodies.index(name)
        nf, q = system.tree.nf[i], solution.elastic(name)[0]
        m, K = system.bodies.m_ff[i, :nf, :nf], system.bodies.k_ff[i, :nf, :nf]
        p = m @ solution.sd[0, system.tree.sf_at[i] :][:nf] + K @ q
        both += q @ p, p @ np.linalg.solve(K, p)
    return float(np.clip(both[0] / max(both[1], 1e-300), 0.0, 1.0))


def _resolved(scales: Scales) -> SolutionData:
    """Solution with an output at about each step.

    The solution itself, or that of a repeated run, up to `MOST_STATES`. An absolute tolerance that
    is loose for the velocities in the units of the model, say of m/µs, leaves steps too long for
    the vibrations of a start: it is repeated with one that is not.
    """
    solution, t, method = scales.solution, scales.solution.t, scales.run.method
    step = np.maximum(solution.trajectory.step[1:], 1e-300)
    counts = np.ceil(np.diff(t) / step - 1e-9)
    if method.step is None and method.rtol and method.atol:
        sizes = displacement_sizes(solution.compiled)
        own = max(method.rtol * float(np.abs(solution.s / sizes).max(initial=0.0)), FINEST)
        if method.atol > LOOSE * own:
            method = dataclasses.replace(method, atol=own)  # type: ignore[type-var]
            # outputs at the steps that this takes
            fine = rerun(scales, method, t, most_evaluations(solution))[0]
            span = np.maximum(fine.trajectory.step[1:], 1e-300)
            counts[: len(span)] = np.maximum(
                counts[: len(span)], np.ceil(np.diff(fine.t) / span - 1e-9)
            )
    if method is scales.run.method and counts.sum() <= RESOLVED * (len(t) - 1):
        return solution
    counts = np.maximum(counts, 1).astype(int)
    most = int(counts.sum()) + 1 if full(solution) else MOST_STATES
    within = int(np.searchsorted(np.cumsum(counts), most))
    ends = [
        np.linspace(t[k], t[k + 1], counts[k] + 1)[1:]
        for k in range(min(max(within, 1), len(counts)))
    ]
    times = np.concatenate([t[:1], *ends])[:most]
    return rerun(scales, method, times, most_evaluations(solution))[0]


def excitations(solution: SolutionData, residual: dict[str, ResidualModes]) -> Oscillators:
    """Residual modes of all bodies and their excitation over a run."""
    tree, found, names = solution.compiled.system.tree, [], []
    for name, modes in residual.items():
        i = solution.compiled.bodies.index(name)
        qdd = solution.sd[:, tree.sf_at[i] :][:, : tree.nf[i]]
        zeta = (
            body_loads(solution, name, sorted(solution.compiled.data[name].frames)).factors
            if modes.moves_frames
            else inertia_factors(solution, name)
        )
        e = zeta @ modes.loads.T
        found.append(e - qdd @ modes.mass.T - solution.elastic(name) @ modes.stiffness.T)
        names += [name] * len(modes.frequency)
    return Oscillators(
        tuple(names),
        np.concatenate([each.frequency for each in residual.values()]),
        np.hstack(found),
    )


def linear_system(
    mine: SolutionData, target: Compiled, k: int, residual: dict[str, ResidualModes]
) -> Linear:
    """Linear model with residual modes about output k; target: it in absolute coordinates."""
    state = converted_to(mine, target)(k)
    system, work = target.system, make_work(target.system, state.beta)
    start_from(work, state.beta)
    now = terms(system, work, float(mine.t[k]), state.q, state.s, state.z)
    ns, m = len(now.M), sum(len(each.frequency) for each in residual.values())
    M, D, K = np.zeros((3, ns + m, ns + m))
    M[:ns, :ns], at = now.M, ns
    G = np.hstack([now.G, np.zeros((len(now.G), m))])
    for i, nf in enumerate(system.tree.nf):
        f = slice(system.tree.sf_at[i], system.tree.sf_at[i] + nf)
        K[f, f], D[f, f] = system.bodies.k_ff[i, :nf, :nf], system.bodies.d_ff[i, :nf, :nf]
    for name, modes in residual.items():
        i, omega = target.bodies.index(name), 2 * np.pi * modes.frequency
        r = slice(system.tree.s_at[i], system.tree.s_at[i] + 6)
        f = slice(system.tree.sf_at[i], system.tree.sf_at[i] + system.tree.nf[i])
        e = slice(at, at + len(omega))
        M[e, r], M[e, f], M[e, e] = -modes.loads[:, :6], modes.mass, np.eye(len(omega))
        K[e, f], K[e, e], D[e, e] = (
            modes.stiffness,
            np.diag(omega**2),
            np.diag(2 * _ratios(target, name, modes) * omega),
        )
        K[:ns, e], at = K[e, :ns].T, e.stop
        if modes.moves_frames:
            frames = dict(zip(sorted(target.data[name].frames), range(12, modes.loads.shape[1], 6)))
            for joint, place in target.places.items():
                rows = slice(*_rows(target, place.cut))
                declared = target.model.joints[joint]
                for ref in (declared.parent, declared.child):
                    if ref.body == name and ref.frame in frames:
                        at_frame = modes.loads[:, frames[ref.frame] :][:, :6]
                        G[rows, e] += _forces_at(target, now.G[rows], ref) @ at_frame.T
    M[ns:, :ns] = _limited(M[ns:, :ns], now.M)
    M[:ns, ns:] = M[ns:, :ns].T
    return Linear(M, D, K, G, target)


def _held_rows(mine: SolutionData, target: Compiled, k: int, held: np.ndarray) -> np.ndarray:
    """Rows (n, ns) of contacts that are ``held``: their velocities are linear in s."""
    if not held.any():
        return np.zeros((0, 0))
    state = converted_to(mine, target)(k)
    s = np.vstack([np.zeros(len(state.s)), np.eye(len(state.s))])
    n = len(s)
    q, z, beta = (np.tile(each, (n, 1)) for each in (state.q, state.z, state.beta))
    contact = np.zeros((n, len(held), 3))
    states = StateHistory(
        np.full(n, mine.t[k]), q, s, 0.0 * s, np.zeros((n, target.n_constraints)), z, contact, beta
    )
    out = np.zeros((n, len(held), CONTACT_NUMBERS))
    contact_history(target.system, make_work(target.system, state.beta), states, out)
    return np.asarray((out[1:, :, 1:4] - out[0, :, 1:4])[:, held].T)


def _limited(coupling: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Mass coupling (m, ns) of residual modes whose share of the inertia is at most `CARRIED`.

    The shares are the squared singular values of C L⁻ᵀ, M = L Lᵀ.
    """
    L = np.linalg.cholesky(M)
    U, s, V = np.linalg.svd(scipy.linalg.solve_triangular(L, coupling.T, lower=True).T, False)
    return np.asarray((U * np.minimum(s, math.sqrt(CARRIED))) @ V @ L.T)


def _absolute(mine: SolutionData) -> Compiled:
    """The model of a solution compiled in absolute coordinates, with six of each body.

    All joints are rows there: bodies without inertia have a negligible one.
    """
    source = mine.compiled
    bodies = source.declared.bodies
    light = [each for each in bodies.values() if not (each.has_mass and each.has_full_inertia)]
    if source.topology.coordinates == "absolute" and not light:
        return source
    declared = copy.copy(source.declared)
    mass = LIGHT * min(each.mass for each in source.data.values())
    inertia = LIGHT * min(float(np.trace(each.second_moment)) for each in source.data.values())
    declared.bodies = {
        **bodies,
        **{each.name: _with_inertia(each, mass, inertia) for each in light},
    }
    return compile_model(declared, "absolute").with_initial_constants(source.initial_constants)


def _with_inertia(body: Body, mass: float, inertia: float) -> RigidBody:
    """A body without full inertia as a rigid body with a small mass and moments of inertia."""
    least = inertia * np.eye(3)
    if isinstance(body, RigidBody):
        own = body.mass_properties
        body = body.without_shapes()
        return dataclasses.replace(body, mass=own.mass or mass, inertia=own.inertia + least)
    assert isinstance(body, PointMass)
    return RigidBody(body.name, frames=body.frames, mass=body.mass, inertia=least)


def _ratios(compiled: Compiled, name: str, modes: ResidualModes) -> np.ndarray:
    """Damping ratios of the residual modes of a body.

    Those of its data, or the smallest declared.
    """
    declared = compiled.model.bodies[name].damping  # type: ignore[attr-defined]
    return modes.damping if declared is None else np.full(len(modes.damping), np.min(declared))


class Modal(NamedTuple):
    """Modes of the linear system.

    omega (n,), ratio (n,); elastic (n, m), rigid (l, m): their shapes, and those of motions without
    stiffness, in the residual modes; wrenches (…, 6 × joints) of z̈, ż, z, of p of the motions
    without stiffness and of e.
    """

    omega: np.ndarray
    ratio: np.ndarray
    elastic: np.ndarray
    rigid: np.ndarray
    wrenches: tuple[np.ndarray, ...]


def modal(system: Linear, joints: Sequence[str], m: int) -> Modal:
    """Modes of a constrained linear model, and their joint reactions.

    m: number of residual modes.
    """
    M, D, K, G, _ = system
    size = 1.0 / np.sqrt(np.diag(M))
    rows = G * size
    _, s, V = np.linalg.svd(rows) if len(G) else (0, np.zeros(0), np.eye(len(M)))
    N = size[:, None] * V[int(np.sum(s > FULL_RANK * s.max(initial=0.0))) :].T
    lam, V = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N)
    V = N @ V
    stiff = lam > RIGID * lam[-1]
    omega, rigid, V = np.sqrt(lam[stiff]), V[:, ~stiff], V[:, stiff]
    ratio = np.minimum(np.einsum("ik,ij,jk->k", V, D, V) / (2 * omega), DAMPED)
    wrench = np.hstack([_wrenches(system, joint) for joint in joints])
    to = size[:, None] * (np.linalg.pinv(rows, rcond=FULL_RANK) @ wrench)
    found = (V.T @ M @ to, V.T @ D @ to, V.T @ K @ to, rigid.T @ M @ to, -to[-m:])
    return Modal(omega, ratio, V[-m:].T, rigid[-m:].T, found)


def missing(modes: Modal, excitation: np.ndarray, t: np.ndarray, static: float) -> np.ndarray:
    """Missing joint wrenches (nt, 6 joints) under the modal excitation (nt, m).

    t: times. static: fraction of their static response with which the modes begin.
    """
    p = excitation @ modes.elastic.T
    z, zd, zdd = driven_oscillators(modes.omega, modes.ratio, t, p, static)
    parts = (zdd, zd, z, excitation @ modes.rigid.T, excitation)
    return np.asarray(sum(part @ to for part, to in zip(parts, modes.wrenches)))


def driven_oscillators(
    omega: np.ndarray, ratio: np.ndarray, t: np.ndarray, p: np.ndarray, static: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z, ż, z̈ (nt, m) of oscillators z̈ + 2ζω ż + ω² z = p.

    Exact for p (nt, m) linear between the times t (nt,). y = ż − λ̄ z with λ = −ζω + iω√(1 − ζ²)
    satisfies ẏ = λ y + p, and z = Im y / Im λ. static: z(0) over p(0)/ω²; ż(0) = 0.
    """
    lam = omega * (-ratio + 1j * np.sqrt(1 - ratio**2))
    y = np.empty(p.shape, complex)
    y[0] = -lam.conj() * static * p[0] / omega**2
    h = np.diff(t)[:, None]
    E = np.exp(lam * h)
    added = (E - 1) / lam * p[:-1] + (E - 1 - lam * h) / (lam**2 * h) * (p[1:] - p[:-1])
    for k in range(len(h)):
        y[k + 1] = E[k] * y[k] + added[k]
    z = y.imag / lam.imag
    zd = y.real + lam.real * z
    return z, zd, p - 2 * ratio * omega * zd - omega**2 * z


def _wrenches(system: Linear, joint: str) -> np.ndarray:
    """Matrix (nc, 6) from multipliers to force and moment at a joint, body axes.

    At the frame of its parent if the child is the ground.
    """
    compiled = system.compiled
    declared = compiled.model.joints[joint]
    ref = declared.child if declared.child.body in compiled.bodies else declared.parent
    rows = slice(*_rows(compiled, compiled.places[joint].cut))
    found = np.zeros((len(system.G), 6))
    found[rows] = _forces_at(compiled, system.G[rows], ref)
    return found


def _rows(compiled: Compiled, cut: int) -> tuple[int, int]:
    """First constraint row of a cut joint, and the one after the last."""
    cuts = compiled.system.cuts
    return int(cuts.row[cut]), int(cuts.row[cut] + cuts.rows[cut])


def _forces_at(compiled: Compiled, G: np.ndarray, ref: FrameRef) -> np.ndarray:
    """Force and moment (n, 6) of unit multipliers of rows G (n, ns) at a frame, in body axes."""
    records = compiled.system
    at = int(records.tree.s_at[compiled.bodies.index(ref.body)])
    found = G[:, at : at + 6].copy()
    found[:, 3:] -= np.cross(records.frames.x[compiled.frames[ref]], found[:, :3])
    return found
