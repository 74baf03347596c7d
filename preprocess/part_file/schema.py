"""JSON schema of part files, from the annotations that their reader checks.

The reader checks more.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

from preprocess.body.prestress import Prestress
from preprocess.body.stress import Stress
from preprocess.cad.faces import Face
from preprocess.elements.formulation import Formulation
from preprocess.fe.beam_sections import SECTIONS
from preprocess.fe.connections import CONNECTIONS
from preprocess.fe.interfaces import INTERFACES
from preprocess.fe.material import MATERIALS
from preprocess.fe.point_mass import PointMass
from preprocess.mesh.node_regions import Plane
from preprocess.part_file.from_tables import field_names, is_array, required_names, type_adapter
from preprocess.part_file.part import FORMAT, CadMeshing, MatrixSource, PartDivision, PartOptions
from preprocess.part_file.read import SPIDERS
from preprocess.part_file.regions import LENGTH_KEYS
from preprocess.reduction import REDUCTIONS

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
NUMBERS: Schema = {
    "anyOf": [
        {"type": "array"},
        {"type": "number"},
        {"type": "string", "description": "A file of numbers."},
    ]
}
LENGTH: Schema = {"type": ["number", "string", "boolean"], "description": "m, or as '4 mm'."}
POINT: Schema = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}


def part_schema() -> Schema:
    """JSON schema of ``flexmbs-part`` files."""
    material = _material()
    region = {
        "set": {"type": "string"},
        "point": POINT,
        "radius": {"type": "number"},
        "plane": {"anyOf": [record(Plane), {"type": "boolean"}]},
    }
    faces = record(Face)["properties"] | {key: LENGTH for key in LENGTH_KEYS}
    faces["near"] = {"type": "array", "items": LENGTH, "minItems": 3, "maxItems": 3}
    region |= {key: value for key, value in faces.items() if key not in region}
    refined = {"type": "object", "properties": {"size": LENGTH, **faces}, "required": ["size"]}
    cad = record(CadMeshing)
    cad["properties"] |= {"size": LENGTH, "refine": {"type": "array", "items": refined}}
    interfaces = one_of_kinds(INTERFACES, "rigid", region)
    options = record(PartOptions)
    tables: Schema = {
        "material": material,
        "materials": _named(material),
        "interfaces": {
            "description": "Tables by name, or 'spiders': the centres of those of the mesh file.",
            "if": {"type": "string"},
            "then": {"const": SPIDERS},
            "else": _named(interfaces) | {"minProperties": 1},
        },
        "method": one_of_kinds(REDUCTIONS, "craig-bampton"),
        "point_masses": _named(record(PointMass, region)),
        "formulation": record(Formulation),
        "stress": {"anyOf": [{"type": "boolean"}, record(Stress)]},
        "section": one_of_kinds(SECTIONS, "shell"),
        "sections": _named(one_of_kinds(SECTIONS, "shell")),
        "connections": _named(one_of_kinds(CONNECTIONS, "rigid-spider", region)),
        "prestress": record(Prestress),
        "matrices": record(MatrixSource),
        "divide": record(PartDivision),
        "cad": cad,
    }
    return {
        "$schema": DRAFT,
        "title": "Part of flexmbs",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "interfaces", *options["required"]],
        "properties": {"format": {"const": FORMAT}, **options["properties"], **tables},
        "oneOf": [{"required": ["mesh"]}, {"required": ["matrices"]}],
        "if": {"properties": {"interfaces": {"const": SPIDERS}}},
        "else": {"required": ["reference"]},
    }


def one_of_kinds(kinds: Mapping[str, type], default: str, more: Schema | None = None) -> Schema:
    """Schema of a table whose keys depend on its ``kind``, by default ``default``.

    ``more``: keys of a region instead of ``where``.
    """
    chosen = [
        {
            "if": {
                "properties": {"kind": {"const": kind}},
                "required": [] if kind == default else ["kind"],
            },
            "then": record(cls, more, kind=kind),
        }
        for kind, cls in kinds.items()
    ]
    return {
        "type": "object",
        "properties": {"kind": {"enum": list(kinds), "default": default}},
        "allOf": chosen,
    }


def record(cls: type, more: Schema | None = None, *, kind: str = "") -> Schema:
    """Schema of a dataclass: its arguments; a ``where`` is replaced by the keys of a region."""
    hints = typing.get_type_hints(cls)
    names = [name for name in field_names(cls) if not (more and name == "where")]
    more = more if "where" in field_names(cls) else None
    properties = {name: _value(name, hints[name]) for name in names}
    required = [name for name in required_names(cls) if name in names]
    one = _one_region(more) if more else {}
    return {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").partition("\n\n")[0].split()),
        "properties": {**({"kind": {"const": kind}} if kind else {}), **properties, **(more or {})},
        "required": required,
        "additionalProperties": False,
        **one,
    }


def _one_region(keys: Schema) -> Schema:
    """Condition of one region: a set, a point, a plane, or conditions of a face."""
    table = {"properties": {"plane": {"type": "object"}}, "required": ["plane"]}
    alone = [{"required": ["set"]}, {"required": ["point"]}, table]
    faces = {
        "anyOf": [{"required": [key]} for key in keys if key not in ("set", "point", "radius")]
    }
    return {"oneOf": [*alone, {**faces, "not": {"anyOf": alone}}]}


def _value(name: str, hint: Any) -> Schema:
    """JSON schema of a field by its type."""
    if name == "materials":
        return {"type": "array", "items": _material()}
    return NUMBERS if is_array(hint) else type_adapter(hint).json_schema()


def _material() -> Schema:
    """JSON schema of a material: a table of numbers, or a name.

    Not by anyOf, which hides the problems of a table.
    """
    return {
        "description": "A table, or a name as listed by preprocess materials.",
        "if": {"type": "string"},
        "else": one_of_kinds(MATERIALS, "isotropic"),
    }


def _named(table: Schema) -> Schema:
    """JSON schema of a table of named items."""
    return {"type": "object", "additionalProperties": table}
