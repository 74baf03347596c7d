"""Known materials by Young's modulus and density, to detect data in other units than declared.

The ratio E/ρ is not sufficient: it is the same in lbf and N, and in mm-kg-ms and SI. Data that fit
a known material in the declared units are accepted; other data are doubtful only if they fit a
common material in other units, since models may have soft, light and rigid materials on purpose.

Source: Ashby, Materials Selection in Mechanical Design (2011), figure 4.3 and tables A.3 (density)
and A.5 (Young's modulus), wood along its grain, composites from quasi-isotropic to unidirectional.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from preprocess.inputs.units import NEWTONS, SI, UNIT_SYSTEMS, Units

GRAVITY = 9.80665 / 0.0254  # in/s², of densities in lb/in³
DENSITIES = (  # unit, kg/m³, remedy
    (
        "lb/in³",
        UNIT_SYSTEMS["in-lbf-s"].density / GRAVITY,
        "divide them by 386.1, as by PARAM,WTMASS,0.00259",
    ),
    ("kg/mm³", 1e9, "divide them by 1000, to t/mm³"),
    ("g/cm³", 1e3, "give them in the units of force, length and time"),
)
DENSEST = 3e4  # kg/m³; osmium, the densest material, has 22,600


class KnownMaterial(NamedTuple):
    """Ranges of E [Pa] and ρ [kg/m³] of a material."""

    name: str
    E: tuple[float, float]
    rho: tuple[float, float]


METALS = (
    KnownMaterial("steel", (1.8e11, 2.2e11), (7500.0, 8200.0)),
    KnownMaterial("cast iron", (8e10, 1.8e11), (6900.0, 7500.0)),
    KnownMaterial("aluminium", (6.2e10, 8.3e10), (2500.0, 2900.0)),
    KnownMaterial("titanium", (9.5e10, 1.25e11), (4300.0, 4850.0)),
    KnownMaterial("magnesium", (4e10, 4.8e10), (1700.0, 1900.0)),
    KnownMaterial("copper alloy", (9e10, 1.5e11), (8200.0, 9000.0)),
    KnownMaterial("nickel alloy", (1.5e11, 2.4e11), (7800.0, 9200.0)),
)
NONMETALS = (
    KnownMaterial("polymer", (3e8, 1.2e10), (880.0, 2200.0)),
    KnownMaterial("fibre composite", (1.5e10, 2.5e11), (1300.0, 2100.0)),
    KnownMaterial("wood", (5e9, 2e10), (350.0, 900.0)),
    KnownMaterial("concrete or stone", (1.4e10, 7e10), (1600.0, 3000.0)),
    KnownMaterial("glass", (6e10, 1.1e11), (2150.0, 2800.0)),
    KnownMaterial("ceramic", (1.4e11, 4.8e11), (2300.0, 6150.0)),
    KnownMaterial("tungsten carbide", (5e11, 7.2e11), (13500.0, 15900.0)),
    KnownMaterial("rubber", (7e5, 5e7), (900.0, 1800.0)),
)
COMMON = (*METALS, *NONMETALS)
OTHERS = (  # that models may have, in wider ranges
    KnownMaterial("zinc alloy", (6e10, 1.1e11), (5000.0, 7200.0)),
    KnownMaterial("lead or tin", (1e10, 5e10), (7000.0, 11500.0)),
    KnownMaterial("noble or refractory metal", (5e10, 5.7e11), (8500.0, 22700.0)),
    KnownMaterial("ceramic or glass", (5e10, 1.3e12), (2200.0, 16000.0)),
    KnownMaterial("concrete or stone", (5e9, 1e11), (800.0, 3500.0)),
    KnownMaterial("composite", (5e9, 5e11), (1000.0, 2600.0)),
    KnownMaterial("wood or bone", (5e7, 3e10), (90.0, 2200.0)),
    KnownMaterial("polymer", (1e7, 2.5e10), (800.0, 2400.0)),
    KnownMaterial("rubber or tissue", (1e2, 5e8), (700.0, 2300.0)),
    KnownMaterial("foam or honeycomb", (1e3, 3e9), (20.0, 1000.0)),
    KnownMaterial("light foam", (1e3, 5e6), (1.0, 20.0)),
)


def known_material(
    E: float, rho: float, among: Iterable[KnownMaterial] = (*COMMON, *OTHERS)
) -> str | None:
    """Name of a known material with this modulus [Pa] and density [kg/m³].

    None if there is none.
    """
    fitting = (
        each.name
        for each in among
        if each.E[0] <= E <= each.E[1] and each.rho[0] <= rho <= each.rho[1]
    )
    return next(fitting, None)


def material_doubt(E: float, rho: float, units: Units) -> str | None:
    """Doubt about a modulus and a density in ``units``; None without doubt.

    For example "are those of steel in mm-t-s" if the data fit a common material in other units, or
    that no material has them.

    Decks in inches and newtons are not considered: data in lbf have precedence, in which steel
    looks like magnesium in N. Parts without mass have densities of about 1 kg/m³ in SI, as
    materials in cm-g-s do; there only metals are distinguished from them.
    """
    fits = known_material(E * units.pressure, rho * units.density)
    others = [] if fits else [each for each in UNIT_SYSTEMS.values() if each[1:] != units[1:]]
    others = [UNIT_SYSTEMS["in-lbf-s"]] * (units == NEWTONS["in"]) + others
    for among, other in itertools.product((METALS, NONMETALS), others):
        light = units[1:] == SI[1:] and other.name == "cm-g-s"
        name = known_material(E * other.pressure, rho * other.density, among)
        if name and not (light and among is NONMETALS):
            return f"are those of {name} in {other.name}"
    if fits:
        return None
    for density, factor, remedy in DENSITIES:
        name = known_material(E * units.pressure, rho * factor, COMMON)
        if name and units[1:] != SI[1:]:
            return f"are those of {name} with densities in {density}: {remedy}"
    size = rho * units.density
    return f"fit no known material: the density is {size:.3g} kg/m³" if size > DENSEST else None
