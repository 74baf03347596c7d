"""Ten models for the study of integrators: stiff and smooth,
trees and loops, rigid and flexible.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.motions import Ball, Slide
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

DOWN = (0.0, 0.0, -9.81)


class Case(NamedTuple):
    """A model, the end of its run (s), and whether it has constraints in joint coordinates."""

    make: Callable[[], fm.Model]
    t_end: float
    constrained: bool = False


def bar(model: fm.Model, name: str, *, mass: float = 1.0, length: float = 1.0) -> fm.RigidBody:
    """A slender bar along x from its origin."""
    across = mass * length**2 / 12.0
    inertia = (0.01 * across, across, across)
    return model.add(
        fm.RigidBody(
            name,
            mass=mass,
            inertia=inertia,
            com=(length / 2.0, 0, 0),
            frames={"end": (length, 0, 0)},
        )
    )


def stiff_bushing() -> fm.Model:
    """A carriage on a damped bushing (500 Hz along, 250 Hz
    about its axes) and a pendulum below it.
    """
    model = fm.Model("stiff bushing", gravity=DOWN)
    block = model.add(fm.RigidBody("block", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    model.add(fm.Free("motion", model.ground, block))
    model.add(
        fm.Bushing(
            "bushing",
            "ground",
            "block",
            k=(1e7, 1e7, 1e7, 2.5e4, 2.5e4, 2.5e4),
            c=(600.0,) * 3 + (3.0,) * 3,
        )
    )
    pendulum = bar(model, "pendulum", mass=0.5, length=0.5)
    model.add(
        fm.Spherical(
            "ball", block, pendulum, q0=(np.cos(0.3), 0.0, np.sin(0.3), 0.0), v0=(0.0, 1.0, 3.0)
        )
    )
    return model


def flexible_arm() -> fm.Model:
    """A steel beam (1 m × 40 mm × 20 mm), 16 modes from 17 Hz to 7 kHz with 1 % of damping, swings
    down from the horizontal.
    """
    mesh = box_mesh((1.0, 0.04, 0.02), (16, 1, 1), "hex20", origin=(0.0, -0.02, -0.01))
    steel = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    ends = {"base": Rigid("x0"), "tip": Rigid("x1")}
    data = reduce(
        mesh,
        steel,
        interfaces=ends,
        method=CraigBampton(modes=10),
        reference="base",
        name="arm",
        damping=0.01,
    )
    model = fm.Model("flexible arm", gravity=DOWN)
    arm = model.add(fm.FlexibleBody("arm", data=data))
    model.add(fm.Revolute("hinge", model.ground, arm["base"], axis="y"))
    return model


def chain() -> fm.Model:
    """Ten bars on hinges alternately about y and z fall from the horizontal: chaotic, over a short
    time.
    """
    model = fm.Model("chain", gravity=DOWN)
    end: fm.FrameRef = model.ground
    for i in range(10):
        link = bar(model, f"link{i}", mass=0.3, length=0.1)
        model.add(fm.Revolute(f"hinge{i}", end, link, axis="yz"[i % 2], q0=0.2 * (i % 2)))
        end = link["end"]
    return model


def four_bar() -> fm.Model:
    """A spatial loop: a crank, a coupler on a ball and a universal joint, a rocker; the crank
    rotates freely.
    """
    model = fm.Model("four bars", gravity=DOWN, frames={"far": (0.8, 0, 0)})
    shape = {"mass": 0.5, "inertia": (1e-3, 1e-2, 1e-2)}
    crank = model.add(fm.RigidBody("crank", com=(0, 0, 0.1), frames={"end": (0, 0, 0.2)}, **shape))
    coupler = model.add(
        fm.RigidBody("coupler", com=(0.4, 0, 0), frames={"end": (0.8, 0, 0)}, **shape)
    )
    rocker = model.add(
        fm.RigidBody("rocker", com=(0, 0, 0.3), frames={"end": (0, 0, 0.5)}, **shape)
    )
    model.add(fm.Revolute("crank shaft", model.ground, crank, axis="y", v0=8.0))
    model.add(fm.Spherical("ball", crank["end"], coupler))
    model.add(fm.Universal("knee", coupler["end"], rocker["end"], axes=("y", "z"), q0=(0.6, 0)))
    model.add(fm.Revolute("foot", model.ground["far"], rocker, axis="y"))
    return model


def slider_crank() -> fm.Model:
    """Crank at 60 rad/s after a smooth start, rod, slider with a spring."""
    model = fm.Model("slider-crank", gravity=DOWN)
    crank, rod = bar(model, "crank", mass=0.4, length=0.15), bar(model, "rod", mass=0.3, length=0.4)
    slider = model.add(fm.RigidBody("slider", mass=0.2, inertia=(1e-4, 1e-4, 1e-4)))
    model.add(fm.Revolute("shaft", model.ground, crank, axis="y"))
    model.add(fm.Revolute("crank pin", crank["end"], rod, axis="y"))
    model.add(fm.Prismatic("guide", model.ground, slider, axis="x", q0=0.55))
    model.add(fm.Chain("piston pin", rod["end"], slider, motions=(Ball(),)))
    model.add(fm.Drive("motor", "shaft", fm.SmoothStep(18.0, start=0.0, duration=0.5)))
    model.add(fm.JointSpring("spring", "guide", k=2000.0, c=2.0, x0=0.4))
    return model


def flexible_four_bar() -> fm.Model:
    """A rigid crank, a rod and a rocker as slender beams with two bending shapes each."""
    crank_length, rod_length, rocker_length, base, angle = 0.25, 0.8, 0.6, 0.7, 1.2
    tip = crank_length * np.array([np.cos(angle), np.sin(angle)])
    way = np.array([base, 0.0]) - tip
    span = np.hypot(*way)
    rod_angle = np.arctan2(way[1], way[0]) + np.arccos(
        (rod_length**2 + span**2 - rocker_length**2) / (2 * rod_length * span)
    )
    knee = tip + rod_length * np.array([np.cos(rod_angle), np.sin(rod_angle)])
    rocker_angle = np.arctan2(knee[1], knee[0] - base)
    model = fm.Model("flexible four-bar", gravity=(0, -9.81, 0), frames={"far": (base, 0, 0)})
    crank = bar(model, "crank", mass=0.5, length=crank_length)
    rod = model.add(fm.FlexibleBody("rod", data=beam(0.8, rod_length)))
    rocker = model.add(fm.FlexibleBody("rocker", data=beam(0.6, rocker_length)))
    model.add(fm.Revolute("main", model.ground, crank, q0=angle, v0=6.0))
    model.add(fm.Revolute("pin", crank["end"], rod["root"], q0=rod_angle - angle))
    model.add(fm.Revolute("foot", model.ground["far"], rocker["root"], q0=rocker_angle))
    half = (rocker_angle - rod_angle) / 2.0
    knee_joint = (Slide("z"), Ball())
    model.add(
        fm.Chain(
            "knee",
            rod["tip"],
            rocker["tip"],
            motions=knee_joint,
            q0=(0.0, np.cos(half), 0.0, 0.0, np.sin(half)),
        )
    )
    return model


def beam(mass: float, length: float, bending: float = 20.0) -> fm.FlexibleBodyData:
    """A uniform beam clamped at its root that bends in y by (x/L)² and (x/L)³, 0.5 % of damping."""
    S_bar, xS, SS = np.zeros((3, 2)), np.zeros((3, 3, 2)), np.zeros((3, 3, 2, 2))
    powers = np.array([2, 3])
    S_bar[1] = mass / (powers + 1)
    xS[0, 1] = mass * length / (powers + 2)
    SS[1, 1] = mass / (powers[:, None] + powers + 1)
    K = bending / length**3 * np.array([[4.0, 6.0], [6.0, 12.0]])
    tip, turn = np.zeros((3, 2)), np.zeros((3, 2))
    tip[1], turn[2] = 1.0, powers / length
    frames = {
        "root": fm.FlexibleFrame.at_node((0, 0, 0), np.zeros((3, 2))),
        "tip": fm.FlexibleFrame.at_node((length, 0, 0), tip, psi=turn),
    }
    return fm.FlexibleBodyData.from_integrals(
        "beam",
        mass=mass,
        first_moment=(mass * length / 2, 0, 0),
        second_moment=np.diag([mass * length**2 / 3, 1e-3, 1e-3]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=K,
        D_ff=1e-4 * K,
        frames=frames,
    )


def spinning_top() -> fm.Model:
    """The heavy top of Brüls and Cardona (2010): 150 rad/s."""
    model = fm.Model("heavy top", gravity=DOWN)
    inertia = (0.234375, 0.46875, 0.234375)
    top = model.add(fm.RigidBody("top", mass=15.0, inertia=inertia, frames={"foot": (0, -1, 0)}))
    model.add(fm.Spherical("foot", model.ground, top["foot"], v0=(0, 150, -4.61538)))
    return model


def rolling_disc() -> fm.Model:
    """A disc rolls without slip, wobbling around steady motion on a circle."""
    lean, circle, radius, turn = np.radians(20.0), 2.0, 0.5, 1.2
    axle, track = np.array([np.cos(lean), 0.0, np.sin(lean)]), np.array([0.0, 1.0, 0.0])
    A = np.column_stack([track, axle, np.cross(track, axle)])
    omega = A.T @ (turn * np.array([0, 0, 1.0]) - turn * (circle / radius + np.sin(lean)) * axle)
    model = fm.Model("disc", gravity=DOWN)
    disc = model.add(
        fm.RigidBody("disc", mass=1.0, inertia=(radius**2 / 4, radius**2 / 2, radius**2 / 4))
    )
    q0 = (circle, 0.0, radius * np.cos(lean), *Rotation.from_matrix(A).as_quat(scalar_first=True))
    model.add(
        fm.Free("motion", model.ground, disc, q0=q0, v0=(*(A.T @ (turn * circle * track)), *omega))
    )
    model.add(fm.RollingDisc("contact", model.ground, disc, radius=radius))
    return model


def robot() -> fm.Model:
    """Four links under stiff position controllers that follow smooth steps."""
    model = fm.Model("robot", gravity=DOWN)
    end: fm.FrameRef = model.ground
    for i, (axis, mass, gain) in enumerate(zip("zyyx", (8.0, 5.0, 3.0, 1.0), (4e4, 4e4, 1e4, 1e3))):
        link = bar(model, f"link{i}", mass=mass, length=0.4)
        joint = model.add(fm.Revolute(f"joint{i}", end, link, axis=axis))
        path = fm.SmoothStep(0.8 - 0.3 * i, start=0.1, duration=0.6)
        model.add(
            fm.JointTorque(f"motor{i}", joint, fm.PD(kp=gain, kd=0.02 * gain, reference=path))
        )
        end = link["end"]
    return model


def light_body() -> fm.Model:
    """A link of 1e-6 kg carries a bob of 1 kg on a second hinge."""
    model = fm.Model("light body", gravity=DOWN)
    light = bar(model, "light", mass=1e-6)
    bob = model.add(fm.RigidBody("bob", mass=1.0, inertia=(1e-3,) * 3, com=(1, 0, 0)))
    model.add(fm.Revolute("upper", model.ground, light, axis="y", q0=0.5))
    model.add(fm.Revolute("lower", light["end"], bob, axis="y", q0=1.0))
    return model


CASES = {
    "stiff bushing": Case(stiff_bushing, 1.0),
    "flexible arm": Case(flexible_arm, 0.5),
    "rigid chain": Case(chain, 0.5),
    "four-bar": Case(four_bar, 0.6, True),
    "slider-crank": Case(slider_crank, 0.5, True),
    "flexible four-bar": Case(flexible_four_bar, 0.5, True),
    "spinning top": Case(spinning_top, 1.0),
    "rolling disc": Case(rolling_disc, 2.0, True),
    "robot": Case(robot, 1.0),
    "light body": Case(light_body, 1.0),
}
