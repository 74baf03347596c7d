"""The recursive sweeps against dense matrices: accelerations, multipliers, wrenches of joints,
solutions of Newton's method.
"""

import dataclasses

import numpy as np
import pytest
from samples import GRAVITY, JOINTS, cloud, rigid, some_frame, some_joint, state, two_bodies
from test_topology import LOOPS, loops, planar_four_bar, random_tree

import flexmbs as fm
from flexmbs.algebra.blocks import solve
from flexmbs.dynamics.articulated_work import DENSE, JOINT_WRENCH, L_CHILD
from flexmbs.dynamics.dense import multipliers_of_least_norm, terms
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.kkt import kkt_matrix
from flexmbs.dynamics.work import make_work
from flexmbs.formalisms.recursive import Recursive, accelerations, correction, iteration_matrix
from flexmbs.formalisms.rigid_tree import RigidTree
from flexmbs.motions import Rotate
from flexmbs.system.compile import compile_model
from flexmbs.system.records import Evaluation, rows_of

A, B = "first/b", "second/b"


def check(model, dropped=None):
    """ṡ, λ and wrenches of the joints at the consistent state against dense M, G, k and inverse
    dynamics.
    """
    now = state(model)
    ns, nc, nz = (int(n) for n in now.system.layout[2:])
    t = terms(now.system, now.work, 0.0, now.q, now.s)
    K = np.block([[t.M, -t.G.T], [t.G, np.zeros((nc, nc))]])
    x = np.linalg.lstsq(K, np.concatenate([t.k, t.gamma]), rcond=1e-12)[0]
    workspace = Recursive(wrenches=True).workspace(now.compiled)
    sd, lam = np.zeros(ns), np.zeros(nc)
    here = Evaluation(now.q, now.s, sd, lam, np.zeros(nz), np.zeros(ns))
    status = accelerations(now.system, now.work, workspace, 0.0, here)
    assert status == now.status if dropped is None else status == dropped
    assert np.abs(sd - x[:ns]).max() < 1e-11 * np.abs(x[:ns]).max()
    assert np.abs(multipliers_of_least_norm(t.G, lam) - x[ns:]).max(initial=0.0) < 1e-11 * np.abs(
        x[ns:]
    ).max(initial=1.0)
    power = now.work.power.values.copy()
    residual(now.system, now.work, 0.0, here, True)
    assert power == pytest.approx(now.work.power.values, rel=1e-11, abs=1e-11)
    size = np.abs(now.work.motion.through).max()
    for m, found in zip(rows_of(now.work.motion), workspace.factors.art.body[:, JOINT_WRENCH:]):
        R, x, f = m.Rc.reshape(3, 3), m.xc, found[:3]
        at_joint = np.concatenate([R.T @ f, R.T @ (found[3:] - np.cross(x, f))])
        assert np.abs(at_joint - m.through).max() < 1e-11 * size
    return now, t, workspace


def check_solutions(now, t, workspace):
    """Solutions with factored iteration matrices against the block-sparse factorization of the
    whole matrix.
    """
    rng = np.random.default_rng(2)
    ns = len(now.s)
    for c_mass, c_damping in ((1.0, -1.0), (3e4, 200.0)):
        status = kkt_matrix(now.system, now.work, now.q, c_mass, c_damping)
        assert iteration_matrix(now.system, now.work, workspace, now.q, c_mass, c_damping) == status
        x = np.concatenate([t.M @ rng.normal(size=ns), t.G @ rng.normal(size=ns)])
        y = x.copy()
        solve(now.system.elimination, now.work.values, x)
        correction(now.system, now.work, workspace, y)
        assert np.abs(x[:ns] - y[:ns]).max() < 1e-11 * np.abs(x[:ns]).max()
        forces = t.G.T @ x[ns:]
        assert np.abs(forces - t.G.T @ y[ns:]).max(initial=0.0) < 1e-11 * np.abs(forces).max(
            initial=1.0
        )


