"""One model under every formalism × coordinates × integrator: rejections and differences."""

import contextlib
import re
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from instants import Answer, reference

import flexmbs as fm
from flexmbs.diagnosis.rank import redundant_rows
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.errors import FlexmbsError
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import InitialState, consistent_state, in_coordinates, settle
from flexmbs.integrators import INTEGRATORS, Integrator
from flexmbs.results.state import State
from flexmbs.studies.states.evaluate import Evaluator
from flexmbs.studies.states.tangent import evaluate as equations
from flexmbs.system.check import FAIL, WARN
from flexmbs.system.compile import Compiled
from flexmbs.system.records import LOADINGS, SPARE, copied, depends_on_reactions
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.records import facts, make_outputs

T_END = 0.05
STEP = 1e-3
SAME = 1e-7  # relative difference of accelerations and reactions at a state
CORNER = 1e-4  # relative difference that a jump of a rate within a fixed step may make
FLOOR = 3e-7  # relative difference of motions that is accepted without further checks
SECONDS = 300  # for one run, its kernels compiled before or not
# of the motion: errors below the first must not FAIL, above the second must not PASS
GOOD, BAD = 1e-3, 0.1
# of the largest reaction or acceleration: errors above this must not PASS
BAD_LOADS = 0.05
NO_LOAD = 1e-3  # N, N m, m/s² or rad/s²: reactions and accelerations are zero
# steps of one integrator under two formalisms × coordinates: so many times, and so many more
ALIKE, FEW = 3, 100
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


class Pair(NamedTuple):
    """A formalism, coordinates and an integrator by name."""

    formalism: str
    coordinates: str
    integrator: str

    def __str__(self) -> str:
        return " / ".join(self)


def pairs() -> list[Pair]:
    """All compatible combinations."""
    return [
        Pair(form, coordinates, method)
        for form, kind in FORMALISMS.items()
        for coordinates in kind.coordinates
        for method, integrator in INTEGRATORS.items()
        if integrator.needs in kind.provides
        and (coordinates != "rheonomic" or integrator.takes_time)
    ]


def method(name: str, level: int) -> Integrator:
    """An integrator whose errors fall with the level: half the step, or a hundredth of the
    tolerance.
    """
    match name:
        case "generalized-alpha" | "moreau-jean":
            return INTEGRATORS[name](step=STEP / 2**level, newton_tolerance=1e-11)
        case "rattle":
            return INTEGRATORS[name](step=STEP / 2**level)
        case _:
            return INTEGRATORS[name](rtol=1e-7 / 100**level, atol=1e-9 / 100**level)


def options(pair: Pair, integrator: Integrator) -> dict[str, Any]:
    """Of a run; the multiplier formalism projects where the integrator lets it."""
    projected = pair.formalism == "multiplier" and "projection" in integrator.stabilizations
    form: Any = fm.Multiplier(stabilization=fm.Projection()) if projected else pair.formalism
    return {"formalism": form, "coordinates": pair.coordinates, "integrator": integrator}


@dataclass
class Report:
    """Results for one model."""

    runs: Counter[Pair] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    warned: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    # with rejected ones, of the first level; controlled ones
    steps: dict[Pair, int] = field(default_factory=dict)

    def measure(self, what: str, value: float, allowed: float) -> None:
        """The largest fraction of the limit is stored; a larger value or NaN is a failure."""
        self.worst[what] = max(self.worst.get(what, 0.0), value)
        if not value <= allowed:
            self.failures.append(f"{what}: {value:.3g} (allowed {allowed:.3g})")


class Overtime(BaseException):
    """A run that does not end."""


