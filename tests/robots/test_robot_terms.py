"""Compiled terms of robots and laws of their controllers, for random trees."""

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from draws import drawn

import flexmbs as fm
from flexmbs.errors import SolverError
from flexmbs.model.control.rigid_terms import LinkTerms, RigidTerms, SpinTerms
from flexmbs.robots import (
    ComputedTorque,
    DelayedPath,
    Impedance,
    OperationalSpace,
    PDFeedforward,
    PDGravity,
    Quintic,
    SplinePath,
    Trapezoid,
)  # fmt: skip
from flexmbs.studies.states.directional_derivatives import Dual, on_duals


def unit(rng: np.random.Generator) -> np.ndarray:
    v = rng.normal(size=3)
    return np.asarray(v / np.linalg.norm(v))


def random_terms(seed: int) -> RigidTerms:
    """A branched tree of revolute, prismatic and screw axes with rotors and friction."""
    rng = np.random.default_rng(seed)
    links = []
    for k in range(n := int(rng.integers(1, 9))):
        axis, kind = unit(rng), rng.integers(3)
        points = rng.normal(size=(5, 3))  # the masses of a rigid body
        weights = rng.uniform(0.1, 1.0, 5)
        square = np.einsum("i,ij,ij->", weights, points, points)
        links.append(
            LinkTerms(
                coordinate=f"axis{k}.0",
                parent=int(rng.integers(-1, k)) if k else -1,
                position=rng.normal(size=3),
                rotation=(unit(rng), rng.uniform(-3, 3)),
                turn=axis * (kind != 1),
                slide=axis * (kind != 0),
                mass=weights.sum(),
                first_moment=weights @ points,
                inertia=square * np.eye(3) - np.einsum("i,ij,ik->jk", weights, points, points),
                armature=rng.uniform(0, 0.1),
                viscous=rng.uniform(0, 1),
                coulomb=rng.uniform(0, 1),
                reverse=rng.uniform(0, 1),
            )
        )
    spins = [
        SpinTerms(
            axis=int(rng.integers(n)), carrier=int(rng.integers(n)), spin=rng.normal(size=3) / 20
        )
        for _ in range(rng.integers(3))
    ]
    return RigidTerms(links=links, gravity=rng.normal(size=3) * 9, spins=spins)


def energy(terms: RigidTerms, q: np.ndarray, qd: np.ndarray) -> float:
    """Kinetic energy of the links and rotors from poses by differences of positions."""
    tree, h = terms.tree, 1e-5
    (Ra, oa), (R, _), (Rb, ob) = (tree.kernels.poses(q + s * h * qd) for s in (-1, 0, 1))
    found = 0.5 * (np.array([link.armature for link in terms.links]) * qd**2).sum()
    W = np.swapaxes(R, -1, -2) @ (Rb - Ra) / (2 * h)
    w = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=-1)
    for k in range(terms.n):
        v = R[k].T @ (ob[k] - oa[k]) / (2 * h)
        found += 0.5 * tree.mass[k] * v @ v + v @ np.cross(w[k], tree.first[k])
        found += 0.5 * w[k] @ tree.inertia[k] @ w[k]
    for spun in terms.spins:
        found += qd[spun.axis] * np.dot(spun.spin, w[spun.carrier])
    return float(found)


