"""Conversion of superelements to reduced bodies.

A superelement has stiffness and mass in the displacements of a few nodes and in modes.

K and M give mass, inertia, stiffness and the momenta ``L = Rᵀ M`` of every shape, but not its
distribution over the body. The rigid-body part of each shape with the same momenta, ``t + θ × x``
with ``[t; θ] = M_rr⁻¹ L``, is exact; only the mass of the remainder, which has no momenta, is
known, and it is assumed equal in x, y and z. The mass matrix of the undeformed body is exact, its
dependence on the deformation and the Coriolis and centrifugal terms are approximate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FlexibleFrame, FloatArray, IntArray
from flexmbs.flexible_body.free_body import rigid_mass_matrix
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.shape_integrals import ShapeIntegrals, second_moment
from preprocess.formats.importers.base import ImportReport, ImportRequest
from preprocess.formats.importers.raw_body import RawBody, checked_body
from preprocess.inputs.units import MESH_UNITS
from preprocess.mesh.rigid_motion import rigid_motion

# relative residual of rigid-body modes; matrices are written with seven or more digits
PRINTED = 1e-6
# number of degrees of freedom; the matrices are dense, 72 MB each at this number
MAX_DOFS = 3000
# comment of the files that this program writes
_UNITS = re.compile(r"units of the file: (\S+)")


class Superelement(NamedTuple):
    """Stiffness and mass (n, n) of a superelement.

    Node and direction 1 … 6 of each row (n, 2); positions of the nodes. Rows of nodes without a
    position are fixed-interface modes. D: damping (n, n), None without. names: of frames by node,
    where the file has them.
    """

    K: FloatArray
    M: FloatArray
    labels: IntArray
    positions: Mapping[int, FloatArray]
    D: FloatArray | None = None
    names: Mapping[int, str] = MappingProxyType({})


class _Rigid(NamedTuple):
    """Mass, first moment (3,), inertia (3, 3) about the reference node."""

    mass: float
    first: FloatArray
    inertia: FloatArray


def check_units(text: str, request: ImportRequest) -> None:
    """Raise InputError if a file names other units than those of the request."""
    found = _UNITS.search(text)
    if (
        found
        and found.group(1) in MESH_UNITS
        and MESH_UNITS[found.group(1)][1:] != request.units[1:]
    ):
        raise InputError(
            f"{request.path}: its units are {found.group(1)}, not {request.units.name}; "
            f"read it with unit='{found.group(1)}'"
        )


def superelement_body(
    element: Superelement, request: ImportRequest, report: ImportReport
) -> FlexibleBodyData:
    """Body whose frames are the nodes with six degrees of freedom, the first its body frame.

    Raises InputError.
    """
    element = _without_empty_rows(element, report)
    frames = _frame_rows(element, report)
    unknown = [
        f"{name!r} at node {node}"
        for name, node in (request.frames or {}).items()
        if node not in frames
    ]
    if unknown:
        raise InputError(
            f"{report.source}: no node for frame {unknown[0]}; the nodes are "
            f"{', '.join(map(str, list(frames)[:8]))}"
        )
    reference = next(iter(frames))
    R = _rigid_motions(element, reference)
    damping = np.zeros_like(element.K) if element.D is None else element.D
    for name, A in (("K", element.K), ("D", damping)):
        _check_rigid(name, A, R, report)
    rest = np.setdiff1d(np.arange(len(element.labels)), frames[reference])
    K, M = element.K[np.ix_(rest, rest)], element.M[np.ix_(rest, rest)]
    omega2, V = scipy.linalg.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    rigid = _rigid_body(R.T @ element.M @ R, report)
    integrals = _shape_integrals(rigid, (R.T @ element.M)[:, rest] @ V)
    shapes = np.zeros((len(element.labels), len(rest)))
    shapes[rest] = V
    origin = element.positions[reference]
    names = _names(element, list(frames), request)
    raw = RawBody(
        name=request.path.stem or "body",
        integrals=integrals,
        K_ff=np.diag(omega2),
        D_ff=V.T @ damping[np.ix_(rest, rest)] @ V,
        frames={
            names[node]: FlexibleFrame(
                element.positions[node] - origin, np.eye(3), shapes[rows[:3]], shapes[rows[3:]]
            )
            for node, rows in frames.items()
        },
    )
    report.found(
        f"{len(frames)} nodes with six degrees of freedom; the body frame is at node {reference}"
    )
    report.check(
        False,
        "a superelement has no products of shapes: the part of each shape without momenta is "
        "assumed equal in x, y, z",
    )
    return checked_body(raw, request, report)


def _without_empty_rows(element: Superelement, report: ImportReport) -> Superelement:
    """Superelement without rows that have no stiffness and no mass: rotations of nodes of solids."""
    kept = np.flatnonzero(np.abs(element.K).sum(axis=1) + np.abs(element.M).sum(axis=1))
    if len(kept) == len(element.labels):
        return element
    report.found(f"{len(element.labels) - len(kept)} rows without stiffness and mass dropped")
    K, M, D = (
        None if A is None else A[np.ix_(kept, kept)] for A in (element.K, element.M, element.D)
    )
    assert K is not None
    assert M is not None
    return element._replace(K=K, M=M, D=D, labels=element.labels[kept])


def _names(element: Superelement, nodes: Sequence[int], request: ImportRequest) -> dict[int, str]:
    """Name of the frame at each node: requested, of the file, or "node 7"."""
    requested = {number: name for name, number in (request.frames or {}).items()}
    return {node: requested.get(node, element.names.get(node, f"node {node}")) for node in nodes}


def _frame_rows(element: Superelement, report: ImportReport) -> dict[int, IntArray]:
    """Rows 1 … 6 of each node with a position and six degrees of freedom.

    Raises InputError if there is none.
    """
    rows: dict[int, dict[int, int]] = {}
    for row, (node, direction) in enumerate(element.labels.tolist()):
        if node in element.positions:
            if direction in rows.setdefault(node, {}) or not 1 <= direction <= 6:
                raise InputError(
                    f"{report.source}: node {node} has direction {direction} twice, or "
                    "none of 1 … 6"
                )
            rows[node][direction] = row
    frames = {
        node: np.array([found[k] for k in range(1, 7)])
        for node, found in rows.items()
        if len(found) == 6
    }
    if not frames:
        raise InputError(
            f"{report.source}: no node has all six degrees of freedom; retain 1-6 of the "
            "nodes of joints"
        )
    return frames


def _rigid_motions(element: Superelement, reference: int) -> FloatArray:
    """Coordinates (n, 6) of the rigid motions about the reference node; zero in the modes."""
    R = np.zeros((len(element.labels), 6))
    origin = element.positions[reference]
    for row, (node, direction) in enumerate(element.labels.tolist()):
        if node in element.positions:
            motion = rigid_motion((element.positions[node] - origin)[None])[0]
            R[row] = motion[direction - 1] if direction <= 3 else np.eye(6)[direction - 1]
    return R


def _check_rigid(name: str, A: FloatArray, R: FloatArray, report: ImportReport) -> None:
    """Raise InputError unless the matrix is free of the six rigid-body modes."""
    if not A.any():
        return
    unit = R / np.maximum(np.abs(R).max(axis=0), 1e-300)
    residual = float(np.abs(A @ unit).max() / np.abs(A).max())
    if not residual < PRINTED:
        raise InputError(
            f"{report.source}: {name} is not free of rigid-body modes ({residual:.2g} of |{name}|); "
            "give the nodes of the job "
            "in its units, and fixed-interface modes only"
        )
    report.check(True, f"{name} is free of the six rigid-body modes ({residual:.2g})")


def _rigid_body(M: FloatArray, report: ImportReport) -> _Rigid:
    """Mass, first moment and inertia from the mass matrix (6, 6) of the rigid-body modes.

    Raises InputError unless it is that of a rigid body.
    """
    mass = float(np.trace(M[:3, :3]) / 3.0)
    coupling = 0.5 * (M[3:, :3] + M[:3, 3:].T)
    first = 0.5 * np.array(
        [
            coupling[2, 1] - coupling[1, 2],
            coupling[0, 2] - coupling[2, 0],
            coupling[1, 0] - coupling[0, 1],
        ]
    )
    error = max(float(np.abs(M[:3, :3] - mass * np.eye(3)).max()), 0.0) / max(abs(mass), 1e-300)
    if mass <= 0 or not error < 1e-3:
        raise InputError(
            f"{report.source}: M has no rigid-body mass, or masses that differ in x, y, z "
            f"({error:.2g})"
        )
    report.check(error < PRINTED, f"M of the rigid motions has one mass in x, y, z ({error:.2g})")
    return _Rigid(mass, first, 0.5 * (M[3:, 3:] + M[3:, 3:].T))


def _shape_integrals(rigid: _Rigid, L: FloatArray) -> ShapeIntegrals:
    """Shape integrals of a body with mass-normalised shapes of momenta L (6, n)."""
    c, second = rigid.first, second_moment(rigid.inertia)
    affine = _affine(
        np.asarray(np.linalg.solve(rigid_mass_matrix(rigid.mass, c, rigid.inertia), L), dtype=float)
    )
    moments = np.block([[np.array([[rigid.mass]]), c[None]], [c[:, None], second]])
    linear = np.einsum("st,btk->sbk", moments, affine)
    SS = np.einsum("ask,sbl->abkl", affine, linear)
    rest = np.eye(L.shape[1]) - np.einsum("aakl->kl", SS)
    for a in range(3):
        SS[a, a] += rest / 3.0
    return ShapeIntegrals(rigid.mass, c, second, linear[0], linear[1:], SS)


def _affine(motion: FloatArray) -> FloatArray:
    """Columns [t | θ̃] (3, 4, n) of rigid motions ``t + θ × x``."""
    t, (x, y, z) = motion[:3], motion[3:]
    zero = np.zeros_like(x)
    return np.stack(
        [t, np.array([zero, z, -y]), np.array([-z, zero, x]), np.array([y, -x, zero])], axis=1
    )
