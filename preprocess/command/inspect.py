"""Command ``preprocess inspect``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.console.messages import put, put_json
from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular

if TYPE_CHECKING:
    from flexmbs.flexible_body.components import FloatArray
    from flexmbs.flexible_body.divided import DividedBodyData
    from flexmbs.flexible_body.record import FlexibleBodyData
    from preprocess.fe.fe_model import FEModel
    from preprocess.mesh.mesh import Mesh

OWN = "flexmbs"
PIECES = "accuracy: pieces, "
MOST_LISTED = 20  # possible interfaces that are printed
HDF5 = b"\x89HDF\r\n\x1a\n"


def inspect(path: Path, *, unit: str | None, as_json: bool, allow_outside: bool) -> int:
    """Print the content of a flexible body, a mesh or a file of another program.

    Exit code 0 if all checks hold, else 2. Raises InputError.
    """
    from flexmbs.flexible_body.divided import DividedBodyData, is_divided
    from flexmbs.flexible_body.record import FlexibleBodyData
    from preprocess.cad.netgen import FORMATS as CAD
    from preprocess.formats.importers import FORMATS, read
    from preprocess.mesh_files.readers import READERS, refuse_unread

    suffix, start = path.suffix.lower(), _start(path)
    if suffix in CAD:
        return _inspect_faces(path, as_json)
    if suffix in READERS and start != HDF5:
        return _inspect_mesh(path, unit, as_json, allow_outside)
    if start == HDF5 and is_divided(path):
        return _inspect_pieces(DividedBodyData.load(path), as_json)
    if start != HDF5:
        refuse_unread(path)
    if not any(suffix in importer.suffixes for importer in FORMATS.values()):
        return _inspect_body(FlexibleBodyData.load(path), as_json)
    part, report = read(path, unit=unit or "m-kg-s")
    if not as_json and report.format != OWN:
        put(str(report))
    return (
        _inspect_body(part, as_json)
        if isinstance(part, FlexibleBodyData)
        else _inspect_matrices(part, as_json)
    )


def _inspect_faces(path: Path, as_json: bool) -> int:
    """Print the faces of a CAD file with one solid, else the bodies of an assembly."""
    from preprocess.cad.mesh_cad import read_faces
    from preprocess.cad.netgen import SeveralSolids
    from preprocess.cad.selectors import described_faces, selector, toml_text

    try:
        faces, nodes = read_faces(path)
    except SeveralSolids:
        return _inspect_assembly(path, as_json)
    if as_json:
        put_json(
            {
                "source": str(path),
                "faces": [
                    {
                        "number": face.number,
                        "kind": face.kind,
                        "hollow": face.hollow,
                        "radius": face.surface.radius,
                        "axis": face.surface.axis.tolist(),
                        "area": face.area,
                        "centre": face.centre.tolist(),
                        "name": face.name,
                        "description": toml_text(selector(face, faces, nodes)),
                    }
                    for face in faces
                ],
            }
        )
    else:
        put("\n".join(described_faces(faces, nodes)))
        put("interfaces: the conditions in braces, as interfaces.hub = { … } in a part file")
    return 0


def _inspect_assembly(path: Path, as_json: bool) -> int:
    """Print the bodies of a CAD file and the joints that their faces suggest."""
    from preprocess.cad.assembly import read_assembly
    from preprocess.cad.mates import mates

    assembly = read_assembly(path)
    proposals = mates(assembly)
    if as_json:
        bodies = [
            {
                "name": body.name,
                "product": assembly.parts[body.part].name,
                "solids": list(body.solids),
                "volume": assembly.parts[body.part].volume,
                "position": body.position.tolist(),
                "rotation": body.rotation.tolist(),
            }
            for body in assembly.bodies
        ]
        joints = [
            {"name": each.name, "kind": each.kind, "reasons": list(each.reasons)}
            for each in proposals
        ]
        put_json({"source": str(path), "bodies": bodies, "joints": joints})
        return 0
    for body in assembly.bodies:
        part, numbers = assembly.parts[body.part], ", ".join(map(str, body.solids))
        product = f", {part.name}" if part.name not in ("", body.name) else ""
        put(f"{body.name}{product}: solid {numbers}, {1e6 * part.volume:.4g} cm³")
    for mate in proposals:
        put(f"proposed: {mate}")
    put("a machine of these bodies: fm.from_step; a mesh of one of them: --solid")
    return 0


def _start(path: Path) -> bytes:
    """First bytes of a file. Raises `InputError`."""
    try:
        with open_regular(path) as file:
            return file.read(len(HDF5))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _inspect_pieces(data: DividedBodyData, as_json: bool) -> int:
    """Print the pieces of a divided body."""
    checks = [piece.validate() for piece in data.pieces]
    if as_json:
        pieces = [
            body_facts(piece) | {"sound": found.ok} for piece, found in zip(data.pieces, checks)
        ]
        put_json(
            {"name": data.name, "mass": data.mass, "frames": list(data.frames), "pieces": pieces}
        )
    else:
        put(described_pieces(data))
        put("\n".join(map(str, checks)))
    return 0 if all(found.ok for found in checks) else InputError.exit_code


def described_pieces(data: DividedBodyData) -> str:
    """Text lines describing a divided body: its errors, and each piece."""
    from preprocess.body.cut_accuracy import pieces_damping

    head = (
        f"{data.name}: {data.mass:.6g} kg in {len(data.pieces)} pieces; frames "
        f"{', '.join(data.frames)}"
    )
    whats = {
        "frequencies": "frequencies, held at the reference",
        "compliance": "static displacements of the interfaces",
    }
    errors = [
        f"{text} {data.provenance[key]:.2g}"
        for what, text in whats.items()
        if (key := f"{PIECES}{what}") in data.provenance
    ]
    together = (
        [
            "largest relative errors of the pieces together, against the whole part: "
            f"{', '.join(errors)}"
        ]
        if errors
        else []
    )
    lowest = ", ".join(f"{f:.5g} Hz {zeta:.3g}" for f, zeta in zip(*pieces_damping(data.pieces)))
    ratios = f"lowest modes of the pieces together, with their damping ratios: {lowest}"
    return "\n".join([head, ratios, *together, *map(described, data.pieces)])


def _inspect_body(data: FlexibleBodyData, as_json: bool) -> int:
    """Print the facts and checks of a flexible body; exit code."""
    checks = data.validate()
    if as_json:
        put_json(
            body_facts(data)
            | {"sound": checks.ok, "checks": {each.name: each.ok for each in checks}}
        )
    else:
        put(described(data))
        put("\n".join(f"{key}: {value}" for key, value in data.provenance.items()))
        put(str(checks))
    return 0 if checks.ok else InputError.exit_code


def body_facts(data: FlexibleBodyData) -> dict[str, Any]:
    """Key figures of a body, in SI units."""
    from flexmbs.flexible_body.free_body import central_inertia

    modes = data.modes
    rows = zip(
        modes.frequency.tolist(), modes.kind, modes.damping.tolist(), modes.effective_mass.tolist()
    )
    return {
        "name": data.name,
        "mass": data.mass,
        "com": data.com.tolist(),
        "inertia": central_inertia(data).tolist(),
        "frequency": modes.frequency.tolist(),
        "modes": [
            {"frequency": f, "kind": kind, "damping": zeta, "effective_mass": m}
            for f, kind, zeta, m in rows
        ],
        "frames": {name: frame.x.tolist() for name, frame in data.frames.items()},
        "digest": data.digest,
        "provenance": dict(data.provenance),
    }


def described(data: FlexibleBodyData) -> str:
    """Text lines describing a body: mass, frames, modes."""
    from flexmbs.flexible_body.free_body import central_inertia

    inertia = central_inertia(data)
    diagonal, products = inertia.diagonal(), (inertia[0, 1], inertia[1, 2], inertia[0, 2])
    frames = [
        f"frame {name}: {_millimetres(frame.x)} mm, {frame.kind}"
        for name, frame in data.frames.items()
    ]
    return "\n".join(
        [
            f"{data.name}: {data.mass:.6g} kg, centre of mass {_millimetres(data.com)} mm, "
            f"{data.nf} modes",
            f"inertia about it, xx yy zz: {_numbers(diagonal)}; xy yz zx: "
            f"{_numbers(products)} kg m²",
            *frames,
            str(data.modes),
            *_errors(data),
        ]
    )


def _errors(data: FlexibleBodyData) -> list[str]:
    """Text line with the largest errors, proved or estimated, against the finite-element model."""
    facts = data.provenance
    if "certificate: band [Hz]" in facts:
        found = [
            f"{what} {facts[f'certificate: {what}']:.2g}"
            for what in ("frequencies", "transfer functions")
        ]
        return [
            f"largest relative errors, proved up to {facts['certificate: band [Hz]']:.6g} "
            f"Hz: {', '.join(found)}"
        ]
    if "accuracy: band [Hz]" not in facts:
        return []
    found = [
        f"{what} {facts[key]:.2g}"
        for what in ("frequencies", "compliance")
        if (key := f"accuracy: {what}") in facts
    ]
    return [
        f"largest estimated relative errors, up to {facts['accuracy: band [Hz]']:.6g} Hz: "
        f"{', '.join(found)}"
    ]


def _millimetres(position: FloatArray) -> str:
    """Position as text in mm."""
    return ", ".join(f"{round(1e3 * float(x), 6) + 0.0:.6g}" for x in position)


def _numbers(values: Any) -> str:
    """Numbers as text with four digits."""
    return ", ".join(f"{float(value):.4g}" for value in values)


def _inspect_matrices(fe: FEModel, as_json: bool) -> int:
    """Print the facts of a model given by matrices; exit code."""
    sets = _sizes(fe.node_sets)
    if as_json:
        put_json({"source": fe.source, "nodes": len(fe.nodes), "mass": fe.mass, "node sets": sets})
    else:
        free = fe.freedoms.size - len(fe.constraints.dependent)
        put(f"{fe.source}: {len(fe.nodes)} nodes, {free} degrees of freedom, {fe.mass:.6g} kg")
        put(f"node sets: {_listed(sets)}")
    return 0


def _inspect_mesh(path: Path, unit: str | None, as_json: bool, allow_outside: bool) -> int:
    """Print the facts of a mesh; exit code."""
    from preprocess.fe.proposals import part_line, proposals, python_line

    mesh, problem = _structural_or_solid(path, unit, allow_outside)
    found = proposals(mesh)
    if as_json:
        interfaces = [
            {
                "name": each.name,
                "what": each.what,
                "nodes": each.nodes,
                "position": each.position.tolist(),
                "part": part_line(each),
                "python": python_line(each),
            }
            for each in found
        ]
        put_json(mesh_facts(mesh) | {"unit": unit, "interfaces": interfaces})
        return 0
    low, high = _numbers(mesh.nodes.min(axis=0)), _numbers(mesh.nodes.max(axis=0))
    put(
        f"{mesh.source}: {len(mesh.nodes)} nodes, {3 * len(mesh.nodes)} degrees of "
        f"freedom, from {low} to {high} m"
    )
    if unit is None:
        put("read in m; set another with --unit")
    put(str(mesh.quality()) if mesh.solids else repr(mesh))
    put(f"node sets: {_listed(_sizes(mesh.node_sets))}")
    put(f"element sets: {_listed(_sizes(mesh.element_sets))}")
    if problem:
        put(f"without beams, shells and connections: {problem}")
    for title, line in (("in a part file", part_line), ("in Python", python_line)):
        if found:
            put(f"possible interfaces, {title}:")
        for each in found[:MOST_LISTED]:
            note = f"  # {each.what}, at {_millimetres(each.position)} mm"
            put(f"  {line(each)}{note if line is part_line else ''}")
        if len(found) > MOST_LISTED:
            put(f"  … and {len(found) - MOST_LISTED} more; --json lists all")
    return 0


def mesh_to_show(
    path: Path, unit: str | None, *, allow_outside: bool, structural: bool | None = None
) -> Mesh:
    """Mesh of a file whose unit may be unknown: then in m. Raises InputError."""
    import warnings

    from preprocess.inputs.warning import PreprocessWarning
    from preprocess.mesh_files.read import read_mesh

    with warnings.catch_warnings():
        if unit is None:
            warnings.filterwarnings("ignore", ".* large with unit", PreprocessWarning)
        return read_mesh(path, unit=unit or "m", structural=structural, allow_outside=allow_outside)


def _structural_or_solid(path: Path, unit: str | None, allow_outside: bool) -> tuple[Mesh, str]:
    """Mesh with the beams, shells and connections of a deck, or without them and why."""
    from preprocess.mesh_files.readers import READERS

    if not READERS[path.suffix.lower()].declares:
        return mesh_to_show(path, unit, allow_outside=allow_outside), ""
    try:
        return mesh_to_show(path, unit, allow_outside=allow_outside, structural=True), ""
    except InputError as error:
        try:
            solid = mesh_to_show(path, unit, allow_outside=allow_outside, structural=False)
            return solid, error.problems[0]
        except InputError:
            raise error from None


def mesh_facts(mesh: Mesh) -> dict[str, Any]:
    """Size, elements with their quality, and sets of a mesh."""
    elements = {
        block.name: {
            "number": len(block.ids),
            "volume": float(block.volume.sum()),
            "worst": block.worst.tolist(),
            "scaled_jacobian": [
                float(block.scaled_jacobian.min()),
                float(block.scaled_jacobian.mean()),
            ],
            "aspect_ratio": [float(block.aspect_ratio.mean()), float(block.aspect_ratio.max())],
        }
        for block in mesh.quality().blocks
    }
    return {
        "source": mesh.source,
        "nodes": len(mesh.nodes),
        "low": mesh.nodes.min(axis=0).tolist(),
        "high": mesh.nodes.max(axis=0).tolist(),
        "elements": elements,
        "node sets": _sizes(mesh.node_sets),
        "element sets": _sizes(mesh.element_sets),
    }


def _sizes(sets: Mapping[str, Any]) -> dict[str, int]:
    """Number of members of each set."""
    return {name: len(members) for name, members in sets.items()}


def _listed(sizes: Mapping[str, int]) -> str:
    """Text "name (count), …" of sets."""
    return ", ".join(f"{name} ({count})" for name, count in sizes.items()) or "none"
