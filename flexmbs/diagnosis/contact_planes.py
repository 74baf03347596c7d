"""Planes of contacts that face away from their bodies at the start."""

from collections.abc import Iterator

import numpy as np

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import InitialState, frame_position
from flexmbs.model.contacts import SpherePlane
from flexmbs.system.compile import Compiled

# m: a point that rests on its plane is on it to the accuracy of dimensions
BEHIND = 1e-6


def planes_facing_away(compiled: Compiled, start: InitialState) -> Iterator[str]:
    """A line for each sphere that is wholly behind its plane at the start."""
    contacts = [each for each in compiled.model.contacts.values() if isinstance(each, SpherePlane)]
    if not contacts:
        return
    system, work = compiled.system, make_work(compiled.system, start.beta)
    terms(system, work, 0.0, start.q, start.s)
    for contact in contacts:
        m, n = compiled.frames[contact.parent], compiled.frames[contact.child]
        i = int(system.frames.body[m])
        normal = system.frames.R[m].reshape(3, 3) @ np.array(contact.normal)
        if i >= 0:
            normal = work.motion.A[i].reshape(3, 3) @ normal
        apart = frame_position(system, work, n, start.q) - frame_position(system, work, m, start.q)
        height = float(normal @ apart)
        if height < -contact.radius - BEHIND:
            yield (
                f"contacts.{contact.name}: '{contact.child}' is {-height:.4g} m behind the plane "
                f"through '{contact.parent}' at the start, which faces away from it; reverse its "
                "normal, or move the bodies by q0"
            )
