"""`compare`: one model under every formalism.

With agreement, energy error, drift and time side by side.
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmbs.api.model import Model
from flexmbs.api.solution import Solution
from flexmbs.checked_arguments import checked_arguments
from flexmbs.dynamics.work import make_work
from flexmbs.errors import AuditWarning, InputError, SolverError, shown
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.stabilization import Projection
from flexmbs.initial.initial_state import InitialState, consistent_state, in_coordinates, settle
from flexmbs.integrators import INTEGRATORS
from flexmbs.model.check import declaration_report
from flexmbs.model.run import NONE
from flexmbs.results.views import BodyView
from flexmbs.studies.run.options import (
    DEFAULTS,
    by_name,
    check_progress,
    has_option,
    listed,
    output_times,
    requested_options,
)
from flexmbs.studies.run.simulate import simulate
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.system.records import SPARE, copied
from flexmbs.system.step_scales import model_size
from flexmbs.system.topology import COORDINATES, topology
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.records import facts, make_outputs
from flexmbs.time_stepping.run import Progress
from flexmbs.time_stepping.second_process import compiling_ahead

INTEGRATORS_COMPARED = ("generalized-alpha", "dormand-prince")
STATES = 5  # at which accelerations and reactions are compared
PROBE = 0.01  # share of the time that shows how many steps an explicit method takes
# of an explicit method whose steps a stiff model limits to more than TOLERATED times as many
MOST_STEPS, TOLERATED = 2000, 5


@dataclass(frozen=True)
class ComparisonRow:
    """One run: its combination, its outcome, and its agreement with the first run.

    accelerations, reactions: largest differences at the same states, relative to the largest value
    or to gravity and the weight of all bodies (round-off expected); unique joint reactions only,
    NaN if there are none. positions: largest difference of places of bodies (origin, ends of the
    axes) over the run, relative to the largest distance moved. energy: largest error of the energy
    balance relative to the largest energy or work.  drift: max |g| and max |G s + γ̄|. t_end: end
    of the comparison, s, before that of the others if an explicit method would take too many steps.
    """

    formalism: str
    coordinates: str
    integrator: str
    accelerations: float
    reactions: float
    positions: float
    energy: float
    drift: tuple[float, float]
    steps: int
    evaluations: int
    seconds: float
    t_end: float
    outcome: str
    solution: Solution | None = dataclasses.field(repr=False, default=None)

    @property
    def finished(self) -> bool:
        """True if the run reached its end."""
        return self.outcome == "finished"

    def __str__(self) -> str:
        texts = (
            self.formalism,
            self.coordinates,
            self.integrator,
            f"{self.accelerations:.1e}",
            f"{self.reactions:.1e}",
            f"{self.positions:.1e}",
            f"{self.energy:.1e}",
            f"{self.drift[0]:.1e}",
            f"{self.drift[1]:.1e}",
            str(self.steps),
            str(self.evaluations),
            f"{self.seconds:.3g}",
        )
        return _line(texts) + ("" if self.finished else f"  {self.outcome}")


HEADINGS = (
    "formalism",
    "coordinates",
    "integrator",
    "accelerations",
    "reactions",
    "positions",
    "energy error",
    "|g|",
    "|Gs + γ̄|",
    "steps",
    "evaluations",
    "seconds",
)
NUMBER = 7  # characters of most numbers
_NAMES: tuple[Sequence[str], ...] = tuple(FORMALISMS), COORDINATES, tuple(INTEGRATORS)


def _line(texts: Sequence[str]) -> str:
    """One line of the comparison table.

    Its columns are as wide in every table, so that rows may be shown as they come.
    """
    widest = [max(map(len, names)) for names in _NAMES] + [NUMBER] * (len(HEADINGS) - len(_NAMES))
    return "  ".join(
        text.ljust(max(width, len(head))) for text, width, head in zip(texts, widest, HEADINGS)
    ).rstrip()


@dataclass(frozen=True)
class Comparison:
    """Runs of one model under formalisms × coordinates × integrators.

    The first row is the reference.
    """

    model: str
    rows: tuple[ComparisonRow, ...]

    @property
    def finished(self) -> bool:
        """True if every run reached its end."""
        return all(row.finished for row in self.rows)

    @property
    def agreement(self) -> float:
        """Largest difference of accelerations between formalisms at the same states.

        0 if no run has states.
        """
        return max(
            (row.accelerations for row in self.rows if np.isfinite(row.accelerations)), default=0.0
        )

    @property
    def verdict(self) -> str:
        """One line on the overall agreement of the runs."""
        stopped = [
            f"{row.formalism} ({row.coordinates}, {row.integrator}) {row.outcome}"
            for row in self.rows
            if not row.finished
        ]
        positions = max((row.positions for row in self.rows if row.finished), default=0.0)
        text = (
            f"{len(self.rows)} runs: accelerations agree to {self.agreement:.1e}, motions to "
            f"{positions:.1e}"
        )
        return "; ".join([text, *stopped])

    @property
    def notes(self) -> list[str]:
        """Notes beyond the rows: on the coordinates, and on runs that ended early."""
        notes = dict.fromkeys(
            note
            for row in self.rows
            if row.solution
            for note in row.solution.compiled.topology.notes()
        )
        longest = max(row.t_end for row in self.rows)
        short = {row.integrator: row.t_end for row in self.rows if row.t_end < longest}
        notes |= dict.fromkeys(
            f"{name} up to t = {end:.3g} s only: this model limits its steps; as the only "
            "integrator it runs to the end"
            for name, end in short.items()
        )
        return list(notes)

    def __str__(self) -> str:
        return "\n".join([_line(HEADINGS), *map(str, self.rows), *self.notes, self.verdict])


@checked_arguments
def compare(
    model: Model,
    *,
    t_end: float,
    step: float | None = None,
    output_step: float | None = None,
    formalisms: Sequence[str | Formalism] | None = None,
    integrators: Sequence[str] | None = None,
    rtol: float = 1e-7,
    atol: float = 1e-9,
    progress: Progress | None = None,
    tell: Callable[[str], object] | None = None,
) -> Comparison:
    """Run a model under all formalisms (or the given ones) in all their coordinates.

    With suitable integrators.

    formalisms: names or objects; all by default.  integrators: names; each with the formalisms that
    it fits. By default "dormand-prince" with all formalisms, and "generalized-alpha" with the first
    one: with others it solves the same residual, which takes time to compile and is not an
    independent result.  tell: called with the lines of the table as they come. Accelerations and
    reactions are compared at equal states of the first run, motions over the whole time. Explicit
    integrators use projection with formalisms subject to constraint drift; besides implicit ones
    they run as far as 2000 steps go, which the table says: a stiff model takes very many. A run
    that stops, or that its formalism or coordinates do not support, is a row with that outcome.
    Raises `InputError` if no combination is supported.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    >>> comparison = fm.compare(model, t_end=0.1, step=1e-3, formalisms=["multiplier", "recursive"])
    >>> print(comparison)
    formalism ...
    5 runs: accelerations agree to ...
    """
    t_end = requested_options(model, {"t_end": t_end, **dict.fromkeys(DEFAULTS)})["t_end"]
    output_times(t_end, step, output_step)
    names = listed("integrators", INTEGRATORS_COMPARED if integrators is None else integrators)
    for name in names:
        by_name("integrators", name, INTEGRATORS)
    check_progress(progress)
    if tell is not None and not callable(tell):
        raise InputError(f"tell: must be a function of a line of text, not {shown(tell)}")
    kinds = (
        COORDINATES
        if _explicit(model)
        else tuple(each for each in COORDINATES if each != "rheonomic")
    )
    chosen = list(
        _combinations(
            list(FORMALISMS) if formalisms is None else listed("formalisms", formalisms),
            names,
            kinds,
        )
    )
    if integrators is None:
        chosen = _independent(chosen)
    if not chosen:
        raise InputError(
            "integrators: none of them is compatible with these formalisms; see flexmbs "
            "list integrators"
        )
    tolerances: dict[str, Any] = {"step": step, "rtol": rtol, "atol": atol}
    pairs = [(form.name, integrator) for form, _, integrator in chosen if form.name in FORMALISMS]
    with compiling_ahead(pairs):
        rows = _rows(model, chosen, tolerances, (t_end, output_step), (progress, tell))
    if all(row.solution is None for row in rows):
        raise InputError(*dict.fromkeys(row.outcome for row in rows))
    return Comparison(model.name, tuple(rows))


def _rows(
    model: Model,
    chosen: Sequence[tuple[Formalism, str, str]],
    tolerances: dict[str, Any],
    times: tuple[float, float | None],
    telling: tuple[Progress | None, Callable[[str], object] | None],
) -> list[ComparisonRow]:
    """Rows of the comparison table, run by run.

    times: end and interval of outputs. telling: receiver of progress and lines.
    """
    progress, tell = telling
    rows: list[ComparisonRow] = []
    first: Solution | None = None
    states: _States | None = None
    t_end, output_step = times
    first_options: dict[str, Any] = {}
    # ends of explicit runs, and the first run up to there
    shortened: dict[str, tuple[float, Solution | None]] = {}
    for k, (form, coordinates, integrator) in enumerate(chosen):
        if progress:
            progress(k / len(chosen), f"{form.name}, {coordinates}, {integrator}")
        options: dict[str, Any] = {
            "formalism": form,
            "coordinates": coordinates,
            "integrator": integrator,
            "output_step": output_step,
        }
        own = {
            key: value
            for key, value in tolerances.items()
            if has_option(INTEGRATORS[integrator], key)
        }
        loading = own | {"step": 1e-9 * t_end} if "step" in own else own
        _solved(
            model, options | loading | {"t_end": 1e-9 * t_end, "output_step": None, "audit": NONE}
        )  # loads the kernels: times are comparable
        if rows and first is not None and integrator not in shortened:
            end = _reached(model, options | own, t_end)
            shortened[integrator] = (
                end,
                first
                if end == t_end
                else _solved(model, first_options | {"t_end": end, "audit": NONE})[1],
            )
        end, reference = shortened.get(integrator, (t_end, first))
        outcome, solution = _solved(model, options | own | {"t_end": end})
        if first is None and outcome == "finished":
            first, reference, first_options = solution, solution, options | own
            if INTEGRATORS[integrator].needs == "accelerations":
                shortened[integrator] = (t_end, first)
        if states is None and first is not None:
            states = _States(model, first)
        rows.append(_row(form, coordinates, integrator, end, outcome, solution, reference, states))
        if tell:
            tell(str(rows[-1]) if k else f"{_line(HEADINGS)}\n{rows[-1]}")
    return rows


def _reached(model: Model, options: dict[str, Any], t_end: float) -> float:
    """Time up to which the runs are compared: t_end, or what an explicit method can reach.

    Or the time that an explicit method with controlled steps reaches in about `MOST_STEPS` steps.
    """
    if (
        INTEGRATORS[options["integrator"]].needs != "accelerations"
        or options.get("step") is not None
    ):
        return t_end
    probe = {"t_end": PROBE * t_end, "output_step": None, "audit": NONE}
    _, part = _solved(model, options | probe)
    steps = 0.0 if part is None else part.statistics["steps"] / PROBE
    return t_end if steps <= TOLERATED * MOST_STEPS else t_end * MOST_STEPS / steps


def _combinations(
    formalisms: Sequence[str | Formalism], integrators: Sequence[str], kinds: Sequence[str]
) -> Iterator[tuple[Formalism, str, str]]:  # fmt: skip
    """All compatible combinations of formalism, coordinates and integrator.

    Explicit integrators with projection if the formalism has stabilizations.
    """
    for given in formalisms:
        plain = given if isinstance(given, Formalism) else by_name("formalism", given, FORMALISMS)()
        for coordinates in kinds:
            for name in integrators:
                needs = INTEGRATORS[name].needs
                timeless = coordinates == "rheonomic" and not INTEGRATORS[name].takes_time
                if coordinates in plain.coordinates and needs in plain.provides and not timeless:
                    projected = "projection" in INTEGRATORS[name].stabilizations
                    yield (_projected(plain) if projected else plain), coordinates, name


def _independent(chosen: Sequence[tuple[Formalism, str, str]]) -> list[tuple[Formalism, str, str]]:
    """Combinations without repeated implicit integrators of further formalisms.

    These solve the residual, which all formalisms share.
    """
    implicit = [
        form.name for form, _, integrator in chosen if INTEGRATORS[integrator].needs == "residual"
    ][:1]
    return [
        each
        for each in chosen
        if each[0].name in implicit or INTEGRATORS[each[2]].needs == "accelerations"
    ]


def _explicit(model: Model) -> bool:
    """True if a drive prescribes a coordinate of the tree without a row.

    Otherwise rheonomic coordinates are joint coordinates.
    """
    declaration_report(model).raise_errors()
    return len(topology(model, "rheonomic").rows) < len(model.drives)


def _projected(form: Formalism) -> Formalism:
    """The formalism with projection in place of other stabilizations."""
    named = {field.name for field in dataclasses.fields(form)}  # type: ignore[arg-type]
    return (
        dataclasses.replace(form, stabilization=Projection()) if "stabilization" in named else form  # type: ignore[type-var]
    )


def _solved(model: Model, options: dict[str, Any]) -> tuple[str, Solution | None]:
    """(outcome, solution) of a run; (reason, None) if it did not start."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AuditWarning)  # the table shows the agreement
            solution = simulate(model, **options)
    except SolverError as error:
        return str(error), error.solution  # type: ignore[return-value]
    except InputError as error:
        return "; ".join(error.problems), None
    return solution.run.outcome, solution


