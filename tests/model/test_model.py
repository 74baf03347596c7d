"""The model: adding, references and checks."""

import copy

import numpy as np
import pytest
from declared import problems_of, rod, with_every_kind

import flexmbs as fm
from flexmbs.motions import FixedRotation, Slide

UNIT = {"mass": 1.0, "inertia": (1, 1, 1)}


def chain(n: int = 2) -> fm.Model:
    """n bodies in a row, b0 … on revolute joints j0 …, each with frames root and tip."""
    model = fm.Model("chain", frames={"pivot": (0, 0, 1)})
    last = model.ground["pivot"]
    for i in range(n):
        body = model.add(
            fm.RigidBody(f"b{i}", frames={"root": (0, 0, 0), "tip": (1, 0, 0)}, **UNIT)
        )
        model.add(fm.Revolute(f"j{i}", last, body["root"]))
        last = body["tip"]
    return model


def errors(model: fm.Model) -> list[str]:
    return model.check().errors


def test_the_script_of_the_documentation(tmp_path) -> None:
    rod().save(tmp_path / "link.h5")
    arm = fm.Model("two-link arm", gravity=(0, 0, -9.81))
    upper = arm.add(fm.FlexibleBody("upper", tmp_path / "link.h5"))
    fore = arm.add(fm.FlexibleBody("fore", tmp_path / "link.h5"))
    tool = arm.add(
        fm.RigidBody("tool", mass=0.4, inertia=(2e-4, 2e-4, 1e-4), frames={"flange": (0, 0, -0.05)})
    )
    shoulder = arm.add(fm.Revolute("shoulder", arm.ground, upper["hub"], axis="y", q0=-0.5))
    arm.add(fm.Revolute("elbow", upper["tip"], fore["hub"], axis="y", q0=1.0))
    arm.add(fm.Fixed("wrist", fore["tip"], tool["flange"]))
    reference = fm.SmoothStep(0.35, start=0.2, duration=0.8)
    arm.add(fm.JointTorque("shoulder drive", shoulder, fm.PD(kp=800, kd=30, reference=reference)))
    report = arm.check()
    assert not report.errors
    assert not report.warnings
    assert report.sections["degrees of freedom"][0].startswith("f = 6·3 − 16 = 2 ")
    assert report.sections["degrees of freedom"][1] == "2 elastic coordinates"
    assert (
        report.sections["degrees of freedom"][-1]
        == "0 closed loops: n_h = n_c − n = 3 joints − 3 bodies"
    )
    assert "  elbow, revolute, upper/tip → fore/hub, 1 degree of freedom" in report.lines
    assert str(report).endswith("ready to run")
    arm.save(tmp_path / "arm.toml")
    assert fm.load(tmp_path / "arm.toml") == arm


def test_references_may_be_handles_frames_or_text() -> None:
    model = fm.Model("m", frames={"pivot": (0, 0, 1)})
    body = model.add(fm.PointMass("bob", mass=1, frames={"eye": (0, 0, 1)}))
    by_handle = fm.Revolute("j", model.ground["pivot"], body["eye"])
    assert by_handle == fm.Revolute("j", "ground/pivot", "bob/eye")
    assert by_handle == fm.Revolute("j", fm.FrameRef("ground", "pivot"), fm.FrameRef("bob", "eye"))
    assert fm.Revolute("j", model.ground, body) == fm.Revolute("j", "ground", "bob")
    joint = model.add(by_handle)
    assert fm.JointSpring("s", joint, k=1) == fm.JointSpring("s", "j", k=1)
    assert str(by_handle.child) == "bob/eye"


def test_a_handle_knows_its_frames() -> None:
    model = chain(1)
    handle = model.add(fm.RigidBody("b", frames={"tip": (0, 0, 0)}, **UNIT))
    assert problems_of(lambda: handle["tp"]) == ["bodies.b: no frame 'tp'; did you mean 'tip'?"]
    assert problems_of(lambda: model.ground["pivt"]) == [
        "bodies.ground: no frame 'pivt'; did you mean 'pivot'?"
    ]


