"""Force and torque on a frame by a user function."""

import dataclasses
from typing import Annotated

from pydantic import model_validator

from flexmbs.law_kernel import Row
from flexmbs.model.fields import AnyVector, choice
from flexmbs.model.forces.force import OnFrame
from flexmbs.model.forces.frame_force import in_world_axes
from flexmbs.model.frames import JointNames
from flexmbs.model.functions import UserFunction, require_arguments

ALONE = 5, "f(t, r, A, v, w) -> 6 numbers"
READING = 6, "f(t, r, A, v, w, reactions) -> 6 numbers"


class UserForce(OnFrame, kind="user-force"):
    """Force and torque on a frame by a user function.

    Optionally of the reactions of joints, solved simultaneously.

    Its results must depend only on its arguments: integrators call it at trial states and in
    rejected steps. A run stops if no reactions agree with the force that they cause. Source:
    docs/theory.md, section 39.


    Parameters
    ----------
    function : function
        ``function(t, r, A, v, w)`` returns 6 numbers (force [N], torque [N m], world axes) for
        position r (3), rotation matrix A (9, by rows), velocity v (3) and angular velocity w (3) of
        the frame in world axes; with ``reads`` ``function(t, r, A, v, w, reactions)``.
    reads : list of joints
        Joints and relations whose reactions the function takes, ``reactions`` (n, 6): force [N] and
        moment [N m] of the constraint on the child, at its frame, excluding drives, couplings and
        forces. The iteration starts with the reactions of the model without this force.
    axes : 'world' or 'child'
        Axes of the reactions: world axes, as in ``solution.joint(…).force``, or the axes of the
        child's frame.
    parameters : floats
        Numbers passed to the function as an array after its other arguments; a function compiled
        with Numba is compiled once for all forces with other parameters.

    Examples
    --------
    >>> import flexmbs as fm
    >>> def drag(t, r, A, v, w):
    ...     return -0.5 * v[0], 0, -0.5 * v[2], 0, 0, 0  # force (N) and torque (N m)
    >>> model = fm.Model("feather", gravity=(0, 0, -10.0))
    >>> feather = model.add(fm.RigidBody("feather", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
    >>> air = model.add(fm.UserForce("air", feather, drag))
    >>> run = fm.simulate(model, t_end=2.0, step=0.02)
    >>> round(
    ...     run.body("feather").velocity[-1, 2].item(), 3
    ... )  # the speed m g/c at which drag and weight balance
    -2.0
    """

    function: UserFunction = dataclasses.field(kw_only=False)
    reads: JointNames = ()
    axes: Annotated[str, choice("world", "child")] = "world"
    parameters: AnyVector = ()

    @model_validator(mode="after")
    def _arguments(self) -> "UserForce":
        """Raise `NestedError` unless the function takes the expected arguments."""
        require_arguments(self.function, *(READING if self.reads else ALONE), self.parameters)
        return self

    def row(self) -> Row:
        """Kernel that applies the six components returned by the user function."""
        world = self.axes == "world"
        return Row(
            in_world_axes,
            laws=(self.function,),
            gives=6,
            reads=self.reads,
            world_axes=world,
            constants=self.parameters,
        )
