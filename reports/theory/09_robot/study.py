"""Lecture notes 002, sections 5.1 to 5.3: Denavit–Hartenberg frames of a PUMA, Jacobian,
singularities, equations of motion.
"""

import numpy as np
from matplotlib.figure import Figure
from page import Study, difference

from flexmbs.robots import puma560
from flexmbs.robots.puma import BODIES

ROBOT, H, WEIGHTS = puma560(motors=False), 1e-3, ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
Q = np.radians([20.0, 40.0, -160.0, 30.0, 50.0, -10.0])
QD, QDD = np.array([0.5, -1.0, 0.8, 0.3, -0.6, 1.2]), np.array([1.0, 0.4, -0.7, 2.0, 0.1, -1.5])
TURN = np.diag([1.0, 0, 0], -1) - np.diag([1.0, 0, 0], 1)  # d Rot_z/dθ = TURN Rot_z


def A(i: int, angle: float) -> np.ndarray:
    """A_{i−1,i} = S_{z,i−1} S_{x,i} of the notes, a, α, d from the table of the robot."""
    a, alpha, d = BODIES[i][0], np.radians(BODIES[i][1]), BODIES[i][2]
    c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
    return np.array(
        [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
    )


def frames(q: np.ndarray, k: int = -1) -> np.ndarray:
    """A_00 … A_06; with k = 0 … 5: U_ik = ∂A_0i/∂q_k, zero for the frames before joint k."""
    found, product = [np.eye(4) if k < 0 else np.zeros((4, 4))], np.eye(4)
    for i in range(6):
        product = product @ (TURN if i == k else np.eye(4)) @ A(i, q[i])
        found.append(product if i >= k else np.zeros((4, 4)))
    return np.array(found)


def dynamics(q: np.ndarray) -> tuple[np.ndarray, float]:
    """D = Σ m J_vᵀJ_v + J_ωᵀ Θ J_ω and U of the links, J_v from U_ik at the centres of mass, J_ω
    from the axes z_{k−1}.
    """
    A_0, U, D, potential = (
        frames(q),
        np.array([frames(q, k) for k in range(6)]),
        np.zeros((6, 6)),
        0.0,
    )
    for i, body in enumerate(ROBOT.model.bodies.values(), 1):
        r, R = np.array([*body.com, 1.0]), A_0[i, :3, :3]
        J_v, J_w = (U[:, i] @ r)[:, :3].T, np.where(np.arange(6) < i, A_0[:6, :3, 2].T, 0.0)
        D += body.mass * J_v.T @ J_v + J_w.T @ R @ np.array(body.inertia) @ R.T @ J_w
        potential += body.mass * 9.81 * (A_0[i] @ r)[2]
    return D, potential


def slope(part: int) -> np.ndarray:
    """∂D/∂q_k or ∂U/∂q_k at Q, k first, by central differences of fourth order."""
    return np.array(
        [sum(c * dynamics(Q + n * H * e)[part] for n, c in WEIGHTS) / (12.0 * H) for e in np.eye(6)]
    )


def study() -> Study:
    A_0 = frames(Q)
    J = np.vstack([np.array([frames(Q, k)[6, :3, 3] for k in range(6)]).T, A_0[:6, :3, 2].T])
    (D, _), dD, dU = dynamics(Q), slope(0), slope(1)
    C = 0.5 * np.einsum("ikj,i->kj", dD + dD.transpose(2, 1, 0) - dD.transpose(1, 0, 2), QD)
    wrist, elbow = np.linspace(-np.pi, np.pi, 73), np.radians(np.linspace(-225.0, 45.0, 109))
    det = [
        np.linalg.det(ROBOT.jacobian(Q + np.outer(x - Q[k], np.eye(6)[k]), "link6"))
        for k, x in ((4, wrist), (2, elbow))
    ]
    identities = {
        "A_{i−1,i}": max(
            difference(a, A(i, Q[i])) for i, a in enumerate(ROBOT.transforms(Q).values())
        ),
        "A_06 = A_01 A_12 … A_56": difference(ROBOT.pose(Q), A_0[6]),
        "inverse kinematics: A_06 of the q found": difference(
            ROBOT.pose(ROBOT.inverse_kinematics(A_0[6]).q), A_0[6]
        ),
        "J = [U_6k; z_{k−1}]": difference(ROBOT.jacobian(Q, "link6"), J),
        "det J = c sin q₅": difference(det[0], det[0][18] / np.sin(wrist[18]) * np.sin(wrist)),
        "D = JᵀMJ": difference(ROBOT.mass_matrix(Q), D),
        "Christoffel: C of ∂D/∂q (by differences)": difference(ROBOT.coriolis_matrix(Q, QD), C),
        "g = ∂U/∂q (by differences)": difference(ROBOT.gravity_forces(Q), dU),
        "D q̈ + C q̇ + g = τ": difference(D @ QDD + C @ QD + dU, ROBOT.inverse_dynamics(Q, QD, QDD)),
    }
    numbers = {
        "place of the flange (m)": A_0[6, :3, 3],
        "diagonal of D (kg m²)": np.diag(D),
        "g of joints 2 to 5 (N m)": dU[1:5],
    }

    def draw(figure: Figure) -> None:
        left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
        left.plot(*A_0[:, :3, 3].T, "o-", color="#5d6b7a", linewidth=3)
        for frame in A_0:
            for axis, color in enumerate(("C3", "C2", "C0")):
                left.quiver(*frame[:3, 3], *(0.15 * frame[:3, axis]), color=color)
        left.set(
            title="Frames: x red, y green, z blue",
            xlim=(-0.3, 0.7),
            ylim=(-0.3, 0.7),
            zlim=(0, 1.2),
        )
        right.plot(np.degrees(wrist), np.abs(det[0]), label="over q₅, wrist")
        right.plot(np.degrees(elbow), np.abs(det[1]), label="over q₃, elbow")
        right.set(xlabel="angle (degrees)", title="|det J|: singular positions", xlim=(-230, 300))
        right.legend(loc="upper right")

    return Study(identities, numbers, draw, 4.0)
