"""Linear elastic materials: elasticity matrix C (6, 6) with σ = C ε.

Order xx, yy, zz, yz, zx, xy (engineering shears).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError, raise_problems, shown, warn_caller
from preprocess.inputs.argument_checks import checked_arguments, floats, number
from preprocess.inputs.known_materials import material_doubt
from preprocess.inputs.units import SI
from preprocess.inputs.warning import PreprocessWarning

Array = NDArray[np.float64]
Triple = tuple[float, float, float]

# m/s, sqrt(E/rho) from soft rubber to diamond; data outside have other units
WAVE_SPEEDS = (100.0, 2e4)
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))


@runtime_checkable
class Material(Protocol):
    """Material properties for assembly and stress."""

    @property
    def rho(self) -> float:
        """Density, kg/m³; zero for elements without mass."""

    @property
    def elasticity(self) -> Array:
        """C (6, 6), Pa, in mesh axes; symmetric positive definite."""

    @property
    def yield_stress(self) -> float | None:
        """Pa, if known; a von Mises stress above it gives a warning."""


@checked_arguments
@dataclass(frozen=True)
class Isotropic:
    """Isotropic material.

    E: Young's modulus (Pa). nu: Poisson's ratio. rho: density (kg/m³). yield_stress: Pa, if known.
    Raises InputError unless E > 0, rho ≥ 0, yield_stress > 0 and -1 < nu < 0.5.

    Examples
    --------
    >>> import preprocess as pp
    >>> steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0, yield_stress=350e6)
    >>> round(steel.elasticity[0, 0].item() / 1e11, 6)  # E (1 − ν)/((1 + ν)(1 − 2ν)), in 10¹¹ Pa
    2.826923
    """

    E: float
    nu: float
    rho: float
    yield_stress: float | None = None

    def __post_init__(self) -> None:
        for name in ("E", "nu", "rho"):
            object.__setattr__(self, name, number(getattr(self, name), f"material.{name}"))
        problems = [
            *_not_positive(E=self.E),
            *_bad_density(self.rho),
            *_bad_yield(self.yield_stress),
        ]
        if not -1 < self.nu < 0.5:
            problems.append(
                f"material: nu = {self.nu:g} is outside -1 < nu < 0.5, the range of "
                "stable materials"
            )
        raise_problems(problems)
        if self.nu > 0.49:
            _warn(
                f"material: nu = {self.nu:g} is nearly incompressible; volumetric locking "
                "above 0.49"
            )
        _warn_of_data(self.E, self.rho)

    @property
    def elasticity(self) -> Array:
        """Elasticity matrix C (6, 6), Pa: λ δ_ij δ_kl + μ (δ_ik δ_jl + δ_il δ_jk)."""
        lam = self.E * self.nu / ((1 + self.nu) * (1 - 2 * self.nu))
        mu = self.E / (2 * (1 + self.nu))
        C = np.diag([2 * mu, 2 * mu, 2 * mu, mu, mu, mu])
        C[:3, :3] += lam
        return C


@checked_arguments
@dataclass(frozen=True)
class Orthotropic:
    """Orthotropic material by its engineering constants along material axes x, y, z.

    E: (E_x, E_y, E_z), Pa.  nu: (nu_xy, nu_xz, nu_yz), nu_xy is the contraction along y under
    tension along x. G: (G_xy, G_xz, G_yz), Pa.  rho: density (kg/m³).  axes (3, 3): material axes
    as columns in mesh axes, by default mesh axes. yield_stress: Pa, if known. strengths: (Xt, Xc,
    Yt, Yc, S) of a ply, positive, Pa, if known: tension and compression along x, along y, shear xy.
    Raises InputError unless the elasticity matrix is positive definite and the axes are
    right-handed and orthonormal.

    Examples
    --------
    >>> import preprocess as pp
    >>> ply = pp.Orthotropic(
    ...     E=(1.35e11, 1e10, 1e10), nu=(0.3, 0.3, 0.4), G=(5e9, 5e9, 3.5e9), rho=1600.0
    ... )
    >>> mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    >>> plate = pp.reduce(mesh, ply, interfaces={"root": pp.Rigid("x0")}, reference="root")
    >>> round(plate.mass, 6)  # ρ l b h
    0.256
    """

    E: Triple
    nu: Triple
    G: Triple
    rho: float
    axes: ArrayLike | None = None
    yield_stress: float | None = None
    strengths: tuple[float, float, float, float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("E", "nu", "G"):
            object.__setattr__(self, name, _three(getattr(self, name), name))
        object.__setattr__(self, "rho", number(self.rho, "material.rho"))
        if self.axes is not None:
            object.__setattr__(self, "axes", _nested(floats(self.axes, "material.axes")))
        named = {f"E[{i}]": value for i, value in enumerate(self.E)} | {
            f"G[{i}]": value for i, value in enumerate(self.G)
        }
        problems = (
            _not_positive(**named)
            + _bad_density(self.rho)
            + _bad_yield(self.yield_stress)
            + self._bad_strengths()
        )
        if not problems and not np.linalg.eigvalsh(self._compliance()).min() > 0:
            problems.append(
                f"material: nu = {tuple(self.nu)} makes the elasticity matrix indefinite; "
                "reduce |nu|"
            )
        problems += _bad_axes(self.axes)
        raise_problems(problems)
        if max(abs(nu) for nu in self.nu) > 0.49:
            _warn(
                f"material: nu = {tuple(self.nu)} is large; nu_ij is the contraction "
                "along j under tension along i"
            )
        _warn_of_data(max(self.E), self.rho)

    def _bad_strengths(self) -> list[str]:
        """Problems of the strengths."""
        if self.strengths is None:
            return []
        values = floats(self.strengths, "material.strengths")
        if values.shape != (5,) or not ((values > 0) & np.isfinite(values)).all():
            return [
                f"material: strengths = {shown(self.strengths)}; give (Xt, Xc, Yt, Yc, "
                "S), positive, in Pa"
            ]
        if self.axes is not None:
            return [
                "material: strengths are those of a ply, along its axes; give no axes, "
                "but the angle in LaminateSection"
            ]
        object.__setattr__(self, "strengths", tuple(values.tolist()))
        return []

    def _rotation(self) -> Array:
        """Rotation from material axes to mesh axes."""
        return np.eye(3) if self.axes is None else np.asarray(self.axes, dtype=float)

    def _compliance(self) -> Array:
        """Compliance (6, 6) in material axes, 1/Pa."""
        (Ex, Ey, Ez), (nxy, nxz, nyz), (Gxy, Gxz, Gyz) = self.E, self.nu, self.G
        S = np.diag([1 / Ex, 1 / Ey, 1 / Ez, 1 / Gyz, 1 / Gxz, 1 / Gxy])
        S[0, 1] = S[1, 0] = -nxy / Ex
        S[0, 2] = S[2, 0] = -nxz / Ex
        S[1, 2] = S[2, 1] = -nyz / Ey
        return S

    @property
    def elasticity(self) -> Array:
        """Elasticity matrix C (6, 6), Pa, in mesh axes: C_ijkl = R_ip R_jq R_kr R_ls C'_pqrs."""
        return _rotated_elasticity(
            np.asarray(np.linalg.inv(self._compliance()), dtype=float), self._rotation()
        )


