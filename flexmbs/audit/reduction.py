"""Displacements of flexible bodies under the actual loads that their modes cannot represent.

Under inertia and interface loads ζ a body lacks the displacement Σ_j ζ_j w_j of its static
response, where w_j is the part of the response to the unit load j outside the span of its modes.
Its root mean square over the mass, √(ζᵀ W ζ), is compared with that of the modes, √(qᵀ m_ff q/m),
and with the size of the body. Stress includes the static correction and is not affected. Small
motions about a state depend on its displacements only through its shape: there they are compared
with the size of the model alone.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.results.bodies import data_of, flexible_bodies
from flexmbs.results.body_loads import body_loads
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.step_scales import model_size

LACKING = (0.05, 0.5)  # of the largest displacement
OUT_OF_SHAPE = (1e-3, 5e-2)  # of the model's size
SMALL = 1e-7  # of the model's size: negligible displacements


def reduction(mine: SolutionData, *, shape: bool = False) -> list[Check]:
    """Check of the displacements that the reduction of flexible bodies omits.

    mine: states of the run.  shape: the result depends on the shape of the model alone.
    """
    if len(mine.t) == 0:
        return []
    found = []
    for name in flexible_bodies(mine):
        pieces = zip(mine.compiled.pieces_of(name), data_of(mine, name))
        lacking = [each for piece, data in pieces if (each := _lacking(mine, piece, data))]
        if lacking:
            worst = max(lacking)
            of_size = worst.metres / model_size(mine.compiled)
            status = graded(of_size, OUT_OF_SHAPE) if shape else graded(worst.share, LACKING)
            text = (
                f"miss {worst.share:.1e} of the displacement, {worst.metres:.1e} m on "
                f"average, at t = {worst.t:.4g} s"
            )
            remedy = (
                "" if status == PASS else "reduce it with inertia_loads=True or with more modes"
            )
            found.append(Check(f"Modes of {name}", status, text, remedy))
    return found


class _Lacking(NamedTuple):
    """Largest missing displacement of a body or piece.

    share: of the whole displacement. metres: on average [m]. t: its time [s].
    """

    share: float
    metres: float
    t: float


def _lacking(mine: SolutionData, name: str, data: FlexibleBodyData) -> _Lacking | None:
    """Largest displacement that the modes of a body omit; None if it is unknown."""
    if data.stress is None or data.stress.missing is None:
        return None
    zeta, q = body_loads(mine, name, data.stress.interfaces).factors, mine.elastic(name)
    lacking = np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", zeta, data.stress.missing, zeta), 0.0))
    shown = np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", q, data.m_ff, q), 0.0) / data.mass)
    whole, k = float((lacking + shown).max()), int(lacking.argmax())
    share = float(lacking[k]) / whole if whole > SMALL * model_size(mine.compiled) else 0.0
    return _Lacking(share, float(lacking[k]), float(mine.t[k]))
