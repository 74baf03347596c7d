"""The one loop over steps: it proposes, accepts or rejects, commits, watches for events, and writes outputs within steps.

A method gives a trial state and an estimate of its error; what is kept between steps beyond the state is the method's own memory.
Path variables (turns of joints, modes of contact, choices of coordinates) are written where a step is accepted, nowhere else.
"""

import math

from flexmbs._jit import part
from flexmbs._jit.address import call, entry
from flexmbs.algebra.small import largest
from flexmbs.integrators.course import (
    ACCEPTED,
    AT,
    BEFORE,
    BEGUN,
    BETWEEN,
    COMMIT,
    COMMON,
    CORNER,
    COURSE,
    DERIVATIVE,
    DONE,
    ERROR,
    EVALUATED,
    EVENTS,
    EXPONENT,
    FINISH,
    FIXED,
    GROW,
    KEEP,
    KEEP_ABOVE,
    KEEP_BELOW,
    LEFT,
    LONGEST,
    MEMORY,
    MODEL,
    NEXT,
    NO_CONVERGENCE,
    NORMALIZE,
    NOT_FINITE,
    NOW,
    PAUSED,
    REACHED,
    REJECTED,
    SHRINK,
    START,
    STEADY,
    STEP,
    STEP_TOO_SMALL,
    STEPPED,
    STEPS,
    STOP,
    TAKEN,
    TIME,
    WATCHED,
    copy,
    look,
    take,
)  # fmt: skip
from flexmbs.integrators.sampling import sample
from flexmbs.integrators.unseen_contacts import passes

PAUSE = 1000  # steps between returns to Python, which only there sees an interrupt
SMALLEST_STEP = 1e-13
ACCEPTED_GAP = 1e-6  # m or rad, left by the projection
ROUND_OFF = 1e-12


@part
def ahead(clock, t):
    """Is time t still ahead? A step that ends at t but for round-off is set to it."""
    near = ROUND_OFF * (1.0 + abs(t)) + 1e-9 * clock[FIXED]
    if clock[TIME] < t - near:
        return True
    clock[TIME] = max(clock[TIME], t) if clock[TIME] <= t + near else clock[TIME]
    return False


@part
def next_corner(course):
    """The next time that a controlled step must not pass over; the end of the run is the last one."""
    clock, corners = course.clock, course.corners
    k = course.counts[CORNER]
    while k + 1 < corners.shape[0] and corners[k] <= clock[TIME] + ROUND_OFF * (1.0 + abs(clock[TIME])):
        k += 1
    course.counts[CORNER] = k
    return corners[k]


@part
def next_step(course):
    """The fixed or the proposed step, shortened so that the end of the stretch and corners of laws are met; the last steps before
    them are made equal."""
    clock = course.clock
    if clock[FIXED] > 0.0:
        left = clock[STOP] - clock[TIME]
        return min(clock[FIXED], left) if left < clock[FIXED] * (1.0 - 1e-9) else clock[FIXED]
    left = next_corner(course) - clock[TIME]
    h = min(clock[NEXT], clock[LONGEST])
    count = math.ceil(left / h * (1.0 - 1e-9))
    return left / max(count, 1.0) if count < 8.0 else h


@part
def propose(clock, control, h, error):
    """The next step after one of length h that was accepted with this error."""
    error = max(error, 1e-10)
    factor = 0.9 * math.pow(error, -control[EXPONENT])
    if control[STEADY] > 0.0 and clock[BEFORE] > 0.0:
        factor = 0.96 * math.pow(error, -0.7 * control[EXPONENT]) * math.pow(clock[BEFORE], 0.4 * control[EXPONENT])
    clock[BEFORE] = error
    factor = min(control[GROW], max(control[SHRINK], factor))
    if h < 0.9 * clock[NEXT]:  # a step cut short says little about longer ones
        clock[NEXT] = max(clock[NEXT], h * factor)
    elif factor < control[KEEP_ABOVE] or factor > control[KEEP_BELOW]:
        clock[NEXT] = h * factor


@part
def method(course, which, t):
    """A call of the method: (memory, course, course, t)."""
    return call(course.calls[which], course.place[MEMORY], course.place[COURSE], course.place[COURSE], t, 0.0, 0.0)


@part
def accept(course, h):
    """What follows the acceptance of the step: its end becomes the state, path variables and the method's memory are written.
    Returns what the method says."""
    clock = course.clock
    clock[BEGUN] = clock[TIME]
    clock[TIME] += h
    course.counts[STEPS] += 1
    for a in range(course.local.shape[0]):
        course.spent[a] += abs(course.local[a])
    if course.calls[KEEP] >= 0:
        call(course.calls[KEEP], course.place[MODEL], course.place[NOW], course.place[START], clock[TIME], 0.0, 0.0)
    call(course.calls[COMMIT], course.place[COMMON], course.place[NOW], course.place[START], clock[TIME], 0.0, 0.0)
    return method(course, FINISH, h)


