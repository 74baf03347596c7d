"""Spiders and equations: forces and motions against closed forms, tied parts against the merged
mesh.
"""

from dataclasses import replace

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.free_body import mass_matrix
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.interface_statics import InterfaceStatics

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
# held ends do not stiffen it, as in beam theory
SLENDER = pp.Isotropic(E=2.1e11, nu=0.0, rho=7850.0)
BAR = pp.box_mesh((0.4, 0.02, 0.03), (8, 1, 1))
ROOT = {"root": pp.Rigid("x0")}
BOLTS = np.array([[0.4, y, z] for y in (0.0, 0.02) for z in (0.0, 0.03)])


def bolted(weights=(1.0, 2.0, 3.0, 4.0)):
    """The bar with a spider on four corner nodes of its end, centre 0.1 m in front; rows of these
    nodes.
    """
    rows = np.array(
        [int(np.flatnonzero((np.abs(BAR.nodes - bolt) < 1e-12).all(axis=1))[0]) for bolt in BOLTS]
    )
    order = np.argsort(rows)
    mesh = pp.Mesh.from_arrays(
        BAR.nodes,
        {"hex20": BAR.blocks["hex20"].connectivity},
        node_sets={"bolts": rows, **BAR.node_sets},
    )
    spider = pp.AveragingSpider(
        "bolts", position=(0.5, 0.01, 0.01), weights=tuple(np.array(weights)[order])
    )
    return pp.assemble(mesh, STEEL, connections={"flange": spider}), rows


def centre_dofs(fe):
    return fe.freedoms.six(fe.node_sets["flange"])[0]


def test_averaging_spider_distributes_forces_as_a_bolt_group():
    """F_i = w_i (F/Σw + θ × s_i) with s_i from the weighted centroid of the bolts, J_w θ = M_c, J_w
    = Σ w (s·s 1 − s sᵀ).
    """
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    fe, rows = bolted(weights)
    centroid = weights @ BOLTS / weights.sum()
    s = BOLTS - centroid
    J = np.einsum("i,ij,ij->", weights, s, s) * np.eye(3) - np.einsum("i,ij,ik->jk", weights, s, s)
    force, moment = np.array([300.0, -200.0, 100.0]), np.array([4.0, -5.0, 6.0])
    about = moment + np.cross([0.5, 0.01, 0.01] - centroid, force)
    expected = weights[:, None] * (force / weights.sum() + np.cross(np.linalg.solve(J, about), s))
    load = np.zeros(fe.freedoms.size)
    load[centre_dofs(fe)] = [*force, *moment]
    found = fe.constraints.loads(load)
    np.testing.assert_allclose(
        fe.displacements(found)[rows, :, 0], expected, atol=1e-10 * np.abs(expected).max()
    )
    others = np.delete(np.arange(len(fe.nodes)), rows)
    assert np.abs(fe.displacements(found)[others]).max() == 0.0


def test_a_centre_of_which_only_translations_follow_keeps_its_own_rotations():
    """A beam on the centre: pinned at the mean motion of the bolts, its rotation is its own;
    without a beam there is none.
    """
    spider = pp.AveragingSpider("x1", reference="pin", follows="123")
    nodes = np.vstack([BAR.nodes, [[0.4, 0.01, 0.015], [0.6, 0.01, 0.015]]])
    n = len(BAR.nodes)
    solid = {"hex20": BAR.blocks["hex20"].connectivity}
    sets = {**BAR.node_sets, "pin": [n], "end": [n + 1]}
    mesh = pp.Mesh.from_arrays(
        nodes, {**solid, "line2": [[n, n + 1]]}, node_sets=sets, separate=True
    )
    section = pp.CircularSection(0.01)
    pinned = pp.assemble(mesh, STEEL, sections=section, connections={"joint": spider})
    assert pinned.constraints.dependent.size == 3
    u = np.zeros((pinned.freedoms.size, 1))
    six = pinned.freedoms.six(np.array([n, n + 1]))
    arm = nodes[n + 1] - nodes[n]
    for axis in np.eye(3):  # the beam turns about the pin without a force
        u[six[:, 3:], 0] = axis
        u[six[1, :3], 0] = np.cross(axis, arm)
        turned = pinned.constraints.motion(u)
        assert np.abs(turned[six[:, 3:], 0] - axis).max() == 0.0
        assert (
            np.abs(pinned.constraints.loads(pinned.K @ turned)).max()
            < 1e-9 * np.abs(pinned.K.data).max()
        )
    alone = pp.Mesh.from_arrays(nodes[:-1], solid, node_sets={**BAR.node_sets, "pin": [n]})
    follower = pp.assemble(alone, STEEL, connections={"joint": spider})
    assert not len(follower.rotating)
    mean = follower.constraints.motion(
        np.random.default_rng(5).standard_normal((follower.freedoms.size, 1))
    )
    weights = np.zeros((len(BAR.nodes), 3))
    weights[BAR.node_sets["x1"]] = 1.0 / len(BAR.node_sets["x1"])
    np.testing.assert_allclose(
        mean[3 * n : 3 * n + 3, 0], (weights * mean[: 3 * n].reshape(-1, 3)).sum(axis=0), atol=1e-12
    )


