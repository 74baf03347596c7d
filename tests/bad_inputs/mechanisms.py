"""Small mechanisms for invalid analyses, and the command line in this process."""

import math
from pathlib import Path

import numpy as np
import pytest
from bars import bar

import flexmbs as fm
from flexmbs.__main__ import main

HALF = 0.3  # m, crank and rod of the slider-crank
START = 0.5  # rad


def pendulum() -> fm.Model:
    model = fm.Model("pendulum")
    rod = model.add(bar("rod", 0.6))
    model.add(fm.Revolute("hinge", model.ground, rod, axis="y"))
    return model


def slider_crank(angle: float, v0: float = 0.0) -> fm.Model:
    """Crank and rod of equal length: at ±π/2 the slider is at the crank's pivot and the motion
    branches.
    """
    model = fm.Model("slider-crank", gravity=(0, 0, 0))
    crank, rod = model.add(bar("crank", HALF)), model.add(bar("rod", HALF))
    piston = model.add(fm.RigidBody("piston", mass=1.0, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("main", model.ground, crank, axis="y", q0=angle, v0=v0))
    model.add(fm.Revolute("pin", crank["end"], rod, axis="y", q0=-2 * angle, v0=-2 * v0))
    model.add(fm.Prismatic("guide", model.ground, piston, axis="x", q0=2 * HALF * math.cos(angle)))
    model.add(fm.Revolute("wrist", rod["end"], piston, axis="y"))
    return model


def pulled(speed: float = 0.5) -> tuple[fm.Model, float]:
    """The slider-crank whose slider is pulled outwards, and the time at which it is stretched."""
    model = slider_crank(START)
    out = 2 * HALF * math.cos(START)
    model.add(fm.Drive("puller", "guide", fm.Ramp(out, speed)))
    return model, (2 * HALF - out) / speed


def four_bar(span: float) -> fm.Model:
    """Bars of 0.3, 0.8 and 0.6 m between pivots at a distance; closed joint by joint along the
    ground it ends at `foot`.
    """
    model = fm.Model("four-bar", frames={"far": (span, 0, 0)})
    crank, rod, rocker = (
        model.add(bar(name, length))
        for name, length in (("crank", 0.3), ("rod", 0.8), ("rocker", 0.6))
    )
    model.add(fm.Revolute("main", model.ground, crank, axis="-y", q0=0.7))
    model.add(fm.Revolute("pin", crank["end"], rod, axis="-y", q0=-0.3))
    model.add(fm.Revolute("knee", rod["end"], rocker, axis="-y", q0=-0.4))
    model.add(fm.Revolute("foot", rocker["end"], model.ground["far"], axis="-y"))
    return model


def call(*arguments: object) -> int:
    """Exit code of the command line in this process."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def saved(model: fm.Model, folder: Path, run: str = "t_end = 0.05\nstep = 0.01") -> Path:
    """The model as a file with a [run] table."""
    path = folder / "model.toml"
    model.save(path)
    path.write_text(path.read_text() + f"\n[run]\n{run}\n")
    return path


def with_torque(folder: Path, body: str, run: str = "t_end = 0.05\nstep = 0.01") -> Path:
    """The pendulum with the torque ``push(t, x, v)`` of that body, in a file, with a module that
    contains it.
    """
    path = saved(pendulum(), folder, run)
    module = f"torque_{folder.name}".replace("-", "_")
    (folder / f"{module}.py").write_text(f"import math\n\n\ndef push(t, x, v):\n    {body}\n")
    law = f'{{ kind = "function", function = "{module}:push" }}'
    path.write_text(
        path.read_text() + f'\n[forces.push]\nkind = "joint-torque"\njoint = "hinge"\nlaw = {law}\n'
    )
    return path


def all_finite(solution: fm.Solution) -> bool:
    return all(np.isfinite(values).all() for values in solution.trajectory)
