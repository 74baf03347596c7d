"""The one loop over steps.

It proposes, accepts or rejects, commits, watches for events, and writes outputs within steps.

    e ≤ 1 accepted,   h_new = h · 0.9 e^(−k)   or   h · 0.96 e^(−0.7 k) e_before^(0.4 k).

A method gives a trial state and an estimate e of its error over its tolerance; data kept between
steps beyond the state is the method's own memory. Path variables (turns of joints, modes of
contact, choices of coordinates) are written only when a step is accepted.

Theory: docs/theory.md, section 44. Hairer, Nørsett and Wanner, Solving Ordinary Differential
Equations I (1993), section II.4 (step size control); Gustafsson (1991), ACM Trans. Math. Softw. 17,
533.
"""

import math
from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import call, entry, packed
from flexmbs._jit.scalars import Scalars
from flexmbs.algebra.small import largest
from flexmbs.integrators.missed_contacts import SHORTEST_PART, length_by_contacts, strikes_near
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    NO_CONVERGENCE,
    NOT_FINITE,
    STATE,
    STEP_TOO_SMALL,
    STEPPED,
    UNSOLVED,
    call_common,
    call_formalism,
    call_method,
    canonical,
    copy,
    evaluate_constraints,
    normalize,
    take,
)  # fmt: skip
from flexmbs.integrators.step_samples import sample

PAUSE = 1000  # steps between returns to Python, where interrupts are handled
# relative to the time: 450 units of round-off of t, below which t + h loses digits
SMALLEST_STEP = 1e-13
ACCEPTED_GAP = 1e-6  # m or rad, left by the projection
ROUND_OFF = 1e-12  # relative to the time: allows for the sum of many steps
REFUSED = UNSOLVED + 1  # status of `lead`: an input is not finite


class LeadCalls(Scalars):
    """Addresses of kernels and of a record that `lead` calls, and whether inputs have changed."""

    integrate: int
    jump: int  # of the method
    watch: int  # evaluates the state functions that are outputs
    functions: int  # `SharedRecords` with these functions
    changed: int  # 1: inputs in z were set since the last step


class LeadOrder(Scalars):
    """Request of the caller of `lead`."""

    until: float  # time (s) to reach, negative: take no step
    once: float  # 1: take one step
    reading: float  # 1: evaluate the outputs


class HeldInputs(NamedTuple):
    """Inputs of a run that a caller leads step by step."""

    given: np.ndarray  # (n,) as set by the caller
    place: np.ndarray  # (n,) int64 of each among the force states
    calls: LeadCalls
    order: LeadOrder


@part
def round_off(clock, t):
    """Round-off (s) of time t, relative to the end of the run if that is below 1 s."""
    return ROUND_OFF * (min(1.0, clock.end) + abs(t))


@part
def tolerance(clock, t):
    """Tolerance (s) within which a step ends at time t (s)."""
    return round_off(clock, t) + 1e-9 * clock.fixed


@part
def ahead(clock, t):
    """True if time t is still ahead; snaps the clock to t if it is there up to round-off."""
    near = tolerance(clock, t)
    if clock.time < t - near:
        return True
    clock.time = max(clock.time, t) if clock.time <= t + near else clock.time
    return False


@part
def next_corner(context):
    """Next time at which a controlled step must end.

    The end of the run is the last one.
    """
    clock, corners = context.clock, context.corners
    k = context.counts.corner
    while k + 1 < corners.shape[0] and corners[k] <= clock.time + round_off(clock, clock.time):
        k += 1
    context.counts.corner = k
    return corners[k]


@part
def next_step(context):
    """The fixed or proposed step, shortened to end at corners of laws and ends of stretches.

    The last steps before them are made equal. Instants of discrete controllers are ends of steps.
    """
    clock = context.clock
    if clock.fixed > 0.0:
        left = min(clock.stop, context.due[0]) - clock.time
        h = min(clock.fixed, clock.next)  # the rest of a step that a method has divided
        return min(h, left) if left < h * (1.0 - 1e-9) else h
    left = min(next_corner(context), context.due[0]) - clock.time
    h = min(clock.next, clock.longest)
    # equal steps up to the corner: no short last one, which would cost a factorization
    count = math.ceil(left / h * (1.0 - 1e-9))
    return left / max(count, 1.0) if count < 8.0 else h


@part
def propose(clock, control, h, error, most):
    """Set the next step length from the error of an accepted step h.

    h · 0.9 e^(−k), or h · 0.96 e^(−0.7 k) e_before^(0.4 k), at most h times ``most``. Theory,
    section 44; Gustafsson 1991.
    """
    error = max(error, 1e-10)
    factor = 0.9 * math.pow(error, -control.exponent)
    if control.steady and clock.error_before > 0.0:
        factor = (
            0.96
            * math.pow(error, -0.7 * control.exponent)
            * math.pow(clock.error_before, 0.4 * control.exponent)
        )
    clock.error_before = error
    factor = min(most, max(control.shrink, factor))
    if h < 0.9 * clock.next:  # a truncated step says little about longer ones
        clock.next = max(clock.next, h * factor)
    elif factor < control.keep_above or factor > control.keep_below:
        clock.next = h * factor


