"""Sizes of constraint rows, by which their residuals are divided before they are compared with tolerances: those of rows
by user functions, in any unit, and those of points on a curve or surface that is small beside a metre."""

import numpy as np

from flexmbs.model.general_couplings import GeneralCoupling
from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.system.compile import Compiled

LATER = (0.37, 1.9, 11.0, 73.0)  # s, at which functions may show that they depend on time
LEAST, MOST = 1e-6, 1e6  # of user rows, per m or rad; a smaller one at the start only is near a dead centre


def row_sizes(compiled: Compiled, G: np.ndarray) -> np.ndarray:
    """(nc,) sizes, at most 1: of user rows that of their row of G (nc, ns), of points on a curve its length in m, else 1."""
    found = np.ones(compiled.n_constraints)
    cuts = compiled.system.cuts
    for k, name in enumerate(compiled.topology.cuts):
        joint = compiled.model.joints[name]
        if isinstance(joint, Relation):
            rows = slice(int(cuts.row[k]), int(cuts.row[k] + cuts.rows[k]))
            of_functions = joint.extent == np.inf and isinstance(joint.row(), FunctionRows)
            found[rows] = _of(G[rows]) if of_functions else min(1.0, joint.extent)
    for coupling, row in zip(compiled.model.couplings.values(), compiled.system.couplers.row):
        if isinstance(coupling, GeneralCoupling):
            found[int(row)] = _of(G[int(row) : int(row) + 1])[0]
    return found


def smallest_length(compiled: Compiled) -> float:
    """The extent (m) of the smallest curve or surface, at most 1 m: positions and velocities are small beside 1 with it."""
    relations = (joint for joint in compiled.model.joints.values() if isinstance(joint, Relation))
    return min((joint.extent for joint in relations if joint.extent < 1.0), default=1.0)


def unsuitable_size(least: float, most: float) -> str:
    """Why rows cannot have sizes (per m or rad) between these at the poses tried, or ""."""
    if most >= LEAST and least <= MOST:
        return ""
    size = most if most < LEAST else least
    limits = f"outside of {LEAST:.0e} … {MOST:.0e}"
    return f"{size:.1e} per m or rad, {limits}; " + (f"divide it by {size:.1e}" if size > 0.0 else "correct or omit it")


def _of(rows: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(rows, axis=1)
    return np.where((size >= LEAST) & (size <= 1.0), size, 1.0)
