"""Fast contacts of Moreau and Jean's time stepping.

They close within a step over which their normal turns. The rows of a contact are those at the end
of the step. If bodies move far within it relative to the size of the contact, these rows belong to
another position: a ball that has passed another one separates from it. A contact that is open at
the start of a step h is fast if it can close, g ≤ 5/4 h |γ|, and along the prediction q₀ ⊕ h s₀

    |γ_N(q₀ ⊕ h s₀, s₀) − γ_N(q₀, s₀)| > ε |γ|,   or   −½ h γ_N > ε R and g + h γ_N ≤ 0,

with the size R of the contact; also if it may be within its bounds only in a part of the step. It
takes no part in the step, whose path is searched for the first zero of its gap. There the step
ends; the impact takes a step of length 10⁻⁸ h, and the rest of the step follows, divided again if
another contact strikes.

Theory: docs/theory.md, section 42. The records are `flexmbs.integrators.moreau_jean.Memory` and
`flexmbs.integrators.run_context.RunContext`. Acary and Brogliato, Numerical Methods for Nonsmooth
Dynamical Systems (2008), section 8.1 (location of events); Mirtich (1996), Impulse-based dynamic
simulation of rigid body systems, for bounds of the time of impact.
"""

import math

from flexmbs._jit import called, part
from flexmbs.integrators.missed_contacts import (
    FASTER,
    MOST,
    evaluate_contacts,
    gaps_at,
    is_closed,
    may_dip,
    note_gaps,
    speed_of,
)  # fmt: skip
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    START,
    displace,
)  # fmt: skip

SHARE = 0.02  # of the size of a contact: largest gap at which an impact may take place
TURN = 0.02  # of the speed at a contact: change of the normal velocity that means a turning normal
TOUCHING = 1e-6  # of the size of a contact: a gap at which it strikes
IMPACT = 1e-8  # of the step: duration of an impact that was located
SHORTEST = 1e-11  # s, beside the time
FEWEST = 8  # least number of evaluations of gaps along a step; at most `MOST`
STRIKES = 100  # impacts of a contact within a step: more would never end
HALVINGS = 60


@part
def impact_time(clock):
    """Length (s) of the step of an impact that was located."""
    return max(IMPACT * clock.fixed, SHORTEST * (1.0 + clock.time))


@part
def touches(memory, contact, k):
    """True if contact k was located, or is nearly closed relative to its size, and approaches."""
    near = contact.gap[k] <= TOUCHING * contact.size[k] or memory.arrives[k] == 1
    return near and contact.rate[k, 0] < 0.0 and contact.outside[k] == 0.0


@part
def rests(contact, k, h):
    """True if contact k carried an impulse and hardly moves in a step h.

    It neither separates nor approaches by much in a step. Without an impulse it has just closed: the
    turn of its normal is examined then, since the size of a user function is not known.
    """
    slow = 0.5 * h * abs(contact.rate[k, 0]) <= SHARE * contact.size[k]
    return slow and contact.impulse[k, 0] > 0.0


@part
def may_close(memory, context, h):
    """Mark contacts that may close in the step by their gaps and speeds; True if any.

    Gaps and velocities at the start must be up to date.
    """
    contact = context.contact
    found = False
    for k in range(contact.gap.shape[0]):
        reach = FASTER * h * speed_of(contact, k) + 0.5 * h * h * contact.weight[k]
        near = contact.rigid[k] == 1 and contact.gap[k] <= reach and not rests(contact, k, h)
        memory.fast[k] = 1 if near or memory.arrives[k] == 1 else 0
        found = found or memory.fast[k] == 1
    return found


@called
def fast_contacts(memory, context, h):
    """memory.fast (n,) ← 1 for contacts that move by their size in a step h; their number.

    Gaps and velocities at the start must be up to date, also in memory.gap and memory.rate. ``at``
    is workspace. Theory, section 42.
    """
    contact, start, at = context.contact, context.start, context.at
    if not may_close(memory, context, h):
        return 0
    for k in range(contact.gap.shape[0]):
        memory.bounds[k] = contact.outside[k]
    for a in range(start.s.shape[0]):
        at.d[a] = h * start.s[a]
        at.s[a] = start.s[a]
    displace(context, AT, START)
    finite = evaluate_contacts(context, AT, context.clock.time + h) == DONE
    count = 0
    for k in range(contact.gap.shape[0]):
        if memory.fast[k] == 0:
            continue
        approach = memory.rate[k, 0]
        turn = abs(contact.rate[k, 0] - approach)
        speed = 0.0
        for c in range(3):
            speed += memory.rate[k, c] ** 2
        speed = math.sqrt(speed)
        deep = -0.5 * h * approach > SHARE * contact.size[k] and memory.gap[k] + h * approach <= 0.0
        beside = memory.bounds[k] + contact.outside[k] > 0.0 and h * speed > SHARE * contact.size[k]
        if turn <= TURN * speed and finite and not deep and not beside and memory.arrives[k] == 0:
            memory.fast[k] = 0
        count += memory.fast[k]
    evaluate_contacts(context, START, context.clock.time)
    return count


