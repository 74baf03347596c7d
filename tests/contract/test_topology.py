"""Random trees and closed loops: the block-sparse solution against the dense one, in joint and
absolute coordinates.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from samples import (
    GRAVITY,
    JOINTS,
    State,
    difference,
    flexible,
    rigid,
    some_frame,
    some_joint,
    state,
    states,
)
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.diagnosis.rank import redundant_rows
from flexmbs.dynamics.dense import multipliers_of_least_norm, terms

COORDINATES = ["joint", "absolute"]


def some_body(name, rng):
    return flexible(name, rng, int(rng.integers(1, 4))) if rng.random() < 0.6 else rigid(name, rng)


def random_tree(seed, n=6):
    """Bodies on random joints of random kinds, some declared from the child, one part without a
    joint to the ground.
    """
    rng = np.random.default_rng(seed)
    model = fm.Model("tree", gravity=GRAVITY, frames={"post": some_frame(rng)})
    places = [model.ground["post"]]
    for i in range(n):
        body = model.add(some_body(f"b{i}", rng))
        at = places[int(rng.integers(len(places)))]
        places += [body["b"], body["c"]]
        if i == n - 2:
            continue  # floats
        ends = (at, body["a"]) if rng.random() < 0.7 else (body["a"], at)
        model.add(some_joint(str(rng.choice(list(JOINTS))), f"j{i}", *ends, rng))
    return model


def with_items(model, frames=None, cuts=(), **sections):
    """A copy of a model with other ground frames, cuts, bodies or joints."""
    copy = fm.Model(
        model.name,
        gravity=model.gravity,
        frames=model.frames if frames is None else frames,
        cuts=cuts,
    )
    for section in ("bodies", "joints"):
        copy.items(section).update(sections.get(section, model.items(section)))
    return copy


def close(model, kind, a, b, rng):
    """Close a loop by a joint from frame ``a`` to a new frame on ``b``, the ground or a rigid body,
    exactly where it fits.
    """
    now = state(model)
    now.motion()
    make, parameters = JOINTS[kind]
    A, x = now.pose(a)
    B, y = now.pose(b)
    end = "end of " + a.partition("/")[0]
    place = {end: fm.Frame(tuple(B.T @ (x - y)), (B.T @ A).tolist())}
    if b == "ground":
        model = with_items(model, frames={**model.frames, **place})
    else:
        body = dataclasses.replace(model.bodies[b], frames={**model.bodies[b].frames, **place})
        model = with_items(model, bodies={**model.bodies, b: body})
    model.add(make(f"closing {b}", a, f"{b}/{end}", **parameters(rng)))
    return model


def loops(name):
    """Closed loops in random positions, the velocities as far
    from consistent as random ones are.
    """
    rng = np.random.default_rng(sum(map(ord, name)))
    model = fm.Model(name, gravity=GRAVITY, frames={"post": some_frame(rng)})
    make = rigid if name.startswith("rigid") else flexible
    crank, rod = model.add(make("crank", rng)), model.add(make("rod", rng))
    rocker = model.add(rigid("rocker", rng))
    model.add(some_joint("revolute", "main", model.ground["post"], crank["a"], rng))
    model.add(some_joint("spherical", "pin", crank["b"], rod["a"], rng))
    model.add(
        some_joint(
            "universal" if name.endswith("four-bar") else "cylindrical",
            "knee",
            rod["b"],
            rocker["a"],
            rng,
        )
    )
    if name.endswith("four-bar"):
        return close(model, "revolute", "rocker/b", "ground", rng)
    if name.endswith("on a moving base"):
        ends = ("rocker/b", "crank") if name.startswith("rigid") else ("crank/c", "rocker")
        return close(
            model, "universal" if name.startswith("rigid") else "chain with a ball", *ends, rng
        )
    tail = model.add(flexible("tail", rng, 2))
    model.add(some_joint("universal", "hip", rod["c"], tail["a"], rng))
    model = close(model, "cylindrical", "rocker/b", "ground", rng)
    return close(model, "spherical", "tail/b", "rocker", rng)


LOOPS = [
    "rigid four-bar",
    "flexible four-bar",
    "rigid on a moving base",
    "flexible on a moving base",
    "flexible coupled loops",
]


def dense_solution(now: State):
    """ṡ and λ of least norm from the dense [[M, Gᵀ], [G, 0]]."""
    t = terms(now.system, now.work, 0.0, now.q, now.s)
    n, nc = len(t.k), len(t.gamma)
    K = np.block([[t.M, -t.G.T], [t.G, np.zeros((nc, nc))]])
    x = np.linalg.lstsq(K, np.concatenate([t.k, t.gamma]), rcond=1e-12)[0]
    return t, x[:n], x[n:]


def check_against_dense(now: State):
    t, sd, lam = dense_solution(now)
    size = np.abs(t.k).max() + np.abs(t.M @ now.sd).max()
    assert np.abs(t.M @ now.sd - t.k - t.G.T @ now.lam).max() < 1e-11 * size
    assert np.abs(t.G @ now.sd - t.gamma).max(initial=0.0) < 1e-9 * (
        1.0 + np.abs(t.gamma).max(initial=0.0)
    )
    assert np.abs(now.sd - sd).max() < 1e-9 * np.abs(sd).max()
    assert np.abs(multipliers_of_least_norm(t.G, now.lam) - lam).max(initial=0.0) < 1e-8 * np.abs(
        lam
    ).max(initial=1.0)
    assert np.abs(t.g).max(initial=0.0) < 1e-10
    assert np.abs(t.gd).max(initial=0.0) < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_random_trees(seed):
    model = random_tree(seed)
    both = states(model)
    for now in both:
        check_against_dense(now)
        assert now.status == 0
    assert both[0].compiled.n_constraints == 0
    assert difference(*both) < 1e-9


@pytest.mark.parametrize("kind", ["fixed", "prismatic", "translation", "revolute", "chain"])
def test_point_masses_on_moving_bodies(kind):
    """A point mass turns with the body that carries it, in either coordinates, and may carry
    another body itself.
    """
    rng = np.random.default_rng(1)
    model = fm.Model("beads", gravity=GRAVITY, frames={"post": some_frame(rng)})
    arm = model.add(flexible("arm", rng))
    bead = model.add(fm.PointMass("bead", mass=0.7, frames={"off": some_frame(rng)}))
    pendant = model.add(rigid("pendant", rng))
    model.add(some_joint("cylindrical", "hinge", model.ground["post"], arm["a"], rng))
    model.add(some_joint(kind, "groove", arm["b"], bead["off"], rng))
    model.add(some_joint("universal", "eye", bead["off"], pendant["a"], rng))
    both = states(model)
    for now in both:
        check_against_dense(now)
        assert now.status == 0
    assert difference(*both) < 1e-10


@pytest.mark.parametrize("name", LOOPS)
def test_closed_loops(name):
    model = loops(name)
    both = states(model)
    for now in both:
        assert redundant_rows(now.compiled, now.q, now.s, now.work.beta[:-8]) == []
        check_against_dense(now)
    assert difference(*both) < 1e-8


def declared_at(model, now):
    """The model with a consistent state in absolute coordinates as its declared one."""
    joints, bodies = dict(model.joints), dict(model.bodies)
    for k, name in enumerate(now.compiled.topology.cuts):
        joint = joints[name]
        q0, v0 = (
            now.work.beta[now.system.cuts.beta_at[k] :][: joint.nq],
            now.work.cut.eta[k, : joint.nv],
        )
        joints[name] = dataclasses.replace(joint, q0=tuple(q0), v0=tuple(v0))
    for i, name in enumerate(now.compiled.bodies):
        tree = now.system.tree
        nf, at, to = tree.nf[i], tree.qf_at[i], tree.sf_at[i]
        if nf:
            bodies[name] = dataclasses.replace(
                bodies[name], qf0=tuple(now.q[at : at + nf]), qf_dot0=tuple(now.s[to : to + nf])
            )
    return with_items(model, bodies=bodies, joints=joints)


@pytest.mark.parametrize("name", LOOPS)
def test_any_cut_gives_the_same_motion(name):
    model = loops(name)
    now = state(model, "absolute")
    motion = now.motion()
    model = declared_at(model, now)
    # without it the linkage floats, wherever it starts
    bridge = {"main"} if name.endswith("base") else set()
    cuts = [joint for joint in model.joints if model.joints[joint].nv < 3 and joint not in bridge]
    assert cuts
    for cut in cuts:
        other = state(with_items(model, cuts=(cut,)))
        assert cut in other.compiled.topology.cuts
        check_against_dense(other)
        found = other.motion()
        for body in motion:
            assert np.abs(found[body] - motion[body]).max() < 1e-8 * (
                1 + np.abs(motion[body]).max()
            )


def planar_four_bar(knee=fm.Revolute, last=fm.Revolute):
    """Crank 0.3 m, rod 0.8 m, rocker 0.6 m, ground 0.7 m in the x-z plane, as uniform bars; closed
    at a crank angle of 0.7.
    """
    lengths = {"crank": 0.3, "rod": 0.8, "rocker": 0.6}
    model = fm.Model("four-bar", frames={"far": (0.7, 0, 0)})
    bars = {}
    for name, length in lengths.items():
        about = {"inertia": (1e-4, length**2 / 12, length**2 / 12), "com": (length / 2, 0, 0)}
        bars[name] = model.add(
            fm.RigidBody(name, mass=1.0, frames={"end": (length, 0, 0)}, **about)
        )
    angle = 0.7
    tip = 0.3 * np.array([np.cos(angle), np.sin(angle)])
    d = np.array([0.7, 0]) - tip
    span = np.hypot(*d)
    rod = np.arctan2(d[1], d[0]) + np.arccos((0.8**2 + span**2 - 0.6**2) / (2 * 0.8 * span))
    knee_at = tip + 0.8 * np.array([np.cos(rod), np.sin(rod)])
    rocker = np.arctan2(-knee_at[1], 0.7 - knee_at[0])
    model.add(fm.Revolute("main", model.ground, bars["crank"], axis="-y", q0=angle, v0=2.0))
    model.add(fm.Revolute("pin", bars["crank"]["end"], bars["rod"], axis="-y", q0=rod - angle))
    turn = Rotation.from_euler("y", rod - rocker).as_quat(scalar_first=True)
    given = {"axis": "-y", "q0": rocker - rod} if knee is fm.Revolute else {"q0": tuple(turn)}
    model.add(knee("knee", bars["rod"]["end"], bars["rocker"], **given))
    closed = {"q0": -rocker} if last is fm.Revolute else {}
    model.add(last("foot", bars["rocker"]["end"], model.ground["far"], axis="-y", **closed))
    return model


def crank_acceleration_of_the_plane(now):
    """Crank angle's acceleration of the four-bar from three absolute angles and two closing
    equations in the plane.
    """
    lengths = np.array([0.3, 0.8, 0.6])
    spin = -now.motion()["crank"][16]
    tips = [now.pose(f)[1] for f in ("ground", "crank/end", "rod/end", "rocker/end")]
    angle = np.array([np.arctan2((b - a)[2], (b - a)[0]) for a, b in itertools.pairwise(tips)])
    c, s = np.cos(angle), np.sin(angle)
    M = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for bar in range(max(i, j), 3):
                reach = [lengths[k] if k < bar else lengths[k] / 2 for k in (i, j)]
                M[i, j] += reach[0] * reach[1] * np.cos(angle[i] - angle[j]) + (
                    lengths[bar] ** 2 / 12 if i == j == bar else 0.0
                )
    carried = np.array([2.5, 1.5, 0.5]) * lengths
    G = np.vstack([-lengths * s, lengths * c])
    rate = np.linalg.lstsq(np.vstack([G, [1, 0, 0]]), [0, 0, spin], rcond=None)[0]
    k = -9.81 * carried * c
    for i in range(3):
        for j in range(3):
            for bar in range(max(i, j), 3):
                reach = [lengths[n] if n < bar else lengths[n] / 2 for n in (i, j)]
                k[i] -= reach[0] * reach[1] * np.sin(angle[i] - angle[j]) * rate[j] ** 2
    gamma = np.array([lengths * c, lengths * s]) @ rate**2
    K = np.block([[M, -G.T], [G, np.zeros((2, 2))]])
    return np.linalg.solve(K, np.concatenate([k, gamma]))[0]


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_redundant_planar_loop(coordinates):
    """Four revolute joints about y: 3 of the rows depend on others; the motion is that of the
    statically determinate linkage.
    """
    now = state(planar_four_bar(), coordinates)
    determinate = state(planar_four_bar(fm.Spherical, fm.Cylindrical), coordinates)
    for one in (now, determinate):
        expected = crank_acceleration_of_the_plane(one)
        assert abs(-one.motion()["crank"][22] - expected) < 1e-9 * abs(expected)
    assert now.status == 3
    assert determinate.status == 0
    found = dict(redundant_rows(now.compiled, now.q, now.s, now.work.beta[:-8]))
    assert sum(found.values()) == 3
    assert set(found) <= (
        {"foot", "knee", "pin", "main"} if coordinates == "absolute" else {"foot", "knee"}
    )
    t, sd, lam = dense_solution(now)
    assert np.abs(now.sd - sd).max() < 1e-9 * np.abs(sd).max()
    least = multipliers_of_least_norm(t.G, now.lam)
    assert np.abs(least - lam).max() < 1e-8 * np.abs(lam).max()
    assert np.linalg.norm(least) <= np.linalg.norm(now.lam) * (1 + 1e-12)
    assert np.abs(t.G.T @ (least - now.lam)).max() < 1e-9 * np.abs(now.lam).max()


def door(hinges):
    """A door on hinges along an axis across the frame axes; the second closes a loop whose rows are
    all round-off.
    """
    axis = np.array([1.0, 2.0, 3.0])
    places = {f"hinge{i}": tuple(i * axis) for i in range(hinges)}
    model = fm.Model("door", frames=places)
    leaf = model.add(
        fm.RigidBody("leaf", mass=3.0, inertia=(0.5, 0.3, 0.4), com=(0.7, -0.2, 0.1), frames=places)
    )
    for place in places:
        model.add(
            fm.Revolute(place, model.ground[place], leaf[place], axis=tuple(axis), q0=0.6, v0=1.0)
        )
    return model


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_second_hinge_changes_nothing(coordinates):
    one, two = state(door(1)), state(door(2), coordinates)
    assert (
        sum(rows for _, rows in redundant_rows(two.compiled, two.q, two.s, two.work.beta[:-8])) == 5
    )
    assert two.status == 5
    assert abs(one.sd[0]) > 1.0
    assert difference(one, two) < 1e-12
