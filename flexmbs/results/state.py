"""`State`: model at one instant in joint coordinates.

From its declarations, a solution or an analysis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from flexmbs.algebra.so3 import euler_parameters
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import close_names
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError
from flexmbs.initial.analysis_arguments import by_joint, instant, numbers
from flexmbs.initial.assembly import Assemble
from flexmbs.initial.dependent_motions import require_independent_motions
from flexmbs.initial.initial_state import (
    ACCEPTED_GAP,
    InitialState,
    changes,
    consistent_state,
    initial_state,
    settle,
)
from flexmbs.initial.massless_bodies import body_without_inertia
from flexmbs.model.check import declaration_report, require_model
from flexmbs.model.check_functions import require_functions
from flexmbs.model.model import ModelData
from flexmbs.model.motions import PrescribedMotion
from flexmbs.results.joints import path_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.results.views import BodyView
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.coordinates import inverse_coordinates
from flexmbs.system.records import SPARE, Work, copied

Values = Mapping[str, float | Sequence[float]]
REGULAR = 1e-10  # relative singular value below which constraint rows are redundant
CONTRADICTION = 1e-7  # relative residual: accelerations given with eight digits are accepted


@dataclass(frozen=True, eq=False)
class State:
    """Model at time t (s) in joint coordinates.

    q (nq,) and s (ns,): positions and velocities; sd (ns,) and lam (nc,): accelerations and
    multipliers; z (nz,): force states; beta: coordinates of the cut joints.  contact (n, 3): normal
    and tangential forces of rigid contacts in a run; contacts with a normal force are closed.  M ṡ
    = k + Gᵀλ, docs/theory.md, section 23: accelerations without forces of rigid contacts.

    """

    compiled: Compiled = field(repr=False)
    t: float
    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    beta: np.ndarray
    contact: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def state(self) -> "State":
        """The state itself: a state is accepted wherever a result with a state is."""
        return self

    def work(self) -> Work:
        """New work arrays, initialized with the coordinates of the cut joints."""
        return make_work(self.compiled.system, self.beta)


class HasState(Protocol):
    """Object with a state: a state, an equilibrium or another result."""

    @property
    def state(self) -> State:
        """The state."""


@checked_arguments
def state(
    model: ModelData,
    *,
    t: float = 0.0,
    position: Values | None = None,
    velocity: Values | None = None,
    acceleration: Values | None = None,
) -> State:
    """State with the declared or given joint coordinates, made consistent with all constraints.

    position, velocity, acceleration: joint → number(s) as in ``q0`` and ``v0``; without
    ``acceleration`` the model moves freely. Otherwise the given accelerations are kept, and the
    others are zero or, if loops and drives require it, those of least mass-weighted norm. Raises
    `InputError`. Source: docs/theory.md, section 50.


    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("bead on a turning bar", gravity=(0, 0, 0))
    >>> bead = model.add(fm.PointMass("bead", mass=1.0))
    >>> turn_and_slide = (fm.motions.Rotate("z"), fm.motions.Slide("x"))
    >>> bar = model.add(fm.Chain("bar", model.ground, bead, motions=turn_and_slide))
    >>> now = fm.state(model, position={"bar": (0.0, 0.5)}, velocity={"bar": (2.0, 1.0)})
    >>> now.sd.round(6).tolist()  # φ̈ = −2 ṙ φ̇/r, r̈ = r φ̇²
    [-8.0, 2.0]
    """
    t = instant(t)
    require_model(model)
    chosen = _with_values(model, by_joint(position, "position"), by_joint(velocity, "velocity"))
    declaration_report(chosen).raise_errors()
    # springs without a given length are unloaded in the declared position, couplings take their
    # offsets from it
    constants = None if chosen is model else initial_state(model)[0].initial_constants
    compiled, start = consistent_state(chosen, t=t, constants=constants)
    t = float(t)
    free = settled_state(compiled, t, start.q, start.s, start.beta)
    if acceleration is None:
        return free
    given = _accelerations(compiled, by_joint(acceleration, "acceleration"))
    return replace(free, sd=_completed(free, given), lam=np.zeros_like(free.lam))


def settled_state(
    compiled: Compiled,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    beta: np.ndarray,
    z: np.ndarray | None = None,
) -> State:
    """State projected on the constraints near (q, s), with accelerations and multipliers.

    Raises `InputError`.
    """
    require_functions(compiled.model)
    require_independent_motions(compiled, q, beta)
    work, q, s = make_work(compiled.system, beta), q.copy(), s.copy()
    z = np.zeros(int(compiled.system.layout[4])) if z is None else z
    settled = settle(compiled, work, t, q, s, z)
    if settled.status < 0:
        body = body_without_inertia(compiled, settled.status, q, beta)
        raise InputError(f"bodies.{body}: its motion has no inertia; give it mass")
    if not settled.left <= ACCEPTED_GAP:
        raise InputError(
            f"state: the joints do not close at t = {t:g} s, residual {settled.left:.3g} "
            "(m or rad); start closer"
        )
    return State(compiled, t, q, s, settled.sd, settled.lam, z, work.beta[:-SPARE].copy())


def given_state(key: str, given: HasState) -> State:
    """State from an argument such as a solution or equilibrium. Raises `InputError`."""
    try:
        found = given.state
    except AttributeError:
        found = None  # type: ignore[assignment]
    if not isinstance(found, State):
        raise InputError(
            f"{key}: {type(given).__name__} is not a state; use state(model), "
            "state_of(solution, t) or an equilibrium"
        )
    return found


@checked_arguments
def state_of(solution: SolutionData, t: float) -> State:
    """State of a solution in joint coordinates at the output time nearest to ``t``.

    Raises `InputError`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("drop")
    >>> drop = model.add(fm.PointMass("drop", mass=0.01))
    >>> run = fm.simulate(model, t_end=1.0, step=0.01)
    >>> now = fm.state_of(run, 0.5)
    >>> now.t, now.s[2].round(6).item()  # g t
    (0.5, -4.905)
    """
    t = instant(t)
    if not isinstance(solution, SolutionData):
        raise InputError(
            f"solution: {type(solution).__name__} is not a Solution; use the result of "
            "simulate or Solution.load"
        )
    if len(solution.t) == 0:
        raise InputError("solution: it has no outputs and therefore no states; run it again")
    i = int(np.argmin(np.abs(solution.t - t)))
    spacing = float(np.diff(solution.t).max(initial=0.0))
    if not abs(solution.t[i] - t) <= 0.5 * spacing + 1e-9 * (
        min(1.0, float(solution.t[-1])) + abs(t)
    ):
        raise InputError(
            f"t: {t:g} s is not within the solution, {solution.t[0]:g} … {solution.t[-1]:g} s"
        )
    compiled, at, z = solution.compiled, float(solution.t[i]), solution.trajectory.z[i].copy()
    contact = solution.trajectory.contact[i].copy()
    if compiled.topology.coordinates == "joint":
        beta = path_coordinates(compiled, solution.trajectory)[i]
        return replace(
            settled_state(compiled, at, solution.q[i], solution.s[i], beta, z), contact=contact
        )
    joint = compile_model(compiled.declared, "joint").with_initial_constants(
        compiled.initial_constants
    )
    return replace(
        settled_state(joint, at, *joint_values(joint, solution, [i])[0], z), contact=contact
    )


class JointValues(NamedTuple):
    """Positions q and velocities s of the tree, and coordinates β of the cut joints."""

    q: np.ndarray
    s: np.ndarray
    beta: np.ndarray


def joint_values(
    joint: Compiled, solution: SolutionData, outputs: Sequence[int]
) -> list[JointValues]:
    """Joint coordinates of all joints at some outputs of a solution in other coordinates."""
    tree, (_, nq, ns) = joint.system.tree, (int(n) for n in joint.system.layout[:3])
    cuts = [solution.joint(name).position for name in joint.topology.cuts]
    found = [
        JointValues(
            np.zeros(nq), np.zeros(ns), np.concatenate([np.zeros(0), *(x[i] for x in cuts)])
        )
        for i in outputs
    ]
    for b, primary in enumerate(joint.topology.tree):
        body = solution.body(primary.body)
        view = None if primary.joint is None else solution.joint(primary.joint)
        nf = int(tree.nf[b])
        for i, (q, s, _) in zip(outputs, found):
            if view is None:
                values, rates = _free_values(body, i, primary.motions[0].nv == 6)
            else:
                values, rates = view.position[i], view.velocity[i]
                if primary.reversed:
                    values, rates = inverse_coordinates(
                        joint.model.joints[view.name].motions, values, rates
                    )
            q[tree.q_at[b] :][: len(values)], s[tree.s_at[b] :][: len(rates)] = values, rates
            q[tree.qf_at[b] :][:nf], s[tree.sf_at[b] :][:nf] = body.elastic[i], body.elastic_rate[i]
    return found


def with_prescribed(solution: SolutionData) -> list[State]:
    """States in joint coordinates of all outputs of a solution in rheonomic coordinates.

    With its accelerations; λ is zero.
    """
    compiled, trajectory, outputs = solution.compiled, solution.trajectory, range(len(solution.t))
    joint = compile_model(compiled.declared, "joint").with_initial_constants(
        compiled.initial_constants
    )
    sd, lam = np.zeros((len(outputs), int(joint.system.layout[2]))), np.zeros(joint.n_constraints)
    for i, primary in enumerate(compiled.topology.tree):
        b, nf = joint.topology.numbers[primary.body], int(compiled.system.tree.nf[i])
        at, to = int(compiled.system.tree.s_at[i]), int(joint.system.tree.s_at[b])
        for motion in primary.motions:
            if isinstance(motion, PrescribedMotion):
                drive = compiled.model.drives[motion.drive]
                sd[:, to] = solution.joint(drive.joint).acceleration[:, drive.coordinate]
            else:
                sd[:, to : to + motion.nv] = trajectory.sd[:, at : at + motion.nv]
            at, to = at + motion.nv, to + motion.freedoms
        at, to = int(compiled.system.tree.sf_at[i]), int(joint.system.tree.sf_at[b])
        sd[:, to : to + nf] = trajectory.sd[:, at : at + nf]
    found = joint_values(joint, solution, outputs)
    return [
        State(joint, float(solution.t[k]), q, s, sd[k], lam, trajectory.z[k], beta)
        for k, (q, s, beta) in enumerate(found)
    ]


def _free_values(body: BodyView, i: int, turns: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities at output i of a body without a joint, rigid or point mass."""
    if not turns:
        return body.position[i], body.velocity[i]
    A = body.rotation[i]
    rates = np.concatenate([A.T @ body.velocity[i], A.T @ body.angular_velocity[i]])
    return np.concatenate([body.position[i], euler_parameters(A)]), rates


