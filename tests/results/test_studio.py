"""The page on which a model is edited: who may read and change it, what is refused in one line,
what is saved.
"""

import contextlib
import http.client
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_calls import command

import flexmbs as fm
from flexmbs.command.local_server import HERE, MOST_SENT
from flexmbs.command.studio import server
from flexmbs.studies.studio.session import StaleText, StudioSession

TOKEN = "a-token"
ACCESS = {"allow_outside": False, "allow_code": False}
TEXT = """\
# a pendulum with friction
format = "flexmbs-model/1"
name = "<b>swing"  # the name

[bodies.rod]
kind = "rigid"
mass = 1      # kg, = 2 of the first design
com = [ 0.0, 0.0,
        -0.5 ]  # measured
inertia = [0.09, 0.09, 0.001]
frames = { end = [0.0, 0.0, -1.0], 'other.end' = [0, 0, 1] }

[joints.hinge]
kind = "revolute"
parent = "ground"
child = "rod"
axis = "y"
q0 = [0.5]

[forces."drag # 1"]
kind = "joint-friction"
joint = "hinge"
coulomb = 5e-2
# viscous = 0.1

[run]
t_end = 0.2
step = 1e-2"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model file with comments."""
    found = tmp_path / "swing.toml"
    found.write_text(TEXT, encoding="utf-8")
    return found


@contextlib.contextmanager
def opened(path: Path) -> Iterator[StudioSession]:
    """A session that ends."""
    with contextlib.closing(StudioSession(path, ACCESS)) as session:
        yield session


@contextlib.contextmanager
def serving(session: StudioSession) -> Iterator[int]:
    """The port of a server in a thread."""
    with contextlib.closing(server(session, TOKEN)) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        try:
            yield found.server_port
        finally:
            found.shutdown()
            thread.join()