def test_names_are_taken_once() -> None:
    model = chain(1)
    assert problems_of(lambda: model.add(fm.PointMass("b0", mass=1.0))) == [
        "bodies.b0: the name is already in use; choose another"
    ]
    model.add(fm.JointSpring("b0", "j0"))  # another section


@pytest.mark.parametrize("item", [fm.Frame(), fm.Constant(1.0), "bodies", None])
def test_only_items_are_added(item) -> None:
    takes = "it takes bodies, joints, forces, drives, couplings, contacts and rotors"
    assert takes in problems_of(lambda: chain(1).add(item))[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gravity": (0, 0)}, "model.m.gravity: must have 3 numbers, not 2"),
        ({"gravity": -9.81}, "model.m.gravity: must be a list, not -9.81"),
        ({"frames": {"p": "here"}}, "model.m.frames.p: must be a list, not 'here'"),
        ({"cuts": (3,)}, "model.m.cuts: must be a joint (its handle or name), not 3"),
    ],
)
def test_bad_model_options(options, message) -> None:
    assert problems_of(lambda: fm.Model("m", **options))[0].startswith(message)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            fm.Revolute("elbow", "b0/tip", "b1/hub"),
            "joints.elbow.child: body 'b1' has no frame 'hub'; known: root, tip",
        ),
        (
            fm.Revolute("elbow", "b0/tip", "b11"),
            "joints.elbow.child: no body 'b11'; did you mean 'b1'?",
        ),
        (
            fm.Revolute("elbow", "ground/pivo", "b1"),
            "joints.elbow.parent: body 'ground' has no frame 'pivo'; did you mean 'pivot'?",
        ),
        (fm.Revolute("elbow", "b1/tip", "b1/root"), "joints.elbow.child: connects 'b1' to itself"),
        (
            fm.Fixed("twice", "b1/root", "b0/tip"),
            "joints.twice.child: joint 'j1' connects b1/root and b0/tip already",
        ),
        (
            fm.FrameForce("push", "b3/tip"),
            "forces.push.frame: no body 'b3'; known: b0, b1, b2, ground",
        ),
        (
            fm.PointSpring("rope", "ground", "b0/hub", k=1),
            "forces.rope.frame_b: body 'b0' has no frame 'hub'; known: root, tip",
        ),
        (
            fm.JointTorque("motor", "j2", 1.0),
            "forces.motor.joint: no joint 'j2'; known: ball, j0, j1",
        ),
        (
            fm.JointTorque("motor", "j1", 1.0, coordinate=1),
            "forces.motor.coordinate: joint 'j1' has no coordinate 1; it has: 0 … 0",
        ),
        (
            fm.JointTorque("motor", "ball", 1.0, coordinate=1),
            "forces.motor.coordinate: coordinate 1 of joint 'ball' (spherical) has a velocity",
        ),
        (fm.Drive("turn", "j7", 1.0), "drives.turn.joint: no joint 'j7'; known: ball, j0, j1"),
        (
            fm.Drive("turn", "j0", 1.0),
            "drives.turn.joint: coordinate 0 of joint 'j0' is prescribed by drive 'first' already",
        ),
    ],
)
def test_errors_in_references_and_topology(item, message) -> None:
    model = chain()
    model.add(fm.RigidBody("b2", **UNIT))
    model.add(fm.Spherical("ball", "b1/tip", "b2"))
    model.add(fm.Drive("first", "j0", 0.0))
    assert errors(model) == []
    model.add(item)
    found = errors(model)
    assert len(found) == 1
    assert found[0].startswith(message)


def test_unknown_cut() -> None:
    model = chain()
    model.cuts = ("j5",)
    assert errors(model)[0].startswith("cuts: no joint 'j5'; known: j0, j1")


def test_two_joints_between_two_bodies_in_different_places_are_a_matter_of_redundancy() -> None:
    model = fm.Model("door", frames={"low": (0, 0, 0), "high": (0, 0, 1)})
    door = model.add(fm.RigidBody("door", frames={"low": (0, 0, 0), "high": (0, 0, 1)}, **UNIT))
    model.add(fm.Revolute("first hinge", model.ground["low"], door["low"]))
    model.add(fm.Revolute("second hinge", model.ground["high"], door["high"]))
    assert errors(model) == []
    assert any("hinge" in line for line in model.check().warnings)


