"""Surface and stress of a body merged from those of several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import StressModes
from preprocess.body.stress import PRECISION, Stress
from preprocess.distributed.decomposition import Share, WholePart
from preprocess.fe.fe_model import FEModel


class LocalSurface(NamedTuple):
    """Surface and stress of one process, with the indices of their rows in the whole part.

    nodes (o,): rows of the owned nodes in the whole mesh, x (o, 3) and phi (o, 3, nf) of these
    triangle_rows (t,): rows of outer triangles in the whole mesh skin (s,): element of each point
    of the skin of beams and shells, in the order of the whole, with x, phi, and triangles (k, 3)
    materials (r,), stressed (r,), elements (r,): material and node of the rows of stress of solids
    in the whole, and number of elements of the mean; stress (r + s, 6, nf + l): of modes and
    corrections, the skin's behind; skin_material (s,) kinds (m,): materials here in the whole, with
    their compliance (m, 6, 6) and yield_stress (m,)
    """

    nodes: IntArray
    x: FloatArray
    phi: FloatArray
    skin: IntArray
    skin_x: FloatArray
    skin_phi: FloatArray
    skin_triangles: IntArray
    materials: IntArray
    stressed: IntArray
    elements: FloatArray
    stress: FloatArray | None
    skin_material: IntArray
    kinds: IntArray
    compliance: FloatArray
    yield_stress: FloatArray


def local_surface(data: FlexibleBodyData, fe: FEModel, share: Share) -> LocalSurface:
    """Surface and stress of the part in this process."""
    assert data.surface is not None
    n, surface = len(fe.nodes), data.surface
    own = fe.owned_nodes(np.arange(n))
    place = {id(material): k for k, material in enumerate(share.materials)}
    index = np.array([place[id(material)] for material in fe.materials], dtype=np.int64)
    materials, stressed, count, stress = (
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
        None,
    )
    if data.stress is not None:
        solid = data.stress.rows < n
        materials, stressed = index[data.stress.material[solid]], data.stress.rows[solid]
        count = _counts(fe, place)[materials, stressed]
        stress = np.concatenate([data.stress.modes, data.stress.correction], axis=2)
    skins = [
        np.repeat(order, part.skin()[0].positions.shape[1])
        for order, part in zip(share.order, fe.structures)
    ]
    return LocalSurface(
        nodes=share.nodes[own],
        x=surface.nodes[:n][own],
        phi=surface.phi[:n][own],
        skin=np.concatenate([np.zeros(0, np.int64), *skins]),
        skin_x=surface.nodes[n:],
        skin_phi=surface.phi[n:],
        skin_triangles=fe.skin.triangles,
        materials=materials,
        stressed=share.nodes[stressed],
        elements=count,
        stress=stress,
        skin_material=index[fe.skin.material],
        kinds=index,
        compliance=np.zeros((len(index), 6, 6)) if data.stress is None else data.stress.compliance,
        yield_stress=np.zeros(len(index)) if data.stress is None else data.stress.yield_stress,
    )


def _counts(fe: FEModel, place: dict[int, int]) -> FloatArray:
    """Number of elements (m, N) of each material of the whole at each node here."""
    count = np.zeros((len(place), len(fe.nodes)))
    for group in fe.groups:
        count[place[id(group.material)]] += np.bincount(
            group.connectivity.ravel(), minlength=len(fe.nodes)
        )
    return count


def merged_body(
    data: FlexibleBodyData, pieces: Sequence[LocalSurface], whole: WholePart, choice: Stress | None
) -> FlexibleBodyData:
    """Body with the surface and stress of all processes."""
    joints = whole.layout.joints
    n, nf = len(joints.nodes.positions), data.nf
    x, phi = np.zeros((n, 3)), np.zeros((n, 3, nf))
    for each in pieces:
        x[each.nodes], phi[each.nodes] = each.x, each.phi
    order, triangles = _skin(pieces)
    ids = joints.nodes.ids
    surface = Surface(
        np.concatenate([x, _stacked(pieces, "skin_x")[order]]),
        np.concatenate([phi, _stacked(pieces, "skin_phi")[order]]),
        np.vstack([whole.mesh.surface_triangles(), n + triangles]),
        np.concatenate([ids, ids.max() + 1 + np.arange(len(order))]),
    )
    stress = (
        None
        if data.stress is None or choice is None
        else _stress(data.stress, pieces, order, n, choice)
    )
    return replace(data, surface=surface, stress=stress)


def _stacked(pieces: Sequence[LocalSurface], name: str) -> np.ndarray:
    """Arrays of all pieces, concatenated."""
    return np.concatenate([getattr(each, name) for each in pieces])


def _skin(pieces: Sequence[LocalSurface]) -> tuple[IntArray, IntArray]:
    """Order of the skin's points of all processes, and its triangles (k, 3) in that order.

    Element by element, as in one process.
    """
    element = _stacked(pieces, "skin")
    order = np.argsort(element, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    start = np.cumsum([0, *(len(each.skin) for each in pieces)])
    triangles = np.concatenate([first + each.skin_triangles for first, each in zip(start, pieces)])
    return order, rank[triangles[np.argsort(element[triangles[:, 0]], kind="stable")]]


def _stress(
    found: StressModes, pieces: Sequence[LocalSurface], order: IntArray, n: int, choice: Stress
) -> StressModes:
    """Stress of all processes: means of solids weighted by their numbers of elements."""
    kind, nf = PRECISION[choice.precision], found.nf
    keys = _stacked(pieces, "materials") * n + _stacked(pieces, "stressed")
    rows, place = np.unique(keys, return_inverse=True)
    columns = found.modes.shape[2] + found.correction.shape[2]
    sums, weight = np.zeros((len(rows), 6, columns)), np.zeros(len(rows))
    first, skins = 0, []
    for each in pieces:
        assert each.stress is not None
        solid = len(each.stressed)
        here = place[first : first + solid]
        sums[here] += each.elements[:, None, None] * each.stress[:solid]
        weight[here] += each.elements
        skins.append(each.stress[solid:])
        first += solid
    values = np.concatenate([sums / weight[:, None, None], np.concatenate(skins)[order]])
    material = np.concatenate([rows // n, _stacked(pieces, "skin_material")[order]])
    index, first_of = np.unique(_stacked(pieces, "kinds"), return_index=True)
    assert (index == np.arange(len(index))).all()
    return replace(
        found,
        rows=np.concatenate([rows % n, n + np.arange(len(order))]),
        modes=values[:, :, :nf].astype(kind),
        correction=values[:, :, nf:].astype(kind),
        material=material,
        compliance=_stacked(pieces, "compliance")[first_of],
        yield_stress=_stacked(pieces, "yield_stress")[first_of],
    )
