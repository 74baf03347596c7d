"""From a finite-element model to a flexible body: `reduce`."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body import GENERATOR, FlexibleBodyData, FlexibleFrame, FloatArray, ModeTable, Surface, x_cross_shapes
from preprocess.arguments import flag, instance, spelt
from preprocess.assembly import assemble
from preprocess.damping import Damping, damping_matrix, damping_ratios
from preprocess.fe_model import FEModel
from preprocess.interfaces import BoundInterface, Interface, bind_interfaces, rigid_motion
from preprocess.invariants import ShapeIntegrals, shape_integrals
from preprocess.mesh import Mesh
from preprocess.prestress import Prestress, prestressed, reduced_geometric_stiffness
from preprocess.reduction import Basis, CraigBampton, Progress, Reduction
from preprocess.reduction.accuracy import accuracy
from preprocess.reduction.independent import ElasticShapes, elastic_shapes
from preprocess.reduction.statics import InterfaceStatics
from preprocess.reference import BodyModes, Reference, body_modes, reference_of, rigid_mode_count
from preprocess.regions import Materials
from preprocess.stress import SURFACE_STRESS, BodyFields, Stress, stress_modes
from preprocess.threads import on_threads
from preprocess.unit_loads import BodyLoads, inertial_loads

ROUND_OFF = 1e-9  # of a frequency
_RIGID_RESIDUAL = 1e-6  # met even by matrices that were printed with seven digits


@spelt
@on_threads
def reduce(
    part: Mesh | FEModel,
    material: Materials | None = None,
    *,
    interfaces: Mapping[str, Interface],
    method: Reduction | None = None,
    reference: str | Reference,
    damping: Damping = 0.0,
    prestress: Prestress | None = None,
    stiffening: bool = True,
    stress: Stress | None = SURFACE_STRESS,
    name: str | None = None,
    estimate: bool = True,
    inertia_loads: bool = False,
    progress: Progress | None = None,
) -> FlexibleBodyData:
    """Reduced flexible body of a meshed part (with its material) or of given finite-element matrices.

    interfaces: places where joints take hold, by name.  method: default ``CraigBampton(modes=12)``.
    reference: what the body frame follows: an interface's name (its frame), "mean axes" or "principal axes" (at the centre of
    mass), "chord" (between the body's two interfaces), "node 17", or a `Reference`.
    damping: modal ratios ζ, one, one per mode, or a function of the frequency in Hz.
    prestress: constant loads under which the part stands before it moves.
    stiffening: with the geometric stiffness of all loads that a multibody model may put on the part; needs a mesh.
    stress: which stress modes the body keeps; by default those of the surface where the part is a mesh; None for none.
    estimate: compare with the finite-element model, and keep the estimated errors in the provenance ("accuracy: …").
    inertia_loads: the static responses to the twelve inertia loads of a rigid motion (accelerations, angular accelerations,
    products of angular velocities) become modes too: a body that spins or is shaken deforms rightly with few normal modes.
    progress: called with (step, 0.0 … 1.0).
    The modes are mass-normalised, K_ff = diag(ω²), D_ff = diag(2ζω); Craig and Bampton's reduction with n normal modes and k
    interfaces has nf = n + 6k − 6 of them.
    Raises InputError for anything wrong in the input, SolverError when the modes do not converge.
    """
    for option, value in (("stiffening", stiffening), ("estimate", estimate), ("inertia_loads", inertia_loads)):
        flag(value, option)
    if progress is not None:
        instance(progress, Callable, "progress", "a function of step and fraction")  # type: ignore[arg-type]
    steps = _Steps(progress)
    steps("assemble", 0.0)
    fe = _model(part, material)
    if method is not None:
        instance(method, Reduction, "method", "a reduction, such as CraigBampton(modes=12)")  # type: ignore[type-abstract]
    if name is not None:
        instance(name, str, "name", "a text")
    if stress is not None:
        instance(stress, Stress, "stress", "Stress() or None")
    if prestress is not None:
        instance(prestress, Prestress, "prestress", "a Prestress, such as Prestress({'tip': (1e3, 0, 0, 0, 0, 0)})")
    bound = bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles)
    rule = reference_of(reference, [interface.name for interface in bound])
    chosen = method or CraigBampton(modes=12)
    steps("factorize", 0.0)
    statics = InterfaceStatics(fe, bound)
    steps("constraint modes", 0.0)
    rigid = _rigid_modes(statics)
    basis = chosen.basis(statics, steps)
    if inertia_loads:
        basis = _with_inertia_loads(basis, statics)
    steps("reference condition", 0.8)
    elastic = elastic_shapes(statics, basis.shapes)
    modes = body_modes(rule, statics, elastic.shapes)
    shapes, loads = _mode_shapes(statics, elastic.shapes, modes), BodyLoads(statics, modes.origin, modes.axes)
    if prestress is not None:
        if not fe.groups:
            raise InputError("prestress: needs the mesh of the part, it is not in given matrices; leave it out")
        modes = prestressed(statics, loads.under(rule), modes, shapes, prestress)
        shapes = _mode_shapes(statics, elastic.shapes, modes)
    steps("shape integrals", 0.95)
    x = (fe.nodes - modes.origin) @ modes.axes
    phi = np.einsum("ba,nbk->nak", modes.axes, shapes.reshape(len(x), 3, -1))
    integrals = shape_integrals(fe.m, x, phi)
    ratio = damping_ratios(damping, modes.omega / (2 * np.pi))
    motion = (statics.interface_loads.T @ shapes).reshape(len(bound), 6, -1)
    frames = {interface.name: _frame(interface, E, modes) for interface, E in zip(bound, motion)}
    geometric, recovered = None, None
    stiffens, recovers = stiffening and bool(fe.groups), None if stress is SURFACE_STRESS and not fe.groups else stress
    if stiffens:
        steps("geometric stiffness", 0.96)
        geometric = reduced_geometric_stiffness(statics, loads, shapes, motion)
    if recovers:
        steps("stress", 0.97)
        names = [interface.name for interface in bound]
        given = None if prestress is None else prestress.factors(names)
        recovered = stress_modes(fe, BodyFields(shapes, loads.under(rule).displacements, modes.axes, given), names, recovers)
    found = _accuracy(statics, basis, elastic, steps) if estimate else {}
    steps("done", 1.0)
    return FlexibleBodyData(
        name=name or _name(fe),
        **integrals._asdict(),
        K_ff=np.diag(modes.omega**2),
        D_ff=damping_matrix(ratio, modes.omega),
        frames=frames,
        modes=_table(modes, basis, ratio, integrals),
        surface=Surface(x, phi, fe.triangles, fe.node_ids),
        provenance=_provenance(fe, bound, basis, elastic, chosen, rule) | rigid._asdict() | found | steps.times,
        geometric=geometric,
        stress=recovered,
    )


def _mode_shapes(statics: InterfaceStatics, elastic: FloatArray, modes: BodyModes) -> FloatArray:
    """Shapes (3N, nf) of the modes under the reference condition."""
    return np.asarray(elastic @ modes.V - statics.rigid_modes @ modes.c)


def _with_inertia_loads(basis: Basis, statics: InterfaceStatics) -> Basis:
    """The basis with the responses, interfaces held, to the inertia loads; their span is the same about any origin and axes."""
    responses = statics.response(inertial_loads(statics.fe, np.zeros(3), np.eye(3)))
    return dataclasses.replace(basis, shapes={**basis.shapes, "inertia-load modes": responses})


class _Steps:
    """Progress reporter that keeps the wall time of each step."""

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


def _accuracy(statics: InterfaceStatics, basis: Basis, elastic: ElasticShapes, steps: _Steps) -> dict[str, str | float]:
    """Estimated errors up to the band of the basis, or half its highest normal frequency where it has none."""
    steps("error estimates", 0.98)
    band = basis.band or 0.5 * float(basis.normal_frequencies.max(initial=0.0))
    return accuracy(statics, elastic.shapes, band).facts()


class _RigidModes(NamedTuple):
    """What the rigid-body check found: number of strain-free motions, and the residual ``|K R| / |K| |R|``."""

    rigid_body_modes: float
    rigid_body_residual: float


def _model(part: Mesh | FEModel, material: Materials | None) -> FEModel:
    instance(part, (Mesh, FEModel), "part", "a Mesh or an FEModel, see read_mesh and assemble")
    if isinstance(part, FEModel):
        if material is not None:
            raise InputError("material: given together with finished matrices, which hold it already; leave it out")
        return part
    if material is None:
        raise InputError("material: missing; give for example Isotropic(E=210e9, nu=0.3, rho=7850.0)")
    return assemble(part, material)


def _name(fe: FEModel) -> str:
    return fe.source.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "body"


def _rigid_modes(statics: InterfaceStatics) -> _RigidModes:
    """Count of the strain-free motions. Raises InputError unless they are the six rigid-body motions.

    With every interface held there is none, so that they all show in the motion of the interfaces.
    """
    fe = statics.fe
    R = rigid_motion(fe.nodes - fe.centre_of_mass).reshape(statics.size, 6)
    residual = _rigid_residual(fe, R)
    if residual > _RIGID_RESIDUAL:
        raise InputError(f"stiffness: rigid-body motion strains it (|K R|/|K| = {residual:.2g}); give K without supports")
    Psi = statics.constraint_modes()
    M = Psi.T @ fe.mass_product(Psi)
    count = 6
    if len(statics.interfaces) > 1:
        count = rigid_mode_count(statics.interface_stiffness, 0.5 * (M + M.T), _strain_of_rigid_motion(fe, R))
    if count != 6:
        raise InputError(f"stiffness: {count} rigid-body modes found instead of 6; join the parts of the mesh")
    return _RigidModes(float(count), residual)


def _strain_of_rigid_motion(fe: FEModel, R: FloatArray) -> float:
    """Largest Rayleigh quotient ``rᵀKr / rᵀMr`` of the rigid-body motions: zero but for the accuracy of K."""
    quotient = scipy.linalg.eigh(R.T @ fe.stiffness_product(R), R.T @ fe.mass_product(R), eigvals_only=True)
    return float(np.abs(quotient).max())


def _rigid_residual(fe: FEModel, R: FloatArray) -> float:
    unit = R / np.abs(R).max(axis=0)
    return float(np.abs(fe.stiffness_product(unit)).max() / np.abs(fe.K.data).max())


def _frame(interface: BoundInterface, motion: FloatArray, modes: BodyModes) -> FlexibleFrame:
    """Frame of an interface in the body frame; ``motion`` (6, nf) is that of the modes in mesh axes."""
    to_body = modes.axes.T
    return FlexibleFrame(
        x=to_body @ (interface.position - modes.origin),
        R=to_body @ interface.axes,
        phi=to_body @ motion[:3],
        psi=to_body @ motion[3:],
        kind=interface.kind,
    )


def _table(modes: BodyModes, basis: Basis, ratio: FloatArray, integrals: ShapeIntegrals) -> ModeTable:
    """Mode table; a mode above the normal modes and the band of the basis is "static": it completes the compliance."""
    frequency = modes.omega / (2 * np.pi)
    accurate = max(basis.band, float(basis.normal_frequencies.max(initial=0.0)))
    kind = tuple(modes.kind if f <= accurate * (1.0 + ROUND_OFF) else "static" for f in frequency)
    L = np.vstack([integrals.S_bar, x_cross_shapes(integrals.xS)])
    return ModeTable(frequency, kind, (L**2).T, ratio)


def _provenance(
    fe: FEModel, bound: Sequence[BoundInterface], basis: Basis, elastic: ElasticShapes, method: Reduction, reference: Reference
) -> dict[str, str | float]:
    """Where the body comes from."""
    faces = "; ".join(
        f"{b.name}: {b.kind}, {len(b.nodes)} nodes, weights {b.weights.min():g}..{b.weights.max():g}" for b in bound
    )
    return {
        "source": fe.source,
        "unit of source": fe.unit,
        "units": "m kg s rad N",
        "elements": fe.elements,
        "material": fe.material,
        "nodes": float(len(fe.nodes)),
        "degrees of freedom": float(3 * len(fe.nodes)),
        "method": repr(method),
        "reference": str(reference),
        "interfaces": faces,
        "dropped shapes": "; ".join(elastic.dropped) or "none",
        "normal-mode frequencies [Hz]": ", ".join(f"{f:.9g}" for f in basis.normal_frequencies),
        "digest": _digest(fe, bound, method, reference),
        "generator": GENERATOR,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _digest(fe: FEModel, bound: Sequence[BoundInterface], method: Reduction, reference: Reference) -> str:
    """SHA-256 of everything that the reduction reads: nodes, matrices, interfaces and options."""
    digest = hashlib.sha256(f"{method!r} {reference!r} {[(b.name, b.kind) for b in bound]}".encode())
    arrays = [fe.nodes, fe.K.data, fe.K.indices, fe.K.indptr, fe.m.data, fe.m.indices, fe.m.indptr]
    for array in arrays + [a for b in bound for a in (b.nodes, b.position, b.axes, b.weights)]:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
