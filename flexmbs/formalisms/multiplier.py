"""Lagrange multipliers: [[M, Gᵀ], [G, 0]] (ṡ, −λ) = (k, γ), in joint or absolute coordinates (theory §4).

Index 3 for implicit methods: residual M ṡ − k − Gᵀλ = 0 with g = 0, iteration matrix T = c M + K + c' D bordered by G.
Index 1 for explicit methods: accelerations and multipliers at a state, in one of the classical numerical schemes:
(1) integrate everything (``stabilization=None``, the drift is visible), (1b) with Baumgarte's stabilization (`Baumgarte`),
(3) predictor–corrector: projection of positions and velocities after each step (`Projection`). Scheme (2), partitioning of the
coordinates, is the formalism `Partitioning`.
"""

from dataclasses import dataclass
from typing import ClassVar

from flexmbs._jit import part
from flexmbs._jit.address import packed
from flexmbs.algebra.blocks import solve
from flexmbs.dynamics.constraints import drive_power
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.kkt import independence, kkt_matrix, project
from flexmbs.formalisms.formalism import Formalism, NoWorkspace
from flexmbs.formalisms.stabilization import (
    NEAR,
    NEAR_TOLERANCE,
    PROJECTION_STEPS,
    RATE,
    TOLERANCE,
    Stabilization,
    projected,
    stabilization_options,
)
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.records import POWER_DRIVES


@part
def bordered_accelerations(system, work, rate, t, q, s, z, sd, lam):
    """ṡ and λ of index 1 with Baumgarte's rate (0: none). Returns the number of dependent rows or −1 − node."""
    for a in range(lam.shape[0]):
        lam[a] = 0.0
    residual(system, work, t, q, s, work.zero, lam, z, False, work.r)
    status = kkt_matrix(system, work, q, 1.0, -1.0)
    ns = s.shape[0]
    x = work.x
    for a in range(ns):
        x[a] = -work.r[a]
    gs = work.gs
    for a in range(lam.shape[0]):
        x[ns + a] = -gs.acceleration[a] - 2.0 * rate * gs.velocity[a] - rate * rate * gs.position[a]
    solve(system.elimination, work.values, x)
    for a in range(ns):
        sd[a] = x[a]
    for a in range(lam.shape[0]):
        lam[a] = -x[ns + a]
    work.power[POWER_DRIVES] = drive_power(system.drives, work.drive_rate, lam)
    return status


@part
def accelerations(system, work, workspace, t, q, s, z, sd, lam):
    """ṡ and λ of the bordered equations; with a stabilization, near a singular position, where errors come out divided by
    the distance, those of the projected state."""
    status = bordered_accelerations(system, work, workspace.options[RATE], t, q, s, z, sd, lam)
    treated = workspace.options[TOLERANCE] > 0.0 or workspace.options[RATE] > 0.0
    if status >= 0 and treated and independence(work, s.shape[0]) < NEAR:
        project(system, work, t, q, s, NEAR_TOLERANCE, PROJECTION_STEPS)
        status = bordered_accelerations(system, work, workspace.options[RATE], t, q, s, z, sd, lam)
    return status


@part
def iteration_matrix(system, work, workspace, q, c_mass, c_damping):
    """Factor of the bordered matrix by blocks."""
    return kkt_matrix(system, work, q, c_mass, c_damping)


@part
def correction(system, work, workspace, q, x):
    """x ← K⁻¹ x"""
    solve(system.elimination, work.values, x)


@dataclass(frozen=True)
class Multiplier(Formalism):
    """Lagrange multipliers. ``stabilization`` (explicit integrators): None (1), `Baumgarte` (1b) or `Projection` (3)."""

    stabilization: Stabilization = None

    name: ClassVar[str] = "multiplier"
    provides: ClassVar[tuple[str, ...]] = ("residual", "accelerations")
    accelerations = staticmethod(accelerations)
    accepted = staticmethod(projected)
    iteration_matrix = staticmethod(iteration_matrix)
    correction = staticmethod(correction)

    def __post_init__(self) -> None:
        stabilization_options(self.name, self.stabilization)

    def workspace(self, compiled: Compiled) -> NoWorkspace:
        return NoWorkspace(frozen(stabilization_options(self.name, self.stabilization)))

    @property
    def stabilization_name(self) -> str:
        return "none" if self.stabilization is None else self.stabilization.name


@packed(int)
def consistent(system, work, t, q, s, z, tolerance, iterations, sd, lam, left):
    """Positions and velocities onto the constraints, then ṡ and λ; left[0]: the largest |g| left.

    Returns the number of dependent rows or −1 − node of an indefinite mass matrix.
    """
    left[0] = project(system, work, t, q, s, tolerance, iterations)
    return bordered_accelerations(system, work, 0.0, t, q, s, z, sd, lam)
