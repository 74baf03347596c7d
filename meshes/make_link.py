"""Finite-element mesh of a robot link: two bored eyes joined by an I-shaped web, twenty-node
hexahedra, millimetres.

The plan view (x, z) is mapped from three structured blocks: a ring around each bore and the web
between them. The plan is extruded along y, the axis of the bores, in three layers; the outer layers
are omitted inside the pocket of the web.

    python make_link.py                        writes link.msh
    python make_link.py --refine 2 --output link_fine.msh
"""

import argparse
import itertools
import pathlib

import numpy as np

LENGTH = 250.0  # between the bore axes
OUTER_RADIUS, BORE_RADIUS = 25.0, 12.5
WALL_RADIUS = 31.0  # end of the pocket, concentric with the bore
FLANGE = 7.0  # width of the two flanges at the pocket
THICKNESS, WEB_THICKNESS = 26.0, 8.0
# elements: outer half circle, straight flank, web height, ring, web length
ROUND, SIDE, ROWS, RADIAL, COLUMNS = 12, 2, 6, 3, 16

# Twenty of the 27 positions of a (3, 3, 3) element lattice, as (i, j, k), in VTK order: corners,
# then edges.
CORNERS = ((0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2))
EDGES_VTK = (
    (0, 1),
    (1, 2),
    (2, 3),
    (3, 0),
    (4, 5),
    (5, 6),
    (6, 7),
    (7, 4),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
)
EDGES_GMSH = (
    (0, 1),
    (0, 3),
    (0, 4),
    (1, 2),
    (1, 5),
    (2, 3),
    (2, 6),
    (3, 7),
    (4, 5),
    (4, 7),
    (5, 6),
    (6, 7),
)


def steps(stations, counts):
    """Half-element stations that divide each interval of ``stations`` into ``counts`` elements."""
    parts = [
        np.linspace(a, b, 2 * n + 1)[:-1]
        for a, b, n in zip(stations[:-1], stations[1:], counts, strict=True)
    ]
    return np.concatenate([*parts, [stations[-1]]])


def web_rows(refine):
    """Stations z of the web from the lower to the upper flank."""
    inner = OUTER_RADIUS - FLANGE
    return steps(
        (-OUTER_RADIUS, -inner, inner, OUTER_RADIUS), (refine, (ROWS - 2) * refine, refine)
    )


def pocket_end(z):
    """Distance in x from the bore axis to the wall around the eye."""
    return np.sqrt(WALL_RADIUS**2 - z**2)


def ring(refine):
    """Half-element lattice (round, radial, 2) of the eye at
    the origin, whose open side faces +x.
    """
    z = web_rows(refine)
    corner = pocket_end(OUTER_RADIUS)
    flank = np.linspace(0.0, corner, 2 * SIDE * refine + 1)
    half = np.linspace(np.pi / 2, 3 * np.pi / 2, 2 * ROUND * refine + 1)
    upper = np.column_stack([flank[::-1], np.full(flank.size, OUTER_RADIUS)])
    lower = np.column_stack([flank, np.full(flank.size, -OUTER_RADIUS)])
    circle = OUTER_RADIUS * np.column_stack([np.cos(half), np.sin(half)])
    wall = np.column_stack([pocket_end(z), z])
    outer = np.concatenate([circle[:-1], lower[:-1], wall[:-1], upper])
    turn = np.arctan2(OUTER_RADIUS, corner)
    turns = np.pi / 2, 3 * np.pi / 2, 2 * np.pi - turn, 2 * np.pi + turn, 5 * np.pi / 2
    angle = steps(turns, (ROUND * refine, SIDE * refine, ROWS * refine, SIDE * refine))
    bore = BORE_RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])
    s = np.linspace(0.0, 1.0, 2 * RADIAL * refine + 1)[None, :, None]
    return (1 - s) * bore[:, None] + s * outer[:, None]


def web(refine):
    """Half-element lattice (columns, rows, 2) of the web between the two walls."""
    z = web_rows(refine)
    s = np.linspace(0.0, 1.0, 2 * COLUMNS * refine + 1)[:, None]
    x = (1 - s) * pocket_end(z) + s * (LENGTH - pocket_end(z))
    return np.stack([x, np.broadcast_to(z, x.shape)], axis=-1)


def extruded(plan, y):
    """Lattice (i, j, k, 3) of a plan lattice (i, j, 2) of (x, z) swept along the stations y."""
    shape = (*plan.shape[:2], y.size)
    x, z = np.broadcast_to(plan[:, :, None, 0], shape), np.broadcast_to(plan[:, :, None, 1], shape)
    return np.stack([x, np.broadcast_to(y, shape), z], axis=-1)