@part
def step(course):
    """One accepted step. Returns `DONE`, or why there is none; where it was not accepted the state is the one before."""
    clock, now = course.clock, course.now
    fixed = clock[FIXED] > 0.0
    take(now, course.start)
    while True:
        h = next_step(course)
        clock[TAKEN] = h
        clock[ERROR] = 0.0
        status = method(course, STEP, h)
        h = clock[TAKEN]
        error = clock[ERROR]
        if status == DONE and not error < 1e30:
            status = NOT_FINITE
        if status == DONE and (fixed or error <= 1.0):
            course.exchange.gauge[LEFT] = 0.0
            if course.calls[ACCEPTED] >= 0:
                call(
                    course.calls[ACCEPTED], course.place[MODEL], course.place[NOW], course.place[START], clock[TIME] + h, 0.0, 0.0
                )
            if course.exchange.gauge[LEFT] > ACCEPTED_GAP:
                status = NO_CONVERGENCE  # the constraints cannot be met there
            elif not passes(course, h):
                if not fixed:
                    propose(clock, course.control, h, error)
                return accept(course, h)
            else:
                error = 2.0 ** (1.0 / course.control[EXPONENT])  # half the step
        take(course.start, now)
        if fixed:
            return status
        course.counts[REJECTED] += 1
        by_error = status == DONE
        clock[NEXT] = h * (max(course.control[SHRINK], 0.9 * math.pow(error, -course.control[EXPONENT])) if by_error else 0.2)
        if clock[NEXT] < SMALLEST_STEP * (1.0 + abs(clock[TIME])):
            return STEP_TOO_SMALL if by_error else status


@part
def record(course, i, t):
    """Output i at time t: the state within the last step, its accelerations and multipliers, what is left of the constraints."""
    at, out, exchange = course.at, course.out, course.exchange
    told = t
    if t < course.clock[TIME] <= t + ROUND_OFF * (1.0 + abs(t)):  # behind a jump of a law at t
        t = course.clock[TIME]
    status = method(course, BETWEEN, t)
    if status != DONE:
        return status
    place = course.place
    if course.counts[EVALUATED] == 1:
        call(course.calls[NORMALIZE], place[COMMON], place[AT], place[AT], t, 0.0, 0.0)
        if course.calls[ACCEPTED] >= 0:
            call(course.calls[ACCEPTED], place[MODEL], place[AT], place[AT], t, 0.0, 0.0)
        call(course.calls[DERIVATIVE], place[MODEL], place[AT], place[AT], t, 0.0, 0.0)
    else:
        look(course, AT, t)
    out.t[i] = told
    out.step[i] = course.clock[TIME] - course.clock[BEGUN]
    copy(at.q, out.q[i])
    copy(at.s, out.s[i])
    copy(at.sd, out.sd[i])
    copy(at.lam, out.lam[i])
    copy(at.z, out.z[i])
    copy(at.w, out.work[i])
    out.drift[i, 0] = largest(exchange.gs[0])
    out.drift[i, 1] = largest(exchange.gs[1])
    for a in range(out.beta.shape[1]):
        out.beta[i, a] = exchange.beta[a]
    for k in range(out.contact.shape[1]):
        for c in range(3):
            out.contact[i, k, c] = course.contact.told[k, c] if course.contact.rigid[k] == 1 else 0.0
    return DONE


@part
def advance(course, t):
    """Steps until time t is reached. Returns `STEPPED` where Python is to look: at an event, or after `PAUSE` steps."""
    while ahead(course.clock, t):
        status = step(course)
        if status != DONE:
            return status
        sample(course)
        crossed = 0
        if course.counts[WATCHED] == 1:
            place = course.place
            crossed = call(course.calls[EVENTS], place[COMMON], place[NOW], place[NOW], course.clock[TIME], 1.0, 0.0)
            if crossed == NOT_FINITE:
                return NOT_FINITE
        if crossed == STEPPED or course.counts[PAUSED] == 1 or course.counts[STEPS] % PAUSE == 0:
            course.counts[PAUSED] = 0
            return STEPPED
    return DONE


@entry
def march(course, first_course, second_course, first, last, until):
    """Steps until the outputs first … last−1 are there, and time ``until`` is reached; counts[REACHED] tells how far it came."""
    for i in range(int(first), int(last)):
        course.counts[REACHED] = i
        status = advance(course, course.times[i])
        if status == DONE:
            status = record(course, i, course.times[i])
        if status != DONE:
            return status
    course.counts[REACHED] = int(last)
    return advance(course, until)


@entry
def state_at(course, first_course, second_course, t, none, nothing):
    """The state at a time of the last step, into ``at``."""
    method(course, BETWEEN, t)
    call(course.calls[NORMALIZE], course.place[COMMON], course.place[AT], course.place[AT], t, 0.0, 0.0)
    return DONE
