"""Initial states of mechanisms declared approximately, or with the crank only; bodies are not
deformed, joints move.
"""

import functools
import warnings

import numpy as np
import pytest
from bars import bar
from draws import drawn
from scipy.spatial.transform import Rotation

import flexmbs as fm
import preprocess as pp
from flexmbs.diagnosis.assemble import Assembly
from flexmbs.dynamics.dense import elastic_velocities, terms
from flexmbs.dynamics.work import make_work

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
CRANK, ROD, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.7
AT = 0.7  # rad, of the crank
NEAR = 0.5  # rad


@functools.cache
def beam(length: float) -> fm.FlexibleBodyData:
    mesh = pp.box_mesh((length, 0.02, 0.02), (4, 1, 1), "hex20", origin=(0.0, -0.01, -0.01))
    ends = {"root": pp.Rigid("x0"), "end": pp.Rigid("x1")}
    return pp.reduce(
        mesh, STEEL, interfaces=ends, method=pp.CraigBampton(modes=4), reference="root", name="beam"
    )


def link(name: str, length: float, *, flexible: bool = False) -> fm.RigidBody | fm.FlexibleBody:
    if flexible:
        return fm.FlexibleBody(name, data=beam(length))
    return bar(name, length, root=(0, 0, 0))


def closed(angle: float) -> dict[str, float]:
    """Joint angles of the four-bar with the knee above the line."""
    tip = CRANK * np.array([np.cos(angle), np.sin(angle)])
    d = np.array([GROUND, 0.0]) - tip
    span = np.hypot(*d)
    rod = np.arctan2(d[1], d[0]) + np.arccos((ROD**2 + span**2 - ROCKER**2) / (2 * ROD * span))
    knee = tip + ROD * np.array([np.cos(rod), np.sin(rod)])
    rocker = np.arctan2(knee[1], knee[0] - GROUND)
    return {"main": angle, "pin": rod - angle, "foot": rocker, "knee": rocker - rod}


def four_bar(
    q0: dict[str, float], *, flexible: str = "", cut: str = "knee", v0: float | None = None
) -> fm.Model:
    """Crank and rocker on the ground, the rod between; one of the joints is cut. ``flexible``:
    names of bodies.
    """
    model = fm.Model("four-bar", frames={"far": (GROUND, 0, 0)}, cuts=(cut,))
    lengths = {"crank": CRANK, "rod": ROD, "rocker": ROCKER}
    bars = {
        name: model.add(link(name, length, flexible=name in flexible))
        for name, length in lengths.items()
    }
    model.add(fm.Revolute("main", model.ground, bars["crank"]["root"], q0=q0.get("main"), v0=v0))
    model.add(fm.Revolute("pin", bars["crank"]["end"], bars["rod"]["root"], q0=q0.get("pin")))
    model.add(fm.Revolute("foot", model.ground["far"], bars["rocker"]["root"], q0=q0.get("foot")))
    model.add(fm.Revolute("knee", bars["rod"]["end"], bars["rocker"]["end"], q0=q0.get("knee")))
    return model


def elastic(found: Assembly) -> tuple[np.ndarray, np.ndarray]:
    """All elastic coordinates and their rates."""
    system = found.compiled.system
    q = [found.state.q[at : at + nf] for at, nf in zip(system.tree.qf_at, system.tree.nf)]
    return np.concatenate(q), found.state.s[elastic_velocities(system)]


def gaps(found: Assembly) -> tuple[float, float]:
    """Largest |g| and |G s + γ̄|."""
    work = make_work(found.compiled.system, found.state.beta)
    now = terms(found.compiled.system, work, 0.0, found.state.q, found.state.s)
    return float(np.abs(now.g).max(initial=0.0)), float(np.abs(now.gd).max(initial=0.0))


def position(found: Assembly, joint: str) -> np.ndarray:
    return found.joints[joint].position


def check_start(found: Assembly) -> None:
    """On all constraints, bodies undeformed and without rates, to the last bit."""
    g, gd = gaps(found)
    speed = np.abs(found.state.s).max(initial=0.0)
    assert g < 1e-12
    assert gd < 1e-12 * max(1.0, speed)
    for values in elastic(found):
        assert not values.any()


