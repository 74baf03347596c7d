"""Friction that depends on reactions as the probable cause of missing accelerations."""

from flexmbs.model.forces import loaded_by_reactions
from flexmbs.model.model import ModelData


def locked_friction(model: ModelData) -> str:
    """Hint for messages that reaction-dependent friction may lock the model; "" if none.

    It may be the reason why no accelerations are found or an iteration does not converge. Empty if
    there is none.
    """
    names = ", ".join(map(repr, loaded_by_reactions(model.forces.values())))
    if not names:
        return ""
    return (
        f"no reactions are consistent with the friction {names} that they cause "
        "(self-locking joints); reduce it, or its lever arms"
    )
