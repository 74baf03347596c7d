"""
Excavator
=========

Boom, stick and bucket, each moved by a hydraulic cylinder. Barrels and rods are bodies, so that
there are three closed loops. The strokes are prescribed; the required cylinder forces are results.
"""

import numpy as np

import flexmbs as fm

digger = fm.Model("excavator", frames={"foot": (0, 0, 1.0), "boom valve": (0.6, 0, 0.5)})


def turned(angle, x, z):  # rotation about y of a point given in the axes of a link
    return np.array(
        [x * np.cos(angle) + z * np.sin(angle), 0.0, -x * np.sin(angle) + z * np.cos(angle)]
    )


def link(name, mass, length, frames):
    places = {key: (x, 0, z) for key, (x, z) in frames.items()}
    inertia = (0.02 * mass, mass * length**2 / 12, mass * length**2 / 12)
    digger.add(
        fm.RigidBody(name, mass=mass, com=(length / 2, 0, 0), inertia=inertia, frames=places)
    )


link(
    "boom",
    1500.0,
    5.0,
    {"foot": (0.0, 0.0), "cylinder": (2.0, 0.4), "stick valve": (2.6, 0.7), "tip": (5.0, 0.0)},
)
link(
    "stick",
    600.0,
    2.5,
    {"pin": (0.0, 0.0), "cylinder": (-0.8, 0.3), "bucket valve": (-0.2, 0.6), "tip": (2.5, 0.0)},
)
link("bucket", 900.0, 1.0, {"pin": (0.0, 0.0), "cylinder": (0.1, 0.5), "teeth": (1.2, 0.0)})
angles = {"boom": -0.6, "stick": 1.0, "bucket": 1.7}  # absolute, about y, positive downwards
digger.add(fm.Revolute("boom hinge", "ground/foot", "boom", axis="y", q0=angles["boom"]))
digger.add(
    fm.Revolute("stick hinge", "boom/tip", "stick", axis="y", q0=angles["stick"] - angles["boom"])
)
digger.add(
    fm.Revolute(
        "bucket hinge", "stick/tip", "bucket", axis="y", q0=angles["bucket"] - angles["stick"]
    )
)
place = {"ground": np.zeros(3), "boom": np.array([0, 0, 1.0])}
place["stick"] = place["boom"] + turned(angles["boom"], 5.0, 0.0)
place["bucket"] = place["stick"] + turned(angles["stick"], 2.5, 0.0)


def cylinder(name, base, head, change):
    ends = []
    for body, frame in (base.split("/"), head.split("/")):
        frames = digger.frames if body == "ground" else digger.bodies[body].frames
        ends.append(
            place[body] + turned(angles.get(body, 0.0), *np.array(frames[frame].position)[[0, 2]])
        )
    (dx, _, dz), stroke = ends[1] - ends[0], np.linalg.norm(ends[1] - ends[0])
    tilt = np.arctan2(-dz, dx) - angles.get(base.split("/")[0], 0.0)
    for part, mass in (("barrel", 80.0), ("rod", 50.0)):
        frames = {
            "eye": (0, 0, 0),
            "end": (0.55 * stroke if part == "barrel" else -0.7 * stroke, 0, 0),
        }
        digger.add(
            fm.RigidBody(f"{name} {part}", mass=mass, inertia=(1.0, 15.0, 15.0), frames=frames)
        )
    digger.add(
        fm.Universal(f"{name} foot", base, f"{name} barrel", axes=("y", "z"), q0=(tilt, 0.0))
    )
    digger.add(fm.Prismatic(f"{name} stroke", f"{name} barrel", f"{name} rod", axis="x", q0=stroke))
    digger.add(fm.Spherical(f"{name} head", f"{name} rod", head))
    digger.add(
        fm.Drive(
            name,
            f"{name} stroke",
            fm.SmoothStep(stroke + change, initial=stroke, start=0.3, duration=2.5),
        )
    )


cylinder("boom cylinder", "ground/boom valve", "boom/cylinder", 0.25)
cylinder("stick cylinder", "boom/stick valve", "stick/cylinder", 0.45)
cylinder("bucket cylinder", "stick/bucket valve", "bucket/cylinder", -0.10)
solution = fm.simulate(digger, t_end=3.2, output_step=1e-2)
# %%
for name in digger.drives:
    print(
        f"{name}: {solution.drive(name).torque.min() / 1e3:.0f} … "
        f"{solution.drive(name).torque.max() / 1e3:.0f} kN"
    )
