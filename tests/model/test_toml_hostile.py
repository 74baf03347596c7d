"""Hostile and random model files: rejected quickly, and only by `InputError`."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toml_texts import HEAD, problems, read

import flexmbs as fm

HOSTILE = {
    "brackets": "[" * 100_000,
    "nested arrays": "a = " + "[" * 100_000,
    "nested tables": "a = " + "{a=" * 50_000,
    "dotted key": "a" + ".a" * 300_000 + " = 1",
    "dotted header": "[" + "a . " * 300_000 + "a]",
    "quoted dotted key": '"!"' + '."!"' * 100_000 + " = 1",
    "dotted keys line by line": "".join(f"a{'.a' * 7}.b{i}{'.a' * 7} = 1\n" for i in range(20_000)),
    "NUL": HEAD + "gravity = \0",
    "many digits": HEAD + "gravity = [" + "9" * 5000 + ", 0, 0]",
    "huge number": HEAD + "gravity = [" + "9" * 4000 + ", 0, 0]",
    "huge hexadecimal": HEAD + "[run]\nt_end = 0x" + "f" * 300_000,
    "huge index": HEAD
    + "[forces.f]\nkind = 'joint-torque'\njoint = 'j'\nlaw = 1\ncoordinate = 0x"
    + "f" * 30_000,
    "too large": "#" * 6_000_000,
    "not UTF-8": b"\xff\xfe\x00",
    "quotes": 'a = """' + '\\"""' * 500_000,
    "escapes": 'a = "' + '\\"' * 1_000_000,
    "long name": HEAD + "cuts = ['" + "a" * 1_000_000 + "']",
    "many unknown keys": HEAD + "".join(f"k{i} = 1\n" for i in range(50_000)),
    "many bad bodies": HEAD + "".join(f"[bodies.b{i}]\nkind = 'rigid'\n" for i in range(5_000)),
    "surrogate": 'a = "\\ud800"',
    "escape sequences": HEAD + '[bodies."\\u001b[31m\\n"]\nkind = "rigid"',
    "path as a name": HEAD + "[bodies.'../x']\nkind = 'rigid'",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_rejected_quickly(tmp_path, text) -> None:
    start = time.process_time()
    found = problems(tmp_path, text)
    assert time.process_time() - start < 5.0
    assert 1 <= len(found) <= 51
    assert all(len(problem) < 400 and problem.isprintable() for problem in found)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["b", "j", "ground", "x", "b/tip"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["kind", "value", "function", "motions"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
keys = st.sampled_from(
    [
        "kind",
        "name",
        "mass",
        "inertia",
        "com",
        "frames",
        "file",
        "damping",
        "qf0",
        "parent",
        "child",
        "axis",
        "axes",
        "q0",
        "v0",
        "pitch",
        "length",
        "motions",
        "joint",
        "law",
        "k",
        "c",
        "frame",
        "force",
        "function",
        "coordinate",
        "t_end",
        "step",
        "rtol",
        "position",
        "rotation",
        "times",
        "values",
    ]
)
kinds = st.sampled_from(
    [
        "rigid",
        "flexible",
        "point-mass",
        "revolute",
        "spherical",
        "chain",
        "screw",
        "joint-torque",
        "bushing",
        "point-spring",
        "user-force",
        "sphere-plane",
        "joint-limit",
    ]
)
items = st.dictionaries(keys, values, max_size=6).flatmap(
    lambda item: kinds.map(lambda kind: {**item, "kind": kind})
)
sections = st.dictionaries(st.sampled_from(["b", "j", "c d"]), items | values, max_size=3)
MEMBERS = {
    "format": st.just("flexmbs-model/1") | values,
    "name": st.just("m") | values,
    "gravity": values,
    "frames": sections | values,
    "cuts": values,
    "bodies": sections,
    "joints": sections,
    "forces": sections,
    "drives": sections | values,
    "couplings": sections | values,
    "contacts": sections | values,
    "run": items | values,
}
documents = st.fixed_dictionaries({}, optional=MEMBERS)


def toml(value: object) -> str:
    """Any plain value as TOML."""
    match value:
        case None:
            return "''"
        case bool():
            return str(value).lower()
        case str():
            return (
                '"'
                + "".join(c if c.isalnum() or c in " /" else f"\\U{ord(c):08x}" for c in value)
                + '"'
            )
        case dict():
            return (
                "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
            )
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case _:
            return repr(value)


FUZZ = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(documents)
@pytest.mark.filterwarnings("ignore")
def test_only_input_errors_leave_the_reader_for_any_document(tmp_path, document) -> None:
    text = "\n".join(f"{key} = {toml(value)}" for key, value in document.items())
    try:
        model = read(tmp_path, text)
    except fm.InputError as error:
        refused = error.problems
    else:
        refused = ()
        assert model == fm.load(tmp_path / "m.toml")
    assert all(problem.isprintable() for problem in refused)


@FUZZ
@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_only_input_errors_leave_the_reader_for_any_bytes(tmp_path, data) -> None:
    with pytest.raises(fm.InputError):
        read(tmp_path, data)


finite = st.floats(-1e60, 1e60)
text_names = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="/"), min_size=1, max_size=20
)


@FUZZ
@given(
    text_names.filter(lambda name: name != "ground"),
    text_names,
    finite,
    st.tuples(finite, finite, finite),
)
def test_any_numbers_and_names_survive_the_round_trip(tmp_path, name, joint, number, place) -> None:
    model = fm.Model(name, gravity=place, frames={joint: place})
    body = model.add(
        fm.RigidBody(
            name, mass=abs(number) + 1e-3, inertia=(1, 1, 1), com=place, frames={joint: place}
        )
    )
    model.add(fm.Prismatic(joint, model.ground[joint], body[joint], q0=number, v0=place[0]))
    model.add(fm.JointTorque(name, joint, fm.Ramp(number, place[1])))
    model.save(tmp_path / "m.toml")
    assert fm.load(tmp_path / "m.toml") == model
