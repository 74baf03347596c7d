"""The bordered matrix of a state, and projection on the constraints by it.

    K_b = [[c M + c' D + K, Gᵀ], [G, 0]],
    [[M, Gᵀ], [G, 0]] (δ, *) = (0, −g),  q ← q ⊕ δ;     [[M, Gᵀ], [G, 0]] (Δs, *) = (0, −(G s + γ̄)),  s ← s + Δs,

the changes of positions and velocities that are least in the metric of the mass matrix.

Theory: docs/theory.md, sections 23, 26 and 32. Hairer and Wanner, Solving Ordinary Differential
Equations II (1996), section VII.2 (projection methods); Vanderbei (1995), SIAM J. Optim. 5, 100,
for the factorization of K_b without pivoting.
"""

import numpy as np

from flexmbs.algebra.small import largest
from flexmbs._jit import called, part
from flexmbs._jit.address import entry
from flexmbs.algebra.blocks import factorize, solve
from flexmbs.dynamics.blocks import constraint_blocks, mass_blocks, stiffness_blocks, transmission
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.force_blocks import force_blocks
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.rotors import rotor_blocks
from flexmbs.dynamics.shared_calls import call_shared
from flexmbs.system.records import Evaluation


@entry
def kkt_at(model, here, /, factored, c_mass, c_damping):
    """Kernel of `kkt_matrix`, or of `kkt_blocks` if not ``factored``."""
    system, work, q = model.system, model.work, here.q
    values = work.values
    for a in range(values.shape[0]):
        values[a] = 0.0
    transmission(system, work, q)
    if c_mass != 0.0:
        mass_blocks(system, work, q, c_mass)
        if system.rotors.body.shape[0] > 0:
            rotor_blocks(system, work, q, c_mass)
    if c_damping >= 0.0:
        stiffness_blocks(system, work, c_damping)
        force_blocks(system, work, here, c_damping)
    constraint_blocks(system, work, q)
    return (
        factorize(system.elimination, values, work.stiffness, work.path.left_out)
        if factored != 0.0
        else 0
    )


@part
def kkt_matrix(system, work, q, c_mass, c_damping):
    """Factor of K_b = [[c_mass M + K + c_damping D, Gᵀ], [G, 0]] (ns + nc).

    c_damping < 0 omits K too. Returns the number of dependent rows, or −1 − node of an indefinite
    mass matrix. Theory, section 26.
    """
    return call_shared(
        system,
        work,
        work.calls.kkt,
        Evaluation(q, work.r, work.r, work.r, work.r, work.r),
        1.0,
        c_mass,
        c_damping,
    )


@part
def kkt_blocks(system, work, q, c_mass):
    """c_mass M and G into ``work.values``, not factored; G alone for c_mass = 0.

    At the positions of the last kinematics.
    """
    call_shared(
        system,
        work,
        work.calls.kkt,
        Evaluation(q, work.r, work.r, work.r, work.r, work.r),
        0.0,
        c_mass,
        -1.0,
    )


@part
def independence(work, ns):
    """Smallest pivot of the independent constraint rows relative to its largest on the path.

    At the last factorization. A pivot is the part of G_j M⁻¹ G_jᵀ orthogonal to earlier rows: it
    falls to 0 with the square of the distance from a singular position (theory, section 31).
    """
    least = 1.0
    for a in range(ns, work.stiffness.shape[0]):
        pivot = work.stiffness[a]
        if 0.0 < pivot < least * work.path.pivot[a]:
            least = pivot / work.path.pivot[a]
    return least


@called
def project(system, work, t, q, s, tolerance, iterations):
    """Project positions onto g(q, t) = 0, then velocities onto G s + γ̄ = 0.

    Newton steps of least mass-weighted change. Near a singular position an error of g changes the
    velocities by its quotient with the square of the distance: there g is reduced further, as far
    as round-off permits. Returns the largest remaining |g| (m or rad). Theory, section 32.
    """
    ns = s.shape[0]
    nc = work.gs.position.shape[0]
    x = work.x
    left = 0.0
    velocities = nc == 0
    it = 0
    while not velocities:
        kinematics(system, work, t, q, s, work.zero)
        before = left
        left = largest(work.gs.position)
        velocities = it >= iterations or on_constraints(
            work, ns, tolerance, left, before if it > 0 else np.inf
        )
        it += 1
        # factored anew each time: G must be that of q, or the last step on velocities would not
        # satisfy G s + γ̄ = 0
        if kkt_matrix(system, work, q, 1.0, -1.0) < 0:
            break
        error_of_constraints(work, x, ns, velocities)
        solve(system.elimination, work.values, x)
        correct(system, q, s, x, velocities)
    return left


@part
def on_constraints(work, ns, tolerance, left, before):
    """True if the largest |g| ``left`` is small enough.

    before: its value at the last step. A g that no longer falls by a factor of ten is round-off:
    further steps gain nothing, even if the independence of the rows asks for less.
    """
    return left <= tolerance * independence(work, ns) or 0.1 * before < left <= tolerance


@part
def error_of_constraints(work, x, ns, velocities):
    """x ← (0, −(G s + γ̄)) if ``velocities``, otherwise (0, −g)."""
    for a in range(ns):
        x[a] = 0.0
    for a in range(x.shape[0] - ns):
        x[ns + a] = -work.gs.velocity[a] if velocities else -work.gs.position[a]


@part
def correct(system, q, s, x, velocities):
    """Apply a projection correction x to the velocities s, or to the positions q."""
    if velocities:
        for a in range(s.shape[0]):
            s[a] += x[a]
    else:
        displace(system.tree, system.joints, q, x, q)
