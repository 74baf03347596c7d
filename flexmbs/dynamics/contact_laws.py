"""Contact forces by laws: their power and slopes, whatever the law."""

import math

from flexmbs._jit import part
from flexmbs.dynamics.law_calls import call_law
from flexmbs.system.records import POWER_FORCES, POWER_LOSS


@part
def law_force(contacts, contact, workspace, power, k):
    """Force (N, T₁, T₂) of contact k by its law into ``contact``, its power into the account; workspace.x keeps what the law was
    given."""
    x, out = workspace.x, workspace.out
    rate = contact.velocity[k, 0]
    u, v = contact.velocity[k, 1], contact.velocity[k, 2]
    x[0] = contact.gap[k]
    x[1] = rate
    x[2] = u
    x[3] = v
    x[4] = contacts.mu[k]
    call_law(contacts.law_index[k], contacts.law[k], workspace, 4, 0.0)
    normal, elastic, t, b = out[0], out[1], out[2], out[3]
    contact.force[k, 0] = normal
    contact.force[k, 1] = t
    contact.force[k, 2] = b
    power[POWER_FORCES] += elastic * rate
    power[POWER_LOSS] += (elastic - normal) * rate - t * u - b * v


@part
def law_slopes(contacts, contact, workspace, slopes, k):
    """Stiffness and damping of contact k, just evaluated, on the relative twist of its frames, of their coupling."""
    call_law(contacts.law_index[k], contacts.law[k], workspace, 4, 1.0)
    kg, kr, along, across = workspace.out[0], workspace.out[1], workspace.out[2], workspace.out[3]
    at = contacts.coupling[k]
    u, v = contact.velocity[k, 1], contact.velocity[k, 2]
    speed = math.sqrt(u * u + v * v)
    u, v = (u / speed, v / speed) if speed > 0.0 else (1.0, 0.0)
    for i in range(6):
        n, t, b = contact.covectors[k, i], contact.covectors[k, 6 + i], contact.covectors[k, 12 + i]
        p, c = u * t + v * b, u * b - v * t  # covectors along and across the slip
        for j in range(6):
            nj, tj, bj = contact.covectors[k, j], contact.covectors[k, 6 + j], contact.covectors[k, 12 + j]
            slopes[at, i, j] = kg * n * nj
            slopes[at, 6 + i, j] = kr * n * nj + along * p * (u * tj + v * bj) + across * c * (u * bj - v * tj)
