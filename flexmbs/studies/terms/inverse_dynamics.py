"""`inverse_dynamics`: forces of actuators and drives for a given motion."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from flexmbs.api.solution import Solution
from flexmbs.audit import report_findings
from flexmbs.checked_arguments import checked_arguments
from flexmbs.dynamics.dense import terms
from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.initial import analysis_arguments
from flexmbs.initial.row_sizes import relative_sizes
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.check_functions import require_functions
from flexmbs.results.joints import path_coordinates
from flexmbs.results.linear_range import MOST_PLACES, MOST_TIMES, displacements
from flexmbs.results.state import HasState, State, given_state, with_prescribed
from flexmbs.results.views import FloatArray
from flexmbs.studies.states.balance import balancing
from flexmbs.studies.states.jacobians import joint_directions_of
from flexmbs.studies.states.state_sequence import solution_of, with_state_checks
from flexmbs.studies.states.tangent import dense, evaluate
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.compile import compile_model
from flexmbs.system.records import LOADINGS, SETTLED, depends_on_reactions
from flexmbs.system.step_scales import displacement_sizes

# of the moments and forces over the size of the model: smaller imbalances are round-off
BALANCED = 1e-9
NEGLIGIBLE = 0.01  # of the size of a body: smaller displacements hardly change the kinematics
# of the loads of a flexible body: inertia of its deformation that may be omitted, (ω/ω₁)² at one
# fifth of its lowest frequency
DYNAMIC = 0.04
FEWEST = 7  # times of a motion, below which second differences mean nothing


@dataclass(frozen=True, eq=False)
class Efforts:
    """Forces for a motion: M ṡ = k + Gᵀλ + Sᵀτ.

    t (nt,).  effort: joint or drive → τ (nt, n) along its degrees of freedom, N or N m.  remainder
    (nt, ns): generalized forces required by the motion beyond the actuators.  unique: False if τ is
    not unique; it is then of least norm.  solution: the motion with its multipliers, for reactions.
    """

    t: FloatArray
    effort: Mapping[str, FloatArray]
    remainder: FloatArray
    unique: bool
    solution: Solution = field(repr=False)

    @property
    def audit(self) -> tuple[Check, ...]:
        """Checks of the motion with its multipliers, as of a run."""
        return self.solution.audit

    @property
    def verdict(self) -> str:
        """The worst of the `audit`: "PASS", "WARN" or "FAIL"; "NOT JUDGED" without one."""
        return self.solution.verdict


@checked_arguments
def inverse_dynamics(
    motion: Solution | HasState, *, actuators: str | Sequence[str] = (), audit: bool = True
) -> Efforts:
    """Actuator forces for given positions, velocities and accelerations.

    Of a state or of all outputs of a solution.

    By the residual of the equations, for trees the recursive Newton–Euler algorithm (Featherstone
    2008, ch. 5), in addition to the forces of the model.

    motion: a solution, or a state with accelerations. actuators: names of joints with actuators on
    all their degrees of freedom; drives then only prescribe the motion. Without names the drives
    are the actuators, in a tree without drives all joints. audit: judge the result, with an
    `AuditWarning` for each finding; False leaves it not judged. Raises `InputError`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("lifted arm", gravity=(0, 0, -10.0))
    >>> arm = model.add(fm.RigidBody("arm", mass=3.0, com=(0.5, 0, 0), inertia=(0.001, 0.25, 0.25)))
    >>> shoulder = model.add(fm.Revolute("shoulder", model.ground, arm, axis="-y"))
    >>> lifted = fm.state(model, acceleration={"shoulder": 2.0})
    >>> fm.inverse_dynamics(lifted).effort["shoulder"].round(6).tolist()  # m g l/2 + m l²/3 φ̈
    [[17.0]]
    """
    require_switch("audit", audit)
    states = _states(motion)
    compiled, names = states[0].compiled, _actuators(actuators)
    analysis_arguments.require_no_contacts(compiled.model, "inverse_dynamics")
    if not isinstance(motion, Solution):  # its states have the held outputs
        analysis_arguments.require_no_samplers(compiled.model, "inverse_dynamics")
    drives = () if names else tuple(compiled.model.drives)
    if not names and not drives:
        closed = compile_model(compiled.declared, "joint").topology.cuts
        if closed or compiled.model.couplings:
            what = "closed loops" if closed else "couplings"
            raise InputError(
                f"actuators: the model has {what} and no drives; name the actuated joints"
            )
        names = tuple(name for name, joint in compiled.model.joints.items() if joint.nv > 0)
    found = [_efforts(state, names, keep_drives=bool(drives)) for state in states]
    rows = dict(zip(compiled.model.drives, compiled.system.drives.row))
    lam = np.array([each[0] for each in found])
    effort = {name: lam[:, [int(rows[name])]] for name in drives}
    at = 0
    for name in names:
        n = compiled.model.joints[name].nv
        effort[name] = np.array([each[1][at : at + n] for each in found])
        at += n
    held = [replace(state, lam=multipliers) for state, multipliers in zip(states, lam)]
    power = np.array([evaluate(state).power for state in held])
    power[:, 0] += [each[4] for each in found]
    solution = solution_of(held, options={"analysis": "inverse dynamics"}, power=power)
    remainder = np.array([each[2] for each in found])
    needed = np.abs(remainder * displacement_sizes(compiled)).max(initial=0.0)
    balanced = (
        not names and not compiled.data and needed <= BALANCED * max(each[5] for each in found)
    )
    elastic = any(np.abs(solution.elastic(name)).max(initial=0.0) > 0.0 for name in compiled.data)
    more = _static_displacement(solution, remainder) if audit else []
    solution = with_state_checks(
        solution, audit=audit, balanced=bool(balanced), deformed=elastic, more=more
    )
    if audit:
        report_findings(solution)
    return Efforts(solution.t, effort, remainder, all(each[3] for each in found), solution)


def _static_displacement(solution: Solution, remainder: np.ndarray) -> list[Check]:
    """Static displacement K_ff⁻¹ f of flexible bodies by unbalanced loads f.

    These are the loads that their given deformation does not balance.
    """
    found: dict[str, Check] = {}
    tree = solution.compiled.system.tree
    for name, data in solution.compiled.data.items():
        if not data.nf:
            continue
        at = int(tree.sf_at[solution.compiled.bodies.index(name)])
        loads = remainder[:, at : at + data.nf]
        elastic = np.linalg.lstsq(data.K_ff, loads.T, rcond=None)[0].T
        balanced = solution.elastic(name) @ data.K_ff
        dynamic = _inertia_share(solution.t, balanced, loads, elastic, data)
        elastic = elastic[np.argsort(np.linalg.norm(elastic, axis=1))[-MOST_TIMES:]]
        size, moved = displacements(data, elastic, MOST_PLACES)
        share, whole = float(moved.max()) / size, solution.compiled.whole_of(name)
        text = (
            f"its loads would displace it by {1e3 * float(moved.max()):.3g} mm more "
            f"({100.0 * share:.2g} % of its size)"
        )
        if dynamic > DYNAMIC:
            text += f"; its own inertia would change its loads by {dynamic:.2g} of them"
        status = WARN if share > NEGLIGIBLE or dynamic > DYNAMIC else PASS
        remedy = "" if status == PASS else "simulate the model, in which it deforms"
        if status != PASS or whole not in found:
            found[whole] = Check(f"Deformation of {whole}", status, text, remedy)
    return list(found.values())


def _inertia_share(
    t: np.ndarray,
    balanced: np.ndarray,
    loads: np.ndarray,
    elastic: np.ndarray,
    data: FlexibleBodyData,
) -> float:
    """Inertia m ë of a static displacement e = K⁻¹ f over all loads f + f₀, about (ω/ω₁)².

    balanced: loads f₀ = K q (nt, nf) that the given deformation balances. loads, elastic: f and e
    (nt, nf) at the times t. Largest values in the norm √(fᵀ K⁻¹ f). 0 for fewer than `FEWEST`
    times, from which ë is unknown.
    """
    if len(t) < FEWEST or (np.diff(t) <= 0.0).any():
        return 0.0

    def size(values: np.ndarray) -> float:
        """Largest norm over the times."""
        own = np.linalg.lstsq(data.K_ff, values.T, rcond=None)[0].T
        return math.sqrt(max(float(np.einsum("ti,ti->t", values, own).max()), 0.0))

    inertia = np.gradient(np.gradient(elastic, t, axis=0), t, axis=0) @ data.m_ff
    return size(inertia) / max(size(balanced + loads), np.finfo(float).tiny)


def _actuators(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of the actuated joints, each once. Raises `InputError`."""
    names = () if given is None else analysis_arguments.names(given, "actuators")
    if len(set(names)) < len(names):
        raise InputError(f"actuators: {', '.join(names)} names a joint twice; remove one")
    return names


