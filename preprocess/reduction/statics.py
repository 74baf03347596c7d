"""Static response of a body with prescribed interface coordinates, from one factorization.

    K u = f + reactions,    u = T q on rigid interfaces,    G u = q on averaged interfaces.

Rigid interfaces are eliminated: K_ii is K with their nodes held. Without rigid interfaces, K_ii is K with springs at six
statically determinate degrees of freedom; these carry no force when the reactions Gᵀλ of the averaged interfaces balance the
loads, and a rigid-body motion R α satisfies their constraints:

    u = y + Y λ + R α,  y = K_ii⁻¹ f,  Y = K_ii⁻¹ Gᵀ,    [G Y, G R; (G R)ᵀ, 0] [λ; α] = [q − G y; −Rᵀ f].

Every other support follows from the constraint modes Ψ and the interface stiffness S = Ψᵀ K Ψ, which is small: with interface k
held and the coordinates o of the others free, ``u = A f + Ψ q,  S_oo q_o = Ψ_oᵀ f,  q_k = 0``, with A f the response with all
held; a free body under self-equilibrated loads may be held anywhere, since the reactions vanish.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.flexible_body.parts import FloatArray
from preprocess.fe.interfaces import BoundInterface
from preprocess.fe.model import FEModel
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.solve.factorize import factorize


class InterfaceStatics:
    """Static response of a body to loads and to interface coordinates, ordered six per interface as given.

    fe, interfaces: the body; size = 3N; coordinates = 6 × interfaces; free_count: degrees of freedom with the interfaces held,
    free_degrees_of_freedom: with none held.
    """

    def __init__(self, fe: FEModel, interfaces: Sequence[BoundInterface]) -> None:
        """Factorization of K with the rigid interfaces (or six supports) held. Raises InputError when K_ii is singular."""
        size = 3 * len(fe.nodes)
        self._T, driving = _driven(interfaces, size)
        self._G, averaging = _averages(interfaces, size)
        self._driving, self._averaging = driving, averaging
        self._R = np.zeros((size, 0)) if driving.size else rigid_motion(fe.nodes - fe.nodes.mean(axis=0)).reshape(size, 6)
        held = np.concatenate([np.zeros(0, np.int64), *(b.nodes for b in interfaces if b.drives_nodes)])
        nodes = np.setdiff1d(np.arange(len(fe.nodes)), held)
        if not nodes.size:
            raise InputError("interfaces: they hold every node; leave part of the body deformable")
        self._KT = (fe.K @ self._T).tocsr()
        K = fe.K if driving.size else fe.K + _springs(fe, self._R)
        self._factor = factorize(K, nodes=nodes, coordinates=fe.nodes, node_ids=fe.node_ids)
        self.fe, self.interfaces = fe, tuple(interfaces)
        self.size, self.coordinates = size, 6 * len(interfaces)
        self.free_count = 3 * len(nodes) - len(averaging)
        self.free_degrees_of_freedom = 3 * len(nodes) + len(driving)
        self._releases: dict[int, tuple[FloatArray, bool]] = {}
        self._Y = self._restrained(np.asarray(self._G.T.toarray()))
        self._border = _BorderedSystem(self._G @ self._Y, self._G @ self._R)

    def response(self, loads: FloatArray) -> FloatArray:
        """Displacements (3N, k) under nodal loads (3N, k) with every interface coordinate held at zero."""
        return self._closed(loads, np.zeros((len(self._averaging), loads.shape[1])))

    def constraint_modes(self) -> FloatArray:
        """Displacements Ψ (3N, 6 × interfaces) for each interface coordinate at one and all others at zero."""
        return self._Psi

    @functools.cached_property
    def _Psi(self) -> FloatArray:
        q = np.eye(self.coordinates)
        driven = self._T @ q[self._driving]
        Psi = np.asarray(driven + self._closed(-(self._KT @ q[self._driving]), q[self._averaging]))
        Psi.flags.writeable = False
        return Psi

    @functools.cached_property
    def interface_stiffness(self) -> FloatArray:
        """S = Ψᵀ K Ψ, the stiffness of the interface coordinates, (6 × interfaces, 6 × interfaces), of rank six less."""
        S = self._Psi.T @ self.fe.stiffness_product(self._Psi)
        return np.asarray(0.5 * (S + S.T))

    def interface_compliance(self, held: int) -> FloatArray:
        """Displacements of the interface coordinates under their unit loads, interface ``held`` held: ``S_oo⁻¹``, zero
        elsewhere."""
        others = self._others(held)
        result = np.zeros((self.coordinates, self.coordinates))
        if others.size:
            result[np.ix_(others, others)] = scipy.linalg.cho_solve(self._released(held), np.eye(others.size))
        return result

    def admissible(self, shapes: FloatArray) -> FloatArray:
        """Shapes (3N, n) with the nodes of rigid interfaces projected onto the nearest rigid motion."""
        result = np.array(shapes)
        for interface in self.interfaces:
            if interface.drives_nodes:
                rows = _dofs(interface.nodes)
                result[rows] = interface.rigid_motion.reshape(-1, 6) @ (interface.average @ shapes[rows])
        return result

    @functools.cached_property
    def interface_loads(self) -> FloatArray:
        """Nodal loads L (3N, 6 × interfaces) equivalent to unit force x y z and unit moment x y z at each interface, mesh axes.

        ``Lᵀ u = q``: they also give the interface coordinates of admissible displacements.
        """
        L = np.zeros((self.size, self.coordinates))
        for k, interface in enumerate(self.interfaces):
            L[_dofs(interface.nodes), 6 * k : 6 * k + 6] = interface.average.T
        return L

    @functools.cached_property
    def rigid_modes(self) -> FloatArray:
        """Rigid-body modes R (3N, 6) with Rᵀ M R = 1."""
        R = rigid_motion(self.fe.nodes - self.fe.centre_of_mass).reshape(self.size, 6)
        L = np.linalg.cholesky(R.T @ self.fe.mass_product(R))
        return np.asarray(scipy.linalg.solve_triangular(L, R.T, lower=True).T)

    def held_response(self, loads: FloatArray, k: int) -> FloatArray:
        """Displacements (3N, c) under nodal loads (3N, c) with interface ``k`` held and all others free to move."""
        return self.released(self.response(loads), loads, k)

    def released(self, u: FloatArray, loads: FloatArray, k: int) -> FloatArray:
        """Displacements (3N, c) with interface ``k`` held from those u (3N, c) with all of them held, under the same loads."""
        others = self._others(k)
        if not others.size:
            return np.array(u)
        Psi = self._Psi[:, others]
        return np.asarray(u + Psi @ scipy.linalg.cho_solve(self._released(k), Psi.T @ loads))

    def free_response(self, loads: FloatArray) -> FloatArray:
        """Elastic displacements (3N, c) of the free body under nodal loads (3N, c), ``a = Pᵀ K_c⁻¹ P f``, P = 1 − M R Rᵀ.

        The inertia forces of the rigid-body acceleration balance the loads (inertia relief), K_c is held at one interface, and
        the result has no rigid-body part: Rᵀ M a = 0.
        Source: Craig and Kurdila, Fundamentals of Structural Dynamics (2006), section 17.3.
        """
        R, MR = self.rigid_modes, self._MR
        u = self.held_response(loads - MR @ (R.T @ loads), 0)
        return np.asarray(u - R @ (MR.T @ u))

    @functools.cached_property
    def _MR(self) -> FloatArray:
        return self.fe.mass_product(self.rigid_modes)

    def _others(self, k: int) -> np.ndarray:
        return np.delete(np.arange(self.coordinates), slice(6 * k, 6 * k + 6))

    def _released(self, k: int) -> tuple[FloatArray, bool]:
        """Cholesky factor of S without the rows and columns of interface k."""
        others = self._others(k)
        if k not in self._releases:
            S = self.interface_stiffness[np.ix_(others, others)]
            try:
                self._releases[k] = scipy.linalg.cho_factor(S, lower=True)
            except np.linalg.LinAlgError:
                name = self.interfaces[k].name
                raise InputError(f"stiffness: with interface {name} held, others move freely; connect the parts") from None
        return self._releases[k]

    def _closed(self, loads: FloatArray, q: FloatArray) -> FloatArray:
        """Response with averaged coordinates at q and rigid ones at zero."""
        y = self._restrained(loads)
        if not len(self._averaging):
            return y
        reaction, rigid = self._border.solve(q - self._G @ y, -self._R.T @ loads)
        return np.asarray(y + self._Y @ reaction + self._R @ rigid)

    def _restrained(self, loads: FloatArray) -> FloatArray:
        return self._factor.solve(loads) if loads.shape[1] else np.zeros(loads.shape)


class _BorderedSystem:
    """Small symmetric system [H, E; Eᵀ, 0] with H and E scaled to order one."""

    def __init__(self, H: FloatArray, E: FloatArray) -> None:
        self._n = len(H)
        self._scale = 1.0 / np.sqrt(np.abs(np.diag(H))) if self._n else np.ones(0)
        rows = self._scale[:, None] * E
        self._columns = 1.0 / np.linalg.norm(rows, axis=0) if E.size else np.ones(E.shape[1])
        E_ = rows * self._columns
        border = np.zeros((E.shape[1], E.shape[1]))
        matrix = np.block([[self._scale[:, None] * H * self._scale, E_], [E_.T, border]])
        if self._n and not np.linalg.cond(matrix) < 1e13:
            raise InputError("interfaces: the averaged interfaces are not independent; use different nodes for each")
        self._factor = scipy.linalg.lu_factor(matrix) if self._n else None

    def solve(self, top: FloatArray, bottom: FloatArray) -> tuple[FloatArray, FloatArray]:
        right = np.vstack([self._scale[:, None] * top, self._columns[:, None] * bottom])
        x = scipy.linalg.lu_solve(self._factor, right)
        return self._scale[:, None] * x[: self._n], self._columns[:, None] * x[self._n :]


def _coordinates(interfaces: Sequence[BoundInterface], drives_nodes: bool) -> np.ndarray:
    chosen = [k for k, interface in enumerate(interfaces) if interface.drives_nodes == drives_nodes]
    return (6 * np.array(chosen, dtype=np.int64)[:, None] + np.arange(6)).ravel()


def _dofs(nodes: np.ndarray) -> np.ndarray:
    return (3 * nodes[:, None] + np.arange(3)).ravel()


def _driven(interfaces: Sequence[BoundInterface], size: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Motion T of all nodes by the rigid interfaces' coordinates, (3N, 6r), and the indices of these coordinates."""
    driving = [interface for interface in interfaces if interface.drives_nodes]
    return _columns(driving, [each.rigid_motion.reshape(-1, 6) for each in driving], size), _coordinates(interfaces, True)


