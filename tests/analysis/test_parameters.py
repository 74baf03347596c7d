"""Parameters of a model by path: read, changed in a copy, listed."""

import math

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.studies.parameters.parameter_paths import changed, made, number_at


def arm():
    model = fm.Model("arm", frames={"base": (0, 0, 0.1)}, run=fm.Run(t_end=1.0))
    inertia = (0.1, 0.1, 0.1, 0.01, 0.0, 0.0)
    link = model.add(
        fm.RigidBody(
            "link v1.2", mass=2.0, inertia=inertia, com=(0, 0, -0.5), frames={"tip": (0, 0, -1.0)}
        )
    )
    shoulder = model.add(fm.Revolute("shoulder", model.ground["base"], link, axis="y", q0=0.3))
    model.add(
        fm.JointTorque(
            "drive", shoulder, fm.PD(kp=100.0, kd=3.0, reference=fm.Sine(0.2, frequency=1.0))
        )
    )
    return model


READ = {
    "bodies.link v1.2.mass": 2.0,
    "bodies.link v1.2.com.z": -0.5,
    "bodies.link v1.2.com.2": -0.5,
    "bodies.link v1.2.inertia.xy": 0.01,
    "bodies.link v1.2.inertia.yx": 0.01,
    "bodies.link v1.2.frames.tip.position.z": -1.0,
    "joints.shoulder.q0": 0.3,
    "forces.drive.law.kd": 3.0,
    "forces.drive.law.reference.frequency": 1.0,
    "gravity.z": -9.81,
    "frames.base.position.z": 0.1,
    "run.t_end": 1.0,
}


@pytest.mark.parametrize("path", READ)
def test_a_parameter_is_read_and_changed_in_a_copy(path):
    model, before = arm(), arm()
    assert number_at(model, path) == READ[path]
    other = changed(model, {path: READ[path] + 0.01})
    assert number_at(other, path) == READ[path] + 0.01
    assert model == before
    assert other != before
    assert changed(other, {path: READ[path]}) == before


def test_an_inertia_stays_symmetric():
    inertia = np.array(
        changed(arm(), {"bodies.link v1.2.inertia.xy": 0.02}).bodies["link v1.2"].inertia
    )
    assert inertia[0, 1] == inertia[1, 0] == 0.02


def test_values_that_are_valid_only_together_are_changed_together():
    heavy = {f"bodies.link v1.2.inertia.{pair}": 9.0 for pair in ("xx", "yy", "zz")}
    with pytest.raises(fm.InputError, match="not physical"):
        changed(arm(), dict(list(heavy.items())[:1]))
    assert changed(arm(), heavy).bodies["link v1.2"].inertia[1][1] == 9.0


def test_a_constant_law_is_a_number():
    model = arm()
    model.add(fm.FrameForce("load", "link v1.2/tip", force=(0, 0, 5.0)))
    assert (
        number_at(model, "forces.load.force.z")
        == fm.parameters(model)["forces.load.force.z"]
        == 5.0
    )
    assert changed(model, {"forces.load.force.z": 6.0}).forces["load"].force[2] == fm.Constant(6.0)


def test_whole_arguments_and_items_are_changed_too():
    model = arm()
    tilted = changed(model, {"bodies.link v1.2.frames.tip.rotation": ("y", 0.1)})
    assert tilted.bodies["link v1.2"].frames["tip"].rotation[0][0] == pytest.approx(math.cos(0.1))
    assert changed(model, {"forces.drive.law": 3.0}).forces["drive"].law == fm.Constant(3.0)
    ball = fm.PointMass("link v1.2", mass=1.0)
    assert changed(model, {"bodies.link v1.2": ball}).bodies["link v1.2"] is ball


def test_a_function_gets_its_arguments_and_its_model_is_changed_at_paths():
    def build(*, load):
        return changed(arm(), {"bodies.link v1.2.mass": load})

    model = made(build, {"load": 7.0, "joints.shoulder.q0": -0.1})
    assert number_at(model, "bodies.link v1.2.mass") == 7.0
    assert number_at(model, "joints.shoulder.q0") == -0.1


WRONG = {
    "bodies.lonk.mass": "bodies.lonk.mass: 'lonk' is not in bodies; known: link v1.2",
    "bodies.link v1.2.mas": "'mas' is not in bodies.link v1.2; did you mean 'mass'?",
    "bodys.link.mass": "'bodys' is not in model 'arm'; did you mean 'bodies'?",
    "bodies.link v1.2.com": "(0.0, 0.0, -0.5) is not one number; take bodies.link v1.2.com.x",
    "joints.shoulder.v0": "joints.shoulder.v0: is not given in the model; give it a value there",
    "joints.shoulder.axis.w": "'w' is not in joints.shoulder.axis",
    "bodies.link v1.2.frames.tip.rotation.xx": "'xx' is not in bodies.link v1.2.frames.tip.rotation",
    "": "parameters: '' is not the path of a parameter, such as 'bodies.tool.mass'",
}


@pytest.mark.parametrize("path", WRONG)
def test_a_wrong_path_is_named_with_its_remedy(path):
    with pytest.raises(fm.InputError) as error:
        number_at(arm(), path)
    assert WRONG[path] in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "path, value, message",
    [
        ("bodies.link v1.2.mass", -1.0, "must be >= 0, not -1"),
        ("forces.drive.law.kp", "stiff", "forces.drive.law.kp: must be a number, not 'stiff'"),
        ("bodies.link v1.2.inertia.xx", 9.0, "not physical"),
        ("gravity.z", math.nan, "must be finite, not nan"),
        ("bodies", 1.0, "bodies: is not an argument of an item"),
        ("bodies.link v1.2", 1.0, "is not an argument of an item"),
    ],
)
def test_a_wrong_value_is_named(path, value, message):
    with pytest.raises(fm.InputError) as error:
        changed(arm(), {path: value})
    assert message in str(error.value)


def test_the_function_must_give_a_model():
    with pytest.raises(fm.InputError, match=r"build: the function gave 3\.0; it must give a Model"):
        made(lambda x: x, {"x": 3.0})


def test_parameters_lists_every_number_once():
    found = fm.parameters(arm())
    assert {path: value for path, value in READ.items() if path in found}.items() <= found.items()
    assert [path for path in READ if path not in found] == [
        "bodies.link v1.2.com.2", "bodies.link v1.2.inertia.yx", "run.t_end"
    ]  # fmt: skip
    assert found["forces.drive.law.reference.amplitude"] == 0.2


def test_the_only_element_of_a_list():
    """A joint of a model file may have q0 = [0.3]: its path gives and takes the number."""
    model = fm.Model("rail")
    block = model.add(fm.PointMass("block", mass=1.0))
    model.add(fm.Prismatic("rail", model.ground, block, q0=(0.3,)))
    other = changed(model, {"joints.rail.q0": 0.4})
    assert (number_at(model, "joints.rail.q0"), number_at(other, "joints.rail.q0")) == (0.3, 0.4)
