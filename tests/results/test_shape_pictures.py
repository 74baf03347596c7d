"""Pictures of shapes: pages, stills and exported surfaces."""

from pathlib import Path

import numpy as np
import pytest
from test_stress import stressed_beam

import flexmbs as fm
from flexmbs.exports.moving_surfaces import moving_surfaces
from flexmbs.model.shapes import Shape
from flexmbs.player.arrays import read
from flexmbs.player.solids import Solid
from flexmbs.report.model_at_start import start_of
from flexmbs.report.pictures import motion_view
from flexmbs.scene.scene import Extras, scene
from flexmbs.scene.shape_solids import MOST_TRIANGLES, shape_solids

RED, GREEN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.5)


def machine(*more: Shape) -> fm.Model:
    model = fm.Model("m", shapes=[fm.Plane((4, 4), position=(0, 0, -1))])
    box = fm.Box((1.0, 0.2, 0.1), position=(0.5, 0, 0), rotation=("z", np.pi / 2), colour=RED)
    arm = model.add(fm.RigidBody("arm", shapes=[box, *more], density=1000.0))
    model.add(fm.Revolute("hinge", model.ground, arm, axis="y"))
    drop = model.add(fm.PointMass("drop", mass=1.0, shapes=[fm.Sphere(0.1, colour=GREEN)]))
    model.add(fm.Translation("fall", model.ground, drop, q0=(2, 0, 0)))
    return model


def test_shapes_replace_the_default_picture() -> None:
    model = machine()
    table = scene(start_of(model).solution, Extras(forces=False))
    arm, drop = table["bodies"]
    assert (arm["shapes"], drop["shapes"]) == ([], [])
    assert [each["colour"] for each in (*arm["solids"], *drop["solids"])] == [[*RED], [*GREEN]]
    assert len(table["scenery"]) == 1
    x = read(table["data"], arm["solids"][0]["vertices"])
    np.testing.assert_allclose(x.min(axis=0), [0.4, -0.5, -0.05], atol=1e-4)
    np.testing.assert_allclose(x.max(axis=0), [0.6, 0.5, 0.05], atol=1e-4)
    # given solids replace those of a body; the ground has both
    own = Solid("arm", np.eye(3), np.array([[0, 1, 2]]), RED)
    stand = own._replace(body="ground")
    table = scene(start_of(model).solution, Extras([own, stand], forces=False))
    assert [len(each["solids"]) for each in table["bodies"]] == [1, 1]
    assert len(table["scenery"]) == 2


def test_a_still_shows_the_colours_of_shapes() -> None:
    solution = fm.simulate(machine(), t_end=0.3, step=0.01)
    view = motion_view(solution, (400, 200))
    pixels = view.canvas.image()[..., :3].reshape(-1, 3).astype(int)
    red = (pixels[:, 0] > 120) & (pixels[:, 0] > 2 * pixels[:, 1])
    green = (pixels[:, 1] > 120) & (pixels[:, 1] > 2 * pixels[:, 0])
    assert red.sum() > 200
    assert green.sum() > 100
    assert view.frames == []


def test_exports_have_the_shapes() -> None:
    solution = fm.simulate(machine(), t_end=0.02, step=0.01)
    ground, arm, drop = moving_surfaces(solution)
    assert (ground.name, len(ground.triangles)) == ("ground", 2)
    assert (arm.name, len(arm.triangles), arm.paints[0].colour) == ("arm", 12, RED)
    np.testing.assert_allclose(drop.at(0).mean(axis=0), [2, 0, 0], atol=1e-12)


def test_a_flexible_body_has_its_surface_and_shapes() -> None:
    model = fm.Model("m")
    data = stressed_beam()
    beam = model.add(fm.FlexibleBody("beam", data=data, shapes=[fm.Sphere(0.01)]))
    model.add(fm.Fixed("clamp", model.ground, beam[next(iter(data.frames))]))
    solution = fm.simulate(model, t_end=0.002, step=0.001)
    assert [each.name for each in moving_surfaces(solution)] == ["beam", "beam shapes"]
    (body,) = scene(solution)["bodies"]
    assert "part" in body
    assert len(body["solids"]) == 1


def test_large_files_are_thinned_and_sizes_limited(tmp_path: Path) -> None:
    points, triangles = fm.Sphere(1.0).triangles(400)
    rows = "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points.tolist())
    faces = "".join(f"f {a} {b} {c}\n" for a, b, c in (triangles + 1).tolist())
    (tmp_path / "ball.obj").write_text(rows + faces)
    assert len(triangles) > 10 * MOST_TRIANGLES
    model = machine(fm.MeshShape(tmp_path / "ball.obj"))
    solids, notes = shape_solids(model)
    assert [len(each.triangles) for each in solids if each.body == "arm"][1] <= MOST_TRIANGLES
    assert notes == []
    for wrong in (
        fm.MeshShape(tmp_path / "ball.obj", scale=2e9),
        fm.Sphere(1.0, position=(1e10, 0, 0), density=0),
    ):
        model.bodies["drop"] = fm.PointMass("drop", mass=1.0, shapes=[wrong])
        (note,) = shape_solids(model)[1]
        assert note.startswith("bodies.drop.shapes.0 is not shown: ")
        assert "is larger than 1e+09 m; correct its" in note


@pytest.mark.parametrize("size", [1e-12, 1e9])
def test_the_smallest_and_the_largest_shapes_have_a_page(size: float) -> None:
    model = fm.Model("m")
    body = model.add(fm.RigidBody("b", shapes=[fm.Sphere(size)], density=1.0))
    model.add(fm.Free("free", model.ground, body))
    assert "<html" in model.show(browser=False).text
