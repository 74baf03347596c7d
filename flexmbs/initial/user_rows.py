"""Verification of user constraints: declared derivatives and time dependence against their functions at the current pose."""

from collections.abc import Iterator

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.model.joints import Joint
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.system.compile import Compiled
from flexmbs.system.pose_functions import COLUMNS, by_differences, moved, rows
from flexmbs.system.records import Work

LEAST_SLOPE = 1e-11  # per m or rad
WRONG = 1e-5  # of the derivatives, above the error of differences
SIDEWAYS = (0.02, -0.03, 0.05, 0.04, -0.05, 0.03)  # m and rad to a second, more generic pose
NAMES = ("v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z", "t")


def user_row_problems(compiled: Compiled, work: Work, t: float) -> list[str]:
    """One line for each user constraint whose jacobian is wrong, or whose dependence on time is not declared."""
    found: list[Problem] = []
    for k, name in enumerate(compiled.topology.cuts):
        joint = compiled.model.joints[name]
        given = joint.row() if isinstance(joint, Relation) else None
        if not isinstance(given, FunctionRows) or (given.values is None and given.rows is None):
            continue
        here = np.concatenate([[t], work.cut.pair.x[k], work.cut.pair.R[k]])
        aside = here
        for direction, step in enumerate(SIDEWAYS):
            aside = moved(aside, direction, step)
        made = _of_rows if given.values is None else _of_values
        problems = (*(made(joint, given, pose) for pose in (here, aside)), _without_slopes(joint, given, aside))
        found += [problem for each in problems for problem in each][:1]
    return [str(problem) for problem in found]


def _without_slopes(joint: Joint, made: FunctionRows, pose: np.ndarray) -> Iterator[Problem]:
    """Rows that hardly depend on the motion would be treated as redundant and dropped."""
    if made.values is None:
        return
    try:
        slopes = np.abs(by_differences(_plain(made.values), pose, joint.rows)[:, :6]).max(axis=1)
    except Exception:  # not defined at this pose; reported by a run that reaches it
        return
    for k in np.flatnonzero(slopes < LEAST_SLOPE)[:1]:
        text = f"g{k} changes by {slopes[k]:.1e} per m or rad, hardly more than round-off; multiply it by a larger factor"
        yield Problem((joint.section, joint.name, "function"), text)


def _of_values(joint: Joint, made: FunctionRows, pose: np.ndarray) -> Iterator[Problem]:
    try:
        true = by_differences(_plain(made.values), pose, joint.rows)
        given = true if made.rows is None else rows(_plain(made.rows), pose).reshape(true.shape)
    except Exception:  # not defined at this pose; reported by a run that reaches it
        return
    if not (np.isfinite(true).all() and np.isfinite(given).all()):
        return
    limit = WRONG * (1.0 + np.abs(true).max())
    if not made.rheonomic and np.abs(true[:, -1]).max() > limit:
        yield Problem((joint.section, joint.name, "rheonomic"), "the function depends on time; set rheonomic=True")
    off = np.abs(given - true)
    if not made.rheonomic:
        off[:, -1] = 0.0
    if off.max() > limit:
        r, c = np.unravel_index(int(off.argmax()), off.shape)
        text = (
            f"∂g{r}/∂{NAMES[c]} is given as {given[r, c]:.6g}, but the function changes by {true[r, c]:.6g}; correct the jacobian"
        )
        yield Problem((joint.section, joint.name, made.key), text)


def _of_rows(joint: Joint, made: FunctionRows, pose: np.ndarray) -> Iterator[Problem]:
    if made.rheonomic:
        return
    try:
        now, later = (rows(_plain(made.rows), moved(pose, COLUMNS - 1, h)) for h in (0.0, 0.37))
    except Exception:
        return
    if np.abs(later - now).max() > WRONG * (1.0 + np.abs(now).max()):
        yield Problem((joint.section, joint.name, "rheonomic"), "the function depends on time; set rheonomic=True")


def _plain(function):  # type: ignore[no-untyped-def]
    return getattr(function, "py_func", function)
