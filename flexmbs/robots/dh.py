"""Models of robots from Denavit–Hartenberg tables."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexmbs.api.model import Model
from flexmbs.declaration import NestedError, shown
from flexmbs.errors import InputError
from flexmbs.model.bodies import RigidBody
from flexmbs.model.frames import Frame, FrameRef
from flexmbs.model.joints import Prismatic, Revolute
from flexmbs.robots.links import Link

TOOL, BASE = "tool", "base"


def table_rows(table: Sequence[Any]) -> list[Link]:
    """Named links from table rows.

    Each is a `Link`, a mapping of its fields, or the numbers (a, alpha, d, theta); or from an array
    (n, 4).

    Raises `InputError`.
    """
    if isinstance(table, np.ndarray):
        table = list(np.atleast_1d(table))
    if isinstance(table, (str, Mapping)) or not isinstance(table, Sequence) or not table:
        raise InputError(
            "table: must be a list of rows (a, alpha, d, theta) or Link, at least one, "
            f"not {shown(table)}"
        )
    rows = [
        dataclasses.replace(row, name=row.name or f"link{i + 1}")
        for i, row in enumerate(map(_row, range(len(table)), table))
    ]
    names = [row.name for row in rows]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise InputError(f"table: the name '{double[0]}' is used in two rows; choose another one")
    return rows


def _row(i: int, row: Any) -> Link:
    """Link of row i of a table of Denavit–Hartenberg parameters. Raises `InputError`."""
    try:
        if isinstance(row, Link):
            return row
        if isinstance(row, Mapping):
            return Link.read(row)
        if isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str) and len(row) == 4:
            return Link.read(dict(zip(("a", "alpha", "d", "theta"), row)))
    except NestedError as error:
        raise InputError(*(f"table row {i + 1}: {problem}" for problem in error.problems)) from None
    raise InputError(
        f"table row {i + 1}: must be a Link, a table of its fields or the 4 numbers (a, "
        f"alpha, d, theta), not {shown(row)}"
    )


def joint_name(i: int) -> str:
    """Name of the joint of row i, counted from 0."""
    return f"joint{i + 1}"


def dh_model(
    rows: Sequence[Link],
    *,
    standard: bool,
    name: str,
    gravity: Sequence[float],
    base: Frame,
    tool: Frame,
) -> tuple[Model, FrameRef]:
    """Model of a chain from Denavit–Hartenberg rows, and its tool frame.

    The frame of body i is frame i of the table. Standard: A_{i−1,i} = Rot_z(θ) Trans_z(d)
    Trans_x(a) Rot_x(α), Denavit and Hartenberg, J. Appl. Mech. 22 (1955) 215; modified: Rot_x(α)
    Trans_x(a) Rot_z(θ) Trans_z(d), Craig, Robotics (1989) §3.4.
    """
    zero = Frame()
    # pose of the joint in the frame of the previous link
    before = [zero if standard else _x_part(row) for row in rows]
    after = [_product(_z_part(row), _x_part(row)) if standard else _z_part(row) for row in rows]
    model = Model(
        name, gravity=gravity, frames={BASE: base, joint_name(0): _product(base, before[0])}
    )
    parent: FrameRef = model.ground[joint_name(0)]
    for i, row in enumerate(rows):
        last = i == len(rows) - 1
        frames = {joint_name(i): _inverse(after[i])} | (
            {TOOL: tool} if last else {joint_name(i + 1): before[i + 1]}
        )
        body = model.add(
            RigidBody(row.name, mass=row.mass, com=row.com, inertia=row.inertia, frames=frames)
        )
        joint = Revolute if row.joint == "revolute" else Prismatic
        model.add(joint(joint_name(i), parent, body[joint_name(i)], axis="z"))
        parent = body[TOOL if last else joint_name(i + 1)]
    return model, parent


def _turn(axis: str, angle: float) -> Frame:
    """Frame rotated about an axis; exact at multiples of a right angle."""
    quarter = angle / (0.5 * math.pi)
    if quarter != round(quarter):
        return Frame(rotation=(axis, math.remainder(angle, 2.0 * math.pi)))
    R = np.array(Frame(rotation=(axis, math.remainder(angle, 2.0 * math.pi))).rotation)
    return Frame(rotation=np.round(R) + 0.0)


def _z_part(row: Link) -> Frame:
    """Frame of the offset d and angle θ along the z axis."""
    return Frame((0.0, 0.0, row.d), _turn("z", row.theta).rotation)


def _x_part(row: Link) -> Frame:
    """Frame of the length a and twist α along the x axis."""
    return Frame((row.a, 0.0, 0.0), _turn("x", row.alpha).rotation)


def _product(first: Frame, second: Frame) -> Frame:
    """Frame that results from two successive transformations."""
    R, S = np.array(first.rotation), np.array(second.rotation)
    return Frame(np.array(first.position) + R @ np.array(second.position), R @ S)


def _inverse(given: Frame) -> Frame:
    """Frame of the inverse transformation."""
    R = np.array(given.rotation)
    return Frame(-R.T @ np.array(given.position) + 0.0, R.T)
