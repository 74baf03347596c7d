"""Parameters of a model by their paths, such as ``joints.elbow.q0``: the keys of a model file."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

from flexmbs.api.model import Model
from flexmbs.declaration import Declaration, close_names, shown
from flexmbs.errors import InputError
from flexmbs.model.model import SECTIONS

TOP = (*SECTIONS, "frames", "gravity", "run")


def changed(model: Model, values: Mapping[str, Any]) -> Model:
    """The model with other values; what is not changed is shared. Raises `InputError` for each path that does not exist and
    each value that does not fit."""
    made, problems = copy.copy(model), []
    for section in SECTIONS:
        setattr(made, section, dict(model.items(section)))
    for path, value in values.items():
        try:
            _change(made, path, value)
        except InputError as error:
            reasons = (problem.partition(": ")[2] if ": " in problem else problem for problem in error.problems)
            problems += [f"{path} = {shown(value)}: {reason}" for reason in reasons]
    if problems:
        raise InputError(*problems)
    return made


def _change(model: Model, path: str, value: Any) -> None:
    """One value in place. Raises `InputError`, ``what: why``."""
    section, _, rest = path.partition(".")
    if section in SECTIONS:
        items = model.items(section)
        fitting = [name for name in items if rest == name or rest.startswith(f"{name}.")]
        if not fitting:
            name = rest.partition(".")[0]
            raise InputError(f"{path}: {section} have no {shown(name)}; {close_names(name, items)}")
        name = max(fitting, key=len)
        if rest == name:
            keys = ", ".join(_settable(items[name]))
            raise InputError(f"{path}: is a whole {items[name].kind}; name one of its keys: {keys}")
        items[name] = _replaced(items[name], _keys(rest[len(name) + 1 :]), value, f"{section}.{name}")
    elif section == "run":
        if model.run is None:
            raise InputError(f"{path}: the model has no options of a run; give run=fm.Run(t_end=…)")
        model.run = _replaced(model.run, _keys(rest), value, section)
    elif section == "gravity":
        model.gravity = _replaced(model.gravity, _keys(rest), value, section)
    elif section == "frames":
        frames = _replaced(model.frames, _keys(rest), value, section)
        model._header = dataclasses.replace(model._header, frames=frames)
    else:
        raise InputError(f"{path}: begins with no part of a model; {close_names(section, TOP)}")


def _keys(rest: str) -> list[str]:
    return rest.split(".") if rest else []


def _replaced(there: Any, keys: list[str], value: Any, where: str) -> Any:
    """The declaration, mapping or list with another value at the end of the keys."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    below = f"{where}.{key}"
    if isinstance(there, Declaration):
        if key not in _settable(there):
            raise InputError(f"{where}: has no key {shown(key)}; {close_names(key, _settable(there))}")
        return dataclasses.replace(there, **{key: _replaced(getattr(there, key), rest, value, below)})  # type: ignore[type-var]
    if isinstance(there, Mapping):
        if key not in there:
            raise InputError(f"{where}: has no {shown(key)}; {close_names(key, there)}")
        return {**there, key: _replaced(there[key], rest, value, below)}
    if isinstance(there, tuple):
        if not (key.isdigit() and int(key) < len(there)):
            raise InputError(f"{where}: has the places 0 … {len(there) - 1}, not {shown(key)}")
        k = int(key)
        return (*there[:k], _replaced(there[k], rest, value, below), *there[k + 1 :])
    raise InputError(f"{where}: is {shown(there)}, which has no parts; remove '.{'.'.join(keys)}'")


def _settable(there: Declaration) -> list[str]:
    return [name for name in there.field_names() if name != "name"]
