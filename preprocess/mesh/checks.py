"""Checks of a mesh; each function returns messages for the defects found."""

import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, diags
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from preprocess.elements import ELEMENTS
from preprocess.elements.structural import STRUCTURAL, names_of
from preprocess.mesh.faces import Faces
from preprocess.mesh.rigid_motion import rigid_motion

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Tables = Mapping[str, Indices]

LARGEST_COORDINATE = 1e9  # m; larger positions come from damaged files
SHOWN = 5  # number of nodes or elements that a message lists
# number of averages over neighbours; random triangles on a cylinder then have a ratio of at most
# 0.02, on a sphere 0.3
MEANS = 3
# angle defect relative to the spread of normals above which a surface is doubly curved, between the
# ratios of cylinders and spheres (see `MEANS`)
BOTH = 0.06
FLAT = 1e-6  # rad, about the square of 0.06°; below, positions rounded to six digits look curved
THICK = 0.02  # thicknesses: rise of an element below which frequencies change by less than 0.5 %
# between a normal and the mean at a node; beyond, there is a fold
SMOOTH = np.cos(np.radians(25.0))
CORNERS = {name: STRUCTURAL[name].corners for name in names_of("shell")}
# number of parts above which rigid-body modes are not counted; their matrix has six columns per
# part
COUNTED_PARTS = 50


def bad_positions(nodes: Array, node_ids: Indices) -> list[str]:
    """Nodes with a position that is not finite or implausibly large."""
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~(np.abs(nodes) < LARGEST_COORDINATE).all(axis=1))
    if not len(bad):
        return []
    shown = ", ".join(
        f"{node_ids[i]} at ({', '.join(f'{x:.3g}' for x in nodes[i])})" for i in bad[:SHOWN]
    )
    return [
        f"{len(bad)} node(s) not finite or beyond {LARGEST_COORDINATE:.0e} m: node "
        f"{shown}; correct the file"
    ]


def missing_nodes(
    n_nodes: int, connectivity: Tables, ids: Tables, node_ids: Indices | None = None
) -> list[str]:
    """Elements that refer to a node outside 0 … n_nodes-1."""
    problems = []
    for name, table in connectivity.items():
        for row, column in np.argwhere((table < 0) | (table >= n_nodes))[:SHOWN]:
            node = table[row, column]
            problems.append(
                f"element {ids[name][row]} ({name}) refers to node {node}, which does not "
                "exist; complete the nodes"
            )
    return problems


def bad_elements(nodes: Array, connectivity: Tables, ids: Tables) -> list[str]:
    """Inverted elements and elements without volume.

    det J ≤ 1e-9 of the cube of the element's size at some point.
    """
    found: list[tuple[float, str]] = []
    total = wholly = 0
    for name, table in connectivity.items():
        positions = nodes[table]
        size = np.ptp(positions, axis=1).max(axis=1)
        determinants = ELEMENTS[name].jacobian_determinants(positions)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.nan_to_num(determinants / size[:, None] ** 3, nan=0.0)
        bad = np.flatnonzero(relative.min(axis=1) < 1e-9)
        total += len(bad)
        wholly += int((relative[bad] < 0).all(axis=1).sum())
        found += [
            (
                relative[e].min(),
                f"{ids[name][e]} ({name}, smallest det J {determinants[e].min():.3g} m³)",
            )
            for e in bad
        ]
    if not total:
        return []
    worst = ", ".join(text for _, text in sorted(found)[:SHOWN])
    remedy = (
        "their node order is inverted: read with fix='orientation'"
        if wholly == total
        else "remesh there"
    )
    return [f"{total} element(s) inverted or without volume, the worst: element {worst}; {remedy}"]


def short_elements(nodes: Array, connectivity: Tables, ids: Tables) -> list[str]:
    """Beams and shells with two coincident nodes."""
    found = []
    for name, table in connectivity.items():
        size = float(np.linalg.norm(np.ptp(nodes, axis=0)))
        sides = np.linalg.norm(nodes[table] - nodes[np.roll(table, 1, axis=1)], axis=2).min(axis=1)
        found += [f"{number} ({name})" for number in ids[name][~(sides > 1e-9 * size)]]
    if not found:
        return []
    return [
        f"{len(found)} element(s) have two coincident nodes: element "
        f"{', '.join(found[:SHOWN])}; remove them"
    ]


def folded_elements(nodes: Array, connectivity: Tables, ids: Tables) -> list[str]:
    """Shells without area or folded at a corner, beams that reverse at their middle node."""
    found = []
    for name, table in connectivity.items():
        if name not in CORNERS and name != "line3":
            continue
        x = nodes[table]
        forward = _forward_at_ends(x) if name == "line3" else _area_at_corners(x, CORNERS[name])
        size = np.linalg.norm(np.ptp(x, axis=1), axis=1)
        found += [f"{number} ({name})" for number in ids[name][~(forward > 1e-9 * size**2)]]
    if not found:
        return []
    shown = ", ".join(found[:SHOWN])
    why = "a corner of 180° or more, or a middle node in the outer quarter of its side"
    return [
        f"{len(found)} element(s) of shells or beams are folded, by {why}: element "
        f"{shown}; remesh there"
    ]