@pytest.mark.parametrize("seed", drawn(3, 60))
def test_terms_of_random_trees(seed: int) -> None:
    """½ q̇ᵀ D q̇ is the kinetic energy, D q̈ + h the inverse dynamics, whose inverse is the forward
    one; gravity is the gradient of the potential, J q̇ the rates of a point.
    """
    terms = random_terms(seed)
    rng, n, tree = np.random.default_rng(seed + 1000), terms.n, terms.tree
    q, qd, qdd = rng.normal(size=(3, n))
    D = terms.mass_matrix(q)
    assert 0.5 * qd @ D @ qd == pytest.approx(energy(terms, q, qd), rel=1e-7)
    tau = terms.inverse_dynamics(q, qd, qdd)
    at_rest = terms.inverse_dynamics(q, qd, 0.0 * qdd)
    np.testing.assert_allclose(tau - at_rest, D @ qdd, rtol=0, atol=1e-12 * np.abs(tau).max())
    found = tree.kernels.accelerations(q, qd, tau, tree.gravity)
    np.testing.assert_allclose(D @ found, D @ qdd, rtol=0, atol=1e-11 * np.abs(tau).max())
    C = terms.coriolis_matrix(q, qd)
    np.testing.assert_allclose(
        C @ qd + terms.gravity_forces(q) + terms.friction(qd), at_rest, rtol=0,
        atol=1e-11 * np.abs(tau).max(),
    )  # fmt: skip

    def potential(q: np.ndarray) -> float:
        R, o = tree.kernels.poses(q)
        return float(-tree.gravity @ (tree.mass @ o + np.einsum("kij,kj->i", R, tree.first)))

    h, units = 1e-6, np.eye(n)
    slopes = [(potential(q + h * e) - potential(q - h * e)) / (2 * h) for e in units]
    np.testing.assert_allclose(terms.gravity_forces(q), slopes, rtol=1e-6, atol=1e-6)
    link, x = int(rng.integers(n)), rng.normal(size=3)
    J = tree.kernels.jacobian(q, link, x)
    (Ra, oa), (Rb, ob) = (tree.kernels.poses(q + s * h * qd) for s in (-1, 1))
    moved = (Rb[link] @ x + ob[link] - Ra[link] @ x - oa[link]) / (2 * h)
    np.testing.assert_allclose(J[:3] @ qd, moved, rtol=1e-6, atol=1e-7)
    many = rng.normal(size=(2, 3, n))
    for function in (terms.mass_matrix, terms.gravity_forces, lambda q: tree.kernels.poses(q)[1]):
        each = [[function(row) for row in rows] for rows in many]
        np.testing.assert_array_equal(function(many), each)
    many_J = tree.kernels.jacobian(many, link, x)
    np.testing.assert_array_equal(many_J[1, 2], tree.kernels.jacobian(many[1, 2], link, x))
    both = tree.kernels.accelerations(many, many, many, tree.gravity)
    assert both is not None
    alone = tree.kernels.accelerations(*[many[1, 2]] * 3, tree.gravity)
    np.testing.assert_array_equal(both[1, 2], alone)


def random_path(n: int, rng: np.random.Generator) -> Any:
    q0, q1 = rng.normal(size=(2, n))
    kind = rng.integers(4)
    if kind == 0:
        return Quintic(q0, q1, 0.7, start=0.2, v0=rng.normal(size=n), a1=1.0)
    if kind == 1:
        return Trapezoid(q0, q1, rate=rng.uniform(1, 4), acceleration=9.0, start=0.1)
    if kind == 2:
        knots = np.sort(rng.uniform(0.1, 0.8, 3))
        knots = np.sort(np.concatenate([[0.0] * 6, knots, knots[:1], [0.9] * 6]))
        return SplinePath(knots, rng.normal(size=(10, n)))
    return DelayedPath(
        Trapezoid(q0, q1, rate=2.0, acceleration=9.0), [0.5, 0.3, 0.2], [0, 0.1, 0.25]
    )


def impedance(terms: RigidTerms, path: Any, **gains: Any) -> Impedance:
    """At a point of some link."""
    K, D = np.linspace(10, 300, 6), np.linspace(1, 20, 6)
    link, point = terms.n // 2 - 1, (0.1, -0.3, 0.2)
    return Impedance(terms, path, stiffness=K, damping=D, link=link, point=point, **gains)


def of_a_point(terms: RigidTerms, path: Any, **gains: Any) -> OperationalSpace:
    """At a point of the last link."""
    K, D = np.linspace(10, 300, 6), np.linspace(1, 20, 6)
    task = "position" if terms.n < 5 else "pose"
    return OperationalSpace(
        terms, path, stiffness=K, damping=D, point=(0.1, -0.3, 0.2), task=task, **gains
    )