def _row(
    form: Formalism,
    coordinates: str,
    integrator: str,
    t_end: float,
    outcome: str,
    solution: Solution | None,
    first: Solution | None,
    states: "_States | None",
) -> ComparisonRow:
    """Row of the comparison: outcome, time and deviations from the first run."""
    accelerations, reactions = np.nan, np.nan
    if states and solution is not None:
        try:
            accelerations, reactions = states.differences(form, coordinates)
        except SolverError as error:
            outcome = f"at states of the first run: {error}" if outcome == "finished" else outcome
    same = solution is not None and first is not None and outcome == "finished"
    positions = _motion_difference(solution, first) if same else np.nan  # type: ignore[arg-type]
    if solution is None or len(solution.t) == 0:
        nothing = np.nan, (np.nan, np.nan), 0, 0, np.nan
        return ComparisonRow(
            form.name,
            coordinates,
            integrator,
            accelerations,
            reactions,
            positions,
            *nothing,
            t_end,
            outcome,
        )
    energy, counts = solution.energy, solution.statistics
    missing = float(np.abs(energy.balance).max()) / (energy.scale or 1.0)
    g, gd = (float(value) for value in solution.drift.max(axis=0, initial=0.0))
    return ComparisonRow(
        form.name,
        coordinates,
        integrator,
        accelerations,
        reactions,
        positions,
        missing,
        (g, gd),
        int(counts["steps"]),
        int(counts["evaluations"]),
        float(counts["solve_seconds"]),
        t_end,
        outcome,
        solution,
    )


