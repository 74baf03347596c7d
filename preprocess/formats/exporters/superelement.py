"""Superelement of a reduced body: stiffness, mass and damping, rigid-body modes included.

Coordinates are the displacements of the frames, U_i = [Tx Ty Tz Rx Ry Rz] one frame after the
other, then modal coordinates in which every frame is fixed (Craig–Bampton form). The body
coordinates z = (rigid motion of the body frame, q) give the motion of the frames as U = E z, hence
with E⁺ of least strain energy and N the modes of E z = 0,

    z = [E⁺ | N] [U; η],   K' = [E⁺ | N]ᵀ diag(0, K_ff) [E⁺ | N],   M' alike with the mass matrix of the undeformed body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.free_body import elastic_frame_motion, mass_matrix, rigid_frame_motion
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import ExportRequest, missing_fields

BEYOND_MATRICES = (
    "shape integrals beyond K and M, the surface and the geometric stiffness are not in the file"
)
MAX_NUMBER = 99_999_999  # of a grid or node: eight digits in Nastran's fields
# relative change of a frequency by rounding in the file that is reported; printed results of other
# programs have six or seven digits
NOTABLE = 1e-7


class NumberedSuperelement(NamedTuple):
    """Superelement in the units of a file, its interfaces and modes as numbered nodes.

    K, M, D (6k + m, 6k + m), the frame at rest first. interfaces: frame names and
    positions (3,) by node number; modes: numbers of the m modal coordinates.
    """

    K: FloatArray
    M: FloatArray
    D: FloatArray
    interfaces: dict[int, tuple[str, FloatArray]]
    modes: range

    @property
    def labels(self) -> list[tuple[int, int]]:
        """Node and direction 1 … 6 of each row, direction 0 for a mode."""
        return [(node, k) for node in self.interfaces for k in range(1, 7)] + [
            (mode, 0) for mode in self.modes
        ]


class FrameSuperelement(NamedTuple):
    """Superelement in the displacements of k frames and m fixed-interface modes.

    Stiffness, mass and damping (6k + m, 6k + m).
    """

    K: FloatArray
    M: FloatArray
    D: FloatArray


def superelement(body: FlexibleBodyData) -> FrameSuperelement:
    """Stiffness, mass and damping in frame displacements.

    Raises InputError if the modes do not span the frame displacements.
    """
    n = body.nf
    E = _frame_motion(body)
    if not len(E):
        raise _without_frames(body)
    K, D, M = np.zeros((6 + n, 6 + n)), np.zeros((6 + n, 6 + n)), mass_matrix(body)
    K[6:, 6:], D[6:, 6:] = body.K_ff, body.D_ff
    rank = np.linalg.matrix_rank(E, tol=1e-9 * np.linalg.norm(E, 2))
    if rank < len(E):
        raise InputError(
            f"{body.name}: its {n} modes and 6 rigid-body modes span {rank} of {len(E)} "
            f"displacements of {len(E) // 6} frames; "
            "reduce with more modes, or export fewer frames"
        )
    basis = _boundary_and_modes(E, K, M)
    return FrameSuperelement(
        *(0.5 * (A + A.T) for A in (basis.T @ matrix @ basis for matrix in (K, M, D)))
    )


def _without_frames(body: FlexibleBodyData) -> InputError:
    """Error for a body without frames."""
    return InputError(
        f"{body.name}: has no frames; declare interfaces for the boundary of the solid"
    )


def _boundary_and_modes(E: FloatArray, K: FloatArray, M: FloatArray) -> FloatArray:
    """Matrix [E⁺, N] of static motions and modes with the frames at rest.

    The motions of least strain energy with unit frame displacements, then the modes with the frames
    at rest.
    """
    null = scipy.linalg.null_space(E)
    inner = null.T @ K @ null
    guess = np.linalg.pinv(E)
    static = guess - null @ np.linalg.solve(inner, null.T @ K @ guess) if null.shape[1] else guess
    if not null.shape[1]:
        return np.asarray(static)
    _, modes = scipy.linalg.eigh(inner, null.T @ M @ null)
    return np.hstack([static, null @ modes])


def _frame_motion(body: FlexibleBodyData) -> FloatArray:
    """Displacements E (6k, 6 + n) of the frames per rigid motion of the body frame and per q.

    In body axes.
    """
    rows = [
        np.hstack([rigid_frame_motion(frame), elastic_frame_motion(frame)])
        for frame in body.frames.values()
    ]
    return np.vstack(rows) if rows else np.zeros((0, 6 + body.nf))


def numbered_superelement(body: FlexibleBodyData, request: ExportRequest) -> NumberedSuperelement:
    """Superelement in the request's units with its node numbers.

    With units L, m, T and u = L u', η = L √m η' of translations and mass-normalised modes:
    M = m L² M', K = m L²/T² K', D = m L²/T D'. Raises InputError for numbers that do not fit.
    """
    if not body.frames:
        raise _without_frames(body)
    if not body.nf:
        raise InputError(
            f"{body.name}: is rigid; declare its mass in the deck (CONM2, *MASS), or reduce with modes"
        )
    # the frame at rest comes first: readers hold the first one
    rest = min(body.frames, key=lambda name: float(np.abs(body.frames[name].phi).max(initial=0.0)))
    ordered = dict(sorted(body.frames.items(), key=lambda item: item[0] != rest))
    K, M, D = superelement(replace(body, frames=ordered))
    numbers = _numbers(list(ordered), request.nodes or {})
    u, m = request.units, len(K) - 6 * len(ordered)
    s = np.concatenate(
        [
            np.tile(np.repeat([u.length, 1.0], 3), len(ordered)),
            np.full(m, u.length * np.sqrt(u.mass)),
        ]
    )
    inertia = np.outer(s, s) / (u.mass * u.length**2)
    first = max(numbers.values()) + 1
    if first + m > MAX_NUMBER:
        raise InputError(f"nodes: {first - 1} leaves no numbers for {m} modes below {MAX_NUMBER}")
    return NumberedSuperelement(
        K * inertia * u.time**2,
        M * inertia,
        D * inertia * u.time,
        {numbers[name]: (name, frame.x / u.length) for name, frame in ordered.items()},
        range(first, first + m),
    )


def _numbers(names: list[str], given: Mapping[str, int]) -> dict[str, int]:
    """Node number of each frame: given, or the lowest free one. Raises `InputError`."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(
            f"nodes: {unknown[0]!r} is no frame of the body; its frames are {', '.join(names)}"
        )
    used = set(given.values())
    wrong = [name for name, node in given.items() if not 1 <= node < MAX_NUMBER]
    if wrong or len(used) < len(given):
        what = f"{wrong[0]!r} at {given[wrong[0]]}" if wrong else "a number is given twice"
        raise InputError(f"nodes: {what}; give each frame its own number of 1 … {MAX_NUMBER - 1}")
    free = (number for number in range(1, len(names) + len(used) + 1) if number not in used)
    return {name: given[name] if name in given else next(free) for name in names}


