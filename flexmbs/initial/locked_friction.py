"""Friction that depends on reactions, as the likely cause where no accelerations are found."""

from flexmbs.model.forces import loaded_by_reactions
from flexmbs.model.model import ModelData


def locked_friction(model: ModelData) -> str:
    """Hint at friction that depends on reactions, where no accelerations or no convergence may be
    due to it; else empty.
    """
    names = ", ".join(map(repr, loaded_by_reactions(model.forces.values())))
    if not names:
        return ""
    return (
        f"no reactions agree with the friction {names} that they cause (joints that lock "
        "themselves); reduce it, or its arms"
    )
