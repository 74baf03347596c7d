"""Argument checks of robots, and copies of models."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.api.model import Model
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked_kind, real_array
from flexmbs.model.frames import Frame, frame
from flexmbs.model.model import SECTIONS
from flexmbs.robots.links import Motor


def copy_of(model: Model) -> Model:
    """Copy of a model with the same items."""
    made = model.without_items()
    made.run = model.run
    for section in SECTIONS:
        made.items(section).update(model.items(section))
    return made


def by_joint(key: str, value: Any, model: Model) -> dict[str, Any]:
    """Validate a mapping by joint names of a model. Raises `InputError`."""
    if value is None:
        return {}
    found = dict(checked_kind(key, Mapping, value))
    for name in found:
        require_known(name, model.joints, f"{key}: joint {shown(name)} is not in the model")
    return found


def given_motors(value: Any, model: Model) -> dict[str, Motor]:
    """Validate motors by joint. Raises `InputError`."""
    return {
        name: checked_kind(f"motors.{name}", Motor, motor)
        for name, motor in by_joint("motors", value, model).items()
    }


def given_limits(value: Any, model: Model) -> dict[str, tuple[float, float]]:
    """Lower and upper limits by joint, possibly infinite; None if there are none.

    Raises `InputError`.
    """
    return {
        name: _two(f"limits.{name}", pair)
        for name, pair in by_joint("limits", value, model).items()
        if pair is not None
    }


def _two(key: str, value: Any) -> tuple[float, float]:
    """Pair (lower, upper) of numbers. Raises `InputError`."""
    pair = real_array(key, value, finite=False)
    if pair.shape != (2,) or not pair[0] <= pair[1]:
        raise InputError(f"{key}: must be two numbers, lower and upper, not {shown(value)}")
    return float(pair[0]), float(pair[1])


def given_frame(key: str, value: Any) -> Frame:
    """`Frame` from a `Frame`, a position or a homogeneous transformation (4, 4).

    Raises `InputError`.
    """
    if isinstance(value, np.ndarray) and value.shape == (4, 4):
        pose = given_poses(value)
        return Frame(pose[:3, 3], pose[:3, :3])
    try:
        return frame(value)
    except ValueError as error:
        raise InputError(f"{key}: must be a position or Frame: {error}") from None


def given_poses(value: ArrayLike) -> np.ndarray:
    """Validate homogeneous transformations (..., 4, 4). Raises `InputError`."""
    poses_ = real_array("pose", value)
    if poses_.shape[-2:] != (4, 4):
        raise InputError(f"pose: must be a 4×4 matrix or several, not shape {poses_.shape}")
    if (np.abs(poses_[..., 3, :] - np.eye(4)[3]) > 1e-12).any():
        raise InputError("pose: its last row must be 0 0 0 1")
    R = poses_[..., :3, :3]
    if (
        np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0) > 1e-6
        or (np.linalg.det(R) < 0.0).any()
    ):
        raise InputError("pose: its upper left 3×3 part must be a rotation matrix")
    return poses_
