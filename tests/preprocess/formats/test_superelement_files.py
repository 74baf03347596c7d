"""Superelements of Nastran and Abaqus: files that this program writes return as the same body, and
are what the programs read.
"""

import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import format_samples as samples
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import preprocess as pp
from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats import importers
from preprocess.formats.exporters.base import ExportRequest
from preprocess.formats.exporters.nastran import _dmig, _field
from preprocess.formats.exporters.superelement import (
    notes,
    numbered_superelement,
    superelement,
)

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
FILES = ["bar.dmig", "bar.pch", "bar.op4", "bar.mtx"]
INTERFACES = {"tip": pp.Averaged("x1"), "hub": pp.Rigid("x0")}


@cache
def bar(reference: str = "hub") -> FlexibleBodyData:
    body = pp.reduce(
        pp.box_mesh((0.3, 0.04, 0.03), (2, 1, 1), "hex20"),
        STEEL,
        interfaces=INTERFACES,
        method=pp.CraigBampton(modes=4),
        reference=reference,
        damping=0.01,
    )
    return replace(body, name="a long bar")


@pytest.mark.parametrize("unit", ["m-kg-s", "mm-t-s", "in-lbf-s"])
@pytest.mark.parametrize("file", FILES)
def test_the_same_body_returns(tmp_path, file: str, unit: str) -> None:
    """Frequencies to the digits of the file: 17, in DMIG fields 11."""
    body, digits = bar(), 1e-9 if file[-4:] in ("dmig", ".pch") else 1e-12
    lost = pp.write_body(body, tmp_path / file, unit=unit, nodes={"tip": 70})
    assert not any("digits" in line for line in lost)
    read, report = importers.read(tmp_path / file, unit=unit)
    assert isinstance(read, FlexibleBodyData)
    np.testing.assert_allclose(read.modes.frequency, body.modes.frequency, rtol=digits)
    np.testing.assert_allclose(read.inertia, body.inertia, atol=1e-11)
    np.testing.assert_allclose(read.com, body.com, atol=1e-11)
    assert list(read.frames) == ["hub", "tip"]
    np.testing.assert_allclose(read.frames["tip"].x, body.frames["tip"].x, atol=1e-12)
    for name in ("phi", "psi"):
        found, own = (getattr(each.frames["tip"], name) for each in (read, body))
        np.testing.assert_allclose(abs(found), abs(own), atol=1e-7 * abs(own).max())
    if file != "bar.mtx":
        np.testing.assert_allclose(
            np.linalg.eigvalsh(read.D_ff), np.linalg.eigvalsh(body.D_ff), rtol=1e-8
        )
    assert any("user elements have no damping" in line for line in lost) == (file == "bar.mtx")
    assert [doubt.partition(":")[0] for doubt in report.warnings] == [
        "a superelement has no products of shapes"
    ]


@pytest.mark.parametrize(("interfaces", "modes"), [("hub tip", 0), ("hub tip", 1), ("hub", 1)])
@pytest.mark.parametrize("file", FILES[1:])
def test_few_modes_and_one_interface(tmp_path, file: str, interfaces: str, modes: int) -> None:
    body = pp.reduce(
        pp.box_mesh((0.3, 0.04, 0.03), (2, 1, 1), "hex20"),
        STEEL,
        interfaces={name: INTERFACES[name] for name in interfaces.split()},
        method=pp.CraigBampton(modes=modes) if modes else pp.Guyan(),
        reference="hub",
    )
    pp.write_body(body, tmp_path / file)
    read = importers.read(tmp_path / file).part
    np.testing.assert_allclose(read.modes.frequency, body.modes.frequency, rtol=1e-9)
    assert read.mass == pytest.approx(body.mass)


@pytest.mark.parametrize("file", FILES)
def test_other_units_than_those_of_the_file_are_refused(tmp_path, file: str) -> None:
    pp.write_body(bar(), tmp_path / file, unit="mm-t-s")
    with pytest.raises(InputError, match="its units are mm-t-s, not m-kg-s; read it with unit="):
        importers.read(tmp_path / file)
    assert importers.read(tmp_path / file, unit="mm").part.mass == pytest.approx(2.826)