@called
def bracket(context, k, low, high):
    """A time in [low, high] at which contact k is closed, by bisection for its least gap.

    ``high`` + 1 if it stays open. The gap is least where its rate changes sign.
    """
    contact = context.contact
    end = high
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if not low < t < high:
            break
        if not gaps_at(context, t) or is_closed(contact, k):
            return t
        if contact.rate[k, 0] > 0.0:
            high = t
        else:
            low = t
    return end + 1.0


@called
def crossing(context, k, low, high):
    """Last time in [low, high] at which contact k is open, by bisection.

    It is open at ``low`` and closed at ``high``.
    """
    contact = context.contact
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if not low < t < high:
            break
        if not gaps_at(context, t) or is_closed(contact, k):
            high = t
        else:
            low = t
    return low


@part
def evaluations(memory, context, h):
    """Number of gap evaluations along the step: four for each size a fast contact moves."""
    contact = context.contact
    count = 1.0 * FEWEST
    for k in range(contact.gap.shape[0]):
        if memory.fast[k] == 1:
            count = max(count, 4.0 * h * speed_of(contact, k) / contact.size[k])
    return int(min(count, 1.0 * MOST))


@called
def first_closing(memory, context, h):
    """Length of the step, at most h, after which the first fast contact closes; h if none does.

    The step ends at ``state``; the contacts are evaluated at its start. ``at`` is workspace.
    Theory, section 42.
    """
    clock, contact, seen = context.clock, context.contact, memory.seen
    begun, before = clock.time, clock.begun
    count = evaluations(memory, context, h)
    note_gaps(seen, contact)
    for k in range(contact.gap.shape[0]):
        # 1: open
        memory.bounds[k] = 1.0 if contact.gap[k] > 0.0 or contact.outside[k] != 0.0 else 0.0
    clock.begun, clock.time = begun, begun + h
    first = begun + h
    low = begun
    for i in range(count):
        high = begun + h * (i + 1) / count
        finite = gaps_at(context, high)
        note_gaps(seen, contact)
        for k in range(contact.gap.shape[0]):
            memory.until[k] = -1.0  # open
            if memory.fast[k] == 0:
                continue
            closed = not finite or is_closed(contact, k)
            if closed and memory.bounds[k] == 1.0:
                memory.until[k] = high
            elif not closed and may_dip(seen, k, high - low):
                memory.until[k] = 0.0  # to be searched for
            memory.bounds[k] = 0.0 if closed else 1.0
        for k in range(contact.gap.shape[0]):
            if memory.until[k] == 0.0:
                memory.until[k] = bracket(context, k, low, high)
            if low < memory.until[k] <= high:
                memory.until[k] = crossing(context, k, low, memory.until[k])
                first = min(first, memory.until[k])
            else:
                memory.until[k] = begun + 2.0 * h
        if first < begun + h:
            break
        low = high
    clock.begun, clock.time = before, begun
    for k in range(contact.gap.shape[0]):
        memory.arrives[k] = (
            1 if first < begun + h and memory.until[k] <= first + impact_time(clock) else 0
        )
    return max(first - begun, impact_time(clock)) if first < begun + h else h


@part
def begin_impact(memory, context, h):
    """Mark the fast contacts that touch as striking; they are no longer fast.

    Returns the length of the step: that of an impact if there is one.
    """
    contact, clock = context.contact, context.clock
    found = False
    for k in range(contact.gap.shape[0]):
        memory.strikes[k] = 0
        if memory.fast[k] == 1 and touches(memory, contact, k):
            memory.strikes[k] = 1
            found = True
        memory.arrives[k] = 0
    if not found:
        return h
    for k in range(contact.gap.shape[0]):
        memory.fast[k] = 0
    return min(h, impact_time(clock))


@part
def count_strikes(memory, context):
    """Count the contacts that strike in the step.

    Returns the first one that strikes too often, −1 if none does.
    """
    contact = context.contact
    fresh = context.clock.next >= context.clock.fixed * (1.0 - 1e-9)
    often = -1
    for k in range(contact.gap.shape[0]):
        memory.often[k] = memory.strikes[k] + (0 if fresh else memory.often[k])
        if memory.often[k] > STRIKES:
            often = k
    return often
