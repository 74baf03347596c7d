"""Relations at poses for which their rows are not defined.

A wheel flat on its plane touches it along a circle, not at a point; a point may be beyond the ends
of its curve.
"""

from flexmbs.model.relations.relation import Relation
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Work

UNDEFINED = 1e-6  # sine of the angle to such a pose, or the measure that a relation gives for it
NEARLY_UNDEFINED = 0.3  # the same at the end of a run that stopped


def undefined_relations(compiled: Compiled, work: Work, least: float = UNDEFINED) -> list[Relation]:
    """Relations whose rows are (nearly) undefined at the last evaluation."""
    joints = [(k, compiled.model.joints[name]) for k, name in enumerate(compiled.topology.cuts)]
    return [
        joint
        for k, joint in joints
        if isinstance(joint, Relation)
        and joint.clearance(work.cut.pair.R[k].reshape(3, 3), work.cut.pair.x[k]) < least
    ]
