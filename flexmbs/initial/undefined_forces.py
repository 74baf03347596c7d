"""Forces and contacts that are not finite in a state.

They cause equations of motion that are not finite.
"""

import numpy as np

from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import Work, make_work
from flexmbs.model.forces import Force
from flexmbs.system.compile import Compiled
from flexmbs.system.records import Forces, some_rows


def undefined_forces(
    compiled: Compiled,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    beta: np.ndarray,
    z: np.ndarray | None = None,
) -> list[str]:
    """Messages on forces that are not finite at (t, q, s, z).

    Those of the model without the force must be finite.
    """
    forces = compiled.system.forces
    none = Forces(*(some_rows(rows, slice(0)) for rows in forces))

    def finite(chosen: Forces) -> bool:
        """True if the generalized forces of these forces are finite at the initial state."""
        system = compiled.system._replace(forces=chosen)
        return bool(
            np.isfinite(terms(system, make_work(system, beta), t, q, s, z, matrices=False).k).all()
        )

    if not finite(none):
        return []
    found: list[Force] = []
    for place, rows in forces._asdict().items():
        declared = [force for force in compiled.model.forces.values() if force.place == place]
        found += [
            force
            for k, force in enumerate(declared)
            if not finite(none._replace(**{place: some_rows(rows, slice(k, k + 1))}))
        ]
    return [f"forces.{force.name}: {force.undefined}" for force in found]


def undefined_contacts(compiled: Compiled, work: Work) -> list[str]:
    """Messages on contacts whose gap is not finite although the bodies have positions.

    At the last evaluation.
    """
    if not np.isfinite(work.motion.x).all():
        return []
    lost = [name for name, gap in zip(compiled.contacts, work.contact.gap) if not np.isfinite(gap)]
    contacts = compiled.model.contacts
    return [f"contact '{name}': {contacts[name].undefined}" for name in lost if name in contacts]
