"""Contact forces as functions of the gap and its rate."""

import math

from flexmbs._jit import part
from flexmbs.dynamics.law_calls import as_part
from flexmbs.model import contact_laws as laws
from flexmbs.model.forces.joint_friction import CHORD
from flexmbs.system.records import (
    CO_COUPLING, CO_DAMPING, CO_EXPONENT, CO_MU, CO_SLIP, CO_STIFFNESS, COVECTORS, GAP, GAP_FORCE, GAP_RATE, POWER_FORCES,
    POWER_LOSS,
)  # fmt: skip


hunt_crossley, hunt_crossley_slopes = as_part(laws.hunt_crossley), as_part(laws.hunt_crossley_slopes)


@part
def slip_friction(force, slip, u, v):
    """(T₁, T₂, slope along the slip, slope across it) of T = −F tanh(|γ|/v_r) γ/|γ| at the slip γ = (u, v)."""
    speed = math.sqrt(u * u + v * v)
    if speed < 1e-4 * slip:
        return -force * u / slip, -force * v / slip, force / slip, force / slip
    th = math.tanh(speed / slip)
    across = force * th / speed
    return -across * u, -across * v, max(force * (1.0 - th * th) / slip, CHORD * across), across


@part
def law_force(contacts, contact, power, k):
    """Force (N, T₁, T₂) of contact k by its law into ``contact``, its power into the account; returns slopes
    (−∂N/∂g, −∂N/∂ġ, along the slip, across it)."""
    value = contacts.value
    stiffness, exponent, d = value[k, CO_STIFFNESS], value[k, CO_EXPONENT], value[k, CO_DAMPING]
    gap, rate = contact[k, GAP], contact[k, GAP_RATE]
    u, v = contact[k, GAP_RATE + 1], contact[k, GAP_RATE + 2]
    normal, elastic = hunt_crossley(stiffness, exponent, d, gap, rate)
    t, b, along, across = slip_friction(value[k, CO_MU] * normal, value[k, CO_SLIP], u, v)
    contact[k, GAP_FORCE] = normal
    contact[k, GAP_FORCE + 1] = t
    contact[k, GAP_FORCE + 2] = b
    power[POWER_FORCES] += elastic * rate
    power[POWER_LOSS] += (elastic - normal) * rate - t * u - b * v
    kg, kr = hunt_crossley_slopes(stiffness, exponent, d, gap, rate)
    return kg, kr, along, across


@part
def law_slopes(contacts, contact, slopes, k, kg, kr, along, across):
    """Stiffness and damping of contact k on the relative twist of its frames, of their coupling."""
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
