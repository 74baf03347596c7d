"""What users give to robots, and copies of models."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.frames import Frame, frame
from flexmbs.model.model import Model


def copy_of(model: Model) -> Model:
    """A model of the same items."""
    made = Model(model.name, gravity=model.gravity, frames=model.frames, cuts=model.cuts, run=model.run)
    made.folder = model.folder
    made.bodies, made.joints = dict(model.bodies), dict(model.joints)
    made.forces, made.drives = dict(model.forces), dict(model.drives)
    return made


def given_frame(key: str, value: Any) -> Frame:
    """A `Frame` from itself or a position. Raises `InputError`."""
    try:
        return frame(value)
    except ValueError as error:
        raise InputError(f"{key}: must be a position or Frame: {error}") from None


def given_poses(value: ArrayLike) -> np.ndarray:
    """Homogeneous transformations (..., 4, 4). Raises `InputError`."""
    try:
        poses_ = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"pose: must be a 4×4 matrix, not {shown(value)}") from None
    if poses_.shape[-2:] != (4, 4) or not np.isfinite(poses_).all():
        raise InputError(f"pose: must be finite 4×4 matrices, not the shape {poses_.shape}")
    R = poses_[..., :3, :3]
    if np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0) > 1e-6 or (np.linalg.det(R) < 0.0).any():
        raise InputError("pose: its upper left 3×3 part must be a rotation matrix")
    return poses_
