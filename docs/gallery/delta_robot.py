"""
Delta robot
===========

A parallel robot for packing, with three upper arms on the base and six slender rods to the
platform. Each rod constrains one of the six degrees of freedom of the platform, so that the three
motors translate the platform without rotating it.
"""

import numpy as np

import flexmbs as fm

# m: radii, lengths, half the width of a pair of rods
base, arm, rods, plate, half = 0.20, 0.30, 0.70, 0.06, 0.05
delta = fm.Model("delta robot")
height = -np.sqrt(rods**2 - (base + arm - plate) ** 2)  # of the platform if the arms are level
level = np.pi - np.arcsin(-height / rods)  # angle of the rods
ends = {"start": (0, 0, 0), "end": (rods, 0, 0)}
corners, times = {}, np.linspace(0.0, 2.0, 161)
rise = np.clip(times / 0.8, 0, 1) ** 3 * (
    10 - 15 * np.clip(times / 0.8, 0, 1) + 6 * np.clip(times / 0.8, 0, 1) ** 2
)
for k in range(3):
    angle = 2 * np.pi * k / 3
    out, across = (
        np.array([np.cos(angle), np.sin(angle), 0]),
        np.array([-np.sin(angle), np.cos(angle), 0]),
    )
    corners |= {
        f"{k}{side}": plate * out + sign * half * across for side, sign in (("a", 1), ("b", -1))
    }
platform = delta.add(fm.RigidBody("platform", mass=0.6, inertia=(6e-4, 6e-4, 1e-3), frames=corners))
delta.add(fm.Free("flight", delta.ground, platform, q0=(0, 0, height, 1, 0, 0, 0)))

for k in range(3):
    angle = 2 * np.pi * k / 3
    out, across = (
        np.array([np.cos(angle), np.sin(angle), 0]),
        np.array([-np.sin(angle), np.cos(angle), 0]),
    )
    frames = {"root": (0, 0, 0)} | {
        side: (arm, sign * half, 0) for side, sign in (("a", 1), ("b", -1))
    }
    upper = delta.add(
        fm.RigidBody(
            f"arm {k}", mass=0.5, com=(arm / 2, 0, 0), inertia=(1e-4, 4e-3, 4e-3), frames=frames
        )
    )
    turn = fm.motions.FixedRotation("z", angle)
    motions = (fm.motions.FixedTranslation(base * out), turn, fm.motions.Rotate("y"))
    motor = delta.add(fm.Chain(f"motor {k}", delta.ground, upper, motions=motions, q0=0.0))
    for side in "ab":
        rod = fm.RigidBody(
            f"rod {k}{side}",
            mass=0.05,
            com=(rods / 2, 0, 0),
            inertia=(1e-6, 2e-3, 2e-3),
            frames=ends,
        )
        delta.add(rod)
        delta.add(
            fm.Universal(
                f"upper ball {k}{side}", upper[side], rod.name, axes=("y", "z"), q0=(level, 0)
            )
        )
        delta.add(fm.Spherical(f"lower ball {k}{side}", f"{rod.name}/end", platform[f"{k}{side}"]))
    swing = 0.35 * np.sin(3 * np.pi * times - angle) * rise
    law = fm.Table(times, swing, interpolation="spline")
    delta.add(fm.JointTorque(f"servo {k}", motor, fm.PD(kp=150.0, kd=6.0, reference=law)))

solution = fm.simulate(delta, t_end=2.0, output_step=5e-3)

# %%
# The platform moves in a circle and stays level:
path = solution.body("platform").position[solution.t > 1.0]
tilt = np.arccos(np.clip(solution.body("platform").rotation[:, 2, 2], -1, 1)).max()
print(
    f"width of the path {1e3 * np.ptp(path[:, 0]):.0f} × {1e3 * np.ptp(path[:, 1]):.0f} "
    f"mm, largest tilt {np.degrees(tilt):.1e}°"
)
print(
    "largest torque "
    f"{max(abs(solution.joint(f'motor {k}').effort).max() for k in range(3)):.1f} N m"
)
