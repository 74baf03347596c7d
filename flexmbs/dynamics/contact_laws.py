"""Contact forces by laws: their power and slopes, whatever the law."""

import math

from flexmbs._jit import part
from flexmbs.dynamics.law_calls import call_law
from flexmbs.system.records import (
    CO_COUPLING, CO_MU, CO_PLACE, COVECTORS, GAP, GAP_FORCE, GAP_RATE, POWER_FORCES, POWER_LOSS,
)  # fmt: skip


@part
def law_force(contacts, contact, workspace, power, k):
    """Force (N, T₁, T₂) of contact k by its law into ``contact``, its power into the account; workspace.x keeps what the law was
    given."""
    x, out = workspace.x, workspace.out
    rate = contact[k, GAP_RATE]
    u, v = contact[k, GAP_RATE + 1], contact[k, GAP_RATE + 2]
    x[0] = contact[k, GAP]
    x[1] = rate
    x[2] = u
    x[3] = v
    x[4] = contacts.value[k, CO_MU]
    call_law(contacts.info[k, CO_PLACE], contacts.law[k], workspace, 4, 0.0)
    normal, elastic, t, b = out[0], out[1], out[2], out[3]
    contact[k, GAP_FORCE] = normal
    contact[k, GAP_FORCE + 1] = t
    contact[k, GAP_FORCE + 2] = b
    power[POWER_FORCES] += elastic * rate
    power[POWER_LOSS] += (elastic - normal) * rate - t * u - b * v


@part
def law_slopes(contacts, contact, workspace, slopes, k):
    """Stiffness and damping of contact k, just evaluated, on the relative twist of its frames, of their coupling."""
    call_law(contacts.info[k, CO_PLACE], contacts.law[k], workspace, 4, 1.0)
    kg, kr, along, across = workspace.out[0], workspace.out[1], workspace.out[2], workspace.out[3]
    at = contacts.info[k, CO_COUPLING]
    u, v = contact[k, GAP_RATE + 1], contact[k, GAP_RATE + 2]
    speed = math.sqrt(u * u + v * v)
    u, v = (u / speed, v / speed) if speed > 0.0 else (1.0, 0.0)
    for i in range(6):
        n, t, b = contact[k, COVECTORS + i], contact[k, COVECTORS + 6 + i], contact[k, COVECTORS + 12 + i]
        p, c = u * t + v * b, u * b - v * t  # covectors along and across the slip
        for j in range(6):
            nj, tj, bj = contact[k, COVECTORS + j], contact[k, COVECTORS + 6 + j], contact[k, COVECTORS + 12 + j]
            slopes[at, i, j] = kg * n * nj
            slopes[at, 6 + i, j] = kr * n * nj + along * p * (u * tj + v * bj) + across * c * (u * bj - v * tj)
