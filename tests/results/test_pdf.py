"""Report as a PDF document, read by another program; without the package typst, one clear line."""

import itertools
import json
import re
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import ImageFont
from runs import hanging
from test_contacts_on_the_page import sledge
from test_report import NASTY, named_nastily
from test_stress import mechanism, stressed_beam

import flexmbs as fm
from flexmbs.__main__ import main

pypdf = pytest.importorskip("pypdf")
pytest.importorskip("typst")


def texts(path: Path) -> list[str]:
    """Of each page, words without the places where they may be broken."""
    return [page.extract_text().replace("\u200b", "") for page in pypdf.PdfReader(path).pages]


def pixels(path: Path) -> list[int]:
    """Number of images of pixels on each page."""
    return [len(page.images) for page in pypdf.PdfReader(path).pages]


@pytest.fixture(scope="module")
def swing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, fm.Solution]:
    path = tmp_path_factory.mktemp("pdf") / "swing.pdf"
    solution = fm.simulate(hanging(angle=1.0), t_end=0.8, step=1e-3)
    solution.report(path)
    return path, solution


def test_text_pages_and_contents(swing: tuple[Path, fm.Solution]) -> None:
    path, solution = swing
    pages, reader = texts(path), pypdf.PdfReader(path)
    assert reader.metadata is not None
    assert reader.metadata.title == solution.model.name
    # the verdict first
    assert pages[0].startswith(f"{solution.model.name}\n{solution.verdict} The run reached its end")
    assert [f"{k + 1} / {len(pages)}" in page for k, page in enumerate(pages)] == [True] * len(
        pages
    )
    contents = dict(re.findall(r"^([A-Z][\w ]+?)[ .]{5,}(\d+)$", pages[0], re.MULTILINE))
    assert list(contents)[:2] == ["Checks", "Joints"]
    assert list(contents)[-4:] == ["Model", "Equations", "Solver", "Provenance"]
    for title, page in contents.items():
        assert re.search(rf"^{title}$", pages[int(page) - 1], re.MULTILINE)
    outline = [entry.title for entry in reader.outline if not isinstance(entry, list)]
    assert outline == list(contents)
    every = "\n".join(pages)
    for check in solution.audit:
        assert check.title in every
    assert 'kind = "revolute"' in every  # the model file
    numbers = json.loads(path.with_name("swing.summary.json").read_text())
    assert numbers["verdict"] == solution.verdict


def test_curves_are_lines_with_text_and_not_pixels(swing: tuple[Path, fm.Solution]) -> None:
    path, solution = swing
    page = next(
        page for page in pypdf.PdfReader(path).pages if "Joint angles" in page.extract_text()
    )
    assert len(page.images) == 0
    assert {"0.0", "0.2", "0.4", "0.6", "0.8", "hinge.0"} <= set(
        page.extract_text().replace("−", "-").split()
    )
    angle = solution.joint("hinge").position[:, 0]
    # points that are less than a ninth of a pixel from a line are left out
    curves = [path for path in curve_points(page) if len(path) > 30]
    assert all(np.all(np.diff(drawn[:, 0]) >= 0) for drawn in curves)
    places = [
        np.interp(
            np.linspace(0, 1, 50), (drawn[:, 0] - drawn[0, 0]) / np.ptp(drawn[:, 0]), drawn[:, 1]
        )
        for drawn in curves
    ]
    true = np.interp(np.linspace(0, 0.8, 50), solution.t, angle)
    assert max(abs(np.corrcoef(place, true)[0, 1]) for place in places) > 0.9999


def curve_points(page: "pypdf.PageObject") -> list[np.ndarray]:
    """Points of the paths of a page and of the forms in it, in its own units."""
    found: list[list[tuple[float, float]]] = [[]]

    def walk(operands: list, name: bytes, number: int = 0) -> None:
        if name == b"m":
            found.append([])
        if name in (b"m", b"l"):
            found[-1].append((float(operands[0]), float(operands[1])))

    def visit(stream: object, resources: "pypdf.generic.DictionaryObject") -> None:
        for operands, name in pypdf.generic.ContentStream(stream, page.pdf).operations:
            walk(operands, name)
            if name == b"Do":
                form = resources["/XObject"][operands[0]].get_object()
                if form["/Subtype"] == "/Form":
                    visit(form, form.get("/Resources", resources).get_object())

    visit(page.get_contents(), page["/Resources"].get_object())
    return [np.array(path) for path in found]


def test_names_are_text_and_never_code(tmp_path: Path) -> None:
    model = named_nastily()
    model.add(fm.RigidBody("#panic() @a *b*", mass=1.0, inertia=(1, 1, 1)))
    fm.simulate(model, t_end=0.05, step=0.01).report(tmp_path / "out.PDF")
    every = " ".join(texts(tmp_path / "out.PDF"))
    assert NASTY in every
    assert "#panic() @a *b*" in every
    assert "$a_1$ & <img src=x onerror=alert(1)>" in every
    assert '_hinge, "$x^2$"' in every


