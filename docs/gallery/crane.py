"""
Crane with a flexible boom
==========================

A slewing crane raises its boom and rotates with a load of 1.5 t on the rope. The boom is a steel
box girder of 12 m, reduced from a finite-element mesh; the rope is modelled as a slender rod.
"""

import numpy as np

import flexmbs as fm
import preprocess as pp

length, rope, load = 12.0, 5.0, 1500.0  # m, m, kg
steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0, yield_stress=355e6)


def girder(height, wall):
    """Mesh of a hollow box: a grid without its inner cells."""
    grid = pp.box_mesh(
        (length, height, height), (24, 4, 4), "hex8", origin=(0, -height / 2, -height / 2)
    )
    cells = grid.blocks["hex8"].connectivity
    nodes = np.array(grid.nodes)
    nodes[:, 1:] = np.sign(nodes[:, 1:]) * np.where(
        np.abs(nodes[:, 1:]) > 0.3 * height, height / 2, height / 2 - wall
    )
    nodes[:, 1:] *= np.abs(grid.nodes[:, 1:]) > 1e-9
    inside = (np.abs(grid.nodes[cells].mean(axis=1)[:, 1:]) < 0.25 * height).all(axis=1)
    used, cells = np.unique(cells[~inside], return_inverse=True)
    return pp.Mesh.from_arrays(nodes[used], {"hex8": cells.reshape(-1, 8)})


boom_data = pp.reduce(
    girder(0.4, 0.008),
    steel,
    interfaces={
        "foot": pp.Rigid(pp.Plane((0, 0, 0), (1, 0, 0))),
        "tip": pp.Rigid(pp.Plane((length, 0, 0), (1, 0, 0))),
    },
    method=pp.CraigBampton(modes=6),
    reference="foot",
    damping=0.01,
)
crane, ends = fm.Model("crane"), {"top": (0, 0, 0), "hook": (0, 0, -rope)}
tower = crane.add(
    fm.RigidBody(
        "tower",
        mass=3000.0,
        inertia=(900.0, 900.0, 800.0),
        frames={"base": (0, 0, 0), "pin": (0, 0, 4.0)},
    )
)
boom = crane.add(fm.FlexibleBody("boom", data=boom_data))
weight = crane.add(
    fm.RigidBody("load", mass=load, inertia=(200.0, 200.0, 200.0), frames={"hook": (0, 0, 0.6)})
)
slew = crane.add(fm.Revolute("slew", crane.ground, tower["base"], axis="z"))
luff = crane.add(fm.Revolute("luff", tower["pin"], boom["foot"], axis="y", q0=-0.5))
line = crane.add(
    fm.RigidBody("rope", mass=20.0, com=(0, 0, -rope / 2), inertia=(40.0, 40.0, 0.1), frames=ends)
)
crane.add(fm.Universal("sheave", boom["tip"], line["top"], axes=("y", "x"), q0=(0.5, 0)))
crane.add(fm.Spherical("shackle", line["hook"], weight["hook"]))
crane.add(fm.Drive("slewing gear", slew, fm.SmoothStep(1.2, start=1.0, duration=8.0)))
crane.add(
    fm.Drive("luffing gear", luff, fm.SmoothStep(-0.8, initial=-0.5, start=1.0, duration=8.0))
)
rest = fm.statics(crane, allow_indifferent=True)
solution = fm.simulate(crane, start=rest, t_end=12.0, step=2e-3, output_step=2e-2)

# %%
spot = solution.body("boom").stress.hot_spots()[0]
sway = np.linalg.norm(
    (solution.frame("load").position - solution.frame("boom/tip").position)[:, :2], axis=1
)
print(
    f"largest stress {spot.von_mises / 1e6:.0f} MPa at t = {spot.time:.2f} s, sway of the "
    f"load up to {sway.max():.2f} m"
)
