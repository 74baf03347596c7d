"""
Satellite with solar panels
===========================

A satellite is rotated by half a radian about an axis across its panels by two opposite torque
pulses of its reaction wheels. The panels are plates of 4 m length; the pulses excite their bending
vibration, which continues after the manoeuvre.
"""

import numpy as np

import flexmbs as fm
import preprocess as pp

panel = pp.reduce(
    pp.box_mesh((4.0, 1.2, 0.02), (16, 4, 1), origin=(0.0, -0.6, -0.01)),
    pp.Isotropic(E=7e9, nu=0.3, rho=150.0),  # homogenized sandwich
    interfaces={"root": pp.Rigid("x0")},
    method=pp.CraigBampton(modes=8),
    reference="root",
    damping=0.005,
)
satellite = fm.Model("satellite", gravity=(0, 0, 0))
sides = {"right": fm.Frame((0.5, 0, 0)), "left": fm.Frame((-0.5, 0, 0), rotation=("z", np.pi))}
hub = satellite.add(fm.RigidBody("hub", mass=400.0, inertia=(70.0, 80.0, 75.0), frames=sides))
satellite.add(fm.Pose("orbit", satellite.ground, hub))
for side in sides:
    body = satellite.add(fm.FlexibleBody(f"{side} panel", data=panel))
    satellite.add(fm.Fixed(f"{side} hinge", hub[side], body["root"]))

half, level = 4.0, 9.3  # s of one pulse, N m
corners = [0.0, 1.0, 1.2, 1.0 + half, 1.2 + half, 1.0 + 2 * half, 1.2 + 2 * half, 20.0]
pulses = fm.Table(corners, [0, 0, level, level, -level, -level, 0, 0], interpolation="linear")
satellite.add(fm.FrameForce("wheels", hub, torque=(0, pulses, 0), axes="follower"))
solution = fm.simulate(satellite, t_end=20.0, step=2e-3, output_step=2e-2)

# %%
# The pulses would rotate a rigid satellite by T·t²/J; afterwards the hub only oscillates with its
# panels.
turned = 2 * np.arctan2(solution.q[:, 5], solution.q[:, 3])
panels = 2 * (panel.mass * (0.5**2 + 2 * 0.5 * 2.0) + panel.second_moment[0, 0])
print(
    f"turned by {turned[-100:].mean():.4f} rad, as a rigid body by "
    f"{level * half**2 / (80.0 + panels):.4f} rad"
)
print(f"first bending mode of a clamped panel {panel.modes.frequency[0]:.2f} Hz")
print(f"residual swing of the hub {1e3 * np.ptp(turned[solution.t > 10]):.2f} mrad")
