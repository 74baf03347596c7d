"""Parameters of a model by their paths.

For example ``joints.elbow.q0``, ``bodies.tool.mass``, ``forces.drive.law.kp``, ``gravity.z``.

A path names section, item, argument and, within it, further arguments, names or numbers: of three
numbers ``x``, ``y``, ``z`` or ``0``, ``1``, ``2``, of an inertia ``xx`` … ``yz``. Item names may
contain dots. Only this module reads and sets values by path.
"""

import abc
import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from flexmbs.api.model import Model
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import Declaration, NestedError, Problem, close_names, shown
from flexmbs.errors import InputError
from flexmbs.model.check import require_model
from flexmbs.model.joints import Joint
from flexmbs.model.laws import Constant
from flexmbs.model.model import SECTIONS, ModelData
from flexmbs.model.shapes.shape import Shape


class ModelSource(abc.ABC):
    """Function from values of parameters to models, some of which are not the models' own."""

    @abc.abstractmethod
    def made(self, values: Mapping[str, Any]) -> Model:
        """Model with these parameter values. Raises `InputError`."""

    @abc.abstractmethod
    def owns(self, path: str) -> bool:
        """True if a parameter path belongs to this source, not to the model."""

    @abc.abstractmethod
    def numbers(self) -> dict[str, float]:
        """Numeric parameters of this source with their values."""


Build: TypeAlias = Model | Callable[..., Model] | ModelSource
Steps = list[tuple[Any, str]]
Changes = list[tuple[tuple[str, ...], Any]]  # keys along a path, with the value there

PAIRS = {a + b: (i, k) for i, a in enumerate("xyz") for k, b in enumerate("xyz")}
DISTINCT = ("xx", "yy", "zz", "xy", "xz", "yz")
COORDINATES = ("q0", "v0")  # three of these are not a vector in space


@checked_arguments
def parameters(model: Model | ModelSource) -> dict[str, float]:
    """All numbers of a model that can vary, by their paths in the order of the model.

    ``{"bodies.tool.mass": 0.4, …}``.

    model: the model, or a `ModelWithParts`. Vectors by ``x``, ``y``, ``z``, inertias by ``xx`` …
    ``yz``; without whole numbers, rotation matrices, quaternions and options of a run. Raises
    `InputError` if this is not a model.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("door", gravity=(0, 0, 0))
    >>> door = model.add(fm.PointMass("door", mass=20.0))
    >>> fm.parameters(model)
    {'bodies.door.mass': 20.0, 'gravity.x': 0.0, 'gravity.y': 0.0, 'gravity.z': 0.0}
    """
    if isinstance(model, ModelSource):
        return parameters(model.made({})) | model.numbers()
    require_model(model)
    parts = {key: part for key, part in _parts(model).items() if key != "run"}
    numbers: dict[str, float] = {}
    for key, part in parts.items():
        for keys, value in _numbers(part, (key,)):
            path = ".".join(keys)
            if path in numbers:
                raise InputError(
                    f"{path}: is the path of two numbers; rename an item with a dot in its name"
                )
            numbers[path] = value
    return numbers


def run_numbers(model: Model) -> dict[str, float]:
    """Numbers of the options of a run, by their paths; empty if the model has none."""
    return (
        {}
        if model.run is None
        else {".".join(keys): value for keys, value in _numbers(model.run, ("run",))}
    )


def number_of(build: Build, model: Model, path: str) -> float:
    """Value of a parameter of a model or of the function that made it. Raises `InputError`."""
    if not isinstance(build, ModelSource) or not build.owns(path):
        return number_at(model, path)
    numbers = build.numbers()
    if path not in numbers:
        raise InputError(
            f"{path}: is not a number of the part; {close_names(path, numbers)}, or give its "
            f"value, {{'{path}': 1.0}}"
        )
    return numbers[path]


def number_at(model: Model, path: str) -> float:
    """Value of a model parameter by its path. Raises `InputError`.

    Raises `InputError` for a path that is not in the model or is not that of one number.
    """
    container, key = located(model, path)[-1]
    value = _only_element(_parts(container)[key])
    if value is None:
        raise InputError(f"{path}: is not given in the model; give it a value there")
    if isinstance(value, float):
        return value
    inner = [name for name, part in _parts(value, key).items() if isinstance(part, float)]
    raise InputError(
        f"{path}: {shown(value)} is not one number" + (f"; take {path}.{inner[0]}" if inner else "")
    )