@pytest.mark.parametrize("seed", drawn(3, 40))
def test_operational_space_control_of_random_trees(seed: int) -> None:
    """The point has the acceleration of the law where its Jacobian has full rank, and of all
    accelerations of the joints with this property those are nearest, by D, to the joint gains'.
    """
    rng, terms = np.random.default_rng(seed + 3000), random_terms(seed)
    n, tree, h = terms.n, terms.tree, 1e-6
    path = random_path(n, rng)
    law = of_a_point(terms, path, kp=rng.uniform(1, 9, n), kd=2.0)
    rows, point = (3 if n < 5 else 6), np.array(law.point)
    t, (q, qd) = float(rng.uniform(0.15, 0.6)), rng.normal(size=(2, n))
    tau = law.forces(t, q, qd)
    qdd = tree.kernels.accelerations(q, qd, tau, tree.gravity)

    def moves(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """J q̈ + J̇ q̇ by differences of J."""
        ahead, behind = (tree.kernels.jacobian(q + s * h * qd, n - 1, point) for s in (1, -1))
        return tree.kernels.jacobian(q, n - 1, point) @ qdd + (ahead - behind) @ qd / (2 * h)

    J = tree.kernels.jacobian(q, n - 1, point)[:rows]
    wanted = path.at(t)
    (R, x), (A, y) = (
        (R[-1], R[-1] @ point + o[-1])
        for R, o in (tree.kernels.poses(wanted.q), tree.kernels.poses(q))
    )
    e = np.concatenate([x - y, 0.5 * np.cross(A, R, axis=0).sum(axis=1)])
    ed = tree.kernels.jacobian(wanted.q, n - 1, point) @ wanted.qd
    ed = ed - tree.kernels.jacobian(q, n - 1, point) @ qd
    goal = moves(wanted.q, wanted.qd, wanted.qdd) + np.array(law.stiffness) * e
    goal = (goal + np.array(law.damping) * ed)[:rows]
    left = moves(q, qd, qdd)[:rows] - goal
    size = np.linalg.svd(J, compute_uv=False)
    if len(size) == rows and size[-1] > 1e-2 * size[0]:
        np.testing.assert_allclose(left, 0.0, atol=2e-5 * (1.0 + np.abs(goal).max()))
        stiff, damped, feed = law.errors(t, q, qd)
        D = terms.mass_matrix(q)
        free = np.linalg.svd(J)[2][rows:].T  # the change of q̈ is D-orthogonal to free motions
        pull = D @ (qdd - (feed + stiff + damped))
        np.testing.assert_allclose(free.T @ pull, 0.0, atol=1e-6 * (1.0 + np.abs(pull).max()))


@pytest.mark.parametrize(
    "controller", [ComputedTorque, PDGravity, PDFeedforward, impedance, of_a_point]
)
@pytest.mark.parametrize("seed", drawn(3, 40))
def test_laws_of_controllers_are_their_forces(seed: int, controller: Any) -> None:
    """The law for compiled runs gives the forces of the class, with floats and with duals, whose
    slopes are those of differences.
    """
    terms, rng = random_terms(seed), np.random.default_rng(seed + 2000)
    n = terms.n
    gains = rng.uniform(1, 100, n)
    made = controller(terms, random_path(n, rng), kp=gains, kd=3.0)
    row = made.row()
    for t in (-0.5, *rng.uniform(0, 1.2, 6), 7.0):
        q, qd = rng.normal(size=(2, n))
        x, out = np.concatenate([[t], q, qd]), np.zeros(2 * n)
        row.law.value(np.array(row.parameters), np.zeros(row.law.workspace(row.parameters)), x, out)
        wanted = made.forces(t, q, qd)
        np.testing.assert_allclose(out[:n], wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())
    direction = rng.normal(size=2 * n)
    duals: list[Any] = [0.0] * (2 * n)
    given = [t, *map(Dual, x[1:].tolist(), direction.tolist())]
    unused = [0.0] * row.law.workspace(row.parameters)
    on_duals(row.law.value)(list(row.parameters), unused, given, duals)
    h = 1e-6
    ahead, behind = (
        made.forces(t, q + s * h * direction[:n], qd + s * h * direction[n:]) for s in (1, -1)
    )
    if isinstance(made, OperationalSpace):  # differences are noise beside the damping of S
        J = terms.tree.kernels.jacobian(q, n - 1, np.array(made.point))
        size = np.linalg.svd(J[: 6 if made.task == "pose" else 3], compute_uv=False)
        if len(size) < (6 if made.task == "pose" else 3) or size[-1] < 1e-2 * size[0]:
            return
    slopes = [getattr(each, "d", 0.0) for each in duals[:n]]
    scale = np.abs(ahead).max() / h
    np.testing.assert_allclose(slopes, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-9 * scale)


def test_paths_of_pieces_move_continuously() -> None:
    """Rates and accelerations are the derivatives of the path away from its knots, the path is at
    rest outside.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        path = random_path(3, rng)
        knots, h = path.pieces.knots, 1e-6
        for t in rng.uniform(path.start - 0.1, path.end + 0.1, 10):
            if np.abs(knots - t).min() < 3 * h:
                continue
            before, now, after = (path.at(t + s * h) for s in (-1, 0, 1))
            np.testing.assert_allclose(now.qd, (after.q - before.q) / (2 * h), atol=1e-7)
            np.testing.assert_allclose(now.qdd, (after.qd - before.qd) / (2 * h), atol=1e-5)
        assert not path.at(path.start - 1.0).qd.any()
        assert not path.at(path.end + 1.0).qdd.any()


def test_a_user_path_stays_a_function() -> None:
    """Controllers that follow it, or it delayed, call Python."""

    class Circle(fm.robots.Path):
        n, span = 2, (0.0, 1.0)

        def at(self, t: float) -> fm.robots.Motion:
            turn = np.array([t, t + 1.0])
            return fm.robots.Motion(np.sin(turn), np.cos(turn), -np.sin(turn))

    arm = RigidTerms(
        links=[LinkTerms(coordinate="a", parent=-1, turn=(0, 0, 1), inertia=(1, 1, 1))] * 2
    )
    for path in (Circle(), fm.robots.Shaped(Circle(), fm.robots.zero_vibration(5.0))):
        assert PDGravity(arm, path, kp=1.0, kd=1.0).row() is None
        assert np.isfinite(path.at(0.3).qdd).all()


def test_singular_mass_matrices_are_named() -> None:
    links = [fm.robots.Link(a=0.3, mass=1.0, inertia=(0.1, 0.1, 0.1)), fm.robots.Link(a=0.1)]
    robot = fm.Robot.from_dh(links)
    with pytest.raises(SolverError, match=r"D is singular, joint2\.0 moves no mass"):
        robot.forward_dynamics([0.1, 0.2], [0, 0], [1, 1])


def test_terms_in_threads_and_copies() -> None:
    """Each thread has arrays of its own; copies and pickles compute the same."""
    robot, rng = fm.robots.puma560(), np.random.default_rng(1)
    states = rng.normal(size=(8, 500, 3, 6))
    wanted = robot.inverse_dynamics(*np.moveaxis(states, 2, 0))
    for twin in (copy.deepcopy(robot), pickle.loads(pickle.dumps(robot.rigid_terms))):
        np.testing.assert_array_equal(twin.inverse_dynamics(*states[0, 0]), wanted[0, 0])
    wrong: list[int] = []

    def work(k: int) -> None:
        found = [robot.inverse_dynamics(*state) for state in states[k]]
        if not np.array_equal(found, wanted[k]):
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_steps_end_at_the_knots_of_paths() -> None:
    """A short motion between two steps of a robot at rest is not missed."""
    robot = fm.Robot.from_dh([fm.robots.Link(a=0.3, mass=1.0, inertia=(0.1, 0.1, 0.1))])
    path = Trapezoid([0.0], [0.5], rate=100.0, acceleration=1e3, start=70.0)
    follower = fm.robots.controlled(robot, ComputedTorque(robot, path, kp=400.0, kd=40.0))
    follower.gravity = (0, 0, 0)
    run = fm.simulate(follower, t_end=100.0, output_step=50.0, rtol=1e-6)
    assert run.joint("joint1").position[-1, 0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("formalism", ["multiplier", "recursive"])
@pytest.mark.parametrize("integrator", ["generalized-alpha", "esdirk", "moreau-jean"])
def test_forces_that_couple_joints_converge(formalism: str, integrator: str) -> None:
    """Wheels coupled by a stiff and strongly damped matrix: with its off-diagonal slopes Newton's
    method takes two iterations a step, without them up to three times as many. Each mode of K
    decays as a scalar oscillator.
    """
    model = fm.Model("coupled", gravity=(0, 0, 0))
    n = 4
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(n, n)))[0]
    stiffness, damping = np.array([0.5, 2.0, 20.0, 900.0]), np.array([0.1, 0.2, 3.0, 70.0])
    K, C = Q @ np.diag(stiffness) @ Q.T, Q @ np.diag(damping) @ Q.T
    x0 = Q @ np.array([0.2, -0.1, 0.05, 0.01])
    for k in range(n):
        model.add(fm.RigidBody(f"wheel {k}", mass=1.0, inertia=(1.0, 1.0, 1.0)))
        model.add(fm.Revolute(f"axle {k}", "ground", f"wheel {k}", axis="z", q0=x0[k]))
    names = [f"axle {k}" for k in range(n)]
    model.add(fm.UserJointForces("law", names, lambda t, x, v: -K @ x - C @ v))
    step = 1e-3 if integrator == "moreau-jean" else 5e-3
    run = fm.simulate(
        model, t_end=0.5, step=step, integrator=integrator, formalism=formalism, audit="none"
    )
    assert run.statistics["iterations"] <= (8 if integrator == "esdirk" else 3) * 0.5 / step
    found = np.array([run.joint(name).position[-1, 0] for name in names]) @ Q
    for a, (k, c) in enumerate(zip(stiffness, damping)):
        roots = np.roots([1.0, c, k])
        start = np.linalg.solve([[1.0, 1.0], roots], [Q.T[a] @ x0, 0.0])
        exact = (start * np.exp(roots * 0.5)).sum().real
        assert found[a] == pytest.approx(exact, abs=2e-3 if integrator == "moreau-jean" else 2e-4)


def test_impedance_is_the_stiffness_that_a_load_feels() -> None:
    """A force at the tool moves it by K⁻¹ F, whatever the posture; a free arm follows its path."""
    robot = fm.robots.puma560(motors=False)
    rest = np.array([0.3, -0.8, 0.6, 0.4, 0.7, -0.2])
    K, D = np.array([4e3, 6e3, 9e3, 200.0, 300.0, 250.0]), np.array([400.0] * 3 + [30.0] * 3)
    hold = Impedance(robot, Quintic(rest, rest, 1.0), stiffness=K, damping=D)
    model = fm.robots.controlled(robot.started(rest), hold)
    force = np.array([0.6, -0.4, 0.8])
    last = list(model.bodies)[-1]
    model.add(fm.FrameForce("load", last, force=tuple(force)))
    found = fm.statics(model).solution
    terms = robot.rigid_terms
    moved = [
        found.joint(name.removesuffix(".0")).position[-1, 0] - start
        for name, start in zip(robot.coordinates, rest)
    ]
    J = terms.tree.kernels.jacobian(rest, terms.n - 1, np.zeros(3))
    at = J[:3] @ moved
    lever = robot.pose(rest, last)[:3, 3] - terms.tree.kernels.poses(rest)[1][-1]
    np.testing.assert_allclose(at, force / K[:3], rtol=2e-3, atol=1e-9)
    np.testing.assert_allclose(J[3:] @ moved, np.cross(lever, force) / K[3:], atol=1e-5)
    goal = rest + 0.3
    follow = Impedance(robot, Quintic(rest, goal, 0.5), stiffness=10 * K, damping=3 * D)
    run = fm.simulate(
        fm.robots.controlled(robot.started(rest), follow), t_end=1.5, step=1e-3, audit="none"
    )
    end = [run.joint(name.removesuffix(".0")).position[-1, 0] for name in robot.coordinates]
    np.testing.assert_allclose(end, goal, atol=1e-3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"link": 6}, "link: must be the number of a link, 0 … 5, or -1, not 6"),
        ({"stiffness": (1.0, 2.0)}, "stiffness: must be one number or 6, not 2 numbers"),
        ({"damping": -1.0}, "damping: must be >= 0, not -1"),
    ],
)
def test_wrong_impedances_are_named(given: dict[str, Any], message: str) -> None:
    robot = fm.robots.puma560()
    path = Quintic([0] * 6, [1] * 6, 1.0)
    with pytest.raises(fm.InputError, match=message):
        Impedance(robot, path, **{"stiffness": 1.0, "damping": 1.0} | given)