def state_about(model: ModelData, start: HasState | None) -> State:
    """Declared state of a model, or the state given by ``start``.

    With the accelerations and multipliers of the model there. ``start`` may belong to another model
    with the same bodies and joints. Raises `InputError`.
    """
    if start is None:
        return state(model)
    given = given_state("start", start)
    declaration_report(model).raise_errors()
    compiled, _ = initial_state(model, how=Assemble(elastic=True))
    here = started(compiled, given, given.t)
    require_same_shapes(compiled, given, "start")
    return settled_state(compiled, given.t, here.q, here.s, here.beta, here.z)


def started(joint: Compiled, given: State, t: float = 0.0, key: str = "start") -> InitialState:
    """Initial state of a model compiled in joint coordinates, from a given state.

    Raises `InputError` for other bodies and joints.
    """
    own, other = joint.topology, given.compiled.topology
    sizes, given_sizes = (
        joint.system.layout[1:3].tolist(),
        given.compiled.system.layout[1:3].tolist(),
    )
    if (own.bodies, own.cuts, sizes) != (other.bodies, other.cuts, given_sizes):
        raise InputError(
            f"{key}: it belongs to a model with other bodies or joints; use a state of this model"
        )
    require_independent_motions(joint, given.q, given.beta)
    work, q, s = make_work(joint.system, given.beta), given.q.copy(), given.s.copy()
    if not settle(joint, work, t, q, s).left <= ACCEPTED_GAP:
        raise InputError(
            f"{key}: it does not satisfy the joints and drives of the model at t = {t:g} "
            "s; correct the drives"
        )
    eta, nz = work.cut.eta.copy(), int(joint.system.layout[4])
    z = given.z.copy() if len(given.z) == nz else np.zeros(nz)
    moved = changes(joint, q - given.q, s - given.s)
    contact = given.contact if given.compiled.contacts == joint.contacts else np.zeros((0, 3))
    return InitialState(
        q, s, work.beta[:-SPARE].copy(), moved, copied(work.motion), eta, z, contact.copy()
    )


