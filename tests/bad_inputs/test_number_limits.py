"""Numbers at the limits of double precision, in each field of models, parts, robots and materials:
read, or refused by the errors of the package; no other exception, in limited time. Pages of
solutions that are not finite."""

import re
import shutil
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from draws import drawn
from hdf5_edits import open_unverified

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import FlexmbsError
from flexmbs.files.hdf5 import items
from flexmbs.model.toml_read import model_of
from flexmbs.toml.document import Locator
from preprocess.part_file.key_paths import numbers_in, with_values

sys.path += [
    str(Path(__file__).parents[1] / folder) for folder in ("contract", "model", "preprocess")
]
from any_models import any_model, registered
from declared import with_every_kind
from part_files import PART, bar

pytestmark = pytest.mark.filterwarnings("ignore")
LIMITS = (
    1e308,
    -1e308,
    1e200,
    1e60,
    -1e60,
    1e26,
    9e18,
    -9e18,
    2**63,
    10**400,
    1e16,
    5e-324,
    -5e-324,
    1e-200,
    1e-60,
    -1e-60,
    0.0,
    -1.0,
)
SECONDS = 20.0  # for an input that takes less than a second with usual numbers, on a busy machine


def survived(use: Callable[[], object]) -> bool:
    """Whether an input was used; False where it was refused by one line for each problem."""
    began, problems = time.perf_counter(), None
    try:
        use()
    except FlexmbsError as error:
        problems = error.problems if isinstance(error, fm.InputError) else ()
    assert all(len(line.splitlines()) == 1 for line in problems or ())
    assert time.perf_counter() - began < SECONDS
    return problems is None


def used_model(table: dict[str, object], folder: Path) -> None:
    """Check, start and two steps of a model; its pages."""
    model, problems = model_of(table, Locator(folder, allow_outside=False), fm.Model)
    if problems or model.check().errors:
        raise fm.InputError(*(problem.message for problem in problems), "check")
    model.show(browser=False)
    solution = fm.simulate(model, t_end=2e-3, step=1e-3)
    solution.show(browser=False)
    solution.report(folder / "report.html")


@pytest.mark.parametrize("seed", drawn(1, 60))
def test_every_kind_at_the_limits(seed: int, tmp_path: Path) -> None:
    """All fields of all kinds with numbers, read from a file and checked."""
    table = tomllib.loads(with_every_kind(tmp_path).to_toml(complete=False))
    places, rng = sorted(numbers_in(table)), np.random.default_rng(seed)

    def use() -> None:
        model, problems = model_of(
            with_values(table, {place: value}), Locator(tmp_path, allow_outside=True), fm.Model
        )
        if problems:
            raise fm.InputError(*(problem.message for problem in problems))
        model.check()

    for _ in range(20):
        place, value = str(rng.choice(places)), LIMITS[rng.integers(len(LIMITS))]
        survived(use)


@pytest.mark.parametrize("seed", drawn(0, 60))
def test_models_at_the_limits(seed: int, tmp_path: Path) -> None:
    kinds, rng = registered(), np.random.default_rng(seed)
    while True:
        try:
            text = any_model(seed, str(rng.choice(kinds))).model.to_toml()
            break
        except (FlexmbsError, ValueError):
            # models with functions and bodies in memory have no file
            continue
    table = tomllib.loads(text)
    places = sorted(numbers_in(table))
    for _ in range(12):
        place, value = str(rng.choice(places)), LIMITS[rng.integers(len(LIMITS))]
        survived(lambda: used_model(with_values(table, {place: value}), tmp_path))  # noqa: B023


PART_TEXTS = (
    PART,
    PART.replace("damping = 0.01", "damping = 0.01\nband = 3000.0\ntolerance = 0.05"),
    PART.replace("modes = 2", 'kind = "krylov"\nfrequencies = [100.0, 300.0]'),
    PART.replace(
        "E = 2e11", 'kind = "orthotropic"\nE = [2e11, 2e11, 2e11]\nG = [8e10, 8e10, 8e10]'
    ).replace("nu = 0.3", "nu = [0.3, 0.3, 0.3]"),
    PART + '[point_masses.tip]\nset = "end"\nmass = 0.5\nposition = [1.0, 0.05, 0.05]\n',
)
NUMBERS = re.compile(r"(?<![\w./])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w/.])")


