"""Data of bodies by themselves: modes, fields, regions and marks that the page stores are those of
the body and the run.
"""

import json
import re
from typing import Any

import numpy as np
import pytest
from test_stress import mechanism, stressed_beam

import flexmbs as fm
from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.stress import von_mises
from flexmbs.player.arrays import Buffer, read
from flexmbs.player.body_scene import ColouredRegion, SceneOptions, body_page_scene, mark_tables
from flexmbs.player.fields import Field, SurfaceMark, ends, fractions, legend, stored_fields
from flexmbs.player.modes import modes_shown
from flexmbs.player.surface import stored_skin
from flexmbs.report.page import page
from flexmbs.report.single_bodies import at_nodes
from flexmbs.results.summary import summary

SHOW = SceneOptions("part", {"mode": -1}, modes=True, frames=True)


def plate(n: int, *, modes: int) -> Surface:
    """A plate of n × n nodes with random shapes."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 0.4, n), indexing="ij")
    nodes = np.stack([x.ravel(), y.ravel(), 0.0 * x.ravel()], axis=1)
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    phi = np.random.default_rng(0).normal(size=(n * n, 3, modes))
    return Surface(
        nodes,
        phi,
        np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]),
        np.arange(n * n) + 7,
    )


def test_modes_are_those_of_the_body() -> None:
    data = stressed_beam()
    assert data.surface is not None
    assert data.stress is not None
    table = body_page_scene(data, [], SHOW)
    [mode] = table["modes"]
    u = data.surface.phi[:, :, 0]
    largest = np.linalg.norm(u, axis=1).max()
    rows = np.unique(data.surface.triangles)
    np.testing.assert_allclose(read(table["data"], mode["shapes"])[0], u[rows] / largest, atol=6e-4)
    names = [frame["name"] for frame in table["frames"]]
    tip = data.frames["tip"]
    np.testing.assert_allclose(
        mode["frames"][names.index("tip")], [*tip.phi[:, 0] / largest, *tip.psi[:, 0] / largest]
    )
    of_row = von_mises(data.stress.modes[:, :, 0]) / largest
    expected = np.zeros(len(data.surface.nodes))
    np.maximum.at(expected, data.stress.rows, of_row)  # node 28 has two materials
    assert mode["largest"] == pytest.approx(1e-9 * expected.max())
    np.testing.assert_allclose(
        read(table["data"], mode["stress"]) * mode["largest"],
        1e-9 * expected[rows],
        atol=1e-4 * mode["largest"],
    )
    assert table["settings"] == {"grid": False, "mode": -1}


def test_frames_have_the_pose_of_the_body() -> None:
    data = stressed_beam()
    table = body_page_scene(data, [], SHOW)
    for frame in table["frames"]:
        own = data.frames[frame["name"]]
        a, b, c, d = frame["rest"][3:]
        np.testing.assert_allclose(frame["rest"][:3], own.x)
        first = [1 - 2 * (c * c + d * d), 2 * (b * c + a * d), 2 * (b * d - a * c)]
        np.testing.assert_allclose(first, own.R[:, 0], atol=1e-12)


def from_the_first(a: int, b: int, c: int) -> tuple[int, ...]:
    """A triangle, whichever corner it begins at."""
    return min((a, b, c), (b, c, a), (c, a, b))


def test_frames_are_coupled_with_the_vertices_of_their_regions() -> None:
    data = stressed_beam()
    surface = data.surface
    assert surface is not None
    name = next(iter(data.frames))
    regions = [
        ColouredRegion(name, np.unique(surface.triangles[:2]), "#ff0000"),
        ColouredRegion("no frame", np.arange(4), "#00ff00"),
    ]
    [spider] = body_page_scene(data, regions, SceneOptions("part", {}, frames=True))["spiders"]
    assert (spider["frame"], spider["colour"]) == (0, "#ff0000")
    np.testing.assert_array_equal(
        np.unique(surface.triangles)[spider["vertices"]], regions[0].nodes
    )


def test_regions_take_their_triangles_from_the_surface() -> None:
    data = stressed_beam()
    surface = data.surface
    assert surface is not None
    chosen = np.unique(surface.triangles[:2])
    table = body_page_scene(
        data,
        [ColouredRegion("base", chosen, "#ff0000"), ColouredRegion("again", chosen, "#00ff00")],
        SHOW,
    )
    [part] = table["parts"]
    [region] = part["regions"]
    rows = np.unique(surface.triangles)
    own = rows[read(table["data"], region["triangles"]).astype(int)]
    rest = rows[read(table["data"], part["triangles"]).astype(int)]
    assert np.isin(own, chosen).all()
    assert len(own) >= 2
    assert {from_the_first(*row) for row in np.concatenate([own, rest])} == {
        from_the_first(*row) for row in surface.triangles
    }
    assert len(own) + len(rest) == len(surface.triangles)


def test_modes_of_large_surfaces_are_few() -> None:
    data, buffer = stressed_beam(), Buffer()
    assert modes_shown(data, stored_skin(buffer, plate(5, modes=1))) == data.nf
    large = type("Body", (), {"nf": 60})()
    assert [modes_shown(large, stored_skin(buffer, plate(n, modes=1))) for n in (5, 105)] == [
        24,
        22,
    ]


def damage(*values: float) -> Field:
    return Field("damage", "damage", np.array(values), "damage", logarithmic=True)


def test_legends_by_decades() -> None:
    field = damage(3e-4, 2e-9, 0.0, np.nan, 5e-14)
    assert ends(field) == pytest.approx((1e-9, 1e-3))  # six decades at most
    assert ends(damage(1e-4)) == pytest.approx((1e-5, 1e-4))  # a decade at least
    assert ends(damage(0.0, 0.0)) == (0.0, 1.0)
    assert ends(field._replace(logarithmic=False)) == (0.0, 3e-4)
    places = fractions(field.values, 1e-9, 1e-3, True)
    np.testing.assert_allclose(
        places, [np.log10(3e5) / 6, np.log10(2) / 6, 0.0, np.nan, 0.0], atol=1e-12
    )
    life = legend(field._replace(inverse=True))
    assert [legend(field)["ticks"][k] for k in (0, -1)] == [[0.0, "≤ 10⁻⁹"], [1.0, "10⁻³"]]
    assert [life["ticks"][k] for k in (0, -1)] == [[0.0, "≥ 10⁹"], [1.0, "10³"]]
    assert legend(damage(0.0, 0.0))["ticks"] == [[0.0, "0"]]
    above = damage(1e-4, np.inf)
    assert legend(above)["ticks"][-1] == [1.0, "≥ 10⁻⁴"]
    assert fractions(above.values, *ends(above), True).tolist() == [1.0, 1.0]


def test_bodies_share_the_legend_of_a_field() -> None:
    buffer, rows = Buffer(), np.array([1, 0])
    given = {
        "a": [Field("f", "f, m", np.array([1.0, 2.0]))],
        "b": [Field("f", "f, m", np.array([4.0, np.nan]))],
    }
    [shown], arrays = stored_fields(buffer, given, {"a": rows, "b": rows})
    assert (shown["low"], shown["high"]) == (0.0, 4.0)
    np.testing.assert_allclose(read(buffer.text(), arrays["a"]["f"]), [0.5, 0.25])
    assert read(buffer.text(), arrays["b"]["f"])[0] < -1.0  # unknown
    assert shown["ticks"][0] == [0.0, "0"]


def test_marks_move_with_the_nearest_vertex() -> None:
    surface = plate(6, modes=1)
    few = Surface(surface.nodes, surface.phi, surface.triangles[:5], surface.node_ids)
    skin = stored_skin(Buffer(), few)
    known, beyond = int(skin.rows[3]), len(surface.nodes) - 1
    tables = mark_tables(
        2, [SurfaceMark("1", known, ("f",)), SurfaceMark("2", beyond, ("f",))], few, skin
    )
    assert (tables[0]["body"], tables[0]["vertex"]) == (2, 3)
    assert tables[1]["at"] == surface.nodes[beyond].tolist()
    away = np.linalg.norm(surface.nodes[skin.rows] - surface.nodes[beyond], axis=1)
    assert tables[1]["vertex"] == int(np.argmin(away))


def test_values_by_node_numbers() -> None:
    found = at_nodes(np.array([30, 10, 20]), np.array([20, 30, 20]), np.array([1.0, 2.0, 5.0]))
    np.testing.assert_array_equal(found, [2.0, np.nan, 5.0])


def scene_in(text: str) -> dict[str, Any]:
    [found] = re.findall(r'id="flexmbs-scene">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)  # type: ignore[no-any-return]


def test_the_page_of_a_run_has_envelope_hot_spots_and_modes() -> None:
    solution = fm.simulate(mechanism(stressed_beam(yield_stress=1e3)), t_end=0.02, step=0.002)
    table = scene_in(page(solution, summary(solution)))
    assert set(table["alone"]) == {"modes-0", "stress-0", "stress-1"}  # both bodies are of one part
    assert [each["key"] for each in table["legends"]] == ["envelope"]
    alone = table["alone"]["stress-1"]
    assert alone["bodies"][0]["name"] == "other"
    view = solution.body("other").stress
    surface = solution.compiled.data["other"].surface
    assert surface is not None
    rows = np.unique(surface.triangles)
    expected = at_nodes(surface.node_ids, view.envelope.node_ids, view.envelope.von_mises)[rows]
    found = (
        read(table["data"], alone["bodies"][0]["values"]["envelope"]) * alone["legends"][0]["high"]
    )
    np.testing.assert_allclose(found, 1e-6 * expected, atol=1e-4 * alone["legends"][0]["high"])
    spots = view.hot_spots()
    assert [mark["name"] for mark in alone["marks"]] == [str(k) for k in range(1, len(spots) + 1)]
    np.testing.assert_allclose(
        [mark["at"] for mark in alone["marks"]], [spot.position for spot in spots]
    )
    # in the motion one legend for both
    largest = max(
        float(solution.body(name).stress.envelope.von_mises.max()) for name in ("beam", "other")
    )
    assert table["legends"][0]["high"] == pytest.approx(1e-6 * largest)
    assert {mark["body"] for mark in table["marks"]} == {0, 1}


def test_a_view_of_a_run_has_neither() -> None:
    solution = fm.simulate(mechanism(stressed_beam()), t_end=0.01, step=0.002)
    table = scene_in(solution.show(browser=False).text)
    assert (table["alone"], table["legends"], table["marks"]) == ({}, [], [])
