"""References of a model file: body files by path, functions by name; neither may lead outside
unless allowed.
"""

import sys

import pytest
import user_functions
from declared import problems_of, rod
from toml_texts import BODY, HEAD, JOINT, problems, read

import flexmbs as fm


def flexible(file: str) -> str:
    return HEAD + f"[bodies.arm]\nkind = 'flexible'\nfile = '{file}'\n"


@pytest.mark.parametrize(
    "file", ["../rod.h5", "/etc/passwd", "../../etc/passwd", "sub/../../rod.h5", "link.h5"]
)
def test_files_outside_the_folder_are_rejected(tmp_path, file) -> None:
    rod().save(tmp_path / "rod.h5")
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.h5").symlink_to(tmp_path / "rod.h5")
    (problem,) = problems(folder, flexible(file))
    assert problem.startswith(
        f"m.toml:5: bodies.arm.file: '{file}' is not inside the model's folder; move it "
        "there, or set allow_outside"
    )


def test_files_outside_the_folder_when_allowed(tmp_path) -> None:
    rod().save(tmp_path / "rod.h5")
    (tmp_path / "model").mkdir()
    model = read(tmp_path / "model", flexible("../rod.h5"), allow_outside=True)
    assert not [problem for problem in model.check().errors if "file" in problem]
    assert problems_of(lambda: model.save(tmp_path / "model" / "n.toml"))[0].startswith(
        "bodies.arm.file: "
    )
    assert not (tmp_path / "model" / "n.toml").exists()
    model.save(tmp_path / "model" / "n.toml", allow_outside=True)
    assert fm.load(tmp_path / "model" / "n.toml", allow_outside=True) == model


@pytest.mark.parametrize("file", ["http://host/rod.h5", "package://arm/rod.h5"])
def test_addresses_are_no_files(tmp_path, file) -> None:
    assert "is a URL; only files are read" in problems(tmp_path, flexible(file))[0]


def test_a_link_in_a_circle_is_no_file(tmp_path) -> None:
    (tmp_path / "a.h5").symlink_to(tmp_path / "b.h5")
    (tmp_path / "b.h5").symlink_to(tmp_path / "a.h5")
    with pytest.raises(fm.InputError, match=r"bodies\.arm\.file"):
        read(tmp_path, flexible("a.h5")).check().raise_errors()


def test_paths_are_relative_to_the_models_folder_from_anywhere(tmp_path, monkeypatch) -> None:
    (tmp_path / "parts").mkdir()
    rod().save(tmp_path / "parts" / "rod.h5")
    model = read(tmp_path, flexible("parts/rod.h5"))
    monkeypatch.chdir("/")
    assert not [problem for problem in model.check().errors if "file" in problem]
    assert 'file = "parts/rod.h5"' in model.to_toml()


def driven(function: str) -> str:
    return HEAD + BODY + JOINT + f"[drives.d]\njoint = 'j'\nmotion = '{function}'\n"


def test_functions_are_found_by_name(tmp_path) -> None:
    model = read(tmp_path, driven("user_functions:swing"), allow_code=True)
    assert model.drives["d"].motion == fm.Function(user_functions.swing)


ITEMS = {
    "drives.d.motion.function": "[drives.d]\njoint = 'j'\nmotion = '{0}'\n",
    "forces.f.law.function": "[forces.f]\nkind = 'joint-torque'\njoint = 'j'\nlaw = {{ kind = 'function', function "
    "= '{0}' }}\n",
    "forces.f.law.reference.function": (
        "[forces.f]\nkind = 'joint-torque'\njoint = 'j'\nlaw = {{ kind = 'pd', kp = 1, "
        "reference = '{0}' }}\n"
    ),
    "forces.f.function": "[forces.f]\nkind = 'user-force'\nframe = 'b/tip'\nfunction = '{0}'\n",
    "joints.g.function": "[joints.g]\nkind = 'holonomic'\nparent = 'ground'\nchild = 'b'\nfunction = '{0}'\n",
}


@pytest.mark.parametrize("item", ITEMS)
def test_code_runs_only_if_allowed(tmp_path, item, monkeypatch) -> None:
    """Neither a module of the current folder nor an installed one is imported; any item may name
    one.
    """
    harmful = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"
    (tmp_path / "site").mkdir()
    for module in ("beside_the_model", "site/installed_somewhere"):
        (tmp_path / f"{module}.py").write_text(harmful)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend("")  # as under python -m, and with an empty entry in PYTHONPATH
    for function in ("beside_the_model:f", "installed_somewhere:f"):
        (problem,) = problems(tmp_path, HEAD + BODY + JOINT + ITEMS[item].format(function))
        assert (
            f": {item}: '{function}' is code and is not imported by default; if you trust "
            "it, set allow_code=True" in problem
        )
    assert not list(tmp_path.rglob("*.ran"))


def test_allowed_code_is_found_beside_the_model(tmp_path) -> None:
    (tmp_path / "beside_the_model.py").write_text("def f(t):\n    return 2 * t\n")
    path = list(sys.path)
    assert (
        read(tmp_path, driven("beside_the_model:f"), allow_code=True).drives["d"].motion(3.0) == 6.0
    )
    assert sys.path == path
    sys.modules.pop("beside_the_model")
    # names in the user's own script are trusted
    assert fm.Function("math:sin").function(0.0) == 0.0


def test_another_module_of_the_same_name_is_not_taken_for_the_one_beside(tmp_path) -> None:
    (tmp_path / "user_functions.py").write_text("def swing(t):\n    return 0.0\n")
    (problem,) = problems(tmp_path, driven("user_functions:swing"), allow_code=True)
    assert "another module 'user_functions' is loaded" in problem


def test_a_module_that_fails_is_reported(tmp_path) -> None:
    (tmp_path / "failing_module.py").write_text("import sys\nsys.exit(3)\n")
    (problem,) = problems(tmp_path, driven("failing_module:f"), allow_code=True)
    assert "module 'failing_module' cannot be imported: SystemExit" in problem
