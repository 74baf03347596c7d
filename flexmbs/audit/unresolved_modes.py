"""Modes that fixed steps do not resolve.

Forces at the beginning of a run are compared with those of steps that resolve these modes.
Generalized-α and other implicit methods damp modes with ω h > 1 within a few steps, with h as with
2 h: two runs agree on forces without these vibrations, which persist in an undamped part. The
highest ω of the model at its start is that of (K, M) in the motions that the constraints allow.
With ω h above `RESOLVED` the run is repeated up to ω t = `BEGINNING` with its steps and with steps
of ω h = `FINE`, and both are compared there. With the mean squares D₁ and D₂ of a difference in the
halves of this time and r = D₂/D₁, its mean square over the whole run of n such halves is about D₁
(1 + r + … + rⁿ⁻¹)/n: vibrations that are damped soon after the start are not an error of the run.
Times √2 its root is the amplitude of a lasting error. Source: Chung and Hulbert, J. Appl. Mech. 60
(1993) 371 (numerical dissipation over ω h).
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import scipy

from flexmbs.audit.audit_samples import loads_at
from flexmbs.audit.counted_work import evaluations_in, full
from flexmbs.audit.force_differences import REACTIONS, Scales, force_differences, rerun
from flexmbs.audit.mechanisms import bodies_with_contacts, body_of_velocities
from flexmbs.dynamics.dense import elastic_velocities, terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.assembly import displaced
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded
from flexmbs.system.step_scales import displacement_sizes
from flexmbs.system.trajectory import Trajectory
from flexmbs.time_stepping.run import Run

RESOLVED = 0.5  # ω h: two runs with h and 2 h show errors of slower modes
FINE = 0.3  # ω h, 20 steps a period: an error of the frequency of 1 %
BEGINNING, LEAST = 300.0, 5  # ω t, fifty periods of the highest mode; steps
PER_STEP = 4  # outputs per step
LONGER = 4  # times the beginning: longer time in which the vibrations may decay
MOST = 20_000  # steps
MOST_WORK = 30.0  # units, of each run: an audit takes some seconds at most
MOST_COORDINATES = 400  # 0.1 s; not of a full audit
NUDGE = 1e-6  # of comparable displacements: a difference quotient right to 1e-6


def unresolved_modes(solution: SolutionData, run: Run, scales: Scales) -> list[Check]:
    """Check that fixed implicit steps resolve the oscillations at the start of a run.

    Differences of reactions and accelerations.
    """
    h, compiled = run.method.step, solution.compiled
    if (
        run.begun is None
        or h is None
        or run.method.explicit
        or not solution.t[-1] > 0.0
        or not compiled.places
    ):
        return []
    if solution.run.options.get("analysis"):
        return []
    scales = _without_contacts(scales, solution.trajectory.contact[:1])
    if scales.left_out.issuperset(compiled.data):
        return []
    if solution.s.shape[1] > MOST_COORDINATES and not full(solution):
        return []
    omega = highest_mode(run, scales.judged)
    if omega * h <= RESOLVED:
        return []
    most = int(float(solution.t[-1]) / h * (1.0 + 1e-9))
    n = min(max(LEAST, math.ceil(BEGINNING / (omega * h))), max(most, 1))
    pieces = min(math.ceil(omega * h / FINE), max(MOST // n, 2))
    found, may_pass, longer = None, True, None
    while may_pass and n * pieces <= MOST and n <= max(most, 1):
        longer = _compared(scales, h * np.linspace(0.0, n, PER_STEP * n + 1), pieces)
        if longer is None or longer[0] is None:
            break
        (found, may_pass), n = longer, LONGER * n
    if found is None and longer is not None:  # contacts act on all bodies
        return []
    if found is None:  # a large model, many user functions, or a run that fails
        text = f"were not judged: {n} steps in {pieces} parts each fail or need too much work"
        found = Check("Unresolved modes", WARN, text, "use smaller steps or error control")
    return [found]


def _without_contacts(scales: Scales, force: np.ndarray) -> Scales:
    """Scales without bodies on which contacts act with some forces (nt, n, 3)."""
    compiled = scales.solution.compiled
    names = [
        name for name, acts in zip(compiled.contacts, np.asarray(force.any(axis=(0, 2)))) if acts
    ]
    return scales.without(scales.left_out | bodies_with_contacts(compiled, names))


def _compared(scales: Scales, times: np.ndarray, pieces: int) -> tuple[Check | None, bool] | None:
    """Check of the differences to steps divided into ``pieces`` at some times.

    Also True if it may pass over a longer time, in which the differences decay. None if the work is
    too large; no check if contacts act on all flexible bodies.
    """
    solution, run = scales.solution, scales.run
    fine = dataclasses.replace(run.method, step=run.method.step / pieces)  # type: ignore[type-var,operator]
    most = evaluations_in(solution, MOST_WORK)
    ours, other = (rerun(scales, each, times, most)[0] for each in (run.method, fine))
    if min(len(ours.t), len(other.t)) < len(times):
        return None
    for each in (ours, other):
        scales = _without_contacts(scales, each.trajectory.contact)
    if scales.left_out.issuperset(solution.compiled.data):
        return None, False
    halves = 2.0 * float(solution.t[-1]) / times[-1]
    shown = np.searchsorted(times, solution.t[solution.t <= times[-1]])
    apart = force_differences(
        scales, ours, other, lambda difference: _lasting(difference, halves), at=np.unique(shown)
    )
    check = apart.check(
        "Unresolved modes", f"with steps of {fine.step:.2g} s up to t = {times[-1]:.3g} s"
    )
    dying = graded(apart.at_instant, REACTIONS) == PASS
    return check, dying and check.status != PASS


def _lasting(difference: np.ndarray, n: float) -> float:
    """Amplitude of differences (nt,) averaged over a run of ``n`` times half their duration.

    They continue to decay as in this time.
    """
    middle = len(difference) // 2
    first, second = (float(np.mean(part**2)) for part in (difference[:middle], difference[middle:]))
    if second >= first:
        return math.sqrt(2.0 * second)
    r = second / first
    return math.sqrt(2.0 * first * (1.0 - r**n) / (n * (1.0 - r)))


def highest_mode(run: Run, bodies: Sequence[str]) -> float:
    """Highest angular frequency [rad/s] of (K, M) of some bodies at the start, with G v = 0.

    K by differences of the forces; of elastic coordinates that of the bodies.
    """
    begun, system = run.begun, run.compiled.system
    assert begun is not None
    work, z = make_work(system, begun.beta), begun.z
    M, _, G, *_ = terms(system, work, 0.0, begun.q, begun.s, z)
    loads = loads_at(run.compiled, Trajectory(*run.out), work, 0)
    sizes, elastic, K = (
        displacement_sizes(run.compiled),
        elastic_velocities(system),
        np.zeros(M.shape),
    )
    q = begun.q.copy()
    for i in np.setdiff1d(np.arange(len(M)), elastic):
        forces = []
        for sign in (1.0, -1.0):
            nudge = np.zeros(len(M))
            nudge[i] = sign * NUDGE * sizes[i]
            displaced(system, begun.q, nudge, q)
            forces.append(terms(system, work, 0.0, q, begun.s, z, loads, matrices=False).k)
        K[:, i] = K[i] = (forces[1] - forces[0]) / (2.0 * NUDGE * sizes[i])
    for i, nf in enumerate(system.tree.nf):
        f = slice(system.tree.sf_at[i], system.tree.sf_at[i] + nf)
        K[f, f] = system.bodies.k_ff[i, :nf, :nf]
    own = np.isin(body_of_velocities(run.compiled), bodies)
    M, K, G = M[own][:, own], K[own][:, own], G[:, own]
    unit = 1.0 / np.sqrt(np.diag(M))
    free = unit[:, None] * (scipy.linalg.null_space(G * unit) if len(G) else np.eye(len(M)))
    if not free.shape[1]:
        return 0.0
    return float(
        np.sqrt(
            max(scipy.linalg.eigh(free.T @ K @ free, free.T @ M @ free, eigvals_only=True)[-1], 0.0)
        )
    )
