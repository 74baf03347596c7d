"""Command ``preprocess report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.console.messages import progress_bar, put
from flexmbs.errors import InputError
from flexmbs.files.file_types import PAGE
from flexmbs.files.reserved_outputs import reserved

if TYPE_CHECKING:
    from flexmbs.flexible_body.record import FlexibleBodyData
    from preprocess.fe.interfaces import BoundInterface
    from preprocess.part_file import Part


def report(
    path: Path, part_file: Path | None, output: Path | None, *, full: bool, allow_outside: bool
) -> None:
    """Write the report of a flexible body. Raises InputError, SolverError, MachineError."""
    from flexmbs.flexible_body.divided import in_one_piece, load_body
    from preprocess.comparison import FullModel, ReducedBody, compare
    from preprocess.part_file import read_part
    from preprocess.report import write_report

    beside = path.with_suffix(".toml")
    source = part_file or (beside if beside.is_file() else None)
    if full and source is None:
        raise InputError(
            f"{beside}: no such file; give the part file to compare {path} with its full model"
        )
    target = output or path.with_suffix(".html")
    with reserved((target, PAGE)), progress_bar("reading", memory=True) as progress:
        data = load_body(path)
        whole = in_one_piece(data)
        part: Part | None = None
        interfaces: dict[str, BoundInterface] = {}
        if source is not None:
            part = read_part(source, allow_outside=allow_outside)
            interfaces = _bound(part, whole)
        comparison = None
        if full and part is not None:
            progress(0.1, "comparing with the full model")
            fe = part.model()
            with part.located():
                model = FullModel(fe, part.interfaces_on(fe.mesh), "full model")
                comparison = compare(ReducedBody(whole, "Reduced body"), model)
        progress(0.7, "drawing")
        write_report(data, target, interfaces=interfaces, comparison=comparison)
    put(f"report: {target}")


def _bound(part: Part, data: FlexibleBodyData) -> dict[str, BoundInterface]:
    """Interfaces on the part's mesh; none if the body comes from another mesh."""
    from preprocess.fe.interfaces import bind_interfaces

    if part.mesh is None:
        return {}
    mesh = part.read_mesh()
    if data.surface is None or mesh.node_ids.tolist() != data.surface.node_ids.tolist():
        return {}
    with part.located():
        bound = bind_interfaces(part.interfaces_on(mesh), mesh.nodes, mesh.node_sets)
    return {each.name: each for each in bound}
