"""Wheels that lie flat on their plane: they touch it along a circle, not in a point."""

import numpy as np

from flexmbs.system.compile import Compiled
from flexmbs.system.records import AXLE, CUT_KIND, CUT_RR, CUT_VALUES, PLANE, ROLLING_DISC, Work

FLAT = 1e-6  # sine of the angle between axle and normal
NEARLY_FLAT = 0.3  # the same where a run stopped


def flat_wheels(compiled: Compiled, work: Work, least: float = FLAT) -> list[str]:
    """Names of the wheels whose axle is parallel to the normal of their plane at the last evaluation."""
    system, found = compiled.system, []
    for k, name in enumerate(compiled.topology.cuts):
        if system.cuts[k, CUT_KIND] == ROLLING_DISC:
            at = int(system.cuts[k, CUT_VALUES])
            normal, axle = system.relations[at + PLANE :][:3], system.relations[at + AXLE :][:3]
            if np.linalg.norm(np.cross(work.cut[k, CUT_RR : CUT_RR + 9].reshape(3, 3) @ axle, normal)) < least:
                found.append(name)
    return found
