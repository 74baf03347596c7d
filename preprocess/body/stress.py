"""Stress modes: the stress at the nodes of a body under each mode shape.

Static corrections for the unit loads are included. Components are ordered xx, yy, zz, xy, yz, zx.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray, IntArray
from flexmbs.flexible_body.plies import Plies
from flexmbs.flexible_body.stress import StressModes
from preprocess.fe.fe_model import FEModel
from preprocess.fe.nodal_stress import StressRows, elasticity, nodal_stress, stress_rows
from preprocess.fe.structural_element import PlyData, StructuralElement
from preprocess.inputs.argument_checks import checked_arguments

PRECISION = {"single": np.float32, "double": np.float64}
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


@checked_arguments
@dataclass(frozen=True)
class Stress:
    """Options of the stress modes.

    nodes: "surface" or "all". precision: "single" or "double". A body with n nodes, nf modes and k
    interfaces takes 24 n (nf + 12 + 6 k) bytes in single precision. Raises InputError.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, steel = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ... )
    >>> kept = pp.Stress(nodes="surface", precision="double")
    >>> bar = pp.reduce(
    ...     mesh, steel, interfaces={"root": pp.Rigid("x0")}, reference="root", stress=kept
    ... )
    >>> len(bar.stress.rows) == len(mesh.nodes)  # all nodes of this mesh are on its surface
    True
    """

    nodes: Literal["surface", "all"] = "surface"
    precision: Literal["single", "double"] = "single"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("nodes", self.nodes, ("surface", "all")),
            ("precision", self.precision, tuple(PRECISION)),
        ):
            if not isinstance(value, str) or value not in known:
                raise InputError(
                    f"stress.{name}: {value!r} is unknown; choose {' or '.join(map(repr, known))}"
                )

    def node_rows(self, fe: FEModel) -> IntArray:
        """Indices of the nodes."""
        return fe.surface_nodes if self.nodes == "surface" else np.arange(len(fe.nodes))


SURFACE_STRESS = Stress()


class BodyFields(NamedTuple):
    """Displacements with components in mesh axes, and the body's axes (3, 3) in mesh axes.

    shapes (3N, nf): mode shapes; unit (3N, 12 + 6k): displacements under the unit loads, with any
    supports; factors (12 + 6k,): load factors of the prestress, or None.
    """

    shapes: FloatArray
    unit: FloatArray
    axes: FloatArray
    factors: FloatArray | None = None


def stress_modes(
    fe: FEModel, body: BodyFields, interfaces: Sequence[str], choice: Stress = SURFACE_STRESS
) -> StressModes:
    """Stress of the shapes, static corrections, and the initial stress of the prestress.

    The static corrections are ``τ_j = σ(u_j) − Σ_k c_jk σ_k`` with ``c_j = (Φᵀ K Φ)⁻¹ Φᵀ K u_j``.
    interfaces: names in the order of the unit loads. Raises InputError if the model has no elements
    (given matrices).
    """
    if not fe.has_elements:
        raise InputError(
            f"{fe.source}: matrices have no elements for stress recovery; reduce the "
            "mesh, or set stress=None"
        )
    kind = PRECISION[choice.precision]
    rows = stress_rows(fe.groups, choice.node_rows(fe), len(fe.nodes))
    solids = [fe.materials.index(material) for material in rows.materials]
    rotation = stress_rotation(body.axes)
    loads, inner = fe.stiffness_product(body.shapes), fe.engine.inner
    static = scipy.linalg.solve(inner(loads, body.shapes), inner(loads, body.unit), assume_a="pos")
    fields = body.shapes, body.unit - body.shapes @ static
    missing = inner(fields[1], fe.mass_product(fields[1])) / fe.mass
    modes, correction = ((rotation @ _stress(fe, u, rows)).astype(kind) for u in fields)
    initial = None
    if body.factors is not None:
        initial = (rotation @ _stress(fe, (body.unit @ body.factors)[:, None], rows))[:, :, 0]
    return StressModes(
        rows=np.concatenate([rows.nodes, len(fe.nodes) + np.arange(len(fe.skin.material))]),
        modes=modes,
        correction=correction,
        interfaces=tuple(interfaces),
        material=np.concatenate(
            [np.array(solids, dtype=np.int64)[rows.material], fe.skin.material]
        ),
        compliance=np.array(
            [
                np.linalg.inv(rotation @ elasticity(material) @ rotation.T)
                for material in fe.materials
            ]
        ),
        yield_stress=np.array([material.yield_stress or np.inf for material in fe.materials]),
        initial=initial,
        missing=0.5 * (missing + missing.T),
        plies=_plies(fe.structures, len(rows.nodes), body.axes),
    )


def _plies(structures: Sequence[StructuralElement], first: int, axes: FloatArray) -> Plies | None:
    """Plies of the shells whose faces have the rows from ``first`` on.

    Element by element; axes (3, 3): of the body.
    """
    faces, turned, owner, found = [], [], [], list[PlyData]()
    for each in structures:
        elements, points = each.skin()[0].positions.shape[:2]
        rows, laminate = first + np.arange(elements * points), each.laminate()
        first += elements * points
        if laminate is None:
            continue
        faces.append(rows.reshape(elements, 2, -1).transpose(1, 0, 2).reshape(2, -1))
        turned.append((laminate.axes @ axes).reshape(-1, 3, 3))
        owner.append(np.full(faces[-1].shape[1], len(found)))
        found.append(laminate.plies)
    if not found:
        return None
    bottom, top = np.concatenate(faces, axis=1)
    start = np.cumsum([0, *(len(each.angle) for each in found)])
    data = PlyData(*(np.concatenate(each) for each in zip(*found)))
    return Plies(bottom, top, np.concatenate(turned), np.concatenate(owner), start, *data)


def _stress(fe: FEModel, u: FloatArray, rows: StressRows) -> FloatArray:
    """Stress (r, 6, k) under displacements u (n, k), in mesh axes.

    At the rows of solids and at the points of the skin.
    """
    skins = [each.stress() @ u[each.dofs][:, None] for each in fe.structures]
    return np.concatenate(
        [
            nodal_stress(fe.groups, fe.nodes, u, rows),
            *(each.reshape(-1, 6, u.shape[1]) for each in skins),
        ]
    )


def stress_rotation(axes: FloatArray) -> FloatArray:
    """Matrix T (6, 6) with σ' = T σ, the stress components along ``axes`` (3, 3).

    The columns of ``axes`` are given in the present axes. The elasticity matrix becomes C' = T C
    Tᵀ.
    """
    T = np.empty((6, 6))
    for c, (i, j) in enumerate(_PAIRS):
        for d, (p, q) in enumerate(_PAIRS):
            T[c, d] = axes[p, i] * axes[q, j] + (axes[q, i] * axes[p, j] if p != q else 0.0)
    return T
