"""HTTP server for pages that browsers on this machine alone can read."""

import contextlib
import http
import http.server
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from flexmbs.console.messages import put
from flexmbs.errors import InputError

HERE = "127.0.0.1"  # only this machine can connect
MOST_SENT = 1_000_000  # bytes of a request
PATIENCE = 30.0  # s, within which a request arrives
HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


class Reply(NamedTuple):
    """Answer to a request."""

    content: str
    kind: str = "text/html; charset=utf-8"
    status: http.HTTPStatus = http.HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


class Refusal(Exception):
    """Answer with an error status and one line."""

    def __init__(self, status: http.HTTPStatus, line: str = "") -> None:
        self.status, self.line = status, line
        super().__init__(line)


Get = Callable[[str], Reply]  # path → page
Post = Callable[[str, bytes], Reply]  # path, content → answer


class PageServer(http.server.ThreadingHTTPServer):
    """Server that shuts down with its threads."""

    daemon_threads = True

    def close(self) -> None:
        """Release the port."""
        self.server_close()

    @property
    def names(self) -> tuple[str, str]:
        """Names under which browsers may ask for its pages."""
        return f"{HERE}:{self.server_port}", f"localhost:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """Ignore browsers that leave before the answer; no tracebacks of the others."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"error: {type(error).__name__}: {error}", file=sys.stderr)


def local_server(get: Get, port: int = 0, post: Post | None = None) -> PageServer:
    """HTTP server on a port of this machine (0: any free port).

    Requests under other host names are rejected: a page of another site whose name resolves to this
    machine must not be able to read or change anything. What is sent must come from the own page.
    ``get`` and ``post`` may raise `Refusal`. Raises InputError if the port cannot be used.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = PATIENCE

        def do_GET(self) -> None:
            """Send a page."""
            self.answer(lambda: get(self.path))

        def do_POST(self) -> None:
            """Take what the page sends."""
            self.answer(lambda: self.posted())

        def answer(self, make: Callable[[], Reply]) -> None:
            """Send what ``make`` returns, or its refusal."""
            try:
                if self.headers.get("Host", "") not in serving.names:
                    raise Refusal(http.HTTPStatus.FORBIDDEN)
                reply = make()
            except Refusal as refusal:
                self.close_connection = True
                self.send_error(refusal.status, explain=refusal.line or None)
                return
            content = reply.content.encode()
            self.send_response(reply.status)
            for key, value in (
                ("Content-Type", reply.kind),
                ("Content-Length", str(len(content))),
                *HEADERS,
                *reply.headers,
            ):
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content)

        def posted(self) -> Reply:
            """Answer to what the own page sends. Raises `Refusal` for anything else."""
            if post is None:
                raise Refusal(http.HTTPStatus.NOT_IMPLEMENTED)
            if self.headers.get("Origin", "") not in [f"http://{name}" for name in serving.names]:
                raise Refusal(http.HTTPStatus.FORBIDDEN)
            if self.headers.get_content_type() != "application/json":
                raise Refusal(http.HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            length = self.headers.get("Content-Length", "")
            if not (length.isascii() and length.isdigit()):
                raise Refusal(http.HTTPStatus.LENGTH_REQUIRED)
            if int(length[:20]) > MOST_SENT:
                raise Refusal(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return post(self.path, self.rfile.read(int(length)))

        def log_message(self, format: str, *given: Any) -> None:
            """Suppress the log line of each request."""

    try:
        serving = PageServer((HERE, port), Handler)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--port {port}: cannot be used ({error}); choose another, or 0 for a free one"
        ) from None
    return serving


def serve(serving: PageServer, what: str, path: str = "/", *, browser: bool) -> None:
    """Serve until Ctrl-C, and say where; open the page in a browser if ``browser``."""
    with contextlib.closing(serving):
        address = f"http://{HERE}:{serving.server_port}{path}"
        put(f"{what}: {address} (Ctrl-C to stop)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        serving.serve_forever()
