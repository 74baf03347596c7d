"""Units of FMI 2 run by libcosim of the Open Simulation Platform, which reads them by FMI Library,
against runs in one piece.

    python reports/fmi/libcosim.py        -> libcosim.json      (needs flexmbs[fmu] and libcosimpy)

The arm of cosimulation.py and a pendulum, coupled to Python, and the linearized arm in plain C. All
units of an execution take a step with held inputs, then outputs go to inputs, as in
`fm.cosimulate`.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cosimulation import END, GOAL, KD, KP, PORTS, arm, controlled_height, pendulum
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimManipulator import CosimManipulator
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave
from scipy.signal import cont2discrete

import flexmbs as fm

HERE = Path(__file__).parent
Row = dict[str, float]


class Execution:
    """Units in one execution of libcosim with a fixed step (s); variables are those of all units,
    as "unit.variable".
    """

    def __init__(
        self, step: float, units: Mapping[str, Path], connections: Mapping[str, str]
    ) -> None:
        self._execution = CosimExecution.from_step_size(round(1e9 * step))
        self._slaves = [
            CosimLocalSlave(fmu_path=str(file), instance_name=name) for name, file in units.items()
        ]
        self._at: dict[str, tuple[int, int]] = {}
        for name, slave in zip(units, self._slaves, strict=True):
            index = self._execution.add_local_slave(slave)
            for found in self._execution.slave_variables(index):
                self._at[f"{name}.{found.name.decode()}"] = (index, found.reference)
        for end, source in connections.items():
            self._execution.connect_real_variables(*self._at[source], *self._at[end])
        self._read, self._set = (
            CosimObserver.create_last_value(),
            CosimManipulator.create_override(),
        )
        self._execution.add_observer(self._read)
        self._execution.add_manipulator(self._set)

    def step(self, values: Row) -> None:
        """One step with these inputs."""
        for name, value in values.items():
            index, reference = self._at[name]
            self._set.slave_real_values(index, [reference], [value])
        if not self._execution.step():
            raise RuntimeError(self._execution.status().error_code)

    def __getitem__(self, name: str) -> float:
        index, reference = self._at[name]
        return float(self._read.last_real_values(index, [reference])[0])


def with_random_torque(model: fm.Model, file: Path, ports: dict[str, Any], step: float) -> float:
    """Largest difference to a `Stepper` over 50 communication
    steps of 10 ms with a random torque.
    """
    own = fm.Stepper(model, step=step, t_end=1.0, **ports)
    unit, gap = Execution(0.01, {"unit": file}, {}), 0.0
    for k, motor in enumerate(np.random.default_rng(1).normal(size=50)):
        unit.step({"unit.motor": float(motor)})
        own.inputs["motor"] = float(motor)
        own.advance(0.01 * (k + 1))
        gap = max(gap, *(abs(unit[f"unit.{name}"] - value) for name, value in own.outputs.items()))
    return gap


def controlled(file: Path, h: float) -> float:
    """Height of the tool at the end with a PD controller that samples with the step h, outside of
    libcosim.
    """
    unit, motor = Execution(h, {"unit": file}, {}), KP * GOAL
    for _ in range(round(END / h)):
        unit.step({"unit.motor": motor})
        motor = KP * (GOAL - unit["unit.angle"]) - KD * unit["unit.rate"]
    return unit["unit.height"]


def connected(folder: Path, file: Path) -> dict[str, float]:
    """The linearized arm in plain C against SciPy, alone and with the angle of the nonlinear arm as
    its input.
    """
    model = arm(True)
    ports: dict[str, Any] = {
        "inputs": [("effort", "hinge")],
        "outputs": [("position", "tool", "z"), ("coordinate", "hinge")],
    }
    system = fm.linearize(model, start=fm.statics(model), **ports)
    twin = {name: f"twin.{name}" for name in (*system.inputs, *system.outputs)}
    units = {"arm": file, "twin": system.export(folder / "Linear.fmu", version=2)}
    both = Execution(1e-3, units, {twin[system.inputs[0]]: "arm.angle"})
    A, B, C, D, *_ = cont2discrete((system.A, system.B, system.C, system.feedthrough), 1e-3)
    x, gap, size, given = np.zeros(len(A)), 0.0, 0.0, 0.0
    for k in range(400):
        both.step({"arm.motor": float(np.sin(0.1 * k))})
        x = A @ x + B[:, 0] * given
        wanted = C @ x + D[:, 0] * given
        gap = max(gap, float(np.abs(wanted - [both[twin[name]] for name in system.outputs]).max()))
        size, given = max(size, float(np.abs(wanted).max())), both["arm.angle"]
    return {"states": len(A), "difference": gap / size}


def main() -> None:
    log_output_level(CosimLogLevel.WARNING)
    swing: dict[str, Any] = {
        key: {n: p for n, p in PORTS[key].items() if n != "height"} for key in PORTS
    }
    steps = [8e-3, 4e-3, 2e-3, 1e-3]
    whole = (
        fm.simulate(arm(True), t_end=END, rtol=1e-8, atol=1e-10, output_step=END)
        .frame("tool")
        .position[-1, 2]
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unit = fm.export_fmu(
            arm(False), folder / "Arm.fmu", step=5e-4, t_end=1.0, version=2, **PORTS
        )
        bob = fm.export_fmu(
            pendulum(), folder / "Pendulum.fmu", step=1e-3, t_end=1.0, version=2, **swing
        )
        exact = fm.export_fmu(
            arm(False), folder / "Exact.fmu", rtol=1e-8, atol=1e-10, t_end=1.0, version=2, **PORTS
        )
        heights = np.array([controlled(exact, h) for h in steps])
        errors, apart = (
            np.abs(heights - whole),
            np.abs(heights - [controlled_height(exact, h) for h in steps]),
        )
        report = {
            "arm: difference to the stepper": with_random_torque(arm(False), unit, PORTS, 5e-4),
            "pendulum: difference to the stepper": with_random_torque(pendulum(), bob, swing, 1e-3),
            "steps": steps,
            "errors": errors.tolist(),
            "orders": np.log2(errors[:-1] / errors[1:]).tolist(),
            "controlled: difference to FMPy": float(apart.max()),
            "linearized arm behind the arm": connected(folder, unit),
        }
    (HERE / "libcosim.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
