"""Stiffness and mass imported from other programs equal the original ones, for every format."""

import shutil
import sys

import calculix_jobs
import format_samples as samples
import numpy as np
import pytest
import scipy.io

import preprocess as pp
from flexmbs.errors import InputError, MachineError
from preprocess.formats import importers
from preprocess.formats.importers.node_files import node_table
from preprocess.inputs import number_parsing


def same_model(found: pp.FEModel, own: pp.FEModel, rtol: float = 1e-12) -> None:
    assert abs(found.K - own.K).max() < rtol * abs(own.K).max()
    assert abs(found.m - own.m).max() < rtol * own.m.max()
    np.testing.assert_allclose(found.nodes, own.nodes, atol=1e-15)


def test_stored_calculix_matrices_are_those_of_the_own_element() -> None:
    own = pp.assemble(calculix_jobs.brick(), calculix_jobs.STEEL)
    part, report = importers.read(calculix_jobs.DATA / "calculix_hex20.sti")
    assert isinstance(part, pp.FEModel)
    same_model(part, own, 1e-11)
    np.testing.assert_array_equal(part.triangles, own.triangles)
    np.testing.assert_array_equal(part.node_sets["x1"], own.node_sets["x1"])
    assert "mass 0.942 kg" in str(report)
    assert not report.warnings


