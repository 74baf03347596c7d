"""Verification of user constraints at the current pose.

Declared derivatives and time dependence are compared with the functions.
"""

from collections.abc import Iterator

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.initial.row_sizes import LATER, unsuitable_size
from flexmbs.model.contacts import UserContact
from flexmbs.model.joints import Joint
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.system.compile import Compiled
from flexmbs.system.pose_functions import COLUMNS, by_differences, moved, rows
from flexmbs.system.records import Work
from flexmbs.system.step_scales import model_size

WRONG = 1e-5  # of the derivatives, above the error of differences
# of the size of the model, and rad: displacement to a second, more general pose
SIDEWAYS = (0.02, -0.03, 0.05, 0.04, -0.05, 0.03)
NAMES = ("v_x", "v_y", "v_z", "ω_x", "ω_y", "ω_z", "t")


def user_row_problems(compiled: Compiled, work: Work, t: float) -> list[str]:
    """One line per user constraint or contact with a wrong Jacobian or time dependence."""
    found: list[Problem] = []
    sizes = np.repeat([model_size(compiled), 1.0], 3)
    for k, name in enumerate(compiled.topology.cuts):
        joint = compiled.model.joints[name]
        given = joint.row() if isinstance(joint, Relation) else None
        if not isinstance(given, FunctionRows):
            continue
        here = np.concatenate([[t], work.cut.pair.x[k], work.cut.pair.R[k]])
        found += _first_problem(joint, given, here, sizes)
    contacts = {
        name: each
        for name, each in compiled.model.contacts.items()
        if isinstance(each, UserContact)
    }
    for name, contact in contacts.items():
        k = compiled.contacts.index(name)
        R, x = relative_frames(compiled, work, k)
        here = np.concatenate([[t], x, R.ravel()])
        found += _first_problem(contact, contact.row(), here, sizes)
        found += _slip_problems(contact, here, sizes)[:1]
    return [str(problem) for problem in found]


def _first_problem(
    item: "Joint | UserContact", given: FunctionRows, here: np.ndarray, sizes: np.ndarray
) -> list[Problem]:
    """First problem of an item at a pose and at a more general one.

    sizes (6,): comparable displacements.
    """
    aside = here
    for direction, step in enumerate(sizes * SIDEWAYS):
        aside = moved(aside, direction, step)
    made = _of_rows if given.values is None else _of_values
    compared = (
        ()
        if given.rows is None and given.values is None
        else (made(item, given, pose, sizes) for pose in (here, aside))
    )
    problems = (*compared, _of_unsuitable_size(item, given, sizes, here, aside))
    return [problem for each in problems for problem in each][:1]


