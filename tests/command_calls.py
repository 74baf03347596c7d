"""Calls of the command line within a test."""

from __future__ import annotations

import pytest

from flexmbs.__main__ import main


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of ``flexmbs``."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err
