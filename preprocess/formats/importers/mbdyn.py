"""Importer of modal data of MBDyn (.fem).

Record groups of nodes, shapes, modal matrices, rigid-body inertia and inertia invariants:

    ** RECORD GROUP 1, HEADER …                  REV NODES NORMAL ATTACHMENT CONSTRAINT REJECTED
    2 labels · 5, 6, 7 positions · 8 shapes (per mode and node 3 translations, 3 rotations) · 9 mass · 10 stiffness
    11 lumped masses (6 per node) · 12 mass, centre of mass, inertia about it · 13 damping
    14 … 18 invariants 3, 4, 8, 5, 9 · 19 stress stiffening

The shape integrals are taken from groups 12, 14 … 18 if present, otherwise from the lumped masses
of group 11. Source: MBDyn Input File Format Manual, appendix "Modal element data".
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import (
    FloatArray,
    GeometricStiffness,
    IntArray,
    x_cross_shapes,
)
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.shape_integrals import ShapeIntegrals, second_moment
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.raw_body import BodyNodes, RawBody, checked_body
from preprocess.formats.inertia_invariants import invariant_5, moments_of_shapes, shape_products
from preprocess.inputs.number_parsing import content, integers, numbers

PRINTED = 1e-6  # relative agreement of repeated data; programs write seven or more digits
_GROUP = re.compile(
    rb"^[ \t]*\*\*[ \t]*RECORD GROUP[ \t]+(\d{1,3})\b.*$", re.MULTILINE | re.IGNORECASE
)
_COMMENT = re.compile(rb"^[ \t]*\*\*.*$", re.MULTILINE)
_NODE_SET = re.compile(rb'^[ \t]*\*\*[ \t]*NODE SET[ \t]+(".*")[ \t]*\r?$', re.MULTILINE)


class MBDynImporter(Importer):
    """Modal data file of MBDyn."""

    kind = "mbdyn"
    suffixes = (".fem",)

    def read(self, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
        """Flexible body from a modal file of MBDyn."""
        groups = _Groups(
            request.path, content(request.path, "record groups of an MBDyn modal data file")
        )
        nodes = _nodes(groups)
        origin = _origin(groups, nodes, report)
        nodes = nodes._replace(positions=nodes.positions - origin)
        M, K = groups.square(9), groups.square(10)
        D = groups.square(13) if 13 in groups.texts else np.zeros_like(K)
        integrals = (
            _integrals_of_invariants(groups, origin, report)
            if 18 in groups.texts
            else _integrals_of_lumped_masses(groups, nodes, report)
        )
        given, own = M, np.einsum("aaij->ij", integrals.SS)
        error = float(
            np.abs(given - own).max(initial=0.0) / max(np.abs(given).max(initial=0.0), 1e-300)
        )
        report.check(error < PRINTED, f"group 9 (modal mass) = Σ ∫φ_aᵀφ_a dm ({error:.2g})")
        names = groups.names() if request.frames is None else None
        wanted = nodes.wanted(
            dict(zip(names, nodes.ids.tolist())) if names else request.frames, report
        )
        frames = nodes.frames(wanted)
        geometric = _stiffening(groups, wanted, report) if 19 in groups.texts else None
        raw = RawBody(request.path.stem or "body", integrals, K, D, frames, geometric=geometric)
        return checked_body(raw, request, report)


class _Groups:
    """Texts of the record groups; sizes from the header."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Record groups of a modal file by number. Raises `InputError`."""
        self.path = path
        marks = list(_GROUP.finditer(data))
        if not marks or int(marks[0].group(1)) != 1:
            raise InputError(
                f"{path}: does not start with RECORD GROUP 1; it is not a modal data file of MBDyn"
            )
        ends = [mark.start() for mark in marks[1:]] + [len(data)]
        self.texts = {
            int(mark.group(1)): _COMMENT.sub(b"", data[mark.end() : end])
            for mark, end in zip(marks, ends)
        }
        self._set = _NODE_SET.search(data[: marks[0].start()])
        words = self.texts[1].split()
        if len(words) != 6 or not all(re.fullmatch(rb"\d{1,7}", word) for word in words[1:]):
            raise InputError(
                f"{path}: group 1 must be a revision and five counts; found "
                f"{b' '.join(words)[:60].decode(errors='replace')!r}"
            )
        self.nodes = int(words[1])
        self.modes = int(words[2]) + int(words[3])

    def values(self, group: int, *shape: int) -> FloatArray:
        """Numbers of a record group as an array of a shape. Raises InputError.

        Raises InputError unless their count fits the shape.
        """
        if group not in self.texts:
            raise InputError(
                f"{self.path}: has no record group {group}; export it with "
                f"{_CONTENT.get(group, 'that group')}"
            )
        found = numbers(self.texts[group], f"{self.path}: group {group}")
        needed = int(np.prod([int(size) for size in shape], dtype=object))
        if found.size != needed:
            raise InputError(
                f"{self.path}: group {group} has {found.size} numbers; {self.nodes} nodes "
                f"and {self.modes} modes need {needed}"
            )
        return found.reshape(shape)

    def square(self, group: int) -> FloatArray:
        """Square matrix (modes, modes) of a record group."""
        return self.values(group, self.modes, self.modes)

    def names(self) -> list[str] | None:
        """Names of the nodes in the line ** NODE SET "hub", "tip", if every node has one."""
        listed = re.findall(rb'"([^"]+)"', self._set.group(1)) if self._set else []
        names = [name.decode("utf-8", errors="replace") for name in listed]
        return names if len(names) == self.nodes == len(set(names)) and names != ["ALL"] else None


