"""Speed of the recursive formalism: against Pinocchio's ABA and MuJoCo's step, and its growth with
the number of bodies.

    pip install -e . pin mujoco
    python reports/speed/recursion.py        -> recursion.json, and a table with PASS or FAIL for every limit

Serial chains of n links with random placements and inertias, revolute joints and every third one
prismatic; the same numbers in all programs, which must agree on the accelerations. The time of
flexmbs is that of one evaluation in a compiled loop. Pinocchio's ABA is called from Python; the
time of the same call on an empty model is subtracted. MuJoCo steps (Euler, no contacts) in its own
loop. CPU seconds of one thread, minimum of alternating repetitions.
"""

import argparse
import functools
import json
import os
import pathlib
import platform
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

import flexmbs as fm  # noqa: E402
from flexmbs._jit.address import bound_entry  # noqa: E402
from flexmbs.formalisms import FORMALISMS  # noqa: E402
from flexmbs.formalisms.multiplier import accelerations  # noqa: E402
from flexmbs.initial.initial_state import consistent_state  # noqa: E402
from flexmbs.studies.states.evaluate import Evaluator  # noqa: E402
from flexmbs.system.compile import compile_model  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "formalisms"))
from study import beam  # noqa: E402

SIZES, GRAVITY = (6, 30, 200), (0.0, 0.0, -9.81)
LIMITS = {
    "pinocchio": 0.30,
    "mujoco": 0.6,
    "growth": 7.5,
    "flexible": 2.5,
    "microseconds": 16.0,
    "loops": 0.2,
}
RECURSIVE = FORMALISMS["recursive"]
BATCH, CELLS = 0.1, (10, 20, 40)


def often(model, here, /, t, count):
    """``count`` evaluations; the velocities change a little with the result, so that none is
    optimized away.
    """
    for _ in range(int(count)):
        accelerations(model.system, model.work, model.workspace, t, here)
        here.s[0] += 1e-12 * here.sd[0]
    return 0


@functools.cache
def kernel(form):
    return bound_entry(often, form.__name__.lower(), accelerations=form.accelerations)


def least(call, count, repetitions):
    """Minimum CPU seconds of one of the ``count`` operations of ``call``."""
    best = np.inf
    for _ in range(repetitions):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best / count


def links(n):
    """Placement (R, x), mass, centre, inertia and kind of each link's joint, the same for all
    programs.
    """
    rng = np.random.default_rng(7)
    found = []
    for i in range(n):
        R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        R *= np.sign(np.linalg.det(R))
        principal = rng.uniform(0.02, 0.04, 3)
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        found.append(
            (
                R,
                rng.uniform(-0.3, 0.3, 3),
                rng.uniform(0.5, 2.0),
                rng.uniform(-0.2, 0.2, 3),
                turn @ np.diag(principal) @ turn.T,
                "prismatic" if i % 3 == 2 else "revolute",
            )
        )
    return found


def our_chain(parts):
    """The chain as a model of flexmbs."""
    model = fm.Model(
        "chain",
        gravity=GRAVITY,
        frames={"end": fm.Frame(position=tuple(parts[0][1]), rotation=parts[0][0])},
    )
    end = model.ground["end"]
    for i, (_, _, mass, com, inertia, kind) in enumerate(parts):
        frames = {}
        if i + 1 < len(parts):
            frames = {"end": fm.Frame(position=tuple(parts[i + 1][1]), rotation=parts[i + 1][0])}
        link = model.add(
            fm.RigidBody(f"link {i}", mass=mass, com=tuple(com), inertia=inertia, frames=frames)
        )
        joint = fm.Prismatic if kind == "prismatic" else fm.Revolute
        model.add(joint(f"joint {i}", end, link, axis="z"))
        end = link["end"] if frames else None
    return model


