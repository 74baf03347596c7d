"""Relations → their kernel and its parameters."""

from flexmbs.law_kernel import Row
from flexmbs.model.joints import Joint
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.pose_functions import (
    along_address,
    check_shape,
    examined_pose,
    row_address,
    slope_address,
    value_address,
)
from flexmbs.system.records import OF_CHAIN, OF_FUNCTIONS, ROWS_ALONG, VALUES_ALONG
from flexmbs.system.start_poses import StartPoses


def relation_record(
    joint: Joint, laws: LawTable, poses: StartPoses
) -> tuple[int, int, tuple[float, ...]]:
    """Kernel of the rows of a cut joint, its index among all kernels, and its parameters."""
    if not isinstance(joint, Relation):
        return OF_CHAIN, -1, ()
    made = joint.row()
    if isinstance(made, Row):
        return made.law.number, laws.place(), made.parameters
    return OF_FUNCTIONS, -1, _of_functions(joint, made, laws, poses)


def _of_functions(
    joint: Relation, made: FunctionRows, laws: LawTable, poses: StartPoses
) -> tuple[float, ...]:
    """Parameters of a relation by user functions.

    Constant rows, or the laws of g and of its rows, given by a function or by differentiation.
    """
    name, n, callbacks, in_parent = (
        f"joints.{joint.name}",
        joint.rows,
        laws.callbacks,
        float(made.in_parent),
    )
    position = -1.0
    given = {f"{name}.function": made.values, f"{name}.{made.key}": made.rows}
    at = examined_pose(lambda: poses.relative(joint.parent, joint.child), given)
    if made.values is not None:
        check_shape(f"{name}.function", made.values, at, (n,))
        position = laws.pose(value_address(callbacks, name, made.values, n, at))
    if made.rows is not None:
        columns = (6, 7) if made.values is None else (7,) if made.rheonomic else (6,)
        check_shape(f"{name}.{made.key}", made.rows, at, *((n, each) for each in columns))
        return (
            in_parent,
            position,
            laws.pose(row_address(callbacks, name, made.rows, n, at)),
            ROWS_ALONG,
        )
    if made.values is None:
        return in_parent, position, -1.0, *made.constants
    slopes = laws.pose(slope_address(laws, name, made.values, n, made.rheonomic, at))
    along = along_address(laws, name, made.values, n, made.rheonomic, at)
    return in_parent, position, slopes, laws.pose(along) if along else VALUES_ALONG
