"""Jacobians of frames, bodies and joints, and the matrix H of the kinematic equations."""

from collections.abc import Sequence

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.declaration import close_names, require_known
from flexmbs.dynamics.kinematics import rates
from flexmbs.errors import InputError
from flexmbs.initial import analysis_arguments
from flexmbs.model.frames import FrameRef, frame_ref
from flexmbs.results.histories import MotionHistory, frames_history
from flexmbs.results.state import State
from flexmbs.studies.states.tangent import cut_rates
from flexmbs.system.compile import Compiled
from flexmbs.system.names import full_name

AXES = ("x", "y", "z")


@packed()
def position_rates(tree, joints, q, s, qd):
    """qd ← H(q) s for each row of s."""
    for i in range(s.shape[0]):
        rates(tree, joints, q, s[i], qd[i])


def kinematic_matrix(state: State) -> np.ndarray:
    """Matrix H (nq, ns) of the kinematic equation q̇ = H(q) s."""
    system, ns = state.compiled.system, len(state.s)
    out = np.zeros((ns, len(state.q)))
    position_rates(system.tree, system.joints, state.q, np.eye(ns), out)
    return out.T


def frame_jacobian(state: State, frame: str | FrameRef) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) of a frame and its Jacobian J (6, ns).

    Its velocity and angular velocity in world axes are J s. Raises `InputError`.
    """
    out = _frame_rates(state, frame, np.eye(len(state.s)))
    return out[0, :9].reshape(3, 3), (out[1:, 12:18] - out[0, 12:18]).T


def frame_drift(state: State, frame: str | FrameRef) -> np.ndarray:
    """Velocity and angular velocity (6,) of a frame in world axes at s = 0.

    Due to drives within joints. Raises `InputError`.
    """
    return np.asarray(_frame_rates(state, frame, np.zeros((0, len(state.s))))[0, 12:18])


def _frame_rates(state: State, frame: str | FrameRef, velocities: np.ndarray) -> np.ndarray:
    """Rows of `frames_history` at s = 0 and at the rows of velocities."""
    compiled, n = state.compiled, len(velocities) + 1
    numbers = np.array([frame_number(compiled, frame)], np.int64)
    out = np.zeros((1, n, 24))
    q, s = np.tile(state.q, (n, 1)), np.vstack([np.zeros(len(state.s)), velocities])
    frames_history(
        compiled.system,
        state.work(),
        numbers,
        MotionHistory(np.full(n, state.t), q, s, np.zeros_like(s)),
        out,
    )
    return out[0]


def body_jacobian(state: State, body: str) -> np.ndarray:
    """Jacobian J (6, ns) of the twist of a body frame in its own axes."""
    A, J = frame_jacobian(state, FrameRef(body))
    return np.vstack([A.T @ J[:3], A.T @ J[3:]])


def joint_directions_of(state: State, joint: str) -> np.ndarray:
    """Matrix (n, ns) from velocities s to the joint velocities.

    Raises `InputError`.
    """
    compiled = state.compiled
    require_known(joint, compiled.places, f"joint '{joint}' is not in the model")
    place = compiled.places[joint]
    n = sum(m.nv for m in place.motions)
    if place.cut >= 0:
        return cut_rates(state)[place.cut, :n]
    rows = np.zeros((n, len(state.s)))
    rows[np.arange(n), int(compiled.system.tree.s_at[place.body]) + np.arange(n)] = 1.0
    return rows[::-1] if place.reversed else rows


def joint_row(state: State, joint: str, coordinate: int) -> np.ndarray:
    """Row (ns,) from velocities s to one joint rate. Raises `InputError`."""
    rows = joint_directions_of(state, joint)
    if not 0 <= coordinate < len(rows):
        raise InputError(f"joint '{joint}': no coordinate {coordinate}, it has {len(rows)}")
    return np.asarray(rows[coordinate])


def frame_number(compiled: Compiled, frame: str | FrameRef) -> int:
    """Index of a frame. Raises `InputError`."""
    try:
        ref = frame_ref(frame)
    except ValueError as error:
        raise InputError(f"frame: {error}") from None
    if ref not in compiled.frames:
        raise InputError(
            f"frame '{ref}' is not in the model; {close_names(str(ref), compiled.frame_names)}"
        )
    return compiled.frames[ref]


def partition(
    N: np.ndarray,
    names: Sequence[str],
    chosen: str | Sequence[str],
    sizes: np.ndarray,
    *,
    key: str = "independent",
) -> list[int]:
    """Independent velocities of the free directions N (ns, f).

    The chosen ones, or the best by pivoted QR.

    key: name of the argument ``chosen`` in messages. Raises `InputError`.
    """
    from scipy.linalg import qr

    f, chosen = N.shape[1], analysis_arguments.names(chosen, key) if chosen is not None else ()
    if not chosen:
        return sorted(int(k) for k in qr(N.T / sizes, mode="r", pivoting=True)[1][:f])
    chosen = tuple(full_name(name, names) for name in chosen)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise InputError(
            *(f"{key}: no coordinate '{name}'; {close_names(name, names)}" for name in unknown)
        )
    rows = [names.index(name) for name in chosen]
    if len(rows) != f or (f and np.linalg.cond(N[rows]) > 1e9):
        raise InputError(
            f"{key}: {', '.join(chosen)} do not determine the {f} degrees of freedom; "
            f"choose {f} others or none"
        )
    return rows
