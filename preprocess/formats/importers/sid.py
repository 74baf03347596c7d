"""Importer of standard input data (SID) text files, with checks of the redundant blocks.

Published files violate the definition: columns of Ge by axis instead of by mode, m1 with mode and
column exchanged, Oe inconsistent with Me. The integrals are therefore taken from the blocks that
contain them directly, and inconsistent blocks are reported.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import (
    FlexibleFrame,
    FloatArray,
    GeometricStiffness,
    x_cross_shapes,
)
from flexmbs.flexible_body.free_body import rigid_mass_matrix, skew
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.shape_integrals import ShapeIntegrals, second_moment
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.raw_body import RawBody, checked_body
from preprocess.formats.importers.sid_text import read_sid_text
from preprocess.formats.inertia_invariants import invariant_5, moments_of_shapes
from preprocess.formats.standard_input_data import (
    PAIRS,
    Sid,
    SidNode,
    TaylorSeries,
    centrifugal,
    inertia_tensor,
    shape_products,
    shape_products_of,
)

PRINTED = 1e-8  # relative agreement of repeated data; published files have twelve digits


class SidImporter(Importer):
    """SID text file."""

    kind = "sid"
    suffixes = (".sid", ".sid_fem", ".txt")
    signature = b"new modal"

    def read(self, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
        """Flexible body from standard input data (SID)."""
        sid = read_sid_text(request.path)
        report.found(
            f"{len(sid.nodes)} nodes, {len(sid.modes)} named modes; comment {sid.comment[:120]!r}"
        )
        n = len(sid.blocks["Me"].m0)
        _check_nodes(sid, report)
        return checked_body(_raw(request, sid, n, _integrals(sid, report)), request, report)


def _raw(request: ImportRequest, sid: Sid, n: int, integrals: ShapeIntegrals) -> RawBody:
    """Unchecked body from the blocks of the file."""
    names = _frame_names(sid)
    return RawBody(
        name=request.path.stem or "body",
        integrals=integrals,
        K_ff=sid.blocks["Ke"].m0,
        D_ff=sid.blocks["De"].m0 if "De" in sid.blocks else np.zeros((n, n)),
        frames={name: _frame(node, request) for name, node in zip(names, sid.nodes)},
        geometric=_geometric(sid, integrals.SS, names),
    )


def _geometric(sid: Sid, SS: FloatArray, names: list[str]) -> GeometricStiffness | None:
    """Geometric stiffness, if given in Ct or by first-order shapes of a node."""
    n = SS.shape[-1]
    loaded = {
        name: node
        for name, node in zip(names, sid.nodes)
        if node.phi.m1 is not None or node.psi.m1 is not None
    }
    if sid.blocks["Ct"].m1 is None and not loaded:
        return None
    zero = np.zeros((3, n, n))
    frames = {
        name: -np.concatenate(
            [_first_order_shapes(node.phi, zero), _first_order_shapes(node.psi, zero)]
        )
        for name, node in loaded.items()
    }
    Ct, Cr, Oe = (
        sid.blocks[name].m1 if name in sid.blocks else None for name in ("Ct", "Cr", "Oe")
    )
    return GeometricStiffness(
        _symmetric(Ct) if Ct is not None else zero,
        _symmetric(Cr) if Cr is not None else zero,
        _symmetric(Oe - centrifugal(SS)) if Oe is not None else np.zeros((6, n, n)),
        {name: 0.5 * (matrices + matrices.transpose(0, 2, 1)) for name, matrices in frames.items()},
    )


def _first_order_shapes(shapes: TaylorSeries, zero: FloatArray) -> FloatArray:
    """First-order shapes (3, n, n), or none."""
    return zero if shapes.m1 is None else shapes.m1


def _symmetric(m1: FloatArray) -> FloatArray:
    """Symmetric matrices (k, n, n) from first-order terms (n, n, k)."""
    return np.asarray(0.5 * (m1 + m1.transpose(1, 0, 2)).transpose(2, 0, 1))


def _frame(node: SidNode, request: ImportRequest) -> FlexibleFrame:
    """Frame of a SID node. Raises `InputError` unless its axes are orthonormal."""
    u, _, v = np.linalg.svd(node.AP.m0)
    axes = u @ v
    if np.abs(axes - node.AP.m0).max() > 1e-6 or np.linalg.det(axes) < 0:
        raise InputError(
            f"{request.path}: axes AP of node {node.name} are not right-handed and "
            "orthonormal; export the file again"
        )
    return FlexibleFrame(node.origin.m0[:, 0], axes, node.phi.m0, node.psi.m0, "node")


def _frame_names(sid: Sid) -> list[str]:
    """Names of the nodes from the comment "frames: 1 = hub; 2 = tip", or their numbers."""
    _, said, listed = sid.comment.partition("frames: ")
    pairs = [item.partition(" = ") for item in listed.split("; ")] if said else []
    titles = {number.strip(): title.strip() for number, _, title in pairs}
    names = [titles.get(node.name, f"node {node.name}") for node in sid.nodes]
    return (
        names
        if len(set(names)) == len(names)
        else [f"node {node.name} ({k})" for k, node in enumerate(sid.nodes)]
    )


def _check_nodes(sid: Sid, report: ImportReport) -> None:
    """Check origin.m1 = phi.m0 and AP.m1 = ψ̃ AP.m0 at every node that has them."""
    shapes = [node for node in sid.nodes if node.origin.m1 is not None]
    if shapes:
        given = np.array([node.origin.m1[:, :, 0] for node in shapes if node.origin.m1 is not None])
        report.agree(
            "origin.m1 = phi.m0 at every node",
            given,
            np.array([node.phi.m0 for node in shapes]),
            PRINTED,
        )
    rotated = [node for node in sid.nodes if node.AP.m1 is not None]
    if rotated:
        given = np.array([node.AP.m1 for node in rotated if node.AP.m1 is not None])
        expected = np.array(
            [(skew(node.psi.m0.T) @ node.AP.m0).transpose(1, 0, 2) for node in rotated]
        )
        report.agree("AP.m1 = ψ̃ AP.m0 at every node", given, expected, PRINTED)


def _integrals(sid: Sid, report: ImportReport) -> ShapeIntegrals:
    """Shape integrals of the body from the blocks of a SID file, with checks.

    The moments from mdCM, J, Ct, Gr and Cr, which J.m1 and Oe.m0 repeat, and the products of
    shapes.
    """
    blocks, n = sid.blocks, len(sid.blocks["Me"].m0)
    S_bar = blocks["Ct"].m0.T
    if blocks["mdCM"].m1 is not None:
        report.agree("mdCM.m1 = Ct.m0ᵀ", blocks["mdCM"].m1[:, :, 0], S_bar, PRINTED)
    inertia = _inertia(blocks["J"])
    C4 = 0.5 * blocks["Gr"].m0.reshape(3, n, 3).transpose(1, 0, 2)
    xS = moments_of_shapes(C4.transpose(1, 2, 0))
    if blocks["J"].m1 is not None and blocks["J"].m1.shape[0] == 6:
        given = np.array([inertia_tensor(blocks["J"].m1[:, k, 0]) for k in range(n)]).reshape(
            n, 3, 3
        )
        report.agree("J.m1 = symmetric part of Gr.m0", given, C4 + C4.transpose(0, 2, 1), PRINTED)
    if "Oe" in blocks:
        sym = C4 + C4.transpose(0, 2, 1)
        expected = np.stack([-sym[:, a, b] * (0.5 if a == b else 1.0) for a, b in PAIRS], axis=1)
        report.agree("Oe.m0 = − symmetric part of Gr.m0", blocks["Oe"].m0, expected, PRINTED)
    if "ksigma" in blocks and np.any(blocks["ksigma"].m0):
        report.check(False, "ksigma contains a preload, which is ignored")
    xS = _with_coupling(sid, inertia, xS, report)
    return ShapeIntegrals(
        sid.mass,
        blocks["mdCM"].m0[:, 0],
        second_moment(inertia),
        S_bar,
        xS,
        _shape_products(sid, n, report),
    )


def _with_coupling(
    sid: Sid, inertia: FloatArray, xS: FloatArray, report: ImportReport
) -> FloatArray:
    """Moments xS with the antisymmetric part ∫x × φ dm from Gr.m0 or Cr.m0.

    Gr.m0 unless Cr.m0 contradicts it; then the block with a definite mass matrix. Cr.m0, the block
    of the mass matrix itself, is used if both or neither of the mass matrices are definite.
    """
    of_Gr, of_Cr = x_cross_shapes(xS), sid.blocks["Cr"].m0.T
    if report.agree("Cr.m0 = antisymmetric part of Gr.m0", of_Cr.T, of_Gr.T, PRINTED):
        report.found("∫x × φ dm from Gr.m0, with which Cr.m0 agrees")
        return xS
    least = {
        name: _least_eigenvalue(sid, inertia, coupling)
        for name, coupling in (("Gr.m0", of_Gr), ("Cr.m0", of_Cr))
    }
    definite = [name for name, value in least.items() if value > 0.0]
    used = definite[0] if len(definite) == 1 else "Cr.m0"
    why = {0: "neither", 1: f"only {used}", 2: "either"}[len(definite)]
    values = ", ".join(f"{value:.2g} with {name}" for name, value in least.items())
    text = (
        f"{why} makes the mass matrix positive definite (least eigenvalue, scaled to a unit "
        f"diagonal: {values})"
    )
    report.check(
        False, f"Cr.m0 and Gr.m0 contradict each other, ∫x × φ dm is taken from {used}: {text}"
    )
    if used == "Gr.m0":
        return xS
    out = xS.copy()
    for c, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        mean = 0.5 * (xS[a, b] + xS[b, a])
        out[a, b], out[b, a] = mean + 0.5 * of_Cr[c], mean - 0.5 * of_Cr[c]
    return out


def _least_eigenvalue(sid: Sid, inertia: FloatArray, coupling: FloatArray) -> float:
    """Least eigenvalue of M(q = 0), scaled to a unit diagonal.

    The coupling of rotations and shapes is ∫x × φ dm (3, n).
    """
    blocks = sid.blocks
    L = np.vstack([blocks["Ct"].m0.T, coupling])
    M = np.block(
        [[rigid_mass_matrix(sid.mass, blocks["mdCM"].m0[:, 0], inertia), L], [L.T, blocks["Me"].m0]]
    )
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    size[size == 0.0] = 1.0
    return float(np.linalg.eigvalsh(M / np.outer(size, size))[0])


def _inertia(block: TaylorSeries) -> FloatArray:
    """Inertia tensor from 6 × 1 (xx, yy, zz, xy, xz, yz), 3 × 3 or 3 × 1 (principal)."""
    if block.m0.shape == (3, 3):
        return np.asarray(0.5 * (block.m0 + block.m0.T))
    return np.diag(block.m0[:, 0]) if block.m0.shape == (3, 1) else inertia_tensor(block.m0[:, 0])


def _shape_products(sid: Sid, n: int, report: ImportReport) -> FloatArray:
    """Products SS from the first-order terms of Gr, otherwise from Oe and antisymmetric Cr."""
    m_ff = sid.blocks["Me"].m0
    Kr = _cross_products(sid, n, report)
    gyroscopic = sid.blocks["Gr"].m1
    if gyroscopic is not None:
        report.found("products of shapes from Gr.m1")
        SS = shape_products(gyroscopic, m_ff)
        report.agree(
            "Gr.m1 agrees with Cr.m1 and Ge",
            invariant_5(SS),
            Kr,
            PRINTED,
            float(np.abs(m_ff).max(initial=0.0)),
        )
        return SS
    Oe = sid.blocks["Oe"].m1 if "Oe" in sid.blocks else None
    if Oe is None:
        report.check(
            False,
            "no first-order terms of Gr and Oe: the products of shapes are assumed equal "
            "in x, y and z",
        )
        return shape_products_of(
            Kr,
            np.repeat((-2.0 / 3.0 * m_ff)[:, :, None], 6, axis=2) * np.r_[1, 1, 1, 0, 0, 0],
            m_ff,
        )
    omega = Oe.copy()
    return _nearest_gram_matrix(_from_centrifugal(omega, Kr, m_ff, report), m_ff, report)


def _from_centrifugal(
    omega: FloatArray, Kr: FloatArray, m_ff: FloatArray, report: ImportReport
) -> FloatArray:
    """Products of shapes from the centrifugal blocks of the file, with checks."""
    report.agree("Σ Oe.m1(xx, yy, zz) = −2 Me", omega[:, :, :3].sum(axis=2), -2.0 * m_ff, PRINTED)
    report.agree("Oe.m1 is symmetric in the modes", omega, omega.transpose(1, 0, 2), PRINTED)
    report.found("products of shapes from Oe.m1 and Cr.m1; the trace is that of Me")
    return shape_products_of(Kr, 0.5 * (omega + omega.transpose(1, 0, 2)), m_ff)


def _cross_products(sid: Sid, n: int, report: ImportReport) -> FloatArray:
    """Products Kr[c, i, j] from Cr.m1; reports the column order of Ge.

    The geometric part of Cr.m1 is symmetric.
    """
    first = sid.blocks["Cr"].m1
    Kr = np.zeros((3, n, n)) if first is None else first.transpose(2, 1, 0)
    Kr = 0.5 * (Kr - Kr.transpose(0, 2, 1))
    if "Ge" not in sid.blocks or n < 2:
        return np.asarray(Kr)
    Ge = sid.blocks["Ge"].m0
    by_mode = 0.5 * Ge.reshape(n, n, 3).transpose(2, 1, 0)
    by_axis = 0.5 * Ge.reshape(n, 3, n).transpose(1, 2, 0)
    errors = [float(np.abs(candidate - Kr).max()) for candidate in (by_mode, by_axis)]
    if errors[1] < 1e-3 * errors[0]:
        report.check(
            False,
            "the columns of Ge run by axis (c n + k) instead of by mode (3 k + c); Cr.m1 "
            "was used instead",
        )
    else:
        report.agree(
            "Ge = 2 · antisymmetric part of Cr.m1",
            by_mode,
            Kr,
            PRINTED,
            float(np.abs(sid.blocks["Me"].m0).max()),
        )
    return np.asarray(by_mode if first is None else Kr)


def _nearest_gram_matrix(SS: FloatArray, m_ff: FloatArray, report: ImportReport) -> FloatArray:
    """Products SS, or the nearest Gram matrix with ΣSS[a, a] = Me.

    Inconsistent files would give negative masses.
    """
    n = len(m_ff)
    gram = SS.transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
    values, vectors = scipy.linalg.eigh(gram)
    least = float(values.min(initial=0.0) / max(float(values.max(initial=0.0)), 1e-300))
    if least > -PRINTED:
        return SS
    report.check(
        False,
        f"products of shapes have a negative eigenvalue ({least:.2g}); the nearest "
        "admissible ones are used",
    )
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    clipped = clipped.reshape(3, n, 3, n).transpose(0, 2, 1, 3)
    scale = _factor(np.einsum("aaij->ij", clipped), m_ff)
    return np.asarray(np.einsum("ki,abkl,lj->abij", scale, clipped, scale))


def _factor(given: FloatArray, wanted: FloatArray) -> FloatArray:
    """Matrix T with Tᵀ A T = B for symmetric positive definite A and B."""
    lower, target = np.linalg.cholesky(given), np.linalg.cholesky(0.5 * (wanted + wanted.T))
    return np.asarray(np.linalg.solve(lower.T, target.T))
