"""Velocity coordinates whose axes rotate in a steady motion.

Frequencies over them are those seen by a rotating observer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.frames import FrameRef
from flexmbs.results.state import State
from flexmbs.studies.states.jacobians import frame_jacobian

TURNS = 1e-6  # of the fastest body


def turning_coordinates(state: State) -> NDArray[np.bool_]:
    """Velocity coordinates (ns,) whose axes rotate.

    Elastic ones rotate with their body, those of a joint with its parent and with the rotations
    before them in its chain, those in the axes of the child with the child.
    """
    compiled, s = state.compiled, state.s
    tree = compiled.system.tree
    speed = {
        name: float(np.linalg.norm(frame_jacobian(state, FrameRef(name))[1][3:] @ s))
        for name in compiled.bodies
    }
    least = max(TURNS * max(speed.values(), default=0.0), np.finfo(float).tiny)
    found = np.zeros(len(s), bool)
    for i, primary in enumerate(compiled.topology.tree):
        at, turns = int(tree.s_at[i]), speed.get(primary.parent, 0.0) > least
        for motion in primary.motions:
            own = slice(at, at + motion.nv)
            rotates = bool(motion.rotations and np.abs(s[own]).max(initial=0.0) > least)
            found[own] = turns or (rotates and motion.nv > 1)
            at, turns = at + motion.nv, turns or rotates
        modes = int(tree.sf_at[i])
        found[modes : modes + int(tree.nf[i])] = speed[primary.body] > least
    return found
