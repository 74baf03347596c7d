"""Displacements by which mode shapes of different models are compared.

Velocity coordinates do, except the elastic ones of a body that is reduced again: from one reduction
to the next its modes change their order and sign, and those of equal frequency turn. In their place
are displacements φ q of nodes of its surface, of those at the same place of its bounding box where
the meshes differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from flexmbs.flexible_body.components import FloatArray, IntArray, Surface
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.studies.linear.linearize import Linearization
from flexmbs.system.step_scales import model_size

ComplexArray = NDArray[np.complex128]
NODES = 100  # of a body


def compared_shapes(linear: Sequence[Linearization], sizes: FloatArray) -> list[ComplexArray]:
    """Mode shapes (n, mₖ) of each linearization in coordinates that all models share.

    sizes (ns,): comparable displacements of the velocity coordinates.
    """
    compiled = [each.state.compiled for each in linear]
    tree, length = compiled[0].system.tree, model_size(compiled[0])
    shapes = [each.modes.shape for each in linear]
    kept, more = np.ones(len(sizes), bool), [list[ComplexArray]() for _ in linear]
    for i, primary in enumerate(compiled[0].topology.tree):
        data = [each.data[primary.body] for each in compiled if primary.body in each.data]
        surfaces = [each.surface for each in data if each.surface is not None]
        if len(surfaces) < len(linear) or not _differ(data):
            continue
        own = slice(int(tree.sf_at[i]), int(tree.sf_at[i]) + int(tree.nf[i]))
        kept[own] = False
        for found, shape, surface, rows in zip(more, shapes, surfaces, _same_places(surfaces)):
            phi = surface.phi[rows].reshape(3 * len(rows), -1) / (length * np.sqrt(len(rows)))
            found.append(phi @ shape[own])
    return [
        np.concatenate([(shape / sizes[:, None])[kept], *found])
        for shape, found in zip(shapes, more)
    ]


def _differ(data: Sequence[FlexibleBodyData]) -> bool:
    """True if a flexible body differs between the models."""
    return any(each is not data[0] and each.digest != data[0].digest for each in data)


def _same_places(surfaces: Sequence[Surface]) -> list[IntArray]:
    """Rows of corresponding surface nodes in each of several surfaces.

    Corresponding nodes are at the same place of the bounding box.
    """
    boxes = [_in_box(each.nodes) for each in surfaces]
    some = np.unique(np.linspace(0, len(boxes[0]) - 1, min(len(boxes[0]), NODES)).astype(np.int64))
    return [np.asarray(cKDTree(box).query(boxes[0][some])[1], np.int64) for box in boxes]


def _in_box(nodes: FloatArray) -> FloatArray:
    """Node positions scaled to 0 … 1 in their bounding box."""
    extent = np.ptp(nodes, axis=0)
    return np.asarray((nodes - nodes.min(axis=0)) / np.where(extent > 0.0, extent, 1.0))
