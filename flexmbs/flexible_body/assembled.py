"""Assembly of the pieces of a divided body to one body for small deflections.

Component mode synthesis.

A point x of a piece is displaced by w = t + θ × x + φ q in the frame of the piece. The frame
motions t, θ and elastic coordinates q of all pieces, z = (t, θ, q), must satisfy the welds,


    w_a = w_b,  θ_a = θ_b,  local displacements of a = those of b   at each cut,    z = N y,

with the frame of the first piece, which is the body frame, fixed: t₁ = θ₁ = 0. This gives the
stiffness Nᵀ K N, the mass Nᵀ M N, and all integrals of the body as sums over its pieces, whose
points are at X = d + R x in the body frame and move by R w there. With g = (1, x), so that w = C g
+ φ q,

    ∫ g_α w_b dm = (∫ g_α g_β dm) C_bβ,  ∫ g_α φ_b dm = (S̄, xS),    ∫ w_a w_b dm = C_aα (∫ g_α g_β
    dm) C_bβ, …, SS .

The shapes are the modes of NᵀKN y = ω² NᵀMN y.

Source: Craig, Bampton (1968), AIAA Journal 6, 1313–1319 (substructures coupled at their
boundaries); Craig, Structural Dynamics, chapter 19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FlexibleFrame, FloatArray, Surface
from flexmbs.flexible_body.free_body import elastic_frame_motion, mass_matrix, rigid_frame_motion
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.undeformed_pieces import JoinedSurface, PiecePose
from flexmbs.flexible_body.welds import own_frames, welds

COMMON_ERRORS = "accuracy: pieces, "  # errors of all pieces, stored with the first piece
Ratios: TypeAlias = Callable[[FloatArray], FloatArray]  # damping ratios at frequencies [Hz]
RIGID = 6  # coordinates t, θ of a piece
LEVI_CIVITA = np.array(
    [[[(i - j) * (j - k) * (k - i) / 2.0 for k in range(3)] for j in range(3)] for i in range(3)]
)
AFFINE = np.zeros((3, 4, RIGID))  # C, indexed by component, g, coordinate
AFFINE[:, 0, :3] = np.eye(3)
AFFINE[:, 1:, 3:] = np.swapaxes(LEVI_CIVITA, 1, 2)  # (θ × x)_a = ε_acd θ_c x_d


@dataclass(frozen=True, eq=False)
class WeldedPieces:
    """Small motions of welded pieces in independent coordinates.

    Independent coordinates y, rows ``N``[k] (6 + nf, n) of each piece, stiffness, damping and mass
    (n, n).
    """

    pieces: Sequence[FlexibleBodyData]
    poses: Sequence[PiecePose]
    N: Sequence[FloatArray]
    K: FloatArray
    D: FloatArray
    M: FloatArray

    @classmethod
    def of(cls, pieces: Sequence[FlexibleBodyData], poses: Sequence[PiecePose]) -> WeldedPieces:
        """Welded pieces at their poses; the frame of the first one is fixed. Raises InputError."""
        ends = np.cumsum([0, *(RIGID + piece.nf for piece in pieces)])
        rows = [np.eye(RIGID, ends[-1])]
        for i, j, cut in welds([tuple(piece.frames) for piece in pieces]):
            pair = [
                _columns_of_piece(_at_cut(pieces[k].frames[cut], poses[k]), ends, k) for k in (i, j)
            ]
            rows.append(pair[0] - pair[1])
        # equal scales of the energies
        inertia = np.concatenate([np.diag(mass_matrix(piece)) for piece in pieces])
        if not (inertia > 0.0).all():
            raise _indefinite(pieces)
        scale = 1.0 / np.sqrt(inertia)
        N = scipy.linalg.null_space(np.vstack(rows) * scale) * scale[:, None]
        parts = np.split(N, ends[1:-1])
        K = sum(T[RIGID:].T @ piece.K_ff @ T[RIGID:] for T, piece in zip(parts, pieces))
        U = sum(piece.damping_rows @ T[RIGID:] for T, piece in zip(parts, pieces))
        D = (
            sum(T[RIGID:].T @ piece.D_ff @ T[RIGID:] for T, piece in zip(parts, pieces))
            + np.transpose(U) @ U
        )
        M = sum(T.T @ mass_matrix(piece) @ T for T, piece in zip(parts, pieces))
        return cls(
            pieces, poses, parts, *(0.5 * (each + each.T) for each in map(np.asarray, (K, D, M)))
        )

    @property
    def frames(self) -> Mapping[str, FloatArray]:
        """Translation and rotation (6, n) of every frame in body axes, by name."""
        return {
            name: _motion(frame, pose) @ T
            for piece, pose, T in zip(self.pieces, self.poses, self.N)
            for name, frame in piece.frames.items()
        }

    def in_modes(self, count: int | None = None) -> WeldedPieces:
        """Body in the coordinates of its lowest modes, normalized to unit mass.

        The largest entry of each is positive. Raises InputError.
        """
        try:
            _, v = scipy.linalg.eigh(self.K, self.M)
        except scipy.linalg.LinAlgError:
            raise _indefinite(self.pieces) from None
        v = v[:, :count]
        v = v * np.sign(v[np.abs(v).argmax(axis=0), np.arange(v.shape[1])])
        matrices = (v.T @ each @ v for each in (self.K, self.D, self.M))
        return replace(
            self,
            N=[T @ v for T in self.N],
            **dict(zip("KDM", (0.5 * (each + each.T) for each in matrices))),
        )


def _indefinite(pieces: Sequence[FlexibleBodyData]) -> InputError:
    """Error for pieces whose mass matrix is not positive definite."""
    return InputError(
        f"{pieces[0].name}: the mass matrix of this and the other {len(pieces) - 1} pieces is not "
        "positive definite; reduce the part again"
    )


def damping_rows(welded: WeldedPieces, ratios: Ratios) -> list[FloatArray]:
    """Rows U of each piece, whose damping UᵀU gives modal damping of the assembled body.

    welded: the body in its modes.

    With the modes φ of the assembled body, their frequencies ω and damping ratios ζ = ``ratios``
    (ω/2π):

    UᵀU = Σ (2ζ/ω³) K φ φᵀ K

    over their elastic coordinates. Rigid motions of a piece are not damped; modes without damping
    have no row.

    """
    omega = np.sqrt(np.maximum(np.diag(welded.K), 0.0))
    zeta = ratios(omega / (2.0 * np.pi))
    factor = np.sqrt(np.divide(2.0 * zeta, omega**3, out=np.zeros_like(omega), where=omega > 0.0))
    return [
        (piece.K_ff @ T[RIGID:] * factor).T[factor > 0.0]
        for T, piece in zip(welded.N, welded.pieces)
    ]


def assembled(
    name: str,
    pieces: Sequence[FlexibleBodyData],
    poses: Sequence[PiecePose],
    joined: JoinedSurface | None,
    modes: int | None = None,
) -> FlexibleBodyData:
    """Pieces as one body in its lowest ``modes``, or in all.

    The frame of the first piece is fixed.

    Without stress modes and geometric stiffness: those of a piece refer only to the loads of that
    piece.

    """
    welded = WeldedPieces.of(pieces, poses).in_modes(modes)
    n = len(welded.K)
    mass, G, SS = np.zeros((4, 4)), np.zeros((4, 3, n)), np.zeros((3, 3, n, n))
    for piece, pose, T in zip(pieces, poses, welded.N):
        P = np.eye(4)
        P[1:, 0], P[1:, 1:] = pose.x, pose.R
        own, first, second = _integrals(piece, T)
        mass += P @ own @ P.T
        G += np.einsum("ij,bc,jck->ibk", P, pose.R, first)
        SS += np.einsum("ac,bd,cdkl->abkl", pose.R, pose.R, second, optimize=True)
    kept = own_frames([tuple(piece.frames) for piece in pieces])
    made = FlexibleBodyData.from_integrals(
        name,
        mass=mass[0, 0],
        first_moment=mass[0, 1:],
        second_moment=mass[1:, 1:],
        S_bar=G[0],
        xS=G[1:],
        SS=SS,
        K_ff=welded.K,
        D_ff=welded.D,
        frames={key: frame for key, frame in _frames(welded).items() if key in kept},
        surface=joined and _surface(welded, joined),
        provenance=_origin(pieces),
    )
    return replace(made, modes=replace(made.modes, kind=("assembled",) * n))


def _at_cut(frame: FlexibleFrame, pose: PiecePose) -> FloatArray:
    """Matrix (6 + m, 6 + nf) of the motion of a frame and its local displacements."""
    local = np.pad(frame.local, ((0, 0), (RIGID, 0)))
    return np.vstack([_motion(frame, pose), local])


def _motion(frame: FlexibleFrame, pose: PiecePose) -> FloatArray:
    """Matrix (6, 6 + nf) from the coordinates of a piece to the motion of a frame.

    From (t, θ, q) to translation and rotation, in body axes.
    """
    own = np.hstack([rigid_frame_motion(frame), elastic_frame_motion(frame)])
    return np.vstack([pose.R @ own[:3], pose.R @ own[3:]])


def _columns_of_piece(B: FloatArray, ends: FloatArray, k: int) -> FloatArray:
    """Columns of piece k of a matrix, placed among the columns of all pieces."""
    found = np.zeros((len(B), ends[-1]))
    found[:, ends[k] : ends[k + 1]] = B
    return found


def _origin(pieces: Sequence[FlexibleBodyData]) -> dict[str, str | float]:
    """Provenance of the assembled body from those of its pieces."""
    facts = [piece.provenance for piece in pieces]
    found = {
        key: value
        for key, value in facts[0].items()
        if all(each.get(key) == value for each in facts) or COMMON_ERRORS in key
    }
    times = dict.fromkeys(key for each in facts for key in each if key.startswith("time "))
    return found | {key: sum(float(each.get(key, 0.0)) for each in facts) for key in times}


def _integrals(piece: FlexibleBodyData, T: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shape integrals of a piece in the coordinates of the assembled body.

    ∫ g gᵀ dm (4, 4), ∫ g_α w_b dm (4, 3, n) and ∫ w_a w_b dm (3, 3, n, n) of w = (C g, φ) T y, in
    the frame of the piece.
    """
    c = piece.first_moment
    mass = np.block([[np.array([[piece.mass]]), c[None]], [c[:, None], piece.second_moment]])
    own = np.concatenate([piece.S_bar[None], piece.xS])
    first = np.concatenate([np.einsum("ij,bjk->ibk", mass, AFFINE), own], axis=2)
    nf = piece.nf
    second = np.zeros((3, 3, RIGID + nf, RIGID + nf))
    second[:, :, :RIGID] = np.einsum("aik,ibl->abkl", AFFINE, first)
    second[:, :, RIGID:, :RIGID] = second[:, :, :RIGID, RIGID:].transpose(1, 0, 3, 2)
    second[:, :, RIGID:, RIGID:] = piece.SS
    return mass, first @ T, np.asarray(T.T @ second @ T)


