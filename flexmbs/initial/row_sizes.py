"""Sizes of constraint rows, by which their residuals are divided before they are compared with
tolerances: those of rows by user functions, in any unit, and those of points on a curve or surface
that is small beside a metre."""

import numpy as np

from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work
from flexmbs.system.step_scales import displacement_sizes, model_size

LATER = (0.37, 1.9, 11.0, 73.0)  # s, at which functions may show that they depend on time
# of user rows, per comparable displacement: factors of 1e-6 … 1e6 of rows of order one, and a
# factor of ten for their directions; a smaller one at the start only is near a dead centre
LEAST, MOST = 1e-7, 1e7


def relative_sizes(compiled: Compiled, work: Work, G: np.ndarray) -> np.ndarray:
    """(nc,) sizes that make residuals relative to the size of the model, or to 1 rad: of user rows,
    couplings and drives ‖G d‖ with displacements d of that size, of rows between frames max(L |f|,
    |n|) with their covectors (f, n), L the size of the model, at most that of their curve."""
    length, cuts, reach = model_size(compiled), compiled.system.cuts, displacement_sizes(compiled)
    moving = np.linalg.norm(G * reach, axis=1)
    found = np.where(moving >= LEAST * min(1.0, length), moving, 1.0)
    for k, name in enumerate(compiled.topology.cuts):
        joint, rows = compiled.model.joints[name], int(cuts.rows[k])
        extent = joint.extent if isinstance(joint, Relation) else np.inf
        if (
            isinstance(joint, Relation)
            and isinstance(joint.row(), FunctionRows)
            and extent == np.inf
        ):
            continue
        f, n = np.linalg.norm(work.cut.covectors[k].reshape(6, 2, 3)[:rows], axis=2).T
        own = np.maximum(length * f, n) if extent == np.inf else min(length, extent) * f
        found[int(cuts.row[k]) : int(cuts.row[k]) + rows] = np.where(own > 0.0, own, 1.0)
    return found


def smallest_length(compiled: Compiled) -> float:
    """The extent (m) of the smallest curve or surface, infinite without one."""
    relations = (joint for joint in compiled.model.joints.values() if isinstance(joint, Relation))
    return min((joint.extent for joint in relations), default=np.inf)


def unsuitable_size(least: float, most: float) -> str:
    """Why rows cannot have sizes, per comparable displacement, between these at the poses tried, or
    "".
    """
    if most >= LEAST and least <= MOST:
        return ""
    size = most if most < LEAST else least
    limits = f"outside of {LEAST:.0e} … {MOST:.0e}"
    return f"{size:.1e} over the size of the model or 1 rad, {limits}; " + (
        f"divide it by {size:.1e}" if size > 0.0 else "correct or omit it"
    )
