"""Speed of the multibody core: steps against Exudyn, long chains, user forces, start and
compilation.

    python reports/speed/multibody.py          writes multibody.json and prints the table

The chains are flexible steel beams (1 m × 40 mm × 40 mm, 24 × 2 × 2 hexahedra of 27 nodes) in
series, revolute joints about z, that fall from the horizontal for one second. Both programs use the
same mode shapes and alternate in one thread of the same process: generalized-α with the same
spectral radius and step, modified Newton. The minimum CPU time of the repetitions is reported,
without assembly, initial conditions and compilation. Exudyn uses its faster variants: the joint is
attached to the node of the floating frame if possible, the other marker uses the four corner nodes
of the (rigid) face, the faster of its dense and sparse solvers is used.
"""

import argparse
import functools
import json
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
if "--fast-build" in sys.argv:
    # Exudyn's build with AVX2 and without range checks; to be set before its import
    sys.exudynFast = True

import exudyn  # noqa: E402
import exudyn.itemInterface as items  # noqa: E402
import numba  # noqa: E402
import numpy as np  # noqa: E402
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface  # noqa: E402

import flexmbs as fm  # noqa: E402
import preprocess as pp  # noqa: E402
from flexmbs._jit import call_address  # noqa: E402
from flexmbs.flexible_body.components import FlexibleFrame  # noqa: E402
from flexmbs.flexible_body.record import FlexibleBodyData  # noqa: E402
from flexmbs.integrators import INTEGRATORS  # noqa: E402
from flexmbs.studies.run.warmup import pairs  # noqa: E402

SIZES = [(n, modes) for n in (2, 6, 10) for modes in (4, 16)]
STEP, RHO, GRAVITY = 1e-3, 0.8, (0.0, -9.81, 0.0)
# Exudyn's relative tolerances of the residual: its default; with the accuracy of flexmbs at the tip
DEFAULT, RELAXED = 1e-8, 1e-5
OURS = {
    "absolute": {"formalism": "multiplier", "coordinates": "absolute"},
    "joint": {"formalism": "multiplier", "coordinates": "joint"},
    "recursive": {"formalism": "recursive"},
    "unasked": {},  # the default of simulate
}  # fmt: skip
# limits of the fastest formalism of flexmbs, in the order of the sizes
FASTEST = [0.09, 0.07, 0.055, 0.045, 0.05, 0.045]
LIMITS = {
    "step": 0.12,
    "unasked": 1.1,
    "tip": 1e-4,
    "chain": 12.0,
    "jitted": 50e-9,
    "python": 2e-6,
    "start": 0.9,
    "compilation": 40.0,
    "pair": 6.0,
}