def test_empty_model() -> None:
    report = fm.Model("nothing").check()
    assert report.errors == ["bodies: the model has no body; add at least one"]
    assert report.lines[-1] == "not ready to run"
    with pytest.raises(fm.InputError, match="has no body"):
        report.raise_errors()


@pytest.mark.parametrize(
    ("body", "joint", "message"),
    [
        (
            fm.RigidBody("b", mass=0, inertia=(0, 0, 0)),
            None,
            "bodies.b.mass: is 0 and no other body moves with it",
        ),
        (
            fm.RigidBody("b", mass=0, inertia=(0, 0, 0)),
            fm.Revolute,
            "bodies.b.mass: is 0 and no other body moves with it",
        ),
        (fm.RigidBody("b", mass=0, inertia=(0, 0, 0)), fm.Fixed, ""),
        (fm.PointMass("b", mass=1), None, ""),
        (fm.PointMass("b", mass=1), fm.Translation, ""),
        (
            fm.PointMass("b", mass=1),
            fm.Revolute,
            "bodies.b: has no rotational inertia, and joint 'j' leaves its rotation free",
        ),
        (
            fm.PointMass("b", mass=1),
            fm.Free,
            "bodies.b: has no rotational inertia, and joint 'j' leaves its rotation free",
        ),
        (
            fm.RigidBody("b", mass=1, inertia=(0, 0, 0)),
            fm.Spherical,
            "bodies.b: has no rotational inertia",
        ),
    ],
)
def test_bodies_without_inertia_must_not_be_left_free(body, joint, message) -> None:
    model = chain(1)
    model.add(body)
    if joint is not None:
        model.add(joint("j", "b0/tip", "b"))
    found = errors(model)
    assert (found[0].startswith(message) and len(found) == 1) if message else found == []


def test_a_pendulum_of_a_point_mass() -> None:
    model = fm.Model("pendulum")
    bob = model.add(fm.PointMass("bob", mass=1.0, frames={"eye": (0, 0, 1)}))
    model.add(fm.Revolute("pivot", model.ground, bob["eye"], axis="y"))
    assert errors(model) == []


def test_a_mass_at_the_end_of_a_massless_rod() -> None:
    """What counts is the lever of the centre of mass, not that of the body's origin."""
    for com, eye, ready in (((0, 0, -1), (0, 0, 0), True), ((0, 0, -1), (0, 0, -1), False)):
        model = fm.Model("pendulum")
        rod = model.add(
            fm.RigidBody("rod", mass=1.0, inertia=(0, 0, 0), com=com, frames={"eye": eye})
        )
        model.add(fm.Revolute("pivot", model.ground, rod["eye"], axis="y"))
        assert (errors(model) == []) is ready


def test_free_bodies_are_reported() -> None:
    model = chain(1)
    model.add(fm.RigidBody("stone", **UNIT))
    model.add(fm.RigidBody("moon", **UNIT))
    model.add(fm.Fixed("dust", "stone", "moon"))
    (warning,) = model.check().warnings
    assert warning.startswith("bodies: not connected to the ground by joints: stone, moon;")


@pytest.mark.parametrize(("q0", "warned"), [(6.2, False), (45.0, True), (-90.0, True)])
def test_degrees_for_radians_are_noticed(q0, warned) -> None:
    model = fm.Model("m")
    model.add(fm.RigidBody("b", **UNIT))
    model.add(fm.Revolute("j", "ground", "b", q0=q0))
    assert [w.split(": the angle")[0] for w in model.check().warnings] == ["joints.j.q0"] * warned


def hinged(**header) -> fm.Model:
    model = fm.Model("m", frames={"p": (0, 0, -1)}, **header)
    arm = model.add(fm.RigidBody("b", frames={"f": (0, 0, 1)}, **UNIT))
    model.add(fm.Revolute("j", model.ground, arm))
    return model


