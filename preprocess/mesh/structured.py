"""Structured meshes of boxes with any element type."""

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS, Element
from preprocess.elements.hex8 import HEX8
from preprocess.elements.pyramid5 import PYRAMID5
from preprocess.inputs.argument_checks import checked_arguments, vector
from preprocess.mesh.mesh import Mesh

MOST_CELLS = 10**7  # number of cells; larger meshes do not fit in the memory of a workstation
STEPS = 4  # lattice steps along a side of a cell: corners, middles and quarter points are integers

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@checked_arguments
def box_mesh(
    size: tuple[float, float, float],
    divisions: tuple[int, int, int],
    element: str = "hex20",
    *,
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Mesh:
    """Box with one corner at the origin, divided regularly.

    Tetrahedra and pyramids are six to a cell, wedges two. Its node sets x0, x1, y0, y1, z0, z1 are
    the faces at the low and the high end of each axis. size (3,): lengths [m]. divisions (3,):
    numbers of cells. element: "hex20", "hex8", "hex27", "tet4", "tet10", "wedge6", "wedge15",
    "pyramid5" or "pyramid13". origin (3,): its lowest corner [m].

    Examples
    --------
    >>> import preprocess as pp
    >>> pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1), "hex8")
    <Mesh of hex8 box: 36 nodes, 8 hex8; sets: x0, x1, y0, y1, z0, z1>
    """
    if not isinstance(element, str) or element not in ELEMENTS:
        raise InputError(
            f"element: {element!r:.60} is unknown; choose one of {', '.join(ELEMENTS)}"
        )
    lengths, corner = vector(size, "size"), vector(origin, "origin")
    if not lengths.min() > 0:
        raise InputError(f"size: {size!r:.60} is not a box; give three positive lengths in m")
    counts = _counts(divisions)
    patterns = _cell_patterns(ELEMENTS[element])
    cells = STEPS * np.array(list(itertools.product(*(range(n) for n in counts))))
    points = (cells[:, None, None, :] + patterns[None]).reshape(-1, patterns.shape[1], 3)
    lattice = np.ravel_multi_index(tuple(np.moveaxis(points, -1, 0)), tuple(STEPS * counts + 1))
    used, connectivity = np.unique(lattice, return_inverse=True)
    steps = np.column_stack(np.unravel_index(used, tuple(STEPS * counts + 1)))
    nodes = corner + steps * (lengths / (STEPS * counts))
    sets = {
        f"{axis}{end}": np.flatnonzero(steps[:, k] == end * STEPS * counts[k])
        for k, axis in enumerate("xyz")
        for end in (0, 1)
    }
    return Mesh.from_arrays(
        nodes,
        {element: connectivity.reshape(lattice.shape)},
        node_sets=sets,
        source=f"{element} box",
    )


def _counts(divisions: ArrayLike) -> Indices:
    """Validate the numbers of divisions (3,) along the axes. Raises InputError."""
    given = vector(divisions, "divisions")
    if (given != np.floor(given)).any() or given.min() < 1 or given.prod() > MOST_CELLS:
        raise InputError(
            f"divisions: {divisions!r:.60}; give three integers ≥ 1, at most "
            f"{MOST_CELLS:.0e} cells in total"
        )
    return given.astype(np.int64)


def _cell_patterns(element: Element) -> Indices:
    """Nodes (elements in a cell, nn, 3) of the elements that fill one cell of side 4."""
    if element.corners == 8:
        found = element.nodes[None] + 1
    elif element.corners == 6:
        lower = np.column_stack([2 * element.nodes[:, :2], element.nodes[:, 2] + 1])
        found = np.array([lower, np.column_stack([2 - lower[:, :2], lower[:, 2]])])
    elif element.corners == 5:
        cell = HEX8.nodes + 1
        found = PYRAMID5.shape_functions(element.nodes) @ [
            np.vstack([cell[face[::-1]], np.ones(3)]) for face in HEX8.faces[0].nodes
        ]
    else:
        barycentric = np.column_stack([1 - element.nodes.sum(axis=1), element.nodes])
        found = barycentric @ _kuhn_tetrahedra()
    return np.rint(0.5 * STEPS * found).astype(np.int64)


def _kuhn_tetrahedra() -> Array:
    """Six tetrahedra (6, 4, 3) along the paths from corner (0,0,0) to corner (2,2,2) of a cell.

    All have positive volume.
    """
    result = []
    for axes in itertools.permutations(range(3)):
        corners = np.concatenate([np.zeros((1, 3)), 2 * np.cumsum(np.eye(3)[list(axes)], axis=0)])
        positive = np.linalg.det(np.diff(corners, axis=0)) > 0
        result.append(corners if positive else corners[[0, 2, 1, 3]])
    return np.array(result)
