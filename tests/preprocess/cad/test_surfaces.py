"""Surfaces through points: random planes, cylinders, cones, spheres in any place and size."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from preprocess.cad.surfaces import fitted_surface


def patch(kind, rng):
    """Points (n, 3), triangles, and kind, radius, axis and half opening of a random patch."""
    arc = rng.uniform(0.3, 2 * np.pi)
    m, p = rng.integers(5, 30), rng.integers(3, 9)
    u, v = (each.ravel() for each in np.meshgrid(np.linspace(0, arc, m), np.linspace(0, 1, p)))
    i = np.arange(m * p).reshape(p, m)
    corners = [i[:-1, :-1], i[:-1, 1:], i[1:, 1:], i[1:, :-1]]
    triangles = np.concatenate(
        [np.stack([corners[k] for k in each], -1).reshape(-1, 3) for each in ((0, 1, 2), (0, 2, 3))]
    )
    r, length, angle = rng.uniform(0.2, 3), rng.uniform(0.1, 3), rng.uniform(0.05, 1.3)
    circle = np.column_stack([np.cos(u), np.sin(u)])
    z = 0.2 + length * v
    w = 1.4 * (v - 0.5)
    x = {
        "plane": np.column_stack([u, v * length, 0 * u]),
        "cylinder": np.column_stack([r * circle, length * v]),
        "cone": np.column_stack([z[:, None] * np.tan(angle) * circle, z]),
        "sphere": r * np.column_stack([np.cos(w)[:, None] * circle, np.sin(w)]),
    }[kind]
    turn = Rotation.random(random_state=rng).as_matrix()
    scale, shift = 10 ** rng.uniform(-3, 1), rng.normal(size=3) * rng.choice([0.01, 1, 100])
    return scale * x @ turn.T + shift, triangles, scale * r, turn[:, 2], angle


@pytest.mark.parametrize("kind", ["plane", "cylinder", "cone", "sphere"])
def test_random_patches_are_recognized(kind):
    rng = np.random.default_rng(7)
    for _ in range(40):
        x, triangles, radius, axis, angle = patch(kind, rng)
        found = fitted_surface(x, triangles)
        assert found.kind == kind
        assert found.distances(x).max() < 1e-5 * np.ptp(x, axis=0).max()
        if kind in ("cylinder", "sphere"):
            assert found.radius == pytest.approx(radius, rel=1e-4)
        if kind == "cone":
            assert found.angle == pytest.approx(angle, abs=1e-4)
        if kind != "sphere":
            assert abs(found.axis @ axis) == pytest.approx(1.0, abs=1e-6)


def test_other_surfaces_are_none_of_them():
    u, v = (each.ravel() for each in np.meshgrid(np.linspace(0, 2, 9), np.linspace(0, 2, 9)))
    x = np.column_stack([u, v, 0.1 * u * v])  # a saddle
    i = np.arange(81).reshape(9, 9)
    triangles = np.stack([i[:-1, :-1], i[:-1, 1:], i[1:, 1:]], -1).reshape(-1, 3)
    assert fitted_surface(x, triangles).kind == "other"
    assert fitted_surface(np.zeros((9, 3)), triangles[:1] * 0).kind == "other"
