"""Sound files of every kind that the program reads, and what a user does with each: read it, check
it, run two steps, look at its page."""

import contextlib
import dataclasses
import functools
import itertools
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest import mock

import numpy as np
import scipy.io
import scipy.sparse as sp

import flexmbs as fm
import preprocess as pp
from flexmbs.command.watch import ProgressPage
from flexmbs.errors import FlexmbsError, InputError
from flexmbs.flexible_body.divided import DividedBodyData, load_body
from flexmbs.results.solution import SolutionData
from flexmbs.studies.fitting.measurements import read_measured
from flexmbs.studies.run import run_folder
from flexmbs.studies.sweeps.study_file import read_study
from preprocess.cad.mesh_cad import read_faces
from preprocess.cad.netgen import SeveralSolids
from preprocess.command.inspect import body_facts, described, described_pieces
from preprocess.fe.fe_model import FEModel
from preprocess.formats import importers
from preprocess.report.page import page as body_page
from preprocess.report.region_pages import assembly_page, cad_page

TESTS = Path(__file__).parents[2] / "tests"
MESHES = TESTS.parent / "meshes"
sys.path += [
    str(TESTS / folder)
    for folder in (
        "",
        "bad_inputs",
        "contract",
        "model",
        "preprocess",
        "preprocess/formats",
        "preprocess/mesh_files",
        "robots",
        "sweeps",
    )
]
import swinging  # noqa: E402
from any_models import any_model  # noqa: E402
from declared import with_every_kind  # noqa: E402
from part_files import bar  # noqa: E402
from random_mjcf import RandomMjcf  # noqa: E402
from random_sdf import RandomSdf  # noqa: E402
from test_formats_fuzzed import CASES  # noqa: E402
from test_mesh_fuzz import FORMATS, STRUCTURAL  # noqa: E402
from test_number_limits import MJCF, PART_TEXTS, SDF, STL, URDF  # noqa: E402
from test_study_file import STUDY  # noqa: E402
from test_surface_files import KINDS as SURFACES  # noqa: E402
from test_surface_files import surface  # noqa: E402

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
T_END, STEP = 2e-3, 1e-3  # s: two steps
CAD_SECONDS = 60.0  # s by the clock, of the process of Netgen: later it counts as a hang
MOST_NODES = 2000  # of meshes that are assembled


class Original(NamedTuple):
    """A sound file. write: puts it with its companions into a folder, the sample of a number, and
    returns its name; use: what a user does with it, with the folder and the name; samples: their
    number; form: "bytes", or "hdf5", "frames" and "npz" for changes of the content behind
    correct checksums; share: weight among the kinds.
    """

    write: Callable[[Path, int], str]
    use: Callable[[Path, str], None]
    samples: int = 1
    form: str = "bytes"
    share: float = 1.0


class NotFinite(Exception):
    """A result with numbers that are not finite, without a message."""


def _require_finite(solution: SolutionData) -> None:
    for name, values in solution.trajectory._asdict().items():
        if not np.isfinite(values).all():
            raise NotFinite(name)


def _run(model: fm.Model) -> None:
    """Check and two steps."""
    report = model.check()
    if not report.errors:
        _require_finite(fm.simulate(model, t_end=T_END, step=STEP, output_step=STEP, audit="none"))


# Models, studies, parts


def _with_files(model: fm.Model, folder: Path) -> None:
    """Flexible bodies in memory become files."""
    for number, (name, body) in enumerate(model.bodies.items()):
        data = getattr(body, "data", None)
        if data is not None:
            data.save(folder / f"{number}.h5")
            model.bodies[name] = dataclasses.replace(body, data=None, file=f"{number}.h5")


def _has_file(model: fm.Model) -> bool:
    """Without functions."""
    try:
        model.to_toml()
    except InputError as error:
        return all(problem.startswith("bodies.") for problem in error.problems)
    return True


def write_model(folder: Path, number: int) -> str:
    """Random models that have a file."""
    rng = np.random.default_rng(number)
    while True:
        try:
            model = any_model(int(rng.integers(10**6)), fits=_has_file).model
            _with_files(model, folder)
            model.save(folder / "model.toml")
            use_model(folder, "model.toml")
            return "model.toml"
        except (FlexmbsError, ValueError, NotFinite):
            continue  # not regular, or refused


def use_model(folder: Path, name: str) -> None:
    """Load, check, two steps."""
    _run(fm.load(folder / name))


