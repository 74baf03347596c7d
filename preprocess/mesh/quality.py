"""Quality of the elements of a mesh: shape, volume, worst elements."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocess.elements import ELEMENTS, Element

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SHOWN = 5  # number of worst elements that are listed
IDEAL = {
    4: np.sqrt(2),
    5: np.sqrt(2),
    6: 2 / np.sqrt(3),
    8: 1.0,
}  # reciprocal triple product of unit edges at a corner of the regular element


@dataclass(frozen=True, eq=False)
class BlockQuality:
    """Quality of the elements of one type.

    scaled_jacobian (ne,): minimum over the corners of the triple product of the unit tangents of
    their three edges, 1 for regular elements, 0 for flat ones; aspect_ratio (ne,): longest over
    shortest edge between corners; volume (ne,), m³; ids (ne,). Source: Knupp et al., The Verdict
    Geometric Quality Library, Sandia report SAND2007-1751.
    """

    name: str
    ids: Indices
    scaled_jacobian: Array
    aspect_ratio: Array
    volume: Array

    @property
    def worst(self) -> Indices:
        """Numbers of the elements with the smallest scaled Jacobians."""
        return self.ids[np.argsort(self.scaled_jacobian, kind="stable")[:SHOWN]]


@dataclass(frozen=True, eq=False)
class MeshQuality:
    """Quality of a mesh by element type, and the volumes (m³) of its element sets.

    Prints as a table.
    """

    blocks: tuple[BlockQuality, ...]
    volumes: Mapping[str, float]

    def __str__(self) -> str:
        lines = [
            f"{'type':8s} {'elements':>9s} {'volume [m³]':>12s} {'scaled Jacobian':>21s} "
            f"{'aspect ratio':>17s}  worst elements",
            f"{'':8s} {'':9s} {'':12s} {'min':>11s} {'mean':>9s} {'mean':>8s} {'max':>8s}",
        ]
        for b in self.blocks:
            shape = f"{b.scaled_jacobian.min():11.4f} {b.scaled_jacobian.mean():9.4f}"
            aspect = f"{b.aspect_ratio.mean():8.2f} {b.aspect_ratio.max():8.2f}"
            lines.append(
                f"{b.name:8s} {len(b.ids):9d} {b.volume.sum():12.5g} {shape} {aspect}  "
                f"{', '.join(map(str, b.worst))}"
            )
        lines += [f"set {name}: {volume:.5g} m³" for name, volume in self.volumes.items()]
        return "\n".join(lines)


def mesh_quality(
    nodes: Array,
    tables: Mapping[str, Indices],
    ids: Mapping[str, Indices],
    element_sets: Mapping[str, Indices],
) -> MeshQuality:
    """Quality measures of the solid elements of a mesh, by type.

    Nodes (N, 3), connectivity and numbers by type.
    """
    blocks = tuple(
        _block(ELEMENTS[name], nodes[table], ids[name]) for name, table in tables.items()
    )
    volumes = {
        name: float(sum(b.volume[np.isin(b.ids, members)].sum() for b in blocks))
        for name, members in element_sets.items()
    }
    return MeshQuality(blocks, volumes)


def _block(element: Element, x: Array, ids: Indices) -> BlockQuality:
    """Quality of elements with node positions x (ne, nn, 3)."""
    at, corners = corner_edges(element)
    directions = element.nodes[corners] - element.nodes[at, None]
    jacobians = np.einsum("eai,qaj->eqij", x, element.gradients(element.nodes[at]), optimize=True)
    tangents = np.einsum("eqij,qkj->eqki", jacobians, directions)
    length = np.linalg.norm(tangents, axis=-1).prod(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.nan_to_num(
            np.linalg.det(tangents) * np.sign(np.linalg.det(directions)) / length
        )
    edges = np.linalg.norm(x[:, corners] - x[:, at, None], axis=-1).reshape(len(x), -1)
    rule = element.stiffness_rule
    volume = element.jacobian_determinants(x, rule.points) @ rule.weights
    ratio = edges.max(axis=1) / np.maximum(edges.min(axis=1), np.finfo(float).tiny)
    return BlockQuality(
        element.name, ids, IDEAL[element.corners] * scaled.min(axis=1), ratio, volume
    )


def corner_edges(element: Element) -> tuple[Indices, Indices]:
    """Corners (n,) with three edges, and the corners (n, 3) at the other ends of these edges.

    All corners except the apex of a pyramid.
    """
    neighbours: list[set[int]] = [set() for _ in range(element.corners)]
    for table in element.faces:
        for face in table.nodes[:, : table.corners].tolist():
            for a, b in zip(face, [*face[1:], face[0]]):
                neighbours[a].add(b)
                neighbours[b].add(a)
    at = [corner for corner, each in enumerate(neighbours) if len(each) == 3]
    return np.array(at), np.array([sorted(neighbours[corner]) for corner in at])