@contextlib.contextmanager
def guarded(report: Report, what: str, kind: str = "") -> Iterator[None]:
    """Rejections with one line are counted; any other exception, and a run that does not end, is a
    failure.
    """

    def stop(number: int, frame: Any) -> None:
        raise Overtime

    before = signal.signal(signal.SIGPROF, stop)
    # again each second: an exception at the border of a C function is lost
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1.0)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except FlexmbsError as error:
        lines = getattr(error, "problems", (str(error),))
        if not all(line and "\n" not in line for line in lines):
            report.failures.append(f"{what}: message of several lines: {error}")
        report.refused[f"{kind}{type(error).__name__}: {general(lines[0])}"] += 1
    except Overtime:
        report.failures.append(f"{what}: does not end within {SECONDS} s of processor time")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        report.failures.append(
            f"{what}: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    for each in caught:
        report.warned[f"{each.category.__name__}: {general(str(each.message))}"] += 1
        if not issubclass(each.category, fm.AssemblyWarning | UserWarning) or issubclass(
            each.category, RuntimeWarning
        ):
            report.failures.append(f"{what}: {each.category.__name__}: {each.message}")


def general(text: str) -> str:
    """A message without its numbers and names."""
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"(joints|bodies|contacts|drives|couplings|forces)\.[\w ]*\d?", r"\1.…", text)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", text)[:150]


def examine(
    model: fm.Model,
    choose: Callable[[list[Pair]], list[Pair]] = lambda there: there,
    without: tuple[str, ...] = (),
) -> Report:
    """A model examined under the pairs that ``choose`` takes of all; ``without``: integrators not
    even taken as the exact one.
    """
    report = Report()
    rigid = any(contact.rigid for contact in model.contacts.values())
    first = Pair("multiplier", "joint", "event-driven" if rigid else "dormand-prince")
    exact = None
    with guarded(report, f"{first} tight"):
        if first.integrator in without:
            raise fm.InputError(f"integrator: '{first.integrator}' is left out")
        report.runs[first] += 1
        exact = fm.simulate(
            model,
            t_end=T_END,
            output_step=T_END / 4,
            **options(first, INTEGRATORS[first.integrator](**TIGHT)),
        )
    with guarded(report, "states"):
        states = _states(model, exact)
        with guarded(report, "evaluations"):
            _compare_states(report, model, states)
    if exact is not None:
        with guarded(report, "file"):
            _kept(report, exact)
    for pair in choose(pairs()):
        _compare_run(report, model, pair, exact)
    compare_steps(report)
    return report


def compare_steps(report: Report) -> None:
    """One integrator needs about as many steps under all formalisms × coordinates: its error is
    that of the same motion. Where there are many more, accelerations jump, or lose digits."""
    for name in sorted({pair.integrator for pair in report.steps}):
        counts = {pair: count for pair, count in report.steps.items() if pair.integrator == name}
        most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        if counts[most] > ALIKE * counts[least] + FEW:
            report.failures.append(
                f"{most} takes {counts[most]} steps, {least} takes {counts[least]}"
            )


# States


class At(NamedTuple):
    """A state of a model in joint coordinates, at time t."""

    t: float
    start: InitialState
    z: np.ndarray


def _states(model: fm.Model, run: fm.Solution | None) -> list[At]:
    """The initial state and two of a run."""
    joint, first = consistent_state(model)
    found = [At(0.0, first, np.zeros(int(joint.system.layout[4])))]
    for k in (1, len(run.t) - 1) if run is not None and len(run.t) > 1 else ():
        q, s, work = (
            run.q[k].copy(),
            run.s[k].copy(),
            make_work(joint.system, run.trajectory.beta[k]),
        )
        settle(joint, work, float(run.t[k]), q, s)
        eta = work.cut.eta.copy()
        start = InitialState(q, s, work.beta[:-SPARE].copy(), (), copied(work.motion), eta)
        found.append(At(float(run.t[k]), start, run.trajectory.z[k].copy()))
    return found