def changed(text: str, rng: np.random.Generator) -> str:
    """The text with one of its numbers at a limit."""
    place = list(NUMBERS.finditer(text))[rng.integers(len(NUMBERS.findall(text)))]
    return f"{text[: place.start()]}{LIMITS[rng.integers(len(LIMITS))]}{text[place.end() :]}"


@pytest.mark.parametrize("seed", drawn(1, 40))
@pytest.mark.parametrize("text", PART_TEXTS, ids=range(len(PART_TEXTS)))
def test_parts_at_the_limits(text: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = bar(tmp_path)
    for _ in range(12):
        path.write_text(changed(text, rng))
        survived(lambda: pp.read_part(path).reduce())


URDF = """<robot name="r">
<link name="a"/>
<link name="b">
<inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/>
<mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0.1" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0.1 0 0" rpy="0 0 1"/>
<geometry><box size="1 2 3"/></geometry>
<material name="m"><color rgba="1 0 0 1"/></material>
</visual>
<visual>
<geometry><cylinder radius="0.5" length="1.0"/></geometry>
</visual>
</link>
<link name="c">
<inertial>
<mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual>
<geometry>
<mesh filename="t.stl" scale="1 1 1"/></geometry>
</visual>
</link>
<joint name="j" type="revolute">
<parent link="a"/><child link="b"/>
<axis xyz="0 1 0"/><origin xyz="0 0.1 0.2" rpy="0.1 0.2 0.3"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/>
<dynamics damping="0.1" friction="0.2"/>
</joint>
<joint name="k" type="prismatic">
<parent link="b"/><child link="c"/>
<axis xyz="0 0 1"/><mimic joint="j" multiplier="2" offset="0.1"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/>
</joint></robot>"""
MJCF = """<mujoco><option timestep="0.001" gravity="0 0 -9.81"/>
<asset>
<mesh name="m" file="t.stl" scale="1 1 1"/>
<material name="r" rgba="1 0 0 1"/></asset>
<worldbody>
<body name="b" pos="0 1 2" quat="1 0.1 0 0">
<joint name="h" type="hinge" axis="0 1 0" pos="0 0 0.1" damping="0.1" stiffness="2" springref="0.1"
armature="0.01" frictionloss="0.1"
range="-1 1" ref="0.1"/>
<geom type="capsule" size="0.1 0.3" fromto="0 0 0 0 0 1" density="1000"/>
<geom type="box" size="0.1 0.2 0.3" mass="2" euler="10 20 30"/>
<geom type="mesh" mesh="m" mass="0"/>
<site name="s" pos="0.1 0 0"/>
<body name="c" pos="0 0 1">
<inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>
<joint name="s2" type="slide" axis="0 0 1"/>
<geom type="ellipsoid" size="0.1 0.2 0.3"/>
</body>
</body></worldbody>
<equality>
<joint joint1="s2" joint2="h" polycoef="0.1 2 0 0 0"/></equality>
<actuator><position joint="h" kp="10" kv="2" ctrlrange="-1 1"/><motor joint="s2" gear="2"/></actuator></mujoco>"""
SDF = """<sdf version="1.11"><model name="m">
<link name="a">
<pose>0 0 1 0.1 0.2 0.3</pose>
<inertial>
<pose>0.1 0 0 0 0 0</pose>
<mass>1</mass>
<inertia>
<ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0.1</ixy></inertia></inertial>
<visual name="v">
<pose>0 0 0.1 0 0 0</pose>
<geometry><box><size>1 2 3</size></box></geometry>
<material><diffuse>1 0 0 1</diffuse></material>
</visual>
<visual name="w">
<geometry>
<mesh>
<uri>t.stl</uri>
<scale>1 1 1</scale></mesh></geometry>
</visual>
</link>
<joint name="j" type="revolute">
<parent>world</parent><child>a</child>
<axis><xyz>0 1 0</xyz>
<limit><lower>-1</lower><upper>1</upper></limit>
<dynamics><damping>0.1</damping><friction>0.2</friction>
<spring_stiffness>3</spring_stiffness><spring_reference>0.1</spring_reference></dynamics></axis>
</joint></model></sdf>"""
STL = (
    "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 "
    "0\nendloop\nendfacet\nendsolid s\n"
)
ROBOTS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "r.urdf": (URDF, fm.Robot.from_urdf),
    "m.xml": (MJCF, fm.from_mujoco),
    "m.sdf": (SDF, fm.from_sdf),
    "t.stl": (STL, lambda path: fm.Robot.from_urdf(path.with_name("r.urdf"))),
}  # fmt: skip


