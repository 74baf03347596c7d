"""`statics`: equilibrium of a model under its loads; `quasi_static`: a sequence of equilibria.

The latter follow drives and loads of time.
"""

import numbers
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.audit import report_findings
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.dynamics.dense import terms
from flexmbs.errors import InputError, ModelWarning, SolverError, warn_caller
from flexmbs.initial.analysis_arguments import (
    instant,
    require_no_contacts,
    require_no_functions_of_reactions,
    require_no_samplers,
)
from flexmbs.initial.assembly import Assemble
from flexmbs.initial.dependent_motions import require_independent_motions
from flexmbs.initial.initial_state import consistent_state
from flexmbs.initial.row_sizes import relative_sizes
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.check import declaration_report
from flexmbs.model.forces import LuGreFriction
from flexmbs.results.joint_friction import bristle_frictions
from flexmbs.results.state import HasState, State, given_state, started
from flexmbs.studies.equilibrium.equilibrium import Equilibrium
from flexmbs.studies.equilibrium.equilibrium_path import growth, path_checks
from flexmbs.studies.linear.velocity_rows import later
from flexmbs.studies.states.balance import Balance, balance, balancing, moved
from flexmbs.studies.states.state_sequence import checked_times, solution_of, with_state_checks
from flexmbs.studies.states.tangent import dense, evaluate
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.names import velocity_names
from flexmbs.system.step_scales import displacement_sizes

MOST_LOAD_STEPS = 1_000_000
NEWTON_STEPS = 12
# last Newton step, rad or relative to the size of the model; the remaining error is of its square
CONVERGED = 1e-9
QUICK = 5  # Newton steps up to which the load increment grows
BALANCED = 1e-6  # of the forces
AT_REST = 1e-6  # acceleration, rad/s² or relative to the size of the model
HOLD = "support it by a joint, a drive or a spring"
NUDGE = 1e-3  # perturbation of an unstable equilibrium
# rad or relative to the size of the model: a longer Newton step requires smaller load increments
LONGEST = 0.5
# rad or relative to the size of the model: Newton steps that may be longer than those before them,
# as stiffnesses of second order follow from the displacements of the first steps
NEAR = 0.1
SMALLEST_INCREMENT = 1e-3  # share of the load: ten halvings of the whole load
QUARTER = 0.25  # smallest increment where the model may relax, or the times be halved, instead
RELAXATIONS = 400
FARTHEST = 50.0  # rad or relative to the size of the model: a relaxation of eight turns diverges
SLIDING = 20  # of a model with bristle friction
MOST_HALVINGS = 6  # of the time between two equilibria
REACH = 0.2  # first length of a relaxation's step
TRUSTED = 200  # steps of the trust region
# of the predicted decrease of the residual: accepted, region smaller, larger
ENOUGH, LITTLE, MUCH = 1e-4, 0.25, 0.75
# rad or of the size of the model: how far a steady motion has gone when it is seen again
LATER = 0.3
STAYS = 1e-7  # rad or of the size of the model: displacements that are negligible
# rad or relative to the size of the model: the residual has a minimum that is no zero
SHORTEST = 1e-10


