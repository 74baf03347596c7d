"""The page about a flexible body: one file, everything escaped, interfaces where they are."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from part_files import PART, bar, call

import preprocess as pp
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.part_file import read_part
from preprocess.report.page import page, write_report
from preprocess.report.places import interface_places

NASTY = '<script>alert("1")<b>'
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> FlexibleBodyData:
    return read_part(bar(tmp_path_factory.mktemp("part"))).reduce()


def test_report_of_a_part(tmp_path: Path, capsys: Captured) -> None:
    part = bar(tmp_path, PART.replace('name = "bar"', "name = '" + NASTY + "'"))
    assert call("reduce", part) == 0
    assert call("report", part.with_suffix(".h5"), "--compare") == 0
    text = part.with_suffix(".html").read_text(encoding="utf-8")
    assert NASTY not in text
    assert "&lt;script&gt;alert(&#34;1&#34;)&lt;b&gt;" in text
    assert not re.findall(r'(?:src|href)="(?!data:image|#)', text)
    assert text.count("<img") == 1 + 8 + 6  # interfaces, modes, stress of modes
    anchors = re.findall(r'<a href="#(\w+)"', text)
    assert anchors == [
        "part",
        "interfaces",
        "modes",
        "stress",
        "accuracy",
        "mass",
        "checks",
        "provenance",
    ]
    assert "Held at left" in text
    accuracy = text.split('<section id="accuracy">')[1].split("</section>")[0]
    assert re.search("[0-9]·10⁻", accuracy)
    assert not re.search(r"\d[eE][-+]?\d", accuracy)  # one style of numbers
    assert "78 kg" in text
    part.unlink()
    assert call("report", part.with_suffix(".h5"), "--compare") == 2
    assert "give the part file to compare" in capsys.readouterr().err
    assert call("report", part.with_suffix(".h5"), "-o", tmp_path / "missing" / "bar.html") == 2


def test_rigid_interfaces_are_found_by_their_shapes(body: FlexibleBodyData) -> None:
    assert body.surface is not None
    places = interface_places(body, {})
    for name, x in (("left", 0.0), ("right", 1.0)):
        np.testing.assert_array_equal(
            places[name].nodes, np.flatnonzero(np.abs(body.surface.nodes[:, 0] - x) < 1e-9)
        )


def test_bodies_without_surface_or_stress(body: FlexibleBodyData) -> None:
    text = page(replace(body, stress=None))
    assert 'id="stress"' not in text
    assert text.count("<img") == 1 + 8
    text = page(replace(body, stress=None, surface=None))
    assert "<img" not in text
    assert "Every check passed." in text


def test_a_part_from_arrays_is_named_by_its_file(body: FlexibleBodyData, tmp_path: Path) -> None:
    write_report(replace(body, name=pp.Mesh.source), tmp_path / "bracket.html")
    text = (tmp_path / "bracket.html").read_text(encoding="utf-8")
    assert "<h1>bracket</h1>" in text
    assert body.digest in text  # the body itself is as it was


def test_failed_checks_are_reported(body: FlexibleBodyData) -> None:
    text = page(replace(body, second_moment=body.second_moment + np.triu(np.ones((3, 3)), 1)))
    assert "A check failed; do not use this body." in text


def test_certificate_on_the_page(tmp_path: Path) -> None:
    text = PART.replace("[method]\nmodes = 2\n", "").replace(
        "damping", "band = 300.0\ntolerance = 0.01\ndamping"
    )
    part = bar(tmp_path, text)
    assert call("reduce", part) == 0
    assert call("report", part.with_suffix(".h5")) == 0
    shown = part.with_suffix(".html").read_text(encoding="utf-8")
    section = shown.partition('<section id="certificate">')[2].partition("</section>")[0]
    assert '<a href="#certificate"' in shown
    assert all(text in section for text in ("held at left", "(reduced ", "acceleration x"))
