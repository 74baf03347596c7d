"""A flexible arm in real time at 1 kHz, its controller in another process: jitter of the samples
and response times.

    python reports/fmi/control_loop.py [SECONDS]        -> control_loop.json

The controller is a PD law in Python that maps the loop's file. Twice: in real time, and as fast as
both processes can.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from cosimulation import PORTS, arm

import flexmbs as fm

HERE = Path(__file__).parent
PERIOD = 1e-3  # s
CONTROLLER = """
import sys
import flexmbs as fm
with fm.LoopController(sys.argv[1]) as plant:
    for outputs in plant:
        plant.answer({"motor": 6.0 * (0.3 - outputs["angle"]) - 0.3 * outputs["rate"]})
"""


def run(seconds: float, real_time: bool) -> dict[str, float]:
    """Figures of one loop (µs)."""
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        file = Path(folder) / "arm.loop"
        loop = fm.ControlLoop(
            fm.Stepper(arm(False), t_end=seconds, step=5e-4, **PORTS), file, period=PERIOD
        )
        with subprocess.Popen([sys.executable, "-c", CONTROLLER, str(file)]):
            timing = loop.run(seconds, real_time=real_time, timeout=60.0)
    print(f"{'real time' if real_time else 'in step'}: {timing}")
    found: dict[str, float] = {"samples": timing.samples, "late": timing.late}
    for name, values in (("jitter", timing.jitter), ("response", timing.response)):
        found |= {f"{name}, {part}": round(1e6 * float(np.percentile(values, q)), 1) for part, q in
                  (("median", 50), ("99 %", 99), ("99.9 %", 99.9), ("largest", 100))}  # fmt: skip
    return found


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    report = {
        "processors": os.cpu_count(),
        "Python": platform.python_version(),
        "period (µs)": 1e6 * PERIOD,
        "real time (µs)": run(seconds, True),
        "in step (µs)": run(seconds, False),
    }
    (HERE / "control_loop.json").write_text(
        json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
