"""Change points of linkages: positions with all links in line, where two motions meet.

A planar four-bar linkage has such a position if the shortest and the longest link together are as
long as the other two, s + l = p + q (Grashof); a parallelogram is one, and so is a kite. A
slider-crank of crank r, rod l and offset e has one across its slide if |r − l| = |e| or r + l = |e|.
Source: Norton, Design of Machinery (2011), section 2.12.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.frames import FrameRef
from flexmbs.model.joints import Joint
from flexmbs.system.compile import Compiled

EQUAL = 1e-6  # of the sum of the lengths: dimensions are declared with about six digits
PARALLEL = 1e-6  # sine of the angle between two axes


def change_points(compiled: Compiled, loops: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A line for each four-bar linkage or slider-crank whose links can all be in line."""
    for loop in loops:
        joints = [compiled.model.joints.get(name) for name in loop]
        crank = _slider_crank(compiled, [joint for joint in joints if joint is not None])
        if len(loop) == 4 and crank is not None:
            r, l, e = crank
            if min(abs(abs(r - l) - e), abs(r + l - e)) <= EQUAL * (r + l):
                yield (
                    f"loop {' – '.join(loop)}: with links of {r:.5g} and {l:.5g} m and an offset "
                    f"of {e:.5g} m, both can be in line across the slide: it passes change "
                    "points, where the motion can branch; change a length, or add a link or a "
                    "coupling that guides it there"
                )
            continue
        found = [joint for joint in joints if joint is not None]
        hinges = [each for each in found if sum(motion.rotations for motion in each.motions) == 1]
        lengths = _link_lengths(compiled, found)
        # two joints with parallel axes keep the motion in a plane
        if len(loop) != 4 or lengths is None or len(hinges) < 2:
            continue
        shortest, p, q, longest = sorted(lengths)
        if abs(shortest + longest - p - q) > EQUAL * sum(lengths):
            continue
        named = " – ".join(loop)
        sides = ", ".join(f"{length:.5g}" for length in lengths)
        yield (
            f"loop {named}: with links of {sides} m, s + l = p + q: it passes change "
            "points, all links "
            "in line, where the motion can branch; change a length, or add a link or a "
            "coupling that "
            "guides it there"
        )


def _link_lengths(compiled: Compiled, loop: list[Joint]) -> list[float] | None:
    """Distances of adjacent axes of a planar loop; None for loops that are not planar or rigid."""
    lengths = []
    for one, other in zip(loop, (*loop[1:], *loop[:1])):
        ends = _on_one_body(one, other)
        if ends is None or isinstance(compiled.model.bodies.get(ends[0].body), FlexibleBody):
            return None
        axes = [_axis(compiled, joint, end) for joint, end in zip((one, other), ends)]
        if any(axis is None for axis in axes):
            return None
        a, b = (np.asarray(axis) for axis in axes)
        normal = a if a.any() else b
        if np.linalg.norm(np.cross(a, b)) > PARALLEL:
            return None
        between = _position(compiled, ends[1]) - _position(compiled, ends[0])
        across = np.cross(normal, between) if normal.any() else between
        lengths.append(float(np.linalg.norm(across)))
    return lengths


def _slider_crank(compiled: Compiled, loop: list[Joint]) -> tuple[float, float, float] | None:
    """Lengths (m) of both links and offset of a loop of a slide and three parallel hinges."""
    slides = [k for k, joint in enumerate(loop) if _slide(joint) is not None]
    if len(slides) != 1 or len(loop) != 4:
        return None
    slide, a, b, c = (loop[(slides[0] + k) % 4] for k in range(4))
    links = _link_lengths(compiled, [a, b]), _link_lengths(compiled, [b, c])
    if links[0] is None or links[1] is None:
        return None
    sides = []
    for hinge in (a, c):
        ends = _on_one_body(slide, hinge)
        axis = None if ends is None else _axis(compiled, hinge, ends[1])
        if ends is None or axis is None or not axis.any():
            return None
        R = compiled.system.frames.R[compiled.frames[ends[0]]].reshape(3, 3)
        across = np.cross(R.T @ axis, np.asarray(_slide(slide)))
        if np.linalg.norm(across) < 1.0 - PARALLEL:
            return None
        place = R.T @ (_position(compiled, ends[1]) - _position(compiled, ends[0]))
        sides.append((across, place))
    (m, first), (other, second) = sides
    if np.linalg.norm(np.cross(m, other)) > PARALLEL:
        return None
    return links[0][0], links[1][0], abs(float(m @ (first - second)))


def _slide(joint: Joint) -> np.ndarray | None:
    """Direction of a joint with one translation, in its frames; None for others."""
    if len(joint.motions) != 1 or joint.motions[0].nv != 1 or joint.motions[0].turns:
        return None
    return np.asarray(joint.motions[0].unit_twist[:3])


def _on_one_body(one: Joint, other: Joint) -> tuple[FrameRef, FrameRef] | None:
    """Frames of two joints on the body that both connect; None if there is none."""
    for end in (one.parent, one.child):
        for far in (other.parent, other.child):
            if end.body == far.body:
                return end, far
    return None


def _axis(compiled: Compiled, joint: Joint, end: FrameRef) -> np.ndarray | None:
    """Axis of a revolute or cylindrical joint, in the axes of the body of ``end``.

    Zero for a spherical or universal joint, None for other joints.
    """
    if joint.rows in (3, 4) and all(motion.rotations == motion.nv for motion in joint.motions):
        return np.zeros(3)
    turning = [motion for motion in joint.motions if motion.turns]
    axes = [
        np.asarray(motion.unit_twist).reshape(2, 3) for motion in joint.motions if motion.nv == 1
    ]
    if len(turning) != 1 or len(axes) != len(joint.motions):
        return None
    direction = np.asarray(turning[0].unit_twist[3:])
    if any(np.linalg.norm(np.cross(direction, part)) > PARALLEL for each in axes for part in each):
        return None
    R = compiled.system.frames.R[compiled.frames[end]].reshape(3, 3)
    return np.asarray(R @ direction)


def _position(compiled: Compiled, end: FrameRef) -> np.ndarray:
    """Origin of a frame in its body."""
    return np.asarray(compiled.system.frames.x[compiled.frames[end]])