def answer(
    port: int, path: str, content: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of a request; a POST of the own page if there is content."""
    connection = http.client.HTTPConnection(HERE, port, timeout=60)
    own = {"Origin": f"http://{HERE}:{port}", "Content-Type": "application/json"}
    given = {**(own if content is not None else {}), **headers}
    connection.request("GET" if content is None else "POST", path, content, given)
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read().decode()


def asked(port: int, action: str, values: Any, file: str) -> tuple[int, dict[str, Any]]:
    """Status and answer of an action of the page."""
    content = json.dumps({"values": values, "file": file}).encode()
    status, _, text = answer(port, f"/{TOKEN}/{action}", content)
    return status, json.loads(text)


def test_only_the_own_page_reads_and_changes_anything(path: Path) -> None:
    with opened(path) as session, serving(session) as port:
        status, headers, text = answer(port, f"/{TOKEN}/")
        assert status == 200
        assert "&lt;b&gt;swing" in text
        assert "<b>swing" not in text
        assert (headers["X-Frame-Options"], headers["Referrer-Policy"]) == ("DENY", "no-referrer")
        assert headers["Cache-Control"] == "no-store"
        policy = re.search('Content-Security-Policy" content="([^"]*)"', text)
        assert policy
        assert policy[1].startswith("default-src &#39;none&#39;")
        assert policy[1].endswith("connect-src &#39;self&#39;")
        for wrong in (
            "/",
            "/state",
            f"/{TOKEN}",
            f"/{TOKEN}x/",
            f"/{TOKEN}/runs/1",
            "/../swing.toml",
        ):
            assert answer(port, wrong)[0] == 404
        assert answer(port, f"/{TOKEN}/", Host="rebound.example")[0] == 403
        good = json.dumps({"values": {"bodies.rod.mass": 2.0}, "file": session.digest}).encode()
        save = f"/{TOKEN}/save"
        assert answer(port, "/other/save", good)[0] == 404
        assert answer(port, f"/{TOKEN}/shell", good)[0] == 404
        assert answer(port, save, good, Host="rebound.example")[0] == 403
        for origin in ("https://rebound.example", f"https://{HERE}:{port}", "null", ""):
            assert answer(port, save, good, Origin=origin)[0] == 403
        assert answer(port, save, good, **{"Content-Type": "text/plain"})[0] == 415
        for length in (str(MOST_SENT + 1), "9" * 40):
            assert answer(port, save, b"{}", **{"Content-Length": length})[0] == 413
        for length in ("-1", "x", "١"):
            with contextlib.suppress(UnicodeEncodeError):
                assert answer(port, save, b"{}", **{"Content-Length": length})[0] == 411
        for bad in (b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000):
            assert answer(port, save, bad)[0] == 400
        assert path.read_text(encoding="utf-8") == TEXT
        assert answer(port, save, good, Origin=f"http://localhost:{port}")[0] == 200


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"bodies.rod.mass": -1.0}, "bodies.rod.mass: must be >= 0, not -1"),
        ({"bodies.rod.mas": 1.0}, "bodies.rod.mas: 'mas' is not in bodies.rod; did you mean"),
        ({"bodies.rod.com": 1.0}, "bodies.rod.com: (0.0, 0.0, -0.5) is not one number; take"),
        ({"bodies.rod": 1.0}, "bodies.rod: "),
        ({"bodies.rod.mass": "1"}, "bodies.rod.mass: must be a number, not '1'"),
        ({"bodies.rod.mass": True}, "bodies.rod.mass: must be a number, not True"),
        ({"bodies.rod.mass": float("nan")}, "bodies.rod.mass: must be within ±1e+60"),
        ({"bodies.rod.mass": 10**400}, "bodies.rod.mass: must be within ±1e+60"),
        ({"forces.drag # 1.joint": 1.0}, "forces.drag # 1.joint: "),
        ([], "values: give a table of numbers by path"),
    ],
)
def test_wrong_values_are_findings_of_one_line(path: Path, values: Any, line: str) -> None:
    """The check shows them; neither a run nor a file follows from them."""
    with opened(path) as session, serving(session) as port:
        status, found = asked(port, "check", values, session.digest)
        assert status == 200
        assert [text.startswith(line) for text in found["errors"]] == [True]
        for action in ("run", "save"):
            status, found = asked(port, action, values, session.digest)
            assert status == 422
            assert found["problem"].startswith(line)
            assert "\n" not in found["problem"]
        assert not session.runs.state()["running"]
    assert path.read_text(encoding="utf-8") == TEXT


def test_the_check_follows_the_values(path: Path) -> None:
    """The scene is that of the changed model; the file stays."""
    with opened(path) as session:
        before, after = (
            session.check(values, session.digest) for values in ({}, {"joints.hinge.q0": 1.0})
        )
        assert (before["errors"], after["errors"], after["disk"]) == ([], [], "")
        assert before["scene"]["data"] != after["scene"]["data"]
        named = {each["path"]: each for each in session.opened()["parameters"]}
    assert {*fm.parameters(fm.load(path)), "run.t_end", "run.step"} == set(named)
    assert (named["bodies.rod.mass"]["value"], named["bodies.rod.mass"]["unit"]) == (1.0, "kg")
    assert named["joints.hinge.q0"]["unit"] == "rad"
    assert named["forces.drag # 1.viscous"]["unit"] == "N m s/rad"
    for each in named.values():
        low, high, log = each["range"]
        assert low <= each["value"] <= high
        assert low > 0.0 or not log


def test_saving_changes_only_the_numbers(path: Path) -> None:
    path.chmod(0o600)
    link = path.with_name("link.toml")
    link.symlink_to(path.name)
    values = {
        "bodies.rod.mass": 1.5,
        "bodies.rod.com.z": -0.25,
        "bodies.rod.inertia.yy": 0.0895,
        "bodies.rod.frames.other.end.position.x": 0.125,
        "joints.hinge.q0": 0.75,
        "forces.drag # 1.coulomb": 0.1,
        "run.step": 0.005,
    }
    with opened(link) as session:
        told = session.save(values, session.digest)
        assert "anew" not in told["message"]
        assert told["file"] == session.digest
        assert session.check({}, told["file"])["disk"] == ""
    expected = TEXT
    for old, new in (
        ("= 1 ", "= 1.5 "),
        ("-0.5 ]", "-0.25 ]"),
        ("[0.09, 0.09, ", "[0.09, 0.0895, "),
        ("= [0, 0, 1]", "= [0.125, 0, 1]"),
        ("[0.5]", "[0.75]"),
        ("5e-2", "0.1"),
        ("1e-2", "0.005"),
    ):
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert path.read_text(encoding="utf-8") == expected
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["link.toml", "swing.toml"]


def test_what_the_file_does_not_state_is_added_and_said(path: Path) -> None:
    """Defaults, an axis given by its letter, products of inertia; all comments stay."""
    values = {
        "gravity.z": -1.62,
        "joints.hinge.axis.x": 1.0,
        "bodies.rod.inertia.xy": 1e-5,
        "bodies.rod.inertia.zz": 0.0011,
        "forces.drag # 1.viscous": 0.25,
    }
    windows = TEXT.replace("\n", "\r\n").encode("utf-8-sig")
    path.write_bytes(windows)
    with opened(path) as session:
        model = fm.load(path)
        told = session.save(values, session.digest)["message"]
        assert told.endswith(
            "; written anew: joints.hinge.axis, bodies.rod.inertia, gravity, "
            "forces.drag # 1.viscous"
        )
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# a pendulum")
    assert data.count(b"\r\n") == data.count(b"\n") == windows.count(b"\n") + 2
    text = data.decode("utf-8-sig")
    for line in TEXT.splitlines():
        if not line.startswith(("axis", "inertia")):
            assert line in text.splitlines()
    assert tomllib.loads(text)["forces"]["drag # 1"]["viscous"] == 0.25
    saved = fm.load(path)
    assert saved.gravity == (0.0, 0.0, -1.62)
    assert saved.bodies["rod"].inertia[0][1] == 1e-5  # type: ignore[attr-defined]
    assert saved.joints["hinge"].parent == model.joints["hinge"].parent


def test_a_file_that_has_changed_or_is_gone_is_not_overwritten(path: Path) -> None:
    change = {"bodies.rod.mass": 2.0}
    with opened(path) as session, serving(session) as port:
        first = session.digest
        for text, line in (
            (TEXT.replace("0.5", "0.6"), "has changed on the disk; reload the page"),
            (TEXT.replace("[run]", "[run"), ":26: not TOML"),
            (None, "cannot be read: No such file"),
        ):
            path.unlink() if text is None else path.write_text(text, encoding="utf-8")
            status, found = asked(port, "check", change, first)
            assert (status, found["errors"]) == (200, [])
            assert line in found["disk"]
            status, found = asked(port, "save", change, first)
            assert status == 409
            assert line in found["problem"]
            assert (path.read_text(encoding="utf-8") if path.exists() else None) == text
        status, _, text = answer(port, f"/{TOKEN}/")  # a page of a file that is gone
        assert status == 503
        assert "cannot be read" in text
        path.write_text(TEXT.replace("5e-2", "6e-2"), encoding="utf-8")
        assert answer(port, f"/{TOKEN}/")[0] == 200
        for action in ("check", "run", "save"):  # of a page that was opened before
            status, found = asked(port, action, change, first)
            assert status == 409
            assert "reload this page" in found["problem"]
    with opened(path) as session, pytest.raises(StaleText):
        session.check({}, None)


def test_models_that_cannot_be_edited(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(TEXT.partition("[run]")[0], encoding="utf-8")
    with opened(path) as session, pytest.raises(fm.InputError, match=r"run.t_end: .* no \[run\]"):
        session.start({}, session.digest)
    for name, line in (("part.urdf", "only TOML models"), ("none.toml", "cannot be read")):
        code, out, errors = command(capsys, "studio", str(tmp_path / name))
        assert (code, out, errors.count("\n")) == (2, "", 1)
        assert errors.startswith("error: ")
        assert line in errors


def ended(session: StudioSession) -> dict[str, Any]:
    """State of the runs when none is in progress."""
    while (state := session.runs.state())["running"]:
        time.sleep(0.1)
    return state


def test_runs_that_are_stopped_and_functions_that_fail(tmp_path: Path) -> None:
    """A problem of one line; the next run has a process again."""
    (tmp_path / "own_torque.py").write_text(
        "def push(t):\n    if t > 2:\n        raise ValueError('far\\ntoo late')\n    return 0.0\n"
    )
    path = tmp_path / "own.toml"
    law = 'kind = "joint-torque"\njoint = "hinge"\nlaw = "own_torque:push"\n\n'
    path.write_text(TEXT.replace("[run]", f"[forces.own]\n{law}[run]"), encoding="utf-8")
    with contextlib.closing(StudioSession(path, ACCESS | {"allow_code": True})) as session:
        session.start({"run.t_end": 1e6}, session.digest)
        with pytest.raises(fm.InputError, match="another run is in progress"):
            session.start({}, session.digest)
        assert session.stop()["problem"] == "run: stopped"
        session.start({}, session.digest)
        assert (ended(session)["problem"], session.runs.state()["kept"]) == ("", [2])
        session.start({"run.t_end": 3.0}, session.digest)
        assert (ended(session)["problem"], session.runs.state()["kept"]) == ("", [2, 3])
        good, part = (json.loads(session.runs.results[k]) for k in (2, 3))
    assert (good["verdict"], good["scene"]["time"][1]) == ("PASS", 0.2)
    assert part["verdict"] == "FAIL"
    assert part["findings"][0].startswith("ValueError: far too late")
    assert 1.5 < part["scene"]["time"][1] <= 2.1


@pytest.mark.skipif(os.name != "posix", reason="needs signals of POSIX")
def test_ctrl_c_ends_the_page_and_its_process(path: Path) -> None:
    """The address has a long token; nothing is left behind."""
    with subprocess.Popen(
        [sys.executable, "-m", "flexmbs", "studio", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(
            rf"editing {path}: (http://127\.0\.0\.1:(\d+)/[\w-]{{32}}/) \(Ctrl-C to stop\)\n", line
        )
        assert found, line
        assert answer(int(found[2]), found[1].removeprefix(f"http://{HERE}:{found[2]}"))[0] == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "interrupted\n")
