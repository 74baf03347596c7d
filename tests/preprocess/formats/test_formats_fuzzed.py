"""Damaged files of other programs: for any change of their bytes only the project's own errors are
raised, with limited time and memory."""

import resource
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import calculix_jobs
import format_samples as samples
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import preprocess as pp
from flexmbs.errors import InputError, MachineError
from preprocess.formats import importers

SECONDS, MEGABYTES = 5, 500
WORDS = [
    b"-1",
    b"0",
    b"nan",
    b"1e999",
    b"99999999999999999999",
    b"2147483648",
    b"65537",
    b"1e-320",
    b"\xff\xfe",
    b"\0",
    b",",
    b"\n",
    b"*",
]


def mutated(data: bytes, draw: Callable) -> bytes:
    """The bytes with one to three changes: bits, words, missing, doubled or exchanged stretches, an
    early end.
    """
    for _ in range(draw(st.integers(1, 3))):
        a = draw(st.integers(0, max(len(data) - 1, 0)))
        b = min(len(data), a + draw(st.sampled_from([1, 2, 8, 40, 400])))
        kind = draw(st.sampled_from(["flip", "word", "cut", "double", "end", "number"]))
        if kind == "flip":
            data = (
                data[:a] + bytes([data[a] ^ (1 << draw(st.integers(0, 7)))]) + data[a + 1 :]
                if data
                else data
            )
        elif kind == "word":
            data = data[:a] + draw(st.sampled_from(WORDS)) + data[b:]
        elif kind == "cut":
            data = data[:a] + data[b:]
        elif kind == "double":
            data = data[:b] + data[a:b] + data[b:]
        elif kind == "end":
            data = data[:a]
        else:
            data = data[:a] + str(draw(st.integers(-(10**9), 10**9))).encode() + data[a + 1 :]
    return data


class TooSlow(Exception):
    """A reader that does not return."""


def _interrupt(*_: object) -> None:
    raise TooSlow


