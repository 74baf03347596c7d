"""Forces that depend on reactions need reactions that redundant constraints leave unique."""

import numpy as np

from flexmbs.errors import InputError
from flexmbs.initial.initial_state import InitialState
from flexmbs.model.forces import joints_read, loaded_by_reactions
from flexmbs.results.joints import joint_histories
from flexmbs.system.compile import Compiled
from flexmbs.system.trajectory import Trajectory


def require_determined_loads(compiled: Compiled, start: InitialState) -> None:
    """Raise `InputError` for a force that depends on a reaction which is not unique.

    Theory, section 31.
    """
    forces = compiled.model.forces
    if not (names := loaded_by_reactions(forces.values())):
        return
    none = np.zeros((1, len(start.s))), np.zeros((1, compiled.n_constraints))
    rows = np.zeros(1), start.q[None], start.s[None], *none
    z = np.zeros((1, int(compiled.system.layout[4])))
    trajectory = Trajectory(
        *rows, z, np.zeros((1, 3)), np.zeros((1, 2)), np.zeros(1), beta=start.beta[None]
    )
    unique = joint_histories(compiled, trajectory, redundant=True).unique
    for name in names:
        for joint in joints_read(forces[name]):
            place = compiled.places[joint]
            if not unique[place.body if place.body >= 0 else len(compiled.bodies) + place.cut]:
                raise InputError(
                    f"forces.{name}: redundant constraints leave the reaction of joint "
                    f"'{joint}' undetermined, on which it "
                    "depends; remove them, as by ball or universal joints, or take a "
                    "force that reads no reactions"
                )
