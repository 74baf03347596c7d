"""Cost of a call of `fm.Stepper` beside the step itself.

    python reports/speed/stepper.py        -> stepper.json, and a table with PASS or FAIL for the limit

A pendulum whose step takes about one microsecond. Time of n calls of ``step`` less that of n steps
in the compiled loop, over n; ``advance`` by one step each; with an input that is set and an output
that is read each time, by names and by vectors; taking out and putting back the state; a period of
one step and a reset of an environment (extra ``learning``). CPU seconds of one thread, minimum of
repetitions.
"""

import json
import os
import pathlib
import time
from collections.abc import Callable

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

import flexmbs as fm  # noqa: E402

HERE = pathlib.Path(__file__).parent
STEP, COUNT, REPEAT = 1e-4, 5000, 7
LIMIT, RESET = 3e-6, 2e-4  # s


def pendulum() -> fm.Model:
    """A pendulum."""
    model = fm.Model("pendulum", gravity=(0.0, 0.0, -9.81))
    bar = model.add(fm.RigidBody("bar", mass=1.0, inertia=(0.02, 0.1, 0.1), com=(0.5, 0, 0)))
    model.add(fm.Revolute("hinge", model.ground, bar, axis="y", q0=0.2))
    return model


def stepper() -> fm.Stepper:
    """A pendulum with a motor."""
    ports = {
        "inputs": {"motor": ("effort", "hinge")},
        "outputs": {"angle": ("coordinate", "hinge")},
    }
    return fm.Stepper(pendulum(), t_end=2.0 * COUNT * STEP, step=STEP, **ports)


def in_one_call(run: fm.Stepper) -> None:
    """All steps in the compiled loop."""
    run.advance(COUNT * STEP)


def by_steps(run: fm.Stepper) -> None:
    """A call for each step."""
    for _ in range(COUNT):
        run.step()


def by_times(run: fm.Stepper) -> None:
    """A call for each step, by its end."""
    for k in range(1, COUNT + 1):
        run.advance(k * STEP)


def with_output(run: fm.Stepper) -> None:
    """A call and an output for each step."""
    outputs = run.outputs
    for _ in range(COUNT):
        run.step()
        outputs["angle"]


def as_control_loop(run: fm.Stepper) -> None:
    """An output, an input with the jump of the forces, and a call for each step."""
    inputs, outputs = run.inputs, run.outputs
    for _ in range(COUNT):
        inputs["motor"] = -3.0 * outputs["angle"]
        run.step()


def with_vectors(run: fm.Stepper) -> None:
    """The same control loop by vectors."""
    controls = run.controls
    for _ in range(COUNT):
        controls[:] = -3.0 * run.observations
        run.step()


def seconds(work: Callable[[fm.Stepper], None]) -> float:
    """Least CPU time of the work from the same state, per step."""
    run = stepper()
    start = run.state
    found = []
    for _ in range(REPEAT):
        run.state = start
        begun = time.process_time()
        work(run)
        found.append(time.process_time() - begun)
    return min(found) / COUNT


def state_again(run: fm.Stepper) -> None:
    """The state out and back, for each step."""
    for _ in range(COUNT):
        run.state = run.state


def environment() -> dict[str, float]:
    """Least CPU time of a period of one step, and of a reset, of an environment."""
    model = pendulum()
    env = fm.environment(
        model,
        inputs={"motor": ("effort", "hinge")},
        outputs={"angle": ("coordinate", "hinge"), "rate": ("rate", "hinge")},
        limits={"motor": (-1.0, 1.0)},
        period=STEP,
        t_end=2.0 * COUNT * STEP,
        step=STEP,
        reward=lambda outputs, inputs: outputs["angle"],
    )
    found = []
    for _ in range(REPEAT):
        begun = time.process_time()
        for _ in range(COUNT // 10):
            env.reset()
        between = time.process_time()
        for k in range(COUNT):
            env.step([1e-3 * (k % 3)])
        found.append((between - begun, time.process_time() - between))
    reset, step = np.min(found, axis=0)
    return {"environment_reset": 10.0 * reset / COUNT, "environment_step": step / COUNT}


def main() -> None:
    """Measure, write, judge."""
    step = seconds(in_one_call)
    beside = {
        work.__name__: seconds(work) - step
        for work in (by_steps, by_times, with_output, as_control_loop, with_vectors)
    }
    found = {"step": step, **beside, "state_out_and_back": seconds(state_again)}
    found |= environment()
    (HERE / "stepper.json").write_text(json.dumps(found, indent=1) + "\n")
    for key, value in found.items():
        print(f"{key:22s} {1e6 * value:8.2f} µs")
    good = max(beside["by_steps"], beside["by_times"]) <= LIMIT
    print("PASS" if good else "FAIL", f"a call costs at most {1e6 * LIMIT:g} µs beside its step")
    quick = found["environment_reset"] <= RESET
    print("PASS" if quick else "FAIL", f"a reset takes at most {1e3 * RESET:g} ms")
    raise SystemExit(0 if good and quick else 1)


if __name__ == "__main__":
    main()
