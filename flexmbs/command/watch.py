"""``flexmbs watch``: page of a running simulation, for browsers on this machine only."""

import contextlib
import http
import http.server
import json
import math
import threading
import time
from pathlib import Path
from typing import Any

from flexmbs.console.messages import put
from flexmbs.errors import InputError
from flexmbs.files.inputs import read_bytes

HERE = "127.0.0.1"  # only this machine can connect
REFRESH = 2  # s between two refreshes of the page
MOST = 10_000_000  # bytes read of the record, so that a damaged file cannot exhaust the memory


def watch(folder: Path, port: int, *, browser: bool) -> None:
    """Serve the page of the run in a folder until Ctrl-C. Raises InputError."""
    with contextlib.closing(server(folder, port)) as serving:
        address = f"http://{HERE}:{serving.server_port}/"
        put(f"watching {folder}: {address} (Ctrl-C to stop)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        serving.serve_forever()


class PageServer(http.server.ThreadingHTTPServer):
    """Server that shuts down with its threads."""

    daemon_threads = True

    def close(self) -> None:
        """Release the port."""
        self.server_close()


def server(folder: Path, port: int = 0) -> PageServer:
    """HTTP server of the progress page on a port of this machine (0: any free port).

    Raises InputError.
    """
    page = ProgressPage(folder)
    page.text()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Send the progress page; reject other hosts and paths."""
            # reject other host names: a page of another site whose name resolves to this machine
            # must not be able to read this page
            if self.headers.get("Host", "") not in (
                f"{HERE}:{serving.server_port}",
                f"localhost:{serving.server_port}",
            ):
                self.send_error(http.HTTPStatus.FORBIDDEN)
                return
            if self.path != "/":
                self.send_error(http.HTTPStatus.NOT_FOUND)
                return
            try:
                content = page.text().encode()
            except (InputError, OSError) as error:
                self.send_error(http.HTTPStatus.SERVICE_UNAVAILABLE, explain=str(error))
                return
            self.send_response(http.HTTPStatus.OK)
            for key, value in (
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Length", str(len(content))),
                ("Refresh", str(REFRESH)),
                ("Cache-Control", "no-store"),
                ("X-Frame-Options", "DENY"),
            ):
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *given: Any) -> None:
            """Suppress the log line of each request."""

    try:
        serving = PageServer((HERE, port), Handler)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--port {port}: cannot be used ({error}); choose another, or 0 for a free one"
        ) from None
    return serving


class ProgressPage:
    """Text of the page, regenerated when the log has grown."""

    def __init__(self, folder: Path) -> None:
        """Progress page of the run in ``folder``. Raises `InputError`."""
        from flexmbs.studies.run.run_folder import LOG, RECORD, SOLUTION

        self.folder, self.log, self.record, self.solution = (
            folder,
            folder / LOG,
            folder / RECORD,
            folder / SOLUTION,
        )
        self.lock, self.made = threading.Lock(), ("", -1.0)
        if not self.record.is_file():
            raise InputError(
                f"{folder}: contains no run; give the folder of flexmbs run -o folder/"
            )

    def text(self) -> str:
        """Current page. Raises InputError, OSError."""
        with self.lock:
            text, at = self.made
            if time.monotonic() - at > 0.5 * REFRESH or not text:
                self.made = self._made(), time.monotonic()
            return self.made[0]

    def _made(self) -> str:
        """HTML text of the page from the record and log of the run."""
        from flexmbs.report.progress_page import RunProgress, is_of_run, live_page
        from flexmbs.results.output_log import read_rows

        try:
            record = json.loads(read_bytes(self.record, MOST))
            shown = record["shown"]
            name, t_end, velocities = (
                str(shown["name"]),
                float(shown["t_end"]),
                list(map(str, shown["velocities"])),
            )
            if not 0.0 < t_end < math.inf:
                raise ValueError("no end time")
            version, date = str(record["provenance"]["flexmbs"]), str(record["provenance"]["date"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise InputError(f"{self.record}: is not a record of a run") from None
        there = read_rows(self.log)
        columns = {} if there is None else there.columns()
        if columns and not is_of_run(columns):
            raise InputError(f"{self.log}: has other outputs than a run; start the run again")
        age = max(time.time() - self.log.stat().st_mtime, 0.0) if self.log.exists() else 0.0
        return live_page(
            RunProgress(
                name,
                str(self.folder),
                t_end,
                velocities,
                columns,
                age,
                self.solution.exists(),
                version,
                date,
            )
        )
