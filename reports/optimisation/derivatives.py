"""CPU time of derivatives of runs: by differences of runs, by tangents and by adjoints, all in one
process.

python reports/optimisation/derivatives.py                        -> the second table in README.md
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
import preprocess as pp

HERE = Path(__file__).parent
LINK = HERE.parents[1] / "meshes" / "link.msh"
OUTPUTS = ["last joint j0.0 position", "last joint j0.0 velocity", "rms joint j0.0 effort"]
METHODS = ("differences", "tangent", "adjoint")


def chain(links: int) -> fm.Model:
    """A hanging chain of rigid links on revolute joints about y and x in turn, with springs and
    dampers.
    """
    model = fm.Model("chain")
    end = model.ground
    for i in range(links):
        inertia = (0.02, 0.021, 0.002)
        link = model.add(
            fm.RigidBody(
                f"b{i}",
                mass=1.0,
                com=(0, 0, -0.2),
                inertia=inertia,
                frames={"end": (0.0, 0.0, -0.4)},
            )
        )
        joint = model.add(fm.Revolute(f"j{i}", end, link, axis="xy"[i % 2], q0=0.3, v0=0.1))
        model.add(fm.JointSpring(f"f{i}", joint, k=3.0, c=0.2))
        end = link["end"]
    return model


def flexible_arm() -> fm.Model:
    """Two flexible links on springs and dampers, without weight, which turn from their rest
    position.
    """
    interfaces = {"hub": pp.Rigid("hub_face"), "tip": pp.Rigid("tip_face")}
    mesh, material = pp.read_mesh(LINK, unit="mm"), pp.Isotropic(E=70e9, nu=0.33, rho=2700.0)
    how = {
        "method": pp.CraigBampton(modes=2),
        "reference": "hub",
        "damping": 0.02,
        "inertia_loads": True,
    }
    part = pp.reduce(mesh, material, interfaces=interfaces, **how)
    model = fm.Model("flexible arm", gravity=(0, 0, 0))
    end = model.ground
    for i in range(2):
        link = model.add(fm.FlexibleBody(f"b{i}", data=part))
        joint = model.add(fm.Revolute(f"j{i}", end, link["hub"], axis="y", q0=0.0, v0=0.5))
        model.add(fm.JointSpring(f"f{i}", joint, k=30.0, c=0.1))
        end = link["tip"]
    tool = model.add(fm.RigidBody("tool", mass=0.4, inertia=(2e-4, 2.1e-4, 2e-4)))
    model.add(fm.Fixed("wrist", end, tool))
    return model


def varied(model: fm.Model) -> list[str]:
    """Masses, inertias, centres of mass, frames, springs and initial values of a model."""
    chosen = re.compile(
        r"bodies.*(mass|inertia\.(xx|yy|zz)|com\.z|end\.position\.z)|forces.*\.[kc]|joints.*\.[qv]0|gravity\.z"
    )
    return [path for path in fm.parameters(model) if chosen.fullmatch(path)]


def timed(model: fm.Model, paths: list[str], run: fm.Run, method: str) -> tuple[float, Any]:
    """CPU seconds of all threads, and the derivatives."""
    begun = time.process_time()
    found = fm.sensitivities(model, paths, OUTPUTS, run=run, method=method)
    return time.process_time() - begun, found


def row(name: str, make: Callable[[], fm.Model], steps: int, most: int, step: float = 1e-3) -> str:
    """A row of the table."""
    model = make()
    paths = varied(model)[:most]
    run = fm.Run(t_end=steps * step, step=step, integrator="generalized-alpha")
    seconds, found = zip(*(timed(model, paths, run, method) for method in METHODS))
    size = np.abs(found[0].gradient).max(axis=1)[:, None]
    apart = max(
        float((np.abs(each.gradient - found[0].gradient) / size).max()) for each in found[1:]
    )
    times = " | ".join(f"{each:.2f}" for each in seconds)
    gains = " | ".join(f"{seconds[0] / each:.1f}" for each in seconds[1:])
    return f"| {name} | {len(paths)} | {steps} | {times} | {gains} | {apart:.0e} |"


def main() -> None:
    """Measure and write."""
    # compiles
    timed(
        chain(2),
        ["gravity.z"],
        fm.Run(t_end=0.02, step=1e-3, integrator="generalized-alpha"),
        "adjoint",
    )
    cases = [
        ("chain of 3 links", lambda: chain(3), 1000, 5),
        ("chain of 3 links", lambda: chain(3), 1000, 100),
        ("chain of 3 links", lambda: chain(3), 4000, 100),
        ("chain of 8 links", lambda: chain(8), 1000, 100),
        ("two flexible links", flexible_arm, 1000, 100, 2e-4),
    ]  # fmt: skip
    table = "\n".join(
        [
            "| model | parameters | steps | differences (s) | tangent (s) | adjoint (s) | "
            "gain of tangent | of adjoint | difference |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(row(*case) for case in cases),
        ]
    )
    page = HERE / "README.md"
    text = re.sub(
        r"(<!-- times -->\n).*?(<!-- end of times -->)",
        rf"\g<1>{table}\n\g<2>",
        page.read_text(),
        flags=re.S,
    )
    page.write_text(text)
    print(table)


if __name__ == "__main__":
    main()
