"""Reduction of a divided mesh to a divided flexible body: `reduce_divided`."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flexmbs.errors import InputError, MachineError, raise_problems, shown, warn_caller
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.flexible_body.welds import welds
from preprocess.body.build import Piece, ReductionOptions, Steps, body_of, check_options, model_of
from preprocess.body.cut_accuracy import cut_errors, pieces_damping, warn_of_cuts
from preprocess.body.cut_patterns import cut_patterns
from preprocess.body.cut_stiffening import missing_stiffness, warn_of_stiffness
from preprocess.body.damping import Damping, damping_ratios
from preprocess.body.provenance import default_name
from preprocess.body.stress import SURFACE_STRESS, Stress
from preprocess.fe.assemble_pieces import AssembledPart, assemble_pieces
from preprocess.fe.element_groups import Materials
from preprocess.fe.face_average import FaceAveraged
from preprocess.fe.fe_model import FEModel
from preprocess.fe.freedoms import Indices, dofs_of
from preprocess.fe.interfaces import Averaged, BoundInterface, Interface, Rigid, bind_interfaces
from preprocess.inputs.argument_checks import checked_arguments, instance
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.divide import CUT
from preprocess.mesh.face_mass import face_mass
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.node_regions import region_of
from preprocess.reduction import Progress, Reduction
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.solve.threads import on_threads

FULL = "full"
CUTS = (FULL, "averaged", "rigid")
Made = TypeVar("Made")


@checked_arguments
@on_threads
def reduce_divided(
    pieces: Sequence[Mesh | FEModel],
    material: Materials | None = None,
    *,
    interfaces: Mapping[str, Interface],
    reference: str,
    cuts: str = "full",
    method: Reduction | None = None,
    damping: Damping = 0.0,
    stiffening: bool = True,
    stress: Stress | None = SURFACE_STRESS,
    name: str | None = None,
    estimate: bool = True,
    inertia_loads: bool = False,
    progress: Progress | None = None,
) -> DividedBodyData:
    """Reduced flexible body of several pieces, each with its own floating frame, for large bending.

    pieces: meshes from `divide`, or finite-element models assembled from them. material: of the
    meshes, one or by element set. interfaces: of the whole part, by name; each in one piece, off
    the cuts. reference: the interface to whose frame the body frame is attached; its piece is the
    first; the frames of the other pieces are attached to their cuts towards it, or are mean axes if
    hardly any mass follows the cut. cuts: "full" transmits all force patterns of the whole part,
    for any section and element, at the cost of one factorization of its stiffness; "averaged" needs
    no such factorization and transmits forces and moments as tractions that are linear over the
    cut, which contracts and warps freely: accurate for compact sections of solids, much too soft
    for thin-walled and open ones; "rigid" makes the cut a rigid surface. method, stiffening,
    stress, inertia_loads, progress: of each piece, as in `reduce`; to the shapes of methods without
    them, as `FreeModes`, the static responses to loads at the cuts are added. damping: ratios of
    the modes of all pieces together, held at the reference: one, one per mode, or a function of the
    frequency, as in `reduce`; "damping: pieces …" in the provenance has those of the lowest modes.
    estimate: estimate the errors of each piece, and compare all together with the whole part:
    static displacements under loads at the interfaces and the lowest frequencies, held at the
    reference ("accuracy: pieces …" in the provenance of the first piece), with a warning above 1 %;
    this factorizes the stiffness of the whole part. name: of the body. Raises InputError, also for
    interfaces that a cut divides, and for averaged cuts through other than solid elements. Source:
    Shabana, Dynamics of Multibody Systems (2020), section 6.5 (substructuring for large
    deformation); `cut_patterns`.

    Examples
    --------
    >>> import preprocess as pp
    >>> pieces = pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=2)
    >>> steel, ends = (
    ...     pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    ...     {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
    ... )
    >>> bar = pp.reduce_divided(pieces, steel, interfaces=ends, reference="root")
    >>> list(bar.frames), [list(piece.frames) for piece in bar.pieces], round(bar.mass, 6)
    (['root', 'tip'], [['root', 'cut 1'], ['tip', 'cut 1']], 1.256)
    """
    if cuts not in CUTS:
        raise InputError(f"cuts: is {shown(cuts)}; give one of: {', '.join(CUTS)}")
    check_options(
        {"stiffening": stiffening, "estimate": estimate, "inertia_loads": inertia_loads},
        {"progress": progress, "method": method, "name": name, "stress": stress},
    )
    models = _models(pieces, material)
    plan = _plan(
        models, instance(interfaces, Mapping, "interfaces", "Rigid or Averaged by name"), reference
    )
    title = name or default_name(models[0]).partition(", piece ")[0]
    alone = len(plan) == 1
    own_damping = damping if alone else 0.0
    every = {
        "damping": own_damping,
        "stiffening": stiffening,
        "stress": stress,
        "estimate": estimate,
        "inertia_loads": inertia_loads,
    }
    own = [
        {"reference": each.reference, "name": f"{title}, piece {k}", "number": k}
        for k, each in enumerate(plan, 1)
    ]
    hows = [
        ReductionOptions(method, None, None, prestress=None, cuts=_cuts_of(each.fe), **every, **its)  # type: ignore[arg-type]
        for each, its in zip(plan, own)
    ]
    bound = [_bound(plan, k, cuts) for k in range(len(plan))]
    whole = _UndividedPart(plan, interfaces, cuts)
    known: list[Piece | None] = [None] * len(plan)
    statics: list[InterfaceStatics] = []
    if cuts == FULL and len(plan) > 1:
        statics = [
            _located(each.fe, InterfaceStatics, each.fe, own) for each, own in zip(plan, bound)
        ]
        found = cut_patterns(whole.statics, whole.assembled, statics, _cuts(plan))
        known = [Piece(*pair) for pair in zip(statics, found)]
    bodies = [
        _located(
            each.fe,
            body_of,
            each.fe,
            own,
            how,
            Steps(_progress_of_piece(progress, k, len(plan))),
            piece,
        )
        for k, (each, own, how, piece) in enumerate(zip(plan, bound, hows, known))
    ]
    if cuts == "rigid" and len(plan) > 1 and not estimate:
        message = (
            "divide: rigid cuts make the part stiffer, by an amount that is not estimated; use "
            "cuts='full', or omit estimate=False"
        )
        warn_caller(message, PreprocessWarning)
    facts: dict[str, str | float] = {}
    if not alone:
        rows = DividedBodyData(title, tuple(bodies)).damping_rows(
            lambda f: damping_ratios(damping, f)
        )
        bodies = [dataclasses.replace(body, damping_rows=own) for body, own in zip(bodies, rows)]
    damped = b" ".join(body.damping_rows.tobytes() for body in bodies)
    bodies = _with_cut_digests(
        bodies,
        {cut: _digest_of(plan[i].fe, cut, cuts, known[i], damped) for i, _, cut in _cuts(plan)},
    )
    if not alone and (len(rows[0]) or any(each.fe.has_dampers for each in plan)):
        frequency, ratio = pieces_damping(bodies)
        facts[f"damping: pieces, held at {reference}"] = ", ".join(
            f"{f:.6g} Hz {z:.3g}" for f, z in zip(frequency, ratio)
        )
    if estimate and len(plan) > 1:
        facts |= whole.cut_facts(reference, bodies)
        if cuts == FULL and stiffening:
            facts |= whole.stiffening_facts(statics)
    bodies[0] = dataclasses.replace(bodies[0], provenance={**bodies[0].provenance, **facts})
    return DividedBodyData(title, tuple(bodies))


def _located(fe: FEModel, function: Callable[..., Made], *given: Any) -> Made:
    """Result of a function, whose problems name the piece."""
    try:
        return function(*given)
    except InputError as error:
        raise InputError(*(f"{problem} ({fe.source})" for problem in error.problems)) from None


def _bound(plan: Sequence[_PlannedPiece], k: int, cuts: str) -> list[BoundInterface]:
    """Interfaces of piece k, followed by those at its cuts."""
    fe, models = plan[k].fe, [each.fe for each in plan]
    at = {cut: _at_cut(fe, models[j], cut, cuts) for cut, j in _neighbours(models, k)}
    return _located(
        fe,
        bind_interfaces,
        {**plan[k].interfaces, **at},
        fe.nodes,
        fe.node_sets,
        fe.triangles,
        fe.freedoms,
    )


def _cuts_of(fe: FEModel) -> list[str]:
    """Node sets of the cuts of a piece."""
    return [name for name in fe.node_sets if name.startswith(CUT)]


def _cuts(plan: Sequence[_PlannedPiece]) -> list[tuple[int, int, str]]:
    """(piece, later piece, name) of each cut."""
    return list(welds([_cuts_of(piece.fe) for piece in plan]))


def _digest_of(fe: FEModel, cut: str, kind: str, piece: Piece | None, damped: bytes) -> str:
    """Digest that identifies a cut: nodes, whether held, patterns, damping of all pieces."""
    rows = np.unique(fe.node_sets[cut])
    rows = rows[np.argsort(fe.node_ids[rows])]
    patterns = b"" if piece is None else piece.patterns[cut][dofs_of(rows)].tobytes()
    content = (
        b"held" if kind == "rigid" else b"",
        fe.node_ids[rows].tobytes(),
        fe.nodes[rows].tobytes(),
        patterns,
        damped,
    )
    return hashlib.sha256(b" ".join(content)).hexdigest()


def _with_cut_digests(
    bodies: Sequence[FlexibleBodyData], digests: Mapping[str, str]
) -> list[FlexibleBodyData]:
    """Bodies whose frames at cuts have the digests of their cuts."""
    marked = [
        {
            name: dataclasses.replace(frame, cut=digests.get(name, ""))
            for name, frame in body.frames.items()
        }
        for body in bodies
    ]
    return [dataclasses.replace(body, frames=frames) for body, frames in zip(bodies, marked)]


class _UndividedPart:
    """Part without its cuts."""

    def __init__(
        self, plan: Sequence[_PlannedPiece], interfaces: Mapping[str, Interface], cuts: str
    ) -> None:
        self._plan, self._interfaces, self._cuts = plan, interfaces, cuts

    @functools.cached_property
    def assembled(self) -> AssembledPart:
        return assemble_pieces([piece.fe for piece in self._plan])

    @functools.cached_property
    def statics(self) -> InterfaceStatics:
        """Static response of the part, from one factorization of its stiffness."""
        fe = self.assembled.fe
        bound = bind_interfaces(self._interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
        return InterfaceStatics(fe, bound)

    def cut_facts(
        self, reference: str, bodies: Sequence[FlexibleBodyData]
    ) -> dict[str, str | float]:
        """Joint errors of the pieces, with a warning of large ones.

        Empty if the undivided part needs too much memory.
        """
        try:
            errors = cut_errors(self.statics, reference, bodies)
        except MachineError as error:
            return {"accuracy: pieces": f"not estimated: {error}"}
        warn_of_cuts(errors, self._cuts)
        return errors.facts()

    def stiffening_facts(self, pieces: Sequence[InterfaceStatics]) -> dict[str, str | float]:
        """Geometric stiffness missing in the pieces, with a warning if it is large."""
        references = [each.reference for each in self._plan]
        missing = missing_stiffness(
            self.statics, self.assembled, pieces, _cuts(self._plan), references
        )
        warn_of_stiffness(missing)
        text = ", ".join(f"{load} {share:.2g}" for load, share in missing.items())
        return {"accuracy: pieces, stiffening": text} if missing else {}


class _PlannedPiece(NamedTuple):
    """Piece with its own interfaces, and the interface to which its frame is attached."""

    fe: FEModel
    interfaces: Mapping[str, Interface]
    reference: str


def _models(pieces: Any, material: Materials | None) -> list[FEModel]:
    """Finite-element models of the pieces, each with the materials of its element sets.

    Raises InputError.
    """
    if not isinstance(pieces, Sequence) or not pieces:
        raise InputError("pieces: give meshes, from pp.divide")
    for piece in pieces:
        instance(piece, (Mesh, FEModel), "pieces", "meshes from pp.divide")
    meshes = [piece for piece in pieces if isinstance(piece, Mesh)]
    if not isinstance(material, Mapping):
        return [model_of(piece, material) for piece in pieces]
    unknown = [name for name in material if not any(name in mesh.element_sets for mesh in meshes)]
    if unknown:
        raise InputError(f"materials: no piece has the element set '{unknown[0]}'")
    return [
        model_of(mesh, {name: each for name, each in material.items() if name in mesh.element_sets})
        for mesh in meshes
    ]


def _plan(
    models: Sequence[FEModel], interfaces: Mapping[str, Interface], reference: str
) -> list[_PlannedPiece]:
    """Pieces in breadth-first order from that with the reference interface. Raises InputError."""
    if not isinstance(reference, str) or reference not in interfaces:
        raise InputError(
            "reference: a divided body has its frame at an interface; give one of: "
            f"{', '.join(interfaces)}"
        )
    places: dict[str, int] = {}
    problems: list[str] = []
    for name, interface in interfaces.items():
        try:
            if str(name).startswith(CUT):
                raise InputError(
                    f"interfaces.{name}: names that begin with '{CUT}' are reserved for cuts; "
                    "choose another"
                )
            places[name] = _place(name, interface, models)
        except InputError as error:
            problems += error.problems
    raise_problems(problems)
    roots, queue = {places[reference]: reference}, [places[reference]]
    for k in queue:
        for cut, j in _neighbours(models, k):
            if j not in roots:
                roots[j] = cut
                queue.append(j)
    if len(queue) < len(models):
        raise InputError(
            f"pieces: {models[min(set(range(len(models))) - set(queue))].source} is not "
            "connected to the others"
        )
    for k in queue:
        known = {cut for cut, _ in _neighbours(models, k)}
        lone = [cut for cut in _cuts_of(models[k]) if cut not in known]
        if lone:
            raise InputError(
                f"pieces: {models[k].source}: no other piece has its {lone[0]}; give all pieces "
                "of the part"
            )
    own = {k: {name: each for name, each in interfaces.items() if places[name] == k} for k in queue}
    return [_PlannedPiece(models[k], own[k], roots[k]) for k in queue]


def _neighbours(models: Sequence[FEModel], k: int) -> list[tuple[str, int]]:
    """Pairs (cut, piece) of the pieces that share a cut with piece k."""
    return [
        (cut, j)
        for cut in _cuts_of(models[k])
        for j, other in enumerate(models)
        if j != k and cut in other.node_sets
    ]


def _place(name: str, interface: Interface, models: Sequence[FEModel]) -> int:
    """Piece with all nodes of an interface, none of them on a cut. Raises InputError."""
    instance(interface, Interface, f"interfaces.{name}", "Rigid or Averaged")
    first = np.cumsum([0, *(len(fe.nodes) for fe in models)])
    sets: dict[str, list[Indices]] = {}
    for begin, fe in zip(first, models):
        for given, own in fe.node_sets.items():
            sets.setdefault(given, []).append(begin + own)
    try:
        rows = region_of(interface.where).rows(
            np.vstack([fe.nodes for fe in models]),
            {given: np.concatenate(own) for given, own in sets.items()},
        )
    except InputError as error:
        raise InputError(f"interfaces.{name}: {error.problems[0]}") from None
    found = set((np.searchsorted(first, rows, side="right") - 1).tolist())
    cuts = [each for given, own in sets.items() if given.startswith(CUT) for each in own]
    if cuts and np.isin(rows, np.concatenate(cuts)).any():
        found |= {j for k in tuple(found) for _, j in _neighbours(models, k)}
    if len(found) != 1:
        where = ", ".join(str(k + 1) for k in sorted(found))
        raise InputError(
            f"interfaces.{name}: its nodes are in pieces {where}; an interface is in one "
            "piece, off the cuts"
        )
    return found.pop()


def _at_cut(fe: FEModel, beside: FEModel, cut: str, kind: str) -> Interface:
    """Interface of a model at a cut, identical from both sides.

    Its frame is at the centroid of the faces between the model and the one ``beside`` it; for nodes
    of other elements, at the mean of the nodes. Raises InputError.
    """
    rows = np.unique(fe.node_sets[cut])
    if fe.mesh is None or beside.mesh is None:
        raise InputError(
            f"{(beside if fe.mesh else fe).source}: has no elements; a divided body is "
            "made of meshes"
        )
    m = face_mass(fe.mesh, rows, beside.mesh)
    area = np.asarray(m.sum(axis=1)).ravel()
    bare = np.diff(m.indptr) == 0
    if bare.any() and kind == "averaged":
        raise InputError(
            f"{fe.source}: {bare.sum()} of {len(rows)} nodes of {cut} are on no face of a "
            "solid element there;"
            " cut along faces of solids, or give cuts='full'"
        )
    if bare.any() and len(rows) > 1 and kind == "rigid":
        warn_caller(
            f"{fe.source}: {cut} keeps the cross-section rigid: thin open walls are far too "
            "stiff in torsion there",
            PreprocessWarning,
        )
    centre = fe.nodes[rows].mean(axis=0) if bare.any() else area @ fe.nodes[rows] / area.sum()
    if kind == "rigid":
        return Rigid(cut, position=centre)
    return (
        Averaged(cut, position=centre)
        if bare.any()
        else FaceAveraged(cut, position=centre, face_mass=m)
    )


def _progress_of_piece(progress: Progress | None, k: int, count: int) -> Progress | None:
    """Progress of piece k as a fraction of the whole."""
    return (
        None
        if progress is None
        else lambda step, fraction: progress(f"piece {k + 1}: {step}", (k + fraction) / count)
    )