def _forward_at_ends(x: Array) -> Array:
    """Smallest product (ne,) of the chord and the end tangents of lines x (ne, 3, 3).

    Nodes in the order ends, middle.
    """
    chord, bend = x[:, 1] - x[:, 0], 2 * x[:, 2] - x[:, 0] - x[:, 1]
    return np.asarray(
        np.einsum("ec,ec->e", chord, chord) - 2 * np.abs(np.einsum("ec,ec->e", chord, bend))
    )


def _area_at_corners(x: Array, corners: int) -> Array:
    """Smallest product (ne,) of the normal and the cross product of the tangents at the corners.

    The tangents are −3 x_a + 4 x_m − x_b with a middle node.
    """
    a = x[:, :corners]
    b = np.roll(a, -1, axis=1)
    m = x[:, corners:] if x.shape[1] > corners else 0.5 * (a + b)
    normal = np.cross(a[:, 2] - a[:, 0], a[:, -1] - a[:, 1])
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    areas = np.cross(4 * m - 3 * a - b, np.roll(4 * m - 3 * b - a, 1, axis=1))
    return np.asarray(np.einsum("eac,ec->ea", areas, normal).min(axis=1))


def doubly_curved(nodes: Array, table: Indices, thickness: Array) -> Indices:
    """Rows of the triangles (ne, 3) on a doubly curved surface that deviates much from them.

    The rise over a triangle exceeds a fraction of the thickness (ne,).

    The integral of κ₁ κ₂ around a node is the angle defect 2π − Σ α of its triangles, that of 3
    (κ₁² + κ₂²)/2 about Σ α |n − m|², with the mean normal m. Irregular triangles on a cylinder have
    defects of alternating sign: both integrals are averaged over neighbours. Nodes at folds and
    edges of the sheet are omitted. The rise κ s²/8 of a triangle of area s²/2 is about s/4 times
    the mean of |n − m|; compared with this, thick sheets with rounded positions are flat.
    """
    x, n = nodes[table], len(nodes)
    after, before = (np.roll(x, k, axis=1) - x for k in (-1, 1))
    normals = np.cross(after, before)
    size = np.linalg.norm(normals, axis=2)
    angles = np.arctan2(size, np.einsum("eac,eac->ea", after, before))
    own, mean, least = normals[:, 0] / size[:, :1], np.zeros((n, 3)), np.ones(n)
    np.add.at(mean, table, angles[..., None] * own[:, None])
    mean /= np.maximum(np.linalg.norm(mean, axis=1), 1e-300)[:, None]
    along = np.einsum("eac,ec->ea", mean[table], own)
    np.minimum.at(least, table, along)
    defect = 2 * np.pi - np.bincount(table.ravel(), angles.ravel(), minlength=n)
    spread = np.bincount(table.ravel(), (angles * (1 - along**2)).ravel(), minlength=n)
    sides = coo_matrix(
        (np.ones(table.size), (table.ravel(), np.roll(table, -1, axis=1).ravel())), shape=(n, n)
    ).tocsr()
    inside = (
        (abs(sides - sides.T) @ np.ones(n) == 0) & (least > SMOOTH) & np.isin(np.arange(n), table)
    )
    own_too = diags(inside.astype(float))
    near = own_too @ (sides + sides.T) @ own_too + 2 * own_too
    for _ in range(MEANS):
        defect, spread = (
            near @ each / np.maximum(near @ np.ones(n), 1.0) for each in (defect, spread)
        )
    both = inside & (np.abs(defect) > np.maximum(BOTH * spread, FLAT))
    angle = np.sqrt(np.maximum(spread, 0.0) / np.maximum(2 * np.pi - defect, 1e-300))
    rise = 0.25 * np.sqrt(size[:, 0]) * angle[table].max(axis=1)
    return np.flatnonzero(both[table].any(axis=1) & (rise > THICK * thickness))


def nonmatching_faces(faces: Faces, ids: Tables) -> list[str]:
    """Faces with equal corners but other mid-side nodes, and faces of more than two elements."""
    numbers = np.concatenate(list(ids.values()))
    order = np.argsort(faces.group, kind="stable")
    start = np.searchsorted(faces.group[order], np.arange(len(faces.count)))
    problems = []
    for group in np.flatnonzero(faces.count > 2)[:SHOWN]:
        owners = numbers[faces.element[order[start[group] : start[group] + faces.count[group]]]]
        problems.append(
            f"elements {', '.join(map(str, owners[:SHOWN]))} share one face; remove the duplicates"
        )
    shared = np.flatnonzero(faces.count == 2)
    a, b = order[start[shared]], order[start[shared] + 1]
    unlike = np.flatnonzero((faces.nodes[a] != faces.nodes[b]).any(axis=1))
    if len(unlike):
        pair = numbers[faces.element[a[unlike[0]]]], numbers[faces.element[b[unlike[0]]]]
        problems.append(
            f"{len(unlike)} face(s) with different mid-side nodes, first elements "
            f"{pair[0]} and {pair[1]}; use one element order"
        )
    return problems