def relative_frames(compiled: Compiled, work: Work, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(R, x) of the second frame of contact k relative to the first one, without deformations.

    At the last kinematics.
    """
    frames, (A, r) = compiled.system.frames, (work.motion.A.reshape(-1, 3, 3), work.motion.x)

    def pose(m: int) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and position of frame m in the initial position."""
        body, R = int(frames.body[m]), frames.R[m].reshape(3, 3)
        return (R, frames.x[m]) if body < 0 else (A[body] @ R, r[body] + A[body] @ frames.x[m])

    (Ra, xa), (Rb, xb) = (
        pose(int(each[k])) for each in (compiled.system.contacts.a, compiled.system.contacts.b)
    )
    return Ra.T @ Rb, Ra.T @ (xb - xa)


def _slip_problems(contact: UserContact, pose: np.ndarray, sizes: np.ndarray) -> list[Problem]:
    """Problems of the user-defined slip rows of a contact.

    They must be perpendicular to the normal and to each other, and may depend on time only if
    declared.
    """
    if contact.slip is None:
        return []
    path = contact.section, contact.name
    try:
        slip = [
            rows(_python_function(contact.slip), moved(pose, COLUMNS - 1, h)).reshape(2, COLUMNS)
            for h in (0.0, *LATER)
        ]
        normal = by_differences(_python_function(contact.function), pose, 1, sizes[0])[0]
    except Exception:  # not defined at this pose; reported by a run that reaches it
        return []
    d = normal[:3] / max(float(np.linalg.norm(normal[:3])), np.finfo(float).tiny)
    square = np.array([d, *slip[0][:, :3]])
    if np.abs(square @ square.T - np.eye(3)).max() > WRONG:
        text = (
            "the first three numbers of its rows must be unit vectors, perpendicular to ∂g/∂x "
            "and to each other"
        )
        return [Problem((*path, "slip"), text)]
    if not contact.rheonomic and np.abs(np.subtract(slip[1:], slip[0])).max() > WRONG:
        return [
            Problem(
                (*path, "rheonomic"), "the function of slip depends on time; set rheonomic=True"
            )
        ]
    return []


def _of_unsuitable_size(
    joint: "Joint | UserContact",
    made: FunctionRows,
    displacements: np.ndarray,
    *poses: np.ndarray,
) -> Iterator[Problem]:
    """Problems of user rows whose sizes are too large or too small.

    Round-off must be small relative to a row, and a row large relative to round-off; otherwise it
    would never close, or would be dropped.
    """
    try:
        sizes = np.array(
            [
                np.abs(_matrix(joint, made, pose, displacements)[:, :6] * displacements).max(axis=1)
                for pose in poses
            ]
        )
    except Exception:  # not defined at this pose; reported by a run that reaches it
        return
    for k, (least, most) in enumerate(zip(sizes.min(axis=0), sizes.max(axis=0))):
        if text := unsuitable_size(float(least), float(most)):
            what = f"row {k} has the size" if made.values is None else f"g{k} changes by"
            key = "covectors" if made.constants else "function"
            yield Problem((joint.section, joint.name, key), f"{what} {text}")


def _matrix(
    joint: "Joint | UserContact", made: FunctionRows, pose: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Velocity rows (n, 7) = (A | a₀) of a user constraint at a pose."""
    if made.values is not None:
        return by_differences(_python_function(made.values), pose, joint.rows, sizes[0])
    given = made.constants if made.rows is None else rows(_python_function(made.rows), pose)
    return np.asarray(given, float).reshape(joint.rows, COLUMNS)


def _of_values(
    joint: "Joint | UserContact", made: FunctionRows, pose: np.ndarray, sizes: np.ndarray
) -> Iterator[Problem]:
    """Problems of user rows that differ from differences of the values, or change with time."""
    try:
        true = by_differences(_python_function(made.values), pose, joint.rows, sizes[0])
        given = (
            true
            if made.rows is None
            else rows(_python_function(made.rows), pose).reshape(true.shape)
        )
        later = [
            by_differences(
                _python_function(made.values), moved(pose, COLUMNS - 1, h), joint.rows, sizes[0]
            )
            for h in LATER
        ]
    except Exception:  # not defined at this pose; reported by a run that reaches it
        return
    if not (np.isfinite(true).all() and np.isfinite(given).all()):
        return
    limit = WRONG * (1.0 + np.abs(true).max())
    if not made.rheonomic and (
        np.abs(true[:, -1]).max() > limit or np.abs(np.subtract(later, true)).max() > limit
    ):
        yield Problem(
            (joint.section, joint.name, "rheonomic"),
            "the function depends on time; set rheonomic=True",
        )
    off = np.abs(given - true)
    if not made.rheonomic:
        off[:, -1] = 0.0
    if off.max() > limit:
        r, c = np.unravel_index(int(off.argmax()), off.shape)
        text = (
            f"∂g{r}/∂{NAMES[c]} is given as {given[r, c]:.6g}, but the function changes by "
            f"{true[r, c]:.6g}; correct the jacobian"
        )
        yield Problem((joint.section, joint.name, made.key), text)


def _of_rows(
    joint: "Joint | UserContact", made: FunctionRows, pose: np.ndarray, _: np.ndarray
) -> Iterator[Problem]:
    """Problems of velocity rows that change with time although they are declared scleronomic."""
    if made.rheonomic:
        return
    try:
        now, *later = (
            rows(_python_function(made.rows), moved(pose, COLUMNS - 1, h)) for h in (0.0, *LATER)
        )
    except Exception:
        return
    if np.abs(np.subtract(later, now)).max() > WRONG * (1.0 + np.abs(now).max()):
        yield Problem(
            (joint.section, joint.name, "rheonomic"),
            "the function depends on time; set rheonomic=True",
        )


def _python_function(function):  # type: ignore[no-untyped-def]
    """Python function of a compiled one."""
    return getattr(function, "py_func", function)
