"""Contract of every kind of joint: its pose differentiates to C η, and as primary or as cut joint
it is the same joint.
"""

import numpy as np
import pytest
from samples import JOINTS, difference, pose_by_motions, some_position, states, two_bodies

import flexmbs as fm
from flexmbs.dynamics.constraints import complement
from flexmbs.dynamics.joints import displace_joint, joint_directions, joint_pose, joint_rates
from flexmbs.model.joints import Joint
from flexmbs.system.compile import compile_model

KINDS = list(JOINTS)


def test_every_registered_kind_is_here():
    assert {name.split()[0] for name in KINDS} == {
        kind for kind, made in Joint.kinds.items() if made.carries
    }


class Chain:
    """The compiled chain of a single joint."""

    def __init__(self, kind, seed):
        rng = np.random.default_rng(seed)
        model = fm.Model("one joint")
        make, parameters = JOINTS[kind]
        self.joint = make(
            "hinge",
            model.ground,
            model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1))),
            **parameters(rng),
        )
        model.add(self.joint)
        self.record = compile_model(model).system.joints
        self.q, self.eta = some_position(self.joint.motions, rng), rng.normal(size=self.joint.nv)
        self.nq, self.nv = self.joint.nq, self.joint.nv

    def pose(self, q):
        R, x = joint_pose(self.record, 0, q, 0)
        return np.reshape(R, (3, 3)), np.array(x)

    def directions(self, q, eta):
        """C (6, nv), C η, Ċ η."""
        out = np.zeros((1, 36))
        v, w, bv, bw = joint_directions(self.record, 0, q, 0, eta, 0, out, 0)
        return out[0, : 6 * self.nv].reshape(-1, 6).T, np.array([*v, *w]), np.array([*bv, *bw])

    def moved(self, h):
        q = np.zeros(self.nq)
        displace_joint(self.record, 0, self.q, q, 0, h * self.eta, 0)
        return q


def central(f, h=1e-3):
    """f'(0) of order 6."""
    return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_pose_differentiates_to_the_free_directions(kind, seed):
    chain = Chain(kind, seed)
    R, x = chain.pose(chain.q)
    X = pose_by_motions(chain.joint.motions, chain.q)
    assert max(np.abs(R - X[:3, :3]).max(), np.abs(x - X[:3, 3]).max()) < 1e-14
    W = R.T @ central(lambda h: chain.pose(chain.moved(h))[0])
    twist = np.array(
        [*(R.T @ central(lambda h: chain.pose(chain.moved(h))[1])), W[2, 1], W[0, 2], W[1, 0]]
    )
    C, V, rate = chain.directions(chain.q, chain.eta)
    assert np.abs(V - twist).max() < 1e-11
    assert np.abs(V - C @ chain.eta).max(initial=0.0) < 1e-14
    assert (
        np.abs(rate - central(lambda h: chain.directions(chain.moved(h), chain.eta)[1])).max()
        < 1e-11
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rates_of_the_coordinates(kind):
    chain = Chain(kind, 5)
    qd = np.zeros(chain.nq)
    joint_rates(chain.record, 0, chain.q, 0, chain.eta, 0, qd)
    assert np.abs(qd - central(chain.moved)).max(initial=0.0) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
def test_constrained_directions_are_orthogonal_to_the_free_ones(kind):
    chain = Chain(kind, 7)
    C, _, _ = chain.directions(chain.q, chain.eta)
    directions, covectors = np.zeros((2, 1, 36))
    directions[0, : 6 * chain.nv] = C.T.ravel()
    complement(directions, covectors, 0, chain.nv)
    T = covectors[0, : 6 * (6 - chain.nv)].reshape(-1, 6)
    assert np.abs(T @ C).max(initial=0.0) < 1e-14
    assert np.linalg.matrix_rank(np.vstack([T, C.T])) == 6


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_primary_and_cut_joint_give_the_same_accelerations(kind, turned):
    for seed in range(3):
        model = two_bodies(kind, seed, turned=turned)
        joint, absolute = states(model)
        assert joint.compiled.n_constraints == 0
        assert absolute.compiled.n_constraints == 5 + 6 - model.joints["hinge"].nv
        assert difference(joint, absolute) < 1e-10
        k = absolute.compiled.topology.cuts.index("hinge")
        assert (
            np.abs(
                absolute.work.cut.eta[k, : model.joints["hinge"].nv] - model.joints["hinge"].v0
            ).max(initial=0.0)
            < 1e-11
        )
        joint.motion()
        ends = [
            joint.pose(str(end))
            for end in (model.joints["hinge"].parent, model.joints["hinge"].child)
        ]
        X = pose_by_motions(model.joints["hinge"].motions, model.joints["hinge"].q0)
        (A, a), (B, b) = ends
        assert np.abs(A.T @ B - X[:3, :3]).max() < 1e-13
        assert np.abs(A.T @ (b - a) - X[:3, 3]).max() < 1e-13


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("fixed", "spherical", "free")]
)
def test_a_driven_coordinate(kind, turned):
    """Position, rate and acceleration are the prescribed ones; drive torque and motion are those of
    the other coordinates.
    """
    model = two_bodies(kind, 11, turned=turned)
    motions = model.joints["hinge"].motions
    v = q = 0
    for motion in motions:
        if motion.nv == 1:
            name = f"drive {v}"
            law = fm.Sine(0.3, 0.4, phase=0.2 + v, offset=model.joints["hinge"].q0[q] - 0.1)
            if v != 1 or len(motions) < 3:
                model.add(fm.Drive(name, "hinge", law, coordinate=v))
        v, q = v + motion.nv, q + motion.nq
    joint, absolute = states(model)
    assert difference(joint, absolute) < 1e-10
    torque = [s.lam[s.system.drives.row] for s in (joint, absolute)]
    assert len(torque[0]) == len(model.drives) > 0
    assert np.abs(torque[0] - torque[1]).max() < 1e-9 * np.abs(torque[0]).max()
    place = joint.compiled.places["hinge"]
    at_s, at_q = joint.system.tree.s_at[place.body], joint.system.tree.q_at[place.body]
    for drive in model.drives.values():
        k, p = place.coordinate("drive", drive.coordinate)
        found = joint.q[at_q + p], joint.s[at_s + k], joint.sd[at_s + k]
        assert np.abs(np.array(found) - drive.motion.state(0.0)).max() < 1e-10 * (1 + abs(found[2]))
