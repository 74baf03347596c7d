"""Samples of a run for its audit.

States at ends of steps, and the work within some steps at points that no method uses.

    W_G = ½ h Σ± P(t + h (½ ± √3/6))

is the work of a step by Gauss's rule with two points, on the method's own dense output: it differs
for forces that change within the step unnoticed by the method. Theory: docs/theory.md, section 54.
"""

from flexmbs._jit import called, part
from flexmbs.algebra.small import largest
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    OPEN,
    call_method,
    canonical,
    copy,
    normalize,
    residual,
    take,
)

GAUSS = (0.21132486540518713, 0.7886751345948129)
SPREAD = 0.6180339887498949  # golden ratio − 1: gives irregular times
# places in a row of `Samples.work`
BY_METHOD, BY_GAUSS, SAMPLED_T, SAMPLED_H, WORKS = 0, 2, 4, 5, 6


@part
def closed(contact):
    """Number of rigid contacts that carry forces."""
    count = 0
    for c in range(contact.mode.shape[0]):
        if contact.rigid[c] == 1 and contact.mode[c] != OPEN:
            count += 1
    return count


@part
def sampled_time(context):
    """``at`` ← the end of the last step, and its time.

    Or the state within it, if the equations hold there and not at its end.
    """
    clock = context.clock
    if clock.holds == 0.0:
        take(context.state, context.at)
    t = clock.begun + clock.holds * (clock.time - clock.begun) if clock.holds else clock.time
    canonical(context, AT, t)
    return t


@part
def keep_sample(context, k, t):
    """Store ``at`` as sample k."""
    samples, point = context.samples, context.at
    samples.t[k] = t
    copy(point.q, samples.q[k])
    copy(point.s, samples.s[k])
    copy(point.sd, samples.sd[k])
    copy(point.lam, samples.lam[k])
    copy(point.z, samples.z[k])
    for a in range(samples.beta.shape[1]):
        samples.beta[k, a] = context.exchange.beta[a]
    samples.closed[k] = closed(context.contact)


@called
def work_within(context, k):
    """Works (J) of forces and of losses in the last step, by two quadrature rules.

    By the method and by Gauss's rule. ``at`` is workspace. Theory, section 54.
    """
    clock, state, start, at = context.clock, context.state, context.start, context.at
    row = context.samples.work[k]
    begun, h = clock.begun, clock.time - clock.begun
    for x in GAUSS:
        t = begun + x * h
        if call_method(context, context.calls.between, t) != DONE:
            return 0
        normalize(context, AT)
        residual(context, AT, t, False)
        row[BY_GAUSS] += 0.5 * h * at.powers.forces
        row[BY_GAUSS + 1] += 0.5 * h * at.powers.loss
    row[BY_METHOD] = state.works.forces - start.works.forces
    row[BY_METHOD + 1] = state.works.loss - start.works.loss
    row[SAMPLED_T], row[SAMPLED_H] = clock.time, h
    return 0


@part
def sample(context):
    """Store the end of a step for the audit if it is due or has the largest acceleration yet.

    It is due if it is the first in its part of the run.
    """
    samples, passed = context.samples, context.clock.time / context.clock.end
    last = samples.t.shape[0] - 1
    k = min(int(last * passed), last - 1)
    due, size = samples.t[k] < 0.0, largest(context.state.sd)
    # with closed contacts the audit cannot use it, and an impulse over a step would exceed all
    larger = size > samples.largest[0] and closed(context.contact) == 0
    if (due or larger) and context.clock.holds >= 0.0:
        t = sampled_time(context)
        if due:
            keep_sample(context, k, t)
        if larger:
            keep_sample(context, last, t)
    if larger:
        samples.largest[0] = size
    count = samples.work.shape[0]
    place, next_place = (
        count * passed,
        count * (2.0 * context.clock.time - context.clock.begun) / context.clock.end,
    )
    k = min(int(place), count - 1)
    # equal times would always meet periodic forces in the same phase
    irregular = 0.8 * ((SPREAD * k) % 1.0)
    chosen = place >= k + irregular or next_place >= k + 1.0
    if chosen and samples.work[k, SAMPLED_H] == 0.0 and closed(context.contact) == 0:
        work_within(context, k)
