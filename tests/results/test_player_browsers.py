"""Reports in real browsers: Chromium without a screen, Firefox on a virtual one; skipped where a
browser, node or its modules are missing. FLEXMBS_NODE_MODULES names the folder of the modules, if
it is not the one of `npm install --prefix tests/player`."""

import base64
import contextlib
import json
import shutil
import subprocess
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from runs import hanging
from test_player_scripts import MODULES, NODE, TESTS
from test_stress import mechanism, stressed_beam

import flexmbs as fm

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FIREFOX, SCREEN = shutil.which("firefox-esr") or shutil.which("firefox"), shutil.which("xvfb-run")
BROWSERS = {"chrome": CHROMIUM, "firefox": FIREFOX}
needs_node = pytest.mark.skipif(
    NODE is None or not (MODULES / "puppeteer-core").exists(),
    reason="puppeteer-core is not installed",
)
needs_axe = pytest.mark.skipif(
    not (MODULES / "axe-core").exists(), reason="axe-core is not installed"
)
PIXELS = 300


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, fm.Solution]:
    plain = "<script>alert(1)<img src=x onerror=alert(2)>"
    model = mechanism(stressed_beam())
    model.add(
        fm.Revolute("nasty", model.bodies["other"].handle()["tip"], model.add(rod(plain)), axis="x")
    )
    solution = fm.simulate(model, t_end=0.2, step=0.002)
    path = tmp_path_factory.mktemp("report") / "report.html"
    solution.report(path)
    return path, solution


def rod(name: str) -> fm.RigidBody:
    return fm.RigidBody(name, mass=0.1, inertia=(1e-3, 1e-3, 1e-3), frames={"end": (0.3, 0.0, 0.0)})


def skip_without(browser: str) -> None:
    if not BROWSERS[browser] or (browser == "firefox" and not (SCREEN and shutil.which("Xvfb"))):
        pytest.skip(f"{browser} is not installed, or no virtual screen for it")


@cache
def started(browser: str, screen: bool) -> subprocess.Popen[str]:
    """A browser for all pages of this process; it ends with its input."""
    wrapped = [str(SCREEN), "-a", "-s", "-screen 0 1280x900x24"] if screen else []
    command = [
        *wrapped,
        str(NODE),
        str(TESTS / "pages.mjs"),
        browser,
        str(BROWSERS[browser]),
        str(MODULES.parent),
    ]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def seen(script: str, browser: str, path: Path, *, screen: bool) -> dict[str, Any]:
    """What a script reports of a page."""
    process = started(browser, screen)
    assert process.stdin is not None
    assert process.stdout is not None
    told = [""]
    try:
        with contextlib.suppress(BrokenPipeError):  # it did not start: it has told why
            print(json.dumps([script, str(path)]), file=process.stdin, flush=True)
        while not told[-1].startswith("{") and (line := process.stdout.readline()):
            told.append(line)
        assert told[-1].startswith('{"messages"'), "".join(told)[-3000:]
    except BaseException:  # also of one that waits for too long
        started.cache_clear()  # the next page has a new browser
        raise
    return json.loads(told[-1])  # type: ignore[no-any-return]


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_the_report_plays(browser: str, report: tuple[Path, fm.Solution]) -> None:
    skip_without(browser)
    path, solution = report
    found = seen("browser.mjs", browser, path, screen=browser == "firefox")
    assert (found["messages"], found["requests"]) == ([], [])
    assert found["live"], found["note"]
    assert found["shown"] > 50  # colours: the picture is not blank
    assert found["moved"] > 0.005
    assert found["turned"] > 0.005
    for field in ("displacement", "stress"):
        pixels = found["fields"][field]
        assert pixels["body"] > PIXELS
        # the others are mixed at the silhouettes
        assert pixels["inside"] > 0.85 * pixels["body"], field
        assert pixels["kinds"] > 10
    middle = 0.5 * (solution.t[0] + solution.t[-1])
    np.testing.assert_allclose(found["told"], [solution.t[-1], middle])
    np.testing.assert_allclose(
        [found["home"], found["stepped"], found["end"]], [0.0, found["step"], solution.t[-1]]
    )
    assert found["playing"]
    assert found["paused"]
    assert 0.0 < found["later"] < solution.t[-1]
    assert "3 bodies" in found["label"]
    assert found["film"]["type"] == "video/webm"
    assert found["film"]["size"] > 2000
    for body, stored in zip(solution.bodies, found["stored"]):
        if stored:
            surface, view = solution.compiled.data[body].surface, solution.body(body)
            assert surface is not None
            local = surface.nodes[:4] + np.einsum("nak,k->na", surface.phi[:4], view.elastic[2])
            np.testing.assert_allclose(
                stored, local @ view.rotation[2].T + view.position[2], atol=1e-4
            )


