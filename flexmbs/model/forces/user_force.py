"""Force and torque on a frame by a user function."""

import dataclasses
from typing import Annotated

from pydantic import AfterValidator

from flexmbs.law_kernel import Row
from flexmbs.model.forces.force import OnFrame
from flexmbs.model.forces.frame_force import in_world_axes
from flexmbs.model.functions import UserFunction, function_of

WrenchFunction = Annotated[UserFunction, AfterValidator(function_of(5, "f(t, r, A, v, w) -> 6 numbers"))]


class UserForce(OnFrame, kind="user-force"):
    """Force and torque on a frame by a user function.

    Its results must depend on its arguments alone: integrators call it at trial states and in rejected steps.

    Parameters
    ----------
    function : function
        ``function(t, r, A, v, w)`` returns 6 numbers (force [N], torque [N m], world axes) for position r (3), rotation
        matrix A (9, by rows), velocity v (3) and angular velocity w (3) of the frame in world axes.
    """

    function: WrenchFunction = dataclasses.field(kw_only=False)

    def row(self) -> Row:
        return Row(in_world_axes, laws=(self.function,), gives=6)