def pinocchio_chain(parts):
    model = pin.Model()
    model.gravity.linear = np.array(GRAVITY)
    for i, (R, x, mass, com, inertia, kind) in enumerate(parts):
        joint = pin.JointModelPZ() if kind == "prismatic" else pin.JointModelRZ()
        model.addJoint(i, joint, pin.SE3(R, x), f"joint {i}")
        model.appendBodyToJoint(i + 1, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    return model


def mujoco_chain(parts):
    text = [
        "<mujoco><option timestep='1e-6' gravity='0 0 -9.81' integrator='Euler'><flag "
        "contact='disable' constraint='disable'"
        " eulerdamp='disable'/></option><compiler balanceinertia='false'/><worldbody>"
    ]
    for R, x, mass, com, inertia, kind in parts:
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, R.ravel())
        I = inertia
        full = f"{I[0, 0]} {I[1, 1]} {I[2, 2]} {I[0, 1]} {I[0, 2]} {I[1, 2]}"
        joint = "slide" if kind == "prismatic" else "hinge"
        text.append(
            f"<body pos='{x[0]} {x[1]} {x[2]}' quat='{quat[0]} {quat[1]} {quat[2]} {quat[3]}'>"
            f"<joint type='{joint}' axis='0 0 1'/>"
            f"<inertial pos='{com[0]} {com[1]} {com[2]}' mass='{mass}' "
            f"fullinertia='{full}'/>"
        )
    text.append("</body>" * len(parts) + "</worldbody></mujoco>")
    return mujoco.MjModel.from_xml_string("".join(text))


def our_time(compiled, q, s, repetitions, beta=None):
    """Seconds of one evaluation, and the accelerations at (q, s)."""
    evaluator = Evaluator(compiled, RECURSIVE(), beta)
    evaluator.point.q[:], evaluator.point.s[:] = q, s
    run = functools.partial(
        kernel(type(RECURSIVE().fitting(compiled, "accelerations"))),
        evaluator.model,
        evaluator.packed,
        evaluator.packed,
        0.0,
    )
    run(1)
    first = evaluator.point.sd.copy()
    count = max(1, int(BATCH / max(least(lambda: run(20), 20, 3), 1e-8)))
    return least(lambda: run(count), count, repetitions), first


def rigid_case(n, repetitions):
    """One row: times of flexmbs, Pinocchio and MuJoCo, differences of accelerations."""
    parts = links(n)
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)
    ours, sd = our_time(compile_model(our_chain(parts), "joint"), q, v, repetitions)
    model, empty = pinocchio_chain(parts), pin.Model()
    data, no_data, tau, none = model.createData(), empty.createData(), np.zeros(n), np.zeros(0)
    peer = np.array(pin.aba(model, data, q, v, tau))
    count = max(200, int(BATCH / (1e-6 + 3e-7 * n)))

    def calls(a, b, *state):
        for _ in range(count):
            pin.aba(a, b, *state)

    called = least(lambda: calls(model, data, q, v, tau), count, repetitions)
    overhead = least(lambda: calls(empty, no_data, none, none, none), count, repetitions)
    scene = mujoco_chain(parts)
    state = mujoco.MjData(scene)
    state.qpos[:], state.qvel[:] = q, v
    mujoco.mj_forward(scene, state)
    third = state.qacc.copy()
    steps = max(50, int(BATCH / (2e-6 * n)))
    stepped = least(lambda: mujoco.mj_step(scene, state, steps), steps, repetitions)
    largest = np.abs(peer).max()
    return {
        "n": n,
        "ours": ours,
        "pinocchio": called - overhead,
        "pinocchio_call_overhead": overhead,
        "mujoco_step": stepped,
        "over_pinocchio": ours / (called - overhead),
        "over_mujoco": ours / stepped,
        "difference_pinocchio": float(np.abs(sd - peer).max() / largest),
        "difference_mujoco": float(np.abs(sd - third).max() / largest),
    }