def changed(model: Model, values: Mapping[str, Any]) -> Model:
    """A copy of the model with other values at the given paths, checked as if declared.

    The model itself is unchanged.

    Values may be anything the argument takes: numbers, vectors, laws, names of files. Raises
    `InputError`.
    """
    changes: Changes = []
    places: dict[tuple[str, ...], str] = {}
    for path, value in values.items():
        steps = located(model, path)
        _require_argument(path, steps, value)
        changes.append((tuple(key for _, key in steps), value))
        first = places.setdefault(_place(steps), path)
        if first != path:
            raise InputError(f"{path}: is the same number as {first}; keep one of them")
    other: Model = _with_values(model, changes, ())
    return other


def made(build: Build, values: Mapping[str, Any]) -> Model:
    """Model with these parameter values, from a model or a function.

    build: a model, a source of models, or a function that gives one: names without dots are then
    its arguments, by keyword, the others are paths in the model that it gives. Raises `InputError`.
    """
    if isinstance(build, ModelSource):
        return build.made(values)
    if isinstance(build, ModelData) or not callable(build):
        require_model(build)
        return changed(build, values)
    own = {name: value for name, value in values.items() if "." not in name}
    check_arguments(build, own)
    model = build(**own)
    if not isinstance(model, Model):
        raise InputError(f"build: the function gave {shown(model)}; it must give a Model")
    return changed(model, {name: value for name, value in values.items() if "." in name})


def check_arguments(
    build: Callable[..., Any], arguments: Mapping[str, Any], where: str = "parameters"
) -> None:
    """Raise `InputError` if a function does not take these arguments."""
    try:
        inspect.signature(build).bind(**arguments)
    except (TypeError, ValueError) as error:  # the latter of classes without a signature
        name = getattr(build, "__name__", "the function")
        raise InputError(
            f"{where}: {name}({', '.join(arguments)}): {error}; names without a dot are "
            "its arguments"
        ) from None


def _parts(value: Any, key: str = "") -> Mapping[str, Any]:
    """Named components of a value, itself named by ``key``."""
    match value:
        case ModelData():
            run = {} if value.run is None else {"run": value.run}
            return (
                {section: value.items(section) for section in SECTIONS}
                | {"gravity": value.gravity, "frames": value.frames, "shapes": value.shapes}
                | run
            )
        case Declaration():
            return {name: getattr(value, name) for name in value.field_names() if name != "name"}
        case Mapping():
            return value
        case ((_, _, _), (_, _, _), (_, _, _)):
            return (
                {} if key == "rotation" else {pair: value[i][k] for pair, (i, k) in PAIRS.items()}
            )
        case tuple():
            space = len(value) == 3 and key not in COORDINATES
            letters = dict(zip("xyz", value)) if space and not _holds_items(value) else {}
            return letters | {str(i): part for i, part in enumerate(value)}
    return {}


def _holds_items(value: tuple[Any, ...]) -> bool:
    """True for a list of shapes, which are named by their numbers; laws are components x, y, z."""
    return isinstance(value[0], Shape)


def _only_element(value: Any) -> Any:
    """The element of a tuple of length one or value of a constant law; else the value."""
    if isinstance(value, tuple) and len(value) == 1 and not _holds_items(value):
        value = value[0]
    return value.value if isinstance(value, Constant) else value


def located(model: Model, path: str) -> Steps:
    """(container, key) pairs along a parameter path. Raises `InputError`.

    Raises `InputError` naming the first unknown part.
    """
    require_model(model)
    if not isinstance(path, str) or not path:
        raise InputError(
            f"parameters: {shown(path)} is not the path of a parameter, such as 'bodies.tool.mass'"
        )
    ways = list(_ways(model, path))
    if len(ways) > 1:
        within, other = (" in ".join(f"'{key}'" for _, key in reversed(way)) for way in ways[:2])
        raise InputError(
            f"{path}: is {within}, and {other} too; rename an item with a dot in its name"
        )
    return ways[0] if ways else _not_located(model, path)


def _ways(value: Any, rest: str, key: str = "") -> Iterator[Steps]:
    """All interpretations of a parameter path within a value; names may contain dots."""
    parts = _parts(value, key)
    for dot in (*(at for at, letter in enumerate(rest) if letter == "."), len(rest)):
        name = rest[:dot]
        if name not in parts:
            continue
        if dot == len(rest):
            yield [(value, name)]
        for within in _ways(parts[name], rest[dot + 1 :], name) if dot < len(rest) else ():
            yield [(value, name), *within]


