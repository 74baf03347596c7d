"""JSON schema of model files from the declarations.

For completion and checks in editors; the reader checks more.

Draft 2020-12 (https://json-schema.org/draft/2020-12/schema).
"""

import dataclasses
import re
import typing
from collections.abc import Callable
from typing import Any

from flexmbs.declaration import Declaration, description
from flexmbs.model import fields
from flexmbs.model.contact_laws import ContactLaw
from flexmbs.model.control.controllers import PathController
from flexmbs.model.control.paths import DeclaredPath
from flexmbs.model.control.rigid_terms import LinkTerms, RigidTerms, SpinTerms
from flexmbs.model.frames import Frame
from flexmbs.model.laws import JointLaw, TimeLaw
from flexmbs.model.model import SECTIONS, ModelHeader
from flexmbs.model.motions import Motion
from flexmbs.model.run import Run
from flexmbs.model.shapes import Shape
from flexmbs.model.shapes.shape import dimension
from flexmbs.model.toml_write import FORMAT

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string", "minLength": 1}
FUNCTION: Schema = {
    "type": "string",
    "pattern": r"^[\w.]+:[\w.]+$",
    "description": "Function given by its name, 'module:name'.",
}


def numbers(size: int | None = None) -> Schema:
    """JSON schema of a list of numbers, of any length or of ``size``."""
    return {"type": "array", "items": NUMBER} | (
        {} if size is None else {"minItems": size, "maxItems": size}
    )


def lengths(size: int) -> Schema:
    """A list of ``size`` lengths."""
    return numbers(size) | {"items": NUMBER | {"exclusiveMinimum": 0.0}}


def rows(*sizes: int) -> Schema:
    """JSON schema of a list of lists of numbers of these sizes."""
    return {
        "type": "array",
        "items": {"anyOf": [numbers(size) for size in sizes]} if sizes else numbers(),
    }


def family(name: str) -> Schema:
    """JSON schema of a table of a family of kinds, defined once."""
    return {"$ref": f"#/$defs/{name}"}


PAIR: Schema = {"type": "array", "minItems": 2, "maxItems": 2}
DIRECTION: Schema = {"anyOf": [{"enum": [axis for axis in fields.AXES]}, numbers(3)]}
LAW_OF_TIME: Schema = {"anyOf": [NUMBER, FUNCTION, family("law of time")]}
MATRIX: Schema = {"type": "array", "items": numbers(3), "minItems": 3, "maxItems": 3}
TYPES: dict[str, Schema] = {  # by the type stated in a declaration, without unit and "or None"
    "float": NUMBER,
    "floats": numbers(),
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "str": TEXT,
    "path": TEXT,
    "2 lengths": lengths(2),
    "3 lengths": lengths(3),
    "float or 3 floats": {"anyOf": [NUMBER, numbers(3)]},
    "3 or 4 floats": {"anyOf": [numbers(3), numbers(4)]},
    "float, floats": {"anyOf": [NUMBER, numbers()]},
    "frame": TEXT,
    "joint": TEXT,
    "coordinate": TEXT,
    "list of coordinates": {"type": "array", "items": TEXT},
    "list of joints": {"type": "array", "items": TEXT},
    "direction": DIRECTION,
    '"x" … "-z", 3 floats': DIRECTION,
    "2 directions": PAIR | {"items": DIRECTION},
    "3, 6 or 3×3 floats": {"anyOf": [numbers(3), numbers(6), MATRIX]},
    "rows of floats": rows(),
    "rows of 6 or 7 floats": rows(6, 7),
    "two lists of floats": PAIR | {"items": numbers()},
    "rotation": {"anyOf": [numbers(4), MATRIX, PAIR | {"prefixItems": [DIRECTION, NUMBER]}]},
    "dict of frames": {
        "type": "object",
        "additionalProperties": {"anyOf": [numbers(3), family("frame")]},
    },
    "mapping from coordinate to float": {"type": "object", "additionalProperties": NUMBER},
    "function": FUNCTION,
    "function or 'module:name'": FUNCTION,
    "3 laws of time or floats": {
        "type": "array",
        "items": LAW_OF_TIME,
        "minItems": 3,
        "maxItems": 3,
    },
    "law": {"anyOf": [NUMBER, FUNCTION, family("law")]},
    "contact law": family("contact law"),
    "list of shapes": {"type": "array", "items": family("shape")},
    "motions": {"type": "array", "items": family("motion"), "minItems": 1},
    "controller": family("controller"),
    "path of coordinates": family("path of coordinates"),
    "robot": family("robot"),
    "list of links": {"type": "array", "items": family("link")},
    "list of rotors": {"type": "array", "items": family("rotor")},
}
IN_MEMORY = "FlexibleBodyData"  # type that a file cannot represent
BOUNDS: dict[Callable[..., Any], Schema] = {
    fields.positive: {"exclusiveMinimum": 0.0}, fields.optional_positive: {"exclusiveMinimum": 0.0},
    fields.nonnegative: {"minimum": 0.0}, fields.optional_nonnegative: {"minimum": 0.0},
    dimension: {"exclusiveMinimum": 0.0}, fields.index: {"minimum": 0},
}  # fmt: skip
LAWS: dict[str, tuple[type[Declaration], ...]] = {
    "law of time": (TimeLaw,),
    "law": (JointLaw, TimeLaw),
    "contact law": (ContactLaw,),
    "motion": (Motion,),
    "shape": (Shape,),
    "controller": (PathController,),
    "path of coordinates": (DeclaredPath,),
}