def with_forces(model, *joints, ends=(A, B)):
    model.add(fm.PointSpring("spring", "ground/post", ends[1], k=900.0, c=4.0, length=0.6))
    model.add(
        fm.Bushing(
            "bush", *ends, k=(10.0, 20.0, 30.0, 4.0, 5.0, 6.0), c=(1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
        )
    )
    for joint in joints:
        model.add(fm.JointSpring(f"spring on {joint}", joint, k=30.0, c=2.0, x0=0.1))
    return model


def with_drives(model, *coordinates):
    motion = fm.Sine(0.3, 0.7, phase=0.2, offset=0.1)
    for joint, k in coordinates:
        model.add(fm.Drive(f"drive {joint} {k}", joint, motion, coordinate=k))
    return model


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", JOINTS)
def test_joints_between_modal_frames(kind, turned):
    check_solutions(*check(two_bodies(kind, 3, turned=turned)))


@pytest.mark.parametrize("seed", range(6))
def test_trees(seed):
    check_solutions(*check(random_tree(seed)))


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    check_solutions(*check(loops(name)))


def test_redundant_loop():
    check_solutions(*check(planar_four_bar(), dropped=3))


@pytest.mark.parametrize("kind", ["revolute", "universal", "chain"])
def test_forces(kind):
    check_solutions(*check(with_forces(two_bodies(kind, 4), "base", "hinge")))


@pytest.mark.parametrize("name", LOOPS)
def test_forces_in_loops(name):
    model = with_forces(loops(name), "main", "knee", ends=("crank/b", "rocker/b"))
    check_solutions(*check(model))


def test_force_in_a_cut_joint():
    model = planar_four_bar()
    (cut,) = state(model).compiled.topology.cuts
    model.add(fm.JointSpring("spring", cut, k=30.0, c=2.0, x0=0.1))
    check_solutions(*check(model))


DRIVEN = [
    ("revolute", [("base", 0)]),
    ("revolute", [("hinge", 0)]),
    ("universal", [("hinge", 0)]),
    ("universal", [("hinge", 1), ("base", 0)]),
    ("chain", [("hinge", 1)]),
    ("chain", [("hinge", 0), ("hinge", 2), ("base", 0)]),
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind, coordinates", DRIVEN)
def test_drives(kind, coordinates, turned):
    check_solutions(
        *check(
            with_drives(
                with_forces(two_bodies(kind, 4, turned=turned), "base", "hinge"), *coordinates
            )
        )
    )


@pytest.mark.parametrize("name", LOOPS)
def test_driven_loops(name):
    model = loops(name)
    # rad: next to the declared position, which needs no search
    begin = model.joints["main"].q0[0] + 0.008
    model.add(
        fm.Drive("drive", "main", fm.Sine(0.3, 0.7, phase=0.2, offset=begin - 0.3 * np.sin(0.2)))
    )
    check_solutions(*check(model))


def rigid_tree(seed, n=8):
    rng = np.random.default_rng(seed)
    model = fm.Model("tree", gravity=GRAVITY, frames={"post": some_frame(rng)})
    places = [model.ground["post"]]
    for i in range(n):
        body = model.add(rigid(f"b{i}", rng))
        at = places[int(rng.integers(len(places)))]
        places += [body["b"], body["c"]]
        ends = (at, body["a"]) if rng.random() < 0.6 else (body["a"], at)
        if i != n - 2:  # which floats
            model.add(some_joint(str(rng.choice(list(JOINTS))), f"j{i}", *ends, rng))
            if model.joints[f"j{i}"].nv == 1:
                model.add(
                    fm.JointTorque(
                        f"torque {i}",
                        f"j{i}",
                        fm.SpringDamper(k=rng.uniform(0, 9), c=rng.uniform(0, 9)),
                    )
                )
    return model


@pytest.mark.parametrize("seed", range(8))
def test_rigid_trees(seed):
    """The articulated-body algorithm of rigid trees, and the general sweeps."""
    now, t, _ = check(rigid_tree(seed))
    assert not now.system.tree.nf.any()
    form = Recursive().fitting(now.compiled, "accelerations")
    assert isinstance(form, RigidTree)
    sd, power = np.zeros(len(now.s)), now.work.power.values.copy()
    none = np.zeros(0)
    here = Evaluation(now.q, now.s, sd, none, none, none)
    status = form.accelerations(now.system, now.work, form.workspace(now.compiled), 0.0, here)
    expected = np.linalg.solve(t.M, t.k)
    assert status == 0
    assert np.abs(sd - expected).max() < 1e-11 * np.abs(expected).max()
    assert now.work.power.values == pytest.approx(power, rel=1e-12, abs=1e-12)


def diagonal(name, rng, nf):
    """A flexible body in its free modes: diagonal matrices, a root that does not move with the
    modes.
    """
    beads = cloud(rng, nf)
    gram = np.einsum("n,nak,nal->kl", beads.mass, beads.phi, beads.phi)
    modes = beads.phi @ np.linalg.inv(np.linalg.cholesky(gram)).T
    data = dataclasses.replace(beads, phi=modes).data(rng)
    still = np.zeros((3, nf))
    place = fm.FlexibleFrame(np.array([0.1, -0.2, 0.3]), np.eye(3), still, still)
    K = np.diag(rng.uniform(20, 900, nf))
    data = dataclasses.replace(data, K_ff=K, D_ff=0.01 * K, frames={**data.frames, "root": place})
    return fm.FlexibleBody(
        name, data=data, qf0=tuple(0.05 * rng.normal(size=nf)), qf_dot0=tuple(rng.normal(size=nf))
    )


@pytest.mark.parametrize("seed", range(6))
def test_diagonal_modes(seed):
    """Bodies with none, one and more children on their modes, some on drives, one with a spring to
    the ground.
    """
    rng = np.random.default_rng(seed)
    model = fm.Model("tree", gravity=GRAVITY, frames={"post": some_frame(rng)})
    places = ["ground/post"]
    for i in range(6):
        body = (
            diagonal(f"b{i}", rng, int(rng.integers(1, 6)))
            if rng.random() < 0.8
            else rigid(f"b{i}", rng)
        )
        model.add(body)
        at = places.pop(int(rng.integers(len(places)))) if rng.random() < 0.7 and i else places[-1]
        places += [f"b{i}/a", f"b{i}/b", f"b{i}/c"]
        kind = str(rng.choice(["revolute", "universal", "spherical", "fixed", "cylindrical"]))
        model.add(
            some_joint(
                kind, f"j{i}", at, f"b{i}/root" if "root" in body.known_frames() else f"b{i}/c", rng
            )
        )
    model.add(fm.PointSpring("spring", "ground/post", "b5/a", k=900.0, c=4.0, length=0.6))
    now, t, workspace = check(model)
    assert (workspace.factors.art.link[:, L_CHILD] != DENSE).any()
    check_solutions(now, t, workspace)


def test_no_inertia_about_a_joint():
    """The body without it is named by the status."""
    model = fm.Model("disc")
    model.add(fm.PointMass("bead", mass=1.0))
    model.add(fm.RigidBody("needle", mass=1.0, inertia=(0.0, 0.0, 0.0)))
    model.add(fm.Prismatic("groove", model.ground, "bead", axis="x"))
    model.add(fm.Revolute("pin", "bead", "needle", axis="x"))
    compiled = compile_model(model)
    i = compiled.bodies.index("needle")
    for formalism in (Recursive().fitting(compiled, "accelerations"), Recursive()):
        here = Evaluation(np.zeros(2), np.zeros(2), np.zeros(2), *[np.zeros(0)] * 3)
        work = make_work(compiled.system)
        assert (
            formalism.accelerations(compiled.system, work, formalism.workspace(compiled), 0.0, here)
            == -1 - i
        )


# Featherstone's chains: RBDL DynamicsTests (zlib licence), from spatial_v1; bodies of 1 kg with
# unit inertia about their centres
def featherstone(*links):
    model = fm.Model("chain", gravity=(0, -9.81, 0))
    for name, on, _, axis, com in links:
        parent = model.ground if on is None else f"{on}/{name}"
        tips = {other: place for other, onto, place, _, _ in links if onto == name}
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1.0, 1.0, 1.0), com=com, frames=tips))
        model.add(fm.Revolute(f"j{name}", parent, name, axis=axis))
    return model


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
FEATHERSTONE = {
    "double": ([("a", None, None, "z", X), ("b", "a", X, "z", X)], [-5.886, 3.924]),
    "triple": (
        [("a", None, None, "z", X), ("b", "a", X, "z", X), ("c", "b", X, "z", X)],
        [-6.03692307692308, 3.77307692307692, 1.50923076923077],
    ),
    "tree": (
        [
            ("a", None, None, "z", X),
            ("b", "a", X, "y", Y),
            ("c", "b", Y, "x", Z),
            ("d", "a", (-0.5, 0, 0), "y", Y),
            ("e", "d", (0, -0.5, 0), "x", Z),
        ],
        [
            -1.60319066147860,
            -0.534396887159533,
            4.10340466926070,
            0.267198443579767,
            5.30579766536965,
        ],
    ),
}