@checked_arguments
@dataclass(frozen=True)
class Anisotropic:
    """Material with a given elasticity matrix along material axes.

    C (6, 6): σ = C ε in the order xx, yy, zz, yz, zx, xy, with shear strains γ (Pa); symmetric
    positive definite. rho: density (kg/m³). axes (3, 3): material axes as columns in mesh axes, by
    default mesh axes. yield_stress: Pa, if known.

    Examples
    --------
    >>> import preprocess as pp
    >>> steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    >>> same = pp.Anisotropic(C=steel.elasticity, rho=7850.0)
    >>> abs(same.elasticity - steel.elasticity).max().item()
    0.0
    """

    C: ArrayLike
    rho: float
    axes: ArrayLike | None = None
    yield_stress: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", number(self.rho, "material.rho"))
        object.__setattr__(self, "C", _nested(floats(self.C, "material.C")))
        if self.axes is not None:
            object.__setattr__(self, "axes", _nested(floats(self.axes, "material.axes")))
        problems = _bad_density(self.rho) + _bad_yield(self.yield_stress)
        C = np.asarray(self.C)
        if C.shape != (6, 6) or np.abs(C - C.T).max() > 1e-6 * np.abs(C).max():
            problems.append(
                f"material: C has shape {C.shape} and must be symmetric (6, 6); order xx "
                "yy zz yz zx xy"
            )
        elif not np.linalg.eigvalsh(C).min() > 0:
            problems.append(
                "material: C is not positive definite; check the order xx yy zz yz zx xy "
                "and the signs"
            )
        problems += _bad_axes(self.axes)
        raise_problems(problems)
        _warn_of_data(float(np.diagonal(C).max()), self.rho)

    @property
    def elasticity(self) -> Array:
        """Elasticity matrix C (6, 6), Pa, in mesh axes."""
        C = np.asarray(self.C, dtype=float)
        return (
            0.5 * (C + C.T)
            if self.axes is None
            else _rotated_elasticity(C, np.asarray(self.axes, dtype=float))
        )


