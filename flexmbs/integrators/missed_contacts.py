"""Contacts that close and open within a step.

Bodies could pass through each other between two evaluations of their gaps. A gap that shrinks at
one evaluation and grows at the next has a minimum between them. The contact may have been closed
there if its speed v suffices for the distance there and back,

    g₀ + g₁ ≤ v Δt.

The time of the minimum is found from the sign of the rate by bisection. If bodies move by more than
a quarter of the size of the contact in a step, their gaps are evaluated within it, too. Controlled
steps are halved until they detect the contact. Fixed steps h are divided if a contact with a force
law closes only within them, also as predicted by the velocities at their start, g₀ + h γ_N ≤ 0, or
if they do not resolve its impact of depth δ and angular frequency ω,

    (h ω)² = h |Δγ_N|/δ > 0.005,

and grow again after it. Theory: docs/theory.md, section 43. Acary and Brogliato, Numerical Methods
for Nonsmooth Dynamical Systems (2008), section 8.1 (location of events).
"""

import math
from collections.abc import Sequence

import numpy as np

from flexmbs._jit import called, part
from flexmbs.integrators.run_context import (
    AT,
    DONE,
    STATE,
    ContactData,
    call_common,
    call_method,
    normalize,
)

# columns of ContactData.recent; OUT: 1 outside of the bounds of the contact
GAP_BEFORE, RATE_BEFORE, SPEED_BEFORE, OUT_BEFORE, GAP_NOW, RATE_NOW, SPEED_NOW, OUT_NOW, RECENT = (
    range(9)
)
NOTED = 4  # numbers of an evaluation
FASTER = 1.25  # bound of the velocity at a contact between two evaluations over that at these
HALVINGS = 60
CLOSED = 1e-9  # m or rad: a contact with a gap below minus this is closed
GRAZES = 1e-4  # of the size of a rigid contact: overlaps that steps without fast contacts leave
# what an unseen contact does to a step: context.counts.unseen
NOTHING, REJECTS, DIVIDES = range(3)
SHORTEST = 1e-10  # s
# (h ω)²: about 45 steps over an impact, energy balanced to 1e-3 by methods of order 2
RESOLVED = 0.005
SHALLOW = 1e-6  # of the size of a contact: lower bound of the depth
# acceleration of a gap over gravity: below, a contact is at rest, and its vibrations need not be
# resolved
WEIGHTS = 2.0
SHORTEST_PART = 2.0**-16  # of a fixed step
LONGER = 2.0  # the next part of a divided step over this one, at most
FULLER = 0.8  # of the factor that (h ω)² allows
MOST = 64  # evaluations of gaps within a step


@part
def evaluate_contacts(context, point, t):
    """Gaps and velocities of all contacts at a point; returns a status."""
    return call_common(context, context.calls.contacts, point, t, 0.0)


@part
def gaps_at(context, t):
    """Gaps and velocities of all contacts at a time of the last step, in ``at``.

    Returns True if they are finite.
    """
    call_method(context, context.calls.between, t)
    normalize(context, AT)
    return evaluate_contacts(context, AT, t) == DONE


@part
def is_closed(contact, k):
    """True if contact k has a negative gap, within its bounds, in the last evaluation."""
    return contact.gap[k] < 0.0 and contact.outside[k] == 0.0


@part
def speed_of(contact, k):
    """Relative speed (m/s) of the bodies at contact k."""
    return math.sqrt(contact.rate[k, 0] ** 2 + contact.rate[k, 1] ** 2 + contact.rate[k, 2] ** 2)


@part
def note_gaps(recent, contact):
    """recent (n, RECENT) ← gaps, gap rates and speeds of the last evaluation.

    Those of the previous evaluation are kept.
    """
    for k in range(recent.shape[0]):
        for a in range(NOTED):
            recent[k, GAP_BEFORE + a] = recent[k, GAP_NOW + a]
        recent[k, GAP_NOW], recent[k, RATE_NOW] = contact.gap[k], contact.rate[k, 0]
        recent[k, SPEED_NOW], recent[k, OUT_NOW] = speed_of(contact, k), contact.outside[k]


def first_evaluation(contact: ContactData) -> None:
    """Store gaps and speeds at the start of the run."""
    contact.recent[:, GAP_NOW], contact.recent[:, RATE_NOW] = contact.gap, contact.rate[:, 0]
    contact.recent[:, SPEED_NOW], contact.recent[:, OUT_NOW] = (
        np.linalg.norm(contact.rate, axis=1),
        contact.outside,
    )


def unseen_notes(contact: ContactData, names: Sequence[str]) -> list[str]:
    """Warnings for contacts that bodies passed through within a step."""
    return [
        f"contacts.{name}: closed and opened within one step at t = {t:.6g} s, without "
        "contact force; use smaller steps"
        for name, t in zip(names, contact.unseen)
        if t >= 0.0
    ]