def notes(
    body: FlexibleBodyData, format: str, exact: NumberedSuperelement, printed: NumberedSuperelement
) -> list[str]:
    """Content that a file of the matrices has not: axes of frames, digits, the rest of the body."""
    turned = [name for name, frame in body.frames.items() if not np.array_equal(frame.R, np.eye(3))]
    axes = [f"axes of frame {', '.join(turned)}: displacements are along the body axes"]
    return [
        BEYOND_MATRICES,
        *(axes if turned else []),
        *_rounding(exact, printed),
        *missing_fields(body, format, surface=True),
    ]


def _rounding(exact: NumberedSuperelement, printed: NumberedSuperelement) -> list[str]:
    """Note if the printed digits change a frequency of the body held at its first frame.

    Raises InputError if they make the matrices indefinite.
    """
    try:
        given, found = (
            scipy.linalg.eigh(S.K[6:, 6:], S.M[6:, 6:], eigvals_only=True) for S in (exact, printed)
        )
    except np.linalg.LinAlgError:
        found = np.full(1, np.nan)
    if not found.size:
        return []
    if not found[0] > 0:
        raise InputError(
            "the digits of this format do not suffice for the body: stiffness or mass becomes "
            "indefinite; write OP4, or fewer modes and interfaces"
        )
    change = np.abs(np.sqrt(found / given) - 1.0)
    worst = int(np.argmax(change))
    return (
        [f"digits of the format change frequency {worst + 1} by {change[worst]:.1g}"]
        if change[worst] > NOTABLE
        else []
    )