@checked_arguments
def statics(
    model: Model,
    *,
    t: float = 0.0,
    start: HasState | None = None,
    steady: bool = False,
    load_steps: int = 1,
    allow_indifferent: bool = False,
    audit: bool = True,
) -> Equilibrium:
    """Equilibrium k(q, 0, z) + Gᵀλ = 0, g(q, t) = 0, ż = 0 of a model.

    From its declared position or from ``start``.

    load_steps: number of increments of the load. Unbalanced loads of the start are applied in
    ``load_steps`` increments, or in smaller ones if Newton's method requires it. If these lead to
    no minimum of its energy, a model at rest under conservative loads relaxes into one
    (Newton's method with bounded descent steps, Nocedal and Wright 2006, §4.3). In
    steady motion, and with non-conservative loads, an equilibrium is no minimum: that of the
    increments is kept unless it diverges. What has neither is found as a zero of the residual by
    Newton's method with a trust region (Levenberg–Marquardt), stable or not. steady: equilibrium of
    the motion with drives at constant rates, with inertia forces, instead of rest.
    allow_indifferent: unsupported coordinates keep their positions; without it they are an error.
    audit: judge the result, with an `AuditWarning` for each finding; False leaves it not judged.
    Raises `InputError` for a model that does not assemble, `SolverError` if there is no
    equilibrium.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum in the wind", gravity=(0, 0, -10.0))
    >>> bob = model.add(
    ...     fm.RigidBody("bob", mass=0.5, inertia=(0.01, 0.01, 0.01), frames={"pin": (0, 0, 1.0)})
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, bob["pin"], axis="-y"))
    >>> wind = model.add(fm.FrameForce("wind", bob, force=(5.0, 0, 0)))
    >>> rest = fm.statics(model)
    >>> rest.stable, rest.state.q.round(6).tolist()  # tan φ = F/(m g) = 1
    (True, [0.785398])
    """
    if not isinstance(load_steps, numbers.Integral) or not 1 <= load_steps <= MOST_LOAD_STEPS:
        raise InputError(
            f"load_steps: must be a whole number from 1 to {MOST_LOAD_STEPS}, not "
            f"{shown(load_steps)}"
        )
    for key, value in (
        ("steady", steady),
        ("allow_indifferent", allow_indifferent),
        ("audit", audit),
    ):
        require_switch(key, value)
    search = _Search(_first(model, t, start), steady=steady, allow_indifferent=allow_indifferent)
    found = replace(search.run(load_steps), judge=audit)
    if audit:
        found = replace(found, checks=search.steadiness(found))
        report_findings(found)
    return found


def _first(model: Model, t: float, start: HasState | None) -> State:
    """Initial guess of the equilibrium: declared position, or that of ``start``, at rest."""
    t = instant(t)
    declaration_report(model).raise_errors()
    require_no_contacts(model, "statics")
    require_no_samplers(model, "statics")
    require_no_functions_of_reactions(model, "statics")
    compiled, first = consistent_state(model, t=t, how=Assemble(elastic=True))
    z = np.zeros(int(compiled.system.layout[4]))
    if start is not None:
        first = started(compiled, given_state("start", start), t)
        z = first.z
    zero = np.zeros(len(first.s))
    return State(
        compiled, float(t), first.q, zero, zero, np.zeros(compiled.n_constraints), z, first.beta
    )


