"""The machine of the tests of sweeps, in a module that processes import, and functions that
misbehave.
"""

import os
import pathlib
import signal
import time
from typing import Any

import numpy as np

import flexmbs as fm

RUN = fm.Run(t_end=0.05, step=1e-3, output_step=0.01)
SPEED = {"speed": "last joint hinge.0 velocity"}


def pendulum(q0: float = 0.1, mass: float = 1.0) -> fm.Model:
    """A pendulum with a spring and a frame."""
    model = fm.Model("pendulum", run=RUN)
    inertia = (0.01, 0.01, 0.01)
    bob = model.add(
        fm.RigidBody(
            "bob", mass=mass, inertia=inertia, frames={"pin": (0, 0, 1.0), "low": (0, 0, -0.1)}
        )
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, bob["pin"], axis="y", q0=q0))
    model.add(fm.JointTorque("motor", hinge, fm.PD(kp=2.0, kd=0.1, reference=0.3)))
    return model


def slow(q0: float, seconds: float = 0.3) -> fm.Model:
    """One that takes a while to build."""
    time.sleep(seconds)
    return pendulum(q0)


def deadly(q0: float) -> fm.Model:
    """One whose build kills its process."""
    if q0 == 0.3:
        os.kill(os.getpid(), signal.SIGKILL)
    return pendulum(q0)


def deadly_once(q0: float) -> fm.Model:
    """One that kills its process the first time."""
    path = pathlib.Path(os.environ["SWEEP_MARKS"]) / "mark"
    if q0 == 0.2 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return pendulum(q0)


def refusing(q0: float) -> fm.Model:
    """One whose build fails for some values."""
    if q0 > 0.25:
        raise RuntimeError(f"no pendulum at {q0}")
    return pendulum(q0)


def last_angle(solution: fm.Solution) -> float:
    """An output that is a function."""
    return float(solution.q[-1, 0])


def nothing(solution: Any) -> float:
    """An output that is not a number."""
    return float("nan")


def growing(rails: int) -> fm.Model:
    """One with as many sliders as wanted."""
    model = pendulum()
    for k in range(rails):
        block = model.add(fm.PointMass(f"block {k}", mass=1.0))
        model.add(fm.Prismatic(f"rail {k}", model.ground, block, axis="x", v0=1.0))
    return model


def broken(solution: fm.Solution) -> float:
    """An output with an error of its own."""
    return None + 1.0  # type: ignore[operator]


def bar(mass: float) -> fm.FlexibleBodyData:
    """A flexible body with one mode."""
    return fm.FlexibleBodyData.from_integrals(
        "bar",
        mass=mass,
        first_moment=np.zeros(3),
        second_moment=0.1 * np.eye(3),
        S_bar=np.zeros((3, 1)),
        xS=np.zeros((3, 3, 1)),
        SS=np.einsum("a,b,i,j->abij", *np.eye(3)[[2, 2]], [1.0], [0.5]),
        K_ff=[[100.0]],
        frames={"a": fm.FlexibleFrame.at_node(np.zeros(3), np.zeros((3, 1)))},
    )


def rail(file: str) -> fm.Model:
    """A flexible body that slides at 1 m/s."""
    model = fm.Model("rail", gravity=(0, 0, 0), run=RUN)
    model.add(
        fm.Prismatic(
            "guide", model.ground, model.add(fm.FlexibleBody("bar", file)), axis="x", v0=1.0
        )
    )
    return model


def kinetic(solution: fm.Solution) -> float:
    return float(solution.energy.kinetic[-1])