def test_body_of_calculix_matrices_equals_the_own_body() -> None:
    read = pp.read_model(calculix_jobs.DATA / "calculix_hex20.sti")
    own = pp.assemble(calculix_jobs.brick(), calculix_jobs.STEEL)
    options = {
        "interfaces": {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        "method": pp.CraigBampton(modes=3),
        "reference": "hub",
    }
    a, b = pp.reduce(read, **options), pp.reduce(own, **options)
    np.testing.assert_allclose(a.modes.frequency, b.modes.frequency, rtol=1e-9)
    np.testing.assert_allclose(a.second_moment, b.second_moment, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(np.abs(a.S_bar), np.abs(b.S_bar), atol=1e-7)


@pytest.mark.skipif(calculix_jobs.CCX is None, reason="CalculiX (ccx) is not installed")
def test_live_calculix_run(tmp_path) -> None:
    """Matrices and frequencies of a job that ccx runs now; C3D10 has another rule for the mass, its
    stiffness is the same.
    """
    mesh = pp.box_mesh((0.2, 0.04, 0.03), (2, 1, 1), "hex20")
    own = pp.assemble(mesh, calculix_jobs.STEEL)
    job = calculix_jobs.run(mesh, tmp_path, "store", calculix_jobs.STORE)
    same_model(pp.read_model(job.with_suffix(".sti")), own, 1e-12)
    frd = importers.read_frd(
        calculix_jobs.run(mesh, tmp_path, "modes", "*FREQUENCY\n8\n*NODE FILE\nU").with_suffix(
            ".frd"
        )
    )
    shape = frd.modes[6].displacement.ravel()
    omega2 = (2 * np.pi * frd.modes[6].frequency) ** 2
    # six digits printed
    assert shape @ (own.K @ shape) / (shape @ own.mass_product(shape)) == pytest.approx(
        omega2, rel=1e-5
    )
    read = pp.read_modes(tmp_path / "modes.frd", pp.read_mesh(tmp_path / "modes.inp", unit="m"))
    assert read.frequency[6] == frd.modes[6].frequency
    np.testing.assert_array_equal(read.shapes[:, :, 6].ravel(), shape)
    surface = pp.read_model(job.with_suffix(".sti"), nodes=tmp_path / "modes.frd").triangles
    np.testing.assert_array_equal(np.sort(surface, axis=None), np.sort(own.triangles, axis=None))
    tets = pp.box_mesh((0.1, 0.04, 0.03), (1, 1, 1), "tet10")
    read = pp.read_model(
        calculix_jobs.run(tets, tmp_path, "tets", calculix_jobs.STORE).with_suffix(".sti")
    )
    assert abs(read.K - pp.assemble(tets, calculix_jobs.STEEL).K).max() < 1e-12 * abs(read.K).max()


@pytest.mark.parametrize("name", ["lower", "both", "held"])
def test_abaqus_matrices(tmp_path, name: str) -> None:
    """Supports, diagonals of 1e36, are removed: the original
    values follow from rigid translation.
    """
    fe = samples.solid()
    path = samples.abaqus(fe, tmp_path, held=7 if name == "held" else 0, both=name == "both")
    part, report = importers.read(path, nodes=samples.node_file(fe, tmp_path / "nodes.csv"))
    same_model(part, fe)
    assert ("7 diagonals above 1e+30" in str(report)) == (name == "held")


@pytest.mark.parametrize("wide", [True, False])
def test_nastran_dmig(tmp_path, wide: bool) -> None:
    fe = samples.solid()
    path = samples.dmig(fe, tmp_path / "bar.pch", wide=wide)
    same_model(pp.read_model(path, nodes=samples.node_file(fe, tmp_path / "nodes.csv")), fe, 1e-9)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("each", [3, 6])
def test_nastran_op4(tmp_path, sparse: bool, each: int) -> None:
    fe = samples.solid()
    path = samples.op4(fe, tmp_path / "bar.op4", sparse=sparse, each=each)
    same_model(pp.read_model(path, nodes=samples.node_file(fe, tmp_path / "nodes.csv")), fe)


def test_nastran_binary_op4_through_pynastran(tmp_path) -> None:
    pytest.importorskip("pyNastran", reason="the extra nastran (pyNastran) is not installed")
    fe = samples.solid()
    path = samples.binary_op4(fe, tmp_path / "bar.op4")
    same_model(pp.read_model(path, nodes=samples.node_file(fe, tmp_path / "nodes.csv")), fe)


def test_matrix_market_and_units(tmp_path) -> None:
    """The same part in mm, t, s: N/mm and t in the files."""
    fe = samples.solid()
    scipy.io.mmwrite(tmp_path / "K.mtx", fe.K * 1e-3, symmetry="symmetric", precision=17)
    scipy.io.mmwrite(tmp_path / "M.mtx", fe.m * 1e-3, precision=17)
    nodes = samples.node_file(fe, tmp_path / "nodes.csv", scale=1e-3)
    same_model(
        pp.read_model(tmp_path / "K.mtx", mass=tmp_path / "M.mtx", nodes=nodes, unit="mm-t-s"), fe
    )
    with pytest.warns(
        pp.PreprocessWarning, match=r"7.85e-06 kg/m³ in the bounding box; are the units right"
    ):
        pp.read_model(
            tmp_path / "K.mtx",
            mass=tmp_path / "M.mtx",
            nodes=samples.node_file(fe, nodes, scale=1e-2),
        )


def broken_model(tmp_path, change) -> str:
    """The message for the stored CalculiX job after a change of one file."""
    for suffix in (".inp", ".sti", ".mas", ".dof"):
        shutil.copy(calculix_jobs.DATA / f"calculix_hex20{suffix}", tmp_path / f"job{suffix}")
    change(tmp_path)
    with pytest.raises(InputError) as caught:
        pp.read_model(tmp_path / "job.sti")
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def rewrite(path, change) -> None:
    path.write_text(change(path.read_text()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: (p / "job.mas").unlink(), "needs job.mas in the same folder"),
        (lambda p: (p / "job.sti").write_text(""), "is empty; expected rows of row, column, value"),
        (
            lambda p: rewrite(p / "job.sti", lambda s: s[: s.rindex(" ")]),
            "not a multiple of 3; the file is truncated",
        ),
        (
            lambda p: rewrite(
                p / "job.sti", lambda s: s.replace("E+0", "?+0", 1).replace("e+0", "?+0", 1)
            ),
            "is not a number",
        ),
        (
            lambda p: rewrite(p / "job.sti", lambda s: s + "61 61 1.0\n"),
            "K has row or column 61 of 60",
        ),
        (lambda p: rewrite(p / "job.dof", lambda s: s[:-5]), "K has row or column 60 of 59"),
        (
            lambda p: rewrite(p / "job.dof", lambda s: s.replace("3.1", "77.1")),
            "node 3 has 2 of 3 displacements",
        ),
        (
            lambda p: rewrite(p / "job.dof", lambda s: s.replace("3.1", "3.5")),
            "node 3 has stiffness in direction 5",
        ),
        (
            lambda p: rewrite(
                p / "job.inp", lambda s: s.replace("\n1, 0.0, 0.0", "\n1, 0.01, 0.0")
            ),
            "K is not free of the rigid rotation",
        ),
        (lambda p: rewrite(p / "job.dof", lambda s: s.replace("20.", "21.")), "has no node 21 of"),
    ],
)
def test_broken_jobs_are_named(tmp_path, change, message: str) -> None:
    assert message in broken_model(tmp_path, change)


def test_formats_are_known_by_suffix_and_beginning(tmp_path) -> None:
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n")
    with pytest.raises(InputError, match="Matrix Market has no nodes"):
        importers.read(tmp_path / "a.mtx")
    (tmp_path / "a_STIF1.mtx").write_text("1,1,1,1,2.0\n")
    with pytest.raises(InputError, match="mass file not found"):
        importers.read(tmp_path / "a_STIF1.mtx")
    with pytest.raises(InputError, match=r"the format of '.xyz' is unknown; give format="):
        importers.read(tmp_path / "a.xyz")
    with pytest.raises(InputError, match="format: 'catia' is unknown"):
        importers.read(tmp_path / "a.mtx", format="catia")
    with pytest.raises(InputError, match="unit 'furlong' is unknown"):
        importers.read(tmp_path / "a.mtx", unit="furlong")
    with pytest.raises(InputError, match="contains finite-element matrices"):
        pp.read_body(calculix_jobs.DATA / "calculix_hex20.sti")


@pytest.mark.parametrize(
    ("file", "module", "extra"),
    [
        ("a.op2", "pyNastran.op2.op2", "nastran"),
        ("a.op4", "pyNastran.op4.op4", "nastran"),
        ("a.full", "ansys.mapdl.reader", "ansys"),
    ],
)
def test_binary_files_need_their_extra(
    tmp_path, monkeypatch, file: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / file).write_bytes(b"\0\1")
    samples.node_file(samples.solid(), tmp_path / "nodes.csv")
    with pytest.raises(MachineError, match=rf'pip install "flexmbs\[{extra}\]"'):
        importers.read(tmp_path / file, nodes=tmp_path / "nodes.csv")


def test_nodes_of_an_ansys_archive(tmp_path) -> None:
    """NBLOCK as CDWRITE writes it: zero coordinates at the end are omitted."""
    head = "/PREP7\nET,1,186\nNBLOCK,6,SOLID,2,2\n(3i9,6e21.13e3)\n"
    row = f"{7:9d}{0:9d}{0:9d}{-2.5e-1:21.13E}{1.5:21.13E}\n"
    (tmp_path / "a.cdb").write_text(f"{head}{row}{12:9d}{0:9d}{0:9d}\nN,R5.3,LOC,       -1,\n")
    table = node_table(tmp_path / "a.cdb")
    np.testing.assert_array_equal(table.ids, [7, 12])
    np.testing.assert_array_equal(table.positions, [[-0.25, 1.5, 0], [0, 0, 0]])


def test_large_matrix_file_is_read_fast(tmp_path) -> None:
    """Entries at 4 MB/s of processor time at least, on any machine of today."""
    import time

    row = b"   12345 54321  6.5064102564103e+08\n"
    start = time.process_time()
    values = number_parsing.table(row * 60_000, 3, "rows")
    assert time.process_time() - start < 0.54
    assert values.shape == (60_000, 3)