def _not_located(model: Model, path: str) -> NoReturn:
    """Raise `InputError` with similar names for a path that does not exist.

    It names the first part that is unknown behind the longest names.
    """
    steps: Steps = []
    value: Any = model
    rest = path
    while rest:
        parts = _parts(value, steps[-1][1] if steps else "")
        found = max(
            (name for name in parts if f"{rest}.".startswith(f"{name}.")), key=len, default=""
        )
        if not found:
            where = ".".join(key for _, key in steps) or f"model '{model.name}'"
            raise InputError(
                f"{path}: '{rest.partition('.')[0]}' is not in {where}; "
                f"{close_names(rest.partition('.')[0], parts)}"
            )
        steps.append((value, found))
        value, rest = parts[found], rest[len(found) + 1 :]
    raise InputError(f"{path}: ends with a dot; leave it out")


def _place(steps: Steps) -> tuple[str, ...]:
    """Canonical keys along a path, equal for all names of the same number."""
    keys = [_same(container, key) for container, key in steps]
    while (
        keys[-1] == "0"
        and isinstance(steps[len(keys) - 1][0], tuple)
        and len(steps[len(keys) - 1][0]) == 1
    ):
        keys.pop()  # q0 is q0.0
    return tuple(keys)


def _same(container: Any, key: str) -> str:
    """Canonical key of an element of a container, such as "0" for "x" of a vector."""
    if not isinstance(container, tuple):
        return key
    if key in PAIRS:
        return "".join(sorted(key))
    return str("xyz".find(key)) if key in tuple("xyz") else key


def _with_values(container: Any, changes: Changes, place: tuple[str, ...]) -> Any:
    """Copy of a container with new values at several places.

    Raises `InputError` with the whole path.
    """
    parts: dict[str, Any] = {}
    known = _parts(container, place[-1] if place else "")
    for key in dict.fromkeys(keys[0] for keys, _ in changes):
        if key not in known:  # the container is itself a new value
            path = ".".join(place)
            raise InputError(
                f"{path}.{key}: is not in {shown(container)}, the value of {path}; keep "
                "one of these parameters"
            )
        within = [(keys[1:], value) for keys, value in changes if keys[0] == key]
        whole = [value for keys, value in within if not keys]
        inner = [change for change in within if change[0]]
        before = known[key]
        part = whole[-1] if whole else before
        # of `number_at`
        if isinstance(before, tuple) and len(before) == 1 and isinstance(part, int | float):
            part = (part,)
        parts[key] = _with_values(part, inner, (*place, key)) if inner else part
    match container:
        case ModelData():
            other = copy.copy(container)
            for key, part in parts.items():
                setattr(other, key, part)
            return other
        case Declaration():
            try:
                return type(container).read(
                    {name: getattr(container, name) for name in container.field_names()} | parts
                )
            except NestedError as error:
                raise InputError(
                    *(str(Problem((*place, *each.path), each.message)) for each in error.problems)
                ) from None
        case Mapping():
            return {**container, **parts}
    return _with_elements(container, parts)


def _with_elements(container: Any, parts: Mapping[str, Any]) -> Any:
    """Tuple with new elements; a symmetric matrix stays symmetric."""
    for key, part in parts.items():
        if key in PAIRS:
            ends = (PAIRS[key], PAIRS[key][::-1])
            container = tuple(
                tuple(part if (a, b) in ends else container[a][b] for b in range(3))
                for a in range(3)
            )
        else:
            at = "xyz".find(key) if key in "xyz" else int(key)
            container = tuple(part if i == at else each for i, each in enumerate(container))
    return container


def _require_argument(path: str, steps: Steps, value: Any) -> None:
    """Raise `InputError` for a section, or for an item replaced by something else.

    An item may only be replaced by an item of its section with the same name.
    """
    section = SECTIONS.get(steps[0][1])
    if section is None or len(steps) > 2:
        return
    if len(steps) < 2 or not isinstance(value, section) or value.name != steps[1][1]:  # type: ignore[attr-defined]
        raise InputError(
            f"{path}: is not an argument of an item, as 'bodies.tool.mass' is; name one, or "
            "give the whole item anew"
        )


def _numbers(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Paths and values of the finite floats within a value, each once."""
    value = _only_element(value)
    if isinstance(value, float):
        if math.isfinite(value):
            yield path, value
        return
    parts = _parts(value, path[-1])
    names: Iterable[str] = parts
    if isinstance(value, tuple):  # has several names for the same number
        names = DISTINCT if "yx" in parts else "xyz" if "x" in parts else parts
    # the parts of a quaternion do not vary freely
    if isinstance(value, Joint) and value.nq != value.nv:
        names = [name for name in parts if name != "q0"]
    for name in names:
        yield from _numbers(parts[name], (*path, name))
