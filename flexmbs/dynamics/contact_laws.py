"""Contact forces by laws: their power and slopes, whatever the law.

A law gives N(g, γ_N), of which N_el is elastic, and T(γ_T, N) from the gap g, its rate and the slip velocities:

    P_forces = N_el γ_N,   P_loss = (N_el − N) γ_N − T · γ_T,
    K = k_g n nᵀ,   D = k_r n nᵀ + k_∥ p pᵀ + k_⊥ c cᵀ,

with the covectors n, p, c of the normal and of the directions along and across the slip. Theory: docs/theory.md, sections
40 and 41. Hunt and Crossley (1975), J. Appl. Mech. 42, 440; Johnson, Contact Mechanics (1985), chapter 4, for Hertz' stiffness.
"""

import math

from flexmbs._jit import part
from flexmbs.dynamics.law_calls import call_law
from flexmbs.system.records import (
    CO_COUPLING, CO_MU, CO_PLACE, COVECTORS, GAP, GAP_FORCE, GAP_RATE, POWER_FORCES, POWER_LOSS,
)  # fmt: skip


@part
def law_force(contacts, contact, workspace, power, k):
    """Force (N, T₁, T₂) (N) of contact k by its law into ``contact``, its power (W) into the account (theory, section 41).

    ``workspace.x`` keeps what the law was given: (g, γ_N, γ_T1, γ_T2, μ).
    """
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
    """K and D (6×6) of contact k, just evaluated, on the relative twist of its frames, into the slopes of their coupling."""
    call_law(contacts.info[k, CO_PLACE], contacts.law[k], workspace, 4, 1.0)
    kg, kr, along, across = workspace.out[0], workspace.out[1], workspace.out[2], workspace.out[3]
    at = contacts.info[k, CO_COUPLING]
    u, v = contact[k, GAP_RATE + 1], contact[k, GAP_RATE + 2]
    speed = math.sqrt(u * u + v * v)
    # at rest friction by tanh has the same slope in all directions: any one serves
    u, v = (u / speed, v / speed) if speed > 0.0 else (1.0, 0.0)
    for i in range(6):
        n, t, b = contact[k, COVECTORS + i], contact[k, COVECTORS + 6 + i], contact[k, COVECTORS + 12 + i]
        p, c = u * t + v * b, u * b - v * t  # covectors along and across the slip
        for j in range(6):
            nj, tj, bj = contact[k, COVECTORS + j], contact[k, COVECTORS + 6 + j], contact[k, COVECTORS + 12 + j]
            slopes[at, i, j] = kg * n * nj
            slopes[at, 6 + i, j] = kr * n * nj + along * p * (u * tj + v * bj) + across * c * (u * bj - v * tj)
