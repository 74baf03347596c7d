"""Lagrange multipliers: [[M, Gᵀ], [G, 0]] (ṡ, −λ) = (k, γ), in joint or absolute coordinates (theory §4).

Index 3 for implicit methods: residual M ṡ − k − Gᵀλ = 0 with g = 0, iteration matrix T = c M + K + c' D bordered by G.
Index 1 for explicit methods: accelerations and multipliers at a state, with one of the classical treatments of drift.
"""

from dataclasses import dataclass
from typing import ClassVar

from flexmbs._jit import part, seldom
from flexmbs.algebra.blocks import factorize, solve
from flexmbs.dynamics.blocks import constraint_blocks, coupling_blocks, mass_blocks, stiffness_blocks, transmission
from flexmbs.dynamics.constraints import drive_power
from flexmbs.dynamics.equations import kinematics, residual
from flexmbs.dynamics.kinematics import displace
from flexmbs.errors import InputError
from flexmbs.system.records import G_ACCELERATION, G_POSITION, G_VELOCITY, POWER_DRIVES


@dataclass(frozen=True)
class Baumgarte:
    """g̈ + 2α ġ + α² g = 0 with the rate α (1/s)."""

    rate: float = 20.0
    name: ClassVar[str] = "baumgarte"

    def __post_init__(self) -> None:
        if not self.rate > 0.0:
            raise InputError(f"Baumgarte.rate: {self.rate} is not positive")


@dataclass(frozen=True)
class Projection:
    """After each step: positions on g = 0, velocities on G s + γ̄ = 0 by the least mass-weighted change."""

    tolerance: float = 1e-11
    name: ClassVar[str] = "projection"

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0:
            raise InputError(f"Projection.tolerance: {self.tolerance} is not positive")


@dataclass(frozen=True)
class Multiplier:
    """The formalism with its options. ``stabilization`` (explicit integrators): None, `Baumgarte` or `Projection`."""

    stabilization: Baumgarte | Projection | None = None

    name: ClassVar[str] = "multiplier"
    provides: ClassVar[tuple[str, ...]] = ("residual", "accelerations")
    coordinates: ClassVar[tuple[str, ...]] = ("joint", "absolute")

    def __post_init__(self) -> None:
        if self.stabilization is not None and not isinstance(self.stabilization, (Baumgarte, Projection)):
            raise InputError(f"Multiplier.stabilization: {self.stabilization!r} is no Baumgarte(…) or Projection(…)")


@part
def iteration_matrix(system, work, q, c_mass, c_damping):
    """Factor of [[c_mass M + K + c_damping D, Gᵀ], [G, 0]]; returns the number of dependent rows or −1 − node."""
    values = work.values
    for a in range(values.shape[0]):
        values[a] = 0.0
    tree, frames, e = system.tree, system.frames, system.elimination
    E, X, B = work.E, work.X, work.B
    transmission(tree, frames, work.motion, q, E, X, B)
    mass_blocks(system.bodies, tree, e, q, E, X, work.M, B, work.U, values, c_mass)
    if c_damping >= 0.0:
        stiffness_blocks(tree, system.bodies.matrices, e, system.forces.joint, work.joint_slope, values, c_damping)
        coupling_blocks(
            tree, frames, e, system.couplings, system.paths, work.motion, work.slopes, q, E, X, B, work.rows, values, c_damping
        )
    constraint_blocks(tree, frames, e, system.cuts, system.drives, system.paths, work.cut, q, E, X, B, work.rows, values)
    return factorize(system.elimination, values, work.stiffness)


@part
def accelerations(system, work, t, q, s, z, rate, zero, sd, lam):
    """ṡ and λ of index 1 with Baumgarte's rate (0: none). Returns the number of dependent rows or −1 − node."""
    for a in range(lam.shape[0]):
        lam[a] = 0.0
    residual(system, work, t, q, s, zero, lam, z, False, work.r)
    status = iteration_matrix(system, work, q, 1.0, -1.0)
    ns = s.shape[0]
    x = work.x
    for a in range(ns):
        x[a] = -work.r[a]
    gs = work.gs
    for a in range(lam.shape[0]):
        x[ns + a] = -gs[G_ACCELERATION, a] - 2.0 * rate * gs[G_VELOCITY, a] - rate * rate * gs[G_POSITION, a]
    solve(system.elimination, work.values, x)
    for a in range(ns):
        sd[a] = x[a]
    for a in range(lam.shape[0]):
        lam[a] = -x[ns + a]
    work.power[POWER_DRIVES] = drive_power(system.drives, system.laws, work.io, t, lam)
    return status


@part
def largest(x):
    """max |x|, NaN where one of x is"""
    size = 0.0
    for a in range(x.shape[0]):
        each = abs(x[a])
        if each > size or each != each:
            size = each
    return size


@part
def project(system, work, t, q, s, zero, tolerance, iterations):
    """Positions onto g(q, t) = 0 by Newton steps of least mass-weighted change, then velocities onto G s + γ̄ = 0.

    Returns the largest |g| left.
    """
    ns = s.shape[0]
    nc = work.gs.shape[1]
    x = work.x
    left = 0.0
    velocities = nc == 0
    it = 0
    while not velocities:
        kinematics(system, work, t, q, s, zero)
        left = largest(work.gs[G_POSITION])
        velocities = left <= tolerance or it >= iterations
        it += 1
        iteration_matrix(system, work, q, 1.0, -1.0)
        for a in range(ns):
            x[a] = 0.0
        for a in range(nc):
            x[ns + a] = -work.gs[G_VELOCITY, a] if velocities else -work.gs[G_POSITION, a]
        solve(system.elimination, work.values, x)
        if velocities:
            for a in range(ns):
                s[a] += x[a]
        else:
            displace(system.tree, system.joints, q, x, q)
    return left


@seldom
def consistent(system, work, t, q, s, z, zero, tolerance, iterations, sd, lam):
    """Positions and velocities onto the constraints, then ṡ and λ.

    Returns the largest |g| left and the number of dependent rows or −1 − node of an indefinite mass matrix.
    """
    left = project(system, work, t, q, s, zero, tolerance, iterations)
    return left, accelerations(system, work, t, q, s, z, 0.0, zero, sd, lam)
