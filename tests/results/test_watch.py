"""The page of a running job: what it shows, and who may read it."""

import contextlib
import http.client
import pathlib
import threading
from collections.abc import Iterator

import pytest

import flexmbs as fm
from flexmbs.command.local_server import HERE
from flexmbs.command.watch import server
from flexmbs.studies.run.run_folder import LOG, RECORD, SOLUTION


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """The folder of a short run."""
    model = fm.Model("<b>pendulum")
    bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.02, 0.1, 0.1), com=(0.5, 0, 0)))
    model.add(fm.Revolute("hinge", model.ground, bar, axis="y", q0=0.3))
    fm.simulate(model, t_end=0.5, step=1e-2, folder=fm.RunFolder(tmp_path / "run"))
    return tmp_path / "run"


@contextlib.contextmanager
def serving(folder: pathlib.Path) -> Iterator[int]:
    """The port of a server in a thread."""
    with contextlib.closing(server(folder)) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        try:
            assert found.server_address[0] == HERE == "127.0.0.1"
            yield found.server_port
        finally:
            found.shutdown()
            thread.join()


def answer(
    port: int, path: str = "/", host: str | None = None, method: str = "GET"
) -> tuple[int, str]:
    """Status and text of a request."""
    connection = http.client.HTTPConnection(HERE, port, timeout=30)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    response = connection.getresponse()
    return response.status, response.read().decode()


def test_the_page_follows_the_log(folder: pathlib.Path) -> None:
    """A finished run, one in the middle, one without outputs."""
    with serving(folder) as port:
        status, text = answer(port)
    assert status == 200
    assert "&lt;b&gt;pendulum" in text
    assert "<b>pendulum" not in text
    assert "<p>finished</p>" in text
    assert "hinge.0" in text
    assert "Velocities of joints, bodies and modes" in text
    (folder / SOLUTION).unlink()
    log = (folder / LOG).read_bytes()
    (folder / LOG).write_bytes(log[: len(log) // 2])
    with serving(folder) as port:
        text = answer(port)[1]
    assert "last output" in text
    assert "<p>finished</p>" not in text
    (folder / LOG).unlink()
    with serving(folder) as port:
        assert "no outputs yet" in answer(port)[1]


def test_only_this_page_and_only_under_its_own_name(folder: pathlib.Path) -> None:
    with serving(folder) as port:
        assert answer(port, host=f"localhost:{port}")[0] == 200
        assert answer(port, host="rebound.example")[0] == 403
        for path in ("/run.json", "/../run.json", "/?x"):
            assert answer(port, path)[0] == 404
        assert answer(port, method="POST")[0] == 501
        (folder / RECORD).write_text("{}")
    with pytest.raises(fm.InputError, match="is not a record of a run"):
        server(folder)


def test_wrong_folders_and_ports(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(fm.InputError, match="contains no run; give the folder of flexmbs run"):
        server(tmp_path)
    with (
        serving(folder) as port,
        pytest.raises(fm.InputError, match=rf"--port {port}: cannot be used"),
    ):
        server(folder, port)
