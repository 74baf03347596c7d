"""Units of FMI 2 and 3 run by Ecos, which reads them by fmi4c, against a `Stepper`.

    python reports/fmi/ecos.py        -> ecos.json      (needs flexmbs[fmu], ecospy and Debian's libtbb12)

The flexible arm of cosimulation.py and a pendulum, coupled to Python, with and without directional
derivatives: random torques, held for 10 ms each.
"""

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from cosimulation import PORTS, arm, pendulum
from ecospy import EcosSimulation, EcosSimulationStructure

import flexmbs as fm

HERE = Path(__file__).parent
STEP, HELD, COUNT = 1e-3, 0.01, 50


def difference(model: fm.Model, file: Path, ports: dict[str, Any]) -> float:
    """Largest difference of an output of the unit to that of a `Stepper`."""
    own, gap = fm.Stepper(model, step=STEP, t_end=1.0, **ports), 0.0
    structure = EcosSimulationStructure()
    structure.add_model("unit", str(file))
    with EcosSimulation(structure=structure, step_size=HELD) as unit:
        unit.init()
        for k, motor in enumerate(np.random.default_rng(1).normal(size=COUNT)):
            unit.set_real("unit::motor", float(motor))
            own.inputs["motor"] = float(motor)
            unit.step(1)
            own.advance(HELD * (k + 1))
            gap = max(
                gap,
                *(
                    abs(unit.get_real(f"unit::{name}") - value)
                    for name, value in own.outputs.items()
                ),
            )
    return float(gap)


def main() -> None:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        outputs = {
            "arm": PORTS["outputs"],
            "pendulum": {"angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")},
        }
        machines = {"arm": arm(controlled=False), "pendulum": pendulum()}
        for (name, model), version, slopes in itertools.product(
            machines.items(), (2, 3), (False, True)
        ):
            ports = PORTS | {"outputs": outputs[name]}
            file = Path(folder) / f"{name}{version}{slopes}.fmu"
            fm.export_fmu(
                model, file, version=version, step=STEP, t_end=1.0, derivatives=slopes, **ports
            )
            key = f"{name}, FMI {version}{', with derivatives' if slopes else ''}"
            found[key] = difference(model, file, ports)
            print(key, found[key])
    (HERE / "ecos.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
