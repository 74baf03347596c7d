"""A flexible arm as units of FMI: controlled from outside by FMPy, and linearized as a unit in
plain C.

    python reports/fmi/cosimulation.py        -> cosimulation.json, cosimulation.png      (needs flexmbs[fmu])

The arm has one flexible link on a driven hinge and a tool. Its torque is that of a PD controller
outside of the unit, which samples with the communication step and holds: the error against the run
in one piece is of first order in this step.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import fmpy
import matplotlib.pyplot as plt
import numpy as np
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu
from scipy.signal import cont2discrete

import flexmbs as fm
import preprocess as pp

HERE = Path(__file__).parent
KP, KD, GOAL, END = 6.0, 0.3, 0.3, 0.4
PORTS: dict[str, Any] = {
    "inputs": {"motor": ("effort", "hinge")},
    "outputs": {
        "angle": ("coordinate", "hinge"),
        "rate": ("rate", "hinge"),
        "height": ("position", "tool", "z"),
    },
}


def arm(controlled: bool) -> fm.Model:
    """A flexible link with a tool."""
    mesh = pp.read_mesh(HERE.parents[1] / "meshes" / "link.msh", unit="mm")
    material = pp.Isotropic(E=70e9, nu=0.33, rho=2700.0)
    ends = {"hub": pp.Rigid("hub_face"), "tip": pp.Rigid("tip_face")}
    data = pp.reduce(
        mesh,
        material,
        interfaces=ends,
        method=pp.CraigBampton(modes=4),
        reference="hub",
        damping=0.02,
    )
    model = fm.Model("flexible arm")
    link = model.add(fm.FlexibleBody("link", data=data))
    tool = model.add(fm.RigidBody("tool", mass=0.4, inertia=(2e-4, 2e-4, 1e-4)))
    hinge = model.add(fm.Revolute("hinge", model.ground, link["hub"], axis="y"))
    model.add(fm.Fixed("wrist", link["tip"], tool))
    if controlled:
        model.add(fm.JointTorque("servo", hinge, fm.PD(KP, KD, reference=GOAL)))
    return model


def pendulum() -> fm.Model:
    """A bob on a hinge."""
    model = fm.Model("pendulum")
    bob = model.add(
        fm.RigidBody("bob", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"pin": (0, 0, 1.0)})
    )
    model.add(fm.Revolute("hinge", model.ground, bob["pin"], axis="y", q0=0.4))
    return model


class Slave:
    """A unit in FMPy."""

    def __init__(self, file: Path) -> None:
        description = fmpy.read_model_description(str(file))
        self.version = int(description.fmiVersion[0])
        self.refs = {each.name: each.valueReference for each in description.modelVariables}
        kind = FMU2Slave if self.version == 2 else FMU3Slave
        name, place = description.coSimulation.modelIdentifier, fmpy.extract(str(file))
        self.fmu = kind(
            guid=description.guid, unzipDirectory=place, modelIdentifier=name, instanceName="arm"
        )
        self.fmu.instantiate()
        if self.version == 2:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def step(self, t: float, h: float, value: float, name: str = "motor") -> None:
        (self.fmu.setReal if self.version == 2 else self.fmu.setFloat64)([self.refs[name]], [value])
        self.fmu.doStep(t, h)

    def read(self, *names: str) -> list[float]:
        return list(
            (self.fmu.getReal if self.version == 2 else self.fmu.getFloat64)(
                [self.refs[name] for name in names]
            )
        )

    def close(self) -> None:
        self.fmu.terminate()
        self.fmu.freeInstance()


def controlled_height(file: Path, h: float) -> float:
    """Height of the tool at the end, controlled with the step h."""
    slave = Slave(file)
    for k in range(round(END / h)):
        angle, rate = slave.read("angle", "rate")
        slave.step(k * h, h, KP * (GOAL - angle) - KD * rate)
    (height,) = slave.read("height")
    slave.close()
    return height


def free_run_is_equal(file: Path) -> bool:
    """Whether a run without inputs is that of `simulate`, bit for bit."""
    found = fmpy.simulate_fmu(str(file), stop_time=END, step_size=0.01, output_interval=0.01)
    wanted = fm.simulate(arm(False), t_end=END, step=5e-4, output_step=0.01)
    return bool(np.array_equal(found["angle"], wanted.joint("hinge").position[:, 0]))


def in_plain_c(folder: Path) -> dict[str, float]:
    """The unit of the linearized arm against SciPy, and its time per step."""
    model = arm(True)
    ports: dict[str, Any] = {
        "inputs": [("effort", "hinge")],
        "outputs": [("position", "tool", "z"), ("coordinate", "hinge")],
    }
    system = fm.linearize(model, start=fm.statics(model), **ports)
    file = system.export(folder / "Linear.fmu")
    A, B, C, D, *_ = cont2discrete((system.A, system.B, system.C, system.feedthrough), 1e-3)
    x, u, gap, size, slave = (
        np.zeros(len(A)),
        np.random.default_rng(0).normal(size=500),
        0.0,
        0.0,
        Slave(file),
    )
    spent = 0.0
    for k, value in enumerate(u):
        x = A @ x + B[:, 0] * value
        begun = time.perf_counter()
        slave.step(1e-3 * k, 1e-3, value, system.inputs[0])
        spent += time.perf_counter() - begun
        wanted = C @ x + D[:, 0] * value
        gap = max(gap, float(np.abs(wanted - slave.read(*system.outputs)).max()))
        size = max(size, float(np.abs(wanted).max()))
    slave.close()
    return {
        "states": len(A),
        "difference": gap / size,
        "µs per step": 1e6 * spent / len(u),
        "kB": file.stat().st_size / 1e3,
    }


def main() -> None:
    steps = np.array([8e-3, 4e-3, 2e-3, 1e-3, 5e-4])
    whole = (
        fm.simulate(arm(True), t_end=END, rtol=1e-8, atol=1e-10, output_step=END)
        .frame("tool")
        .position[-1, 2]
    )
    report: dict[str, Any] = {"steps": steps.tolist(), "height": float(whole)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for version in (2, 3):
            file = fm.export_fmu(
                arm(False),
                folder / f"Arm{version}.fmu",
                step=5e-4,
                t_end=1.0,
                version=version,
                **PORTS,
            )
            report[f"FMI {version}"] = {
                "problems of the description": validate_fmu(str(file)),
                "free run bitwise equal": free_run_is_equal(file),
                "kB": file.stat().st_size / 1e3,
            }
        exact = fm.export_fmu(
            arm(False), folder / "Exact.fmu", rtol=1e-8, atol=1e-10, t_end=1.0, **PORTS
        )
        errors = np.array([abs(controlled_height(exact, h) - whole) for h in steps])
        report |= {"errors": errors.tolist(), "orders": np.log2(errors[:-1] / errors[1:]).tolist()}
        report["plain C"] = in_plain_c(folder)
    (HERE / "cosimulation.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    axes.loglog(1e3 * steps, 1e3 * errors, "o-", label="controller outside of the unit")
    axes.loglog(
        1e3 * steps, 1e3 * errors[0] * steps / steps[0], "--", color="grey", label="first order"
    )
    axes.set(
        xlabel="communication step (ms)",
        ylabel="error of the tool's height (mm)",
        title="Co-simulation of a flexible arm",
    )
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    figure.savefig(HERE / "cosimulation.png", dpi=120)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
