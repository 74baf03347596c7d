"""Contacts that close and open within a step: bodies that pass through each other between two looks at their gaps.

A gap that shrinks at one look and grows at the next was least between. It may have been closed where the speed at the contact
could take it there and back: gap₀ + gap₁ ≤ v Δt. Then the place where it is least is searched, by the sign of its rate.
"""

import math
from collections.abc import Sequence

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import call
from flexmbs.integrators.course import (
    AT,
    BEGUN,
    BETWEEN,
    COMMON,
    CONTACTS,
    COURSE,
    DONE,
    HOLDS,
    MEMORY,
    NORMALIZE,
    NOW,
    TAKING,
    TIME,
    UNSEEN,
    ContactData,
)

GAP_BEFORE, RATE_BEFORE, SPEED_BEFORE, GAP_NOW, RATE_NOW, SPEED_NOW, LOOK = range(7)  # places in ContactData.look
FASTER = 1.25  # the velocity at a contact between two looks, over that at them
HALVINGS = 60
CLOSED = 1e-9  # m or rad: a gap so much below zero was closed
NOTHING, REJECTS, TELLS = range(3)  # what an unseen contact does to a step: course.counts[UNSEEN]
SHORTEST = 1e-10  # s


@part
def look_at(course, point, t):
    """Gaps and velocities of all contacts at a point."""
    call(course.calls[CONTACTS], course.place[COMMON], course.place[point], course.place[point], t, 0.0, 0.0)


@part
def note_gaps(contact):
    """Gaps, their rates and the speeds at the contacts of the last look, those of the look before kept."""
    look = contact.look
    for k in range(look.shape[0]):
        for a in range(3):
            look[k, GAP_BEFORE + a] = look[k, GAP_NOW + a]
        look[k, GAP_NOW], look[k, RATE_NOW] = contact.gap[k], contact.rate[k, 0]
        look[k, SPEED_NOW] = math.sqrt(contact.rate[k, 0] ** 2 + contact.rate[k, 1] ** 2 + contact.rate[k, 2] ** 2)


def first_look(contact: ContactData) -> None:
    """That at the start."""
    contact.look[:, GAP_NOW], contact.look[:, RATE_NOW] = contact.gap, contact.rate[:, 0]
    contact.look[:, SPEED_NOW] = np.linalg.norm(contact.rate, axis=1)


def unseen_notes(contact: ContactData, names: Sequence[str]) -> list[str]:
    """One line for each contact that bodies passed within a step."""
    return [
        f"contacts.{name}: closed and opened within one step at t = {t:.6g} s, which saw no force; take smaller steps"
        for name, t in zip(names, contact.unseen) if t >= 0.0
    ]  # fmt: skip


@part
def may_dip(look, k, length):
    """May contact k, open at the last two looks, have been closed between? Or its gap changed sign beside its bounds."""
    a, b = look[k, GAP_BEFORE], look[k, GAP_NOW]
    if a > 0.0 > b:
        return True
    speed = FASTER * max(look[k, SPEED_BEFORE], look[k, SPEED_NOW])
    return look[k, RATE_BEFORE] < 0.0 < look[k, RATE_NOW] and a > 0.0 and b > 0.0 and a + b <= speed * length


@called
def dips(course, k, low, high):
    """Was contact k closed between the times ``low`` and ``high`` of the last step? ``at`` is scratch."""
    contact, place = course.contact, course.place
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        if not low < t < high:
            return False
        if call(course.calls[BETWEEN], place[MEMORY], place[COURSE], place[COURSE], t, 0.0, 0.0) != DONE:
            return False
        call(course.calls[NORMALIZE], place[COMMON], place[AT], place[AT], t, 0.0, 0.0)
        look_at(course, AT, t)
        if contact.gap[k] < -CLOSED and contact.beside[k] == 0.0:
            return True
        if contact.rate[k, 0] > 0.0:
            high = t
        else:
            low = t
    return False


@part
def given_impulses(course, k):
    """Has the step given contact k impulses?"""
    found = False
    for b in range(course.counts[TAKING]):
        found = found or course.contact.row[b] == k
    return found


@called
def unseen(course, h):
    """The contact that was closed within the step of length h alone, −1 where there is none; the step ends at ``now``."""
    clock, contact = course.clock, course.contact
    begun, found = clock[TIME], -1
    look_at(course, NOW, begun + h)
    note_gaps(contact)
    for k in range(contact.look.shape[0]):
        open_ = contact.look[k, GAP_NOW] > 0.0 and not given_impulses(course, k)
        if found < 0 and open_ and may_dip(contact.look, k, h):
            clock[BEGUN], clock[TIME] = begun, begun + h
            clock[HOLDS] = -abs(clock[HOLDS])
            if dips(course, k, begun, begun + h):
                found = k
            clock[TIME] = begun
            look_at(course, NOW, begun + h)  # what is committed is of the end of the step
    return found


@part
def forget(contact):
    """The step was not accepted: the look before it is the last one."""
    for k in range(contact.look.shape[0]):
        for a in range(3):
            contact.look[k, GAP_NOW + a] = contact.look[k, GAP_BEFORE + a]


@part
def passes(course, h):
    """Is the step to be refused because bodies pass through each other in it? Methods that cannot take it back tell it."""
    what, contact = course.counts[UNSEEN], course.contact
    if what == NOTHING:
        return False
    k = unseen(course, h)
    if k < 0:
        return False
    if what == REJECTS and h > SHORTEST * (1.0 + course.clock[TIME]):
        forget(contact)
        return True
    if contact.unseen[k] < 0.0:
        contact.unseen[k] = course.clock[TIME]
    return False
