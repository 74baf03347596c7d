"""Exporter of modal data for MBDyn (.fem), with all invariants and numbers of 17 digits.

The frames of the body are the nodes.

The names of the frames are in the line ** NODE SET of the header. MBDyn uses the quadratic terms
with "use invariant 9". Group 19 holds the geometric stiffness, numbered ω_x², ω_y², ω_z², ω_x ω_y,
ω_y ω_z, ω_z ω_x (1 … 6), angular accelerations (7 … 9), accelerations minus gravity (10 … 12), then
three forces and three moments at each node: the modal joint in MBDyn must list all nodes in the
order of the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flexmbs.errors import InputError
from flexmbs.files.output import write_text
from flexmbs.flexible_body.components import FloatArray, GeometricStiffness
from flexmbs.flexible_body.free_body import central_inertia
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest, missing_fields
from preprocess.formats.inertia_invariants import invariant_5, invariant_8, invariant_9


class MBDynExporter(Exporter):
    """Modal data file of MBDyn."""

    kind = "mbdyn"
    suffixes = (".fem",)

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the body as an MBDyn modal file; notes on data that are lost."""
        if not body.frames:
            raise InputError(f"{body.name}: has no frames; MBDyn needs at least one node")
        write_text(request.path, "\n".join(_lines(body)) + "\n")
        rotated = [
            name for name, frame in body.frames.items() if not np.array_equal(frame.R, np.eye(3))
        ]
        missing = (
            [
                f"axes of frame {', '.join(rotated)}: nodes have no axes; set them at the "
                "joints in MBDyn"
            ]
            if rotated
            else []
        )
        return missing + missing_fields(body, "MBDynExporter")


def _lines(body: FlexibleBodyData) -> Iterator[str]:
    """Lines of the MBDyn modal file."""
    frames = list(body.frames.values())
    yield "** MBDyn MODAL DATA FILE"
    yield "** NODE SET " + ", ".join('"' + name.replace('"', "'") + '"' for name in body.frames)
    yield from _group(1, "HEADER")
    yield "**   REVISION,  NODE,  NORMAL, ATTACHMENT, CONSTRAINT, REJECTED MODES."
    yield f"      REV0  {len(frames)}  {body.nf}  0  0  0"
    yield from _group(2, "FINITE ELEMENT NODE LIST")
    yield " ".join(str(k + 1) for k in range(len(frames)))
    yield from _group(3, "INITIAL MODAL DISPLACEMENTS", np.zeros((1, body.nf)))
    yield from _group(4, "INITIAL MODAL VELOCITIES", np.zeros((1, body.nf)))
    for axis, letter in enumerate("XYZ"):
        yield from _group(
            5 + axis, f"NODAL {letter} COORDINATES", np.array([[frame.x[axis]] for frame in frames])
        )
    yield from _group(8, "MODE SHAPES")
    for k in range(body.nf):
        yield f"**    NORMAL MODE SHAPE #  {k + 1}"
        yield from _rows(np.array([np.r_[frame.phi[:, k], frame.psi[:, k]] for frame in frames]))
    yield from _group(9, "MODAL MASS MATRIX", body.m_ff)
    yield from _group(10, "MODAL STIFFNESS MATRIX", body.K_ff)
    yield from _group(12, "RIGID BODY INERTIA MATRIX")
    yield from _rows(np.array([[body.mass]]))
    yield from _rows(body.com[None])
    yield from _rows(central_inertia(body))
    yield from _group(13, "MODAL DAMPING MATRIX", body.D_ff)
    yield from _invariants(body)
    if body.geometric is not None:
        yield from _stiffening(body, body.geometric)
    yield "**"


def _invariants(body: FlexibleBodyData) -> Iterator[str]:
    """Lines of record groups 14 … 18: the inertia invariants.

    Each row holds one component of a vector, or one row of the 3 × 3 matrices of all modes.
    """
    yield from _group(14, "INVARIANT 3", body.S_bar)
    yield from _group(15, "INVARIANT 4", body.x_cross_S)
    yield from _group(16, "INVARIANT 8", invariant_8(body.xS).transpose(0, 2, 1).reshape(3, -1))
    yield from _group(17, "INVARIANT 5", invariant_5(body.SS).reshape(3, body.nf**2))
    yield from _group(18, "INVARIANT 9", invariant_9(body.SS).transpose(0, 2, 3, 1).reshape(3, -1))


def _stiffening(body: FlexibleBodyData, K0: GeometricStiffness) -> Iterator[str]:
    """Group 19: the number of matrices, then each matrix preceded by its number."""
    blocks = [*enumerate([*K0.rotation, *K0.angular_acceleration, *K0.acceleration], 1)]
    for k, name in enumerate(body.frames):
        blocks += [(13 + 6 * k + a, matrix) for a, matrix in enumerate(K0.frames.get(name, ()))]
    yield from _group(19, "MODAL STRESS STIFFENING MATRIX")
    yield str(len(blocks))
    for number, matrix in blocks:
        yield str(number)
        yield from _rows(matrix)


def _group(number: int, title: str, values: FloatArray | None = None) -> Iterator[str]:
    """Lines of a record group with title and values."""
    yield "**"
    yield f"** RECORD GROUP {number}, {title}"
    if values is not None:
        yield from _rows(values)


def _rows(values: FloatArray) -> Iterator[str]:
    """Rows of values as text with 17 digits."""
    return (" ".join(f"{value:.16e}" for value in row) for row in values.tolist())
