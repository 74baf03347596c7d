"""Inertia of bodies against direct sums over their nodes; frames that move with the shapes."""

import dataclasses

import numpy as np
import pytest
from samples import GRAVITY, cloud, flexible, rigid, some_frame, some_joint
from samples import state as model_state
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.equations import kinematics, residual
from flexmbs.dynamics.frames import frame_pose, frame_rates, world_pose
from flexmbs.dynamics.inertia import body_energy
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import consistent_state
from flexmbs.motions import Rotate, Slide
from flexmbs.system.records import Evaluation


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def node_jacobians(u, phi):
    """[1 | −ũ | φ] of all nodes, (N, 3, 6 + nf)."""
    return np.array([np.hstack([np.eye(3), -skew(x), p]) for x, p in zip(u, phi)])


def free_body(seed, nf):
    """A flexible body in free motion and the cloud of masses it stands for."""
    rng = np.random.default_rng(seed)
    model = fm.Model("free", gravity=GRAVITY)
    nodes = cloud(rng, nf)
    data = nodes.data(rng)
    given = (
        {"qf0": tuple(0.1 * rng.normal(size=nf)), "qf_dot0": tuple(rng.normal(size=nf))}
        if nf
        else {}
    )
    body = model.add(fm.FlexibleBody("cloud", data=data, **given))
    model.add(some_joint("free", "float", model.ground, body, rng))
    return model, nodes, data


