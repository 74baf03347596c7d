"""Model files: the round trip, content that a file cannot hold, and all problems reported together
with their lines.
"""

import textwrap

import pytest
from declared import problems_of, rod, with_every_kind
from toml_texts import BODY, HEAD, JOINT, problems, read

import flexmbs as fm


def test_round_trip_of_every_kind(tmp_path) -> None:
    model = with_every_kind(tmp_path)
    model.save(tmp_path / "m.toml")
    again = fm.load(tmp_path / "m.toml", allow_code=True)
    for section in ("bodies", "joints", "forces", "drives", "couplings", "contacts"):
        assert again.items(section) == model.items(section)
    assert again == model
    assert again.to_toml() == (tmp_path / "m.toml").read_text()
    assert again.folder == tmp_path


def test_the_file_of_the_documentation(tmp_path) -> None:
    rod().save(tmp_path / "link.h5")
    text = """
        format = "flexmbs-model/1"
        name = "two-link arm"
        gravity = [0.0, 0.0, -9.81]
        [bodies.upper]
        kind = "flexible"
        file = "link.h5"
        [joints.shoulder]
        kind = "revolute"
        parent = "ground"
        child = "upper/hub"
        axis = "y"
        q0 = -0.5
        [forces.motor]
        kind = "joint-torque"
        joint = "shoulder"
        law = { kind = "pd", kp = 800, kd = 30, reference = { kind = "smooth-step", value = 0.35, start = 0.2, duration = 0.8 } }
        [drives.turn]
        joint = "shoulder"
        motion = 0.5
        [run]
        t_end = 2.0
        step = 1e-3
        formalism = "recursive"
        """
    arm = fm.Model(
        "two-link arm",
        gravity=(0, 0, -9.81),
        run=fm.Run(t_end=2.0, step=1e-3, formalism="recursive"),
    )
    upper = arm.add(fm.FlexibleBody("upper", tmp_path / "link.h5"))
    shoulder = arm.add(fm.Revolute("shoulder", arm.ground, upper["hub"], axis="y", q0=-0.5))
    arm.add(
        fm.JointTorque(
            "motor",
            shoulder,
            fm.PD(800, 30, reference=fm.SmoothStep(0.35, start=0.2, duration=0.8)),
        )
    )
    arm.add(fm.Drive("turn", shoulder, 0.5))
    loaded = read(tmp_path, textwrap.dedent(text))
    assert loaded == arm
    assert loaded.check().errors == []


def test_a_small_model_is_written_as_a_person_would(tmp_path) -> None:
    model = fm.Model("pendulum", frames={"pivot": (0, 0, 1)})
    bob = model.add(fm.PointMass("bob no. 1", mass=0.5, frames={"eye": (0, 0, 1)}))
    model.add(fm.Revolute("hinge", model.ground["pivot"], bob["eye"], axis="y", q0=0.1))
    assert model.to_toml() == textwrap.dedent("""\
        format = "flexmbs-model/1"
        name = "pendulum"
        gravity = [0.0, 0.0, -9.81]

        [frames]
        pivot = [0.0, 0.0, 1.0]

        [bodies."bob no. 1"]
        kind = "point-mass"
        frames = { eye = [0.0, 0.0, 1.0] }
        mass = 0.5

        [joints.hinge]
        kind = "revolute"
        parent = "ground/pivot"
        child = "bob no. 1/eye"
        q0 = 0.1
        axis = "y"
        """)