def test_pynastran_reads_what_is_written(tmp_path, monkeypatch) -> None:
    """Points of the bulk data, and free frequencies of its matrices from DMIG and OUTPUT4."""
    pytest.importorskip("pyNastran", reason="the extra nastran (pyNastran) is not installed")
    monkeypatch.setattr(np, "in1d", np.isin, raising=False)  # pyNastran 1.4 with NumPy 2.4
    from pyNastran.bdf.bdf import read_bdf
    from pyNastran.op4.op4 import read_op4

    body, free = bar(), bar("mean axes").modes.frequency
    for file in ("bar.dmig", "bar.op4"):
        pp.write_body(body, tmp_path / file, nodes={"hub": 11, "tip": 12})
    deck = read_bdf(tmp_path / "bar.dmig", punch=True, xref=False, debug=None)
    assert sorted(deck.nodes) == [11, 12]
    assert sorted(deck.spoints) == [13, 14, 15, 16]
    np.testing.assert_allclose(deck.nodes[12].xyz, body.frames["tip"].x, atol=1e-12)
    matrices = [
        [deck.dmig[name].get_matrix(is_sparse=False)[0] for name in ("KALONGBA", "MALONGBA")]
    ]
    stored = read_op4(str(tmp_path / "bar.op4"), debug=None)
    matrices.append([stored[name].data for name in ("KALONGBA", "MALONGBA")])
    for K, M in matrices:
        omega2 = scipy.linalg.eigh(K, M, eigvals_only=True)
        np.testing.assert_allclose(np.sqrt(omega2[6:]) / (2 * np.pi), free, rtol=1e-7)
    K, _, _ = superelement(bar())  # the frames of a body that is reduced to "hub" are tip, hub
    order = np.r_[6:12, 0:6, 12:16]
    np.testing.assert_allclose(stored["KALONGBA"].data, K[np.ix_(order, order)], rtol=1e-6, atol=1)


@given(st.floats(-1e300, 1e300))
def test_dmig_fields_are_double_precision_numbers_of_16_characters(value: float) -> None:
    text = _field(value)
    assert len(text) == 16
    assert re.fullmatch(r" *-?\d\.\d+D[+-]\d+", text)
    assert float(text.replace("D", "E")) == pytest.approx(value, rel=5e-9, abs=1e-320)
    if 1e-9 < abs(value) < 1e10:
        assert float(text.replace("D", "E")) == pytest.approx(value, rel=5e-11)


def test_digits_that_change_frequencies_are_told() -> None:
    """Stiffness rounded to six digits changes frequencies; a negative one is refused."""
    exact = numbered_superelement(bar(), ExportRequest(Path("bar.dmig")))

    def rounded(digits: int) -> list[str]:
        K = np.array([float(f"{value:.{digits}e}") for value in exact.K.ravel()])
        return notes(bar(), "DMIG", exact, exact._replace(K=K.reshape(exact.K.shape)))

    assert not any("digits" in line for line in rounded(11))
    assert any(re.match(r"digits of the format change frequency \d+ by ", s) for s in rounded(5))
    with pytest.raises(InputError, match="the digits of this format do not suffice"):
        notes(bar(), "DMIG", exact, exact._replace(K=-exact.K))


def test_grids_of_another_file_may_have_no_elements(tmp_path) -> None:
    """DMIG without points, as EXTSEOUT writes it beside the deck."""
    pp.write_body(bar(), tmp_path / "all.dmig")
    text = (tmp_path / "all.dmig").read_text()
    head, mark, tail = text.partition("DMIG    KALONGBA")
    (tmp_path / "bar.pch").write_text(mark + tail)
    with pytest.raises(InputError, match=r"needs bar.bdf or bar.dat or bar.nas"):
        importers.read(tmp_path / "bar.pch")
    (tmp_path / "bar.bdf").write_text(f"SOL 103\nCEND\nBEGIN BULK\n{head}ENDDATA\n")
    read = importers.read(tmp_path / "bar.pch").part
    np.testing.assert_allclose(read.modes.frequency, bar().modes.frequency, rtol=1e-9)


def test_grids_with_displacement_systems_and_without_rotations(tmp_path) -> None:
    """As EXTSEOUT punches them: CD of some grids, "GRID   *", rotations that have no stiffness."""
    element = numbered_superelement(bar(), ExportRequest(tmp_path / "bar.dmig"))
    axes = Rotation.from_euler("z", 30, degrees=True).as_matrix()
    T = scipy.linalg.block_diag(np.eye(6), axes, axes, np.eye(4), np.zeros((6, 6)))
    labels = [*element.labels, *((9, k) for k in range(1, 7))]
    (x, y, z), (u, v, w) = (place for _, place in element.interfaces.values())
    lines = [
        "BEGIN SUPER       7",
        f"CORD2R,5,,0.,0.,0.,0.,0.,1.,\n,{axes[0, 0]:.15f},{axes[1, 0]:.15f},0.",
        f"GRID   *{1:16d}{'':16}{x:16.12f}{y:16.12f}\n*       {z:16.12f}",
        f"GRID   *{2:16d}{'':16}{u:16.12f}{v:16.12f}\n*       {w:16.12f}{5:16d}",
        "GRID,9,,1.,0.,0.",
        "SPOINT,3,THRU,6",
    ]
    for name, A in (("KAAX", element.K), ("MAAX", element.M), ("BAAX", element.D)):
        whole = scipy.linalg.block_diag(A, np.zeros((6, 6)))
        lines += [
            line.replace("DMIG*  ", "DMIG  *") for line in _dmig(name, T.T @ whole @ T, labels)
        ]
    (tmp_path / "bar.pch").write_text("\n".join(lines) + "\n")
    read, report = importers.read(tmp_path / "bar.pch")
    np.testing.assert_allclose(read.modes.frequency, bar().modes.frequency, rtol=1e-8)
    found, own = read.frames["node 2"].phi, bar().frames["tip"].phi
    np.testing.assert_allclose(abs(found), abs(own), atol=1e-6 * abs(own).max())
    assert "1 grids with own displacement systems (CD)" in str(report)


