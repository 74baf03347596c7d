"""Static response of a body with prescribed interface coordinates, from one factorization.

    K u = f + reactions,    u = T q on rigid interfaces,    G u = q on averaged interfaces.

Rigid interfaces are eliminated: K_ii is K with their nodes held. Without rigid interfaces, K_ii is
K with springs at six statically determinate degrees of freedom; these carry no force when the
reactions Gᵀλ of the averaged interfaces balance the loads, and a rigid-body motion R α satisfies
their constraints:

    u = y + Y λ + R α,  y = K_ii⁻¹ f,  Y = K_ii⁻¹ Gᵀ,    [G Y, G R; (G R)ᵀ, 0] [λ; α] = [q − G y; −Rᵀ f].

Every other support follows from the constraint modes Ψ and the interface stiffness S = Ψᵀ K Ψ,
which is small: with interface k held and the coordinates o of the others free, ``u = A f + Ψ q,
S_oo q_o = Ψ_oᵀ f, q_k = 0``, with A f the response with all held; a free body under
self-equilibrated loads may be held anywhere, since the reactions vanish.

With a cached factor, rigid interfaces of few nodes are not eliminated but treated as constraints
``u = T q``, like averages: one factor of K with springs then serves any interfaces.

Connections ``u = T_c z`` are eliminated first: K, f and G above are then T_cᵀ K T_c, T_cᵀ f and G
T_c.
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.fe.corner_interpolation import linear_interpolation
from preprocess.fe.fe_model import FEModel
from preprocess.fe.freedoms import dofs_of
from preprocess.fe.interfaces import BoundInterface
from preprocess.solve.davidson import Projection, davidson_modes
from preprocess.solve.engine import BlockMatrix, Engine
from preprocess.solve.factor_cache import load_factor, store_factor
from preprocess.solve.factors import Factor
from preprocess.solve.lanczos import Modes, is_small
from preprocess.solve.sparse_products import RepeatedProduct

# constraints by nodes of rigid interfaces that cost less than a factor: few, or one for so many
# unknowns
FEW, PER = 100, 1000
# reciprocal condition number at which interfaces are linearly dependent, close to machine precision
_SINGULAR = 1e-14
_COLUMNS = 64  # number of loads solved for at once, which bounds the memory of their solutions

TINY = 1e-13  # compliance relative to the largest one below which there is only round-off
DEPENDENT = (
    "interfaces: the averaged interfaces, including those on nodes of connections, are "
    "not independent of each other and of the "
    "rigid ones; use different nodes for each"
)


class StaticResponse(Protocol):
    """Static response of a body under some support: loads → displacements (3N, k)."""

    def __call__(self, loads: FloatArray, *, refined: bool = True) -> FloatArray:
        """Displacements under loads.

        refined: to double precision.
        """


class InterfaceStatics:
    """Static response of a body to loads and to interface coordinates.

    The coordinates are ordered as the interfaces, six for each.

    fe, interfaces: the body; size: number of its local degrees of freedom, degrees_of_freedom: of
    all processes; coordinates = 6 × interfaces; free_count: number of degrees of freedom with mass,
    interfaces held; free_degrees_of_freedom: the same with no interface held; read: whether the
    factor was read from the cache.
    """

    def __init__(
        self,
        fe: FEModel,
        interfaces: Sequence[BoundInterface],
        keep: str | os.PathLike[str] | None = None,
    ) -> None:
        """Factor the stiffness with the rigid interfaces (or six supports) held.

        With ``keep``, K is held by springs and its factor is cached in this file. Raises InputError
        if K_ii is singular or a cached factor is not usable, MachineError for too little memory.
        """
        size, connections = fe.freedoms.size, fe.constraints
        rigid = [each.drives_nodes for each in interfaces]
        eliminated = np.array(rigid, dtype=bool) & (
            keep is None or _constraint_count(interfaces) > max(FEW, size // PER)
        )
        self._T, self._driving = _driven(fe, interfaces, eliminated)
        self._G, self._B = _constraint_columns(fe, interfaces, eliminated)
        self._R = np.zeros((size, 0)) if eliminated.any() else fe.rigid_motion(fe.centre_of_mass)
        free = free_blocks(fe, interfaces)
        if not fe.engine.total(np.array(free.size)):
            raise InputError(
                "interfaces: they hold every node; leave part of the body deformable, for "
                "example by two elements instead of one"
            )
        K = connections.matrix(fe.K)
        self._KT = fe.loads(fe.stiffness_product(self._T))
        self.read, self._factor = _factor(
            fe,
            K if eliminated.any() else K + _springs(fe, K, self._R),
            free if eliminated.any() else free_blocks(fe, ()),
            keep,
        )
        self.fe, self.interfaces = fe, tuple(interfaces)
        self.size, self.coordinates = size, 6 * len(interfaces)
        massive = _massive(fe, free)
        self.degrees_of_freedom = fe.engine.count(np.ones(size, dtype=bool))
        self.free_count, self.free_degrees_of_freedom = (
            massive - 6 * (len(rigid) - sum(rigid)),
            massive + 6 * sum(rigid),
        )
        self._releases: dict[int, tuple[FloatArray, bool]] = {}
        self._Y = self._restrained(np.asarray(self._G.toarray()))
        local = self._inner(
            self._G.power(2), 1.0 / np.maximum(_diagonal(fe, K), np.finfo(float).tiny)[:, None]
        )[:, 0]
        self._border = _BorderedSystem(
            self._inner(self._G, self._Y), self._inner(self._G, self._R), local
        )

    def response(self, loads: FloatArray, *, refined: bool = True) -> FloatArray:
        """Displacements (3N, k) under nodal loads (3N, k) with every interface held.

        refined: to double precision if the factor is in single precision; also below.
        """
        return self._closed(self.fe.loads(loads), np.zeros((len(self._B), loads.shape[1])), refined)

    def constraint_modes(self) -> FloatArray:
        """Displacements Ψ (3N, 6 × interfaces) for one interface coordinate at one, others zero."""
        return self._Psi

    @functools.cached_property
    def _Psi(self) -> FloatArray:
        """Static displacements (3N, 6k) for unit motions of the interfaces."""
        q = np.eye(self.coordinates)
        driven = self._T @ q[self._driving]
        Psi = np.asarray(driven + self._closed(-(self._KT @ q[self._driving]), self._B @ q))
        Psi.flags.writeable = False
        return Psi

    @functools.cached_property
    def interface_stiffness(self) -> FloatArray:
        """Stiffness S = Ψᵀ K Ψ of the interface coordinates, with six zero eigenvalues.

        (6 × interfaces, 6 × interfaces).
        """
        S = self._inner(self._Psi, self.fe.stiffness_product(self._Psi))
        return np.asarray(0.5 * (S + S.T))

    def interface_compliance(self, held: int) -> FloatArray:
        """Displacements of the interface coordinates under their unit loads, one interface held.

        held: this interface. ``S_oo⁻¹``, zero elsewhere.
        """
        others = self._others(held)
        result = np.zeros((self.coordinates, self.coordinates))
        if others.size:
            result[np.ix_(others, others)] = scipy.linalg.cho_solve(
                self._released(held), np.eye(others.size)
            )
        return result

    def admissible(self, shapes: FloatArray) -> FloatArray:
        """Shapes (3N, n) that obey the connections, rigid interfaces included.

        The nodes of rigid interfaces are projected onto the nearest rigid motion.
        """
        result, motion = np.array(shapes), self.interface_motion(shapes)
        for k, interface in enumerate(self.interfaces):
            if interface.drives_nodes:
                rows = interface.dofs
                result[rows] = interface.rigid_motion.reshape(-1, 6) @ motion[6 * k : 6 * k + 6]
        return self.fe.motion(result)

    @functools.cached_property
    def interface_loads(self) -> FloatArray:
        """Nodal loads L (3N, 6 × interfaces) equivalent to unit loads at the interfaces.

        Force x y z and moment x y z in mesh axes. ``Lᵀ u = q``: they also give the interface
        coordinates of admissible displacements.
        """
        L = np.zeros((self.size, self.coordinates))
        for k, interface in enumerate(self.interfaces):
            L[interface.dofs, 6 * k : 6 * k + 6] = interface.average.T
        return L

    def interface_motion(self, u: FloatArray) -> FloatArray:
        """Interface coordinates Lᵀ u (6 × interfaces, k) of admissible displacements u (3N, k)."""
        return self._inner(self.interface_loads, u)

    def supported(self, held: Sequence[int]) -> StaticResponse:
        """Static response of the body with the interfaces numbered ``held`` held.

        No interface, one or all.
        """
        if not held:
            return self.free_response
        return (
            self.response
            if len(held) == len(self.interfaces)
            else functools.partial(self.held_response, k=held[0])
        )

    def modes(
        self,
        held: Sequence[int],
        *,
        count: int = 0,
        omega_max: float = 0.0,
        beside: FloatArray | None = None,
    ) -> Modes:
        """Lowest modes of the body with the interfaces numbered ``held`` held, as in `supported`.

        The ``count`` lowest, or all with ω ≤ ``omega_max``; with ``beside`` (3N, m), M-orthonormal
        shapes that move no held interface, the modes in their M-orthogonal complement. Raises
        SolverError.
        """
        response, mass, size = self.supported(held), self.fe.mass_product, self.size
        if beside is not None:
            response = _Deflated(response, beside, self.fe)
        if self._factor.rough and not is_small(self.free_count, count):
            approximate, stiffness = (
                functools.partial(response, refined=False),
                RepeatedProduct(self.fe.K),
            )
            supports = self._supports(held)
            if beside is not None:
                supports = _extended_projection(supports, beside, self.fe)
            # a rough factor hardly knows the softest motions of very slender parts
            with contextlib.suppress(SolverError):
                return davidson_modes(
                    approximate, stiffness, mass, supports, size, count=count, omega_max=omega_max
                )
        return self.fe.engine.modes(response, mass, size, count=count, omega_max=omega_max)

    def _supports(self, held: Sequence[int]) -> Projection:
        """Motions of the held interfaces; for a free body the rigid-body motions."""
        if not held:
            return Projection(np.asfortranarray(self.rigid_modes), np.asfortranarray(self._MR))
        columns = (6 * np.array(held)[:, None] + np.arange(6)).ravel()
        return Projection(
            np.asfortranarray(self._Psi[:, columns]),
            np.asfortranarray(self.interface_loads[:, columns]),
        )

    @property
    def refines(self) -> bool:
        """True if responses of a single-precision factor are refined."""
        return self._factor.rough

    @property
    def precision(self) -> str:
        """Form and precision of the factor, for the provenance."""
        return self._factor.form + (
            f", solutions refined to {self._factor.error:.1g}" if self.refines else ""
        )

    @property
    def _inner(self) -> Callable[[Any, FloatArray], FloatArray]:
        return self.fe.engine.inner

    @functools.cached_property
    def rigid_modes(self) -> FloatArray:
        """Rigid-body modes R (3N, 6) with Rᵀ M R = 1."""
        R = self.fe.rigid_motion(self.fe.centre_of_mass)
        L = np.linalg.cholesky(self._inner(R, self.fe.mass_product(R)))
        return np.asarray(scipy.linalg.solve_triangular(L, R.T, lower=True).T)

    def held_response(self, loads: FloatArray, k: int, *, refined: bool = True) -> FloatArray:
        """Displacements (3N, c) under nodal loads (3N, c) with only interface ``k`` held."""
        return self.released(self.response(loads, refined=refined), loads, k)

    def released(self, u: FloatArray, loads: FloatArray, k: int) -> FloatArray:
        """Displacements (3N, c) with only interface ``k`` held, from those with all held.

        u (3N, c): the latter, under the same loads.
        """
        others = self._others(k)
        if not others.size:
            return np.array(u)
        Psi = self._Psi[:, others]
        return np.asarray(
            u + Psi @ scipy.linalg.cho_solve(self._released(k), self._inner(Psi, loads))
        )

    def free_response(self, loads: FloatArray, *, refined: bool = True) -> FloatArray:
        """Elastic displacements ``a = Pᵀ K_c⁻¹ P f`` (3N, c) of the free body under loads f.

        P = 1 − M R Rᵀ: the inertia forces of the rigid-body acceleration balance the loads (inertia
        relief), K_c is held at one interface, and the result has no rigid-body part: Rᵀ M a = 0.
        Source: Craig and Kurdila, Fundamentals of Structural Dynamics (2006), section 17.3.
        """
        # any support serves, since the loads are in equilibrium; interface 0 exists always
        R, MR = self.rigid_modes, self._MR
        u = self.held_response(loads - MR @ self._inner(R, loads), 0, refined=refined)
        return np.asarray(u - R @ self._inner(MR, u))

    @functools.cached_property
    def _MR(self) -> FloatArray:
        return self.fe.mass_product(self.rigid_modes)

    def _others(self, k: int) -> np.ndarray:
        """Interface coordinates except those of interface k."""
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
                raise InputError(
                    f"stiffness: with interface {name} held, others move freely; connect the parts"
                ) from None
        return self._releases[k]

    def _closed(self, loads: FloatArray, q: FloatArray, refined: bool = True) -> FloatArray:
        """Response to loads T_cᵀ f with constrained motion G u = q and eliminated nodes at zero."""
        # the reactions of an approximate response would not vanish with the loads' reactions
        if not refined and len(self._B):
            for _ in range(2):  # which may be much larger than what they balance
                loads = (
                    loads
                    + self._G
                    @ self._border.solve(
                        q - self._inner(self._Y, loads), -self._inner(self._R, loads)
                    )[0]
                )
        y = self._restrained(loads, refined)
        if len(self._B):
            reaction, rigid = self._border.solve(
                q - self._inner(self._G, y), -self._inner(self._R, loads)
            )
            y = np.asarray(y + self._Y @ reaction + self._R @ rigid)
        return self.fe.motion(y)

    def _restrained(self, loads: FloatArray, refined: bool = True) -> FloatArray:
        """Static response of the restrained body, in blocks of columns."""
        solve = self._factor.solve if refined else self._factor.approximate
        if loads.shape[1] <= _COLUMNS:
            return solve(loads) if loads.shape[1] else np.zeros(loads.shape)
        found = np.empty(loads.shape)
        for low in range(0, loads.shape[1], _COLUMNS):
            found[:, low : low + _COLUMNS] = solve(
                np.ascontiguousarray(loads[:, low : low + _COLUMNS])
            )
        return found


class _Deflated:
    """Response P A Pᵀ, P = 1 − V Vᵀ M, to motions that are M-orthogonal to shapes V (3N, m)."""

    def __init__(self, response: StaticResponse, shapes: FloatArray, fe: FEModel) -> None:
        self._response, self._V, self._MV, self._inner = (
            response,
            shapes,
            fe.mass_product(shapes),
            fe.engine.inner,
        )

    def __call__(self, loads: FloatArray, *, refined: bool = True) -> FloatArray:
        u = self._response(loads - self._MV @ self._inner(self._V, loads), refined=refined)
        return np.asarray(u - self._V @ self._inner(self._MV, u))


def _extended_projection(supports: Projection, shapes: FloatArray, fe: FEModel) -> Projection:
    """Projection that also removes M-orthonormal shapes (3N, m), which do not move the supports."""
    MV = fe.mass_product(shapes)
    motions = supports.motions - shapes @ fe.engine.inner(MV, supports.motions)
    both = (np.hstack(each) for each in ((motions, shapes), (supports.coordinates, MV)))
    return Projection(*(np.asfortranarray(each) for each in both))


class _BorderedSystem:
    """Small symmetric system [H, E; Eᵀ, 0] with H and E scaled to order one.

    local: compliances that H would have with each degree of freedom on its own spring.
    """

    def __init__(self, H: FloatArray, E: FloatArray, local: FloatArray) -> None:
        """Scale and factor [H E; Eᵀ 0]. Raises `InputError` for dependent rows."""
        self._n = len(H)
        diagonal = np.abs(np.diag(H))
        # of one unit, for displacements and rotations
        share = diagonal / np.maximum(local, np.finfo(float).tiny)
        if self._n and not share.min() > TINY * share.max():
            raise InputError(DEPENDENT)
        self._scale = 1.0 / np.sqrt(diagonal)
        rows = self._scale[:, None] * E
        self._columns = 1.0 / np.linalg.norm(rows, axis=0) if E.size else np.ones(E.shape[1])
        E_ = rows * self._columns
        border = np.zeros((E.shape[1], E.shape[1]))
        matrix = np.block([[self._scale[:, None] * H * self._scale, E_], [E_.T, border]])
        if not self._n:
            return
        with warnings.catch_warnings():
            # of a zero pivot, which the condition number finds
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            self._factor = scipy.linalg.lu_factor(matrix)
        if (
            not scipy.linalg.lapack.dgecon(self._factor[0], np.linalg.norm(matrix, 1))[0]
            > _SINGULAR
        ):
            raise InputError(DEPENDENT)

    def solve(self, top: FloatArray, bottom: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both parts of the solution for the two parts of the right side."""
        right = np.vstack([self._scale[:, None] * top, self._columns[:, None] * bottom])
        x = scipy.linalg.lu_solve(self._factor, right)
        return self._scale[:, None] * x[: self._n], self._columns[:, None] * x[self._n :]