def _states(motion: Solution | HasState) -> list[State]:
    """States of a solution at its outputs, or the single state given."""
    if not isinstance(motion, Solution):
        return [given_state("motion", motion)]
    compiled, path = motion.compiled, motion.trajectory
    require_functions(compiled.model)
    if len(compiled.system.prescribed.law) > 0:  # their coordinates have no rows, nor a place in s
        return with_prescribed(motion)
    beta = path_coordinates(compiled, path)
    rows = zip(path.t, path.q, path.s, path.sd, path.lam, path.z, beta)
    return [State(compiled, float(t), q, s, sd, lam, z, b) for t, q, s, sd, lam, z, b in rows]


def _efforts(
    state: State, names: Sequence[str], *, keep_drives: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool, float, float]:  # fmt: skip
    """(λ (nc,), efforts τ of the named joints, unbalanced remainder (ns,)).

    Also whether τ and the drives' λ are unique, the power of τ, and the largest moment, or force
    times the size of the model.
    """
    compiled = state.compiled
    work, sizes = state.work(), displacement_sizes(compiled)
    known = terms(compiled.system, work, state.t, state.q, state.s, state.z)
    driven = compiled.system.drives.row
    rows = (
        np.arange(compiled.n_constraints)
        if keep_drives
        else np.setdiff1d(np.arange(compiled.n_constraints), driven)
    )
    S = [joint_directions_of(state, name) for name in names]
    columns = np.vstack([known.G[rows], *S]).T
    of_rows = relative_sizes(compiled, work, known.G)[rows]
    lam = np.zeros(compiled.n_constraints)
    loaded = depends_on_reactions(compiled.system)
    for turn in range(LOADINGS if loaded else 1):
        needed = evaluate(replace(state, lam=lam)).r + known.G.T @ lam
        x = (
            balancing(columns, needed, sizes, of_rows)
            if columns.size
            else np.zeros(columns.shape[1])
        )
        before, lam = lam, np.zeros(compiled.n_constraints)
        lam[rows] = x[: len(rows)]
        if np.abs(lam - before).max(initial=0.0) <= SETTLED * (1.0 + turn) * np.abs(lam).max(
            initial=0.0
        ):
            break
    else:
        if loaded:
            raise SolverError(
                "inverse_dynamics: no reactions are consistent with the friction that they cause; "
                "reduce the friction"
            )
    asked = np.concatenate(
        [np.flatnonzero(np.isin(rows, driven)), np.arange(len(rows), columns.shape[1])]
    ).astype(int)
    power = float(x[len(rows) :] @ (columns.T @ state.s)[len(rows) :])
    scaled = columns * sizes[:, None]
    scaled[:, : len(rows)] /= of_rows
    parts = (columns * x).T, dense(state).M @ state.sd, needed
    largest = max(float(np.abs(part * sizes).max(initial=0.0)) for part in parts)
    return lam, x[len(rows) :], needed - columns @ x, _unique(scaled, asked), power, largest


def _unique(columns: np.ndarray, asked: np.ndarray) -> bool:
    """True if the requested forces are unique despite the null space of the columns."""
    _, size, vt = np.linalg.svd(columns)
    rank = int((size > 1e-9 * size.max(initial=1e-300)).sum())
    return bool(np.abs(vt[rank:, asked]).max(initial=0.0) < 1e-7)
