"""
Engine with a flexible crankshaft
=================================

One cylinder of a four-stroke engine at 3000 rpm. The crankshaft is a flexible body whose mesh is
cut out of a grid of cells: two journals, two webs and the crank pin. The flywheel is accelerated
within one turn; then the gas force of one cycle twists and bends the shaft.
"""

import numpy as np

import flexmbs as fm
import preprocess as pp

throw, rod, bore, run_up, turn = 0.04, 0.14, 0.08, 0.04, 100 * np.pi  # m, s, rad/s
grid = pp.box_mesh((0.20, 0.06, 0.12), (20, 6, 12), "hex8", origin=(-0.10, -0.03, -0.04))
cells = grid.blocks["hex8"].connectivity
height = grid.nodes[cells].mean(axis=1)[:, 2]
x, y, z = np.abs(grid.nodes[cells].mean(axis=1)).T
web, journal = (x > 0.02) & (x < 0.04), (x > 0.02) & (y < 0.02) & (z < 0.02)
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
conrod = engine.add(
    fm.RigidBody(
        "conrod",
        mass=0.5,
        com=(0, 0, 0.045),
        inertia=(2e-3, 2e-3, 1e-4),
        frames={"top": (0, 0, rod)},
    )
)
piston = engine.add(
    fm.RigidBody("piston", mass=0.4, inertia=(4e-4, 4e-4, 4e-4), frames={"crown": (0, 0, 0.03)})
)
engine.add(fm.Revolute("rear bearing", engine.ground["rear bearing"], shaft["flywheel"], axis="x"))
sleeve = (fm.motions.Slide("x"), fm.motions.Ball())
engine.add(
    fm.Chain("front bearing", engine.ground["front bearing"], shaft["front"], motions=sleeve)
)
engine.add(fm.Revolute("crank pin", shaft["pin"], conrod, axis="x"))
engine.add(fm.Prismatic("cylinder", engine.ground, piston, axis="z", q0=throw + rod))
engine.add(fm.Spherical("gudgeon pin", conrod["top"], piston))
time = np.linspace(0.0, 0.08, 81)  # smooth start from rest: high modes are not excited
part = np.clip(time / run_up, 0, 1)
crank = turn * (run_up * (part**3 - part**4 / 2) + np.clip(time - run_up, 0, None))
engine.add(fm.Drive("flywheel", "rear bearing", fm.Table(time, crank, interpolation="spline")))
# the cycle: intake, compression, combustion after top dead centre and expansion, exhaust
angle = np.linspace(0.0, 4 * np.pi, 145)
volume = 1 / 9 + (1 - np.cos(angle)) / 2
pressure = np.where(abs(angle - 1.5 * np.pi) < np.pi / 2, 1e5 * (10 / 9 / volume) ** 1.3 - 1e5, 0.0)
burning = 60e5 * np.exp(-((angle - 2 * np.pi - 0.35) ** 2) / 0.18) + 5e5 * (1 / 9 / volume) ** 1.3
pressure += np.where(abs(angle - 2.5 * np.pi) < np.pi / 2, burning, 0.0)
gas = (0, 0, fm.Table(run_up + angle / turn, -np.pi / 4 * bore**2 * pressure))
engine.add(fm.FrameForce("gas", piston, force=gas))
solution = fm.simulate(engine, t_end=0.08, output_step=1e-4)

# %%
spot = solution.body("crankshaft").stress.hot_spots()[0]
print(
    f"torque on the flywheel {solution.drive('flywheel').torque.min():.0f} … "
    f"{solution.drive('flywheel').torque.max():.0f} N m"
)
print(
    f"largest stress {spot.von_mises / 1e6:.0f} MPa at "
    f"{np.degrees(turn * (spot.time - run_up)) - 360:.0f}° after top dead centre"
)
