"""Neighbouring shells with opposite normals: a warning exactly where the matrices depend on it."""

import warnings

import numpy as np
import pytest

import preprocess as pp
from tests.draws import drawn
from tests.preprocess.fe.test_shells import KINDS, grid

STEEL = pp.Isotropic(E=2e11, nu=0.3, rho=7850.0)
PLY = pp.Orthotropic(E=(1.35e11, 1e10, 1e10), nu=(0.3, 0.3, 0.4), G=(5e9, 5e9, 3.5e9), rho=1600.0)
REVERSED = {  # orders of nodes
    "tri3": [0, 2, 1],
    "quad4": [0, 3, 2, 1],
    "tri6": [0, 2, 1, 5, 4, 3],
    "quad8": [0, 3, 2, 1, 7, 6, 5, 4],
}
H = 1e-3


def laminate(*angles, **options):
    return pp.LaminateSection(
        [(H, angle) for angle in angles],
        orientation=(1, 0.2, 0.1),
        materials=(PLY,) * len(angles),
        **options,
    )


SECTIONS = {  # and whether the normal has no effect
    "plate": (pp.ShellSection(H), True),
    "offset": (pp.ShellSection(H, offset=0.5 * H), False),
    "small offset": (pp.ShellSection(H, offset=-0.02 * H), False),
    "symmetric": (laminate(0, 90, 90, 0), True),
    "cross": (laminate(0, 90), False),
    "antisymmetric": (laminate(45, -45), True),
    "unbalanced": (laminate(30, 30), False),
    "turned": (laminate(0, 90, 0, turn=20.0), False),
    "turned by 90": (laminate(0, 45, -45, 0, turn=90.0), True),
    "two metals": (
        pp.LaminateSection([(H, 0), (H, 0)], materials=(STEEL, PLY), orientation=(1, 0, 0)),
        False,
    ),
    "laminate with offset": (laminate(0, 90, 0, offset=H), False),
}


def assembled(nodes, kind, table, sections, sets=None):
    """The model, and its warnings of opposite normals."""
    mesh = pp.Mesh.from_arrays(nodes, {kind: table}, element_sets=sets)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fe = pp.assemble(mesh, STEEL, sections=sections)
    return fe, [str(each.message) for each in found if "opposite normals" in str(each.message)]


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("seed", drawn(1, 8))
def test_a_warning_where_the_order_of_nodes_has_an_effect(name, seed):
    """Curved sheets of all shells with some elements reversed: K and the masses change with a
    warning, or neither."""
    random = np.random.default_rng([seed, len(name)])
    kind = KINDS[int(random.integers(len(KINDS)))]
    bend = random.uniform(0, 0.5)
    mesh, _ = grid(4, 4, lambda a, b: (a, b, bend * np.sin(2 * a)), kind)
    table = mesh.blocks[kind].connectivity
    turned = table.copy()
    some = random.permutation(len(table))[: len(table) // 2]
    turned[some] = table[some][:, REVERSED[kind]]
    section, same = SECTIONS[name]
    plain, none = assembled(mesh.nodes, kind, table, section)
    other, found = assembled(mesh.nodes, kind, turned, section)
    assert not none
    assert bool(found) != same
    pairs = (plain.K, other.K), (plain.M, other.M)
    apart = max(abs(one - two).max() / abs(one).max() for one, two in pairs)
    assert apart < 1e-9 if same else apart > 1e-6


def test_the_elements_are_named_and_the_remedy_is_right():
    """Elements 2 and 4 of a strip reversed; with the opposite offset their matrices are those of
    the whole, without a warning."""
    mesh, _ = grid(5, 1, lambda a, b: (a, 0.2 * b, 0.0))
    table = mesh.blocks["quad4"].connectivity.copy()
    plain, _ = assembled(mesh.nodes, "quad4", table, pp.ShellSection(H, offset=0.4 * H))
    table[[1, 3]] = table[[1, 3]][:, REVERSED["quad4"]]
    _, found = assembled(mesh.nodes, "quad4", table, pp.ShellSection(H, offset=0.4 * H))
    assert len(found) == 1
    assert "4 pair(s)" in found[0]
    assert "elements 1 and 2, 2 and 3, 3 and 4, 4 and 5" in found[0]
    assert "reverse the node order" in found[0]
    signs = {"up": pp.ShellSection(H, offset=0.4 * H), "down": pp.ShellSection(H, offset=-0.4 * H)}
    fe, none = assembled(mesh.nodes, "quad4", table, signs, {"up": [1, 3, 5], "down": [2, 4]})
    assert not none
    np.testing.assert_allclose(fe.K.toarray(), plain.K.toarray(), atol=1e-9 * abs(plain.K).max())


@pytest.mark.parametrize("opposite", [False, True])
def test_different_sections_on_opposite_sides(opposite):
    """Two thicknesses flush with the nodes: on one side of them, or on both sides."""
    mesh, _ = grid(2, 1, lambda a, b: (a, b, 0.0))
    table = mesh.blocks["quad4"].connectivity.copy()
    table[1] = table[1][REVERSED["quad4"]]
    second = laminate(0, 90, offset=(1 if opposite else -1) * 2 * H)
    _, found = assembled(
        mesh.nodes,
        "quad4",
        table,
        {"a": pp.ShellSection(H, offset=H), "b": second},
        {"a": [1], "b": [2]},
    )
    assert bool(found) == opposite


def test_corners_and_stiffeners():
    """At a corner of two plates the side is that of the nodes' order; a rib on a plate has one of
    its own."""
    x = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0), (2, 1, 0)]
    plate, rib, more = (0, 1, 2, 3), (1, 4, 5, 2), (1, 6, 7, 2)
    section = pp.ShellSection(H, offset=H)
    for table, count in (
        ([plate, rib], 0),
        ([plate, rib[::-1]], 1),
        ([plate, more, rib], 0),
        ([plate, more, rib[::-1]], 0),
        ([plate, more[::-1], rib], 1),
    ):
        used, rows = np.unique(table, return_inverse=True)
        _, found = assembled(np.array(x, dtype=float)[used], "quad4", rows.reshape(-1, 4), section)
        assert len(found) == count
