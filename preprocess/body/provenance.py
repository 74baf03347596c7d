"""Provenance of a flexible body: source, method and digest."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.file import GENERATOR
from preprocess.body.reference import Reference
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import BoundInterface
from preprocess.reduction import Basis, Reduction
from preprocess.reduction.independent_shapes import ElasticShapes
from preprocess.solve.threads import parallel_map

# bytes that one thread hashes at a time: 16 MB, so that starting a task takes no time in comparison
BLOCK = 2**24


def default_name(fe: FEModel) -> str:
    """Name of the source file without its ending."""
    return fe.source.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "body"


def provenance(
    fe: FEModel,
    bound: Sequence[BoundInterface],
    basis: Basis,
    elastic: ElasticShapes,
    method: Reduction,
    reference: Reference,
) -> dict[str, str | float]:
    """Provenance of a body: facts by name."""
    return {
        "source": fe.source,
        "unit of source": fe.unit,
        "units": "m kg s rad N",
        "elements": fe.elements,
        "material": fe.material,
        "nodes": float(len(fe.nodes)),
        "degrees of freedom": float(fe.freedoms.size - len(fe.constraints.dependent)),
        "method": repr(method),
        "reference": str(reference),
        "interfaces": faces_of(bound),
        "dropped shapes": "; ".join(elastic.dropped) or "none",
        "normal-mode frequencies [Hz]": ", ".join(f"{f:.9g}" for f in basis.normal_frequencies),
        "digest": _digest(fe, bound, method, reference),
        "generator": GENERATOR,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def faces_of(bound: Sequence[BoundInterface]) -> str:
    """Kind, number and weights of the nodes of each interface."""
    return "; ".join(
        f"{b.name}: {b.kind}, {len(b.nodes)} nodes, weights {_range(b.weights[: len(b.nodes)])}"
        for b in bound
    )


def _range(values: FloatArray) -> str:
    """Text "smallest..largest" of values."""
    return f"{values.min(initial=np.inf):g}..{values.max(initial=-np.inf):g}"


def _digest(
    fe: FEModel, bound: Sequence[BoundInterface], method: Reduction, reference: Reference
) -> str:
    """SHA-256 of the inputs of the reduction.

    Covers the options and the digests of the blocks of nodes, matrices and interfaces.
    """
    digest = hashlib.sha256(
        f"{method!r} {reference!r} {[(b.name, b.kind) for b in bound]}".encode()
    )
    matrices = [fe.K, fe.m] + ([] if fe.constraints.T is None else [fe.constraints.T])
    matrices += [] if fe.mass_points is None else [fe.mass_points.motion]
    arrays = [
        fe.nodes,
        fe.points,
        *(array for A in matrices for array in (A.data, A.indices, A.indptr)),
    ]
    arrays += [a for b in bound for a in (b.nodes, b.position, b.axes, b.weighted)]
    contents = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
    blocks = [(each[low : low + BLOCK],) for each in contents for low in range(0, len(each), BLOCK)]
    for block in parallel_map(lambda block: hashlib.sha256(block.data).digest(), blocks):
        digest.update(block)
    return digest.hexdigest()
