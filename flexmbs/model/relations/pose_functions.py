"""Fields of relations whose equations are functions of the user.

A pose is given to functions as ``(t, x, A)``: time (s), position x (3) of the child frame from the parent frame in the parent's
axes (m), rotation matrix A (9, by rows) child → parent. A twist is V = (v, ω), v = ẋ and Ȧ = ω̃ A in the parent's axes.
"""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from flexmbs.model.fields import index
from flexmbs.model.functions import OptionalFunction, UserFunction, function_of

MOST = 6
WORK = "its forces do work, which the energy balance does not hold; a drive's is in it"


def _equations(value: object) -> int:
    """A number of equations between two frames."""
    n = index(value)
    if not 1 <= n <= MOST:
        raise ValueError(f"must be 1 … {MOST} equations between two frames, not {n}")
    return n


Count = Annotated[int, BeforeValidator(_equations)]
PoseFunction = Annotated[UserFunction, AfterValidator(function_of(3, "f(t, x, A)"))]
OptionalPoseFunction = Annotated[OptionalFunction, AfterValidator(function_of(3, "f(t, x, A)"))]
