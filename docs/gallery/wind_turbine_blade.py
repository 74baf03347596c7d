"""
Wind-turbine blade
==================

A tapered blade of 40 m is accelerated to 1.6 rad/s under its weight and is then hit by a gust.
Rotation stiffens the blade: its flapping frequency increases with the speed.
"""

from dataclasses import replace

import numpy as np

import flexmbs as fm
import preprocess as pp

span = 40.0
mesh = pp.box_mesh((span, 0.5, 3.0), (20, 1, 2), origin=(0.0, -0.25, -1.5))
taper = 1.0 - 0.75 * mesh.nodes[:, 0] / span
mesh = replace(mesh, nodes=mesh.nodes * np.column_stack([np.ones_like(taper), taper, taper]))
blade = pp.reduce(
    mesh,
    pp.Isotropic(E=9e9, nu=0.3, rho=250.0),  # laminate, homogenized over the section
    interfaces={"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
    method=pp.CraigBampton(modes=6),
    reference="root",
    damping=0.02,
    inertia_loads=True,
)


def turbine(motion, gust=0.0):
    """Model of the blade on the hub, which rotates about y; the wind blows along y."""
    model = fm.Model("wind-turbine blade")
    body = model.add(fm.FlexibleBody("blade", data=blade))
    hub = model.add(fm.Revolute("hub", model.ground, body["root"], axis="y"))
    model.add(fm.Drive("rotor", hub, motion))
    model.add(fm.FrameForce("gust", body["tip"], force=(0.0, gust, 0.0)))
    return model


speeds = np.array([0.1, 0.8, 1.6])
free = [turbine(fm.Ramp(0.0, rate=speed)) for speed in speeds]
for model in free:
    model.gravity = (0, 0, 0)
flap = [fm.linearize(m, start=fm.statics(m, steady=True)).modes.frequency[0] for m in free]
times = np.linspace(0.0, 10.0, 101)
ramp = np.clip(times / 5.0, 0, 1)
run_up = fm.Table(
    times,
    1.6 * 5.0 * (ramp**3 - ramp**4 / 2) + 1.6 * np.clip(times - 5.0, 0, None),
    interpolation="spline",
)
gust = fm.Table([0, 6.0, 6.5, 7.5, 8.0, 10.0], [0, 0, 2500, 2500, 0, 0])
model = turbine(run_up, gust)
hanging = fm.statics(model)  # suddenly applied weight would excite modes beyond the basis
solution = fm.simulate(model, start=hanging, t_end=10.0, step=4e-3, output_step=2e-2)
# %%
for speed, f in zip(speeds, flap):
    print(f"{speed:.1f} rad/s: first mode {f:.3f} Hz")
# in blade axes
tip = np.einsum("tji,tj->ti", solution.body("blade").rotation, solution.frame("blade/tip").position)
print(
    f"deflection of the tip: flapwise {np.ptp(tip[:, 1]):.2f} m, edgewise {np.ptp(tip[:, 2]):.2f} m"
)