@pytest.mark.parametrize(
    ("item", "place"),
    [
        (fm.Drive("d", "j", 45.0), "drives.d.motion: the angle 45 rad is more than a full turn"),
        (fm.Drive("d", "j", fm.SmoothStep(90.0, duration=1.0)), "drives.d.motion: the angle 90"),
        (fm.Drive("d", "j", fm.SmoothStep(20 * np.pi, duration=1.0)), ""),  # ten turns
        (fm.Drive("d", "j", fm.Ramp(0.0, rate=100.0)), ""),
        (fm.Drive("d", "j", fm.Sine(30.0, frequency=1.0)), "drives.d.motion: the angle 30 rad"),
        (fm.JointTorque("t", "j", fm.PD(kp=1.0, reference=-90.0)), "forces.t.law.reference: the"),
        (fm.JointSpring("s", "j", k=1.0, x0=30.0), "forces.s.x0: the angle 30 rad is more"),
        (fm.JointLimit("l", "j", upper=90.0), "contacts.l.upper: the angle 90 rad is more"),
        (fm.JointLimit("l", "j", lower=-6.98, upper=6.98), ""),  # ±400°, of a wrist
        (
            fm.PointSpring("s", "b/f", "b", k=1.0),
            "forces.s: both ends, b/f and b, are on the rigid",
        ),
        (fm.PointSpring("s", "ground/p", "b", k=1.0), ""),
        (
            fm.SpherePlane("c", "ground/p", "b", normal="-z", radius=0.1),
            "contacts.c: 'b' is 1 m beh",
        ),
        (fm.SpherePlane("c", "ground/p", "b", radius=0.1), ""),
    ],
)
def test_values_of_other_units_or_places_are_noticed(item, place) -> None:
    model = hinged()
    model.add(item)
    assert [warning[: len(place)] for warning in model.check().warnings] == [place] * bool(place)


@pytest.mark.parametrize(
    ("g", "told"),
    [(0.0, ""), (1.62, ""), (24.8, ""), (9810.0, "in mm/s² it would be 9.81"), (0.00981, "give 0")],
)
def test_gravity_of_another_unit_is_noticed(g, told) -> None:
    warnings = hinged(gravity=(0, 0, -g)).check().warnings
    assert len(warnings) == bool(told)
    assert all(
        each.startswith(f"gravity: {g:.4g} m/s² is unusual") and told in each for each in warnings
    )


def test_frames_of_the_bodies_of_a_model() -> None:
    model = hinged()
    assert model.bodies["b"]["f"] == fm.FrameRef("b", "f")
    with pytest.raises(fm.InputError, match=r"bodies\.b: no frame 'g'; known: f"):
        model.bodies["b"]["g"]
    assert fm.Revolute("k", model.ground, model.bodies["b"]).child == fm.FrameRef("b")


def test_slips_in_a_chain_and_a_universal_joint_are_noticed() -> None:
    model = fm.Model("m")
    model.add(fm.RigidBody("b", **UNIT))
    model.add(
        fm.Chain("c", "ground", "b", motions=(Slide("x"), FixedRotation("z", 90.0), Slide("x")))
    )
    model.add(fm.RigidBody("d", **UNIT))
    model.add(fm.Universal("u", "b", "d", axes=("x", (1, 1, 0))))
    places = [warning.split(":")[0] for warning in model.check().warnings]
    assert places == ["joints.c.motions.1", "joints.u.axes"]


def test_flexible_bodies_are_checked_against_their_file(tmp_path) -> None:
    rod().save(tmp_path / "rod.h5")
    model = fm.Model("m")
    arm = model.add(fm.FlexibleBody("arm", tmp_path / "rod.h5", damping=(0.1, 0.2), qf0=(0, 0)))
    model.add(fm.Fixed("clamp", model.ground, arm["root"]))
    model.add(fm.FlexibleBody("lost", tmp_path / "lost.h5"))
    found = errors(model)
    assert found[0] == "bodies.arm.damping: must have one number per mode, 1, not 2"
    assert found[1] == "bodies.arm.qf0: must have one number per mode, 1, not 2"
    assert found[2].startswith("bodies.lost.file: ")
    assert "no such file" in found[2]
    assert found[3] == "joints.clamp.child: body 'arm' has no frame 'root'; known: hub, tip"