MATERIALS: dict[str, type[Isotropic] | type[Orthotropic] | type[Anisotropic]] = {
    "isotropic": Isotropic,
    "orthotropic": Orthotropic,
    "anisotropic": Anisotropic,
}


def _rotated_elasticity(C: Array, R: Array) -> Array:
    """Rotated elasticity C_ijkl = R_ip R_jq R_kr R_ls C'_pqrs as a matrix (6, 6)."""
    rotated = np.einsum("ip,jq,kr,ls,pqrs->ijkl", R, R, R, R, elasticity_tensor(C), optimize=True)
    return np.array([[rotated[(*ij, *kl)] for kl in VOIGT] for ij in VOIGT], dtype=float)


def _bad_axes(axes: ArrayLike | None) -> list[str]:
    """Problems of material axes that are not orthonormal."""
    R = np.eye(3) if axes is None else np.asarray(axes, dtype=float)
    if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
        return ["material: axes are not right-handed orthonormal columns (3, 3); normalize them"]
    return []


def elasticity_tensor(C: Array) -> Array:
    """Elasticity tensor C_ijkl (3, 3, 3, 3) of an elasticity matrix (6, 6)."""
    voigt = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    return C[voigt[:, :, None, None], voigt[None, None, :, :]]


def _not_positive(**values: float) -> list[str]:
    """Problems of named values that are not positive and finite."""
    bad = {name: value for name, value in values.items() if not 0 < value < float("inf")}
    return [
        f"material: {name} = {value:g} is not positive and finite; give it in SI units"
        for name, value in bad.items()
    ]


def _bad_density(rho: float) -> list[str]:
    """Problems of a density; zero is that of elements whose mass is given on nodes."""
    return [] if rho == 0 else _not_positive(rho=rho)


def _bad_yield(stress: float | None) -> list[str]:
    """Problems of a yield stress."""
    return (
        []
        if stress is None
        else _not_positive(yield_stress=number(stress, "material.yield_stress"))
    )


def _three(value: ArrayLike, name: str) -> Triple:
    """Three numbers of a property. Raises `InputError`."""
    values = floats(value, f"material.{name}")
    if values.shape != (3,):
        raise InputError(f"material: {name} needs three values, has {values.size}")
    first, second, third = (number(each, f"material.{name}") for each in values.tolist())
    return first, second, third


def _nested(array: Array) -> Any:
    """Array as nested tuples."""
    return tuple(map(_nested, array)) if array.ndim else float(array)


def _warn_of_data(E: float, rho: float) -> None:
    """Warn of a modulus and a density that no solid has, or that belong to other units."""
    if rho == 0:
        return
    speed, doubtful = np.sqrt(E / rho), material_doubt(E, rho, SI)
    if not WAVE_SPEEDS[0] <= speed <= WAVE_SPEEDS[1]:
        _warn(
            f"material: sqrt(E/rho) = {speed:.3g} m/s is not a wave speed of solids; are "
            f"E = {E:g}, rho = {rho:g} in Pa, kg/m³?" + (f" They {doubtful}" if doubtful else ""),
        )
    elif doubtful:
        _warn(f"material: E = {E:g}, rho = {rho:g} in Pa, kg/m³ {doubtful}")


def _warn(message: str) -> None:
    """Issue a `PreprocessWarning`."""
    warn_caller(message, PreprocessWarning)
