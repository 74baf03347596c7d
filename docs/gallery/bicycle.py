"""
Bicycle
=======

The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (Proc. R. Soc. A 463 (2007) 1955),
ridden hands-free: a rear frame with rider, a handlebar, and two wheels that roll without slip.
After a lateral push at 4.6 m/s, it steers into the fall and rights itself.
"""

import numpy as np

import flexmbs as fm

# m, rad, m/s; z up, x forward
base, trail, tilt, r_rear, r_front, speed = 1.02, 0.08, np.pi / 10, 0.30, 0.35, 4.6
axis = np.array([-np.sin(tilt), 0.0, np.cos(tilt)])  # steering axis
rear, front = np.array([0, 0, r_rear]), np.array([base, 0, r_front])
head = np.array([base + trail, 0, 0]) + axis * r_front / axis[2]
bike = fm.Model("bicycle")


def part(name, mass, com, inertia, origin, frames):
    xx, yy, zz, xz = inertia  # about the centre of mass, z up
    tensor = ((xx, 0, xz), (0, yy, 0), (xz, 0, zz))
    places = {key: np.array(x) - origin for key, x in frames.items()}
    return bike.add(
        fm.RigidBody(name, mass=mass, com=np.array(com) - origin, inertia=tensor, frames=places)
    )


rider = part(
    "rider",
    85.0,
    (0.3, 0, 0.9),
    (9.2, 11.0, 2.8, -2.4),
    rear,
    {"axle": rear, "seat": (0.2, 0, 0.95), "head": head},
)
bars = part(
    "fork",
    4.0,
    (0.9, 0, 0.7),
    (0.05892, 0.06, 0.00708, 0.00756),
    head,
    {"axle": front, "bar": (0.85, 0, 0.95)},
)
places = [fm.motions.Slide(a) for a in "xyz"] + [fm.motions.Rotate(a) for a in "zxy"]
bike.add(
    fm.Chain(
        "road",
        bike.ground,
        rider,
        motions=places,
        q0=(*rear, 0, 0, 0),
        v0=(speed, -0.3 * r_rear, 0, 0, 0.3, 0),
    )
)
bike.add(fm.Revolute("steering", rider["head"], bars, axis=axis))
wheels = (
    ("rear", rider["axle"], r_rear, 2.0, 0.0603, 0.12),
    ("front", bars["axle"], r_front, 3.0, 0.1405, 0.28),
)
for name, place, radius, mass, across, along in wheels:
    wheel = bike.add(fm.RigidBody(f"{name} wheel", mass=mass, inertia=(across, along, across)))
    bike.add(fm.Revolute(f"{name} hub", place, wheel, axis="y", v0=speed / radius))
    bike.add(
        fm.RollingDisc(f"{name} contact", bike.ground, wheel, radius=radius, axis="y", normal="z")
    )

instants = (0.0, 0.04, 0.08)  # of the picture, as fractions of the run
solution = fm.simulate(bike, t_end=5.0, step=2e-3, output_step=1e-2)

# %%
lean, steer = solution.joint("road").position[:, 4], solution.joint("steering").position[:, 0]
print(
    f"lean: at most {np.degrees(abs(lean).max()):.2f}°, at the end {np.degrees(abs(lean[-1])):.3f}°"
)
print(f"heading changed by {np.degrees(solution.joint('road').position[-1, 3]):.1f}°")

# %%
# Eigenvalues of lean and steer about the upright motion: it is stable, in agreement with the
# published range of speeds from 4.29 to 6.02 m/s.
eigenvalues = np.linalg.eigvals(
    fm.linearize(bike, start=fm.state(bike, velocity={"road": (speed, 0, 0, 0, 0, 0)})).A
)
print(eigenvalues[abs(eigenvalues) > 1e-2].round(3))
