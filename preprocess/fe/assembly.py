"""Assembly of the stiffness and mass of a meshed part."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import InputError, warn_caller
from preprocess.elements import ELEMENTS
from preprocess.elements.element import Element
from preprocess.elements.formulation import Formulation
from preprocess.fe.attach import attach
from preprocess.fe.connection_base import Connection, ModelNodes
from preprocess.fe.connections import ConnectionEffects, connection_effects
from preprocess.fe.constraints import Constraints, constraints_of
from preprocess.fe.element_groups import ElementGroup, Materials, element_groups
from preprocess.fe.element_matrices import add_elements, condensed, element_mass, element_stiffness
from preprocess.fe.fe_model import FEModel
from preprocess.fe.freedoms import Freedoms
from preprocess.fe.from_declarations import (
    declared_connections,
    declared_masses,
    declared_materials,
    declared_sections,
    nodes_of_bodies,
)
from preprocess.fe.mass_points import concatenated_points, nodes_as_points
from preprocess.fe.material import Material, elasticity_tensor
from preprocess.fe.node_pattern import node_pattern, three_to_a_node
from preprocess.fe.pinned_nodes import rotations_of_pinned_nodes
from preprocess.fe.shell_sections import SYMMETRIC
from preprocess.fe.shells import Shells
from preprocess.fe.structural_element import (
    StructuralElement,
    lumped_mass,
    mass_of,
    stiffness_of,
)
from preprocess.fe.structural_groups import Sections, structural_groups, turning_nodes
from preprocess.inputs.argument_checks import checked_arguments, flag, instance
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.checks import SHOWN, doubly_curved
from preprocess.mesh.declarations import MassMatrix
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.shell_edges import opposite_neighbours, shell_edges
from preprocess.solve.memory import check_memory, retain_freed_memory
from preprocess.solve.threads import Threads

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MassChoice = Literal["consistent", "lumped", "deck"]

DEFAULT = Formulation()
# of the shells and beams: triangles on a doubly curved surface that are worth a warning
CURVED = 0.05
# damping relative to √(k m): stronger dampers move less than 1e-6 of other parts, and results lose
# digits
HOLDING = 1e6
# number of entries of element matrices computed at once: 8 MB, which stay in the cache of most
# processors
CHUNK = 2**20

__all__ = ["FEModel", "assemble"]


@checked_arguments
def assemble(
    mesh: Mesh,
    material: Materials | None = None,
    *,
    formulation: Formulation = DEFAULT,
    sections: Sections | None = None,
    connections: Mapping[str, Connection] | None = None,
    mass: MassChoice = "consistent",
    held: bool = False,
    allow_large: bool = False,
) -> FEModel:
    """Finite-element model of a mesh: K_ab = ∫ B_aᵀ C B_b dV and m_ab = ∫ ρ N_a N_b dV.

    mesh: the mesh. allow_large: assemble even if the estimated memory exceeds the free memory.
    material: one for the whole mesh, or materials by element set, which must cover every element
    exactly once; by default those of the file (Nastran, Abaqus, CalculiX), whose constants, masses
    and springs are in the units that it was read in: a system, or a length with N and s, see
    `read_mesh`. formulation: of elements with several formulations. sections: of beams and shells,
    one for all or by element set, which must cover every one exactly once; by default those of the
    file. connections: `RigidSpider`, `AveragingSpider`, `Tie`, `Equation`, `Spring` and `Bushing`
    by name, which is also that of a centre's node set; those of the file are added. held: accept
    equations that hold the part, to obtain its matrices; such a model cannot be reduced. mass:
    "consistent"; "lumped", at the nodes or the ends of their offsets, of rotary inertia only that
    of beams about their axis: shares ∫ ρ N_a dV, of elements with midside nodes the diagonal ∫ ρ N_a²
    dV scaled to the mass; "deck", that of the file (PARAM,COUPMASS of Nastran, by default lumped).
    Raises InputError when the estimated memory of assembly
    and factorization exceeds the free memory, unless allow_large, and for elements with no or
    several materials.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    >>> fe = pp.assemble(mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0))
    >>> round(fe.mass, 6)  # ρ l b h
    1.256
    """
    instance(mesh, Mesh, "mesh", "a Mesh, see read_mesh")
    flag(allow_large, "allow_large")
    instance(
        formulation, Formulation, "formulation", "a Formulation, such as Formulation(hex8='full')"
    )
    flag(held, "held")
    if not allow_large:
        check_memory(len(mesh.nodes) + len(turning_nodes(mesh)), _corners(mesh), mesh.source)
    layout = layout_of(mesh, material, formulation, sections, connections, mass=mass, held=held)
    fe = elements_model(
        mesh,
        layout,
        structural_groups(
            mesh,
            layout.material,
            layout.sections,
            layout.joints.nodes.freedoms,
            mass=layout.mass,
        ),
    )
    attached = declared_masses(mesh)
    return attach(fe, attached) if attached else fe


def _corners(mesh: Mesh) -> int:
    """Number of corner nodes of solids, beams and shells, as in `linear_interpolation`."""
    corner = np.zeros(len(mesh.nodes), dtype=bool)
    for block in mesh.structural.values():
        corner[block.connectivity] = True
    for name, block in mesh.solids.items():
        corner[block.connectivity[:, : ELEMENTS[name].corners]] = True
    return int(np.count_nonzero(corner))


class Layout(NamedTuple):
    """Data known before any element is computed.

    Material and sections by element set, formulation; nodes with the centres of connections;
    constraints, stiffness and rotations due to connections; whether these may hold the part.
    """

    material: Materials
    sections: Sections
    formulation: Formulation
    joints: ConnectionEffects
    constraints: Constraints
    mass: MassMatrix = "consistent"
    held: bool = False


def layout_of(
    mesh: Mesh,
    material: Materials | None,
    formulation: Formulation,
    sections: Sections | None,
    connections: Mapping[str, Connection] | None,
    *,
    mass: MassChoice = "consistent",
    held: bool = False,
) -> Layout:
    """Layout of a mesh, see `assemble`. Raises InputError."""
    material = declared_materials(mesh) if material is None else material
    for each in material.values() if isinstance(material, Mapping) else (material,):
        instance(
            each, Material, "material", "a material, such as Isotropic(E=210e9, nu=0.3, rho=7850.0)"
        )
    sections = declared_sections(mesh) if sections is None else sections
    connections = {**declared_connections(mesh), **(connections or {})}
    if mesh.structural and not sections:
        raise InputError(
            f"{mesh.source}: sections: missing for {', '.join(mesh.structural)} elements; "
            "give them by element set"
        )
    _warn_of_stiff_elements(mesh)
    turning = np.union1d(turning_nodes(mesh), nodes_of_bodies(mesh))
    nodes = ModelNodes(
        mesh.nodes, mesh.node_ids, mesh.node_sets, Freedoms(len(mesh.nodes), turning), mesh.faces
    )
    joints = connection_effects(nodes, connections)
    R = joints.nodes.freedoms.rigid_motion(joints.nodes.positions - mesh.nodes.mean(axis=0))
    parts = structural_groups(mesh, material, sections, joints.nodes.freedoms)
    _warn_of_curved_triangles(mesh, parts)
    _warn_of_opposite_normals(mesh, parts)
    pinned = rotations_of_pinned_nodes(mesh, parts, joints)
    return Layout(
        material,
        sections,
        formulation,
        joints,
        constraints_of([*joints.rows, *pinned], R, held=held),
        _mass_matrix(mesh, mass),
        held,
    )


def _mass_matrix(mesh: Mesh, mass: MassChoice) -> MassMatrix:
    """Formulation of the mass matrix.

    Raises InputError for an unknown choice, and for a file that states none.
    """
    if mass not in get_args(MassChoice):
        raise InputError(f"mass: {mass!r:.30}; give 'consistent', 'lumped' or 'deck'")
    if mass != "deck":
        return mass
    if mesh.declared.mass is None:
        raise InputError(
            f"{mesh.source}: mass: the file states no formulation of the mass matrix; give "
            "'consistent' or 'lumped'"
        )
    return mesh.declared.mass


def elements_model(mesh: Mesh, layout: Layout, parts: tuple[StructuralElement, ...]) -> FEModel:
    """Model of the elements of a mesh with its layout.

    parts: its beams and shells. Raises InputError for elements with no or several materials.
    """
    material, joints = layout.material, layout.joints
    groups = element_groups(mesh, material, layout.formulation.chosen(ELEMENTS))
    K, m = (
        _solid_matrices(mesh, groups, layout.mass == "lumped")
        if groups
        else _empty_matrices(len(mesh.nodes))
    )
    places, freedoms = joints.nodes.positions, joints.nodes.freedoms
    points, masses = mass_of(parts, freedoms.size)
    K, m = _padded(K, freedoms.size), _padded(m, len(places))
    if parts or joints.stiffness.nnz or layout.constraints.T is not None:
        K = K + stiffness_of(parts, freedoms.size) + joints.stiffness
    return FEModel(
        K=K,
        m=sp.block_diag([m, sp.diags(masses)], format="csr") if parts else m,
        nodes=places,
        node_ids=joints.nodes.ids,
        node_sets=joints.nodes.sets,
        triangles=mesh.surface_triangles(),
        source=mesh.source,
        unit=mesh.unit,
        elements=_counted(mesh)
        + ("" if layout.formulation == DEFAULT else f"; {layout.formulation!r}")
        + ("" if layout.mass == "consistent" else f"; {layout.mass} mass"),
        material=_described(material),
        mesh=mesh,
        groups=groups,
        structures=parts,
        rotating=freedoms.rotating,
        mass_points=concatenated_points([nodes_as_points(places, freedoms.size), *points])
        if parts or len(freedoms.rotating)
        else None,
        constraints=layout.constraints,
        arms=joints.arms,
        links=joints.links,
        turned=joints.turned,
        D=_checked_damping(joints, K, float(m.sum() + masses.sum())),
        held=layout.held,
    )


def _checked_damping(
    joints: ConnectionEffects, K: sp.csr_matrix, mass: float
) -> sp.csr_matrix | None:
    """Damping matrix, None without dampers.

    Raises InputError for dampers so strong that they hold nodes: above √(k m), with the stiffest
    node and the whole mass, or its moment of inertia.
    """
    if not joints.damping.nnz:
        return None
    places, c, k = joints.nodes.positions, joints.damping.diagonal(), K.diagonal()
    along, size = 3 * len(places), float(np.ptp(places, axis=0).max())
    stiffest = k[:along].max(initial=0.0)
    turning = k[along:].max(initial=0.0) or stiffest * size**2
    most = HOLDING * np.sqrt(mass * np.array([stiffest, turning * size**2]))
    ratio = c / most[(np.arange(len(c)) >= along).astype(int)]
    worst = int(np.argmax(ratio))
    if ratio[worst] > 1:
        node = joints.nodes.ids[joints.nodes.freedoms.node_of_block[worst // 3]]
        raise InputError(
            f"connections: damping {c[worst]:.3g} at node {node}: holds it; give at most"
            f" {c[worst] / ratio[worst]:.2g}, or a stiff Spring or Bushing"
        )
    return joints.damping


def _empty_matrices(n: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Empty stiffness (3n, 3n) and mass (n, n)."""
    return sp.csr_matrix((3 * n, 3 * n)), sp.csr_matrix((n, n))


