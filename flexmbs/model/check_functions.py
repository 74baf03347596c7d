"""User functions that are missing in a model loaded from a solution file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flexmbs.declaration import Problem
from flexmbs.errors import raise_problems
from flexmbs.model.declared_values import model_values
from flexmbs.model.functions import NOT_THERE, MissingFunction

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData


def missing_functions(model: "ModelData") -> Iterator[Problem]:
    """Items whose user functions are missing, as after reading a file."""
    for path, value in model_values(model):
        if isinstance(value, MissingFunction):
            yield Problem(path, f"its function '{value.text}' is missing: {NOT_THERE}")


def require_functions(model: "ModelData") -> None:
    """Raise `InputError` naming the items whose functions are missing."""
    problems = [str(problem) for problem in missing_functions(model)]
    raise_problems(problems)
