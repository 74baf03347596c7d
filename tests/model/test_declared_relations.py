"""Declared knife edges and rolling contacts: equations, rejected arguments, files, checks and
limits.
"""

import dataclasses

import numpy as np
import pytest

import flexmbs as fm

ENDS = ("contact", "ground", "wheel")
EQUATIONS = [
    (fm.KnifeEdge(*ENDS), 1, 0),
    (fm.RollingDisc(*ENDS, radius=0.3), 3, 1),
    (fm.RollingDisc(*ENDS, radius=0.3, rim=0.02, axis=(0, 1, 0.1), normal="-z"), 3, 1),
    (fm.RollingSphere(*ENDS, radius=0.3, normal="x"), 3, 1),
    (fm.Distance(*ENDS, length=1.0, axis=(1, 2, 3)), 1, 1),
    (fm.PointOnCurve(*ENDS, [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 1)]), 2, 2),
    (fm.PointOnCurve(*ENDS, [(0, 0, 0), (1, 0, 0), (1, 1, 0)], closed=True, planar=True), 1, 1),
    (
        fm.PointOnSurface(*ENDS, x=(-1, 0, 1, 2), y=(-1, 0, 2, 3), heights=[(0, 0, 0.1, 0)] * 4),
        1,
        1,
    ),
]


def wheel(
    relation: fm.KnifeEdge | fm.RollingDisc | fm.RollingSphere, **initial: tuple[float, ...]
) -> fm.Model:
    model = fm.Model("one wheel")
    model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.01, 0.02, 0.01)))
    model.add(fm.Free("motion", "ground", "wheel", **initial))
    model.add(relation)
    return model


@pytest.mark.parametrize(
    ("relation", "rows", "positions"), EQUATIONS, ids=lambda value: getattr(value, "kind", "")
)
def test_equations_and_file(relation, rows, positions, tmp_path) -> None:
    assert (relation.rows, relation.position_rows, relation.nq, relation.nv) == (
        rows,
        positions,
        0,
        0,
    )
    assert not relation.carries
    model = wheel(relation)
    model.save(tmp_path / "wheel.toml")
    assert fm.load(tmp_path / "wheel.toml") == model


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (fm.Distance, {"length": 0}, "joints.contact.length: must be > 0, not 0"),
        (
            fm.Distance,
            {"length": 1, "q0": (0, 0, 1, 0, 0, 0)},
            "joints.contact.q0: it has no coordinates",
        ),
        (fm.RollingDisc, {"radius": 0.0}, "joints.contact.radius: must be > 0, not 0"),
        (fm.RollingDisc, {"radius": -1}, "joints.contact.radius: must be > 0, not -1"),
        (fm.RollingDisc, {}, "joints.contact.radius: is missing"),
        (
            fm.RollingDisc,
            {"radius": 0.3, "rim": -0.1},
            "joints.contact.rim: must be >= 0, not -0.1",
        ),
        (
            fm.RollingDisc,
            {"radius": 0.3, "rim": 0.4},
            "joints.contact.rim: 0.4 is larger than the radius 0.3; reduce it, the rim is "
            "part of the wheel",
        ),
        (
            fm.RollingDisc,
            {"radius": 0.3, "axis": (0, 0, 0)},
            "joints.contact.axis: the axis has zero length",
        ),
        (
            fm.RollingSphere,
            {"radius": float("nan")},
            "joints.contact.radius: must be finite, not nan",
        ),
        (fm.RollingSphere, {"radius": 1.0, "axis": "y"}, "joints.contact.axis: unknown key"),
        (fm.KnifeEdge, {"axis": "w"}, "joints.contact.axis: must be one of x, y, z"),
        (
            fm.KnifeEdge,
            {"v0": 1.0},
            "joints.contact.v0: it has no coordinates; give initial values for",
        ),
    ],
)
def test_bad_relation(make, given, message) -> None:
    with pytest.raises(fm.InputError) as error:
        make(*ENDS, **given)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("height", [0.28, 0.3, 0.4, 0.1])
def test_a_wheel_off_its_plane_is_assembled(height) -> None:
    """A leaning wheel above or below its plane comes to z = R cos α by the least change: without
    rolling or rotation.
    """
    lean = (np.cos(0.2), np.sin(0.2), 0.0, 0.0)
    found = fm.assemble(wheel(fm.RollingDisc(*ENDS, radius=0.3), q0=(0, 0, height, *lean)))
    x, _, z, a, b, c, d = found.state.q
    axle = 2.0 * (a * b + c * d)
    assert abs(z - 0.3 * np.sqrt(1.0 - axle**2)) < 1e-9
    assert (axle < np.sin(0.4)) == (height > 0.3 * np.cos(0.4))
    assert np.abs([x, c, d]).max() < 1e-6
    assert [moved.joint for moved in found.moved] == ["motion"]


