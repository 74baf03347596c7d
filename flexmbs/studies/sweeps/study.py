"""`Study`: what all cases of a sweep have in common, and the model of each."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flexmbs.api.model import Model
from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.run import Run
from flexmbs.studies.sweeps.outputs import Output
from flexmbs.studies.sweeps.parameters import changed

Build = Callable[..., Model]


class Case(NamedTuple):
    """Values by parameter, and the digest of them by which a case is known."""

    inputs: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class Study:
    """A model, or a function that builds it; its outputs; the options of the runs, those of the model by default; whether the
    solutions are kept."""

    base: Model | Build
    outputs: Mapping[str, Output]
    run: Run | None = None
    keep: bool = False

    def model(self, inputs: Mapping[str, Any]) -> Model:
        """The model of a case. Raises `InputError`, and exceptions of a function that builds it."""
        paths = {name: value for name, value in inputs.items() if "." in name or isinstance(self.base, Model)}
        if isinstance(self.base, Model):
            model = changed(self.base, {})
        else:
            model = changed(self._built({name: value for name, value in inputs.items() if name not in paths}), {})
        if self.run is not None:
            model.run = self.run
        return changed(model, paths) if paths else model

    def _built(self, arguments: dict[str, Any]) -> Model:
        """The model that the function builds."""
        assert not isinstance(self.base, Model)
        try:
            inspect.signature(self.base).bind(**arguments)
        except TypeError as error:
            name = getattr(self.base, "__name__", "the function")
            raise InputError(
                f"parameters: {name}({', '.join(arguments)}): {error}; names without a dot are its arguments"
            ) from None
        built = self.base(**arguments)
        if not isinstance(built, Model):
            raise InputError(f"model: the function returned {shown(built)}; return a Model")
        return built


def case_of(names: Sequence[str], values: Sequence[Any]) -> Case:
    """The case of these values."""
    inputs = dict(zip(names, values))
    text = json.dumps([[name, _exact(inputs[name])] for name in sorted(inputs)])
    return Case(inputs, hashlib.sha256(text.encode()).hexdigest()[:32])


def _exact(value: Any) -> Any:
    return float(value).hex() if isinstance(value, int | float) and not isinstance(value, bool) else value
