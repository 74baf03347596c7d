"""Sizes of constraint rows: units of residuals in comparisons with tolerances.

They matter for rows by user functions, which have any unit, and for points on a curve or surface
that is small compared with a metre.
"""

import numpy as np

from flexmbs.model.relations.relation import FunctionRows, Relation
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work
from flexmbs.system.step_scales import displacement_sizes, model_size

LATER = (0.37, 1.9, 11.0, 73.0)  # s: times at which a dependence on time may show
# sizes of user rows per comparable displacement: rows of order one in units of 1e-6 … 1e6, and a
# factor of ten for their directions; rows that are small only at the start are near a dead centre
LEAST, MOST = 1e-7, 1e7


def relative_sizes(compiled: Compiled, work: Work, G: np.ndarray) -> np.ndarray:
    """Sizes (nc,) that make residuals relative to the size L of the model, or to 1 rad.

    For user rows, couplings and drives ‖G d‖ with displacements d of that size; for rows between
    frames max(L |f|, |n|) with their covectors (f, n), where L is at most the size of their curve.
    """
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
    """Extent (m) of the smallest curve or surface, infinite if there is none."""
    relations = (joint for joint in compiled.model.joints.values() if isinstance(joint, Relation))
    return min((joint.extent for joint in relations), default=np.inf)


def unsuitable_size(least: float, most: float) -> str:
    """Reason why rows cannot have sizes between ``least`` and ``most``, or "".

    The sizes are per comparable displacement, at the poses tried.
    """
    if most >= LEAST and least <= MOST:
        return ""
    size = most if most < LEAST else least
    limits = f"outside of {LEAST:.0e} … {MOST:.0e}"
    return f"{size:.1e} over the size of the model or 1 rad, {limits}; " + (
        f"divide it by {size:.1e}" if size > 0.0 else "correct or omit it"
    )
