"""Rows of meshes, materials, part files and body files: problems are named, and only the project's
own errors are raised.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import FlexmbsError, InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.__main__ import main
from preprocess.part_file import read_part

STEEL = pp.Isotropic(E=2e11, nu=0.3, rho=7800.0)
ENDS = {"left": pp.Rigid("x0"), "right": pp.Rigid("x1")}
JUNK: tuple[Any, ...] = (
    "a",
    None,
    float("nan"),
    float("inf"),
    True,
    [1],
    -1,
    np.array([1.0, 2.0]),
    1 + 2j,
    {"b": 3},
)
MESH = Path(__file__).parents[2] / "meshes" / "link.msh"
Captured = pytest.CaptureFixture[str]

PART = """format = "flexmbs-part/1"
mesh = "link.msh"
unit = "mm"
reference = "hub"
[material]
E = 7e10
nu = 0.33
rho = 2700.0
[interfaces.hub]
set = "hub_face"
[method]
kind = "given-shapes"
shapes = "shapes.npy"
"""


@pytest.fixture(scope="module")
def mesh() -> pp.Mesh:
    return pp.box_mesh((1.0, 0.1, 0.1), (2, 1, 1), "hex8")


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def refusal(act: Callable[[], object]) -> tuple[str, ...]:
    """The message of a rejected call; None if it is accepted."""
    try:
        act()
    except InputError as error:
        return error.problems
    return ()


def wrongly(
    mesh: pp.Mesh, fe: pp.FEModel, value: Any
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls with a value where something else belongs."""
    three = (1e9, 1e9, 1e9)
    yield "E", lambda: pp.Isotropic(E=value, nu=0.3, rho=7800.0)
    yield "nu", lambda: pp.Isotropic(E=2e11, nu=value, rho=7800.0)
    yield "rho", lambda: pp.Isotropic(E=2e11, nu=0.3, rho=value)
    yield "orthotropic E", lambda: pp.Orthotropic(E=value, nu=(0.3, 0.3, 0.3), G=three, rho=1000.0)
    yield (
        "orthotropic axes",
        lambda: pp.Orthotropic(
            E=three, nu=(0.3, 0.3, 0.3), G=three, rho=1000.0, axes="b" if value is None else value
        ),
    )
    yield "size", lambda: pp.box_mesh(value, (1, 1, 1))
    yield "divisions", lambda: pp.box_mesh((1, 1, 1), value)
    yield "one division", lambda: pp.box_mesh((1, 1, 1), (-1 if value is True else value, 1, 1))
    yield "element", lambda: pp.box_mesh((1, 1, 1), (1, 1, 1), value)
    yield "nodes", lambda: pp.Mesh.from_arrays(value, {"hex8": [range(8)]})
    yield "connectivity", lambda: pp.Mesh.from_arrays(mesh.nodes, {"hex8": value})
    yield "mesh file", lambda: pp.read_mesh(value, unit="m")
    yield "unit", lambda: pp.read_mesh(MESH, unit=value)
    yield "part file", lambda: pp.read_part(value)
    yield "model file", lambda: pp.read_model(value)
    yield "body file", lambda: FlexibleBodyData.load(value)
    yield "matrix", lambda: pp.FEModel.from_matrices(value, fe.m, fe.nodes)
    yield "positions", lambda: pp.FEModel.from_matrices(fe.K, fe.m, value)
    yield "mesh", lambda: pp.assemble(value, STEEL)
    yield "material", lambda: pp.assemble(mesh, value)
    yield "point mass", lambda: pp.PointMass("x0", value)
    yield "place of a mass", lambda: pp.attach(fe, [pp.PointMass(value, 1.0)])
    yield "part", lambda: pp.reduce(value, STEEL, interfaces=ENDS, reference="left")
    yield "interfaces", lambda: pp.reduce(fe, interfaces=value, reference="left")
    yield "interface", lambda: pp.reduce(fe, interfaces={"left": value}, reference="left")
    yield "set", lambda: pp.reduce(fe, interfaces={"left": pp.Rigid(value)}, reference="left")
    yield (
        "position",
        lambda: pp.Rigid("x0", position="b" if value is None else value).bind(
            "l", fe.nodes, fe.node_sets
        ),
    )
    yield (
        "axes",
        lambda: pp.Rigid("x0", axes="b" if value is None else value).bind(
            "l", fe.nodes, fe.node_sets
        ),
    )
    yield "point", lambda: pp.Rigid(pp.Point(value, 0.1)).bind("l", fe.nodes, fe.node_sets)
    yield "normal", lambda: pp.Rigid(pp.Plane((0, 0, 0), value)).bind("l", fe.nodes, fe.node_sets)
    yield "reference", lambda: pp.reduce(fe, interfaces=ENDS, reference=value)
    yield (
        "method",
        lambda: pp.reduce(
            fe, interfaces=ENDS, reference="left", method="b" if value is None else value
        ),
    )
    yield (
        "damping",
        lambda: pp.reduce(
            fe, interfaces=ENDS, reference="left", damping="b" if value is True else value
        ),
    )
    yield "modes", lambda: pp.CraigBampton(modes="b" if value is True else value)
    yield "frequency", lambda: pp.CraigBampton(frequency=value)
    yield (
        "frequencies",
        lambda: pp.Krylov(frequencies=value if not isinstance(value, (list, np.ndarray)) else [-1]),
    )
    yield "shapes", lambda: pp.GivenShapes(value)


