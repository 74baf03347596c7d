"""Contract of knife edges and rolling contacts: rows and rates from the geometry, the same
accelerations under every formalism."""

import dataclasses
import functools

import numpy as np
import pytest
from instants import instants_of, reference
from samples import (
    GRAVITY,
    Random,
    State,
    flexible,
    rigid,
    some_axis,
    some_frame,
    some_joint,
    state_of,
)
from scipy.interpolate import CubicSpline, RectBivariateSpline
from scipy.optimize import brentq, minimize_scalar
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.dynamics.constraints import constraint_wrench
from flexmbs.dynamics.dense import Terms, multipliers_of_least_norm
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.work import make_work
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import InitialState, consistent_state
from flexmbs.model.joints import Joint
from flexmbs.model.relations import (
    Distance,
    KnifeEdge,
    PointOnCurve,
    PointOnSurface,
    Relation,
    RollingDisc,
    RollingSphere,
)
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Evaluation

RELATIONS = {
    "distance": lambda rng: (fm.Distance, {"length": 0.9, "axis": some_axis(rng)}),
    "knife-edge": lambda rng: (fm.KnifeEdge, {"axis": some_axis(rng)}),
    "rolling-disc": lambda rng: (
        fm.RollingDisc,
        {"axis": some_axis(rng), "normal": some_axis(rng), "radius": 0.7, "rim": 0.2},
    ),
    "rolling-disc thin": lambda rng: (
        fm.RollingDisc,
        {"axis": some_axis(rng), "normal": some_axis(rng), "radius": 0.7},
    ),
    "disc-on-plane": lambda rng: (
        fm.DiscOnPlane,
        {"axis": some_axis(rng), "normal": some_axis(rng), "radius": 0.7, "rim": 0.2},
    ),
    "rolling-sphere": lambda rng: (fm.RollingSphere, {"normal": some_axis(rng), "radius": 0.7}),
    "point-on-curve": lambda rng: (fm.PointOnCurve, {"points": ellipse(rng), "closed": True}),
    "point-on-curve planar": lambda rng: (
        fm.PointOnCurve,
        {"points": ellipse(rng)[:-4], "planar": True},
    ),
    "point-on-surface": lambda rng: (
        fm.PointOnSurface,
        {"x": GRID, "y": GRID + 0.3, "heights": hills(rng)},
    ),
}
GRID = np.linspace(-4.0, 4.0, 17)
CASES = [(kind, seed) for kind in RELATIONS for seed in range(3)]


def ellipse(rng: Random) -> np.ndarray:
    """Points in a plane of any direction."""
    a = np.linspace(0.0, 2.0 * np.pi, 17)[:-1]
    return (
        np.column_stack([0.9 * np.cos(a), 0.6 * np.sin(a), 0.0 * a])
        @ Rotation.random(rng=rng).as_matrix().T
    )


def hills(rng: Random) -> np.ndarray:
    a, b = rng.uniform(0.5, 1.0, 2)
    return 0.3 * np.sin(a * GRID)[:, None] * np.cos(b * GRID)


def spline_of(joint: PointOnCurve) -> tuple[CubicSpline, float]:
    """The curve over its chord length, and its end."""
    x = np.array(joint.points)
    x = np.vstack([x, x[:1]]) if joint.closed else x
    u = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    return CubicSpline(u, x, bc_type="periodic" if joint.closed else "natural"), u[-1]