class _Search:
    """One search for an equilibrium."""

    def __init__(self, state: State, *, steady: bool, allow_indifferent: bool) -> None:
        """Search for an equilibrium from a state with balancing multipliers."""
        self.steady, self.allow_indifferent = steady, allow_indifferent
        self.load_steps = self.iterations = 0
        self.bristles = bristle_frictions(state.compiled.model)
        # loads beyond the limits of bristles move a model as far as the search goes
        self.most = SLIDING if self.bristles else RELAXATIONS
        state = self._motion(state)
        work = state.work()
        G = terms(state.compiled.system, work, state.t, state.q, state.s, state.z).G
        rows = relative_sizes(state.compiled, work, G)
        change = balancing(G.T, evaluate(state).r, displacement_sizes(state.compiled), rows)
        self.start = replace(state, lam=state.lam + change)

    def run(self, load_steps: int, *, follow: bool = False) -> Equilibrium:
        """Find the equilibrium, by load increments first. Raises `SolverError`.

        By relaxation if the start is not stable, or as a zero of the residual, unless increments
        only ``follow`` the loads.
        """
        try:
            found = self._found(load_steps, follow=follow)
        except SolverError as error:
            if not self.bristles:
                raise
            raise SolverError(f"{error}; {_limits(self.bristles)}") from None
        _warn_of_corners(found)
        return found

    def _found(self, load_steps: int, *, follow: bool) -> Equilibrium:
        """Equilibrium found by load steps. Raises `SolverError`."""
        here = balance(self.start)
        positive = bool((here.free()[0] > here.held).all())
        at_rest = here.span(here.step(0.0 * here.r)[0]) < CONVERGED and here.fall() < AT_REST
        relaxes = here.conservative and not self.steady and not positive and not at_rest
        smallest = QUARTER if relaxes or follow else SMALLEST_INCREMENT
        near = self._loaded(here.r.copy(), load_steps, smallest)
        # the unbalanced load alone makes the stiffness of the start indefinite where, as in roll of
        # a beam, the supports hardly give any
        if near is not None and (positive or at_rest or self._minimum(near)):
            return self._result(near)
        found = self._accepted(near)
        if found is not None and not found.diverges:
            return found
        if follow:
            raise SolverError("statics: the loads do not lead to an equilibrium")
        try:
            return self._result(self._relaxed())
        except SolverError:
            found = found or self._accepted(self._zero())
            if found is None:
                raise
            return found

    def _minimum(self, state: State) -> bool:
        """True if the energy has a minimum at an equilibrium, up to unsupported directions."""
        here = balance(state)
        lowest = float(here.free()[0].min(initial=np.inf))
        return here.conservative and not self.steady and lowest >= -here.held

    def _accepted(self, state: State | None) -> Equilibrium | None:
        """Equilibrium at a state; None if the state is not balanced."""
        try:
            return None if state is None else self._result(state)
        except SolverError:
            return None

    def _loaded(self, residual: np.ndarray, load_steps: int, smallest: float) -> State | None:
        """Equilibrium by load increments; None if the smallest one does not converge."""
        state, done, increment = self.start, 0.0, 1.0 / load_steps
        while done < 1.0:
            factor = min(1.0, done + increment)
            found, count = self._newton(state, (1.0 - factor) * residual, state)
            if found is None:
                increment *= 0.5
                if increment < smallest:
                    return None
                continue
            state, done = found, factor
            self.load_steps += 1
            if count <= QUICK:
                increment *= 2.0
        return state

    def _newton(self, state: State, load: np.ndarray, origin: State) -> tuple[State | None, int]:
        """(state with residual R = load or None, number of Newton steps).

        origin: state from which a slow motion leads to it.
        """
        before = np.inf
        for count in range(1, NEWTON_STEPS + 1):
            here = balance(state, origin)
            self.iterations += 1
            delta, change = here.step(load)
            size = here.span(delta)
            if not size < LONGEST or size > max(10.0 * before, NEAR):
                return None, count
            state, before = self._motion(moved(here.state, delta, change)), size
            if size < CONVERGED:
                return state, count
        return None, NEWTON_STEPS

    def _relaxed(self) -> State:
        """Find a stable equilibrium by bounded descent steps, then Newton's method."""
        state, reach, nothing = self.start, REACH, np.zeros(len(self.start.s))
        last: np.ndarray | None = None
        path = 0.0
        for _ in range(self.most):
            here = balance(state, self.start)
            self.iterations += 1
            value, direction = here.free()
            lowest = float(value.min(initial=np.inf))
            shift = 0.0 if lowest >= -here.held else 2.0 * here.held - 1.01 * lowest
            delta, change = here.step(nothing, shift)
            if shift == 0.0 and here.span(delta) < NEAR and here.fall() < AT_REST:
                found, _ = self._newton(state, nothing, self.start)
                if found is not None:
                    self.load_steps += 1
                    return found
            if here.span(delta) > reach:
                delta, change = _shortened(here, shift, reach)
            elif shift > 0.0 and here.span(delta) < NUDGE:  # on a ridge
                delta = delta + direction[:, 0] * (NUDGE / here.span(direction[:, 0]))
            y = here.N.T @ (delta / here.sizes**2)
            if last is not None and len(last) == len(y):
                reach = 0.5 * reach if float(last @ y) < 0.0 else min(1.3 * reach, LONGEST)
            state, last = self._motion(moved(here.state, delta, change)), y
            path += here.span(delta)
            if path > FARTHEST:
                break
        raise SolverError(
            f"statics: no equilibrium found, '{_name(here, delta)}' diverges; {HOLD}, or "
            "remove its load"
        )

    def _zero(self) -> State | None:
        """State with zero residual by a trust-region method; None if there is none.

        The stiffness may be indefinite.

        The merit is |W R|, the residual as displacements (`Balance.weights`), with W of the state
        from which a step begins.
        """
        here, reach, nothing = balance(self.start), REACH, np.zeros(len(self.start.s))
        for _ in range(min(TRUSTED, self.most)):
            delta, change = here.trusted(reach)
            length = here.span(delta)
            if length < NUDGE:
                found, _ = self._newton(here.state, nothing, self.start)
                if found is not None:
                    self.load_steps += 1
                    return found
            there = balance(self._motion(moved(here.state, delta, change)), self.start)
            W = here.weights()
            self.iterations += 1
            before, after = float(np.linalg.norm(W @ here.r)), float(np.linalg.norm(W @ there.r))
            predicted = before - float(np.linalg.norm(W @ (here.r + here.K @ delta)))
            gain = (before - after) / max(predicted, np.finfo(float).tiny)
            if not gain >= LITTLE:
                reach = LITTLE * length
            elif gain > MUCH:
                reach = min(max(reach, 2.0 * length), LONGEST)
            if reach < SHORTEST:
                return None
            if gain > ENOUGH:
                here = there
        return None

    def _motion(self, state: State) -> State:
        """State with the velocities of the drives if a steady motion is requested.

        The motion consists of velocities and accelerations.
        """
        if not self.steady:
            return state
        known = dense(state)
        s = -np.linalg.lstsq(known.G, known.gd - known.G @ state.s, rcond=None)[0]
        state = replace(state, s=s)
        return replace(state, sd=np.linalg.lstsq(known.G, dense(state).gamma, rcond=None)[0])

    def steadiness(self, found: Equilibrium) -> tuple[Check, ...]:
        """Check that a steady motion is still in equilibrium a little later.

        It is not where loads at rest, such as weight, act on a turning part, or where a drive
        speeds up.
        """
        speed = float(
            np.abs(found.state.s / displacement_sizes(found.state.compiled)).max(initial=0.0)
        )
        if not self.steady or speed == 0.0:
            return ()
        title = "Steady motion"
        try:
            there = balance(self._motion(_resting(later(found.state, LATER / speed))))
        except (InputError, SolverError) as error:
            return (Check(title, WARN, f"there is none a little later: {error}"),)
        moved_by = there.span(there.step(0.0 * there.r)[0])
        text = f"{LATER:g} rad or of the size of the model later it is off by {moved_by:.1e} of it"
        if moved_by <= STAYS:
            return (Check(title, PASS, text),)
        remedy = (
            "simulate the model: weight, or other loads at rest, act on a turning part, or a "
            "drive is not at a constant rate"
        )
        return (Check(title, WARN, text, remedy),)

    def _result(self, state: State) -> Equilibrium:
        """Equilibrium from a balanced state. Raises `SolverError` for unsupported directions."""
        here = balance(state)
        loose = (here.N @ here.loose()[1]).T
        names = tuple(dict.fromkeys(_name(here, direction) for direction in loose))
        listed = ", ".join(f"'{name}'" for name in names)
        if here.fall() >= AT_REST:
            raise SolverError(f"statics: unsupported under load: {listed}; {HOLD}")
        if names and not self.allow_indifferent:
            raise SolverError(f"statics: unsupported: {listed}; {HOLD}, or set allow_indifferent")
        moves = here.span(np.linalg.lstsq(dense(here.state).M, here.r, rcond=None)[0]) >= AT_REST
        if moves and not names and not here.unbalanced() < BALANCED:
            left = f"{np.abs(here.r).max():.2g} N or N m"
            raise SolverError(
                f"statics: no equilibrium found, {left} are left; controllers at their "
                "limits cannot hold the load"
            )
        require_independent_motions(here.state.compiled, here.state.q, here.state.beta)
        residual = float(np.abs(here.r).max(initial=0.0))
        counts = self.load_steps, self.iterations
        return Equilibrium(
            here.state,
            residual,
            *counts,
            names,
            len(loose),
            float(np.sqrt(here.held)),
            here.tangents,
        )