def require_same_shapes(joint: Compiled, given: State, key: str) -> None:
    """Raise `InputError` for elastic coordinates of a body that has been reduced again.

    Its modes differ.
    """
    tree = joint.system.tree
    for b, primary in enumerate(joint.topology.tree):
        nf, at = int(tree.nf[b]), (int(tree.qf_at[b]), int(tree.sf_at[b]))
        if not (given.q[at[0] : at[0] + nf].any() or given.s[at[1] : at[1] + nf].any()):
            continue
        own, other = joint.data[primary.body], given.compiled.data[primary.body]
        if own is not other and own.digest != other.digest:
            raise InputError(
                f"{key}: body '{joint.whole_of(primary.body)}' has been reduced again since that "
                "state, whose elastic coordinates"
                " belong to other modes; use a state of this model"
            )


def _with_values(model: ModelData, position: Values, velocity: Values) -> ModelData:
    """Copy of the model with other initial values of the joints."""
    unknown = [name for name in (*position, *velocity) if name not in model.joints]
    if unknown:
        raise InputError(
            *(
                f"joint '{name}' is not in the model; {close_names(name, model.joints)}"
                for name in unknown
            )
        )
    if not position and not velocity:
        return model
    chosen = model.without_items()
    chosen.bodies, chosen.forces, chosen.drives = model.bodies, model.forces, model.drives
    chosen.couplings, chosen.contacts, chosen.rotors = model.couplings, model.contacts, model.rotors
    for name, joint in model.joints.items():
        changes: dict[str, Any] = {
            key: values[name]
            for key, values in (("q0", position), ("v0", velocity))
            if name in values
        }
        chosen.joints[name] = replace(joint, **changes) if changes else joint
    return chosen


