"""Modes of the body under a reference condition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from preprocess.body.reference import MeanAxes, Reference
from preprocess.fe.fe_model import FEModel
from preprocess.reduction.accuracy import LOADS
from preprocess.reduction.free_reduction import supported_pairs
from preprocess.reduction.independent_shapes import ElasticShapes
from preprocess.reduction.interface_statics import InterfaceStatics

# share of the mass of a shape that no rigid-body motion has: with 1e-8 the data of a body are
# refused
LIGHT = 2e-8
# fraction of the compliance under an interface load that dropped shapes may have: a tenth of a per
# cent is below the accuracy of a usual mesh
LOST = 1e-3
# relative motion of an interface or of the body that counts as none, between round-off and the
# smallest motion of interest
STILL = 1e-9
# of a whole part, of a divided one
REMEDIES = ('give reference = "mean axes"', "give another interface as reference")
# relative round-off of the sum of the terms of φᵀKφ, some machine precisions (2e-16)
ROUND_OFF = 1e-15


class BodyModes(NamedTuple):
    """Modes under a reference condition.

    Shapes ``Φ V − R c`` from elastic shapes Φ by V (n, nf) and rigid-body modes by c (6, nf), omega
    (nf,) [rad/s], the body frame's origin (3,) and axes (3, 3) in mesh axes; ``kind``: name of the
    modes.
    """

    V: FloatArray
    c: FloatArray
    omega: FloatArray
    origin: FloatArray
    axes: FloatArray
    kind: str

    def shapes(self, statics: InterfaceStatics, elastic: FloatArray) -> FloatArray:
        """Mode shapes Φ V − R c (3N, nf), in mesh axes."""
        return np.asarray(elastic @ self.V - statics.rigid_modes @ self.c)


class ReferenceShapes(NamedTuple):
    """Reference condition and the M-orthonormal elastic shapes for which it is well posed."""

    rule: Reference
    elastic: ElasticShapes


def reference_shapes(
    rule: Reference, statics: InterfaceStatics, elastic: ElasticShapes, *, piece: int
) -> ReferenceShapes:
    """Reference condition and the elastic shapes for which the mass matrix is regular.

    If a combination of shapes moves the body frame with hardly any mass, the ``piece`` of a divided
    part beyond the first gets mean axes; otherwise the last shapes, those of the highest normal
    modes, are dropped: the most important shapes come first. Seen from the body frame such
    combinations are rigid-body motions: the mass matrix of the body in its modes, 1 + cᵀc with c of
    `body_modes`, is singular to round-off. Raises InputError if interface loads deform the body in
    the dropped shapes.
    """
    _, _, C = rule.frame(statics)
    inner = statics.fe.engine.inner
    c = np.asarray(
        np.linalg.solve(inner(C.T, statics.rigid_modes), inner(C.T, elastic.shapes)), dtype=float
    )
    if not _moves_frame_only(c):
        return ReferenceShapes(rule, elastic)
    if piece > 1:
        return ReferenceShapes(MeanAxes(), elastic)
    count = next(n for n in range(c.shape[1] - 1, -1, -1) if not _moves_frame_only(c[:, :n]))
    _require_compliance(statics, elastic.shapes, c, count, REMEDIES[piece > 0])
    dropped = f"{c.shape[1] - count} last ones, that move the body frame with hardly any mass"
    return ReferenceShapes(
        rule, ElasticShapes(elastic.shapes[:, :count], (*elastic.dropped, dropped))
    )


def _moves_frame_only(c: FloatArray) -> bool:
    """True if a combination of shapes moves the body frame, by c (6, n), with hardly any mass."""
    return bool(LIGHT * (1.0 + np.linalg.norm(c, 2) ** 2) > 1.0) if c.size else False


def _require_compliance(
    statics: InterfaceStatics, shapes: FloatArray, c: FloatArray, count: int, remedy: str
) -> None:
    """Raise InputError if the first ``count`` elastic shapes are stiffer under the loads than all.

    The compliance of the body held at its frame is B K⁻¹ Bᵀ, with B the motion of the interfaces
    seen from the frame and, for inertia, c.
    """
    elastic, follow = (
        statics.interface_motion(shapes),
        statics.interface_motion(statics.rigid_modes) @ c,
    )
    moves = np.linalg.norm(elastic - follow, axis=1) > STILL * (
        np.linalg.norm(elastic, axis=1) + np.linalg.norm(follow, axis=1)
    )
    inertia = c[np.linalg.norm(c, axis=1) > STILL * np.linalg.norm(c)]
    B = np.vstack([(elastic - follow)[moves], inertia])
    names = [f"{interface.name} {load}" for interface in statics.interfaces for load in LOADS]
    names = [
        *(name for name, there in zip(names, moves) if there),
        *["its own inertia"] * len(inertia),
    ]
    K = statics.fe.engine.inner(shapes, statics.fe.stiffness_product(shapes))
    full, own = (
        np.einsum("ij,ji->i", B[:, :n], np.linalg.solve(K[:n, :n], B[:, :n].T))
        for n in (len(K), count)
    )
    lost = 1.0 - own / full
    worst = int(lost.argmax())
    if lost[worst] > LOST:
        raise InputError(
            "reference: the body frame moves relative to the body with hardly any mass, as at "
            "one node of shells or behind soft"
            f" springs; without this motion {lost[worst]:.2g} of the compliance under "
            f"{names[worst]} is missing; {remedy}, "
            "use fewer modes, or connect the interface to more nodes, for example by a spider"
        )


def body_modes(reference: Reference, statics: InterfaceStatics, shapes: FloatArray) -> BodyModes:
    """Mass-normalised modes, ascending, in the span of elastic, M-orthonormal shapes Φ (3N, n).

    With c = (C R)⁻¹ C Φ the mass matrix is ``1 + cᵀc`` and the stiffness that of Φ; the largest
    component of V is positive. Raises InputError, also for a mode without stiffness beyond
    round-off (nodes that move freely).
    """
    origin, axes, C = reference.frame(statics)
    inner = statics.fe.engine.inner
    c = np.asarray(
        np.linalg.solve(inner(C.T, statics.rigid_modes), inner(C.T, shapes)), dtype=float
    )
    K = inner(shapes, statics.fe.stiffness_product(shapes))
    omega2, V = supported_pairs(0.5 * (K + K.T), c)
    _check_stiff(statics.fe, shapes @ V, omega2)
    V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    return BodyModes(V, c @ V, np.sqrt(np.maximum(omega2, 0.0)), origin, axes, reference.modes)


def _check_stiff(fe: FEModel, modes: FloatArray, omega2: FloatArray) -> None:
    """Raise InputError for a mode (n, k) with ``ω² = φᵀKφ`` below the round-off of its terms."""
    size = fe.engine.extent(fe.K.data[:, None]).max() * fe.engine.squares(modes, modes)
    free = np.flatnonzero(omega2 < ROUND_OFF * size)
    if free.size:
        moving = np.linalg.norm(fe.displacements(modes[:, free[:1]])[:, :, 0], axis=1)
        raise InputError(
            f"stiffness: singular: a motion of node {fe.node_ids[moving.argmax()]} has no "
            "stiffness beyond round-off; fix or"
            " connect it"
        )