@retain_freed_memory()
def _solid_matrices(
    mesh: Mesh, groups: tuple[ElementGroup, ...], lumped: bool
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Stiffness K (3N, 3N) and mass m (N, N) of the solid elements."""
    pattern = node_pattern(mesh)
    K_values, m_values = np.zeros(9 * pattern.nnz), np.zeros(pattern.nnz)
    for group in groups:
        _add_group(mesh.nodes, group, (pattern.indptr, pattern.indices, K_values, m_values))
    m = _lumped_mass(mesh, groups) if lumped else _with_values(pattern, m_values)
    return _with_values(three_to_a_node(pattern), K_values), m


def _add_group(nodes: Array, group: ElementGroup, storage: tuple[Any, ...]) -> None:
    """Add the matrices of a group of elements block by block while the next block is computed."""
    element, C = (
        group.element,
        elasticity_tensor(np.asarray(group.material.elasticity, dtype=float)),
    )
    rule, mass_rule = element.stiffness_tables, _mass_tables(element)
    nn = len(element.nodes)
    piece = max(1, CHUNK // (9 * (nn + len(element.internal)) ** 2))

    def matrices(table: Indices) -> tuple[Indices, tuple[Array, Array]]:
        """Stiffness and mass of the elements with these nodes."""
        x = nodes[table]
        K = np.ascontiguousarray(condensed(element_stiffness(x, rule, C), nn))
        return table, (K, element_mass(x, mass_rule, float(group.material.rho)))

    pieces = (
        (group.connectivity[first : first + piece],)
        for first in range(0, len(group.connectivity), piece)
    )
    with Threads() as threads:
        for table, found in threads.ahead(matrices, pieces):
            add_elements(table, found, storage)


def _padded(K: sp.csr_matrix, size: int) -> sp.csr_matrix:
    """Matrix K (size, size) with zero rows and columns appended."""
    if K.shape[0] == size:
        return K
    indptr = np.concatenate([K.indptr, np.full(size - K.shape[0], K.indptr[-1], K.indptr.dtype)])
    return sp.csr_matrix((K.data, K.indices, indptr), shape=(size, size))


def _described(material: Materials) -> str:
    """Text of one material or of several by name."""
    if not isinstance(material, Mapping):
        return repr(material)
    return "; ".join(f"{name}: {each!r}" for name, each in material.items())


def _mass_tables(element: Element) -> tuple[Array, Array, Array]:
    """Tables (N, dN/dξ, w) at the points of the mass rule."""
    points, weights = element.mass_rule.points, element.mass_rule.weights
    return (
        np.ascontiguousarray(element.shape_functions(points)),
        np.ascontiguousarray(element.gradients(points)),
        weights,
    )


def _warn_of_stiff_elements(mesh: Mesh) -> None:
    """Warn of linear tetrahedra, wedges and pyramids, which are far too stiff in bending."""
    stiff = {
        name: len(mesh.blocks[name].ids)
        for name in ("tet4", "wedge6", "pyramid5")
        if name in mesh.blocks
    }
    if stiff:
        what = " and ".join(f"{n} {name}" for name, n in stiff.items())
        message = f"{mesh.source}: {what} elements are far too stiff in bending; use second-order elements"
        warn_caller(message, PreprocessWarning)


def _warn_of_curved_triangles(mesh: Mesh, parts: Sequence[StructuralElement]) -> None:
    """Warn of thin shells of triangles on doubly curved surfaces."""
    shells = [each for each in parts if isinstance(each, Shells) and each.kind == "tri3"]
    if not shells:
        return
    table = np.concatenate([each.connectivity for each in shells])
    thickness = np.concatenate([each.thickness.mean(axis=1) for each in shells])
    curved = len(doubly_curved(mesh.nodes, table, thickness))
    if curved > CURVED * sum(len(block.ids) for block in mesh.structural.values()):
        message = (
            f"{mesh.source}: {curved} tri3 shells are on a doubly curved surface, where thin "
            "tri3 are too stiff; use quad4"
        )
        warn_caller(message, PreprocessWarning)


def _warn_of_opposite_normals(mesh: Mesh, parts: Sequence[StructuralElement]) -> None:
    """Warn of neighbouring shells with opposite normals that are not symmetric about the nodes.

    Their offset or stack of plies changes sides there.
    """
    shells = [each for each in parts if isinstance(each, Shells)]
    if all(each.section.is_reversible(each.material) for each in shells):
        return
    of = {int(number): each for each in shells for number in each.ids}
    tables = {name: block.connectivity for name, block in mesh.structural.items()}
    ids = {name: block.ids for name, block in mesh.structural.items()}
    edges = shell_edges(mesh.nodes, tables, ids)
    pairs = [(a, b) for a, b in opposite_neighbours(edges).tolist() if _change_sides(of[a], of[b])]
    if pairs:
        shown = ", ".join(f"{a} and {b}" for a, b in pairs[:SHOWN])
        message = (
            f"{mesh.source}: {len(pairs)} pair(s) of neighbouring shells have opposite normals, so"
            f" that their offset or plies change sides: elements {shown}; reverse the node order of"
            " one, or its offset and plies"
        )
        warn_caller(message, PreprocessWarning)


def _change_sides(one: Shells, two: Shells) -> bool:
    """True if shells with opposite normals lie on opposite sides of their nodes.

    This includes shells with one section that is not symmetric.
    """
    same = one.section is two.section and one.material is two.material
    if same:
        return not one.section.is_reversible(one.material)
    heights = [each.section.height(each.material) / each.thickness.max() for each in (one, two)]
    return bool(min(map(abs, heights)) > SYMMETRIC and heights[0] * heights[1] > 0)


def _counted(mesh: Mesh) -> str:
    """Text "12 hex8, 4 tet4"."""
    return ", ".join(f"{len(block.ids)} {name}" for name, block in mesh.blocks.items())


def _with_values(pattern: sp.csr_matrix, values: Array) -> sp.csr_matrix:
    """Matrix from a sorted pattern and its values."""
    matrix = sp.csr_matrix(
        (values, pattern.indices, pattern.indptr), shape=pattern.shape, copy=False
    )
    matrix.has_sorted_indices = True
    return matrix


def _lumped_mass(mesh: Mesh, groups: tuple[ElementGroup, ...]) -> sp.csr_matrix:
    """Diagonal m, see `lumped_mass`."""
    n = len(mesh.nodes)
    diagonal = np.zeros(n)
    for group in groups:
        diagonal += np.bincount(
            group.connectivity.ravel(), _element_diagonals(mesh.nodes, group).ravel(), minlength=n
        )
    return sp.diags(diagonal, format="csr")


def _element_diagonals(nodes: Array, group: ElementGroup) -> Array:
    """Lumped masses (ne, nn) of each element."""
    element, rule = group.element, group.element.mass_rule
    weights = (
        group.material.rho
        * rule.weights
        * element.jacobian_determinants(nodes[group.connectivity], rule.points)
    )
    linear = len(element.nodes) == element.corners
    return lumped_mass(weights, element.shape_functions(rule.points), linear=linear)