def beam(E=2.1e11):
    """Finite-element model of the beam and its reduction to 16 modes."""
    mesh = pp.box_mesh((1.0, 0.04, 0.04), (24, 2, 2), "hex27", origin=(0.0, -0.02, -0.02))
    fe = pp.assemble(mesh, pp.Isotropic(E=E, nu=0.3, rho=7850.0))
    faces = {"base": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    return fe, pp.reduce(
        fe, interfaces=faces, method=pp.CraigBampton(modes=10), reference="base", name="beam"
    )


def truncated(body, modes):
    """The body with its lowest modes only."""
    m = slice(modes)
    frames = {
        key: FlexibleFrame(f.x, f.R, f.phi[:, m], f.psi[:, m], f.kind)
        for key, f in body.frames.items()
    }
    return FlexibleBodyData.from_integrals(
        body.name,
        mass=body.mass,
        first_moment=body.first_moment,
        second_moment=body.second_moment,
        S_bar=body.S_bar[:, m],
        xS=body.xS[:, :, m],
        SS=body.SS[:, :, m, m],
        K_ff=body.K_ff[m, m],
        frames=frames,
    )


def chain(body, n, gravity=GRAVITY, rates=None):
    """Model of n beams in series; ``rates``: initial angular velocities of the beams, rad/s."""
    model = fm.Model("chain", gravity=gravity)
    speeds = np.diff(np.zeros(n) if rates is None else rates, prepend=0.0)
    end = model.ground
    for k in range(n):
        link = model.add(fm.FlexibleBody(f"beam {k}", data=body))
        model.add(fm.Revolute(f"joint {k}", end, link["base"], axis="z", v0=float(speeds[k])))
        end = link["tip"]
    return model


def clocked(model, t_end, **options):
    """CPU seconds of the time loop and the solution."""
    clock = []
    options = {"output_step": t_end / 10, **options}
    solution = fm.simulate(
        model,
        t_end=t_end,
        progress=lambda done, text: (
            text.startswith("audit") or clock.append((done, time.process_time()))
        ),
        **options,
    )
    return clock[-1][1] - max(seconds for done, seconds in clock if done == 0.0), solution


def our_run(body, n, way, steps=1000, step=STEP, tolerance=None, **motion):
    """CPU seconds per step, tip at the end, Newton iterations per step."""
    exact = {} if tolerance is None else {"newton_tolerance": tolerance}
    method = fm.GeneralizedAlpha(rho_inf=RHO, step=step, **exact)
    seconds, solution = clocked(
        chain(body, n, **motion), steps * step, integrator=method, **OURS[way]
    )
    tip = solution.frame(f"beam {n - 1}/tip").position[-1]
    return seconds / steps, tip, solution.statistics["iterations"] / steps


def peer_beams(fe, body, modes):
    """Exudyn's reduced body."""
    fem = FEMinterface()
    fem.nodes = {"Position": fe.nodes}
    fem.stiffnessMatrix, fem.massMatrix = fe.K.tocsr(), fe.M
    fem.modeBasis = {
        "matrix": np.ascontiguousarray(body.surface.phi[:, :, :modes]).reshape(-1, modes),
        "type": "HCBmodes",
    }
    return ObjectFFRFreducedOrderInterface(fem)


def peer_chain(fe, body, n, modes, gravity=GRAVITY, rates=None, force=0):
    """Exudyn's system of n beams in series and the sensor of its tip; ``force``: user-defined
    generalized force on every beam.
    """
    system, beams = exudyn.SystemContainer().AddSystem(), peer_beams(fe, body, modes)
    rates = np.zeros(n) if rates is None else np.asarray(rates)
    corners = [int(k) for k in fe.node_sets["x1"] if np.allclose(np.abs(fe.nodes[k, 1:]), 0.02)]
    end = system.AddMarker(items.MarkerBodyRigid(bodyNumber=system.AddObject(items.ObjectGround())))
    for k in range(n):
        link = beams.AddObjectFFRFreducedOrderWithUserFunctions(
            exudyn,
            system,
            positionRef=[float(k), 0.0, 0.0],
            gravity=list(gravity),
            UFforce=force,
            initialVelocity=[0.0, rates[:k].sum(), 0.0],
            initialAngularVelocity=[0.0, 0.0, rates[k]],
        )
        base = system.AddMarker(items.MarkerNodeRigid(nodeNumber=link["nRigidBody"]))
        system.AddObject(items.ObjectJointRevoluteZ(markerNumbers=[end, base]))
        end = system.AddMarker(
            items.MarkerSuperElementRigid(
                bodyNumber=link["oFFRFreducedOrder"],
                meshNodeNumbers=corners,
                weightingFactors=[0.25] * 4,
            )
        )
    tip = items.SensorMarker(
        markerNumber=end,
        outputVariableType=exudyn.OutputVariableType.Position,
        storeInternal=True,
        writeToFile=False,
    )
    sensor = system.AddSensor(tip)
    system.Assemble()
    return system, sensor


def peer_run(fe, body, n, modes, solver, tolerance, steps=1000, step=STEP, **motion):
    """CPU seconds per step, tip at the end, Newton iterations per step."""
    system, sensor = peer_chain(fe, body, n, modes, **motion)
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, steps * step
    settings.timeIntegration.generalizedAlpha.spectralRadius = RHO
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = tolerance
    settings.linearSolver.solverType = solver
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = steps * step
    run = exudyn.MainSolverImplicitSecondOrder()
    if not run.InitializeSolver(system, settings):
        raise SystemExit("Exudyn: the solver does not start")
    start = time.process_time()
    solved = run.SolveSteps(system, settings)
    seconds = time.process_time() - start
    run.FinalizeSolver(system, settings)
    if not solved:
        raise SystemExit(f"Exudyn: no solution for {n} bodies, {modes} modes")
    return (
        seconds / steps,
        np.array(system.GetSensorValues(sensor)),
        run.it.newtonStepsCount / steps,
    )


def fastest_solver(fe, body, n, modes):
    """The faster of Exudyn's linear solvers in 100 steps."""
    solvers = exudyn.LinearSolverType.EXUdense, exudyn.LinearSolverType.EigenSparse
    return min(
        solvers,
        key=lambda s: min(peer_run(fe, body, n, modes, s, DEFAULT, steps=100)[0] for _ in range(2)),
    )


def distance(a, b):
    return float(np.abs(a - b).max())


def step_case(fe, body, n, modes, repetitions):
    """Times and tips of one chain."""
    data, solver = truncated(body, modes), fastest_solver(fe, body, n, modes)
    runs = {
        **{way: functools.partial(our_run, data, n, way) for way in OURS},
        "Exudyn": lambda **o: peer_run(fe, body, n, modes, solver, **{"tolerance": DEFAULT, **o}),
        "Exudyn relaxed": lambda **o: peer_run(
            fe, body, n, modes, solver, **{"tolerance": RELAXED, **o}
        ),
    }
    for key in OURS:
        runs[key](steps=10)  # compiles, or loads cached kernels
    rounds = [{key: run() for key, run in runs.items()} for _ in range(repetitions)]
    row = {"bodies": n, "modes": modes, "solver of Exudyn": str(solver).rpartition(".")[2]}
    for key in runs:
        row[f"{key} [s]"] = min(r[key][0] for r in rounds)
        row[f"{key}, iterations"] = rounds[0][key][2]
    for key in OURS:
        row[f"{key} / Exudyn"] = row[f"{key} [s]"] / row["Exudyn [s]"]
        row[f"{key} / Exudyn relaxed"] = row[f"{key} [s]"] / row["Exudyn relaxed [s]"]
        row[f"{key}, tip from Exudyn [m]"] = distance(rounds[0][key][1], rounds[0]["Exudyn"][1])
    return row | (
        {}
        if "--fast-build" in sys.argv
        else exactness(runs, {key: tip for key, (_, tip, _) in rounds[0].items()})
    )


def exactness(runs, tips):
    """Errors of the tips by the residual of Newton's method, and distances of the tips with a
    smaller step.
    """
    fine = {
        key: runs[key](steps=4000, step=STEP / 4, tolerance=1e-11)[1]
        for key in ("absolute", "joint", "Exudyn")
    }
    errors = {
        f"{key}, Newton error [m]": distance(tips[key], run(tolerance=1e-11)[1])
        for key, run in runs.items()
    }
    # the recursive formalism solves the same equations in joint coordinates
    ours = ("absolute", "joint")
    return errors | {
        f"{key}, tip from Exudyn, step / 4 [m]": distance(fine[key], fine["Exudyn"]) for key in ours
    }


def steps(repetitions):
    """All chains of `SIZES`, in this process."""
    fe, body = beam()
    return [step_case(fe, body, n, modes, repetitions) for n, modes in SIZES]


def scaling(repetitions):
    """Step of 100 beams relative to 10, alternating."""
    _, body = beam()
    table = []
    for modes in (4, 16):
        data = truncated(body, modes)
        # joint coordinates with multipliers have one dense matrix: cubic
        for coordinates in ("absolute", "recursive"):
            our_run(data, 10, coordinates, steps=10)
            rounds = [
                [our_run(data, n, coordinates, steps=200) for n in (10, 100)]
                for _ in range(repetitions)
            ]
            short, long = (min(r[k][0] for r in rounds) for k in (0, 1))
            times = {"10 bodies [s]": short, "100 bodies [s]": long, "ratio": long / short}
            table.append({"modes": modes, "coordinates": coordinates, **times})
    return table


def python_wrench(t, r, A, v, w):
    return (0.0, 0.001, 0.0, 0.0, 0.0, 0.0)


def python_law(t, x, v):
    return 0.001


def on_frame(end, hinge, function):
    return fm.UserForce("force", end, function)


def in_joint(end, hinge, function):
    return fm.JointTorque("force", hinge, fm.Function(function))


def address_of(make, function):
    """Address at which the time loop calls the user's
    function, and the model that keeps it alive.
    """
    model = fm.Model("rod", gravity=GRAVITY)
    rod = model.add(
        fm.RigidBody(
            "rod", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0), frames={"end": (1.0, 0, 0)}
        )
    )
    model.add(fm.Revolute("hinge", model.ground, rod, axis="z"))
    model.add(make(rod["end"], "hinge", function))
    compiled = fm.simulate(model, t_end=STEP, step=STEP).compiled
    return int(compiled.system.laws.address.max()), compiled


