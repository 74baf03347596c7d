"""Fields of relations whose equations are user functions.

Functions receive the pose as ``(t, x, A)``: time (s), position x (3) of the child frame relative to
the parent frame in parent axes (m), rotation matrix A (9, by rows) child → parent. A twist is V =
(v, ω), v = ẋ and Ȧ = ω̃ A in parent axes.
"""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from flexmbs.model.fields import index
from flexmbs.model.functions import OptionalFunction, UserFunction, function_of

MOST = 6
WORK = (
    "the work of its forces is not in the energy balance; use a drive for a balance that "
    "includes it"
)


def _equations(value: object) -> int:
    """Validate the number of equations between two frames."""
    n = index(value)
    if not 1 <= n <= MOST:
        raise ValueError(f"must be 1 … {MOST} equations between two frames, not {n}")
    return n


Count = Annotated[int, BeforeValidator(_equations)]
PoseFunction = Annotated[UserFunction, AfterValidator(function_of(3, "f(t, x, A)"))]
OptionalPoseFunction = Annotated[OptionalFunction, AfterValidator(function_of(3, "f(t, x, A)"))]
