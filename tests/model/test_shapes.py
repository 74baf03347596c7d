"""Volumes, centres and inertias of shapes against closed forms, quadrature and their triangles."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.model.shapes import Shape
from flexmbs.model.shapes.mass_properties import MassProperties
from flexmbs.model.shapes.triangles import closed_surface, revolved, volume_integrals

TIGHT = 1e-13  # relative round-off
SOLIDS = sorted(set(Shape.kinds) - {"plane", "mesh"})


def write_off(path: Path, points: np.ndarray, triangles: np.ndarray) -> Path:
    rows = [" ".join(map(repr, each)) for each in points.tolist()]
    faces = [f"3 {a} {b} {c}" for a, b, c in triangles.tolist()]
    path.write_text("\n".join(["OFF", f"{len(rows)} {len(faces)} 0", *rows, *faces]))
    return path


def drawn(kind: str, rng: np.random.Generator, **more: object) -> Shape:
    """A random shape of a kind."""
    a, b, c = rng.uniform(0.2, 2.0, 3)
    make: dict[str, Callable[[], Shape]] = {
        "box": lambda: fm.Box((a, b, c), **more),
        "cylinder": lambda: fm.Cylinder(a, b, **more),
        "capsule": lambda: fm.Capsule(a, b, **more),
        "sphere": lambda: fm.Sphere(a, **more),
        "ellipsoid": lambda: fm.Ellipsoid((a, b, c), **more),
        "cone": lambda: fm.Cone(a, b, top_radius=float(rng.choice([0.0, c])), **more),
        "tube": lambda: fm.Tube(a + b, a, c, **more),
        "gear": lambda: fm.GearShape(
            int(rng.integers(5, 80)), 0.1, b, bore=float(rng.choice([0.0, 0.05])), **more
        ),
    }
    return make[kind]()


def placed(rng: np.random.Generator) -> dict[str, object]:
    rotation = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    return {"position": rng.normal(size=3), "rotation": rotation}


def profile(shape: Shape) -> Callable[[float], tuple[float, float]]:
    """Inner and outer radius of a solid of revolution at a height, written anew."""
    match shape:
        case fm.Cylinder():
            return lambda z: (0.0, shape.radius)
        case fm.Tube():
            return lambda z: (shape.inner, shape.outer)
        case fm.Cone():
            slope = (shape.top_radius - shape.radius) / shape.length
            return lambda z: (0.0, shape.radius + slope * (z + 0.5 * shape.length))
        case fm.Sphere():
            return lambda z: (0.0, np.sqrt(max(shape.radius**2 - z * z, 0.0)))
        case fm.Capsule():
            r, h = shape.radius, 0.5 * shape.length
            return lambda z: (0.0, np.sqrt(max(r * r - max(abs(z) - h, 0.0) ** 2, 0.0)))
    raise TypeError(shape)


def height(shape: Shape) -> tuple[float, list[float]]:
    """Half the height, and the places where the profile has a kink."""
    if isinstance(shape, fm.Sphere):
        return shape.radius, []
    half = 0.5 * shape.length
    if isinstance(shape, fm.Capsule):
        return half + shape.radius, [-half, half]
    return half, []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["cylinder", "capsule", "sphere", "cone", "tube"])
def test_solids_of_revolution_are_those_of_quadrature(kind: str, seed: int) -> None:
    """∫π r² dz, ∫π r² z dz, ∫(π r⁴/4 + π r² z²) dz, ∫π r⁴/2 dz."""
    shape = drawn(kind, np.random.default_rng(seed))
    radii, (end, kinks) = profile(shape), height(shape)

    def integral(term: Callable[[float, float], float]) -> float:
        def both(z: float) -> float:
            inner, outer = radii(z)
            return np.pi * (term(outer, z) - term(inner, z))

        return float(quad(both, -end, end, points=kinks or None, epsabs=0, epsrel=1e-11)[0])

    volume = integral(lambda r, z: r * r)
    centre = integral(lambda r, z: r * r * z) / volume
    across = integral(lambda r, z: r**4 / 4 + r * r * z * z) - volume * centre**2
    along = integral(lambda r, z: r**4 / 2)
    found = shape.volume()
    assert found.mass == pytest.approx(volume, rel=1e-10)
    np.testing.assert_allclose(found.com, [0.0, 0.0, centre], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.inertia, np.diag([across, across, along]), rtol=1e-10)


@pytest.mark.parametrize("teeth", [3, 8, 20, 41, 42, 150])
@pytest.mark.parametrize("bore", [0.0, 0.1])
def test_gears_are_those_of_quadrature(teeth: int, bore: float) -> None:
    """A = ∫∫ r dφ dr, J = ∫∫ r³ dφ dr over the teeth, whose half angle is π/2z + inv α − inv α_r."""
    gear = fm.GearShape(teeth, 1.0, 0.5, bore=bore)

    def involute(angle: float) -> float:
        return np.tan(angle) - angle

    twenty = np.radians(20.0)
    base, root, tip = teeth / 2 * np.cos(twenty), teeth / 2 - 1.25, teeth / 2 + 1.0
    assert (gear.root_radius, gear.tip_radius) == (root, tip)

    def arc(r: float) -> float:
        own = np.pi / (2 * teeth) + involute(twenty)
        return 2.0 * teeth * (own - (involute(np.arccos(base / r)) if r > base else 0.0))

    kinks = [base] if root < base else None
    area, polar = (
        quad(lambda r, p=p: arc(r) * r**p, root, tip, points=kinks, epsabs=0, epsrel=1e-11)[0]
        + 2.0 * np.pi * (root ** (p + 1) - bore ** (p + 1)) / (p + 1)
        for p in (1, 3)
    )
    found = gear.volume()
    assert found.mass == pytest.approx(0.5 * area, rel=1e-9)
    across = 0.25 * polar + 0.5 * area * 0.25 / 12
    np.testing.assert_allclose(np.diag(found.inertia), [across, across, 0.5 * polar], rtol=1e-9)
    # tooth and gap are equal on the pitch circle
    assert arc(teeth / 2) == pytest.approx(np.pi)


def errors(shape: Shape, sides: int) -> np.ndarray:
    """Deviations of volume, centre and inertia of the triangles from those of the shape."""
    surface = closed_surface(*shape.triangles(sides))
    assert surface.turned == 0
    found, exact = volume_integrals(surface.points, surface.triangles), shape.volume()
    size = np.sqrt(np.trace(exact.inertia) / exact.mass)
    return np.array(
        [
            abs(found.mass / exact.mass - 1.0),
            np.linalg.norm(found.com - exact.com) / size,
            np.linalg.norm(found.inertia - exact.inertia) / np.linalg.norm(exact.inertia),
        ]
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", SOLIDS)
def test_triangles_are_closed_and_converge(kind: str, seed: int) -> None:
    """Errors of inscribed polygons fall with the square of the number of corners."""
    shape = drawn(kind, np.random.default_rng(seed))
    coarse, fine = errors(shape, 32), errors(shape, 128)
    assert (coarse < 0.05).all()
    assert (fine < np.maximum(coarse / 12.0, 1e-12)).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", SOLIDS)
def test_random_placements(kind: str, seed: int) -> None:
    """Mass and principal moments do not depend on the placement; the triangles have the same."""
    rng = np.random.default_rng(seed)
    place = placed(rng)
    kept = rng.bit_generator.state
    free = drawn(kind, rng)
    rng.bit_generator.state = kept
    shape = drawn(kind, rng, **place)
    density = 7.0
    own, there = free.volume().scaled(density), shape.properties(density)
    R, o = np.array(place["rotation"]), np.array(place["position"])
    assert there.mass == own.mass
    np.testing.assert_allclose(there.com, o + R @ own.com, rtol=TIGHT, atol=TIGHT)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(there.inertia), np.linalg.eigvalsh(own.inertia), rtol=1e-12
    )
    points, triangles, _ = shape.meshes()[0]
    mesh = volume_integrals(points, triangles).scaled(density)
    local = volume_integrals(*free.triangles()).scaled(density)
    moved = local.placed(R, o)
    for one, other in zip(mesh, moved):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def assert_same(one: MassProperties, other: MassProperties) -> None:
    for a, b in zip(one, other):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def body(*shapes: Shape, **more: object) -> MassProperties:
    given = {"density": 1000.0} | more
    return fm.RigidBody("b", shapes=shapes, **given).mass_properties


def test_parts_add_up() -> None:
    halves = [fm.Box((1.0, 0.4, 0.2), position=(x, 0, 0)) for x in (-0.5, 0.5)]
    assert_same(body(*halves), body(fm.Box((2.0, 0.4, 0.2))))
    assert_same(body(fm.Tube(0.5, 0.3, 0.7), fm.Cylinder(0.3, 0.7)), body(fm.Cylinder(0.5, 0.7)))
    # a frustum and the cone on it
    base, top = fm.Cone(1.0, 1.0, top_radius=0.5), fm.Cone(0.5, 1.0, position=(0, 0, 1.0))
    assert_same(body(base, top), body(fm.Cone(1.0, 2.0, position=(0, 0, 0.5))))
    ring, shaft = fm.GearShape(17, 0.1, 0.3, bore=0.4), fm.Cylinder(0.4, 0.3)
    assert_same(body(ring, shaft), body(fm.GearShape(17, 0.1, 0.3)))


def test_densities_and_masses() -> None:
    steel, wood = fm.Box((1, 1, 1), density=8000), fm.Box((1, 1, 1), position=(2, 0, 0))
    both = body(steel, wood, density=1000.0)
    assert both.mass == 9000.0
    np.testing.assert_allclose(both.com, [2 / 9, 0, 0])
    # a mass scales all densities: the ratios stay
    scaled = body(fm.Box((1, 1, 1), density=8), fm.Box((1, 1, 1), position=(2, 0, 0), density=1),
                  mass=9000.0, density=None)  # fmt: skip
    assert_same(scaled, both)
    # without any, they are equal
    ball = 4 / 3 * np.pi * 0.2**3
    whole = body(fm.Sphere(0.2), mass=3.0, density=None)
    assert_same(whole, body(fm.Sphere(0.2), density=3.0 / ball))
    # a shape without mass, and a plane, are only drawn
    ghost = fm.Sphere(5.0, density=0)
    assert_same(body(steel, ghost, fm.Plane((1, 1))), body(steel))
    # given values take precedence
    given = fm.RigidBody("b", mass=2.0, inertia=(1, 1, 1), shapes=[fm.Box((1, 2, 3))])
    assert (given.mass_properties.mass, given.com) == (2.0, (0.0, 0.0, 0.0))


def test_units() -> None:
    """In mm, t and s a body has 1e-3 of the mass in kg and 1e3 of the inertia."""
    metre = body(fm.Capsule(0.1, 0.4, position=(0.3, 0, 0), rotation=("y", 0.4)), density=7850.0)
    milli = body(fm.Capsule(100, 400, position=(300, 0, 0), rotation=("y", 0.4)), density=7.85e-9)
    assert milli.mass == pytest.approx(1e-3 * metre.mass, rel=TIGHT)
    np.testing.assert_allclose(milli.com, 1e3 * metre.com, rtol=TIGHT)
    np.testing.assert_allclose(milli.inertia, 1e3 * metre.inertia, rtol=1e-12, atol=1e-9)


def test_a_pendulum_of_shapes_moves_like_one_with_given_inertia() -> None:
    l, r, rho = 0.8, 0.05, 2700.0
    m = rho * np.pi * r * r * l
    across, along = m * (3 * r * r + l * l) / 12, m * r * r / 2
    rod = fm.Cylinder(r, l, position=(0, 0, -l / 2))
    runs = []
    for arm in (
        fm.RigidBody("arm", shapes=[rod], density=rho),
        fm.RigidBody("arm", mass=m, com=(0, 0, -l / 2), inertia=(across, across, along)),
    ):
        model = fm.Model("pendulum")
        model.add(fm.Spherical("pivot", model.ground, model.add(arm), v0=(1.0, 2.0, 0.5)))
        runs.append(fm.simulate(model, t_end=0.5, step=5e-3).q)
    np.testing.assert_allclose(*runs, rtol=1e-13, atol=1e-13)


BOX = fm.Box((2.0, 1.0, 0.5)).triangles()


def mesh_body(path: Path, points: np.ndarray, triangles: np.ndarray) -> fm.RigidBody:
    file = write_off(path / "part.off", points, triangles)
    return fm.RigidBody("part", shapes=[fm.MeshShape(file)], density=1000.0)


def test_a_mesh_of_a_box_is_the_box(tmp_path: Path) -> None:
    part = mesh_body(tmp_path, *BOX)
    assert_same(part.mass_properties, body(fm.Box((2.0, 1.0, 0.5))))
    assert part.findings().warnings == ()
    mirrored = fm.MeshShape(tmp_path / "part.off", scale=(-1, 1, 2))
    assert_same(body(mirrored), body(fm.Box((2.0, 1.0, 1.0))))


def test_triangles_of_a_torus_converge_to_guldin() -> None:
    """V = 2π² R r², J = V (R² + 3 r²/4) about the axis."""
    R, r = 1.0, 0.3
    found = []
    for n in (40, 160):
        u = 2 * np.pi * np.arange(n) / n
        outline = np.stack([R + r * np.cos(u), r * np.sin(u)], axis=1)
        own = volume_integrals(*revolved(outline, n, closed=True))
        found.append((own.mass / (2 * np.pi**2 * R * r * r) - 1, own.inertia[2, 2] / own.mass))
    (coarse, _), (fine, along) = found
    assert abs(fine) < abs(coarse) / 15
    assert along == pytest.approx(R * R + 0.75 * r * r, rel=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_reversed_triangles_are_turned(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    points, triangles = drawn(str(rng.choice(SOLIDS)), rng).triangles()
    wrong = rng.random(len(triangles)) < rng.uniform(0.05, 0.95)
    mixed = np.where(wrong[:, None], triangles[:, ::-1], triangles)
    surface = closed_surface(points, mixed)
    assert surface.turned == wrong.sum()
    assert_same(
        volume_integrals(surface.points, surface.triangles), volume_integrals(points, triangles)
    )
    model = fm.Model("m")
    part = model.add(mesh_body(tmp_path, points, mixed))
    model.add(fm.Free("f", model.ground, part))
    (told,) = model.check().warnings
    assert f"{wrong.sum()} triangles of" in told
    assert "are turned" in told


def test_inverted_surfaces_and_cavities() -> None:
    points, triangles = BOX
    assert closed_surface(points, triangles[:, ::-1]).turned == len(triangles)
    # a cavity keeps its orientation, and its volume is missing
    both = np.vstack([points, 0.5 * points])
    hollow = np.vstack([triangles, len(points) + triangles[:, ::-1]])
    surface = closed_surface(both, hollow)
    assert surface.turned == 0
    assert volume_integrals(*surface[:2]).mass == pytest.approx(1.0 - 0.125)


def test_surfaces_without_an_inside(tmp_path: Path) -> None:
    points, triangles = BOX
    model = fm.Model("m")
    part = mesh_body(tmp_path, points, triangles[1:])
    with pytest.raises(InputError, match=r"'.*part.off' is not closed, it has 3 open edges; close"):
        part.mass_properties  # noqa: B018
    model.add(fm.Free("f", model.ground, model.add(part)))
    assert len(model.check().errors) == 1
    flat = points * (1, 1, 0)
    with pytest.raises(InputError, match="encloses no volume"):
        closed_surface(flat, triangles)
    # a Klein bottle of n × n squares: the last row is glued to the first one in reverse
    n = 6
    rows = np.arange(n * n).reshape(n, n)
    rows = np.vstack([rows, rows[:1, (-np.arange(n)) % n]])
    rows = np.hstack([rows, rows[:, :1]])
    a, b, c, d = rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]
    faces = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    cloud = np.random.default_rng(0).normal(size=(n * n, 3))
    with pytest.raises(InputError, match=r"has no inside, its triangles disagree at \d+ edges"):
        closed_surface(cloud, faces)
