"""`kinematics`: motion of a fully driven mechanism, without dynamics."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.audit import report_findings
from flexmbs.checked_arguments import checked_arguments
from flexmbs.diagnosis.rank import pivots
from flexmbs.dynamics.dense import Terms, terms
from flexmbs.errors import AuditWarning, InputError, SolverError
from flexmbs.initial.analysis_arguments import require_no_samplers
from flexmbs.initial.initial_state import consistent_state
from flexmbs.initial.row_sizes import relative_sizes
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.check import declaration_report
from flexmbs.model.general_couplings import nonholonomic_couplings
from flexmbs.model.relations import nonholonomic
from flexmbs.results.state import State
from flexmbs.studies.states.balance import moved
from flexmbs.studies.states.state_sequence import checked_times, solution_of, with_state_checks
from flexmbs.studies.states.user_rates import require_stated_rates
from flexmbs.studies.terms.force_states import Reach, with_force_states
from flexmbs.studies.terms.inverse_dynamics import inverse_dynamics
from flexmbs.system.check import WARN, Check
from flexmbs.system.names import velocity_names
from flexmbs.system.records import SPARE
from flexmbs.system.step_scales import displacement_sizes

NEWTON_STEPS = 12
CLOSED = 1e-11  # rad of the coordinates, or of the size of the model
ROUND_OFF = 1e-15  # of the size of a row: gaps that no step makes smaller
SHORTEST = 1e-4  # of the size of a row: shorter ones may be round-off
# rad of the coordinates, or of the size of the model: Newton's method has left the branch
FAR = 3.0
SINGULAR = 1e-7  # smallest over largest singular value
CONTRADICTION = 1e-7  # of the velocities, at least 1 rad/s or the size of the model per s
REACH = 0.3  # rad or over the size of the model, between two positions
MOST_HALVINGS = 12


@checked_arguments
def kinematics(
    model: Model, times: Sequence[float] | np.ndarray, *, audit: bool = True
) -> Solution:
    """Positions, velocities and accelerations of a driven mechanism at the given times (s).

    times (nt,): increasing, s.  audit: judge the result, with an `AuditWarning` for each finding.
    g(q, t) = 0 by Newton's method from positions predicted by the velocities, G s = −γ̄, G ṡ = γ;
    elastic coordinates keep their declared values. Force states, such as integrals of controllers,
    are integrated along the motion from their initial values at the first time. Forces of joints
    and drives are those of `inverse_dynamics`; where there are none, a check says so. Raises
    `InputError` naming the joints that are not driven, `SolverError` with the solution up to a
    singular position. Source: docs/theory.md, section 51.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("crank")
    >>> crank = model.add(
    ...     fm.RigidBody("crank", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"pin": (0.2, 0, 0)})
    ... )
    >>> shaft = model.add(fm.Revolute("shaft", model.ground, crank, axis="z"))
    >>> motor = model.add(fm.Drive("motor", shaft, fm.Ramp(0.0, rate=5.0)))
    >>> pin = fm.kinematics(model, [0.0, 0.1]).frame("crank/pin")
    >>> pin.velocity[0].round(6).tolist(), pin.acceleration[0].round(6).tolist()  # r ω, r ω²
    ([0.0, 1.0, 0.0], [-5.0, 0.0, 0.0])
    """
    moments = checked_times(times)
    require_switch("audit", audit)
    declaration_report(model).raise_errors()
    require_stated_rates(model, float(moments[0]), float(moments[-1]))
    rolling = [f"joint '{name}'" for name in nonholonomic(model.joints.values())]
    rolling += [f"coupling '{name}'" for name in nonholonomic_couplings(model.couplings)]
    if rolling:
        raise InputError(
            f"kinematics: {', '.join(rolling)} constrains velocities, positions follow "
            "only by integration; use simulate"
        )
    compiled, first = consistent_state(model, t=float(moments[0]))
    ns, nc, nz = (int(n) for n in compiled.system.layout[2:])
    zero = np.zeros(ns)
    state = State(
        compiled, float(moments[0]), first.q, zero, zero, np.zeros(nc), np.zeros(nz), first.beta
    )
    path = _Path(state)
    path.require_fully_driven(state)
    found: list[State] = []
    for t in moments:
        try:
            state = path.reach(state, float(t))
        except SolverError as error:
            outcome = str(error)
            partial = (
                _with_forces(found, path.reach, audit=False, outcome=outcome) if found else None
            )
            raise SolverError(outcome, partial) from None
        found.append(state)
    solution = _with_forces(found, path.reach, audit=audit)
    if audit:
        report_findings(solution)
    return solution


def _with_forces(
    found: list[State], reach: Reach, *, audit: bool, outcome: str = "finished"
) -> Solution:
    """Motion with its force states and the multipliers, torques and works of the drives."""
    options = {"analysis": "kinematics"}
    motion = solution_of(found, options=options, outcome=outcome)
    try:
        require_no_samplers(motion.compiled.model, "kinematics")
        found, checks = with_force_states(found, reach, audit=audit)
        motion = solution_of(found, options=options, outcome=outcome)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuditWarning)  # its checks are those of the result
            solved = inverse_dynamics(motion, audit=audit).solution
    except (InputError, SolverError) as error:
        text = f"those of joints and drives are not the forces of the motion: {error}"
        motion = motion.with_checks([Check("Forces", WARN, text)])
        return with_state_checks(motion, audit=audit, balanced=False, deformed=False)
    checks = [*solved.run.checks, *checks]
    return replace(motion, trajectory=solved.trajectory).with_checks(checks)


class _Path:
    """Solver of the joint coordinates of a fully constrained mechanism."""

    def __init__(self, state: State) -> None:
        """Columns and sizes of the joint coordinates; modal coordinates stay fixed."""
        tree = state.compiled.system.tree
        held = [np.arange(tree.sf_at[i], tree.sf_at[i] + tree.nf[i]) for i in range(len(tree.nf))]
        self.columns = np.setdiff1d(np.arange(len(state.s)), np.concatenate(held))
        self.sizes = displacement_sizes(state.compiled)

    def require_fully_driven(self, state: State) -> None:
        """Raises `InputError` naming the free coordinates."""
        G = self._unit_rows(*_terms_at(state)[::2])[0]
        _, size, vt = np.linalg.svd(G)
        rank = int((size > SINGULAR * size.max(initial=1e-300)).sum())
        free = len(self.columns) - rank
        if free > 0:
            names = velocity_names(state.compiled)
            moving = np.abs(vt[rank:]).max(axis=0)
            loose = [names[c] for c, x in zip(self.columns, moving) if x > 1e-6 * moving.max()]
            count = "1 degree of freedom is" if free == 1 else f"{free} degrees of freedom are"
            raise InputError(
                f"kinematics: {count} not driven, in {', '.join(loose)}; drive "
                f"{'it' if free == 1 else 'them'}"
            )

    def _unit_rows(self, known: Terms, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of G in coordinates of equal size, scaled to unit length; their lengths.

        Rows that are short relative to their ``sizes`` have these: they may be round-off, or vanish
        here only.
        """
        G = (known.G * self.sizes)[:, self.columns]
        length = np.linalg.norm(G, axis=1)
        length = np.where(length > SHORTEST * sizes, length, sizes)
        return G / length[:, None], length

    def reach(self, state: State, t: float) -> State:
        """State at time t continued from a given state, with intermediate times.

        Raises `SolverError` at a singular position.
        """
        halvings = 0
        here = state
        while here.t < t or here is state:
            h = (t - here.t) * 0.5**halvings
            ahead = here.s * h + 0.5 * here.sd * h * h
            span = float(np.abs(ahead / self.sizes).max(initial=0.0))
            found = (
                self._closed(moved(replace(here, t=here.t + h if halvings else t), ahead))
                if span <= REACH
                else None
            )
            if found is None:
                halvings += 1
                if halvings > MOST_HALVINGS + 20 * (span > REACH) or h == 0.0:
                    raise SolverError(_singular(here))
                continue
            here = found
            halvings = max(0, halvings - 1)
        return here

    def _closed(self, state: State) -> State | None:
        """State projected on the constraints, with consistent velocities and accelerations.

        None if Newton's method fails.
        """
        zero = np.zeros(len(state.s))
        state = replace(state, s=zero, sd=zero)
        for _ in range(NEWTON_STEPS):
            known, beta, sizes = _terms_at(state)
            G, length = self._unit_rows(known, sizes)
            if not np.isfinite(known.g).all() or np.abs(known.g / length).max(initial=0.0) > FAR:
                return None
            state = replace(state, beta=beta)
            delta = zero.copy()
            size = np.linalg.svd(G, compute_uv=False)
            if len(size) and size[len(self.columns) - 1] < SINGULAR * size[0]:
                raise SolverError(_singular(state))
            if (np.abs(known.g) <= np.maximum(CLOSED * length, ROUND_OFF * sizes)).all():
                return self._rates(state, known, G, length)
            delta[self.columns] = -np.linalg.lstsq(G, known.g / length, rcond=1e-10)[0]
            state = moved(state, delta * self.sizes)
        return None

    def _rates(self, state: State, known: Terms, G: np.ndarray, length: np.ndarray) -> State:
        """State with velocities and accelerations from the scaled constraint rows."""
        s, sd = np.zeros(len(state.s)), np.zeros(len(state.s))
        s[self.columns] = -np.linalg.lstsq(G, known.gd / length, rcond=1e-10)[0]
        left = float(np.abs(G @ s[self.columns] + known.gd / length).max(initial=0.0))
        if left > CONTRADICTION * (1.0 + float(np.abs(s).max(initial=0.0))):
            text = (
                f"kinematics: the drives contradict the joints at t = {state.t:g} s, residual "
                f"{left:.3g}"
            )
            raise SolverError(f"{text} (rad/s, or 1/s of the model's size)")
        state = replace(state, s=s * self.sizes)
        sd[self.columns] = np.linalg.lstsq(G, _terms_at(state)[0].gamma / length, rcond=1e-10)[0]
        return replace(state, sd=sd * self.sizes)


def _terms_at(state: State) -> tuple[Terms, np.ndarray, np.ndarray]:
    """Terms, cut joint coordinates and row sizes at a state."""
    work = state.work()
    found = terms(state.compiled.system, work, state.t, state.q, state.s, state.z)
    state.compiled.callbacks.raise_error()
    return found, work.beta[:-SPARE].copy(), relative_sizes(state.compiled, work, found.G)


def _singular(state: State) -> str:
    """Message that rows of constraints are nearly dependent in a singular position."""
    found = pivots(state.compiled, state.q, state.s, state.beta)
    rows = list(dict.fromkeys(found.owner[max(0, found.rank(1e-2) - 1) :]))[:3]
    return (
        f"kinematics: singular position at t = {state.t:.6g} s, near which rows of "
        f"{', '.join(rows)} are dependent "
        "(dead centre or end of reach); end the motion before it or drive another joint"
    )