@numba.njit
def call_often(address, count, x, out):
    """Calls as in the time loop; the sum prevents the compiler from removing them."""
    total = 0.0
    for k in range(count):
        x[0] = 1e-3 * k
        call_address(address, x, out)
        total += out[0] + out[1]
    return total


def call_time(make, function, count):
    """Seconds a call."""
    address, _alive = address_of(make, function)
    x, out = np.zeros(24), np.zeros(24)
    call_often(address, 1, x, out)
    start = time.process_time()
    call_often(address, count, x, out)
    return (time.process_time() - start) / count


def call_case(make, function, arguments, repetitions):
    """Seconds per call of a user function from the compiled loop, jitted and as plain Python minus
    its body.
    """
    compiled = numba.njit(function)
    rounds = [
        [
            call_time(make, compiled, 10_000_000),
            call_time(make, function, 100_000),
            body_time(function, arguments),
        ]
        for _ in range(repetitions)
    ]
    jitted, python, body = np.min(rounds, axis=0)
    return {"jitted [s]": jitted, "python over body [s]": python - body, "body [s]": body}


def body_time(function, arguments, count=100_000):
    """Seconds of a plain call of a Python function."""
    start = time.process_time()
    for _ in range(count):
        function(*arguments)
    return (time.process_time() - start) / count


