"""Materials by name, from a TOML file that users extend with files of the same format.

Names are compared without case and separators: "Al 6061-T6" is "al6061t6".
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from flexmbs.declaration import NestedError, Problem, close_names, problems_of, raise_nested, shown
from flexmbs.errors import InputError
from flexmbs.files.paths import file_path
from flexmbs.toml.document import ProblemCollector, read_document
from preprocess.fe.material import Isotropic
from preprocess.inputs.argument_checks import checked_arguments

BUILT_IN = Path(__file__).with_name("materials.toml")
FORMAT = "flexmbs-materials/1"
KEYS = ("format", "references", "materials")
NUMBERS = ("E", "nu", "rho", "yield_stress", "expansion", "fatigue")

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[Finite, Field(gt=0)]
Text = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class StressLife:
    """S–N curve N = cycles (σ_a/amplitude)^−slope, with ``slope_below`` below the amplitude.

    amplitude: Pa. slope_below: by default the same slope. ratio: stress ratio R = σ_min/σ_max of
    the tests; None if the curve holds for any.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    amplitude: Positive
    cycles: Positive
    slope: Positive
    slope_below: Positive | None = None
    ratio: Finite | None = None


@dataclass(frozen=True)
class MaterialData:
    """Data of an isotropic material, each number with its source.

    E, yield_stress: Pa. rho: kg/m³. expansion: coefficient of linear thermal expansion at room
    temperature, 1/K. note: form, condition and basis of the numbers. sources: by the names of the
    numbers, ``source`` where they have none of their own.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern="[A-Za-z0-9]")]
    E: Positive
    nu: Annotated[Finite, Field(gt=-1, lt=0.5)]
    rho: Positive
    yield_stress: Positive | None = None
    expansion: Finite | None = None
    fatigue: StressLife | None = None
    aliases: tuple[Annotated[str, Field(pattern="[A-Za-z0-9]")], ...] = ()
    note: str = ""
    source: str = ""
    sources: Mapping[str, Text] = field(default_factory=dict)

    @property
    def isotropic(self) -> Isotropic:
        """The material of finite-element models."""
        return Isotropic(E=self.E, nu=self.nu, rho=self.rho, yield_stress=self.yield_stress)

    @property
    def sn_curve(self) -> dict[str, float]:
        """Arguments of `flexmbs.SNCurve`. Raises InputError without S–N data."""
        curve = self.fatigue
        if curve is None:
            raise InputError(f"material: '{self.name}' has no S–N data")
        below = curve.slope if curve.slope_below is None else curve.slope_below
        return {
            "amplitude": curve.amplitude,
            "cycles": curve.cycles,
            "slope": curve.slope,
            "slope_below": below,
        }

    def compared_names(self) -> dict[str, str]:
        """Name and aliases by their letters and digits."""
        return {_key(each): each for each in (self.name, *self.aliases)}


@checked_arguments
def material(name: str, file: str | Path | None = None) -> Isotropic:
    """Isotropic material by its name or an alias, such as "Al 6061-T6" or "S355".

    file: TOML file with materials, which precede those of the program. ``preprocess materials``
    lists all. Raises InputError for an unknown name, with the closest one, and for a damaged file.

    Examples
    --------
    >>> import preprocess as pp
    >>> pp.material("al 6061 t6")
    Isotropic(E=68300000000.0, nu=0.33, rho=2710.0, yield_stress=248000000.0)
    """
    return material_data(name, file).isotropic


@checked_arguments
def material_data(name: str, file: str | Path | None = None) -> MaterialData:
    """Data of a material: elasticity, density, yield stress, expansion, S–N curve and sources.

    name, file: as of `material`. The data have E, nu, rho, yield_stress, expansion, fatigue, note
    and sources by these names; numbers that are not known are None. ``isotropic`` is the material,
    ``sn_curve`` the arguments of `flexmbs.SNCurve`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> steel = pp.material_data("S355")
    >>> steel.expansion, steel.sources["expansion"]
    (1.2e-05, 'EN 1993-1-1:2005, 3.2.6')
    >>> curve = fm.SNCurve(**steel.sn_curve)
    """
    own = () if file is None else read_materials(file_path(file, "file"))
    return find_material(name, own)


def find_material(name: str, own: Iterable[MaterialData] = ()) -> MaterialData:
    """Material by name, from ``own`` before those of the program. Raises InputError."""
    if not isinstance(name, str):
        raise InputError(f"material: name = {shown(name)} is not a string")
    known = all_materials(own)
    found = [each for each in known if _key(name) in each.compared_names()]
    if found:
        return found[0]
    names = {key: each for data in known for key, each in data.compared_names().items()}
    close = difflib.get_close_matches(_key(name[:100]), names, n=1)
    hint = f"did you mean '{names[close[0]]}'? " if close else ""
    raise InputError(
        f"material: unknown material {shown(name)}; {hint}`preprocess materials` lists all"
    )


def all_materials(own: Iterable[MaterialData] = ()) -> tuple[MaterialData, ...]:
    """Materials in ``own``, and those of the program that have other names."""
    own = tuple(own)
    taken = {_key(each.name) for each in own}
    return own + tuple(each for each in read_materials(BUILT_IN) if _key(each.name) not in taken)


def read_materials(path: Path) -> tuple[MaterialData, ...]:
    """Materials of a file. Raises InputError with every problem, one line each."""
    document, notes = read_document(path, "materials"), ProblemCollector()
    table = document.table
    if table.get("format") != FORMAT:
        notes.problems.append(
            Problem(("format",), f'a file of materials starts with format = "{FORMAT}"')
        )
    notes.problems += [
        Problem((key,), f"unknown key; {close_names(key, KEYS)}")
        for key in table
        if key not in KEYS
    ]
    tables = table.get("materials")
    if not isinstance(tables, dict) or not tables:
        notes.problems.append(Problem(("materials",), 'give at least one [materials."name"]'))
        tables = {}
    found = [
        notes.attempt(("materials", name), functools.partial(_material, name, tables[name]))
        for name in tables
    ]
    notes.problems += _name_problems([each for each in found if each is not None])
    if notes.problems:
        raise document.refusal(notes.problems)
    return tuple(found)


def _material(name: str, table: Any) -> MaterialData:
    """Material of a table. Raises NestedError with every problem."""
    if not isinstance(table, dict):
        raise NestedError.at((), f"must be a table, not {shown(table)}")
    try:
        data = _validator().validate_python({**table, "name": name})
    except ValidationError as error:
        names = [each.name for cls in (MaterialData, StressLife) for each in fields(cls)]
        raise NestedError(problems_of(error, names)) from None
    given = [number for number in NUMBERS if getattr(data, number) is not None]
    sources = {number: data.sources.get(number, data.source) for number in given}
    problems = [
        Problem(("sources", key), f"is not that of a number; {close_names(key, given)}")
        for key in data.sources
        if key not in given
    ]
    problems += [
        Problem((number,), 'has no source; give source = "…" or one in sources')
        for number, source in sources.items()
        if not source
    ]
    raise_nested(problems)
    return replace(data, sources=sources)


@functools.cache
def _validator() -> TypeAdapter[MaterialData]:
    """Validator of materials, made once."""
    return TypeAdapter(MaterialData)


def _name_problems(materials: list[MaterialData]) -> list[Problem]:
    """Names that several materials of a file have."""
    owners, problems = dict[str, str](), list[Problem]()
    for each in materials:
        for key, name in each.compared_names().items():
            if key in owners:
                text = f"the name {shown(name)} is also that of '{owners[key]}'"
                problems.append(Problem(("materials", each.name), text))
            owners.setdefault(key, each.name)
    return problems


def _key(name: str) -> str:
    """Letters and digits of a name, without case; names are equal if these are."""
    return re.sub(r"[\W_]+", "", name.casefold())
