"""Random contact problems with more contacts than degrees of freedom: boxes on planes, in wedges,
stacked; random rows.
"""

from typing import NamedTuple

import numpy as np

CORNERS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], float)
UP = np.array([0.0, 0.0, 1.0])
KINDS = ("plane", "wedge of two planes", "wedge of three planes", "stack", "random rows")


class Problem(NamedTuple):
    """U = W v of velocities v (before: v0, without impulses: v), c of the law of impact, expansion
    of Poisson's.
    """

    D: np.ndarray
    c: np.ndarray
    expansion: np.ndarray
    mu: np.ndarray
    W: np.ndarray
    inverse: np.ndarray
    v: np.ndarray
    v0: np.ndarray


def skew(r: np.ndarray) -> np.ndarray:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def turned(rng: np.random.Generator, pose: int) -> np.ndarray:
    """Upright, slightly tilted (1e-9 … 0.1), or arbitrary."""
    if pose == 0:
        return np.eye(3)
    turn = rng.normal(size=3) * (10.0 ** rng.uniform(-9, -1) if pose == 1 else 3.0)
    angle = np.linalg.norm(turn)
    K = skew(turn / angle)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def axes(normal: np.ndarray) -> np.ndarray:
    """Normal and two tangents."""
    tangent = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    tangent /= np.linalg.norm(tangent)
    return np.stack([normal, tangent, np.cross(normal, tangent)])


def rows(boxes: int, at: int, r: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Velocity rows of the point r of a box."""
    W = np.zeros((3, 6 * boxes))
    W[:, 6 * at : 6 * at + 6] = axes(normal) @ np.hstack([np.eye(3), -skew(r)])
    return W


def normals(rng: np.random.Generator, planes: int) -> list[np.ndarray]:
    if planes == 1:
        return [UP]
    if rng.random() < 0.5:
        found = [rng.normal(size=3) for _ in range(planes)]
    else:
        angles = np.pi * rng.uniform(0, 1, planes)
        found = [
            np.array([np.cos(a), np.sin(a), 0.3 * rng.normal() * (planes == 3)]) for a in angles
        ]
    return [n / np.linalg.norm(n) for n in found]


def problem(seed: int) -> Problem:
    """The kinds in turn."""
    rng, kind = np.random.default_rng(seed), seed % 5
    if kind == 4:
        n, m = rng.integers(3, 9), rng.integers(2, 9)
        A = rng.normal(size=(n, n))
        W = rng.normal(size=(3 * m, n))
        W[::3] += 2.0 * rng.normal(size=n)
        v = rng.normal(size=n)
        return with_laws(rng, W, np.linalg.inv(A @ A.T + 0.1 * n * np.eye(n)), v, v)
    boxes = 1 if kind < 3 else int(rng.integers(2, 4))
    half = [10.0 ** rng.uniform(-0.7, 0.3, 3) for _ in range(boxes)]
    pose = int(rng.integers(3 if kind < 3 else 2))
    turns = [turned(rng, pose) for _ in range(boxes)]
    inverse = np.zeros((6 * boxes, 6 * boxes))
    for b, (h, R) in enumerate(zip(half, turns)):
        mass = 10.0 ** rng.uniform(-1, 1)
        o = slice(6 * b + 3, 6 * b + 6)
        inverse[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.eye(3) / mass
        inverse[o, o] = R @ np.diag(3.0 / mass / ((h @ h) - h * h)) @ R.T
    W: list[np.ndarray] = []
    sides: list[np.ndarray] = []
    if kind < 3:
        sides = normals(rng, kind + 1)
        for normal in sides:
            heights = (CORNERS * half[0]) @ turns[0].T @ normal
            count = rng.choice([1, 2, 3, 4, 8] if kind == 0 else [1, 2, 4])
            W += [
                rows(1, 0, turns[0] @ (CORNERS[k] * half[0]), normal)
                for k in np.argsort(heights)[:count]
            ]
    else:
        W += [rows(boxes, 0, turns[0] @ (CORNERS[k] * half[0]), UP) for k in range(4)]
        for b in range(1, boxes):
            normal = turns[b - 1] @ UP
            off = np.append(0.2 * rng.normal(size=2) * half[b][:2], half[b - 1][2])
            for k in range(4):
                below = turns[b - 1] @ (off + CORNERS[k] * half[b] * [1, 1, 0])
                W.append(
                    rows(boxes, b, turns[b] @ (CORNERS[k] * half[b]), normal)
                    - rows(boxes, b - 1, below, normal)
                )
    v0 = rng.normal(size=6 * boxes) * 10.0 ** rng.uniform(-3, 1) * (rng.random() > 0.3)
    v = v0.copy()
    v[2::6] -= 9.81 * 10.0 ** rng.uniform(-4, -2)
    if kind in (1, 2):
        v[:3] -= sum(sides) * rng.uniform()
        v0[:3] -= sum(sides) * rng.uniform() * rng.integers(2)
    return with_laws(rng, np.concatenate(W), inverse, v, v0)


def with_laws(
    rng: np.random.Generator, W: np.ndarray, inverse: np.ndarray, v: np.ndarray, v0: np.ndarray
) -> Problem:
    """Friction 0 … 1, restitution 0 … 1 by Newton's or
    Poisson's law, of all contacts or of each.
    """
    m = len(W) // 3
    mu = np.full(m, rng.uniform()) if rng.random() < 0.7 else rng.uniform(0, 1, m)
    if rng.random() < 0.1:
        mu[:] = rng.integers(2)
    e = (
        np.full(m, rng.choice([0.0, 1.0, rng.uniform()]))
        if rng.random() < 0.7
        else rng.uniform(0, 1, m)
    )
    D, c = W @ inverse @ W.T, W @ v
    smooth = np.repeat(mu == 0.0, 3) & (np.arange(3 * m) % 3 > 0)
    D[smooth], D[:, smooth] = 0.0, 0.0
    poisson = rng.random() < 0.5
    if not poisson:
        c[::3] += e * np.minimum((W @ v0)[::3], 0.0)
    return Problem(D, c, e if poisson else 0.0 * e, mu, W, inverse, v, v0)
