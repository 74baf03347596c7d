"""Divided bodies in one piece for small deflections: exact integrals, frequencies and motions of
their model, pages and files.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.flexible_body.divided import DividedBodyData
from preprocess.report.page import page

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
MESH = pp.box_mesh((0.6, 0.02, 0.03), (9, 1, 1))
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
HOW = {
    "interfaces": ENDS,
    "reference": "root",
    "method": pp.CraigBampton(modes=4),
    "damping": 0.01,
    "name": "boom",
}


@pytest.fixture(scope="module", params=["averaged", "full"])
def boom(request: pytest.FixtureRequest) -> DividedBodyData:
    return pp.reduce_divided(pp.divide(MESH, pieces=3), STEEL, cuts=request.param, **HOW)


def test_integrals_are_those_of_the_undivided_part(boom: DividedBodyData) -> None:
    """The checks of the integrals among them; modes of the part, whose mass properties have no
    error of the pieces.
    """
    found, whole = boom.assembled(), pp.reduce(MESH, STEEL, **HOW)
    assert found.validate().ok, str(found.validate())
    for key in ("mass", "first_moment", "second_moment"):
        np.testing.assert_allclose(getattr(found, key), getattr(whole, key), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.modes.frequency[:4], whole.modes.frequency[:4], rtol=3e-3)
    np.testing.assert_allclose(
        found.modes.effective_mass[:4, :3], whole.modes.effective_mass[:4, :3], rtol=2e-2, atol=1e-4
    )
    for name in ENDS:
        np.testing.assert_allclose(found.frames[name].x, whole.frames[name].x, atol=1e-15)
    few = boom.assembled(5)
    np.testing.assert_allclose(few.modes.frequency, found.modes.frequency[:5], rtol=1e-8)


@pytest.mark.parametrize("held", ["root", "tip"])
def test_frequencies_are_those_of_the_model_of_the_pieces(held: str, boom: DividedBodyData) -> None:
    """Held at the reference and at the other interface, where the assembled body moves as a whole
    too.
    """

    def frequencies(data: fm.FlexibleBodyData | DividedBodyData) -> np.ndarray:
        model = fm.Model("bar", gravity=(0, 0, 0))
        bar = model.add(fm.FlexibleBody("bar", data=data))
        model.add(fm.Fixed("clamp", model.ground, bar[held]))
        return fm.linearize(model).modes.frequency

    np.testing.assert_allclose(
        frequencies(boom.assembled())[:20], frequencies(boom)[:20], rtol=1e-6
    )


def test_small_motions_are_those_of_the_pieces(boom: DividedBodyData) -> None:
    def tip(data: fm.FlexibleBodyData | DividedBodyData) -> np.ndarray:
        model = fm.Model("bar", gravity=(0, 0, 0))
        bar = model.add(fm.FlexibleBody("bar", data=data, stiffening=False))
        model.add(fm.Fixed("clamp", model.ground, bar["root"]))
        model.add(fm.FrameForce("load", bar["tip"], force=(0.01, 0.02, 0.01)))
        return (
            fm.simulate(model, t_end=0.01, integrator=fm.ESDIRK(rtol=1e-8))
            .frame("bar/tip")
            .position
        )

    ours, theirs = tip(boom.assembled()), tip(boom)
    assert np.abs(ours - theirs).max() < 2e-3 * np.abs(theirs - theirs[0]).max()


def test_pages_and_files(boom: DividedBodyData, tmp_path: Path) -> None:
    text = page(boom)
    anchors = re.findall(r'<a href="#(\w+)"', text)
    assert anchors == [
        "part",
        "interfaces",
        "pieces",
        "modes",
        "accuracy",
        "mass",
        "checks",
        "provenance",
    ]
    assert all(f"piece {k}" in text for k in (1, 2, 3))  # regions of the scene
    boom.save(tmp_path / "boom.h5")
    with pytest.warns(
        pp.PreprocessWarning,
        match="stress modes and geometric stiffness are those of the pieces and are omitted",
    ):
        assert pp.read_body(tmp_path / "boom.h5").nf == boom.assembled().nf
