"""Conversion of other programs' reduced bodies to SI units and to a checked `FlexibleBodyData`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FlexibleFrame, FloatArray, GeometricStiffness, Surface
from flexmbs.flexible_body.file import GENERATOR
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.shape_integrals import ShapeIntegrals
from preprocess.formats.importers.base import ImportReport, ImportRequest
from preprocess.inputs.units import Units

# number of nodes above which only named nodes become frames; a longer list is a mesh, not a choice
# of interfaces
MANY_NODES = 100


class RawBody(NamedTuple):
    """Reduced body in the units of its file; fields as in `FlexibleBodyData`."""

    name: str
    integrals: ShapeIntegrals
    K_ff: FloatArray
    D_ff: FloatArray
    frames: dict[str, FlexibleFrame]
    surface: Surface | None = None
    geometric: GeometricStiffness | None = None


def checked_body(raw: RawBody, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
    """Body in SI units, with its checks in the report.

    Raises InputError for invalid mass or stiffness.
    """
    body = _in_si(raw, request, report)
    report.found(
        f"{body.nf} modes from {body.modes.frequency.min(initial=np.inf):.6g} Hz, "
        f"{len(body.frames)} frames"
        if body.nf
        else "a rigid body"
    )
    size = np.sqrt(max(np.trace(body.second_moment) / body.mass, 0.0)) if body.mass > 0 else 0.0
    report.found(
        f"mass {body.mass:.6g} kg, radius of gyration {size:.4g} m about the body frame, "
        f"from units {request.units.name}"
    )
    if body.geometric is not None:
        report.found(f"geometric stiffness of inertia and of {len(body.geometric.frames)} frames")
    for check in body.validate():
        if not check.ok and check.name.startswith(
            ("mass is positive", "K_ff is positive", "K_ff is symmetric")
        ):
            raise InputError(
                f"{report.source}: {check.name} does not hold ({check.residual:.3g}); "
                "export the body again"
            )
        report.check(check.ok, f"{check.name} ({check.residual:.2g})")
    return body


def _in_si(raw: RawBody, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
    """Raw body converted from the units of its file to SI units.

    The elastic coordinates are scaled so that the modes remain mass-normalised.
    """
    u, given = request.units, raw.integrals
    phi = u.mass**-0.5  # q in √kg m where the file has √mass · length
    moment = u.mass * u.length
    return FlexibleBodyData.from_integrals(
        raw.name,
        mass=given.mass * u.mass,
        first_moment=given.first_moment * moment,
        second_moment=given.second_moment * moment * u.length,
        S_bar=given.S_bar * u.mass * phi,
        xS=given.xS * moment * phi,
        SS=given.SS,
        K_ff=raw.K_ff / u.time**2,
        D_ff=raw.D_ff / u.time,
        frames={name: _frame(frame, phi, u.length) for name, frame in raw.frames.items()},
        surface=_surface(raw.surface, phi, u.length),
        geometric=_geometric(raw.geometric, u),
        provenance={
            "source": report.source,
            "format of source": report.format,
            "units of source": u.name,
            "units": "m kg s rad N",
            "generator": GENERATOR,
        },
    )


def _frame(frame: FlexibleFrame, phi: float, length: float) -> FlexibleFrame:
    """Frame converted to SI units by factors of shapes and lengths."""
    return FlexibleFrame(
        frame.x * length, frame.R, frame.phi * phi, frame.psi * (phi / length), frame.kind
    )


def _surface(surface: Surface | None, phi: float, length: float) -> Surface | None:
    """Surface converted to SI units by factors of shapes and lengths."""
    if surface is None:
        return None
    return Surface(surface.nodes * length, surface.phi * phi, surface.triangles, surface.node_ids)


def _geometric(K0: GeometricStiffness | None, u: Units) -> GeometricStiffness | None:
    """Geometric stiffness per unit of acceleration, force and moment in SI units."""
    if K0 is None:
        return None
    force = u.mass * u.length
    scale = np.repeat([1.0 / force, 1.0 / (force * u.length)], 3)[:, None, None]
    frames = {name: matrices * scale for name, matrices in K0.frames.items()}
    return GeometricStiffness(
        K0.acceleration / u.length, K0.angular_acceleration, K0.rotation, frames
    )


class BodyNodes(NamedTuple):
    """Nodes of a reduced body.

    Numbers (N,), positions (N, 3), and shapes of translation and rotation (N, 3, n).
    """

    ids: np.ndarray
    positions: FloatArray
    phi: FloatArray
    psi: FloatArray

    def wanted(self, numbers: Mapping[str, int] | None, report: ImportReport) -> dict[str, int]:
        """Rows of the nodes that become frames, by name.

        Those given, or every node of a short list. Raises InputError for a missing node.
        """
        row_of = {int(node): row for row, node in enumerate(self.ids)}
        if numbers is None:
            if len(row_of) > MANY_NODES:
                report.found(f"{len(row_of)} nodes, none becomes a frame; name them with frames=")
                return {}
            numbers = {f"node {node}": node for node in row_of}
        missing = [
            f"{name!r} at node {node}" for name, node in numbers.items() if node not in row_of
        ]
        if missing:
            raise InputError(
                f"{report.source}: no node for frame {missing[0]}; the nodes are {_few(row_of)}"
            )
        return {name: row_of[node] for name, node in numbers.items()}

    def frames(self, rows: Mapping[str, int]) -> dict[str, FlexibleFrame]:
        """Frames with body axes at the nodes of the given rows."""
        return {
            name: FlexibleFrame(
                self.positions[row], np.eye(3), self.phi[row], self.psi[row], "node"
            )
            for name, row in rows.items()
        }


def _few(nodes: Mapping[int, int]) -> str:
    """Text with the first eight nodes."""
    first = [str(node) for node in list(nodes)[:8]]
    return ", ".join(first) + (", …" if len(nodes) > 8 else "")
