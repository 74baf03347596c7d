"""Shared by the tests of declarations: bodies, a model with everything in it, and the problems of
bad input.
"""

import dataclasses

import numpy as np
import pytest
import user_functions

import flexmbs as fm
from flexmbs.flexible_body.components import FlexibleFrame
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.motions import (
    Ball,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Rotate,
    ScrewMotion,
    Slide,
)


def problems_of(make) -> list[str]:
    with pytest.raises(fm.InputError) as caught:
        make()
    return list(caught.value.problems)


def rod() -> FlexibleBodyData:
    """Uniform rod of 2 kg and 3 m along x with the lateral shape sin(πx/L); ∫sin² and ∫x sin in
    closed form.
    """
    m, L = 2.0, 3.0
    S_bar, xS, SS = np.zeros((3, 1)), np.zeros((3, 3, 1)), np.zeros((3, 3, 1, 1))
    S_bar[1, 0], xS[0, 1, 0], SS[1, 1, 0, 0] = 2 * m / np.pi, m * L / np.pi, m / 2
    ends = {
        name: FlexibleFrame.at_node((x, 0, 0), np.zeros((3, 1)))
        for name, x in (("hub", 0.0), ("tip", L))
    }
    return FlexibleBodyData.from_integrals(
        "rod",
        mass=m,
        first_moment=(m * L / 2, 0, 0),
        second_moment=np.diag([m * L**2 / 3, 0, 0]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=np.array([[400.0]]),
        D_ff=np.array([[0.8]]),
        frames=ends,
    )


def with_every_kind(folder) -> fm.Model:
    """A model with every kind of body, joint, force, law and motion; its flexible body's file is in
    ``folder``.
    """
    rod().save(folder / "rod.h5")
    model = fm.Model(
        "every kind",
        gravity=(0.0, 0.1, -9.80665),
        frames={"pivot": (0, 0, 1), "wall": fm.Frame((1, 0, 0), ("y", 0.3))},
    )
    model.cuts = ("hinge 8",)
    model.run = fm.Run(
        t_end=2.0,
        step=1e-3,
        output_step=0.01,
        coordinates="absolute",
        stabilization="projection",
        rho_inf=0.9,
        audit="full",
    )
    flexible = fm.FlexibleBody("arm", str(folder / "rod.h5"), damping=0.02, qf0=(1e-3,))
    bodies = [
        model.add(flexible),
        model.add(fm.PointMass("bob", mass=0.1, frames={"eye": (0, 0, 0.1)})),
    ]
    for i in range(12):
        shape = (
            {"inertia": (1.0, 1.2, 1.3, 0.1, -0.05, 0.02), "com": (0.1, 0, 0)}
            if i
            else {"inertia": (1, 1, 1)}
        )
        bodies.append(
            model.add(
                fm.RigidBody(
                    f"b {i}",
                    mass=1.0 + i / 3,
                    frames={"end": fm.Frame((0.3, 0, 0), (0.6, 0, 0.8, 0))},
                    **shape,
                )
            )
        )
    motions = (
        Rotate("-x"),
        FixedTranslation((0.1, 0, 1 / 3)),
        ScrewMotion((1, 1, 0), 0.01),
        FixedRotation("y", 0.2),
        Slide("z"),
        Ball(),
    )
    joints = [
        lambda *a: fm.Revolute(*a, axis="y", q0=-0.5, v0=0.1),
        lambda *a: fm.Translation(*a, q0=(0.1, 0.2, 0.3)),
        lambda *a: fm.Fixed(*a),
        lambda *a: fm.Prismatic(*a, axis=(1, 2, 3)),
        lambda *a: fm.Cylindrical(*a, axis="-z"),
        lambda *a: fm.Universal(*a, axes=("y", "z")),
        lambda *a: fm.Spherical(*a, q0=(0.6, 0, 0, 0.8), v0=(1, 2, 3)),
        lambda *a: fm.Planar(*a, axis="x"),
        lambda *a: fm.Free(*a, v0=(0, 0, 0, 0, 0, 1)),
        lambda *a: fm.Screw(*a, pitch=1e-3),
        lambda *a: fm.Distance(*a, length=0.7, axis="-z"),
        lambda *a: fm.Chain(*a, motions=motions),
        lambda *a: fm.Pose(*a, q0=(0.1, 0, 0, 1, 0, 0, 0)),
    ]
    for i, make in enumerate(joints):
        model.add(make(f"hinge {i}", model.ground["pivot"] if i < 2 else bodies[i - 1], bodies[i]))
    beside = (FixedTranslation((0, 0, 0.1)), FreeMotion())  # closes the loop that the cut opens
    model.add(fm.Chain("beside hinge 8", bodies[7]["end"], bodies[8]["end"], motions=beside))
    _add_forces(model)
    return model


def _add_forces(model: fm.Model) -> None:
    laws = [
        fm.PD(800, 30, reference=fm.SmoothStep(0.35, start=0.2, duration=0.8, initial=0.1)),
        fm.PID(10, 1, reference=fm.Sine(0.1, 2.0, phase=0.3, offset=0.2)),
        fm.SpringDamper(k=1.0, c=0.2, x0=0.1, preload=3.0),
        fm.Ramp(0.0, 2.0, start=0.1, end=0.9),
        fm.Table((0, 1, 2.5), (0, 0.3, 0.1), interpolation="linear"),
        user_functions.friction,
        user_functions.swing,
        5.0,
    ]
    for i, law in enumerate(laws):
        model.add(fm.JointTorque(f"torque {i}", "hinge 0", law))
    model.add(fm.JointSpring("spring", "hinge 3", k=1e3, c=1.0, x0=0.01))
    model.add(
        fm.JointFriction(
            "friction", "hinge 3", coulomb=2.0, static=2.5, stribeck_velocity=0.1, viscous=0.1
        )
    )
    model.add(
        fm.LuGreFriction(
            "bristles",
            "hinge 3",
            coulomb=2.0,
            stiffness=1e4,
            damping=50.0,
            static=2.5,
            stribeck_velocity=0.01,
        )
    )
    model.add(
        fm.PinFriction(
            "pin",
            "hinge 0",
            friction=0.1,
            static=0.2,
            stribeck_velocity=0.1,
            radius=0.02,
            length=0.1,
            arm=0.03,
        )
    )
    model.add(
        fm.GuideFriction(
            "guide",
            "hinge 3",
            friction=0.1,
            preload=1.0,
            length=0.2,
            width=0.1,
            regularization=1e-2,
        )
    )
    model.add(fm.UserFriction("own", "hinge 3", user_functions.rubbing))
    model.add(
        fm.FrameForce(
            "push", "b 1/end", force=(1, fm.Ramp(0, 1), user_functions.swing), axes="follower"
        )
    )
    model.add(fm.PointSpring("rope", "ground/wall", "arm/tip", k=10, c=0.1, length=0.3))
    model.add(fm.PointSpring("rubber", "ground", "b 3/end", law=user_functions.rubber))
    model.add(fm.Bushing("bushing", "b 4", "b 5", k=(1, 2, 3, 4, 5, 6)))
    model.add(fm.UserForce("wind", "b 6/end", user_functions.wind))
    model.add(fm.UserForce("brake", "b 6/end", user_functions.braked, reads=["hinge 0", "hinge 3"]))
    arm = fm.Robot.from_dh(
        [{"a": 0.4, "mass": 2.0, "com": (-0.2, 0, 0), "inertia": (0, 0.03, 0.03)}]
    )
    links = [dataclasses.replace(arm.rigid_terms.links[0], coordinate="hinge 0")]
    hold = fm.robots.PDGravity(
        dataclasses.replace(arm.rigid_terms, links=links),
        fm.robots.Quintic([0.1], [0.4], 1.0),
        10,
        2,
    )
    model.add(fm.RobotControl("control", ["hinge 0"], hold))
    model.add(
        fm.Transmission(
            "compliant gear", {"hinge 0": 1.0, "hinge 1.1": -3.0}, fm.SpringDamper(k=10.0, c=0.1)
        )
    )
    model.add(fm.UserJointForces("cable", ["hinge 0", "hinge 1.1"], user_functions.cable))
    model.add(
        fm.WheelCreep(
            "tyre",
            "ground/wall",
            "b 6",
            radius=0.3,
            along=9e4,
            across=8e4,
            friction=0.9,
            stiffness=2e5,
        )
    )
    model.add(fm.RotorInertia("rotor", "hinge 0", inertia=1e-4, ratio=-1 / 3, axis=(1, 2, 3)))
    model.add(fm.Drive("prescribed", "hinge 4", user_functions.swing_with_rates, coordinate=1))
    model.add(fm.Drive("held", "hinge 7", 0.1, coordinate=2))
    model.add(fm.HolonomicCoupling("curve", ["hinge 0", "hinge 1.1"], user_functions.bent))
    model.add(fm.VelocityCoupling("slip", ["hinge 1.0", "hinge 1.1"], user_functions.slipping))
    model.add(
        fm.LinearCoupling(
            "equation",
            {"hinge 0": 1.0, "hinge 7.0": -1 / 3, "hinge 1.2": 2},
            offset=user_functions.swing,
        )
    )
    model.add(fm.Gear("gear", "hinge 5.0", "hinge 5.1", ratio=1.5, internal=True))
    model.add(fm.RackPinion("rack", "hinge 0", "hinge 3", radius=-0.1))
    model.add(fm.ScrewCoupler("spindle", "hinge 9", "hinge 4.0", lead=0.01))
    model.add(
        fm.Belt("belt", "hinge 9", "hinge 11.0", radii=(0.1, 1 / 3), crossed=True, offset=0.1)
    )
    model.add(fm.Differential("differential", "hinge 0", "hinge 9", "hinge 5.0", ratio=2.5))
    model.add(
        fm.SpherePlane(
            "floor",
            "ground/wall",
            "arm/tip",
            normal=(0, 1, 2),
            radius=0.1,
            restitution=0.5,
            friction=0.3,
        )
    )
    model.add(
        fm.SphereSphere(
            "balls",
            "b 1/end",
            "bob",
            radius_parent=0.1,
            radius_child=0.2,
            restitution_law="poisson",
        )
    )
    profile = [(0.1, 0.0), (0.0, 0.08), (-0.1, 0.0), (0.0, -0.08)]
    model.add(fm.CamRoller("roller", "b 1/end", "b 3/end", points=profile, radius=0.01))
    model.add(
        fm.CurveContact(
            "curves",
            "b 1/end",
            "b 3/end",
            points_parent=profile,
            points_child=profile,
            reverse_child=True,
        )
    )
    model.add(fm.CamFace("face", "b 1/end", "b 3/end", points=profile, normal="-x"))
    model.add(fm.Rope("rope", "b 1/end", "bob", length=9.0, restitution=0.1))
    model.add(
        fm.CornerLine(
            "edge", "b 2", "b 3/end", direction="-z", length=0.4, tangential_restitution=0.1
        )
    )
    model.add(
        fm.UserContact(
            "ground",
            "ground/wall",
            "bob",
            user_functions.over_ground,
            slip=user_functions.sliding,
            friction=0.2,
        )
    )
    coordinates, above = ["hinge 0", "hinge 1.1"], user_functions.above
    model.add(
        fm.UnilateralCoupling(
            "above",
            coordinates,
            above,
            gradient=user_functions.slope_of_above,
            rheonomic=True,
            restitution=0.3,
        )
    )
    model.add(
        fm.DryFriction(
            "brake", "hinge 4", coulomb=2.0, static=2.5, stribeck_velocity=0.1, coordinate=1
        )
    )
    model.add(fm.JointLimit("stop", "hinge 4", coordinate=1, lower=-0.5, restitution=0.2))
    model.add(
        fm.JointLimit(
            "pad",
            "hinge 4",
            coordinate=1,
            upper=0.5,
            law=fm.HuntCrossley(1e5, restitution=0.5, speed=0.1),
        )
    )
