"""Reduction of a finite-element model to a flexible body: `reduce`."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.components import (
    FlexibleFrame,
    FloatArray,
    GeometricStiffness,
    ModeTable,
    ResidualModes,
    Surface,
    x_cross_shapes,
)
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.stress import StressModes
from preprocess.body.body_modes import BodyModes, body_modes, reference_shapes
from preprocess.body.certified_basis import certificate_facts, chosen_basis, request_of
from preprocess.body.damping import Damping, damping_matrix, damping_ratios
from preprocess.body.geometric_stiffness import reduced_geometric_stiffness
from preprocess.body.prestress import Prestress, prestressed
from preprocess.body.provenance import default_name, provenance
from preprocess.body.reference import Reference, reference_of
from preprocess.body.rigid_body_check import check_interface_masses, rigid_body_modes
from preprocess.body.shape_integrals import ShapeIntegrals, shape_integrals
from preprocess.body.stress import SURFACE_STRESS, BodyFields, Stress, stress_modes
from preprocess.body.unit_loads import INERTIAL, BodyLoads, inertial_loads
from preprocess.fe.assembly import assemble
from preprocess.fe.element_groups import Materials
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import BoundInterface, Interface, bind_interfaces
from preprocess.inputs.argument_checks import checked_arguments, flag, instance
from preprocess.mesh.mesh import Mesh
from preprocess.reduction import Basis, Progress, Reduction
from preprocess.reduction.accuracy import accuracy
from preprocess.reduction.damped_poles import damper_forces, pole_errors, pole_facts
from preprocess.reduction.independent_shapes import ElasticShapes, elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.residual_modes import residual_modes
from preprocess.solve.threads import on_threads

# relative tolerance of the comparison of frequencies that are equal but for round-off
ROUND_OFF = 1e-9
# of options that may be None: type, name and example for the message
KINDS: dict[str, tuple[Any, str, str]] = {
    "progress": (Callable, "progress", "a function of step and fraction"),
    "method": (Reduction, "method", "a reduction, such as CraigBampton(modes=12)"),
    "name": (str, "name", "a string"),
    "stress": (Stress, "stress", "Stress() or None"),
    "prestress": (
        Prestress,
        "prestress",
        "a Prestress, such as Prestress({'tip': (1e3, 0, 0, 0, 0, 0)})",
    ),
}


@checked_arguments
@on_threads
def reduce(
    part: Mesh | FEModel,
    material: Materials | None = None,
    *,
    interfaces: Mapping[str, Interface],
    method: Reduction | None = None,
    band: float | None = None,
    tolerance: float | None = None,
    reference: str | Reference,
    damping: Damping = 0.0,
    prestress: Prestress | None = None,
    stiffening: bool = True,
    stress: Stress | None = SURFACE_STRESS,
    name: str | None = None,
    estimate: bool = True,
    inertia_loads: bool = False,
    keep: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FlexibleBodyData:
    """Reduced flexible body of a meshed part with its material, or of finite-element matrices.

    part: a mesh, or an assembled finite-element model. material: of a mesh, one or by element set,
    by default that of its file. interfaces: where joints and forces are attached, by name. method:
    default ``CraigBampton(modes=12)``. band: frequency [Hz] up to which the errors against the
    finite-element model are proved to be at most ``tolerance``: of every frequency, free and with
    each interface held, and of the interface transfer functions. Without a method the result is the
    smallest such basis of Craig–Bampton's and Rubin's; the bounds go into the provenance
    ("certificate: …"). tolerance: relative error of the frequencies, default 1e-3; the bound of a
    transfer function is the error that such a shift of the frequencies causes. reference: reference
    condition of the body frame: an interface's name (attached to its frame), "mean axes" or
    "principal axes" (at the centre of mass), "chord" (between the body's two interfaces), "node
    17", or a `Reference`. damping: modal ratios ζ, one, one per mode, or a function of the
    frequency in Hz, besides the dampers of the part, for whose forces static shapes are added to
    the method's. prestress: constant loads that act before any motion. stiffening: include the
    geometric stiffness of all unit loads; needs a mesh. stress: stress modes to keep; by default
    those of the surface nodes of a mesh; None for none. estimate: estimate the errors against the
    finite-element model; they go into the provenance ("accuracy: …"). inertia_loads: add the static
    responses to the twelve inertia loads of a rigid motion (accelerations, angular accelerations,
    products of angular velocities), for bodies that rotate or are shaken, with few normal modes.
    keep: cache file of the factor of the stiffness; a later reduction of the same mesh and
    material, with any interfaces, method and number of modes, reads it instead of factorizing. The
    file is large. progress: called with (step, 0.0 … 1.0). The modes are mass-normalised, K_ff =
    diag(ω²), D_ff = diag(2ζω) + ΨᵀDΨ. A Craig–Bampton reduction with n normal modes and k
    interfaces has nf = n + 6k − 6 of them. Raises InputError for invalid input and for a tolerance
    that cannot be proved, SolverError if the modes do not converge.

    Examples
    --------
    >>> import preprocess as pp
    >>> bar = pp.reduce(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)),
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     interfaces={"root": pp.Rigid("x0")},
    ...     method=pp.CraigBampton(modes=4),
    ...     reference="root",
    ... )
    >>> round(float(bar.mass), 3), bar.nf
    (1.256, 4)
    """
    check_options(
        {"stiffening": stiffening, "estimate": estimate, "inertia_loads": inertia_loads},
        {
            "progress": progress,
            "method": method,
            "name": name,
            "stress": stress,
            "prestress": prestress,
        },
    )
    how = ReductionOptions(
        method,
        band,
        tolerance,
        reference,
        damping,
        prestress,
        stiffening,
        stress,
        name,
        estimate,
        inertia_loads,
        keep,
    )
    steps = Steps(progress)
    steps("assemble", 0.0)
    fe = model_of(part, material)
    return body_of(
        fe,
        bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms),
        how,
        steps,
    )


class Piece(NamedTuple):
    """Piece of a divided part: its statics, and by interface the force patterns (n, m) of cuts."""

    statics: InterfaceStatics
    patterns: Mapping[str, FloatArray]


class ReductionOptions(NamedTuple):
    """Options of `reduce`.

    For a piece of a divided part also its ``cuts`` and its ``number`` from 1 on; number 0 is a
    whole part.
    """

    method: Reduction | None
    band: float | None
    tolerance: float | None
    reference: str | Reference
    damping: Damping
    prestress: Prestress | None
    stiffening: bool
    stress: Stress | None
    name: str | None
    estimate: bool
    inertia_loads: bool
    keep: str | os.PathLike[str] | None = None
    cuts: Sequence[str] = ()
    number: int = 0


def body_of(
    fe: FEModel,
    bound: Sequence[BoundInterface],
    how: ReductionOptions,
    steps: Steps,
    piece: Piece | None = None,
) -> FlexibleBodyData:
    """Reduced body of a model with bound interfaces.

    With several processes, each with its part of the model, all call this function; surface and
    stress of each result are those of its part. piece: data of a piece of a divided part.
    """
    request = request_of(how.band, how.tolerance, prestressed=how.prestress is not None)
    rule = reference_of(how.reference, [interface.name for interface in bound])
    steps("factorize", 0.0)
    statics = InterfaceStatics(fe, bound, how.keep) if piece is None else piece.statics
    patterns = {} if piece is None else piece.patterns
    steps("constraint modes", 0.0)
    rigid = rigid_body_modes(statics)
    chosen, basis, proof = chosen_basis(how.method, request, statics, steps)
    if how.inertia_loads:
        # the span of the responses does not depend on origin and axes
        loads = inertial_loads(fe, np.zeros(3), np.eye(3))
        # before the method's shapes: if shapes are dependent, later ones are dropped
        basis = dataclasses.replace(
            basis, shapes={"inertia-load modes": statics.response(loads), **basis.shapes}
        )
    basis = _with_dampers(basis, statics)
    basis = _with_cuts(basis, statics, patterns, () if chosen.exact_statics else how.cuts)
    steps("reference condition", 0.8)
    # after all shapes are known, since the choice depends on their motion of the body frame
    rule, elastic = reference_shapes(
        rule, statics, elastic_shapes(statics, basis.shapes), piece=how.number
    )
    check_interface_masses(statics, elastic.shapes)
    modal = _modal_body(statics, elastic, rule, how.prestress)
    steps("shape integrals", 0.95)
    integrals = _integrals(fe, modal)
    omega = modal.modes.omega
    D_ff = damping_matrix(damping_ratios(how.damping, omega / (2 * np.pi)), omega, fe, modal.shapes)
    geometric = _geometric(statics, modal, steps) if how.stiffening and fe.has_elements else None
    recovered = _stress(statics, modal, how.prestress, how.stress, steps)
    found = (
        dict(_accuracy(statics, basis, elastic, steps)) if how.estimate and request is None else {}
    )
    if request is not None:
        steps("certificate", 0.98)
        found |= certificate_facts(statics, elastic.shapes, request, proof)
    if how.estimate and fe.has_dampers:
        found |= pole_facts(
            pole_errors(statics, elastic.shapes, _band(basis) if request is None else request.band)
        )
    steps("residual modes", 0.99)
    # pieces of other bases share patterns of displacements at their cuts, which the modes do not have
    judged = how.estimate and (chosen.exact_statics or not how.number)
    residual = _residual(statics, elastic, modal, how, chosen) if judged else None
    steps("done", 1.0)
    origin = provenance(fe, bound, basis, elastic, chosen, rule)
    return FlexibleBodyData(
        name=how.name or default_name(fe),
        **integrals._asdict(),
        K_ff=np.diag(modal.modes.omega**2),
        D_ff=D_ff,
        frames={
            interface.name: _frame(interface, E, modal, patterns)
            for interface, E in zip(bound, modal.motion)
        },
        modes=_table(modal.modes, basis, np.diag(D_ff) / (2 * omega), integrals),
        surface=_surface(fe, modal),
        provenance={
            **origin,
            **_factor_facts(statics, how.keep),
            **rigid._asdict(),
            **found,
            **steps.times,
        },
        geometric=geometric,
        stress=recovered,
        residual=residual,
    )


def check_options(flags: Mapping[str, object], optional: Mapping[str, object]) -> None:
    """Raise InputError for options of the wrong type."""
    for option, value in flags.items():
        flag(value, option)
    for option, value in optional.items():
        if value is not None:
            instance(value, *KINDS[option])


class _ModalBody(NamedTuple):
    """Modes of the body under its reference condition ``rule``.

    Shapes (3N, nf) and motion of the interfaces (k, 6, nf), both in mesh axes, and the unit loads
    about the body frame.
    """

    rule: Reference
    modes: BodyModes
    shapes: FloatArray
    motion: FloatArray
    loads: BodyLoads


def _modal_body(
    statics: InterfaceStatics, elastic: ElasticShapes, rule: Reference, prestress: Prestress | None
) -> _ModalBody:
    """Modes in the span of the elastic shapes, with the stiffness of the prestress."""
    modes = body_modes(rule, statics, elastic.shapes)
    shapes, loads = (
        modes.shapes(statics, elastic.shapes),
        BodyLoads(statics, modes.origin, modes.axes),
    )
    if prestress is not None:
        if not statics.fe.has_elements:
            raise InputError("prestress: needs a mesh, the model has matrices only; omit it")
        modes = prestressed(statics, loads.under(rule), modes, shapes, prestress)
        shapes = modes.shapes(statics, elastic.shapes)
    motion = statics.interface_motion(shapes).reshape(len(statics.interfaces), 6, -1)
    return _ModalBody(rule, modes, shapes, motion, loads)


def _in_body_axes(x: FloatArray, u: FloatArray, modes: BodyModes) -> tuple[FloatArray, FloatArray]:
    """Positions (N, 3) and displacements (N, 3, nf), transformed from mesh to body axes."""
    return (x - modes.origin) @ modes.axes, np.einsum("ba,nbk->nak", modes.axes, u)


def _surface(fe: FEModel, modal: _ModalBody) -> Surface:
    """Surface of the body: the nodes, followed by the points of the skin of beams and shells."""
    skin, n = fe.skin, len(fe.nodes)
    places = np.vstack([fe.nodes, skin.points.positions])
    u = np.concatenate([fe.displacements(modal.shapes), skin.points.displacements(modal.shapes)])
    numbers = fe.node_ids.max() + 1 + np.arange(len(places) - n)
    triangles = np.vstack([fe.triangles, n + skin.triangles])
    return Surface(
        *_in_body_axes(places, u, modal.modes), triangles, np.concatenate([fe.node_ids, numbers])
    )


def _integrals(fe: FEModel, modal: _ModalBody) -> ShapeIntegrals:
    """Shape integrals of the modes in body axes."""
    return shape_integrals(
        fe.m,
        *_in_body_axes(fe.points, fe.point_displacements(modal.shapes), modal.modes),
        fe.engine,
    )


def _geometric(statics: InterfaceStatics, modal: _ModalBody, steps: Steps) -> GeometricStiffness:
    """Reduced geometric stiffness of the modes."""
    steps("geometric stiffness", 0.96)
    return reduced_geometric_stiffness(statics, modal.loads, modal.shapes, modal.motion)


def _stress(
    statics: InterfaceStatics,
    modal: _ModalBody,
    prestress: Prestress | None,
    stress: Stress | None,
    steps: Steps,
) -> StressModes | None:
    """Stress modes; None if not requested, and by default for given matrices."""
    if stress is None or (stress is SURFACE_STRESS and not statics.fe.has_elements):
        return None
    steps("stress", 0.97)
    names = [interface.name for interface in statics.interfaces]
    factors = None if prestress is None else prestress.factors(names)
    fields = BodyFields(
        modal.shapes, modal.loads.under(modal.rule).displacements, modal.modes.axes, factors
    )
    return stress_modes(statics.fe, fields, names, stress)


def _with_cuts(
    basis: Basis, statics: InterfaceStatics, patterns: Mapping[str, FloatArray], cuts: Sequence[str]
) -> Basis:
    """Basis preceded by the responses to the force patterns and to loads at the cuts of a piece.

    The welds at the cuts need these responses: they come first, so that normal modes are dropped if
    shapes are linearly dependent.
    """
    added: dict[str, FloatArray] = {}
    if patterns:
        added["cut modes"] = statics.response(np.hstack(list(patterns.values())))
    if cuts:
        names = [interface.name for interface in statics.interfaces]
        # with all, rigid motions are among them
        free = [name for name in names if name in cuts][len(cuts) == len(names) :]
        columns = [6 * names.index(name) + k for name in free for k in range(6)]
        added["constraint modes of cuts"] = statics.constraint_modes()[:, columns]
    return dataclasses.replace(basis, shapes=added | dict(basis.shapes)) if added else basis


def _with_dampers(basis: Basis, statics: InterfaceStatics) -> Basis:
    """Basis with the static responses to the forces of the dampers of the part."""
    if not statics.fe.has_dampers:
        return basis
    forces = damper_forces(statics.fe, np.hstack(list(basis.shapes.values())))
    return dataclasses.replace(
        basis, shapes={"damper modes": statics.response(forces), **basis.shapes}
    )


class Steps:
    """Progress reporter that records the wall time of each step."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._step, self._since = progress, "", time.perf_counter()
        self.times: dict[str, str | float] = {}

    def __call__(self, step: str, fraction: float) -> None:
        now = time.perf_counter()
        if self._step and self._step != step:
            self.times[f"time {self._step}"] = now - self._since
            self._since = now
        self._step = step
        if self._progress is not None:
            self._progress(step, fraction)


