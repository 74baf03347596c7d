"""Elements between bodies in the scene of a player, against their geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.path import Path as Polygon

import flexmbs as fm
from flexmbs.model.shapes.triangles import Triangles, closed_surface
from flexmbs.player.arrays import read
from flexmbs.scene import meshes
from flexmbs.scene.scene import scene

INERTIA = (2e-5, 2e-5, 2e-5)


def body(model: fm.Model, name: str, **frames: tuple[float, float, float]) -> Any:
    """A small rigid body."""
    return model.add(fm.RigidBody(name, mass=0.1, inertia=INERTIA, frames=frames))


def elements(model: fm.Model, **given: Any) -> tuple[fm.Solution, dict[str, Any], dict[str, Any]]:
    """Run, its scene, and its elements by name."""
    solution = fm.simulate(model, **({"t_end": 0.1, "step": 0.01} | given))
    table = scene(solution)
    return solution, table, {each["name"]: each for each in table["elements"]}


def outline(points: np.ndarray, axis: int, side: float) -> np.ndarray:
    """Points (n, 2) of a face of a wheel across an axis, without those of its bore."""
    across = [k for k in range(3) if k != axis]
    face = points[np.abs(points[:, axis] - side) < 1e-6][:, across]
    radius = np.linalg.norm(face, axis=1)
    return face[radius > 0.5 * radius.max()]


def in_world(solution: fm.Solution, table: dict[str, Any], part: dict[str, Any], k: int) -> Any:
    """Points of a part at an output, in world axes."""
    frame = solution.frame(table["frames"][part["frame"]]["name"])
    points = read(table["data"], part["vertices"])
    return points @ frame.rotation[k].T + frame.position[k]


def distance_to(outline: np.ndarray, point: np.ndarray) -> float:
    """Distance of a point from a closed polygon (n, 2)."""
    edge = np.roll(outline, -1, axis=0) - outline
    along = ((point - outline) * edge).sum(axis=1) / np.maximum((edge**2).sum(axis=1), 1e-300)
    nearest = outline + np.clip(along, 0.0, 1.0)[:, None] * edge
    return float(np.linalg.norm(nearest - point, axis=1).min())


@pytest.mark.parametrize("ratio", [1.0, 2.0, 2.5])
def test_teeth_of_a_gear_pair_mesh_through_the_motion(ratio: float) -> None:
    """Involute gears touch on the line of action and nowhere overlap: no corner of one is inside
    the other by more than the sagitta of its chords, (m/2)²/(8 ρ) with ρ = ½ m z sin 20° ≥ 3 m.
    """
    distance = 0.12
    model = fm.Model("gears", gravity=(0, 0, 0), frames={"b": (distance, 0, 0)})
    one, two = body(model, "one"), body(model, "two")
    first = model.add(fm.Revolute("first", model.ground, one, axis="z", v0=3.0, q0=0.3))
    second = model.add(fm.Revolute("second", model.ground["b"], two, axis="z"))
    model.add(fm.Gear("teeth", first, second, ratio=ratio))
    solution, table, found = elements(model, t_end=0.2)
    element = found["teeth"]
    assert element["group"] == "Gears and racks"
    radii = distance / (1.0 + ratio), ratio * distance / (1.0 + ratio)
    touched = 0
    for k in range(0, len(solution.t), 4):
        wheels = []
        for part, centre, radius in zip(element["parts"], (0.0, distance), radii):
            points = in_world(solution, table, part, k) - (centre, 0, 0)
            top = points[:, 2].max()
            flat = outline(points, 2, top)
            # pitch circle between root and tip, one module above it
            module = np.linalg.norm(flat, axis=1).max() - radius
            wheels.append((flat, module, centre))
        (a, module, _), (b, other, shift) = wheels
        assert module == pytest.approx(other, rel=1e-3)
        beside = b + (shift, 0.0)
        near = beside[np.linalg.norm(beside, axis=1) < radii[0] + 1.2 * module]
        inside = near[Polygon(a).contains_points(near)]
        assert all(distance_to(a, point) < 0.011 * module for point in inside)
        touched += sum(distance_to(a, point) < 0.05 * module for point in near)
    assert touched > 10


def test_a_rack_moves_with_the_teeth_of_its_pinion() -> None:
    """The pitch line touches the pitch circle; the pitch of the rack is 2π r/z."""
    model = fm.Model("rack", gravity=(0, 0, 0))
    pinion, rack = body(model, "pinion"), body(model, "rack")
    column = model.add(fm.Revolute("column", model.ground, pinion, axis="z", v0=5.0))
    guide = model.add(fm.Prismatic("guide", model.ground, rack, axis="x"))
    model.add(fm.RackPinion("teeth", column, guide, radius=0.05))
    solution, table, found = elements(model)
    wheel, bar = found["teeth"]["parts"]
    tip = np.linalg.norm(in_world(solution, table, wheel, 0)[:, :2], axis=1).max()
    module = tip - 0.05
    assert module == pytest.approx(2 * 0.05 / 20, rel=1e-3)
    points = in_world(solution, table, bar, 0)
    # velocity of the pinion at the pitch point is +x: the rack is at y = −r, its teeth upwards
    assert points[:, 1].max() == pytest.approx(-0.05 + module, abs=1e-5)
    tips = np.unique(np.round(points[points[:, 1] > -0.05 + 0.99 * module][:, 0], 6))
    gaps = np.diff(0.5 * (tips[::2] + tips[1::2]))
    np.testing.assert_allclose(gaps, np.pi * module, rtol=1e-3)
    moved = in_world(solution, table, bar, len(solution.t) - 1)
    np.testing.assert_allclose(moved[:, 0] - points[:, 0], 0.05 * 5.0 * solution.t[-1], rtol=1e-4)


def test_a_belt_has_the_length_of_an_open_belt() -> None:
    """2 √(a² − (r₁ − r₂)²) + r₁ (2π − 2β) + 2 r₂ β with cos β = (r₁ − r₂)/a."""
    model = fm.Model("belt", gravity=(0, 0, 0), frames={"b": (0.5, 0, 0)})
    one, two = body(model, "one"), body(model, "two")
    first = model.add(fm.Revolute("first", model.ground, one, axis="z"))
    second = model.add(fm.Revolute("second", model.ground["b"], two, axis="z"))
    r1, r2, a = 0.15, 0.05, 0.5
    model.add(fm.Belt("belt", first, second, radii=(r1, r2)))
    _, table, found = elements(model)
    *_, belt = found["belt"]["parts"]
    points = read(table["data"], belt["vertices"]).reshape(-1, meshes.PIPE_SIDES, 3).mean(axis=1)
    length = np.linalg.norm(np.diff(points, axis=0, append=points[:1]), axis=1).sum()
    beta = np.arccos((r1 - r2) / a)
    expected = 2 * np.sqrt(a**2 - (r1 - r2) ** 2) + r1 * (2 * np.pi - 2 * beta) + 2 * r2 * beta
    assert length == pytest.approx(expected, rel=3e-3)  # chords of 24 points on each pulley


MESHES = {
    "box": (meshes.box((1, 2, 3), np.eye(3), np.zeros(3)), 6.0, 1e-12),
    "cylinder": (meshes.cylinder(np.zeros(3), np.array([0, 0, 2.0]), 0.5), np.pi / 2, 1e-2),
    "ring": (meshes.ring(np.zeros(3), np.array([0, 2.0, 0]), 0.5, 1.0), 1.5 * np.pi, 1e-2),
    "L": (
        meshes.prism(np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], float), 0.0, 1.0),
        3.0,
        1e-12,
    ),
    "wall": (meshes.band(np.array([(0, 0), (1, 0), (3, 0)], float), 0.5, 0.0, 2.0), 3.0, 1e-12),
    "straight pipe": (
        meshes.pipe(np.array([(0, 0, 0), (0, 0, 1), (0, 0, 3)], float), 0.5),
        3.0 * 3.0 * 0.25,  # a dodecagon has the area 3 r²
        1e-12,
    ),
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes_enclose_their_volume(name: str) -> None:
    mesh, expected, tolerance = MESHES[name]
    assert closed_surface(*mesh).turned == 0
    a, b, c = mesh.points[mesh.triangles].transpose(1, 0, 2)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 == pytest.approx(expected, rel=tolerance)


def test_a_closed_pipe_is_a_torus() -> None:
    u = 2 * np.pi * np.arange(60) / 60
    loop = np.column_stack([np.cos(u), np.sin(u), 0 * u])
    mesh = Triangles(*meshes.pipe(loop, 0.1, closed=True))
    assert closed_surface(*mesh).turned == 0
    a, b, c = mesh.points[mesh.triangles].transpose(1, 0, 2)
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert volume == pytest.approx(2 * np.pi * 3 * 0.01, rel=1e-2)


def acting() -> fm.Model:
    """A model with an item of each sort: between two points, about an axis, on a curve."""
    model = fm.Model("acting", frames={"top": (0, 0, 1.0), "wall": (0.5, 0, 0.5)})
    arm, load = body(model, "arm", end=(0.4, 0, 0)), body(model, "load", eye=(0, 0, 0.1))
    slide, bead = body(model, "slide"), model.add(fm.PointMass("bead", mass=0.1))
    model.add(fm.Revolute("pin", model.ground["top"], arm, axis="y", q0=0.2))
    model.add(fm.Pose("free", model.ground, load, q0=(0.4, 0, 0.4, 1, 0, 0, 0)))
    model.add(fm.Rope("rope", arm["end"], load["eye"], length=0.5, law=fm.HuntCrossley(1e4)))
    model.add(fm.PointSpring("spring", model.ground["wall"], load["eye"], k=10.0))
    model.add(fm.PointSpring("damper", model.ground["wall"], load["eye"], c=1.0))
    model.add(fm.Bushing("bush", model.ground["wall"], load["eye"], k=(1.0,) * 6))
    model.add(fm.JointTorque("motor", "pin", fm.DCMotor(0.05, resistance=1.0, voltage=1.0)))
    model.add(fm.JointSpring("torsion spring", "pin", k=0.1))
    model.add(fm.JointFriction("brake", "pin", coulomb=0.01))
    model.add(fm.RotorInertia("rotor", "pin", inertia=1e-5, ratio=10.0))
    model.add(fm.JointLimit("limit", "pin", lower=-1.0, upper=1.5, law=fm.HuntCrossley(1e2)))
    model.add(fm.Prismatic("rail", model.ground["wall"], slide, axis="x"))
    model.add(fm.Drive("feed", "rail", fm.Sine(0.05, frequency=1.0)))
    model.add(fm.Translation("bead moves", model.ground, bead, q0=(0, 0, 0)))
    points = [(0, 0, 0), (0.2, 0, -0.05), (0.4, 0, 0), (0.6, 0, 0.2)]
    model.add(fm.PointOnCurve("wire", model.ground, bead, points=points))
    return model


GROUPS = {
    "rope": "Ropes",
    "spring": "Springs and dampers",
    "damper": "Springs and dampers",
    "bush": "Bushings",
    "motor": "Motors and drives",
    "torsion spring": "Springs and dampers",
    "brake": "Friction",
    "rotor": "Rotors",
    "limit": "Stops",
    "feed": "Motors and drives",
    "wire": "Rails and curves",
    "ground/top": "Ground pivots",
}


def test_everything_that_acts_has_a_form() -> None:
    _, table, found = elements(acting(), t_end=0.02, step=1e-3)
    assert {name: found[name]["group"] for name in GROUPS} == GROUPS
    names = [frame["name"] for frame in table["frames"]]
    (line,) = found["spring"]["lines"]
    assert [names[k] for k in line["ends"]] == ["ground/wall", "load/eye"]
    assert (line["style"], found["damper"]["lines"][0]["style"]) == ("spring", "damper")
    assert found["rope"]["lines"][0]["length"] == 0.5
    assert table["gravity"] == [0.0, 0.0, -9.81]


@pytest.mark.parametrize("scale", [1e-6, 1e3])
def test_sizes_follow_the_size_of_the_machine(scale: float) -> None:
    """Elements of a machine enlarged by a factor are enlarged by it."""

    def extent(s: float) -> float:
        model = fm.Model("scaled", gravity=(0, 0, -9.81 * s), frames={"top": (0, 0, s)})
        inertia = (1e-3 * s**5,) * 3
        frames = {"end": (0.4 * s, 0, 0)}
        arm = model.add(fm.RigidBody("arm", mass=s**3, inertia=inertia, frames=frames))
        model.add(fm.Revolute("pin", model.ground["top"], arm, axis="y"))
        model.add(fm.Drive("motor", "pin", 0.3))
        _, table, found = elements(model)
        (part, *_) = found["motor"]["parts"]
        return float(np.ptp(read(table["data"], part["vertices"]), axis=0).max())

    assert extent(scale) == pytest.approx(scale * extent(1.0), rel=1e-3)
