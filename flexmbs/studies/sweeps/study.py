"""`Study`: what all cases of a sweep have in common, and the model of each."""

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flexmbs.api.model import Model
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
    solutions are kept; whether its folder is, or ends with the sweep."""

    base: Build
    outputs: Mapping[str, Wanted]
    run: Run | None = None
    keep: bool = False
    lasting: bool = True

    def model(self, inputs: Mapping[str, Any]) -> Model:
        """The model of a case. Raises `InputError`, and exceptions of a function that builds it."""
        of_run = {name: value for name, value in inputs.items() if name.partition(".")[0] == "run"}
        model = copy.copy(made(self.base, {name: value for name, value in inputs.items() if name not in of_run}))
        model.run = self.run or model.run
        return changed(model, of_run)


def case_of(names: Sequence[str], values: Sequence[Any]) -> Case:
    """The case of these values."""
    inputs = dict(zip(names, values))
    text = json.dumps([[name, _exact(inputs[name])] for name in sorted(inputs)])
    return Case(inputs, hashlib.sha256(text.encode()).hexdigest()[:32])


def _exact(value: Any) -> Any:
    return float(value).hex() if isinstance(value, int | float) and not isinstance(value, bool) else value