def _accuracy(
    statics: InterfaceStatics, basis: Basis, elastic: ElasticShapes, steps: Steps
) -> Mapping[str, str | float]:
    """Estimated errors up to the band of the basis, or up to half its highest normal frequency."""
    steps("error estimates", 0.98)
    return accuracy(statics, elastic.shapes, _band(basis)).facts()


def _band(basis: Basis) -> float:
    """The band of the basis [Hz], or half its highest normal frequency."""
    return basis.band or 0.5 * float(basis.normal_frequencies.max(initial=0.0))


def _residual(
    statics: InterfaceStatics,
    elastic: ElasticShapes,
    modal: _ModalBody,
    how: ReductionOptions,
    chosen: Reduction,
) -> ResidualModes | None:
    """Modes outside the basis, with damping; None if the iteration does not converge."""
    fe, nf, exact = statics.fe, elastic.shapes.shape[1], chosen.exact_statics
    wanted, inertia = nf + 6 - statics.coordinates, modal.loads.loads[:, :INERTIAL]
    try:
        omega, shapes = residual_modes(
            statics, elastic.shapes, wanted, exact=exact, spin=inertia[:, 6:]
        )
    except SolverError:
        return None
    if not exact:  # the modes move the interfaces, in alphabetical order
        names = [interface.name for interface in statics.interfaces]
        at = [INERTIAL + 6 * k + c for k in np.argsort(names) for c in range(6)]
        inertia = np.hstack([inertia, modal.loads.loads[:, at]])
    loads = fe.engine.inner(shapes, inertia)
    # signs of eigenvectors are arbitrary: the largest load factor becomes positive, so that results
    # are reproducible
    signs = np.where(loads[np.arange(len(loads)), np.abs(loads).argmax(axis=1)] < 0.0, -1.0, 1.0)
    loads, shapes = signs[:, None] * loads, shapes * signs
    frequency = omega / (2 * np.pi)
    # unknown beyond the basis: the smallest
    per_mode = not callable(how.damping) and np.ndim(how.damping) > 0
    ratio = damping_ratios(float(np.min(how.damping)) if per_mode else how.damping, frequency)  # type: ignore[arg-type]
    damping = np.diag(damping_matrix(ratio, omega, fe, shapes)) / (2 * omega)
    mass, stiffness = (
        fe.engine.inner(shapes, P(modal.shapes)) for P in (fe.mass_product, fe.stiffness_product)
    )
    return ResidualModes(frequency, damping, loads, mass, stiffness)


