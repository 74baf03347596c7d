"""Contacts that close and open within a step: bodies that pass through each other between two evaluations of their gaps.

A gap that shrinks at one evaluation and grows at the next has a minimum between them. The contact may have been closed there if
its speed v suffices for the way there and back,

    g₀ + g₁ ≤ v Δt.

The time of the minimum is found from the sign of the rate by bisection. Theory: docs/theory.md, section 43.
"""

import math
from collections.abc import Sequence

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import call
from flexmbs.integrators.run_context import (
    AT,
    BEGUN,
    BETWEEN,
    COMMON,
    CONTACTS,
    CONTEXT,
    DONE,
    HOLDS,
    MEMORY,
    NORMALIZE,
    STATE,
    TAKING,
    TIME,
    UNSEEN,
    ContactData,
)

GAP_BEFORE, RATE_BEFORE, SPEED_BEFORE, GAP_NOW, RATE_NOW, SPEED_NOW, RECENT = range(7)  # columns of ContactData.recent
FASTER = 1.25  # the velocity at a contact between two evaluations over that at them
HALVINGS = 60
CLOSED = 1e-9  # m or rad: a gap so much below zero was closed
GRAZES = 1e-4  # of the size of a rigid contact: overlaps that steps without fast contacts leave
NOTHING, REJECTS, REPORTS = range(3)  # what an unseen contact does to a step: context.counts[UNSEEN]
SHORTEST = 1e-10  # s


@part
def evaluate_contacts(context, point, t):
    """Gaps and velocities of all contacts at a point. Returns a status."""
    return call(context.calls[CONTACTS], context.records[COMMON], context.records[point], context.records[point], t, 0.0, 0.0)


@part
def note_gaps(recent, contact):
    """recent (n, 6) ← gaps, their rates and the speeds at the contacts of the last evaluation; those of the one before are
    kept."""
    for k in range(recent.shape[0]):
        for a in range(3):
            recent[k, GAP_BEFORE + a] = recent[k, GAP_NOW + a]
        recent[k, GAP_NOW], recent[k, RATE_NOW] = contact.gap[k], contact.rate[k, 0]
        recent[k, SPEED_NOW] = math.sqrt(contact.rate[k, 0] ** 2 + contact.rate[k, 1] ** 2 + contact.rate[k, 2] ** 2)


def first_evaluation(contact: ContactData) -> None:
    """The evaluation at the start."""
    contact.recent[:, GAP_NOW], contact.recent[:, RATE_NOW] = contact.gap, contact.rate[:, 0]
    contact.recent[:, SPEED_NOW] = np.linalg.norm(contact.rate, axis=1)


def unseen_notes(contact: ContactData, names: Sequence[str]) -> list[str]:
    """One line for each contact that bodies passed within a step."""
    return [
        f"contacts.{name}: closed and opened within one step at t = {t:.6g} s, which saw no force; take smaller steps"
        for name, t in zip(names, contact.unseen) if t >= 0.0
    ]  # fmt: skip


@part
def may_dip(recent, k, length):
    """True where contact k, open at the last two evaluations, may have been closed between: g₀ + g₁ ≤ v Δt.

    Also where its gap changed sign outside its bounds.
    """
    a, b = recent[k, GAP_BEFORE], recent[k, GAP_NOW]
    if a > 0.0 > b:
        return True
    # the speed between two evaluations may exceed that at both
    speed = FASTER * max(recent[k, SPEED_BEFORE], recent[k, SPEED_NOW])
    return recent[k, RATE_BEFORE] < 0.0 < recent[k, RATE_NOW] and a > 0.0 and b > 0.0 and a + b <= speed * length


@called
def dips(context, k, low, high):
    """True where contact k was closed between the times ``low`` and ``high`` of the last step; ``at`` is workspace."""
    contact, records = context.contact, context.records
    depth = max(CLOSED, GRAZES * contact.size[k]) if contact.rigid[k] == 1 else CLOSED
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if not low < t < high:
            return False
        if call(context.calls[BETWEEN], records[MEMORY], records[CONTEXT], records[CONTEXT], t, 0.0, 0.0) != DONE:
            return False
        call(context.calls[NORMALIZE], records[COMMON], records[AT], records[AT], t, 0.0, 0.0)
        evaluate_contacts(context, AT, t)
        if contact.gap[k] < -depth and contact.outside[k] == 0.0:
            return True
        if contact.rate[k, 0] > 0.0:
            high = t
        else:
            low = t
    return False


@part
def given_impulses(context, k):
    """True where the step has given contact k impulses."""
    found = False
    for b in range(context.counts[TAKING]):
        found = found or context.contact.row[b] == k
    return found


@called
def unseen(context, h):
    """The contact that was closed within the step of length h alone, −1 where there is none; the step ends at ``state``."""
    clock, contact = context.clock, context.contact
    begun, found = clock[TIME], -1
    evaluate_contacts(context, STATE, begun + h)
    note_gaps(contact.recent, contact)
    for k in range(contact.recent.shape[0]):
        open_ = contact.recent[k, GAP_NOW] > 0.0 and not given_impulses(context, k)
        if found < 0 and open_ and may_dip(contact.recent, k, h):
            clock[BEGUN], clock[TIME] = begun, begun + h
            clock[HOLDS] = -abs(clock[HOLDS])
            if dips(context, k, begun, begun + h):
                found = k
            clock[TIME] = begun
            evaluate_contacts(context, STATE, begun + h)  # what is committed is of the end of the step
    return found


@part
def forget(contact):
    """The step was not accepted: the evaluation before it becomes the last one."""
    for k in range(contact.recent.shape[0]):
        for a in range(3):
            contact.recent[k, GAP_NOW + a] = contact.recent[k, GAP_BEFORE + a]


@part
def passes(context, h):
    """Whether the step is rejected because bodies pass through each other in it; methods of fixed step only record the time."""
    what, contact = context.counts[UNSEEN], context.contact
    if what == NOTHING:
        return False
    k = unseen(context, h)
    if k < 0:
        return False
    if what == REJECTS and h > SHORTEST * (1.0 + context.clock[TIME]):
        forget(contact)
        return True
    if contact.unseen[k] < 0.0:
        contact.unseen[k] = context.clock[TIME]
    return False
