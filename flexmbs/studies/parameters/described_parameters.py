"""Parameters of a model with their units, descriptions and ranges for sliders."""

import math
import re
from dataclasses import fields
from typing import NamedTuple

from flexmbs.api.model import Model
from flexmbs.declaration import Declaration
from flexmbs.model.joints import Joint
from flexmbs.model.model import SECTIONS, ModelHeader
from flexmbs.model.schema import bounds
from flexmbs.studies.parameters.parameter_paths import located, parameters, run_numbers

_UNIT = re.compile(r"\[(.+)\]$")
MOMENTS = ("xx", "yy", "zz")  # of inertia, which are positive


class SliderRange(NamedTuple):
    """Range of a slider, logarithmic for positive numbers."""

    low: float
    high: float
    log: bool = False


class DescribedParameter(NamedTuple):
    """Parameter of a model: the item that it belongs to, its path, value and meaning."""

    item: str
    path: str
    value: float
    unit: str
    text: str
    range: SliderRange


def described_parameters(model: Model) -> list[DescribedParameter]:
    """All numbers of `parameters` and of the options of the run, in the order of the model.

    Raises `InputError` as `parameters`.
    """
    numbers = {**run_numbers(model), **parameters(model)}
    largest: dict[str, float] = {}  # of the components of a vector
    for path, value in numbers.items():
        whole = path.rpartition(".")[0]
        largest[whole] = max(largest.get(whole, 0.0), abs(value))
    return [
        _described(model, path, value, largest[path.rpartition(".")[0]] if path[-1] in "xyz" else 0)
        for path, value in numbers.items()
    ]


def _described(model: Model, path: str, value: float, largest: float) -> DescribedParameter:
    """Parameter at a path with the texts of its declaration.

    largest: absolute value of the largest component of its vector.
    """
    steps = located(model, path)
    keys = [key for _, key in steps]
    cls: type[Declaration] = ModelHeader
    key, number = keys[0], 0
    for (container, name), following in zip(steps, [*keys[1:], ""]):
        if isinstance(container, Declaration):
            cls, key = type(container), name
            number = int(following) if following.isdigit() else 0
    stated, text = cls._texts.get(key, ("", ""))
    unit = _UNIT.search(stated)
    item = ".".join(keys[:2]) if keys[0] in SECTIONS else keys[0]
    given = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    limits = bounds(given[key]) if key in given else {}
    if keys[-1] in MOMENTS:
        limits = {"exclusiveMinimum": 0.0}
    chosen = _unit_of_joint(unit[1], _turning(model, keys), number) if unit else ""
    first = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return DescribedParameter(
        item, path, value, chosen, first, _range(value, largest, chosen, limits)
    )


def _turning(model: Model, keys: list[str]) -> list[bool]:
    """True for each coordinate of the joint of an item that is an angle; empty without a joint."""
    if keys[0] not in SECTIONS:
        return []
    item = model.items(keys[0])[keys[1]]
    joint = item if isinstance(item, Joint) else None
    if joint is None and "joint" in item.field_names():
        joint = model.joints.get(str(item.joint))  # type: ignore[attr-defined]
    if joint is None or joint.nq != joint.nv:
        return []
    return [motion.turns for motion in joint.motions for _ in range(motion.freedoms)]


def _unit_of_joint(unit: str, turning: list[bool], number: int) -> str:
    """Unit of a coordinate from "m, rad", "N or N m": that of lengths or that of angles."""
    options = re.split(r", | or ", unit)
    angular = [("rad" in each or each.startswith("N m")) for each in options]
    if len(options) != 2 or sum(angular) != 1 or number >= len(turning):
        return unit.replace(", ", " or ")
    return options[angular.index(turning[number])]


def _range(value: float, largest: float, unit: str, limits: dict[str, float]) -> SliderRange:
    """Range around a value, within the limits of its declaration."""
    if value > 0.0 and "exclusiveMinimum" in limits:
        return SliderRange(value / 10.0, value * 10.0, log=True)
    if unit == "rad" and abs(value) <= math.pi:
        return SliderRange(0.0 if "minimum" in limits else -math.pi, math.pi)
    most = 2.0 * abs(value) or largest or 1.0
    return SliderRange(0.0 if "minimum" in limits else -most, most)
