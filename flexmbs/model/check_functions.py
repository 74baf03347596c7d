"""Functions of the user that a model from a file of results has not."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flexmbs.declaration import Problem
from flexmbs.errors import InputError
from flexmbs.model.functions import NOT_THERE, StandIn
from flexmbs.model.parts import model_parts

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData


def missing_functions(model: "ModelData") -> Iterator[Problem]:
    """The items whose functions are not there."""
    for path, value in model_parts(model):
        if isinstance(value, StandIn):
            yield Problem(path, f"its function '{value.text}' is not there: {NOT_THERE}")


def require_functions(model: "ModelData") -> None:
    """Raise `InputError` naming the items whose functions are not there."""
    problems = [str(problem) for problem in missing_functions(model)]
    if problems:
        raise InputError(*problems)
