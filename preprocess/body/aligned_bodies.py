"""Bodies of a varied part in common modal coordinates, and derivatives of their arrays.

The bodies differ in materials and nodal positions.

    fixed shapes:  K_ff(p) = Φᵀ K(p) Φ,  Z(p) = Wᵀ m(p) W,  W = [1 | x(p) | Φ]   with the shapes Φ of a base body, or Φ + δp Φ',
    own modes:     φ(p) T(p),  T(p) = argmin ‖φ(p) T − Φ‖,  K_ff → Tᵀ K_ff T, …

Every reduction chooses the signs and the order of its modes and, for coinciding frequencies, their
directions. The first form keeps the shapes of the base: it needs no factorization, and its error
grows with the distance of p from the base. The second form is a new reduction expressed in the
modal coordinates nearest to those of the base. Both are smooth functions of p, so that differences
of bodies give the derivatives of all arrays. Those of the second form include the derivatives of
the eigenvectors, as do those of the first with the Φ' of `preprocess.body.shape_derivatives`.

Sources: Nelson, AIAA Journal 14 (1976) 1201 (derivatives of eigenvectors); Friswell, J. Vib.
Acoust. 118 (1996) 390 (of repeated frequencies).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError
from flexmbs.flexible_body.components import (
    FlexibleFrame,
    FloatArray,
    GeometricStiffness,
    Surface,
    mode_table,
)
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import StressModes
from preprocess.body.shape_integrals import shape_integrals
from preprocess.body.stress import stress_rotation
from preprocess.fe.assembly import assemble
from preprocess.fe.element_groups import Materials
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import BoundInterface, Interface, bind_interfaces, interface_index
from preprocess.fe.nodal_stress import elasticity, nodal_stress, stress_rows
from preprocess.inputs.argument_checks import floats, instance
from preprocess.mesh.mesh import Mesh

# smallest over largest singular value of T, which are about the cosines of the angles between both
# spaces of shapes: at more than 60° the modes have changed identity
ALIKE = 0.5
# distance between nodes of a body and of its mesh, relative to the size of the part: far above the
# round-off of a rotation, far below any change of the nodes
RIGID = 1e-9
# difference step relative to a parameter: the fourth-order formula has a relative error of about
# STEP⁴/30 = 9e-12; smaller steps would amplify round-off
STEP = 4e-3
PLACES = (1.0, -1.0, 2.0, -2.0)  # steps of the fourth-order central difference, in steps `STEP`


@checked_arguments
def aligned(body: FlexibleBodyData, base: FlexibleBodyData) -> FlexibleBodyData:
    """Body in the modal coordinates nearest to those of a base: shapes φ T, T = argmin ‖φ T − Φ‖.

    body: a reduction of the part with other materials or nodes. base: the body with the shapes Φ,
    at the same nodes. K_ff and D_ff are no longer diagonal. Raises `InputError` for other nodes or
    numbers of modes, and if the shapes span a different space.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, how = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     {"method": pp.CraigBampton(modes=2), "reference": "root"},
    ... )
    >>> base, heavier = (
    ...     pp.reduce(
    ...         mesh,
    ...         pp.Isotropic(E=2.1e11, nu=0.3, rho=rho),
    ...         interfaces={"root": pp.Rigid("x0")},
    ...         **how,
    ...     )
    ...     for rho in (7850.0, 8000.0)
    ... )
    >>> other = pp.aligned(heavier, base)
    >>> abs(other.K_ff / base.K_ff[0, 0] - [[1, 0], [0, 1]]).max().round(
    ...     6
    ... ).item()  # the stiffness does not depend on ρ
    0.0
    """
    own, shapes = (
        surface_of(each, "body" if each is body else "base").phi for each in (body, base)
    )
    if own.shape != shapes.shape:
        raise InputError(
            f"body: has {own.shape[2]} modes at {own.shape[0]} nodes, the base "
            f"{shapes.shape[2]} at {shapes.shape[0]}; reduce "
            "the same mesh with other nodes or materials, with the same options"
        )
    found, wanted = (each.reshape(-1, own.shape[2]) for each in (own, shapes))
    T = np.linalg.lstsq(found, wanted, rcond=None)[0]
    size = np.linalg.svd(
        T * np.linalg.norm(found, axis=0)[:, None] / np.linalg.norm(wanted, axis=0),
        compute_uv=False,
    )
    if not size[-1] > ALIKE * size[0]:
        raise InputError(
            "body: its modes span a different space than those of the base; use parameters "
            "closer to the base's"
        )
    return transformed(body, np.asarray(T, float))


def transformed(body: FlexibleBodyData, T: FloatArray) -> FlexibleBodyData:
    """Body with modal coordinates q' of q = T q': shapes φ T."""

    def both(K: FloatArray) -> FloatArray:
        """Tᵀ K T for the last two axes of K."""
        return np.asarray(np.einsum("ki,...kl,lj->...ij", T, K, T))

    K, D, SS = both(body.K_ff), both(body.D_ff), both(body.SS)
    S_bar, xS = body.S_bar @ T, body.xS @ T
    surface, geometric, stress = body.surface, body.geometric, body.stress
    return dataclasses.replace(
        body,
        K_ff=K,
        D_ff=D,
        SS=SS,
        S_bar=S_bar,
        xS=xS,
        modes=mode_table(K, D, SS[0, 0] + SS[1, 1] + SS[2, 2], S_bar, xS),
        frames={
            name: dataclasses.replace(
                frame, phi=frame.phi @ T, psi=frame.psi @ T, local=frame.local @ T
            )
            for name, frame in body.frames.items()
        },
        surface=None if surface is None else dataclasses.replace(surface, phi=surface.phi @ T),
        geometric=None
        if geometric is None
        else GeometricStiffness(
            both(geometric.acceleration),
            both(geometric.angular_acceleration),
            both(geometric.rotation),
            {name: both(K0) for name, K0 in geometric.frames.items()},
        ),
        stress=None
        if stress is None
        else dataclasses.replace(stress, modes=np.asarray(stress.modes @ T)),
        damping_rows=body.damping_rows @ T,
    )


@checked_arguments
def with_shapes(
    base: FlexibleBodyData,
    mesh: Mesh,
    part: Mesh,
    material: Materials,
    *,
    interfaces: Mapping[str, Interface],
    reference: str | None = None,
    change: FloatArray | None = None,
) -> FlexibleBodyData:
    """Body of a part with other materials or nodes, in the shapes of a base body.

    base: the body, with its surface. mesh: that of the base. part: the mesh with other nodes, or
    the same one. material: of the part. interfaces: as of the base. reference: the interface that
    carries the body frame; by default the frame stays where the base has it. change (N, 3, nf): of
    the shapes, in the base's axes, see `shape_derivatives`. No factorization is needed. Ratios of
    damping are those of the base's modes, ``D = m V diag(2 ζ_k ω_k) Vᵀ m`` with the modes V of K_ff
    and m; there is no geometric stiffness and no static correction of stress. Raises `InputError`
    for other nodes or interfaces.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, ends = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), {"root": pp.Rigid("x0")}
    >>> base = pp.reduce(
    ...     mesh,
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     interfaces=ends,
    ...     reference="root",
    ...     stiffening=False,
    ... )
    >>> softer = pp.with_shapes(
    ...     base, mesh, mesh, pp.Isotropic(E=1.05e11, nu=0.3, rho=7850.0), interfaces=ends
    ... )
    >>> (softer.K_ff[0, 0] / base.K_ff[0, 0]).round(6).item()
    0.5
    """
    instance(mesh, Mesh, "mesh", "the mesh of the base")
    instance(part, Mesh, "part", "a mesh")
    surface = surface_of(base, "base")
    for key, each in (("mesh", mesh), ("part", part)):
        if len(each.nodes) != len(surface.nodes):
            raise InputError(
                f"{key}: has {len(each.nodes)} nodes, the base {len(surface.nodes)}; move "
                "the nodes of its mesh only, of solids"
            )
    origin, axes = mesh_axes(surface.nodes, mesh.nodes)
    phi = surface.phi if change is None else surface.phi + _change(change, surface.phi.shape)
    u = np.einsum("ab,nbk->nak", axes, phi)
    fe = assemble(part, material)
    bound = bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles)
    if {each.name for each in bound} != set(base.frames):
        raise InputError(
            f"interfaces: {', '.join(sorted(each.name for each in bound))} are not those "
            "of the base"
        )
    if reference is not None:
        carrier = bound[interface_index(reference, [each.name for each in bound], "reference")]
        origin, axes = carrier.position, carrier.axes
    shapes, phi = u.reshape(-1, base.nf), np.einsum("ba,nbk->nak", axes, u)
    x = (fe.nodes - origin) @ axes
    integrals = shape_integrals(fe.m, x, phi)
    K = shapes.T @ fe.stiffness_product(shapes)
    K, m = 0.5 * (K + K.T), integrals.SS[0, 0] + integrals.SS[1, 1] + integrals.SS[2, 2]
    omega2, V = scipy.linalg.eigh(K, 0.5 * (m + m.T))
    D = (m @ V) @ np.diag(2.0 * base.modes.damping * np.sqrt(np.maximum(omega2, 0.0))) @ (m @ V).T
    return FlexibleBodyData(
        base.name,
        **integrals._asdict(),
        K_ff=K,
        D_ff=D,
        frames={each.name: _frame(each, shapes, origin, axes) for each in bound},
        modes=mode_table(K, D, m, integrals.S_bar, integrals.xS),
        surface=dataclasses.replace(surface, nodes=x, phi=phi),
        provenance={"shapes": f"those of {base.name}"},
        stress=_stress(base.stress, fe, shapes, axes),
    )


def _change(given: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Array of shape changes with a given shape. Raises `InputError`."""
    found = floats(given, "change")
    if found.shape != shape:
        raise InputError(
            f"change: has the shape {found.shape}, the shapes of the base {shape}; use the "
            "result of shape_derivatives"
        )
    return found


