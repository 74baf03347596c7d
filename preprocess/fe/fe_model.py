"""Finite-element model: stiffness, mass and nodes of a free part."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, shown
from preprocess.fe.connection_base import Arms, TurnedNodes
from preprocess.fe.constraints import UNCONSTRAINED, Constraints
from preprocess.fe.element_groups import ElementGroup
from preprocess.fe.freedoms import NONE, Freedoms
from preprocess.fe.link_work import LinkWork
from preprocess.fe.mass_points import MovedPoints
from preprocess.fe.material import Material
from preprocess.fe.point_mass import PointMass
from preprocess.fe.structural_element import Skin, StructuralElement, skin_of
from preprocess.inputs.argument_checks import instance, integers, node_indices
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.solve.engine import SERIAL, Engine
from preprocess.solve.sparse_products import sparse_product

if TYPE_CHECKING:
    import skfem

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# relative accuracy of matrices read from text files, which usually have seven digits
PRINTED = 1e-6
# diagonal entries by which some programs fix degrees of freedom (1e36 in Abaqus); no real stiffness
# in N/m is as large
HELD = 1e30


class CarriedBody(NamedTuple):
    """Rigid body that follows the mean motion of its nodes, in least squares.

    nodes (n,) and their positions (n, 3) from a point of the body; turn (3, size): rotation of the
    body per degree of freedom; first: the first of its mass points; arms (p, 3): their positions
    from the same point.
    """

    nodes: Indices
    levers: Array
    turn: sp.csr_matrix
    first: int
    arms: Array


@dataclass(frozen=True, eq=False)
class FEModel:
    """Stiffness K and mass M = m ⊗ 1₃ of a free part; degree of freedom 3·node + component.

    K (n, n): stiffness, N/m and N m; n = 3N for solids; m (P, P): mass at points, kg, the same for
    the three components; nodes (N, 3): positions, m; node_ids (N,): their numbers in the source;
    rotating (R,): nodes with a rotation, whose degrees of freedom follow the 3N translations; then
    n = 3 (N + R); mass_points: the points with their motion C, M = Cᵀ (m ⊗ 1₃) C; None if they are
    the nodes; constraints: dependent degrees of freedom; arms: rigid arms of the connections, by
    name; links: second-order work of springs and bushings; turned: nodes beside tied
    faces; node_sets: node indices by name; triangles (T, 3): outer surface; source, unit, elements,
    material: description of the origin; mesh, groups, structures: all elements, solids by type and
    material, beams by section; None and empty for given matrices; point_masses: those added to m by
    `attach`; bodies: rigid bodies that nodes carry, whose mass points follow those of the
    structures; D (n, n): viscous damping of the connections, N s/m and N m s; None without
    dampers; held: whether connections may hold the part, which then cannot be reduced; boundary:
    nodes of the outer surface, by default those of the triangles; engine: linear algebra of its
    fields; with several processes K, m, nodes and elements are those of one of them

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    >>> fe = pp.assemble(mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0))
    >>> again = pp.FEModel.from_matrices(fe.K, fe.M, fe.nodes)
    >>> again.K.shape, round(again.mass, 6)  # ρ l b h
    ((312, 312), 1.256)
    """

    K: sp.csr_matrix
    m: sp.csr_matrix
    nodes: Array
    node_ids: Indices
    node_sets: Mapping[str, Indices] = field(default_factory=dict)
    triangles: Indices = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    source: str = "matrices"
    unit: str = "m"
    elements: str = ""
    material: str = ""
    mesh: Mesh | None = None
    groups: tuple[ElementGroup, ...] = ()
    point_masses: tuple[PointMass, ...] = ()
    structures: tuple[StructuralElement, ...] = ()
    rotating: Indices = field(default_factory=lambda: NONE)
    mass_points: MovedPoints | None = None
    constraints: Constraints = field(default_factory=lambda: UNCONSTRAINED)
    arms: Mapping[str, Arms] = field(default_factory=dict)
    links: tuple[LinkWork, ...] = ()
    turned: tuple[TurnedNodes, ...] = ()
    D: sp.csr_matrix | None = None
    bodies: tuple[CarriedBody, ...] = ()
    held: bool = False
    boundary: Indices | None = None
    engine: Engine = field(default_factory=lambda: SERIAL)

    @classmethod
    @checked_arguments
    def from_matrices(
        cls,
        K: sp.spmatrix | ArrayLike,
        M: sp.spmatrix | ArrayLike,
        nodes: ArrayLike,
        *,
        node_ids: ArrayLike | None = None,
        node_sets: Mapping[str, ArrayLike] | None = None,
        triangles: ArrayLike | None = None,
        source: str = "matrices",
        mass_source: str | None = None,
        accuracy: float = PRINTED,
    ) -> FEModel:
        """Model of given matrices in SI units.

        K (3N, 3N) and M as (3N, 3N) or nodal (N, N), degrees of freedom node by node.

        source, mass_source: origins for messages; mass_source if that of M differs. accuracy:
        relative accuracy of the positions and of K, the bound on the residual of the rigid-body
        modes. Raises InputError unless both are finite and symmetric, M = m ⊗ 1₃ with positive
        mass, and K has the six rigid-body modes.
        """
        x = np.asarray(nodes)
        x = x.astype(float) if x.dtype.kind in "iuf" else np.zeros(0)
        if x.ndim != 2 or x.shape[1] != 3 or not np.isfinite(x).all():
            raise InputError(
                f"{source}: nodes have shape {x.shape}; give finite positions (N, 3) in m"
            )
        masses = mass_source or source
        stiffness, mass = (
            _matrix(K, "K", source, (3 * len(x),)),
            _matrix(M, "M", masses, (len(x), 3 * len(x))),
        )
        _check_rigid_modes(stiffness, x, source, accuracy)
        ids = np.arange(len(x)) if node_ids is None else integers(node_ids, f"{source}: node_ids")
        if ids.shape != (len(x),):
            raise InputError(
                f"{source}: node_ids has shape {ids.shape}; give one number for each of "
                f"{len(x)} nodes"
            )
        if len(np.unique(ids)) < len(ids):
            raise InputError(f"{source}: node_ids: some occur twice; number the nodes uniquely")
        given = instance(node_sets or {}, Mapping, f"{source}: node_sets", "node indices by name")
        sets = {
            name: node_indices(rows, f"{source}: set {name!r}", len(x))
            for name, rows in given.items()
        }
        faces = (
            np.zeros((0, 3), dtype=np.int64)
            if triangles is None
            else node_indices(triangles, f"{source}: triangles", len(x))
        )
        if faces.size % 3:
            raise InputError(
                f"{source}: triangles: {faces.size} node indices are not rows of three"
            )
        return cls(
            stiffness, _nodal_mass(mass, len(x), masses), x, ids, sets, faces.reshape(-1, 3), source
        )

    @classmethod
    def from_skfem(cls, basis: skfem.Basis, K: sp.spmatrix, M: sp.spmatrix) -> FEModel:
        """Model of matrices that scikit-fem assembled in a vector basis, with positions in m.

        Named boundaries become node sets.

        basis: of an ``ElementVector`` of a Lagrange element, of any order. K (n, n): stiffness,
        N/m. M (n, n): mass, kg. Raises InputError as `from_matrices`, and for other bases.

        Examples
        --------
        >>> import preprocess as pp
        >>> import skfem
        >>> from skfem.models.elasticity import lame_parameters, linear_elasticity
        >>> mesh = skfem.MeshTet().refined(1).with_boundaries({"floor": lambda x: x[2] == 0.0})
        >>> basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP2()))
        >>> K = linear_elasticity(*lame_parameters(2.1e11, 0.3)).assemble(basis)
        >>> M = skfem.BilinearForm(lambda u, v, w: 7850.0 * (u * v).sum(axis=0)).assemble(basis)
        >>> model = pp.FEModel.from_skfem(basis, K, M)
        >>> round(model.mass, 6), len(model.node_sets["floor"])
        (7850.0, 25)
        """
        from preprocess.fe.skfem_basis import basis_nodes, outer_triangles

        triples = basis_nodes(basis)
        order, node = triples.ravel(), np.empty(basis.N, dtype=np.int64)
        node[triples] = np.arange(len(triples))[:, None]
        for name, matrix in (("K", K), ("M", M)):
            if np.shape(matrix) != (basis.N, basis.N):
                raise InputError(
                    f"scikit-fem: {name} has shape {np.shape(matrix)}; the basis has "
                    f"{basis.N} degrees of freedom"
                )
        sets = {
            name: np.unique(node[basis.get_dofs(name).flatten()])
            for name in basis.mesh.boundaries or {}
        }
        K, M = (sp.csr_matrix(matrix)[order][:, order] for matrix in (K, M))
        places = basis.doflocs.T[triples[:, 0]]
        triangles = outer_triangles(basis)
        return cls.from_matrices(
            K, M, places, node_sets=sets, triangles=triangles, source="scikit-fem"
        )

    @property
    def has_elements(self) -> bool:
        """True if the model has elements, not only matrices."""
        return bool(self.groups or self.structures)

    @functools.cached_property
    def materials(self) -> tuple[Material, ...]:
        """Distinct materials of the elements."""
        owned = [group.material for group in self.groups] + [
            structure.material for structure in self.structures
        ]
        return tuple({id(material): material for material in owned}.values())

    @functools.cached_property
    def skin(self) -> Skin:
        """Surface of beams and shells."""
        return skin_of(self.structures, self.materials, self.freedoms.size)

    @property
    def freedoms(self) -> Freedoms:
        """Numbering of the degrees of freedom of all nodes."""
        return Freedoms(len(self.nodes), self.rotating, self.constraints.dependent)

    @property
    def M(self) -> sp.csr_matrix:
        """Mass matrix Cᵀ (m ⊗ 1₃) C, (n, n)."""
        m = sp.kron(self.m, sp.eye(3), format="csr")
        return (
            m
            if self.mass_points is None
            else (self.mass_points.motion.T @ m @ self.mass_points.motion).tocsr()
        )

    @property
    def points(self) -> Array:
        """Positions (P, 3) of the mass points, m."""
        return self.nodes if self.mass_points is None else self.mass_points.positions

    def point_displacements(self, u: Array) -> Array:
        """Displacements (P, 3, k) of the mass points for u (n, k)."""
        return (
            u.reshape(len(self.nodes), 3, -1)
            if self.mass_points is None
            else self.mass_points.displacements(u)
        )

    def momentum(self, velocity: Array) -> Array:
        """Momenta Cᵀ m v (n, k) for velocities v (P, 3, k) of the mass points.

        They are conjugate to the degrees of freedom.
        """
        p = sparse_product(self.m, np.ascontiguousarray(velocity).reshape(len(self.points), -1))
        p = p.reshape(3 * len(self.points), -1)
        return self.engine.assembled(
            p if self.mass_points is None else np.asarray(self._to_freedoms @ p)
        )

    @functools.cached_property
    def _to_freedoms(self) -> sp.csr_matrix:
        """Transposed motion Cᵀ of the mass points."""
        assert self.mass_points is not None
        return self.mass_points.motion.T.tocsr()

    def mass_product(self, u: Array) -> Array:
        """Product M u for u (n,) or (n, k), without forming M."""
        return self.momentum(self.point_displacements(u.reshape(len(u), -1))).reshape(u.shape)

    def stiffness_product(self, u: Array) -> Array:
        """Product K u for u (n,) or (n, k)."""
        return self.engine.assembled(sparse_product(self.K, u.reshape(len(u), -1))).reshape(u.shape)

    @property
    def has_dampers(self) -> bool:
        """True if connections damp the part."""
        return bool(self.engine.total(np.array(float(self.D is not None))))

    def damping_product(self, u: Array) -> Array:
        """Product D u for u (n, k)."""
        return self.engine.assembled(
            np.zeros(u.shape) if self.D is None else np.asarray(self.D @ u)
        )

    def motion(self, z: Array) -> Array:
        """Displacements u = T z (n, k) of the independent degrees of freedom z (n, k)."""
        return self.constraints.motion(z)

    def loads(self, f: Array) -> Array:
        """Loads Tᵀ f (n, k) on the independent degrees of freedom."""
        if self.constraints.T is None:
            return f
        return self.engine.assembled(self.constraints.loads(self.engine.counted(f)))

    def transmitted(self, f: Array) -> Array:
        """Forces (n, k) on the degrees of freedom, with those transmitted from their dependents.

        f (n, k): the forces without these.
        """
        total, part = f, f
        while self.constraints.rows is not None:
            part = self.engine.assembled(
                np.asarray(self.constraints.rows.T @ self.engine.counted(part))
            )
            if not self.engine.extent(part).any():
                break
            total = total + part
        return total

    def rigid_motion(self, centre: Array) -> Array:
        """Degrees of freedom (n, 6) under unit translations and rotations about a point (3,)."""
        return self.freedoms.rigid_motion(self.nodes - centre)

    def displacements(self, u: Array) -> Array:
        """Displacements (N, 3, k) of the nodes for u (n, k)."""
        return u[: 3 * len(self.nodes)].reshape(len(self.nodes), 3, -1)

    @property
    def surface_nodes(self) -> Indices:
        """Nodes of the outer surface of solids, ascending."""
        return np.unique(self.triangles) if self.boundary is None else self.boundary

    def owned_nodes(self, nodes: Indices) -> NDArray[np.bool_]:
        """Mask of the given nodes that are counted by this process."""
        counted = np.zeros(self.freedoms.size, dtype=bool)
        counted[self.engine.owned] = True
        return np.asarray(counted[3 * nodes])

    @property
    def mass(self) -> float:
        """Total mass Σ m_ab, kg."""
        return float(self.engine.total(np.array(self.m.sum())))

    @property
    def centre_of_mass(self) -> Array:
        """Centre of mass Σ m_ab x_b / Σ m_ab (3,), m."""
        nodal = np.asarray(self.m.sum(axis=1)).ravel()
        return self.engine.total(nodal @ self.points) / self.mass


def _matrix(
    given: sp.spmatrix | ArrayLike, name: str, source: str, sizes: tuple[int, ...]
) -> sp.csr_matrix:
    """Finite symmetric matrix in row storage, of one of the given sizes."""
    try:
        A = sp.csr_matrix(given)
        if A.dtype.kind == "c":
            raise InputError(
                f"{source}: {name} is complex; export it without damping, as real numbers"
            )
        A = A.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{source}: {name} is not a matrix of numbers: {shown(given)}") from None
    if A.shape[0] != A.shape[1] or A.shape[0] not in sizes:
        wanted = " or ".join(f"({n}, {n})" for n in sizes)
        raise InputError(
            f"{source}: {name} has shape {A.shape}, the nodes need {wanted}; give three "
            "rows per node"
        )
    A.sum_duplicates()
    if not np.isfinite(A.data).all():
        raise InputError(f"{source}: {name} has non-finite entries; export it again")
    held = np.flatnonzero(np.abs(A.diagonal()) > HELD)
    if len(held):
        raise InputError(
            f"{source}: {name} has {len(held)} penalty diagonals, first in row {held[0]}; "
            "export without supports"
        )
    largest = float(np.abs(A.data).max(initial=0.0))
    difference = abs(A - A.T)
    if difference.nnz and difference.max() > PRINTED * largest:
        one_triangle = sp.triu(A, 1).nnz == 0 or sp.tril(A, -1).nnz == 0
        remedy = (
            "store both triangles"
            if one_triangle
            else "export it without gyroscopic or follower terms"
        )
        raise InputError(
            f"{source}: {name} is not symmetric ({difference.max() / largest:.2g} of its "
            f"largest entry); {remedy}"
        )
    return ((A + A.T) * 0.5).tocsr()


def _nodal_mass(M: sp.csr_matrix, n: int, source: str) -> sp.csr_matrix:
    """Nodal mass m with M = m ⊗ 1₃."""
    m = M if M.shape[0] == n else M[0::3][:, 0::3].tocsr()
    if M.shape[0] != n:
        rest = abs(M - sp.kron(m, sp.eye(3), format="csr"))
        if rest.nnz and rest.max() > PRINTED * np.abs(M.data).max():
            raise InputError(
                f"{source}: M differs from m ⊗ 1₃ by "
                f"{rest.max() / np.abs(M.data).max():.2g}: it must be the same for x, y, "
                "z; "
                "order it node by node, without couplings"
            )
    if not (m.diagonal() > 0).all():
        bad = np.flatnonzero(~(m.diagonal() > 0))
        raise InputError(
            f"{source}: M has no positive mass at {len(bad)} nodes, first node index "
            f"{bad[0]}; use a consistent mass"
        )
    return m


def _check_rigid_modes(K: sp.csr_matrix, x: Array, source: str, accuracy: float) -> None:
    """Raise InputError unless K is free of the six rigid-body modes."""
    centred = x - x.mean(axis=0)
    R = rigid_motion(centred / max(float(np.abs(centred).max()), 1e-300)).reshape(-1, 6)
    residual = np.abs(K @ R).max(axis=0) / max(float(abs(K).sum(axis=1).max()), 1e-300)
    names = (
        "translation x",
        "translation y",
        "translation z",
        "rotation x",
        "rotation y",
        "rotation z",
    )
    bad = [name for name, value in zip(names, residual) if value > accuracy]
    if bad:
        raise InputError(
            f"{source}: K is not free of the rigid {', '.join(bad)} ({residual.max():.2g} of |K|); "
            "export it without supports, node by node, with the nodes in the same order and in m"
        )
