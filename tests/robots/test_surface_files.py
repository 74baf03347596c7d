"""Surfaces of STL, OBJ, PLY, OFF and DAE files: as meshio reads them, and cut off or changed
anywhere within limits of time.
"""

import time
from pathlib import Path

import meshio
import numpy as np
import pytest
from draws import drawn
from test_collada import text as collada

import flexmbs as fm
from flexmbs.files.surface_files import read_surface
from flexmbs.robots.solids import solids_of
from flexmbs.robots.visual_elements import Visual

SECONDS = 2.0  # for a file of some kB, which is read in milliseconds
CUBE = meshio.Mesh(
    [(x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)],
    [
        ("triangle", [(0, 1, 2), (1, 3, 2), (4, 6, 5), (5, 6, 7)]),
        ("quad", [(0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4)]),
    ],
)
TRIANGLES = meshio.Mesh(CUBE.points, CUBE.cells[:1])
PLY = """ply
format ascii 1.0
comment Made by hand
element material 1
property list uchar float grey
element vertex 5
property double z
property double x
property double y
property uchar red
element face 2
property list uchar int vertex_index
property float quality
end_header
2 0.1 0.2
3 0 0 9
3 1 0 9
3 1 1 9
3 0 1 9
3 -1 0.5 9
5 0 1 2 3 4 0.5
3 0 1 2 1.5
"""


def surface(path: Path, kind: str) -> Path:
    """A file of a kind, as "ply binary"."""
    file = path / f"f.{kind.split()[0]}"
    if kind == "ply by hand":
        file.write_text(PLY)
    elif kind == "dae":
        file.write_text(collada())
    elif kind in ("obj", "off"):
        TRIANGLES.write(file) if kind == "off" else CUBE.write(file)
    else:
        (TRIANGLES if "stl" in kind else CUBE).write(file, binary="binary" in kind)
    return file


KINDS = ("stl", "stl binary", "obj", "off", "ply", "ply binary", "ply by hand", "dae")


def shown(file: Path) -> str:
    """What is said of a file that a link shows; "" if it is shown."""
    model = fm.Model("m")
    model.add(fm.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    visual = Visual("b", fm.MeshShape(file))
    began = time.perf_counter()
    solids, notes = solids_of(model, (visual,), {})
    assert time.perf_counter() - began < SECONDS
    assert len(solids) + len(notes) >= 1
    assert all(len(note.splitlines()) == 1 for note in notes)
    return notes[0] if notes else ""


def rows(x: np.ndarray) -> np.ndarray:
    """Triangles (T, 3, 3) in a sequence that does not depend on that of the file."""
    flat = x.reshape(-1, 9)
    return flat[np.lexsort(flat.T)]


@pytest.mark.parametrize("kind", KINDS[:-2])
def test_surfaces_are_those_of_meshio(kind: str, tmp_path: Path) -> None:
    file = surface(tmp_path, kind)
    points, triangles = read_surface(file)
    read = meshio.read(file)
    cells = {
        each.type: np.concatenate([block.data for block in read.cells if block.type == each.type])
        for each in read.cells
    }
    quads = cells.get("quad", np.zeros((0, 4), int))
    wanted = np.concatenate([cells["triangle"], quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    np.testing.assert_array_equal(rows(points[triangles]), rows(read.points[wanted]))


def test_polygons_lists_and_relative_numbers(tmp_path: Path) -> None:
    points, triangles = read_surface(surface(tmp_path, "ply by hand"))
    corners = np.array([(0, 0, 3), (1, 0, 3), (1, 1, 3), (0, 1, 3), (-1, 0.5, 3)], float)[
        :, [0, 1, 2]
    ]
    wanted = corners[np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 1, 2)])]
    np.testing.assert_array_equal(rows(points[triangles]), rows(wanted))
    (tmp_path / "r.obj").write_text(
        "v 0 0 3\nv 1 0 3\nv 1 1 3 1 0 0\nvn 0 0 1\nf -3/1/1 -2//1 \\\n -1\nv 9 9 9\n"
    )
    points, triangles = read_surface(tmp_path / "r.obj")
    np.testing.assert_array_equal(points[triangles[0]], corners[:3])


@pytest.mark.parametrize("kind", KINDS)
def test_files_cut_off_anywhere_are_shown_or_one_line(kind: str, tmp_path: Path) -> None:
    """At every length; a header of PLY or OFF without its end was read for ever."""
    file = surface(tmp_path, kind)
    data = file.read_bytes()
    assert shown(file) == ""
    for length in range(len(data)):
        file.write_bytes(data[:length])
        told = shown(file)
        if kind in ("stl binary", "ply binary", "dae") or (
            kind == "stl" and b"endsolid" not in data[:length]
        ):
            assert told, length  # other text may end within a number


@pytest.mark.parametrize("seed", drawn(1, 40))
@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_are_shown_or_one_line(kind: str, seed: int, tmp_path: Path) -> None:
    """Numbers at the limits, other bytes, and lines left out or repeated."""
    rng = np.random.default_rng(seed)
    file = surface(tmp_path, kind)
    data = file.read_bytes()
    limits = b"1e308 -1 9223372036854775807 4294967296 nan inf 5e-324 0 1e26 9e400".split()
    for _ in range(30):
        changed = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(changed)))
            match rng.integers(3):
                case 0:
                    changed[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(1, 9)))
                case 1:
                    words = bytes(changed).split(b" ")
                    words[rng.integers(len(words))] = limits[rng.integers(len(limits))]
                    changed = bytearray(b" ".join(words))
                case 2:
                    del changed[at : at + int(rng.integers(1, 50))]
        file.write_bytes(changed)
        shown(file)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "faces refer to missing points"),
        ("f.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "faces refer to missing points"),
        ("f.obj", "v 0 0 0\nv 1 0 0\nv 0 9e18 0\nf 1 2 3\n", "larger than 1e+09 m"),
        ("f.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 nan 0\n3 0 1 2\n", "points with non-finite coordinates"),
        ("f.ply", "ply\nformat ascii 1.0\nelement vertex 9999999999\nproperty float x\nend_header\n", "is damaged or truncated"),
        ("f.ply", "ply\nformat ascii 1.0\nsecret word\n", "is damaged or truncated"),
        ("f.wrl", "", "unknown mesh format"),
        (f"{'a' * 250}.stl", "solid secret", "is damaged or truncated"),
    ],
)  # fmt: skip
def test_faults_are_named_without_words_of_the_file(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    told = shown(tmp_path / name)
    assert message in told
    assert "secret" not in told
