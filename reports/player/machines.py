"""Twelve machines that together contain every form of element that the player draws.

python reports/player/machines.py FOLDER [NAME…]     writes one page for each machine
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import flexmbs as fm
import preprocess as pp

I3 = (0.02, 0.02, 0.02)


def body(model: fm.Model, name: str, mass: float = 1.0, **frames: tuple[float, float, float]):
    """A rigid body with frames."""
    return model.add(fm.RigidBody(name, mass=mass, inertia=(3e-3 * mass,) * 3, frames=frames))


def excavator() -> fm.Solution:
    """A boom lifted by a hydraulic cylinder, a bucket on a rope, a flexible jib."""
    data = pp.reduce(
        pp.box_mesh((1.2, 0.08, 0.08), (12, 2, 2), origin=(0, -0.04, -0.04)),
        pp.Isotropic(E=7e10, nu=0.33, rho=2700.0),
        interfaces={
            "foot": pp.Rigid(pp.Plane((0, 0, 0), (1, 0, 0))),
            "tip": pp.Rigid(pp.Plane((1.2, 0, 0), (1, 0, 0))),
        },
        method=pp.CraigBampton(modes=4),
        reference="foot",
        damping=0.02,
    )
    model = fm.Model("excavator", frames={"pivot": (0, 0, 1.0), "cylinder": (0.5, 0, 0.2)})
    boom = body(model, "boom", 40.0, pin=(0, 0, 0), rod=(0.9, 0, -0.05), end=(1.5, 0, 0))
    jib = model.add(fm.FlexibleBody("jib", data=data))
    bucket = body(model, "bucket", 15.0, ring=(0, 0, 0.15))
    model.add(fm.Revolute("boom pin", model.ground["pivot"], boom["pin"], axis="y", q0=-0.4))
    model.add(fm.Revolute("jib pin", boom["end"], jib["foot"], axis="y", q0=0.5))
    model.add(fm.JointTorque("jib servo", "jib pin", fm.PD(4e4, kd=2e3, reference=0.5)))
    model.add(fm.Pose("bucket free", jib["tip"], bucket["ring"], q0=(0, 0, -0.5, 1, 0, 0, 0)))
    model.add(fm.Rope("hoist", jib["tip"], bucket["ring"], length=0.5, law=fm.HuntCrossley(1e5)))
    model.add(
        fm.HydraulicCylinder(
            "lift", model.ground["cylinder"], boom["rod"], length=1.2, area_a=2e-3, area_b=1.2e-3,
            volume_a=1.2e-3, volume_b=1.2e-3, bulk_modulus=1.4e9, supply=1.5e7, valve=1e-7,
            opening=fm.Sine(0.6, frequency=0.5), pressure_a=1e6, pressure_b=1e5,
        )
    )  # fmt: skip
    return fm.simulate(model, t_end=1.5, step=1e-3, output_step=1e-2, integrator="esdirk")


def suspension() -> fm.Solution:
    """Springs and dampers of all kinds, a bushing, stops, friction."""
    model = fm.Model("suspension", frames={"top": (0, 0, 0.9), "side": (-0.3, 0, 0.3)})
    arm = body(model, "arm", 4.0, pin=(0, 0, 0), strut=(0.45, 0, 0.02), hub=(0.6, 0, 0))
    mount = body(model, "mount", 1.0, foot=(0, 0, 0), eye=(0.1, 0, 0.1))
    slide = body(model, "slide", 2.0, a=(0, 0, 0), eye=(0, 0, 0.12))
    knob = body(model, "knob", 0.5, a=(0, 0, 0), tip=(0.15, 0, 0))
    model.add(fm.Revolute("arm pin", model.ground["side"], arm["pin"], axis="y", q0=0.1))
    model.add(
        fm.JointLimit("arm stops", "arm pin", lower=-0.5, upper=0.5, law=fm.HuntCrossley(1e4))
    )
    model.add(fm.JointFriction("pin friction", "arm pin", coulomb=0.5))
    model.add(
        fm.PointSpring("strut", model.ground["top"], arm["strut"], k=900.0, c=20.0, length=0.8)
    )
    model.add(fm.PointSpring("shock absorber", model.ground, arm["hub"], c=15.0))
    model.add(fm.Pose("mount free", arm["hub"], mount["foot"]))
    model.add(
        fm.Bushing(
            "bush",
            arm["hub"],
            mount["foot"],
            k=(2e4,) * 3 + (50.0,) * 3,
            c=(40.0,) * 3 + (0.5,) * 3,
        )
    )
    model.add(fm.Prismatic("rail", model.ground["top"], slide["a"], axis="x", q0=0.35))
    model.add(fm.JointSpring("slide spring", "rail", k=300.0, x0=0.3))
    model.add(fm.JointFriction("rail friction", "rail", coulomb=1.0))
    model.add(fm.Revolute("knob pin", slide["eye"], knob["a"], axis="y", q0=0.6))
    model.add(fm.JointSpring("torsion spring", "knob pin", k=0.5))
    model.add(fm.PointSpring("tie", mount["eye"], slide["eye"], k=120.0))
    return fm.simulate(model, t_end=1.0, step=1e-3, output_step=1e-2)


def gearbox() -> fm.Solution:
    """A spur pair, a ring gear, a bevel pair, a DC motor with its rotor."""
    model = fm.Model(
        "gearbox",
        frames={"b": (0.12, 0, 0), "c": (0.12 + 0.06, 0, 0.08), "d": (0.3, 0, 0.2)},
    )
    names = ("pinion", "wheel", "ring", "bevel")
    pinion, wheel, ring, bevel = (body(model, name) for name in names)
    one = model.add(fm.Revolute("input", model.ground, pinion, axis="z", v0=20.0))
    two = model.add(fm.Revolute("shaft", model.ground["b"], wheel, axis="z"))
    three = model.add(fm.Revolute("output", model.ground["c"], ring, axis="z"))
    model.add(fm.Gear("teeth", one, two, ratio=2.0))
    model.add(fm.Gear("ring teeth", two, three, ratio=2.5, internal=True))
    four = model.add(fm.Revolute("cross shaft", model.ground["d"], bevel, axis="x"))
    model.add(fm.Gear("bevel teeth", two, four, ratio=1.5))
    model.add(
        fm.JointTorque(
            "motor", one, fm.DCMotor(0.05, resistance=1.0, inductance=2e-3, voltage=12.0)
        )
    )
    model.add(fm.RotorInertia("motor rotor", one, inertia=1e-4, ratio=1.0))
    return fm.simulate(model, t_end=0.4, step=5e-4, output_step=2e-3)


def steering() -> fm.Solution:
    """Rack and pinion, an open belt, a spindle with its nut."""
    model = fm.Model(
        "steering",
        frames={"motor": (-0.05, 0, 0.35), "rail": (0, 0.03, 0), "bench": (0.2, 0.05, 0.2)},
    )
    parts = ("pinion", "rack", "pulley", "spindle", "nut")
    pinion, rack, pulley, spindle, nut = (body(model, name) for name in parts)
    column = model.add(fm.Revolute("column", model.ground, pinion, axis="y"))
    guide = model.add(fm.Prismatic("guide", model.ground["rail"], rack, axis="x"))
    shaft = model.add(fm.Revolute("motor shaft", model.ground["motor"], pulley, axis="y"))
    lead = model.add(fm.Revolute("bearing", model.ground["bench"], spindle, axis="x"))
    way = model.add(fm.Prismatic("way", model.ground["bench"], nut, axis="x", q0=0.1))
    model.add(fm.RackPinion("rack teeth", column, guide, radius=0.05))
    model.add(fm.Belt("timing belt", shaft, column, radii=(0.03, 0.09)))
    model.add(fm.ScrewCoupler("thread", lead, way, lead=0.01))
    model.add(fm.Drive("steering motor", shaft, fm.Sine(3.0, frequency=0.5)))
    model.add(fm.Drive("spindle motor", lead, fm.Ramp(0.0, rate=40.0)))
    return fm.simulate(model, t_end=2.0, step=2e-3, output_step=1e-2)


def planetary() -> fm.Solution:
    """A planetary gear and a crossed belt, with a speed controller."""
    model = fm.Model("planetary", frames={"fan": (0.5, 0, 0.1)})
    carrier, sun, ring, fan = (body(model, name) for name in ("carrier", "sun", "ring", "fan"))
    for name, each, speed in (("carrier", carrier, 2.0), ("sun", sun, 8.0), ("ring", ring, None)):
        model.add(fm.Revolute(f"{name} shaft", model.ground, each, axis="z", v0=speed))
    model.add(fm.Revolute("fan shaft", model.ground["fan"], fan, axis="z"))
    model.add(fm.Differential("gear", "carrier shaft", "sun shaft", "ring shaft", ratio=3.0))
    model.add(fm.Belt("crossed belt", "ring shaft", "fan shaft", radii=(0.15, 0.1), crossed=True))
    model.add(
        fm.JointTorque(
            "speed control",
            "sun shaft",
            fm.PID(0.0, ki=0.0, kd=0.4, reference=fm.Ramp(0.0, rate=8.0)),
        )
    )
    return fm.simulate(model, t_end=2.0, step=2e-3, output_step=1e-2)


def valve_train() -> fm.Solution:
    """A cam with a roller and one with a flat face, each with its spring."""
    angle = np.linspace(0.0, 2 * np.pi, 25)[:-1]
    radius = 0.03 + 0.006 * (1.0 + np.cos(angle)) ** 2 / 2
    cam = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    model = fm.Model(
        "valve train",
        gravity=(0, -9.81, 0),
        frames={"a": (0, 0.2, 0), "second": (0.2, 0, 0), "b": (0.2, 0.2, 0)},
    )
    shaft, other = body(model, "cam shaft"), body(model, "second cam")
    roller = body(model, "follower", 0.2, roller=(0, 0, 0), top=(0, 0.1, 0))
    tappet = body(model, "tappet", 0.2, face=(0, 0, 0), top=(0, 0.1, 0))
    model.add(fm.Revolute("shaft", model.ground, shaft, axis="z"))
    model.add(fm.Revolute("second shaft", model.ground["second"], other, axis="z"))
    model.add(fm.Prismatic("guide", model.ground, roller, axis="y", q0=0.06))
    model.add(fm.Prismatic("second guide", model.ground["second"], tappet, axis="y", q0=0.05))
    law = fm.HuntCrossley(2e5)
    model.add(
        fm.CamRoller("roller", shaft, roller["roller"], points=cam.tolist(), radius=0.012, law=law)
    )
    model.add(
        fm.CamFace("flat face", other, tappet["face"], points=cam.tolist(), normal="-y", law=law)
    )
    for name, frame, top in (("valve spring", "a", roller), ("tappet spring", "b", tappet)):
        model.add(fm.PointSpring(name, model.ground[frame], top["top"], k=800.0, length=0.12))
    model.add(fm.Drive("engine", "shaft", fm.Ramp(0.0, rate=20.0)))
    model.add(fm.Drive("second engine", "second shaft", fm.Ramp(0.0, rate=20.0)))
    return fm.simulate(model, t_end=0.7, step=2e-4, output_step=2e-3)


def coaster() -> fm.Solution:
    """A car on a rail, a ball on a dish, a skate."""
    u = np.linspace(0.0, 2 * np.pi, 17)[:-1]
    rail = np.column_stack([1.5 * np.cos(u), np.sin(u), 0.6 + 0.4 * np.cos(2 * u)])
    x = np.linspace(-0.6, 0.6, 7)
    dish = 0.5 * (x[:, None] ** 2 + x[None, :] ** 2)
    model = fm.Model("coaster", frames={"dish": (0, 0, 0.1), "ice": (0, -1.4, 0)})
    car = model.add(fm.PointMass("car", mass=1.0))
    ball = model.add(fm.PointMass("ball", mass=0.5))
    skate = body(model, "skate", 1.0, toe=(0.15, 0, 0))
    model.add(
        fm.Translation("car moves", model.ground, car, q0=tuple(rail[0].tolist()), v0=(0, 1.0, 0))
    )
    model.add(fm.PointOnCurve("rail", model.ground, car, points=rail.tolist(), closed=True))
    model.add(fm.Translation("ball moves", model.ground["dish"], ball, q0=(0.4, 0.1, 0.085)))
    model.add(
        fm.PointOnSurface(
            "dish", model.ground["dish"], ball, x=x.tolist(), y=x.tolist(), heights=dish.tolist()
        )
    )
    model.add(fm.Planar("ice", model.ground["ice"], skate, v0=(1.0, 0.0, 1.0)))
    model.add(fm.KnifeEdge("blade", model.ground["ice"], skate, axis="y"))
    return fm.simulate(model, t_end=2.0, step=2e-3, output_step=1e-2)


def wheels() -> fm.Solution:
    """Wheels that roll, slip and creep, balls that roll and bounce on an inclined plane."""
    tilt = (0.0, float(np.sin(0.2)), float(np.cos(0.2)))
    model = fm.Model("wheels", frames={"track": (0, 0.9, 0), "slope": (0, -2.0, 0.3)})
    disc, ball, tyre, puck, egg = (
        body(model, name) for name in ("disc", "ball", "tyre", "puck", "egg")
    )
    model.add(
        fm.Pose(
            "disc free",
            model.ground,
            disc,
            q0=(0, 0, 0.2 * np.cos(0.2), np.cos(0.1), np.sin(0.1), 0, 0),
            v0=(1.0, 0, 0, 0, 5.0, 0),
        )
    )
    model.add(fm.RollingDisc("disc rolls", model.ground, disc, radius=0.2, rim=0.01))
    model.add(
        fm.Pose(
            "ball free",
            model.ground,
            ball,
            q0=(0.2, 0.45, 0.12, 1, 0, 0, 0),
            v0=(0.8, 0, 0, 0, 0.8 / 0.12, 0),
        )
    )
    model.add(fm.RollingSphere("ball rolls", model.ground, ball, radius=0.12))
    model.add(
        fm.Pose(
            "tyre free",
            model.ground["track"],
            tyre,
            q0=(0, 0, 0.18, 1, 0, 0, 0),
            v0=(1.0, 0, 0, 0, 4.0, 0),
        )
    )
    model.add(fm.DiscOnPlane("tyre on track", model.ground["track"], tyre, radius=0.18, rim=0.02))
    model.add(
        fm.WheelCreep(
            "tyre creep",
            model.ground["track"],
            tyre,
            radius=0.18,
            rim=0.02,
            along=500.0,
            across=500.0,
            friction=0.8,
            load=10.0,
        )
    )
    model.add(fm.Pose("puck free", model.ground["slope"], puck, q0=(0, 0, 0.3, 1, 0, 0, 0)))
    model.add(
        fm.SpherePlane(
            "puck on slope",
            model.ground["slope"],
            puck,
            normal=tilt,
            radius=0.08,
            friction=0.3,
            law=fm.HuntCrossley(2e4),
        )
    )
    model.add(fm.Pose("egg free", model.ground["slope"], egg, q0=(0.05, 0.0, 0.6, 1, 0, 0, 0)))
    model.add(
        fm.SphereSphere(
            "egg on puck",
            puck,
            egg,
            radius_parent=0.08,
            radius_child=0.06,
            law=fm.HuntCrossley(2e4),
        )
    )
    model.add(
        fm.SpherePlane(
            "egg on slope",
            model.ground["slope"],
            egg,
            normal=tilt,
            radius=0.06,
            friction=0.3,
            law=fm.HuntCrossley(2e4),
        )
    )
    return fm.simulate(model, t_end=1.0, step=5e-4, output_step=1e-2)


def profiles() -> fm.Solution:
    """Two profiles in contact, a corner over an edge, an open guide."""
    angle = np.linspace(0.0, 2 * np.pi, 25)[:-1]
    egg = np.column_stack([0.14 * np.cos(angle), 0.09 * np.sin(angle)])
    valley = np.column_stack([np.linspace(-0.6, 0.6, 13), 0.6 * np.linspace(-0.6, 0.6, 13) ** 2])
    model = fm.Model("profiles", gravity=(0, -9.81, 0), frames={"step": (0.9, 0.0, 0)})
    rocker = body(model, "rocker")
    block = body(
        model, "block", 1.0, corner=(-0.1, -0.06, 0), other=(0.1, -0.06, 0), top=(0, 0.06, 0)
    )
    law = fm.HuntCrossley(3e4)
    model.add(fm.Planar("rocker moves", model.ground, rocker, axis="z", q0=(0.3, 0.19, 0.2)))
    model.add(
        fm.CurveContact(
            "rocker in valley",
            model.ground,
            rocker,
            points_parent=valley.tolist(),
            points_child=egg.tolist(),
            closed_parent=False,
            friction=0.3,
            law=law,
        )
    )
    model.add(fm.Planar("block moves", model.ground["step"], block, axis="z", q0=(0.15, 0.15, 0.3)))
    for name in ("corner", "other"):
        model.add(
            fm.CornerLine(
                f"{name} on edge",
                model.ground["step"],
                block[name],
                length=0.5,
                friction=0.4,
                law=law,
            )
        )
    return fm.simulate(model, t_end=1.0, step=2e-4, output_step=1e-2)


def linkage() -> fm.Solution:
    """Rods, a Cardan shaft, a ball joint, loads with force and moment."""
    model = fm.Model(
        "linkage", frames={"left": (0, 0, 1.0), "right": (0.8, 0, 1.0), "motor": (0, 0.6, 0.5)}
    )
    bar = body(model, "coupler", 3.0, a=(-0.4, 0, 0), b=(0.4, 0, 0), mid=(0, 0, 0.1))
    shaft, output, bob = (
        body(model, "shaft", 1.0, end=(0.4, 0, 0)),
        body(model, "output", 1.0, a=(0, 0, 0), end=(0.3, 0, 0)),
        body(model, "bob", 0.5, eye=(0, 0, 0.2)),
    )
    model.add(fm.Pose("coupler moves", model.ground, bar, q0=(0.5, 0, 0.4, 1, 0, 0, 0)))
    model.add(
        fm.Distance("left rod", model.ground["left"], bar["a"], length=float(np.hypot(0.1, 0.6)))
    )
    model.add(
        fm.Distance("right rod", model.ground["right"], bar["b"], length=float(np.hypot(0.1, 0.6)))
    )
    model.add(
        fm.FrameForce(
            "push", bar["mid"], force=(0, fm.Sine(8.0, frequency=1.0), 5.0), torque=(0.0, 0.0, 1.0)
        )
    )
    model.add(fm.Revolute("bearing", model.ground["motor"], shaft, axis="x"))
    model.add(fm.Universal("cardan", shaft["end"], output["a"], axes=("y", "z"), q0=(0.3, 0.1)))
    model.add(fm.Spherical("ball joint", output["end"], bob["eye"]))
    model.add(fm.Drive("motor", "bearing", fm.Ramp(0.0, rate=3.0)))
    return fm.simulate(model, t_end=1.0, step=1e-3, output_step=1e-2)


def gantry() -> fm.Solution:
    """Slides with drives, a cylindrical and a screw joint, relations between coordinates."""
    model = fm.Model("gantry", frames={"rail": (0, 0, 0.8), "post": (0.9, 0, 0)})
    bridge, trolley, tool = (
        body(model, "bridge", 5.0, way=(0, 0, -0.05)),
        body(model, "trolley", 2.0, spindle=(0, 0, -0.05)),
        body(model, "tool", 1.0, tip=(0, 0, -0.3)),
    )
    nut, arms = (
        body(model, "nut", 1.0, pin=(0.1, 0, 0)),
        [body(model, f"arm {k}", 0.5, tip=(0.25, 0, 0)) for k in (1, 2)],
    )
    model.add(fm.Prismatic("x axis", model.ground["rail"], bridge, axis="x", q0=0.1))
    model.add(fm.Prismatic("y axis", bridge["way"], trolley, axis="y", q0=-0.1))
    model.add(fm.Cylindrical("quill", trolley["spindle"], tool, axis="z"))
    model.add(fm.Screw("lead screw", model.ground["post"], nut, axis="z", pitch=0.02, q0=10.0))
    model.add(fm.Revolute("arm 1 pin", nut["pin"], arms[0], axis="y"))
    model.add(fm.Revolute("arm 2 pin", arms[0]["tip"], arms[1], axis="y"))
    model.add(
        fm.Drive("x motor", "x axis", fm.SmoothStep(0.5, initial=0.1, start=0.0, duration=1.0))
    )
    model.add(fm.JointTorque("y motor", "y axis", fm.PD(200.0, kd=40.0, reference=0.2)))
    model.add(fm.Drive("quill spindle", "quill", fm.Ramp(0.0, rate=15.0), coordinate=1))
    model.add(
        fm.Drive("quill feed", "quill", fm.SmoothStep(0.1, start=0.0, duration=1.0), coordinate=0)
    )
    model.add(fm.Drive("lift", "lead screw", fm.Ramp(10.0, rate=6.0)))
    model.add(fm.LinearCoupling("parallel arms", {"arm 1 pin": 1.0, "arm 2 pin": 2.0}))
    model.add(
        fm.Transmission("hose", {"x axis": 1.0, "y axis": 1.0}, fm.SpringDamper(k=5.0, c=2.0))
    )
    return fm.simulate(model, t_end=1.0, step=1e-3, output_step=1e-2)


def robot() -> fm.Solution:
    """A robot arm of shapes with discrete controllers, joint limits and its own gears."""
    model = fm.Model("robot", frames={"base": (0, 0, 0.1)})
    upper = model.add(
        fm.RigidBody(
            "upper arm", mass=2.0, inertia=I3, com=(0, 0, 0.2), frames={"elbow": (0, 0, 0.4)}
        )
    )
    fore = model.add(
        fm.RigidBody(
            "forearm", mass=1.0, inertia=I3, com=(0, 0, 0.15), frames={"wrist": (0, 0, 0.3)}
        )
    )
    hand = model.add(fm.RigidBody("hand", mass=0.3, inertia=I3, frames={"tip": (0, 0, 0.1)}))
    model.add(fm.Revolute("shoulder", model.ground["base"], upper, axis="y", q0=0.3))
    model.add(fm.Revolute("elbow", upper["elbow"], fore, axis="y", q0=0.9))
    model.add(fm.Revolute("wrist", fore["wrist"], hand, axis="z"))
    model.add(
        fm.JointTorque(
            "shoulder motor",
            "shoulder",
            fm.LimitedPID(60.0, ki=20.0, kd=8.0, lower=-40.0, upper=40.0, reference=0.5),
        )
    )
    model.add(
        fm.JointTorque(
            "elbow motor", "elbow", fm.DigitalPID(30.0, kd=3.0, sample_time=0.01, reference=0.6)
        )
    )
    model.add(
        fm.JointTorque(
            "wrist motor",
            "wrist",
            fm.DCMotor(0.05, resistance=2.0, ratio=20.0, voltage=fm.Sine(6.0, frequency=1.0)),
        )
    )
    model.add(fm.JointLimit("elbow limit", "elbow", lower=0.2, upper=2.2, law=fm.HuntCrossley(1e3)))
    model.add(
        fm.LuGreFriction(
            "shoulder friction",
            "shoulder",
            coulomb=0.5,
            static=0.8,
            stribeck_velocity=0.1,
            stiffness=200.0,
            damping=1.0,
        )
    )
    return fm.simulate(model, t_end=1.0, step=1e-3, output_step=1e-2)


MACHINES: dict[str, Callable[[], fm.Solution]] = {
    each.__name__: each
    for each in (
        excavator, suspension, gearbox, steering, planetary, valve_train, coaster, wheels, profiles,
        linkage, gantry, robot,
    )
}  # fmt: skip


def main() -> None:
    """Write the pages of all machines, or of those given by name."""
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(MACHINES)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        solution = MACHINES[name]()
        solution.report(folder / f"{name}.html")
        print(
            f"{name}: {solution.verdict}, {(folder / f'{name}.html').stat().st_size / 1e3:.0f} kB"
        )


if __name__ == "__main__":
    main()