def _factor_facts(
    statics: InterfaceStatics, keep: str | os.PathLike[str] | None
) -> dict[str, str | float]:
    """Precision of the factor, and whether it was read from or written to a cache file."""
    kept = (
        {}
        if keep is None
        else {"factor": f"{'read from' if statics.read else 'written to'} {os.fspath(keep)}"}
    )
    return {"factor: precision": statics.precision, **kept}


def model_of(part: Mesh | FEModel, material: Materials | None) -> FEModel:
    """Finite-element model of a free part, assembled from a mesh or given. Raises InputError."""
    if (
        isinstance(part, Sequence)
        and part
        and all(isinstance(each, (Mesh, FEModel)) for each in part)
    ):
        raise InputError(
            f"part: is {len(part)} pieces; use reduce_divided for the pieces of a part"
        )
    instance(part, (Mesh, FEModel), "part", "a Mesh or an FEModel, see read_mesh and assemble")
    if isinstance(part, FEModel):
        if material is not None:
            raise InputError("material: given together with matrices, which include it; omit it")
        if part.held:
            raise InputError(
                "part: was assembled with held=True; a body must be free to move: "
                "assemble it without"
            )
        return part
    return assemble(part, material)


def _frame(
    interface: BoundInterface,
    motion: FloatArray,
    modal: _ModalBody,
    patterns: Mapping[str, FloatArray],
) -> FlexibleFrame:
    """Frame of an interface in the body frame.

    motion (6, nf): motion of the interface in each mode, in mesh axes.
    """
    modes, none = modal.modes, np.zeros((len(modal.shapes), 0))
    to_body = modes.axes.T
    return FlexibleFrame(
        x=to_body @ (interface.position - modes.origin),
        R=to_body @ interface.axes,
        phi=to_body @ motion[:3],
        psi=to_body @ motion[3:],
        kind=interface.kind,
        local=patterns.get(interface.name, none).T @ modal.shapes,
    )


def _table(
    modes: BodyModes, basis: Basis, ratio: FloatArray, integrals: ShapeIntegrals
) -> ModeTable:
    """Mode table.

    A mode above the normal modes and above the band of the basis is "static": it corrects the
    compliance.
    """
    frequency = modes.omega / (2 * np.pi)
    accurate = max(basis.band, float(basis.normal_frequencies.max(initial=0.0)))
    kind = tuple(modes.kind if f <= accurate * (1.0 + ROUND_OFF) else "static" for f in frequency)
    L = np.vstack([integrals.S_bar, x_cross_shapes(integrals.xS)])
    return ModeTable(frequency, kind, (L**2).T, ratio)