@part
def accept(context, h):
    """Accept the step: its end becomes the state, path variables and memory are updated.

    Returns the status of the method.
    """
    clock = context.clock
    clock.begun = clock.time
    clock.time += h
    context.counts.steps += 1
    for a in range(context.local.shape[0]):
        context.spent[a] += abs(context.local[a])
    if context.calls.keep >= 0:
        call_formalism(context, context.calls.keep, STATE, clock.time, 0.0)
    call_common(context, context.calls.commit, STATE, h, 0.0)
    return call_method(context, context.calls.finish, h)


@part
def part_of(clock, whole):
    """Length of the next part of a divided fixed step of which ``whole`` is left.

    The last two parts are equal.
    """
    h = clock.divided
    if h <= 0.0 or h >= whole:
        return whole
    return 0.5 * whole if whole < 2.0 * h else h


@part
def next_part(clock, whole, h, longest):
    """Set the length of the next part of a divided fixed step after one of length h.

    The rest of the step, in parts of at most ``longest``.
    """
    clock.next = whole - h if h < whole * (1.0 - 1e-9) else clock.fixed
    if h < clock.divided:  # the rest of a step says little about longer parts
        longest = max(longest, clock.divided)
    clock.divided = longest if clock.divided > 0.0 and longest < clock.fixed else 0.0


@part
def shorter(context, h, status):
    """True if a failed fixed step h is divided, because a contact with a law strikes near it.

    A contact with a force law strikes within it.
    """
    clock = context.clock
    if status == DONE or h <= SHORTEST_PART * clock.fixed or not strikes_near(context, h):
        return False
    clock.divided = 0.5 * h
    return True


@part
def step(context):
    """Take one accepted step, retrying with shorter lengths.

    Returns `DONE`, or why there is none; then the state is that before the step.
    """
    clock, state = context.clock, context.state
    fixed = clock.fixed > 0.0
    take(state, context.start)
    most = context.control.grow
    while True:
        whole = next_step(context)
        h = part_of(clock, whole) if fixed else whole
        clock.taken = h
        clock.error = 0.0
        status = call_method(context, context.calls.step, h)
        h = clock.taken
        error = clock.error
        if status == DONE and not error < 1e30:
            status = NOT_FINITE
        divided = False
        if status == DONE and (fixed or error <= 1.0):
            context.exchange.gauge.left = 0.0
            if context.calls.accepted >= 0:
                call_formalism(context, context.calls.accepted, STATE, clock.time + h, 0.0)
            left = context.exchange.gauge.left
            longest = length_by_contacts(context, h) if left <= ACCEPTED_GAP else h
            if left > ACCEPTED_GAP:
                status = NO_CONVERGENCE  # the constraints cannot be satisfied there
            elif longest >= h:
                if not fixed:
                    propose(clock, context.control, h, error, most)
                status = accept(context, h)
                if fixed:
                    next_part(clock, whole, h, longest)
                return status
            else:
                # bodies passed through each other: half the step, by the same formula as for an
                # error
                error = 2.0 ** (1.0 / context.control.exponent) if not fixed else error
                clock.divided = longest
                divided = True
        take(context.start, state)
        if fixed and not divided and not shorter(context, h, status):
            return status
        context.counts.rejected += 1
        if fixed:
            continue
        # right after a step that was rejected the next one is no longer (Hairer, Nørsett and Wanner
        # 1993, p. 168)
        most = 1.0
        by_error = status == DONE
        clock.next = h * (
            max(context.control.shrink, 0.9 * math.pow(error, -context.control.exponent))
            if by_error
            else 0.2
        )
        if clock.next < SMALLEST_STEP / ROUND_OFF * round_off(clock, clock.time):
            return STEP_TOO_SMALL if by_error else status


@called
def meet_samples(context):
    """Execute the discrete controllers that are due; returns a status of `RunContext`."""
    clock = context.clock
    near = tolerance(clock, clock.time)
    if context.due[0] > clock.time + near:
        return DONE
    call_common(context, context.calls.samples, STATE, clock.time, near)
    return call_method(context, context.calls.jump, clock.time)