def _resting(state: State) -> State:
    """The state with multipliers that balance it, without accelerations."""
    zero = np.zeros(len(state.s))
    state = replace(state, s=zero, sd=zero)
    return replace(state, lam=np.zeros_like(state.lam))


def _warn_of_corners(found: Equilibrium) -> None:
    """Issue a `ModelWarning` if forces have no slope along the coordinates.

    The frequencies then belong to neither side.
    """
    texts = [str(corner) for corner in found.slopes.corners if not corner.moving]
    names = velocity_names(found.state.compiled)
    texts += [
        f"the equations have no slope along '{names[k]}' at this state"
        for k in np.flatnonzero(found.slopes.rough)
    ]
    for text in texts:
        warn_caller(f"statics: {text}; the frequencies are those of a mean slope", ModelWarning)


def _limits(bristles: Sequence[LuGreFriction]) -> str:
    """Text with the largest friction of bristles."""
    parts = [
        f"the bristles of 'forces.{each.name}' carry at most {each.limit:g}" for each in bristles
    ]
    return f"{', '.join(parts)} N or N m; simulate the model if its loads exceed that"


def _name(here: Balance, direction: np.ndarray) -> str:
    """The velocity coordinate with the largest component in a direction."""
    return velocity_names(here.state.compiled)[int(np.argmax(np.abs(direction / here.sizes)))]


