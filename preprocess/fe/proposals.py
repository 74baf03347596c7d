"""Proposals of interfaces of a mesh: centres of its spiders, its sets of nodes, its round holes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.fe.interfaces import Averaged, Interface, Rigid, surface_centroid
from preprocess.inputs.argument_checks import checked_arguments
from preprocess.mesh.faces import surface_triangles
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.node_regions import Point

SPIDERS = {"rigid-spider": "a rigid spider", "averaging-spider": "an averaging spider"}
MOST = 0.5  # share of all nodes above which a set is a region of the part, not an interface
COLLINEAR = 1e-3  # second singular value of positions, over the first, that counts as a line
# cosine of the largest angle between neighbouring facets of a hole; 45° is a hole of eight facets
SMOOTH = np.cos(np.radians(50.0))
ROUND = 0.02  # deviation of the nodes of a hole from a cylinder, relative to its radius
FLAT = 1e-3  # share of the normals of a hole along its axis
CLOSED = np.radians(100.0)  # largest gap between directions of facets around a hole of four facets


class Proposal(NamedTuple):
    """Proposed interface: its name, nodes and frame, and what they are."""

    name: str
    what: str
    interface: Interface
    nodes: int
    position: FloatArray


@checked_arguments
def spider_interfaces(mesh: Mesh) -> dict[str, Interface]:
    """Interfaces at the centres of all spiders of the mesh's file, by the names of the spiders.

    These are RBE2, RBE3 and RBAR of Nastran, couplings and rigid bodies of Abaqus and CalculiX,
    contacts with a pilot node of Ansys, and nodal rigid bodies of LS-DYNA. Spiders with one centre
    give one interface. mesh: of a deck, read with structural=True. Raises InputError without any.

    Examples
    --------
    >>> from pathlib import Path
    >>> import preprocess as pp
    >>> cards = '''BEGIN BULK
    ... GRID,1,,0.,0.,0.
    ... GRID,2,,100.,0.,0.
    ... GRID,3,,100.,50.,0.
    ... GRID,4,,0.,50.,0.
    ... GRID,5,,120.,25.,0.
    ... CQUAD4,1,7,1,2,3,4
    ... PSHELL,7,1,2.0,1,,1
    ... MAT1,1,2.1e5,,0.3,7.85e-9
    ... RBE2,30,5,123456,2,3
    ... ENDDATA
    ... '''
    >>> size = Path("flap.bdf").write_text(cards)
    >>> mesh = pp.read_mesh("flap.bdf", unit="mm", structural=True)
    >>> ends = pp.spider_interfaces(mesh)
    >>> few = pp.CraigBampton(modes=4)
    >>> list(ends), pp.reduce(mesh, interfaces=ends, reference="RBE2 30", method=few).nf
    (['RBE2 30'], 4)
    """
    found = {each.name: each.interface for each in _spiders(mesh)}
    if not found:
        raise InputError(
            f"{mesh.source}: interfaces: the file has no spiders with a centre (RBE2, RBE3, "
            "*COUPLING); name sets of nodes, and read the mesh with structural=True"
        )
    return found


def proposals(mesh: Mesh) -> list[Proposal]:
    """Proposed interfaces: spiders first, then sets of nodes, then round holes."""
    spiders = list(_spiders(mesh))
    return [*spiders, *_sets(mesh, spiders), *_holes(mesh)]


def _spiders(mesh: Mesh) -> Iterator[Proposal]:
    """Centres of spiders, each node once."""
    used: set[int] = set()
    masses = {each["node"] for each in mesh.declared.masses}
    for name, given in mesh.declared.connections.items():
        reference = given.get("reference")
        if given["kind"] not in SPIDERS or reference is None:
            continue
        rows = (
            mesh.node_sets.get(reference, np.zeros(0, np.int64))
            if isinstance(reference, str)
            else np.flatnonzero(mesh.node_ids == reference)
        )
        if len(rows) != 1 or int(rows[0]) in used:
            continue
        used.add(int(rows[0]))
        place = mesh.nodes[rows[0]]
        feet = given.get("where")
        count = len(mesh.node_sets[feet]) if isinstance(feet, str) else 0
        weight = ", which carries a mass" if int(mesh.node_ids[rows[0]]) in masses else ""
        where = reference if isinstance(reference, str) else Point(tuple(place.tolist()))
        what = f"centre of {SPIDERS[given['kind']]} of {count} nodes{weight}"
        yield Proposal(name.replace("/", "-"), what, Rigid(where), 1, place)


def _sets(mesh: Mesh, spiders: list[Proposal]) -> Iterator[Proposal]:
    """Sets of nodes that can carry forces and moments, without those of the spiders."""
    names = {str(each.interface.where) for each in spiders}
    names |= {str(each.get("where")) for each in mesh.declared.connections.values()}
    names |= {str(each.get("reference")) for each in mesh.declared.connections.values()}
    turning = np.zeros(len(mesh.nodes), dtype=bool)
    for block in mesh.structural.values():
        turning[block.connectivity] = True
    triangles = mesh.surface_triangles()
    for name, rows in mesh.node_sets.items():
        if name in names or not 0 < len(rows) <= max(MOST * len(mesh.nodes), 1):
            continue
        points = mesh.nodes[rows]
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        plane = len(rows) > 2 and spread[1] > COLLINEAR * spread[0]
        if not plane and not turning[rows].any():
            continue
        place = surface_centroid(mesh.nodes, rows, triangles)
        yield Proposal(
            name.replace("/", "-"), f"set of {len(rows)} nodes", Rigid(name), len(rows), place
        )


def _holes(mesh: Mesh) -> Iterator[Proposal]:
    """Round holes of the outer surface of solids, whose nodes alone are within a sphere."""
    if not mesh.solids:
        return
    triangles = surface_triangles({k: b.connectivity for k, b in mesh.solids.items()})
    x = mesh.nodes[triangles]
    normals = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    normals = normals / np.where(areas > 0, areas, 1.0)[:, None]
    number = itertools.count(1)
    for own in _smooth_parts(triangles, normals):
        found = _hole(mesh.nodes, triangles[own], normals[own], areas[own])
        if found is None:
            continue
        centre, radius, length, rows = found
        reach = float(np.linalg.norm(mesh.nodes[rows] - centre, axis=1).max()) * (1 + 1e-6)
        inside = np.linalg.norm(mesh.nodes - centre, axis=1) <= reach
        what = f"round hole of radius {1e3 * radius:.4g} mm, {1e3 * length:.4g} mm long"
        what += f", {len(rows)} nodes"
        if inside.sum() == len(rows):
            px, py, pz = (round(float(value), 9) + 0.0 for value in centre)
            place = (px, py, pz)
            where = Point(place, radius=round(reach * (1 + 1e-6), 9))
            yield Proposal(
                f"hole {next(number)}", what, Averaged(where, position=place), len(rows), centre
            )


def _smooth_parts(triangles: IntArray, normals: FloatArray) -> Iterator[IntArray]:
    """Triangles joined over edges without a sharp angle, part by part."""
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    owner = np.repeat(np.arange(len(triangles)), 3)
    order = np.lexsort(edges.T)
    edges, owner = edges[order], owner[order]
    same = (edges[1:] == edges[:-1]).all(axis=1)
    a, b = owner[:-1][same], owner[1:][same]
    smooth = (normals[a] * normals[b]).sum(axis=1) > SMOOTH
    a, b = a[smooth], b[smooth]
    n = len(triangles)
    graph = sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(n, n))
    _, label = sp.csgraph.connected_components(graph, directed=False)
    for part in np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1]):
        if len(part) >= 8:  # two triangles on each of four facets
            yield part


def _hole(
    nodes: FloatArray, triangles: IntArray, normals: FloatArray, areas: FloatArray
) -> tuple[FloatArray, float, float, IntArray] | None:
    """Centre, radius, length and nodes of a cylinder seen from inside; None for other surfaces."""
    values, axes = np.linalg.eigh((areas[:, None] * normals).T @ normals)
    if values[0] > FLAT * values.sum() or values[1] < 0.2 * values.sum():
        return None
    axis, plane = axes[:, 0], axes[:, 1:]
    rows = np.unique(triangles)
    flat = nodes[rows] @ plane
    circle = np.linalg.lstsq(
        np.column_stack([2 * flat, np.ones(len(flat))]), (flat**2).sum(axis=1), rcond=None
    )[0]
    middle = circle[:2]
    distance = np.linalg.norm(flat - middle, axis=1)
    radius = float(distance.mean())
    inward = ((normals @ plane) * (nodes[triangles].mean(axis=1) @ plane - middle)).sum(axis=1) < 0
    around = np.sort(np.arctan2(*(normals @ plane).T))
    gaps = np.diff(np.append(around, around[0] + 2 * np.pi))
    if np.ptp(distance) > 2 * ROUND * radius or not inward.all() or gaps.max() > CLOSED:
        return None
    along = nodes[rows] @ axis
    centre = plane @ middle + axis * 0.5 * (along.min() + along.max())
    return centre, radius, float(np.ptp(along)), rows


def part_line(each: Proposal) -> str:
    """Line of a part file with the interface."""
    where = each.interface.where
    keys = f"set = {_text(where)}" if isinstance(where, str) else ""
    if isinstance(where, Point):
        keys = f"point = {list(where.position)}"
        keys += f", radius = {where.radius!r}" if where.radius is not None else ""
    if each.interface.position is not None:
        keys += f", position = {list(np.asarray(each.interface.position).tolist())}"
    return f'interfaces.{_text(each.name)} = {{ kind = "{each.interface.kind}", {keys} }}'


def python_line(each: Proposal) -> str:
    """Entry of a Python dictionary with the interface."""
    where = each.interface.where
    text = repr(where)
    if isinstance(where, Point):
        radius = f", radius={where.radius!r}" if where.radius is not None else ""
        text = f"pp.Point({where.position!r}{radius})"
    place = each.interface.position
    more = "" if place is None else f", position={tuple(np.asarray(place).tolist())!r}"
    return f"{each.name!r}: pp.{type(each.interface).__name__}({text}{more}),"


def _text(name: str) -> str:
    """Name as a basic string of TOML."""
    return json.dumps(name, ensure_ascii=not name.isprintable())
