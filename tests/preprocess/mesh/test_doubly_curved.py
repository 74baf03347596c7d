"""Triangles on doubly curved surfaces are found on meshes of any triangles; those of flat and
developable ones are not."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

import preprocess as pp
from preprocess.fe.assembly import CURVED
from preprocess.mesh.checks import doubly_curved
from tests.draws import drawn

SINGLY = {
    "flat": lambda a, b: (a, b, 0.3 * a - 0.2 * b),
    "cylinder": lambda a, b: (np.cos(6 * a), np.sin(6 * a), 3 * b),
    "cone": lambda a, b: ((1 + b) * np.cos(2 * a), (1 + b) * np.sin(2 * a), b),
    "wave": lambda a, b: (a, b, 0.1 * np.sin(6 * a)),
}
DOUBLY = {
    "sphere": lambda a, b: (np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)),
    "saddle": lambda a, b: (a, b, 0.3 * a * b),
    "twisted strip": lambda a, b: (3 * a, b * np.cos(1.5 * a), b * np.sin(1.5 * a)),
    "bowl": lambda a, b: (a, b, 0.05 * (a * a + b * b)),
}


def sheet(place, n, random, shift):
    """Delaunay triangles of a grid, its inner nodes moved by up to about a third of its width;
    positions with six digits."""
    a, b = (x.ravel() for x in np.meshgrid(*2 * [np.linspace(0, 1, n)]))
    inner = (a > 0) & (a < 1) & (b > 0) & (b < 1)
    a, b = (x + shift / n * inner * random.standard_normal(len(x)).clip(-1.3, 1.3) for x in (a, b))
    plane = np.column_stack([a, b])
    table = Delaunay(plane + 1e-7 * plane[:, ::-1]).simplices
    sides = plane[table[:, 1:]] - plane[table[:, :1]]
    turned = np.linalg.det(sides) < 0
    table[turned] = table[turned][:, ::-1]
    return np.round(np.column_stack(place(a, b)), 6), table


@pytest.mark.parametrize("seed", drawn(2, 20))
@pytest.mark.parametrize("name", [*SINGLY, *DOUBLY])
def test_doubly_curved_surfaces_are_told_from_others(name, seed):
    random = np.random.default_rng(seed)
    nodes, table = sheet(
        (SINGLY | DOUBLY)[name], int(random.integers(12, 30)), random, (0.0, 0.25)[seed % 2]
    )
    share = len(doubly_curved(nodes, table, np.full(len(table), 1e-4))) / len(table)
    assert share == 0.0 if name in SINGLY else share > 0.9


@pytest.mark.parametrize("seed", drawn(2, 20))
@pytest.mark.parametrize("name", ["flat", "bowl", "saddle"])
def test_the_rise_of_elements_counts_beside_the_thickness(name, seed):
    """κ s²/8 of elements with sides s: found where it is 4 % of the thickness; where it is 1 %,
    only at few triangles that are larger. Flat sheets with positions rounded to 0.1 % of the
    thickness are not found, at any place."""
    random = np.random.default_rng(seed)
    n = int(random.integers(12, 30))
    nodes, table = sheet((SINGLY | DOUBLY)[name], n, random, (0.0, 0.25)[seed % 2])
    curvature = {"flat": 0.5, "bowl": 0.1, "saddle": 0.3}[name]
    thick = np.full(len(table), curvature / (n - 1) ** 2 / 8)
    if name == "flat":
        step = 1e-3 * thick[0]
        nodes = step * np.round((nodes + random.uniform(0, 100, 3)) / step)
        assert not len(doubly_curved(nodes, table, thick))
        return
    assert len(doubly_curved(nodes, table, thick / 0.04)) > 0.9 * len(table)
    few = CURVED * len(table) if seed % 2 else 0
    assert len(doubly_curved(nodes, table, thick / 0.01)) <= few


def test_a_box_of_flat_plates_is_not_doubly_curved():
    """Three plates at a corner: folds, not curvature."""
    n = 6
    a, b = (x.ravel() for x in np.meshgrid(*2 * [np.linspace(0, 1, n)], indexing="ij"))
    rows = np.arange(n * n).reshape(n, n)
    quads = np.stack([rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1).reshape(
        -1, 4
    )
    one = np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    zero = np.zeros_like(a)
    places = np.vstack(
        [np.column_stack(each) for each in ((a, b, zero), (zero, a, b), (b, zero, a))]
    )
    nodes, same = np.unique(places, axis=0, return_inverse=True)
    table = same.ravel()[np.vstack([one + k * n * n for k in range(3)])]
    assert not len(doubly_curved(nodes, table, np.full(len(table), 1e-4)))


def test_only_triangles_on_doubly_curved_surfaces_are_warned_of(recwarn):
    for name, thickness in (("flat", 0.01), ("sphere", 0.01), ("sphere", 0.1)):
        nodes, table = sheet((SINGLY | DOUBLY)[name], 12, np.random.default_rng(0), 0.25)
        recwarn.clear()
        pp.assemble(
            pp.Mesh.from_arrays(nodes, {"tri3": table}),
            pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
            sections=pp.ShellSection(thickness),
        )
        found = [str(each.message) for each in recwarn if "doubly curved" in str(each.message)]
        assert len(found) == (name == "sphere" and thickness == 0.01)
