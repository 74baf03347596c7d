"""The table of bad inputs is complete, and every test it names exists."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = (TESTS / "bad_inputs" / "README.md").read_text(encoding="utf-8")


def test_every_row_is_there() -> None:
    rows = [
        int(n)
        for line in TABLE.splitlines()
        if re.match(r"\| \d", line)
        for n in line.split("|")[1].split(",")
    ]
    assert set(range(1, 53)) <= set(rows)
    assert rows == sorted(set(rows))


def test_every_named_test_exists() -> None:
    named = 0
    for line in TABLE.splitlines():
        text = ""
        for quoted in re.findall(r"`([^`]+)`", line):
            file, _, test = (
                quoted.rpartition("::")
                if "::" in quoted
                else (quoted, "", "")
                if ".py" in quoted
                else ("", "", quoted)
            )
            text = (TESTS / file).read_text(encoding="utf-8") if file else text
            if test.startswith("test_"):
                assert f"def {test.rstrip('…')}" in text, quoted
                named += 1
    assert named > 80
