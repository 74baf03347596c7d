"""Topology: the graph of bodies and joints as a tree of primary joints and a list of cut joints.

The tree is a spanning tree that keeps the joints with the fewest degrees of freedom, so that the
cut joints give few loop-closure equations (`spanning_tree`); the user may name the cuts. Every cut
closes one of the n_h = n_c − n independent loops. The coordinates are determined by this choice
alone: with ``coordinates="absolute"`` every body is attached to the ground by a free joint and
every joint is cut. A body without inertia of its own in all directions (massless, a point mass, a
thin rod) keeps its joint, and so do the bodies that it carries, whose inertia it moves: then the
mass matrix is definite whenever that of joint coordinates is. A point mass without joints moves by
three translations. With ``coordinates="rheonomic"`` the driven coordinates of the tree are
functions of time instead of unknowns (`prescribed_coordinates`).
"""

import functools
from dataclasses import dataclass, field, replace

from flexmbs.declaration import close_names
from flexmbs.errors import InputError
from flexmbs.model.bodies import Body, PointMass
from flexmbs.model.check_references import unknown_bodies
from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.joints import Joint
from flexmbs.model.model import ModelData
from flexmbs.model.motions import FreeMotion, Motion, Slide
from flexmbs.system.prescribed_coordinates import (
    explicit_drives,
    reasons_for_rows,
    rheonomic_motions,
)
from flexmbs.system.spanning_tree import spanning_joints

COORDINATES = ("joint", "absolute", "rheonomic")


@dataclass(frozen=True)
class PrimaryJoint:
    """The joint that attaches a body to its parent in the tree.

    joint: None for a joint added to a body that has none.
    """

    body: str
    parent: str
    frame_p: FrameRef
    frame_c: FrameRef
    motions: tuple[Motion, ...]
    joint: str | None = None
    reversed: bool = False

    @property
    def label(self) -> str:
        return self.joint or f"{self.body}.free"


