"""Constraints that are no joints → their kind and parameters."""

from collections.abc import Callable
from typing import Any

from flexmbs.errors import InputError
from flexmbs.model.joints import Joint, normal_directions
from flexmbs.model.relations import KnifeEdge, Relation, RollingDisc, RollingSphere
from flexmbs.system.records import CHAIN, KNIFE_EDGE, ROLLING_DISC, ROLLING_SPHERE


def _disc(disc: RollingDisc) -> list[float]:
    return [*disc.normal, *disc.axis, disc.radius - disc.rim, disc.rim]


def _sphere(sphere: RollingSphere) -> list[float]:
    first, second = normal_directions(sphere.normal)
    return [*sphere.normal, *first, *second, sphere.radius]


PARAMETERS: dict[type[Relation], tuple[int, Callable[[Any], list[float]]]] = {
    KnifeEdge: (KNIFE_EDGE, lambda blade: [*blade.axis]),
    RollingDisc: (ROLLING_DISC, _disc),
    RollingSphere: (ROLLING_SPHERE, _sphere),
}


def parameters(joint: Joint) -> tuple[int, list[float]]:
    """Kind of the rows of a cut joint and the numbers they need."""
    if joint.carries:
        return CHAIN, []
    for kind, (code, values) in PARAMETERS.items():
        if isinstance(joint, kind):
            return code, values(joint)
    raise InputError(f"joints.{joint.name}: a constraint of kind '{joint.kind}' is not known to the equations")
