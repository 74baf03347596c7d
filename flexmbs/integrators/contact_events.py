"""Events of contacts within a step of `flexmbs.integrators.event_driven`.

A gap closes, or slip reverses. The state functions are the gap g_N of an open contact and γ_T ·
slip of a slipping one. They are evaluated on the continuous method of order 4 at some times within
the step, and where the gap is least; zeros are located by bisection and regula falsi. The records
are `flexmbs.integrators.event_driven.Memory` and `flexmbs.integrators.run_context.RunContext`.

Theory: docs/theory.md, section 43. Acary and Brogliato, Numerical Methods for Nonsmooth Dynamical
Systems (2008), chapter 8 (event-driven schemes).
"""

import math

from flexmbs._jit import called, part
from flexmbs.integrators import dormand_prince as dp
from flexmbs.integrators.missed_contacts import GAP_NOW, evaluate_contacts, may_dip, note_gaps
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    OPEN,
    SLIPPING,
    SLIPS,
    normalize,
)

EVALUATIONS_OF_GAPS = 8  # times within a step at which gaps are evaluated
NEAR = 1e-13  # of a step: two events at the same time
UNDEFINED = -1.0  # instead of a fraction of the step: a gap is not finite


@part
def state_in_step(memory, context, x, h):
    """``at`` ← the state at the fraction x of the step h, interpolated with order 4."""
    dp.within(memory.dense, h, x, context.start.y, memory.k, context.at.y)
    normalize(context, AT)


@part
def watched_gap(memory, context, k):
    """True if contact k is rigid and open in this step."""
    return context.contact.rigid[k] == 1 and memory.mode[k] == OPEN


@called
def dip(memory, context, k, low, high, h):
    """Fraction of the step in [low, high] at which contact k is closed, by minimizing its gap.

    Where its gap is least, or where it changes sign; −1 if it stays open.
    """
    contact = context.contact
    sinks = contact.recent[k, GAP_NOW] < 0.0
    for _ in range(60):
        x = 0.5 * (low + high)
        if not low < x < high:
            return -1.0
        values(memory, context, x, h, memory.last)
        if memory.last[k] < 0.0:
            return x
        if contact.gap[k] < 0.0 if sinks else contact.rate[k, 0] > 0.0:
            high = x
        else:
            low = x
    return -1.0


@part
def values(memory, context, x, h, out):
    """out ← state functions of all contacts at the fraction x of the step.

    The gap of an open contact, above that at which it separates if this is below zero; γ_T · slip
    of a slipping one; for dry friction that sticks the margin of the rate to slipping; otherwise 1.
    """
    contact = context.contact
    state_in_step(memory, context, x, h)
    finite = evaluate_contacts(context, AT, context.clock.time + x * h) == DONE
    for k in range(out.shape[0]):
        out[k] = 1.0 if finite else math.nan
        if not finite:
            continue
        if contact.rigid[k] == 0:
            continue
        if memory.mode[k] == OPEN:
            out[k] = 1.0 if contact.outside[k] != 0.0 else contact.gap[k] - memory.sunk[k]
        elif memory.mode[k] == SLIPS and contact.mu[k] > 0.0:
            out[k] = contact.rate[k, 1] * memory.slip[k, 0] + contact.rate[k, 2] * memory.slip[k, 1]
        elif contact.dry[k] == 1:
            out[k] = SLIPPING - abs(contact.rate[k, 1])  # margin before it slips


@part
def root(memory, context, k, low, high, h):
    """Fraction of the step in [low, high] at which state function k becomes negative.

    It is not negative at ``low`` and negative at ``high``. Bisection and regula falsi in turn.
    """
    values(memory, context, low, h, memory.last)
    a = memory.last[k]
    if a <= 0.0 and memory.sunk[k] == 0.0:
        return low
    values(memory, context, high, h, memory.last)
    b = memory.last[k]
    a = a if a > 0.0 else -b  # it separates there: its function is positive right after
    for it in range(200):
        if high - low <= 4e-16:
            break
        x = low - a * (high - low) / (b - a) if it % 3 != 2 else 0.5 * (low + high)
        if not low < x < high:
            x = 0.5 * (low + high)
        values(memory, context, x, h, memory.last)
        f = memory.last[k]
        if f == 0.0:
            return x
        if f > 0.0:
            low, a = x, f
        else:
            high, b = x, f
    return low if a <= -b else high


@part
def first_event(memory, context, h):
    """Fraction of the step at which the first contact strikes or reverses its slip, 1 if none does.

    Marks those contacts. `UNDEFINED` if a gap is not a number. Theory, section 43.
    """
    n, contact = memory.struck.shape[0], context.contact
    watched = False
    for k in range(n):
        memory.struck[k] = 0
        memory.turned[k] = 0
        slides = memory.mode[k] == SLIPS and context.contact.mu[k] > 0.0
        watched = (
            watched
            or (contact.rigid[k] == 1 and (memory.mode[k] == OPEN or slides))
            or contact.dry[k] == 1
        )
    until = 1.0
    if not watched:
        return until
    before = 0.0
    for k in range(n):
        memory.sunk[k] = 0.0
    values(memory, context, 0.0, h, memory.first)
    for k in range(n):
        # closed contacts keep their gaps up to the errors of the method: one that parts may do so
        # below zero
        if watched_gap(memory, context, k) and contact.rate[k, 0] > 0.0:
            memory.sunk[k] = min(contact.gap[k], 0.0)
    note_gaps(contact.recent, contact)
    for i in range(EVALUATIONS_OF_GAPS):
        # the first evaluations are close to the start, where short flights end
        x = 0.02 if i == 0 else 0.1 if i == 1 else 0.1 + 0.15 * (i - 1)
        values(memory, context, x, h, memory.first)
        if memory.first[0] != memory.first[0]:
            return UNDEFINED
        note_gaps(contact.recent, contact)
        found = False
        for k in range(n):
            if contact.gap[k] >= 0.0:
                memory.sunk[k] = 0.0
            memory.until[k] = x if memory.first[k] < 0.0 else -1.0
            if (
                memory.first[k] >= 0.0
                and watched_gap(memory, context, k)
                and may_dip(contact.recent, k, (x - before) * h)
            ):
                memory.until[k] = dip(memory, context, k, before, x, h)
            found = found or memory.until[k] > 0.0
        if found:
            for k in range(n):
                if memory.until[k] > 0.0:
                    at = root(memory, context, k, before, memory.until[k], h)
                    if at < until - NEAR:
                        for l in range(k):
                            memory.struck[l] = 0
                            memory.turned[l] = 0
                    if at <= until + NEAR:
                        until = min(until, at)
                        if memory.mode[k] == OPEN:
                            memory.struck[k] = 1
                        else:
                            memory.turned[k] = 1
            return until
        before = x
    return until