def accelerations_of(compiled, wrenches, q, sd):
    """ṡ at rest at q, by the shortest form or by the general one."""
    form, none = Recursive(wrenches=wrenches).fitting(compiled, "accelerations"), np.zeros(0)
    assert isinstance(form, Recursive if wrenches else RigidTree)
    here = Evaluation(q, np.zeros(len(q)), sd, none, none, none)
    form.accelerations(
        compiled.system, make_work(compiled.system), form.workspace(compiled), 0.0, here
    )


@pytest.mark.parametrize("wrenches", [False, True])
@pytest.mark.parametrize("name", FEATHERSTONE)
def test_featherstone(name, wrenches):
    links, expected = FEATHERSTONE[name]
    compiled = compile_model(featherstone(*links))
    n = len(links)
    sd = np.zeros(n)
    accelerations_of(compiled, wrenches, np.zeros(n), sd)
    order = [compiled.places[f"j{link[0]}"].body for link in links]
    assert sd[order] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("wrenches", [False, True])
def test_featherstone_three_axes(wrenches):
    """One body on a chain of rotations about z, y, x."""
    model = fm.Model("body", gravity=(0, -9.81, 0))
    model.add(fm.RigidBody("a", mass=1.0, inertia=(1.0, 1.0, 1.0), com=(0, 0.5, 0)))
    model.add(fm.Chain("j", model.ground, "a", motions=(Rotate("z"), Rotate("y"), Rotate("x"))))
    compiled = compile_model(model)
    sd, q = np.zeros(3), np.array([1.0, 0.0, 0.0])
    accelerations_of(compiled, wrenches, q, sd)
    assert sd == pytest.approx([3.301932144386186, 0.0, 0.0], rel=1e-13, abs=1e-13)
