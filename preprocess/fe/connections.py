"""Table of the connections between nodes, and their effects on a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError, raise_problems
from preprocess.fe.connection_base import Arms, Connection, ModelNodes, TurnedNodes
from preprocess.fe.constraints import Dependence
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.link_work import LinkWork
from preprocess.fe.links import Bushing, Equation, Spring
from preprocess.fe.spiders import AveragingSpider, RigidSpider
from preprocess.fe.ties import Tie
from preprocess.inputs.argument_checks import instance

Found = TypeVar("Found")

CONNECTIONS: dict[str, type[Connection]] = {
    each.kind: each for each in (RigidSpider, AveragingSpider, Equation, Spring, Bushing, Tie)
}
KINDS = ", ".join(each.__name__ for each in CONNECTIONS.values())


class ConnectionEffects(NamedTuple):
    """Nodes with the centres that connections add, and the effects of the connections.

    Their constraints, stiffness, damping, rigid arms, second-order work, and nodes
    beside faces.
    """

    nodes: ModelNodes
    rows: tuple[Dependence, ...]
    stiffness: sp.csr_matrix
    damping: sp.csr_matrix
    arms: dict[str, Arms]
    links: tuple[LinkWork, ...] = ()
    turned: tuple[TurnedNodes, ...] = ()


def connection_effects(
    nodes: ModelNodes, connections: Mapping[str, Connection]
) -> ConnectionEffects:
    """Effects of all connections on the nodes of a model.

    ``nodes.freedoms.rotating`` are the nodes with rotations of elements. Raises InputError listing
    the problems of every connection.
    """
    instance(connections, Mapping, "connections", f"{KINDS} by name")
    for name, each in connections.items():
        instance(each, Connection, f"connections.{name}", KINDS)
    nodes = _with_centres(nodes, connections)
    turned = _of_each(connections, lambda name, each: each.rotating(name, nodes)).values()
    rotating = np.unique(np.concatenate([nodes.freedoms.rotating, *turned])).astype(np.int64)
    nodes = nodes._replace(freedoms=Freedoms(len(nodes.positions), rotating))
    rows = _of_each(connections, lambda name, each: each.dependence(name, nodes))
    beside = _of_each(connections, lambda name, each: each.turned(nodes, rows[name]))
    arms = _of_each(connections, lambda name, each: each.arms(name, nodes))
    springs = _of_each(connections, lambda name, each: each.stiffness_matrix(name, nodes))
    dampers = _of_each(connections, lambda name, each: each.damping_matrix(name, nodes))
    links = _of_each(connections, lambda name, each: each.work(name, nodes))
    return ConnectionEffects(
        nodes,
        tuple(each for each in rows.values() if each is not None),
        _sum(springs.values(), nodes.freedoms.size),
        _sum(dampers.values(), nodes.freedoms.size),
        {name: each for name, each in arms.items() if each is not None},
        tuple(each for each in links.values() if each is not None),
        tuple(each for each in beside.values() if each is not None),
    )


def _sum(matrices: Iterable[sp.coo_matrix | None], size: int) -> sp.csr_matrix:
    """Sum of the given matrices (size, size), None if there are none."""
    parts = [each for each in matrices if each is not None and each.nnz]
    if not parts:
        return sp.csr_matrix((size, size))
    rows, columns, values = (
        np.concatenate(each) for each in zip(*((*part.coords, part.data) for part in parts))
    )
    return sp.csr_matrix((values, (rows, columns)), shape=(size, size))


def _with_centres(nodes: ModelNodes, connections: Mapping[str, Connection]) -> ModelNodes:
    """Nodes followed by the new centres, each in a set with its connection's name."""
    found = _of_each(connections, lambda name, each: each.centre(name, nodes.positions, nodes.sets))
    new = {name: place for name, place in found.items() if place is not None}
    taken = [name for name in new if name in nodes.sets]
    if taken:
        raise InputError(
            *(
                f"connections.{name}: the mesh has a set of that name; choose another"
                for name in taken
            )
        )
    if not new:
        return nodes
    first, count = len(nodes.positions), len(new)
    ids = np.concatenate([nodes.ids, nodes.ids.max(initial=0) + 1 + np.arange(count)])
    sets = {**nodes.sets, **{name: np.array([first + k]) for k, name in enumerate(new)}}
    freedoms = Freedoms(first + count, nodes.freedoms.rotating)
    return ModelNodes(np.vstack([nodes.positions, *new.values()]), ids, sets, freedoms, nodes.faces)


def _of_each(
    connections: Mapping[str, Connection], found: Callable[[str, Connection], Found]
) -> dict[str, Found]:
    """Result for each connection. Raises InputError with the problems of all."""
    results: dict[str, Found] = {}
    problems: list[str] = []
    for name, each in connections.items():
        try:
            results[name] = found(name, each)
        except InputError as error:
            problems += [f"connections.{name}: {problem}" for problem in error.problems]
    raise_problems(problems)
    return results
