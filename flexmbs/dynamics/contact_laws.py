"""Contact forces by laws: their power and slopes, whatever the law.

A law gives N(g, γ_N), of which N_el is elastic, and T(γ_T, N) from the gap g, its rate and the slip
velocities:

    P_forces = N_el γ_N,   P_loss = (N_el − N) γ_N − T · γ_T,
    K = k_g n nᵀ,   D = k_r n nᵀ + k_∥ p pᵀ + k_⊥ c cᵀ,

with the covectors n, p, c of the normal and of the directions along and across the slip. Rolling
and torsional friction are moments on the angular velocity ω_t in the plane of contact and ω_n about
its normal,

    M_t = −ρ_r N tanh(|ω_t|/ω_r) ω_t/|ω_t|,   M_n = −ρ_t N tanh(ω_n/ω_r).

Theory: docs/theory.md, sections 40 and 41. Hunt and Crossley (1975), J. Appl. Mech. 42, 440;
Johnson, Contact Mechanics (1985), chapter 4, for Hertz' stiffness, and chapter 8 for rolling.
"""

import math

from flexmbs._jit import part
from flexmbs.dynamics.law_calls import call_law
from flexmbs.model.forces.joint_friction import CHORD

SLOW = 1e-4  # fraction of ω_r below which tanh is linear


@part
def law_force(contacts, contact, workspace, power, k):
    """contact ← force (N, T₁, T₂) of contact k by its law; power ← its power (W).

    ``workspace.x`` keeps the arguments of the law, (g, γ_N, γ_T1, γ_T2, μ). Theory, section 41.
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
    power.forces += elastic * rate
    power.loss += (elastic - normal) * rate - t * u - b * v
    if contacts.turn_rate[k] > 0.0:
        turn_moments(contacts, contact, power, k)


@part
def turn_friction(limit, rate, speed):
    """(M/ω, its slope) of the regularized moment M = F tanh(ω/ω_r) at speed ω ≥ 0.

    The slope is defined as in `slip_friction` of the contact laws.
    """
    if speed < SLOW * rate:
        return limit / rate, limit / rate
    th = math.tanh(speed / rate)
    return limit * th / speed, max(limit * (1.0 - th * th) / rate, CHORD * limit * th / speed)


@part
def turn_moments(contacts, contact, power, k):
    """Moments (N m) of rolling and torsional friction of contact k.

    Into ``contact``; their loss (W) goes into ``power``.
    """
    rate, normal = contacts.turn_rate[k], contact.force[k, 0]
    spin, a, b = contact.turning[k, 0], contact.turning[k, 1], contact.turning[k, 2]
    about, _ = turn_friction(contacts.torsional[k] * normal, rate, abs(spin))
    across, _ = turn_friction(contacts.rolling[k] * normal, rate, math.sqrt(a * a + b * b))
    contact.moment[k, 0] = -about * spin
    contact.moment[k, 1] = -across * a
    contact.moment[k, 2] = -across * b
    for c in range(3):
        power.loss -= contact.moment[k, c] * contact.turning[k, c]


@part
def turn_slopes(contacts, contact, slopes, k):
    """Damping of rolling and torsional friction of contact k, into its coupling.

    Jᵀ diag J with the Jacobian J of the angular velocities.
    """
    rate, normal, at = contacts.turn_rate[k], contact.force[k, 0], contacts.coupling[k]
    spin, a, b = contact.turning[k, 0], contact.turning[k, 1], contact.turning[k, 2]
    size = math.sqrt(a * a + b * b)
    _, about = turn_friction(contacts.torsional[k] * normal, rate, abs(spin))
    across, along = turn_friction(contacts.rolling[k] * normal, rate, size)
    a, b = (a / size, b / size) if size > 0.0 else (1.0, 0.0)
    for i in range(3):
        n, t, u = contact.covectors[k, i], contact.covectors[k, 6 + i], contact.covectors[k, 12 + i]
        p, c = a * t + b * u, a * u - b * t
        for j in range(3):
            nj, tj, uj = (
                contact.covectors[k, j],
                contact.covectors[k, 6 + j],
                contact.covectors[k, 12 + j],
            )
            slopes[at, 9 + i, 3 + j] += (
                about * n * nj + along * p * (a * tj + b * uj) + across * c * (a * uj - b * tj)
            )


@part
def law_slopes(contacts, contact, workspace, slopes, k):
    """K and D (6×6) of contact k on the relative twist of its frames, into its coupling.

    The contact must have been evaluated just before.
    """
    call_law(contacts.law_index[k], contacts.law[k], workspace, 4, 1.0)
    kg, kr, along, across = workspace.out[0], workspace.out[1], workspace.out[2], workspace.out[3]
    contact.slope[k, 0] = kg
    contact.slope[k, 1] = kr
    if contacts.coupling[k] < 0:  # of joint coordinates
        return
    at = contacts.coupling[k]
    u, v = contact.velocity[k, 1], contact.velocity[k, 2]
    speed = math.sqrt(u * u + v * v)
    # at rest the regularized friction has the same slope in all directions
    u, v = (u / speed, v / speed) if speed > 0.0 else (1.0, 0.0)
    for i in range(6):
        n, t, b = contact.covectors[k, i], contact.covectors[k, 6 + i], contact.covectors[k, 12 + i]
        p, c = u * t + v * b, u * b - v * t  # covectors along and across the slip
        for j in range(6):
            nj, tj, bj = (
                contact.covectors[k, j],
                contact.covectors[k, 6 + j],
                contact.covectors[k, 12 + j],
            )
            slopes[at, i, j] = kg * n * nj
            slopes[at, 6 + i, j] = (
                kr * n * nj + along * p * (u * tj + v * bj) + across * c * (u * bj - v * tj)
            )
    if contacts.turn_rate[k] > 0.0:
        turn_slopes(contacts, contact, slopes, k)
