"""The reduced flexible body: the record that the preprocessor writes and the multibody program reads.

A point of the body is at ``u = x + φ q`` in the body frame, ``q`` being the elastic (modal) coordinates. Everything inertial
follows from six shape integrals (mass, first and second moment, ``S_bar``, ``xS``, ``SS``), everything elastic from ``K_ff`` and
``D_ff``, and everything outside meets the body in its frames. SI units throughout: m, kg, s, rad, N.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs import __version__
from flexmbs.errors import InputError
from flexmbs.flexible_body_stress import StressModes

if TYPE_CHECKING:
    from flexmbs.flexible_body_checks import Checks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

GENERATOR = f"flexmbs {__version__}"
FRAME_KINDS = ("rigid", "averaged", "origin", "node")


@dataclass(frozen=True, eq=False)
class FlexibleFrame:
    """Place on a flexible body: position ``x + φ q``, orientation ``exp(ψ q) R``, in body axes.

    x: (3,) undeformed position [m].  R: (3, 3) undeformed axes (columns, in the body frame).
    phi, psi: (3, nf) translation and rotation shape functions.  kind: "rigid", "averaged", "origin" or "node".
    """

    x: FloatArray
    R: FloatArray
    phi: FloatArray
    psi: FloatArray
    kind: str = "node"

    def __post_init__(self) -> None:
        nf = np.shape(self.phi)[-1] if np.ndim(self.phi) else 0
        for name, shape in (("x", (3,)), ("R", (3, 3)), ("phi", (3, nf)), ("psi", (3, nf))):
            _set_array(self, "frame", name, shape)
        if self.kind not in FRAME_KINDS:
            raise InputError(f"frame: kind {self.kind!r} is unknown; it is one of {', '.join(FRAME_KINDS)}")

    @classmethod
    def at_node(
        cls, x: ArrayLike, phi: ArrayLike, *, psi: ArrayLike | None = None, axes: ArrayLike | None = None
    ) -> FlexibleFrame:
        """Frame with the shapes ``phi`` (3, nf) of a point ``x`` (3,); no rotation shapes and body axes unless given."""
        phi = _array(phi)
        axes = np.eye(3) if axes is None else _array(axes)
        return cls(_array(x), axes, phi, np.zeros_like(phi) if psi is None else _array(psi))


@dataclass(frozen=True, eq=False)
class ModeTable:
    """Modes of ``(K_ff, m_ff)``: frequency (nf,) [Hz], kind (nf,), effective mass (nf, 6) about the body frame's axes [kg, kg m²]
    and damping ratio (nf,)."""

    frequency: FloatArray
    kind: tuple[str, ...]
    effective_mass: FloatArray
    damping: FloatArray

    def __post_init__(self) -> None:
        nf = np.size(self.frequency)
        object.__setattr__(self, "kind", tuple(str(kind) for kind in self.kind))
        for name, shape in (("frequency", (nf,)), ("effective_mass", (nf, 6)), ("damping", (nf,))):
            _set_array(self, "modes", name, shape)
        if len(self.kind) != nf:
            raise InputError(f"modes.kind: {len(self.kind)} kinds for {nf} frequencies; give one per mode")

    def __str__(self) -> str:
        lines = [f"{'mode':>4} {'Hz':>12} {'damping':>8}  {'kind':<16} effective mass x y z [kg]"]
        for k, kind in enumerate(self.kind):
            mass = " ".join(f"{value:9.3g}" for value in self.effective_mass[k, :3])
            lines.append(f"{k + 1:4d} {self.frequency[k]:12.5g} {self.damping[k]:8.4g}  {kind:<16} {mass}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Surface:
    """Mesh for pictures and recovery: all nodes (N, 3) [m] in the body frame, their shapes phi (N, 3, nf), the boundary's
    triangles (T, 3) as node rows, outward, and the node numbers (N,) of the source."""

    nodes: FloatArray
    phi: FloatArray
    triangles: IntArray
    node_ids: IntArray

    def __post_init__(self) -> None:
        n, nf = np.shape(self.nodes)[0], np.shape(self.phi)[-1]
        _set_array(self, "surface", "nodes", (n, 3))
        _set_array(self, "surface", "phi", (n, 3, nf))
        _set_array(self, "surface", "triangles", (np.shape(self.triangles)[0], 3), np.int64)
        _set_array(self, "surface", "node_ids", (n,), np.int64)
        if self.triangles.size and not 0 <= self.triangles.min() <= self.triangles.max() < n:
            raise InputError(f"surface.triangles: refer to node rows outside 0..{n - 1}")


@dataclass(frozen=True, eq=False)
class GeometricStiffness:
    """Geometric stiffness matrices K0 (nf, nf) of unit loads on the held body, all symmetric.

    acceleration (3, nf, nf): inertia force −ρ e_a of a frame acceleration; angular_acceleration (3, nf, nf): −ρ e_c × x;
    rotation (6, nf, nf): −ρ ω×(ω×x) by ω_x², ω_y², ω_z², ω_x ω_y, ω_y ω_z, ω_z ω_x;
    frames: (6, nf, nf) by name, unit force x y z and unit moment x y z on the frame, body axes; none for a frame left out.
    By virtual work −½ qᵀ K0 q is the second-order displacement conjugate to the unit load. Reductions balance the loads by
    inertia, whatever their reference condition: then the accelerations have none.
    Source: Wallrapp and Schwertassek, Archive of Applied Mechanics 61 (1991) 428.
    """

    acceleration: FloatArray
    angular_acceleration: FloatArray
    rotation: FloatArray
    frames: Mapping[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nf = np.shape(self.acceleration)[-1] if np.ndim(self.acceleration) else 0
        for name, count in (("acceleration", 3), ("angular_acceleration", 3), ("rotation", 6)):
            _set_array(self, "geometric", name, (count, nf, nf))
        frames = {name: _checked(f"geometric.frames.{name}", K0, (6, nf, nf)) for name, K0 in self.frames.items()}
        object.__setattr__(self, "frames", frames)

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return int(self.acceleration.shape[1])

    @property
    def second_moments(self) -> FloatArray:
        """D[a, b] (3, 3, nf, nf): ∫x_a u_b dm = ½ qᵀ D[a, b] q of the second-order displacement u."""
        D = np.zeros((3, 3, self.nf, self.nf))
        own = -0.5 * self.rotation[:3].sum(axis=0)
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            D[a, a] = self.rotation[a] + own
            D[a, b] = 0.5 * (self.rotation[3 + a] + self.angular_acceleration[c])
            D[b, a] = 0.5 * (self.rotation[3 + a] - self.angular_acceleration[c])
        return D


@dataclass(frozen=True, eq=False)
class FlexibleBodyData:
    """Reduced flexible body in its body frame (the frame that the reference condition fixes).

    mass [kg]; first_moment ∫x dm (3,); second_moment ∫x xᵀ dm (3, 3); S_bar ∫φ dm (3, nf); xS[a,b,k] = ∫x_a φ_bk dm (3, 3, nf);
    SS[a,b,k,l] = ∫φ_ak φ_bl dm (3, 3, nf, nf); K_ff, D_ff (nf, nf) stiffness and damping; frames by name; mode table; surface for
    pictures or None; provenance: where the numbers come from, by key; geometric stiffness or None; stress modes at nodes of the
    surface or None.

    Raises InputError for wrong shapes, values that are not finite, and names with "/".
    Source: Shabana, Dynamics of Multibody Systems, section 5.3 (shape integrals).
    """

    name: str
    mass: float
    first_moment: FloatArray
    second_moment: FloatArray
    S_bar: FloatArray
    xS: FloatArray
    SS: FloatArray
    K_ff: FloatArray
    D_ff: FloatArray
    frames: Mapping[str, FlexibleFrame]
    modes: ModeTable
    surface: Surface | None = None
    provenance: Mapping[str, str | float] = field(default_factory=dict)
    geometric: GeometricStiffness | None = None
    stress: StressModes | None = None

    def __post_init__(self) -> None:
        nf = np.shape(self.K_ff)[0] if np.ndim(self.K_ff) else 0
        _set_array(self, self.name, "mass", ())
        object.__setattr__(self, "mass", float(self.mass))
        shapes = {
            "first_moment": (3,), "second_moment": (3, 3), "S_bar": (3, nf), "xS": (3, 3, nf), "SS": (3, 3, nf, nf),
            "K_ff": (nf, nf), "D_ff": (nf, nf),
        }  # fmt: skip
        for name, shape in shapes.items():
            _set_array(self, self.name, name, shape)
        object.__setattr__(self, "frames", dict(self.frames))
        object.__setattr__(self, "provenance", dict(self.provenance))
        problems = [f"{self.name}: modes has {len(self.modes.kind)} rows, K_ff {nf}"] if len(self.modes.kind) != nf else []
        for name, frame in self.frames.items():
            if not name or "/" in name or name == "." or "\0" in name:
                problems.append(f"{self.name}: frame name {name!r} is empty, '.' or contains '/'; rename the frame")
            if frame.phi.shape[1] != nf:
                problems.append(f"{self.name}.{name}: phi has {frame.phi.shape[1]} shapes, the body has {nf}")
        if self.surface is not None and self.surface.phi.shape[2] != nf:
            problems.append(f"{self.name}.surface: phi has {self.surface.phi.shape[2]} shapes, the body has {nf}")
        if self.geometric is not None:
            if self.geometric.nf != nf:
                problems.append(f"{self.name}.geometric: has {self.geometric.nf} shapes, the body has {nf}")
            unknown = [name for name in self.geometric.frames if name not in self.frames]
            problems += [f"{self.name}.geometric: there is no frame {name!r}; leave it out" for name in unknown]
        problems += self._stress_problems()
        if problems:
            raise InputError(*problems)

    def _stress_problems(self) -> list[str]:
        """Where the stress modes do not fit the body."""
        if self.stress is None:
            return []
        stress, nodes = self.stress, 0 if self.surface is None else len(self.surface.nodes)
        problems = [f"{self.name}.stress: modes has {stress.nf} shapes, the body has {self.nf}"] if stress.nf != self.nf else []
        if len(stress.rows) and not 0 <= stress.rows.min() <= stress.rows.max() < nodes:
            problems.append(f"{self.name}.stress: rows refer to nodes outside those of the surface, 0..{nodes - 1}")
        unknown = [name for name in stress.interfaces if name not in self.frames]
        return problems + [f"{self.name}.stress: interface '{name}' is no frame of the body" for name in unknown]

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return int(self.K_ff.shape[0])

    @property
    def m_ff(self) -> FloatArray:
        """Elastic mass matrix ``∫φᵀφ dm = Σ_a SS[a, a]``, (nf, nf)."""
        return np.asarray(self.SS[0, 0] + self.SS[1, 1] + self.SS[2, 2])

    @property
    def com(self) -> FloatArray:
        """Centre of mass of the undeformed body in the body frame, (3,)."""
        return np.asarray(self.first_moment / self.mass)

    @property
    def inertia(self) -> FloatArray:
        """Inertia tensor of the undeformed body about the body frame's origin, ``tr(J) 1 − J`` with J = second_moment, (3, 3)."""
        return np.asarray(np.trace(self.second_moment) * np.eye(3) - self.second_moment)

    @property
    def x_cross_S(self) -> FloatArray:
        """Coupling of rotation and shapes of the undeformed body, ``∫x × φ dm``, (3, nf)."""
        return x_cross_shapes(self.xS)

    @property
    def digest(self) -> str:
        """SHA-256 of the reduced data (integrals, matrices, frames, modes) in canonical bytes."""
        from flexmbs.flexible_body_file import reduced_digest

        return reduced_digest(self)

    @cached_property
    def failed(self) -> tuple[str, ...]:
        """The checks of `validate` that fail without which there are no equations of motion."""
        from flexmbs.flexible_body_checks import without_motion

        return without_motion(self)

    def validate(self) -> Checks:
        """Checks of mass, symmetry, positivity and of the identities between the integrals; printable."""
        from flexmbs.flexible_body_checks import checks

        return checks(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """HDF5 file at ``path``, written to a temporary name and moved into place. Raises MachineError."""
        from flexmbs.flexible_body_file import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, surface: bool = True) -> FlexibleBodyData:
        """Body read from an HDF5 file; ``surface=False`` leaves nodal shapes and stress modes in the file. Large stress
        modes stay there anyway and are read when needed. Raises InputError."""
        from flexmbs.flexible_body_file import read

        return read(path, surface=surface)

    @classmethod
    def from_integrals(
        cls,
        name: str,
        *,
        mass: float,
        first_moment: ArrayLike,
        second_moment: ArrayLike,
        S_bar: ArrayLike,
        xS: ArrayLike,
        SS: ArrayLike,
        K_ff: ArrayLike,
        D_ff: ArrayLike | None = None,
        frames: Mapping[str, FlexibleFrame] | None = None,
        surface: Surface | None = None,
        provenance: Mapping[str, str | float] | None = None,
        geometric: GeometricStiffness | None = None,
    ) -> FlexibleBodyData:
        """Body from the user's own shape integrals; the mode table follows from ``(K_ff, m_ff, D_ff)``. Raises InputError."""
        K, SS_ = _array(K_ff), _array(SS)
        D = np.zeros_like(K) if D_ff is None else _array(D_ff)
        body = (float(mass), _array(first_moment), _array(second_moment), _array(S_bar), _array(xS), SS_, K, D)
        blank = ModeTable(np.zeros(len(K)), ("user",) * len(K), np.zeros((len(K), 6)), np.zeros(len(K)))
        checked = cls(name, *body, frames=frames or {}, modes=blank)  # refuses wrong shapes before the eigenproblem
        modes = mode_table(checked.K_ff, checked.D_ff, checked.m_ff, checked.S_bar, checked.xS)
        rest = {"surface": surface, "provenance": provenance or {}, "geometric": geometric}
        return cls(name, *body, frames=frames or {}, modes=modes, **rest)  # type: ignore[arg-type]


