"""Bodies by themselves in real browsers: modes swing, and the colours at vertices are those of the
legend for the values there; skipped as `test_player_browsers` is."""

import re
import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_player_browsers import BROWSERS, SCREEN, needs_node, seen

import flexmbs as fm
from flexmbs.api.fatigue import Fatigue
from flexmbs.flexible_body.stress import von_mises
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce
from preprocess.report.page import page

LENGTH, WIDTH, HEIGHT = 1.0, 0.1, 0.16  # the middle one points up
NEAR = 0.02  # of the legend: a pixel is not exactly at its vertex
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def data() -> fm.FlexibleBodyData:
    mesh = box_mesh(
        (LENGTH, WIDTH, HEIGHT), (12, 4, 2), "hex20", origin=(0.0, -WIDTH / 2, -HEIGHT / 2)
    )
    steel = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    interfaces = {"base": Rigid("x0"), NASTY: Rigid("x1")}
    return reduce(
        mesh,
        steel,
        interfaces=interfaces,
        method=CraigBampton(modes=2),
        reference="base",
        name=NASTY,
    )


@pytest.fixture(scope="module")
def solution(data: fm.FlexibleBodyData) -> fm.Solution:
    model = fm.Model("swinging beam", gravity=(0.0, 0.0, -9.81))
    beam = model.add(fm.FlexibleBody("beam", data=data))
    model.add(fm.Revolute("hinge", model.ground, beam["base"], axis="y"))
    with warnings.catch_warnings(action="ignore", category=fm.AuditWarning):
        return fm.simulate(model, t_end=0.1, step=0.002)


def looked(browser: str, path: Path) -> tuple[dict[str, dict[str, Any]], Any]:
    """The players of a page by their keys, and what a click on the first picture of a mode did."""
    if not BROWSERS[browser] or (browser == "firefox" and not (SCREEN and shutil.which("Xvfb"))):
        pytest.skip(f"{browser} is not installed, or no virtual screen for it")
    found = seen("single.mjs", browser, path, screen=browser == "firefox")
    assert (found["messages"], found["requests"]) == ([], [])
    players = {each["key"]: each for each in found["players"]}
    assert all(each["live"] for each in players.values()), found["players"]
    assert all(each["first"]["colours"] > 20 for each in players.values())  # not blank
    return players, found["picked"]


def agree(data: fm.FlexibleBodyData, found: list[list[float]], expected: np.ndarray) -> None:
    """Places in the legend at vertices against values (N,) by its ends, inside the upper side."""
    assert data.surface is not None
    rows = np.unique(data.surface.triangles)
    x = data.surface.nodes[rows]
    inside = [
        (i, u)
        for i, u in found
        if 0.05 < x[int(i), 0] < 0.95 * LENGTH and abs(x[int(i), 1]) < 0.45 * WIDTH
    ]
    assert len(inside) > 20
    ids, places = np.array(inside).T
    np.testing.assert_allclose(places, expected[rows[ids.astype(int)]], atol=NEAR)
    assert np.ptp(places) > 0.2


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_the_page_of_a_part(browser: str, data: fm.FlexibleBodyData, tmp_path: Path) -> None:
    """Every mode moves, its colours are the displacement and the stress of the mode, regions and
    frames are there.
    """
    path = tmp_path / "part.html"
    path.write_text(page(data), encoding="utf-8")
    assert NASTY not in path.read_text(encoding="utf-8")
    players, picked = looked(browser, path)
    found = players[""]
    assert data.surface is not None
    assert data.stress is not None
    assert (found["first"]["field"], found["first"]["mode"]) == ("", -1)
    assert [value for value, _ in found["fields"]] == ["", "displacement", "stress"]
    assert len(found["modes"]) == 1 + data.nf
    assert found["plays"]
    for k, swing in enumerate(found["swing"]):
        assert swing["moved"] > 2e-3, k
        u = data.frames[NASTY].phi[:, k] / np.linalg.norm(data.surface.phi[:, :, k], axis=1).max()
        size = np.linalg.norm([LENGTH, WIDTH, HEIGHT])
        np.testing.assert_allclose(
            swing["frame"][1], data.frames[NASTY].x + 0.1 * size * u, atol=1e-5
        )
    u = np.linalg.norm(data.surface.phi[:, :, 0], axis=1)
    displacement, stress = found["colours"]
    agree(data, displacement["values"], u / u.max())
    assert displacement["legend"]["ticks"] == ["0", "0.25", "0.5", "0.75", "1"]
    values = np.zeros(len(u))
    np.maximum.at(
        values, data.stress.rows, von_mises(np.asarray(data.stress.modes[:, :, 0], float))
    )
    agree(data, stress["values"], values / values.max())
    assert float(stress["legend"]["ticks"][-1]) == pytest.approx(
        1e-9 * values.max() / u.max(), rel=0.01
    )
    assert picked["mode"] == 0
    assert picked["field"] == "displacement"
    assert picked["playing"]
    assert picked["passed"] > 0.0
    if browser == "chrome":
        assert not picked["reduced"]  # who prefers reduced motion starts it


CURVE = fm.SNCurve(amplitude=1e5, cycles=1e6, slope=4.0)


class Run(NamedTuple):
    """The page of a run, its damage with the package for it, and what `looked` gave."""

    path: Path
    damage: Fatigue | None
    players: dict[str, dict[str, Any]]
    picked: Any


