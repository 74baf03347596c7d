"""Help on one kind of item: keys with units, defaults and texts, and an example."""

import dataclasses
import textwrap
from typing import Any

from flexmbs.declaration import Declaration, description

WIDTH, INDENT = 100, "      "
LINK = (
    "turn = [0.0, 0.0, 1.0], mass = 2.0, first_moment = [0.5, 0.0, 0.0], inertia = [0.0, 0.2, 0.2]"
)
ROBOT = (
    f'{{ links = [{{ coordinate = "hinge", parent = -1, {LINK} }}, '
    f'{{ coordinate = "elbow", parent = 0, position = [0.5, 0.0, 0.0], {LINK} }}] }}'
)
PATH = '{ kind = "quintic", q0 = [0.0, 0.5], q1 = [1.0, 0.0], duration = 2.0 }'
EXAMPLES = {
    "frame": '"link/tip"',
    "joint": '"hinge"',
    "direction": '"z"',
    "coordinate": '"hinge"',
    "float": "0.5",
    "float or None": "0.5",
    "int": "24",
    "path": '"part.stl"',
    "path or None": '"link.h5"',
    "law": "-20.0",
    "float, floats": "0.5",
    "robot": ROBOT,
    "path of coordinates": PATH,
    "controller": f'{{ kind = "pd-gravity", robot = {ROBOT}, path = {PATH}, kp = 100.0, kd = 20.0 }}',
    "function": '"my_module:function"',
    "function or 'module:name'": '"my_module:function"',
    "floats": "[0.0, 0.5, 1.0, 1.5]",
    "2 floats": "[0.1, 0.2]",
    "3 floats": "[0.1, 0.0, 0.0]",
    "6 floats": "[1e6, 1e6, 1e6, 1e3, 1e3, 1e3]",
    "2 lengths": "[1.0, 0.5]",
    "3 lengths": "[0.3, 0.2, 0.1]",
    "3, 6 or 3×3 floats or None": "[0.01, 0.02, 0.02]",
    "law of time, float or function": "0.5",
    "motions": '[{ kind = "rotate", axis = "z" }, { kind = "slide", axis = "x" }]',
    "mapping from coordinate to float": "{ hinge = 1.0, elbow = -2.0 }",
    "list of coordinates": '["hinge", "elbow"]',
    "rows of 2 floats": "[[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0], [0.0, -0.1]]",
    "rows of 3 floats": "[[0.0, 0.0, 0.0], [0.5, 0.0, 0.1], [1.0, 0.0, 0.0], [1.5, 0.0, 0.1]]",
    "rows of floats": "[[0.0, 0.0, 0.0, 0.0], [0.0, 0.1, 0.1, 0.0], [0.0, 0.1, 0.1, 0.0], [0.0, 0.0, 0.0, "
    "0.0]]",
}
OTHER = {  # where two keys of one kind must differ, or a value is bounded
    "first": '"hinge"',
    "second": '"elbow"',
    "child": '"arm/hub"',
    "frame_b": '"arm/hub"',
    "rack": '"slider"',
    "nut": '"slider"',
    "lower": "-10.0",
    "upper": "10.0",
    "inner": "0.25",
    "normal": '"y"',
    "sample_time": "0.001",
    "carrier": '"arm"',
    "count": "64",
    "amplitudes": "[0.25, 0.25, 0.25, 0.25]",
    "knots": "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]",
    "coefficients": "[[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]]",
    "covectors": "[[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]",
}
MORE = {
    "flexible": ("file",),
    "rigid": ("mass", "inertia"),
    "joint-limit": ("lower", "upper"),
    "wheel-creep": ("stiffness",),
    "velocity-rows": ("covectors",),
}  # optional keys that an example needs to make sense


def keys(cls: type[Declaration]) -> str:
    """Help text of a kind: description, keys and an example."""
    return "\n".join(
        [
            *(f"{textwrap.fill(each, WIDTH)}\n" for each in description(cls)),
            *(_key(cls, field) for field in _fields(cls)),
            "",
            example(cls),
        ]
    )


def example(cls: type[Declaration]) -> str:
    """Example table of an item, or inline table of a law or motion, with the required keys."""
    pairs = [f'kind = "{cls.kind}"', *(f"{key} = {value}" for key, value in _values(cls).items())]
    if "name" in cls.field_names():
        return "\n".join([f"[{cls.section}.my-{cls.kind}]", *pairs])
    return f"{{ {', '.join(pairs)} }}"


def _values(cls: type[Declaration]) -> dict[str, str]:
    """TOML text of the required keys of a kind with example values."""
    wanted = [f for f in _fields(cls) if _required(f) or f.name in MORE.get(cls.kind, ())]
    return {
        field.name: OTHER.get(field.name) or EXAMPLES[_type(cls, field).partition(" [")[0]]
        for field in wanted
    }


def _key(cls: type[Declaration], field: "dataclasses.Field[Any]") -> str:
    """Help text of a field: name, type, default and wrapped description."""
    default = "required" if _required(field) else f"default {_default(field)!r}"
    text = " ".join(cls._texts.get(field.name, ("", ""))[1].split())
    head = f"  {field.name} : {_type(cls, field)}, {default}"
    return "\n".join(
        [head, *textwrap.wrap(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)]
    )


def _fields(cls: type[Declaration]) -> "list[dataclasses.Field[Any]]":
    """Fields of a kind that are keys in files, without the name."""
    return [field for field in cls.ordered_fields() if field.name != "name"]


def _type(cls: type[Declaration], field: "dataclasses.Field[Any]") -> str:
    """Type of a field as stated in the docstring."""
    return cls._texts.get(field.name, ("value", ""))[0]


def _required(field: "dataclasses.Field[Any]") -> bool:
    """True if a field has no default."""
    return _default(field) is dataclasses.MISSING


def _default(field: "dataclasses.Field[Any]") -> Any:
    """Default value of a field; MISSING if it has none."""
    return field.default_factory() if callable(field.default_factory) else field.default