def _motion_difference(a: Solution, b: Solution) -> float:
    """Largest distance between the positions of bodies in two runs.

    Relative to the largest distance moved, or to 1 m at most.
    """
    apart = moved = 0.0
    size = model_size(a.compiled)
    for name in a.bodies:
        x, y = _places(a.body(name), size), _places(b.body(name), size)
        apart = max(apart, float(np.linalg.norm(x - y, axis=-1).max()))
        moved = max(moved, float(np.linalg.norm(y - y[0], axis=-1).max()))
    return apart / (moved or 1.0)


def _places(body: BodyView, size: float) -> np.ndarray:
    """Points (nt, 4, 3): body origin and points on its axes at distance ``size``.

    The points move with the body.
    """
    axes = np.swapaxes(body.rotation, 1, 2)
    return body.position[:, None] + size * np.concatenate(
        [np.zeros_like(axes[:, :1]), axes], axis=1
    )


class _States:
    """States of a run at which formalisms are compared.

    Accelerations of all bodies, wrenches of all joints.
    """

    def __init__(self, model: Model, run: Solution) -> None:
        """States of a reference run at which accelerations are compared."""
        self.gravity = float(np.linalg.norm(model.gravity))
        self.pick = np.unique(np.linspace(0, len(run.t) - 1, STATES).astype(int))
        self.t, self.z = run.t[self.pick], run.trajectory.z[self.pick]
        self.redundant = run.run.redundant
        self.joint, start = consistent_state(model)
        self.mass = float(self.joint.system.bodies.mass.sum())
        self.starts = [self._start(run, k, start) for k in self.pick]
        self.reference: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def _start(self, run: Solution, k: int, start: InitialState) -> InitialState:
        """State at output k converted to the joint coordinates of the model."""
        if run.compiled.topology.coordinates != "joint":
            raise InputError("compare: the first run must be in joint coordinates")
        q, s = run.q[k].copy(), run.s[k].copy()
        work = make_work(self.joint.system, start.beta)
        settle(self.joint, work, float(run.t[k]), q, s)
        return InitialState(
            q, s, work.beta[:-SPARE].copy(), (), copied(work.motion), work.cut.eta.copy()
        )

    def differences(self, form: Formalism, coordinates: str) -> tuple[float, float]:
        """Relative differences of accelerations and reactions from the reference.

        From those of the first requested formalism.
        """
        found = self._evaluated(form, coordinates)
        if self.reference is None:
            self.reference = found
        sizes = [float(np.abs(values).max(initial=0.0)) for values in self.reference]
        sizes[0] = max(sizes[0], self.gravity)
        sizes[1:] = max(sizes[1], sizes[0]), max(sizes[2], self.mass * sizes[0])
        apart = [
            float(np.abs(mine - theirs).max(initial=0.0))
            for mine, theirs in zip(found, self.reference)
        ]
        parts = [difference / (size or 1.0) for difference, size in zip(apart, sizes)]
        return max(parts[:2]), parts[2] if found[2].size else np.nan

    def _evaluated(
        self, form: Formalism, coordinates: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations of all bodies and joint wrenches by a formalism.

        Of the joints whose wrench is unique.
        """
        states = [in_coordinates(self.joint, start, coordinates) for start in self.starts]
        compiled = states[0][0]
        out = Trajectory(*make_outputs(self.t, facts(compiled), len(states[0][1].beta)))
        for k, (_, state) in enumerate(states):
            out.q[k], out.s[k], out.z[k], out.beta[k] = state.q, state.s, self.z[k], state.beta
            out.sd[k], out.lam[k] = evaluate(
                compiled, form, float(self.t[k]), state.q, state.s, self.z[k], state.beta
            )
        solution = Solution(
            compiled=compiled, trajectory=out, statistics={}, run=RunInfo(redundant=self.redundant)
        )
        bodies = [solution.body(name) for name in solution.bodies]
        joints = [solution.joint(name) for name in solution.joints]
        wrenches = [joint.wrench for joint in joints if joint.unique]
        return (
            np.array([body.acceleration for body in bodies]),
            np.array([body.angular_acceleration for body in bodies]),
            np.array(wrenches),
        )
