"""Shapes in Python and in model files: wrong arguments end in one line, files return what was
saved.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.model.shapes import Shape
from flexmbs.scene.shape_solids import shape_solids
from flexmbs.studies.parameters.parameter_paths import changed, parameters

EVERY: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "box": (fm.Box, ((0.1, 0.2, 0.3),), {}),
    "cylinder": (fm.Cylinder, (0.1, 0.3), {}),
    "capsule": (fm.Capsule, (0.1, 0.3), {}),
    "sphere": (fm.Sphere, (0.1,), {}),
    "ellipsoid": (fm.Ellipsoid, ((0.1, 0.2, 0.3),), {}),
    "cone": (fm.Cone, (0.1, 0.3), {"top_radius": 0.05}),
    "tube": (fm.Tube, (0.1, 0.05, 0.3), {}),
    "plane": (fm.Plane, ((1.0, 2.0),), {}),
    "gear": (fm.GearShape, (20, 0.01, 0.05), {"bore": 0.03, "pressure_angle": 0.4}),
    "mesh": (fm.MeshShape, ("part.stl",), {"scale": 0.001}),
}
PLACE = {
    "position": (0.1, 0.2, 0.3),
    "rotation": ("y", 0.3),
    "colour": (0.1, 0.2, 0.3, 0.5),
    "density": 7850.0,
}
HOSTILE = (1e308, -1e308, math.inf, math.nan, -1.0, 0.0, 1e-300, 10**400, "x", None, True, [], {},
           [1.0], [[1.0]], np.zeros((2, 2)), object())  # fmt: skip


def made(kind: str, **more: Any) -> Shape:
    make, args, own = EVERY[kind]
    return make(*args, **own, **more)


def attempt(make: Any, given: dict[str, Any]) -> tuple[Shape | None, tuple[str, ...]]:
    """The shape, or None with the problems."""
    try:
        return make(**given), ()
    except InputError as error:
        return None, error.problems


def test_every_kind_is_tested() -> None:
    assert set(EVERY) == set(Shape.kinds)


@pytest.mark.parametrize("kind", EVERY)
def test_wrong_values_are_one_line(kind: str) -> None:
    """Each argument is replaced by hostile values; what is accepted can be drawn and weighed."""
    make, args, own = EVERY[kind]
    names = [name for name in make.field_names()]
    given = dict(zip(names, args)) | own | PLACE
    for name in given:
        for value in HOSTILE:
            values = [value]
            if isinstance(given[name], tuple):
                values.append((value, *given[name][1:]))
            for each in values:
                shape, told = attempt(make, given | {name: each})
                if shape is None:
                    assert len(told) == 1, (name, each)
                    assert told[0].startswith(f"{make.__name__}.{name}"), (name, each)
                    assert len(told[0]) < 300
                    continue
                if kind == "mesh":
                    continue
                properties = shape.properties(1.0)
                assert np.isfinite(properties.mass)
                assert np.isfinite(properties.inertia).all()
                assert all(np.isfinite(mesh.points).all() for mesh in shape.meshes())


@pytest.mark.parametrize("kind", EVERY)
def test_unknown_and_missing_arguments(kind: str) -> None:
    make, args, own = EVERY[kind]
    with pytest.raises(InputError, match="color: unknown key; did you mean 'colour'"):
        make(*args, **own, color=(1, 0, 0))
    with pytest.raises(InputError, match="is missing"):
        make()


BOX = fm.Box((1, 1, 1))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "bodies.b.mass: is missing"),
        ({"mass": 1.0}, "bodies.b.inertia: is missing"),
        ({"shapes": [BOX]}, "bodies.b.shapes.0.density: is missing; give it here or as density"),
        ({"shapes": [BOX], "density": 1, "mass": 1}, "b.density: has no effect, the mass is given"),
        ({"shapes": [BOX], "density": 1, "mass": 1, "inertia": (1, 1, 1)}, "density: has no effec"),
        ({"shapes": [BOX], "inertia": (1, 1, 1)}, "bodies.b.mass: is missing; it is not derived"),
        ({"shapes": [BOX], "density": 1, "com": (0, 0, 0)}, "b.com: follows from the shapes"),
        ({"shapes": [fm.Plane((1, 1))], "density": 1}, "bodies.b.shapes: have no volume"),
        ({"shapes": [fm.Box((1, 1, 1), density=0)], "mass": 2}, "mass: is 2, but all shapes have"),
        ({"shapes": [fm.Box((1e9, 1, 1))], "density": 1e60}, "bodies.b.shapes: mass, centre or in"),
        ({"shapes": [{"kind": "bos"}]}, "bodies.b.shapes.0.kind: unknown kind 'bos'; did you mean"),
        ({"shapes": [{}]}, "bodies.b.shapes.0.kind: is missing; one of: box, capsule"),
        ({"shapes": [1]}, "bodies.b.shapes.0: must be a shape such as Box"),
        ({"shapes": 1}, "bodies.b.shapes: must be a list"),
        ({"shapes": [{"kind": "sphere", "radius": -1}], "density": 1}, "shapes.0.radius: must be"),
    ],
)
def test_bodies_with_contradictory_inertia(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        fm.RigidBody("b", **given)
    assert told in str(error.value)


def test_a_missing_file_is_named_by_check_and_on_the_page(tmp_path: Path) -> None:
    model = fm.Model("m")
    part = model.add(fm.RigidBody("b", shapes=[fm.MeshShape(tmp_path / "a.stl")], density=1.0))
    model.add(fm.Free("f", model.ground, part))
    (told,) = model.check().errors
    assert told.startswith("bodies.b.shapes.0: ")
    assert "a.stl' cannot be read: No such file" in told
    assert fm.RigidBody("b", shapes=[fm.MeshShape("a.stl")], density=1.0).has_mass
    model.bodies["b"] = fm.RigidBody(
        "b", mass=1, inertia=(1, 1, 1), shapes=[fm.MeshShape("a.stl"), fm.Sphere(0.1)]
    )
    solids, (note,) = shape_solids(model)
    assert len(solids) == 1
    assert note.startswith("bodies.b.shapes.0 is not shown: 'a.stl' cannot be read")
    assert "bodies.b.shapes.0 is not shown" in model.show(browser=False).text


def every_model(folder: Path) -> fm.Model:
    (folder / "part.stl").write_bytes(b"")
    shapes = [
        made(kind, **PLACE)
        for kind in EVERY
        if kind != "mesh"
    ] + [fm.MeshShape(folder / "part.stl", scale=(1, 2, -3))]  # fmt: skip
    model = fm.Model("m", shapes=shapes)
    body = model.add(fm.RigidBody("b", shapes=shapes, density=2.0, frames={"f": (1, 2, 3)}))
    drop = model.add(fm.PointMass("p", mass=1.0, shapes=shapes[:2]))
    model.add(fm.FlexibleBody("l", folder / "link.h5", shapes=shapes[1:3]))
    model.add(fm.Free("free", model.ground, body))
    model.add(fm.Translation("fall", model.ground, drop))
    return model


def test_files(tmp_path: Path) -> None:
    model = every_model(tmp_path)
    model.save(tmp_path / "m.toml")
    text = (tmp_path / "m.toml").read_text()
    assert 'file = "part.stl", scale = [1.0, 2.0, -3.0]' in text
    assert text.count('kind = "gear", teeth = 20') == 2
    read = fm.load(tmp_path / "m.toml")
    assert read == model
    assert read.shapes == model.shapes
    assert read.bodies["b"].mass is None  # derived values are not written
    model.shapes = ()
    assert read != model
    changed = fm.FlexibleBody("l", "link.h5", shapes=[fm.Sphere(1)])
    assert changed != fm.FlexibleBody("l", "link.h5")


def test_problems_of_files_have_lines(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        'format = "flexmbs-model/1"\nname = "m"\n[bodies.b]\nkind = "rigid"\ndensity = 1.0\n'
        'shapes = [{ kind = "spere", radius = 1.0 }, { kind = "box", sise = [1, 2, 3] }]\n'
        '[bodies.c]\nkind = "rigid"\ndensity = 1.0\n'
        'shapes = [{ kind = "mesh", file = "../part.stl" }]\n'
    )
    with pytest.raises(InputError) as error:
        fm.load(tmp_path / "m.toml")
    told = str(error.value)
    assert "bodies.b.shapes.0.kind: unknown kind 'spere'; did you mean 'sphere'?" in told
    assert "bodies.b.shapes.1.sise: unknown key; did you mean 'size'?" in told
    assert "bodies.c.shapes.0.file: " in told
    assert "is not inside the model file's folder" in told or "outside" in told
    assert all(line.startswith(f"{tmp_path / 'm.toml'}:") for line in told.splitlines())


def test_sizes_and_densities_are_parameters() -> None:
    model = fm.Model("m")
    rod = model.add(fm.RigidBody("rod", shapes=[fm.Cylinder(0.1, 1.0)], density=1000.0))
    model.add(fm.Free("f", model.ground, rod))
    known = parameters(model)
    assert {"bodies.rod.density", "bodies.rod.shapes.0.radius"} <= set(known)
    other = changed(model, {"bodies.rod.shapes.0.radius": 0.2, "bodies.rod.density": 500.0})
    mass = other.bodies["rod"].mass_properties.mass  # type: ignore[attr-defined]
    assert mass == pytest.approx(2.0 * model.bodies["rod"].mass_properties.mass)  # type: ignore[attr-defined]


def test_bodies_without_shapes_have_the_same_inertia() -> None:
    body = fm.RigidBody("b", shapes=[fm.Cone(1, 2, position=(1, 2, 3))], density=2.0)
    plain = body.without_shapes()
    assert plain.shapes == ()
    for one, other in zip(plain.mass_properties, body.mass_properties):
        np.testing.assert_array_equal(one, other)


def test_mesh_shapes_are_equal_by_the_resolved_file_and_all_values() -> None:
    assert fm.MeshShape("a.stl") == fm.MeshShape(str(Path("a.stl").resolve()))
    assert fm.MeshShape("a.stl") != fm.MeshShape("a.stl", position=(1.0, 0.0, 0.0))
    assert fm.MeshShape("a.stl") != fm.MeshShape("b.stl")
