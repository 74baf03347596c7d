"""Distribution of connections and masses over the pieces of a divided mesh.

An item belongs to the piece with all of its nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import raise_problems
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.node_regions import region_of

Indices = NDArray[np.int64]

# keys of nodes: a number, a set or a region
NODES = ("where", "reference", "first", "second", "to", "node")


def nodes_of(mesh: Mesh, given: Mapping[str, Any]) -> Indices:
    """Rows of the nodes of a connection or mass, from its arguments by key. Raises InputError."""
    numbers = [node for node, *_ in given.get("terms", ())]
    found = [np.zeros(0, np.int64)]
    for value in (given.get(key) for key in NODES):
        if isinstance(value, int):
            numbers.append(value)
        elif value is not None:
            found.append(region_of(value).rows(mesh.nodes, mesh.node_sets))
    found.append(np.flatnonzero(np.isin(mesh.node_ids, numbers)))
    return np.unique(np.concatenate(found)).astype(np.int64)


def distribute_items(
    mesh: Mesh, owned: NDArray[np.bool_], items: Mapping[str, Mapping[str, Any]]
) -> dict[str, int]:
    """Number of the mesh piece to which each item belongs, by name.

    Nodes without elements, such as centres of spiders, go with the item. owned (pieces, N): the
    nodes of each piece, extended here. Raises InputError for items with nodes in several pieces, at
    a cut, or in none.
    """
    left, found, problems = (
        {name: nodes_of(mesh, given) for name, given in items.items()},
        dict[str, int](),
        list[str](),
    )
    while left:
        known = {name: rows for name, rows in left.items() if owned[:, rows].any()}
        if not known:
            problems += [
                f"{name}: none of its nodes belongs to an element; connect it, or omit it"
                for name in left
            ]
        for name, rows in known.items():
            pieces = np.flatnonzero(owned[:, rows].any(axis=1))
            if len(pieces) > 1:
                where = ", ".join(str(k + 1) for k in pieces)
                problems.append(
                    f"{name}: its nodes are in pieces {where}, or on a cut; it must be in one "
                    "piece and off the cuts"
                )
            found[name] = int(pieces[0])
            owned[pieces[0], rows] = True
        left = {name: rows for name, rows in left.items() if name not in known} if known else {}
    raise_problems(problems)
    return found


def items_by_piece(
    mesh: Mesh, pieces: Sequence[Mesh], connections: Mapping[str, Any], masses: Mapping[str, Any]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Connections and masses of a part file for each piece.

    A mass may be at the centre that a connection of its name adds. Raises InputError as
    `distribute_items`.
    """
    owned = np.array([np.isin(mesh.node_ids, piece.node_ids) for piece in pieces])
    links = _places(mesh, owned, "connections", connections)
    carried = {
        name: links[mass.where]
        for name, mass in masses.items()
        if isinstance(mass.where, str) and mass.where in links
    }
    places = carried | _places(
        mesh,
        owned,
        "point_masses",
        {name: each for name, each in masses.items() if name not in carried},
    )
    return [
        (
            {name: each for name, each in connections.items() if links[name] == k},
            {name: each for name, each in masses.items() if places[name] == k},
        )
        for k in range(len(pieces))
    ]


def _places(
    mesh: Mesh, owned: NDArray[np.bool_], table: str, items: Mapping[str, Any]
) -> dict[str, int]:
    """Number of the mesh to which each item of a table belongs."""
    found = distribute_items(
        mesh, owned, {f"{table}.{name}": vars(item) for name, item in items.items()}
    )
    return {name: found[f"{table}.{name}"] for name in items}
