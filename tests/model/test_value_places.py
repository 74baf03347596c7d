"""Places of values in TOML texts: each is that of its value, whatever surrounds it."""

import tomllib
from typing import Any

import pytest

from flexmbs.toml.value_places import Path, ValuePlaces, with_values

TEXT = '''\
# mass = 9
top = 1
"quoted # key" . 'a.b' = [1, [2.5, -3e-2], { x = +4, "y]" = 'a = "]"' }, ] # [7]
text = """
mass = 3 # no comment ""\\""""  # a comment
literal = \'\'\'a\\\'\'\'
date = 1979-05-27 07:32:00 # now
empty = []
none = {}

[table] # = 1
  mass=1_000# kg
  several = [
    1.0, # first = 2
    # 5,
    2.0
  ]
[ "table" . inner ]
hex = 0x1F
[[list]]
mass = 1
[list.inner]
mass = 2
[[list.deep]]
mass = 3
[[list.deep]]
mass = 4
[[list]]
mass = 5
[list.inner]
mass = 6'''


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    """Numbers, texts and dates of a table by path."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, each in pairs for k, v in leaves(each, (*path, str(key))).items()}
    return {path: value}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_value_changes_alone(end: str) -> None:
    text = TEXT.replace("\n", end)
    before = leaves(tomllib.loads(text))
    assert len(before) == 19
    places = ValuePlaces(text).values
    for path, value in before.items():
        start, stop = places[path]
        assert tomllib.loads(f"x = {text[start:stop]}")["x"] == value
        assert leaves(tomllib.loads(with_values(text, {path: "12345"}, {}))) == {
            **before,
            path: 12345,
        }


def test_keys_are_added_to_their_tables() -> None:
    added: dict[Path, str] = {
        ("new",): "1",
        ("table", "new"): "2",
        ("table", "inner", "new"): "3",
        ("list", "0", "deep", "1", "new"): "4",
        ("list", "1", "inner", "new"): "5",
    }
    text = with_values(TEXT, {("top",): "-1"}, added)
    expected = {**leaves(tomllib.loads(TEXT)), ("top",): -1}
    assert leaves(tomllib.loads(text)) == expected | {k: int(v) for k, v in added.items()}
    assert [line for line in text.splitlines() if "new = " not in line] == TEXT.replace(
        "top = 1", "top = -1"
    ).splitlines()
    with pytest.raises(KeyError):
        with_values(TEXT, {("table", "none"): "1"}, {})
