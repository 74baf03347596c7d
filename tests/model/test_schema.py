"""JSON schemas of model and part files: what is read is valid, and what is rejected for its keys or
types is not.
"""

import copy
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from declared import with_every_kind

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.command.item_help import example
from flexmbs.command.listing import all_kinds
from flexmbs.declaration import Declaration
from flexmbs.errors import InputError
from flexmbs.model.model import SECTIONS
from flexmbs.model.schema import LAWS, model_schema
from flexmbs.studies.sweeps.study_file import sweep_schema
from preprocess.part_file.schema import part_schema

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preprocess"))
from part_files import PART

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).resolve().parents[2]
MODEL, PARTS, SWEEPS = (
    jsonschema.Draft202012Validator(schema())
    for schema in (model_schema, part_schema, sweep_schema)
)
HEAD = {"format": "flexmbs-model/1", "name": "m"}
KINDS = [
    (family, kind)
    for family, kinds in all_kinds().items()
    for kind, cls in kinds.items()
    if issubclass(cls, Declaration)
]


def problems(validator: Any, table: Any) -> list[str]:
    return [error.json_path for error in validator.iter_errors(table)]


def texts() -> list[tuple[str, str]]:
    """(place, text) of every model or part file in the repository, in files and in pages."""
    paths = [
        path
        for folder in ("meshes", "reports", "docs", "tests", "preprocess")
        for path in (ROOT / folder).rglob("*.toml")
    ]
    found = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths]
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        found += [
            (page.name, text)
            for text in re.findall(
                r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
            )
        ]
    return [
        (place, text)
        for place, text in found
        if re.match(r'\s*(#.*\n)*format = "flexmbs-(model|part|sweep)/', text)
    ]


def test_schemas_are_schemas() -> None:
    for validator in (MODEL, PARTS, SWEEPS):
        validator.check_schema(validator.schema)


@pytest.mark.parametrize("place, text", texts(), ids=[place for place, _ in texts()])
def test_every_file_of_the_repository_is_valid(place: str, text: str) -> None:
    table = tomllib.loads(text)
    validators = {"flexmbs-model": MODEL, "flexmbs-part": PARTS, "flexmbs-sweep": SWEEPS}
    assert problems(validators[table["format"].partition("/")[0]], table) == []


def test_the_model_of_the_documentation_is_read(tmp_path: Path) -> None:
    (text,) = [text for place, text in texts() if place == "model.md"]
    (tmp_path / "crane.toml").write_text(text, encoding="utf-8")
    assert fm.load(tmp_path / "crane.toml").check().errors == []


def test_the_link_is_among_the_files() -> None:
    assert "meshes/link.toml" in [place for place, _ in texts()]


def test_a_model_of_every_kind_is_valid(tmp_path: Path) -> None:
    table = tomllib.loads(with_every_kind(tmp_path).to_toml(complete=False))
    written = {item["kind"] for section in SECTIONS for item in table.get(section, {}).values()}
    assert len(written) > 40
    assert problems(MODEL, table) == []


def item(family: str, kind: str) -> tuple[Any, dict[str, Any]]:
    """Validator and table of the example of a kind."""
    cls = all_kinds()[family][kind]
    text = example(cls)
    table = tomllib.loads(text if text.startswith("[") else f"item = {text}")
    while "kind" not in table:
        (table,) = table.values()
    if family == "designs":
        return jsonschema.Draft202012Validator(SWEEPS.schema["properties"]["design"]), table
    home = next(
        name
        for name, bases in {**LAWS, **{key: (base,) for key, base in SECTIONS.items()}}.items()
        if any(kind in base.kinds and base.kinds[kind] is cls for base in bases)
    )
    schema = {"$ref": f"#/$defs/{home}", "$defs": MODEL.schema["$defs"]}
    return jsonschema.Draft202012Validator(schema), table


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_schema_and_reader_agree_on_every_kind(
    family: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_module.py").write_text("def function(*arguments):\n    return 0.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    validator, table = item(family, kind)
    cls = all_kinds()[family][kind]
    named = {"name": "x"} if "name" in cls.field_names() else {}

    def is_read(given: dict[str, Any]) -> bool:
        try:
            cls.read({key: value for key, value in given.items() if key != "kind"} | named)
        except (ValueError, InputError):
            return False
        return True

    assert problems(validator, table) == []
    assert problems(validator, table | {"no-such-key": 1})
    for key in set(table) - {"kind"}:
        for other in ("text", 1, 0.5, -1, True, [0.1, 0.2], [[0.0, 1.0]], {"no such": "table"}):
            given = copy.deepcopy(table) | {key: other}
            assert not (is_read(given) and problems(validator, given)), (key, other)
        assert problems(validator, table | {key: {"no such": "table"}}), key
        without = {name: value for name, value in table.items() if name != key}
        assert not (is_read(without) and problems(validator, without)), key


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"format": "flexmbs-model/2"}, "$.format"),
        ({"gravity": [0.0, 0.0]}, "$.gravity"),
        ({"joint": {}}, "$"),
        (
            {"joints": {"j": {"kind": "revolut", "parent": "ground", "child": "b"}}},
            "$.joints.j.kind",
        ),
        ({"joints": {"j": {"kind": "revolute", "parent": "ground"}}}, "$.joints.j"),
        (
            {"joints": {"j": {"kind": "revolute", "parent": "ground", "child": "b", "axis": "w"}}},
            "$.joints.j.axis",
        ),
        (
            {"bodies": {"b": {"kind": "rigid", "mass": -1.0, "inertia": [1, 1, 1]}}},
            "$.bodies.b.mass",
        ),
        (
            {"drives": {"d": {"joint": "j", "motion": {"kind": "sine", "amplitude": 1.0}}}},
            "$.drives.d.motion",
        ),
        ({"run": {"t_end": 1.0, "step": 0.0}}, "$.run.step"),
        ({"run": {"t_end": 1.0, "coordinates": "relative"}}, "$.run.coordinates"),
    ],
)
def test_wrong_models(change: dict[str, Any], where: str) -> None:
    assert problems(MODEL, HEAD) == []
    assert problems(MODEL, {**HEAD, **change}) == [where]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('unit = "m"', 'unit = "km"', "$.unit"),
        ("E = 2e11", 'E = "2e11"', "$.material.E"),
        ("rho = 7800.0\n", "", "$.material"),
        ("modes = 2", "mode = 2", "$.method"),
        ("[method]\n", '[method]\nkind = "craig-bamton"\n', "$.method.kind"),
        ("[interfaces.left]\n", '[interfaces.left]\nset = "ends"\n', "$.interfaces.left"),
        ('reference = "left"\n', "", "$"),
        ('mesh = "bar.vtu"\n', "", "$"),
    ],
)
def test_wrong_parts(old: str, new: str, where: str) -> None:
    assert problems(PARTS, tomllib.loads(PART)) == []
    assert where in problems(PARTS, tomllib.loads(PART.replace(old, new, 1)))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*arguments: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(each) for each in ("schema", *arguments)])
        return int(stop.value.code or 0)

    assert call() == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(model_schema()))
    assert call("part", "-o", tmp_path / "part.json") == 0
    assert json.loads((tmp_path / "part.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(part_schema())
    )
    assert call("body") == 2
    assert (
        capsys.readouterr().err.strip()
        == "error: schema: unknown file type 'body'; known: model, part, sweep"
    )
