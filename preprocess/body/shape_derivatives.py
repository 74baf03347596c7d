"""Derivatives of the shapes of a reduction by parameters of the part, from its factor.

    constraint modes   K_ii Ψ_i = −K_ib:   Ψ' = V + A(−K'Ψ − K V + L'λ)
    normal modes       (K − ω²M) φ = L λ:  (K − ω²M) z = −(K' − ω²M') φ − (K − ω²M) V + L'λ,   φ' = V + z

with A the static response under the supports of the modes, V = T' q the motion of the nodes of
rigid interfaces u = T(p) q, and L'λ the forces of averaged interfaces, whose weights L follow the
nodes. Nelson's equation for z is singular in the modes themselves. Only the *space* of the shapes
of a basis matters, and it contains these components of z, so that equal frequencies among the modes
need no special treatment. Outside of them K − ω²M is positive definite, and conjugate gradients
with A solve for all modes at once, without another factorization. K' φ and M' φ are differences of
assembled matrices.

Sources: Nelson, AIAA Journal 14 (1976) 1201; Sutter, Camarda, Walsh and Adelman, AIAA Journal 26
(1988) 1506 (iterations with the factor of K); docs/theory.md, section 57.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, SolverError, shown
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.aligned_bodies import PLACES, STEP, mesh_axes, slope_of, surface_of
from preprocess.fe.assembly import assemble
from preprocess.fe.element_groups import Materials
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import BoundInterface, Interface, bind_interfaces, interface_index
from preprocess.mesh.mesh import Mesh
from preprocess.reduction import CraigBampton, FreeModes, Guyan, Reduction
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.normal_modes import NormalModeReduction

# relative distance of the squared frequencies of the last mode and the first omitted one, below
# which they count as equal: derivatives of the space of shapes grow with its inverse
CLOSE = 1e-4
# relative difference of the base's shapes from those of the part and method, above the errors of
# modes and below any change of interest
SAME = 1e-6
# final residual of conjugate gradients relative to the first: derivatives then have about ten
# digits
TOLERANCE = 1e-11
# largest number of steps; at the condition number 1/CLOSE the bound of conjugate gradients is 1300
# steps, and few modes near the gap need far less
ITERATIONS = 1000
CONSTRAINT = "constraint modes"


class _VariedPart(NamedTuple):
    """Part with varied parameters: its model, without a factor, and its interfaces."""

    fe: FEModel
    bound: tuple[BoundInterface, ...]


class _ShapeGroup(NamedTuple):
    """Shapes u (3N, k) of one kind with ω² (k,), 0 for static ones.

    ``free``: with interfaces free to move.
    """

    u: FloatArray
    omega2: FloatArray
    free: bool


@checked_arguments
def shape_derivatives(
    base: FlexibleBodyData,
    parts: Callable[..., tuple[Mesh, Materials]],
    at: Mapping[str, float],
    *,
    interfaces: Mapping[str, Interface],
    method: Reduction,
    reference: str,
    scales: Mapping[str, float] | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> dict[str, FloatArray]:
    """Derivatives (N, 3, nf) of the shapes of a body with respect to parameters of its part.

    Those of the eigenvectors are included; one factorization suffices.

    base: the body of `reduce` at these parameters, without prestress and inertia loads. parts:
    returns mesh and material for parameters given by keyword. at: the parameters. interfaces,
    method, reference: as of `reduce` for the base: `CraigBampton` without inertia relief, `Guyan`
    or `FreeModes`, at an interface. scales: magnitudes of the parameters, by default their absolute
    values, 1 for a zero. keep: file with the factor of the base's stiffness, as of `reduce`; then
    nothing is factorized.

    `with_shapes(…, reference=…, change=δp Φ')` is a body whose arrays have, at the base, the
    derivatives of those of a new reduction in the modal coordinates nearest to the base's
    (`aligned`), to about 1e-7: of K_ff, D_ff, shape integrals, stress modes and the motion of
    interfaces. With the base's shapes alone (no ``change``) the derivatives with respect to E and ρ
    of a part of one material are exact, since its shapes do not depend on them, and so are those of
    the frequencies, which are stationary. For parameters that change the shapes, such as thickness,
    nodes, Poisson's ratio or one of several materials, the other derivatives lack the contribution
    of the shapes; for stress the error exceeds the derivative itself. Static corrections of stress
    have no derivatives, see `with_shapes`. Equal frequencies among the modes are no obstacle.
    Raises InputError if the last mode has the same frequency as the next, omitted one: the space of
    shapes then has no derivative.

    Examples
    --------
    >>> import preprocess as pp
    >>> mesh, ends = (
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
    ... )
    >>> how = {"interfaces": ends, "method": pp.CraigBampton(modes=2), "reference": "root"}
    >>> base = pp.reduce(mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), **how)
    >>> def part(E, nu):
    ...     return mesh, pp.Isotropic(E=E, nu=nu, rho=7850.0)
    >>> slopes = pp.shape_derivatives(base, part, {"E": 2.1e11, "nu": 0.3}, **how)
    >>> size = abs(base.surface.phi).max()
    >>> (
    ...     (2.1e11 * abs(slopes["E"]).max() / size < 1e-9).item(),
    ...     (abs(slopes["nu"]).max() / size > 1e-3).item(),
    ... )
    (True, True)
    """
    _check_method(method)
    scales, surface = dict(scales or {}), surface_of(base, "base")
    here = _varied_part(parts, dict(at), interfaces)
    if here.fe.constraints.T is not None or here.fe.freedoms.size != 3 * len(here.fe.nodes):
        raise InputError(
            "parts: gives beams, shells or connections, whose shapes have no derivatives "
            "here; take pp.aligned"
        )
    if len(surface.nodes) != len(here.fe.nodes):
        raise InputError(
            f"parts: gives {len(here.fe.nodes)} nodes, the base has {len(surface.nodes)}; "
            "move the nodes of its mesh only"
        )
    statics = InterfaceStatics(here.fe, here.bound, keep)
    index = interface_index(reference, [each.name for each in here.bound], "reference")
    axes = mesh_axes(surface.nodes, here.fe.nodes)[1]
    shapes = np.einsum("ab,nbk->nak", axes, surface.phi).reshape(-1, base.nf)
    kinds, found = _fields(statics, method), {}
    own = sum(each.u.shape[1] for each in kinds)
    if own != base.nf:
        raise InputError(
            f"base: has {base.nf} modes, the space of the method {own}; give the method "
            "of its reduction"
        )
    X = _coordinates(statics, kinds, shapes, index)
    for name, value in at.items():
        step = STEP * (scales.get(name) or abs(value) or 1.0)
        beside = [_varied_part(parts, {**at, name: value + c * step}, interfaces) for c in PLACES]
        for each in beside:
            if each.fe.freedoms.size != here.fe.freedoms.size:
                raise InputError(
                    f"parts: gives other nodes at another {name}; move the nodes of the "
                    "base's mesh only"
                )
        change = _PartDerivative(statics, beside, step)
        slope = _of_body(change, kinds, shapes, X, index)
        found[name] = np.einsum("ba,nbk->nak", axes, slope.reshape(-1, 3, base.nf))
    return found


def _check_method(method: Reduction) -> None:
    """Raise `InputError` for reductions whose shapes have no derivatives."""
    if not isinstance(method, CraigBampton | Guyan | FreeModes) or (
        isinstance(method, CraigBampton) and method.inertia_relief
    ):
        raise InputError(
            f"method: the shapes of {type(method).__name__} have no derivatives; "
            "use CraigBampton without inertia relief, "
            "Guyan or FreeModes, or differences of pp.aligned"
        )


def _varied_part(
    parts: Callable[..., tuple[Mesh, Materials]],
    numbers: dict[str, float],
    interfaces: Mapping[str, Interface],
) -> _VariedPart:
    """Mesh and materials of the part with other parameters. Raises `InputError`."""
    try:
        found = parts(**numbers)
    except TypeError as error:
        raise InputError(
            f"parts: does not take {', '.join(numbers)} ({str(error)[:100]})"
        ) from error
    if not isinstance(found, tuple) or len(found) != 2:
        raise InputError(f"parts: gives {shown(found)}; return a mesh and its material")
    fe = assemble(*found)
    return _VariedPart(
        fe, tuple(bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms))
    )


def _fields(statics: InterfaceStatics, method: Reduction) -> list[_ShapeGroup]:
    """Shapes of a basis by kind, modes improved to round-off by a step of Newton's method.

    Raises InputError if their space ends within equal frequencies.
    """
    # that no mode is missed was verified for the base, with factors of its own
    if isinstance(method, NormalModeReduction):
        method = dataclasses.replace(method, verify=False)
    basis = method.basis(statics, lambda step, fraction: None)
    found = []
    for name, u in basis.shapes.items():
        normal = name != CONSTRAINT
        omega2 = (2.0 * np.pi * basis.normal_frequencies) ** 2 if normal else np.zeros(u.shape[1])
        if normal and isinstance(method, NormalModeReduction):
            _check_gap(statics, method, omega2)
            residual = statics.fe.stiffness_product(u) - omega2 * statics.fe.mass_product(u)
            u = u - projected_solution(
                statics.supported(method.held(statics)),
                statics.fe.mass_product,
                residual,
                omega2,
                u,
            )
        found.append(_ShapeGroup(u, omega2, isinstance(method, FreeModes)))
    return found


def _check_gap(statics: InterfaceStatics, method: NormalModeReduction, omega2: FloatArray) -> None:
    """Raise `InputError` if the last mode and the first omitted one coincide."""
    n = len(omega2)
    if n < method.degrees_of_freedom(statics):
        after = float(statics.modes(method.held(statics), count=n + 1).omega[-1] ** 2)
        if not omega2[-1] < (1.0 - CLOSE) * after:
            raise InputError(
                f"method: its mode {n} and mode {n + 1}, which is omitted, have the same "
                "frequency, "
                f"{np.sqrt(after) / (2.0 * np.pi):.6g} Hz: the shapes have no derivative; "
                f"use {n + 1} or {n - 1} modes"
            )


class _PartDerivative:
    """Derivatives with respect to one parameter, by differences of neighbouring parts.

    The matrices and interfaces are differentiated and applied to the shapes of a base.
    """

    def __init__(self, statics: InterfaceStatics, beside: list[_VariedPart], step: float) -> None:
        self.statics, self.fe, self.beside, self.step = statics, statics.fe, beside, step
        self.T = [
            self._slope([each.bound[k].rigid_motion for each in beside])
            for k in range(len(statics.interfaces))
        ]
        self.L = [
            self._slope([each.bound[k].average for each in beside])
            for k in range(len(statics.interfaces))
        ]

    def _slope(self, values: list[FloatArray]) -> FloatArray:
        """Derivative of values by central differences."""
        return slope_of(values, self.step)

    def conditions(self, u: FloatArray, index: int) -> FloatArray:
        """C' u (6, k) of the motion of an interface."""
        return np.asarray(self.L[index] @ u[self.statics.interfaces[index].dofs])

    def rigid_motion(self) -> FloatArray:
        """R' (3N, 6) about the base's centre of mass."""
        return self._slope([each.fe.rigid_motion(self.fe.centre_of_mass) for each in self.beside])

    def of(self, kind: _ShapeGroup, all_modes: FloatArray) -> FloatArray:
        """Derivatives u' (3N, k) of shapes, up to components in the space of the shapes."""
        u, omega2, statics = kind.u, kind.omega2, self.statics
        residual = self._dynamic(u, omega2)
        loads = -self._slope(
            [
                each.fe.stiffness_product(u) - omega2 * each.fe.mass_product(u)
                for each in self.beside
            ]
        )
        v, q = np.zeros_like(u), np.zeros((statics.coordinates, u.shape[1]))
        motion, reaction = statics.interface_motion(u), statics.constraint_modes().T @ residual
        for k, interface in enumerate(statics.interfaces):
            own, at = interface.dofs, slice(6 * k, 6 * k + 6)
            if interface.drives_nodes:
                T = self.T[k].reshape(-1, 6)
                v[own] += T @ motion[at]
                if kind.free:
                    loads[own] -= interface.average.T @ (T.T @ residual[own])
            elif not kind.free:
                loads[own] += self.L[k].T @ reaction[at]
                q[at] = -self.L[k] @ u[own]
        v += 0.0 if kind.free else statics.constraint_modes() @ q
        loads -= self._dynamic(v, omega2)
        response = statics.free_response if kind.free else statics.response
        return np.asarray(
            v + projected_solution(response, self.fe.mass_product, loads, omega2, all_modes)
        )

    def _dynamic(self, u: FloatArray, omega2: FloatArray) -> FloatArray:
        """(K − ω² M) u for shapes u."""
        return np.asarray(self.fe.stiffness_product(u) - omega2 * self.fe.mass_product(u))


