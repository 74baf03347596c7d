"""Couplings as declared data: terms, files, problems."""

import math

import numpy as np
import pytest
from declared import problems_of

import flexmbs as fm
from flexmbs.model.check import declaration_report
from flexmbs.model.couplings import ConstantCoupling, Coupling

LAW = fm.Sine(1.0, 2.0)
EVERY = [
    (fm.LinearCoupling("c", {"turn": 1, "pair.1": -2.0}), {"turn": 1.0, "pair.1": -2.0}),
    (fm.Gear("c", "turn", "other", ratio=3), {"turn": 1.0, "other": 3.0}),
    (
        fm.Gear("c", "turn", "pair.1", ratio=3, internal=True, offset=0.5),
        {"turn": 1.0, "pair.1": -3.0},
    ),
    (fm.RackPinion("c", "turn", "slide", radius=0.1), {"turn": -0.1, "slide": 1.0}),
    (fm.ScrewCoupler("c", "turn", "pair.0", lead=-0.02), {"turn": 0.01 / math.pi, "pair.0": 1.0}),
    (fm.Belt("c", "turn", "other", radii=(0.1, 0.3)), {"turn": 0.1, "other": -0.3}),
    (
        fm.Belt("c", "turn", "other", radii=(0.1, 0.3), crossed=True, offset=LAW),
        {"turn": 0.1, "other": 0.3},
    ),
    (fm.Differential("c", "turn", "other", "pair.1"), {"turn": -2.0, "other": 1.0, "pair.1": 1.0}),
    (
        fm.Differential("c", "turn", "other", "pair.1", ratio=2.5),
        {"turn": -3.5, "other": 1.0, "pair.1": 2.5},
    ),
]


def machine(*couplings: Coupling) -> fm.Model:
    """Joints "turn" and "other" (revolute), "slide", "pair" (cylindrical), "ball", "hand.1"
    (revolute), "rigid" (fixed).
    """
    model = fm.Model("machine")
    joints = {
        "turn": fm.Revolute,
        "other": fm.Revolute,
        "slide": fm.Prismatic,
        "pair": fm.Cylindrical,
        "ball": fm.Spherical,
        "hand.1": fm.Revolute,
        "rigid": fm.Fixed,
    }
    for name, kind in joints.items():
        body = model.add(fm.RigidBody(f"body of {name}", mass=1.0, inertia=(1, 1, 1)))
        model.add(kind(name, model.ground, body))
    for coupling in couplings:
        model.add(coupling)
    return model


def found(*couplings: Coupling, drives: tuple[fm.Drive, ...] = ()) -> list[str]:
    model = machine(*couplings)
    for drive in drives:
        model.add(drive)
    return declaration_report(model).errors


@pytest.mark.parametrize(
    ("coupling", "factors"), EVERY, ids=lambda value: getattr(value, "kind", "")
)
def test_terms_and_files(tmp_path, coupling: Coupling, factors: dict[str, float]) -> None:
    assert {term.coordinate: term.factor for term in coupling.terms} == pytest.approx(factors)
    model = machine(coupling)
    assert found(coupling) == []
    model.save(tmp_path / "m.toml")
    assert fm.load(tmp_path / "m.toml") == model
    (own,) = coupling.constraint_classes()
    assert (own.rows, own.holonomic, own.scleronomic, own.active) == (
        1,
        True,
        coupling.offset is not LAW,
        coupling.offset is LAW,
    )
    assert [
        coupling.equation in line for line in declaration_report(model).sections["couplings"]
    ] == [True]


def test_every_kind_is_tested() -> None:
    """Those of user functions: `tests/trajectories/test_general_couplings.py`."""
    constant = {kind for kind, made in Coupling.kinds.items() if issubclass(made, ConstantCoupling)}
    assert {coupling.kind for coupling, _ in EVERY} == constant


