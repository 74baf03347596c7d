"""Exporter of standard input data (SID) text files, numbers with 17 digits.

The first-order terms of Gr are included: they separate the products of shapes from the geometric
stiffness in Oe. The names of the frames are in the comment of the first line, "frames: 1 = hub; 2 =
tip"; the nodes are numbered.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flexmbs.files.output import write_text
from flexmbs.flexible_body.components import FlexibleFrame, FloatArray
from flexmbs.flexible_body.free_body import skew
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest, missing_fields
from preprocess.formats.standard_input_data import (
    BLOCKS,
    NODE_BLOCKS,
    Sid,
    SidNode,
    TaylorSeries,
    inertia_blocks,
    with_geometric_stiffness,
)

_LABEL = 24  # characters before the equals sign, as in the published files


class SidExporter(Exporter):
    """SID text file."""

    kind = "sid"
    suffixes = (".sid", ".sid_fem")

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the body as standard input data (SID); notes on data that are lost."""
        write_text(request.path, "\n".join(_lines(standard_input_data(body))) + "\n")
        return missing_fields(body, "SID")


def standard_input_data(body: FlexibleBodyData) -> Sid:
    """Standard input data of a reduced body."""
    n = body.nf
    blocks = inertia_blocks(body.first_moment, body.inertia, body.S_bar, body.xS, body.SS)
    blocks |= {
        "ksigma": TaylorSeries(np.zeros((n, 1))),
        "Ke": TaylorSeries(body.K_ff),
        "De": TaylorSeries(body.D_ff),
    }
    modes = tuple(
        f"Eigen Mode {k + 1:4d} : {f:12.3f} Hz" for k, f in enumerate(body.modes.frequency)
    )
    frames = body.geometric.frames if body.geometric is not None else {}
    nodes = tuple(
        _node(str(k + 1), frame, frames.get(name))
        for k, (name, frame) in enumerate(body.frames.items())
    )
    if body.geometric is not None:
        blocks |= with_geometric_stiffness(blocks, body.geometric)
    return Sid(body.mass, modes, nodes, blocks, _comment(body))


def _comment(body: FlexibleBodyData) -> str:
    """Comment line with units and frame names."""
    names = "; ".join(f"{k + 1} = {name}" for k, name in enumerate(body.frames))
    text = f"{body.name}, m kg s rad N, frames: {names}"
    return " ".join(text.split())


def _node(name: str, frame: FlexibleFrame, K0: FloatArray | None) -> SidNode:
    """SID node of a frame: position, shapes and geometric stiffness as Taylor series."""
    rotated = (skew(frame.psi.T) @ frame.R).transpose(1, 0, 2)
    force, moment = (None, None) if K0 is None else (-K0[:3], -K0[3:])
    return SidNode(
        name,
        TaylorSeries(frame.x[:, None], frame.phi[:, :, None]),
        TaylorSeries(frame.phi, force),
        TaylorSeries(frame.psi, moment),
        TaylorSeries(frame.R, rotated),
    )


def _lines(sid: Sid) -> Iterator[str]:
    """Lines of the SID file."""
    n = len(sid.blocks["Me"].m0)
    yield f"{len(sid.nodes):5d} {n:5d} :{sid.comment}"
    yield " part"
    yield "      new modal                                 ="
    yield "           refmod"
    yield f"                {'mass':<31} = {_number(sid.mass)}"
    yield f"                {'nelastq':<31} = {n:5d}"
    yield from (
        f"                {f'ielastq ({k + 1:4d})':<31} = {mode}"
        for k, mode in enumerate(sid.modes)
    )
    yield "           end refmod"
    yield "           frame"
    for node in sid.nodes:
        yield f"                new node                        = {node.name}"
        yield "                     rframe                     =    body ref"
        for name in NODE_BLOCKS:
            yield from _block(name, getattr(node, name), n, 21)
        yield "                end node"
    yield "           end frame"
    for name in BLOCKS:
        yield from _block(name, sid.blocks[name], n, 11)
    yield "      end modal"
    yield " end part"


def _block(name: str, series: TaylorSeries, n: int, indent: int) -> Iterator[str]:
    """Text of a Taylor series: sizes, then the nonzero entries."""
    zero = not series.m0.any() and (series.m1 is None or not series.m1.any())
    sizes = {
        "order": 0 if series.m1 is None else 1,
        "nrow": series.m0.shape[0],
        "ncol": series.m0.shape[1],
        "nq": n,
        "nqn": 0,
        "structure": 0 if zero else 3,
    }
    yield " " * indent + name
    yield from (f"{'':26}{key:<21} = {value:4d}" for key, value in sizes.items())
    yield from _entries("m0", series.m0)
    if series.m1 is not None:
        yield from _entries("m1", series.m1)
    yield " " * indent + f"end {name}"


def _entries(label: str, array: FloatArray) -> Iterator[str]:
    """Lines of the nonzero entries, the first index fastest."""
    indices = np.argwhere(array.T)[:, ::-1]
    values = array[tuple(indices.T)]
    for index, value in zip((indices + 1).tolist(), values.tolist()):
        entry = f"{label}({index[0]:2d}, {', '.join(map(str, index[1:]))})"
        yield f"{'':26}{entry:<21} ={_number(value):>25}"


def _number(value: float) -> str:
    """Number in Fortran notation with D exponent."""
    return f"{value:.16E}".replace("E", "D")