RECORDS: dict[str, type[Declaration]] = {
    "frame": Frame,
    "robot": RigidTerms,
    "link": LinkTerms,
    "rotor": SpinTerms,
}


def model_schema() -> Schema:
    """JSON schema of ``flexmbs-model`` files."""
    families = {name: (base,) for name, base in SECTIONS.items()} | LAWS
    kinds = {
        name: {kind: cls for base in bases for kind, cls in base.kinds.items()}
        for name, bases in families.items()
    }
    sections = {name: {"type": "object", "additionalProperties": family(name)} for name in SECTIONS}
    top = record(ModelHeader)
    defined = {name: record(cls) for name, cls in RECORDS.items()} | {
        name: one_of_kinds(found) for name, found in kinds.items()
    }
    return {
        "$schema": DRAFT,
        "title": "Model of flexmbs",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "name"],
        "properties": {
            "format": {"const": FORMAT},
            **top["properties"],
            **sections,
            "run": record(Run),
        },
        "$defs": defined,
    }


def one_of_kinds(kinds: dict[str, type[Declaration]]) -> Schema:
    """JSON schema of a table whose keys depend on its ``kind``."""
    if len(kinds) == 1:
        (only,) = kinds.values()
        return record(only)
    chosen = [
        {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": record(cls)}
        for kind, cls in kinds.items()
    ]
    return {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": list(kinds)}},
        "allOf": chosen,
    }


def record(cls: type[Declaration]) -> Schema:
    """JSON schema of the table of one declaration, without its name."""
    named = cls.section in SECTIONS
    found = {
        field.name: field for field in cls.ordered_fields() if not (named and field.name == "name")
    }
    properties = {
        name: value
        for name, field in found.items()
        if (value := property_of(cls, field)) is not None
    }
    required = [name for name in properties if _required(found[name])]
    kind = {"kind": {"const": cls.kind}} if cls.kind else {}
    return {
        "type": "object",
        "description": " ".join(description(cls)),
        "properties": kind | properties,
        "required": required,
        "additionalProperties": False,
    }


def property_of(cls: type[Declaration], field: "dataclasses.Field[Any]") -> Schema | None:
    """JSON schema of a field with unit, text and default; None if files cannot have it."""
    stated, text = cls._texts[field.name]
    bare = stated.partition(" [")[0].removesuffix(" or None")
    if bare == IN_MEMORY:
        return None
    found = {**type_schema(bare), **bounds(field)}
    default = (
        {"default": field.default}
        if isinstance(field.default, bool | int | float | str) and _finite(field.default)
        else {}
    )
    return {**found, "description": f"{' '.join(text.split())} ({stated})", **default}


def type_schema(stated: str) -> Schema:
    """JSON schema of a stated type.

    One of `TYPES`, a law of time, quoted choices, or a number of floats.
    """
    if stated in TYPES:
        return TYPES[stated]
    if stated.startswith("law of time"):
        return LAW_OF_TIME
    if choices := re.findall(r"'([^']+)'", stated):
        return {"enum": choices}
    if size := re.fullmatch(r"(\d) floats", stated):
        return numbers(int(size[1]))
    if size := re.fullmatch(r"rows of (\d) floats", stated):
        return rows(int(size[1]))
    raise TypeError(f"no schema for the type {stated!r}; add it to flexmbs/model/schema.py")


def bounds(field: "dataclasses.Field[Any]") -> Schema:
    """JSON schema keywords for the bounds of a number, from its validator."""
    checks = [getattr(each, "func", None) for each in typing.get_args(field.type)[1:]]
    return {
        key: value for check in checks if check in BOUNDS for key, value in BOUNDS[check].items()
    }


def _required(field: "dataclasses.Field[Any]") -> bool:
    """True if a field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _finite(value: Any) -> bool:
    """True unless a value is an infinite float."""
    return not isinstance(value, float) or abs(value) != float("inf")
