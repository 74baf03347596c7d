"""Defects of meshes of shells: elements on each other, and nonconforming edges."""

import warnings

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError

SQUARE = [
    (0, 0, 0),
    (1, 0, 0),
    (1, 1, 0),
    (0, 1, 0),
    (2, 0, 0),
    (2, 1, 0),
    (2, 0.5, 0),
    (1, 0.5, 0),
    (0.5, 0, 0),
    (0.5, 0.5, 0.3),
]
MIDDLES = [(0.5, 0, 0), (1, 0.5, 0), (0.5, 1, 0), (0, 0.5, 0)]


def messages(elements, nodes=SQUARE):
    """Warnings of a mesh of the nodes that its elements use."""
    used = np.unique(np.concatenate([np.ravel(rows) for rows in elements.values()]))
    number = np.full(len(nodes), -1)
    number[used] = np.arange(len(used))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pp.Mesh.from_arrays(
            np.array(nodes, float)[used],
            {kind: number[np.array(rows)] for kind, rows in elements.items()},
        )
    return [str(each.message) for each in found]


@pytest.mark.parametrize(
    "elements",
    [
        {"quad4": [(0, 1, 2, 3), (1, 2, 3, 0)]},
        {"quad4": [(0, 1, 2, 3), (0, 3, 2, 1)]},
        {"tri3": [(0, 1, 2), (2, 1, 0)]},
        {"quad4": [(0, 1, 2, 3)], "tri3": [(0, 1, 2)]},
        {"tri3": [(0, 1, 2), (0, 2, 3), (0, 1, 3), (1, 2, 3)]},
        {"quad4": [(0, 1, 9, 3)], "tri3": [(0, 1, 9), (0, 9, 3)]},
        {"line2": [(0, 1), (1, 2), (1, 0)]},
    ],
)
def test_elements_on_each_other_are_refused(elements):
    with pytest.raises(
        InputError,
        match=r"pair\(s\) of (shells|beams) lie on each other: elements 1 and .*; remove the "
        r"duplicates",
    ):
        messages(elements)


@pytest.mark.parametrize(
    "elements",
    [
        {"quad4": [(0, 1, 2, 3), (1, 4, 5, 2)]},
        {"quad4": [(0, 1, 2, 3), (1, 4, 5, 2)], "tri3": [(1, 2, 9)]},  # T-junction
        {"quad4": [(0, 1, 2, 3)], "line2": [(0, 1), (1, 2)]},
        {"tri3": [(0, 1, 2), (0, 2, 3)]},
    ],
)
def test_joined_elements_are_accepted(elements):
    assert not messages(elements)


def test_nodes_inside_edges_are_warned_of():
    found = messages({"quad4": [(0, 1, 2, 3), (1, 4, 6, 7), (7, 6, 5, 2)]})
    assert len(found) == 1
    assert (
        "1 edge(s) of shells have nodes of other elements inside, first that of element 1, node 7"
        in found[0]
    )


def test_unused_mid_side_nodes_are_warned_of():
    nodes = [*SQUARE[:6], *MIDDLES]
    found = messages({"quad8": [(0, 1, 2, 3, 6, 7, 8, 9)], "quad4": [(1, 4, 5, 2)]}, nodes)
    assert len(found) == 1
    assert (
        "1 mid-side node(s) of shells are not used by linear neighbours, first element 2"
        in found[0]
    )


@pytest.mark.parametrize("kind", ["tri3", "quad4"])
def test_one_random_duplicate_is_named(kind):
    """Curved sheets, with an element given again from another corner."""
    random = np.random.default_rng(len(kind))
    a, b = (
        x.ravel() for x in np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 7), indexing="ij")
    )
    rows = np.arange(49).reshape(7, 7)
    cells = np.stack([rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1).reshape(
        -1, 4
    )
    table = cells if kind == "quad4" else np.vstack([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
    nodes = np.column_stack([a, b, 0.4 * np.sin(3 * a) * b])
    assert not messages({kind: table}, nodes)
    k = int(random.integers(len(table)))
    again = np.vstack([table, np.roll(table[k], 1)])
    with pytest.raises(
        InputError, match=rf"1 pair\(s\) of shells .* elements {k + 1} and {len(again)};"
    ):
        messages({kind: again}, nodes)