def test_further_matrices_of_a_superelement(tmp_path) -> None:
    """Structural damping K4… and modal data M… before stiffness and mass are neither."""
    pp.write_body(bar(), tmp_path / "bar.dmig")
    text = (tmp_path / "bar.dmig").read_text()
    text = text.replace("KALONGBA", "KAAX    ").replace("MALONGBA", "MAAX    ")
    head, mark, tail = text.partition("DMIG    KAAX")
    others = "".join(
        f"DMIG,{name},0,6,2,0\nDMIG,{name},1,1,,1,1,5.\n" for name in ("K4AAX", "MUG1")
    )
    (tmp_path / "bar.dmig").write_text(head + others + mark + tail)
    read, report = importers.read(tmp_path / "bar.dmig")
    np.testing.assert_allclose(read.modes.frequency, bar().modes.frequency, rtol=1e-9)
    assert "structural damping K4AAX is omitted" in report.warnings


def test_op4_that_does_not_fit_its_points(tmp_path) -> None:
    pp.write_body(bar(), tmp_path / "bar.op4")
    points = tmp_path / "bar.op4.bdf"
    points.write_text(points.read_text().replace("SPOINT,3,THRU,6", "SPOINT,3,THRU,7"))
    with pytest.raises(InputError, match=r"has 16 rows; 2 nodes and 5 scalar points of .* give 17"):
        importers.read(tmp_path / "bar.op4")


def test_what_does_not_fit_is_refused_in_one_line(tmp_path) -> None:
    body = bar()
    for options, message in (
        ({"nodes": {"tap": 1}}, "nodes: 'tap' is no frame of the body; its frames are hub, tip"),
        ({"nodes": {"tip": 0}}, "nodes: 'tip' at 0; give each frame its own number"),
        ({"nodes": {"tip": 3, "hub": 3}}, "nodes: a number is given twice"),
        ({"nodes": {"tip": 99_999_997}}, "leaves no numbers for 4 modes"),
        ({"unit": "foot"}, "unit 'foot' is unknown"),
    ):
        with pytest.raises(InputError, match=message):
            pp.write_body(body, tmp_path / "bar.dmig", **options)
    for bare, message in (
        (
            replace(body, frames={}, geometric=None, stress=None),
            "has no frames; declare interfaces",
        ),
        (samples.lumped_body(0), "lumps: is rigid; declare its mass in the deck"),
    ):
        with pytest.raises(InputError, match=message):
            pp.write_body(bare, tmp_path / "bar.dmig")
    for options in ({"unit": "mm-t-s"}, {"nodes": {"tip": 3}}):
        with pytest.raises(InputError, match="sid files are in SI units and number nodes from 1"):
            pp.write_body(body, tmp_path / "bar.sid", **options)


def test_a_pynastran_that_does_not_load_is_named(tmp_path, monkeypatch) -> None:
    """An import that fails for another reason than absence: the functions that NumPy dropped."""

    class Broken:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError("no in1d")

    monkeypatch.setitem(sys.modules, "pyNastran", Broken())
    monkeypatch.setitem(sys.modules, "pyNastran.op2.op2", Broken())
    pp.write_body(bar(), tmp_path / "bar.op4")
    (tmp_path / "bar.op2").write_bytes(b"\0\1")
    with pytest.raises(
        MachineError, match=r"OP2 is read by pyNastran, which does not load \(.*in1d"
    ):
        importers.read(tmp_path / "bar.op2", nodes=tmp_path / "bar.op4.bdf")


