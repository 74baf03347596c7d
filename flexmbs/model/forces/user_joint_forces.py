"""Forces on several joint coordinates by a user function of all of them."""

import dataclasses

from flexmbs.law_kernel import Row, law_kernel
from flexmbs.model.fields import AnyVector
from flexmbs.model.forces.force import OnJoints
from flexmbs.model.functions import UserFunction, takes_parameters

ARGUMENTS = 3, "f(t, x, v) -> Q, one for each coordinate"


@law_kernel
def as_given(p, u, x, out):
    """Kernel of n user-defined joint forces τ = u, p = (n,)."""
    for a in range(int(p[0])):
        out[a] = u[a]


class UserJointForces(OnJoints, kind="user-joint-forces"):
    """Generalized forces Q = f(t, x, v) on several joint coordinates by a user function of all.

    Controllers of a whole machine, cables and tendons over several joints, load maps.

    Its results must depend only on its arguments: integrators call it at trial states and in
    rejected steps. Source: docs/theory.md, section 39.


    Parameters
    ----------
    function : function
        ``function(t, x, v)`` returns Q, one number per coordinate (N or N m), for time t,
        coordinates x (n) and rates v (n).
    parameters : floats
        Numbers passed to the function as an array after its other arguments.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("finger", gravity=(0, 0, 0))
    >>> link = {
    ...     "mass": 0.1,
    ...     "com": (0.02, 0, 0),
    ...     "inertia": (1e-5, 1e-4, 1e-4),
    ...     "frames": {"tip": (0.04, 0, 0)},
    ... }
    >>> first, second = (model.add(fm.RigidBody(name, **link)) for name in ("first", "second"))
    >>> base = model.add(fm.Revolute("base", model.ground, first, axis="z"))
    >>> knuckle = model.add(fm.Revolute("knuckle", first["tip"], second, axis="z"))
    >>> def tendon(t, x, v):
    ...     tension = 2.0 + 2000.0 * (0.010 * x[0] + 0.005 * x[1])  # N; pulleys of 10 and 5 mm
    ...     return -0.010 * tension, -0.005 * tension
    >>> cable = model.add(fm.UserJointForces("tendon", [base, knuckle], tendon))
    >>> fm.matrices(model).forces.Q_e["tendon"].round(6).tolist()
    [-0.02, -0.01]
    """

    function: UserFunction = dataclasses.field(kw_only=False)
    parameters: AnyVector = ()

    _arguments = takes_parameters(*ARGUMENTS)

    def row(self) -> Row:
        """Kernel that applies the joint forces returned by the user function."""
        return Row(
            as_given,
            (float(len(self.of)),),
            laws=(self.function,),
            gives=len(self.of),
            constants=self.parameters,
        )
