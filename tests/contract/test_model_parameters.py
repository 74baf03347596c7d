"""Each number of random models is read and changed by its path."""

import pytest
from any_models import any_model

import flexmbs as fm
from flexmbs.studies.parameters.parameter_paths import changed, number_at


@pytest.mark.parametrize("seed", range(12))
def test_each_number_of_a_random_model_is_changed_and_back(seed):
    model = any_model(seed).model
    found = fm.parameters(model)
    assert len(found) > 10
    for path, value in found.items():
        assert number_at(model, path) == value
        try:
            other = changed(model, {path: value * (1.0 + 1e-6) + 1e-9})
        except fm.InputError:  # at a bound, such as that of an inertia
            continue
        assert number_at(other, path) != value or ".axis." in path  # axes are normalised


@pytest.mark.parametrize(
    "names",
    [("tool", "tool.mass"), ("tool", "tool.com"), ("arm.1", "arm.1.frames"), ("a", "a.frames.b")],
)
def test_no_name_hides_the_parameter_of_another_one(names):
    """Each path is read in all ways: "bodies.tool.mass" may be the mass of the tool, or a body."""
    model = fm.Model("two")
    for k, name in enumerate(names):
        model.add(
            fm.RigidBody(
                name,
                mass=1.0 + k,
                com=(0.1, 0.2, 0.3),
                inertia=(1.0, 1.0, 1.0),
                frames={"b": (1.0, 0, 0)},
            )
        )
    ambiguous = []
    for path, value in fm.parameters(model).items():
        try:
            assert number_at(changed(model, {path: value + 0.01}), path) == pytest.approx(
                value + 0.01
            )
        except fm.InputError as error:
            ambiguous.append(str(error))
    text = "bodies.tool.mass: is 'mass' in 'tool' in 'bodies', and 'tool.mass' in 'bodies' too; "
    text += "rename an item with a dot in its name"
    assert ambiguous == ([text] if names[1] == "tool.mass" else [])
    assert number_at(model, f"bodies.{names[1]}.mass") == 2.0
    for path, told in (
        (f"bodies.{names[1]}.volume", "is not in"),
        ("gravity.x.", "ends with a dot"),
    ):
        with pytest.raises(fm.InputError, match=told):
            number_at(model, path)


def test_two_numbers_of_one_path_are_refused():
    model = fm.Model("two")
    for name in ("a", "a.frames.b"):
        frame = {"position": (1.0, 0.0, 0.0)}
        model.add(
            fm.RigidBody(
                name, mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"b": frame, "b.frames.b": frame}
            )
        )
    with pytest.raises(
        fm.InputError,
        match=r"bodies.a.frames.b.frames.b.position.x: is the path of two numbers; rename",
    ):
        fm.parameters(model)