def free_blocks(fe: FEModel, interfaces: Sequence[BoundInterface]) -> np.ndarray:
    """Blocks of degrees of freedom, ascending, that follow no rigid interface and no connection."""
    held = [each.blocks for each in interfaces if each.drives_nodes]
    blocks = np.setdiff1d(
        np.arange(fe.freedoms.size // 3), np.concatenate([np.zeros(0, np.int64), *held])
    )
    return fe.constraints.free_blocks(blocks)


def free_matrix(
    fe: FEModel,
    A: sp.csr_matrix,
    free: np.ndarray,
    *,
    definite: bool = True,
    interpolation: sp.csr_matrix | None = None,
) -> BlockMatrix:
    """Rows and columns of some blocks; messages name nodes."""
    node = fe.freedoms.node_of_block
    return BlockMatrix(A, free, fe.nodes[node], fe.node_ids[node], definite, interpolation)


def _massive(fe: FEModel, free: np.ndarray) -> int:
    """Number of independent degrees of freedom with mass in some blocks."""
    if fe.mass_points is None and fe.constraints.T is None:
        share = np.repeat(fe.m.diagonal(), 3)
    else:
        share = fe.constraints.matrix(fe.M).diagonal()
    mass = fe.engine.assembled(share[:, None])[:, 0]
    mass[fe.constraints.dependent] = 0.0
    massive = np.zeros(fe.freedoms.size, dtype=bool)
    massive[dofs_of(free)] = mass[dofs_of(free)] > 0
    return fe.engine.count(massive)


def _diagonal(fe: FEModel, K: sp.csr_matrix) -> FloatArray:
    """Diagonal (n,) of a matrix, assembled over all processes."""
    return np.asarray(fe.engine.assembled(K.diagonal()[:, None])[:, 0])


def _driven(
    fe: FEModel, interfaces: Sequence[BoundInterface], eliminated: np.ndarray
) -> tuple[FloatArray, np.ndarray]:
    """Motion T (n, 6r) of all nodes by the coordinates of eliminated interfaces; their indices."""
    chosen = [k for k, each in enumerate(eliminated) if each]
    T = np.zeros((fe.freedoms.size, 6 * len(chosen)))
    for j, k in enumerate(chosen):
        T[interfaces[k].dofs, 6 * j : 6 * j + 6] = interfaces[k].rigid_motion.reshape(-1, 6)
    return fe.motion(T), (6 * np.array(chosen, dtype=np.int64)[:, None] + np.arange(6)).ravel()


def _constraint_columns(
    fe: FEModel, interfaces: Sequence[BoundInterface], eliminated: np.ndarray
) -> tuple[sp.csr_matrix, FloatArray]:
    """Gᵀ (n, m) and B (m, 6 × interfaces) of the constraints ``G u = B q`` of the other interfaces.

    Averages of averaged interfaces, the nodes of rigid ones.
    """
    parts, targets = [], [np.zeros((0, 6 * len(interfaces)))]
    for k, interface in enumerate(interfaces):
        if eliminated[k]:
            continue
        values, target = interface.average.T, np.eye(6)
        if interface.drives_nodes:
            values, target = np.eye(len(interface.dofs)), interface.rigid_motion.reshape(-1, 6)
        parts.append(_columns_at(interface, values, fe.freedoms.size))
        targets.append(np.zeros((len(target), 6 * len(interfaces))))
        targets[-1][:, 6 * k : 6 * k + 6] = target
    if not parts:
        return sp.csr_matrix((fe.freedoms.size, 0)), targets[0]
    return _condensed(fe, sp.hstack(parts, format="csr")), np.vstack(targets)


def _condensed(fe: FEModel, columns: sp.csr_matrix) -> sp.csr_matrix:
    """Loads on the independent degrees of freedom, from sparse columns (n, m)."""
    if fe.constraints.T is None:
        return columns
    starts = range(0, columns.shape[1], _COLUMNS)
    return sp.hstack(
        [sp.csr_matrix(fe.loads(columns[:, low : low + _COLUMNS].toarray())) for low in starts],
        format="csr",
    )


def _columns_at(interface: BoundInterface, values: FloatArray, size: int) -> sp.csr_matrix:
    """Columns (size, c) from their values (3b, c) at the degrees of freedom of an interface."""
    place = sp.csr_matrix(
        (np.ones(len(interface.dofs)), (interface.dofs, np.arange(len(interface.dofs)))),
        (size, len(values)),
    )
    return (place @ sp.csr_matrix(values)).tocsr()


def _constraint_count(interfaces: Sequence[BoundInterface]) -> int:
    """Number of constraints of the nodes of rigid interfaces."""
    return sum(len(each.dofs) for each in interfaces if each.drives_nodes)


def _factor(
    fe: FEModel, K: sp.csr_matrix, free: np.ndarray, keep: str | os.PathLike[str] | None
) -> tuple[bool, Factor]:
    """(True if the factor was in the file, factor) of some blocks of K.

    A factor that was not there is stored.
    """
    found = None if keep is None else load_factor(keep, K, free)
    if found is not None:
        return True, found
    if keep is None:
        return False, fe.engine.factorize(
            free_matrix(fe, K, free, interpolation=linear_interpolation(fe))
        )
    # without interpolation: two grids have no panels to store
    factor = fe.engine.factorize(free_matrix(fe, K, free))
    store_factor(keep, factor, K, free)
    return False, factor


def _springs(fe: FEModel, K: sp.csr_matrix, R: FloatArray) -> sp.csr_matrix:
    """Springs of the body's own diagonal stiffness at six degrees of freedom that hold it."""
    diagonal = np.zeros(R.shape[0])
    held = _supports(fe, R)
    diagonal[held] = K.diagonal()[held]
    return sp.diags(diagonal, format="csr")


def _supports(fe: FEModel, R: FloatArray) -> np.ndarray:
    """Six degrees of freedom of three distant nodes that hold the body statically determinate.

    Only local degrees of freedom are chosen.
    """
    engine, node = fe.engine, fe.freedoms.node_of_block
    free = fe.constraints.free_blocks(np.arange(fe.freedoms.size // 3))
    places = fe.nodes[node[free]]
    first = _farthest(engine, np.linalg.norm(places - fe.centre_of_mass, axis=1), places)
    second = _farthest(engine, np.linalg.norm(places - first, axis=1), places)
    line = (second - first) / np.linalg.norm(second - first)
    arm = places - first
    third = _farthest(engine, np.linalg.norm(arm - np.outer(arm @ line, line), axis=1), places)
    near = [np.flatnonzero((places == place).all(axis=1)) for place in (first, second, third)]
    usable = np.zeros(len(R), dtype=bool)
    usable[
        np.setdiff1d(dofs_of(free[np.unique(np.concatenate(near))]), fe.constraints.dependent)
    ] = True
    own = np.zeros(len(R), dtype=bool)
    own[engine.owned] = usable[engine.owned]
    dofs = np.flatnonzero(own)
    candidates = engine.gathered(
        np.column_stack([np.full(len(dofs), engine.process), dofs, R[dofs]])
    )
    scaled = candidates[:, 2:] / np.linalg.norm(candidates[:, 2:], axis=0)
    # pivots choose the six with the best conditioned rigid-body motions
    chosen = candidates[scipy.linalg.qr(scaled.T, pivoting=True)[2][:6]]
    held = np.zeros((len(R), 1))
    held[chosen[chosen[:, 0] == engine.process, 1].astype(np.int64)] = 1.0
    return np.flatnonzero(engine.assembled(held))


def _farthest(engine: Engine, distance: FloatArray, places: FloatArray) -> FloatArray:
    """Point (3,) at the largest distance, of all processes."""
    best = np.argsort(-distance, kind="stable")[:1]
    found = engine.gathered(np.column_stack([distance[best], places[best]]))
    return np.asarray(found[np.argmax(found[:, 0]), 1:])
