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
from flexmbs.system.records import POWER_FORCES, POWER_LOSS


@part
def law_force(contacts, contact, workspace, power, k):
    """Force (N, T₁, T₂) (N) of contact k by its law into ``contact``, its power (W) into ``power`` (theory, section 41).

    ``workspace.x`` keeps what the law was given: (g, γ_N, γ_T1, γ_T2, μ).
    """
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
    """K and D (6×6) of contact k, just evaluated, on the relative twist of its frames, into the slopes of their coupling."""
    call_law(contacts.law_index[k], contacts.law[k], workspace, 4, 1.0)
    kg, kr, along, across = workspace.out[0], workspace.out[1], workspace.out[2], workspace.out[3]
    contact.slope[k, 0] = kg
    contact.slope[k, 1] = kr
    if contacts.coupling[k] < 0:  # of joint coordinates
        return
    at = contacts.coupling[k]
    u, v = contact.velocity[k, 1], contact.velocity[k, 2]
    speed = math.sqrt(u * u + v * v)
    # at rest friction by tanh has the same slope in all directions: any one serves
    u, v = (u / speed, v / speed) if speed > 0.0 else (1.0, 0.0)
    for i in range(6):
        n, t, b = contact.covectors[k, i], contact.covectors[k, 6 + i], contact.covectors[k, 12 + i]
        p, c = u * t + v * b, u * b - v * t  # covectors along and across the slip
        for j in range(6):
            nj, tj, bj = contact.covectors[k, j], contact.covectors[k, 6 + j], contact.covectors[k, 12 + j]
            slopes[at, i, j] = kg * n * nj
            slopes[at, 6 + i, j] = kr * n * nj + along * p * (u * tj + v * bj) + across * c * (u * bj - v * tj)
