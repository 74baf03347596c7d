"""`Study`: what all cases of a sweep have in common, and the model of each."""

import copy
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import InputError
from flexmbs.model.run import Run
from flexmbs.studies.outputs import Wanted
from flexmbs.studies.parameters import Build, changed, made


class Case(NamedTuple):
    """Values by parameter, and the digest of them by which a case is known."""

    inputs: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class Study:
    """A model, or a function that builds it; its outputs; the options of the runs, those of the model by default; whether the
    solutions are kept."""

    base: Model | Build
    outputs: Mapping[str, Wanted]
    run: Run | None = None
    keep: bool = False

    def model(self, inputs: Mapping[str, Any]) -> Model:
        """The model of a case. Raises `InputError`, and exceptions of a function that builds it."""
        arguments = {} if isinstance(self.base, Model) else {name: value for name, value in inputs.items() if "." not in name}
        if not isinstance(self.base, Model):
            _check_arguments(self.base, arguments)
        model = copy.copy(made(self.base, arguments))
        model.run = self.run or model.run
        return changed(model, {name: value for name, value in inputs.items() if name not in arguments})


def _check_arguments(build: Callable[..., Model], arguments: Mapping[str, Any]) -> None:
    """Raise `InputError` where the function does not take these."""
    try:
        inspect.signature(build).bind(**arguments)
    except TypeError as error:
        name = getattr(build, "__name__", "the function")
        raise InputError(f"parameters: {name}({', '.join(arguments)}): {error}; names without a dot are its arguments") from None


def case_of(names: Sequence[str], values: Sequence[Any]) -> Case:
    """The case of these values."""
    inputs = dict(zip(names, values))
    text = json.dumps([[name, _exact(inputs[name])] for name in sorted(inputs)])
    return Case(inputs, hashlib.sha256(text.encode()).hexdigest()[:32])


def _exact(value: Any) -> Any:
    return float(value).hex() if isinstance(value, int | float) and not isinstance(value, bool) else value