def _accelerations(compiled: Compiled, given: Values) -> np.ndarray:
    """Accelerations ṡ with given values for joints of the tree, nan elsewhere.

    Raises `InputError` for other joints and values.
    """
    sd = np.full(int(compiled.system.layout[2]), np.nan)
    for name, value in given.items():
        place = compiled.places.get(name)
        if place is None or place.cut >= 0:
            known = [key for key, where in compiled.places.items() if where.cut < 0]
            raise InputError(
                f"acceleration: '{name}' is not a joint of the tree; those are: {', '.join(known)}"
            )
        nv = sum(m.nv for m in place.motions)
        values = numbers(value, nv, f"acceleration: joint '{name}'")
        at = int(compiled.system.tree.s_at[place.body])
        if place.reversed:
            joint = compiled.model.joints[name]
            if nv == 6:
                raise InputError(
                    f"acceleration: joint '{name}' is free and its parent is the outer "
                    "body; exchange parent and child"
                )
            values = inverse_coordinates(joint.motions, joint.initial_position, values)[1]
        sd[at : at + nv] = values
    return sd


def _completed(state: State, given: np.ndarray) -> np.ndarray:
    """Accelerations ṡ that satisfy G ṡ = γ and keep the given values.

    The others have least mass-weighted norm. Raises `InputError` if there are none.
    """
    known = terms(state.compiled.system, state.work(), state.t, state.q, state.s, state.z)
    open_ = np.isnan(given)
    sd = np.where(open_, 0.0, given)
    missing = known.gamma - known.G @ sd
    if len(missing) and open_.any():
        G, M = known.G[:, open_], known.M[np.ix_(open_, open_)]
        across = np.linalg.lstsq(M, G.T, rcond=None)[0]
        sd[open_] = across @ np.linalg.lstsq(G @ across, missing, rcond=REGULAR)[0]
        missing = known.gamma - known.G @ sd
    left = float(np.abs(missing).max(initial=0.0))
    if left > CONTRADICTION * (1.0 + float(np.abs(sd).max(initial=0.0))):
        raise InputError(
            "acceleration: the joints and drives do not allow these accelerations, residual "
            f"{left:.3g} (m/s² or rad/s²); "
            "give accelerations of independent joints"
        )
    return sd