def _compare_states(report: Report, model: fm.Model, states: list[At]) -> None:
    joint, _ = consistent_state(model)
    mass = max(1.0, float(joint.system.bodies.mass.sum()))
    wanted = [_dense(joint, at) for at in states]
    views = _views(joint, states, [answer for answer, _ in wanted], joint)
    unique = [name for name in views.joints if views.joint(name).unique]
    accelerations, wrenches = _accelerations(views), _wrenches(views, unique)
    size = np.maximum(9.6, np.abs(accelerations).max(axis=(0, 2)))  # of each state
    heavy = np.maximum(mass * size, np.abs(wrenches).max(axis=(0, 2), initial=0.0))
    for name, kind in FORMALISMS.items():
        for coordinates in kind.coordinates:
            label = f"{name} / {coordinates}"
            with guarded(report, f"evaluation {label}"):
                compiled, answers = _evaluated(report, joint, kind(), coordinates, states)
                found = _views(compiled, states, answers, joint)
                off = np.abs(_accelerations(found) - accelerations).max(axis=(0, 2)) / size
                report.measure(f"accelerations {label}", float(off.max()), SAME)
                if unique:
                    off = np.abs(_wrenches(found, unique) - wrenches).max(axis=(0, 2)) / heavy
                    report.measure(f"reactions {label}", float(off.max()), SAME)


def _dense(compiled: Compiled, at: At) -> tuple[Answer, Any]:
    """Udwadia and Kalaba's formula on the dense terms."""
    t = terms(
        compiled.system,
        make_work(compiled.system, at.start.beta),
        at.t,
        at.start.q,
        at.start.s,
        at.z,
    )
    found = reference(t)
    for _ in range(LOADINGS if depends_on_reactions(compiled.system) else 0):
        # forces that depend on reactions: k of these accelerations and multipliers
        state = State(
            compiled, at.t, at.start.q, at.start.s, found.sd, found.lam, at.z, at.start.beta
        )
        t = t._replace(k=t.M @ found.sd - t.G.T @ found.lam - equations(state).r)
        before, found = found, reference(t)
        # driven coordinates accelerate as told, whatever the multipliers are: both must have
        # settled
        if all(
            np.abs(now - last).max(initial=0.0) <= 1e-13 * np.abs(now).max(initial=0.0)
            for now, last in zip(found, before)
        ):
            break
    return found, t


def _evaluated(
    report: Report, joint: Compiled, form: Any, coordinates: str, states: list[At]
) -> tuple[Compiled, list[Answer]]:
    """ṡ and λ of a formalism at the states; the first again
    after the last, with the same numbers.
    """
    there = [in_coordinates(joint, at.start, coordinates) for at in states]
    compiled, answers = there[0][0], []
    for at, (_, start) in zip(states, there):
        evaluator = Evaluator(compiled, form, start.beta)
        found = evaluator.at(at.t, start.q, start.s, at.z)
        answers.append(Answer(found.sd, found.lam))
    start, other = there[0][1], there[-1][1]
    evaluator = Evaluator(compiled, form, start.beta)
    evaluator.at(states[0].t, start.q, start.s, states[0].z)
    once, _, again = (
        np.concatenate(evaluator.at(at.t, now.q, now.s, at.z, prepared=False))
        for at, now in ((states[0], start), (states[-1], other), (states[0], start))
    )
    if not np.array_equal(once, again):
        text = f"largest difference {np.abs(once - again).max():.3g}"
        report.failures.append(f"A, B, A of {form.name} / {coordinates} differ: {text}")
    return compiled, answers


def _views(
    compiled: Compiled, states: list[At], answers: list[Answer], joint: Compiled
) -> fm.Solution:
    """A solution whose outputs are the states."""
    coordinates = compiled.topology.coordinates
    starts = [in_coordinates(joint, at.start, coordinates)[1] for at in states]
    out = Trajectory(
        *make_outputs(np.array([at.t for at in states]), facts(compiled), len(starts[0].beta))
    )
    for k, (at, start, answer) in enumerate(zip(states, starts, answers)):
        out.q[k], out.s[k], out.z[k], out.beta[k], out.sd[k], out.lam[k] = (
            start.q,
            start.s,
            at.z,
            start.beta,
            *answer,
        )
    redundant = redundant_rows(compiled, starts[0].q, starts[0].s, starts[0].beta)
    return fm.Solution(compiled, out, {}, RunInfo(redundant=redundant))


def _accelerations(solution: fm.Solution) -> np.ndarray:
    bodies = [solution.body(name) for name in solution.bodies]
    return np.array(
        [each for body in bodies for each in (body.acceleration, body.angular_acceleration)]
    )


