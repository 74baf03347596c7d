"""
Woodpecker toy
==============

The toy of Glocker (1995): a sleeve with clearance slides down a pole in jerks while the woodpecker
on its leaf spring nods and pecks. The model has contacts with impacts and friction; the
event-driven integrator locates each impact.
"""

import numpy as np

import flexmbs as fm

pole, sleeve, half, lever, bird, up, beak = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201  # m
sides = {"bark": (pole, 0, 0), "left": (-pole, 0, 0)}
toy = fm.Model("woodpecker", gravity=(0, 0, -9.81), frames=sides)
places = {"spring": (lever, 0, 0), "low": (sleeve, 0, -half), "high": (sleeve, 0, half)}
places |= {"far low": (-sleeve, 0, -half), "far high": (-sleeve, 0, half)}
holder = toy.add(fm.RigidBody("sleeve", mass=0.0003, inertia=(5e-9, 5e-9, 5e-9), frames=places))
places = {
    "spring": (-bird, 0, 0),
    "beak": (-beak, 0, up),
    "tail": (0.006, 0, -0.035),
    "head": (-0.006, 0, 0.025),
}
pecker = toy.add(fm.RigidBody("woodpecker", mass=0.0045, inertia=(7e-7, 7e-7, 7e-7), frames=places))

# angle of the sleeve when its edge touches the pole
tilt = np.arctan2(half, sleeve) - np.arccos(pole / np.hypot(sleeve, half))
motions = (fm.motions.Slide("z"), fm.motions.Rotate("-y"))
toy.add(fm.Chain("pole", toy.ground, holder, motions=motions, q0=(0, tilt), v0=(-0.3411, 0)))
hinge = toy.add(
    fm.Revolute(
        "hinge", holder["spring"], pecker["spring"], axis="-y", q0=-0.2788 - tilt, v0=-7.4583
    )
)
toy.add(fm.JointSpring("leaf spring", hinge, k=0.0056))
toy.add(
    fm.SpherePlane(
        "beak", toy.ground["bark"], pecker["beak"], normal="x", restitution=0.5, friction=0.3
    )
)
for place in ("low", "high"):
    toy.add(fm.SpherePlane(place, toy.ground["bark"], holder[place], normal="x", friction=0.3))

solution = fm.simulate(toy, t_end=1.0, output_step=2e-3, integrator="event-driven")

# %%
# A peck in each period:
pecks = [impact.t for impact in solution.run.impacts if impact.contact == "beak"]
down = -solution.joint("pole").position[-1, 0]
print(
    f"{len(pecks)} pecks, one every {1e3 * np.mean(np.diff(pecks)):.0f} ms; "
    f"{1e3 * down:.0f} mm down in {solution.t[-1]:g} s"
)
