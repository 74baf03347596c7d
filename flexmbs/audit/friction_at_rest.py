"""Friction in equilibria: dry friction that is omitted, and bristles that hold.

At rest a dry friction is any force up to its limit, which depends on the path that led there. A
smooth law F(v), F(0) = 0, omits it; bristles carry what the path has left in them.
"""

import numpy as np

from flexmbs.model.forces.force import JointForce
from flexmbs.results.joint_friction import (
    bristle_frictions,
    bristle_shares,
    coordinate_position,
    dry_limits,
)
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.step_scales import model_size

TITLE = "Friction"
MOVES = 1e-6  # rad or of the size of the model: smaller motions are round-off
SLIDES = 0.99  # of the limit of bristles: nearer ones slide
SLIDE = "simulate the model: what slides may come to rest farther away"
OMITTED = "use LuGreFriction, which slides, or simulate the model"


def friction_at_rest(solution: SolutionData) -> list[Check]:
    """Checks of the frictions of equilibria: one of those that are omitted, one of bristles."""
    return [*_omitted(solution), *_held(solution)]


def _omitted(solution: SolutionData) -> list[Check]:
    """Check that names the smooth frictions, and WARN if their joints move between outputs."""
    length, texts, moves = model_size(solution.compiled), [], False
    for force in solution.model.forces.values():
        if not isinstance(force, JointForce) or not force.creep_rate > 0.0:
            continue
        turns, q = coordinate_position(solution.model.joints[force.joint], force.coordinate)
        moved = np.ptp(solution.joint(force.joint).position[:, q]) / (1.0 if turns else length)
        moves |= bool(moved > MOVES)
        limit, unit = dry_limits(solution, force).max(), "N m" if turns else "N"
        texts.append(f"forces.{force.name} (up to {limit:.3g} {unit})")
    if not texts:
        return []
    text = f"dry friction of {', '.join(texts)} is omitted"
    if moves:
        return [Check(TITLE, WARN, f"{text}, although its joint moves", OMITTED)]
    return [Check(TITLE, PASS, f"{text}: it may hold the model in other positions near this one")]


def _held(solution: SolutionData) -> list[Check]:
    """Check of the largest share of their limits that bristles carry.

    Where they slide in a path of equilibria, each output is still one; a single equilibrium that is
    reached by sliding is passed by a model with inertia.
    """
    shares = {each: bristle_shares(solution, each) for each in bristle_frictions(solution.model)}
    if not shares:
        return []
    worst = max(shares, key=lambda each: shares[each].max())
    share, k = float(shares[worst].max()), int(shares[worst].argmax())
    text = (
        f"bristles of forces.{worst.name} carry {100.0 * share:.3g} % of their limit "
        f"{worst.limit:g} at t = {solution.t[k]:g} s; positions depend on their history"
    )
    slides = share > SLIDES and len(solution.t) == 1
    return [Check("Bristles", WARN, text, SLIDE) if slides else Check("Bristles", PASS, text)]
