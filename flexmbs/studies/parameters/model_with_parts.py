"""`ModelWithParts`: a model whose flexible bodies are reduced again.

For other values of parameters of their parts.

A part is what `preprocess.read_part` reads, or a function that returns a flexible body. A body is
known by the digest of all that it follows from, and reduced once: by one of the threads or
processes that want it, while the others wait.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import hashlib
import inspect
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from flexmbs.api.model import Model, load
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import close_names, shown
from flexmbs.errors import FlexmbsError, InputError
from flexmbs.files.output import ensure_folder
from flexmbs.files.paths import file_path
from flexmbs.files.reserved_outputs import locked_by
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.function_code import code_digest, contents_named
from flexmbs.model.model import ModelData
from flexmbs.studies.parameters.fingerprint import sources
from flexmbs.studies.parameters.parameter_paths import (
    Build,
    ModelSource,
    changed,
    check_arguments,
    made,
)

PREFIX = "parts"
MOST_KEPT = 32  # bodies in memory
Body: TypeAlias = FlexibleBodyData | DividedBodyData
Place: TypeAlias = dict[str, Any]  # file or data of a body


@runtime_checkable
class BodySource(Protocol):
    """Interface of the source of a flexible body, such as `preprocess.Part`."""

    def numbers(self) -> dict[str, float]:
        """Numeric parameters of the part by path."""

    def changed(self, values: Mapping[str, Any]) -> BodySource:
        """The part with other values. Raises `InputError`."""

    def digest(self) -> str:
        """SHA-256 digest of all inputs of the reduction. Raises `InputError`."""

    def body(self) -> Body:
        """Reduced flexible body of the part. Raises `InputError`, `SolverError`."""


@dataclasses.dataclass(frozen=True)
class FunctionPart:
    """Function that returns a flexible body, with values of its arguments.

    The content of files that it names counts too.
    """

    build: Callable[..., Body]
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def numbers(self) -> dict[str, float]:
        """Numeric arguments of the function with their values, by name."""
        defaults = {
            name: argument.default
            for name, argument in inspect.signature(self.build).parameters.items()
        }
        return {
            name: float(value)
            for name, value in (defaults | dict(self.values)).items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def changed(self, values: Mapping[str, Any]) -> FunctionPart:
        """Part with other arguments. Raises `InputError`."""
        check_arguments(self.build, {**self.values, **values}, PREFIX)
        return FunctionPart(self.build, {**self.values, **values})

    def digest(self) -> str:
        """SHA-256 digest of the function, its arguments and the files they name."""
        files = contents_named((self.build, dict(self.values)))
        text = json.dumps(
            [sources(), code_digest(self.build), dict(self.values), files],
            sort_keys=True,
            default=repr,
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def body(self) -> Body:
        """Flexible body returned by the function. Raises `InputError`."""
        data = self.build(**self.values)
        if not isinstance(data, (FlexibleBodyData, DividedBodyData)):
            raise InputError(
                f"the function gave {shown(data)}; it must give a flexible body, as "
                "preprocess.reduce does"
            )
        return data


class ReducedBodies(abc.ABC):
    """Flexible bodies by digest, each reduced once."""

    @abc.abstractmethod
    def place(self, part: BodySource) -> Place:
        """Declaration keys that refer to the reduced body of a part: file or data.

        Raises `InputError`, `SolverError`, `MachineError`.
        """


class BodiesAsTheyAre(ReducedBodies):
    """Bodies of the model as they are, to check values before bodies are reduced."""

    def place(self, part: BodySource) -> Place:
        """No change of the declared body."""
        return {}


class BodiesInFolder(ReducedBodies):
    """Bodies in files ``DIGEST.h5``, also of other processes and of earlier ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def place(self, part: BodySource) -> Place:
        """Path of the reduced body in the folder, reduced if it is new."""
        path = ensure_folder(self.folder) / f"{part.digest()}.h5"
        if not path.exists():
            with locked_by(path.with_suffix(".lock"), path, wait=True):
                if not path.exists():
                    part.body().save(path)
        return {"file": str(path), "data": None}


