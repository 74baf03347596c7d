"""Log of impacts, stored by a compiled method until Python collects them.

Time (s), impulse p (N s) and the energy −½ p · (U⁻ + U⁺) (J) lost in each. Theory: docs/theory.md,
sections 42 and 49.
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import part
from flexmbs._jit.scalars import Scalars
from flexmbs.errors import InputError

MOST_LOGGED = 1000
# columns of the log
LOG_CONTACT, LOG_TIME, LOG_IMPULSE, LOG_LOST, LOG_WIDTH = 0, 1, 2, 5, 6
TOO_MANY = -2  # too many impacts, instead of a number of sweeps

SIMULTANEOUS, SEQUENTIAL = "simultaneous", "sequential"  # laws for simultaneous impacts
# of the speed of approach: a larger difference means that velocities depend on this law
DIFFERENT = 0.05

ImpactRow = tuple[int, float, tuple[float, float, float], float]


def check_multiple(value: str | None) -> None:
    """Raise `InputError` unless ``multiple_impacts`` names a law of impact."""
    if value not in (None, SIMULTANEOUS, SEQUENTIAL):
        raise InputError(
            f"integrator.multiple_impacts: {value!r} is not {SIMULTANEOUS!r} or {SEQUENTIAL!r}"
        )


class ImpactCounts(Scalars):
    """Numbers of impacts."""

    logged: int
    reduced: int  # with less restitution, which would have added energy
    sweeps: int  # most of one
    frictionless: int  # of those reduced
    undecided: int  # whose velocities depend on the law for several at once
    lifted: int  # steps in which a contact `lifts_off`


@part
def rough(contact, m):
    """True if one of the m contacts of an impact has friction."""
    found = False
    for b in range(m):
        found = found or contact.mu[contact.row[b]] > 0.0
    return found


@part
def log_impact(log, counts, k, t, p, lost):
    """Log an impact of contact k at time t with the impulse p and the energy lost in it."""
    at = counts.logged
    log[at, LOG_CONTACT] = k
    log[at, LOG_TIME] = t
    for c in range(3):
        log[at, LOG_IMPULSE + c] = p[c]
    log[at, LOG_LOST] = lost
    counts.logged = at + 1


class Undecided(NamedTuple):
    """Simultaneous impacts whose velocities depend on the law for such impacts."""

    number: int
    t: float  # of the first one (s)
    difference: float  # largest, of velocities over the speed of approach
    law: str  # that of the run
    chosen: bool  # by the user


def undecided_impacts(
    counts: ImpactCounts, record: np.ndarray, law: str | None
) -> Undecided | None:
    """Record of simultaneous impacts whose result depends on the law; None if none.

    record (2,): that of `note_undecided`.
    """
    if not counts.undecided:
        return None
    return Undecided(
        counts.undecided,
        float(record[0]),
        float(record[1]),
        law or SIMULTANEOUS,
        law is not None,
    )


@part
def note_undecided(counts, record, t, spread, speed):
    """Count an impact at time t whose velocities depend on the law.

    speed: that of approach. spread: difference of the velocities by both laws (m/s).
    """
    if spread > DIFFERENT * speed:
        if counts.undecided == 0:
            record[0] = t
        record[1] = max(record[1], spread / speed)
        counts.undecided += 1


def reduction_notes(counts: ImpactCounts, times: str) -> list[str]:
    """Notes on how often restitution was reduced to conserve energy.

    times: the steps or impacts that are counted.
    """
    smooth, rough = counts.frictionless, counts.reduced - counts.frictionless
    notes = []
    if rough:
        text = "restitution was reduced where it would have added energy, with friction"
        notes = [
            f"contacts: in {rough} {times} {text}; in Newton's law a "
            "tangential_restitution equal to restitution avoids it"
        ]
    if smooth:
        text = "restitution was reduced where several contacts at once would have added energy"
        notes.append(
            f"contacts: in {smooth} {times} {text}; one coefficient for all of them, or "
            "Poisson's law, avoids it"
        )
    return notes


def taken_impacts(log: np.ndarray, counts: ImpactCounts) -> list[ImpactRow]:
    """Remove and return all logged impacts: (contact, time, impulse, energy lost)."""
    rows = log[: counts.logged]
    counts.logged = 0
    return [
        (
            int(row[LOG_CONTACT]),
            float(row[LOG_TIME]),
            (float(row[2]), float(row[3]), float(row[4])),
            float(row[LOG_LOST]),
        )
        for row in rows
    ]