def test_every_problem_of_a_file_at_once_with_its_line(tmp_path) -> None:
    text = """
        format = "flexmbs-model/1"
        name = "m"
        gravty = [0, 0, -9.81]

        [bodies.fore]
        kind = "rigid"
        mass = -1.0
        inertia = [[1, 0], [1, 0], [3, 0]]

        [bodies.tool]
        kind = "ridgid"

        [bodies.hand]
        kind = "point-mass"
        mass = 1.0
        frames.tip = [0, 0, 1]

        [joints.wrist]
        kind = "fixed"
        parent = "for"
        child = "hand/tp"
        axle = "z"

        [joints.elbow]
        kind = "revolute"
        parent = "fore/hub"
        child = "hand/tp"

        [joints."knee 2"]
        kind = "revolute"

        [forces.motor]
        kind = "joint-torque"
        joint = "wrist"
        law = { kind = "pd", kp = "much", reference = { kind = "sine" } }

        [drives.turn]
        joint = "elbo"
        motion = 1.0

        [run]
        t_end = 0
        """
    assert problems(tmp_path, textwrap.dedent(text).lstrip("\n")) == [
        "m.toml:3: gravty: unknown key; did you mean 'gravity'?",
        "m.toml:7: bodies.fore.mass: must be >= 0, not -1",
        "m.toml:8: bodies.fore.inertia: must have 3 numbers, not 2",
        "m.toml:11: bodies.tool.kind: unknown kind 'ridgid'; did you mean 'rigid'?",
        "m.toml:22: joints.wrist.axle: unknown key; known: child, name, parent, q0, v0",
        "m.toml:27: joints.elbow.child: body 'hand' has no frame 'tp'; did you mean 'tip'?",
        "m.toml:29: joints.knee 2.parent: is missing",
        "m.toml:29: joints.knee 2.child: is missing",
        "m.toml:35: forces.motor.law.kp: must be a number, not 'much'",
        "m.toml:35: forces.motor.law.reference.amplitude: is missing",
        "m.toml:35: forces.motor.law.reference.frequency: is missing",
        "m.toml:38: drives.turn.joint: no joint 'elbo'; did you mean 'elbow'?",
        "m.toml:42: run.t_end: must be > 0, not 0",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "name = 'm'\n" + BODY,
            'm.toml: format: is missing; a model file begins with format = "flexmbs-model/1"',
        ),
        (
            "format = 'flexmbs-model/9'\nname = 'm'\n" + BODY,
            "m.toml:1: format: is 'flexmbs-model/9'; this version reads 'flexmbs-model/1'",
        ),
        ('format = "flexmbs-model/1"\n' + BODY, "m.toml: name: is missing"),
        (HEAD, "m.toml: bodies: the model has no body; add at least one"),
        (HEAD + "bodies = 3", "m.toml:3: bodies: must be a table, not 3"),
        (HEAD + "[bodies]\nb = 3", "m.toml:4: bodies.b: must be a table, not 3"),
        (
            HEAD + "[[bodies]]\nkind = 'rigid'",
            "m.toml:3: bodies: must be a table, not [{'kind': 'rigid'}]",
        ),
        (
            HEAD + "[bodies.b]\nmass = 1",
            "m.toml:3: bodies.b.kind: is missing; one of: flexible, point-mass, rigid",
        ),
        (
            HEAD + "[bodies.b]\nkind = 3",
            "m.toml:4: bodies.b.kind: unknown kind 3; known: flexible, point-mass, rigid",
        ),
        (
            HEAD + BODY + "name = 'c'",
            "m.toml:8: bodies.b.name: unknown key; the table's title gives the name, 'b'",
        ),
        (
            HEAD + BODY.replace(".b]", ".ground]"),
            "m.toml:3: bodies.ground.name: 'ground' is the fixed body of every model",
        ),
        (HEAD + BODY + "mass = 2", "m.toml:8: not TOML: Cannot overwrite a value"),
        (HEAD + BODY + BODY, "m.toml:8: not TOML: Cannot declare ('bodies', 'b') twice"),
        (HEAD + "gravity = [0, 0, -9.81", "m.toml:3: not TOML: Unclosed array"),
        (HEAD + "gravity = 9.81\n" + BODY, "m.toml:3: gravity: must be a list, not 9.81"),
        (HEAD + "gravity = [nan, 0, 0]\n" + BODY, "m.toml:3: gravity: must be finite, not nan"),
        (HEAD + "cuts = ['k']\n" + BODY + JOINT, "m.toml:3: cuts: no joint 'k'; known: j"),
        (HEAD + "cuts = 'k'\n" + BODY + JOINT, "m.toml:3: cuts: must be a list, not 'k'"),
        (
            HEAD + BODY + JOINT + "axis = [0, 0, 0]",
            "m.toml:12: joints.j.axis: the axis has zero length",
        ),
        (HEAD + BODY + JOINT + "q0 = [1, 2]", "m.toml:12: joints.j.q0: must have 1 number, not 2"),
        (
            HEAD + BODY + "[drives.d]\njoint = 'j'\nmotion = '2*t'",
            "m.toml:10: drives.d.motion.function: must be a function or its name",
        ),
        (
            HEAD + BODY + "[run]\nt_end = 1\noutput_step = 3",
            "m.toml:10: run.output_step: must not exceed t_end = 1, not 3",
        ),
        (
            HEAD + BODY + "[run]\nt_end = 1\nsteps = 3",
            "m.toml:10: run.steps: unknown key; did you mean 'step'?",
        ),
        (
            HEAD + "frames = { a = [1, 2] }\n" + BODY,
            "m.toml:3: frames.a.position: must have 3 numbers, not 2",
        ),
        (
            HEAD + "frames.a = { position = [1, 2, 3], angle = 1 }\n" + BODY,
            "m.toml:3: frames.a.angle: unknown key; known: position, rotation",
        ),
    ],
)
def test_bad_file(tmp_path, text, problem) -> None:
    assert problems(tmp_path, text)[0].startswith(problem)


def test_one_problem_is_reported_once(tmp_path) -> None:
    assert len(problems(tmp_path, HEAD + BODY + JOINT + "axis = 3")) == 1


def test_no_file(tmp_path) -> None:
    assert problems_of(lambda: fm.load(tmp_path / "no.toml")) == [
        f"{tmp_path}/no.toml: cannot be read: No such file or directory"
    ]
    assert "is a folder; only regular files are read" in problems_of(lambda: fm.load(tmp_path))[0]
    assert "must be a file path" in problems_of(lambda: fm.load("a\0b"))[0]


def test_windows_line_ends_and_byte_order_mark(tmp_path) -> None:
    text = (HEAD + BODY + JOINT).replace("\n", "\r\n").encode("utf-8-sig")
    assert read(tmp_path, text) == read(tmp_path, HEAD + BODY + JOINT)


def test_data_in_memory_and_unnamed_functions_cannot_be_saved(tmp_path) -> None:
    model = fm.Model("m")
    arm = model.add(fm.FlexibleBody("arm", data=rod()))
    hinge = model.add(fm.Revolute("hinge", model.ground, arm["hub"]))
    model.add(fm.Drive("turn", hinge, lambda t: t))
    found = problems_of(lambda: model.save(tmp_path / "m.toml"))
    assert (
        found[0] == "bodies.arm.data: is in memory only; save the body (data.save('body.h5')) and "
        "give its file"
    )
    assert found[1].startswith("drives.turn.motion: ")
    assert "define it at the top level of a module" in found[1]
    assert not (tmp_path / "m.toml").exists()
    text = model.to_toml(complete=False)
    assert 'data = "<in memory: rod>"' in text
    assert "lambda" in text


def test_a_folder_that_is_not_there(tmp_path) -> None:
    model = read(tmp_path, HEAD + BODY + JOINT)
    with pytest.raises(
        fm.MachineError,
        match=r"no/m.toml: cannot be written \(No such file or directory\); check the folder",
    ):
        model.save(tmp_path / "no" / "m.toml")
