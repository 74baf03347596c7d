"""The open chain of the tree and the closing of its loops as matrices.

Over the velocities of all bodies:

    M ẏ = f^c + f^t + Bᵀ f^p + G^sᵀ λ,   B ẏ = C η̇ + ā_rel,   Cᵀ f^p = 0,   G^s ẏ = γ^s,   y_i = (V_i, q̇_f,i),

with B y = C η and G^s y + γ̄^s = 0 on velocities. M, the forces and G^s are those of the equations
in absolute coordinates, B and C those of the recursion. Theory: docs/theory.md, sections 18, 19 and
21.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flexmbs.dynamics.articulated_work import (
    CARRIER,
    COLUMNS,
    L_CARRIER,
    L_OWN,
    L_PARENT,
    OWN,
    POSE,
    Articulated,
)
from flexmbs.dynamics.dense import elastic_velocities
from flexmbs.results.block_system import BlockSystem
from flexmbs.results.state import State
from flexmbs.studies.states.jacobians import body_jacobian
from flexmbs.studies.terms.body_terms import BodyTerms
from flexmbs.studies.terms.free_bodies import FreeBodies, bias_rates
from flexmbs.system.records import rows_of


class Driven(NamedTuple):
    """A drive on a joint of the tree: row of G_s, column of C and of J, ḟ and f̈ of its motion."""

    row: int
    column: int
    velocity: int
    rate: float
    second: float


@dataclass(frozen=True, eq=False)
class OpenChain:
    """Matrices of the open chain for the velocities y = (V_i, q̇_f,i) of all bodies.

    M (ny, ny), block-diagonal except for rotors, f_c and f_t (ny,), B (6 nb, ny), C (6 nb, nη),
    a_rel (6 nb,), J (ny, ns), a_bar (ny,), G_s (nc, ny), gamma_bar_s and gamma_s (nc,).

    f_c: quadratic velocity forces of the bodies; f_t: weight, elastic and applied forces.  J: y = J
    s; a_bar: ẏ = J ṡ + ā. G_s: rows of cut joints, drives and user rows, in the order of the
    constraints in joint coordinates.  v_rel (6 nb,) and v_bar (ny,): B y = C η + v̄_rel, y = J s +
    v̄, zero but of `rheonomic`.  driven: row of G_s, column of C and of J, ḟ and f̈ of each drive
    on a joint of the tree.
    """

    bodies: tuple[BodyTerms, ...]
    M: np.ndarray
    f_c: np.ndarray
    f_t: np.ndarray
    B: np.ndarray
    C: np.ndarray
    a_rel: np.ndarray
    J: np.ndarray
    a_bar: np.ndarray
    G_s: np.ndarray
    gamma_bar_s: np.ndarray
    gamma_s: np.ndarray
    v_rel: np.ndarray
    v_bar: np.ndarray
    driven: tuple[Driven, ...] = ()

    @property
    def rheonomic(self) -> "OpenChain":
        """Copy of the chain whose tree joint drives are functions of time, β = f(t).

        Their columns of C and J become the parts C ḟ of v̄_rel and C f̈ of ā_rel, and they have no
        rows of G_s. Theory, section 18.
        """
        rows, columns = (np.array([d[k] for d in self.driven], np.int64) for k in (0, 1))
        velocities = np.array([d.velocity for d in self.driven], np.int64)
        rate, second = (
            np.array([d.rate for d in self.driven]),
            np.array([d.second for d in self.driven]),
        )
        u, J = self.C[:, columns], self.J[:, velocities]
        return replace(
            self,
            C=np.delete(self.C, columns, axis=1),
            J=np.delete(self.J, velocities, axis=1),
            v_rel=u @ rate,
            v_bar=J @ rate,
            a_rel=self.a_rel + u @ second,
            a_bar=self.a_bar + J @ second,
            G_s=np.delete(self.G_s, rows, axis=0),
            gamma_bar_s=np.delete(self.gamma_bar_s, rows),
            gamma_s=np.delete(self.gamma_s, rows),
            driven=(),
        )

    @property
    def system(self) -> BlockSystem:
        """Block equations of the open chain for display.

        [[M, −Bᵀ, 0, −G^sᵀ], [−B, 0, C, 0], [0, Cᵀ, 0, 0], [−G^s, 0, 0, 0]] (ẏ, f^p, η̇, λ) = (f^c +
        f^t, −ā_rel, 0, −γ^s).
        """
        (nw, ny), nv, nc = self.B.shape, self.C.shape[1], len(self.G_s)
        z = np.zeros
        matrix = np.block([
            [self.M, -self.B.T, z((ny, nv)), -self.G_s.T],
            [-self.B, z((nw, nw)), self.C, z((nw, nc))],
            [z((nv, ny)), self.C.T, z((nv, nv + nc))],
            [-self.G_s, z((nc, nw + nv + nc))],
        ])  # fmt: skip
        right = np.concatenate([self.f_c + self.f_t, -self.a_rel, z(nv), -self.gamma_s])
        equations = (
            ("momentum", ny),
            ("primary joints", nw),
            ("free directions", nv),
            ("closed loops", nc),
        )
        unknowns = (("ẏ", ny), ("f^p", nw), ("η̇", nv), ("λ", nc))
        return BlockSystem(
            "bodies, primary joints and closed loops", equations, unknowns, matrix, right
        )


def open_chain(state: State, art: Articulated) -> OpenChain:
    """Open chain at a ``state`` in joint coordinates; ``art``: recursion factors there."""
    B, C = _joints(state, art)
    free, system = FreeBodies(state), state.compiled.system
    at = [6 * i + int(system.tree.nf[:i].sum()) for i in range(len(system.tree.nf))]
    J, a_bar = np.zeros((B.shape[1], len(state.s))), np.zeros(B.shape[1])
    rates, known, forces, bodies = bias_rates(state), free.terms, free.forces, []
    alone = FreeBodies(state, rotors=False) if state.compiled.model.rotors else free
    for i, (name, first) in enumerate(zip(state.compiled.bodies, at)):
        n, to = int(system.tree.nf[i]), int(system.tree.sf_at[i])
        own, twist = slice(first, first + 6 + n), slice(first, first + 6)
        J[twist], a_bar[twist] = body_jacobian(state, name), rates[i]
        J[first + 6 : first + 6 + n, to : to + n] = np.eye(n)
        K, D = system.bodies.k_ff[i, :n, :n], system.bodies.d_ff[i, :n, :n]
        bodies.append(
            BodyTerms(
                name,
                alone.terms.M[own, own],
                alone.forces.Q_v[own],
                alone.forces.applied[own],
                K,
                D,
            )
        )
    gamma_bar = known.gd - known.G @ (J @ state.s)
    nothing = np.zeros(len(B)), np.zeros(B.shape[1])
    return OpenChain(
        tuple(bodies),
        known.M,
        forces.Q_v,
        forces.applied,
        B,
        C,
        B @ a_bar,
        J,
        a_bar,
        known.G,
        gamma_bar,
        known.gamma,
        *nothing,
        _driven(state),
    )


def _driven(state: State) -> tuple[Driven, ...]:
    """Drives on joints of the tree."""
    compiled, found = state.compiled, []
    elastic, motions = (
        elastic_velocities(compiled.system),
        [drive.motion for drive in compiled.model.drives.values()],
    )
    for row in rows_of(compiled.system.drives):
        if row.body >= 0:
            velocity = int(compiled.system.tree.s_at[row.body] + row.v)
            _, rate, second = motions[row.drive].state(state.t)
            found.append(
                Driven(
                    int(row.row), velocity - int((elastic < velocity).sum()), velocity, rate, second
                )
            )
    return tuple(found)


def _joints(state: State, art: Articulated) -> tuple[np.ndarray, np.ndarray]:
    """Matrices B (6 nb, ny) and C (6 nb, nη) of the recursion.

    V_i − Ad(X_pi⁻¹) (V_p + Ψ_i q̇_f,p) + Φ̄_i q̇_f,i = C_i η_i.
    """
    tree, ns = state.compiled.system.tree, len(state.s)
    at = 6 * np.arange(len(tree.nf)) + np.concatenate([[0], np.cumsum(tree.nf)[:-1]]).astype(int)
    B, C = np.zeros((6 * len(at), int(6 * len(at) + tree.nf.sum()))), np.zeros((6 * len(at), ns))
    for i, (link, body) in enumerate(zip(art.link, art.body)):
        own, n, p = slice(6 * i, 6 * i + 6), int(tree.nf[i]), int(link[L_PARENT])
        B[own, at[i] : at[i] + 6] = np.eye(6)
        nv, to = int(tree.nv[i]), int(tree.s_at[i])
        C[own, to : to + nv] = body[COLUMNS : COLUMNS + 6 * nv].reshape(nv, 6).T
        if link[L_OWN] == 1:
            B[own, at[i] + 6 : at[i] + 6 + n] = art.modes[i, OWN : OWN + 6, :n]
        if p >= 0:
            X = _carried(body[POSE : POSE + 9].reshape(3, 3), body[POSE + 9 : POSE + 12])
            B[own, at[p] : at[p] + 6] = -X
            if link[L_CARRIER] == 1:
                m = int(tree.nf[p])
                B[own, at[p] + 6 : at[p] + 6 + m] = -X @ art.modes[i, CARRIER : CARRIER + 6, :m]
    return B, np.delete(C, elastic_velocities(state.compiled.system), axis=1)


def _carried(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Transformation Ad(X⁻¹) (6, 6) of twists."""
    tilde = np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
    return np.block([[R.T, -R.T @ tilde], [np.zeros((3, 3)), R.T]])
