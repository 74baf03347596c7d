"""Displacements of flexible bodies under the actual loads that their modes cannot represent.

Under inertia and interface loads ζ a body lacks the displacement Σ_j ζ_j w_j of its static
response, where w_j is the part of the response to the unit load j outside the span of its modes.
Its root mean square over the mass, √(ζᵀ W ζ), is compared with that of the modes, √(qᵀ m_ff q/m),
and with the size of the body. Stress includes the static correction and is not affected. Small
motions about a state depend on its displacements only through its shape: there they are compared
with the size of the model alone.

Where the geometric stiffness of a body is not included, its size is estimated. A normal force N
along a slender body of length L, without moments, has the energy ½ N ∫w'² dx of deflections w
across it. For the shapes of beams with free, clamped and pinned ends this is about 6 N/L times
their mean square: ∫w'² dx is 6.7 times it, over L, for (x/L)², 9.9 for sin πx/L; the factor gives
1.2 and 0.6 of the elastic stiffness at the loads at which beams buckle. N is the force on a frame
along the line to the centre of mass, at L/2.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy

from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.results.bodies import data_of, flexible_bodies
from flexmbs.results.body_loads import body_loads, frame_wrenches
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.step_scales import model_size

LACKING = (0.05, 0.5)  # of the largest displacement
OUT_OF_SHAPE = (1e-3, 5e-2)  # of the model's size
# of the elastic stiffness: as much as changes frequencies by 2 %, within the factor of the estimate
UNSTIFFENED = 0.05
BY_SHAPES = 6.0  # mean square of w' over that of w/L
NEAR = 1e-3  # of the model's size: frames at the centre of mass have no line of force
SMALL = 1e-7  # of the model's size: negligible displacements


def reduction(mine: SolutionData, *, shape: bool = False) -> list[Check]:
    """Checks of displacements and geometric stiffness that flexible bodies omit.

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
    return found + _stiffening(mine)


def _stiffening(mine: SolutionData) -> list[Check]:
    """Check of geometric stiffness that is not included, for bodies without it."""
    found = []
    for name in flexible_bodies(mine):
        pieces = zip(mine.compiled.pieces_of(name), data_of(mine, name))
        shares = [_unstiffened(mine, *piece) for piece in pieces if piece[1].geometric is None]
        if shares:
            worst = max(shares)
            status = graded(worst.share, (UNSTIFFENED, math.inf))
            text = f"not included, about {worst.share:.1e} of the elastic stiffness"
            text += f", at t = {worst.t:.4g} s" if status != PASS else ""
            remedy = "" if status == PASS else "reduce and use it with stiffening=True"
            found.append(Check(f"Geometric stiffness of {name}", status, text, remedy))
    return found


class _Unstiffened(NamedTuple):
    """Largest geometric stiffness over the elastic one, and its time [s]."""

    share: float
    t: float


def _unstiffened(mine: SolutionData, name: str, data: FlexibleBodyData) -> _Unstiffened:
    """Estimated geometric stiffness under the forces on the frames of a body or piece."""
    worst, near = _Unstiffened(0.0, 0.0), NEAR * model_size(mine.compiled)
    for frame, wrench in frame_wrenches(mine, name).items():
        place = data.frames[frame].x if frame else np.zeros(3)
        to_mass = data.first_moment / data.mass - place
        distance = float(np.linalg.norm(to_mass))
        if data.nf and distance > near:
            n = to_mass / distance
            across = data.m_ff - np.einsum("a,b,abij->ij", n, n, data.SS)
            softest = scipy.linalg.eigh(across, data.K_ff, eigvals_only=True)[-1] / data.mass
            force = np.abs(wrench[:, :3] @ n)
            k = int(force.argmax())
            share = BY_SHAPES * float(force[k]) / (2.0 * distance) * float(softest)
            worst = max(worst, _Unstiffened(share, float(mine.t[k])))
    return worst


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
