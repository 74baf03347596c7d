"""Couplings of joint coordinates, and of the elastic coordinates of pieces → flat records."""

import math
from collections.abc import Mapping

import numpy as np

from flexmbs.model.check_references import motion_of
from flexmbs.model.couplings import ConstantCoupling
from flexmbs.model.cut_shapes import CutShape
from flexmbs.model.general_couplings import GeneralCoupling
from flexmbs.model.laws import Constant
from flexmbs.model.model import ModelData
from flexmbs.system.compile_forces import JointPlace
from flexmbs.system.compile_laws import LawTable
from flexmbs.system.coordinate_functions import addresses
from flexmbs.system.records import Couplers, CouplerTerms, Cuts, Tree
from flexmbs.system.topology import Topology


def compile_couplers(
    model: ModelData,
    shape: Topology,
    tree: Tree,
    places: Mapping[str, JointPlace],
    cuts: Cuts,
    paths: list[int],
    laws: LawTable,
    begin: tuple[int, int],
) -> tuple[Couplers, list[int]]:
    """Records of the couplings and the extended paths.

    begin: first constraint row and first node.
    """
    rows: list[tuple[int, ...]] = []
    terms: list[tuple[int, ...]] = []
    factors: list[float] = []
    sizes: list[float] = []
    for k, (name, coupling) in enumerate(model.couplings.items()):
        item, moving, begun, at = f"couplings.{name}", set[int](), len(terms), len(paths)
        for term, use in zip(coupling.terms, coupling.coordinates(model.joints)):
            place = places[use.joint]
            terms.append((k, place.body, place.cut, *place.coordinate(item, use.coordinate)))
            factors.append(term.factor)
            turns = motion_of(model.joints[use.joint], use.coordinate).turns
            sizes.append(1.0 if turns else laws.length)
            moving.update(
                paths[cuts.path[place.cut] : cuts.path_end[place.cut]]
                if place.cut >= 0
                else [place.body]
            )
        for piece, values in coupling.of if isinstance(coupling, CutShape) else ():
            i = shape.bodies.index(piece)
            nq = int(tree.qf_at[i] - tree.q_at[i])
            own = [
                (k, i, -1, int(tree.nv[i]) + j, nq + j) for j, value in enumerate(values) if value
            ]
            terms, factors = [*terms, *own], [*factors, *(value for value in values if value)]
            sizes += [1.0] * len(own)
            moving.add(i)
        paths = [*paths, *sorted(moving)]
        law = (
            coupling.offset
            if isinstance(coupling, ConstantCoupling) and coupling.offset is not None
            else Constant(0.0)
        )
        number = laws.number(item, law)
        functions = -1, -1
        if isinstance(coupling, GeneralCoupling):
            value, row_of = addresses(laws, coupling, model.joints)
            functions = laws.pose(value) if value else -1, laws.pose(row_of)
        rows.append(
            (begin[0] + k, begin[1] + k, number, begun, len(terms), at, len(paths), *functions)
        )
    of, body, cut, v, q = np.array(terms, np.int64).reshape(-1, 5).T.copy()
    row, node, law_of, first, end, path, path_end, value_of, rows_of = (
        np.array(rows, np.int64).reshape(-1, 9).T.copy()
    )
    loose = [
        isinstance(each, ConstantCoupling) and each.offset is None
        for each in model.couplings.values()
    ]
    constant = np.where(np.array(loose, bool), math.nan, 0.0)
    record = CouplerTerms(of, body, cut, v, q, np.array(factors, float), np.array(sizes, float))
    return Couplers(
        row, node, law_of, first, end, path, path_end, value_of, rows_of, constant, record
    ), paths