class BodyDerivatives(NamedTuple):
    """Derivatives of the arrays of a body.

    Names and shapes are those of `flexmbs.flexible_body.FlexibleBodyData`. Those of the stress
    modes are (n, 6, nf), or None without stress modes.
    """

    mass: float
    first_moment: FloatArray
    second_moment: FloatArray
    S_bar: FloatArray
    xS: FloatArray
    SS: FloatArray
    K_ff: FloatArray
    D_ff: FloatArray
    stress: FloatArray | None


@checked_arguments
def body_derivatives(
    make: Callable[..., FlexibleBodyData],
    at: Mapping[str, float],
    *,
    scales: Mapping[str, float] | None = None,
) -> dict[str, BodyDerivatives]:
    """Derivatives of the arrays of a body by the arguments of the function that makes it.

    The arrays are the shape integrals, K_ff, D_ff and the stress modes.

    make: returns a body for numbers given by keyword, from `aligned` or `with_shapes`, so that all
    bodies have the same modal coordinates. at: the numbers. scales: their sizes, by default their
    absolute values, 1 for a zero. Differences of fourth order of bodies, with steps of 4e-3 of the
    sizes: exact but for round-off where K and m are polynomials of the number up to the fourth
    degree, as in E, ρ and, with fixed shapes, factors of nodal coordinates nearly are. Raises
    `InputError`.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, ends = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), {"root": pp.Rigid("x0")}
    >>> base = pp.reduce(
    ...     mesh,
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     interfaces=ends,
    ...     reference="root",
    ...     stiffening=False,
    ... )
    >>> def bar(E, rho):
    ...     return pp.with_shapes(
    ...         base, mesh, mesh, pp.Isotropic(E=E, nu=0.3, rho=rho), interfaces=ends
    ...     )
    >>> found = pp.body_derivatives(bar, {"E": 2.1e11, "rho": 7850.0})
    >>> (
    ...     round(found["rho"].mass, 9),
    ...     (2.1e11 * found["E"].K_ff[0, 0] / base.K_ff[0, 0]).round(6).item(),
    ... )  # the volume; K_ff ~ E
    (0.00016, 1.0)
    """
    scales = dict(scales or {})
    found = {}
    for name, value in at.items():
        step = STEP * (scales.get(name) or abs(value) or 1.0)
        bodies = [make(**{**at, name: value + c * step}) for c in PLACES]
        modes = [each.stress.modes for each in bodies if each.stress is not None]
        stress = modes if len(modes) == len(bodies) else None
        arrays = {
            key: slope_of([getattr(each, key) for each in bodies], step)
            for key in BodyDerivatives._fields[:-1]
        }
        found[name] = BodyDerivatives(
            **arrays | {"mass": float(arrays["mass"])},  # type: ignore[arg-type]
            stress=None
            if stress is None
            else slope_of([np.asarray(each, float) for each in stress], step),
        )
    return found


