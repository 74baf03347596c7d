"""Laminates and shells of variable thickness against closed forms.

Sources: Jones, Mechanics of Composite Materials, section 4.2 (A, B, D); Pagano, J. Compos. Mater. 4
(1970) 20 (plates in three dimensions); Reddy, Mechanics of Laminated Composite Plates and Shells,
section 5.3; Allen, Analysis and Design of Structural Sandwich Panels, chapter 2.
"""

import numpy as np
import pytest
from test_shells import along_edge, dofs, frequencies, grid, static

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.shell_sections import shear_corrections

X = (1.0, 0.0, 0.0)
PLY = pp.Orthotropic(E=(25e9, 1e9, 1e9), nu=(0.25, 0.25, 0.25), G=(0.5e9, 0.5e9, 0.2e9), rho=1600.0)
KINDS = ("quad4", "quad8", "tri3", "tri6")


def reduced(E1, E2, nu12, G12, angle):
    """Q̄ (3, 3) of a ply at an angle, by Jones' formulas."""
    nu21 = nu12 * E2 / E1
    Q11, Q22, Q12, Q66 = (
        E1 / (1 - nu12 * nu21),
        E2 / (1 - nu12 * nu21),
        nu12 * E2 / (1 - nu12 * nu21),
        G12,
    )
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    a, b = Q11 - Q12 - 2 * Q66, Q12 - Q22 + 2 * Q66
    Q = np.empty((3, 3))
    Q[0, 0] = Q11 * c**4 + 2 * (Q12 + 2 * Q66) * s**2 * c**2 + Q22 * s**4
    Q[1, 1] = Q11 * s**4 + 2 * (Q12 + 2 * Q66) * s**2 * c**2 + Q22 * c**4
    Q[0, 1] = Q[1, 0] = (Q11 + Q22 - 4 * Q66) * s**2 * c**2 + Q12 * (s**4 + c**4)
    Q[2, 2] = (Q11 + Q22 - 2 * Q12 - 2 * Q66) * s**2 * c**2 + Q66 * (s**4 + c**4)
    Q[0, 2] = Q[2, 0] = a * s * c**3 + b * s**3 * c
    Q[1, 2] = Q[2, 1] = a * s**3 * c + b * s * c**3
    return Q


def test_stiffnesses_are_those_of_the_plies():
    plies = [(1e-3, 0.0), (2e-3, 45.0), (0.5e-3, 90.0), (1e-3, -30.0)]
    found = pp.LaminateSection(plies, orientation=X).stiffnesses(PLY)
    edges = np.cumsum([0.0] + [t for t, _ in plies]) - 0.5 * sum(t for t, _ in plies)
    for power, matrix in enumerate(found, 1):
        expected = sum(
            reduced(25e9, 1e9, 0.25, 0.5e9, angle) * (high**power - low**power) / power
            for (_, angle), low, high in zip(plies, edges, edges[1:])
        )
        np.testing.assert_allclose(matrix, expected, atol=1e-9 * np.abs(expected).max())