def test_overdamped_modes_are_noticed() -> None:
    model = fm.Model("m")
    arm = model.add(fm.FlexibleBody("arm", data=rod(), damping=2.0))
    model.add(fm.Fixed("clamp", model.ground, arm["hub"]))
    assert model.check().warnings == [
        "bodies.arm.damping: the ratio 2 is above 1 (overdamped); 0.01 means 1 %"
    ]


# Shabana, Computational Dynamics, and Wittenburg: planar linkages count negative in space; their
# loops close redundantly
@pytest.mark.parametrize(
    ("links", "kinds", "f", "loops"),
    [
        (3, (fm.Revolute,) * 4, -2, 1),  # four-bar linkage
        (3, (fm.Revolute, fm.Spherical, fm.Universal, fm.Prismatic), 1, 1),  # RSUP slider-crank
        # RSSR with the coupler's own rotation
        (3, (fm.Revolute, fm.Spherical, fm.Spherical, fm.Revolute), 2, 1),
        (5, (fm.Revolute,) * 6, 0, 1),  # six revolutes: rigid in general
    ],
)
def test_count_of_degrees_of_freedom_of_closed_chains(links, kinds, f, loops) -> None:
    model = fm.Model("loop", frames={"end": (1, 0, 0)})
    names = ["ground", *(f"b{i}" for i in range(links)), "ground/end"]
    for name in names[1:-1]:
        model.add(fm.RigidBody(name, frames={"end": (1, 0, 0)}, **UNIT))
    for i, make in enumerate(kinds):
        model.add(make(f"j{i}", names[i], names[i + 1]))
    lines = model.check().sections["degrees of freedom"]
    assert f"= {f} rigid-body".replace("-", "−", 1 if f < 0 else 0) in lines[0]
    assert lines[-1].startswith(f"{loops} closed loop:")


def test_point_masses_and_drives_in_the_count() -> None:
    model = chain(1)
    model.add(fm.PointMass("bob", mass=1.0))
    model.add(fm.Drive("turn", "j0", 1.0))
    lines = model.check().sections["degrees of freedom"]
    assert "= 4 rigid-body" in lines[0]
    assert lines[1:3] == [
        "point masses without a joint have 3 translations: bob",
        "1 prescribed by drives, 3 remaining",
    ]


def test_models_are_equal_by_value(tmp_path) -> None:
    assert chain() == chain()
    assert chain() != chain(3)
    other = chain()
    other.run = fm.Run(t_end=1.0)
    assert other != chain()
    assert chain() != "chain"
    assert with_every_kind(tmp_path) == with_every_kind(tmp_path)


def test_arrays_are_accepted_wherever_lists_are() -> None:
    model = fm.Model("m", gravity=np.array([0, 0, -1.6]))
    body = fm.RigidBody(
        "b",
        mass=np.float32(1.0),
        inertia=np.eye(3),
        com=np.zeros(3),
        frames={"f": np.array([1, 2, 3])},
    )
    assert body == fm.RigidBody("b", mass=1, inertia=(1, 1, 1), frames={"f": (1, 2, 3)})
    assert model.gravity == (0.0, 0.0, -1.6)


def test_every_kind_passes_the_check(tmp_path) -> None:
    model = with_every_kind(tmp_path)
    families = ("bodies", "joints", "forces", "drives", "couplings", "contacts", "rotors")
    declared = {(family, kind) for family in families for kind in _kinds(model, family)}
    assert len(declared) == 3 + 13 + 15 + 1 + 8 + 11 + 1
    assert errors(model) == []


def _kinds(model: fm.Model, family: str) -> set[str]:
    return {item.kind for item in model.items(family).values()}


def test_gravity_and_cuts_may_be_changed_and_are_checked() -> None:
    model = chain()
    model.gravity = np.array([0, 0, -1.62])
    model.cuts = ["j1"]
    assert (model.gravity, model.cuts) == ((0.0, 0.0, -1.62), ("j1",))
    with pytest.raises(fm.InputError, match=r"model\.chain\.gravity: must have 3 numbers, not 1"):
        model.gravity = (9.81,)


def test_models_can_be_copied(tmp_path) -> None:
    model = with_every_kind(tmp_path)
    assert copy.deepcopy(model) == model