def test_a_wheel_that_lies_flat_is_rejected() -> None:
    with pytest.raises(
        fm.InputError,
        match=r"^joints\.contact: the wheel lies flat on its plane .* correct axis or normal$",
    ):
        fm.simulate(wheel(fm.RollingDisc(*ENDS, radius=0.3, axis="z")), t_end=0.1)


@pytest.mark.parametrize(
    "method", [fm.DormandPrince(), fm.GeneralizedAlpha(step=0.01)], ids=lambda method: method.name
)
def test_a_wheel_that_falls_flat_stops_the_run(method) -> None:
    model = wheel(fm.RollingDisc(*ENDS, radius=0.2), q0=(0, 0, 0.2, np.cos(0.3), np.sin(0.3), 0, 0))
    with pytest.raises(
        fm.SolverError, match=r"wheel 'contact' has fallen flat .*; end the run before it$"
    ) as error:
        fm.simulate(model, t_end=1.0, output_step=0.1, integrator=method)
    assert error.value.solution.drift.max() < 1e-2


def test_kinematics_are_rejected() -> None:
    with pytest.raises(
        fm.InputError,
        match=r"^kinematics: joint 'contact' constrains velocities, .*; use simulate$",
    ):
        fm.kinematics(wheel(fm.KnifeEdge(*ENDS)), [0.0, 1.0])


def test_rattle_is_rejected_with_what_works() -> None:
    with pytest.raises(fm.InputError) as error:
        fm.simulate(wheel(fm.KnifeEdge(*ENDS)), t_end=0.1, step=0.01, integrator="rattle")
    assert str(error.value) == (
        "integrator: 'rattle' enforces constraints on positions only, not those on "
        "velocities of joint 'contact'; "
        "take one of generalized-alpha, esdirk, dormand-prince, moreau-jean, event-driven"
    )


def test_a_force_cannot_act_in_a_contact() -> None:
    model = wheel(fm.KnifeEdge(*ENDS))
    model.add(fm.JointTorque("push", "contact", 1.0))
    assert any(
        "joint 'contact' has no coordinate 0; it has: none" in line for line in model.check().errors
    )


def test_check_counts_the_equations_and_names_dependent_ones() -> None:
    """The lateral constraints of two wheels on one rigid axle are redundant: one row depends on the
    others.
    """
    model = fm.Model("trolley")
    frames = {"left": (0.0, 0.5, 0.0), "right": (0.0, -0.5, 0.0)}
    model.add(fm.RigidBody("axle", mass=1.0, inertia=(0.1, 0.1, 0.1), frames=frames))
    model.add(fm.Free("motion", "ground", "axle", q0=(0, 0, 0.3, 1, 0, 0, 0)))
    for side in frames:
        model.add(fm.RigidBody(side, mass=1.0, inertia=(0.02, 0.04, 0.02)))
        model.add(fm.Revolute(f"{side} hub", f"axle/{side}", side, axis="y"))
        model.add(fm.RollingDisc(f"{side} wheel", "ground", side, radius=0.3))
    report = model.check()
    assert not report.errors
    assert "left wheel, rolling-disc, ground → left, 3 equations" in report.sections["joints"]
    assert report.sections["degrees of freedom"][0].startswith("f = 6·3 − 12 = 6 ")
    assert (
        "κ = 4 nonholonomic equations: 2 velocity degrees of freedom"
        in report.sections["degrees of freedom"]
    )
    assert (
        "0 closed loops: n_h = n_c − n = 3 joints − 3 bodies"
        in report.sections["degrees of freedom"]
    )
    assert (
        "8 joint velocities − 6 constraints + 1 redundant constraint = 3 degrees of freedom"
        in report.sections["system"]
    )
    assert sum("1 constraint depends on the others" in line for line in report.warnings) == 1


def test_two_contacts_between_the_same_frames() -> None:
    """A joint and a contact may share their frames; two contacts of one kind may not."""
    model = wheel(fm.KnifeEdge(*ENDS))
    model.add(fm.KnifeEdge("twin", "ground", "wheel", axis="x"))
    assert model.check().errors == [
        "joints.twin.child: joint 'contact' connects ground and wheel already; merge them "
        "into one joint"
    ]
    other = wheel(fm.KnifeEdge(*ENDS))
    other.add(dataclasses.replace(EQUATIONS[1][0], name="disc"))
    assert not [line for line in other.check().errors if "already" in line]