def test_handles_and_names_with_a_number() -> None:
    """A joint may be called "hand.1"; a coordinate "hand.1.0" is its own."""
    model = machine()
    turn = next(iter(model.joints.values())).handle()
    coupling = fm.LinearCoupling("c", {turn: 1.0, "hand.1": 2.0, "pair.1": 3.0})
    assert coupling == fm.LinearCoupling("c", {"turn": 1.0, "hand.1": 2.0, "pair.1": 3.0})
    assert [tuple(use) for use in coupling.coordinates(model.joints)] == [
        ("turn", 0),
        ("hand.1", 0),
        ("pair", 1),
    ]
    assert found(coupling) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.Gear("c", "a", "b", ratio=0.0), "couplings.c.ratio: must be > 0, not 0"),
        (lambda: fm.Gear("c", "a", "b"), "couplings.c.ratio: is missing"),
        (
            lambda: fm.Gear("c", "a", 3, ratio=1.0),
            "couplings.c.second: must be a joint (its handle or name), not 3",
        ),
        (lambda: fm.RackPinion("c", "a", "b", radius=0), "couplings.c.radius: must not be 0"),
        (lambda: fm.ScrewCoupler("c", "a", "b", lead=0), "couplings.c.lead: must not be 0"),
        (
            lambda: fm.ScrewCoupler("c", "a", "b", lead=math.nan),
            "couplings.c.lead: must be finite, not nan",
        ),
        (lambda: fm.Belt("c", "a", "b", radii=0.1), "couplings.c.radii: must be a list, not 0.1"),
        (
            lambda: fm.Belt("c", "a", "b", radii=(0.1, -0.2)),
            "couplings.c.radii: must be > 0, not -0.2",
        ),
        (
            lambda: fm.Differential("c", "a", "b", "d", ratio=-1),
            "couplings.c.ratio: must be > 0, not -1",
        ),
        (
            lambda: fm.LinearCoupling("c", {}),
            "couplings.c.factors: is empty; give factors by joint coordinate",
        ),
        (lambda: fm.LinearCoupling("c", {"a": 0}), "couplings.c.factors.a: must not be 0"),
        (
            lambda: fm.LinearCoupling("c", ["a"]),
            "couplings.c.factors: must be a mapping of factors by joint coordinate",
        ),
        (
            lambda: fm.LinearCoupling("c", {"a": 1}, offset=fm.PD(1, 2)),
            "couplings.c.offset: must be a law of time, not a pd law",
        ),
    ],
)
def test_bad_parameters(make, message: str) -> None:
    assert problems_of(make)[0].startswith(message)


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        (
            fm.Gear("c", "turm", "other", ratio=2),
            "couplings.c.first: no joint 'turm'; did you mean 'turn'?",
        ),
        (
            fm.Gear("c", "turn.2", "other", ratio=2),
            "couplings.c.first: joint 'turn' has no coordinate 2; it has: 0 … 0",
        ),
        (
            fm.LinearCoupling("c", {"turn": 1, "rigid": 1}),
            "couplings.c.factors: joint 'rigid' has no coordinate 0; it has: none",
        ),
        (
            fm.LinearCoupling("c", {"pair": 1}),
            "couplings.c.factors: joint 'pair' has 2 coordinates; name one of 'pair.0', 'pair.1'",
        ),
        (
            fm.LinearCoupling("c", {"turn": 1, "ball.1": 1}),
            "couplings.c.factors: coordinate 1 of joint 'ball' (spherical) has a velocity "
            "but no position",
        ),
        (
            fm.Gear("c", "slide", "other", ratio=2),
            "couplings.c.first: coordinate 0 of joint 'slide' (prismatic) is a length, "
            "not an angle; name a revolute joint",
        ),
        (
            fm.RackPinion("c", "turn", "other", radius=2),
            "couplings.c.rack: coordinate 0 of joint 'other' (revolute) is an angle, not "
            "a length; name a prismatic joint",
        ),
        (
            fm.Gear("c", "turn", "turn", ratio=2),
            "couplings.c.second: coordinate 'turn' appears twice",
        ),
        (
            fm.LinearCoupling("c", {"turn": 1, "turn.0": 1}),
            "couplings.c.factors: 'turn.0' and 'turn' are the same coordinate; combine "
            "them into one",
        ),
    ],
)
def test_references(coupling: Coupling, message: str) -> None:
    (problem,) = found(coupling)
    assert problem.startswith(message)


def test_problems_of_a_file(tmp_path) -> None:
    path = tmp_path / "m.toml"
    machine(fm.Gear("c", "turn", "other", ratio=2)).save(path)
    path.write_text(
        path.read_text()
        .replace('second = "other"', 'second = "othr"')
        .replace("ratio = 2.0", "ratio = 2.0\nteeth = 3")
    )
    with pytest.raises(fm.InputError, match=r"couplings\.c\.teeth: unknown key"):
        fm.load(path)


GEARS = (fm.Gear("c1", "turn", "other", ratio=2), fm.Gear("c2", "other", "hand.1", ratio=3))