def modes_of_a_clamped_bar(tmp_path, monkeypatch) -> tuple[pp.Mesh, np.ndarray, np.ndarray, list]:
    """Mesh of a deck in which the last node has turned displacements, exact modes clamped at x = 0, and
    the tables that pyNastran would return for them.
    """
    box = pp.box_mesh((0.3, 0.04, 0.03), (3, 1, 1), "hex8")
    deck = ["CORD2R,5,,0.,0.,0.,0.,0.,1.", ",0.,1.,0."]
    deck += [
        f"GRID,{n},,{x:.6f},{y:.6f},{z:.6f},{5 if n == len(box.nodes) else ''}"
        for n, (x, y, z) in enumerate(box.nodes, 1)
    ]
    for n, row in enumerate(box.blocks["hex8"].connectivity + 1, 1):
        deck += [f"CHEXA,{n},1,{','.join(map(str, row[:6]))}", f",{row[6]},{row[7]}"]
    path = tmp_path / "bar.bdf"
    path.write_text("\n".join([*deck, "PSOLID,1,1", "MAT1,1,2.1+11,,0.3,7850.", "ENDDATA", ""]))
    mesh = pp.read_mesh(path, unit="m")
    fe = pp.assemble(mesh, STEEL)
    free = np.repeat(fe.nodes[:, 0] > 1e-9, 3)
    omega2, V = scipy.linalg.eigh(
        fe.K.toarray()[np.ix_(free, free)], fe.M.toarray()[np.ix_(free, free)]
    )
    shapes = np.zeros((free.size, 3))
    shapes[free] = V[:, :3]
    shapes = shapes.reshape(-1, 3, 3)
    stored = np.zeros((3, len(mesh.nodes), 6))
    stored[:, :, :3] = shapes.transpose(2, 0, 1)
    turned = int(np.argmax(mesh.node_ids))
    x, y, z = stored[:, turned, :3].T.copy()
    stored[:, turned, :3] = np.stack([y, -x, z], axis=1)  # axes y, −x, z of system 5
    order = np.random.default_rng(0).permutation(len(mesh.nodes))
    grids = np.stack([mesh.node_ids[order], np.ones(len(order), int)], axis=1)
    table = SimpleNamespace(
        analysis_code=2, node_gridtype=grids, eigns=omega2[:3], data=stored[:, order]
    )
    tables = [table]
    monkeypatch.setattr(
        "preprocess.formats.importers.modes.read_op2",
        lambda path: SimpleNamespace(eigenvectors=dict(enumerate(tables))),
    )
    (tmp_path / "bar.op2").write_bytes(b"\0")
    return mesh, np.sqrt(omega2[:3]) / (2 * np.pi), shapes, tables


def test_modes_of_an_op2_file_become_a_basis(tmp_path, monkeypatch) -> None:
    """In mesh order and axes; the body has the frequencies of the modes."""
    mesh, frequency, shapes, _ = modes_of_a_clamped_bar(tmp_path, monkeypatch)
    modes = pp.read_modes(tmp_path / "bar.op2", mesh)
    np.testing.assert_allclose(modes.frequency, frequency)
    np.testing.assert_allclose(modes.shapes, shapes, atol=1e-12 * abs(shapes).max())
    body = pp.reduce(
        mesh,
        STEEL,
        interfaces={"hub": pp.Rigid(pp.Plane((0, 0, 0), (1, 0, 0)))},
        method=pp.GivenShapes(modes.shapes),
        reference="hub",
    )
    np.testing.assert_allclose(body.modes.frequency, frequency, rtol=1e-9)


def test_op2_files_without_such_modes_are_named(tmp_path, monkeypatch) -> None:
    mesh, _, _, tables = modes_of_a_clamped_bar(tmp_path, monkeypatch)
    op2 = tmp_path / "bar.op2"
    whole = tables[0]

    def message(path=op2) -> str:
        with pytest.raises(InputError) as caught:
            pp.read_modes(path, mesh)
        assert len(str(caught.value).splitlines()) == 1
        return str(caught.value)

    tables.append(whole)
    assert "has normal modes of 2 subcases or superelements; write one" in message()
    tables[:] = [SimpleNamespace(**vars(whole) | {"analysis_code": 8})]
    assert "has no modes; request the displacements of normal modes" in message()
    few = {"node_gridtype": whole.node_gridtype[:-1], "data": whole.data[:, :-1]}
    tables[:] = [SimpleNamespace(**vars(whole) | few)]
    assert "has no displacement of node" in message()
    tables[:] = [SimpleNamespace(**vars(whole) | {"data": whole.data * np.nan})]
    assert "has displacements that are not finite" in message()
    (tmp_path / "bar.f06").write_text("")
    assert "modes are read from .op2 and .frd files" in message(tmp_path / "bar.f06")
    (tmp_path / "other.op2").write_bytes(b"\0")
    assert "other.op2: needs other.bdf or other.dat" in message(tmp_path / "other.op2")