@pytest.mark.parametrize("kind", [pp.RigidSpider, pp.AveragingSpider])
def test_rigid_motion_is_exact(kind):
    fe = pp.assemble(BAR, STEEL, connections={"flange": kind("x1", position=(0.5, 0.01, 0.01))})
    R = fe.rigid_motion(np.zeros(3))
    np.testing.assert_allclose(fe.constraints.motion(R), R, atol=1e-12)
    assert np.abs(fe.K @ R).max() < 1e-6 * np.abs(fe.K.data).max() * 1e-6
    np.testing.assert_allclose(
        R.T @ fe.M @ R,
        pp.assemble(BAR, STEEL).rigid_motion(np.zeros(3)).T
        @ fe.mass_product(R)[: 3 * len(BAR.nodes)],
    )


def test_nodes_of_a_rigid_spider_move_as_a_rigid_body():
    fe = pp.assemble(
        BAR, STEEL, connections={"flange": pp.RigidSpider("x1", position=(0.5, 0.01, 0.01))}
    )
    z = np.random.default_rng(3).standard_normal((fe.freedoms.size, 1))
    u = fe.constraints.motion(z)
    t, theta = u[centre_dofs(fe)][:3, 0], u[centre_dofs(fe)][3:, 0]
    arms = BAR.nodes[BAR.node_sets["x1"]] - [0.5, 0.01, 0.01]
    np.testing.assert_allclose(
        fe.displacements(u)[BAR.node_sets["x1"], :, 0], t + np.cross(theta, arms), atol=1e-12
    )