def test_rows_prescribed_already() -> None:
    """Coordinates that drives or other couplings with laws of time prescribe; couplings of
    constants may be redundant.
    """
    by_drives = found(GEARS[0], drives=(fm.Drive("d1", "turn", LAW), fm.Drive("d2", "other", 1.0)))
    assert by_drives == [
        "couplings.c1: drive 'd1', drive 'd2' already prescribe the same motion; remove one of them"
    ]
    through = found(*GEARS, drives=(fm.Drive("d1", "turn", LAW), fm.Drive("d2", "hand.1", LAW)))
    assert through == [
        "couplings.c2: drive 'd1', drive 'd2', coupling 'c1' already prescribe the same motion; "
        "remove one of them"
    ]
    same = fm.LinearCoupling("c3", {"turn": 2.0, "other": 4.0}, offset=LAW)
    assert found(GEARS[0], same) == [
        "couplings.c3: coupling 'c1' already prescribe the same motion; remove one of them"
    ]
    assert found(GEARS[0], fm.LinearCoupling("c3", {"turn": 2.0, "other": 4.0})) == []
    assert found(*GEARS, drives=(fm.Drive("d1", "turn", LAW),)) == []


def test_contradicting_constants() -> None:
    model = machine(
        fm.Gear("c1", "turn", "other", ratio=2, offset=0.0),
        fm.Gear("c2", "turn", "other", ratio=2, offset=0.5),
    )
    errors = model.check().errors
    assert len(errors) == 2
    assert all(
        error.startswith(f"couplings.{name}: its equation contradicts")
        for error, name in zip(errors, ("c1", "c2"))
    )


def test_check_counts_and_names_redundant_couplings() -> None:
    report = machine(*GEARS, fm.LinearCoupling("twice", {"turn": 2.0, "other": 4.0})).check()
    assert any("3 equations of couplings" in line for line in report.sections["degrees of freedom"])
    assert any(
        line.endswith("3 constraints + 1 redundant constraint = 7 degrees of freedom")
        for line in report.sections["system"]
    )
    assert (
        sum(
            "coupling '" in warning and "1 constraint depends" in warning
            for warning in report.warnings
        )
        == 1
    )
    assert any(
        line.split()[:4] == ["c1", "gear", "1", "row"] for line in report.sections["constraints"]
    )


def test_matrices_know_the_owner() -> None:
    """A coupling may have the name of a joint; G of the open chain is that of G J."""
    model = machine(
        fm.RackPinion("turn", "turn", "slide", radius=0.1),
        fm.Gear("mesh", "other", "pair.1", ratio=2.0),
    )
    found = fm.matrices(model, formalism="recursive")
    assert found.constraints == ("turn", "mesh")
    row = dict(zip(found.velocities, found.G[0]))
    assert {name: value for name, value in row.items() if value} == {"turn.0": -0.1, "slide.0": 1.0}
    np.testing.assert_allclose(found.open_chain.G_s @ found.open_chain.J, found.G, atol=1e-12)


def test_results_in_files_and_tables(tmp_path) -> None:
    model = machine(
        fm.Gear("mesh", "turn", "other", ratio=2.0),
        fm.RackPinion("rack", "hand.1", "slide", radius=0.3, offset=LAW),
    )
    model.joints["turn"] = fm.Revolute("turn", "ground", "body of turn", q0=0.4, v0=1.0)
    model.add(fm.JointTorque("torque", "turn", 1.0))
    solution = fm.simulate(model, t_end=0.02, step=0.005)
    assert solution.couplings == ("mesh", "rack")
    solution.save(tmp_path / "run.h5")
    read = fm.Solution.load(tmp_path / "run.h5", model=model)
    for name in solution.couplings:
        one, other = solution.coupling(name), read.coupling(name)
        np.testing.assert_array_equal(one.multiplier, other.multiplier)
        np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_array_equal(fm.state_of(read, 0.02).q, fm.state_of(solution, 0.02).q)
    assert abs(read.coupling("mesh").value - 0.4).max() < 1e-12
    with pytest.raises(fm.InputError, match="coupling 'mash'"):
        solution.coupling("mash")
    solution.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "coupling, gear" in page
    assert "+1·turn +2·other" in page


def test_a_state_keeps_the_offset_of_the_declared_position() -> None:
    """A chosen position of one shaft turns the other."""
    model = machine(fm.Gear("mesh", "turn", "other", ratio=2.0))
    model.joints["turn"] = fm.Revolute("turn", "ground", "body of turn", q0=0.4)
    state = fm.state(model, position={"turn": 1.0})
    names = {name: k for k, name in enumerate(fm.matrices(model).velocities)}
    assert len(names) == len(state.s)
    solution = fm.simulate(model, t_end=0.01, output_step=0.01, start=state)
    np.testing.assert_allclose(solution.joint("turn").position[0, 0], 1.0, atol=1e-12)
    np.testing.assert_allclose(solution.joint("other").position[0, 0], -0.3, atol=1e-12)