def slope_of(values: list[FloatArray], step: float) -> FloatArray:
    """Fourth-order central difference of values at four places."""
    near, far = (
        (np.asarray(values[k]) - np.asarray(values[k + 1])) / (2.0 * PLACES[k] * step)
        for k in (0, 2)
    )
    return np.asarray((4.0 * near - far) / 3.0)


def surface_of(body: FlexibleBodyData, key: str) -> Surface:
    """Surface of a body with nodal shapes. Raises `InputError`."""
    instance(body, FlexibleBodyData, key, "a flexible body from reduce")
    if body.surface is None:
        raise InputError(f"{key}: has no surface with shapes at its nodes; use a body from reduce")
    return body.surface


def mesh_axes(own: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Origin and axes of a body frame in mesh axes: nodes = own · axesᵀ + origin.

    Raises `InputError` for other nodes.
    """
    centre, middle = own.mean(axis=0), nodes.mean(axis=0)
    axes = scipy.linalg.orthogonal_procrustes(own - centre, nodes - middle)[0].T
    origin = middle - axes @ centre
    left = np.abs(own @ axes.T + origin - nodes).max()
    if not left <= RIGID * np.ptp(nodes, axis=0).max():
        raise InputError(
            f"mesh: its nodes differ from those of the base by {left:.3g} m; give the mesh "
            "that was reduced"
        )
    return origin, axes


def _frame(
    interface: BoundInterface, shapes: FloatArray, origin: FloatArray, axes: FloatArray
) -> FlexibleFrame:
    """Frame of an interface with the motion that fits that of its nodes best."""
    rows = (3 * interface.nodes[:, None] + np.arange(3)).ravel()
    motion = interface.average @ shapes[rows]
    return FlexibleFrame(
        x=axes.T @ (interface.position - origin),
        R=axes.T @ interface.axes,
        phi=axes.T @ motion[:3],
        psi=axes.T @ motion[3:],
        kind=interface.kind,
    )


def _stress(
    given: StressModes | None, fe: FEModel, shapes: FloatArray, axes: FloatArray
) -> StressModes | None:
    """Stress modes of the shapes at the given nodes, without static corrections."""
    if given is None:
        return None
    rows = stress_rows(fe.groups, np.unique(given.rows), len(fe.nodes))
    rotation = stress_rotation(axes)
    return dataclasses.replace(
        given,
        modes=rotation @ nodal_stress(fe.groups, fe.nodes, shapes, rows),
        correction=np.zeros(given.correction.shape),
        rows=rows.nodes,
        material=rows.material,
        missing=None,
        initial=None,
        plies=None,
        compliance=np.array(
            [np.linalg.inv(rotation @ elasticity(each) @ rotation.T) for each in rows.materials]
        ),
        yield_stress=np.array([each.yield_stress or np.inf for each in rows.materials]),
    )
