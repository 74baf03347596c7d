"""``preprocess inspect``"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.console.messages import put, put_json
from flexmbs.errors import InputError

if TYPE_CHECKING:
    from flexmbs.flexible_body import FlexibleBodyData, FloatArray
    from preprocess.mesh import Mesh

HDF5 = b"\x89HDF\r\n\x1a\n"


def inspect(path: Path, *, unit: str | None, as_json: bool) -> int:
    """Print what a flexible body or a mesh is; 0 when all checks hold, else 2. Raises InputError."""
    return _inspect_mesh(path, unit, as_json) if _is_mesh(path) else _inspect_body(path, as_json)


def _is_mesh(path: Path) -> bool:
    """Whether the ending is that of a mesh format and the content is not that of a flexible body."""
    from preprocess.mesh_readers import READERS

    try:
        with open(path, "rb") as file:
            return path.suffix.lower() in READERS and file.read(len(HDF5)) != HDF5
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _inspect_body(path: Path, as_json: bool) -> int:
    from flexmbs.flexible_body import FlexibleBodyData

    data = FlexibleBodyData.load(path)
    checks = data.validate()
    if as_json:
        put_json(body_facts(data) | {"sound": checks.ok, "checks": {each.name: each.ok for each in checks}})
    else:
        put(described(data))
        put("\n".join(f"{key}: {value}" for key, value in data.provenance.items()))
        put(str(checks))
    return 0 if checks.ok else InputError.exit_code


def body_facts(data: FlexibleBodyData) -> dict[str, Any]:
    """Key numbers of a body, in SI units."""
    modes = data.modes
    rows = zip(modes.frequency.tolist(), modes.kind, modes.damping.tolist(), modes.effective_mass.tolist())
    return {
        "name": data.name, "mass": data.mass, "com": data.com.tolist(), "inertia": central_inertia(data).tolist(),
        "frequency": modes.frequency.tolist(),
        "modes": [{"frequency": f, "kind": kind, "damping": zeta, "effective_mass": m} for f, kind, zeta, m in rows],
        "frames": {name: frame.x.tolist() for name, frame in data.frames.items()},
        "digest": data.digest, "provenance": dict(data.provenance),
    }  # fmt: skip


def central_inertia(data: FlexibleBodyData) -> FloatArray:
    """Inertia tensor of the undeformed body about its centre of mass, ``I − m (c·c 1 − c cᵀ)``, (3, 3)."""
    import numpy as np

    c = data.com
    return np.asarray(data.inertia - data.mass * (c @ c * np.eye(3) - np.outer(c, c)))


def described(data: FlexibleBodyData) -> str:
    """A body in lines of text: mass, frames, modes."""
    inertia = central_inertia(data)
    diagonal, products = inertia.diagonal(), (inertia[0, 1], inertia[1, 2], inertia[0, 2])
    frames = [f"frame {name}: {_millimetres(frame.x)} mm, {frame.kind}" for name, frame in data.frames.items()]
    return "\n".join([
        f"{data.name}: {data.mass:.6g} kg, centre of mass {_millimetres(data.com)} mm, {data.nf} modes",
        f"inertia about it, xx yy zz: {_numbers(diagonal)}; xy yz zx: {_numbers(products)} kg m²",
        *frames, str(data.modes), *_errors(data),
    ])  # fmt: skip


def _errors(data: FlexibleBodyData) -> list[str]:
    """The largest errors against the finite-element model that were estimated, in a line of text."""
    facts = data.provenance
    if "accuracy: band [Hz]" not in facts:
        return []
    found = [f"{what} {facts[key]:.2g}" for what in ("frequencies", "compliance") if (key := f"accuracy: {what}") in facts]
    return [f"largest estimated relative errors, up to {facts['accuracy: band [Hz]']:.6g} Hz: {', '.join(found)}"]


def _millimetres(position: FloatArray) -> str:
    return ", ".join(f"{round(1e3 * float(x), 6) + 0.0:.6g}" for x in position)


def _numbers(values: Any) -> str:
    return ", ".join(f"{float(value):.4g}" for value in values)


def _inspect_mesh(path: Path, unit: str | None, as_json: bool) -> int:
    import warnings

    from preprocess.mesh import PreprocessWarning, read_mesh

    with warnings.catch_warnings():
        if unit is None:
            warnings.filterwarnings("ignore", "the mesh is .* large", PreprocessWarning)
        mesh = read_mesh(path, unit=unit or "m")
    facts = mesh_facts(mesh)
    if as_json:
        put_json(facts | {"unit": unit})
    else:
        put(_mesh_text(facts, "m" if unit else "(unit of the file)"))
    return 0


def mesh_facts(mesh: Mesh) -> dict[str, Any]:
    """Size, elements and sets of a mesh."""
    return {
        "source": mesh.source, "nodes": len(mesh.nodes),
        "low": mesh.nodes.min(axis=0).tolist(), "high": mesh.nodes.max(axis=0).tolist(),
        "elements": {name: len(block.ids) for name, block in mesh.blocks.items()},
        "node sets": {name: len(places) for name, places in mesh.node_sets.items()},
        "element sets": {name: len(ids) for name, ids in mesh.element_sets.items()},
    }  # fmt: skip


def _mesh_text(facts: dict[str, Any], unit: str) -> str:
    low, high = _numbers(facts["low"]), _numbers(facts["high"])
    lines = [f"{facts['source']}: {facts['nodes']} nodes, {3 * facts['nodes']} degrees of freedom, from {low} to {high} {unit}"]
    lines += [f"{count} elements {name}" for name, count in facts["elements"].items()]
    for what in ("node sets", "element sets"):
        sets = ", ".join(f"{name} ({count})" for name, count in facts[what].items())
        lines.append(f"{what}: {sets or 'none'}")
    return "\n".join(lines)
