"""Flat triangular shells with an offset.

The element is that of `Shells` on the corners of the offset surface, which rigid arms connect to
the nodes:

    x'_a = x_a + o_a,    u'_a = u_a + θ_a × o_a,    o_a = offset n_a

with n_a the normal of the surface at a node (`shell_normals`), so that neighbouring triangles meet
on the offset surface. Triangles moved along their own normals would not: they keep the area of the
surface of the nodes, which on a radius R is smaller or larger by the ratio offset/R. At folds the
arms are along each triangle's own normal.

The second-order displacement of an arm, ½ θ × (θ × o), gives work with the nodal forces f = K' u'
of the element less those of inertia (`rotation_work`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import skew
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.rotation_work import turning_work
from preprocess.fe.shells import FOLDED, Shells
from preprocess.fe.structural_element import Array, ElementPoints, Indices, StructuralElement


def offset_triangles(nodal: Shells) -> OffsetTriangles:
    """Triangles on the surface at the offset of their section from the nodes.

    Raises InputError if this surface is folded.
    """
    arms = float(nodal.section.offset) * nodal.smooth_normals
    table = nodal.kind, nodal.connectivity, nodal.ids, nodal.numbers, nodal.material, nodal.freedoms
    found = OffsetTriangles(
        *table, nodal.x + arms, section=nodal.section, arms=arms, mass=nodal.mass
    )
    folded = ~(np.einsum("ec,ec->e", nodal.directors[:, 0], found.directors[:, 0]) > 0)
    if folded.any():
        raise InputError(f"{nodal.kind} element {nodal.ids[folded][0]}: {FOLDED}; remesh there")
    return found


@dataclass(frozen=True, eq=False)
class OffsetTriangles(Shells):
    """Triangles with corners ``x`` on arms o (ne, 3, 3) from the nodes."""

    arms: Array = field(kw_only=True, repr=False)

    def within(self, rows: Indices, number: Indices, freedoms: Freedoms) -> StructuralElement:
        """The elements ``rows`` with other node numbers."""
        return replace(
            cast(OffsetTriangles, super().within(rows, number, freedoms)), arms=self.arms[rows]
        )

    @property
    def _carried(self) -> Array:
        """Matrix T (ne, 18, 18): degrees of freedom of the corners from those of the nodes."""
        T = np.tile(np.eye(18), (len(self.ids), 1, 1))
        for a, across in enumerate(np.moveaxis(-skew(self.arms), 1, 0)):
            T[:, 6 * a : 6 * a + 3, 6 * a + 3 : 6 * a + 6] = across
        return T

    def heights_at(self, zeta: float) -> Array:
        """Heights from the corners, which include the offset."""
        return super().heights_at(zeta) - float(self.section.offset)

    def _given(self, found: Array) -> Array:
        """Directors from the section; the section's normals are those of the arms."""
        return found

    def of_elements(self, u: Array) -> Array:
        """Degrees of freedom of the elements, carried by the arms to the shifted corners."""
        return np.asarray(self._carried @ super().of_elements(u))

    def stiffness(self) -> Array:
        """Element stiffness with respect to the nodes, not the shifted corners."""
        T = self._carried
        return np.asarray(np.swapaxes(T, 1, 2) @ super().stiffness() @ T)

    def mass_points(self) -> tuple[ElementPoints, Array]:
        """Points of the mass, moved with the nodes, and the mass at each."""
        points, masses = super().mass_points()
        return self._by_nodes(points), masses

    def skin(self) -> tuple[ElementPoints, Indices]:
        """Points of the surface, moved with the nodes, and the triangles."""
        points, triangles = super().skin()
        return self._by_nodes(points), triangles

    def _by_nodes(self, points: ElementPoints) -> ElementPoints:
        """Points whose motion is expressed by the nodes instead of the shifted corners."""
        return ElementPoints(points.positions, points.motion @ self._carried[:, None])

    def stress(self) -> Array:
        """Stress at the points of the skin per degree of freedom of the nodes."""
        return np.asarray(super().stress() @ self._carried[:, None])

    def initial_stress_stiffness(
        self, displacements: Array, shapes: Array, forces: Array | None = None
    ) -> Array:
        """Initial-stress stiffness with the second-order motion of the arms."""
        # arms of the mass points are from the nodes
        K0 = super().initial_stress_stiffness(displacements, shapes, forces)
        corner = len(self.ids), 3, 6
        f = (super().stiffness() @ self.of_elements(displacements)).reshape(*corner, -1)[:, :, :3]
        theta = self.of_elements(shapes).reshape(*corner, -1)[:, :, 3:]
        dyads = np.einsum("eai,eajk->eakij", self.arms, f)
        return K0 + turning_work(*(each.reshape(-1, *each.shape[2:]) for each in (theta, dyads)))
