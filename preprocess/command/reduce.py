"""Command ``preprocess reduce``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.memory import peak_memory
from flexmbs.console.messages import progress_bar, put
from flexmbs.errors import InputError
from flexmbs.files.file_types import BODY
from flexmbs.files.reserved_outputs import reserved
from preprocess.command.mesh import solid_of
from preprocess.command.outcome import costs, print_warnings

SERIAL = "serial"
ENGINES = (SERIAL, "petsc", "slepc")

if TYPE_CHECKING:
    from flexmbs.flexible_body.record import FlexibleBodyData
    from preprocess.part_file import Part


def reduce_file(
    path: Path,
    output: Path | None,
    *,
    engine: str,
    force: bool,
    allow_outside: bool,
    allow_large: bool,
    keep: Path | None,
    given: CadPartOptions,
) -> None:
    """Write the flexible body of a part file, or of a CAD file with options, by an engine.

    Raises InputError, SolverError, MachineError.
    """
    if engine not in ENGINES:
        raise InputError(f"--engine: {engine!r} is unknown; choose one of {', '.join(ENGINES)}")
    if engine == SERIAL:
        target = output or path.with_suffix(".h5")
        read = functools.partial(read_any_part, path, given, allow_outside=allow_outside)
        with reserved((target, BODY)):
            _reduce(read, target, force=force, allow_large=allow_large, keep=keep)
        return
    from preprocess.command.reduce_together import reduce_together

    if keep is not None:
        raise InputError(f"--keep: the engine {engine} does not store factors; omit it")
    if given != CadPartOptions():
        raise InputError(f"{path}: --engine {engine} needs a part file with these options")
    reduce_together(path, output, engine, force=force, allow_outside=allow_outside)


@dataclass(frozen=True)
class CadPartOptions:
    """Options of the command that make a part of a CAD file or a deck, as texts.

    interfaces: ``NAME=FACE`` with the conditions of a face or its number, of a deck ``NAME=SET``;
    spiders: interfaces at the centres of all spiders of a deck; unit: of a deck; mass: consistent,
    lumped, or that of the deck.
    """

    material: str | None = None
    interfaces: tuple[str, ...] = ()
    averaged: bool = False
    reference: str | None = None
    size: str | None = None
    refine: tuple[str, ...] = ()
    solid: str | None = None
    modes: int | None = None
    damping: float | None = None
    spiders: bool = False
    unit: str | None = None
    mass: str | None = None


def read_any_part(path: Path, given: CadPartOptions, *, allow_outside: bool) -> Part:
    """Part of a part file, or of a CAD file or a deck with options. Raises InputError."""
    from preprocess.cad.netgen import FORMATS
    from preprocess.mesh_files.readers import READERS, refuse_unread
    from preprocess.part_file import read_part

    if path.suffix.lower() in FORMATS:
        return cad_part(path, given)
    if path.suffix.lower() in READERS:
        return deck_part(path, given, allow_outside=allow_outside)
    refuse_unread(path)
    if given != CadPartOptions():
        raise InputError(f"{path}: give --material, --interface and the like in the part file")
    return read_part(path, allow_outside=allow_outside)


def cad_part(path: Path, given: CadPartOptions) -> Part:
    """Part of a CAD file, as if these options were in a part file. Raises InputError."""
    from flexmbs.toml.document import TomlDocument
    from preprocess.command.mesh import inline_table
    from preprocess.part_file.part import FORMAT
    from preprocess.part_file.read import part_of

    missing = [
        f"{path}: give {option}"
        for option, value in (
            ("--material, as \"Al 6061-T6\" or 'E = 70e9, nu = 0.33, rho = 2700'", given.material),
            ("--interface NAME=FACE; preprocess inspect lists the faces", given.interfaces),
        )
        if not value
    ]
    if missing:
        raise InputError(*missing)
    kind = "averaged" if given.averaged else "rigid"
    interfaces = {}
    for text in given.interfaces:
        name, equals, face = text.partition("=")
        if not equals or not name.strip() or not face.strip():
            raise InputError(
                f"--interface: {text!r:.100} is not NAME=FACE, as hub='hole = \"10 mm\"' or hub=7"
            )
        interfaces[name.strip()] = {"kind": kind, **inline_table(face, f"--interface {name}")}
    material = str(given.material)
    table = {
        "format": FORMAT,
        "mesh": path.name,
        "material": inline_table(material, "--material") if "=" in material else material,
        "interfaces": interfaces,
        "reference": given.reference or next(iter(interfaces)),
        "cad": {
            **({} if given.size is None else {"size": given.size}),
            **({} if given.solid is None else {"solid": solid_of(given.solid)}),
            "refine": [inline_table(each, "--refine") for each in given.refine],
        },
        **({} if given.modes is None else {"method": {"modes": given.modes}}),
        **({} if given.damping is None else {"damping": given.damping}),
        **({} if given.mass is None else {"mass": given.mass}),
    }
    return part_of(TomlDocument(path, "", table), allow_outside=False)


def deck_part(path: Path, given: CadPartOptions, *, allow_outside: bool) -> Part:
    """Part of a deck with its sections, materials and connections. Raises InputError."""
    from flexmbs.toml.document import TomlDocument
    from preprocess.command.mesh import inline_table
    from preprocess.part_file.part import FORMAT
    from preprocess.part_file.read import SPIDERS, part_of

    of_cad = CadPartOptions(size=given.size, refine=given.refine, solid=given.solid)
    if of_cad != CadPartOptions():
        raise InputError(f"{path}: --size, --refine and --solid belong to a CAD file; omit them")
    missing = [
        f"{path}: give {option}"
        for option, absent in (
            ("--unit, as mm or mm-t-s, or file for the units that the file states", not given.unit),
            ("either --all-spiders or --interface NAME=SET; preprocess inspect lists them",
             given.spiders == bool(given.interfaces)),
        )
        if absent
    ]  # fmt: skip
    if missing:
        raise InputError(*missing)
    interfaces: dict[str, dict[str, object]] = {}
    for text in given.interfaces:
        name, equals, chosen = text.partition("=")
        if not equals or not name.strip() or not chosen.strip():
            raise InputError(f"--interface: {text!r:.100} is not NAME=SET, as hub='RBE2 30 centre'")
        own = inline_table(chosen, "--interface") if "=" in chosen else {"set": chosen.strip()}
        interfaces[name.strip()] = {"kind": "averaged" if given.averaged else "rigid", **own}
    table = {
        "format": FORMAT,
        "mesh": path.name,
        "unit": given.unit,
        "structural": True,
        "interfaces": SPIDERS if given.spiders else interfaces,
        **({} if given.reference is None else {"reference": given.reference}),
        **({} if given.material is None else {"material": given.material}),
        **({} if given.modes is None else {"method": {"modes": given.modes}}),
        **({} if given.damping is None else {"damping": given.damping}),
        **({} if given.mass is None else {"mass": given.mass}),
    }
    if not given.spiders:
        table.setdefault("reference", next(iter(interfaces)))
    if given.material is not None and "=" in given.material:
        table["material"] = inline_table(given.material, "--material")
    return part_of(TomlDocument(path, "", table), allow_outside=allow_outside)


def _reduce(
    read: Callable[[], Part],
    target: Path,
    *,
    force: bool,
    allow_large: bool,
    keep: Path | None,
) -> None:
    """Reduce a part file and write the body in this process."""
    from flexmbs.flexible_body.divided import DividedBodyData
    from preprocess.command.inspect import described, described_pieces
    from preprocess.part_file.digest import stored_digest

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = read()
        stored = None if force else stored_digest(target)
        if stored and stored == part.digest():
            put(f"unchanged: {target} (--force reduces it again)")
            return
        if part.division is not None and keep is not None:
            raise InputError("--keep: a divided part has one factor per piece; omit it")
        with progress_bar("read and assemble", memory=True) as progress:
            data: FlexibleBodyData | DividedBodyData
            if part.division is not None:
                data = part.reduce_divided(
                    progress=lambda step, fraction: progress(fraction, step),
                    allow_large=allow_large,
                )
            else:
                data = part.reduce(
                    progress=lambda step, fraction: progress(fraction, step),
                    allow_large=allow_large,
                    keep=keep,
                )
    print_warnings(caught)
    data.save(target)
    if isinstance(data, DividedBodyData):
        put(described_pieces(data))
        put(costs(_summed(piece.provenance for piece in data.pieces), peak_memory()))
    else:
        put(described(data))
        put(costs(data.provenance, peak_memory()))
    put(f"flexible body: {target}")


def _summed(pieces: Iterable[Mapping[str, str | float]]) -> dict[str, float]:
    """Times of all pieces together, by step."""
    total: dict[str, float] = {}
    for facts in pieces:
        for key, value in facts.items():
            if key.startswith("time "):
                total[key] = total.get(key, 0.0) + float(value)
    return total