def _coordinates(
    statics: InterfaceStatics, kinds: list[_ShapeGroup], shapes: FloatArray, index: int
) -> FloatArray:
    """Matrix X of Φ = B X: coordinates of body shapes in the basis B.

    B contains the rigid-body modes R and the shapes of the basis.

    Raises InputError for shapes of another part, method or body frame.
    """
    B = np.hstack([statics.fe.rigid_motion(statics.fe.centre_of_mass), *(each.u for each in kinds)])
    size = np.linalg.norm(B, axis=0)
    X = np.asarray(np.linalg.lstsq(B / size, shapes, rcond=None)[0] / size[:, None])
    left = float(np.linalg.norm(shapes - B @ X) / np.linalg.norm(shapes))
    if not left < SAME:
        raise InputError(
            f"base: its shapes are not those of the part and method, by {left:.1e}; give "
            "the numbers and options of its"
            " reduction, without prestress and inertia loads"
        )
    held = statics.interfaces[index]
    moved = np.linalg.norm(held.average @ shapes[held.dofs]) / np.linalg.norm(
        held.average @ B[held.dofs]
    )
    if not moved < SAME * np.linalg.norm(X):
        raise InputError(
            f"reference: shapes of the base move {held.name}; give the interface that "
            "carries its frame"
        )
    return X


