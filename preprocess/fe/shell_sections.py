"""Sections of shells: of one material, or laminates of plies.

The stiffness of a laminate is that of its plies, integrated through the thickness: A = Σ Q̄_k t_k,
B = Σ Q̄_k t_k z_k, D = Σ Q̄_k (t_k z_k² + t_k³/12). The shear correction of its transverse shear
is, in each of the two directions,

    k = 1/(Σ_k G_k t_k ∫ f²/G dz),    f(z) = ∫_z E (z − z₀) dz/∫ E (z − z₀)² dz,

with f the shear stress of unit shear force that balances the bending stress in that direction; 5/6
for one material.

Source: Jones, Mechanics of Composite Materials, section 4.2; Whitney, J. Appl. Mech. 40 (1973) 302
(shear correction).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError, shown
from preprocess.elements.structural import names_of
from preprocess.fe.material import Anisotropic, Isotropic, Material, Orthotropic
from preprocess.fe.nodal_stress import elasticity
from preprocess.fe.section_base import Section, check_added_mass
from preprocess.fe.structural_element import PlyData, rotated_stress
from preprocess.inputs.argument_checks import (
    checked_arguments,
    floats,
    nonzero_vector,
    not_negative,
    number,
    positive,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SHEAR = 5 / 6  # shear correction of a homogeneous plate (Reissner)
# relative difference of thickness, moduli or offset that is only the rounding of numbers in files
SYMMETRIC = 1e-6
GAUSS = (-1.0 / np.sqrt(3.0), 1.0 / np.sqrt(3.0))
SHEAR_POINTS, SHEAR_WEIGHTS = np.polynomial.legendre.leggauss(3)
STRAINED = [0, 1, 3, 5, 4]  # strains 11, 22, 12, 13, 23 in the order xx yy zz xy yz zx


class Layer(NamedTuple):
    """Integration layer within a shell.

    A surface at ζ from −1 to 1, and its share of ∫dζ = 2; density; moduli (5, 5) of the strains 11,
    22, 12, 13, 23 in local axes, or None for those of the shell's material with the shear
    correction.
    """

    zeta: float
    weight: float
    rho: float
    moduli: Array | None
    shear: float


def with_free_thickness(C: Array, shear: float) -> Array:
    """Moduli D (…, 5, 5) of strains 11, 22, 12, 13, 23 with σ₃₃ = 0, from C (…, 6, 6).

    Order of C: xx yy zz xy yz zx; transverse shear times the correction.
    """
    D = C - C[..., :, 2:3] * C[..., 2:3, :] / C[..., 2:3, 2:3]
    D = D[..., STRAINED, :][..., STRAINED]
    D[..., 3:, :] *= shear
    D[..., :3, 3:] *= shear
    return np.asarray(D)


class SurfaceSection(Section):
    """Base of the sections of shells.

    offset: of the middle surface from the nodes, along the normal; added_mass: on the middle
    surface.
    """

    offset: float
    added_mass: float
    turn: float = 0.0
    normals: Sequence[tuple[int, int, float, float, float]] = ()
    elements: ClassVar[tuple[str, ...]] = names_of("shell")

    @property
    def first_axis(self) -> ArrayLike | None:
        """Direction (3,) of the first local axis, projected on the surface.

        None for that of the first side.
        """
        return None

    @abstractmethod
    def thickness_at(self, numbers: Indices) -> Array:
        """Thickness (…) at nodes with these numbers."""

    @abstractmethod
    def layers(self, material: Material) -> tuple[Layer, ...]:
        """Integration layers, two in each ply, from the bottom.

        material: that of the elements.
        """

    def ply_data(self, material: Material) -> PlyData | None:
        """Plies of the section, None if it has none.

        material: that of the elements.
        """
        return None

    def height(self, material: Material) -> float:
        """Height of the centre of the membrane stiffness above the nodes, along the normal [m]."""
        return float(self.offset)

    def is_reversible(self, material: Material) -> bool:
        """True if the section is unchanged when its normal is reversed about the first axis."""
        thickness = self.thickness_at(np.zeros(1, np.int64))[0]
        return bool(abs(float(self.offset)) <= SYMMETRIC * thickness)

    def _check_offset(self) -> None:
        """Raise `InputError` for invalid offset, added mass or normals."""
        if not np.isfinite(number(self.offset, "section: offset")):
            raise InputError(f"section: offset = {self.offset!r}; give a length in m")
        check_added_mass(self.added_mass, "kg/m²")
        rows = (
            floats(self.normals, "section: normals").reshape(-1, 5)
            if len(self.normals)
            else np.ones((0, 5))
        )
        if not np.linalg.norm(rows[:, 2:], axis=1).all() or (rows[:, :2] % 1 != 0).any():
            raise InputError(
                "section: normals: give rows of an element's number, a node's number and "
                "a direction"
            )


@checked_arguments
@dataclass(frozen=True, eq=False)
class ShellSection(SurfaceSection):
    """Shell of one material.

    thickness: m. offset: of its middle surface from the nodes, along the normal, right-handed with
    respect to the order of the nodes [m]. at_nodes: different thicknesses at nodes, rows of node
    number and thickness [m], interpolated between the nodes. added_mass: on the middle surface
    [kg/m²]. normals: of the shell at nodes of elements, rows of element number, node number and
    direction; by default the mean of the elements at a node.

    Examples
    --------
    >>> import preprocess as pp
    >>> plate = pp.Mesh.from_arrays(
    ...     [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], {"quad4": [(0, 1, 2, 3)]}
    ... )
    >>> fe = pp.assemble(
    ...     plate, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), sections=pp.ShellSection(0.002)
    ... )
    >>> round(fe.mass, 9)  # ρ h A
    15.7
    """

    thickness: float
    _: KW_ONLY
    offset: float = 0.0
    at_nodes: Sequence[tuple[int, float]] = ()
    added_mass: float = 0.0
    normals: Sequence[tuple[int, int, float, float, float]] = ()

    kind = "shell"

    def __post_init__(self) -> None:
        positive(self.thickness, "section: thickness", "give a positive length in m")
        self._check_offset()
        rows = (
            floats(self.at_nodes, "section: at_nodes").reshape(-1, 2)
            if len(self.at_nodes)
            else np.ones((0, 2))
        )
        if not (rows[:, 1] > 0).all() or (rows[:, 0] % 1 != 0).any():
            raise InputError(
                "section: at_nodes: give rows of a node number and a positive thickness in m"
            )

    def thickness_at(self, numbers: Indices) -> Array:
        """Thickness at nodes by their numbers: constant or given per node."""
        h = np.full(numbers.shape, float(self.thickness))
        if len(self.at_nodes):
            given = np.asarray(self.at_nodes, dtype=float)
            given = given[np.argsort(given[:, 0], kind="stable")]
            last = np.searchsorted(given[:, 0], numbers, side="right") - 1
            found = (last >= 0) & (given[np.maximum(last, 0), 0] == numbers)
            h[found] = given[last[found], 1]
        return h

    def layers(self, material: Material) -> tuple[Layer, ...]:
        """Integration points through the thickness of a homogeneous shell."""
        return tuple(Layer(zeta, 1.0, material.rho, None, SHEAR) for zeta in GAUSS)


@checked_arguments
@dataclass(frozen=True, eq=False)
class PlateSection(SurfaceSection):
    """Shell with its own membrane, bending and shear stiffness, as a core between two faces.

    With the moduli Q of plane stress and G of shear of three materials and the thickness h,

        A = h Q_m,   D = bending · h³/12 · Q_b,   A_s = shear · h G_s,   without B.

    thickness: m, of the mass too. bending: 12 I/h³, zero for a membrane. shear: of the thickness.
    materials: of membrane, bending and shear, isotropic or None, of the last two, for no stiffness;
    by default all three of the material of the elements. Stress is that of the bending material at the faces ±h/2.
    offset, added_mass, normals: as of `ShellSection`. Source: MSC Nastran, Quick Reference Guide,
    PSHELL.

    Examples
    --------
    >>> import preprocess as pp
    >>> sandwich = pp.PlateSection(0.002, bending=100.0, shear=10.0)
    >>> plate = pp.Mesh.from_arrays(
    ...     [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], {"quad4": [(0, 1, 2, 3)]}
    ... )
    >>> steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    >>> round(pp.assemble(plate, steel, sections=sandwich).mass, 9)  # ρ h A
    15.7
    """

    thickness: float
    _: KW_ONLY
    bending: float = 1.0
    shear: float = SHEAR
    materials: tuple[Isotropic, Isotropic | None, Isotropic | None] | None = None
    offset: float = 0.0
    added_mass: float = 0.0
    normals: Sequence[tuple[int, int, float, float, float]] = ()

    kind = "plate"

    def __post_init__(self) -> None:
        positive(self.thickness, "section: thickness", "give a positive length in m")
        not_negative(self.bending, "section: bending", "give 12 I/h³, zero or positive")
        positive(self.shear, "section: shear", "give the shear thickness over the thickness")
        if self.materials is not None and len(self.materials) != 3:
            raise InputError(
                f"section: materials: {len(self.materials)} given; give those of membrane, "
                "bending and shear"
            )
        if self.materials is not None and self.materials[0] is None:
            raise InputError(
                "section: materials: the first is None; a shell without membrane stiffness moves "
                "freely in its plane: give a material"
            )
        self._check_offset()

    def thickness_at(self, numbers: Indices) -> Array:
        """Thickness at nodes."""
        return np.full(numbers.shape, float(self.thickness))

    def layers(self, material: Material) -> tuple[Layer, ...]:
        """Two layers at ±h/2 √(bending/3) with Q_b, one in the middle with Q_m − Q_b, G_s and ρ."""
        membrane, bending, shear = (
            np.zeros((5, 5)) if each is None else with_free_thickness(elasticity(each), 1.0)
            for each in (self.materials or (material,) * 3)
        )
        outer, middle = np.zeros((2, 5, 5))
        outer[:3, :3], middle[:3, :3] = bending[:3, :3], (membrane - bending)[:3, :3]
        middle[3:, 3:] = self.shear * shear[3:, 3:]
        place = np.sqrt(self.bending / 3.0)
        return (
            Layer(-place, 1.0, 0.0, outer, 1.0),
            Layer(0.0, 2.0, material.rho, middle, 1.0),
            Layer(place, 1.0, 0.0, outer, 1.0),
        )


@checked_arguments
@dataclass(frozen=True, eq=False)
class LaminateSection(SurfaceSection):
    """Laminate of plies, from the bottom to the top, along the normal.

    plies (n, 2): of each the thickness [m], and the angle of its material's first axis from
    ``orientation``, about the normal [degrees]. orientation (3,): direction in mesh axes, projected
    on the shell; by default that of the first side of each element. turn: angle of the laminate
    from there, about the normal [degrees]. materials: of each ply, along its own axes; by default
    all of them of the material of the elements. offset: of the middle of the laminate from the
    nodes, along the normal [m].  added_mass: on its middle [kg/m²]. normals: as of `ShellSection`.

    Examples
    --------
    >>> import preprocess as pp
    >>> ply = pp.Orthotropic(
    ...     E=(1.35e11, 1e10, 1e10), nu=(0.3, 0.3, 0.4), G=(5e9, 5e9, 3.5e9), rho=1600.0
    ... )
    >>> cross = pp.LaminateSection([(1e-3, 0.0), (1e-3, 90.0)], orientation=(1, 0, 0))
    >>> plate = pp.Mesh.from_arrays(
    ...     [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], {"quad4": [(0, 1, 2, 3)]}
    ... )
    >>> round(pp.assemble(plate, ply, sections=cross).mass, 9)
    3.2
    >>> A, B, D = cross.stiffnesses(ply)
    >>> round(B[0, 0].item() / 1e3, 1)  # kN: it bends when it is stretched
    -62.9
    """

    plies: Sequence[tuple[float, float]]
    _: KW_ONLY
    orientation: ArrayLike | None = None
    turn: float = 0.0
    materials: tuple[Isotropic | Orthotropic | Anisotropic, ...] | None = None
    offset: float = 0.0
    added_mass: float = 0.0
    normals: Sequence[tuple[int, int, float, float, float]] = ()

    kind = "laminate"

    def __post_init__(self) -> None:
        rows = floats(self.plies, "section: plies")
        if rows.ndim != 2 or rows.shape[1:] != (2,) or not len(rows) or not (rows[:, 0] > 0).all():
            raise InputError(
                f"section: plies: {shown(self.plies)}; give rows of thickness in m and "
                "angle in degrees"
            )
        if self.materials is not None and len(self.materials) != len(rows):
            raise InputError(
                f"section: materials: {len(self.materials)} given for {len(rows)} plies; "
                "give one for each"
            )
        if self.orientation is not None:
            remedy = "give the direction of the first axis"
            nonzero_vector(self.orientation, "section: orientation", remedy)
        if not np.isfinite(number(self.turn, "section: turn")):
            raise InputError(f"section: turn: {self.turn!r}; give an angle in degrees")
        self._check_offset()

    @property
    def first_axis(self) -> ArrayLike | None:
        return self.orientation

    @property
    def thickness(self) -> float:
        """Thickness of the laminate."""
        return float(np.asarray(self.plies, dtype=float)[:, 0].sum())

    def thickness_at(self, numbers: Indices) -> Array:
        """Thickness of the laminate at nodes."""
        return np.full(numbers.shape, self.thickness)

    def _plies(self, material: Material) -> list[tuple[float, Material, Array]]:
        """Thickness, material and moduli (6, 6) in laminate axes of each ply."""
        found = []
        for k, (thickness, angle) in enumerate(np.asarray(self.plies, dtype=float)):
            own = material if self.materials is None else self.materials[k]
            c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
            T = rotated_stress(np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]))
            found.append((float(thickness), own, T @ elasticity(own) @ T.T))
        return found

    def layers(self, material: Material) -> tuple[Layer, ...]:
        """Integration points through the thickness, two in each ply."""
        plies, h, bottom, found = self._plies(material), self.thickness, -1.0, []
        shear = np.sqrt(shear_corrections([(t, with_free_thickness(C, 1.0)) for t, _, C in plies]))
        for thickness, own, C in plies:
            share = thickness / h
            D = with_free_thickness(C, 1.0)
            D[3:, 3:] *= np.outer(shear, shear)
            found += [
                Layer(bottom + share * (1 + place), share, own.rho, D, 1.0) for place in GAUSS
            ]
            bottom += 2 * share
        return tuple(found)

    def ply_data(self, material: Material) -> PlyData:
        """Bounds, angles, moduli and strengths of the plies."""
        plies = self._plies(material)
        edges = 2 * np.cumsum([0.0, *(t for t, _, _ in plies)]) / self.thickness - 1
        return PlyData(
            np.column_stack([edges[:-1], edges[1:]]),
            np.asarray(self.plies, dtype=float)[:, 1],
            np.array([with_free_thickness(C, 1.0)[:3, :3] for _, _, C in plies]),
            np.array([_strengths(own) for _, own, _ in plies]),
        )

    def height(self, material: Material) -> float:
        """Height of the neutral surface over the reference surface, m."""
        A, B, _ = self.stiffnesses(material)
        return float(self.offset + B[:2, :2].sum() / A[:2, :2].sum())

    def is_reversible(self, material: Material) -> bool:
        """True if the laminate is unchanged when its surface is reversed."""
        plies = [(t, angle + self.turn) for t, angle in np.asarray(self.plies, dtype=float)]
        layers = replace(self, plies=plies, turn=0.0).layers(material)
        other = np.array([1.0, 1.0, -1.0, 1.0, -1.0])  # signs of strains 11, 22, 12, 13, 23
        for one, two in zip(layers, reversed(layers)):
            assert one.moduli is not None
            assert two.moduli is not None
            apart = np.abs(one.moduli - np.outer(other, other) * two.moduli).max()
            shift = abs(one.zeta + two.zeta) + abs(one.rho - two.rho) / max(
                one.rho, two.rho, 1e-300
            )
            if apart > SYMMETRIC * np.abs(one.moduli).max() or shift > SYMMETRIC:
                return False
        return super().is_reversible(material)

    def stiffnesses(self, material: Material) -> tuple[Array, Array, Array]:
        """Stiffnesses A, B and D (3, 3) of membrane strains and curvatures 11, 22, 12.

        They refer to the middle surface. The stiffnesses are in laminate axes. material: of plies
        without their own.
        """
        A, B, D = np.zeros((3, 3, 3))
        for layer in self.layers(material):
            assert layer.moduli is not None
            Q, w, z = (
                layer.moduli[:3, :3],
                0.5 * layer.weight * self.thickness,
                0.5 * layer.zeta * self.thickness,
            )
            A, B, D = A + w * Q, B + w * z * Q, D + w * z**2 * Q
        return A, B, D


def _strengths(material: Material) -> tuple[float, ...]:
    """Strengths (Xt, Xc, Yt, Yc, S) of a ply; infinite if unknown."""
    known = material.strengths if isinstance(material, Orthotropic) else None
    return (np.inf,) * 5 if known is None else known


def shear_corrections(plies: Sequence[tuple[float, Array]]) -> Array:
    """Correction factors (2,) of the shear 13 and 23 for plies from the bottom.

    Each ply has a thickness and moduli (5, 5).
    """
    edges = np.cumsum([0.0, *(t for t, _ in plies)])
    found = []
    for axis, shear in ((0, 3), (1, 4)):
        E, G = (np.array([D[k, k] for _, D in plies]) for k in (axis, shear))
        neutral = float(
            (E * (edges[1:] ** 2 - edges[:-1] ** 2)).sum() / (2 * (E * np.diff(edges)).sum())
        )
        z = edges - neutral
        bending = float((E * (z[1:] ** 3 - z[:-1] ** 3)).sum() / 3)
        below, work = 0.0, 0.0
        for k in range(len(plies)):
            places = z[k] + 0.5 * (z[k + 1] - z[k]) * (1 + SHEAR_POINTS)
            f = below - 0.5 * E[k] * (places**2 - z[k] ** 2)
            work += float(f**2 @ SHEAR_WEIGHTS) * 0.5 * (z[k + 1] - z[k]) / G[k]
            below -= 0.5 * E[k] * (z[k + 1] ** 2 - z[k] ** 2)
        found.append(bending**2 / (work * float((G * np.diff(edges)).sum())))
    return np.array(found)
