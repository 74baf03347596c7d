"""``flexmbs watch``: page of a running simulation, for browsers on this machine only."""

import http
import json
import math
import threading
import time
from pathlib import Path

from flexmbs.command.local_server import PageServer, Refusal, Reply, local_server, serve
from flexmbs.errors import InputError
from flexmbs.files.inputs import read_bytes

REFRESH = 2  # s between two refreshes of the page
MOST = 10_000_000  # bytes read of the record, so that a damaged file cannot exhaust the memory


def watch(folder: Path, port: int, *, browser: bool) -> None:
    """Serve the page of the run in a folder until Ctrl-C. Raises InputError."""
    serve(server(folder, port), f"watching {folder}", browser=browser)


def server(folder: Path, port: int = 0) -> PageServer:
    """HTTP server of the progress page on a port of this machine (0: any free port).

    Raises InputError.
    """
    page = ProgressPage(folder)
    page.text()

    def get(path: str) -> Reply:
        """Progress page. Raises `Refusal` for other paths, and if the run cannot be read."""
        if path != "/":
            raise Refusal(http.HTTPStatus.NOT_FOUND)
        try:
            return Reply(page.text(), headers=(("Refresh", str(REFRESH)),))
        except (InputError, OSError) as error:
            raise Refusal(http.HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None

    return local_server(get, port)


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
