"""
SCARA robot
===========

Two arms in the horizontal plane and a spindle that moves down, turns and lifts perform a
pick-and-place cycle along a path in joint coordinates. PD controllers with compensation of the
weight of the spindle track the path; the motor torques are results of the run.
"""

import numpy as np

import flexmbs as fm
from flexmbs.robots import Quintic

robot = fm.Model("SCARA", frames={"shoulder": (0, 0, 0.35)})
parts = (  # name, mass, centre of mass, inertia, frames
    ("column", 10.0, (0, 0, 0), (0.1, 0.1, 0.05), {"foot": (0, 0, -0.35), "head": (0, 0, 0.05)}),
    ("upper arm", 6.0, (0.15, 0, 0), (0.01, 0.06, 0.06), {"root": (0, 0, 0), "elbow": (0.3, 0, 0)}),
    (
        "forearm",
        4.0,
        (0.12, 0, 0),
        (0.01, 0.03, 0.03),
        {"root": (0, 0, 0), "spindle": (0.25, 0, 0)},
    ),
    ("spindle", 1.5, (0, 0, 0), (0.01, 0.01, 5e-4), {"top": (0, 0, 0.15), "tool": (0, 0, -0.2)}),
)
for name, mass, com, inertia, frames in parts:
    robot.add(fm.RigidBody(name, mass=mass, com=com, inertia=inertia, frames=frames))
robot.add(fm.Fixed("bolts", robot.ground["shoulder"], "column"))
shoulder = robot.add(fm.Revolute("shoulder", "column", "upper arm", axis="z", q0=-0.6))
elbow = robot.add(fm.Revolute("elbow", "upper arm/elbow", "forearm", axis="z", q0=1.2))
quill = robot.add(fm.Cylindrical("quill", "forearm/spindle", "spindle", axis="z"))

down, over = (0.0, 0.0, -0.12, 0.0), np.array([-0.6, 1.2, 0.0, 0.0])
legs = [
    over,
    over + down,
    over,
    over + [1.6, -2.2, 0.0, 1.5],
    over + np.array([1.6, -2.2, 0.0, 1.5]) + down,
]
durations = (0.25, 0.25, 0.45, 0.25)


def coordinate(i):
    """Reference of one coordinate over the whole cycle: a spline through points of the quintic legs
    of the path.
    """
    times, values, start = [], [], 0.1
    for a, b, duration in zip(legs, legs[1:], durations):
        path = Quintic(a, b, duration, start=start)
        t = start + duration * np.linspace(0.0, 1.0, 12)[:-1]
        times += t.tolist()
        values += path.table(t).q[:, i].tolist()
        start += duration
    return fm.Table([*times, start], [*values, float(legs[-1][i])])


gains = ((shoulder, 0, 6000, 250), (elbow, 0, 2500, 90), (quill, 0, 9000, 250), (quill, 1, 40, 0.5))
for i, (joint, k, kp, kd) in enumerate(gains):
    law = fm.PD(kp=kp, kd=kd, reference=coordinate(i))
    robot.add(fm.JointTorque(f"motor {i + 1}", joint, law, coordinate=k))
robot.add(fm.JointTorque("balance", quill, fm.Constant(1.5 * 9.81), coordinate=0))
solution = fm.simulate(robot, t_end=1.5, step=5e-4, output_step=5e-3)

# %%
# Final position of the tool, and the largest torques:
print("tool at", solution.frame("spindle/tool").position[-1].round(4), "m")
for name in ("shoulder", "elbow"):
    print(f"{name} {abs(solution.joint(name).effort).max():.0f} N m")
