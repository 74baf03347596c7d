"""`linearize`: small motions M ÿ + D ẏ + K y = 0 about any state, at rest or moving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.audit import report_findings
from flexmbs.audit.modal_band import ShownModes, modal_band
from flexmbs.checked_arguments import checked_arguments
from flexmbs.dynamics.dense import Terms
from flexmbs.errors import InputError, SolverError, raise_problems
from flexmbs.exports.linear_code import write_linear
from flexmbs.initial.analysis_arguments import (
    require_no_contacts,
    require_no_functions_of_reactions,
    require_no_samplers,
)
from flexmbs.initial.assembly import displaced, holonomic_rows
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.declared_values import model_values
from flexmbs.model.forces import loaded_by_reactions
from flexmbs.page.notebook import card
from flexmbs.report.cards import checks_as_tables
from flexmbs.results.state import HasState, State, settled_state, state_about
from flexmbs.results.summary import REDUNDANCY
from flexmbs.signals.frequency_response import FrequencyResponse
from flexmbs.signals.random_vibration import RandomResponse
from flexmbs.signals.spectra import Psd
from flexmbs.studies.linear.harmonic import (
    frequency_response,
    linear_system,
    random_vibration,
    state_space,
)
from flexmbs.studies.linear.modes import Modes, complex_modes
from flexmbs.studies.linear.steady_axes import SteadyAxes, speed_of
from flexmbs.studies.linear.velocity_rows import first_order, later
from flexmbs.studies.states.balance import equation_sizes, free_directions
from flexmbs.studies.states.jacobians import partition
from flexmbs.studies.states.linear_ports import Port, displacement_rates, read_inputs, read_outputs
from flexmbs.studies.states.state_sequence import solution_of, with_state_checks
from flexmbs.studies.states.tangent import Tangents, dense, tangents
from flexmbs.system.check import PASS, WARN, Check, graded, verdict
from flexmbs.system.names import velocity_names
from flexmbs.system.step_scales import displacement_sizes

# rad or of the model's size, of the fastest velocity and of the slowest, to states that are
# compared
FURTHER = 0.3
SLOWER = 0.5  # of the fastest velocity: slower ones are compared after a longer time
# of the size of the model: displacements by loads that turn against a steady motion; the stiffness
# depends on displacements relative to the shape, so that frequencies change as much at most, and
# modes are others beyond the second
KEPT = 1e-5, 0.05
# the same of models at rest beside their equilibrium, whose loads do not turn: frequencies change
# by about 1 %
SAG = 0.01, 0.05
OF_THIS_INSTANT = "modes of this instant alone, which say nothing about stability"
PAUSE = 0.37  # s, to the time at which the matrices at rest are compared
CHANGED = 1e-5  # of the entries of A: it is not constant along the motion
NEGLIGIBLE = 1e-3  # of the fastest velocity: slower motions change nothing in a turn
ROUND_OFF = 1e-9  # of the size of the model
AT_REST = 1e-6  # rad/s² or of the model's size per s²: no acceleration, and a stiffness of none


class Full(NamedTuple):
    """Linearized equations over all velocity coordinates.

    M δ̈ + D δ̇ + K δ = Gᵀ μ, G δ = 0, G δ̇ + Gd δ = 0, G δ̈ + Gv δ̇ + Gdd δ = 0.
    """

    M: np.ndarray
    D: np.ndarray
    K: np.ndarray
    G: np.ndarray
    Gd: np.ndarray
    Gv: np.ndarray
    Gdd: np.ndarray


@dataclass(frozen=True, eq=False)
class Linearization:
    """M σ̇ + D σ + K y = B₂ u in independent coordinates y, and its state-space form.

    ẋ = A x + B u, outputs = C x + feedthrough u, x = (y, σ, z).

    σ = ẏ, f = n, where all constraints are holonomic; with nonholonomic rows there are fewer
    velocities σ, and ẏ = A x. M, D (f, f), K (f, n).  coordinates, velocities: names of y and σ.
    steady: the velocities and the matrices are constant along the motion.  leaving: displacement,
    relative to the size of the model, by loads that are not in balance at the state or along the
    motion, as unbalance; infinite where the matrices change.  alike: the matrices are the same at
    states displaced so far, as those of a linear model.  basis (ns, n): δ = basis y.  inputs,
    outputs: names, with their units; a drive has three inputs, its change of coordinate, of rate
    and of acceleration: the last 3 · drives. full: the matrices before the constraints are
    eliminated, G δ = 0 for holonomic rows. Source: docs/theory.md, section 52.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("oscillator", gravity=(0, 0, 0))
    >>> mass = model.add(fm.RigidBody("mass", mass=2.0, inertia=(1.0, 1.0, 1.0)))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, mass, axis="x"))
    >>> spring = model.add(fm.JointSpring("spring", rail, k=50.0, c=4.0))
    >>> linear = fm.linearize(model, inputs=[("effort", "rail")], outputs=[("coordinate", "rail")])
    >>> linear.A.round(6).tolist(), linear.B.round(6).tolist()  # −k/m, −c/m, 1/m
    ([[0.0, 1.0], [-25.0, -2.0]], [[0.0], [0.5]])
    >>> (
    ...     isinstance(linear, fm.Linearization),
    ...     round(abs(linear.response([0.0]).values[0, 0, 0]).item(), 6),
    ... )  # 1/k
    (True, 0.02)
    """

    state: State
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    steady: bool
    M: np.ndarray
    D: np.ndarray
    K: np.ndarray
    basis: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    feedthrough: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]
    drives: int
    full: Full = field(repr=False)
    judge: bool = field(default=True, repr=False)
    asked: np.ndarray | None = field(default=None, repr=False)
    leaving: float = field(default=0.0, repr=False)
    alike: bool = field(default=False, repr=False)

    @cached_property
    def modes(self) -> Modes:
        """Complex modes: eigenvalues of A, frequencies, damping ratios, shapes."""
        return complex_modes(self.state, self.A, self.basis)

    @cached_property
    def solution(self) -> Solution:
        """Solution with this single state, for its views and audit."""
        found = solution_of([self.state], options={"analysis": "linearization", "t": self.state.t})
        more = [self._motion, *self._band] if self.judge else []
        return with_state_checks(found, audit=self.judge, balanced=True, shape=True, more=more)

    @property
    def invariant(self) -> bool:
        """True if the matrices are those of the whole motion, not of this instant alone."""
        limits = KEPT if self.state.s.any() else SAG
        return self.steady or self.alike or graded(self.leaving, limits) == PASS

    @property
    def _motion(self) -> Check:
        """Check that the state is at rest or in steady motion."""
        status = graded(self.leaving, KEPT if self.state.s.any() else SAG)
        if not self.invariant:
            remedy = (
                "linearize an equilibrium or a steady motion, start=fm.statics(model); simulate "
                "a motion with a period"
            )
            return Check("Motion", WARN, f"is not steady: {OF_THIS_INSTANT}", remedy)
        if self.leaving <= ROUND_OFF:
            return Check("Motion", status, "rests or moves steadily")
        if self.alike:
            text = f"has the same modes at states {self.leaving:.1e} of the model's size away"
            return Check("Motion", PASS, text)
        text = (
            f"rests or moves steadily except for {self.leaving:.1e} of the model's size, by "
            "unbalanced loads"
        )
        remedy = (
            "without unbalance, or weight on a turning part, the modes are exact; at rest "
            "linearize start=fm.statics(model)"
        )
        return Check("Motion", status, text, "" if status == PASS else remedy)

    @property
    def _band(self) -> list[Check]:
        """Checks of the frequencies up to which the modes of bodies are accurate.

        For all modes or those ``asked`` for.
        """
        modes, asked = self.modes, self.asked
        pick = np.arange(len(modes.frequency)) if asked is None else asked
        chosen = ShownModes(
            modes.frequency[pick], modes.shape[:, pick], self.full.M, asked is not None
        )
        return modal_band(self.state.compiled, chosen, tuple(self.state.compiled.declared.bodies))

    @property
    def audit(self) -> tuple[Check, ...]:
        """Checks of the state and of the frequency range of accurate modes.

        Reactions that are not unique change no small motion.
        """
        known = self.solution.audit
        return tuple(
            replace(check, status=PASS) if check.title == REDUNDANCY else check for check in known
        )

    @property
    def verdict(self) -> str:
        """The worst of the `audit`: "PASS", "WARN" or "FAIL"; "NOT JUDGED" without one."""
        return verdict(self.audit)

    def response(
        self,
        f: ArrayLike,
        inputs: Iterable[str | Port] | None = None,
        outputs: Iterable[str | Port] | None = None,
    ) -> FrequencyResponse:
        """Response of the outputs to harmonic inputs at the frequencies f (Hz).

        See `frequency_response`.
        """
        return frequency_response(self, f, inputs, outputs)

    def random_response(
        self, inputs: Mapping[Any, Psd], outputs: Iterable[str | Port] | None = None
    ) -> RandomResponse:
        """Power spectral densities and RMS values of the outputs for random inputs.

        See `random_vibration`.
        """
        return random_vibration(self, inputs, outputs)

    def to_control(self) -> Any:
        """The system ẋ = A x + B u, y = C x + feedthrough u for python-control.

        With its names, see `state_space`.
        """
        return state_space(self)

    def export(self, path: str | Path, *, version: int = 3) -> Path:
        """Write ẋ = A x + B u, y = C x + feedthrough u for other programs.

        The ending of the path determines the format.

        ``.c``: functions in C, also for steps with held inputs.  ``.mo``: a Modelica model.
        ``.m``: a function of MATLAB and Octave.  ``.ssc``: a Simscape component.  ``.fmu``: a
        co-simulation unit in plain C of FMI ``version`` 2 or 3, which needs no other program: steps
        are exact for held inputs, D is its directional derivative, its states can be set, kept and
        serialized; it has a binary for Linux on x86-64 if a C compiler is there, and its source for
        all others. The quantities are differences from the state of linearization; the file's stem
        is the name. Returns the path. Raises `InputError`, also for motions that are not steady,
        `MachineError`.
        """
        return write_linear(linear_system(self), path, version=version)

    def _repr_html_(self) -> str:
        """Card of the linearization in a notebook: verdict, modes, checks."""
        tables = [self.modes.table(), *checks_as_tables(self.audit)]
        return card(str(self).splitlines()[0], verdict=self.verdict, tables=tables)

    def __str__(self) -> str:
        passing = "" if self.steady or self.alike else f", not steady: {OF_THIS_INSTANT}"
        return (
            f"linearization in {', '.join(self.coordinates)} at t = {self.state.t:g} "
            f"s{passing}\n{self.modes}"
        )


@checked_arguments
def linearize(
    model: Model,
    *,
    start: HasState | None = None,
    inputs: Sequence[Port] = (),
    outputs: Sequence[Port] = (),
    independent: Sequence[str] = (),
    audit: bool = True,
) -> Linearization:
    """Small motions about the declared state of a model, or about the state or equilibrium ``start``.

    R(q, s, ṡ, λ) = 0 with g(q, t) = 0 is differentiated as a whole, λ included; with δs = δ̇ + A δ
    (rotations do not commute) and the constraints, their rates and accelerations, δ = N(t) y leaves
    the independent coordinates. About a moving state the matrices are those of that instant; about
    a steady motion, such as an arm on a drive at constant speed, they are constant. With
    nonholonomic rows x = (y, σ, z): y in the tangent of the holonomic rows, σ in the kernel of all;
    a steady motion may follow a circle; velocities of joints of single motions are then in
    co-moving axes. Ignorable coordinates give zero eigenvalues. inputs: ("effort", joint[,
    coordinate]), ("force" or "torque", frame, axis), ("drive", drive); world axes "x", "y", "z";
    the drives come after the others in the result. outputs: ("coordinate" or "rate", joint[,
    coordinate]), ("position", frame, axis). independent: names of the coordinates y (``crank.0``,
    ``rod.mode2``), by default chosen by pivoting. audit: judge the state and its modes, with an
    `AuditWarning` for each finding; False leaves them not judged. Raises `InputError`, also where a
    force has a corner or a jump at the state. Source: Négrut and Ortiz, J. Comput. Nonlinear Dynam.
    1 (2006) 230 (reduction on constraints).

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y"))
    >>> modes = fm.linearize(model).modes
    >>> round(modes.frequency[0].item(), 4)  # √(3 g/(2 l))/2π, in Hz
    0.6105
    """
    require_switch("audit", audit)
    here = state_about(model, start)
    require_no_contacts(model, "linearize")
    require_no_functions_of_reactions(model, "linearize")
    require_rest_of_loaded(here)
    require_no_samplers(model, "linearize")
    found = _about(here, inputs, outputs, independent)
    leaving, alike = 0.0 if found.steady else np.inf, False
    if holonomic_rows(here.compiled).all():
        try:
            states = _further(here)
            constant = _constant(found, states)
            if constant:
                leaving, moved = _leaving(found, [here, *states])
                alike = ROUND_OFF < leaving < np.inf and _same_matrix(found, [here, *states], moved)
            else:
                leaving = np.inf
        except (InputError, SolverError):  # a drive moves the model elsewhere
            constant = not here.s.any()
        found = replace(found, steady=found.steady and constant)
    found = replace(found, judge=audit, leaving=leaving, alike=alike)
    if audit:
        report_findings(found)
    return found


def _constant(found: Linearization, states: Sequence[State]) -> bool:
    """True if A is the same at later states of a motion with constant velocities.

    It is not with springs across a rotating shaft, for example, or, at rest, with a stiffness that
    a user function changes.
    """
    sizes = _sizes(found)
    A = _comparable(found, sizes)
    scale = np.abs(A).max(axis=1, initial=0.0) + speed_of(found.state)
    for there in states:
        try:
            further = _about(there, (), (), found.coordinates)
        except InputError:  # the coordinates are dependent there
            return False
        if not (np.abs(_comparable(further, sizes) - A) <= CHANGED * scale[:, None]).all():
            return False
    return True


def _sizes(found: Linearization) -> np.ndarray:
    """Scales (n,) of displacements of the coordinates y."""
    names = velocity_names(found.state.compiled)
    return displacement_sizes(found.state.compiled)[
        [names.index(name) for name in found.coordinates]
    ]


def _comparable(found: Linearization, sizes: np.ndarray) -> np.ndarray:
    """Matrix A scaled to coordinates of equal size, 1/s."""
    every = np.concatenate([sizes, sizes, np.ones(len(found.A) - 2 * len(sizes))])
    return found.A * every / every[:, None]


def _further(here: State) -> list[State]:
    """Later states at which the linearization of a steady motion must be the same.

    At rest a later time, if there are user functions. Raises `InputError` if the motion ends
    before.
    """
    speeds = np.abs(here.s / displacement_sizes(here.compiled))
    if speeds.any():
        fastest = speeds.max()
        slowest = speeds[speeds > NEGLIGIBLE * fastest].min()
        # what is not in balance yet does not accelerate
        steady = replace(here, sd=np.zeros_like(here.sd))
        return [
            later(steady, FURTHER / speed)
            for speed in [fastest, *([slowest] if slowest < SLOWER * fastest else [])]
        ]
    if not any(callable(value) for _, value in model_values(here.compiled.model)):
        return []
    there = settled_state(here.compiled, here.t + PAUSE, here.q, here.s, here.beta, here.z)
    # a load of time begins to act
    loaded = np.abs(there.s).any() or not SteadyAxes(there, ()).steady
    return [] if loaded else [there]


def _same_matrix(found: Linearization, states: Sequence[State], moved: np.ndarray) -> bool:
    """True if A is the same at states displaced by ±``moved`` (ns,).

    Their velocities are those reached meanwhile with the largest of the accelerations that cause
    this displacement.
    """
    here, q = found.state, (found.state.q.copy(), found.state.q.copy())
    sizes = displacement_sizes(here.compiled)
    sd = max((there.sd for there in states), key=lambda each: float(np.abs(each / sizes).max()))
    duration = np.sqrt(np.abs(moved / sizes).max() / np.abs(sd / sizes).max())
    for there, way in zip(q, (moved, -moved)):
        displaced(here.compiled.system, here.q, way, there)
    try:
        beside = [
            settled_state(here.compiled, here.t, there, here.s + duration * sd, here.beta, here.z)
            for there in q
        ]
    except (InputError, SolverError):
        return False
    return _constant(found, beside)


def _leaving(found: Linearization, states: Sequence[State]) -> tuple[float, np.ndarray]:
    """(relative size, displacement (ns,)) by unbalanced loads at the state or at later ones.

    The size is relative to that of the model. Such loads are, for example, the unbalance of a rotor
    on bearings at rest. For each direction the displacement is the acceleration over the larger of
    |κ| and Ω², with κ its stiffness over its mass and Ω the largest velocity. Infinite where drives
    at rest accelerate.
    """
    here, names = found.state, velocity_names(found.state.compiled)
    speed, sizes = speed_of(here), displacement_sizes(here.compiled)[:, None]
    chosen = [names.index(name) for name in found.coordinates]
    a = np.array([there.sd for there in states]).T
    if speed == 0.0 and np.abs((a - found.basis @ a[chosen]) / sizes).max(initial=0.0) > AT_REST:
        return np.inf, np.zeros(len(names))
    if not chosen:
        return 0.0, np.zeros(len(names))
    L = np.linalg.cholesky(found.M)
    left, kappa, right = np.linalg.svd(np.linalg.solve(L, np.linalg.solve(L, found.K).T).T)
    slowest = max(speed**2, AT_REST)
    moved = found.basis @ np.linalg.solve(
        L.T, right.T @ ((left.T @ L.T @ a[chosen]) / np.maximum(kappa, slowest)[:, None])
    )
    most = np.abs(moved / sizes).max(axis=0)
    return float(most.max()), np.ascontiguousarray(moved[:, int(most.argmax())])


def _about(
    here: State, inputs: Sequence[Port], outputs: Sequence[Port], independent: Sequence[str]
) -> Linearization:
    """Linearization about a state; steady if the velocities are constant."""
    slopes = tangents(here)
    require_slopes(here, slopes)
    return _with_slopes(here, slopes, inputs, outputs, independent)


def modes_about(here: State, slopes: Tangents) -> Modes:
    """Modes about a state from its tangents; mean tangents at corners."""
    return _with_slopes(here, slopes, (), (), ()).modes


def _with_slopes(
    here: State,
    slopes: Tangents,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    independent: Sequence[str],
) -> Linearization:
    """Linearization about a state with given tangents."""
    known = dense(here)
    full, A = _full(here, slopes, known)
    wanted, shown = read_inputs(here, inputs), read_outputs(here, outputs, slopes)
    ports = (
        wanted.all_names,
        tuple(shown.names),
        wanted.all_units,
        tuple(shown.units),
        len(wanted.drives),
    )
    if not holonomic_rows(here.compiled).all():
        found = first_order(here, known, slopes, wanted, shown, independent)
        return Linearization(here, *found, *ports, full)
    names = velocity_names(here.compiled)
    N, P = free_directions(known.M, known.G, equation_sizes(here))
    chosen = partition(N, names, independent, displacement_sizes(here.compiled))
    N = N @ np.linalg.inv(N[chosen])
    P = P - N @ P[chosen]
    driven = P[:, wanted.rows]
    n, m = N.shape[1], len(wanted.rows)
    # δ = b0 c, δ̇ = b1 c + b0 ċ, … for the columns c = (y, drives)
    b0 = np.hstack([N, driven])
    b1 = -P @ (full.Gd @ b0)
    b2 = -P @ (full.Gdd @ b0 + full.Gv @ b1)
    mass = N.T @ full.M @ b0
    damping = N.T @ (full.D @ b0 + 2.0 * full.M @ b1)
    stiffness = N.T @ (full.K @ b0 + full.D @ b1 + full.M @ b2)
    effort = N.T @ np.hstack([wanted.forces, -slopes.z.r.T])
    inverse = np.linalg.inv(mass[:, :n])
    free, nu, nz = np.zeros((n, n)), wanted.forces.shape[1], len(here.z)
    rate0 = slopes.q.force_rate.T + slopes.s.force_rate.T @ A
    rate1 = slopes.s.force_rate.T
    zq = rate0 @ b0 + rate1 @ b1
    zs = rate1 @ b0
    upper = np.hstack([free, np.eye(n), np.zeros((n, nz))])
    middle = inverse @ np.hstack([-stiffness[:, :n], -damping[:, :n], effort[:, nu:]])
    lower = np.hstack([zq[:, :n], zs[:, :n], slopes.z.force_rate.T])
    B = np.vstack([
        np.zeros((n, nu + 3 * m)),
        inverse @ np.hstack([effort[:, :nu], -stiffness[:, n:], -damping[:, n:], -mass[:, n:]]),
        np.hstack([np.zeros((nz, nu)), zq[:, n:], zs[:, n:], np.zeros((nz, m))]),
    ])  # fmt: skip
    out0 = shown.position + shown.rate @ A
    seen, moving = out0 @ b0 + shown.rate @ b1, shown.rate @ b0
    C = np.hstack([seen[:, :n], moving[:, :n], np.zeros((len(shown.names), nz))])
    through = np.hstack([np.zeros((len(C), nu)), seen[:, n:], moving[:, n:], np.zeros((len(C), m))])
    y = tuple(names[k] for k in chosen)
    return Linearization(
        here, y, y, SteadyAxes(here, ()).steady, mass[:, :n], damping[:, :n], stiffness[:, :n], N,
        np.vstack([upper, middle, lower]), B, C, through, *ports, full,
    )  # fmt: skip


def require_rest_of_loaded(here: State) -> None:
    """Raise `InputError` if friction that depends on reactions slides.

    Its change with λ is not part of the matrices.
    """
    if np.abs(here.s).max(initial=0.0) > 0.0:
        for name in loaded_by_reactions(here.compiled.model.forces.values()):
            raise InputError(
                f"linearize: friction '{name}' depends on reactions; linearize a state at "
                "rest, or remove it"
            )


def require_slopes(here: State, slopes: Tangents) -> None:
    """Raise `InputError` at corners and jumps, where there are no matrices."""
    problems = [
        f"linearize: {corner}; linearize another state, or smooth its law"
        for corner in slopes.corners
    ]
    names = velocity_names(here.compiled)
    problems += [
        f"linearize: the equations have no slope along '{names[k]}' at this state, as at "
        "a knot of a curve or a corner of a user "
        "function; linearize another state"
        for k in np.flatnonzero(slopes.rough)
    ]
    raise_problems(problems)


def _full(here: State, slopes: Tangents, known: Terms) -> tuple[Full, np.ndarray]:
    """Matrices of the equations in δ, δ̇, δ̈, and A of δs = δ̇ + A δ."""
    A, Ad = displacement_rates(here, here.s), displacement_rates(here, here.sd)
    M, G, D = known.M, known.G, slopes.s.r.T
    K = slopes.q.r.T + D @ A + M @ Ad
    Gd = slopes.q.gs.velocity.T + G @ A
    Gv = slopes.s.gs.acceleration.T
    return Full(M, D + M @ A, K, G, Gd, Gv + G @ A, slopes.q.gs.acceleration.T + Gv @ A + G @ Ad), A
