"""Ties: nodes that follow the faces of another mesh.

A node at x_s with the nearest point x(ξ) of a face, its shape functions N_a and the distance d =
x_s − x(ξ) has

    u_s = Σ N_a(ξ) u_a + ω × d,    ω = G u

with ω the mean rotation of the face's nodes (as that of an averaging spider): rigid motions are
exact for any d.

Source: Wriggers, Computational Contact Mechanics, section 4.1 (projection on faces).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from flexmbs.errors import InputError, warn_caller
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.fe.connection_base import NO_NODES, Connection, ModelNodes, TurnedNodes
from preprocess.fe.constraints import Dependence
from preprocess.fe.mass_points import spread
from preprocess.fe.shell_schemes import SCHEMES
from preprocess.inputs.argument_checks import checked_arguments, positive
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.node_regions import Region, region_of
from preprocess.mesh.rigid_motion import rigid_motion

# number of faces, by their centres, on which the nearest point is sought; more than the
# quadrilaterals (4) or triangles (6) that usually meet at a node
NEAREST = 8
# Newton's steps of the projection, and the change of the face's coordinates that ends them; a few
# steps suffice on faces that are not strongly curved
STEPS, DONE = 25, 1e-12
# in sizes of a face: distance that counts as none, and distance at which no further face is tried
CLOSE, NEAR = 1e-9, 1e-4
# default tolerance in mean sizes of the faces; the sagitta of an element, a gap between meshes of a
# curved surface, is smaller if the element spans less than 45°
REACH = 0.1


@checked_arguments
@dataclass(frozen=True, eq=False)
class Tie(Connection):
    """Connection of nodes to the faces of another mesh (``*TIE``).

    The meshes need not match; rigid motions are exact.

    where: the nodes, by a set's name, a `Point` or a `Plane`; those that belong to both meshes are
    omitted. to: the faces: outer faces of solids, and shells, with all nodes in this region.
    tolerance: nodes farther from the faces are not tied [m], by default a tenth of the mean size of
    the faces. Warns of nodes that are not tied; raises InputError if none is.

    Examples
    --------
    >>> import preprocess as pp
    >>> cube, sheet = (
    ...     pp.box_mesh((0.1, 0.1, 0.1), (1, 1, 1), "hex8"),
    ...     [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)],
    ... )
    >>> mesh = pp.Mesh.from_arrays(
    ...     [*cube.nodes, *sheet],
    ...     {"hex8": cube.blocks["hex8"].connectivity, "quad4": [(8, 9, 10, 11)]},
    ...     node_sets={"foot": cube.node_sets["z0"], "plate": [8, 9, 10, 11]},
    ... )
    >>> steel, weld = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), {"weld": pp.Tie("foot", "plate")}
    >>> pp.assemble(
    ...     mesh, steel, sections=pp.ShellSection(0.002), connections=weld
    ... ).constraints.dependent.size  # four nodes
    12
    """

    where: str | Region
    to: str | Region
    _: KW_ONLY
    tolerance: float | None = None

    kind = "tie"

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            positive(self.tolerance, "connection: tolerance", "give a positive distance in m")

    def rotating(self, name: str, nodes: ModelNodes) -> IntArray:
        """No nodes: a tie adds no rotational degrees of freedom."""
        return NO_NODES

    def dependence(self, name: str, nodes: ModelNodes) -> Dependence:
        """Dependence of the tied nodes on those of the nearest faces. Raises `InputError`."""
        region = region_of(self.to).rows(nodes.positions, nodes.sets)
        faces = _RegionFaces(nodes, region)
        free = np.setdiff1d(region_of(self.where).rows(nodes.positions, nodes.sets), region)
        reach = REACH * faces.size if self.tolerance is None else float(self.tolerance)
        found = [
            (row, place)
            for row in free
            if (place := faces.nearest(nodes.positions[row])).distance <= reach
        ]
        if not found:
            raise InputError(
                f"none of its {len(free)} nodes is within {reach:.3g} m of the faces; set "
                "tolerance, or check the regions"
            )
        if len(found) < len(free):
            warn_caller(
                f"connections.{name}: {len(free) - len(found)} of {len(free)} nodes are "
                f"farther than {reach:.3g} m and not tied",
                PreprocessWarning,
            )
        size, dofs, blocks = nodes.freedoms.size, [], []
        for row, place in found:
            own = (3 * place.nodes[:, None] + np.arange(3)).ravel()
            dofs.append(3 * row + np.arange(3))
            blocks.append(spread(place.motion(nodes.positions, nodes.positions[row]), own, size))
        return Dependence(name, np.concatenate(dofs), _stacked(blocks))

    def turned(self, nodes: ModelNodes, row: Dependence | None) -> TurnedNodes | None:
        """Tied nodes at a distance from their faces: those whose components are coupled."""
        assert row is not None
        size, apart, dyads, turns = nodes.freedoms.size, [], [], []
        for k in range(0, len(row.dofs), 3):
            block = row.C[k : k + 3]
            face = np.unique(block.indices // 3)
            own = (3 * face[:, None] + np.arange(3)).ravel()
            C = block[:, own].toarray().reshape(3, len(face), 3)
            if (C[0, :, 0, None] * np.eye(3)[:, None] == C).all():
                continue  # on the face
            x = nodes.positions[face]
            apart.append(row.dofs[k : k + 3])
            dyads.append(np.einsum("ai,caj->ijc", x - nodes.positions[row.dofs[k] // 3], C))
            turns.append(spread(_turn(x), own, size))
        return TurnedNodes(np.array(apart), np.array(dyads), _stacked(turns)) if apart else None


def _turn(x: FloatArray) -> FloatArray:
    """Mean rotation (3, 3k) of the nodes x (k, 3) of a face from their displacements."""
    size = float(np.abs(x - x.mean(axis=0)).max())
    fit = np.linalg.pinv(rigid_motion((x - x.mean(axis=0)) / size).reshape(-1, 6))
    return np.asarray(fit[3:] / size, dtype=float)


def _stacked(blocks: list[Any]) -> sp.csr_matrix:
    """Sparse blocks stacked vertically."""
    return sp.csr_matrix(sp.vstack(blocks))


class _FacePoint(NamedTuple):
    """Nearest point of a face: its nodes (k,), shape functions (k,), and the distance."""

    nodes: IntArray
    factors: FloatArray
    distance: float

    def motion(self, positions: FloatArray, point: FloatArray) -> FloatArray:
        """Displacement (3, 3k) of a point that moves with the face."""
        x = positions[self.nodes]
        direct = np.asarray(np.kron(self.factors, np.eye(3)), dtype=float)
        apart = point - self.factors @ x
        size = float(np.abs(x - x.mean(axis=0)).max())
        if np.linalg.norm(apart) <= CLOSE * size:
            return direct
        return np.asarray(direct + np.cross(np.eye(3), apart).T @ _turn(x), dtype=float)


class _RegionFaces:
    """Faces of a model with all nodes in a region."""

    def __init__(self, nodes: ModelNodes, region: IntArray) -> None:
        """Faces of the mesh with all nodes in a region. Raises `InputError`."""
        self.x = nodes.positions
        chosen = {
            kind: table[np.isin(table, region).all(axis=1)] for kind, table in nodes.faces().items()
        }
        self.faces = [(kind, row) for kind, table in chosen.items() for row in table]
        if not self.faces:
            raise InputError(
                "to: no outer face of a solid, and no shell, has all its nodes there; "
                "give the nodes of whole faces"
            )
        corners = [self.x[row[: 3 if kind.startswith("tri") else 4]] for kind, row in self.faces]
        self.size = float(np.mean([np.ptp(each, axis=0).max() for each in corners]))
        self.tree = cKDTree(np.array([each.mean(axis=0) for each in corners]))

    def nearest(self, point: FloatArray) -> _FacePoint:
        """Nearest point of the faces whose centres are nearest."""
        _, near = self.tree.query(point, k=min(NEAREST, len(self.faces)))
        best: _FacePoint | None = None
        for k in np.atleast_1d(near):
            place = self._on(int(k), point)
            best = place if best is None or place.distance < best.distance else best
            if best.distance <= NEAR * self.size:
                break
        assert best is not None  # there is a face
        return best

    def _on(self, index: int, point: FloatArray) -> _FacePoint:
        """Nearest point on a face to a point, by Newton's method, within the face."""
        kind, row = self.faces[index]
        x, functions = self.x[row], SCHEMES[kind].functions
        triangle, n = kind.startswith("tri"), len(row)
        place = np.array([1 / 3, 1 / 3]) if triangle else np.zeros(2)
        for _ in range(STEPS):
            N, dN = functions(*place)
            tangent = dN[:, :n] @ x
            step = np.linalg.solve(tangent @ tangent.T, tangent @ (point - N[:n] @ x))
            moved = _projected_inside(place + step, triangle)
            small = np.abs(moved - place).max() < DONE
            place = moved
            if small:
                break
        N = functions(*place)[0][:n]
        return _FacePoint(row, N, float(np.linalg.norm(point - N @ x)))


def _projected_inside(place: FloatArray, triangle: bool) -> FloatArray:
    """Coordinates moved onto the reference face if they are outside."""
    if not triangle:
        return np.clip(place, -1.0, 1.0)
    r, s = np.maximum(place, 0.0)
    if r + s > 1.0:
        r = float(np.clip(0.5 * (1 + r - s), 0.0, 1.0))
        s = 1.0 - r
    return np.array([r, s])