@pytest.mark.parametrize("cut", ["knee", "foot", "pin"])
@pytest.mark.parametrize("flexible", ["", "rod", "crank rod rocker"])
@pytest.mark.parametrize("seed", drawn(2, 20))
def test_rough_angles_of_a_four_bar(seed: int, flexible: str, cut: str) -> None:
    """All angles declared, each wrong by up to half a radian: the machine closes near them."""
    rng = np.random.default_rng(seed)
    wrong = {name: angle + rng.uniform(-NEAR, NEAR) for name, angle in closed(AT).items()}
    with pytest.warns(fm.AssemblyWarning, match="the declared value had to change"):
        found = fm.assemble(four_bar(wrong, flexible=flexible, cut=cut))
    check_start(found)
    assert max(abs(float(position(found, name)[0]) - wrong[name]) for name in wrong) < 2.0


@pytest.mark.parametrize("cut", ["knee", "foot", "pin"])
@pytest.mark.parametrize("flexible", ["", "rod", "crank rod rocker"])
@pytest.mark.parametrize("angle", [0.0, AT, 2.5, -1.0, np.pi])
def test_a_crank_alone_is_declared(angle: float, flexible: str, cut: str) -> None:
    model = four_bar({"main": angle}, flexible=flexible, cut=cut, v0=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fm.AssemblyWarning)
        found = fm.assemble(model, strict=True)
    check_start(found)
    assert abs(position(found, "main")[0] - angle) < 1e-12
    assert abs(found.joints["main"].velocity[0] - 10.0) < 1e-10
    assert {moved.joint for moved in found.moved} <= {"pin", "foot", "knee"}
    report = model.check()
    assert report.errors == []
    assert not [line for line in report.warnings if "declared" in line]


def test_what_is_ready_starts_and_runs() -> None:
    """A typical flexible mechanism: a crank at 10 rad/s determines the others; its angles are those
    of the closed form.
    """
    model = four_bar({"main": AT}, flexible="rod", v0=10.0)
    assert str(model.check()).endswith("ready to run")
    for coordinates in ("joint", "absolute"):
        solution = fm.simulate(model, t_end=2e-3, step=1e-3, coordinates=coordinates)
        assert abs(solution.joint("main").velocity[0, 0] - 10.0) < 1e-9
        assert not solution.body("rod").elastic[0].any()
        assert abs(solution.joint("main").position[-1, 0] - AT - 0.02) < 2e-3
    tip = CRANK * np.array([np.cos(AT), np.sin(AT)])
    # to the foot, about which the two closed positions are mirrored
    line = np.arctan2(-tip[1], GROUND - tip[0])
    above = closed(AT)["pin"]
    pin = float(position(fm.assemble(model), "pin")[0])
    assert (
        min(abs(np.angle(np.exp(1j * (pin - angle)))) for angle in (above, 2 * (line - AT) - above))
        < 1e-9
    )


def test_declared_zeros_are_declared() -> None:
    """The crank is kept at zero, and at rest, where the foot moves."""
    model = four_bar({"main": 0.0}, v0=0.0)
    object.__setattr__(model.joints["foot"], "v0", (2.0,))
    with pytest.warns(
        fm.AssemblyWarning, match=r"joints\.(main|foot)\.v0: the declared value had to change by"
    ):
        fm.assemble(model)
    object.__setattr__(model.joints["main"], "v0", None)
    found = fm.assemble(model, strict=True)
    assert abs(position(found, "main")[0]) < 1e-15
    assert abs(found.joints["foot"].velocity[0] - 2.0) < 1e-12


