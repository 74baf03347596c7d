"""Groups of elements of one type and one material."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError, raise_problems
from preprocess.elements import ELEMENTS, Element
from preprocess.fe.material import Material
from preprocess.fe.plane_states import InPlane
from preprocess.mesh.mesh import ElementBlock, Mesh

Indices = NDArray[np.int64]

# sine of the angle to z that counts as zero; positions in files have about six digits
ALONG = 1e-5
SHOWN = 5  # number of elements that a message lists


@dataclass(frozen=True, eq=False)
class ElementGroup:
    """Elements of one type and one material.

    connectivity (ne, nn): node indices in VTK order; ids (ne,): numbers in the file.
    """

    element: Element
    connectivity: Indices
    ids: Indices
    material: Material


Materials = Material | Mapping[str, Material]


def element_groups(
    mesh: Mesh, material: Materials, elements: Mapping[str, Element] = ELEMENTS
) -> tuple[ElementGroup, ...]:
    """Solid elements of a mesh by type and material.

    material: one for the whole mesh, or materials by element set, which must cover every element
    exactly once. elements: the formulation of each element type. Raises InputError naming unknown,
    overlapping or incomplete sets.
    """
    if not mesh.blocks:
        return ()
    owner = owners_by_block(mesh, mesh.blocks, material, "material")
    groups = []
    in_plane: dict[tuple[int, str], Material] = {}  # one object for each material and state
    for name, block in mesh.solids.items():
        for each, rows in owner[name]:
            for state, some in _states(mesh, block.ids[rows]):
                own = (
                    in_plane.setdefault((id(each), state), InPlane(each, state)) if state else each
                )
                table, ids = block.connectivity[rows[some]], block.ids[rows[some]]
                if state:
                    _check_plane(mesh, state, table[:, : ELEMENTS[name].corners], ids)
                groups.append(ElementGroup(elements[name], table, ids, own))
    return tuple(groups)


def _states(mesh: Mesh, ids: Indices) -> list[tuple[str, Indices]]:
    """Plane state, "" for none, and the rows of the elements in it."""
    state = np.full(len(ids), "", dtype=object)
    for name, each in mesh.declared.planes.items():
        state[np.isin(ids, mesh.element_sets[name])] = each
    return [(each, np.flatnonzero(state == each)) for each in dict.fromkeys(state.tolist())]


def _check_plane(mesh: Mesh, state: str, corners: Indices, ids: Indices) -> None:
    """Raise InputError for solids in a plane state that are no longer extruded along z."""
    below, above = np.split(mesh.nodes[corners], 2, axis=1)
    along = np.abs(above - below)
    turned = (along[..., :2].max(axis=2) > ALONG * along[..., 2]).any(axis=1)
    if turned.any():
        raise InputError(
            f"{mesh.source}: element {ids[turned][0]} in {state} is not along z, as after a "
            "rotation of the mesh; turn the body instead"
        )


def owners_by_block(
    mesh: Mesh, blocks: Mapping[str, ElementBlock], given: Any, what: str
) -> dict[str, list[tuple[Any, Indices]]]:
    """Material or section of the elements of each block, with the rows that have it.

    Given as one for all or by element set.
    """
    if not isinstance(given, Mapping):
        return {name: [(given, np.arange(len(block.ids)))] for name, block in blocks.items()}
    owner, first = _owners(mesh, blocks, tuple(given), what), 0
    result = {}
    for name, block in blocks.items():
        own = owner[first : first + len(block.ids)]
        first += len(block.ids)
        rows = [(each, np.flatnonzero(own == k)) for k, each in enumerate(given.values())]
        result[name] = [(each, found) for each, found in rows if len(found)]
    return result


def _owners(
    mesh: Mesh, blocks: Mapping[str, ElementBlock], names: tuple[str, ...], what: str
) -> Indices:
    """Index of the named set of each element, in the order of the blocks."""
    problems = [_unknown(mesh, str(name), what) for name in names if name not in mesh.element_sets]
    if problems or not names:
        raise InputError(
            *(
                problems
                or [
                    f"{mesh.source}: {what}: none given; give a {what.removesuffix('s')} "
                    "for each element set"
                ]
            )
        )
    ids = np.concatenate([block.ids for block in blocks.values()])
    member = np.array([np.isin(ids, mesh.element_sets[name]) for name in names])
    times = member.sum(axis=0)
    if (times == 0).any():
        problems.append(_uncovered(mesh, ids[times == 0], names, what))
    if (times > 1).any():
        both = [name for name, rows in zip(names, member) if (rows & (times > 1)).any()]
        problems.append(
            f"{mesh.source}: {what}: {(times > 1).sum()} element(s) in more than one of "
            f"{', '.join(map(repr, both))}: "
            f"{_first_identifiers(ids[times > 1])}; keep each in one"
        )
    raise_problems(problems)
    return member.argmax(axis=0)


def _unknown(mesh: Mesh, name: str, what: str) -> str:
    """Message that an element set does not exist, with similar names."""
    close = (
        difflib.get_close_matches(name, mesh.element_sets, n=3) or sorted(mesh.element_sets)[:10]
    )
    return (
        f"{mesh.source}: {what}: no element set {name!r}; the sets are: "
        f"{', '.join(close) or 'none'}"
    )


def _uncovered(mesh: Mesh, ids: Indices, names: tuple[str, ...], what: str) -> str:
    """Message naming the elements without material or section, and the other sets with them."""
    others = [
        name
        for name, members in mesh.element_sets.items()
        if name not in names and np.isin(ids, members).any()
    ]
    remedy = (
        f"give one for {' or '.join(map(repr, others[:SHOWN]))}"
        if others
        else f"put them in a set with a {what.removesuffix('s')}"
    )
    first = _first_identifiers(ids)
    return f"{mesh.source}: {what}: {len(ids)} element(s) without one: {first}; {remedy}"


def _first_identifiers(ids: Indices) -> str:
    """Text with the first of the identifiers."""
    return ", ".join(map(str, ids[:SHOWN])) + (", …" if len(ids) > SHOWN else "")
