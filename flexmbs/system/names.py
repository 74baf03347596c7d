"""Names of the velocity coordinates of a compiled model."""

from collections.abc import Sequence

from flexmbs.model.motions import Motion, PrescribedMotion
from flexmbs.system.compile import Compiled
from flexmbs.system.records import rows_of
from flexmbs.system.topology import PrimaryJoint

FREE_NAMES = ("vx", "vy", "vz", "wx", "wy", "wz")


def velocity_names(compiled: Compiled) -> tuple[str, ...]:
    """A name for each velocity in s, by joint and body.

    ``crank.0``, ``hip.0``, ``hip.1``: degrees of freedom of a joint as declared, with the index
    that a drive uses for them; ``rod.vx`` … ``rod.wz``: translations and rotations of a body
    without a primary joint; ``rod.mode1``: elastic coordinates, of a divided body those of all its
    pieces, one after the other.
    """
    modes = {
        piece: (body, at)
        for body, own in compiled.pieces.items()
        for piece, at in zip(own.names, compiled.modes_at(body))
    }
    names: list[str] = []
    for primary, row in zip(compiled.topology.tree, rows_of(compiled.system.tree)):
        names += _of_joint(primary, int(row.nv))
        body, at = modes.get(primary.body, (primary.body, 0))
        names += [f"{body}.mode{at + k + 1}" for k in range(int(row.nf))]
    return tuple(names)


def full_name(name: str, names: Sequence[str]) -> str:
    """The name of a coordinate among ``names``; otherwise as given.

    A joint with a single degree of freedom may be referred to by its own name.
    """
    first = f"{name}.0"
    return first if name not in names and first in names and f"{name}.1" not in names else name


def _of_joint(primary: PrimaryJoint, nv: int) -> list[str]:
    """Names of the velocity coordinates of a joint."""
    if primary.joint is None:
        return [f"{primary.body}.{name}" for name in FREE_NAMES[:nv]]
    numbers = (
        _reversed(primary.motions)
        if primary.reversed
        else list(range(sum(m.freedoms for m in primary.motions)))
    )
    prescribed = [
        isinstance(motion, PrescribedMotion)
        for motion in primary.motions
        for _ in range(motion.freedoms)
    ]
    return [f"{primary.joint}.{k}" for k, given in zip(numbers, prescribed) if not given]


def _reversed(motions: tuple[Motion, ...]) -> list[int]:
    """Indices of the declared degrees of freedom in the order of the reversed chain."""
    numbers: list[int] = []
    end = sum(motion.freedoms for motion in motions)
    for motion in motions:
        numbers += range(end - motion.freedoms, end)
        end -= motion.freedoms
    return numbers