@pytest.mark.parametrize("value", JUNK, ids=repr)
def test_13_to_33_wrong_kinds_of_values_are_rejected_in_one_line_each(
    mesh: pp.Mesh, value: Any
) -> None:
    fe = pp.assemble(mesh, STEEL)
    for what, act in wrongly(mesh, fe, value):
        problems = refusal(act)
        assert problems, f"{what}: {value!r} was taken"
        assert all(problem.strip() and "\n" not in problem for problem in problems), what


def test_11_too_large_a_part_needs_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (tmp_path / "link.msh").write_bytes(MESH.read_bytes())
    part = tmp_path / "link.toml"
    part.write_text(PART.partition("[method]")[0])
    monkeypatch.setattr("preprocess.solve.memory.free_memory", lambda: 1e3)
    assert call("reduce", part) == 2
    assert "10833 degrees of freedom need about" in (told := capsys.readouterr().err)
    assert "--allow-large" in told
    assert not part.with_suffix(".h5").exists()


def test_13_equal_materials_have_equal_axes() -> None:
    E, nu, G = (1.4e11, 1e10, 1e10), (0.3, 0.3, 0.4), (5e9, 5e9, 3.5e9)
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    plain, across = (
        pp.Orthotropic(E=E, nu=nu, G=G, rho=1600.0, axes=axes) for axes in (None, turned)
    )
    assert plain != across
    assert across == pp.Orthotropic(
        E=list(E), nu=np.array(nu), G=G, rho=1600, axes=np.array(turned)
    )  # type: ignore[arg-type]
    assert len({plain, across}) == 2


def test_15_boxes_of_absurd_size_are_rejected_before_they_are_made() -> None:
    with pytest.raises(InputError, match=r"divisions: .*at most 1e.07 cells"):
        pp.box_mesh((1, 1, 1), (10**5, 10**5, 10**5))
    with pytest.raises(InputError, match=r"size: .* is not a box"):
        pp.box_mesh((1, 0, 1), (1, 1, 1))


def test_16_springs_that_feed_energy_are_rejected() -> None:
    for option in ("k", "c"):
        with pytest.raises(InputError, match=f"{option}: must be >= 0, not -1"):
            fm.PointSpring("spring", "a/tip", "b/tip", **{option: -1.0})