def calls(repetitions):
    """User forces on a frame and in a joint."""
    three = np.zeros(3)
    return {
        "frame force": call_case(
            on_frame, python_wrench, (0.0, three, np.zeros(9), three, three), repetitions
        ),
        "joint torque": call_case(in_joint, python_law, (0.0, 0.0, 0.0), repetitions),
    }


FURTHER = "further pair [s]"
FURTHER_CPU = "further pair, CPU [s]"
FIRST_STEP = """
import sys
import flexmbs as fm
model = fm.Model("two beams", gravity=(0.0, -9.81, 0.0))
end = model.ground
for k in range(2):
    link = model.add(fm.FlexibleBody(f"beam {k}", sys.argv[1]))
    model.add(fm.Revolute(f"joint {k}", end, link["base"], axis="z"))
    end = link["tip"]
if len(sys.argv) > 2:
    step = None if sys.argv[4] == "accelerations" else 1e-3
    solution = fm.simulate(model, t_end=1e-3, output_step=1e-3, step=step, formalism=sys.argv[2], integrator=sys.argv[3])
else:
    solution = fm.simulate(model, t_end=1e-3, step=1e-3)
solution.frame("beam 1/tip").position, solution.joint("joint 0").force, solution.energy.total
"""


def child(command, environment=None):
    """Wall and CPU seconds of a program."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[:5])}: {done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def start(repetitions):
    """Cold compilation of the demo's path, start of a new process with all kernels cached, and the
    additional time of each other pair."""
    with tempfile.TemporaryDirectory() as folder:
        file, cache = str(pathlib.Path(folder) / "beam.h5"), pathlib.Path(folder) / "cache"
        beam()[1].save(file)
        command = [sys.executable, "-c", FIRST_STEP, file]
        environment = {"NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": ""}  # as for users
        cold = child(command, environment)
        warm = [child(command, environment) for _ in range(repetitions)]
        wall, cpu = (min(w[k] for w in warm) for k in (0, 1))
        further, further_cpu = {}, {}
        for pair in pairs():
            copied = pathlib.Path(folder) / "copied"
            shutil.copytree(cache, copied)
            given = [*command, *pair, INTEGRATORS[pair[1]].needs]
            name, taken = (
                " with ".join(pair),
                child(given, environment | {"NUMBA_CACHE_DIR": str(copied)}),
            )
            further[name], further_cpu[name] = taken[0] - wall, taken[1] - cpu
            shutil.rmtree(copied)
    return {
        "cold [s]": cold[0],
        "cold, CPU [s]": cold[1],
        "compilation, CPU [s]": cold[1] - cpu,
        "second start [s]": wall,
        "second start, CPU [s]": cpu,
        FURTHER: further,
        FURTHER_CPU: further_cpu,
    }


PARTS = {"steps": steps, "scaling": scaling, "calls": calls, "start": start}


def in_child(part, repetitions, *flags):
    """One part in a new process."""
    command = [sys.executable, __file__, "--part", part, "--repetitions", str(repetitions), *flags]
    return json.loads(child(command)[2].splitlines()[-1])


def verdicts(found):
    """(what, found, limit) of every requirement."""
    rows = []
    for row, limit in zip(found["steps"], FASTEST):
        what, best = (
            f"{row['bodies']} bodies, {row['modes']} modes",
            min(row[f"{way} [s]"] for way in OURS),
        )
        rows += [(f"step / Exudyn, {what}, absolute", row["absolute / Exudyn"], LIMITS["step"])]
        rows += [(f"step / Exudyn, {what}, fastest formalism", best / row["Exudyn [s]"], limit)]
        rows += [(f"default step / fastest, {what}", row["unasked [s]"] / best, LIMITS["unasked"])]
    rows += [
        (
            "largest distance of the tips [m]",
            max(r["absolute, tip from Exudyn [m]"] for r in found["steps"]),
            LIMITS["tip"],
        )
    ]
    rows += [
        (f"100 bodies / 10, {r['modes']} modes, {r['coordinates']}", r["ratio"], LIMITS["chain"])
        for r in found["scaling"]
    ]
    for kind, row in found["calls"].items():
        rows += [(f"jitted {kind} [s]", row["jitted [s]"], LIMITS["jitted"])]
        rows += [
            (f"Python {kind} over its body [s]", row["python over body [s]"], LIMITS["python"])
        ]
    rows += [("second start, CPU [s]", found["start"]["second start, CPU [s]"], LIMITS["start"])]
    rows += [
        ("cold compilation, CPU [s]", found["start"]["compilation, CPU [s]"], LIMITS["compilation"])
    ]
    rows += [
        (f"compilation of {pair} [s]", seconds, LIMITS["pair"])
        for pair, seconds in found["start"][FURTHER].items()
    ]
    return rows


RUNS = *OURS, "Exudyn", "Exudyn relaxed"
TIPS = "absolute, tip from Exudyn [m]", "absolute, tip from Exudyn, step / 4 [m]"


def show(rows):
    """Table of the chains."""
    print(
        "bodies modes | µs per step: flexmbs absolute, joint, recursive, default; Exudyn, "
        "relaxed | ratios of flexmbs (to relaxed)"
    )
    print(
        "             | distance of tips absolute, with step / 4 (m) | Newton error of "
        "the tip (m), in the order of the times"
    )
    for r in rows:
        times = " ".join(f"{1e6 * r[f'{key} [s]']:7.1f}" for key in RUNS)
        ratios = " ".join(
            f"{r[f'{key} / Exudyn']:.3f} ({r[f'{key} / Exudyn relaxed']:.3f})" for key in OURS
        )
        tips = " ".join(f"{r.get(key, np.nan):.1e}" for key in TIPS)
        errors = " ".join(f"{r.get(f'{key}, Newton error [m]', np.nan):.0e}" for key in RUNS)
        print(f"{r['bodies']:6d} {r['modes']:5d} | {times} | {ratios} | {tips} | {errors}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--part", choices=PARTS, help="one part only, printed as JSON")
    parser.add_argument(
        "--fast-build", action="store_true", help="with --part steps: Exudyn without range checks"
    )
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part](options.repetitions)))
        return 0
    found = {"machine": platform.machine(), "python": platform.python_version()}
    found |= {"exudyn": exudyn.__version__, "numba": numba.__version__}
    path = pathlib.Path(__file__).with_suffix(".json")
    for key, part, *flags in (
        *((part, part) for part in PARTS),
        ("steps, fast build of Exudyn", "steps", "--fast-build"),
    ):
        found[key] = in_child(part, options.repetitions, *flags)
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(key)
        if part == "steps":
            show(found[key])
        sys.stdout.flush()
    failed = 0
    for what, value, limit in verdicts(found):
        failed += value > limit
        print(f"{'PASS' if value <= limit else 'FAIL'}  {what}: {value:.3g} (at most {limit:.3g})")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