@part
def may_dip(recent, k, length):
    """True if contact k may have been closed between the last two evaluations: g₀ + g₁ ≤ v Δt.

    It is open at both. Also True if its gap changed sign outside its bounds.
    """
    a, b = recent[k, GAP_BEFORE], recent[k, GAP_NOW]
    if a > 0.0 > b:
        return True
    # the speed between two evaluations may exceed that at both
    speed = FASTER * max(recent[k, SPEED_BEFORE], recent[k, SPEED_NOW])
    return (
        recent[k, RATE_BEFORE] < 0.0 < recent[k, RATE_NOW]
        and a > 0.0
        and b > 0.0
        and a + b <= speed * length
    )


@called
def dips(context, k, low, high):
    """True if contact k was closed between the times ``low`` and ``high`` of the last step.

    ``at`` is workspace.
    """
    contact = context.contact
    depth = max(CLOSED, GRAZES * contact.size[k]) if contact.rigid[k] == 1 else CLOSED
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if not low < t < high:
            return False
        if not gaps_at(context, t):
            return False
        if contact.gap[k] < -depth and contact.outside[k] == 0.0:
            return True
        if contact.rate[k, 0] > 0.0:
            high = t
        else:
            low = t
    return False


@part
def reach(contact, k, h):
    """Largest change (m) of the gap of contact k in a step of length h."""
    return h * (FASTER * max(contact.recent[k, SPEED_BEFORE], contact.recent[k, SPEED_NOW]))


@called
def closes_within(context, k, begun, h):
    """True if contact k, open at both ends of the step, is closed within it.

    It is evaluated four times per motion by its size. ``at`` and contact.within are workspace.
    """
    contact, within = context.contact, context.contact.within
    count = int(min(max(4.0 * reach(contact, k, h) / contact.size[k], 1.0), 1.0 * MOST))
    for a in range(NOTED):
        within[k, GAP_NOW + a] = contact.recent[k, GAP_BEFORE + a]
    low = begun
    for i in range(count):
        high = begun + h * (i + 1) / count
        gaps_at(context, high)
        note_gaps(within, contact)
        if i + 1 < count and contact.rigid[k] == 0 and is_closed(contact, k):
            return True
        if may_dip(within, k, high - low) and dips(context, k, low, high):
            return True
        low = high
    return False


@part
def given_impulses(context, k):
    """True if contact k received impulses in the step."""
    found = False
    for b in range(context.counts.taking):
        found = found or context.contact.row[b] == k
    return found


@part
def is_open(recent, k, gap, out):
    """True if contact k is open at an evaluation.

    gap, out: its columns in ``recent``.
    """
    return recent[k, gap] > 0.0 or recent[k, out] != 0.0


@called
def unseen(context, h, least):
    """Contact that was closed only within the step h, not at its ends; −1 if none.

    The step ends at ``state``. In steps longer than ``least`` also a contact with a force law that
    should close by its velocities.
    """
    clock, contact = context.clock, context.contact
    begun, before, found = clock.time, clock.begun, -1
    evaluate_contacts(context, STATE, begun + h)
    note_gaps(contact.recent, contact)
    for k in range(contact.recent.shape[0]):
        both = is_open(contact.recent, k, GAP_BEFORE, OUT_BEFORE) and is_open(
            contact.recent, k, GAP_NOW, OUT_NOW
        )
        if found < 0 and both and not given_impulses(context, k):
            # forces at stages of an explicit step may separate bodies before it ends
            if (
                contact.rigid[k] == 0
                and contact.recent[k, GAP_BEFORE] + h * contact.recent[k, RATE_BEFORE]
                <= 0.0
                < h - least
            ):
                found = k
                continue
            # most contacts are far apart; evaluating all for each would cost their number squared
            if contact.recent[k, GAP_BEFORE] > reach(contact, k, h):
                continue
            clock.holds = -abs(clock.holds)  # ``at`` is workspace
            clock.begun, clock.time = begun, begun + h
            if closes_within(context, k, begun, h):
                found = k
            clock.begun, clock.time = before, begun
            # what is committed is of the end of the step
            evaluate_contacts(context, STATE, begun + h)
    return found


@part
def forget(contact):
    """Restore the previous gaps after a rejected step."""
    for k in range(contact.recent.shape[0]):
        for a in range(NOTED):
            contact.recent[k, GAP_NOW + a] = contact.recent[k, GAP_BEFORE + a]


@part
def depth_at(recent, k, gap, out):
    """Penetration (m) at an evaluation, 0 if the contact is open.

    gap, out: columns of the evaluation in ``recent``.
    """
    return 0.0 if is_open(recent, k, gap, out) else -recent[k, gap]


