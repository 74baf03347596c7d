"""Files that other files name: within reach, or refused; for every reader, by ``..``, absolute
paths, links and packages.
"""

import warnings
from collections.abc import Callable
from pathlib import Path

import meshio
import pytest

import flexmbs as fm
import preprocess as pp

SECRET = "hunter2"  # a word of the file outside, which no message and no page may have
STL = (
    f"solid {SECRET}\n"
    + "facet normal 0 0 1\nouter loop\n"
    + "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    + (f"endloop\nendfacet\nendsolid {SECRET}\n")
)
INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial>'
)
SDF_INERTIAL = (
    "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
)
GRIDS = "".join(
    f"GRID,{k + 1},,{x}.,{y}.,{z}.\n"
    for k, (x, y, z) in enumerate([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
)
NODES = "*NODE\n1,0,0,0\n2,1,0,0\n3,0,1,0\n4,0,0,1\n"
SDF_MODEL = (
    f'<sdf version="1.11"><model name="inner"><link name="b">{SDF_INERTIAL}</link></model></sdf>'
)

PART = """format = "flexmbs-part/1"
mesh = "{}"
unit = "m"
reference = "base"
material = {{ E = 1e9, nu = 0.3, rho = 1e3 }}
interfaces.base.plane = {{ point = [0, 0, 0], normal = [0, 0, 1] }}
"""


def urdf(folder: Path, name: str, **options: object) -> int:
    (folder / "r.urdf").write_text(
        f'<robot name="r"><link name="a"/><link name="b">{INERTIAL}'
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis '
        'xyz="0 1 0"/></joint></robot>'
    )
    robot = fm.Robot.from_urdf(folder / "r.urdf", **options)  # type: ignore[arg-type]
    assert SECRET not in robot.show(browser=False).text
    return len(robot.solids())


def mjcf(folder: Path, name: str, **options: object) -> int:
    (folder / "m.xml").write_text(
        f'<mujoco><asset><mesh name="m" file="{name}"/></asset><worldbody><body '
        'name="b"><freejoint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" '
        'mesh="m"/></body></worldbody></mujoco>'
    )
    found = fm.from_mujoco(folder / "m.xml", **options)  # type: ignore[arg-type]
    assert SECRET not in found.show(browser=False).text
    return len(found.solids())


def sdf(folder: Path, name: str, **options: object) -> int:
    (folder / "m.sdf").write_text(
        f'<sdf version="1.11"><model name="m"><link name="b">{SDF_INERTIAL}<visual name="v">'
        f"<geometry><mesh><uri>{name}</uri></mesh></geometry></visual></link></model></sdf>"
    )
    found = fm.from_sdf(folder / "m.sdf", **options)  # type: ignore[arg-type]
    assert SECRET not in found.show(browser=False).text
    return len(found.solids())


def mjcf_include(folder: Path, name: str, **options: object) -> int:
    (folder / "m.xml").write_text(f'<mujoco><include file="{name}"/></mujoco>')
    return len(fm.from_mujoco(folder / "m.xml", **options).model.bodies)  # type: ignore[arg-type]


def sdf_include(folder: Path, name: str, **options: object) -> int:
    (folder / "m.sdf").write_text(
        f'<sdf version="1.11"><model name="m"><include><uri>{name}</uri></include></model></sdf>'
    )  # fmt: skip
    return len(fm.from_sdf(folder / "m.sdf", **options).model.bodies)  # type: ignore[arg-type]


def nastran(folder: Path, name: str, **options: object) -> int:
    (folder / "m.bdf").write_text(f"BEGIN BULK\nINCLUDE '{name}'\nCTETRA,1,1,1,2,3,4\nENDDATA\n")
    return len(pp.read_mesh(folder / "m.bdf", unit="m", **options).solids)  # type: ignore[arg-type]


def abaqus(folder: Path, name: str, **options: object) -> int:
    (folder / "m.inp").write_text(f"*INCLUDE, INPUT={name}\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n")
    return len(pp.read_mesh(folder / "m.inp", unit="m", **options).solids)  # type: ignore[arg-type]


def part(folder: Path, name: str, **options: object) -> int:
    """A part whose mesh is inside and includes a file."""
    (folder / "m.inp").write_text(f"*INCLUDE, INPUT={name}\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n")
    (folder / "p.toml").write_text(PART.format("m.inp"))
    read = pp.read_part(folder / "p.toml", **options)  # type: ignore[arg-type]
    before = read.digest()
    found = len(read.read_mesh().solids)
    (folder.parent / "outside" / "f.inp").write_text(NODES + "** changed\n")
    assert (read.digest() != before) == bool(options)  # what is read belongs to the inputs
    return found


def part_mesh(folder: Path, name: str, **options: object) -> int:
    (folder / "p.toml").write_text(PART.format(name))
    return len(pp.read_part(folder / "p.toml", **options).read_mesh().solids)  # type: ignore[arg-type]


def vtu(path: Path) -> None:
    points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    meshio.write(path, meshio.Mesh(points, [("tetra", [[0, 1, 2, 3]])]))


MJCF_BODY = (
    '<mujoco><worldbody><body name="b"><freejoint/><geom size="1"/></body></worldbody></mujoco>'
)
# ending and content of the file outside
READERS: dict[str, tuple[Callable[..., int], str, str | Callable[[Path], None]]] = {
    "URDF": (urdf, "stl", STL),
    "MJCF": (mjcf, "stl", STL),
    "SDF": (sdf, "stl", STL),
    "MJCF include": (mjcf_include, "xml", MJCF_BODY),
    "SDF include": (sdf_include, "sdf", SDF_MODEL),
    "Nastran": (nastran, "bdf", GRIDS),
    "Abaqus": (abaqus, "inp", NODES),
    "part": (part, "inp", NODES),
    "mesh of a part": (part_mesh, "vtu", vtu),
}
WAYS = ("..", "absolute", "link", "link of a folder")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for key in ("GZ_SIM_RESOURCE_PATH", "ROS_PACKAGE_PATH"):
        monkeypatch.delenv(key, raising=False)
    (tmp_path / "models").mkdir()
    (tmp_path / "outside").mkdir()
    return tmp_path


def written(place: Path, ending: str, content: str | Callable[[Path], None]) -> Path:
    file = place / "outside" / f"f.{ending}"
    file.write_text(content) if isinstance(content, str) else content(file)
    return file


def named(way: str, place: Path, file: Path) -> str:
    """A name by which a file in models/ means the one outside."""
    if way == "link":
        (place / "models" / file.name).symlink_to(file)
    if way == "link of a folder":
        (place / "models" / "sub").symlink_to(file.parent, target_is_directory=True)
    names = {
        "..": f"../outside/{file.name}",
        "absolute": str(file),
        "link": file.name,
        "link of a folder": f"sub/{file.name}",
    }
    return names[way]


def attempt(
    read: Callable[..., int], folder: Path, name: str, **options: object
) -> tuple[int, str]:
    """What was read, and what was said."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found, text = read(folder, name, **options), ""
        except fm.InputError as error:
            found, text = 0, str(error)
    return found, "\n".join([text, *(str(each.message) for each in told)]).strip()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reader", READERS)
def test_files_outside_are_read_only_if_allowed(reader: str, way: str, place: Path) -> None:
    read, ending, content = READERS[reader]
    name = named(way, place, written(place, ending, content))
    found, text = attempt(read, place / "models", name)
    assert found == 0
    assert "allow_outside=True (--allow-outside)" in text
    assert SECRET not in text
    assert read(place / "models", name, allow_outside=True) == 1


@pytest.mark.parametrize("reader", ["URDF", "SDF", "SDF include"])
@pytest.mark.parametrize("how", ["argument", "GZ_SIM_RESOURCE_PATH", "ROS_PACKAGE_PATH"])
def test_packages_are_found_in_search_paths_alone(
    reader: str, how: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """A package beside the folder of the file was found without them, as was any folder up to the
    root.
    """
    read, ending, content = READERS[reader]
    written(place, ending, content)
    name = f"{'model' if reader == 'SDF include' else 'package'}://outside/f.{ending}"
    assert attempt(read, place / "models", name)[0] == 0
    if how != "argument":
        monkeypatch.setenv(how, f":{place / 'nothing'}:{place}")
    assert (
        read(place / "models", name, **({"package_path": [place]} if how == "argument" else {}))
        == 1
    )


@pytest.mark.parametrize("reader", ["URDF", "SDF", "SDF include"])
def test_links_do_not_leave_a_search_path(reader: str, place: Path) -> None:
    read, ending, content = READERS[reader]
    (place / "search" / "arm").mkdir(parents=True)
    (place / "search" / "arm" / f"f.{ending}").symlink_to(written(place, ending, content))
    name = f"model://arm/f.{ending}"
    assert attempt(read, place / "models", name, package_path=place / "search")[0] == 0
    assert read(place / "models", name, package_path=place / "search", allow_outside=True) == 1


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["a" * 300, "circle", "http://host/f", "x\\..\\..\\outside\\f"])
def test_names_that_are_no_files_are_one_line(reader: str, name: str, place: Path) -> None:
    read, ending, content = READERS[reader]
    written(place, ending, content)
    (place / "models" / "circle").symlink_to(place / "models" / "circle")
    name = name if name == "circle" else f"{name}.{ending}"
    found, text = attempt(read, place / "models", name)
    assert found == 0
    assert len(text.splitlines()) <= 1