def slider_crank(angle: float, *, flexible: bool, v0: float | None) -> fm.Model:
    model = fm.Model("slider-crank")
    crank, rod = model.add(link("crank", CRANK)), model.add(link("rod", ROD, flexible=flexible))
    slider = model.add(fm.RigidBody("slider", mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("motor", model.ground, crank["root"], q0=angle, v0=v0))
    model.add(fm.Revolute("pin", crank["end"], rod["root"]))
    model.add(fm.Prismatic("guide", model.ground, slider, axis="x"))
    model.add(fm.Revolute("wrist", rod["end"], slider))
    return model


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("angle", [0.0, np.pi, 1e-7, np.pi - 1e-9, 0.4, np.pi / 2])
def test_speed_of_the_motor_at_and_near_dead_centres(angle: float, flexible: bool) -> None:
    found = fm.assemble(slider_crank(angle, flexible=flexible, v0=10.0), strict=True)
    check_start(found)
    tilt = float(position(found, "pin")[0]) + angle
    assert abs(found.joints["motor"].velocity[0] - 10.0) < 1e-12
    rate = -CRANK * np.cos(angle) / (ROD * np.cos(tilt)) * 10.0
    assert found.joints["pin"].velocity[0] == pytest.approx(rate - 10.0, abs=1e-9)
    assert found.joints["guide"].velocity[0] == pytest.approx(
        -CRANK * np.sin(angle) * 10 - ROD * np.sin(tilt) * rate, abs=1e-9
    )


def test_drives_beat_what_is_declared() -> None:
    model = four_bar({"main": 0.5}, v0=3.0)
    model.add(fm.Drive("motor", "main", fm.Ramp(AT, 10.0)))
    with pytest.warns(
        fm.AssemblyWarning, match=r"joints\.main\.q0: the declared value had to change by 0\.2 "
    ):
        found = fm.assemble(model)
    assert abs(position(found, "main")[0] - AT) < 1e-12
    assert abs(found.joints["main"].velocity[0] - 10.0) < 1e-12
    with pytest.raises(
        fm.InputError, match=r"joints\.main\.q0: the declared value had to change by 0\.2 "
    ):
        fm.assemble(model, strict=True)


def test_undeclared_joints_follow_a_drive_without_a_word() -> None:
    model = four_bar({}, flexible="rod")
    model.add(fm.Drive("motor", "main", fm.Sine(0.4, 3.0, offset=AT)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_start(fm.assemble(model, strict=True))


def test_contradictions_are_reported_by_run_and_check() -> None:
    right = closed(AT)
    model = four_bar(right | {"foot": right["foot"] + 0.01})
    told = [
        warning
        for warning in model.check().warnings
        if "the declared value had to change by" in warning
    ]
    assert {line.split(":")[0] for line in told} == {f"joints.{name}.q0" for name in right}
    with pytest.warns(fm.AssemblyWarning):
        solution = fm.simulate(model, t_end=0.01, step=0.01)
    assert any("against the declared q0" in note for note in solution.run.notes)
    with pytest.raises(fm.InputError, match=r"joints\.main\.q0: the declared value had to change"):
        fm.simulate(model, t_end=0.01, step=0.01, initial=fm.Assemble(strict=True))


def test_what_cannot_start_is_not_ready() -> None:
    """A massless crank turns about a point mass on its axis."""
    model = fm.Model("no inertia")
    crank = model.add(fm.RigidBody("crank", mass=0.0, inertia=(0, 0, 0)))
    model.add(fm.Revolute("main", model.ground, crank))
    model.add(fm.Fixed("pin", crank, model.add(fm.PointMass("load", mass=1.0))))
    assert any("its motion has no inertia" in error for error in model.check().errors)
    with pytest.raises(fm.InputError, match=r"bodies\.crank: its motion has no inertia"):
        fm.simulate(model, t_end=0.1, step=0.01)


@pytest.mark.parametrize("inertia", [1e9, 1e26])
def test_the_body_with_negative_inertia_is_named(inertia: float) -> None:
    """Its scaled mass matrix overflowed."""
    model = fm.Model("unphysical")
    first = model.add(fm.RigidBody("first", mass=1.0, inertia=(1, 1, 1), com=(0.1, 0.2, 0.3)))
    second = model.add(fm.RigidBody("second", mass=1.0, inertia=(-inertia, 1, 1), unphysical=True))
    model.add(fm.Spherical("a", model.ground, first))
    model.add(fm.Spherical("b", first, second))
    assert model.check().errors == [
        "bodies.second: its motion has no inertia (mass matrix not positive definite); give it mass"
    ]


def clamped(stretch: float) -> fm.Model:
    """A flexible beam between two walls that are farther apart than it is long."""
    model = fm.Model("clamped", gravity=(0, 0, 0), frames={"wall": (ROD + stretch, 0, 0)})
    rod = model.add(fm.FlexibleBody("rod", data=beam(ROD)))
    model.add(fm.Fixed("left", model.ground, rod["root"]))
    model.add(fm.Fixed("right", rod["end"], model.ground["wall"]))
    return model


def test_bodies_bend_only_where_asked() -> None:
    """An incompatibility of 0.1 mm: rejected, or closed with least strain energy, the equilibrium
    without loads.
    """
    model = clamped(1e-4)
    with pytest.raises(
        fm.InputError,
        match=r"joints\.(left|right): the loop does not close, residual gap 0\.0001 "
        r".*Assemble\(elastic=True\)",
    ):
        fm.assemble(model)
    assert any("does not close" in error for error in model.check().errors)
    found = fm.assemble(model, elastic=True)
    assert gaps(found)[0] < 1e-12
    bent, rest = elastic(found)[0], fm.statics(model).state.q
    np.testing.assert_allclose(bent, rest, atol=1e-6 * np.abs(rest).max())
    energy = 0.5 * bent @ beam(ROD).K_ff @ bent
    # EA u²/2l, the ends held in width too
    assert energy == pytest.approx(0.5 * 2.1e11 * 0.02**2 / ROD * 1e-4**2, rel=0.05)
    run = fm.simulate(model, t_end=1e-5, step=1e-5, initial=fm.Assemble(elastic=True))
    assert run.run.outcome == "finished"
    assert "Second opinion" not in {check.title for check in run.audit if check.status != "PASS"}


def test_bodies_that_need_not_bend_do_not() -> None:
    check_start(fm.assemble(four_bar({"main": AT}, flexible="rod"), elastic=True))


def rssr() -> tuple[fm.Model, dict[str, tuple[float, ...]]]:
    """Crank about z, coupler with a ball at each end, rocker about y; closed at the returned
    coordinates.
    """
    model = fm.Model("RSSR", frames={"far": (0.9, 0.3, 0.1)})
    crank, coupler, rocker = model.add(link("crank", 0.25)), None, None
    A = 0.25 * np.array([np.cos(0.5), np.sin(0.5), 0.0])
    B = np.array([0.9, 0.3, 0.1]) + Rotation.from_rotvec([0, -1.1, 0]).apply([0.5, 0, 0])
    way = B - A
    coupler, rocker = (
        model.add(link("coupler", float(np.linalg.norm(way)))),
        model.add(link("rocker", 0.5)),
    )
    world = Rotation.align_vectors([way], [[1.0, 0, 0]])[0]
    first = Rotation.from_rotvec([0, 0, -0.5]) * world
    second = world.inv() * Rotation.from_rotvec([0, -1.1, 0])
    model.add(fm.Revolute("main", model.ground, crank["root"], axis="z"))
    model.add(fm.Spherical("ball", crank["end"], coupler["root"]))
    model.add(fm.Revolute("foot", model.ground["far"], rocker["root"], axis="y"))
    model.add(fm.Spherical("knee", coupler["end"], rocker["end"]))
    turns = {
        name: tuple(turn.as_quat(scalar_first=True))
        for name, turn in (("ball", first), ("knee", second))
    }
    return model, {"main": (0.5,), "foot": (-1.1,)} | turns


def bennett() -> tuple[fm.Model, dict[str, tuple[float, ...]]]:
    """a/sin α = b/sin β, θ3 = 2π − θ1, θ4 = 2π − θ2, tan ½θ1 tan ½θ2 = sin ½(β+α)/sin ½(β−α)
    (Bennett 1903).
    """
    a, alpha, beta = 0.5, 0.6, 1.1
    b = a * np.sin(beta) / np.sin(alpha)
    model = fm.Model("Bennett", frames={"last": fm.Frame((b, 0, 0), ("x", beta))})
    end, sides = model.ground["last"], [(a, alpha), (b, beta), (a, alpha)]
    one = 1.9
    two = 2.0 * np.arctan(np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2) / np.tan(one / 2))
    angles = [one, two, -one, -two]
    for k, (length, turn) in enumerate(sides):
        frames = {"end": fm.Frame((length, 0, 0), ("x", turn))}
        link = model.add(
            fm.RigidBody(
                f"link{k}",
                mass=1.0,
                inertia=(0.01, 0.02, 0.02),
                com=(length / 2, 0, 0),
                frames=frames,
            )
        )
        model.add(fm.Revolute(f"P{k}", end, link))
        end = link["end"]
    model.add(fm.Revolute("P3", end, model.ground))
    return model, {f"P{k}": (float(angle),) for k, angle in enumerate(angles)}


def bricard() -> tuple[fm.Model, dict[str, tuple[float, ...]]]:
    """Six revolutes along the edges of a cube."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    model = fm.Model("Bricard", frames={"P5": tuple(points[5])})
    end: fm.FrameRef = model.ground
    for i, way in enumerate(np.diff(points, axis=0)):
        inertia = tuple(np.where(way == 0.0, 0.084, 0.002))
        rod = model.add(
            fm.RigidBody(
                f"rod{i}", mass=1.0, inertia=inertia, com=tuple(way / 2), frames={"end": tuple(way)}
            )
        )
        model.add(fm.Revolute(f"P{i}", end, rod, axis="yzxyz"[i]))
        end = rod["end"]
    model.add(fm.Revolute("P5", end, model.ground["P5"], axis="x"))
    return model, {f"P{i}": (0.0,) for i in range(6)}


def disturbed(q: tuple[float, ...], rng: np.random.Generator, size: float) -> tuple[float, ...]:
    """Coordinates wrong by up to ``size``; a quaternion by a rotation of that angle."""
    if len(q) == 1:
        return (q[0] + rng.uniform(-size, size),)
    turn = Rotation.from_quat(q, scalar_first=True) * Rotation.from_rotvec(
        rng.uniform(-size, size, 3) / np.sqrt(3)
    )
    return tuple(turn.as_quat(scalar_first=True))


def with_values(
    model: fm.Model, q0: dict[str, tuple[float, ...]], v0: dict[str, float] | None = None
) -> fm.Model:
    for name, joint in model.joints.items():
        object.__setattr__(joint, "q0", q0.get(name))
        object.__setattr__(joint, "v0", (v0[name],) if v0 and name in v0 else None)
    return model


@pytest.mark.parametrize("linkage", [rssr, bennett, bricard])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("seed", drawn(2, 10))
def test_loops_in_space(seed: int, linkage, cut: bool) -> None:
    """Closed at the known position; from approximate coordinates; from the declared crank, whose
    speed is kept, with the others nearby."""
    rng = np.random.default_rng(seed)
    model, right = linkage()
    first = next(iter(right))
    if cut:
        model.cuts = (first,)
    exact = fm.assemble(with_values(model, right), strict=True)
    assert max(gaps(exact)) < 1e-12
    wrong = {name: disturbed(q, rng, NEAR) for name, q in right.items()}
    with pytest.warns(fm.AssemblyWarning):
        found = fm.assemble(with_values(model, wrong))
    assert gaps(found)[0] < 1e-10
    far = [
        min(np.abs(position(found, name) - sign * np.array(wrong[name])).max() for sign in (1, -1))
        for name in right
    ]
    assert max(far) < 1.5
    speed = {first: 2.0}
    kept = fm.assemble(with_values(model, right, speed), strict=True)
    assert kept.joints[first].velocity[0] == pytest.approx(2.0, abs=1e-10)
    assert gaps(kept)[1] < 1e-9


def chain(rng: np.random.Generator, n: int, flexible: bool) -> tuple[fm.Model, np.ndarray]:
    """n links with random frames and axes on revolutes, closed to the ground at angles within 0.5
    rad of rest.
    """
    q = rng.uniform(-NEAR, NEAR, n + 1)
    frames = [(rng.normal(size=3), Rotation.random(rng=rng)) for _ in range(n + 1)]
    axes = rng.normal(size=(n + 1, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    x, R = np.zeros(3), Rotation.identity()
    model = fm.Model("chain")
    end: fm.FrameRef = model.ground
    for k in range(n):
        R = R * Rotation.from_rotvec(q[k] * axes[k])
        if flexible and k == 1:
            link = model.add(fm.FlexibleBody("link1", data=beam(ROD)))
            root, place, turn = link["root"], np.array([ROD, 0.0, 0.0]), Rotation.identity()
        else:
            place, turn = frames[k]
            frame = fm.Frame(tuple(place), turn.as_matrix().tolist())
            link = model.add(
                fm.RigidBody(f"link{k}", mass=1.0, inertia=(0.1, 0.2, 0.15), frames={"end": frame})
            )
            root = link
        model.add(fm.Revolute(f"j{k}", end, root, axis=tuple(axes[k])))
        x, R, end = x + R.apply(place), R * turn, link["end"]
    R = R * Rotation.from_rotvec(q[n] * axes[n])
    closed = fm.Model("loop", frames={"close": fm.Frame(tuple(x), R.as_matrix().tolist())})
    for item in (*model.bodies.values(), *model.joints.values()):
        closed.add(item)
    closed.add(fm.Revolute(f"j{n}", end, closed.ground["close"], axis=tuple(axes[n])))
    return closed, q


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("seed", drawn(3, 12))
def test_random_loops(seed: int, flexible: bool) -> None:
    """Two degrees of freedom: two declared coordinates and two declared velocities are kept;
    nothing declared; all declared wrongly."""
    rng = np.random.default_rng(seed)
    model, q = chain(rng, 7, flexible)
    model.cuts = (f"j{rng.integers(8)}",)
    right = {f"j{k}": (float(angle),) for k, angle in enumerate(q)}
    named = [f"j{k}" for k in rng.choice(8, 2, replace=False)]
    found = fm.assemble(
        with_values(model, {name: right[name] for name in named}, {named[0]: 1.5, named[1]: -0.7}),
        strict=True,
    )
    check_start(found)
    for name, speed in zip(named, (1.5, -0.7)):
        assert abs(position(found, name)[0] - right[name][0]) < 1e-9
        assert abs(found.joints[name].velocity[0] - speed) < 1e-9
    check_start(fm.assemble(with_values(model, {}), strict=True))
    wrong = {name: disturbed(value, rng, NEAR) for name, value in right.items()}
    with pytest.warns(fm.AssemblyWarning):
        found = fm.assemble(with_values(model, wrong))
    check_start(found)
    assert max(abs(position(found, name)[0] - wrong[name][0]) for name in right) < 4 * NEAR


def test_what_is_consistent_is_taken_as_it_is() -> None:
    """The declared numbers of the tree come back bit by bit."""
    right = closed(AT)
    found = fm.assemble(four_bar(right), strict=True)
    assert all(position(found, name)[0] == angle for name, angle in right.items() if name != "knee")
    assert found.moved == ()


def test_a_declared_velocity_that_no_motion_gives_leaves_the_others_alone() -> None:
    """A universal joint that locks a parallel cylindrical one: the declared sliding is at round-off
    in the tree.
    """
    frame = fm.Frame((0.3, 0.7, -0.5), Rotation.from_rotvec((0.4, -0.9, 1.3)).as_matrix().tolist())
    model = fm.Model("locked")
    for name in ("a", "b"):
        model.add(
            fm.RigidBody(
                name, mass=1.0, inertia=(0.1, 0.2, 0.3), com=(0.3, 0.1, 0.2), frames={"pin": frame}
            )
        )
    model.add(fm.Revolute("hinge", "ground", "a", axis=(1.0, 2.0, 0.5), v0=0.4))
    model.add(fm.Universal("cross", "a", "b", axes=((1.0, 2.0, 0.3), (0.5, -1.0, 0.4))))
    model.add(fm.Cylindrical("rod", "a/pin", "b/pin", axis=(0.3, 0.7, -0.5), v0=(0.9, -1.7)))
    with pytest.warns(fm.AssemblyWarning):
        found = fm.state(model)
    assert np.abs(found.s).max() < 3.0
