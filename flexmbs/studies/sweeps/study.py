"""`Study`: what all cases of a sweep have in common, and the model of each."""

import contextlib
import copy
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from flexmbs.api.model import Model
from flexmbs.errors import InputError
from flexmbs.model.function_code import code_digest, contents_named, functions_of
from flexmbs.model.run import Run, run_with
from flexmbs.studies.parameters.model_with_parts import ModelWithParts
from flexmbs.studies.parameters.outputs import Wanted
from flexmbs.studies.parameters.parameter_paths import Build, changed, made

Texts = tuple[tuple[str, str], ...]  # those among the values of a case, by parameter


class Case(NamedTuple):
    """Case of a study: values by parameter, and the digest by which it is known."""

    inputs: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class Study:
    """A parameter study.

    A model, or a function that builds it; its outputs; the options of the runs, those of the model
    by default; whether the solutions are kept; whether its folder is, or ends with the sweep;
    options that override those of the runs, as arguments of `simulate` do.
    """

    base: Build
    outputs: Mapping[str, Wanted]
    run: Run | None = None
    keep: bool = False
    lasting: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def model(self, inputs: Mapping[str, Any]) -> Model:
        """The model of a case. Raises `InputError`, and exceptions of a function that builds it."""
        of_run = {name: value for name, value in inputs.items() if name.partition(".")[0] == "run"}
        model = copy.copy(
            made(self.base, {name: value for name, value in inputs.items() if name not in of_run})
        )
        base = self.run or (None if "t_end" in self.options else model.run)
        model.run = run_with(base, self.options)
        return changed(model, of_run)

    def content(self, texts: Texts) -> dict[str, str]:
        """Digests of files, functions and parts named by texts among the values of a case.

        Others make another case.
        """
        found: dict[str, str] = {}
        for _, text in texts:
            with contextlib.suppress(OSError):
                if os.path.isfile(text):
                    found[text] = hashlib.sha256(Path(text).read_bytes()).hexdigest()
        base = self.base
        build, owns = (
            (base.model, base.owns) if isinstance(base, ModelWithParts) else (base, lambda _: False)
        )
        own = {name: text for name, text in texts if owns(name)}
        with contextlib.suppress(InputError):  # reported by the case itself
            if isinstance(base, ModelWithParts) and own:
                found |= {
                    f"part {name}": part.digest() for name, part in base.changed_parts(own).items()
                }
            if isinstance(build, Model):
                other = replace(self, base=build).model(
                    {name: text for name, text in texts if name not in own}
                )
                before = dict(functions_of(build))
                for key, each in functions_of(other):
                    if each is not before.get(key):
                        found |= {key: code_digest(each)} | contents_named(each)
        return found


def case_of(
    names: Sequence[str], values: Sequence[Any], content: Callable[[Texts], dict[str, str]]
) -> Case:
    """Case of these parameter values with its digest.

    ``content`` gives the digest of what texts among the values name, see `Study.content`.
    """
    inputs = dict(zip(names, values))
    texts = tuple((name, value) for name, value in inputs.items() if isinstance(value, str))
    text = known_by(inputs) + (json.dumps(content(texts), sort_keys=True) if texts else "")
    return Case(inputs, hashlib.sha256(text.encode()).hexdigest()[:32])


def known_by(inputs: Mapping[str, Any]) -> str:
    """Parameter values of a case as one text."""
    return json.dumps([[name, _exact(inputs[name])] for name in sorted(inputs)])


def _exact(value: Any) -> Any:
    """Number as a hexadecimal float without rounding; other values unchanged."""
    return (
        float(value).hex()
        if isinstance(value, int | float) and not isinstance(value, bool)
        else value
    )
