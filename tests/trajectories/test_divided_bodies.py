"""Divided bodies: the model of their pieces, the same numbers as pieces welded by hand, files, frames of one part."""

from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.formalisms import FORMALISMS

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
MESH = pp.box_mesh((0.6, 0.02, 0.02), (9, 1, 1))
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
BOOM = pp.reduce_divided(
    pp.divide(MESH, pieces=3), STEEL, interfaces=ENDS, reference="root", method=pp.CraigBampton(modes=2), damping=0.01,
    estimate=False, name="boom",
)  # fmt: skip
SHORT = {"t_end": 2e-4, "step": 2e-6}  # the highest mode has 0.1 MHz
EXPLICIT = ("embedding", "partitioning")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("boom") / "boom.h5"
    BOOM.save(path)
    return path


def swung(boom: fm.FlexibleBody) -> fm.Model:
    """The boom on a hinge, with a tool at its tip and a push on it."""
    model = fm.Model("crane")
    body = model.add(boom)
    return loaded(model, body["root"], body["tip"])


def loaded(model: fm.Model, root: fm.FrameRef, tip: fm.FrameRef) -> fm.Model:
    tool = model.add(fm.RigidBody("tool", mass=0.5, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("hinge", model.ground, root, axis="y", q0=-0.3))
    model.add(fm.Fixed("wrist", tip, tool))
    model.add(fm.FrameForce("push", tip, force=(0.0, 30.0, 0.0)))
    return model


def by_hand() -> fm.Model:
    model = fm.Model("crane")
    first, second, third = (model.add(fm.FlexibleBody(f"piece {k}", data=piece)) for k, piece in enumerate(BOOM.pieces))
    model.add(fm.Fixed("weld 1", first["cut 1"], second["cut 1"]))
    model.add(fm.Fixed("weld 2", second["cut 2"], third["cut 2"]))
    return loaded(model, first["root"], third["tip"])


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_divided_body_is_its_pieces_welded_by_hand(formalism: str, file: Path) -> None:
    method = "dormand-prince" if formalism in EXPLICIT else "generalized-alpha"
    models = swung(fm.FlexibleBody("boom", file)), by_hand()
    found, expected = (fm.simulate(model, formalism=formalism, integrator=method, **SHORT) for model in models)
    for key in ("q", "s", "sd", "lam"):
        assert np.array_equal(getattr(found, key), getattr(expected, key)), key
    assert np.array_equal(found.energy.total, expected.energy.total)
    assert np.array_equal(found.frame("boom/tip").position, expected.frame("piece 2/tip").position)
    assert np.array_equal(found.frame("boom").rotation, expected.frame("piece 0").rotation)


def test_a_model_file_of_the_whole_part_or_of_its_pieces(file: Path) -> None:
    model = swung(fm.FlexibleBody("boom", file))
    assert list(model.bodies) == ["boom[1]", "boom[2]", "boom[3]", "tool"]
    assert list(model.joints) == ["boom cut 1", "boom cut 2", "hinge", "wrist"]
    model.save(file.parent / "crane.toml")
    read = fm.load(file.parent / "crane.toml")
    assert read == model
    model.folder = file.parent
    assert read.to_toml() == model.to_toml()
    head, _, rest = model.to_toml().partition('[bodies."boom[1]"]')
    items = rest[rest.index("[bodies.tool]") : rest.index('[joints."boom cut 1"]')] + rest[rest.index("[joints.hinge]") :]
    items = items.replace("boom[1]", "boom").replace("boom[3]", "boom")
    whole = f'{head}[bodies.boom]\nkind = "flexible"\nfile = "boom.h5"\n\n{items}'
    assert whole.count("boom/") == 3
    (file.parent / "whole.toml").write_text(whole)
    assert fm.load(file.parent / "whole.toml") == model


def test_a_solution_file_keeps_the_frames_of_the_part(file: Path) -> None:
    run = fm.simulate(swung(fm.FlexibleBody("boom", file)), **SHORT)
    run.save(file.parent / "run.h5")
    for kept in (fm.Solution.load(file.parent / "run.h5"), fm.Solution.load(file.parent / "run.h5", model=run.model)):
        assert np.array_equal(kept.frame("boom/tip").acceleration, run.frame("boom/tip").acceleration)


def test_data_in_memory_are_the_same() -> None:
    found, expected = (fm.simulate(model, **SHORT) for model in (swung(fm.FlexibleBody("boom", data=BOOM)), by_hand()))
    assert np.array_equal(found.q, expected.q)


@pytest.mark.parametrize("values", [{"qf0": (0.0,)}, {"qf_dot0": (0.0,)}, {"damping": (0.1, 0.2)}])
def test_values_by_mode_are_refused(values: dict[str, tuple[float, ...]]) -> None:
    (key,) = values
    with pytest.raises(InputError, match=rf"bodies\.boom\.{key}: the body is in pieces"):
        fm.Model("m").add(fm.FlexibleBody("boom", data=BOOM, **values))


def test_unknown_frames_and_pieces_are_named(file: Path) -> None:
    model = fm.Model("m")
    boom = model.add(fm.FlexibleBody("boom", file))
    with pytest.raises(InputError, match=r"bodies\.boom: no frame 'cut 1'; it has: root, tip"):
        boom["cut 1"]
    with pytest.raises(InputError, match="the name is already in use"):
        model.add(fm.FlexibleBody("boom", file))
    model = fm.Model("m")
    model.add(fm.FlexibleBody("boom", file, piece=4))
    assert any("piece: is 4; the body has 3 pieces" in error for error in model.check().errors)
    with pytest.raises(InputError, match="must be the number of a piece"):
        fm.FlexibleBody("boom", file, piece=0)
    with pytest.raises(InputError, match="is a divided body, of several pieces"):
        fm.FlexibleBodyData.load(file)


def test_a_file_of_pieces_is_checked(tmp_path: Path) -> None:
    lone, other = (pp.reduce(MESH, STEEL, interfaces={name: pp.Rigid("x0")}, reference=name, estimate=False) for name in "ab")
    with pytest.raises(InputError, match="boom: piece 2 is not welded to the first"):
        DividedBodyData("boom", (lone, other))
    with pytest.raises(InputError, match="boom: has 1 pieces; a divided body has two or more"):
        DividedBodyData("boom", (lone,))
    with pytest.raises(InputError, match="frame 'a' belongs to more than two pieces"):
        DividedBodyData("boom", (lone, lone, lone))
    lone.save(tmp_path / "lone.h5")
    with pytest.raises(InputError, match="format: is 'flexmbs-flexible-body/1'; a divided body has"):
        DividedBodyData.load(tmp_path / "lone.h5")
