"""Names of the velocity coordinates of a compiled model."""

from flexmbs.model.motions import Motion
from flexmbs.system.compile import Compiled
from flexmbs.system.records import NF, NV
from flexmbs.system.topology import PrimaryJoint

FREE_NAMES = ("vx", "vy", "vz", "wx", "wy", "wz")


def velocity_names(compiled: Compiled) -> tuple[str, ...]:
    """A name for each velocity in s, by joint and body.

    ``crank``: the only freedom of a joint; ``hip.0``, ``hip.1``: its freedoms as declared, counted like those of a drive;
    ``rod.vx`` … ``rod.wz``: translations and rotations of a body that hangs on no joint; ``rod.mode1``: elastic coordinates.
    """
    names: list[str] = []
    for primary, row in zip(compiled.topology.tree, compiled.system.tree):
        names += _of_joint(primary, int(row[NV]))
        names += [f"{primary.body}.mode{k + 1}" for k in range(int(row[NF]))]
    return tuple(names)


def _of_joint(primary: PrimaryJoint, nv: int) -> list[str]:
    if primary.joint is None:
        return [f"{primary.body}.{name}" for name in FREE_NAMES[:nv]]
    if nv == 1:
        return [primary.joint]
    numbers = _reversed(primary.motions) if primary.reversed else list(range(nv))
    return [f"{primary.joint}.{k}" for k in numbers]


def _reversed(motions: tuple[Motion, ...]) -> list[int]:
    """Freedoms as declared, in the order of the reversed chain."""
    numbers: list[int] = []
    end = sum(motion.nv for motion in motions)
    for motion in motions:
        numbers += range(end - motion.nv, end)
        end -= motion.nv
    return numbers
