"""Initial state: declared joint coordinates and velocities, made consistent by the least change."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flexmbs.errors import warn_caller
from flexmbs.algebra.so3 import euler_parameters
from flexmbs.initial.assembly import Assemble, driven_coordinates, holonomic_rows, offset
from flexmbs.initial.coupling_functions import coupling_function_problems
from flexmbs.initial.inconsistent_rates import (
    KEPT,
    contradicting_accelerations,
    contradicting_rates,
)
from flexmbs.initial.dependent_motions import require_independent_motions
from flexmbs.initial.loop_closure import LoopClosure
from flexmbs.initial.row_sizes import relative_sizes, smallest_length
from flexmbs.initial.undefined_forces import undefined_contacts, undefined_forces
from flexmbs.initial.undefined_rows import undefined_relations
from flexmbs.initial.user_rows import user_row_problems
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.frames import places_in_body
from flexmbs.dynamics.work import make_work
from flexmbs.errors import AssemblyWarning, InputError, raise_problems
from flexmbs.formalisms.multiplier import consistent
from flexmbs.initial.locked_friction import locked_friction
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.check_functions import require_functions
from flexmbs.model.forces import AlongLine
from flexmbs.model.joints import Joint
from flexmbs.model.model import ModelData
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.compile_bodies import FrameTable
from flexmbs.system.coordinates import inverse_coordinates
from flexmbs.system.records import SPARE, BodyMotion, Evaluation, System, Work, copied, rows_of
from flexmbs.system.step_scales import coordinate_sizes, displacement_sizes, model_size
from flexmbs.system.start_poses import StartPoses

CLOSED = 1e-10  # rad, or relative to the size of the model, as the tolerances below
ROUND_OFF = 1e-15  # of lengths
NEWTON_STEPS = 40
# relative to the sizes of the rows: initial values with eight digits are accepted
ACCEPTED_GAP = 1e-7
MOVED = 1e-9  # rad or of the size of the model, also per second: smaller changes are round-off
COINCIDING = 1e-9  # of the size of the model: distance of points
MOST_CLOSED = 1500  # largest number of velocities for the dense steps of loop closure
# change of a declared value above round-off: rad or relative, of a velocity relative to the largest
REPORTED = 1e-6
SUSPECTS = "initial values, masses and forces"


@dataclass(frozen=True)
class Moved:
    """Change of one joint by assembly.

    position, velocity: largest change of a coordinate and of a velocity from the declared values.
    against: "q0" and "v0" if they are declared and changed by more than round-off.
    """

    joint: str
    position: float
    velocity: float
    against: tuple[str, ...] = ()

    def __str__(self) -> str:
        declared = f", against the declared {' and '.join(self.against)}" if self.against else ""
        return (
            f"{self.joint} by {self.position:.3g} in position, {self.velocity:.3g} in "
            f"velocity{declared}"
        )

    @property
    def contradictions(self) -> list[str]:
        """Messages on declared values that were not kept."""
        change = {"q0": self.position, "v0": self.velocity}
        return [
            f"joints.{self.joint}.{key}: the declared value had to change by "
            f"{change[key]:.3g} to satisfy the constraints; correct "
            "the initial values, or omit the dependent ones"
            for key in self.against
        ]


@dataclass(frozen=True)
class InitialState:
    """Consistent q and s, coordinates of the cut joints, changes of the declared values."""

    q: np.ndarray
    s: np.ndarray
    beta: np.ndarray
    moved: tuple[Moved, ...] = ()
    motion: BodyMotion | None = None  # kinematics of the bodies in joint coordinates
    # velocities of the cut joints
    eta: np.ndarray = field(default_factory=lambda: np.zeros((0, 6)))
    # force states, empty if they start at zero
    z: np.ndarray = field(default_factory=lambda: np.zeros(0))
    # forces of rigid contacts, empty if unknown
    contact: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))


def declared_state(compiled: Compiled) -> InitialState:
    """q and s as declared, in the joint coordinates of the compiled tree."""
    model, system = compiled.model, compiled.system
    q, s = np.zeros(int(system.layout[1])), np.zeros(int(system.layout[2]))
    poses = StartPoses(model, FrameTable(model, compiled.topology, compiled.data, {}))
    for i, primary in enumerate(compiled.topology.tree):
        at, to = int(system.tree.q_at[i]), int(system.tree.s_at[i])
        if primary.joint is None:
            R, x = poses.bodies[primary.body]
            q[at : at + 3] = x
            if primary.motions[0].nq == 7:
                q[at + 3 : at + 7] = euler_parameters(R)
        else:
            joint = model.joints[primary.joint]
            q0, v0 = np.array(joint.initial_position), np.array(joint.initial_velocity)
            if primary.reversed:
                q0, v0 = inverse_coordinates(joint.motions, q0, v0)
            q[at : at + len(q0)], s[to : to + len(v0)] = q0, v0
        body = model.bodies[primary.body]
        if isinstance(body, FlexibleBody):
            _elastic(
                body,
                q,
                s,
                int(system.tree.qf_at[i]),
                int(system.tree.sf_at[i]),
                int(system.tree.nf[i]),
            )
    beta = np.concatenate(
        [np.zeros(0), *(model.joints[name].initial_position for name in compiled.topology.cuts)]
    )
    return InitialState(q, s, beta)


def _elastic(body: FlexibleBody, q: np.ndarray, s: np.ndarray, at: int, to: int, nf: int) -> None:
    """Set the modal coordinates and rates of a flexible body in q and s. Raises `InputError`."""
    for values, array, place, key in ((body.qf0, q, at, "qf0"), (body.qf_dot0, s, to, "qf_dot0")):
        if values is not None:
            if len(values) != nf:
                raise InputError(f"bodies.{body.name}.{key}: {len(values)} values for {nf} modes")
            array[place : place + nf] = values


def consistent_state(
    model: ModelData,
    *,
    t: float = 0.0,
    how: Assemble | None = None,
    constants: np.ndarray | None = None,
) -> tuple[Compiled, InitialState]:
    """(compiled model in joint coordinates, its consistent initial state), with a warning.

    constants: `Compiled.initial_constants` of another initial position. Issues an `AssemblyWarning`
    for declared values that cannot be kept at t = 0. Raises `InputError` if loops do not close.
    """
    compiled, start = initial_state(model, t=t, how=how, constants=constants)
    if t == 0.0:
        warn_of_moved(start)
    return compiled, start


def warn_of_moved(start: InitialState) -> None:
    """Issue an `AssemblyWarning` with one line for each declared value that was not kept."""
    lines = [line for moved in start.moved for line in moved.contradictions]
    if lines:
        warn_caller("\n".join(lines), AssemblyWarning)


def initial_state(
    model: ModelData,
    *,
    t: float = 0.0,
    how: Assemble | None = None,
    constants: np.ndarray | None = None,
) -> tuple[Compiled, InitialState]:
    """(compiled model, consistent initial state), without the warning of `consistent_state`."""
    how = Assemble() if how is None else how
    require_functions(model)
    if not isinstance(how, Assemble):
        raise InputError(
            f"initial: {type(how).__name__} is not an Assemble; give Assemble(locked=…, weights=…)"
        )
    t = float(t)  # an integer would need separate kernels
    how.check(model)
    compiled = compile_model(model, "joint")
    start = declared_state(compiled)
    # those at t = 0
    if constants is None and t != 0.0 and np.isnan(compiled.initial_constants).any():
        constants = initial_state(model, how=how)[0].initial_constants
    if constants is not None:
        compiled = compiled.with_initial_constants(constants)
    unset = np.flatnonzero(np.isnan(compiled.initial_constants))
    compiled = compiled.with_initial_constants(np.nan_to_num(compiled.initial_constants))
    work = make_work(compiled.system, start.beta)
    q, s = start.q.copy(), start.s.copy()
    springs = len(compiled.system.forces.line.value)
    loose = compiled.system.couplers.row[unset[unset >= springs] - springs]
    if len(loose) and len(s) > MOST_CLOSED:  # the projection closes all rows
        compiled = with_constants_of(compiled, work, t, q, unset[unset >= springs])
        work = make_work(compiled.system, start.beta)
    left = _closed(compiled, work, t, q, s, how, loose)
    require_independent_motions(compiled, q, work.beta[:-SPARE])
    if not left <= ACCEPTED_GAP:
        sizes = relative_sizes(compiled, work, terms(compiled.system, work, t, q, s).G)
        _raise_gaps(compiled, work.gs.position, work.gs.position / sizes, t, how)
    if len(unset):
        compiled = with_constants_of(compiled, work, t, q, unset)
        work = make_work(compiled.system, work.beta[:-SPARE])
    if len(compiled.initial_constants):
        terms(compiled.system, work, t, q, s)
    if undirected := _undirected(compiled, work, t, q):
        raise InputError(*undirected)
    settled = settle(compiled, work, t, q.copy(), s.copy())
    # at the state itself: the projection changes it within round-off
    here = terms(compiled.system, work, t, q, s)
    if settled.status >= 0 and not all(
        np.isfinite(values).all() for values in (q, s, settled.sd, settled.lam)
    ):
        locked = locked_friction(compiled.model)
        found = [f"model: no accelerations at t = {t:g} s: {locked}"] if locked else []
        found = (
            _of_functions(compiled)
            or undefined_contacts(compiled, work)
            or undefined_forces(compiled, t, q, s, work.beta[:-SPARE])
            or found
        )
        found = found or [f"model: no finite accelerations at t = {t:g} s; check {SUSPECTS}"]
        raise InputError(*found)
    wrong = contradicting_rates(
        compiled, here.gd, here.gd / relative_sizes(compiled, work, here.G), here.G, s
    )
    raise_problems(wrong)
    _check_locked(compiled, start, q, s, work, how)
    moved = _moved_items(compiled, start, q, s, work, t)
    if how.strict and any(each.against for each in moved):
        raise InputError(*(line for each in moved for line in each.contradictions))
    return compiled, InitialState(
        q, s, work.beta[:-SPARE].copy(), moved, copied(work.motion), work.cut.eta.copy()
    )


def _closed(
    compiled: Compiled,
    work: Work,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    how: Assemble,
    loose: np.ndarray,
) -> float:
    """Close the loops by `LoopClosure`, or by projection if very large; largest residual |g|.

    loose: rows of couplings whose constants follow from the position; they only constrain the
    velocities. Returns the largest residual |g|.
    """
    system = compiled.system
    compiled.callbacks.where = None
    terms(system, work, t, q, s)
    compiled.callbacks.raise_error()
    wrong = user_row_problems(compiled, work, t) + coupling_function_problems(compiled, work, t, q)
    raise_problems(wrong)
    undefined = undefined_relations(compiled, work) if compiled.n_constraints else []
    if undefined:
        raise InputError(
            *(f"joints.{relation.name}: {relation.undefined}" for relation in undefined)
        )
    if compiled.n_constraints == 0:
        return 0.0
    if len(s) > MOST_CLOSED:
        return settle(compiled, work, t, q, s).left
    closing = LoopClosure(compiled, work, t, q, s, how, loose)
    best = closing.positions()
    q[:] = best.q
    terms(system, work, t, q, s)
    if best.gap <= ACCEPTED_GAP:
        s[:] = closing.velocities(q)
        here = terms(system, work, t, q, s)
        rates = np.abs(here.gd / relative_sizes(compiled, work, here.G)).max(initial=0.0)
        if (
            rates > KEPT * max(1.0, _largest(s / displacement_sizes(compiled)))
            and not holonomic_rows(compiled).all()
        ):
            settle(compiled, work, t, q, s)  # inconsistent rows, reported by `contradicting_rates`
    return best.gap


def _raise_gaps(
    compiled: Compiled, g: np.ndarray, shares: np.ndarray, t: float, how: Assemble
) -> None:
    """Raise `InputError` with the reason for an inconsistent initial state.

    The reason is a user function, locked joints, or lengths.
    """
    problems = _of_functions(compiled)
    if not problems and how.locked:
        free, found = initial_state(
            compiled.declared, t=t, how=Assemble(weights=how.weights, elastic=how.elastic)
        )
        problems = [
            f"joints.{name}: is locked at q0, but the loops close only if it moves by "
            f"{size:.4g}; unlock it or correct q0"
            for name, size, share in _lock_changes(free, found, how)
            if share > ACCEPTED_GAP
        ]
    raise InputError(*(problems or _gaps(compiled, g, shares, t, how)))


def _lock_changes(
    compiled: Compiled, found: "InitialState", how: Assemble
) -> list[tuple[str, float, float]]:
    """(joint, largest change, relative change) of locked joints that moved.

    (joint, largest difference, the same relative to the sizes of the coordinates).
    """
    joints, length = compiled.model.joints, model_size(compiled)
    changed = []
    for name in how.locked:
        change = offset(
            joints[name].motions,
            joints[name].initial_position,
            joint_coordinates(compiled, found, name)[0],
        )
        changed.append(
            (
                name,
                _largest(change),
                _largest(change / coordinate_sizes(joints[name].motions, length)),
            )
        )
    return changed


def _check_locked(
    compiled: Compiled,
    start: "InitialState",
    q: np.ndarray,
    s: np.ndarray,
    work: Work,
    how: Assemble,
) -> None:
    """Check that locked joints keep their declared coordinates and velocities."""
    state = InitialState(q, s, work.beta[:-SPARE], (), work.motion, work.cut.eta)
    length, problems = model_size(compiled), []
    for name in how.locked:
        joint = compiled.model.joints[name]
        place, speed = joint_coordinates(compiled, state, name)
        sizes = coordinate_sizes(joint.motions, length)
        moved = offset(joint.motions, joint.initial_position, place)
        for text, change in (("q0", moved), ("v0", speed - joint.initial_velocity)):
            if _largest(change / sizes) > ACCEPTED_GAP:
                problems.append(
                    f"joints.{name}: is locked, but the constraints hold only if {text} "
                    f"changes by {_largest(change):.4g}; "
                    "unlock it or another joint, or correct the initial values"
                )
    raise_problems(problems)


def require_consistent_accelerations(compiled: Compiled, start: InitialState) -> None:
    """Raise `InputError` if no accelerations satisfy all constraints at a regular position.

    At a singular one rows depend on others for an instant, which contradicts nothing.
    """
    work = make_work(compiled.system, start.beta)
    settled = settle(compiled, work, 0.0, start.q.copy(), start.s.copy())
    if settled.status > 0:  # some rows depend on others
        here = terms(compiled.system, work, 0.0, start.q, start.s)
        sizes = relative_sizes(compiled, work, here.G)
        raise_problems(contradicting_accelerations(compiled, here, sizes, start.s, settled.sd))


class Settled(NamedTuple):
    """Accelerations and multipliers of a consistent state.

    left: largest residual |g|, relative to the size of models below 1 m. status: number of
    dependent rows, or −1 − node.
    """

    sd: np.ndarray
    lam: np.ndarray
    left: float
    status: int


def settle(
    compiled: Compiled,
    work: Work,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    z: np.ndarray | None = None,
) -> Settled:
    """Project q and s onto the constraints and compute ṡ and λ there.

    The mass-weighted change is the least possible. Raises the errors of user functions.
    """
    _, _, ns, nc, nz = (int(n) for n in compiled.system.layout)
    sd, lam, left = np.zeros(ns), np.zeros(nc), np.zeros(1)
    compiled.callbacks.where = None
    states = np.zeros(nz) if z is None else z
    work.path.beta[:] = work.beta[:-SPARE]
    here = Evaluation(q, s, sd, lam, states, work.r)
    length = model_size(compiled)
    least = max(CLOSED * min(1.0, length), ROUND_OFF * length)
    status = consistent(compiled.system, work, float(t), here, least, NEWTON_STEPS, left)
    compiled.callbacks.raise_error()
    work.path.beta[:] = work.beta[:-SPARE]
    return Settled(sd, lam, float(left[0]) / min(1.0, length), int(status))


def changes(compiled: Compiled, q: np.ndarray, s: np.ndarray) -> tuple[Moved, ...]:
    """`Moved` records of the joints moved by changes of all coordinates (nq,) and velocities."""
    tree, found = compiled.system.tree, []
    sizes_of = np.split(displacement_sizes(compiled), tree.s_at[1:])
    parts = zip(
        compiled.topology.tree, np.split(q, tree.q_at[1:]), np.split(s, tree.s_at[1:]), sizes_of
    )
    for primary, dq, ds, sizes in parts:
        n = sum(motion.nv for motion in primary.motions)
        # Euler parameters are the last of a joint
        of_q = np.insert(sizes, n, np.ones(len(dq) - len(ds)))
        if max(_largest(dq / of_q), _largest(ds / sizes)) > MOVED:
            found.append(Moved(primary.label, _largest(dq), _largest(ds)))
    return tuple(found)


def _moved_items(
    compiled: Compiled, start: InitialState, q: np.ndarray, s: np.ndarray, work: Work, t: float
) -> tuple[Moved, ...]:  # fmt: skip
    """Records of joints and bodies that assembly moved from declared values.

    Cut joints only if their declared values changed. Drives at times other than 0 do not contradict
    the values declared for t = 0.
    """
    model, system = compiled.model, compiled.system
    in_tree, in_cuts = driven_coordinates(compiled)
    size, reach = model_size(compiled), displacement_sizes(compiled)
    length = min(1.0, smallest_length(compiled) / size)
    least = {"q0": REPORTED * length, "v0": REPORTED * max(length, _largest(s / reach))}
    found: list[Moved] = []

    def add(
        name: str,
        joint: Joint | None,
        position: np.ndarray,
        velocity: np.ndarray,
        sizes: np.ndarray,
    ) -> None:
        """Add how far the position and velocity of a joint moved from the given values."""
        shares = {"q0": _largest(position / sizes), "v0": _largest(velocity / sizes)}
        against = (
            ()
            if joint is None
            else tuple(k for k in shares if getattr(joint, k) is not None and shares[k] > least[k])
        )
        if max(shares.values()) > MOVED * length and (
            name not in compiled.topology.cuts or against
        ):
            found.append(Moved(name, _largest(position), _largest(velocity), against))

    for i, primary in enumerate(compiled.topology.tree):
        at, to, nv = (int(n[i]) for n in (system.tree.q_at, system.tree.s_at, system.tree.nv))
        led = t != 0.0 and bool(in_tree[to : to + nv].any())
        joint = None if primary.joint is None or led else model.joints[primary.joint]
        velocity = (s - start.s)[to : to + nv]
        add(
            primary.label,
            joint,
            offset(primary.motions, start.q[at:], q[at:]),
            velocity,
            reach[to : to + nv],
        )
        at, to, nf = (int(n[i]) for n in (system.tree.qf_at, system.tree.sf_at, system.tree.nf))
        shape = slice(to, to + nf)
        add(
            f"shape of {primary.body}",
            None,
            (q - start.q)[at : at + nf],
            (s - start.s)[shape],
            reach[shape],
        )
    for k, name in enumerate(compiled.topology.cuts):
        joint, at, nv = model.joints[name], int(system.cuts.beta_at[k]), int(system.cuts.nv[k])
        if (
            nv == 0
            or (joint.q0 is None and joint.v0 is None)
            or (t != 0.0 and any((k, v) in in_cuts for v in range(nv)))
        ):
            continue
        position = offset(compiled.places[name].motions, joint.initial_position, work.beta[at:])
        sizes = coordinate_sizes(compiled.places[name].motions, size)
        add(name, joint, position, work.cut.eta[k, :nv] - joint.initial_velocity, sizes)
    return tuple(found)


def _largest(a: np.ndarray) -> float:
    """Largest absolute value; 0 for an empty array."""
    return float(np.abs(a).max(initial=0.0))


def _gaps(
    compiled: Compiled, g: np.ndarray, shares: np.ndarray, t: float, how: Assemble
) -> list[str]:
    """Messages on joints that cannot close.

    shares: the gaps relative to the sizes of their rows.
    """
    cuts = compiled.system.cuts
    bend = ", or allow deformation: Assemble(elastic=True)"
    remedy = bend if compiled.data and not how.elastic else ""
    lines = []
    for k, name in enumerate(compiled.topology.cuts):
        rows = slice(int(cuts.row[k]), int(cuts.row[k] + cuts.rows[k]))
        gap = _largest(g[rows])
        if not _largest(shares[rows]) <= ACCEPTED_GAP:
            lines.append(
                f"joints.{name}: the loop does not close, residual gap {gap:.4g} (m or rad); "
                f"correct the lengths or start closer with q0{remedy}"
            )
    for name, drive in zip(compiled.model.drives, rows_of(compiled.system.drives)):
        row = drive.row
        if drive.cut < 0 and not abs(shares[row]) <= ACCEPTED_GAP:
            lines.append(
                f"drives.{name}: its motion contradicts the joints, residual {g[row]:.4g} at t "
                f"= 0; correct the motion or the lengths"
            )
    for name, row in zip(compiled.model.couplings, compiled.system.couplers.row):
        if not abs(shares[row]) <= ACCEPTED_GAP:
            lines.append(
                f"couplings.{name}: its equation contradicts the joints, residual "
                f"{g[row]:.4g} at t = {t:g} s; correct its "
                "offset, or omit it: the initial position then gives it"
            )
    return lines or [f"model: the initial positions are not finite; check {SUSPECTS}"]


def _of_functions(compiled: Compiled) -> list[str]:
    """Message on the user function that returned a non-finite value; empty if none did."""
    call = compiled.callbacks.where
    return (
        []
        if call is None
        else [
            f"{call.item}: its function returned a non-finite value at {call.text}; "
            "correct the function"
        ]
    )


def in_coordinates(
    joint: Compiled, start: InitialState, coordinates: str
) -> tuple[Compiled, InitialState]:
    """Model and initial state converted to other ``coordinates``."""
    if coordinates == joint.topology.coordinates:
        return joint, start
    target = compile_model(joint.declared, coordinates).with_initial_constants(
        joint.initial_constants
    )
    return target, converted(joint, start, target)


def converted(joint: Compiled, start: InitialState, target: Compiled) -> InitialState:
    """State in joint coordinates converted to the coordinates of ``target``.

    The state must have its motion and the velocities of the cut joints.
    """
    system = target.system
    q, s = np.zeros(int(system.layout[1])), np.zeros(int(system.layout[2]))
    for i, primary in enumerate(target.topology.tree):
        b = joint.topology.numbers[primary.body]
        nf = int(system.tree.nf[i])
        at, to = int(system.tree.qf_at[i]), int(system.tree.sf_at[i])
        q[at : at + nf] = start.q[joint.system.tree.qf_at[b] :][:nf]
        s[to : to + nf] = start.s[joint.system.tree.sf_at[b] :][:nf]
        at, to = int(system.tree.q_at[i]), int(system.tree.s_at[i])
        if primary.joint is not None:
            source = joint.topology.tree[b]
            assert source.joint == primary.joint
            from_q, from_s = int(joint.system.tree.q_at[b]), int(joint.system.tree.s_at[b])
            # prescribed motions have no coordinates
            for own, motion in zip(source.motions, primary.motions):
                q[at : at + motion.nq] = start.q[from_q:][: motion.nq]
                s[to : to + motion.nv] = start.s[from_s:][: motion.nv]
                at, to, from_q, from_s = (
                    at + motion.nq,
                    to + motion.nv,
                    from_q + own.nq,
                    from_s + own.nv,
                )
            continue
        assert start.motion is not None
        A, V = start.motion.A[b], start.motion.twist[b]
        q[at : at + 3] = start.motion.x[b]
        if primary.motions[0].nv == 6:
            q[at + 3 : at + 7] = euler_parameters(A)
            s[to : to + 6] = V
        else:
            s[to : to + 3] = A.reshape(3, 3) @ V[:3]
    beta = [joint_coordinates(joint, start, name)[0] for name in target.topology.cuts]
    return InitialState(
        q,
        s,
        np.concatenate([np.zeros(0), *beta]),
        start.moved,
        start.motion,
        z=start.z,
        contact=start.contact,
    )


def joint_coordinates(
    joint: Compiled, start: InitialState, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of a joint as declared, from parent to child.

    The model must be compiled in joint coordinates.
    """
    place = joint.places[name]
    nq, nv = sum(m.nq for m in place.motions), sum(m.nv for m in place.motions)
    if place.cut >= 0:
        at = joint.system.cuts.beta_at[place.cut]
        return start.beta[at : at + nq], start.eta[place.cut, :nv]
    at, to = joint.system.tree.q_at[place.body], joint.system.tree.s_at[place.body]
    q, v = start.q[at : at + nq], start.s[to : to + nv]
    return inverse_coordinates(place.motions, q, v) if place.reversed else (q, v)


