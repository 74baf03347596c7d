"""State and calls of an integration method: states as numbers, and the equations behind addresses.

A `Point` is a state with its rates: y = (q, s, z, w) and ẏ in one piece each, with views of their
parts; ẏ = Ψ(y, t), or the residual M ṡ − k − Gᵀ λ and the matrix K_b. The stepper holds three:
``start`` and ``state``, the two ends of the last step, and ``at``, a state within it. A method
accesses the mechanics only through the calls below. Theory: docs/theory.md, section 33.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import call
from flexmbs._jit.scalars import Scalars
from flexmbs.algebra.pivoting import lu, lu_solve
from flexmbs.algebra.small import split_solution
from flexmbs.algebra.works import Works

# how a step, or a batch of outputs, ends
DONE, NO_CONVERGENCE, NOT_FINITE, INDEFINITE, STEP_TOO_SMALL, STEPPED, UNSOLVED = range(7)
START, STATE, AT = range(3)  # indices into RunContext.points
OPEN, STICKS, SLIPS = range(3)  # modes of rigid contacts
SLIPPING = 1e-7  # m/s or rad/s, above which a contact slips
SINGULAR = 1e-10  # smallest pivot of 1 + C EᵀY: below, couplings make corrections worse
# of the largest multiplier: a further change of those that agree with the forces they cause
LOADS = 1e-6


class Calls(Scalars):
    """Addresses of the kernels that the loop and methods call, −1 where there is none."""

    # of the formalism: `call_formalism`
    derivative: int
    accepted: int  # correction of an accepted state
    keep: int
    matrix: int
    correction: int
    # of all: `call_common`
    residual: int
    displace: int
    normalize: int
    constraints: int
    commit: int
    canonical: int
    events: int
    variation: int
    contacts: int
    rows: int
    project: int
    rates: int
    samples: int
    couplings: int
    # of the method: `call_method`
    step: int
    finish: int
    between: int
    jump: int
    output: int


class Records(Scalars):
    """Addresses of the records that kernels are called with."""

    model: int  # `FormalismRecords`
    common: int  # `SharedRecords`
    memory: int  # of the method
    context: int


class Clock(Scalars):
    """Time of a run and its steps (s)."""

    time: float
    begun: float  # start of the last step
    next: float  # step proposed
    taken: float  # length of the last step
    fixed: float  # step, 0: it is controlled
    longest: float  # controlled step
    end: float  # of the run
    error: float  # of the last step over its tolerance
    error_before: float  # of the step before it
    stop: float  # end of a segment of the run: at a jump, or of all
    # part of the step where the equations hold in ``at``, 0: at its end, negative: ``at`` was
    # overwritten since
    holds: float
    divided: float  # length of the parts of a fixed step that contacts divide, 0: it is whole


class Control(NamedTuple):
    """Step control: h_new = h · 0.9 e^(−k), limited to the factors shrink … grow.

    Here e is the error relative to its tolerance and k the exponent.

    Kept between keep_above and keep_below. steady: h_new = h · 0.96 e^(−0.7 k) e_before^(0.4 k)
    with the error of the step before (theory, section 44; Gustafsson 1991, ACM Trans. Math. Softw.
    17, 533; Hairer and Wanner 1996, section IV.2, PI step size control).
    """

    exponent: float
    shrink: float = 0.2
    grow: float = 5.0
    keep_above: float = 1.0
    keep_below: float = 1.0
    steady: bool = False


class Counts(Scalars):
    """Numbers of what a run has done, and choices of the loop."""

    steps: int
    rejected: int
    iterations: int
    factorizations: int
    evaluations: int
    dependent_rows: int
    reached: int  # outputs written
    paused: int  # 1: the method asks for a return to Python after the step
    watched: int  # 1: there are events
    evaluated: int  # 1: the formalism gives ṡ and λ of outputs, else the method does
    corner: int  # index of the next one of `RunContext.corners`
    unseen: int  # what `unseen_contacts` does: NOTHING, REJECTS or DIVIDES
    taking: int  # contacts in `ContactData.row` that receive impulses in the step
    limit: int  # evaluations at which the loop returns to Python after each step, 0: none


class Point(NamedTuple):
    """A state and its rates."""

    y: np.ndarray  # (nq + ns + nz + 3,)
    yd: np.ndarray
    q: np.ndarray  # (nq,) positions, view of y
    s: np.ndarray  # (ns,) velocities
    z: np.ndarray  # (nz,) force states
    w: np.ndarray  # (3,) works
    qd: np.ndarray  # views of yd
    sd: np.ndarray
    zd: np.ndarray
    power: np.ndarray
    lam: np.ndarray  # (nc,) multipliers
    d: np.ndarray  # (ns,) displacement from another point
    works: Works  # those of w
    powers: Works  # those of power


class Gauge(Scalars):
    """Quality of the constraints."""

    independent: float  # smallest pivot of a row over its largest so far
    left: float  # |g| after a correction


class Coupled(NamedTuple):
    """Forces that couple joint coordinates, E C Eᵀ, which the factor of K_b does not contain.

    (K_b + E C Eᵀ)⁻¹ = K_b⁻¹ − Y S⁻¹ C Eᵀ K_b⁻¹ with Y = K_b⁻¹ E, S = 1 + C EᵀY: Golub and Van Loan
    (2013), section 2.1.4.
    """

    at: np.ndarray  # (m,) int64 their velocities
    force: np.ndarray  # (m,) int64 the forces
    component: np.ndarray  # (m,) int64 and their coordinates
    C: np.ndarray  # (m, m)
    Y: np.ndarray  # (m, ns + nc) Yᵀ
    S: np.ndarray  # (m, m) factors of S
    order: np.ndarray  # (m,) int64
    v: np.ndarray  # (m,)
    active: np.ndarray  # (1,) int64 1: part of the present factor


def make_coupled(coordinates: tuple[np.ndarray, np.ndarray, np.ndarray], n: int) -> Coupled:
    """Allocate for the velocities, forces and components (m,), and corrections of n numbers."""
    m, z = len(coordinates[0]), np.zeros
    return Coupled(
        *coordinates, z((m, m)), z((m, n)), z((m, m)), z(m, np.int64), z(m), z(1, np.int64)
    )


class Exchange(NamedTuple):
    """Vectors that the equations and a method write in turn.

    They are shared with the workspace of the equations.
    """

    r: np.ndarray  # (ns,) residual
    x: np.ndarray  # (ns + nc,) right-hand side and solution of corrections
    g: np.ndarray  # (nc,) values of the constraint rows
    gd: np.ndarray  # (nc,) G s + γ̄
    gdd: np.ndarray  # (nc,) G ṡ − γ
    beta: np.ndarray  # coordinates of the cut joints
    status: np.ndarray  # (4,) int64 what failed
    gauge: Gauge
    drive_rate: np.ndarray  # (nc,) ḟ of driven rows
    e0: np.ndarray  # (ns,) terms of a variational step, at its start and at its end
    e1: np.ndarray
    nonholonomic: np.ndarray  # (nc,) int64 rows that constrain velocities alone
    # (3,) of forces that depend on reactions: iterations at most, 0: none; last relative change;
    # unbounded
    loaded: np.ndarray
    # (1,) 1: the power of coordinates that are functions of time needs the residual at ṡ
    prescribed: np.ndarray
    stage: np.ndarray  # (1 + nz,) weight and bases of the force states (`implicit_states`)
    coupled: Coupled


class ContactData(NamedTuple):
    """Rigid contacts as numbers: their laws, their state, and the rows of those that take part."""

    rigid: np.ndarray  # (n,) int64 0 where a law gives the force
    poisson: np.ndarray  # (n,) int64
    e: np.ndarray  # (n,) restitution along the normal
    e_t: np.ndarray  # (n,) and along the tangents
    mu: np.ndarray  # (n,)
    size: np.ndarray  # (n,) length (m) or angle beside which an overlap is small
    # (n,) int64 1: dry friction of a joint coordinate, along the first tangent, always closed
    dry: np.ndarray
    # (n, 3) of dry friction: sliding and static limit (N or N m), rate v_s, 0 for a jump between
    # them
    limits: np.ndarray
    length: np.ndarray  # (n,) size of the model (m), 1 where the gap is no length
    # (n,) what gravity may give a gap (m/s²), over the size of the model (m) where it is no length
    weight: np.ndarray
    mass: np.ndarray  # (1,) largest inertia of a body
    gap: np.ndarray  # (n,)
    rate: np.ndarray  # (n, 3)
    moving: np.ndarray  # (n, 3) the part of it that does not depend on s
    outside: np.ndarray  # (n,) 1 where the contact is outside of its bounds
    force: np.ndarray  # (n, 3) given to the equations: normal, two tangents
    mode: np.ndarray  # (n,) int64 of contact and friction
    slip: np.ndarray  # (n, 2) direction of slip
    impulse: np.ndarray  # (n, 3) of the last step
    output: np.ndarray  # (n, 3) forces for outputs
    row: np.ndarray  # (n,) int64 contacts that take part
    rows: np.ndarray  # (3n, ns) of their velocities
    # (n, RECENT) gaps, rates, speeds and bounds at the last two evaluations of `unseen_contacts`
    recent: np.ndarray
    within: np.ndarray  # (n, RECENT) the same at two times within a step
    depth: np.ndarray  # (n,) of `note_depths`
    # (n,) longest fixed step, or part of one (s), within an impact of a contact with a force law
    struck: np.ndarray
    # (n,) time (s) of the first step in which the contact alone closed and opened, −1 none
    unseen: np.ndarray


class OutputBuffers(NamedTuple):
    """Workspace for the outputs, as `Trajectory`."""

    t: np.ndarray
    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    work: np.ndarray
    drift: np.ndarray
    step: np.ndarray
    contact: np.ndarray
    beta: np.ndarray


class SampledControllers(NamedTuple):
    """Instants of discrete controllers: measurement, sample, output.

    The next ones are first + passed · period.
    """

    first: np.ndarray  # (n, 3) s
    passed: np.ndarray  # (n, 3) numbers of instants
    fresh: np.ndarray  # (n,) int64 1: nothing was measured yet
    due: np.ndarray  # (1,) the next instant of all (s)


class Samples(NamedTuple):
    """Ends of steps that the audit evaluates.

    At equal parts of the run; the last one is that of the largest accelerations.
    """

    t: np.ndarray  # (n,) negative where there is none
    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    beta: np.ndarray
    closed: np.ndarray  # (n,) int64 contacts that carry forces
    largest: np.ndarray  # (1,) largest acceleration so far
    # (m, 6) within steps: of forces and lost, by the method and by Gauss's rule; end and length of
    # the step
    work: np.ndarray


class RunContext(NamedTuple):
    """One run: states, addresses, time and outputs."""

    calls: Calls
    records: Records
    points: np.ndarray  # (3,) int64 addresses of start, state and at
    clock: Clock
    control: Control
    counts: Counts
    start: Point
    state: Point
    at: Point
    exchange: Exchange
    contact: ContactData
    times: np.ndarray
    # (ns,) estimated error of the positions that the step adds, as a displacement
    local: np.ndarray
    spent: np.ndarray  # (ns,) sums of their sizes over the accepted steps
    samples: Samples
    # times (s) that controlled steps must not pass over, the end of the run last
    corners: np.ndarray
    due: np.ndarray  # (1,) the next time (s) at which a discrete controller acts: a step ends there
    out: OutputBuffers


def make_point(nq: int, ns: int, nz: int, nc: int) -> Point:
    """Allocate a state of zeros with nq, ns, nz, nc entries."""
    y, yd = np.zeros(nq + ns + nz + 3), np.zeros(nq + ns + nz + 3)
    ends = [0, nq, nq + ns, nq + ns + nz, nq + ns + nz + 3]
    q, s, z, w, qd, sd, zd, power = (
        each[a:b] for each in (y, yd) for a, b in itertools.pairwise(ends)
    )
    return Point(
        y, yd, q, s, z, w, qd, sd, zd, power, np.zeros(nc), np.zeros(ns), Works(w), Works(power)
    )


@part
def call_formalism(context, kernel, point, a, b):
    """Call a kernel of the formalism at a point and return its status."""
    here = context.points[point]
    return call(kernel, context.records.model, here, here, a, b, 0.0)


@part
def call_common(context, kernel, point, a, b):
    """Call a kernel common to all formalisms at a point and return its status."""
    here = context.points[point]
    return call(kernel, context.records.common, here, here, a, b, 0.0)


@part
def call_method(context, kernel, t):
    """Call a kernel of the integration method and return its status."""
    same = context.records.context
    return call(kernel, context.records.memory, same, same, t, 0.0, 0.0)


@part
def copy(values, out):
    """Copy all numbers of an array to ``out``."""
    for a in range(values.shape[0]):
        out[a] = values[a]


@part
def friction_limit(contact, k, mode, rate):
    """Limit (N or N m) of dry friction k at its ``rate``.

    F_s if it sticks, else F_c + (F_s − F_c) exp(−(η/v_s)²).
    """
    sliding, static, decay = contact.limits[k, 0], contact.limits[k, 1], contact.limits[k, 2]
    if mode == STICKS or abs(rate) <= SLIPPING:
        return static
    if decay == 0.0:
        return sliding
    return sliding + (static - sliding) * math.exp(-(rate / decay) * (rate / decay))


@part
def implicit_states(context, weight, base, first):
    """Make force states obey z = c + a ż (c = base, a = weight) in later evaluations.

    weight: a. base, first: c, from this index on. Laws that switch or are stiff solve this
    themselves. With the weight 0, ż is again that at the given z.
    """
    stage = context.exchange.stage
    stage[0] = weight
    for a in range(stage.shape[0] - 1):
        stage[1 + a] = base[first + a]


@part
def take(source, target):
    """Copy all arrays of one point to another."""
    copy(source.y, target.y)
    copy(source.yd, target.yd)
    copy(source.lam, target.lam)


@part
def derivative(context, point, t):
    """Evaluate ẏ, λ, force rates and powers of a point.

    Negative where M is not definite: −1 − body.

    Theory, section 33.
    """
    context.counts.evaluations += 1
    context.counts.factorizations += 1
    return call_formalism(context, context.calls.derivative, point, t, 0.0)


@part
def residual(context, point, t, slopes):
    """exchange.r = M ṡ − k − Gᵀ λ and exchange.gs = (g, G s + γ̄, G ṡ − γ) of a point.

    Also the rates of its force states, and its powers.
    """
    context.counts.evaluations += 1
    call_common(context, context.calls.residual, point, t, 1.0 if slopes else 0.0)


@part
def iteration_matrix(context, point, c_mass, c_damping):
    """Factor of K_b = [[c_mass M + K + c_damping D, Gᵀ], [G, 0]] at a point.

    Returns a status of `RunContext`. Theory, section 26.
    """
    context.counts.factorizations += 1
    status = call_formalism(context, context.calls.matrix, point, c_mass, c_damping)
    if status < 0:
        context.exchange.status[0] = -1 - status
        return INDEFINITE
    context.counts.dependent_rows = max(context.counts.dependent_rows, status)
    if context.exchange.coupled.at.shape[0] > 0:
        couple(context, point, c_damping)
    return DONE


@called
def couple(context, point, c_damping):
    """Prepare `correction` for forces that couple joint coordinates; overwrites exchange.x."""
    coupled, x = context.exchange.coupled, context.exchange.x
    m = coupled.at.shape[0]
    coupled.active[0] = 0
    if c_damping < 0.0:  # of M and G alone
        return
    call_common(context, context.calls.couplings, point, c_damping, 0.0)
    for j in range(m):
        for i in range(x.shape[0]):
            x[i] = 0.0
        x[coupled.at[j]] = 1.0
        call_formalism(context, context.calls.correction, point, 0.0, 0.0)
        for i in range(x.shape[0]):
            coupled.Y[j, i] = x[i]
    for i in range(m):
        for j in range(m):
            coupled.S[i, j] = 1.0 if i == j else 0.0
            for k in range(m):
                coupled.S[i, j] += coupled.C[i, k] * coupled.Y[j, coupled.at[k]]
    least = lu(coupled.S, m, coupled.order)
    coupled.active[0] = 1 if least > SINGULAR else 0


@part
def correction(context, point):
    """exchange.x (ns + nc,) ← K_b⁻¹ exchange.x with that factor, and coupling forces."""
    call_formalism(context, context.calls.correction, point, 0.0, 0.0)
    if context.exchange.coupled.active[0] == 1:
        add_couplings(context)


@called
def add_couplings(context):
    """x ← x − Y S⁻¹ C Eᵀ x."""
    coupled, x = context.exchange.coupled, context.exchange.x
    m = coupled.at.shape[0]
    for i in range(m):
        coupled.v[i] = 0.0
        for j in range(m):
            coupled.v[i] += coupled.C[i, j] * x[coupled.at[j]]
    lu_solve(coupled.S, m, coupled.order, coupled.v)
    for j in range(m):
        for i in range(x.shape[0]):
            x[i] -= coupled.Y[j, i] * coupled.v[j]


@part
def displace(context, point, base):
    """Set q = q_base ⊕ d of a point by the kernel of displacements."""
    call(
        context.calls.displace,
        context.records.common,
        context.points[point],
        context.points[base],
        0.0,
        0.0,
        0.0,
    )


@part
def displace_by_midpoint(context, point, base):
    """Set q = q_base ⊕ d of a point by the midpoint rule; changes d of free motions."""
    call(
        context.calls.displace,
        context.records.common,
        context.points[point],
        context.points[base],
        1.0,
        0.0,
        0.0,
    )


@part
def position_rates(context, point):
    """Compute the position rates q̇ = H(q) s of a point."""
    call_common(context, context.calls.rates, point, 0.0, 0.0)


@part
def normalize(context, point):
    """Normalize the Euler parameters of a point."""
    call_common(context, context.calls.normalize, point, 0.0, 0.0)


@part
def evaluate_constraints(context, point, t):
    """Evaluate constraint values exchange.gs and cut coordinates exchange.beta of a point."""
    call_common(context, context.calls.constraints, point, t, 0.0)


@part
def canonical(context, point, t):
    """Express the multipliers of a point as they are outside of the run."""
    call_common(context, context.calls.canonical, point, t, 0.0)


@part
def settle_loads(context, point, here, t):
    """Iterate ṡ and λ for forces that depend on the reactions they cause.

    With the current factor of M and G.
    """
    x, ns, loaded = context.exchange.x, here.s.shape[0], context.exchange.loaded
    size = 0.0
    for turn in range(int(loaded[0])):
        load = load_change = 0.0
        residual(context, point, t, False)
        for a in range(ns):
            x[a] = -context.exchange.r[a]
        for a in range(here.lam.shape[0]):
            x[ns + a] = -context.exchange.gdd[a]
        correction(context, point)
        change = 0.0
        for a in range(ns):
            here.sd[a] += x[a]
            change = max(change, abs(x[a]))
            size = max(size, abs(here.sd[a]))
        for a in range(here.lam.shape[0]):
            here.lam[a] -= x[ns + a]
            load = max(load, abs(here.lam[a]))
            load_change = max(load_change, abs(x[ns + a]))
        # λ too: that of a locked joint may grow while drives determine the motion
        if change <= loaded[1] * size and load_change <= LOADS * load:
            return
        if turn == int(loaded[0]) - 1 or max(change, load_change) > loaded[2]:
            for a in range(ns):
                here.sd[a] = math.nan
            return


@called
def settle_accelerations(context, point, here, t, factored):
    """Solve M ṡ = k + Gᵀ λ, G ṡ = γ at a point: ṡ, λ, rates and powers.

    factored: use the current factor of M and G instead of a new one. Returns a status.
    """
    x = context.exchange.x
    ns = here.s.shape[0]
    for a in range(ns):
        here.sd[a] = 0.0
    for a in range(here.lam.shape[0]):
        here.lam[a] = 0.0
    residual(context, point, t, False)
    status = DONE if factored else iteration_matrix(context, point, 1.0, -1.0)
    if status != DONE:
        return status
    for a in range(ns):
        x[a] = -context.exchange.r[a]
    for a in range(here.lam.shape[0]):
        x[ns + a] = -context.exchange.gdd[a]
    correction(context, point)
    split_solution(x, here.sd, here.lam)
    if context.exchange.loaded[0] > 0.0:
        settle_loads(context, point, here, t)  # its residuals contain the power of the drives
        return DONE
    if context.exchange.prescribed[0] > 0.0:
        residual(context, point, t, False)
        return DONE
    for a in range(here.lam.shape[0]):
        here.powers.drives += here.lam[a] * context.exchange.drive_rate[a]
    return DONE
