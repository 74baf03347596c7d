"""
Pantograph
==========

Four bars copy a drawing at twice its size: the parallelogram keeps pivot, tracer and pen on one
line. The tracer follows a rose curve, and the pen draws the enlarged copy.
"""

import numpy as np

import flexmbs as fm

L = 0.20
copier = fm.Model("pantograph", gravity=(0, 0, 0))


def bar(name, length, **frames):
    inertia = (1e-5, 0.2 * length**2 / 12, 0.2 * length**2 / 12)
    places = {key: (x, 0, 0) for key, x in frames.items()}
    return copier.add(
        fm.RigidBody(name, mass=0.2, com=(length / 2, 0, 0), inertia=inertia, frames=places)
    )


first = bar("first", 2 * L, start=0, middle=L, end=2 * L)
second = bar("second", 2 * L, start=0, middle=L, pen=2 * L)
short = bar("short", L, start=0, tracer=L)
fourth = bar("fourth", L, start=0, end=L)
times = np.linspace(0.0, 1.0, 201)
turn, size = 2 * np.pi * times, 0.03 * np.cos(4 * np.pi * times)
x, z = 0.25 + size * np.cos(turn), -0.02 + size * np.sin(turn)  # the drawing of the tracer, m
opening = 2 * np.arccos(np.hypot(x, z) / (2 * L))
swing, bend = -np.arctan2(z, x) - opening / 2, opening
copier.add(fm.Revolute("pivot", copier.ground, first["start"], axis="y", q0=swing[0]))
copier.add(fm.Revolute("elbow", first["end"], second["start"], axis="y", q0=bend[0]))
copier.add(fm.Revolute("A", first["middle"], short["start"], axis="y", q0=bend[0]))
copier.add(
    fm.Universal("D", second["middle"], fourth["start"], axes=("y", "z"), q0=(np.pi - bend[0], 0))
)
copier.add(fm.Spherical("P", short["tracer"], fourth["end"]))
for name, law in (("pivot", swing), ("elbow", bend)):
    copier.add(fm.Drive(f"hand at {name}", name, fm.Table(times, law, interpolation="spline")))
solution = fm.simulate(copier, t_end=1.0, output_step=2.5e-3)

# %%
tracer, pen = solution.frame("short/tracer").position, solution.frame("second/pen").position
print(
    f"pen − 2 · tracer below 1e-9 m: {abs(pen - 2 * tracer).max() < 1e-9}, width of the "
    f"drawing {np.ptp(pen[:, 0]):.3f} m"
)