def survives(path: Path, **options: object) -> None:
    """Read the file: a part, or one of the project's errors, within the time and the memory
    allowed.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, _interrupt)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of processor time
    said = ""
    try:
        importers.read(path, **options)
    except (InputError, MachineError) as error:
        said = str(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert len(said) < 5000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES * 1024


def _bodies(folder: Path) -> None:
    body = samples.lumped_body(2, 5)
    for name in ("a.sid", "a.fem", "a.mbsim.h5", "a.h5"):
        pp.write_body(body, folder / name)


def _calculix(folder: Path) -> None:
    for suffix in (".inp", ".sti", ".mas", ".dof"):
        shutil.copy(calculix_jobs.DATA / f"calculix_hex20{suffix}", folder / f"job{suffix}")


def _frd(folder: Path) -> None:
    _calculix(folder)
    mesh = calculix_jobs.brick()
    head = f"    1C\n    2C{'':18s}{len(mesh.nodes):12d}{'':37s}1\n"
    rows = "".join(
        f" -1{k:10d}" + "".join(f"{v:12.5E}" for v in x) + "\n" for k, x in enumerate(mesh.nodes, 1)
    )
    element = " -1         1    4    0    1\n" + "".join(
        f" -2{''.join(f'{k:10d}' for k in range(a, a + 10))}\n" for a in (1, 11)
    )
    modes = (
        "  100CL  101 1.00000E+02          20                     2    1MODAL      1\n -4 "
        " DISP        4    1\n -5  D1\n" + rows
    )
    (folder / "job.frd").write_text(f"{head}{rows} -3\n    3C\n{element} -3\n{modes} -3\n 9999\n")


def _others(folder: Path) -> None:
    fe = pp.assemble(pp.box_mesh((0.1, 0.04, 0.03), (1, 1, 1), "tet4"), calculix_jobs.STEEL)
    samples.node_file(fe, folder / "nodes.csv")
    samples.abaqus(fe, folder)
    rows = [
        f"{k:9d}{0:9d}{0:9d}" + "".join(f"{value:21.13E}" for value in x)
        for k, x in enumerate(fe.nodes, 1)
    ]
    (folder / "nodes.cdb").write_text(
        "\n".join(["NBLOCK,6,SOLID", "(3i9,6e21.13e3)", *rows, "N,R5.3,LOC,       -1,", ""])
    )
    samples.dmig(fe, folder / "a.pch")
    samples.dmig(fe, folder / "b.pch", wide=False)
    samples.op4(fe, folder / "a.op4")
    samples.op4(fe, folder / "b.op4", sparse=True, each=6)
    scipy.io.mmwrite(folder / "K.mtx", fe.K, symmetry="symmetric")
    scipy.io.mmwrite(folder / "M.mtx", fe.m)


def _superelements(folder: Path) -> None:
    bar = pp.box_mesh((0.1, 0.04, 0.03), (1, 1, 1), "hex20")
    interfaces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    body = pp.reduce(
        bar,
        calculix_jobs.STEEL,
        interfaces=interfaces,
        method=pp.CraigBampton(modes=1),
        reference="hub",
    )
    samples.frame_file(body, folder / "nodes.csv")
    samples.abaqus_substructure(body, folder / "a.mtx")
    samples.dmig_superelement(body, folder / "a.pch")
    for name in ("own.mtx", "own.dmig", "own.op4"):
        pp.write_body(body, folder / name)


# name: (files that are made, file that is damaged, file that is read, options naming files)
CASES = {
    "sid": (_bodies, "a.sid", "a.sid", {}),
    "public sid": (
        lambda p: shutil.copy(calculix_jobs.DATA / "balken1m.SID_FEM", p / "a.sid"),
        "a.sid",
        "a.sid",
        {},
    ),
    "mbdyn": (_bodies, "a.fem", "a.fem", {}),
    "mbsim": (_bodies, "a.mbsim.h5", "a.mbsim.h5", {}),
    "flexmbs": (_bodies, "a.h5", "a.h5", {}),
    "calculix sti": (_calculix, "job.sti", "job.sti", {}),
    "calculix dof": (_calculix, "job.dof", "job.sti", {}),
    "calculix inp": (_calculix, "job.inp", "job.sti", {}),
    "calculix frd": (_frd, "job.frd", "job.sti", {"nodes": "job.frd"}),
    "abaqus": (_others, "bar_STIF1.mtx", "bar_STIF1.mtx", {"nodes": "nodes.csv"}),
    "ansys archive": (_others, "nodes.cdb", "bar_STIF1.mtx", {"nodes": "nodes.cdb"}),
    "node table": (_others, "nodes.csv", "bar_STIF1.mtx", {"nodes": "nodes.csv"}),
    "dmig": (_others, "a.pch", "a.pch", {"nodes": "nodes.csv"}),
    "dmig in free fields": (_others, "b.pch", "b.pch", {"nodes": "nodes.csv"}),
    "op4": (_others, "a.op4", "a.op4", {"nodes": "nodes.csv"}),
    "sparse op4": (_others, "b.op4", "b.op4", {"nodes": "nodes.csv"}),
    "abaqus substructure": (_superelements, "a.mtx", "a.mtx", {"nodes": "nodes.csv"}),
    "dmig superelement": (_superelements, "a.pch", "a.pch", {"nodes": "nodes.csv"}),
    "own user element": (_superelements, "own.mtx", "own.mtx", {}),
    "own dmig": (_superelements, "own.dmig", "own.dmig", {}),
    "own op4": (_superelements, "own.op4", "own.op4", {}),
    "points of op4": (_superelements, "own.op4.bdf", "own.op4", {}),
    "matrix market": (_others, "K.mtx", "K.mtx", {"mass": "M.mtx", "nodes": "nodes.csv"}),
}
EXAMPLES = 10


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Callable[[str], Path]:
    """Folder with the valid files of a case, made once."""
    made: dict[Callable, Path] = {}

    def folder(name: str) -> Path:
        make = CASES[name][0]
        if make not in made:
            made[make] = tmp_path_factory.mktemp("sound")
            make(made[make])
        return made[make]

    return folder


@pytest.mark.parametrize("name", CASES)
def test_only_own_errors_escape(name: str, sound) -> None:
    folder, (_, damaged, read, options) = sound(name), CASES[name]
    survives(folder / read, **{key: folder / file for key, file in options.items()})
    whole = (folder / damaged).read_bytes()

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def attempt(data: st.DataObject) -> None:
        with tempfile.TemporaryDirectory() as place:
            copy = shutil.copytree(folder, Path(place) / "copy")
            (copy / damaged).write_bytes(mutated(whole, data.draw))
            survives(copy / read, **{key: copy / file for key, file in options.items()})

    attempt()
