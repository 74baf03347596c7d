"""Division of a mesh into pieces, for parts with large bending.

Each piece is a flexible body of its own, with small deflections.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from flexmbs.errors import InputError, shown
from preprocess.elements.structural import names_of
from preprocess.inputs.argument_checks import (
    checked_arguments,
    floats,
    instance,
    integer,
    nonzero_vector,
)
from preprocess.mesh.declarations import FileDeclarations
from preprocess.mesh.distribute_items import distribute_items
from preprocess.mesh.mesh import ElementBlock, Mesh, NeighbouringShells

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Places = dict[str, int]  # piece by name

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
MOST = 100  # number of pieces; the frame of each piece adds degrees of freedom to a model
CUT = "cut "  # begin of the names of their common node sets
CONNECTION = "connections."


class Cut(NamedTuple):
    """Cut: two pieces and the nodes that they share."""

    pieces: tuple[int, int]
    nodes: Indices


@checked_arguments
def divide(
    mesh: Mesh,
    *,
    pieces: int | None = None,
    along: str | ArrayLike = "x",
    planes: ArrayLike | None = None,
    sets: Sequence[str] | None = None,
) -> tuple[Mesh, ...]:
    """Pieces of a mesh: of equal length along an axis, between planes, or by element sets.

    Every element belongs to one piece.

    Nodes that two pieces share are in the node set "cut 1", "cut 2", … of both, numbered by pieces,
    one for each connected part of what they share; the sets of the mesh remain where a piece has
    nodes of them. Bodies reduced from the pieces, with the cuts as interfaces, are welded there by
    `fm.Fixed` joints: each deflects little where the part bends far.

    mesh: of the whole part. pieces: number of pieces of equal length; 1 leaves the mesh whole.
    along: "x", "y", "z" or a direction (3,). planes: instead of a number, positions of the planes
    between the pieces [m], ascending, along the direction from the origin. sets: instead, names of
    element sets, one for each piece, which contain every element exactly once. Connections and
    masses of the file go to the piece with their nodes. Raises InputError, also for pieces that
    touch more than one other at a node, or that are not connected to the others, and for
    connections with nodes in several pieces or on a cut. Source: Shabana, Dynamics of Multibody
    Systems (2020), section 6.5 (substructuring for large deformation).

    Examples
    --------
    >>> import preprocess as pp
    >>> root, tip = pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=2)
    >>> root.nodes[root.node_sets["cut 1"], 0].max().item(), list(tip.node_sets)
    (0.2, ['x1', 'y0', 'y1', 'z0', 'z1', 'cut 1'])
    """
    instance(mesh, Mesh, "mesh", "a Mesh, see read_mesh")
    given = [
        name
        for name, value in (("pieces", pieces), ("planes", planes), ("sets", sets))
        if value is not None
    ]
    if len(given) != 1:
        raise InputError(
            f"divide: give one of pieces, planes and sets, not {' and '.join(given) or 'none'}"
        )
    taken = [name for name in mesh.node_sets if name.startswith(CUT)]
    if taken:
        raise InputError(
            f"{mesh.source}: node set '{taken[0]}': names that begin with '{CUT}' are "
            "reserved for cuts; rename it, or divide the whole part at once"
        )
    if sets is not None:
        return _pieces(mesh, _by_sets(mesh, sets), len(sets))
    position = mesh.nodes @ _direction(along)
    between = _planes(position, pieces, planes)
    return _pieces(mesh, np.searchsorted(between, _centres(mesh, position)), len(between) + 1)


def _direction(along: str | ArrayLike) -> Array:
    """Unit vector of an axis, given by letter or vector."""
    if isinstance(along, str) and along not in AXES:
        raise InputError(
            f"along: is {shown(along)}; give 'x', 'y', 'z' or a direction of three numbers"
        )
    line = nonzero_vector(
        AXES[along] if isinstance(along, str) else along, "along", "give a direction"
    )
    return line / float(np.linalg.norm(line))


def _planes(position: Array, pieces: int | None, planes: ArrayLike | None) -> Array:
    """Positions of the planes between the pieces along the axis."""
    low, high = float(position.min()), float(position.max())
    if planes is None:
        count = integer(pieces, "pieces")
        if not 1 <= count <= MOST:
            raise InputError(f"pieces: is {count}; give a number from 1 to {MOST}")
        return np.linspace(low, high, count + 1)[1:-1]
    found = np.atleast_1d(floats(planes, "planes"))
    inside = (
        found.ndim == 1
        and 0 < len(found) < MOST
        and (np.diff(found) > 0).all()
        and low < found[0]
        and found[-1] < high
    )
    if not inside:
        raise InputError(
            f"planes: {shown(planes)}; give ascending positions between {low:.6g} and {high:.6g} m"
        )
    return np.asarray(found)


def _centres(mesh: Mesh, position: Array) -> Array:
    """Mean position (E,) of the nodes of each element, by type."""
    return np.concatenate(
        [position[block.connectivity].mean(axis=1) for block in mesh.blocks.values()]
    )


def _by_sets(mesh: Mesh, names: Any) -> Indices:
    """Piece of each element, from element sets."""
    if isinstance(names, str) or len(names) < 2 or len(names) > MOST:
        raise InputError(f"sets: {shown(names)}; give the names of two or more element sets")
    unknown = [name for name in names if name not in mesh.element_sets]
    if unknown:
        raise InputError(
            f"{mesh.source}: no element set '{unknown[0]}'; it has: "
            f"{', '.join(mesh.element_sets) or 'none'}"
        )
    ids = np.concatenate([block.ids for block in mesh.blocks.values()])
    inside = np.array([np.isin(ids, mesh.element_sets[name]) for name in names])
    shares = inside.sum(axis=0)
    if (shares != 1).any():
        first = int(np.flatnonzero(shares != 1)[0])
        raise InputError(
            f"sets: element {ids[first]} is in {shares[first]} of {', '.join(names)}; "
            "each must be in exactly one"
        )
    return np.asarray(inside.argmax(axis=0))


def _pieces(mesh: Mesh, number: Indices, count: int) -> tuple[Mesh, ...]:
    """Meshes of the elements of each piece, with the sets of the cuts."""
    ends = np.cumsum([len(block.ids) for block in mesh.blocks.values()])
    of_block = dict(zip(mesh.blocks, np.split(number, ends[:-1])))
    owned = np.zeros((count, len(mesh.nodes)), bool)
    for name, block in mesh.blocks.items():
        for k in range(count):
            owned[k, block.connectivity[of_block[name] == k]] = True
    empty = np.flatnonzero(~owned.any(axis=1))
    if empty.size:
        raise InputError(
            f"divide: piece {int(empty[0]) + 1} has no element; use fewer pieces or a finer mesh"
        )
    cuts = [
        cut for shared in _shared_nodes(owned) for cut in _connected_cuts(mesh, of_block, shared)
    ]
    links = distribute_items(
        mesh,
        owned,
        {f"{CONNECTION}{name}": each for name, each in mesh.declared.connections.items()},
    )
    masses = distribute_items(
        mesh, owned, {_mass(n, each): each for n, each in enumerate(mesh.declared.masses)}
    )
    return tuple(
        _piece(mesh, of_block, k, np.flatnonzero(owned[k]), cuts, (links, masses))
        for k in range(count)
    )


def _mass(number: int, given: Mapping[str, Any]) -> str:
    """Name of a point mass that comes from the mesh file."""
    return f"mass {number + 1} at node {given['node']}"


def _shared_nodes(owned: NDArray[np.bool_]) -> list[Cut]:
    """Pairs of pieces with their common nodes. Raises InputError for nodes of three pieces."""
    crowded = np.flatnonzero(owned.sum(axis=0) > 2)
    if crowded.size:
        pieces = ", ".join(str(k + 1) for k in np.flatnonzero(owned[:, crowded[0]]))
        raise InputError(
            f"divide: pieces {pieces} share a node; a node may belong to two: use fewer "
            "pieces or a finer mesh"
        )
    pairs = itertools.combinations(range(len(owned)), 2)
    found = [
        Cut((i, j), nodes) for i, j in pairs if (nodes := np.flatnonzero(owned[i] & owned[j])).size
    ]
    touching = {k for cut in found for k in cut.pieces}
    alone = [k + 1 for k in range(len(owned)) if k not in touching and len(owned) > 1]
    if alone:
        raise InputError(
            f"divide: piece {alone[0]} shares no node with any other; use other planes or sets"
        )
    return found


def _connected_cuts(mesh: Mesh, of_block: dict[str, Indices], shared: Cut) -> list[Cut]:
    """Cuts between two pieces, one for each connected part of their common nodes.

    A frame, for example, has one cut in each of its two legs. Nodes are adjacent if each piece has
    an element with both of them.
    """
    place = np.full(len(mesh.nodes), -1, dtype=np.int64)
    place[shared.nodes] = np.arange(len(shared.nodes))
    beside, other = (_common_elements(mesh, of_block, k, place) for k in shared.pieces)
    count, label = connected_components(beside.multiply(other), directed=False)
    return [Cut(shared.pieces, shared.nodes[label == n]) for n in range(count)]


def _common_elements(mesh: Mesh, of_block: dict[str, Indices], k: int, place: Indices) -> csr_array:
    """Number (s, s) of the elements of piece k that contain both of two nodes.

    Nodes by their places.
    """
    tables = [place[block.connectivity[of_block[name] == k]] for name, block in mesh.blocks.items()]
    count = int(place.max()) + 1
    found = csr_array((count, count))
    for table in tables:
        inside = table >= 0
        columns = np.broadcast_to(np.arange(len(table))[:, None], table.shape)[inside]
        has = csr_array(
            (np.ones(len(columns)), (table[inside], columns)), (count, max(len(table), 1))
        )
        found = found + has @ has.T
    return found


def _piece(
    mesh: Mesh,
    of_block: dict[str, Indices],
    k: int,
    rows: Indices,
    cuts: Sequence[Cut],
    places: tuple[Places, Places],
) -> Mesh:
    """Mesh of the elements of piece k, with the node sets of its cuts.

    ``rows``: its nodes in the whole mesh; connections and masses by their ``places``.
    """
    place = np.full(len(mesh.nodes), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    blocks, kept = {}, [np.zeros(0, dtype=np.int64)]
    for name, block in mesh.blocks.items():
        chosen = of_block[name] == k
        if chosen.any():
            blocks[name] = ElementBlock(place[block.connectivity[chosen]], block.ids[chosen])
            kept.append(block.ids[chosen])
    ids = np.concatenate(kept)
    sets = {
        name: members
        for name, nodes in mesh.node_sets.items()
        if len(members := place[nodes][place[nodes] >= 0])
    }
    sets |= {f"{CUT}{n}": place[cut.nodes] for n, cut in enumerate(cuts, 1) if k in cut.pieces}
    regions = {name: members[np.isin(members, ids)] for name, members in mesh.element_sets.items()}
    regions = {name: members for name, members in regions.items() if len(members)}
    own = replace(
        mesh,
        nodes=mesh.nodes[rows],
        node_ids=mesh.node_ids[rows],
        blocks=blocks,
        source=f"{mesh.source}, piece {k + 1}",
        beyond=_neighbouring_shells(mesh, of_block, k, place),
    )
    piece = replace(
        own, node_sets=sets, element_sets=regions, declared=_declared(mesh, regions, k, places)
    )
    piece.check()
    return piece


def _neighbouring_shells(
    mesh: Mesh, of_block: dict[str, Indices], k: int, place: Indices
) -> NeighbouringShells:
    """Shells of other pieces that share nodes with piece k; place: its rows of the nodes, or -1."""
    tables = {}
    for name in names_of("shell"):
        if name in mesh.blocks:
            table = mesh.blocks[name].connectivity
            found = table[(of_block[name] != k) & (place[table] >= 0).any(axis=1)]
            if len(found):
                tables[name] = found
    used = np.unique(np.concatenate([np.zeros(0, np.int64), *(t.ravel() for t in tables.values())]))
    outside, place = used[place[used] < 0], place.copy()
    place[outside] = (place >= 0).sum() + np.arange(len(outside))
    return NeighbouringShells(mesh.nodes[outside], {name: place[t] for name, t in tables.items()})


def _declared(
    mesh: Mesh, regions: Mapping[str, Indices], k: int, places: tuple[Places, Places]
) -> FileDeclarations:
    """Declarations of a file for the element sets, connections and masses of piece k."""
    links, masses = places
    connections = {
        name: each
        for name, each in mesh.declared.connections.items()
        if links[f"{CONNECTION}{name}"] == k
    }
    own = [each for n, each in enumerate(mesh.declared.masses) if masses[_mass(n, each)] == k]
    gone = mesh.element_sets.keys() - regions.keys()
    sections, materials = (
        {name: given for name, given in items.items() if name not in gone}
        for items in (mesh.declared.sections, mesh.declared.materials)
    )
    planes = {name: state for name, state in mesh.declared.planes.items() if name not in gone}
    return FileDeclarations(sections, connections, materials, own, planes, mesh.declared.mass)
