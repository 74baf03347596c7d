"""The log of impacts that a compiled method keeps until Python takes them: time (s), impulse p (N s) and the energy −½ p ·
(U⁻ + U⁺) (J) lost in each. Theory: docs/theory.md, sections 42 and 49.
"""

import numpy as np

from flexmbs._jit import part

MOST_LOGGED = 1000
# columns of the log; indices into the counts
LOG_CONTACT, LOG_TIME, LOG_IMPULSE, LOG_LOST, LOG_WIDTH = 0, 1, 2, 5, 6
LOGGED, REDUCED, SWEEPS = range(3)
TOO_MANY = -2  # impacts, in place of a number of sweeps

ImpactRow = tuple[int, float, tuple[float, float, float], float]


@part
def log_impact(log, counts, k, t, p, lost):
    """Impact of contact k at time t with the impulse p and the energy lost in it."""
    at = counts[LOGGED]
    log[at, LOG_CONTACT] = k
    log[at, LOG_TIME] = t
    for c in range(3):
        log[at, LOG_IMPULSE + c] = p[c]
    log[at, LOG_LOST] = lost
    counts[LOGGED] = at + 1


def reduction_notes(counts: np.ndarray, times: str) -> list[str]:
    """A note on how often restitution was reduced; ``times``: the steps or impacts that are counted."""
    reduced = int(counts[REDUCED])
    if not reduced:
        return []
    text = "restitution was reduced where it would have added energy, with friction"
    return [f"contacts: in {reduced} {times} {text}; in Newton's law a tangential_restitution equal to restitution avoids it"]


def taken_impacts(log: np.ndarray, counts: np.ndarray) -> list[ImpactRow]:
    """(contact, time, impulse, energy lost) of the impacts in the log, which is empty then."""
    rows = log[: int(counts[LOGGED])]
    counts[LOGGED] = 0
    return [
        (int(row[LOG_CONTACT]), float(row[LOG_TIME]), (float(row[2]), float(row[3]), float(row[4])), float(row[LOG_LOST]))
        for row in rows
    ]
