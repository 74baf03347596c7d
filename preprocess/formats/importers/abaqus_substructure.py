"""Importer of Abaqus substructures (.mtx).

Written by ``*SUBSTRUCTURE MATRIX OUTPUT, OUTPUT FILE=USER DEFINED``:

    *USER ELEMENT, NODES=2, LINEAR
    ** ELEMENT NODES
    **  101, 102
    1, 2, 3, 4, 5, 6                 degrees of freedom of the first node; "position, …" where they change
    *MATRIX, TYPE=STIFFNESS          lower triangle row by row, any number per line
    *MATRIX, TYPE=MASS

Nodes that are not in the input file are the generalized coordinates of retained fixed-interface
modes. Source: Abaqus Analysis User's Guide, "Using substructures"; Keywords Guide, *USER ELEMENT,
*MATRIX.
"""

from __future__ import annotations

import re

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray, IntArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.importers.base import Importer, ImportReport, ImportRequest
from preprocess.formats.importers.node_files import node_table
from preprocess.formats.importers.superelement import MAX_DOFS, Superelement, superelement_body
from preprocess.inputs.number_parsing import content, integers, numbers

_KEYWORD = re.compile(rb"^\*(?!\*)[ \t]*([^\r\n]*)", re.MULTILINE)
_NODES = re.compile(
    rb"^\*\*[ \t]*ELEMENT NODES[^\n]*\n((?:\*\*[\d, \t\r-]*\n)+)", re.MULTILINE | re.IGNORECASE
)
_COMMENT = re.compile(rb"^\*\*.*$", re.MULTILINE)


class AbaqusSubstructureImporter(Importer):
    """Matrices of a substructure."""

    kind = "abaqus-substructure"
    suffixes = (".mtx",)
    signature = b"*USER ELEMENT"

    def read(self, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
        """Flexible body from the matrices of an Abaqus substructure."""
        blocks = _blocks(request, content(request.path, "a substructure of Abaqus"))
        nodes = node_table(request.companion(request.nodes, ".inp"))
        labels = _labels(request, *blocks["USER ELEMENT"])
        K, M = (_matrix(request, blocks, kind, len(labels)) for kind in ("STIFFNESS", "MASS"))
        row = {int(node): k for k, node in enumerate(nodes.ids)}
        positions = {
            int(node): nodes.positions[row[int(node)]]
            for node in np.unique(labels[:, 0])
            if int(node) in row
        }
        report.found(
            f"{len(labels)} retained degrees of freedom of {len(positions)} nodes, the "
            "others are modes"
        )
        return superelement_body(Superelement(K, M, labels, positions), request, report)


def _blocks(request: ImportRequest, data: bytes) -> dict[str, tuple[bytes, bytes]]:
    """Text of each keyword block, without and with comments.

    The blocks are USER ELEMENT, STIFFNESS and MASS.
    """
    marks = list(_KEYWORD.finditer(data))
    ends = [mark.start() for mark in marks[1:]] + [len(data)]
    blocks: dict[str, tuple[bytes, bytes]] = {}
    for mark, end in zip(marks, ends):
        words = [
            word.strip().upper()
            for word in mark.group(1).decode("ascii", errors="replace").split(",")
        ]
        kind = next(
            (word.partition("=")[2].strip() for word in words[1:] if word.startswith("TYPE")),
            words[0],
        )
        name = kind if words[0] == "MATRIX" else words[0]
        if name in blocks:
            raise InputError(
                f"{request.path}: has two blocks *{name}; write one substructure per file"
            )
        text = data[mark.end() : end]
        blocks[name] = (_COMMENT.sub(b"", text), text)
    missing = [name for name in ("USER ELEMENT", "STIFFNESS", "MASS") if name not in blocks]
    if missing:
        raise InputError(
            f"{request.path}: has no {missing[0]}; write it with STIFFNESS=YES, MASS=YES"
        )
    return blocks


def _labels(request: ImportRequest, text: bytes, commented: bytes) -> IntArray:
    """Node and direction of each row."""
    found = _NODES.search(commented)
    if not found:
        raise InputError(f"{request.path}: has no list ** ELEMENT NODES under *USER ELEMENT")
    nodes = integers(
        numbers(found.group(1).replace(b"*", b" "), f"{request.path}: element nodes"),
        str(request.path),
        "node number",
    )
    lines = [
        integers(
            numbers(line, f"{request.path}: degrees of freedom"),
            str(request.path),
            "degree of freedom",
        )
        for line in text.splitlines()
        if line.strip()
    ]
    if not lines or not len(nodes):
        raise InputError(
            f"{request.path}: has no nodes or no degrees of freedom under *USER ELEMENT"
        )
    dofs = [lines[0]] * len(nodes)
    for line in lines[1:]:
        if not 1 <= line[0] <= len(nodes):
            raise InputError(
                f"{request.path}: gives degrees of freedom to node index {line[0]} of {len(nodes)}"
            )
        dofs[int(line[0]) - 1 :] = [line[1:]] * (len(nodes) - int(line[0]) + 1)
    if not 0 < sum(map(len, dofs)) <= MAX_DOFS:
        raise InputError(
            f"{request.path}: has {sum(map(len, dofs))} degrees of freedom; 1 to "
            f"{MAX_DOFS} are supported"
        )
    return np.array(
        [(node, direction) for node, own in zip(nodes, dofs) for direction in own], dtype=np.int64
    )


def _matrix(
    request: ImportRequest, blocks: dict[str, tuple[bytes, bytes]], kind: str, size: int
) -> FloatArray:
    """Symmetric matrix from its lower triangle, row by row."""
    values = numbers(blocks[kind][0], f"{request.path}: {kind.lower()}")
    if values.size != size * (size + 1) // 2:
        raise InputError(
            f"{request.path}: {kind.lower()} has {values.size} numbers; {size} degrees of "
            f"freedom need {size * (size + 1) // 2}"
        )
    lower = np.zeros((size, size))
    lower[np.tril_indices(size)] = values
    return np.asarray(lower + lower.T - np.diag(np.diag(lower)))
