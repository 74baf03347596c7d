"""Command ``preprocess materials``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.columns import aligned
from flexmbs.console.messages import put, put_json

if TYPE_CHECKING:
    from preprocess.fe.material_library import MaterialData

HEADER = ("name", "E [GPa]", "nu", "rho [kg/m³]", "yield [MPa]", "note")


def materials(name: str | None, file: Path | None, *, as_json: bool) -> None:
    """Print the table of all materials, or the data of one with their sources. Raises InputError.

    Those of ``file`` come first.
    """
    from preprocess.fe.material_library import all_materials, find_material, read_materials

    own = () if file is None else read_materials(file)
    found = all_materials(own) if name is None else (find_material(name, own),)
    if as_json:
        facts = [asdict(each) for each in found]
        put_json(facts if name is None else facts[0])
    elif name is None:
        put("\n".join(aligned([HEADER, *_rows(found)])))
    else:
        put("\n".join((found[0].name, *_words(found[0]), *aligned(_numbers(found[0])))))


def _rows(found: Iterable[MaterialData]) -> Iterator[tuple[str, ...]]:
    """Row of the table for each material: name, E, ν, density, yield stress, note."""
    for each in found:
        stress = "" if each.yield_stress is None else f"{each.yield_stress / 1e6:.4g}"
        numbers = (f"{each.E / 1e9:.4g}", f"{each.nu:.3g}", f"{each.rho:.4g}")
        yield each.name, *numbers, stress, each.note


def _words(each: MaterialData) -> list[str]:
    """Lines with the other names and the note of a material."""
    return [text for text in (", ".join(each.aliases), each.note) if text]


def _numbers(each: MaterialData) -> Iterator[tuple[str, str, str]]:
    """Rows of one material: key, value, source."""
    for key, source in each.sources.items():
        value = getattr(each, key)
        yield key, f"{value:.6g}" if isinstance(value, float) else _pairs(asdict(value)), source


def _pairs(values: dict[str, float | None]) -> str:
    """Text "key value, …" of the values that are given."""
    return ", ".join(f"{key} {value:.6g}" for key, value in values.items() if value is not None)