@needs_node
def test_pictures_do_not_depend_on_the_scale(tmp_path: Path) -> None:
    """A machine of a tenth of a micrometre, and of kilometres, looks as one of a metre."""
    skip_without("chrome")
    pictures = []
    for scale in (1.0, 1e-7, 1e3):
        model = fm.Model("arm", gravity=(0.0, 0.0, -9.81 * scale))
        inertia = (2e-2 * scale**5,) * 3
        arm = fm.RigidBody(
            "arm", mass=scale**3, inertia=inertia, frames={"end": (scale, 0.0, 0.2 * scale)}
        )
        model.add(fm.Revolute("hinge", model.ground, model.add(arm), axis="y"))
        load = fm.RigidBody("load", mass=scale**3, inertia=inertia)
        model.add(fm.Prismatic("slide", "arm/end", model.add(load), axis="y", q0=0.3 * scale))
        model.show(browser=False).save(tmp_path / "view.html")
        found = seen("picture.mjs", "chrome", tmp_path / "view.html", screen=False)
        pictures.append(imread(BytesIO(base64.b64decode(found["picture"]))))
    assert np.ptp(pictures[0]) > 0.5
    for other in pictures[1:]:
        assert (np.abs(other - pictures[0]).max(axis=2) > 0.1).mean() < 2e-3


