"""
Windscreen wiper
================

A four-bar linkage converts the rotation of a motor-driven crank into the oscillation of the wiper,
whose blade slides on the glass with friction. A spherical and a universal joint instead of two
hinges keep the loop free of redundant constraints.
"""

import numpy as np

import flexmbs as fm

crank, coupler, rocker, base = 0.05, 0.30, 0.08, 0.29  # m
wiper = fm.Model("windscreen wiper", gravity=(0, 0, -9.81), frames={"axle": (base, 0, 0)})
motor = wiper.add(
    fm.RigidBody(
        "crank",
        mass=0.2,
        inertia=(1e-4, 1e-4, 1e-4),
        frames={"axle": (0, 0, 0), "pin": (crank, 0, 0)},
    )
)
rod = wiper.add(
    fm.RigidBody(
        "rod",
        mass=0.25,
        com=(coupler / 2, 0, 0),
        inertia=(1e-5, 2e-3, 2e-3),
        frames={"start": (0, 0, 0), "end": (coupler, 0, 0)},
    )
)
lean = 1.514  # angle between the arm and the lever, rad
places = {
    "lever": (rocker, 0, 0),
    "root": (0, 0, 0),
    "wrist": (0.45 * np.sin(lean), 0, 0.45 * np.cos(lean)),
}
# initial angle of the lever
lever = np.arccos((coupler**2 - (base - crank) ** 2 - rocker**2) / (2 * (base - crank) * rocker))
swing = wiper.add(
    fm.RigidBody(
        "arm",
        mass=0.4,
        com=(0.2 * np.sin(lean), 0, 0.2 * np.cos(lean)),
        inertia=(8e-3, 8e-3, 1e-3),
        frames=places,
    )
)
ends = {
    name: (s * 0.25 * np.sin(lean), 0, s * 0.25 * np.cos(lean))
    for name, s in (("low", -1), ("high", 1))
}
blade = wiper.add(fm.RigidBody("blade", mass=0.2, inertia=(4e-3, 4e-3, 1e-5), frames=ends))

turn = wiper.add(fm.Revolute("motor", wiper.ground, motor, axis="y", q0=0.0))
wiper.add(fm.Revolute("crank pin", motor["pin"], rod, axis="y"))
wiper.add(fm.Universal("axle", wiper.ground["axle"], swing, axes=("y", "z"), q0=(-lever, 0)))
wiper.add(fm.Spherical("ball", rod["end"], swing["lever"]))
wiper.add(fm.Fixed("wrist", swing["wrist"], blade))
wiper.add(
    fm.JointFriction("glass", "axle", coulomb=1.2, viscous=0.3, regularization=0.05, coordinate=0)
)
wiper.add(fm.Drive("supply", turn, fm.Ramp(0.0, rate=2 * np.pi * 1.0)))
solution = fm.simulate(wiper, t_end=2.0, step=1e-3, output_step=5e-3)

# %%
# The wiped angle from the run, and from the triangles at the two dead centres (crank and rod
# aligned):


def angle_at(length):
    return np.arccos((base**2 + rocker**2 - length**2) / (2 * base * rocker))


swept = np.ptp(solution.joint("axle").position[:, 0])
print(
    f"wiped {np.degrees(swept):.2f}°, by formula "
    f"{np.degrees(angle_at(coupler + crank) - angle_at(coupler - crank)):.2f}°"
)
print(f"motor torque up to {solution.drive('supply').torque.max():.2f} N m")
