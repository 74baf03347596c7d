"""Sections of PBARL and PBEAML from shape and dimensions, in the units of the file.

The y axis of a shape points upward in the figures of the source, z to the right. T2 is an inverted
T, H and CHAN2 are I and channel rotated by 90°, T1 a T rotated by 90°.

Source: MSC Nastran, Quick Reference Guide, PBARL.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

Section = dict[str, Any]
Dimensions = list[float]
Point = tuple[float, float]


OPEN = ("t", "channel", "angle", "walled")


class NastranShape(NamedTuple):
    """Number of dimensions of a shape, its section and the angle of the section.

    The angle about x is measured from the y axis of the element [degrees].
    """

    size: int
    make: Callable[[Dimensions], Section]
    turn: float = 0.0


def box(
    width: float, height: float, top: float, bottom: float, right: float, left: float
) -> Section:
    """Declaration of a box section of outer width and height with four wall thicknesses."""
    if top == bottom == right == left:
        return {"kind": "box", "height": height, "width": width, "thickness": top}
    y, z = (0.5 * bottom, height - 0.5 * top), (0.5 * left, width - 0.5 * right)
    corners = [(y[0], z[0]), (y[1], z[0]), (y[1], z[1]), (y[0], z[1]), (y[0], z[0])]
    walls = [[*p, *q, t] for (p, q), t in zip(pairwise(corners), (left, top, right, bottom))]
    rows = [[0.0, 0.0, height, left], [0.0, width - right, height, width]]
    rows += [[0.0, left, bottom, width - right], [height - top, left, height, width - right]]
    return {"kind": "walled", "walls": walls, "rectangles": rows}


def i_section(
    height: float, lower: float, upper: float, web: float, low: float, high: float
) -> Section:
    """Declaration of an I section with two different flanges; T if one of them is missing."""
    if lower == upper and low == high:
        return _doubly(height, lower, web, low)
    a, b = 0.5 * low, height - 0.5 * high
    walls = [[a, s * 0.5 * lower, a, 0.0, low] for s in (-1, 1)] + [[a, 0.0, b, 0.0, web]]
    walls += [[b, 0.0, b, s * 0.5 * upper, high] for s in (-1, 1)]
    rows = [[0.0, -0.5 * lower, low, 0.5 * lower], [low, -0.5 * web, height - high, 0.5 * web]]
    return {
        "kind": "walled",
        "walls": walls,
        "rectangles": [*rows, [height - high, -0.5 * upper, height, 0.5 * upper]],
    }


def _doubly(height: float, width: float, web: float, flange: float) -> Section:
    """Declaration of a doubly symmetric I section."""
    return {"kind": "i", "height": height, "width": width, "web": web, "flange": flange}


def _h(d: Dimensions) -> Section:
    """Declaration of an H section from the dimensions of a Nastran card.

    Clear distance and twice the thickness of the upright flanges, height, thickness of the web.
    """
    between, both, height, web = d
    return _doubly(between + both, height, web, 0.5 * both)


def _t(width: float, height: float, flange: float, web: float) -> Section:
    """Declaration of a T section."""
    return {"kind": "t", "height": height, "width": width, "web": web, "flange": flange}


def _channel(height: float, width: float, web: float, flange: float) -> Section:
    """Declaration of a channel section."""
    return {"kind": "channel", "height": height, "width": width, "web": web, "flange": flange}


def angle(height: float, width: float, upright: float, flat: float) -> Section:
    """Declaration of an angle section with legs of two thicknesses."""
    own = {} if flat == upright else {"flat": flat}
    return {"kind": "angle", "height": height, "width": width, "thickness": upright, **own}


def _hat(d: Dimensions) -> Section:
    """Declaration of a hat section from the dimensions of a Nastran card."""
    height, t, width, brim = d
    m, z = 0.5 * t, 0.5 * (width - t)
    line = [
        (m, -z - m - brim),
        (m, -z),
        (height - m, -z),
        (height - m, z),
        (m, z),
        (m, z + m + brim),
    ]
    rows = [
        [
            0.0,
            s * (0.5 * width + 0.5 * brim) - 0.5 * brim,
            t,
            s * (0.5 * width + 0.5 * brim) + 0.5 * brim,
        ]
        for s in (-1, 1)
    ]
    rows += [[0.0, s * z - m, height, s * z + m] for s in (-1, 1)] + [
        [height - t, m - z, height, z - m]
    ]
    return _line(line, t, rows)


def _hat_on_plate(d: Dimensions) -> Section:
    """Declaration of a hat on a plate from the dimensions of a Nastran card."""
    width, height, top, t, plate = d
    b, z, y = 0.5 * width, 0.5 * (top - t), 0.5 * plate
    walls = [[y, -z, y, z, plate], [height - 0.5 * t, -z, height - 0.5 * t, z, t]]
    walls += [
        wall
        for s in (-1, 1)
        for wall in ([y, s * z, height - 0.5 * t, s * z, t], [y, s * b, y, s * z, plate + t])
    ]
    rows = [[0.0, -b, plate, b], [height - t, -0.5 * top, height, 0.5 * top]]
    rows += [[plate, a, plate + t, c] for a, c in ((-b, -0.5 * top), (0.5 * top, b))]
    rows += [[plate, s * z - 0.5 * t, height - t, s * z + 0.5 * t] for s in (-1, 1)]
    return {"kind": "walled", "walls": walls, "rectangles": rows}


def _two_cells(d: Dimensions) -> Section:
    """Declaration of a two-cell box section from the dimensions of a Nastran card.

    Width, height, position of the middle web; thicknesses of the webs, of top and bottom on the
    left, of those on the right.
    """
    width, height, place, *webs = d[:6]
    tops, feet = (d[6], d[8]), (d[7], d[9])
    z, y = (
        (0.5 * webs[0], place, width - 0.5 * webs[2]),
        (0.25 * sum(feet), height - 0.25 * sum(tops)),
    )
    walls = [[y[0], at, y[1], at, t] for at, t in zip(z, webs)]
    walls += [
        [at, a, at, b, t]
        for at, both in zip(y, (feet, tops))
        for (a, b), t in zip(pairwise(z), both)
    ]
    ends = [0.0, webs[0], place - 0.5 * webs[1], place + 0.5 * webs[1], width - webs[2], width]
    rows = [[0.0, ends[k], height, ends[k + 1]] for k in (0, 2, 4)]
    for a, b, top, foot in zip(ends[1::2], ends[2::2], tops, feet):
        rows += [[0.0, a, foot, b], [height - top, a, height, b]]
    return {"kind": "walled", "walls": walls, "rectangles": rows}


def _z(d: Dimensions) -> Section:
    """Declaration of a Z section from the dimensions of a Nastran card.

    Width of each flange beside the web, thickness of the web, clear height between the flanges and
    overall height; upper flange to the left.
    """
    flange, web, between, height = d
    t, m = 0.5 * (height - between), 0.5 * web
    walls = [[0.5 * t, m + flange, 0.5 * t, 0.0, t], [0.5 * t, 0.0, height - 0.5 * t, 0.0, web]]
    walls.append([height - 0.5 * t, 0.0, height - 0.5 * t, -m - flange, t])
    rows = [[0.0, -m, height, m], [0.0, m, t, m + flange], [height - t, -m - flange, height, -m]]
    return {"kind": "walled", "walls": walls, "rectangles": rows}


def _cross(d: Dimensions) -> Section:
    """Declaration of a cross section of cross shape from the dimensions of a Nastran card."""
    arms, upright, height, flat = d
    y, m, z = 0.5 * height, 0.5 * upright, 0.5 * (arms + upright)
    walls = [
        [0.0, 0.0, *end, t]
        for end, t in (
            ((-y, 0.0), upright),
            ((y, 0.0), upright),
            ((0.0, -z), flat),
            ((0.0, z), flat),
        )
    ]
    rows = [[-y, -m, y, m], [-0.5 * flat, m, 0.5 * flat, z], [-0.5 * flat, -z, 0.5 * flat, -m]]
    return {"kind": "walled", "walls": walls, "rectangles": rows}


def _line(points: list[Point], t: float, rows: list[list[float]]) -> Section:
    """Declaration of a walled section along a polyline of constant thickness."""
    return {
        "kind": "walled",
        "walls": [[*p, *q, t] for p, q in pairwise(points)],
        "rectangles": rows,
    }


SHAPES: dict[str, NastranShape] = {
    "ROD": NastranShape(1, lambda d: {"kind": "circular", "diameter": 2 * d[0]}),
    "TUBE": NastranShape(
        2, lambda d: {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[0] - d[1]}
    ),
    "TUBE2": NastranShape(
        2, lambda d: {"kind": "tubular", "diameter": 2 * d[0], "thickness": d[1]}
    ),
    "BAR": NastranShape(2, lambda d: {"kind": "rectangular", "width": d[0], "height": d[1]}),
    "BOX": NastranShape(4, lambda d: box(d[0], d[1], d[2], d[2], d[3], d[3])),
    "BOX1": NastranShape(6, lambda d: box(*d)),
    "I": NastranShape(6, lambda d: i_section(*d)),
    "I1": NastranShape(4, lambda d: _doubly(d[3], d[0] + d[1], d[1], 0.5 * (d[3] - d[2]))),
    "H": NastranShape(4, _h, turn=90.0),
    "T": NastranShape(4, lambda d: _t(d[0], d[1], d[2], d[3])),
    "T1": NastranShape(4, lambda d: _t(d[0], d[1] + d[2], d[2], d[3]), turn=90.0),
    "T2": NastranShape(4, lambda d: _t(d[0], d[1], d[2], d[3]), turn=180.0),
    "CHAN": NastranShape(4, lambda d: _channel(d[1], d[0], d[2], d[3])),
    "CHAN1": NastranShape(4, lambda d: _channel(d[3], d[0] + d[1], d[1], 0.5 * (d[3] - d[2]))),
    "CHAN2": NastranShape(4, lambda d: _channel(d[3], d[2], d[1], d[0]), turn=270.0),
    "L": NastranShape(4, lambda d: angle(d[1], d[0], d[3], d[2])),
    "CROSS": NastranShape(4, _cross),
    "DBOX": NastranShape(10, _two_cells),
    "HAT": NastranShape(4, _hat),
    "HAT1": NastranShape(5, _hat_on_plate),
    "Z": NastranShape(4, _z),
}
