"""Masses on nodes: exact for rigid motion, right for vibration."""

import functools

import numpy as np
import pytest
import scipy.optimize
from arpack_modes import eigenmodes

from flexmbs.errors import InputError
from preprocess.fe.assembly import assemble
from preprocess.fe.attach import attach
from preprocess.fe.material import Isotropic
from preprocess.fe.point_mass import PointMass
from preprocess.mesh.node_regions import Point
from preprocess.mesh.structured import box_mesh

STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
INERTIA = np.array([[3.0e-3, 4e-4, -2e-4], [4e-4, 2.5e-3, 1e-4], [-2e-4, 1e-4, 2.0e-3]])


@functools.cache
def beam():
    return assemble(
        box_mesh((1.0, 0.02, 0.02), (20, 1, 1), "hex20", origin=(0.0, -0.01, -0.01)), STEEL
    )


def moments(fe):
    """Wᵀ m W with W = [1 | x]: mass, first and second moment about the origin."""
    W = np.column_stack([np.ones(len(fe.nodes)), fe.nodes])
    return W.T @ (fe.m @ W)


def moments_of_body(mass, centre, inertia):
    W = np.array([1.0, *centre])
    result = mass * np.outer(W, W)
    result[1:, 1:] += np.trace(inertia) / 2 * np.eye(3) - inertia
    return result


@pytest.mark.parametrize(
    "where, position",
    [
        ("x1", (1.05, 0.01, -0.02)),
        (Point((1.0, 0.0, 0.0), 0.08), None),
        (Point((1.0, 0.01, 0.01)), (1.0, 0.01, 0.01)),
    ],
    ids=["flat face", "solid region", "one node"],
)
def test_mass_and_inertia_of_rigid_motion_are_exact(where, position):
    fe = attach(beam(), [PointMass(where, 0.7, inertia=INERTIA, position=position)])
    centre = position or beam().nodes[where.rows(beam().nodes, {})].mean(axis=0)
    added = moments_of_body(0.7, centre, INERTIA)
    np.testing.assert_allclose(moments(fe) - moments(beam()), added, atol=1e-11 * added.max())
    assert np.linalg.eigvalsh((fe.m - beam().m).toarray()).min() > -1e-12
    assert [mass.mass for mass in fe.point_masses] == [0.7]


def test_a_point_on_one_node_changes_that_node_only():
    fe = attach(beam(), [PointMass(Point((1.0, 0.01, 0.01)), 0.5)])
    difference = (fe.m - beam().m).tocoo()
    difference.eliminate_zeros()
    node = int(np.flatnonzero((beam().nodes == [1.0, 0.01, 0.01]).all(axis=1))[0])
    assert (difference.row.tolist(), difference.col.tolist()) == ([node], [node])
    assert difference.data[0] == pytest.approx(0.5)


def closed_form(mass, inertia):
    """(k L)² of the first two modes of a clamped beam with a body at its tip, mass and inertia over
    ρAL and ρAL³.

    The determinant of the tip's two conditions on cosh - cos and sinh - sin: EI w'' = ω² J w', EI
    w''' = -ω² M w. Source: Blevins, Formulas for Natural Frequency and Mode Shape, 1979, section
    8.4.
    """

    def determinant(k):
        c, s, ch, sh = np.cos(k), np.sin(k), np.cosh(k), np.sinh(k)
        value, slope = np.array([ch - c, sh - s]), k * np.array([sh + s, ch - c])
        moment, shear = k**2 * np.array([ch + c, sh + s]), k**3 * np.array([sh - s, ch + c])
        return np.linalg.det([moment - k**4 * inertia * slope, shear + k**4 * mass * value])

    grid = np.linspace(0.3, 5.0, 400)
    signs = np.sign([determinant(k) for k in grid])
    return (
        np.array(
            [
                scipy.optimize.brentq(determinant, *grid[n : n + 2])
                for n in np.flatnonzero(signs[1:] != signs[:-1])[:2]
            ]
        )
        ** 2
    )


def test_a_cantilever_with_a_tip_body_vibrates_as_its_closed_form():
    """What the body changes, so that the clamped end of the solid drops out; slopes are means over
    the last elements: O(h).
    """
    M, J = 2.0, 0.05
    bare = assemble(box_mesh((1.0, 0.02, 0.02), (40, 1, 1), "hex20"), STEEL)
    loaded = attach(bare, [PointMass("x1", M, inertia=(J, J, J))])
    dof = np.setdiff1d(
        np.arange(3 * len(bare.nodes)), (3 * bare.node_sets["x0"][:, None] + np.arange(3)).ravel()
    )
    found = [
        eigenmodes(fe.K[dof][:, dof], fe.M[dof][:, dof], 5).frequencies for fe in (bare, loaded)
    ]
    beam = 7850.0 * 0.02**2
    expected = closed_form(M / beam, J / beam) / closed_form(0.0, 0.0)
    assert found[1][0] / found[0][0] == pytest.approx(expected[0], rel=2e-3)
    assert np.abs(found[1] / found[0][2] / expected[1] - 1).min() < 6e-3


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mass": 0.0}, "is not positive and finite"),
        (
            {"mass": 1.0, "inertia": (1.0, 1.0, 2.1)},
            "principal moments 1, 1, 2.1 kg m² are impossible",
        ),
        ({"mass": 1.0, "inertia": np.eye(2)}, "is not finite with shape"),
        ({"mass": 1.0, "position": (1.0, np.nan, 0.0)}, "is not a point"),
    ],
)
def test_unphysical_masses_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        PointMass("x1", **options)


def test_unknown_region_is_named():
    with pytest.raises(InputError, match="point mass: the mesh has no set 'tip'"):
        attach(beam(), [PointMass("tip", 1.0)])