def flexible_case(repetitions, n=6, modes=16):
    """Six flexible links with 16 modes each."""
    model, data = fm.Model("arm", gravity=GRAVITY), beam(modes)
    end = model.ground
    for i in range(n):
        link = model.add(fm.FlexibleBody(f"link {i}", data=data))
        model.add(fm.Revolute(f"joint {i}", end, link, axis="zy"[i % 2]))
        end = link["tip"]
    compiled = compile_model(model, "joint")
    rng = np.random.default_rng(5)
    q, s = (
        1e-3 * rng.standard_normal(int(compiled.system.layout[1])),
        0.1 * rng.standard_normal(int(compiled.system.layout[2])),
    )
    return our_time(compiled, q, s, repetitions)[0]


def four_bars(cells):
    """N-four-bar: cranks of 1 m on the ground, couplers between their tips, all uniform rods."""
    model = fm.Model(
        "four-bars",
        gravity=(0.0, -9.81, 0.0),
        frames={f"pivot {i}": (float(i), 0.0, 0.0) for i in range(cells + 1)},
    )
    rod = {
        "mass": 1.0,
        "inertia": (1e-5, 1 / 12, 1 / 12),
        "com": (0.5, 0.0, 0.0),
        "frames": {"end": (1.0, 0.0, 0.0)},
    }
    cranks = []
    for i in range(cells + 1):
        cranks.append(model.add(fm.RigidBody(f"crank {i}", **rod)))
        model.add(
            fm.Revolute(
                f"foot {i}", model.ground[f"pivot {i}"], cranks[i], axis="z", q0=1.0, v0=1.0
            )
        )
    for i in range(cells):
        coupler = model.add(fm.RigidBody(f"coupler {i}", **rod))
        model.add(fm.Revolute(f"left {i}", cranks[i]["end"], coupler, axis="z", q0=-1.0, v0=-1.0))
        model.add(
            fm.Revolute(
                f"right {i}", coupler["end"], cranks[i + 1]["end"], axis="z", q0=1.0, v0=1.0
            )
        )
    return model


def loop_case(cells, repetitions):
    """Seconds of one evaluation of a chain of loops."""
    compiled, start = consistent_state(four_bars(cells))
    return our_time(compiled, start.q, start.s, repetitions, start.beta)[0]


def verdicts(found):
    """(text, value, limit) of every limit."""
    rows = {row["n"]: row for row in found["rigid"]}
    for n, row in rows.items():
        yield (
            f"forward dynamics, n = {n}, over Pinocchio's ABA",
            row["over_pinocchio"],
            LIMITS["pinocchio"],
        )
        if n <= 30:
            yield (
                f"forward dynamics, n = {n}, over a MuJoCo step",
                row["over_mujoco"],
                LIMITS["mujoco"],
            )
    yield "t(200) / t(30)", rows[200]["ours"] / rows[30]["ours"], LIMITS["growth"]
    yield (
        "6 links × 16 modes over Pinocchio's rigid ABA at n = 30",
        found["flexible"] / rows[30]["pinocchio"],
        LIMITS["flexible"],
    )
    yield "6 links × 16 modes (µs)", 1e6 * found["flexible"], LIMITS["microseconds"]
    each = {int(cells): seconds / int(cells) for cells, seconds in found["loops"].items()}
    yield (
        "loops: time per cell, 40 cells against 10, |ratio − 1|",
        abs(each[40] / each[10] - 1.0),
        LIMITS["loops"],
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=7)
    repetitions = parser.parse_args().repetitions
    found = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "repetitions": repetitions,
        "versions": {
            "pinocchio": pin.__version__,
            "mujoco": mujoco.__version__,
            "numpy": np.__version__,
        },
        "rigid": [rigid_case(n, repetitions) for n in SIZES],
        "flexible": flexible_case(repetitions),
        "loops": {str(cells): loop_case(cells, repetitions) for cells in CELLS},
    }
    for row in found["rigid"]:
        print({key: float(f"{value:.4g}") for key, value in row.items()})
    print("flexible", found["flexible"], "loops", found["loops"])
    for text, value, limit in verdicts(found):
        print(f"{'PASS' if value <= limit else 'FAIL'}  {text}: {value:.3g} (limit {limit})")
    (HERE / "recursion.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
