"""Mass, centre of mass and inertia of a rigid body from its shapes."""

from collections.abc import Iterator, Sequence

import numpy as np

from flexmbs.declaration import Problem
from flexmbs.errors import InputError
from flexmbs.model.shapes.mass_properties import MassProperties, combined
from flexmbs.model.shapes.shape import Shape

# kg, m, kg m²: the limit of declared numbers, beyond which products of them would overflow
LARGEST = 1e60
GIVE = "or give mass and inertia"


def density_problems(
    shapes: Sequence[Shape], mass: float | None, density: float | None
) -> Iterator[Problem]:
    """Densities that are missing or have no effect."""
    if mass is not None and density is not None:
        yield Problem(("density",), "has no effect, the mass is given too; remove one of them")
    elif not any(shape.solid for shape in shapes):
        yield Problem(("shapes",), f"have no volume; add a shape that has one, {GIVE}")
    elif mass is None or any(shape.density is not None for shape in shapes):
        for k, shape in enumerate(shapes):
            if shape.solid and shape.density is None and density is None:
                own = ("shapes", str(k), "density")
                yield Problem(own, f"is missing; give it here or as density of the body, {GIVE}")


def have_mass(shapes: Sequence[Shape], mass: float | None, density: float | None) -> bool:
    """True if the mass that follows from valid shapes is positive; reads no files."""
    if mass is not None:
        return mass > 0.0
    own = (density if shape.density is None else shape.density for shape in shapes if shape.solid)
    return any(own)


def derived_properties(
    shapes: Sequence[Shape], mass: float | None, density: float | None
) -> MassProperties:
    """Sum over the shapes; with a mass, the densities are scaled so that it results.

    Densities are those of the shapes, else that of the body; without any they are equal. Raises
    InputError.
    """
    default = 1.0 if density is None else density
    pieces = []
    for k, shape in enumerate(shapes):
        own = default if shape.density is None else shape.density
        if shape.solid and own:
            try:
                pieces.append(shape.properties(own))
            except InputError as error:
                raise InputError(*(f"shapes.{k}: {each}" for each in error.problems)) from None
    found = combined(pieces)
    if mass is not None:
        if not found.mass:
            raise InputError(f"mass: is {mass:g}, but all shapes have the density zero")
        found = found.scaled(mass / found.mass)
    largest = max(found.mass, *np.abs(found.com), *np.abs(found.inertia).ravel())
    if not largest <= LARGEST:
        raise InputError(
            f"shapes: mass, centre or inertia exceed {LARGEST:g}; correct sizes and densities"
        )
    return found