def _of_body(
    change: _PartDerivative, kinds: list[_ShapeGroup], shapes: FloatArray, X: FloatArray, index: int
) -> FloatArray:
    """Derivative (3N, nf) of the shapes of the body, up to components in their own space.

    Φ = B X with B = [R | shapes of the basis]: Φ' = B'X − R (C R)⁻¹ (C'Φ + C B'X), C the conditions
    of the body frame.
    """
    statics = change.statics
    R = statics.fe.rigid_motion(statics.fe.centre_of_mass)
    none = np.zeros((len(R), 0))
    slopes = [
        change.rigid_motion(),
        *(change.of(each, each.u if each.omega2.any() else none) for each in kinds),
    ]
    moved = np.hstack(slopes) @ X
    dofs, C = statics.interfaces[index].dofs, statics.interfaces[index].average
    moved -= R @ np.linalg.solve(C @ R[dofs], change.conditions(shapes, index) + C @ moved[dofs])
    return np.asarray(moved - shapes @ np.linalg.lstsq(shapes, moved, rcond=None)[0])


def projected_solution(
    response: Callable[[FloatArray], FloatArray],
    mass: Callable[[FloatArray], FloatArray],
    loads: FloatArray,
    omega2: FloatArray,
    modes: FloatArray,
) -> FloatArray:
    """Solution z (3N, k) of (K − ω²M) z = loads in the complement of M-orthonormal modes φ.

    Solves (1 − ω² P A M) z = P A loads, P = 1 − φ φᵀM, by conjugate gradients in the inner product
    of M, in which A M is symmetric. Raises SolverError.
    """
    M_modes = mass(modes) if modes.shape[1] else modes

    def outside(u: FloatArray) -> FloatArray:
        """Part of u that is mass-orthogonal to the modes."""
        return np.asarray(u - modes @ (M_modes.T @ u))

    z = outside(response(loads))
    if not omega2.any():
        return z
    rest = omega2 * outside(response(mass(z)))  # of the equation at z = P A loads
    first = square = np.einsum("ij,ij->j", rest, mass(rest))
    direction = rest
    for _ in range(ITERATIONS):
        if (square <= TOLERANCE**2 * first).all():
            return z
        ahead = direction - omega2 * outside(response(mass(direction)))
        length = np.einsum("ij,ij->j", direction, mass(ahead))
        part = np.where(length > 0.0, square / np.where(length > 0.0, length, 1.0), 0.0)
        z, rest = z + part * direction, rest - part * ahead
        after = np.einsum("ij,ij->j", rest, mass(rest))
        direction = (
            rest
            + np.where(square > 0.0, after / np.where(square > 0.0, square, 1.0), 0.0) * direction
        )
        square = after
    raise SolverError(
        f"method: derivatives of its modes do not converge in {ITERATIONS} steps; take "
        "differences of pp.aligned"
    )
