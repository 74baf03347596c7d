"""Geometric stiffness of shells.

Work of the stresses on second-order strains and of the forces on the directors.

With the directors R_a n_a, R = exp(θ̃), a point and the covariant strain are

    x = Σ N_a (x_a + u_a + z_a R_a n_a),    2 E_ij = x,i · x,j − X,i · X,j

and to second order, with e_ij linear,

    E_ij = e_ij(u, θ) + ½ u,i · u,j + e_ij of ½ θ_a × (θ_a × n_a) in place of the directors' θ_a ×
    n_a.

Assumed strains, those of the directors included, are interpolated between tying points, at which
they are those of the displacements. With u,i = ϑ × g_i + v,i and ϑ the mean rotation of the
element, ½ v,i · v,j is that at the quadrature points, the rest that of the assumed strains:
superposed rigid rotations are exact, and flat elements are as accurate as without tying. The
rotation about the directors has the invariants of `_drilling_work`.

Source: Bathe, Finite Element Procedures, section 6.5 (continuum-based shells); Dvorkin and Bathe,
Eng. Comput. 1 (1984) 77.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.flexible_body.free_body import skew
from preprocess.fe.rotation_work import arms_of, turning_work
from preprocess.fe.shell_schemes import tying
from preprocess.fe.structural_element import Array, quadratic_form

if TYPE_CHECKING:
    from preprocess.fe.shell_sections import Layer
    from preprocess.fe.shells import ShellKinematics, Shells

# components of strains by pairs of directions
IN_PLANE, ACROSS = ((0, 0), (1, 1), (0, 1)), ((0, 2), (1, 2))
# places of components 11, 22, 12, 13, 23, 33 in a matrix
SYMMETRIC = np.array([[0, 2, 3], [2, 1, 4], [3, 4, 5]])


def second_order_work(shells: Shells, u: Array, phi: Array, forces: Array | None) -> Array:
    """Geometric stiffness K0 (k, m, m) under u (ne, n, k) for shapes φ (ne, n, m).

    With forces (ne, p, 3, k) on the mass points.
    """
    work, across = _SecondOrderWork(shells, phi, u.shape[2]), _Stresses()
    for layer in shells.layers:
        z, plane = shells.heights_at(layer.zeta), _Stresses()
        for (r, s), S in _contravariant_stress(shells, layer, u).items():
            work.add_strained(r, s, z, S)
            plane.add(tying(shells.scheme.plane, r, s, 3), S, IN_PLANE)
            across.add(tying(shells.scheme.across, r, s, 2), S, ACROSS)
        work.add_turned(plane, z)
    work.add_turned(across, np.zeros_like(z))  # whose strains are those on the surface of the nodes
    return work.total(forces) + _drilling_work(shells, u, work)


class _Stresses(dict[tuple[float, float], Array]):
    """Contravariant stresses S (ne, 3, 3, k) times weights at points r, s.

    Σ S_ij e_ij is the work on covariant strains e there.
    """

    def add(
        self, tied: dict[tuple[float, float], Array], S: Array, pairs: tuple[tuple[int, int], ...]
    ) -> None:
        """Add S at a point whose strains are interpolated from tying points by factors.

        Components as ``pairs``.
        """
        for place, factors in tied.items():
            part = np.zeros_like(S)
            for row, (i, j) in zip(factors.T, pairs):
                part[:, i, j] = part[:, j, i] = sum(f * S[:, p, q] for f, (p, q) in zip(row, pairs))
            self[place] = self[place] + part if place in self else part


def _contravariant_stress(shells: Shells, layer: Layer, u: Array) -> _Stresses:
    """Contravariant stress times weights at the quadrature points, under u (ne, n, k)."""
    z, found = shells.heights_at(layer.zeta), _Stresses()
    for (r, s), weight in zip(shells.scheme.points, shells.scheme.weights):
        B, axes, det = shells.whole_strain(r, s, z)
        stress = np.zeros((len(B), 6, u.shape[2]))  # with that normal to the shell, which is zero
        weights = (det * weight * layer.weight)[:, None, None]
        stress[:, :5] = (shells.plane_stress(axes, layer) @ (B[:, :5] @ u)) * weights
        to_local = axes @ np.linalg.inv(shells.kinematics(r, s, z).g)
        found[r, s] = np.einsum(
            "eai,ebj,eabk->eijk", to_local, to_local, stress[:, SYMMETRIC], optimize=True
        )
    return found


class _SecondOrderWork:
    """Sum of the work over the points of stresses, for shapes φ (ne, n, m)."""

    def __init__(self, shells: Shells, phi: Array, cases: int) -> None:
        """Second-order work of shells for shapes ``phi`` and a number of load cases."""
        self._of, self.phi = shells, phi
        self.inner = shells.elimination[1][:, : 6 * shells.scheme.inner]
        whole = np.concatenate([phi, self.inner @ phi], axis=1)
        # of the nodes, the inner one too
        self.theta = whole.reshape(len(phi), -1, 6, phi.shape[2])[:, :, 3:]
        self._mean = self.theta[:, : shells.x.shape[1]].mean(axis=1)
        self._K = np.zeros((cases, phi.shape[2], phi.shape[2]))
        # conjugate to changes of the directors
        self._pull = np.zeros((*shells.directors.shape, cases))

    def gradients(self, at: ShellKinematics) -> Array:
        """Derivatives u,i (ne, 3, 3, m), [i, component]."""
        n = self.phi.shape[1]
        return np.asarray(
            (at.du[..., :n] + at.du[..., n:] @ self.inner[:, None]) @ self.phi[:, None]
        )

    def add_strained(self, r: float, s: float, z: Array, S: Array) -> None:
        """Add the work on ½ v,i · v,j at a quadrature point at heights z."""
        at = self._of.kinematics(r, s, z)
        v = self.gradients(at) + skew(at.g) @ self._mean[:, None]
        self._add(S, v, v)

    def add_turned(self, stress: _Stresses, z: Array) -> None:
        """Add the remaining work, at tying points at heights z."""
        for (r, s), S in stress.items():
            at, (N, dN) = self._of.kinematics(r, s, z), self._of.scheme.functions(r, s)
            turn = -skew(at.g) @ self._mean[:, None]
            self._add(S, turn, 2.0 * self.gradients(at) - turn)
            along = np.stack([z * dN[0], z * dN[1], 0.5 * self._of.thickness * N], axis=1)
            self._pull += np.einsum("eia,eijk,ejc->eack", along, S, at.g, optimize=True)

    def _add(self, S: Array, a: Array, b: Array) -> None:
        """Add the quadratic form of stresses S and displacement gradients a, b."""
        for i, j in (*IN_PLANE, *ACROSS):
            for c in range(3) if S[:, i, j].any() else ():
                self._K += quadratic_form(S[:, i, j], a[:, i, c], b[:, j, c])
                if i != j:
                    self._K += quadratic_form(S[:, j, i], a[:, j, c], b[:, i, c])

    def total(self, forces: Array | None) -> Array:
        """Total work, with the second-order part of the directors.

        Less the work of forces on mass points, which rotate with the directors.
        """
        dyads = np.einsum("eai,eajk->eakij", self._of.directors, self._pull)
        ne, nn = self._of.x.shape[:2]
        if forces is not None:
            motion = self._of.mass_points()[0].motion.reshape(ne, -1, 3, nn, 6)[..., 3:]
            dyads[:, :nn] -= np.einsum(
                "epai,epjk->eakij", arms_of(np.moveaxis(motion, 2, 3)), forces
            )
        theta = self.theta
        # n₉ turns by all of the rotation in the centre, of which θ₉ is what the nodes lack
        if self._of.scheme.inner:
            N = self._of.scheme.functions(*self._of.scheme.nodes[:4].mean(axis=0))[0][:nn]
            outer = np.einsum("a,eacm->ecm", N, theta[:, :nn])
            theta = np.concatenate(
                [theta[:, :nn], (outer + theta[:, nn])[:, None], outer[:, None]], axis=1
            )
            dyads = np.concatenate([dyads, -dyads[:, nn:]], axis=1)
        return self._K + turning_work(
            *(each.reshape(-1, *each.shape[2:]) for each in (theta, dyads))
        )


class _Drilling(NamedTuple):
    """Rotation about a director.

    Position, θ (ne, 3, m) in mesh axes, director (ne, 3), and the stress (ne, k) times weights.
    """

    at: ShellKinematics
    theta: Array
    director: Array
    stress: Array


def _drilling_work(shells: Shells, u: Array, work: _SecondOrderWork) -> Array:
    """Work (k, m, m) of the stress of (θ − ω)·d under u (ne, n, k) on its second-order part.

    With t_a = exp(θ̃) e_a of the local axes these invariants are (θ − ω)·e_a to first order (Hughes
    and Brezzi 1989):

        −t₃·x,₂,    t₃·x,₁,    ½ (t₁·x,₂ − t₂·x,₁)
    """
    m = work.phi.shape[2]
    K = np.zeros((u.shape[2], m, m))
    for at, theta, director, stress in (_corners if shells.kind == "tri3" else _points)(
        shells, u, work
    ):
        axes = shells.axes_at(at)
        t = np.moveaxis(axes @ theta, 1, 0)
        to_local = (axes @ np.linalg.inv(at.g))[:, :2, :2]
        du = np.einsum(
            "eai,ebc,eicm->abem", to_local, axes, work.gradients(at)[:, :2], optimize=True
        )
        d = np.einsum("eac,ec->ae", axes, director)[..., None]
        for a, products in (
            (0, ((-2, t[1], du[1, 0]), (2, t[0], du[1, 1]), (-1, t[1], t[2]))),
            (1, ((2, t[1], du[0, 0]), (-2, t[0], du[0, 1]), (1, t[0], t[2]))),
            (
                2,
                (
                    (1, t[2], du[1, 1]),
                    (-1, t[1], du[1, 2]),
                    (1, t[2], du[0, 0]),
                    (-1, t[0], du[0, 2]),
                ),
            ),
        ):
            for factor, first, second in products:
                K += quadratic_form(factor * d[a] * stress, first, second)
    return K


def _points(shells: Shells, u: Array, work: _SecondOrderWork) -> Iterator[_Drilling]:
    """Points of the surface at the quadrature points."""
    for (r, s), weight in zip(shells.scheme.points, shells.scheme.weights):
        at, stress = shells.kinematics(r, s), np.zeros((len(u), u.shape[2]))
        for layer in shells.layers:
            B, axes, det = shells.whole_strain(r, s, shells.heights_at(layer.zeta))
            moduli = shells.moduli(axes, layer)[:, 5:, 5] * (det * weight * layer.weight)[:, None]
            stress += moduli * (B[:, 5:] @ u)[:, 0]
        N = shells.scheme.functions(r, s)[0]
        yield _Drilling(at, np.einsum("a,eacm->ecm", N, work.theta), at.director, stress)


def _corners(shells: Shells, u: Array, work: _SecondOrderWork) -> Iterator[_Drilling]:
    """Drilling rotations of the corners of tri3, each with its stress."""
    stress = np.zeros((len(u), 3, u.shape[2]))
    for (r, s), weight in zip(shells.scheme.points, shells.scheme.weights):
        for layer in shells.layers:
            B, axes, det = shells.whole_strain(r, s, shells.heights_at(layer.zeta))
            membrane = (shells.plane_stress(axes, layer) @ (B[:, :5] @ u))[:, :3] * (
                det * weight * layer.weight
            )[:, None, None]
            stress += np.swapaxes(shells.corner_factors(r, s), 1, 2) @ membrane
    at = shells.kinematics(1 / 3, 1 / 3)
    for a in range(3):
        yield _Drilling(at, work.theta[:, a], shells.directors[:, a], stress[:, a])
