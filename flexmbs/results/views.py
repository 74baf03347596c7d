"""Views of one body, frame, joint, drive or coupling.

Arrays over the output times, with time as the first index.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from flexmbs.page.notebook import Table, card
from flexmbs.signals.signal_arguments import whole_numbers
from flexmbs.system.trajectory import Impact

if TYPE_CHECKING:
    from flexmbs.results.deformation import Deformation
    from flexmbs.results.stress import StressView

FloatArray = NDArray[np.float64]


class FrameMotion(NamedTuple):
    """Arrays shared by views of frames and bodies, in world axes."""

    position: FloatArray
    rotation: FloatArray
    velocity: FloatArray
    angular_velocity: FloatArray
    acceleration: FloatArray
    angular_acceleration: FloatArray


@dataclass(frozen=True, eq=False)
class FrameView:
    """Motion of a frame in world axes.

    Position (nt, 3) [m], rotation (nt, 3, 3) frame → world, velocity, angular velocity,
    acceleration and angular acceleration (nt, 3).
    """

    name: str
    t: FloatArray
    position: FloatArray
    rotation: FloatArray
    velocity: FloatArray
    angular_velocity: FloatArray
    acceleration: FloatArray
    angular_acceleration: FloatArray


@dataclass(frozen=True, eq=False)
class BodyView:
    """Motion of a body frame in world axes as in `FrameView`, with elastic coordinates; stress.

    Elastic coordinates (nt, nf) and their rates. The frame of a divided body is the frame of its
    first piece, which contains the reference; the elastic coordinates are those of all pieces.
    """

    name: str
    t: FloatArray
    position: FloatArray
    rotation: FloatArray
    velocity: FloatArray
    angular_velocity: FloatArray
    acceleration: FloatArray
    angular_acceleration: FloatArray
    elastic: FloatArray
    elastic_rate: FloatArray
    _stress: "StressView | None" = field(default=None, repr=False)
    _deformation: "Deformation | None" = field(default=None, repr=False)

    def displacement(self, nodes: int | Iterable[int]) -> FloatArray:
        """Displacement u (nt, m, 3) [m] of nodes relative to the undeformed body, in body axes.

        nodes: numbers in the mesh. φ q, or for a divided body including the motion of its pieces.
        Raises InputError.
        """
        if self._deformation is None:
            raise InputError(
                f"body '{self.name}' has no nodes: it is rigid, or its file has no surface"
            )
        ids = self._deformation.surface.node_ids
        wanted = whole_numbers(nodes, "nodes")
        missing = wanted[~np.isin(wanted, ids)]
        if len(missing):
            raise InputError(f"node {missing[0]} is not in the mesh of body '{self.name}'")
        order = np.argsort(ids)
        return self._deformation.displacement(
            order[np.searchsorted(ids, wanted, sorter=order)], slice(None)
        )

    @property
    def has_stress(self) -> bool:
        """True if the body has stress modes."""
        return self._stress is not None

    @property
    def stress(self) -> "StressView":
        """Stress at the nodes of a flexible body.

        Raises InputError for a body without stress modes.
        """
        if self._stress is None:
            raise InputError(
                f"body '{self.name}' has no stress modes; they are computed by "
                "`preprocess.reduce` from a mesh"
            )
        return self._stress


@dataclass(frozen=True, eq=False)
class JointView:
    """Coordinates of a joint and the wrench through it.

    position (nt, nq), velocity and acceleration (nt, nv): joint coordinates, rad and m. wrench (nt,
    6): force and moment of the parent on the child at the child's frame, in the axes of that frame
    [N, N m]; drives, couplings and joint forces are included. force, torque (nt, 3): the same in
    world axes. effort (nt, nv): its components along the degrees of freedom, the sum of drives,
    couplings and joint forces. unique: False if redundant constraints leave the wrench
    undetermined; it is then the one with the least Σ |f|² + |n|²/ℓ² over all joints (theory,
    section 31).

    """

    name: str
    t: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    wrench: FloatArray
    force: FloatArray
    torque: FloatArray
    effort: FloatArray
    unique: bool

    def _repr_html_(self) -> str:
        """Card of the joint in a notebook: range of each quantity over the outputs."""
        quantities = {
            "position [m, rad]": self.position,
            "velocity [m/s, rad/s]": self.velocity,
            "effort [N, N m]": self.effort,
            "force [N], world axes": self.force,
            "moment [N m], world axes": self.torque,
        }
        rows = [
            (name, k, *(f"{value:.5g}" for value in (x[0], x.min(), x.max(), x[-1])))
            for name, values in quantities.items()
            for k, x in enumerate(values.T)
            if len(x)
        ]
        heads = ("quantity", "component", "first", "smallest", "largest", "last")
        lines = [] if self.unique else ["redundant constraints: the wrench of least norm"]
        return card(f"joint {self.name}", lines=lines, tables=[Table("", heads, rows)])


@dataclass(frozen=True, eq=False)
class DriveView:
    """Motion and effort of a drive.

    Coordinate and its rate (nt,), required torque or force (nt,) [N m or N], and power (nt,) [W].
    """

    name: str
    t: FloatArray
    coordinate: FloatArray
    rate: FloatArray
    torque: FloatArray
    power: FloatArray


@dataclass(frozen=True, eq=False)
class CouplingView:
    """Coupling Σ aᵢ qᵢ = b.

    Its value Σ aᵢ qᵢ (nt,), the multiplier λ (nt,), the torques and forces aᵢ λ (nt,) on its
    coordinates by name [N m or N], and the power λ Σ aᵢ q̇ᵢ (nt,) [W] that it puts into the system;
    a is evaluated at each output for user functions. unique: False if redundant constraints leave
    the multiplier undetermined; it then belongs to the wrenches of least norm.
    """

    name: str
    t: FloatArray
    value: FloatArray
    multiplier: FloatArray
    effort: Mapping[str, FloatArray]
    power: FloatArray
    unique: bool


@dataclass(frozen=True, eq=False)
class ContactView:
    """Motion and forces of a contact.

    Gap (nt,) [m or rad] and its rate (nt,), slip (nt, 2) along the tangents [m/s], normal (nt,) and
    friction (nt, 2) forces [N or N m] (for a rigid contact the impulses of the last step divided by
    its length), force (nt, 3) on the second body in world axes, angular velocities turning (nt, 3)
    [rad/s] and moment (nt, 3) [N m] of torsional and rolling friction on the second body about the
    normal and the tangents, and the impacts of the run.
    """

    name: str
    t: FloatArray
    gap: FloatArray
    rate: FloatArray
    slip: FloatArray
    normal: FloatArray
    friction: FloatArray
    force: FloatArray
    turning: FloatArray
    moment: FloatArray
    impacts: tuple[Impact, ...]


@dataclass(frozen=True, eq=False)
class Energy:
    """Energies and works (nt,) [J].

    Kinetic, strain, potential (gravity), and, since the start, the work of forces (including
    springs and joint forces), the work of drives and the energy dissipated in dampers and modes.
    """

    t: FloatArray
    kinetic: FloatArray
    strain: FloatArray
    potential: FloatArray
    work_of_forces: FloatArray
    work_of_drives: FloatArray
    dissipated: FloatArray

    @property
    def total(self) -> FloatArray:
        """Kinetic + strain + potential energy."""
        return self.kinetic + self.strain + self.potential

    @property
    def balance(self) -> FloatArray:
        """Error of the energy balance, ``E − E₀ − W_forces − W_drives + D``."""
        return (
            self.total - self.total[0] - self.work_of_forces - self.work_of_drives + self.dissipated
        )

    @property
    def scale(self) -> float:
        """Largest energy or work, the scale of the energy balance."""
        height = self.potential - self.potential[0]
        parts = (
            self.kinetic,
            self.strain,
            height,
            self.work_of_forces,
            self.work_of_drives,
            self.dissipated,
        )
        return max(float(np.abs(part).max()) for part in parts)