def x_cross_shapes(xS: FloatArray) -> FloatArray:
    """``∫x × φ dm`` (3, nf) from ``xS[a, b, k] = ∫x_a φ_bk dm``."""
    return np.asarray([xS[1, 2] - xS[2, 1], xS[2, 0] - xS[0, 2], xS[0, 1] - xS[1, 0]])


def mode_table(
    K_ff: FloatArray, D_ff: FloatArray, m_ff: FloatArray, S_bar: FloatArray, xS: FloatArray, *, kind: str = "user"
) -> ModeTable:
    """Mode table of ``K v = ω² m v`` with ``vᵀ m v = 1``: frequency ω/2π, damping ``vᵀDv / 2ω``, effective mass ``(vᵀL)²``,
    L = [S_bar; ∫x × φ dm]. Raises InputError when m_ff is not positive definite."""
    import scipy.linalg

    try:
        omega2, v = scipy.linalg.eigh(0.5 * (K_ff + K_ff.T), 0.5 * (m_ff + m_ff.T))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(0.5 * (m_ff + m_ff.T))[0])
        raise InputError(f"SS: Σ SS[a,a] has eigenvalue {smallest:.3g}; the shapes must be independent and have mass") from None
    omega = np.sqrt(np.maximum(omega2, 0.0))
    ratio = np.divide(np.einsum("ik,ij,jk->k", v, D_ff, v), 2.0 * omega, out=np.zeros_like(omega), where=omega > 0)
    effective = (np.vstack([S_bar, x_cross_shapes(xS)]) @ v).T ** 2
    return ModeTable(omega / (2.0 * np.pi), (kind,) * len(omega), effective, ratio)


def _array(value: ArrayLike) -> FloatArray:
    return np.asarray(value, dtype=np.float64)


def _set_array(record: object, owner: str, name: str, shape: tuple[int, ...], dtype: type[Any] = np.float64) -> None:
    """Field ``name`` as a contiguous array of ``shape``; InputError when it has another shape or is not finite."""
    object.__setattr__(record, name, _checked(f"{owner}.{name}", getattr(record, name), shape, dtype))


def _checked(item: str, value: ArrayLike, shape: tuple[int, ...], dtype: type[Any] = np.float64) -> NDArray[Any]:
    """A contiguous finite array of ``shape``; InputError naming the item when it is none."""
    try:
        array = np.ascontiguousarray(value, dtype=dtype).reshape(np.shape(value))
    except (TypeError, ValueError):
        raise InputError(f"{item}: {value!r:.60} is not an array of numbers") from None
    if array.shape != shape:
        raise InputError(f"{item}: has shape {array.shape}; it must be {shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{item}: has {int(np.sum(~np.isfinite(array)))} values that are not finite")
    return array