def runs_of_text(page: "pypdf.PageObject") -> list[tuple[int, float, float, str]]:
    """Pieces of text of a page: line, left and right end in points, text; by line and place."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    sans, mono = (
        ImageFont.truetype(str(folder / f"DejaVuSans{kind}.ttf"), 200) for kind in ("", "Mono")
    )
    found = []

    def visit(text: str, at: list[float], within: list[float], named: dict, size: float) -> None:
        shown = text.replace("\u200b", "").strip()
        x, y = at[4] + within[4] * at[0], at[5] + within[5] * at[3]
        font = mono if named and "Mono" in named["/BaseFont"] else sans
        if shown:
            found.append(
                (round(y), x, x + font.getlength(shown) * size * within[0] * at[0] / 200.0, shown)
            )

    page.extract_text(visitor_text=visit)
    return sorted(found)


@pytest.mark.parametrize(
    "rest",
    [
        "_shoulder_controller_of_the_upper_arm.left_side" * 2,
        " part of the left arm with all that belongs to it" * 2,
        "W" * 90,
    ],
)
def test_long_names_stay_in_their_columns(tmp_path: Path, rest: str) -> None:
    """Names of 100 characters, with marks, of words and without any place to break: no text on
    another or beyond the margin.
    """
    names = iter(f"{k}{rest}"[:100].strip() for k in range(20))
    model = fm.Model(next(names), gravity=(0, 0, -9.81))
    tip = next(names)
    arm = model.add(
        fm.RigidBody(
            next(names), mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0), frames={tip: (1, 0, 0)}
        )
    )
    end = model.add(fm.RigidBody(next(names), mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0)))
    hinge = model.add(fm.Revolute(next(names), model.ground, arm, axis="y", q0=-0.5))
    model.add(fm.Revolute(next(names), arm[tip], end, axis="y", q0=0.4))
    model.add(fm.JointFriction(next(names), joint=hinge, coulomb=0.1))
    model.add(fm.SpherePlane(next(names), model.ground, end, radius=0.02, friction=0.3))
    fm.simulate(model, t_end=0.01, step=1e-3, integrator="moreau-jean").report(
        tmp_path / "long.pdf"
    )
    reader = pypdf.PdfReader(tmp_path / "long.pdf")
    every = "".join(re.sub(r"\s", "", text) for text in texts(tmp_path / "long.pdf"))
    for name in (model.name, *model.bodies, *model.joints, *model.forces, *model.contacts, tip):
        assert name.replace(" ", "") in every
    for page in reader.pages:
        runs = runs_of_text(page)
        right = float(page.mediabox.width) - 56.0
        assert not [run for run in runs if run[2] > right + 1.0 and "…" not in run[3]]
        for one, other in itertools.pairwise(runs):
            assert one[0] != other[0] or other[1] > one[2] - 1.5, (one, other)


def test_only_solids_are_pixels(tmp_path: Path) -> None:
    """The pages of curves have none; the modes of a part have one each, the stress of a body two,
    one from each side.
    """
    solution = fm.simulate(mechanism(stressed_beam()), t_end=0.02, step=0.002)
    solution.report(tmp_path / "beam.pdf")
    pages, counts = texts(tmp_path / "beam.pdf"), pixels(tmp_path / "beam.pdf")
    data = next(iter(solution.compiled.data.values()))
    assert sum(counts) == 1 + min(data.nf, 6) + 2 * len(solution.compiled.data)  # the motion first
    assert counts[0] == 1
    curves = [
        count
        for page, count in zip(pages, counts)
        if "Mode 1" not in page and "Von Mises" not in page
    ]
    assert sum(curves) == 1
    every = "\n".join(pages)
    assert "Von Mises stress at t = " in every
    assert f"{data.modes.frequency[0]:.4g} Hz" in every


def test_contacts_and_their_states(tmp_path: Path) -> None:
    solution = fm.simulate(sledge(0.5, height=0.1), t_end=0.3, step=1e-3, integrator="moreau-jean")
    solution.report(tmp_path / "sledge.pdf")
    every = "\n".join(texts(tmp_path / "sledge.pdf"))
    for words in (
        "Contacts and friction",
        "States of the contacts",
        "slip",
        "impact of",
        "Normal force [N]",
    ):
        assert words in re.sub(" +", " ", every)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fm.simulate(hanging(), t_end=0.02, step=0.01).save(tmp_path / "run.h5")
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "run.h5"), "-o", str(tmp_path / "run.pdf")])
    assert end.value.code == 0
    assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(SystemExit) as end:  # a PDF replaces a PDF, nothing else
        main(["report", str(tmp_path / "run.h5"), "-o", str(tmp_path / "run.pdf")])
    assert end.value.code == 0
    (tmp_path / "page.pdf").write_text("<!doctype html><p>")
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "run.h5"), "-o", str(tmp_path / "page.pdf")])
    assert end.value.code == 2
    assert "is an HTML page, not a PDF document" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(
            [
                "report",
                str(tmp_path / "run.h5"),
                str(tmp_path / "run.h5"),
                "-o",
                str(tmp_path / "two.pdf"),
            ]
        )
    assert end.value.code == 2
    assert "two runs are compared on an HTML page; use the suffix .html" in capsys.readouterr().err


def test_without_typst_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solution = fm.simulate(hanging(), t_end=0.02, step=0.01)
    monkeypatch.setitem(sys.modules, "typst", None)
    needed = (
        r'report: a PDF document needs the package typst; install it: pip install "flexmbs\[pdf\]"'
    )
    with pytest.raises(fm.MachineError, match=needed):
        solution.report(tmp_path / "run.pdf")
    solution.save(tmp_path / "run.h5")
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "run.h5"), "-o", str(tmp_path / "run.pdf")])
    assert end.value.code == 4
    solution.model.save(tmp_path / "m.toml")
    with pytest.raises(SystemExit) as end:  # before the run, not after it
        main(
            [
                "run",
                str(tmp_path / "m.toml"),
                "--t-end",
                "0.1",
                "--report",
                str(tmp_path / "run.pdf"),
            ]
        )
    assert end.value.code == 4
    told = capsys.readouterr().err
    assert len(re.findall(needed, told)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.toml", "run.h5"]
