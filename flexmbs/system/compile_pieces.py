"""Damping of divided bodies over all their pieces → flat records."""

from collections.abc import Iterable

import numpy as np

from flexmbs.model.divided import BodyPieces
from flexmbs.system.records import PiecesDamping, Tree
from flexmbs.system.topology import Topology


def compile_pieces(
    divided: Iterable[BodyPieces], shape: Topology, tree: Tree, paths: list[int]
) -> tuple[PiecesDamping, list[int]]:
    """Records of divided bodies with damping across pieces, and the extended paths.

    The pieces are in the order of the tree.
    """
    paths, found = list(paths), []
    for whole in divided:
        if len(whole.damping_rows[0]):
            own = dict(sorted(zip(map(shape.bodies.index, whole.names), whole.damping_rows)))
            at = np.concatenate([tree.sf_at[i] + np.arange(tree.nf[i]) for i in own])
            found.append((len(paths), len(paths) + len(own), at, np.hstack(list(own.values()))))
            paths += own
    size, rows = (np.array([U.shape[axis] for *_, U in found], np.int64) for axis in (1, 0))
    n, most = len(found), int(size.max(initial=0))
    places, U = np.zeros((n, most), np.int64), np.zeros((n, int(rows.max(initial=0)), most))
    for k, (_, _, at, of_all) in enumerate(found):
        places[k, : size[k]] = at
        U[k, : rows[k], : size[k]] = of_all
    first, end = (np.array([each[column] for each in found], np.int64) for column in (0, 1))
    return PiecesDamping(first, end, size, rows, places, U, np.einsum("kri,krj->kij", U, U)), paths