def nearest_on(joint: PointOnCurve, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest point of the curve by search, and its tangent."""
    curve, end = spline_of(joint)
    samples = np.linspace(0.0, end, 2001)
    best = samples[np.argmin(np.linalg.norm(curve(samples) - x, axis=1))]
    u = brentq(
        lambda u: (curve(u) - x) @ curve(u, 1), best - end / 1500, best + end / 1500, xtol=1e-14
    )
    return curve(u), curve(u, 1) / np.linalg.norm(curve(u, 1))


def surface_of(joint: PointOnSurface) -> RectBivariateSpline:
    return RectBivariateSpline(joint.x, joint.y, joint.heights)


def test_every_registered_kind_is_here():
    own = {
        kind
        for kind, made in Joint.kinds.items()
        if issubclass(made, Relation) and "function" not in made.field_names()
    }
    assert {name.split()[0] for name in RELATIONS} == own


def upright(normal: tuple[float, ...], axis: tuple[float, ...], rng: Random) -> Rotation:
    """Rotation of the child in the parent that puts the axle
    at 60 to 120 degrees from the normal.
    """
    across = np.cross(normal, rng.normal(size=3))
    axle = across / np.linalg.norm(across) + rng.uniform(-0.5, 0.5) * np.array(normal)
    return Rotation.align_vectors([axle / np.linalg.norm(axle)], [axis])[0]


def rolling(kind: str, seed: int) -> fm.Model:
    """ground – revolute – "first", and "second" free; one carries the plane and the other the
    blade, wheel or sphere.
    """
    rng = np.random.default_rng((seed, sum(map(ord, kind))))
    model = fm.Model("rolling", gravity=GRAVITY, frames={"post": some_frame(rng)})
    first = model.add(flexible("first", rng))
    second = model.add(rigid("second", rng) if seed == 1 else flexible("second", rng, nf=2))
    model.add(some_joint("revolute", "base", model.ground["post"], first["a"], rng))
    make, parameters = RELATIONS[kind](rng)
    ends = (second["a"], first["b"]) if seed == 2 else (first["b"], second["a"])
    relation = make("contact", *ends, **parameters)
    normal, axis = (
        getattr(relation, "normal", (0.0, 0.0, 1.0)),
        getattr(relation, "axis", (0.0, 1.0, 0.0)),
    )
    turn = upright(normal, axis, rng)
    x = 0.6 * np.array(normal) + np.cross(normal, rng.normal(size=3))
    # on it: the search for the start would be most of the time
    if isinstance(relation, PointOnCurve):
        x = spline_of(relation)[0](rng.uniform(0.5, 1.5))
    if seed == 2:  # the free body carries the plane
        turn, x = turn.inv(), -turn.inv().apply(x)
    pose = (*x, *turn.as_quat(scalar_first=True))
    model.add(fm.Free("motion", first["b"], second["a"], q0=pose, v0=tuple(rng.normal(size=6))))
    model.add(relation)
    return model


@functools.cache
def assembled(kind: str, seed: int) -> tuple[Compiled, InitialState]:
    """The model at its consistent start."""
    return consistent_state(rolling(kind, seed))


def at(now: State, q: np.ndarray, s: np.ndarray, sd: np.ndarray, t: float = 0.0) -> State:
    """The state elsewhere, its kinematics in `work`."""
    kinematics(now.system, now.work, t, q, s, sd)
    return dataclasses.replace(now, q=q, s=s, sd=sd)


def moved(now: State, d: np.ndarray) -> np.ndarray:
    q = now.q.copy()
    displace(now.system.tree, now.system.joints, now.q, d, q)
    return q


def central(f, h=1e-3):
    """f'(0) of order 6."""
    return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)


def ends(now: State) -> tuple[np.ndarray, np.ndarray]:
    """Pose (R, x) of the child's frame in the parent's."""
    joint = now.compiled.model.joints["contact"]
    (A, a), (B, b) = now.pose(str(joint.parent)), now.pose(str(joint.child))
    return A.T @ B, A.T @ (b - a)


