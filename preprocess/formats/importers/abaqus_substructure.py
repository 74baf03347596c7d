"""Importer of Abaqus substructures (.mtx).

Written by ``*SUBSTRUCTURE MATRIX OUTPUT, OUTPUT FILE=USER DEFINED``:

    *USER ELEMENT, NODES=2, LINEAR
    ** ELEMENT NODES
    **  101, 102
    1, 2, 3, 4, 5, 6                 degrees of freedom of the first node; "position, …" where they change
    *MATRIX, TYPE=STIFFNESS          lower triangle row by row, any number per line
    *MATRIX, TYPE=MASS

Nodes that are not in the input file are the generalized coordinates of retained fixed-interface
modes. A file may have its nodes itself, *NODE, those of modes with NSET=MODES, and names of frames,
*NSET with one node each. Source: Abaqus Analysis User's Guide, "Using substructures"; Keywords Guide, *USER ELEMENT,
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
from preprocess.formats.importers.superelement import (
    MAX_DOFS,
    Superelement,
    check_units,
    superelement_body,
)
from preprocess.inputs.number_parsing import content, integers, numbers, table

_KEYWORD = re.compile(rb"^\*(?!\*)[ \t]*([^\r\n]*)", re.MULTILINE)
_NODES = re.compile(
    rb"^\*\*[ \t]*ELEMENT NODES[^\n]*\n((?:\*\*[\d, \t\r-]*\n)+)", re.MULTILINE | re.IGNORECASE
)
_COMMENT = re.compile(rb"^\*\*.*$", re.MULTILINE)


_Blocks = dict[str, tuple[bytes, bytes]]


class AbaqusSubstructureImporter(Importer):
    """Matrices of a substructure."""

    kind = "abaqus-substructure"
    suffixes = (".mtx",)
    signature = b"*USER ELEMENT"

    def read(self, request: ImportRequest, report: ImportReport) -> FlexibleBodyData:
        """Flexible body from the matrices of an Abaqus substructure."""
        blocks = _blocks(request, content(request.path, "a substructure of Abaqus"))
        check_units(blocks["START"][1].decode("utf-8", errors="replace"), request)
        labels = _labels(request, *blocks["USER ELEMENT"])
        K, M = (_matrix(request, blocks, kind, len(labels)) for kind in ("STIFFNESS", "MASS"))
        places = _places(request, blocks)
        own = set(labels[:, 0].tolist())
        positions = {node: x for node, x in sorted(places.items()) if node in own}
        report.found(
            f"{len(labels)} retained degrees of freedom of {len(positions)} nodes, the "
            "others are modes"
        )
        return superelement_body(
            Superelement(K, M, labels, positions, names=_names(request, blocks)), request, report
        )


def _places(request: ImportRequest, blocks: _Blocks) -> dict[int, FloatArray]:
    """Positions by node of the given file, of the file itself, or of the input file."""
    if request.nodes is None and "NODE" in blocks:
        rows = table(blocks["NODE"][0], 4, f"{request.path}: *NODE")
        ids, x = integers(rows[:, 0], str(request.path), "node number"), rows[:, 1:]
    else:
        nodes = node_table(request.companion(request.nodes, ".inp"))
        ids, x = nodes.ids, nodes.positions
    return {int(node): place for node, place in zip(ids, x)}


def _names(request: ImportRequest, blocks: _Blocks) -> dict[int, str]:
    """Names of sets of one node."""
    sets = {
        name.removeprefix("NSET "): numbers(text, f"{request.path}: {name}")
        for name, (text, _) in blocks.items()
        if name.startswith("NSET ")
    }
    return {
        int(integers(nodes, str(request.path), "node number")[0]): name
        for name, nodes in sets.items()
        if nodes.size == 1
    }


def _blocks(request: ImportRequest, data: bytes) -> _Blocks:
    """Text of each keyword block, without and with comments, by `_block_name`.

    START is the text before the first keyword.
    """
    marks = list(_KEYWORD.finditer(data))
    ends = [mark.start() for mark in marks[1:]] + [len(data)]
    start = data[: marks[0].start()] if marks else data
    blocks: _Blocks = {"START": (b"", start)}
    for mark, end in zip(marks, ends):
        name = _block_name(mark.group(1).decode("utf-8", errors="replace"))
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


def _block_name(keyword: str) -> str:
    """Name of a block: the type of *MATRIX, "NSET name", "MODES" for their *NODE, or the keyword."""
    words = [word.strip() for word in keyword.split(",")]
    head = " ".join(words[0].upper().split())
    options = {
        key.strip().upper(): value.strip().strip('"')
        for key, _, value in (word.partition("=") for word in words[1:])
    }
    if head == "MATRIX":
        return options.get("TYPE", head).upper()
    if head == "NODE" and options.get("NSET", "").upper() == "MODES":
        return "MODES"
    return f"NSET {options.get('NSET', '')}" if head == "NSET" else head


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


def _matrix(request: ImportRequest, blocks: _Blocks, kind: str, size: int) -> FloatArray:
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