@pytest.fixture(scope="module", params=BROWSERS)
def run(
    request: pytest.FixtureRequest, solution: fm.Solution, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    path, damage = tmp_path_factory.mktemp("run") / "run.html", None
    if find_spec("rainflow") is not None:
        with warnings.catch_warnings(action="ignore", category=fm.ModelWarning):
            damage = fm.fatigue(solution, "beam", CURVE)
    solution.report(path, fatigue=() if damage is None else damage)
    return Run(path, damage, *looked(request.param, path))


@needs_node
def test_stress_and_modes_on_the_page_of_a_run(
    run: Run, data: fm.FlexibleBodyData, solution: fm.Solution
) -> None:
    """The largest stress over the run as colours, hot spots where nothing hides them, modes of the
    part.
    """
    players, picked = run.players, run.picked
    damaged = run.damage is not None
    assert set(players) == {"", "modes-0", "stress-0", *["fatigue-0"] * damaged}
    fields = [value for value, _ in players[""]["fields"]]
    assert fields == [
        "",
        "displacement",
        "stress",
        "envelope",
        *["damage", "life", "amplitude"] * damaged,
    ]
    film = players[""]["film"]
    assert film["size"] > 1000
    assert film["own"]
    assert film["like"]
    assert film["kinds"]
    for spot in film["kinds"]:  # every hot spot has its number in the film: dark on white
        assert spot["white"] > 0.4 * spot["n"] > 0.0
        assert spot["dark"] > 0
    assert all(swing["moved"] > 2e-3 for swing in players["modes-0"]["swing"])
    assert (picked["mode"], picked["playing"]) == (0, True)
    found, view = players["stress-0"], solution.body("beam").stress
    assert "modes" in found["hidden"]
    envelope = view.envelope
    values = np.full(len(data.surface.nodes), 0.0)  # type: ignore[union-attr]
    order = np.argsort(data.surface.node_ids)  # type: ignore[union-attr]
    rows = order[np.searchsorted(data.surface.node_ids, envelope.node_ids, sorter=order)]  # type: ignore[union-attr]
    np.maximum.at(values, rows, envelope.von_mises)
    [colours] = found["colours"]
    agree(data, colours["values"], values / values.max())
    assert colours["legend"]["title"] == "largest von Mises stress, MPa"
    above = {
        str(k) for k, spot in enumerate(view.hot_spots(), 1) if spot.position[2] > 0.49 * HEIGHT
    }
    below = {
        str(k) for k, spot in enumerate(view.hot_spots(), 1) if spot.position[2] < -0.49 * HEIGHT
    }
    assert above
    assert below
    assert above <= set(found["marks"]["top"])
    assert not above & set(found["marks"]["bottom"])
    assert below <= set(found["marks"]["bottom"])
    assert not below & set(found["marks"]["top"])


@needs_node
def test_damage_as_colours(run: Run, data: fm.FlexibleBodyData) -> None:
    """Places of the colours are the decades of the damage, 1/damage has the same colours, hidden
    nodes have no numbers.
    """
    if run.damage is None:
        pytest.skip("rainflow is not installed")
    found, shown = run.damage, run.players["fatigue-0"]
    assert shown["first"]["field"] == "damage"
    damage, life, amplitude = shown["colours"]
    first, last = (decade(damage["legend"]["ticks"][k]) for k in (0, -1))
    assert last - first in range(1, 7)
    assert first < np.log10(found.damage.max()) <= last
    assert [decade(life["legend"]["ticks"][k]) for k in (0, -1)] == [-first, -last]
    with np.errstate(divide="ignore"):
        places = np.clip(
            (np.log10(of_nodes(data, found.node_ids, found.damage)) - first) / (last - first),
            0.0,
            1.0,
        )
    agree(data, damage["values"], places)
    agree(data, life["values"], places)
    sizes = of_nodes(data, found.node_ids, found.amplitude)
    agree(data, amplitude["values"], sizes / sizes.max())
    assert shown["marks"]["top"]
    assert shown["marks"]["bottom"]
    up = data.surface.node_ids[data.surface.nodes[:, 2] > 0.49 * HEIGHT]  # type: ignore[union-attr]
    numbers = {str(k) for k, node in enumerate(table_of(run.path), 1) if node in up}
    assert numbers <= set(shown["marks"]["top"])
    assert not numbers & set(shown["marks"]["bottom"])


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_nodes_that_were_not_evaluated_are_grey(
    browser: str, data: fm.FlexibleBodyData, solution: fm.Solution, tmp_path: Path
) -> None:
    pytest.importorskip("rainflow")
    with warnings.catch_warnings(action="ignore", category=fm.ModelWarning):
        few = fm.fatigue(solution, "beam", CURVE, hottest=30)
    few.show(browser=False).save(tmp_path / "few.html")
    players, _ = looked(browser, tmp_path / "few.html")
    values = players[""]["colours"][0]["values"]
    rows = np.unique(data.surface.triangles)  # type: ignore[union-attr]
    known = np.isin(data.surface.node_ids[rows], few.node_ids)  # type: ignore[union-attr]
    assert sum(place >= 0.0 for _, place in values) <= known.sum()
    assert sum(place < 0.0 for _, place in values) > 20


def decade(text: str) -> int:
    """The exponent of a power of ten."""
    return int(text.split("10")[-1].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


def of_nodes(data: fm.FlexibleBodyData, node_ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values (N,) at all nodes of the surface by their numbers."""
    known = dict(zip(node_ids.tolist(), values.tolist()))
    return np.array([known.get(node, 0.0) for node in data.surface.node_ids.tolist()])  # type: ignore[union-attr]


def table_of(path: Path) -> list[int]:
    """Nodes of the table of the worst nodes."""
    section = (
        path.read_text(encoding="utf-8").split('<section id="fatigue">')[1].split("</section>")[0]
    )
    return [
        int(node)
        for node in re.findall(r'<tr><td class="n">\d+</td><td class="n">(\d+)</td>', section)
    ]
