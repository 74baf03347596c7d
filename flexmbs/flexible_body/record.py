"""Reduced flexible body: record written by the preprocessor and read by the multibody program.

A point of the body is at ``u = x + φ q`` in the body frame, where ``q`` are the elastic (modal)
coordinates. All inertia terms follow from six shape integrals (mass, first and second moment,
``S_bar``, ``xS``, ``SS``), all elastic terms from ``K_ff`` and ``D_ff``; joints and forces attach
to its frames. SI units throughout: m, kg, s, rad, N. HDF5 is imported only when a file is read or
written.

"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, raise_problems
from flexmbs.flexible_body.checks import BodyChecks, checks, without_motion
from flexmbs.flexible_body.components import (
    LARGEST,
    FlexibleFrame,
    FloatArray,
    GeometricStiffness,
    ModeTable,
    ResidualModes,
    Surface,
    array,
    mode_table,
    set_array,
    x_cross_shapes,
)
from flexmbs.flexible_body.stress import StressModes


@checked_arguments
@dataclass(frozen=True, eq=False, repr=False)
class FlexibleBodyData:
    """Reduced flexible body in its body frame (the frame defined by the reference conditions).

    mass [kg]; first_moment ∫x dm (3,); second_moment ∫x xᵀ dm (3, 3); S_bar ∫φ dm (3, nf);
    xS[a,b,k] = ∫x_a φ_bk dm (3, 3, nf); SS[a,b,k,l] = ∫φ_ak φ_bl dm (3, 3, nf, nf); K_ff, D_ff (nf,
    nf) stiffness and damping; frames by name; mode table; surface for plots or None; provenance:
    origin of the numbers, by key; geometric stiffness or None; stress modes at nodes of the surface
    or None; damping_rows U (m, nf): for a piece of a divided body, whose pieces have the common
    damping UᵀU in addition to D_ff; residual modes outside the basis, or None.

    Raises InputError for wrong shapes, values that are not finite, and names with "/".
    Source: Shabana, Dynamics of Multibody Systems, section 5.3 (shape integrals).

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> steel, ends = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), {"root": pp.Rigid("x0")}
    >>> bar = pp.reduce(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), steel, interfaces=ends, reference="root"
    ... )
    >>> bar.save("bar.h5")
    >>> bar = fm.FlexibleBodyData.load("bar.h5")
    >>> (
    ...     round(bar.mass, 6),
    ...     round(bar.first_moment[0].item() / bar.mass, 6),
    ... )  # ρ l b h, and the centre of mass at l/2
    (1.256, 0.2)
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
    damping_rows: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    residual: ResidualModes | None = None

    def __post_init__(self) -> None:
        nf = np.shape(self.K_ff)[0] if np.ndim(self.K_ff) else 0
        m = np.shape(self.damping_rows)[0] if np.ndim(self.damping_rows) else 0
        if not m:
            object.__setattr__(self, "damping_rows", np.zeros((0, nf)))
        set_array(self, self.name, "mass", ())
        object.__setattr__(self, "mass", float(self.mass))
        if abs(self.mass) < 1.0 / LARGEST:
            raise InputError(
                f"{self.name}.mass: must be at least {1.0 / LARGEST:g}, not {self.mass:g}"
            )
        shapes = {
            "first_moment": (3,),
            "second_moment": (3, 3),
            "S_bar": (3, nf),
            "xS": (3, 3, nf),
            "SS": (3, 3, nf, nf),
            "K_ff": (nf, nf),
            "D_ff": (nf, nf),
            "damping_rows": (m, nf),
        }
        for name, shape in shapes.items():
            set_array(self, self.name, name, shape)
        object.__setattr__(self, "frames", dict(self.frames))
        object.__setattr__(self, "provenance", dict(self.provenance))
        problems = (
            [f"{self.name}: modes has {len(self.modes.kind)} rows, K_ff {nf}"]
            if len(self.modes.kind) != nf
            else []
        )
        for name, frame in self.frames.items():
            if not name or "/" in name or name == "." or "\0" in name:
                problems.append(
                    f"{self.name}: frame name {name!r} is empty, '.' or contains '/'; "
                    "rename the frame"
                )
            if frame.phi.shape[1] != nf:
                problems.append(
                    f"{self.name}.{name}: phi has {frame.phi.shape[1]} shapes, the body has {nf}"
                )
        if self.surface is not None and self.surface.phi.shape[2] != nf:
            problems.append(
                f"{self.name}.surface: phi has {self.surface.phi.shape[2]} shapes, the "
                f"body has {nf}"
            )
        if self.geometric is not None:
            if self.geometric.nf != nf:
                problems.append(
                    f"{self.name}.geometric: has {self.geometric.nf} shapes, the body has {nf}"
                )
            unknown = [name for name in self.geometric.frames if name not in self.frames]
            problems += [
                f"{self.name}.geometric: there is no frame {name!r}; remove it" for name in unknown
            ]
        problems += [*self._stress_problems(), *self._residual_problems()]
        raise_problems(problems)

    def __repr__(self) -> str:
        frames = ", ".join(self.frames) or "none"
        return (
            f"<FlexibleBodyData '{self.name}': {self.mass:.4g} kg, {self.nf} elastic "
            f"coordinates, frames {frames}>"
        )

    def _stress_problems(self) -> list[str]:
        """Problem of the stress modes, if they do not fit the body."""
        if self.stress is None:
            return []
        stress, nodes = self.stress, 0 if self.surface is None else len(self.surface.nodes)
        problems = (
            [f"{self.name}.stress: modes has {stress.nf} shapes, the body has {self.nf}"]
            if stress.nf != self.nf
            else []
        )
        if len(stress.rows) and not 0 <= stress.rows.min() <= stress.rows.max() < nodes:
            problems.append(
                f"{self.name}.stress: rows refer to nodes outside those of the surface, "
                f"0..{nodes - 1}"
            )
        unknown = [name for name in stress.interfaces if name not in self.frames]
        return problems + [
            f"{self.name}.stress: interface '{name}' is not a frame of the body" for name in unknown
        ]

    def _residual_problems(self) -> list[str]:
        """Problem of the residual modes, if they do not fit the body."""
        if self.residual is None:
            return []
        n, loads = self.residual.mass.shape[1], self.residual.loads.shape[1]
        problems = []
        if n != self.nf:
            problems.append(f"{self.name}.residual: mass has {n} shapes, the body has {self.nf}")
        if loads not in (12, whole := 12 + 6 * len(self.frames)):
            problems.append(
                f"{self.name}.residual: loads has {loads} columns; it must have 12, or {whole} for "
                "modes that move the frames"
            )
        return problems

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
        """Inertia tensor of the undeformed body about the origin of the body frame.

        ``tr(J) 1 − J`` with J = second_moment, (3, 3).
        """
        return np.asarray(np.trace(self.second_moment) * np.eye(3) - self.second_moment)

    @property
    def x_cross_S(self) -> FloatArray:
        """Coupling of rotation and shapes of the undeformed body, ``∫x × φ dm``, (3, nf)."""
        return x_cross_shapes(self.xS)

    @property
    def digest(self) -> str:
        """SHA-256 of the reduced data (integrals, matrices, frames, modes) in canonical bytes."""
        from flexmbs.flexible_body.file import reduced_digest

        return reduced_digest(self)

    @cached_property
    def failed(self) -> tuple[str, ...]:
        """Failed checks of `validate` that preclude equations of motion."""
        return without_motion(self)

    def validate(self) -> BodyChecks:
        """Checks of mass, symmetry, positivity and of the identities between the integrals.

        The result is printable.
        """
        return checks(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file at ``path`` atomically. Raises MachineError."""
        from flexmbs.flexible_body.file import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, surface: bool = True) -> FlexibleBodyData:
        """Read a body from an HDF5 file.

        ``surface=False`` leaves nodal shapes and stress modes in the file. Large stress modes are
        read on demand. Raises InputError.
        """
        from flexmbs.flexible_body.file import read

        return read(path, cls, surface=surface)

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
        """Make a body from given shape integrals.

        The mode table follows from ``(K_ff, m_ff, D_ff)``. Raises InputError.
        """
        K, SS_ = array(K_ff), array(SS)
        D = np.zeros_like(K) if D_ff is None else array(D_ff)
        body = (
            float(mass),
            array(first_moment),
            array(second_moment),
            array(S_bar),
            array(xS),
            SS_,
            K,
            D,
        )
        blank = ModeTable(
            np.zeros(len(K)), ("user",) * len(K), np.zeros((len(K), 6)), np.zeros(len(K))
        )
        # rejects wrong shapes before the eigenproblem
        checked = cls(name, *body, frames=frames or {}, modes=blank)
        modes = mode_table(checked.K_ff, checked.D_ff, checked.m_ff, checked.S_bar, checked.xS)
        rest = {"surface": surface, "provenance": provenance or {}, "geometric": geometric}
        return cls(name, *body, frames=frames or {}, modes=modes, **rest)  # type: ignore[arg-type]
