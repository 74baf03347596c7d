"""Constraints that are no joints → their kind and parameters."""

from collections.abc import Callable
from typing import Any

from flexmbs.errors import InputError
from flexmbs.model.joints import Joint, normal_directions
from flexmbs.model.relations import KnifeEdge, Relation, RollingDisc, RollingSphere
from flexmbs.model.user_relations import Holonomic, VelocityRows
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.pose_functions import along_address, check_shape, row_address, slope_address, value_address
from flexmbs.system.records import CHAIN, KNIFE_EDGE, ROLLING_DISC, ROLLING_SPHERE, ROWS_ALONG, USER_ROWS, VALUES_ALONG


def _disc(disc: RollingDisc, laws: LawTable) -> list[float]:
    return [*disc.normal, *disc.axis, disc.radius - disc.rim, disc.rim]


def _sphere(sphere: RollingSphere, laws: LawTable) -> list[float]:
    first, second = normal_directions(sphere.normal)
    return [*sphere.normal, *first, *second, sphere.radius]


def _blade(blade: KnifeEdge, laws: LawTable) -> list[float]:
    return [*blade.axis]


def _holonomic(given: Holonomic, laws: LawTable) -> list[float]:
    """g by its law, its rows by that of the jacobian or by differentiation."""
    name, n, callbacks = f"joints.{given.name}", given.equations, laws.callbacks
    check_shape(f"{name}.function", given.function, (n,))
    position = laws.pose(value_address(callbacks, name, given.function, n))
    if given.jacobian is None:
        slopes = laws.pose(slope_address(callbacks, name, given.function, n, given.rheonomic))
        along = along_address(callbacks, name, given.function, n, given.rheonomic)
        return [1.0, position, slopes, laws.pose(along) if along else VALUES_ALONG]
    check_shape(f"{name}.jacobian", given.jacobian, (n, 7 if given.rheonomic else 6))
    return [1.0, position, laws.pose(row_address(callbacks, name, given.jacobian, n)), ROWS_ALONG]


def _velocity_rows(given: VelocityRows, laws: LawTable) -> list[float]:
    """Constant rows, or the law of the function."""
    in_parent = float(given.axes == "parent")
    if given.covectors is not None:
        return [in_parent, -1.0, -1.0, *(x for row in given.covectors for x in row)]
    name = f"joints.{given.name}"
    check_shape(f"{name}.function", given.function, (given.equations, 6), (given.equations, 7))
    return [in_parent, -1.0, laws.pose(row_address(laws.callbacks, name, given.function, given.equations)), ROWS_ALONG]


PARAMETERS: dict[type[Relation], tuple[int, Callable[[Any, LawTable], list[float]]]] = {
    KnifeEdge: (KNIFE_EDGE, _blade),
    RollingDisc: (ROLLING_DISC, _disc),
    RollingSphere: (ROLLING_SPHERE, _sphere),
    Holonomic: (USER_ROWS, _holonomic),
    VelocityRows: (USER_ROWS, _velocity_rows),
}


def parameters(joint: Joint, laws: LawTable) -> tuple[int, list[float]]:
    """Kind of the rows of a cut joint and the numbers they need."""
    if joint.carries:
        return CHAIN, []
    for kind, (code, values) in PARAMETERS.items():
        if isinstance(joint, kind):
            return code, values(joint, laws)
    raise InputError(f"joints.{joint.name}: a constraint of kind '{joint.kind}' is not known to the equations")
