"""Ties and springs: against the merged mesh, exact rigid motions and patches, messages."""

import numpy as np
import pytest
import scipy.sparse.linalg as sla

import preprocess as pp
from flexmbs.errors import InputError

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)


def two_boxes(left=(4, 1, 2), right=(5, 2, 3), kind="hex20", gap=0.0, other=None):
    """Boxes of 0.2 × 0.02 × 0.03, one behind the other, that share no nodes; sets "end" and "start"
    where they meet.
    """
    a, b = (
        pp.box_mesh((0.2, 0.02, 0.03), left, kind),
        pp.box_mesh((0.2, 0.02, 0.03), right, other or kind),
    )
    n, tables = len(a.nodes), {kind: [a.blocks[kind].connectivity]}
    tables.setdefault(other or kind, []).append(n + b.blocks[other or kind].connectivity)
    sets = {
        "root": a.node_sets["x0"],
        "end": a.node_sets["x1"],
        "start": n + b.node_sets["x0"],
        "tip": n + b.node_sets["x1"],
    }
    nodes = np.vstack([a.nodes, b.nodes + [0.2 + gap, 0.0, 0.0]])
    return pp.Mesh.from_arrays(
        nodes, {k: np.vstack(v) for k, v in tables.items()}, node_sets=sets, separate=True
    )


def clamped(fe, count=6):
    """Frequencies [Hz] with the root held."""
    K, M = fe.constraints.matrix(fe.K), fe.constraints.matrix(fe.M)
    free = np.setdiff1d(np.arange(fe.freedoms.size), fe.constraints.dependent)
    free = np.setdiff1d(free, (3 * fe.node_sets["root"][:, None] + np.arange(3)).ravel())
    K, M = (A[free][:, free].tocsc() for A in (K, M))
    return np.sqrt(
        np.sort(sla.eigsh(K, count, M, sigma=0.0, v0=np.ones(len(free)), return_eigenvectors=False))
    ) / (2 * np.pi)


@pytest.mark.parametrize("kind", ["hex8", "hex20", "tet10", "wedge15"])
def test_a_tie_of_matching_meshes_is_the_merged_mesh(kind):
    tied = pp.assemble(
        two_boxes((4, 2, 2), (4, 2, 2), kind), STEEL, connections={"weld": pp.Tie("start", "end")}
    )
    whole = pp.box_mesh((0.4, 0.02, 0.03), (8, 2, 2), kind)
    whole = pp.Mesh.from_arrays(
        whole.nodes,
        {kind: whole.blocks[kind].connectivity},
        node_sets={"root": whole.node_sets["x0"]},
    )
    np.testing.assert_allclose(clamped(tied), clamped(pp.assemble(whole, STEEL)), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "other"), [("hex20", None), ("hex20", "tet10"), ("tet10", "hex20")]
)
def test_a_tie_of_meshes_that_do_not_match(kind, other):
    """Frequencies of the merged bar within 2 %; the nodes follow any linear field, so that the
    patch test is passed there.
    """
    mesh = two_boxes(left=(8, 2, 2), right=(10, 3, 3), kind=kind, other=other)
    fe = pp.assemble(mesh, STEEL, connections={"weld": pp.Tie("start", "end")})
    whole = pp.box_mesh((0.4, 0.02, 0.03), (16, 2, 3), "hex20")
    whole = pp.Mesh.from_arrays(
        whole.nodes,
        {"hex20": whole.blocks["hex20"].connectivity},
        node_sets={"root": whole.node_sets["x0"]},
    )
    exact = clamped(pp.assemble(whole, STEEL))
    np.testing.assert_allclose(clamped(fe), exact, rtol=0.02)
    gradient = np.array([[1.0, 0.2, 0.3], [-0.4, 2.0, 0.6], [0.7, -0.8, 3.0]])
    linear = (mesh.nodes @ gradient.T).ravel()[:, None]
    np.testing.assert_allclose(fe.constraints.motion(linear), linear, atol=1e-12)


