"""Frequencies, shapes and interface compliance of two structures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray, IntArray
from preprocess.comparison.structure import FREE, Structure

# distance of nodes of the same number relative to the size of the part; positions with seven digits
# agree to it
SAME_PLACE = 1e-6
LIKE = 0.5  # smallest MAC of corresponding modes: more than half of the squared norm is in common
HEAD = f"{'mode':>4} {'Hz':>12} {'Hz':>12} {'error':>10} {'MAC':>8}"
# relative distance of frequencies treated as equal: their modes may be rotated by the differences
# between two bodies
CLUSTER = 1e-3


class Pair(NamedTuple):
    """Matching modes of two structures.

    Frequencies [Hz], relative difference of the first from the second, MAC 0 … 1. ``first`` and
    ``error`` are None if the first structure has no corresponding mode.
    """

    first: float | None
    second: float
    error: float | None
    mac: float

    def __str__(self) -> str:
        if self.first is None or self.error is None:
            return f"{'none':>12} {self.second:12.6g} {'':>10} {self.mac:8.5f}"
        return f"{self.first:12.6g} {self.second:12.6g} {self.error:10.2e} {self.mac:8.5f}"


class Compliance(NamedTuple):
    """Static compliance (6, 6) of an interface.

    Order x y z and rotations, in the axes of the first structure, and the largest difference
    ``|ΔC_ij| / (C_ii C_jj)^½``.
    """

    held: str
    moving: str
    first: FloatArray
    second: FloatArray
    error: float


class Comparison(NamedTuple):
    """Comparison of two structures.

    ``modes`` by support ("free", or the name of the held interface).
    """

    first: str
    second: str
    modes: dict[str, list[Pair]]
    compliances: list[Compliance]

    def __str__(self) -> str:
        lines = [f"{self.first} against {self.second}"]
        for held, pairs in self.modes.items():
            lines += ["", held if held == FREE else f"held at {held}", HEAD]
            lines += [f"{k:4d} {pair}" for k, pair in enumerate(pairs, 1)]
        lines += [""] if self.compliances else []
        lines += [
            f"compliance of {c.moving}, {c.held} held: differs by {c.error:.2e}"
            for c in self.compliances
        ]
        return "\n".join(lines)


def compare(first: Structure, second: Structure, *, modes: int = 20) -> Comparison:
    """Comparison of modes, free and held, and of the compliances of the interfaces.

    The structures are held at the first common interface; the compliance is that of the others.

    MAC = |aᵀb|² / (aᵀa bᵀb) over the common nodes; modes of nearly equal frequency are treated as
    one subspace. Raises InputError unless both structures come from the same mesh, checked by
    numbers and positions of the nodes. Source: Allemang, Sound and Vibration 37 (2003) 14.
    """
    rows, rotation = _aligned(first, second)
    common = [name for name in first.frames if name in second.frames]
    found = {
        held: _pairs(first, second, held, modes, rows, rotation) for held in (FREE, *common[:1])
    }
    compliances = [_compliance(first, second, common[0], name, rotation) for name in common[1:]]
    return Comparison(first.label, second.label, found, compliances)


def _aligned(first: Structure, second: Structure) -> tuple[tuple[IntArray, IntArray], FloatArray]:
    """Rows of the common nodes, and the rotation from the second structure to the first."""
    _, a, b = np.intersect1d(first.node_ids, second.node_ids, return_indices=True)
    if len(a) < 3:
        raise InputError(
            f"{first.label} and {second.label} share {len(a)} node numbers; compare "
            "bodies of the same mesh"
        )
    x, y = (
        first.nodes[a] - first.nodes[a].mean(axis=0),
        second.nodes[b] - second.nodes[b].mean(axis=0),
    )
    u, _, vt = np.linalg.svd(x.T @ y)
    rotation = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    gap, size = float(np.abs(x - y @ rotation.T).max()), float(np.linalg.norm(np.ptp(x, axis=0)))
    if gap > SAME_PLACE * size:
        raise InputError(
            f"{first.label} and {second.label}: nodes of the same number are up to "
            f"{gap:.3g} m apart; compare bodies of one mesh"
        )
    return (a, b), rotation


def _pairs(
    first: Structure,
    second: Structure,
    held: str,
    count: int,
    rows: tuple[IntArray, IntArray],
    rotation: FloatArray,
) -> list[Pair]:
    """Lowest modes of the second structure, each with the best matching mode of the first."""
    one, two = first.modes(held, 2 * count), second.modes(held, count)
    a = one.shapes[rows[0]].reshape(3 * len(rows[0]), -1)
    b = np.einsum("ij,njk->nik", rotation, two.shapes[rows[1]]).reshape(3 * len(rows[1]), -1)
    a, b = a / np.linalg.norm(a, axis=0), b / np.linalg.norm(b, axis=0)
    distance = np.abs(one.frequency[:, None] / two.frequency - 1.0)
    order = linear_sum_assignment((distance - (a.T @ b) ** 2).T)
    pairs = []
    for j, i in zip(*order):
        cluster = np.abs(two.frequency / two.frequency[j] - 1.0) < CLUSTER
        mac, f, g = _share(a[:, i], b[:, cluster]), float(one.frequency[i]), float(two.frequency[j])
        pairs.append(Pair(f, g, f / g - 1.0, mac) if mac >= LIKE else Pair(None, g, None, mac))
    return pairs


def _share(a: FloatArray, B: FloatArray) -> float:
    """Squared norm of the projection of the unit vector a onto the span of B."""
    Q = np.linalg.qr(B)[0]
    return float(np.sum((Q.T @ a) ** 2))


def _compliance(
    first: Structure, second: Structure, held: str, moving: str, rotation: FloatArray
) -> Compliance:
    """Interface compliances of two structures and their largest relative difference."""
    both = np.kron(np.eye(2), rotation)
    one, two = first.compliance(held, moving), both @ second.compliance(held, moving) @ both.T
    scale = np.sqrt(np.outer(np.diag(two), np.diag(two)))
    return Compliance(held, moving, one, two, float((np.abs(one - two) / scale).max()))
