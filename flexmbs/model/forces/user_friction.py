"""Force on a joint coordinate by a user function of the loads of the joint."""

import dataclasses

from flexmbs.law_kernel import Row, nonlinear_law
from flexmbs.model.fields import AnyVector
from flexmbs.model.forces.force import JointForce
from flexmbs.model.functions import UserFunction, takes_parameters
from flexmbs.model.joints import Joint
from flexmbs.model.motions import Motion

ARGUMENTS = 4, "f(t, x, v, loads) -> Q"
LOADED_KINDS = ("revolute", "prismatic", "cylindrical")


@nonlinear_law
def as_given(p, u, x, out):
    """Kernel of a user-defined friction τ = u; all of it is dissipative."""
    out[0] = u[0]
    out[1] = u[0]


class UserFriction(JointForce, kind="user-friction"):
    """Generalized force Q = f(t, x, v, loads) on a joint coordinate by a user function.

    The loads are those of the joint reaction, solved simultaneously; its work counts as dissipated.

    The function must depend only on its arguments. As with `PinFriction`, a run stops if no
    reactions agree with the force that they cause. Source: docs/theory.md, section 39.


    Parameters
    ----------
    function : function
        ``function(t, x, v, loads)`` returns Q (N or N m) for coordinate x, rate v and loads (4) of
        a revolute, prismatic or cylindrical joint: magnitudes of the force perpendicular to and
        along its axis [N] and of the moment perpendicular to and about it [N m], about the frame of
        the child; zero along or about the axis if the joint is free there.
    parameters : floats
        Numbers passed to the function as an array after its other arguments.

    Examples
    --------
    >>> import math
    >>> import flexmbs as fm
    >>> def seal(t, x, v, loads):
    ...     return -(0.1 * loads[0] + 5.0) * math.tanh(v / 1e-3)  # loads[0]: force across the axis
    >>> model = fm.Model("piston")
    >>> piston = model.add(fm.RigidBody("piston", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    >>> bore = model.add(fm.Prismatic("bore", model.ground, piston, axis="x", v0=2.0))
    >>> friction = model.add(fm.UserFriction("friction", bore, seal))
    >>> run = fm.simulate(model, t_end=0.1, step=0.01)
    >>> run.joint("bore").acceleration[0].round(6).tolist()  # −(μ m g + F)/m
    [-3.481]
    """

    function: UserFunction = dataclasses.field(kw_only=False)
    parameters: AnyVector = ()

    _arguments = takes_parameters(*ARGUMENTS)

    def unfit_for(self, joint: Joint, motion: Motion) -> str:
        """Reason why the joint does not have exactly one axis; "" if it has."""
        if joint.kind in LOADED_KINDS:
            return ""
        return (
            f"belongs to a joint of kind '{joint.kind}'; friction from reactions needs a "
            "revolute, prismatic or cylindrical joint"
        )

    def row(self) -> Row:
        """Kernel that applies the user function of the joint reactions."""
        return Row(as_given, laws=(self.function,), loaded=True, constants=self.parameters)
