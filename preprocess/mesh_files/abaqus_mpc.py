"""Equations, plane and straight constraints of Abaqus and CalculiX files, as linear equations.

    PLANE       n·(u_i − Σ w_k u_k) = 0,  x_i = Σ w_k x_k of the first three nodes, n the normal of their plane
    STRAIGHT    the same with the first two nodes, along two directions across their line

for small displacements. MEANROT and DIST limit or define a motion and are no constraints. The
components of nodes with a *TRANSFORM are along its axes.

Source: CalculiX CrunchiX User's Manual, *EQUATION, *MPC, *TRANSFORM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from preprocess.mesh.declarations import Items
from preprocess.mesh.rigid_motion import solved_directions
from preprocess.mesh_files.abaqus_assembly import AbaqusContent, Rows
from preprocess.mesh_files.abaqus_blocks import error_at
from preprocess.mesh_files.abaqus_fields import fields, integer, real, reals
from preprocess.mesh_files.abaqus_surfaces import same_name
from preprocess.mesh_files.rotated_equations import TINY, Terms, rotated_terms

Array = NDArray[np.float64]
FREE = ("MEANROT", "DIST", "GAP")  # they constrain no motion of a free body


@dataclass
class EquationCards:
    """Data lines of *EQUATION, *MPC and *TRANSFORM.

    Equations: their terms and location; lines of *MPC: kind, nodes or sets, location; *TRANSFORM:
    set, type, values, location.
    """

    equations: list[tuple[Terms, str]] = field(default_factory=list)
    lines: list[tuple[str, list[str], str]] = field(default_factory=list)
    transforms: list[tuple[str, str, list[float], str]] = field(default_factory=list)

    KEYWORDS: ClassVar = ("EQUATION", "MPC", "TRANSFORM")

    def add(self, keyword: str, options: Mapping[str, str], line: str, rows: Rows) -> None:
        """Add a keyword block. Raises InputError with the line for anything unsupported."""
        if keyword == "TRANSFORM":
            values = reals(*rows[0]) if rows else []
            if len(values) != 6 or not options.get("NSET"):
                raise error_at(line, "*TRANSFORM needs NSET= and two points, six coordinates")
            kind = options.get("TYPE", "R").upper()[:1]
            a, b = np.array(values).reshape(2, 3)
            size = np.linalg.norm(np.cross(a, b) if kind == "R" else b - a)
            if kind not in ("R", "C") or not size > 0:
                raise error_at(
                    line,
                    f"*TRANSFORM, TYPE={kind}: give R, with two points not on one line "
                    "with the origin, or C",
                )
            self.transforms.append((options["NSET"], kind, values, line))
        elif keyword == "MPC":
            given = fields(rows)
            if not given:
                raise error_at(line, "*MPC has no data")
            kind = given[0][1].upper()
            if kind not in (*FREE, "PLANE", "STRAIGHT"):
                raise error_at(
                    given[0][0],
                    f"*MPC {kind} is not supported; use PLANE, STRAIGHT, or a connection in Python",
                )
            self.lines.append((kind, [text for _, text in given[1:]], given[0][0]))
        else:
            self._add_equations(line, rows)

    def _add_equations(self, line: str, rows: Rows) -> None:
        """Add equations: each a number of terms and as many triples of node, component, factor."""
        numbers = fields(rows)
        place = 0
        while place < len(numbers):
            where, count = numbers[place][0], integer(*numbers[place])
            terms = numbers[place + 1 : place + 1 + 3 * count]
            if count < 1 or len(terms) < 3 * count:
                raise error_at(
                    where,
                    f"*EQUATION: expected {max(count, 1)} terms of node, component and factor",
                )
            triples = [terms[k : k + 3] for k in range(0, 3 * count, 3)]
            self.equations.append(
                (
                    [
                        (integer(*node), integer(*part), real(*factor))
                        for node, part, factor in triples
                    ],
                    where,
                )
            )
            place += 1 + 3 * count

    def declared(
        self, reading: AbaqusContent, surfaces: Mapping[str, str]
    ) -> tuple[Items, dict[str, list[int]]]:
        """Declarations of the constraint equations by name.

        Those of one term hold a degree of freedom and are kept.
        """
        axes = self._axes(reading)
        found = [rotated_terms(terms, axes) for terms, _ in self.equations]
        for kind, names, where in self.lines:
            if kind not in FREE:
                found += _aligned(reading, kind, _numbers(reading, names, where), where)
        return {
            f"equation {k}": {"kind": "equation", "terms": terms}
            for k, terms in enumerate(found, 1)
        }, {}

    def _axes(self, reading: AbaqusContent) -> dict[int, Array]:
        """Axes as rows (3, 3) of nodes with a *TRANSFORM."""
        found: dict[int, Array] = {}
        for name, kind, values, line in self.transforms:
            a, b = np.array(values[:3]), np.array(values[3:])
            chosen = same_name(reading.node_sets, name)
            if chosen is None:
                raise error_at(line, f"*TRANSFORM: node set '{name}' does not exist")
            for node in reading.node_sets[chosen]:
                if node in reading.nodes:
                    found[node] = (
                        _cylindrical(np.array(reading.nodes[node]), a, b)
                        if kind == "C"
                        else _rectangular(a, b)
                    )
        return found


def _rectangular(a: Array, b: Array) -> Array:
    """Axes through the points a, on the first axis, and b, in the plane of the first two."""
    third = np.cross(a, b)
    rows = np.stack([a, np.cross(third, a), third])
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])


def _cylindrical(x: Array, a: Array, b: Array) -> Array:
    """Radial, circumferential and axial direction at x about the axis from a to b."""
    axis = (b - a) / np.linalg.norm(b - a)
    radius = x - a - axis * float(axis @ (x - a))
    size = float(np.linalg.norm(radius))
    radial = radius / size if size > 0 else np.eye(3)[np.abs(axis).argmin()]
    return np.stack([radial, np.cross(axis, radial), axis])


def _numbers(reading: AbaqusContent, names: Sequence[str], where: str) -> list[int]:
    """Node numbers of names of sets or numbers, each once."""
    found: list[int] = []
    for name in names:
        chosen = same_name(reading.node_sets, name)
        found += reading.node_sets[chosen] if chosen else [integer(where, name)]
    return list(dict.fromkeys(found))


def _aligned(reading: AbaqusContent, kind: str, numbers: list[int], where: str) -> list[Terms]:
    """Equations that keep nodes in a plane or on a line."""
    count = 3 if kind == "PLANE" else 2
    if len(numbers) <= count or any(number not in reading.nodes for number in numbers):
        raise error_at(where, f"*MPC {kind} needs more than {count} nodes, which exist")
    x = np.array([reading.nodes[number] for number in numbers])
    edges = x[1:count] - x[0]
    size = float(np.abs(edges).max())
    if np.linalg.matrix_rank(edges, tol=1e-9 * size) < count - 1:
        raise error_at(
            where, f"*MPC {kind}: its first {count} nodes do not define it; give others first"
        )
    directions = np.linalg.svd(edges)[2][count - 1 :]
    found = []
    for number, place in zip(numbers[count:], x[count:]):
        weights = np.linalg.lstsq(edges.T, place - x[0], rcond=None)[0]
        shares = [1.0 - float(weights.sum()), *map(float, weights)]
        for k, n in solved_directions(directions):
            terms = [
                (number, k + 1, float(n[k])),
                *((number, c + 1, float(n[c])) for c in range(3) if c != k and abs(n[c]) > TINY),
            ]
            for node, share in zip(numbers, shares):
                terms += [
                    (node, c + 1, -share * float(n[c]))
                    for c in range(3)
                    if abs(share * n[c]) > TINY
                ]
            found.append(terms)
    return found
