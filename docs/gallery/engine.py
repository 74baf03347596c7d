"""
Engine with a flexible crankshaft
=================================

One cylinder of a four-stroke engine at 3000 rpm. The crankshaft is a flexible body cut out of a grid of cells: two journals,
two webs and the crank pin; the flywheel turns uniformly, and the gas force twists and bends the shaft.
"""

import numpy as np

import flexmbs as fm
import preprocess as pp

throw, rod, bore = 0.04, 0.14, 0.08  # m
grid = pp.box_mesh((0.20, 0.06, 0.12), (20, 6, 12), "hex8", origin=(-0.10, -0.03, -0.04))
cells = grid.blocks["hex8"].connectivity
height = grid.nodes[cells].mean(axis=1)[:, 2]
x, y, z = np.abs(grid.nodes[cells].mean(axis=1)).T
web = (x > 0.02) & (x < 0.04)
journal = (x > 0.02) & (y < 0.02) & (z < 0.02)
pin = (x < 0.02) & (y < 0.02) & (np.abs(height - throw) < 0.02)
used, cells = np.unique(cells[web | journal | pin], return_inverse=True)
shaft_data = pp.reduce(
    pp.Mesh.from_arrays(grid.nodes[used], {"hex8": cells.reshape(-1, 8)}),
    pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0, yield_stress=600e6),
    interfaces={
        "flywheel": pp.Rigid(pp.Plane((0.10, 0, 0), (1, 0, 0))),
        "front": pp.Rigid(pp.Plane((-0.10, 0, 0), (1, 0, 0))),
        "pin": pp.Averaged(pp.Plane((0, 0, 0), (1, 0, 0))),
    },
    method=pp.CraigBampton(modes=6),
    reference="flywheel",
    damping=0.02,
)
engine = fm.Model("engine", frames={"front bearing": (-0.10, 0, 0), "rear bearing": (0.10, 0, 0)})
shaft = engine.add(fm.FlexibleBody("crankshaft", data=shaft_data))
places = {"big end": (0, 0, 0), "small end": (0, 0, rod)}
conrod = engine.add(fm.RigidBody("conrod", mass=0.5, com=(0, 0, 0.045), inertia=(2e-3, 2e-3, 1e-4), frames=places))
piston = engine.add(fm.RigidBody("piston", mass=0.4, inertia=(4e-4, 4e-4, 4e-4), frames={"crown": (0, 0, 0.03)}))
engine.add(fm.Revolute("rear bearing", engine.ground["rear bearing"], shaft["flywheel"], axis="x"))
sleeve = (fm.motions.Slide("x"), fm.motions.Ball())
engine.add(fm.Chain("front bearing", engine.ground["front bearing"], shaft["front"], motions=sleeve))
engine.add(fm.Revolute("crank pin", shaft["pin"], conrod["big end"], axis="x"))
engine.add(fm.Prismatic("cylinder", engine.ground, piston, axis="z", q0=throw + rod))
engine.add(fm.Spherical("gudgeon pin", conrod["small end"], piston))
turn, run_up = 2 * np.pi * 3000 / 60, 0.04  # rad/s, s: one turn from rest, so that no shock excites high modes
time = np.linspace(0.0, run_up, 41)
rise = turn * run_up * ((time / run_up) ** 3 - (time / run_up) ** 4 / 2)
uniform = np.linspace(0.0, 0.04, 41)[1:]
crank = fm.Table(np.append(time, run_up + uniform), np.append(rise, rise[-1] + turn * uniform), interpolation="spline")
engine.add(fm.Drive("flywheel", "rear bearing", crank))
angle = np.linspace(0.0, 4 * np.pi, 145)  # the cycle: intake, compression, burning after the top and expansion, exhaust
volume = 1 / 9 + (1 - np.cos(angle)) / 2
compression = np.clip(1e5 * (10 / 9 / volume) ** 1.3 - 1e5, 0.0, None)
burning = 60e5 * np.exp(-((angle - 2 * np.pi - 0.35) ** 2) / 0.18) + 5e5 * (1 / 9 / volume) ** 1.3
pressure = np.select([angle < np.pi, angle < 2 * np.pi, angle < 3 * np.pi], [0.0, compression, burning], 0.0)
gas_force = -pressure * np.pi / 4 * bore**2
engine.add(fm.FrameForce("gas", piston, force=(0, 0, fm.Table(run_up + angle / turn, gas_force))))
solution = fm.simulate(engine, t_end=0.08, output_step=1e-4)

# %%
spot = solution.body("crankshaft").stress.hot_spots()[0]
print(f"gas force up to {-gas_force.min() / 1e3:.1f} kN")
print(f"torque of the flywheel {solution.drive('flywheel').torque.min():.0f} … {solution.drive('flywheel').torque.max():.0f} N m")
print(f"largest stress {spot.von_mises / 1e6:.0f} MPa at {np.degrees(turn * (spot.time - run_up)) - 360:.0f}° after the top")