def _frames(welded: WeldedPieces) -> dict[str, FlexibleFrame]:
    """Frames of all pieces in the assembled body."""
    motions, found = welded.frames, {}
    for piece, pose in zip(welded.pieces, welded.poses):
        for name, frame in piece.frames.items():
            there = pose.of(frame.R, frame.x)
            found[name] = FlexibleFrame(
                there.x, there.R, motions[name][:3], motions[name][3:], frame.kind
            )
    return found


def _surface(welded: WeldedPieces, joined: JoinedSurface) -> Surface:
    """Surface with its shapes; a node of a cut moves as the mean of its pieces."""
    surface, n = joined.surface, welded.K.shape[0]
    phi, shares = np.zeros((len(surface.nodes), 3, n)), np.zeros(len(surface.nodes))
    for piece, pose, T, rows in zip(welded.pieces, welded.poses, welded.N, joined.rows):
        assert piece.surface is not None
        x = piece.surface.nodes
        rigid = np.einsum("aik,ni->nak", AFFINE, np.column_stack([np.ones(len(x)), x]))
        own = np.concatenate([rigid, piece.surface.phi], axis=2) @ T
        np.add.at(phi, rows, np.einsum("ab,nbk->nak", pose.R, own))
        np.add.at(shares, rows, 1.0)
    return replace(surface, phi=phi / shares[:, None, None])