@pytest.mark.parametrize("nf", [0, 1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_mass_and_quadratic_velocity_forces_are_the_nodal_sums(seed, nf):
    model, nodes, data = free_body(seed, nf)
    compiled, start = consistent_state(model)
    found = terms(compiled.system, make_work(compiled.system, start.beta), 0.0, start.q, start.s)
    q, qd = start.q[7:], start.s[6:]
    v, w = start.s[:3], start.s[3:6]
    A = Rotation.from_quat(start.q[3:7], scalar_first=True).as_matrix()
    u, ud = nodes.x + nodes.phi @ q, nodes.phi @ qd
    J = node_jacobians(u, nodes.phi)
    M = np.einsum("n,nai,naj->ij", nodes.mass, J, J)
    bias = np.cross(w, v) + np.cross(w, np.cross(w, u)) + 2.0 * np.cross(w, ud) - A.T @ GRAVITY
    k = -np.einsum("n,nai,na->i", nodes.mass, J, bias)
    k[6:] -= data.K_ff @ q + data.D_ff @ qd
    assert np.abs(found.M - M).max() < 2e-15 * np.abs(M).max()
    assert np.abs(found.k - k).max() < 5e-15 * np.abs(k).max()
    assert np.linalg.eigvalsh(found.M)[0] > 0.0


def tree_model(seed, stiffened=False):
    """Flexible and rigid bodies and a point mass on a branched tree of joints."""
    rng = np.random.default_rng(seed)
    model = fm.Model("tree", gravity=GRAVITY, frames={"post": some_frame(rng)})
    own = {"stiffened": stiffened}
    parts = (
        flexible("trunk", rng, 2, **own),
        flexible("left", rng, 3, **own),
        rigid("right", rng),
        flexible("leaf", rng, 1),
    )
    bodies = [model.add(part) for part in parts]
    model.add(some_joint("cylindrical", "root", model.ground["post"], bodies[0]["a"], rng))
    model.add(some_joint("universal", "fork", bodies[0]["b"], bodies[1]["b"], rng))
    # declared towards the root
    model.add(some_joint("screw", "twig", bodies[2]["a"], bodies[0]["b"], rng))
    model.add(some_joint("spherical", "stalk", bodies[1]["a"], bodies[3]["a"], rng))
    bead = model.add(fm.PointMass("bead", mass=0.7))
    model.add(some_joint("prismatic", "groove", bodies[2]["c"], bead, rng))
    return model


def nodes_of(model, name):
    """Point masses that have exactly the inertia of a body: (mass, x, phi)."""
    body = model.bodies[name]
    if isinstance(body, fm.PointMass):
        return np.array([body.mass]), np.zeros((1, 3)), np.zeros((1, 3, 0))
    inertia = np.array(body.inertia)
    second, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    reach = np.sqrt(3.0 * second / body.mass)[:, None] * axes.T
    x = np.vstack([reach, -reach]) + body.com
    return np.full(6, body.mass / 6), x, np.zeros((6, 3, 0))


def random_clouds(seed):
    """The clouds of `tree_model`, from the same random numbers."""
    rng = np.random.default_rng(seed)
    some_frame(rng)
    found = {}
    for name, nf in (("trunk", 2), ("left", 3), ("right", 0), ("leaf", 1)):
        if name == "right":
            rigid(name, rng)
            continue
        c = cloud(rng, nf)
        c.data(rng)
        rng.normal(size=2 * nf)
        found[name] = (c.mass, c.x, c.phi)
    return found


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("seed", range(3))
def test_mass_matrix_of_a_tree_is_the_sum_over_all_nodes(seed, coordinates):
    """Columns of the nodal velocities from the kinematics of unit velocities; M = Σ m JᵀJ over
    every node of the model.
    """
    model = tree_model(seed)
    clouds = random_clouds(seed)
    now = model_state(model, coordinates)
    system, work, ns = now.system, now.work, len(now.s)
    M = np.zeros((ns, ns))
    columns = {name: [] for name in now.compiled.bodies}
    for e in np.eye(ns):
        kinematics(system, work, 0.0, now.q, e, np.zeros(ns))
        for i, name in enumerate(now.compiled.bodies):
            nf, at, to = system.tree.nf[i], system.tree.qf_at[i], system.tree.sf_at[i]
            mass, x, phi = clouds.get(name) or nodes_of(model, name)
            J = node_jacobians(x + phi @ now.q[at : at + nf], phi)
            columns[name].append(J @ np.concatenate([work.motion.twist[i], e[to : to + nf]]))
    for name in columns:
        mass = (clouds.get(name) or nodes_of(model, name))[0]
        J = np.array(columns[name])
        M += np.einsum("n,ina,jna->ij", mass, J, J)
    found = terms(system, work, 0.0, now.q, now.s)
    assert np.abs(found.M - M).max() < 1e-13 * np.abs(M).max()
    assert np.linalg.eigvalsh(found.M)[0] > 0.0


@pytest.mark.parametrize("stiffened", [False, True])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("seed", range(3))
def test_work_balance(seed, coordinates, stiffened):
    """Q_v does no work of its own: d/dt (½ sᵀ M s) = sᵀ (k(q, s = 0) + Gᵀ λ) − q̇ᵀ D q̇ along the
    motion.
    """
    now = model_state(tree_model(seed, stiffened), coordinates)
    system, work = now.system, now.work

    def kinetic(h):
        q = now.q.copy()
        displace(system.tree, system.joints, now.q, h * now.s + 0.5 * h * h * now.sd, q)
        s = now.s + h * now.sd
        return 0.5 * s @ terms(system, work, 0.0, q, s).M @ s

    loss = 0.0
    for i, name in enumerate(now.compiled.bodies):
        if name in now.compiled.data:
            qd = now.s[system.tree.sf_at[i] :][: system.tree.nf[i]]
            loss += qd @ now.compiled.data[name].D_ff @ qd
    G = terms(system, work, 0.0, now.q, now.s).G
    at_rest = terms(system, work, 0.0, now.q, np.zeros(len(now.s)))
    power = now.s @ (at_rest.k + G.T @ now.lam) - loss
    size = np.abs(now.s * at_rest.k).sum() + loss
    assert loss > 0.0
    assert abs(central(kinetic, 2e-4) - power) < 1e-8 * size


def central(f, h):
    """f'(0) of order 6."""
    return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)


@pytest.mark.parametrize("stiffened", [False, True])
@pytest.mark.parametrize("frame", ["left/a", "left/c", "leaf/b", "leaf/c", "trunk/b", "trunk"])
def test_frames_move_with_the_shapes(frame, stiffened):
    """Pose x + φq − ½qᵀK0q, exp(ψq − ½qᵀK0q) R; its derivatives along the motion are the twist and
    its rate.
    """
    model = tree_model(3, stiffened)
    now = model_state(model)
    system, work = now.system, now.work
    body, _, name = frame.partition("/")
    m = now.compiled.frames[fm.FrameRef(body, name)]
    i = now.compiled.bodies.index(body)
    q = now.q[system.tree.qf_at[i] :][: system.tree.nf[i]]
    R, x = frame_pose(work.frames, m, now.q)
    if name:
        place, geometric = now.compiled.data[body].frames[name], now.compiled.data[body].geometric
        K0 = (
            np.zeros((6, len(q), len(q)))
            if geometric is None
            else geometric.frames.get(name, np.zeros((6, len(q), len(q))))
        )
        assert stiffened == (geometric is not None) or body == "leaf"
        turn = Rotation.from_rotvec(place.psi @ q - 0.5 * q @ K0[3:] @ q).as_matrix()
        assert np.abs(np.reshape(R, (3, 3)) - turn @ place.R).max() < 2e-15
        assert np.abs(np.array(x) - place.x - place.phi @ q + 0.5 * q @ K0[:3] @ q).max() < 1e-15

    def moved(h):
        q = now.q.copy()
        displace(system.tree, system.joints, now.q, h * now.s + 0.5 * h * h * now.sd, q)
        kinematics(system, work, 0.0, q, now.s + h * now.sd, now.sd)
        return q, now.s + h * now.sd

    def pose(h):
        q, _ = moved(h)
        R, x = world_pose(work.frames, work.motion, m, *frame_pose(work.frames, m, q))
        return np.column_stack([np.reshape(R, (3, 3)), x])

    def rates(h):
        q, s = moved(h)
        pose_in_body = frame_pose(work.frames, m, q)
        here = Evaluation(q, s, now.sd, work.zero, work.zero, work.zero)
        return np.array(frame_rates(work, system.gravity, m, pose_in_body, here))

    here, there = pose(0.0), central(pose, 1e-3)
    W = here[:, :3].T @ there[:, :3]
    v, w, a, al = rates(0.0)
    assert np.abs(v - here[:, :3].T @ there[:, 3]).max() < 1e-9 * (1 + np.abs(v).max())
    assert np.abs(w - [W[2, 1], W[0, 2], W[1, 0]]).max() < 1e-9 * (1 + np.abs(w).max())
    vd, wd = central(rates, 2e-4)[:2]
    gravity = here[:, :3].T @ GRAVITY
    scale = np.abs(np.concatenate([a, al])).max()
    assert np.abs(a - (vd - gravity)).max() < 1e-8 * scale
    assert np.abs(al - wd).max() < 1e-8 * scale


@pytest.mark.parametrize("frame", ["a", "b", "c"])
@pytest.mark.parametrize("seed", range(2))
def test_forces_of_a_stiffened_body_are_those_of_lagrange(seed, frame):
    """k = −Ṁ s + ½ ∂(sᵀ M s)/∂q − ∂V/∂q − D q̇ in coordinates whose rates are the velocities, M and
    V at displaced positions.
    """
    rng = np.random.default_rng(seed)
    model = fm.Model("gantry", gravity=GRAVITY, frames={"post": some_frame(rng)})
    body = model.add(flexible("b", rng, 3, stiffened=True))
    motions = [motion(axis) for motion in (Slide, Rotate) for axis in "xyz"]
    start = {"q0": tuple(rng.uniform(-0.8, 0.8, 6)), "v0": tuple(rng.normal(size=6))}
    model.add(fm.Chain("gantry", model.ground["post"], body[frame], motions=motions, **start))
    compiled, first = consistent_state(model)
    system, work, q, s = compiled.system, make_work(compiled.system, first.beta), first.q, first.s

    def along(direction, value):
        return central(lambda h: value(q + h * direction), 1e-3)

    def mass(q):
        return terms(system, work, 0.0, q, s).M

    def potential(q):
        terms(system, work, 0.0, q, s)
        return sum(body_energy(system, work, 0, q, s)[1:])

    found = terms(system, work, 0.0, q, s)
    kinetic = body_energy(system, work, 0, q, s)[0]
    assert kinetic == pytest.approx(0.5 * s @ found.M @ s, rel=1e-13)
    expected = -along(s, mass) @ s
    for k, e in enumerate(np.eye(9)):
        expected[k] += 0.5 * s @ along(e, mass) @ s - along(e, potential)
    expected[6:] -= compiled.data["b"].D_ff @ s[6:]
    assert np.abs(found.k - expected).max() < 1e-9 * np.abs(expected).max()


def stiffened_body(seed, nf, cloudy):
    """A free body with geometric stiffness, its masses, and the second-order displacements γ (N, 3,
    nf, nf) behind it.
    """
    rng = np.random.default_rng(seed)
    nodes = cloudy(rng, nf)
    data = dataclasses.replace(nodes.data(rng), geometric=nodes.geometric(np.random.default_rng(5)))
    gamma = 0.4 * np.random.default_rng(5).normal(size=(len(nodes.mass), 3, nf, nf))
    gamma += gamma.transpose(0, 1, 3, 2)
    model = fm.Model("free", gravity=GRAVITY)
    model.add(fm.FlexibleBody("b", data=data))
    model.add(fm.Free("float", "ground", "b"))
    compiled, first = consistent_state(model)
    return compiled, first, nodes, gamma


def flat_cloud(rng, nf):
    """Masses in a plane."""
    nodes = cloud(rng, nf)
    nodes.x[:, 2] = 0.0
    return nodes


@pytest.mark.parametrize("nf", [1, 4])
def test_inertia_of_a_stiffened_body_is_the_nodal_sum_to_second_order(nf):
    """u = x + φq + ½γ(q,q): ∫u dm, ∫u uᵀ dm and ∫u × ∂u/∂q dm at small q differ from the nodal sums
    by terms of third and second order."""
    compiled, first, nodes, gamma = stiffened_body(nf, nf, cloud)
    work, rng = make_work(compiled.system, first.beta), np.random.default_rng(nf)
    left = []
    for size in (1e-2, 1e-3):
        q = size * rng.normal(size=nf)
        M = terms(compiled.system, work, 0.0, np.concatenate([first.q[:7], q]), first.s).M
        J = node_jacobians(nodes.x + nodes.phi @ q + 0.5 * (gamma @ q) @ q, nodes.phi + gamma @ q)
        error = np.abs(M - np.einsum("n,nai,naj->ij", nodes.mass, J, J))
        assert error[:3].max() < 1e-13
        left.append(
            [
                error[3:6, 3:6].max() / np.linalg.norm(q) ** 3,
                error[3:6, 6:].max() / np.linalg.norm(q) ** 2,
            ]
        )
    assert np.all(np.array(left) < 100.0)
    assert np.all(np.array(left) > 0.01)


@pytest.mark.parametrize("cloudy", [cloud, flat_cloud])
@pytest.mark.parametrize("nf", [1, 4])
@pytest.mark.parametrize("size", [0.1, 3.0])
def test_mass_and_forces_of_a_stiffened_body_are_sums_over_the_nodes_of_its_manifold(
    nf, size, cloudy
):
    """u = x + φq + ½γ'(q,q) with the affine field γ' nearest to γ by weighted least squares: M and
    k are nodal sums to round-off, at any deflection."""
    compiled, first, nodes, gamma = stiffened_body(nf, nf, cloudy)
    rng, root = np.random.default_rng(nf), np.sqrt(nodes.mass)[:, None]
    w = np.column_stack([np.ones(len(root)), nodes.x])
    fit = np.linalg.lstsq(root * w, (root * gamma.reshape(len(root), -1)), rcond=1e-9)[0]
    near = (w @ fit).reshape(gamma.shape)
    q, s = size * rng.normal(size=nf), rng.normal(size=6 + nf)
    v, spin, qd = s[:3], s[3:6], s[6:]
    A = Rotation.from_quat(first.q[3:7], scalar_first=True).as_matrix()
    slope = nodes.phi + near @ q
    u, ud = nodes.x + nodes.phi @ q + 0.5 * (near @ q) @ q, slope @ qd
    J = node_jacobians(u, slope)
    M = np.einsum("n,nai,naj->ij", nodes.mass, J, J)
    bias = (
        np.cross(spin, v)
        + np.cross(spin, np.cross(spin, u))
        + 2.0 * np.cross(spin, ud)
        - A.T @ GRAVITY
        + (near @ qd) @ qd
    )
    k = -np.einsum("n,nai,na->i", nodes.mass, J, bias)
    data = compiled.data["b"]
    k[6:] -= data.K_ff @ q + data.D_ff @ qd
    found = terms(
        compiled.system,
        make_work(compiled.system, first.beta),
        0.0,
        np.concatenate([first.q[:7], q]),
        s,
    )
    assert np.abs(found.M - M).max() < 1e-13 * np.abs(M).max()
    assert np.abs(found.k - k).max() < 1e-13 * np.abs(k).max()


@pytest.mark.parametrize("size", [0.01, 0.1, 1.0, 10.0, 100.0])
def test_mass_matrix_is_positive_definite_at_any_deflection(size):
    """Also of geometric stiffness that is reported in an attached frame, whose second-order
    displacements carry momentum.
    """
    compiled, first, _, _ = stiffened_body(3, 4, cloud)
    work, rng = make_work(compiled.system, first.beta), np.random.default_rng(7)
    for _ in range(20):
        M = terms(
            compiled.system,
            work,
            0.0,
            np.concatenate([first.q[:7], size * rng.normal(size=4)]),
            first.s,
        ).M
        scale = np.diag(M) ** -0.5
        assert np.linalg.eigvalsh(scale[:, None] * M * scale)[0] > 1e-4


def test_a_rigid_body_is_a_flexible_body_without_shapes():
    """The same masses as RigidBody and as FlexibleBodyData with nf = 0 move alike."""
    rng = np.random.default_rng(4)
    nodes = cloud(rng, 0)
    com = nodes.mass @ nodes.x / nodes.mass.sum()
    d = nodes.x - com
    inertia = np.einsum("n,na,nb->ab", nodes.mass, d, d)
    inertia = np.trace(inertia) * np.eye(3) - inertia
    hinge = some_joint("free", "float", "ground", "b", rng)
    as_rigid, as_flexible = (fm.Model("body", gravity=GRAVITY) for _ in range(2))
    as_rigid.add(fm.RigidBody("b", mass=nodes.mass.sum(), inertia=inertia.tolist(), com=tuple(com)))
    as_flexible.add(fm.FlexibleBody("b", data=nodes.data(rng)))
    moves = []
    for model in (as_rigid, as_flexible):
        model.add(hinge)
        moves.append(model_state(model).motion()["b"])
    assert np.abs(moves[0] - moves[1]).max() < 1e-13 * np.abs(moves[0]).max()


def test_residual_of_given_accelerations_is_inverse_dynamics():
    """r(ṡ) = M ṡ − k for any ṡ: the sweep and the matrix agree."""
    now = model_state(tree_model(5))
    found = terms(now.system, now.work, 0.0, now.q, now.s)
    sd, r = np.random.default_rng(0).normal(size=len(now.s)), np.zeros(len(now.s))
    residual(
        now.system, now.work, 0.0, Evaluation(now.q, now.s, sd, now.lam, np.zeros(0), r), False
    )
    assert np.abs(r - (found.M @ sd - found.k)).max() < 1e-13 * np.abs(found.k).max()