def test_rigid_motions_are_exact_across_a_gap():
    mesh = two_boxes(gap=1e-3)
    fe = pp.assemble(mesh, STEEL, connections={"weld": pp.Tie("start", "end")})
    R = fe.rigid_motion(np.array([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(fe.constraints.motion(R), R, atol=1e-12)
    body = pp.reduce(
        fe, interfaces={"root": pp.Rigid("root")}, reference="root", method=pp.CraigBampton(modes=3)
    )
    assert body.mass == pytest.approx(2 * 7850 * 0.2 * 0.02 * 0.03, rel=1e-9)


def test_a_tie_to_shells():
    """Nodes of solids on a plate of quad8 and tri6 follow it."""
    solid = pp.box_mesh((0.1, 0.1, 0.02), (2, 2, 1), "hex8")
    x = np.array(
        [(0.15 * i - 0.02, 0.15 * j - 0.02, 0.0) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    )
    middles = 0.5 * (x + np.roll(x, -1, axis=0))
    n = len(solid.nodes)
    mesh = pp.Mesh.from_arrays(
        np.vstack([solid.nodes, x, middles]),
        {"hex8": solid.blocks["hex8"].connectivity, "quad8": [n + np.arange(8)]},
        node_sets={"foot": solid.node_sets["z0"], "plate": n + np.arange(8)},
    )
    fe = pp.assemble(
        mesh, STEEL, sections=pp.ShellSection(0.002), connections={"weld": pp.Tie("foot", "plate")}
    )
    u = np.zeros((fe.freedoms.size, 1))
    bent = fe.displacements(u)
    bent[n:, 2, 0] = fe.nodes[n:, 0] ** 2 + 0.5 * fe.nodes[n:, 1]
    moved = fe.displacements(fe.constraints.motion(u))[:n, 2, 0]
    rows = mesh.node_sets["foot"]
    np.testing.assert_allclose(
        moved[rows], fe.nodes[rows, 0] ** 2 + 0.5 * fe.nodes[rows, 1], atol=1e-12
    )


def test_nodes_beyond_the_tolerance_are_reported():
    mesh = two_boxes(gap=1e-3)
    with pytest.raises(
        InputError,
        match=r"connections.weld: none of its \d+ nodes is within 0.0001 m of the faces; set "
        r"tolerance",
    ):
        pp.assemble(mesh, STEEL, connections={"weld": pp.Tie("start", "end", tolerance=1e-4)})
    both = np.concatenate([mesh.node_sets["start"], mesh.node_sets["tip"]])
    sets, table = {**mesh.node_sets, "both": both}, {"hex20": mesh.blocks["hex20"].connectivity}
    more = pp.Mesh.from_arrays(mesh.nodes, table, separate=True, node_sets=sets)
    with pytest.warns(
        pp.PreprocessWarning,
        match=r"connections.weld: 29 of \d+ nodes are farther than 0.002 m and not tied",
    ):
        pp.assemble(more, STEEL, connections={"weld": pp.Tie("both", "end", tolerance=2e-3)})


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (
            lambda: pp.Tie("start", "tip", tolerance=-1.0),
            "connection: tolerance = -1.0; give a positive distance",
        ),
        (
            lambda: pp.Tie("start", pp.Point((0.2, 0.0, 0.0))),
            "to: no outer face of a solid, and no shell, has all its nodes there",
        ),
        (
            lambda: pp.Spring(1, 2, -5.0),
            "stiffness = -5.0; give a number in N/m that is not negative",
        ),
        (lambda: pp.Spring(1, 1, 5.0), "its nodes coincide"),
        (
            lambda: pp.Spring(0, 1, 5.0, direction=(0.3, 0.1, 1.0)),
            "direction: is not along the line between its nodes",
        ),
    ],
)
def test_bad_connections_are_named(connection, message):
    with pytest.raises(InputError, match=message):
        pp.assemble(two_boxes(), STEEL, connections={"weld": connection()})


def test_a_spring_is_a_truss():
    """A rod between two boxes: K of a spring EA/L equals that of a truss without mass; its force is
    that of the elongation.
    """
    nodes, bars = (
        [(0, 0, 0), (0.3, 0.4, 0), (0, 0.4, 0), (0, 0, 0.2)],
        [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    )
    mesh, area = pp.Mesh.from_arrays(nodes, {"truss2": bars}), 1e-4
    plain = pp.assemble(mesh, STEEL, sections=pp.TrussSection(area))
    stiff = pp.assemble(
        mesh,
        STEEL,
        sections=pp.TrussSection(area),
        connections={"rod": pp.Spring(0, 1, STEEL.E * area / 0.5)},
    )
    more = np.zeros((12, 12))
    along = np.array([0.6, 0.8, 0.0])
    more[:6, :6] = STEEL.E * area / 0.5 * np.kron([[1, -1], [-1, 1]], np.outer(along, along))
    np.testing.assert_allclose((stiff.K - plain.K).toarray(), more, atol=1e-6)
