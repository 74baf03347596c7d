"""Masses on nodes: exact for rigid motion, right for vibration."""

import functools

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from arpack_modes import eigenmodes

from flexmbs.errors import InputError
from preprocess.fe.assembly import assemble
from preprocess.fe.attach import attach
from preprocess.fe.material import Isotropic
from preprocess.fe.point_mass import PointMass
from preprocess.fe.shell_sections import ShellSection
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.node_regions import Plane, Point
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
    W = np.column_stack([np.ones(len(fe.points)), fe.points])
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
    assert np.linalg.eigvalsh((fe.M - beam().M).toarray()).min() > -1e-12
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
    """What the body changes, so that the clamped end of the solid drops out."""
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


def spinning_matrix(r):
    """Displacements of a point at r per rotation, θ × r."""
    x, y, z = r
    return np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])


def on_mean_motion(fe, rows, mass, inertia, centre, turned=()):
    """Added mass LᵀM L of a rigid body on the mean motion (t, θ) = (GᵀWG)⁻¹GᵀW u of its nodes."""
    p = fe.nodes[rows].mean(axis=0)
    arms = fe.nodes[rows] - p
    G = [np.hstack([np.eye(3), spinning_matrix(r)]) for r in arms]
    G += [np.eye(6)[3:] for _ in turned]
    weight = np.repeat(
        [1.0] * len(rows) + [np.linalg.norm(arms, axis=1).mean() ** 2] * len(turned), 3
    )
    G = np.vstack(G)
    L = np.zeros((6, fe.freedoms.size))
    blocks = [*rows, *fe.freedoms.rotation_blocks(np.array(turned, dtype=int))]
    columns = (3 * np.array(blocks)[:, None] + np.arange(3)).ravel()
    L[:, columns] = np.linalg.solve(G.T @ (weight[:, None] * G), G.T * weight)
    L[:3] += spinning_matrix(centre - p) @ L[3:]
    return L.T @ np.block([[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), inertia]]) @ L


def sheet():
    x, y = np.meshgrid(np.linspace(0, 0.4, 5), np.linspace(-0.03, 0.03, 4), indexing="ij")
    nodes = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    cells = [(4 * i + j, 4 * i + j + 4, 4 * i + j + 5, 4 * i + j + 1)
             for i in range(4) for j in range(3)]  # fmt: skip
    sets = {"x1": np.flatnonzero(nodes[:, 0] == 0.4)}
    mesh = Mesh.from_arrays(nodes, {"quad4": cells}, node_sets=sets)
    return assemble(mesh, STEEL, sections=ShellSection(0.004))


@pytest.mark.parametrize("model, turned", [(beam, False), (sheet, True)], ids=["face", "edge"])
def test_a_body_follows_the_mean_rigid_motion_of_its_nodes(model, turned):
    """The edge of a sheet defines the rotation about itself by the rotations of its nodes."""
    fe, centre = model(), np.array([1.05, 0.01, -0.02]) * [0.4, 1.0, 1.0]
    rows = fe.node_sets["x1"]
    found = attach(fe, [PointMass("x1", 0.7, inertia=INERTIA, position=centre)]).M - fe.M
    added = on_mean_motion(fe, rows, 0.7, INERTIA, centre, rows if turned else ())
    np.testing.assert_allclose(found.toarray(), added, rtol=0, atol=1e-9 * np.abs(added).max())


def test_a_body_on_a_face_lowers_frequencies_below_those_on_a_rigid_face():
    """Rayleigh's bound for every body that moves with the face, also with one that is wide."""
    bare = assemble(box_mesh((0.4, 0.03, 0.006), (10, 2, 1), "hex20"), STEEL)
    inertia, centre = (2e-3, 3e-3, 2e-3), (0.45, 0.015, 0.003)
    loaded = attach(bare, [PointMass("x1", 0.5, inertia=inertia, position=centre)])
    x0, x1 = (bare.node_sets[name] for name in ("x0", "x1"))
    R = bare.rigid_motion(np.array(centre))
    free = np.setdiff1d(np.arange(len(bare.nodes)), np.concatenate([x0, x1]))
    dof = (3 * free[:, None] + np.arange(3)).ravel()
    T = np.zeros((3 * len(bare.nodes), len(dof) + 6))
    T[dof, np.arange(len(dof))] = 1.0
    face = (3 * x1[:, None] + np.arange(3)).ravel()
    T[face, -6:] = R[face]
    M = T.T @ (bare.M @ T)
    M[-6:, -6:] += np.diag([0.5] * 3 + list(inertia))
    rigid = scipy.linalg.eigh(T.T @ (bare.K @ T), M, eigvals_only=True, subset_by_index=(0, 6))
    held = np.setdiff1d(np.arange(3 * len(bare.nodes)), (3 * x0[:, None] + np.arange(3)).ravel())
    found = eigenmodes(loaded.K[held][:, held], loaded.M[held][:, held], 7).frequencies
    ratio = found / (np.sqrt(rigid) / (2 * np.pi))
    assert ((ratio > 0.98) & (ratio < 1.0)).all()


def test_a_body_with_extent_on_a_line_of_solid_nodes_is_carried_by_adjacent_elements():
    edge = Plane((1.0, 0.0, 0.01), (1.0, 0.0, 1.0))
    rows = np.flatnonzero((beam().nodes[:, 0] == 1.0) & (beam().nodes[:, 2] == 0.01))
    assert set(edge.rows(beam().nodes, {})) == set(rows)
    fe = attach(beam(), [PointMass(edge, 0.7, inertia=INERTIA)])
    added = moments_of_body(0.7, beam().nodes[rows].mean(axis=0), INERTIA)
    np.testing.assert_allclose(moments(fe) - moments(beam()), added, atol=1e-11 * added.max())
    assert len(fe.bodies[0].nodes) > len(rows)


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