def _averages(interfaces: Sequence[BoundInterface], size: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Averages G of the nodes' motion, (6a, 3N), and the indices of these coordinates."""
    averaging = [interface for interface in interfaces if not interface.drives_nodes]
    G = _columns(averaging, [each.average.T for each in averaging], size).T.tocsr()
    return G, _coordinates(interfaces, False)


def _columns(interfaces: Sequence[BoundInterface], values: Sequence[FloatArray], size: int) -> sp.csr_matrix:
    """Six columns (size, 6 × interfaces) for each interface, from their values at its nodes (3n, 6)."""
    rows = [np.repeat(_dofs(each.nodes), 6) for each in interfaces]
    columns = [np.tile(6 * k + np.arange(6), 3 * len(each.nodes)) for k, each in enumerate(interfaces)]
    if not interfaces:
        return sp.csr_matrix((size, 0))
    entries = np.concatenate([value.ravel() for value in values])
    return sp.csr_matrix((entries, (np.concatenate(rows), np.concatenate(columns))), shape=(size, 6 * len(interfaces)))


def _springs(fe: FEModel, R: FloatArray) -> sp.csr_matrix:
    """Springs at six degrees of freedom, of the body's diagonal stiffness."""
    diagonal = np.zeros(R.shape[0])
    held = _supports(fe.nodes, R)
    diagonal[held] = fe.K.diagonal()[held]
    return sp.diags(diagonal, format="csr")


def _supports(nodes: FloatArray, R: FloatArray) -> np.ndarray:
    """Six degrees of freedom at three distant nodes that hold the body without straining it."""
    centre = nodes.mean(axis=0)
    first = int(np.argmax(np.linalg.norm(nodes - centre, axis=1)))
    second = int(np.argmax(np.linalg.norm(nodes - nodes[first], axis=1)))
    line = (nodes[second] - nodes[first]) / np.linalg.norm(nodes[second] - nodes[first])
    arm = nodes - nodes[first]
    third = int(np.argmax(np.linalg.norm(arm - np.outer(arm @ line, line), axis=1)))
    dofs = _dofs(np.array([first, second, third]))
    scaled = R[dofs] / np.linalg.norm(R[dofs], axis=0)
    pivots = scipy.linalg.qr(scaled.T, pivoting=True)[2]
    return np.sort(dofs[pivots[:6]])