class BodiesInMemory(ReducedBodies):
    """The last bodies, of this process."""

    def __init__(self) -> None:
        self.known: OrderedDict[str, Body] = OrderedDict()
        self.lock, self.locks = threading.Lock(), dict[str, threading.Lock]()

    def __reduce__(self) -> tuple[type[BodiesInMemory], tuple[()]]:
        return BodiesInMemory, ()  # another process begins with none

    def place(self, part: BodySource) -> Place:
        """The reduced body, cached by digest."""
        digest = part.digest()
        with self.lock:
            alone = self.locks.setdefault(digest, threading.Lock())
        with alone:  # until the body is known, for which others wait
            data = self.known.get(digest) or part.body()
            with self.lock:
                self.known[digest] = data
                self.known.move_to_end(digest)
                while len(self.known) > MOST_KEPT:
                    self.locks.pop(self.known.popitem(last=False)[0], None)
        return {"file": None, "data": data}


@checked_arguments
class ModelWithParts(ModelSource):
    """A model with the parts of its flexible bodies.

    Numbers of the parts are parameters, ``parts.link.material.E``.

    It takes the place of a model in `sweep`, `sensitivities`, `identify`, `optimize` and
    `parameters`. Other values of a part make another body, which is reduced once.

    Parameters
    ----------
    model : Model, path or function
        A model, the path of its file, or a function that returns one.
    parts : mapping of names to parts or functions
        A part, as `preprocess.read_part` gives it, whose parameters are the paths of keys in its
        file: ``parts.link.material.E``, ``parts.link.damping``; or a function that returns a
        flexible body, whose parameters are its arguments: ``parts.link.thickness``, and whose
        results follow from these, from values to which it refers and from files that it names. The
        part ``link`` is that of all bodies whose file is ``link.h5`` or whose data are named
        ``link``; if there are none, that of the body ``link``.
    folder : path, optional
        Folder for the reduced bodies, which later runs use again; those of a `sweep` lie beside its
        cases by default, others are in memory.

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> def beam(height=0.02):
    ...     mesh = pp.box_mesh((0.4, 0.02, height), (4, 1, 1))
    ...     steel, ends = pp.Isotropic(E=2.1e11, nu=0.0, rho=7850.0), {"root": pp.Rigid("x0")}
    ...     return pp.reduce(mesh, steel, interfaces=ends, reference="root")
    >>> model = fm.Model("cantilever", gravity=(0, 0, 0))
    >>> bar = model.add(fm.FlexibleBody("bar", "bar.h5"))
    >>> clamp = model.add(fm.Fixed("clamp", model.ground, bar["root"]))
    >>> both = fm.ModelWithParts(model, {"bar": beam})
    >>> lowest = [
    ...     fm.linearize(both.made({"parts.bar.height": h})).modes.frequency[0]
    ...     for h in (0.01, 0.02)
    ... ]
    >>> round(lowest[1].item() / lowest[0].item(), 1)  # ~ √(I/A) ~ h
    2.0
    """

    def __init__(
        self,
        model: Model | Callable[..., Model] | str | os.PathLike[str],
        parts: Mapping[str, BodySource | Callable[..., Body]],
        *,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        """Model whose flexible bodies are reduced again for other parameters."""
        self.model: Build = load(Path(model)) if isinstance(model, str | os.PathLike) else model
        if not isinstance(self.model, ModelData) and not callable(self.model):
            raise InputError(
                f"model: {shown(model)} is not a Model, no path of a model file and no "
                "function that returns a model"
            )
        if not isinstance(parts, Mapping) or not parts:
            raise InputError(
                'parts: give at least one by its name, as {"link": '
                'preprocess.read_part("link.toml")}'
            )
        self.parts = {str(name): _part(str(name), part) for name, part in parts.items()}
        self.bodies: ReducedBodies = (
            BodiesInMemory() if folder is None else BodiesInFolder(file_path(folder, "folder"))
        )

    def stored_in(self, folder: Path, model: Build) -> ModelWithParts:
        """Copy with another model; bodies in memory move to a folder."""
        return self._with(
            model,
            BodiesInFolder(folder) if isinstance(self.bodies, BodiesInMemory) else self.bodies,
        )

    def unreduced(self) -> ModelWithParts:
        """Copy whose models keep their declared bodies."""
        return self._with(self.model, BodiesAsTheyAre())

    def _with(self, model: Build, bodies: ReducedBodies) -> ModelWithParts:
        """Copy with another model and store of bodies."""
        other = copy.copy(self)
        other.model, other.bodies = model, bodies
        return other

    def owns(self, path: str) -> bool:
        """True if a parameter path belongs to a part."""
        return path.partition(".")[0] == PREFIX

    def numbers(self) -> dict[str, float]:
        """Numeric parameters of all parts by path."""
        return {
            f"{PREFIX}.{name}.{key}": value
            for name, part in self.parts.items()
            for key, value in part.numbers().items()
        }

    def made(self, values: Mapping[str, Any]) -> Model:
        """The model with these values of parameters, its bodies reduced.

        Raises `InputError`, `SolverError`, `MachineError`.
        """
        parts = self.changed_parts(values)
        model = made(self.model, self._of_model(values))
        bodies = {body: name for name in parts for body in bodies_of(model, name)}
        places = {name: self._place(name, part) for name, part in parts.items()}
        return changed(
            model,
            {
                f"bodies.{body}": dataclasses.replace(model.bodies[body], **places[name])
                for body, name in bodies.items()
            },
        )

    def changed_parts(self, values: Mapping[str, Any]) -> dict[str, BodySource]:
        """All parts with new parameter values. Raises `InputError`."""
        own: dict[str, dict[str, Any]] = {}
        for path, value in values.items():
            if self.owns(path):
                name = self._name(path)
                own.setdefault(name, {})[path.removeprefix(f"{PREFIX}.{name}.")] = value
        return {
            name: _located(name, lambda part=part, name=name: part.changed(own.get(name, {})))  # type: ignore[misc]
            for name, part in self.parts.items()
        }

    def _of_model(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Parameter values that do not belong to parts."""
        return {path: value for path, value in values.items() if not self.owns(path)}

    def _name(self, path: str) -> str:
        """Name of the part in a parameter path. Raises `InputError`."""
        rest = path.removeprefix(f"{PREFIX}.")
        found = max(
            (name for name in self.parts if rest.startswith(f"{name}.")), key=len, default=""
        )
        if not found:
            raise InputError(
                f"{path}: names no part and parameter; "
                f"{close_names(rest.partition('.')[0], self.parts)}"
            )
        return found

    def _place(self, name: str, part: BodySource) -> Place:
        """Source of the reduced body of a part. Raises `InputError` naming the part."""
        return _located(name, lambda: self.bodies.place(part))  # type: ignore[no-any-return]


def bodies_of(model: Model, part: str) -> list[str]:
    """Names of the flexible bodies that a part replaces.

    Those whose file or data have its name, or else the body of this name. Raises `InputError`.
    """
    flexible = {name: body for name, body in model.bodies.items() if isinstance(body, FlexibleBody)}
    found = [
        name
        for name, body in flexible.items()
        if (Path(body.file).stem if body.file else body.data.name) == part
    ]
    if not found and part in flexible:
        found = [part]
    if not found:
        known = dict.fromkeys(
            Path(body.file).stem if body.file else body.data.name for body in flexible.values()
        )
        raise InputError(
            f"{PREFIX}.{part}: no flexible body of the model has this part; "
            f"{close_names(part, [*known, *flexible])}"
        )
    return found


def _part(name: str, given: Any) -> BodySource:
    """Part from a source of bodies or a function. Raises `InputError`."""
    if isinstance(given, BodySource):
        return given
    if callable(given):
        return FunctionPart(given)
    raise InputError(
        f"{PREFIX}.{name}: {shown(given)} is not a part; give "
        f"preprocess.read_part('{name}.toml'), or a function"
    )


def _located(name: str, work: Callable[[], Any]) -> Any:
    """Result of a function; problems are prefixed with the name of the part."""
    try:
        return work()
    except FlexmbsError as error:
        raise type(error)(
            *(
                f"{PREFIX}.{name}: {problem}"
                for problem in getattr(error, "problems", (str(error),))
            )
        ) from None
