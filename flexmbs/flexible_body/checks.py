"""Checks of a flexible body: identities that the integrals of any body satisfy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray, GeometricStiffness

if TYPE_CHECKING:
    from flexmbs.flexible_body.record import FlexibleBodyData

ROUND_OFF = 1e-9  # relative, allows for sums over many elements


class BodyCheck(NamedTuple):
    """Check: its statement, the relative residual and whether it passes."""

    name: str
    residual: float
    ok: bool

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'} {self.name}: {self.residual:.3g}"


class BodyChecks(list[BodyCheck]):
    """List of checks; prints one line each."""

    @property
    def ok(self) -> bool:
        """True if every check passes."""
        return all(check.ok for check in self)

    def __str__(self) -> str:
        return "\n".join(str(check) for check in self)


def checks(data: FlexibleBodyData) -> BodyChecks:
    """All checks that apply to ``data``.

    Source: Schwertassek and Wallrapp, Dynamik flexibler Mehrkörpersysteme, section 6.4, for the
    identities between the integrals.
    """
    found = BodyChecks(_inertial(data))
    if data.nf:
        found.extend(_elastic(data))
    if data.geometric is not None and data.nf:
        found.extend(_geometric(data.geometric))
    found.extend(_stated(data))
    return found


def without_motion(data: FlexibleBodyData) -> tuple[str, ...]:
    """Failed checks that preclude equations of motion: mass, Gram matrix, M(q = 0), K_ff."""
    found = [*_inertial(data), *(_definite(data) if data.nf else ())]
    return tuple(f"{check.name}: {check.residual:.3g}" for check in found if not check.ok)


def _inertial(data: FlexibleBodyData) -> list[BodyCheck]:
    """Checks of mass, second moment, SS and the Gram matrix of 1, x, φ."""
    J, scale = data.second_moment, max(np.trace(data.second_moment), np.finfo(float).tiny)
    central = J - np.outer(data.first_moment, data.first_moment) / data.mass if data.mass > 0 else J
    gram = _gram(data)
    pair = _pair_excess(data.SS)
    return [
        BodyCheck("mass is positive [kg]", data.mass, data.mass > 0),
        _small("second moment ∫x xᵀdm is symmetric", _asymmetry(J)),
        _small(
            "second moment about the centre of mass is not negative", -_smallest(central) / scale
        ),
        _small(
            "SS[b,a] = SS[a,b]ᵀ",
            _asymmetry(data.SS.transpose(0, 2, 1, 3).reshape(3 * data.nf, 3 * data.nf)),
        ),
        _small("|2∫φ_a φ_b dm| ≤ ∫φ_a² dm + ∫φ_b² dm", pair),
        _small(
            "integrals of 1, x and φ form a positive semidefinite Gram matrix",
            -_smallest(gram),
        ),
    ]


def _elastic(data: FlexibleBodyData) -> list[BodyCheck]:
    """Symmetry and positivity of K_ff, D_ff, m_ff.

    Shapes free of rigid-body motion; mode table; frames.
    """
    K, m, D = data.K_ff, data.m_ff, data.D_ff
    definite = _definite(data)
    independence = definite[1].residual
    found = [
        _small("K_ff is symmetric", _asymmetry(K)),
        definite[0],
        _small("D_ff is symmetric", _asymmetry(D)),
        _small(
            "D_ff dissipates", -_smallest(D) / max(float(np.abs(D).max()), np.finfo(float).tiny)
        ),
        definite[1],
    ]
    if independence > 0 and np.all(np.diag(m) > 0):
        from scipy.linalg import eigh  # import on demand: takes 0.1 s at every start

        omega2 = eigh(0.5 * (K + K.T), 0.5 * (m + m.T), eigvals_only=True)
        omega2_table = np.sort((2 * np.pi * data.modes.frequency) ** 2)
        error = np.max(
            np.abs(omega2_table - omega2) / np.maximum(np.abs(omega2), 1e-8 * np.abs(omega2).max())
        )
        found.append(
            BodyCheck("frequencies agree with (K_ff, m_ff)", float(error), bool(error < 1e-6))
        )
    return found


def _definite(data: FlexibleBodyData) -> list[BodyCheck]:
    """Checks of K_ff, and of the mass matrix of the undeformed body."""
    stiffness, independence = _smallest(_unit_diagonal(data.K_ff)), _rigid_independence(data)
    return [
        BodyCheck(
            "K_ff is positive definite (smallest scaled eigenvalue)", stiffness, stiffness > 1e-12
        ),
        BodyCheck(
            "shapes contain no rigid-body motion, M(q=0) positive definite",
            independence,
            independence > 1e-8,
        ),
    ]


def _geometric(geometric: GeometricStiffness) -> list[BodyCheck]:
    """Check the symmetry of every K0."""
    matrices = np.concatenate(
        [
            geometric.acceleration,
            geometric.angular_acceleration,
            geometric.rotation,
            *geometric.frames.values(),
        ]
    )
    size = np.maximum(np.abs(matrices).max(axis=(1, 2)), np.finfo(float).tiny)
    asymmetry = np.abs(matrices - matrices.transpose(0, 2, 1)).max(axis=(1, 2)) / size
    return [_small("K0 of every unit load is symmetric", float(asymmetry.max()))]


def _stated(data: FlexibleBodyData) -> list[BodyCheck]:
    """Checks of the frames and of the number of rigid-body modes in the provenance."""
    worst = max(
        (float(np.abs(f.R.T @ f.R - np.eye(3)).max()) for f in data.frames.values()), default=0.0
    )
    handed = all(np.linalg.det(f.R) > 0 for f in data.frames.values())
    found = [
        BodyCheck("frames have right-handed orthonormal axes", worst, worst < ROUND_OFF and handed)
    ]
    if "rigid_body_modes" in data.provenance:
        residual, count = (
            data.provenance.get("rigid_body_residual", 0.0),
            data.provenance["rigid_body_modes"],
        )
        found.append(
            BodyCheck(
                "K has exactly six rigid-body modes",
                float(residual),
                count == 6 and float(residual) < 1e-6,
            )
        )
    return found


def _small(name: str, residual: float) -> BodyCheck:
    """Check that a residual is below round-off."""
    residual = max(float(residual), 0.0) + 0.0  # no "-0"
    return BodyCheck(name, residual, residual < ROUND_OFF)


def _asymmetry(matrix: FloatArray) -> float:
    """Largest |A − Aᵀ| relative to the largest |A|."""
    return float(
        np.abs(matrix - matrix.T).max(initial=0.0)
        / max(np.abs(matrix).max(initial=0.0), np.finfo(float).tiny)
    )


def _smallest(matrix: FloatArray) -> float:
    """Smallest eigenvalue of the symmetric part of a matrix."""
    return float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0])


def _unit_diagonal(matrix: FloatArray) -> FloatArray:
    """Matrix scaled to unit diagonal; rows without a positive diagonal are unchanged."""
    diagonal = np.diag(matrix)
    scale = np.where(diagonal > 0, diagonal, 1.0) ** -0.5
    return np.asarray(scale[:, None] * matrix * scale)


def _gram(data: FlexibleBodyData) -> FloatArray:
    """Gram matrix ``∫w wᵀ dm`` of w = (1, x, φ), scaled to unit diagonal, (4+3nf, 4+3nf)."""
    nf = data.nf
    gram = np.zeros((4 + 3 * nf, 4 + 3 * nf))
    gram[0, 0], gram[0, 1:4], gram[1:4, 1:4] = data.mass, data.first_moment, data.second_moment
    gram[0, 4:] = data.S_bar.ravel()
    gram[1:4, 4:] = data.xS.reshape(3, 3 * nf)
    gram[4:, 4:] = data.SS.transpose(0, 2, 1, 3).reshape(3 * nf, 3 * nf)
    return _unit_diagonal(np.triu(gram) + np.triu(gram, 1).T)


def _pair_excess(SS: FloatArray) -> float:
    """Largest relative violation of ``|2 ∫φ_ak φ_bk dm| ≤ ∫φ_ak² dm + ∫φ_bk² dm`` over k."""
    diagonal = np.einsum("abkk->abk", SS)
    own = np.einsum("aak->ak", diagonal)
    excess = np.abs(2 * diagonal) - own[:, None] - own[None, :]
    return float(excess.max(initial=0.0) / max(np.abs(own).max(initial=0.0), np.finfo(float).tiny))


def _rigid_independence(data: FlexibleBodyData) -> float:
    """Smallest fraction of the mass of a shape that no rigid-body motion reproduces.

    Smallest eigenvalue of ``m_ff − Lᵀ M_rr⁺ L`` relative to m_ff, L = [S_bar; ∫x × φ dm]; 0 if a
    shape is a rigid-body motion.
    """
    c = data.first_moment
    skew = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    rigid = np.block([[data.mass * np.eye(3), -skew], [skew, data.inertia]])
    trace = float(np.trace(data.second_moment))
    length = np.sqrt(trace / data.mass) if trace > 0 and data.mass > 0 else 1.0
    scale = np.repeat([1.0, 1.0 / length], 3)
    L = scale[:, None] * np.vstack([data.S_bar, data.x_cross_S])
    rest = (
        data.m_ff
        - L.T @ np.linalg.pinv(scale[:, None] * rigid * scale, rcond=1e-12, hermitian=True) @ L
    )
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(data.m_ff))
        return float(np.linalg.eigvalsh(inverse @ (0.5 * (rest + rest.T)) @ inverse.T)[0])
    except np.linalg.LinAlgError:
        return -1.0
