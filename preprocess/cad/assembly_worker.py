"""Assembly of a CAD file, in the process of Netgen: parts, and their occurrences in the tree.

Lengths in mm. A part that occurs several times is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preprocess.cad.step_products import LARGEST, Product, products
from preprocess.cad.worker import (
    TRIANGLE,
    USUAL_SIZE,
    begin_meshing,
    check_geometry,
    face_facts,
    prepare,
    save,
)

MOST_BODIES = 2000  # occurrences: pages and models of more bodies are not usable
RIGID = 1e-9  # of an axis: deviation from a rotation above the round-off of a file's numbers
CURVATURE = 3.0  # elements per radius of curvature: 19 along a circle, for the picture
COARSE = 2.0 * USUAL_SIZE  # of the diagonal: plane faces need few triangles


class Leaf(NamedTuple):
    """Occurrence of a part: labels of the tree down to it, its shape in place, its product."""

    labels: tuple[str, ...]
    shape: Any
    product: Product | None


def main(request: dict[str, Any]) -> None:
    """Facts and arrays of the assembly in a file."""
    prepare(request)
    save(request, *assembly_file(request))


def assembly_file(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Facts and arrays of an assembly."""
    from netgen.occ import OCCGeometry, TopLoc_Location, gp_Trsf

    geometry = OCCGeometry(request["file"])
    origin = TopLoc_Location(gp_Trsf())  # a single one: equal shapes refer to the same location
    leaves = _leaves(geometry, Path(request["file"]))
    facts: dict[str, Any] = {"parts": [], "bodies": [], "count": len(leaves)}
    arrays: dict[str, np.ndarray] = {}
    if not 0 < len(leaves) <= MOST_BODIES:
        return facts, arrays
    begin_meshing()
    numbers = list(geometry.shape.solids)
    known: list[Any] = []
    for leaf in leaves:
        check_geometry(leaf.shape)
        pose, local = _placed(leaf.shape, origin)
        same = [k for k, shape in enumerate(known) if shape == local]
        own = leaf.product
        if not same:
            same = [len(known)]
            known.append(local)
            facts["parts"].append(_part(leaf, local, len(known) - 1, arrays))
        solids = list(leaf.shape.solids)
        facts["bodies"].append(
            {
                "part": same[0],
                "labels": leaf.labels,
                "product": own.name if own else "",
                "pose": pose.tolist(),
                "solids": [k for k, each in enumerate(numbers) if each in solids],
            }
        )
    return facts, arrays


def _leaves(geometry: Any, file: Path) -> list[Leaf]:
    """Occurrences of parts with a volume; the solids of a file without a tree."""
    root = geometry.GetAssemblyTree()
    named: list[Product] = []
    if file.suffix in (".step", ".stp") and file.stat().st_size <= LARGEST:
        named = products(file.read_bytes())
    found = list(_walk(root.children, (), named)) if root is not None else []
    if len(found) > 1:
        return found
    single = found[0] if found else Leaf((), geometry.shape, None)
    solids = list(single.shape.solids)
    if len(solids) == 1:
        return [single._replace(shape=solids[0])]
    return [Leaf((*single.labels, each.name or ""), each, None) for each in solids]


def _walk(nodes: Any, labels: tuple[str, ...], named: list[Product]) -> Iterator[Leaf]:
    """Leaves below nodes, whose products are among the named ones."""
    left: list[tuple[tuple[str, ...], Product]] = [((each.name,), each) for each in named]
    yield from _walk_components(nodes, labels, left)


def _walk_components(
    nodes: Any, labels: tuple[str, ...], left: list[tuple[tuple[str, ...], Product]]
) -> Iterator[Leaf]:
    """Leaves below nodes; ``left``: labels and products of the components they may be."""
    for node in nodes:
        own = (*labels, node.name)
        k = next((k for k, (texts, _) in enumerate(left) if node.name in texts), None)
        product = left.pop(k)[1] if k is not None else None
        if node.is_assembly:
            inner = list(product.components) if product else []
            yield from _walk_components(node.children, own, inner)
        elif node.shape is not None and len(node.shape.solids):
            yield Leaf(own, node.shape, product)


def _placed(shape: Any, identity: Any) -> tuple[np.ndarray, Any]:
    """Pose (3, 4) of a shape, and the shape in its own axes; no pose if it is not rigid."""
    from netgen.occ import Pnt, Segment

    # middles of segments from the origin, which the location moves
    ends = [Segment(Pnt(0, 0, 0), Pnt(*x)).Located(shape.location) for x in 2.0 * np.eye(3)]
    starts = [Segment(Pnt(*-x), Pnt(*x)).Located(shape.location) for x in np.eye(3)]
    origin = np.array([*starts[0].center])
    axes = np.array([[*end.center] for end in ends]).T - origin[:, None]
    if np.abs(axes.T @ axes - np.eye(3)).max() > RIGID * max(1.0, np.abs(origin).max()) or (
        np.linalg.det(axes) < 0.0
    ):
        return np.eye(3, 4), shape
    return np.column_stack([axes, origin]), shape.Located(identity)


def _part(leaf: Leaf, local: Any, number: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Facts of a part in its own axes; its triangles go to the arrays."""
    moments = local.inertia
    facts = {
        "name": leaf.product.name if leaf.product else "",
        "colour": leaf.product.colour if leaf.product else None,
        "volume": local.mass,
        "centre": list(local.center),
        "inertia": [[moments[i, j] for j in range(3)] for i in range(3)],
        "solids": len(local.solids),
    }
    in_place = list(leaf.shape.faces)  # colours are those of faces in place
    facts["faces"] = [
        face_facts(each) | {"colour": face_facts(placed)["colour"]}
        for each, placed in zip(local.faces, in_place)
    ]
    nodes, triangles, face_of, problem = _triangulated(local)
    arrays |= {f"nodes {number}": nodes, f"triangles {number}": triangles}
    arrays[f"faces {number}"] = face_of
    return facts | {"problem": problem}


def _triangulated(shape: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Nodes, triangles (t, 6), numbers of their faces, and why there are no faces, or ""."""
    from netgen.meshing import MeshingStep
    from netgen.occ import OCCGeometry

    low, high = (np.array([*corner]) for corner in shape.bounding_box)
    try:
        mesh = OCCGeometry(shape).GenerateMesh(
            maxh=COARSE * float(np.linalg.norm(high - low)),
            curvaturesafety=CURVATURE,
            grading=0.5,
            perfstepsend=MeshingStep.MESHSURFACE,
        )
        mesh.SecondOrder()
    except Exception as error:  # Netgen raises its own kinds; inertia and place need no mesh
        return np.zeros((0, 3)), np.zeros((0, 6), int), np.zeros(0, int), str(error) or "no reason"
    found = mesh.Elements2D().NumPy()
    nodes = np.array(mesh.Coordinates())
    return nodes, found["nodes"][:, TRIANGLE] - 1, found["index"].astype(int), ""
