"""Derivatives and time dependence that user constraints state, against those of their functions at the pose they are at."""

from collections.abc import Iterator

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.model.user_relations import Holonomic, VelocityRows
from flexmbs.system.compile import Compiled
from flexmbs.system.pose_functions import COLUMNS, by_differences, moved, rows
from flexmbs.system.records import CUT_RR, CUT_XR, Work

WRONG = 1e-5  # of the derivatives, above the error of differences
SIDEWAYS = (0.02, -0.03, 0.05, 0.04, -0.05, 0.03)  # m and rad to a second pose, where less vanishes
NAMES = ("v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z", "t")


def user_row_problems(compiled: Compiled, work: Work, t: float) -> list[str]:
    """One line for each user constraint whose jacobian is not that of its function, or that depends on time unsaid."""
    found: list[Problem] = []
    for k, name in enumerate(compiled.topology.cuts):
        joint = compiled.model.joints[name]
        if not isinstance(joint, (Holonomic, VelocityRows)) or joint.function is None:
            continue
        here = np.concatenate([[t], work.cut[k, CUT_XR : CUT_XR + 3], work.cut[k, CUT_RR : CUT_RR + 9]])
        aside = here
        for direction, step in enumerate(SIDEWAYS):
            aside = moved(aside, direction, step)
        problems = (_of_holonomic(joint, p) if isinstance(joint, Holonomic) else _of_rows(joint, p) for p in (here, aside))
        found += [problem for each in problems for problem in each][:1]
    return [str(problem) for problem in found]


def _of_holonomic(joint: Holonomic, pose: np.ndarray) -> Iterator[Problem]:
    try:
        true = by_differences(_plain(joint.function), pose, joint.equations)
        given = true if joint.jacobian is None else rows(_plain(joint.jacobian), pose).reshape(true.shape)
    except Exception:  # not defined at this pose; a run that comes here tells
        return
    if not (np.isfinite(true).all() and np.isfinite(given).all()):
        return
    limit = WRONG * (1.0 + np.abs(true).max())
    if not joint.rheonomic and np.abs(true[:, -1]).max() > limit:
        yield Problem((joint.section, joint.name, "rheonomic"), "the function depends on time; say rheonomic=True")
    off = np.abs(given - true)
    if not joint.rheonomic:
        off[:, -1] = 0.0
    if off.max() > limit:
        r, c = np.unravel_index(int(off.argmax()), off.shape)
        text = f"∂g{r}/∂{NAMES[c]} is given as {given[r, c]:.6g}, but the function changes by {true[r, c]:.6g}; mend the jacobian"
        yield Problem((joint.section, joint.name, "jacobian"), text)


def _of_rows(joint: VelocityRows, pose: np.ndarray) -> Iterator[Problem]:
    if joint.rheonomic:
        return
    try:
        now, later = (rows(_plain(joint.function), moved(pose, COLUMNS - 1, h)) for h in (0.0, 0.37))
    except Exception:
        return
    if np.abs(later - now).max() > WRONG * (1.0 + np.abs(now).max()):
        yield Problem((joint.section, joint.name, "rheonomic"), "the function depends on time; say rheonomic=True")


def _plain(function):  # type: ignore[no-untyped-def]
    return getattr(function, "py_func", function)