@pytest.mark.parametrize("seed", drawn(1, 40))
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_at_the_limits(name: str, seed: int, tmp_path: Path) -> None:
    for each, (text, _) in ROBOTS.items():
        (tmp_path / each).write_text(text)
    text, read = ROBOTS[name]
    rng = np.random.default_rng(seed)

    def use() -> None:
        found = read(tmp_path / name)
        found.show(browser=False)
        found.model.check()

    assert survived(use)
    for _ in range(12):
        (tmp_path / name).write_text(changed(text, rng))
        survived(use)


@pytest.mark.parametrize("name", ["r.urdf", "m.xml", "m.sdf"])
def test_long_names(name: str, tmp_path: Path) -> None:
    text, read = ROBOTS[name]
    for given in sorted(set(re.findall(r'(?<=name=")\w+(?=")', text))):
        (tmp_path / name).write_text(re.sub(rf"\b{given}\b", "a" * 300, text))
        survived(lambda: read(tmp_path / name).show(browser=False))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a solution with a flexible body."""
    folder = tmp_path_factory.mktemp("run")
    model = fm.Model("arm")
    steel, method = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0), pp.CraigBampton(modes=3)
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    mesh = pp.box_mesh((0.4, 0.02, 0.03), (8, 1, 1), "hex8")
    data = pp.reduce(mesh, steel, interfaces=ends, method=method, reference="root", damping=0.02)
    arm = model.add(fm.FlexibleBody("arm", data=data))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Revolute("hinge", model.ground, arm["root"], axis="y"))
    model.add(fm.Prismatic("slide", model.ground, ball, axis="z"))
    model.add(fm.JointSpring("spring", "slide", k=10.0, c=0.1))
    fm.simulate(model, t_end=0.01, step=1e-3).save(folder / "run.h5")
    return folder / "run.h5"


@pytest.mark.parametrize("seed", drawn(2, 60))
def test_pages_of_any_solution_that_can_be_loaded(seed: int, run: Path, tmp_path: Path) -> None:
    """An item of the file, or its last number, is not finite or at a limit; files without checksums
    are not verified.
    """
    rng = np.random.default_rng(seed)
    path = tmp_path / "run.h5"
    for _ in range(6):
        shutil.copy(run, path)
        with open_unverified(path) as file:
            sets = [
                (name, item)
                for name, item in items(file)
                if isinstance(item, h5py.Dataset) and item.size
            ]
            arrays = sorted(name for name, item in sets if item.dtype.kind == "f")
            item = file[arrays[rng.integers(len(arrays))]]
            values, limit = np.array(item[()]), rng.choice([np.nan, np.inf, 1e308, 5e-324, -1e200])
            values.reshape(-1)[-1 if rng.integers(2) else slice(None)] = limit
            item[...] = values
        found: list[fm.Solution] = []
        if survived(lambda: found.append(fm.Solution.load(path))):  # noqa: B023
            survived(lambda: found[0].show(browser=False))  # noqa: B023
            survived(lambda: found[0].report(tmp_path / "r.html"))  # noqa: B023