def sliding() -> fm.Model:
    """A sledge with a ball as its foot and a spring to the ground, and a pendulum on it."""
    model = fm.Model("sledge", gravity=(0.0, 0.0, -9.81))
    sledge = model.add(
        fm.RigidBody("sledge", mass=2.0, inertia=(0.1, 0.1, 0.1), frames={"top": (0.0, 0.0, 0.3)})
    )
    model.add(fm.Translation("free", model.ground, sledge, q0=(0.0, 0.0, 0.1), v0=(2.0, 0.0, 0.0)))
    model.add(fm.SpherePlane("foot", model.ground, sledge, radius=0.1, friction=0.1))
    model.add(fm.PointSpring("spring", model.ground, sledge, k=20.0, length=0.5))
    model.add(fm.Revolute("hinge", sledge["top"], model.add(rod("pendulum")), axis="y", q0=0.5))
    return model


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
@pytest.mark.parametrize("kind", ["elastic", "contacts"])
def test_every_control_changes_the_picture_and_takes_it_back(
    browser: str, kind: str, report: tuple[Path, fm.Solution], tmp_path: Path
) -> None:
    skip_without(browser)
    path = report[0] if kind == "elastic" else tmp_path / "sledge.html"
    if kind == "contacts":
        fm.simulate(sliding(), t_end=0.4, step=2e-3, integrator="moreau-jean").report(path)
    found = seen("controls.mjs", browser, path, screen=browser == "firefox")
    assert found["live"]
    own = {"ghost", "deformation", "field"} if kind == "elastic" else {"contacts", "forces"}
    views = {"front", "right", "top", "oblique"}
    assert own | views | {"frames", "joints", "axes", "reactions", "grid", "trace", *"awAW"} <= set(
        found["changed"]
    )
    for name, (changed, left) in found["changed"].items():
        assert changed > 20, name
        assert left <= 0.01 * changed, name
    assert found["followed"] == pytest.approx(found["moved"], rel=1e-6)
    assert found["messages"] == []


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_checks_of_long_names_fit_a_phone(browser: str, tmp_path: Path) -> None:
    """The checks name bodies and contacts, whose names may be 100 characters without a space."""
    skip_without(browser)
    model = fm.Model("m" * 100, gravity=(0.0, 0.0, -9.81))
    body = model.add(fm.RigidBody("b" * 100, mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Translation("j" * 100, model.ground, body, q0=(0.0, 0.0, 0.2)))
    model.add(fm.SpherePlane("c" * 100, model.ground, body, radius=0.1))
    fm.simulate(model, t_end=0.02, step=1e-3, integrator="moreau-jean").report(
        tmp_path / "long.html"
    )
    found = seen("narrow.mjs", browser, tmp_path / "long.html", screen=browser == "firefox")
    assert found["page"] <= 0
    assert found["checks"] == [0]


@needs_node
@pytest.mark.parametrize("speed", [0.0, 100.0, 1e4, 1e30])
def test_motions_that_go_far_are_seen(speed: float, tmp_path: Path) -> None:
    """A sledge of 2 m that goes 2 km, 200 km, or out of all bounds: the picture was empty. It is
    followed, over its ground.
    """
    skip_without("chrome")
    model = fm.Model("sledge", gravity=(0.0, 0.0, -9.81))
    body = fm.RigidBody(
        "sledge", mass=100.0, inertia=(20.0, 60.0, 60.0), frames={"a": (-1, 0, 0), "b": (1, 0, 0.3)}
    )
    model.add(fm.Prismatic("rail", model.ground, model.add(body), axis="x", v0=speed))
    fm.simulate(model, t_end=20.0, step=0.1).show(browser=False).save(tmp_path / "far.html")
    found = seen("far.mjs", "chrome", tmp_path / "far.html", screen=False)
    assert (found["messages"], found["requests"]) == ([], [])
    assert found["follow"] == ("0" if speed else "-1")
    # beyond there are no numbers of single precision
    times = slice(1) if speed > 1e5 else slice(None)
    assert min(found["body"][times]) > PIXELS, found["body"]
    assert min(found["ground"][times]) > PIXELS, found["ground"]


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_two_runs_in_one_picture(browser: str, tmp_path: Path) -> None:
    """The second run over the first one or beside it, as long as it lasts; the bar of links covers
    no picture.
    """
    skip_without(browser)
    long, short = (
        fm.simulate(hanging(damping=c), t_end=t, step=0.005) for c, t in ((0.0, 0.6), (3.0, 0.3))
    )
    long.compare(short, tmp_path / "pair.html")
    found = seen("pair.mjs", browser, tmp_path / "pair.html", screen=browser == "firefox")
    assert (found["messages"], found["requests"]) == ([], [])
    assert (found["start"], found["end"], found["own"]) == (0.0, 0.6, [0.6, 0.3])
    assert found["needed"]
    assert found["largest"]
    assert "With another run, translucent: 1 bodies." in found["label"]
    assert found["both"]["clear"] > PIXELS
    assert found["both"]["beside"] > PIXELS
    a, b = found["named"]
    assert (a["text"], b["text"]) == ("A", "B")
    assert 0.0 < a["left"] < b["left"] < 100.0
    assert found["later"]["clear"] == 0
    assert found["traced"] > 100
    if browser == "chrome":  # that of a phone
        assert 0.0 <= found["top"] < 30.0
        picture = imread(BytesIO(base64.b64decode(found["picture"])))[..., :3]
        assert (picture.max(axis=2) == 0.0).sum() == 0  # nothing is black


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/></asset>
<library_effects>{}</library_effects><library_materials>{}</library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="18">0 0 0 0 1 0 0 1 1 0 2 0 0 3 0 0 3 1
</float_array><technique_common><accessor source="#a" count="6" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="green" count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
<triangles material="yellow" count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>3 4 5</p></triangles>
</mesh></geometry></library_geometries></COLLADA>"""


def coloured_robot(folder: Path, opacity: float) -> Path:
    """A red board behind a blue plate of this opacity, and a mesh of two colours beside them; seen
    from −x.
    """
    colours = {"green": "0 0.8 0", "yellow": "0.9 0.8 0"}
    shader = (
        "<profile_COMMON><technique><phong><diffuse><color>{} "
        "1</color></diffuse></phong></technique></profile_COMMON>"
    )
    effects = [
        f'<effect id="e{name}">{shader.format(rgb)}</effect>' for name, rgb in colours.items()
    ]
    materials = [
        f'<material id="{name}"><instance_effect url="#e{name}"/></material>' for name in colours
    ]
    (folder / "two.dae").write_text(DAE.format("".join(effects), "".join(materials)))

    def board(x: float, rgba: str) -> str:
        shape = "<geometry><box size='0.1 1.5 1.5'/></geometry>"
        return (
            f"<visual><origin xyz='{x} 0 0.5'/>{shape}<material name='{x}'><color "
            f"rgba='{rgba}'/></material></visual>"
        )

    boards = board(-1.0, f"0 0 1 {opacity}") + board(0.0, "1 0 0 1") + board(-0.4, "0 1 0 0")
    mesh = "<visual><origin xyz='0 1 0'/><geometry><mesh filename='two.dae'/></geometry></visual>"
    inertia = (
        "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' "
        "iyz='0'/></inertial>"
    )
    joint = (
        "<joint name='j' type='continuous'><parent link='base'/><child link='arm'/><axis "
        "xyz='0 0 1'/></joint>"
    )
    path = folder / "r.urdf"
    path.write_text(
        f"<robot name='r'><link name='base'>{boards}{mesh}</link><link "
        f"name='arm'>{inertia}</link>{joint}</robot>"
    )
    return path


@needs_node
@pytest.mark.parametrize("browser", BROWSERS)
def test_one_sees_through_clear_materials_and_meshes_have_their_colours(
    browser: str, tmp_path: Path
) -> None:
    """Red behind blue of 0.4 is (0.6, 0, 0.4) of their shades, of an opaque plate nothing; what has
    opacity 0 is not there.
    """
    skip_without(browser)
    purple = []
    for opacity, field in ((0.4, ""), (1.0, ""), (0.4, "displacement")):
        robot = fm.Robot.from_urdf(coloured_robot(tmp_path, opacity))
        robot.show(browser=False).save(tmp_path / "robot.html")
        page = (tmp_path / "robot.html").read_text(encoding="utf-8")
        named = '"format":"flexmbs-scene/1"'
        assert page.count(named) == 1
        (tmp_path / "robot.html").write_text(
            page.replace(named, f'{named},"settings":{{"field":"{field}"}}'), encoding="utf-8"
        )
        found = seen("picture.mjs", browser, tmp_path / "robot.html", screen=browser == "firefox")
        picture = imread(BytesIO(base64.b64decode(found["picture"])))
        r, g, b = np.moveaxis(picture[:, 40:, :3], 2, 0)  # beside the legend
        purple.append(int(((r > 0.3) & (b > 0.2) & (g < 0.15) & (b < 0.95 * r) & (r < 0.8)).sum()))
        counts = [
            int(each.sum())
            for each in (
                (g > 2 * r) & (g > 2 * b),
                (r > 2 * b) & (g > 2 * b),
                (r > 3 * g) & (r > 3 * b),
            )
        ]
        assert field or min(counts) > PIXELS, counts  # green, yellow, red
        # a field's colours are those of its legend
        blue = int(((b > r + 0.2) & (b > g + 0.1)).sum())
        assert (blue > PIXELS) == (not field)
    assert purple[0] > 10 * PIXELS
    assert max(purple[1:]) < 0.02 * purple[0]


@pytest.fixture(scope="module", params=BROWSERS)
def held(request: pytest.FixtureRequest, report: tuple[Path, fm.Solution]) -> dict[str, Any]:
    """What a script saw that holds the report as a reader does."""
    skip_without(request.param)
    return seen("hands.mjs", request.param, report[0], screen=request.param == "firefox")


@needs_node
@needs_axe
def test_the_report_answers_mouse_and_keys(
    held: dict[str, Any], report: tuple[Path, fm.Solution]
) -> None:
    t = report[1].t
    assert (held["messages"], held["requests"]) == ([], [])
    assert held["clicked"]["time"] == pytest.approx(
        t[0] + 0.5 * (t[-1] - t[0]), abs=0.05 * (t[-1] - t[0])
    )
    assert held["dragged"]["time"] == pytest.approx(
        t[0] + 0.7 * (t[-1] - t[0]), abs=0.05 * (t[-1] - t[0])
    )
    assert held["dragged"]["shown"] == f"{held['dragged']['time']:.4g} s"
    assert held["moved"]
    assert held["turned"]["azimuth"] < held["start"]["azimuth"] - 0.3
    assert held["nearer"]["distance"] < 0.9 * held["turned"]["distance"]
    keys = held["keys"]
    np.testing.assert_allclose(
        [keys[key]["time"] for key in ("Home", "ArrowRight", "End")], [t[0], t[1], t[-1]]
    )
    np.testing.assert_allclose(
        [keys["2"]["azimuth"], keys["2"]["elevation"]], [np.pi / 2, 0.0], atol=1e-12
    )
    assert keys["+"]["distance"] == pytest.approx(0.85 * keys["f"]["distance"])
    assert held["coloured"]["legend"]


@needs_node
@needs_axe
def test_the_report_answers_fingers(held: dict[str, Any]) -> None:
    assert held["stroked"]["azimuth"] < held["paused"]["azimuth"] - 0.3
    assert held["pinched"]["distance"] < 0.5 * held["stroked"]["distance"]
    assert held["pinched"]["azimuth"] == held["stroked"]["azimuth"]


@needs_node
@needs_axe
def test_pictures_are_coarser_only_while_they_move(held: dict[str, Any]) -> None:
    playing, paused = held["playing"], held["paused"]
    assert playing["playing"]
    assert playing["label"] == "Pause"
    assert playing["frames"] > held["coloured"]["frames"] + 3
    assert playing["sharp"] == pytest.approx(0.6, abs=0.01)
    assert not paused["playing"]
    assert paused["label"] == "Play"
    assert paused["sharp"] == pytest.approx(1.0, abs=0.01)


@needs_node
@needs_axe
def test_the_report_breaks_no_rule_of_accessibility(held: dict[str, Any]) -> None:
    assert {"light", "phone"} <= set(held["broken"])
    assert {view: rules for view, rules in held["broken"].items() if rules} == {}


@needs_node
@pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")
def test_without_webgl_the_still_picture_stays(report: tuple[Path, fm.Solution]) -> None:
    found = seen("browser.mjs", "firefox", report[0], screen=False)
    if found["live"]:
        pytest.skip("Firefox has WebGL 2 without a screen here")
    assert "WebGL 2 is not available" in found["note"]
    assert (found["messages"], found["requests"]) == ([], [])
