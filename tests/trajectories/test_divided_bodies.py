"""Divided bodies: the model of their pieces, the same numbers as pieces welded by hand, files,
frames of one part.
"""

import dataclasses
import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.formalisms import FORMALISMS
from flexmbs.system.names import velocity_names

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
MESH = pp.box_mesh((0.6, 0.02, 0.02), (9, 1, 1))
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
SHORT = {"t_end": 2e-4, "step": 2e-6}  # the highest mode has 0.1 MHz
EXPLICIT = ("embedding", "partitioning")


@functools.cache
def bare() -> DividedBodyData:
    return pp.reduce_divided(
        pp.divide(MESH, pieces=3),
        STEEL,
        interfaces=ENDS,
        reference="root",
        method=pp.CraigBampton(modes=2),
        estimate=False,
        name="boom",
        cuts="averaged",
    )


@functools.cache
def damped() -> DividedBodyData:
    pieces = (dataclasses.replace(piece, D_ff=1e-7 * piece.K_ff) for piece in bare().pieces)
    return dataclasses.replace(bare(), pieces=tuple(pieces))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("boom") / "boom.h5"
    damped().save(path)
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
    first, second, third = (
        model.add(fm.FlexibleBody(f"piece {k}", data=piece))
        for k, piece in enumerate(damped().pieces)
    )
    model.add(fm.Fixed("weld 1", first["cut 1"], second["cut 1"]))
    model.add(fm.Fixed("weld 2", second["cut 2"], third["cut 2"]))
    return loaded(model, first["root"], third["tip"])


def test_one_piece_is_the_undivided_body(tmp_path: Path) -> None:
    options = {
        "interfaces": ENDS,
        "reference": "root",
        "method": pp.CraigBampton(modes=2),
        "estimate": False,
    }
    pp.reduce_divided(pp.divide(MESH, pieces=1), STEEL, name="boom", **options).save(
        tmp_path / "one.h5"
    )
    models = (
        fm.FlexibleBody("boom", tmp_path / "one.h5"),
        fm.FlexibleBody("boom", data=pp.reduce(MESH, STEEL, **options)),
    )
    found, expected = (fm.simulate(swung(body), **SHORT) for body in models)
    nodes = expected.shape("boom").surface.node_ids
    for key in ("q", "s", "sd"):
        assert np.array_equal(getattr(found, key), getattr(expected, key)), key
    assert np.array_equal(
        found.body("boom").displacement(nodes), expected.body("boom").displacement(nodes)
    )
    assert np.array_equal(
        found.body("boom").stress.envelope.von_mises,
        expected.body("boom").stress.envelope.von_mises,
    )


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_a_divided_body_is_its_pieces_welded_by_hand(formalism: str, file: Path) -> None:
    method = "dormand-prince" if formalism in EXPLICIT else "generalized-alpha"
    models = swung(fm.FlexibleBody("boom", file)), by_hand()
    found, expected = (
        fm.simulate(model, formalism=formalism, integrator=method, **SHORT) for model in models
    )
    for key in ("q", "s", "sd", "lam"):
        assert np.array_equal(getattr(found, key), getattr(expected, key)), key
    assert np.array_equal(found.energy.total, expected.energy.total)
    assert np.array_equal(found.frame("boom/tip").position, expected.frame("piece 2/tip").position)
    assert np.array_equal(
        found.frame("boom[2]/cut 2").velocity, expected.frame("piece 1/cut 2").velocity
    )
    assert np.array_equal(found.joint("boom cut 2").wrench, expected.joint("weld 2").wrench)
    assert np.array_equal(found.frame("boom").rotation, expected.frame("piece 0").rotation)


def test_a_model_has_one_body_and_so_has_its_file(file: Path) -> None:
    model = swung(fm.FlexibleBody("boom", file))
    assert list(model.bodies) == ["boom", "tool"]
    assert list(model.joints) == ["hinge", "wrist"]
    model.save(file.parent / "crane.toml")
    text = (file.parent / "crane.toml").read_text()
    assert '[bodies.boom]\nkind = "flexible"\nfile = "boom.h5"\n\n[bodies.tool]' in text
    assert "[1]" not in text
    assert "cut" not in text
    read = fm.load(file.parent / "crane.toml")
    assert read == model
    assert "boom, flexible, frames root, tip" in str(read.check())


def test_a_solution_file_keeps_the_frames_of_the_part(file: Path) -> None:
    run = fm.simulate(swung(fm.FlexibleBody("boom", file)), **SHORT)
    run.save(file.parent / "run.h5")
    for kept in (
        fm.Solution.load(file.parent / "run.h5"),
        fm.Solution.load(file.parent / "run.h5", model=run.model),
    ):
        assert kept.bodies == ("boom", "tool")
        assert np.array_equal(
            kept.body("boom").stress.envelope.von_mises, run.body("boom").stress.envelope.von_mises
        )
        assert np.array_equal(
            kept.frame("boom/tip").acceleration, run.frame("boom/tip").acceleration
        )