@pytest.mark.parametrize(
    ("kind", "there"),
    [(pp.RigidSpider, pp.Rigid), (pp.AveragingSpider, pp.Averaged)],
    ids=["rigid", "averaging"],
)
def test_an_interface_at_a_centre_is_that_of_the_nodes(kind, there):
    """The body is the same in every number whether the frame is coupled to the nodes by an
    interface or by a spider.
    """
    fe = pp.assemble(BAR, STEEL, connections={"flange": kind("x1", position=(0.5, 0.01, 0.01))})
    spun = pp.reduce(fe, interfaces={**ROOT, "tip": pp.Rigid("flange")}, reference="root")
    plain = pp.reduce(
        BAR,
        STEEL,
        interfaces={**ROOT, "tip": there("x1", position=(0.5, 0.01, 0.01))},
        reference="root",
    )
    np.testing.assert_allclose(spun.modes.frequency, plain.modes.frequency, rtol=1e-9)
    signs = np.sign(np.einsum("nak,nak->k", spun.surface.phi[: len(BAR.nodes)], plain.surface.phi))
    both = np.outer(signs, signs)
    for found, expected in (
        (spun.S_bar * signs, plain.S_bar),
        (spun.frames["tip"].phi * signs, plain.frames["tip"].phi),
        (spun.frames["tip"].psi * signs, plain.frames["tip"].psi),
        (mass_matrix(spun)[:6, :6], mass_matrix(plain)[:6, :6]),
        (spun.geometric.rotation * both, plain.geometric.rotation),
        (spun.geometric.frames["tip"] * both, plain.geometric.frames["tip"]),
        (spun.stress.modes * signs, plain.stress.modes),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def half(low, mesh_divisions=(4, 1, 1)):
    return pp.box_mesh((0.2, 0.02, 0.03), mesh_divisions, origin=(low, 0.0, 0.0))


def test_two_parts_tied_by_equations_are_the_merged_mesh():
    left, right = half(0.0), half(0.2)
    n = len(left.nodes)
    elements = np.vstack(
        [left.blocks["hex20"].connectivity, right.blocks["hex20"].connectivity + n]
    )
    sets = {"x0": left.node_sets["x0"], "x1": right.node_sets["x1"] + n}
    nodes = np.vstack([left.nodes, right.nodes])
    with pytest.warns(pp.PreprocessWarning, match="coincide"):
        parts = pp.Mesh.from_arrays(nodes, {"hex20": elements}, node_sets=sets, separate=True)
    pairs = zip(left.node_sets["x1"].tolist(), (right.node_sets["x0"] + n).tolist())
    ties = {
        f"tie {a} {c}": pp.Equation([(b, c, 2.0), (a, c, -2.0)])
        for a, b in pairs
        for c in (1, 2, 3)
    }
    tied = pp.reduce(pp.assemble(parts, STEEL, connections=ties), interfaces=ROOT, reference="root")
    merged = pp.reduce(BAR, STEEL, interfaces=ROOT, reference="root")
    np.testing.assert_allclose(tied.modes.frequency, merged.modes.frequency, rtol=1e-9)
    with pytest.raises(InputError, match="move freely"):
        pp.reduce(parts, STEEL, interfaces=ROOT, reference="root")


def test_two_parts_bolted_by_spiders_are_one_body_and_every_reduction_finds_its_modes():
    """Two rigid spiders with one centre between the halves: bending like two bars with a rigid
    plate between them.
    """
    left, right = half(0.0), half(0.25)
    n = len(left.nodes)
    elements = np.vstack(
        [left.blocks["hex20"].connectivity, right.blocks["hex20"].connectivity + n]
    )
    feet = np.concatenate([left.node_sets["x1"], right.node_sets["x0"] + n])
    sets = {"x0": left.node_sets["x0"], "x1": right.node_sets["x1"] + n, "feet": feet}
    parts = pp.Mesh.from_arrays(
        np.vstack([left.nodes, right.nodes]), {"hex20": elements}, node_sets=sets, separate=True
    )
    fe = pp.assemble(parts, SLENDER, connections={"bolt": pp.RigidSpider("feet")})
    ends = {**ROOT, "tip": pp.Averaged("x1")}
    found = [
        pp.reduce(fe, interfaces=ends, method=method, reference="root")
        for method in (
            pp.CraigBampton(modes=12),
            pp.Rubin(modes=12),
            pp.Krylov(frequencies=(0.0, 800.0), moments=3),
        )
    ]
    first = [np.sort(body.modes.frequency)[:4] for body in found]
    np.testing.assert_allclose(first[1], first[0], rtol=1e-3)
    np.testing.assert_allclose(first[2], first[0], rtol=1e-3)
    assert all(body.provenance["accuracy: frequencies"] < 0.02 for body in found)
    statics = InterfaceStatics(fe, bound(fe, ends))
    tip = statics.held_response(statics.interface_loads[:, 6:12], 0)
    compliance = statics.interface_loads[:, 6:12].T @ tip
    # bending along y: two elastic lengths with a rigid one between
    EI = 2.1e11 * 0.02**3 * 0.03 / 12

    def flexibility(a, b):  # ∫ (L − x)² dx / EI over [a, b]
        return ((0.45 - a) ** 3 - (0.45 - b) ** 3) / (3 * EI)

    GA = 5 / 6 * 2.1e11 / 2 * 0.02 * 0.03
    assert compliance[1, 1] == pytest.approx(
        flexibility(0.0, 0.2) + flexibility(0.25, 0.45) + 0.4 / GA, rel=2e-3
    )


def bound(fe, ends):
    return bind_interfaces(ends, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)


def test_a_body_on_a_centre_has_its_inertia():
    """Rigid body at an offset from the centre: the mass matrix
    of the free body is the sum of both.
    """
    inertia = np.array([[3.0e-3, 4e-4, -2e-4], [4e-4, 2.5e-3, 1e-4], [-2e-4, 1e-4, 2.0e-3]])
    fe = pp.assemble(
        BAR, STEEL, connections={"flange": pp.RigidSpider("x1", position=(0.5, 0.01, 0.01))}
    )
    loaded = pp.attach(
        fe, [pp.PointMass("flange", 0.7, inertia=inertia, position=(0.55, 0.02, 0.0))]
    )
    R = fe.rigid_motion(np.array([0.55, 0.02, 0.0]))
    expected = np.zeros((6, 6))
    expected[:3, :3], expected[3:, 3:] = 0.7 * np.eye(3), inertia
    found = R.T @ loaded.mass_product(R) - R.T @ fe.mass_product(R)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    body = pp.reduce(loaded, interfaces={**ROOT, "tip": pp.Rigid("flange")}, reference="root")
    assert body.mass == pytest.approx(fe.mass + 0.7, rel=1e-12)


def test_a_cantilever_with_a_body_on_a_spider_follows_the_closed_form():
    """Bar l with a body M at distance a: ω² = k/M of the tip, k⁻¹ = ∫ (l + a − x)² dx / EI + shear,
    for M ≫ ρ A l.
    """
    M, a, l = 400.0, 0.1, 0.4
    fe = pp.assemble(
        BAR, SLENDER, connections={"flange": pp.RigidSpider("x1", position=(l + a, 0.01, 0.015))}
    )
    loaded = pp.attach(fe, [pp.PointMass("flange", M)])
    body = pp.reduce(loaded, interfaces=ROOT, reference="root", method=pp.CraigBampton(modes=4))
    EI, GA = 2.1e11 * 0.02**3 * 0.03 / 12, 5 / 6 * 2.1e11 / 2 * 0.02 * 0.03
    compliance = ((l + a) ** 3 - a**3) / (3 * EI) + l / GA
    assert body.modes.frequency.min() == pytest.approx(
        np.sqrt(1 / (compliance * M)) / (2 * np.pi), rel=2e-3
    )


def test_a_bushing_is_a_spring_between_its_nodes():
    """Two rigid plates (bars between spiders) on a spring: ω² = k (1/m₁ + 1/m₂) along it, and rigid
    motions are free.
    """
    stiff = pp.Isotropic(E=2.1e13, nu=0.0, rho=7850.0)
    left, right = half(0.0), half(0.25)
    n = len(left.nodes)
    elements = np.vstack(
        [left.blocks["hex20"].connectivity, right.blocks["hex20"].connectivity + n]
    )
    sets = {"x0": left.node_sets["x0"], "a": left.node_sets["x1"], "b": right.node_sets["x0"] + n}
    parts = pp.Mesh.from_arrays(
        np.vstack([left.nodes, right.nodes]), {"hex20": elements}, node_sets=sets, separate=True
    )
    k, turn = 4e4, 4e3
    joints = {
        "left": pp.RigidSpider("a"),
        "right": pp.RigidSpider("b"),
        "rubber": pp.Bushing(
            "left",
            "right",
            translation=(k, 1e3 * k, 1e3 * k),
            rotation=(turn, 1e3 * turn, 1e3 * turn),
        ),
    }
    fe = pp.assemble(parts, stiff, connections=joints)
    body = pp.reduce(
        fe,
        interfaces={"left": pp.Averaged("x0")},
        reference="mean axes",
        method=pp.FreeModes(modes=2),
    )
    m, J = fe.mass / 2, fe.mass / 2 * (0.02**2 + 0.03**2) / 12
    expected = np.sqrt([2 * k / m, 2 * turn / J]) / (2 * np.pi)
    np.testing.assert_allclose(np.sort(body.modes.frequency), np.sort(expected), rtol=2e-3)


@pytest.mark.parametrize(
    ("connections", "message"),
    [
        (
            {"a": pp.RigidSpider("x1"), "b": pp.RigidSpider("x1")},
            "connections: a and b both move 24 degrees of freedom",
        ),
        ({"a": pp.RigidSpider("nowhere")}, "connections.a: the mesh has no set 'nowhere'"),
        ({"x1": pp.RigidSpider("x0")}, "connections.x1: the mesh has a set of that name"),
        (
            {"a": pp.Equation([(0, 1, 1.0), (1, 2, 1.0)])},
            "connections.a: it does not allow rigid motions",
        ),
        (
            {"a": pp.Equation([(0, 4, 1.0), (1, 4, -1.0)])},
            "connections.a: terms: node 0 has no rotation",
        ),
        (
            {"a": pp.Equation([(0, 1, 1.0), (99999, 1, -1.0)])},
            "connections.a: terms: the mesh has no node 99999",
        ),
        ({"a": pp.AveragingSpider("x1", weights=(1.0,))}, "connections.a: weights: 1 given for"),
        ({"a": pp.RigidSpider("x1", reference="x0")}, "connections.a: reference: 'x0' has 8 nodes"),
        ({"a": "x1"}, "connections.a: must be RigidSpider"),
        (
            {"a": pp.AveragingSpider(pp.Point((0.4, 0.0, 0.0)))},
            "connections.a: its 1 nodes do not define all motions",
        ),
    ],
)
def test_bad_connections_are_named(connections, message):
    with pytest.raises(InputError, match=message):
        pp.assemble(BAR, STEEL, connections=connections)


def test_connections_that_depend_on_each_other_are_refused():
    line = np.flatnonzero((BAR.nodes[:, 1:] == 0.0).all(axis=1)).tolist()
    a, b = line[:2]
    numbers, sets = (
        [int(BAR.node_ids[k]) for k in (a, b)],
        {**BAR.node_sets, "one": np.array([a]), "other": np.array([b])},
    )
    ring = {
        "a": pp.RigidSpider("one", reference=numbers[1]),
        "b": pp.RigidSpider("other", reference=numbers[0]),
    }
    with pytest.raises(InputError, match="a, b depend on themselves"):
        pp.assemble(replace(BAR, node_sets=sets), STEEL, connections=ring)
    first, second = (pp.Equation([(m, 1, 1.0), (n, 1, -1.0)]) for m, n in (numbers, numbers[::-1]))
    # the same equation
    assert (
        pp.assemble(BAR, STEEL, connections={"a": first, "b": second}).constraints.dependent.size
        == 1
    )


def test_a_rigid_interface_on_nodes_of_a_spider_is_refused():
    fe = pp.assemble(BAR, STEEL, connections={"flange": pp.RigidSpider("x1")})
    with pytest.raises(
        InputError, match=r"interfaces.tip: .* follow a connection; use the connection's centre"
    ):
        pp.reduce(fe, interfaces={**ROOT, "tip": pp.Rigid("x1")}, reference="root")


@pytest.mark.parametrize("components", ["123", "123456"])
def test_an_interface_on_a_node_that_follows_another_interface_is_refused(components):
    mesh = pp.Mesh.from_arrays(
        [(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)],
        {"line2": [(0, 1), (1, 2)]},
        node_sets={"root": [0], "tip": [2]},
    )
    section = pp.RectangularSection(0.01, 0.01, orientation=(0, 1, 0))
    spider = pp.RigidSpider("tip", reference="root", components=components)
    fe = pp.assemble(mesh, STEEL, sections=section, connections={"tie": spider})
    with pytest.raises(
        InputError,
        match=r"interfaces: the averaged interfaces, .* are not independent of each other",
    ):
        pp.reduce(
            fe, interfaces={"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}, reference="root"
        )


@pytest.mark.parametrize(
    "options", [{"components": "17"}, {"components": ""}, {"reference": 3, "position": (0, 0, 0)}]
)
def test_bad_spiders_are_refused(options):
    with pytest.raises(InputError, match="connection: "):
        pp.RigidSpider("x1", **options)


def two_blocks(**link):
    """Two stiff blocks joined by a soft bushing along x between their centres of mass; mass of
    each.
    """
    left, right = (
        pp.box_mesh((0.1, 0.1, 0.1), (1, 1, 1), origin=(x, 0.0, 0.0)) for x in (0.0, 0.3)
    )
    n = len(left.nodes)
    elements = np.vstack(
        [left.blocks["hex20"].connectivity, right.blocks["hex20"].connectivity + n]
    )
    sets, nodes = (
        {"left": np.arange(n), "right": n + np.arange(n)},
        np.vstack([left.nodes, right.nodes]),
    )
    mesh = pp.Mesh.from_arrays(nodes, {"hex20": elements}, node_sets=sets, separate=True)
    stiff = {"translation": (1e5, 1e9, 1e9), "rotation": (1e7, 1e7, 1e7), "at": 0.5}
    joints = {
        "a": pp.AveragingSpider("left"),
        "b": pp.AveragingSpider("right"),
        "link": pp.Bushing("a", "b", **stiff, **link),
    }
    return pp.assemble(mesh, STEEL, connections=joints), 7850.0 * 1e-3


def test_a_damper_between_two_masses_has_their_damping_ratio():
    """ω = √(k/μ), ζ = c/(2 √(k μ)) with μ = m/2, besides the ratio of all modes; the other modes
    are not damped by it.
    """
    c, k = 80.0, 1e5
    fe, m = two_blocks(translation_damping=(c, 0.0, 0.0))
    body = pp.reduce(
        fe,
        interfaces={"a": pp.Rigid("a")},
        method=pp.Rubin(modes=6),
        reference="mean axes",
        damping=0.01,
    )
    first = body.modes.frequency.argmin()
    assert body.modes.frequency[first] == pytest.approx(
        np.sqrt(k / (m / 2)) / (2 * np.pi), rel=1e-5
    )
    assert body.modes.damping[first] == pytest.approx(0.01 + c / (2 * np.sqrt(k * m / 2)), rel=1e-5)
    values = np.linalg.eigvals(
        np.block([[np.zeros_like(body.K_ff), np.eye(body.nf)], [-body.K_ff, -body.D_ff]])
    )
    slow = values[np.abs(values).argmin()]
    omega, zeta = 2 * np.pi * body.modes.frequency[first], body.modes.damping[first]
    assert abs(slow.imag) == pytest.approx(omega * np.sqrt(1 - zeta**2), rel=1e-5)
    assert slow.real == pytest.approx(-zeta * omega, rel=1e-4)


def test_dampers_dissipate_the_power_of_their_speed():
    """q̇ᵀ D_ff q̇ = c (e·(v_b − v_a))² for any modal velocities, with the velocities of the frames
    there.
    """
    mesh = pp.box_mesh((0.4, 0.02, 0.03), (8, 1, 1))
    a, b = (mesh.node_ids[mesh.node_sets[name][0]].item() for name in ("x0", "x1"))
    fe = pp.assemble(mesh, STEEL, connections={"damper": pp.Spring(a, b, 0.0, damping=70.0)})
    assert abs(fe.K - pp.assemble(mesh, STEEL).K).max() == 0.0
    body = pp.reduce(fe, interfaces=ROOT, reference="mean axes")
    rates = np.random.default_rng(4).standard_normal(body.nf)
    places = [int(np.flatnonzero(body.surface.node_ids == number)[0]) for number in (a, b)]
    apart = np.diff(body.surface.nodes[places], axis=0)[0]
    speed = apart / np.linalg.norm(apart) @ np.diff(body.surface.phi[places] @ rates, axis=0)[0]
    assert rates @ body.D_ff @ rates == pytest.approx(70.0 * speed**2, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_equations_that_share_degrees_of_freedom(seed):
    """Random equations between a few degrees of freedom, some of which follow from others: all of
    them hold, in any order.
    """
    random = np.random.default_rng(seed)
    mesh = pp.box_mesh((0.3, 0.1, 0.1), (3, 1, 1))
    dofs = [
        (int(mesh.node_ids[n]), int(c))
        for n, c in zip(random.choice(16, 5, replace=False), random.integers(1, 4, 5))
    ]
    A = random.uniform(-1, 1, (3, 5)) * (random.random((3, 5)) < 0.8)
    A = np.vstack([A, random.uniform(-1, 1, (1, 3)) @ A])[random.permutation(4)]
    rows = [[(*dof, float(a)) for dof, a in zip(dofs, row) if a] for row in A]
    fe = pp.assemble(
        mesh, STEEL, connections={f"{k}": pp.Equation(row) for k, row in enumerate(rows)}, held=True
    )
    assert fe.constraints.dependent.size == np.linalg.matrix_rank(A)
    u = fe.constraints.motion(random.uniform(-1, 1, (fe.freedoms.size, 2)))
    place = {number: k for k, number in enumerate(mesh.node_ids.tolist())}
    own = np.array([3 * place[number] + c - 1 for number, c in dofs])
    np.testing.assert_allclose(A @ u[own], 0.0, atol=1e-9)
    T = fe.constraints.T
    assert abs(T @ T - T).max() < 1e-9  # a projection


def test_an_equation_gives_way_to_a_spider():
    """The first term follows the spider: the equation is solved for another."""
    mesh = pp.box_mesh((0.3, 0.1, 0.1), (3, 1, 1))
    a, b = (int(mesh.node_ids[mesh.node_sets[name][0]]) for name in ("x1", "x0"))
    joints = {"end": pp.RigidSpider("x1"), "clip": pp.Equation([(a, 2, 1.0), (b, 2, -1.0)])}
    fe = pp.assemble(mesh, STEEL, connections=joints, held=True)
    u = fe.constraints.motion(np.random.default_rng(1).uniform(-1, 1, (fe.freedoms.size, 1)))
    rows = [int(np.flatnonzero(fe.node_ids == n)[0]) for n in (a, b)]
    assert u[3 * rows[0] + 1] == pytest.approx(u[3 * rows[1] + 1], abs=1e-12)
    with pytest.raises(
        InputError, match="clip: all its degrees of freedom follow other connections; remove it"
    ):
        pp.assemble(
            mesh,
            STEEL,
            connections={
                "both": pp.RigidSpider("x1"),
                "other": pp.RigidSpider("x0"),
                "clip": joints["clip"],
            },
            held=True,
        )