def test_shear_corrections():
    """5/6 of one material, whatever the number of its plies; thin faces on a soft core: G d²/c over
    G c (Allen).
    """
    same = np.diag([1.0, 2.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(shear_corrections([(1.0, same)]), 5 / 6, rtol=1e-12)
    np.testing.assert_allclose(
        shear_corrections([(0.2, same), (0.5, same), (0.3, same)]), 5 / 6, rtol=1e-12
    )
    face, core, t, c = (
        np.diag([1e6, 1e6, 1e6, 4e5, 4e5]),
        np.diag([1.0, 1.0, 1.0, 0.4, 0.4]),
        0.01,
        1.0,
    )
    k = shear_corrections([(t, face), (c, core), (t, face)])
    area = 2 * t * 4e5 + c * 0.4
    np.testing.assert_allclose(k * area, 0.4 * (c + t) ** 2 / c, rtol=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("slenderness", "exact", "within"), [(100, 0.4347, 0.015), (10, 0.7530, 0.03), (4, 2.006, 0.12)]
)
def test_a_cross_ply_plate_bends_as_pagano_found(kind, slenderness, exact, within):
    """Simply supported square [0/90/0] under q sin sin: 100 E₂ w h³/(q a⁴) = 0.4347, 0.753, 2.006
    for a/h = 100, 10, 4.
    """
    n, h = 16, 1.0 / slenderness
    mesh, rows = grid(n, n, lambda a, b: (a, b, 0.0), kind)
    laminate = pp.LaminateSection([(h / 3, 0.0), (h / 3, 90.0), (h / 3, 0.0)], orientation=X)
    fe = pp.assemble(mesh, PLY, sections=laminate)
    x, y = fe.points[:, :2].T
    pressure = np.zeros((len(fe.points), 3, 1))
    pressure[:, 2, 0] = np.sin(np.pi * x) * np.sin(np.pi * y) / (PLY.rho * h)
    load = fe.momentum(pressure)[:, 0]
    edges = [np.concatenate([rows[0], rows[-1]]), np.concatenate([rows[:, 0], rows[:, -1]])]
    fixed = np.concatenate(
        [
            dofs(fe, edges[0], [2, 3, 4]),
            dofs(fe, edges[1], [1, 3, 5]),
            dofs(fe, np.arange(len(mesh.nodes)), [6]),
        ]
    )
    w = static(fe, load, fixed)[dofs(fe, rows[n // 2, n // 2], [3])][0]
    assert 100 * 1e9 * w * h**3 == pytest.approx(exact, rel=within)


@pytest.mark.parametrize("kind", ["quad4", "quad8"])
def test_an_unsymmetric_strip_curls_when_it_is_stretched(kind):
    """[0/90] under N: curvature κ = b N, b from the inverse of A, B, D, so that the end of the free
    strip is at κ L²/2.
    """
    mesh, rows = grid(8, 2, lambda a, b: (a, 0.1 * (b - 0.5), 0.0), kind)
    laminate = pp.LaminateSection([(1e-3, 0.0), (1e-3, 90.0)], orientation=X)
    fe = pp.assemble(mesh, PLY, sections=laminate)
    A, B, D = laminate.stiffnesses(PLY)
    compliance = np.linalg.inv(np.block([[A, B], [B, D]]))
    middle = rows[:, 1]
    load = along_edge(fe, rows[-1], 1, 0.1)  # N = 1
    if kind == "quad8":
        load = np.zeros(fe.freedoms.size)
        load[dofs(fe, rows[-1], [1])] = 0.1 * np.array([1, 4, 1]) / 6
    fixed = np.concatenate([dofs(fe, rows[0], [1, 3, 5]), dofs(fe, middle[:1], [2, 4, 6])])
    u = static(fe, load, fixed)
    curvature = u[dofs(fe, middle[-1:], [5])][0]
    assert curvature == pytest.approx(compliance[3, 0], rel=0.02)
    assert u[dofs(fe, middle[-1:], [1])][0] == pytest.approx(compliance[0, 0], rel=0.01)


def test_plies_turn_with_the_curved_surface():
    """A cylinder with hoop plies: its stiffness under pressure is that of the fibres whatever the
    direction of the elements.
    """
    n, R, L, h = 24, 0.5, 0.2, 2e-3
    mesh, _ = grid(
        n, 2, lambda a, b: (R * np.cos(2 * np.pi * a), R * np.sin(2 * np.pi * a), L * b), "quad4"
    )
    fe = pp.assemble(mesh, PLY, sections=pp.LaminateSection([(h, 90.0)], orientation=(0, 0, 1)))
    radial = np.zeros(fe.freedoms.size)
    x, y, _ = mesh.nodes.T
    six = fe.freedoms.six(np.arange(len(x)))
    radial[six[:, 0]], radial[six[:, 1]] = x / R, y / R  # unit radial displacement, hoop strain 1/R
    energy = 0.5 * radial @ fe.K @ radial
    Q22 = 25e9 / (1 - 0.25**2 / 25)
    assert energy == pytest.approx(0.5 * Q22 * h * 2 * np.pi * R * L / R**2, rel=0.02)


def test_a_wedge_of_shells_is_the_wedge_of_solids():
    """Cantilever whose thickness falls from 20 mm to 10 mm: mass, and frequencies of the same wedge
    of solids without Poisson's effect."""
    flexible = pp.Isotropic(E=2.1e11, nu=0.0, rho=7850.0)
    n, L, b = 16, 0.4, 0.05
    mesh, rows = grid(n, 2, lambda a, c: (L * a, b * c, 0.0), "quad4")
    heights = [
        (int(number), 0.02 - 0.01 * x / L) for number, x in zip(mesh.node_ids, mesh.nodes[:, 0])
    ]
    fe = pp.assemble(mesh, flexible, sections=pp.ShellSection(1.0, at_nodes=heights))
    assert fe.mass == pytest.approx(7850 * L * b * 0.015, rel=1e-9)
    solid = pp.box_mesh((L, b, 1.0), (n, 2, 2), "hex20").moved(
        lambda x: np.column_stack([x[:, :2], (x[:, 2] - 0.5) * (0.02 - 0.01 * x[:, 0] / L)])
    )
    exact = pp.assemble(solid, flexible)
    one = frequencies(fe, dofs(fe, rows[0], [1, 2, 3, 4, 5, 6]), 3)
    two = frequencies(exact, (3 * solid.node_sets["x0"][:, None] + np.arange(3)).ravel(), 3)
    np.testing.assert_allclose(one, two, rtol=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: pp.LaminateSection([(0.0, 45.0)], orientation=X),
            "section: plies: .* give rows of thickness in m and angle",
        ),
        (
            lambda: pp.LaminateSection([(1e-3, 0.0)], orientation=(0, 0, 0)),
            "section: orientation: has zero length",
        ),
        (
            lambda: pp.LaminateSection([(1e-3, 0.0)], orientation=X, materials=(PLY, PLY)),
            "section: materials: 2 given for 1 plies",
        ),
        (
            lambda: pp.ShellSection(1e-3, at_nodes=[(1, -1e-3)]),
            "section: at_nodes: give rows of a node number",
        ),
        (
            lambda: (
                pp.assemble(
                    grid(1, 1, lambda a, b: (a, b, 0.0))[0],
                    PLY,
                    sections=pp.LaminateSection([(1e-3, 0.0)], orientation=(0, 0, 1)),
                ).K
            ),
            "section: orientation is normal to element 1; give a direction along its surface",
        ),
    ],
)
def test_bad_laminates_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