def test_data_in_memory_are_the_same() -> None:
    found, expected = (
        fm.simulate(model, **SHORT)
        for model in (swung(fm.FlexibleBody("boom", data=damped())), by_hand())
    )
    assert np.array_equal(found.q, expected.q)


def test_values_by_mode_are_those_of_all_pieces() -> None:
    """One after the other, as the elastic coordinates of results and the names of modes."""
    q, rates = (tuple(np.linspace(1.0, 2.0, damped().nf) * size) for size in (1e-5, 1e-3))
    model = swung(fm.FlexibleBody("boom", data=damped(), qf0=q, qf_dot0=rates))
    state = fm.state(model)
    hand = by_hand()
    ends = np.cumsum([0, *(piece.nf for piece in damped().pieces)])
    for k, (begin, end) in enumerate(itertools.pairwise(ends)):
        given = {"qf0": q[begin:end], "qf_dot0": rates[begin:end]}
        hand.bodies[f"piece {k}"] = dataclasses.replace(hand.bodies[f"piece {k}"], **given)
    assert np.array_equal(state.sd, fm.state(hand).sd)
    assert np.array_equal(fm.simulate(model, **SHORT).body("boom").elastic[0], q)
    assert [
        name for name in velocity_names(fm.state(model).compiled) if name.startswith("boom")
    ] == [f"boom.mode{k + 1}" for k in range(damped().nf)]
    with pytest.raises(
        InputError, match=rf"bodies\.boom\.qf0: must have one number per mode, {damped().nf}, not 1"
    ):
        fm.simulate(swung(fm.FlexibleBody("boom", data=damped(), qf0=(0.0,))), **SHORT)


def test_unknown_frames_and_names_in_use(file: Path) -> None:
    model = fm.Model("m")
    with pytest.raises(InputError, match=r"bodies\.boom: no frame 'cut 1'; known: root, tip"):
        model.add(fm.FlexibleBody("boom", data=damped()))["cut 1"]
    other = fm.Model("m")
    other.add(fm.Fixed("clamp", other.ground, other.add(fm.FlexibleBody("boom", file))["cut 1"]))
    assert (
        "joints.clamp.child: body 'boom' has no frame 'cut 1'; known: root, tip"
        in other.check().errors
    )
    model.add(fm.RigidBody("boom[2]", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    assert any(
        r"bodies.boom[2]: the name is used by a piece" in error for error in model.check().errors
    )
    twins = fm.Model("m")
    for name in ("boom", "boom[1]"):
        twins.add(fm.FlexibleBody(name, data=damped()))
    assert any(
        "bodies.boom[1]: the name is used by a piece" in error for error in twins.check().errors
    )
    with pytest.raises(InputError, match="body 'bom' is not in the solution; did you mean 'boom'"):
        fm.simulate(swung(fm.FlexibleBody("boom", file)), **SHORT).body("bom")
    with pytest.raises(InputError, match="is a divided body with several pieces"):
        fm.FlexibleBodyData.load(file)


def test_a_file_of_pieces_is_checked(tmp_path: Path) -> None:
    lone, other = (
        pp.reduce(MESH, STEEL, interfaces={name: pp.Rigid("x0")}, reference=name, estimate=False)
        for name in "ab"
    )
    with pytest.raises(InputError, match="boom: piece 2 is not welded to the first"):
        DividedBodyData("boom", (lone, other))
    with pytest.raises(InputError, match="boom: has no pieces; a divided body has one or more"):
        DividedBodyData("boom", ())
    with pytest.raises(InputError, match="frame 'a' belongs to more than two pieces"):
        DividedBodyData("boom", (lone, lone, lone))
    lone.save(tmp_path / "lone.h5")
    with pytest.raises(
        InputError, match="format: is 'flexmbs-flexible-body/1'; a divided body has"
    ):
        DividedBodyData.load(tmp_path / "lone.h5")


def test_welds_belong_to_their_body_where_its_name_begins_with_that_of_another() -> None:
    model = fm.Model("two")
    for name in ("boom", "boom 2"):
        body = model.add(fm.FlexibleBody(name, data=damped()))
        model.add(fm.Revolute(f"hinge of {name}", model.ground, body["root"], axis="y"))
    compiled = fm.state(model).compiled
    assert [
        compiled.owner_of(each) for each in ("boom cut 1", "boom 2 cut 1", "hinge of boom 2")
    ] == [
        "boom",
        "boom 2",
        "hinge of boom 2",
    ]