_CONTENT = {
    5: "nodal positions",
    8: "mode shapes",
    9: "the modal mass",
    10: "the modal stiffness",
    12: "the rigid-body inertia",
}


def _nodes(groups: _Groups) -> BodyNodes:
    """Nodes of the file with positions and shapes."""
    ids = integers(groups.values(2, groups.nodes), f"{groups.path}: group 2", "node label")
    positions = np.stack([groups.values(axis, groups.nodes) for axis in (5, 6, 7)], axis=1)
    shapes = groups.values(8, groups.modes, groups.nodes, 6).transpose(1, 2, 0)
    return BodyNodes(ids, positions, shapes[:, :3], shapes[:, 3:])


def _origin(groups: _Groups, nodes: BodyNodes, report: ImportReport) -> FloatArray:
    """Reference point (3,) of the invariants.

    The modal node, if the first node is fixed and nodes are unnamed, otherwise zero.
    """
    clamped = groups.nodes > 0 and all(
        np.abs(shapes[0]).max(initial=0.0) <= 1e-9 * np.abs(shapes).max(initial=0.0)
        for shapes in (nodes.phi, nodes.psi)
    )
    if (
        18 not in groups.texts
        or groups.names() is not None
        or not clamped
        or not nodes.positions[0].any()
    ):
        return np.zeros(3)
    report.found(
        f"the first node, {nodes.ids[0]}, is fixed: it is the modal node, the reference "
        "of the invariants"
    )
    return np.asarray(nodes.positions[0])


def _integrals_of_invariants(
    groups: _Groups, origin: FloatArray, report: ImportReport
) -> ShapeIntegrals:
    """Shape integrals from groups 12, 14, 16 and 18; groups 15 and 17 repeat parts of them.

    The centre of mass has the same origin as the nodes.
    """
    n = groups.modes
    rigid = groups.values(12, 13)
    mass, com, J = float(rigid[0]), rigid[1:4] - origin, rigid[4:].reshape(3, 3)
    xS = moments_of_shapes(groups.values(16, 3, n, 3).transpose(0, 2, 1))
    SS = shape_products(groups.values(18, 3, n, n, 3).transpose(0, 3, 1, 2))
    report.found("shape integrals from groups 12, 14, 16 and 18")
    if 15 in groups.texts:
        report.agree(
            "group 15 (invariant 4) = antisymmetric part of group 16",
            groups.values(15, 3, n),
            x_cross_shapes(xS),
            PRINTED,
        )
    if 17 in groups.texts:
        inv5 = groups.values(17, 3, n, n)
        report.agree(
            "group 17 (invariant 5) = antisymmetric part of group 18",
            inv5,
            invariant_5(SS),
            PRINTED,
        )
    J = 0.5 * (J + J.T)
    second = second_moment(J) + mass * np.outer(com, com)
    return ShapeIntegrals(mass, mass * com, second, groups.values(14, 3, n), xS, SS)