def nonconforming_faces(faces: Faces, ids: Tables) -> list[str]:
    """Outer triangles on an outer quadrilateral that share three of its corners.

    Displacements are nonconforming there.
    """
    outer = faces.count[faces.group] == 1
    four = faces.corners[:, 0] >= 0
    triangles, quadrilaterals = np.flatnonzero(outer & ~four), np.flatnonzero(outer & four)
    if not len(triangles) or not len(quadrilaterals):
        return []
    own = faces.corners[triangles, 1:]
    parts = [np.delete(faces.corners[quadrilaterals], k, axis=1) for k in range(4)]
    _, group = np.unique(np.concatenate([own, *parts]), axis=0, return_inverse=True)
    group = group.ravel()
    met = np.flatnonzero(np.isin(group[: len(own)], group[len(own) :]))
    if not len(met):
        return []
    first = np.concatenate(list(ids.values()))[faces.element[triangles[met[0]]]]
    return [
        f"{len(met)} triangular face(s) meet quadrilateral ones, first that of element {first}; "
        "displacements are nonconforming there: put pyramids between hexahedra and "
        "tetrahedra, or use one element type"
    ]


def coincident_nodes(nodes: Array) -> tuple[Indices, float]:
    """Pairs (n, 2) of nodes nearer than 1e-7 of the mesh size, and that tolerance in m."""
    tolerance = 1e-7 * float(np.linalg.norm(np.ptp(nodes, axis=0)))
    return cKDTree(nodes).query_pairs(tolerance, output_type="ndarray").astype(np.int64), tolerance


def unconnected_parts(
    nodes: Array, connectivity: Tables, faces: Faces, n_coincident: int
) -> list[str]:
    """Parts that are not rigidly connected: more than six rigid-body modes.

    Parts are groups of elements connected by faces; nodes shared by two parts constrain their rigid
    motions v + ω × x, and the rigid-body modes of the mesh are the null space of these constraints.
    """
    n_parts, part_of = _face_parts(faces)
    if n_parts == 1:
        return []
    modes = (
        _rigid_modes(nodes, connectivity, n_parts, part_of)
        if n_parts <= COUNTED_PARTS
        else 6 * n_parts
    )
    if modes == 6:
        return []
    sizes = np.sort(np.bincount(part_of))[::-1]
    shown = ", ".join(map(str, sizes[:SHOWN])) + (", …" if n_parts > SHOWN else "")
    found = (
        f"{modes} rigid-body modes instead of 6"
        if n_parts <= COUNTED_PARTS
        else "far more than 6 rigid-body modes"
    )
    remedy = (
        f"merge the {n_coincident} pairs of coincident nodes"
        if n_coincident
        else "connect them or keep one"
    )
    return [f"{n_parts} parts of {shown} elements are not connected: {found}; {remedy}"]


def _face_parts(faces: Faces) -> tuple[int, Indices]:
    """Number of parts, and the part of each element."""
    n_elements = int(faces.element.max()) + 1
    order = np.argsort(faces.group, kind="stable")
    same = np.flatnonzero(np.diff(faces.group[order]) == 0)
    a, b = faces.element[order[same]], faces.element[order[same + 1]]
    graph = coo_matrix((np.ones(len(a)), (a, b)), shape=(n_elements, n_elements))
    n_parts, part_of = connected_components(graph, directed=False)
    return n_parts, part_of.astype(np.int64)


def _rigid_modes(nodes: Array, connectivity: Tables, n_parts: int, part_of: Indices) -> int:
    """Number of rigid-body modes of parts connected at shared nodes."""
    tables = list(connectivity.values())
    element_of = np.repeat(
        np.arange(len(part_of)), np.concatenate([np.full(len(t), t.shape[1]) for t in tables])
    )
    memberships = np.unique(
        np.column_stack([np.concatenate([t.ravel() for t in tables]), part_of[element_of]]), axis=0
    )
    centred = (nodes - nodes.mean(axis=0)) / np.ptp(nodes, axis=0).max()
    ties = np.zeros((6 * n_parts, 6 * n_parts))
    for (node, part), (other, next_part) in itertools.pairwise(memberships):
        if node == other:
            row = np.zeros((3, 6 * n_parts))
            row[:, 6 * part : 6 * part + 6] = rigid_motion(centred[node : node + 1])[0]
            row[:, 6 * next_part : 6 * next_part + 6] = -row[:, 6 * part : 6 * part + 6]
            ties += row.T @ row
    return 6 * n_parts - int(np.linalg.matrix_rank(ties, tol=1e-12, hermitian=True))


def reoriented(name: str, nodes: Array, connectivity: Indices) -> Indices:
    """Elements of a type, with the node order of inverted ones reversed."""
    element, table = ELEMENTS[name], connectivity.copy()
    inverted = (element.jacobian_determinants(nodes[table]) < 0).all(axis=1)
    table[inverted] = table[inverted][:, element.mirrored]
    return table