def lowest_point(joint: RollingDisc | RollingSphere, R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The point of the tread nearest to the plane, in the parent's axes, by search."""
    if isinstance(joint, (Distance, PointOnCurve, PointOnSurface)):
        return x
    n = np.array(joint.normal)
    if isinstance(joint, RollingSphere):
        return x - joint.radius * n
    axle = R @ np.array(joint.axis)
    e = np.cross(axle, n)
    f = np.cross(axle, e / np.linalg.norm(e))
    e /= np.linalg.norm(e)

    def point(angle: float) -> np.ndarray:
        return x + (joint.radius - joint.rim) * (np.cos(angle) * e + np.sin(angle) * f)

    angles = np.linspace(0.0, 2.0 * np.pi, 73)
    best = angles[np.argmin([n @ point(a) for a in angles])]
    angle = minimize_scalar(
        lambda a: n @ point(a),
        bounds=(best - 0.1, best + 0.1),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    return point(angle) - joint.rim * n


def directions(joint: Relation, R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The directions of the rows in the parent's axes, (rows, 3)."""
    if isinstance(joint, KnifeEdge):
        return np.array([R @ np.array(joint.axis)])
    if isinstance(joint, Distance):
        return np.array([x / np.linalg.norm(x)])
    if isinstance(joint, PointOnSurface):
        f = surface_of(joint)
        return np.array([[-f(x[0], x[1], dx=1)[0, 0], -f(x[0], x[1], dy=1)[0, 0], 1.0]])
    if isinstance(joint, PointOnCurve):
        normal = np.linalg.svd(np.array(joint.points) - np.mean(joint.points, axis=0))[2][2]
        return np.array([np.cross(normal, nearest_on(joint, x)[1]), normal])[: joint.rows]
    n = np.array(joint.normal)
    if isinstance(joint, RollingDisc):
        track = np.cross(R @ np.array(joint.axis), n)
        track /= np.linalg.norm(track)
        return np.array([n, track, np.cross(n, track)])[: joint.rows]
    first = np.cross(n, [0.3, 0.5, 0.8])
    first /= np.linalg.norm(first)
    return np.array([n, first, np.cross(n, first)])


def height(joint: Relation, R: np.ndarray, x: np.ndarray) -> float:
    """The first g, from the geometry."""
    if isinstance(joint, Distance):
        return float(np.linalg.norm(x) - joint.length)
    if isinstance(joint, PointOnSurface):
        return float(x[2] - surface_of(joint)(x[0], x[1])[0, 0])
    if isinstance(joint, PointOnCurve):
        return float(directions(joint, R, x)[0] @ (x - nearest_on(joint, x)[0]))
    return float(np.array(joint.normal) @ lowest_point(joint, R, x))


@functools.cache
def slip_rows(kind: str, seed: int) -> np.ndarray:
    """Velocity of the child's material point at the contact per unit velocities, along the rows'
    directions, (rows, ns).
    """
    now = state_of(*assembled(kind, seed))
    joint, (R, x) = now.compiled.model.joints["contact"], ends(now)
    point = (
        R.T @ (lowest_point(joint, R, x) - x) if not isinstance(joint, KnifeEdge) else np.zeros(3)
    )
    zero = np.zeros(len(now.s))

    def place(d: np.ndarray) -> np.ndarray:
        B, b = ends(at(now, moved(now, d), zero, zero))
        return B @ point + b

    columns = [central(lambda h, e=e: place(h * e)) for e in np.eye(len(now.s))]
    return directions(joint, R, x) @ np.array(columns).T


def contact_rows(now: State) -> slice:
    k = now.compiled.topology.cuts.index("contact")
    first = int(now.system.cuts.row[k])
    return slice(first, first + now.compiled.model.joints["contact"].rows)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_rows_are_the_velocity_of_the_contact_point(kind, seed):
    """G from the motion of the material point; the span of the tangents where the sphere's are free
    to choose.
    """
    now = state_of(*assembled(kind, seed))
    t = instants_of(*assembled(kind, seed))["joint"].terms()
    rows = contact_rows(now)
    wanted, found = slip_rows(kind, seed), t.G[rows]
    if kind == "rolling-sphere":
        wanted, found = (
            [A[0], *A[1:].T @ np.linalg.solve(A[1:] @ A[1:].T, A[1:])] for A in (wanted, found)
        )
    assert np.abs(np.array(found) - np.array(wanted)).max() < 2e-8
    assert np.abs(t.gd).max() < 1e-11
    assert np.abs(t.g).max() < 1e-10


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_height_and_rates(kind, seed):
    """g is the height of the lowest point and differentiates to G s, G s to G ṡ − γ."""
    now = state_of(*assembled(kind, seed))
    rows = contact_rows(now)
    rng = np.random.default_rng(seed)
    s, sd = rng.normal(size=(2, len(now.s)))

    def values(h: float) -> np.ndarray:
        at(now, moved(now, h * s + 0.5 * h * h * sd), s + h * sd, sd)
        return np.array(now.work.gs)[:, rows]

    here = values(0.0)
    joint = now.compiled.model.joints["contact"]
    positions = slice(0, joint.position_rows)
    assert (
        np.abs(here[1, positions] - central(lambda h: values(h)[0, positions])).max(initial=0.0)
        < 1e-9
    )
    assert np.abs(here[2] - central(lambda h: values(h)[1])).max() < 1e-8
    assert not here[0, joint.position_rows :].any()
    if joint.position_rows:
        lifted = at(now, moved(now, 0.05 * s), s, sd)
        R, x = ends(lifted)
        assert abs(now.work.gs.position[rows.start] - height(joint, R, x)) < 1e-10


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_every_formalism_gives_the_same_accelerations(kind, seed):
    """Those of Udwadia and Kalaba's formula on the dense terms, whose rows come from the motion of
    the contact point.
    """
    now = state_of(*assembled(kind, seed))
    for coordinates, instant in instants_of(*assembled(kind, seed)).items():
        t = instant.terms()
        joint = now.compiled.model.joints["contact"]
        assert t.G.shape[0] == joint.rows + (5 if coordinates == "absolute" else 0)
        wanted = reference(t)
        if coordinates == "joint":
            G = slip_rows(kind, seed)
            # the sphere's tangents in those of the test
            scale = np.linalg.lstsq(G.T, t.G.T, rcond=None)[0]
            independent = Terms(
                t.M,
                t.k,
                G,
                np.linalg.solve(scale.T, t.gamma),
                t.g[: joint.rows],
                t.gd[: joint.rows],
            )
            assert np.abs(reference(independent).sd - wanted.sd).max() < 1e-6 * (
                1.0 + np.abs(wanted.sd).max()
            )
        for formalism in FORMALISMS.values():
            if coordinates not in formalism.coordinates:
                continue
            sd, lam = evaluate(
                instant.compiled, formalism(), 0.0, instant.q, instant.s, instant.z, instant.beta
            )
            assert np.abs(sd - wanted.sd).max() < 1e-9 * (1.0 + np.abs(wanted.sd).max())
            assert np.abs(multipliers_of_least_norm(t.G, lam) - wanted.lam).max() < 1e-9 * (
                1.0 + np.abs(wanted.lam).max()
            )


@pytest.mark.parametrize("kind", ["knife-edge", "rolling-disc"])
def test_quasi_velocities_keep_their_values(kind):
    """Random σ = B s: the same ṡ and λ; of velocities that break the constraints σ stays, the
    others follow.
    """
    instant = instants_of(*assembled(kind, 0))["joint"]
    t, rng = instant.terms(), np.random.default_rng(1)
    B = rng.normal(size=(len(t.k) - len(t.G), len(t.k)))
    form, wanted = fm.Embedding(quasi_velocities=B), reference(t)
    sd, lam = evaluate(instant.compiled, form, 0.0, instant.q, instant.s, instant.z, instant.beta)
    assert np.abs(sd - wanted.sd).max() < 1e-9 * (1.0 + np.abs(wanted.sd).max())
    assert np.abs(lam - wanted.lam).max() < 1e-9 * (1.0 + np.abs(wanted.lam).max())
    work, workspace = (
        make_work(instant.compiled.system, instant.beta),
        form.workspace(instant.compiled),
    )
    q, s = instant.q.copy(), instant.s + rng.normal(size=len(t.k))
    sigma = B @ s
    assert np.abs(t.G @ s).max() > 0.1
    form.accelerations(
        instant.compiled.system, work, workspace, 0.0, Evaluation(q, s, sd, lam, instant.z, work.r)
    )
    assert np.abs(B @ s - sigma).max() < 1e-11
    assert np.abs(t.G @ s).max() < 1e-11


@pytest.mark.parametrize("kind", ["rolling-disc", "rolling-sphere"])
def test_the_reaction_is_a_force_at_the_contact_point(kind):
    now = state_of(*assembled(kind, 0))
    joint, (R, x) = now.compiled.model.joints["contact"], ends(now)
    f, n = constraint_wrench(
        now.system.cuts, now.work.cut, now.compiled.topology.cuts.index("contact"), now.lam
    )
    arm = R.T @ (lowest_point(joint, R, x) - x)
    assert np.abs(np.array(n) - np.cross(arm, f)).max() < 1e-6 * np.abs(f).max()
    normal = now.lam[contact_rows(now)][0]
    assert abs((R @ np.array(f)) @ np.array(joint.normal) - normal) < 1e-9 * np.abs(f).max()
