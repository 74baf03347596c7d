"""``flexmbs studio``: page on which a model is edited, for browsers on this machine only."""

import contextlib
import datetime
import http
import json
import secrets
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.command.local_server import PageServer, Refusal, Reply, local_server, serve
from flexmbs.errors import AssemblyWarning, InputError, ModelWarning

if TYPE_CHECKING:
    from flexmbs.studies.studio.session import StudioSession

JSON = "application/json"


def studio(path: Path, port: int, *, browser: bool, access: dict[str, bool]) -> None:
    """Serve the page of a model file until Ctrl-C. Raises InputError."""
    from flexmbs.robots.any_file import ROBOTS
    from flexmbs.studies.studio.session import StudioSession

    if path.suffix.lower() in ROBOTS:
        raise InputError(
            f"{path}: only TOML models can be edited; fm.load('{path.name}').save('model.toml') "
            "makes one"
        )
    token = secrets.token_urlsafe(24)
    with (
        warnings.catch_warnings(),
        contextlib.closing(StudioSession(path, access)) as session,
    ):
        for kind in (AssemblyWarning, ModelWarning):  # the page shows them
            warnings.simplefilter("ignore", kind)
        serving = server(session, token, port)
        session.runs.prepare()
        serve(serving, f"editing {path}", f"/{token}/", browser=browser)


def server(session: "StudioSession", token: str, port: int = 0) -> PageServer:
    """HTTP server of the page of a session on a port of this machine (0: any free port).

    All its addresses begin with the token, which only the reader of the terminal knows. Raises
    InputError.
    """
    runs = session.runs
    actions: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
        "check": session.check,
        "run": session.start,
        "stop": session.stop,
        "save": session.save,
    }

    def get(path: str) -> Reply:
        """Page, state of the runs, or result of a run. Raises `Refusal`."""
        rest = _under(token, path)
        if rest == "":
            return _page(session)
        if rest == "state":
            return _answer(lambda: json.dumps(runs.state()))
        number = rest.removeprefix("runs/")
        known = {str(k): k for k in list(runs.results)}
        if rest != number and number in known:
            return _answer(lambda: runs.results[known[number]])
        raise Refusal(http.HTTPStatus.NOT_FOUND)

    def post(path: str, content: bytes) -> Reply:
        """Answer of an action to the values that the page sends. Raises `Refusal`."""
        action = actions.get(_under(token, path))
        if action is None:
            raise Refusal(http.HTTPStatus.NOT_FOUND)
        try:
            given = json.loads(content)
            values, file = given["values"], given["file"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return _problem("the request has no values and no digest of the file", 400)
        return _answer(lambda: json.dumps(action(values, file), allow_nan=False))

    return local_server(get, port, post)


def _under(token: str, path: str) -> str:
    """Path behind the token. Raises `Refusal` for another token."""
    first, slash, rest = path.removeprefix("/").partition("/")
    if not slash or not secrets.compare_digest(first.encode(), token.encode()):
        raise Refusal(http.HTTPStatus.NOT_FOUND)
    return rest


def _page(session: "StudioSession") -> Reply:
    """Page of the file as it is now. Raises `Refusal` if it cannot be read."""
    from flexmbs.report.studio_page import studio_page
    from flexmbs.studies.studio.runs import message

    try:
        date = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
        return Reply(studio_page(session.path.name, session.opened(), date))
    except (Exception, SystemExit) as error:  # of functions of the model too
        raise Refusal(http.HTTPStatus.SERVICE_UNAVAILABLE, message(error)) from None


def _answer(make: Callable[[], str]) -> Reply:
    """JSON reply with the text that ``make`` returns, or with the problem in one line."""
    from flexmbs.studies.studio.runs import message
    from flexmbs.studies.studio.session import StaleText

    try:
        return Reply(make(), JSON)
    except StaleText as error:
        return _problem(str(error), http.HTTPStatus.CONFLICT)
    except InputError as error:
        return _problem(str(error), http.HTTPStatus.UNPROCESSABLE_ENTITY)
    except (Exception, SystemExit) as error:  # of functions of the model too
        return _problem(message(error), http.HTTPStatus.INTERNAL_SERVER_ERROR)


def _problem(line: str, status: int) -> Reply:
    """JSON reply with a problem."""
    return Reply(json.dumps({"problem": line}), JSON, http.HTTPStatus(status))