@dataclass(frozen=True)
class Topology:
    """Spanning tree, cut joints and numbering.

    tree: in the order of the body numbers. cuts: names of joints.
    """

    coordinates: str
    tree: tuple[PrimaryJoint, ...]
    cuts: tuple[str, ...]
    # joint → the body it carries in the spanning tree of real joints
    real_tree: dict[str, str] = field(default_factory=dict)
    # drive → reason why it is a row in rheonomic coordinates
    rows: dict[str, str] = field(default_factory=dict)

    @functools.cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies by their numbers."""
        return tuple(primary.body for primary in self.tree)

    @functools.cached_property
    def numbers(self) -> dict[str, int]:
        """Numbers of the bodies by their names."""
        return {body: i for i, body in enumerate(self.bodies)}

    @functools.cached_property
    def parents(self) -> tuple[int, ...]:
        """Number of the parent of each body, which is smaller than its own; −1 for the ground."""
        return tuple(self.numbers.get(primary.parent, -1) for primary in self.tree)

    def path(self, body: str) -> list[int]:
        """Numbers of a body and its ancestors, the body first; empty for the ground."""
        found = []
        i = self.numbers.get(body, -1)
        while i >= 0:
            found.append(i)
            i = self.parents[i]
        return found

    def common_path(self, a: str, b: str) -> tuple[list[int], int]:
        """Bodies whose velocities move b relative to a, and their common ancestor (−1 ground)."""
        moving = set()
        i, j = self.numbers.get(a, -1), self.numbers.get(b, -1)
        while i != j:  # the body with the larger number cannot be an ancestor of the other
            moving.add(max(i, j))
            i, j = (self.parents[i], j) if i > j else (i, self.parents[j])
        return sorted(moving | ({i} if i >= 0 else set())), i

    def notes(self) -> list[str]:
        """Notes on bodies with other coordinates than requested, and on drives that are rows."""
        if self.rows:
            drives = [f"{name} ({why})" for name, why in self.rows.items()]
            listed = ", ".join(drives[:10]) + (", ..." if len(drives) > 10 else "")
            return [
                "coordinates: rheonomic coordinates were requested, but these drives are "
                f"constraint rows: {listed}"
            ]
        kept = (
            [primary for primary in self.tree if primary.joint is not None]
            if self.coordinates == "absolute"
            else []
        )
        if not kept:
            return []
        named = ", ".join(f"{primary.body} (on {primary.label})" for primary in kept[:10]) + (
            ", ..." if len(kept) > 10 else ""
        )
        others = (
            f"the other {len(self.tree) - len(kept)} bodies have absolute coordinates"
            if len(kept) < len(self.tree)
            else ""
        )
        why = "they have no inertia of their own in all directions, or are carried by such bodies"
        return [
            "coordinates: absolute coordinates were requested, but joint coordinates are kept: "
            f"{named}; {others or why}"
        ]

    def __str__(self) -> str:
        lines = []
        for primary in self.tree:
            depth = len(self.path(primary.body))
            turned = " (reversed)" if primary.reversed else ""
            lines.append(
                f"{'  ' * depth}{primary.body}  on {primary.parent} by {primary.label}{turned}"
            )
        lines += [f"  cut: {name}" for name in self.cuts]
        return "\n".join(lines)


def independent_loops(model: ModelData, shape: Topology) -> dict[str, tuple[str, ...]]:
    """The other joints of each cut joint's loop, by cut joint.

    They lead from the cut's child body through the tree to its parent body. For a topology in joint
    coordinates; n_h = n_c − n loops (joints, with the free ones of floating parts, minus bodies).
    """
    loops = {}
    for name in shape.cuts:
        joint = model.joints[name]
        if not joint.carries:
            continue
        top = shape.common_path(joint.parent.body, joint.child.body)[1]
        of_a, of_b = (
            [i for i in shape.path(end.body) if i > top] for end in (joint.parent, joint.child)
        )
        loops[name] = tuple(shape.tree[i].label for i in (*of_b, *reversed(of_a)))
    return loops


def inverse_motions(motions: tuple[Motion, ...]) -> tuple[Motion, ...]:
    """The chain from child to parent with the same coordinates: X⁻¹ = X_n⁻¹ … X_1⁻¹."""
    return tuple(motion.inverse() for motion in reversed(motions))


def topology(model: ModelData, coordinates: str = "joint", *, all_free: bool = False) -> Topology:
    """Spanning tree and cut joints of a model.

    coordinates: one of `COORDINATES`. all_free: attach every body by a free joint in absolute
    coordinates, even one without full inertia, for the terms of single bodies; the mass matrix may
    be singular. Raises `InputError` for unknown cuts, coordinates and bodies.
    """
    if coordinates not in COORDINATES:
        raise InputError(
            f"coordinates: no '{coordinates}'; {close_names(str(coordinates), COORDINATES)}"
        )
    unknown = [name for name in model.cuts if name not in model.joints]
    if unknown:
        raise InputError(
            *(f"cuts: no joint '{name}'; {close_names(name, model.joints)}" for name in unknown)
        )
    if missing := list(unknown_bodies(model)):
        raise InputError(*map(str, missing))
    tree = _walk(model, spanning_joints(model))
    carried = {primary.joint: primary.body for primary in tree if primary.joint is not None}
    if coordinates != "absolute":
        cuts = tuple(name for name in model.joints if name not in carried)
        if coordinates == "joint":
            return Topology(coordinates, tuple(tree), cuts, carried)
        rows = reasons_for_rows(model, set(carried))
        drives = explicit_drives(model, rows)
        return Topology(
            coordinates, tuple(_rheonomic(primary, drives) for primary in tree), cuts, carried, rows
        )
    light = set() if all_free else _without_full_inertia(model)
    absolute = [
        primary
        if _keeps_its_joint(model, primary, light)
        else _free_joint(model.bodies[primary.body])
        for primary in tree
    ]
    kept = {primary.joint for primary in absolute}
    cuts = tuple(name for name in model.joints if name not in kept)
    return Topology(
        "absolute",
        tuple(absolute),
        cuts,
        {joint: body for joint, body in carried.items() if joint not in kept},
    )


def _rheonomic(primary: PrimaryJoint, drives: dict[str, dict[int, str]]) -> PrimaryJoint:
    """Primary joint with prescribed motions in place of its driven coordinates."""
    own = drives.get(primary.joint or "")
    return (
        replace(primary, motions=rheonomic_motions(primary.motions, own, primary.reversed))
        if own
        else primary
    )


def _walk(model: ModelData, kept: set[str]) -> list[PrimaryJoint]:
    """Bodies in depth-first order from the ground.

    A part without joint to the ground gets a free joint under its first body.
    """
    at: dict[str, list[Joint]] = {name: [] for name in (GROUND, *model.bodies)}
    for joint in model.joints.values():
        if joint.name in kept:
            at[joint.parent.body].append(joint)
            at[joint.child.body].append(joint)
    found: list[PrimaryJoint] = []
    seen = {GROUND}

    def visit(root: str) -> None:
        """Append the tree joints below a body in depth-first order."""
        stack = [root]
        while stack:
            name = stack.pop()
            if name != root:
                found.append(hanging[name])
            for joint in reversed(at[name]):
                primary = _hang(joint, name)
                if primary.body not in seen:
                    seen.add(primary.body)
                    hanging[primary.body] = primary
                    stack.append(primary.body)

    hanging: dict[str, PrimaryJoint] = {}
    visit(GROUND)
    for name, body in model.bodies.items():
        if name not in seen:
            seen.add(name)
            found.append(_free_joint(body))
            visit(name)
    return found


def _hang(joint: Joint, parent: str) -> PrimaryJoint:
    """Tree joint from a parent body to the other body, reversed if necessary."""
    if joint.parent.body == parent:
        return PrimaryJoint(
            joint.child.body, parent, joint.parent, joint.child, joint.motions, joint.name
        )
    return PrimaryJoint(
        joint.parent.body,
        parent,
        joint.child,
        joint.parent,
        inverse_motions(joint.motions),
        joint.name,
        True,
    )


def _free_joint(body: Body) -> PrimaryJoint:
    """Tree joint of a free body: six degrees of freedom, three for a point mass."""
    motions: tuple[Motion, ...] = (FreeMotion(),)
    if isinstance(body, PointMass):
        motions = (Slide("x"), Slide("y"), Slide("z"))
    return PrimaryJoint(body.name, GROUND, FrameRef(GROUND), FrameRef(body.name), motions)


def _without_full_inertia(model: ModelData) -> set[str]:
    """Bodies that can move without kinetic energy in absolute coordinates."""
    return {
        body.name for body in model.bodies.values() if not (body.has_mass and body.has_full_inertia)
    }


def _keeps_its_joint(model: ModelData, primary: PrimaryJoint, light: set[str]) -> bool:
    """True for a primary joint that is kept in absolute coordinates.

    Joints that carry bodies without inertia in all directions are kept, and those that such bodies
    carry; not those with a ball at a point mass that leaves its axes free: it moves by
    translations.
    """
    if primary.joint is None or not (primary.body in light or primary.parent in light):
        return False
    body = model.bodies[primary.body]
    ends = [
        end.frame
        for joint in model.joints.values()
        for end in (joint.parent, joint.child)
        if end.body == body.name
    ]
    # joints away from the mass depend on its axes
    at_mass = not any(any(body.frame_position(frame)) for frame in ends)
    return not (
        isinstance(body, PointMass)
        and at_mass
        and any(motion.nv >= 3 for motion in primary.motions[-1:])
    )
