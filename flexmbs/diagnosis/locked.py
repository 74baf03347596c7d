"""Couplings whose joints cannot move: contradicting ratios between the same shafts lock them."""

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from flexmbs.diagnosis.rank import NEARLY, unit_rows
from flexmbs.initial.initial_state import InitialState
from flexmbs.system.compile import Compiled

MOVES = 1e-8  # component of a coordinate in unit motions that satisfy the constraints


def locked_couplings(compiled: Compiled, state: InitialState) -> Iterator[str]:
    """A line for all couplings of which no joint can move; none if the model has drives.

    Joints whose velocities vanish in all motions v with G v = 0.
    """
    model = compiled.model
    if not model.couplings or model.drives:
        return
    G = unit_rows(compiled, 0.0, state.q, state.s, state.beta).G
    free = np.linalg.norm(scipy.linalg.null_space(G, rcond=NEARLY), axis=1)
    found: dict[str, None] = {}
    for name, coupling in model.couplings.items():
        at = [
            int(compiled.system.tree.s_at[compiled.places[use.joint].body]) + use.coordinate
            for use in coupling.coordinates(model.joints)
            if compiled.places[use.joint].cut < 0
        ]
        if at and (free[at] < MOVES).all():
            found[name] = None
    if found:
        yield (
            f"couplings {', '.join(map(repr, found))}: their joints cannot move, since the "
            "constraints hold all of them; remove one, or correct the ratios"
        )
