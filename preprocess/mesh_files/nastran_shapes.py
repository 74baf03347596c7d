"""Sections of PBARL and PBEAML by their shape and dimensions, in the units of the file.

The y axis of a shape is upward in the figures of the source, z to the right. T2 is a T upside down, H and CHAN2 are I and channel
turned by a quarter, T1 a T turned by a quarter.

Source: MSC Nastran, Quick Reference Guide, PBARL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Section = dict[str, Any]
Dimensions = list[float]


OPEN = ("t", "channel", "angle")


class Shape(NamedTuple):
    """Number of dimensions; the section, None if it has no exact counterpart; quarter turns of its y axis from that of the
    element, about x."""

    size: int
    make: Callable[[Dimensions], Section | None]
    turns: int = 0


def _box(d: Dimensions) -> Section | None:
    """Width, height, and the thickness of the walls."""
    width, height, *walls = d
    return {"kind": "box", "height": height, "width": width, "thickness": walls[0]} if len(set(walls)) == 1 else None


def _i(d: Dimensions) -> Section | None:
    height, lower, upper, web, low, high = d
    return _doubly(height, lower, web, low) if lower == upper and low == high else None


def _doubly(height: float, width: float, web: float, flange: float) -> Section:
    return {"kind": "i", "height": height, "width": width, "web": web, "flange": flange}


def _h(d: Dimensions) -> Section:
    """Distance and twice the thickness of the upright flanges, height, thickness of the web."""
    between, both, height, web = d
    return _doubly(between + both, height, web, 0.5 * both)


def _t(width: float, height: float, flange: float, web: float) -> Section:
    return {"kind": "t", "height": height, "width": width, "web": web, "flange": flange}


def _channel(height: float, width: float, web: float, flange: float) -> Section:
    return {"kind": "channel", "height": height, "width": width, "web": web, "flange": flange}


def _angle(d: Dimensions) -> Section | None:
    width, height, flat, upright = d
    return {"kind": "angle", "height": height, "width": width, "thickness": flat} if flat == upright else None


SHAPES: dict[str, Shape] = {
    "ROD": Shape(1, lambda d: {"kind": "circular", "diameter": 2 * d[0]}),
    "TUBE": Shape(2, lambda d: {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[0] - d[1]}),
    "TUBE2": Shape(2, lambda d: {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[1]}),
    "BAR": Shape(2, lambda d: {"kind": "rectangular", "width": d[0], "height": d[1]}),
    "BOX": Shape(4, _box),
    "BOX1": Shape(6, _box),
    "I": Shape(6, _i),
    "I1": Shape(4, lambda d: _doubly(d[3], d[0] + d[1], d[1], 0.5 * (d[3] - d[2]))),
    "H": Shape(4, _h, turns=1),
    "T": Shape(4, lambda d: _t(d[0], d[1], d[2], d[3])),
    "T1": Shape(4, lambda d: _t(d[0], d[1] + d[2], d[2], d[3]), turns=1),
    "T2": Shape(4, lambda d: _t(d[0], d[1], d[2], d[3]), turns=2),
    "CHAN": Shape(4, lambda d: _channel(d[1], d[0], d[2], d[3])),
    "CHAN1": Shape(4, lambda d: _channel(d[3], d[0] + d[1], d[1], 0.5 * (d[3] - d[2]))),
    "CHAN2": Shape(4, lambda d: _channel(d[3], d[2], d[1], d[0]), turns=3),
    "L": Shape(4, _angle),
}


def to_shear_centre(section: Section) -> list[float]:
    """Place of the shear centre from the centroid, along and across the section's y axis, of thin walls."""
    if section["kind"] == "t":
        width, height, web, flange = (section[key] for key in ("width", "height", "web", "flange"))
        stem = (height - flange) * web
        return [stem * 0.5 * height / (stem + width * flange), 0.0]
    if section["kind"] == "channel":
        height, width, web, flange = (section[key] for key in ("height", "width", "web", "flange"))
        h, b = height - flange, width - 0.5 * web  # of the middle lines
        legs = 2 * flange * (width - web)
        centroid = (height * web * 0.5 * web + legs * 0.5 * (width + web)) / (height * web + legs)
        return [0.0, 0.5 * web - 3 * b**2 * flange / (6 * b * flange + h * web) - centroid]
    if section["kind"] == "angle":
        height, width, t = (section[key] for key in ("height", "width", "thickness"))
        area = t * (height + width - t)
        y = (height * t * 0.5 * height + (width - t) * t * 0.5 * t) / area
        z = (width * t * 0.5 * width + (height - t) * t * 0.5 * t) / area
        return [0.5 * t - y, 0.5 * t - z]
    return [0.0, 0.0]
