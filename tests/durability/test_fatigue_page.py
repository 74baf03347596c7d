"""Damage on pages: tables, pictures and remarks of a report, the page of one body, results of other
runs.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_fatigue import loaded

import flexmbs as fm
from flexmbs.page.style import DAMAGE, STRESS
from flexmbs.player.arrays import read
from flexmbs.player.markup import HERE
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

pytest.importorskip("rainflow")
CURVE = fm.SNCurve(amplitude=5e6, cycles=1e6, slope=4.0, ultimate=1e9, mean_stress="goodman")


@pytest.fixture(scope="module")
def data() -> fm.FlexibleBodyData:
    mesh = box_mesh((1.0, 0.06, 0.04), (6, 2, 2), "hex20", origin=(0.0, -0.03, -0.02))
    steel = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    interfaces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    return reduce(
        mesh, steel, interfaces=interfaces, method=CraigBampton(modes=2), reference="base"
    )


@pytest.fixture(scope="module")
def cyclic(data: fm.FlexibleBodyData) -> fm.Solution:
    return loaded(data, fm.Sine(800.0, 1.0, phase=np.pi / 2, offset=400.0))


def scene_in(text: str) -> dict[str, Any]:
    [found] = re.findall(r'id="flexmbs-scene">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)  # type: ignore[no-any-return]


def test_a_report_with_damage(cyclic: fm.Solution, tmp_path: Path) -> None:
    found = fm.fatigue(cyclic, "arm", CURVE)
    cyclic.report(tmp_path / "run.html", fatigue=found)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert '<a href="#fatigue">Fatigue</a>' in text
    section = text.split('<section id="fatigue">')[1].split("</section>")[0]
    assert "S–N curve through 5 MPa at" in section
    assert "goodman, tensile strength 1000 MPa" in section
    assert 'alt="Fatigue damage of arm"' in section
    nodes = [
        int(node)
        for node in re.findall(r'<tr><td class="n">\d+</td><td class="n">(\d+)</td>', section)
    ]
    assert nodes[0] == found.node_ids[found.worst(1)[0]]
    place = dict(zip(found.node_ids.tolist(), found.positions))
    damage = dict(zip(found.node_ids.tolist(), found.damage.tolist()))
    assert [damage[node] for node in nodes] == sorted(
        (damage[node] for node in nodes), reverse=True
    )
    size = np.linalg.norm([1.0, 0.06, 0.04])
    assert (
        min(np.linalg.norm(place[a] - place[b]) for k, a in enumerate(nodes) for b in nodes[:k])
        > 0.05 * size
    )
    table = scene_in(text)
    alone = table["alone"]["fatigue-0"]
    assert alone["settings"]["field"] == "damage"
    assert [mark["fields"] for mark in alone["marks"]] == [["damage", "life", "amplitude"]] * len(
        nodes
    )
    assert {legend["key"] for legend in table["legends"]} == {
        "envelope",
        "damage",
        "life",
        "amplitude",
    }
    [legend] = [each for each in alone["legends"] if each["key"] == "damage"]
    assert legend["low"] < found.damage.max() <= legend["high"]


def test_damage_in_the_motion(cyclic: fm.Solution) -> None:
    found = fm.fatigue(cyclic, "arm", CURVE)
    table = scene_in(cyclic.show(fatigue=[found], browser=False).text)
    assert [legend["key"] for legend in table["legends"]] == ["damage", "life", "amplitude"]
    stored = table["bodies"][0]["values"]
    assert stored["damage"] != stored["amplitude"]
    np.testing.assert_array_equal(
        read(table["data"], stored["damage"]), read(table["data"], stored["life"])
    )


def test_the_page_of_a_body(cyclic: fm.Solution) -> None:
    """Hottest nodes alone: the others are unknown; nodes without damage have the lowest colour and
    no number.
    """
    few = fm.fatigue(cyclic, "arm", CURVE, hottest=5)
    table = scene_in(few.show(browser=False).text)
    values = read(table["data"], table["bodies"][0]["values"]["damage"])
    assert int((values >= 0.0).sum()) == 5
    assert any("were not evaluated; these are grey" in note for note in table["notes"])
    none = fm.fatigue(cyclic, "arm", fm.SNCurve(amplitude=1e9, cycles=1e6, slope=4.0))
    text = none.show(browser=False).text
    table = scene_in(text)
    assert table["marks"] == []
    assert table["legends"][0]["ticks"] == [[0.0, "0"]]
    assert table["legends"][1]["ticks"] == [[0.0, "∞"]]
    assert (read(table["data"], table["bodies"][0]["values"]["damage"]) == 0.0).all()
    assert f"No damage at {len(none.node_ids)} of {len(none.node_ids)} nodes" in table["notes"][0]
    failed = replace(none, damage=np.where(none.node_ids == none.node_ids[3], np.inf, none.damage))
    table = scene_in(failed.show(browser=False).text)
    assert table["legends"][0]["ticks"] == [[0.0, "0"], [1.0, "∞"]]
    assert len(table["marks"]) == 1


def test_results_of_other_runs(
    cyclic: fm.Solution, data: fm.FlexibleBodyData, tmp_path: Path
) -> None:
    found = fm.fatigue(cyclic, "arm", CURVE, hottest=5)
    with pytest.raises(fm.InputError, match=r"fatigue: must be results of fm.fatigue, not float"):
        cyclic.report(tmp_path / "run.html", fatigue=[0.5])  # type: ignore[list-item]
    with pytest.raises(fm.InputError, match="two results for body 'arm'"):
        cyclic.show(fatigue=[found, found], browser=False)
    other = loaded(reduced_otherwise(), fm.Sine(800.0, 1.0), count=5)
    with pytest.raises(fm.InputError, match="is of body 'arm', which is not in this solution"):
        other.report(tmp_path / "run.html", fatigue=found)
    assert not (tmp_path / "run.html").exists()
    bare = replace(found, part=replace(data, surface=None, stress=None))
    with pytest.raises(fm.InputError, match="has no triangles to show"):
        bare.show(browser=False)


def reduced_otherwise() -> fm.FlexibleBodyData:
    mesh = box_mesh((1.0, 0.06, 0.04), (4, 2, 2), "hex20", origin=(0.0, -0.03, -0.02))
    interfaces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    return reduce(
        mesh,
        Isotropic(E=2e11, nu=0.3, rho=7850.0),
        interfaces=interfaces,
        method=CraigBampton(modes=2),
        reference="base",
    )


def test_colours_of_pictures_and_of_the_player_are_the_same() -> None:
    text = (HERE / "js" / "colours.js").read_text(encoding="utf-8")
    for name, colours in (("stress", STRESS), ("damage", DAMAGE)):
        assert f"{name}: [{', '.join(json.dumps(colour) for colour in colours)}]" in text


def test_damage_in_a_document(cyclic: fm.Solution, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    pytest.importorskip("typst")
    found = fm.fatigue(cyclic, "arm", CURVE)
    cyclic.report(tmp_path / "run.pdf", fatigue=found)
    pages = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "run.pdf").pages]
    [page] = [page for page in pages if "runs to failure" in page]
    assert "Damage in the run by decades" in page
    worst = found.worst(1)[0]
    assert f"{found.node_ids[worst]}" in page.split("runs to failure")[1]
    assert "S–N curve through 5 MPa" in page.replace("\u200b", "")
