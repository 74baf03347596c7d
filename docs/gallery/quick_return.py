"""
Quick-return mechanism
======================

The drive of a shaper (Whitworth): a crank rotates at constant speed, its pin slides in a slotted
lever, and the lever moves the ram slowly forward during the cut and quickly back. The ratio of the
two times equals the ratio of the crank angles,
:math:`(\\pi + 2\\arcsin(r/d)) / (\\pi - 2\\arcsin(r/d))`, where r is the length of the crank and d
the distance between the two pivots.
"""

import numpy as np

import flexmbs as fm

r, d, lever, turns_per_second = 0.10, 0.25, 0.60, 1.0

shaper = fm.Model(
    "quick-return", gravity=(0, 0, -9.81), frames={"centre": (0, 0, d), "guide": (0, 0, lever)}
)
crank = shaper.add(
    fm.RigidBody(
        "crank",
        mass=3.0,
        inertia=(0.02, 0.02, 0.02),
        frames={"pin": (r, 0, 0), "counter": (-0.3 * r, 0, 0)},
    )
)
block = shaper.add(fm.RigidBody("block", mass=0.5, inertia=(8e-5, 8e-5, 1.6e-4)))
arm = shaper.add(
    fm.RigidBody(
        "lever",
        mass=4.0,
        com=(0, 0, lever / 2),
        inertia=(0.13, 0.13, 1e-3),
        frames={"pivot": (0, 0, 0), "end": (0, 0, 1.1 * lever)},
    )
)
stone = shaper.add(fm.RigidBody("stone", mass=0.3, inertia=(8e-5, 8e-5, 8e-5)))
ram = shaper.add(
    fm.RigidBody(
        "ram",
        mass=12.0,
        inertia=(0.1, 0.3, 0.3),
        frames={"tool": (0.5, 0, 0), "back": (-0.2, 0, 0)},
    )
)

turn = shaper.add(fm.Revolute("turn", shaper.ground["centre"], crank, axis="y", q0=0.0))
# planar sliding: together with a spherical joint, there are no redundant constraints
sliding = (fm.motions.Slide("z"), fm.motions.Slide("y"))
shaper.add(fm.Spherical("pin", crank["pin"], block))
shaper.add(fm.Revolute("pivot", shaper.ground, arm, axis="y", q0=np.arctan(r / d)))
shaper.add(fm.Chain("slot", arm, block, motions=sliding))
stroke = shaper.add(fm.Prismatic("stroke", shaper.ground["guide"], ram, axis="x"))
shaper.add(fm.Spherical("stone pin", ram, stone))
shaper.add(fm.Chain("stone slot", arm, stone, motions=sliding))
shaper.add(fm.Drive("motor", turn, fm.Ramp(0.0, rate=2 * np.pi * turns_per_second)))
shaper.add(fm.JointFriction("guide friction", stroke, coulomb=400.0, regularization=0.02))

solution = fm.simulate(shaper, t_end=2.0, step=2e-3)

# %%
# Ratio of the times of the slow and the quick stroke, from the run and from the geometry:

way = solution.joint("stroke").position[:, 0]
v = solution.joint("stroke").velocity[:, 0]
quick, slow = sorted((np.mean(v > 0), np.mean(v < 0)))
half = np.arcsin(r / d)
print(
    f"stroke {np.ptp(way):.4f} m, ratio of times {slow / quick:.3f}, by geometry "
    f"{(np.pi + 2 * half) / (np.pi - 2 * half):.3f}"
)
print(f"largest torque of the motor {np.abs(solution.drive('motor').torque).max():.0f} N m")