def with_constants_of(
    compiled: Compiled, work: Work, t: float, q: np.ndarray, unset: np.ndarray
) -> Compiled:
    """Model with constants determined by its initial position, such as spring lengths.

    unset: the constants that were not given. Springs are unloaded, couplings are satisfied.
    """
    constants, n = compiled.initial_constants, len(compiled.system.forces.line.value)
    g = terms(compiled.system, work, t, q, np.zeros(int(compiled.system.layout[2]))).g
    for k in unset:
        constants[k] = (
            line_length(compiled, work, q, int(k))
            if k < n
            else constants[k] + g[compiled.system.couplers.row[k - n]]
        )
    return compiled.with_initial_constants(constants)


def _undirected(compiled: Compiled, work: Work, t: float, q: np.ndarray) -> list[str]:
    """Messages on forces along lines of zero length, whose direction is undefined."""
    found, least = [], COINCIDING * model_size(compiled)
    lines = (
        (name, force)
        for name, force in compiled.model.forces.items()
        if isinstance(force, AlongLine)
    )
    for f, ((name, force), unloaded_length) in enumerate(zip(lines, compiled.initial_constants)):
        law = getattr(force, "law", None)
        if line_length(compiled, work, q, f) > least:
            continue
        if unloaded_length > least or (law is not None and law(t, 0.0, 0.0) != 0.0):
            found.append(
                f"forces.{name}: its two points coincide in the initial state, its "
                "tension has no direction; move a "
                "frame, start elsewhere or use a Bushing"
            )
    return found


def line_length(compiled: Compiled, work: Work, q: np.ndarray, f: int) -> float:
    """Distance (m) between the ends of line force f."""
    line = compiled.system.forces.line
    a, b = (frame_position(compiled.system, work, int(m), q) for m in (line.a[f], line.b[f]))
    return float(np.linalg.norm(b - a))


def frame_position(system: System, work: Work, m: int, q: np.ndarray) -> np.ndarray:
    """World position (3,) of frame m from its body's pose."""
    frames = system.frames
    i, nf, at = frames.body[m], frames.nf[m], frames.qf_at[m]
    x = places_in_body(system.frames, m, q[at : at + nf])
    if i < 0:
        return np.asarray(x)
    return np.asarray(work.motion.x[i] + work.motion.A[i].reshape(3, 3) @ x)
