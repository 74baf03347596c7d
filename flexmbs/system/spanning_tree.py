"""Choice of cut joints: a spanning tree of the graph of bodies and joints.

Three rules determine it. Bodies without mass are not at the ends of branches, where their motion
would have no inertia: their joints come first. Few loop-closure equations: a loop is cut at the joint with the most degrees
of freedom, so that the tree has the fewest of all spanning trees. Weakly coupled loops: among those
trees a shallow one, whose paths are short, so that few loops share a body.
"""

import heapq

from flexmbs.errors import InputError
from flexmbs.model.frames import GROUND
from flexmbs.model.joints import Joint
from flexmbs.model.model import ModelData


def spanning_joints(model: ModelData) -> set[str]:
    """Joints of the spanning forest grown from the ground (Prim 1957).

    Of the joints that lead to a new body, the next one is on a body without mass, or else has the
    fewest degrees of freedom, then is nearest to the ground, is on the body found first, and is
    declared first. A joint that the user wants cut is never chosen. Raises `InputError` for such a
    joint that is in no loop.
    """
    at = _joints_at(model)
    massless = {name for name, body in model.bodies.items() if not body.has_mass}
    depth: dict[str, int] = {}
    kept: set[str] = set()
    for root in (GROUND, *model.bodies):
        if root not in depth:
            kept |= _grow(root, at, depth, massless)
    _check_cuts(model, kept)
    return kept


def _joints_at(model: ModelData) -> dict[str, list[tuple[int, Joint]]]:
    """Joints that may be in the tree, numbered, by body."""
    at: dict[str, list[tuple[int, Joint]]] = {name: [] for name in (GROUND, *model.bodies)}
    for number, joint in enumerate(model.joints.values()):
        if joint.carries and joint.name not in model.cuts:
            at[joint.parent.body].append((number, joint))
            at[joint.child.body].append((number, joint))
    return at


def _grow(
    root: str,
    at: dict[str, list[tuple[int, Joint]]],
    depth: dict[str, int],
    massless: set[str],
) -> set[str]:
    """Joints of the tree grown from ``root``; sets the depths of its bodies."""
    kept: set[str] = set()
    waiting: list[tuple[bool, int, int, int, int, str, str]] = []

    def reach(body: str) -> None:
        """Queue the joints from a body that has joined the tree."""
        order = len(depth)
        for number, joint in at[body]:
            far = joint.child.body if joint.parent.body == body else joint.parent.body
            heavy = body not in massless and far not in massless
            key = (heavy, joint.nv, depth[body], order, number, joint.name, far)
            heapq.heappush(waiting, key)

    depth[root] = 0
    reach(root)
    while waiting:
        _, _, above, _, _, name, body = heapq.heappop(waiting)
        if body not in depth:
            depth[body] = above + 1
            kept.add(name)
            reach(body)
    return kept


def _check_cuts(model: ModelData, kept: set[str]) -> None:
    """Raise `InputError` for a cut between two parts that nothing else connects."""
    group = {name: {name} for name in (GROUND, *model.bodies)}

    def join(joint: Joint) -> bool:
        """Unite the groups of bodies that a joint connects; False if it closes a loop."""
        a, b = group[joint.parent.body], group[joint.child.body]
        if a is b:
            return False
        large, small = (a, b) if len(a) >= len(b) else (b, a)
        large |= small
        for name in small:
            group[name] = large
        return True

    for name in kept:
        join(model.joints[name])
    bridges = [name for name in model.joints if name in model.cuts and join(model.joints[name])]
    if bridges:
        raise InputError(
            *(
                f"cuts: joint '{name}' is in no closed loop; take it from the cuts"
                for name in bridges
            )
        )