def hexahedra(lattice, edges, keep=lambda i, j, k: True):
    """Node positions (elements, 20, 3) of every kept cell of a half-element lattice."""
    places = [*CORNERS, *(tuple((np.array(CORNERS[a]) + CORNERS[b]) // 2) for a, b in edges)]
    cells = itertools.product(*((range((n - 1) // 2)) for n in lattice.shape[:3]))
    return np.array(
        [
            [lattice[2 * i + a, 2 * j + b, 2 * k + c] for a, b, c in places]
            for i, j, k in cells
            if keep(i, j, k)
        ]
    )


def link(refine=1, edges=EDGES_GMSH):
    """Node positions (nodes, 3) and elements (elements, 20) of the link, and the eight-node faces
    of the two bores.
    """
    half, inner = THICKNESS / 2, WEB_THICKNESS / 2
    y = steps((-half, -inner, inner, half), (refine, refine, refine))

    def outside_pocket(i, j, k):
        flange = j < refine or j >= (ROWS - 1) * refine
        return flange or refine <= k < 2 * refine

    # The lattice axes (i, j, k) are right-handed: around the bore anticlockwise seen from -y,
    # outwards, along +y.
    hub = extruded(ring(refine), y)
    tip = np.array([LENGTH, 0.0, 0.0]) + extruded(ring(refine)[::-1], y) * np.array(
        [-1.0, 1.0, 1.0]
    )
    middle = extruded(web(refine)[:, ::-1], y)
    cells = np.concatenate(
        [hexahedra(hub, edges), hexahedra(tip, edges), hexahedra(middle, edges, outside_pocket)]
    )
    nodes, index = merged(cells.reshape(-1, 3))
    elements = index.reshape(-1, 20)
    centres = {"hub_face": 0.0, "tip_face": LENGTH}
    return (
        nodes,
        elements,
        {name: bore_faces(nodes, elements, edges, x) for name, x in centres.items()},
    )


def merged(points, decimals=6):
    """Distinct points, sorted by x, and the index of each given point among them."""
    _, first, index = np.unique(
        np.round(points, decimals) + 0.0, axis=0, return_index=True, return_inverse=True
    )
    return points[first], index.ravel()


def bore_faces(nodes, elements, edges, centre):
    """Eight-node faces, corners then edges, on the bore whose axis passes through x = centre."""
    on_bore = np.abs(np.hypot(nodes[:, 0] - centre, nodes[:, 2]) - BORE_RADIUS) < 1e-6
    sides = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
    column = {frozenset(edge): 8 + n for n, edge in enumerate(edges)}
    columns = [
        [*side, *(column[frozenset((side[n], side[(n + 1) % 4]))] for n in range(4))]
        for side in sides
    ]
    faces = elements[:, np.array(columns)].reshape(-1, 8)
    return faces[on_bore[faces].all(axis=1)]


def write_gmsh(path, nodes, elements, faces):
    """ASCII Gmsh 2.2 file with one physical volume "link" and
    one physical surface for each bore.
    """
    rows = [(16, 1 + n, face) for n, group in enumerate(faces.values()) for face in group] + [
        (17, 3, e) for e in elements
    ]
    with open(path, "w", encoding="ascii") as file:
        file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n")
        file.writelines(f'2 {1 + n} "{name}"\n' for n, name in enumerate(faces))
        file.write(f'3 3 "link"\n$EndPhysicalNames\n$Nodes\n{len(nodes)}\n')
        file.writelines(
            f"{n} {x:.10g} {y:.10g} {z:.10g}\n"
            for n, (x, y, z) in enumerate(np.round(nodes, 10) + 0.0, 1)
        )
        file.write(f"$EndNodes\n$Elements\n{len(rows)}\n")
        for n, (kind, tag, ids) in enumerate(rows, 1):
            file.write(f"{n} {kind} 2 {tag} {tag} {' '.join(map(str, ids + 1))}\n")
        file.write("$EndElements\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--refine",
        type=int,
        default=1,
        help="elements per base element along each direction (default 1)",
    )
    parser.add_argument(
        "--output", type=pathlib.Path, default=pathlib.Path(__file__).with_name("link.msh")
    )
    options = parser.parse_args()
    nodes, elements, faces = link(options.refine)
    write_gmsh(options.output, nodes, elements, faces)
    print(
        f"{options.output}: {len(nodes)} nodes, {len(elements)} elements, "
        f"{3 * len(nodes)} degrees of freedom"
    )


if __name__ == "__main__":
    main()