def use_model_page(folder: Path, name: str) -> None:
    """Load, page of the model at its start."""
    fm.load(folder / name).show(browser=False)


def write_every_kind(folder: Path, number: int) -> str:
    """A model with every kind of item, with functions."""
    with_every_kind(folder).save(folder / "model.toml")
    return "model.toml"


def use_every_kind(folder: Path, name: str) -> None:
    """Load with its functions, check."""
    fm.load(folder / name, allow_code=True).check()


DESIGNS = (
    "",
    *(f'[design]\nkind = "{kind}"\ncount = 8\n' for kind in ("sobol", "latin-hypercube")),
)
SPREADS = ("[1.0, 2.0]", "{ mean = 1.0, std = 0.1 }", "{ median = 1.0, factor = 1.5 }")


def write_study(folder: Path, number: int) -> str:
    """The study of the tests with designs and spreads."""
    swinging.pendulum().save(folder / "pendulum.toml")
    text = STUDY.replace("[outputs]", f"{DESIGNS[number % 3]}[outputs]")
    if number % 3 and number // 3:
        text = text.replace(SPREADS[0], SPREADS[number // 3]).replace(", count = 3", "")
    (folder / "study.toml").write_text(text)
    return "study.toml"


def use_study(folder: Path, name: str) -> None:
    """Read."""
    read_study(folder / name)


def write_part(folder: Path, number: int) -> str:
    """Parts of the tests, with their mesh; proved up to a frequency with more modes."""
    text = PART_TEXTS[number]
    return bar(folder, text.replace("modes = 2", "modes = 12") if "band" in text else text).name


def use_part(folder: Path, name: str) -> None:
    """Read, reduce, check."""
    pp.read_part(folder / name).reduce().validate()


def write_arrays(folder: Path, number: int) -> str:
    """A part with its shapes in a file of numbers."""
    name = f"shapes.{('npy', 'csv', 'txt')[number]}"
    text = PART_TEXTS[0].replace("modes = 2", f'kind = "given-shapes"\nshapes = "{name}"')
    bar(folder, text)
    nodes = pp.read_mesh(folder / "bar.vtu", unit="m").nodes
    bend = np.zeros((len(nodes), 3, 2))
    bend[:, 2, 0], bend[:, 1, 1] = nodes[:, 0] ** 2, nodes[:, 0] ** 3
    shapes = bend.reshape(-1, 2)
    if number == 0:
        np.save(folder / name, shapes)
    else:
        np.savetxt(folder / name, shapes, delimiter=(",", " ")[number - 1])
    return name


def use_arrays(folder: Path, name: str) -> None:
    """Read the part, reduce."""
    pp.read_part(folder / "bar.toml").reduce().validate()


# Meshes and matrices of other programs


def write_mesh(kind: str, folder: Path, number: int) -> str:
    """A deck of the tests."""
    suffix, write = FORMATS[kind]
    write(folder / f"part{suffix}")
    return f"part{suffix}"


def use_mesh(kind: str, folder: Path, name: str) -> None:
    """Read, assemble."""
    options = STRUCTURAL if kind.endswith("shells") else {}
    mesh = pp.read_mesh(folder / name, unit="m", **options)
    if len(mesh.nodes) < MOST_NODES and kind != "abaqus shells":  # whose deck has no sections
        pp.assemble(mesh, STEEL)


NODES = "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n4, 0., 0., 1.\n"
GRIDS = "".join(
    f"GRID,{k},,{x}\n" for k, x in enumerate(("0.,0.,0.", "1.,0.,0.", "0.,1.,0.", "0.,0.,1."), 1)
)
INCLUDES = (
    (
        "m.inp",
        "*INCLUDE, INPUT=n.inp\n*ELEMENT, TYPE=C3D4, ELSET=all\n1, 1, 2, 3, 4\n",
        "n.inp",
        NODES,
    ),
    ("m.bdf", "BEGIN BULK\nINCLUDE 'n.bdf'\nCTETRA,1,1,1,2,3,4\nENDDATA\n", "n.bdf", GRIDS),
)  # fmt: skip


def write_include(folder: Path, number: int) -> str:
    """A deck and one that it includes: the one or the other is damaged."""
    name, text, other, included = INCLUDES[number // 2]
    (folder / name).write_text(text)
    (folder / other).write_text(included)
    return (name, other)[number % 2]


def use_include(folder: Path, name: str) -> None:
    """Read the whole deck."""
    use_mesh("include", folder, "m" + Path(name).suffix)


def write_format(case: str, folder: Path, number: int) -> str:
    """Files of other programs of the tests."""
    make, damaged, _, _ = CASES[case]
    make(folder)
    return damaged


def use_format(case: str, folder: Path, name: str) -> None:
    """Import; checks of a body, or a page."""
    _, _, read, options = CASES[case]
    part, report = importers.read(
        folder / read, **{key: folder / file for key, file in options.items()}
    )
    str(report)
    if not isinstance(part, FEModel):
        described(part)
        body_facts(part)


MATRICES = ("K.mtx", "K.npz", "K.npy", "M.npz", "nodes.npy", "nodes.csv", "nodes.txt")


def write_matrices(folder: Path, number: int) -> str:
    """Stiffness, mass and nodes in all formats."""
    fe = pp.assemble(pp.box_mesh((0.1, 0.04, 0.03), (1, 1, 1), "tet4"), STEEL)
    scipy.io.mmwrite(folder / "K.mtx", fe.K, symmetry="symmetric")
    sp.save_npz(folder / "K.npz", fe.K, compressed=number % 2 == 0)
    np.save(folder / "K.npy", fe.K.toarray())
    sp.save_npz(folder / "M.npz", fe.M)
    np.save(folder / "nodes.npy", fe.nodes)
    np.savetxt(folder / "nodes.csv", fe.nodes, delimiter=",")
    np.savetxt(folder / "nodes.txt", fe.nodes)
    return MATRICES[number % len(MATRICES)]


def use_matrices(folder: Path, name: str) -> None:
    """Read with sound companions."""
    files = {"K": "K.npz", "M": "M.npz", "nodes": "nodes.npy"} | {name.split(".")[0]: name}
    pp.read_matrices(**{key: folder / file for key, file in files.items()})


def write_measured(folder: Path, number: int) -> str:
    """A table of measurements."""
    t = np.linspace(0.0, 1.0, 8)
    rows = "\n".join(f"{a},{np.sin(a)},{np.cos(a) if k % 2 else ''}" for k, a in enumerate(t))
    (folder / "m.csv").write_text(
        f"t [ms],joint hinge.0 effort [N m],joint hinge.0 position [deg]\n{rows}\n"
    )
    return "m.csv"


def use_measured(folder: Path, name: str) -> None:
    """Read, spectra."""
    for signal in read_measured(folder / name):
        signal.fft()


# CAD files

CAD_FILES = {"STEP": ("bracket.step", "robot_link.step", "sheet.step"), "IGES": ("pin.igs",)}


def write_cad(kind: str, folder: Path, number: int) -> str:
    """A part of meshes/, for BREP files as Netgen writes it."""
    if kind == "BREP":
        from netgen.occ import Box, Cylinder, Pnt, Z

        plate = Box(Pnt(0, 0, 0), Pnt(40, 20, 8)) - Cylinder(Pnt(10, 10, -1), Z, r=4, h=20)
        plate.WriteBrep(str(folder / "part.brep"))
        return "part.brep"
    name = CAD_FILES[kind][number]
    shutil.copy(MESHES / name, folder)
    return name


def write_assembly(folder: Path, number: int) -> str:
    """The engine of meshes/."""
    shutil.copy(MESHES / "engine.step", folder)
    return "engine.step"


def use_cad(folder: Path, name: str) -> None:
    """Page with the faces, mesh; page with the bodies if there are several."""
    with mock.patch("preprocess.cad.netgen.LONGEST_RUN", CAD_SECONDS):
        try:
            faces, nodes = read_faces(folder / name)
        except SeveralSolids:
            use_assembly(folder, name)
            return
        cad_page(name, faces, nodes)
        pp.mesh_cad(folder / name, size=0.2 * float(np.ptp(nodes, axis=0).max())).quality()


def use_assembly(folder: Path, name: str) -> None:
    """Read, accept all joints, check, two steps, page."""
    with mock.patch("preprocess.cad.netgen.LONGEST_RUN", CAD_SECONDS):
        machine = fm.from_step(folder / name, 7850.0)
    assembly_page(machine.source, list(machine.proposals.values()))
    str(machine)
    machine.accept(*machine.proposals)
    _run(machine.model())


# Robots and their surfaces


def _random_urdf(number: int) -> str:
    """A tree of links with inertia, shapes and joints of all types."""
    draw = Random(number)

    def numbers(count: int = 3, low: float = -0.5) -> str:
        return " ".join(f"{draw.uniform(low, 0.5):.6g}" for _ in range(count))

    shapes = ('<box size="0.1 0.2 0.3"/>', '<sphere radius="0.1"/>',
              '<mesh filename="t.stl" scale="1 2 1"/>', '<cylinder radius="0.1" length="0.4"/>')  # fmt: skip
    parts = []
    count = draw.randint(2, 7)
    for k in range(count):
        parts.append(
            f'<link name="l{k}"><inertial><origin xyz="{numbers()}" rpy="{numbers()}"/>'
            f'<mass value="{draw.uniform(0.1, 3):.4g}"/>'
            f'<inertia ixx="1" iyy="1.2" izz="0.9" ixy="0.1" ixz="0" iyz="0.05"/></inertial><visual>'
            f'<origin xyz="{numbers()}" rpy="{numbers()}"/>'
            f"<geometry>{draw.choice(shapes)}</geometry></visual></link>"
        )
    for k in range(1, count):
        kind = draw.choice(("revolute", "continuous", "prismatic", "fixed", "floating", "planar"))
        parts.append(
            f'<joint name="j{k}" type="{kind}"><parent link="l{draw.randrange(k)}"/><child link="l{k}"/>'
            f'<axis xyz="{numbers()}"/>'
            f'<origin xyz="{numbers()}" rpy="{numbers()}"/>'
            '<limit lower="-1" upper="1" effort="10" velocity="5"/>'
            f'<dynamics damping="{draw.random():.4g}" friction="{draw.random():.4g}"/></joint>'
        )
    return f'<robot name="r">{"".join(parts)}</robot>'


def write_urdf(folder: Path, number: int) -> str:
    """The KUKA iiwa, the robot of the tests, random ones."""
    (folder / "t.stl").write_text(STL)
    given = ((TESTS / "robots/data/iiwa.urdf").read_text(), URDF)
    (folder / "r.urdf").write_text(given[number] if number < 2 else _random_urdf(number))
    return "r.urdf"


def use_urdf(folder: Path, name: str) -> None:
    """Read, page, two steps."""
    robot = fm.Robot.from_urdf(folder / name)
    robot.show(browser=False)
    _run(robot.model)


def write_mjcf(folder: Path, number: int) -> str:
    """The file of the tests, random ones with and without loops."""
    (folder / "t.stl").write_text(STL)
    (folder / "m.xml").write_text(
        RandomMjcf(number, closed=number % 2 == 0).text if number else MJCF
    )
    return "m.xml"


def use_mjcf(folder: Path, name: str) -> None:
    """Read, page, two steps."""
    found = fm.from_mujoco(folder / name)
    found.show(browser=False)
    _run(found.model)


def write_sdf(folder: Path, number: int) -> str:
    """The file of the tests, random ones."""
    (folder / "t.stl").write_text(STL)
    (folder / "m.sdf").write_text(RandomSdf(number).text if number else SDF)
    return "m.sdf"


def use_sdf(folder: Path, name: str) -> None:
    """Read, page, two steps."""
    found = fm.from_sdf(folder / name)
    found.show(browser=False)
    _run(found.model)


def write_surface(kind: str, folder: Path, number: int) -> str:
    """A cube, or parts of it, as surface of a robot."""
    name = surface(folder, kind).name
    (folder / "r.urdf").write_text(URDF.replace("t.stl", name))
    return name


def use_surface(folder: Path, name: str) -> None:
    """Page of a robot with the surface, and its model."""
    robot = fm.Robot.from_urdf(folder / "r.urdf")
    robot.show(browser=False)
    robot.model.check()


# Bodies, solutions, folders of runs and sweeps


@functools.cache
def _bar() -> fm.FlexibleBodyData:
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    return pp.reduce(pp.box_mesh((0.4, 0.02, 0.03), (8, 1, 1), "hex8"), STEEL, interfaces=ends,
                     method=pp.CraigBampton(modes=3), reference="root", damping=0.02)  # fmt: skip


def write_body(folder: Path, number: int) -> str:
    """A reduced bar."""
    _bar().save(folder / "body.h5")
    return "body.h5"


def write_divided(folder: Path, number: int) -> str:
    """A bar of two pieces."""
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    pieces = pp.divide(pp.box_mesh((0.4, 0.02, 0.03), (8, 1, 1), "hex8"), pieces=2)
    pp.reduce_divided(pieces, STEEL, interfaces=ends, reference="root").save(folder / "body.h5")
    return "body.h5"


def use_body(folder: Path, name: str) -> None:
    """Load, check, print, page, two steps of a pendulum."""
    body = load_body(folder / name)
    if isinstance(body, DividedBodyData):
        described_pieces(body)
    else:
        body.validate()
        described(body)
        json.dumps(body_facts(body))
    body_page(body)
    model = fm.Model("pendulum")
    arm = model.add(fm.FlexibleBody("arm", str(folder / name)))
    model.add(fm.Revolute("hinge", model.ground, arm[next(iter(body.frames))], axis="y"))
    _run(model)


@functools.cache
def _solution(number: int) -> fm.Solution:
    """A flexible pendulum with a slider; a model with contacts, controllers and drives; one with
    user functions."""
    if number == 1:
        return fm.simulate(swinging_with_contact(), t_end=0.01, step=STEP, audit="standard")
    model = fm.Model("arm")
    arm = model.add(fm.FlexibleBody("arm", data=_bar()))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("hinge", model.ground, arm["root"], axis="y"))
    slide = model.add(fm.Prismatic("slide", model.ground, ball, axis="z"))
    model.add(fm.JointSpring("spring", "slide", k=10.0, c=0.1))
    if number == 2:
        model.add(fm.Drive("drive", slide, fm.Function(lambda t: (t * t, 2 * t, 2.0))))
    return fm.simulate(model, t_end=0.01, step=STEP)


def swinging_with_contact() -> fm.Model:
    """A pendulum with a sampled controller and a stop."""
    model = fm.Model("pendulum", frames={"stop": (0.0, 0.0, -0.021)})
    bar = model.add(
        fm.RigidBody(
            "bar", mass=1.0, inertia=(0.02, 0.1, 0.1), com=(0.5, 0, 0), frames={"tip": (1.0, 0, 0)}
        )
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, bar, axis="y", v0=0.5))
    model.add(
        fm.SpherePlane(
            "stop",
            "ground/stop",
            "bar/tip",
            normal="z",
            radius=0.02,
            law=fm.HuntCrossley(1e4, damping=0.2),
        )
    )
    model.add(
        fm.JointTorque(
            "push",
            hinge,
            fm.DigitalPID(15.0, 1.0, 0.2, sample_time=2e-3, delay=1e-3, reference=0.1),
        )
    )
    return model


def write_solution(folder: Path, number: int) -> str:
    """A saved run."""
    _solution(number).save(folder / "run.h5")
    return "run.h5"


def use_solution(folder: Path, name: str) -> None:
    """Load, report, tables."""
    solution = fm.Solution.load(folder / name)
    str(solution)
    solution.report(folder / "report.html")
    solution.to_csv(folder / "tables")


RUN_FILES = ("outputs.log", "run.json", "checkpoint.npz", "model.toml")


def _continued(folder: Path, t_end: float) -> fm.Solution:
    kept = fm.RunFolder(folder, resume=True, checkpoint=1e-9)
    return fm.simulate(swinging_with_contact(), t_end=t_end, step=STEP, folder=kept, audit="none")


def write_run_folder(folder: Path, number: int) -> str:
    """A run in a folder as after a kill: without its solution, with an early checkpoint."""
    write, reached = run_folder.write_checkpoint, itertools.count(1)

    def fourth(path: Path, state: dict[str, np.ndarray]) -> None:
        if next(reached) == 4:
            write(path, state)

    with (
        mock.patch("flexmbs.time_stepping.run.BATCH_SECONDS", 0.0),
        mock.patch.object(run_folder, "write_checkpoint", fourth),
    ):
        _continued(folder / "run", 0.01)
    (folder / "run/solution.h5").unlink()
    return f"run/{RUN_FILES[number % len(RUN_FILES)]}"


def write_checkpoint(folder: Path, number: int) -> str:
    """The checkpoint of a run that was killed."""
    write_run_folder(folder, 0)
    return f"run/{RUN_FILES[2]}"


def use_run_folder(folder: Path, name: str) -> None:
    """Page of its progress; resume."""
    ProgressPage(folder / "run").text()
    _require_finite(_continued(folder / "run", 0.01))


SWEEP = {"joints.hinge.q0": [0.1, 0.2], "bodies.bob.mass": [1.0, 2.0]}


def _swept(folder: Path) -> fm.SweepResult:
    return fm.sweep(swinging.pendulum(), SWEEP, outputs=swinging.SPEED, folder=folder, resume=True,
                    executor="threads", workers=1, audit="none")  # fmt: skip


def write_sweep_folder(folder: Path, number: int) -> str:
    """A finished sweep."""
    _swept(folder / "sweep")
    return ("sweep/sweep.json", "sweep/cases.log")[number % 2]


def write_sweep_log(folder: Path, number: int) -> str:
    """The log of a finished sweep."""
    return write_sweep_folder(folder, 1)


def use_sweep_folder(folder: Path, name: str) -> None:
    """Load, table, page, resume."""
    found = fm.SweepResult.load(folder / "sweep")
    found.to_csv(folder / "t.csv")
    found.report(folder / "t.html")
    _swept(folder / "sweep")


def write_loop(folder: Path, number: int) -> str:
    """The memory of a control loop, as its controller finds it."""
    motor, angle = {"motor": ("effort", "hinge")}, {"angle": ("coordinate", "hinge")}
    stepper = fm.Stepper(swinging.pendulum(), t_end=1.0, step=STEP, inputs=motor, outputs=angle)
    loop = fm.ControlLoop(stepper, folder / "live.loop", period=0.1)

    def run() -> None:
        with contextlib.suppress(FlexmbsError):
            loop.run(0.2, timeout=1.0)

    thread = threading.Thread(target=run)
    thread.start()
    while not (folder / "live.loop").exists():
        time.sleep(0.01)
    time.sleep(0.3)  # until the first sample is there
    shutil.copy(folder / "live.loop", folder / "arm.loop")
    thread.join()
    return "arm.loop"


def use_loop(folder: Path, name: str) -> None:
    """Join, one sample, answer."""
    with fm.LoopController(folder / name, timeout=0.02) as plant:
        for outputs in plant:
            dict(outputs)
            plant.answer({})
            return


def _of(use: Callable[..., None], kind: str) -> Callable[..., None]:
    return functools.partial(use, kind)


ORIGINALS: dict[str, Original] = {
    "model": Original(write_model, use_model, 24, share=8),
    "model page": Original(write_model, use_model_page, 24, share=1),
    "model of every kind": Original(write_every_kind, use_every_kind, share=3),
    "study": Original(write_study, use_study, 9, share=5),
    "part": Original(write_part, use_part, len(PART_TEXTS), share=3),
    "part, shapes": Original(write_arrays, use_arrays, 3, share=2),
    **{
        f"mesh: {kind}": Original(_of(write_mesh, kind), _of(use_mesh, kind), share=2)  # type: ignore[arg-type]
        for kind in FORMATS
    },
    "mesh: includes": Original(write_include, use_include, 4, share=2),
    **{
        f"format: {case}": Original(_of(write_format, case), _of(use_format, case), share=2)  # type: ignore[arg-type]
        for case in CASES
    },
    "matrices": Original(write_matrices, use_matrices, 14, share=5),
    "measurements": Original(write_measured, use_measured, share=2),
    **{
        f"CAD: {kind}": Original(_of(write_cad, kind), use_cad, samples, share=share)  # type: ignore[arg-type]
        for kind, samples, share in (("STEP", 3, 2), ("IGES", 1, 1), ("BREP", 1, 1))
    },
    "CAD: assembly": Original(write_assembly, use_assembly, share=1),
    "URDF": Original(write_urdf, use_urdf, 40, share=5),
    "MJCF": Original(write_mjcf, use_mjcf, 60, share=6),
    "SDF": Original(write_sdf, use_sdf, 40, share=6),
    **{f"surface: {kind}": Original(_of(write_surface, kind), use_surface, share=1.5) for kind in SURFACES},
    "body": Original(write_body, use_body, share=0.3),
    "body, content": Original(write_body, use_body, form="hdf5", share=2),
    "divided body": Original(write_divided, use_body, share=0.2),
    "divided body, content": Original(write_divided, use_body, form="hdf5", share=0.5),
    "solution": Original(write_solution, use_solution, 3, share=0.5),
    "solution, content": Original(write_solution, use_solution, 3, form="hdf5", share=3),
    "run folder": Original(write_run_folder, use_run_folder, 4, share=3),
    "run folder, content of its log": Original(write_run_folder, use_run_folder, form="frames", share=1.5),
    "run folder, content of its checkpoint": Original(write_checkpoint, use_run_folder, form="npz", share=1.5),
    "control loop": Original(write_loop, use_loop),
    "sweep folder": Original(write_sweep_folder, use_sweep_folder, 2, share=2),
    "sweep folder, content of its log": Original(write_sweep_log, use_sweep_folder, form="frames", share=1.5),
}  # fmt: skip
