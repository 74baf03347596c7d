"""Arguments of analyses: times, names, values by joint.

Each is checked; messages state what is expected.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.model.contacts import DryFriction
from flexmbs.model.fields import index, items, number
from flexmbs.model.forces import UserFriction
from flexmbs.model.frames import ItemHandle
from flexmbs.model.model import ModelData


def instant(value: Any, key: str = "t") -> float:
    """Validate a time in s. Raises `InputError`.

    Raises `InputError`.
    """
    try:
        return number(value)
    except ValueError as error:
        raise InputError(f"{key}: the time in seconds {error}") from None


def coordinate_index(value: Any, key: str) -> int:
    """Validate the index of a coordinate of a joint. Raises `InputError`."""
    try:
        return index(value)
    except ValueError as error:
        raise InputError(f"{key}: the coordinate {error}") from None


def names(value: Any, key: str) -> tuple[str, ...]:
    """Names from one name, or from a list of names and handles. Raises `InputError`."""
    given = (
        [value]
        if isinstance(value, (str, ItemHandle))
        else list(value)
        if isinstance(value, Iterable)
        else [value]
    )
    if not all(isinstance(name, (str, ItemHandle)) for name in given):
        raise InputError(f"{key}: must be a list of names, not {shown(value)}")
    return tuple(str(name) for name in given)


def by_joint(value: Any, key: str) -> dict[str, Any]:
    """Values by joint name, from a table with names or handles. Raises `InputError`.

    Raises `InputError`.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: must be a table, joint → number(s), not {shown(value)}")
    return dict(zip(names(value, key), value.values()))


def numbers(value: Any, count: int, key: str) -> np.ndarray:
    """``count`` finite numbers, from a list or, for one, a number. Raises `InputError`."""
    try:
        found = [number(each) for each in (items(value) if np.ndim(value) else [value])]
    except ValueError as error:
        raise InputError(f"{key}: {error}") from None
    if len(found) != count:
        raise InputError(
            f"{key}: must have {count} number{'' if count == 1 else 's'}, not {len(found)}"
        )
    return np.array(found)


def require_no_samplers(model: ModelData, analysis: str) -> None:
    """Raise `InputError` if a model has discrete controllers that an analysis cannot treat.

    An analysis of a state would take their held outputs for constant forces.
    """
    for name, force in model.forces.items():
        if force.row().sampler:
            raise InputError(
                f"forces.{name}: {analysis} does not support discrete controllers; take a "
                "continuous law, such as PID, instead"
            )


def require_no_contacts(model: ModelData, analysis: str) -> None:
    """Raise `InputError` if a model has rigid contacts.

    An analysis of smooth equations would ignore them.
    """
    for name, contact in model.contacts.items():
        if contact.rigid:
            remedy = (
                "replace it with JointFriction or LuGreFriction"
                if isinstance(contact, DryFriction)
                else "give it a force law"
            )
            text = f"{analysis} does not support {contact.named}; {remedy}, or remove it"
            raise InputError(f"contacts.{name}: {text}")


def require_no_functions_of_reactions(model: ModelData, analysis: str) -> None:
    """Raise `InputError` if forces on frames or user functions depend on reactions.

    An analysis by tangents would ignore this dependence.
    """
    for name, force in model.forces.items():
        if isinstance(force, UserFriction) or force.row().reads:
            raise InputError(
                f"forces.{name}: {analysis} supports no user functions of reactions and "
                "no forces on frames that read them; "
                "take 'pin-friction' or 'guide-friction'"
            )