@called
def note_depths(context, h):
    """contact.depth ← penetrations (m) in a step of length h that ends at ``state``.

    The larger one of its ends, or that where the equations hold within the step; −1 if a contact
    has closed since. ``at`` is workspace.
    """
    clock, contact = context.clock, context.contact
    recent, n, begun, before = contact.recent, contact.recent.shape[0], clock.time, clock.begun
    touched = False
    for k in range(n):
        contact.depth[k] = max(
            depth_at(recent, k, GAP_BEFORE, OUT_BEFORE), depth_at(recent, k, GAP_NOW, OUT_NOW)
        )
        touched = touched or (contact.rigid[k] == 0 and contact.depth[k] > 0.0)
    if clock.holds == 0.0 or not touched:
        return
    clock.holds = -abs(clock.holds)
    clock.begun, clock.time = begun, begun + h
    gaps_at(context, begun - clock.holds * h)
    for k in range(n):
        closes = is_open(recent, k, GAP_BEFORE, OUT_BEFORE) and contact.depth[k] > 0.0
        contact.depth[k] = -contact.gap[k] if is_closed(contact, k) else -1.0 if closes else 0.0
    clock.begun, clock.time = before, begun
    evaluate_contacts(context, STATE, begun + h)  # what is committed is of the end of the step


@part
def turn_of_impact(contact, k, h):
    """(h ω)² = h |Δγ_N|/δ: how coarsely a step h resolves an impact on contact k with a law.

    0 if it is open or at rest; twice the limit if the equations of the step miss its closing.
    """
    recent, rest = contact.recent, WEIGHTS * h * contact.weight[k]
    if contact.rigid[k] == 1:
        return 0.0
    if contact.depth[k] < 0.0:
        return 2.0 * RESOLVED if -recent[k, RATE_BEFORE] > rest else 0.0
    change = abs(recent[k, RATE_NOW] - recent[k, RATE_BEFORE])
    if contact.depth[k] == 0.0 or change <= rest:
        return 0.0
    return h * change / max(contact.depth[k], SHALLOW * contact.size[k])


@part
def unresolved(contact, h):
    """Largest (h ω)² of the contacts with force laws relative to the limit RESOLVED."""
    worst = 0.0
    for k in range(contact.recent.shape[0]):
        worst = max(worst, turn_of_impact(contact, k, h))
    return worst / RESOLVED


@part
def note_impacts(contact, h):
    """contact.struck ← longest accepted steps (s) within impacts of contacts with force laws."""
    recent = contact.recent
    for k in range(recent.shape[0]):
        within = not is_open(recent, k, GAP_BEFORE, OUT_BEFORE) and not is_open(
            recent, k, GAP_NOW, OUT_NOW
        )
        if within and turn_of_impact(contact, k, h) > 0.0:
            contact.struck[k] = max(contact.struck[k], h)


@part
def strikes_near(context, h):
    """True if a contact with a force law may strike in a step of length h.

    The step has not been evaluated.
    """
    contact, found = context.contact, False
    for k in range(contact.recent.shape[0]):
        near = contact.recent[k, GAP_NOW] <= FASTER * h * contact.recent[k, SPEED_NOW]
        found = found or (contact.rigid[k] == 0 and near)
    return found and context.counts.unseen == DIVIDES


@part
def mark_unseen(context, k):
    """Store the time of the first step in which contact k was missed."""
    if context.contact.unseen[k] < 0.0:
        context.contact.unseen[k] = context.clock.time


@part
def length_by_contacts(context, h):
    """Length of steps limited by the contacts of a step of length h.

    Below h if the step must be repeated, else the limit of the next one.
    """
    what, contact = context.counts.unseen, context.contact
    longer = LONGER * h
    if what == NOTHING:
        return longer
    shortest = SHORTEST * (1.0 + context.clock.time)
    if what == DIVIDES:
        shortest = max(shortest, SHORTEST_PART * context.clock.fixed)
    k = unseen(context, h, shortest if what == DIVIDES else h)
    if k >= 0:
        # shorter steps do not help to find impulses of rigid contacts
        if h > shortest and (what == REJECTS or contact.rigid[k] == 0):
            forget(contact)
            return max(0.5 * h, shortest)
        mark_unseen(context, k)
    if what == REJECTS:
        return longer
    note_depths(context, h)
    worst = unresolved(contact, h)
    factor = LONGER if worst <= 0.0 else min(FULLER / math.sqrt(worst), LONGER)
    if worst > 1.0 and h > shortest:
        forget(contact)
        return max(max(factor, 0.1) * h, shortest)
    note_impacts(contact, h)
    return max(max(factor, 0.5) * h, h)