def _integrals_of_lumped_masses(
    groups: _Groups, nodes: BodyNodes, report: ImportReport
) -> ShapeIntegrals:
    """Shape integrals as sums over the nodes with the masses of group 11."""
    if 11 not in groups.texts:
        raise InputError(
            f"{groups.path}: has neither invariants (groups 14 to 18) nor lumped masses "
            "(group 11); export one of them"
        )
    lumped = groups.values(11, groups.nodes, 6)
    m, x, phi = lumped[:, :3].mean(axis=1), nodes.positions, nodes.phi
    report.agree(
        "group 11 has one mass for x, y and z", lumped[:, :3], m[:, None] + np.zeros(3), PRINTED
    )
    report.check(not lumped[:, 3:].any(), "group 11 has no rotary inertia (it would be ignored)")
    report.found("shape integrals from the lumped masses of group 11")
    return ShapeIntegrals(
        float(m.sum()),
        m @ x,
        np.einsum("p,pa,pb->ab", m, x, x),
        np.einsum("p,pak->ak", m, phi),
        np.einsum("p,pa,pbk->abk", m, x, phi),
        np.einsum("p,pak,pbl->abkl", m, phi, phi),
    )


def _stiffening(
    groups: _Groups, wanted: dict[str, int], report: ImportReport
) -> GeometricStiffness:
    """Geometric stiffness of group 19.

    ω products 1 … 6, angular accelerations 7 … 9, accelerations 10 … 12, six per node.
    """
    n, loads = groups.modes, 12 + 6 * groups.nodes
    values = numbers(groups.texts[19], f"{groups.path}: group 19")
    count = int(values[0]) if values.size else 0
    if not 0 <= count <= loads or values.size != 1 + count * (1 + n * n):
        raise InputError(
            f"{groups.path}: group 19 has {values.size} numbers; {count} matrices of {n} "
            f"modes need 1 + {count} (1 + {n * n})"
        )
    blocks = values[1:].reshape(count, 1 + n * n)
    index = integers(blocks[:, 0], f"{groups.path}: group 19", "number of a load")
    if count and (index.min() < 1 or index.max() > loads):
        raise InputError(
            f"{groups.path}: group 19 numbers its loads {index.min()} … {index.max()}; "
            f"expected 1 … {loads}"
        )
    K0 = np.zeros((loads, n, n))
    K0[index - 1] = blocks[:, 1:].reshape(count, n, n)
    report.agree("group 19 is symmetric", K0, K0.transpose(0, 2, 1), PRINTED)
    K0 = 0.5 * (K0 + K0.transpose(0, 2, 1))
    first = _first_interface(groups, index)
    if first:
        report.found(
            "group 19 numbers the nodes from the second on, the first being the modal node"
        )
    stated = {int(number) for number in index}
    at = {}
    for name, row in wanted.items():
        loads_of_node = 12 + 6 * (row - first) + np.arange(6)
        if row >= first and stated & set((loads_of_node + 1).tolist()):
            at[name] = K0[loads_of_node]
    return GeometricStiffness(K0[9:12], K0[6:9], K0[:6], at)


def _first_interface(groups: _Groups, index: IntArray) -> int:
    """Row of the first node with loads.

    0, or 1 if all nodes but one carry loads and nodes are unnamed.
    """
    carrying = int(np.ceil(max(int(index.max(initial=0)) - 12, 0) / 6))
    return int(groups.names() is None and 0 < carrying == groups.nodes - 1)
