"""Compilation of a Model into a System, done once per run.

Names become numbers, declarations become flat records. ``compile_model`` returns the records
together with what is needed to interpret results: names, topology, and the user functions, which
must be kept alive.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexmbs.algebra.blocks import Elimination
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.cut_shapes import CutShape
from flexmbs.model.divided import BodyPieces, in_pieces
from flexmbs.model.frames import GROUND, FrameRef, frames_used
from flexmbs.model.model import ModelData
from flexmbs.model.motions import Motion, PrescribedMotion
from flexmbs.system.callbacks import Callbacks
from flexmbs.system.compile_bodies import FrameTable, body_records
from flexmbs.system.compile_contacts import compile_contacts
from flexmbs.system.compile_couplers import compile_couplers
from flexmbs.system.compile_forces import JointPlace, compile_forces, table
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.compile_pieces import compile_pieces
from flexmbs.system.compile_relations import relation_record
from flexmbs.system.compile_rotors import compile_rotors
from flexmbs.system.cut_directions import constant_rows
from flexmbs.system.elimination import symbolic
from flexmbs.system.records import (
    Contacts,
    Couplers,
    Couplings,
    Cuts,
    Drives,
    Joints,
    PiecesDamping,
    Rotors,
    System,
    Tree,
    columns,
)
from flexmbs.system.records import Prescribed as PrescribedRows
from flexmbs.system.start_poses import StartPoses
from flexmbs.system.user_derivatives import length_scale
from flexmbs.system.topology import Topology, topology


@dataclass(frozen=True)
class Compiled:
    """A compiled model: records, names, and user functions kept alive."""

    declared: ModelData  # as the user sees it; in the records, divided bodies are pieces
    model: ModelData
    pieces: Mapping[str, BodyPieces]  # of divided bodies, by their names
    topology: Topology
    system: System
    data: dict[str, FlexibleBodyData]
    places: dict[str, JointPlace]  # joint → place of its coordinates
    frames: dict[FrameRef, int]
    callbacks: Callbacks = field(repr=False)
    force_states: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()  # names of the rows of `Contacts`
    # times (s) of corners of the laws, at which controlled steps must end
    corners: tuple[float, ...] = ()
    # rank of the constraints at regular positions near the start of a run, if known
    rank: int | None = None

    @property
    def bodies(self) -> tuple[str, ...]:
        return self.topology.bodies

    @property
    def frame_names(self) -> list[str]:
        """Names ``body/frame`` of all frames and bodies as declared."""
        pieces = {piece for own in self.pieces.values() for piece in own.names}
        return [str(ref) for ref in self.frames if ref.body not in pieces]

    def pieces_of(self, body: str) -> tuple[str, ...]:
        """Names of the bodies in the equations for a declared body: its pieces, or itself."""
        return self.pieces[body].names if body in self.pieces else (body,)

    def whole_of(self, piece: str) -> str:
        """The declared body to which a body of the equations belongs."""
        return next((body for body, own in self.pieces.items() if piece in own.names), piece)

    def owner_of(self, constraint: str) -> str:
        """The declared item of a constraint: joint, drive or coupling.

        For a weld between pieces, their body.
        """
        if any(
            constraint in items
            for items in (self.declared.joints, self.declared.couplings, self.declared.drives)
        ):
            return constraint
        return max(
            (body for body in self.pieces if constraint.startswith(f"{body} ")),
            key=len,
            default=constraint,
        )

    def modes_at(self, body: str) -> tuple[int, ...]:
        """Index of the first elastic coordinate of each piece among those of the declared body."""
        sizes = [self.data[piece].nf if piece in self.data else 0 for piece in self.pieces_of(body)]
        return tuple(itertools.accumulate(sizes[:-1], initial=0))

    @functools.cached_property
    def ground_places(self) -> np.ndarray:
        """Positions (n, 3) of the frames on the ground to which items are attached.

        Absolute coordinates have their origin beside them.
        """
        return self.ground_places_of(self.model.bodies)

    def ground_places_of(self, bodies: Collection[str]) -> np.ndarray:
        """Positions (n, 3) of the frames on the ground that items connect to some bodies."""
        by_body, alone = self._ground_frames
        used = alone.union(*(by_body[body] for body in bodies if body in by_body))
        found = [
            self.model.frames[ref.frame].position if ref.frame else (0.0,) * 3
            for ref in sorted(used, key=str)
        ]
        places: np.ndarray = frozen(np.array(found, float).reshape(-1, 3))
        return places

    @functools.cached_property
    def _ground_frames(self) -> tuple[dict[str, set[FrameRef]], set[FrameRef]]:
        """Frames on the ground that items connect to each body, and those of items on it alone."""
        by_body: dict[str, set[FrameRef]] = {}
        alone: set[FrameRef] = set()
        for items in (self.model.joints, self.model.forces, self.model.contacts):
            for item in items.values():
                refs = frames_used(item).values()
                ground = {ref for ref in refs if ref.body == GROUND}
                others = {ref.body for ref in refs} - {GROUND}
                for body in others:
                    by_body.setdefault(body, set()).update(ground)
                if not others:
                    alone |= ground
        return by_body, alone

    @property
    def n_constraints(self) -> int:
        return int(self.system.layout[3])

    @property
    def initial_constants(self) -> np.ndarray:
        """Constants that the initial position may determine (n,).

        Unloaded lengths of the forces along lines, then the constants of the couplings. NaN if none
        is declared and the initial position has not determined it yet.
        """
        return np.concatenate([self.system.forces.line.value[:, -1], self.system.couplers.constant])

    def with_initial_constants(self, constants: np.ndarray) -> "Compiled":
        """The same model with these constants."""
        line, couplers = self.system.forces.line, self.system.couplers
        value, n = line.value.copy(), len(line.value)
        value[:, -1] = constants[:n]
        forces = self.system.forces._replace(line=line._replace(value=value))
        made = forces, couplers._replace(constant=np.array(constants[n:]))
        frozen(made)
        return replace(self, system=self.system._replace(forces=made[0], couplers=made[1]))


def compile_model(
    model: ModelData, coordinates: str = "joint", *, all_free: bool = False
) -> Compiled:
    """Compile a declared model to the flat records that the kernels read.

    coordinates: "joint", "absolute" or "rheonomic". all_free: as in `topology`. Raises
    `InputError`.
    """
    declared, (model, pieces, same) = model, in_pieces(model)
    shape = topology(model, coordinates, all_free=all_free)
    data = {
        name: body.load() for name, body in model.bodies.items() if isinstance(body, FlexibleBody)
    }
    frames = FrameTable(model, shape, data, same)
    joints, joint_numbers = _joints(model, shape)
    tree, nq, ns = _tree(shape, data, frames, joint_numbers)
    callbacks = Callbacks()
    laws, poses = LawTable(callbacks, length_scale(model, data)), StartPoses(model, frames)
    cuts, relations, paths, places = _cuts(model, shape, frames, joint_numbers, laws, poses)
    nc = _cut_rows(model, shape, cuts, places)
    couplers, paths = compile_couplers(
        model, shape, tree, places, cuts, paths, laws, (nc, len(shape.tree) + len(shape.cuts))
    )
    drives, nc = _drives(model, shape, cuts, places, laws)
    prescribed = _prescribed(model, shape, joint_numbers, joints, laws)
    forces, readings, samplers, couplings, paths, states = compile_forces(
        model, shape, places, frames.number, laws, paths
    )
    rotors, paths = compile_rotors(model, shape, places, frames.number, paths)
    damped, paths = compile_pieces(pieces.values(), shape, tree, paths)
    contacts, contact_names, paths = compile_contacts(
        model, places, frames.number, (cuts, paths), len(couplings.a), laws, poses
    )
    system = System(
        tree=tree,
        bodies=body_records(model, shape, data),
        frames=frames.record(tree),
        joints=joints,
        cuts=cuts,
        constant=constant_rows(cuts, drives, [model.joints[name].motions for name in shape.cuts]),
        relations=relations,
        drives=drives,
        prescribed=prescribed,
        couplers=couplers,
        laws=laws.record(),
        forces=forces,
        readings=readings,
        samplers=samplers,
        contacts=contacts,
        couplings=couplings,
        rotors=rotors,
        pieces_damping=damped,
        paths=np.array(paths, np.int64),
        elimination=_elimination(
            model, shape, tree, cuts, couplers, drives, (couplings, rotors, damped, contacts), paths
        ),
        gravity=np.array(model.gravity),
        layout=np.array([len(shape.tree), nq, ns, nc, len(states)], np.int64),
    )
    return Compiled(
        declared,
        model,
        pieces,
        shape,
        frozen(system),
        data,
        places,
        frames.numbers,
        callbacks,
        tuple(states),
        contact_names,
        tuple(sorted(laws.corners)),
    )


def frozen(record: Any) -> Any:
    """The array or record, made read-only."""
    if isinstance(record, np.ndarray):
        record.flags.writeable = False
    elif isinstance(record, tuple):
        for each in record:
            frozen(each)
    return record


def _joints(model: ModelData, shape: Topology) -> tuple[Joints, dict[str, int]]:
    """Records of all joints: one per primary joint and per cut joint."""
    chains = {primary.label: primary.motions for primary in shape.tree} | {
        name: model.joints[name].motions for name in shape.cuts
    }
    motions = [motion for chain in chains.values() for motion in chain]
    ends = np.cumsum([len(chain) for chain in chains.values()], dtype=np.int64)
    rows = [
        (end - len(chain), end, sum(m.nv for m in chain), sum(m.nq for m in chain))
        for end, chain in zip(ends, chains.values())
    ]
    first, end, nv, nq = np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 4).T)
    record = Joints(
        first,
        end,
        nv,
        nq,
        motion_nv=np.array([motion.nv for motion in motions], np.int64),
        unit_twist=np.array([motion.unit_twist for motion in motions], float).reshape(-1, 6),
        R=np.array([motion.rotation for motion in motions], float).reshape(-1, 9),
        x=np.array([motion.translation for motion in motions], float).reshape(-1, 3),
        rate=np.zeros((len(motions), 2)),
    )
    return record, {label: k for k, label in enumerate(chains)}


def _tree(
    shape: Topology, data: dict[str, FlexibleBodyData], frames: FrameTable, joints: dict[str, int]
) -> tuple[Tree, int, int]:
    """Record of the spanning tree, and the numbers of positions and velocities."""
    rows = []
    nq = ns = 0
    for primary, parent in zip(shape.tree, shape.parents):
        nf = data[primary.body].nf if primary.body in data else 0
        nqj, nvj = sum(m.nq for m in primary.motions), sum(m.nv for m in primary.motions)
        bare = primary.parent == GROUND and not primary.frame_p.frame and not primary.frame_c.frame
        plain = bare and len(primary.motions) == 1 and primary.motions[0].nv == 6
        ends = frames.number(primary.frame_p), frames.number(primary.frame_c)
        rows.append(
            (parent, *ends, joints[primary.label], int(plain), nvj, nf, nq, ns, nq + nqj, ns + nvj)
        )
        nq, ns = nq + nqj + nf, ns + nvj + nf
    return columns(Tree, rows), nq, ns


def _cuts(
    model: ModelData,
    shape: Topology,
    frames: FrameTable,
    numbers: dict[str, int],
    laws: LawTable,
    poses: StartPoses,
) -> tuple[Cuts, np.ndarray, list[int], dict[str, JointPlace]]:
    """Records of the cut joints and what belongs to them.

    Also the parameters of relations, the paths, and the place of each joint of the model. The
    constraint rows are numbered with the drives.
    """
    places = {
        p.joint: JointPlace(i, -1, p.reversed, p.motions)
        for i, p in enumerate(shape.tree)
        if p.joint is not None
    }
    rows: list[tuple[int, ...]] = []
    paths: list[int] = []
    values: list[tuple[float, ...]] = []
    beta = 0
    for k, name in enumerate(shape.cuts):
        joint = model.joints[name]
        places[name] = JointPlace(-1, k, False, joint.motions)
        path, top = shape.common_path(joint.parent.body, joint.child.body)
        ends = frames.number(joint.parent), frames.number(joint.child)
        at = len(paths)
        paths += path
        kernel, kernel_place, given = relation_record(joint, laws, poses)
        rows.append(
            (
                numbers[name],
                *ends,
                0,
                joint.rows,
                0,
                beta,
                len(shape.tree) + k,
                top,
                at,
                len(paths),
                joint.nv,
                int(constant_directions(joint.motions)),
                kernel,
                joint.position_rows,
                kernel_place,
            )
        )
        values.append(given)
        beta += joint.nq
    return columns(Cuts, rows), table(values), paths, places


def constant_directions(motions: tuple[Motion, ...]) -> bool:
    """True if the free directions in the child's axes never change.

    They are constant for one moving motion, for slides alone, and for one common axis.
    """
    moving = [motion for motion in motions if motion.nv > 0]
    if len(moving) <= 1 or all(motion.slides for motion in moving):
        return True
    if any(motion.nv != 1 for motion in motions):
        return False
    vectors = np.array([motion.unit_twist for motion in moving]).reshape(-1, 3)
    axes = vectors[vectors.any(axis=1)]
    return bool(np.abs(np.cross(axes, axes[0])).max() < 1e-12)


def _cut_rows(model: ModelData, shape: Topology, cuts: Cuts, places: dict[str, JointPlace]) -> int:
    """Number the constraint rows of the cut joints; return their number.

    Each joint has its own rows and those of its driven coordinates.
    """
    driven = Counter(
        places[drive.joint].cut for drive in model.drives.values() if places[drive.joint].cut >= 0
    )
    nc = 0
    for k in range(len(shape.cuts)):
        cuts.row[k] = nc
        cuts.rows[k] = cuts.closed[k] + driven[k]
        nc += int(cuts.rows[k])
    return nc


def _drives(
    model: ModelData, shape: Topology, cuts: Cuts, places: dict[str, JointPlace], laws: LawTable
) -> tuple[Drives, int]:
    """Records of the drives and the total number of constraint rows.

    The rows are those of the cut joints, of the couplers, and of driven primary coordinates.
    """
    m = len(model.couplings)
    nc, node = int(cuts.rows.sum()) + m, len(shape.tree) + len(shape.cuts) + m
    next_of = cuts.row + cuts.closed
    rows: list[tuple[int, ...]] = []
    explicit = {
        motion.drive
        for primary in shape.tree
        for motion in primary.motions
        if isinstance(motion, PrescribedMotion)
    }
    for number, drive in enumerate(model.drives.values()):
        if drive.name in explicit:
            continue
        place, item = places[drive.joint], f"drives.{drive.name}"
        if place.cut >= 0:
            at = int(next_of[place.cut]), int(cuts.node[place.cut])
            next_of[place.cut] += 1
        else:
            at = nc, node
            nc, node = nc + 1, node + 1
        law = laws.number(item, drive.motion)
        rows.append(
            (number, place.body, place.cut, *place.coordinate(item, drive.coordinate), *at, law)
        )
    return columns(Drives, rows), nc


def _prescribed(
    model: ModelData, shape: Topology, numbers: dict[str, int], joints: Joints, laws: LawTable
) -> PrescribedRows:  # fmt: skip
    """Record of the tree coordinates that are prescribed functions of time."""
    drives = list(model.drives)
    rows = []
    for i, primary in enumerate(shape.tree):
        for k, motion in enumerate(primary.motions):
            if isinstance(motion, PrescribedMotion):
                law = laws.number(f"drives.{motion.drive}", model.drives[motion.drive].motion)
                rows.append(
                    (
                        drives.index(motion.drive),
                        i,
                        int(joints.first[numbers[primary.label]]) + k,
                        law,
                    )
                )
    return columns(PrescribedRows, rows)


def _elimination(
    model: ModelData,
    shape: Topology,
    tree: Tree,
    cuts: Cuts,
    couplers: Couplers,
    drives: Drives,
    coupled: tuple[Couplings, Rotors, PiecesDamping, Contacts],
    paths: list[int],
) -> Elimination:
    """Symbolic elimination order of the block matrix of bodies and constraints.

    A constraint of the spanning tree may follow the body that it carries: the twist of that body
    gives its rows full rank. A loop-closure constraint follows everything on its loop, a coupler
    everything between its joints.
    """
    nb, ncut, m = len(shape.tree), len(shape.cuts), len(couplers.row)
    real = topology(model, "joint") if shape.coordinates == "absolute" else shape
    driven = [int(body) for body in drives.body if body >= 0]
    sizes = np.concatenate([tree.nv + tree.nf, cuts.rows, np.ones(m + len(driven), np.int64)])
    signs = np.where(np.arange(len(sizes)) < nb, 1, -1)
    groups = _branches(range(nb), shape.parents)
    after: dict[int, set[int]] = {}
    cut_number = {name: k for k, name in enumerate(shape.cuts)}
    carried = {
        joint: shape.numbers[body] for joint, body in shape.real_tree.items() if joint in cut_number
    }
    tree_node = {body: nb + cut_number[joint] for joint, body in carried.items()}
    for k, name in enumerate(shape.cuts):
        path = paths[cuts.path[k] : cuts.path_end[k]]
        groups += [[*branch, nb + k] for branch in _branches(path, shape.parents)]
        if name in carried:
            after[nb + k] = {carried[name]}
        else:
            joint = model.joints[name]
            after[nb + k] = _nodes_between(
                shape, real, (joint.parent.body, joint.child.body), tree_node
            )
    for k, coupling in enumerate(model.couplings.values()):
        joints = [model.joints[use.joint] for use in coupling.coordinates(model.joints)]
        ends = [end.body for joint in joints for end in (joint.parent, joint.child)]
        ends += [body for body, _ in coupling.of] if isinstance(coupling, CutShape) else []
        moving = paths[couplers.path[k] : couplers.path_end[k]]
        groups += [[i, nb + ncut + k] for i in moving]
        after[nb + ncut + k] = {*moving, *_nodes_between(shape, real, ends, tree_node)}
    for d, body in enumerate(driven):
        groups.append([body, nb + ncut + m + d])
        after[nb + ncut + m + d] = {body}
    for record in coupled:
        groups += [paths[at:end] for at, end in zip(record.path, record.path_end)]
    return symbolic(sizes, signs, groups, after)


def _branches(bodies: Sequence[int], parents: Sequence[int]) -> list[list[int]]:
    """Paths from each body without children among ``bodies`` toward the root.

    A path ends where it leaves these bodies.
    """
    own, carrying = set(bodies), {parents[i] for i in bodies}
    found: list[list[int]] = []
    for i in bodies:
        if i not in carrying:
            found.append([])
            while i in own:
                found[-1].append(i)
                i = parents[i]
    return found


def _nodes_between(
    shape: Topology, real: Topology, ends: Sequence[str], tree_node: dict[int, int]
) -> set[int]:
    """Elimination nodes on the tree paths between ``ends``, and of their constraints."""
    found = {i for end in ends[1:] for i in real.common_path(ends[0], end)[0]}
    bodies = {shape.numbers[real.bodies[i]] for i in found}
    return bodies | {tree_node[i] for i in bodies if i in tree_node}