def test_45_pickled_shapes_and_matrices_are_rejected(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "link.msh").write_bytes(MESH.read_bytes())
    part = tmp_path / "link.toml"
    part.write_text(PART)
    np.save(tmp_path / "shapes.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"shapes\.npy: is not an array of numbers"):
        read_part(part)
    assert call("reduce", part) == 2
    assert "Traceback" not in capsys.readouterr().err
    (tmp_path / "shapes.npy").unlink()
    with pytest.raises(InputError, match=r"shapes\.npy: cannot be read: No such file"):
        read_part(part)


def test_matrix_problems_name_the_file_they_are_in(tmp_path: Path, mesh: pp.Mesh) -> None:
    fe = pp.assemble(mesh, STEEL)
    lopsided = fe.M.tolil()
    lopsided[0, 30] = 1.0
    sp.save_npz(tmp_path / "K.npz", fe.K)
    sp.save_npz(tmp_path / "M.npz", lopsided.tocsr())
    np.save(tmp_path / "nodes.npy", fe.nodes)
    with pytest.raises(InputError, match=r"M\.npz: M is not symmetric"):
        pp.read_matrices(K=tmp_path / "K.npz", M=tmp_path / "M.npz", nodes=tmp_path / "nodes.npy")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "nested deeper than 16 levels"),
        (b'format = "flexmbs-part/1"\nmesh = "\x00"\n', "not TOML"),
        (b"modes = " + b"9" * 4301 + b"\n", "thousands of digits"),
        (b"a = 1\n" * 2 + b"\xff\xfe", "is not UTF-8 text"),
        (b"#" * 5_000_001, "larger than 5 MB; this is not a part file"),
        (b'format = "flexmbs-part/1"\n' + b"".join(b"k%d = 1\n" % i for i in range(5000)), "and 4"),
    ],
)
def test_44_hostile_part_files(
    content: bytes, message: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "hostile.toml"
    path.write_bytes(content)
    assert call("reduce", path) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told) < 20_000


@pytest.mark.parametrize("command", ["inspect", "compare", "report"])
def test_46_hostile_bodies_are_rejected_by_every_command(
    command: str, tmp_path: Path, capsys: Captured
) -> None:
    body = tmp_path / "body.h5"
    with h5py.File(body, "w") as file:
        file["elastic"] = h5py.ExternalLink("/etc/passwd", "/")
    assert call(command, body, *([body] if command == "compare" else [])) == 2
    told = capsys.readouterr().err
    assert str(body) in told
    assert "Traceback" not in told
    for size in (0, 8, 600):
        body.write_bytes((b"\x89HDF\r\n\x1a\n" + os.urandom(600))[:size])
        assert call(command, body, *([body] if command == "compare" else [])) == 2
        assert "Traceback" not in capsys.readouterr().err


def test_48_every_file_of_a_part_stays_in_its_folder(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "link.msh").write_bytes(MESH.read_bytes())
    (inside / "link.msh").symlink_to(tmp_path / "link.msh")
    path = inside / "link.toml"
    path.write_text(PART.replace("shapes.npy", "/etc/shapes.npy"))
    with pytest.raises(InputError) as refused:
        read_part(path)
    assert [problem.removeprefix(str(path)) for problem in refused.value.problems] == [
        ":2: mesh: 'link.msh' is not inside the part's folder; move it there, or set "
        "allow_outside=True (--allow-outside)",
        ":13: method.shapes: '/etc/shapes.npy' is not inside the part's folder; move it "
        "there, or set allow_outside=True "
        "(--allow-outside)",
    ]
    path.write_text(PART.partition("[method]")[0])
    assert read_part(path, allow_outside=True).mesh == (tmp_path / "link.msh").resolve()


@pytest.mark.parametrize("name", ["../x", "", ".", "a/b", "nul\0"])
def test_50_interfaces_named_like_paths_are_rejected(name: str, mesh: pp.Mesh) -> None:
    with pytest.raises(FlexmbsError, match="not a frame name"):
        pp.reduce(
            mesh,
            STEEL,
            interfaces={name: pp.Rigid("x0"), "right": pp.Rigid("x1")},
            reference="right",
        )