def _wrenches(solution: fm.Solution, joints: list[str]) -> np.ndarray:
    return np.array([solution.joint(name).wrench for name in joints]).reshape(
        len(joints), len(solution.t), 6
    )


# Files


def _kept(report: Report, run: fm.Solution) -> None:
    """A run loaded from its file is identical, and so are its states."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        run.save(path)
        read = fm.Solution.load(path, model=run.model)
        for name, one, other in zip(run.trajectory._fields, run.trajectory, read.trajectory):
            if not np.array_equal(one, other):
                report.failures.append(f"file: {name} differs")
        at = float(run.t[-1])
        a, b = fm.state_of(run, at), fm.state_of(read, at)
        for key in ("q", "s", "sd", "lam", "z", "beta"):
            if not np.array_equal(getattr(a, key), getattr(b, key)):
                report.failures.append(f"file: state_of differs in {key}")


# Runs


def _compare_run(report: Report, model: fm.Model, pair: Pair, exact: fm.Solution | None) -> None:
    """Coarse and fine: the difference of the fine run from the exact one is explained by the
    difference of both runs.
    """
    found: list[fm.Solution] = []
    # of first order within a fixed step
    slow = exact is not None and (_struck(exact) or _corners(exact))
    for level in (0, 1, 2, 4) if slow else (0, 1, 2):
        solution = None
        with guarded(report, f"{pair} level {level}"):
            report.runs[pair] += 1
            begun = time.perf_counter()
            solution = fm.simulate(
                model,
                t_end=T_END,
                output_step=T_END / 4,
                **options(pair, method(pair.integrator, level)),
            )
            if time.perf_counter() - begun > SECONDS / 4:
                report.warned[f"a run of more than {SECONDS / 4:g} s: {pair.integrator}"] += 1
        if solution is None or exact is None:
            return
        found.append(solution)
        if level == 0 and not solution.run.options["step"]:
            report.steps[pair] = solution.statistics["steps"] + solution.statistics["rejected"]
        _judge(report, f"{pair} level {level}", solution, exact)
        off = distance(solution, exact)
        if off <= FLOOR:
            break
        if level:
            between = distance(found[-2], solution)
            if off <= 2.0 * between + FLOOR and off <= 0.7 * distance(found[-2], exact):
                break
    else:
        between = distance(found[-2], found[-1])
        if _beyond(exact):
            report.warned[
                "a motion beyond the linear range, where the runs differ; each says so"
            ] += 1
        elif _turned(exact):
            report.warned[
                "a moment that jumps, as the rotation of its frames passed half a turn; "
                "each says so"
            ] += 1
        elif off <= CORNER and solution.run.options["step"] and _corners(exact):
            report.warned[
                "a corner of a law within a fixed step, whose part of the step does not "
                "fall with its length"
            ] += 1
        elif not _struck(exact) or off > 1e-2:
            report.failures.append(
                f"{pair}: {off:.3g} from the first run where its own error is {between:.3g}"
            )
    if not off <= 1e300:
        report.failures.append(f"{pair}: no numbers")
    key = "motion with impacts" if _struck(exact) else "motion"
    report.worst[f"{key} {pair.integrator}"] = max(
        report.worst.get(f"{key} {pair.integrator}", 0.0), off
    )


def _judge(report: Report, what: str, solution: fm.Solution, exact: fm.Solution) -> None:
    """The verdict of the audit against the error of a run: PASS with a large error is a failure."""
    off = of_motion(solution, exact)
    size = "good" if off < GOOD else "between" if off < BAD else "bad"
    report.verdicts[f"{size} {solution.verdict}"] += 1
    if off >= BAD and solution.verdict == "PASS":
        report.failures.append(f"{what}: PASS on a run that is off by {off:.2g} of the motion")
    name = solution.run.options["integrator"]
    for key, apart in of_loads(solution, exact).items():
        report.measure(f"first {key} {name}", float(apart[0]), BAD_LOADS)
        if solution.verdict == "PASS":
            report.measure(f"{key} with PASS {name}", float(apart.max()), BAD_LOADS)
    if off < GOOD and solution.verdict == "FAIL" and exact.verdict != "FAIL":
        told = ", ".join(check.title for check in solution.audit if check.status == "FAIL")
        report.warned[
            f"FAIL on a run that is off by less than {GOOD:g} of the motion: {general(told)}"
        ] += 1


def of_motion(a: fm.Solution, b: fm.Solution) -> float:
    """Largest difference of positions and rotations over the largest change of any; infinite for an
    incomplete run.
    """
    if len(a.t) != len(b.t):
        return float("inf")
    worst = []
    for key in ("position", "rotation"):
        ours, theirs = (
            [np.asarray(getattr(s.body(name), key)) for name in s.bodies] for s in (a, b)
        )
        way = max(float(np.abs(x - x[0]).max()) for x in theirs)
        apart = max(float(np.abs(x - y).max()) for x, y in zip(ours, theirs))
        worst.append(apart / way if way > 1e-9 else 0.0)
    return max(worst) if np.isfinite(worst).all() else float("inf")


def of_loads(a: fm.Solution, b: fm.Solution) -> dict[str, np.ndarray]:
    """Differences of reactions and of accelerations at the outputs over the largest ones of run b,
    forces and torques apart; 0 within a step of an impact or a corner of a law."""
    if len(a.t) != len(b.t):
        return {}
    clear = _clear(a, b)
    rated = [name for name in b.joints if a.joint(name).unique and b.joint(name).unique]
    ours, theirs = (
        {"reactions": _wrenches(each, rated), "accelerations": _rates(each)} for each in (a, b)
    )
    found = {}
    for key, wanted in theirs.items():
        off = np.zeros(len(b.t))
        for part in (slice(0, 3), slice(3, 6)):
            size = float(np.abs(wanted[..., part]).max(initial=0.0))
            if size > NO_LOAD:
                apart = np.abs(ours[key] - wanted)[..., part].max(axis=(0, 2), initial=0.0)
                off[clear] = np.maximum(off, apart / size)[clear]
        found[key] = off
    return found


def _rates(solution: fm.Solution) -> np.ndarray:
    """(bodies, outputs, 6): accelerations and angular accelerations."""
    bodies = [solution.body(name) for name in solution.bodies]
    return np.array([np.hstack((b.acceleration, b.angular_acceleration)) for b in bodies])


def _clear(a: fm.Solution, b: fm.Solution) -> list[int]:
    """Outputs farther than a step from impacts of both runs and from corners of laws."""
    jumps = [impact.t for impact in (*a.run.impacts, *b.run.impacts)] + list(b.compiled.corners)
    return [k for k, t in enumerate(b.t) if all(abs(t - each) > STEP for each in jumps)]


def _beyond(run: fm.Solution) -> bool:
    """A run whose checks report deflections beyond the linear theory."""
    return any(
        check.status == WARN for check in run.audit if check.title.startswith("Deflection of ")
    )


def _turned(run: fm.Solution) -> bool:
    """A run whose checks report a moment beyond half a turn."""
    return any(
        check.status == FAIL for check in run.audit if check.title.startswith("Rotation of ")
    )


def _struck(run: fm.Solution) -> bool:
    return bool(run.run.impacts)


def _corners(run: fm.Solution) -> bool:
    return any(0.0 < t < T_END for t in run.compiled.corners)


def distance(a: fm.Solution, b: fm.Solution) -> float:
    """Largest difference of positions, rotations, velocities and elastic coordinates, each relative
    to its size or 1; not at outputs within a step of an impact, where velocities jump."""
    if len(a.t) != len(b.t):
        return float("inf")
    worst, struck = 0.0, [impact.t for impact in (*a.run.impacts, *b.run.impacts)]
    clear = [k for k, t in enumerate(b.t) if all(abs(t - each) > STEP for each in struck)]
    for name in a.bodies:
        one, other = a.body(name), b.body(name)
        for key in ("position", "rotation", "velocity", "angular_velocity", "elastic"):
            x, y = np.asarray(getattr(one, key))[clear], np.asarray(getattr(other, key))[clear]
            if x.size:
                off = float(np.abs(x - y).max() / max(1.0, np.abs(y).max()))
                worst = max(worst, off if np.isfinite(off) else float("inf"))
    return worst