def _shortened(here: Balance, shift: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Step with a Levenberg shift that limits it to the length ``reach``."""
    nothing = np.zeros(len(here.r))
    low, high = shift, max(2.0 * shift, 1.0)
    while here.span(here.step(nothing, high)[0]) > reach and high < 1e30:
        low, high = high, 4.0 * high
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if here.span(here.step(nothing, middle)[0]) > reach else (low, middle)
        )
    return here.step(nothing, high)


@checked_arguments
def quasi_static(
    model: Model,
    times: Sequence[float] | np.ndarray,
    *,
    start: HasState | None = None,
    allow_indifferent: bool = False,
    audit: bool = True,
) -> Solution:
    """Equilibria at the given times (s) along drives and loads of time.

    Each search starts from the previous equilibrium.

    times (nt,): increasing, s.  allow_indifferent: unsupported coordinates keep their positions.
    audit: judge the result; it warns of the first output at which the equilibrium is unstable, as
    `Equilibrium.stable` is, and of jumps between branches. The solution has the multipliers of
    rest, s = ṡ = 0; works are sums of mean forces of two equilibria times the displacements between
    them. Bristles of friction slide at their limits; smooth friction does not act. Raises
    `InputError`, and `SolverError` with the solution up to the time of failure. Source:
    docs/theory.md, section 51.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("balance", gravity=(0, 0, 0))
    >>> beam = model.add(fm.RigidBody("beam", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    >>> knife = model.add(fm.Revolute("knife", model.ground, beam, axis="y"))
    >>> spring = model.add(fm.JointSpring("spring", knife, k=20.0))
    >>> load = model.add(fm.JointTorque("load", knife, fm.Ramp(0.0, rate=4.0)))
    >>> fm.quasi_static(model, [0.0, 1.0, 2.0]).q[:, 0].round(6).tolist()  # τ(t)/k
    [0.0, 0.2, 0.4]
    """
    moments = checked_times(times)
    require_switch("audit", audit)
    state = _first(model, float(moments[0]), start)
    found: list[State] = []
    growths: list[float] = []
    options = {"analysis": "quasi-static"}
    for t in moments:
        try:
            here = _followed(state, float(t), allow_indifferent=allow_indifferent)
        except SolverError as error:
            reached = (
                solution_of(found, options=options, outcome=str(error), at_rest=True)
                if found
                else None
            )
            raise SolverError(f"quasi_static: at t = {t:g} s: {error}", reached) from None
        state = here.state
        found.append(state)
        growths.append(growth(here) if audit else 0.0)
    path = solution_of(found, options=options, at_rest=True)
    follow = partial(_followed, allow_indifferent=allow_indifferent)
    more = path_checks(found, growths, lambda each, t: follow(each, t).state) if audit else []
    path = with_state_checks(path, audit=audit, balanced=True, more=more)
    if audit:
        report_findings(path)
    return path


def _followed(
    state: State, t: float, *, allow_indifferent: bool, halvings: int = MOST_HALVINGS
) -> Equilibrium:
    """Equilibrium at time t continued from a state, with intermediate times if necessary.

    Only the first search and the last one, after the shortest time, also relax or look for a zero.
    """
    search = _Search(replace(state, t=t), steady=False, allow_indifferent=allow_indifferent)
    try:
        return search.run(1, follow=0 < halvings < MOST_HALVINGS)
    except SolverError:
        if halvings == 0 or t == state.t:
            raise
        middle = _followed(
            state, 0.5 * (state.t + t), allow_indifferent=allow_indifferent, halvings=halvings - 1
        ).state
        return _followed(middle, t, allow_indifferent=allow_indifferent, halvings=halvings - 1)
