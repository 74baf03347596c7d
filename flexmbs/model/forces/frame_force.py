"""Force and torque on a frame by laws of time."""

from typing import Annotated

from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import choice
from flexmbs.model.forces.force import OnFrame
from flexmbs.model.laws import ThreeLaws


@law_kernel
def in_world_axes(p, u, x, out):
    """Kernel of a force and torque given in world axes, (F, M) = u."""
    for a in range(6):
        out[a] = u[a]


@law_kernel
def following(p, u, x, out):
    """Kernel of a follower force and torque, (F, M) = (A u₁₋₃, A u₄₋₆)."""
    for a in range(3):
        for b in range(3):
            out[a] += x[4 + 3 * a + b] * u[b]
            out[3 + a] += x[4 + 3 * a + b] * u[3 + b]


class FrameForce(OnFrame, kind="frame-force"):
    """Force and torque on a frame.

    Source: docs/theory.md, section 39.

    Parameters
    ----------
    force : 3 laws of time or floats [N]
        Components of the force.
    torque : 3 laws of time or floats [N m]
        Components of the torque.
    axes : 'world' or 'follower'
        Axes of the components: of the world or of the frame.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("tug", gravity=(0, 0, 0))
    >>> boat = model.add(
    ...     fm.RigidBody("boat", mass=50.0, inertia=(4.0, 10.0, 10.0), frames={"bow": (1.5, 0, 0)})
    ... )
    >>> rope = model.add(
    ...     fm.FrameForce("rope", boat["bow"], force=(100.0, 20.0, 0.0), axes="follower")
    ... )
    >>> fm.state(model).sd.round(6)[
    ...     [0, 1, 5]
    ... ].tolist()  # F/m, and the moment 1.5 m · 20 N over the inertia about z
    [2.0, 0.4, 3.0]
    """

    force: ThreeLaws = (0.0, 0.0, 0.0)
    torque: ThreeLaws = (0.0, 0.0, 0.0)
    axes: Annotated[str, choice("world", "follower")] = "world"

    def row(self) -> Row:
        """Kernel for follower or world axes, and the laws of force and torque."""
        law = following if self.axes == "follower" else in_world_axes
        return Row(law, laws=(*self.force, *self.torque), keys=("force",) * 3 + ("torque",) * 3)
