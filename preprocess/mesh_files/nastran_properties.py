"""Properties and materials of Nastran bulk data, declared in the units of the file.

Source: MSC Nastran, Quick Reference Guide, entries by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError
from preprocess.mesh_files.nastran_cards import Card, integer_field, real_field, text_field
from preprocess.mesh_files.nastran_shapes import OPEN, SHAPES, Section

# relative rounding of 12I/T³ in decks, and TS/T of a homogeneous plate
ROUNDED, SHEAR = 1e-6, 5 / 6
# relative difference of G from E/2(1 + ν); data in decks are often rounded to three digits
FITS = 0.01
MAY_VANISH = ("TUBE",)  # of which a dimension may be zero
# transverse over in-plane shear modulus of plies that are rigid in shear: leaves 1 % of the usual
# shear deflection
RIGID = 100.0
Pair = tuple[float, float]
Array = NDArray[np.float64]
STATIONS = ("YES", "YESA", "NO")  # whether a station of PBEAM has stress


@dataclass
class Property:
    """Property card as a section, None for solids, and the number of its material.

    For laminates the materials of the plies, for plates those of membrane, bending and shear;
    torsion constant of rods; system of the material of solids (CORDM); angle (rad) from the
    orientation of a beam to the first principal axis of its section.
    """

    section: Section | None
    material: int
    plies: list[int] = field(default_factory=list)
    torsion: float = 0.0
    system: int = 0
    turn: float = 0.0


def _refused(card: Card, what: str) -> InputError:
    """InputError for an unsupported content of a card."""
    return InputError(f"{card.line}: {card.name} {integer_field(card, 0)}: {what}")


def _refuse_fields(card: Card, fields: dict[int, str]) -> None:
    """Raise InputError for given fields that are not supported."""
    given = [name for index, name in fields.items() if real_field(card, index)]
    if given:
        raise _refused(card, f"{' and '.join(given)} not supported; give zero")


def _solid(card: Card) -> Property:
    """Property of a PSOLID card."""
    text = text_field(card, 2)
    system = int(text) if re.fullmatch(r"-?\d{1,8}", text) else 0
    return Property(None, integer_field(card, 1, 0), system=system)


def _shell(card: Card) -> Property:
    """Property of a PSHELL card: a shell of one material, or a plate with its own stiffnesses.

    plies: the numbers of the materials of membrane, bending and shear of a plate, 0 for none. Blank
    MID3 is that of bending. Raises `InputError` for MID4, and without MID1.
    """
    if text_field(card, 10) not in ("", "0"):
        raise _refused(card, "MID4 couples membrane and bending; give a PCOMP")
    bending, shear = real_field(card, 4) or 1.0, real_field(card, 6) or SHEAR
    first, second = integer_field(card, 1, 0), integer_field(card, 3, 0)
    third = integer_field(card, 5, 0) or max(second, 0)
    section = {"thickness": real_field(card, 2), **_added(card, 7)}
    plain = abs(bending - 1) <= ROUNDED and abs(shear - SHEAR) <= 1e-3
    if first == second == third and plain:
        return Property({"kind": "shell", **section}, first)
    if not first:
        raise _refused(card, "has no MID1; a shell without membrane stiffness moves freely")
    if second < 0:  # plane strain about the element's y axis
        raise _refused(card, f"MID2 = {second} (plane strain) is not supported; give MID2 ≥ 0")
    own = {"kind": "plate", **section, "shear": shear, "bending": bending if second else 0.0}
    materials = [] if first == second == third else [first, second, third]
    return Property(own, first, materials)


def _added(card: Card, index: int) -> Section:
    """Added mass per length or area from a field of a card, as declaration keys."""
    mass = real_field(card, index)
    if mass < 0:
        raise _refused(card, f"NSM = {mass:g}; give a mass that is not negative")
    return {"added_mass": mass} if mass else {}


def _laminate(card: Card) -> Property:
    """Declaration of a laminate section from a PCOMP card.

    Z0, NSM, …, LAM, then material, thickness and angle of each ply, from the bottom.
    """
    kind = text_field(card, 7).upper()
    if kind not in ("", "SYM"):
        raise _refused(card, f"LAM = {kind} is not supported; give all plies, or SYM")
    plies, materials = list[list[float]](), list[int]()
    for k in range(8, len(card.fields), 4):
        if not any(text_field(card, k + j) for j in range(4)):
            continue
        materials.append(integer_field(card, k, materials[-1] if materials else 0))
        plies.append(
            [real_field(card, k + 1) or (plies[-1][0] if plies else 0.0), real_field(card, k + 2)]
        )
    if not plies:
        raise _refused(card, "has no plies; give material, thickness and angle of each")
    if kind == "SYM":
        plies, materials = plies + plies[::-1], materials + materials[::-1]
    height = sum(thickness for thickness, _ in plies)
    offset = real_field(card, 1) + 0.5 * height if text_field(card, 1) else 0.0
    return Property(
        {"kind": "laminate", "plies": plies, "offset": offset, **_added(card, 2)},
        materials[0],
        materials,
    )


def _bar(card: Card) -> Property:
    """Property of a PBAR card."""
    area, I1, I2, J = (real_field(card, k) for k in range(2, 6))
    shear = real_field(card, 16), real_field(card, 17)
    turn = 0.0
    if I12 := real_field(card, 18):
        if shear[0] != shear[1]:
            raise _refused(card, "I12 with K1 and K2 that differ is not supported; give I12 = 0")
        # principal axes: ∫ y² dA = I1, ∫ z² dA = I2, ∫ y z dA = I12
        turn = 0.5 * math.atan2(2.0 * I12, I1 - I2)
        mean, radius = 0.5 * (I1 + I2), math.hypot(0.5 * (I1 - I2), I12)
        I1, I2 = mean + radius, mean - radius
        if not I2 > 0:
            raise _refused(card, f"I12 = {I12:g} exceeds √(I1 I2); correct it")
        c, s = math.cos(turn), math.sin(turn)
        fields = [*card.fields, *[""] * (16 - len(card.fields))]
        for k in range(8, 16, 2):
            if fields[k] or fields[k + 1]:
                y, z = real_field(card, k), real_field(card, k + 1)
                fields[k], fields[k + 1] = repr(c * y + s * z), repr(c * z - s * y)
        card = replace(card, fields=fields)
    found = _general(card, area, I1, I2, J, shear)
    return replace(found, section={**(found.section or {}), **_added(card, 6)}, turn=turn)


def _general(
    card: Card,
    area: float,
    I1: float,
    I2: float,
    J: float,
    shear: Pair,
    centroid: Pair = (0.0, 0.0),
) -> Property:
    """Property with the general section of a PBAR or PBEAM card.

    Its stress points are the corners of the centred rectangle through the points C to F. centroid:
    from the shear centre, N1 and N2 of PBEAM, which is on the line between the grids.
    """
    y, z = (
        max(
            (abs(real_field(card, k) - c) for k in range(first, 16, 2) if text_field(card, k)),
            default=0.0,
        )
        for first, c in ((8, centroid[0]), (9, centroid[1]))
    )
    size = {key: 2 * reach for key, reach in (("height", y), ("width", z)) if reach}
    section = {"kind": "general", "area": area, "Iy": I2, "Iz": I1, "J": J, "shear": shear, **size}
    if any(centroid):
        section |= {"shear_centre": [-centroid[0], -centroid[1]], "line": "shear-centre"}
    return Property(section, integer_field(card, 1, 0))


def _beam(card: Card) -> Property:
    """Section of PBEAM, linear between its ends; blank shear coefficients are one."""
    _refuse_fields(card, {5: "I12"})
    if text_field(card, 8).upper() in STATIONS:  # the line of the points C to F may be missing
        card = replace(card, fields=[*card.fields[:8], *[""] * 8, *card.fields[8:]])
    own, k, stations = _values(card, 2), 16, [(0.0, _values(card, 2))]
    while text_field(card, k).upper() in STATIONS:
        _refuse_fields(card, {k + 5: "I12"})
        if text_field(card, k + 7) and real_field(card, k + 7) != real_field(card, 7):
            raise _refused(
                card,
                "NSM that changes along the beam is not supported; divide the beam into "
                "elements of one",
            )
        there = [value or first for value, first in zip(_values(card, k + 2), own)]
        stations.append((real_field(card, k + 1) or 1.0, there))
        k += 16 if text_field(card, k).upper() == "YES" else 8
    _refuse_fields(
        card,
        {
            k + j: name
            for j, name in enumerate(("S1", "S2", "NSI(A)", "NSI(B)", "CW(A)", "CW(B)"), 2)
        },
    )
    _refuse_fields(
        card, {k + j: name for j, name in enumerate(("M1(A)", "M2(A)", "M1(B)", "M2(B)"), 8)}
    )
    shear = tuple(real_field(card, k + j) if text_field(card, k + j) else 1.0 for j in (0, 1))
    y, z = real_field(card, k + 12), real_field(card, k + 13)
    if any(text_field(card, k + j) and real_field(card, k + j) != n for j, n in ((14, y), (15, z))):
        raise _refused(
            card,
            "N1 and N2 that change along the beam are not supported; divide the beam into "
            "elements of one",
        )
    found = _general(card, own[0], own[1], own[2], own[3], (shear[0], shear[1]), (y, z))
    end = _end_of(card, stations)
    if end != own and found.section is not None:
        found.section["end"] = dict(zip(("area", "Iz", "Iy", "J"), end))
    return replace(found, section={**(found.section or {}), **_added(card, 7)})


def _values(card: Card, first: int) -> list[float]:
    """Values A, I1, I2 and J of a station of PBEAM."""
    return [real_field(card, first + j) for j in (0, 1, 2, 4)]


def _end_of(card: Card, stations: list[tuple[float, list[float]]]) -> list[float]:
    """Section values at the second end of a tapered beam.

    Raises InputError for intermediate stations that deviate from linear variation.
    """
    first, last = (
        stations[0][1],
        next((values for x, values in stations if x == 1.0), stations[0][1]),
    )
    for x, values in stations:
        for low, value, high in zip(first, values, last):
            if not 0 <= x <= 1 or abs(low + x * (high - low) - value) > ROUNDED * max(
                abs(low), abs(high)
            ):
                raise _refused(
                    card,
                    f"station {x:g} deviates from the line between the ends; divide the beam "
                    "into elements there",
                )
    return last


def _rod(card: Card) -> Property:
    """Property of a PROD card."""
    section = {"kind": "truss", "area": real_field(card, 2), **_added(card, 5)}
    return Property(section, integer_field(card, 1, 0), torsion=real_field(card, 3))


def tube(card: Card) -> Property:
    """Property with the tubular section of a PTUBE card; solid if the thickness is blank."""
    outer, given = real_field(card, 2), real_field(card, 3)
    if text_field(card, 5) and real_field(card, 5) != outer:
        raise _refused(
            card,
            "OD2 of a tapered tube is not supported; divide it into tubes of constant diameter",
        )
    inner = outer - 2 * given if given else 0.0
    if not (outer > 0 and 0 <= inner < outer):
        raise _refused(
            card,
            f"OD = {outer:g} with T = {given:g} is not a tube; give a thickness up to half "
            "the diameter",
        )
    area, J = 0.25 * math.pi * (outer**2 - inner**2), math.pi / 32 * (outer**4 - inner**4)
    return Property(
        {"kind": "truss", "area": area, **_added(card, 4)}, integer_field(card, 1, 0), torsion=J
    )


def own_rod(card: Card) -> Property:
    """Property with the truss section of a CONROD card."""
    section = {"kind": "truss", "area": real_field(card, 4), **_added(card, 7)}
    return Property(section, integer_field(card, 3), torsion=real_field(card, 5))


def _shaped(card: Card) -> Property:
    """Section of PBARL and PBEAML with its dimensions, linear between the ends."""
    shape = text_field(card, 3).upper()
    if shape not in SHAPES:
        raise _refused(card, f"section {shape} is not supported; use {', '.join(SHAPES)}")
    beam, (count, make, turn) = card.name.upper().startswith("PBEAML"), SHAPES[shape]
    stations = _stations(card, count) if beam else [(0.0, _dimensions(card, 8, count))]
    if not beam and any(text_field(card, k) for k in range(9 + count, len(card.fields))):
        raise _refused(card, f"section {shape} has {count} dimensions; remove the others")
    wrong = [
        f"DIM{k}"
        for k, d in enumerate(stations[0][1], 1)
        if d < 0 or (d == 0 and shape not in MAY_VANISH)
    ]
    if wrong:
        raise _refused(
            card, f"section {shape}: {wrong[0]} is not positive; give all {count} dimensions"
        )
    section, end = make(stations[0][1]), make(_end_of(card, stations))
    changed = {key: end[key] for key in end if end[key] != section.get(key)}
    if changed and (section["kind"] in OPEN or end["kind"] != section["kind"]):
        raise _refused(
            card,
            f"tapered section {shape} is not supported; divide the beam into elements of "
            "constant section",
        )
    more: Section = {"turn": turn} if turn else {}
    if beam:  # its shear centre is on the line between the grids
        more |= {"line": "shear-centre"} if section["kind"] in OPEN else {}
    section |= more | _added(card, 8 + count) | ({"end": changed} if changed else {})
    return Property(section, integer_field(card, 1, 0))


def _dimensions(card: Card, first: int, count: int) -> list[float]:
    """Numbers of consecutive fields."""
    return [real_field(card, first + k) for k in range(count)]


def _stations(card: Card, count: int) -> list[tuple[float, list[float]]]:
    """Positions and dimensions of the stations of PBEAML; blank ones are those of the first end."""
    own = _dimensions(card, 8, count)
    found = [(0.0, own)]
    for k in range(9 + count, len(card.fields), 3 + count):
        if any(text_field(card, k + j) for j in range(3 + count)):
            there = [value or first for value, first in zip(_dimensions(card, k + 2, count), own)]
            found.append((real_field(card, k + 1) if text_field(card, k + 1) else 1.0, there))
            if text_field(card, k + 2 + count) and real_field(card, k + 2 + count) != real_field(
                card, 8 + count
            ):
                raise _refused(
                    card,
                    "NSM that changes along the beam is not supported; divide the beam "
                    "into elements of one",
                )
    return found


PROPERTIES: dict[str, Callable[[Card], Property]] = {
    "PSOLID": _solid,
    "PSHELL": _shell,
    "PCOMP": _laminate,
    "PBAR": _bar,
    "PBARL": _shaped,
    "PBEAM": _beam,
    "PBEAML": _shaped,
    "PROD": _rod,
    "PTUBE": tube,
}


def isotropic(card: Card) -> Section:
    """Declaration of an isotropic material from a MAT1 card."""
    E, G, nu = (real_field(card, k) for k in (1, 2, 3))
    if not text_field(card, 3) and G:
        nu = 0.5 * E / G - 1 if E else 0.0
    E = E or 2 * G * (1 + nu)
    found = {"kind": "isotropic", "E": E, "nu": nu, "rho": real_field(card, 4)}
    if G and E and abs(G * 2 * (1 + nu) - E) > FITS * E:
        # E and NU act in tension, bending and solids; G in torsion and transverse shear
        found["shear_ratio"] = G * 2 * (1 + nu) / E
    return _complete(found, f"MAT1 {integer_field(card, 0)}")


def sheet(card: Card) -> Section:
    """Declaration of a MAT2 card: plane stress moduli of shells, in the order xx, yy, xy.

    Transverse shear moduli are G33, since those of MID3 belong to the property.
    """
    plane = [real_field(card, k) for k in range(1, 7)]
    G11, G12, G13, G22, G23, G33 = plane
    C = np.diag([G11, G22, max(G11, G22), G33, G33, G33])
    C[0, 1], C[0, 5], C[1, 5] = G12, G13, G23
    return _anisotropic(card, C, real_field(card, 7))


def solid_anisotropic(card: Card) -> Section:
    """Declaration of a MAT9 card, whose order is xx, yy, zz, xy, yz, zx."""
    C = np.zeros((6, 6))
    C[np.triu_indices(6)] = [real_field(card, k) for k in range(1, 22)]
    C += np.triu(C, 1).T
    order = [0, 1, 2, 4, 5, 3]
    return _anisotropic(card, np.triu(C[np.ix_(order, order)]), real_field(card, 22))


def _anisotropic(card: Card, upper: Array, rho: float) -> Section:
    """Declaration of an anisotropic material from the upper half of C (6, 6)."""
    C = upper + np.triu(upper, 1).T
    found = {"kind": "anisotropic", "C": C.tolist(), "rho": rho}
    name = f"{card.name} {integer_field(card, 0)}"
    if not np.linalg.eigvalsh(C)[0] > 0:
        return {**found, "problem": f"{name}: its moduli are not positive definite"}
    return _complete(found, name)


def solid_orthotropic(card: Card) -> Section:
    """Declaration of a MAT11 card: three-dimensional orthotropic constants."""
    E, nu, G = ([real_field(card, k + j) for j in range(3)] for k in (1, 4, 7))
    found = {"kind": "orthotropic", "E": E, "nu": nu, "G": G, "rho": real_field(card, 10)}
    return _complete(found, f"MAT11 {integer_field(card, 0)}")


def orthotropic(card: Card) -> Section:
    """Declaration of an orthotropic material from a MAT8 card, in the plane of a ply.

    Across it only the shear moduli affect shells. Strengths Xt, Xc, Yt, Yc, S are used if they are
    stresses, without F12.
    """
    E1, E2, nu, G12, G1, G2, rho = (real_field(card, k) for k in range(1, 8))
    found = {
        "kind": "orthotropic",
        "E": [E1, E2, E2],
        "nu": [nu, 0.0, 0.0],
        "G": [G12, G1, G2],
        "rho": rho,
    }
    Xt, Xc, Yt, Yc, S = (real_field(card, k) for k in range(11, 16))
    if Xt and Yt and S and not (real_field(card, 17) or real_field(card, 18)):
        found["strengths"] = [Xt, Xc or Xt, Yt, Yc or Yt, S]
    if not (G1 and G2):  # rigid in transverse shear
        found["G"] = [G12, G1 or RIGID * G12, G2 or RIGID * G12]
    return _complete(found, f"MAT8 {integer_field(card, 0)}")


def _complete(found: Section, name: str) -> Section:
    """Declaration of a material; without density its value is left to the reader's caller."""
    return found if found["rho"] else {**found, "lacks": f"{name} has no RHO"}


MATERIALS: dict[str, Callable[[Card], Section]] = {
    "MAT1": isotropic,
    "MAT2": sheet,
    "MAT8": orthotropic,
    "MAT9": solid_anisotropic,
    "MAT11": solid_orthotropic,
}
