"""Materials of the bodies of an assembly, by names of bodies or products."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from preprocess.cad.assembly import CadAssembly
from preprocess.fe.material import Anisotropic, Isotropic, Orthotropic
from preprocess.fe.material_library import find_material
from preprocess.inputs.argument_checks import positive

Material = Isotropic | Orthotropic | Anisotropic | float


def given_materials(assembly: CadAssembly, material: Any) -> dict[str, Material]:
    """Material, or density (kg/m³), of each body. Raises InputError for bodies without one.

    material: one for all, or a mapping from names of bodies or products, also with * and ?. A
    name precedes the patterns, of which the first that fits is taken.
    """
    alone = {} if material is None else {"*": material}
    table = dict(material) if isinstance(material, Mapping) else alone
    made = {key: _material(each, f"material[{key!r}]") for key, each in table.items()}
    names = {body.name: (body.name, assembly.parts[body.part].name) for body in assembly.bodies}
    found: dict[str, Material] = {}
    used: set[Any] = set()
    for name, own in names.items():
        exact = [key for key in made if key in own]
        keys = exact or [key for key in made if any(_fits(each, key) for each in own)]
        used.update(keys)
        if keys:
            found[name] = made[keys[0]]
    problems = [
        f"material: no body or product is called {shown(key)}; {close_names(str(key), names)}"
        for key in made
        if key not in used and not any(_fits(each, key) for own in names.values() for each in own)
    ]
    if missing := [name for name in names if name not in found]:
        problems.append(
            f"material: {', '.join(missing[:6])}{' …' if len(missing) > 6 else ''} "
            "has none; add it, or '*' for all others, as a name such as 'S355' or a density in kg/m³"
        )
    if problems:
        raise InputError(*problems)
    return found


def density(material: Material) -> float:
    """Density, kg/m³."""
    return material if isinstance(material, float) else float(material.rho)


def _fits(name: str, key: object) -> bool:
    """True if a name is a key, or fits its pattern; brackets have no meaning."""
    pattern = str(key).replace("[", "[[]")
    return bool(name) and (name == key or fnmatch.fnmatchcase(name, pattern))


def _material(value: Any, item: str) -> Material:
    """Material from an object, a name of the library or a density. Raises InputError."""
    if isinstance(value, (Isotropic, Orthotropic, Anisotropic)):
        return value
    if isinstance(value, str):
        try:
            return find_material(value).isotropic
        except InputError as error:
            raise InputError(*(f"{item}: {each}" for each in error.problems)) from None
    return positive(value, item, "give a density in kg/m³, a material, or its name such as 'S355'")
