"""Components of the record of a flexible body.

Frames, modes, residual modes, surface, geometric stiffness; checked arrays.

Joints and forces act only on frames; the other components describe elasticity and surface. SI units
throughout.

"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# in any unit, as in models: products of five such numbers stay finite in double precision
LARGEST = 1e60
ORTHONORMAL = 1e-6  # error of axes that are printed with seven digits
FRAME_KINDS = ("rigid", "averaged", "origin", "node")


@checked_arguments
@dataclass(frozen=True, eq=False)
class FlexibleFrame:
    """Frame on a flexible body: position ``x + φ q``, orientation ``exp(ψ q) R``, in body axes.

    x: (3,) undeformed position [m].  R: (3, 3) undeformed axes (columns, in the body frame). phi,
    psi: (3, nf) translation and rotation shape functions.  kind: "rigid", "averaged", "origin" or
    "node". local: (m, nf) displacements of the surface relative to the frame for each shape [m],
    equal in both pieces at a cut of a divided body; empty by default.  cut: for a cut, a digest of
    its nodes, of the patterns of these displacements and of the damping of all pieces, equal in
    both pieces. Source: docs/theory.md, section 10.

    Examples
    --------
    >>> import numpy as np
    >>> import flexmbs as fm
    >>> tip = fm.FlexibleFrame.at_node((0.4, 0, 0), phi=np.array([[0.0], [0.0], [1.5]]))
    >>> (tip.x + tip.phi @ [0.002]).tolist()  # x + φ q, of a mode that moves the tip along z
    [0.4, 0.0, 0.003]
    """

    x: FloatArray
    R: FloatArray
    phi: FloatArray
    psi: FloatArray
    kind: str = "node"
    local: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    cut: str = ""

    def __post_init__(self) -> None:
        nf = np.shape(self.phi)[-1] if np.ndim(self.phi) else 0
        m = np.shape(self.local)[0] if np.ndim(self.local) else 0
        if not m:
            object.__setattr__(self, "local", np.zeros((0, nf)))
        for name, shape in (
            ("x", (3,)),
            ("R", (3, 3)),
            ("phi", (3, nf)),
            ("psi", (3, nf)),
            ("local", (m, nf)),
        ):
            set_array(self, "frame", name, shape)
        error = np.abs(self.R.T @ self.R - np.eye(3)).max()
        if error > ORTHONORMAL or np.linalg.det(self.R) < 0.0:
            raise InputError(
                f"frame.R: is not a rotation; its columns must be right-handed and orthonormal "
                f"within {ORTHONORMAL:g}"
            )
        if self.kind not in FRAME_KINDS:
            raise InputError(
                f"frame: kind {self.kind!r} is unknown; must be one of {', '.join(FRAME_KINDS)}"
            )

    @classmethod
    def at_node(
        cls,
        x: ArrayLike,
        phi: ArrayLike,
        *,
        psi: ArrayLike | None = None,
        axes: ArrayLike | None = None,
    ) -> FlexibleFrame:
        """Frame at a point ``x`` (3,) with shapes ``phi`` (3, nf).

        Without rotation shapes and with body axes unless given.

        Without rotation shapes and with body axes unless given.
        """
        phi = array(phi)
        axes = np.eye(3) if axes is None else array(axes)
        return cls(array(x), axes, phi, np.zeros_like(phi) if psi is None else array(psi))


@dataclass(frozen=True, eq=False)
class ModeTable:
    """Modes of ``(K_ff, m_ff)``.

    Frequency (nf,) [Hz], kind (nf,), effective mass (nf, 6) about the body frame's axes [kg, kg m²]
    and damping ratio (nf,).
    """

    frequency: FloatArray
    kind: tuple[str, ...]
    effective_mass: FloatArray
    damping: FloatArray

    def __post_init__(self) -> None:
        nf = np.size(self.frequency)
        object.__setattr__(self, "kind", tuple(str(kind) for kind in self.kind))
        for name, shape in (("frequency", (nf,)), ("effective_mass", (nf, 6)), ("damping", (nf,))):
            set_array(self, "modes", name, shape)
        if len(self.kind) != nf:
            raise InputError(
                f"modes.kind: {len(self.kind)} kinds for {nf} frequencies; give one per mode"
            )

    def __str__(self) -> str:
        lines = [f"{'mode':>4} {'Hz':>12} {'damping':>8}  {'kind':<16} effective mass x y z [kg]"]
        for k, kind in enumerate(self.kind):
            mass = " ".join(f"{value:9.3g}" for value in self.effective_mass[k, :3])
            lines.append(
                f"{k + 1:4d} {self.frequency[k]:12.5g} {self.damping[k]:8.4g}  {kind:<16} {mass}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class ResidualModes:
    """Modes φ_k outside the basis, by which the error of reactions by truncation is estimated.

    They are mass-normalized, K-orthogonal to each other and M-orthogonal to the shapes of the basis
    that vanish at the interfaces, or to all if φ_k move the interfaces. With the factors ζ_j of the
    unit loads f_j of `StressModes` and the shapes Φ of the basis

        η̈_k + 2 ζ_k ω_k η̇_k + ω_k² η_k = Σ_j φ_kᵀf_j ζ_j − φ_kᵀMΦ q̈ − φ_kᵀKΦ q.

    frequency (m,) [Hz], damping (m,) ratios; loads (m, 12) φ_kᵀf_j of the inertia loads, with all
    interfaces fixed, or (m, 12 + 6 × frames), where the last are force and moment on each frame,
    by name in alphabetical order: the motion of the frames in the modes, of a basis without exact
    static responses; mass (m, nf) φ_kᵀMΦ; stiffness (m, nf) φ_kᵀKΦ. Source: Craig and Kurdila, Fundamentals of Structural
    Dynamics (2006), section 17.3.
    """

    frequency: FloatArray
    damping: FloatArray
    loads: FloatArray
    mass: FloatArray
    stiffness: FloatArray

    def __post_init__(self) -> None:
        m, nf = np.size(self.frequency), np.shape(self.mass)[-1] if np.ndim(self.mass) else 0
        width = max(np.shape(self.loads)[-1], 12) if np.ndim(self.loads) else 12
        shapes = {
            "frequency": (m,),
            "damping": (m,),
            "loads": (m, width),
            "mass": (m, nf),
            "stiffness": (m, nf),
        }
        for name, shape in shapes.items():
            set_array(self, "residual", name, shape)

    @property
    def moves_frames(self) -> bool:
        """True if the modes move the frames of the body."""
        return bool(self.loads.shape[1] > 12)


@dataclass(frozen=True, eq=False)
class Surface:
    """Mesh for plots and recovery.

    All nodes (N, 3) [m] in the body frame, their shapes phi (N, 3, nf), the boundary triangles (T,
    3) as node rows, oriented outwards, and the node numbers (N,) of the source.
    """

    nodes: FloatArray
    phi: FloatArray
    triangles: IntArray
    node_ids: IntArray

    def __post_init__(self) -> None:
        n, nf = np.shape(self.nodes)[0], np.shape(self.phi)[-1]
        set_array(self, "surface", "nodes", (n, 3))
        set_array(self, "surface", "phi", (n, 3, nf))
        set_array(self, "surface", "triangles", (np.shape(self.triangles)[0], 3), np.int64)
        set_array(self, "surface", "node_ids", (n,), np.int64)
        if self.triangles.size and not 0 <= self.triangles.min() <= self.triangles.max() < n:
            raise InputError(f"surface.triangles: refer to node rows outside 0..{n - 1}")


@dataclass(frozen=True, eq=False)
class GeometricStiffness:
    """Geometric stiffness matrices K0 (nf, nf) of unit loads on the supported body, all symmetric.

    acceleration (3, nf, nf): inertia force −ρ e_a of a frame acceleration; angular_acceleration (3,
    nf, nf): −ρ e_c × x; rotation (6, nf, nf): −ρ ω×(ω×x) for ω_x², ω_y², ω_z², ω_x ω_y, ω_y ω_z,
    ω_z ω_x; frames: (6, nf, nf) by name, unit force x y z and unit moment x y z on the frame, in
    body axes; omitted frames have none. By virtual work −½ qᵀ K0 q is the second-order displacement
    conjugate to the unit load. Reductions with inertia relief, regardless of their reference
    condition, have no matrices for accelerations. Source: Wallrapp and Schwertassek, Archive of
    Applied
    Mechanics 61 (1991) 428.
    """

    acceleration: FloatArray
    angular_acceleration: FloatArray
    rotation: FloatArray
    frames: Mapping[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nf = np.shape(self.acceleration)[-1] if np.ndim(self.acceleration) else 0
        for name, count in (("acceleration", 3), ("angular_acceleration", 3), ("rotation", 6)):
            set_array(self, "geometric", name, (count, nf, nf))
        frames = {
            name: checked(f"geometric.frames.{name}", K0, (6, nf, nf))
            for name, K0 in self.frames.items()
        }
        object.__setattr__(self, "frames", frames)

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return int(self.acceleration.shape[1])

    @property
    def second_moments(self) -> FloatArray:
        """Second moments D (3, 3, nf, nf) of the second-order displacement.

        ∫x_a u_b dm = ½ qᵀ D[a, b] q for the second-order displacement u.
        """
        D = np.zeros((3, 3, self.nf, self.nf))
        own = -0.5 * self.rotation[:3].sum(axis=0)
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            D[a, a] = self.rotation[a] + own
            D[a, b] = 0.5 * (self.rotation[3 + a] + self.angular_acceleration[c])
            D[b, a] = 0.5 * (self.rotation[3 + a] - self.angular_acceleration[c])
        return D


def x_cross_shapes(xS: FloatArray) -> FloatArray:
    """Integral ``∫x × φ dm`` (3, nf) from ``xS[a, b, k] = ∫x_a φ_bk dm``."""
    return np.asarray([xS[1, 2] - xS[2, 1], xS[2, 0] - xS[0, 2], xS[0, 1] - xS[1, 0]])


def mode_table(
    K_ff: FloatArray,
    D_ff: FloatArray,
    m_ff: FloatArray,
    S_bar: FloatArray,
    xS: FloatArray,
    *,
    kind: str = "user",
) -> ModeTable:
    """Mode table of the eigenvalue problem ``K v = ω² m v``, ``vᵀ m v = 1``.

    Frequency ω/2π, damping ``vᵀDv / 2ω``, effective mass ``(vᵀL)²``, L = [S_bar; ∫x × φ dm]. Raises
    InputError when m_ff is not positive definite.
    """
    import scipy.linalg

    try:
        omega2, v = scipy.linalg.eigh(0.5 * (K_ff + K_ff.T), 0.5 * (m_ff + m_ff.T))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(0.5 * (m_ff + m_ff.T))[0])
        raise InputError(
            f"SS: Σ SS[a,a] has eigenvalue {smallest:.3g}; the shapes must be independent "
            "and have mass"
        ) from None
    omega = np.sqrt(np.maximum(omega2, 0.0))
    ratio = np.divide(
        np.einsum("ik,ij,jk->k", v, D_ff, v), 2.0 * omega, out=np.zeros_like(omega), where=omega > 0
    )
    effective = (np.vstack([S_bar, x_cross_shapes(xS)]) @ v).T ** 2
    return ModeTable(omega / (2.0 * np.pi), (kind,) * len(omega), effective, ratio)


def array(value: ArrayLike) -> FloatArray:
    """Value as an array of float64."""
    return np.asarray(value, dtype=np.float64)


def set_array(
    record: object, owner: str, name: str, shape: tuple[int, ...], dtype: type[Any] = np.float64
) -> None:
    """Set the field ``name`` as a contiguous array of ``shape``.

    InputError if it has another shape or is not finite.
    """
    object.__setattr__(
        record, name, checked(f"{owner}.{name}", getattr(record, name), shape, dtype)
    )


def shape_problems(
    record: object, owner: str, shapes: Mapping[str, tuple[int, ...]], finite: Iterable[str]
) -> list[str]:
    """Problems of the fields of a record with a wrong shape or non-finite values.

    Values are checked of the fields ``finite``; arrays in a file, which would have to be read
    completely, and None count as finite.
    """
    wrong = [(name, np.shape(getattr(record, name)), shape) for name, shape in shapes.items()]
    problems = [
        f"{owner}.{name}: has shape {found}; it must be {shape}"
        for name, found, shape in wrong
        if found != shape
    ]
    values = [(name, getattr(record, name)) for name in finite]
    bad = [
        name
        for name, value in values
        if not (value is None or isinstance(value, np.memmap) or _within_limits(value).all())
    ]
    return problems + [
        f"{owner}.{name}: has values that are not finite or exceed {LARGEST:g}" for name in bad
    ]


def checked(
    item: str, value: ArrayLike, shape: tuple[int, ...], dtype: type[Any] = np.float64
) -> NDArray[Any]:
    """Contiguous array of ``shape`` within `LARGEST`; InputError naming the item otherwise."""
    try:
        array = np.ascontiguousarray(value, dtype=dtype).reshape(np.shape(value))
    except (TypeError, ValueError):
        raise InputError(f"{item}: {value!r:.60} is not an array of numbers") from None
    if array.shape != shape:
        raise InputError(f"{item}: has shape {array.shape}; it must be {shape}")
    outside = array.size - int(np.sum(_within_limits(array)))
    if outside:
        raise InputError(f"{item}: has {outside} values that are not finite or exceed {LARGEST:g}")
    return array


def _within_limits(array: NDArray[Any]) -> NDArray[np.bool_]:
    """True where numbers are finite and products of them stay finite."""
    most = np.float64(LARGEST)  # infinite in single precision, as which stress is stored
    return (array >= -most) & (array <= most)