@part
def record(context, i, t):
    """Write output i at time t.

    The state within the last step, its accelerations and multipliers, residuals of the constraints.
    """
    at, out, exchange = context.at, context.out, context.exchange
    reported = t
    if t < context.clock.time <= t + round_off(context.clock, t):  # behind a jump of a law at t
        t = context.clock.time
    status = (
        meet_samples(context) if t >= context.clock.time - tolerance(context.clock, t) else DONE
    )
    if status == DONE:
        status = call_method(context, context.calls.between, t)
    if status != DONE:
        return status
    if context.counts.evaluated == 1:
        normalize(context, AT)
        if context.calls.accepted >= 0:
            call_formalism(context, context.calls.accepted, AT, t, 0.0)
        call_formalism(context, context.calls.derivative, AT, t, 0.0)
    else:
        if context.calls.output >= 0:
            call_method(context, context.calls.output, t)
        evaluate_constraints(context, AT, t)
    canonical(context, AT, t)
    out.t[i] = reported
    out.step[i] = context.clock.time - context.clock.begun
    copy(at.q, out.q[i])
    copy(at.s, out.s[i])
    copy(at.sd, out.sd[i])
    copy(at.lam, out.lam[i])
    copy(at.z, out.z[i])
    copy(at.w, out.work[i])
    out.drift[i, 0] = largest(exchange.g)
    out.drift[i, 1] = largest(exchange.gd)
    for a in range(out.beta.shape[1]):
        out.beta[i, a] = exchange.beta[a]
    for k in range(out.contact.shape[1]):
        for c in range(3):
            out.contact[i, k, c] = (
                context.contact.output[k, c] if context.contact.rigid[k] == 1 else 0.0
            )
    return DONE


@part
def advance_to(context, t):
    """Take steps until time t is reached; returns a status of `RunContext`.

    `STEPPED` returns to Python: at an event, after `PAUSE` steps, or beyond a limit of evaluations.
    """
    counts = context.counts
    while ahead(context.clock, t):
        status = meet_samples(context)
        if status == DONE:
            status = step(context)
        if status != DONE:
            return status
        sample(context)
        crossed = 0
        if context.counts.watched == 1:
            crossed = call_common(context, context.calls.events, STATE, context.clock.time, 1.0)
            if crossed == NOT_FINITE:
                return NOT_FINITE
        spent = 0 < counts.limit <= counts.evaluations
        if spent or crossed == STEPPED or counts.paused == 1 or counts.steps % PAUSE == 0:
            counts.paused = 0
            return STEPPED
    return DONE


@entry
def integrate(context, /, first, last, until):
    """Kernel that takes steps until outputs first … last − 1 are written and ``until`` is reached.

    `Counts.reached`: number of outputs written.
    """
    for i in range(int(first), int(last)):
        context.counts.reached = i
        status = advance_to(context, context.times[i])
        if status == DONE:
            status = record(context, i, context.times[i])
        if status != DONE:
            return status
    context.counts.reached = int(last)
    return advance_to(context, until)


@entry
def write_present(context, /):
    """Kernel that writes the present state as output 0, after the samples that are due."""
    return record(context, 0, context.clock.time)


@part
def hold(context, inputs):
    """Set the force states of inputs to the given values, after which the forces jump.

    Returns a status of `RunContext`, or `REFUSED` if an input is not finite.
    """
    given, place, z = inputs.given, inputs.place, context.state.z
    for k in range(given.shape[0]):
        if not math.isfinite(given[k]):
            return REFUSED
    for k in range(given.shape[0]):
        if z[place[k]] != given[k]:
            z[place[k]] = given[k]
            inputs.calls.changed = 1
    if inputs.calls.changed == 0:
        return DONE
    inputs.calls.changed = 0
    return call_method(context, inputs.calls.jump, context.clock.time)


@packed(int)
def lead(context, inputs):
    """Kernel that holds the inputs and takes one step, or steps until a time is reached.

    Then it evaluates the outputs. Returns a status as of `integrate`, or `REFUSED`. Packed, since a
    call from Python with one argument takes half the time of one with six.
    """
    order, until = inputs.order, inputs.order.until
    status = hold(context, inputs)
    if status != DONE or until < 0.0:
        return status
    clock, corners, calls = context.clock, context.corners, inputs.calls
    context.counts.paused = 1 if order.once == 1.0 else 0
    clock.stop = until
    # a controlled step ends at the next corner: that is ``until`` for now
    k = 0
    while clock.fixed == 0.0 and k < corners.shape[0] - 1 and corners[k] < until:
        k += 1
    kept = corners[k]
    if clock.fixed == 0.0 and order.once == 0.0:
        corners[k] = until
    same = context.records.context
    status = call(calls.integrate, same, same, same, 0.0, 0.0, until)
    corners[k] = kept
    if status not in (DONE, STEPPED):
        return status
    for a in range(context.state.y.shape[0]):
        if not math.isfinite(context.state.y[a]):
            return NOT_FINITE
    if order.reading == 1.0:
        here = context.points[STATE]
        call(calls.watch, calls.functions, here, here, clock.time, 0.0, 0.0)
    return status


@entry
def state_at(context, /, t):
    """Kernel that interpolates the state at time t of the last step into ``at``."""
    call_method(context, context.calls.between, t)
    normalize(context, AT)
    return DONE
