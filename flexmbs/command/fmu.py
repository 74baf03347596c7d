"""``flexmbs fmu``"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flexmbs.console.messages import put
from flexmbs.errors import InputError

Port = tuple[str | int, ...]


def fmu(
    path: Path,
    target: Path | None,
    ports: tuple[Sequence[str], Sequence[str]],
    options: dict[str, Any],
    access: dict[str, bool],
) -> None:
    """Write a model as an FMU. Raises InputError, MachineError."""
    from flexmbs.robots.any_file import load_model
    from flexmbs.studies.cosimulation.export_fmu import export_fmu

    inputs, outputs = (read_ports(texts, key) for texts, key in zip(ports, ("--in", "--out")))
    put(
        str(
            export_fmu(
                load_model(path, **access),
                target or path.with_suffix(".fmu"),
                inputs=inputs,
                outputs=outputs,
                **options,
            )
        )
    )


def read_ports(texts: Sequence[str], option: str) -> dict[str, Port]:
    """Ports by name from command line options. Raises InputError."""
    found: dict[str, Port] = {}
    for name, port in (read_port(text, option) for text in texts):
        if name in found:
            raise InputError(f"{option}: '{name}' is used twice; give each port its own name")
        found[name] = port
    return found


def read_port(text: str, option: str) -> tuple[str, Port]:
    """Name and port of ``angle=coordinate,hinge`` or ``z=position,arm/tip,z``.

    Raises InputError.
    """
    name, equals, rest = text.partition("=")
    parts = [part.strip() for part in rest.split(",")]
    if not equals or not name.strip() or not all(parts):
        raise InputError(
            f"{option}: '{text}' is not a port; give NAME=KIND,ITEM, for example "
            "angle=coordinate,hinge"
        )
    return name.strip(), tuple(
        int(part) if part.isdigit() and k == 2 else part for k, part in enumerate(parts)
    )
