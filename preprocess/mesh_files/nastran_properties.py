"""Properties and materials of Nastran bulk data, as declarations of a part file in the units of the file.

Source: MSC Nastran, Quick Reference Guide, the entries named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flexmbs.errors import InputError
from preprocess.mesh_files.nastran_cards import Card, integer_field, real_field, text_field

ROUNDED, SHEAR = 1e-6, 5 / 6  # of 12I/T³, and TS/T of a plate
FITS = 0.01  # of G to E and ν
Section = dict[str, Any]


@dataclass
class Property:
    """A section, None of solids, and the number of its material; of laminates those of the plies."""

    section: Section | None
    material: int
    plies: list[int] = field(default_factory=list)


def _refused(card: Card, what: str) -> InputError:
    return InputError(f"{card.line}: {card.name} {integer_field(card, 0)}: {what}")


def _no(card: Card, fields: dict[int, str]) -> None:
    """Raise InputError for fields that are given."""
    given = [name for index, name in fields.items() if real_field(card, index)]
    if given:
        raise _refused(card, f"{' and '.join(given)} not supported; give zero")


def _solid(card: Card) -> Property:
    return Property(None, integer_field(card, 1, 0))


def _shell(card: Card) -> Property:
    bending, shear = real_field(card, 4) or 1.0, real_field(card, 6) or SHEAR
    material = text_field(card, 1)
    plain = text_field(card, 3) == material and text_field(card, 5) in ("", "0", material) and not text_field(card, 10)
    if not plain or abs(bending - 1) > ROUNDED or abs(shear - SHEAR) > 1e-3:
        what = "give MID2 = MID3 = MID1, no MID4, and 12I/T³, TS/T as of a plate"
        raise _refused(card, f"only plates of one material are supported; {what}")
    if real_field(card, 7):
        raise _refused(card, "non-structural mass is not supported; attach it as PointMass")
    return Property({"kind": "shell", "thickness": real_field(card, 2)}, integer_field(card, 1, 0))


def _laminate(card: Card) -> Property:
    """PCOMP: Z0, NSM, …, LAM, then material, thickness and angle of each ply, from the bottom."""
    if real_field(card, 2):
        raise _refused(card, "non-structural mass is not supported; attach it as PointMass")
    kind = text_field(card, 7).upper()
    if kind not in ("", "SYM"):
        raise _refused(card, f"LAM = {kind} is not supported; give all plies, or SYM")
    plies, materials = list[list[float]](), list[int]()
    for k in range(8, len(card.fields), 4):
        if not any(text_field(card, k + j) for j in range(4)):
            continue
        materials.append(integer_field(card, k, materials[-1] if materials else 0))
        plies.append([real_field(card, k + 1) or (plies[-1][0] if plies else 0.0), real_field(card, k + 2)])
    if not plies:
        raise _refused(card, "has no plies; give material, thickness and angle of each")
    if kind == "SYM":
        plies, materials = plies + plies[::-1], materials + materials[::-1]
    height = sum(thickness for thickness, _ in plies)
    offset = real_field(card, 1) + 0.5 * height if text_field(card, 1) else 0.0
    return Property({"kind": "laminate", "plies": plies, "offset": offset}, materials[0], materials)


def _bar(card: Card) -> Property:
    _no(card, {6: "NSM", 18: "I12"})
    area, I1, I2, J = (real_field(card, k) for k in range(2, 6))
    return _general(card, area, I1, I2, J, (real_field(card, 16), real_field(card, 17)))


def _general(card: Card, area: float, I1: float, I2: float, J: float, shear: tuple[float, float]) -> Property:
    """PBAR and PBEAM; their stress is that at the corners of the rectangle about the points C to F."""
    y, z = (max(abs(real_field(card, k)) for k in range(first, 16, 2)) for first in (8, 9))
    size = {key: 2 * reach for key, reach in (("height", y), ("width", z)) if reach}
    section = {"kind": "general", "area": area, "Iy": I2, "Iz": I1, "J": J, "shear": shear, **size}
    return Property(section, integer_field(card, 1, 0))


def _beam(card: Card) -> Property:
    """PBEAM of one section: further stations repeat it; shear coefficients are one where they are blank."""
    _no(card, {5: "I12", 7: "NSM"})
    own, k = [real_field(card, j) for j in (2, 3, 4, 6)], 16
    while text_field(card, k).upper() in ("YES", "YESA", "NO"):
        there = [real_field(card, k + j) for j in (2, 3, 4, 6)]
        if any(value and abs(value - first) > ROUNDED * abs(first) for value, first in zip(there, own)):
            raise _refused(card, "tapered beams are not supported; divide them into elements of one section")
        _no(card, {k + 5: "I12", k + 7: "NSM"})
        k += 16 if text_field(card, k).upper() == "YES" else 8
    _no(card, {k + j: name for j, name in enumerate(("NSI(A)", "NSI(B)", "CW(A)", "CW(B)"), 4)})
    _no(card, {k + j: name for j, name in enumerate(("M1(A)", "M2(A)", "M1(B)", "M2(B)", "N1(A)", "N2(A)", "N1(B)", "N2(B)"), 8)})
    shear = tuple(real_field(card, k + j) if text_field(card, k + j) else 1.0 for j in (0, 1))
    return _general(card, own[0], own[1], own[2], own[3], (shear[0], shear[1]))


def _rod(card: Card) -> Property:
    _no(card, {3: "J", 5: "NSM"})
    return Property({"kind": "truss", "area": real_field(card, 2)}, integer_field(card, 1, 0))


def _shaped(card: Card) -> Property:
    """PBARL and PBEAML with their dimensions."""
    shape = text_field(card, 3).upper()
    if shape not in SHAPES:
        raise _refused(card, f"section {shape} is not supported; use {', '.join(SHAPES)}")
    count, make = SHAPES[shape]
    dimensions = [real_field(card, 8 + k) for k in range(count)]
    section = make(dimensions)
    if section is None or real_field(card, 8 + count):
        raise _refused(card, "only doubly symmetric sections and T without NSM; use PBAR")
    if shape == "T" and card.name.upper().startswith("PBEAML"):  # its shear centre is on the line between the grids
        section["offset"] = [-_shear_centre_of_t(dimensions), 0.0]
    if any(text_field(card, k) for k in range(9 + count, len(card.fields))):
        raise _refused(card, "tapered beams are not supported; divide them into elements of one section")
    return Property(section, integer_field(card, 1, 0))


def _box(d: list[float]) -> Section | None:
    width, height, flange, web = d
    return {"kind": "box", "height": height, "width": width, "thickness": web} if flange == web else None


def _i(d: list[float]) -> Section | None:
    height, lower, upper, web, low, high = d
    same = lower == upper and low == high
    return {"kind": "i", "height": height, "width": lower, "web": web, "flange": low} if same else None


def _t(d: list[float]) -> Section:
    width, height, flange, web = d
    return {"kind": "t", "height": height, "width": width, "web": web, "flange": flange}


def _shear_centre_of_t(d: list[float]) -> float:
    """Its height above the centroid."""
    width, height, flange, web = d
    stem = (height - flange) * web
    return stem * 0.5 * height / (stem + width * flange)


SHAPES: dict[str, tuple[int, Callable[[list[float]], Section | None]]] = {
    "ROD": (1, lambda d: {"kind": "circular", "diameter": 2 * d[0]}),
    "TUBE": (2, lambda d: {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[0] - d[1]}),
    "BAR": (2, lambda d: {"kind": "rectangular", "width": d[0], "height": d[1]}),
    "BOX": (4, _box),
    "I": (6, _i),
    "T": (4, _t),
}
PROPERTIES: dict[str, Callable[[Card], Property]] = {
    "PSOLID": _solid, "PSHELL": _shell, "PCOMP": _laminate, "PBAR": _bar, "PBARL": _shaped, "PBEAM": _beam, "PBEAML": _shaped,
    "PROD": _rod,
}  # fmt: skip


def isotropic(card: Card) -> Section:
    """MAT1: two of E, G and ν, and ρ."""
    E, G, nu = (real_field(card, k) for k in (1, 2, 3))
    if not text_field(card, 3) and G:
        nu = 0.5 * E / G - 1 if E else 0.0
    E = E or 2 * G * (1 + nu)
    found = {"kind": "isotropic", "E": E, "nu": nu, "rho": real_field(card, 4)}
    if G and abs(G * 2 * (1 + nu) - E) > FITS * E:
        return {**found, "problem": f"MAT1 {integer_field(card, 0)}: E, G and NU are not those of an isotropic material"}
    return _complete(found, f"MAT1 {integer_field(card, 0)}")


def orthotropic(card: Card) -> Section:
    """MAT8: in the plane of a ply; across it only the shear moduli have an effect on shells. Strengths Xt, Xc, Yt, Yc, S count
    where they are stresses, without F12."""
    E1, E2, nu, G12, G1, G2, rho = (real_field(card, k) for k in range(1, 8))
    found = {"kind": "orthotropic", "E": [E1, E2, E2], "nu": [nu, 0.0, 0.0], "G": [G12, G1, G2], "rho": rho}
    Xt, Xc, Yt, Yc, S = (real_field(card, k) for k in range(11, 16))
    if Xt and Yt and S and not (real_field(card, 17) or real_field(card, 18)):
        found["strengths"] = [Xt, Xc or Xt, Yt, Yc or Yt, S]
    if not (G1 and G2):
        return {**found, "problem": f"MAT8 {integer_field(card, 0)} has no G1Z or G2Z"}
    return _complete(found, f"MAT8 {integer_field(card, 0)}")


def _complete(found: Section, name: str) -> Section:
    return found if found["rho"] else {**found, "problem": f"{name} has no RHO"}


MATERIALS: dict[str, Callable[[Card], Section]] = {"MAT1": isotropic, "MAT8": orthotropic}
