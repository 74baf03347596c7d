"""Terms of one body.

Its mass matrix by blocks T, R, f, its quadratic velocity vector, its modal matrices.

    𝓜 = [[m_TT, m_TR, m_Tf], [m_TRᵀ, m_RR, m_Rf], [m_Tfᵀ, m_Rfᵀ, m_ff]]   in y = (v, ω, q̇_f), body axes.

Theory: docs/theory.md, sections 5 to 7; Shabana, Dynamics of Multibody Systems (2020), chapter 5.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class BodyTerms:
    """𝓜 (6 + nf, 6 + nf), Q_v and Q_t (6 + nf,), K_ff and D_ff (nf, nf) of a body.

    In the velocities y = (v, ω, q̇_f) of the body frame, in its axes: 𝓜 ẏ = Q_v + Q_t and the
    forces of constraints. Q_t holds weight, elastic and applied forces, Q_v also −m ω × v of the
    rotating axes. D_ff of a piece of a divided body is its own, without the damping of all pieces
    together, which Q_t has.
    """

    name: str
    M: np.ndarray
    Q_v: np.ndarray
    Q_t: np.ndarray
    K_ff: np.ndarray
    D_ff: np.ndarray

    @property
    def m_TT(self) -> np.ndarray:
        """(3, 3) m 1"""
        return self.M[:3, :3]

    @property
    def m_TR(self) -> np.ndarray:
        """(3, 3) −c̃, c the first moment of mass"""
        return self.M[:3, 3:6]

    @property
    def m_Tf(self) -> np.ndarray:
        """(3, nf) ∫φ dm"""
        return self.M[:3, 6:]

    @property
    def m_RR(self) -> np.ndarray:
        """(3, 3) Θ, moments of inertia of the deformed body"""
        return self.M[3:6, 3:6]

    @property
    def m_Rf(self) -> np.ndarray:
        """(3, nf) ∫ũ φ dm"""
        return self.M[3:6, 6:]

    @property
    def m_ff(self) -> np.ndarray:
        """(nf, nf) ∫φᵀφ dm"""
        return self.M[6:, 6:]

    @property
    def Q_v_T(self) -> np.ndarray:
        """(3,) force of the quadratic velocity vector, N"""
        return self.Q_v[:3]

    @property
    def Q_v_R(self) -> np.ndarray:
        """(3,) its moment about the origin of the body frame, N m"""
        return self.Q_v[3:6]

    @property
    def Q_v_f(self) -> np.ndarray:
        """(nf,) its modal forces"""
        return self.Q_v[6:]

    def __str__(self) -> str:
        nf = len(self.K_ff)
        return (
            f"body '{self.name}': mass {self.M[0, 0]:.6g} kg, {nf} modes, |Q_v| = "
            f"{np.linalg.norm(self.Q_v):.4g}"
        )
